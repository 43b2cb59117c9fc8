/* SPDX-License-Identifier: MIT */
#include "config/yaml.h"

#include <float.h>
#include <inttypes.h>

#include <kin/error.h>

#include "base/ascii.h"
#include "base/str.h"

/* Plain scalars as sigs.k8s.io/yaml reads them (YAML 1.1 without base 60). */

/* A number in parts, each a range of the text. */
typedef struct yaml_number {
  char sign;        /* '-', '+' or '\0' */
  unsigned base;    /* 2, 8, 10 or 16 */
  kin_str digits;   /* before the point; may have underscores */
  kin_str fraction; /* after the point; the same */
  char exponent_sign;
  kin_str exponent;
} yaml_number;

static bool is_one_of(kin_str text, const char *const *words) {
  for (; *words != NULL; words++) {
    if (kin__str_equal(text, kin__cstr(*words))) {
      return true;
    }
  }
  return false;
}

static const char *const null_words[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const true_words[] = {"y",   "Y",    "yes",  "Yes",
                                         "YES", "true", "True", "TRUE",
                                         "on",  "On",   "ON",   NULL};
static const char *const false_words[] = {"n",   "N",     "no",    "No",
                                          "NO",  "false", "False", "FALSE",
                                          "off", "Off",   "OFF",   NULL};
/* Numbers that JSON does not have. */
static const char *const odd_words[] = {
    ".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF", "+.inf",
    "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", NULL};

/* --- Numbers -------------------------------------------------------------- */

/* At least 16 if `c` is no digit. */
static unsigned digit_value(char c) {
  return (unsigned)kin__hex_value(c);
}

static kin_str skip_underscores(kin_str text) {
  size_t count = 0;
  while (count < text.length && text.data[count] == '_') {
    count++;
  }
  return kin__str_from(text, count);
}

/* Takes the digits at the front of `text`; underscores around them do not
 * count. */
static kin_str take_digits(kin_str *text, unsigned base, size_t *count) {
  kin_str digits = skip_underscores(*text);
  size_t used = 0;
  *count = 0;
  while (used < digits.length) {
    char c = digits.data[used];
    bool is_digit = digit_value(c) < base;
    if (!is_digit && c != '_') {
      break;
    }
    *count += is_digit;
    used++;
  }
  *text = kin__str_from(digits, used);
  return kin__str(digits.data, used);
}

/* Underscores before `c` do not count. */
static bool take_char(kin_str *text, char c) {
  kin_str rest = skip_underscores(*text);
  if (rest.length == 0 || rest.data[0] != c) {
    return false;
  }
  *text = kin__str_from(rest, 1);
  return true;
}

static char take_sign(kin_str *text) {
  if (take_char(text, '-')) {
    return '-';
  }
  return take_char(text, '+') ? '+' : '\0';
}

static void take_base(yaml_number *number, kin_str *text) {
  kin_str rest = *text;
  if (!take_char(&rest, '0')) {
    return;
  }
  if (take_char(&rest, 'x') || take_char(&rest, 'X')) {
    number->base = 16;
  } else if (take_char(&rest, 'o') || take_char(&rest, 'O')) {
    number->base = 8;
  } else if (take_char(&rest, 'B')) {
    number->base = 2;
  } else if (take_char(&rest, 'b')) {
    number->base = 2;
    if (number->sign == '\0') {
      number->sign = take_sign(&rest); /* 0b-1 is a number for Go */
    }
  } else {
    return;
  }
  *text = rest;
}

/* The part from the point on, if there is one. */
static bool split_decimal(yaml_number *number, kin_str text) {
  size_t before;
  size_t after = 0;
  number->digits = take_digits(&text, 10, &before);
  if (take_char(&text, '.')) {
    number->fraction = take_digits(&text, 10, &after);
  }
  if (before + after == 0) {
    return false;
  }
  if (take_char(&text, 'e') || take_char(&text, 'E')) {
    size_t digits;
    number->exponent_sign = take_sign(&text) == '-' ? '-' : '+';
    number->exponent = take_digits(&text, 10, &digits);
    return digits > 0 && text.length == 0;
  }
  return text.length == 0;
}

/* 017 is octal; 08 and 01.5 are decimal. */
static bool is_old_octal(const yaml_number *number) {
  if (number->fraction.data != NULL || number->exponent_sign != '\0' ||
      number->digits.length < 2 || number->digits.data[0] != '0') {
    return false;
  }
  for (size_t i = 0; i < number->digits.length; i++) {
    char c = number->digits.data[i];
    if (c != '_' && digit_value(c) >= 8) {
      return false;
    }
  }
  return true;
}

/* Of another base than 10. Returns whether it fits 64 bits; with a sign, also a
 * plus, those of an int64. */
static bool to_integer(const yaml_number *number, uint64_t *value) {
  *value = 0;
  for (size_t i = 0; i < number->digits.length; i++) {
    char c = number->digits.data[i];
    if (c == '_') {
      continue;
    }
    if (*value > UINT64_MAX / number->base) {
      return false;
    }
    /* No overflow: the base is a power of two. */
    *value = *value * number->base + digit_value(c);
  }
  return number->sign == '\0' ||
         *value <= (uint64_t)INT64_MAX + (number->sign == '-');
}

static bool is_decimal(kin_str text, size_t i) {
  return i < text.length && digit_value(text.data[i]) < 10;
}

/* Go's package drops all underscores first. A text that begins with one is a
 * string, and in one that begins with the point they stand between digits
 * only. */
static bool has_wrong_underscore(kin_str text) {
  if (text.length == 0 || (text.data[0] != '.' && text.data[0] != '_')) {
    return false;
  }
  for (size_t i = 0; i < text.length; i++) {
    if (text.data[i] == '_' &&
        (i == 0 || !is_decimal(text, i - 1) || !is_decimal(text, i + 1))) {
      return true;
    }
  }
  return false;
}

static bool split_number(yaml_number *number, kin_str text) {
  *number = (yaml_number){.base = 10};
  if (has_wrong_underscore(text)) {
    return false;
  }
  number->sign = take_sign(&text);
  take_base(number, &text);
  if (number->base != 10) {
    size_t count;
    number->digits = take_digits(&text, number->base, &count);
    return count > 0 && text.length == 0;
  }
  if (!split_decimal(number, text)) {
    return false;
  }
  if (is_old_octal(number)) {
    uint64_t unused;
    number->base = 8;
    number->base = to_integer(number, &unused) ? 8 : 10; /* a double in Go */
  }
  return true;
}

static bool is_nonzero(char c) {
  return c > '0' && c <= '9';
}

/* The value has so many digits before its point; fewer than 0 if zeros follow
 * the point. */
static int64_t count_digits(const yaml_number *number) {
  int64_t count = 0;
  bool is_begun = false;
  for (size_t i = 0; i < number->digits.length; i++) {
    char c = number->digits.data[i];
    is_begun = is_begun || is_nonzero(c);
    count += is_begun && c != '_';
  }
  for (size_t i = 0; !is_begun && i < number->fraction.length; i++) {
    is_begun = is_nonzero(number->fraction.data[i]);
    count -= number->fraction.data[i] == '0';
  }
  return is_begun ? count : INT32_MIN;
}

/* Whether a number of base 10 is 1e309 or more: no double holds it. */
static bool is_infinite(const yaml_number *number) {
  int64_t exponent = 0;
  for (size_t i = 0; i < number->exponent.length; i++) {
    char c = number->exponent.data[i];
    if (c != '_' && exponent < INT32_MAX / 10) {
      exponent = exponent * 10 + (c - '0');
    }
  }
  exponent = number->exponent_sign == '-' ? -exponent : exponent;
  return count_digits(number) + exponent > DBL_MAX_10_EXP + 1;
}

/* Go reads what neither 64 bits nor a double hold as a string, so a password may
 * be 12e3456. */
static bool is_number(kin_str text) {
  yaml_number number;
  uint64_t value;
  if (!split_number(&number, text)) {
    return false;
  }
  return number.base == 10 ? !is_infinite(&number)
                           : to_integer(&number, &value);
}

kin__yaml_type kin__yaml_plain_type(kin_str text, bool *truth) {
  *truth = false;
  if (is_one_of(text, null_words)) {
    return KIN__YAML_NULL;
  }
  if (is_one_of(text, true_words)) {
    *truth = true;
    return KIN__YAML_BOOL;
  }
  if (is_one_of(text, false_words)) {
    return KIN__YAML_BOOL;
  }
  if (is_one_of(text, odd_words) || is_number(text)) {
    return KIN__YAML_NUMBER;
  }
  return KIN__YAML_STRING;
}

bool kin__yaml_is_plain_integer(kin_str text) {
  size_t begin = text.length > 0 && text.data[0] == '-';
  size_t end = begin;
  while (is_decimal(text, end)) {
    end++;
  }
  size_t count = end - begin;
  bool has_zero = count > 0 && text.data[begin] == '0';
  return end == text.length && count > 0 && count <= 18 &&
         (!has_zero || (count == 1 && begin == 0));
}

const char *kin__yaml_type_name(kin__yaml_type type) {
  static const char *const names[] = {"null",     "a boolean", "a number",
                                      "a string", "a list",    "a map"};
  return names[type];
}

/* --- JSON ----------------------------------------------------------------- */

static int put_digits(kin__buf *out, kin_str digits, bool skips_zeros) {
  bool is_begun = !skips_zeros;
  bool is_empty = true;
  int err = 0;
  for (size_t i = 0; i < digits.length && err == 0; i++) {
    char c = digits.data[i];
    is_begun = is_begun || (c != '0' && c != '_');
    if (is_begun && c != '_') {
      err = kin__buf_append(out, &c, 1);
      is_empty = false;
    }
  }
  return err == 0 && is_empty ? kin__buf_append_cstr(out, "0") : err;
}

static int put_integer(kin__buf *out, const yaml_number *number) {
  uint64_t value;
  return to_integer(number, &value) ? kin__buf_printf(out, "%" PRIu64, value)
                                    : KIN_EINVAL;
}

static int put_number(kin__buf *out, const kin__yaml_node *node) {
  yaml_number number;
  if (!split_number(&number, node->text)) {
    return KIN_EINVAL;
  }
  int err = number.sign == '-' ? kin__buf_append_cstr(out, "-") : 0;
  if (err == 0 && number.base != 10) {
    return put_integer(out, &number);
  }
  if (err == 0) {
    err = put_digits(out, number.digits, true);
  }
  if (err == 0 && number.fraction.length > 0) {
    err = kin__buf_append_cstr(out, ".");
    err = err == 0 ? put_digits(out, number.fraction, false) : err;
  }
  if (err == 0 && number.exponent_sign != '\0') {
    err = kin__buf_printf(out, "e%c", number.exponent_sign);
    err = err == 0 ? put_digits(out, number.exponent, false) : err;
  }
  return err;
}

static int put_string(kin__buf *out, kin_str text) {
  int err = kin__buf_append_cstr(out, "\"");
  for (size_t i = 0; i < text.length && err == 0; i++) {
    char c = text.data[i];
    if (c == '"' || c == '\\') {
      const char escaped[] = {'\\', c};
      err = kin__buf_append(out, escaped, sizeof escaped);
    } else if ((unsigned char)c < 0x20) {
      err = kin__buf_printf(out, "\\u%04x", (unsigned)c);
    } else {
      err = kin__buf_append(out, &c, 1);
    }
  }
  return err == 0 ? kin__buf_append_cstr(out, "\"") : err;
}

static int put_container(kin__buf *out, const kin__yaml_node *node) {
  bool is_map = node->type == KIN__YAML_MAP;
  int err = kin__buf_append_cstr(out, is_map ? "{" : "[");
  for (const kin__yaml_item *item = node->first; item != NULL && err == 0;
       item = item->next) {
    if (item != node->first) {
      err = kin__buf_append_cstr(out, ",");
    }
    if (err == 0 && is_map) {
      err = item->is_odd_key ? KIN_EINVAL : put_string(out, item->key);
      err = err == 0 ? kin__buf_append_cstr(out, ":") : err;
    }
    if (err == 0) {
      err = kin__yaml_to_json(out, item->value);
    }
  }
  return err == 0 ? kin__buf_append_cstr(out, is_map ? "}" : "]") : err;
}

int kin__yaml_to_json(kin__buf *out, const kin__yaml_node *node) {
  switch (node->type) {
  case KIN__YAML_NULL:
    return kin__buf_append_cstr(out, "null");
  case KIN__YAML_BOOL:
    return kin__buf_append_cstr(out, node->truth ? "true" : "false");
  case KIN__YAML_NUMBER:
    return put_number(out, node);
  case KIN__YAML_STRING:
    return put_string(out, node->text);
  default:
    return put_container(out, node);
  }
}
