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
#include "cache/queue.h"
#include "support/objects.h"
#include "support/queue_rig.h"

/* See support/queue_rig.h for the notation. */

static void open_fifo(queue_rig *rig) {
  queue_rig_open_simple(rig, RIG_FIFO, NULL);
}

/* client-go TestFIFO_basic; FF-01, NR-07: two producers' objects come out in
 * the order of each. */
static void test_queue_fifo_is_in_order(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_expect_order(&rig, "ns/b");
}

static bool is_queued(const queue_rig *rig, const char *key) {
  kin_deltas *deltas;
  int err = kin_queue_get(rig->queue, kin__cstr(key), &deltas);
  assert_true(err == 0 || err == KIN_ENOENT);
  assert_int_equal(deltas != NULL, err == 0);
  kin_deltas_free(deltas);
  return err == 0;
}

/* client-go TestFIFO_addUpdate; FF-01, OQ-05: an update is an add: one object a
 * key, the newest, as the lists show. */
static void test_queue_fifo_keeps_the_newest(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "A:foo@10 U:foo@15");
  queue_rig_expect_list(&rig, "U:foo@15");
  assert_true(is_queued(&rig, "foo"));
  queue_rig_drain(&rig, "U:foo@15");
  assert_false(is_queued(&rig, "foo"));
  queue_rig_close(&rig);
}

/* client-go TestFIFO_addReplace; FF-03: a list discards what was queued. */
static void test_queue_fifo_replace_replaces(void **state) {
  (void)state;
  static const struct {
    const char *done;
    const char *popped;
  } cases[] = {
      {"A:foo@10 R:foo@15#15", "R:foo@15"},
      {"A:foo@10 A:bar@1 R:#2", ""},
      {"A:foo@10 A:bar@1 R:baz@3,bar@4", "R:baz@3 | R:bar@4"},
      {"A:foo@1 D:foo@1 R:bar@2,foo@2", "R:bar@2 | R:foo@2"},
      {"R:foo@1,bar@1 R:bar@2", "R:bar@2"},
      {"R:a@1,b@1,a@2", "R:a@2 | R:b@1"},
      {"R:a@1 U:a@2 A:b@3", "U:a@2 | A:b@3"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    open_fifo(&rig);
    queue_rig_do(&rig, cases[i].done);
    queue_rig_drain(&rig, cases[i].popped);
    assert_false(is_queued(&rig, "foo"));
    queue_rig_close(&rig);
  }
}

/* client-go TestFIFO_detectLineJumpers; FF-01. */
static void test_queue_fifo_nobody_jumps_the_queue(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "A:foo@10 A:bar@1 A:foo@11 A:foo@13 A:zab@30");
  queue_rig_expect(&rig, "A:foo@13");
  queue_rig_do(&rig, "A:foo@14"); /* does not get its place back */
  queue_rig_drain(&rig, "A:bar@1 | A:zab@30 | A:foo@14");
  queue_rig_close(&rig);
}

typedef struct sync_case {
  const char *done;
  bool is_synced;
} sync_case;

static void check_synced(const sync_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    queue_rig rig;
    open_fifo(&rig);
    queue_rig_expect_synced(&rig, cases[i].done, cases[i].is_synced);
  }
}

/* client-go TestFIFO_HasSynced; FF-04. */
static void test_queue_fifo_has_synced(void **state) {
  (void)state;
  static const sync_case cases[] = {
      {"", false},
      {"A:a@1", true},
      {"R:#0", true},
      {"R:a@1,b@2", false},
      {"R:a@1,b@2 P", false},
      {"R:a@1,b@2 P P", true},
      {"U:a@1", true},
      {"D:a@1", true},
      {"I:a@1", true},
      {"S", false},
      {"B:1", false},
      {"A:a@1 R:a@2,b@2", true},
      {"R:a@1,a@2 P", true}, /* keys that differ count */
      {"R:a@1,b@1 U:a@2 P P", true},
      {"R:a@1,b@1 A:c@1 P P", true},
  };
  check_synced(cases, sizeof cases / sizeof cases[0]);
}

/* FF-02, FF-04: an initial key that is deleted still takes its turn, in which
 * nothing is shown. client-go's Pop would wait in there until something else
 * came; here such keys go when no other is left. */
static void test_queue_fifo_deleted_keys_count_as_popped(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "R:a@1,b@1,c@1 D:a@1 D:c@1");
  assert_int_equal(kin_queue_count(rig.queue), 1);
  assert_false(kin_queue_has_synced(rig.queue));
  queue_rig_expect(&rig, "R:b@1");
  assert_true(rig.was_initial);
  assert_true(kin_queue_has_synced(rig.queue));
  assert_int_equal(rig.told, 1);
  queue_rig_expect_nothing(&rig, KIN_EAGAIN);
  queue_rig_close(&rig);
  open_fifo(&rig);
  queue_rig_do(&rig, "R:a@1 D:a@1 A:b@1");
  assert_true(kin_queue_has_synced(rig.queue));
  queue_rig_expect(&rig, "A:b@1");
  assert_false(rig.was_initial);
  queue_rig_close(&rig);
  open_fifo(&rig);
  queue_rig_do(&rig, "R:a@1 A:b@1 D:a@1");
  assert_false(kin_queue_has_synced(rig.queue));
  queue_rig_expect(&rig, "A:b@1");
  assert_false(rig.was_initial);
  assert_true(kin_queue_has_synced(rig.queue));
  queue_rig_close(&rig);
}

/* FF-02: names that come and go leave nothing behind, and count for a producer
 * while others are in front of them. */
static void test_queue_fifo_names_that_come_and_go(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  rig.queue->pending_limit = 100;
  for (int has_first = 0; has_first < 2; has_first++) {
    size_t blocks = rig.memory.live_blocks;
    if (has_first) {
      queue_rig_do(&rig, "A:first@1");
    }
    for (int i = 1; i < 1000; i++) {
      char done[64];
      snprintf(done, sizeof done, "A:n%d@1 D:n%d@1", i, i);
      queue_rig_do(&rig, done);
      assert_int_equal(kin_queue_is_full(rig.queue), has_first && i >= 99);
    }
    assert_int_equal(kin_queue_count(rig.queue), has_first);
    if (has_first) {
      queue_rig_expect(&rig, "A:first@1");
    }
    assert_false(kin_queue_is_full(rig.queue));
    /* The tables stay as large as the queue has been. */
    assert_true(has_first || rig.memory.live_blocks <= blocks + 8);
  }
  queue_rig_close(&rig);
}

/* FF-04: a deleted key that no list had brought is not counted as one that had
 * been waited for. */
static void test_queue_fifo_deleted_key_of_no_list(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  for (int round = 0; round < 2; round++) {
    queue_rig_do(&rig, "A:a@1 D:a@1 A:b@1 P");
    assert_false(rig.was_initial);
    assert_true(kin_queue_has_synced(rig.queue));
  }
  queue_rig_close(&rig);
}

/* FF-03, FF-04: a second list discards initial keys, which are not waited for.
 * client-go counts on, and syncs only when other things have been popped. */
static void test_queue_fifo_counts_the_last_list(void **state) {
  (void)state;
  static const sync_case cases[] = {
      {"R:a@1,b@1,c@1 R:a@2", false},
      {"R:a@1,b@1,c@1 R:a@2 P", true},
      {"R:a@1,b@1,c@1 P R:a@2,b@2 P", false},
      {"R:a@1,b@1,c@1 R:", true},
  };
  check_synced(cases, sizeof cases / sizeof cases[0]);
}

/* FF-04: synced is told when the last initial object has been processed, not
 * while it is; is_initial is true for it. */
static void test_queue_fifo_syncs_after_processing(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "R:a@1,b@1 A:c@1 P");
  assert_true(rig.was_initial);
  queue_rig_do(&rig, "P");
  assert_true(rig.was_initial);
  assert_false(rig.was_synced);
  assert_true(kin_queue_has_synced(rig.queue));
  queue_rig_do(&rig, "P");
  assert_false(rig.was_initial);
  assert_int_equal(rig.told, 1);
  queue_rig_close(&rig);
}

/* client-go TestFIFO_PopShouldUnblockWhenClosed; FF-05, OQ-04, DF-12: what is
 * queued, also later, is popped before a closed queue says so. */
static void test_queue_fifo_pop_when_closed(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_expect_nothing(&rig, KIN_EAGAIN);
  queue_rig_do(&rig, "A:a@1 A:b@1 D:b@1");
  assert_false(kin_queue_is_closed(rig.queue));
  kin_queue_close(rig.queue);
  kin_queue_close(rig.queue);
  assert_true(kin_queue_is_closed(rig.queue));
  queue_rig_do(&rig, "A:c@1");
  queue_rig_drain(&rig, "A:a@1 | A:c@1"); /* asserts KIN_ECLOSED */
  queue_rig_do(&rig, "R:d@1");
  queue_rig_drain(&rig, "R:d@1");
  queue_rig_close(&rig);
}

/* client-go TestFIFOCache; FF-01, FF-02, FF-03, OQ-05: what every store
 * does. */
static void test_queue_fifo_is_a_store(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "A:foo@1");
  queue_rig_expect_list(&rig, "A:foo@1");
  queue_rig_do(&rig, "U:foo@2");
  queue_rig_expect_list(&rig, "U:foo@2");
  queue_rig_do(&rig, "D:foo@2");
  assert_false(is_queued(&rig, "foo"));
  queue_rig_expect_list(&rig, "");
  queue_rig_do(&rig, "A:a@1 A:c@2 A:e@3");
  queue_rig_expect_list(&rig, "A:a@1 A:c@2 A:e@3");
  queue_rig_do(&rig, "R:foo@4,bar@5#0");
  queue_rig_expect_list(&rig, "R:foo@4 R:bar@5");
  kin_deltas *deltas;
  assert_int_equal(kin_queue_get(rig.queue, KIN__LIT("bar"), &deltas), 0);
  queue_rig_do(&rig, "D:bar@6"); /* a copy stays as it is */
  char text[64];
  queue_rig_describe(text, sizeof text, deltas);
  assert_string_equal(text, "R:bar@5");
  kin_deltas_free(deltas);
  queue_rig_close(&rig);
}

/* FF-02: a deleted key keeps its place, takes no second one, and is not shown
 * unless it is added again. */
static void test_queue_fifo_delete(void **state) {
  (void)state;
  static const struct {
    const char *done;
    const char *listed;
    const char *popped;
  } cases[] = {
      {"D:foo@1", "", ""},
      {"X:foo@-", "", ""},
      {"A:foo@1 D:foo@2", "", ""},
      {"A:foo@1 X:foo@-", "", ""},
      {"A:foo@1 X:foo@2", "", ""},
      {"A:foo@1 D:foo@2 D:foo@3", "", ""},
      {"A:a@1 A:b@1 A:c@1 D:b@2", "A:a@1 A:c@1", "A:a@1 | A:c@1"},
      {"A:a@1 A:b@1 D:a@2 A:a@3", "A:a@3 A:b@1", "A:a@3 | A:b@1"},
      {"A:a@1 A:b@1 D:a@2 D:b@2 U:b@3", "U:b@3", "U:b@3"},
      {"A:a@1 A:b@1 D:a@2 I:a@3", "A:a@3 A:b@1", "A:a@3 | A:b@1"},
      /* client-go would show the second a before c: it has two places. */
      {"A:a@1 A:b@1 D:a@2 A:a@3 P A:c@4 A:a@5", "A:b@1 A:c@4 A:a@5",
       "A:b@1 | A:c@4 | A:a@5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    open_fifo(&rig);
    queue_rig_do(&rig, cases[i].done);
    queue_rig_expect_list(&rig, cases[i].listed);
    queue_rig_drain(&rig, cases[i].popped);
    queue_rig_close(&rig);
  }
}

/* FF-02: adding and deleting in turns does not make the queue longer, as it
 * does client-go's; the object's memory is given back at once. */
static void test_queue_fifo_is_bounded_by_keys(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "A:b@1");
  size_t blocks = 0;
  for (unsigned i = 0; i < 5000; i++) {
    queue_rig_do(&rig, "A:a@1 D:a@1");
    assert_int_equal(rig.objects.live_blocks, 2); /* b and its kin__memory */
    if (i == 0) {
      blocks = rig.memory.live_blocks;
    }
    assert_int_equal(rig.memory.live_blocks, blocks);
  }
  queue_rig_drain(&rig, "A:b@1");
  queue_rig_close(&rig);
}

/* Should there be no memory for the key alone, the object stays until its turn,
 * unseen. */
static void test_queue_fifo_delete_cannot_fail(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "A:a@1 A:b@1");
  rig.memory.fail_at = rig.memory.calls + 1;
  queue_rig_do(&rig, "D:a@1");
  assert_true(fail_alloc_has_failed(&rig.memory));
  rig.memory.fail_at = 0;
  assert_false(is_queued(&rig, "a"));
  queue_rig_drain(&rig, "A:b@1");
  assert_int_equal(rig.objects.live_blocks, 0);
  queue_rig_close(&rig);
}

/* FF-05: there is never anything to queue again. */
static void test_queue_fifo_resync_does_nothing(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "A:a@1 A:b@1 D:a@1 S");
  queue_rig_drain(&rig, "A:b@1");
  queue_rig_do(&rig, "S");
  queue_rig_drain(&rig, "");
  queue_rig_close(&rig);
}

/* OQ-01. */
static void test_queue_fifo_add_if_not_present(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "A:foo@2 A:bar@1 I:foo@1 I:baz@3");
  queue_rig_drain(&rig, "A:foo@2 | A:bar@1 | A:baz@3");
  kin_object *object = object_keyed(NULL, "foo", 1);
  kin_delta item = {
      .type = KIN_DELTA_ADDED, .key = kin_object_key(object), .object = object};
  for (int i = 0; i < 2; i++) { /* the second time it is queued */
    assert_int_equal(
        kin_queue_add_if_not_present(rig.queue, &(kin_deltas){&item, 1}), 0);
    assert_int_equal(kin_queue_count(rig.queue), 1);
  }
  kin_object_unref(object);
  queue_rig_drain(&rig, "A:foo@1");
  queue_rig_close(&rig);
}

static void add_newer(queue_rig *rig, kin_queue_item *item) {
  (void)item;
  rig->during = NULL;
  queue_rig_do(rig, "A:foo@9 A:new@1");
}

static void add_and_delete(queue_rig *rig, kin_queue_item *item) {
  (void)item;
  rig->during = NULL;
  queue_rig_do(rig, "A:new@1 A:foo@9 D:foo@9");
}

static void add_and_delete_other(queue_rig *rig, kin_queue_item *item) {
  (void)item;
  rig->during = NULL;
  queue_rig_do(rig, "A:other@1 D:other@1");
  assert_false(kin_queue_has_synced(rig->queue));
}

/* FF-04: a key that came and went meanwhile is not the item that is waited
 * for. */
static void test_queue_fifo_syncs_after_the_last_item(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "R:a@1");
  rig.during = add_and_delete_other;
  queue_rig_expect(&rig, "R:a@1");
  assert_true(kin_queue_has_synced(rig.queue));
  assert_int_equal(rig.told, 1);
  queue_rig_close(&rig);
}

/* OQ-02: an item that is put back goes to the end, as it was, unless there is a
 * newer one. The error it comes with is the pop's. */
static void test_queue_fifo_requeue(void **state) {
  (void)state;
  static const struct {
    void (*during)(queue_rig *rig, kin_queue_item *item);
    int result;
    const char *popped;
  } cases[] = {
      {NULL, 0, "A:bar@1 | A:foo@1"},
      {NULL, KIN_EHTTP, "A:bar@1 | A:foo@1"},
      {add_newer, 0, "A:bar@1 | A:foo@9 | A:new@1"},
      {add_and_delete, 0, "A:bar@1 | A:new@1 | A:foo@1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    open_fifo(&rig);
    queue_rig_do(&rig, "A:foo@1 A:bar@1");
    queue_rig_requeue(&rig, cases[i].result, cases[i].during);
    queue_rig_drain(&rig, cases[i].popped);
    queue_rig_close(&rig);
  }
}

/* DF-13: without that, an item whose processing fails is gone. */
static void test_queue_fifo_failed_items_are_gone(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "R:foo@1");
  rig.result = KIN_EHTTP;
  assert_int_equal(queue_rig_try(&rig, "P"), KIN_EHTTP);
  assert_string_equal(rig.log, "R:foo@1");
  assert_true(kin_queue_has_synced(rig.queue));
  queue_rig_expect_nothing(&rig, KIN_EAGAIN);
  queue_rig_close(&rig);
}

/* It makes no batches: the same consumer works with all kinds. */
static void test_queue_fifo_pops_batches_of_one(void **state) {
  (void)state;
  queue_rig rig;
  open_fifo(&rig);
  queue_rig_do(&rig, "A:a@1 A:b@1");
  queue_rig_drain_batches(&rig, "A:a@1 | A:b@1");
  queue_rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue_fifo_is_in_order),
      cmocka_unit_test(test_queue_fifo_keeps_the_newest),
      cmocka_unit_test(test_queue_fifo_replace_replaces),
      cmocka_unit_test(test_queue_fifo_nobody_jumps_the_queue),
      cmocka_unit_test(test_queue_fifo_has_synced),
      cmocka_unit_test(test_queue_fifo_deleted_keys_count_as_popped),
      cmocka_unit_test(test_queue_fifo_names_that_come_and_go),
      cmocka_unit_test(test_queue_fifo_deleted_key_of_no_list),
      cmocka_unit_test(test_queue_fifo_counts_the_last_list),
      cmocka_unit_test(test_queue_fifo_syncs_after_processing),
      cmocka_unit_test(test_queue_fifo_pop_when_closed),
      cmocka_unit_test(test_queue_fifo_is_a_store),
      cmocka_unit_test(test_queue_fifo_delete),
      cmocka_unit_test(test_queue_fifo_is_bounded_by_keys),
      cmocka_unit_test(test_queue_fifo_delete_cannot_fail),
      cmocka_unit_test(test_queue_fifo_resync_does_nothing),
      cmocka_unit_test(test_queue_fifo_add_if_not_present),
      cmocka_unit_test(test_queue_fifo_syncs_after_the_last_item),
      cmocka_unit_test(test_queue_fifo_requeue),
      cmocka_unit_test(test_queue_fifo_failed_items_are_gone),
      cmocka_unit_test(test_queue_fifo_pops_batches_of_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
