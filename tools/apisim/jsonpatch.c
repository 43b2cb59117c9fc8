/* SPDX-License-Identifier: MIT */
#include "jsonpatch.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "object.h"

/* The bytes that all "copy" operations of a patch may add together, as in the
 * real server: each may double the document otherwise. */
enum { COPIED_BYTES_MAX = 3 * 1024 * 1024 };

static const char *text_of(yyjson_mut_val *operation, const char *key) {
  return yyjson_mut_get_str(yyjson_mut_obj_get(operation, key));
}

/* Neither the value nor what is around it is nested deeper than
 * OBJECT_DEPTH_MAX, so the recursion ends. */
static size_t depth_of(yyjson_mut_val *value) {
  size_t deepest = 0;
  size_t i, max;
  yyjson_mut_val *key, *item;
  yyjson_mut_arr_foreach(value, i, max, item) {
    size_t depth = depth_of(item);
    deepest = depth > deepest ? depth : deepest;
  }
  yyjson_mut_obj_foreach(value, i, max, key, item) {
    size_t depth = depth_of(item);
    deepest = depth > deepest ? depth : deepest;
  }
  return deepest + (yyjson_mut_is_ctn(value) ? 1 : 0);
}

static bool is_too_deep(const char *path, yyjson_mut_val *value) {
  size_t depth = depth_of(value);
  for (; *path != '\0'; path++) {
    depth += *path == '/';
  }
  return depth > OBJECT_DEPTH_MAX;
}

static bool put(yyjson_mut_doc *doc, const char *path, yyjson_mut_val *value) {
  if (is_too_deep(path, value)) {
    return false;
  }
  yyjson_mut_val *copy = yyjson_mut_val_mut_copy(doc, value);
  if (*path == '\0') {
    yyjson_mut_doc_set_root(doc, copy);
    return true;
  }
  /* A member that is there is replaced (RFC 6902, 4.1); an element gets a
   * neighbour. */
  yyjson_ptr_ctx place = {0};
  if (yyjson_mut_doc_ptr_getx(doc, path, strlen(path), &place, NULL) != NULL &&
      yyjson_mut_is_obj(place.ctn)) {
    return yyjson_ptr_ctx_replace(&place, copy);
  }
  return yyjson_mut_doc_ptr_addx(doc, path, strlen(path), copy, false, NULL,
                                 NULL);
}

/* The whole document cannot be taken away: an API server finds nothing of that
 * name. */
static bool take_away(yyjson_mut_doc *doc, const char *path) {
  return *path != '\0' && yyjson_mut_doc_ptr_remove(doc, path) != NULL;
}

/* False if more may not be copied. */
static bool count_copied(yyjson_mut_val *value, size_t *copied) {
  size_t length = 0;
  char *text = yyjson_mut_val_write(value, YYJSON_WRITE_NOFLAG, &length);
  free(text);
  *copied += length;
  return text != NULL && *copied <= COPIED_BYTES_MAX;
}

static bool move_or_copy(yyjson_mut_doc *doc, yyjson_mut_val *operation,
                         const char *path, bool move, size_t *copied) {
  const char *from = text_of(operation, "from");
  yyjson_mut_val *value =
      from != NULL ? yyjson_mut_doc_ptr_get(doc, from) : NULL;
  if (value == NULL || (!move && !count_copied(value, copied))) {
    return false;
  }
  yyjson_mut_val *copy = yyjson_mut_val_mut_copy(doc, value);
  if (move && !take_away(doc, from)) {
    return false;
  }
  return put(doc, path, copy);
}

static bool is_null(yyjson_mut_val *value) {
  return value == NULL || yyjson_mut_is_null(value);
}

/* As Go's library tests: a member that is missing is null. */
static bool holds(yyjson_mut_doc *doc, const char *path,
                  yyjson_mut_val *value) {
  yyjson_mut_val *found = yyjson_mut_doc_ptr_get(doc, path);
  const char *last = strrchr(path, '/');
  if (found != NULL) {
    return yyjson_mut_equals(found, value) ||
           (is_null(found) && is_null(value));
  }
  if (last == NULL || !is_null(value)) {
    return false;
  }
  yyjson_mut_val *around =
      yyjson_mut_doc_ptr_getn(doc, path, (size_t)(last - path));
  return yyjson_mut_is_obj(around);
}

static bool apply_one(yyjson_mut_doc *doc, yyjson_mut_val *operation,
                      size_t *copied) {
  const char *name = text_of(operation, "op");
  const char *path = text_of(operation, "path");
  yyjson_mut_val *value = yyjson_mut_obj_get(operation, "value");
  if (name == NULL || path == NULL) {
    return false;
  }
  if (strcmp(name, "remove") == 0) {
    return take_away(doc, path);
  }
  if (strcmp(name, "move") == 0 || strcmp(name, "copy") == 0) {
    return move_or_copy(doc, operation, path, *name == 'm', copied);
  }
  if (strcmp(name, "test") == 0) {
    return holds(doc, path, value);
  }
  if (value == NULL) {
    return false;
  }
  if (strcmp(name, "add") == 0) {
    return put(doc, path, value);
  }
  return strcmp(name, "replace") == 0 && !is_too_deep(path, value) &&
         yyjson_mut_doc_ptr_replace(
             doc, path, yyjson_mut_val_mut_copy(doc, value)) != NULL;
}

bool jsonpatch_apply(yyjson_mut_doc *doc, yyjson_mut_val *patch, buf *error) {
  if (!yyjson_mut_is_arr(patch)) {
    buf_puts(error, "error decoding patch: a JSON patch is an array");
    return false;
  }
  size_t i, max, copied = 0;
  yyjson_mut_val *operation;
  yyjson_mut_arr_foreach(patch, i, max, operation) {
    if (!apply_one(doc, operation, &copied)) {
      buf_printf(error,
                 "the server rejected our request due to an error in our "
                 "request: operation %zu cannot be applied",
                 i);
      return false;
    }
  }
  return true;
}

/* ------------------------------------------------------------- merge patch */

typedef struct member {
  yyjson_mut_val *key;
  yyjson_mut_val *value;
  bool is_old; // the object has a member of this name
} member;

static int by_key(const void *a, const void *b) {
  yyjson_mut_val *one = ((const member *)a)->key;
  yyjson_mut_val *two = ((const member *)b)->key;
  size_t len = yyjson_mut_get_len(one);
  size_t other = yyjson_mut_get_len(two);
  int order = memcmp(yyjson_mut_get_str(one), yyjson_mut_get_str(two),
                     len < other ? len : other);
  return order != 0 ? order : (len > other) - (len < other);
}

/* The members of an object by their keys. */
static member *sort_members(yyjson_mut_val *object, size_t count) {
  member *members = xcalloc(count + 1, sizeof *members);
  size_t i, max;
  yyjson_mut_val *key, *value;
  yyjson_mut_obj_foreach(object, i, max, key, value) {
    members[i] = (member){key, value, false};
  }
  qsort(members, count, sizeof *members, by_key);
  return members;
}

static void add_merged(yyjson_mut_doc *doc, yyjson_mut_val *made,
                       yyjson_mut_val *key, yyjson_mut_val *old,
                       yyjson_mut_val *patch) {
  if (!yyjson_mut_is_null(patch)) {
    yyjson_mut_obj_add(made, yyjson_mut_val_mut_copy(doc, key),
                       merge_patch_apply(doc, old, patch));
  }
}

yyjson_mut_val *merge_patch_apply(yyjson_mut_doc *doc, yyjson_mut_val *old,
                                  yyjson_mut_val *patch) {
  if (!yyjson_mut_is_obj(patch)) {
    return yyjson_mut_val_mut_copy(doc, patch);
  }
  size_t count = yyjson_mut_obj_size(patch);
  member *changes = sort_members(patch, count);
  yyjson_mut_val *made = yyjson_mut_obj(doc);
  size_t i, max;
  yyjson_mut_val *key, *value;
  yyjson_mut_obj_foreach(old, i, max, key, value) {
    member like = {.key = key};
    member *change = bsearch(&like, changes, count, sizeof like, by_key);
    if (change == NULL) {
      yyjson_mut_obj_add(made, yyjson_mut_val_mut_copy(doc, key),
                         yyjson_mut_val_mut_copy(doc, value));
    } else {
      change->is_old = true;
      add_merged(doc, made, key, value, change->value);
    }
  }
  yyjson_mut_obj_foreach(patch, i, max, key, value) {
    member like = {.key = key};
    member *change = bsearch(&like, changes, count, sizeof like, by_key);
    if (!change->is_old) {
      add_merged(doc, made, key, NULL, value);
    }
  }
  free(changes);
  return made;
}
