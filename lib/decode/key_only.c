/* SPDX-License-Identifier: MIT */
#include "decode/key_only.h"

#include <string.h>

#include "base/str.h"
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
