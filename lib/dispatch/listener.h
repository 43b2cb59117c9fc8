/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_LISTENER_H
#define KIN_DISPATCH_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/handler.h>

#include "base/link.h"
#include "base/sched.h"
#include "base/timers.h"
#include "dispatch/dispatcher.h"
#include "dispatch/listener_queue.h"

/* One registration. It lives from kin__listener_new to its own step after
 * kin_listener_close. If its dispatcher closes, it lives until
 * kin__dispatcher_finish, because the program may hold the handle until
 * then. */
struct kin_listener {
  kin__link node; /* in dispatcher->listeners */
  kin__dispatcher *dispatcher;
  uint64_t number; /* ascends in the list */

  /* Next slot to replay; KIN__NO_SLOT: no replay. During a replay the listener
   * does not know the slots from here to walk_end. */
  uint32_t replay;
  uint32_t resync_ms; /* 0: none */
  uint32_t resync;    /* next slot to resync; KIN__NO_SLOT: no resync */
  uint32_t walk_end;  /* slots from here on were first used after the replay or
                       * the resync began; no resync runs during the replay */
  bool is_closed;     /* no more callbacks */
  bool is_running;    /* the step is on the stack */
  bool is_relist_updates;
  bool is_synced_queued; /* synced was pushed */
  bool has_synced;       /* synced was delivered */
  bool lacks_memory;     /* a replay or resync waits for it, until the timer is
                          * due */
  uint8_t walk_credit;   /* deliveries for which the replay or resync has
                          * queued nothing, up to KIN__REPLAY_SLOTS */
  kin_filter_cb filter;  /* NULL: everything */
  void *data;
  uint64_t resync_due_ms; /* UINT64_MAX: never */
  size_t shown;           /* adds delivered minus deletes delivered */

  kin__listener_queue queue;
  kin__task task;
  kin_event_cb callbacks[KIN_EVENT_RELISTED]; /* of the types from ADD on */
  kin__timer timer; /* the next resync; earlier, while a replay or resync waits
                     * for memory */
  kin__link sync_watches;
  uint64_t quiet_until_ns; /* no slow-handler log before this time */
  char name[];
};

/* Makes a listener from checked options, at the end of the dispatcher's list.
 * Errors: KIN_EINVAL (name), KIN_ENOMEM. */
int kin__listener_new(kin_listener **out, kin__dispatcher *dispatcher,
                      const kin_listener_options *options);

/* Ends callbacks and timers; queued notifications stay. May be called again. */
void kin__listener_shut(kin_listener *listener);

/* Frees a listener that is shut and not running. O(queued), so empty the queue
 * before. */
void kin__listener_free(kin_listener *listener);

/* Queues a notification and schedules its delivery. Must be covered by
 * kin__listener_queue_reserve. `hash` as for kin__listener_queue_push. */
void kin__listener_push(kin_listener *listener,
                        const kin__notification *notification, uint32_t hash);

/* Schedules the step if there is work. */
void kin__listener_wake(kin_listener *listener);

#endif /* KIN_DISPATCH_LISTENER_H */
