/* SPDX-License-Identifier: MIT */

/* A tree of member names. A node's `others` decides for members that the node
 * does not name. A named member has a node of its own. Siblings are in order, so
 * a member of a long object costs little however many fields a program names.
 *
 * Invariant: the children of a node are used only if its project is
 * KIN__DESCEND. The depth is bounded by KIN__JSON_POINTER_TOKENS. */
#include "decode/projection.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/cursor.h"
#include "object/json.h"

typedef struct kin__projection_node node;

struct kin__projection_node {
  node **children; /* by length and bytes of their names */
  uint32_t child_count;
  uint32_t child_capacity;
  uint32_t elements_end; /* behind the last index that a child names, or 0 */
  node *made;            /* the list of all nodes, for freeing */
  kin__project project;
  kin__project others; /* members that no child names */
  kin_str name;
};

struct kin__projection {
  kin_allocator allocator;
  node *root;
  node *made;
};

/* Most informers have this one. */
const kin__projection *kin__projection_default(bool keep_managed_fields) {
  static const node managed_fields = {.project = KIN__DROP_ALL,
                                      .others = KIN__DROP_ALL,
                                      .name = {"managedFields", 13}};
  static node *const in_metadata[] = {(node *)&managed_fields};
  static const node metadata = {.children = (node **)in_metadata,
                                .child_count = 1,
                                .project = KIN__DESCEND,
                                .others = KIN__KEEP_ALL,
                                .name = {"metadata", 8}};
  static node *const in_root[] = {(node *)&metadata};
  static const node root = {.children = (node **)in_root,
                            .child_count = 1,
                            .project = KIN__DESCEND,
                            .others = KIN__KEEP_ALL};
  static const kin__projection shared = {.root = (node *)&root};
  return keep_managed_fields ? NULL : &shared;
}

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

/* The place of the child of that name, or the place where it belongs. */
static uint32_t place_of(const node *parent, kin_str name, bool *is_there) {
  uint32_t low = 0;
  uint32_t high = parent->child_count;
  *is_there = false;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order =
        kin__str_compare_by_length(parent->children[middle]->name, name);
    if (order == 0) {
      *is_there = true;
      return middle;
    }
    low = order < 0 ? middle + 1 : low;
    high = order < 0 ? high : middle;
  }
  return low;
}

static const node *find_child(const node *parent, kin_str name) {
  bool is_there;
  uint32_t place = place_of(parent, name, &is_there);
  return is_there ? parent->children[place] : NULL;
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
  uint32_t place = place_of(parent, name, &is_there);
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
  bool is_new = find_child(parent, name) == NULL;
  node *child = child_for(projection, parent, name);
  if (is_new && child != NULL) {
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

/* If the whole root is kept ("" is among the fields), there is no node. */
const node *kin__projection_root(const kin__projection *projection) {
  return projection != NULL && projection->root->project == KIN__DESCEND
             ? projection->root
             : NULL;
}

bool kin__projection_is_for_metadata(const node *root) {
  return root->others == KIN__KEEP_ALL &&
         (root->child_count == 0 ||
          (root->child_count == 1 &&
           kin__str_equal(root->children[0]->name, KIN__LIT("metadata"))));
}

kin__project kin__projection_member(const node *parent, kin_str name,
                                    const node **child) {
  *child = NULL;
  if (parent == NULL) {
    return KIN__KEEP_ALL;
  }
  const node *found = find_child(parent, name);
  if (found == NULL) {
    return parent->others;
  }
  if (found->project == KIN__DESCEND) {
    *child = found;
  }
  return found->project;
}

bool kin__projection_keeps_scalar(const node *n) {
  return n->others == KIN__KEEP_ALL;
}

static const node *find_element(const node *parent, uint32_t index) {
  char digits[10];
  char *first = digits + sizeof digits;
  do {
    *--first = (char)('0' + index % 10);
    index /= 10;
  } while (index > 0);
  return find_child(parent,
                    kin__str(first, (size_t)(digits + sizeof digits - first)));
}

kin__project kin__projection_element(const node *parent, uint32_t index,
                                     const node **child) {
  static const node hollow = {.project = KIN__DESCEND, .others = KIN__DROP_ALL};
  *child = NULL;
  if (parent == NULL || parent->others == KIN__KEEP_ALL) {
    return KIN__KEEP_ALL;
  }
  if (index >= parent->elements_end) {
    return KIN__DROP_ALL;
  }
  const node *found = find_element(parent, index);
  found = found != NULL ? found : &hollow;
  *child = found->project == KIN__DESCEND ? found : NULL;
  return found->project;
}
