/* SPDX-License-Identifier: MIT */
#ifndef KIN_HISTOGRAM_H
#define KIN_HISTOGRAM_H

/** @file
 * Histograms of metrics. */

#include <stddef.h>
#include <stdint.h>

#include <kin/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KIN_HISTOGRAM_BUCKETS 16 /**< buckets of a histogram */

/** A histogram of values: bucket n counts the values up to 4 to the power n
 * that are in no smaller bucket, the last one all others. */
typedef struct kin_histogram {
  uint64_t count;                          /**< of values */
  uint64_t sum;                            /**< of values */
  uint64_t buckets[KIN_HISTOGRAM_BUCKETS]; /**< not cumulative */
} kin_histogram;
/** An empty histogram. */
#define KIN_HISTOGRAM_INIT                                                     \
  {                                                                            \
    0, 0, {                                                                    \
      0                                                                        \
    }                                                                          \
  }

/** The largest value of bucket n, UINT64_MAX for the last. */
KIN_EXTERN uint64_t kin_histogram_bound(size_t n);

#ifdef __cplusplus
}
#endif

#endif /* KIN_HISTOGRAM_H */
