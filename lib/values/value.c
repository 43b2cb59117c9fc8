/* SPDX-License-Identifier: MIT */

/* Reading one value. A kin_value's text was found by its brackets, quotes and
 * commas alone, so every function here expects any bytes. */
#include "values/value.h"

#include "base/ascii.h"
#include "base/base64.h"
#include "object/json.h"
#include "object/text.h"

kin_value_type kin_value_type_of(kin_value value) {
  if (value.error != 0 || value.json.data == NULL || value.json.length == 0) {
    return KIN_VALUE_ABSENT;
  }
  switch (value.json.data[0]) {
  case 'n':
    return KIN_VALUE_NULL;
  case 't':
  case 'f':
    return KIN_VALUE_BOOL;
  case '"':
    return KIN_VALUE_STRING;
  case '[':
    return KIN_VALUE_ARRAY;
  case '{':
    return KIN_VALUE_OBJECT;
  default:
    return KIN_VALUE_NUMBER;
  }
}

bool kin_value_exists(kin_value value) {
  return kin_value_type_of(value) > KIN_VALUE_NULL;
}

int kin__value_expect(kin_value value, kin_value_type type) {
  kin_value_type found = kin_value_type_of(value);
  if (found == KIN_VALUE_ABSENT) {
    return value.error != 0 ? value.error : KIN_ENOENT;
  }
  if (found == KIN_VALUE_NULL) {
    return KIN_ENOENT;
  }
  return found == type ? 0 : KIN_ETYPE;
}

/* Strings. */

/* The bytes between the quotes. */
static int raw_string(kin_value value, kin_str *raw) {
  int err = kin__value_expect(value, KIN_VALUE_STRING);
  return err != 0 || kin__text_string(value.json, raw) ? err : KIN_EJSON;
}

int kin_value_string(kin_value value, char *buffer, size_t size, kin_str *out) {
  if (out == NULL || (buffer == NULL && size > 0)) {
    return KIN_EINVAL;
  }
  kin_str raw;
  int err = raw_string(value, &raw);
  if (err != 0) {
    return err;
  }
  if (!kin__text_is_escaped(raw)) {
    *out = raw;
    return 0;
  }
  if (size < raw.length) {
    return KIN_ETOOBIG;
  }
  size_t length;
  err = kin__text_unescape(buffer, &length, raw);
  if (err == 0) {
    *out = kin__str(buffer, length);
  }
  return err;
}

int kin_value_copy_string(kin_value value, char *to, size_t size,
                          size_t *length) {
  if (to == NULL) {
    return KIN_EINVAL;
  }
  kin_str raw;
  int err = raw_string(value, &raw);
  if (err != 0) {
    return err;
  }
  if (size <= raw.length) {
    return KIN_ETOOBIG;
  }
  size_t written;
  err = kin__text_unescape(to, &written, raw);
  to[err == 0 ? written : 0] = '\0';
  if (err == 0 && length != NULL) {
    *length = written;
  }
  return err;
}

bool kin_value_string_is(kin_value value, kin_str text) {
  kin_str raw;
  return raw_string(value, &raw) == 0 &&
         kin__text_name_is(raw, kin__str_given(text));
}

/* Booleans and numbers. */

int kin_value_bool(kin_value value, bool *out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  int err = kin__value_expect(value, KIN_VALUE_BOOL);
  if (err != 0) {
    return err;
  }
  bool is_true = kin__str_equal(value.json, KIN__LIT("true"));
  if (!is_true && !kin__str_equal(value.json, KIN__LIT("false"))) {
    return KIN_EJSON;
  }
  *out = is_true;
  return 0;
}

/* Steps over digits; false if there is none. */
static bool skip_digits(kin_str text, size_t *at) {
  size_t begin = *at;
  while (kin__is_digit(kin__str_byte(text, *at))) {
    ++*at;
  }
  return *at > begin;
}

/* Steps over the fraction and the exponent; false if they are malformed. */
static bool skip_fraction_and_exponent(kin_str text, size_t *at) {
  if (*at < text.length && text.data[*at] == '.') {
    ++*at;
    if (!skip_digits(text, at)) {
      return false;
    }
  }
  if (*at < text.length && (text.data[*at] | 0x20) == 'e') {
    ++*at;
    if (*at < text.length && (text.data[*at] == '+' || text.data[*at] == '-')) {
      ++*at;
    }
    return skip_digits(text, at);
  }
  return true;
}

/* The parts of a JSON number. */
typedef struct json_number {
  bool is_negative;
  bool is_integer;   /* no fraction, no exponent */
  bool is_too_large; /* an integer whose magnitude no uint64_t holds */
  uint64_t magnitude;
} json_number;

/* Errors: those of kin__value_expect. */
static int read_number(kin_value value, json_number *out) {
  int err = kin__value_expect(value, KIN_VALUE_NUMBER);
  if (err != 0) {
    return err;
  }
  kin_str text = value.json;
  size_t begin = text.data[0] == '-';
  size_t at = begin;
  if (!skip_digits(text, &at) || (text.data[begin] == '0' && at > begin + 1)) {
    return KIN_EJSON;
  }
  *out =
      (json_number){.is_negative = begin > 0, .is_integer = at == text.length};
  out->is_too_large = !kin__str_to_u64(kin__str(text.data + begin, at - begin),
                                       &out->magnitude);
  return skip_fraction_and_exponent(text, &at) && at == text.length ? 0
                                                                    : KIN_EJSON;
}

int kin_value_int64(kin_value value, int64_t *out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  json_number number;
  int err = read_number(value, &number);
  if (err != 0 || !number.is_integer) {
    return err != 0 ? err : KIN_ETYPE;
  }
  uint64_t most = (uint64_t)INT64_MAX + (number.is_negative ? 1 : 0);
  if (number.is_too_large || number.magnitude > most) {
    return KIN_ETOOBIG;
  }
  *out = number.is_negative ? (int64_t)(0 - number.magnitude)
                            : (int64_t)number.magnitude;
  return 0;
}

int kin_value_uint64(kin_value value, uint64_t *out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  json_number number;
  int err = read_number(value, &number);
  if (err != 0 || !number.is_integer) {
    return err != 0 ? err : KIN_ETYPE;
  }
  if (number.is_too_large || (number.is_negative && number.magnitude > 0)) {
    return KIN_ETOOBIG;
  }
  *out = number.magnitude;
  return 0;
}

int kin_value_double(kin_value value, double *out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  json_number number;
  int err = read_number(value, &number);
  return err != 0 ? err : kin__json_number(value.json, out);
}

/* Strings with a meaning. A string with escapes that is longer than the buffer
 * is refused: no server writes them so. */

enum { SHORT_STRING = 256 };

static int short_string(kin_value value, char buffer[SHORT_STRING],
                        kin_str *text) {
  int err = kin_value_string(value, buffer, SHORT_STRING, text);
  return err == KIN_ETOOBIG ? KIN_EUNEXPECTED : err;
}

int kin_value_time(kin_value value, kin_time *out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  char buffer[SHORT_STRING];
  kin_str text;
  int err = short_string(value, buffer, &text);
  return err != 0 ? err : kin_time_parse(text, out) != 0 ? KIN_EUNEXPECTED : 0;
}

int kin_value_duration(kin_value value, int64_t *out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  char buffer[SHORT_STRING];
  kin_str text;
  int err = short_string(value, buffer, &text);
  return err != 0                             ? err
         : kin_duration_parse(text, out) != 0 ? KIN_EUNEXPECTED
                                              : 0;
}

int kin_value_quantity(kin_value value, kin_quantity *out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  char buffer[SHORT_STRING];
  kin_str text = value.json;
  json_number number;
  int err = kin_value_type_of(value) == KIN_VALUE_NUMBER
                ? read_number(value, &number)
                : short_string(value, buffer, &text);
  if (err == 0) {
    err = kin_quantity_parse(kin__str_trim(text), out);
    err = err == KIN_EINVAL ? KIN_EUNEXPECTED : err;
  }
  return err;
}

int kin_value_base64(kin_value value, void *to, size_t size, size_t *length) {
  if (length == NULL || (to == NULL && size > 0)) {
    return KIN_EINVAL;
  }
  kin_str text;
  int err = kin_value_string(value, to, size, &text);
  if (err != 0) {
    return err;
  }
  int64_t decoded = kin__base64_decode_into(to, size, text);
  if (decoded < 0) {
    return decoded == KIN__BASE64_TOO_SMALL ? KIN_ETOOBIG : KIN_EUNEXPECTED;
  }
  *length = (size_t)decoded;
  return 0;
}
