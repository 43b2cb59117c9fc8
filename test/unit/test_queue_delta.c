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

/* See support/queue_rig.h for the notation. Replace and resync are in
 * test_queue_delta_replace.c. */

/* client-go TestDeltaFIFO_basic; DF-01. */
static void test_queue_delta_is_in_order(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, NULL);
  queue_rig_expect_order(&rig, "ns/b");
}

/* client-go TestDeltaFIFO_addUpdate; DF-01, DF-02, OQ-05: a key is queued once,
 * with all its deltas; lists show the newest. */
static void test_queue_delta_collects_deltas(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, NULL);
  queue_rig_do(&rig, "A:foo@10 U:foo@12 D:foo@15");
  queue_rig_expect_list(&rig, "D:foo@15");
  queue_rig_drain(&rig, "A:foo@10 U:foo@12 D:foo@15");
  kin_deltas *deltas;
  assert_int_equal(kin_queue_get(rig.queue, KIN__LIT("foo"), &deltas),
                   KIN_ENOENT);
  assert_null(deltas);
  queue_rig_close(&rig);
}

/* client-go TestDeltaFIFO_transformer; DF-10: every object that is put in is
 * transformed once; what a list deletes has been. */
static void test_queue_delta_transformer(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_init(&rig);
  queue_rig_transform(&rig);
  queue_rig_open(&rig, RIG_DELTA);
  queue_rig_do(&rig, "A:foo@10 A:bar@11 U:foo@12 D:foo@15 R: A:bar@16 R:");
  queue_rig_expect_list(&rig, "D:foo@15' X:bar@16'");
  queue_rig_drain(&rig, "A:foo@10' U:foo@12' D:foo@15' | "
                        "A:bar@11' X:bar@11' A:bar@16' X:bar@16'");
  assert_int_equal(rig.transforms, 5);
  void *data;
  assert_ptr_equal(kin_queue_transform(rig.queue, &data),
                   rig.options.transform);
  assert_ptr_equal(data, &rig);
  queue_rig_close(&rig);
}

/* DF-10: not for a tombstone, nor for what a resync queues, nor for what is put
 * back; but for a list, whatever its deltas are called. */
static void test_queue_delta_transforms_once(void **state) {
  (void)state;
  for (int emit_replaced = 0; emit_replaced < 2; emit_replaced++) {
    queue_rig rig;
    queue_rig_init(&rig);
    queue_rig_know(&rig, "foo@1 bar@1 baz@1");
    rig.options.emit_replaced = emit_replaced != 0;
    queue_rig_transform(&rig);
    queue_rig_open(&rig, RIG_DELTA);
    queue_rig_do(&rig, "X:foo@2 S A:baz@2 I:new@1");
    queue_rig_drain(&rig, "X:foo@2 | S:bar@1 | S:baz@1 A:baz@2' | A:new@1");
    assert_int_equal(rig.transforms, 1);
    queue_rig_do(&rig, "R:foo@3,bar@3");
    queue_rig_drain(&rig, emit_replaced != 0 ? "R:foo@3' | R:bar@3' | X:baz@1"
                                             : "S:foo@3' | S:bar@3' | X:baz@1");
    assert_int_equal(rig.transforms, 3);
    queue_rig_close(&rig);
  }
}

/* DF-10: the call fails with the transform's error, and nothing is queued. */
static void test_queue_delta_transform_fails(void **state) {
  (void)state;
  static const char *const operations[] = {"A:foo@2", "U:foo@2", "D:foo@2",
                                           "R:foo@2"};
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
    queue_rig rig;
    queue_rig_init(&rig);
    queue_rig_transform(&rig);
    queue_rig_open(&rig, RIG_DELTA);
    queue_rig_do(&rig, "A:foo@1");
    rig.transform_error = KIN_EJSON;
    assert_int_equal(queue_rig_try(&rig, operations[i]), KIN_EJSON);
    rig.transform_error = 7; /* is no error code */
    assert_int_equal(queue_rig_try(&rig, operations[i]), KIN_EINVAL);
    queue_rig_drain(&rig, "A:foo@1'");
    queue_rig_close(&rig);
  }
}

/* client-go TestDeltaFIFO_enqueueingNoLister; DF-02, DF-03. */
static void test_queue_delta_without_known_objects(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, NULL);
  queue_rig_do(&rig, "A:foo@10 U:bar@15 A:qux@17 D:qux@18");
  queue_rig_do(&rig, "D:baz@20 X:zab@21 X:zab@-"); /* nobody has them */
  queue_rig_drain(&rig, "A:foo@10 | U:bar@15 | A:qux@17 D:qux@18");
  queue_rig_close(&rig);
}

/* client-go TestDeltaFIFO_enqueueingWithLister; DF-03, NR-02: a deletion counts
 * also for a key that is only known, and when knowing fails. Only deletions of
 * what is not queued ask. */
static void test_queue_delta_with_known_objects(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, "foo@5 bar@6 baz@7 gone@- odd@!");
  queue_rig_do(&rig, "A:foo@10 U:bar@15");
  assert_int_equal(rig.lookups, 0);
  queue_rig_do(&rig, "D:baz@20 D:zab@21 D:gone@22 D:odd@23");
  assert_int_equal(rig.lookups, 4);
  queue_rig_do(&rig, "D:foo@11");
  assert_int_equal(rig.lookups, 4);
  queue_rig_drain(&rig, "A:foo@10 D:foo@11 | U:bar@15 | D:baz@20 | D:odd@23");
  queue_rig_close(&rig);
}

/* The same with a store, which is what is usually known. */
static void test_queue_delta_knows_a_store(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_init(&rig);
  kin_store *store;
  assert_int_equal(kin_store_new(&store, NULL), 0);
  rig.options.known = kin_store_known_objects(store);
  queue_rig_open(&rig, RIG_DELTA);
  for (unsigned i = 0; i < 3; i++) {
    static const char *const keys[] = {"ns/foo", "ns/bar", "baz"};
    kin_object *object = object_keyed(NULL, keys[i], 5 + i);
    assert_int_equal(kin_store_put(store, object), 0);
    kin_object_unref(object);
  }
  queue_rig_do(&rig, "D:ns/bar@10 D:zab@11 R:ns/foo@5 S");
  queue_rig_drain(&rig, "D:ns/bar@10 | S:ns/foo@5 | X:baz@7");
  queue_rig_do(&rig, "S");
  assert_int_equal(kin_queue_count(rig.queue), 3);
  kin_store_free(store);
  queue_rig_close(&rig);
}

/* client-go TestDeltaFIFO_DeleteExistingNonPropagated; DF-03: a deletion of
 * what is only queued is kept, though it is not known. */
static void test_queue_delta_deletes_what_is_only_queued(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, "");
  queue_rig_do(&rig, "A:foo@5 D:foo@6");
  queue_rig_drain(&rig, "A:foo@5 D:foo@6");
  queue_rig_do(&rig, "D:foo@7");
  queue_rig_drain(&rig, "");
  queue_rig_close(&rig);
}

/* DF-04: of two deletions in a row one stays: the older, unless it is a
 * tombstone. One that has no object does not replace one that has. */
static void test_queue_delta_merges_deletions(void **state) {
  (void)state;
  static const struct {
    const char *done;
    const char *popped;
  } cases[] = {
      {"D:foo@1 D:foo@2", "D:foo@1"},
      {"D:foo@1 X:foo@2", "D:foo@1"},
      {"X:foo@1 D:foo@2", "D:foo@2"},
      {"X:foo@1 X:foo@2", "X:foo@2"},
      {"X:foo@- X:foo@2", "X:foo@2"},
      {"X:foo@1 X:foo@-", "X:foo@1"},
      {"X:foo@- D:foo@2", "D:foo@2"},
      {"D:foo@1 X:foo@-", "D:foo@1"},
      {"X:foo@- X:foo@-", "X:foo@-"},
      {"A:foo@1 D:foo@2 D:foo@3 A:foo@4", "A:foo@1 D:foo@2 A:foo@4"},
      {"A:foo@1 A:foo@1 U:foo@2 U:foo@2", "A:foo@1 A:foo@1 U:foo@2 U:foo@2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, RIG_DELTA, "foo@0");
    queue_rig_do(&rig, cases[i].done);
    queue_rig_drain(&rig, cases[i].popped);
    queue_rig_close(&rig);
  }
}

/* client-go TestDeltaFIFO_detectLineJumpers; DF-01. */
static void test_queue_delta_nobody_jumps_the_queue(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, NULL);
  queue_rig_do(&rig, "A:foo@10 A:bar@1 A:foo@11 A:foo@13 A:zab@30");
  queue_rig_expect(&rig, "A:foo@10 A:foo@11 A:foo@13");
  queue_rig_do(&rig, "A:foo@14");
  queue_rig_drain(&rig, "A:bar@1 | A:zab@30 | A:foo@14");
  queue_rig_close(&rig);
}

/* client-go TestDeltaFIFO_KeyOf; DF-11, DF-14: the key of what a queue deals
 * in; no delta is no key. */
static void test_queue_delta_key_of(void **state) {
  (void)state;
  kin_object *a = object_keyed(NULL, "ns/a", 1);
  kin_object *c = object_keyed(NULL, "c", 1);
  const kin_delta deltas[] = {
      {.type = KIN_DELTA_ADDED, .object = c},
      {.type = KIN_DELTA_ADDED, .object = a},
      {.type = KIN_DELTA_DELETED, .is_tombstone = true, .key = KIN__LIT("b")},
      {.type = KIN_DELTA_DELETED,
       .is_tombstone = true,
       .key = KIN__LIT("c"),
       .object = c},
      {.type = KIN_DELTA_SYNC_ALL},
  };
  static const char *const keys[] = {"c", "ns/a", "b", "c", NULL};
  for (size_t i = 0; i < 5; i++) {
    const kin_deltas up_to = {deltas, i + 1};
    kin_str key = KIN__LIT("?");
    kin_str newest = key;
    int err = kin_delta_key(&deltas[i], &key);
    assert_int_equal(kin_deltas_key(&up_to, &newest), err);
    assert_int_equal(err, keys[i] != NULL ? 0 : KIN_EKEY);
    kin_str expected = kin__cstr(keys[i] != NULL ? keys[i] : "?");
    assert_true(kin__str_equal(key, expected));
    assert_true(kin__str_equal(newest, expected));
    assert_ptr_equal(kin_deltas_oldest(&up_to), &deltas[0]);
    assert_ptr_equal(kin_deltas_newest(&up_to), &deltas[i]);
  }
  const kin_deltas none = {NULL, 0};
  kin_str key;
  assert_int_equal(kin_deltas_key(&none, &key), KIN_EKEY);
  assert_null(kin_deltas_oldest(&none));
  assert_null(kin_deltas_newest(&none));
  kin_object_unref(a);
  kin_object_unref(c);
}

/* client-go TestDeltaFIFO_HasSynced; DF-02, DF-07, DF-08. */
static void test_queue_delta_has_synced(void **state) {
  (void)state;
  static const struct {
    const char *done;
    bool is_synced;
  } cases[] = {
      {"", false},
      {"A:a@1", true},
      {"U:a@1", true},
      {"D:a@1", true}, /* though it is ignored */
      {"X:a@-", true},
      {"I:a@1", true},
      {"S", false},
      {"B:1", false},
      {"R:", true},
      {"R:a@1,b@2", false},
      {"R:a@1,b@2 P", false},
      {"R:a@1,b@2 P P", true},
      {"R:a@1,a@2 P", true},
      {"R:a@1,b@2 R:a@3 P", false}, /* the first list counts */
      {"R:a@1,b@2 R:a@3 P P", true},
      {"R:a@1,b@2 A:c@1 P P", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, RIG_DELTA, NULL);
    queue_rig_expect_synced(&rig, cases[i].done, cases[i].is_synced);
  }
}

/* DF-08, DF-15: the latch falls before the last initial item is processed, for
 * which is_initial is still true; it is told once, under the queue's name. */
static void test_queue_delta_latches_before_processing(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_init(&rig);
  rig.options.name = "pods";
  queue_rig_open(&rig, RIG_DELTA);
  assert_string_equal(kin_queue_name(rig.queue), "pods");
  queue_rig_do(&rig, "R:a@1,b@1 A:c@1 P");
  assert_true(rig.was_initial);
  assert_false(rig.was_synced);
  queue_rig_do(&rig, "P");
  assert_true(rig.was_initial);
  assert_true(rig.was_synced);
  assert_int_equal(rig.told, 1);
  queue_rig_do(&rig, "P R:a@2 P");
  assert_false(rig.was_initial);
  assert_int_equal(rig.told, 1);
  queue_rig_close(&rig);
}

/* client-go TestDeltaFIFO_PopShouldUnblockWhenClosed; DF-12, OQ-04. */
static void test_queue_delta_pop_when_closed(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, "foo@5");
  queue_rig_expect_nothing(&rig, KIN_EAGAIN);
  queue_rig_do(&rig, "A:a@1 C");
  assert_true(kin_queue_is_closed(rig.queue));
  queue_rig_do(&rig, "A:b@1 D:foo@6");
  queue_rig_drain(&rig, "A:a@1 | A:b@1 | D:foo@6"); /* asserts KIN_ECLOSED */
  queue_rig_do(&rig, "S");
  queue_rig_drain(&rig, "S:foo@5");
  queue_rig_close(&rig);
}

/* OQ-05: a copy does not change with the queue and outlives it. */
static void test_queue_delta_get_is_a_copy(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, "gone@1");
  queue_rig_do(&rig, "A:foo@1 U:foo@2 X:gone@-");
  kin_deltas *foo;
  kin_deltas *gone;
  assert_int_equal(kin_queue_get(rig.queue, KIN__LIT("foo"), &foo), 0);
  assert_int_equal(kin_queue_get(rig.queue, KIN__LIT("gone"), &gone), 0);
  queue_rig_do(&rig, "D:foo@3");
  kin_queue_free(rig.queue);
  rig.queue = NULL;
  char text[64];
  queue_rig_describe(text, sizeof text, foo);
  assert_string_equal(text, "A:foo@1 U:foo@2");
  queue_rig_describe(text, sizeof text, gone);
  assert_string_equal(text, "X:gone@-");
  kin_deltas_free(foo);
  kin_deltas_free(gone);
  queue_rig_close(&rig);
}

/* The first item of the test that follows. */
static kin_deltas *kept;

static void keep(queue_rig *rig, kin_queue_item *item) {
  rig->during = NULL;
  assert_int_equal(kin_deltas_copy(&kept, &item->deltas, NULL), 0);
}

/* OQ-01, OQ-03, DF-13: a failed item is gone unless the consumer puts it back:
 * at the end, all its deltas as they were; not if there are newer ones. */
static void test_queue_delta_add_if_not_present(void **state) {
  (void)state;
  static const struct {
    const char *meanwhile;
    const char *popped;
  } cases[] = {
      {"", "A:bar@1 | A:foo@1 U:foo@2 X:foo@-"},
      {"A:foo@4", "A:bar@1 | A:foo@4"},
      {"A:new@4", "A:bar@1 | A:new@4 | A:foo@1 U:foo@2 X:foo@-"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, RIG_DELTA, NULL);
    queue_rig_do(&rig, "A:foo@1 U:foo@2 X:foo@- A:bar@1");
    rig.during = keep;
    rig.result = KIN_EINDEX;
    assert_int_equal(queue_rig_try(&rig, "P"), KIN_EINDEX);
    rig.result = 0;
    queue_rig_do(&rig, cases[i].meanwhile);
    assert_int_equal(kin_queue_add_if_not_present(rig.queue, kept), 0);
    kin_deltas_free(kept);
    queue_rig_drain(&rig, cases[i].popped);
    queue_rig_close(&rig);
  }
}

static void update_foo(queue_rig *rig, kin_queue_item *item) {
  (void)item;
  rig->during = NULL;
  queue_rig_do(rig, "U:foo@9");
}

/* OQ-02: the same by an answer, with or without an error of its own. */
static void test_queue_delta_requeue(void **state) {
  (void)state;
  static const struct {
    void (*during)(queue_rig *rig, kin_queue_item *item);
    int result;
    const char *popped;
  } cases[] = {
      {NULL, 0, "A:bar@1 | A:foo@1 U:foo@2"},
      {NULL, KIN_EHTTP, "A:bar@1 | A:foo@1 U:foo@2"},
      {update_foo, 0, "A:bar@1 | U:foo@9"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, RIG_DELTA, NULL);
    queue_rig_do(&rig, "A:foo@1 U:foo@2 A:bar@1");
    queue_rig_requeue(&rig, cases[i].result, cases[i].during);
    queue_rig_drain(&rig, cases[i].popped);
    queue_rig_close(&rig);
  }
}

/* Putting back needs no memory, also when the table has changed meanwhile. */
static void add_many(queue_rig *rig, kin_queue_item *item) {
  (void)item;
  rig->during = NULL;
  for (unsigned i = 0; i < 3000; i++) {
    char text[16];
    snprintf(text, sizeof text, "A:n%u@1", i);
    queue_rig_do(rig, text);
  }
  rig->memory.fail_at = rig->memory.calls + 1;
}

static void test_queue_delta_requeue_cannot_fail(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, NULL);
  queue_rig_do(&rig, "A:foo@1 U:foo@2");
  rig.requeue = true;
  rig.during = add_many;
  queue_rig_do(&rig, "P");
  rig.requeue = false;
  rig.memory.fail_at = 0;
  assert_int_equal(kin_queue_count(rig.queue), 3001);
  for (unsigned i = 0; i < 3000; i++) {
    char text[16];
    snprintf(text, sizeof text, "A:n%u@1", i);
    queue_rig_expect(&rig, text);
  }
  queue_rig_drain(&rig, "A:foo@1 U:foo@2");
  queue_rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue_delta_is_in_order),
      cmocka_unit_test(test_queue_delta_collects_deltas),
      cmocka_unit_test(test_queue_delta_transformer),
      cmocka_unit_test(test_queue_delta_transforms_once),
      cmocka_unit_test(test_queue_delta_transform_fails),
      cmocka_unit_test(test_queue_delta_without_known_objects),
      cmocka_unit_test(test_queue_delta_with_known_objects),
      cmocka_unit_test(test_queue_delta_knows_a_store),
      cmocka_unit_test(test_queue_delta_deletes_what_is_only_queued),
      cmocka_unit_test(test_queue_delta_merges_deletions),
      cmocka_unit_test(test_queue_delta_nobody_jumps_the_queue),
      cmocka_unit_test(test_queue_delta_key_of),
      cmocka_unit_test(test_queue_delta_has_synced),
      cmocka_unit_test(test_queue_delta_latches_before_processing),
      cmocka_unit_test(test_queue_delta_pop_when_closed),
      cmocka_unit_test(test_queue_delta_get_is_a_copy),
      cmocka_unit_test(test_queue_delta_add_if_not_present),
      cmocka_unit_test(test_queue_delta_requeue),
      cmocka_unit_test(test_queue_delta_requeue_cannot_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
