/* SPDX-License-Identifier: MIT */
#include "ownership/object_members.h"

#include <kin/object_reference.h>

#include "base/str.h"
#include "object/object.h"
#include "object/text.h"

kin_str kin__text_member(kin_str text, kin_str name) {
  kin__text_members members = {.text = text};
  kin_str found = KIN__LIT("");
  while (kin__text_next(&members)) {
    if (kin__text_name_is(members.name, name)) {
      found = members.value;
    }
  }
  return kin__str_equal(found, KIN__LIT("null")) ? KIN__LIT("") : found;
}

kin_str kin__metadata_member(const kin_object *object, kin_str name) {
  return kin__text_member(
      kin__text_member(kin__object_body(object), KIN__LIT("metadata")), name);
}

bool kin__text_is_string(kin_str value, kin_str plain) {
  kin_str raw;
  return kin__text_string(value, &raw) && kin__text_name_is(raw, plain);
}

kin_str kin__text_raw_string(kin_str value) {
  kin_str raw;
  return kin__text_string(value, &raw) ? raw : KIN__LIT("");
}

void kin_object_reference_of(kin_object_reference *reference,
                             const kin_object *object, const char *api_version,
                             const char *kind) {
  if (reference == NULL) {
    return;
  }
  *reference = (kin_object_reference){
      .api_version = kin__cstr(api_version),
      .kind = kin__cstr(kind),
      .namespace_ = kin_object_namespace(object),
      .name = kin_object_name(object),
      .uid = kin_object_uid(object),
      .resource_version = kin_object_resource_version(object)};
}
