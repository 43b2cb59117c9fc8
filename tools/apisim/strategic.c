/* SPDX-License-Identifier: MIT */
#include "strategic.h"

#include <stdlib.h>
#include <string.h>

#include "jsonpatch.h"
#include "mem.h"
#include "object.h"

static const char DIRECTIVE[] = "$patch";
static const char RETAIN[] = "$retainKeys";
static const char ORDER[] = "$setElementOrder/";
static const char TAKE[] = "$deleteFromPrimitiveList/";

typedef struct merger {
  yyjson_mut_doc *doc;
  buf *error;
} merger;

static bool fail(const merger *m, const char *what, const char *detail) {
  if (m->error->len == 0) {
    buf_printf(m->error, "%s: %s", what, detail);
  }
  return false;
}

/* The name behind the prefix, or NULL. */
static const char *behind(const char *key, const char *prefix) {
  size_t len = strlen(prefix);
  return strncmp(key, prefix, len) == 0 ? key + len : NULL;
}

static bool is_directive(const char *key) {
  return strcmp(key, DIRECTIVE) == 0 || strcmp(key, RETAIN) == 0 ||
         behind(key, ORDER) != NULL || behind(key, TAKE) != NULL;
}

static yyjson_mut_val *with_prefix(yyjson_mut_val *object, const char *prefix,
                                   const char *key) {
  buf name = {0};
  buf_printf(&name, "%s%s", prefix, key);
  yyjson_mut_val *value = yyjson_mut_obj_get(object, name.data);
  buf_free(&name);
  return value;
}

static bool says(yyjson_mut_val *patch, const char *word) {
  const char *text = object_text(patch, DIRECTIVE);
  return text != NULL && strcmp(text, word) == 0;
}

/* ------------------------------------------------------------------- lists */

typedef struct element {
  yyjson_mut_val *value;
  size_t live;   // its place in the list as it was; SIZE_MAX = new
  size_t wanted; // its place in $setElementOrder; SIZE_MAX = none
} element;

/* What tells the elements of a list apart. */
static yyjson_mut_val *identity(yyjson_mut_val *value, const char *key) {
  return key != NULL ? yyjson_mut_obj_get(value, key) : value;
}

static size_t find(yyjson_mut_val *list, yyjson_mut_val *like,
                   const char *key) {
  size_t i, max;
  yyjson_mut_val *item;
  yyjson_mut_arr_foreach(list, i, max, item) {
    yyjson_mut_val *have = identity(item, key);
    if (have != NULL && yyjson_mut_equals(have, like)) {
      return i;
    }
  }
  return SIZE_MAX;
}

/* The texts that identify elements of a list, sorted: a list is not walked for
 * each element of another one. */
typedef struct text_place {
  const char *text;
  size_t at; // in the list
} text_place;

typedef struct finder {
  yyjson_mut_val *list;
  const char *key;
  text_place *texts; // owned
  size_t count;
} finder;

static int by_text(const void *a, const void *b) {
  const text_place *one = a;
  const text_place *two = b;
  int order = strcmp(one->text, two->text);
  return order != 0 ? order : (one->at > two->at) - (one->at < two->at);
}

static finder finder_of(yyjson_mut_val *list, const char *key) {
  finder f = {.list = list, .key = key};
  f.texts = xcalloc(yyjson_mut_arr_size(list) + 1, sizeof *f.texts);
  size_t i, max;
  yyjson_mut_val *item;
  yyjson_mut_arr_foreach(list, i, max, item) {
    const char *text = yyjson_mut_get_str(identity(item, key));
    if (text != NULL) {
      f.texts[f.count++] = (text_place){text, i};
    }
  }
  qsort(f.texts, f.count, sizeof *f.texts, by_text);
  return f;
}

/* As find(). */
static size_t finder_find(const finder *f, yyjson_mut_val *like) {
  const char *text = yyjson_mut_get_str(like);
  if (text == NULL) {
    return find(f->list, like, f->key);
  }
  size_t low = 0;
  size_t high = f->count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (strcmp(f->texts[mid].text, text) < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low < f->count && strcmp(f->texts[low].text, text) == 0
             ? f->texts[low].at
             : SIZE_MAX;
}

static int by_wanted(const void *a, const void *b) {
  const element *one = a;
  const element *two = b;
  return (one->wanted > two->wanted) - (one->wanted < two->wanted);
}

/* Elements that the order names come in it. The others, all of which were in
 * the list before, stay before those that they were before. */
static void put_in_order(yyjson_mut_val *list, element *items, size_t count) {
  element *named = xcalloc(count + 1, sizeof *named);
  element *others = xcalloc(count + 1, sizeof *others);
  size_t named_count = 0, others_count = 0;
  for (size_t i = 0; i < count; i++) {
    if (items[i].wanted != SIZE_MAX) {
      named[named_count++] = items[i];
    } else {
      others[others_count++] = items[i];
    }
  }
  qsort(named, named_count, sizeof *named, by_wanted);
  yyjson_mut_arr_clear(list);
  size_t i = 0, j = 0;
  while (i < others_count || j < named_count) {
    bool other =
        j == named_count || (i < others_count && named[j].live != SIZE_MAX &&
                             others[i].live < named[j].live);
    yyjson_mut_arr_append(list, other ? others[i].value : named[j].value);
    i += other ? 1 : 0;
    j += other ? 0 : 1;
  }
  free(named);
  free(others);
}

/* live has the place that each element had before. */
static void order_list(yyjson_mut_val *list, const size_t *live,
                       yyjson_mut_val *order, const char *key) {
  size_t count = yyjson_mut_arr_size(list);
  element *items = xcalloc(count + 1, sizeof *items);
  finder wanted = finder_of(order, key);
  size_t i, max;
  yyjson_mut_val *item;
  yyjson_mut_arr_foreach(list, i, max, item) {
    yyjson_mut_val *id = identity(item, key);
    items[i] = (element){item, live[i],
                         id != NULL ? finder_find(&wanted, id) : SIZE_MAX};
  }
  free(wanted.texts);
  put_in_order(list, items, count);
  free(items);
}

static bool merge_object(const merger *m, schema s, yyjson_mut_val *object,
                         yyjson_mut_val *patch);

/* Adds the values that the list does not have, each once. */
static void merge_values(const merger *m, yyjson_mut_val *list,
                         yyjson_mut_val *patch) {
  finder old = finder_of(list, NULL);
  finder added = finder_of(patch, NULL);
  size_t i, max;
  yyjson_mut_val *value;
  yyjson_mut_arr_foreach(patch, i, max, value) {
    if (finder_find(&old, value) == SIZE_MAX &&
        finder_find(&added, value) == i) {
      yyjson_mut_arr_append(list, yyjson_mut_val_mut_copy(m->doc, value));
    }
  }
  free(old.texts);
  free(added.texts);
}

static bool merge_element(const merger *m, schema items, yyjson_mut_val *list,
                          yyjson_mut_val *patch, const char *key) {
  yyjson_mut_val *id = identity(patch, key);
  if (id == NULL) {
    return fail(m, "map does not contain declared merge key", key);
  }
  size_t at = find(list, id, key);
  if (says(patch, "delete")) {
    return true; // gone already
  }
  yyjson_mut_val *old =
      at != SIZE_MAX ? yyjson_mut_arr_get(list, at) : yyjson_mut_obj(m->doc);
  if (at == SIZE_MAX) {
    yyjson_mut_arr_append(list, old);
  }
  return merge_object(m, items, old, patch);
}

/* Whether the patch takes the element away. */
static bool is_taken(yyjson_mut_val *item, yyjson_mut_val *patch,
                     const char *key) {
  size_t i, max;
  yyjson_mut_val *change;
  yyjson_mut_val *id = identity(item, key);
  yyjson_mut_arr_foreach(patch, i, max, change) {
    if (id != NULL && says(change, "delete")) {
      yyjson_mut_val *other = identity(change, key);
      if (other != NULL && yyjson_mut_equals(other, id)) {
        return true;
      }
    }
  }
  return false;
}

static bool replaces(yyjson_mut_val *patch) {
  size_t i, max;
  yyjson_mut_val *change;
  yyjson_mut_arr_foreach(patch, i, max, change) {
    if (says(change, "replace")) {
      return true;
    }
  }
  return false;
}

/* Leaves of the list what stays. Returns the places that these had, with room
 * for as many new ones as the patch may bring. */
static size_t *keep_elements(yyjson_mut_val *list, yyjson_mut_val *patch,
                             yyjson_mut_val *taken, const char *key) {
  size_t size = yyjson_mut_arr_size(list);
  size_t room = size + yyjson_mut_arr_size(patch) + 1;
  size_t *live = xcalloc(room, sizeof *live);
  yyjson_mut_val **kept = xcalloc(size + 1, sizeof(yyjson_mut_val *));
  bool all_go = key != NULL && replaces(patch);
  finder gone = finder_of(taken, NULL);
  size_t count = 0;
  size_t i, max;
  yyjson_mut_val *item;
  yyjson_mut_arr_foreach(list, i, max, item) {
    if (!all_go && (key == NULL || !is_taken(item, patch, key)) &&
        finder_find(&gone, item) == SIZE_MAX) {
      live[count] = i;
      kept[count++] = item;
    }
  }
  free(gone.texts);
  yyjson_mut_arr_clear(list);
  for (i = 0; i < count; i++) {
    yyjson_mut_arr_append(list, kept[i]);
  }
  for (i = count; i < room; i++) {
    live[i] = SIZE_MAX;
  }
  free(kept);
  return live;
}

typedef struct list_patch {
  yyjson_mut_val *items; // NULL = none
  yyjson_mut_val *taken; // values to take away; NULL = none
  yyjson_mut_val *order; // NULL = that of the items
} list_patch;

static bool merge_list(const merger *m, schema s, yyjson_mut_val *list,
                       const list_patch *patch, const char *key) {
  size_t *live = keep_elements(list, patch->items, patch->taken, key);
  if (key == NULL) {
    merge_values(m, list, patch->items);
  }
  bool ok = true;
  size_t i, max;
  yyjson_mut_val *change;
  yyjson_mut_arr_foreach(key != NULL ? patch->items : NULL, i, max, change) {
    if (ok && !yyjson_mut_is_obj(change)) {
      ok = fail(m, "expected a map with the merge key", key);
    } else if (ok && !says(change, "replace")) {
      ok = merge_element(m, schema_items(s), list, change, key);
    }
  }
  if (ok) {
    order_list(list, live, patch->order != NULL ? patch->order : patch->items,
               key);
  }
  free(live);
  return ok;
}

/* ----------------------------------------------------------------- objects */

static void keep_only(yyjson_mut_val *object, yyjson_mut_val *names) {
  yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(object);
  yyjson_mut_val *key;
  while ((key = yyjson_mut_obj_iter_next(&it)) != NULL) {
    if (find(names, key, NULL) == SIZE_MAX) {
      yyjson_mut_obj_iter_remove(&it);
    }
  }
}

static yyjson_mut_val *ensure(const merger *m, yyjson_mut_val *object,
                              const char *key, bool list) {
  yyjson_mut_val *have = yyjson_mut_obj_get(object, key);
  if (list ? yyjson_mut_is_arr(have) : yyjson_mut_is_obj(have)) {
    return have;
  }
  have = list ? yyjson_mut_arr(m->doc) : yyjson_mut_obj(m->doc);
  object_set(m->doc, object, key, have);
  return have;
}

/* A list of the patch, or the directives for one. */
static bool merge_list_member(const merger *m, schema s, yyjson_mut_val *object,
                              yyjson_mut_val *patch, const char *key) {
  const char *by = NULL;
  schema at = schema_member(s, key);
  list_patch change = {
      .items = yyjson_mut_obj_get(patch, key),
      .taken = with_prefix(patch, TAKE, key),
      .order = with_prefix(patch, ORDER, key),
  };
  if (!schema_patch_merges(at, &by)) {
    if (change.items != NULL) {
      object_set(m->doc, object, key,
                 yyjson_mut_val_mut_copy(m->doc, change.items));
    }
    return true;
  }
  if (change.items == NULL && yyjson_mut_obj_get(object, key) == NULL) {
    return true;
  }
  return merge_list(m, at, ensure(m, object, key, true), &change, by);
}

/* Whether the patch of an object has no lists, objects or directives, as that of
 * a map of texts: a merge patch does the same then, in less time. */
static bool is_plain(yyjson_mut_val *patch) {
  size_t i, max;
  yyjson_mut_val *key, *value;
  yyjson_mut_obj_foreach(patch, i, max, key, value) {
    if (yyjson_mut_is_ctn(value) || is_directive(yyjson_mut_get_str(key))) {
      return false;
    }
  }
  return true;
}

static bool merge_member(const merger *m, schema s, yyjson_mut_val *object,
                         yyjson_mut_val *patch, const char *key,
                         yyjson_mut_val *value) {
  const char *of = behind(key, ORDER);
  of = of != NULL ? of : behind(key, TAKE);
  if (of != NULL) {
    bool with_list = yyjson_mut_obj_get(patch, of) != NULL;
    return with_list || merge_list_member(m, s, object, patch, of);
  }
  if (is_directive(key)) {
    return true;
  }
  if (yyjson_mut_is_null(value)) {
    object_remove(object, key);
    return true;
  }
  if (yyjson_mut_is_arr(value)) {
    return merge_list_member(m, s, object, patch, key);
  }
  if (yyjson_mut_is_obj(value) && is_plain(value)) {
    yyjson_mut_val *old = yyjson_mut_obj_get(object, key);
    object_set(m->doc, object, key, merge_patch_apply(m->doc, old, value));
    return true;
  }
  if (yyjson_mut_is_obj(value)) {
    return merge_object(m, schema_member(s, key), ensure(m, object, key, false),
                        value);
  }
  object_set(m->doc, object, key, yyjson_mut_val_mut_copy(m->doc, value));
  return true;
}

static bool merge_object(const merger *m, schema s, yyjson_mut_val *object,
                         yyjson_mut_val *patch) {
  yyjson_mut_val *directive = yyjson_mut_obj_get(patch, DIRECTIVE);
  bool takes_all = says(patch, "replace") || says(patch, "delete");
  if (directive != NULL && !takes_all && !says(patch, "merge")) {
    const char *text = yyjson_mut_get_str(directive);
    return fail(m, "unknown patch type", text != NULL ? text : "not a string");
  }
  if (takes_all) {
    yyjson_mut_obj_clear(object);
  }
  if (says(patch, "delete")) {
    return true;
  }
  yyjson_mut_val *retained = yyjson_mut_obj_get(patch, RETAIN);
  if (retained != NULL && !yyjson_mut_is_arr(retained)) {
    return fail(m, "not a list", RETAIN);
  }
  if (retained != NULL) {
    keep_only(object, retained);
  }
  bool ok = true;
  size_t i, max;
  yyjson_mut_val *key, *value;
  yyjson_mut_obj_foreach(patch, i, max, key, value) {
    ok =
        ok && merge_member(m, s, object, patch, yyjson_mut_get_str(key), value);
  }
  return ok;
}

bool strategic_apply(yyjson_mut_doc *doc, schema s, yyjson_mut_val *object,
                     yyjson_mut_val *patch, buf *error) {
  merger m = {doc, error};
  return merge_object(&m, s, object, patch);
}
