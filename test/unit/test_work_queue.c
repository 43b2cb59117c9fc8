/* SPDX-License-Identifier: MIT */

/* Work queues that stand alone, on a time that is a number. client-go's tests
 * of its work queue, by meaning: where those have threads, here calls are in
 * the order that a thread could have had. Proves WQ-01 to WQ-10. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/work_queue.h>

#include "base/str.h"
#include "support/fail_alloc.h"

#define NS_PER_MS UINT64_C(1000000)

typedef struct world {
  fail_alloc memory;
  kin_work_queue_options options;
  kin_work_queue *queue;
  uint64_t now_ns;
} world;

static void init(world *w, size_t fail_at) {
  *w = (world){.options = KIN_WORK_QUEUE_OPTIONS_INIT};
  fail_alloc_init(&w->memory, fail_at);
  w->options.allocator = &w->memory.allocator;
}

static void begin(world *w) {
  init(w, 0);
  assert_int_equal(kin_work_queue_new(&w->queue, &w->options), 0);
}

/* With waits of 1, 2, 4 ms and so on. */
static void open_exponential(world *w) {
  init(w, 0);
  assert_int_equal(kin_rate_limiter_new_exponential(
                       &w->options.limiter, &w->memory.allocator, 1, 1000),
                   0);
  assert_int_equal(kin_work_queue_new(&w->queue, &w->options), 0);
}

static void finish(world *w) {
  kin_work_queue_free(w->queue);
  assert_int_equal(w->memory.live_blocks, 0);
}

/* Most tests get an open queue as their state; its end proves that nothing is
 * left. */
static int set_up(void **state) {
  static world w;
  begin(&w);
  *state = &w;
  return 0;
}

static int set_up_exponential(void **state) {
  static world w;
  open_exponential(&w);
  *state = &w;
  return 0;
}

static int tear_down(void **state) {
  finish(*state);
  return 0;
}

#define PLAIN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define LIMITED(test)                                                          \
  cmocka_unit_test_setup_teardown(test, set_up_exponential, tear_down)

static void add(world *w, const char *key) {
  assert_int_equal(kin_work_queue_add(w->queue, kin__cstr(key)), 0);
}

static void add_after(world *w, const char *key, uint64_t delay_ms) {
  assert_int_equal(kin_work_queue_add_after(w->queue, kin__cstr(key), delay_ms),
                   0);
}

static void add_at(world *w, const char *key, int32_t priority,
                   uint64_t delay_ms) {
  assert_int_equal(kin_work_queue_add_with_priority(w->queue, kin__cstr(key),
                                                    priority, delay_ms),
                   0);
}

static void add_numbers(world *w, int count) {
  for (int i = 0; i < count; i++) {
    char key[16];
    snprintf(key, sizeof key, "%d", i);
    add(w, key);
  }
}

static const kin_work_item *get_next(world *w) {
  const kin_work_item *item;
  assert_int_equal(kin_work_queue_get(w->queue, &item), 0);
  assert_int_equal(item->size, sizeof *item);
  assert_ptr_equal(item->queue, w->queue);
  return item;
}

static const kin_work_item *get(world *w, const char *key) {
  const kin_work_item *item = get_next(w);
  assert_true(kin__str_equal(item->key, kin__cstr(key)));
  return item;
}

static void expect_nothing(world *w, int code) {
  const kin_work_item *item;
  assert_int_equal(kin_work_queue_get(w->queue, &item), code);
  assert_null(item);
}

static void done(const kin_work_item *item) {
  assert_int_equal(kin_work_done(item, KIN_WORK_SUCCESS), 0);
}

static void work(world *w, const char *key) {
  done(get(w, key));
}

static uint64_t pass(world *w, uint64_t ms) {
  uint64_t next_ns;
  w->now_ns += ms * NS_PER_MS;
  assert_int_equal(kin_work_queue_advance(w->queue, w->now_ns, &next_ns), 0);
  return next_ns == UINT64_MAX ? UINT64_MAX : next_ns / NS_PER_MS;
}

static size_t count(const world *w) {
  return kin_work_queue_count(w->queue);
}

static kin_work_queue_metrics metrics(const world *w) {
  kin_work_queue_metrics m = KIN_WORK_QUEUE_METRICS_INIT;
  assert_int_equal(kin_work_queue_get_metrics(w->queue, &m), 0);
  return m;
}

/* --- The queue ------------------------------------------------------------ */

/* WQ-01, WQ-02. client-go TestBasic: fifty keys, each added ten times and
 * worked on by ten workers at a time; in the end nothing is left. A queue that
 * is shut down, with drain or without, says so when it is empty. */
static void test_work_queue_basic(void **state) {
  (void)state;
  for (int with_drain = 0; with_drain < 2; with_drain++) {
    world w;
    begin(&w);
    char key[8];
    for (int round = 0; round < 10; round++) {
      for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof key, "%d", i);
        add(&w, key);
      }
      const kin_work_item *items[10];
      for (int i = 0; i < 50; i++) {
        assert_int_equal(kin_work_queue_get(w.queue, &items[i % 10]), 0);
        if (i % 10 == 9) {
          for (int k = 9; k >= 0; k--) {
            done(items[k]);
          }
        }
      }
      expect_nothing(&w, KIN_ENOENT);
    }
    if (with_drain) {
      assert_int_equal(kin_work_queue_shut_down_with_drain(w.queue, NULL, NULL),
                       0);
    } else {
      kin_work_queue_shut_down(w.queue);
    }
    assert_int_equal(kin_work_queue_add(w.queue, kin__cstr("a")), KIN_ECLOSED);
    expect_nothing(&w, KIN_ECLOSED);
    assert_true(kin_work_queue_is_drained(w.queue));
    assert_int_equal(metrics(&w).keys, 0);
    finish(&w);
  }
}

/* WQ-03. client-go TestAddWhileProcessing: each key is added once more while it
 * is worked on, comes a second time, and no more often. */
static void test_add_while_processing(void **state) {
  world *w = *state;
  add_numbers(w, 50);
  for (int i = 0; i < 100; i++) {
    const kin_work_item *item = get_next(w);
    if (i < 50) {
      assert_int_equal(kin_work_queue_add(w->queue, item->key), 0);
      assert_int_equal(kin_work_queue_add(w->queue, item->key), 0);
    }
    done(item);
  }
  expect_nothing(w, KIN_ENOENT);
}

/* WQ-02. client-go TestLen. */
static void test_len(void **state) {
  world *w = *state;
  add(w, "foo");
  assert_int_equal(count(w), 1);
  add(w, "bar");
  assert_int_equal(count(w), 2);
  add(w, "foo");
  assert_int_equal(count(w), 2);
  work(w, "foo");
  assert_int_equal(count(w), 1);
}

/* WQ-03. client-go TestReinsert: a key that is added during its work is not
 * queued before the work is done, and then comes last. */
static void test_reinsert(void **state) {
  world *w = *state;
  add(w, "foo");
  const kin_work_item *item = get(w, "foo");
  add(w, "foo");
  assert_int_equal(count(w), 0);
  expect_nothing(w, KIN_ENOENT);
  add(w, "bar");
  done(item);
  assert_int_equal(count(w), 2);
  work(w, "bar");
  work(w, "foo");
  assert_int_equal(count(w), 0);
  assert_int_equal(metrics(w).keys, 0);
}

/* WQ-01, WQ-06. client-go TestCollapse: what is added twice is one, in the
 * place of the first. */
static void test_collapse(void **state) {
  world *w = *state;
  add(w, "bar");
  add(w, "foo");
  add(w, "bar");
  assert_int_equal(metrics(w).adds, 2);
  work(w, "bar");
  work(w, "foo");
  expect_nothing(w, KIN_ENOENT);
}

/* WQ-01, WQ-03. client-go TestCollapseWhileProcessing. */
static void test_collapse_while_processing(void **state) {
  world *w = *state;
  add(w, "foo");
  const kin_work_item *item = get(w, "foo");
  for (int i = 0; i < 3; i++) {
    add(w, "foo");
  }
  assert_int_equal(count(w), 0);
  done(item);
  assert_int_equal(count(w), 1);
  work(w, "foo");
  assert_int_equal(count(w), 0);
}

/* WQ-06. client-go TestGarbageCollection: nothing is kept of keys that came out
 * and are done; only their places are, for the next keys. */
static void test_garbage_collection(void **state) {
  world *w = *state;
  size_t before = w->memory.live_blocks;
  for (int round = 0; round < 3; round++) {
    add_numbers(w, 20);
    while (count(w) > 0) {
      const kin_work_item *item = get_next(w);
      done(item);
    }
    /* A segment and a directory for entries, for records, and for the map. */
    assert_in_range(w->memory.live_blocks, before, before + 6);
  }
}

/* WQ-03: of two answers the second one is told to be one too many. */
static void test_answers(void **state) {
  world *w = *state;
  add(w, "foo");
  const kin_work_item *item = get(w, "foo");
  assert_int_equal(kin_work_done(item, (kin_work_result)7), KIN_EINVAL);
  assert_int_equal(kin_work_done(item, (kin_work_result)-1), KIN_EINVAL);
  done(item);
  assert_int_equal(kin_work_done(item, KIN_WORK_SUCCESS), KIN_EALREADY);
  assert_int_equal(kin_work_done_after(item, 1), KIN_EALREADY);
  assert_int_equal(metrics(w).done, 1);
}

/* --- Shutdown ------------------------------------------------------------- */

/* WQ-05. client-go TestQueueDrainageUsingShutDownWithDrain. */
static void test_drain(void **state) {
  world *w = *state;
  add(w, "foo");
  add(w, "bar");
  const kin_work_item *foo = get(w, "foo");
  const kin_work_item *bar = get(w, "bar");
  assert_int_equal(kin_work_queue_shut_down_with_drain(w->queue, NULL, NULL),
                   0);
  assert_false(kin_work_queue_is_drained(w->queue));
  done(foo);
  assert_false(kin_work_queue_is_drained(w->queue));
  done(bar);
  assert_true(kin_work_queue_is_drained(w->queue));
}

/* WQ-04. client-go TestNoQueueDrainageUsingShutDown: what is queued is still
 * given; nothing is added. */
static void test_shut_down(void **state) {
  world *w = *state;
  add(w, "foo");
  add(w, "bar");
  const kin_work_item *foo = get(w, "foo");
  add(w, "foo");
  assert_false(kin_work_queue_is_shut_down(w->queue));
  kin_work_queue_shut_down(w->queue);
  kin_work_queue_shut_down(w->queue);
  assert_true(kin_work_queue_is_shut_down(w->queue));
  assert_int_equal(kin_work_queue_add(w->queue, kin__cstr("new")), KIN_ECLOSED);
  assert_int_equal(kin_work_queue_add_rate_limited(w->queue, kin__cstr("new")),
                   KIN_ECLOSED);
  work(w, "bar");
  expect_nothing(w, KIN_ECLOSED);
  done(foo);
  work(w, "foo"); /* it was added before the shutdown */
  expect_nothing(w, KIN_ECLOSED);
}

/* WQ-05. client-go TestForceQueueShutdownUsingShutDown: a shutdown after one
 * with drain does not wait. (test_work_queue_client.c has its callback.) */
static void test_forced_shut_down(void **state) {
  world *w = *state;
  add(w, "foo");
  const kin_work_item *foo = get(w, "foo");
  assert_int_equal(kin_work_queue_shut_down_with_drain(w->queue, NULL, NULL),
                   0);
  kin_work_queue_shut_down(w->queue);
  expect_nothing(w, KIN_ECLOSED);
  assert_false(kin_work_queue_is_drained(w->queue));
  done(foo);
  assert_true(kin_work_queue_is_drained(w->queue));
}

/* WQ-05. client-go TestQueueDrainageUsingShutDownWithDrainWithDirtyItem. */
static void test_drain_with_dirty_item(void **state) {
  world *w = *state;
  add(w, "foo");
  const kin_work_item *foo = get(w, "foo");
  add(w, "foo");
  assert_int_equal(kin_work_queue_shut_down_with_drain(w->queue, NULL, NULL),
                   0);
  done(foo);
  assert_false(kin_work_queue_is_drained(w->queue));
  work(w, "foo");
  assert_true(kin_work_queue_is_drained(w->queue));
  expect_nothing(w, KIN_ECLOSED);
}

/* WQ-09: keys that wait are dropped at a shutdown, and so is a retry. */
static void test_shut_down_drops_waiting(void **state) {
  world *w = *state;
  for (int i = 0; i < 2000; i++) {
    char key[8];
    snprintf(key, sizeof key, "%d", i);
    add_after(w, key, 1 + (uint64_t)i);
  }
  add(w, "retried");
  add(w, "later");
  const kin_work_item *retried = get(w, "retried");
  const kin_work_item *later = get(w, "later");
  assert_int_equal(pass(w, 0), 1);
  kin_work_queue_shut_down(w->queue);
  assert_int_equal(kin_work_done(retried, KIN_WORK_RETRY), 0);
  assert_int_equal(kin_work_done_after(later, 1), 0);
  assert_int_equal(metrics(w).waiting, 2000);
  assert_int_equal(pass(w, 5), 0); /* in steps: there is more to drop */
  assert_int_equal(metrics(w).waiting, 2000 - 1024);
  assert_int_equal(pass(w, 0), UINT64_MAX);
  assert_int_equal(metrics(w).keys, 0);
  expect_nothing(w, KIN_ECLOSED);
}

/* --- Waiting -------------------------------------------------------------- */

/* WQ-07, WQ-09. client-go TestSimpleQueue: a key comes when its time has come,
 * and once. */
static void test_simple_queue(void **state) {
  world *w = *state;
  add_after(w, "foo", 50);
  assert_int_equal(count(w), 0);
  assert_int_equal(pass(w, 49), 50);
  assert_int_equal(count(w), 0);
  assert_int_equal(pass(w, 11), UINT64_MAX);
  work(w, "foo");
  assert_int_equal(pass(w, 10000), UINT64_MAX);
  assert_int_equal(count(w), 0);
}

/* WQ-08. client-go TestDeduping: of two times the earlier counts, whichever
 * comes first; and waiting does not keep an add from adding. */
static void test_deduping(void **state) {
  world *w = *state;
  add_after(w, "foo", 50);
  add_after(w, "foo", 70);
  pass(w, 60);
  work(w, "foo");
  pass(w, 20);
  assert_int_equal(count(w), 0);
  add_after(w, "foo", 50);
  add_after(w, "foo", 30);
  pass(w, 40);
  work(w, "foo");
  pass(w, 20);
  assert_int_equal(count(w), 0);
  add_after(w, "foo", 10);
  add(w, "foo");
  work(w, "foo");
  assert_int_equal(count(w), 0);
  pass(w, 10);
  work(w, "foo");
  add_after(w, "foo", 10);
  add(w, "foo");
  pass(w, 10);
  work(w, "foo"); /* both became one */
  expect_nothing(w, KIN_ENOENT);
}

/* WQ-07. client-go TestAddTwoFireEarly. */
static void test_add_two_fire_early(void **state) {
  world *w = *state;
  add_after(w, "foo", 1000);
  add_after(w, "bar", 50);
  add_after(w, "later", 2000);
  assert_int_equal(pass(w, 60), 1000);
  work(w, "bar");
  assert_int_equal(pass(w, 1000), 2000);
  work(w, "foo");
  add_after(w, "foo", 2000);
  assert_int_equal(pass(w, 940), 3060);
  work(w, "later");
  expect_nothing(w, KIN_ENOENT);
}

/* WQ-07. client-go TestCopyShifting: all that are due come, in the order of
 * their times. */
static void test_copy_shifting(void **state) {
  world *w = *state;
  add_after(w, "foo", 1000);
  add_after(w, "bar", 500);
  add_after(w, "baz", 100);
  pass(w, 2000);
  assert_int_equal(count(w), 3);
  work(w, "baz");
  work(w, "bar");
  work(w, "foo");
}

/* A key that is due while it is worked on comes when the work is done. A delay
 * of 0 is now; one without an end never comes. Due times are not early: a part
 * of a millisecond counts as one. */
static void test_delays(void **state) {
  world *w = *state;
  add(w, "foo");
  const kin_work_item *item = get(w, "foo");
  add_after(w, "foo", 5);
  pass(w, 10);
  assert_int_equal(count(w), 0);
  done(item);
  work(w, "foo");
  add_after(w, "now", 0);
  work(w, "now");
  add_after(w, "never", UINT64_MAX);
  assert_int_equal(pass(w, UINT32_MAX), UINT64_MAX);
  assert_int_equal(metrics(w).waiting, 1);
  w->now_ns += 1;
  pass(w, 0);
  add_after(w, "early", 3);
  w->now_ns += NS_PER_MS - 1;
  pass(w, 2);
  expect_nothing(w, KIN_ENOENT);
  pass(w, 1);
  work(w, "early");
  uint64_t next_ns;
  add_after(w, "back", 1);
  assert_int_equal(kin_work_queue_advance(w->queue, 0, &next_ns), 0);
  assert_int_equal(next_ns, (w->now_ns / NS_PER_MS + 1) * NS_PER_MS);
  assert_int_equal(kin_work_queue_advance(w->queue, UINT64_MAX, NULL), 0);
  work(w, "back");
}

/* WQ-09: 5,000 keys that are due at once become queued in steps. */
static void test_due_in_steps(void **state) {
  world *w = *state;
  for (int i = 0; i < 5000; i++) {
    char key[8];
    snprintf(key, sizeof key, "%d", i);
    add_after(w, key, 10);
  }
  size_t steps = 0;
  while (pass(w, steps == 0 ? 10 : 0) <= 10) {
    steps++;
    assert_int_equal(count(w), 1024 * steps);
  }
  assert_int_equal(count(w), 5000);
  assert_int_equal(steps, 4);
}

/* --- Rate limits ---------------------------------------------------------- */

/* WQ-10. client-go TestRateLimitingQueue. */
static void test_rate_limiting_queue(void **state) {
  world *w = *state;
  kin_str one = kin__cstr("one");
  kin_str two = kin__cstr("two");
  assert_int_equal(kin_work_queue_add_rate_limited(w->queue, one), 0);
  assert_int_equal(pass(w, 0), 1);
  assert_int_equal(kin_work_queue_add_rate_limited(w->queue, one), 0);
  assert_int_equal(pass(w, 0), 1); /* the second wait, 2 ms, is later */
  assert_int_equal(kin_work_queue_requeues(w->queue, one), 2);
  assert_int_equal(kin_work_queue_add_rate_limited(w->queue, two), 0);
  pass(w, 1);
  assert_int_equal(count(w), 2);
  work(w, "one"); /* a success forgets */
  assert_int_equal(kin_work_queue_requeues(w->queue, one), 0);
  const kin_work_item *item = get(w, "two");
  assert_int_equal(item->retries, 0); /* it has not been worked on */
  kin_work_queue_forget(w->queue, two);
  assert_int_equal(kin_work_queue_requeues(w->queue, two), 0);
  assert_int_equal(metrics(w).processing, 1); /* only the limiter forgot */
  assert_int_equal(kin_work_done(item, KIN_WORK_KEEP), 0);
  assert_int_equal(kin_work_queue_add_rate_limited(w->queue, two), 0);
  assert_int_equal(pass(w, 0), 2);
}

/* One key that always fails has waits of its own: 2^n ms. The other key is
 * worked on whenever it is added. */
static void test_one_bad_key(void **state) {
  world *w = *state;
  add(w, "bad");
  unsigned tries = 0;
  for (unsigned ms = 0; ms < 10000; ms++) {
    add(w, "good");
    bool had_good = false;
    while (count(w) > 0) {
      const kin_work_item *item = get_next(w);
      bool is_bad = kin__str_equal(item->key, kin__cstr("bad"));
      had_good = had_good || !is_bad;
      assert_int_equal(item->retries, is_bad ? tries : 0);
      tries += is_bad;
      assert_int_equal(
          kin_work_done(item, is_bad ? KIN_WORK_RETRY : KIN_WORK_SUCCESS), 0);
    }
    assert_true(had_good);
    pass(w, 1);
  }
  /* At 0, 1, 3, 7, ..., 1023 ms, and then each second. */
  assert_int_equal(tries, 11 + 8);
  assert_int_equal(metrics(w).failed, tries);
}

/* Each answer and what follows it. */
static void test_results(void **state) {
  world *w = *state;
  kin_str foo = kin__cstr("foo");
  add(w, "foo");
  assert_int_equal(kin_work_done(get(w, "foo"), KIN_WORK_RETRY), 0);
  assert_int_equal(pass(w, 0), 1);
  pass(w, 1);
  assert_int_equal(kin_work_done(get(w, "foo"), KIN_WORK_RETRY), 0);
  assert_int_equal(pass(w, 0), 3);
  pass(w, 2);
  const kin_work_item *item = get(w, "foo");
  assert_int_equal(item->retries, 2);
  add(w, "foo");
  assert_int_equal(kin_work_done(item, KIN_WORK_KEEP), 0);
  item = get(w, "foo");
  assert_int_equal(item->retries, 0); /* in a row */
  assert_int_equal(kin_work_done(item, KIN_WORK_KEEP), 0);
  assert_int_equal(kin_work_queue_requeues(w->queue, foo), 2);
  assert_int_equal(pass(w, 0), UINT64_MAX);
  add(w, "foo");
  assert_int_equal(kin_work_done_after(get(w, "foo"), 30), 0);
  assert_int_equal(kin_work_queue_requeues(w->queue, foo), 0);
  assert_int_equal(pass(w, 0), 33);
  pass(w, 30);
  assert_int_equal(kin_work_done_after(get(w, "foo"), 0), 0);
  work(w, "foo");
  assert_int_equal(metrics(w).keys, 0);
}

/* --- Priorities ----------------------------------------------------------- */

/* WQ-06: keys of a higher priority come first; within one, the first added. */
static void test_priorities(void **state) {
  world *w = *state;
  add_at(w, "low", KIN_WORK_PRIORITY_LOW, 0);
  add(w, "a");
  add_at(w, "least", KIN_WORK_PRIORITY_MIN, 0);
  add_at(w, "most", KIN_WORK_PRIORITY_MAX, 0);
  add(w, "b");
  add_at(w, "one", 1, 0);
  assert_int_equal(get(w, "most")->priority, KIN_WORK_PRIORITY_MAX);
  work(w, "one");
  work(w, "a");
  work(w, "b");
  assert_int_equal(get(w, "low")->priority, KIN_WORK_PRIORITY_LOW);
  work(w, "least");
}

/* Of two priorities of a key the higher counts, queued or waiting; a retry
 * keeps the one it had. After the key is done, nothing is left of it. */
static void test_priority_of_a_key(void **state) {
  world *w = *state;
  add_at(w, "a", -100, 0);
  add_at(w, "b", -100, 0);
  add(w, "b");
  add_at(w, "b", -100, 0);
  assert_int_equal(get(w, "b")->priority, 0);
  assert_int_equal(kin_work_done(get(w, "a"), KIN_WORK_RETRY), 0);
  pass(w, 1);
  assert_int_equal(get(w, "a")->priority, -100);
  add_at(w, "c", 5, 10);
  add_at(w, "c", -5, 20);
  pass(w, 10);
  const kin_work_item *c = get(w, "c");
  assert_int_equal(c->priority, 5);
  add_at(w, "c", -7, 0); /* during its work: a new one */
  done(c);
  c = get(w, "c");
  assert_int_equal(c->priority, -7);
  add_at(w, "c", -7, 0);
  assert_int_equal(kin_work_done_after(c, 0), 0);
  assert_int_equal(get(w, "c")->priority, -7);
  kin_str d = kin__cstr("d");
  assert_int_equal(kin_work_queue_add_with_priority(w->queue, d, 128, 0),
                   KIN_EINVAL);
  assert_int_equal(kin_work_queue_add_with_priority(w->queue, d, -129, 0),
                   KIN_EINVAL);
}

/* Every level at once, added upwards, comes out downwards. */
static void test_all_priorities(void **state) {
  world *w = *state;
  char key[8];
  for (int p = -128; p <= 127; p++) {
    snprintf(key, sizeof key, "%d", p);
    add_at(w, key, p, 0);
  }
  for (int p = 127; p >= -128; p--) {
    snprintf(key, sizeof key, "%d", p);
    work(w, key);
  }
  expect_nothing(w, KIN_ENOENT);
}

/* --- Input and bounds ----------------------------------------------------- */

static void test_work_keys(void **state) {
  world *w = *state;
  static char text[KIN_WORK_KEY_MAX + 1];
  memset(text, 'x', sizeof text);
  kin_str longest = {text, KIN_WORK_KEY_MAX};
  kin_str longer = {text, KIN_WORK_KEY_MAX + 1};
  kin_str zero = {"a\0b", 3};
  assert_int_equal(kin_work_queue_add(w->queue, kin__cstr("")), KIN_EKEY);
  assert_int_equal(kin_work_queue_add(w->queue, (kin_str){NULL, 3}), KIN_EKEY);
  assert_int_equal(kin_work_queue_add(w->queue, longer), KIN_ETOOBIG);
  assert_int_equal(kin_work_queue_add_after(w->queue, longer, 1), KIN_ETOOBIG);
  assert_int_equal(kin_work_queue_add_rate_limited(w->queue, longer),
                   KIN_ETOOBIG);
  assert_int_equal(kin_work_queue_add(w->queue, zero), 0);
  assert_int_equal(kin_work_queue_add(w->queue, longest), 0);
  add(w, "a");
  const kin_work_item *item = get_next(w);
  assert_true(kin__str_equal(item->key, zero));
  item = get_next(w);
  assert_true(kin__str_equal(item->key, longest));
  work(w, "a");
}

/* A full queue refuses new keys, and takes those that it has. A key counts
 * until its work is done. */
static void test_work_queue_is_full(void **state) {
  (void)state;
  world w;
  init(&w, 0);
  w.options.max_keys = 3;
  assert_int_equal(kin_work_queue_new(&w.queue, &w.options), 0);
  add(&w, "queued");
  add_after(&w, "waiting", 10);
  add_at(&w, "worked", 1, 0);
  const kin_work_item *item = get(&w, "worked");
  kin_str more = kin__cstr("more");
  assert_int_equal(kin_work_queue_add(w.queue, more), KIN_ETOOBIG);
  assert_int_equal(kin_work_queue_add_after(w.queue, more, 1), KIN_ETOOBIG);
  assert_int_equal(kin_work_queue_add_rate_limited(w.queue, more), KIN_ETOOBIG);
  assert_int_equal(kin_work_queue_requeues(w.queue, more), 0);
  add(&w, "queued");
  add(&w, "waiting");
  add(&w, "worked");
  done(item);
  assert_int_equal(kin_work_queue_add(w.queue, more), KIN_ETOOBIG);
  work(&w, "queued");
  assert_int_equal(kin_work_queue_add(w.queue, more), 0);
  finish(&w);
}

static void test_bad_options(void **state) {
  (void)state;
  kin_work_queue *other;
  kin_work_queue_options o = KIN_WORK_QUEUE_OPTIONS_INIT;
  o.max_keys = 16777217;
  assert_int_equal(kin_work_queue_new(&other, &o), KIN_EINVAL);
  assert_null(other);
  char name[257];
  memset(name, 'n', sizeof name);
  name[256] = '\0';
  const char *const names[] = {"", "a b", "a\"b", name};
  for (size_t i = 0; i < 4; i++) {
    o = (kin_work_queue_options)KIN_WORK_QUEUE_OPTIONS_INIT;
    o.name = names[i];
    assert_int_equal(kin_work_queue_new(&other, &o), KIN_EINVAL);
  }
  o = (kin_work_queue_options)KIN_WORK_QUEUE_OPTIONS_INIT;
  o.concurrency = 1;
  assert_int_equal(kin_work_queue_new(&other, &o), KIN_EINVAL);
  /* A limiter has one owner. */
  kin_rate_limiter *limiter;
  assert_int_equal(kin_rate_limiter_new_default(&limiter, NULL), 0);
  o = (kin_work_queue_options)KIN_WORK_QUEUE_OPTIONS_INIT;
  o.limiter = limiter;
  assert_int_equal(kin_work_queue_new(&other, &o), 0);
  kin_work_queue *second;
  assert_int_equal(kin_work_queue_new(&second, &o), KIN_EINVAL);
  kin_rate_limiter_free(limiter); /* the queue's */
  kin_work_queue_free(other);
}

/* What only an attached queue has. */
static void drained(kin_work_queue *queue, int code, void *data) {
  (void)queue;
  (void)code;
  (void)data;
}

static void test_stands_alone(void **state) {
  world *w = *state;
  assert_int_equal(kin_work_queue_close(w->queue, NULL, NULL), KIN_EINVAL);
  assert_int_equal(kin_work_queue_shut_down_with_drain(w->queue, drained, NULL),
                   KIN_EINVAL);
  assert_false(kin_work_queue_is_shut_down(w->queue));
}

/* A queue is freed with keys in every state, and with items. */
static void test_free_with_keys(void **state) {
  world *w = *state;
  add_numbers(w, 3000);
  add_at(w, "x", 5, 0);
  (void)get(w, "x");
  add(w, "x");
  add_after(w, "y", 4);
  assert_int_equal(kin_work_queue_add_rate_limited(w->queue, kin__cstr("z")),
                   0);
}

/* --- Memory --------------------------------------------------------------- */

/* Whatever allocation fails, a call that fails has changed nothing, and the
 * queue goes on. */
static bool allocation_story(size_t fail_at) {
  world w;
  init(&w, fail_at);
  int err = kin_work_queue_new(&w.queue, &w.options);
  const kin_work_item *item = NULL;
  if (err == 0) {
    for (int i = 0; i < 3; i++) {
      kin_str key = {&"abc"[i], 1};
      err = kin_work_queue_add(w.queue, key);
      err = err == 0 ? 0 : kin_work_queue_add(w.queue, key);
      assert_int_equal(err, 0); /* one allocation fails, the next one not */
    }
    assert_int_equal(count(&w), 3);
    if (kin_work_queue_get(w.queue, &item) != 0) {
      assert_int_equal(count(&w), 3);
      assert_int_equal(kin_work_queue_get(w.queue, &item), 0);
    }
    assert_int_equal(kin_work_done(item, KIN_WORK_RETRY), 0);
    assert_int_equal(metrics(&w).waiting, 1);
    assert_int_equal(pass(&w, 5), UINT64_MAX);
    assert_int_equal(count(&w), 3);
    kin_work_queue_free(w.queue);
  } else {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(w.queue);
  }
  assert_int_equal(w.memory.live_blocks, 0);
  return fail_alloc_has_failed(&w.memory);
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(allocation_story, 15);
}

/* A million keys, queued and then waiting. What a key costs is what the header
 * says; without the allocator's own overhead. */
static void test_a_million_keys(void **state) {
  world *w = *state;
  size_t before = w->memory.live_bytes;
  size_t key_bytes = 0;
  char key[40];
  for (int i = 0; i < 1000000; i++) {
    key_bytes +=
        (size_t)snprintf(key, sizeof key, "space-%d/pod-%d", i % 100, i) + 1;
    assert_int_equal(kin_work_queue_add(w->queue, kin__cstr(key)), 0);
  }
  assert_int_equal(count(w), 1000000);
  size_t each = (w->memory.live_bytes - before - key_bytes) / 1000000;
  bool is_wide = sizeof(void *) == 8; /* with pointers of 4 bytes: 79 */
  assert_in_range(each, is_wide ? 90 : 70, is_wide ? 110 : 90);
  for (int i = 0; i < 1000000; i++) {
    const kin_work_item *item = get_next(w);
    assert_int_equal(kin_work_done_after(item, 1 + (uint64_t)i % 1000), 0);
  }
  assert_int_equal(metrics(w).waiting, 1000000);
  while (pass(w, 1) != UINT64_MAX) {
  }
  assert_int_equal(count(w), 1000000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_work_queue_basic),
      PLAIN(test_add_while_processing),
      PLAIN(test_len),
      PLAIN(test_reinsert),
      PLAIN(test_collapse),
      PLAIN(test_collapse_while_processing),
      PLAIN(test_garbage_collection),
      PLAIN(test_answers),
      PLAIN(test_drain),
      PLAIN(test_shut_down),
      PLAIN(test_forced_shut_down),
      PLAIN(test_drain_with_dirty_item),
      PLAIN(test_shut_down_drops_waiting),
      PLAIN(test_simple_queue),
      PLAIN(test_deduping),
      PLAIN(test_add_two_fire_early),
      PLAIN(test_copy_shifting),
      PLAIN(test_delays),
      PLAIN(test_due_in_steps),
      LIMITED(test_rate_limiting_queue),
      LIMITED(test_one_bad_key),
      LIMITED(test_results),
      PLAIN(test_priorities),
      LIMITED(test_priority_of_a_key),
      PLAIN(test_all_priorities),
      PLAIN(test_work_keys),
      cmocka_unit_test(test_work_queue_is_full),
      cmocka_unit_test(test_bad_options),
      PLAIN(test_stands_alone),
      PLAIN(test_free_with_keys),
      cmocka_unit_test(test_sweep_allocations),
      PLAIN(test_a_million_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
