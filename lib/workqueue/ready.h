/* SPDX-License-Identifier: MIT */
#ifndef KIN_WORKQUEUE_READY_H
#define KIN_WORKQUEUE_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slots.h"

/* The keys that are queued: one list for each priority, and a bit for each list
 * that is not empty. So every operation is O(1). Lists link elements of a
 * kin__slots by their ids; the link is at a fixed place of each element. */
#define KIN__READY_LEVELS 256u

typedef struct kin__ready_link {
  uint32_t previous;
  uint32_t next; /* KIN__NO_SLOT at the ends */
} kin__ready_link;

typedef struct kin__ready {
  const kin__slots *slots;
  size_t offset; /* of the link in an element */
  uint32_t count;
  uint64_t used[KIN__READY_LEVELS / 64];
  kin__ready_link lists[KIN__READY_LEVELS]; /* previous: the last, next: the
                                             * first */
} kin__ready;

/* `slots` must outlive it. */
void kin__ready_init(kin__ready *ready, const kin__slots *slots, size_t offset);

/* Puts an element at the end of the list of a priority. */
void kin__ready_push(kin__ready *ready, int8_t priority, uint32_t id);
/* Removes an element that is in the list of this priority. */
void kin__ready_remove(kin__ready *ready, int8_t priority, uint32_t id);
/* The first element of the highest priority, or KIN__NO_SLOT. */
uint32_t kin__ready_first(const kin__ready *ready);

#endif /* KIN_WORKQUEUE_READY_H */
