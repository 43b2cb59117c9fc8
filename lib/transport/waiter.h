/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_WAITER_H
#define KIN_TRANSPORT_WAITER_H

#include <stdbool.h>

#include "base/link.h"

/* Somebody who waits for something that is made off the loop: a token that is
 * being read, a TLS context. It asks with its waiter; the answer may be
 * KIN__PENDING, then it is called when the thing is there or could not be made,
 * and asks again. Who asks with a waiter that has been served gets what there
 * is, and never waits a second time. */
typedef struct kin__waiter {
  kin__link node; /* in the maker's list iff it waits */
  /* Schedules and returns: nothing else may happen in it. */
  void (*cb)(struct kin__waiter *waiter);
  bool is_served;
} kin__waiter;

/* An answer besides 0 and the negative codes. */
#define KIN__PENDING 1

static inline void kin__waiter_init(kin__waiter *waiter,
                                    void (*cb)(kin__waiter *waiter)) {
  kin__link_init(&waiter->node);
  waiter->cb = cb;
  waiter->is_served = false;
}

/* It is not called any more, and may wait again. */
static inline void kin__waiter_reset(kin__waiter *waiter) {
  kin__link_remove(&waiter->node);
  waiter->is_served = false;
}

/* Calls all that wait. */
static inline void kin__waiters_serve(kin__link *waiters) {
  while (!kin__link_is_empty(waiters)) {
    kin__waiter *waiter = KIN__CONTAINER_OF(waiters->next, kin__waiter, node);
    kin__link_remove(&waiter->node);
    waiter->is_served = true;
    waiter->cb(waiter);
  }
}

#endif /* KIN_TRANSPORT_WAITER_H */
