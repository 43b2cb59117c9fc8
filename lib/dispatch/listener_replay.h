/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_LISTENER_REPLAY_H
#define KIN_DISPATCH_LISTENER_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/listener.h"

/* Where a listener's notifications come from besides the dispatcher: the replay
 * of the store for one that joins late (SI-11), and resyncs (PL-04..06). Both
 * walk the store's slots with a cursor and go through the listener's queue, so
 * that they keep their place among the changes of each key. */

/* Begins the replay, if there is anything to replay, and the resync period.
 * Errors: KIN_ENOMEM. */
int kin__listener_replay_start(kin_listener *listener);

/* Whether kin__listener_replay has something to do now. While a change is on its
 * way to the listener it has not. */
static inline bool kin__listener_can_replay(const kin_listener *listener) {
  return (listener->replay != KIN__NO_SLOT ||
          listener->resync != KIN__NO_SLOT) &&
         !listener->retry_timer.is_active &&
         !kin__dispatcher_is_ahead(listener->dispatcher, listener);
}

/* Queues the objects of some more slots and returns the number of slots visited
 * (at most KIN__FEED_SLOTS, and for one slice). Without memory it stops for a
 * while. */
uint32_t kin__listener_replay(kin_listener *listener);

/* Feed only queues that are shorter than this. */
#define KIN__FEED_BELOW 64u
#define KIN__FEED_SLOTS 128u

#endif /* KIN_DISPATCH_LISTENER_REPLAY_H */
