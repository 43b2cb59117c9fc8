/* SPDX-License-Identifier: MIT */
#include "base/slots.h"

#include <assert.h>
#include <string.h>

#include <kin/error.h>

void kin__slots_init(kin__slots *slots, const kin_allocator *allocator,
                     size_t element_size) {
  assert(element_size <= UINT16_MAX);
  *slots = (kin__slots){.allocator = allocator,
                        .element_size = (uint16_t)element_size,
                        .free_head = KIN__NO_SLOT};
}

void kin__slots_finish(kin__slots *slots) {
  kin__segments_finish(&slots->segments, slots->allocator);
  kin__slots_init(slots, slots->allocator, slots->element_size);
}

int kin__slots_reserve(kin__slots *slots, uint32_t count) {
  int err = 0;
  while (err == 0 &&
         kin__segments_room(&slots->segments) - slots->live < count) {
    err = kin__segments_add(&slots->segments, slots->allocator,
                            slots->element_size);
  }
  return err;
}

static kin__slot_head *head_at(const kin__slots *slots, uint32_t id) {
  return kin__slots_at(slots, id);
}

/* The first element of the segment, which counts those in use; NULL if they are
 * not counted. */
static kin__slot_head *counter_of(const kin__slots *slots, uint32_t id) {
  return slots->has_holes && id >= KIN__SEGMENT_MAX
             ? head_at(slots, id & ~(KIN__SEGMENT_MAX - 1))
             : NULL;
}

/* Fills a hole, or adds a segment at the end. */
static int begin_segment(kin__slots *slots) {
  kin__segments *segments = &slots->segments;
  uint32_t place =
      slots->holes > 0 ? kin__segments_find_hole(segments) : segments->count;
  int err = kin__segments_add_at(segments, slots->allocator,
                                 slots->element_size, place);
  if (err != 0) {
    return err;
  }
  slots->holes -= slots->holes > 0 ? 1 : 0;
  slots->fresh = place << KIN__SEGMENTS_SHIFT;
  kin__slot_head *counter = counter_of(slots, slots->fresh);
  if (counter != NULL) {
    memset(counter, 0, (size_t)KIN__SEGMENT_MAX * slots->element_size);
    slots->fresh++;
  }
  return 0;
}

/* A segment that has filled a hole ends before the array does. */
static bool has_fresh(const kin__slots *slots) {
  return slots->fresh < kin__segments_room(&slots->segments) &&
         (!slots->has_holes || slots->fresh % KIN__SEGMENT_MAX > 0);
}

int kin__slots_take(kin__slots *slots, uint32_t *id) {
  if (slots->free_head != KIN__NO_SLOT) {
    *id = slots->free_head;
    kin__slot_head *head = head_at(slots, *id);
    slots->free_head = head->next;
    *head = (kin__slot_head){0};
  } else {
    int err = has_fresh(slots) ? 0 : begin_segment(slots);
    if (err != 0) {
      return err;
    }
    *id = slots->fresh++;
    slots->limit = slots->limit > *id ? slots->limit : *id + 1;
    memset(head_at(slots, *id), 0, slots->element_size);
  }
  slots->live++;
  kin__slot_head *counter = counter_of(slots, *id);
  if (counter != NULL) {
    counter->hash++;
  }
  return 0;
}

static void unlink_free(kin__slots *slots, uint32_t id) {
  const kin__slot_head *head = head_at(slots, id);
  if (id == slots->free_head) {
    slots->free_head = head->next;
  } else {
    head_at(slots, head->hash)->next = head->next;
  }
  if (head->next != KIN__NO_SLOT) {
    head_at(slots, head->next)->hash = head->hash;
  }
}

/* Frees a segment of which no element is in use. */
static void make_hole(kin__slots *slots, uint32_t first) {
  uint32_t end = first + KIN__SEGMENT_MAX;
  for (uint32_t id = first + 1; id < end; id++) {
    if (id == slots->fresh) {
      slots->fresh = end;
      break;
    }
    unlink_free(slots, id);
  }
  kin__segments_make_hole(&slots->segments, slots->allocator,
                          first >> KIN__SEGMENTS_SHIFT);
  slots->holes++;
}

/* With `has_holes` the free list leads back by `hash`, except from its first
 * element. */
void kin__slots_give(kin__slots *slots, uint32_t id) {
  kin__slot_head *head = memset(head_at(slots, id), 0, slots->element_size);
  head->next = slots->free_head;
  if (slots->has_holes && head->next != KIN__NO_SLOT) {
    head_at(slots, head->next)->hash = id;
  }
  slots->free_head = id;
  slots->live--;
  kin__slot_head *counter = counter_of(slots, id);
  if (counter != NULL && --counter->hash == 0 &&
      slots->limit - slots->live >= (slots->holes + 2) * KIN__SEGMENT_MAX) {
    make_hole(slots, id & ~(KIN__SEGMENT_MAX - 1));
  }
}

uint32_t kin__slots_next(const kin__slots *slots, uint32_t id) {
  while (id < slots->limit && kin__slots_is_hole(slots, id)) {
    id = (id | (KIN__SEGMENT_MAX - 1)) + 1;
  }
  return id < slots->limit ? id : KIN__NO_SLOT;
}

uint32_t kin__slots_drop_segment(kin__slots *slots) {
  kin__segments_drop(&slots->segments, slots->allocator);
  uint32_t limit = kin__segments_room(&slots->segments);
  slots->limit = slots->limit < limit ? slots->limit : limit;
  slots->free_head = KIN__NO_SLOT;
  return slots->limit;
}
