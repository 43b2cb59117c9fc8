/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_EDITS_H
#define KIN_TEST_EDITS_H

#include <stddef.h>

#include <kin/object_builder.h>

#define MAX_EDITS 6

/* '-' remove, '=' set JSON, '"' a string, '#' an integer, '?' a boolean, 'k'
 * keep the pointers, which are separated by spaces. ' stands for ". */
typedef struct edit {
  char what;
  const char *pointer;
  const char *value;
} edit;

/* Returns what the builder does. */
int edit_apply(kin_object_builder *builder, const edit *e);

/* The object that up to `count` edits make of `from`, with a builder of its
 * own; the first without `what` ends them. Returns what the finish does, and
 * asserts that the first error has stuck. */
int edit_build(kin_object **out, const kin_allocator *allocator,
               const kin_object *from, const edit *edits, size_t count);

/* Asserts the whole text. */
void assert_body(const kin_object *object, const char *expected);

#endif /* KIN_TEST_EDITS_H */
