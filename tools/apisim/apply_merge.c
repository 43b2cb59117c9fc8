/* SPDX-License-Identifier: MIT */
#include "apply_merge.h"

#include <stdlib.h>
#include <string.h>

#include "children.h"
#include "mem.h"

/* The parts of one side of a merge in the container's order. */
typedef struct side {
  children parts;
  const part **order;
} side;

static void side_read(side *out, schema s, yyjson_mut_val *value) {
  children_read(&out->parts, s, value);
  out->order = xcalloc(out->parts.count + 1, sizeof(const part *));
  for (size_t i = 0; i < out->parts.count; i++) {
    out->order[out->parts.items[i].index] = &out->parts.items[i];
  }
}

static void side_free(side *sd) {
  free(sd->order);
  children_free(&sd->parts);
}

static yyjson_mut_val *merge(yyjson_mut_doc *doc, schema s,
                             yyjson_mut_val *live, yyjson_mut_val *config);

static yyjson_mut_val *merge_part(yyjson_mut_doc *doc, schema s,
                                  const part *live, const part *config) {
  if (config == NULL) {
    return live->value;
  }
  return merge(doc, children_schema(s, config),
               live != NULL ? live->value : NULL, config->value);
}

/* Members keep their places; new ones come last. */
static void merge_members(yyjson_mut_doc *doc, schema s, yyjson_mut_val *live,
                          const side *a, const side *b) {
  yyjson_mut_obj_clear(live);
  for (size_t i = 0; i < a->parts.count; i++) {
    const part *mine = a->order[i];
    yyjson_mut_val *value =
        merge_part(doc, s, mine, children_find(&b->parts, mine));
    if (value != NULL) {
      yyjson_mut_obj_add(live, mine->key, value);
    }
  }
  for (size_t i = 0; i < b->parts.count; i++) {
    const part *theirs = b->order[i];
    if (children_find(&a->parts, theirs) == NULL) {
      yyjson_mut_val *value = merge_part(doc, s, NULL, theirs);
      if (value != NULL) {
        yyjson_mut_obj_add(live, yyjson_mut_val_mut_copy(doc, theirs->key),
                           value);
      }
    }
  }
}

/* Elements come in the order of the configuration; those that only the object
 * has stay behind what they were behind. */
static void merge_elements(yyjson_mut_doc *doc, schema s, yyjson_mut_val *live,
                           const side *a, const side *b) {
  bool *done = xcalloc(a->parts.count + 1, sizeof *done);
  yyjson_mut_arr_clear(live);
  size_t i = 0, j = 0;
  while (i < a->parts.count || j < b->parts.count) {
    const part *mine = i < a->parts.count ? a->order[i] : NULL;
    bool alone = mine != NULL && children_find(&b->parts, mine) == NULL;
    if (alone || (mine != NULL && (done[i] || j == b->parts.count))) {
      if (alone) {
        yyjson_mut_arr_append(live, mine->value);
      }
      i++;
      continue;
    }
    const part *theirs = b->order[j++];
    mine = children_find(&a->parts, theirs);
    yyjson_mut_val *value = merge_part(doc, s, mine, theirs);
    if (value != NULL) {
      yyjson_mut_arr_append(live, value);
    }
    if (mine != NULL) {
      done[mine->index] = true;
    }
  }
  free(done);
}

/* NULL if the configuration says null: there is no value then. */
static yyjson_mut_val *merge(yyjson_mut_doc *doc, schema s,
                             yyjson_mut_val *live, yyjson_mut_val *config) {
  if (yyjson_mut_is_null(config)) {
    return NULL;
  }
  if (!children_mergeable(s, config)) {
    return yyjson_mut_val_mut_copy(doc, config);
  }
  if (live == NULL || !children_mergeable(s, live) ||
      yyjson_mut_get_type(live) != yyjson_mut_get_type(config)) {
    live =
        yyjson_mut_is_obj(config) ? yyjson_mut_obj(doc) : yyjson_mut_arr(doc);
  }
  side a, b;
  side_read(&a, s, live);
  side_read(&b, s, config);
  if (yyjson_mut_is_obj(live)) {
    merge_members(doc, s, live, &a, &b);
  } else {
    merge_elements(doc, s, live, &a, &b);
  }
  side_free(&a);
  side_free(&b);
  return live;
}

yyjson_mut_val *apply_merge(yyjson_mut_doc *doc, schema s, yyjson_mut_val *live,
                            yyjson_mut_val *config) {
  return merge(doc, s, live, config);
}

/* ------------------------------------------------------------------- prune */

void apply_prune(schema s, yyjson_mut_val *object, fields *last,
                 fields *owned) {
  if (!children_mergeable(s, object)) {
    return;
  }
  side a;
  side_read(&a, s, object);
  bool *gone = xcalloc(a.parts.count + 1, sizeof *gone);
  fields_cursor in_last = fields_begin(last);
  fields_cursor in_owned = fields_begin(owned);
  for (size_t i = 0; i < a.parts.count; i++) {
    const part *item = &a.parts.items[i];
    fields *was = fields_seek(&in_last, item->element, item->element_len);
    fields *is = fields_seek(&in_owned, item->element, item->element_len);
    gone[item->index] = was != NULL && is == NULL;
    if (was != NULL && is != NULL) {
      apply_prune(children_schema(s, item), item->value, was, is);
    }
  }
  bool members = yyjson_mut_is_obj(object);
  if (members) {
    yyjson_mut_obj_clear(object);
  } else {
    yyjson_mut_arr_clear(object);
  }
  for (size_t i = 0; i < a.parts.count; i++) {
    if (!gone[i] && members) {
      yyjson_mut_obj_add(object, a.order[i]->key, a.order[i]->value);
    } else if (!gone[i]) {
      yyjson_mut_arr_append(object, a.order[i]->value);
    }
  }
  free(gone);
  side_free(&a);
}
