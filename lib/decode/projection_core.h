/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_PROJECTION_CORE_H
#define KIN_DECODE_PROJECTION_CORE_H

#include "decode/projection.h"

/* A tree of member names. A node's `others` decides for members that the node
 * does not name. A named member has a node of its own. Siblings are in order, so
 * a member of a long object costs little however many fields a program names.
 * projection_build.c makes trees, and projection.c looks up names in them.
 *
 * Invariant: the children of a node are used only if its project is
 * KIN__DESCEND. The depth is bounded by KIN__JSON_POINTER_TOKENS. */
typedef struct kin__projection_node kin__projection_node;

struct kin__projection_node {
  kin__projection_node **children; /* by length and bytes of their names */
  uint32_t child_count;
  uint32_t child_capacity;
  uint32_t elements_end; /* behind the last index that a child names, or 0 */
  kin__projection_node *made; /* the list of all nodes, for freeing */
  kin__project project;
  kin__project others; /* members that no child names */
  kin_str name;
};

struct kin__projection {
  kin_allocator allocator;
  kin__projection_node *root;
  kin__projection_node *made;
};

/* The place of the child of that name, or the place where it belongs. */
uint32_t kin__projection_place(const kin__projection_node *parent, kin_str name,
                               bool *is_there);

#endif /* KIN_DECODE_PROJECTION_CORE_H */
