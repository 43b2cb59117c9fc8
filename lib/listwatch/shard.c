/* SPDX-License-Identifier: MIT */
#include "listwatch/shard.h"

#include <inttypes.h>
#include <stdio.h>

/* The selector and the hash are those of k8s.io/apimachinery/pkg/sharding. The
 * ranges are those of its users (calculateShardRange in Kubernetes'
 * test/integration/apiserver/sharding_test.go): equal ones of 2^64 / count
 * values, rounded down, and the last one has the rest. */

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint64_t range_size(uint32_t count) {
  bool divides = UINT64_MAX % count == count - 1;
  return UINT64_MAX / count + divides;
}

static uint64_t hash_of(kin_str uid) {
  uint64_t hash = FNV_OFFSET;
  for (size_t i = 0; i < uid.length; i++) {
    hash = (hash ^ (unsigned char)uid.data[i]) * FNV_PRIME;
  }
  return hash;
}

bool kin__shard_is_valid(const kin__shard *shard) {
  uint32_t count = shard->count > 0 ? shard->count : 1;
  return count <= KIN__SHARDS_MAX && shard->index < count;
}

bool kin__shard_has(const kin__shard *shard, kin_str uid) {
  if (!kin__shard_is_part(shard)) {
    return true;
  }
  uint64_t place = hash_of(uid) / range_size(shard->count);
  uint32_t last = shard->count - 1;
  return shard->index == (place < last ? place : last);
}

void kin__shard_selector(const kin__shard *shard,
                         char selector[KIN__SHARD_SELECTOR_SIZE]) {
  selector[0] = '\0';
  if (!kin__shard_is_part(shard)) {
    return;
  }
  uint64_t size = range_size(shard->count);
  uint64_t begin = size * shard->index;
  bool is_last = shard->index == shard->count - 1;
  snprintf(selector, KIN__SHARD_SELECTOR_SIZE,
           "shardRange(object.metadata.uid, '0x%016" PRIx64
           "', '0x%s%016" PRIx64 "')",
           begin, is_last ? "1" : "", is_last ? 0 : begin + size);
}
