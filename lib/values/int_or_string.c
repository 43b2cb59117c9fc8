/* SPDX-License-Identifier: MIT */
#include "values/value.h"

int kin_value_int_or_string(kin_value value, char *buffer, size_t size,
                            kin_int_or_string *out) {
  if (out == NULL || (buffer == NULL && size > 0)) {
    return KIN_EINVAL;
  }
  kin_int_or_string found = {.is_string = false};
  int err;
  if (kin_value_type_of(value) == KIN_VALUE_STRING) {
    found.is_string = true;
    err = kin_value_string(value, buffer, size, &found.string);
  } else {
    int64_t integer = 0;
    err = kin_value_int64(value, &integer);
    if (err == 0 && (integer < INT32_MIN || integer > INT32_MAX)) {
      err = KIN_ETOOBIG;
    }
    found.integer = (int32_t)integer;
  }
  if (err == 0) {
    *out = found;
  }
  return err;
}

/* The number before a percent sign, as Go's Atoi reads it. */
static bool to_percentage(kin_str text, int64_t *value) {
  text = kin__str_given(text);
  if (text.length < 2 || text.data[text.length - 1] != '%') {
    return false;
  }
  size_t sign = text.data[0] == '-' || text.data[0] == '+';
  uint64_t digits;
  if (!kin__str_to_u64(kin__str(text.data + sign, text.length - sign - 1),
                       &digits) ||
      digits > INT32_MAX) {
    return false;
  }
  *value = text.data[0] == '-' ? -(int64_t)digits : (int64_t)digits;
  return true;
}

int kin_int_or_string_scale(const kin_int_or_string *value, int32_t total,
                            bool rounds_up, int32_t *out) {
  if (value == NULL || out == NULL) {
    return KIN_EINVAL;
  }
  if (!value->is_string) {
    *out = value->integer;
    return 0;
  }
  int64_t percentage;
  if (!to_percentage(value->string, &percentage)) {
    return KIN_EINVAL;
  }
  int64_t product = percentage * total; /* both below 2^31 in magnitude */
  int64_t result = product / 100;
  int64_t rest = product % 100;
  result += rounds_up ? rest > 0 : -(rest < 0); /* C cuts off towards 0 */
  if (result < INT32_MIN || result > INT32_MAX) {
    return KIN_ETOOBIG;
  }
  *out = (int32_t)result;
  return 0;
}
