/* SPDX-License-Identifier: MIT */
#include "jsonpatch.h"

#include <string.h>

static const char *text_of(yyjson_mut_val *operation, const char *key) {
  return yyjson_mut_get_str(yyjson_mut_obj_get(operation, key));
}

static bool put(yyjson_mut_doc *doc, const char *path, yyjson_mut_val *value) {
  yyjson_mut_val *copy = yyjson_mut_val_mut_copy(doc, value);
  if (*path == '\0') {
    yyjson_mut_doc_set_root(doc, copy);
    return true;
  }
  return yyjson_mut_doc_ptr_addx(doc, path, strlen(path), copy, false, NULL,
                                 NULL);
}

static bool move_or_copy(yyjson_mut_doc *doc, yyjson_mut_val *operation,
                         const char *path, bool move) {
  const char *from = text_of(operation, "from");
  yyjson_mut_val *value =
      from != NULL ? yyjson_mut_doc_ptr_get(doc, from) : NULL;
  if (value == NULL) {
    return false;
  }
  yyjson_mut_val *copy = yyjson_mut_val_mut_copy(doc, value);
  if (move && yyjson_mut_doc_ptr_remove(doc, from) == NULL) {
    return false;
  }
  return put(doc, path, copy);
}

static bool apply_one(yyjson_mut_doc *doc, yyjson_mut_val *operation) {
  const char *name = text_of(operation, "op");
  const char *path = text_of(operation, "path");
  yyjson_mut_val *value = yyjson_mut_obj_get(operation, "value");
  if (name == NULL || path == NULL) {
    return false;
  }
  if (strcmp(name, "remove") == 0) {
    return yyjson_mut_doc_ptr_remove(doc, path) != NULL;
  }
  if (strcmp(name, "move") == 0 || strcmp(name, "copy") == 0) {
    return move_or_copy(doc, operation, path, *name == 'm');
  }
  if (value == NULL) {
    return false;
  }
  if (strcmp(name, "add") == 0) {
    return put(doc, path, value);
  }
  if (strcmp(name, "replace") == 0) {
    return yyjson_mut_doc_ptr_replace(
               doc, path, yyjson_mut_val_mut_copy(doc, value)) != NULL;
  }
  return strcmp(name, "test") == 0 &&
         yyjson_mut_equals(yyjson_mut_doc_ptr_get(doc, path), value);
}

bool jsonpatch_apply(yyjson_mut_doc *doc, yyjson_mut_val *patch, buf *error) {
  if (!yyjson_mut_is_arr(patch)) {
    buf_puts(error, "error decoding patch: a JSON patch is an array");
    return false;
  }
  size_t i, max;
  yyjson_mut_val *operation;
  yyjson_mut_arr_foreach(patch, i, max, operation) {
    if (!apply_one(doc, operation)) {
      buf_printf(error,
                 "the server rejected our request due to an error in our "
                 "request: operation %zu cannot be applied",
                 i);
      return false;
    }
  }
  return true;
}
