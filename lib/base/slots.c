/* SPDX-License-Identifier: MIT */
#include "base/slots.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"

/* The last id is KIN__NO_SLOT, so one segment is never used. */
#define MAX_SEGMENTS ((UINT32_MAX >> KIN__SLOTS_SHIFT) - 1)

void kin__slots_init(kin__slots *slots, const kin_allocator *allocator,
                     size_t element_size) {
  *slots = (kin__slots){.allocator = allocator,
                        .element_size = element_size,
                        .free_head = KIN__NO_SLOT};
}

void kin__slots_finish(kin__slots *slots) {
  for (uint32_t i = slots->segment_count; i > 0; i--) {
    kin__free(slots->allocator, slots->segments[i - 1]);
  }
  kin__free(slots->allocator, slots->segments);
  kin__slots_init(slots, slots->allocator, slots->element_size);
}

static int add_segment(kin__slots *slots) {
  uint32_t count = slots->segment_count;
  if (count == MAX_SEGMENTS) {
    return KIN_ENOMEM;
  }
  int err = kin__reserve_one(slots->allocator, &slots->segments, count,
                             &slots->segment_capacity, sizeof *slots->segments);
  if (err != 0) {
    return err;
  }
  char *segment = kin__malloc(slots->allocator,
                              KIN__SLOTS_PER_SEGMENT * slots->element_size);
  if (segment == NULL) {
    return KIN_ENOMEM;
  }
  slots->segments[slots->segment_count++] = segment;
  return 0;
}

int kin__slots_reserve(kin__slots *slots, uint32_t count) {
  uint64_t room = (uint64_t)slots->segment_count << KIN__SLOTS_SHIFT;
  return room - slots->live >= count ? 0 : add_segment(slots);
}

int kin__slots_take(kin__slots *slots, uint32_t *id) {
  if (slots->free_head != KIN__NO_SLOT) {
    *id = slots->free_head;
    kin__slot_head *head = kin__slots_at(slots, *id);
    slots->free_head = head->next;
    *head = (kin__slot_head){0};
    slots->live++;
    return 0;
  }
  if (slots->limit >> KIN__SLOTS_SHIFT == slots->segment_count) {
    int err = add_segment(slots);
    if (err != 0) {
      return err;
    }
  }
  *id = slots->limit++;
  slots->live++;
  memset(kin__slots_at(slots, *id), 0, slots->element_size);
  return 0;
}

void kin__slots_give(kin__slots *slots, uint32_t id) {
  kin__slot_head *head = kin__slots_at(slots, id);
  memset(head, 0, slots->element_size);
  head->next = slots->free_head;
  slots->free_head = id;
  slots->live--;
}

uint32_t kin__slots_drop_segment(kin__slots *slots) {
  if (slots->segment_count == 0) {
    return 0;
  }
  kin__free(slots->allocator, slots->segments[--slots->segment_count]);
  uint32_t limit = slots->segment_count << KIN__SLOTS_SHIFT;
  slots->limit = slots->limit < limit ? slots->limit : limit;
  slots->free_head = KIN__NO_SLOT;
  return slots->limit;
}
