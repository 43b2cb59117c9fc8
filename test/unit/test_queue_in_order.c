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

/* Queues that are in order, without batches. See support/queue_rig.h for the
 * notation. With known objects, be it "", lists and resyncs are taken apart;
 * NULL: they are not. */

typedef struct order_case {
  const char *known;
  const char *done;
  const char *popped;
} order_case;

static void check(const order_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    queue_rig rig;
    queue_rig_open_in_order(&rig, cases[i].known, 0);
    queue_rig_do(&rig, cases[i].done);
    queue_rig_drain(&rig, cases[i].popped);
    queue_rig_close(&rig);
  }
}
#define CHECK(cases) check(cases, sizeof(cases) / sizeof((cases)[0]))

/* client-go TestRealFIFO_basic; QF-01, NR-07. */
static void test_queue_in_order_is_in_order(void **state) {
  (void)state;
  enum { COUNT = 500 };
  for (unsigned atomic = 0; atomic < 2; atomic++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, RIG_IN_ORDER, atomic ? NULL : "");
    for (unsigned i = 0; i < COUNT; i++) {
      char text[64];
      snprintf(text, sizeof text, "A:a%u@%u A:ns/b@%u", i, i + 1, i + 1);
      queue_rig_do(&rig, text);
    }
    assert_int_equal(kin_queue_count(rig.queue), 2 * COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
      char text[64];
      snprintf(text, sizeof text, "A:a%u@%u", i, i + 1);
      queue_rig_expect(&rig, text);
      snprintf(text, sizeof text, "A:ns/b@%u", i + 1);
      queue_rig_expect(&rig, text);
    }
    queue_rig_expect_nothing(&rig, KIN_EAGAIN);
    queue_rig_close(&rig);
  }
}

/* client-go TestRealFIFO_replaceWithDeleteDeltaIn; QF-06. */
static void test_queue_in_order_replace_after_a_deletion(void **state) {
  (void)state;
  static const order_case cases[] = {
      {"foo@1", "D:foo@1 R:foo@2", "D:foo@1 | R:foo@2"}};
  CHECK(cases);
}

/* client-go TestRealFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue; QF-06,
 * QF-13: one deletion, with the newest object; none after a deletion. A
 * bookmark is ignored where lists are taken apart. */
static void test_queue_in_order_replace_deletes_what_is_queued(void **state) {
  (void)state;
  static const order_case cases[] = {
      {"", "A:foo@2 R:#0", "A:foo@2 | X:foo@2"},
      {"", "A:foo@2 D:foo@2 R:#0", "A:foo@2 | D:foo@2"},
      {"", "A:foo@2 R:foo@2#0 R:foo@2#0 R:#0",
       "A:foo@2 | R:foo@2 | R:foo@2 | X:foo@2"},
      {"", "A:foo@2 R:#0 R:#1", "A:foo@2 | X:foo@2"},
      {"", "A:foo@2 D:foo@2 A:foo@3 R:#0",
       "A:foo@2 | D:foo@2 | A:foo@3 | X:foo@3"},
      {"", "B:123 R:#0 R:#1", ""},
      {"", "A:b@1 A:a@1 U:b@2 R:c@1", /* in order of their first changes */
       "A:b@1 | A:a@1 | U:b@2 | X:b@2 | X:a@1 | R:c@1"},
  };
  CHECK(cases);
}

/* client-go TestRealFIFO_addUpdate; QF-01. */
static void test_queue_in_order_keeps_every_change(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, "");
  queue_rig_do(&rig, "A:foo@10 U:foo@12 D:foo@15");
  queue_rig_expect_list(&rig, "A:foo@10 U:foo@12 D:foo@15");
  queue_rig_drain(&rig, "A:foo@10 | U:foo@12 | D:foo@15");
  queue_rig_close(&rig);
}

/* client-go TestRealFIFO_transformer; QF-04, QF-14: each object is transformed
 * once, when it is put in. */
static void test_queue_in_order_transformer(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_init(&rig);
  queue_rig_know(&rig, "");
  queue_rig_transform(&rig);
  queue_rig_open(&rig, RIG_IN_ORDER);
  queue_rig_do(&rig, "A:foo@10 A:bar@11 U:foo@12 D:foo@15 R: A:bar@16 R:");
  queue_rig_drain(&rig, "A:foo@10' | A:bar@11' | U:foo@12' | D:foo@15' | "
                        "X:bar@11' | A:bar@16' | X:bar@16'");
  queue_rig_know(&rig, "foo@1");
  queue_rig_do(&rig, "S X:foo@2 R:foo@3");
  queue_rig_drain(&rig, "S:foo@1 | X:foo@2 | R:foo@3'");
  queue_rig_close(&rig);

  queue_rig_init(&rig);
  queue_rig_transform(&rig);
  queue_rig_open(&rig, RIG_IN_ORDER);
  queue_rig_do(&rig, "R:foo@3,bar@4#5");
  queue_rig_drain(&rig, "R*(foo@3',bar@4')#5");
  queue_rig_close(&rig);
}

/* client-go TestRealFIFO_enqueueingNoLister; QF-02: every deletion counts. */
static void test_queue_in_order_without_known_objects(void **state) {
  (void)state;
  static const order_case cases[] = {
      {"", "A:foo@10 U:bar@15 A:qux@17 D:qux@18 D:baz@20 X:zab@-",
       "A:foo@10 | U:bar@15 | A:qux@17 | D:qux@18 | D:baz@20 | X:zab@-"},
      {NULL, "A:foo@10 U:bar@15 A:qux@17 D:qux@18 D:baz@20 D:baz@21",
       "A:foo@10 | U:bar@15 | A:qux@17 | D:qux@18 | D:baz@20 | D:baz@21"},
  };
  CHECK(cases);
}

/* client-go TestRealFIFO_enqueueingWithLister; QF-02: nobody is asked. */
static void test_queue_in_order_with_known_objects(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, "foo@5 bar@6 baz@7");
  queue_rig_do(&rig, "A:foo@10 U:bar@15 D:baz@20 D:zab@21");
  assert_int_equal(rig.lookups, 0);
  queue_rig_drain(&rig, "A:foo@10 | U:bar@15 | D:baz@20 | D:zab@21");
  queue_rig_close(&rig);
}

/* client-go TestRealFIFO_addReplace; QF-17. */
static void test_queue_in_order_add_then_replace(void **state) {
  (void)state;
  static const order_case cases[] = {
      {"", "A:foo@10 R:foo@15#0", "A:foo@10 | R:foo@15"},
      {"", "R:foo@10#0 R:foo@15,bar@1#0", "R:foo@10 | R:foo@15 | R:bar@1"},
  };
  CHECK(cases);
}

/* client-go TestRealFIFO_ResyncNonExisting; QF-12. */
static void test_queue_in_order_resync_of_the_deleted(void **state) {
  (void)state;
  static const order_case cases[] = {{"foo@5", "D:foo@10 S", "D:foo@10"}};
  CHECK(cases);
}

/* client-go TestRealFIFO_Resync; QF-12. */
static void test_queue_in_order_resync(void **state) {
  (void)state;
  static const order_case cases[] = {
      {"foo@5", "S", "S:foo@5"},
      {"foo@5 bar@6", "S S", "S:foo@5 | S:bar@6"},
      {"foo@5 gone@- odd@! bar@6", "A:bar@7 S", "A:bar@7 | S:foo@5"},
      {"", "A:foo@1 S", "A:foo@1"},
  };
  CHECK(cases);
}

/* client-go TestRealFIFO_DeleteExistingNonPropagated; QF-02. */
static void test_queue_in_order_deletes_what_is_only_queued(void **state) {
  (void)state;
  static const order_case cases[] = {
      {"", "A:foo@5 D:foo@6", "A:foo@5 | D:foo@6"}};
  CHECK(cases);
}

/* client-go TestRealFIFO_ReplaceMakesDeletions; QF-06: deletions, of what is
 * queued and then of what is known, come before what is listed. */
static void test_queue_in_order_replace_makes_deletions(void **state) {
  (void)state;
  static const order_case cases[] = {
      {"foo@5 bar@6 baz@7", "D:baz@10 R:foo@5#0",
       "D:baz@10 | X:bar@6 | R:foo@5"},
      {"foo@5 bar@6 baz@7", "A:baz@10 R:foo@5#0",
       "A:baz@10 | X:baz@10 | X:bar@6 | R:foo@5"},
      {"foo@5 bar@6 baz@7", "D:bar@6 A:bar@100 R:foo@5#0",
       "D:bar@6 | A:bar@100 | X:bar@100 | X:baz@7 | R:foo@5"},
      {"foo@5 bar@6 baz@7", "R:bar@100,foo@5#0 R:foo@5#0",
       "X:baz@7 | R:bar@100 | R:foo@5 | X:bar@100 | R:foo@5"},
      {"", "A:baz@10 R:foo@5#0", "A:baz@10 | X:baz@10 | R:foo@5"},
      {"gone@- odd@!", "R:foo@5", "X:gone@- | X:odd@- | R:foo@5"},
  };
  CHECK(cases);
}

/* client-go TestRealFIFO_ReplaceMakesDeletionsReplaced; QF-06. */
static void test_queue_in_order_replace_with_a_newer_one(void **state) {
  (void)state;
  static const order_case cases[] = {{"foo@5 bar@6 baz@7", "D:baz@10 R:foo@6#0",
                                      "D:baz@10 | X:bar@6 | R:foo@6"}};
  CHECK(cases);
}

/* client-go TestRealFIFO_UpdateResyncRace; QF-12. */
static void test_queue_in_order_resync_after_an_update(void **state) {
  (void)state;
  static const order_case cases[] = {{"foo@5", "U:foo@6 S", "U:foo@6"}};
  CHECK(cases);
}

/* client-go TestRealFIFO_HasSyncedCorrectOnDeletion; QF-07, QF-08: deletions
 * are initial, too, and the last one counts once it is processed. */
static void test_queue_in_order_deletions_are_initial(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, "foo@5 bar@6 baz@7");
  queue_rig_do(&rig, "R:foo@5#0 U:foo@6");
  static const char *const items[] = {"X:bar@6", "X:baz@7", "R:foo@5"};
  for (size_t i = 0; i < 3; i++) {
    assert_false(kin_queue_has_synced(rig.queue));
    queue_rig_expect(&rig, items[i]);
    assert_true(rig.was_initial);
    assert_false(rig.was_synced);
  }
  assert_true(kin_queue_has_synced(rig.queue));
  queue_rig_expect(&rig, "U:foo@6");
  assert_false(rig.was_initial);
  assert_int_equal(rig.told, 1);
  queue_rig_close(&rig);
}

/* client-go TestRealFIFO_detectLineJumpers; QF-01. */
static void test_queue_in_order_nobody_jumps_the_queue(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, "");
  queue_rig_do(&rig, "A:foo@10 A:bar@1 A:foo@11 A:foo@13 A:zab@30");
  queue_rig_expect(&rig, "A:foo@10");
  queue_rig_do(&rig, "A:foo@14");
  queue_rig_drain(&rig, "A:bar@1 | A:foo@11 | A:foo@13 | A:zab@30 | A:foo@14");
  queue_rig_close(&rig);
}

/* client-go TestRealFIFO_KeyOf; QF-15: what goes by a key finds each. */
static void test_queue_in_order_key_of(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, NULL);
  queue_rig_do(&rig, "A:A@1 X:B@- U:C@1 X:ns/D@1 D:C@2");
  static const struct {
    const char *key;
    const char *found;
  } cases[] = {{"A", "A:A@1"},
               {"B", "X:B@-"},
               {"C", "U:C@1 D:C@2"},
               {"ns/D", "X:ns/D@1"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    kin_deltas *deltas;
    kin_str key = kin__cstr(cases[i].key);
    assert_int_equal(kin_queue_get(rig.queue, key, &deltas), 0);
    char text[64];
    queue_rig_describe(text, sizeof text, deltas);
    assert_string_equal(text, cases[i].found);
    kin_str newest;
    assert_int_equal(kin_deltas_key(deltas, &newest), 0);
    assert_true(kin__str_equal(newest, key));
    assert_int_equal(kin_delta_key(kin_deltas_newest(deltas), &newest), 0);
    assert_true(kin__str_equal(newest, key));
    kin_deltas_free(deltas);
  }
  queue_rig_close(&rig);
}

/* client-go TestRealFIFO_HasSynced; QF-07: everything that is queued at the
 * first list is initial, also what is listed twice and bookmarks before it. A
 * list that is one change is one. */
static void test_queue_in_order_has_synced(void **state) {
  (void)state;
  static const struct {
    const char *known;
    const char *done;
    bool is_synced;
  } cases[] = {
      {"", "", false},
      {"", "A:a@1", true},
      {"", "U:a@1", true},
      {"", "D:a@1", true},
      {"", "I:a@1", true},
      {"", "R:#0", true},
      {"", "R:a@1,b@2", false},
      {"", "R:a@1,b@2 P", false},
      {"", "R:a@1,b@2 P P", true},
      {"", "R:a@1,a@2 P", false},
      {"", "R:a@1,a@2 P P", true},
      {"c@1", "R:a@1", false},
      {"c@1", "R:a@1 P P", true},
      {"c@1", "S R: P P", true},
      {NULL, "", false},
      {NULL, "B:1", false},
      {NULL, "S", false},
      {NULL, "S P", false}, /* is no change */
      {NULL, "R:", false},
      {NULL, "R: P", true},
      {NULL, "R:a@1,b@2 P", true},
      {NULL, "B:1 B:2 R:a@1,b@2 P P", false},
      {NULL, "B:1 B:2 R:a@1,b@2 P P P", true},
      {NULL, "R:a@1 R:a@2 P", true},
      {NULL, "A:a@1 R:a@2", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    queue_rig_open_in_order(&rig, cases[i].known, 0);
    queue_rig_expect_synced(&rig, cases[i].done, cases[i].is_synced);
  }
}

/* client-go TestRealFIFO_PopShouldUnblockWhenClosed; QF-11, QF-18, DF-12: by
 * itself and in batches. */
static void test_queue_in_order_pop_when_closed(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, "foo@5");
  queue_rig_expect_nothing(&rig, KIN_EAGAIN);
  queue_rig_do(&rig, "A:a@1 C");
  assert_true(kin_queue_is_closed(rig.queue));
  queue_rig_do(&rig, "A:b@1");
  queue_rig_drain(&rig, "A:a@1 | A:b@1"); /* asserts KIN_ECLOSED */
  queue_rig_close(&rig);
}

/* client-go TestRealFIFO_ReplaceAtomic; QF-05, QF-13, QF-17, NR-05. */
static void test_queue_in_order_replace_atomic(void **state) {
  (void)state;
  static const order_case cases[] = {
      {NULL, "R:#123", "R*()#123"},
      {NULL, "A:foo@2 R:#123", "A:foo@2 | R*()#123"},
      {NULL, "A:foo@2 R:foo@2#10 R:foo@2#20 R:#56",
       "A:foo@2 | R*(foo@2)#10 | R*(foo@2)#20 | R*()#56"},
      {NULL, "B:123 R:#1234", "B:123 | R*()#1234"},
      {NULL, "R:a@1,a@2,b@1#7 B:8 S", "R*(a@1,a@2,b@1)#7 | B:8 | S*"},
      {NULL, "B: R:", "B: | R*()#"},
  };
  CHECK(cases);
}

/* client-go TestRealFIFO_ReplaceAtomicPop; QF-05. */
static void test_queue_in_order_replace_atomic_pop(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, NULL);
  queue_rig_do(&rig, "A:foo@10 R:foo@15#20 C");
  queue_rig_expect(&rig, "A:foo@10");
  queue_rig_expect_list(&rig, "R*(foo@15)#20");
  queue_rig_drain(&rig, "R*(foo@15)#20");
  queue_rig_close(&rig);
}

/* client-go TestRealFIFO_ResyncAtomic; QF-12, NR-05: one marker, also with
 * changes pending, and each time. */
static void test_queue_in_order_resync_atomic(void **state) {
  (void)state;
  static const order_case cases[] = {
      {NULL, "S", "S*"},
      {NULL, "A:foo@2 S", "A:foo@2 | S*"},
      {NULL, "A:foo@2 S S A:foo@3", "A:foo@2 | S* | S* | A:foo@3"},
  };
  CHECK(cases);
}

/* A resync of everything that is queued does for others, too, once the queue is
 * full. */
static void test_queue_in_order_full_resync(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_init(&rig);
  rig.options.pending_limit = 3;
  queue_rig_open(&rig, RIG_IN_ORDER);
  queue_rig_do(&rig, "A:a@1 S S S S");
  assert_int_equal(kin_queue_count(rig.queue), 3);
  queue_rig_drain(&rig, "A:a@1 | S* | S*");
  queue_rig_do(&rig, "A:a@1 A:a@2 A:a@3 S S A:a@4");
  queue_rig_drain(&rig, "A:a@1 | A:a@2 | A:a@3 | S* | A:a@4");
  queue_rig_close(&rig);
}

/* QF-13: bookmarks are ignored unless they are asked for. */
static void test_queue_in_order_bookmarks_are_optional(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, NULL);
  queue_rig_do(&rig, "B:1 A:a@1 B:2");
  queue_rig_drain(&rig, "A:a@1");
  queue_rig_close(&rig);
}

/* QF-16: two batches by default, another number, or never. */
static void test_queue_in_order_is_full(void **state) {
  (void)state;
  static const struct {
    uint32_t batch_limit;
    uint32_t pending_limit;
    unsigned full_at; /* 0: never */
  } cases[] = {
      {0, 0, 2000}, {3, 0, 6}, {3, 4, 4}, {0, 1, 1}, {0, UINT32_MAX, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    queue_rig_init(&rig);
    rig.options.batch_limit = cases[i].batch_limit;
    rig.options.pending_limit = cases[i].pending_limit;
    queue_rig_open(&rig, RIG_IN_ORDER);
    for (unsigned k = 0; k < 2100; k++) {
      bool is_full = cases[i].full_at > 0 && k >= cases[i].full_at;
      assert_int_equal(kin_queue_is_full(rig.queue), is_full);
      queue_rig_do(&rig, "A:a@1"); /* nothing is refused */
    }
    while (kin_queue_count(rig.queue) > cases[i].full_at) {
      queue_rig_do(&rig, "P");
    }
    assert_int_equal(kin_queue_is_full(rig.queue), cases[i].full_at > 0);
    if (cases[i].full_at > 0) {
      queue_rig_do(&rig, "P");
      assert_false(kin_queue_is_full(rig.queue));
    }
    queue_rig_close(&rig);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue_in_order_is_in_order),
      cmocka_unit_test(test_queue_in_order_replace_after_a_deletion),
      cmocka_unit_test(test_queue_in_order_replace_deletes_what_is_queued),
      cmocka_unit_test(test_queue_in_order_keeps_every_change),
      cmocka_unit_test(test_queue_in_order_transformer),
      cmocka_unit_test(test_queue_in_order_without_known_objects),
      cmocka_unit_test(test_queue_in_order_with_known_objects),
      cmocka_unit_test(test_queue_in_order_add_then_replace),
      cmocka_unit_test(test_queue_in_order_resync_of_the_deleted),
      cmocka_unit_test(test_queue_in_order_resync),
      cmocka_unit_test(test_queue_in_order_deletes_what_is_only_queued),
      cmocka_unit_test(test_queue_in_order_replace_makes_deletions),
      cmocka_unit_test(test_queue_in_order_replace_with_a_newer_one),
      cmocka_unit_test(test_queue_in_order_resync_after_an_update),
      cmocka_unit_test(test_queue_in_order_deletions_are_initial),
      cmocka_unit_test(test_queue_in_order_nobody_jumps_the_queue),
      cmocka_unit_test(test_queue_in_order_key_of),
      cmocka_unit_test(test_queue_in_order_has_synced),
      cmocka_unit_test(test_queue_in_order_pop_when_closed),
      cmocka_unit_test(test_queue_in_order_replace_atomic),
      cmocka_unit_test(test_queue_in_order_replace_atomic_pop),
      cmocka_unit_test(test_queue_in_order_resync_atomic),
      cmocka_unit_test(test_queue_in_order_full_resync),
      cmocka_unit_test(test_queue_in_order_bookmarks_are_optional),
      cmocka_unit_test(test_queue_in_order_is_full),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
