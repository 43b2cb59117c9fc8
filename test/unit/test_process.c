/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/process.h>

#include "base/random.h"
#include "base/str.h"
#include "store/store.h"
#include "support/change_log.h"
#include "support/indices.h"
#include "support/objects.h"
#include "support/queue_rig.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A queue whose changes go into a store; what the handlers are told is in the
 * log. Objects called "bad" cannot be stored. */
typedef struct run {
  queue_rig rig;
  fail_alloc memory; /* of the store */
  kin_store *store;
  change_log log;
} run;

static int refuse_bad(const kin_object *object, kin_index_values *values,
                      void *data) {
  (void)data;
  bool is_bad = kin__str_equal(kin_object_name(object), kin__cstr("bad"));
  return is_bad ? -1 : kin_index_emit(values, kin_object_name(object));
}

static void run_begin(run *r, rig_kind kind, const char *known) {
  memset(r, 0, sizeof *r);
  fail_alloc_init(&r->memory, 0);
  kin_store_options options = KIN_STORE_OPTIONS_INIT;
  options.allocator = &r->memory.allocator;
  assert_int_equal(kin_store_new(&r->store, &options), 0);
  assert_int_equal(add_callback(r->store, "name", refuse_bad, NULL), 0);
  change_log_init(&r->log, r->store);
  queue_rig_init(&r->rig);
  r->rig.options.emit_bookmarks = kind == RIG_IN_ORDER && known == NULL;
  r->rig.options.emit_replaced = kind == RIG_DELTA;
  if (known != NULL) {
    r->rig.options.known = kin_store_known_objects(r->store);
  }
  queue_rig_open(&r->rig, kind);
}

static void run_end(run *r) {
  change_log_finish(&r->log);
  kin_store_free(r->store);
  assert_int_equal(r->memory.live_blocks, 0);
  queue_rig_close(&r->rig);
}

static int process(kin_queue *queue, kin_queue_item *item, void *data) {
  run *r = data;
  (void)queue;
  return kin_process_deltas(r->store, &r->log.handlers, &item->deltas,
                            item->is_initial);
}

static int process_batch(kin_queue *queue, kin_queue_item *item, void *data) {
  run *r = data;
  (void)queue;
  return kin_process_batch(r->store, &r->log.handlers, &item->deltas,
                           item->is_initial);
}

static int pop(run *r) {
  return kin_queue_pop(r->rig.queue, process, r);
}

/* Does operations and processes what they have queued. */
static void run_do(run *r, const char *operations) {
  queue_rig_do(&r->rig, operations);
  int err;
  while ((err = pop(r)) == 0) {
  }
  assert_int_equal(err, KIN_EAGAIN);
}

static void run_do_batch(run *r, const char *operations) {
  queue_rig_do(&r->rig, operations);
  assert_int_equal(kin_queue_pop_batch(r->rig.queue, process_batch, process, r),
                   0);
  assert_int_equal(kin_queue_count(r->rig.queue), 0);
}

static void expect_version(const run *r, const char *version) {
  kin_str has = kin_store_resource_version(r->store);
  assert_true(kin__str_equal(has, kin__cstr(version)));
}

/* PD-01, PD-02: the store alone says whether it is an add or an update;
 * deletions are told also of what it never had. TS-10, ST-04: only what was
 * seen moves its version. */
static void test_process_single_changes(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  run_do(&r, "A:foo@1 A:foo@2 U:bar@3 U:foo@4");
  change_log_expect(&r.log, "A:foo@1 U:foo@1>2 A:bar@3 U:foo@2>4");
  expect_version(&r, "4");
  run_do(&r, "D:foo@5 D:other@6");
  change_log_expect(&r.log, "D:foo@5 D:other@6");
  expect_version(&r, "6");
  run_do(&r, "X:bar@3 X:never@-");
  change_log_expect(&r.log, "X:bar@3 X:never@-");
  expect_version(&r, "6");
  assert_int_equal(kin_store_count(r.store), 0);
  run_end(&r);
}

/* PD-01: also of what a delta queue brings together, and a resync. */
static void test_process_deltas_of_a_key(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_DELTA, "store");
  run_do(&r, "R:foo@1,bar@1#1");
  change_log_expect(&r.log, "I:foo@1 I:bar@1");
  run_do(&r, "A:foo@2 U:foo@3 D:foo@4 A:foo@5 S");
  change_log_expect(&r.log, "U:foo@1>2 U:foo@2>3 D:foo@4 A:foo@5 U:bar@1>1");
  run_do(&r, "R:bar@2#6");
  change_log_expect(&r.log, "U:bar@1>2 X:foo@5");
  run_end(&r);
}

/* A tombstone without an object gets what the store had. */
static void test_process_tombstone_of_what_is_stored(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  run_do(&r, "A:foo@1 X:foo@-");
  change_log_expect(&r.log, "A:foo@1 X:foo@1");
  run_end(&r);
}

/* PD-03 */
static void test_process_failing_store(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_DELTA, NULL);
  queue_rig_do(&r.rig, "A:bad@1 U:bad@2");
  assert_int_equal(pop(&r), KIN_EINDEX);
  change_log_expect(&r.log, "");
  assert_int_equal(kin_store_count(r.store), 0);
  expect_version(&r, "");
  assert_int_equal(kin_queue_count(r.rig.queue), 0);
  run_end(&r);
}

/* PD-03, when memory is out: every allocation of each change fails once. */
static void test_process_without_memory(void **state) {
  (void)state;
  static const char *const operations[] = {
      "A:foo@123456789012345678901234567890",
      "B:123456789012345678901234567890", "R:foo@1,bar@2#3"};
  for (size_t i = 0; i < COUNT_OF(operations); i++) {
    run r;
    run_begin(&r, RIG_IN_ORDER, NULL);
    unsigned failures = 0;
    for (size_t n = 1;; n++) {
      queue_rig_do(&r.rig, operations[i]);
      r.memory.fail_at = r.memory.calls + n;
      int err = pop(&r);
      r.memory.fail_at = 0;
      if (err == 0) {
        break;
      }
      failures++;
      assert_int_equal(err, KIN_ENOMEM);
      change_log_expect(&r.log, "");
      assert_int_equal(kin_store_count(r.store), 0);
      expect_version(&r, "");
    }
    assert_true(failures > 0);
    run_end(&r);
  }
}

/* PD-04: and nothing of the same item is looked at any more. */
static void test_process_sync_all(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  run_do(&r, "A:a@1 A:b@2 A:c@3 D:b@4");
  change_log_expect(&r.log, "A:a@1 A:b@2 A:c@3 D:b@4");
  run_do(&r, "S");
  change_log_expect(&r.log, "U:a@1>1 U:c@3>3");
  expect_version(&r, "4");
  kin_object *object = object_keyed(NULL, "d", 9);
  kin_delta deltas[] = {{.type = KIN_DELTA_SYNC_ALL},
                        {.type = KIN_DELTA_ADDED, .object = object}};
  kin_deltas item = {deltas, 2};
  assert_int_equal(kin_process_deltas(r.store, &r.log.handlers, &item, false),
                   0);
  change_log_expect(&r.log, "U:a@1>1 U:c@3>3");
  kin_object_unref(object);
  run_end(&r);
}

/* PD-04: what handlers add during a resync is no part of it; otherwise a handler
 * that adds would never see the end. */
static void add_in_handler(change_log *log) {
  char key[16];
  snprintf(key, sizeof key, "new%u", log->calls);
  kin_object *object = object_keyed(NULL, key, 100);
  assert_int_equal(kin_store_put(log->data, object), 0);
  kin_object_unref(object);
}

static void test_process_sync_all_ends(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  run_do(&r, "A:a@1 A:b@2");
  change_log_expect(&r.log, "A:a@1 A:b@2");
  r.log.during = add_in_handler;
  r.log.data = r.store;
  run_do(&r, "S");
  change_log_expect(&r.log, "U:a@1>1 U:b@2>2");
  assert_int_equal(kin_store_count(r.store), 4);
  run_end(&r);
}

/* client-go TestStoreResourceVersion; PD-05, TS-10, ST-04, ST-07: what each
 * change makes of the store's version. */
static void test_process_store_version(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  static const struct {
    const char *operation;
    const char *version;
  } steps[] = {{"R:foo@1,bar@2#10", "10"},
               {"A:baz@11", "11"},
               {"U:foo@12", "12"},
               {"B:20", "20"},
               {"S", "20"},
               {"D:foo@21", "21"},
               {"X:bar@2", "21"},
               {"R:#30", "30"},
               {"D:never@31", "31"},
               {"A:old@7", "7"}};
  for (size_t i = 0; i < COUNT_OF(steps); i++) {
    run_do(&r, steps[i].operation);
    expect_version(&r, steps[i].version);
  }
  change_log_expect(&r.log, "I:foo@1 I:bar@2 A:baz@11 U:foo@1>12 U:foo@12>12 "
                            "U:bar@2>2 U:baz@11>11 D:foo@21 X:bar@2 "
                            "X:baz@11 D:never@31 A:old@7");
  run_end(&r);
}

/* client-go TestStoreResourceVersionWithNonMetaTransform; PD-10: an object
 * without a version has "", and a list still sets its own. */
static void test_process_objects_without_version(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  kin_object *object = object_of(NULL, "{'metadata':{'name':'foo'}}");
  assert_int_equal(kin_queue_replace(r.rig.queue,
                                     (const kin_object *const *)&object, 1,
                                     kin__cstr("10")),
                   0);
  run_do(&r, "");
  expect_version(&r, "10");
  assert_int_equal(kin_queue_add(r.rig.queue, object), 0);
  run_do(&r, "");
  expect_version(&r, "");
  kin_object_unref(object);
  run_end(&r);
}

/* Sees whether the store shows the end of the list, whatever is told first. */
static void check_final(change_log *log) {
  const kin_store *store = log->data;
  assert_int_equal(kin_store_count(store), 3);
  assert_non_null(kin_store_get_key(store, "new"));
  assert_null(kin_store_get_key(store, "gone"));
  assert_names(store, "name", "gone", "");
  assert_names(store, "name", "new", "new");
}

/* client-go TestReplaceEvents; PD-06, QF-06: deletions, then the list in its
 * order; all of them see the final state. */
static void test_process_replaced_all(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  run_do(&r, "R:same@1,gone@2,changed@3#5");
  change_log_expect(&r.log, "I:same@1 I:gone@2 I:changed@3");
  r.log.during = check_final;
  r.log.data = r.store;
  run_do(&r, "R:new@7,changed@6,same@1#8");
  change_log_expect(&r.log, "X:gone@2 A:new@7 U:changed@3>6 U:same@1>1");
  r.log.during = NULL;
  change_log_assert_folds_to(&r.log, r.store);
  run_do(&r, "R:#9");
  assert_int_equal(r.log.deletes, 4);
  assert_int_equal(kin_store_count(r.store), 0);
  change_log_assert_folds_to(&r.log, r.store);
  run_end(&r);
}

/* ST-02, PD-06: an object that is listed several times is told once, with its
 * last state. A list that is taken apart, or by keys, may tell all of them. */
static void test_process_listed_twice(void **state) {
  (void)state;
  static const struct {
    rig_kind kind;
    const char *store;
  } cases[] = {
      {RIG_IN_ORDER, NULL}, {RIG_IN_ORDER, "store"}, {RIG_DELTA, "store"}};
  for (unsigned i = 0; i < COUNT_OF(cases); i++) {
    run r;
    run_begin(&r, cases[i].kind, cases[i].store);
    r.log.is_ahead = i > 0;
    run_do(&r, "R:new@1,new@2,same@1,new@3#5");
    if (i == 0) {
      change_log_expect(&r.log, "I:same@1 I:new@3");
    }
    run_do(&r, "R:late@1,new@4,late@2,same@1,new@5,late@3#8");
    if (i == 0) {
      change_log_expect(&r.log, "U:same@1>1 U:new@3>5 A:late@3");
    }
    change_log_assert_folds_to(&r.log, r.store);
    assert_int_equal(r.log.adds, 3);
    run_end(&r);
  }
}

/* PD-06: an object that cannot be stored, and nothing has changed. */
static void test_process_replaced_all_fails(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  run_do(&r, "R:same@1,gone@2#5");
  change_log_expect(&r.log, "I:same@1 I:gone@2");
  queue_rig_do(&r.rig, "R:new@7,bad@6,same@8#9");
  assert_int_equal(pop(&r), KIN_EINDEX);
  change_log_expect(&r.log, "");
  expect_version(&r, "5");
  assert_int_equal(kin_store_count(r.store), 2);
  assert_names(r.store, "name", "gone", "gone");
  assert_names(r.store, "name", "new", "");
  run_end(&r);
}

/* CO-10: a handler that writes to the store neither disturbs what is told of
 * the list, nor is what it writes lost. */
static void write_in_handler(change_log *log) {
  kin_store *store = log->data;
  kin_object *object = object_keyed(NULL, "gone", 100 + log->calls);
  assert_int_equal(kin_store_put(store, object), 0);
  kin_object_unref(object);
  (void)kin_store_delete(store, kin__cstr("changed"));
}

static void test_process_handlers_write(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  run_do(&r, "R:same@1,gone@2,changed@3#5");
  change_log_expect(&r.log, "I:same@1 I:gone@2 I:changed@3");
  r.log.store = NULL;
  r.log.during = write_in_handler;
  r.log.data = r.store;
  run_do(&r, "R:new@7,changed@6,same@1#8");
  change_log_expect(&r.log, "X:gone@2 A:new@7 U:changed@3>6 U:same@1>1");
  assert_non_null(kin_store_get_key(r.store, "gone"));
  assert_null(kin_store_get_key(r.store, "changed"));
  run_end(&r);
}

/* A scan that was begun before a list meets what stays just once. */
static void test_process_scan_across_a_list(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  run_do(&r, "R:a@1,b@1,c@1,d@1,e@1,f@1#1");
  kin_cursor cursor = {0};
  unsigned met[128] = {0};
  for (int i = 0; i < 3; i++) {
    met[(unsigned char)kin_object_key(kin_store_next(r.store, &cursor))
            .data[0]]++;
  }
  run_do(&r, "R:z@2,f@2,y@2,a@2,d@2,c@2#2");
  const kin_object *object;
  while ((object = kin_store_next(r.store, &cursor)) != NULL) {
    met[(unsigned char)kin_object_key(object).data[0]]++;
  }
  assert_int_equal(met['a'], 1);
  assert_int_equal(met['c'], 1);
  assert_int_equal(met['d'], 1);
  assert_int_equal(met['f'], 1);
  run_end(&r);
}

/* client-go TestProcessDeltasInBatch; PD-07, PD-08, CO-03, NR-04. The store has
 * "has@1"; "bad" fails. */
static void test_process_batch(void **state) {
  (void)state;
  static const struct {
    const char *operations;
    int result;
    const char *told;
    size_t count; /* of the store, then */
  } cases[] = {
      {"A:a@2 A:b@3", 0, "A:a@2 A:b@3", 3},
      {"U:has@2 A:b@3", 0, "U:has@1>2 A:b@3", 2},
      {"D:has@2 A:b@3", 0, "D:has@2 A:b@3", 1},
      {"X:has@- D:never@3", 0, "X:has@1 D:never@3", 0},
      {"A:a@2 A:bad@3 U:has@4", KIN_EINDEX, "A:a@2 U:has@1>4", 2},
      {"A:bad@3 D:has@4", KIN_EINDEX, "D:has@4", 0},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    run r;
    run_begin(&r, RIG_IN_ORDER, NULL);
    run_do(&r, "A:has@1");
    change_log_expect(&r.log, "A:has@1");
    queue_rig_do(&r.rig, cases[i].operations);
    assert_int_equal(
        kin_queue_pop_batch(r.rig.queue, process_batch, process, &r),
        cases[i].result);
    change_log_expect(&r.log, cases[i].told);
    assert_int_equal(kin_store_count(r.store), cases[i].count);
    change_log_assert_folds_to(&r.log, r.store);
    run_end(&r);
  }
}

/* PD-07: all changes of a batch are made before the first handler is called,
 * and the version is the last one's. */
static void check_batch(change_log *log) {
  const kin_store *store = log->data;
  assert_non_null(kin_store_get_key(store, "b"));
  assert_null(kin_store_get_key(store, "has"));
}

static void test_process_batch_is_one_transaction(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  run_do(&r, "A:has@1");
  r.log.during = check_batch;
  r.log.data = r.store;
  run_do_batch(&r, "A:a@2 D:has@3 A:b@4");
  change_log_expect(&r.log, "A:has@1 A:a@2 D:has@3 A:b@4");
  expect_version(&r, "4");
  run_end(&r);
}

/* PD-08 (the types that have no key), and an allocation that fails: nothing has
 * changed. */
static void test_process_batch_fails_as_a_whole(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  kin_object *object = object_keyed(NULL, "foo", 1);
  static const kin_delta bad[] = {
      {.type = KIN_DELTA_SYNC_ALL}, {.type = KIN_DELTA_REPLACED_ALL},
      {.type = KIN_DELTA_BOOKMARK}, {.type = (kin_delta_type)0},
      {.type = (kin_delta_type)99}, {.type = KIN_DELTA_ADDED},
      {.type = KIN_DELTA_DELETED}};
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    kin_delta deltas[] = {{.type = KIN_DELTA_ADDED, .object = object}, bad[i]};
    kin_deltas batch = {deltas, 2};
    assert_int_equal(kin_process_batch(r.store, &r.log.handlers, &batch, false),
                     KIN_EINVAL);
  }
  kin_delta deltas[] = {{.type = KIN_DELTA_ADDED, .object = object}};
  kin_deltas batch = {deltas, 1};
  for (size_t n = 1; n <= 2; n++) {
    r.memory.fail_at = r.memory.calls + n;
    assert_int_equal(kin_process_batch(r.store, &r.log.handlers, &batch, false),
                     KIN_ENOMEM);
  }
  r.memory.fail_at = 0;
  change_log_expect(&r.log, "");
  assert_int_equal(kin_store_count(r.store), 0);
  kin_object_unref(object);
  run_end(&r);
}

/* PD-05: wrong arguments are refused, and change nothing. */
static void test_process_bad_input(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  static const kin_delta bad[] = {
      {.type = KIN_DELTA_ADDED},
      {.type = KIN_DELTA_DELETED},
      {.type = KIN_DELTA_DELETED, .is_tombstone = true},
      {.type = KIN_DELTA_REPLACED_ALL, .object_count = 1},
      {.type = (kin_delta_type)99}};
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    kin_deltas deltas = {&bad[i], 1};
    assert_true(kin_process_deltas(r.store, &r.log.handlers, &deltas, false) <
                0);
  }
  const kin_object *const nothing[] = {NULL};
  kin_delta list = {
      .type = KIN_DELTA_REPLACED_ALL, .objects = nothing, .object_count = 1};
  kin_deltas deltas = {&list, 1};
  assert_int_equal(kin_process_deltas(r.store, &r.log.handlers, &deltas, false),
                   KIN_EINVAL);
  kin_deltas none = {NULL, 0};
  assert_int_equal(kin_process_deltas(r.store, NULL, &none, false), 0);
  assert_int_equal(kin_process_batch(r.store, NULL, &none, false), 0);
  assert_int_equal(kin_process_deltas(NULL, NULL, &none, false), KIN_EINVAL);
  assert_int_equal(kin_process_deltas(r.store, NULL, NULL, false), KIN_EINVAL);
  kin_object *b = object_keyed(NULL, "b", 1);
  kin_delta mixed = {.type = KIN_DELTA_DELETED,
                     .is_tombstone = true,
                     .key = kin__cstr("a"),
                     .object = b};
  kin_deltas two_keys = {&mixed, 1};
  assert_int_equal(kin_process_deltas(r.store, NULL, &two_keys, false),
                   KIN_EKEY);
  assert_int_equal(kin_process_batch(r.store, NULL, &two_keys, false),
                   KIN_EKEY);
  kin_object_unref(b);
  kin_delta malformed = {.type = KIN_DELTA_DELETED,
                         .is_tombstone = true,
                         .key = kin__cstr("a/b/c")};
  kin_deltas no_key = {&malformed, 1};
  assert_int_equal(kin_process_deltas(r.store, &r.log.handlers, &no_key, false),
                   KIN_EKEY);
  assert_int_equal(kin_process_batch(r.store, &r.log.handlers, &no_key, false),
                   KIN_EKEY);
  kin_process_handlers newer = KIN_PROCESS_HANDLERS_INIT;
  newer.size = 1;
  assert_int_equal(kin_process_deltas(r.store, &newer, &none, false),
                   KIN_EINVAL);
  change_log_expect(&r.log, "");
  run_end(&r);
}

/* Handlers may be missing, all or some. */
static void test_process_without_handlers(void **state) {
  (void)state;
  run r;
  run_begin(&r, RIG_IN_ORDER, NULL);
  kin_object *object = object_keyed(NULL, "foo", 1);
  const kin_object *const list[] = {object};
  kin_delta deltas[] = {
      {.type = KIN_DELTA_ADDED, .object = object},
      {.type = KIN_DELTA_UPDATED, .object = object},
      {.type = KIN_DELTA_REPLACED_ALL, .objects = list, .object_count = 1},
      {.type = KIN_DELTA_REPLACED_ALL},
      {.type = KIN_DELTA_DELETED, .object = object},
      {.type = KIN_DELTA_SYNC_ALL}};
  kin_deltas item = {deltas, COUNT_OF(deltas)};
  assert_int_equal(kin_process_deltas(r.store, NULL, &item, false), 0);
  assert_int_equal(kin_store_count(r.store), 0);
  kin_deltas batch = {deltas, 1};
  assert_int_equal(kin_process_batch(r.store, NULL, &batch, false), 0);
  assert_int_equal(kin_store_count(r.store), 1);
  kin_object_unref(object);
  run_end(&r);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What was told, in no order. */
static void sort_words(char *text) {
  char copy[sizeof((change_log *)0)->text];
  char *words[1024];
  size_t count = 0;
  snprintf(copy, sizeof copy, "%s", text);
  for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
    assert_true(count < COUNT_OF(words));
    words[count++] = word;
  }
  qsort(words, count, sizeof *words, by_text);
  size_t length = 0;
  for (size_t i = 0; i < count; i++) {
    length += (size_t)sprintf(text + length, "%s ", words[i]);
  }
}

/* PD-09, and client-go TestReplaceEvents; QF-06, PD-06: a list as one change,
 * in order but taken apart, and by keys: the same is told, and the store is the
 * same. */
static void test_process_lists_in_all_ways(void **state) {
  (void)state;
  kin__random random = {20261121};
  for (unsigned seed = 0; seed < 200; seed++) {
    run runs[3];
    run_begin(&runs[0], RIG_IN_ORDER, NULL);
    run_begin(&runs[1], RIG_IN_ORDER, "store");
    run_begin(&runs[2], RIG_DELTA, "store");
    for (unsigned round = 0; round < 5; round++) {
      char list[512] = "R:";
      size_t length = 2;
      for (unsigned key = 0; key < 12; key++) {
        if (kin__random_below(&random, 3) > 0) {
          length +=
              (size_t)snprintf(list + length, sizeof list - length, "%sk%u@%u",
                               length > 2 ? "," : "", key,
                               1 + (unsigned)kin__random_below(&random, 3));
        }
      }
      snprintf(list + length, sizeof list - length, "#%u", 10 + round);
      for (unsigned i = 0; i < 3; i++) {
        run_do(&runs[i], list);
        sort_words(runs[i].log.text);
        change_log_assert_folds_to(&runs[i].log, runs[0].store);
        assert_string_equal(runs[i].log.text, runs[0].log.text);
      }
      for (unsigned i = 0; i < 3; i++) {
        runs[i].log.text[0] = '\0';
      }
    }
    for (unsigned i = 0; i < 3; i++) {
      run_end(&runs[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_process_single_changes),
      cmocka_unit_test(test_process_deltas_of_a_key),
      cmocka_unit_test(test_process_tombstone_of_what_is_stored),
      cmocka_unit_test(test_process_failing_store),
      cmocka_unit_test(test_process_without_memory),
      cmocka_unit_test(test_process_sync_all),
      cmocka_unit_test(test_process_sync_all_ends),
      cmocka_unit_test(test_process_store_version),
      cmocka_unit_test(test_process_objects_without_version),
      cmocka_unit_test(test_process_replaced_all),
      cmocka_unit_test(test_process_listed_twice),
      cmocka_unit_test(test_process_replaced_all_fails),
      cmocka_unit_test(test_process_handlers_write),
      cmocka_unit_test(test_process_scan_across_a_list),
      cmocka_unit_test(test_process_batch),
      cmocka_unit_test(test_process_batch_is_one_transaction),
      cmocka_unit_test(test_process_batch_fails_as_a_whole),
      cmocka_unit_test(test_process_bad_input),
      cmocka_unit_test(test_process_without_handlers),
      cmocka_unit_test(test_process_lists_in_all_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
