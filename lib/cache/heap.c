/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/heap.h>

#include <assert.h>

#include "base/alloc.h"
#include "base/first_size.h"
#include "base/map.h"
#include "base/options.h"
#include "base/str.h"
#include "store/store.h"

/* A binary heap of entries that are also found by key. The heap's array is
 * segmented, so growing copies nothing. It maps position -> entry: a kin__slots
 * whose elements are only their head, with the entry's id in `hash`. Positions
 * are taken and given back at the end only. kin__slots takes the id that was
 * given back last, so ids are positions.
 *
 * Invariants: entry and position refer to each other; no entry is less than the
 * one at (position - 1) / 2. */

typedef struct entry {
  kin__slot_head head;
  char *key; /* NUL-terminated; NULL iff the entry is free */
  void *item;
  uint32_t key_length;
  uint32_t position;
} entry;

struct kin_heap {
  kin_allocator allocator;
  kin__hash_seed seed;
  kin__slots entries;
  kin__map map;
  kin__slots order;
  kin_less_cb less;
  void *data;
  bool is_closed;
};

static entry *at(const kin_heap *heap, uint32_t id) {
  return kin__slots_at(&heap->entries, id);
}

static uint32_t id_at(const kin_heap *heap, uint32_t position) {
  const kin__slot_head *place = kin__slots_at(&heap->order, position);
  return place->hash;
}

static void place(kin_heap *heap, uint32_t id, uint32_t position) {
  kin__slot_head *to = kin__slots_at(&heap->order, position);
  to->hash = id;
  at(heap, id)->position = position;
}

static bool is_less(const kin_heap *heap, uint32_t a, uint32_t b) {
  return heap->less(at(heap, a)->item, at(heap, b)->item, heap->data);
}

/* Moves an entry up or down to its place. */
static void settle(kin_heap *heap, uint32_t id) {
  uint32_t position = at(heap, id)->position;
  uint32_t count = heap->map.count;
  while (position > 0 && is_less(heap, id, id_at(heap, (position - 1) / 2))) {
    place(heap, id_at(heap, (position - 1) / 2), position);
    position = (position - 1) / 2;
  }
  for (;;) {
    uint64_t left = 2 * (uint64_t)position + 1;
    if (left >= count) {
      break;
    }
    uint32_t child = (uint32_t)left;
    if (child + 1 < count &&
        is_less(heap, id_at(heap, child + 1), id_at(heap, child))) {
      child++;
    }
    if (!is_less(heap, id_at(heap, child), id)) {
      break;
    }
    place(heap, id_at(heap, child), position);
    position = child;
  }
  place(heap, id, position);
}

static uint32_t find(const kin_heap *heap, kin_str key) {
  uint32_t id = kin__map_first(&heap->map, kin__hash(&heap->seed, key));
  while (id != KIN__NO_SLOT &&
         !kin__str_equal(kin__str(at(heap, id)->key, at(heap, id)->key_length),
                         key)) {
    id = kin__map_next(&heap->map, id);
  }
  return id;
}

int kin_heap_new(kin_heap **out, const kin_heap_options *options) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  kin_heap_options o;
  int err = kin__options_copy(&o, sizeof o, options,
                              KIN__FIRST_SIZE(kin_heap_options));
  if (err == 0 && o.less == NULL) {
    err = KIN_EINVAL;
  }
  if (err != 0) {
    return err;
  }
  const kin_allocator *allocator =
      o.allocator != NULL ? o.allocator : kin__default_allocator();
  kin_heap *heap = kin__calloc(allocator, 1, sizeof *heap);
  if (heap == NULL) {
    return KIN_ENOMEM;
  }
  heap->allocator = *allocator;
  heap->seed = kin__hash_make_seed(heap);
  heap->less = o.less;
  heap->data = o.data;
  kin__slots_init(&heap->entries, &heap->allocator, sizeof(entry));
  kin__slots_init(&heap->order, &heap->allocator, sizeof(kin__slot_head));
  kin__map_init(&heap->map, &heap->allocator, &heap->entries);
  *out = heap;
  return 0;
}

void kin_heap_free(kin_heap *heap) {
  if (heap == NULL) {
    return;
  }
  for (uint32_t id = 0; id < kin__slots_limit(&heap->entries); id++) {
    kin__free(&heap->allocator, at(heap, id)->key);
  }
  kin__map_finish(&heap->map);
  kin__slots_finish(&heap->entries);
  kin__slots_finish(&heap->order);
  kin_allocator allocator = heap->allocator;
  kin__free(&allocator, heap);
}

static int add(kin_heap *heap, kin_str key, void *item) {
  if (key.length > UINT32_MAX) {
    return KIN_ENOMEM;
  }
  char *copy = kin__strndup(&heap->allocator, key.data, key.length);
  uint32_t id = KIN__NO_SLOT;
  uint32_t position = KIN__NO_SLOT;
  int err = copy != NULL ? kin__map_reserve(&heap->map) : KIN_ENOMEM;
  if (err == 0) {
    err = kin__slots_take(&heap->entries, &id);
  }
  if (err == 0) {
    err = kin__slots_take(&heap->order, &position);
  }
  if (err != 0) {
    if (id != KIN__NO_SLOT) {
      kin__slots_give(&heap->entries, id);
    }
    kin__free(&heap->allocator, copy);
    return err;
  }
  assert(position == heap->map.count);
  entry *e = at(heap, id);
  e->key = copy;
  e->key_length = (uint32_t)key.length;
  e->item = item;
  err = kin__map_insert(&heap->map, kin__hash(&heap->seed, key), id);
  assert(err == 0);
  place(heap, id, position);
  settle(heap, id);
  return err;
}

static int check(const kin_heap *heap, kin_str key, const void *item) {
  if (item == NULL) {
    return KIN_EINVAL;
  }
  if (key.length == 0) {
    return KIN_EKEY;
  }
  return heap->is_closed ? KIN_ECLOSED : 0;
}

int kin_heap_put(kin_heap *heap, kin_str key, void *item, void **old) {
  if (old != NULL) {
    *old = NULL;
  }
  if (heap == NULL) {
    return KIN_EINVAL;
  }
  key = kin__str_given(key);
  int err = check(heap, key, item);
  if (err != 0) {
    return err;
  }
  uint32_t id = find(heap, key);
  if (id == KIN__NO_SLOT) {
    return add(heap, key, item);
  }
  if (old != NULL) {
    *old = at(heap, id)->item;
  }
  at(heap, id)->item = item;
  settle(heap, id);
  return 0;
}

int kin_heap_put_new(kin_heap *heap, kin_str key, void *item) {
  if (heap == NULL) {
    return KIN_EINVAL;
  }
  key = kin__str_given(key);
  int err = check(heap, key, item);
  if (err != 0) {
    return err;
  }
  return find(heap, key) == KIN__NO_SLOT ? add(heap, key, item) : KIN_EEXIST;
}

int kin_heap_put_all(kin_heap *heap, const kin_heap_entry *entries,
                     size_t count, size_t *done) {
  if (heap == NULL || (entries == NULL && count > 0)) {
    return KIN_EINVAL;
  }
  size_t i = 0;
  int err = heap->is_closed ? KIN_ECLOSED : 0;
  while (err == 0 && i < count) {
    err = kin_heap_put(heap, entries[i].key, entries[i].item, NULL);
    i += err == 0;
  }
  if (done != NULL) {
    *done = i;
  }
  return err;
}

/* Removes an entry; the last one fills its position. */
static void *take(kin_heap *heap, uint32_t id) {
  entry *e = at(heap, id);
  void *item = e->item;
  uint32_t position = e->position;
  kin__free(&heap->allocator, e->key);
  kin__map_remove(&heap->map, id);
  kin__slots_give(&heap->entries, id);
  uint32_t last = heap->map.count;
  uint32_t moved = id_at(heap, last);
  kin__slots_give(&heap->order, last);
  if (position != last) {
    place(heap, moved, position);
    settle(heap, moved);
  }
  return item;
}

int kin_heap_delete(kin_heap *heap, kin_str key, void **item) {
  if (heap == NULL) {
    return KIN_EINVAL;
  }
  key = kin__str_given(key);
  uint32_t id = find(heap, key);
  if (id == KIN__NO_SLOT) {
    return KIN_ENOENT;
  }
  void *taken = take(heap, id);
  if (item != NULL) {
    *item = taken;
  }
  return 0;
}

int kin_heap_pop(kin_heap *heap, void **item) {
  if (heap == NULL) {
    return KIN_EINVAL;
  }
  if (heap->map.count == 0) {
    return heap->is_closed ? KIN_ECLOSED : KIN_ENOENT;
  }
  void *taken = take(heap, id_at(heap, 0));
  if (item != NULL) {
    *item = taken;
  }
  return 0;
}

void *kin_heap_peek(const kin_heap *heap) {
  if (heap == NULL) {
    return NULL;
  }
  return heap->map.count > 0 ? at(heap, id_at(heap, 0))->item : NULL;
}

void *kin_heap_get(const kin_heap *heap, kin_str key) {
  if (heap == NULL) {
    return NULL;
  }
  key = kin__str_given(key);
  uint32_t id = find(heap, key);
  return id != KIN__NO_SLOT ? at(heap, id)->item : NULL;
}

size_t kin_heap_count(const kin_heap *heap) {
  return heap != NULL ? heap->map.count : 0;
}

bool kin_heap_next(const kin_heap *heap, kin_cursor *cursor, kin_str *key,
                   void **item) {
  if (heap == NULL || cursor == NULL) {
    return false;
  }
  while (cursor->next < kin__slots_limit(&heap->entries)) {
    const entry *e = at(heap, cursor->next++);
    if (e->key == NULL) {
      continue;
    }
    if (key != NULL) {
      *key = kin__str(e->key, e->key_length);
    }
    if (item != NULL) {
      *item = e->item;
    }
    return true;
  }
  return false;
}

void kin_heap_close(kin_heap *heap) {
  if (heap != NULL) {
    heap->is_closed = true;
  }
}

bool kin_heap_is_closed(const kin_heap *heap) {
  return heap != NULL && heap->is_closed;
}
