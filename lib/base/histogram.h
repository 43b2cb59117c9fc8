/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_HISTOGRAM_H
#define KIN_BASE_HISTOGRAM_H

#include <stdint.h>

#include <kin/histogram.h>

/* The bucket of a value. The bounds are 1, 4, 16, ... */
static inline unsigned kin__histogram_bucket(uint64_t value) {
  if (value <= 1) {
    return 0;
  }
  unsigned bits = 64u - (unsigned)__builtin_clzll(value - 1);
  unsigned bucket = (bits + 1) / 2;
  return bucket < KIN_HISTOGRAM_BUCKETS ? bucket : KIN_HISTOGRAM_BUCKETS - 1;
}

/* Counts `value` n times. */
static inline void kin__histogram_add(kin_histogram *histogram, uint64_t value,
                                      uint64_t n) {
  histogram->count += n;
  histogram->sum += value * n;
  histogram->buckets[kin__histogram_bucket(value)] += n;
}

#endif /* KIN_BASE_HISTOGRAM_H */
