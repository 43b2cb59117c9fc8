/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SEGMENTS_H
#define KIN_BASE_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>

/* An array of elements with stable addresses that grows by segments. The first
 * segment has 32 elements, because most arrays stay small. Each further one has
 * as many as there are already, but at most 1,024, so that no allocation is
 * large. The directory has 8 bytes for each 32 elements. It is what growing
 * copies. */
typedef struct kin__segments {
  char **places;     /* of the elements 0, 32, 64, ... */
  uint32_t capacity; /* of places */
  uint32_t count;    /* of places in use */
} kin__segments;

#define KIN__SEGMENTS_SHIFT 5u
#define KIN__SEGMENTS_STEP (1u << KIN__SEGMENTS_SHIFT)
/* The elements of the longest segment. */
#define KIN__SEGMENT_MAX 1024u

/* The caller zeroes a kin__segments. `element_size` is always the same. Adds a
 * segment, which is not initialised. Errors: KIN_ENOMEM. */
int kin__segments_add(kin__segments *segments, const kin_allocator *allocator,
                      size_t element_size);
/* Frees the last segment, if there is one. */
void kin__segments_drop(kin__segments *segments,
                        const kin_allocator *allocator);
/* Frees everything. */
void kin__segments_finish(kin__segments *segments,
                          const kin_allocator *allocator);
/* The first element of the last segment; 0 if there is none. */
uint32_t kin__segments_last(const kin__segments *segments);

/* How many elements have memory. */
static inline uint32_t kin__segments_room(const kin__segments *segments) {
  return segments->count << KIN__SEGMENTS_SHIFT;
}

static inline void *kin__segments_at(const kin__segments *segments,
                                     uint32_t element, size_t element_size) {
  return segments->places[element >> KIN__SEGMENTS_SHIFT] +
         (size_t)(element & (KIN__SEGMENTS_STEP - 1)) * element_size;
}

#endif /* KIN_BASE_SEGMENTS_H */
