/* SPDX-License-Identifier: MIT */
#ifndef KIN_WORKQUEUE_READY_H
#define KIN_WORKQUEUE_READY_H

#include <stdint.h>

#include "base/link.h"

/* The queued keys: one list for each priority, and a bit for each list that is
 * not empty. So every operation is O(1). */
#define KIN__READY_LEVELS 256u

typedef struct kin__ready {
  uint32_t count;
  uint64_t used[KIN__READY_LEVELS / 64];
  kin__link lists[KIN__READY_LEVELS];
} kin__ready;

/* The struct must not move afterwards. */
void kin__ready_init(kin__ready *ready);

/* Puts a node at the end of the list of a priority. */
void kin__ready_push(kin__ready *ready, int8_t priority, kin__link *node);
/* Removes a node that is in the list of this priority. */
void kin__ready_remove(kin__ready *ready, int8_t priority, kin__link *node);
/* The first node of the highest priority, or NULL. */
kin__link *kin__ready_first(const kin__ready *ready);

#endif /* KIN_WORKQUEUE_READY_H */
