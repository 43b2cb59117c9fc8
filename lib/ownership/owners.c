/* SPDX-License-Identifier: MIT */
#include <kin/ownership.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>
#include <kin/object_builder.h>

#include "base/buf.h"
#include "base/str.h"
#include "object/object.h"
#include "object/text.h"
#include "ownership/object_members.h"

#define MAX_OWNER_BYTES (64u << 10)
#define PLACE "/metadata/ownerReferences"

static kin_str owners_of(const kin_object *object) {
  return kin__metadata_member(object, KIN__LIT("ownerReferences"));
}

/* Of an apiVersion: "apps" of "apps/v1", "" of "v1". */
static kin_str group_of(kin_str api_version) {
  const char *slash = api_version.length > 0
                          ? memchr(api_version.data, '/', api_version.length)
                          : NULL;
  return kin__str(api_version.data,
                  slash != NULL ? (size_t)(slash - api_version.data) : 0);
}

static bool is_controller(kin_str reference) {
  return kin__str_equal(kin__text_member(reference, KIN__LIT("controller")),
                        KIN__LIT("true"));
}

/* controllerutil's referSameObject: neither version nor uid count. */
static bool refers_to(kin_str reference, const kin_object_reference *owner) {
  kin_str api_version =
      kin__text_raw_string(kin__text_member(reference, KIN__LIT("apiVersion")));
  return kin__str_equal(group_of(api_version), group_of(owner->api_version)) &&
         kin__text_is_string(kin__text_member(reference, KIN__LIT("kind")),
                             owner->kind) &&
         kin__text_is_string(kin__text_member(reference, KIN__LIT("name")),
                             owner->name);
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
  kin_str list = owners_of(object);
  return list.length == 0 || list.data[0] == '[' ? 0 : KIN_ETYPE;
}

/* The place of the owner in the list: that of an entry for the same object, or
 * the end. Errors: KIN_EEXIST. */
static int find_place(kin_str list, const kin_object_reference *owner,
                      kin_owner_kind kind, size_t *place) {
  kin__text_elements elements = {.text = list};
  size_t index = 0;
  *place = SIZE_MAX;
  for (; kin__text_next_element(&elements); index++) {
    bool is_same = refers_to(elements.value, owner);
    if (is_same && *place == SIZE_MAX) {
      *place = index;
    }
    if (!is_same && kind == KIN_OWNER_CONTROLLER &&
        is_controller(elements.value)) {
      return KIN_EEXIST;
    }
  }
  *place = *place == SIZE_MAX ? index : *place;
  return 0;
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

static int set_entry(kin_object_builder *builder, kin_str list, size_t place,
                     kin__buf *entry) {
  char pointer[sizeof PLACE + 24];
  if (list.length == 0) {
    int err = kin_object_builder_set_json(builder, PLACE, "[]", 2);
    if (err != 0) {
      return err;
    }
  }
  snprintf(pointer, sizeof pointer, PLACE "/%zu", place);
  return kin_object_builder_set_json(builder, pointer, entry->data,
                                     entry->length);
}

static int edit(kin_object **out, const kin_allocator *allocator,
                const kin_object *object, size_t place, kin__buf *entry) {
  kin_object_builder *builder;
  int err = kin_object_builder_new(&builder, allocator, object);
  if (err != 0) {
    return err;
  }
  err = set_entry(builder, owners_of(object), place, entry);
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
  if (err == 0) {
    err = find_place(owners_of(object), &clean, kind, &place);
  }
  if (err != 0) {
    return err;
  }
  kin__buf entry;
  kin__buf_init(&entry, kin__object_allocator(object), MAX_OWNER_BYTES);
  err = append_owner(&entry, &clean, kind);
  if (err == 0) {
    err = edit(out, allocator, object, place, &entry);
  }
  kin__buf_finish(&entry);
  return err == KIN_ETOOBIG ? KIN_EINVAL : err;
}

/* --- Reading -------------------------------------------------------------- */

bool kin_object_controller_of(const kin_object *object,
                              kin_object_reference *controller) {
  if (object == NULL || controller == NULL) {
    return false;
  }
  kin__text_elements elements = {.text = owners_of(object)};
  while (kin__text_next_element(&elements)) {
    kin_str entry = elements.value;
    if (is_controller(entry)) {
      *controller = (kin_object_reference){
          .api_version = kin__text_raw_string(
              kin__text_member(entry, KIN__LIT("apiVersion"))),
          .kind =
              kin__text_raw_string(kin__text_member(entry, KIN__LIT("kind"))),
          .namespace_ = kin_object_namespace(object),
          .name =
              kin__text_raw_string(kin__text_member(entry, KIN__LIT("name"))),
          .uid =
              kin__text_raw_string(kin__text_member(entry, KIN__LIT("uid")))};
      return true;
    }
  }
  return false;
}
