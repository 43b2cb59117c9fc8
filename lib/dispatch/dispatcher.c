/* SPDX-License-Identifier: MIT */
#include "dispatch/dispatcher.h"

#include <assert.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/str.h"
#include "dispatch/filter.h"
#include "dispatch/listener.h"
#include "object/object.h"

/* At most this many listeners are told within the call that sends a change. */
#define LISTENERS_AT_ONCE 64u
#define LISTENERS_PER_STEP 1024u

static kin_listener *listener_of(kin__link *node) {
  return KIN__CONTAINER_OF(node, kin_listener, node);
}

/* A walk calls no code of the program but filters, which are pure. So the list
 * cannot change. */
#define FOR_EACH(node, dispatcher)                                             \
  for (kin__link *node = (dispatcher)->listeners.next;                         \
       node != &(dispatcher)->listeners; node = node->next)

static kin__slice begin_slice(const kin__dispatcher *dispatcher) {
  return kin__slice_begin_small(dispatcher->sched, LISTENERS_PER_STEP);
}

void kin__dispatcher_init(kin__dispatcher *dispatcher) {
  kin__link_init(&dispatcher->listeners);
  kin__link_init(&dispatcher->change_watches);
  kin__link_init(&dispatcher->sync_watches);
  dispatcher->has_synced = false;
  dispatcher->is_closed = false;
}

/* `cached` is borrowed from the sender. */
static void hold(const kin__notification *notification) {
  kin__notification_ref(notification);
  if (notification->type == KIN_EVENT_DELETE) {
    kin__object_ref(notification->cached);
  }
}

static void let_go(const kin__notification *notification,
                   const kin_allocator *allocator) {
  if (notification->type == KIN_EVENT_DELETE) {
    kin__object_unref(notification->cached);
  }
  kin__notification_unref(notification, allocator);
}

static void tell_waiting(kin__dispatcher *dispatcher) {
  int result = dispatcher->has_synced ? 0 : KIN_ECLOSED;
  kin__sync_watches_tell(&dispatcher->sync_watches, result);
}

static void drop_in_hand(kin__dispatcher *dispatcher) {
  if (kin__dispatcher_is_sending(dispatcher)) {
    kin__change *change = &dispatcher->walk->in_hand;
    for (unsigned i = 0; i < change->count; i++) {
      let_go(&change->notifications[i], dispatcher->allocator);
    }
    change->count = 0;
  }
}

/* Empties a listener in steps; then only its struct is left. Returns whether
 * there is more to drop. */
static bool empty_step(kin_listener *listener) {
  if (!listener->is_closed) {
    kin__listener_shut(listener);
  }
  kin__sched_cancel(listener->dispatcher->sched, &listener->task);
  kin__listener_queue_clear_step(&listener->queue, 1);
  if (!kin__listener_queue_is_empty(&listener->queue) ||
      kin__listener_queue_trim_step(&listener->queue) || listener->is_running) {
    return true;
  }
  kin__listener_queue_finish(&listener->queue);
  return false;
}

bool kin__dispatcher_close_step(kin__dispatcher *dispatcher, size_t count) {
  if (!dispatcher->is_closed) {
    dispatcher->is_closed = true;
    drop_in_hand(dispatcher);
    tell_waiting(dispatcher);
    dispatcher->emptying = dispatcher->listeners.next;
  }
  for (; count > 0 && dispatcher->emptying != &dispatcher->listeners; count--) {
    if (!empty_step(listener_of(dispatcher->emptying))) {
      dispatcher->emptying = dispatcher->emptying->next;
    }
  }
  return dispatcher->emptying != &dispatcher->listeners;
}

static bool free_first(kin__dispatcher *dispatcher) {
  if (!kin__link_is_empty(&dispatcher->listeners)) {
    kin__listener_free(listener_of(dispatcher->listeners.next));
  }
  return !kin__link_is_empty(&dispatcher->listeners);
}

bool kin__dispatcher_finish_step(kin__dispatcher *dispatcher) {
  kin__slice slice = begin_slice(dispatcher);
  bool has_more = true;
  while (has_more && kin__slice_next(&slice)) {
    has_more = free_first(dispatcher);
  }
  return has_more;
}

void kin__dispatcher_finish(kin__dispatcher *dispatcher) {
  while (free_first(dispatcher)) {
  }
  kin__small_histogram_finish(&dispatcher->handler_us, dispatcher->allocator);
  kin__free(dispatcher->allocator, dispatcher->walk);
  dispatcher->walk = NULL;
}

int kin__dispatcher_add(kin__dispatcher *dispatcher,
                        const kin_listener_options *options,
                        kin_listener **out) {
  kin_listener_options copy;
  int err = kin__options_take(&copy, sizeof copy, options,
                              KIN__FIRST_SIZE(kin_listener_options),
                              "kin_listener_options", dispatcher->log);
  if (err == 0 && dispatcher->is_closed) {
    err = KIN_ECLOSED;
  }
  kin_listener *listener = NULL;
  if (err == 0) {
    err = kin__listener_new(&listener, dispatcher, &copy);
  }
  if (out != NULL) {
    *out = listener;
  }
  return err;
}

/* --- Reserving ------------------------------------------------------------ */

static bool is_at_once(const kin__dispatcher *dispatcher) {
  return dispatcher->listener_count <= LISTENERS_AT_ONCE &&
         dispatcher->listener_count <= dispatcher->sched->max_pieces;
}

static int reserve_for(kin_listener *listener) {
  return listener->is_closed ? 0
                             : kin__listener_queue_reserve(&listener->queue);
}

static int reserve_all(kin__dispatcher *dispatcher) {
  int err = 0;
  for (kin__link *node = dispatcher->listeners.next;
       err == 0 && node != &dispatcher->listeners; node = node->next) {
    err = reserve_for(listener_of(node));
  }
  return err;
}

static int reserve_some(kin__dispatcher *dispatcher, kin__slice *slice) {
  kin__dispatcher_walk *walk = dispatcher->walk;
  kin__link *node =
      walk->reserving != NULL ? walk->reserving : dispatcher->listeners.next;
  int err = 0;
  for (; node != &dispatcher->listeners; node = node->next) {
    err = kin__slice_next(slice) ? reserve_for(listener_of(node)) : KIN__MORE;
    if (err != 0) {
      walk->reserving = node;
      return err;
    }
  }
  walk->reserving = NULL;
  return 0;
}

static int have_walk(kin__dispatcher *dispatcher) {
  if (dispatcher->walk == NULL) {
    dispatcher->walk =
        kin__calloc(dispatcher->allocator, 1, sizeof *dispatcher->walk);
  }
  return dispatcher->walk != NULL ? 0 : KIN_ENOMEM;
}

static int tell_some(kin__dispatcher *dispatcher, kin__slice *slice);

int kin__dispatcher_reserve(kin__dispatcher *dispatcher) {
  if (is_at_once(dispatcher) && !kin__dispatcher_is_sending(dispatcher)) {
    return reserve_all(dispatcher);
  }
  kin__slice slice = begin_slice(dispatcher);
  int err = have_walk(dispatcher);
  if (err == 0) {
    err = tell_some(dispatcher, &slice);
  }
  return err == 0 ? reserve_some(dispatcher, &slice) : err;
}

/* --- Telling -------------------------------------------------------------- */

/* A key's hash, computed at first use. */
typedef struct key_hash {
  uint32_t hash;
  bool is_known;
} key_hash;

/* A listener under replay gets no marker: it gets synced when its replay
 * ends. */
static bool is_left_to_replay(const kin_listener *listener, uint32_t slot) {
  return slot >= listener->replay &&
         (slot < listener->walk_end || slot == KIN__MARKER_SLOT);
}

static bool is_concerned(const kin_listener *listener,
                         const kin__change *change) {
  if (listener->is_closed || is_left_to_replay(listener, change->slot)) {
    return false;
  }
  switch (change->audience) {
  case KIN__AUDIENCE_RELIST_UPDATES:
    return listener->is_relist_updates;
  case KIN__AUDIENCE_FILTERS:
  case KIN__AUDIENCE_FILTERS_AND_WATCHES:
    return listener->filter != NULL;
  default:
    return true;
  }
}

/* The notification must have been reserved. */
static inline void tell(kin_listener *listener,
                        const kin__notification *notification,
                        kin__audience audience, key_hash *key) {
  const kin__dispatcher *dispatcher = listener->dispatcher;
  kin__notification seen;
  const kin__notification *sent = notification;
  if (listener->filter != NULL) {
    if (!kin__filter_apply(listener->filter, listener->data, notification,
                           &seen) ||
        (audience >= KIN__AUDIENCE_FILTERS && seen.type == KIN_EVENT_UPDATE)) {
      return;
    }
    sent = &seen;
  }
  if (!key->is_known && !kin__notification_is_marker(notification) &&
      kin__listener_queue_is_coalescing(&listener->queue)) {
    key->hash = kin__hash(&dispatcher->store->seed,
                          kin_object_key(notification->object));
    key->is_known = true;
  }
  kin__listener_push(listener, sent, key->hash);
}

static inline void tell_change(kin_listener *listener,
                               const kin__change *change, key_hash *key) {
  if (is_concerned(listener, change)) {
    for (unsigned i = 0; i < change->count; i++) {
      tell(listener, &change->notifications[i], change->audience, key);
    }
  }
}

/* Watches for synced are told when synced is queued everywhere. */
static void end_change(kin__dispatcher *dispatcher, uint8_t type) {
  if (type == KIN_EVENT_SYNCED) {
    tell_waiting(dispatcher);
  }
}

static bool is_told_to_all(const kin__dispatcher *dispatcher) {
  const kin__dispatcher_walk *walk = dispatcher->walk;
  return walk->telling == &dispatcher->listeners ||
         listener_of(walk->telling)->number >= walk->telling_end;
}

/* Goes on with the change in hand. Each listener told is woken, because its
 * replay or resync may have waited for the change. */
static int tell_some(kin__dispatcher *dispatcher, kin__slice *slice) {
  if (!kin__dispatcher_is_sending(dispatcher)) {
    return 0;
  }
  key_hash key = {0};
  kin__dispatcher_walk *walk = dispatcher->walk;
  while (!is_told_to_all(dispatcher)) {
    kin_listener *listener = listener_of(walk->telling);
    int err = kin__slice_next(slice) ? reserve_for(listener) : KIN__MORE;
    if (err != 0) {
      return err;
    }
    walk->telling = walk->telling->next;
    tell_change(listener, &walk->in_hand, &key);
    kin__listener_wake(listener);
  }
  drop_in_hand(dispatcher);
  end_change(dispatcher, walk->in_hand.notifications[0].type);
  return 0;
}

int kin__dispatcher_continue(kin__dispatcher *dispatcher) {
  if (!kin__dispatcher_is_sending(dispatcher)) {
    return 0;
  }
  kin__slice slice = begin_slice(dispatcher);
  return tell_some(dispatcher, &slice);
}

static void take_in_hand(kin__dispatcher *dispatcher,
                         const kin__change *change) {
  kin__dispatcher_walk *walk = dispatcher->walk;
  walk->in_hand = *change;
  walk->telling = dispatcher->listeners.next;
  walk->telling_end = dispatcher->next_number;
  for (unsigned i = 0; i < change->count; i++) {
    hold(&change->notifications[i]);
  }
  if (dispatcher->driver != NULL) {
    kin__sched_add(dispatcher->sched, dispatcher->driver);
  }
}

/* Dropped bodies are no change: a watch that kept them would keep the memory
 * that has to be freed. */
static void tell_change_watches(kin__dispatcher *dispatcher,
                                const kin__change *change) {
  if (change->audience == KIN__AUDIENCE_FILTERS) {
    return;
  }
  for (kin__link *node = dispatcher->change_watches.next;
       node != &dispatcher->change_watches; node = node->next) {
    kin__change_watch *watch = KIN__CONTAINER_OF(node, kin__change_watch, node);
    for (unsigned i = 0; i < change->count; i++) {
      watch->changed(watch, &change->notifications[i]);
    }
  }
}

void kin__dispatcher_send(kin__dispatcher *dispatcher,
                          const kin__change *change) {
  assert(!kin__dispatcher_is_sending(dispatcher));
  if (dispatcher->is_closed) {
    return;
  }
  tell_change_watches(dispatcher, change);
  if (!is_at_once(dispatcher)) {
    take_in_hand(dispatcher, change);
    return;
  }
  key_hash key = {0};
  FOR_EACH(node, dispatcher) {
    tell_change(listener_of(node), change, &key);
  }
  end_change(dispatcher, change->notifications[0].type);
}

bool kin__dispatcher_is_ahead(const kin__dispatcher *dispatcher,
                              const kin_listener *listener) {
  return kin__dispatcher_is_sending(dispatcher) &&
         !is_told_to_all(dispatcher) &&
         listener->number >= listener_of(dispatcher->walk->telling)->number &&
         listener->number < dispatcher->walk->telling_end;
}

/* --- Markers -------------------------------------------------------------- */

kin__marker *kin__dispatcher_synced_marker(const kin__dispatcher *dispatcher) {
  kin_str version = dispatcher->synced_version != NULL
                        ? dispatcher->synced_version(dispatcher->ctx)
                        : kin__str(NULL, 0);
  return kin__marker_new(dispatcher->allocator, kin__str(NULL, 0), version,
                         kin_store_count(dispatcher->store));
}

/* Takes over the reference. */
static void send_marker(kin__dispatcher *dispatcher, kin__marker *marker,
                        kin_event_type type) {
  const kin__change change = {
      .slot = KIN__MARKER_SLOT,
      .count = 1,
      .notifications = {{.marker = marker, .type = (uint8_t)type}}};
  kin__dispatcher_send(dispatcher, &change);
  kin__marker_unref(marker, dispatcher->allocator);
}

int kin__dispatcher_synced(kin__dispatcher *dispatcher) {
  if (dispatcher->has_synced) {
    return 0;
  }
  int err = kin__dispatcher_reserve(dispatcher);
  if (err != 0) {
    return err;
  }
  kin__marker *marker = kin__dispatcher_synced_marker(dispatcher);
  if (marker == NULL) {
    return KIN_ENOMEM;
  }
  dispatcher->has_synced = true;
  send_marker(dispatcher, marker, KIN_EVENT_SYNCED);
  return 0;
}

int kin__dispatcher_relisted(kin__dispatcher *dispatcher, kin_str namespace_,
                             kin_str version, size_t objects) {
  if (!dispatcher->has_synced) {
    return 0;
  }
  int err = kin__dispatcher_reserve(dispatcher);
  if (err != 0) {
    return err;
  }
  kin__marker *marker =
      kin__marker_new(dispatcher->allocator, namespace_, version, objects);
  if (marker == NULL) {
    return KIN_ENOMEM;
  }
  send_marker(dispatcher, marker, KIN_EVENT_RELISTED);
  return 0;
}
