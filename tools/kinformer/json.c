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

/* --- The grammar ---------------------------------------------------------- */

/* The informer checks the values that it skips for strings and brackets alone,
 * so the text of an object may be no JSON. */

#define LEVELS_MAX 10000u /* the informer stores none deeper */

static void skip_space(kin_str s, size_t *at) {
  while (*at < s.length && is_space(s.data[*at])) {
    ++*at;
  }
}

static bool take(kin_str s, size_t *at, char c) {
  bool is_there = *at < s.length && s.data[*at] == c;
  *at += is_there;
  return is_there;
}

static bool take_digits(kin_str s, size_t *at) {
  size_t begin = *at;
  while (*at < s.length && s.data[*at] >= '0' && s.data[*at] <= '9') {
    ++*at;
  }
  return *at > begin;
}

static bool take_number(kin_str s, size_t *at) {
  (void)take(s, at, '-');
  if (!take(s, at, '0') && !take_digits(s, at)) {
    return false;
  }
  if (take(s, at, '.') && !take_digits(s, at)) {
    return false;
  }
  if (!take(s, at, 'e') && !take(s, at, 'E')) {
    return true;
  }
  if (!take(s, at, '+')) {
    (void)take(s, at, '-');
  }
  return take_digits(s, at);
}

/* What follows a backslash. */
static bool take_escape(kin_str s, size_t *at) {
  if (!take(s, at, 'u')) {
    return *at < s.length && s.data[*at] != '\0' &&
           strchr("\"\\/bfnrt", s.data[(*at)++]) != NULL;
  }
  for (int i = 0; i < 4; i++, ++*at) {
    if (*at == s.length || s.data[*at] == '\0' ||
        strchr("0123456789abcdefABCDEF", s.data[*at]) == NULL) {
      return false;
    }
  }
  return true;
}

/* copy_string escapes control characters and mends what is not UTF-8. */
static bool take_string(kin_str s, size_t *at) {
  if (!take(s, at, '"')) {
    return false;
  }
  while (*at < s.length) {
    char c = s.data[(*at)++];
    if (c == '"') {
      return true;
    }
    if (c == '\\' && !take_escape(s, at)) {
      return false;
    }
  }
  return false;
}

static bool take_scalar(kin_str s, size_t *at) {
  static const char *const words[] = {"true", "false", "null"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    size_t length = strlen(words[i]);
    if (s.length - *at >= length &&
        memcmp(s.data + *at, words[i], length) == 0) {
      *at += length;
      return true;
    }
  }
  return *at < s.length && s.data[*at] == '"' ? take_string(s, at)
                                              : take_number(s, at);
}

static bool take_name(kin_str s, size_t *at) {
  skip_space(s, at);
  if (!take_string(s, at)) {
    return false;
  }
  skip_space(s, at);
  return take(s, at, ':');
}

/* Containers that are open, by the bracket that closes each. */
typedef struct open_levels {
  char closers[LEVELS_MAX];
  size_t depth;
} open_levels;

/* A value begins: takes it if it is a scalar or empty, and else the bracket, and
 * the name of the first member. *is_whole: the value was taken. */
static bool begin_value(open_levels *open, kin_str s, size_t *at,
                        bool *is_whole) {
  skip_space(s, at);
  bool is_object = take(s, at, '{');
  *is_whole = false;
  if (!is_object && !take(s, at, '[')) {
    *is_whole = true;
    return take_scalar(s, at);
  }
  char closer = is_object ? '}' : ']';
  skip_space(s, at);
  *is_whole = take(s, at, closer);
  if (*is_whole) {
    return true;
  }
  if (open->depth == LEVELS_MAX) {
    return false;
  }
  open->closers[open->depth++] = closer;
  return !is_object || take_name(s, at);
}

/* A value has ended: takes the brackets that close, and what is before the next
 * value. */
static bool end_value(open_levels *open, kin_str s, size_t *at) {
  skip_space(s, at);
  while (open->depth > 0) {
    char closer = open->closers[open->depth - 1];
    if (take(s, at, ',')) {
      return closer == ']' || take_name(s, at);
    }
    if (!take(s, at, closer)) {
      return false;
    }
    open->depth--;
    skip_space(s, at);
  }
  return *at == s.length;
}

static bool is_json(kin_str s) {
  open_levels open;
  size_t at = 0;
  open.depth = 0;
  do {
    bool is_whole;
    if (!begin_value(&open, s, &at, &is_whole) ||
        (is_whole && !end_value(&open, s, &at))) {
      return false;
    }
  } while (open.depth > 0);
  return true;
}

bool json_raw(json_writer *w, kin_str value) {
  separate(w);
  if (!is_json(value)) {
    text_append_string(w->out, "null");
    return false;
  }
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
  return true;
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
