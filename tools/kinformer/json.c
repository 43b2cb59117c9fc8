/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <stdio.h>
#include <string.h>

static void separate(json_writer *w) {
  if (w->needs_comma) {
    text_append_char(w->out, ',');
  }
  w->needs_comma = true;
}

void json_open(json_writer *w, char bracket) {
  separate(w);
  text_append_char(w->out, bracket);
  w->needs_comma = false;
}

void json_close(json_writer *w, char bracket) {
  text_append_char(w->out, bracket);
  w->needs_comma = true;
}

/* Whether the byte stands for itself inside a string, whatever follows it. */
static bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Appends the character at `at`, which is not plain, as part of a string.
 * Returns how many bytes it took. */
static size_t append_special(text *out, kin_str s, size_t at) {
  uint32_t c;
  size_t n = utf8_decode(s.data + at, s.length - at, &c);
  if (n == 0) {
    text_append_string(out, "\xef\xbf\xbd");
    return 1;
  }
  if (codepoint_is_unsafe(c)) {
    char escape[8];
    int length = c == '\n'   ? snprintf(escape, sizeof(escape), "\\n")
                 : c == '\r' ? snprintf(escape, sizeof(escape), "\\r")
                 : c == '\t' ? snprintf(escape, sizeof(escape), "\\t")
                             : snprintf(escape, sizeof(escape), "\\u%04x",
                                        (unsigned)(c & 0xffff));
    text_append(out, escape, (size_t)length);
  } else {
    text_append(out, s.data + at, n);
  }
  return n;
}

/* Copies what needs no escape. Returns the position after it. */
static size_t append_plain(text *out, kin_str s, size_t at) {
  size_t end = at;
  while (end < s.length && is_plain((unsigned char)s.data[end])) {
    end++;
  }
  text_append(out, s.data + at, end - at);
  return end;
}

static void append_quoted(text *out, kin_str s) {
  text_append_char(out, '"');
  for (size_t i = 0; i < s.length;) {
    i = append_plain(out, s, i);
    if (i == s.length) {
      break;
    }
    if (s.data[i] == '"' || s.data[i] == '\\') {
      text_append_char(out, '\\');
      text_append_char(out, s.data[i++]);
    } else {
      i += append_special(out, s, i);
    }
  }
  text_append_char(out, '"');
}

void json_key(json_writer *w, kin_str name) {
  separate(w);
  append_quoted(w->out, name);
  text_append_char(w->out, ':');
  w->needs_comma = false;
}

void json_string(json_writer *w, kin_str value) {
  separate(w);
  append_quoted(w->out, value);
}

void json_u64(json_writer *w, uint64_t value) {
  separate(w);
  text_append_u64(w->out, value);
}

void json_bool(json_writer *w, bool value) {
  separate(w);
  text_append_string(w->out, value ? "true" : "false");
}

/* Copies the string whose opening quote is at `at`, with its quotes. The
 * escapes in it are kept as they are. Returns the position after it. */
static size_t copy_string(text *out, kin_str s, size_t at) {
  text_append_char(out, s.data[at++]);
  while (at < s.length) {
    at = append_plain(out, s, at);
    if (at == s.length) {
      break;
    }
    if (s.data[at] == '"') {
      text_append_char(out, '"');
      return at + 1;
    }
    if (s.data[at] == '\\' && at + 1 < s.length) {
      text_append(out, s.data + at, 2);
      at += 2;
    } else {
      at += append_special(out, s, at);
    }
  }
  return at;
}

static bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

void json_raw(json_writer *w, kin_str value) {
  separate(w);
  for (size_t i = 0; i < value.length;) {
    size_t end = i;
    while (end < value.length && value.data[end] != '"' &&
           !is_space(value.data[end])) {
      end++;
    }
    text_append(w->out, value.data + i, end - i);
    i = end;
    if (i < value.length && value.data[i] == '"') {
      i = copy_string(w->out, value, i);
    } else {
      i++; // white space
    }
  }
}

static kin_str from_z(const char *s) {
  return (kin_str){s, strlen(s)};
}

void json_member_string(json_writer *w, const char *name, kin_str value) {
  json_key(w, from_z(name));
  json_string(w, value);
}

void json_member_z(json_writer *w, const char *name, const char *value) {
  json_member_string(w, name, from_z(value));
}

void json_member_u64(json_writer *w, const char *name, uint64_t value) {
  json_key(w, from_z(name));
  json_u64(w, value);
}

void json_member_bool(json_writer *w, const char *name, bool value) {
  json_key(w, from_z(name));
  json_bool(w, value);
}
