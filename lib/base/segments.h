/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SEGMENTS_H
#define KIN_BASE_SEGMENTS_H

#include <stdbool.h>
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
 * segment, which is not initialised, behind the others or in a hole. `place`:
 * segments.count, or the first place of a hole. Errors: KIN_ENOMEM. */
int kin__segments_add_at(kin__segments *segments,
                         const kin_allocator *allocator, size_t element_size,
                         uint32_t place);
static inline int kin__segments_add(kin__segments *segments,
                                    const kin_allocator *allocator,
                                    size_t element_size) {
  return kin__segments_add_at(segments, allocator, element_size,
                              segments->count);
}
/* Frees the last segment, if there is one. */
void kin__segments_drop(kin__segments *segments,
                        const kin_allocator *allocator);
/* Frees the segment of 1,024 elements that begins at `place`: its elements have
 * no memory until kin__segments_add_at. */
void kin__segments_make_hole(kin__segments *segments,
                             const kin_allocator *allocator, uint32_t place);
/* The place of the first hole. There must be one. */
uint32_t kin__segments_find_hole(const kin__segments *segments);
/* Frees everything. */
void kin__segments_finish(kin__segments *segments,
                          const kin_allocator *allocator);
/* The first element of the last segment; 0 if there is none. */
uint32_t kin__segments_last(const kin__segments *segments);

/* How many elements have memory, those of holes included. */
static inline uint32_t kin__segments_room(const kin__segments *segments) {
  return segments->count << KIN__SEGMENTS_SHIFT;
}

static inline bool kin__segments_is_hole(const kin__segments *segments,
                                         uint32_t element) {
  return segments->places[element >> KIN__SEGMENTS_SHIFT] == NULL;
}

static inline void *kin__segments_at(const kin__segments *segments,
                                     uint32_t element, size_t element_size) {
  return segments->places[element >> KIN__SEGMENTS_SHIFT] +
         (size_t)(element & (KIN__SEGMENTS_STEP - 1)) * element_size;
}

#endif /* KIN_BASE_SEGMENTS_H */
