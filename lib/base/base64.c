/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <stdbool.h>

static int sextet(char c) {
  if (c >= 'A' && c <= 'Z') {
    return c - 'A';
  }
  if (c >= 'a' && c <= 'z') {
    return c - 'a' + 26;
  }
  if (c >= '0' && c <= '9') {
    return c - '0' + 52;
  }
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}

int64_t kin__base64_decode_into(char *to, size_t size, kin_str encoded) {
  uint32_t bits = 0;
  unsigned characters = 0; /* of the group of four */
  unsigned padding = 0;
  size_t used = 0;
  for (size_t i = 0; i < encoded.length; i++) {
    char c = encoded.data[i];
    if (is_line_end(c)) {
      continue;
    }
    if (c != '=' && (sextet(c) < 0 || padding > 0)) {
      return -1;
    }
    padding += c == '=';
    bits = bits << 6 | (uint32_t)(c == '=' ? 0 : sextet(c));
    if (++characters < 4) {
      continue;
    }
    /* Padding in another group than the last one is more than two, too. */
    if (padding > 2) {
      return -1;
    }
    if (3 - padding > size - used) {
      return KIN__BASE64_TOO_SMALL;
    }
    for (unsigned k = 0; k < 3 - padding; k++) {
      to[used++] = (char)(bits >> (16 - 8 * k));
    }
    characters = 0;
    bits = 0;
  }
  return characters == 0 ? (int64_t)used : -1;
}
