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

/* Fans changes of a store out to listeners, each with a queue and a scheduler
 * task of its own. No user code runs inside any call here except
 * kin__listener's task step.
 *
 * Two-phase: kin__dispatcher_reserve makes sure that the notifications of one
 * change fit everywhere, then the store is changed, then kin__dispatcher_send
 * cannot fail. So a change is either seen by all or not made yet. */
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
  kin__link *warming;   /* the listener that is warmed next; NULL: the first */
  unsigned warmed;      /* changes for which all listeners are warm */
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
 * whether work is left. From the first call on no callback comes. Legal inside
 * a callback, but work is left until that has returned. Afterwards listeners do
 * nothing, but their handles stay valid. */
bool kin__dispatcher_close_step(kin__dispatcher *dispatcher, size_t count);

/* Frees the listeners, O(listeners); after close_step has returned false. To be
 * called when users may no longer use their handles, that is immediately before
 * the informer's close callback. */
void kin__dispatcher_finish(kin__dispatcher *dispatcher);

/* Errors: KIN_EINVAL, KIN_ENOTSUP, KIN_ECLOSED (after the first close_step),
 * KIN_ENOMEM; *out is NULL then. out may be NULL. A listener that is added
 * after objects are in the store replays them: a cursor feeds its queue while
 * that is short; changes to slots at or beyond the cursor are not sent to it,
 * because the replay will show them. */
int kin__dispatcher_add(kin__dispatcher *dispatcher,
                        const kin_listener_options *options,
                        kin_listener **out);

/* To be called before each change, until it returns true: what follows makes
 * room in every listener's queue at once, and thousands of allocations are more
 * than one step may do. So they are done ahead here, some in each step. */
bool kin__dispatcher_warm(kin__dispatcher *dispatcher);

/* Makes room for one change (up to two notifications for each listener).
 * Errors: KIN_ENOMEM. */
int kin__dispatcher_reserve(kin__dispatcher *dispatcher);

/* Whom a change concerns. */
typedef enum kin__audience {
  KIN__AUDIENCE_ALL,
  KIN__AUDIENCE_RELIST_UPDATES /* listeners that asked for relist_updates */
} kin__audience;

/* Queues one notification for every listener that wants it; `slot` is where the
 * object is or was. Objects are referenced, not taken. Must follow a
 * reserve. */
void kin__dispatcher_send(kin__dispatcher *dispatcher, uint32_t slot,
                          kin__audience audience,
                          const kin__notification *notification);

/* Whether anybody asked for relist_updates. */
bool kin__dispatcher_wants_unchanged(const kin__dispatcher *dispatcher);

/* The informer has synced: each listener gets synced after what is queued (or
 * after its replay). Once. Errors: KIN_ENOMEM, nothing changed; call again. */
int kin__dispatcher_synced(kin__dispatcher *dispatcher);

/* What a synced that is queued now will say; one reference. NULL if out of
 * memory. */
kin__marker *kin__dispatcher_synced_marker(const kin__dispatcher *dispatcher);

/* A later list of a scope has been applied. Whose synced is still to come hears
 * nothing of it: nobody before the informer has synced, which takes the first
 * lists of all its scopes, and no listener whose replay has not ended. Errors
 * as above. */
int kin__dispatcher_relisted(kin__dispatcher *dispatcher, kin_str namespace_,
                             kin_str version, size_t objects);

#endif /* KIN_DISPATCH_DISPATCHER_H */
