/* SPDX-License-Identifier: MIT */
#ifndef APISIM_FIELDS_H
#define APISIM_FIELDS_H

/* Sets of fields, as managedFields hold them: trees in the form of FieldsV1.
 * {"f:data":{".":{},"f:a":{}}} has the members data and data.a. A node is a
 * member if it is empty or has "."; the root of an empty set is {}.
 * Members of each node are in the order of children_compare(). */

#include "buf.h"
#include "schema.h"

typedef yyjson_mut_val fields;

typedef enum fields_op {
  FIELDS_UNION,
  FIELDS_DIFFERENCE,
  FIELDS_INTERSECTION,
} fields_op;

fields *fields_empty(yyjson_mut_doc *doc);
bool fields_is_empty(fields *set);
/* A set as it came from outside, made one of this form: false, and nothing is
 * changed, if it is not a tree of objects. */
bool fields_normalize(fields *set);
/* A new set in doc. The sets stay as they are. */
fields *fields_combine(yyjson_mut_doc *doc, fields_op op, fields *a, fields *b);
/* The fields of an object that an apply owns. problem gets the path and the
 * words if parts of a list cannot be told apart. */
fields *fields_of(yyjson_mut_doc *doc, schema s, yyjson_mut_val *value,
                  buf *problem);

typedef struct fields_change {
  fields *added;
  fields *modified;
  fields *removed;
} fields_change;

/* What differs between two objects. */
fields_change fields_compare(yyjson_mut_doc *doc, schema s, yyjson_mut_val *old,
                             yyjson_mut_val *now);

/* Calls visit with the path of each member, as .spec.ports[port=80]. */
void fields_visit(fields *set, void (*visit)(const char *path, void *data),
                  void *data);

/* Goes through the children of a node beside others that are in the same
 * order. */
typedef struct fields_cursor {
  yyjson_mut_obj_iter iter;
  yyjson_mut_val *key;
} fields_cursor;

fields_cursor fields_begin(fields *set);
/* The child with the path element, or NULL. Elements only get greater. */
fields *fields_seek(fields_cursor *at, const char *element, size_t len);

#endif
