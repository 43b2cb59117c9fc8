/* SPDX-License-Identifier: MIT */
#include "selector.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "name.h"

void selector_free(selector *s) {
  for (size_t i = 0; i < s->count; i++) {
    requirement *r = &s->items[i];
    for (size_t v = 0; v < r->value_count; v++) {
      free(r->values[v]);
    }
    free(r->values);
    free(r->key);
  }
  free(s->items);
  *s = (selector){0};
}

static requirement *add_requirement(selector *s, slice key) {
  s->items = xrealloc(s->items, s->count + 1, sizeof *s->items);
  requirement *r = &s->items[s->count++];
  *r = (requirement){.op = OP_EXISTS, .key = xstrndup(key.ptr, key.len)};
  return r;
}

static void add_value(requirement *r, slice value) {
  r->values = xrealloc(r->values, r->value_count + 1, sizeof *r->values);
  r->values[r->value_count++] = xstrndup(value.ptr, value.len);
}

/* ---------------------------------------------------------------- labels */

typedef enum token_kind {
  TOKEN_END,
  TOKEN_WORD,
  TOKEN_COMMA,
  TOKEN_OPEN,
  TOKEN_CLOSE,
  TOKEN_NOT,
  TOKEN_EQUAL,
  TOKEN_NOT_EQUAL,
  TOKEN_COMPARE, // < or >
} token_kind;

typedef struct lexer {
  const char *at;
  token_kind kind;
  slice text;
} lexer;

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_special(char c) {
  return c == '\0' || is_blank(c) || strchr("=!(),<>", c) != NULL;
}

static void take(lexer *lx, token_kind kind, size_t len) {
  lx->kind = kind;
  lx->text = (slice){lx->at, len};
  lx->at += len;
}

static void lex(lexer *lx) {
  while (is_blank(*lx->at)) {
    lx->at++;
  }
  switch (*lx->at) {
  case '\0':
    take(lx, TOKEN_END, 0);
    return;
  case ',':
    take(lx, TOKEN_COMMA, 1);
    return;
  case '(':
    take(lx, TOKEN_OPEN, 1);
    return;
  case ')':
    take(lx, TOKEN_CLOSE, 1);
    return;
  case '<':
  case '>':
    take(lx, TOKEN_COMPARE, 1);
    return;
  case '=':
    take(lx, TOKEN_EQUAL, lx->at[1] == '=' ? 2 : 1);
    return;
  case '!':
    take(lx, lx->at[1] == '=' ? TOKEN_NOT_EQUAL : TOKEN_NOT,
         lx->at[1] == '=' ? 2 : 1);
    return;
  default:
    break;
  }
  size_t len = 0;
  while (!is_special(lx->at[len])) {
    len++;
  }
  take(lx, TOKEN_WORD, len);
}

static bool unexpected(const lexer *lx, const char *expected, buf *error) {
  buf_puts(error, "found '");
  buf_append(error, lx->text.ptr, lx->text.len);
  buf_printf(error, "', expected: %s", expected);
  return false;
}

/* A qualified name or label value: letters, digits, - _ . and, in a key, one
 * prefix before a slash; alphanumeric at both ends. */
static bool is_name(slice text, bool may_be_empty) {
  if (text.len == 0) {
    return may_be_empty;
  }
  if (text.len > 63 || !isalnum((unsigned char)text.ptr[0]) ||
      !isalnum((unsigned char)text.ptr[text.len - 1])) {
    return false;
  }
  for (size_t i = 0; i < text.len; i++) {
    char c = text.ptr[i];
    if (!isalnum((unsigned char)c) && c != '-' && c != '_' && c != '.') {
      return false;
    }
  }
  return true;
}

static bool is_key(slice text) {
  const char *slash = memchr(text.ptr, '/', text.len);
  if (slash == NULL) {
    return is_name(text, false);
  }
  size_t prefix = (size_t)(slash - text.ptr);
  return name_is_subdomain((slice){text.ptr, prefix}) &&
         is_name((slice){slash + 1, text.len - prefix - 1}, false);
}

static bool bad_key(slice key, buf *error) {
  buf_puts(error, "<nil>: Invalid value: \"");
  buf_append(error, key.ptr, key.len);
  buf_puts(error,
           "\": name part must consist of alphanumeric characters, '-', '_' "
           "or '.', and must start and end with an alphanumeric character "
           "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
           "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')");
  return false;
}

static bool bad_value(const char *key, slice value, buf *error) {
  buf_printf(error, "values[0][%s]: ", key);
  buf_puts(error, "Invalid value: \"");
  buf_append(error, value.ptr, value.len);
  buf_puts(error,
           "\": a valid label must be an empty string or consist of "
           "alphanumeric characters, '-', '_' or '.', and must start and end "
           "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
           "or '12345', regex used for validation is "
           "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
  return false;
}

/* "(a, b)" after in or notin; an empty place is the empty value. */
static bool parse_set(lexer *lx, requirement *r, buf *error) {
  lex(lx);
  if (lx->kind != TOKEN_OPEN) {
    return unexpected(lx, "'('", error);
  }
  do {
    lex(lx);
    slice value = {lx->at, 0};
    if (lx->kind == TOKEN_WORD) {
      value = lx->text;
      lex(lx);
    }
    if (!is_name(value, true)) {
      return bad_value(r->key, value, error);
    }
    add_value(r, value);
  } while (lx->kind == TOKEN_COMMA);
  if (lx->kind != TOKEN_CLOSE) {
    return unexpected(lx, "',' or ')'", error);
  }
  lex(lx);
  return true;
}

static bool parse_one_value(lexer *lx, requirement *r, buf *error) {
  lex(lx);
  slice value = {lx->at, 0};
  if (lx->kind == TOKEN_WORD) {
    value = lx->text;
    lex(lx);
  } else if (lx->kind != TOKEN_COMMA && lx->kind != TOKEN_END) {
    return unexpected(lx, "identifier", error);
  }
  if (!is_name(value, true)) {
    return bad_value(r->key, value, error);
  }
  add_value(r, value);
  return true;
}

static bool to_number(slice text, int64_t *out) {
  uint64_t value;
  if (!slice_to_u64(text, &value) || value > INT64_MAX) {
    return false;
  }
  *out = (int64_t)value;
  return true;
}

static bool check_number(const requirement *r, buf *error) {
  int64_t number;
  if (to_number(slice_of(r->values[0]), &number)) {
    return true;
  }
  buf_printf(error,
             "values[0][%s]: Invalid value: \"%s\": for 'Gt', 'Lt' operators, "
             "the value must be an integer",
             r->key, r->values[0]);
  return false;
}

static bool parse_requirement(lexer *lx, selector *out, buf *error) {
  bool negated = lx->kind == TOKEN_NOT;
  if (negated) {
    lex(lx);
  }
  if (lx->kind != TOKEN_WORD) {
    return unexpected(lx, "identifier", error);
  }
  if (!is_key(lx->text)) {
    return bad_key(lx->text, error);
  }
  requirement *r = add_requirement(out, lx->text);
  lex(lx);
  if (negated || lx->kind == TOKEN_END || lx->kind == TOKEN_COMMA) {
    r->op = negated ? OP_NOT_EXISTS : OP_EXISTS;
    return true;
  }
  if (lx->kind == TOKEN_EQUAL || lx->kind == TOKEN_NOT_EQUAL) {
    r->op = lx->kind == TOKEN_EQUAL ? OP_IN : OP_NOT_IN;
    return parse_one_value(lx, r, error);
  }
  if (lx->kind == TOKEN_COMPARE) {
    r->op = *lx->text.ptr == '>' ? OP_GREATER : OP_LESS;
    return parse_one_value(lx, r, error) && check_number(r, error);
  }
  if (lx->kind == TOKEN_WORD && slice_is(lx->text, "in")) {
    r->op = OP_IN;
    return parse_set(lx, r, error);
  }
  if (lx->kind == TOKEN_WORD && slice_is(lx->text, "notin")) {
    r->op = OP_NOT_IN;
    return parse_set(lx, r, error);
  }
  return unexpected(lx, "in, notin, =, ==, !=, gt, lt", error);
}

static bool parse_wrapped(lexer *lx, selector *out, buf *error) {
  if (lx->kind != TOKEN_WORD && lx->kind != TOKEN_NOT) {
    return unexpected(lx, "!, identifier, or 'end of string'", error);
  }
  buf inner = {0};
  bool ok = parse_requirement(lx, out, &inner);
  if (!ok) {
    buf_printf(error, "unable to parse requirement: %s", inner.data);
  }
  buf_free(&inner);
  return ok;
}

bool selector_parse_labels(const char *text, selector *out, buf *error) {
  *out = (selector){0};
  lexer lx = {.at = text};
  lex(&lx);
  while (lx.kind != TOKEN_END) {
    bool ok = parse_wrapped(&lx, out, error);
    if (ok && lx.kind == TOKEN_COMMA) {
      lex(&lx);
      ok = lx.kind == TOKEN_WORD || lx.kind == TOKEN_NOT ||
           unexpected(&lx, "identifier after ','", error);
    } else if (ok && lx.kind != TOKEN_END) {
      ok = unexpected(&lx, "',' or 'end of string'", error);
    }
    if (!ok) {
      selector_free(out);
      return false;
    }
  }
  return true;
}

/* ---------------------------------------------------------------- fields */

static bool known_field(slice key, bool pod_fields) {
  if (slice_is(key, "metadata.name") || slice_is(key, "metadata.namespace")) {
    return true;
  }
  return pod_fields &&
         (slice_is(key, "spec.nodeName") || slice_is(key, "status.phase"));
}

static bool unknown_field(slice key, bool pod_fields, buf *error) {
  if (pod_fields) {
    buf_puts(error, "field label not supported: ");
    buf_append(error, key.ptr, key.len);
  } else {
    buf_put_json(error, key.ptr, key.len);
    buf_puts(error, " is not a known field selector: only \"metadata.name\", "
                    "\"metadata.namespace\"");
  }
  return false;
}

/* Appends the value without its escapes. False and a message if an escape or a
 * character is not allowed. */
static bool unescape_value(slice from, buf *to, buf *error) {
  static const char BEFORE[] = "invalid field selector: ";
  for (size_t i = 0; i < from.len; i++) {
    char c = from.ptr[i];
    if (c == ',' || c == '=') {
      buf_printf(error, "%sunescaped character in value: %d", BEFORE, c);
      return false;
    }
    if (c == '\\') {
      i++;
      if (i == from.len || strchr("\\,=", from.ptr[i]) == NULL) {
        buf_printf(error, "%sinvalid escape sequence: %.*s", BEFORE,
                   i == from.len ? 1 : 2, from.ptr + i - 1);
        return false;
      }
      c = from.ptr[i];
    }
    buf_putc(to, c);
  }
  return true;
}

/* The length of the first term; an escaped comma does not end it. */
static size_t term_len(const char *text) {
  size_t len = 0;
  while (text[len] != '\0' && text[len] != ',') {
    len += text[len] == '\\' && text[len + 1] != '\0' ? 2 : 1;
  }
  return len;
}

static bool parse_field(slice term, bool pod_fields, selector *out,
                        buf *error) {
  const char *equal = memchr(term.ptr, '=', term.len);
  if (equal == NULL) {
    buf_puts(error, "invalid selector: '");
    buf_append(error, term.ptr, term.len);
    buf_puts(error, "'; can't understand '");
    buf_append(error, term.ptr, term.len);
    buf_puts(error, "'");
    return false;
  }
  bool differs = equal > term.ptr && equal[-1] == '!';
  slice key = {term.ptr, (size_t)(equal - term.ptr) - (differs ? 1 : 0)};
  const char *from = equal + 1;
  const char *end = term.ptr + term.len;
  if (!differs && from < end && *from == '=') {
    from++;
  }
  if (!known_field(key, pod_fields)) {
    return unknown_field(key, pod_fields, error);
  }
  buf value = {0};
  bool ok = unescape_value((slice){from, (size_t)(end - from)}, &value, error);
  if (ok) {
    requirement *r = add_requirement(out, key);
    r->op = differs ? OP_NOT_IN : OP_IN;
    add_value(r, (slice){value.len != 0 ? value.data : "", value.len});
  }
  buf_free(&value);
  return ok;
}

bool selector_parse_fields(const char *text, bool pod_fields, selector *out,
                           buf *error) {
  *out = (selector){0};
  while (*text != '\0') {
    size_t len = term_len(text);
    if (len != 0 && !parse_field((slice){text, len}, pod_fields, out, error)) {
      selector_free(out);
      return false;
    }
    text += len + (text[len] == ',' ? 1 : 0);
  }
  return true;
}

void selector_require(selector *s, const char *key, const char *value) {
  requirement *r = add_requirement(s, slice_of(key));
  r->op = OP_IN;
  add_value(r, slice_of(value));
}

/* -------------------------------------------------------------- matching */

static bool has_value(const requirement *r, slice value) {
  for (size_t i = 0; i < r->value_count; i++) {
    if (slice_is(value, r->values[i])) {
      return true;
    }
  }
  return false;
}

static bool label_holds(const requirement *req, const rev *r) {
  const char *text = r->json->data;
  span found = scan_find(text, r->labels, req->key);
  bool exists = found.len != 0;
  slice value = span_slice(text, scan_unquote(text, found));
  switch (req->op) {
  case OP_EXISTS:
    return exists;
  case OP_NOT_EXISTS:
    return !exists;
  case OP_IN:
    return exists && has_value(req, value);
  case OP_NOT_IN:
    return !exists || !has_value(req, value);
  case OP_GREATER:
  case OP_LESS: {
    int64_t have, bound;
    if (!exists || !to_number(value, &have) ||
        !to_number(slice_of(req->values[0]), &bound)) {
      return false;
    }
    return req->op == OP_GREATER ? have > bound : have < bound;
  }
  }
  return false;
}

bool selector_match_labels(const selector *s, const rev *r) {
  for (size_t i = 0; i < s->count; i++) {
    if (!label_holds(&s->items[i], r)) {
      return false;
    }
  }
  return true;
}

static slice field_value(const rev *r, const char *key) {
  if (strcmp(key, "metadata.name") == 0) {
    return rev_text(r, r->name);
  }
  if (strcmp(key, "metadata.namespace") == 0) {
    return rev_text(r, r->ns);
  }
  if (strcmp(key, "spec.nodeName") == 0) {
    return rev_text(r, r->node_name);
  }
  return rev_text(r, r->phase);
}

bool selector_match_fields(const selector *s, const rev *r) {
  for (size_t i = 0; i < s->count; i++) {
    const requirement *req = &s->items[i];
    if (has_value(req, field_value(r, req->key)) != (req->op == OP_IN)) {
      return false;
    }
  }
  return true;
}
