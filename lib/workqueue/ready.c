/* SPDX-License-Identifier: MIT */
#include "workqueue/ready.h"

#include <assert.h>
#include <stddef.h>

void kin__ready_init(kin__ready *ready) {
  *ready = (kin__ready){0};
  for (unsigned i = 0; i < KIN__READY_LEVELS; i++) {
    kin__link_init(&ready->lists[i]);
  }
}

static unsigned level_of(int8_t priority) {
  return (unsigned)(priority + 128);
}

void kin__ready_push(kin__ready *ready, int8_t priority, kin__link *node) {
  unsigned level = level_of(priority);
  kin__link_push(&ready->lists[level], node);
  ready->used[level / 64] |= UINT64_C(1) << level % 64;
  ready->count++;
}

void kin__ready_remove(kin__ready *ready, int8_t priority, kin__link *node) {
  unsigned level = level_of(priority);
  assert(ready->count > 0);
  kin__link_remove(node);
  if (kin__link_is_empty(&ready->lists[level])) {
    ready->used[level / 64] &= ~(UINT64_C(1) << level % 64);
  }
  ready->count--;
}

kin__link *kin__ready_first(const kin__ready *ready) {
  for (unsigned word = KIN__READY_LEVELS / 64; word-- > 0;) {
    uint64_t used = ready->used[word];
    if (used != 0) {
      unsigned bit = 63u - (unsigned)__builtin_clzll(used);
      return ready->lists[word * 64 + bit].next;
    }
  }
  return NULL;
}
