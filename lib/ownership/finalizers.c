/* SPDX-License-Identifier: MIT */
#include <kin/ownership.h>

#include <string.h>

#include <kin/error.h>
#include <kin/value.h>

#include "base/str.h"
#include "ownership/list.h"

static kin_value finalizers_of(const kin_object *object) {
  return kin_object_at(object, "/metadata/finalizers");
}

static bool has_string(kin_value list, kin_str plain) {
  kin_value_iterator elements = kin_value_iterate(list);
  kin_value element;
  while (kin_value_next(&elements, &element)) {
    if (kin_value_string_is(element, plain)) {
      return true;
    }
  }
  return false;
}

bool kin_object_has_finalizer(const kin_object *object, const char *finalizer) {
  return object != NULL && finalizer != NULL &&
         has_string(finalizers_of(object), kin__cstr(finalizer));
}

bool kin_object_is_terminating(const kin_object *object) {
  return object != NULL &&
         kin_value_exists(kin_object_at(object, "/metadata/deletionTimestamp"));
}

/* --- Patches -------------------------------------------------------------- */

/* A text of the caller's. Pieces that do not fit are only counted. */
typedef struct sink {
  char *to;
  size_t size;
  size_t length;
} sink;

static void put(sink *s, kin_str text) {
  if (s->length < s->size && text.length < s->size - s->length) {
    memcpy(s->to + s->length, text.data, text.length);
    s->to[s->length + text.length] = '\0';
  }
  s->length += text.length;
}

static int check_list(kin_value list) {
  int err = kin__ownership_check_list(list);
  if (err != 0 || !kin_value_exists(list)) {
    return err;
  }
  kin_value_iterator elements = kin_value_iterate(list);
  kin_value element;
  while (kin_value_next(&elements, &element)) {
    if (kin_value_type_of(element) != KIN_VALUE_STRING) {
      return KIN_ETYPE;
    }
  }
  return elements.error;
}

/* A finalizer is a label of DNS, a slash and a name: no byte of it needs an
 * escape. */
static bool is_finalizer(const char *finalizer) {
  if (!kin__has_text(finalizer)) {
    return false;
  }
  for (const char *c = finalizer; *c != '\0'; c++) {
    if ((unsigned char)*c < 0x21 || (unsigned char)*c > 0x7e || *c == '"' ||
        *c == '\\') {
      return false;
    }
  }
  return true;
}

static int check(const kin_object *object, const char *finalizer,
                 const char *to, size_t size, const size_t *length) {
  if (object == NULL || !is_finalizer(finalizer) || length == NULL ||
      (to == NULL && size > 0)) {
    return KIN_EINVAL;
  }
  if (kin_object_is_key_only(object)) {
    return KIN_EUNEXPECTED;
  }
  return kin_object_resource_version(object).length == 0 ? KIN_EKEY : 0;
}

static void put_list(sink *s, kin_value list, kin_str finalizer,
                     bool is_wanted) {
  kin_value_iterator elements = kin_value_iterate(list);
  kin_value element;
  bool has_one = false;
  put(s, KIN__LIT("["));
  while (kin_value_next(&elements, &element)) {
    if (!kin_value_string_is(element, finalizer)) {
      put(s, has_one ? KIN__LIT(",") : KIN__LIT(""));
      put(s, element.json);
      has_one = true;
    }
  }
  if (is_wanted) {
    put(s, has_one ? KIN__LIT(",\"") : KIN__LIT("\""));
    put(s, finalizer);
    put(s, KIN__LIT("\""));
  }
  put(s, KIN__LIT("]"));
}

static int write_patch(const kin_object *object, const char *finalizer,
                       bool is_wanted, char *to, size_t size, size_t *length) {
  int err = check(object, finalizer, to, size, length);
  if (err != 0) {
    return err;
  }
  /* Each is read once: a later read of a compact object may fail. */
  kin_value version = kin_object_at(object, "/metadata/resourceVersion");
  kin_value list = finalizers_of(object);
  err = version.error != 0 ? version.error : check_list(list);
  if (err != 0) {
    return err;
  }
  if (has_string(list, kin__cstr(finalizer)) == is_wanted) {
    return KIN_EALREADY;
  }
  sink s = {.to = to, .size = size};
  put(&s, KIN__LIT("{\"metadata\":{\"resourceVersion\":"));
  /* As written in the object, with its quotes. */
  put(&s, version.json);
  put(&s, KIN__LIT(",\"finalizers\":"));
  put_list(&s, list, kin__cstr(finalizer), is_wanted);
  put(&s, KIN__LIT("}}"));
  *length = s.length;
  return s.length < size ? 0 : KIN_ETOOBIG;
}

int kin_object_add_finalizer_patch(const kin_object *object,
                                   const char *finalizer, char *to, size_t size,
                                   size_t *length) {
  return write_patch(object, finalizer, true, to, size, length);
}

int kin_object_remove_finalizer_patch(const kin_object *object,
                                      const char *finalizer, char *to,
                                      size_t size, size_t *length) {
  return write_patch(object, finalizer, false, to, size, length);
}
