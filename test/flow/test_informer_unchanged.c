/* SPDX-License-Identifier: MIT */

/* What is stored of an object without its labels, and updates that change
 * nothing that is stored: kin_informer_options.drop_labels, skip_unchanged. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/object_builder.h>
#include <kin/value.h>

#include "base/str.h"
#include "informer/informer.h"
#include "object/object.h"
#include "object/same_content.h"
#include "support/objects.h"
#include "support/virtual_host.h"

typedef struct world {
  virtual_host vh;
  kin_informer *informer;
  char log[512];
} world;

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  world *w = data;
  size_t length = strlen(w->log);
  kin_str version = kin_object_resource_version(event->object);
  if (event->old_object != NULL) {
    snprintf(w->log + length, sizeof w->log - length,
             "U" KIN_STR_FORMAT ">" KIN_STR_FORMAT " ",
             KIN_STR_ARG(kin_object_resource_version(event->old_object)),
             KIN_STR_ARG(version));
  } else {
    snprintf(w->log + length, sizeof w->log - length, "%c" KIN_STR_FORMAT " ",
             event->type == KIN_EVENT_ADD ? 'A' : 'D', KIN_STR_ARG(version));
  }
}

static void open_world(world *w, kin_informer_options *options,
                       bool relist_updates) {
  *w = (world){0};
  vh_init(&w->vh, 0);
  options->plural = "pods";
  options->no_watch_list = true;
  assert_int_equal(kin__informer_open_on(&w->informer, &w->vh.host, options),
                   0);
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = listener.on_update = listener.on_delete = on_event;
  listener.relist_updates = relist_updates;
  listener.data = w;
  assert_int_equal(kin_informer_listen(w->informer, &listener, NULL), 0);
  assert_int_equal(kin_informer_start(w->informer), 0);
  script_run(&w->vh.script);
}

static void expect(world *w, const char *told) {
  assert_string_equal(w->log, told);
  w->log[0] = '\0';
}

/* ' stands for ". */
static char *quoted(const char *format, const char *text) {
  char *json = malloc(strlen(format) + strlen(text) + 1);
  assert_non_null(json);
  sprintf(json, format, text);
  for (char *c = json; *c != '\0'; c++) {
    *c = *c == '\'' ? '"' : *c;
  }
  return json;
}

/* The list has the version of the object. */
static void list(world *w, const char *object) {
  const char *version = strstr(object, "'resourceVersion'");
  char format[128];
  snprintf(format, sizeof format, "{'metadata':{%.*s},'items':[%%s]}",
           (int)(strchr(version, '}') - version), version);
  char *json = quoted(format, object);
  script_respond(&w->vh.script, "resourceVersion=", 200, json);
  free(json);
  script_run(&w->vh.script);
  assert_true(script_head(&w->vh.script, "watch=", 200));
}

static void modify(world *w, const char *object) {
  char *json = quoted("{'type':'MODIFIED','object':%s}\n", object);
  assert_true(script_body(&w->vh.script, "watch=", json, strlen(json)));
  free(json);
  script_run(&w->vh.script);
}

static void put_own(world *w, const char *text) {
  kin_object *object = object_of(NULL, text);
  assert_int_equal(kin_store_put(kin_informer_store(w->informer), object), 0);
  kin_object_unref(object);
  script_run(&w->vh.script);
}

static const kin_object *pod(const world *w) {
  const kin_object *object =
      kin_store_get_key(kin_informer_store(w->informer), "d/a");
  assert_non_null(object);
  return object;
}

#define POD(version, rest)                                                     \
  "{'metadata':{'name':'a','namespace':'d','uid':'u','labels':{'app':'x',"     \
  "'tier':'y'},'resourceVersion':'" version "'}," rest "}"

/* Of 150 bytes. */
#define OVER_THE_LIMIT                                                         \
  "'spec':{'b':'0123456789012345678901234567890123456789"                      \
  "012345678901234567890123456789'}"

static void expect_text(const world *w, const char *text) {
  char *json = quoted("%s", text);
  kin_str body = kin__object_body(pod(w));
  assert_int_equal(body.length, strlen(json));
  assert_memory_equal(body.data, json, body.length);
  free(json);
}

static void test_labels_are_dropped(void **state) {
  (void)state;
  static const struct {
    const char *fields[2];
    size_t count;
    const char *stored; /* of metadata behind the uid, and the rest */
  } rows[] = {
      {{NULL}, 0, "'resourceVersion':'5'},'spec':{'b':1}"},
      {{"/spec/b"}, 1, "'resourceVersion':'5'},'spec':{'b':1}"},
      {{"/spec/b", "/metadata/labels/tier"},
       2,
       "'labels':{'tier':'y'},'resourceVersion':'5'},'spec':{'b':1}"},
      {{"/metadata"}, 1, "'resourceVersion':'5'}"},
      {{""}, 1, "'resourceVersion':'5'},'spec':{'b':1}"},
  };
  /* Split at every byte, and at every place of a second piece. */
  for (size_t run = 0; run < sizeof rows / sizeof *rows * 180; run++) {
    size_t i = run / 180;
    world w;
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.fields = rows[i].fields;
    options.field_count = rows[i].count;
    options.drop_labels = true;
    open_world(&w, &options, false);
    w.vh.script.split = run % 180;
    list(&w, POD("5", "'spec':{'b':1}"));
    char text[512];
    snprintf(text, sizeof text,
             "{'metadata':{'name':'a','namespace':'d','uid':'u',%s}",
             rows[i].stored);
    expect_text(&w, text);
    kin_str value;
    assert_false(kin_object_label(pod(&w), "app", &value));
    assert_false(kin_object_label(pod(&w), "tier", &value));
    vh_finish(&w.vh);
  }
}

/* A label that a field names is stored, so an index finds it. */
static void test_index_of_a_kept_label(void **state) {
  (void)state;
  static const char *const fields[] = {"/spec", "/metadata/labels/tier",
                                       "/metadata/labels/a~1b"};
  static const struct {
    const char *pointer;
    const char *value;
    size_t found;
  } rows[] = {{"/metadata/labels/tier", "y", 1},
              {"/metadata/labels/tier", "z", 0},
              {"/metadata/labels/a~1b", "", 1},
              {"/metadata/labels/app", "x", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    world w;
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = 3;
    options.drop_labels = true;
    open_world(&w, &options, false);
    kin_store *store = kin_informer_store(w.informer);
    kin_index_options early = {sizeof early, "early", rows[i].pointer, NULL,
                               NULL};
    assert_int_equal(kin_store_add_index(store, &early), 0);
    list(&w, "{'metadata':{'name':'a','namespace':'d','uid':'u','labels':{"
             "'app':'x','tier':'y','a/b':''},'resourceVersion':'5'}}");
    kin_index_options late = {sizeof late, "late", rows[i].pointer, NULL, NULL};
    assert_int_equal(kin_store_add_index(store, &late), 0);
    script_run(&w.vh.script);
    kin_str value = kin_str_of(rows[i].value);
    assert_int_equal(kin_store_index_count(store, "early", value),
                     rows[i].found);
    assert_int_equal(kin_store_index_count(store, "late", value),
                     rows[i].found);
    vh_finish(&w.vh);
  }
}

/* Also of an object that is kept with its key only, even if a field names the
 * label. */
static void test_labels_of_oversized_are_dropped(void **state) {
  (void)state;
  static const char *const fields[] = {"/metadata/labels/tier"};
  for (int run = 0; run < 2 * 180; run++) {
    int drop = run % 2;
    world w;
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.drop_labels = drop == 1;
    options.fields = fields;
    options.field_count = 1;
    options.max_object_bytes = 150;
    open_world(&w, &options, false);
    w.vh.script.split = (size_t)run / 2;
    list(&w, POD("5", OVER_THE_LIMIT));
    assert_true(kin_object_is_key_only(pod(&w)));
    kin_str value;
    assert_int_equal(kin_object_label(pod(&w), "app", &value), drop == 0);
    assert_int_equal(kin_object_at(pod(&w), fields[0]).json.length > 0,
                     drop == 0);
    vh_finish(&w.vh);
  }
}

static int change_some(const kin_object *in, kin_object_builder *out,
                       void *data) {
  const char *pointer = data;
  (void)in;
  return kin_object_builder_set_str(out, pointer, KIN_STR("z"));
}

/* Nor does a transform bring labels back: those that are stored, and those that
 * it sets. */
static void test_transform_brings_no_labels(void **state) {
  (void)state;
  static const char *const fields[] = {"/spec", "/metadata/labels/tier"};
  static char pointers[][32] = {"/spec/b", "/metadata/labels/own"};
  for (size_t i = 0; i < 2; i++) {
    world w;
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = 2;
    options.drop_labels = true;
    options.transform = change_some;
    options.transform_data = pointers[i];
    open_world(&w, &options, false);
    list(&w, POD("5", "'spec':{'b':1}"));
    kin_str value;
    assert_false(kin_object_label(pod(&w), "tier", &value));
    assert_false(kin_object_label(pod(&w), "own", &value));
    kin_value stored = kin_object_at(pod(&w), "/metadata/labels/tier");
    assert_true(kin_value_string_is(stored, KIN_STR("y")));
    stored = kin_object_at(pod(&w), pointers[i]);
    assert_true(kin_value_string_is(stored, KIN_STR("z")));
    vh_finish(&w.vh);
  }
}

static void test_unchanged_is_not_told(void **state) {
  (void)state;
  for (int skip = 0; skip < 2; skip++) {
    static const char *const fields[] = {"/spec"};
    world w;
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = 1;
    options.skip_unchanged = skip == 1;
    open_world(&w, &options, false);
    list(&w, POD("5", "'spec':1,'status':1"));
    modify(&w, POD("11", "'spec':1,'status':2"));
    expect(&w, skip ? "A5 " : "A5 U5>11 ");
    /* It is stored, with its version. */
    assert_true(
        kin__str_equal(kin_object_resource_version(pod(&w)), kin__cstr("11")));
    kin_status status = KIN_STATUS_INIT;
    assert_int_equal(kin_informer_get_status(w.informer, "", &status), 0);
    assert_int_equal(status.unchanged, skip);
    assert_string_equal(status.resource_version, "11");
    modify(&w, POD("100", "'spec':2,'status':2"));
    expect(&w, "U11>100 ");
    vh_finish(&w.vh);
  }
}

/* SI-13: the same for an own write. */
static void test_unchanged_own_write(void **state) {
  (void)state;
  for (int skip = 0; skip < 2; skip++) {
    world w;
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.skip_unchanged = skip == 1;
    open_world(&w, &options, false);
    list(&w, POD("5", "'spec':1"));
    put_own(&w, POD("11", "'spec':1"));
    expect(&w, skip ? "A5 " : "A5 U5>11 ");
    assert_true(
        kin__str_equal(kin_object_resource_version(pod(&w)), kin__cstr("11")));
    put_own(&w, POD("100", "'spec':2"));
    expect(&w, "U11>100 ");
    vh_finish(&w.vh);
  }
}

/* The bodies of objects over the limit are not known to be equal. */
static void test_oversized_are_told(void **state) {
  (void)state;
  world w;
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.max_object_bytes = 150;
  options.skip_unchanged = true;
  open_world(&w, &options, false);
  list(&w, POD("5", OVER_THE_LIMIT));
  modify(&w, POD("11", OVER_THE_LIMIT));
  assert_true(kin_object_is_key_only(pod(&w)));
  (void)script_expire(&w.vh.script, "watch=");
  script_advance(&w.vh.script, 5000);
  list(&w, POD("19", OVER_THE_LIMIT));
  expect(&w, "A5 U5>11 U11>19 ");
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(w.informer, "", &status), 0);
  assert_int_equal(status.unchanged, 0);
  vh_finish(&w.vh);
}

/* A list tells them to listeners that ask for that. */
static void test_unchanged_in_a_list(void **state) {
  (void)state;
  for (int wants = 0; wants < 2; wants++) {
    static const char *const fields[] = {"/spec"};
    world w;
    kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = 1;
    options.skip_unchanged = true;
    open_world(&w, &options, wants == 1);
    list(&w, POD("5", "'spec':1,'status':1"));
    (void)script_expire(&w.vh.script, "watch="); /* which is cancelled */
    script_advance(&w.vh.script, 5000);
    list(&w, POD("19", "'spec':1,'status':2"));
    expect(&w, wants ? "A5 U5>19 " : "A5 ");
    vh_finish(&w.vh);
  }
}

/* --- The comparison ------------------------------------------------------- */

static void test_same_content(void **state) {
  (void)state;
  static const struct {
    const char *a;
    const char *b;
    bool is_same;
  } rows[] = {
      {"{'metadata':{'name':'a','resourceVersion':'9'},'x':1}",
       "{'metadata':{'name':'a','resourceVersion':'10'},'x':1}", true},
      {"{'metadata':{'name':'a','resourceVersion':'9'},'x':1}",
       "{'metadata':{'name':'a','resourceVersion':'10'},'x':2}", false},
      {"{'y':1,'metadata':{'resourceVersion':'9','name':'a'}}",
       "{'y':2,'metadata':{'resourceVersion':'9','name':'a'}}", false},
      /* Another member of that name counts. */
      {"{'data':{'resourceVersion':'9'},'metadata':{'name':'a',"
       "'resourceVersion':'9'}}",
       "{'data':{'resourceVersion':'8'},'metadata':{'name':'a',"
       "'resourceVersion':'8'}}",
       false},
      {"{'metadata':{'name':'a'}}", "{'metadata':{'name':'a'}}", true},
      {"{'metadata':{'name':'a'}}",
       "{'metadata':{'name':'a','resourceVersion':'1'}}", false},
      {"{'metadata':{'name':'a'}}", "{'metadata':{'name':'b'}}", false},
      /* White space counts. */
      {"{'metadata':{'name':'a','resourceVersion':'9'},'x':1}",
       "{'metadata':{'name':'a','resourceVersion':'9'}, 'x':1}", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_object *a = object_of(NULL, rows[i].a);
    kin_object *b = object_of(NULL, rows[i].b);
    assert_int_equal(kin__object_has_same_content(a, b), rows[i].is_same);
    assert_int_equal(kin__object_has_same_content(b, a), rows[i].is_same);
    kin_object_unref(a);
    kin_object_unref(b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_labels_are_dropped),
      cmocka_unit_test(test_index_of_a_kept_label),
      cmocka_unit_test(test_labels_of_oversized_are_dropped),
      cmocka_unit_test(test_transform_brings_no_labels),
      cmocka_unit_test(test_unchanged_is_not_told),
      cmocka_unit_test(test_unchanged_own_write),
      cmocka_unit_test(test_oversized_are_told),
      cmocka_unit_test(test_unchanged_in_a_list),
      cmocka_unit_test(test_same_content),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
