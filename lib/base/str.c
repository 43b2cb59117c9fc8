/* SPDX-License-Identifier: MIT */
#include "base/str.h"

static unsigned char lower(unsigned char c) {
  return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

bool kin__str_equal_nocase(kin_str a, kin_str b) {
  if (a.length != b.length) {
    return false;
  }
  for (size_t i = 0; i < a.length; i++) {
    if (lower((unsigned char)a.data[i]) != lower((unsigned char)b.data[i])) {
      return false;
    }
  }
  return true;
}

static bool is_white(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

kin_str kin__str_trim(kin_str s) {
  while (s.length > 0 && is_white(s.data[0])) {
    s = kin__str_from(s, 1);
  }
  while (s.length > 0 && is_white(s.data[s.length - 1])) {
    s.length--;
  }
  return s;
}

kin_str kin__str_cut(kin_str s, size_t max) {
  s.length = s.length < max ? s.length : max;
  for (size_t behind = 1; behind < 4 && behind <= s.length; behind++) {
    unsigned char c = (unsigned char)s.data[s.length - behind];
    if (c >= 0xc0) {
      size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
      s.length -= behind < whole ? behind : 0;
      break;
    }
    if (c < 0x80) {
      break;
    }
  }
  return s;
}

static bool is_continuation(char c) {
  return ((unsigned char)c & 0xc0) == 0x80;
}

/* Makes a '?' of each byte of a character that ends too early. */
static void mend_character(char *text) {
  unsigned char c = (unsigned char)*text;
  size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  size_t length = 1;
  while (length < whole && is_continuation(text[length])) {
    length++;
  }
  if (length < whole) {
    memset(text, '?', length);
  }
}

void kin__put_on_one_line(char *text) {
  text[kin__str_cut(kin__cstr(text), SIZE_MAX).length] = '\0';
  for (char *c = text; *c != '\0'; c++) {
    bool is_control = (unsigned char)*c < 0x20 || *c == 0x7f;
    *c = is_control ? ' ' : *c;
    if ((unsigned char)*c >= 0xc0) {
      mend_character(c);
    }
  }
}

bool kin__str_to_u64(kin_str s, uint64_t *value) {
  if (s.length == 0) {
    return false;
  }
  uint64_t v = 0;
  for (size_t i = 0; i < s.length; i++) {
    unsigned digit = (unsigned char)s.data[i] - (unsigned)'0';
    if (digit > 9 || v > (UINT64_MAX - digit) / 10) {
      return false;
    }
    v = v * 10 + digit;
  }
  *value = v;
  return true;
}
