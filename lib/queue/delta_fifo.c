/* SPDX-License-Identifier: MIT */
#include "queue/delta_fifo.h"

#include <assert.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/object.h"

/* Nearly every key is popped before its second change comes. So the first delta
 * lies in the entry itself and needs no allocation. */
typedef struct entry {
  kin__slot_head head;
  uint32_t next;     /* key enqueued after this one */
  uint32_t count;    /* deltas; 0 iff the entry is free */
  uint32_t capacity; /* of `items`; 0 while the delta is `one` */
  union {
    kin__delta one;
    kin__delta *items;
  } deltas;
} entry;

static entry *entry_at(const kin__delta_fifo *fifo, uint32_t id) {
  return kin__slots_at(&fifo->entries, id);
}

static kin__delta *deltas_of(entry *e) {
  return e->capacity > 0 ? e->deltas.items : &e->deltas.one;
}

static kin__delta *newest_of(entry *e) {
  return &deltas_of(e)[e->count - 1];
}

void kin__delta_fifo_init(kin__delta_fifo *fifo, const kin_allocator *allocator,
                          kin__hash_seed seed) {
  *fifo = (kin__delta_fifo){.allocator = allocator,
                            .seed = seed,
                            .first = KIN__NO_SLOT,
                            .last = KIN__NO_SLOT};
  kin__slots_init(&fifo->entries, allocator, sizeof(entry));
  kin__map_init(&fifo->map, allocator, &fifo->entries);
}

void kin__delta_fifo_finish(kin__delta_fifo *fifo) {
  while (kin__delta_fifo_clear_step(fifo, SIZE_MAX)) {
  }
  kin__slots_finish(&fifo->entries);
  kin__map_finish(&fifo->map);
}

bool kin__delta_fifo_clear_step(kin__delta_fifo *fifo, size_t count) {
  for (; count > 0 && fifo->depth > 0; count--) {
    entry *e = entry_at(fifo, fifo->first);
    if (e->count > 1) {
      kin__object_unref(newest_of(e)->object);
      e->count--;
      fifo->deltas--;
    } else {
      kin__delta_fifo_drop(fifo);
    }
  }
  return fifo->depth > 0;
}

static uint32_t find(const kin__delta_fifo *fifo, kin_str key, uint32_t hash) {
  uint32_t id = kin__map_first(&fifo->map, hash);
  while (id != KIN__NO_SLOT) {
    const kin__delta *oldest = deltas_of(entry_at(fifo, id));
    if (kin__str_equal(kin_object_key(oldest->object), key)) {
      break;
    }
    id = kin__map_next(&fifo->map, id);
  }
  return id;
}

static void set(kin__delta *to, const kin__delta *delta) {
  *to = *delta;
  kin__object_ref(to->object);
}

/* Appends to a key that has deltas. */
static int append(kin__delta_fifo *fifo, entry *e, const kin__delta *delta) {
  if (e->capacity == 0 || e->count == e->capacity) {
    if (e->capacity > UINT32_MAX / 2) {
      return KIN_ENOMEM;
    }
    uint32_t capacity = e->capacity > 0 ? e->capacity * 2 : 2;
    kin__delta *items = kin__realloc_array(
        fifo->allocator, e->capacity > 0 ? e->deltas.items : NULL, e->capacity,
        capacity, sizeof *items);
    if (items == NULL) {
      return KIN_ENOMEM;
    }
    if (e->capacity == 0) {
      items[0] = e->deltas.one;
    }
    e->deltas.items = items;
    e->capacity = capacity;
  }
  set(&e->deltas.items[e->count], delta);
  e->count++;
  fifo->deltas++;
  return 0;
}

/* Counts an entry with deltas, which is then linked. Cannot fail after
 * kin__map_reserve, or after a removal from the map. */
static void enter(kin__delta_fifo *fifo, uint32_t id, uint32_t hash) {
  int err = kin__map_insert(&fifo->map, hash, id);
  assert(err == 0);
  (void)err;
  fifo->depth++;
  fifo->deltas += entry_at(fifo, id)->count;
}

/* The queue must not be empty. */
static void link_first(kin__delta_fifo *fifo, uint32_t id, uint32_t hash) {
  enter(fifo, id, hash);
  entry_at(fifo, id)->next = fifo->first;
  fifo->first = id;
}

static void link_last(kin__delta_fifo *fifo, uint32_t id, uint32_t hash) {
  enter(fifo, id, hash);
  entry_at(fifo, id)->next = KIN__NO_SLOT;
  if (fifo->last != KIN__NO_SLOT) {
    entry_at(fifo, fifo->last)->next = id;
  } else {
    fifo->first = id;
  }
  fifo->last = id;
}

/* Enqueues a key. */
static int enqueue(kin__delta_fifo *fifo, const kin__delta *delta,
                   uint32_t hash) {
  uint32_t id = KIN__NO_SLOT;
  int err = kin__map_reserve(&fifo->map);
  if (err == 0) {
    err = kin__slots_take(&fifo->entries, &id);
  }
  if (err != 0) {
    return err;
  }
  entry *e = entry_at(fifo, id);
  e->count = 1;
  set(&e->deltas.one, delta);
  link_last(fifo, id, hash);
  return 0;
}

/* DF-04: of two deletions in a row the older stays, because it has the final
 * state. A tombstone may not have it, so the newer replaces it, unless the
 * newer has no object. Deletions of two scopes both stay: the removal of one
 * scope voids its own. */
static void merge_deletion(kin__delta *older, const kin__delta *newer) {
  if (older->is_tombstone && !newer->is_key_only) {
    kin_object *object = older->object;
    set(older, newer);
    kin__object_unref(object);
  }
}

static int append_or_merge(kin__delta_fifo *fifo, uint32_t id,
                           const kin__delta *delta) {
  entry *e = entry_at(fifo, id);
  if (delta->type == KIN_DELTA_DELETED &&
      newest_of(e)->type == KIN_DELTA_DELETED &&
      newest_of(e)->scope == delta->scope) {
    merge_deletion(newest_of(e), delta);
    return 0;
  }
  return append(fifo, e, delta);
}

int kin__delta_fifo_push(kin__delta_fifo *fifo, const kin__delta *delta) {
  kin_str key = kin_object_key(delta->object);
  uint32_t hash = kin__hash(&fifo->seed, key);
  uint32_t id = find(fifo, key, hash);
  if (id != KIN__NO_SLOT) {
    return append_or_merge(fifo, id, delta);
  }
  if (delta->type == KIN_DELTA_DELETED &&
      (fifo->is_known == NULL || !fifo->is_known(fifo->ctx, key, hash))) {
    return 0; /* DF-03 */
  }
  return enqueue(fifo, delta, hash);
}

int kin__delta_fifo_append(kin__delta_fifo *fifo, const kin__delta *delta) {
  kin_str key = kin_object_key(delta->object);
  uint32_t hash = kin__hash(&fifo->seed, key);
  uint32_t id = find(fifo, key, hash);
  return id != KIN__NO_SLOT ? append_or_merge(fifo, id, delta)
                            : enqueue(fifo, delta, hash);
}

static void drop_deltas(kin__delta_fifo *fifo, entry *e) {
  kin__delta *items = deltas_of(e);
  for (uint32_t i = 0; i < e->count; i++) {
    kin__object_unref(items[i].object);
  }
  if (e->capacity > 0) {
    kin__free(fifo->allocator, e->deltas.items);
  }
}

int kin__delta_fifo_set(kin__delta_fifo *fifo, const kin__delta *delta) {
  kin_str key = kin_object_key(delta->object);
  uint32_t hash = kin__hash(&fifo->seed, key);
  uint32_t id = find(fifo, key, hash);
  if (id == KIN__NO_SLOT) {
    return enqueue(fifo, delta, hash);
  }
  entry *e = entry_at(fifo, id);
  kin__delta copy; /* first, because it may be the same object */
  set(&copy, delta);
  drop_deltas(fifo, e);
  fifo->deltas -= e->count - 1;
  e->capacity = 0;
  e->count = 1;
  e->deltas.one = copy;
  return 0;
}

bool kin__delta_fifo_has(const kin__delta_fifo *fifo, kin_str key) {
  return find(fifo, key, kin__hash(&fifo->seed, key)) != KIN__NO_SLOT;
}

static void borrow(const kin__delta_fifo *fifo, uint32_t id,
                   kin__deltas *deltas) {
  entry *e = entry_at(fifo, id);
  *deltas = (kin__deltas){
      .items = deltas_of(e), .count = e->count, .hash = e->head.hash};
}

bool kin__delta_fifo_find(const kin__delta_fifo *fifo, kin_str key,
                          kin__deltas *deltas) {
  uint32_t id = find(fifo, key, kin__hash(&fifo->seed, key));
  if (id != KIN__NO_SLOT) {
    borrow(fifo, id, deltas);
  }
  return id != KIN__NO_SLOT;
}

bool kin__delta_fifo_next(const kin__delta_fifo *fifo, uint32_t *id,
                          kin__deltas *deltas) {
  uint32_t next = *id != KIN__NO_SLOT ? entry_at(fifo, *id)->next : fifo->first;
  if (next == KIN__NO_SLOT) {
    return false;
  }
  *id = next;
  borrow(fifo, next, deltas);
  return true;
}

bool kin__delta_fifo_peek(const kin__delta_fifo *fifo, kin__deltas *deltas) {
  *deltas = (kin__deltas){0};
  if (fifo->depth > 0) {
    borrow(fifo, fifo->first, deltas);
  }
  return fifo->depth > 0;
}

/* The opposite of enter. */
static void leave(kin__delta_fifo *fifo, uint32_t id) {
  fifo->depth--;
  fifo->deltas -= entry_at(fifo, id)->count;
  kin__map_remove(&fifo->map, id);
}

/* Takes the oldest key out; there must be one. */
static uint32_t unlink_first(kin__delta_fifo *fifo) {
  uint32_t id = fifo->first;
  fifo->first = entry_at(fifo, id)->next;
  if (fifo->first == KIN__NO_SLOT) {
    fifo->last = KIN__NO_SLOT;
  }
  leave(fifo, id);
  return id;
}

bool kin__delta_fifo_take_out(kin__delta_fifo *fifo, uint32_t *id,
                              kin__deltas *deltas) {
  if (!kin__delta_fifo_peek(fifo, deltas)) {
    return false;
  }
  *id = unlink_first(fifo);
  return true;
}

void kin__delta_fifo_release(kin__delta_fifo *fifo, uint32_t id) {
  drop_deltas(fifo, entry_at(fifo, id));
  kin__slots_give(&fifo->entries, id);
}

void kin__delta_fifo_forget(kin__delta_fifo *fifo, uint32_t id,
                            uint32_t count) {
  entry *e = entry_at(fifo, id);
  kin__delta *items = deltas_of(e);
  for (uint32_t i = 0; i < count; i++) {
    kin__object_unref(items[i].object);
  }
  e->count -= count;
  memmove(items, items + count, e->count * sizeof *items);
}

void kin__delta_fifo_put_back(kin__delta_fifo *fifo, uint32_t id,
                              bool is_first) {
  entry *e = entry_at(fifo, id);
  uint32_t hash = e->head.hash;
  kin_str key = kin_object_key(deltas_of(e)->object);
  if (find(fifo, key, hash) != KIN__NO_SLOT) {
    kin__delta_fifo_release(fifo, id);
  } else if (is_first && fifo->first != KIN__NO_SLOT) {
    link_first(fifo, id, hash);
  } else {
    link_last(fifo, id, hash);
  }
}

void kin__delta_fifo_drop(kin__delta_fifo *fifo) {
  if (fifo->depth > 0) {
    kin__delta_fifo_release(fifo, unlink_first(fifo));
  }
}

void kin__delta_fifo_truncate(kin__delta_fifo *fifo, uint32_t last) {
  uint32_t id = last != KIN__NO_SLOT ? entry_at(fifo, last)->next : fifo->first;
  while (id != KIN__NO_SLOT) {
    uint32_t next = entry_at(fifo, id)->next;
    leave(fifo, id);
    kin__delta_fifo_release(fifo, id);
    id = next;
  }
  fifo->last = last;
  if (last != KIN__NO_SLOT) {
    entry_at(fifo, last)->next = KIN__NO_SLOT;
  } else {
    fifo->first = KIN__NO_SLOT;
  }
}

void kin__delta_fifo_swap(kin__delta_fifo *a, kin__delta_fifo *b) {
  kin__delta_fifo was_a = *a;
  *a = *b;
  *b = was_a;
  a->map.slots = &a->entries;
  b->map.slots = &b->entries;
}
