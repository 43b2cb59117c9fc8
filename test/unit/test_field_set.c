/* SPDX-License-Identifier: MIT */

/* Which values are equal, and which fields of two objects are. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/object.h"
#include "object/text_equal.h"
#include "support/fail_alloc.h"
#include "support/objects.h"
#include "toolkit/field_set.h"

/* --- Values --------------------------------------------------------------- */

static const struct {
  const char *a;
  const char *b;
  bool is_equal;
} values[] = {
    {"1", "1", true},
    {"1", "1.0", false},
    {"true", "false", false},
    {"null", "null", true},
    {"", "", true},
    {"", "null", false},
    {"\"a\"", "\"a\"", true},
    {"\"a\"", "\"b\"", false},
    {"\"a/b\"", "\"a\\/b\"", true},
    {"\"\\u0061\"", "\"a\"", true},
    {"\"\\u0061\\n\"", "\"a\\n\"", false}, /* both with escapes */
    {"\"1\"", "1", false},
    {"{}", "{ }", true},
    {"{}", "[]", false},
    {"[]", "[ ]", true},
    {"[1,2]", "[ 1 ,\t2\n]", true},
    {"[1,2]", "[2,1]", false},
    {"[1,2]", "[1]", false},
    {"[1]", "[1,2]", false},
    {"{\"a\":1,\"b\":[{}]}", "{ \"b\" : [ { } ] , \"a\" : 1 }", true},
    {"{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3,\"a\":1,\"b\":2}", true},
    {"{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3,\"a\":1,\"b\":4}", false},
    {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
    {"{\"a\":1,\"b\":2}", "{\"a\":1}", false},
    {"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false},
    /* A name that occurs twice hides nothing. */
    {"{\"a\":1,\"a\":1}", "{\"a\":1,\"b\":2}", false},
    {"{\"a\":1,\"b\":2}", "{\"a\":1,\"a\":1}", false},
    {"{\"x\":{},\"a\":1,\"x\":1}", "{\"a\":1,\"x\":1,\"x\":{}}", false},
    {"{\"c\":0,\"x\":2,\"a\":1,\"x\":1}", "{\"a\":1,\"x\":1,\"c\":0,\"x\":2}",
     false},
    {"{\"\\u0078\":2,\"a\":1,\"x\":1}", "{\"a\":1,\"x\":1,\"\\u0078\":2}",
     false},
    {"{\"x\":1,\"a\":1,\"x\":2}", "{\"x\":1,\"x\":2,\"a\":1}", true},
    {"{\"x\":1,\"a\":1,\"x\":2}", "{\"x\":1,\"x\":3,\"a\":1}", false},
    {"{\"x\":1,\"a\":1,\"x\":1}", "{\"x\":1,\"b\":1,\"a\":1}", false},
    {"{\"a\\u0062\":1}", "{\"ab\":1}", true},
    {"{\"a\":null}", "{}", false},
    /* No JSON: only the same bytes are equal. */
    {"{\"a\":1,x}", "{\"a\":1,y}", false},
    {"{\"a\":1", "{\"a\":1 ", false},
    {"[1,", "[1,,", false},
    {"{\"a\":1,x}", "{\"a\":1,x}", true},
};

static bool is_text_equal(kin_str a, kin_str b) {
  uint64_t bytes_left = kin__text_equal_bound(a.length + b.length);
  return kin__text_equal(a, b, &bytes_left);
}

static void test_values(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    kin_str a = kin__cstr(values[i].a);
    kin_str b = kin__cstr(values[i].b);
    if (is_text_equal(a, b) != values[i].is_equal ||
        is_text_equal(b, a) != values[i].is_equal) {
      fail_msg("%s and %s", values[i].a, values[i].b);
    }
  }
}

/* A NUL is no white space. */
static void test_nul_is_no_json(void **state) {
  (void)state;
  assert_false(is_text_equal(KIN__LIT("{\"a\":{}\0}"), KIN__LIT("{\"a\":{}}")));
  assert_false(is_text_equal(KIN__LIT("[{}\0]"), KIN__LIT("[{}]")));
  assert_true(is_text_equal(KIN__LIT("[{} ]"), KIN__LIT("[{}]")));
}

/* `count` levels around a number, with a blank to make the bytes differ. */
static char *nested(unsigned count, const char *inner) {
  char *text = malloc(2 * count + strlen(inner) + 1);
  assert_non_null(text);
  memset(text, '[', count);
  strcpy(text + count, inner);
  memset(text + count + strlen(inner), ']', count);
  text[2 * count + strlen(inner)] = '\0';
  return text;
}

static void test_depth(void **state) {
  (void)state;
  static const unsigned depths[] = {KIN__TEXT_EQUAL_DEPTH,
                                    KIN__TEXT_EQUAL_DEPTH + 1, 10000};
  for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
    char *a = nested(depths[i], "1");
    char *b = nested(depths[i], " 1");
    assert_int_equal(is_text_equal(kin__cstr(a), kin__cstr(b)),
                     depths[i] <= KIN__TEXT_EQUAL_DEPTH);
    assert_true(is_text_equal(kin__cstr(a), kin__cstr(a)));
    free(a);
    free(b);
  }
}

/* Whether two objects are equal, whose `count` members have numbers of `length`
 * digits, and of which one object has the last `reversed` in the opposite
 * order. */
static bool is_reversed_equal(int count, int reversed, int length) {
  size_t size = (size_t)count * (16 + (size_t)length) + 3;
  char *texts[2] = {malloc(size), malloc(size)};
  assert_true(texts[0] != NULL && texts[1] != NULL);
  for (int i = 0; i < 2; i++) {
    char *at = texts[i];
    *at++ = '{';
    for (int k = 0; k < count; k++) {
      bool is_moved = i == 1 && k >= count - reversed;
      int member = is_moved ? 2 * count - reversed - 1 - k : k;
      at += sprintf(at, "%s\"k%d\":%0*d", k > 0 ? "," : "", member, length, 1);
    }
    strcpy(at, "}");
  }
  bool is_equal = is_text_equal(kin__cstr(texts[0]), kin__cstr(texts[1]));
  free(texts[0]);
  free(texts[1]);
  return is_equal;
}

/* Members in the opposite order: a search for each. Few are found within the
 * bound; many end the comparison, and differ. */
static void test_reads_are_bounded(void **state) {
  (void)state;
  assert_true(is_reversed_equal(30, 30, 1));
  assert_false(is_reversed_equal(20000, 20000, 1));
}

/* Members in the opposite order need less than 32 times the bytes: 16 times.
 * Those of 16 KB are within the bound of a step; those of 50 KB and of 900 KB
 * are not. */
static void test_large_reads_are_bounded(void **state) {
  (void)state;
  assert_true(is_reversed_equal(30, 30, 500));
  assert_false(is_reversed_equal(30, 30, 1600));
  assert_false(is_reversed_equal(30, 30, 30000));
}

/* The search begins where the order differs. */
static void test_equal_begin_is_read_once(void **state) {
  (void)state;
  assert_true(is_reversed_equal(20000, 2, 1));
  assert_true(is_reversed_equal(30, 2, 30000));
}

/* --- Fields --------------------------------------------------------------- */

static kin__field_set fields_of(const char *const *fields, size_t count) {
  kin__field_set set;
  size_t bad;
  assert_int_equal(
      kin__field_set_init(&set, kin__default_allocator(), fields, count, &bad),
      0);
  return set;
}

static bool is_same(kin__field_set *set, const char *a, const char *b) {
  kin_object *of_a =
      object_format(NULL, "{'metadata':{'name':'x'}%s%s}", *a ? "," : "", a);
  kin_object *of_b =
      object_format(NULL, "{'metadata':{'name':'x'}%s%s}", *b ? "," : "", b);
  bool same = kin__field_set_is_same(set, of_a, of_b);
  assert_int_equal(kin__field_set_is_same(set, of_b, of_a), same);
  kin_object_unref(of_a);
  kin_object_unref(of_b);
  return same;
}

static void test_fields(void **state) {
  (void)state;
  static const char *const fields[] = {"/data", "/spec/a", "/spec/list/1",
                                       "/spec/list"};
  kin__field_set set = fields_of(fields, 2);
  assert_true(is_same(&set, "", ""));
  assert_true(is_same(&set, "'x':1", "'x':2"));
  assert_true(is_same(&set, "'spec':{'a':null}", ""));
  assert_true(is_same(&set, "'spec':{'a':1,'b':1}", "'spec':{'b':2,'a':1}"));
  assert_false(is_same(&set, "'spec':{'a':1}", ""));
  assert_false(is_same(&set, "'spec':{'a':1}", "'spec':{'a':2}"));
  assert_true(
      is_same(&set, "'data':{'a':'1','b':'2'}", "'data':{'b':'2', 'a':'1'}"));
  assert_false(is_same(&set, "'data':{}", ""));
  assert_false(is_same(&set, "'data':{'a':'1'}", "'data':{'a':'2'}"));
  kin__field_set_finish(&set);
  /* A field inside another one. */
  set = fields_of(fields + 2, 2);
  assert_true(is_same(&set, "'spec':{'list':[1,2]}", "'spec':{'list':[1, 2]}"));
  assert_false(is_same(&set, "'spec':{'list':[1,2]}", "'spec':{'list':[3,2]}"));
  kin__field_set_finish(&set);
  set = fields_of(fields + 2, 1);
  assert_true(is_same(&set, "'spec':{'list':[1,2]}", "'spec':{'list':[3,2]}"));
  assert_false(is_same(&set, "'spec':{'list':[1,2]}", "'spec':{'list':[1]}"));
  kin__field_set_finish(&set);
  /* None: the bytes. */
  set = fields_of(NULL, 0);
  assert_true(is_same(&set, "'x':1", "'x':1"));
  assert_false(is_same(&set, "'x':1", "'x': 1"));
  kin__field_set_finish(&set);
  /* The whole document. */
  static const char *const whole[] = {""};
  set = fields_of(whole, 1);
  assert_true(is_same(&set, "'x':1", "'x': 1"));
  assert_false(is_same(&set, "'x':1", "'x':2"));
  kin__field_set_finish(&set);
}

/* An object with `count` fields, each with 30 members, in one of two orders. */
static kin_object *object_of_fields(unsigned count, bool is_reversed) {
  static char text[64 * 30 * 50];
  char *at = text + sprintf(text, "'metadata':{'name':'x'}");
  for (unsigned i = 0; i < count; i++) {
    at += sprintf(at, ",'f%u':{", i);
    for (int k = 0; k < 30; k++) {
      at += sprintf(at, "%s'k%d':'%030d'", k > 0 ? "," : "",
                    is_reversed ? 29 - k : k, 1);
    }
    at += sprintf(at, "}");
  }
  return object_format(NULL, "{%s}", text);
}

/* Each field may be read 16 times, and 64 of them may not. */
static void test_reads_of_all_fields_are_bounded(void **state) {
  (void)state;
  static const unsigned counts[] = {1, 8, 64};
  static char texts[64][8];
  const char *fields[64];
  for (unsigned i = 0; i < 64; i++) {
    snprintf(texts[i], sizeof texts[i], "/f%u", i);
    fields[i] = texts[i];
  }
  kin__field_set set = fields_of(fields, 64);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    kin_object *a = object_of_fields(counts[i], false);
    kin_object *b = object_of_fields(counts[i], true);
    assert_int_equal(kin__field_set_is_same(&set, a, b), counts[i] < 64);
    kin_object_unref(a);
    kin_object_unref(b);
  }
  kin__field_set_finish(&set);
}

/* Of what a decoder skips, only the brackets and quotes are checked. */
static void test_malformed_fields(void **state) {
  (void)state;
  static const char *const fields[] = {"/data", "/spec/a"};
  kin__memory *memory = kin__memory_new(NULL);
  kin__field_set set = fields_of(fields, 2);
  kin_object *objects[4];
  static const char *const texts[] = {
      "{\"data\":1,\"spec\":{\"x\" 1,\"a\":1}}",
      "{\"data\":1,\"spec\":{\"x\" 1,\"a\":2}}",
      "{\"data\":1,\"spec\":{\"a\":1},\"x\" 1}",
      "{\"data\":1,\"spec\":{\"a\":1},\"x\" 2}",
  };
  for (size_t i = 0; i < 4; i++) {
    kin__object_parts parts = {.name = KIN__LIT("x"),
                               .body = kin__cstr(texts[i])};
    assert_int_equal(kin__object_new(&objects[i], memory, &parts), 0);
  }
  assert_false(kin__field_set_is_same(&set, objects[0], objects[1]));
  assert_false(kin__field_set_is_same(&set, objects[0], objects[2]));
  assert_false(kin__field_set_is_same(&set, objects[2], objects[0]));
  assert_true(kin__field_set_is_same(&set, objects[2], objects[3]));
  for (size_t i = 0; i < 4; i++) {
    kin_object_unref(objects[i]);
  }
  kin__field_set_finish(&set);
  kin__memory_unref(memory);
}

static void test_refused_fields(void **state) {
  (void)state;
  static const char *const wrong[] = {"data",   "/spec/*", "/*",
                                      "/a/*/b", "/a~",     NULL};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const char *fields[] = {"/data", "/a*/*b", wrong[i]};
    kin__field_set set;
    size_t bad = 0;
    assert_int_equal(
        kin__field_set_init(&set, kin__default_allocator(), fields, 3, &bad),
        KIN_EINVAL);
    assert_int_equal(bad, 2);
    kin__field_set_finish(&set);
  }
}

static bool init_without_memory(size_t fail_at) {
  static const char *const fields[] = {"/data", "/spec/a", "/spec/b/c"};
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  kin__field_set set;
  size_t bad;
  int err = kin__field_set_init(&set, &memory.allocator, fields, 3, &bad);
  assert_int_equal(err, fail_alloc_has_failed(&memory) ? KIN_ENOMEM : 0);
  kin__field_set_finish(&set);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  return fail_alloc_has_failed(&memory);
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(init_without_memory, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_nul_is_no_json),
      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_reads_are_bounded),
      cmocka_unit_test(test_large_reads_are_bounded),
      cmocka_unit_test(test_equal_begin_is_read_once),
      cmocka_unit_test(test_fields),
      cmocka_unit_test(test_reads_of_all_fields_are_bounded),
      cmocka_unit_test(test_malformed_fields),
      cmocka_unit_test(test_refused_fields),
      cmocka_unit_test(test_sweep_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
