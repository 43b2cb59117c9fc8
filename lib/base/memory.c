/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"

/* In front of a block: the cell's head, as large as the alignment of malloc's
 * blocks needs it. With pointers of 32 bits the head alone is too small. */
typedef struct block_head {
  alignas(max_align_t) kin__cell cell;
} block_head;

static void *take_block(void *ctx, size_t size) {
  kin__memory *memory = ctx;
  kin__cell *cell = size <= SIZE_MAX - sizeof(block_head)
                        ? kin__cell_take(memory->arena, &memory->allocator,
                                         memory, sizeof(block_head) + size)
                        : NULL;
  return cell != NULL ? (char *)cell + sizeof(block_head) : NULL;
}

static void give_block(void *ctx, void *block) {
  (void)ctx;
  block_head *head = (block_head *)block - 1;
  kin__cell_give_here(&head->cell);
}

static void *resize_block(void *ctx, void *block, size_t old_size,
                          size_t size) {
  void *resized = take_block(ctx, size);
  if (resized != NULL) {
    memcpy(resized, block, old_size < size ? old_size : size);
    give_block(ctx, block);
  }
  return resized;
}

kin__memory *kin__memory_new(const kin_allocator *allocator) {
  bool is_default = allocator == NULL;
  if (is_default) {
    allocator = kin__default_allocator();
  }
  kin__memory *memory = kin__malloc(allocator, sizeof *memory);
  if (memory != NULL) {
    memory->allocator = *allocator;
    memory->cells =
        (kin_allocator){memory, take_block, resize_block, give_block};
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
