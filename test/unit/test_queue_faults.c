/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "support/objects.h"
#include "support/queue_rig.h"

/* Memory that runs out: each allocation of each operation fails once, and then
 * with all after it. See support/queue_rig.h for the notation. */

#define KEYS "abcdef"

/* All that can be seen of a queue. */
static void dump(const queue_rig *rig, char *to, size_t size) {
  size_t at = (size_t)snprintf(
      to, size, "%zu synced=%d told=%u closed=%d:", kin_queue_count(rig->queue),
      kin_queue_has_synced(rig->queue), rig->told,
      kin_queue_is_closed(rig->queue));
  kin_queue_cursor cursor = {0};
  kin_delta delta;
  while (kin_queue_next(rig->queue, &cursor, &delta)) {
    const kin_deltas one = {&delta, 1};
    char text[256];
    queue_rig_describe(text, sizeof text, &one);
    at += (size_t)snprintf(to + at, size - at, " %s", text);
  }
  for (const char *key = KEYS; *key != '\0'; key++) {
    kin_deltas *deltas;
    if (kin_queue_get(rig->queue, kin__str(key, 1), &deltas) == 0) {
      char text[256];
      queue_rig_describe(text, sizeof text, deltas);
      at += (size_t)snprintf(to + at, size - at, "; %s", text);
      kin_deltas_free(deltas);
    }
  }
  assert_true(at < size);
}

typedef struct fault_case {
  rig_kind kind;
  const char *known; /* NULL: none */
  const char *before;
  const char *operation;
  size_t at_least; /* allocations that must have failed in turn */
  bool goes_on;    /* DF-07: what it did before the error stays */
} fault_case;

static void open_rig(queue_rig *rig, const fault_case *c) {
  queue_rig_init(rig);
  if (c->known != NULL) {
    queue_rig_know(rig, c->known);
  }
  rig->options.emit_bookmarks = c->kind == RIG_IN_ORDER && c->known == NULL;
  queue_rig_transform(rig);
  queue_rig_open(rig, c->kind);
  queue_rig_do(rig, c->before);
}

/* What all that is queued comes to. */
static void drain(queue_rig *rig, char *to, size_t size) {
  rig->log[0] = '\0';
  while (queue_rig_try(rig, "T") == 0) {
  }
  assert_true((size_t)snprintf(to, size, "%s", rig->log) < size);
}

/* Whether the n-th allocation of the operation failed. */
static bool fail_once(const fault_case *c, size_t n, bool keeps_failing,
                      const char *expected) {
  queue_rig rig;
  open_rig(&rig, c);
  char before[1024];
  char after[1024];
  dump(&rig, before, sizeof before);
  rig.memory.keeps_failing = keeps_failing;
  rig.memory.fail_at = rig.memory.calls + n;
  int err = queue_rig_try(&rig, c->operation);
  bool has_failed = fail_alloc_has_failed(&rig.memory);
  rig.memory.fail_at = 0;
  rig.memory.keeps_failing = false;
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_true(has_failed);
    dump(&rig, after, sizeof after);
    if (!c->goes_on) {
      assert_string_equal(after, before);
    }
    assert_int_equal(kin_queue_has_synced(rig.queue),
                     strstr(before, "synced=1") != NULL);
    rig.log[0] = '\0';
    queue_rig_do(&rig, c->operation);
  }
  drain(&rig, after, sizeof after);
  if (err == 0 || !c->goes_on) {
    assert_string_equal(after, expected);
  }
  queue_rig_close(&rig);
  return has_failed;
}

static void sweep(const fault_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    queue_rig rig;
    char expected[1024];
    open_rig(&rig, &cases[i]);
    queue_rig_do(&rig, cases[i].operation);
    drain(&rig, expected, sizeof expected);
    queue_rig_close(&rig);
    for (int keeps_failing = 0; keeps_failing < 2; keeps_failing++) {
      size_t n = 1;
      while (fail_once(&cases[i], n, keeps_failing != 0, expected)) {
        n++;
      }
      if (n <= cases[i].at_least) {
        fail_msg("%s after %s: only %zu allocations", cases[i].operation,
                 cases[i].before, n - 1);
      }
    }
  }
}
#define SWEEP(cases) sweep(cases, sizeof(cases) / sizeof((cases)[0]))

/* FF rows: everything is done or nothing. */
static void test_queue_faults_fifo(void **state) {
  (void)state;
  static const fault_case cases[] = {
      {RIG_FIFO, NULL, "", "A:a@1", 3, false},
      {RIG_FIFO, NULL, "", "U:a@1", 3, false},
      {RIG_FIFO, NULL, "A:a@1", "A:a@2", 0, false},
      {RIG_FIFO, NULL, "", "I:a@1", 3, false},
      {RIG_FIFO, NULL, "A:a@1 A:b@1", "D:a@1", 1, false},
      {RIG_FIFO, NULL, "A:a@1 A:b@1", "X:a@-", 1, false},
      {RIG_FIFO, NULL, "A:a@1 A:b@1 D:b@1", "R:b@2,c@2#9", 3, false},
      {RIG_FIFO, NULL, "", "R:b@2,c@2#9", 3, false},
      {RIG_FIFO, NULL, "A:a@1", "S", 0, false},
  };
  SWEEP(cases);
}

/* DF rows: but for a list, see below. */
static void test_queue_faults_delta(void **state) {
  (void)state;
  static const fault_case cases[] = {
      {RIG_DELTA, NULL, "", "A:a@1", 3, false},
      {RIG_DELTA, NULL, "A:a@1", "U:a@2", 1, false},
      {RIG_DELTA, NULL, "A:a@1 U:a@2", "U:a@3", 1, false},
      {RIG_DELTA, "a@1", "", "D:a@1", 3, false},
      {RIG_DELTA, "a@1", "", "X:a@1", 3, false},
      {RIG_DELTA, "a@1", "A:b@1", "X:a@-", 1, false},
      {RIG_DELTA, NULL, "A:a@1", "X:a@-", 2, false},
      {RIG_DELTA, "a@1 b@1 c@1", "", "S", 3, false},
      {RIG_DELTA, "a@1 b@1 c@1", "U:b@2", "S", 0, false},
      {RIG_DELTA, NULL, "A:b@1", "I:a@1", 0, false},
      {RIG_DELTA, NULL, "", "I:a@1", 3, false},
      {RIG_DELTA, NULL, "", "B:1", 0, false},
  };
  SWEEP(cases);
}

/* DF-07: a list that failed part-way can be repeated, and has synced
 * nothing. */
static void test_queue_faults_delta_replace(void **state) {
  (void)state;
  static const fault_case cases[] = {
      {RIG_DELTA, "c@1 d@-", "", "R:a@1,b@1", 4, true},
      {RIG_DELTA, "c@1 d@-", "", "R:a@1,a@2,b@1", 5, true},
      {RIG_DELTA, "c@1 d@-", "A:a@1 A:e@1", "R:a@1,b@1", 3, true},
      {RIG_DELTA, NULL, "", "R:a@1,b@1", 3, true},
  };
  SWEEP(cases);
}

/* QF rows: everything is done or nothing, also a list that is taken apart. */
static void test_queue_faults_in_order(void **state) {
  (void)state;
  static const fault_case cases[] = {
      {RIG_IN_ORDER, NULL, "", "A:a@1", 1, false},
      {RIG_IN_ORDER, NULL, "", "D:a@1", 1, false},
      {RIG_IN_ORDER, NULL, "", "X:a@-", 2, false},
      {RIG_IN_ORDER, NULL, "A:b@1", "I:a@1", 0, false},
      {RIG_IN_ORDER, NULL, "", "B:1", 2, false},
      {RIG_IN_ORDER, NULL, "", "S", 1, false},
      {RIG_IN_ORDER, NULL, "", "R:a@1,b@1#9", 2, false},
      {RIG_IN_ORDER, "c@1 d@-", "A:a@1 U:a@2 A:e@1", "R:a@3,b@1", 4, false},
      {RIG_IN_ORDER, "c@1 d@-", "", "R:a@1,b@1", 5, false},
      {RIG_IN_ORDER, "a@1 b@1 d@-", "U:a@2", "S", 3, false},
  };
  SWEEP(cases);
}

/* Records beyond one chunk are taken back as well. QF-06: without a failure the
 * deletions come first, then the list in its order. */
static void test_queue_faults_many_records(void **state) {
  (void)state;
  static const char list[] = "R:a@1,b@1,c@1,d@1,e@1,f@1,g@1,h@1,i@1,j@1";
  static const char added[] =
      "X:k@1 | X:l@1 | X:m@1 | X:n@1 | R:a@1 | R:b@1 | R:c@1 | R:d@1 | "
      "R:e@1 | R:f@1 | R:g@1 | R:h@1 | R:i@1 | R:j@1 | A:z@1";
  for (size_t queued = 50; queued < 70; queued++) {
    for (size_t n = 1; n < 8; n++) {
      queue_rig rig;
      queue_rig_open_simple(&rig, RIG_IN_ORDER, "k@1 l@1 m@1 n@1");
      for (size_t i = 0; i < queued; i++) {
        queue_rig_do(&rig, "D:a@1");
      }
      rig.memory.fail_at = rig.memory.calls + n;
      int err = queue_rig_try(&rig, list);
      rig.memory.fail_at = 0;
      size_t count = kin_queue_count(rig.queue);
      assert_int_equal(count, err == 0 ? queued + 14 : queued);
      queue_rig_do(&rig, "A:z@1");
      for (size_t i = 0; i < queued; i++) {
        queue_rig_expect(&rig, "D:a@1");
      }
      queue_rig_drain(&rig, err == 0 ? added : "A:z@1");
      queue_rig_close(&rig);
    }
  }
}

/* DF-09: the same of a delta queue, whose table grows in the middle of a resync. */
static void test_queue_faults_long_resync(void **state) {
  (void)state;
  enum { KNOWN = 1500 };
  kin_store *store;
  assert_int_equal(kin_store_new(&store, NULL), 0);
  for (unsigned i = 0; i < KNOWN; i++) {
    char key[16];
    snprintf(key, sizeof key, "k%u", i);
    kin_object *object = object_keyed(NULL, key, 1);
    assert_int_equal(kin_store_put(store, object), 0);
    kin_object_unref(object);
  }
  static const char *const queued[] = {"", "A:a@1 A:k7@2"};
  for (size_t i = 0; i < 2; i++) {
    bool has_failed = true;
    size_t n = 1;
    for (; has_failed; n++) {
      queue_rig rig;
      queue_rig_init(&rig);
      rig.options.known = kin_store_known_objects(store);
      queue_rig_open(&rig, RIG_DELTA);
      queue_rig_do(&rig, queued[i]);
      rig.memory.fail_at = rig.memory.calls + n;
      int err = queue_rig_try(&rig, "S");
      has_failed = fail_alloc_has_failed(&rig.memory);
      rig.memory.fail_at = 0;
      size_t count = kin_queue_count(rig.queue);
      assert_int_equal(count, err != 0 ? 2 * i : KNOWN + i);
      queue_rig_do(&rig, "A:z@1");
      for (; count > 0; count--) {
        queue_rig_do(&rig, "P");
      }
      queue_rig_expect(&rig, "A:z@1");
      queue_rig_close(&rig);
    }
    assert_true(n > 2);
  }
  kin_store_free(store);
}

/* OQ-01: of several deltas that are put back, all are or none. */
static void test_queue_faults_add_if_not_present(void **state) {
  (void)state;
  static const rig_kind kinds[] = {RIG_DELTA, RIG_IN_ORDER};
  static const char *const all[] = {"A:b@1 | A:a@1 U:a@2 X:a@- | A:z@1",
                                    "A:b@1 | A:a@1 | U:a@2 | X:a@- | A:z@1"};
  for (size_t i = 0; i < 4; i++) {
    bool is_empty = i / 2 != 0;
    bool has_failed = true;
    for (size_t n = 1; has_failed; n++) {
      queue_rig rig;
      queue_rig_open_simple(&rig, kinds[i % 2], NULL);
      queue_rig_do(&rig, is_empty ? "" : "A:b@1");
      kin_object *first = queue_rig_object(&rig, "a@1", 3);
      kin_object *second = queue_rig_object(&rig, "a@2", 3);
      const kin_delta items[] = {
          {.type = KIN_DELTA_ADDED, .object = first},
          {.type = KIN_DELTA_UPDATED, .object = second},
          {KIN_DELTA_DELETED, .is_tombstone = true, .key = KIN__LIT("a")}};
      const kin_deltas deltas = {items, 3};
      rig.memory.fail_at = rig.memory.calls + n;
      int err = kin_queue_add_if_not_present(rig.queue, &deltas);
      has_failed = fail_alloc_has_failed(&rig.memory);
      rig.memory.fail_at = 0;
      assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
      queue_rig_do(&rig, "A:z@1");
      const char *left = err == 0 ? all[i % 2] : "A:b@1 | A:z@1";
      queue_rig_drain(&rig, is_empty ? strchr(left, '|') + 2 : left);
      kin_object_unref(first);
      kin_object_unref(second);
      queue_rig_close(&rig);
    }
  }
}

/* A pop that finds no memory has taken nothing. */
static void test_queue_faults_pop(void **state) {
  (void)state;
  static const struct {
    rig_kind kind;
    const char *before;
    const char *operation;
    const char *popped;
  } cases[] = {
      {RIG_FIFO, "R:a@1,b@1", "P", "R:a@1"},
      {RIG_DELTA, "R:a@1,b@1 U:a@2", "P", "S:a@1 U:a@2"},
      {RIG_DELTA, "R:a@1 U:a@2 U:a@3 U:a@4 U:a@5 U:a@6", "P",
       "S:a@1 U:a@2 U:a@3 U:a@4 U:a@5 U:a@6"},
      {RIG_IN_ORDER, "R:a@1,b@1#5", "P", "R*(a@1,b@1)#5"},
      {RIG_IN_ORDER, "R:#5 A:a@1 A:b@1", "T", "R*()#5"},
      {RIG_IN_ORDER, "A:a@1 A:b@1 A:c@1 A:d@1 A:e@1", "T",
       "[A:a@1 A:b@1 A:c@1 A:d@1 A:e@1]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    bool has_failed = true;
    for (size_t n = 1; has_failed; n++) {
      queue_rig rig;
      queue_rig_open_simple(&rig, cases[i].kind, NULL);
      queue_rig_do(&rig, cases[i].before);
      char before[1024];
      char after[1024];
      dump(&rig, before, sizeof before);
      rig.memory.fail_at = rig.memory.calls + n;
      int err = queue_rig_try(&rig, cases[i].operation);
      has_failed = fail_alloc_has_failed(&rig.memory);
      rig.memory.fail_at = 0;
      assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
      assert_true(has_failed || n > 1);
      if (err != 0) {
        dump(&rig, after, sizeof after);
        assert_string_equal(after, before);
        queue_rig_do(&rig, cases[i].operation);
      }
      assert_string_equal(rig.log, cases[i].popped);
      queue_rig_close(&rig);
    }
  }
}

/* Copies, and making a queue. */
static void test_queue_faults_get(void **state) {
  (void)state;
  static const rig_kind kinds[] = {RIG_FIFO, RIG_DELTA, RIG_IN_ORDER};
  for (size_t i = 0; i < 3; i++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, kinds[i], NULL);
    queue_rig_do(&rig, "A:a@1 U:a@2");
    size_t blocks = rig.memory.live_blocks;
    int err = KIN_ENOMEM;
    for (size_t n = 1; err != 0; n++) {
      kin_deltas *deltas = (kin_deltas *)&rig;
      rig.memory.fail_at = rig.memory.calls + n;
      err = kin_queue_get(rig.queue, KIN__LIT("a"), &deltas);
      rig.memory.fail_at = 0;
      assert_true(err == 0 || err == KIN_ENOMEM);
      assert_int_equal(deltas == NULL, err != 0);
      kin_deltas_free(deltas);
      assert_int_equal(rig.memory.live_blocks, blocks);
      assert_true(err != 0 || n > 2);
    }
    queue_rig_close(&rig);
  }
}

static void test_queue_faults_new(void **state) {
  (void)state;
  int (*const makers[])(kin_queue **, const kin_queue_options *) = {
      kin_queue_new_fifo, kin_queue_new_delta, kin_queue_new_in_order};
  for (size_t i = 0; i < 3; i++) {
    int err = KIN_ENOMEM;
    for (size_t n = 1; err != 0; n++) {
      fail_alloc memory;
      fail_alloc_init(&memory, n);
      kin_queue_options options = KIN_QUEUE_OPTIONS_INIT;
      options.allocator = &memory.allocator;
      options.name = "pods";
      kin_queue *queue = (kin_queue *)&memory;
      err = makers[i](&queue, &options);
      assert_true(err == 0 || err == KIN_ENOMEM);
      assert_int_equal(queue == NULL, err != 0);
      kin_queue_free(queue);
      assert_int_equal(memory.live_blocks, 0);
      assert_true(err != 0 || n > 3);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue_faults_fifo),
      cmocka_unit_test(test_queue_faults_delta),
      cmocka_unit_test(test_queue_faults_delta_replace),
      cmocka_unit_test(test_queue_faults_in_order),
      cmocka_unit_test(test_queue_faults_many_records),
      cmocka_unit_test(test_queue_faults_long_resync),
      cmocka_unit_test(test_queue_faults_add_if_not_present),
      cmocka_unit_test(test_queue_faults_pop),
      cmocka_unit_test(test_queue_faults_get),
      cmocka_unit_test(test_queue_faults_new),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
