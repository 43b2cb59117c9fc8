/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SLOTS_H
#define KIN_BASE_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>

#include "base/segments.h"

#define KIN__NO_SLOT UINT32_MAX

/* A segmented array of elements with stable addresses and 32-bit ids. Taking
 * and giving back is O(1). Growing adds one segment and copies only the
 * directory. A walk counts ids up to kin__slots_limit, so it may pause for any
 * time.
 *
 * Every element begins with a kin__slot_head. A free element is zeroed except
 * for its head. The owner's own fields must say whether an element is in use (a
 * NULL pointer, for example). */
typedef struct kin__slot_head {
  uint32_t hash; /* the owner's; kin__map sets it */
  uint32_t next; /* the next in the map's chain or in the free list */
} kin__slot_head;

typedef struct kin__slots {
  const kin_allocator *allocator;
  kin__segments segments; /* with room for `limit` at least */
  size_t element_size;
  uint32_t limit; /* all ids handed out so far are below this */
  uint32_t free_head;
  uint32_t live;
} kin__slots;

/* Allocates nothing. The allocator must outlive the array. */
void kin__slots_init(kin__slots *slots, const kin_allocator *allocator,
                     size_t element_size);
/* Frees all segments. The caller first releases what the elements own. */
void kin__slots_finish(kin__slots *slots);

/* Makes sure that the next `count` (at most 1,024) calls of kin__slots_take
 * succeed. Errors: KIN_ENOMEM. */
int kin__slots_reserve(kin__slots *slots, uint32_t count);

/* Takes a zeroed element. Errors: KIN_ENOMEM. */
int kin__slots_take(kin__slots *slots, uint32_t *id);
/* Gives an element back and zeroes it. */
void kin__slots_give(kin__slots *slots, uint32_t id);

static inline void *kin__slots_at(const kin__slots *slots, uint32_t id) {
  return kin__segments_at(&slots->segments, id, slots->element_size);
}

static inline uint32_t kin__slots_limit(const kin__slots *slots) {
  return slots->limit;
}

/* Frees the last segment with all its elements, so that a large array can be
 * freed in bounded steps. Returns the number of ids left below limit. No
 * element may be taken from then on. */
uint32_t kin__slots_drop_segment(kin__slots *slots);

#endif /* KIN_BASE_SLOTS_H */
