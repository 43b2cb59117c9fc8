/* SPDX-License-Identifier: MIT */
#include "informer/handle_deltas.h"

#include <assert.h>

#include "base/histogram.h"
#include "informer/scope.h"
#include "informer/transform.h"
#include "object/same_content.h"

#define KEYS_PER_STEP 64u
#define KEYS_WARMED 16u

typedef struct change {
  kin_informer *informer;
  kin__scope *scope;
  const kin__delta *delta;
  uint32_t hash;
} change;

static void mark(const change *c, uint32_t slot) {
  kin__store_slot *place = kin__store_at(&c->informer->store, slot);
  assert(c->delta->generation != 0);
  place->generation = c->delta->generation;
  place->scope = c->delta->scope;
}

/* `last` is the object for the listeners; NULL: the cached one. */
static int take_away(const change *c, uint32_t slot, kin_delete_reason reason,
                     kin_object *last) {
  int err = kin__dispatcher_reserve(&c->informer->dispatcher);
  if (err != 0) {
    return err;
  }
  kin_object *cached = kin__store_remove(&c->informer->store, slot);
  const kin__change gone = {
      .slot = slot,
      .count = 1,
      .notifications = {{.type = KIN_EVENT_DELETE,
                         .reason = (uint8_t)reason,
                         .object = last != NULL ? last : cached,
                         .cached = cached}}};
  kin__dispatcher_send(&c->informer->dispatcher, &gone);
  kin__mutation_check_leaving(c->informer->mutation_check, cached);
  kin__object_unref(cached);
  return 0;
}

/* A tombstone is void if the object came again after the sweep, or belongs to
 * another scope now. A watch's last state is passed on instead of the cached
 * one (PD-02), unless the transform failed on it. */
static int apply_delete(const change *c, uint32_t slot) {
  const kin__delta *delta = c->delta;
  if (slot == KIN__NO_SLOT) {
    return 0;
  }
  if (delta->is_tombstone) {
    const kin__store_slot *place = kin__store_at(&c->informer->store, slot);
    if (place->generation == delta->generation ||
        !kin__scope_owns(c->scope, place)) {
      return 0;
    }
  }
  bool is_cached_last =
      delta->is_tombstone || (c->informer->transform != NULL &&
                              kin__object_has_no_text(delta->object));
  return take_away(c, slot, delta->reason,
                   is_cached_last ? NULL : delta->object);
}

static bool is_same(const change *c, const kin_object *a) {
  const kin_object *b = c->delta->object;
  return a == b ||
         (kin__object_is_same_state(a, b) &&
          (!kin__listwatch_versions_repeat(&c->scope->feed.listwatch) ||
           (!kin_object_is_key_only(b) && kin__object_has_same_text(a, b))));
}

static bool is_recreated(const kin_object *old, const kin_object *object) {
  kin_str uid = kin_object_uid(old);
  kin_str new_uid = kin_object_uid(object);
  return uid.length > 0 && new_uid.length > 0 && !kin__str_equal(uid, new_uid);
}

/* An unchanged object of a list concerns only listeners that ask for relist
 * updates. */
static int apply_unchanged(const change *c, uint32_t slot) {
  kin_informer *informer = c->informer;
  if (c->delta->type == KIN_DELTA_REPLACED &&
      kin__dispatcher_wants_unchanged(&informer->dispatcher)) {
    int err = kin__dispatcher_reserve(&informer->dispatcher);
    if (err != 0) {
      return err;
    }
    kin_object *object = kin__store_at(&informer->store, slot)->object;
    const kin__change same = {.slot = slot,
                              .audience = KIN__AUDIENCE_RELIST_UPDATES,
                              .count = 1,
                              .notifications = {{.type = KIN_EVENT_UPDATE,
                                                 .object = object,
                                                 .old_object = object}}};
    kin__dispatcher_send(&informer->dispatcher, &same);
  }
  c->scope->feed.counters.unchanged++;
  mark(c, slot);
  return 0;
}

/* Whether an update must not be told. */
static bool is_skipped(const kin_informer *informer, const kin_object *old,
                       const kin_object *object) {
  return informer->settings.options.skip_unchanged &&
         !informer->max_bytes.is_keys_only &&
         kin__object_has_same_content(old, object);
}

/* `old` is the previously cached object, or NULL. */
static inline kin__change upsert_of(uint32_t slot, kin_object *old,
                                    kin_object *object) {
  kin__change told = {.slot = slot};
  kin__notification put = {.type = KIN_EVENT_ADD, .object = object};
  if (old != NULL && is_recreated(old, object)) {
    told.notifications[told.count++] =
        (kin__notification){.type = KIN_EVENT_DELETE,
                            .reason = KIN_DELETE_RECREATED,
                            .object = old};
  } else if (old != NULL) {
    put.type = KIN_EVENT_UPDATE;
    put.old_object = old;
  }
  told.notifications[told.count++] = put;
  return told;
}

static void tell_upsert(const change *c, uint32_t slot, kin_object *old) {
  const kin__delta *delta = c->delta;
  kin__change told = upsert_of(slot, old, delta->object);
  if (old == NULL) {
    told.notifications[0].is_initial = delta->is_initial;
  } else if (told.notifications[0].type == KIN_EVENT_UPDATE &&
             is_skipped(c->informer, old, delta->object)) {
    c->scope->feed.counters.unchanged++;
    told.audience = KIN__AUDIENCE_RELIST_UPDATES;
    if (delta->type != KIN_DELTA_REPLACED) {
      return;
    }
  }
  kin__dispatcher_send(&c->informer->dispatcher, &told);
}

static int apply_upsert(const change *c) {
  kin_informer *informer = c->informer;
  const kin__delta *delta = c->delta;
  kin_object *old = NULL;
  uint32_t slot;
  int err = kin__dispatcher_reserve(&informer->dispatcher);
  if (err == 0) {
    err = kin__store_upsert(&informer->store, delta->object, c->hash, &slot,
                            &old);
  }
  if (err != 0) {
    return err;
  }
  mark(c, slot);
  tell_upsert(c, slot, old);
  kin__mutation_check_leaving(informer->mutation_check, old);
  if (old != NULL) {
    kin__object_prefetch_room(old);
  }
  kin__object_unref(old);
  return 0;
}

/* The transform failed on the object, so its state is unknown. The cached state
 * stays, unless it has another uid. */
static int apply_refused(const change *c, uint32_t slot) {
  if (slot == KIN__NO_SLOT) {
    return 0;
  }
  const kin_object *cached = kin__store_at(&c->informer->store, slot)->object;
  if (is_recreated(cached, c->delta->object)) {
    bool is_listed = c->delta->type == KIN_DELTA_REPLACED;
    return take_away(c, slot, is_listed ? KIN_DELETE_RELIST : KIN_DELETE_WATCH,
                     NULL);
  }
  mark(c, slot);
  return 0;
}

/* --- Writes of the program ------------------------------------------------ */

int kin__own_write_reserve(void *ctx) {
  kin_informer *informer = ctx;
  int err = KIN__MORE;
  while (err == KIN__MORE) {
    err = kin__dispatcher_reserve(&informer->dispatcher);
  }
  return err;
}

/* Other content under the same uid and version is no update to listeners,
 * because a handler may put such content for each object that it is given.
 * Filters and lingering indices read the content, so they are given both
 * objects. */
void kin__own_write_tell(void *ctx, uint32_t slot, kin_object *before,
                         kin_object *after) {
  kin_informer *informer = ctx;
  if (before == after) {
    return;
  }
  kin__change told = {.slot = slot,
                      .count = 1,
                      .notifications = {{.type = KIN_EVENT_DELETE,
                                         .reason = KIN_DELETE_PROGRAM,
                                         .object = before}}};
  if (after != NULL) {
    told = upsert_of(slot, before, after);
  }
  if (told.notifications[0].type == KIN_EVENT_UPDATE &&
      (kin__object_is_same_state(before, after) ||
       is_skipped(informer, before, after))) {
    told.audience = KIN__AUDIENCE_FILTERS_AND_WATCHES;
  }
  kin__dispatcher_send(&informer->dispatcher, &told);
  kin__mutation_check_leaving(informer->mutation_check, before);
}

/* --- Deltas --------------------------------------------------------------- */

/* Listeners hear only the deletes of a removed scope. */
static bool is_void(const change *c) {
  return c->scope->is_removed && c->delta->reason != KIN_DELETE_SCOPE_REMOVED;
}

static int apply_delta(const change *c) {
  if (is_void(c)) {
    return 0;
  }
  kin_store *store = &c->informer->store;
  uint32_t slot =
      kin__store_find(store, kin_object_key(c->delta->object), c->hash);
  if (c->delta->type == KIN_DELTA_DELETED) {
    return apply_delete(c, slot);
  }
  if (c->informer->transform != NULL &&
      kin__object_has_no_text(c->delta->object)) {
    return apply_refused(c, slot);
  }
  if (slot != KIN__NO_SLOT && is_same(c, kin__store_at(store, slot)->object)) {
    return apply_unchanged(c, slot);
  }
  return apply_upsert(c);
}

/* Applies all deltas of the oldest key. The rest is applied later if memory
 * runs out, if the dispatcher has a change in hand, or if the slice is over
 * (both KIN__MORE). Applied deltas are skipped then: a repeated deletion would
 * hit the object that was added after it. They stay in front, since a queue
 * only appends to a key's deltas or replaces the last. */
static int process_key(kin_informer *informer, const kin__deltas *deltas,
                       kin__slice *slice) {
  for (bool is_next = false; informer->applied < deltas->count;
       informer->applied++, is_next = true) {
    if (is_next && !kin__slice_next(slice)) {
      return KIN__MORE;
    }
    const kin__delta *delta = &deltas->items[informer->applied];
    change c = {.informer = informer,
                .scope = informer->scopes.places[delta->scope],
                .delta = delta,
                .hash = deltas->hash};
    int err = apply_delta(&c);
    if (err < 0) {
      kin__scope_failed(c.scope, err, "storing an object",
                        kin_object_key(delta->object).data);
    }
    if (err != 0) {
      return err;
    }
  }
  informer->applied = 0;
  return 0;
}

/* The queue has room: waiting applies and paused feeds go on. */
static void wake_waiters(kin_informer *informer) {
  kin__applies_wake(informer);
  while (!kin__link_is_empty(&informer->paused)) {
    kin__feed_resume(
        KIN__CONTAINER_OF(informer->paused.next, kin_feed, paused_node));
  }
}

static kin_object *cached_under(const kin_store *store, uint32_t hash) {
  uint32_t slot = kin__map_first(&store->map, hash);
  return slot != KIN__NO_SLOT ? kin__store_at(store, slot)->object : NULL;
}

/* Prefetches the slots and objects of the next keys. A key's cache misses depend
 * on each other; those of several keys overlap. */
static void warm(const kin_informer *informer) {
  const kin_store *store = &informer->store;
  kin__deltas deltas;
  kin_object *cached[KEYS_WARMED];
  uint32_t hashes[KEYS_WARMED];
  uint32_t id = KIN__NO_SLOT;
  unsigned count = 0;
  while (count < KEYS_WARMED &&
         kin__delta_fifo_next(&informer->fifo, &id, &deltas)) {
    hashes[count] = deltas.hash;
    kin__map_prefetch_head(&store->map, hashes[count++]);
  }
  for (unsigned i = 0; i < count; i++) {
    kin__map_prefetch_first(&store->map, hashes[i]);
  }
  unsigned found = 0;
  for (unsigned i = 0; i < count; i++) {
    kin_object *object = cached_under(store, hashes[i]);
    if (object != NULL) {
      kin__object_prefetch(object);
      cached[found++] = object;
    }
  }
  for (unsigned i = 0; i < found; i++) {
    kin__object_prefetch_rest(cached[i]);
  }
  for (unsigned i = 0; i < found; i++) {
    kin__object_prefetch_region(cached[i]);
  }
}

/* Processes some keys. Returns KIN__MORE if the dispatcher needs another step
 * first. Errors: KIN_ENOMEM. */
static int process_keys(kin_informer *informer) {
  kin__deltas deltas;
  int err = kin__dispatcher_continue(&informer->dispatcher);
  if (err != 0) {
    return err;
  }
  kin__slice slice = kin__slice_begin(informer->env->sched, KEYS_PER_STEP);
  for (unsigned i = 0; kin__slice_next(&slice); i++) {
    if (i % KEYS_WARMED == 0) {
      warm(informer);
    }
    if (!kin__delta_fifo_peek(&informer->fifo, &deltas)) {
      break;
    }
    err = process_key(informer, &deltas, &slice);
    if (err != 0) {
      return err;
    }
    kin__delta_fifo_drop(&informer->fifo);
    informer->processed_keys++;
  }
  return 0;
}

bool kin__handle_deltas_step(kin__task *task) {
  kin_informer *informer = KIN__CONTAINER_OF(task, kin_informer, process_task);
  const kin__env *env = informer->env;
  uint64_t began_ns = kin__clock_ns(&env->clock);
  int err = process_keys(informer);
  kin__small_histogram_add(&informer->process_us, env->allocator,
                           (kin__clock_ns(&env->clock) - began_ns) / 1000u, 1);
  kin__version_waits_processed(informer);
  if (err < 0) {
    kin__informer_try_later(informer);
    return false;
  }
  if (informer->fifo.depth == 0) {
    kin__max_bytes_settle(informer);
  }
  uint32_t low = kin__max_bytes_is_near(informer) ? 1 : KIN__QUEUE_LOW;
  if (informer->fifo.deltas < low) {
    wake_waiters(informer);
  }
  if (informer->member.is_closing) {
    return false; /* the program's source has closed it */
  }
  /* Frees the memory of deleted objects even if no object is added. */
  (void)kin__arena_collect(env->memory->arena,
                           kin__sched_pieces(env->sched, KEYS_PER_STEP));
  bool has_more = informer->fifo.depth > 0 ||
                  kin__dispatcher_is_sending(&informer->dispatcher);
  if (!has_more) {
    kin__defragment_wake(informer);
  }
  return has_more;
}
