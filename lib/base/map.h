/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_MAP_H
#define KIN_BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slots.h"

/* A hash table of the elements of a kin__slots: hash -> chain of ids. Growth is
 * by linear hashing: each insert splits at most one chain and each removal
 * merges at most one, so no operation is ever O(n), and a segment of 1,024
 * heads is the largest single allocation. Costs 4 bytes an element, besides the
 * head that each element has anyway.
 *
 * Equality is the caller's: it walks kin__map_first .. kin__map_next over the
 * elements with the same hash. */
typedef struct kin__map {
  const kin_allocator *allocator;
  kin__slots *slots;
  uint32_t **segments; /* of chain heads */
  uint32_t segment_capacity;
  uint32_t segment_count;
  uint32_t buckets; /* in use: (mask >> 1) < buckets <= mask + 1 */
  uint32_t mask;
  uint32_t count;
} kin__map;

/* Allocates nothing. `slots` must outlive the map. */
void kin__map_init(kin__map *map, const kin_allocator *allocator,
                   kin__slots *slots);
void kin__map_finish(kin__map *map);

/* Makes sure that inserts succeed from now on: only the very first head segment
 * is indispensable; when later ones cannot be had, chains get longer.
 * Errors: KIN_ENOMEM. */
int kin__map_reserve(kin__map *map);

/* Puts an element in under `hash`, which is stored in its head. It must not be
 * in the map. Errors: KIN_ENOMEM, nothing changed. */
int kin__map_insert(kin__map *map, uint32_t hash, uint32_t id);

/* Takes an element that is in the map out. */
void kin__map_remove(kin__map *map, uint32_t id);

/* The elements with that hash, KIN__NO_SLOT at the end. The map must not change
 * between the calls. */
uint32_t kin__map_first(const kin__map *map, uint32_t hash);
uint32_t kin__map_next(const kin__map *map, uint32_t id);

/* Frees the last segment of heads, so that a large map can be taken down in
 * bounded steps. Returns whether any is left; only this function and
 * kin__map_finish may be called from then on. */
bool kin__map_drop_segment(kin__map *map);

/* Bytes allocated. */
size_t kin__map_memory(const kin__map *map);

#endif /* KIN_BASE_MAP_H */
