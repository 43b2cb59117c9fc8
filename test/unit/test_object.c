/* SPDX-License-Identifier: MIT */

/* Objects and views: KY-01 (keys), RL-09 (an object owns its bytes), and the
 * promises of <kin/object.h>. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include <kin/error.h>
#include <kin/object.h>
#include <kin/yyjson.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/json.h"
#include "support/objects.h"
#include "object/object.h"
#include "support/fail_alloc.h"

static void assert_str(kin_str s, const char *expected) {
  size_t length = strlen(expected);
  if (s.length != length || (length > 0 && memcmp(s.data, expected, length))) {
    fail_msg("got \"" KIN_STR_FORMAT "\", expected \"%s\"", KIN_STR_ARG(s),
             expected);
  }
}

static kin_object *parse(const char *json) {
  kin_object *object;
  assert_int_equal(kin_object_parse(&object, NULL, json, strlen(json)), 0);
  return object;
}

static const char pod[] =
    " {\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p1\","
    "\"namespace\":\"default\",\"uid\":\"u-1\",\"labels\":{\"app\":\"web\", "
    "\"tier\" : \"\" "
    ",\"n\":1},\"resourceVersion\":\"74\"},\"spec\":{\"nodeName\":"
    "\"n1\",\"priority\":-5,\"big\":18446744073709551615,\"ratio\":1.5,\"on\":"
    "true,"
    "\"none\":null,\"huge\":1e999,\"list\":[{\"image\":\"a\"},{\"image\":\"b\"}"
    ","
    "{\"image\":7}]}} \n";

/* KY-01. */
static void test_object_parse_resident(void **state) {
  (void)state;
  kin_object *object = parse(pod);
  assert_str(kin_object_key(object), "default/p1");
  assert_string_equal(kin_object_key(object).data, "default/p1");
  assert_str(kin_object_name(object), "p1");
  assert_string_equal(kin_object_name(object).data, "p1");
  assert_str(kin_object_namespace(object), "default");
  assert_str(kin_object_uid(object), "u-1");
  assert_str(kin_object_resource_version(object), "74");
  kin_str value;
  assert_true(kin_object_label(object, "app", &value));
  assert_str(value, "web");
  assert_true(kin_object_label(object, "tier", &value));
  assert_str(value, "");
  assert_false(kin_object_label(object, "n", &value));
  assert_false(kin_object_label(object, "ap", &value));
  assert_false(kin_object_label(object, "", &value));
  assert_str(value, "");
  kin_object_unref(object);

  object = parse("{\"metadata\":{\"name\":\"node\"}}");
  assert_str(kin_object_key(object), "node");
  assert_string_equal(kin_object_key(object).data, "node");
  assert_str(kin_object_name(object), "node");
  assert_int_equal(kin_object_namespace(object).length, 0);
  assert_int_equal(kin_object_uid(object).length, 0);
  assert_int_equal(kin_object_resource_version(object).length, 0);
  assert_false(kin_object_label(object, "app", &value));
  kin_object_unref(object);
}

static void test_object_parse_escapes(void **state) {
  (void)state;
  kin_object *object = parse(
      "{\"met\\u0061data\":{\"n\\u0061me\":\"a\\u00e9\\ud83d\\ude00\\n\","
      "\"uid\":\"\\\"\\\\\\/\\b\\f\\r\\t\",\"resourceVersion\":\"\\u20AC\","
      "\"labels\":{\"pl\\u0061in\":\"x\",\"k\":\"\\u003c\\u003E\","
      "\"n\":[\"\\n\"],\"z\":\"end\"}}}");
  assert_str(kin_object_key(object), "a\xc3\xa9\xf0\x9f\x98\x80\n");
  assert_str(kin_object_uid(object), "\"\\/\b\f\r\t");
  assert_str(kin_object_resource_version(object), "\xe2\x82\xac");
  kin_str value;
  assert_true(kin_object_label(object, "plain", &value));
  assert_str(value, "x");
  assert_true(kin_object_label(object, "k", &value));
  assert_str(value, "<>");
  assert_true(kin_object_label(object, "z", &value));
  assert_str(value, "end");
  assert_false(kin_object_label(object, "n", &value));
  kin_object_unref(object);
}

/* A member that occurs twice: the first counts, everywhere. */
static void test_object_parse_duplicates(void **state) {
  (void)state;
  kin_object *object = parse(
      "{\"metadata\":{\"name\":\"a\",\"name\":\"b\",\"labels\":{\"k\":\"1\","
      "\"k\":\"2\"}},\"metadata\":{\"name\":\"c\"}}");
  assert_str(kin_object_key(object), "a");
  kin_str value;
  assert_true(kin_object_label(object, "k", &value));
  assert_str(value, "1");
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  assert_int_equal(kin_object_view_string(view, "/metadata/name", &value), 0);
  assert_str(value, "a");
  kin_object_view_close(view);
  kin_object_unref(object);
}

/* A number that no double holds is kept as text, and read as such; it is no
 * integer. */
static void test_object_huge_number(void **state) {
  (void)state;
  kin_object *object = parse("{\"metadata\":{\"name\":\"a\"},\"n\":-21e999}");
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  assert_non_null(strstr(kin_object_view_json(view).data, "-21e999"));
  yyjson_val *root = yyjson_doc_get_root(kin_object_view_document(view, NULL));
  assert_string_equal(yyjson_get_raw(yyjson_obj_get(root, "n")), "-21e999");
  int64_t value = 7;
  assert_int_equal(kin_object_view_int(view, "/n", &value), KIN_ETYPE);
  assert_int_equal(value, 7);
  kin_object_view_close(view);
  kin_object_unref(object);
}

static void test_object_parse_errors(void **state) {
  (void)state;
  static const struct {
    const char *json;
    int error;
  } rows[] = {
      {"", KIN_ETRUNCATED},
      {"{", KIN_ETRUNCATED},
      {"{\"metadata\":{\"name\":\"a", KIN_ETRUNCATED},
      {"{\"metadata\":{\"name\":\"a\"}", KIN_ETRUNCATED},
      {"nonsense", KIN_EJSON},
      {"{\"metadata\":{\"name\":\"a\"}}}", KIN_EJSON},
      {"{\"metadata\":{\"name\":\"a\",}}", KIN_EJSON},
      {"{\"metadata\":{\"name\":\"\\ud800\"}}", KIN_EJSON},
      {"{\"metadata\":{\"name\":\"a\"},\"s\":\"\\udc00\"}", KIN_EJSON},
      {"\xef\xbb\xbf{\"metadata\":{\"name\":\"a\"}}", KIN_EJSON},
      {"{}", KIN_EKEY},
      {"[]", KIN_EKEY},
      {"null", KIN_EKEY},
      {"{\"metadata\":null}", KIN_EKEY},
      {"{\"metadata\":[]}", KIN_EKEY},
      {"{\"metadata\":{\"name\":\"\"}}", KIN_EKEY},
      {"{\"metadata\":{\"name\":1}}", KIN_EKEY},
      {"{\"metadata\":{\"namespace\":\"a\"}}", KIN_EKEY},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_object *object = (kin_object *)&rows;
    int err =
        kin_object_parse(&object, NULL, rows[i].json, strlen(rows[i].json));
    if (err != rows[i].error || object != NULL) {
      fail_msg("%s: %s, expected %s", rows[i].json, kin_err_name(err),
               kin_err_name(rows[i].error));
    }
  }
  kin_object *object;
  assert_int_equal(kin_object_parse(&object, NULL, pod, ((size_t)1 << 30) + 1),
                   KIN_ETOOBIG);
}

static void test_object_parse_truncated_everywhere(void **state) {
  (void)state;
  size_t end = strlen(pod) - 2; /* white space follows the object */
  for (size_t length = 0; length < end; length++) {
    char *copy = malloc(length + 1);
    memcpy(copy, pod, length);
    kin_object *object;
    int err = kin_object_parse(&object, NULL, copy, length);
    if (err != KIN_ETRUNCATED) {
      fail_msg("%zu bytes: %s", length, kin_err_name(err));
    }
    free(copy);
  }
}

static void test_object_parse_depth(void **state) {
  (void)state;
  kin_object *object;
  char *json = object_nested(9999);
  assert_int_equal(kin_object_parse(&object, NULL, json, strlen(json)), 0);
  kin_object_unref(object);
  free(json);
  json = object_nested(10000);
  assert_int_equal(kin_object_parse(&object, NULL, json, strlen(json)),
                   KIN_EDEPTH);
  free(json);
}

static void test_object_parse_long_names(void **state) {
  (void)state;
  static char json[70000];
  for (int over = 0; over <= 1; over++) {
    int length =
        snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%0*d\"}}",
                 65535 + over, 0);
    kin_object *object;
    assert_int_equal(kin_object_parse(&object, NULL, json, (size_t)length),
                     over ? KIN_EKEY : 0);
    kin_object_unref(object);
  }
}

static void test_object_view_values(void **state) {
  (void)state;
  kin_object *object = parse(pod);
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  kin_object_unref(object); /* the view holds one of its own */
  assert_int_equal(kin_object_view_json(view).data[0], '{');
  assert_int_equal(kin_object_view_json(view).length, strlen(pod) - 3);

  kin_str s = KIN__LIT("untouched");
  int64_t n = 42;
  bool b = false;
  assert_int_equal(kin_object_view_string(view, "/spec/nodeName", &s), 0);
  assert_str(s, "n1");
  assert_int_equal(kin_object_view_string(view, "/spec/list/1/image", &s), 0);
  assert_str(s, "b");
  assert_int_equal(kin_object_view_int(view, "/spec/priority", &n), 0);
  assert_int_equal(n, -5);
  assert_int_equal(kin_object_view_bool(view, "/spec/on", &b), 0);
  assert_true(b);

  assert_int_equal(kin_object_view_string(view, "/spec/x", &s), KIN_ENOENT);
  assert_int_equal(kin_object_view_string(view, "/spec/none", &s), KIN_ENOENT);
  assert_int_equal(kin_object_view_string(view, "/spec/list/9", &s),
                   KIN_ENOENT);
  assert_int_equal(kin_object_view_string(view, "/spec/on", &s), KIN_ETYPE);
  assert_int_equal(kin_object_view_string(view, "", &s), KIN_ETYPE);
  assert_int_equal(kin_object_view_int(view, "/spec/nodeName", &n), KIN_ETYPE);
  assert_int_equal(kin_object_view_int(view, "/spec/big", &n), KIN_ETYPE);
  assert_int_equal(kin_object_view_int(view, "/spec/huge", &n), KIN_ETYPE);
  assert_int_equal(kin_object_view_int(view, "/spec/ratio", &n), KIN_ETYPE);
  assert_int_equal(kin_object_view_bool(view, "/spec/priority", &b), KIN_ETYPE);
  assert_int_equal(kin_object_view_string(view, "spec", &s), KIN_EINVAL);
  assert_int_equal(kin_object_view_string(view, "/a~2", &s), KIN_EINVAL);
  assert_int_equal(kin_object_view_string(view, "/a~", &s), KIN_EINVAL);
  assert_str(s, "b");
  assert_int_equal(n, -5);
  assert_true(b);

  int error = 1;
  yyjson_doc *doc = kin_object_view_document(view, &error);
  assert_non_null(doc);
  assert_ptr_equal(doc, kin_object_view_document(view, NULL));
  assert_int_equal(error, 1);
  assert_true(yyjson_is_obj(yyjson_doc_get_root(doc)));
  kin_object_view_close(view);
  kin_object_view_close(NULL);
}

static void test_json_members(void **state) {
  (void)state;
  yyjson_doc *doc = NULL;
  const kin_allocator *allocator = kin__default_allocator();
  assert_int_equal(
      kin__json_parse(
          &doc, allocator,
          KIN__LIT("{\"s\":\"t\",\"i\":7,\"u\":18446744073709551615,"
                   "\"f\":1.0,\"o\":{\"x\":-9}}")),
      0);
  yyjson_val *root = yyjson_doc_get_root(doc);
  assert_str(kin__json_string(root, "s"), "t");
  assert_str(kin__json_string(root, "i"), "");
  assert_str(kin__json_string(NULL, "i"), "");
  assert_int_equal(kin__json_int(root, "i", -1), 7);
  assert_int_equal(kin__json_int(root, "u", -1), -1);
  assert_int_equal(kin__json_int(root, "f", -1), -1);
  assert_int_equal(kin__json_int(kin__json_member(root, "o"), "x", -1), -9);
  assert_int_equal(kin__json_int(kin__json_member(root, "s"), "x", -1), -1);
  kin__json_free(allocator, doc);

  assert_int_equal(kin__json_parse(&doc, allocator, KIN__LIT("{\"a\":")),
                   KIN_EJSON);
  assert_null(doc);
  assert_int_equal(kin__json_parse(&doc, allocator, KIN__LIT("")), KIN_EJSON);
  kin__json_free(allocator, NULL);
  char *deep = object_nested(10000);
  assert_int_equal(kin__json_parse(&doc, allocator, kin__cstr(deep)),
                   KIN_EDEPTH);
  free(deep);
  assert_true(kin__json_pointer_is_valid(""));
  assert_true(kin__json_pointer_is_valid("/a~0b~1c//"));
  assert_false(kin__json_pointer_is_valid("a"));
  assert_false(kin__json_pointer_is_valid("/a~b"));
}

/* What decode hands over: dropped spans before, between and after what is
 * resident. */
static void test_object_new_skips_dropped(void **state) {
  (void)state;
  static const char body[] =
      "{\"a\":1,\"metadata\":{\"m\":[1,2],\"name\":\"p\","
      "\"uid\":\"u\",\"x\":{},\"labels\":{\"k\":\"v\"},"
      "\"resourceVersion\":\"9\"},\"z\":0}";
  const char *a = strstr(body, "\"a\"");
  const char *m = strstr(body, "\"m\"");
  const char *x = strstr(body, ",\"x\"");
  const char *z = strstr(body, ",\"z\"");
  kin__span dropped[] = {{(uint32_t)(a - body), 6},
                         {(uint32_t)(m - body), 10},
                         {(uint32_t)(x - body), 7},
                         {(uint32_t)(z - body), 6}};
  kin__object_parts parts = {
      .name = {strstr(body, "p\""), 1},
      .namespace_ = KIN__LIT("elsewhere"),
      .uid = {strstr(body, "u\","), 1},
      .version = {strstr(body, "9"), 1},
      .labels = {strstr(body, "{\"k\""), 9},
      .body = {body, strlen(body)},
      .dropped = dropped,
      .dropped_count = 4,
  };
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__memory *carried = kin__memory_new(&memory.allocator);
  kin_object *object;
  assert_int_equal(kin__object_new(&object, carried, &parts), 0);
  kin__memory_unref(carried); /* the object outlives its maker */
  assert_str(kin__object_body(object),
             "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"labels\":"
             "{\"k\":\"v\"},\"resourceVersion\":\"9\"}}");
  assert_str(kin_object_key(object), "elsewhere/p");
  assert_str(kin_object_uid(object), "u");
  assert_str(kin_object_resource_version(object), "9");
  /* Borrowed from the body, not copied. */
  kin_str kept = kin__object_body(object);
  assert_ptr_equal(kin_object_uid(object).data, strstr(kept.data, "u\","));
  assert_ptr_equal(kin_object_resource_version(object).data,
                   strstr(kept.data, "9"));
  kin_str value;
  assert_true(kin_object_label(object, "k", &value));
  assert_str(value, "v");
  assert_ptr_equal(value.data, strstr(kept.data, "v\"}"));
  size_t memory_bytes = kin_object_memory(object);
  assert_true(memory_bytes - kept.length <= 56 + strlen("elsewhere/p") + 1);
  assert_true(memory.live_bytes >= memory_bytes + sizeof(kin__memory));
  kin_object_unref(object);
  assert_int_equal(memory.live_blocks, 0);
}

/* Parts that were dropped, or that never were in the body, are copied. */
static void test_object_new_copies_the_rest(void **state) {
  (void)state;
  static const char body[] = "{\"uid\":\"u1\",\"labels\":{\"k\":\"v\"}}";
  kin__span dropped[] = {{1, sizeof body - 3}};
  kin__object_parts parts = {
      .name = KIN__LIT("p"),
      .uid = {body + 8, 2},
      .version = KIN__LIT("77"),
      .labels = {strstr(body, "{\"k\""), 9},
      .body = {body, strlen(body)},
      .dropped = dropped,
      .dropped_count = 1,
  };
  kin__memory *memory = kin__memory_new(NULL);
  kin_object *object;
  assert_int_equal(kin__object_new(&object, memory, &parts), 0);
  assert_str(kin__object_body(object), "{}");
  assert_str(kin_object_uid(object), "u1");
  assert_str(kin_object_resource_version(object), "77");
  kin_str value;
  assert_true(kin_object_label(object, "k", &value));
  assert_str(value, "v");
  kin_object_unref(object);

  /* Without any body there is still a key. */
  parts.body = kin__str(NULL, 0);
  parts.labels = kin__str(NULL, 0);
  parts.dropped_count = 0;
  assert_int_equal(kin__object_new(&object, memory, &parts), 0);
  assert_str(kin_object_key(object), "p");
  assert_str(kin_object_uid(object), "u1");
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  int error = 0;
  assert_null(kin_object_view_document(view, &error));
  assert_int_equal(error, KIN_EJSON);
  assert_int_equal(kin_object_view_string(view, "/a", &value), KIN_EJSON);
  kin_object_view_close(view);
  kin_object_unref(object);

  parts.name.length = 0;
  assert_int_equal(kin__object_new(&object, memory, &parts), KIN_EKEY);
  assert_null(object);
  kin__memory_unref(memory);
}

/* Decode does not look into labels, so anything may be in them. */
static void test_object_malformed_labels(void **state) {
  (void)state;
  static const char *const rows[] = {
      "{\"a\":[{\"b\":\"]\"},1],\"k\":\"v\"}",
      "{\"a\":{\"b\\\"\":\"\\u0041\"},\"k\":\"v\"}",
      "{\"a\" \"b\"}",
      "{\"a\":}",
      "{\"a\":1 \"k\":\"v\"}",
      "{\"\\x\":\"1\",\"k\":\"\\x\"}",
      "{\"\\u12\":\"1\",\"k\":\"\\ud800\"}",
  };
  kin__memory *memory = kin__memory_new(NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t length = 1; length <= strlen(rows[i]); length++) {
      char *body = malloc(length);
      memcpy(body, rows[i], length);
      kin__object_parts parts = {.name = KIN__LIT("p"),
                                 .labels = {body, length},
                                 .body = {body, length}};
      kin_object *object;
      assert_int_equal(kin__object_new(&object, memory, &parts), 0);
      free(body);
      kin_str value;
      bool is_whole = length == strlen(rows[i]);
      if (kin_object_label(object, "k", &value)) {
        assert_true(i < 2);
        assert_str(value, "v");
      } else {
        assert_false(is_whole && i < 2);
      }
      kin_object_unref(object);
    }
  }
  kin__memory_unref(memory);
}

static void test_object_references(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin_object *object;
  assert_int_equal(
      kin_object_parse(&object, &memory.allocator, pod, strlen(pod)), 0);
  assert_ptr_equal(kin_object_ref(object), object);
  kin_object_unref(object);
  assert_str(kin_object_name(object), "p1");
  kin_object_unref(object);
  assert_int_equal(memory.live_blocks, 0);
  assert_null(kin_object_ref(NULL));
  kin_object_unref(NULL);
}

/* Every allocation of parse and view fails once. */
static bool run_object_without_memory(size_t n) {
  fail_alloc memory;
  fail_alloc_init(&memory, n);
  kin_object *object;
  int err = kin_object_parse(&object, &memory.allocator, pod, strlen(pod));
  kin_object_view *view = NULL;
  if (err == 0) {
    err = kin_object_view_open(&view, object);
  }
  if (err == 0) {
    int64_t n64;
    err = kin_object_view_int(view, "/spec/priority", &n64);
  }
  assert_int_equal(err, fail_alloc_has_failed(&memory) ? KIN_ENOMEM : 0);
  kin_object_view_close(view);
  kin_object_unref(object);
  assert_int_equal(memory.live_blocks, 0);
  return fail_alloc_has_failed(&memory);
}

static void test_object_out_of_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_object_without_memory, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_object_parse_resident),
      cmocka_unit_test(test_object_parse_escapes),
      cmocka_unit_test(test_object_parse_duplicates),
      cmocka_unit_test(test_object_huge_number),
      cmocka_unit_test(test_object_parse_errors),
      cmocka_unit_test(test_object_parse_truncated_everywhere),
      cmocka_unit_test(test_object_parse_depth),
      cmocka_unit_test(test_object_parse_long_names),
      cmocka_unit_test(test_object_view_values),
      cmocka_unit_test(test_json_members),
      cmocka_unit_test(test_object_new_skips_dropped),
      cmocka_unit_test(test_object_new_copies_the_rest),
      cmocka_unit_test(test_object_malformed_labels),
      cmocka_unit_test(test_object_references),
      cmocka_unit_test(test_object_out_of_memory),
  };
  return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
