/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_DISPATCHER_H
#define KIN_DISPATCH_DISPATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/handler.h>
#include <kin/histogram.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/link.h"
#include "base/log.h"
#include "base/sched.h"
#include "base/timers.h"
#include "dispatch/notification.h"
#include "dispatch/sync_watch.h"
#include "store/store.h"

/* Whom a change concerns. */
typedef enum kin__audience {
  KIN__AUDIENCE_ALL,
  KIN__AUDIENCE_RELIST_UPDATES /* listeners that asked for relist_updates */
} kin__audience;

/* What a change of one object, or a marker, tells each listener. */
typedef struct kin__change {
  uint32_t slot; /* where the object is or was; of a marker: see
                  * KIN__MARKER_SLOT */
  kin__audience audience;
  unsigned count; /* of notifications, told in this order */
  kin__notification notifications[2];
} kin__change;

/* Beyond every object's, so no listener that is being replayed to is told. */
#define KIN__MARKER_SLOT (KIN__NO_SLOT - 1)

/* The call did a part of its work; call again. */
#define KIN__MORE 1

/* Fans changes of a store out to listeners, each with a queue and a scheduler
 * task of its own. No user code runs inside any call here except
 * kin__listener's task step.
 *
 * Two-phase: kin__dispatcher_reserve makes sure that the notifications of one
 * change fit everywhere, then the store is changed, then kin__dispatcher_send
 * cannot fail. So a change is either seen by all or not made yet.
 *
 * A few listeners are told within the call. More of them are walked over in
 * steps, and until the walk has ended the change is *in hand*:
 *
 * - No other change and no marker is sent before: reserving goes on with the
 *   walk first. So every listener sees changes in the order of the store.
 * - A listener that the walk has not come to is *ahead*. What is queued for it
 *   is delivered, but neither a replay nor a resync goes on: both show the
 *   store, which already has the change.
 * - Listeners are numbered in the order of the list. One that joins during the
 *   walk is behind its end: its replay shows the change, or it came after it.
 * - What was reserved may have been used up or given back meanwhile (a replay, a
 *   pause, a trim). So the walk reserves again, and without memory it waits
 *   where it is. */
typedef struct kin__dispatcher {
  const kin_allocator *allocator;
  kin_store *store;
  kin__sched *sched;
  kin__timers *timers;
  const kin__clock *clock;
  struct kin_informer *informer; /* passed to callbacks, never looked into */
  kin__hash_seed seed;
  kin__link listeners;
  kin__link sync_watches;     /* told by kin__dispatcher_synced, or by close */
  uint32_t default_resync_ms; /* 0: none */
  bool has_synced;            /* kin__dispatcher_synced was called */
  bool is_closed;             /* no callback any more */
  uint32_t listener_count;    /* closed ones, too, until they are freed */
  uint32_t relist_updates;    /* open ones that asked for them */
  uint64_t next_number;       /* of the next listener */
  kin__link *reserving;       /* the listener that is next; NULL: the first */
  kin__change in_hand;        /* count 0: none; its references are its own */
  kin__link *telling;         /* the listener that is told of it next */
  uint64_t telling_end;       /* listeners from this number on joined later */
  kin__task *driver;          /* scheduled when a change stays in hand: it calls
                               * kin__dispatcher_continue; may be NULL */
  kin__link *emptying;  /* the listener whose queue is next, once closed */
  uint64_t *handler_ns; /* time spent in handlers is added here */
  uint64_t delivered;   /* these three: see kin_informer_metrics */
  uint64_t coalesced;
  kin_histogram handler_us;
  const kin__log *log; /* NULL: none */
  /* Asked when synced is queued: the version of the list last applied. NULL:
   * none is told. */
  kin_str (*synced_version)(void *ctx);
  void *ctx;
} kin__dispatcher;

/* Sets the lists and the two flags; the other members are the caller's to set,
 * before or after. */
void kin__dispatcher_init(kin__dispatcher *dispatcher);

/* Ends all listeners; their pending notifications are dropped. Bounded: drops
 * up to `count` notifications, where an empty queue counts as one, and returns
 * whether work is left. From the first call on no callback comes, though the
 * listeners are shut one after the other. Legal inside a callback, but work is
 * left until that has returned. Afterwards listeners do nothing, but their
 * handles stay valid. */
bool kin__dispatcher_close_step(kin__dispatcher *dispatcher, size_t count);

/* Frees listeners for one slice, after close_step has returned false, and
 * returns whether there are more. To be called when users may no longer use
 * their handles, that is from immediately before the informer's close callback
 * on. */
bool kin__dispatcher_finish_step(kin__dispatcher *dispatcher);
/* The same at once, O(listeners). */
void kin__dispatcher_finish(kin__dispatcher *dispatcher);

/* Errors: KIN_EINVAL, KIN_ENOTSUP, KIN_ECLOSED (after the first close_step),
 * KIN_ENOMEM; *out is NULL then. out may be NULL. A listener that is added
 * after objects are in the store replays them: a cursor feeds its queue while
 * that is short; changes to slots at or beyond the cursor are not sent to it,
 * because the replay will show them. */
int kin__dispatcher_add(kin__dispatcher *dispatcher,
                        const kin_listener_options *options,
                        kin_listener **out);

/* Makes room for one change (up to two notifications for each listener), after
 * what is in hand. Returns 0 when there is, KIN__MORE, or KIN_ENOMEM; then
 * nothing has changed. Nothing else may run between 0 and the change. */
int kin__dispatcher_reserve(kin__dispatcher *dispatcher);

/* Tells every listener that wants it. Objects are referenced, not taken. Must
 * follow a reserve. */
void kin__dispatcher_send(kin__dispatcher *dispatcher,
                          const kin__change *change);

/* Whether a change is in hand. */
static inline bool
kin__dispatcher_is_sending(const kin__dispatcher *dispatcher) {
  return dispatcher->in_hand.count > 0;
}

/* Goes on with the change in hand, for one slice. Returns 0 when there is none
 * any more, KIN__MORE, or KIN_ENOMEM: try again later. */
int kin__dispatcher_continue(kin__dispatcher *dispatcher);

/* Whether the change in hand, if there is one, has yet to come to the
 * listener. */
bool kin__dispatcher_is_ahead(const kin__dispatcher *dispatcher,
                              const kin_listener *listener);

/* Whether anybody asked for relist_updates. */
static inline bool
kin__dispatcher_wants_unchanged(const kin__dispatcher *dispatcher) {
  return dispatcher->relist_updates > 0;
}

/* The informer has synced: each listener gets synced after what is queued (or
 * after its replay). Once. Returns KIN__MORE or KIN_ENOMEM as
 * kin__dispatcher_reserve does: nothing has changed; call again. */
int kin__dispatcher_synced(kin__dispatcher *dispatcher);

/* What a synced that is queued now will say; one reference. NULL if out of
 * memory. */
kin__marker *kin__dispatcher_synced_marker(const kin__dispatcher *dispatcher);

/* A later list of a scope has been applied. Whose synced is still to come hears
 * nothing of it: nobody before the informer has synced, which takes the first
 * lists of all its scopes, and no listener whose replay has not ended. Returns
 * as above. */
int kin__dispatcher_relisted(kin__dispatcher *dispatcher, kin_str namespace_,
                             kin_str version, size_t objects);

#endif /* KIN_DISPATCH_DISPATCHER_H */
