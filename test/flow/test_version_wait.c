/* SPDX-License-Identifier: MIT */

/* kin_informer_wait_version over a source that is fed by hand, so that each
 * test says what is asked of the server, and what is not. Verifications:
 * test_version_wait_verify.c; how they end with other things:
 * test_version_wait_close.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/version_rig.h"

static void test_reached_already(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "5", 0);
  version_rig_wait(&v->f, &v->t, "3", 1);
  version_rig_wait(&v->f, &v->t, "0", 0);
  version_rig_wait(&v->f, &v->t, "0005", 0);
  assert_int_equal(v->t.calls, 0);
  version_rig_run(&v->f);
  told_expect(&v->t, "ok:5/a1 ok:3/a1 ok:0/a1 ok:0005/a1");
  version_rig_pass(&v->f, 60000);
  hand_source_expect(&v->f.source, "");
  assert_int_equal(v->t.calls, 4);
}

static void test_an_event_brings_it(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "7", 1000);
  version_rig_change(&v->f, "a@6");
  told_expect(&v->t, "");
  version_rig_change(&v->f, "a@7");
  told_expect(&v->t, "ok:7/a7");
  /* It may be newer than what was waited for. */
  version_rig_wait(&v->f, &v->t, "9", 1000);
  hand_source_event(&v->f.source, KIN_WATCH_DELETED, "a@12");
  told_expect(&v->t, "ok:9/anone");
  version_rig_pass(&v->f, 60000);
  hand_source_expect(&v->f.source, "");
  assert_int_equal(v->t.calls, 2);
}

static void test_a_bookmark_brings_it(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "9", 0);
  version_rig_wait(&v->f, &v->t, "11", 0);
  hand_source_bookmark(&v->f.source, "10");
  told_expect(&v->t, "ok:9/a1");
  hand_source_bookmark(&v->f.source, "11");
  told_expect(&v->t, "ok:11/a1");
  hand_source_expect(&v->f.source, "");
}

/* Nothing is missed when many changes come at once, and they are told in the
 * order of versions. */
static void test_many_at_once(void **state) {
  version_rig *v = *state;
  char expected[65536];
  size_t length = 0;
  for (unsigned i = 0; i < 1000; i++) {
    char version[16];
    snprintf(version, sizeof version, "%u", 1000 + i * 7919 % 1000);
    version_rig_wait(&v->f, &v->t, version, 0);
    length += (size_t)snprintf(expected + length, sizeof expected - length,
                               "%sok:%u/a1999", i > 0 ? " " : "", 1000 + i);
  }
  v->f.source.script = NULL;
  for (unsigned i = 0; i < 1000; i++) {
    char object[16];
    snprintf(object, sizeof object, "a@%u", 1000 + i);
    version_rig_change(&v->f, object);
  }
  assert_int_equal(v->t.calls, 0);
  version_rig_run(&v->f);
  told_expect(&v->t, expected);
}

/* The position is where the watch is, and the store is behind it by what is in
 * the queue. */
static void test_the_queue_is_waited_for(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "1300", 0);
  v->f.source.script = NULL;
  for (unsigned i = 0; i < 300; i++) {
    char object[16];
    snprintf(object, sizeof object, "b%u@%u", i, 1000 + i);
    version_rig_change(&v->f, object);
  }
  version_rig_change(&v->f, "a@1300");
  version_rig_wait(&v->f, &v->t, "1299", 0); /* reached in the same sense */
  unsigned steps = 0;
  assert_string_equal(source_rig_status(&v->f).resource_version, "1300");
  for (; v->t.calls == 0; steps++) {
    assert_true(kin__sched_has_work(&v->f.vh.script.sched));
    (void)kin__sched_run(&v->f.vh.script.sched, 0);
  }
  assert_true(steps > 5);
  version_rig_run(&v->f);
  told_expect(&v->t, "ok:1299/a1300 ok:1300/a1300");
  assert_int_equal(kin_store_count(kin_informer_store(v->f.informer)), 301);
}

/* Nothing happens for 500 ms, so the server is asked how far there is anything,
 * and the watch is opened again so that it says where it is. */
static void test_a_quiet_resource(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "9", 10000);
  version_rig_pass(&v->f, 300);
  version_rig_wait(&v->f, &v->t, "8", 10000);
  version_rig_pass(&v->f, 199);
  hand_source_expect(&v->f.source, "");
  version_rig_pass(&v->f, 1);
  hand_source_expect(&v->f.source, "x L:/1");
  hand_source_list_end(&v->f.source, "9", "");
  hand_source_expect(&v->f.source, "W:5");
  version_rig_open_watch(&v->f);
  told_expect(&v->t, "");
  hand_source_bookmark(&v->f.source, "9");
  told_expect(&v->t, "ok:8/a1 ok:9/a1");
  version_rig_pass(&v->f, 2000);
  hand_source_expect(&v->f.source, "");
  assert_int_equal(source_rig_status(&v->f).relists, 0);
}

/* The items of the answer are not used, but NULL ends it as it ends a list. */
static void test_nonsense_in_the_answer(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "9", 10000);
  version_rig_pass(&v->f, 500);
  hand_source_expect(&v->f.source, "x L:/1");
  hand_source_item(&v->f.source, "b@9");
  assert_int_equal(kin_feed_item(v->f.source.feed, NULL), KIN_EINVAL);
  assert_false(v->f.source.is_open);
}

/* Waits that end soon ask nothing, however many there are. */
static void test_a_busy_resource_is_left_alone(void **state) {
  version_rig *v = *state;
  for (unsigned i = 0; i < 100; i++) {
    char text[16];
    snprintf(text, sizeof text, "a@%u", 100 + i);
    version_rig_wait(&v->f, &v->t, text + 2, 0);
    version_rig_pass(&v->f, 50);
    snprintf(text, sizeof text, "%u", 101 + i);
    version_rig_wait(&v->f, &v->t, text, 0); /* so that there always is one */
    snprintf(text, sizeof text, "a@%u", 100 + i);
    version_rig_change(&v->f, text);
  }
  version_rig_change(&v->f, "a@300");
  assert_int_equal(v->t.calls, 200);
  hand_source_expect(&v->f.source, "");
}

/* Answers what is asked until `ms` have passed, as a server does where nothing
 * happens and which never says so. Returns the lists of one item. */
static int pass_quiet(source_rig *f, uint64_t ms, const char *newest) {
  int lists = 0;
  for (uint64_t passed = 0; passed < ms; passed += 50) {
    version_rig_pass(f, 50);
    if (f->source.is_open && !f->source.is_watch) {
      lists++;
      hand_source_list_end(&f->source, newest, "");
    }
    if (f->source.is_open && f->source.is_watch) {
      (void)kin_feed_open(f->source.feed);
      version_rig_run(f);
    }
    f->source.log[0] = '\0';
  }
  return lists;
}

/* A version that no server has costs a list of one item now and then, and never
 * the position. */
static void test_a_version_that_does_not_exist(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "999999", 600000);
  version_rig_wait(&v->f, &v->t, "nonsense", 600001);
  version_rig_wait(&v->f, &v->t, "123456789012345678901234567890", 600002);
  int lists = pass_quiet(&v->f, 599900, "5");
  assert_in_range(lists, 10, 20);
  told_expect(&v->t, "");
  pass_quiet(&v->f, 200, "5");
  told_expect(&v->t, "timeout:999999/a1 timeout:nonsense/a1 "
                     "timeout:123456789012345678901234567890/a1");
  assert_int_equal(source_rig_status(&v->f).relists, 0);
  assert_int_equal(v->f.errors, 0);
  /* Nobody waits any more: nothing is asked but what a silent watch costs. */
  lists = pass_quiet(&v->f, 1200000, "5");
  assert_in_range(lists, 0, 5);
  /* And the next one does not have to wait for a minute. */
  version_rig_wait(&v->f, &v->t, "6", 0);
  version_rig_pass(&v->f, 500);
  hand_source_expect(&v->f.source, "x L:/1");
  hand_source_list_end(&v->f.source, "6", "");
  version_rig_open_watch(&v->f);
  hand_source_bookmark(&v->f.source, "6");
  told_expect(&v->t, "ok:6/a1");
}

/* The server does not know the version yet: it is asked after half a second,
 * again 1 s, 2 s, 4 s, ... later, and at last every minute. */
static void test_pauses(void **state) {
  (void)state;
  static const uint64_t pauses[] = {500,   1000,  2000,  4000,  8000,
                                    16000, 32000, 60000, 60000, 60000};
  source_rig f;
  told t = {0};
  source_rig_open_watching(&f);
  version_rig_wait(&f, &t, "999999", 0);
  for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
    hand_source_event(&f.source, KIN_WATCH_MODIFIED, "b@6"); /* not silent */
    version_rig_pass(&f, pauses[i] - 1);
    hand_source_expect(&f.source, "");
    version_rig_pass(&f, 1);
    hand_source_expect(&f.source, "x L:/1");
    hand_source_list_end(&f.source, "6", "");
    version_rig_open_watch(&f);
    f.source.log[0] = '\0';
  }
  told_expect(&t, "");
  source_rig_close(&f);
}

/* A hopeless wait does not keep others from asking. */
static void test_a_hopeless_one_beside_others(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "999999", 0);
  pass_quiet(&v->f, 300000, "5");
  version_rig_wait(&v->f, &v->t, "6", 0);
  pass_quiet(&v->f, 450, "6");
  told_expect(&v->t, "");
  version_rig_pass(&v->f, 50);
  hand_source_expect(&v->f.source, "x L:/1");
  hand_source_list_end(&v->f.source, "6", "");
  version_rig_open_watch(&v->f);
  hand_source_bookmark(&v->f.source, "6");
  told_expect(&v->t, "ok:6/a1");
}

static void test_time_is_up(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "7", 400);
  version_rig_wait(&v->f, &v->t, "6", 300);
  version_rig_pass(&v->f, 299);
  told_expect(&v->t, "");
  version_rig_pass(&v->f, 1);
  told_expect(&v->t, "timeout:6/a1");
  version_rig_pass(&v->f, 100);
  told_expect(&v->t, "timeout:7/a1");
  version_rig_change(&v->f, "a@7");
  version_rig_pass(&v->f, 60000);
  hand_source_expect(&v->f.source, "");
  assert_int_equal(v->t.calls, 2);
}

/* A list that is newer counts as well, once it is in the store. */
static void test_a_list_brings_it(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "7", 0);
  version_rig_wait(&v->f, &v->t, "9", 0);
  hand_source_fail(&v->f.source, 410, "Expired", true);
  told_expect(&v->t, "");
  version_rig_pass(&v->f, 5000);
  hand_source_expect(&v->f.source, "L:5>");
  hand_source_item(&v->f.source, "a@7");
  told_expect(&v->t, "");
  hand_source_list_end(&v->f.source, "8", "");
  told_expect(&v->t, "ok:7/a7");
  hand_source_expect(&v->f.source, "W:8");
  version_rig_open_watch(&v->f);
  version_rig_change(&v->f, "a@9");
  told_expect(&v->t, "ok:9/a9");
}

/* The same of a list that comes as a watch, and of what was held behind it. */
static void test_a_stream_brings_it(void **state) {
  (void)state;
  source_rig f;
  told t = {0};
  source_rig_open_with(&f, 0, true);
  hand_source_expect(&f.source, "I:>");
  version_rig_wait(&f, &t, "5", 0);
  version_rig_wait(&f, &t, "7", 0);
  version_rig_wait(&f, &t, "8", 0);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "a@5");
  told_expect(&t, "");
  f.source.script = NULL;
  assert_int_equal(kin_feed_bookmark(f.source.feed, kin__cstr("6"), true), 0);
  version_rig_change(&f, "a@7");
  version_rig_run(&f);
  told_expect(&t, "ok:5/a7 ok:7/a7");
  version_rig_change(&f, "a@8");
  version_rig_run(&f);
  told_expect(&t, "ok:8/a8");
  hand_source_expect(&f.source, "p r");
  source_rig_close(&f);
}

/* Before the start, and before the first list, it waits. */
static void test_before_the_first_list(void **state) {
  (void)state;
  source_rig f;
  told t = {0};
  source_rig_open(&f, 0);
  version_rig_wait(&f, &t, "0", 0);
  version_rig_wait(&f, &t, "4", 0);
  version_rig_wait(&f, &t, "6", 0);
  version_rig_verify(&f, &t, 0);
  version_rig_pass(&f, 20000);
  hand_source_expect(&f.source, "L:0/500");
  hand_source_list(&f.source, "a@1", "5");
  told_expect(&t, "ok:0/a1 ok:4/a1");
  hand_source_expect(&f.source, "W:5");
  version_rig_open_watch(&f);
  version_rig_pass(&f, 500);
  hand_source_expect(&f.source, "x L:/1");
  hand_source_list_end(&f.source, "5", "");
  told_expect(&t, "ok:5/a1");
  version_rig_open_watch(&f);
  version_rig_change(&f, "a@6");
  told_expect(&t, "ok:6/a6");
  source_rig_close(&f);
}

/* Versions that are no numbers, as a source of the program's own may have,
 * count when the watch comes to exactly them, also if it goes on at once. */
static void test_versions_that_are_no_numbers(void **state) {
  version_rig *v = *state;
  version_rig_wait(&v->f, &v->t, "blue", 0);
  version_rig_wait(&v->f, &v->t, "green", 0);
  version_rig_wait(&v->f, &v->t, "18446744073709551616", 0);
  v->f.source.script = NULL;
  version_rig_change(&v->f, "a@red");
  version_rig_change(&v->f, "a@green");
  version_rig_change(&v->f, "a@white");
  version_rig_run(&v->f);
  told_expect(&v->t, "ok:green/awhite");
  version_rig_wait(&v->f, &v->t, "white", 0);
  version_rig_wait(&v->f, &v->t, "7", 0);
  version_rig_run(&v->f);
  told_expect(&v->t, "ok:white/awhite");
  version_rig_change(&v->f, "a@18446744073709551617");
  version_rig_run(&v->f);
  told_expect(&v->t, "ok:18446744073709551616/a18446744073709551617 "
                     "ok:7/a18446744073709551617");
  version_rig_change(&v->f, "a@blue");
  version_rig_run(&v->f);
  told_expect(&v->t, "ok:blue/ablue");
}

/* --- Calls ---------------------------------------------------------------- */

static void test_refused_calls(void **state) {
  (void)state;
  source_rig f;
  told t = {0};
  source_rig_open_watching(&f);
  kin_informer *informer = f.informer;
  char version[65];
  memset(version, '1', 64);
  version[64] = '\0';
  assert_int_equal(
      kin_informer_wait_version(informer, "", NULL, 0, told_cb, &t),
      KIN_EINVAL);
  assert_int_equal(kin_informer_wait_version(informer, "", "", 0, told_cb, &t),
                   KIN_EINVAL);
  assert_int_equal(
      kin_informer_wait_version(informer, "", version, 0, told_cb, &t),
      KIN_EINVAL);
  assert_int_equal(kin_informer_wait_version(informer, "", "5", 0, NULL, &t),
                   KIN_EINVAL);
  assert_int_equal(
      kin_informer_wait_version(informer, "ns", "5", 0, told_cb, &t),
      KIN_ENOENT);
  assert_int_equal(kin_informer_verify(informer, "", 0, NULL, &t), KIN_EINVAL);
  assert_int_equal(kin_informer_verify(informer, "ns", 0, told_cb, &t),
                   KIN_ENOENT);
  version[63] = '\0';
  version_rig_wait(&f, &t, version, 1);
  version_rig_pass(&f, 1);
  assert_int_equal(t.calls, 1);
  assert_non_null(strstr(t.text, version));
  assert_int_equal(kin_informer_close(informer, NULL, NULL), 0);
  assert_int_equal(kin_informer_wait_version(informer, "", "5", 0, told_cb, &t),
                   KIN_ECLOSED);
  assert_int_equal(kin_informer_verify(informer, "", 0, told_cb, &t),
                   KIN_ECLOSED);
  source_rig_close(&f);
  assert_int_equal(t.calls, 1);
}

static void test_too_many(void **state) {
  version_rig *v = *state;
  kin_informer *informer = v->f.informer;
  for (int i = 0; i < 64; i++) {
    version_rig_wait(&v->f, &v->t, "odd", 0);
  }
  assert_int_equal(
      kin_informer_wait_version(informer, "", "odd", 0, told_cb, &v->t),
      KIN_EAGAIN);
  for (int i = 64; i < 4096; i++) {
    version_rig_wait(&v->f, &v->t, "7", i == 64 ? 100 : 0);
  }
  assert_int_equal(
      kin_informer_wait_version(informer, "", "7", 0, told_cb, &v->t),
      KIN_EAGAIN);
  assert_int_equal(kin_informer_verify(informer, "", 0, told_cb, &v->t),
                   KIN_EAGAIN);
  version_rig_pass(&v->f, 100);
  told_expect(&v->t, "timeout:7/a1");
  version_rig_wait(&v->f, &v->t, "7", 0);
  version_rig_change(&v->f, "a@odd");
  assert_int_equal(v->t.calls, 65);
  version_rig_wait(&v->f, &v->t, "odd", 0);
  version_rig_change(&v->f, "a@8");
  assert_int_equal(v->t.calls, 4098);
}

#define WATCHING(test)                                                         \
  cmocka_unit_test_setup_teardown(test, version_rig_setup, version_rig_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      WATCHING(test_reached_already),
      WATCHING(test_an_event_brings_it),
      WATCHING(test_a_bookmark_brings_it),
      WATCHING(test_many_at_once),
      WATCHING(test_the_queue_is_waited_for),
      WATCHING(test_a_quiet_resource),
      WATCHING(test_nonsense_in_the_answer),
      WATCHING(test_a_busy_resource_is_left_alone),
      WATCHING(test_a_version_that_does_not_exist),
      cmocka_unit_test(test_pauses),
      WATCHING(test_a_hopeless_one_beside_others),
      WATCHING(test_time_is_up),
      WATCHING(test_a_list_brings_it),
      cmocka_unit_test(test_a_stream_brings_it),
      cmocka_unit_test(test_before_the_first_list),
      WATCHING(test_versions_that_are_no_numbers),
      cmocka_unit_test(test_refused_calls),
      WATCHING(test_too_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
