/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SLAB_CORE_H
#define KIN_BASE_SLAB_CORE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/link.h"
#include "base/slab.h"
#include "base/slab_class.h"

/* The arena, for the slab's files, and for tests that look at its bytes. */

struct kin__arena {
  const kin_allocator *allocator;
  bool maps_pages;
  bool is_closed;
  _Atomic(kin__cell *) given; /* pushed by any thread; CLOSED after the end */
  kin__cell *unsorted;        /* taken off `given` as a whole */
  size_t bytes;               /* of all slabs; 0 from the close on */
  size_t used_bytes;          /* of the cells of slabs that are in use */
  uint32_t spare_slabs;       /* empty ones that are kept */
  uint32_t closing;           /* the list to be given up next */
  uint32_t trimming;          /* the list to be trimmed next */
  size_t ready_bytes;         /* of all in `ready`, not in `bytes` */
  kin__ready_pages *ready;    /* mapped and touched, for kin__region_take */
  void (*grew)(void *ctx, size_t bytes); /* see kin__arena_watch */
  void *grew_ctx;
  kin__link lists[KIN__SLAB_CLASSES];   /* of slabs with room */
  kin__link regions[KIN__SLAB_CLASSES]; /* of regions with unused slabs */
};

/* A cell is in `free`, beyond `used`, or in use. `live` counts the cells that
 * are in use or not sorted yet, plus one for the arena while the slab is in one
 * of its lists. */
struct kin__slab {
  kin__link node;
  struct kin__region *region;
  kin__cell *free;
  atomic_uint live;
  uint16_t used;
  uint8_t index; /* in the region */
  bool is_spare; /* empty and kept */
};

/* Memory for cells of one class, and the slabs that it is cut into: they lie
 * behind the struct. A region of the program's allocator is one slab, with its
 * cells behind it.
 *
 * Why slabs and regions: only a slab whose cells are all free goes back, so
 * small ones lose less to free cells. But few cells are whole pages together.
 * So the slabs of a region share the pages at their borders, and such a page
 * goes back when neither slab is in use.
 *
 * The struct of a mapped region lies apart from its cells. At the begin of each
 * mapping, all of the structs would share the few places of a processor's cache
 * that their equal addresses modulo 64 KiB allow, and every event would miss
 * them. */
typedef struct kin__region {
  kin__arena *arena; /* NULL: a block of its own, with one cell behind it */
  void *owner;
  char *cells;
  uint32_t cell_size;
  uint16_t capacity; /* of each slab */
  uint16_t class_index;
  uint32_t bytes;      /* of the cells, or of a block of its own */
  atomic_uchar in_use; /* a bit for each slab */
  uint8_t opened;      /* slabs from this index on have never been in use */
  bool is_mapped;      /* else from the allocator */
  void (*release)(kin__cell *cell); /* of a cell without arena */
  const kin_allocator *allocator;
  kin__link node;
} kin__region;

/* A region of one slab with its cells behind it. Aligned to not more than an
 * allocator gives: 8 bytes on some 32-bit machines. */
typedef struct kin__region_block {
  kin__region region;
  struct kin__slab slab;
  alignas(max_align_t) char cells[];
} kin__region_block;

static inline uint32_t kin__region_slab_bytes(const kin__region *region) {
  return region->capacity * region->cell_size;
}

static inline char *kin__slab_cells(const struct kin__slab *slab) {
  return slab->region->cells +
         (size_t)slab->index * kin__region_slab_bytes(slab->region);
}

/* A slab of the class without cells in use, in no list; NULL if out of
 * memory. */
struct kin__slab *kin__region_take(kin__arena *arena, void *owner,
                                   uint32_t class_index);
/* Takes a slab of an open arena back, on the owner's thread. */
void kin__region_give(struct kin__slab *slab);
/* The same after the close, on any thread: reads nothing of the arena. */
void kin__region_drop(struct kin__slab *slab);
/* Gives the pages back that no cell of the class has been taken from. `newest`
 * is the only slab that may have such cells; NULL if there is none. */
void kin__region_trim(const kin__link *regions, const struct kin__slab *newest);

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define KIN__POISON(p, size) ASAN_POISON_MEMORY_REGION(p, size)
#define KIN__UNPOISON(p, size) ASAN_UNPOISON_MEMORY_REGION(p, size)
#else
#define KIN__POISON(p, size) ((void)(p), (void)(size))
#define KIN__UNPOISON(p, size) ((void)(p), (void)(size))
#endif

#endif /* KIN_BASE_SLAB_CORE_H */
