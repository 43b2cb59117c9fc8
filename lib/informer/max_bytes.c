/* SPDX-License-Identifier: MIT */
#include "informer/max_bytes.h"

#include <inttypes.h>

#include "decode/key_only.h"
#include "informer/compact.h"
#include "informer/scope.h"
#include "informer/transform.h"

#define SLOTS_PER_STEP 64u
/* Cells that are collected for each slot: more than a pass gives. */
#define COLLECT_PER_SLOT 2u

/* --- Bodies --------------------------------------------------------------- */

static int drop_body(kin_informer *informer, const kin_object *object,
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
             : drop_body(informer, object, out);
}

/* --- Counting ------------------------------------------------------------- */

bool kin__max_bytes_is_bounded(const kin_informer *informer) {
  const kin__byte_bound *clients = informer->env->object_bytes;
  return informer->max_bytes.own.max != 0 ||
         (clients != NULL && clients->max != 0);
}

static void set_used(kin_informer *informer, uint64_t used) {
  kin__byte_bound *own = &informer->max_bytes.own;
  kin__byte_bound *clients = informer->env->object_bytes;
  if (clients != NULL) {
    clients->used += used - own->used;
  }
  own->used = used;
}

/* A wrong count of a queue that is not empty must not become a huge number. */
static void count(kin_informer *informer, uint64_t more, uint64_t less) {
  uint64_t sum = informer->max_bytes.own.used + more;
  set_used(informer, sum > less ? sum - less : 0);
}

/* The bytes of the cached object that a change of this key frees. With queued
 * changes the first of them frees it. */
static uint64_t freed_bytes(const kin_informer *informer, kin_str key) {
  return kin__delta_fifo_has(&informer->fifo, key)
             ? 0
             : kin_object_memory(kin_store_get(&informer->store, key));
}

static void unstage(kin__scope *scope, uint64_t bytes) {
  scope->listed_bytes -= bytes;
  scope->informer->max_bytes.listed -= bytes;
  count(scope->informer, 0, bytes);
}

/* The cached object itself was not counted. */
static void leave_stage(kin__scope *scope, const kin_object *object,
                        const kin_object *cached) {
  uint64_t bytes = object != cached ? kin_object_memory(object) : 0;
  unstage(scope, bytes < scope->listed_bytes ? bytes : scope->listed_bytes);
}

/* Two objects of one uid and version: the new one does not replace the cached
 * one, although only one of them may be packed. */
static bool is_same_state(const kin_object *a, const kin_object *b) {
  kin_str uid = kin_object_uid(a);
  kin_str version = kin_object_resource_version(a);
  return uid.length > 0 && version.length > 0 &&
         kin__str_equal(uid, kin_object_uid(b)) &&
         kin__str_equal(version, kin_object_resource_version(b));
}

/* One change of a key, behind others or not, to the objects that exist when the
 * queue is empty. */
static void add_change(const kin_object *cached, const kin_object *object,
                       kin_delta_type type, bool is_behind, uint64_t *more,
                       uint64_t *less) {
  uint64_t freed = is_behind ? 0 : kin_object_memory(cached);
  if (type == KIN_DELTA_DELETED) {
    *less += freed;
    return;
  }
  uint64_t bytes = kin_object_memory(object);
  bool is_kept = object == cached || bytes == freed ||
                 (!is_behind && is_same_state(object, cached));
  *more += is_kept ? 0 : bytes;
  *less += is_kept ? 0 : freed;
}

/* Counts the queue, whose depth is bounded. The deltas that are applied already
 * are part of the store. */
static void recount(kin_informer *informer) {
  const kin_store *store = &informer->store;
  uint64_t more = kin_store_bytes(store) + informer->max_bytes.listed;
  uint64_t less = 0;
  uint32_t id = KIN__NO_SLOT;
  uint32_t first = informer->applied;
  kin__deltas deltas;
  for (; kin__delta_fifo_next(&informer->fifo, &id, &deltas); first = 0) {
    const kin_object *cached =
        kin_store_get(store, kin_object_key(deltas.items[0].object));
    for (uint32_t i = first; i < deltas.count; i++) {
      const kin__delta *delta = &deltas.items[i];
      add_change(cached, delta->object, (kin_delta_type)delta->type, i > first,
                 &more, &less);
    }
  }
  informer->max_bytes.is_rough = false;
  set_used(informer, more > less ? more - less : 0);
}

/* Another informer cannot count this one's queue. */
static bool may_be_rough(const kin_informer *informer, kin_delta_type type,
                         uint64_t bytes) {
  const kin__byte_bound *own = &informer->max_bytes.own;
  const kin__byte_bound *clients = informer->env->object_bytes;
  return type != KIN_DELTA_REPLACED && (clients == NULL || clients->max == 0) &&
         !kin__byte_bound_is_near(own, bytes);
}

void kin__max_bytes_pushed(kin__scope *scope, kin_delta_type type,
                           const kin_object *object, bool is_behind) {
  kin_informer *informer = scope->informer;
  if (!kin__max_bytes_is_bounded(informer)) {
    return;
  }
  uint64_t bytes = kin_object_memory(object);
  if (may_be_rough(informer, type, bytes)) {
    informer->max_bytes.is_rough = true;
    count(informer, type != KIN_DELTA_DELETED ? bytes : 0, 0);
    return;
  }
  uint64_t more = 0;
  uint64_t less = 0;
  const kin_object *cached =
      kin_store_get(&informer->store, kin_object_key(object));
  add_change(cached, object, type, is_behind, &more, &less);
  count(informer, more, less);
  if (type == KIN_DELTA_REPLACED) {
    leave_stage(scope, object, cached);
  }
}

void kin__max_bytes_replaced(kin__scope *scope, const kin_object *object) {
  kin_informer *informer = scope->informer;
  if (kin__max_bytes_is_bounded(informer)) {
    leave_stage(scope, object,
                kin_store_get(&informer->store, kin_object_key(object)));
  }
}

void kin__max_bytes_unstaged(kin__scope *scope) {
  unstage(scope, scope->listed_bytes);
}

void kin__max_bytes_discarded(kin__scope *scope) {
  kin__max_bytes *b = &scope->informer->max_bytes;
  bool comes_again =
      kin__listwatch_state_of(&scope->feed.listwatch) != KIN__LISTWATCH_STOPPED;
  if (b->phase != KIN__BOUND_OPEN && comes_again && scope->listed_bytes > 0) {
    b->needed += scope->listed_bytes;
    scope->lacks_room = true;
  }
  unstage(scope, scope->listed_bytes);
}

void kin__max_bytes_settle(kin_informer *informer) {
  kin__max_bytes *b = &informer->max_bytes;
  b->is_rough = false;
  set_used(informer, kin_store_bytes(&informer->store) + b->listed);
  if (b->phase == KIN__BOUND_ASKING || b->phase == KIN__BOUND_DROPPING) {
    kin__sched_add(informer->env->sched, &b->task);
  }
}

static bool refuses(const kin_informer *informer, uint64_t more) {
  const kin__byte_bound *clients = informer->env->object_bytes;
  return kin__byte_bound_refuses(&informer->max_bytes.own, more) ||
         (clients != NULL && kin__byte_bound_refuses(clients, more));
}

bool kin__max_bytes_is_near(const kin_informer *informer) {
  const kin__byte_bound *clients = informer->env->object_bytes;
  return kin__byte_bound_is_near(&informer->max_bytes.own, 0) ||
         (clients != NULL && kin__byte_bound_is_near(clients, 0));
}

static const kin__byte_bound *reached_bound(const kin_informer *informer) {
  const kin__max_bytes *b = &informer->max_bytes;
  return b->is_clients ? informer->env->object_bytes : &b->own;
}

/* An eighth stays free of the bound that was reached. The other bound refused
 * nothing, so there it is enough that all fits. */
static bool has_room(const kin_informer *informer) {
  uint64_t needed = informer->max_bytes.needed;
  return !kin__byte_bound_is_near(reached_bound(informer), needed) &&
         !refuses(informer, needed);
}

/* --- An object comes ------------------------------------------------------ */

static bool is_listing(const kin_feed *feed) {
  return kin__feed_request_kind(feed) != KIN__REQUEST_WATCH && !feed->is_held;
}

static int keep_key(kin_informer *informer, kin_object **object) {
  kin_object *kept;
  int err = drop_body(informer, *object, &kept);
  if (err == 0) {
    kin__object_unref(*object);
    *object = kept;
    informer->max_bytes.dropped++;
  }
  return err;
}

static bool is_open(kin_informer *informer) {
  kin__max_bytes *b = &informer->max_bytes;
  if (b->phase == KIN__BOUND_PAUSED && has_room(informer)) {
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
  if (b->is_rough && refuses(informer, more)) {
    recount(informer);
  }
  /* Where there is room anyway, nobody asks what the object frees. */
  if (!is_listed && (!is_open(informer) || refuses(informer, more))) {
    uint64_t freed = freed_bytes(informer, kin_object_key(*object));
    more = bytes > freed ? bytes - freed : 0;
  }
  if (!is_open(informer) || (more > 0 && refuses(informer, more))) {
    return give_up(scope, more);
  }
  if (is_listed) {
    scope->listed_bytes += bytes;
    b->listed += bytes;
    count(informer, bytes, 0);
  }
  return 0;
}

/* The program may have written to the store since the last event. */
int kin__max_bytes_admit(kin__scope *scope) {
  if (scope->informer->fifo.depth == 0) {
    kin__max_bytes_settle(scope->informer);
  }
  scope->is_over_bytes = false;
  if (!is_open(scope->informer)) {
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

/* --- The decision --------------------------------------------------------- */

/* Scopes that were refused an object or a request try again. */
static void retry_refused(kin_informer *informer) {
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
  const kin__byte_bound *bound = reached_bound(informer);
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
  if (b->needed == 0 || has_room(informer)) {
    b->phase = KIN__BOUND_OPEN;
    retry_refused(informer);
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
    err = drop_body(informer, whole, &kept);
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
    count(informer, kin_object_memory(kept), kin_object_memory(old));
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
    retry_refused(informer);
  } else {
    begin_pause(informer);
  }
  return false;
}

static bool step(kin__task *task) {
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
  retry_refused(informer);
  return 0;
}

void kin__max_bytes_reopen(kin_informer *informer) {
  kin__max_bytes *b = &informer->max_bytes;
  b->goes_on = true;
  if (b->phase != KIN__BOUND_DROPPING) {
    open_bound(b, informer->env->sched);
    retry_refused(informer);
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
      (b->phase == KIN__BOUND_PAUSED && !has_room(informer))) {
    return KIN_MEMORY_STATE_PAUSED;
  }
  return b->is_keys_only ? KIN_MEMORY_STATE_KEYS_ONLY : KIN_MEMORY_STATE_WHOLE;
}

void kin__max_bytes_init(kin_informer *informer, uint64_t max) {
  kin__max_bytes *b = &informer->max_bytes;
  *b = (kin__max_bytes){.own.max = max};
  kin__task_init(&b->task, step);
}

void kin__max_bytes_stop(kin_informer *informer) {
  kin__sched_cancel(informer->env->sched, &informer->max_bytes.task);
}

void kin__max_bytes_finish(kin_informer *informer) {
  set_used(informer, 0);
}
