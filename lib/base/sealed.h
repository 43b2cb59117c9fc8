/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SEALED_H
#define KIN_BASE_SEALED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/* Cells for objects that somebody might write to who must not: a debug mode,
 * chosen by kin__memory_use_seals. Each is a block of its own.
 *
 * Either the cell has room for checksums behind it, which whoever filled it
 * computes and compares; or it lies on pages of its own that nobody can write
 * to once it is closed:
 *
 *   | ...... seal, head, 16 bytes | the rest of the cell .......... |
 *   | a page that stays writable  | pages that become read-only     |
 *
 * so what changes for as long as an object lives, its count of references, is
 * in its usual place: neither mode costs anything where it is off. The kernel
 * calls each such cell two mappings, of which a process may have 65,530 by
 * default, the program's own included. So no more than KIN__MAX_PROTECTED cells
 * are protected at a time; the others, and those for which the system has no
 * pages, get checksums. */

/* What stays writable of a protected cell. */
#define KIN__CELL_OPEN_BYTES 16u

/* Of one kin__memory. */
#define KIN__MAX_PROTECTED 16384u

/* In front of a sealed cell. */
typedef struct kin__seal {
  uint64_t *sums; /* room for them; NULL: the cell is protected */
  size_t sum_count;
  /* For whoever reports. */
  size_t key_length;
  size_t block; /* that differs, if is_reported */
  struct kin_object *next;
  bool is_reported;

  kin__memory *memory; /* not referenced: the cell's user does that */
  size_t size;         /* of the cell */
  void *pages;         /* NULL: a block of the allocator, at the seal */
  size_t pages_bytes;
} kin__seal;

/* A cell of `size` bytes with room for checksums, for a memory that uses seals.
 * NULL if out of memory. Ends with kin__cell_give, on any thread. */
kin__cell *kin__sealed_take(kin__memory *memory, size_t size, size_t sum_count);

/* Everything has been written: protects the cell if it is to be. The result is
 * the cell, moved elsewhere if the system refused that; or NULL if there was no
 * memory to move it to: then it has been given back. */
kin__cell *kin__sealed_close(kin__cell *cell);

/* NULL if the cell was not taken with kin__sealed_take. `owner` of every cell
 * must be its kin__memory. */
kin__seal *kin__sealed_seal(const kin__cell *cell);

#endif /* KIN_BASE_SEALED_H */
