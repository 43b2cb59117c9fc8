/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_EDIT_H
#define KIN_OBJECT_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/buf.h"
#include "base/scan.h"

/* A JSON text under edit: a tree that is split no further than edits have
 * reached, and written out as one text in the end. Pointers are JSON Pointers
 * that kin__json_pointer_is_valid has accepted, of at most
 * KIN__JSON_POINTER_TOKENS tokens; `*` as a whole token means every child.
 *
 * All functions that edit or look can fail with KIN_EJSON (the text is not JSON
 * where it was looked at) and KIN_ENOMEM; the tree is then good for nothing but
 * kin__edit_reset and kin__edit_finish. */

/* What is known of where a value ended up in the written text. */
typedef enum kin__edit_mark {
  KIN__EDIT_NO_MARK,
  KIN__EDIT_UID,
  KIN__EDIT_VERSION,
  KIN__EDIT_LABELS,
  KIN__EDIT_MARKS
} kin__edit_mark;

typedef struct kin__edit_node {
  struct kin__edit_node *parent;
  struct kin__edit_node *next; /* sibling */
  struct kin__edit_node *children;
  struct kin__edit_node **tail; /* where the next child is linked in */
  struct kin__edit_node *open; /* the child whose end is not known, or NULL: the
                                * last one, and a container */
  kin_str head; /* a member's `"name":` as written, up to its value */
  kin_str name; /* a member's, unescaped */
  kin_str
      text; /* the value, as it was before it was split; of a child whose end
                 * is not known, all to the end of its parent's */
  size_t split; /* bytes of text that have become children; 0: not split */
  bool is_split_whole;
  uint8_t mark; /* kin__edit_mark */
} kin__edit_node;

typedef struct kin__edit {
  const kin_allocator *allocator;
  const kin__scanner *scanner;
  struct kin__edit_chunk *chunks; /* of nodes and texts; the newest first */
  kin__edit_node *root;
  bool is_changed; /* what would be written is not what it began with */
} kin__edit;

/* Where the marked values are in what was written; length 0: nowhere. */
typedef struct kin__edit_places {
  size_t begin[KIN__EDIT_MARKS];
  size_t length[KIN__EDIT_MARKS];
} kin__edit_places;

/* Allocates nothing. The allocator must outlive the tree. */
void kin__edit_init(kin__edit *edit, const kin_allocator *allocator);
void kin__edit_finish(kin__edit *edit);

/* Begins with a text, which must live until the next reset or finish; keeps
 * some memory for it. */
int kin__edit_begin(kin__edit *edit, kin_str text);
/* Forgets everything but that memory. */
void kin__edit_reset(kin__edit *edit);

/* Removes all that the pointer, which is not "", names. */
int kin__edit_remove(kin__edit *edit, const char *pointer);

/* Removes all that none of the pointers names or leads to. */
int kin__edit_keep(kin__edit *edit, const char *const *pointers, size_t count);

/* Makes `text`, which must live as long as the tree's own, the value there.
 * Also KIN_ETYPE and KIN_ENOENT, see kin_object_builder_set_json. */
int kin__edit_set(kin__edit *edit, const char *pointer, kin_str text);

/* The child of that name, borrowed, or NULL in *child, also if the node is no
 * object. */
int kin__edit_child(kin__edit *edit, kin__edit_node *node, kin_str name,
                    kin__edit_node **child);

/* Splits one more child off: NULL in *child if there is none, also for a value
 * that is no container. */
int kin__edit_split(kin__edit *edit, kin__edit_node *node,
                    kin__edit_node **child);
bool kin__edit_is_object(const kin__edit_node *node);
bool kin__edit_is_array(const kin__edit_node *node);

/* Finds the end of a value, so that its text is all of it. */
int kin__edit_close(kin__edit *edit, kin__edit_node *node);
/* A value becomes another one. */
int kin__edit_replace(kin__edit *edit, kin__edit_node *node, kin_str text);
/* A new last child; `name` is copied; that of an array has none. NULL if out of
 * memory. The node must have been split wholly. */
kin__edit_node *kin__edit_append(kin__edit *edit, kin__edit_node *node,
                                 kin_str name, kin_str text);

/* Memory that lives as long as the tree's nodes; NULL if out of it. */
char *kin__edit_bytes(kin__edit *edit, size_t length);
/* A JSON string of such memory; data NULL if out of it. */
kin_str kin__edit_quote(kin__edit *edit, kin_str plain);

/* Appends the whole text. Errors: KIN_ETOOBIG, KIN_ENOMEM. */
int kin__edit_write(const kin__edit *edit, kin__buf *out,
                    kin__edit_places *places);

#endif /* KIN_OBJECT_EDIT_H */
