/* SPDX-License-Identifier: MIT */
#include "base/slab_core.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/link.h"
#include "base/pages.h"

#define CELL_MAX (8u << 10)
#define MAX_SPARE_SLABS 4u
#define MIN_SPARSE_BYTES ((size_t)2 << 20)
#define COLLECT_PER_TAKE 2u
#define COLLECT_BEFORE_GROWING 64u

/* A slab with room is in the list of its class, the one that got room last in
 * front: its free cell is still in the processor's cache. A slab without room
 * is in no list. A new slab comes into an empty list, so a slab with cells
 * beyond `used` is the last of its list.
 *
 * While the arena is open only the owner's thread writes `live`. After the
 * close every thread counts its own cells down, and the arena gives up its one.
 * The thread that counts down to zero drops the slab, and needs only the slab
 * and its region. `given` is then CLOSED for ever: a thread that reads CLOSED
 * sees all earlier writes of the owner. */
static kin__cell closed_mark;
#define CLOSED (&closed_mark)

kin__arena *kin__arena_new(const kin_allocator *allocator, bool maps_pages) {
  kin__arena *arena = kin__calloc(allocator, 1, sizeof *arena);
  if (arena != NULL) {
    arena->allocator = allocator;
    arena->maps_pages = maps_pages;
    atomic_init(&arena->given, NULL);
    for (size_t i = 0; i < KIN__SLAB_CLASSES; i++) {
      kin__link_init(&arena->lists[i]);
      kin__link_init(&arena->regions[i]);
    }
  }
  return arena;
}

static bool is_listed(const struct kin__slab *slab) {
  return !kin__link_is_empty(&slab->node);
}

/* For a slab that only this thread writes. */
static inline uint32_t live_cells(const struct kin__slab *slab) {
  return atomic_load_explicit(&slab->live, memory_order_relaxed) -
         is_listed(slab);
}

/* After the slab has got its place in a list, or lost it. */
static inline void set_live_cells(struct kin__slab *slab, uint32_t count) {
  atomic_store_explicit(&slab->live, count + is_listed(slab),
                        memory_order_relaxed);
}

static struct kin__slab *add_slab(kin__arena *arena, void *owner,
                                  uint32_t class_index) {
  struct kin__slab *slab = kin__region_take(arena, owner, class_index);
  if (slab != NULL) {
    kin__link_push_first(&arena->lists[class_index], &slab->node);
    set_live_cells(slab, 0);
  }
  return slab;
}

/* The slab loses one count: of a cell, or of the arena. After the close only;
 * legal on any thread. */
static void count_down(struct kin__slab *slab) {
  if (atomic_fetch_sub_explicit(&slab->live, 1, memory_order_acq_rel) == 1) {
    kin__region_drop(slab);
  }
}

static struct kin__slab *first_of(kin__link *list) {
  return KIN__CONTAINER_OF(list->next, struct kin__slab, node);
}

/* A slab of larger cells where a cell has been given back, so that its pages are
 * there; NULL if there is none. */
static struct kin__slab *larger_with_room(kin__arena *arena, uint32_t size,
                                          uint32_t class_index) {
  uint32_t most = size + size / 8;
  while (++class_index < KIN__SLAB_CLASSES &&
         kin__slab_class_cell_bytes(class_index) <= most) {
    kin__link *list = &arena->lists[class_index];
    if (!kin__link_is_empty(list) && first_of(list)->free != NULL) {
      return first_of(list);
    }
  }
  return NULL;
}

static struct kin__slab *slab_with_room(kin__arena *arena, void *owner,
                                        uint32_t size) {
  uint32_t class_index = kin__slab_class_of(size);
  kin__link *list = &arena->lists[class_index];
  kin__arena_collect(arena, COLLECT_PER_TAKE);
  if (kin__link_is_empty(list)) {
    kin__arena_collect(arena, COLLECT_BEFORE_GROWING);
  }
  if (!kin__link_is_empty(list)) {
    return first_of(list);
  }
  struct kin__slab *slab = larger_with_room(arena, size, class_index);
  return slab != NULL ? slab : add_slab(arena, owner, class_index);
}

static kin__cell *take_from(struct kin__slab *slab) {
  const kin__region *region = slab->region;
  uint32_t size = region->cell_size;
  kin__cell *cell = slab->free;
  if (cell != NULL) {
    KIN__UNPOISON(cell, size);
    slab->free = cell->next;
  } else {
    cell = (kin__cell *)(void *)(kin__slab_cells(slab) +
                                 (size_t)slab->used * size);
    KIN__UNPOISON(cell, size);
    slab->used++;
  }
  if (slab->is_spare) {
    slab->is_spare = false;
    region->arena->spare_slabs--;
  }
  region->arena->used_bytes += size;
  uint32_t live = live_cells(slab) + 1;
  if (live == region->capacity) {
    kin__link_remove(&slab->node);
  }
  set_live_cells(slab, live);
  cell->slab = slab;
  return cell;
}

kin__cell *kin__cell_init(void *head, void *owner,
                          void (*release)(kin__cell *cell)) {
  kin__region_block *block = head;
  block->region = (kin__region){.owner = owner, .release = release};
  block->slab = (struct kin__slab){.region = &block->region};
  kin__cell *cell = (kin__cell *)(void *)block->cells;
  cell->slab = &block->slab;
  return cell;
}

size_t kin__cell_head_bytes(void) {
  return offsetof(kin__region_block, cells);
}

static void free_block(kin__cell *cell) {
  kin__region *region = cell->slab->region;
  if (region->is_mapped) {
    (void)kin__pages_unmap(region, region->bytes);
  } else {
    kin__free(region->allocator, region);
  }
}

static kin__cell *take_block(const kin_allocator *allocator, bool maps_pages,
                             void *owner, size_t size) {
  if (size > UINT32_MAX - sizeof(kin__region_block)) {
    return NULL;
  }
  uint32_t bytes = (uint32_t)(sizeof(kin__region_block) + size);
  kin__region *region =
      maps_pages ? kin__pages_map(bytes) : kin__malloc(allocator, bytes);
  if (region == NULL) {
    return NULL;
  }
  kin__cell *cell = kin__cell_init(region, owner, free_block);
  region->allocator = allocator;
  region->is_mapped = maps_pages;
  region->bytes = bytes;
  return cell;
}

kin__cell *kin__cell_take(kin__arena *arena, const kin_allocator *allocator,
                          void *owner, size_t size) {
  if (size < sizeof(kin__cell)) {
    size = sizeof(kin__cell);
  }
  if (arena == NULL || arena->is_closed) {
    return take_block(allocator, false, owner, size);
  }
  if (size > (arena->maps_pages ? KIN__CELL_MAX_BYTES : CELL_MAX)) {
    return take_block(allocator, arena->maps_pages, owner, size);
  }
  struct kin__slab *slab = slab_with_room(arena, owner, (uint32_t)size);
  return slab != NULL ? take_from(slab) : NULL;
}

void *kin__cell_owner(const kin__cell *cell) {
  return cell->slab->region->owner;
}

void kin__cell_prefetch(const kin__cell *cell) {
  __builtin_prefetch(cell->slab);
}

void kin__cell_prefetch_region(const kin__cell *cell) {
  __builtin_prefetch(cell->slab->region);
}

void kin__cell_give(kin__cell *cell) {
  const kin__region *region = cell->slab->region;
  kin__arena *arena = region->arena;
  if (arena == NULL) {
    region->release(cell);
    return;
  }
  cell->next = atomic_load_explicit(&arena->given, memory_order_acquire);
  do {
    if (cell->next == CLOSED) {
      count_down(cell->slab);
      return;
    }
  } while (!atomic_compare_exchange_weak_explicit(&arena->given, &cell->next,
                                                  cell, memory_order_release,
                                                  memory_order_acquire));
}

/* The cell goes to its slab. An empty slab goes back, but a few are kept. */
static void sort_out(kin__arena *arena, kin__cell *cell) {
  struct kin__slab *slab = cell->slab;
  const kin__region *region = slab->region;
  if (arena->is_closed) {
    count_down(slab);
    return;
  }
  uint32_t live = live_cells(slab);
  if (live == region->capacity) {
    kin__link_push_first(&arena->lists[region->class_index], &slab->node);
  }
  set_live_cells(slab, --live);
  arena->used_bytes -= region->cell_size;
  cell->next = slab->free;
  slab->free = cell;
  KIN__POISON(cell, region->cell_size);
  if (live > 0) {
    return;
  }
  if (arena->spare_slabs < MAX_SPARE_SLABS) {
    slab->is_spare = true;
    arena->spare_slabs++;
  } else {
    kin__link_remove(&slab->node);
    kin__region_give(slab);
  }
}

void kin__cell_give_here(kin__cell *cell) {
  kin__arena *arena = cell->slab->region->arena;
  if (arena == NULL) {
    kin__cell_give(cell);
  } else {
    sort_out(arena, cell);
  }
}

kin__arena_fill kin__arena_get_fill(const kin__arena *arena) {
  kin__arena_fill none = {0, 0};
  return arena != NULL && !arena->is_closed
             ? (kin__arena_fill){arena->bytes, arena->used_bytes}
             : none;
}

bool kin__arena_fill_is_sparse(kin__arena_fill fill) {
  return fill.bytes >= MIN_SPARSE_BYTES &&
         fill.used < fill.bytes - fill.bytes / 4;
}

bool kin__arena_fill_is_news(kin__arena_fill fill, kin__arena_fill last) {
  return kin__arena_fill_is_sparse(fill) &&
         (fill.used < last.used - last.used / 8 ||
          fill.bytes < last.bytes - last.bytes / 8 ||
          fill.bytes > last.bytes + last.bytes / 8);
}

bool kin__cell_is_lonely(const kin__cell *cell, const kin__arena *arena) {
  const struct kin__slab *slab = cell->slab;
  const kin__region *region = slab->region;
  return arena != NULL && region->arena == arena && !arena->is_closed &&
         live_cells(slab) < region->capacity - region->capacity / 4u &&
         arena->lists[region->class_index].next != &slab->node;
}

bool kin__arena_trim_step(kin__arena *arena) {
  if (!arena->maps_pages || arena->is_closed) {
    return false;
  }
  const kin__link *list = &arena->lists[arena->trimming];
  kin__region_trim(&arena->regions[arena->trimming],
                   kin__link_is_empty(list)
                       ? NULL
                       : KIN__CONTAINER_OF(list->prev, struct kin__slab, node));
  arena->trimming = (arena->trimming + 1) % KIN__SLAB_CLASSES;
  return arena->trimming != 0;
}

static bool has_given(const kin__arena *arena) {
  return !arena->is_closed &&
         atomic_load_explicit(&arena->given, memory_order_relaxed) != NULL;
}

bool kin__arena_has_given(const kin__arena *arena) {
  return arena != NULL && (arena->unsorted != NULL || has_given(arena));
}

bool kin__arena_collect(kin__arena *arena, unsigned count) {
  if (arena == NULL) {
    return false;
  }
  for (; count > 0; count--) {
    if (arena->unsorted == NULL) {
      if (!has_given(arena)) {
        return false;
      }
      arena->unsorted =
          atomic_exchange_explicit(&arena->given, NULL, memory_order_acquire);
    }
    kin__cell *cell = arena->unsorted;
    arena->unsorted = cell->next;
    sort_out(arena, cell);
  }
  return kin__arena_has_given(arena);
}

/* After the exchange other threads read nothing of the arena but `given`. */
static void close_arena(kin__arena *arena) {
  assert(arena->unsorted == NULL);
  arena->is_closed = true;
  arena->bytes = 0; /* a full slab is in no list, and goes by its own count */
  arena->unsorted =
      atomic_exchange_explicit(&arena->given, CLOSED, memory_order_acq_rel);
}

bool kin__arena_close_step(kin__arena *arena) {
  if (arena == NULL) {
    return false;
  }
  if (arena->ready != NULL) {
    (void)kin__arena_drop_ready(arena);
    return true;
  }
  if (!arena->is_closed) {
    if (arena->unsorted == NULL) {
      close_arena(arena);
    } else {
      (void)kin__arena_collect(arena, 1);
    }
    return true;
  }
  if (arena->unsorted != NULL) {
    (void)kin__arena_collect(arena, 1);
    return true;
  }
  if (arena->closing == KIN__SLAB_CLASSES) {
    return false;
  }
  kin__link *list = &arena->lists[arena->closing];
  if (kin__link_is_empty(list)) {
    arena->closing++;
  } else {
    struct kin__slab *slab = first_of(list);
    kin__link_remove(&slab->node);
    count_down(slab);
  }
  return true;
}

void kin__arena_free(kin__arena *arena) {
  if (arena == NULL) {
    return;
  }
  while (kin__arena_close_step(arena)) {
  }
  kin__free(arena->allocator, arena);
}
