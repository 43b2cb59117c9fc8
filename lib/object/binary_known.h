/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_BINARY_KNOWN_H
#define KIN_OBJECT_BINARY_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>

#include "base/hash.h"
#include "object/binary_value.h"

struct kin__samples;

/* Hashes of the binary values that two samples or more have. Never changes, so
 * that any thread may read it. */
typedef struct kin__binary_known {
  kin__hash_seed seed;
  uint32_t *slots; /* an open hash table; 0: free */
} kin__binary_known;

/* The seed keeps values from being chosen so that all are in one place. Errors:
 * KIN_ENOMEM; the table can be finished then, too. */
int kin__binary_known_init(kin__binary_known *known,
                           const kin_allocator *allocator,
                           const kin__hash_seed *seed,
                           const struct kin__samples *samples);
void kin__binary_known_finish(kin__binary_known *known,
                              const kin_allocator *allocator);

/* A value with the hash of another one may be taken for it. No time is known. */
bool kin__binary_is_known(const kin__binary_known *known,
                          const kin__binary_value *v);

#endif /* KIN_OBJECT_BINARY_KNOWN_H */
