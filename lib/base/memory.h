/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_MEMORY_H
#define KIN_BASE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>
#include <kin/mutation_detector.h>

#include "base/slab.h"

/* The allocator that objects carry, so that objects may outlive their client.
 * The count is atomic: the last object may be released on any thread. */
typedef struct kin__memory {
  kin_allocator allocator;
  /* An allocator of blocks in the same slabs, for data that grows and shrinks
   * with the number of objects. With malloc, the C library may give all of that
   * memory back to the system in one call, which stalls the loop. Only for the
   * owner's thread, and not after the arena's end. */
  kin_allocator cells;
  bool is_default;               /* the C library's: slabs are mapped pages */
  kin__arena *arena;             /* NULL: each object is a block of its own */
  kin_mutation_check check;      /* not OFF: objects are sealed, see sealed.h */
  atomic_size_t protected_cells; /* protected cells that exist now */
  atomic_size_t refs;
} kin__memory;

/* Returns one reference; NULL if out of memory. `allocator` NULL means the C
 * library's. */
kin__memory *kin__memory_new(const kin_allocator *allocator);
kin__memory *kin__memory_ref(kin__memory *memory);
/* Objects made from now on share slabs. One thread must make them all. Errors:
 * KIN_ENOMEM. */
int kin__memory_use_slabs(kin__memory *memory);
/* Objects are sealed instead. Call it before the first object is made. OFF
 * changes nothing. */
void kin__memory_use_seals(kin__memory *memory, kin_mutation_check check);
/* NULL is allowed. */
void kin__memory_unref(kin__memory *memory);

#endif /* KIN_BASE_MEMORY_H */
