/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <kin/error.h>
#include <kin/fields.h>
#include <kin/lister.h>
#include <kin/meta.h>

/* --- Values --------------------------------------------------------------- */

#define READS(name, make, call)                                                \
  static void name(size_t n) {                                                 \
    kin_object *object = make(n);                                              \
    kin_value whole = kin_object_at(object, "");                               \
    COST(cost_assert(call));                                                   \
    cost_assert(whole.error == 0);                                             \
    kin_object_unref(object);                                                  \
  }

READS(value_of, cost_big_object, kin_value_of(whole.json).error == 0)
READS(object_at, cost_big_object, kin_object_at(object, "/spec/x").error == 0)
READS(early_at, cost_big_object,
      kin_object_at(object, "/metadata/name").error == 0)
READS(value_at, cost_big_object, kin_value_at(whole, "/spec/x").error == 0)
READS(member, cost_big_object,
      kin_value_member(whole, COST_STR("spec")).error == 0)
READS(labels, cost_labelled_object, kin_object_labels(object).error == 0)
READS(annotations, cost_labelled_object,
      kin_object_annotations(object).error == KIN_ENOENT)
READS(annotation, cost_labelled_object,
      kin_object_annotation(object, COST_STR("a")).error == KIN_ENOENT)
READS(references, cost_labelled_object,
      kin_object_owner_references(object).error == KIN_ENOENT)
READS(conditions, cost_big_object,
      kin_object_conditions(object).error == KIN_ENOENT)
READS(condition_is_true, cost_big_object,
      !kin_object_condition_is_true(object, COST_STR("Ready")))

static void controller(size_t n) {
  kin_object *object = cost_labelled_object(n);
  kin_owner_reference owner;
  COST(cost_assert(kin_object_controller(object, &owner) == KIN_ENOENT));
  kin_object_unref(object);
}

static void condition(size_t n) {
  kin_object *object = cost_big_object(n);
  kin_condition found;
  COST(cost_assert(kin_object_condition(object, COST_STR("Ready"), &found) ==
                   KIN_ENOENT));
  kin_object_unref(object);
}

static void next(size_t n) {
  kin_object *object = cost_big_object(n);
  kin_value_iterator walk = kin_value_iterate(kin_object_at(object, "/spec"));
  kin_value value;
  COST(cost_assert(kin_value_next(&walk, &value)));
  kin_object_unref(object);
}

static void next_member(size_t n) {
  kin_object *object = cost_big_object(n);
  kin_value_iterator walk = kin_value_iterate(kin_object_at(object, "/spec"));
  kin_value name;
  kin_value value;
  COST(cost_assert(kin_value_next_member(&walk, &name, &value)));
  kin_object_unref(object);
}

/* --- Fields --------------------------------------------------------------- */

static kin_fields *fields_of(const char *last) {
  const char *pointers[] = {"/metadata/name", last};
  kin_fields *fields;
  cost_must(kin_fields_new(&fields, cost_memory(), pointers, 2));
  return fields;
}

static void read_fields(size_t n, const char *last) {
  kin_object *object = cost_big_object(n);
  kin_fields *fields = fields_of(last);
  kin_value values[2];
  COST(cost_must(kin_fields_read(fields, object, values)));
  cost_assert(values[1].error == 0);
  kin_fields_free(fields);
  kin_object_unref(object);
}

static void fields_read(size_t n) {
  read_fields(n, "/spec/x");
}

static void fields_read_early(size_t n) {
  read_fields(n, "/metadata/uid");
}

static void fields_read_value(size_t n) {
  kin_object *object = cost_big_object(n);
  kin_fields *fields = fields_of("/spec/x");
  kin_value whole = kin_object_at(object, "");
  kin_value values[2];
  COST(cost_must(kin_fields_read_value(fields, whole, values)));
  kin_fields_free(fields);
  kin_object_unref(object);
}

/* --- Finding -------------------------------------------------------------- */

static void find(size_t n) {
  kin_store *store = cost_store(n);
  kin_lister lister = kin_lister_of(store);
  const kin_object *object;
  COST(cost_must(kin_lister_find(&lister, "app", COST_STR("all"), &object)));
  kin_store_free(store);
}

static void find_elsewhere(size_t n) {
  kin_store *store = cost_store(n);
  kin_lister lister = kin_lister_in(kin_lister_of(store), COST_STR("none"));
  const kin_object *object;
  COST(cost_assert(kin_lister_find(&lister, "app", COST_STR("all"), &object) ==
                   KIN_ENOENT));
  kin_store_free(store);
}

static void find_all(size_t n) {
  kin_store *store = cost_store(n);
  kin_lister lister = kin_lister_of(store);
  size_t count;
  COST(cost_must(
      kin_lister_find_all(&lister, "app", COST_STR("all"), NULL, 0, &count)));
  cost_assert(count == n);
  kin_store_free(store);
}

#define BYTES "bytes of the object"
const cost_row cost_rows_value[] = {
    {"kin_value_of", "O(length)", BYTES, COST_LINEAR, value_of, COST_BYTES},
    {"kin_object_at", "O(bytes of the object before the end of the value)",
     BYTES, COST_LINEAR, object_at, COST_BYTES},
    {"kin_object_at", NULL, "bytes behind the value", COST_ONE, early_at,
     COST_BYTES},
    {"kin_value_at", "O(bytes of `value` before the end of what is found)",
     BYTES, COST_LINEAR, value_at, COST_BYTES},
    {"kin_value_member", "O(bytes of `value` before the end of the member)",
     BYTES, COST_LINEAR, member, COST_BYTES},
    {"kin_value_next", "O(bytes of the element)", "bytes of the element",
     COST_LINEAR, next, COST_BYTES},
    {"kin_value_next_member", "O(bytes of the member)", "bytes of the member",
     COST_LINEAR, next_member, COST_BYTES},
    {"kin_object_labels", "O(bytes of the object before the end of the map)",
     "labels", COST_LINEAR, labels},
    {"kin_object_annotations",
     "O(bytes of the object before the end of the map)", "labels", COST_LINEAR,
     annotations},
    {"kin_object_annotation",
     "O(bytes of the object before the end of the annotation)", "labels",
     COST_LINEAR, annotation},
    {"kin_object_owner_references",
     "O(bytes of the object before the end of the references)", "labels",
     COST_LINEAR, references},
    {"kin_object_controller",
     "O(bytes of the object before the end of the references)", "labels",
     COST_LINEAR, controller},
    {"kin_object_conditions",
     "O(bytes of the object before the end of the conditions)", BYTES,
     COST_LINEAR, conditions, COST_BYTES},
    {"kin_object_condition",
     "O(bytes of the object before the end of the conditions)", BYTES,
     COST_LINEAR, condition, COST_BYTES},
    {"kin_object_condition_is_true",
     "O(bytes of the object before the end of the conditions)", BYTES,
     COST_LINEAR, condition_is_true, COST_BYTES},
    {"kin_fields_read",
     "O(bytes of the object before the end of the last field)", BYTES,
     COST_LINEAR, fields_read, COST_BYTES},
    {"kin_fields_read", NULL, "bytes behind the last field", COST_ONE,
     fields_read_early, COST_BYTES},
    {"kin_fields_read_value",
     "O(bytes of the value before the end of the last field)", BYTES,
     COST_LINEAR, fields_read_value, COST_BYTES},
    {"kin_lister_find", NULL, "objects with the value", COST_ONE, find},
    {"kin_lister_find",
     "O(objects with the value in namespaces that are not the lister's)",
     "objects with the value elsewhere", COST_LINEAR, find_elsewhere},
    {"kin_lister_find_all", "O(objects with the value)",
     "objects with the value", COST_LINEAR, find_all},
    {0},
};
