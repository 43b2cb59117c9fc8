/* SPDX-License-Identifier: MIT */
#include "base/segments.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"

/* Places of the longest segment. */
#define LONGEST (KIN__SEGMENT_MAX >> KIN__SEGMENTS_SHIFT)
/* An element's number is never UINT32_MAX, which stands for none. */
#define MAX_PLACES ((UINT32_MAX >> KIN__SEGMENTS_SHIFT) - LONGEST)

/* The places of a segment that begins where `count` places are in use. */
static uint32_t length_at(uint32_t count) {
  if (count == 0) {
    return 1;
  }
  return count < LONGEST ? count : LONGEST;
}

int kin__segments_add_at(kin__segments *segments,
                         const kin_allocator *allocator, size_t element_size,
                         uint32_t place) {
  uint32_t count = segments->count;
  uint32_t length = length_at(place);
  if (count > MAX_PLACES) {
    return KIN_ENOMEM;
  }
  /* length <= place <= capacity, so one doubling suffices. */
  int err = kin__reserve_one(allocator, &segments->places, place + length - 1,
                             &segments->capacity, sizeof *segments->places);
  if (err != 0) {
    return err;
  }
  size_t step = KIN__SEGMENTS_STEP * element_size;
  char *segment = kin__malloc(allocator, length * step);
  if (segment == NULL) {
    return KIN_ENOMEM;
  }
  for (uint32_t i = 0; i < length; i++) {
    segments->places[place + i] = segment + i * step;
  }
  segments->count += place == count ? length : 0;
  return 0;
}

static uint32_t last_place(const kin__segments *segments) {
  uint32_t count = segments->count;
  return count > LONGEST ? count - LONGEST : count / 2;
}

uint32_t kin__segments_last(const kin__segments *segments) {
  return last_place(segments) << KIN__SEGMENTS_SHIFT;
}

void kin__segments_drop(kin__segments *segments,
                        const kin_allocator *allocator) {
  if (segments->count > 0) {
    segments->count = last_place(segments);
    kin__free(allocator, segments->places[segments->count]);
  }
}

void kin__segments_make_hole(kin__segments *segments,
                             const kin_allocator *allocator, uint32_t place) {
  kin__free(allocator, segments->places[place]);
  memset(segments->places + place, 0, LONGEST * sizeof *segments->places);
}

uint32_t kin__segments_find_hole(const kin__segments *segments) {
  uint32_t place = LONGEST;
  while (segments->places[place] != NULL) {
    place += LONGEST;
  }
  return place;
}

void kin__segments_finish(kin__segments *segments,
                          const kin_allocator *allocator) {
  while (segments->count > 0) {
    kin__segments_drop(segments, allocator);
  }
  kin__free(allocator, segments->places);
  *segments = (kin__segments){.places = NULL};
}
