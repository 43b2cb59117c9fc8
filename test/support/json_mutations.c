/* SPDX-License-Identifier: MIT */
#include "support/json_mutations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a value becomes. */
static const char *const others[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.5",
    "123456789012345678901234567890",
    "1e400",
    "\"\"",
    "\"x\"",
    "\"\\u0000\\ud83d\\ude00\"",
    "[]",
    "[null]",
    "[[\"x\"],{}]",
    "{}",
    "{\"x\":1,\"name\":[\"x\"]}",
};

enum {
  OTHERS = sizeof others / sizeof *others,
  REPLACE = 0,
  BEFORE = REPLACE + OTHERS,
  AFTER = BEFORE + OTHERS,
  TWICE = AFTER + OTHERS,
  DROP,
  CHANGES /* of one value; of the outermost only the first OTHERS */
};

typedef struct json_place {
  size_t whole; /* where the value begins, or its name */
  size_t begin;
  size_t end;
} place;

typedef struct reader {
  json_mutations *m;
  size_t at;
  size_t capacity;
} reader;

static char peek(reader *r) {
  while (r->at < r->m->length && strchr(" \t\r\n", r->m->text[r->at]) != NULL) {
    r->at++;
  }
  return r->m->text[r->at]; /* the NUL at the end */
}

static void expect(reader *r, char c) {
  if (peek(r) != c) {
    fail_msg("no '%c' at %zu of %s", c, r->at, r->m->text);
  }
  r->at++;
}

static size_t add_place(reader *r, size_t whole, size_t begin) {
  json_mutations *m = r->m;
  if (m->place_count == r->capacity) {
    r->capacity = r->capacity * 2 + 16;
    m->places = realloc(m->places, r->capacity * sizeof *m->places);
    assert_non_null(m->places);
  }
  m->places[m->place_count] = (place){.whole = whole, .begin = begin};
  return m->place_count++;
}

static void read_string(reader *r) {
  expect(r, '"');
  while (r->m->text[r->at] != '"') {
    assert_true(r->at < r->m->length);
    r->at += r->m->text[r->at] == '\\' ? 2 : 1;
  }
  r->at++;
}

static void read_value(reader *r, size_t whole);

static void read_container(reader *r, char close) {
  r->at++;
  if (peek(r) == close) {
    r->at++;
    return;
  }
  for (;;) {
    peek(r);
    size_t whole = r->at;
    if (close == '}') {
      read_string(r);
      expect(r, ':');
      peek(r);
    }
    read_value(r, close == '}' ? whole : r->at);
    if (peek(r) == close) {
      r->at++;
      return;
    }
    expect(r, ',');
  }
}

/* Recursion is as deep as the text, which is a test's own. */
static void read_value(reader *r, size_t whole) {
  char first = peek(r);
  size_t index = add_place(r, whole, r->at);
  if (first == '{' || first == '[') {
    read_container(r, first == '{' ? '}' : ']');
  } else if (first == '"') {
    read_string(r);
  } else {
    size_t begin = r->at;
    while (r->at < r->m->length &&
           strchr(",]} \t\r\n", r->m->text[r->at]) == NULL) {
      r->at++;
    }
    assert_true(r->at > begin);
  }
  r->m->places[index].end = r->at;
}

void json_mutations_init(json_mutations *m, const char *text) {
  *m = (json_mutations){.text = text, .length = strlen(text)};
  reader r = {.m = m};
  peek(&r);
  read_value(&r, r.at);
  assert_int_equal(peek(&r), '\0');
  m->count = OTHERS + (m->place_count - 1) * CHANGES;
  m->out = malloc(2 * m->length + 256);
  assert_non_null(m->out);
}

void json_mutations_finish(json_mutations *m) {
  free(m->places);
  free(m->out);
}

static void put(json_mutations *m, const char *bytes, size_t length) {
  memcpy(m->out + m->out_length, bytes, length);
  m->out_length += length;
  m->out[m->out_length] = '\0';
}

/* The text from `begin` to `end`. */
static void put_part(json_mutations *m, size_t begin, size_t end) {
  put(m, m->text + begin, end - begin);
}

/* The name, if there is one, and another value. */
static void put_other(json_mutations *m, const place *p, size_t other) {
  put_part(m, p->whole, p->begin);
  put(m, others[other], strlen(others[other]));
}

/* One comma goes with it: the one after, or the one before. */
static void drop(json_mutations *m, const place *p) {
  size_t end = p->end + strspn(m->text + p->end, " \t\r\n");
  if (m->text[end] == ',') {
    put_part(m, 0, p->whole);
    put_part(m, end + 1, m->length);
    return;
  }
  size_t begin = p->whole;
  while (strchr(" \t\r\n", m->text[begin - 1]) != NULL) {
    begin--;
  }
  put_part(m, 0, m->text[begin - 1] == ',' ? begin - 1 : begin);
  put_part(m, p->end, m->length);
}

static void change(json_mutations *m, const place *p, size_t which) {
  if (which == DROP) {
    drop(m, p);
    return;
  }
  put_part(m, 0, p->whole);
  if (which < BEFORE) {
    put_other(m, p, which);
  } else if (which < AFTER) {
    put_other(m, p, which - BEFORE);
    put(m, ",", 1);
    put_part(m, p->whole, p->end);
  } else {
    put_part(m, p->whole, p->end);
    put(m, ",", 1);
    if (which < TWICE) {
      put_other(m, p, which - AFTER);
    } else {
      put_part(m, p->whole, p->end);
    }
  }
  put_part(m, p->end, m->length);
}

const char *json_mutation(json_mutations *m, size_t index) {
  assert_true(index < m->count);
  m->out_length = 0;
  if (index < OTHERS) {
    change(m, &m->places[0], REPLACE + index);
  } else {
    index -= OTHERS;
    change(m, &m->places[1 + index / CHANGES], index % CHANGES);
  }
  return m->out;
}
