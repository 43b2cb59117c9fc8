/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SEALED_H
#define KIN_BASE_SEALED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/* Cells for objects that a program might write to by mistake: a debug mode,
 * chosen by kin__memory_use_seals. Each cell is a block of its own.
 *
 * A cell is guarded in one of two ways. Either there is room for checksums
 * behind the cell, which its user computes and compares. Or the cell lies on
 * pages of its own, which become read-only when the cell is closed:
 *
 *   | ...... seal, head, 16 bytes | the rest of the cell .......... |
 *   | a page that stays writable  | pages that become read-only     |
 *
 * The count of references changes as long as an object lives. It stays in its
 * usual place, so neither mode costs anything where the mode is off.
 *
 * The kernel counts two mappings for each protected cell. By default a process
 * may have 65,530 mappings, and the program needs some of them. So at most
 * KIN__MAX_PROTECTED cells are protected at a time. Other cells, and cells for
 * which the system has no pages, get checksums. */

/* The first bytes of a protected cell, which stay writable. */
#define KIN__CELL_OPEN_BYTES 16u

/* The bound for one kin__memory. */
#define KIN__MAX_PROTECTED 16384u

/* Lies in front of a sealed cell. */
typedef struct kin__seal {
  uint64_t *sums; /* room for checksums; NULL: the cell is protected */
  size_t sum_count;
  /* For the report of a write. */
  size_t key_length;
  size_t block; /* the block that differs, if is_reported */
  struct kin_object *next;
  bool is_reported;

  kin__memory *memory; /* no reference: the cell's user holds one */
  size_t size;         /* of the cell */
  void *pages;         /* NULL: an allocator's block that begins at the seal */
  size_t pages_bytes;
} kin__seal;

/* False: the library was built without the option checks. Then nothing may ask
 * for seals, or for the comparison of lists (check/). */
bool kin__checks_are_supported(void);

/* A cell of `size` bytes with room for checksums, for a memory that uses seals.
 * NULL if out of memory. Give the cell back with kin__cell_give, on any
 * thread. */
kin__cell *kin__sealed_take(kin__memory *memory, size_t size, size_t sum_count);

/* Call this when the cell is filled: protects the cell if it is on pages. If
 * the system refuses, the cell is moved. Returns the cell, or NULL if there was
 * no memory for the move; the cell has then been given back. */
kin__cell *kin__sealed_close(kin__cell *cell);

/* NULL if the cell was not taken with kin__sealed_take. `owner` of every cell
 * must be its kin__memory. */
kin__seal *kin__sealed_seal(const kin__cell *cell);

#endif /* KIN_BASE_SEALED_H */
