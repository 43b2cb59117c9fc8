/* SPDX-License-Identifier: MIT */
/* Proves the promises of kin_client_options.watch_read_delay_ms: events of a
 * busy watch are read together, none later than the delay, and an event after a
 * pause at once. Nothing hangs (RW-15) if the watch is paused, ends or closes
 * meanwhile. Time is a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/transport_world.h"
#include "transport/conn.h"
#include "transport/core.h"

#define DELAY_MS 5u

static const loop_reply first_byte = {.bytes = FIRST_BYTE};

static void open_world(world *w, uint32_t delay_ms) {
  world_init(w, &first_byte, 1, 0);
  w->read_delay_ms = delay_ms;
  assert_int_equal(world_open(w), 0);
}

static kin__conn *open_watch(fetch *f, world *w) {
  open_world(w, DELAY_MS);
  return fetch_first_byte(f, w, true);
}

static void close_watch(fetch *f, world *w) {
  fetch_finish(f);
  world_close(w);
}

/* Lets the loop see all there is, without waiting. */
static void look(world *w) {
  for (int i = 0; i < 10; i++) {
    uv_run(&w->loop, UV_RUN_NOWAIT);
    world_run_tasks(w);
  }
}

/* One more byte on every watch. */
static void push(world *w) {
  loop_server_push(&w->server, "1\r\nb\r\n");
  look(w);
}

/* The head came in a read; the next one makes the watch busy. */
static void make_busy(fetch *f, world *w) {
  size_t bodies = f->bodies;
  push(w);
  assert_int_equal(f->bodies, bodies + 1);
}

static kin__conn *open_delayed_watch(fetch *f, world *w) {
  kin__conn *conn = open_watch(f, w);
  make_busy(f, w);
  assert_true(conn->is_delayed);
  return conn;
}

/* The watch ends in the very read that would delay the next one. */
static void end_watch(fetch *f, world *w) {
  loop_server_push(&w->server, "1\r\nb\r\n0\r\n\r\n");
  fetch_until_end(f);
  assert_int_equal(f->error.code, 0);
  assert_int_equal(w->transport->pool.count, 1);
}

/* Twice, so that the second round finds what the first one left. */
static void test_events_wait_together(void **state) {
  (void)state;
  world w;
  fetch f;
  kin__conn *conn = open_delayed_watch(&f, &w);
  for (int round = 0; round < 2; round++) {
    size_t bytes = f.body_length;
    assert_true(conn->is_delayed);
    assert_int_equal(conn->polled, 0);
    push(&w);
    push(&w);
    push(&w);
    world_advance(&w, DELAY_MS - 1);
    look(&w);
    assert_int_equal(f.body_length, bytes);
    uint64_t received = kin__transport_get_stats(w.transport)->received_bytes;
    world_advance(&w, 1);
    assert_int_equal(f.body_length, bytes + 3);
    assert_int_equal(kin__transport_get_stats(w.transport)->received_bytes,
                     received + 3 * strlen("1\r\nb\r\n"));
  }
  close_watch(&f, &w);
}

/* The delay ends without an event: the socket is polled, and the next event,
 * which comes soon, makes the watch busy again. */
static void test_an_empty_wait_ends(void **state) {
  (void)state;
  world w;
  fetch f;
  kin__conn *conn = open_delayed_watch(&f, &w);
  for (int round = 0; round < 2; round++) {
    world_advance(&w, DELAY_MS);
    assert_false(conn->is_delayed);
    assert_int_equal(conn->polled, UV_READABLE);
    assert_true(kin__timers_next_ms(&w.timers) > w.now_ms + DELAY_MS);
    make_busy(&f, &w);
    assert_true(conn->is_delayed);
  }
  close_watch(&f, &w);
}

/* After a pause an event is read at once, and the one after it, too. */
static void test_an_event_after_a_pause(void **state) {
  (void)state;
  world w;
  fetch f;
  kin__conn *conn = open_watch(&f, &w);
  for (int i = 0; i < 5; i++) {
    world_advance(&w, 2 * DELAY_MS + 1);
    make_busy(&f, &w);
    assert_false(conn->is_delayed);
    assert_int_equal(conn->polled, UV_READABLE);
  }
  make_busy(&f, &w);
  assert_true(conn->is_delayed);
  close_watch(&f, &w);
}

static void test_no_delay_by_default_or_for_lists(void **state) {
  (void)state;
  for (int is_watch = 0; is_watch < 2; is_watch++) {
    world w;
    fetch f;
    open_world(&w, is_watch ? 0 : DELAY_MS);
    kin__conn *conn = fetch_first_byte(&f, &w, is_watch);
    for (int i = 0; i < 5; i++) {
      make_busy(&f, &w);
      assert_false(conn->is_delayed);
    }
    close_watch(&f, &w);
  }
}

/* The second watch becomes busy later, and is read with the first. */
static void test_watches_share_a_wake_up(void **state) {
  (void)state;
  world w;
  fetch f[2];
  open_delayed_watch(&f[0], &w);
  world_advance(&w, DELAY_MS - 1);
  kin__conn *later = fetch_first_byte(&f[1], &w, true);
  push(&w); /* to both, and only the second one reads */
  assert_true(later->is_delayed);
  size_t first = f[0].body_length;
  size_t second = f[1].body_length;
  push(&w);
  assert_int_equal(f[0].body_length, first);
  assert_int_equal(f[1].body_length, second);
  world_advance(&w, 1);
  assert_int_equal(f[0].body_length, first + 2);
  assert_int_equal(f[1].body_length, second + 1);
  fetch_finish(&f[1]);
  close_watch(&f[0], &w);
}

/* The end of a watch, in order or not, is told after the delay. */
static void test_the_end_of_a_delayed_watch(void **state) {
  (void)state;
  for (loop_then then = LOOP_CLOSE; then <= LOOP_RESET; then++) {
    world w;
    fetch f;
    open_delayed_watch(&f, &w);
    loop_server_drop(&w.server, then);
    look(&w);
    assert_int_equal(f.ends, 0);
    world_advance(&w, DELAY_MS);
    assert_int_equal(f.ends, 1);
    assert_int_equal(f.error.code,
                     then == LOOP_CLOSE ? KIN_EEOF : UV_ECONNRESET);
    close_watch(&f, &w);
  }
}

/* The connection is idle, is polled, and serves the next request. */
static void test_the_pool_gets_no_delayed_connection(void **state) {
  (void)state;
  world w;
  fetch f;
  kin__conn *conn = open_watch(&f, &w);
  end_watch(&f, &w);
  assert_false(conn->is_delayed);
  assert_int_equal(conn->polled, UV_READABLE);
  fetch_finish(&f);
  assert_ptr_equal(fetch_first_byte(&f, &w, true), conn);
  make_busy(&f, &w);
  assert_true(conn->is_delayed);
  close_watch(&f, &w);
}

/* The connection carried a watch, and carries a list now: lists do not wait. */
static void test_no_delay_on_the_connection_of_a_watch(void **state) {
  (void)state;
  world w;
  fetch f;
  kin__conn *conn = open_watch(&f, &w);
  end_watch(&f, &w);
  fetch_finish(&f);
  assert_ptr_equal(fetch_first_byte(&f, &w, false), conn);
  for (int i = 0; i < 5; i++) {
    make_busy(&f, &w);
    assert_false(conn->is_delayed);
  }
  close_watch(&f, &w);
}

/* A server that goes on after the response: the idle connection, which has been
 * a watch's, is not delayed but dropped, and the next request has a new one. */
static void test_bytes_on_an_idle_connection(void **state) {
  (void)state;
  world w;
  fetch f;
  open_watch(&f, &w);
  end_watch(&f, &w);
  uint64_t first = f.connection;
  fetch_finish(&f);
  push(&w);
  assert_int_equal(w.transport->pool.count, 0);
  assert_true(kin__link_is_empty(&w.transport->pool.idle));
  assert_int_equal(kin__timers_next_ms(&w.timers), UINT64_MAX);
  fetch_first_byte(&f, &w, true);
  assert_int_not_equal(f.connection, first);
  close_watch(&f, &w);
}

/* Its owner pauses the watch while it is delayed, and resumes it before the
 * delay ends, or after. Neither loses an event, or reads one too early. */
static void test_a_pause_meanwhile(void **state) {
  (void)state;
  for (int resumes_first = 0; resumes_first < 2; resumes_first++) {
    world w;
    fetch f;
    kin__conn *conn = open_delayed_watch(&f, &w);
    kin__exchange_pause(f.exchange);
    push(&w);
    if (resumes_first) {
      kin__exchange_resume(f.exchange);
      look(&w);
      assert_int_equal(f.bodies, 2);
    }
    world_advance(&w, DELAY_MS);
    look(&w);
    assert_int_equal(f.bodies, resumes_first ? 3 : 2);
    if (!resumes_first) {
      assert_int_equal(conn->polled, 0);
      kin__exchange_resume(f.exchange);
      look(&w);
      assert_int_equal(f.bodies, 3);
    }
    close_watch(&f, &w);
  }
}

/* Closing in each callback, also those of a delayed read. world_close finds a
 * timer or a connection that is left. */
static void test_close_in_each_callback(void **state) {
  (void)state;
  for (size_t act_at = 1; act_at <= 4; act_at++) {
    world w;
    open_world(&w, DELAY_MS);
    fetch f = {.world = &w, .hook = fetch_cancel_at, .act_at = act_at};
    assert_int_equal(fetch_start(&f, &w, "/x", true), 0);
    WORLD_UNTIL(&w, f.callbacks == 2 || f.exchange == NULL);
    push(&w);
    push(&w);
    world_advance(&w, DELAY_MS);
    assert_null(f.exchange);
    assert_int_equal(f.callbacks, act_at);
    close_watch(&f, &w);
  }
}

/* Cancelled, or the whole transport closed, while the watch is delayed. */
static void test_close_while_delayed(void **state) {
  (void)state;
  for (int cancels = 0; cancels < 2; cancels++) {
    world w;
    fetch f;
    open_delayed_watch(&f, &w);
    if (cancels) {
      kin__exchange_cancel(f.exchange);
      world_advance(&w, DELAY_MS);
    }
    close_watch(&f, &w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_events_wait_together),
      cmocka_unit_test(test_an_empty_wait_ends),
      cmocka_unit_test(test_an_event_after_a_pause),
      cmocka_unit_test(test_no_delay_by_default_or_for_lists),
      cmocka_unit_test(test_watches_share_a_wake_up),
      cmocka_unit_test(test_the_end_of_a_delayed_watch),
      cmocka_unit_test(test_the_pool_gets_no_delayed_connection),
      cmocka_unit_test(test_no_delay_on_the_connection_of_a_watch),
      cmocka_unit_test(test_bytes_on_an_idle_connection),
      cmocka_unit_test(test_a_pause_meanwhile),
      cmocka_unit_test(test_close_in_each_callback),
      cmocka_unit_test(test_close_while_delayed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
