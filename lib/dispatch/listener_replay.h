/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_LISTENER_REPLAY_H
#define KIN_DISPATCH_LISTENER_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/listener.h"

/* The sources of a listener's notifications besides the dispatcher: the replay
 * of the store for a late listener (SI-11), and resyncs (PL-04..06). Both walk
 * the store's slots with a cursor. Both go through the listener's queue, so
 * that each key's notifications stay in order. */

/* Replay and resync fill only queues shorter than this. */
#define KIN__REPLAY_BELOW 64u
#define KIN__REPLAY_SLOTS 128u

/* Beside changes that keep the queue long, a resync queues one notification for
 * this many deliveries. So a handler that has time for the changes empties the
 * queue during a resync, too. A replay queues one for each delivery: synced
 * waits for the replay. */
#define KIN__RESYNC_DELIVERIES 8u

/* Begins the replay, if the store has objects, and the resync period. Errors:
 * KIN_ENOMEM. */
int kin__listener_replay_start(kin_listener *listener);

/* Whether kin__listener_replay has work now. While the listener is ahead of a
 * change in hand, it has none. */
static inline bool kin__listener_can_replay(const kin_listener *listener) {
  return (listener->replay != KIN__NO_SLOT ||
          listener->resync != KIN__NO_SLOT) &&
         !listener->lacks_memory &&
         !kin__dispatcher_is_ahead(listener->dispatcher, listener);
}

/* Whether the next slots are due: the queue is short; or changes keep the queue
 * long, and as much was delivered as a step may add. Then the queue grows by no
 * more than the deliveries, and each replay and resync has an end. */
static inline bool kin__listener_replay_is_due(const kin_listener *listener) {
  return kin__listener_can_replay(listener) &&
         (kin__listener_queue_count(&listener->queue) < KIN__REPLAY_BELOW ||
          listener->walk_credit == KIN__REPLAY_SLOTS);
}

/* Queues the objects of the next slots. Returns the number of slots visited, at
 * most KIN__REPLAY_SLOTS and one slice. Pauses for a while without memory. */
uint32_t kin__listener_replay(kin_listener *listener);

#endif /* KIN_DISPATCH_LISTENER_REPLAY_H */
