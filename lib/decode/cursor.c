/* SPDX-License-Identifier: MIT */

/* The walker is a state machine over bytes. `state` says what may come next, or
 * which token the end of a span has split (a string, a primitive, a skipped
 * value).
 *
 * Invariants between calls of kin__cursor_next:
 *  - bytes before `at` are done;
 *  - depth counts the entered containers that have not ended; bit depth-1 of
 *    object_bits says whether the innermost is an object;
 *  - buf is empty unless a token was split or had escapes. */
#include "decode/cursor.h"

#include <assert.h>

#include <kin/error.h>

#include "base/str.h"
#include "object/text.h"

enum state {
  IN_VALUE_OR_END = 1, /* after '[' */
  IN_VALUE,            /* after ':', after ',' in an array, at the top */
  IN_NAME_OR_END,      /* after '{' */
  IN_NAME,             /* after ',' in an object */
  IN_COLON,
  IN_COMMA_OR_END,
  IN_STRING,
  IN_PRIMITIVE,
  IN_SKIP,
  IN_NOTHING /* after the only value */
};

void kin__cursor_init(kin__cursor *cursor, const kin_allocator *allocator,
                      bool many) {
  *cursor = (kin__cursor){.scanner = kin__scanner_best(),
                          .max_depth = UINT64_MAX,
                          .many = many,
                          .state = IN_VALUE};
  kin__buf_init(&cursor->buf, allocator, KIN__CURSOR_TEXT_MAX + 1);
}

void kin__cursor_finish(kin__cursor *cursor) {
  kin__buf_finish(&cursor->buf);
}

void kin__cursor_reset(kin__cursor *cursor) {
  kin__buf buf = cursor->buf;
  buf.length = 0;
  *cursor = (kin__cursor){.scanner = cursor->scanner,
                          .max_depth = UINT64_MAX,
                          .many = cursor->many,
                          .state = IN_VALUE,
                          .buf = buf};
}

void kin__cursor_parse(kin__cursor *cursor, const char *bytes, size_t length) {
  assert(cursor->at == cursor->length);
  cursor->base += cursor->length;
  cursor->bytes = bytes;
  cursor->length = length;
  cursor->at = 0;
}

void kin__cursor_want_string(kin__cursor *cursor) {
  cursor->want_string = true;
}

bool kin__cursor_is_complete(const kin__cursor *cursor) {
  return cursor->many ? cursor->depth == 0 && cursor->state == IN_VALUE
                      : cursor->state == IN_NOTHING;
}

static bool is_in_object(const kin__cursor *c) {
  uint32_t level = c->depth - 1;
  return c->depth > 0 && (c->object_bits[level / 64] >> level % 64 & 1) != 0;
}

/* Servers write no white space, so punctuation is mostly the next byte. Taking
 * it at once saves a step of kin__cursor_next for it. */
static bool take_next(kin__cursor *c, char punctuation) {
  bool is_next = c->at < c->length && c->bytes[c->at] == punctuation;
  c->at += is_next;
  return is_next;
}

static void value_ended(kin__cursor *c) {
  c->end = c->base + c->at;
  if (c->depth == 0) {
    c->state = c->many ? IN_VALUE : IN_NOTHING;
  } else if (!take_next(c, ',')) {
    c->state = IN_COMMA_OR_END;
  } else {
    c->state = is_in_object(c) ? IN_NAME : IN_VALUE;
  }
}

/* Containers. */

static int enter(kin__cursor *c, bool is_object) {
  if (c->depth >= KIN__CURSOR_LEVELS) {
    return KIN_EDEPTH;
  }
  c->is_deep = c->is_deep || c->depth >= c->max_depth;
  uint64_t bit = UINT64_C(1) << c->depth % 64;
  uint64_t *word = &c->object_bits[c->depth / 64];
  *word = is_object ? *word | bit : *word & ~bit;
  c->depth++;
  c->begin = c->base + c->at;
  c->at++;
  c->end = c->begin + 1;
  c->want_string = false;
  c->state = is_object ? IN_NAME_OR_END : IN_VALUE_OR_END;
  return is_object ? KIN__TOKEN_OBJECT : KIN__TOKEN_ARRAY;
}

static int leave(kin__cursor *c) {
  c->depth--;
  c->begin = c->base + c->at;
  c->at++;
  value_ended(c);
  return KIN__TOKEN_END;
}

void kin__cursor_bound(kin__cursor *cursor, uint32_t levels) {
  assert(cursor->depth > 0);
  cursor->max_depth = cursor->depth - 1 + (uint64_t)levels;
  cursor->is_deep = false;
}

void kin__cursor_skip(kin__cursor *cursor, uint32_t levels) {
  assert(levels > 0 && levels <= cursor->depth);
  cursor->state = IN_SKIP;
  cursor->skip_levels = levels;
  bool is_bounded = !cursor->is_deep && cursor->max_depth != UINT64_MAX;
  cursor->skip = (kin__skip){
      .depth = levels,
      .max_depth = is_bounded ? cursor->max_depth - (cursor->depth - levels)
                              : UINT64_MAX,
  };
}

static int skip_on(kin__cursor *c) {
  size_t used = 0;
  kin__skip_result result = kin__scanner_skip(
      c->scanner, &c->skip, c->bytes + c->at, c->length - c->at, &used);
  c->is_deep = c->is_deep || c->skip.is_deep;
  switch (result) {
  case KIN__SKIP_MORE:
    c->at = c->length;
    return KIN__TOKEN_MORE;
  case KIN__SKIP_DONE:
    c->at += used;
    c->depth -= c->skip_levels;
    value_ended(c);
    return KIN__TOKEN_SKIPPED;
  default:
    return KIN_EJSON;
  }
}

/* Strings. */

/* Saves the part of a token that lies in the span from `from` to `at`, as far
 * as there is room. */
static int keep_part(kin__cursor *c, size_t from) {
  size_t room = KIN__CURSOR_TEXT_MAX + 1 - c->buf.length;
  size_t length = c->at - from;
  return kin__buf_append(&c->buf, c->bytes + from,
                         length < room ? length : room);
}

/* The token's text is in the span from `from` to `at`. If the token was split,
 * its earlier part is in buf. */
static int set_text(kin__cursor *c, size_t from) {
  if (c->buf.length == 0) {
    size_t length = c->at - from;
    bool is_cut = length > KIN__CURSOR_TEXT_MAX;
    c->text =
        kin__str(c->bytes + from, is_cut ? KIN__CURSOR_TEXT_MAX + 1 : length);
    return 0;
  }
  int err = keep_part(c, from);
  c->text = kin__str(c->buf.data, c->buf.length);
  return err;
}

static int unescape(kin__cursor *c) {
  kin_str raw = c->text;
  c->buf.length = 0;
  int err = kin__buf_reserve(&c->buf, raw.length);
  if (err == 0) {
    err = kin__text_unescape(c->buf.data, &raw.length, raw);
  }
  c->text = kin__str(c->buf.data, raw.length);
  return err;
}

static int string_ended(kin__cursor *c, size_t from) {
  int err = c->is_wanted ? set_text(c, from) : 0;
  if (err == 0 && c->is_wanted && c->escaped && !kin__cursor_is_cut(c)) {
    err = unescape(c);
  }
  if (err != 0) {
    return err;
  }
  c->at++; /* the quote */
  if (!c->is_name) {
    value_ended(c);
    return KIN__TOKEN_STRING;
  }
  c->end = c->base + c->at;
  c->state = take_next(c, ':') ? IN_VALUE : IN_COLON;
  return KIN__TOKEN_NAME;
}

/* `at` is inside a string. */
static int string_on(kin__cursor *c) {
  size_t from = c->at;
  if (c->ends_in_backslash && c->at < c->length) {
    c->ends_in_backslash = false;
    c->at++;
  }
  while (c->at < c->length) {
    c->at += c->scanner->find_special(c->bytes + c->at, c->length - c->at);
    if (c->at == c->length) {
      break;
    }
    if (c->bytes[c->at] == '"') {
      return string_ended(c, from);
    }
    if (c->bytes[c->at] != '\\') {
      return KIN_EJSON;
    }
    c->escaped = true;
    c->at++;
    c->ends_in_backslash = c->at == c->length;
    c->at += c->ends_in_backslash ? 0 : 1;
  }
  int err = c->is_wanted ? keep_part(c, from) : 0;
  return err != 0 ? err : KIN__TOKEN_MORE;
}

static int begin_string(kin__cursor *c, bool is_name) {
  c->begin = c->base + c->at;
  c->at++;
  c->is_name = is_name;
  c->is_wanted = is_name || c->want_string;
  c->want_string = false;
  c->escaped = false;
  c->ends_in_backslash = false;
  c->buf.length = 0;
  c->text = kin__str(NULL, 0);
  c->state = IN_STRING;
  return string_on(c);
}

/* Primitives. */

static size_t digits(kin_str s, size_t at) {
  while (at < s.length && s.data[at] >= '0' && s.data[at] <= '9') {
    at++;
  }
  return at;
}

static bool is_number(kin_str s) {
  size_t begin = s.length > 0 && s.data[0] == '-' ? 1 : 0;
  size_t at = digits(s, begin);
  if (at == begin || (at > begin + 1 && s.data[begin] == '0')) {
    return false;
  }
  if (at < s.length && s.data[at] == '.') {
    begin = at + 1;
    at = digits(s, begin);
    if (at == begin) {
      return false;
    }
  }
  if (at < s.length && (s.data[at] | 0x20) == 'e') {
    begin = at + 1;
    if (begin < s.length && (s.data[begin] == '+' || s.data[begin] == '-')) {
      begin++;
    }
    at = digits(s, begin);
    if (at == begin) {
      return false;
    }
  }
  return at == s.length;
}

static bool is_primitive(kin_str s) {
  return is_number(s) || kin__str_equal(s, KIN__LIT("true")) ||
         kin__str_equal(s, KIN__LIT("false")) ||
         kin__str_equal(s, KIN__LIT("null"));
}

/* Only a number has so many bytes. */
static bool is_long_number(const kin__cursor *c) {
  char first = c->text.data[0];
  return kin__cursor_is_cut(c) &&
         (first == '-' || (first >= '0' && first <= '9'));
}

/* The first byte shows text that is no JSON value. */
static bool begins_primitive(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == 't' || c == 'f' || c == 'n';
}

static bool is_in_primitive(char c) {
  char lower = (char)(c | 0x20);
  return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') || c == '-' ||
         c == '+' || c == '.';
}

/* A primitive ends where another kind of byte begins. So a primitive at the end
 * of a span may continue in the next span. */
static int primitive_on(kin__cursor *c) {
  size_t from = c->at;
  while (c->at < c->length && is_in_primitive(c->bytes[c->at])) {
    c->at++;
  }
  if (c->at == c->length) {
    int err = keep_part(c, from);
    return err != 0 ? err : KIN__TOKEN_MORE;
  }
  int err = set_text(c, from);
  if (err == 0 && !is_primitive(c->text) && !is_long_number(c)) {
    err = KIN_EJSON;
  }
  if (err != 0) {
    return err;
  }
  value_ended(c);
  return KIN__TOKEN_PRIMITIVE;
}

static int begin_primitive(kin__cursor *c) {
  c->begin = c->base + c->at;
  c->buf.length = 0;
  c->escaped = false;
  c->want_string = false;
  c->state = IN_PRIMITIVE;
  return primitive_on(c);
}

/* Between tokens. */

static bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static int begin_value(kin__cursor *c, char first) {
  switch (first) {
  case '{':
    return enter(c, true);
  case '[':
    return enter(c, false);
  case '"':
    return begin_string(c, false);
  default:
    return begins_primitive(first) ? begin_primitive(c) : KIN_EJSON;
  }
}

/* `first` is the next byte, and no white space. Returns a token, an error, or
 * KIN__TOKEN_MORE for punctuation. */
static int step(kin__cursor *c, char first) {
  switch (c->state) {
  case IN_VALUE_OR_END:
    return first == ']' ? leave(c) : begin_value(c, first);
  case IN_VALUE:
    return begin_value(c, first);
  case IN_NAME_OR_END:
    if (first == '}') {
      return leave(c);
    }
    return first == '"' ? begin_string(c, true) : KIN_EJSON;
  case IN_NAME:
    return first == '"' ? begin_string(c, true) : KIN_EJSON;
  case IN_COLON:
    if (first != ':') {
      return KIN_EJSON;
    }
    c->at++;
    c->state = IN_VALUE;
    return KIN__TOKEN_MORE;
  case IN_COMMA_OR_END:
    if (first == (is_in_object(c) ? '}' : ']')) {
      return leave(c);
    }
    if (first != ',') {
      return KIN_EJSON;
    }
    c->at++;
    c->state = is_in_object(c) ? IN_NAME : IN_VALUE;
    return KIN__TOKEN_MORE;
  default: /* IN_NOTHING */
    return KIN_EJSON;
  }
}

int kin__cursor_next(kin__cursor *c) {
  switch (c->state) {
  case IN_STRING:
    return string_on(c);
  case IN_PRIMITIVE:
    return primitive_on(c);
  case IN_SKIP:
    return skip_on(c);
  default:
    break;
  }
  while (c->at < c->length) {
    char first = c->bytes[c->at];
    if (is_space(first)) {
      c->at++;
      continue;
    }
    int token = step(c, first);
    if (token != KIN__TOKEN_MORE) {
      return token;
    }
  }
  return KIN__TOKEN_MORE;
}
