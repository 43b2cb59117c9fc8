/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_STR_H
#define KIN_BASE_STR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <kin/str.h>

static inline kin_str kin__str(const char *data, size_t length) {
  kin_str s = {data, length};
  return s;
}

/* NULL gives the empty string. */
static inline kin_str kin__cstr(const char *s) {
  return kin__str(s, s != NULL ? strlen(s) : 0);
}

/* A string that a program gave. A NULL `data` makes it empty
 * (<kin/error.h>); the result's is never NULL, so bytes may be added to it. */
static inline kin_str kin__str_given(kin_str s) {
  return s.data != NULL ? s : kin__str("", 0);
}

/* `s`, or `fallback` if it is NULL. */
static inline const char *kin__or_default(const char *s, const char *fallback) {
  return s != NULL ? s : fallback;
}

/* Whether `s` is neither NULL nor empty. */
static inline bool kin__has_text(const char *s) {
  return s != NULL && s[0] != '\0';
}

/* A string literal. */
#define KIN__LIT(s) kin__str("" s, sizeof(s) - 1)

/* Without the first `count` bytes, which there are. */
static inline kin_str kin__str_from(kin_str s, size_t count) {
  return kin__str(s.data + count, s.length - count);
}

/* 0 behind the end. */
static inline char kin__str_byte(kin_str s, size_t at) {
  return at < s.length ? s.data[at] : '\0';
}

static inline bool kin__str_equal(kin_str a, kin_str b) {
  return a.length == b.length &&
         (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* Less than, equal to or greater than 0. Shorter strings come first, so numbers
 * without leading zeros are in order. */
static inline int kin__str_compare_by_length(kin_str a, kin_str b) {
  if (a.length != b.length) {
    return a.length < b.length ? -1 : 1;
  }
  return a.length > 0 ? memcmp(a.data, b.data, a.length) : 0;
}

/* ASCII case-insensitive, without regard to the locale. */
bool kin__str_equal_nocase(kin_str a, kin_str b);

/* Replaces each control character by a blank. The text may have been cut to fit
 * its buffer: half a character of UTF-8 at the end is dropped. So may have been
 * a part of the text: half a character elsewhere becomes question marks. */
void kin__put_on_one_line(char *text);

/* The begin of `s`, of at most `max` bytes, without half a character of UTF-8 at
 * the end. */
kin_str kin__str_cut(kin_str s, size_t max);

/* Without the white space of ASCII at both ends. */
kin_str kin__str_trim(kin_str s);

/* Parses decimal digits only. Returns false if `s` is empty, holds another
 * character, or overflows. *value is then unchanged. */
bool kin__str_to_u64(kin_str s, uint64_t *value);

#endif /* KIN_BASE_STR_H */
