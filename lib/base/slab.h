/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SLAB_H
#define KIN_BASE_SLAB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>

/* Cells for objects, cut from slabs of one size class each. A region of memory
 * has eight slabs of its class.
 *
 * Why not one allocator block for each object: a cache replaces objects by
 * others of nearly the same size all its life. A general allocator merges and
 * splits their blocks, which costs a quarter more memory after 100,000 updates
 * (measured with glibc). It also gives half a gigabyte back to the system in
 * one call when the last block at its end is freed, which stalls the loop for
 * 10 ms. Here a freed cell serves the next object of its class, and memory goes
 * back one slab at a time. The same holds for large objects: freeing 2,000
 * blocks of 20 KB in one call took 2.3 ms.
 *
 * Only the owner's thread takes cells. Any thread may give a cell back: this
 * pushes the cell onto a stack, and the owner sorts the stack a few cells at a
 * time. A program may keep objects after the client has gone: from
 * kin__arena_close_step on there is no stack, and each slab counts its own
 * cells.
 *
 * A class that has no free cell takes one of a size up to an eighth larger before
 * it gets a slab: objects change their sizes all the time, and each class would
 * keep the slabs of its largest number of objects.
 *
 * Cells over 64 KiB are mappings of their own. If slabs come from the program's
 * allocator, cells over 8 KiB are blocks of that allocator. */
typedef struct kin__arena kin__arena;

/* The head of every cell. The cell's user must not write to `slab`. */
typedef struct kin__cell {
  struct kin__slab *slab;
  struct kin__cell *next; /* of free cells; the user's own data while in use */
} kin__cell;

/* NULL if out of memory. The allocator is borrowed. With `maps_pages` regions
 * are mapped from the system and not taken from the allocator: freeing one then
 * takes the same bounded time whatever else is free.
 *
 * (Populating all pages of a region at once costs two thirds of one fault for
 * each page, in longer steps. Huge pages cost half, but one fault takes up to 5
 * ms. Both were measured. So another thread touches the pages, see
 * kin__ready_prepare.) */
kin__arena *kin__arena_new(const kin_allocator *allocator, bool maps_pages);
/* Lets go of the slabs one by one. The thread that gives the last cell of a slab
 * back gives the slab's pages back, and the region if the slab is its last one.
 * No slab waits for another; a page that two of them share does. Cells taken
 * later are blocks of their own. A step is one cell or one slab. Returns whether
 * work is left. `arena` may be NULL. */
bool kin__arena_close_step(kin__arena *arena);

/* All cells must have been given back. O(1) for a closed arena, else O(slabs).
 * NULL is allowed. */
void kin__arena_free(kin__arena *arena);

/* A cell of at least `size` bytes, aligned as malloc's; NULL if out of memory.
 * `arena` NULL: the cell is a block of its own. The cell keeps `owner`. */
kin__cell *kin__cell_take(kin__arena *arena, const kin_allocator *allocator,
                          void *owner, size_t size);
void *kin__cell_owner(const kin__cell *cell);

/* Makes a cell in the caller's memory at `head`, which must be aligned as
 * malloc's. The cell's bytes follow kin__cell_head_bytes, which keeps the
 * alignment. `release` is called when the cell is given back. */
kin__cell *kin__cell_init(void *head, void *owner,
                          void (*release)(kin__cell *cell));
size_t kin__cell_head_bytes(void);

/* Ask the processor for what giving the cell back reads: its slab; then, once
 * the slab has come, the slab's region. */
void kin__cell_prefetch(const kin__cell *cell);
void kin__cell_prefetch_region(const kin__cell *cell);

/* On any thread. O(1): at most one slab is freed. The arena must not have been
 * freed. */
void kin__cell_give(kin__cell *cell);
/* The same on the owner's thread: the cell needs no sorting. */
void kin__cell_give_here(kin__cell *cell);

/* Sorts up to `count` given cells and frees slabs that became empty. Returns
 * whether cells are left to sort. `arena` may be NULL. */
bool kin__arena_collect(kin__arena *arena, unsigned count);
/* Whether there are cells to sort. */
bool kin__arena_has_given(const kin__arena *arena);

/* --- Cells that lie alone --------------------------------------------------
 *
 * Slabs go back to the system when their last cell does. After most objects
 * have gone, the rest may hold nearly all slabs. The owner of the cells can then
 * copy them to other cells. */

typedef struct kin__arena_fill {
  size_t bytes; /* of all slabs */
  size_t used;  /* of the cells that are in use */
} kin__arena_fill;

/* Both 0 for no arena, and after kin__arena_close_step. */
kin__arena_fill kin__arena_get_fill(const kin__arena *arena);
/* A quarter of the memory is not in use, and that is worth some work. */
bool kin__arena_fill_is_sparse(kin__arena_fill fill);
/* `fill` is sparse, and an eighth differs from `last`: more memory is unused, or
 * some went back, so that cells may lie alone that had others beside them. */
bool kin__arena_fill_is_news(kin__arena_fill fill, kin__arena_fill last);

/* On the arena's thread. Whether the cell is this arena's, a copy of it would
 * lie in another slab, and its own slab is less than three quarters full. The
 * arena may be NULL. */
bool kin__cell_is_lonely(const kin__cell *cell, const kin__arena *arena);

/* --- Memory that another thread prepares -----------------------------------
 *
 * The system gives a page when the page is written to for the first time, and
 * that takes longer than to fill it. During a fast list another thread does
 * this ahead. An arena that has no prepared memory maps a region itself. */

/* Mapped and touched. Regions are cut from its end. */
typedef struct kin__ready_pages {
  struct kin__ready_pages *next;
  size_t bytes;
} kin__ready_pages;

/* On any thread. `bytes` is a multiple of KIN__READY_STEP_BYTES. NULL if there
 * is no memory, or if *must_stop has become true. */
kin__ready_pages *kin__ready_prepare(size_t bytes,
                                     const atomic_bool *must_stop);

/* Only for an arena that maps pages and has not been closed. `grew` is called
 * after each region that the arena has taken, with the region's size; NULL: no
 * more calls. */
void kin__arena_watch(kin__arena *arena, void (*grew)(void *ctx, size_t bytes),
                      void *ctx);
/* The bytes that may be ready for this arena, those that are ready included: at
 * most KIN__MAX_READY_BYTES, and a sixteenth of all. A multiple of
 * KIN__READY_STEP_BYTES. */
size_t kin__arena_wants_ready(const kin__arena *arena);
size_t kin__arena_ready_bytes(const kin__arena *arena);
/* Regions are cut from what was added first. O(pieces that are ready). */
void kin__arena_add_ready(kin__arena *arena, kin__ready_pages *pages);
/* Gives up to KIN__READY_STEP_BYTES back to the system. Returns whether some are
 * left. */
bool kin__arena_drop_ready(kin__arena *arena);
/* Gives the prepared pages of one size of cells back that no cell has been taken
 * from. To be called until it returns false: then all sizes have had their turn.
 * The pages come back when they are written to. */
bool kin__arena_trim_step(kin__arena *arena);

/* A region is not larger. */
#define KIN__READY_STEP_BYTES ((size_t)512 << 10)
#define KIN__MAX_READY_BYTES ((size_t)16 << 20)

#endif /* KIN_BASE_SLAB_H */
