/* SPDX-License-Identifier: MIT */
#include "fields.h"

#include <stdlib.h>
#include <string.h>

#include "children.h"
#include "mem.h"

fields *fields_empty(yyjson_mut_doc *doc) {
  return yyjson_mut_obj(doc);
}

bool fields_is_empty(fields *set) {
  return yyjson_mut_obj_size(set) == 0;
}

fields_cursor fields_begin(fields *set) {
  fields_cursor at = {.iter = yyjson_mut_obj_iter_with(set)};
  at.key = yyjson_mut_obj_iter_next(&at.iter);
  return at;
}

fields *fields_seek(fields_cursor *at, const char *element, size_t len) {
  while (at->key != NULL) {
    int order = children_compare(yyjson_mut_get_str(at->key),
                                 yyjson_mut_get_len(at->key), element, len);
    if (order >= 0) {
      return order == 0 ? yyjson_mut_obj_iter_get_val(at->key) : NULL;
    }
    at->key = yyjson_mut_obj_iter_next(&at->iter);
  }
  return NULL;
}

static bool is_member(fields *node) {
  return node != NULL &&
         (fields_is_empty(node) || yyjson_mut_obj_get(node, ".") != NULL);
}

static bool is_dot(yyjson_mut_val *key) {
  return yyjson_mut_equals_str(key, ".");
}

static int order_of(yyjson_mut_val *a, yyjson_mut_val *b) {
  return children_compare(yyjson_mut_get_str(a), yyjson_mut_get_len(a),
                          yyjson_mut_get_str(b), yyjson_mut_get_len(b));
}

/* ------------------------------------------------------------- normal form */

static int by_key(const void *a, const void *b) {
  yyjson_mut_val *const *one = a;
  yyjson_mut_val *const *two = b;
  return order_of(*one, *two);
}

static bool is_tree(fields *node) {
  size_t i, max;
  yyjson_mut_val *key, *child;
  if (!yyjson_mut_is_obj(node)) {
    return false;
  }
  yyjson_mut_obj_foreach(node, i, max, key, child) {
    if (!is_tree(child)) {
      return false;
    }
  }
  return true;
}

/* Sorts; of members of one name the first stays. */
static void sort(fields *node) {
  size_t count = yyjson_mut_obj_size(node);
  yyjson_mut_val **keys = xcalloc(count + 1, sizeof(yyjson_mut_val *));
  yyjson_mut_val **nodes = xcalloc(count + 1, sizeof(yyjson_mut_val *));
  size_t i, max;
  yyjson_mut_val *key, *child;
  yyjson_mut_obj_foreach(node, i, max, key, child) {
    sort(child);
    keys[i] = key;
  }
  qsort(keys, count, sizeof(yyjson_mut_val *), by_key);
  for (i = 0; i < count; i++) {
    nodes[i] = yyjson_mut_obj_iter_get_val(keys[i]);
  }
  yyjson_mut_obj_clear(node);
  for (i = 0; i < count; i++) {
    if (i == 0 || order_of(keys[i - 1], keys[i]) != 0) {
      yyjson_mut_obj_add(node, keys[i], nodes[i]);
    }
  }
  if (count == 1 && is_dot(keys[0])) {
    yyjson_mut_obj_clear(node);
  }
  free(keys);
  free(nodes);
}

bool fields_normalize(fields *set) {
  if (!is_tree(set)) {
    return false;
  }
  sort(set);
  return true;
}

/* -------------------------------------------------------------- operations */

static bool decide(fields_op op, bool a, bool b) {
  switch (op) {
  case FIELDS_UNION:
    return a || b;
  case FIELDS_DIFFERENCE:
    return a && !b;
  default:
    return a && b;
  }
}

static fields *combine(yyjson_mut_doc *doc, fields_op op, fields *a, fields *b);

static void combine_child(yyjson_mut_doc *doc, fields_op op, fields *to,
                          yyjson_mut_val *key_a, yyjson_mut_val *key_b) {
  yyjson_mut_val *key = key_a != NULL ? key_a : key_b;
  if (is_dot(key)) {
    return;
  }
  fields *child = combine(
      doc, op, key_a != NULL ? yyjson_mut_obj_iter_get_val(key_a) : NULL,
      key_b != NULL ? yyjson_mut_obj_iter_get_val(key_b) : NULL);
  if (child != NULL) {
    yyjson_mut_obj_add(to, yyjson_mut_val_mut_copy(doc, key), child);
  }
}

/* Both are sorted, so one pass is enough. */
static void combine_children(yyjson_mut_doc *doc, fields_op op, fields *to,
                             fields *a, fields *b) {
  yyjson_mut_obj_iter in_a = yyjson_mut_obj_iter_with(a);
  yyjson_mut_obj_iter in_b = yyjson_mut_obj_iter_with(b);
  yyjson_mut_val *key_a = yyjson_mut_obj_iter_next(&in_a);
  yyjson_mut_val *key_b = yyjson_mut_obj_iter_next(&in_b);
  while (key_a != NULL || key_b != NULL) {
    int order = key_a == NULL ? 1 : key_b == NULL ? -1 : order_of(key_a, key_b);
    combine_child(doc, op, to, order <= 0 ? key_a : NULL,
                  order >= 0 ? key_b : NULL);
    key_a = order <= 0 ? yyjson_mut_obj_iter_next(&in_a) : key_a;
    key_b = order >= 0 ? yyjson_mut_obj_iter_next(&in_b) : key_b;
  }
}

/* The members of a node first: "." sorts before every other element. */
static fields *new_node(yyjson_mut_doc *doc, bool member) {
  fields *node = yyjson_mut_obj(doc);
  if (member) {
    yyjson_mut_obj_add_val(doc, node, ".", yyjson_mut_obj(doc));
  }
  return node;
}

/* A member without children is written {}. */
static fields *finish_node(fields *node, bool member) {
  if (member && yyjson_mut_obj_size(node) == 1) {
    yyjson_mut_obj_clear(node);
  } else if (fields_is_empty(node)) {
    return NULL;
  }
  return node;
}

/* NULL if nothing is left. */
static fields *combine(yyjson_mut_doc *doc, fields_op op, fields *a,
                       fields *b) {
  bool member = decide(op, is_member(a), is_member(b));
  fields *node = new_node(doc, member);
  combine_children(doc, op, node, a, b);
  return finish_node(node, member);
}

fields *fields_combine(yyjson_mut_doc *doc, fields_op op, fields *a,
                       fields *b) {
  fields *set = fields_empty(doc);
  combine_children(doc, op, set, a, b);
  return set;
}

/* ----------------------------------------------------------------- collect */

typedef struct collector {
  yyjson_mut_doc *doc;
  bool everything; // containers are members, too
  buf *problem;    // NULL = do not tell
  buf *path;       // where the collecting is, if problems are told
} collector;

static void collect_children(const collector *c, schema s,
                             yyjson_mut_val *value, fields *to);

static fields *collect(const collector *c, schema s, yyjson_mut_val *value,
                       bool member) {
  fields *node = new_node(c->doc, member);
  if (children_mergeable(s, value)) {
    collect_children(c, s, value, node);
  }
  if (yyjson_mut_obj_size(node) == (member ? 1 : 0)) {
    yyjson_mut_obj_clear(node);
  }
  return node;
}

static void add_node(yyjson_mut_doc *doc, fields *to, const part *item,
                     fields *node) {
  yyjson_mut_obj_add(
      to, yyjson_mut_strncpy(doc, item->element, item->element_len), node);
}

static void collect_children(const collector *c, schema s,
                             yyjson_mut_val *value, fields *to) {
  children parts;
  children_read(&parts, s, value);
  if (parts.problem.len != 0 && c->problem != NULL && c->problem->len == 0) {
    buf_printf(c->problem, "%s: %s", c->path->data, parts.problem.data);
  }
  for (size_t i = 0; i < parts.count; i++) {
    const part *item = &parts.items[i];
    bool named =
        item->key != NULL && schema_names(s, yyjson_mut_get_str(item->key));
    if (i > 0 &&
        children_compare(item->element, item->element_len, item[-1].element,
                         item[-1].element_len) == 0) {
      continue;
    }
    size_t before = c->path != NULL ? c->path->len : 0;
    if (c->path != NULL) {
      children_put_path(c->path, item->element, item->element_len);
    }
    add_node(c->doc, to, item,
             collect(c, children_schema(s, item), item->value,
                     c->everything || !named));
    if (c->path != NULL) {
      c->path->len = before;
      c->path->data[before] = '\0';
    }
  }
  children_free(&parts);
}

fields *fields_of(yyjson_mut_doc *doc, schema s, yyjson_mut_val *value,
                  buf *problem) {
  buf path = {0};
  buf_puts(&path, "");
  collector c = {
      .doc = doc, .problem = problem, .path = problem != NULL ? &path : NULL};
  fields *set = fields_empty(doc);
  if (yyjson_mut_is_obj(value)) {
    collect_children(&c, s, value, set);
  }
  buf_free(&path);
  return set;
}

/* ----------------------------------------------------------------- compare */

static void compare_children(yyjson_mut_doc *doc, schema s, yyjson_mut_val *old,
                             yyjson_mut_val *now, const fields_change *to);

static bool both_mergeable(schema s, yyjson_mut_val *a, yyjson_mut_val *b) {
  return children_mergeable(s, a) && children_mergeable(s, b) &&
         yyjson_mut_get_type(a) == yyjson_mut_get_type(b);
}

static fields *all_of(yyjson_mut_doc *doc, schema s, yyjson_mut_val *value) {
  collector c = {.doc = doc, .everything = true};
  return collect(&c, s, value, true);
}

static fields_change compare_value(yyjson_mut_doc *doc, schema s,
                                   yyjson_mut_val *old, yyjson_mut_val *now) {
  fields_change change = {0};
  if (old == NULL) {
    change.added = all_of(doc, s, now);
  } else if (now == NULL) {
    change.removed = all_of(doc, s, old);
  } else if (both_mergeable(s, old, now)) {
    change = (fields_change){fields_empty(doc), fields_empty(doc),
                             fields_empty(doc)};
    compare_children(doc, s, old, now, &change);
    change.added = finish_node(change.added, false);
    change.modified = finish_node(change.modified, false);
    change.removed = finish_node(change.removed, false);
  } else if (!yyjson_mut_equals(old, now)) {
    change.modified = fields_empty(doc);
  }
  return change;
}

static void compare_child(yyjson_mut_doc *doc, schema s, const part *old,
                          const part *now, const fields_change *to) {
  const part *item = now != NULL ? now : old;
  fields_change change = compare_value(doc, children_schema(s, item),
                                       old != NULL ? old->value : NULL,
                                       now != NULL ? now->value : NULL);
  if (change.added != NULL) {
    add_node(doc, to->added, item, change.added);
  }
  if (change.modified != NULL) {
    add_node(doc, to->modified, item, change.modified);
  }
  if (change.removed != NULL) {
    add_node(doc, to->removed, item, change.removed);
  }
}

static void compare_children(yyjson_mut_doc *doc, schema s, yyjson_mut_val *old,
                             yyjson_mut_val *now, const fields_change *to) {
  children a, b;
  children_read(&a, s, old);
  children_read(&b, s, now);
  size_t i = 0, j = 0;
  while (i < a.count || j < b.count) {
    int order =
        i == a.count ? 1
        : j == b.count
            ? -1
            : children_compare(a.items[i].element, a.items[i].element_len,
                               b.items[j].element, b.items[j].element_len);
    compare_child(doc, s, order <= 0 ? &a.items[i] : NULL,
                  order >= 0 ? &b.items[j] : NULL, to);
    i += order <= 0 ? 1 : 0;
    j += order >= 0 ? 1 : 0;
  }
  children_free(&a);
  children_free(&b);
}

fields_change fields_compare(yyjson_mut_doc *doc, schema s, yyjson_mut_val *old,
                             yyjson_mut_val *now) {
  fields_change change = {fields_empty(doc), fields_empty(doc),
                          fields_empty(doc)};
  compare_children(doc, s, old, now, &change);
  /* Elements that are there twice leave nodes of one name. */
  sort(change.added);
  sort(change.modified);
  sort(change.removed);
  return change;
}

/* ------------------------------------------------------------------- paths */

static void visit_under(fields *set, buf *path,
                        void (*visit)(const char *path, void *data),
                        void *data) {
  size_t i, max;
  yyjson_mut_val *key, *child;
  for (int below = 0; below <= 1; below++) {
    yyjson_mut_obj_foreach(set, i, max, key, child) {
      if (is_dot(key)) {
        continue;
      }
      size_t before = path->len;
      children_put_path(path, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
      if (below) {
        visit_under(child, path, visit, data);
      } else if (is_member(child)) {
        visit(path->data, data);
      }
      path->len = before;
      path->data[before] = '\0';
    }
  }
}

void fields_visit(fields *set, void (*visit)(const char *path, void *data),
                  void *data) {
  buf path = {0};
  buf_puts(&path, "");
  visit_under(set, &path, visit, data);
  buf_free(&path);
}
