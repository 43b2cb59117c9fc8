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
 * kin_listener_close, or, if its dispatcher is closed, to
 * kin__dispatcher_finish: until then the user may hold the handle. */
struct kin_listener {
  kin__link node; /* in dispatcher->listeners */
  kin__dispatcher *dispatcher;
  uint64_t number; /* ascends in the list */
  kin__listener_queue queue;

  /* The next slot to be replayed, KIN__NO_SLOT when the replay is over: the
   * listener knows the slots below it and no other. */
  uint32_t replay;
  bool is_closed;  /* no callback any more */
  bool is_running; /* its step is on the stack */
  bool is_relist_updates;
  bool is_synced_queued; /* synced was pushed */
  bool has_synced;       /* synced was delivered */
  kin__link sync_watches;

  kin__task task;
  kin_event_cb callbacks[KIN_EVENT_RELISTED + 1]; /* by event type */
  kin_filter_cb filter;                           /* NULL: everything */
  void *data;
  size_t shown; /* adds delivered minus deletes delivered */

  uint32_t resync_ms;  /* 0: none */
  uint32_t resync;     /* the next slot, KIN__NO_SLOT if none is running */
  uint32_t resync_end; /* slots at or beyond came after it had begun */
  kin__timer resync_timer;
  kin__timer retry_timer; /* runs while a feed waits for memory */

  uint64_t quiet_until_ns; /* it was logged as slow, and is not before this */
  char name[];
};

/* Makes a listener from complete options, at the end of the dispatcher's list.
 * Errors: KIN_EINVAL (name), KIN_ENOMEM. */
int kin__listener_new(kin_listener **out, kin__dispatcher *dispatcher,
                      const kin_listener_options *options);

/* Ends callbacks and timers; what is queued stays. May be called again. */
void kin__listener_shut(kin_listener *listener);

/* Frees a listener that is shut and not running. O(queued), so empty the queue
 * first. */
void kin__listener_free(kin_listener *listener);

/* Queues a notification, which kin__listener_queue_reserve must have covered,
 * and schedules its delivery. `hash` as for kin__listener_queue_push. */
void kin__listener_push(kin_listener *listener,
                        const kin__notification *notification, uint32_t hash);

/* Queues synced, which will say what the marker says. Must have been
 * reserved. */
void kin__listener_push_synced(kin_listener *listener, kin__marker *marker);

/* Schedules the step if it has something to do. */
void kin__listener_wake(kin_listener *listener);

#endif /* KIN_DISPATCH_LISTENER_H */
