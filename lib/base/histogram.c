/* SPDX-License-Identifier: MIT */
#include "base/histogram.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

#define BUCKET_BITS 4u
#define BUCKET_MASK 15u

static bool add_to_few(kin__small_histogram *histogram, unsigned bucket,
                       uint32_t n) {
  for (unsigned i = 0; i < KIN__HISTOGRAM_FEW; i++) {
    uint32_t few = histogram->few[i];
    if (few == 0 || (few & BUCKET_MASK) == bucket) {
      bool has_room = n <= KIN__HISTOGRAM_FEW_MAX - (few >> BUCKET_BITS);
      if (has_room) {
        histogram->few[i] = (few + (n << BUCKET_BITS)) | bucket;
      }
      return has_room;
    }
  }
  return false;
}

static void add_few(uint64_t *buckets, const kin__small_histogram *from) {
  for (unsigned i = 0; i < KIN__HISTOGRAM_FEW; i++) {
    buckets[from->few[i] & BUCKET_MASK] += from->few[i] >> BUCKET_BITS;
  }
}

void kin__small_histogram_add(kin__small_histogram *histogram,
                              const kin_allocator *allocator, uint64_t value,
                              uint32_t n) {
  unsigned bucket = kin__histogram_bucket(value);
  if (histogram->buckets == NULL) {
    if (add_to_few(histogram, bucket, n)) {
      histogram->sum += value * n;
      return;
    }
    histogram->buckets = kin__calloc(allocator, KIN_HISTOGRAM_BUCKETS,
                                     sizeof *histogram->buckets);
    if (histogram->buckets == NULL) {
      return;
    }
    add_few(histogram->buckets, histogram);
  }
  histogram->buckets[bucket] += n;
  histogram->sum += value * n;
}

void kin__small_histogram_finish(kin__small_histogram *histogram,
                                 const kin_allocator *allocator) {
  kin__free(allocator, histogram->buckets);
  histogram->buckets = NULL;
}

void kin__histogram_merge(kin_histogram *to, const kin__small_histogram *from) {
  uint64_t few[KIN_HISTOGRAM_BUCKETS] = {0};
  const uint64_t *buckets = from->buckets;
  if (buckets == NULL) {
    add_few(few, from);
    buckets = few;
  }
  to->sum += from->sum;
  for (unsigned i = 0; i < KIN_HISTOGRAM_BUCKETS; i++) {
    to->buckets[i] += buckets[i];
    to->count += buckets[i];
  }
}
