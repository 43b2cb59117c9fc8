/* SPDX-License-Identifier: MIT */
/* Random operations on a work queue that stands alone and on a model of it,
 * which is an array of nine keys: whatever is added, delayed, limited, taken,
 * answered and shut down in whatever order, both give the same keys in the same
 * order and have the same numbers (WQ-01 to WQ-11, WQ-13).
 *
 * usage: test_work_queue_model [SEEDS [FIRST]]; a failure names its seed. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <kin/error.h>
#include <kin/work_queue.h>

#include "base/random.h"
#include "base/str.h"
#include "support/fail_alloc.h"
#include "support/seeds.h"

#define KEYS 9u
#define OPERATIONS 300u
#define NS_PER_MS UINT64_C(1000000)
#define MAX_MS 40u /* of the limiter, whose base is 1 */
#define NOT_WAITING UINT64_MAX

/* What is known of one key. */
typedef struct naive_key {
  bool is_dirty;
  uint64_t order; /* among the dirty keys; a smaller one came first */
  int priority;
  uint64_t due_ms; /* NOT_WAITING: it does not wait */
  uint32_t failures;
  uint32_t retries;          /* in a row */
  const kin_work_item *item; /* NULL: it is not worked on */
  int item_priority;
} naive_key;

static fail_alloc memory;
static kin__random rng;
static kin_work_queue *queue;
static naive_key keys[KEYS];
static uint64_t order;
static uint64_t now_ms;
static bool is_shut_down;
static kin_work_queue_metrics expected;

/* How often the runs came to what is rare. */
static struct {
  uint64_t taken;
  uint64_t retried;
  uint64_t dirty_answers;
  uint64_t raised;
  uint64_t earlier;
  uint64_t failed_allocations;
} seen;

static bool chance(unsigned percent) {
  return kin__random_below(&rng, 100) < percent;
}

static unsigned below(unsigned bound) {
  return (unsigned)kin__random_below(&rng, bound);
}

static kin_str name_of(size_t k) {
  return kin__str(&"abcdefghi"[k], 1);
}

/* --- The model ------------------------------------------------------------ */

static void naive_dirty(naive_key *key) {
  if (!key->is_dirty) {
    key->is_dirty = true;
    key->order = ++order;
    expected.adds++;
  }
}

static void naive_schedule(naive_key *key, int priority, uint64_t delay_ms) {
  bool is_new = !key->is_dirty && key->due_ms == NOT_WAITING;
  if (is_new || priority > key->priority) {
    if (!is_new && key->is_dirty && key->item == NULL) {
      key->order = ++order; /* behind those that had this priority */
      seen.raised++;
    }
    key->priority = priority;
  }
  if (delay_ms == 0) {
    naive_dirty(key);
  } else if (key->due_ms == NOT_WAITING || now_ms + delay_ms < key->due_ms) {
    seen.earlier += key->due_ms != NOT_WAITING;
    key->due_ms = now_ms + delay_ms;
  }
}

static uint64_t naive_when(naive_key *key) {
  uint64_t wait_ms = key->failures < 6 ? UINT64_C(1) << key->failures : MAX_MS;
  key->failures++;
  return wait_ms < MAX_MS ? wait_ms : MAX_MS;
}

static naive_key *naive_first(void) {
  naive_key *first = NULL;
  for (size_t k = 0; k < KEYS; k++) {
    naive_key *key = &keys[k];
    if (key->is_dirty && key->item == NULL &&
        (first == NULL || key->priority > first->priority ||
         (key->priority == first->priority && key->order < first->order))) {
      first = key;
    }
  }
  return first;
}

/* Those that are due, in the order of their times; at one time in any order,
 * so the run makes due times unique. */
static void naive_advance(void) {
  for (;;) {
    naive_key *first = NULL;
    for (size_t k = 0; k < KEYS; k++) {
      if (keys[k].due_ms <= now_ms &&
          (first == NULL || keys[k].due_ms < first->due_ms)) {
        first = &keys[k];
      }
    }
    if (first == NULL) {
      return;
    }
    first->due_ms = NOT_WAITING;
    naive_dirty(first);
  }
}

static bool is_due_taken(uint64_t due_ms) {
  for (size_t k = 0; k < KEYS; k++) {
    if (keys[k].due_ms == due_ms) {
      return true;
    }
  }
  return false;
}

/* --- Operations ----------------------------------------------------------- */

static uint64_t pick_delay(void) {
  uint64_t delay_ms = below(50);
  while (delay_ms > 0 && is_due_taken(now_ms + delay_ms)) {
    delay_ms++;
  }
  return delay_ms;
}

static void do_add(void) {
  size_t k = below(KEYS);
  int priority = chance(50) ? 0 : (int)below(5) - 2;
  uint64_t delay_ms = chance(50) ? 0 : pick_delay();
  bool is_plain = priority == 0 && delay_ms == 0 && chance(50);
  memory.fail_at = chance(2) ? memory.calls + 1 : 0;
  int err = is_plain ? kin_work_queue_add(queue, name_of(k))
                     : kin_work_queue_add_with_priority(queue, name_of(k),
                                                        priority, delay_ms);
  memory.fail_at = 0;
  if (is_shut_down) {
    assert_int_equal(err, KIN_ECLOSED);
  } else if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    seen.failed_allocations++;
  } else {
    expected.retries += delay_ms > 0;
    naive_schedule(&keys[k], priority, delay_ms);
  }
}

/* The model's wait must hit no other's time. */
static bool can_fail(const naive_key *key) {
  naive_key copy = *key;
  return !is_due_taken(now_ms + naive_when(&copy));
}

static void do_add_limited(void) {
  size_t k = below(KEYS);
  if (!can_fail(&keys[k])) {
    return;
  }
  int err = kin_work_queue_add_rate_limited(queue, name_of(k));
  assert_int_equal(err, is_shut_down ? KIN_ECLOSED : 0);
  if (err == 0) {
    expected.retries++;
    naive_schedule(&keys[k], 0, naive_when(&keys[k]));
  }
}

static void do_get(void) {
  naive_key *first = naive_first();
  const kin_work_item *item;
  int err = kin_work_queue_get(queue, &item);
  if (first == NULL) {
    assert_int_equal(err, is_shut_down ? KIN_ECLOSED : KIN_ENOENT);
    return;
  }
  assert_int_equal(err, 0);
  assert_true(kin__str_equal(item->key, name_of((size_t)(first - keys))));
  assert_int_equal(item->priority, first->priority);
  assert_int_equal(item->retries, first->retries);
  first->item = item;
  first->item_priority = first->priority;
  first->is_dirty = false;
  seen.taken++;
}

/* A key that is dirty goes to the end when its work is done. */
static void naive_end(naive_key *key) {
  key->item = NULL;
  key->retries = 0;
  expected.done++;
  if (key->is_dirty) {
    key->order = ++order;
    seen.dirty_answers++;
  }
}

static void do_done(void) {
  naive_key *key = &keys[below(KEYS)];
  if (key->item == NULL) {
    return;
  }
  kin_work_result result = (kin_work_result)below(3);
  if (result == KIN_WORK_RETRY && !can_fail(key)) {
    result = KIN_WORK_SUCCESS;
  }
  uint32_t retries = key->retries;
  assert_int_equal(kin_work_done(key->item, result), 0);
  naive_end(key);
  if (result == KIN_WORK_SUCCESS) {
    key->failures = 0;
  } else if (result == KIN_WORK_RETRY) {
    expected.failed++;
    seen.retried++;
    if (!is_shut_down || key->is_dirty) {
      key->retries = retries + 1;
    }
    if (!is_shut_down) {
      expected.retries++;
      naive_schedule(key, key->item_priority, naive_when(key));
    }
  }
}

static void do_done_after(void) {
  naive_key *key = &keys[below(KEYS)];
  if (key->item == NULL) {
    return;
  }
  uint64_t delay_ms = pick_delay();
  assert_int_equal(kin_work_done_after(key->item, delay_ms), 0);
  naive_end(key);
  key->failures = 0;
  if (!is_shut_down) {
    expected.retries++;
    naive_schedule(key, key->item_priority, delay_ms);
  }
}

static void do_pass(void) {
  now_ms += below(20);
  assert_int_equal(kin_work_queue_advance(queue, now_ms * NS_PER_MS, NULL), 0);
  naive_advance();
}

static void do_forget(void) {
  size_t k = below(KEYS);
  kin_work_queue_forget(queue, name_of(k));
  keys[k].failures = 0;
}

static void do_shut_down(void) {
  if (chance(50)) {
    kin_work_queue_shut_down(queue);
  } else {
    assert_int_equal(kin_work_queue_shut_down_with_drain(queue, NULL, NULL), 0);
  }
  is_shut_down = true;
  for (size_t k = 0; k < KEYS; k++) {
    keys[k].due_ms = NOT_WAITING;
  }
  assert_int_equal(kin_work_queue_advance(queue, now_ms * NS_PER_MS, NULL), 0);
}

static void operate(void) {
  static void (*const operations[])(void) = {
      do_add,  do_add,  do_add,        do_add_limited, do_get,
      do_get,  do_get,  do_done,       do_done,        do_done,
      do_done, do_pass, do_done_after, do_pass};
  if (chance(2)) {
    do_forget();
  } else {
    operations[below(sizeof operations / sizeof *operations)]();
  }
}

/* --- Comparing ------------------------------------------------------------ */

static void compare(void) {
  uint64_t depth = 0;
  uint64_t count = 0;
  uint64_t waiting = 0;
  uint64_t processing = 0;
  uint64_t live = 0;
  uint64_t next_ms = NOT_WAITING;
  for (size_t k = 0; k < KEYS; k++) {
    const naive_key *key = &keys[k];
    depth += key->is_dirty;
    count += key->is_dirty && key->item == NULL;
    waiting += key->due_ms != NOT_WAITING;
    processing += key->item != NULL;
    live += key->is_dirty || key->due_ms != NOT_WAITING || key->item != NULL;
    next_ms = key->due_ms < next_ms ? key->due_ms : next_ms;
    assert_int_equal(kin_work_queue_requeues(queue, name_of(k)), key->failures);
  }
  kin_work_queue_metrics m = KIN_WORK_QUEUE_METRICS_INIT;
  assert_int_equal(kin_work_queue_get_metrics(queue, &m), 0);
  assert_int_equal(m.depth, depth);
  assert_int_equal(kin_work_queue_count(queue), count);
  assert_int_equal(m.waiting, waiting);
  assert_int_equal(m.processing, processing);
  assert_int_equal(m.keys, live);
  assert_int_equal(m.adds, expected.adds);
  assert_int_equal(m.retries, expected.retries);
  assert_int_equal(m.done, expected.done);
  assert_int_equal(m.failed, expected.failed);
  assert_int_equal(kin_work_queue_is_drained(queue),
                   is_shut_down && count + processing == 0);
  uint64_t next_ns;
  assert_int_equal(kin_work_queue_advance(queue, 0, &next_ns), 0);
  assert_true(next_ns ==
              (next_ms == NOT_WAITING ? UINT64_MAX : next_ms * NS_PER_MS));
}

/* --- Runs ----------------------------------------------------------------- */

static void begin(uint64_t seed) {
  rng.state = seed;
  fail_alloc_init(&memory, 0);
  for (size_t k = 0; k < KEYS; k++) {
    keys[k] = (naive_key){.due_ms = NOT_WAITING};
  }
  order = 0;
  now_ms = 0;
  is_shut_down = false;
  expected = (kin_work_queue_metrics)KIN_WORK_QUEUE_METRICS_INIT;
  kin_work_queue_options options = KIN_WORK_QUEUE_OPTIONS_INIT;
  options.allocator = &memory.allocator;
  assert_int_equal(kin_rate_limiter_new_exponential(
                       &options.limiter, &memory.allocator, 1, MAX_MS),
                   0);
  assert_int_equal(kin_work_queue_new(&queue, &options), 0);
}

/* Shut down, the queue gives all that is queued, and then is empty. */
static void drain(void) {
  do_shut_down();
  while (naive_first() != NULL) {
    do_get();
    do_done();
    compare();
  }
  for (size_t k = 0; k < KEYS; k++) {
    while (keys[k].item != NULL || keys[k].is_dirty) {
      do_done();
      do_get();
    }
  }
  compare();
  assert_true(kin_work_queue_is_drained(queue));
}

static void run_seed(uint64_t seed) {
  begin(seed);
  unsigned steps = OPERATIONS / 2 + below(OPERATIONS);
  for (unsigned step = 0; step < steps; step++) {
    operate();
    compare();
  }
  if (chance(50)) { /* else the rest is dropped */
    drain();
  }
  kin_work_queue_free(queue);
  assert_int_equal(memory.live_blocks, 0);
}

static void test_work_queue_random_runs(void **state) {
  (void)state;
  seeds_run(run_seed);
  if (seeds_count >= 100) { /* the runs are not idle */
    assert_true(seen.taken >= seeds_count * 20);
    assert_true(seen.retried >= seeds_count * 5);
    assert_true(seen.dirty_answers >= seeds_count);
    assert_true(seen.raised >= seeds_count);
    assert_true(seen.earlier >= seeds_count);
    assert_true(seen.failed_allocations >= seeds_count / 4);
  }
}

int main(int argc, char **argv) {
  seeds_take(argc, argv, 3000, 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_work_queue_random_runs, seeds_tell)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
