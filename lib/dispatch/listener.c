/* SPDX-License-Identifier: MIT */
#include "dispatch/listener.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/histogram.h"
#include "base/str.h"
#include "dispatch/listener_replay.h"

/* A listener's task: fill the queue, deliver, read the clock.
 *
 * A callback may call anything. After a callback everything but the listener
 * itself may have changed, and the listener may be closed or paused. Its
 * memory, and its dispatcher's, stay until the step returns. */

#define DEFAULT_EXACT_LIMIT 4096u
#define MIN_RESYNC_MS 1000u

/* Deliveries between two reads of the clock. A slice begins with one delivery,
 * so that slow handlers do not add up. */
#define MAX_BATCH 16u

/* Slots and notifications of one step. */
#define STEP_WORK 1024u

/* Notifications that a closed listener drops in one step. */
#define DROP_COUNT 128u

#define MAX_NAME_LENGTH 255u

/* PL-10. */
#define SLOW_PENDING 1024u
#define SLOW_NS UINT64_C(100000000)
#define SLOW_QUIET_NS UINT64_C(60000000000)

static bool listener_step(kin__task *task);

static kin_event_cb *callback_of(kin_listener *listener, int type) {
  return &listener->callbacks[type - KIN_EVENT_ADD];
}

static uint32_t resync_period(const kin__dispatcher *dispatcher,
                              uint32_t requested) {
  uint32_t period = requested != 0 ? requested : dispatcher->default_resync_ms;
  if (period == 0 || period == KIN_NEVER) {
    return 0;
  }
  return period < MIN_RESYNC_MS ? MIN_RESYNC_MS : period;
}

static size_t exact_limit(uint32_t requested) {
  if (requested == KIN_NEVER) {
    return SIZE_MAX;
  }
  return requested != 0 ? requested : DEFAULT_EXACT_LIMIT;
}

/* Copies the options that need no memory. */
static void take_options(kin_listener *listener,
                         const kin_listener_options *options) {
  *callback_of(listener, KIN_EVENT_ADD) = options->on_add;
  *callback_of(listener, KIN_EVENT_UPDATE) = options->on_update;
  *callback_of(listener, KIN_EVENT_DELETE) = options->on_delete;
  *callback_of(listener, KIN_EVENT_SYNCED) = options->on_synced;
  *callback_of(listener, KIN_EVENT_RELISTED) = options->on_relisted;
  listener->filter = options->filter;
  listener->data = options->data;
  listener->is_relist_updates =
      options->relist_updates && options->on_update != NULL;
  listener->resync_ms = resync_period(listener->dispatcher, options->resync_ms);
}

static uint8_t wanted_types(kin_listener *listener) {
  uint8_t wanted = 0;
  for (int type = KIN_EVENT_ADD; type <= KIN_EVENT_RELISTED; type++) {
    if (*callback_of(listener, type) != NULL) {
      wanted |= (uint8_t)KIN__WANTS(type);
    }
  }
  return wanted;
}

/* Allocates the listener with room for its name. */
static int make_named(kin_listener **out, const kin__dispatcher *dispatcher,
                      const char *name) {
  static const char made_up[] = "handler@";
  bool is_named = kin__has_text(name);
  size_t length = is_named ? strnlen(name, MAX_NAME_LENGTH + 1)
                           : sizeof made_up + 2 * sizeof(void *) + 2;
  if (length > MAX_NAME_LENGTH) {
    return kin__log_problem(dispatcher->log, KIN_EINVAL,
                            "name: has more than %u bytes", MAX_NAME_LENGTH);
  }
  kin_listener *listener =
      kin__calloc(dispatcher->allocator, 1, sizeof *listener + length + 1);
  if (listener == NULL) {
    return KIN_ENOMEM;
  }
  if (is_named) {
    memcpy(listener->name, name, length);
  } else {
    snprintf(listener->name, length + 1, "%s%p", made_up, (void *)listener);
  }
  *out = listener;
  return 0;
}

int kin__listener_new(kin_listener **out, kin__dispatcher *dispatcher,
                      const kin_listener_options *options) {
  kin_listener *listener = NULL;
  int err = make_named(&listener, dispatcher, options->name);
  if (err != 0) {
    return err;
  }
  listener->dispatcher = dispatcher;
  kin__link_init(&listener->sync_watches);
  take_options(listener, options);
  kin__listener_queue_init(&listener->queue, dispatcher->allocator,
                           wanted_types(listener),
                           exact_limit(options->exact_limit));
  kin__task_init(&listener->task, listener_step);
  err = kin__listener_replay_start(listener);
  if (err != 0) {
    kin__listener_queue_finish(&listener->queue);
    kin__free(dispatcher->allocator, listener);
    return err;
  }
  kin__link_push(&dispatcher->listeners, &listener->node);
  listener->number = dispatcher->next_number++;
  dispatcher->listener_count++;
  dispatcher->relist_updates += listener->is_relist_updates;
  kin__listener_wake(listener);
  *out = listener;
  return 0;
}

void kin__listener_shut(kin_listener *listener) {
  kin__dispatcher *dispatcher = listener->dispatcher;
  if (!listener->is_closed) {
    dispatcher->relist_updates -= listener->is_relist_updates;
  }
  listener->is_closed = true;
  kin__sync_watches_tell(&listener->sync_watches,
                         listener->has_synced ? 0 : KIN_ECLOSED);
  kin__timer_stop(dispatcher->timers, &listener->timer);
}

/* Moves a walk over the listeners past this one. */
static void leave(kin__link **cursor, const kin_listener *listener) {
  if (*cursor == &listener->node) {
    *cursor = listener->node.next;
  }
}

void kin__listener_free(kin_listener *listener) {
  assert(listener->is_closed && !listener->is_running);
  kin__dispatcher *dispatcher = listener->dispatcher;
  kin__sched_cancel(dispatcher->sched, &listener->task);
  if (dispatcher->walk != NULL) {
    leave(&dispatcher->walk->reserving, listener);
    leave(&dispatcher->walk->telling, listener);
  }
  kin__link_remove(&listener->node);
  dispatcher->listener_count--;
  kin__listener_queue_finish(&listener->queue);
  kin__free(dispatcher->allocator, listener);
}

/* A closed dispatcher shuts its listeners one by one. */
static bool is_over(const kin_listener *listener) {
  return listener->is_closed || listener->dispatcher->is_closed;
}

static bool can_deliver(const kin_listener *listener) {
  return !is_over(listener) && !listener->queue.is_paused;
}

static bool has_delivery(const kin_listener *listener) {
  return can_deliver(listener) &&
         (!kin__listener_queue_is_empty(&listener->queue) ||
          kin__listener_can_replay(listener));
}

static bool has_work(const kin_listener *listener) {
  return has_delivery(listener) ||
         kin__listener_queue_wants_trim(&listener->queue);
}

void kin__listener_wake(kin_listener *listener) {
  if (!is_over(listener) && has_work(listener)) {
    kin__sched_add(listener->dispatcher->sched, &listener->task);
  }
}

void kin__listener_push(kin_listener *listener,
                        const kin__notification *notification, uint32_t hash) {
  kin__listener_queue *queue = &listener->queue;
  size_t before = kin__listener_queue_count(queue);
  listener->is_synced_queued |= notification->type == KIN_EVENT_SYNCED;
  kin__listener_queue_push(queue, notification, hash);
  size_t wanted = kin__listener_queue_wants(queue, notification->type) ? 1 : 0;
  size_t count = kin__listener_queue_count(queue);
  /* An unwanted update behind a delete may be kept as an add. */
  if (before + wanted > count) {
    listener->dispatcher->coalesced += before + wanted - count;
  }
  kin__listener_wake(listener);
}

static void fill_marker_event(kin_listener *listener, const kin__marker *marker,
                              kin_event *event) {
  event->namespace_ = marker->namespace_;
  event->resource_version = marker->version;
  event->objects = marker->objects;
  if (*callback_of(listener, KIN_EVENT_ADD) != NULL &&
      *callback_of(listener, KIN_EVENT_DELETE) != NULL) {
    event->objects = listener->shown;
  }
}

static void call(kin_listener *listener,
                 const kin__notification *notification) {
  if (notification->type == KIN_EVENT_SYNCED) {
    listener->has_synced = true;
  }
  listener->shown += notification->type == KIN_EVENT_ADD;
  /* A listener without on_add is shown no adds. */
  listener->shown -= notification->type == KIN_EVENT_DELETE &&
                     !notification->is_gone && listener->shown > 0;
  kin_event_cb cb = *callback_of(listener, notification->type);
  if (cb == NULL) {
    return;
  }
  kin_event event = {
      .size = sizeof event,
      .type = (kin_event_type)notification->type,
      .object = notification->object,
      .is_initial = notification->is_initial,
      .is_resync = notification->is_resync,
      .reason = (kin_delete_reason)notification->reason,
  };
  if (notification->type == KIN_EVENT_UPDATE) {
    event.old_object = notification->old_object;
  } else if (kin__notification_is_marker(notification)) {
    fill_marker_event(listener, notification->marker, &event);
  }
  cb(listener->dispatcher->informer, &event, listener->data);
}

/* Returns the number of notifications taken: less than `count` if the queue is
 * empty, or the listener was closed or paused. Hidden ones are not in
 * *delivered. */
static uint32_t deliver(kin_listener *listener, uint32_t count,
                        uint32_t *delivered) {
  uint32_t taken = 0;
  kin__notification notification;
  *delivered = 0;
  while (taken < count && can_deliver(listener) &&
         kin__listener_queue_pop(&listener->queue, &notification)) {
    if (kin__listener_queue_wants(&listener->queue, notification.type)) {
      call(listener, &notification);
      ++*delivered;
    }
    if (notification.type == KIN_EVENT_SYNCED) {
      kin__sync_watches_tell(&listener->sync_watches, 0);
    }
    kin__notification_unref(&notification, listener->dispatcher->allocator);
    taken++;
  }
  return taken;
}

/* PL-10. Batches are measured, so that this costs one comparison. A slow
 * handler's first callback is a batch alone, and ends the slice. */
static void log_slow(kin_listener *listener, uint32_t delivered,
                     uint64_t took_ns, uint64_t now_ns) {
  size_t pending = kin__listener_queue_count(&listener->queue);
  if (pending <= SLOW_PENDING || listener->is_closed ||
      now_ns < listener->quiet_until_ns) {
    return;
  }
  listener->quiet_until_ns = now_ns + SLOW_QUIET_NS;
  kin__log_write(listener->dispatcher->log, KIN_LOG_WARN,
                 "%s is slow: %u of its callbacks took %llu ms, "
                 "%zu notifications wait",
                 listener->name, (unsigned)delivered,
                 (unsigned long long)(took_ns / 1000000u), pending);
}

static void add_credit(kin_listener *listener, uint32_t delivered) {
  uint32_t missing = KIN__REPLAY_SLOTS - listener->walk_credit;
  uint32_t more = delivered < missing ? delivered : missing;
  listener->walk_credit = (uint8_t)(listener->walk_credit + more);
}

/* Fills the queue and delivers for one slice. */
static void run_slice(kin_listener *listener) {
  kin__dispatcher *dispatcher = listener->dispatcher;
  uint64_t start = kin__clock_ns(dispatcher->clock);
  uint64_t now = start;
  uint32_t work = 0;
  uint32_t max_work = kin__sched_pieces(dispatcher->sched, STEP_WORK);
  uint32_t batch = 1;
  do {
    if (kin__listener_replay_is_due(listener)) {
      work += kin__listener_replay(listener);
      now = kin__clock_ns(dispatcher->clock);
    }
    uint32_t left = work < max_work ? max_work - work : 1;
    uint32_t delivered;
    uint32_t taken = deliver(listener, batch < left ? batch : left, &delivered);
    uint64_t then = now;
    now = kin__clock_ns(dispatcher->clock);
    add_credit(listener, taken);
    if (delivered > 0) {
      *dispatcher->handler_ns += now - then;
      dispatcher->delivered += delivered;
      kin__small_histogram_add(&dispatcher->handler_us, dispatcher->allocator,
                               (now - then) / 1000u / delivered, delivered);
      if (now - then > SLOW_NS) {
        log_slow(listener, delivered, now - then, now);
      }
    }
    work += taken;
    batch = batch < MAX_BATCH ? batch * 2 : MAX_BATCH;
  } while (has_delivery(listener) && work < max_work &&
           now - start < dispatcher->sched->slice_ns);
}

/* Returns whether work is left; if not, the listener is freed. */
static bool drop_step(kin_listener *listener) {
  kin__slice slice = kin__slice_begin(listener->dispatcher->sched, DROP_COUNT);
  while (!kin__listener_queue_is_empty(&listener->queue)) {
    if (!kin__slice_next(&slice)) {
      return true;
    }
    kin__listener_queue_clear_step(&listener->queue, 1);
  }
  if (kin__listener_queue_trim_step(&listener->queue)) {
    return true;
  }
  kin__listener_free(listener);
  return false;
}

static bool listener_step(kin__task *task) {
  kin_listener *listener = KIN__CONTAINER_OF(task, kin_listener, task);
  if (listener->dispatcher->is_closed) {
    return false; /* the dispatcher's close frees the listener */
  }
  if (listener->is_closed) {
    return drop_step(listener);
  }
  if (kin__listener_queue_wants_trim(&listener->queue)) {
    kin__listener_queue_trim_step(&listener->queue);
  } else if (can_deliver(listener)) {
    listener->is_running = true;
    run_slice(listener);
    listener->is_running = false;
  }
  /* After a close by the callback, kin_listener_close has scheduled the next
   * step. */
  return has_work(listener);
}

void kin_listener_close(kin_listener *listener) {
  if (listener != NULL && !listener->dispatcher->is_closed) {
    assert(!listener->is_closed);
    kin__listener_shut(listener);
    kin__sched_add(listener->dispatcher->sched, &listener->task);
  }
}

void kin_listener_pause(kin_listener *listener) {
  if (listener != NULL) {
    kin__listener_queue_set_paused(&listener->queue, true);
  }
}

void kin_listener_resume(kin_listener *listener) {
  if (listener == NULL) {
    return;
  }
  kin__listener_queue_set_paused(&listener->queue, false);
  kin__listener_wake(listener);
}

bool kin_listener_has_synced(const kin_listener *listener) {
  return listener != NULL && listener->has_synced;
}

const char *kin_listener_name(const kin_listener *listener) {
  return listener != NULL ? listener->name : "";
}

size_t kin_listener_pending(const kin_listener *listener) {
  return listener != NULL ? kin__listener_queue_count(&listener->queue) : 0;
}
