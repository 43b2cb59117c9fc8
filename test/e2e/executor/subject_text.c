/* SPDX-License-Identifier: MIT */
/* What is read out of text: keys, selectors, objects. */
#include <stdlib.h>
#include <string.h>

#include <kin/key.h>
#include <kin/selector.h>

#include "subjects.h"

static bool is(const char *operation, const char *name) {
  return strcmp(operation, name) == 0;
}

static void *open_nothing(const words *options) {
  (void)options;
  return NULL;
}
static void close_nothing(void *ctx) {
  (void)ctx;
}

/* --- keys */

static bool keys_run(void *ctx, const char *operation, const words *line,
                     text *to) {
  (void)ctx;
  if (is(operation, "split")) {
    kin_str namespace_;
    kin_str name;
    if (kin_key_split(word_str(line, 0), &namespace_, &name) != 0) {
      text_add(to, "error");
    } else {
      text_add_encoded(to, namespace_);
      text_add(to, " ");
      text_add_encoded(to, name);
    }
  } else if (is(operation, "make")) {
    char made[KIN_KEY_SIZE];
    kin_str key;
    if (kin_key_make(made, sizeof made, word_str(line, 0), word_str(line, 1),
                     &key) != 0) {
      text_add(to, "error");
    } else {
      text_add_encoded(to, key);
    }
  } else {
    return false;
  }
  return true;
}
const subject keys_subject = {"keys", open_nothing, keys_run, close_nothing};

/* --- selectors */

static void *selector_open(const words *options) {
  (void)options;
  return must_allocate(sizeof(kin_selector *));
}

static void selector_close(void *ctx) {
  kin_selector **selector = ctx;
  kin_selector_free(*selector);
  free(selector);
}

/* An object with these labels, KEY=VALUE each. */
static kin_object *labelled(const words *line) {
  text json = {0};
  text_add(&json, "{\"metadata\":{\"name\":\"a\",\"labels\":{");
  for (size_t i = 0; i < line->count; i++) {
    char *value = strchr(line->at[i], '=');
    *value++ = '\0';
    char *both[] = {line->at[i], value};
    words pair = {2, both};
    text_add(&json, i > 0 ? ",\"" : "\"");
    text_add(&json, word_text(&pair, 0));
    text_add(&json, "\":\"");
    text_add(&json, word_text(&pair, 1));
    text_add(&json, "\"");
  }
  text_add(&json, "}}}");
  kin_object *object = NULL;
  if (kin_object_parse(&object, NULL, json.data, json.length) != 0) {
    abort();
  }
  text_free(&json);
  return object;
}

static bool selector_run(void *ctx, const char *operation, const words *line,
                         text *to) {
  kin_selector **selector = ctx;
  if (is(operation, "parse") || is(operation, "nothing")) {
    kin_selector *made;
    int err = is(operation, "parse")
                  ? kin_selector_parse(&made, NULL, word_text(line, 0))
                  : kin_selector_nothing(&made, NULL);
    if (err == 0) {
      kin_selector_free(*selector);
      *selector = made;
    }
    text_add_outcome(to, err);
  } else if (is(operation, "everything")) {
    text_add_bool(to, kin_selector_is_everything(*selector));
  } else if (is(operation, "match")) {
    kin_object *object = labelled(line);
    text_add_bool(to, kin_selector_matches(*selector, object));
    kin_object_unref(object);
  } else {
    return false;
  }
  return true;
}
const subject selector_subject = {"selector", selector_open, selector_run,
                                  selector_close};

/* --- objects */

/* The labels that are asked for, from the second word on. */
static void add_labels(text *to, const kin_object *object, const words *line) {
  for (size_t i = 1; i < line->count; i++) {
    text key = {0};
    kin_str value;
    text_add(&key, word_raw(line, i));
    if (kin_object_label(object, word_text(line, i), &value)) {
      text_add(to, " ");
      text_add(to, key.data);
      text_add(to, "=");
      text_add_encoded(to, value);
    }
    text_free(&key);
  }
}

static bool object_run(void *ctx, const char *operation, const words *line,
                       text *to) {
  (void)ctx;
  if (!is(operation, "object")) {
    return false;
  }
  kin_str json = word_str(line, 0);
  kin_object *object;
  if (kin_object_parse(&object, NULL, json.data, json.length) != 0) {
    text_add(to, "error");
    return true;
  }
  const kin_str parts[] = {kin_object_namespace(object),
                           kin_object_name(object), kin_object_uid(object),
                           kin_object_resource_version(object)};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    text_add(to, i > 0 ? " " : "");
    text_add_encoded(to, parts[i]);
  }
  add_labels(to, object, line);
  kin_object_unref(object);
  return true;
}
const subject object_subject = {"object", open_nothing, object_run,
                                close_nothing};
