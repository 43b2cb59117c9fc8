/* SPDX-License-Identifier: MIT */
#include <kin/error.h>
#include <kin/selector.h>

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/str.h"

/* One allocation holds the selector, its requirements and values, and a copy of
 * the text. Keys and values point into the copy, and parsing ends each with a
 * NUL in place. So the text is walked twice: first to check and count, then to
 * cut. */

enum {
  TEXT_MAX = 64 * 1024,
  NAME_MAX_LENGTH = 63, /* of a label's name, and of its value */
  PREFIX_MAX_LENGTH = 253
};

typedef enum condition {
  EXISTS = 1,
  ABSENT,
  IN,     /* also = and == */
  NOT_IN, /* also != */
  GREATER,
  LESS
} condition;

typedef struct requirement {
  const char *key; /* NUL-terminated */
  condition op;
  uint32_t first; /* the index of its first value */
  uint32_t count;
  int64_t number; /* the bound of GREATER and LESS */
} requirement;

struct kin_selector {
  kin_allocator allocator;
  kin_str *values;
  size_t count; /* of requirements */
  bool is_nothing;
  requirement requirements[]; /* a member, since it needs its alignment */
};

/* A walk over the text. The first walk counts and writes nothing. */
typedef struct parser {
  kin_str text;
  size_t at;
  kin_selector *out; /* NULL: only count */
  char *copy;        /* of the text; it is cut in place */
  size_t count;
  size_t value_count;
} parser;

static char peek(parser *p) {
  while (p->at < p->text.length && kin__is_json_space(p->text.data[p->at])) {
    p->at++;
  }
  return p->at < p->text.length ? p->text.data[p->at] : '\0';
}

static bool accept(parser *p, char c) {
  if (peek(p) != c) {
    return false;
  }
  p->at++;
  return true;
}

/* The bytes up to white space or punctuation; may be none. */
static kin_str word(parser *p) {
  peek(p);
  size_t begin = p->at;
  while (p->at < p->text.length && !kin__is_json_space(p->text.data[p->at]) &&
         memchr("(),!=<>", p->text.data[p->at], 7) == NULL) {
    p->at++;
  }
  return kin__str(p->text.data + begin, p->at - begin);
}

/* Letters, digits and characters of `inner`, which may not be first or last. */
static bool is_name(kin_str s, const char *inner, size_t max) {
  if (s.length == 0 || s.length > max || !kin__is_alphanumeric(s.data[0]) ||
      !kin__is_alphanumeric(s.data[s.length - 1])) {
    return false;
  }
  for (size_t i = 0; i < s.length; i++) {
    if (!kin__is_alphanumeric(s.data[i]) &&
        (s.data[i] == '\0' || strchr(inner, s.data[i]) == NULL)) {
      return false;
    }
  }
  return true;
}

/* A DNS subdomain: lower-case labels with dots between them. */
static bool is_prefix(kin_str s) {
  for (size_t i = 0; i < s.length; i++) {
    if (s.data[i] >= 'A' && s.data[i] <= 'Z') {
      return false;
    }
    if (s.data[i] == '.' &&
        (i == 0 || i + 1 == s.length || !kin__is_alphanumeric(s.data[i - 1]) ||
         !kin__is_alphanumeric(s.data[i + 1]))) {
      return false;
    }
  }
  return is_name(s, "-.", PREFIX_MAX_LENGTH);
}

static bool is_key(kin_str s) {
  const char *slash = s.length > 0 ? memchr(s.data, '/', s.length) : NULL;
  if (slash != NULL) {
    kin_str prefix = kin__str(s.data, (size_t)(slash - s.data));
    if (!is_prefix(prefix)) {
      return false;
    }
    s = kin__str(slash + 1, s.length - prefix.length - 1);
  }
  return is_name(s, "-_.", NAME_MAX_LENGTH);
}

static bool is_value(kin_str s) {
  return s.length == 0 || is_name(s, "-_.", NAME_MAX_LENGTH);
}

/* A decimal integer of 64 bits with an optional sign. The server may send a
 * label with a sign. A bound may not have one, because no valid label value
 * has. */
static bool to_integer(kin_str s, int64_t *value) {
  bool is_negative = s.length > 0 && s.data[0] == '-';
  if (s.length > 0 && (is_negative || s.data[0] == '+')) {
    s.data++;
    s.length--;
  }
  uint64_t digits;
  if (!kin__str_to_u64(s, &digits) ||
      digits > (uint64_t)INT64_MAX + (is_negative ? 1 : 0)) {
    return false;
  }
  *value = is_negative ? (int64_t)(0 - digits) : (int64_t)digits;
  return true;
}

static int add_value(parser *p, requirement *r, kin_str value) {
  if (!is_value(value)) {
    return KIN_EINVAL;
  }
  if (p->out != NULL) {
    size_t offset = (size_t)(value.data - p->text.data);
    p->out->values[p->value_count] = kin__str(p->copy + offset, value.length);
  }
  p->value_count++;
  r->count++;
  return 0;
}

static int parse_set(parser *p, requirement *r) {
  if (!accept(p, '(')) {
    return KIN_EINVAL;
  }
  do {
    int err = add_value(p, r, word(p));
    if (err != 0) {
      return err;
    }
  } while (accept(p, ','));
  return accept(p, ')') ? 0 : KIN_EINVAL;
}

static int parse_bound(parser *p, requirement *r, condition op) {
  kin_str bound = word(p);
  r->op = op;
  return is_value(bound) && to_integer(bound, &r->number) ? 0 : KIN_EINVAL;
}

/* The part of a requirement after its key. */
static int parse_condition(parser *p, requirement *r) {
  switch (peek(p)) {
  case '\0':
  case ',':
    r->op = EXISTS;
    return 0;
  case '=':
    p->at++;
    if (p->at < p->text.length && p->text.data[p->at] == '=') {
      p->at++;
    }
    r->op = IN;
    return add_value(p, r, word(p));
  case '!':
    p->at++;
    if (p->at == p->text.length || p->text.data[p->at] != '=') {
      return KIN_EINVAL;
    }
    p->at++;
    r->op = NOT_IN;
    return add_value(p, r, word(p));
  case '>':
    p->at++;
    return parse_bound(p, r, GREATER);
  case '<':
    p->at++;
    return parse_bound(p, r, LESS);
  default:
    break;
  }
  kin_str name = word(p);
  r->op = kin__str_equal(name, KIN__LIT("in")) ? IN : NOT_IN;
  return r->op == IN || kin__str_equal(name, KIN__LIT("notin"))
             ? parse_set(p, r)
             : KIN_EINVAL;
}

static int parse_requirement(parser *p) {
  requirement r = {.first = (uint32_t)p->value_count};
  bool is_absent = accept(p, '!');
  kin_str key = word(p);
  if (!is_key(key)) {
    return KIN_EINVAL;
  }
  int err = 0;
  if (is_absent) {
    r.op = ABSENT;
  } else {
    err = parse_condition(p, &r);
  }
  if (err == 0 && p->out != NULL) {
    char *copy = p->copy + (key.data - p->text.data);
    copy[key.length] = '\0';
    r.key = copy;
    p->out->requirements[p->count] = r;
  }
  p->count++;
  return err;
}

static int parse_all(parser *p) {
  if (peek(p) == '\0') {
    return p->at == p->text.length ? 0 : KIN_EINVAL;
  }
  do {
    int err = parse_requirement(p);
    if (err != 0) {
      return err;
    }
  } while (accept(p, ','));
  return peek(p) == '\0' && p->at == p->text.length ? 0 : KIN_EINVAL;
}

/* Allocates all at once; *copy is the place of the text. */
static kin_selector *allocate(const kin_allocator *allocator, const parser *p,
                              char **copy) {
  size_t requirements = p->count * sizeof(requirement);
  size_t values = p->value_count * sizeof(kin_str);
  char *block = kin__malloc(allocator, sizeof(kin_selector) + requirements +
                                           values + p->text.length + 1);
  if (block == NULL) {
    return NULL;
  }
  kin_selector *selector = (kin_selector *)(void *)block;
  block += sizeof *selector + requirements;
  *selector = (kin_selector){.allocator = *allocator,
                             .values = (kin_str *)(void *)block,
                             .count = p->count};
  *copy = block + values;
  return selector;
}

int kin_selector_parse(kin_selector **out, const kin_allocator *allocator,
                       const char *text) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  allocator = allocator != NULL ? allocator : kin__default_allocator();
  parser counter = {.text = kin__cstr(text)};
  if (counter.text.length > TEXT_MAX) {
    return KIN_ETOOBIG;
  }
  int err = parse_all(&counter);
  if (err != 0) {
    return err;
  }
  parser p = {.text = counter.text};
  p.out = allocate(allocator, &counter, &p.copy);
  if (p.out == NULL) {
    return KIN_ENOMEM;
  }
  memcpy(p.copy, text != NULL ? text : "", p.text.length + 1);
  parse_all(&p); /* succeeded in the first walk */
  *out = p.out;
  return 0;
}

int kin_selector_nothing(kin_selector **out, const kin_allocator *allocator) {
  if (out == NULL) {
    return KIN_EINVAL;
  }
  *out = NULL;
  int err = kin_selector_parse(out, allocator, "");
  if (err == 0) {
    (*out)->is_nothing = true;
  }
  return err;
}

void kin_selector_free(kin_selector *selector) {
  if (selector != NULL) {
    kin_allocator allocator = selector->allocator;
    kin__free(&allocator, selector);
  }
}

static bool is_one_of(const kin_selector *selector, const requirement *r,
                      kin_str value) {
  for (uint32_t i = 0; i < r->count; i++) {
    if (kin__str_equal(selector->values[r->first + i], value)) {
      return true;
    }
  }
  return false;
}

static bool holds(const kin_selector *selector, const requirement *r,
                  const kin_object *object) {
  kin_str value;
  int64_t number;
  bool is_there = kin_object_label(object, r->key, &value);
  switch (r->op) {
  case EXISTS:
    return is_there;
  case ABSENT:
    return !is_there;
  case IN:
    return is_there && is_one_of(selector, r, value);
  case NOT_IN:
    return !is_there || !is_one_of(selector, r, value);
  case GREATER:
    return is_there && to_integer(value, &number) && number > r->number;
  case LESS:
    return is_there && to_integer(value, &number) && number < r->number;
  }
  return false;
}

bool kin_selector_matches(const kin_selector *selector,
                          const kin_object *object) {
  if (object == NULL) {
    return false;
  }
  if (selector == NULL) {
    return true;
  }
  bool matches = !selector->is_nothing;
  for (size_t i = 0; i < selector->count && matches; i++) {
    matches = holds(selector, &selector->requirements[i], object);
  }
  return matches;
}

bool kin_selector_is_everything(const kin_selector *selector) {
  return selector == NULL || (selector->count == 0 && !selector->is_nothing);
}

bool kin_selector_is_nothing(const kin_selector *selector) {
  return selector != NULL && selector->is_nothing;
}
