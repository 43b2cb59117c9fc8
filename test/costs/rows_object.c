/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/object_builder.h>
#include <kin/selector.h>
#include <kin/yyjson.h>

/* --- Bytes of an object --------------------------------------------------- */

static void parse(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object_view *view;
  cost_must(kin_object_view_open(&view, big));
  kin_str json = kin_object_view_json(view);
  kin_object *object;
  COST(cost_must(
      kin_object_parse(&object, cost_memory(), json.data, json.length)));
  kin_object_unref(object);
  kin_object_view_close(view);
  kin_object_unref(big);
}

static void ref(size_t n) {
  kin_object *big = cost_big_object(n);
  COST(kin_object_unref(kin_object_ref(big)));
  kin_object_unref(big);
}

static void unref_last(size_t n) {
  kin_object *big = cost_big_object(n);
  COST(kin_object_unref(big));
}

#define READS(name, call)                                                      \
  static void name(size_t n) {                                                 \
    kin_object *big = cost_big_object(n);                                      \
    COST(cost_assert(call));                                                   \
    kin_object_unref(big);                                                     \
  }

READS(key, kin_object_key(big).length == 9)
READS(name, kin_object_name(big).length == 3)
READS(namespace_, kin_object_namespace(big).length == 5)
READS(uid, kin_object_uid(big).length == 1)
READS(version, kin_object_resource_version(big).length == 1)
READS(label_of_big, kin_object_label(big, "app", NULL))
READS(is_key_only, !kin_object_is_key_only(big))
READS(memory, kin_object_memory(big) > n)

static void view_open(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object_view *view;
  COST(cost_must(kin_object_view_open(&view, big)));
  kin_object_view_close(view);
  kin_object_unref(big);
}

static void view_json(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object_view *view;
  cost_must(kin_object_view_open(&view, big));
  COST(cost_assert(kin_object_view_json(view).length > n));
  kin_object_view_close(view);
  kin_object_unref(big);
}

static void view_document(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object_view *view;
  cost_must(kin_object_view_open(&view, big));
  COST(cost_assert(kin_object_view_document(view, NULL) != NULL));
  kin_object_view_close(view);
  kin_object_unref(big);
}

/* The object has been parsed. */
static void view_string(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object_view *view;
  cost_must(kin_object_view_open(&view, big));
  cost_assert(kin_object_view_document(view, NULL) != NULL);
  kin_str value;
  COST(cost_must(kin_object_view_string(view, "/spec/x", &value)));
  cost_assert(value.length == n);
  kin_object_view_close(view);
  kin_object_unref(big);
}

/* --- Labels --------------------------------------------------------------- */

static void label(size_t n) {
  kin_object *object = cost_labelled_object(n);
  COST(cost_assert(!kin_object_label(object, "none", NULL)));
  kin_object_unref(object);
}

static kin_selector *selector_of(size_t requirements) {
  size_t size = requirements * 16 + 1;
  char *text = cost_text(size);
  size_t used = 0;
  for (size_t i = 0; i < requirements; i++) {
    used += (size_t)snprintf(text + used, size - used, "%s!none%zu",
                             i > 0 ? "," : "", i);
  }
  kin_selector *selector;
  cost_must(kin_selector_parse(&selector, cost_memory(), text));
  free(text);
  return selector;
}

static void selector_parse(size_t n) {
  size_t size = n * 8 + 1;
  char *text = cost_text(size);
  for (size_t i = 0; i < n; i++) {
    memcpy(text + i * 8, "app=all,", 8);
  }
  text[n * 8 - 1] = '\0';
  kin_selector *selector;
  COST(cost_must(kin_selector_parse(&selector, cost_memory(), text)));
  kin_selector_free(selector);
  free(text);
}

static void matches(size_t requirements, size_t labels) {
  kin_selector *selector = selector_of(requirements);
  kin_object *object = cost_labelled_object(labels);
  COST(cost_assert(kin_selector_matches(selector, object)));
  kin_object_unref(object);
  kin_selector_free(selector);
}

static void matches_labels(size_t n) {
  matches(4, n);
}

static void matches_requirements(size_t n) {
  matches(n, 4);
}

/* One requirement that names many values, none of them the label's. */
static void matches_values(size_t n) {
  size_t size = n * 8 + 16;
  char *text = cost_text(size);
  size_t used = (size_t)snprintf(text, size, "l0 notin (");
  for (size_t i = 0; i < n; i++) {
    used += (size_t)snprintf(text + used, size - used, "%s%zu",
                             i > 0 ? "," : "", i);
  }
  snprintf(text + used, size - used, ")");
  kin_selector *selector;
  cost_must(kin_selector_parse(&selector, cost_memory(), text));
  free(text);
  kin_object *object = cost_labelled_object(4);
  COST(cost_assert(kin_selector_matches(selector, object)));
  kin_object_unref(object);
  kin_selector_free(selector);
}

static void matches_big(size_t n) {
  kin_selector *selector = selector_of(4);
  kin_object *object = cost_big_object(n);
  COST(cost_assert(kin_selector_matches(selector, object)));
  kin_object_unref(object);
  kin_selector_free(selector);
}

/* --- Building ------------------------------------------------------------- */

static kin_object_builder *builder_of(const kin_object *from) {
  kin_object_builder *builder;
  cost_must(kin_object_builder_new(&builder, cost_memory(), from));
  return builder;
}

static void builder_new(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object_builder *builder;
  COST(cost_must(kin_object_builder_new(&builder, cost_memory(), big)));
  kin_object_builder_free(builder);
  kin_object_unref(big);
}

static void builder_finish(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object_builder *builder = builder_of(big);
  cost_must(kin_object_builder_set_int(builder, "/spec/y", 1));
  kin_object *object;
  COST(cost_must(kin_object_builder_finish(builder, &object)));
  kin_object_unref(object);
  kin_object_unref(big);
}

static void builder_remove(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object_builder *builder = builder_of(big);
  COST(cost_must(kin_object_builder_remove(builder, "/spec/x")));
  kin_object_builder_free(builder);
  kin_object_unref(big);
}

static void builder_set(size_t n) {
  kin_object *big = cost_big_object(n);
  kin_object_builder *builder = builder_of(big);
  COST(cost_must(kin_object_builder_set_json(builder, "/spec/y", "1", 1)));
  kin_object_builder_free(builder);
  kin_object_unref(big);
}

static void builder_keep(size_t n) {
  kin_object *many = cost_labelled_object(n);
  kin_object_builder *builder = builder_of(many);
  static const char *const pointers[] = {"/metadata/labels/l0"};
  COST(cost_must(kin_object_builder_keep(builder, pointers, 1)));
  kin_object_builder_free(builder);
  kin_object_unref(many);
}

#define BYTES "bytes of the object"
const cost_row cost_rows_object[] = {
    {"kin_object_parse", "O(length)", BYTES, COST_LINEAR, parse, COST_BYTES},
    {"kin_object_ref", NULL, BYTES, COST_ONE, ref, COST_BYTES},
    {"kin_object_unref", NULL, BYTES, COST_ONE, unref_last, COST_BYTES},
    {"kin_object_key", NULL, BYTES, COST_ONE, key, COST_BYTES},
    {"kin_object_name", NULL, BYTES, COST_ONE, name, COST_BYTES},
    {"kin_object_namespace", NULL, BYTES, COST_ONE, namespace_, COST_BYTES},
    {"kin_object_uid", NULL, BYTES, COST_ONE, uid, COST_BYTES},
    {"kin_object_resource_version", NULL, BYTES, COST_ONE, version, COST_BYTES},
    {"kin_object_is_key_only", NULL, BYTES, COST_ONE, is_key_only, COST_BYTES},
    {"kin_object_memory", NULL, BYTES, COST_ONE, memory, COST_BYTES},
    {"kin_object_label", "O(bytes of the labels)", "labels", COST_LINEAR,
     label},
    {"kin_object_label", NULL, BYTES, COST_ONE, label_of_big, COST_BYTES},
    {"kin_object_view_open", "O(1)", BYTES, COST_ONE, view_open, COST_BYTES},
    {"kin_object_view_json", NULL, BYTES, COST_ONE, view_json, COST_BYTES},
    {"kin_object_view_document", "O(bytes)", BYTES, COST_LINEAR, view_document,
     COST_BYTES},
    {"kin_object_view_string", NULL, "bytes of the parsed object", COST_ONE,
     view_string, COST_BYTES},
    {"kin_selector_parse", "O(length)", "requirements", COST_LINEAR,
     selector_parse},
    {"kin_selector_matches", "O(bytes of the labels + values)", "labels",
     COST_LINEAR, matches_labels},
    {"kin_selector_matches", "O(bytes of the labels + values)", "values",
     COST_LINEAR, matches_values},
    {"kin_selector_matches", "O(bytes of the labels + values)", "requirements",
     COST_LINEAR, matches_requirements},
    {"kin_selector_matches", NULL, BYTES, COST_ONE, matches_big, COST_BYTES},
    {"kin_object_builder_new", "O(1)", BYTES, COST_ONE, builder_new,
     COST_BYTES},
    {"kin_object_builder_finish", "O(bytes of the object)", BYTES, COST_LINEAR,
     builder_finish, COST_BYTES},
    {"kin_object_builder_remove", "O(bytes)", BYTES, COST_LINEAR,
     builder_remove, COST_BYTES},
    {"kin_object_builder_set_json", "O(bytes)", BYTES, COST_LINEAR, builder_set,
     COST_BYTES},
    {"kin_object_builder_keep", "O(bytes)", "labels of the object", COST_LINEAR,
     builder_keep},
    {0},
};
