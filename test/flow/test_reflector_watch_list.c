/* SPDX-License-Identifier: MIT */

/* The public reflector over lists that come as watches: what a store or queue
 * is given is the final content, at once. Proves WL-01, WL-03, WL-04, WL-06,
 * WL-07, WL-10, WL-11, RF-07, RF-13, RF-16, FG-05. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/queue_rig.h"
#include "support/reflector_rig.h"
#include "support/targets.h"

static void open_streaming(reflector_rig *f) {
  reflector_rig_init_streaming(f, 0);
  assert_int_equal(reflector_rig_open(f), 0);
  hand_source_expect(&f->source, "I:>");
}

/* "+a@1 ~a@2 -a@3": events, one after the other. */
static void feed_events(reflector_rig *f, const char *events) {
  char text[512];
  char *rest = text;
  snprintf(text, sizeof text, "%s", events);
  for (char *word = strtok_r(text, " ", &rest); word != NULL;
       word = strtok_r(NULL, " ", &rest)) {
    kin_watch_event_type type = KIN_WATCH_ADDED;
    if (word[0] != '+') {
      type = word[0] == '~' ? KIN_WATCH_MODIFIED : KIN_WATCH_DELETED;
    }
    hand_source_event(&f->source, type, word + 1);
  }
}

static void feed_end(reflector_rig *f, const char *version) {
  assert_int_equal(kin_feed_bookmark(f->source.feed, kin__cstr(version), true),
                   0);
  script_run(&f->vh.script);
}

static void pass(reflector_rig *f, uint64_t ms) {
  script_advance(&f->vh.script, ms);
}

/* --- What is passed on ---------------------------------------------------- */

/* TestWatchList, TestWatchListResourceVersion; WL-03, WL-04, RF-07, RF-13: the
 * store is left alone until the end of the initial events, then it is given
 * what they have come to, and the stream goes on as the watch. */
static void test_one_stream(void **state) {
  (void)state;
  reflector_rig f;
  open_streaming(&f);
  feed_events(&f, "+a@1 +b@2 +c@3 ~a@4 -b@5 +d@6 -d@7 -x@7 +b@8");
  hand_source_bookmark(&f.source, "8"); /* not the end */
  assert_false(kin_reflector_has_synced(f.reflector));
  assert_string_equal(kin_reflector_last_sync_version(f.reflector), "");
  reflector_rig_expect(&f, "");
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_reflector_get_status(f.reflector, &status), 0);
  assert_int_equal(status.staged, 3);
  feed_end(&f, "9");
  assert_true(kin_reflector_has_synced(f.reflector));
  assert_string_equal(kin_reflector_last_sync_version(f.reflector), "9");
  reflector_rig_expect(&f, "R(a@4,b@8,c@3)#9");
  feed_events(&f, "~a@10 -c@11");
  hand_source_bookmark(&f.source, "12");
  reflector_rig_expect(&f, "~a@10 V10 -c@11 V11 B12 V12");
  hand_source_expect(&f.source, "p r");
  assert_string_equal(f.states, "syncing live ");
  assert_int_equal(f.errors, 0);
  reflector_rig_finish(&f);
}

/* Nothing at all is a list, too; and so is what was all deleted. */
static void test_empty_streams(void **state) {
  (void)state;
  static const char *const events[] = {"", "+a@1 -a@2", "-a@2"};
  for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
    reflector_rig f;
    open_streaming(&f);
    assert_int_equal(kin_feed_open(f.source.feed), 0);
    feed_events(&f, events[i]);
    feed_end(&f, "3");
    reflector_rig_expect(&f, "R()#3");
    reflector_rig_finish(&f);
  }
}

/* What comes behind the end before reading could be stopped, is told after the
 * list, as it came. */
static void test_events_behind_the_end(void **state) {
  (void)state;
  reflector_rig f;
  open_streaming(&f);
  feed_events(&f, "+a@1 +b@2");
  kin_object *changed = hand_source_object("a@4");
  kin_object *deleted = hand_source_object("b@5");
  assert_int_equal(kin_feed_bookmark(f.source.feed, kin__cstr("3"), true), 0);
  assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_MODIFIED, changed),
                   0);
  assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_DELETED, deleted),
                   0);
  kin_object_unref(changed);
  kin_object_unref(deleted);
  reflector_rig_expect(&f, "");
  script_run(&f.vh.script);
  reflector_rig_expect(&f, "R(a@1,b@2)#3 ~a@4 V4 -b@5 V5");
  hand_source_expect(&f.source, "p r");
  reflector_rig_finish(&f);
}

/* NR-03, WL-04: each kind of queue has one Replace of the final content. */
static void test_into_queues(void **state) {
  (void)state;
  static const struct {
    rig_kind kind;
    const char *known;
    const char *popped;
  } cases[] = {
      {RIG_DELTA, "old@1", "S:a@3 | S:c@5 | X:old@1"},
      {RIG_IN_ORDER, NULL, "R*(a@3,c@5)#6"},
      {RIG_IN_ORDER, "old@1", "X:old@1 | R:a@3 | R:c@5"},
      {RIG_FIFO, NULL, "R:a@3 | R:c@5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig q;
    queue_rig_open_simple(&q, cases[i].kind, cases[i].known);
    reflector_rig f;
    reflector_rig_init_streaming(&f, 0);
    f.store = queue_target(q.queue);
    assert_int_equal(reflector_rig_open(&f), 0);
    feed_events(&f, "+a@1 +b@2 ~a@3 -b@4 +c@5");
    assert_int_equal(kin_queue_count(q.queue), 0);
    feed_end(&f, "6");
    queue_rig_drain(&q, cases[i].popped);
    reflector_rig_finish(&f);
    queue_rig_close(&q);
  }
}

/* TestReflectorRespectStoreTransformer; WL-10, RF-16: each object that is left
 * is transformed once, and so is each later event. */
static void test_transformed_once(void **state) {
  (void)state;
  queue_rig q;
  queue_rig_init(&q);
  queue_rig_transform(&q);
  queue_rig_open(&q, RIG_DELTA);
  reflector_rig f;
  reflector_rig_init_streaming(&f, 0);
  f.store = queue_target(q.queue);
  assert_int_equal(reflector_rig_open(&f), 0);
  feed_events(&f, "+a@1 +b@2 ~a@3 -b@4 +c@5");
  feed_end(&f, "6");
  queue_rig_drain(&q, "S:a@3' | S:c@5'");
  assert_int_equal(q.transforms, 2);
  feed_events(&f, "~a@7");
  queue_rig_drain(&q, "U:a@7'");
  assert_int_equal(q.transforms, 3);
  reflector_rig_finish(&f);
  queue_rig_close(&q);
}

static void resume(reflector_rig *f) {
  assert_int_equal(kin_reflector_resume(f->reflector), 0);
  script_run(&f->vh.script);
}

/* A full store gets the list when there is room, and then stops the stream. */
static void test_full_store(void **state) {
  (void)state;
  reflector_rig f;
  open_streaming(&f);
  f.is_full = true;
  feed_events(&f, "+a@1 +b@2");
  feed_end(&f, "3");
  for (int round = 0; round < 2; round++) {
    hand_source_expect(&f.source, "p");
    resume(&f);
    hand_source_expect(&f.source, "");
    f.is_full = false;
    resume(&f);
    hand_source_expect(&f.source, "r");
    f.is_full = true;
    if (round == 0) {
      feed_events(&f, "~a@4");
    }
  }
  reflector_rig_finish(&f);
}

/* --- When there are none -------------------------------------------------- */

/* WL-01, LW-04, FG-05: TestNewReflectorWithDisablementWatchList,
 * TestDoesClientNotSupportWatchListSemantics. */
static void test_lists_instead(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    reflector_rig f;
    reflector_rig_init_streaming(&f, 0);
    switch (i) {
    case 0:
      f.source.lister_watcher.watch_list = false;
      break;
    case 1:
      f.resource.no_watch_list = true;
      break;
    case 2:
      f.source.lister_watcher.pause = NULL;
      f.source.lister_watcher.resume = NULL;
      break;
    default:
      f.vh.script.env.stream_refused = NULL;
      break;
    }
    assert_int_equal(reflector_rig_open(&f), 0);
    hand_source_expect(&f.source, "L:0/500");
    reflector_rig_finish(&f);
  }
}

/* WL-07: refused: lists from now on, without an error; that a source refuses
 * says nothing about the server. */
static void test_refused(void **state) {
  (void)state;
  reflector_rig f;
  open_streaming(&f);
  hand_source_fail(&f.source, 422, "Invalid", false);
  hand_source_expect(&f.source, "L:0/500");
  hand_source_list(&f.source, "a@1", "5");
  reflector_rig_expect(&f, "R(a@1)#5");
  assert_int_equal(f.errors, 0);
  assert_int_equal(kin_feed_open(f.source.feed), 0);
  hand_source_fail(&f.source, 410, "Expired", true);
  pass(&f, 3000);
  hand_source_expect(&f.source, "W:5 L:5>");
  assert_false(f.vh.script.stream_refused);
  reflector_rig_finish(&f);
}

/* WL-06: a stream that ends early is of no use; what it brought is not told. */
static void test_ends_early(void **state) {
  (void)state;
  reflector_rig f;
  open_streaming(&f);
  feed_events(&f, "+a@1 +b@2");
  pass(&f, 1500);
  hand_source_watch_end(&f.source);
  hand_source_expect(&f.source, "I:>");
  feed_events(&f, "+c@3");
  feed_end(&f, "4");
  reflector_rig_expect(&f, "R(c@3)#4");
  assert_int_equal(f.errors, 0);
  reflector_rig_finish(&f);
}

/* WL-07: one that breaks is begun again after a backoff. */
static void test_breaks(void **state) {
  (void)state;
  reflector_rig f;
  open_streaming(&f);
  feed_events(&f, "+a@1 +b@2");
  hand_source_fail(&f.source, 503, "ServiceUnavailable", false);
  assert_int_equal(f.errors, 1);
  reflector_rig_expect(&f, "");
  pass(&f, 3000);
  hand_source_expect(&f.source, "I:>");
  feed_events(&f, "+c@3");
  feed_end(&f, "4");
  reflector_rig_expect(&f, "R(c@3)#4");
  reflector_rig_finish(&f);
}

/* RF-14, RF-15, WL-07, WL-08: a lost position is found again by a stream at the
 * last version, and by one without a version if that is gone, too. */
static void test_relist(void **state) {
  (void)state;
  reflector_rig f;
  open_streaming(&f);
  feed_events(&f, "+a@1 +b@2");
  feed_end(&f, "5");
  feed_events(&f, "+c@6");
  reflector_rig_expect(&f, "R(a@1,b@2)#5 +c@6 V6");
  hand_source_fail(&f.source, 410, "Expired", true);
  pass(&f, 3000);
  hand_source_expect(&f.source, "p r I:6>");
  hand_source_fail(&f.source, 410, "Expired", false);
  pass(&f, 3000);
  hand_source_expect(&f.source, "I:>");
  assert_true(kin_reflector_is_last_sync_version_unavailable(f.reflector));
  feed_events(&f, "+c@6 +d@8");
  feed_end(&f, "9");
  assert_false(kin_reflector_is_last_sync_version_unavailable(f.reflector));
  reflector_rig_expect(&f, "R(c@6,d@8)#9");
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_reflector_get_status(f.reflector, &status), 0);
  assert_int_equal(status.relists, 1);
  reflector_rig_finish(&f);
}

/* --- The store fails ------------------------------------------------------ */

/* WL-11: the stream is closed, and begun again after a backoff. */
static void test_store_refuses(void **state) {
  (void)state;
  reflector_rig f;
  open_streaming(&f);
  f.result = KIN_EINVAL;
  f.failures = 1;
  feed_events(&f, "+a@1 ~a@2");
  feed_end(&f, "5");
  reflector_rig_expect(&f, "R(a@2)#5");
  hand_source_expect(&f.source, "p x");
  assert_int_equal(f.errors, 1);
  assert_int_equal(f.last_code, KIN_EINVAL);
  assert_false(kin_reflector_has_synced(f.reflector));
  pass(&f, 3000);
  hand_source_expect(&f.source, "I:>");
  feed_events(&f, "+a@2");
  feed_end(&f, "6");
  reflector_rig_expect(&f, "R(a@2)#6");
  assert_true(kin_reflector_has_synced(f.reflector));
  reflector_rig_finish(&f);
}

/* It has no memory: the list is kept, and the stream with it. */
static void test_store_without_memory(void **state) {
  (void)state;
  reflector_rig f;
  open_streaming(&f);
  f.result = KIN_ENOMEM;
  f.failures = 2;
  feed_events(&f, "+a@1 ~a@2");
  feed_end(&f, "5");
  hand_source_expect(&f.source, "p");
  pass(&f, 1000);
  reflector_rig_expect(&f, "R(a@2)#5 R(a@2)#5 R(a@2)#5");
  hand_source_expect(&f.source, "r");
  reflector_rig_finish(&f);
}

/* The stream ends while its list is being put in: that goes on, and a watch
 * follows. */
static void test_ends_while_stored(void **state) {
  (void)state;
  for (int is_broken = 0; is_broken < 2; is_broken++) {
    reflector_rig f;
    open_streaming(&f);
    f.result = KIN_ENOMEM;
    f.failures = 1;
    feed_events(&f, "+a@1");
    feed_end(&f, "5");
    if (is_broken) {
      hand_source_fail(&f.source, 500, "InternalError", true);
    } else {
      hand_source_watch_end(&f.source);
    }
    f.log[0] = '\0';
    pass(&f, 1000);
    reflector_rig_expect(&f, "R(a@1)#5");
    hand_source_expect(&f.source, "p W:5");
    reflector_rig_finish(&f);
  }
}

/* The program stops it while the list waits for memory. */
static void test_stopped_while_stored(void **state) {
  (void)state;
  reflector_rig f;
  open_streaming(&f);
  f.result = KIN_ENOMEM;
  f.answer = KIN_STOP;
  feed_events(&f, "+a@1 +b@2");
  feed_end(&f, "5");
  hand_source_expect(&f.source, "p x");
  pass(&f, 60000);
  hand_source_expect(&f.source, "");
  reflector_rig_expect(&f, "R(a@1,b@2)#5");
  reflector_rig_finish(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_stream),
      cmocka_unit_test(test_empty_streams),
      cmocka_unit_test(test_events_behind_the_end),
      cmocka_unit_test(test_into_queues),
      cmocka_unit_test(test_transformed_once),
      cmocka_unit_test(test_full_store),
      cmocka_unit_test(test_lists_instead),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_ends_early),
      cmocka_unit_test(test_breaks),
      cmocka_unit_test(test_relist),
      cmocka_unit_test(test_store_refuses),
      cmocka_unit_test(test_store_without_memory),
      cmocka_unit_test(test_ends_while_stored),
      cmocka_unit_test(test_stopped_while_stored),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
