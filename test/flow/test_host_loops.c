/* SPDX-License-Identifier: MIT */

/* The ways in which programs run a loop: by turns, stopped and run again, from
 * another loop, with two clients, from inside a callback. The rows are those of
 * doc/embedding.md. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <poll.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/answers.h"
#include "support/host_world.h"

static void expect_story(const host_world *w) {
  assert_int_equal(w->program.adds, 2);
  assert_int_equal(w->program.synced, 1);
  assert_int_equal(w->program.deletes, 1);
  assert_int_equal(w->program.errors, 0);
}

/* --- Stopped, and run again ----------------------------------------------- */

static void stop_loop(host_world *w) {
  uv_stop(&w->program.loop);
}

/* The program stops its loop in every callback, and runs it again. */
static void test_loop_stop(void **state) {
  (void)state;
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    host_world w;
    host_init(&w, is_tls);
    w.hook = stop_loop;
    w.program.options.budget_us =
        1; /* one step an iteration: work is always left */
    assert_int_equal(host_open(&w), 0);
    HOST_UNTIL(&w, w.program.deletes > 0) {
      uv_stop(&w.program.loop); /* before the turn, too: then it does nothing */
      uv_run(&w.program.loop, UV_RUN_DEFAULT);
    }
    expect_story(&w);
    host_close(&w);
    host_finish(&w);
  }
}

/* --- Driven from outside -------------------------------------------------- */

/* A loop of the program's own with both loops in it, as libuv documents for
 * embedding: their backend descriptors and timeouts are all it knows. */
typedef struct driver {
  uv_loop_t *loops[2];
  uv_run_mode mode; /* of the program's loop */
  int waits;        /* calls of poll */
} driver;

static void driver_init(driver *d, host_world *w, uv_run_mode mode) {
  *d = (driver){.loops = {&w->program.loop, &w->outside}, .mode = mode};
}

/* Waits at most `limit_ms` and runs whichever loop is due. */
static void driver_turn(driver *d, int limit_ms) {
  int timeout_ms[2];
  int wait_ms = limit_ms;
  for (int i = 0; i < 2; i++) {
    uv_update_time(d->loops[i]);
    timeout_ms[i] = uv_backend_timeout(d->loops[i]);
    if (timeout_ms[i] >= 0 && timeout_ms[i] < wait_ms) {
      wait_ms = timeout_ms[i];
    }
  }
  struct pollfd entries[2] = {
      {.fd = uv_backend_fd(d->loops[0]), .events = POLLIN},
      {.fd = uv_backend_fd(d->loops[1]), .events = POLLIN}};
  int count = poll(entries, 2, wait_ms);
  if (count < 0) {
    assert_int_equal(errno, EINTR);
    return;
  }
  d->waits++;
  bool is_due[2];
  for (int i = 0; i < 2; i++) {
    /* After an event of the other one the time may not be over yet: a loop
     * that is run then would wait for its own timer. */
    is_due[i] = timeout_ms[i] == 0 ||
                (count == 0 && timeout_ms[i] > 0 && timeout_ms[i] <= wait_ms);
  }
  for (int i = 0; i < 2; i++) {
    is_due[i] = is_due[i] || entries[i].revents != 0;
  }
  if (is_due[0]) {
    uv_run(d->loops[0], d->mode);
  }
  if (is_due[1]) {
    uv_run(d->loops[1], UV_RUN_NOWAIT);
  }
}

/* uv_run(UV_RUN_ONCE) waits for the loop's next event or timer if what it was
 * called for is gone meanwhile: a socket that a timer has closed. The server
 * would stand still in that time. */
#define GUARD_MS 2000u

static void on_guard(uv_timer_t *timer) {
  (void)timer;
}

static void check_driven(uv_run_mode mode) {
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    host_world w;
    host_init(&w, is_tls);
    assert_int_equal(host_open(&w), 0);
    driver d;
    driver_init(&d, &w, mode);
    uv_timer_t guard;
    uv_timer_init(&w.program.loop, &guard);
    uv_timer_start(&guard, on_guard, GUARD_MS, GUARD_MS);
    uint64_t start_ns = uv_hrtime();
    while (w.program.deletes == 0) {
      driver_turn(&d, 1000);
      host_check_time(start_ns);
    }
    expect_story(&w);
    uv_timer_stop(&guard);
    /* Nothing to do: the loop outside sleeps, and is not woken in vain. */
    for (int i = 0; i < 5; i++) {
      driver_turn(&d, 0);
    }
    assert_true(uv_backend_timeout(&w.program.loop) > 1000);
    d.waits = 0;
    start_ns = uv_hrtime();
    while (uv_hrtime() - start_ns < UINT64_C(100000000)) {
      driver_turn(&d, 100);
    }
    assert_true(d.waits <= 3);
    host_close(&w);
    start_ns = uv_hrtime();
    uv_timer_again(&guard);
    while (w.program.client != NULL) {
      driver_turn(&d, 1000);
      host_check_time(start_ns);
    }
    uv_close((uv_handle_t *)&guard, NULL);
    for (int turns = 0; uv_loop_alive(&w.program.loop); turns++) {
      assert_true(turns < 10);
      driver_turn(&d, 1000);
    }
    assert_int_equal(uv_backend_timeout(&w.program.loop), 0);
    host_finish(&w);
  }
}

static void test_loop_driven_nowait(void **state) {
  (void)state;
  check_driven(UV_RUN_NOWAIT);
}

static void test_loop_driven_once(void **state) {
  (void)state;
  check_driven(UV_RUN_ONCE);
}

/* --- Two clients ---------------------------------------------------------- */

typedef struct second {
  kin_client *client;
  kin_informer *informer;
  int synced;
  int closed;
} second;

static void on_second_synced(kin_informer *informer, const kin_event *event,
                             void *data) {
  (void)informer;
  (void)event;
  ((second *)data)->synced++;
}

static void on_second_closed(void *data) {
  ((second *)data)->closed++;
}

static void open_second(second *s, host_world *w, loop_server *server) {
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = server->url;
  options.allocator = &w->program.memory.allocator;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "nodes";
  io.no_watch_list = true;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_synced = on_second_synced;
  lo.data = s;
  assert_int_equal(kin_client_open(&s->client, &w->program.loop, &options), 0);
  assert_int_equal(kin_informer_open(&s->informer, s->client, &io), 0);
  assert_int_equal(kin_informer_listen(s->informer, &lo, NULL), 0);
  assert_int_equal(kin_informer_start(s->informer), 0);
}

static const loop_reply second_replies[] = {
    {.bytes = ANSWER_TO_END ANSWER_PODS("7", ""), .then = LOOP_CLOSE},
    {.bytes = ANSWER_CHUNKED}};

/* One is closed at each turn of the other's life, which goes on; then the loop
 * is swept, and the other closes all the same. */
static void test_loop_two_clients(void **state) {
  (void)state;
  bool was_over = false;
  for (int turns = 0; !was_over; turns++) {
    host_world w;
    loop_server server;
    second s = {.synced = 0};
    host_init(&w, false);
    loop_server_open(&server, &w.outside, second_replies, 2);
    open_second(&s, &w, &server);
    assert_int_equal(host_open(&w), 0);
    for (int i = 0; i < turns; i++) {
      was_over = w.program.deletes > 0;
      host_turn(&w);
    }
    host_close(&w);
    HOST_UNTIL(&w, s.synced == 1 && w.program.clients_closed == 1) {
    }
    host_sweep(&w);
    assert_int_equal(kin_client_close(s.client, on_second_closed, &s), 0);
    HOST_UNTIL(&w, s.closed == 1) {
    }
    loop_server_close(&server);
    host_finish(&w);
  }
}

/* --- From inside a callback ----------------------------------------------- */

static int depth;
static int nested_runs;

static void on_timer(uv_timer_t *timer) {
  uv_stop(timer->loop);
}

static void after_close(uv_handle_t *handle) {
  *(bool *)handle->data = true;
}

/* libuv forbids it. It is answered by iterations in which the client stands
 * still: no callback within a callback, and no busy loop. */
static void run_nested(host_world *w) {
  int calls = w->program.calls;
  assert_int_equal(depth, 0);
  if (w->program.clients_closed > 0 || w->program.informers_closed > 0) {
    return;
  }
  depth++;
  uv_timer_t timer;
  bool is_gone = false;
  uv_timer_init(&w->program.loop, &timer);
  timer.data = &is_gone;
  /* Repeats, for the first time may come in the iteration without a wait. */
  uv_timer_start(&timer, on_timer, 2, 2);
  uv_run(&w->outside, UV_RUN_NOWAIT);
  uv_run(&w->program.loop, UV_RUN_NOWAIT);
  uv_run(&w->program.loop, UV_RUN_DEFAULT); /* until the timer stops it */
  uv_close((uv_handle_t *)&timer, after_close);
  while (!is_gone) {
    uv_run(&w->program.loop, UV_RUN_NOWAIT);
  }
  assert_int_equal(w->program.calls, calls);
  nested_runs++;
  depth--;
}

static void test_loop_nested_run(void **state) {
  (void)state;
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    host_world w;
    host_init(&w, is_tls);
    w.hook = run_nested;
    nested_runs = 0;
    assert_int_equal(host_open(&w), 0);
    HOST_UNTIL(&w, w.program.deletes > 0) {
    }
    expect_story(&w);
    host_reset(&w); /* errors and timers, too */
    HOST_UNTIL(&w, w.program.deletes == 2) {
    }
    assert_int_equal(w.program.adds, 3);
    assert_int_equal(w.program.errors, 2);
    assert_int_equal(nested_runs, w.program.calls);
    host_close(&w);
    host_finish(&w);
  }
}

static void close_and_run_nested(host_world *w) {
  host_close(w);
  run_nested(w);
  assert_int_equal(w->program.clients_closed + w->program.informers_closed > 0,
                   w->program.calls > w->act_at);
}

/* A client that is closed in a handler is there until the handler returns. */
static void test_loop_nested_run_and_close(void **state) {
  (void)state;
  host_world w;
  host_init(&w, false);
  w.hook = close_and_run_nested;
  w.act_at = 1; /* calls before the first close callback */
  assert_int_equal(host_open(&w), 0);
  HOST_UNTIL(&w, w.program.client == NULL) {
  }
  host_finish(&w);
  assert_int_equal(w.program.informers_closed, 1);
}

/* --- Signals -------------------------------------------------------------- */

static volatile sig_atomic_t signals_seen;

static void on_signal(int number) {
  (void)number;
  signals_seen++;
}

/* Handlers of the program's own: they stay, and nothing of ours raises one, not
 * even when the peer is gone in the middle of what is sent. The mask stays. */
static void test_loop_signals(void **state) {
  (void)state;
  struct sigaction action = {.sa_handler = on_signal};
  struct sigaction old[NSIG];
  struct sigaction now;
  sigset_t mask_before;
  sigset_t mask_after;
  assert_int_equal(sigaction(SIGPIPE, &action, NULL), 0);
  assert_int_equal(sigaction(SIGCHLD, &action, NULL), 0);
  sigemptyset(&mask_before);
  sigemptyset(&mask_after);
  sigprocmask(SIG_SETMASK, NULL, &mask_before);
  for (int i = 1; i < NSIG; i++) {
    if (sigaction(i, NULL, &old[i]) != 0) {
      memset(&old[i], 0, sizeof old[i]);
    }
  }
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    for (int turns = 0; turns < 30; turns++) {
      host_world w;
      host_init(&w, is_tls);
      assert_int_equal(host_open(&w), 0);
      for (int i = 0; i < turns; i++) {
        host_turn(&w);
      }
      host_reset(&w);
      host_turn(&w);
      host_close(&w);
      host_finish(&w);
    }
  }
  assert_int_equal(signals_seen, 0);
  for (int i = 1; i < NSIG; i++) {
    if (sigaction(i, NULL, &now) == 0) {
      assert_true(now.sa_handler == old[i].sa_handler);
      assert_int_equal(now.sa_flags, old[i].sa_flags);
    }
  }
  sigprocmask(SIG_SETMASK, NULL, &mask_after);
  for (int i = 1; i < NSIG; i++) {
    assert_int_equal(sigismember(&mask_before, i), sigismember(&mask_after, i));
  }
  signal(SIGPIPE, SIG_DFL);
  signal(SIGCHLD, SIG_DFL);
}

/* --- Two threads ---------------------------------------------------------- */

static void tell_story(void *arg) {
  host_world *w = arg;
  for (int round = 0; round < 3; round++) {
    bool is_tls = w->is_tls;
    host_init(w, is_tls);
    w->fd_count = -1; /* the other thread opens some, too */
    assert_int_equal(host_open(w), 0);
    HOST_UNTIL(w, w->program.deletes > 0) {
    }
    expect_story(w);
    if (round == 1) {
      host_sweep(w);
    }
    host_close(w);
    host_finish(w);
  }
}

/* A loop and its clients on each of two threads: they share nothing. */
static void test_loop_threads(void **state) {
  (void)state;
  (void)tls_pki_get(); /* made once, before */
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    host_world worlds[2];
    uv_thread_t threads[2];
    for (int i = 0; i < 2; i++) {
      worlds[i].is_tls = is_tls;
      assert_int_equal(uv_thread_create(&threads[i], tell_story, &worlds[i]),
                       0);
    }
    for (int i = 0; i < 2; i++) {
      assert_int_equal(uv_thread_join(&threads[i]), 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_loop_stop),
      cmocka_unit_test(test_loop_driven_nowait),
      cmocka_unit_test(test_loop_driven_once),
      cmocka_unit_test(test_loop_two_clients),
      cmocka_unit_test(test_loop_nested_run),
      cmocka_unit_test(test_loop_nested_run_and_close),
      cmocka_unit_test(test_loop_signals),
      cmocka_unit_test(test_loop_threads),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
