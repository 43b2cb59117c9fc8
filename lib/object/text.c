/* SPDX-License-Identifier: MIT */
#include "object/text.h"

#include <stdint.h>
#include <string.h>

#include <kin/error.h>

#include "base/ascii.h"
#include "base/scan.h"
#include "base/str.h"

enum {
  ESCAPE_LENGTH_MAX = 6, /* "\u0041" */
  UTF8_BYTES = 4
};

/* `at` is at a quote. Returns the offset after the closing one, or 0. */
static size_t skip_string(kin_str text, size_t at) {
  size_t begin = ++at;
  while (at < text.length) {
    const char *quote = memchr(text.data + at, '"', text.length - at);
    if (quote == NULL) {
      return 0;
    }
    const char *run = quote;
    while (run > text.data + begin && run[-1] == '\\') {
      run--;
    }
    at = (size_t)(quote - text.data) + 1;
    if ((quote - run) % 2 == 0) {
      return at;
    }
    begin = at;
  }
  return 0;
}

/* `at` is inside a container, and in no string. Returns the offset after the
 * bracket that closes it, or 0. Only strings and the balance of brackets are
 * looked at. */
static size_t skip_out(kin_str text, size_t at) {
  kin__skip skip = {.depth = 1, .max_depth = UINT64_MAX};
  size_t used;
  return kin__scanner_skip(kin__scanner_best(), &skip, text.data + at,
                           text.length - at, &used) == KIN__SKIP_DONE
             ? at + used
             : 0;
}

static bool ends_primitive(char c) {
  return c == ',' || c == ']' || c == '}' || kin__is_json_space(c);
}

static size_t skip_primitive(kin_str text, size_t at) {
  size_t begin = at;
  while (at < text.length && !ends_primitive(text.data[at])) {
    at++;
  }
  return at > begin ? at : 0;
}

size_t kin__text_skip(kin_str text, size_t at) {
  if (at >= text.length) {
    return 0;
  }
  switch (text.data[at]) {
  case '"':
    return skip_string(text, at);
  case '{':
  case '[':
    return skip_out(text, at + 1);
  default:
    return skip_primitive(text, at);
  }
}

/* Steps over the bracket or comma before a child of a container. Returns the
 * offset of what follows, or 0 if neither is there. */
static size_t to_child(kin_str text, size_t at, char bracket) {
  char before = at == 0 ? bracket : ',';
  at = kin__text_skip_space(text, at);
  return at < text.length && text.data[at] == before
             ? kin__text_skip_space(text, at + 1)
             : 0;
}

bool kin__text_next(kin__text_members *members) {
  kin_str text = members->text;
  size_t name = to_child(text, members->at, '{');
  if (name == 0 || name >= text.length || text.data[name] != '"') {
    return false;
  }
  size_t name_end = skip_string(text, name);
  if (name_end == 0) {
    return false;
  }
  size_t at = kin__text_skip_space(text, name_end);
  if (at >= text.length || text.data[at] != ':') {
    return false;
  }
  size_t value = kin__text_skip_space(text, at + 1);
  size_t value_end = kin__text_skip(text, value);
  if (value_end == 0) {
    return false;
  }
  members->name = kin__str(text.data + name + 1, name_end - name - 2);
  members->value = kin__str(text.data + value, value_end - value);
  members->at = value_end;
  return true;
}

kin_str kin__text_member(kin_str text, kin_str name) {
  kin__text_members members = {.text = text};
  while (kin__text_next(&members)) {
    if (kin__str_equal(members.name, name)) {
      return members.value;
    }
  }
  return kin__str(text.data, 0);
}

/* In an empty array a bracket follows, which begins no value. */
bool kin__text_next_element(kin__text_elements *elements) {
  kin_str text = elements->text;
  size_t value = to_child(text, elements->at, '[');
  size_t value_end = value > 0 ? kin__text_skip(text, value) : 0;
  if (value_end == 0) {
    return false;
  }
  elements->value = kin__str(text.data + value, value_end - value);
  elements->at = value_end;
  return true;
}

bool kin__text_next_name(kin__text_members *members) {
  kin_str text = members->text;
  size_t name = to_child(text, members->at, '{');
  if (name == 0 || name >= text.length || text.data[name] != '"') {
    return false;
  }
  size_t name_end = skip_string(text, name);
  size_t at = name_end > 0 ? kin__text_skip_space(text, name_end) : text.length;
  if (at >= text.length || text.data[at] != ':') {
    return false;
  }
  members->name = kin__str(text.data + name + 1, name_end - name - 2);
  members->at = kin__text_skip_space(text, at + 1);
  return true;
}

size_t kin__text_next_place(kin_str text, size_t at) {
  size_t place = to_child(text, at, '[');
  return place > 0 && place < text.length && text.data[place] != ']' ? place
                                                                     : 0;
}

size_t kin__text_leave(kin_str text, size_t at) {
  return at > 0 && at <= text.length ? skip_out(text, at) : 0;
}

size_t kin__text_close(kin_str text, size_t at, char open) {
  if (at == 0) {
    at = to_child(text, 0, open);
    if (at == 0) {
      return 0;
    }
  } else {
    at = kin__text_skip_space(text, at);
  }
  char close = open == '{' ? '}' : ']';
  return at < text.length && text.data[at] == close ? at + 1 : 0;
}

bool kin__text_string(kin_str value, kin_str *raw) {
  if (value.length < 2 || value.data[0] != '"' ||
      skip_string(value, 0) != value.length) {
    return false;
  }
  *raw = kin__str(value.data + 1, value.length - 2);
  return true;
}

bool kin__text_is_escaped(kin_str raw) {
  return raw.length > 0 && memchr(raw.data, '\\', raw.length) != NULL;
}

/* The four hexadecimal digits at `at`, or -1. */
static int32_t hex4(kin_str raw, size_t at) {
  if (raw.length < 4 || at > raw.length - 4) {
    return -1;
  }
  int32_t value = 0;
  for (size_t i = at; i < at + 4; i++) {
    int digit = kin__hex_value(raw.data[i]);
    if (digit < 0) {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

static size_t put_utf8(char *to, uint32_t c) {
  if (c < 0x80) {
    to[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    to[0] = (char)(0xc0 | c >> 6);
    to[1] = (char)(0x80 | (c & 0x3f));
    return 2;
  }
  if (c < 0x10000) {
    to[0] = (char)(0xe0 | c >> 12);
    to[1] = (char)(0x80 | (c >> 6 & 0x3f));
    to[2] = (char)(0x80 | (c & 0x3f));
    return 3;
  }
  to[0] = (char)(0xf0 | c >> 18);
  to[1] = (char)(0x80 | (c >> 12 & 0x3f));
  to[2] = (char)(0x80 | (c >> 6 & 0x3f));
  to[3] = (char)(0x80 | (c & 0x3f));
  return 4;
}

/* Reads "XXXX" or "XXXX\uXXXX" at *at, which follows "\u". Returns the code
 * point and steps over it, or -1. */
static int32_t code_point(kin_str raw, size_t *at) {
  int32_t high = hex4(raw, *at);
  *at += 4;
  if (high < 0xd800 || high > 0xdfff) {
    return high;
  }
  if (high > 0xdbff || raw.length - *at < 6 || raw.data[*at] != '\\' ||
      raw.data[*at + 1] != 'u') {
    return -1;
  }
  int32_t low = hex4(raw, *at + 2);
  *at += 6;
  if (low < 0xdc00 || low > 0xdfff) {
    return -1;
  }
  return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* The character that a backslash and `c` stand for, or 0. */
static char simple_escape(char c) {
  static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
  for (size_t i = 0; i + 1 < sizeof escapes; i += 2) {
    if (escapes[i] == c) {
      return escapes[i + 1];
    }
  }
  return 0;
}

/* Reads the escape whose backslash is before *at, steps over it, and writes
 * what it stands for. Returns the bytes written, or 0. */
static size_t read_escape(char to[UTF8_BYTES], kin_str raw, size_t *at) {
  if (*at == raw.length) {
    return 0;
  }
  char c = raw.data[(*at)++];
  if (c != 'u') {
    to[0] = simple_escape(c);
    return to[0] != 0;
  }
  int32_t point = code_point(raw, at);
  return point >= 0 ? put_utf8(to, (uint32_t)point) : 0;
}

/* Writing never overtakes reading. An escape of two bytes gives one byte,
 * "\uXXXX" (six bytes) at most three, a pair (twelve) four. */
int kin__text_unescape(char *to, size_t *length, kin_str raw) {
  size_t at = 0;
  size_t written = 0;
  while (at < raw.length) {
    char c = raw.data[at++];
    if (c != '\\') {
      to[written++] = c;
      continue;
    }
    char character[UTF8_BYTES];
    size_t count = read_escape(character, raw, &at);
    if (count == 0) {
      return KIN_EJSON;
    }
    memcpy(to + written, character, count);
    written += count;
  }
  *length = written;
  return 0;
}

bool kin__text_name_is(kin_str raw, kin_str plain) {
  if (!kin__text_is_escaped(raw)) {
    return kin__str_equal(raw, plain);
  }
  size_t matched = 0;
  size_t at = 0;
  while (at < raw.length) {
    char character[UTF8_BYTES] = {raw.data[at++]};
    size_t count = character[0] == '\\' ? read_escape(character, raw, &at) : 1;
    if (count == 0 || count > plain.length - matched ||
        memcmp(plain.data + matched, character, count) != 0) {
      return false;
    }
    matched += count;
  }
  return matched == plain.length;
}

size_t kin__text_quoted_bound(size_t length) {
  return length <= (SIZE_MAX - 2) / ESCAPE_LENGTH_MAX
             ? length * ESCAPE_LENGTH_MAX + 2
             : SIZE_MAX;
}

size_t kin__text_quoted_length(kin_str plain) {
  if (kin__text_quoted_bound(plain.length) == SIZE_MAX) {
    return SIZE_MAX;
  }
  size_t length = plain.length + 2;
  for (size_t i = 0; i < plain.length; i++) {
    unsigned char c = (unsigned char)plain.data[i];
    length += c < 0x20 ? ESCAPE_LENGTH_MAX - 1 : c == '"' || c == '\\';
  }
  return length;
}

size_t kin__text_quote(char *to, kin_str plain) {
  static const char hex[] = "0123456789abcdef";
  size_t written = 0;
  to[written++] = '"';
  for (size_t i = 0; i < plain.length; i++) {
    unsigned char c = (unsigned char)plain.data[i];
    if (c < 0x20) {
      memcpy(to + written, "\\u00", 4);
      to[written + 4] = hex[c >> 4];
      to[written + 5] = hex[c & 15];
      written += ESCAPE_LENGTH_MAX;
      continue;
    }
    if (c == '"' || c == '\\') {
      to[written++] = '\\';
    }
    to[written++] = (char)c;
  }
  to[written++] = '"';
  return written;
}
