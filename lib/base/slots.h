/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SLOTS_H
#define KIN_BASE_SLOTS_H

#include <stdbool.h>
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
 * NULL pointer, for example).
 *
 * With `has_holes` a segment of 1,024 elements is freed when none of them is in
 * use, wherever the segment is: an array that was large once does not keep its
 * memory. As many free elements stay, so that a count that swings around a
 * segment's border does not allocate each time. A walk must then use
 * kin__slots_next or kin__slots_is_hole. The first element of such a segment is
 * never taken: its head's hash counts those in use. */
typedef struct kin__slot_head {
  uint32_t hash; /* the owner's; kin__map sets it; free: the one before */
  uint32_t next; /* the next in the map's chain or in the free list */
} kin__slot_head;

typedef struct kin__slots {
  const kin_allocator *allocator;
  kin__segments segments; /* with room for `limit` at least */
  uint32_t limit;         /* all ids handed out so far are below this */
  uint32_t fresh; /* from here to its segment's end ids were never in use */
  uint32_t free_head;
  uint32_t live;
  uint32_t holes; /* segments without memory */
  uint16_t element_size;
  bool has_holes; /* the owner sets this before the first element;
                   * kin__slots_finish clears the flag */
} kin__slots;

/* Allocates nothing. The allocator must outlive the array. */
void kin__slots_init(kin__slots *slots, const kin_allocator *allocator,
                     size_t element_size);
/* Frees all segments. The caller first releases what the elements own. */
void kin__slots_finish(kin__slots *slots);

/* Makes sure that the next `count` (at most 1,024) calls of kin__slots_take
 * succeed. Not with `has_holes`. Errors: KIN_ENOMEM. */
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

/* Whether the element, below limit, is free and has no memory. */
static inline bool kin__slots_is_hole(const kin__slots *slots, uint32_t id) {
  return kin__segments_is_hole(&slots->segments, id);
}

/* The first element from `id` on that has memory, in use or free; KIN__NO_SLOT
 * at the end. A hole costs one check. */
uint32_t kin__slots_next(const kin__slots *slots, uint32_t id);

/* Frees the last segment with all its elements, so that a large array can be
 * freed in bounded steps. Returns the number of ids left below limit. No
 * element may be taken from then on. */
uint32_t kin__slots_drop_segment(kin__slots *slots);

#endif /* KIN_BASE_SLOTS_H */
