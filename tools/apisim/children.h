/* SPDX-License-Identifier: MIT */
#ifndef APISIM_CHILDREN_H
#define APISIM_CHILDREN_H

/* The parts of a value that have owners and are merged one by one: the members
 * of an object, the elements of a list that is a map or a set. Each has a path
 * element, written as in FieldsV1:
 *
 *   f:NAME      a member
 *   k:{...}     the element with these keys
 *   v:VALUE     the element of a set
 *   i:N         an element that lacks its keys
 */

#include "buf.h"
#include "schema.h"

typedef struct part {
  const char *element; // followed by a NUL
  size_t element_len;
  yyjson_mut_val *key; // of an object's member, else NULL
  yyjson_mut_val *value;
  size_t index; // in the container
} part;

typedef struct children {
  part *items; // sorted by element
  size_t count;
  buf text;
  buf problem; // why these cannot be merged: a key that lacks, or is there twice
} children;

/* Whether the value is merged by parts at all, not as one. */
bool children_mergeable(schema s, yyjson_mut_val *value);
/* Reads the parts of a mergeable value. Free with children_free(). */
void children_read(children *out, schema s, yyjson_mut_val *value);
void children_free(children *c);
/* The part with the element, or NULL. */
const part *children_find(const children *c, const part *like);
/* The schema of a part. */
schema children_schema(schema s, const part *of);
/* Appends an element as paths show it: .name, [port=80], [="value"]. */
void children_put_path(buf *path, const char *text, size_t len);
/* Whether two elements are in order: < 0, 0, > 0. */
int children_compare(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
