/* SPDX-License-Identifier: MIT */
#include "object/same_content.h"

#include "base/str.h"
#include "object/object.h"
#include "object/text.h"

/* The text before the version's value, and after it. */
static void split(kin_str text, kin_str parts[2]) {
  kin_str metadata = kin__text_member(text, KIN__LIT("metadata"));
  kin_str version = kin__text_member(metadata, KIN__LIT("resourceVersion"));
  size_t before = (size_t)(version.data - text.data);
  size_t end = before + version.length;
  parts[0] = kin__str(text.data, before);
  parts[1] = kin__str_from(text, end);
}

static bool has_same_content(kin_str a, kin_str b) {
  kin_str of_a[2];
  kin_str of_b[2];
  split(a, of_a);
  split(b, of_b);
  return kin__str_equal(of_a[0], of_b[0]) && kin__str_equal(of_a[1], of_b[1]);
}

static bool compare(const kin_object *a, const kin_object *b,
                    bool (*is_same)(kin_str a, kin_str b)) {
  kin_str texts[2];
  void *blocks[2] = {NULL, NULL};
  bool result = kin__object_open_text(a, &texts[0], &blocks[0]) == 0 &&
                kin__object_open_text(b, &texts[1], &blocks[1]) == 0 &&
                is_same(texts[0], texts[1]);
  kin__object_close_text(a, blocks[0]);
  kin__object_close_text(b, blocks[1]);
  return result;
}

bool kin__object_is_same_state(const kin_object *a, const kin_object *b) {
  kin_str uid = kin_object_uid(a);
  kin_str version = kin_object_resource_version(a);
  return uid.length > 0 && version.length > 0 &&
         kin_object_is_key_only(a) == kin_object_is_key_only(b) &&
         kin__str_equal(uid, kin_object_uid(b)) &&
         kin__str_equal(version, kin_object_resource_version(b));
}

bool kin__object_has_same_text(const kin_object *a, const kin_object *b) {
  return compare(a, b, kin__str_equal);
}

bool kin__object_has_same_content(const kin_object *a, const kin_object *b) {
  return !kin_object_is_key_only(a) && !kin_object_is_key_only(b) &&
         compare(a, b, has_same_content);
}
