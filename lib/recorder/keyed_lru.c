/* SPDX-License-Identifier: MIT */
#include "recorder/keyed_lru.h"

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"

int kin__keyed_lru_init(kin__keyed_lru *lru, const kin_allocator *allocator,
                        kin__hash_seed seed, uint32_t max_count) {
  uint32_t size = 16;
  while (size < max_count) {
    size *= 2;
  }
  *lru = (kin__keyed_lru){.allocator = allocator,
                          .seed = seed,
                          .mask = size - 1,
                          .max_count = max_count};
  kin__link_init(&lru->order);
  lru->buckets = kin__calloc(allocator, size, sizeof(kin__lru_node *));
  return lru->buckets != NULL ? 0 : KIN_ENOMEM;
}

void kin__keyed_lru_finish(kin__keyed_lru *lru) {
  if (lru->buckets != NULL) {
    kin__free(lru->allocator, lru->buckets);
    lru->buckets = NULL;
  }
}

kin__lru_node *kin__keyed_lru_find(const kin__keyed_lru *lru, kin_str key) {
  uint32_t hash = kin__hash(&lru->seed, key);
  kin__lru_node *node = lru->buckets[hash & lru->mask];
  while (node != NULL &&
         (node->hash != hash || !kin__str_equal(node->key, key))) {
    node = node->chain;
  }
  return node;
}

void kin__keyed_lru_insert(kin__keyed_lru *lru, kin__lru_node *node) {
  node->hash = kin__hash(&lru->seed, node->key);
  kin__lru_node **bucket = &lru->buckets[node->hash & lru->mask];
  node->chain = *bucket;
  *bucket = node;
  kin__link_init(&node->order);
  kin__link_push(&lru->order, &node->order);
  lru->count++;
}

void kin__keyed_lru_remove(kin__keyed_lru *lru, kin__lru_node *node) {
  kin__lru_node **at = &lru->buckets[node->hash & lru->mask];
  while (*at != node) {
    at = &(*at)->chain;
  }
  *at = node->chain;
  kin__link_remove(&node->order);
  lru->count--;
}

void kin__keyed_lru_touch(kin__keyed_lru *lru, kin__lru_node *node) {
  kin__link_remove(&node->order);
  kin__link_push(&lru->order, &node->order);
}

void kin__keyed_lru_hold(kin__lru_node *node) {
  kin__link_remove(&node->order);
}

kin__lru_node *kin__keyed_lru_oldest(const kin__keyed_lru *lru) {
  return kin__link_is_empty(&lru->order)
             ? NULL
             : KIN__CONTAINER_OF(lru->order.next, kin__lru_node, order);
}
