/* SPDX-License-Identifier: MIT */

/* The options of retry watchers and informer watchers. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/hand_source.h"
#include "support/retry_world.h"

static void count_call(void *data) {
  ++*(int *)data;
}

/* --- Retry watchers ------------------------------------------------------- */

/* Versions of 63 bytes, a limit of a day. */
static void test_retry_watcher_limits(void **state) {
  (void)state;
  char version[65];
  memset(version, '1', sizeof version - 1);
  version[63] = '\0';
  retry_world w;
  rw_init(&w, version, 0);
  w.options.timeout_s = 86400;
  assert_int_equal(rw_try_open(&w), 0);
  rw_expect_request(&w, version);
  script_expect(&w.vh.script, "&timeoutSeconds=86400&");
  rw_finish(&w);
}

/* Strings are the caller's again at once; data of the resource has no
 * effect. */
static void test_retry_watcher_copies_options(void **state) {
  (void)state;
  char version[] = "5";
  char plural[] = "nodes";
  retry_world w;
  rw_init(&w, version, 0);
  w.resource.plural = plural;
  w.resource.data = w.resource.transform_data = plural;
  w.resource.no_watch_list = true;
  assert_int_equal(rw_try_open(&w), 0);
  memset(version, 'x', sizeof version - 1);
  memset(plural, 'x', sizeof plural - 1);
  memset(&w.resource, 0xff, sizeof w.resource);
  script_advance(&w.vh.script, 1000);
  rw_break(&w); /* and asks again */
  script_expect(&w.vh.script, "/api/v1/nodes?");
  rw_expect_request(&w, "5");
  rw_finish(&w);
}

static char shown[512];
static bool was_key_only;

static void show_object(const kin_watch_event *event, void *data) {
  (void)data;
  was_key_only = kin_object_is_key_only(event->object);
  if (was_key_only) {
    return;
  }
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, event->object), 0);
  kin_str json = kin_object_view_json(view);
  assert_true(json.length < sizeof shown);
  memcpy(shown, json.data, json.length);
  shown[json.length] = '\0';
  kin_object_view_close(view);
}

/* The resource options decide the request and the kept parts of each object. An
 * object over the limit arrives as its key, and an error is told. */
static void test_retry_watcher_resource(void **state) {
  (void)state;
  static const char *const only_a[] = {"/spec/a"};
  static const kin_parameter tenant = {"tenant", "t"};
  for (int keeps_managed = 0; keeps_managed < 2; keeps_managed++) {
    retry_world w;
    rw_init(&w, "5", 0);
    w.options.on_event = show_object;
    w.resource.keep_managed_fields = keeps_managed != 0;
    w.resource.fields = only_a;
    w.resource.field_count = keeps_managed != 0 ? 0 : 1;
    w.resource.metadata_only = true;
    w.resource.parameters = &tenant;
    w.resource.parameter_count = 1;
    w.resource.max_object_bytes = 200;
    assert_int_equal(rw_try_open(&w), 0);
    script_request *request = script_expect(&w.vh.script, "&tenant=t&");
    assert_non_null(strstr(request->accept, "PartialObjectMetadata"));
    rw_head(&w);
    rw_send(&w, RW_FRAME("ADDED",
                         "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":"
                         "\"6\",\"managedFields\":[1]},"
                         "\"spec\":{\"a\":1,\"b\":2}}"));
    assert_false(was_key_only);
    assert_non_null(strstr(shown, "\"a\":1"));
    assert_int_equal(strstr(shown, "\"b\":2") != NULL, keeps_managed != 0);
    assert_int_equal(strstr(shown, "managedFields") != NULL,
                     keeps_managed != 0);
    char rest[300];
    char frame[1024];
    memset(rest, 'x', sizeof rest - 1);
    rest[sizeof rest - 1] = '\0';
    snprintf(frame, sizeof frame,
             RW_FRAME("MODIFIED", "{\"metadata\":{\"name\":\"x\","
                                  "\"resourceVersion\":\"7\"},\"s\":\"%s\"}"),
             rest);
    rw_send(&w, frame);
    assert_true(was_key_only);
    watch_log_expect(&w.log, "! ");
    assert_int_equal(w.log.retry_in_ms, 0);
    assert_string_equal(kin_retry_watcher_resource_version(w.watcher), "7");
    rw_finish(&w);
  }
}

/* TW-04: a server that asks for a year is waited for an hour. */
static void test_retry_watcher_longest_wait(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "5");
  rw_head(&w);
  script_advance(&w.vh.script, 5000);
  assert_false(rw_send(
      &w, RW_FRAME("ERROR", "{\"kind\":\"Status\",\"status\":\"Failure\","
                            "\"code\":429,\"reason\":\"TooManyRequests\","
                            "\"details\":{\"retryAfterSeconds\":31536000}}")));
  assert_int_equal(w.log.retry_in_ms, 3600000);
  script_advance(&w.vh.script, 3599999);
  rw_expect_none(&w);
  script_advance(&w.vh.script, 1);
  rw_expect_request(&w, "5");
  rw_finish(&w);
}

/* TW-04: 410 as an event of the watch is the end; in answer to the request it
 * is tried again. A source of the program's own says which. */
static void test_retry_watcher_source_has_expired(void **state) {
  (void)state;
  for (int is_event = 0; is_event < 2; is_event++) {
    retry_world w;
    hand_source source;
    rw_init(&w, "5", 0);
    hand_source_init(&source, &w.vh.script);
    w.resource.source = &source.lister_watcher;
    w.options.timeout_s = 3600; /* which the source wants */
    assert_int_equal(rw_try_open(&w), 0);
    hand_source_expect(&source, "W:5");
    script_advance(&w.vh.script, 2000);
    hand_source_fail(&source, 410, "Expired", is_event != 0);
    watch_log_expect(&w.log, is_event != 0 ? "E:410/Expired end:EGONE " : "! ");
    script_advance(&w.vh.script, 2000);
    hand_source_expect(&source, is_event != 0 ? "" : "W:5");
    rw_finish(&w);
  }
}

static kin_watch_event last_event;

static void note_event(const kin_watch_event *event, void *data) {
  (void)data;
  last_event = *event;
}

/* Why there are no more events, in an event. */
static void test_retry_watcher_error_event(void **state) {
  (void)state;
  static const struct {
    const char *status;
    int code;
    kin_error_class error_class;
  } cases[] = {
      {RW_STATUS("403", "Forbidden"), KIN_ESTATUS, KIN_CLASS_FORBIDDEN},
      {RW_STATUS("401", "Unauthorized"), KIN_ESTATUS, KIN_CLASS_AUTH}};
  for (size_t i = 0; i < 2; i++) {
    retry_world w;
    rw_init(&w, "5", 0);
    w.options.on_event = note_event;
    assert_int_equal(rw_try_open(&w), 0);
    rw_respond(&w, i == 0 ? 403 : 401, cases[i].status);
    assert_int_equal(last_event.type, KIN_WATCH_ERROR);
    assert_int_equal(last_event.code, cases[i].code);
    assert_int_equal(last_event.error_class, cases[i].error_class);
    assert_int_equal(last_event.status, i == 0 ? 403 : 401);
    rw_finish(&w);
  }
}

/* --- Informer watchers ---------------------------------------------------- */

typedef struct watcher_world {
  virtual_host vh;
  kin_informer_options resource;
  kin_informer_watcher_options options;
  kin_informer_watcher *watcher;
  watch_log log;
} watcher_world;

static void init(watcher_world *w) {
  *w = (watcher_world){.resource = KIN_INFORMER_OPTIONS_INIT,
                       .options = KIN_INFORMER_WATCHER_OPTIONS_INIT};
  vh_init(&w->vh, 0);
  w->resource.plural = "pods";
  w->options.resource = &w->resource;
  w->options.on_event = watch_log_on_event;
  w->options.on_closed = watch_log_on_closed;
  w->options.data = &w->log;
}

static int try_open(watcher_world *w) {
  return kin__informer_watcher_open(&w->watcher, &w->vh.host, &w->options);
}

static void finish(watcher_world *w) {
  w->log.text[0] = '\0';
  w->log.is_over = true;
  vh_finish(&w->vh);
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)from;
  (void)to;
  assert_string_equal(namespace_, "even");
  ++*(int *)data;
}

static int drop_all(const kin_object *in, kin_object_builder *out, void *data) {
  (void)in;
  ++*(int *)data;
  return kin_object_builder_keep(out, NULL, 0);
}

/* The informer's options are copied, and all of them count. */
static void test_informer_watcher_resource(void **state) {
  (void)state;
  watcher_world w;
  init(&w);
  char plural[] = "pods";
  char namespace_[] = "even";
  const char *namespaces[] = {namespace_};
  int states = 0;
  int transforms = 0;
  w.resource.plural = plural;
  w.resource.namespaces = namespaces;
  w.resource.namespace_count = 1;
  w.resource.label_selector = "a=b";
  w.resource.on_state = on_state;
  w.resource.data = &states;
  w.resource.transform = drop_all;
  w.resource.transform_data = &transforms;
  mini_put_first(&w.vh.server, 2);
  assert_int_equal(try_open(&w), 0);
  memset(plural, 'x', sizeof plural - 1);
  memset(namespace_, 'x', sizeof namespace_ - 1);
  memset(&w.resource, 0xff, sizeof w.resource);
  script_run(&w.vh.script);
  assert_non_null(strstr(w.vh.script.last_target,
                         "/namespaces/even/pods?labelSelector=a%3Db&"));
  mini_serve(&w.vh.server);
  watch_log_expect(&w.log, "A:even/p0@101 ");
  assert_int_equal(states, 2);
  assert_int_equal(transforms, 1);
  finish(&w);
}

enum { MANY = 4300, APPLIED_AT_ONCE = 64 };

static void take_a_second(watch_log *log) {
  watcher_world *w = log->data;
  w->vh.script.now_ns += UINT64_C(1000000000);
}

/* By default 4,096 events wait as they came, and no more: of the others, only
 * those that are told while changes are applied. */
static void test_informer_watcher_default_limit(void **state) {
  (void)state;
  watcher_world w;
  init(&w);
  assert_int_equal(try_open(&w), 0);
  script_run(&w.vh.script);
  script_respond(&w.vh.script, "pods", 200,
                 "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":"
                 "\"1000\"},\"items\":[]}");
  assert_true(script_head(&w.vh.script, "watch=true", 200));
  static char frames[MANY * 110];
  size_t used = 0;
  for (unsigned i = 1; i <= MANY; i++) {
    used += (size_t)snprintf(
        frames + used, sizeof frames - used,
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"x\","
        "\"uid\":\"u\",\"resourceVersion\":\"%u\"}}}\n",
        1000 + i);
  }
  w.options.on_event = NULL;  /* copied: of no effect */
  w.log.then = take_a_second; /* one event a turn */
  w.log.data = &w;
  assert_true(script_body(&w.vh.script, "watch=true", frames, used));
  /* One event is told after each full step but the first. */
  int told_before = MANY / APPLIED_AT_ONCE - 1;
  assert_in_range(w.log.events - told_before, 4096, 4097);
  finish(&w);
}

/* Nor is anything coalesced while it is paused, if that is what is asked
 * for. */
static void test_informer_watcher_paused_without_limit(void **state) {
  (void)state;
  for (int is_exact = 0; is_exact < 2; is_exact++) {
    watcher_world w;
    init(&w);
    w.options.exact_limit = is_exact != 0 ? KIN_NEVER : 0;
    mini_put(&w.vh.server, 0);
    assert_int_equal(try_open(&w), 0);
    mini_serve(&w.vh.server);
    kin_informer_watcher_pause(w.watcher);
    for (int i = 0; i < 3; i++) {
      mini_put(&w.vh.server, 0);
      mini_serve(&w.vh.server);
    }
    watch_log_expect(&w.log, "A:even/p0@101 ");
    kin_informer_watcher_resume(w.watcher);
    script_run(&w.vh.script);
    watch_log_expect(&w.log, is_exact != 0
                                 ? "M:even/p0@102 M:even/p0@103 M:even/p0@104 "
                                 : "M:even/p0@104 ");
    finish(&w);
  }
}

/* A close that is refused calls nothing back; there need be no callback. */
static void test_watchers_closed_twice(void **state) {
  (void)state;
  watcher_world w;
  init(&w);
  w.options.on_closed = NULL;
  assert_int_equal(try_open(&w), 0);
  int first = 0;
  int second = 0;
  assert_int_equal(kin_informer_watcher_close(w.watcher, count_call, &first),
                   0);
  assert_int_equal(kin_informer_watcher_close(w.watcher, count_call, &second),
                   KIN_EALREADY);
  assert_int_equal(first, 0);
  script_run(&w.vh.script);
  assert_int_equal(first, 1);
  assert_int_equal(second, 0);
  finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_retry_watcher_limits),
      cmocka_unit_test(test_retry_watcher_copies_options),
      cmocka_unit_test(test_retry_watcher_resource),
      cmocka_unit_test(test_retry_watcher_longest_wait),
      cmocka_unit_test(test_retry_watcher_source_has_expired),
      cmocka_unit_test(test_retry_watcher_error_event),
      cmocka_unit_test(test_informer_watcher_resource),
      cmocka_unit_test(test_informer_watcher_default_limit),
      cmocka_unit_test(test_informer_watcher_paused_without_limit),
      cmocka_unit_test(test_watchers_closed_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
