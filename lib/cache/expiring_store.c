/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/expiring_store.h>

#include "base/first_size.h"
#include "base/options.h"
#include "base/str.h"
#include "object/object.h"
#include "store/store.h"

/* A store whose slots remember when they were filled. The time is kept in two
 * numbers of a slot that only informers use. */

struct kin_expiring_store {
  kin_store store; /* first member, see kin__store_new_handle */
  kin_expiring_store_options options;
};

static uint64_t now_ms(const kin_expiring_store *store) {
  return store->options.now_ms(store->options.now_ctx);
}

static void set_time(kin__store_slot *slot, uint64_t now) {
  slot->generation = (uint32_t)now;
  slot->scope = (uint32_t)(now >> 32);
}

static uint64_t stamp_of(const kin__store_slot *slot) {
  return (uint64_t)slot->scope << 32 | slot->generation;
}

/* The program's function must not change the store: the slot would be gone. A
 * look-up from inside of that function finds each object. */
static bool is_expired(kin_expiring_store *store, const kin__store_slot *slot,
                       uint64_t now) {
  uint64_t since = stamp_of(slot);
  uint64_t age = now > since ? now - since : 0;
  const kin_expiring_store_options *o = &store->options;
  if (o->is_expired == NULL) {
    return o->ttl_ms > 0 && age > o->ttl_ms;
  }
  if (store->store.is_indexing) {
    return false;
  }
  store->store.is_indexing = true;
  bool result = o->is_expired(slot->object, age, o->data);
  store->store.is_indexing = false;
  return result;
}

static uint32_t find(const kin_expiring_store *store, kin_str key) {
  return kin__store_find(&store->store, key,
                         kin__store_hash(&store->store, key));
}

int kin_expiring_store_new(kin_expiring_store **out,
                           const kin_expiring_store_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_expiring_store_options o;
  int err = kin__options_copy(&o, sizeof o, options,
                              KIN__FIRST_SIZE(kin_expiring_store_options));
  if (err == 0 && o.now_ms == NULL) {
    err = KIN_EINVAL;
  }
  if (err != 0) {
    return err;
  }
  kin_expiring_store *store = kin__store_new_handle(o.allocator, sizeof *store);
  if (store == NULL) {
    return KIN_ENOMEM;
  }
  store->options = o;
  store->options.allocator = NULL; /* the store has a copy */
  *out = store;
  return 0;
}

void kin_expiring_store_free(kin_expiring_store *store) {
  if (store != NULL) {
    kin__store_free_handle(&store->store);
  }
}

int kin_expiring_store_put(kin_expiring_store *store,
                           const kin_object *object) {
  if (store == NULL || object == NULL) {
    return KIN_EINVAL;
  }
  int err = kin_store_put(&store->store, object);
  if (err == 0) {
    uint32_t slot = find(store, kin_object_key(object));
    set_time(kin__store_at(&store->store, slot), now_ms(store));
  }
  return err;
}

int kin_expiring_store_delete(kin_expiring_store *store, kin_str key) {
  return store != NULL ? kin_store_delete(&store->store, key) : KIN_EINVAL;
}

int kin_expiring_store_delete_object(kin_expiring_store *store,
                                     const kin_object *object) {
  if (store == NULL || object == NULL) {
    return KIN_EINVAL;
  }
  return kin_store_delete_object(&store->store, object);
}

int kin_expiring_store_replace(kin_expiring_store *store,
                               const kin_object *const *objects, size_t count,
                               kin_str version) {
  if (store == NULL || (objects == NULL && count > 0)) {
    return KIN_EINVAL;
  }
  int err = kin_store_replace(&store->store, objects, count, version);
  if (err != 0) {
    return err;
  }
  uint64_t now = now_ms(store);
  uint32_t limit = kin__slots_limit(&store->store.slots);
  for (uint32_t slot = 0; slot < limit; slot++) {
    kin__store_slot *entry = kin__store_at(&store->store, slot);
    if (entry->object != NULL) {
      set_time(entry, now);
    }
  }
  return 0;
}

int kin_expiring_store_bookmark(kin_expiring_store *store, kin_str version) {
  return store != NULL ? kin_store_bookmark(&store->store, version)
                       : KIN_EINVAL;
}

/* The slot's object, or NULL if the object has expired and was removed. */
static const kin_object *get_fresh(kin_expiring_store *store, uint32_t slot,
                                   uint64_t now) {
  const kin__store_slot *entry = kin__store_at(&store->store, slot);
  if (!is_expired(store, entry, now)) {
    return entry->object;
  }
  kin__object_unref(kin__store_remove(&store->store, slot));
  return NULL;
}

const kin_object *kin_expiring_store_get(kin_expiring_store *store,
                                         kin_str key) {
  if (store == NULL) {
    return NULL;
  }
  key = kin__str_given(key);
  uint32_t slot = find(store, key);
  return slot != KIN__NO_SLOT ? get_fresh(store, slot, now_ms(store)) : NULL;
}

const kin_object *kin_expiring_store_next(kin_expiring_store *store,
                                          kin_cursor *cursor) {
  if (store == NULL || cursor == NULL) {
    return NULL;
  }
  uint64_t now = now_ms(store);
  while (kin_store_next(&store->store, cursor) != NULL) {
    const kin_object *object = get_fresh(store, cursor->next - 1, now);
    if (object != NULL) {
      return object;
    }
  }
  return NULL;
}

bool kin_expiring_store_next_key(const kin_expiring_store *store,
                                 kin_cursor *cursor, kin_str *key) {
  if (store == NULL || cursor == NULL || key == NULL) {
    return false;
  }
  const kin_object *object = kin_store_next(&store->store, cursor);
  if (object == NULL) {
    return false;
  }
  *key = kin_object_key(object);
  return true;
}

size_t kin_expiring_store_count(const kin_expiring_store *store) {
  return store != NULL ? kin_store_count(&store->store) : 0;
}

kin_str kin_expiring_store_resource_version(const kin_expiring_store *store) {
  return store != NULL ? kin_store_resource_version(&store->store)
                       : kin__str(NULL, 0);
}
