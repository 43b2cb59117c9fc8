/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/yyjson.h>

#include "base/alloc.h"
#include "base/str.h"
#include "object/json.h"
#include "object/object.h"

struct kin_object_view {
  kin_object *object; /* a reference of the library's: the text is open */
  kin_str text;
  void *block;            /* see kin__object_open_text */
  struct yyjson_doc *doc; /* NULL until a value is read */
};

int kin_object_view_open(kin_object_view **out, const kin_object *object) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (object == NULL) {
    return KIN_EINVAL;
  }
  kin_object_view *view =
      kin__malloc(kin__object_allocator(object), sizeof *view);
  *out = view;
  if (view == NULL) {
    return KIN_ENOMEM;
  }
  view->object = kin__object_ref(object);
  view->doc = NULL;
  int err = kin__object_open_text(object, &view->text, &view->block);
  if (err != 0) {
    kin__free(kin__object_allocator(object), view);
    kin__object_unref(object);
    *out = NULL;
  }
  return err;
}

void kin_object_view_close(kin_object_view *view) {
  if (view == NULL) {
    return;
  }
  const kin_allocator *allocator = kin__object_allocator(view->object);
  kin_object *object = view->object;
  kin__json_free(allocator, view->doc);
  kin__object_close_text(object, view->block);
  kin__free(allocator, view);
  kin__object_unref(object);
}

kin_str kin_object_view_json(const kin_object_view *view) {
  return view != NULL ? view->text : kin__str(NULL, 0);
}

/* The depth of stored text was checked when it was decoded. */
struct yyjson_doc *kin_object_view_document(kin_object_view *view, int *error) {
  if (view == NULL) {
    if (error != NULL) {
      *error = KIN_EINVAL;
    }
    return NULL;
  }
  int err = 0;
  if (view->doc == NULL) {
    err = kin__json_read(&view->doc, kin__object_allocator(view->object),
                         view->text);
  }
  if (err != 0 && error != NULL) {
    *error = err == KIN_ENOMEM ? KIN_ENOMEM : KIN_EJSON;
  }
  return view->doc;
}

/* The value that a pointer names; KIN_ENOENT also for null. */
static int find(kin_object_view *view, const char *pointer, kin__json **value) {
  if (!kin__json_pointer_is_valid(pointer)) {
    return KIN_EINVAL;
  }
  int err = 0;
  struct yyjson_doc *doc = kin_object_view_document(view, &err);
  if (doc == NULL) {
    return err;
  }
  *value = kin__json_at(kin__json_root(doc), pointer);
  return *value == NULL || kin__json_is_null(*value) ? KIN_ENOENT : 0;
}

int kin_object_view_string(kin_object_view *view, const char *pointer,
                           kin_str *value) {
  if (view == NULL || pointer == NULL || value == NULL) {
    return KIN_EINVAL;
  }
  kin__json *found = NULL;
  int err = find(view, pointer, &found);
  return err != 0 || kin__json_to_string(found, value) ? err : KIN_ETYPE;
}

int kin_object_view_int(kin_object_view *view, const char *pointer,
                        int64_t *value) {
  if (view == NULL || pointer == NULL || value == NULL) {
    return KIN_EINVAL;
  }
  kin__json *found = NULL;
  int err = find(view, pointer, &found);
  return err != 0 || kin__json_to_int(found, value) ? err : KIN_ETYPE;
}

int kin_object_view_bool(kin_object_view *view, const char *pointer,
                         bool *value) {
  if (view == NULL || pointer == NULL || value == NULL) {
    return KIN_EINVAL;
  }
  kin__json *found = NULL;
  int err = find(view, pointer, &found);
  return err != 0 || kin__json_to_bool(found, value) ? err : KIN_ETYPE;
}
