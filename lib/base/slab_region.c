/* SPDX-License-Identifier: MIT */

/* Regions of memory, and the slabs that they are cut into. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/mman.h>

#include "base/alloc.h"
#include "base/pages.h"
#include "base/slab_core.h"

#define BLOCK_BYTES ((64u << 10) - (uint32_t)sizeof(kin__region_block))

/* The first piece may have been cut, and be too short. All others are whole, and
 * no region is larger. */
static char *take_pages(kin__arena *arena, size_t bytes) {
  if (arena->ready != NULL && arena->ready->bytes < bytes) {
    (void)kin__arena_drop_ready(arena);
  }
  kin__ready_pages *ready = arena->ready;
  if (ready == NULL) {
    return kin__pages_map(bytes);
  }
  arena->ready_bytes -= bytes;
  ready->bytes -= bytes;
  if (ready->bytes == 0) {
    arena->ready = ready->next;
  }
  return (char *)ready + ready->bytes;
}

static kin__region *map_region(kin__arena *arena, uint32_t class_index) {
  kin__region *region = kin__malloc(
      arena->allocator,
      sizeof *region + KIN__REGION_SLABS * sizeof(struct kin__slab));
  if (region == NULL) {
    return NULL;
  }
  uint32_t cells = kin__slab_class_region_bytes(class_index);
  /* Where a page has more than 4 KiB, there may be room behind the last cell. */
  uint32_t bytes = (uint32_t)kin__pages_round_up(cells);
  char *pages = take_pages(arena, bytes);
  if (pages == NULL) {
    kin__free(arena->allocator, region);
    return NULL;
  }
  uint32_t cell = kin__slab_class_cell_bytes(class_index);
  *region =
      (kin__region){.cells = pages,
                    .capacity = (uint16_t)(cells / KIN__REGION_SLABS / cell),
                    .bytes = bytes,
                    .is_mapped = true};
  return region;
}

static kin__region *allocate_region(kin__arena *arena, uint32_t class_index) {
  uint32_t cell = kin__slab_class_cell_bytes(class_index);
  uint32_t capacity = BLOCK_BYTES / cell;
  kin__region_block *block =
      kin__malloc(arena->allocator, sizeof *block + capacity * cell);
  if (block == NULL) {
    return NULL;
  }
  block->region = (kin__region){.cells = block->cells,
                                .capacity = (uint16_t)capacity,
                                .bytes = capacity * cell};
  return &block->region;
}

static kin__region *new_region(kin__arena *arena, void *owner,
                               uint32_t class_index) {
  kin__region *region = arena->maps_pages ? map_region(arena, class_index)
                                          : allocate_region(arena, class_index);
  if (region == NULL) {
    return NULL;
  }
  region->arena = arena;
  region->owner = owner;
  region->cell_size = kin__slab_class_cell_bytes(class_index);
  region->class_index = (uint16_t)class_index;
  region->allocator = arena->allocator;
  atomic_init(&region->in_use, 0);
  kin__link_init(&region->node);
  KIN__POISON(region->cells, region->bytes);
  if (arena->grew != NULL) {
    arena->grew(arena->grew_ctx, region->bytes);
  }
  return region;
}

/* A bit for each slab. Another thread clears a bit after the close only, when it
 * has done with the slab's memory. */
static unsigned slabs_in_use(const kin__region *region) {
  return atomic_load_explicit(&region->in_use, memory_order_acquire);
}

static bool is_full(const kin__region *region) {
  return slabs_in_use(region) ==
         (region->is_mapped ? (1u << KIN__REGION_SLABS) - 1 : 1u);
}

/* The first of the list has been there for the shortest time, so a region with
 * slabs that have never been in use is the last one: it came into an empty list,
 * and leaves the list without such slabs. */
static kin__region *region_with_room(kin__arena *arena, void *owner,
                                     uint32_t class_index) {
  kin__link *regions = &arena->regions[class_index];
  if (!kin__link_is_empty(regions)) {
    return KIN__CONTAINER_OF(regions->next, kin__region, node);
  }
  kin__region *region = new_region(arena, owner, class_index);
  if (region != NULL) {
    kin__link_push_first(regions, &region->node);
  }
  return region;
}

struct kin__slab *kin__region_take(kin__arena *arena, void *owner,
                                   uint32_t class_index) {
  kin__region *region = region_with_room(arena, owner, class_index);
  if (region == NULL) {
    return NULL;
  }
  uint8_t index = 0;
  while ((slabs_in_use(region) >> index & 1) != 0) {
    index++;
  }
  atomic_fetch_or_explicit(&region->in_use, (unsigned char)(1u << index),
                           memory_order_relaxed);
  if (index == region->opened) {
    region->opened++;
  }
  if (is_full(region)) {
    kin__link_remove(&region->node);
  }
  arena->bytes += kin__region_slab_bytes(region);
  struct kin__slab *slab = (struct kin__slab *)(void *)(region + 1) + index;
  *slab = (struct kin__slab){.region = region, .index = index};
  kin__link_init(&slab->node);
  return slab;
}

/* Whether a slab in use has bytes between two places of the region. */
static bool is_in_use(const kin__region *region, size_t begin, size_t end) {
  size_t bytes = kin__region_slab_bytes(region);
  unsigned slabs = slabs_in_use(region);
  for (size_t i = begin / bytes; begin < end && i * bytes < end; i++) {
    if ((slabs >> i & 1) != 0) {
      return true;
    }
  }
  return false;
}

/* Gives the pages between two places of a mapped region back, and the ones at
 * the ends unless a slab in use has a part of them. */
static void discard(const kin__region *region, size_t begin, size_t end) {
  size_t page = kin__pages_page_bytes();
  size_t first = begin & ~(page - 1);
  size_t last = kin__pages_round_up(end);
  first += is_in_use(region, first, begin) ? page : 0;
  last -= is_in_use(region, end, last) ? page : 0;
  if (first < last) {
    (void)madvise(region->cells + first, last - first, MADV_DONTNEED);
  }
}

static void free_region(kin__region *region) {
  KIN__UNPOISON(region->cells, region->bytes);
  if (region->is_mapped) {
    (void)kin__pages_unmap(region->cells, region->bytes);
  }
  kin__free(region->allocator, region);
}

void kin__region_give(struct kin__slab *slab) {
  kin__region *region = slab->region;
  kin__arena *arena = region->arena;
  arena->bytes -= kin__region_slab_bytes(region);
  if (is_full(region)) {
    kin__link_push_first(&arena->regions[region->class_index], &region->node);
  }
  if (slabs_in_use(region) == 1u << slab->index) {
    kin__link_remove(&region->node);
  }
  kin__region_drop(slab);
}

/* Of two threads that drop slabs side by side at once, each may see the other's
 * slab in use. The page of both then goes with the region. */
void kin__region_drop(struct kin__slab *slab) {
  kin__region *region = slab->region;
  unsigned own = 1u << slab->index;
  if (slabs_in_use(region) != own) {
    size_t bytes = kin__region_slab_bytes(region);
    discard(region, slab->index * bytes, (slab->index + 1) * bytes);
    if (atomic_fetch_and_explicit(&region->in_use, (unsigned char)~own,
                                  memory_order_acq_rel) != own) {
      return;
    }
  }
  free_region(region);
}

void kin__region_trim(const kin__link *regions,
                      const struct kin__slab *newest) {
  if (newest != NULL) {
    const kin__region *region = newest->region;
    size_t begin = newest->index * (size_t)kin__region_slab_bytes(region);
    discard(region, begin + (size_t)newest->used * region->cell_size,
            begin + kin__region_slab_bytes(region));
  }
  if (!kin__link_is_empty(regions)) {
    const kin__region *region =
        KIN__CONTAINER_OF(regions->prev, kin__region, node);
    discard(region, region->opened * (size_t)kin__region_slab_bytes(region),
            region->bytes);
  }
}
