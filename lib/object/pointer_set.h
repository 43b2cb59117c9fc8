/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_POINTER_SET_H
#define KIN_OBJECT_POINTER_SET_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

/* JSON Pointers whose values are read together, in one pass over an object's
 * text. No document is made: a parser touches eight bytes of new memory for
 * each byte of a large object, and its page faults cost more than the pass.
 *
 * `*` as a whole reference token means every element of an array or member of
 * an object. If a member occurs twice in an object the first counts, as in a
 * view; `*` means both. */
typedef struct kin__pointer_set {
  const kin_allocator *allocator;
  struct kin__pointer_node *nodes; /* a tree of tokens; the first is the root */
  uint32_t node_count;
  uint32_t node_capacity;
  uint32_t *same; /* for each pointer: an earlier one that is equal */
  uint32_t count;
  uint32_t capacity;
  uint64_t containers; /* entered by all reads so far */
} kin__pointer_set;

void kin__pointer_set_init(kin__pointer_set *set,
                           const kin_allocator *allocator);
void kin__pointer_set_finish(kin__pointer_set *set);

/* Adds a pointer. *id is the number of pointers before it.
 * Errors: KIN_EINVAL (malformed, or over KIN__JSON_POINTER_TOKENS),
 * KIN_ENOMEM. */
int kin__pointer_set_add(kin__pointer_set *set, const char *pointer,
                         uint32_t *id);

/* Calls emit with each string, number or boolean that a pointer names, as it is
 * written in the text (kin__json_scalar gives its value), in the order of the
 * text. Text that is not JSON ends the pass where the walk meets it; values
 * that no pointer names are skipped unread. Returns emit's first non-zero
 * result, which also ends the pass. Recursion is as deep as the longest
 * pointer. Not reentrant: emit must not read with the same set. */
int kin__pointer_set_read(kin__pointer_set *set, kin_str text,
                          int (*emit)(void *ctx, uint32_t id, kin_str scalar),
                          void *ctx);

#endif /* KIN_OBJECT_POINTER_SET_H */
