/* SPDX-License-Identifier: MIT */
#include "informer/max_bytes_core.h"

#include "object/same_content.h"

/* Counts the bytes of an informer's objects: those of the store, of the queue and
 * of the lists that are not complete. */

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
void kin__max_bytes_count(kin_informer *informer, uint64_t more,
                          uint64_t less) {
  uint64_t sum = informer->max_bytes.own.used + more;
  set_used(informer, sum > less ? sum - less : 0);
}

static void unstage(kin__scope *scope, uint64_t bytes) {
  scope->listed_bytes -= bytes;
  scope->informer->max_bytes.listed -= bytes;
  kin__max_bytes_count(scope->informer, 0, bytes);
}

/* The cached object itself was not counted. */
static void leave_stage(kin__scope *scope, const kin_object *object,
                        const kin_object *cached) {
  uint64_t bytes = object != cached ? kin_object_memory(object) : 0;
  unstage(scope, bytes < scope->listed_bytes ? bytes : scope->listed_bytes);
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
  /* The cached object stays, although only one of the two may be packed. */
  bool is_kept = object == cached || bytes == freed ||
                 (!is_behind && kin__object_is_same_state(object, cached));
  *more += is_kept ? 0 : bytes;
  *less += is_kept ? 0 : freed;
}

/* The deltas that are applied already are part of the store. */
void kin__max_bytes_recount(kin_informer *informer) {
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
    kin__max_bytes_count(informer, type != KIN_DELTA_DELETED ? bytes : 0, 0);
    return;
  }
  uint64_t more = 0;
  uint64_t less = 0;
  const kin_object *cached =
      kin_store_get(&informer->store, kin_object_key(object));
  add_change(cached, object, type, is_behind, &more, &less);
  kin__max_bytes_count(informer, more, less);
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

bool kin__max_bytes_refuses(const kin_informer *informer, uint64_t more) {
  const kin__byte_bound *clients = informer->env->object_bytes;
  return kin__byte_bound_refuses(&informer->max_bytes.own, more) ||
         (clients != NULL && kin__byte_bound_refuses(clients, more));
}

bool kin__max_bytes_is_near(const kin_informer *informer) {
  const kin__byte_bound *clients = informer->env->object_bytes;
  return kin__byte_bound_is_near(&informer->max_bytes.own, 0) ||
         (clients != NULL && kin__byte_bound_is_near(clients, 0));
}

const kin__byte_bound *
kin__max_bytes_reached_bound(const kin_informer *informer) {
  const kin__max_bytes *b = &informer->max_bytes;
  return b->is_clients ? informer->env->object_bytes : &b->own;
}

bool kin__max_bytes_has_room(const kin_informer *informer) {
  uint64_t needed = informer->max_bytes.needed;
  return !kin__byte_bound_is_near(kin__max_bytes_reached_bound(informer),
                                  needed) &&
         !kin__max_bytes_refuses(informer, needed);
}

void kin__max_bytes_finish(kin_informer *informer) {
  set_used(informer, 0);
}
