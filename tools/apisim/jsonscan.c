/* SPDX-License-Identifier: MIT */
#include "jsonscan.h"

#include <string.h>

/* at is the opening quote; returns the offset behind the closing one. */
static size_t skip_string(const char *text, size_t at) {
  at++;
  while (text[at] != '"') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return at + 1;
}

static size_t skip_nested(const char *text, size_t at) {
  size_t depth = 0;
  do {
    char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    if (c == '{' || c == '[') {
      depth++;
    } else if (c == '}' || c == ']') {
      depth--;
    }
    at++;
  } while (depth != 0);
  return at;
}

static size_t skip_value(const char *text, size_t at) {
  char c = text[at];
  if (c == '"') {
    return skip_string(text, at);
  }
  if (c == '{' || c == '[') {
    return skip_nested(text, at);
  }
  while (text[at] != ',' && text[at] != '}' && text[at] != ']') {
    at++;
  }
  return at;
}

scan scan_object(const char *text, size_t off) {
  return (scan){text, off + 1};
}

bool scan_next(scan *s, slice *key, span *value) {
  if (s->text[s->at] == ',') {
    s->at++;
  }
  if (s->text[s->at] != '"') {
    return false;
  }
  size_t from = s->at + 1;
  size_t to = skip_string(s->text, s->at);
  *key = (slice){s->text + from, to - 1 - from};
  value->off = (uint32_t)(to + 1); // past the colon
  s->at = skip_value(s->text, to + 1);
  value->len = (uint32_t)(s->at - value->off);
  return true;
}

span scan_find(const char *text, span object, const char *key) {
  if (object.len == 0 || text[object.off] != '{') {
    return (span){0};
  }
  scan s = scan_object(text, object.off);
  slice name;
  span value;
  while (scan_next(&s, &name, &value)) {
    if (slice_is(name, key)) {
      return value;
    }
  }
  return (span){0};
}

span scan_unquote(const char *text, span value) {
  if (value.len < 2 || text[value.off] != '"') {
    return (span){0};
  }
  return (span){value.off + 1, value.len - 2};
}

slice span_slice(const char *text, span sp) {
  return (slice){text + sp.off, sp.len};
}
