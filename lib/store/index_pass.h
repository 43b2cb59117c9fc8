/* SPDX-License-Identifier: MIT */
#ifndef KIN_STORE_INDEX_PASS_H
#define KIN_STORE_INDEX_PASS_H

#include <stdint.h>

#include <kin/str.h>

#include "object/pointer_set.h"

/* The JSON Pointers of all indices of a store, so that one pass over an object
 * finds the values of all of them. */
typedef struct kin__index_pass {
  kin__pointer_set set;
  struct kin__index_chain *chains; /* for each pointer: its values */
  uint32_t chain_capacity;
  struct kin__index_found *found; /* the values of the object read last */
  uint32_t found_count;
  uint32_t found_capacity;
} kin__index_pass;

/* NULL if out of memory. The allocator must outlive the pass. */
kin__index_pass *kin__index_pass_new(const kin_allocator *allocator);
/* NULL is allowed. */
void kin__index_pass_free(kin__index_pass *pass);

/* Adds a pointer and sets *place, by which its values are asked for.
 * Errors: KIN_EINVAL (malformed), KIN_ENOMEM; nothing was added then. */
int kin__index_pass_add(kin__index_pass *pass, const char *pointer,
                        uint32_t *place);

/* Finds the values of all pointers in an object's text. They stay there, so the
 * text must outlive their use. Errors: KIN_ENOMEM. */
int kin__index_pass_read(kin__index_pass *pass, kin_str text);

/* Calls emit with the values found for one pointer, in the order of the text.
 * Returns emit's first non-zero result. Errors: KIN_ENOMEM. */
int kin__index_pass_each(const kin__index_pass *pass, uint32_t place,
                         int (*emit)(void *ctx, kin_str value), void *ctx);

/* Forgets what was found; keeps a little memory for the next object. */
void kin__index_pass_forget(kin__index_pass *pass);

#endif /* KIN_STORE_INDEX_PASS_H */
