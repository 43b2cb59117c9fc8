/* SPDX-License-Identifier: MIT */
#include "object/same_content.h"

#include "base/str.h"
#include "object/object.h"
#include "object/text.h"

/* The first member of that name; empty if there is none. */
static kin_str member_of(kin_str text, kin_str name) {
  kin__text_members members = {.text = text};
  while (kin__text_next(&members)) {
    if (kin__str_equal(members.name, name)) {
      return members.value;
    }
  }
  return kin__str(text.data, 0);
}

/* The text before the version's value, and after it. */
static void split(const kin_object *object, kin_str parts[2]) {
  kin_str text = kin__object_body(object);
  kin_str version = member_of(member_of(text, KIN__LIT("metadata")),
                              KIN__LIT("resourceVersion"));
  size_t before = (size_t)(version.data - text.data);
  size_t end = before + version.length;
  parts[0] = kin__str(text.data, before);
  parts[1] = kin__str(text.data + end, text.length - end);
}

bool kin__object_has_same_content(const kin_object *a, const kin_object *b) {
  kin_str of_a[2];
  kin_str of_b[2];
  split(a, of_a);
  split(b, of_b);
  return kin__str_equal(of_a[0], of_b[0]) && kin__str_equal(of_a[1], of_b[1]) &&
         kin_object_is_key_only(a) == kin_object_is_key_only(b);
}
