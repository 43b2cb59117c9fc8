/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_PROJECTION_H
#define KIN_DECODE_PROJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

/* The fields of an object that are stored: a tree of member names compiled from
 * JSON Pointers. Decoders walk the tree while they cut an object from the
 * stream. Immutable; an informer's decoders share it. */
typedef struct kin__projection kin__projection;

typedef enum kin__project {
  KIN__KEEP_ALL, /* the value with everything below */
  KIN__DROP_ALL,
  KIN__DESCEND /* its members decide */
} kin__project;

/* Keeps everything, or everything but metadata.managedFields. Shared by all who
 * ask; needs no memory. */
const kin__projection *kin__projection_default(bool keep_managed_fields);

/* The same as a projection of its own, which may be changed. Errors:
 * KIN_ENOMEM. */
int kin__projection_new(kin__projection **out, const kin_allocator *allocator,
                        bool keep_managed_fields);

/* Keeps these fields only, besides apiVersion, kind and metadata's name,
 * namespace, uid, resourceVersion and labels. Errors: KIN_ENOMEM, KIN_EINVAL
 * (malformed pointer, over KIN__JSON_POINTER_TOKENS, or a token over
 * KIN__CURSOR_TEXT_MAX). */
int kin__projection_new_fields(kin__projection **out,
                               const kin_allocator *allocator,
                               const char *const *fields, size_t count);

/* Does not keep labels, but those that a field names one by one. An object then
 * has no label as far as kin_object_label knows. Errors: KIN_ENOMEM. */
int kin__projection_drop_labels(kin__projection *projection);

/* NULL and the shared one are allowed. */
void kin__projection_free(const kin__projection *projection);

/* The node of the object itself; the node of a member of the object that `node`
 * stands for. A NULL projection or node keeps everything. *child is NULL unless
 * the result is KIN__DESCEND. */
const struct kin__projection_node *
kin__projection_root(const kin__projection *projection);
/* Whether it drops nothing outside of metadata. */
bool kin__projection_is_for_metadata(const struct kin__projection_node *root);
kin__project kin__projection_member(const struct kin__projection_node *node,
                                    kin_str name,
                                    const struct kin__projection_node **child);

/* Whether a string, number, boolean or null is stored if it is in the place of
 * the object that `node` stands for. */
bool kin__projection_keeps_scalar(const struct kin__projection_node *node);

/* The kin__projection_member for the element `index` of the array that `node`
 * stands for. Elements after the last named one are dropped.
 *
 * An unnamed element before the last named one must keep its place. An object
 * or array gets a node that drops all its content, so it stays as an empty one.
 * A scalar is kept. */
kin__project kin__projection_element(const struct kin__projection_node *node,
                                     uint32_t index,
                                     const struct kin__projection_node **child);

#endif /* KIN_DECODE_PROJECTION_H */
