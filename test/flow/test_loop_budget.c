/* SPDX-License-Identifier: MIT */

/* Deferred calls, timers and tasks share the budget of an iteration, and are in
 * the one number that says how long the longest took. Proves the promises of
 * kin_client_options.budget_us and kin_client_stats.longest_ns. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "client/env.h"
#include "client/loop.h"

#define COUNT 50
#define SPIN_NS UINT64_C(2000000)

typedef enum kind { DEFERRED, TIMER, TASK, KINDS } kind;

typedef struct world {
  uv_loop_t uv;
  kin__loop loop;
  kin__deferred deferred[COUNT];
  kin__timer timers[COUNT];
  kin__task task;
  unsigned calls[KINDS];
  kind spinning; /* each call of this kind takes SPIN_NS */
  bool is_closed;
} world;

static world w; /* callbacks have no other way to it */

static void called(kind k) {
  w.calls[k]++;
  uint64_t end_ns = uv_hrtime() + SPIN_NS;
  while (w.spinning == k && uv_hrtime() < end_ns) {
  }
}

static void on_deferred(kin__deferred *deferred) {
  (void)deferred;
  called(DEFERRED);
}

static void on_timer(kin__timer *timer) {
  (void)timer;
  called(TIMER);
}

static bool step(kin__task *task) {
  (void)task;
  called(TASK);
  return w.calls[TASK] < COUNT;
}

static void on_closed(void *ctx) {
  (void)ctx;
  w.is_closed = true;
}

static void open_world(uint64_t budget_ns) {
  memset(&w, 0, sizeof w);
  w.spinning = KINDS;
  assert_int_equal(uv_loop_init(&w.uv), 0);
  kin__loop_init(&w.loop, &w.uv, budget_ns);
  kin__loop_start(&w.loop);
  kin__task_init(&w.task, step);
}

static void close_world(void) {
  kin__loop_begin_close(&w.loop);
  while (kin__sched_has_work(&w.loop.sched) || w.loop.are_timers_due ||
         !kin__link_is_empty(&w.loop.deferred)) {
    uv_run(&w.uv, UV_RUN_ONCE);
  }
  kin__loop_close(&w.loop, on_closed, NULL);
  uv_run(&w.uv, UV_RUN_DEFAULT);
  assert_true(w.is_closed);
  assert_int_equal(uv_loop_close(&w.uv), 0);
}

static void add_work(int deferred, int timers, bool has_task) {
  for (int i = 0; i < deferred; i++) {
    w.deferred[i].cb = on_deferred;
    kin__link_push(&w.loop.deferred, &w.deferred[i].node);
  }
  uint64_t now_ms = uv_hrtime() / 1000000u;
  for (int i = 0; i < timers; i++) {
    kin__timer_init(&w.timers[i], on_timer);
    kin__timer_start(&w.loop.timers, &w.timers[i], now_ms);
  }
  if (has_task) {
    kin__sched_add(&w.loop.sched, &w.task);
  }
  kin__loop_wake(&w.loop);
}

static bool is_done(void) {
  return w.calls[DEFERRED] == COUNT && w.calls[TIMER] == COUNT &&
         w.calls[TASK] == COUNT;
}

/* Without any budget each kind still does one piece: nothing starves, and
 * nothing does two. What waits does not wait for I/O. */
static void test_each_kind_does_one_piece(void **state) {
  (void)state;
  open_world(0);
  add_work(COUNT, COUNT, true);
  unsigned iterations = 0;
  while (!is_done()) {
    unsigned before[KINDS];
    memcpy(before, w.calls, sizeof before);
    uv_run(&w.uv, UV_RUN_ONCE);
    for (int k = 0; k < KINDS; k++) {
      assert_true(w.calls[k] - before[k] <= 1);
    }
    assert_true(++iterations <= 3 * COUNT);
  }
  assert_true(iterations >= COUNT);
  close_world();
}

/* What comes first uses the budget up, whatever kind of work it is. */
static void test_budget_is_shared(void **state) {
  (void)state;
  for (kind k = DEFERRED; k <= TIMER; k++) {
    open_world(SPIN_NS / 2);
    add_work(COUNT, COUNT, true);
    w.spinning = k;
    uv_run(&w.uv, UV_RUN_NOWAIT);
    uv_run(&w.uv, UV_RUN_NOWAIT); /* timers may be due in the second */
    assert_true(w.calls[k] >= 1 && w.calls[k] <= 2);
    assert_true(w.calls[TASK] <= 2 || k == TIMER);
    w.spinning = KINDS;
    while (!is_done()) {
      uv_run(&w.uv, UV_RUN_ONCE);
    }
    close_world();
  }
}

/* A piece begins only if another one as long as the longest would still fit,
 * whatever kind of work the longest was. A slow machine does fewer. */
static void test_longest_piece_must_fit(void **state) {
  (void)state;
  for (kind k = DEFERRED; k <= TIMER; k++) {
    open_world(SPIN_NS * 5 / 2);
    add_work(k == DEFERRED ? COUNT : 0, k == TIMER ? COUNT : 0, false);
    w.spinning = k;
    while (w.calls[k] == 0) {
      uv_run(&w.uv, UV_RUN_NOWAIT);
    }
    assert_true(w.calls[k] <= 2);
    w.spinning = KINDS;
    close_world();

    open_world(SPIN_NS * 3 / 2);
    add_work(k == DEFERRED, k == TIMER, true);
    w.spinning = k;
    while (w.calls[k] == 0) { /* timers may be due in the second */
      w.calls[TASK] = 0;
      kin__sched_add(&w.loop.sched, &w.task);
      uv_run(&w.uv, UV_RUN_NOWAIT);
    }
    assert_int_equal(w.calls[TASK], 1);
    w.spinning = KINDS;
    close_world();
  }
}

static void test_one_number_counts_all(void **state) {
  (void)state;
  for (kind k = DEFERRED; k < KINDS; k++) {
    open_world(SPIN_NS / 4);
    w.spinning = k;
    add_work(k == DEFERRED, k == TIMER, k == TASK);
    while (w.calls[k] == 0) {
      uv_run(&w.uv, UV_RUN_ONCE);
    }
    assert_true(w.loop.longest_ns >= SPIN_NS);
    assert_true(w.loop.busy_ns >= SPIN_NS);
    assert_true(w.loop.iterations >= 1);
    w.calls[TASK] = COUNT;
    kin__sched_cancel(&w.loop.sched, &w.task);
    close_world();
  }
}

/* A timer that is due later than those that filled an iteration; the loop does
 * not spin until then. */
static void test_later_timers_still_come(void **state) {
  (void)state;
  open_world(0);
  add_work(0, COUNT, false);
  kin__timer_stop(&w.loop.timers, &w.timers[COUNT - 1]);
  kin__timer_start(&w.loop.timers, &w.timers[COUNT - 1],
                   uv_hrtime() / 1000000u + 20);
  while (w.calls[TIMER] < COUNT) {
    uv_run(&w.uv, UV_RUN_ONCE);
  }
  assert_true(w.loop.iterations <= COUNT + 2);
  close_world();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_kind_does_one_piece),
      cmocka_unit_test(test_budget_is_shared),
      cmocka_unit_test(test_longest_piece_must_fit),
      cmocka_unit_test(test_one_number_counts_all),
      cmocka_unit_test(test_later_timers_still_come),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
