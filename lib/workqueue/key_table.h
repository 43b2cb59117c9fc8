/* SPDX-License-Identifier: MIT */
#ifndef KIN_WORKQUEUE_KEY_TABLE_H
#define KIN_WORKQUEUE_KEY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/str.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/slots.h"

/* Elements that are found by a key of any bytes, which the table copies. No
 * operation is O(elements), see base/map.h.
 *
 * An element is one block: the owner's struct, which begins with a
 * kin__key_head, and behind it the key. The map's chains link small slots that
 * point to the blocks. So a walk along a chain stays in few cache lines, and of
 * an element that is gone 16 bytes are kept. (With the elements in the slots, a
 * look-up among 1,000,000 keys took twice the time.) */
typedef struct kin__key_head {
  uint32_t id; /* of the slot */
  uint32_t length : 31;
  uint32_t is_held : 1; /* the owner's: kin__key_table_clear_step leaves the
                         * element to the owner */
} kin__key_head;

typedef struct kin__key_table {
  const kin_allocator *allocator;
  kin__hash_seed seed;
  kin__slots slots;
  kin__map map;
  uint32_t element_size;
  uint32_t max; /* elements */
} kin__key_table;

#define KIN__KEY_TABLE_MAX 16777216u

/* Allocates nothing. The allocator must outlive the table. */
void kin__key_table_init(kin__key_table *table, const kin_allocator *allocator,
                         kin__hash_seed seed, uint32_t element_size,
                         uint32_t max);

static inline uint32_t kin__key_table_count(const kin__key_table *table) {
  return table->map.count;
}

/* An element's key, which lives as long as the element. */
kin_str kin__key_table_key(const kin__key_table *table, const void *element);

/* The element with that key, or NULL. */
void *kin__key_table_find(const kin__key_table *table, kin_str key);

/* The element with that key, which is made if there is none: zero but for its
 * head. Errors: KIN_ETOOBIG (the table is full), KIN_ENOMEM. */
int kin__key_table_take(kin__key_table *table, kin_str key, void **element);

/* Frees an element and its key. */
void kin__key_table_give(kin__key_table *table, void *element);

/* Frees up to `count` elements and segments. Returns whether anything is left.
 * From then on only this function may be called. Elements that are held are the
 * owner's then. */
bool kin__key_table_clear_step(kin__key_table *table, uint32_t count);

#endif /* KIN_WORKQUEUE_KEY_TABLE_H */
