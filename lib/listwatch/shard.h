/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_SHARD_H
#define KIN_LISTWATCH_SHARD_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/str.h>

/* One of `count` equal ranges of the hash of an object's uid, as the API server
 * knows them (KEP-5866). An object never changes its range. Client and server
 * use the same hash, so that all replicas agree, whoever filters. */
typedef struct kin__shard {
  uint32_t index;
  uint32_t count; /* 0 and 1: all objects */
} kin__shard;

/* The query parameter; a server that does not know it ignores it. */
#define KIN__SHARD_PARAMETER "shardSelector"

enum {
  KIN__SHARDS_MAX = 4096,
  KIN__SHARD_SELECTOR_SIZE = 96 /* with its NUL */
};

static inline bool kin__shard_is_part(const kin__shard *shard) {
  return shard->count > 1;
}

static inline bool kin__shard_equal(kin__shard a, kin__shard b) {
  return a.index == b.index && a.count == b.count;
}

bool kin__shard_is_valid(const kin__shard *shard);
/* Whether an object with this uid belongs to the shard. */
bool kin__shard_has(const kin__shard *shard, kin_str uid);
/* Writes the value of the query parameter shardSelector; "" for all objects. */
void kin__shard_selector(const kin__shard *shard,
                         char selector[KIN__SHARD_SELECTOR_SIZE]);

#endif /* KIN_LISTWATCH_SHARD_H */
