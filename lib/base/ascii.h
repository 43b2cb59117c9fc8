/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_ASCII_H
#define KIN_BASE_ASCII_H

#include <stdbool.h>

/* Characters, without regard to the locale. */

static inline bool kin__is_digit(char c) {
  return c >= '0' && c <= '9';
}

static inline bool kin__is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

static inline bool kin__is_alphanumeric(char c) {
  return kin__is_digit(c) || kin__is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* White space of JSON. */
static inline bool kin__is_json_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A hexadecimal digit's value, or -1. */
static inline int kin__hex_value(char c) {
  char lower = (char)(c | 0x20);
  if (kin__is_digit(c)) {
    return c - '0';
  }
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

#endif /* KIN_BASE_ASCII_H */
