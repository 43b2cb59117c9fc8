/* SPDX-License-Identifier: MIT */

/* The options of an informer: defaults, upper limits and copies, and the parts of
 * an object that are stored. Proves the
 * promises of kin_informer_options. RL-01, RQ-04. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "support/hand_source.h"
#include "support/informer_world.h"

#define KIB(n) ((size_t)(n) << 10)

static int open_with(iw_world *w, const kin_informer_options *options) {
  return kin__informer_open(&w->informer, &w->script.env, options);
}

/* A valid informer, and then the world is empty again. */
static void assert_opens(iw_world *w, const kin_informer_options *options) {
  assert_int_equal(open_with(w, options), 0);
  w->closed = 0;
  iw_close(w);
  w->informer = NULL;
}

static void assert_refused(iw_world *w, const kin_informer_options *options) {
  assert_int_equal(open_with(w, options), KIN_EINVAL);
  assert_null(w->informer);
}

/* --- Defaults ------------------------------------------------------------- */

static void test_resource(void **state) {
  (void)state;
  static const struct {
    const char *group;
    const char *version;
    const char *plural;
    const char *path;
  } rows[] = {{NULL, NULL, "pods", "/api/v1/pods?"},
              {"", "v1", "nodes", "/api/v1/nodes?"},
              {"apps", NULL, "deployments", "/apis/apps/v1/deployments?"},
              {"a.example", "v2beta1", "xs", "/apis/a.example/v2beta1/xs?"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = iw_options(&w);
    options.group = rows[i].group;
    options.version = rows[i].version;
    options.plural = rows[i].plural;
    assert_int_equal(iw_open(&w, &options), 0);
    script_expect(&w.script, rows[i].path);
    assert_null(strstr(w.script.last_target, "Selector"));
    iw_finish(&w);
  }
}

/* RL-01: 500 objects a page, unless told otherwise; and what may be told. */
static void test_page_size(void **state) {
  (void)state;
  static const struct {
    uint32_t page_size;
    const char *limit;
  } rows[] = {{0, "limit=500&"}, {7, "limit=7&"}, {KIN_NEVER, NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = iw_options(&w);
    options.page_size = rows[i].page_size;
    assert_int_equal(iw_open(&w, &options), 0);
    const char *limit = strstr(w.script.last_target, "limit=");
    assert_int_equal(limit != NULL, rows[i].limit != NULL);
    if (limit != NULL) {
      assert_int_equal(strncmp(limit, rows[i].limit, strlen(rows[i].limit)), 0);
    }
    iw_finish(&w);
  }
}

static void test_object_bytes(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  assert_int_equal(open_with(&w, &options), 0);
  assert_int_equal(w.informer->settings.limits.max_object_bytes, 16 << 20);
  iw_close(&w);
  w.closed = 0;
  options.max_object_bytes = 1 << 30;
  assert_int_equal(open_with(&w, &options), 0);
  assert_int_equal(w.informer->settings.limits.max_object_bytes, 1 << 30);
  iw_finish(&w);
}

/* --- Limits --------------------------------------------------------------- */

static void test_numbers(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  options.stale_after_ms = 3600000;
  options.internal_error_retry_ms = 24 * 3600 * 1000;
  assert_opens(&w, &options);
  options.stale_after_ms++;
  assert_refused(&w, &options);
  options.stale_after_ms = 0;
  options.internal_error_retry_ms++;
  assert_refused(&w, &options);
  options.internal_error_retry_ms = 0;
  options.max_object_bytes = (1 << 30) + 1;
  assert_refused(&w, &options);
  w.closed = 1;
  iw_finish(&w);
}

static void test_namespaces(void **state) {
  (void)state;
  static char names[1025][8];
  static const char *namespaces[1025];
  for (size_t i = 0; i < 1025; i++) {
    snprintf(names[i], sizeof names[i], "n%zu", i);
    namespaces[i] = names[i];
  }
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  options.namespaces = namespaces;
  options.namespace_count = 1025;
  assert_refused(&w, &options);
  options.namespace_count = 1024;
  assert_opens(&w, &options);
  namespaces[1023] = "n0";
  assert_refused(&w, &options);
  static const char *const bad[] = {NULL, "", "a/b", "a?b", ".."};
  options.namespace_count = 1;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    namespaces[0] = bad[i];
    assert_refused(&w, &options);
  }
  w.closed = 1;
  iw_finish(&w);
}

static void test_selectors(void **state) {
  (void)state;
  static char text[KIB(64) + 2];
  memset(text, 'a', KIB(64));
  iw_world w;
  iw_init(&w, 0);
  for (int which = 0; which < 2; which++) {
    kin_informer_options options = iw_options(&w);
    *(which == 0 ? &options.label_selector : &options.field_selector) = text;
    text[KIB(64)] = '\0';
    assert_opens(&w, &options);
    text[KIB(64)] = 'a';
    assert_refused(&w, &options);
  }
  w.closed = 1;
  iw_finish(&w);
}

static void test_start_version(void **state) {
  (void)state;
  char version[65];
  memset(version, '7', 64);
  version[63] = '\0';
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  options.consistency = KIN_CONSISTENCY_AT_LEAST;
  options.start_version = version;
  assert_opens(&w, &options);
  version[63] = '7';
  version[64] = '\0';
  assert_refused(&w, &options);
  static const char *const bad[] = {NULL, "", "0"};
  for (size_t i = 0; i < 3; i++) {
    options.start_version = bad[i];
    assert_refused(&w, &options);
  }
  options.start_version = "5";
  options.consistency = KIN_CONSISTENCY_ANY;
  assert_refused(&w, &options);
  options.consistency = KIN_CONSISTENCY_MOST_RECENT;
  assert_refused(&w, &options);
  w.closed = 1;
  iw_finish(&w);
}

/* A pointer has 64 tokens of 65,535 bytes at most. */
static void test_fields_limits(void **state) {
  (void)state;
  static char tokens[65 * 2 + 1];
  static char text[65537 + 1];
  for (size_t i = 0; i < 65; i++) {
    memcpy(tokens + 2 * i, "/a", 2);
  }
  memset(text, 'a', sizeof text - 1);
  text[0] = '/';
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  const char *field = tokens;
  options.fields = &field;
  options.field_count = 1;
  assert_refused(&w, &options);
  tokens[64 * 2] = '\0';
  assert_opens(&w, &options);
  field = text;
  assert_refused(&w, &options);
  text[65536] = '\0';
  assert_opens(&w, &options);
  w.closed = 1;
  iw_finish(&w);
}

/* --- Copies --------------------------------------------------------------- */

/* Nothing that the options point to is read after kin_informer_open. */
static void test_copied(void **state) {
  (void)state;
  char group[] = "apps";
  char version[] = "v2";
  char plural[] = "pods";
  char even[] = "even";
  char odd[] = "odd";
  char label[] = "app=web";
  char name[] = "metadata.name=x";
  char start[] = "77";
  char field[] = "/spec/text";
  const char *namespaces[] = {even, odd};
  const char *fields[] = {field};
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  options.group = group;
  options.version = version;
  options.plural = plural;
  options.namespaces = namespaces;
  options.namespace_count = 2;
  options.label_selector = label;
  options.field_selector = name;
  options.fields = fields;
  options.field_count = 1;
  options.consistency = KIN_CONSISTENCY_AT_LEAST;
  options.start_version = start;
  assert_int_equal(open_with(&w, &options), 0);
  char *const texts[] = {group, version, plural, even, odd,
                         label, name,    start,  field};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    memset(texts[i], 'x', strlen(texts[i]));
  }
  namespaces[0] = namespaces[1] = fields[0] = NULL;
  memset(&options, 'x', sizeof options);
  assert_int_equal(kin_informer_start(w.informer), 0);
  for (int i = 0; i < 2; i++) {
    char path[64];
    snprintf(path, sizeof path, "/apis/apps/v2/namespaces/%s/pods?",
             i == 0 ? "even" : "odd");
    const char *target = script_expect(&w.script, path)->target;
    assert_non_null(strstr(target, "labelSelector=app%3Dweb"));
    assert_non_null(strstr(target, "fieldSelector=metadata.name%3Dx"));
    assert_non_null(strstr(target, "resourceVersion=77&"));
  }
  mini_put_first(&w.server, 2);
  w.server.version += 100;
  mini_serve(&w.server);
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 2);
  iw_finish(&w);
}

/* The struct of a source is copied, too. */
static void test_source_is_copied(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  hand_source source;
  hand_source_init(&source, &w.script);
  kin_lister_watcher given = source.lister_watcher;
  kin_informer_options options = iw_options(&w);
  options.source = &given;
  assert_int_equal(open_with(&w, &options), 0);
  memset(&given, 0, sizeof given);
  assert_int_equal(kin_informer_start(w.informer), 0);
  hand_source_expect(&source, "L:0/500");
  hand_source_list(&source, "a@1 b@2", "3");
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 2);
  iw_finish(&w);
}

static kin_informer_options options_of_source(iw_world *w,
                                              hand_source *source) {
  iw_init(w, 0);
  hand_source_init(source, &w->script);
  kin_informer_options options = iw_options(w);
  options.source = &source->lister_watcher;
  return options;
}

/* A source's objects are stored as they are: the very same, whatever is said of
 * fields. */
static void test_source_objects_are_kept(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{\"name\":\"a\",\"managedFields\":[{}]},\"x\":1}";
  static const char *const fields[] = {"/none"};
  iw_world w;
  hand_source source;
  kin_informer_options options = options_of_source(&w, &source);
  options.fields = fields;
  options.field_count = 1;
  options.metadata_only = true;
  options.max_object_bytes = 10;
  assert_int_equal(iw_open(&w, &options), 0);
  kin_object *object;
  assert_int_equal(kin_object_parse(&object, NULL, text, sizeof text - 1), 0);
  assert_int_equal(kin_feed_item(source.feed, object), 0);
  hand_source_list_end(&source, "5", "");
  assert_ptr_equal(kin_store_get_key(kin_informer_store(w.informer), "a"),
                   object);
  kin_object_unref(object);
  iw_finish(&w);
}

static int drop_x(const kin_object *in, kin_object_builder *out, void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_remove(out, "/x");
}

static void expect_label(iw_world *w, bool is_key_only) {
  kin_store *store = kin_informer_store(w->informer);
  const kin_object *object = kin_store_get_key(store, "a");
  kin_str value;
  assert_non_null(object);
  assert_int_equal(kin_object_is_key_only(object), is_key_only);
  assert_true(kin_object_label(object, "app", &value));
  assert_int_equal(kin_store_index_count(store, "app", KIN__LIT("web")), 1);
}

/* drop_labels has no effect on a source's objects: stored as they are,
 * transformed, or stored with their keys only. */
static void test_source_objects_keep_labels(void **state) {
  (void)state;
  static const char text[] =
      "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"4\","
      "\"labels\":{\"app\":\"web\"}},\"x\":1,\"y\":"
      "\"0123456789012345678901234567890123456789\"}";
  for (int is_transformed = 0; is_transformed < 2; is_transformed++) {
    iw_world w;
    hand_source source;
    kin_informer_options options = options_of_source(&w, &source);
    options.drop_labels = true;
    options.transform = is_transformed == 1 ? drop_x : NULL;
    options.on_max_bytes = iw_on_max_bytes;
    w.decision = KIN_MEMORY_DROP_BODIES;
    assert_int_equal(iw_open(&w, &options), 0);
    const kin_index_options by_app = {sizeof by_app, "app",
                                      "/metadata/labels/app", NULL, NULL};
    assert_int_equal(
        kin_store_add_index(kin_informer_store(w.informer), &by_app), 0);
    kin_object *object;
    assert_int_equal(kin_object_parse(&object, NULL, text, sizeof text - 1), 0);
    assert_int_equal(kin_feed_item(source.feed, object), 0);
    hand_source_list_end(&source, "5", "");
    script_run(&w.script);
    expect_label(&w, false);
    assert_int_equal(kin_feed_open(source.feed), 0);
    assert_int_equal(kin_informer_set_max_bytes(w.informer, 1), 0);
    kin_object_unref(object);
    object = hand_source_object("b@6");
    (void)kin_feed_event(source.feed, KIN_WATCH_ADDED, object);
    kin_object_unref(object);
    script_advance(&w.script, 100);
    expect_label(&w, true);
    iw_finish(&w);
  }
}

/* --- How new -------------------------------------------------------------- */

/* The version that the first list asks for, and a list after a lost position. */
static void test_consistency(void **state) {
  (void)state;
  static const struct {
    kin_consistency consistency;
    const char *start_version;
    const char *first;
    const char *second;
  } rows[] = {
      {KIN_CONSISTENCY_ANY, NULL, "resourceVersion=0", "resourceVersion=500"},
      {KIN_CONSISTENCY_AT_LEAST, "77", "resourceVersion=77",
       "resourceVersion=500"},
      {KIN_CONSISTENCY_MOST_RECENT, NULL, NULL, NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = iw_options(&w);
    options.consistency = rows[i].consistency;
    options.start_version = rows[i].start_version;
    assert_int_equal(iw_open(&w, &options), 0);
    for (int list = 0; list < 2; list++) {
      const char *expected = list == 0 ? rows[i].first : rows[i].second;
      const char *asked = strstr(w.script.last_target, "resourceVersion=");
      assert_int_equal(asked != NULL, expected != NULL);
      if (asked != NULL) {
        assert_int_equal(strncmp(asked, expected, strlen(expected)), 0);
      }
      script_respond(&w.script, "/pods?", 200,
                     "{\"metadata\":{\"resourceVersion\":\"500\"},"
                     "\"items\":[]}");
      script_head(&w.script, "watch=true", 200);
      script_advance(&w.script, 5000);
      script_expire(&w.script, "watch=true");
      while (script_open_requests(&w.script) == 0) {
        script_advance(&w.script, 100);
      }
    }
    iw_finish(&w);
  }
}

/* A silent watch is STALE, and the server is asked; 0: never. */
static void test_stale_after(void **state) {
  (void)state;
  for (int is_set = 0; is_set < 2; is_set++) {
    iw_world w;
    iw_init(&w, 0);
    kin_informer_options options = iw_options(&w);
    options.stale_after_ms = is_set ? 7000 : 0;
    assert_int_equal(iw_open(&w, &options), 0);
    mini_serve(&w.server);
    unsigned requests = w.script.request_count;
    script_advance(&w.script, 6999);
    assert_int_equal(w.state, KIN_STATE_LIVE);
    assert_int_equal(w.script.request_count, requests);
    script_advance(&w.script, is_set ? 200 : 200000);
    assert_int_equal(w.state, is_set ? KIN_STATE_STALE : KIN_STATE_LIVE);
    assert_int_equal(w.script.request_count, requests + (unsigned)is_set);
    iw_finish(&w);
  }
}

/* --- What is stored ------------------------------------------------------- */

#define OBJECT                                                                 \
  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","      \
  "\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"5\","               \
  "\"labels\":{\"l\":\"1\"},\"annotations\":{\"x\":\"y\"},"                    \
  "\"managedFields\":[{\"f\":1}]},\"spec\":{\"containers\":[{\"image\":"       \
  "\"i0\",\"name\":\"c0\"},[1,2],7,{\"image\":\"i3\",\"name\":\"c3\"},"        \
  "{\"image\":\"i4\"}],\"0\":{\"image\":\"m\"},\"nodeName\":\"n1\"},"          \
  "\"status\":{\"phase\":\"Running\"}}"

#define IDENTITY                                                               \
  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","      \
  "\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"5\","               \
  "\"labels\":{\"l\":\"1\"}"

static void expect_stored(const kin_informer_options *given, const char *json) {
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  options.keep_managed_fields = given->keep_managed_fields;
  options.fields = given->fields;
  options.field_count = given->field_count;
  assert_int_equal(iw_open(&w, &options), 0);
  script_respond(&w.script, "/pods?", 200,
                 "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" OBJECT
                 "]}");
  const kin_object *object =
      kin_store_get_key(kin_informer_store(w.informer), "n/a");
  assert_non_null(object);
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  kin_str text = kin_object_view_json(view);
  if (!kin__str_equal(text, kin__cstr(json))) {
    fail_msg(KIN_STR_FORMAT " instead of %s", KIN_STR_ARG(text), json);
  }
  kin_object_view_close(view);
  iw_finish(&w);
}

static void test_stored(void **state) {
  (void)state;
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.keep_managed_fields = true;
  expect_stored(&options, OBJECT);
  options.keep_managed_fields = false;
  expect_stored(&options, IDENTITY
                ",\"annotations\":{\"x\":\"y\"}},\"spec\":{\"containers\":[{"
                "\"image\":\"i0\",\"name\":\"c0\"},[1,2],7,{\"image\":\"i3\","
                "\"name\":\"c3\"},{\"image\":\"i4\"}],\"0\":{\"image\":\"m\"},"
                "\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\"}}");
}

/* Of an array all behind the last element that is named is dropped; what is
 * before it keeps its place. A number also names a member. */
static void test_stored_fields(void **state) {
  (void)state;
  static const char *const element[] = {"/spec/containers/3/image"};
  static const char *const member[] = {"/spec/0/image", "/status"};
  static const char *const nothing[] = {"/none"};
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.field_count = 1;
  options.fields = element;
  expect_stored(&options, IDENTITY
                "},\"spec\":{\"containers\":[{},[],7,{\"image\":\"i3\"}]}}");
  options.fields = nothing;
  expect_stored(&options, IDENTITY "}}");
  options.fields = member;
  options.field_count = 2;
  expect_stored(&options, IDENTITY "},\"spec\":{\"0\":{\"image\":\"m\"}},"
                                   "\"status\":{\"phase\":\"Running\"}}");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_resource),
      cmocka_unit_test(test_page_size),
      cmocka_unit_test(test_object_bytes),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_namespaces),
      cmocka_unit_test(test_selectors),
      cmocka_unit_test(test_start_version),
      cmocka_unit_test(test_fields_limits),
      cmocka_unit_test(test_copied),
      cmocka_unit_test(test_source_is_copied),
      cmocka_unit_test(test_source_objects_are_kept),
      cmocka_unit_test(test_source_objects_keep_labels),
      cmocka_unit_test(test_consistency),
      cmocka_unit_test(test_stale_after),
      cmocka_unit_test(test_stored),
      cmocka_unit_test(test_stored_fields),
  };
  return cmocka_run_group_tests_name("informer_options", tests, NULL, NULL);
}
