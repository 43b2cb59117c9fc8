/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_TIMESTAMP_H
#define KIN_BASE_TIMESTAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/str.h>

/* A moment of the wall clock. */
typedef struct kin__timestamp {
  int64_t s;   /* since 1970, UTC */
  uint32_t ns; /* below a second */
} kin__timestamp;

/* Reads an RFC 3339 time as Go does: "2006-01-02T15:04:05Z", with a fraction
 * after '.', or with an offset such as "+01:00". Digits of the fraction beyond
 * nanoseconds do not count. Returns whether `text` is such a time. */
bool kin__timestamp_parse(kin_str text, kin__timestamp *out);

/* The bytes of the longest text and its NUL. */
#define KIN__TIMESTAMP_MAX sizeof "2006-01-02T15:04:05.123456789Z"

/* Writes the time in UTC with that many digits of its fraction, at most nine;
 * digits that are left out are cut off, not rounded, as in Go. 0 digits are
 * what metav1.Time has, 6 what metav1.MicroTime has. Returns the length; 0, and
 * an empty text, for years that RFC 3339 does not have (before 0, after 9999)
 * and if `ns` is no fraction of a second. */
size_t kin__timestamp_format(char out[KIN__TIMESTAMP_MAX], kin__timestamp t,
                             unsigned fraction_digits);

static inline bool kin__timestamp_is_after(kin__timestamp a, kin__timestamp b) {
  return a.s != b.s ? a.s > b.s : a.ns > b.ns;
}

#endif /* KIN_BASE_TIMESTAMP_H */
