/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <kin/error.h>
#include <kin/key.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/key.h"
#include "store/index.h"
#include "store/store.h"

/* Many objects in one call.
 *
 * A replacement is prepared beside the old content and then shown at once, which
 * cannot fail. New keys get their slots while it is prepared, and lose them
 * again if it fails; an object that stays keeps its slot, so a running scan does
 * not meet it twice. Indices are made anew (TS-08): a change of the old ones
 * could be undone only with memory that may not be there. */

typedef struct replacement {
  kin_store *store;
  kin_object **objects; /* transformed, in the caller's order */
  size_t count;         /* of objects; each a reference */
  kin_object **staged;  /* slot -> what it will hold; NULL: it will be free */
  size_t staged_capacity;
  uint32_t *added; /* slots that were taken for new keys */
  size_t added_count;
  size_t capacity; /* of objects and added */
  kin__index *indices;
} replacement;

static void free_indices(kin__index *indices) {
  while (indices != NULL) {
    kin__index *next = indices->next;
    uint32_t budget;
    do {
      budget = UINT32_MAX;
    } while (kin__index_free_step(indices, &budget));
    indices = next;
  }
}

static int allocate(replacement *r, size_t count) {
  const kin_allocator *allocator = r->store->allocator;
  r->capacity = count;
  r->staged_capacity = kin__slots_limit(&r->store->slots) + count;
  if (r->staged_capacity >= KIN__NO_SLOT) {
    return KIN_ENOMEM;
  }
  r->objects = kin__calloc(allocator, count, sizeof *r->objects);
  r->added = kin__calloc(allocator, count, sizeof *r->added);
  r->staged = kin__calloc(allocator, r->staged_capacity, sizeof *r->staged);
  return r->objects != NULL && r->added != NULL && r->staged != NULL
             ? 0
             : KIN_ENOMEM;
}

static void release(replacement *r) {
  const kin_allocator *allocator = r->store->allocator;
  while (r->count > 0) {
    kin_object_unref(r->objects[--r->count]);
  }
  kin__free(allocator, r->objects);
  kin__free(allocator, r->added);
  kin__free(allocator, r->staged);
  free_indices(r->indices);
}

/* Gives a new key its slot. The object is already in it, so that a later one
 * with the same key finds it. */
static int add_slot(replacement *r, kin_object *object, uint32_t hash,
                    uint32_t *slot) {
  kin_store *store = r->store;
  int err = kin__map_reserve(&store->map);
  if (err == 0) {
    err = kin__slots_take(&store->slots, slot);
  }
  if (err != 0) {
    return err;
  }
  kin__store_at(store, *slot)->object = kin_object_ref(object);
  err = kin__map_insert(&store->map, hash, *slot);
  assert(err == 0);
  r->added[r->added_count++] = *slot;
  return err;
}

static int stage(replacement *r, kin_object *object) {
  kin_str key = kin_object_key(object);
  uint32_t hash = kin__store_hash(r->store, key);
  uint32_t slot = kin__store_find(r->store, key, hash);
  int err = 0;
  if (slot == KIN__NO_SLOT) {
    err = add_slot(r, object, hash, &slot);
  }
  if (err == 0) {
    r->staged[slot] = object;
  }
  return err;
}

static void give_slots_back(replacement *r) {
  kin_store *store = r->store;
  while (r->added_count > 0) {
    uint32_t slot = r->added[--r->added_count];
    kin_object_unref(kin__store_at(store, slot)->object);
    kin__map_remove(&store->map, slot);
    kin__slots_give(&store->slots, slot);
  }
}

static int make_indices(replacement *r) {
  kin__index **link = &r->indices;
  for (kin__index *i = r->store->indices; i != NULL; i = i->next) {
    int err = kin__index_new_like(link, i);
    if (err != 0) {
      return err;
    }
    link = &(*link)->next;
  }
  return 0;
}

static int index_staged(replacement *r, uint32_t slot) {
  kin__index_reader reader;
  kin__index_reader_init(&reader, r->staged[slot]);
  int err = 0;
  for (kin__index *i = r->indices; i != NULL && err == 0; i = i->next) {
    err = kin__index_prepare(i, slot, &reader);
    if (err == 0) {
      kin__index_commit(i, slot);
    }
  }
  kin__index_reader_finish(&reader);
  return err;
}

static int prepare(replacement *r, const kin_object *const *objects,
                   size_t count, kin_str version) {
  int err = allocate(r, count);
  for (size_t i = 0; i < count && err == 0; i++) {
    err = kin__store_transform(r->store, objects[i], &r->objects[i]);
    r->count += err == 0 ? 1 : 0;
  }
  for (size_t i = 0; i < count && err == 0; i++) {
    err = stage(r, r->objects[i]);
  }
  if (err == 0) {
    err = make_indices(r);
  }
  uint32_t limit = kin__slots_limit(&r->store->slots);
  for (uint32_t slot = 0; slot < limit && err == 0; slot++) {
    if (r->staged[slot] != NULL) {
      err = index_staged(r, slot);
    }
  }
  return err == 0 ? kin__store_reserve_version(r->store, version.length) : err;
}

/* Cannot fail. */
static void show(replacement *r) {
  kin_store *store = r->store;
  kin__index *old = store->indices;
  store->indices = r->indices;
  r->indices = old; /* freed with the rest */
  store->bytes = 0;
  uint32_t limit = kin__slots_limit(&store->slots);
  for (uint32_t slot = 0; slot < limit; slot++) {
    kin__store_slot *entry = kin__store_at(store, slot);
    kin_object *had = entry->object;
    if (had == NULL) {
      continue;
    }
    kin_object *has = r->staged[slot];
    if (has != NULL) {
      entry->object = kin_object_ref(has);
      store->bytes += kin_object_memory(has);
    } else {
      kin__map_remove(&store->map, slot);
      kin__slots_give(&store->slots, slot);
    }
    kin_object_unref(had);
  }
}

int kin_store_replace(kin_store *store, const kin_object *const *objects,
                      size_t count, kin_str version) {
  if (store->is_managed || (objects == NULL && count > 0)) {
    return KIN_EINVAL;
  }
  replacement r = {.store = store};
  int err = prepare(&r, objects, count, version);
  if (err == 0) {
    kin__store_set_version(store, version);
    show(&r);
  } else {
    give_slots_back(&r);
  }
  release(&r);
  return err;
}

/* Transactions. */

static int delete_for(kin_store *store, const kin_store_op *op) {
  kin_str key = op->object != NULL ? kin_object_key(op->object) : op->key;
  int err = kin_key_split(key, NULL, NULL);
  if (err == 0) {
    kin_store_delete(store, key); /* absent: nothing to do (TS-09) */
  }
  return err;
}

/* The same as the single operations, but for the version. */
static int apply(kin_store *store, const kin_store_op *op) {
  switch (op->type) {
  case KIN_STORE_PUT:
    return kin__store_put(store, op->object);
  case KIN_STORE_DELETE:
    return delete_for(store, op);
  }
  return KIN_EINVAL;
}

static size_t longest_version(const kin_store_op *ops, size_t count) {
  size_t longest = 0;
  for (size_t i = 0; i < count; i++) {
    if (ops[i].object != NULL) {
      size_t length = kin_object_resource_version(ops[i].object).length;
      longest = length > longest ? length : longest;
    }
  }
  return longest;
}

int kin_store_transact(kin_store *store, kin_store_op *ops, size_t count,
                       size_t *failed) {
  if (ops == NULL && count > 0) {
    return KIN_EINVAL;
  }
  size_t failures = 0;
  int first = 0;
  int memory = kin__store_reserve_version(store, longest_version(ops, count));
  kin_object *last = NULL;
  for (size_t i = 0; i < count; i++) {
    /* The store's reference may be the only one, and go with a deletion. */
    kin_object *object = kin_object_ref(ops[i].object);
    ops[i].error = memory != 0 ? memory : apply(store, &ops[i]);
    if (ops[i].error == 0) {
      kin_object_unref(last);
      last = object;
    } else {
      kin_object_unref(object);
      failures++;
      first = first != 0 ? first : ops[i].error;
    }
  }
  if (last != NULL) {
    kin__store_set_version(store, kin_object_resource_version(last));
    kin_object_unref(last);
  }
  if (failed != NULL) {
    *failed = failures;
  }
  return first;
}
