/* SPDX-License-Identifier: MIT */

/* The options of a public reflector, and options that it refuses. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "cache/public_reflector.h"
#include "support/queue_rig.h"
#include "support/reflector_rig.h"
#include "support/targets.h"

/* --- The resource --------------------------------------------------------- */

static void nothing(void *data) {
  (void)data;
}

static void no_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)event;
  (void)data;
}

static void no_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)namespace_;
  (void)from;
  (void)to;
  (void)data;
}

static void no_mutation(kin_informer *informer, const kin_mutation *mutation,
                        void *data) {
  (void)informer;
  (void)mutation;
  (void)data;
}

/* A reflector refuses options that only an informer can use. */
static void test_options_without_meaning(void **state) {
  (void)state;
  for (int i = 0; i < 6; i++) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    switch (i) {
    case 0:
      f.resource.resync_ms = 1;
      break;
    case 1:
      f.resource.fixed_indices = true;
      break;
    case 2:
      f.resource.on_error = no_error;
      break;
    case 3:
      f.resource.on_state = no_state;
      break;
    case 4:
      f.resource.on_closed = nothing;
      break;
    default:
      f.resource.on_mutation = no_mutation;
    }
    assert_int_equal(
        kin__public_reflector_open(&f.reflector, &f.vh.host, &f.options),
        KIN_EINVAL);
    assert_null(f.reflector);
    reflector_rig_finish(&f);
  }
}

#define POD(name, version, rest)                                               \
  "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name                     \
  "\",\"resourceVersion\":\"" version                                          \
  "\",\"managedFields\":[1]},\"spec\":{\"a\":1,\"b\":2}" rest "}"
#define LIST(items, version)                                                   \
  "{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"

static void open_over_http(reflector_rig *f, kin_store **store) {
  assert_int_equal(kin_store_new(store, NULL), 0);
  f->store = store_target(*store);
  f->resource.source = NULL;
  f->resource.no_watch_list = true;
  assert_int_equal(reflector_rig_open(f), 0);
}

static void finish_over_http(reflector_rig *f, kin_store *store) {
  assert_int_equal(kin_reflector_close(f->reflector, NULL, NULL), 0);
  script_run(&f->vh.script);
  kin_store_free(store); /* the objects are of the host's memory */
  reflector_rig_finish(f);
}

static bool has_text(const kin_store *store, const char *key,
                     const char *text) {
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, kin_store_get_key(store, key)),
                   0);
  kin_str json = kin_object_view_json(view);
  bool has = memmem(json.data, json.length, text, strlen(text)) != NULL;
  kin_object_view_close(view);
  return has;
}

/* The kept parts of each object, in lists and in watches. */
static void test_what_is_kept(void **state) {
  (void)state;
  static const char *const only_a[] = {"/spec/a"};
  static const struct {
    bool keeps_managed;
    size_t field_count;
    bool has_managed;
    bool has_b;
  } cases[] = {
      {false, 0, false, true}, {true, 0, true, true}, {false, 1, false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    f.resource.keep_managed_fields = cases[i].keeps_managed;
    f.resource.fields = only_a;
    f.resource.field_count = cases[i].field_count;
    kin_store *store;
    open_over_http(&f, &store);
    script_respond(&f.vh.script, "/pods", 200, LIST(POD("a", "1", ""), "5"));
    assert_true(script_head(&f.vh.script, "watch=true", 200));
    static const char event[] =
        "{\"type\":\"ADDED\",\"object\":" POD("b", "6", "") "}";
    script_body(&f.vh.script, "watch=true", event, sizeof event - 1);
    static const char *const keys[] = {"a", "b"};
    for (size_t k = 0; k < 2; k++) {
      assert_true(has_text(store, keys[k], "\"a\":1"));
      assert_int_equal(has_text(store, keys[k], "\"b\":2"), cases[i].has_b);
      assert_int_equal(has_text(store, keys[k], "managedFields"),
                       cases[i].has_managed);
    }
    finish_over_http(&f, store);
  }
}

/* Metadata alone is asked for, of lists and watches, with the selectors. */
static void test_what_is_asked(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.resource.metadata_only = true;
  f.resource.field_selector = "spec.nodeName=n1";
  f.resource.page_size = 7;
  kin_store *store;
  open_over_http(&f, &store);
  assert_string_equal(f.vh.script.last_target,
                      "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&limit=7&"
                      "resourceVersion=0");
  assert_non_null(
      strstr(script_expect(&f.vh.script, "/pods")->accept, "PartialObject"));
  script_respond(&f.vh.script, "/pods", 200, LIST("", "5"));
  script_request *watch = script_expect(&f.vh.script, "watch=true");
  assert_non_null(strstr(watch->target, "fieldSelector=spec.nodeName%3Dn1&"));
  assert_non_null(strstr(watch->accept, "PartialObject"));
  finish_over_http(&f, store);
}

/* An object over the limit is written with its key only, one without a name is
 * skipped; both are told, and stop nothing. */
static void test_bad_objects(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.resource.max_object_bytes = 400;
  kin_store *store;
  open_over_http(&f, &store);
  char big[1024];
  char rest[512];
  memset(rest, 'x', sizeof rest - 1);
  rest[sizeof rest - 1] = '\0';
  snprintf(big, sizeof big,
           "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"big\","
           "\"uid\":\"u\",\"resourceVersion\":\"6\"},\"rest\":\"%s\"}}",
           rest);
  script_respond(&f.vh.script, "/pods", 200,
                 LIST(POD("a", "1", "") ",{\"metadata\":{}}", "5"));
  assert_int_equal(kin_store_count(store), 1);
  assert_int_equal(f.errors, 1);
  assert_int_equal(f.last_code, KIN_EKEY);
  script_advance(&f.vh.script, 2000);
  assert_true(script_head(&f.vh.script, "watch=true", 200));
  script_body(&f.vh.script, "watch=true", big, strlen(big));
  assert_int_equal(f.errors, 2);
  assert_int_equal(f.last_code, KIN_ETOOBIG);
  assert_int_equal(f.last_retry_ms, 0);
  assert_true(kin_object_is_key_only(kin_store_get_key(store, "big")));
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_reflector_get_status(f.reflector, &status), 0);
  assert_int_equal(status.bad_objects, 1);
  assert_int_equal(status.oversized, 1);
  finish_over_http(&f, store);
}

/* RD-01: an internal error is repeated without a wait for so long. */
static void test_internal_errors_are_repeated_at_once(void **state) {
  (void)state;
  for (int is_on = 0; is_on < 2; is_on++) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    f.resource.internal_error_retry_ms = is_on != 0 ? 60000 : 0;
    reflector_rig_open_watching(&f);
    script_advance(&f.vh.script, 2000);
    hand_source_fail(&f.source, 500, "InternalError", true);
    script_advance(&f.vh.script, 250);
    hand_source_expect(&f.source, is_on != 0 ? "W:5" : "");
    reflector_rig_finish(&f);
  }
}

/* RF-15: lists that have no version: the position is of no use. */
static void test_lists_without_a_version(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  assert_int_equal(reflector_rig_open(&f), 0);
  assert_false(kin_reflector_is_last_sync_version_unavailable(f.reflector));
  hand_source_list(&f.source, "a@1", "");
  assert_true(kin_reflector_has_synced(f.reflector));
  assert_true(kin_reflector_is_last_sync_version_unavailable(f.reflector));
  assert_string_equal(kin_reflector_last_sync_version(f.reflector), "");
  reflector_rig_finish(&f);
}

/* --- The store ------------------------------------------------------------ */

/* Only these four functions are required, each of them. */
static void test_required_functions(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    switch (i) {
    case 0:
      f.store.add = NULL;
      break;
    case 1:
      f.store.update = NULL;
      break;
    case 2:
      f.store.delete_ = NULL;
      break;
    default:
      f.store.replace = NULL;
    }
    assert_int_equal(
        kin__public_reflector_open(&f.reflector, &f.vh.host, &f.options),
        KIN_EINVAL);
    reflector_rig_finish(&f);
  }
}

/* Strings and structs of the options are the caller's again at once; a resync
 * that nobody asked for does not come. */
static void test_options_are_copied(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  char name[] = "mine";
  char plural[] = "pods";
  f.options.name = name;
  f.resource.plural = plural;
  f.resource.data = f.resource.transform_data = plural; /* without effect */
  assert_int_equal(reflector_rig_open(&f), 0);
  memset(name, 'x', sizeof name - 1);
  memset(plural, 'x', sizeof plural - 1);
  memset(&f.store, 0, sizeof f.store);
  memset(&f.resource, 0xff, sizeof f.resource);
  memset(&f.options, 0xff, sizeof f.options);
  hand_source_list(&f.source, "a@1", "5");
  assert_int_equal(kin_feed_open(f.source.feed), 0);
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  script_advance(&f.vh.script, 240000);
  reflector_rig_expect(&f, "R(a@1)#5 +b@6 V6");
  assert_string_equal(kin_reflector_name(f.reflector), "mine");
  assert_string_equal(kin_reflector_description(f.reflector), "pods.v1");
  reflector_rig_finish(&f);
}

/* A name may have 255 bytes. */
static void test_longest_name(void **state) {
  (void)state;
  char name[256];
  memset(name, 'n', sizeof name - 1);
  name[255] = '\0';
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.options.name = name;
  assert_int_equal(reflector_rig_open(&f), 0);
  assert_string_equal(kin_reflector_name(f.reflector), name);
  reflector_rig_finish(&f);
}

static void resume_inside(reflector_rig *f) {
  if (strchr(f->log, 'V') != NULL) {
    f->is_full = false;
    assert_int_equal(kin_reflector_resume(f->reflector), 0);
  }
}

/* Reading may be resumed from a function of the store; it goes on later, once
 * that has returned. */
static void test_resumed_by_the_store(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  f.is_full = true;
  f.during = resume_inside;
  kin_object *object = hand_source_object("b@6");
  assert_int_equal(kin_feed_event(f.source.feed, KIN_WATCH_ADDED, object), 0);
  kin_object_unref(object);
  hand_source_expect(&f.source, "p");
  script_run(&f.vh.script);
  hand_source_expect(&f.source, "r");
  f.during = NULL;
  reflector_rig_finish(&f);
}

/* A resync and a bookmark get into a queue as they are told of there. */
static void test_resync_of_a_queue(void **state) {
  (void)state;
  static const struct {
    rig_kind kind;
    const char *known;
    const char *popped;
  } cases[] = {{RIG_FIFO, NULL, ""},
               {RIG_DELTA, "a@1", "S:a@1"},
               {RIG_IN_ORDER, NULL, "B:6 | S*"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    queue_rig q;
    queue_rig_init(&q);
    q.options.emit_bookmarks = cases[i].kind == RIG_IN_ORDER;
    if (cases[i].known != NULL) {
      queue_rig_know(&q, cases[i].known);
    }
    queue_rig_open(&q, cases[i].kind);
    reflector_rig f;
    reflector_rig_init(&f, 0);
    f.options.resync_ms = 1000;
    f.store = queue_target(q.queue);
    assert_int_equal(reflector_rig_open(&f), 0);
    hand_source_list(&f.source, "a@1", "5");
    assert_int_equal(kin_feed_open(f.source.feed), 0);
    queue_rig_do(&q, "P");
    q.log[0] = '\0';
    hand_source_bookmark(&f.source, "6");
    script_advance(&f.vh.script, 1000);
    queue_rig_drain(&q, cases[i].popped);
    assert_int_equal(f.errors, 0);
    reflector_rig_finish(&f);
    queue_rig_close(&q);
  }
}

/* QF-16: bookmarks fill a queue as changes do. */
static void test_bookmarks_fill_a_queue(void **state) {
  (void)state;
  queue_rig q;
  queue_rig_init(&q);
  q.options.emit_bookmarks = true;
  q.options.pending_limit = 3;
  queue_rig_open(&q, RIG_IN_ORDER);
  reflector_rig f;
  reflector_rig_init(&f, 0);
  f.store = queue_target(q.queue);
  assert_int_equal(reflector_rig_open(&f), 0);
  hand_source_list(&f.source, "a@1", "5");
  assert_int_equal(kin_feed_open(f.source.feed), 0);
  hand_source_bookmark(&f.source, "6");
  hand_source_expect(&f.source, "L:0/500 W:5");
  hand_source_bookmark(&f.source, "7");
  hand_source_expect(&f.source, "p");
  queue_rig_drain(&q, "R*(a@1)#5 | B:6 | B:7");
  assert_int_equal(kin_reflector_resume(f.reflector), 0);
  script_run(&f.vh.script);
  hand_source_expect(&f.source, "r");
  reflector_rig_finish(&f);
  queue_rig_close(&q);
}

/* --- The end -------------------------------------------------------------- */

static int refused_calls;

static void count_refused(void *data) {
  (void)data;
  refused_calls++;
}

/* A close that is refused calls nothing back, and the first needs no
 * callback. */
static void test_close_is_refused(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  reflector_rig_open_watching(&f);
  refused_calls = 0;
  assert_int_equal(kin_reflector_close(f.reflector, NULL, NULL), 0);
  assert_int_equal(kin_reflector_close(f.reflector, count_refused, NULL),
                   KIN_EALREADY);
  script_run(&f.vh.script);
  assert_int_equal(refused_calls, 0);
  assert_int_equal(f.closed, 1);
  reflector_rig_finish(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options_without_meaning),
      cmocka_unit_test(test_what_is_kept),
      cmocka_unit_test(test_what_is_asked),
      cmocka_unit_test(test_bad_objects),
      cmocka_unit_test(test_internal_errors_are_repeated_at_once),
      cmocka_unit_test(test_lists_without_a_version),
      cmocka_unit_test(test_required_functions),
      cmocka_unit_test(test_options_are_copied),
      cmocka_unit_test(test_longest_name),
      cmocka_unit_test(test_resumed_by_the_store),
      cmocka_unit_test(test_resync_of_a_queue),
      cmocka_unit_test(test_bookmarks_fill_a_queue),
      cmocka_unit_test(test_close_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
