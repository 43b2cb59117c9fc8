/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SLAB_CORE_H
#define KIN_BASE_SLAB_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/link.h"
#include "base/slab.h"

/* The arena, for slab.c, and for tests that look at its bytes. */

#define KIN__MAPPED_SLAB_BYTES (256u << 10)

/* Cells of up to 1 KiB have a size in steps of 16 bytes. A larger cell is an
 * equal share of its slab, so that no bytes are left behind the last cell. */
#define KIN__SMALL_CELL_BYTES (1u << 10)
#define KIN__CELL_STEP 16u
#define KIN__SMALL_CLASSES (KIN__SMALL_CELL_BYTES / KIN__CELL_STEP)
/* At least this many bytes are between the sizes of two large classes. Many
 * classes would have many slabs that are not full. */
#define KIN__LARGE_CELL_STEP 64u
#define KIN__SLAB_CLASSES                                                      \
  (KIN__SMALL_CLASSES +                                                        \
   KIN__MAPPED_SLAB_BYTES / (KIN__SMALL_CELL_BYTES + KIN__LARGE_CELL_STEP))

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
  uint32_t ready_count;       /* slabs in `ready`, not in `bytes` */
  kin__ready_slab *ready;     /* mapped and touched, for add_slab */
  void (*grew)(void *ctx);    /* see kin__arena_watch */
  void *grew_ctx;
  kin__link lists[KIN__SLAB_CLASSES]; /* of slabs with room */
};

#endif /* KIN_BASE_SLAB_CORE_H */
