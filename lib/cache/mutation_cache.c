/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <kin/error.h>
#include <kin/mutation_cache.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/link.h"
#include "base/options.h"
#include "base/str.h"
#include "object/object.h"
#include "object/object_list.h"
#include "store/index.h"
#include "store/store.h"

/* A small map of writes and deletions by key, with a ring in the order of use.
 * Versions here are numbers: an object with another version is refused.
 *
 * A deletion keeps the deleted object for its key, uid and version: at most
 * max_entries of them, for ttl_ms. */

enum { TTL_DEFAULT_MS = 5 * 60 * 1000, MAX_ENTRIES_DEFAULT = 100 };

typedef struct entry {
  kin__slot_head head;
  kin_object *object;  /* one reference */
  uint64_t expires_ms; /* out of date after this time, not at it */
  kin__link used;
  uint32_t id;
  uint32_t round; /* the last look-up by index that met the entry */
  bool is_deletion;
} entry;

struct kin_mutation_cache {
  kin_allocator allocator;
  kin_mutation_cache_options options;
  kin__hash_seed seed;
  kin__slots entries;
  kin__map map;
  kin__link used;    /* least recently used first */
  kin__link dropped; /* to be released at the end of the call */
  uint32_t round;
};

/* Versions. */

static bool trim_number(kin_str *s) {
  for (size_t i = 0; i < s->length; i++) {
    if (s->data[i] < '0' || s->data[i] > '9') {
      return false;
    }
  }
  while (s->length > 0 && s->data[0] == '0') {
    s->data++;
    s->length--;
  }
  return true;
}

int kin_resource_version_compare(kin_str a, kin_str b, int *order) {
  a = kin__str_given(a);
  b = kin__str_given(b);
  if (order == NULL || !trim_number(&a) || !trim_number(&b)) {
    return KIN_EINVAL;
  }
  int difference = kin__str_compare_by_length(a, b);
  *order = (difference > 0) - (difference < 0);
  return 0;
}

static bool has_number(const kin_object *object) {
  kin_str version = kin_object_resource_version(object);
  return trim_number(&version);
}

/* Both versions must be numbers. */
static int compare(const kin_object *a, const kin_object *b) {
  int order = 0;
  kin_resource_version_compare(kin_object_resource_version(a),
                               kin_object_resource_version(b), &order);
  return order;
}

static bool is_same_uid(const kin_object *a, const kin_object *b) {
  kin_str uid = kin_object_uid(a);
  return uid.length > 0 && kin__str_equal(uid, kin_object_uid(b));
}

/* Entries. */

static entry *at(const kin_mutation_cache *cache, uint32_t id) {
  return kin__slots_at(&cache->entries, id);
}

static entry *first(const kin__link *head) {
  return KIN__CONTAINER_OF(head->next, entry, used);
}

/* The object lives until `release`: the program may have got an argument of the
 * call from it. */
static void drop(kin_mutation_cache *cache, entry *e) {
  kin__link_remove(&e->used);
  kin__map_remove(&cache->map, e->id);
  kin__link_push(&cache->dropped, &e->used);
}

/* The end of each call that drops entries. */
static void release(kin_mutation_cache *cache) {
  while (!kin__link_is_empty(&cache->dropped)) {
    entry *e = first(&cache->dropped);
    kin__link_remove(&e->used);
    kin__object_unref(e->object);
    kin__slots_give(&cache->entries, e->id);
  }
}

static uint64_t now_ms(const kin_mutation_cache *cache) {
  return cache->options.now_ms(cache->options.now_ctx);
}

/* The entry of a key, or NULL. Drops an entry that is out of date. */
static entry *find(kin_mutation_cache *cache, kin_str key) {
  uint32_t id = kin__map_first(&cache->map, kin__hash(&cache->seed, key));
  while (id != KIN__NO_SLOT &&
         !kin__str_equal(kin_object_key(at(cache, id)->object), key)) {
    id = kin__map_next(&cache->map, id);
  }
  if (id == KIN__NO_SLOT) {
    return NULL;
  }
  entry *e = at(cache, id);
  if (now_ms(cache) > e->expires_ms) {
    drop(cache, e);
    return NULL;
  }
  return e;
}

static void touch(kin_mutation_cache *cache, entry *e) {
  kin__link_remove(&e->used);
  kin__link_push(&cache->used, &e->used);
}

static int add(kin_mutation_cache *cache, const kin_object *object, entry **e) {
  uint32_t id = KIN__NO_SLOT;
  int err = kin__map_reserve(&cache->map);
  if (err == 0) {
    err = kin__slots_take(&cache->entries, &id);
  }
  if (err != 0) {
    return err;
  }
  *e = at(cache, id);
  (*e)->id = id;
  kin__link_init(&(*e)->used);
  kin_str key = kin_object_key(object);
  err = kin__map_insert(&cache->map, kin__hash(&cache->seed, key), id);
  assert(err == 0);
  return err;
}

/* Stores the object in `e`, or in a new entry if `e` is NULL. */
static int remember(kin_mutation_cache *cache, entry *e,
                    const kin_object *object, bool is_deletion) {
  if (e == NULL) {
    int err = add(cache, object, &e);
    if (err != 0) {
      return err;
    }
  }
  kin_object *old = e->object;
  e->object = kin__object_ref(object);
  kin__object_unref(old);
  e->is_deletion = is_deletion;
  uint64_t now = now_ms(cache);
  uint64_t ttl = cache->options.ttl_ms;
  e->expires_ms = now <= UINT64_MAX - ttl ? now + ttl : UINT64_MAX;
  touch(cache, e);
  if (cache->map.count > cache->options.max_entries) {
    drop(cache, first(&cache->used));
  }
  return 0;
}

/* Life. */

static int check(kin_mutation_cache_options *o,
                 const kin_mutation_cache_options *options) {
  int err = kin__options_copy(o, sizeof *o, options,
                              KIN__FIRST_SIZE(kin_mutation_cache_options));
  if (err != 0) {
    return err;
  }
  if (o->store == NULL || o->now_ms == NULL) {
    return KIN_EINVAL;
  }
  o->ttl_ms = o->ttl_ms > 0 ? o->ttl_ms : TTL_DEFAULT_MS;
  o->max_entries = o->max_entries > 0 ? o->max_entries : MAX_ENTRIES_DEFAULT;
  return 0;
}

int kin_mutation_cache_new(kin_mutation_cache **out,
                           const kin_mutation_cache_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_mutation_cache_options o;
  int err = check(&o, options);
  if (err != 0) {
    return err;
  }
  const kin_allocator *allocator =
      o.allocator != NULL ? o.allocator : kin__default_allocator();
  kin_mutation_cache *cache = kin__calloc(allocator, 1, sizeof *cache);
  if (cache == NULL) {
    return KIN_ENOMEM;
  }
  cache->allocator = *allocator;
  cache->options = o;
  cache->options.allocator = NULL; /* there is a copy */
  cache->seed = kin__hash_make_seed(cache);
  kin__slots_init(&cache->entries, &cache->allocator, sizeof(entry));
  kin__map_init(&cache->map, &cache->allocator, &cache->entries);
  kin__link_init(&cache->used);
  kin__link_init(&cache->dropped);
  *out = cache;
  return 0;
}

void kin_mutation_cache_free(kin_mutation_cache *cache) {
  if (cache == NULL) {
    return;
  }
  kin__link_splice(&cache->dropped, &cache->used);
  release(cache);
  kin__slots_finish(&cache->entries);
  kin__map_finish(&cache->map);
  kin_allocator allocator = cache->allocator;
  kin__free(&allocator, cache);
}

/* Writes and deletions. */

/* Whether the entry says that this object is deleted. Without uids only the
 * same state is known to be of the same object. */
static bool is_deleted(const kin_object *object, const entry *e) {
  bool is_same =
      kin__str_equal(kin_object_uid(object), kin_object_uid(e->object));
  return e->is_deletion && is_same &&
         (kin_object_uid(object).length > 0 || compare(object, e->object) == 0);
}

/* Whether a write says nothing new about the entry's object. */
static bool is_overtaken(const kin_object *object, const entry *e) {
  int order = compare(object, e->object);
  return order < 0 || (e->is_deletion && order == 0) || is_deleted(object, e);
}

int kin_mutation_cache_mutation(kin_mutation_cache *cache,
                                const kin_object *object) {
  if (cache == NULL || object == NULL || !has_number(object)) {
    return KIN_EINVAL;
  }
  entry *e = find(cache, kin_object_key(object));
  bool is_ignored = e != NULL && is_overtaken(object, e);
  int err = is_ignored ? 0 : remember(cache, e, object, false);
  release(cache);
  return err;
}

void kin_mutation_cache_on_put(kin_mutation_cache *cache,
                               const kin_object *object) {
  if (cache == NULL || object == NULL || !has_number(object)) {
    return;
  }
  entry *e = find(cache, kin_object_key(object));
  if (e != NULL && compare(object, e->object) >= 0 && !is_deleted(object, e)) {
    drop(cache, e);
  }
  release(cache);
}

int kin_mutation_cache_on_delete(kin_mutation_cache *cache,
                                 const kin_object *object) {
  if (cache == NULL || object == NULL || !has_number(object)) {
    return KIN_EINVAL;
  }
  entry *e = find(cache, kin_object_key(object));
  bool is_newer = e != NULL && compare(e->object, object) > 0;
  /* A newer entry of another object is a write after the deletion. */
  bool is_ignored = is_newer && !is_same_uid(e->object, object);
  if (is_newer && e->is_deletion) {
    object = e->object; /* a tombstone may have an older state */
  }
  int err = is_ignored ? 0 : remember(cache, e, object, true);
  release(cache);
  return err;
}

/* Look-ups. */

/* The newer of the store's object and the entry; both may be NULL. Drops an
 * entry that the store has overtaken. A deletion stays while the store has the
 * deleted object, in whatever state. */
static const kin_object *newer(kin_mutation_cache *cache,
                               const kin_object *stored, entry *e) {
  if (e == NULL || (stored != NULL && !has_number(stored))) {
    return stored;
  }
  if (stored == NULL) {
    return cache->options.include_adds && !e->is_deletion ? e->object : NULL;
  }
  if (is_deleted(stored, e)) {
    return NULL;
  }
  if (compare(stored, e->object) >= 0) {
    drop(cache, e);
    return stored;
  }
  return e->is_deletion ? NULL : e->object;
}

const kin_object *kin_mutation_cache_get(kin_mutation_cache *cache,
                                         kin_str key) {
  if (cache == NULL) {
    return NULL;
  }
  key = kin__str_given(key);
  const kin_object *stored = kin_store_get(cache->options.store, key);
  entry *e = find(cache, key);
  if (e != NULL && (stored != NULL || cache->options.include_adds)) {
    touch(cache, e);
  }
  const kin_object *object = newer(cache, stored, e);
  release(cache);
  return object;
}

/* The question whether an object has a value in an index. */
typedef struct question {
  kin_str value;
  bool is_met;
} question;

static int match_value(void *ctx, kin_str value) {
  question *q = ctx;
  q->is_met = q->is_met || kin__str_equal(value, q->value);
  return 0;
}

static int has_value(const kin_mutation_cache *cache, const kin__index *index,
                     const kin_object *object, kin_str value, bool *answer) {
  question q = {value, false};
  int err =
      kin__store_visit(cache->options.store, index, object, match_value, &q);
  *answer = err == 0 && q.is_met;
  return err == KIN_ENOMEM ? err : 0;
}

/* Adds the objects that the store finds, sorted by key. So the order of use
 * does not depend on the order in the store. */
static int add_stored(kin_mutation_cache *cache, kin__object_list *list,
                      const char *name, kin_str value) {
  kin_object_list *found;
  int err = kin_store_list_by_index(cache->options.store, name, value, &found);
  for (size_t i = 0; err == 0 && i < found->count; i++) {
    const kin_object *stored = found->objects[i];
    entry *e = find(cache, kin_object_key(stored));
    if (e != NULL) {
      e->round = cache->round;
      touch(cache, e);
    }
    const kin_object *object = newer(cache, stored, e);
    err = object != NULL ? kin__object_list_add(list, object) : 0;
  }
  kin_object_list_free(found);
  return err;
}

/* Adds written objects that the store does not find. This does not count as
 * use. */
static int add_written(kin_mutation_cache *cache, kin__object_list *list,
                       const kin__index *index, kin_str value) {
  uint64_t now = now_ms(cache);
  int err = 0;
  kin__link *next;
  for (kin__link *node = cache->used.next; node != &cache->used && err == 0;
       node = next) {
    next = node->next;
    entry *e = KIN__CONTAINER_OF(node, entry, used);
    if (now > e->expires_ms) {
      drop(cache, e);
      continue;
    }
    if (e->round == cache->round || e->is_deletion) {
      continue;
    }
    const kin_object *stored =
        kin_store_get(cache->options.store, kin_object_key(e->object));
    bool is_met = false;
    err = has_value(cache, index, e->object, value, &is_met);
    if (err == 0 && is_met && newer(cache, stored, e) != stored) {
      err = kin__object_list_add(list, e->object);
    }
  }
  return err;
}

int kin_mutation_cache_by_index(kin_mutation_cache *cache, const char *name,
                                kin_str value, kin_object_list **out) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  value = kin__str_given(value);
  *out = NULL;
  if (cache == NULL || name == NULL) {
    return KIN_EINVAL;
  }
  const kin__index *index = kin__store_index(cache->options.store, name);
  if (index == NULL) {
    return KIN_ENOENT;
  }
  kin__object_list *list = kin__object_list_new(&cache->allocator, 0);
  if (list == NULL) {
    return KIN_ENOMEM;
  }
  cache->round++;
  int err = add_stored(cache, list, name, value);
  if (err == 0 && cache->options.include_adds) {
    err = add_written(cache, list, index, value);
  }
  release(cache);
  if (err != 0) {
    kin_object_list_free(&list->list);
    return err;
  }
  kin__object_list_sort(list);
  *out = &list->list;
  return 0;
}

size_t kin_mutation_cache_count(const kin_mutation_cache *cache) {
  return cache != NULL ? cache->map.count : 0;
}
