/* SPDX-License-Identifier: MIT */

/* Quantities as text: ParseQuantity and CanonicalizeBytes of apimachinery. */
#include "values/quantity.h"

#include <string.h>

#include <kin/error.h>

#include "base/ascii.h"
#include "base/str.h"

enum {
  PARTS = KIN__QUANTITY_PARTS,
  /* Room for DIGITS_MAX digits (399 bits), times 2^60, times 10^9. */
  ROOM = 16,
  DIGITS_MAX = 120,
  NANO_DIGITS = 9
};

/* An exponent beyond it makes any number too large, or rounds it up to one
 * billionth: it is more than a text has zeros to make up for. */
#define EXPONENT_FAR (INT64_C(1) << 40)

typedef struct suffix {
  kin_str text;
  kin_quantity_format format;
  int64_t exponent; /* of ten, or of 1024 */
} suffix;

static const suffix suffixes[] = {
    {{"n", 1}, KIN_QUANTITY_DECIMAL_SI, -9},
    {{"u", 1}, KIN_QUANTITY_DECIMAL_SI, -6},
    {{"m", 1}, KIN_QUANTITY_DECIMAL_SI, -3},
    {{"", 0}, KIN_QUANTITY_DECIMAL_SI, 0},
    {{"k", 1}, KIN_QUANTITY_DECIMAL_SI, 3},
    {{"M", 1}, KIN_QUANTITY_DECIMAL_SI, 6},
    {{"G", 1}, KIN_QUANTITY_DECIMAL_SI, 9},
    {{"T", 1}, KIN_QUANTITY_DECIMAL_SI, 12},
    {{"P", 1}, KIN_QUANTITY_DECIMAL_SI, 15},
    {{"E", 1}, KIN_QUANTITY_DECIMAL_SI, 18},
    {{"", 0}, KIN_QUANTITY_BINARY_SI, 0},
    {{"Ki", 2}, KIN_QUANTITY_BINARY_SI, 1},
    {{"Mi", 2}, KIN_QUANTITY_BINARY_SI, 2},
    {{"Gi", 2}, KIN_QUANTITY_BINARY_SI, 3},
    {{"Ti", 2}, KIN_QUANTITY_BINARY_SI, 4},
    {{"Pi", 2}, KIN_QUANTITY_BINARY_SI, 5},
    {{"Ei", 2}, KIN_QUANTITY_BINARY_SI, 6},
};

enum { SUFFIXES = sizeof suffixes / sizeof *suffixes, EXA = 18, EXBI = 6 };

/* Reading. */

/* The digits of a number: digits * 10^exponent. */
typedef struct decimal {
  uint32_t digits[ROOM];
  int64_t exponent;
  bool is_too_long; /* over DIGITS_MAX */
} decimal;

/* Takes digits, with a point before, between or behind them. Zeros at the end
 * only raise the exponent. Returns false if there is no digit. */
static bool take_digits(kin_str *text, decimal *out) {
  size_t at = 0;
  size_t zeros = 0;    /* not yet in `digits` */
  size_t length = 0;   /* of `digits` */
  size_t fraction = 0; /* digits behind the point */
  bool has_digit = false;
  bool has_point = false;
  for (;; at++) {
    if (!has_point && at < text->length && text->data[at] == '.') {
      has_point = true;
      continue;
    }
    if (!kin__is_digit(kin__str_byte(*text, at))) {
      break;
    }
    has_digit = true;
    fraction += has_point;
    if (text->data[at] == '0') {
      zeros++;
      continue;
    }
    zeros = length > 0 ? zeros : 0; /* those before all other digits */
    length += zeros + 1;
    out->is_too_long = out->is_too_long || length > DIGITS_MAX;
    for (; zeros > 0 && !out->is_too_long; zeros--) {
      (void)kin__wide_multiply(out->digits, ROOM, 10, 0);
    }
    if (!out->is_too_long) {
      (void)kin__wide_multiply(out->digits, ROOM, 10,
                               (uint32_t)(text->data[at] - '0'));
    }
  }
  out->exponent = (int64_t)zeros - (int64_t)fraction;
  *text = kin__str_from(*text, at);
  return has_digit;
}

/* "e3", "E+3", "e-3". */
static bool to_exponent(kin_str text, suffix *out) {
  if (text.length < 2 || (text.data[0] | 0x20) != 'e') {
    return false;
  }
  bool is_negative = text.data[1] == '-';
  size_t begin = is_negative || text.data[1] == '+' ? 2 : 1;
  uint64_t value;
  if (!kin__str_to_u64(kin__str_from(text, begin), &value) ||
      value > (uint64_t)INT64_MAX + (is_negative ? 1 : 0)) {
    return false;
  }
  int64_t exponent = value < EXPONENT_FAR ? (int64_t)value : EXPONENT_FAR;
  *out = (suffix){.format = KIN_QUANTITY_EXPONENT,
                  .exponent = is_negative ? -exponent : exponent};
  return true;
}

static bool to_suffix(kin_str text, suffix *out) {
  for (size_t i = 0; i < SUFFIXES; i++) {
    if (kin__str_equal(suffixes[i].text, text)) {
      *out = suffixes[i];
      return true;
    }
  }
  return to_exponent(text, out);
}

/* digits = digits * 10^exponent, rounded up. Returns false if that is too
 * large. Whatever the exponent, the digits end both loops soon. */
static bool scale(uint32_t digits[ROOM], int64_t exponent) {
  bool has_rest = false;
  for (; exponent < 0 && !kin__wide_is_zero(digits, ROOM); exponent++) {
    has_rest = kin__wide_divide(digits, ROOM, 10) > 0 || has_rest;
  }
  for (; exponent > 0 && !kin__wide_is_zero(digits, ROOM); exponent--) {
    if (!kin__wide_multiply(digits, ROOM, 10, 0)) {
      return false;
    }
  }
  return kin__wide_multiply(digits, ROOM, 1, has_rest);
}

/* The largest number with a binary suffix. */
static void cap(decimal *number, bool is_too_large) {
  uint32_t most[ROOM] = {UINT32_MAX, INT32_MAX};
  (void)kin__wide_multiply(most, ROOM, KIN__QUANTITY_NANO, 0);
  if (is_too_large || kin__wide_compare(number->digits, most, ROOM) > 0) {
    memcpy(number->digits, most, sizeof most);
  }
}

/* The number in billionths. Returns false if it is too large. */
static bool to_nano(decimal *number, const suffix *unit) {
  bool is_binary = unit->format == KIN_QUANTITY_BINARY_SI;
  for (int i = 0; is_binary && i < unit->exponent; i++) {
    (void)kin__wide_multiply(number->digits, ROOM, 1024, 0);
  }
  bool fits = scale(number->digits, number->exponent + NANO_DIGITS +
                                        (is_binary ? 0 : unit->exponent));
  if (is_binary) {
    cap(number, !fits);
    return true;
  }
  return fits && kin__wide_is_zero(number->digits + PARTS, ROOM - PARTS);
}

int kin_quantity_parse(kin_str text, kin_quantity *out) {
  text = kin__str_given(text);
  if (out == NULL || text.length == 0) {
    return KIN_EINVAL;
  }
  bool is_negative = text.data[0] == '-';
  if (is_negative || text.data[0] == '+') {
    text = kin__str_from(text, 1);
  }
  decimal number = {.exponent = 0};
  suffix unit;
  if (!take_digits(&text, &number) || !to_suffix(text, &unit)) {
    return KIN_EINVAL;
  }
  if (number.is_too_long || !to_nano(&number, &unit)) {
    return KIN_ETOOBIG;
  }
  kin_quantity found = {.format = unit.format};
  memcpy(found.nano, number.digits, sizeof found.nano);
  found.is_negative = is_negative && kin_quantity_sign(&found) != 0;
  /* Below 1 a binary suffix would hide the fraction. */
  bool is_below_one = kin__wide_is_zero(found.nano + 1, PARTS - 1) &&
                      found.nano[0] < KIN__QUANTITY_NANO && found.nano[0] > 0;
  if (found.format == KIN_QUANTITY_BINARY_SI && is_below_one) {
    found.format = KIN_QUANTITY_DECIMAL_SI;
  }
  *out = found;
  return 0;
}

/* Writing. */

/* Takes out the factor as often as it is there, and at most `most` times.
 * Returns how often. */
static int take_out(uint32_t n[PARTS], uint32_t factor, int most) {
  int times = 0;
  uint32_t quotient[PARTS];
  memcpy(quotient, n, sizeof quotient);
  while (times < most && kin__wide_divide(quotient, PARTS, factor) == 0) {
    memcpy(n, quotient, sizeof quotient);
    times++;
  }
  return times;
}

/* Writes the digits; their number is 78 at most. */
static char *put_digits(char *to, uint32_t n[PARTS]) {
  char reversed[KIN_QUANTITY_SIZE];
  size_t count = 0;
  do {
    reversed[count++] = (char)('0' + kin__wide_divide(n, PARTS, 10));
  } while (!kin__wide_is_zero(n, PARTS));
  while (count > 0) {
    *to++ = reversed[--count];
  }
  return to;
}

static char *put_suffix(char *to, kin_quantity_format format, int exponent) {
  for (size_t i = 0; i < SUFFIXES; i++) {
    if (suffixes[i].format == format && suffixes[i].exponent == exponent) {
      memcpy(to, suffixes[i].text.data, suffixes[i].text.length);
      return to + suffixes[i].text.length;
    }
  }
  return to;
}

/* "e" and a multiple of three below 100. */
static char *put_exponent(char *to, int exponent) {
  if (exponent == 0) {
    return to;
  }
  *to++ = 'e';
  if (exponent < 0) {
    *to++ = '-';
    exponent = -exponent;
  }
  if (exponent >= 10) {
    *to++ = (char)('0' + exponent / 10);
  }
  *to++ = (char)('0' + exponent % 10);
  return to;
}

/* Whether it is written with a binary suffix; if so, *n becomes whole. */
static bool is_binary(uint32_t n[PARTS], kin_quantity_format format) {
  uint32_t whole[PARTS];
  memcpy(whole, n, sizeof whole);
  if (format != KIN_QUANTITY_BINARY_SI ||
      kin__wide_divide(whole, PARTS, KIN__QUANTITY_NANO) > 0 ||
      (kin__wide_is_zero(whole + 1, PARTS - 1) && whole[0] < 1024)) {
    return false;
  }
  memcpy(n, whole, sizeof whole);
  return true;
}

/* Exponents are multiples of three, and "E" is the largest suffix. */
static char *put_decimal(char *to, uint32_t n[PARTS], bool has_suffix) {
  int exponent = take_out(n, 10, KIN_QUANTITY_SIZE) - NANO_DIGITS;
  while (exponent % 3 != 0 || (has_suffix && exponent > EXA)) {
    (void)kin__wide_multiply(n, PARTS, 10, 0); /* was taken out */
    exponent--;
  }
  to = put_digits(to, n);
  return has_suffix ? put_suffix(to, KIN_QUANTITY_DECIMAL_SI, exponent)
                    : put_exponent(to, exponent);
}

size_t kin_quantity_text(char out[KIN_QUANTITY_SIZE],
                         const kin_quantity *quantity) {
  if (out == NULL) {
    return 0;
  }
  char *to = out;
  int sign = kin_quantity_sign(quantity);
  if (quantity != NULL && sign == 0) {
    *to++ = '0';
  } else if (quantity != NULL) {
    uint32_t n[PARTS];
    memcpy(n, quantity->nano, sizeof n);
    if (sign < 0) {
      *to++ = '-';
    }
    if (is_binary(n, quantity->format)) {
      int times = take_out(n, 1024, EXBI);
      to = put_digits(to, n);
      to = put_suffix(to, KIN_QUANTITY_BINARY_SI, times);
    } else {
      to = put_decimal(to, n,
                       quantity->format == KIN_QUANTITY_DECIMAL_SI ||
                           quantity->format == KIN_QUANTITY_BINARY_SI);
    }
  }
  *to = '\0';
  return (size_t)(to - out);
}
