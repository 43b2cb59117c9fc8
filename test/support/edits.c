/* SPDX-License-Identifier: MIT */
#include "support/edits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "object/object.h"

#define MAX_KEPT 8

static void to_json(char *to, size_t size, const char *text) {
  snprintf(to, size, "%s", text);
  for (char *c = to; *c != '\0'; c++) {
    *c = *c == '\'' ? '"' : *c;
  }
}

static int keep(kin_object_builder *builder, const char *words) {
  char copy[256];
  const char *pointers[MAX_KEPT];
  size_t count = 0;
  snprintf(copy, sizeof copy, "%s", words);
  for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
    assert_true(count < MAX_KEPT);
    pointers[count++] = word;
  }
  return kin_object_builder_keep(builder, pointers, count);
}

int edit_apply(kin_object_builder *builder, const edit *e) {
  char json[1024];
  switch (e->what) {
  case '-':
    return kin_object_builder_remove(builder, e->pointer);
  case '=':
    to_json(json, sizeof json, e->value);
    return kin_object_builder_set_json(builder, e->pointer, json, strlen(json));
  case '"':
    return kin_object_builder_set_string(builder, e->pointer, e->value);
  case '#':
    return kin_object_builder_set_int(builder, e->pointer,
                                      strtoll(e->value, NULL, 10));
  case '?':
    return kin_object_builder_set_bool(builder, e->pointer,
                                       strcmp(e->value, "true") == 0);
  default:
    assert_int_equal(e->what, 'k');
    return keep(builder, e->pointer);
  }
}

int edit_build(kin_object **out, const kin_allocator *allocator,
               const kin_object *from, const edit *edits, size_t count) {
  kin_object_builder *builder;
  int err = kin_object_builder_new(&builder, allocator, from);
  if (err != 0) {
    assert_null(builder);
    *out = NULL;
    return err;
  }
  int first = 0;
  for (size_t i = 0; i < count && edits[i].what != '\0'; i++) {
    err = edit_apply(builder, &edits[i]);
    first = first != 0 ? first : err;
    assert_int_equal(err, first);
  }
  err = kin_object_builder_finish(builder, out);
  assert_int_equal(first != 0, first != 0 && err == first);
  assert_int_equal(*out != NULL, err == 0);
  return err;
}

void assert_body(const kin_object *object, const char *expected) {
  char json[2048];
  to_json(json, sizeof json, expected);
  kin_str body = kin__object_body(object);
  if (!kin__str_equal(body, kin__cstr(json))) {
    fail_msg("made " KIN_STR_FORMAT "\nexpected %s", KIN_STR_ARG(body), json);
  }
}
