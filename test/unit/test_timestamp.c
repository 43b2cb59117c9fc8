/* SPDX-License-Identifier: MIT */
/* Times of RFC 3339, read and written: those of XP-05, and those of the API's
 * Time and MicroTime. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/timestamp.h"

static void test_timestamp_good(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t s;
    uint32_t ns;
  } cases[] = {
      {"1970-01-01T00:00:00Z", 0, 0},
      {"1969-12-31T23:59:59Z", -1, 0},
      {"2000-02-29T12:00:00Z", 951825600, 0},
      {"2024-02-29T00:00:00+00:00", 1709164800, 0},
      {"2026-01-01T00:00:00+05:30", 1767205800, 0},
      {"2026-01-01T00:00:00-05:30", 1767245400, 0},
      {"2026-01-01T00:00:00.25Z", 1767225600, 250000000},
      {"2026-01-01T00:00:00.1234567891234Z", 1767225600, 123456789},
      {"0001-01-01T00:00:00Z", INT64_C(-62135596800), 0},
      {"0000-01-01T00:00:00Z", INT64_C(-62167219200), 0},
      {"9999-12-31T23:59:59Z", INT64_C(253402300799), 0},
      {"1900-03-01T00:00:00Z", INT64_C(-2203891200), 0},
      {"2038-01-19T03:14:08Z", INT64_C(2147483648), 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    kin__timestamp found;
    if (!kin__timestamp_parse(kin__cstr(cases[i].text), &found)) {
      fail_msg("%s", cases[i].text);
    }
    assert_true(found.s == cases[i].s);
    assert_int_equal(found.ns, cases[i].ns);
  }
}

static void test_timestamp_bad(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "2026",
                                      "2026-01-01",
                                      "2026-01-01T00:00:00",
                                      "2026-01-01 00:00:00Z",
                                      "2026-1-01T00:00:00Z",
                                      "2026-13-01T00:00:00Z",
                                      "2026-00-01T00:00:00Z",
                                      "2026-01-32T00:00:00Z",
                                      "2026-01-00T00:00:00Z",
                                      "2026-02-29T00:00:00Z",
                                      "1900-02-29T00:00:00Z",
                                      "2026-01-01T24:00:00Z",
                                      "2026-01-01T00:60:00Z",
                                      "2026-01-01T00:00:60Z",
                                      "2026-01-01T00:00:00.Z",
                                      "2026-01-01T00:00:00z",
                                      "2026-01-01T00:00:00Zx",
                                      "2026-01-01T00:00:00+0100",
                                      "2026-01-01T00:00:00+25:00",
                                      "2026-01-01T00:00:00+01:61",
                                      "2026-01-01T00:00:00 01:00",
                                      "+026-01-01T00:00:00Z",
                                      "-2026-01-01T00:00:00Z",
                                      "12026-01-01T00:00:00Z"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    kin__timestamp found;
    if (kin__timestamp_parse(kin__cstr(texts[i]), &found)) {
      fail_msg("%s", texts[i]);
    }
  }
}

static void test_timestamp_order(void **state) {
  (void)state;
  kin__timestamp a = {.s = 5, .ns = 1};
  kin__timestamp b = {.s = 5, .ns = 0};
  kin__timestamp c = {.s = 4, .ns = 9};
  assert_true(kin__timestamp_is_after(a, b));
  assert_false(kin__timestamp_is_after(b, a));
  assert_false(kin__timestamp_is_after(a, a));
  assert_true(kin__timestamp_is_after(b, c));
  assert_false(kin__timestamp_is_after(c, b));
}

static void expect_format(int64_t s, uint32_t ns, unsigned digits,
                          const char *want) {
  char text[KIN__TIMESTAMP_MAX];
  memset(text, 'x', sizeof text);
  kin__timestamp t = {.s = s, .ns = ns};
  assert_int_equal(kin__timestamp_format(text, t, digits), strlen(want));
  assert_string_equal(text, want);
}

static void test_timestamp_format(void **state) {
  (void)state;
  expect_format(0, 0, 0, "1970-01-01T00:00:00Z");
  expect_format(-1, 0, 0, "1969-12-31T23:59:59Z");
  expect_format(951825600, 0, 6, "2000-02-29T12:00:00.000000Z");
  expect_format(1767225600, 123456789, 6, "2026-01-01T00:00:00.123456Z");
  expect_format(1767225600, 999999999, 0, "2026-01-01T00:00:00Z");
  expect_format(1767225600, 120000000, 1, "2026-01-01T00:00:00.1Z");
  expect_format(1767225600, 123456789, 9, "2026-01-01T00:00:00.123456789Z");
  expect_format(INT64_C(-62167219200), 1, 9, "0000-01-01T00:00:00.000000001Z");
  expect_format(INT64_C(253402300799), 999999999, 9,
                "9999-12-31T23:59:59.999999999Z");
  expect_format(INT64_C(-2203891200), 0, 0, "1900-03-01T00:00:00Z");
}

static void test_timestamp_without_a_format(void **state) {
  (void)state;
  expect_format(INT64_C(-62167219201), 0, 0, "");
  expect_format(INT64_C(253402300800), 0, 0, "");
  expect_format(INT64_MIN, 0, 6, "");
  expect_format(INT64_MAX, 0, 6, "");
  expect_format(0, 1000000000, 6, "");
  expect_format(0, 0, 10, "");
}

/* Each day of the years that have a text, in steps that meet all of them. */
static void test_timestamp_round_trip(void **state) {
  (void)state;
  const int64_t end = INT64_C(253402300799);
  for (int64_t s = INT64_C(-62167219200); s <= end; s += 86399) {
    kin__timestamp t = {.s = s, .ns = (uint32_t)(s & 0xffff)};
    char text[KIN__TIMESTAMP_MAX];
    size_t length = kin__timestamp_format(text, t, 9);
    kin__timestamp found;
    if (!kin__timestamp_parse(kin__str(text, length), &found) ||
        found.s != t.s || found.ns != t.ns) {
      fail_msg("%s", text);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_timestamp_good),
      cmocka_unit_test(test_timestamp_bad),
      cmocka_unit_test(test_timestamp_order),
      cmocka_unit_test(test_timestamp_format),
      cmocka_unit_test(test_timestamp_without_a_format),
      cmocka_unit_test(test_timestamp_round_trip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
