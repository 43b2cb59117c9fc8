/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_MEMORY_H
#define KIN_BASE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/mutation_detector.h>

#include "base/slab.h"

/* The allocator that objects carry, so that they may outlive the client they
 * came from. Counted atomically: the last object may be released on any
 * thread. */
typedef struct kin__memory {
  kin_allocator allocator;
  /* Blocks in the same slabs, for what grows with the number of objects and is
   * freed as they go: the C library may give all of it back to the system in
   * one call. On the owner's thread alone, and not after the arena's end. */
  kin_allocator cells;
  bool is_default;   /* the C library's: slabs are mapped from the system */
  kin__arena *arena; /* NULL: each object is a block of its own */
  kin_mutation_check check;      /* not OFF: each is sealed, see sealed.h */
  atomic_size_t protected_cells; /* alive */
  atomic_size_t refs;
} kin__memory;

/* One reference; allocator NULL means the C library's. NULL if out of
 * memory. */
kin__memory *kin__memory_new(const kin_allocator *allocator);
kin__memory *kin__memory_ref(kin__memory *memory);
/* Objects made from now on, by one thread, share slabs. Errors: KIN_ENOMEM. */
int kin__memory_use_slabs(kin__memory *memory);
/* Objects are sealed instead. Before the first is made; OFF changes nothing. */
void kin__memory_use_seals(kin__memory *memory, kin_mutation_check check);
/* NULL is allowed. */
void kin__memory_unref(kin__memory *memory);

#endif /* KIN_BASE_MEMORY_H */
