/* SPDX-License-Identifier: MIT */
#ifndef KIN_RECORDER_KEYED_LRU_H
#define KIN_RECORDER_KEYED_LRU_H

#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/hash.h"
#include "base/link.h"

/* A bounded table of nodes by key, and the order in which they were touched
 * last. The nodes are the caller's. All memory is taken at the begin, and each
 * operation is O(1). */
typedef struct kin__lru_node {
  struct kin__lru_node *chain; /* of the same hash bucket */
  kin__link order;             /* oldest first; may be out of the order */
  kin_str key;                 /* lives as long as the node */
  uint32_t hash;
} kin__lru_node;

typedef struct kin__keyed_lru {
  const kin_allocator *allocator;
  kin__hash_seed seed;
  kin__lru_node **buckets;
  uint32_t mask;
  uint32_t max_count;
  uint32_t count;
  kin__link order;
} kin__keyed_lru;

/* `max_count` is at least 1 and at most 2^20. Errors: KIN_ENOMEM. */
int kin__keyed_lru_init(kin__keyed_lru *lru, const kin_allocator *allocator,
                        kin__hash_seed seed, uint32_t max_count);
/* Frees the table, which must be empty, or not initialised but zero. */
void kin__keyed_lru_finish(kin__keyed_lru *lru);

/* NULL if there is none. */
kin__lru_node *kin__keyed_lru_find(const kin__keyed_lru *lru, kin_str key);
/* node->key is set and is not in the table, which has room. */
void kin__keyed_lru_insert(kin__keyed_lru *lru, kin__lru_node *node);
void kin__keyed_lru_remove(kin__keyed_lru *lru, kin__lru_node *node);

/* Makes the node the newest one. */
void kin__keyed_lru_touch(kin__keyed_lru *lru, kin__lru_node *node);
/* Takes the node out of the order, so that it is not the oldest one. */
void kin__keyed_lru_hold(kin__lru_node *node);
/* NULL if no node is in the order. */
kin__lru_node *kin__keyed_lru_oldest(const kin__keyed_lru *lru);

#endif /* KIN_RECORDER_KEYED_LRU_H */
