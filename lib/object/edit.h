/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_EDIT_H
#define KIN_OBJECT_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

#include "base/buf.h"

/* A JSON text under edit: a tree that is split only as far as edits have
 * reached, and is written as one text in the end. Pointers are JSON Pointers
 * that kin__json_pointer_is_valid has accepted, of at most
 * KIN__JSON_POINTER_TOKENS tokens. `*` as a whole token means every child.
 *
 * All functions that edit or read can fail with KIN_EJSON (the text they read
 * is not JSON) and KIN_ENOMEM. After an error only kin__edit_reset and
 * kin__edit_finish may be called. */

/* The values whose place in the written text is recorded. */
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
  struct kin__edit_node **tail; /* the link for the next child */
  struct kin__edit_node *open;  /* the child whose end is not known, or NULL;
                                * always the last child, and a container */
  kin_str head; /* a member's `"name":` as written, up to its value */
  kin_str name; /* a member's name as written, between the quotes */
  kin_str
      text; /* the value as it was before the split; if the end is not known, up
             * to the end of the parent's text */
  size_t split; /* bytes of text that became children; 0: not split */
  size_t parts; /* of a run in an array: its elements */
  bool is_split_whole;
  bool is_changed;  /* the value or its children; not: values further below */
  bool is_run;      /* no value: adjacent small siblings in `text`, which were
                    * passed unchanged; nothing else is set */
  bool has_escapes; /* of a run: in a member's name */
  bool is_kept;     /* never becomes part of a run */
  uint8_t mark;     /* kin__edit_mark */
} kin__edit_node;

/* The node's bytes, a member's name included. */
static inline const char *kin__edit_first(const kin__edit_node *node) {
  return node->head.length > 0 ? node->head.data : node->text.data;
}

static inline const char *kin__edit_end(const kin__edit_node *node) {
  return node->text.data + node->text.length;
}

typedef struct kin__edit {
  const kin_allocator *allocator;
  struct kin__edit_chunk *chunks; /* hold nodes and texts; the newest first */
  kin__edit_node *root;
  kin__edit_node *spare; /* nodes for reuse */
  kin__buf name;         /* of a walk's child, if it is written with escapes */
  bool is_changed;       /* the result differs from the text at the begin */
} kin__edit;

/* The places of the marked values in the written text; length 0: absent. */
typedef struct kin__edit_places {
  size_t begin[KIN__EDIT_MARKS];
  size_t length[KIN__EDIT_MARKS];
} kin__edit_places;

/* Allocates nothing. The allocator must outlive the tree. */
void kin__edit_init(kin__edit *edit, const kin_allocator *allocator);
void kin__edit_finish(kin__edit *edit);

/* Begins with `text`, which must live until the next reset or finish. Keeps
 * some memory for reuse. */
int kin__edit_begin(kin__edit *edit, kin_str text);
/* Forgets everything but that memory. */
void kin__edit_reset(kin__edit *edit);

/* Removes all values that the pointer names. The pointer must not be "". */
int kin__edit_remove(kin__edit *edit, const char *pointer);

/* Removes every value that no pointer names or leads to. Sorts the pointers. */
int kin__edit_keep(kin__edit *edit, const char **pointers, size_t count);

/* Sets the value there to `text`, which must live as long as the tree's own
 * text. More errors: KIN_ETYPE and KIN_ENOENT, see
 * kin_object_builder_set_json. */
int kin__edit_set(kin__edit *edit, const char *pointer, kin_str text);

/* *child gets the child of that name, borrowed; it stays a node. It gets NULL if
 * there is no such child or the node is no object. */
int kin__edit_child(kin__edit *edit, kin__edit_node *node, kin_str name,
                    kin__edit_node **child);

/* A walk over the children of a node; the walk splits them off. A child that it
 * passes may become part of a run, so only the current one may be touched. */
typedef struct kin__edit_walk {
  kin__edit_node *parent;
  kin__edit_node *before; /* the node before `link`, or NULL */
  kin__edit_node **link;  /* the link to the current child */
  kin__edit_node *child; /* current; NULL before the first and after the last */
  kin_str name;          /* of a member, unescaped; until a next child */
  size_t index;
  kin_str ending;   /* parts of runs whose names end otherwise may be left out,
                   * uncounted; without a quote or backslash; "": none */
  size_t target;    /* runs that end before this element are left out */
  size_t run_index; /* of the first part of the current run */
  kin__edit_node part; /* `child` points here if it is part of a run */
} kin__edit_walk;

kin__edit_walk kin__edit_walk_of(kin__edit_node *parent);
/* Sets walk->child, to NULL at the end or if the parent is no container. */
int kin__edit_walk_next(kin__edit *edit, kin__edit_walk *walk);
/* Makes the current child a node, if it is part of a run. Before that, only its
 * text may be read. */
int kin__edit_walk_take(kin__edit *edit, kin__edit_walk *walk);
/* Removes the current child; the walk is then before the next one. */
int kin__edit_walk_remove(kin__edit *edit, kin__edit_walk *walk);

bool kin__edit_is_object(const kin__edit_node *node);
bool kin__edit_is_array(const kin__edit_node *node);

/* Finds the end of the value, so that node->text is the whole value. */
int kin__edit_close(kin__edit *edit, kin__edit_node *node);
/* Replaces the value of the node by `text`. */
int kin__edit_replace(kin__edit *edit, kin__edit_node *node, kin_str text);
/* Appends a child. `name` is copied, escaped; an array's child has none. The
 * node must have been split wholly. NULL if out of memory. */
kin__edit_node *kin__edit_append(kin__edit *edit, kin__edit_node *node,
                                 kin_str name, kin_str text);

/* Memory that lives as long as the tree's nodes; NULL if out of memory. */
void *kin__edit_alloc(kin__edit *edit, size_t size);
/* Writes a JSON string into such memory; data is NULL if out of memory. */
kin_str kin__edit_quote(kin__edit *edit, kin_str plain);

/* Appends the whole text. Errors: KIN_ETOOBIG, KIN_ENOMEM. */
int kin__edit_write(const kin__edit *edit, kin__buf *out,
                    kin__edit_places *places);

#endif /* KIN_OBJECT_EDIT_H */
