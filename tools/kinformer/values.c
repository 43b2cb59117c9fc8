/* SPDX-License-Identifier: MIT */
#include "values.h"

#include <stddef.h>

bool parse_u64(const char *s, uint64_t most, uint64_t *value) {
  uint64_t v = 0;
  if (*s == '\0') {
    return false;
  }
  for (; *s >= '0' && *s <= '9'; s++) {
    unsigned digit = (unsigned)(*s - '0');
    if (v > (most - digit) / 10) {
      return false;
    }
    v = v * 10 + digit;
  }
  *value = v;
  return *s == '\0';
}

bool parse_seconds(const char *s, uint64_t most_ms, uint64_t *ms) {
  char digits[32];
  size_t length = 0;
  int decimals = -1; // no point yet
  for (; *s && length < sizeof(digits) - 4; s++) {
    if (*s == '.' && decimals < 0 && length > 0) {
      decimals = 0;
    } else if (decimals < 3) {
      decimals += decimals >= 0;
      digits[length++] = *s;
    } else {
      return false;
    }
  }
  if (*s || decimals == 0) {
    return false;
  }
  for (int i = decimals < 0 ? 0 : decimals; i < 3; i++) {
    digits[length++] = '0';
  }
  digits[length] = '\0';
  // Nothing but the zeros would be an empty number.
  return length > 3 && parse_u64(digits, most_ms, ms);
}

bool is_pointer(const char *s) {
  if (*s != '/') {
    return false;
  }
  for (; *s; s++) {
    if (*s == '~' && s[1] != '0' && s[1] != '1') {
      return false;
    }
  }
  return true;
}
