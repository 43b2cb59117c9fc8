/* SPDX-License-Identifier: MIT */
#include "dispatch/listener_replay.h"

#include <kin/error.h>

static uint64_t now_ms(const kin_listener *listener) {
  return kin__clock_ms(listener->dispatcher->clock);
}

static uint32_t slots_limit(const kin_listener *listener) {
  return kin__slots_limit(&listener->dispatcher->store->slots);
}

/* A period that ends before synced is queued, or during a resync, begins no
 * resync: every object is on its way already. */
static void begin_resync(kin_listener *listener, uint64_t now) {
  listener->resync_due_ms = now + listener->resync_ms;
  if (listener->is_synced_queued && listener->resync == KIN__NO_SLOT) {
    listener->resync = 0;
    listener->walk_end = slots_limit(listener);
  }
}

/* Starts the timer for `due_ms` or the resync, whichever is earlier. */
static void start_timer(kin_listener *listener, uint64_t due_ms) {
  uint64_t resync_ms = listener->resync_due_ms;
  kin__timer_start(listener->dispatcher->timers, &listener->timer,
                   due_ms < resync_ms ? due_ms : resync_ms);
}

static void on_due(kin__timer *timer) {
  kin_listener *listener = KIN__CONTAINER_OF(timer, kin_listener, timer);
  listener->lacks_memory = false;
  uint64_t now = now_ms(listener);
  if (now >= listener->resync_due_ms) {
    begin_resync(listener, now);
  }
  if (listener->resync_due_ms != UINT64_MAX) {
    start_timer(listener, UINT64_MAX);
  }
  kin__listener_wake(listener);
}

static void try_later(kin_listener *listener) {
  listener->lacks_memory = true;
  start_timer(listener, now_ms(listener) + KIN__MEMORY_RETRY_MS);
}

static bool reserve(kin_listener *listener) {
  if (kin__listener_queue_reserve(&listener->queue) == 0) {
    return true;
  }
  try_later(listener);
  return false;
}

/* Queues synced behind the queued notifications. Errors: KIN_ENOMEM, nothing
 * changed. */
static int push_synced(kin_listener *listener) {
  const kin__dispatcher *dispatcher = listener->dispatcher;
  int err = kin__listener_queue_reserve(&listener->queue);
  if (err != 0) {
    return err;
  }
  kin__marker *marker = kin__dispatcher_synced_marker(dispatcher);
  if (marker == NULL) {
    return KIN_ENOMEM;
  }
  const kin__notification synced = {.marker = marker, .type = KIN_EVENT_SYNCED};
  kin__listener_push(listener, &synced, 0);
  kin__marker_unref(marker, dispatcher->allocator);
  return 0;
}

int kin__listener_replay_start(kin_listener *listener) {
  kin__dispatcher *dispatcher = listener->dispatcher;
  kin__timer_init(&listener->timer, on_due);
  listener->resync_due_ms = UINT64_MAX;
  listener->resync = KIN__NO_SLOT;
  listener->replay = KIN__NO_SLOT;
  if (slots_limit(listener) > 0 &&
      kin__listener_queue_wants(&listener->queue, KIN_EVENT_ADD)) {
    listener->replay = 0;
    listener->walk_end = slots_limit(listener);
  } else if (dispatcher->has_synced) {
    int err = push_synced(listener);
    if (err != 0) {
      return err;
    }
  }
  if (listener->resync_ms > 0 &&
      kin__listener_queue_wants(&listener->queue, KIN_EVENT_UPDATE)) {
    listener->resync_due_ms = now_ms(listener) + listener->resync_ms;
    start_timer(listener, UINT64_MAX);
  }
  return 0;
}

/* The store may have fewer slots than when the walk began. */
static uint32_t end_of_walk(const kin_listener *listener) {
  uint32_t limit = slots_limit(listener);
  return listener->walk_end < limit ? listener->walk_end : limit;
}

static void use_credit(kin_listener *listener, uint32_t deliveries) {
  listener->walk_credit -=
      (uint8_t)(deliveries < listener->walk_credit ? deliveries
                                                   : listener->walk_credit);
}

/* Queues one notification for each object in the slots from *cursor on. Slots
 * without one cost no deliveries, also if the filter refuses nearly all. */
static uint32_t walk(kin_listener *listener, uint32_t *cursor,
                     kin_event_type type) {
  kin__dispatcher *dispatcher = listener->dispatcher;
  uint32_t first = *cursor;
  uint32_t end = end_of_walk(listener);
  uint32_t cost = type == KIN_EVENT_UPDATE ? KIN__RESYNC_DELIVERIES : 1;
  bool is_short =
      kin__listener_queue_count(&listener->queue) < KIN__REPLAY_BELOW;
  kin__slice slice = kin__slice_begin_small(
      dispatcher->sched, KIN__REPLAY_SLOTS / (is_short ? 1 : cost));
  for (; *cursor < end && kin__slice_next(&slice); ++*cursor) {
    kin_object *object = kin__store_at(dispatcher->store, *cursor)->object;
    if (object == NULL || (listener->filter != NULL &&
                           !listener->filter(object, listener->data))) {
      continue;
    }
    if (!reserve(listener)) {
      break;
    }
    kin__notification notification = {.object = object, .type = (uint8_t)type};
    if (type == KIN_EVENT_UPDATE) {
      notification.old_object = object;
      notification.is_resync = true;
    } else {
      notification.is_initial = true;
    }
    uint32_t hash =
        kin__listener_queue_is_coalescing(&listener->queue)
            ? kin__hash(&dispatcher->store->seed, kin_object_key(object))
            : 0;
    kin__listener_queue_push(&listener->queue, &notification, hash);
    use_credit(listener, cost);
  }
  return *cursor - first;
}

static uint32_t replay(kin_listener *listener) {
  uint32_t visited = walk(listener, &listener->replay, KIN_EVENT_ADD);
  if (listener->replay >= end_of_walk(listener)) {
    /* The replay is over, unless synced is due and does not fit: then the step
     * is repeated. */
    if (!listener->dispatcher->has_synced || push_synced(listener) == 0) {
      listener->replay = KIN__NO_SLOT;
    } else {
      try_later(listener);
    }
  }
  return visited;
}

static uint32_t resync(kin_listener *listener) {
  uint32_t visited = walk(listener, &listener->resync, KIN_EVENT_UPDATE);
  if (listener->resync >= end_of_walk(listener)) {
    listener->resync = KIN__NO_SLOT;
  }
  return visited;
}

uint32_t kin__listener_replay(kin_listener *listener) {
  if (listener->replay != KIN__NO_SLOT) {
    return replay(listener);
  }
  return listener->resync != KIN__NO_SLOT ? resync(listener) : 0;
}
