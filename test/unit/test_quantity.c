/* SPDX-License-Identifier: MIT */

/* Quantities: the cases of apimachinery's quantity_test.go by their meaning. An
 * expected number is written with the suffix n, of whole billionths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/quantity.h>

#include "support/json_gen.h"

#define SI KIN_QUANTITY_DECIMAL_SI
#define BINARY KIN_QUANTITY_BINARY_SI
#define EXPONENT KIN_QUANTITY_EXPONENT

static kin_quantity of(const char *text) {
  kin_quantity quantity;
  if (kin_quantity_parse(kin_str_of(text), &quantity) != 0) {
    fail_msg("%s", text);
  }
  return quantity;
}

static void expect_text(const kin_quantity *quantity, const char *want) {
  char text[KIN_QUANTITY_SIZE];
  memset(text, 'x', sizeof text);
  assert_int_equal(kin_quantity_text(text, quantity), strlen(want));
  assert_string_equal(text, want);
}

/* The number in billionths, exactly. */
static void expect_nano(const char *text, const char *nano,
                        kin_quantity_format format) {
  static const char *const signs[] = {"", "+", "-"};
  for (size_t i = 0; i < 3; i++) {
    char signed_text[64];
    char signed_nano[64];
    snprintf(signed_text, sizeof signed_text, "%s%s", signs[i], text);
    snprintf(signed_nano, sizeof signed_nano, "%s%sn", i == 2 ? "-" : "", nano);
    kin_quantity quantity = of(signed_text);
    kin_quantity want = of(signed_nano);
    if (kin_quantity_compare(&quantity, &want) != 0 ||
        quantity.format != format) {
      fail_msg("%s: format %d", signed_text, (int)quantity.format);
    }
  }
}

/* apimachinery: Parse. */
static void test_quantity_parse(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *nano;
    kin_quantity_format format;
  } rows[] = {
      {"0", "0", SI},
      {"0n", "0", SI},
      {"0m", "0", SI},
      {"0Ki", "0", BINARY},
      {"0Ti", "0", BINARY},
      {"0T", "0", SI},
      {"0e99999", "0", EXPONENT},
      {"1", "1000000000", SI},
      {"00010", "10000000000", SI},
      {"1Ki", "1024000000000", BINARY},
      {"8Ki", "8192000000000", BINARY},
      {"7Mi", "7340032000000000", BINARY},
      {"6Gi", "6442450944000000000", BINARY},
      {"5Ti", "5497558138880000000000", BINARY},
      {"4Pi", "4503599627370496000000000", BINARY},
      {"3Ei", "3458764513820540928000000000", BINARY},
      {"100Ti", "109951162777600000000000", BINARY},
      {"5n", "5", SI},
      {"4u", "4000", SI},
      {"3m", "3000000", SI},
      {"8k", "8000000000000", SI},
      {"7M", "7000000000000000", SI},
      {"6G", "6000000000000000000", SI},
      {"5T", "5000000000000000000000", SI},
      {"2P", "2000000000000000000000000", SI},
      {"1E", "1000000000000000000000000000", SI},
      {"12E", "12000000000000000000000000000", SI},
      {"1E-3", "1000000", EXPONENT},
      {"1e3", "1000000000000", EXPONENT},
      {"1E18", "1000000000000000000000000000", EXPONENT},
      {"1.3E+6", "1300000000000000", EXPONENT},
      {"0.5e-2", "5000000", EXPONENT},
      {"100.035k", "100035000000000", SI},
      {"0.0005k", "500000000", SI},
      {"0.00050k", "500000000", SI},
      {"0.50000", "500000000", SI},
      {"6.987654321G", "6987654321000000000", SI},
      {"1.01E", "1010000000000000000000000000", SI},
      /* Rounded up, capped. */
      {"3.001n", "4", SI},
      {"1.1E-9", "2", EXPONENT},
      {"0.0000000001", "1", SI},
      {"0.00000000050", "1", SI},
      {"0.9n", "1", SI},
      {"1e-999999", "1", EXPONENT},
      {"0.00000012345", "124", SI},
      {"0.00000012354", "124", SI},
      {"9Ei", "9223372036854775807000000000", BINARY},
      {"9223372036854775807Ki", "9223372036854775807000000000", BINARY},
      {"99999999999999999999999999Ei", "9223372036854775807000000000", BINARY},
      /* Fractions of binary units. */
      {"100.035Ki", "102435840000000", BINARY},
      {"0.5Mi", "524288000000000", BINARY},
      {"0.05Gi", "53687091200000000", BINARY},
      {"0.025Ti", "27487790694400000000", BINARY},
      {"0.000000000001Ki", "2", SI},
      {".001Ki", "1024000000", BINARY},
      {".001", "1000000", SI},
      {"1.", "1000000000", SI},
      {"1.G", "1000000000000000000", SI},
      {"1099511627776m", "1099511627776000000", SI},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    expect_nano(rows[i].text, rows[i].nano, rows[i].format);
  }
}

static void expect_refused(const char *text, int error) {
  kin_quantity quantity = kin_quantity_of(77, SI);
  kin_quantity before = quantity;
  if (kin_quantity_parse(kin_str_of(text), &quantity) != error) {
    fail_msg("%s", text);
  }
  assert_int_equal(kin_quantity_compare(&quantity, &before), 0);
}

static void test_quantity_malformed(void **state) {
  (void)state;
  static const char *const texts[] = {
      "", "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu", ".5i", "1i", "-3.01i",
      "-3.01e-", " 1", "1 ", "1e", "1K", "1ki", "1Ei3", "--1", "+-1", "1e3.5",
      "1e1k", "0x1", "1e99999999999999999999",
      /* Without a digit; apimachinery reads these as 0. */
      ".", "-", "+", "Ki", "e3", "m"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    expect_refused(texts[i], KIN_EINVAL);
  }
}

/* 2^256 - 1 billionths is the largest number; 120 digits are the most. */
static void test_quantity_bounds(void **state) {
  (void)state;
  const char *most = "115792089237316195423570985008687907853269984665640564039"
                     "457584007913129639935n";
  kin_quantity quantity = of(most);
  expect_text(&quantity, most);
  kin_quantity one = of("1n");
  kin_quantity before = quantity;
  assert_int_equal(kin_quantity_add(&quantity, &one), KIN_ETOOBIG);
  assert_int_equal(kin_quantity_compare(&quantity, &before), 0);
  kin_quantity_negate(&quantity);
  assert_int_equal(kin_quantity_subtract(&quantity, &one), KIN_ETOOBIG);
  expect_refused("115792089237316195423570985008687907853269984665640564039"
                 "457584007913129639936n",
                 KIN_ETOOBIG);
  expect_refused("1e999999", KIN_ETOOBIG);
  expect_refused("1e69", KIN_ETOOBIG);
  of("1e68");
  char digits[128];
  memset(digits, '9', sizeof digits);
  digits[0] = '.';
  digits[121] = '\0';
  quantity = of(digits);
  expect_text(&quantity, "1");
  digits[121] = '9';
  digits[122] = '\0';
  expect_refused(digits, KIN_ETOOBIG);
  /* Zeros around the digits do not count. */
  char zeros[600];
  memset(zeros, '0', sizeof zeros);
  zeros[300] = '7';
  zeros[301] = '.';
  zeros[599] = '\0';
  quantity = of(zeros);
  expect_text(&quantity, "7");
}

/* Zeros make up for an exponent, however large it is. */
static void test_quantity_far_exponents(void **state) {
  (void)state;
  enum { ZEROS = 20000 };
  static char text[ZEROS + 32];
  memset(text, '0', ZEROS);
  strcpy(text + ZEROS, "1e20000");
  text[0] = '.';
  kin_quantity quantity = of(text);
  expect_text(&quantity, "1");
  strcpy(text + ZEROS, "1e9223372036854775807");
  expect_refused(text, KIN_ETOOBIG);
  memset(text, '0', ZEROS);
  text[0] = '1';
  strcpy(text + ZEROS, "e-20000");
  quantity = of(text);
  expect_text(&quantity, "100e-3");
  strcpy(text + ZEROS, "e-9223372036854775808");
  quantity = of(text);
  expect_text(&quantity, "1e-9");
}

/* apimachinery: String, ParseEmit. */
static void test_quantity_text(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *want;
  } rows[] = {
      {"1024Mi", "1Gi"},
      {"307200Ki", "300Mi"},
      {"6Ki", "6Ki"},
      {"1025024Mi", "1001Gi"},
      {"1024Gi", "1Ti"},
      {"0.5Ki", "512"},
      {"1.5Ki", "1536"},
      {"1000M", "1G"},
      {"0.001T", "1G"},
      {"1000000000", "1G"},
      {"1000u", "1m"},
      {"1.08", "1080m"},
      {"1080000000n", "1080m"},
      {"1234567M", "1234567M"},
      {"0.0", "0"},
      {"00Ki", "0"},
      {".001e12", "1e9"},
      {"0.001e0", "1e-3"},
      {"1000e-12", "1e-9"},
      {"80e-3", "80e-3"},
      {"10e1", "100"},
      {"1e10", "10e9"},
      {"1e20", "100e18"},
      {".001Ki", "1024m"},
      {".000001Ki", "1024u"},
      {".000000001Ki", "1024n"},
      {".000000000001Ki", "2n"},
      {"1023Ki", "1023Ki"},
      {"1048576", "1048576"},
      {"1.500", "1500m"},
      {"8Ei", "9223372036854775807"},
      /* apimachinery writes "1" here. */
      {"1000E", "1000E"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_quantity quantity = of(rows[i].text);
    expect_text(&quantity, rows[i].want);
    char negative[64];
    bool is_zero = kin_quantity_sign(&quantity) == 0;
    snprintf(negative, sizeof negative, "%s%s", is_zero ? "" : "-",
             rows[i].want);
    kin_quantity_negate(&quantity);
    expect_text(&quantity, negative);
    /* What is written is read as the same number. */
    kin_quantity again = of(negative);
    assert_int_equal(kin_quantity_compare(&quantity, &again), 0);
  }
}

/* apimachinery: NewSet, MilliNewSet. */
static void test_quantity_of_numbers(void **state) {
  (void)state;
  static const struct {
    int64_t number;
    kin_quantity_format format;
    const char *whole;
    const char *milli;
  } rows[] = {{1, SI, "1", "1m"},
              {1000, SI, "1k", "1"},
              {1234000, SI, "1234k", "1234"},
              {1024, BINARY, "1Ki", "1024m"},
              {1000000, EXPONENT, "1e6", "1e3"},
              {1048576, BINARY, "1Mi", "1048576m"},
              {INT64_MAX, SI, "9223372036854775807", "9223372036854775807m"},
              {INT64_MIN, SI, "-9223372036854775808", "-9223372036854775808m"},
              {0, BINARY, "0", "0"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_quantity whole = kin_quantity_of(rows[i].number, rows[i].format);
    kin_quantity milli = kin_quantity_of_milli(rows[i].number, rows[i].format);
    expect_text(&whole, rows[i].whole);
    expect_text(&milli, rows[i].milli);
    int64_t number = 0;
    assert_int_equal(kin_quantity_value(&whole, &number), 0);
    assert_true(number == rows[i].number);
    assert_int_equal(kin_quantity_milli_value(&milli, &number), 0);
    assert_true(number == rows[i].number);
  }
}

/* apimachinery: Cmp, CmpInt64AndDec. */
static void test_quantity_compare(void **state) {
  (void)state;
  static const struct {
    const char *a;
    const char *b;
    int order;
  } rows[] = {
      {"0", "0", 0},
      {"0", "-0Ki", 0},
      {"100m", "50m", 1},
      {"10000T", "100Gi", 1},
      {"1", "1000m", 0},
      {"1Ki", "1024", 0},
      {"1k", "1Ki", -1},
      {"-1", "1", -1},
      {"-2", "-1", -1},
      {"0", "-1n", 1},
      {"0", "1n", -1},
      {"1e3", "1k", 0},
      {"9.01", "9010m", 0},
      {"9.009", "9.01", -1},
      {"922337203685.4775807", "1e3", 1},
      {"1000000000000000001e-17", "10", 0 + 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_quantity a = of(rows[i].a);
    kin_quantity b = of(rows[i].b);
    if (kin_quantity_compare(&a, &b) != rows[i].order ||
        kin_quantity_compare(&b, &a) != -rows[i].order) {
      fail_msg("%s, %s", rows[i].a, rows[i].b);
    }
  }
}

/* apimachinery: Add, Sub, AddZeroPreservesSuffix, SubZeroPreservesSuffix. */
static void test_quantity_arithmetic(void **state) {
  (void)state;
  static const struct {
    const char *a;
    const char *b;
    const char *sum;
    const char *difference;
  } rows[] = {
      {"0", "0", "0", "0"},
      {"0", "100m", "100m", "-100m"},
      {"0", "1Gi", "1Gi", "-1Gi"},
      {"100m", "0", "100m", "100m"},
      {"1Gi", "0", "1Gi", "1Gi"},
      {"10", "1100", "1110", "-1090"},
      {"10m", "1100m", "1110m", "-1090m"},
      {"10", "1100m", "11100m", "8900m"},
      {"10e3", "1e-6", "10000000001e-6", "9999999999e-6"},
      {"50", "500Mi", "524288050", "-524287950"},
      {"500Mi", "1M", "525288000", "523288000"},
      {"-1", "1", "0", "-2"},
      {"1", "-1", "0", "2"},
      {"-1", "-1", "-2", "0"},
      {"9223372036854775807", "1", "9223372036854775808",
       "9223372036854775806"},
      {"9223372036854775807Ki", "1Ki", "9223372036854776831",
       "9223372036854774783"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_quantity a = of(rows[i].a);
    kin_quantity b = of(rows[i].b);
    kin_quantity sum = a;
    assert_int_equal(kin_quantity_add(&sum, &b), 0);
    expect_text(&sum, rows[i].sum);
    assert_int_equal(kin_quantity_subtract(&a, &b), 0);
    expect_text(&a, rows[i].difference);
  }
  kin_quantity self = of("3");
  assert_int_equal(kin_quantity_add(&self, &self), 0);
  expect_text(&self, "6");
  assert_int_equal(kin_quantity_subtract(&self, &self), 0);
  expect_text(&self, "0");
}

/* apimachinery: ScaledValue. Rounded away from 0. */
static void test_quantity_values(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t value;
    int64_t milli;
  } rows[] = {{"0", 0, 0},
              {"1n", 1, 1},
              {"1m", 1, 1},
              {"999m", 1, 999},
              {"1.0001", 2, 1001},
              {"1500m", 2, 1500},
              {"9.01", 10, 9010},
              {"1Ki", 1024, 1024000},
              {"9223372036854775807m", INT64_C(9223372036854776), INT64_MAX}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_quantity quantity = of(rows[i].text);
    for (int sign = 1; sign >= -1; sign -= 2) {
      int64_t value = 77;
      int64_t milli = 77;
      assert_int_equal(kin_quantity_value(&quantity, &value), 0);
      assert_int_equal(kin_quantity_milli_value(&quantity, &milli), 0);
      assert_true(value == sign * rows[i].value);
      assert_true(milli == sign * rows[i].milli);
      kin_quantity_negate(&quantity);
    }
  }
  int64_t value = 77;
  kin_quantity large = of("9223372036854775807.000000001");
  assert_int_equal(kin_quantity_value(&large, &value), KIN_ETOOBIG);
  large = of("9223372036854775808");
  assert_int_equal(kin_quantity_value(&large, &value), KIN_ETOOBIG);
  large = of("1e60");
  assert_int_equal(kin_quantity_milli_value(&large, &value), KIN_ETOOBIG);
  assert_int_equal(value, 77);
  large = of("-9223372036854775808");
  assert_int_equal(kin_quantity_value(&large, &value), 0);
  assert_true(value == INT64_MIN);
}

static void test_quantity_double(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double want;
  } rows[] = {
      {"0", 0},       {"1", 1},       {"-1500m", -1.5}, {"1Gi", 1073741824},
      {"250m", 0.25}, {"1e20", 1e20}, {"1n", 1e-9}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_quantity quantity = of(rows[i].text);
    double found = kin_quantity_double(&quantity);
    double off = found - rows[i].want;
    double most = (rows[i].want < 0 ? -rows[i].want : rows[i].want) * 1e-15;
    assert_true(off <= most && -off <= most);
  }
}

/* a + b - b is a, and the order of both is the sign of a - b. */
static void test_quantity_random(void **state) {
  (void)state;
  json_gen gen;
  json_gen_init(&gen, 11, NULL);
  static const char *const suffixes[] = {"",  "n",  "u",  "m",  "k",  "G",
                                         "E", "Ki", "Gi", "e3", "E-5"};
  for (int round = 0; round < 20000; round++) {
    char text[2][64];
    kin_quantity q[2];
    for (int i = 0; i < 2; i++) {
      snprintf(text[i], sizeof text[i], "%s%u.%u%s",
               json_gen_one_in(&gen, 2) ? "-" : "",
               json_gen_below(&gen, 1u << json_gen_below(&gen, 31)),
               json_gen_below(&gen, 1u << json_gen_below(&gen, 31)),
               suffixes[json_gen_below(&gen, 11)]);
      q[i] = of(text[i]);
      char canonical[KIN_QUANTITY_SIZE];
      kin_quantity_text(canonical, &q[i]);
      kin_quantity again = of(canonical);
      if (kin_quantity_compare(&again, &q[i]) != 0) {
        fail_msg("%s: %s", text[i], canonical);
      }
    }
    kin_quantity sum = q[0];
    assert_int_equal(kin_quantity_add(&sum, &q[1]), 0);
    assert_int_equal(kin_quantity_subtract(&sum, &q[1]), 0);
    kin_quantity difference = q[0];
    assert_int_equal(kin_quantity_subtract(&difference, &q[1]), 0);
    if (kin_quantity_compare(&sum, &q[0]) != 0 ||
        kin_quantity_compare(&q[0], &q[1]) != kin_quantity_sign(&difference)) {
      fail_msg("%s, %s", text[0], text[1]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quantity_parse),
      cmocka_unit_test(test_quantity_malformed),
      cmocka_unit_test(test_quantity_bounds),
      cmocka_unit_test(test_quantity_far_exponents),
      cmocka_unit_test(test_quantity_text),
      cmocka_unit_test(test_quantity_of_numbers),
      cmocka_unit_test(test_quantity_compare),
      cmocka_unit_test(test_quantity_arithmetic),
      cmocka_unit_test(test_quantity_values),
      cmocka_unit_test(test_quantity_double),
      cmocka_unit_test(test_quantity_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
