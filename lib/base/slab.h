/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SLAB_H
#define KIN_BASE_SLAB_H

#include <stdbool.h>
#include <stddef.h>

#include <kin/allocator.h>

/* Cells for objects, cut from slabs of one size class each.
 *
 * Why not one block of the allocator for each object: a cache replaces objects
 * by others of nearly the same size for as long as it lives. A general
 * allocator merges and splits their blocks, which costs a quarter more memory
 * after 100,000 updates (measured with glibc), and gives half a gigabyte back
 * to the system in one call when the last block at its end is freed, which
 * stalls the loop for 10 ms. Here a freed cell serves the next object of its
 * class, and memory goes back one slab at a time. That holds for objects of any
 * size: 2,000 blocks of 20 KB were measured to go back in one call of 2.3 ms.
 *
 * Taking belongs to the owner's thread. Giving back is allowed on any thread:
 * it pushes the cell onto a stack, and the owner sorts the stack out a few
 * cells at a time. Objects may be kept for as long as a program likes after
 * the client has gone: from kin__arena_close_step on there is no stack, and
 * each slab counts its own cells.
 *
 * Cells over 64 KiB are mappings of their own. Where slabs are not mapped, so
 * that an allocator of the program's serves them, cells over 8 KiB are blocks
 * of that allocator. */
typedef struct kin__arena kin__arena;

/* The head of every cell; whoever takes one leaves `slab` alone. */
typedef struct kin__cell {
  struct kin__slab *slab;
  struct kin__cell *next; /* free for the user's own data while in use */
} kin__cell;

/* NULL if out of memory. The allocator is borrowed. With `maps_pages` slabs are
 * mapped from the system instead of taken from the allocator: giving one back
 * then takes the same bounded time whatever else is free. (Asking for all pages
 * of a slab at once was measured to cost as much as one fault each, in longer
 * steps; huge pages cost a sixth, but up to 5 ms in one fault.) */
kin__arena *kin__arena_new(const kin_allocator *allocator, bool maps_pages);
/* Lets go of the slabs one by one: each is freed when the last of its cells is
 * given back, by the thread that does so, and no slab waits for another.
 * Cells taken later are blocks of their own. A step is one cell or one slab.
 * Returns whether work is left. `arena` may be NULL. */
bool kin__arena_close_step(kin__arena *arena);

/* All cells must have been given back. O(1) if it has been closed, else
 * O(slabs). NULL is allowed. */
void kin__arena_free(kin__arena *arena);

/* A cell of at least `size` bytes, 16-byte aligned; NULL if out of memory.
 * `arena` may be NULL: a block of its own. `owner` is remembered. */
kin__cell *kin__cell_take(kin__arena *arena, const kin_allocator *allocator,
                          void *owner, size_t size);
void *kin__cell_owner(const kin__cell *cell);

/* A cell in memory of the caller's, who gets it back through `release` when the
 * cell is given: it follows the kin__cell_head_bytes (a multiple of 16) at
 * `head`, which must be 16-byte aligned. */
kin__cell *kin__cell_init(void *head, void *owner,
                          void (*release)(kin__cell *cell));
size_t kin__cell_head_bytes(void);

/* On any thread. O(1): at most one slab is freed. The arena must not have been
 * freed. */
void kin__cell_give(kin__cell *cell);
/* The same on the owner's thread: nothing is left to be sorted. */
void kin__cell_give_here(kin__cell *cell);

/* Sorts up to `count` given cells out and frees slabs that became empty.
 * Returns whether cells are left to be sorted. `arena` may be NULL. */
bool kin__arena_collect(kin__arena *arena, unsigned count);
/* Whether there are cells to be sorted out. */
bool kin__arena_has_given(const kin__arena *arena);

/* Bytes of slabs. */
size_t kin__arena_bytes(const kin__arena *arena);

#endif /* KIN_BASE_SLAB_H */
