/* SPDX-License-Identifier: MIT */
/* The objects of scripts. A word of one is KEY@VERSION@UID@VALUES, the values
 * with + between them; in JSON these stand in /spec/values as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

#include "words.h"

static void must(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "%s: %s\n", what, kin_strerror(err));
    exit(2);
  }
}

kin_object *word_object(const char *raw) {
  char *copy = must_allocate(strlen(raw) + 1);
  memcpy(copy, raw, strlen(raw));
  words one = {1, &copy};
  word_text(&one, 0);
  const char *fields[4] = {copy, "", "", ""};
  char *rest = copy;
  for (int i = 1; i < 4 && (rest = strchr(rest, '@')) != NULL; i++) {
    *rest++ = '\0';
    fields[i] = rest;
  }
  char *slash = strchr(copy, '/');
  const char *name = slash != NULL ? slash + 1 : copy;
  if (slash != NULL) {
    *slash = '\0';
  }
  text json = {0};
  const char *const parts[] = {"{\"metadata\":{\"namespace\":\"",
                               slash != NULL ? copy : "",
                               "\",\"name\":\"",
                               name,
                               "\",\"resourceVersion\":\"",
                               fields[1],
                               "\",\"uid\":\"",
                               fields[2],
                               "\"},\"spec\":{\"values\":\"",
                               fields[3],
                               "\",\"transforms\":\"\"}}"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    text_add(&json, parts[i]);
  }
  kin_object *object;
  must(kin_object_parse(&object, NULL, json.data, json.length), raw);
  text_free(&json);
  free(copy);
  return object;
}

kin_object **words_objects(const words *line, size_t first, size_t *count) {
  *count = line->count - first;
  kin_object **objects = must_allocate((*count + 1) * sizeof *objects);
  for (size_t i = 0; i < *count; i++) {
    objects[i] = word_object(word_raw(line, first + i));
  }
  return objects;
}

void objects_free(kin_object **objects, size_t count) {
  for (size_t i = 0; i < count; i++) {
    kin_object_unref(objects[i]);
  }
  free(objects);
}

static kin_str view_string(kin_object_view *view, const char *pointer) {
  kin_str value = {0};
  int err = kin_object_view_string(view, pointer, &value);
  must(err == KIN_ENOENT ? 0 : err, pointer);
  return value;
}

void text_add_object(text *to, const kin_object *object) {
  if (object == NULL) {
    text_add(to, "-");
    return;
  }
  kin_object_view *view;
  must(kin_object_view_open(&view, object), "view");
  kin_str parts[] = {kin_object_key(object),
                     {"@", 1},
                     kin_object_resource_version(object),
                     {"@", 1},
                     kin_object_uid(object),
                     {"@", 1},
                     view_string(view, "/spec/values"),
                     view_string(view, "/spec/transforms")};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    if (parts[i].length > 0) {
      text_add_encoded(to, parts[i]);
    }
  }
  kin_object_view_close(view);
}

void text_add_delta(text *to, const kin_delta *delta) {
  text_add(to, kin_delta_type_name(delta->type));
  switch (delta->type) {
  case KIN_DELTA_REPLACED_ALL:
    text_add(to, "(");
    text_add_encoded(to, delta->resource_version);
    for (size_t i = 0; i < delta->object_count; i++) {
      text_add(to, " ");
      text_add_object(to, delta->objects[i]);
    }
    text_add(to, delta->object_count > 0 ? ")" : " )");
    return;
  case KIN_DELTA_BOOKMARK:
    text_add(to, "(");
    text_add_encoded(to, delta->resource_version);
    text_add(to, ")");
    return;
  case KIN_DELTA_SYNC_ALL:
    return;
  default:
    break;
  }
  text_add(to, ":");
  if (delta->is_tombstone) {
    text_add(to, "(");
    text_add_encoded(to, delta->key);
    text_add(to, ":");
  }
  text_add_object(to, delta->object);
  text_add(to, delta->is_tombstone ? ")" : "");
}

void object_values(const kin_object *object,
                   void (*each)(void *ctx, kin_str value), void *ctx) {
  kin_object_view *view;
  must(kin_object_view_open(&view, object), "view");
  kin_str values = view_string(view, "/spec/values");
  size_t begin = 0;
  for (size_t i = 0; i <= values.length && values.length > 0; i++) {
    if (i == values.length || values.data[i] == '+') {
      each(ctx, (kin_str){values.data + begin, i - begin});
      begin = i + 1;
    }
  }
  kin_object_view_close(view);
}

typedef struct search {
  const char *value;
  bool is_found;
} search;

static void look_at(void *ctx, kin_str value) {
  search *s = ctx;
  if (value.length == strlen(s->value) &&
      memcmp(value.data, s->value, value.length) == 0) {
    s->is_found = true;
  }
}

bool object_has_value(const kin_object *object, const char *value) {
  search s = {value, false};
  object_values(object, look_at, &s);
  return s.is_found;
}

int script_transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)data;
  if (object_has_value(in, "bad")) {
    return KIN_EINVAL;
  }
  kin_object_view *view;
  must(kin_object_view_open(&view, in), "view");
  text more = {0};
  kin_str before = view_string(view, "/spec/transforms");
  for (size_t i = 0; i < before.length; i++) {
    text_add(&more, "'");
  }
  text_add(&more, "'");
  kin_object_view_close(view);
  int err = kin_object_builder_set_string(out, "/spec/transforms", more.data);
  text_free(&more);
  return err;
}
