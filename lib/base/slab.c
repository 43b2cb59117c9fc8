/* SPDX-License-Identifier: MIT */
#include "base/slab_core.h"

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/mman.h>

#include "base/alloc.h"
#include "base/link.h"
#include "base/pages.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, size) ASAN_POISON_MEMORY_REGION(p, size)
#define UNPOISON(p, size) ASAN_UNPOISON_MEMORY_REGION(p, size)
#else
#define POISON(p, size) ((void)(p), (void)(size))
#define UNPOISON(p, size) ((void)(p), (void)(size))
#endif

#define CELL_MAX (8u << 10)
#define BLOCK_BYTES ((64u << 10) - (uint32_t)sizeof(block))
#define MAX_SPARE_SLABS 4u
#define MIN_SPARSE_BYTES ((size_t)2 << 20)
#define CACHE_LINE 64u
#define COLLECT_PER_TAKE 2u
#define COLLECT_BEFORE_GROWING 64u

/* A cell is in `free`, beyond `used`, or in use. `live` counts the cells that
 * are in use or not sorted yet, plus one for the arena while the slab is in one
 * of its lists. A slab with room is in the list of its class, the one that got
 * room last in front: its free cell is still in the processor's cache. A slab
 * without room is in no list. A new slab comes into an empty list, so a slab with
 * cells beyond `used` is the last of its list.
 *
 * While the arena is open only the owner's thread writes `live`. After the
 * close every thread counts its own cells down, and the arena gives up its one.
 * The thread that counts down to zero frees the slab, and needs only the slab
 * itself. `given` is then CLOSED for ever: a thread that reads CLOSED sees all
 * earlier writes of the owner.
 *
 * The struct of a mapped slab lies apart from its cells. At the begin of each
 * mapping, all of the structs would share the few places of a processor's cache
 * that their equal addresses modulo 64 KiB allow, and every event would miss
 * them. */
struct kin__slab {
  kin__link node;
  kin__arena *arena; /* NULL: a block of its own, with one cell behind it */
  const kin_allocator *allocator;
  void *owner;
  char *cells;
  kin__cell *free;
  uint32_t cell_size;
  uint32_t capacity;
  uint32_t used;
  atomic_uint live;
  uint32_t bytes; /* of the cells, or of a block of its own */
  uint16_t class_index;
  bool is_mapped;                   /* else from the allocator */
  bool is_spare;                    /* empty and kept */
  void (*release)(kin__cell *cell); /* of a cell without arena */
};

/* A slab with its cells behind it. Aligned to not more than an allocator gives:
 * 8 bytes on some 32-bit machines. */
typedef struct block {
  struct kin__slab slab;
  alignas(max_align_t) char cells[];
} block;

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
    }
  }
  return arena;
}

static bool is_listed(const struct kin__slab *slab) {
  return !kin__link_is_empty(&slab->node);
}

/* For a slab that only this thread writes. */
static uint32_t live_cells(const struct kin__slab *slab) {
  return atomic_load_explicit(&slab->live, memory_order_relaxed) -
         is_listed(slab);
}

/* After the slab has got its place in a list, or lost it. */
static void set_live_cells(struct kin__slab *slab, uint32_t count) {
  atomic_store_explicit(&slab->live, count + is_listed(slab),
                        memory_order_relaxed);
}

/* The bytes of a slab's cells. Where a page has more than 4 KiB, a mapped slab
 * may have room behind the last one. */
static uint32_t cells_bytes(const kin__arena *arena, uint32_t class_index) {
  if (!arena->maps_pages) {
    uint32_t cell = kin__slab_class_cell_bytes(class_index);
    return BLOCK_BYTES / cell * cell;
  }
  return (uint32_t)kin__pages_round_up(kin__slab_class_slab_bytes(class_index));
}

/* The first piece may have been cut, and be too short. All others are whole, and
 * no slab is larger. */
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

static struct kin__slab *new_mapped_slab(kin__arena *arena, uint32_t bytes) {
  struct kin__slab *slab = kin__malloc(arena->allocator, sizeof *slab);
  char *pages = slab != NULL ? take_pages(arena, bytes) : NULL;
  if (pages == NULL) {
    kin__free(arena->allocator, slab);
    return NULL;
  }
  *slab = (struct kin__slab){.cells = pages, .is_mapped = true};
  return slab;
}

static struct kin__slab *new_slab(kin__arena *arena, uint32_t bytes) {
  if (arena->maps_pages) {
    return new_mapped_slab(arena, bytes);
  }
  block *b = kin__malloc(arena->allocator, sizeof *b + bytes);
  if (b == NULL) {
    return NULL;
  }
  b->slab = (struct kin__slab){.cells = b->cells};
  return &b->slab;
}

static struct kin__slab *add_slab(kin__arena *arena, void *owner,
                                  uint32_t class_index) {
  uint32_t bytes = cells_bytes(arena, class_index);
  struct kin__slab *slab = new_slab(arena, bytes);
  if (slab == NULL) {
    return NULL;
  }
  slab->arena = arena;
  slab->allocator = arena->allocator;
  slab->owner = owner;
  slab->bytes = bytes;
  slab->class_index = (uint16_t)class_index;
  slab->cell_size = kin__slab_class_cell_bytes(class_index);
  slab->capacity = bytes / slab->cell_size;
  kin__link_init(&slab->node);
  kin__link_push_first(&arena->lists[class_index], &slab->node);
  set_live_cells(slab, 0);
  arena->bytes += bytes;
  POISON(slab->cells, bytes);
  if (arena->grew != NULL) {
    arena->grew(arena->grew_ctx, bytes);
  }
  return slab;
}

static void free_slab(struct kin__slab *slab) {
  UNPOISON(slab->cells, slab->bytes);
  if (slab->is_mapped) {
    (void)kin__pages_unmap(slab->cells, slab->bytes);
  }
  kin__free(slab->allocator, slab);
}

/* The slab loses one count: of a cell, or of the arena. Legal on any thread:
 * does not read the arena. */
static void count_down(struct kin__slab *slab) {
  if (atomic_fetch_sub_explicit(&slab->live, 1, memory_order_acq_rel) == 1) {
    free_slab(slab);
  }
}

static void give_up_slab(kin__arena *arena, struct kin__slab *slab) {
  kin__link_remove(&slab->node);
  arena->bytes -= arena->is_closed ? 0 : slab->bytes;
  count_down(slab);
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
  kin__cell *cell = slab->free;
  if (cell != NULL) {
    UNPOISON(cell, slab->cell_size);
    slab->free = cell->next;
  } else {
    cell = (kin__cell *)(void *)(slab->cells +
                                 (size_t)slab->used * slab->cell_size);
    UNPOISON(cell, slab->cell_size);
    slab->used++;
  }
  if (slab->is_spare) {
    slab->is_spare = false;
    slab->arena->spare_slabs--;
  }
  slab->arena->used_bytes += slab->cell_size;
  uint32_t live = live_cells(slab) + 1;
  if (live == slab->capacity) {
    kin__link_remove(&slab->node);
  }
  set_live_cells(slab, live);
  cell->slab = slab;
  return cell;
}

kin__cell *kin__cell_init(void *head, void *owner,
                          void (*release)(kin__cell *cell)) {
  block *b = head;
  b->slab = (struct kin__slab){.owner = owner, .release = release};
  kin__cell *cell = (kin__cell *)(void *)b->cells;
  cell->slab = &b->slab;
  return cell;
}

size_t kin__cell_head_bytes(void) {
  return offsetof(block, cells);
}

static void free_block(kin__cell *cell) {
  struct kin__slab *slab = cell->slab;
  if (slab->is_mapped) {
    (void)kin__pages_unmap(slab, slab->bytes);
  } else {
    kin__free(slab->allocator, slab);
  }
}

static kin__cell *take_block(const kin_allocator *allocator, bool maps_pages,
                             void *owner, size_t size) {
  if (size > UINT32_MAX - sizeof(block)) {
    return NULL;
  }
  uint32_t bytes = (uint32_t)(sizeof(block) + size);
  block *b = maps_pages ? kin__pages_map(bytes) : kin__malloc(allocator, bytes);
  if (b == NULL) {
    return NULL;
  }
  kin__cell *cell = kin__cell_init(b, owner, free_block);
  b->slab.allocator = allocator;
  b->slab.is_mapped = maps_pages;
  b->slab.bytes = bytes;
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
  return cell->slab->owner;
}

void kin__cell_prefetch(const kin__cell *cell) {
  __builtin_prefetch(cell->slab);
  __builtin_prefetch((const char *)cell->slab + CACHE_LINE);
}

void kin__cell_give(kin__cell *cell) {
  kin__arena *arena = cell->slab->arena;
  if (arena == NULL) {
    cell->slab->release(cell);
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

/* The cell goes to its slab. An empty slab is freed, but a few are kept. */
static void sort_out(kin__arena *arena, kin__cell *cell) {
  struct kin__slab *slab = cell->slab;
  if (arena->is_closed) {
    count_down(slab);
    return;
  }
  uint32_t live = live_cells(slab);
  if (live == slab->capacity) {
    kin__link_push_first(&arena->lists[slab->class_index], &slab->node);
  }
  set_live_cells(slab, --live);
  arena->used_bytes -= slab->cell_size;
  cell->next = slab->free;
  slab->free = cell;
  POISON(cell, slab->cell_size);
  if (live > 0) {
    return;
  }
  if (arena->spare_slabs < MAX_SPARE_SLABS) {
    slab->is_spare = true;
    arena->spare_slabs++;
  } else {
    give_up_slab(arena, slab);
  }
}

void kin__cell_give_here(kin__cell *cell) {
  kin__arena *arena = cell->slab->arena;
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
  return arena != NULL && slab->arena == arena && !arena->is_closed &&
         live_cells(slab) < slab->capacity - slab->capacity / 4 &&
         arena->lists[slab->class_index].next != &slab->node;
}

/* The cells that were never in use lie behind all others. */
static void trim(const struct kin__slab *slab) {
  size_t kept = kin__pages_round_up((size_t)slab->used * slab->cell_size);
  if (kept < slab->bytes) {
    (void)madvise(slab->cells + kept, slab->bytes - kept, MADV_DONTNEED);
  }
}

bool kin__arena_trim_step(kin__arena *arena) {
  if (!arena->maps_pages || arena->is_closed) {
    return false;
  }
  kin__link *list = &arena->lists[arena->trimming];
  if (!kin__link_is_empty(list)) {
    trim(KIN__CONTAINER_OF(list->prev, struct kin__slab, node));
  }
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
    give_up_slab(arena, KIN__CONTAINER_OF(list->next, struct kin__slab, node));
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
