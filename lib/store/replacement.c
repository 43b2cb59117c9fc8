/* SPDX-License-Identifier: MIT */
#include "store/replacement.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "object/object.h"
#include "store/index.h"

void kin__replacement_begin(kin__replacement *r, kin_store *store,
                            const kin_object *const *objects, size_t count,
                            kin_str version, bool is_initial) {
  *r = (kin__replacement){.store = store,
                          .objects = objects,
                          .count = count,
                          .listed = count,
                          .version = version,
                          .is_initial = is_initial,
                          .limit = kin__slots_limit(&store->slots),
                          .number = ++store->replacements,
                          .writes = store->writes};
  kin__store_init(&r->other, store->memory, store->seed, false);
}

static void enter(kin__replacement *r, kin__replacement_phase phase) {
  r->phase = phase;
  r->at = 0;
}

/* --- Making the new table ------------------------------------------------- */

/* Adds an empty index to the new table. */
static int add_like(kin__replacement *r, kin__index **link,
                    const kin__index *like) {
  kin__index *index;
  int err = kin__index_new_like(&index, like);
  if (err != 0) {
    return err;
  }
  err = kin__index_source_join(&index->source, r->other.allocator,
                               &r->other.pass);
  if (err != 0) {
    kin__index_free(index);
    return err;
  }
  index->is_tolerant = like->is_tolerant;
  *link = index;
  return 0;
}

/* Empty indices that cover all slots: the new table has no objects yet. */
static int copy_indices(kin__replacement *r) {
  kin__index **link = &r->other.indices;
  for (kin__index *i = r->store->indices; i != NULL; i = i->next) {
    if (*link == NULL) {
      int err = add_like(r, link, i);
      if (err != 0) {
        return err;
      }
    }
    link = &(*link)->next;
  }
  return 0;
}

static int take_step(kin__replacement *r, uint32_t *count) {
  int err = r->at == 0 ? copy_indices(r) : 0;
  for (; err == 0 && *count > 0 && r->at < r->limit; (*count)--) {
    uint32_t slot;
    err = kin__slots_take(&r->other.slots, &slot);
    r->at += err == 0 ? 1 : 0;
  }
  if (err == 0 && r->at == r->limit) {
    enter(r, KIN__REPLACEMENT_FILLING);
  }
  return err;
}

/* The slot of the key in the store, or KIN__NO_SLOT. Marks the slot if handlers
 * will be told. */
static uint32_t mark(const kin__replacement *r, const kin_store *store,
                     kin_str key, uint32_t hash) {
  uint32_t slot = kin__store_find(store, key, hash);
  if (slot != KIN__NO_SLOT && !r->is_silent) {
    kin__store_at(store, slot)->generation = r->number;
  }
  return slot;
}

/* Other code has written to the store: keys may have other slots now, and marks
 * may be wrong. */
static void note_writes(kin__replacement *r) {
  r->is_scattered = r->is_scattered || r->writes != r->store->writes;
}

/* Moves `vacant` to the next slot of the old table that no key claims. New keys
 * take such slots; otherwise each would lengthen the table. The old table only
 * gets longer, whatever other code writes. Each slot passed costs one of
 * *count. Returns false if *count is used up. */
static bool find_vacant(kin__replacement *r, uint32_t *count) {
  while (r->vacant < r->limit) {
    if (kin__store_at(&r->other, r->vacant)->object == NULL &&
        kin__store_at(r->store, r->vacant)->object == NULL) {
      return true;
    }
    r->vacant++;
    if (--*count == 0) {
      return false;
    }
  }
  return true;
}

/* Handlers are not told of the object at that place of the list. */
static int leave_out(kin__replacement *r, size_t place) {
  if (r->is_silent) {
    return 0;
  }
  if (r->left_out == NULL) {
    r->left_out = kin__calloc(r->other.allocator, r->count / 8 + 1, 1);
    if (r->left_out == NULL) {
      return KIN_ENOMEM;
    }
  }
  r->left_out[place / 8] |= (uint8_t)(1u << place % 8);
  return 0;
}

static bool is_left_out(const kin__replacement *r, size_t place) {
  return r->left_out != NULL && (r->left_out[place / 8] >> place % 8 & 1) != 0;
}

/* A key's own slot is taken if the key is listed twice, or if the slot changed
 * hands because other code writes. */
static int fill(kin__replacement *r, const kin_object *object) {
  kin_str key = kin_object_key(object);
  uint32_t hash = kin__store_hash(r->store, key);
  if (r->at >= r->listed &&
      kin__store_find(&r->other, key, hash) != KIN__NO_SLOT) {
    return leave_out(r, r->at);
  }
  uint32_t slot = mark(r, r->store, key, hash);
  bool is_own =
      slot < r->limit && kin__store_at(&r->other, slot)->object == NULL;
  if (!is_own) {
    slot = r->vacant < r->limit ? r->vacant : KIN__NO_SLOT;
  }
  int err;
  kin_object *earlier = NULL;
  /* As long as no other code writes, the same key took a slot that is taken. */
  if (slot != KIN__NO_SLOT &&
      ((is_own && !r->is_scattered) ||
       kin__store_find(&r->other, key, hash) == KIN__NO_SLOT)) {
    err = kin__store_fill(&r->other, object, hash, slot);
  } else {
    err = kin__store_upsert(&r->other, object, hash, &slot, &earlier);
  }
  if (err == 0 && earlier != NULL) {
    /* listed twice: the last counts (ST-02) */
    err = leave_out(r, kin__store_at(&r->other, slot)->scope);
    kin__object_unref(earlier);
  }
  if (err == 0) {
    kin__store_at(&r->other, slot)->scope = (uint32_t)r->at;
  }
  return err;
}

static int fill_step(kin__replacement *r, uint32_t *count) {
  note_writes(r);
  for (; *count > 0 && r->at < r->count; (*count)--) {
    if (!find_vacant(r, count)) {
      return 0;
    }
    kin_object *kept;
    int err = kin__store_transform(r->store, r->objects[r->at], &kept);
    if (err == 0) {
      err = fill(r, kept);
      kin__object_unref(kept);
    }
    if (err != 0) {
      return err;
    }
    r->at++;
  }
  if (r->at == r->count) {
    enter(r, KIN__REPLACEMENT_GIVING);
  }
  return 0;
}

static void give_step(kin__replacement *r, uint32_t *count) {
  for (; *count > 0 && r->at < r->limit; (*count)--) {
    uint32_t slot = (uint32_t)r->at++;
    if (kin__store_at(&r->other, slot)->object == NULL) {
      kin__slots_give(&r->other.slots, slot);
    }
  }
  if (r->at == r->limit) {
    enter(r, KIN__REPLACEMENT_INDEXING);
  }
}

/* Indices are only ever appended. */
static int add_late_index(kin__replacement *r, bool *is_complete) {
  kin__index **link = &r->other.indices;
  kin__index *i = r->store->indices;
  while (i != NULL && *link != NULL) {
    i = i->next;
    link = &(*link)->next;
  }
  *is_complete = i == NULL;
  if (i == NULL) {
    return 0;
  }
  int err = add_like(r, link, i);
  if (err == 0) {
    (*link)->built = 0;
  }
  return err;
}

/* The program may hold a name of an index: names stay with the store. */
static void swap_names(kin__index *a, kin__index *b) {
  for (; a != NULL && b != NULL; a = a->next, b = b->next) {
    char *name = a->name;
    a->name = b->name;
    b->name = name;
  }
}

/* Cannot fail: room for the version has been made. */
static void show(kin__replacement *r) {
  note_writes(r);
  swap_names(r->store->indices, r->other.indices);
  kin__store_swap(r->store, &r->other);
  kin__store_set_version(r->store, r->version);
  if (r->is_silent) {
    enter(r, KIN__REPLACEMENT_TOLD);
    return;
  }
  enter(r,
        r->is_scattered ? KIN__REPLACEMENT_MARKING : KIN__REPLACEMENT_DELETING);
}

static int index_step(kin__replacement *r, uint32_t *count) {
  int err;
  if (kin__store_index_step(&r->other, *count, &err)) {
    *count = 0;
    return err;
  }
  bool is_complete;
  err = add_late_index(r, &is_complete);
  if (err == 0 && is_complete) {
    err = kin__store_reserve_version(r->store, r->version.length);
  }
  if (err == 0 && is_complete) {
    show(r);
  }
  return err;
}

/* --- Telling -------------------------------------------------------------- */

static void mark_step(kin__replacement *r, uint32_t *count) {
  for (; *count > 0 && r->at < r->count; (*count)--) {
    kin_str key = kin_object_key(r->objects[r->at++]);
    (void)mark(r, &r->other, key, kin__store_hash(&r->other, key));
  }
  if (r->at == r->count) {
    enter(r, KIN__REPLACEMENT_DELETING);
  }
}

static void delete_step(kin__replacement *r, uint32_t *count,
                        const kin_process_handlers *handlers) {
  uint32_t limit = kin__slots_limit(&r->other.slots);
  for (; *count > 0 && r->at < limit && !r->is_stopped; (*count)--) {
    kin__store_slot *slot = kin__store_at(&r->other, (uint32_t)r->at++);
    if (slot->object != NULL && slot->generation != r->number &&
        handlers->on_delete != NULL) {
      handlers->on_delete(kin_object_key(slot->object), slot->object, true,
                          handlers->data);
    }
  }
  if (r->at == limit) {
    enter(r, KIN__REPLACEMENT_TELLING);
  }
}

static void tell(const kin__replacement *r, const kin_object *object,
                 const kin_process_handlers *handlers) {
  kin_str key = kin_object_key(object);
  uint32_t slot =
      kin__store_find(&r->other, key, kin__store_hash(&r->other, key));
  if (slot == KIN__NO_SLOT) {
    if (handlers->on_add != NULL) {
      handlers->on_add(object, r->is_initial, handlers->data);
    }
  } else if (handlers->on_update != NULL) {
    handlers->on_update(kin__store_at(&r->other, slot)->object, object,
                        handlers->data);
  }
}

static void tell_step(kin__replacement *r, uint32_t *count,
                      const kin_process_handlers *handlers) {
  for (; *count > 0 && r->at < r->count && !r->is_stopped; (*count)--) {
    size_t place = r->at++;
    if (!is_left_out(r, place)) {
      tell(r, r->objects[place], handlers);
    }
  }
  if (r->at == r->count) {
    enter(r, KIN__REPLACEMENT_TOLD);
  }
}

/* --- Steps ---------------------------------------------------------------- */

int kin__replacement_step(kin__replacement *r, uint32_t count,
                          const kin_process_handlers *handlers) {
  int err = 0;
  while (count > 0 && err == 0 && r->phase != KIN__REPLACEMENT_TOLD &&
         !r->is_stopped) {
    /* For callbacks of the new table. Handlers are called after it is shown. */
    r->store->is_indexing = r->phase < KIN__REPLACEMENT_MARKING;
    switch (r->phase) {
    case KIN__REPLACEMENT_TAKING:
      err = take_step(r, &count);
      break;
    case KIN__REPLACEMENT_FILLING:
      err = fill_step(r, &count);
      break;
    case KIN__REPLACEMENT_GIVING:
      give_step(r, &count);
      break;
    case KIN__REPLACEMENT_INDEXING:
      err = index_step(r, &count);
      break;
    case KIN__REPLACEMENT_MARKING:
      mark_step(r, &count);
      break;
    case KIN__REPLACEMENT_DELETING:
      delete_step(r, &count, handlers);
      break;
    case KIN__REPLACEMENT_TELLING:
      tell_step(r, &count, handlers);
      break;
    case KIN__REPLACEMENT_TOLD:
      break;
    }
    r->store->is_indexing = false;
  }
  if (err != 0) {
    return err;
  }
  return r->phase != KIN__REPLACEMENT_TOLD && !r->is_stopped;
}

bool kin__replacement_clear_step(kin__replacement *r, uint32_t count) {
  if (r->left_out != NULL) {
    kin__free(r->other.allocator, r->left_out);
    r->left_out = NULL;
  }
  return kin__store_clear_step(&r->other, count);
}
