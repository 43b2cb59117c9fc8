/* SPDX-License-Identifier: MIT */
#include "base/sealed.h"

#include <assert.h>
#include <string.h>

#include <sys/mman.h>

#include "base/alloc.h"
#include "base/pages.h"

#define ALIGNMENT 16u

bool kin__checks_are_supported(void) {
  return true;
}

static size_t round_up(size_t size, size_t unit) {
  return (size + unit - 1) / unit * unit;
}

/* The bytes from the seal to its cell. */
static size_t front_bytes(void) {
  return round_up(sizeof(kin__seal), ALIGNMENT) + kin__cell_head_bytes();
}

static void release(kin__cell *cell) {
  kin__seal *seal = kin__sealed_seal(cell);
  kin__memory *memory = seal->memory;
  if (seal->pages == NULL) {
    kin__free(&memory->allocator, seal);
    return;
  }
  /* Addresses that stay taken stay counted. */
  if (kin__pages_unmap(seal->pages, seal->pages_bytes)) {
    atomic_fetch_sub_explicit(&memory->protected_cells, 1,
                              memory_order_relaxed);
  }
}

static kin__cell *init(void *front, kin__memory *memory, size_t size,
                       size_t sum_count) {
  kin__seal *seal = front;
  *seal = (kin__seal){.sum_count = sum_count, .memory = memory, .size = size};
  char *head = (char *)front + round_up(sizeof *seal, ALIGNMENT);
  return kin__cell_init(head, memory, release);
}

static kin__cell *take_block(kin__memory *memory, size_t size,
                             size_t sum_count) {
  size_t sums_at = front_bytes() + round_up(size, sizeof(uint64_t));
  if (sums_at < size || sum_count > (SIZE_MAX - sums_at) / sizeof(uint64_t)) {
    return NULL;
  }
  char *block =
      kin__malloc(&memory->allocator, sums_at + sum_count * sizeof(uint64_t));
  if (block == NULL) {
    return NULL;
  }
  kin__cell *cell = init(block, memory, size, sum_count);
  kin__sealed_seal(cell)->sums = (uint64_t *)(void *)(block + sums_at);
  return cell;
}

/* NULL if too many cells are protected, or the system has no pages. */
static kin__cell *take_pages(kin__memory *memory, size_t size,
                             size_t sum_count) {
  if (atomic_fetch_add_explicit(&memory->protected_cells, 1,
                                memory_order_relaxed) < KIN__MAX_PROTECTED) {
    size_t page = kin__pages_page_bytes();
    size_t bytes = page + kin__pages_round_up(size - KIN__CELL_OPEN_BYTES);
    char *pages = kin__pages_map(bytes);
    if (pages != NULL) {
      char *front = pages + page - KIN__CELL_OPEN_BYTES - front_bytes();
      kin__cell *cell = init(front, memory, size, sum_count);
      kin__seal *seal = kin__sealed_seal(cell);
      seal->pages = pages;
      seal->pages_bytes = bytes;
      return cell;
    }
  }
  atomic_fetch_sub_explicit(&memory->protected_cells, 1, memory_order_relaxed);
  return NULL;
}

kin__cell *kin__sealed_take(kin__memory *memory, size_t size,
                            size_t sum_count) {
  assert(memory->check != KIN_MUTATION_CHECK_OFF);
  assert(size > KIN__CELL_OPEN_BYTES);
  kin__cell *cell = memory->check == KIN_MUTATION_CHECK_PROTECT
                        ? take_pages(memory, size, sum_count)
                        : NULL;
  return cell != NULL ? cell : take_block(memory, size, sum_count);
}

kin__cell *kin__sealed_close(kin__cell *cell) {
  const kin__seal *seal = kin__sealed_seal(cell);
  if (seal->pages == NULL) {
    return cell;
  }
  size_t page = kin__pages_page_bytes();
  if (mprotect((char *)seal->pages + page, seal->pages_bytes - page,
               PROT_READ) == 0) {
    return cell;
  }
  kin__cell *moved = take_block(seal->memory, seal->size, seal->sum_count);
  if (moved != NULL) {
    memcpy((char *)moved + sizeof cell->slab, (char *)cell + sizeof cell->slab,
           seal->size - sizeof cell->slab);
  }
  release(cell);
  return moved;
}

kin__seal *kin__sealed_seal(const kin__cell *cell) {
  const kin__memory *memory = kin__cell_owner(cell);
  if (memory->check == KIN_MUTATION_CHECK_OFF) {
    return NULL;
  }
  return (kin__seal *)(void *)((char *)cell - front_bytes());
}
