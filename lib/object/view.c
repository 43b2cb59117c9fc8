/* SPDX-License-Identifier: MIT */
#include <yyjson.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/json.h"
#include "object/object.h"

struct kin_object_view {
  kin_object *object; /* a reference */
  yyjson_doc *doc;    /* NULL until somebody asks */
};

int kin_object_view_open(kin_object_view **out, const kin_object *object) {
  kin_object_view *view =
      kin__malloc(kin__object_allocator(object), sizeof *view);
  *out = view;
  if (view == NULL) {
    return KIN_ENOMEM;
  }
  view->object = kin_object_ref(object);
  view->doc = NULL;
  return 0;
}

void kin_object_view_close(kin_object_view *view) {
  if (view == NULL) {
    return;
  }
  const kin_allocator *allocator = kin__object_allocator(view->object);
  kin_object *object = view->object;
  kin__json_free(allocator, view->doc);
  kin__free(allocator, view);
  kin_object_unref(object);
}

kin_str kin_object_view_json(const kin_object_view *view) {
  return kin__object_body(view->object);
}

/* The depth of stored text was bounded when it came in. */
yyjson_doc *kin_object_view_document(kin_object_view *view, int *error) {
  int err = 0;
  if (view->doc == NULL) {
    err = kin__json_read(&view->doc, kin__object_allocator(view->object),
                         kin__object_body(view->object));
  }
  if (err != 0 && error != NULL) {
    *error = err == KIN_ENOMEM ? KIN_ENOMEM : KIN_EJSON;
  }
  return view->doc;
}

/* The value that a pointer names; KIN_ENOENT also for null. */
static int find(kin_object_view *view, const char *pointer,
                yyjson_val **value) {
  if (!kin__json_pointer_is_valid(pointer)) {
    return KIN_EINVAL;
  }
  int err = 0;
  yyjson_doc *doc = kin_object_view_document(view, &err);
  if (doc == NULL) {
    return err;
  }
  *value = yyjson_doc_ptr_get(doc, pointer);
  return *value == NULL || yyjson_is_null(*value) ? KIN_ENOENT : 0;
}

int kin_object_view_string(kin_object_view *view, const char *pointer,
                           kin_str *value) {
  yyjson_val *found = NULL;
  int err = find(view, pointer, &found);
  if (err == 0 && !yyjson_is_str(found)) {
    err = KIN_ETYPE;
  }
  if (err == 0) {
    *value = kin__str(yyjson_get_str(found), yyjson_get_len(found));
  }
  return err;
}

int kin_object_view_int(kin_object_view *view, const char *pointer,
                        int64_t *value) {
  yyjson_val *found = NULL;
  int err = find(view, pointer, &found);
  if (err == 0 &&
      (!yyjson_is_int(found) ||
       (yyjson_is_uint(found) && yyjson_get_uint(found) > INT64_MAX))) {
    err = KIN_ETYPE;
  }
  if (err == 0) {
    *value = yyjson_get_sint(found);
  }
  return err;
}

int kin_object_view_bool(kin_object_view *view, const char *pointer,
                         bool *value) {
  yyjson_val *found = NULL;
  int err = find(view, pointer, &found);
  if (err == 0 && !yyjson_is_bool(found)) {
    err = KIN_ETYPE;
  }
  if (err == 0) {
    *value = yyjson_get_bool(found);
  }
  return err;
}
