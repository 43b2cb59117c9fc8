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

/* A histogram of things that come at most a few times a second, in half the
 * memory. A bucket stops at UINT32_MAX. */
typedef struct kin__rare_histogram {
  uint64_t sum;
  uint32_t buckets[KIN_HISTOGRAM_BUCKETS];
} kin__rare_histogram;

static inline void kin__rare_histogram_add(kin__rare_histogram *histogram,
                                           uint64_t value) {
  uint32_t *bucket = &histogram->buckets[kin__histogram_bucket(value)];
  if (*bucket < UINT32_MAX) {
    histogram->sum += value;
    ++*bucket;
  }
}

/* Adds all values of a rare histogram. */
static inline void kin__histogram_merge(kin_histogram *to,
                                        const kin__rare_histogram *from) {
  to->sum += from->sum;
  for (unsigned i = 0; i < KIN_HISTOGRAM_BUCKETS; i++) {
    to->buckets[i] += from->buckets[i];
    to->count += from->buckets[i];
  }
}

#endif /* KIN_BASE_HISTOGRAM_H */
