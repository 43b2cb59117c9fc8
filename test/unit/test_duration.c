/* SPDX-License-Identifier: MIT */

/* Durations: the cases of Go's time_test.go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/time.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define M (60 * S)
#define H (60 * M)

/* ParseDuration */
static void test_duration_parse(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t ns;
  } rows[] = {
      {"0", 0},
      {"-0", 0},
      {"5s", 5 * S},
      {"30s", 30 * S},
      {"1478s", 1478 * S},
      {"-5s", -5 * S},
      {"+5s", 5 * S},
      {"+0", 0},
      {"5.0s", 5 * S},
      {"5.6s", 5 * S + 600 * MS},
      {"5.s", 5 * S},
      {".5s", 500 * MS},
      {"1.0040s", 1 * S + 4 * MS},
      {"100.00100s", 100 * S + 1 * MS},
      {"10ns", 10},
      {"11us", 11 * US},
      {"12\xc2\xb5s", 12 * US},
      {"12\xce\xbcs", 12 * US},
      {"13ms", 13 * MS},
      {"15m", 15 * M},
      {"16h", 16 * H},
      {"3h30m", 3 * H + 30 * M},
      {"10.5s4m", 4 * M + 10 * S + 500 * MS},
      {"-2m3.4s", -(2 * M + 3 * S + 400 * MS)},
      {"1h2m3s4ms5us6ns", 1 * H + 2 * M + 3 * S + 4 * MS + 5 * US + 6},
      {"39h9m14.425s", 39 * H + 9 * M + 14 * S + 425 * MS},
      {"52763797000ns", 52763797000},
      {"0.3333333333333333333h", 20 * M},
      {"9007199254740993ns", INT64_C(9007199254740993)},
      {"9223372036854775807ns", INT64_MAX},
      {"9223372036854775.807us", INT64_MAX},
      {"9223372036s854ms775us807ns", INT64_MAX},
      {"-9223372036854775808ns", INT64_MIN},
      {"-9223372036854775.808us", INT64_MIN},
      {"0.100000000000000000000h", 6 * M},
      {"0.830103483285477580700h", 49 * M + 48 * S + 372539827},
      {"0.9ns", 0},
      /* 991828126620 with the registers of an i387 */
      {"0.27550781295000h", INT64_C(991828126619)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int64_t ns = 77;
    if (kin_duration_parse(kin_str_of(rows[i].text), &ns) != 0 ||
        ns != rows[i].ns) {
      fail_msg("%s", rows[i].text);
    }
  }
}

/* ParseDurationErrors */
static void test_duration_malformed(void **state) {
  (void)state;
  static const char *const texts[] = {
      "", "3", "-", "s", ".", "-.", ".s", "+.s", "1d", "1S", " 1s", "1s ",
      "1h-1m", "\x85\x85", "\xff\xff", "hello \xff\xff world", "3000000h",
      "9223372036854775808ns",
      /* whose sum is 2 to the power of 64 */
      "9223372036854775808ns9223372036854775808ns", "9223372036854775.808us",
      "9223372036854ms775us808ns", "-9223372036854775809ns", "1..5s",
      "99999999999999999999999s", "1ss", "00"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    int64_t ns = 77;
    if (kin_duration_parse(kin_str_of(texts[i]), &ns) != KIN_EINVAL ||
        ns != 77) {
      fail_msg("%s", texts[i]);
    }
  }
}

/* DurationString */
static void test_duration_format(void **state) {
  (void)state;
  static const struct {
    int64_t ns;
    const char *text;
  } rows[] = {{0, "0s"},
              {1, "1ns"},
              {1100, "1.1\xc2\xb5s"},
              {2200000, "2.2ms"},
              {3300 * MS, "3.3s"},
              {4 * M + 5 * S, "4m5s"},
              {4 * M + 5001 * MS, "4m5.001s"},
              {5 * H + 6 * M + 7001 * MS, "5h6m7.001s"},
              {8 * M + 1, "8m0.000000001s"},
              {100 * H, "100h0m0s"},
              {999999999, "999.999999ms"},
              {S, "1s"},
              {INT64_MAX, "2562047h47m16.854775807s"},
              {INT64_MIN, "-2562047h47m16.854775808s"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[KIN_DURATION_SIZE];
    assert_int_equal(kin_duration_format(text, rows[i].ns),
                     strlen(rows[i].text));
    assert_string_equal(text, rows[i].text);
    int64_t again = 77;
    assert_int_equal(kin_duration_parse(kin_str_of(text), &again), 0);
    assert_true(again == rows[i].ns);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_duration_parse),
      cmocka_unit_test(test_duration_malformed),
      cmocka_unit_test(test_duration_format),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
