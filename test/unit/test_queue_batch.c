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
#include "support/queue_rig.h"

/* Batches of queues that are in order, and putting back. See
 * support/queue_rig.h for the notation: what came as a batch is in brackets. */

typedef struct batch_case {
  const char *known; /* NULL: lists are one change */
  const char *done;
  uint32_t limit; /* 0: the default */
  const char *popped;
} batch_case;

static void check(const batch_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    queue_rig rig;
    queue_rig_open_in_order(&rig, cases[i].known, cases[i].limit);
    queue_rig_do(&rig, cases[i].done);
    queue_rig_drain_batches(&rig, cases[i].popped);
    queue_rig_close(&rig);
  }
}
#define CHECK(cases) check(cases, sizeof(cases) / sizeof((cases)[0]))

/* client-go TestRealFIFO_PopMultipleDeltaInBatch; QF-09, QF-11: a batch ends
 * where the initial content does, where a key comes again, and at its limit. */
static void test_queue_batch_ends(void **state) {
  (void)state;
  static const batch_case cases[] = {
      {"", "R:1@5,2@5,3@5#123", 0, "[R:1@5 R:2@5 R:3@5]"},
      {"", "R:1@5,2@5 U:3@5 U:4@5", 2, "[R:1@5 R:2@5] | [U:3@5 U:4@5]"},
      {"", "R:1@5,2@5 U:3@5 U:4@5", 0, "[R:1@5 R:2@5] | [U:3@5 U:4@5]"},
      {"", "R:1@5 U:1@5 U:1@5", 0, "R:1@5 | U:1@5 | U:1@5"},
      {"", "R:1@5,2@5 U:2@5 U:3@5", 0, "[R:1@5 R:2@5] | [U:2@5 U:3@5]"},
      {"", "R:1@5,2@5,3@5 U:2@5", 0, "[R:1@5 R:2@5 R:3@5] | U:2@5"},
      {"", "R:1@5,2@5,3@5", 2, "[R:1@5 R:2@5] | R:3@5"},
      {"", "R: U:1@5 U:2@5 U:3@5", 2, "[U:1@5 U:2@5] | U:3@5"},
      {"", "R:1@5,2@5,3@5 U:4@5", 2, "[R:1@5 R:2@5] | R:3@5 | U:4@5"},
      {"", "A:1@5 U:2@5 D:3@5 X:4@- R:1@6,5@1 S", 0,
       "[A:1@5 U:2@5 D:3@5 X:4@-] | [X:2@5 R:1@6 R:5@1]"},
      {"", "R:1@1,1@2", 0, "R:1@1 | R:1@2"},
      {"", "A:1@1 A:2@1", 1, "A:1@1 | A:2@1"},
      {"1@5 2@5", "S A:3@1", 0, "[S:1@5 S:2@5 A:3@1]"},
  };
  CHECK(cases);
}

/* QF-09: what concerns everything comes alone, in its place. */
static void test_queue_batch_has_keys_only(void **state) {
  (void)state;
  static const batch_case cases[] = {
      {NULL, "R:1@5,2@5#9", 0, "R*(1@5,2@5)#9"},
      {NULL, "B:1 B:2 S", 0, "B:1 | B:2 | S*"},
      {NULL, "A:1@5 A:2@5 B:6 A:3@5 A:4@5", 0,
       "[A:1@5 A:2@5] | B:6 | [A:3@5 A:4@5]"},
      {NULL, "A:1@5 S A:2@5 A:3@5 R:#9 A:4@5", 0,
       "A:1@5 | S* | [A:2@5 A:3@5] | R*()#9 | A:4@5"},
      {NULL, "B:1 R:1@5#2 A:2@5 A:3@5", 0, "B:1 | R*(1@5)#2 | [A:2@5 A:3@5]"},
  };
  CHECK(cases);
}

/* QF-09: is_initial is true for a batch of the first list only, and the list
 * has been seen when its last batch is done (QF-08). */
static void test_queue_batch_is_initial_or_not(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_init(&rig);
  queue_rig_know(&rig, "");
  rig.options.batch_limit = 2;
  queue_rig_open(&rig, RIG_IN_ORDER);
  queue_rig_do(&rig, "R:1@5,2@5,3@5,4@5 U:5@5 U:6@5 T");
  assert_true(rig.was_initial);
  queue_rig_do(&rig, "T");
  assert_true(rig.was_initial);
  assert_false(rig.was_synced);
  assert_true(kin_queue_has_synced(rig.queue));
  assert_int_equal(rig.told, 1);
  queue_rig_do(&rig, "T");
  assert_false(rig.was_initial);
  queue_rig_close(&rig);
}

/* client-go TestRealFIFO_PopBrokenItemsInBatch; QF-10: there, an object whose
 * key cannot be computed comes out as the last of its batch. Here it does not
 * get in, and disturbs no batch. */
static void test_queue_batch_broken_items_do_not_get_in(void **state) {
  (void)state;
  static const struct {
    const char *put[5];
    const char *popped;
  } cases[] = {
      {{"A:ns/foo/3@5"}, ""},
      {{"A:foo1@5", "A:foo2@5", "A:ns/foo/3@5"}, "[A:foo1@5 A:foo2@5]"},
      {{"A:foo1@5", "A:foo2@5", "A:ns/foo/3@5", "A:ns/foo/4@5"},
       "[A:foo1@5 A:foo2@5]"},
      {{"A:ns/foo/3@5", "A:foo1@5", "A:ns/foo/4@5", "A:foo2@5"},
       "[A:foo1@5 A:foo2@5]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig rig;
    queue_rig_open_simple(&rig, RIG_IN_ORDER, "");
    for (size_t k = 0; k < 5 && cases[i].put[k] != NULL; k++) {
      bool is_broken = strstr(cases[i].put[k], "ns/") != NULL;
      assert_int_equal(queue_rig_try(&rig, cases[i].put[k]),
                       is_broken ? KIN_EKEY : 0);
    }
    queue_rig_drain_batches(&rig, cases[i].popped);
    queue_rig_close(&rig);
  }
}

/* A thousand by default. */
static void test_queue_batch_is_bounded(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, NULL);
  for (unsigned i = 0; i < 2500; i++) {
    char text[16];
    snprintf(text, sizeof text, "A:a%u@1", i % 1200);
    queue_rig_do(&rig, text);
  }
  static const size_t left[] = {1500, 500, 0};
  for (size_t i = 0; i < 3; i++) {
    queue_rig_do(&rig, "T");
    assert_int_equal(kin_queue_count(rig.queue), left[i]);
    rig.log[0] = '\0';
  }
  queue_rig_close(&rig);
}

/* A batch's table of keys starts afresh each time, also when the numbers of
 * batches begin again. */
static void test_queue_batch_numbers_go_round(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_init(&rig);
  rig.options.batch_limit = 2;
  queue_rig_open(&rig, RIG_IN_ORDER);
  for (unsigned i = 0; i < 3; i++) {
    queue_rig_do(&rig, "A:a@1 A:b@1");
    queue_rig_drain_batches(&rig, "[A:a@1 A:b@1]");
    assert_int_equal(rig.queue->as.in_order.batch, 1);
    rig.queue->as.in_order.batch = UINT32_MAX;
  }
  queue_rig_close(&rig);
}

static void add_more(queue_rig *rig, kin_queue_item *item) {
  (void)item;
  rig->during = NULL;
  queue_rig_expect_list(rig, "A:c@1");
  queue_rig_do(rig, "A:b@9 D:a@9");
  queue_rig_expect_list(rig, "A:c@1 A:b@9 D:a@9");
  kin_deltas *deltas;
  assert_int_equal(kin_queue_get(rig->queue, (kin_str){"b", 1}, &deltas), 0);
  char text[64];
  queue_rig_describe(text, sizeof text, deltas);
  assert_string_equal(text, "A:b@9"); /* without what is processed */
  kin_deltas_free(deltas);
}

/* OQ-02: what is put back is the first again, with nothing changed and none of
 * it initial any less; what came meanwhile is behind. */
static void test_queue_batch_requeue(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_init(&rig);
  rig.options.batch_limit = 2;
  queue_rig_open(&rig, RIG_IN_ORDER);
  queue_rig_do(&rig, "A:a@1 A:b@1 A:c@1");
  rig.requeue = true;
  rig.result = KIN_EHTTP;
  rig.during = add_more;
  assert_int_equal(queue_rig_try(&rig, "T"), KIN_EHTTP);
  assert_string_equal(rig.log, "[A:a@1 A:b@1]");
  queue_rig_expect_list(&rig, "A:a@1 A:b@1 A:c@1 A:b@9 D:a@9");
  assert_int_equal(queue_rig_try(&rig, "P"), KIN_EHTTP);
  rig.requeue = false;
  rig.result = 0;
  queue_rig_drain_batches(&rig, "[A:a@1 A:b@1] | [A:c@1 A:b@9] | D:a@9");
  queue_rig_close(&rig);
}

static void test_queue_batch_requeued_is_still_initial(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, "");
  queue_rig_do(&rig, "R:a@1,b@1 A:c@1");
  rig.requeue = true;
  queue_rig_do(&rig, "T T P");
  assert_false(kin_queue_has_synced(rig.queue));
  rig.requeue = false;
  queue_rig_drain_batches(&rig, "[R:a@1 R:b@1] | A:c@1");
  assert_true(kin_queue_has_synced(rig.queue));
  assert_int_equal(rig.told, 1);
  queue_rig_close(&rig);
}

/* DF-13, QF-08: a batch whose processing fails is gone and counted. */
static void test_queue_batch_failed_is_gone(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, "");
  queue_rig_do(&rig, "R:a@1,b@1 A:c@1");
  rig.result = KIN_EHTTP;
  assert_int_equal(queue_rig_try(&rig, "T"), KIN_EHTTP);
  rig.result = 0;
  assert_true(kin_queue_has_synced(rig.queue));
  queue_rig_drain_batches(&rig, "A:c@1");
  queue_rig_close(&rig);
}

/* OQ-01 of a queue in order: at the end, if nothing newer of the key is queued,
 * nor a list that the key is missing from. */
static void test_queue_batch_add_if_not_present(void **state) {
  (void)state;
  static const batch_case cases[] = {
      {NULL, "A:a@2 I:a@1 I:b@1", 0, "[A:a@2 A:b@1]"},
      {NULL, "B:1 I:a@0", 0, "B:1 | A:a@0"},
      {NULL, "B:1 R:a@1#2 I:a@0", 0, "B:1 | R*(a@1)#2"},
      {NULL, "R:#2 I:a@0", 0, "R*()#2"},
      {"", "D:a@2 A:c@1 I:a@1", 0, "[D:a@2 A:c@1]"},
  };
  CHECK(cases);
}

/* Keys with one and the same hash are two keys, in a batch and in a list that
 * is taken apart. */
static void test_queue_batch_keys_that_collide(void **state) {
  (void)state;
  const kin__hash_seed seed = {1, 2};
  assert_int_equal(kin__hash(&seed, KIN__LIT("k9361")),
                   kin__hash(&seed, KIN__LIT("k20366")));
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_IN_ORDER, "");
  rig.queue->seed = seed;
  queue_rig_do(&rig, "A:k9361@1 A:k20366@1 U:k9361@2 R:k20366@2");
  queue_rig_drain_batches(&rig, "[A:k9361@1 A:k20366@1] | U:k9361@2 | "
                                "[X:k9361@2 R:k20366@2]");
  queue_rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue_batch_ends),
      cmocka_unit_test(test_queue_batch_has_keys_only),
      cmocka_unit_test(test_queue_batch_is_initial_or_not),
      cmocka_unit_test(test_queue_batch_broken_items_do_not_get_in),
      cmocka_unit_test(test_queue_batch_is_bounded),
      cmocka_unit_test(test_queue_batch_numbers_go_round),
      cmocka_unit_test(test_queue_batch_requeue),
      cmocka_unit_test(test_queue_batch_requeued_is_still_initial),
      cmocka_unit_test(test_queue_batch_failed_is_gone),
      cmocka_unit_test(test_queue_batch_add_if_not_present),
      cmocka_unit_test(test_queue_batch_keys_that_collide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
