/* SPDX-License-Identifier: MIT */
#ifndef APISIM_SHARDS_H
#define APISIM_SHARDS_H

/* shardSelector of a list or watch (KEP-5866): ranges of the FNV-1a hash of an
 * object's uid or namespace. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

typedef struct shard_range {
  uint64_t first;
  uint64_t last; // inclusive
} shard_range;

typedef struct shard_ranges {
  bool of_namespace; // else of the uid
  shard_range *items;
  size_t count;
  char *text; // as the real server writes it
} shard_ranges;

/* shardRange(object.metadata.uid, '0x...', '0x...') || ... On failure nothing
 * needs freeing. */
bool shards_parse(const char *text, shard_ranges *out, buf *error);
void shards_free(shard_ranges *s);
bool shards_match(const shard_ranges *s, const rev *r);

#endif
