/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_WAITER_H
#define KIN_TRANSPORT_WAITER_H

#include <stdbool.h>

#include "base/link.h"

/* Waits for a value that is made off the loop: a token that is being read, a
 * TLS context. A caller asks with its waiter. If the answer is KIN__PENDING,
 * the waiter is called when the value is there or could not be made, and the
 * caller asks again.
 *
 * A waiter is served at most once. After that, asking again returns the current
 * value at once.
 *
 * If the current value stays good while a newer one is made, a caller waits for
 * KIN__PATIENCE_MS at most, serves its waiter itself, and asks again. From then
 * on the maker has no caller wait until the work ends: libuv's pool is busy, or a
 * file system does not answer. */
typedef struct kin__waiter {
  kin__link node; /* in the maker's list iff the waiter waits */
  /* May only schedule a task. */
  void (*cb)(struct kin__waiter *waiter);
  bool is_served;
} kin__waiter;

/* An answer besides 0 and the negative codes. */
#define KIN__PENDING 1

#define KIN__PATIENCE_MS 1000u

static inline void kin__waiter_init(kin__waiter *waiter,
                                    void (*cb)(kin__waiter *waiter)) {
  kin__link_init(&waiter->node);
  waiter->cb = cb;
  waiter->is_served = false;
}

/* Removes the waiter from the queue. The waiter can be queued again. */
static inline void kin__waiter_reset(kin__waiter *waiter) {
  kin__link_remove(&waiter->node);
  waiter->is_served = false;
}

/* Calls the waiter if it is in a queue. */
static inline void kin__waiter_serve(kin__waiter *waiter) {
  if (!kin__link_is_empty(&waiter->node)) {
    kin__link_remove(&waiter->node);
    waiter->is_served = true;
    waiter->cb(waiter);
  }
}

/* Calls all waiters of the queue. */
static inline void kin__waiters_serve(kin__link *waiters) {
  while (!kin__link_is_empty(waiters)) {
    kin__waiter_serve(KIN__CONTAINER_OF(waiters->next, kin__waiter, node));
  }
}

#endif /* KIN_TRANSPORT_WAITER_H */
