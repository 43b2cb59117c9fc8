/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <kin/error.h>

#include "base/alloc.h"

kin__memory *kin__memory_new(const kin_allocator *allocator) {
  bool is_default = allocator == NULL;
  if (is_default) {
    allocator = kin__default_allocator();
  }
  kin__memory *memory = kin__malloc(allocator, sizeof *memory);
  if (memory != NULL) {
    memory->allocator = *allocator;
    memory->is_default = is_default;
    memory->arena = NULL;
    memory->check = KIN_MUTATION_CHECK_OFF;
    atomic_init(&memory->protected_cells, 0);
    atomic_init(&memory->refs, 1);
  }
  return memory;
}

kin__memory *kin__memory_ref(kin__memory *memory) {
  atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);
  return memory;
}

int kin__memory_use_slabs(kin__memory *memory) {
  if (memory->arena == NULL) {
    memory->arena = kin__arena_new(&memory->allocator, memory->is_default);
  }
  return memory->arena != NULL ? 0 : KIN_ENOMEM;
}

void kin__memory_use_seals(kin__memory *memory, kin_mutation_check check) {
  memory->check = check;
}

void kin__memory_unref(kin__memory *memory) {
  if (memory != NULL &&
      atomic_fetch_sub_explicit(&memory->refs, 1, memory_order_acq_rel) == 1) {
    kin_allocator allocator = memory->allocator;
    kin__arena_free(memory->arena);
    kin__free(&allocator, memory);
  }
}
