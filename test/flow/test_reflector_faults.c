/* SPDX-License-Identifier: MIT */

/* The public reflector and stores that fail, and resyncs. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/reflector_rig.h"

static void assert_version(const reflector_rig *f, const char *version) {
  assert_string_equal(kin_reflector_last_sync_version(f->reflector), version);
}

static void pass(reflector_rig *f, uint64_t ms) {
  script_advance(&f->vh.script, ms);
}

/* --- Stores that fail ----------------------------------------------------- */

/* RW-10: what a store refuses is logged and lost until the next list; the
 * version moves on. */
static void test_refused_changes(void **state) {
  (void)state;
  static const int results[] = {KIN_EKEY, KIN_EINDEX, 1};
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    reflector_rig_open_watching(&f);
    f.result = results[i];
    hand_source_event(&f.source, KIN_WATCH_ADDED, "b@10");
    hand_source_event(&f.source, KIN_WATCH_MODIFIED, "b@11");
    hand_source_event(&f.source, KIN_WATCH_DELETED, "b@12");
    hand_source_bookmark(&f.source, "13");
    assert_version(&f, "13");
    reflector_rig_expect(&f, "+b@10 V10 ~b@11 V11 -b@12 V12 B13 V13");
    assert_int_equal(f.errors, 0);
    assert_non_null(strstr(f.vh.text, "E pods.v1: add b: "));
    assert_non_null(strstr(f.vh.text, "E pods.v1: update b: "));
    assert_non_null(strstr(f.vh.text, "E pods.v1: delete b: "));
    assert_non_null(strstr(f.vh.text, "E pods.v1: bookmark 13: "));
    hand_source_expect(&f.source, "");
    reflector_rig_finish(&f);
  }
}

/* A store without memory loses nothing: the watch is given up and resumed at
 * the change that it did not take. */
static void test_changes_without_memory(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@10");
  f.result = KIN_ENOMEM;
  f.failures = 1;
  kin_object *object = hand_source_object("c@11");
  assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_ADDED, object),
                   KIN_ENOMEM);
  assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_ADDED, object),
                   KIN_ECLOSED);
  kin_object_unref(object);
  assert_version(&f, "10");
  pass(&f, 3000);
  assert_int_equal(f.errors, 1);
  assert_int_equal(f.last_code, KIN_ENOMEM);
  hand_source_expect(&f.source, "x W:10");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "c@11");
  reflector_rig_expect(&f, "+b@10 V10 +c@11 +c@11 V11");
  f.result = KIN_ENOMEM;
  f.failures = 1;
  assert_int_equal(kin_feed_bookmark(f.source.feed, kin__cstr("12"), false),
                   KIN_ENOMEM);
  pass(&f, 5000);
  hand_source_expect(&f.source, "x W:11");
  reflector_rig_finish(&f);
}

/* A list is put in again until there is memory for it; nothing is asked for
 * meanwhile. */
static void test_list_without_memory(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.result = KIN_ENOMEM;
  f.failures = 3;
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_list(&f.source, "a@1 b@2", "5");
  hand_source_expect(&f.source, "L:0/500");
  reflector_rig_expect(&f, "R(a@1,b@2)#5");
  assert_int_equal(f.last_code, KIN_ENOMEM);
  assert_int_equal(f.last_attempt, 1);
  assert_string_equal(f.last_message, "pods.v1: storing a list: out of memory");
  assert_int_equal(f.last_retry_ms, 100);
  assert_version(&f, "");
  assert_false(kin_reflector_has_synced(f.reflector));
  pass(&f, 99);
  reflector_rig_expect(&f, "");
  pass(&f, 201);
  reflector_rig_expect(&f, "R(a@1,b@2)#5 R(a@1,b@2)#5 R(a@1,b@2)#5");
  assert_int_equal(f.errors, 3);
  assert_version(&f, "5");
  hand_source_expect(&f.source, "W:5");
  reflector_rig_finish(&f);
}

/* client-go TestReflectorListAndWatchWithErrors; RF-08, RL-07, RL-08: a list
 * that the store refuses is told, and made again after a wait; the version
 * stays. */
static void test_refused_list(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  hand_source_fail(&f.source, 410, "Expired", true);
  pass(&f, 2000);
  hand_source_expect(&f.source, "L:5>");
  f.result = KIN_EKEY;
  f.failures = 1;
  hand_source_list(&f.source, "bad@6", "7");
  reflector_rig_expect(&f, "R(bad@6)#7");
  assert_int_equal(f.errors, 2);
  assert_int_equal(f.last_code, KIN_EKEY);
  assert_true(f.last_retry_ms >= 800);
  assert_version(&f, "5");
  hand_source_expect(&f.source, "");
  pass(&f, f.last_retry_ms);
  hand_source_expect(&f.source, "L:5>");
  f.result = 1; /* counts as KIN_EINVAL */
  f.failures = 1;
  hand_source_list(&f.source, "good@8", "9");
  assert_int_equal(f.last_code, KIN_EINVAL);
  pass(&f, f.last_retry_ms);
  hand_source_list(&f.source, "good@8", "9");
  reflector_rig_expect(&f, "R(good@8)#9 R(good@8)#9");
  hand_source_expect(&f.source, "L:5> W:9");
  assert_version(&f, "9");
  reflector_rig_finish(&f);
}

/* The program may answer any failure by stopping: also that of a list which the
 * store has no memory for. The store keeps what it has. */
static void test_stop_answer(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.result = KIN_ENOMEM;
  f.answer = KIN_STOP;
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_list(&f.source, "a@1 b@2", "5");
  pass(&f, 60000);
  reflector_rig_expect(&f, "R(a@1,b@2)#5");
  hand_source_expect(&f.source, "L:0/500");
  assert_int_equal(f.errors, 1);
  assert_string_equal(f.states, "syncing idle ");
  assert_int_equal(kin_reflector_start(f.reflector), KIN_EALREADY);
  reflector_rig_finish(&f);
}

/* Or by another wait than the one that is due. */
static void test_retry_after_answer(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.answer = KIN_RETRY_AFTER;
  f.answer_after_ms = 30000;
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_fail(&f.source, 500, "InternalError", false);
  hand_source_expect(&f.source, "L:0/500");
  assert_true(f.last_retry_ms < 2000);
  pass(&f, 29999);
  hand_source_expect(&f.source, "");
  pass(&f, 1);
  hand_source_expect(&f.source, "L:0/500");
  reflector_rig_finish(&f);
}

/* --- Resync --------------------------------------------------------------- */

static int should_calls;
static bool should_answer;

static bool on_should_resync(kin_reflector *reflector, void *data) {
  reflector_rig *f = data;
  assert_ptr_equal(reflector, f->reflector);
  should_calls++;
  if (f->during != NULL) {
    f->during(f);
  }
  return should_answer;
}

/* client-go TestReflectorResyncChan; RF-11: due once a period after a list,
 * armed anew each time; asked for first, if the program wants to be asked. A
 * relist begins the period again. */
static void test_resync_period(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.options.resync_ms = 1000;
  f.options.should_resync = on_should_resync;
  should_calls = 0;
  should_answer = true;
  assert_int_equal(reflector_rig_open(&f), 0);
  pass(&f, 5000); /* still listing */
  hand_source_list(&f.source, "a@1", "5");
  pass(&f, 999);
  reflector_rig_expect(&f, "R(a@1)#5");
  pass(&f, 2001);
  reflector_rig_expect(&f, "S S S");
  assert_int_equal(should_calls, 3);
  should_answer = false;
  pass(&f, 1000);
  assert_int_equal(should_calls, 4);
  should_answer = true;
  hand_source_fail(&f.source, 410, "Expired", true); /* half a period later */
  pass(&f, 5000);
  reflector_rig_expect(&f, ""); /* none while it waits and lists */
  hand_source_list(&f.source, "a@1", "6");
  pass(&f, 999);
  reflector_rig_expect(&f, "R(a@1)#6");
  hand_source_fail(&f.source, 500, "InternalError", true);
  pass(&f, 1); /* a watch that is resumed is in the same round */
  reflector_rig_expect(&f, "S");
  reflector_rig_finish(&f);
}

/* client-go TestReflectorResync; RF-11, RF-12, TD-03: a resync that fails is
 * told and comes again. Different on purpose: it says nothing about the
 * position, so the watch goes on and no list is made. */
static void test_resync_fails(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.options.resync_ms = 1000;
  reflector_rig_open_watching(&f);
  f.result = KIN_EINDEX;
  f.failures = 1;
  pass(&f, 1000);
  reflector_rig_expect(&f, "S");
  assert_int_equal(f.errors, 1);
  assert_int_equal(f.last_code, KIN_EINDEX);
  assert_int_equal(f.last_attempt, 1);
  assert_string_equal(f.last_message,
                      "pods.v1: resyncing the store: index function failed");
  assert_int_equal(f.last_retry_ms, 1000);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  pass(&f, 1000);
  reflector_rig_expect(&f, "+b@6 V6 S");
  assert_int_equal(f.errors, 1);
  hand_source_expect(&f.source, "");
  f.result = 7;
  f.answer = KIN_STOP;
  pass(&f, 5000);
  reflector_rig_expect(&f, "S");
  hand_source_expect(&f.source, "x");
  assert_int_equal(f.last_code, KIN_EINVAL);
  reflector_rig_finish(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused_changes),
      cmocka_unit_test(test_changes_without_memory),
      cmocka_unit_test(test_list_without_memory),
      cmocka_unit_test(test_refused_list),
      cmocka_unit_test(test_stop_answer),
      cmocka_unit_test(test_retry_after_answer),
      cmocka_unit_test(test_resync_period),
      cmocka_unit_test(test_resync_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
