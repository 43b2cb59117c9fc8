/* SPDX-License-Identifier: MIT */
#include "base/slab.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include <sys/mman.h>

#include "base/alloc.h"
#include "base/list.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, size) ASAN_POISON_MEMORY_REGION(p, size)
#define UNPOISON(p, size) ASAN_UNPOISON_MEMORY_REGION(p, size)
#else
#define POISON(p, size) ((void)(p), (void)(size))
#define UNPOISON(p, size) ((void)(p), (void)(size))
#endif

/* Classes are 16 bytes apart up to 1 KiB and 64 bytes apart up to 8 KiB. */
#define FINE_STEP 16u
#define FINE_LIMIT 1024u
#define COARSE_STEP 64u
#define COARSE_LIMIT 8192u
#define FINE_CLASSES (FINE_LIMIT / FINE_STEP)
#define CLASSES (FINE_CLASSES + (COARSE_LIMIT - FINE_LIMIT) / COARSE_STEP)

#define SLAB_BYTES (64u << 10)
#define MAPPED_SLAB_BYTES (256u << 10)
#define MAX_SPARE_SLABS 4u
#define COLLECT_PER_TAKE 2u
#define COLLECT_BEFORE_GROWING 64u

/* A cell is free in `free`, beyond `used`, or in use; `live` counts those that
 * are in use or not sorted out yet, and one for the arena while the slab is in
 * one of its lists. A slab is in its class's list iff there is room in it, else
 * in `full`.
 *
 * While the arena is open only the owner's thread writes `live`. From the close
 * on every thread counts its own cells down, and the arena gives up its one;
 * the slab is freed by the thread that counts down to zero, which needs nothing
 * but the slab itself. `given` is then CLOSED for ever: a thread that sees that
 * has seen all that the owner did before. */
struct kin__slab {
  kin__list node;
  kin__arena *arena; /* NULL: a block of its own, with one cell */
  const kin_allocator *allocator;
  void *owner;
  kin__cell *free;
  uint32_t cell_size;
  uint32_t capacity;
  uint32_t used;
  atomic_uint live;
  uint32_t bytes;                   /* of the slab, if it is mapped; else 0 */
  bool is_spare;                    /* empty and kept */
  void (*release)(kin__cell *cell); /* whose memory it is; NULL: ours */
  alignas(16) char cells[];
};

struct kin__arena {
  const kin_allocator *allocator;
  bool maps_pages;
  bool is_closed;
  _Atomic(kin__cell *) given; /* pushed by any thread; CLOSED after the end */
  kin__cell *unsorted;        /* taken off `given` as a whole */
  size_t bytes;
  uint32_t spare_slabs; /* empty ones that are kept */
  uint32_t closing;     /* the list whose slabs are given up next; FULL last */
  kin__list lists[CLASSES + 1];
};

#define FULL CLASSES

static kin__cell closed_mark;
#define CLOSED (&closed_mark)

kin__arena *kin__arena_new(const kin_allocator *allocator, bool maps_pages) {
  kin__arena *arena = kin__calloc(allocator, 1, sizeof *arena);
  if (arena != NULL) {
    arena->allocator = allocator;
    arena->maps_pages = maps_pages;
    atomic_init(&arena->given, NULL);
    for (size_t i = 0; i <= FULL; i++) {
      kin__list_init(&arena->lists[i]);
    }
  }
  return arena;
}

/* Of a slab that only this thread writes. */
static uint32_t live_cells(const struct kin__slab *slab) {
  return atomic_load_explicit(&slab->live, memory_order_relaxed) - 1;
}

static void set_live_cells(struct kin__slab *slab, uint32_t count) {
  atomic_store_explicit(&slab->live, count + 1, memory_order_relaxed);
}

static uint32_t class_of(size_t size) {
  if (size <= FINE_LIMIT) {
    return (uint32_t)((size + FINE_STEP - 1) / FINE_STEP) - 1;
  }
  return FINE_CLASSES +
         (uint32_t)((size - FINE_LIMIT + COARSE_STEP - 1) / COARSE_STEP) - 1;
}

static uint32_t class_size(uint32_t class_) {
  return class_ < FINE_CLASSES
             ? (class_ + 1) * FINE_STEP
             : FINE_LIMIT + (class_ - FINE_CLASSES + 1) * COARSE_STEP;
}

static void init_slab(struct kin__slab *slab, const kin_allocator *allocator,
                      void *owner, uint32_t cell_size, uint32_t capacity) {
  *slab = (struct kin__slab){.allocator = allocator,
                             .owner = owner,
                             .cell_size = cell_size,
                             .capacity = capacity};
  kin__list_init(&slab->node);
}

static void *map_pages(size_t bytes) {
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages != MAP_FAILED ? pages : NULL;
}

static size_t slab_bytes(const kin__arena *arena) {
  return arena->maps_pages ? MAPPED_SLAB_BYTES : SLAB_BYTES;
}

static struct kin__slab *add_slab(kin__arena *arena, void *owner,
                                  uint32_t class_) {
  size_t bytes = slab_bytes(arena);
  struct kin__slab *slab = arena->maps_pages
                               ? map_pages(bytes)
                               : kin__malloc(arena->allocator, bytes);
  if (slab == NULL) {
    return NULL;
  }
  uint32_t cell_size = class_size(class_);
  size_t room = bytes - sizeof(struct kin__slab);
  init_slab(slab, arena->allocator, owner, cell_size,
            (uint32_t)(room / cell_size));
  slab->arena = arena;
  slab->bytes = arena->maps_pages ? (uint32_t)bytes : 0;
  set_live_cells(slab, 0);
  arena->bytes += bytes;
  POISON(slab->cells, room);
  kin__list_push(&arena->lists[class_], &slab->node);
  return slab;
}

/* On any thread: of the arena nothing is looked at. */
static void free_slab(struct kin__slab *slab) {
  if (slab->bytes > 0) {
    UNPOISON(slab->cells, slab->bytes - sizeof *slab);
    munmap(slab, slab->bytes);
  } else {
    UNPOISON(slab->cells, SLAB_BYTES - sizeof *slab);
    kin__free(slab->allocator, slab);
  }
}

/* One cell, or the arena, has let go of the slab. */
static void count_down(struct kin__slab *slab) {
  if (atomic_fetch_sub_explicit(&slab->live, 1, memory_order_acq_rel) == 1) {
    free_slab(slab);
  }
}

static void give_up_slab(kin__arena *arena, struct kin__slab *slab) {
  kin__list_remove(&slab->node);
  arena->bytes -= slab_bytes(arena);
  count_down(slab);
}

static struct kin__slab *slab_with_room(kin__arena *arena, void *owner,
                                        uint32_t class_) {
  kin__list *list = &arena->lists[class_];
  kin__arena_collect(arena, COLLECT_PER_TAKE);
  if (kin__list_is_empty(list)) {
    kin__arena_collect(arena, COLLECT_BEFORE_GROWING);
  }
  if (kin__list_is_empty(list)) {
    return add_slab(arena, owner, class_);
  }
  return KIN__CONTAINER_OF(list->next, struct kin__slab, node);
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
  uint32_t live = live_cells(slab) + 1;
  set_live_cells(slab, live);
  if (live == slab->capacity) {
    kin__list_remove(&slab->node);
    kin__list_push(&slab->arena->lists[FULL], &slab->node);
  }
  cell->slab = slab;
  return cell;
}

static kin__cell *take_block(const kin_allocator *allocator, void *owner,
                             size_t size) {
  if (size > UINT32_MAX) {
    return NULL;
  }
  struct kin__slab *slab = kin__malloc(allocator, sizeof *slab + size);
  if (slab == NULL) {
    return NULL;
  }
  init_slab(slab, allocator, owner, (uint32_t)size, 1);
  kin__cell *cell = (kin__cell *)(void *)slab->cells;
  cell->slab = slab;
  return cell;
}

kin__cell *kin__cell_init(void *head, void *owner,
                          void (*release)(kin__cell *cell)) {
  struct kin__slab *slab = head;
  init_slab(slab, NULL, owner, 0, 1);
  slab->release = release;
  kin__cell *cell = (kin__cell *)(void *)slab->cells;
  cell->slab = slab;
  return cell;
}

size_t kin__cell_head_bytes(void) {
  return offsetof(struct kin__slab, cells);
}

kin__cell *kin__cell_take(kin__arena *arena, const kin_allocator *allocator,
                          void *owner, size_t size) {
  if (size < sizeof(kin__cell)) {
    size = sizeof(kin__cell);
  }
  if (arena == NULL || size > COARSE_LIMIT || arena->is_closed) {
    return take_block(allocator, owner, size);
  }
  struct kin__slab *slab = slab_with_room(arena, owner, class_of(size));
  return slab != NULL ? take_from(slab) : NULL;
}

void *kin__cell_owner(const kin__cell *cell) {
  return cell->slab->owner;
}

void kin__cell_give(kin__cell *cell) {
  kin__arena *arena = cell->slab->arena;
  if (arena == NULL) {
    if (cell->slab->release != NULL) {
      cell->slab->release(cell);
    } else {
      kin__free(cell->slab->allocator, cell->slab);
    }
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

/* The cell goes to its slab; an empty slab is freed, a few are kept. */
static void sort_out(kin__arena *arena, kin__cell *cell) {
  struct kin__slab *slab = cell->slab;
  if (arena->is_closed) {
    count_down(slab);
    return;
  }
  uint32_t live = live_cells(slab);
  if (live == slab->capacity) {
    kin__list_remove(&slab->node);
    kin__list_push(&arena->lists[class_of(slab->cell_size)], &slab->node);
  }
  set_live_cells(slab, --live);
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

/* After the exchange no other thread looks at more of the arena than `given`.
 */
static void close_arena(kin__arena *arena) {
  assert(arena->unsorted == NULL);
  arena->is_closed = true;
  arena->unsorted =
      atomic_exchange_explicit(&arena->given, CLOSED, memory_order_acq_rel);
}

bool kin__arena_close_step(kin__arena *arena) {
  if (arena == NULL) {
    return false;
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
  kin__list *list = &arena->lists[arena->closing];
  if (!kin__list_is_empty(list)) {
    give_up_slab(arena, KIN__CONTAINER_OF(list->next, struct kin__slab, node));
    return true;
  }
  arena->closing += arena->closing < FULL;
  return arena->closing < FULL || !kin__list_is_empty(&arena->lists[FULL]);
}

void kin__arena_free(kin__arena *arena) {
  if (arena == NULL) {
    return;
  }
  while (kin__arena_close_step(arena)) {
  }
  assert(arena->bytes == 0);
  kin__free(arena->allocator, arena);
}

size_t kin__arena_bytes(const kin__arena *arena) {
  return arena != NULL ? arena->bytes : 0;
}
