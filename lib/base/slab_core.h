/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SLAB_CORE_H
#define KIN_BASE_SLAB_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/link.h"
#include "base/slab.h"
#include "base/slab_class.h"

/* The arena, for slab.c, and for tests that look at its bytes. */

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
  kin__ready_pages *ready;    /* mapped and touched, for add_slab */
  void (*grew)(void *ctx, size_t bytes); /* see kin__arena_watch */
  void *grew_ctx;
  kin__link lists[KIN__SLAB_CLASSES]; /* of slabs with room */
};

#endif /* KIN_BASE_SLAB_CORE_H */
