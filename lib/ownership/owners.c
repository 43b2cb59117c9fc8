/* SPDX-License-Identifier: MIT */
#include <kin/ownership.h>

#include <stdio.h>
#include <string.h>

#include <kin/error.h>
#include <kin/meta.h>
#include <kin/object_builder.h>

#include "base/buf.h"
#include "base/str.h"
#include "object/object.h"
#include "object/text.h"
#include "ownership/list.h"

#define MAX_OWNER_BYTES (64u << 10)
/* Longer ones than a group of DNS and a version do not exist. */
enum { MAX_API_VERSION_BYTES = 512 };
#define PLACE "/metadata/ownerReferences"

/* Of an apiVersion: "apps" of "apps/v1", "" of "v1". */
static kin_str group_of(kin_str api_version) {
  const char *slash = memchr(api_version.data, '/', api_version.length);
  return kin__str(api_version.data,
                  slash != NULL ? (size_t)(slash - api_version.data) : 0);
}

static bool has_group(kin_value api_version, kin_str group) {
  char buffer[MAX_API_VERSION_BYTES];
  kin_str text;
  return kin_value_string(api_version, buffer, sizeof buffer, &text) == 0 &&
         kin__str_equal(group_of(text), group);
}

/* controllerutil's referSameObject: neither version nor uid count. */
static bool refers_to(const kin_owner_reference *reference,
                      const kin_object_reference *owner) {
  return has_group(reference->api_version, group_of(owner->api_version)) &&
         kin_value_string_is(reference->kind, owner->kind) &&
         kin_value_string_is(reference->name, owner->name);
}

/* --- Checks --------------------------------------------------------------- */

static kin_object_reference given(const kin_object_reference *owner) {
  return (kin_object_reference){.api_version =
                                    kin__str_given(owner->api_version),
                                .kind = kin__str_given(owner->kind),
                                .namespace_ = kin__str_given(owner->namespace_),
                                .name = kin__str_given(owner->name),
                                .uid = kin__str_given(owner->uid)};
}

/* controllerutil's validateOwner. */
static int check(const kin_object *object, const kin_object_reference *owner,
                 kin_owner_kind kind) {
  bool is_complete = owner->api_version.length > 0 && owner->kind.length > 0 &&
                     owner->name.length > 0 && owner->uid.length > 0;
  bool is_near =
      owner->namespace_.length == 0 ||
      kin__str_equal(owner->namespace_, kin_object_namespace(object));
  if (!is_complete || !is_near || (unsigned)kind > KIN_OWNER_CONTROLLER) {
    return KIN_EINVAL;
  }
  if (kin_object_is_key_only(object)) {
    return KIN_EUNEXPECTED;
  }
  return 0;
}

/* The place of the owner in the list: that of the first entry for the same
 * object, or the end. Errors: KIN_EEXIST, and those of the list's text. */
static int find_place(kin_value list, const kin_object_reference *owner,
                      kin_owner_kind kind, size_t *place) {
  kin_value_iterator references = kin_value_iterate(list);
  kin_owner_reference reference;
  size_t index = 0;
  *place = SIZE_MAX;
  for (; kin_owner_reference_next(&references, &reference); index++) {
    bool is_same = refers_to(&reference, owner);
    if (is_same && *place == SIZE_MAX) {
      *place = index;
    }
    if (!is_same && kind == KIN_OWNER_CONTROLLER && reference.is_controller) {
      return KIN_EEXIST;
    }
  }
  *place = *place == SIZE_MAX ? index : *place;
  return kin_value_exists(list) ? references.error : 0;
}

/* --- The entry ------------------------------------------------------------ */

static int append_text(kin__buf *out, const char *before, kin_str text) {
  int err = kin__buf_append_cstr(out, before);
  if (err == 0) {
    err = kin__buf_reserve(out, kin__text_quoted_bound(text.length));
  }
  if (err == 0) {
    out->length += kin__text_quote(out->data + out->length, text);
  }
  return err;
}

static int append_owner(kin__buf *out, const kin_object_reference *owner,
                        kin_owner_kind kind) {
  int err = append_text(out, "{\"apiVersion\":", owner->api_version);
  if (err == 0) {
    err = append_text(out, ",\"kind\":", owner->kind);
  }
  if (err == 0) {
    err = append_text(out, ",\"name\":", owner->name);
  }
  if (err == 0) {
    err = append_text(out, ",\"uid\":", owner->uid);
  }
  if (err == 0 && kind == KIN_OWNER_CONTROLLER) {
    err = kin__buf_append_cstr(out, ",\"controller\":true");
  }
  if (err == 0 && kind != KIN_OWNER) {
    err = kin__buf_append_cstr(out, ",\"blockOwnerDeletion\":true");
  }
  return err == 0 ? kin__buf_append_cstr(out, "}") : err;
}

enum { POINTER_SIZE = sizeof PLACE + 24 };

static int set_entry(kin_object_builder *builder, bool has_list, size_t place,
                     const kin__buf *entry) {
  char pointer[POINTER_SIZE];
  if (!has_list) {
    int err = kin_object_builder_set_json(builder, PLACE, "[]", 2);
    if (err != 0) {
      return err;
    }
  }
  snprintf(pointer, sizeof pointer, PLACE "/%zu", place);
  return kin_object_builder_set_json(builder, pointer, entry->data,
                                     entry->length);
}

/* Drops what the object has for the same owner behind `place`: each entry may
 * be a controller, and a server refuses two of them. */
static int drop_others(kin_object_builder *builder, kin_value list,
                       size_t place, const kin_object_reference *owner) {
  kin_value_iterator references = kin_value_iterate(list);
  kin_owner_reference reference;
  size_t index = 0; /* after the removals before */
  int err = 0;
  while (err == 0 && kin_owner_reference_next(&references, &reference)) {
    if (index > place && refers_to(&reference, owner)) {
      char pointer[POINTER_SIZE];
      snprintf(pointer, sizeof pointer, PLACE "/%zu", index);
      err = kin_object_builder_remove(builder, pointer);
    } else {
      index++;
    }
  }
  return err;
}

static int edit(kin_object **out, const kin_allocator *allocator,
                const kin_object *object, kin_value list, size_t place,
                const kin_object_reference *owner, const kin__buf *entry) {
  kin_object_builder *builder;
  int err = kin_object_builder_new(&builder, allocator, object);
  if (err != 0) {
    return err;
  }
  err = set_entry(builder, kin_value_exists(list), place, entry);
  if (err == 0) {
    err = drop_others(builder, list, place, owner);
  }
  if (err != 0) {
    kin_object_builder_free(builder);
    return err == KIN_EJSON ? KIN_EINVAL : err; /* the entry is no UTF-8 */
  }
  return kin_object_builder_finish(builder, out);
}

int kin_object_set_owner(kin_object **out, const kin_allocator *allocator,
                         const kin_object *object,
                         const kin_object_reference *owner,
                         kin_owner_kind kind) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (object == NULL || owner == NULL) {
    return KIN_EINVAL;
  }
  kin_object_reference clean = given(owner);
  size_t place = 0;
  int err = check(object, &clean, kind);
  if (err != 0) {
    return err;
  }
  kin_value list = kin_object_at(object, PLACE);
  err = kin__ownership_check_list(list);
  if (err == 0) {
    err = find_place(list, &clean, kind, &place);
  }
  if (err != 0) {
    return err;
  }
  kin__buf entry;
  kin__buf_init(&entry, kin__object_allocator(object), MAX_OWNER_BYTES);
  err = append_owner(&entry, &clean, kind);
  if (err == KIN_ETOOBIG) {
    err = KIN_EINVAL;
  }
  if (err == 0) {
    err = edit(out, allocator, object, list, place, &clean, &entry);
  }
  kin__buf_finish(&entry);
  return err;
}
