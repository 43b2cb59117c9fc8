/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_HISTOGRAM_H
#define KIN_BASE_HISTOGRAM_H

#include <stdint.h>

#include <kin/allocator.h>
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

/* A histogram in a sixth of the memory, as long as all values are in two
 * buckets: an idle informer has made one list, and all its watches end after
 * five to ten minutes. A third bucket needs a table of all. */
#define KIN__HISTOGRAM_FEW 2u
#define KIN__HISTOGRAM_FEW_MAX ((UINT32_C(1) << 28) - 1)

typedef struct kin__small_histogram {
  uint64_t sum;
  uint64_t *buckets;                /* NULL: see `few` */
  uint32_t few[KIN__HISTOGRAM_FEW]; /* a count times 16, and its bucket; 0: no
                                     * value, also in no later one */
} kin__small_histogram;

/* Counts `value` n times. Without memory for a table, the value is not
 * counted. */
void kin__small_histogram_add(kin__small_histogram *histogram,
                              const kin_allocator *allocator, uint64_t value,
                              uint32_t n);
void kin__small_histogram_finish(kin__small_histogram *histogram,
                                 const kin_allocator *allocator);

/* Adds all values of a small histogram. */
void kin__histogram_merge(kin_histogram *to, const kin__small_histogram *from);

#endif /* KIN_BASE_HISTOGRAM_H */
