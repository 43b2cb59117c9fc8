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

/* As the item takes strings and labels from a stream: empty if there is none
 * that an API object may have. */
static kin_str string_in(kin_str value) {
  kin_str raw;
  bool is_plain = kin__text_string(value, &raw) && !kin__text_is_escaped(raw) &&
                  raw.length <= KIN__CURSOR_TEXT_MAX;
  return is_plain ? raw : kin__str(NULL, 0);
}

static kin_str labels_in(kin_str value) {
  bool is_kept = value.length > 0 && value.data[0] == '{' &&
                 value.length <= KIN__ITEM_LABELS_MAX;
  return is_kept ? value : kin__str(NULL, 0);
}

/* Finds the first members of these names; empty if there is none. */
static void find_members(kin_str text, const kin_str *names, kin_str *values,
                         size_t count) {
  kin__text_members members = {.text = text};
  while (kin__text_next(&members)) {
    for (size_t i = 0; i < count; i++) {
      if (values[i].length == 0 && kin__text_name_is(members.name, names[i])) {
        values[i] = members.value;
      }
    }
  }
}

int kin__key_only_make(kin_object **out, kin__memory *memory,
                       const kin_object *whole, bool with_labels) {
  static const kin_str names[] = {
      {"apiVersion", 10}, {"kind", 4}, {"metadata", 8}};
  static const kin_str labels = {"labels", 6};
  kin__object_parts parts = {.namespace_ = kin_object_namespace(whole),
                             .name = kin_object_name(whole),
                             .uid = kin_object_uid(whole),
                             .version = kin_object_resource_version(whole),
                             .is_key_only = true};
  kin_str values[3] = {{0}};
  kin_str body;
  void *block;
  *out = NULL;
  int err = kin__object_open_text(whole, &body, &block);
  if (err != 0) {
    return err;
  }
  find_members(body, names, values, 3);
  if (with_labels) {
    find_members(values[2], &labels, &parts.labels, 1);
    parts.labels = labels_in(parts.labels);
  }
  kin_str api_version = string_in(values[0]);
  kin_str kind = string_in(values[1]);
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
