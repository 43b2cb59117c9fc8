/* SPDX-License-Identifier: MIT */
#include "base/slots.h"

#include <string.h>

#include <kin/error.h>

void kin__slots_init(kin__slots *slots, const kin_allocator *allocator,
                     size_t element_size) {
  *slots = (kin__slots){.allocator = allocator,
                        .element_size = element_size,
                        .free_head = KIN__NO_SLOT};
}

void kin__slots_finish(kin__slots *slots) {
  kin__segments_finish(&slots->segments, slots->allocator);
  kin__slots_init(slots, slots->allocator, slots->element_size);
}

static int add_segment(kin__slots *slots) {
  return kin__segments_add(&slots->segments, slots->allocator,
                           slots->element_size);
}

int kin__slots_reserve(kin__slots *slots, uint32_t count) {
  int err = 0;
  while (err == 0 &&
         kin__segments_room(&slots->segments) - slots->live < count) {
    err = add_segment(slots);
  }
  return err;
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
  if (slots->limit == kin__segments_room(&slots->segments)) {
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
  kin__segments_drop(&slots->segments, slots->allocator);
  uint32_t limit = kin__segments_room(&slots->segments);
  slots->limit = slots->limit < limit ? slots->limit : limit;
  slots->free_head = KIN__NO_SLOT;
  return slots->limit;
}
