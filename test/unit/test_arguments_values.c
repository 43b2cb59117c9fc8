/* SPDX-License-Identifier: MIT */

/* As test_arguments.c, for values, fields, quantities and times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/toolkit.h>

#include "support/objects.h"
#include "support/refused.h"

/* A length without bytes counts as empty. */
#define NO_BYTES ((kin_str){NULL, 3})

static void test_values(void **state) {
  (void)state;
  kin_object *object = object_of(NULL, "{'metadata':{'name':'p'},'':[1]}");
  kin_value value = kin_object_at(object, "/metadata/name");
  char to[8];
  kin_str text;
  size_t length;
  kin_value name;
  assert_int_equal(kin_value_of(NO_BYTES).error, KIN_ENOENT);
  assert_int_equal(kin_object_at(NULL, "/a").error, KIN_EINVAL);
  assert_int_equal(kin_object_at(object, NULL).error, KIN_EINVAL);
  assert_int_equal(kin_value_at(value, NULL).error, KIN_EINVAL);
  kin_value member = kin_value_member(kin_object_at(object, ""), NO_BYTES);
  assert_int_equal(kin_value_type_of(member), KIN_VALUE_ARRAY);
  assert_true(kin_value_exists(member));
  REFUSED(kin_value_string(value, NULL, 8, &text));
  REFUSED(kin_value_string(value, to, 8, NULL));
  REFUSED(kin_value_copy_string(value, NULL, 8, &length));
  assert_int_equal(kin_value_copy_string(value, to, 8, NULL), 0);
  assert_false(kin_value_string_is(value, NO_BYTES));
  REFUSED(kin_value_bool(value, NULL));
  REFUSED(kin_value_int64(value, NULL));
  REFUSED(kin_value_uint64(value, NULL));
  REFUSED(kin_value_double(value, NULL));
  REFUSED(kin_value_time(value, NULL));
  REFUSED(kin_value_duration(value, NULL));
  REFUSED(kin_value_quantity(value, NULL));
  REFUSED(kin_value_base64(value, NULL, 8, &length));
  REFUSED(kin_value_base64(value, to, 8, NULL));
  kin_int_or_string either = {.is_string = true, .string = NO_BYTES};
  REFUSED(kin_value_int_or_string(value, NULL, 8, &either));
  REFUSED(kin_value_int_or_string(value, to, 8, NULL));
  int32_t result = 77;
  REFUSED(kin_int_or_string_scale(NULL, 1, false, &result));
  REFUSED(kin_int_or_string_scale(&either, 1, false, NULL));
  REFUSED(kin_int_or_string_scale(&either, 1, false, &result));
  assert_int_equal(result, 77);
  kin_value_iterator walk = kin_value_iterate(kin_object_at(object, ""));
  assert_false(kin_value_next(NULL, &value));
  assert_false(kin_value_next(&walk, NULL));
  assert_false(kin_value_next_member(NULL, &name, &value));
  assert_false(kin_value_next_member(&walk, NULL, &value));
  assert_false(kin_value_next_member(&walk, &name, NULL));
  assert_true(kin_value_next_member(&walk, &name, &value));
  kin_object_unref(object);
}

static void test_fields(void **state) {
  (void)state;
  kin_object *object = object_of(NULL, "{'metadata':{'name':'p'}}");
  const char *pointers[] = {"/metadata"};
  kin_value values[1];
  kin_value value = kin_object_at(object, "");
  REFUSED(kin_fields_new(NULL, NULL, pointers, 1));
  REFUSED_OUT(kin_fields *, kin_fields_new(&out, NULL, NULL, 1));
  kin_fields *fields;
  assert_int_equal(kin_fields_new(&fields, NULL, pointers, 1), 0);
  REFUSED(kin_fields_read(NULL, object, values));
  REFUSED(kin_fields_read(fields, NULL, values));
  REFUSED(kin_fields_read(fields, object, NULL));
  REFUSED(kin_fields_read_value(NULL, value, values));
  REFUSED(kin_fields_read_value(fields, value, NULL));
  kin_fields_free(fields);
  kin_fields_free(NULL);
  kin_object_unref(object);
}

static void test_meta(void **state) {
  (void)state;
  kin_object *object = object_of(NULL, "{'metadata':{'name':'p'}}");
  kin_owner_reference owner;
  kin_condition condition;
  assert_int_equal(kin_object_labels(NULL).error, KIN_EINVAL);
  assert_int_equal(kin_object_annotations(NULL).error, KIN_EINVAL);
  assert_int_equal(kin_object_annotation(NULL, KIN_STR("a")).error, KIN_EINVAL);
  assert_int_equal(kin_object_annotation(object, NO_BYTES).error, KIN_ENOENT);
  assert_int_equal(kin_object_owner_references(NULL).error, KIN_EINVAL);
  kin_value_iterator walk = kin_object_owner_references(object);
  assert_false(kin_owner_reference_next(NULL, &owner));
  assert_false(kin_owner_reference_next(&walk, NULL));
  REFUSED(kin_object_controller(NULL, &owner));
  REFUSED(kin_object_controller(object, NULL));
  assert_int_equal(kin_object_conditions(NULL).error, KIN_EINVAL);
  walk = kin_object_conditions(object);
  assert_false(kin_condition_next(NULL, &condition));
  assert_false(kin_condition_next(&walk, NULL));
  REFUSED(kin_object_condition(NULL, KIN_STR("a"), &condition));
  REFUSED(kin_object_condition(object, KIN_STR("a"), NULL));
  assert_int_equal(kin_object_condition(object, NO_BYTES, &condition),
                   KIN_ENOENT);
  assert_false(kin_object_condition_is_true(NULL, KIN_STR("a")));
  assert_false(kin_object_condition_is_true(object, NO_BYTES));
  kin_object_unref(object);
}

static void test_quantities(void **state) {
  (void)state;
  kin_quantity one = kin_quantity_of(1, KIN_QUANTITY_DECIMAL_SI);
  kin_quantity milli = kin_quantity_of_milli(1, KIN_QUANTITY_BINARY_SI);
  char text[KIN_QUANTITY_SIZE] = "x";
  int64_t number;
  REFUSED(kin_quantity_parse(NO_BYTES, &one));
  REFUSED(kin_quantity_parse(KIN_STR("1"), NULL));
  ZERO(kin_quantity_compare(NULL, &one));
  ZERO(kin_quantity_compare(&one, NULL));
  ZERO(kin_quantity_sign(NULL));
  REFUSED(kin_quantity_add(NULL, &one));
  REFUSED(kin_quantity_add(&one, NULL));
  REFUSED(kin_quantity_subtract(NULL, &one));
  REFUSED(kin_quantity_subtract(&one, NULL));
  kin_quantity_negate(NULL);
  REFUSED(kin_quantity_value(NULL, &number));
  REFUSED(kin_quantity_value(&one, NULL));
  REFUSED(kin_quantity_milli_value(NULL, &number));
  REFUSED(kin_quantity_milli_value(&milli, NULL));
  assert_true(kin_quantity_double(NULL) == 0);
  ZERO(kin_quantity_text(NULL, &one));
  ZERO(kin_quantity_text(text, NULL));
  assert_string_equal(text, "");
  /* A format that is none is an exponent's, as in apimachinery. */
  kin_quantity odd = kin_quantity_of(1000, (kin_quantity_format)3);
  kin_quantity_text(text, &odd);
  assert_string_equal(text, "1e3");
}

static void test_times(void **state) {
  (void)state;
  kin_time moment = {0, 0};
  int64_t ns;
  REFUSED(kin_time_parse(NO_BYTES, &moment));
  REFUSED(kin_time_parse(KIN_STR("2026-01-01T00:00:00Z"), NULL));
  ZERO(kin_time_format(NULL, moment, 0));
  ZERO(kin_time_compare(moment, moment));
  REFUSED(kin_duration_parse(NO_BYTES, &ns));
  REFUSED(kin_duration_parse(KIN_STR("1s"), NULL));
  ZERO(kin_duration_format(NULL, 1));
}

static void test_finding(void **state) {
  (void)state;
  kin_store *store;
  assert_int_equal(kin_store_new(&store, NULL), 0);
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = "node";
  options.pointer = "/spec/nodeName";
  assert_int_equal(kin_store_add_index(store, &options), 0);
  kin_lister lister = kin_lister_of(store);
  const kin_str a = KIN_STR("a");
  const kin_object *objects[1];
  size_t count;
  REFUSED_OUT(const kin_object *, kin_lister_find(NULL, "node", a, &out));
  REFUSED_OUT(const kin_object *, kin_lister_find(&lister, NULL, a, &out));
  REFUSED(kin_lister_find(&lister, "node", a, NULL));
  assert_int_equal(kin_lister_find(&lister, "node", NO_BYTES, objects),
                   KIN_ENOENT);
  REFUSED(kin_lister_find_all(NULL, "node", a, objects, 1, &count));
  REFUSED(kin_lister_find_all(&lister, NULL, a, objects, 1, &count));
  REFUSED(kin_lister_find_all(&lister, "node", a, NULL, 1, &count));
  REFUSED(kin_lister_find_all(&lister, "node", a, objects, 1, NULL));
  assert_int_equal(
      kin_lister_find_all(&lister, "node", NO_BYTES, objects, 1, &count), 0);
  assert_int_equal(count, 0);
  kin_lister nowhere = kin_lister_of(NULL);
  REFUSED(kin_lister_find(&nowhere, "node", a, objects));
  kin_store_free(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values), cmocka_unit_test(test_fields),
      cmocka_unit_test(test_meta),   cmocka_unit_test(test_quantities),
      cmocka_unit_test(test_times),  cmocka_unit_test(test_finding),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
