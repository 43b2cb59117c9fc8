/* SPDX-License-Identifier: MIT */
#ifndef KIN_STR_H
#define KIN_STR_H

/** @file
 * Borrowed bytes. */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A borrowed run of bytes, usually UTF-8. A kin_str is not NUL-terminated
 * unless the function that returns it says so, and lives as long as what it was
 * taken from. The empty string is {any pointer or NULL, 0}. */
typedef struct kin_str {
  const char *data; /**< the first byte */
  size_t length;    /**< in bytes */
} kin_str;

/** A kin_str of a string literal: kin_store_get(store, KIN_STR("default/web")).
 * Bytes of the value 0 inside the literal count. */
#ifdef __cplusplus
#define KIN_STR(literal)                                                       \
  kin_str {                                                                    \
    "" literal, sizeof(literal) - 1                                            \
  }
#else
#define KIN_STR(literal) ((kin_str){"" literal, sizeof(literal) - 1})
#endif
/** The same as an initializer, also of a static variable:
 * static const kin_str phase = KIN_STR_INIT("Running"). */
#define KIN_STR_INIT(literal)                                                  \
  { "" literal, sizeof(literal) - 1 }

/** For printf: printf("key " KIN_STR_FORMAT "\n", KIN_STR_ARG(key)). */
#define KIN_STR_FORMAT "%.*s"
/** The arguments for KIN_STR_FORMAT. */
#define KIN_STR_ARG(s) (int)(s).length, (s).data ? (s).data : ""

/* The functions below take time in proportion to the lengths. */

/** A kin_str of a NUL-terminated string, which is borrowed. NULL gives the
 * empty string. */
static inline kin_str kin_str_of(const char *text) {
  kin_str s = {text, text != NULL ? strlen(text) : 0};
  return s;
}

/** Returns whether both strings have the same bytes. */
static inline bool kin_str_equal(kin_str a, kin_str b) {
  size_t a_length = a.data != NULL ? a.length : 0;
  size_t b_length = b.data != NULL ? b.length : 0;
  return a_length == b_length &&
         (a_length == 0 || memcmp(a.data, b.data, a_length) == 0);
}

/** Compares bytes as unsigned numbers, like strcmp: a negative number if `a` is
 * before `b`, 0 if they are equal, else a positive number. A string is before
 * every longer string that begins with it. */
static inline int kin_str_compare(kin_str a, kin_str b) {
  size_t a_length = a.data != NULL ? a.length : 0;
  size_t b_length = b.data != NULL ? b.length : 0;
  size_t common = a_length < b_length ? a_length : b_length;
  int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
  return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/** Returns whether `s` begins with the bytes of `prefix`. */
static inline bool kin_str_begins_with(kin_str s, kin_str prefix) {
  size_t s_length = s.data != NULL ? s.length : 0;
  size_t length = prefix.data != NULL ? prefix.length : 0;
  return length == 0 ||
         (length <= s_length && memcmp(s.data, prefix.data, length) == 0);
}

/** Copies `s` with a NUL behind it into the `size` bytes at `to`, as snprintf
 * does: what does not fit is left out. Returns the length of `s`; the copy is
 * complete if that is less than `size`. `to` may be NULL if `size` is 0.
 * */
static inline size_t kin_str_copy(char *to, size_t size, kin_str s) {
  size_t length = s.data != NULL ? s.length : 0;
  if (to != NULL && size > 0) {
    size_t copied = length < size ? length : size - 1;
    if (copied > 0) {
      memcpy(to, s.data, copied);
    }
    to[copied] = '\0';
  }
  return length;
}

#ifdef __cplusplus
}
#endif

#endif /* KIN_STR_H */
