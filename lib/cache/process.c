/* SPDX-License-Identifier: MIT */
#include "cache/process.h"

#include <stdint.h>

#include <kin/error.h>
#include <kin/key.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/str.h"
#include "object/object.h"
#include "store/replacement.h"

/* Applies changes to a store and tells handlers. A replaced object is
 * referenced until the handlers have returned. Everything else is borrowed from
 * the change, which its owner keeps. */

int kin__process_handlers_copy(kin_process_handlers *to,
                               const kin_process_handlers *from,
                               const kin__log *log) {
  if (from == NULL) {
    *to = (kin_process_handlers)KIN_PROCESS_HANDLERS_INIT;
    return 0;
  }
  return kin__options_take(to, sizeof *to, from,
                           KIN__FIRST_SIZE(kin_process_handlers),
                           "kin_process_handlers", log);
}

static bool has_key(const kin_delta *delta) {
  return delta->type >= KIN_DELTA_ADDED && delta->type <= KIN_DELTA_SYNC;
}

/* The key of a change. Its object must have the same key, so that handlers are
 * told of the object that is deleted. */
static int key_of(const kin_delta *delta, kin_str *key) {
  int err = kin_delta_key(delta, key);
  bool is_other = err == 0 && delta->object != NULL &&
                  !kin__str_equal(kin_object_key(delta->object), *key);
  return is_other ? KIN_EKEY : err;
}

/* --- One change ----------------------------------------------------------- */

static void tell_put(const kin_process_handlers *handlers,
                     const kin_object *old_object, const kin_object *object,
                     bool is_initial) {
  if (old_object != NULL) {
    if (handlers->on_update != NULL) {
      handlers->on_update(old_object, object, handlers->data);
    }
  } else if (handlers->on_add != NULL) {
    handlers->on_add(object, is_initial, handlers->data);
  }
}

/* `stored` is the store's object before, or NULL. */
static void tell_delete(const kin_process_handlers *handlers,
                        const kin_delta *delta, const kin_object *stored) {
  if (handlers->on_delete == NULL) {
    return;
  }
  const kin_object *object = delta->object != NULL ? delta->object : stored;
  kin_str key = delta->object != NULL ? kin_object_key(object) : delta->key;
  handlers->on_delete(key, object, delta->is_tombstone, handlers->data);
}

static int put(kin_store *store, const kin_process_handlers *handlers,
               const kin_delta *delta, bool is_initial) {
  if (delta->object == NULL) {
    return KIN_EINVAL;
  }
  kin_object *old;
  int err = kin__store_exchange(store, delta->object, &old);
  if (err == 0) {
    tell_put(handlers, old, delta->object, is_initial);
  }
  kin__object_unref(old);
  return err;
}

/* A deletion that was seen advances the store's version; a tombstone does not
 * (TS-10). */
static int delete (kin_store *store, const kin_process_handlers *handlers,
                   const kin_delta *delta) {
  kin_str key;
  int err = delta->object != NULL || delta->is_tombstone ? key_of(delta, &key)
                                                         : KIN_EINVAL;
  if (err == 0) {
    err = kin_key_split(key, NULL, NULL);
  }
  if (err != 0) {
    return err;
  }
  kin_object *stored = kin__object_ref(kin_store_get(store, key));
  if (delta->is_tombstone) {
    (void)kin_store_delete(store, key); /* the key may be absent */
  } else {
    err = kin_store_delete_object(store, delta->object);
  }
  if (err == 0) {
    tell_delete(handlers, delta, stored);
  }
  kin__object_unref(stored);
  return err;
}

int kin__handle_deltas_one(kin_store *store,
                           const kin_process_handlers *handlers,
                           const kin_delta *delta, bool is_initial) {
  switch (delta->type) {
  case KIN_DELTA_ADDED:
  case KIN_DELTA_UPDATED:
  case KIN_DELTA_REPLACED:
  case KIN_DELTA_SYNC:
    return put(store, handlers, delta, is_initial);
  case KIN_DELTA_DELETED:
    return delete (store, handlers, delta);
  case KIN_DELTA_BOOKMARK:
    return kin_store_bookmark(store, delta->resource_version);
  case KIN_DELTA_REPLACED_ALL:
  case KIN_DELTA_SYNC_ALL:
    break; /* not a single change */
  }
  return KIN_EINVAL;
}

/* --- All objects ---------------------------------------------------------- */

bool kin__handle_deltas_sync_step(const kin_store *store, kin_cursor *cursor,
                                  uint32_t end, uint32_t count,
                                  const bool *is_stopped,
                                  const kin_process_handlers *handlers) {
  for (; count > 0 && cursor->next < end && !*is_stopped; count--) {
    kin_object *object =
        kin__object_ref(kin__store_at(store, cursor->next++)->object);
    if (object != NULL && handlers->on_update != NULL) {
      handlers->on_update(object, object, handlers->data);
    }
    kin__object_unref(object);
  }
  return cursor->next < end && !*is_stopped;
}

static int replace_all(kin_store *store, const kin_process_handlers *handlers,
                       const kin_delta *delta, bool is_initial) {
  if (delta->objects == NULL && delta->object_count > 0) {
    return KIN_EINVAL;
  }
  kin__replacement replacement;
  kin__replacement_begin(&replacement, store, delta->objects,
                         delta->object_count,
                         kin__str_given(delta->resource_version), is_initial);
  int err;
  do {
    err = kin__replacement_step(&replacement, UINT32_MAX, handlers);
  } while (err > 0);
  while (kin__replacement_clear_step(&replacement, UINT32_MAX)) {
  }
  return err;
}

static void sync_all(const kin_store *store,
                     const kin_process_handlers *handlers) {
  static const bool is_stopped = false;
  kin_cursor cursor = {0};
  uint32_t end = kin__slots_limit(&store->slots);
  (void)kin__handle_deltas_sync_step(store, &cursor, end, UINT32_MAX,
                                     &is_stopped, handlers);
}

static int check(const kin_store *store, const kin_process_handlers *handlers,
                 const kin_deltas *deltas, kin_process_handlers *copy) {
  if (store == NULL || store->is_managed || deltas == NULL ||
      (deltas->items == NULL && deltas->count > 0)) {
    return KIN_EINVAL;
  }
  return store->is_indexing ? KIN_EALREADY
                            : kin__process_handlers_copy(copy, handlers, NULL);
}

int kin_process_deltas(kin_store *store, const kin_process_handlers *handlers,
                       const kin_deltas *deltas, bool is_initial) {
  kin_process_handlers h;
  int err = check(store, handlers, deltas, &h);
  for (size_t i = 0; err == 0 && i < deltas->count; i++) {
    const kin_delta *delta = &deltas->items[i];
    if (delta->type == KIN_DELTA_REPLACED_ALL) {
      err = replace_all(store, &h, delta, is_initial);
    } else if (delta->type == KIN_DELTA_SYNC_ALL) {
      sync_all(store, &h);
      break;
    } else {
      err = kin__handle_deltas_one(store, &h, delta, is_initial);
    }
  }
  return err;
}

/* --- A batch -------------------------------------------------------------- */

typedef struct batch {
  kin_store_op *ops;
  kin_object *
      *stored; /* the store's objects before, with a reference each; or NULL */
  size_t count;
} batch;

static int make_op(const kin_delta *delta, kin_store_op *op) {
  bool is_delete = delta->type == KIN_DELTA_DELETED;
  if (!has_key(delta) || (delta->is_tombstone && !is_delete) ||
      (delta->object == NULL && !delta->is_tombstone)) {
    return KIN_EINVAL;
  }
  *op = (kin_store_op){.type = is_delete ? KIN_STORE_DELETE : KIN_STORE_PUT};
  if (!delta->is_tombstone) {
    op->object = delta->object;
  }
  return key_of(delta, &op->key);
}

static int batch_make(batch *b, const kin_store *store,
                      const kin_deltas *deltas) {
  b->ops = kin__calloc(store->allocator, deltas->count, sizeof *b->ops);
  b->stored = kin__calloc(store->allocator, deltas->count, sizeof *b->stored);
  int err = b->ops != NULL && b->stored != NULL ? 0 : KIN_ENOMEM;
  for (size_t i = 0; err == 0 && i < deltas->count; i++) {
    err = make_op(&deltas->items[i], &b->ops[i]);
    if (err == 0) {
      b->stored[i] = kin__object_ref(kin_store_get(store, b->ops[i].key));
      b->count++;
    }
  }
  return err;
}

static void batch_finish(batch *b, const kin_allocator *allocator) {
  for (size_t i = 0; i < b->count; i++) {
    kin__object_unref(b->stored[i]);
  }
  kin__free(allocator, b->stored);
  kin__free(allocator, b->ops);
}

static void batch_tell(const batch *b, const kin_process_handlers *handlers,
                       const kin_deltas *deltas, bool is_initial) {
  for (size_t i = 0; i < b->count; i++) {
    const kin_delta *delta = &deltas->items[i];
    if (b->ops[i].error != 0) {
      continue;
    }
    if (delta->type == KIN_DELTA_DELETED) {
      tell_delete(handlers, delta, b->stored[i]);
    } else {
      tell_put(handlers, b->stored[i], delta->object, is_initial);
    }
  }
}

int kin_process_batch(kin_store *store, const kin_process_handlers *handlers,
                      const kin_deltas *deltas, bool is_initial) {
  kin_process_handlers h;
  int err = check(store, handlers, deltas, &h);
  if (err != 0 || deltas->count == 0) {
    return err;
  }
  batch b = {0};
  err = batch_make(&b, store, deltas);
  if (err == 0) {
    err = kin_store_transact(store, b.ops, b.count, NULL);
    batch_tell(&b, &h, deltas, is_initial);
  }
  batch_finish(&b, store->allocator);
  return err;
}
