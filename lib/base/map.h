/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_MAP_H
#define KIN_BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slots.h"

/* A hash table of the elements of a kin__slots: hash -> chain of ids. The table
 * grows by linear hashing: each insert splits at most one chain, and each
 * removal merges at most two. So no operation is O(n), and the largest
 * allocation is a segment of 1,024 heads, or the directory. The cost is 4 bytes
 * an element, besides the element's kin__slot_head. A map that is empty again
 * keeps 2,048 heads at most, and the directory.
 *
 * The caller compares keys: it walks kin__map_first .. kin__map_next over the
 * elements with the same hash. */
typedef struct kin__map {
  const kin_allocator *allocator;
  kin__slots *slots;
  kin__segments heads; /* of the chains */
  uint32_t buckets;    /* in use: (mask >> 1) < buckets <= mask + 1 */
  uint32_t mask;
  uint32_t count;
} kin__map;

/* Allocates nothing. `slots` must outlive the map. */
void kin__map_init(kin__map *map, const kin_allocator *allocator,
                   kin__slots *slots);
void kin__map_finish(kin__map *map);

/* Makes sure that later inserts succeed. Only the first head segment is
 * indispensable: if a later one cannot be allocated, chains get longer. Errors:
 * KIN_ENOMEM. */
int kin__map_reserve(kin__map *map);

/* Inserts an element under `hash`, which is stored in the element's head. The
 * element must not be in the map. On an error nothing has changed. Errors:
 * KIN_ENOMEM. */
int kin__map_insert(kin__map *map, uint32_t hash, uint32_t id);

/* Removes an element that is in the map. */
void kin__map_remove(kin__map *map, uint32_t id);

/* The elements with that hash; KIN__NO_SLOT at the end. The map must not change
 * between the calls. */
uint32_t kin__map_first(const kin__map *map, uint32_t hash);
uint32_t kin__map_next(const kin__map *map, uint32_t id);

/* Look-ups of many hashes miss the processor's caches one after the other: the
 * head of the chain, its first element, and what this points to. Called for
 * all hashes, one step after the other, these let the misses overlap. The first
 * step asks for the heads; the second for the first elements. */
void kin__map_prefetch_head(const kin__map *map, uint32_t hash);
void kin__map_prefetch_first(const kin__map *map, uint32_t hash);

/* Frees the last segment of heads, so that a large map can be freed in bounded
 * steps. Returns whether any segment is left. From then on only this function
 * and kin__map_finish may be called. */
bool kin__map_drop_segment(kin__map *map);

#endif /* KIN_BASE_MAP_H */
