/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_SEAL_H
#define KIN_OBJECT_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include <kin/mutation_detector.h>
#include <kin/object.h>

#include "base/sealed.h"

/* Checksums of an object's immutable bytes, one for each 64 bytes. So a
 * difference has a place, at the cost of an eighth of the object's memory.
 *
 * Block 0 is the header; then come the blocks of the strings, then those of the
 * body. Each of the three parts begins a block. The header is compared first:
 * only if it is intact can the extents of the other parts be trusted.
 *
 * A checksum is a chain of bijections of 64 bits, one for each 8 bytes. A
 * change within 8 bytes always changes the checksum; any other change does so
 * but for one case in 2^64. The checksum is not made against attackers. */
#define KIN__SUM_BLOCK 64u

/* The number of checksums of an object whose strings (key included) and body
 * have these lengths. */
size_t kin__object_sum_count(size_t strings_length, size_t body_length);

/* Computes the checksums. Cost: O(bytes). */
void kin__object_sum(const kin_object *object, uint64_t *sums);

typedef enum kin__comparison {
  KIN__SAME = 0,
  KIN__UNFINISHED,
  KIN__DIFFERENT
} kin__comparison;

/* Compares up to `max_blocks` blocks, at least 1, from *block on, which is 0 at
 * first. Sets *block to the first that differs, or to the next one to
 * compare. */
kin__comparison kin__object_compare(const kin_object *object,
                                    const uint64_t *sums, size_t *block,
                                    size_t max_blocks);

/* Says where a differing block is. If the header differs by now, the result
 * names the header. `key_length` is the key's length before the change. */
kin_mutation kin__object_mutation(const kin_object *object,
                                  const uint64_t *sums, size_t block,
                                  size_t key_length);

/* The last step of making an object in a memory that uses seals: nothing writes
 * to the object afterwards. Returns the object, which may have moved. Returns
 * NULL if out of memory; the cell has then been given back. */
kin_object *kin__object_close(kin_object *object);

/* NULL if the object was made without a seal. */
kin__seal *kin__object_seal(const kin_object *object);

#endif /* KIN_OBJECT_SEAL_H */
