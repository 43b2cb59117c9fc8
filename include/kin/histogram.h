/* SPDX-License-Identifier: MIT */
#ifndef KIN_HISTOGRAM_H
#define KIN_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A histogram of values: bucket n counts the values up to 4 to the power n that
 * are in no smaller bucket, the last one all others. */
#define KIN_HISTOGRAM_BUCKETS 16
typedef struct kin_histogram {
  uint64_t count;
  uint64_t sum;
  uint64_t buckets[KIN_HISTOGRAM_BUCKETS]; /* not cumulative */
} kin_histogram;
#define KIN_HISTOGRAM_INIT                                                     \
  {                                                                            \
    0, 0, {                                                                    \
      0                                                                        \
    }                                                                          \
  }

/* The largest value of bucket n, UINT64_MAX for the last. */
KIN_EXTERN uint64_t kin_histogram_bound(size_t n);

#ifdef __cplusplus
}
#endif

#endif /* KIN_HISTOGRAM_H */
