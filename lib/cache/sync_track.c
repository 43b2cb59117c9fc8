/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/sync_track.h>

#include <assert.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/map.h"
#include "base/options.h"
#include "base/str.h"
#include "store/store.h"

/* Both trackers are a kin_sync_counter. The set also knows the keys. */

static void check(kin_sync_counter *counter) {
  if (counter->upstream_has_synced && counter->under_way == 0) {
    counter->has_synced = true;
  }
}

void kin_sync_counter_start(kin_sync_counter *counter) {
  if (counter != NULL) {
    counter->under_way++;
  }
}

int kin_sync_counter_finish(kin_sync_counter *counter) {
  if (counter == NULL || counter->under_way == 0) {
    return KIN_EINVAL;
  }
  counter->under_way--;
  check(counter);
  return 0;
}

void kin_sync_counter_upstream_synced(kin_sync_counter *counter) {
  if (counter == NULL) {
    return;
  }
  counter->upstream_has_synced = true;
  check(counter);
}

bool kin_sync_counter_has_synced(const kin_sync_counter *counter) {
  return counter != NULL && counter->has_synced;
}

typedef struct entry {
  kin__slot_head head;
  char *key; /* NULL iff the entry is free */
  size_t length;
} entry;

struct kin_sync_set {
  kin_allocator allocator;
  kin__hash_seed seed;
  kin__slots entries;
  kin__map map;
  kin_sync_counter counter; /* under_way: entries in the map */
};

static entry *at(const kin_sync_set *set, uint32_t id) {
  return kin__slots_at(&set->entries, id);
}

static uint32_t find(const kin_sync_set *set, kin_str key, uint32_t hash) {
  uint32_t id = kin__map_first(&set->map, hash);
  while (
      id != KIN__NO_SLOT &&
      !kin__str_equal(kin__str(at(set, id)->key, at(set, id)->length), key)) {
    id = kin__map_next(&set->map, id);
  }
  return id;
}

int kin_sync_set_new(kin_sync_set **out, const kin_allocator *allocator) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  allocator = allocator != NULL ? allocator : kin__default_allocator();
  kin_sync_set *set = kin__calloc(allocator, 1, sizeof *set);
  *out = set;
  if (set == NULL) {
    return KIN_ENOMEM;
  }
  set->allocator = *allocator;
  set->seed = kin__hash_make_seed(set);
  kin__slots_init(&set->entries, &set->allocator, sizeof(entry));
  kin__map_init(&set->map, &set->allocator, &set->entries);
  return 0;
}

void kin_sync_set_free(kin_sync_set *set) {
  if (set == NULL) {
    return;
  }
  for (uint32_t id = 0; id < kin__slots_limit(&set->entries); id++) {
    kin__free(&set->allocator, at(set, id)->key);
  }
  kin__map_finish(&set->map);
  kin__slots_finish(&set->entries);
  kin_allocator allocator = set->allocator;
  kin__free(&allocator, set);
}

int kin_sync_set_start(kin_sync_set *set, kin_str key) {
  if (set == NULL) {
    return KIN_EINVAL;
  }
  key = kin__str_given(key);
  uint32_t hash = kin__hash(&set->seed, key);
  if (find(set, key, hash) != KIN__NO_SLOT) {
    return 0;
  }
  uint32_t id = KIN__NO_SLOT;
  char *copy = kin__strndup(&set->allocator, key.data, key.length);
  int err = copy != NULL ? kin__map_reserve(&set->map) : KIN_ENOMEM;
  if (err == 0) {
    err = kin__slots_take(&set->entries, &id);
  }
  if (err != 0) {
    kin__free(&set->allocator, copy);
    return err;
  }
  at(set, id)->key = copy;
  at(set, id)->length = key.length;
  err = kin__map_insert(&set->map, hash, id);
  assert(err == 0);
  kin_sync_counter_start(&set->counter);
  return err;
}

void kin_sync_set_finish(kin_sync_set *set, kin_str key) {
  if (set == NULL) {
    return;
  }
  key = kin__str_given(key);
  uint32_t id = find(set, key, kin__hash(&set->seed, key));
  if (id != KIN__NO_SLOT) {
    kin__free(&set->allocator, at(set, id)->key);
    kin__map_remove(&set->map, id);
    kin__slots_give(&set->entries, id);
    kin_sync_counter_finish(&set->counter);
  }
}

void kin_sync_set_upstream_synced(kin_sync_set *set) {
  if (set != NULL) {
    kin_sync_counter_upstream_synced(&set->counter);
  }
}

bool kin_sync_set_has_synced(const kin_sync_set *set) {
  return set != NULL && set->counter.has_synced;
}

size_t kin_sync_set_count(const kin_sync_set *set) {
  return set != NULL ? set->counter.under_way : 0;
}

struct kin_lazy {
  kin_allocator allocator;
  kin_lazy_options options;
  uint64_t generation; /* number of notices */
  void *value;         /* owned if has_value */
  bool has_value;
  bool is_current; /* value was made after the last notice */
  bool is_busy;    /* evaluate or release is running: no value may come */
};

static void release(kin_lazy *lazy) {
  bool has_value = lazy->has_value;
  lazy->has_value = lazy->is_current = false;
  if (has_value && lazy->options.release != NULL) {
    lazy->is_busy = true;
    lazy->options.release(lazy->value, lazy->options.data);
    lazy->is_busy = false;
  }
}

int kin_lazy_new(kin_lazy **out, const kin_lazy_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_lazy_options o;
  int err = kin__options_copy(&o, sizeof o, options,
                              KIN__FIRST_SIZE(kin_lazy_options));
  if (err == 0 && o.evaluate == NULL) {
    err = KIN_EINVAL;
  }
  if (err != 0) {
    return err;
  }
  const kin_allocator *allocator =
      o.allocator != NULL ? o.allocator : kin__default_allocator();
  kin_lazy *lazy = kin__calloc(allocator, 1, sizeof *lazy);
  if (lazy == NULL) {
    return KIN_ENOMEM;
  }
  lazy->allocator = *allocator;
  lazy->options = o;
  lazy->options.allocator = NULL; /* there is a copy */
  *out = lazy;
  return 0;
}

void kin_lazy_free(kin_lazy *lazy) {
  if (lazy == NULL) {
    return;
  }
  release(lazy);
  kin_allocator allocator = lazy->allocator;
  kin__free(&allocator, lazy);
}

int kin_lazy_get(kin_lazy *lazy, void **value) {
  if (lazy == NULL || value == NULL) {
    return KIN_EINVAL;
  }
  if (lazy->is_busy) {
    return KIN_EALREADY;
  }
  if (!lazy->is_current) {
    uint64_t generation = lazy->generation;
    void *made = NULL;
    lazy->is_busy = true;
    int err = lazy->options.evaluate(&made, lazy->options.data);
    lazy->is_busy = false;
    if (err != 0) {
      return err;
    }
    release(lazy);
    lazy->value = made;
    lazy->has_value = true;
    lazy->is_current = generation == lazy->generation;
  }
  *value = lazy->value;
  return 0;
}

void kin_lazy_notify(kin_lazy *lazy) {
  if (lazy == NULL) {
    return;
  }
  lazy->generation++;
  if (!lazy->is_busy) {
    release(lazy);
  }
  lazy->is_current = false;
}

uint64_t kin_lazy_generation(const kin_lazy *lazy) {
  return lazy != NULL ? lazy->generation : 0;
}

bool kin_lazy_offer(kin_lazy *lazy, uint64_t generation, void *value) {
  if (lazy == NULL || lazy->is_busy || lazy->is_current ||
      generation != lazy->generation) {
    return false;
  }
  release(lazy);
  lazy->value = value;
  lazy->has_value = true;
  lazy->is_current = generation == lazy->generation;
  return true;
}
