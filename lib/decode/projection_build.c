/* SPDX-License-Identifier: MIT */
#include "decode/projection_core.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/cursor.h"
#include "object/json.h"

typedef kin__projection_node node;

static node *new_node(kin__projection *projection, kin_str name,
                      kin__project project, kin__project others) {
  node *n = kin__malloc(&projection->allocator, sizeof *n + name.length);
  if (n != NULL) {
    *n = (node){.made = projection->made,
                .project = project,
                .others = others,
                .name = kin__str((const char *)(n + 1), name.length)};
    if (name.length > 0) {
      memcpy(n + 1, name.data, name.length);
    }
    projection->made = n;
  }
  return n;
}

/* Whether a name is an array index as JSON Pointers write it. */
static bool read_index(kin_str name, uint32_t *index) {
  uint64_t value;
  bool is_index = name.length > 0 && name.length <= 9 &&
                  (name.data[0] != '0' || name.length == 1) &&
                  kin__str_to_u64(name, &value);
  if (is_index) {
    *index = (uint32_t)value;
  }
  return is_index;
}

/* Finds or makes the child of that name. A new child drops every member that
 * its own children do not name. NULL if out of memory. */
static node *child_for(kin__projection *projection, node *parent,
                       kin_str name) {
  bool is_there;
  uint32_t place = kin__projection_place(parent, name, &is_there);
  if (is_there) {
    return parent->children[place];
  }
  if (kin__reserve_one(&projection->allocator, &parent->children,
                       parent->child_count, &parent->child_capacity,
                       sizeof(node *)) != 0) {
    return NULL;
  }
  node *child = new_node(projection, name, KIN__DESCEND, KIN__DROP_ALL);
  if (child == NULL) {
    return NULL;
  }
  node **at = parent->children + place;
  memmove(at + 1, at, (parent->child_count - place) * sizeof *at);
  *at = child;
  parent->child_count++;
  uint32_t index;
  if (read_index(name, &index) && index >= parent->elements_end) {
    parent->elements_end = index + 1;
  }
  return child;
}

static int new_projection(kin__projection **out, const kin_allocator *allocator,
                          kin__project others) {
  *out = NULL;
  kin__projection *projection = kin__malloc(allocator, sizeof *projection);
  if (projection == NULL) {
    return KIN_ENOMEM;
  }
  *projection = (kin__projection){.allocator = *allocator};
  projection->root =
      new_node(projection, kin__str(NULL, 0), KIN__DESCEND, others);
  if (projection->root == NULL) {
    kin__projection_free(projection);
    return KIN_ENOMEM;
  }
  *out = projection;
  return 0;
}

/* Lets the members of a node that is kept as a whole be decided one by one. */
static void open_node(node *n) {
  if (n->project == KIN__KEEP_ALL) {
    n->project = KIN__DESCEND;
    n->others = KIN__KEEP_ALL;
    for (uint32_t i = 0; i < n->child_count; i++) {
      n->children[i]->project = KIN__KEEP_ALL;
    }
  }
}

static node *open_child(kin__projection *projection, node *parent,
                        kin_str name) {
  open_node(parent);
  bool is_there;
  (void)kin__projection_place(parent, name, &is_there);
  node *child = child_for(projection, parent, name);
  if (!is_there && child != NULL) {
    child->project = parent->others;
  }
  return child;
}

/* Drops a member of metadata, except members of its own that the projection
 * names. */
static int drop_metadata(kin__projection *projection, kin_str name) {
  node *metadata =
      open_child(projection, projection->root, KIN__LIT("metadata"));
  node *dropped =
      metadata != NULL ? open_child(projection, metadata, name) : NULL;
  if (dropped == NULL) {
    return KIN_ENOMEM;
  }
  dropped->project = dropped->child_count > 0 ? KIN__DESCEND : KIN__DROP_ALL;
  return 0;
}

int kin__projection_drop_labels(kin__projection *projection) {
  return drop_metadata(projection, KIN__LIT("labels"));
}

int kin__projection_new(kin__projection **out, const kin_allocator *allocator,
                        bool keep_managed_fields) {
  int err = new_projection(out, allocator, KIN__KEEP_ALL);
  if (err == 0 && !keep_managed_fields) {
    err = drop_metadata(*out, KIN__LIT("managedFields"));
  }
  if (err != 0) {
    kin__projection_free(*out);
    *out = NULL;
  }
  return err;
}

/* Walks the tokens of a valid pointer down the tree and keeps the value there.
 * `scratch` has room for the longest token. */
static int keep_field(kin__projection *projection, const char *pointer,
                      char *scratch) {
  node *n = projection->root;
  while (*pointer == '/') {
    size_t length = strcspn(++pointer, "/");
    if (length > KIN__CURSOR_TEXT_MAX) {
      return KIN_EINVAL; /* the decoder would see a name that is cut */
    }
    size_t written =
        kin__json_token_unescape(scratch, kin__str(pointer, length));
    n = child_for(projection, n, kin__str(scratch, written));
    if (n == NULL) {
      return KIN_ENOMEM;
    }
    pointer += length;
  }
  n->project = KIN__KEEP_ALL;
  return 0;
}

static int keep_checked_field(kin__projection *projection,
                              const char *pointer) {
  if (!kin__json_pointer_is_usable(pointer)) {
    return KIN_EINVAL;
  }
  size_t length = strlen(pointer);
  char *scratch = kin__malloc(&projection->allocator, length);
  if (scratch == NULL) {
    return KIN_ENOMEM;
  }
  int err = keep_field(projection, pointer, scratch);
  kin__free(&projection->allocator, scratch);
  return err;
}

int kin__projection_new_fields(kin__projection **out,
                               const kin_allocator *allocator,
                               const char *const *fields, size_t count) {
  static const char *const always[] = {
      "/apiVersion",         "/kind",         "/metadata/name",
      "/metadata/namespace", "/metadata/uid", "/metadata/resourceVersion",
      "/metadata/labels",
  };
  int err = new_projection(out, allocator, KIN__DROP_ALL);
  for (size_t i = 0; err == 0 && i < sizeof always / sizeof *always; i++) {
    err = keep_checked_field(*out, always[i]);
  }
  for (size_t i = 0; err == 0 && i < count; i++) {
    err = keep_checked_field(*out, fields[i]);
  }
  if (err != 0) {
    kin__projection_free(*out);
    *out = NULL;
  }
  return err;
}

static void free_nodes(kin__projection *projection) {
  while (projection->made != NULL) {
    node *n = projection->made;
    projection->made = n->made;
    kin__free(&projection->allocator, n->children);
    kin__free(&projection->allocator, n);
  }
}

void kin__projection_free(const kin__projection *projection) {
  if (projection == NULL || projection == kin__projection_default(false)) {
    return;
  }
  kin_allocator allocator = projection->allocator;
  free_nodes((kin__projection *)projection);
  kin__free(&allocator, (kin__projection *)projection);
}
