/* SPDX-License-Identifier: MIT */

/* An informer over a source of the program's own: the same protocol as over
 * HTTP, fed object by object. The source is the test's hands, which note what
 * is asked; see support/source_rig.h. Sources that misbehave:
 * test_lister_watcher_abuse.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "informer/handle_deltas.h"
#include "informer/informer.h"
#include "support/objects.h"
#include "support/source_rig.h"

/* client-go TestReflectorListAndWatch; LW-01, NR-10, RW-01, PG-01, PG-02,
 * PG-04, RF-07: a list in pages, then a watch from the version of its first
 * page. Nothing is cached before the list is complete. */
static void test_list_then_watch(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 2);
  hand_source_expect(&f.source, "L:0/2");
  assert_int_equal(source_rig_status(&f).state, KIN_STATE_SYNCING);
  hand_source_item(&f.source, "ns/a@1");
  hand_source_item(&f.source, "ns/b@2");
  hand_source_list_end(&f.source, "7", "c1");
  hand_source_expect(&f.source, "L=c1/2");
  assert_int_equal(kin_store_count(kin_informer_store(f.informer)), 0);
  hand_source_item(&f.source, "ns/c@3");
  hand_source_list_end(&f.source, "9", "");
  hand_source_expect(&f.source, "W:7");
  event_log_expect(&f.log, "+a1! +b2! +c3! S:7#3");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "ns/d@10");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "ns/a@11");
  hand_source_event(&f.source, KIN_WATCH_DELETED, "ns/b@12");
  event_log_expect(&f.log, "+d10 ~a1>11 -b12:watch");
  kin_status status = source_rig_status(&f);
  assert_int_equal(status.state, KIN_STATE_LIVE);
  assert_string_equal(status.resource_version, "12");
  assert_int_equal(status.events, 3);
  assert_int_equal(f.errors, 0);
  source_rig_close(&f);
}

/* RW-02, RW-11: a watch that ends is opened again where it was; a bookmark is
 * where it was. One that was silent is verified first, by a list of one item
 * that is not taken. */
static void test_watch_ends(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  script_advance(&f.vh.script, 2000);
  hand_source_bookmark(&f.source, "8");
  assert_string_equal(source_rig_status(&f).resource_version, "8");
  hand_source_watch_end(&f.source);
  hand_source_expect(&f.source, "W:8");
  assert_int_equal(kin_feed_open(f.source.feed), 0);
  script_advance(&f.vh.script, 2000);
  hand_source_watch_end(&f.source);
  hand_source_expect(&f.source, "L:8>/1");
  hand_source_item(&f.source, "other@4");
  hand_source_list_end(&f.source, "9", "more");
  hand_source_expect(&f.source, "W:8");
  event_log_expect(&f.log, "");
  assert_int_equal(f.errors, 0);
  source_rig_close(&f);
}

/* A watch says that an unknown object is gone: nobody has been told of it, so
 * there is nothing to tell. The position moves on. The second time is as the
 * first one. */
static void test_unknown_is_deleted(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  hand_source_event(&f.source, KIN_WATCH_DELETED, "b@6");
  hand_source_event(&f.source, KIN_WATCH_DELETED, "b@7");
  event_log_expect(&f.log, "");
  assert_string_equal(source_rig_status(&f).resource_version, "7");
  hand_source_event(&f.source, KIN_WATCH_DELETED, "a@8");
  hand_source_event(&f.source, KIN_WATCH_DELETED, "a@9");
  event_log_expect(&f.log, "-a8:watch");
  assert_string_equal(source_rig_status(&f).resource_version, "9");
  assert_int_equal(f.errors, 0);
  source_rig_close(&f);
}

/* A watch adds what is there already: an update if it is another state, and
 * nothing if it is the same one. */
static void test_known_is_added(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "a@6");
  event_log_expect(&f.log, "~a1>6");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "a@6");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "a@6");
  event_log_expect(&f.log, "");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "a@7");
  event_log_expect(&f.log, "~a6>7");
  assert_int_equal(kin_store_count(kin_informer_store(f.informer)), 1);
  assert_int_equal(f.errors, 0);
  source_rig_close(&f);
}

/* client-go TestCloseWatchChannelOnError; RF-08, RW-05, RW-12: an ERROR event
 * ends the watch; that its version has expired makes a list, anything else
 * resumes. */
static void test_error_events(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *reason;
    const char *next;
    int code;
  } cases[] = {{410, "Expired", "L:5>", KIN_EGONE},
               {0, "Gone", "L:5>", KIN_EGONE},
               {500, "Expired", "L:5>", KIN_EGONE},
               {410, "CableCut", "L:5>", KIN_EGONE},
               {410, "Conflict", "L:5>/1", KIN_ESTATUS},
               {500, "StorageReadError", "L:5>", KIN_ESTATUS},
               {500, "InternalError", "L:5>/1", KIN_ESTATUS},
               {429, "TooManyRequests", "L:5>/1", KIN_ESTATUS}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    source_rig f;
    source_rig_open_watching(&f);
    hand_source_fail(&f.source, cases[i].status, cases[i].reason, true);
    hand_source_expect(&f.source, ""); /* it has ended: no cancel */
    assert_int_equal(f.errors, 1);
    assert_int_equal(f.error.code, cases[i].code);
    assert_string_equal(f.reason, cases[i].reason);
    assert_non_null(strstr(f.message, "watch of pods: said so"));
    script_advance(&f.vh.script, 3000);
    hand_source_expect(&f.source, cases[i].next);
    source_rig_close(&f);
  }
}

/* RE-06: the code says that the version has expired as well as a status, also
 * beside a reason of the program's own. */
static void test_expired_by_code(void **state) {
  (void)state;
  static const char *const reasons[] = {"", "TooOldResourceVersion",
                                        "Conflict"};
  for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
    source_rig f;
    source_rig_open_watching(&f);
    kin_feed_error error = KIN_FEED_ERROR_INIT;
    error.code = KIN_EGONE;
    error.reason = reasons[i];
    f.source.is_open = false;
    assert_int_equal(kin_feed_fail(f.source.feed, &error, true), 0);
    script_advance(&f.vh.script, 3000);
    hand_source_expect(&f.source, "L:5>");
    assert_int_equal(f.error.code, KIN_EGONE);
    assert_int_equal(f.error.error_class, KIN_CLASS_SERVER);
    assert_int_equal(f.error.status, 410);
    assert_string_equal(f.reason, reasons[i]);
    source_rig_close(&f);
  }
}

/* A reason stands for its status; a reason without a status leaves the code as
 * it is. */
static void test_reasons_beside_codes(void **state) {
  (void)state;
  static const struct {
    int code;
    const char *reason;
    int told_code;
    kin_error_class told_class;
    int told_status;
  } cases[] = {
      {KIN_EEOF, "Forbidden", KIN_ESTATUS, KIN_CLASS_FORBIDDEN, 403},
      {KIN_EEOF, "Expired", KIN_EGONE, KIN_CLASS_SERVER, 410},
      {KIN_EGONE, "Forbidden", KIN_ESTATUS, KIN_CLASS_FORBIDDEN, 403},
      {KIN_EGONE, "Timeout", KIN_ESTATUS, KIN_CLASS_SERVER, 504},
      {KIN_EGONE, "Conflict", KIN_EGONE, KIN_CLASS_SERVER, 410},
      {KIN_EGONE, "CableCut", KIN_EGONE, KIN_CLASS_SERVER, 410},
      {KIN_EEOF, "CableCut", KIN_EEOF, KIN_CLASS_CONNECT, 0},
      {KIN_ENOMEM, "NoRoom", KIN_ENOMEM, KIN_CLASS_MEMORY, 0},
      {0, "CableCut", KIN_ESTATUS, KIN_CLASS_SERVER, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    source_rig f;
    source_rig_open_watching(&f);
    kin_feed_error error = KIN_FEED_ERROR_INIT;
    error.code = cases[i].code;
    error.reason = cases[i].reason;
    error.message = "because";
    f.source.is_open = false;
    assert_int_equal(kin_feed_fail(f.source.feed, &error, true), 0);
    script_run(&f.vh.script);
    assert_int_equal(f.error.code, cases[i].told_code);
    assert_int_equal(f.error.error_class, cases[i].told_class);
    assert_int_equal(f.error.status, cases[i].told_status);
    assert_string_equal(f.reason, cases[i].reason);
    assert_non_null(strstr(f.message, "because"));
    source_rig_close(&f);
  }
}

/* client-go TestReflectorListAndWatchWithErrors; RL-07, RL-11, RW-04, LW-03: a
 * request fails with a status, a code or a class of the program's, which are
 * told as they are; it is repeated, not before the time that was asked for. */
static void test_failures(void **state) {
  (void)state;
  static const struct {
    kin_feed_error error;
    int code;
    kin_error_class error_class;
  } cases[] = {
      {{.status = 401}, KIN_ESTATUS, KIN_CLASS_AUTH},
      {{.status = 403, .reason = "Forbidden"},
       KIN_ESTATUS,
       KIN_CLASS_FORBIDDEN},
      {{.status = 404}, KIN_ESTATUS, KIN_CLASS_ABSENT},
      {{.status = 429, .retry_after_s = 60}, KIN_ESTATUS, KIN_CLASS_THROTTLED},
      {{.status = 500}, KIN_ESTATUS, KIN_CLASS_SERVER},
      {{.code = 0}, KIN_ESTATUS, KIN_CLASS_SERVER},
      {{.code = 5}, KIN_ESTATUS, KIN_CLASS_SERVER},
      {{.code = KIN_EJSON}, KIN_EJSON, KIN_CLASS_DECODE},
      {{.code = KIN_ENOMEM}, KIN_ENOMEM, KIN_CLASS_MEMORY},
      {{.code = KIN_EEOF, .retry_after_s = 60}, KIN_EEOF, KIN_CLASS_CONNECT},
      {{.code = UV_ECONNREFUSED, .error_class = KIN_CLASS_CONNECT},
       UV_ECONNREFUSED,
       KIN_CLASS_CONNECT},
      {{.code = KIN_ERESOLVE, .error_class = KIN_CLASS_DNS},
       KIN_ERESOLVE,
       KIN_CLASS_DNS},
      {{.code = KIN_ETLS, .error_class = KIN_CLASS_TLS},
       KIN_ETLS,
       KIN_CLASS_TLS},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    source_rig f;
    source_rig_open(&f, 0);
    hand_source_expect(&f.source, "L:0/500");
    hand_source_item(&f.source, "a@1");
    kin_feed_error error = cases[i].error;
    error.size = sizeof error;
    error.message = "because";
    f.source.is_open = false;
    assert_int_equal(kin_feed_fail(f.source.feed, &error, true), 0);
    script_run(&f.vh.script);
    assert_int_equal(f.errors, 1);
    assert_int_equal(f.error.code, cases[i].code);
    assert_int_equal(f.error.error_class, cases[i].error_class);
    assert_int_equal(f.error.status, error.status);
    assert_non_null(strstr(f.message, "because"));
    uint64_t least_ms = error.retry_after_s * UINT64_C(1000);
    assert_true(f.error.retry_in_ms >= least_ms);
    if (least_ms > 0) {
      script_advance(&f.vh.script, least_ms - 1);
      hand_source_expect(&f.source, "");
    }
    script_advance(&f.vh.script, 2000);
    hand_source_expect(&f.source, "L:0/500");
    hand_source_list(&f.source, "b@2", "3");
    event_log_expect(&f.log, "+b2! S:3#1"); /* nothing of the failed one */
    source_rig_close(&f);
  }
}

/* A source that cannot even open is the same as one that fails. */
static void test_open_fails(void **state) {
  (void)state;
  source_rig f;
  memset(&f, 0, sizeof f);
  source_rig_open(&f, 0);
  hand_source_expect(&f.source, "L:0/500");
  f.source.fail_opens = 2;
  f.source.open_error = KIN_ERESOLVE;
  hand_source_list_end(&f.source, "5", "more");
  assert_int_equal(f.errors, 1);
  assert_int_equal(f.error.code, KIN_ERESOLVE);
  script_advance(&f.vh.script, 10000);
  hand_source_expect(&f.source, "L=more/500 L:0/500 L:0/500");
  hand_source_list(&f.source, "a@1", "5");
  event_log_expect(&f.log, "+a1! S:5#1");
  source_rig_close(&f);
}

/* A positive code is no code of an error event. The message names the
 * resource. */
static void test_open_fails_with_a_positive_code(void **state) {
  (void)state;
  source_rig f;
  memset(&f, 0, sizeof f);
  source_rig_open(&f, 0);
  hand_source_expect(&f.source, "L:0/500");
  f.source.fail_opens = 1;
  f.source.open_error = 5;
  hand_source_list(&f.source, "a@1", "5");
  assert_int_equal(f.errors, 1);
  assert_int_equal(f.error.code, KIN_EINVAL);
  assert_int_equal(f.error.attempt, 1);
  assert_string_equal(f.message, "watch of pods: invalid argument");
  source_rig_close(&f);
}

/* A message says why, also if the source has given no text. */
static void test_failures_without_a_message(void **state) {
  (void)state;
  static const struct {
    int code;
    int status;
    const char *message;
  } rows[] = {
      {KIN_ERESOLVE, 0, NULL},
      {KIN_ESTATUS, 0, ""},
      {0, 0, NULL},
      {0, 418, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    source_rig f;
    memset(&f, 0, sizeof f);
    source_rig_open(&f, 0);
    kin_feed_error error = KIN_FEED_ERROR_INIT;
    error.code = rows[i].code;
    error.status = rows[i].status;
    error.message = rows[i].message;
    f.source.is_open = false;
    assert_int_equal(kin_feed_fail(f.source.feed, &error, false), 0);
    script_advance(&f.vh.script, 5000);
    hand_source_expect(&f.source, "L:0/500 L:0/500");
    char expected[128];
    snprintf(expected, sizeof expected, "list of pods: %s",
             kin_strerror(rows[i].code != 0 ? rows[i].code : KIN_ESTATUS));
    assert_string_equal(f.message, expected);
    source_rig_close(&f);
  }
}

/* WL-01: that a source of the program's own refuses streams says nothing about
 * the API server, nor the other way round. */
static void test_refusals_stay_apart(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_with(&f, 0, true);
  hand_source_expect(&f.source, "I:>");
  hand_source_fail(&f.source, 400, "BadRequest", false);
  hand_source_expect(&f.source, "L:0/500");
  assert_false(f.vh.script.stream_refused);
  hand_source_list(&f.source, "a@1", "5");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "a@6");
  hand_source_fail(&f.source, 410, "Expired", true);
  script_advance(&f.vh.script, 3000);
  hand_source_expect(&f.source, "W:5 L:6>"); /* it is remembered */
  source_rig_close(&f);
}

/* QF-16, RW-14: when the queue is full the source is paused, and resumed when
 * it has room; what comes all the same is taken. */
static void test_pause(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  kin_listener_pause(f.listener);
  for (unsigned i = 0; i < KIN__QUEUE_HIGH + 5; i++) {
    char text[32];
    snprintf(text, sizeof text, "p%u@%u", i, 100 + i);
    kin_object *object = hand_source_object(text);
    assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_ADDED, object), 0);
    kin_object_unref(object);
    assert_string_equal(f.source.log, i + 1 < KIN__QUEUE_HIGH ? "" : "p");
  }
  script_run(&f.vh.script);
  hand_source_expect(&f.source, "p r");
  assert_int_equal(kin_store_count(kin_informer_store(f.informer)),
                   KIN__QUEUE_HIGH + 6);
  source_rig_close(&f);
}

/* What a stream brings while its list is applied may fill the queue: it stays
 * paused, and is resumed once. */
static void test_pause_while_held(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_with(&f, 0, true);
  hand_source_expect(&f.source, "I:>");
  kin_feed *feed = f.source.feed;
  assert_int_equal(kin_feed_bookmark(feed, kin__cstr("5"), true), 0);
  for (unsigned i = 0; i < KIN__QUEUE_HIGH + 5; i++) {
    char text[32];
    snprintf(text, sizeof text, "p%u@%u", i, 100 + i);
    kin_object *object = hand_source_object(text);
    assert_int_equal(kin_feed_event(feed, KIN_WATCH_ADDED, object), 0);
    kin_object_unref(object);
  }
  kin_listener_pause(f.listener);
  script_run(&f.vh.script);
  hand_source_expect(&f.source, "p r");
  assert_int_equal(kin_store_count(kin_informer_store(f.informer)),
                   KIN__QUEUE_HIGH + 5);
  source_rig_close(&f);
}

/* RL-09 and the design's first rule of memory: a listed object that is cached
 * unchanged is the cached one, and a watched one is no event. */
static void test_unchanged_objects_are_kept(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  const kin_store *store = kin_informer_store(f.informer);
  const kin_object *cached = kin_store_get_key(store, "a");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "a@1");
  event_log_expect(&f.log, "");
  hand_source_fail(&f.source, 410, "Expired", true);
  script_advance(&f.vh.script, 3000);
  hand_source_list(&f.source, "a@1 b@6", "6");
  assert_ptr_equal(kin_store_get_key(store, "a"), cached);
  event_log_expect(&f.log, "+b6 R:@6#2");
  assert_int_equal(source_rig_status(&f).unchanged, 2);
  source_rig_close(&f);
}

/* SI-21: uid and version together say that an object is unchanged. The version
 * alone does not: another object of that name may have it. */
static void test_same_version_of_another_object(void **state) {
  (void)state;
  static const char other[] =
      "{'metadata':{'name':'a','uid':'u-other','resourceVersion':'1'}}";
  source_rig f;
  source_rig_open_watching(&f);
  kin_object *second = object_of(NULL, other);
  assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_MODIFIED, second),
                   0);
  kin_object_unref(second);
  script_run(&f.vh.script);
  event_log_expect(&f.log, "-a1:recreated +a1");
  hand_source_fail(&f.source, 410, "Expired", true);
  script_advance(&f.vh.script, 3000);
  hand_source_list(&f.source, "a@1", "6"); /* the first one again */
  event_log_expect(&f.log, "-a1:recreated +a1 R:@6#1");
  const kin_object *cached =
      kin_store_get_key(kin_informer_store(f.informer), "a");
  assert_true(kin__str_equal(kin_object_uid(cached), KIN__LIT("u-a")));
  assert_int_equal(source_rig_status(&f).unchanged, 0);
  source_rig_close(&f);
}

/* SI-14, SI-21: an object without a uid, or without a version, is never taken as
 * unchanged: handlers are told of an update. */
static void test_objects_without_identity(void **state) {
  (void)state;
  static const char *const first[] = {
      "{'metadata':{'name':'b','resourceVersion':'6'},'x':1}",
      "{'metadata':{'name':'b','uid':'u-b'},'x':1}"};
  static const char *const second[] = {
      "{'metadata':{'name':'b','resourceVersion':'6'},'x':2}",
      "{'metadata':{'name':'b','uid':'u-b'},'x':2}"};
  for (size_t i = 0; i < 2; i++) {
    source_rig f;
    source_rig_open_watching(&f);
    hand_source_fail(&f.source, 410, "Expired", true);
    script_advance(&f.vh.script, 3000);
    kin_object *before = object_of(NULL, first[i]);
    kin_object *after = object_of(NULL, second[i]);
    assert_int_equal(kin_feed_item(f.source.feed, before), 0);
    hand_source_list_end(&f.source, "6", "");
    hand_source_fail(&f.source, 410, "Expired", true);
    script_advance(&f.vh.script, 10000);
    assert_int_equal(kin_feed_item(f.source.feed, after), 0);
    hand_source_list_end(&f.source, "7", "");
    const kin_object *cached =
        kin_store_get_key(kin_informer_store(f.informer), "b");
    assert_ptr_equal(cached, after);
    assert_non_null(strstr(f.log.text, "~b"));
    kin_object_unref(before);
    kin_object_unref(after);
    source_rig_close(&f);
  }
}

/* A change that waits in the queue counts before what is cached. So an object
 * that goes and comes back as it was, both before the queue is processed, is
 * there in the end; the add that looks unchanged is not dropped. */
static void test_unchanged_but_for_the_queue(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  kin_object *a = hand_source_object("a@1");
  kin_feed *feed = f.source.feed;
  for (int i = 0; i < 2; i++) { /* and again */
    assert_int_equal(kin_feed_event(feed, KIN_WATCH_DELETED, a), 0);
    assert_int_equal(kin_feed_event(feed, KIN_WATCH_ADDED, a), 0);
    script_run(&f.vh.script);
    event_log_expect(&f.log, "-a1:watch +a1");
  }
  assert_non_null(kin_store_get_key(kin_informer_store(f.informer), "a"));
  /* Nothing waits any more: now it is unchanged. */
  assert_int_equal(kin_feed_event(feed, KIN_WATCH_ADDED, a), 0);
  script_run(&f.vh.script);
  event_log_expect(&f.log, "");
  assert_int_equal(source_rig_status(&f).unchanged, 1);
  kin_object_unref(a);
  source_rig_close(&f);
}

/* SI-15: the same object twice before the queue is processed. The second one is
 * no change, and no handler is told: updates without a change are for lists. */
static void test_unchanged_in_the_queue(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  event_log log;
  memset(&log, 0, sizeof log);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_update = event_log_cb;
  options.relist_updates = true;
  options.data = &log;
  assert_int_equal(kin_informer_listen(f.informer, &options, NULL), 0);
  script_run(&f.vh.script);
  kin_object *a = hand_source_object("a@6");
  kin_feed *feed = f.source.feed;
  assert_int_equal(kin_feed_event(feed, KIN_WATCH_MODIFIED, a), 0);
  kin_object_unref(a);
  a = hand_source_object("a@6");
  assert_int_equal(kin_feed_event(feed, KIN_WATCH_MODIFIED, a), 0);
  kin_object_unref(a);
  script_run(&f.vh.script);
  event_log_expect(&log, "~a1>6");
  assert_int_equal(source_rig_status(&f).unchanged, 1);
  hand_source_fail(&f.source, 410, "Expired", true);
  script_advance(&f.vh.script, 3000);
  hand_source_list(&f.source, "a@6", "7");
  event_log_expect(&log, "~a6>6");
  source_rig_close(&f);
}

/* SI-21: only two different uids tell that an object was recreated. An object
 * that gets its uid, or loses it, is updated. */
static void test_uid_comes_and_goes(void **state) {
  (void)state;
  static const char without[] =
      "{'metadata':{'name':'b','resourceVersion':'%d'}}";
  static const char with[] =
      "{'metadata':{'name':'b','uid':'u-b','resourceVersion':'%d'}}";
  source_rig f;
  source_rig_open_watching(&f);
  for (int i = 0; i < 3; i++) {
    kin_object *b = object_format(NULL, i == 1 ? with : without, 6 + i);
    assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_MODIFIED, b), 0);
    kin_object_unref(b);
    script_run(&f.vh.script);
  }
  event_log_expect(&f.log, "+b6 ~b6>7 ~b7>8");
  source_rig_close(&f);
}

static void test_received_bytes(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  script_advance(&f.vh.script, 5000);
  assert_int_equal(source_rig_status(&f).byte_age_ms, 5000);
  assert_int_equal(kin_feed_received(f.source.feed, 1234), 0);
  assert_int_equal(source_rig_status(&f).byte_age_ms, 0);
  assert_int_equal(source_rig_status(&f).received_bytes, 1234);
  source_rig_close(&f);
}

/* client-go TestToListWatcherWithWatchListSemantics,
 * TestDoesClientNotSupportWatchListSemantics; LW-04, WL-01: only a source that
 * says that it knows how is asked for a list in the form of a watch. */
static void test_watch_list(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_with(&f, 0, true);
  hand_source_expect(&f.source, "I:>");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "a@1");
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@2");
  assert_int_equal(kin_store_count(kin_informer_store(f.informer)), 0);
  assert_int_equal(kin_feed_bookmark(f.source.feed, kin__cstr("5"), true), 0);
  script_run(&f.vh.script);
  event_log_expect(&f.log, "+a1! +b2! S:5#2");
  hand_source_expect(&f.source, "p r");
  hand_source_event(&f.source, KIN_WATCH_DELETED, "a@6");
  event_log_expect(&f.log, "-a6:watch");
  hand_source_expect(&f.source, "");
  source_rig_close(&f);

  source_rig_open_with(&f, 0, false);
  hand_source_expect(&f.source, "L:0/500");
  source_rig_close(&f);
}

/* RW-15: a source that does not end its watch is cancelled. */
static void test_deadline(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  script_advance(&f.vh.script, 700 * 1000);
  hand_source_expect(&f.source, "x W:6");
  source_rig_close(&f);
}

/* Callbacks that come inside kin_informer_start, and callbacks that do not. */
typedef struct start_world {
  virtual_host vh;
  hand_source source;
  kin_informer *informer;
  bool is_starting;
  int opens; /* inside the start */
  int modified;
  int events; /* of any other callback */
} start_world;

static void note_open(hand_source *source) {
  start_world *w = KIN__CONTAINER_OF(source, start_world, source);
  w->opens += w->is_starting;
}

static int note_modify(kin_request_options *options, void *data) {
  (void)options;
  start_world *w = data;
  w->modified += w->is_starting;
  return 0;
}

static void note_state(kin_informer *informer, const char *namespace_,
                       kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)namespace_;
  (void)from;
  (void)to;
  start_world *w = data;
  assert_false(w->is_starting);
  w->events++;
}

static void note_error(kin_informer *informer, kin_error_event *event,
                       void *data) {
  (void)informer;
  (void)event;
  start_world *w = data;
  assert_false(w->is_starting);
  w->events++;
}

static void note_event(kin_informer *informer, const kin_event *event,
                       void *data) {
  (void)informer;
  (void)event;
  start_world *w = data;
  assert_false(w->is_starting);
  w->events++;
}

static void open_in_start_world(start_world *w) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &w->source.lister_watcher;
  options.modify = note_modify;
  options.modify_data = w;
  options.on_state = note_state;
  options.on_error = note_error;
  options.data = w;
  assert_int_equal(kin__informer_open_on(&w->informer, &w->vh.host, &options),
                   0);
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_synced = note_event;
  listener.data = w;
  assert_int_equal(kin_informer_listen(w->informer, &listener, NULL), 0);
}

/* <kin/informer.h>, kin_informer_start: the source and `modify` are asked
 * inside the call, although it has to tell of a failure there; event callbacks
 * come from later iterations. Each informer begins so. */
static void test_asked_inside_start(void **state) {
  (void)state;
  start_world w = {0};
  vh_init(&w.vh, 0);
  hand_source_init(&w.source, &w.vh.script);
  w.source.inside_open = note_open;
  for (int i = 1; i <= 2; i++) {
    w.source.fail_opens = 1;
    w.source.open_error = KIN_EINVAL;
    open_in_start_world(&w);
    int before = w.events;
    assert_int_equal(w.opens, i - 1);
    w.is_starting = true;
    assert_int_equal(kin_informer_start(w.informer), 0);
    w.is_starting = false;
    assert_int_equal(w.opens, i);
    assert_int_equal(w.modified, i);
    assert_int_equal(w.events, before);
    script_run(&w.vh.script);
    assert_int_equal(w.events, before + 2); /* syncing, and the failure */
    script_advance(&w.vh.script, 3000);
    hand_source_list(&w.source, "a@1", "5");
    assert_true(w.events > before + 2);
    assert_int_equal(w.opens, i);
    assert_int_equal(kin_informer_close(w.informer, NULL, NULL), 0);
    script_run(&w.vh.script);
  }
  vh_finish(&w.vh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_then_watch),
      cmocka_unit_test(test_watch_ends),
      cmocka_unit_test(test_unknown_is_deleted),
      cmocka_unit_test(test_known_is_added),
      cmocka_unit_test(test_error_events),
      cmocka_unit_test(test_expired_by_code),
      cmocka_unit_test(test_reasons_beside_codes),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_open_fails),
      cmocka_unit_test(test_open_fails_with_a_positive_code),
      cmocka_unit_test(test_failures_without_a_message),
      cmocka_unit_test(test_refusals_stay_apart),
      cmocka_unit_test(test_pause),
      cmocka_unit_test(test_pause_while_held),
      cmocka_unit_test(test_unchanged_objects_are_kept),
      cmocka_unit_test(test_same_version_of_another_object),
      cmocka_unit_test(test_objects_without_identity),
      cmocka_unit_test(test_unchanged_but_for_the_queue),
      cmocka_unit_test(test_unchanged_in_the_queue),
      cmocka_unit_test(test_uid_comes_and_goes),
      cmocka_unit_test(test_received_bytes),
      cmocka_unit_test(test_watch_list),
      cmocka_unit_test(test_deadline),
      cmocka_unit_test(test_asked_inside_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
