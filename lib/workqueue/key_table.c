/* SPDX-License-Identifier: MIT */
#include "workqueue/key_table.h"

#include <assert.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

typedef struct slot {
  kin__slot_head head;
  kin__key_head *element; /* NULL iff the slot is free */
} slot;

static slot *slot_at(const kin__key_table *table, uint32_t id) {
  return kin__slots_at(&table->slots, id);
}

void kin__key_table_init(kin__key_table *table, const kin_allocator *allocator,
                         kin__hash_seed seed, uint32_t element_size,
                         uint32_t max) {
  *table = (kin__key_table){.allocator = allocator,
                            .seed = seed,
                            .element_size = element_size,
                            .max = max};
  kin__slots_init(&table->slots, allocator, sizeof(slot));
  kin__map_init(&table->map, allocator, &table->slots);
}

kin_str kin__key_table_key(const kin__key_table *table, const void *element) {
  return kin__str((const char *)element + table->element_size,
                  ((const kin__key_head *)element)->length);
}

static void *find(const kin__key_table *table, kin_str key, uint32_t hash) {
  uint32_t id = kin__map_first(&table->map, hash);
  for (; id != KIN__NO_SLOT; id = kin__map_next(&table->map, id)) {
    kin__key_head *element = slot_at(table, id)->element;
    if (kin__str_equal(kin__key_table_key(table, element), key)) {
      return element;
    }
  }
  return NULL;
}

void *kin__key_table_find(const kin__key_table *table, kin_str key) {
  if (table->map.count == 0) {
    return NULL; /* most often so for a limiter: no hash is needed */
  }
  return find(table, key, kin__hash(&table->seed, key));
}

static int add(kin__key_table *table, kin_str key, uint32_t hash,
               void **element) {
  if (table->map.count >= table->max) {
    return KIN_ETOOBIG;
  }
  kin__key_head *made =
      kin__malloc(table->allocator, table->element_size + key.length);
  int err = made != NULL ? kin__map_reserve(&table->map) : KIN_ENOMEM;
  uint32_t id = KIN__NO_SLOT;
  if (err == 0) {
    err = kin__slots_take(&table->slots, &id);
  }
  if (err != 0) {
    kin__free(table->allocator, made);
    return err;
  }
  memset(made, 0, table->element_size);
  made->id = id;
  made->length = (uint32_t)key.length & INT32_MAX; /* 31 bits */
  if (key.length > 0) {
    memcpy((char *)made + table->element_size, key.data, key.length);
  }
  slot_at(table, id)->element = made;
  err = kin__map_insert(&table->map, hash, id);
  assert(err == 0); /* reserved */
  *element = made;
  return err;
}

int kin__key_table_take(kin__key_table *table, kin_str key, void **element) {
  uint32_t hash = kin__hash(&table->seed, key);
  *element = find(table, key, hash);
  return *element != NULL ? 0 : add(table, key, hash, element);
}

void kin__key_table_give(kin__key_table *table, void *element) {
  uint32_t id = ((const kin__key_head *)element)->id;
  kin__map_remove(&table->map, id);
  kin__slots_give(&table->slots, id);
  kin__free(table->allocator, element);
}

/* From the last slot on; a segment goes when its first slot has gone. */
static bool clear_slots(kin__key_table *table, uint32_t *count) {
  while (table->slots.segments.count > 0) {
    uint32_t first = kin__segments_last(&table->slots.segments);
    for (; table->slots.limit > first; (*count)--) {
      if (*count == 0) {
        return true;
      }
      kin__key_head *element = slot_at(table, --table->slots.limit)->element;
      if (element != NULL && !element->is_held) {
        kin__free(table->allocator, element);
      }
    }
    if (*count == 0) {
      return true;
    }
    (*count)--;
    kin__slots_drop_segment(&table->slots);
  }
  return false;
}

bool kin__key_table_clear_step(kin__key_table *table, uint32_t count) {
  if (clear_slots(table, &count)) {
    return true;
  }
  while (table->map.heads.count > 0) {
    if (count == 0) {
      return true;
    }
    count--;
    kin__map_drop_segment(&table->map);
  }
  kin__slots_finish(&table->slots);
  kin__map_finish(&table->map);
  return false;
}
