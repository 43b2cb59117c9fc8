/* SPDX-License-Identifier: MIT */
#include "dispatch/notification.h"

#include <string.h>

#include "base/alloc.h"
#include "base/str.h"

const char *kin_delete_reason_name(kin_delete_reason reason) {
  switch (reason) {
  case KIN_DELETE_NONE:
    break;
  case KIN_DELETE_WATCH:
    return "watch";
  case KIN_DELETE_RELIST:
    return "relist";
  case KIN_DELETE_RECREATED:
    return "recreated";
  case KIN_DELETE_SCOPE_REMOVED:
    return "scope_removed";
  case KIN_DELETE_FILTERED:
    return "filtered";
  case KIN_DELETE_CLEARED:
    return "cleared";
  case KIN_DELETE_RESHARDED:
    return "resharded";
  case KIN_DELETE_PROGRAM:
    return "program";
  }
  return "";
}

static char *append(char *to, kin_str s) {
  if (s.length > 0) {
    memcpy(to, s.data, s.length);
  }
  return to + s.length;
}

kin__marker *kin__marker_new(const kin_allocator *allocator, kin_str namespace_,
                             kin_str version, size_t objects) {
  size_t room = SIZE_MAX - sizeof(kin__marker);
  if (namespace_.length > room || version.length > room - namespace_.length) {
    return NULL;
  }
  kin__marker *marker = kin__malloc(
      allocator, sizeof *marker + namespace_.length + version.length);
  if (marker == NULL) {
    return NULL;
  }
  char *text = (char *)(marker + 1);
  char *middle = append(text, namespace_);
  append(middle, version);
  *marker = (kin__marker){.refs = 1,
                          .objects = objects,
                          .namespace_ = kin__str(text, namespace_.length),
                          .version = kin__str(middle, version.length)};
  return marker;
}

void kin__marker_unref(kin__marker *marker, const kin_allocator *allocator) {
  if (marker != NULL && --marker->refs == 0) {
    kin__free(allocator, marker);
  }
}
