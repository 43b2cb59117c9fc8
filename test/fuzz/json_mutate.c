/* SPDX-License-Identifier: MIT */

/* A mutator of inputs whose text is JSON: half of the time single values are
 * removed, doubled, exchanged or replaced, so that what comes out is JSON
 * mostly; else the bytes are changed as libFuzzer does. It knows brackets,
 * quotes and what an API server writes, and nothing of our parsers. */

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed);

static const char *const values[] = {
    "null",
    "true",
    "0",
    "-1",
    "1e999",
    "18446744073709551616",
    "9223372036854775808",
    "\"\"",
    "\"1\"",
    "\"\\u0061\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"\\\\\\\"\"",
    "\"\\u0000\"",
    "[]",
    "{}",
    "[[[[[[[[{\"a\":[1,2]}]]]]]]]]",
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"z\"}}}",
    "[1]",
    "[1,\"a\",null]",
    "{\"a\":\"b\"}",
    "1.5",
    "false",
    "410",
    "\"true\"",
};

static const char *const members[] = {
    "\"name\":\"a\"",
    "\"name\":\"b\\n\"",
    "\"namespace\":\"n\"",
    "\"uid\":\"u\"",
    "\"resourceVersion\":\"7\"",
    "\"resourceVersion\":7",
    "\"labels\":{\"x\":\"y\",\"\\u0078\":1}",
    "\"managedFields\":[{\"a\":1}]",
    "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}",
    "\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"}",
    "\"metadata\":{}",
    "\"meta\\u0064ata\":{\"n\\u0061me\":\"c\"}",
    "\"items\":[{\"metadata\":{\"name\":\"x\"}}]",
    "\"items\":null",
    "\"continue\":\"c\"",
    "\"remainingItemCount\":3",
    "\"kind\":\"Status\"",
    "\"kind\":\"Table\"",
    "\"apiVersion\":\"meta.k8s.io/v1\"",
    "\"type\":\"ADDED\"",
    "\"type\":\"MODIFIED\"",
    "\"type\":\"DELETED\"",
    "\"type\":\"BOOKMARK\"",
    "\"type\":\"ERROR\"",
    "\"object\":{\"metadata\":{\"name\":\"o\"}}",
    "\"status\":\"Failure\"",
    "\"reason\":\"Expired\"",
    "\"code\":410",
    "\"details\":{\"retryAfterSeconds\":5,\"causes\":[{\"reason\":\"r\"}]}",
    "\"spec\":{\"nodeName\":\"n1\"}",
};

typedef struct text {
  char *bytes;
  size_t length;
  size_t room; /* that bytes may take at most */
  unsigned seed;
} text;

typedef struct range {
  size_t begin;
  size_t end;
} range;

static size_t below(text *t, size_t bound) {
  t->seed = t->seed * 1103515245u + 12345u;
  return bound > 0 ? (t->seed >> 8) % bound : 0;
}

static size_t string_end(const text *t, size_t at) {
  for (at++; at < t->length && t->bytes[at] != '"'; at++) {
    at += t->bytes[at] == '\\';
  }
  return at < t->length ? at + 1 : t->length;
}

static size_t container_end(const text *t, size_t at) {
  size_t depth = 0;
  while (at < t->length) {
    char c = t->bytes[at];
    if (c == '"') {
      at = string_end(t, at);
      continue;
    }
    at++;
    depth += c == '{' || c == '[';
    if (c == '}' || c == ']') {
      depth--;
      if (depth == 0) {
        break;
      }
    }
  }
  return at;
}

static bool is_between(char c) {
  return c == '\0' || strchr(",:]} \t\r\n", c) != NULL;
}

static size_t word_end(const text *t, size_t at) {
  while (at < t->length && !is_between(t->bytes[at]) &&
         strchr("{[\"", t->bytes[at]) == NULL) {
    at++;
  }
  return at;
}

static size_t value_end(const text *t, size_t at) {
  switch (t->bytes[at]) {
  case '{':
  case '[':
    return container_end(t, at);
  case '"':
    return string_end(t, at);
  default:
    return word_end(t, at);
  }
}

/* Where the values and names of the text begin, also those within others.
 * Returns how many there are, of which at most `max` are written. */
static size_t find_values(const text *t, size_t *begins, size_t max) {
  size_t count = 0;
  for (size_t at = 0; at < t->length && count < max;) {
    char c = t->bytes[at];
    if (is_between(c)) {
      at++;
      continue;
    }
    begins[count++] = at;
    at = c == '{' || c == '[' ? at + 1 : value_end(t, at);
  }
  return count;
}

/* A value or a name; a name mostly with its value. */
static range any_value(text *t) {
  size_t begins[1024];
  size_t count = find_values(t, begins, sizeof begins / sizeof *begins);
  if (count == 0) {
    return (range){0, 0};
  }
  range r = {.begin = begins[below(t, count)]};
  r.end = value_end(t, r.begin);
  if (r.end + 1 < t->length && t->bytes[r.end] == ':' && below(t, 4) != 0 &&
      !is_between(t->bytes[r.end + 1])) {
    r.end = value_end(t, r.end + 1);
  }
  return r;
}

/* Puts bytes, which may lie in the text, where a range was. */
static void replace(text *t, range r, const char *bytes, size_t length) {
  if (t->length - (r.end - r.begin) + length > t->room) {
    return;
  }
  char *copy = malloc(length + 1);
  if (copy == NULL) {
    return;
  }
  memcpy(copy, bytes, length);
  memmove(t->bytes + r.begin + length, t->bytes + r.end, t->length - r.end);
  memcpy(t->bytes + r.begin, copy, length);
  t->length = t->length - (r.end - r.begin) + length;
  free(copy);
}

static void remove_value(text *t, range r) {
  if (r.end < t->length && t->bytes[r.end] == ',') {
    r.end++;
  } else if (r.begin > 0 && t->bytes[r.begin - 1] == ',') {
    r.begin--;
  }
  replace(t, r, "", 0);
}

/* Before a value, with a comma. */
static void insert(text *t, size_t at, const char *bytes, size_t length) {
  size_t before = t->length;
  replace(t, (range){at, at}, bytes, length);
  if (t->length > before) {
    replace(t, (range){at + length, at + length}, ",", 1);
  }
}

static bool is_name(const text *t, range r) {
  return value_end(t, r.begin) < t->length &&
         t->bytes[value_end(t, r.begin)] == ':';
}

/* A value, or a member where there is a member. */
static const char *snippet_for(text *t, range r) {
  size_t value_count = sizeof values / sizeof *values;
  size_t member_count = sizeof members / sizeof *members;
  return is_name(t, r) ? members[below(t, member_count)]
                       : values[below(t, value_count)];
}

static void mutate(text *t) {
  range r = any_value(t);
  range other = any_value(t);
  if (r.begin == r.end) {
    return;
  }
  const char *snippet = snippet_for(t, r);
  switch (below(t, 6)) {
  case 0:
    remove_value(t, r);
    break;
  case 1:
    insert(t, r.begin, t->bytes + r.begin, r.end - r.begin);
    break;
  case 2:
    insert(t, r.begin, snippet, strlen(snippet));
    break;
  case 3:
    replace(t, r, snippet, strlen(snippet));
    break;
  case 4:
    replace(t, r, t->bytes + other.begin, other.end - other.begin);
    break;
  default:
    insert(t, r.begin, t->bytes + other.begin, other.end - other.begin);
    break;
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed) {
  if (size <= FUZZ_JSON_HEADER || seed % 2 == 0) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  text t = {.bytes = (char *)data + FUZZ_JSON_HEADER,
            .length = size - FUZZ_JSON_HEADER,
            .room = max_size - FUZZ_JSON_HEADER,
            .seed = seed};
  size_t steps = 1 + below(&t, 3);
  for (size_t i = 0; i < steps && t.length > 0; i++) {
    mutate(&t);
  }
  return t.length + FUZZ_JSON_HEADER;
}
