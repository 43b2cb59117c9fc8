/* SPDX-License-Identifier: MIT */
#include "decode/projection_core.h"

#include "base/str.h"

typedef kin__projection_node node;

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

uint32_t kin__projection_place(const node *parent, kin_str name,
                               bool *is_there) {
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
  uint32_t place = kin__projection_place(parent, name, &is_there);
  return is_there ? parent->children[place] : NULL;
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
