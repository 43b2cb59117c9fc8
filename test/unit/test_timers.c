/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/link.h"
#include "base/random.h"
#include "base/timers.h"

/* What the callbacks did, in order. */
static struct {
  kin__timers timers;
  unsigned calls;
  unsigned order[64];
  unsigned changes;
} t;

typedef struct item {
  kin__timer timer;
  unsigned id;
  struct item *other; /* to stop or start */
  uint64_t again_ms;  /* start again at, if not 0 */
} item;

static void count_change(kin__timers *timers) {
  assert_ptr_equal(timers, &t.timers);
  t.changes++;
}

static void record(kin__timer *timer) {
  item *i = KIN__CONTAINER_OF(timer, item, timer);
  assert_false(timer->is_active);
  t.order[t.calls++ % 64] = i->id;
  if (i->again_ms > 0) {
    uint64_t due_ms = i->again_ms;
    i->again_ms = 0;
    kin__timer_start(&t.timers, timer, due_ms);
  }
}

static int setup(void **state) {
  (void)state;
  t.calls = t.changes = 0;
  kin__timers_init(&t.timers);
  return 0;
}

static void init_items(item *items, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    items[i] = (item){.id = i};
    kin__timer_init(&items[i].timer, record);
  }
}

static void test_timers_none(void **state) {
  (void)state;
  assert_true(kin__timers_next_ms(&t.timers) == UINT64_MAX);
  assert_false(kin__timers_run(&t.timers, UINT64_MAX, 10));
}

static void test_timers_run_in_order_of_time(void **state) {
  (void)state;
  item items[4];
  init_items(items, 4);
  kin__timer_start(&t.timers, &items[0].timer, 30);
  kin__timer_start(&t.timers, &items[1].timer, 10);
  kin__timer_start(&t.timers, &items[2].timer, 20);
  kin__timer_start(&t.timers, &items[3].timer, 40);
  assert_int_equal(kin__timers_next_ms(&t.timers), 10);
  assert_false(kin__timers_run(&t.timers, 9, 10));
  assert_int_equal(t.calls, 0);
  assert_false(kin__timers_run(&t.timers, 30, 10));
  assert_int_equal(t.calls, 3);
  assert_int_equal(t.order[0], 1);
  assert_int_equal(t.order[1], 2);
  assert_int_equal(t.order[2], 0);
  assert_int_equal(kin__timers_next_ms(&t.timers), 40);
}

static void test_timers_run_is_limited(void **state) {
  (void)state;
  item items[3];
  init_items(items, 3);
  for (unsigned i = 0; i < 3; i++) {
    kin__timer_start(&t.timers, &items[i].timer, i);
  }
  assert_true(kin__timers_run(&t.timers, 100, 2));
  assert_int_equal(t.calls, 2);
  assert_false(kin__timers_run(&t.timers, 100, 1));
  assert_int_equal(t.calls, 3);
}

static void test_timers_restart_and_stop(void **state) {
  (void)state;
  item items[2];
  init_items(items, 2);
  t.timers.changed = count_change;
  kin__timer_start(&t.timers, &items[0].timer, 10);
  kin__timer_start(&t.timers, &items[1].timer, 20);
  kin__timer_start(&t.timers, &items[0].timer, 30); /* later */
  assert_int_equal(kin__timers_next_ms(&t.timers), 20);
  kin__timer_start(&t.timers, &items[0].timer, 5); /* earlier */
  assert_int_equal(kin__timers_next_ms(&t.timers), 5);
  assert_int_equal(t.changes, 4);
  kin__timer_stop(&t.timers, &items[0].timer);
  assert_int_equal(kin__timers_next_ms(&t.timers), 20);
  assert_int_equal(t.changes, 5);
  kin__timer_stop(&t.timers, &items[0].timer); /* nothing to do */
  assert_int_equal(t.changes, 5);
  assert_false(kin__timers_run(&t.timers, 100, 10));
  assert_int_equal(t.calls, 1);
  assert_int_equal(t.order[0], 1);
}

static void test_timers_callback_starts_itself(void **state) {
  (void)state;
  item one;
  init_items(&one, 1);
  one.again_ms = 50;
  kin__timer_start(&t.timers, &one.timer, 10);
  assert_false(kin__timers_run(&t.timers, 10, 10));
  assert_int_equal(t.calls, 1);
  assert_int_equal(kin__timers_next_ms(&t.timers), 50);
  assert_false(kin__timers_run(&t.timers, 50, 10));
  assert_int_equal(t.calls, 2);
}

static void stop_and_free_other(kin__timer *timer) {
  item *i = KIN__CONTAINER_OF(timer, item, timer);
  t.calls++;
  kin__timer_stop(&t.timers, &i->other->timer);
  free(i->other);
  free(i);
}

/* The callback frees another timer that is due as well, and its own. */
static void test_timers_callback_frees_timers(void **state) {
  (void)state;
  item *a = calloc(1, sizeof *a);
  item *b = calloc(1, sizeof *b);
  kin__timer_init(&a->timer, stop_and_free_other);
  kin__timer_init(&b->timer, stop_and_free_other);
  a->other = b;
  b->other = a;
  kin__timer_start(&t.timers, &a->timer, 10);
  kin__timer_start(&t.timers, &b->timer, 10);
  assert_false(kin__timers_run(&t.timers, 10, 10));
  assert_int_equal(t.calls, 1);
  assert_true(kin__timers_next_ms(&t.timers) == UINT64_MAX);
}

/* Random starts, restarts, stops and runs against an array. */
static void test_timers_random_operations(void **state) {
  (void)state;
  enum { COUNT = 50 };
  for (uint64_t seed = 0; seed < 100; seed++) {
    kin__random random = {seed};
    item items[COUNT];
    uint64_t due[COUNT];
    init_items(items, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
      due[i] = UINT64_MAX;
    }
    kin__timers_init(&t.timers);
    uint64_t now = 0;
    for (unsigned step = 0; step < 500; step++) {
      unsigned i = (unsigned)kin__random_below(&random, COUNT);
      uint64_t what = kin__random_below(&random, 10);
      if (what < 6) {
        due[i] = now + kin__random_below(&random, 100);
        kin__timer_start(&t.timers, &items[i].timer, due[i]);
      } else if (what < 8) {
        due[i] = UINT64_MAX;
        kin__timer_stop(&t.timers, &items[i].timer);
      } else {
        now += kin__random_below(&random, 40);
        t.calls = 0;
        assert_false(kin__timers_run(&t.timers, now, COUNT));
        uint64_t previous = 0;
        for (unsigned k = 0; k < t.calls; k++) {
          unsigned id = t.order[k];
          assert_true(due[id] >= previous && due[id] <= now);
          previous = due[id];
          due[id] = UINT64_MAX;
        }
      }
      uint64_t next = UINT64_MAX;
      for (unsigned k = 0; k < COUNT; k++) {
        assert_int_equal(items[k].timer.is_active, due[k] != UINT64_MAX);
        next = due[k] < next ? due[k] : next;
      }
      assert_true(kin__timers_next_ms(&t.timers) == next);
    }
  }
}

/* The way down to the right, which is all that a start or a pop walks. */
static unsigned way_to_the_right(const kin__timer *timer) {
  unsigned length = 0;
  for (; timer != NULL; timer = timer->right) {
    length++;
  }
  return length;
}

/* Thousands of timers that were started in the order in which they are due, or
 * in the opposite one, or all for the same time: no pop takes long. */
static void test_timers_no_pop_is_long(void **state) {
  (void)state;
  enum { COUNT = 8192, LOG2 = 13 };
  static item items[COUNT];
  for (int order = 0; order < 3; order++) {
    setup(NULL);
    init_items(items, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
      unsigned due = order == 0 ? i : order == 1 ? COUNT - i : 7;
      kin__timer_start(&t.timers, &items[i].timer, due);
    }
    for (unsigned i = 0; i < COUNT; i++) {
      const kin__timer *root = t.timers.root;
      assert_true(way_to_the_right(root) <= LOG2 + 1);
      assert_true(way_to_the_right(root->left) <= LOG2 + 1);
      bool has_more = kin__timers_run(&t.timers, UINT64_MAX, 1);
      assert_int_equal(has_more, i + 1 < COUNT);
    }
    assert_int_equal(t.calls, COUNT);
  }
}

static bool was_delayed;

static void delay(kin__timer *timer) {
  was_delayed = kin__timer_delay(&t.timers, timer);
}

static void expect_delay(uint64_t now_ms, bool is_delayed) {
  was_delayed = !is_delayed;
  assert_false(kin__timers_run(&t.timers, now_ms, 10));
  assert_int_equal(was_delayed, is_delayed);
  assert_true(kin__timers_next_ms(&t.timers) ==
              (is_delayed ? now_ms + 100 : UINT64_MAX));
}

/* Only if it is more than 100 ms late, and once for each start. */
static void test_timers_delay(void **state) {
  (void)state;
  kin__timer timer;
  kin__timer_init(&timer, delay);
  for (uint64_t ms = 1000; ms <= 3000; ms += 1000) {
    kin__timer_start(&t.timers, &timer, ms);
    expect_delay(ms + 100, false);
    kin__timer_start(&t.timers, &timer, ms);
    expect_delay(ms + 101, true);
    expect_delay(ms + 900, false);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_timers_none, setup),
      cmocka_unit_test_setup(test_timers_run_in_order_of_time, setup),
      cmocka_unit_test_setup(test_timers_run_is_limited, setup),
      cmocka_unit_test_setup(test_timers_restart_and_stop, setup),
      cmocka_unit_test_setup(test_timers_callback_starts_itself, setup),
      cmocka_unit_test_setup(test_timers_callback_frees_timers, setup),
      cmocka_unit_test_setup(test_timers_random_operations, setup),
      cmocka_unit_test_setup(test_timers_no_pop_is_long, setup),
      cmocka_unit_test_setup(test_timers_delay, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
