/* SPDX-License-Identifier: MIT */
#include "informer/max_bytes_core.h"

#include <inttypes.h>

#include "informer/compact.h"

/* The bound is reached: the program decides, and its decision is carried out. */

#define SLOTS_PER_STEP 64u
/* Cells that are collected for each slot: more than a pass gives. */
#define COLLECT_PER_SLOT 2u

void kin__max_bytes_retry_refused(kin_informer *informer) {
  kin__scope *scope;
  for (uint32_t i = 0;
       !informer->member.is_closing &&
       (scope = kin__scopes_next(&informer->scopes, &i)) != NULL;) {
    if (scope->is_over_bytes && !scope->is_removed) {
      scope->is_over_bytes = false;
      kin__feed_answer(&scope->feed, KIN_RETRY_AFTER, 0);
    }
  }
}

static void stop_all(kin_informer *informer) {
  kin__scope *scope;
  for (uint32_t i = 0;
       !informer->member.is_closing &&
       (scope = kin__scopes_next(&informer->scopes, &i)) != NULL;) {
    if (!scope->is_removed) {
      kin__feed_answer(&scope->feed, KIN_STOP, 0);
      if (!scope->feed.is_closed) { /* by the source */
        kin__scope_stopped(scope);
      }
    }
  }
}

static kin_memory_decision ask(kin_informer *informer) {
  const kin__kept_options *options = &informer->settings.options;
  const kin__env *env = informer->env;
  const kin__max_bytes *b = &informer->max_bytes;
  const kin__byte_bound *bound = kin__max_bytes_reached_bound(informer);
  uint64_t incomplete = kin__scopes_listed_bytes(&informer->scopes);
  const kin_memory_event event = {
      .size = sizeof event,
      .bytes = bound->used - incomplete,
      .max_bytes = bound->max,
      .needed_bytes = b->needed + incomplete,
      .bound =
          b->is_clients ? KIN_MEMORY_BOUND_CLIENT : KIN_MEMORY_BOUND_INFORMER,
      .state = b->is_keys_only ? KIN_MEMORY_STATE_KEYS_ONLY
                               : KIN_MEMORY_STATE_WHOLE};
  if (options->on_max_bytes == NULL) {
    return KIN_MEMORY_PAUSE;
  }
  uint64_t start_ns = kin__clock_ns(&env->clock);
  kin_memory_decision decision =
      options->on_max_bytes(informer, &event, options->data);
  kin__env_add_handler_time(env, start_ns);
  return decision;
}

static void log_decision(const kin_informer *informer, const char *what) {
  const kin__max_bytes *b = &informer->max_bytes;
  kin__log_write(informer->env->log, KIN_LOG_WARN,
                 "%s: %" PRIu64 " bytes of objects, and %" PRIu64
                 " more are needed: over max_bytes%s; %s",
                 informer->settings.resource.plural, b->own.used, b->needed,
                 b->is_clients ? " of the client" : "", what);
}

static void begin_pause(kin_informer *informer) {
  log_decision(informer, "pauses");
  informer->max_bytes.phase = KIN__BOUND_PAUSED;
}

static void decide(kin_informer *informer, kin_memory_decision decision) {
  kin__max_bytes *b = &informer->max_bytes;
  if (decision == KIN_MEMORY_DROP_BODIES) {
    log_decision(informer, "bodies are dropped");
    b->phase = KIN__BOUND_DROPPING;
    b->goes_on = !b->is_keys_only;
    b->is_keys_only = true;
    b->has_dropped = true;
    b->cursor = kin__slots_limit(&informer->store.slots);
    kin__sched_add(informer->env->sched, &b->task);
  } else if (decision == KIN_MEMORY_STOP) {
    log_decision(informer, "stops");
    b->phase = KIN__BOUND_STOPPED;
    stop_all(informer);
  } else {
    begin_pause(informer);
  }
}

/* The program may close the informer, or set another bound. */
static void decide_now(kin_informer *informer) {
  kin__max_bytes *b = &informer->max_bytes;
  if (b->needed == 0 || kin__max_bytes_has_room(informer)) {
    b->phase = KIN__BOUND_OPEN;
    kin__max_bytes_retry_refused(informer);
    return;
  }
  kin_memory_decision decision = ask(informer);
  if (!informer->member.is_closing && b->phase == KIN__BOUND_ASKING) {
    decide(informer, decision);
  }
}

/* Nothing has changed in the cluster, so only a filter that reads the body makes
 * a difference to listeners. */
static void send_drop(kin_informer *informer, uint32_t slot, kin_object *kept,
                      kin_object *whole) {
  const kin__change dropped = {
      .slot = slot,
      .audience = KIN__AUDIENCE_FILTERS,
      .count = 1,
      .notifications = {
          {.type = KIN_EVENT_UPDATE, .object = kept, .old_object = whole}}};
  kin__dispatcher_send(&informer->dispatcher, &dropped);
  kin__mutation_check_leaving(informer->mutation_check, whole);
}

/* A packed object may need less memory than its key: it stays whole. Errors:
 * KIN_ENOMEM, KIN_EINDEX (the object keeps its body); KIN__MORE (the dispatcher
 * needs another step first). */
static int drop_stored_body(kin_informer *informer, uint32_t slot) {
  kin_object *whole = kin__store_at(&informer->store, slot)->object;
  if (whole == NULL || kin_object_is_key_only(whole)) {
    return 0;
  }
  int err = kin__dispatcher_reserve(&informer->dispatcher);
  kin_object *kept = NULL;
  if (err == 0) {
    err = kin__max_bytes_drop_body(informer, whole, &kept);
  }
  kin_object *old = NULL;
  bool is_less = err == 0 && kin_object_memory(kept) < kin_object_memory(whole);
  if (is_less) {
    uint32_t hash = kin__store_hash(&informer->store, kin_object_key(whole));
    err = kin__store_upsert(&informer->store, kept, hash, &slot, &old);
  }
  if (is_less && err == 0) {
    informer->max_bytes.dropped++;
    informer->max_bytes.goes_on = true;
    kin__max_bytes_count(informer, kin_object_memory(kept),
                         kin_object_memory(old));
    send_drop(informer, slot, kept, old);
    kin__object_unref(old);
  }
  kin__object_unref(kept);
  return err;
}

/* A store that a callback has closed has no slots any more. */
static uint32_t slots_left(kin_informer *informer) {
  kin__max_bytes *b = &informer->max_bytes;
  uint32_t limit = kin__slots_limit(&informer->store.slots);
  b->cursor = b->cursor < limit ? b->cursor : limit;
  return b->cursor;
}

/* From the last slot down. A handler may put an object for each body that is
 * dropped: these get slots behind the last one, so they are not met. */
static bool drop_step(kin_informer *informer) {
  kin__max_bytes *b = &informer->max_bytes;
  kin__slice slice = kin__slice_begin(informer->env->sched, SLOTS_PER_STEP);
  while (slots_left(informer) > 0) {
    if (!kin__slice_next(&slice)) {
      return true;
    }
    int err = drop_stored_body(informer, b->cursor - 1);
    if (err > 0) {
      return true;
    }
    b->goes_on = b->goes_on || err < 0; /* then the program is asked again */
    b->cursor--;
    (void)kin__arena_collect(informer->env->memory->arena, COLLECT_PER_SLOT);
  }
  if (b->goes_on) {
    b->phase = KIN__BOUND_OPEN;
    kin__max_bytes_retry_refused(informer);
  } else {
    begin_pause(informer);
  }
  return false;
}

bool kin__max_bytes_step(kin__task *task) {
  kin_informer *informer =
      KIN__CONTAINER_OF(task, kin_informer, max_bytes.task);
  if (informer->fifo.depth > 0 ||
      kin__dispatcher_is_sending(&informer->dispatcher)) {
    return false; /* the process task wakes us */
  }
  kin__max_bytes *b = &informer->max_bytes;
  switch (b->phase) {
  case KIN__BOUND_ASKING:
    if (!b->has_told) { /* on_error comes before on_max_bytes */
      b->has_told = true;
      return true;
    }
    decide_now(informer);
    return false;
  case KIN__BOUND_DROPPING:
    return drop_step(informer);
  default:
    return false;
  }
}
