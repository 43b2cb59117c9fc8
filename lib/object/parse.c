/* SPDX-License-Identifier: MIT */

/* Objects from a caller's text, not from a stream. The parser proves that the
 * text is JSON. Then the few members that become resident are found by their
 * raw bytes. If a member occurs twice the first counts, as in a view. */
#include <kin/error.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/str.h"
#include "object/json.h"
#include "object/object.h"
#include "object/text.h"

static const size_t text_max = (size_t)1 << 30;

static int check_json(const kin_allocator *allocator, kin_str text) {
  if (!kin__json_depth_is_bounded(text)) {
    return KIN_EDEPTH;
  }
  struct yyjson_doc *doc;
  int err = kin__json_read(&doc, allocator, text);
  if (err == 0) {
    kin__json_free(allocator, doc);
  }
  return err;
}

/* The JSON text of a member; empty if absent. */
static kin_str member(kin_str object, kin_str name) {
  kin__text_members members = {.text = object};
  while (kin__text_next(&members)) {
    if (kin__text_name_is(members.name, name)) {
      return members.value;
    }
  }
  return KIN__LIT("");
}

/* The member's string: a slice of the text, or unescaped into *spare, which is
 * advanced. Empty if the member is no string. */
static int member_string(kin_str *out, char **spare, kin_str object,
                         kin_str name) {
  kin_str raw;
  *out = KIN__LIT("");
  if (!kin__text_string(member(object, name), &raw)) {
    return 0;
  }
  if (!kin__text_is_escaped(raw)) {
    *out = raw;
    return 0;
  }
  size_t length;
  int err = kin__text_unescape(*spare, &length, raw);
  if (err == 0) {
    *out = kin__str(*spare, length);
    *spare += length;
  }
  return err;
}

/* `spare` has room for all strings of metadata. */
static int find_parts(kin__object_parts *parts, char *spare, kin_str text,
                      kin_str metadata) {
  *parts = (kin__object_parts){.body = text};
  int err = member_string(&parts->namespace_, &spare, metadata,
                          KIN__LIT("namespace"));
  if (err == 0) {
    err = member_string(&parts->name, &spare, metadata, KIN__LIT("name"));
  }
  if (err == 0) {
    err = member_string(&parts->uid, &spare, metadata, KIN__LIT("uid"));
  }
  if (err == 0) {
    err = member_string(&parts->version, &spare, metadata,
                        KIN__LIT("resourceVersion"));
  }
  kin_str labels = member(metadata, KIN__LIT("labels"));
  if (labels.length > 0 && labels.data[0] == '{') {
    parts->labels = labels;
  }
  return err;
}

static int make(kin_object **out, const kin_allocator *allocator,
                kin_str text) {
  kin_str metadata = member(text, KIN__LIT("metadata"));
  char *spare = kin__malloc(allocator, metadata.length);
  kin__memory *memory = kin__memory_new(allocator);
  int err = spare != NULL && memory != NULL ? 0 : KIN_ENOMEM;
  kin__object_parts parts;
  if (err == 0) {
    err = find_parts(&parts, spare, text, metadata);
  }
  if (err == 0) {
    err = kin__object_new(out, memory, &parts);
  }
  kin__memory_unref(memory);
  kin__free(allocator, spare);
  return err;
}

int kin_object_parse(kin_object **out, const kin_allocator *allocator,
                     const char *json, size_t length) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  if (json == NULL) {
    return KIN_EINVAL;
  }
  if (allocator == NULL) {
    allocator = kin__default_allocator();
  }
  if (length > text_max) {
    return KIN_ETOOBIG;
  }
  kin_str text = kin__str(json, length);
  int err = check_json(allocator, text);
  return err == 0 ? make(out, allocator, kin__str_trim(text)) : err;
}
