/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/sync_track.h>

#include "base/str.h"
#include "support/fail_alloc.h"

/* Either kind of tracker, seen alike. */
typedef struct tracker {
  kin_sync_counter counter;
  kin_sync_set *set; /* NULL: the counter counts */
} tracker;

static void start(tracker *t) {
  if (t->set != NULL) {
    assert_int_equal(kin_sync_set_start(t->set, KIN__LIT("key")), 0);
  } else {
    kin_sync_counter_start(&t->counter);
  }
}

static void finish(tracker *t) {
  if (t->set != NULL) {
    kin_sync_set_finish(t->set, KIN__LIT("key"));
  } else {
    assert_int_equal(kin_sync_counter_finish(&t->counter), 0);
  }
}

static void upstream_synced(tracker *t) {
  if (t->set != NULL) {
    kin_sync_set_upstream_synced(t->set);
  } else {
    kin_sync_counter_upstream_synced(&t->counter);
  }
}

static bool has_synced(const tracker *t) {
  return t->set != NULL ? kin_sync_set_has_synced(t->set)
                        : kin_sync_counter_has_synced(&t->counter);
}

/* client-go TestBasicLogic, TestSingleFile; SY-03, SY-04, SY-05. */
static void test_sync_track_basic_logic(void **state) {
  (void)state;
  static const struct {
    bool upstream;
    bool upstream_first;
    bool finishes;
    bool synced;
  } rows[] = {{false, false, true, false}, {true, false, false, false},
              {true, true, false, false},  {false, false, false, false},
              {true, false, true, true},   {true, true, true, true}};
  for (int is_set = 0; is_set < 2; is_set++) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      tracker t = {.set = NULL};
      if (is_set == 1) {
        assert_int_equal(kin_sync_set_new(&t.set, NULL), 0);
      }
      assert_false(has_synced(&t));
      start(&t);
      assert_false(has_synced(&t));
      if (rows[i].upstream && rows[i].upstream_first) {
        upstream_synced(&t);
        assert_false(has_synced(&t));
      }
      if (rows[i].finishes) {
        finish(&t);
      }
      if (rows[i].upstream && !rows[i].upstream_first) {
        assert_false(has_synced(&t));
        upstream_synced(&t);
      }
      assert_int_equal(has_synced(&t), rows[i].synced);
      start(&t); /* latched */
      assert_int_equal(has_synced(&t), rows[i].synced);
      kin_sync_set_free(t.set);
    }
  }
}

/* SY-03, SY-04: once synced, a tracker stays synced. That more is started, and
 * only a part of it finishes, changes nothing. */
static void test_sync_track_stays_synced(void **state) {
  (void)state;
  kin_sync_counter counter = {0};
  kin_sync_counter_upstream_synced(&counter);
  kin_sync_counter_start(&counter);
  kin_sync_counter_start(&counter);
  assert_int_equal(kin_sync_counter_finish(&counter), 0);
  assert_true(kin_sync_counter_has_synced(&counter));
  kin_sync_set *set;
  assert_int_equal(kin_sync_set_new(&set, NULL), 0);
  kin_sync_set_upstream_synced(set);
  assert_int_equal(kin_sync_set_start(set, KIN__LIT("a")), 0);
  assert_int_equal(kin_sync_set_start(set, KIN__LIT("b")), 0);
  kin_sync_set_finish(set, KIN__LIT("a"));
  assert_int_equal(kin_sync_set_count(set), 1);
  assert_true(kin_sync_set_has_synced(set));
  kin_sync_set_free(set);
}

/* SY-02, SY-05: of nothing, upstream alone decides. */
static void test_sync_track_of_nothing(void **state) {
  (void)state;
  tracker t = {.set = NULL};
  upstream_synced(&t);
  assert_true(has_synced(&t));
  assert_int_equal(kin_sync_set_new(&t.set, NULL), 0);
  assert_false(has_synced(&t));
  upstream_synced(&t);
  assert_true(has_synced(&t));
  kin_sync_set_free(t.set);
  kin_sync_set_free(NULL);
}

/* client-go TestSingleFileCounting; SY-03. One too many is an error, not the
 * end of the program, and the tracker stays synced. */
static void test_sync_counter_counts(void **state) {
  (void)state;
  kin_sync_counter counter = {0};
  assert_int_equal(kin_sync_counter_finish(&counter), KIN_EINVAL);
  for (int i = 0; i < 100; i++) {
    kin_sync_counter_start(&counter);
  }
  for (int i = 0; i < 99; i++) {
    assert_int_equal(kin_sync_counter_finish(&counter), 0);
  }
  assert_false(kin_sync_counter_has_synced(&counter));
  assert_int_equal(kin_sync_counter_finish(&counter), 0);
  assert_false(kin_sync_counter_has_synced(&counter));
  kin_sync_counter_upstream_synced(&counter);
  assert_true(kin_sync_counter_has_synced(&counter));
  assert_int_equal(kin_sync_counter_finish(&counter), KIN_EINVAL);
  assert_true(kin_sync_counter_has_synced(&counter));
}

/* client-go TestAsyncLocking; SY-04: keys end in any order, count once, and
 * those that are not known do no harm. */
static void test_sync_set_keys(void **state) {
  (void)state;
  enum { KEYS = 3000 };
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin_sync_set *set;
  kin_allocator allocator = memory.allocator;
  assert_int_equal(kin_sync_set_new(&set, &allocator), 0);
  memset(&allocator, 0, sizeof allocator); /* there is a copy */
  char key[32];
  for (unsigned i = 0; i < 2 * KEYS; i++) {
    snprintf(key, sizeof key, "ns/pod-%u", i % KEYS);
    assert_int_equal(kin_sync_set_start(set, kin__cstr(key)), 0);
  }
  assert_int_equal(kin_sync_set_count(set), KEYS);
  kin_sync_set_upstream_synced(set);
  kin_sync_set_finish(set, KIN__LIT("unknown"));
  kin_sync_set_finish(set, KIN__LIT(""));
  assert_int_equal(kin_sync_set_count(set), KEYS);
  for (unsigned i = KEYS; i > 0; i--) {
    assert_false(kin_sync_set_has_synced(set));
    snprintf(key, sizeof key, "ns/pod-%u", i * 7 % KEYS);
    kin_sync_set_finish(set, kin__cstr(key));
    kin_sync_set_finish(set, kin__cstr(key));
    assert_int_equal(kin_sync_set_count(set), i - 1);
  }
  assert_true(kin_sync_set_has_synced(set));
  assert_int_equal(kin_sync_set_start(set, KIN__LIT("")), 0); /* a key, too */
  assert_int_equal(kin_sync_set_count(set), 1);
  kin_sync_set_free(set);
  assert_int_equal(memory.live_blocks, 0);
}

static bool run_sync_set_without_memory(size_t n) {
  fail_alloc memory;
  fail_alloc_init(&memory, n);
  kin_sync_set *set;
  int err;
  while ((err = kin_sync_set_new(&set, &memory.allocator)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(set);
  }
  while ((err = kin_sync_set_start(set, KIN__LIT("a"))) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_int_equal(kin_sync_set_count(set), 0);
  }
  kin_sync_set_upstream_synced(set);
  assert_false(kin_sync_set_has_synced(set));
  kin_sync_set_finish(set, KIN__LIT("a"));
  assert_true(kin_sync_set_has_synced(set));
  kin_sync_set_free(set);
  assert_int_equal(memory.live_blocks, 0);
  return fail_alloc_has_failed(&memory);
}

static void test_sync_set_fails_cleanly(void **state) {
  (void)state;
  fail_alloc_sweep(run_sync_set_without_memory, 0);
}

/* What a lazy value is made of. */
typedef struct world {
  kin_lazy *lazy;
  int reality;
  int err;
  unsigned evaluated;
  unsigned released;
  bool notifies; /* from inside evaluate */
  bool notifies_at_release;
  bool offers_at_release;
  bool asks;
  int values[32];
} world;

static int evaluate(void **value, void *data) {
  world *w = data;
  w->evaluated++;
  if (w->asks) {
    void *other;
    assert_int_equal(kin_lazy_get(w->lazy, &other), KIN_EALREADY);
    assert_false(
        kin_lazy_offer(w->lazy, kin_lazy_generation(w->lazy), &w->reality));
  }
  if (w->err != 0) {
    return w->err;
  }
  int *made = &w->values[w->evaluated % 32];
  *made = w->reality;
  if (w->notifies) {
    w->reality++;
    kin_lazy_notify(w->lazy);
  }
  *value = made;
  return 0;
}

static void count_release(void *value, void *data) {
  world *w = data;
  assert_non_null(value);
  w->released++;
  if (w->notifies_at_release) {
    kin_lazy_notify(w->lazy);
  }
  if (w->offers_at_release) {
    void *other;
    assert_int_equal(kin_lazy_get(w->lazy, &other), KIN_EALREADY);
    assert_false(
        kin_lazy_offer(w->lazy, kin_lazy_generation(w->lazy), &w->reality));
  }
}

static void setup(world *w) {
  *w = (world){.reality = 1};
  kin_lazy_options options = KIN_LAZY_OPTIONS_INIT;
  options.evaluate = evaluate;
  options.release = count_release;
  options.data = w;
  assert_int_equal(kin_lazy_new(&w->lazy, &options), 0);
  memset(&options, 0xff, sizeof options); /* there is a copy */
}

/* Every value is released once. */
static void teardown(world *w, unsigned values) {
  kin_lazy_free(w->lazy);
  assert_int_equal(w->released, values);
}

static void assert_value(world *w, int expected, unsigned evaluated) {
  void *value = NULL;
  assert_int_equal(kin_lazy_get(w->lazy, &value), 0);
  assert_int_equal(*(int *)value, expected);
  assert_int_equal(w->evaluated, evaluated);
}

/* client-go TestLazy, TestLazyThroughput; SY-06: after a notice nobody gets
 * what was before, and many notices cost one evaluation. */
static void test_lazy_follows_notices(void **state) {
  (void)state;
  world w;
  setup(&w);
  assert_int_equal(w.evaluated, 0);
  for (unsigned i = 1; i <= 20; i++) {
    assert_value(&w, w.reality, i);
    w.reality++;
    assert_value(&w, w.reality - 1, i); /* nobody told */
    kin_lazy_notify(w.lazy);
    kin_lazy_notify(w.lazy);
  }
  teardown(&w, 20);
}

/* client-go TestLazyOnlyOnce; SY-06. */
static void test_lazy_evaluates_once(void **state) {
  (void)state;
  world w;
  setup(&w);
  kin_lazy_notify(w.lazy);
  for (int i = 0; i < 3; i++) {
    assert_value(&w, 1, 1);
  }
  w.asks = true;
  kin_lazy_notify(w.lazy);
  assert_value(&w, 1, 2);
  teardown(&w, 2);
}

/* client-go TestLazySlowEval; SY-06: the older of two evaluations ends last,
 * and is not taken. */
static void test_lazy_older_result_comes_late(void **state) {
  (void)state;
  world w;
  setup(&w);
  int older = 10;
  uint64_t before = kin_lazy_generation(w.lazy);
  kin_lazy_notify(w.lazy);
  assert_value(&w, 1, 1);
  assert_false(kin_lazy_offer(w.lazy, before, &older));
  assert_value(&w, 1, 1);
  teardown(&w, 1);
}

/* client-go TestLazySlowEval2; SY-06: it ends first, and is not taken either;
 * the newer is, and of two of the same generation the first. */
static void test_lazy_newer_result_comes_late(void **state) {
  (void)state;
  world w;
  setup(&w);
  int older = 10;
  int newer = 11;
  int other = 12;
  uint64_t before = kin_lazy_generation(w.lazy);
  kin_lazy_notify(w.lazy);
  uint64_t after = kin_lazy_generation(w.lazy);
  assert_false(kin_lazy_offer(w.lazy, before, &older));
  assert_true(kin_lazy_offer(w.lazy, after, &newer));
  assert_false(kin_lazy_offer(w.lazy, after, &other));
  assert_value(&w, 11, 0);
  teardown(&w, 1);
}

/* SY-06: a notice during the evaluation: who asked gets the value, nobody
 * after. */
static void test_lazy_notice_while_evaluating(void **state) {
  (void)state;
  world w;
  setup(&w);
  w.notifies = true;
  assert_value(&w, 1, 1);
  assert_value(&w, 2, 2);
  w.notifies = false;
  assert_value(&w, 3, 3);
  assert_value(&w, 3, 3);
  teardown(&w, 3);
}

/* SY-06: a notice from the release of a value, which is released once. */
static void test_lazy_notice_at_release(void **state) {
  (void)state;
  world w;
  setup(&w);
  w.notifies_at_release = true;
  assert_value(&w, 1, 1);
  kin_lazy_notify(w.lazy);
  assert_int_equal(w.released, 1);
  w.notifies = true;
  assert_value(&w, 1, 2);
  static int offered = 9;
  assert_true(kin_lazy_offer(w.lazy, kin_lazy_generation(w.lazy), &offered));
  assert_int_equal(w.released, 2);
  w.notifies = false;
  assert_value(&w, 2, 3); /* the notice came after what was offered */
  w.notifies_at_release = false;
  teardown(&w, 4);
}

/* SY-06: no value that another one is about to replace is lost: what is offered
 * from a release stays the caller's. */
static void test_lazy_offer_at_release(void **state) {
  (void)state;
  world w;
  setup(&w);
  w.offers_at_release = true;
  w.notifies = true;
  assert_value(&w, 1, 1);
  w.notifies = false;
  assert_value(&w, 2, 2); /* releases the first one */
  kin_lazy_notify(w.lazy);
  w.notifies = true;
  assert_value(&w, 2, 3);
  static int offered = 9;
  assert_true(kin_lazy_offer(w.lazy, kin_lazy_generation(w.lazy), &offered));
  assert_value(&w, 9, 3);
  teardown(&w, 4);
}

/* client-go TestLazyError; SY-06: errors are not remembered. */
static void test_lazy_error(void **state) {
  (void)state;
  world w;
  setup(&w);
  w.err = KIN_ETYPE;
  void *value = &w;
  assert_int_equal(kin_lazy_get(w.lazy, &value), KIN_ETYPE);
  assert_int_equal(kin_lazy_get(w.lazy, &value), KIN_ETYPE);
  assert_ptr_equal(value, &w);
  w.err = 0; /* no notice */
  assert_value(&w, 1, 3);
  teardown(&w, 1);
}

static void test_lazy_bad_input(void **state) {
  (void)state;
  kin_lazy *lazy;
  kin_lazy_options options = KIN_LAZY_OPTIONS_INIT;
  assert_int_equal(kin_lazy_new(&lazy, &options), KIN_EINVAL);
  assert_null(lazy);
  assert_int_equal(kin_lazy_new(&lazy, NULL), KIN_EINVAL);
  options.evaluate = evaluate;
  fail_alloc memory;
  fail_alloc_init(&memory, 1);
  options.allocator = &memory.allocator;
  assert_int_equal(kin_lazy_new(&lazy, &options), KIN_ENOMEM);
  assert_null(lazy);
  world w = {.reality = 1};
  options.data = &w;
  assert_int_equal(kin_lazy_new(&lazy, &options), 0);
  void *value;
  assert_int_equal(kin_lazy_get(lazy, &value), 0);
  kin_lazy_free(lazy); /* values without release */
  kin_lazy_free(NULL);
  assert_int_equal(memory.live_blocks, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sync_track_basic_logic),
      cmocka_unit_test(test_sync_track_stays_synced),
      cmocka_unit_test(test_sync_track_of_nothing),
      cmocka_unit_test(test_sync_counter_counts),
      cmocka_unit_test(test_sync_set_keys),
      cmocka_unit_test(test_sync_set_fails_cleanly),
      cmocka_unit_test(test_lazy_follows_notices),
      cmocka_unit_test(test_lazy_evaluates_once),
      cmocka_unit_test(test_lazy_older_result_comes_late),
      cmocka_unit_test(test_lazy_newer_result_comes_late),
      cmocka_unit_test(test_lazy_notice_while_evaluating),
      cmocka_unit_test(test_lazy_notice_at_release),
      cmocka_unit_test(test_lazy_offer_at_release),
      cmocka_unit_test(test_lazy_error),
      cmocka_unit_test(test_lazy_bad_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
