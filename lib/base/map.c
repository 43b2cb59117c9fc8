/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <kin/error.h>

/* Linear hashing: there are `buckets` chains, numbered from 0. A hash belongs
 * to chain hash & mask. If that chain does not exist yet, the hash belongs to
 * the chain half the table below, from which it will be split off. */

#define MIN_BUCKETS 16u

void kin__map_init(kin__map *map, const kin_allocator *allocator,
                   kin__slots *slots) {
  *map = (kin__map){.allocator = allocator, .slots = slots};
}

void kin__map_finish(kin__map *map) {
  kin__segments_finish(&map->heads, map->allocator);
  kin__map_init(map, map->allocator, map->slots);
}

static uint32_t *chain(const kin__map *map, uint32_t bucket) {
  return kin__segments_at(&map->heads, bucket, sizeof(uint32_t));
}

static kin__slot_head *head_of(const kin__map *map, uint32_t id) {
  return kin__slots_at(map->slots, id);
}

static uint32_t bucket_of(const kin__map *map, uint32_t hash) {
  uint32_t bucket = hash & map->mask;
  return bucket < map->buckets ? bucket : bucket & (map->mask >> 1);
}

/* Makes sure that the chain head `bucket`, the next one, has memory. */
static int reserve_head(kin__map *map, uint32_t bucket) {
  return bucket < kin__segments_room(&map->heads)
             ? 0
             : kin__segments_add(&map->heads, map->allocator, sizeof(uint32_t));
}

int kin__map_reserve(kin__map *map) {
  if (map->buckets > 0) {
    return 0;
  }
  int err = reserve_head(map, 0);
  if (err == 0) {
    map->buckets = MIN_BUCKETS;
    map->mask = MIN_BUCKETS - 1;
    for (uint32_t i = 0; i < MIN_BUCKETS; i++) {
      *chain(map, i) = KIN__NO_SLOT;
    }
  }
  return err;
}

/* Splits one chain. If memory is out, chains only get longer. */
static void grow(kin__map *map) {
  uint32_t fresh = map->buckets;
  if (fresh == UINT32_C(1) << 31 || reserve_head(map, fresh) != 0) {
    return;
  }
  if (fresh == map->mask + 1) {
    map->mask = map->mask * 2 + 1;
  }
  map->buckets++;
  uint32_t *from = chain(map, fresh & (map->mask >> 1));
  uint32_t *to = chain(map, fresh);
  while (*from != KIN__NO_SLOT) {
    kin__slot_head *head = head_of(map, *from);
    if ((head->hash & map->mask) == fresh) {
      *to = *from;
      to = &head->next;
      *from = head->next;
    } else {
      from = &head->next;
    }
  }
  *to = KIN__NO_SLOT;
}

static void shrink(kin__map *map) {
  uint32_t last = map->buckets - 1;
  uint32_t *to = chain(map, last & (map->mask >> 1));
  while (*to != KIN__NO_SLOT) {
    to = &head_of(map, *to)->next;
  }
  *to = *chain(map, last);
  map->buckets--;
  if (map->buckets == (map->mask >> 1) + 1) {
    map->mask >>= 1;
  }
  /* Half a segment stays besides, so that a count that swings around a
   * segment's border does not allocate each time. */
  uint32_t border = kin__segments_last(&map->heads);
  uint32_t spare =
      border / 2 < KIN__SEGMENT_MAX ? border / 2 : KIN__SEGMENT_MAX;
  if (map->buckets + spare <= border) {
    kin__segments_drop(&map->heads, map->allocator);
  }
}

int kin__map_insert(kin__map *map, uint32_t hash, uint32_t id) {
  int err = kin__map_reserve(map);
  if (err != 0) {
    return err;
  }
  if (map->count >= map->buckets) {
    grow(map);
  }
  uint32_t *first = chain(map, bucket_of(map, hash));
  kin__slot_head *head = head_of(map, id);
  head->hash = hash;
  head->next = *first;
  *first = id;
  map->count++;
  return 0;
}

void kin__map_remove(kin__map *map, uint32_t id) {
  kin__slot_head *head = head_of(map, id);
  uint32_t *link = chain(map, bucket_of(map, head->hash));
  while (*link != id) {
    link = &head_of(map, *link)->next;
  }
  *link = head->next;
  map->count--;
  /* With one merge for each removal, half of the table would stay. A small
   * table gets no second merge, because short bursts would pay for its growing
   * again. */
  uint32_t least = MIN_BUCKETS;
  while (map->buckets > least && map->count < map->buckets / 2) {
    shrink(map);
    least = KIN__SEGMENT_MAX;
  }
}

uint32_t kin__map_first(const kin__map *map, uint32_t hash) {
  if (map->count == 0) {
    return KIN__NO_SLOT;
  }
  uint32_t id = *chain(map, bucket_of(map, hash));
  while (id != KIN__NO_SLOT && head_of(map, id)->hash != hash) {
    id = head_of(map, id)->next;
  }
  return id;
}

uint32_t kin__map_next(const kin__map *map, uint32_t id) {
  uint32_t hash = head_of(map, id)->hash;
  do {
    id = head_of(map, id)->next;
  } while (id != KIN__NO_SLOT && head_of(map, id)->hash != hash);
  return id;
}

void kin__map_prefetch_head(const kin__map *map, uint32_t hash) {
  if (map->count > 0) {
    __builtin_prefetch(chain(map, bucket_of(map, hash)));
  }
}

void kin__map_prefetch_first(const kin__map *map, uint32_t hash) {
  uint32_t id =
      map->count > 0 ? *chain(map, bucket_of(map, hash)) : KIN__NO_SLOT;
  if (id != KIN__NO_SLOT) {
    __builtin_prefetch(head_of(map, id));
  }
}

bool kin__map_drop_segment(kin__map *map) {
  kin__segments_drop(&map->heads, map->allocator);
  return map->heads.count > 0;
}
