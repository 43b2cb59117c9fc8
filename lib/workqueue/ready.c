/* SPDX-License-Identifier: MIT */
#include "workqueue/ready.h"

#include <assert.h>

void kin__ready_init(kin__ready *ready, const kin__slots *slots,
                     size_t offset) {
  *ready = (kin__ready){.slots = slots, .offset = offset};
  for (unsigned i = 0; i < KIN__READY_LEVELS; i++) {
    ready->lists[i] = (kin__ready_link){KIN__NO_SLOT, KIN__NO_SLOT};
  }
}

static kin__ready_link *link_of(const kin__ready *ready, uint32_t id) {
  return (kin__ready_link *)(void *)((char *)kin__slots_at(ready->slots, id) +
                                     ready->offset);
}

static unsigned level_of(int8_t priority) {
  return (unsigned)(priority + 128);
}

void kin__ready_push(kin__ready *ready, int8_t priority, uint32_t id) {
  unsigned level = level_of(priority);
  kin__ready_link *list = &ready->lists[level];
  *link_of(ready, id) = (kin__ready_link){list->previous, KIN__NO_SLOT};
  if (list->previous != KIN__NO_SLOT) {
    link_of(ready, list->previous)->next = id;
  } else {
    list->next = id;
    ready->used[level / 64] |= UINT64_C(1) << level % 64;
  }
  list->previous = id;
  ready->count++;
}

void kin__ready_remove(kin__ready *ready, int8_t priority, uint32_t id) {
  unsigned level = level_of(priority);
  kin__ready_link *list = &ready->lists[level];
  const kin__ready_link *link = link_of(ready, id);
  assert(ready->count > 0);
  if (link->previous != KIN__NO_SLOT) {
    link_of(ready, link->previous)->next = link->next;
  } else {
    list->next = link->next;
  }
  if (link->next != KIN__NO_SLOT) {
    link_of(ready, link->next)->previous = link->previous;
  } else {
    list->previous = link->previous;
  }
  if (list->next == KIN__NO_SLOT) {
    ready->used[level / 64] &= ~(UINT64_C(1) << level % 64);
  }
  ready->count--;
}

uint32_t kin__ready_first(const kin__ready *ready) {
  for (unsigned word = KIN__READY_LEVELS / 64; word-- > 0;) {
    uint64_t used = ready->used[word];
    if (used != 0) {
      unsigned bit = 63u - (unsigned)__builtin_clzll(used);
      return ready->lists[word * 64 + bit].next;
    }
  }
  return KIN__NO_SLOT;
}
