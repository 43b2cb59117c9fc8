/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "cache/queue.h"
#include "support/queue_rig.h"

/* Lists and resyncs of a delta queue. See support/queue_rig.h for the notation.
 * `known` NULL: no known objects. */

typedef struct replace_case {
  const char *known;
  const char *done;
  const char *popped;
} replace_case;

static void check(const replace_case *cases, size_t count, bool emit_replaced) {
  for (size_t i = 0; i < count; i++) {
    queue_rig rig;
    queue_rig_init(&rig);
    if (cases[i].known != NULL) {
      queue_rig_know(&rig, cases[i].known);
    }
    rig.options.emit_replaced = emit_replaced;
    queue_rig_open(&rig, RIG_DELTA);
    queue_rig_do(&rig, cases[i].done);
    queue_rig_drain(&rig, cases[i].popped);
    queue_rig_close(&rig);
  }
}
#define CHECK(cases, emit_replaced)                                            \
  check(cases, sizeof(cases) / sizeof((cases)[0]), emit_replaced)

/* client-go TestDeltaFIFO_replaceWithDeleteDeltaIn; DF-05: a listed object is
 * queued also after a deletion. */
static void test_queue_delta_replace_after_a_deletion(void **state) {
  (void)state;
  static const replace_case cases[] = {
      {"foo@1", "D:foo@1 R:foo@2", "D:foo@1 S:foo@2"},
      {NULL, "A:foo@0 D:foo@1 R:foo@2", "A:foo@0 D:foo@1 S:foo@2"},
  };
  CHECK(cases, false);
}

/* client-go TestDeltaFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue; DF-04,
 * DF-06: once each, with the newest object, whether or not there could be known
 * objects. */
static void test_queue_delta_replace_deletes_what_is_queued(void **state) {
  (void)state;
  static const struct {
    const char *done;
    const char *popped;
    bool emit_replaced;
  } cases[] = {
      {"A:foo@2 R:#0", "A:foo@2 X:foo@2", false},
      {"A:foo@2 R:foo@2#0 R:#0", "A:foo@2 R:foo@2 X:foo@2", true},
      {"A:foo@2 D:foo@2 R:#0", "A:foo@2 D:foo@2", false},
      {"A:foo@2 R:foo@2#0 R:foo@2#0 R:#0", "A:foo@2 S:foo@2 S:foo@2 X:foo@2",
       false},
      {"A:foo@2 R:#0 R:#1", "A:foo@2 X:foo@2", false},
      {"A:foo@2 D:foo@2 A:foo@3 R:#0", "A:foo@2 D:foo@2 A:foo@3 X:foo@3",
       false},
      /* the object of a tombstone goes on, or that nobody has it */
      {"A:foo@2 X:foo@4 R:#0", "A:foo@2 X:foo@4", false},
      {"A:foo@2 X:foo@- R:#0", "A:foo@2 X:foo@-", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const replace_case both[] = {
        {"", cases[i].done, cases[i].popped},
        {NULL, cases[i].done, cases[i].popped},
    };
    CHECK(both, cases[i].emit_replaced);
  }
}

/* client-go TestDeltaFIFO_addReplace; DF-14: all happened, in that order. */
static void test_queue_delta_add_then_replace(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, NULL);
  queue_rig_do(&rig, "A:foo@10 R:foo@15#0");
  queue_rig_expect_list(&rig, "S:foo@15");
  queue_rig_drain(&rig, "A:foo@10 S:foo@15");
  queue_rig_close(&rig);
}

/* client-go TestDeltaFIFO_ReplaceMakesDeletions; DF-04, DF-06, DF-14: what is
 * not listed is deleted, after what is listed. */
static void test_queue_delta_replace_makes_deletions(void **state) {
  (void)state;
  static const replace_case cases[] = {
      {"foo@5 bar@6 baz@7", "D:baz@10 R:foo@5#0",
       "D:baz@10 | S:foo@5 | X:bar@6"},
      {"foo@5 bar@6 baz@7", "A:baz@10 R:foo@5#0",
       "A:baz@10 X:baz@10 | S:foo@5 | X:bar@6"},
      {"foo@5 bar@6 baz@7", "D:bar@6 A:bar@100 R:foo@5#0",
       "D:bar@6 A:bar@100 X:bar@100 | S:foo@5 | X:baz@7"},
      {"foo@5 bar@6 baz@7", "R:bar@100,foo@5#0 R:foo@5#0",
       "S:bar@100 X:bar@100 | S:foo@5 S:foo@5 | X:baz@7"},
      {NULL, "A:baz@10 R:foo@5#0", "A:baz@10 X:baz@10 | S:foo@5"},
  };
  CHECK(cases, false);
}

/* client-go TestDeltaFIFO_ReplaceMakesDeletionsReplaced; DF-05. */
static void test_queue_delta_replace_makes_deletions_replaced(void **state) {
  (void)state;
  static const replace_case cases[] = {
      {"foo@5 bar@6 baz@7", "D:baz@10 R:foo@6#0",
       "D:baz@10 | R:foo@6 | X:bar@6"},
  };
  CHECK(cases, true);
}

/* client-go TestDeltaFIFO_ReplaceDeltaType; DF-05. */
static void test_queue_delta_replace_type(void **state) {
  (void)state;
  static const replace_case cases[] = {{"foo@5", "R:foo@5#0", "R:foo@5"}};
  CHECK(cases, true);
  static const replace_case by_default[] = {{"foo@5", "R:foo@5#0", "S:foo@5"}};
  CHECK(by_default, false);
}

/* DF-06: what is said to be known but cannot be had is deleted without an
 * object; and an object that is listed twice is queued twice. */
static void test_queue_delta_replace_corners(void **state) {
  (void)state;
  static const replace_case cases[] = {
      {"gone@- odd@! bar@6", "R:foo@5#0",
       "S:foo@5 | X:gone@- | X:odd@- | X:bar@6"},
      {NULL, "R:a@1,b@1,a@2#0", "S:a@1 S:a@2 | S:b@1"},
      {"bar@6 bar@6", "R:#0", "X:bar@6"},
  };
  CHECK(cases, false);
}

/* DF-06: a change that comes while a list is taken in steps is newer than the
 * list. So its object is not deleted, although the list lacks the key. */
static void test_queue_delta_change_during_a_list(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, NULL);
  queue_rig_do(&rig, "A:old@1");
  kin__delta_begin_list(rig.queue);
  queue_rig_do(&rig, "A:new@2");
  int left = 1;
  while (left == 1) {
    left = kin__delta_delete_unlisted(rig.queue, 1);
  }
  assert_int_equal(left, 0);
  rig.queue->as.keyed.has_list = false; /* as its owner does */
  queue_rig_drain(&rig, "A:old@1 X:old@1 | A:new@2");
  queue_rig_close(&rig);
}

/* client-go TestDeltaFIFO_Resync; DF-09. */
static void test_queue_delta_resync(void **state) {
  (void)state;
  static const replace_case cases[] = {
      {"foo@5", "S", "S:foo@5"},
      {"foo@5 bar@6", "S", "S:foo@5 | S:bar@6"},
      {"foo@5", "S S", "S:foo@5"},
      {"", "S", ""},
      {NULL, "A:foo@1 S", "A:foo@1"},
      {"foo@5 gone@- odd@! bar@6", "S", "S:foo@5 | S:bar@6"},
  };
  CHECK(cases, false);
  CHECK(cases, true);
}

/* DF-09: in steps, each key once, as many as were asked for. */
static void test_queue_delta_resync_in_steps(void **state) {
  (void)state;
  for (size_t step = 1; step <= 4; step++) {
    queue_rig rig;
    queue_rig_init(&rig);
    queue_rig_know(&rig, "a@1 b@1 c@1");
    queue_rig_open(&rig, RIG_DELTA);
    uintptr_t place = 0;
    size_t count = 0;
    int left = 1;
    while (left == 1) {
      left = kin__delta_resync_step(rig.queue, &place, UINTPTR_MAX, step);
      count = count + step < 3 ? count + step : 3;
      assert_int_equal(kin_queue_count(rig.queue), count);
    }
    assert_int_equal(left, 0);
    queue_rig_drain(&rig, "S:a@1 | S:b@1 | S:c@1");
    queue_rig_close(&rig);
  }
}

/* client-go TestDeltaFIFO_ResyncNonExisting; DF-09: a resync does not bring
 * back what is about to go. */
static void test_queue_delta_resync_of_the_deleted(void **state) {
  (void)state;
  static const replace_case cases[] = {{"foo@5", "D:foo@10 S", "D:foo@10"}};
  CHECK(cases, false);
}

/* client-go TestDeltaFIFO_UpdateResyncRace; DF-09: nor an older state. */
static void test_queue_delta_resync_after_an_update(void **state) {
  (void)state;
  static const replace_case cases[] = {{"foo@5", "U:foo@6 S", "U:foo@6"}};
  CHECK(cases, false);
}

/* client-go TestDeltaFIFO_HasSyncedCorrectOnDeletion; DF-07, DF-08: deletions
 * of the first list are part of it. */
static void test_queue_delta_deletions_are_initial(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, "foo@5 bar@6 baz@7");
  queue_rig_do(&rig, "R:foo@5#0");
  static const char *const items[] = {"S:foo@5", "X:bar@6", "X:baz@7"};
  for (size_t i = 0; i < 3; i++) {
    assert_false(kin_queue_has_synced(rig.queue));
    queue_rig_expect(&rig, items[i]);
    assert_true(rig.was_initial);
  }
  assert_true(kin_queue_has_synced(rig.queue));
  queue_rig_close(&rig);
}

/* DF-07: an error part-way leaves what came before it queued, and no list has
 * been seen; doing it again does all of it. */
static void test_queue_delta_replace_fails_part_way(void **state) {
  (void)state;
  static const struct {
    const char *list;
    int err;
    const char *queued;
  } cases[] = {
      {"R:a@1,b@1,NULL,c@1", KIN_EINVAL, "S:a@1 S:b@1"},
      {"R:a@1,ns/b/c@1,c@1", KIN_EKEY, "S:a@1"},
      {"R:NULL,a@1", KIN_EINVAL, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, RIG_DELTA, "known@1");
    assert_int_equal(queue_rig_try(&rig, cases[i].list), cases[i].err);
    queue_rig_expect_list(&rig, cases[i].queued);
    queue_rig_do(&rig, "R:a@2");
    assert_false(kin_queue_has_synced(rig.queue));
    size_t keys = kin_queue_count(rig.queue);
    while (queue_rig_try(&rig, "P") == 0) {
      keys--;
      assert_int_equal(kin_queue_has_synced(rig.queue), keys == 0);
    }
    queue_rig_close(&rig);
  }
}

/* DF-06: a known key that is malformed cannot be deleted: an error of whoever
 * told it. */
static void test_queue_delta_replace_finds_a_bad_key(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, "a/b/c@-");
  assert_int_equal(queue_rig_try(&rig, "R:foo@1"), KIN_EKEY);
  queue_rig_expect_list(&rig, "S:foo@1");
  queue_rig_do(&rig, "S"); /* leaves it out */
  queue_rig_drain(&rig, "S:foo@1");
  queue_rig_close(&rig);
}

/* What is known under a key that is not its own is not known under it. */
static void test_queue_delta_known_under_another_key(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, "bar@1");
  strcpy(rig.known[0].key, "foo");
  queue_rig_do(&rig, "D:foo@2 S");
  queue_rig_drain(&rig, "");
  queue_rig_do(&rig, "R:");
  queue_rig_drain(&rig, "X:foo@-");
  queue_rig_close(&rig);
}

/* The number of a list, which marks what the list mentions, goes round. */
static void test_queue_delta_many_lists(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, NULL);
  rig.queue->as.keyed.lists = UINT32_MAX - 3;
  for (unsigned i = 0; i < 8; i++) {
    queue_rig_do(&rig, "A:a@1 A:b@1 R:a@2");
    queue_rig_drain(&rig, "A:a@1 S:a@2 | A:b@1 X:b@1");
  }
  assert_true(rig.queue->as.keyed.lists < 8);
  queue_rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue_delta_replace_after_a_deletion),
      cmocka_unit_test(test_queue_delta_replace_deletes_what_is_queued),
      cmocka_unit_test(test_queue_delta_add_then_replace),
      cmocka_unit_test(test_queue_delta_replace_makes_deletions),
      cmocka_unit_test(test_queue_delta_replace_makes_deletions_replaced),
      cmocka_unit_test(test_queue_delta_replace_type),
      cmocka_unit_test(test_queue_delta_replace_corners),
      cmocka_unit_test(test_queue_delta_change_during_a_list),
      cmocka_unit_test(test_queue_delta_resync),
      cmocka_unit_test(test_queue_delta_resync_in_steps),
      cmocka_unit_test(test_queue_delta_resync_of_the_deleted),
      cmocka_unit_test(test_queue_delta_resync_after_an_update),
      cmocka_unit_test(test_queue_delta_deletions_are_initial),
      cmocka_unit_test(test_queue_delta_replace_fails_part_way),
      cmocka_unit_test(test_queue_delta_replace_finds_a_bad_key),
      cmocka_unit_test(test_queue_delta_known_under_another_key),
      cmocka_unit_test(test_queue_delta_many_lists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
