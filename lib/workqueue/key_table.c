/* SPDX-License-Identifier: MIT */
#include "workqueue/key_table.h"

#include <assert.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

void kin__key_table_init(kin__key_table *table, const kin_allocator *allocator,
                         kin__hash_seed seed, size_t element_size,
                         uint32_t max) {
  *table = (kin__key_table){.allocator = allocator, .seed = seed, .max = max};
  kin__slots_init(&table->slots, allocator, element_size);
  kin__map_init(&table->map, allocator, &table->slots);
}

static uint32_t find(const kin__key_table *table, kin_str key, uint32_t hash) {
  uint32_t id = kin__map_first(&table->map, hash);
  while (id != KIN__NO_SLOT) {
    const kin__key_head *head = kin__key_table_at(table, id);
    if (kin__str_equal(kin__str(head->key, head->length), key)) {
      break;
    }
    id = kin__map_next(&table->map, id);
  }
  return id;
}

uint32_t kin__key_table_find(const kin__key_table *table, kin_str key) {
  if (table->map.count == 0) {
    return KIN__NO_SLOT; /* most often so for a limiter: no hash is needed */
  }
  return find(table, key, kin__hash(&table->seed, key));
}

static int add(kin__key_table *table, kin_str key, uint32_t hash,
               uint32_t *id) {
  if (table->map.count >= table->max) {
    return KIN_ETOOBIG;
  }
  char *copy = kin__strndup(table->allocator, key.data, key.length);
  int err = copy != NULL ? kin__map_reserve(&table->map) : KIN_ENOMEM;
  if (err == 0) {
    err = kin__slots_take(&table->slots, id);
  }
  if (err != 0) {
    kin__free(table->allocator, copy);
    return err;
  }
  kin__key_head *head = kin__key_table_at(table, *id);
  head->key = copy;
  head->length = (uint32_t)key.length;
  err = kin__map_insert(&table->map, hash, *id);
  assert(err == 0); /* reserved */
  return err;
}

int kin__key_table_take(kin__key_table *table, kin_str key, uint32_t *id) {
  uint32_t hash = kin__hash(&table->seed, key);
  *id = find(table, key, hash);
  return *id != KIN__NO_SLOT ? 0 : add(table, key, hash, id);
}

void kin__key_table_give(kin__key_table *table, uint32_t id) {
  kin__key_head *head = kin__key_table_at(table, id);
  kin__free(table->allocator, head->key);
  kin__map_remove(&table->map, id);
  kin__slots_give(&table->slots, id);
}

/* From the last element on; a segment goes when its first element has gone. */
static bool clear_slots(kin__key_table *table, uint32_t *count) {
  while (table->slots.segment_count > 0) {
    uint32_t first = (table->slots.segment_count - 1) << KIN__SLOTS_SHIFT;
    for (; table->slots.limit > first; (*count)--) {
      if (*count == 0) {
        return true;
      }
      kin__key_head *head = kin__key_table_at(table, --table->slots.limit);
      kin__free(table->allocator, head->key);
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
  while (table->map.segment_count > 0) {
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
