/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISPATCH_DISPATCHER_H
#define KIN_DISPATCH_DISPATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/handler.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/histogram.h"
#include "base/link.h"
#include "base/log.h"
#include "base/sched.h"
#include "base/timers.h"
#include "dispatch/notification.h"
#include "dispatch/sync_watch.h"
#include "store/store.h"

/* The listeners that a change concerns. */
typedef enum kin__audience {
  KIN__AUDIENCE_ALL,
  KIN__AUDIENCE_RELIST_UPDATES, /* only those that asked for relist_updates */
  KIN__AUDIENCE_FILTERS, /* only those whose filter makes an add or a delete of
                          * it; change watches hear nothing */
  KIN__AUDIENCE_FILTERS_AND_WATCHES /* the same, and change watches */
} kin__audience;

/* The notifications of one object's change, or of a marker, for each
 * listener. */
typedef struct kin__change {
  uint32_t slot; /* the object's slot; of a marker: KIN__MARKER_SLOT */
  kin__audience audience;
  unsigned count; /* of notifications, in this order */
  kin__notification notifications[2];
} kin__change;

/* Is told of each change of an object, but of no dropped body, within the call
 * that sends the change, when the store has it and before any listener. Calls
 * no code of the program but index functions. */
typedef struct kin__change_watch {
  kin__link node; /* in the dispatcher's change_watches */
  void (*changed)(struct kin__change_watch *watch,
                  const kin__notification *notification);
} kin__change_watch;

/* Greater than every object's slot, so a listener under replay gets no
 * marker. */
#define KIN__MARKER_SLOT (KIN__NO_SLOT - 1)

/* A part of the work is done; call again. */
#define KIN__MORE 1

/* The walk over many listeners. */
typedef struct kin__dispatcher_walk {
  kin__link *reserving; /* next listener to reserve for; NULL: the first */
  kin__change in_hand;  /* count 0: none; holds its own references */
  kin__link *telling;   /* next listener to be told */
  uint64_t telling_end; /* listeners from this number on joined later */
} kin__dispatcher_walk;

/* Sends changes of a store to all listeners. Each listener has its own queue
 * and scheduler task. No code of the program runs inside a call here, except
 * filters and the listeners' task steps.
 *
 * A change has two phases. kin__dispatcher_reserve makes sure that its
 * notifications fit everywhere. Then the store is changed, and
 * kin__dispatcher_send cannot fail. So a change is either seen by all, or not
 * made yet.
 *
 * Few listeners are told within the call. With more listeners a walk tells them
 * in steps. Until the walk ends the change is *in hand*:
 *
 * - No other change or marker is sent before: reserving first goes on with the
 *   walk. So every listener sees changes in the order of the store.
 * - A listener that the walk has not reached is *ahead*. Its queue is
 *   delivered, but its replay and resync wait: both show the store, which
 *   already has the change.
 * - Listeners are numbered in the order of the list. A listener that joins
 *   during the walk is behind the walk's end: its replay shows the change, or
 *   it joined after the change.
 * - A replay, a pause or a trim may use up or return what was reserved. So the
 *   walk reserves again. Without memory it waits where it is. */
typedef struct kin__dispatcher {
  const kin_allocator *allocator;
  kin_store *store;
  kin__sched *sched;
  kin__timers *timers;
  const kin__clock *clock;
  struct kin_informer *informer; /* passed to callbacks, never read */
  kin__link listeners;
  kin__link change_watches;
  kin__link sync_watches;     /* told when synced is queued everywhere, or at
                               * the close */
  uint32_t default_resync_ms; /* 0: none */
  bool has_synced;            /* kin__dispatcher_synced was called */
  bool is_closed;             /* no more callbacks */
  uint32_t listener_count;    /* including closed ones that are not freed */
  uint32_t relist_updates;    /* open listeners that asked for relist_updates */
  uint64_t next_number;       /* of the next listener */
  kin__dispatcher_walk *walk; /* NULL: there were never many listeners */
  kin__task *driver;          /* scheduled when a change stays in hand, to call
                               * kin__dispatcher_continue; may be NULL */
  kin__link *emptying;        /* at the close: listener whose queue is being
                               * emptied */
  uint64_t *handler_ns;       /* time spent in handlers is added here */
  uint64_t delivered;         /* these three: as in kin_informer_metrics */
  uint64_t coalesced;
  kin__small_histogram handler_us;
  const kin__log *log; /* NULL: none */
  /* Version of the last applied list, for a synced marker. NULL: no version. */
  kin_str (*synced_version)(void *ctx);
  void *ctx;
} kin__dispatcher;

/* Initializes the lists and the two flags. The caller sets the other members,
 * before or after. */
void kin__dispatcher_init(kin__dispatcher *dispatcher);

/* Ends all listeners and drops their pending notifications: up to `count` of
 * them, where an empty queue counts as one. Returns whether work is left. No
 * callback comes after the first call, although listeners are shut one by one.
 * Allowed inside a callback; then work is left until the callback returns.
 * Afterwards listeners do nothing, but their handles stay valid. */
bool kin__dispatcher_close_step(kin__dispatcher *dispatcher, size_t count);

/* After close_step has returned false: frees listeners for one slice and
 * returns whether there are more. Call only when the program may no longer use
 * the handles: from just before the informer's close callback. */
bool kin__dispatcher_finish_step(kin__dispatcher *dispatcher);
/* Frees all listeners at once; O(listeners). */
void kin__dispatcher_finish(kin__dispatcher *dispatcher);

/* Adds a listener. `out` may be NULL; *out is NULL on an error. If the store
 * has objects, the listener replays them: a cursor fills its queue while the
 * queue is short. Changes from the cursor to the replay's end are not sent,
 * because the replay will show them. The end is the store's at the call, so the
 * replay ends although a handler adds objects. Errors: KIN_EINVAL, KIN_ENOTSUP,
 * KIN_ECLOSED (after the first close_step), KIN_ENOMEM. */
int kin__dispatcher_add(kin__dispatcher *dispatcher,
                        const kin_listener_options *options,
                        kin_listener **out);

/* Reserves memory for one change (up to two notifications for each listener),
 * after the change in hand. Returns 0, KIN__MORE, or KIN_ENOMEM with nothing
 * changed. After 0 the change must follow at once. */
int kin__dispatcher_reserve(kin__dispatcher *dispatcher);

/* Tells every listener that wants the change. Takes references of its own. Must
 * follow a reserve. */
void kin__dispatcher_send(kin__dispatcher *dispatcher,
                          const kin__change *change);

/* Whether a change is in hand. */
static inline bool
kin__dispatcher_is_sending(const kin__dispatcher *dispatcher) {
  return dispatcher->walk != NULL && dispatcher->walk->in_hand.count > 0;
}

/* Goes on with the change in hand for one slice. Returns 0 when no change is in
 * hand, KIN__MORE, or KIN_ENOMEM: try again later. */
int kin__dispatcher_continue(kin__dispatcher *dispatcher);

/* Whether a change is in hand that has not reached the listener yet. */
bool kin__dispatcher_is_ahead(const kin__dispatcher *dispatcher,
                              const kin_listener *listener);

/* Whether any open listener asked for relist_updates. */
static inline bool
kin__dispatcher_wants_unchanged(const kin__dispatcher *dispatcher) {
  return dispatcher->relist_updates > 0;
}

/* The informer has synced: each listener gets synced after its queued
 * notifications, or after its replay. Has an effect once. Returns 0, KIN__MORE
 * or KIN_ENOMEM as kin__dispatcher_reserve; unless 0, call again. */
int kin__dispatcher_synced(kin__dispatcher *dispatcher);

/* The marker of a synced that is queued now; one reference. NULL if out of
 * memory. */
kin__marker *kin__dispatcher_synced_marker(const kin__dispatcher *dispatcher);

/* A later list of a scope was applied. A listener hears of it only after its
 * own synced: not before the informer has synced (the first lists of all
 * scopes), and not during its replay. Returns as kin__dispatcher_synced. */
int kin__dispatcher_relisted(kin__dispatcher *dispatcher, kin_str namespace_,
                             kin_str version, size_t objects);

#endif /* KIN_DISPATCH_DISPATCHER_H */
