/* SPDX-License-Identifier: MIT */

/* A program that ends as many libuv programs do: uv_walk, and uv_close on
 * whatever is there. Whenever it does so, the client closes in good order: its
 * callbacks come, nothing leaks, and uv_loop_close returns 0. The rows are
 * those of doc/embedding.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/host_world.h"

/* Turns of the story of host_world, all of it and a few more. */
#define MAX_TURNS 400

/* Opens, and turns `count` times. Returns whether the story was over before. */
static bool begin(host_world *w, bool is_tls, int count) {
  host_init(w, is_tls);
  assert_int_equal(host_open(w), 0);
  bool was_over = false;
  for (int i = 0; i < count; i++) {
    was_over = w->program.deletes > 0;
    host_turn(w);
  }
  return was_over;
}

/* What the program does after `turns` turns, and again at each other turn. */
static void check_at_every_turn(void (*act)(host_world *w)) {
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    bool was_over = false;
    for (int turns = 0; !was_over; turns++) {
      host_world w;
      assert_true(turns < MAX_TURNS);
      was_over = begin(&w, is_tls, turns);
      act(&w);
      host_finish(&w);
      assert_int_equal(w.program.informers_closed, 1);
      assert_int_equal(w.program.clients_closed, 1);
    }
  }
}

static void sweep_then_close(host_world *w) {
  assert_true(host_sweep(w) > 0);
  host_close(w);
}

static void test_sweep_then_close(void **state) {
  (void)state;
  check_at_every_turn(sweep_then_close);
}

/* The loop comes to its end without the client, which then is still open. */
static void sweep_run_close(host_world *w) {
  assert_true(host_sweep(w) > 0);
  assert_int_equal(uv_run(&w->program.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(host_sweep(w), 0); /* nothing was opened meanwhile */
  assert_int_equal(w->program.clients_closed, 0);
  host_close(w);
}

static void test_sweep_run_close(void **state) {
  (void)state;
  check_at_every_turn(sweep_run_close);
}

static void close_then_sweep(host_world *w) {
  host_close(w);
  host_sweep(w);
}

static void test_close_then_sweep(void **state) {
  (void)state;
  check_at_every_turn(close_then_sweep);
}

/* At each turn of closing; closing takes no more than a few. */
static void test_sweep_while_closing(void **state) {
  (void)state;
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    for (int turns = 0; turns < 12; turns++) {
      host_world w;
      host_init(&w, is_tls);
      assert_int_equal(host_open(&w), 0);
      HOST_UNTIL(&w, w.program.deletes > 0) {
      }
      host_close(&w);
      for (int i = 0; i < turns; i++) {
        host_turn(&w);
      }
      host_sweep(&w);
      host_finish(&w);
      assert_int_equal(w.program.informers_closed, 1);
      assert_int_equal(w.program.clients_closed, 1);
    }
  }
}

/* Twice, before and after, with turns between. */
static void sweep_twice(host_world *w) {
  host_sweep(w);
  host_turn(w);
  host_sweep(w);
  host_turn(w);
  host_close(w);
  host_sweep(w);
  host_turn(w);
  host_sweep(w);
}

static void test_sweep_twice(void **state) {
  (void)state;
  check_at_every_turn(sweep_twice);
}

static size_t handles_closed;

static void on_swept(uv_handle_t *handle) {
  (void)handle;
  handles_closed++;
}

static void sweep_one(uv_handle_t *handle, void *arg) {
  (void)arg;
  if (!uv_is_closing(handle)) {
    assert_null(handle->data); /* programs often keep memory there */
    uv_close(handle, on_swept);
  }
}

/* The program's own close callback is called once for each handle. */
static void sweep_with_callback(host_world *w) {
  handles_closed = 0;
  uv_walk(&w->program.loop, sweep_one, NULL);
  host_close(w);
  assert_int_equal(handles_closed, 0);
  host_turn(w);
  size_t closed = handles_closed;
  assert_true(closed >= 4);
  HOST_UNTIL(w, w->program.clients_closed == 1) {
  }
  assert_int_equal(handles_closed, closed);
}

static void test_sweep_with_callback(void **state) {
  (void)state;
  check_at_every_turn(sweep_with_callback);
}

/* Inside uv_walk. */
static void close_client(uv_handle_t *handle, void *arg) {
  host_close(arg);
  sweep_one(handle, NULL);
}

static void close_within_walk(host_world *w) {
  uv_walk(&w->program.loop, close_client, w);
}

static void test_close_within_walk(void **state) {
  (void)state;
  check_at_every_turn(close_within_walk);
}

/* The informer's own close, its callback, and only then the client's. */
static void on_closed_close_client(void *data) {
  host_close(data);
}

static void sweep_then_close_informer(host_world *w) {
  host_sweep(w);
  assert_int_equal(
      kin_informer_close(w->program.informer, on_closed_close_client, w), 0);
}

static void test_sweep_then_close_informer(void **state) {
  (void)state;
  check_at_every_turn(sweep_then_close_informer);
}

/* The sweep takes the idle handle away while tasks wait: they must go on once
 * something is to be closed. */
static void test_sweep_with_work_left(void **state) {
  (void)state;
  host_world w;
  host_init(&w, false);
  w.program.options.budget_us = 1; /* one step an iteration */
  assert_int_equal(host_open(&w), 0);
  HOST_UNTIL(&w, w.program.adds > 0) {
  }
  assert_int_equal(w.program.synced, 0);
  assert_int_equal(uv_backend_timeout(&w.program.loop),
                   0); /* there is work left */
  sweep_then_close_informer(&w);
  host_finish(&w);
  assert_int_equal(w.program.informers_closed, 1);
}

/* --- From inside callbacks ------------------------------------------------ */

static void sweep_at(host_world *w) {
  if (w->program.calls - 1 == w->act_at) {
    host_sweep(w);
  }
}

static void sweep_and_close_at(host_world *w) {
  if (w->program.calls - 1 == w->act_at) {
    host_sweep(w);
    host_close(w);
  }
}

static void close_and_sweep_at(host_world *w) {
  if (w->program.calls - 1 == w->act_at) {
    host_close(w);
    host_sweep(w);
  }
}

/* In the n-th callback, whichever it is: handlers, on_state, on_error, and the
 * close callbacks. The connections are broken once, so that there is an error,
 * and everything is told twice. */
static void check_in_every_callback(void (*hook)(host_world *w), bool is_tls) {
  for (int act_at = 0;; act_at++) {
    host_world w;
    host_init(&w, is_tls);
    w.hook = hook;
    w.act_at = act_at;
    assert_int_equal(host_open(&w), 0);
    bool was_reset = false;
    HOST_UNTIL(&w, w.program.calls > act_at || w.program.errors > 0) {
      if (w.program.deletes > 0 && !was_reset) {
        was_reset = true;
        host_reset(&w);
      }
    }
    host_close(&w);
    host_finish(&w);
    assert_int_equal(w.program.informers_closed, 1);
    assert_int_equal(w.program.clients_closed, 1);
    if (w.program.calls <= act_at) {
      assert_true(w.program.errors > 0);
      assert_true(act_at > 8);
      break;
    }
  }
}

static void test_sweep_in_callbacks(void **state) {
  (void)state;
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    check_in_every_callback(sweep_at, is_tls);
    check_in_every_callback(sweep_and_close_at, is_tls);
    check_in_every_callback(close_and_sweep_at, is_tls);
  }
}

/* --- While something is in flight ----------------------------------------- */

#define POOL_THREADS 4

/* libuv's pool with nothing but ours in it: what the client asks of it waits
 * until the gate opens. */
typedef struct full_pool {
  uv_loop_t loop;
  uv_work_t works[POOL_THREADS];
  uv_sem_t gate;
} full_pool;

static full_pool pool;

static void wait_for_gate(uv_work_t *work) {
  (void)work;
  uv_sem_wait(&pool.gate);
}

static void on_gate_passed(uv_work_t *work, int status) {
  (void)work;
  assert_int_equal(status, 0);
}

static void pool_fill(void) {
  assert_int_equal(uv_loop_init(&pool.loop), 0);
  assert_int_equal(uv_sem_init(&pool.gate, 0), 0);
  for (int i = 0; i < POOL_THREADS; i++) {
    assert_int_equal(uv_queue_work(&pool.loop, &pool.works[i], wait_for_gate,
                                   on_gate_passed),
                     0);
  }
}

static void pool_drain(void) {
  for (int i = 0; i < POOL_THREADS; i++) {
    uv_sem_post(&pool.gate);
  }
  assert_int_equal(uv_run(&pool.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&pool.loop), 0);
  uv_sem_destroy(&pool.gate);
}

typedef enum in_flight { LOOK_UP, TLS_FILES, TOKEN_FILE } in_flight;

static void open_in_flight(host_world *w, in_flight what) {
  host_init(w, what != LOOK_UP);
  pool_fill();
  if (what == LOOK_UP) {
    snprintf(w->url, sizeof w->url, "http://localhost:%d", w->server.port);
  } else if (what == TOKEN_FILE) {
    w->program.options.token = "t";
    w->program.options.token_file = "/nowhere/token";
  }
  assert_int_equal(host_open(w), 0);
}

/* The request is waiting in the pool when the loop is swept, and either still
 * is when the client closes, or is done by then. */
static void check_in_flight(in_flight what, bool is_done, bool is_closed) {
  host_world w;
  open_in_flight(&w, what);
  for (int i = 0; i < 5; i++) {
    host_turn(&w);
  }
  if (is_closed) {
    host_close(&w);
  }
  host_sweep(&w);
  host_turn(&w);
  assert_int_equal(w.program.adds, 0);
  if (is_done) {
    pool_drain();
    assert_int_equal(uv_run(&w.program.loop, UV_RUN_DEFAULT), 0);
    host_close(&w);
  } else {
    host_close(&w);
    host_turn(&w);
    pool_drain();
  }
  host_finish(&w);
  assert_int_equal(w.program.informers_closed, 1);
  assert_int_equal(w.program.clients_closed, 1);
}

static void test_sweep_in_flight(void **state) {
  (void)state;
  for (in_flight what = LOOK_UP; what <= TOKEN_FILE; what++) {
    for (int i = 0; i < 4; i++) {
      check_in_flight(what, i & 1, i & 2);
    }
  }
}

/* A connection that is being established, and a handshake without an answer. */
static void test_sweep_while_connecting(void **state) {
  (void)state;
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    loop_black_hole hole;
    loop_black_hole_open(&hole);
    host_world w;
    host_init(&w, is_tls);
    if (is_tls) {
      static const tls_server_options silent = {.is_silent = true};
      tls_server_set_options(&w.secure, &silent);
    } else {
      snprintf(w.url, sizeof w.url, "http://127.0.0.1:%d", hole.port);
    }
    assert_int_equal(host_open(&w), 0);
    if (is_tls) {
      HOST_UNTIL(&w, w.secure.accepted == 1) {
      }
    }
    for (int i = 0; i < 10; i++) {
      host_turn(&w);
    }
    assert_true(host_sweep(&w) > 4); /* the socket's is one of them */
    host_close(&w);
    host_finish(&w);
    assert_int_equal(w.program.clients_closed, 1);
    loop_black_hole_close(&hole);
  }
}

/* --- After it ------------------------------------------------------------- */

/* A new client on the loop that was swept, before the old one is gone. */
static void test_sweep_then_new_client(void **state) {
  (void)state;
  host_world w;
  host_init(&w, false);
  assert_int_equal(host_open(&w), 0);
  HOST_UNTIL(&w, w.program.deletes > 0) {
  }
  host_sweep(&w);
  kin_client *client;
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = w.url;
  options.allocator = &w.program.memory.allocator;
  assert_int_equal(kin_client_open(&client, &w.program.loop, &options), 0);
  host_close(&w);
  HOST_UNTIL(&w, w.program.client == NULL) {
  }
  assert_int_equal(kin_client_close(client, NULL, NULL), 0);
  host_finish(&w);
}

/* No look-up, no socket, no handle comes of a client that was swept, even if
 * the program goes on to use it. */
static void test_swept_client_opens_nothing(void **state) {
  (void)state;
  host_world w;
  host_init(&w, false);
  assert_int_equal(host_open(&w), 0);
  HOST_UNTIL(&w, w.program.deletes > 0) {
  }
  size_t accepted = w.server.accepted;
  host_sweep(&w);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "nodes";
  kin_informer *other;
  assert_int_equal(kin_informer_open(&other, w.program.client, &io), 0);
  assert_int_equal(kin_informer_start(other), 0);
  assert_int_equal(uv_run(&w.program.loop, UV_RUN_DEFAULT),
                   0); /* ends by itself */
  assert_int_equal(host_sweep(&w), 0);
  kin_client_unref(w.program.client);
  kin_client_ref(w.program.client);
  host_close(&w);
  host_finish(&w);
  assert_int_equal(w.server.accepted, accepted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sweep_then_close),
      cmocka_unit_test(test_sweep_run_close),
      cmocka_unit_test(test_close_then_sweep),
      cmocka_unit_test(test_sweep_while_closing),
      cmocka_unit_test(test_sweep_twice),
      cmocka_unit_test(test_sweep_with_callback),
      cmocka_unit_test(test_close_within_walk),
      cmocka_unit_test(test_sweep_then_close_informer),
      cmocka_unit_test(test_sweep_with_work_left),
      cmocka_unit_test(test_sweep_in_callbacks),
      cmocka_unit_test(test_sweep_in_flight),
      cmocka_unit_test(test_sweep_while_connecting),
      cmocka_unit_test(test_sweep_then_new_client),
      cmocka_unit_test(test_swept_client_opens_nothing),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
