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

#include "base/str.h"
#include "support/objects.h"
#include "support/queue_rig.h"

/* What all queues do with bad input. See support/queue_rig.h for the
 * notation. */

static const rig_kind kinds[] = {RIG_FIFO, RIG_DELTA, RIG_IN_ORDER};
#define KINDS (sizeof kinds / sizeof kinds[0])

typedef int (*maker)(kin_queue **out, const kin_queue_options *options);
static const maker makers[] = {kin_queue_new_fifo, kin_queue_new_delta,
                               kin_queue_new_in_order};

/* DF-02, FF-05, QF-01: names; options may be left out. */
static void test_queue_input_defaults(void **state) {
  (void)state;
  static const char *const names[] = {"FIFO", "DeltaFIFO", "RealFIFO"};
  for (size_t i = 0; i < KINDS; i++) {
    kin_queue *queue;
    assert_int_equal(makers[i](&queue, NULL), 0);
    assert_string_equal(kin_queue_name(queue), names[i]);
    assert_null(kin_queue_transform(queue, NULL));
    assert_int_equal(kin_queue_count(queue), 0);
    assert_false(kin_queue_is_full(queue));
    kin_queue_free(queue);
    kin_queue_options options = KIN_QUEUE_OPTIONS_INIT;
    options.name = "";
    assert_int_equal(makers[i](&queue, &options), 0);
    assert_string_equal(kin_queue_name(queue), names[i]);
    kin_queue_free(queue);
    options.name = "q";
    assert_int_equal(makers[i](&queue, &options), 0);
    assert_string_equal(kin_queue_name(queue), "q");
    kin_queue_free(queue);
  }
  kin_queue_free(NULL);
}

static int get_nothing(void *ctx, kin_str key, const kin_object **object) {
  (void)ctx;
  (void)key;
  *object = NULL;
  return 0;
}

static bool next_nothing(void *ctx, uintptr_t *place, kin_str *key) {
  (void)ctx;
  (void)place;
  (void)key;
  return false;
}

/* QF-03: what contradicts itself, is out of range, or is not for that kind. */
static void test_queue_input_bad_options(void **state) {
  (void)state;
  char long_name[300];
  memset(long_name, 'x', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  const kin_known_objects known = {get_nothing, next_nothing, NULL};
  const kin_known_objects no_next = {get_nothing, NULL, NULL};
  const kin_known_objects no_get = {NULL, next_nothing, NULL};
  const kin_queue_options init = KIN_QUEUE_OPTIONS_INIT;
  const struct {
    kin_queue_options options;
    int errors[KINDS]; /* fifo, delta, in order */
  } cases[] = {
      {{init.size, .known = known}, {KIN_EINVAL, 0, 0}},
      {{init.size, .known = no_next}, {KIN_EINVAL, KIN_EINVAL, KIN_EINVAL}},
      {{init.size, .known = no_get}, {KIN_EINVAL, KIN_EINVAL, KIN_EINVAL}},
      {{init.size, .emit_replaced = true}, {KIN_EINVAL, 0, KIN_EINVAL}},
      {{init.size, .emit_bookmarks = true}, {KIN_EINVAL, KIN_EINVAL, 0}},
      {{init.size, .emit_bookmarks = true, .known = known},
       {KIN_EINVAL, KIN_EINVAL, KIN_EINVAL}},
      {{init.size, .batch_limit = 1}, {KIN_EINVAL, KIN_EINVAL, 0}},
      {{init.size, .batch_limit = 65536}, {KIN_EINVAL, KIN_EINVAL, 0}},
      {{init.size, .batch_limit = 65537}, {KIN_EINVAL, KIN_EINVAL, KIN_EINVAL}},
      {{init.size, .pending_limit = 1}, {0, 0, 0}},
      {{init.size, .name = long_name + 44}, {0, 0, 0}},
      {{init.size, .name = long_name + 43},
       {KIN_EINVAL, KIN_EINVAL, KIN_EINVAL}},
      {{init.size - 1}, {KIN_EINVAL, KIN_EINVAL, KIN_EINVAL}},
      {{0}, {KIN_EINVAL, KIN_EINVAL, KIN_EINVAL}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (size_t kind = 0; kind < KINDS; kind++) {
      kin_queue *queue = (kin_queue *)&cases;
      int err = makers[kind](&queue, &cases[i].options);
      assert_int_equal(err, cases[i].errors[kind]);
      assert_int_equal(queue == NULL, err != 0);
      kin_queue_free(queue);
    }
  }
}

/* A newer program sets what this library does not know. */
static void test_queue_input_newer_options(void **state) {
  (void)state;
  struct {
    kin_queue_options known;
    uint64_t unknown;
  } options = {.known = KIN_QUEUE_OPTIONS_INIT};
  options.known.size = sizeof options;
  kin_queue *queue;
  assert_int_equal(kin_queue_new_delta(&queue, &options.known), 0);
  kin_queue_free(queue);
  options.unknown = 1;
  assert_int_equal(kin_queue_new_delta(&queue, &options.known), KIN_ENOTSUP);
  assert_null(queue);
}

/* Objects without metadata do not exist (KY-01); names with a slash make no
 * key. FF-03, QF-05: a list with such an object is refused as a whole, and what
 * was queued stays. A delta queue keeps the part before the object. */
static void test_queue_input_bad_objects(void **state) {
  (void)state;
  static const char *const texts[] = {"{}", "{\"metadata\":{}}",
                                      "{\"metadata\":{\"name\":\"\"}}", "[]"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    kin_object *object;
    assert_true(kin_object_parse(&object, NULL, texts[i], strlen(texts[i])) <
                0);
    assert_null(object);
  }
  static const struct {
    const char *operation;
    int err;
  } cases[] = {
      {"A:NULL", KIN_EINVAL},
      {"U:NULL", KIN_EINVAL},
      {"D:NULL", KIN_EINVAL},
      {"R:foo@1,NULL", KIN_EINVAL},
      {"A:ns/x/y@1", KIN_EKEY},
      {"U:ns/x/y@1", KIN_EKEY},
      {"D:ns/x/y@1", KIN_EKEY},
      {"X:ns/x/y@1", KIN_EKEY},
      {"R:foo@1,a/b/c@1", KIN_EKEY},
      {"I:ns/x/y@1", KIN_EKEY},
      {"X:@-", KIN_EKEY},
      {"X:/x@-", KIN_EKEY},
      {"X:x/@-", KIN_EKEY},
      {"X:a/b/c@-", KIN_EKEY},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (size_t kind = 0; kind < KINDS; kind++) {
      queue_rig rig;
      queue_rig_open_simple(&rig, kinds[kind], NULL);
      queue_rig_do(&rig, "A:bar@1");
      assert_int_equal(queue_rig_try(&rig, cases[i].operation), cases[i].err);
      bool goes_on = kinds[kind] == RIG_DELTA && cases[i].operation[0] == 'R';
      queue_rig_drain(&rig, goes_on ? "A:bar@1 | S:foo@1" : "A:bar@1");
      queue_rig_close(&rig);
    }
  }
}

/* DF-02, DF-03, FF-04, QF-04: what a refused change means for has_synced. */
static void test_queue_input_refused_changes_count(void **state) {
  (void)state;
  static const struct {
    const char *operation;
    int transform_error;
    bool is_synced[KINDS]; /* fifo, delta, in order */
  } cases[] = {
      {"A:NULL", 0, {false, true, true}},
      {"U:ns/x/y@1", 0, {false, true, true}},
      {"D:NULL", 0, {false, false, true}},
      {"X:a/b/c@-", 0, {false, false, true}},
      {"A:foo@1", KIN_EJSON, {false, true, true}},
      {"A:foo@1", KIN_ENOMEM, {false, false, false}},
      {"D:known@1", KIN_EJSON, {true, true, true}}, /* FIFO needs no object */
      {"R:foo@1", KIN_EJSON, {false, false, false}},
      {"R:NULL", 0, {false, false, false}},
      {"I:ns/x/y@1", 0, {false, false, false}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (size_t kind = 0; kind < KINDS; kind++) {
      queue_rig rig;
      queue_rig_init(&rig);
      if (kinds[kind] != RIG_FIFO) {
        queue_rig_know(&rig, "known@1");
      }
      queue_rig_transform(&rig);
      rig.transform_error = cases[i].transform_error;
      queue_rig_open(&rig, kinds[kind]);
      int err = queue_rig_try(&rig, cases[i].operation);
      assert_true(err < 0 || kinds[kind] == RIG_FIFO);
      assert_int_equal(kin_queue_has_synced(rig.queue),
                       cases[i].is_synced[kind]);
      assert_int_equal(rig.told, cases[i].is_synced[kind]);
      queue_rig_close(&rig);
    }
  }
}

/* DF-11: a tombstone's object must have the tombstone's key. */
static void test_queue_input_tombstone_of_another(void **state) {
  (void)state;
  kin_object *foo = object_keyed(NULL, "ns/foo", 1);
  for (size_t kind = 0; kind < KINDS; kind++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, kinds[kind], NULL);
    queue_rig_do(&rig, "A:ns/bar@1");
    assert_int_equal(
        kin_queue_delete_tombstone(rig.queue, KIN__LIT("ns/bar"), foo),
        KIN_EKEY);
    assert_int_equal(
        kin_queue_delete_tombstone(rig.queue, kin__str(NULL, 0), NULL),
        KIN_EKEY);
    queue_rig_drain(&rig, "A:ns/bar@1");
    queue_rig_close(&rig);
  }
  kin_object_unref(foo);
}

/* What cannot be put back. */
static void test_queue_input_bad_deltas(void **state) {
  (void)state;
  kin_object *foo = object_keyed(NULL, "foo", 1);
  kin_object *bar = object_keyed(NULL, "bar", 1);
  const struct {
    kin_delta deltas[2];
    size_t count;
    int err;
  } cases[] = {
      {{{0}}, 0, KIN_EKEY},
      {{{0}}, 1, KIN_EKEY},
      {{{.object = foo}}, 1, KIN_EINVAL},
      {{{.type = KIN_DELTA_ADDED, .key = KIN__LIT("foo")}}, 1, KIN_EINVAL},
      {{{.type = KIN_DELTA_ADDED, .is_tombstone = true, .object = foo}},
       1,
       KIN_EINVAL},
      {{{.type = KIN_DELTA_REPLACED_ALL, .key = KIN__LIT("foo")}},
       1,
       KIN_EINVAL},
      {{{.type = KIN_DELTA_BOOKMARK}}, 1, KIN_EKEY},
      {{{.type = KIN_DELTA_DELETED,
         .is_tombstone = true,
         .key = KIN__LIT("a/b/c")}},
       1,
       KIN_EKEY},
      {{{.type = KIN_DELTA_ADDED, .key = KIN__LIT("foo"), .object = bar}},
       1,
       KIN_EKEY},
      {{{.type = KIN_DELTA_ADDED, .object = foo},
        {.type = KIN_DELTA_UPDATED, .object = bar}},
       2,
       KIN_EKEY},
  };
  for (size_t kind = 0; kind < KINDS; kind++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, kinds[kind], NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      const kin_deltas deltas = {cases[i].deltas, cases[i].count};
      assert_int_equal(kin_queue_add_if_not_present(rig.queue, &deltas),
                       cases[i].err);
    }
    const kin_deltas nothing = {NULL, 1};
    assert_int_equal(kin_queue_add_if_not_present(rig.queue, &nothing),
                     KIN_EINVAL);
    assert_int_equal(kin_queue_add_if_not_present(rig.queue, NULL), KIN_EINVAL);
    const kin_delta gone = {.type = KIN_DELTA_DELETED, .object = foo};
    const kin_deltas deletion = {&gone, 1};
    assert_int_equal(kin_queue_add_if_not_present(rig.queue, &deletion),
                     kinds[kind] == RIG_FIFO ? KIN_EINVAL : 0);
    queue_rig_drain(&rig, kinds[kind] == RIG_FIFO ? "" : "D:foo@1");
    queue_rig_close(&rig);
  }
  kin_object_unref(foo);
  kin_object_unref(bar);
}

/* Keys that nobody has, arrays and callbacks that are not there, versions that
 * are none. */
static void test_queue_input_bad_arguments(void **state) {
  (void)state;
  static char long_version[65537];
  const kin_str version = {long_version, sizeof long_version - 1};
  memset(long_version, '1', sizeof long_version - 1);
  for (size_t kind = 0; kind < KINDS; kind++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, kinds[kind], NULL);
    static const char *const keys[] = {"", "/", "a/b/c", "foo"};
    for (size_t i = 0; i < 4; i++) {
      kin_deltas *deltas;
      kin_str key = kin__cstr(keys[i]);
      assert_int_equal(kin_queue_get(rig.queue, key, &deltas), KIN_ENOENT);
    }
    kin_queue *q = rig.queue;
    assert_int_equal(kin_queue_replace(q, NULL, 1, KIN__LIT("")), KIN_EINVAL);
    const kin_object *const nothing[] = {NULL};
    assert_int_equal(kin_queue_replace(q, nothing, SIZE_MAX, KIN__LIT("")),
                     kinds[kind] == RIG_IN_ORDER ? KIN_ENOMEM : KIN_EINVAL);
    assert_int_equal(kin_queue_replace(q, NULL, 0, version), KIN_ETOOBIG);
    assert_int_equal(kin_queue_bookmark(q, version), KIN_ETOOBIG);
    assert_int_equal(kin_queue_pop(q, NULL, NULL), KIN_EINVAL);
    assert_int_equal(kin_queue_pop_batch(q, NULL, queue_rig_process, NULL),
                     KIN_EINVAL);
    assert_int_equal(
        kin_queue_pop_batch(q, queue_rig_process_batch, NULL, NULL),
        KIN_EINVAL);
    assert_false(kin_queue_has_synced(q));
    assert_int_equal(kin_queue_count(q), 0);
    queue_rig_do(&rig, "A:a@1");
    rig.result = 3; /* is no error code */
    assert_int_equal(queue_rig_try(&rig, "P"), KIN_EINVAL);
    queue_rig_close(&rig);
  }
}

/* NR-05. */
static void test_queue_input_type_names(void **state) {
  (void)state;
  static const char *const names[] = {
      "",     "Added",       "Updated", "Deleted",  "Replaced",
      "Sync", "ReplacedAll", "SyncAll", "Bookmark", ""};
  for (int i = 0; i < 10; i++) {
    assert_string_equal(kin_delta_type_name((kin_delta_type)i), names[i]);
  }
  assert_string_equal(kin_delta_type_name((kin_delta_type)1000), "");
}

static kin_deltas *copy_of_list;

static void copy_list(queue_rig *rig, kin_queue_item *item) {
  (void)rig;
  assert_int_equal(kin_deltas_copy(&copy_of_list, &item->deltas, NULL), 0);
}

/* Copies have strings, objects and lists of their own. */
static void test_queue_input_copies(void **state) {
  (void)state;
  static const char *const changes[] = {"R:a@1,ns/b@2#77", "B:5", "S",
                                        "X:gone@-", "A:a@1"};
  static const char *const copies[] = {"R*(a@1,ns/b@2)#77", "B:5", "S*",
                                       "X:gone@-", "A:a@1"};
  for (size_t i = 0; i < 5; i++) {
    queue_rig rig;
    queue_rig_init(&rig);
    rig.options.emit_bookmarks = true;
    queue_rig_open(&rig, RIG_IN_ORDER);
    queue_rig_do(&rig, changes[i]);
    rig.during = copy_list;
    queue_rig_do(&rig, "P");
    kin_queue_free(rig.queue);
    rig.queue = NULL;
    char text[64];
    queue_rig_describe(text, sizeof text, copy_of_list);
    assert_string_equal(text, copies[i]);
    kin_deltas_free(copy_of_list);
    queue_rig_close(&rig);
  }
  kin_deltas *copy = (kin_deltas *)&copies;
  assert_int_equal(kin_deltas_copy(&copy, NULL, NULL), KIN_EINVAL);
  assert_null(copy);
  const kin_deltas nowhere = {NULL, 1};
  assert_int_equal(kin_deltas_copy(&copy, &nowhere, NULL), KIN_EINVAL);
  const kin_deltas none = {NULL, 0};
  assert_int_equal(kin_deltas_copy(&copy, &none, NULL), 0);
  assert_int_equal(copy->count, 0);
  kin_deltas_free(copy);
  kin_deltas_free(NULL);
  const kin_delta huge = {.type = KIN_DELTA_BOOKMARK,
                          .resource_version = {"", SIZE_MAX - 1}};
  const kin_deltas too_big = {&huge, 1};
  assert_int_equal(kin_deltas_copy(&copy, &too_big, NULL), KIN_ENOMEM);
  const kin_delta missing = {.type = KIN_DELTA_REPLACED_ALL, .object_count = 1};
  const kin_deltas without_objects = {&missing, 1};
  assert_int_equal(kin_deltas_copy(&copy, &without_objects, NULL), KIN_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue_input_defaults),
      cmocka_unit_test(test_queue_input_bad_options),
      cmocka_unit_test(test_queue_input_newer_options),
      cmocka_unit_test(test_queue_input_bad_objects),
      cmocka_unit_test(test_queue_input_refused_changes_count),
      cmocka_unit_test(test_queue_input_tombstone_of_another),
      cmocka_unit_test(test_queue_input_bad_deltas),
      cmocka_unit_test(test_queue_input_bad_arguments),
      cmocka_unit_test(test_queue_input_type_names),
      cmocka_unit_test(test_queue_input_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
