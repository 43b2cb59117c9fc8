/* SPDX-License-Identifier: MIT */

/* Sources of the program's own that feed out of turn, nonsense, or what is too
 * large, that close what asks them, or that lack functions. Proves NR-10's bad
 * ways: each call says so, nothing is changed by it, and nothing hangs. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "listwatch/listwatch.h"
#include "informer/informer.h"
#include "support/informer_world.h"
#include "support/source_rig.h"

/* A length without bytes counts as empty: no version, which moves nothing. */
#define NO_BYTES kin__str(NULL, 3)

/* What does not belong to the request changes nothing. */
static void assert_all_closed(const source_rig *f) {
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
  source_rig *f = KIN__CONTAINER_OF(source, source_rig, source);
  assert_all_closed(f);
}

/* Feeding out of turn: before open has returned, of the other kind of request,
 * after the end and after a close. KIN_ECLOSED, and nothing has changed. */
static void test_feeding_out_of_turn(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 0);
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
  assert_int_equal(source_rig_status(&f).state, KIN_STATE_SYNCING);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  assert_int_equal(kin_feed_bookmark(feed, NO_BYTES, false), 0);
  hand_source_fail(&f.source, 500, "InternalError", true);
  assert_all_closed(&f); /* it waits */
  assert_string_equal(source_rig_status(&f).resource_version, "6");
  assert_int_equal(f.errors, 1);
  event_log_expect(&f.log, "+b6");
  script_advance(&f.vh.script, 3000);
  hand_source_expect(&f.source, "W:6");
  assert_int_equal(kin_informer_close(f.informer, NULL, NULL), 0);
  hand_source_expect(&f.source, "x");
  assert_all_closed(&f);
  kin_object_unref(object);
  source_rig_close(&f);
}

static void close_inside_open(hand_source *source) {
  source_rig *f = KIN__CONTAINER_OF(source, source_rig, source);
  source->inside_open = NULL;
  assert_int_equal(kin_informer_close(f->informer, NULL, NULL), 0);
  hand_source_expect(source, "L:0/500 W:5"); /* not before there is an answer */
}

/* A source that closes the informer while it opens an answer: that is cancelled
 * as soon as it has a name. */
static void test_closed_inside_open(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 0);
  f.source.inside_open = close_inside_open;
  hand_source_list(&f.source, "a@1", "5");
  hand_source_expect(&f.source, "x");
  source_rig_close(&f);

  source_rig_open(&f, 0);
  f.source.inside_open = close_inside_open;
  f.source.fail_opens = 1;
  f.source.open_error = KIN_ENOMEM;
  hand_source_list(&f.source, "a@1", "5");
  hand_source_expect(&f.source, "");
  assert_int_equal(f.errors, 0);
  source_rig_close(&f);
}

static void close_at_page(hand_source *source) {
  source_rig *f = KIN__CONTAINER_OF(source, source_rig, source);
  source->inside_open = NULL;
  assert_int_equal(kin_informer_close(f->informer, NULL, NULL), 0);
}

/* The same for a later page. The continue token is valid until open returns:
 * the source compares all strings of a request. */
static void test_page_closed_inside_open(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 1);
  hand_source_item(&f.source, "a@1");
  f.source.inside_open = close_at_page;
  hand_source_list_end(&f.source, "5", "c1");
  hand_source_expect(&f.source, "L:0/1 L=c1/1 x");
  source_rig_close(&f);
}

static void close_inside(hand_source *source) {
  source_rig *f = KIN__CONTAINER_OF(source, source_rig, source);
  source->inside_cancel = source->inside_pause = source->inside_resume = NULL;
  assert_int_equal(kin_informer_close(f->informer, NULL, NULL), 0);
}

/* A source that closes the informer while an answer is cancelled: nothing is
 * asked or waited for afterwards. */
static void test_closed_inside_cancel(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_watching(&f); /* a list is wanted in its place */
  f.source.inside_cancel = close_inside;
  assert_int_equal(kin_informer_set_shard(f.informer, 0, 2), 0);
  script_advance(&f.vh.script, 60000);
  hand_source_expect(&f.source, "x");
  source_rig_close(&f);

  source_rig_open_watching(&f); /* the watch is over its time */
  f.source.inside_cancel = close_inside;
  script_advance(&f.vh.script, 700000);
  hand_source_expect(&f.source, "x");
  source_rig_close(&f);

  source_rig_open_watching(&f); /* nonsense */
  f.source.inside_cancel = close_inside;
  assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_ADDED, NULL),
                   KIN_EINVAL);
  script_advance(&f.vh.script, 60000);
  hand_source_expect(&f.source, "x");
  assert_int_equal(f.errors, 0);
  source_rig_close(&f);
}

static int refuse_b(const kin_object *in, kin_object_builder *out, void *data) {
  (void)out;
  (void)data;
  return kin__str_equal(kin_object_name(in), KIN__LIT("b")) ? KIN_EINDEX : 0;
}

static iw_world *closing;

static void close_world(hand_source *source) {
  source->inside_cancel = NULL;
  assert_int_equal(kin_informer_close(closing->informer, iw_on_closed, closing),
                   0);
}

/* The program's answer stops the informer, so the open answer is cancelled, and
 * the source closes the informer in there: a list that was staged is freed, and
 * no timer is left. */
static void test_closed_inside_cancel_of_a_stop(void **state) {
  (void)state;
  for (int is_watch = 0; is_watch < 2; is_watch++) {
    iw_world w;
    hand_source source;
    iw_init(&w, 0);
    hand_source_init(&source, &w.script);
    kin_informer_options options = iw_options(&w);
    options.source = &source.lister_watcher;
    options.transform = refuse_b;
    w.answer = KIN_STOP;
    closing = &w;
    source.inside_cancel = close_world;
    assert_int_equal(iw_open(&w, &options), 0);
    script_run(&w.script);
    if (is_watch) {
      hand_source_list(&source, "a@1", "5");
      assert_int_equal(kin_feed_open(source.feed), 0);
      script_run(&w.script);
      hand_source_event(&source, KIN_WATCH_ADDED, "b@6");
    } else {
      hand_source_item(&source, "a@1");
      hand_source_item(&source, "b@2");
    }
    assert_int_equal(w.errors, 1);
    script_advance(&w.script, 700000);
    assert_int_equal(w.closed, 1);
    iw_finish(&w);
  }
}

/* The same while it is paused, because its list is complete. */
static void test_closed_inside_pause(void **state) {
  (void)state;
  source_rig f;
  source_rig_open_with(&f, 0, true);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "a@1");
  f.source.inside_pause = close_inside;
  assert_int_equal(kin_feed_bookmark(f.source.feed, kin__cstr("5"), true),
                   KIN_ECLOSED);
  script_advance(&f.vh.script, 60000);
  hand_source_expect(&f.source, "I:> p x");
  event_log_expect(&f.log, "");
  source_rig_close(&f);
}

/* The same while reading stops and goes on, because the queue is full. */
static void test_closed_when_full(void **state) {
  (void)state;
  for (int is_resume = 0; is_resume < 2; is_resume++) {
    source_rig f;
    source_rig_open_watching(&f);
    *(is_resume ? &f.source.inside_resume : &f.source.inside_pause) =
        close_inside;
    int err = 0;
    for (unsigned i = 0; i < 2100 && err == 0; i++) {
      char text[32];
      snprintf(text, sizeof text, "p%u@%u", i, i + 6);
      kin_object *object = hand_source_object(text);
      err = kin_feed_event(f.source.feed, KIN_WATCH_ADDED, object);
      kin_object_unref(object);
    }
    assert_int_equal(err, is_resume ? 0 : KIN_ECLOSED);
    script_run(&f.vh.script);
    hand_source_expect(&f.source, is_resume ? "p r x" : "p x");
    source_rig_close(&f);
  }
}

/* The same while its namespace is removed. */
static void test_closed_inside_removal(void **state) {
  (void)state;
  static const char *const one[] = {"ns"};
  source_rig f;
  memset(&f, 0, sizeof f);
  vh_init(&f.vh, 0);
  hand_source_init(&f.source, &f.vh.script);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &f.source.lister_watcher;
  options.namespaces = one;
  options.namespace_count = 1;
  assert_int_equal(kin__informer_open_on(&f.informer, &f.vh.host, &options), 0);
  assert_int_equal(kin_informer_start(f.informer), 0);
  script_run(&f.vh.script);
  for (int i = 0; i < 600; i++) {
    char text[32];
    snprintf(text, sizeof text, "ns/p%d@1", i);
    hand_source_item(&f.source, text);
  }
  hand_source_list_end(&f.source, "5", "");
  f.source.inside_cancel = close_inside;
  assert_int_equal(kin_informer_remove_namespace(f.informer, "ns"), 0);
  script_run(&f.vh.script);
  hand_source_expect(&f.source, "L:0/500 W:5 x");
  source_rig_close(&f);
}

static void reshard_inside_open(hand_source *source) {
  source_rig *f = KIN__CONTAINER_OF(source, source_rig, source);
  source->inside_open = NULL;
  assert_int_equal(kin_informer_set_shard(f->informer, 0, 2), 0);
}

/* A source that changes the shard while it opens an answer: that is cancelled
 * when it has a name, and the list comes after that. There is one answer at a
 * time. If the open fails, a list and no watch follows the wait. */
static void test_reshard_inside_open(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 0);
  f.source.inside_open = reshard_inside_open;
  hand_source_list(&f.source, "a@1", "5");
  hand_source_expect(&f.source, "L:0/500 W:5 x L:5>");
  hand_source_list(&f.source, "a@1", "5");
  hand_source_expect(&f.source, "W:5");
  source_rig_close(&f);

  source_rig_open(&f, 0);
  f.source.inside_open = reshard_inside_open;
  f.source.fail_opens = 1;
  f.source.open_error = KIN_ENOMEM;
  hand_source_list(&f.source, "a@1", "5");
  hand_source_expect(&f.source, "L:0/500 W:5");
  script_advance(&f.vh.script, 60000);
  hand_source_expect(&f.source, "L:5>");
  source_rig_close(&f);
}

/* A class that there is not is nonsense. */
static void test_classes_are_checked(void **state) {
  (void)state;
  static const int classes[] = {-1, KIN_CLASS_MEMORY + 1, 1000000};
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
    source_rig f;
    source_rig_open(&f, 0);
    kin_feed_error error = KIN_FEED_ERROR_INIT;
    error.code = KIN_EEOF;
    error.error_class = (kin_error_class)classes[i];
    f.source.is_open = false;
    assert_int_equal(kin_feed_fail(f.source.feed, &error, false), KIN_EINVAL);
    script_run(&f.vh.script);
    assert_int_equal(f.errors, 1);
    assert_int_equal(f.error.code, KIN_EINVAL);
    source_rig_close(&f);
  }
}

/* What cannot be asked for again is refused and told, not cut off. */
static void test_long_versions_and_tokens(void **state) {
  (void)state;
  static char text[KIN__TOKEN_SIZE + 1];
  memset(text, '7', sizeof text - 1);
  source_rig f;
  source_rig_open(&f, 0);
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
  assert_string_equal(source_rig_status(&f).resource_version, text);
  /* An event's that is longer is not taken over; the object is. */
  char object[2 * KIN__VERSION_SIZE];
  snprintf(object, sizeof object, "b@%.*s", (int)KIN__VERSION_SIZE,
           "9999999999999999999999999999999999999999999999999999999999999999");
  hand_source_event(&f.source, KIN_WATCH_MODIFIED, object);
  assert_non_null(kin_store_get_key(kin_informer_store(f.informer), "b"));
  assert_string_equal(source_rig_status(&f).resource_version, text);
  source_rig_close(&f);
}

/* PG-02: a page that ends with its own token would be asked for without end and
 * without a wait. Such a list fails, and is made again after a wait. */
static void test_token_comes_again(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 0);
  for (int i = 1; i <= 2; i++) {
    hand_source_expect(&f.source, "L:0/500");
    hand_source_item(&f.source, "a@1");
    hand_source_list_end(&f.source, "5", "c1");
    hand_source_expect(&f.source, "L=c1/500");
    hand_source_item(&f.source, "b@2");
    hand_source_list_end(&f.source, "5", "c1");
    hand_source_expect(&f.source, "");
    assert_int_equal(f.errors, i);
    assert_int_equal(f.error.code, KIN_EUNEXPECTED);
    assert_int_equal(source_rig_status(&f).staged, 0);
    script_advance(&f.vh.script, 4000);
  }
  hand_source_list_end(&f.source, "5", "c1");
  hand_source_list_end(&f.source, "5", "c2");
  hand_source_list(&f.source, "a@1", "5");
  hand_source_expect(&f.source, "L:0/500 L=c1/500 L=c2/500 W:5");
  event_log_expect(&f.log, "+a1! S:5#1");
  source_rig_close(&f);
}

/* NULL and other nonsense ends the answer, which is cancelled inside the call;
 * it is told, and the request is made again. */
static void test_nonsense_is_refused(void **state) {
  (void)state;
  source_rig f;
  source_rig_open(&f, 0);
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
  source_rig_close(&f);
}

/* Bookmarks and errors have functions of their own. */
static void test_types_that_are_no_events(void **state) {
  (void)state;
  static const kin_watch_event_type types[] = {
      KIN_WATCH_BOOKMARK, KIN_WATCH_ERROR, (kin_watch_event_type)0};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    source_rig f;
    source_rig_open_watching(&f);
    kin_object *object = hand_source_object("a@9");
    assert_int_equal(kin_feed_event(f.source.feed, types[i], object),
                     KIN_EINVAL);
    kin_object_unref(object);
    hand_source_expect(&f.source, "x");
    assert_all_closed(&f);
    script_run(&f.vh.script);
    assert_string_equal(source_rig_status(&f).resource_version, "5");
    event_log_expect(&f.log, "");
    source_rig_close(&f);
  }
}

/* The requests of an informer to its source, and the answers. */
typedef struct asked {
  virtual_host vh;
  kin_informer *informer;
  kin_feed *feed;
  char token[KIN__TOKEN_SIZE];
  char text[256]; /* "list namespace|labels|fields|version|match" */
  uint32_t limit;
  uint32_t timeout_s;
  size_t parameter_count;
  int answers; /* given to open and cancel as a pointer to itself */
} asked;

static int note_request(void *ctx, const kin_feed_request *request,
                        kin_feed *feed, void **out) {
  asked *a = ctx;
  a->feed = feed;
  snprintf(a->token, sizeof a->token, "%s", request->continue_token);
  snprintf(a->text, sizeof a->text, "%s %s|%s|%s|%s|%s",
           request->is_watch ? "watch" : "list", request->namespace_,
           request->label_selector, request->field_selector,
           request->resource_version, request->resource_version_match);
  a->limit = request->limit;
  a->timeout_s = request->timeout_s;
  a->parameter_count = request->parameter_count;
  assert_false(request->send_initial_events);
  *out = &a->answers;
  return 0;
}

static void note_cancel(void *ctx, void *answer) {
  asked *a = ctx;
  assert_ptr_equal(answer, &a->answers);
  a->answers++;
}

/* Strings are never NULL; a limit is a list's, a time a watch's. A token of 16
 * KiB comes back whole. */
static void test_requests(void **state) {
  (void)state;
  static const char *const one[] = {"ns"};
  static asked a;
  memset(&a, 0, sizeof a);
  vh_init(&a.vh, 0);
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  source.open = note_request;
  source.cancel = note_cancel;
  source.ctx = &a;
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &source;
  options.namespaces = one;
  options.namespace_count = 1;
  options.field_selector = "x=y";
  assert_int_equal(kin__informer_open_on(&a.informer, &a.vh.host, &options), 0);
  assert_int_equal(kin_informer_start(a.informer), 0);
  script_run(&a.vh.script);
  assert_string_equal(a.text, "list ns||x=y|0|");
  assert_int_equal(a.limit, 500);
  assert_int_equal(a.timeout_s, 0);
  assert_int_equal(a.parameter_count, 0);
  static char token[KIN__TOKEN_SIZE];
  memset(token, 't', sizeof token - 1);
  assert_int_equal(strlen(token), 16 << 10);
  assert_int_equal(kin_feed_list_end(a.feed, "5", token), 0);
  script_run(&a.vh.script);
  assert_string_equal(a.text, "list ns||x=y||");
  assert_string_equal(a.token, token);
  assert_int_equal(kin_feed_list_end(a.feed, "5", NULL), 0);
  script_run(&a.vh.script);
  assert_string_equal(a.text, "watch ns||x=y|5|");
  assert_string_equal(a.token, "");
  assert_int_equal(a.limit, 0);
  assert_in_range(a.timeout_s, 300, 600);
  assert_int_equal(a.answers, 0);
  vh_finish(&a.vh);
  assert_int_equal(a.answers, 1);
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
  assert_int_equal(kin__informer_open_on(&informer, host, &options),
                   KIN_EINVAL);
  source.open = open_nothing;
  assert_int_equal(kin__informer_open_on(&informer, host, &options),
                   KIN_EINVAL);
  source.cancel = do_nothing;
  source.pause = do_nothing;
  assert_int_equal(kin__informer_open_on(&informer, host, &options),
                   KIN_EINVAL);
  source.resume = do_nothing;
  source.size = 8;
  assert_int_equal(kin__informer_open_on(&informer, host, &options),
                   KIN_EINVAL);
  assert_null(informer);
  source.size = sizeof source;
  assert_int_equal(kin__informer_open_on(&informer, host, &options), 0);
  vh_finish(&vh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_feeding_out_of_turn),
      cmocka_unit_test(test_closed_inside_open),
      cmocka_unit_test(test_page_closed_inside_open),
      cmocka_unit_test(test_closed_inside_cancel),
      cmocka_unit_test(test_closed_inside_cancel_of_a_stop),
      cmocka_unit_test(test_closed_inside_pause),
      cmocka_unit_test(test_closed_when_full),
      cmocka_unit_test(test_closed_inside_removal),
      cmocka_unit_test(test_reshard_inside_open),
      cmocka_unit_test(test_classes_are_checked),
      cmocka_unit_test(test_long_versions_and_tokens),
      cmocka_unit_test(test_token_comes_again),
      cmocka_unit_test(test_nonsense_is_refused),
      cmocka_unit_test(test_types_that_are_no_events),
      cmocka_unit_test(test_requests),
      cmocka_unit_test(test_sources_that_lack_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
