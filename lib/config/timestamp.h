/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONFIG_TIMESTAMP_H
#define KIN_CONFIG_TIMESTAMP_H

#include <stdbool.h>
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

static inline bool kin__timestamp_is_after(kin__timestamp a, kin__timestamp b) {
  return a.s != b.s ? a.s > b.s : a.ns > b.ns;
}

#endif /* KIN_CONFIG_TIMESTAMP_H */
