/* SPDX-License-Identifier: MIT */
#include "store/store.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/options.h"
#include "base/str.h"
#include "object/key.h"
#include "object/object.h"
#include "store/index.h"

/* A put first finds or takes the slot. Then all indices prepare. Only then it
 * changes anything visible, and from there on nothing can fail. */

void kin__store_init(kin_store *store, kin__memory *memory, kin__hash_seed seed,
                     bool is_managed) {
  *store = (kin_store){.memory = kin__memory_ref(memory),
                       .allocator = &memory->allocator,
                       .seed = seed,
                       .is_managed = is_managed,
                       .clear_left = KIN__NO_SLOT};
  kin__slots_init(&store->slots, store->allocator, sizeof(kin__store_slot));
  kin__map_init(&store->map, store->allocator, &store->slots);
}

/* Readers look at the number of slots, the count of the map and the list of
 * indices before they read anything else. */
void kin__store_hide(kin_store *store) {
  if (store->clear_left == KIN__NO_SLOT) {
    store->clear_left = kin__slots_limit(&store->slots);
    store->slots.limit = 0;
    store->map.count = 0;
    store->hidden = store->indices;
    store->indices = NULL;
    store->bytes = 0;
    store->writes++;
  }
}

static bool clear_slots(kin_store *store, uint32_t *budget) {
  for (; *budget > 0 && store->clear_left > 0; (*budget)--) {
    store->clear_left--;
    kin__object_unref(kin__store_at(store, store->clear_left)->object);
  }
  if (store->clear_left > 0) {
    return true;
  }
  for (; *budget > 0 && store->slots.segments.count > 0; (*budget)--) {
    kin__slots_drop_segment(&store->slots);
  }
  return store->slots.segments.count > 0;
}

static void let_memory_go(kin_store *store) {
  kin__memory_unref(store->memory);
  store->memory = NULL;
  store->allocator = NULL;
}

/* The program may read an informer's empty store until the informer's close
 * callback, and a list of its objects is in the store's memory. */
bool kin__store_clear_step(kin_store *store, uint32_t count) {
  if (store->memory == NULL) {
    return false;
  }
  kin__store_hide(store);
  if (clear_slots(store, &count)) {
    return true;
  }
  while (store->hidden != NULL) {
    kin__index *next = store->hidden->next;
    if (kin__index_free_step(store->hidden, &count)) {
      return true;
    }
    store->hidden = next;
  }
  for (; store->map.heads.count > 0; count--) {
    if (count == 0) {
      return true;
    }
    kin__map_drop_segment(&store->map);
  }
  kin__slots_finish(&store->slots);
  kin__map_finish(&store->map);
  kin__index_pass_free(store->pass);
  store->pass = NULL;
  kin__free(store->allocator, store->version);
  store->version = NULL;
  if (!store->is_managed) {
    let_memory_go(store);
  }
  return false;
}

void kin__store_finish(kin_store *store) {
  while (kin__store_clear_step(store, UINT32_MAX)) {
  }
  if (store->memory != NULL) {
    let_memory_go(store);
  }
}

uint32_t kin__store_hash(const kin_store *store, kin_str key) {
  return kin__hash(&store->seed, key);
}

uint32_t kin__store_find(const kin_store *store, kin_str key, uint32_t hash) {
  uint32_t slot = kin__map_first(&store->map, hash);
  while (slot != KIN__NO_SLOT &&
         !kin__str_equal(kin_object_key(kin__store_at(store, slot)->object),
                         key)) {
    slot = kin__map_next(&store->map, slot);
  }
  return slot;
}

static void cancel_indices(kin_store *store, uint32_t slot,
                           const kin__index *end) {
  for (kin__index *i = store->indices; i != end; i = i->next) {
    kin__index_cancel(i, slot);
  }
}

static void commit_indices(kin_store *store, uint32_t slot) {
  for (kin__index *i = store->indices; i != NULL; i = i->next) {
    kin__index_commit(i, slot);
  }
}

static int prepare_indices(kin_store *store, uint32_t slot,
                           const kin_object *object) {
  kin__index_reader reader;
  kin__index_reader_init(&reader, object, store->pass);
  int err = 0;
  store->is_indexing = true;
  for (kin__index *i = store->indices; i != NULL && err == 0; i = i->next) {
    if (kin__index_covers(i, slot)) {
      err = kin__index_prepare(i, slot, &reader);
      if (err != 0) {
        cancel_indices(store, slot, i);
      }
    }
  }
  store->is_indexing = false;
  kin__index_reader_finish(&reader);
  return err;
}

int kin__store_fill(kin_store *store, const kin_object *object, uint32_t hash,
                    uint32_t slot) {
  int err = kin__map_reserve(&store->map);
  if (err == 0) {
    err = prepare_indices(store, slot, object);
  }
  if (err != 0) {
    return err;
  }
  err = kin__map_insert(&store->map, hash, slot);
  assert(err == 0);
  commit_indices(store, slot);
  kin__store_at(store, slot)->object = kin__object_ref(object);
  store->bytes += kin_object_memory(object);
  store->writes++;
  return err;
}

static int insert(kin_store *store, const kin_object *object, uint32_t hash,
                  uint32_t *slot) {
  int err = kin__slots_take(&store->slots, slot);
  if (err != 0) {
    return err;
  }
  err = kin__store_fill(store, object, hash, *slot);
  if (err != 0) {
    kin__slots_give(&store->slots, *slot);
  }
  return err;
}

static int replace_in(kin_store *store, const kin_object *object, uint32_t slot,
                      kin_object **old) {
  kin__store_slot *entry = kin__store_at(store, slot);
  int err = entry->object != object ? prepare_indices(store, slot, object) : 0;
  if (err != 0) {
    return err;
  }
  commit_indices(store, slot);
  *old = entry->object;
  store->bytes -= kin_object_memory(*old);
  entry->object = kin__object_ref(object);
  store->bytes += kin_object_memory(object);
  store->writes++;
  return 0;
}

int kin__store_upsert(kin_store *store, const kin_object *object, uint32_t hash,
                      uint32_t *slot, kin_object **old) {
  *old = NULL;
  *slot = kin__store_find(store, kin_object_key(object), hash);
  int err = *slot == KIN__NO_SLOT ? insert(store, object, hash, slot)
                                  : replace_in(store, object, *slot, old);
  if (err != 0) {
    *slot = KIN__NO_SLOT;
  }
  return err;
}

kin_object *kin__store_remove(kin_store *store, uint32_t slot) {
  kin_object *object = kin__store_at(store, slot)->object;
  for (kin__index *i = store->indices; i != NULL; i = i->next) {
    kin__index_remove(i, slot);
  }
  kin__map_remove(&store->map, slot);
  kin__slots_give(&store->slots, slot);
  store->bytes -= kin_object_memory(object);
  store->writes++;
  return object;
}

void kin__store_swap(kin_store *a, kin_store *b) {
  kin_store was = *a;
  a->slots = b->slots;
  a->map = b->map;
  a->indices = b->indices;
  a->pass = b->pass;
  a->bytes = b->bytes;
  b->slots = was.slots;
  b->map = was.map;
  b->indices = was.indices;
  b->pass = was.pass;
  b->bytes = was.bytes;
  a->map.slots = &a->slots;
  b->map.slots = &b->slots;
  a->writes++;
  b->writes++;
}

void *kin__store_new_handle(const kin_allocator *allocator, size_t size) {
  kin__memory *memory = kin__memory_new(allocator);
  if (memory == NULL) {
    return NULL;
  }
  kin_store *store = kin__calloc(&memory->allocator, 1, size);
  if (store != NULL) {
    kin__store_init(store, memory, kin__hash_make_seed(store), false);
  }
  kin__memory_unref(memory);
  return store;
}

void kin__store_free_handle(kin_store *store) {
  kin_allocator allocator = *store->allocator;
  kin__store_finish(store);
  kin__free(&allocator, store);
}

static int add_transform(kin_store *store, const kin_store_options *options) {
  store->transform = kin__calloc(store->allocator, 1, sizeof *store->transform);
  return store->transform != NULL
             ? kin__transform_init(store->transform, store->memory,
                                   options->transform, options->data)
             : KIN_ENOMEM;
}

int kin_store_new(kin_store **out, const kin_store_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_store_options o = KIN_STORE_OPTIONS_INIT;
  int err = options != NULL
                ? kin__options_copy(&o, sizeof o, options,
                                    KIN__FIRST_SIZE(kin_store_options))
                : 0;
  if (err != 0) {
    return err;
  }
  kin_store *store = kin__store_new_handle(o.allocator, sizeof *store);
  if (store == NULL) {
    return KIN_ENOMEM;
  }
  err = o.transform != NULL ? add_transform(store, &o) : 0;
  if (err != 0) {
    kin_store_free(store);
    return err;
  }
  *out = store;
  return 0;
}

void kin_store_free(kin_store *store) {
  if (store == NULL || store->is_managed) {
    return;
  }
  if (store->transform != NULL) {
    kin__transform_finish(store->transform);
    kin__free(store->allocator, store->transform);
  }
  kin__store_free_handle(store);
}

int kin__store_transform(const kin_store *store, const kin_object *object,
                         kin_object **out) {
  *out = NULL;
  int err = kin__object_check_key(object);
  if (err != 0) {
    return err;
  }
  if (store->transform == NULL) {
    *out = kin__object_ref(object);
    return 0;
  }
  return kin__transform_run(store->transform, object, 0, out);
}

static int reserve_telling(const kin_store *store) {
  const kin__store_owner *owner = store->owner;
  return owner != NULL && owner->reserve != NULL
             ? owner->reserve(store->owner_ctx)
             : 0;
}

static void tell_owner(kin_store *store, uint32_t slot, kin_object *before) {
  const kin__store_owner *owner = store->owner;
  kin_object *after = kin__store_at(store, slot)->object;
  if (before != after && ++store->own_writes == 0) {
    store->own_writes = 1; /* 0 says that there was none */
  }
  if (owner != NULL && owner->wrote != NULL) {
    owner->wrote(store->owner_ctx, slot, before, after);
  }
}

static bool is_closed(const kin_store *store) {
  return (store->is_managed && store->index_refusal == KIN_ECLOSED) ||
         store->clear_left != KIN__NO_SLOT;
}

int kin__store_put(kin_store *store, const kin_object *object,
                   kin_object **old) {
  *old = NULL;
  int err = kin__object_check_key(object);
  if (err != 0) {
    return err;
  }
  if (is_closed(store)) {
    return KIN_ECLOSED;
  }
  uint32_t hash = kin__store_hash(store, kin_object_key(object));
  uint32_t slot;
  err = reserve_telling(store);
  if (err == 0) {
    err = kin__store_upsert(store, object, hash, &slot, old);
  }
  if (err == 0) {
    tell_owner(store, slot, *old);
  }
  return err;
}

static int put_versioned(kin_store *store, const kin_object *object,
                         kin_object **old) {
  kin_str version =
      object != NULL ? kin_object_resource_version(object) : KIN__LIT("");
  *old = NULL;
  int err = kin__store_begin_write(store, version.length);
  if (err == 0) {
    err = kin__store_put(store, object, old);
  }
  if (err == 0) {
    kin__store_set_version(store, version);
  }
  return err;
}

int kin__store_exchange(kin_store *store, const kin_object *object,
                        kin_object **old) {
  if (store->transform == NULL) {
    return put_versioned(store, object, old);
  }
  *old = NULL;
  kin_object *kept;
  int err = kin__store_transform(store, object, &kept);
  if (err == 0) {
    err = put_versioned(store, kept, old);
    kin__object_unref(kept);
  }
  return err;
}

int kin_store_put(kin_store *store, const kin_object *object) {
  if (store == NULL || object == NULL) {
    return KIN_EINVAL;
  }
  kin_object *old;
  int err = kin__store_exchange(store, object, &old);
  kin__object_unref(old);
  return err;
}

int kin_store_delete(kin_store *store, kin_str key) {
  if (store == NULL) {
    return KIN_EINVAL;
  }
  key = kin__str_given(key);
  if (store->is_indexing) {
    return KIN_EALREADY;
  }
  if (is_closed(store)) {
    return KIN_ECLOSED;
  }
  uint32_t slot = kin__store_find(store, key, kin__store_hash(store, key));
  if (slot == KIN__NO_SLOT) {
    return KIN_ENOENT;
  }
  int err = reserve_telling(store);
  if (err != 0) {
    return err;
  }
  kin_object *old = kin__store_remove(store, slot);
  tell_owner(store, slot, old);
  kin__object_unref(old);
  return 0;
}

int kin_store_delete_object(kin_store *store, const kin_object *object) {
  if (store == NULL || object == NULL) {
    return KIN_EINVAL;
  }
  kin_str version = kin_object_resource_version(object);
  int err = kin__store_begin_write(store, version.length);
  if (err == 0) {
    kin__store_set_version(store, version);
    err = kin_store_delete(store, kin_object_key(object));
  }
  return err != KIN_ENOENT ? err : 0; /* the key may be absent */
}

const kin_object *kin_store_get(const kin_store *store, kin_str key) {
  if (store == NULL) {
    return NULL;
  }
  key = kin__str_given(key);
  uint32_t slot = kin__store_find(store, key, kin__store_hash(store, key));
  return slot != KIN__NO_SLOT ? kin__store_at(store, slot)->object : NULL;
}

const kin_object *kin_store_get_key(const kin_store *store, const char *key) {
  if (store == NULL || key == NULL) {
    return NULL;
  }
  return kin_store_get(store, kin__cstr(key));
}

size_t kin_store_count(const kin_store *store) {
  return store != NULL ? store->map.count : 0;
}

uint64_t kin_store_bytes(const kin_store *store) {
  return store != NULL ? store->bytes : 0;
}

const kin_object *kin_store_next(const kin_store *store, kin_cursor *cursor) {
  if (store == NULL || cursor == NULL) {
    return NULL;
  }
  while (cursor->next < kin__slots_limit(&store->slots)) {
    const kin_object *object = kin__store_at(store, cursor->next++)->object;
    if (object != NULL) {
      return object;
    }
  }
  return NULL;
}
