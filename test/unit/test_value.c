/* SPDX-License-Identifier: MIT */

/* Values by pointer and by type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/value.h>

#include "support/objects.h"

static const char text[] =
    "{'metadata':{'name':'p','labels':{'a/b':'web','x~':''}},"
    "'spec':{'nodeName':'n1','nodeName':'second','none':null,"
    "'esc\\u0061ped':'l\\u00e4\\n','list':[ 1 ,[true], {'a':2}],"
    "'empty':{},'none_of':[]}}";

static kin_object *object;

static int setup(void **state) {
  (void)state;
  object = object_of(NULL, text);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  kin_object_unref(object);
  return 0;
}

/* A value in whose text ' stands for ". The last eight live. */
static kin_value of(const char *json) {
  static char texts[8][2048];
  static unsigned turn;
  char *to = texts[turn++ % 8];
  size_t length = strlen(json);
  assert_true(length < sizeof texts[0]);
  for (size_t i = 0; i < length; i++) {
    to[i] = json[i] == '\'' ? '"' : json[i];
  }
  kin_str s = {to, length};
  return kin_value_of(s);
}

static void test_value_at(void **state) {
  (void)state;
  static const struct {
    const char *pointer;
    const char *json; /* ' for "; NULL: nothing there */
  } rows[] = {
      {"/metadata/name", "'p'"},
      {"/metadata/labels/a~1b", "'web'"},
      {"/metadata/labels/x~0", "''"},
      {"/metadata/labels/x", NULL},
      {"/spec/nodeName", "'n1'"}, /* the first of two */
      {"/spec/none", "null"},
      {"/spec/escaped", "'l\\u00e4\\n'"},
      {"/spec/esc\\u0061ped", NULL},
      {"/spec/list/0", "1"},
      {"/spec/list/1/0", "true"},
      {"/spec/list/2/a", "2"},
      {"/spec/list/3", NULL},
      {"/spec/list/00", NULL},
      {"/spec/list/-", NULL},
      {"/spec/list/99999999999999999999", NULL},
      {"/spec/list", "[ 1 ,[true], {'a':2}]"},
      {"/spec/empty", "{}"},
      {"/spec/empty/a", NULL},
      {"/spec/none_of/0", NULL},
      {"/spec/nodeName/a", NULL},
      {"/spec/none/a", NULL},
      {"/", NULL},
      {"", text},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_value value = kin_object_at(object, rows[i].pointer);
    kin_value same = kin_value_at(kin_object_at(object, ""), rows[i].pointer);
    assert_int_equal(value.error, rows[i].json != NULL ? 0 : KIN_ENOENT);
    assert_int_equal(same.error, value.error);
    assert_true(kin_str_equal(same.json, value.json));
    if (rows[i].json != NULL) {
      kin_value want = of(rows[i].json);
      if (!kin_str_equal(value.json, want.json)) {
        fail_msg("%s: " KIN_STR_FORMAT, rows[i].pointer,
                 KIN_STR_ARG(value.json));
      }
    }
  }
}

static void test_value_bad_pointer(void **state) {
  (void)state;
  static const char *const pointers[] = {"a", "/~", "/~2", "/a~"};
  for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
    assert_int_equal(kin_object_at(object, pointers[i]).error, KIN_EINVAL);
    assert_int_equal(kin_value_at(of("{}"), pointers[i]).error, KIN_EINVAL);
  }
  char deep[2 * 65 + 1] = "";
  for (int i = 0; i < 65; i++) {
    strcat(deep, "/a");
  }
  assert_int_equal(kin_object_at(object, deep).error, KIN_EINVAL);
  deep[2 * 64] = '\0';
  assert_int_equal(kin_object_at(object, deep).error, KIN_ENOENT);
}

/* A token that must be unescaped has a bound, others have none. */
static void test_value_long_token(void **state) {
  (void)state;
  char json[1400];
  char pointer[1200];
  for (size_t length = 510; length <= 512; length++) {
    char name[600];
    memset(name, 'n', length);
    name[length] = '\0';
    snprintf(json, sizeof json, "{'~%s':1,'n%s':2}", name + 1, name);
    snprintf(pointer, sizeof pointer, "/~0%s", name + 1);
    int want = length <= 511 ? 0 : KIN_EINVAL;
    assert_int_equal(kin_value_at(of(json), pointer).error, want);
    snprintf(pointer, sizeof pointer, "/n%s", name);
    assert_int_equal(kin_value_at(of(json), pointer).error, 0);
  }
}

static void test_value_types(void **state) {
  (void)state;
  static const struct {
    const char *json;
    kin_value_type type;
  } rows[] = {{"null", KIN_VALUE_NULL},     {"true", KIN_VALUE_BOOL},
              {"false", KIN_VALUE_BOOL},    {"-1", KIN_VALUE_NUMBER},
              {" 1e5\n", KIN_VALUE_NUMBER}, {"'a'", KIN_VALUE_STRING},
              {"[]", KIN_VALUE_ARRAY},      {"{ }", KIN_VALUE_OBJECT},
              {"", KIN_VALUE_ABSENT},       {"1 2", KIN_VALUE_ABSENT},
              {"[1", KIN_VALUE_ABSENT},     {"'a", KIN_VALUE_ABSENT}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_value value = of(rows[i].json);
    assert_int_equal(kin_value_type_of(value), rows[i].type);
    assert_int_equal(kin_value_exists(value), rows[i].type > KIN_VALUE_NULL);
  }
  assert_int_equal(of(" ").error, KIN_ENOENT);
  assert_int_equal(of("[1").error, KIN_EJSON);
  kin_value nothing = {.error = 0};
  assert_int_equal(kin_value_type_of(nothing), KIN_VALUE_ABSENT);
}

/* An error goes through nested calls to the end. */
static void test_value_hands_errors_on(void **state) {
  (void)state;
  int64_t number = 77;
  kin_value absent = kin_object_at(object, "/spec/nothing");
  assert_int_equal(kin_value_int64(absent, &number), KIN_ENOENT);
  kin_value malformed = kin_value_at(of("[1"), "/0");
  assert_int_equal(kin_value_int64(malformed, &number), KIN_EJSON);
  kin_value wrong = kin_value_member(kin_object_at(object, "a"), KIN_STR("b"));
  assert_int_equal(kin_value_int64(wrong, &number), KIN_EINVAL);
  kin_value_iterator iterator = kin_value_iterate(wrong);
  assert_int_equal(iterator.error, KIN_EINVAL);
  assert_int_equal(number, 77);
  kin_value zero = {.error = 0};
  assert_int_equal(kin_value_int64(zero, &number), KIN_ENOENT);
  assert_int_equal(kin_value_at(zero, "/a").error, KIN_ENOENT);
  /* Text that is not the library's. */
  kin_value odd = {.json = KIN_STR("x")};
  assert_int_equal(kin_value_int64(odd, &number), KIN_EJSON);
  odd.json = KIN_STR("\"");
  kin_str s;
  assert_int_equal(kin_value_string(odd, NULL, 0, &s), KIN_EJSON);
  odd.json = KIN_STR("tru");
  bool flag;
  assert_int_equal(kin_value_bool(odd, &flag), KIN_EJSON);
}

/* Each type is read as itself only; null and nothing are not there. */
static void test_value_wrong_types(void **state) {
  (void)state;
  static const char *const rows[] = {"true", "1", "'1'", "[]", "{}"};
  for (size_t i = 0; i < 6; i++) {
    kin_value value = of(i < 5 ? rows[i] : "null");
    int other = i < 5 ? KIN_ETYPE : KIN_ENOENT;
    kin_str s;
    char to[8];
    int64_t i64;
    uint64_t u64;
    double number;
    bool flag;
    kin_time moment;
    size_t length;
    kin_int_or_string either;
    kin_quantity quantity;
    assert_int_equal(kin_value_string(value, NULL, 0, &s), i == 2 ? 0 : other);
    assert_int_equal(kin_value_copy_string(value, to, 8, NULL),
                     i == 2 ? 0 : other);
    assert_int_equal(kin_value_int64(value, &i64), i == 1 ? 0 : other);
    assert_int_equal(kin_value_uint64(value, &u64), i == 1 ? 0 : other);
    assert_int_equal(kin_value_double(value, &number), i == 1 ? 0 : other);
    assert_int_equal(kin_value_bool(value, &flag), i == 0 ? 0 : other);
    assert_int_equal(kin_value_time(value, &moment),
                     i == 2 ? KIN_EUNEXPECTED : other);
    assert_int_equal(kin_value_duration(value, &i64),
                     i == 2 ? KIN_EUNEXPECTED : other);
    assert_int_equal(kin_value_base64(value, to, 8, &length),
                     i == 2 ? KIN_EUNEXPECTED : other);
    assert_int_equal(kin_value_int_or_string(value, NULL, 0, &either),
                     i == 1 || i == 2 ? 0 : other);
    assert_int_equal(kin_value_quantity(value, &quantity),
                     i == 1 || i == 2 ? 0 : other);
    assert_int_equal(kin_value_member(value, KIN_STR("a")).error,
                     i == 4 ? KIN_ENOENT : other);
    assert_int_equal(kin_value_iterate(value).error,
                     i == 3 || i == 4 ? 0 : other);
  }
}

static void test_value_strings(void **state) {
  (void)state;
  char buffer[16];
  kin_str s;
  kin_value plain = of("'plain'");
  assert_int_equal(kin_value_string(plain, NULL, 0, &s), 0);
  assert_ptr_equal(s.data, plain.json.data + 1);
  assert_true(kin_str_equal(s, KIN_STR("plain")));
  assert_true(kin_value_string_is(plain, KIN_STR("plain")));
  assert_false(kin_value_string_is(plain, KIN_STR("plai")));
  assert_false(kin_value_string_is(of("plain"), KIN_STR("plain")));

  /* Escaped text is never lent. */
  kin_value escaped = of("'a\\u0000\\ud83d\\ude00\\/'");
  s = KIN_STR("before");
  assert_int_equal(kin_value_string(escaped, NULL, 0, &s), KIN_ETOOBIG);
  assert_int_equal(kin_value_string(escaped, buffer, 16, &s), KIN_ETOOBIG);
  assert_true(kin_str_equal(s, KIN_STR("before")));
  char large[64];
  assert_int_equal(kin_value_string(escaped, large, escaped.json.length, &s),
                   0);
  assert_ptr_equal(s.data, large);
  assert_true(kin_str_equal(s, KIN_STR("a\0\xf0\x9f\x98\x80/")));
  assert_true(kin_value_string_is(escaped, s));

  size_t length = 77;
  assert_int_equal(kin_value_copy_string(plain, buffer, 5, &length),
                   KIN_ETOOBIG);
  assert_int_equal(length, 77);
  assert_int_equal(kin_value_copy_string(plain, buffer, 6, &length), 0);
  assert_int_equal(length, 5);
  assert_string_equal(buffer, "plain");
  assert_int_equal(
      kin_value_copy_string(escaped, large, escaped.json.length, &length), 0);
  assert_int_equal(length, 7);
  assert_int_equal(large[7], '\0');

  static const char *const bad[] = {"'\\x'", "'\\u12'", "'\\ud800'",
                                    "'\\udc00'", "'\\ud800\\u0041'"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(kin_value_string(of(bad[i]), large, 64, &s), KIN_EJSON);
    assert_int_equal(kin_value_copy_string(of(bad[i]), large, 64, NULL),
                     KIN_EJSON);
  }
}

static void test_value_numbers(void **state) {
  (void)state;
  static const struct {
    const char *json;
    int i64_error;
    int u64_error;
    int double_error;
    int64_t i64;
    uint64_t u64;
    double number;
  } rows[] = {
      {"0", 0, 0, 0, 0, 0, 0},
      {"-0", 0, 0, 0, 0, 0, 0},
      {"7", 0, 0, 0, 7, 7, 7},
      {"-7", 0, KIN_ETOOBIG, 0, -7, 0, -7},
      {"9223372036854775807", 0, 0, 0, INT64_MAX, INT64_MAX,
       9223372036854775807.0},
      {"9223372036854775808", KIN_ETOOBIG, 0, 0, 0, (uint64_t)1 << 63,
       9223372036854775808.0},
      {"-9223372036854775808", 0, KIN_ETOOBIG, 0, INT64_MIN, 0,
       -9223372036854775808.0},
      {"-9223372036854775809", KIN_ETOOBIG, KIN_ETOOBIG, 0, 0, 0,
       -9223372036854775808.0},
      {"18446744073709551615", KIN_ETOOBIG, 0, 0, 0, UINT64_MAX,
       18446744073709551616.0},
      {"18446744073709551616", KIN_ETOOBIG, KIN_ETOOBIG, 0, 0, 0,
       18446744073709551616.0},
      {"1.5", KIN_ETYPE, KIN_ETYPE, 0, 0, 0, 1.5},
      {"1e2", KIN_ETYPE, KIN_ETYPE, 0, 0, 0, 100},
      {"0.1", KIN_ETYPE, KIN_ETYPE, 0, 0, 0, 0.1},
      {"2.2250738585072011e-308", KIN_ETYPE, KIN_ETYPE, 0, 0, 0,
       2.2250738585072011e-308},
      {"1E+2", KIN_ETYPE, KIN_ETYPE, 0, 0, 0, 100},
      {"1e999", KIN_ETYPE, KIN_ETYPE, KIN_ETOOBIG, 0, 0, 0},
      {"-1e999", KIN_ETYPE, KIN_ETYPE, KIN_ETOOBIG, 0, 0, 0},
      {"1e-999", KIN_ETYPE, KIN_ETYPE, 0, 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_value value = of(rows[i].json);
    int64_t i64 = 0;
    uint64_t u64 = 0;
    double number = 0;
    assert_int_equal(kin_value_int64(value, &i64), rows[i].i64_error);
    assert_int_equal(kin_value_uint64(value, &u64), rows[i].u64_error);
    assert_int_equal(kin_value_double(value, &number), rows[i].double_error);
    assert_true(i64 == rows[i].i64);
    assert_true(u64 == rows[i].u64);
    assert_true(number == rows[i].number);
  }
  static const char *const bad[] = {"01",   "-",   "+1",       ".5",  "1.",
                                    "1e",   "1e+", "-a",       "1a",  "0x1",
                                    "1.e5", "--1", "Infinity", "inf", "1_0"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    kin_value value = of(bad[i]);
    int64_t i64;
    uint64_t u64;
    double number;
    if (kin_value_int64(value, &i64) != KIN_EJSON ||
        kin_value_uint64(value, &u64) != KIN_EJSON ||
        kin_value_double(value, &number) != KIN_EJSON) {
      fail_msg("%s", bad[i]);
    }
  }
}

static void test_value_long_number(void **state) {
  (void)state;
  char digits[1026];
  memset(digits, '0', sizeof digits);
  memcpy(digits, "0.", 2);
  digits[1023] = '1';
  digits[1024] = '\0';
  double number = 7;
  assert_int_equal(kin_value_double(of(digits), &number), 0);
  assert_true(number == 0);
  digits[1024] = '1';
  digits[1025] = '\0';
  assert_int_equal(kin_value_double(of(digits), &number), KIN_ETOOBIG);
}

static void test_value_times(void **state) {
  (void)state;
  kin_time moment;
  assert_int_equal(kin_value_time(of("'2026-01-01T00:00:00Z'"), &moment), 0);
  assert_true(moment.s == 1767225600 && moment.ns == 0);
  assert_int_equal(
      kin_value_time(of("'2026-01-01T00:00:00\\u002e25Z'"), &moment), 0);
  assert_true(moment.s == 1767225600 && moment.ns == 250000000);
  assert_int_equal(kin_value_time(of("'2026'"), &moment), KIN_EUNEXPECTED);
  char text_of_time[KIN_TIME_SIZE];
  assert_int_equal(kin_time_format(text_of_time, moment, 6), 27);
  assert_string_equal(text_of_time, "2026-01-01T00:00:00.250000Z");
  kin_time later = moment;
  later.ns++;
  assert_int_equal(kin_time_compare(moment, later), -1);
  assert_int_equal(kin_time_compare(later, moment), 1);
  assert_int_equal(kin_time_compare(later, later), 0);
  later.s--;
  assert_int_equal(kin_time_compare(moment, later), 1);

  int64_t ns = 0;
  assert_int_equal(kin_value_duration(of("'1h30m'"), &ns), 0);
  assert_true(ns == INT64_C(5400000000000));
  assert_int_equal(kin_value_duration(of("'90'"), &ns), KIN_EUNEXPECTED);
  char long_string[600];
  memset(long_string, ' ', sizeof long_string);
  memcpy(long_string, "'\\u0031", 7);
  memcpy(long_string + 597, "s'", 3);
  assert_int_equal(kin_value_duration(of(long_string), &ns), KIN_EUNEXPECTED);
}

/* apimachinery: JSONWhitespace. */
static void test_value_quantities(void **state) {
  (void)state;
  static const struct {
    const char *json;
    const char *want;
  } rows[] = {{"'500m'", "500m"}, {"' 1'", "1"},  {"'1 '", "1"},
              {"1", "1"},         {"-1", "-1"},   {"10", "10"},
              {"1.5", "1500m"},   {"1e3", "1e3"}, {"'2\\u0047i'", "2Gi"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_quantity quantity;
    assert_int_equal(kin_value_quantity(of(rows[i].json), &quantity), 0);
    char written[KIN_QUANTITY_SIZE];
    kin_quantity_text(written, &quantity);
    assert_string_equal(written, rows[i].want);
  }
  kin_quantity quantity;
  assert_int_equal(kin_value_quantity(of("'1x'"), &quantity), KIN_EUNEXPECTED);
  /* Of 256 bytes with escapes, and of six more. */
  char escaped[2 + 43 * 6 + 1] = "'1000";
  for (size_t at = 5; at < 257; at += 6) {
    memcpy(escaped + at, "\\u0030", 6);
  }
  strcpy(escaped + 257, "'");
  assert_int_equal(kin_value_quantity(of(escaped), &quantity), 0);
  strcpy(escaped + 257, "0'");
  assert_int_equal(kin_value_quantity(of(escaped), &quantity), KIN_EUNEXPECTED);
  assert_int_equal(kin_value_quantity(of("''"), &quantity), KIN_EUNEXPECTED);
  assert_int_equal(kin_value_quantity(of("'1e99'"), &quantity), KIN_ETOOBIG);
  assert_int_equal(kin_value_quantity(of("1."), &quantity), KIN_EJSON);
}

static void test_value_base64(void **state) {
  (void)state;
  char to[16];
  size_t length = 77;
  assert_int_equal(kin_value_base64(of("'c2VjcmV0'"), to, 6, &length), 0);
  assert_int_equal(length, 6);
  assert_memory_equal(to, "secret", 6);
  assert_int_equal(kin_value_base64(of("'c2VjcmV0'"), to, 5, &length),
                   KIN_ETOOBIG);
  assert_int_equal(kin_value_base64(of("'YQ=='"), to, 1, &length), 0);
  assert_int_equal(length, 1);
  assert_int_equal(kin_value_base64(of("''"), NULL, 0, &length), 0);
  assert_int_equal(length, 0);
  assert_int_equal(kin_value_base64(of("'\\/\\/\\n8='"), to, 16, &length), 0);
  assert_int_equal(length, 2);
  assert_memory_equal(to, "\xff\xff", 2);
  static const char *const bad[] = {"'YQ='", "'Y'", "'Y*=='", "'YQ==YQ=='",
                                    "'===='"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(kin_value_base64(of(bad[i]), to, 16, &length),
                     KIN_EUNEXPECTED);
  }
}

/* apimachinery: GetScaledValueFromIntOrPercent, in both directions. */
static void test_value_int_or_string(void **state) {
  (void)state;
  static const struct {
    const char *json;
    int32_t total;
    int32_t down;
    int32_t up;
    int error;
  } rows[] = {{"10", 100, 10, 10, 0},
              {"'10%'", 100, 10, 10, 0},
              {"'25%'", 10, 2, 3, 0},
              {"'0%'", 7, 0, 0, 0},
              {"'100%'", 7, 7, 7, 0},
              {"'-50%'", 3, -2, -1, 0},
              {"'\\u0035%'", 20, 1, 1, 0},
              {"'%'", 10, 0, 0, KIN_EINVAL},
              {"'a%'", 10, 0, 0, KIN_EINVAL},
              {"'10'", 10, 0, 0, KIN_EINVAL},
              {"''", 10, 0, 0, KIN_EINVAL},
              {"'1.5%'", 10, 0, 0, KIN_EINVAL},
              {"'2147483647%'", 2147483647, 0, 0, KIN_ETOOBIG},
              {"'2147483648%'", 1, 0, 0, KIN_EINVAL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char buffer[32];
    kin_int_or_string value;
    assert_int_equal(kin_value_int_or_string(of(rows[i].json), buffer,
                                             sizeof buffer, &value),
                     0);
    int32_t down = 0;
    int32_t up = 0;
    assert_int_equal(
        kin_int_or_string_scale(&value, rows[i].total, false, &down),
        rows[i].error);
    assert_int_equal(kin_int_or_string_scale(&value, rows[i].total, true, &up),
                     rows[i].error);
    assert_int_equal(down, rows[i].down);
    assert_int_equal(up, rows[i].up);
  }
  kin_int_or_string value;
  assert_int_equal(kin_value_int_or_string(of("2147483648"), NULL, 0, &value),
                   KIN_ETOOBIG);
  assert_int_equal(kin_value_int_or_string(of("'\\u0031'"), NULL, 0, &value),
                   KIN_ETOOBIG);
}

static void test_value_walks(void **state) {
  (void)state;
  kin_value value;
  kin_value name;
  kin_value_iterator walk =
      kin_value_iterate(kin_object_at(object, "/spec/list"));
  static const char *const elements[] = {"1", "[true]", "{'a':2}"};
  for (size_t i = 0; i < 3; i++) {
    assert_true(kin_value_next(&walk, &value));
    assert_true(kin_str_equal(value.json, of(elements[i]).json));
  }
  assert_false(kin_value_next(&walk, &value));
  assert_int_equal(value.error, KIN_ENOENT);
  assert_false(kin_value_next(&walk, &value));
  assert_int_equal(walk.error, 0);

  walk = kin_value_iterate(kin_object_at(object, "/metadata/labels"));
  assert_true(kin_value_next_member(&walk, &name, &value));
  assert_true(kin_value_string_is(name, KIN_STR("a/b")));
  assert_true(kin_value_string_is(value, KIN_STR("web")));
  assert_true(kin_value_next(&walk, &value));
  assert_true(kin_value_string_is(value, KIN_STR("")));
  assert_false(kin_value_next_member(&walk, &name, &value));
  assert_int_equal(walk.error, 0);

  assert_true(kin_value_string_is(
      kin_value_member(kin_object_at(object, "/metadata/labels"),
                       KIN_STR("a/b")),
      KIN_STR("web")));
  walk = kin_value_iterate(kin_object_at(object, "/spec/empty"));
  assert_false(kin_value_next(&walk, &value));
  assert_int_equal(walk.error, 0);
  walk = kin_value_iterate(of("[1]"));
  assert_false(kin_value_next_member(&walk, &name, &value));
  assert_int_equal(walk.error, KIN_ETYPE);
}

/* A walk ends where the text is no JSON. */
static void test_value_malformed_walks(void **state) {
  (void)state;
  static const struct {
    const char *json;
    int steps;
  } rows[] = {{"[1,]", 1},  {"[1 2]", 1},    {"[,1]", 0},
              {"[}", 0},    {"{'a':1,}", 1}, {"{'a' 1}", 0},
              {"{a:1}", 0}, {"{'a':}", 0},   {"{'a':1 'b':2}", 1},
              {"{,}", 0},   {"[1,2}", 2},    {"{'a':1]", 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_value container = of(rows[i].json);
    kin_value_iterator walk = kin_value_iterate(container);
    kin_value value;
    int steps = 0;
    while (kin_value_next(&walk, &value)) {
      steps++;
    }
    if (steps != rows[i].steps || walk.error != KIN_EJSON) {
      fail_msg("%s: %d steps, %d", rows[i].json, steps, walk.error);
    }
    assert_int_equal(kin_value_at(container, "/nothing").error,
                     rows[i].json[0] == '{' ? KIN_EJSON : KIN_ENOENT);
    assert_int_equal(kin_value_at(container, "/9").error, KIN_EJSON);
  }
}

/* The text cut off after each byte, in memory that ends there. */
static void test_value_cut_text(void **state) {
  (void)state;
  kin_str whole = kin_object_at(object, "").json;
  for (size_t length = 0; length < whole.length; length++) {
    char *cut = malloc(length > 0 ? length : 1);
    assert_non_null(cut);
    memcpy(cut, whole.data, length);
    kin_value value = {.json = {cut, length}};
    assert_int_not_equal(kin_value_of(value.json).error, 0);
    (void)kin_value_at(value, "/spec/list/2/a");
    (void)kin_value_at(value, "/spec/escaped");
    assert_int_not_equal(kin_value_at(value, "/spec/nothing").error, 0);
    kin_value_iterator walk = kin_value_iterate(value);
    kin_value element;
    while (kin_value_next(&walk, &element)) {
    }
    assert_int_equal(walk.error, length > 0 ? KIN_EJSON : KIN_ENOENT);
    free(cut);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_value_at),
      cmocka_unit_test(test_value_bad_pointer),
      cmocka_unit_test(test_value_long_token),
      cmocka_unit_test(test_value_types),
      cmocka_unit_test(test_value_hands_errors_on),
      cmocka_unit_test(test_value_wrong_types),
      cmocka_unit_test(test_value_strings),
      cmocka_unit_test(test_value_numbers),
      cmocka_unit_test(test_value_long_number),
      cmocka_unit_test(test_value_times),
      cmocka_unit_test(test_value_quantities),
      cmocka_unit_test(test_value_base64),
      cmocka_unit_test(test_value_int_or_string),
      cmocka_unit_test(test_value_walks),
      cmocka_unit_test(test_value_malformed_walks),
      cmocka_unit_test(test_value_cut_text),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
