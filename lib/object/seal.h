/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_SEAL_H
#define KIN_OBJECT_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include <kin/mutation_detector.h>
#include <kin/object.h>

#include "base/sealed.h"

/* Checksums of what must not change of an object, one for each 64 bytes, so
 * that a difference says where it is, at an eighth of the object's memory.
 *
 * Block 0 is the header; then come the blocks of the strings, then those of the
 * body. Each of the three parts begins a block, and the header is compared
 * first whenever anything is: only then are the extents of the others to be
 * trusted.
 *
 * A checksum is a chain of bijections of 64 bits, one for each 8 bytes: what
 * changes within 8 bytes changes it for certain, anything else but for one
 * case in 2^64. It is not made to resist anybody. */
#define KIN__SUM_BLOCK 64u

/* How many an object has whose strings, key included, and body are so long. */
size_t kin__object_sum_count(size_t strings_length, size_t body_length);

/* Computes them. Cost: O(bytes). */
void kin__object_sum(const kin_object *object, uint64_t *sums);

typedef enum kin__comparison {
  KIN__SAME = 0,
  KIN__UNFINISHED,
  KIN__DIFFERENT
} kin__comparison;

/* Compares up to `max_blocks` blocks, at least 1, from *block on, 0 at first,
 * and sets it to the first that differs, or to where to go on. */
kin__comparison kin__object_compare(const kin_object *object,
                                    const uint64_t *sums, size_t *block,
                                    size_t max_blocks);

/* Says where a block that differs is, or that the header does by now. The key's
 * length is the one it had. */
kin_mutation kin__object_mutation(const kin_object *object,
                                  const uint64_t *sums, size_t block,
                                  size_t key_length);

/* The last step of making an object in a memory that uses seals: nothing writes
 * to it from then on. The result is the object, moved maybe, or NULL if out of
 * memory: then its cell has been given back. */
kin_object *kin__object_close(kin_object *object);

/* NULL if it was made without one. */
kin__seal *kin__object_seal(const kin_object *object);

#endif /* KIN_OBJECT_SEAL_H */
