/* SPDX-License-Identifier: MIT */

/* The options of a pager, and its result. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/idle_callbacks.h"
#include "support/pager_world.h"

#define PAGE(version, token, items)                                            \
  "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version         \
  "\",\"continue\":\"" token "\"},\"items\":[" items "]}"
#define ITEM(name, rest)                                                       \
  "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u\",\"resourceVersion\":"    \
  "\"1\",\"managedFields\":[1]},\"spec\":{\"a\":1,\"b\":2}" rest "}"

/* --- The resource --------------------------------------------------------- */

static void nothing(void *data) {
  (void)data;
}

/* A pager refuses options that have no meaning for one list. */
static void test_pager_options_without_meaning(void **state) {
  (void)state;
  for (int i = 0; i < 7; i++) {
    pager_world w;
    pw_init(&w, 0);
    switch (i) {
    case 0:
      w.resource.consistency = KIN_CONSISTENCY_MOST_RECENT;
      break;
    case 1:
      w.resource.stale_after_ms = 1000;
      break;
    case 2:
      w.resource.internal_error_retry_ms = 1000;
      break;
    case 3:
      w.resource.clear_when_absent = true;
      break;
    case 4:
      w.resource.transform = change_nothing;
      break;
    case 5:
      w.resource.on_closed = nothing;
      break;
    default:
      w.resource.fixed_indices = true;
    }
    assert_int_equal(pw_try_open(&w), KIN_EINVAL);
    assert_null(w.pager);
    pw_finish(&w);
  }
}

static char texts[2][512];
static unsigned text_count;

static int keep_text(const kin_object *item, void *data) {
  (void)data;
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, item), 0);
  kin_str json = kin_object_view_json(view);
  assert_true(text_count < 2 && json.length < sizeof texts[0]);
  memcpy(texts[text_count], json.data, json.length);
  texts[text_count++][json.length] = '\0';
  kin_object_view_close(view);
  return 0;
}

static int set_tenant(kin_request_options *options, void *data) {
  options->label_selector = data;
  return 0;
}

/* Of each page what was said to be kept; each is asked for with parameters and
 * selectors, and as metadata only. */
static void test_pager_options_that_count(void **state) {
  (void)state;
  static const char *const only_a[] = {"/spec/a"};
  static const kin_parameter tenant = {"tenant", "t"};
  for (int keeps_managed = 0; keeps_managed < 2; keeps_managed++) {
    pager_world w;
    pw_init(&w, 0);
    text_count = 0;
    w.options.on_item = keep_text;
    w.options.on_end = NULL; /* it counts its own items */
    w.resource.keep_managed_fields = keeps_managed != 0;
    w.resource.fields = only_a;
    w.resource.field_count = keeps_managed != 0 ? 0 : 1;
    w.resource.metadata_only = true;
    w.resource.parameters = &tenant;
    w.resource.parameter_count = 1;
    w.resource.field_selector = "x=y";
    w.resource.modify = set_tenant;
    w.resource.modify_data = (void *)"a!=b";
    w.resource.data = w.resource.transform_data = &w; /* without effect */
    w.resource.no_watch_list = keeps_managed != 0;    /* the same */
    assert_int_equal(pw_try_open(&w), 0);
    for (int page = 0; page < 2; page++) {
      script_request *request = script_expect(&w.vh.script, "/pods");
      assert_string_equal(
          request->target,
          page == 0 ? "/api/v1/pods?fieldSelector=x%3Dy&labelSelector=a%21%3Db&"
                      "limit=500&tenant=t"
                    : "/api/v1/pods?continue=t&fieldSelector=x%3Dy&"
                      "labelSelector=a%21%3Db&limit=500&tenant=t");
      assert_non_null(strstr(request->accept, "PartialObjectMetadataList"));
      pw_respond(&w, "/pods", 200,
                 page == 0 ? PAGE("7", "t", ITEM("a", ""))
                           : PAGE("7", "", ITEM("b", "")));
      assert_int_equal(text_count, page + 1);
      assert_non_null(strstr(texts[page], "\"a\":1"));
      bool is_all = keeps_managed != 0;
      assert_int_equal(strstr(texts[page], "\"b\":2") != NULL, is_all);
      assert_int_equal(strstr(texts[page], "managedFields") != NULL, is_all);
    }
    pw_finish(&w);
  }
}

static bool was_key_only;

static void note_key_only(const kin_object *item) {
  was_key_only = kin_object_is_key_only(item);
}

static int note_item(const kin_object *item, void *data) {
  (void)data;
  note_key_only(item);
  return 0;
}

static int last_code;
static unsigned error_calls;
static uint64_t last_retry_ms;

static void note_error(kin_error_event *event, void *data) {
  (void)data;
  error_calls++;
  last_code = event->code;
  last_retry_ms = event->retry_in_ms;
}

/* An item over the limit is given with its key only, one without a name is
 * not; on_error is told, and the list goes on. */
static void test_pager_options_bad_items(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  w.resource.max_object_bytes = 200;
  w.options.on_item = note_item;
  w.options.on_end = NULL;
  w.options.on_error = note_error;
  error_calls = 0;
  assert_int_equal(pw_try_open(&w), 0);
  char rest[300];
  char body[1024];
  memset(rest, 'x', sizeof rest - 1);
  rest[sizeof rest - 1] = '\0';
  snprintf(body, sizeof body,
           PAGE("7", "t", "{\"metadata\":{\"name\":\"big\"},\"rest\":\"%s\"}"),
           rest);
  pw_respond(&w, "/pods", 200, body);
  assert_true(was_key_only);
  assert_int_equal(error_calls, 1);
  assert_int_equal(last_code, KIN_ETOOBIG);
  assert_int_equal(last_retry_ms, 0);
  script_advance(&w.vh.script, 2000);
  pw_respond(&w, "continue=t", 200,
             PAGE("7", "", "{\"metadata\":{}}," ITEM("a", "")));
  assert_false(was_key_only);
  assert_int_equal(error_calls, 2);
  assert_int_equal(last_code, KIN_EKEY);
  pw_finish(&w);
}

/* --- Versions ------------------------------------------------------------- */

/* NULL and "" ask for the newest there is; 63 bytes are a version, 64 none. */
static void test_pager_options_versions(void **state) {
  (void)state;
  static const char *const versions[] = {NULL, ""};
  char version[65];
  pager_world w;
  for (size_t i = 0; i < 2; i++) {
    pw_init(&w, 0);
    w.options.resource_version = w.options.resource_version_match = versions[i];
    assert_int_equal(pw_try_open(&w), 0);
    assert_string_equal(script_expect(&w.vh.script, "pods")->target,
                        "/api/v1/pods?limit=500");
    pw_finish(&w);
  }
  memset(version, '1', sizeof version - 1);
  version[64] = '\0';
  pw_init(&w, 0);
  w.options.resource_version = version;
  assert_int_equal(pw_try_open(&w), KIN_EINVAL);
  version[63] = '\0';
  assert_int_equal(pw_try_open(&w), 0);
  assert_non_null(strstr(script_expect(&w.vh.script, "pods")->target, version));
  pw_finish(&w);
}

/* Strings are the caller's again at once. */
static void test_pager_options_are_copied(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  kin__gate gate;
  kin__gate_visitor other;
  pw_hold_lists(&w, &gate, &other);
  char version[] = "5";
  char match[] = "Exact";
  char plural[] = "nodes";
  w.options.resource_version = version;
  w.options.resource_version_match = match;
  w.resource.plural = plural;
  assert_int_equal(pw_try_open(&w), 0);
  memset(version, 'x', sizeof version - 1);
  memset(match, 'x', sizeof match - 1);
  memset(plural, 'x', sizeof plural - 1);
  memset(&w.resource, 0xff, sizeof w.resource);
  kin_pager_options options = w.options;
  memset(&w.options, 0xff, sizeof w.options);
  w.options.on_closed = options.on_closed;
  kin__gate_leave(&gate, &other); /* only now it asks */
  script_run(&w.vh.script);
  assert_string_equal(script_expect(&w.vh.script, "/api")->target,
                      "/api/v1/nodes?limit=500&resourceVersion=5&"
                      "resourceVersionMatch=Exact");
  pw_finish(&w);
  kin__gate_finish(&gate);
}

/* --- The result ----------------------------------------------------------- */

typedef struct result {
  int calls;
  int code;
  kin_error_class error_class;
  int status;
  char reason[64];
  char message[128];
  char version[16];
} result;

static result told;

static void note_result(const kin_pager_result *r, void *data) {
  (void)data;
  told.calls++;
  told.code = r->code;
  told.error_class = r->error_class;
  told.status = r->status;
  snprintf(told.reason, sizeof told.reason, "%s", r->reason);
  snprintf(told.message, sizeof told.message, "%s", r->message);
  snprintf(told.version, sizeof told.version, "%s", r->resource_version);
}

static int stop_with_3(const kin_object *item, void *data) {
  (void)item;
  (void)data;
  return 3;
}

static void open_noting(pager_world *w) {
  pw_init(w, 0);
  w->options.on_end = note_result;
  w->is_silent = true;
  told = (result){0};
}

/* The result of a pager has every part of the failure that ended its list. */
static void test_pager_options_result(void **state) {
  (void)state;
  pager_world w;
  open_noting(&w);
  assert_int_equal(pw_try_open(&w), 0);
  pw_respond(&w, "/pods", 200, PAGE("7", "", ITEM("a", "")));
  assert_int_equal(told.calls, 1);
  assert_int_equal(told.code, 0);
  assert_int_equal(told.error_class, KIN_CLASS_NONE);
  assert_int_equal(told.status, 0);
  assert_string_equal(told.reason, "");
  assert_string_equal(told.message, "");
  pw_finish(&w);

  open_noting(&w);
  w.options.on_item = stop_with_3;
  assert_int_equal(pw_try_open(&w), 0);
  pw_respond(&w, "/pods", 200, PAGE("7", "", ITEM("a", "")));
  assert_int_equal(told.code, 3);
  assert_int_equal(told.error_class, KIN_CLASS_NONE);
  assert_int_equal(told.status, 0);
  pw_finish(&w);

  open_noting(&w);
  assert_int_equal(pw_try_open(&w), 0);
  pw_respond(&w, "/pods", 200, PAGE("7", "t", ITEM("a", "")));
  pw_respond(&w, "continue=t", 410, PW_STATUS("410", "Expired"));
  assert_int_equal(told.calls, 1);
  assert_int_equal(told.code, KIN_EGONE);
  assert_int_not_equal(told.error_class, KIN_CLASS_NONE);
  assert_int_equal(told.status, 410);
  assert_string_equal(told.reason, "Expired");
  assert_non_null(strstr(told.message, "because"));
  pw_finish(&w);

  open_noting(&w);
  assert_int_equal(pw_try_open(&w), 0);
  pw_break(&w, -ECONNREFUSED);
  assert_int_equal(told.status, 0);
  assert_string_equal(told.reason, "");
  assert_string_equal(told.version, "");
  pw_finish(&w);
}

/* PG-01, PG-03: the version is that of the first page, or of the full list that
 * takes the place of all pages. */
static void test_pager_options_version_of_the_list(void **state) {
  (void)state;
  for (int is_expired = 0; is_expired < 2; is_expired++) {
    pager_world w;
    open_noting(&w);
    w.options.whole_list = true;
    assert_int_equal(pw_try_open(&w), 0);
    pw_respond(&w, "/pods", 200, PAGE("7", "t", ITEM("a", "")));
    if (is_expired != 0) {
      pw_respond(&w, "continue=t", 410, PW_STATUS("410", "Expired"));
    }
    pw_respond(&w, "/pods", 200, PAGE("9", "", ITEM("b", "")));
    assert_int_equal(told.code, 0);
    assert_string_equal(told.version, is_expired != 0 ? "9" : "7");
    pw_finish(&w);
  }
}

/* --- Callbacks ------------------------------------------------------------ */

static kin_object *kept;

static int keep_item(const kin_object *item, void *data) {
  (void)data;
  kept = kin_object_ref(item);
  return 0;
}

static void count_call(void *data) {
  ++*(int *)data;
}

/* All callbacks but on_item may be missing; an item may be kept; a close that
 * is refused calls nothing. */
static void test_pager_options_callbacks(void **state) {
  (void)state;
  pager_world w;
  pw_init(&w, 0);
  w.options.on_item = keep_item;
  w.options.on_end = NULL;
  w.options.on_error = NULL;
  w.options.on_closed = NULL;
  assert_int_equal(pw_try_open(&w), 0);
  pw_put_off(&w, "/pods", 429, 1);
  script_advance(&w.vh.script, 1000);
  pw_respond(&w, "/pods", 200, PAGE("7", "", ITEM("a", "")));
  int first = 0;
  int second = 0;
  assert_int_equal(kin_pager_close(w.pager, count_call, &first), 0);
  assert_int_equal(kin_pager_close(w.pager, count_call, &second), KIN_EALREADY);
  script_run(&w.vh.script);
  assert_int_equal(first, 1);
  assert_int_equal(second, 0);
  assert_string_equal(kin_object_key(kept).data, "a");
  kin_object_unref(kept);
  pw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pager_options_without_meaning),
      cmocka_unit_test(test_pager_options_that_count),
      cmocka_unit_test(test_pager_options_bad_items),
      cmocka_unit_test(test_pager_options_versions),
      cmocka_unit_test(test_pager_options_are_copied),
      cmocka_unit_test(test_pager_options_result),
      cmocka_unit_test(test_pager_options_version_of_the_list),
      cmocka_unit_test(test_pager_options_callbacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
