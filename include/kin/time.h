/* SPDX-License-Identifier: MIT */
#ifndef KIN_TIME_H
#define KIN_TIME_H

/** @file
 * Times and durations as the API writes them. */

#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A moment of the wall clock, in UTC. */
typedef struct kin_time {
  int64_t s;   /**< seconds since 1970-01-01T00:00:00Z */
  uint32_t ns; /**< nanoseconds below a second */
} kin_time;

/** The bytes of the longest text of a time, with its NUL. */
#define KIN_TIME_SIZE 31
/** The bytes of the longest text of a duration, with its NUL. */
#define KIN_DURATION_SIZE 32

/** Reads a time of RFC 3339 as Go does: "2006-01-02T15:04:05Z", with a fraction
 * after '.', or with an offset such as "+01:00". Digits of the fraction beyond
 * nanoseconds do not count. Go also takes an hour of one digit, and a ',' before
 * the fraction; both are refused here.
 * Errors: KIN_EINVAL (*out is left alone). */
KIN_EXTERN int kin_time_parse(kin_str text, kin_time *out);

/** Writes the time in UTC with so many digits of its fraction: 0 as metav1.Time
 * has it, 6 as metav1.MicroTime, at most 9. The other digits are cut off, not
 * rounded, as in Go. Returns the length; 0, and an empty text, if RFC 3339 has
 * no text for the time (years before 0 and after 9999), if `ns` is no fraction
 * of a second, and for more than 9 digits. */
KIN_EXTERN size_t kin_time_format(char out[KIN_TIME_SIZE], kin_time time,
                                  unsigned fraction_digits);

/** -1, 0 or 1: `a` is before `b`, the same moment, after `b`. */
KIN_EXTERN int kin_time_compare(kin_time a, kin_time b);

/** Reads a duration as Go's time.ParseDuration does, which metav1.Duration
 * uses: numbers with units, such as "300ms", "-1.5h" or "2h45m"; the units are
 * ns, us, ms, s, m, h. "0" needs no unit. *ns gets nanoseconds; a
 * fraction of a nanosecond is cut off.
 * Errors: KIN_EINVAL (also out of the range of an int64_t; *ns is left alone).
 * */
KIN_EXTERN int kin_duration_parse(kin_str text, int64_t *ns);

/** Writes a duration in nanoseconds as Go's Duration.String does: "72h3m0.5s",
 * "1.5ms", "0s". Returns the length. */
KIN_EXTERN size_t kin_duration_format(char out[KIN_DURATION_SIZE], int64_t ns);

#ifdef __cplusplus
}
#endif

#endif /* KIN_TIME_H */
