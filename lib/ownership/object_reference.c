/* SPDX-License-Identifier: MIT */
#include <kin/object_reference.h>

#include "base/str.h"

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
