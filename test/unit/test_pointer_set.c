/* SPDX-License-Identifier: MIT */

/* Pointers that are read together, in one pass over the text, against the same
 * pointers read one by one from a parsed document. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "object/json.h"
#include "object/pointer_set.h"
#include "support/fail_alloc.h"
#include "support/json_gen.h"
#include "support/naive_pointer.h"

#define POINTERS 12
#define TEXT_SIZE 65536

/* The values that were emitted for each pointer, each followed by ';'. */
typedef struct values {
  kin__pointer_set set;
  char *text[POINTERS];
  uint32_t id; /* of the value at hand */
  int stop_after;
} values;

static int append(void *ctx, kin_str value) {
  values *v = ctx;
  size_t used = strlen(v->text[v->id]);
  assert_true(used + value.length + 2 < TEXT_SIZE);
  snprintf(v->text[v->id] + used, TEXT_SIZE - used, "%.*s;", (int)value.length,
           value.data);
  return v->stop_after > 0 && --v->stop_after == 0 ? -77 : 0;
}

static int on_scalar(void *ctx, uint32_t id, kin_str scalar) {
  values *v = ctx;
  v->id = id;
  return kin__json_scalar(v->set.allocator, scalar, append, v);
}

static void append_naive(void *ctx, kin_str value) {
  (void)append(ctx, value);
}

static void values_init(values *v, const kin_allocator *allocator) {
  *v = (values){.stop_after = 0};
  kin__pointer_set_init(&v->set, allocator);
  for (size_t i = 0; i < POINTERS; i++) {
    v->text[i] = calloc(1, TEXT_SIZE);
    assert_non_null(v->text[i]);
  }
}

static void values_finish(values *v) {
  kin__pointer_set_finish(&v->set);
  for (size_t i = 0; i < POINTERS; i++) {
    free(v->text[i]);
  }
}

static void values_clear(values *v) {
  for (size_t i = 0; i < POINTERS; i++) {
    v->text[i][0] = '\0';
  }
}

static void add(values *v, const char *pointer, uint32_t expected_id) {
  uint32_t id = UINT32_MAX;
  assert_int_equal(kin__pointer_set_add(&v->set, pointer, &id), 0);
  assert_int_equal(id, expected_id);
}

static const char pod[] =
    "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a/b\":\"web\",\"x~\":\"\","
    "\"n\":1}},"
    "\"spec\":{\"nodeName\":\"n1\",\"priority\":-5,\"zero\":0,\"minus\":-0,"
    "\"big\":18446744073709551615,\"huge\":1e999,\"ratio\":1.50,\"on\":true,"
    "\"off\":false,\"none\":null,\"esc\\u0061ped\":\"l\\u00e4\\n\","
    "\"list\":[ {\"image\":\"a\"} , {\"image\":\"b\"}, [\"in\"], "
    "{\"image\":7}],"
    "\"nodeName\":\"second\",\"empty\":{},\"none_of\":[]}}";

/* One pointer alone, and what it names. */
static void test_one_pointer(void **state) {
  (void)state;
  static const struct {
    const char *pointer;
    const char *expected;
  } rows[] = {
      {"/spec/nodeName", "n1;"}, /* the first of two */
      {"/spec/priority", "-5;"},
      {"/spec/zero", "0;"},
      {"/spec/minus", "0;"},
      {"/spec/big", "18446744073709551615;"},
      {"/spec/huge", "1e999;"},
      {"/spec/ratio", "1.5;"},
      {"/spec/on", "true;"},
      {"/spec/off", "false;"},
      {"/spec/none", ""},
      {"/spec/list", ""},
      {"/spec/escaped", "l\xc3\xa4\n;"},
      {"/spec/esc\\u0061ped", ""},
      {"/metadata/labels/a~1b", "web;"},
      {"/metadata/labels/x~0", ";"},
      {"/spec/list/1/image", "b;"},
      {"/spec/list/01/image", ""},
      {"/spec/list/4/image", ""},
      {"/spec/list/-/image", ""},
      {"/spec/list/99999999999999999999/image", ""},
      {"/spec/list/*/image", "a;b;7;"},
      {"/spec/list/*", ""},
      {"/spec/list/*/*", "a;b;in;7;"},
      {"/metadata/labels/*", "web;;1;"},
      {"/*/labels/*", "web;;1;"},
      {"/spec/list/*image", ""},
      {"/nothing/*/x", ""},
      {"/spec/nodeName/*", ""},
      {"/spec/empty/*", ""},
      {"/spec/none_of/*", ""},
      {"/spec/none_of/0", ""},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    values v;
    values_init(&v, kin__default_allocator());
    add(&v, rows[i].pointer, 0);
    assert_int_equal(
        kin__pointer_set_read(&v.set, kin__cstr(pod), on_scalar, &v), 0);
    if (strcmp(v.text[0], rows[i].expected) != 0) {
      fail_msg("%s: %s, expected %s", rows[i].pointer, v.text[0],
               rows[i].expected);
    }
    values_finish(&v);
  }
}

/* Pointers that are equal, that begin alike, that end inside others, and that
 * meet one value by name and by `*`. The second object finds what the first one
 * left. */
static void test_together(void **state) {
  (void)state;
  values v;
  values_init(&v, kin__default_allocator());
  add(&v, "/spec/nodeName", 0);
  add(&v, "/spec/list/*/image", 1);
  add(&v, "/spec/list/1/image", 2);
  add(&v, "/spec/list", 3);
  add(&v, "/spec/nodeName", 4);
  add(&v, "/*/nodeName", 5);
  for (int round = 0; round < 2; round++) {
    values_clear(&v);
    assert_int_equal(
        kin__pointer_set_read(&v.set, kin__cstr(pod), on_scalar, &v), 0);
    assert_string_equal(v.text[0], "n1;");
    assert_string_equal(v.text[1], "a;b;7;");
    assert_string_equal(v.text[2], "b;");
    assert_string_equal(v.text[3], "");
    assert_string_equal(v.text[4], "n1;");
    assert_string_equal(v.text[5], "n1;");
  }
  values_clear(&v);
  v.stop_after = 2;
  assert_int_equal(kin__pointer_set_read(&v.set, kin__cstr(pod), on_scalar, &v),
                   -77);
  values_finish(&v);
}

static void test_arguments(void **state) {
  (void)state;
  static const char *const malformed[] = {"a", "/~", "/~2", "spec/x"};
  values v;
  values_init(&v, kin__default_allocator());
  uint32_t id;
  assert_int_equal(kin__pointer_set_read(&v.set, kin__cstr(pod), on_scalar, &v),
                   0);
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
    assert_int_equal(kin__pointer_set_add(&v.set, malformed[i], &id),
                     KIN_EINVAL);
  }
  char deep[3 + 2 * 65] = "";
  for (int i = 0; i < 65; i++) {
    strcat(deep, "/*");
  }
  assert_int_equal(kin__pointer_set_add(&v.set, deep, &id), KIN_EINVAL);
  deep[2 * 64] = '\0';
  add(&v, deep, 0);
  assert_int_equal(
      kin__pointer_set_read(&v.set, kin__str(NULL, 0), on_scalar, &v), 0);
  values_finish(&v);
}

/* Every beginning of the text, which is then no JSON: no read past its end, no
 * value that the whole text does not have, and none is lost that the text had
 * before it was cut. */
static void test_cut_text(void **state) {
  (void)state;
  values v;
  values_init(&v, kin__default_allocator());
  add(&v, "/metadata/labels/*", 0);
  add(&v, "/spec/list/*/image", 1);
  size_t length = 0;
  for (; length < sizeof pod; length++) {
    char *text = malloc(length + 1); /* ASan guards its end */
    assert_non_null(text);
    memcpy(text, pod, length);
    values_clear(&v);
    assert_int_equal(
        kin__pointer_set_read(&v.set, kin__str(text, length), on_scalar, &v),
        0);
    assert_int_equal(strncmp(v.text[0], "web;;1;", strlen(v.text[0])), 0);
    assert_int_equal(strncmp(v.text[1], "a;b;7;", strlen(v.text[1])), 0);
    free(text);
  }
  assert_string_equal(v.text[0], "web;;1;");
  assert_string_equal(v.text[1], "a;b;7;");
  values_finish(&v);
}

/* A scalar that JSON does not have gives no value, and no error. */
static void test_no_scalar(void **state) {
  (void)state;
  static const char *const texts[] = {"abc",          "-",       "01",
                                      "1.",           "\"\\x\"", "\"\\ud800\"",
                                      "\"\\udc00x\"", "tru",     "+1"};
  values v;
  values_init(&v, kin__default_allocator());
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    assert_int_equal(
        kin__json_scalar(v.set.allocator, kin__cstr(texts[i]), append, &v), 0);
    assert_string_equal(v.text[0], "");
  }
  values_finish(&v);
}

static void test_out_of_memory(void **state) {
  (void)state;
  static const char *const pointers[] = {"/spec/list/*/image", "/spec/ratio",
                                         "/spec/escaped"};
  for (size_t n = 1;; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    values v;
    values_init(&v, &memory.allocator);
    int err = 0;
    for (size_t i = 0; err == 0 && i < 3; i++) {
      uint32_t id;
      err = kin__pointer_set_add(&v.set, pointers[i], &id);
    }
    if (err == 0) {
      err = kin__pointer_set_read(&v.set, kin__cstr(pod), on_scalar, &v);
    }
    values_finish(&v);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
    if (!fail_alloc_has_failed(&memory)) {
      assert_int_equal(err, 0);
      assert_true(n > 8);
      break;
    }
    assert_int_equal(err, KIN_ENOMEM);
  }
}

/* Random documents, random pointers into them. */
static void test_random(void **state) {
  (void)state;
  size_t found = 0;
  for (uint64_t seed = 1; seed <= 3000; seed++) {
    kin__buf text;
    kin__buf pointer;
    json_gen gen;
    kin__buf_init(&text, kin__default_allocator(), SIZE_MAX);
    kin__buf_init(&pointer, kin__default_allocator(), SIZE_MAX);
    json_gen_init(&gen, seed, &text);
    gen.compact = json_gen_one_in(&gen, 2);
    json_gen_object(&gen, 6);
    struct yyjson_doc *doc;
    kin_str json = kin__str(text.data, text.length);
    assert_int_equal(kin__json_parse(&doc, kin__default_allocator(), json), 0);
    values together;
    values naive;
    values_init(&together, kin__default_allocator());
    values_init(&naive, kin__default_allocator());
    for (uint32_t i = 0; i < POINTERS; i++) {
      pointer.length = 0;
      naive_pointer_random(&gen, yyjson_doc_get_root(doc), &pointer);
      add(&together, pointer.data, i);
      naive.id = i;
      naive_pointer_each(yyjson_doc_get_root(doc), pointer.data, append_naive,
                         &naive);
    }
    assert_int_equal(
        kin__pointer_set_read(&together.set, json, on_scalar, &together), 0);
    for (uint32_t i = 0; i < POINTERS; i++) {
      if (strcmp(together.text[i], naive.text[i]) != 0) {
        fail_msg("seed %llu, pointer %u: %s, expected %s",
                 (unsigned long long)seed, (unsigned)i, together.text[i],
                 naive.text[i]);
      }
      found += naive.text[i][0] != '\0';
    }
    values_finish(&together);
    values_finish(&naive);
    kin__json_free(kin__default_allocator(), doc);
    kin__buf_finish(&text);
    kin__buf_finish(&pointer);
  }
  assert_true(found > 3000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_pointer), cmocka_unit_test(test_together),
      cmocka_unit_test(test_arguments),   cmocka_unit_test(test_cut_text),
      cmocka_unit_test(test_no_scalar),   cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
