/* SPDX-License-Identifier: MIT */

/* Fields that are read in one pass, and values by pointer, against a parsed
 * document; owners, conditions and annotations, which stand on both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include <kin/error.h>
#include <kin/fields.h>
#include <kin/meta.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "support/fail_alloc.h"
#include "support/json_gen.h"
#include "support/naive_pointer.h"
#include "support/objects.h"

static const char pod[] =
    "{'metadata':{'annotations':{'example.com/team':'a\\u0062'},'name':'p',"
    "'ownerReferences':[{'apiVersion':'apps/v1','kind':'Job','name':'j',"
    "'uid':'1'},{'controller':true,'blockOwnerDeletion':true,"
    "'kind':'ReplicaSet','name':'rs','uid':'2','apiVersion':'apps/v1'}]},"
    "'spec':{'containers':[{'image':'a','n':1},{'image':'b'}],'x':{}},"
    "'status':{'conditions':[{'type':'Ready','status':'False','reason':'r',"
    "'message':'say \\'no\\'','lastTransitionTime':'2026-01-01T00:00:00Z',"
    "'observedGeneration':3},{'type':'Initialized','status':'True'}],"
    "'phase':'Running'}}";

/* The same fields alone and together, found and not. */
static void test_fields_read(void **state) {
  (void)state;
  static const char *const pointers[] = {
      "/status/phase",
      "/metadata/name",
      "/spec/containers/1/image",
      "/spec/containers/0",
      "/spec/containers/0/n",
      "/spec/containers/2",
      "/spec/containers/00",
      "/spec/containers/a",
      "/spec/containers",
      "/metadata/name",
      "/metadata/name/x",
      "/spec/x/y",
      "/nothing",
      "",
      "/metadata/annotations/example.com~1team"};
  enum { COUNT = sizeof pointers / sizeof *pointers };
  kin_object *object = object_of(NULL, pod);
  for (size_t count = 1; count <= COUNT; count++) {
    kin_fields *fields;
    assert_int_equal(kin_fields_new(&fields, NULL, pointers, count), 0);
    kin_value values[COUNT];
    kin_value same[COUNT];
    assert_int_equal(kin_fields_read(fields, object, values), 0);
    assert_int_equal(
        kin_fields_read_value(fields, kin_object_at(object, ""), same), 0);
    for (size_t i = 0; i < count; i++) {
      kin_value alone = kin_object_at(object, pointers[i]);
      if (values[i].error != alone.error ||
          !kin_str_equal(values[i].json, alone.json) ||
          !kin_str_equal(same[i].json, alone.json)) {
        fail_msg("%s", pointers[i]);
      }
    }
    kin_fields_free(fields);
  }
  kin_object_unref(object);
}

static void test_fields_refused(void **state) {
  (void)state;
  const char *pointers[257];
  char texts[257][8];
  for (int i = 0; i < 257; i++) {
    snprintf(texts[i], sizeof texts[i], "/n%d", i);
    pointers[i] = texts[i];
  }
  kin_fields *fields;
  assert_int_equal(kin_fields_new(&fields, NULL, pointers, 257), KIN_EINVAL);
  assert_null(fields);
  assert_int_equal(kin_fields_new(&fields, NULL, pointers, 0), KIN_EINVAL);
  assert_int_equal(kin_fields_new(&fields, NULL, pointers, 256), 0);
  kin_object *object =
      object_of(NULL, "{'metadata':{'name':'p'},'n255':1,'n0':2,'n17':3}");
  kin_value values[256];
  assert_int_equal(kin_fields_read(fields, object, values), 0);
  for (int i = 0; i < 256; i++) {
    bool is_there = i == 0 || i == 17 || i == 255;
    assert_int_equal(values[i].error, is_there ? 0 : KIN_ENOENT);
  }
  kin_fields_free(fields);
  kin_object_unref(object);
  pointers[1] = "n";
  assert_int_equal(kin_fields_new(&fields, NULL, pointers, 2), KIN_EINVAL);
  pointers[1] = NULL;
  assert_int_equal(kin_fields_new(&fields, NULL, pointers, 2), KIN_EINVAL);
}

/* What stands behind the last field is not read; before it is. */
static void test_fields_malformed(void **state) {
  (void)state;
  static const char *const pointers[] = {"/a", "/b/c", "/b/d"};
  static const struct {
    const char *json;
    int error;
    int errors[3];
  } rows[] = {{"{\"a\":1,\"b\":{\"c\":2,\"d\":3}} x", 0, {0, 0, 0}},
              {"{\"b\":{\"d\":3,\"c\":2,,,},\"a\":1,,", 0, {0, 0, 0}},
              {"{\"a\":1,\"b\":{\"c\":2,", KIN_EJSON, {0, 0, KIN_EJSON}},
              {"{\"a\":1,\"b\":{\"c\":2]", KIN_EJSON, {0, 0, KIN_EJSON}},
              {"{\"a\":1,", KIN_EJSON, {0, KIN_EJSON, KIN_EJSON}},
              {"{\"a\":\"", KIN_EJSON, {KIN_EJSON, KIN_EJSON, KIN_EJSON}},
              {"{\"a\":1,\"b\":[2]}", 0, {0, KIN_ENOENT, KIN_ENOENT}},
              {"{\"a\":1,\"b\":[2}", KIN_EJSON, {0, KIN_EJSON, KIN_EJSON}},
              {"[]", 0, {KIN_ENOENT, KIN_ENOENT, KIN_ENOENT}},
              {"1", 0, {KIN_ENOENT, KIN_ENOENT, KIN_ENOENT}}};
  kin_fields *fields;
  assert_int_equal(kin_fields_new(&fields, NULL, pointers, 3), 0);
  kin_value values[3];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin_value value = {.json = kin_str_of(rows[i].json)};
    int err = kin_fields_read_value(fields, value, values);
    for (size_t k = 0; k < 3; k++) {
      if (err != rows[i].error || values[k].error != rows[i].errors[k]) {
        fail_msg("%s: %d, %zu: %d", rows[i].json, err, k, values[k].error);
      }
    }
  }
  kin_value absent = {.error = KIN_EINVAL};
  assert_int_equal(kin_fields_read_value(fields, absent, values), KIN_EINVAL);
  assert_int_equal(values[2].error, KIN_EINVAL);
  kin_fields_free(fields);
}

/* The text cut off after each byte, in memory that ends there. */
static void test_fields_cut_text(void **state) {
  (void)state;
  static const char *const pointers[] = {
      "/status/conditions/1/status", "/spec/containers/1/image",
      "/metadata/annotations/example.com~1team", "/metadata/name"};
  kin_object *object = object_of(NULL, pod);
  kin_str whole = kin_object_at(object, "").json;
  kin_fields *fields;
  assert_int_equal(kin_fields_new(&fields, NULL, pointers, 4), 0);
  for (size_t length = 1; length < whole.length; length++) {
    char *cut = malloc(length);
    assert_non_null(cut);
    memcpy(cut, whole.data, length);
    kin_value value = {.json = {cut, length}};
    kin_value values[4];
    int err = kin_fields_read_value(fields, value, values);
    int found = 0;
    for (size_t i = 0; i < 4; i++) {
      found += values[i].error == 0;
    }
    assert_int_equal(err, found == 4 ? 0 : KIN_EJSON);
    free(cut);
  }
  kin_fields_free(fields);
  kin_object_unref(object);
}

static bool run_without_memory(size_t fail_at) {
  static const char *const pointers[] = {"/a/b", "/c", "/a/~1"};
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  kin_fields *fields;
  int err = kin_fields_new(&fields, &memory.allocator, pointers, 3);
  bool has_failed = fail_alloc_has_failed(&memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  assert_true((fields == NULL) == has_failed);
  kin_fields_free(fields);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  return has_failed;
}

static void test_fields_out_of_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 1);
}

/* --- Random documents ----------------------------------------------------- */

/* Whether text says what the parsed value is. */
static bool is_same(kin_value value, yyjson_val *want) {
  if (want == NULL) {
    return value.error == KIN_ENOENT;
  }
  kin_value_type type = kin_value_type_of(value);
  char *buffer = malloc(value.json.length + 1);
  assert_non_null(buffer);
  kin_str s;
  int64_t i64;
  uint64_t u64;
  double number;
  bool flag;
  bool result = false;
  if (yyjson_is_null(want)) {
    result = type == KIN_VALUE_NULL;
  } else if (yyjson_is_bool(want)) {
    result = kin_value_bool(value, &flag) == 0 && flag == yyjson_get_bool(want);
  } else if (yyjson_is_str(want)) {
    kin_str text = {yyjson_get_str(want), yyjson_get_len(want)};
    result = kin_value_string(value, buffer, value.json.length, &s) == 0 &&
             kin_str_equal(s, text) && kin_value_string_is(value, text);
  } else if (yyjson_is_sint(want)) {
    result = kin_value_int64(value, &i64) == 0 && i64 == yyjson_get_sint(want);
  } else if (yyjson_is_uint(want)) {
    result = kin_value_uint64(value, &u64) == 0 && u64 == yyjson_get_uint(want);
  } else if (yyjson_is_real(want)) {
    result = kin_value_double(value, &number) == 0 &&
             memcmp(&number, &(double){yyjson_get_real(want)}, 8) == 0;
  } else if (yyjson_is_raw(want)) {
    result = type == KIN_VALUE_NUMBER;
  } else {
    kin_value_iterator walk = kin_value_iterate(value);
    kin_value child;
    size_t count = 0;
    while (kin_value_next(&walk, &child)) {
      count++;
    }
    result = walk.error == 0 && count == yyjson_get_len(want) &&
             (type == KIN_VALUE_OBJECT) == yyjson_is_obj(want);
  }
  free(buffer);
  return result;
}

/* Some pointers into one random document: alone and in one pass. */
static void check_document(uint64_t seed) {
  enum { POINTERS = 12 };
  kin__buf text;
  kin__buf_init(&text, kin__default_allocator(), 1u << 20);
  json_gen gen;
  json_gen_init(&gen, seed, &text);
  json_gen_value(&gen, 5);
  kin_str json = {text.data, text.length};
  yyjson_doc *doc =
      yyjson_read(json.data, json.length, YYJSON_READ_BIGNUM_AS_RAW);
  assert_non_null(doc);
  yyjson_val *root = yyjson_doc_get_root(doc);
  kin__buf pointers[POINTERS];
  const char *names[POINTERS];
  for (size_t i = 0; i < POINTERS; i++) {
    kin__buf_init(&pointers[i], kin__default_allocator(), 1u << 20);
    naive_pointer_random(&gen, root, &pointers[i]);
    names[i] = pointers[i].data;
  }
  kin_fields *fields;
  assert_int_equal(kin_fields_new(&fields, NULL, names, POINTERS), 0);
  kin_value whole = kin_value_of(json);
  kin_value values[POINTERS];
  assert_int_equal(kin_fields_read_value(fields, whole, values), 0);
  for (size_t i = 0; i < POINTERS; i++) {
    kin_value alone = kin_value_at(whole, names[i]);
    yyjson_val *want = yyjson_ptr_get(root, names[i]);
    if (!is_same(alone, want) || !is_same(values[i], want)) {
      fail_msg("seed %u: %s in " KIN_STR_FORMAT, (unsigned)seed, names[i],
               KIN_STR_ARG(json));
    }
    kin__buf_finish(&pointers[i]);
  }
  kin_fields_free(fields);
  yyjson_doc_free(doc);
  kin__buf_finish(&text);
}

static void test_fields_random(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    check_document(seed);
  }
}

/* --- Owners, conditions, annotations -------------------------------------- */

static void test_meta_owners(void **state) {
  (void)state;
  kin_object *object = object_of(NULL, pod);
  kin_value_iterator walk = kin_object_owner_references(object);
  kin_owner_reference owner;
  assert_true(kin_owner_reference_next(&walk, &owner));
  assert_true(kin_value_string_is(owner.kind, KIN_STR("Job")));
  assert_true(kin_value_string_is(owner.api_version, KIN_STR("apps/v1")));
  assert_false(owner.is_controller || owner.blocks_owner_deletion);
  assert_true(kin_owner_reference_next(&walk, &owner));
  assert_false(kin_owner_reference_next(&walk, &owner));
  assert_int_equal(walk.error, 0);
  assert_int_equal(kin_object_controller(object, &owner), 0);
  assert_true(kin_value_string_is(owner.name, KIN_STR("rs")));
  assert_true(kin_value_string_is(owner.uid, KIN_STR("2")));
  assert_true(owner.is_controller && owner.blocks_owner_deletion);
  kin_object_unref(object);

  static const struct {
    const char *json;
    int error;
  } rows[] = {
      {"{'metadata':{'name':'p'}}", KIN_ENOENT},
      {"{'metadata':{'name':'p','ownerReferences':null}}", KIN_ENOENT},
      {"{'metadata':{'name':'p','ownerReferences':7}}", KIN_ETYPE},
      {"{'metadata':{'name':'p','ownerReferences':[7,{'controller':'true'},"
       "{'uid':'1'}]}}",
       KIN_ENOENT}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    object = object_of(NULL, rows[i].json);
    assert_int_equal(kin_object_controller(object, &owner), rows[i].error);
    kin_object_unref(object);
  }
}

static void test_meta_conditions(void **state) {
  (void)state;
  kin_object *object = object_of(NULL, pod);
  kin_condition condition;
  assert_int_equal(kin_object_condition(object, KIN_STR("Ready"), &condition),
                   0);
  char message[32];
  assert_int_equal(
      kin_value_copy_string(condition.message, message, sizeof message, NULL),
      0);
  assert_string_equal(message, "say \"no\"");
  assert_true(kin_value_string_is(condition.status, KIN_STR("False")));
  assert_true(kin_value_string_is(condition.reason, KIN_STR("r")));
  kin_time moment;
  assert_int_equal(kin_value_time(condition.last_transition_time, &moment), 0);
  int64_t generation = 0;
  assert_int_equal(kin_value_int64(condition.observed_generation, &generation),
                   0);
  assert_int_equal(generation, 3);
  assert_false(kin_object_condition_is_true(object, KIN_STR("Ready")));
  assert_true(kin_object_condition_is_true(object, KIN_STR("Initialized")));
  assert_int_equal(kin_object_condition(object, KIN_STR("None"), &condition),
                   KIN_ENOENT);
  kin_value_iterator walk = kin_object_conditions(object);
  assert_true(kin_condition_next(&walk, &condition));
  assert_true(kin_condition_next(&walk, &condition));
  assert_int_equal(condition.message.error, KIN_ENOENT);
  assert_false(kin_condition_next(&walk, &condition));
  kin_object_unref(object);
  object = object_of(NULL, "{'metadata':{'name':'p'}}");
  assert_int_equal(kin_object_condition(object, KIN_STR("Ready"), &condition),
                   KIN_ENOENT);
  kin_object_unref(object);
}

static void test_meta_annotations(void **state) {
  (void)state;
  kin_object *object = object_of(NULL, pod);
  assert_true(kin_value_string_is(
      kin_object_annotation(object, KIN_STR("example.com/team")),
      KIN_STR("ab")));
  assert_int_equal(kin_object_annotation(object, KIN_STR("team")).error,
                   KIN_ENOENT);
  kin_value_iterator walk = kin_value_iterate(kin_object_annotations(object));
  kin_value name;
  kin_value value;
  assert_true(kin_value_next_member(&walk, &name, &value));
  assert_true(kin_value_string_is(name, KIN_STR("example.com/team")));
  assert_false(kin_value_next_member(&walk, &name, &value));
  assert_int_equal(kin_object_labels(object).error, KIN_ENOENT);
  kin_object_unref(object);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fields_read),
      cmocka_unit_test(test_fields_refused),
      cmocka_unit_test(test_fields_malformed),
      cmocka_unit_test(test_fields_cut_text),
      cmocka_unit_test(test_fields_out_of_memory),
      cmocka_unit_test(test_fields_random),
      cmocka_unit_test(test_meta_owners),
      cmocka_unit_test(test_meta_conditions),
      cmocka_unit_test(test_meta_annotations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
