/* SPDX-License-Identifier: MIT */
#include "decode/key_only.h"

#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/item_core.h"
#include "object/text.h"

/* For all names, brackets, colons, commas and quotes. */
#define FRAME_BYTES 160u

typedef struct writer {
  char *to;
  size_t length;
  bool has_member; /* the open object has one */
} writer;

size_t kin__key_only_bound(size_t strings, size_t labels) {
  return kin__text_quoted_bound(strings) + labels + FRAME_BYTES;
}

static void put(writer *w, kin_str text) {
  memcpy(w->to + w->length, text.data, text.length);
  w->length += text.length;
}

/* `name` is written as it is, and has its quotes and colon. */
static void put_name(writer *w, kin_str name) {
  if (w->has_member) {
    put(w, KIN__LIT(","));
  }
  w->has_member = true;
  put(w, name);
}

/* Returns the string's place in the text, or `value` itself if the text has
 * escapes. */
static kin_str put_string(writer *w, kin_str name, kin_str value) {
  if (value.length == 0) {
    return value;
  }
  put_name(w, name);
  const char *text = w->to + w->length;
  size_t length = kin__text_quote(w->to + w->length, value);
  w->length += length;
  return length == value.length + 2 ? kin__str(text + 1, value.length) : value;
}

void kin__key_only_write(char *to, kin__object_parts *parts,
                         kin_str api_version, kin_str kind) {
  writer w = {.to = to};
  put(&w, KIN__LIT("{"));
  put_string(&w, KIN__LIT("\"apiVersion\":"), api_version);
  put_string(&w, KIN__LIT("\"kind\":"), kind);
  put_name(&w, KIN__LIT("\"metadata\":{"));
  w.has_member = false;
  parts->name = put_string(&w, KIN__LIT("\"name\":"), parts->name);
  parts->namespace_ =
      put_string(&w, KIN__LIT("\"namespace\":"), parts->namespace_);
  parts->uid = put_string(&w, KIN__LIT("\"uid\":"), parts->uid);
  parts->version =
      put_string(&w, KIN__LIT("\"resourceVersion\":"), parts->version);
  if (parts->labels.length > 0) {
    put_name(&w, KIN__LIT("\"labels\":"));
    kin_str labels = parts->labels;
    parts->labels = kin__str(to + w.length, labels.length);
    put(&w, labels);
  }
  put(&w, KIN__LIT("}}"));
  parts->body = kin__str(to, w.length);
}

static kin_str string_in(kin_str value) {
  kin_str raw;
  bool is_plain = kin__text_string(value, &raw) && !kin__text_is_escaped(raw);
  return is_plain ? raw : kin__str(NULL, 0);
}

static kin_str labels_in(kin_str metadata) {
  kin__text_members members = {.text = metadata};
  while (kin__text_next(&members)) {
    if (kin__str_equal(members.name, KIN__LIT("labels"))) {
      return members.value.length <= KIN__ITEM_LABELS_MAX ? members.value
                                                          : kin__str(NULL, 0);
    }
  }
  return kin__str(NULL, 0);
}

/* Labels that are no JSON object are not kept. */
int kin__key_only_make(kin_object **out, kin__memory *memory,
                       const kin_object *whole, bool with_labels) {
  kin__object_parts parts = {.namespace_ = kin_object_namespace(whole),
                             .name = kin_object_name(whole),
                             .uid = kin_object_uid(whole),
                             .version = kin_object_resource_version(whole),
                             .is_key_only = true};
  kin_str api_version = kin__str(NULL, 0);
  kin_str kind = kin__str(NULL, 0);
  kin__text_members members = {.text = kin__str(NULL, 0)};
  void *block;
  *out = NULL;
  int err = kin__object_open_text(whole, &members.text, &block);
  if (err != 0) {
    return err;
  }
  while (kin__text_next(&members)) {
    if (api_version.data == NULL &&
        kin__str_equal(members.name, KIN__LIT("apiVersion"))) {
      api_version = string_in(members.value);
    } else if (kind.data == NULL &&
               kin__str_equal(members.name, KIN__LIT("kind"))) {
      kind = string_in(members.value);
    } else if (with_labels &&
               kin__str_equal(members.name, KIN__LIT("metadata"))) {
      parts.labels = labels_in(members.value);
      with_labels = false; /* the first counts */
    }
  }
  if (parts.labels.length > 0 && parts.labels.data[0] != '{') {
    parts.labels.length = 0;
  }
  size_t strings = api_version.length + kind.length + parts.namespace_.length +
                   parts.name.length + parts.uid.length + parts.version.length;
  char *text = kin__malloc(&memory->allocator,
                           kin__key_only_bound(strings, parts.labels.length));
  err = KIN_ENOMEM;
  if (text != NULL) {
    kin__key_only_write(text, &parts, api_version, kind);
    err = kin__object_new(out, memory, &parts);
    kin__free(&memory->allocator, text);
  }
  kin__object_close_text(whole, block);
  return err;
}
