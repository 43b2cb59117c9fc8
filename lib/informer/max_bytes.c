/* SPDX-License-Identifier: MIT */
#include "informer/max_bytes_core.h"

#include "decode/key_only.h"
#include "informer/compact.h"

/* --- Bodies --------------------------------------------------------------- */

int kin__max_bytes_drop_body(kin_informer *informer, const kin_object *object,
                             kin_object **out) {
  int err = kin__key_only_make(out, informer->env->memory, object,
                               !informer->settings.options.drop_labels);
  if (err == 0) {
    kin__compact_pack(informer, out, false);
  }
  return err;
}

static bool has_body(const kin_object *object) {
  return !kin_object_is_key_only(object) && !kin__object_has_no_text(object);
}

int kin__max_bytes_reduce(kin_informer *informer, const kin_object *object,
                          kin_object **out) {
  *out = NULL;
  if (!informer->max_bytes.is_keys_only || !has_body(object)) {
    return 0;
  }
  /* A body that could not be dropped stays. */
  kin_str key = kin_object_key(object);
  return object == kin_store_get(&informer->store, key)
             ? 0
             : kin__max_bytes_drop_body(informer, object, out);
}

/* --- An object comes ------------------------------------------------------ */

static bool is_listing(const kin_feed *feed) {
  return kin__feed_request_kind(feed) != KIN__REQUEST_WATCH && !feed->is_held;
}

static int keep_key(kin_informer *informer, kin_object **object) {
  kin_object *kept;
  int err = kin__max_bytes_drop_body(informer, *object, &kept);
  if (err == 0) {
    kin__object_unref(*object);
    *object = kept;
    informer->max_bytes.dropped++;
  }
  return err;
}

/* The bytes of the cached object that a change of this key frees. With queued
 * changes the first of them frees it. */
static uint64_t freed_bytes(const kin_informer *informer, kin_str key) {
  return kin__delta_fifo_has(&informer->fifo, key)
             ? 0
             : kin_object_memory(kin_store_get(&informer->store, key));
}

static bool try_open(kin_informer *informer) {
  kin__max_bytes *b = &informer->max_bytes;
  if (b->phase == KIN__BOUND_PAUSED && kin__max_bytes_has_room(informer)) {
    b->phase = KIN__BOUND_OPEN;
  }
  return b->phase == KIN__BOUND_OPEN;
}

static int refuse(kin__scope *scope) {
  scope->is_over_bytes = true;
  scope->feed.counters.over_max_bytes++;
  return KIN_EMAXBYTES;
}

/* The object does not fit, or it comes during a pause. */
static int give_up(kin__scope *scope, uint64_t bytes) {
  kin_informer *informer = scope->informer;
  kin__max_bytes *b = &informer->max_bytes;
  if (b->phase == KIN__BOUND_OPEN) {
    scope->lacks_room = true;
    b->phase = KIN__BOUND_ASKING;
    b->has_told = false;
    b->needed = bytes;
    b->is_clients = !kin__byte_bound_refuses(&b->own, bytes);
    b->reached++;
    kin__sched_add(informer->env->sched, &b->task);
  }
  return refuse(scope);
}

int kin__max_bytes_keep(kin__scope *scope, kin__decoded_type type,
                        kin_object **object) {
  kin_informer *informer = scope->informer;
  kin__max_bytes *b = &informer->max_bytes;
  bool is_whole = !kin__max_bytes_is_bounded(informer) && !b->is_keys_only;
  if (is_whole || type == KIN__DECODED_DELETED) {
    return 0;
  }
  if (b->is_keys_only && has_body(*object)) {
    int err = keep_key(informer, object);
    if (err != 0) {
      return err;
    }
  }
  uint64_t bytes = kin_object_memory(*object);
  bool is_listed = is_listing(&scope->feed);
  uint64_t more = bytes;
  if (b->is_rough && kin__max_bytes_refuses(informer, more)) {
    kin__max_bytes_recount(informer);
  }
  /* Where there is room anyway, nobody asks what the object frees. */
  if (!is_listed &&
      (!try_open(informer) || kin__max_bytes_refuses(informer, more))) {
    uint64_t freed = freed_bytes(informer, kin_object_key(*object));
    more = bytes > freed ? bytes - freed : 0;
  }
  if (!try_open(informer) ||
      (more > 0 && kin__max_bytes_refuses(informer, more))) {
    return give_up(scope, more);
  }
  if (is_listed) {
    scope->listed_bytes += bytes;
    b->listed += bytes;
    kin__max_bytes_count(informer, bytes, 0);
  }
  return 0;
}

/* The program may have written to the store since the last event. */
int kin__max_bytes_admit(kin__scope *scope) {
  if (scope->informer->fifo.depth == 0) {
    kin__max_bytes_settle(scope->informer);
  }
  scope->is_over_bytes = false;
  if (!try_open(scope->informer)) {
    return refuse(scope);
  }
  scope->lacks_room = false;
  return 0;
}

bool kin__max_bytes_lacks_body(const kin_informer *informer,
                               const kin_object *cached) {
  const kin__max_bytes *b = &informer->max_bytes;
  return b->has_dropped && !b->is_keys_only && kin_object_is_key_only(cached);
}

/* --- Use ------------------------------------------------------------------ */

static void open_bound(kin__max_bytes *b, kin__sched *sched) {
  if (b->phase != KIN__BOUND_STOPPED) {
    b->phase = KIN__BOUND_OPEN;
    kin__sched_cancel(sched, &b->task);
  }
}

int kin_informer_set_max_bytes(kin_informer *informer, uint64_t max_bytes) {
  if (informer == NULL) {
    return KIN_EINVAL;
  }
  if (informer->member.is_closing) {
    return KIN_ECLOSED;
  }
  kin__max_bytes *b = &informer->max_bytes;
  bool lacks_bodies = b->is_keys_only;
  b->own.max = max_bytes;
  b->is_keys_only = false;
  if (informer->fifo.depth == 0) {
    kin__max_bytes_settle(informer);
  }
  open_bound(b, informer->env->sched);
  if (lacks_bodies) {
    kin__scopes_relist(informer);
  }
  kin__max_bytes_retry_refused(informer);
  return 0;
}

void kin__max_bytes_reopen(kin_informer *informer) {
  kin__max_bytes *b = &informer->max_bytes;
  b->goes_on = true;
  if (b->phase != KIN__BOUND_DROPPING) {
    open_bound(b, informer->env->sched);
    kin__max_bytes_retry_refused(informer);
  }
}

void kin__max_bytes_left(kin__scope *scope) {
  if (scope->lacks_room) {
    scope->informer->max_bytes.needed = 0;
  }
}

kin_memory_state kin__max_bytes_state(const kin_informer *informer) {
  const kin__max_bytes *b = &informer->max_bytes;
  if (b->phase == KIN__BOUND_STOPPED) {
    return KIN_MEMORY_STATE_STOPPED;
  }
  if (b->phase == KIN__BOUND_ASKING ||
      (b->phase == KIN__BOUND_PAUSED && !kin__max_bytes_has_room(informer))) {
    return KIN_MEMORY_STATE_PAUSED;
  }
  return b->is_keys_only ? KIN_MEMORY_STATE_KEYS_ONLY : KIN_MEMORY_STATE_WHOLE;
}

void kin__max_bytes_init(kin_informer *informer, uint64_t max) {
  kin__max_bytes *b = &informer->max_bytes;
  *b = (kin__max_bytes){.own.max = max};
  kin__task_init(&b->task, kin__max_bytes_step);
}

void kin__max_bytes_stop(kin_informer *informer) {
  kin__sched_cancel(informer->env->sched, &informer->max_bytes.task);
}
