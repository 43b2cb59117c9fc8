/* SPDX-License-Identifier: MIT */

/* An informer over a source of the program's own: the same protocol as over HTTP,
 * fed object by object. The source is the test's hands, which note what is asked;
 * see support/hand_source.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "informer/informer.h"
#include "informer/process.h"
#include "reflector/reflector.h"
#include "support/event_log.h"
#include "support/hand_source.h"
#include "support/virtual_host.h"

typedef struct rig {
  virtual_host vh;
  hand_source source;
  bool is_refused; /* see kin__env.stream_refused */
  kin_informer *informer;
  kin_listener *listener;
  event_log log;
  int errors;
  kin_error_event error; /* the last; its strings are below */
  char reason[64];
  char message[256];
} rig;

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  rig *f = data;
  assert_ptr_equal(informer, f->informer);
  f->errors++;
  f->error = *event;
  snprintf(f->reason, sizeof f->reason, "%s", event->reason);
  snprintf(f->message, sizeof f->message, "%s", event->message);
}

static void open_rig_with(rig *f, uint32_t page_size, bool watch_list) {
  memset(f, 0, sizeof *f);
  vh_init(&f->vh, 0);
  f->vh.script.env.stream_refused = &f->is_refused;
  hand_source_init(&f->source, &f->vh.script);
  f->source.lister_watcher.watch_list = watch_list;
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.page_size = page_size;
  options.source = &f->source.lister_watcher;
  options.on_error = on_error;
  options.data = f;
  kin__host *host = &f->vh.host;
  assert_int_equal(host->open_informer(host, &f->informer, &options), 0);
  f->source.lister_watcher = (kin_lister_watcher){0}; /* it was copied */
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_update = listener.on_delete = event_log_cb;
  listener.on_synced = listener.on_relisted = event_log_cb;
  listener.data = &f->log;
  assert_int_equal(kin_informer_listen(f->informer, &listener, &f->listener),
                   0);
  assert_int_equal(kin_informer_start(f->informer), 0);
  script_run(&f->vh.script);
}

static void open_rig(rig *f, uint32_t page_size) {
  open_rig_with(f, page_size, false);
}

static void close_rig(rig *f) {
  vh_finish(&f->vh);
  assert_false(f->source.is_open);
}

/* Opened, with one object and a watch. */
static void open_watching_rig(rig *f) {
  open_rig(f, 0);
  hand_source_list(&f->source, "a@1", "5");
  assert_int_equal(kin_feed_open(f->source.feed), 0);
  script_run(&f->vh.script);
  hand_source_expect(&f->source, "L:0/500 W:5");
  event_log_expect(&f->log, "+a1! S:5#1");
}

static kin_status get_status(const rig *f) {
  kin_status status;
  assert_int_equal(kin_informer_get_status(f->informer, "", &status), 0);
  return status;
}

/* client-go TestReflectorListAndWatch; LW-01, NR-10, RW-01, PG-01, PG-02, PG-04,
 * RF-07: a list in pages, then a watch from the version of its first page. Nothing
 * is cached before the list is complete. */
static void test_list_then_watch(void **state) {
  (void)state;
  rig f;
  open_rig(&f, 2);
  hand_source_expect(&f.source, "L:0/2");
  assert_int_equal(get_status(&f).state, KIN_STATE_SYNCING);
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
  kin_status status = get_status(&f);
  assert_int_equal(status.state, KIN_STATE_LIVE);
  assert_string_equal(status.resource_version, "12");
  assert_int_equal(status.events, 3);
  assert_int_equal(f.errors, 0);
  close_rig(&f);
}

/* RW-02, RW-11: a watch that ends is opened again where it was; a bookmark is
 * where it was. One that was silent is verified first, by a list of one item that
 * is not taken. */
static void test_watch_ends(void **state) {
  (void)state;
  rig f;
  open_watching_rig(&f);
  script_advance(&f.vh.script, 2000);
  hand_source_bookmark(&f.source, "8");
  assert_string_equal(get_status(&f).resource_version, "8");
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
  close_rig(&f);
}

/* client-go TestCloseWatchChannelOnError; RF-08, RW-05, RW-12: an ERROR event ends
 * the watch; that its version has expired makes a list, anything else resumes. */
static void test_error_events(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *reason;
    const char *next;
    int code;
  } cases[] = {{410, "Expired", "L:5", KIN_EGONE},
               {0, "Gone", "L:5", KIN_EGONE},
               {500, "StorageReadError", "L:5", KIN_ESTATUS},
               {500, "InternalError", "L:5>/1", KIN_ESTATUS},
               {429, "TooManyRequests", "L:5>/1", KIN_ESTATUS}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    rig f;
    open_watching_rig(&f);
    hand_source_fail(&f.source, cases[i].status, cases[i].reason, true);
    hand_source_expect(&f.source, ""); /* it has ended: no cancel */
    assert_int_equal(f.errors, 1);
    assert_int_equal(f.error.code, cases[i].code);
    assert_string_equal(f.reason, cases[i].reason);
    assert_non_null(strstr(f.message, "watch of pods: said so"));
    script_advance(&f.vh.script, 3000);
    hand_source_expect(&f.source, cases[i].next);
    close_rig(&f);
  }
}

/* client-go TestReflectorListAndWatchWithErrors; RL-07, RL-11, RW-04, LW-03: a
 * request fails with a status, a code or a class of the program's, which are told
 * as they are; it is repeated, not before the time that was asked for. */
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
    rig f;
    open_rig(&f, 0);
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
    close_rig(&f);
  }
}

/* A source that cannot even open is the same as one that fails. */
static void test_open_fails(void **state) {
  (void)state;
  rig f;
  memset(&f, 0, sizeof f);
  open_rig(&f, 0);
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
  close_rig(&f);
}

/* What does not belong to the request changes nothing. */
static void assert_all_closed(const rig *f) {
  kin_feed *feed = f->source.feed;
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  kin_object *object = hand_source_object("z@9");
  assert_int_equal(kin_feed_open(feed), KIN_ECLOSED);
  assert_int_equal(kin_feed_received(feed, 1), KIN_ECLOSED);
  assert_int_equal(kin_feed_item(feed, object), KIN_ECLOSED);
  assert_int_equal(kin_feed_list_end(feed, "9", NULL), KIN_ECLOSED);
  assert_int_equal(kin_feed_event(feed, KIN_WATCH_ADDED, object), KIN_ECLOSED);
  assert_int_equal(kin_feed_bookmark(feed, kin__cstr("9"), false), KIN_ECLOSED);
  assert_int_equal(kin_feed_watch_end(feed), KIN_ECLOSED);
  assert_int_equal(kin_feed_fail(feed, &error, true), KIN_ECLOSED);
  kin_object_unref(object);
}

static void feed_inside_open(hand_source *source) {
  rig *f = KIN__CONTAINER_OF(source, rig, source);
  assert_all_closed(f);
}

/* Feeding out of turn: before open has returned, of the other kind of request,
 * after the end and after a close. KIN_ECLOSED, and nothing has changed. */
static void test_feeding_out_of_turn(void **state) {
  (void)state;
  rig f;
  open_rig(&f, 0);
  kin_object *object = hand_source_object("z@9");
  kin_feed *feed = f.source.feed;
  assert_int_equal(kin_feed_event(feed, KIN_WATCH_ADDED, object), KIN_ECLOSED);
  assert_int_equal(kin_feed_bookmark(feed, kin__cstr("9"), false), KIN_ECLOSED);
  assert_int_equal(kin_feed_watch_end(feed), KIN_ECLOSED);
  f.source.inside_open = feed_inside_open;
  hand_source_list(&f.source, "a@1", "5");
  f.source.inside_open = NULL;
  hand_source_expect(&f.source, "L:0/500 W:5");
  event_log_expect(&f.log, "+a1! S:5#1");
  assert_int_equal(kin_feed_item(feed, object), KIN_ECLOSED);
  assert_int_equal(kin_feed_list_end(feed, "9", NULL), KIN_ECLOSED);
  assert_int_equal(get_status(&f).state, KIN_STATE_SYNCING);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  hand_source_fail(&f.source, 500, "InternalError", true);
  assert_all_closed(&f); /* it waits */
  assert_string_equal(get_status(&f).resource_version, "6");
  assert_int_equal(f.errors, 1);
  event_log_expect(&f.log, "+b6");
  script_advance(&f.vh.script, 3000);
  hand_source_expect(&f.source, "W:6");
  assert_int_equal(kin_informer_close(f.informer, NULL, NULL), 0);
  hand_source_expect(&f.source, "x");
  assert_all_closed(&f);
  kin_object_unref(object);
  close_rig(&f);
}

static void close_inside_open(hand_source *source) {
  rig *f = KIN__CONTAINER_OF(source, rig, source);
  source->inside_open = NULL;
  assert_int_equal(kin_informer_close(f->informer, NULL, NULL), 0);
  hand_source_expect(source, "L:0/500 W:5"); /* not before there is an answer */
}

/* A source that closes the informer while it opens an answer: that is cancelled as
 * soon as it has a name. */
static void test_closed_inside_open(void **state) {
  (void)state;
  rig f;
  open_rig(&f, 0);
  f.source.inside_open = close_inside_open;
  hand_source_list(&f.source, "a@1", "5");
  hand_source_expect(&f.source, "x");
  close_rig(&f);

  open_rig(&f, 0);
  f.source.inside_open = close_inside_open;
  f.source.fail_opens = 1;
  f.source.open_error = KIN_ENOMEM;
  hand_source_list(&f.source, "a@1", "5");
  hand_source_expect(&f.source, "");
  assert_int_equal(f.errors, 0);
  close_rig(&f);
}

/* A class that there is not is nonsense. */
static void test_classes_are_checked(void **state) {
  (void)state;
  static const int classes[] = {-1, KIN_CLASS_MEMORY + 1, 1000000};
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
    rig f;
    open_rig(&f, 0);
    kin_feed_error error = KIN_FEED_ERROR_INIT;
    error.code = KIN_EEOF;
    error.error_class = (kin_error_class)classes[i];
    f.source.is_open = false;
    assert_int_equal(kin_feed_fail(f.source.feed, &error, false), KIN_EINVAL);
    script_run(&f.vh.script);
    assert_int_equal(f.errors, 1);
    assert_int_equal(f.error.code, KIN_EINVAL);
    close_rig(&f);
  }
}

/* What cannot be asked for again is refused and told, not cut off. */
static void test_long_versions_and_tokens(void **state) {
  (void)state;
  static char text[KIN__TOKEN_SIZE + 1];
  memset(text, '7', sizeof text - 1);
  rig f;
  open_rig(&f, 0);
  hand_source_expect(&f.source, "L:0/500");
  assert_int_equal(kin_feed_list_end(f.source.feed, "5", text), KIN_ETOOBIG);
  hand_source_expect(&f.source, "x");
  script_advance(&f.vh.script, 2000);
  assert_int_equal(f.errors, 1);
  assert_int_equal(f.error.code, KIN_ETOOBIG);
  hand_source_expect(&f.source, "L:0/500");
  text[KIN__VERSION_SIZE] = '\0';
  assert_int_equal(kin_feed_list_end(f.source.feed, text, ""), KIN_ETOOBIG);
  script_advance(&f.vh.script, 4000);
  assert_int_equal(f.errors, 2);
  hand_source_expect(&f.source, "x L:0/500");
  text[KIN__VERSION_SIZE - 1] = '\0';
  hand_source_list(&f.source, "a@1", text);
  assert_string_equal(get_status(&f).resource_version, text);
  close_rig(&f);
}

/* WL-01: that a source of the program's own refuses streams says nothing about
 * the API server, nor the other way round. */
static void test_refusals_stay_apart(void **state) {
  (void)state;
  rig f;
  open_rig_with(&f, 0, true);
  hand_source_expect(&f.source, "I:>");
  hand_source_fail(&f.source, 400, "BadRequest", false);
  hand_source_expect(&f.source, "L:0/500");
  assert_false(f.is_refused);
  hand_source_list(&f.source, "a@1", "5");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "a@6");
  hand_source_fail(&f.source, 410, "Expired", true);
  script_advance(&f.vh.script, 3000);
  hand_source_expect(&f.source, "W:5 L:6"); /* it is remembered */
  close_rig(&f);
}

/* NULL and other nonsense ends the answer, which is cancelled inside the call; it
 * is told, and the request is made again. */
static void test_nonsense_is_refused(void **state) {
  (void)state;
  rig f;
  open_rig(&f, 0);
  assert_int_equal(kin_feed_item(f.source.feed, NULL), KIN_EINVAL);
  hand_source_expect(&f.source, "L:0/500 x");
  assert_all_closed(&f);
  script_advance(&f.vh.script, 2000);
  assert_int_equal(f.errors, 1);
  assert_int_equal(f.error.code, KIN_EINVAL);
  hand_source_list(&f.source, "a@1", "5");
  hand_source_expect(&f.source, "L:0/500 W:5");
  assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_ADDED, NULL),
                   KIN_EINVAL);
  script_advance(&f.vh.script, 40000);
  hand_source_expect(&f.source, "x L:5>/1");
  hand_source_list_end(&f.source, "5", "");
  kin_object *object = hand_source_object("a@9");
  assert_int_equal(
      kin_feed_event(f.source.feed, (kin_watch_event_type)99, object),
      KIN_EINVAL);
  kin_object_unref(object);
  script_advance(&f.vh.script, 40000);
  hand_source_expect(&f.source, "W:5 x L:5>/1");
  hand_source_list_end(&f.source, NULL, NULL);
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.size = 3;
  f.source.is_open = false;
  assert_int_equal(kin_feed_fail(f.source.feed, &error, false), KIN_EINVAL);
  assert_all_closed(&f);
  script_advance(&f.vh.script, 40000);
  assert_int_equal(f.errors, 4);
  hand_source_expect(&f.source, "W:5 W:5");
  f.source.is_open = false;
  assert_int_equal(kin_feed_fail(f.source.feed, NULL, false), KIN_EINVAL);
  event_log_expect(&f.log, "+a1! S:5#1");
  close_rig(&f);
}

/* QF-16, RW-14: when the queue is full the source is paused, and resumed when it
 * has room; what comes all the same is taken. */
static void test_pause(void **state) {
  (void)state;
  rig f;
  open_watching_rig(&f);
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
  close_rig(&f);
}

/* RL-09 and the design's first rule of memory: a listed object that is cached
 * unchanged is the cached one, and a watched one is no event. */
static void test_unchanged_objects_are_kept(void **state) {
  (void)state;
  rig f;
  open_watching_rig(&f);
  const kin_store *store = kin_informer_store(f.informer);
  const kin_object *cached = kin_store_get_key(store, "a");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, "a@1");
  event_log_expect(&f.log, "");
  hand_source_fail(&f.source, 410, "Expired", true);
  script_advance(&f.vh.script, 3000);
  hand_source_list(&f.source, "a@1 b@6", "6");
  assert_ptr_equal(kin_store_get_key(store, "a"), cached);
  event_log_expect(&f.log, "+b6 R:@6#2");
  assert_int_equal(get_status(&f).unchanged, 2);
  close_rig(&f);
}

static void test_received_bytes(void **state) {
  (void)state;
  rig f;
  open_watching_rig(&f);
  script_advance(&f.vh.script, 5000);
  assert_int_equal(get_status(&f).byte_age_ms, 5000);
  assert_int_equal(kin_feed_received(f.source.feed, 1234), 0);
  assert_int_equal(get_status(&f).byte_age_ms, 0);
  assert_int_equal(get_status(&f).received_bytes, 1234);
  close_rig(&f);
}

/* client-go TestToListWatcherWithWatchListSemantics,
 * TestDoesClientNotSupportWatchListSemantics; LW-04, WL-01: only a source that says
 * that it knows how is asked for a list in the form of a watch. */
static void test_watch_list(void **state) {
  (void)state;
  rig f;
  open_rig_with(&f, 0, true);
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
  close_rig(&f);

  open_rig_with(&f, 0, false);
  hand_source_expect(&f.source, "L:0/500");
  close_rig(&f);
}

/* RW-15: a source that does not end its watch is cancelled. */
static void test_deadline(void **state) {
  (void)state;
  rig f;
  open_watching_rig(&f);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  script_advance(&f.vh.script, 700 * 1000);
  hand_source_expect(&f.source, "x W:6");
  close_rig(&f);
}

static int open_nothing(void *ctx, const kin_feed_request *request,
                        kin_feed *feed, void **out) {
  (void)ctx;
  (void)request;
  (void)feed;
  (void)out;
  return KIN_ENOTSUP;
}

static void do_nothing(void *ctx, void *answer) {
  (void)ctx;
  (void)answer;
}

static void test_sources_that_lack_functions(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &source;
  kin_informer *informer;
  kin__host *host = &vh.host;
  assert_int_equal(host->open_informer(host, &informer, &options), KIN_EINVAL);
  source.open = open_nothing;
  assert_int_equal(host->open_informer(host, &informer, &options), KIN_EINVAL);
  source.cancel = do_nothing;
  source.pause = do_nothing;
  assert_int_equal(host->open_informer(host, &informer, &options), KIN_EINVAL);
  source.resume = do_nothing;
  source.size = 8;
  assert_int_equal(host->open_informer(host, &informer, &options), KIN_EINVAL);
  assert_null(informer);
  source.size = sizeof source;
  assert_int_equal(host->open_informer(host, &informer, &options), 0);
  vh_finish(&vh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_then_watch),
      cmocka_unit_test(test_watch_ends),
      cmocka_unit_test(test_error_events),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_open_fails),
      cmocka_unit_test(test_feeding_out_of_turn),
      cmocka_unit_test(test_closed_inside_open),
      cmocka_unit_test(test_classes_are_checked),
      cmocka_unit_test(test_long_versions_and_tokens),
      cmocka_unit_test(test_refusals_stay_apart),
      cmocka_unit_test(test_nonsense_is_refused),
      cmocka_unit_test(test_pause),
      cmocka_unit_test(test_unchanged_objects_are_kept),
      cmocka_unit_test(test_received_bytes),
      cmocka_unit_test(test_watch_list),
      cmocka_unit_test(test_deadline),
      cmocka_unit_test(test_sources_that_lack_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
