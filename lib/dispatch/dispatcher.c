/* SPDX-License-Identifier: MIT */
#include "dispatch/dispatcher.h"

#include <kin/error.h>

#include "base/options.h"
#include "base/str.h"
#include "dispatch/filter.h"
#include "dispatch/listener.h"

#define CHANGES_AHEAD 16u
#define WARMED_PER_STEP 1024u

static kin_listener *listener_of(kin__link *node) {
  return KIN__CONTAINER_OF(node, kin_listener, node);
}

/* No user code runs while the list is walked, so it cannot change. */
#define FOR_EACH(node, dispatcher)                                             \
  for (kin__link *node = (dispatcher)->listeners.next;                         \
       node != &(dispatcher)->listeners; node = node->next)

void kin__dispatcher_init(kin__dispatcher *dispatcher) {
  kin__link_init(&dispatcher->listeners);
  kin__link_init(&dispatcher->sync_watches);
  dispatcher->has_synced = false;
  dispatcher->is_closed = false;
}

bool kin__dispatcher_close_step(kin__dispatcher *dispatcher, size_t count) {
  if (!dispatcher->is_closed) {
    dispatcher->is_closed = true;
    kin__sync_watches_tell(&dispatcher->sync_watches, KIN_ECLOSED);
    FOR_EACH(node, dispatcher) {
      kin__listener_shut(listener_of(node));
      kin__sched_cancel(dispatcher->sched, &listener_of(node)->task);
    }
    dispatcher->emptying = dispatcher->listeners.next;
  }
  for (; count > 0 && dispatcher->emptying != &dispatcher->listeners; count--) {
    kin_listener *listener = listener_of(dispatcher->emptying);
    kin__listener_queue_clear_step(&listener->queue, 1);
    if (kin__listener_queue_is_empty(&listener->queue) &&
        !kin__listener_queue_trim_step(&listener->queue) &&
        !listener->is_running) {
      kin__listener_queue_finish(&listener->queue);
      dispatcher->emptying = dispatcher->emptying->next;
    }
  }
  return dispatcher->emptying != &dispatcher->listeners;
}

void kin__dispatcher_finish(kin__dispatcher *dispatcher) {
  while (!kin__link_is_empty(&dispatcher->listeners)) {
    kin__listener_free(listener_of(dispatcher->listeners.next));
  }
}

int kin__dispatcher_add(kin__dispatcher *dispatcher,
                        const kin_listener_options *options,
                        kin_listener **out) {
  kin_listener_options copy;
  int err = kin__options_take(&copy, sizeof copy, options, sizeof copy,
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

bool kin__dispatcher_warm(kin__dispatcher *dispatcher) {
  if (dispatcher->warmed > 0) {
    dispatcher->warmed--;
    return true;
  }
  kin__link *node = dispatcher->warming != NULL ? dispatcher->warming
                                                : dispatcher->listeners.next;
  kin__slice slice = kin__slice_begin_small(dispatcher->sched, WARMED_PER_STEP);
  for (; node != &dispatcher->listeners; node = node->next) {
    if (!kin__slice_next(&slice)) {
      dispatcher->warming = node;
      return false;
    }
    kin_listener *listener = listener_of(node);
    if (!listener->is_closed) {
      kin__listener_queue_warm(&listener->queue, CHANGES_AHEAD);
    }
  }
  dispatcher->warming = NULL;
  dispatcher->warmed = CHANGES_AHEAD - 1;
  return true;
}

int kin__dispatcher_reserve(kin__dispatcher *dispatcher) {
  FOR_EACH(node, dispatcher) {
    kin_listener *listener = listener_of(node);
    if (!listener->is_closed) {
      int err = kin__listener_queue_reserve(&listener->queue);
      if (err != 0) {
        return err;
      }
    }
  }
  return 0;
}

void kin__dispatcher_send(kin__dispatcher *dispatcher, uint32_t slot,
                          kin__audience audience,
                          const kin__notification *notification) {
  uint32_t hash = 0;
  bool has_hash = false;
  FOR_EACH(node, dispatcher) {
    kin_listener *listener = listener_of(node);
    if (listener->is_closed || slot >= listener->replay ||
        (audience == KIN__AUDIENCE_RELIST_UPDATES &&
         !listener->is_relist_updates)) {
      continue;
    }
    kin__notification seen;
    const kin__notification *sent = notification;
    if (listener->filter != NULL) {
      if (!kin__filter_apply(listener->filter, listener->data, notification,
                             &seen)) {
        continue;
      }
      sent = &seen;
    }
    if (!has_hash && kin__listener_queue_is_coalescing(&listener->queue)) {
      hash = kin__hash(&dispatcher->seed, kin_object_key(notification->object));
      has_hash = true;
    }
    kin__listener_push(listener, sent, hash);
  }
}

bool kin__dispatcher_wants_unchanged(const kin__dispatcher *dispatcher) {
  FOR_EACH(node, dispatcher) {
    const kin_listener *listener = listener_of(node);
    if (!listener->is_closed && listener->is_relist_updates) {
      return true;
    }
  }
  return false;
}

/* Who is still being replayed to gets synced when that ends. */
static bool takes_markers(const kin_listener *listener) {
  return !listener->is_closed && listener->replay == KIN__NO_SLOT;
}

kin__marker *kin__dispatcher_synced_marker(const kin__dispatcher *dispatcher) {
  kin_str version = dispatcher->synced_version != NULL
                        ? dispatcher->synced_version(dispatcher->ctx)
                        : kin__str(NULL, 0);
  return kin__marker_new(dispatcher->allocator, kin__str(NULL, 0), version,
                         kin_store_count(dispatcher->store));
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
  FOR_EACH(node, dispatcher) {
    if (takes_markers(listener_of(node))) {
      kin__listener_push_synced(listener_of(node), marker);
    }
  }
  kin__marker_unref(marker, dispatcher->allocator);
  kin__sync_watches_tell(&dispatcher->sync_watches, 0);
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
  kin__notification relisted = {.marker = marker, .type = KIN_EVENT_RELISTED};
  FOR_EACH(node, dispatcher) {
    if (takes_markers(listener_of(node))) {
      kin__listener_push(listener_of(node), &relisted, 0);
    }
  }
  kin__marker_unref(marker, dispatcher->allocator);
  return 0;
}
