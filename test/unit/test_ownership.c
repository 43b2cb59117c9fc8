/* SPDX-License-Identifier: MIT */
/* Finalizers and owners of objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/ownership.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/str.h"
#include "object/object.h"
#include "support/fail_alloc.h"

/* Of a text with ' for ". */
static kin_object *object_of(const kin_allocator *allocator, const char *text) {
  char json[2048];
  kin_object *object;
  snprintf(json, sizeof json, "%s", text);
  for (char *c = json; *c != '\0'; c++) {
    *c = *c == '\'' ? '"' : *c;
  }
  assert_int_equal(kin_object_parse(&object, allocator, json, strlen(json)), 0);
  return object;
}

#define POD(more)                                                              \
  "{'metadata':{'name':'web','namespace':'n','resourceVersion':'7'" more "}}"

/* --- Finalizers ----------------------------------------------------------- */

static bool has(const char *text, const char *finalizer) {
  kin_object *object = object_of(NULL, text);
  bool found = kin_object_has_finalizer(object, finalizer);
  kin_object_unref(object);
  return found;
}

static void test_has_finalizer(void **state) {
  (void)state;
  assert_true(has(POD(",'finalizers':['a/b','c']"), "a/b"));
  assert_true(has(POD(",'finalizers':['a/b','c']"), "c"));
  assert_true(has(POD(",'finalizers':['a\\/b']"), "a/b"));
  assert_false(has(POD(",'finalizers':['a/b']"), "a"));
  assert_false(has(POD(",'finalizers':[]"), "a"));
  assert_false(has(POD(",'finalizers':null"), "a"));
  assert_false(has(POD(",'finalizers':'a'"), "a"));
  assert_false(has(POD(""), "a"));
  assert_false(has("{'finalizers':['a'],'metadata':{'name':'w'}}", "a"));
  assert_false(kin_object_has_finalizer(NULL, "a"));
}

static void test_is_terminating(void **state) {
  (void)state;
  kin_object *live = object_of(NULL, POD(",'deletionTimestamp':null"));
  kin_object *dying =
      object_of(NULL, POD(",'deletionTimestamp':'2026-01-01T00:00:00Z'"));
  assert_false(kin_object_is_terminating(live));
  assert_true(kin_object_is_terminating(dying));
  kin_object_unref(live);
  kin_object_unref(dying);
}

static void expect_patch(const char *text, const char *finalizer, bool is_add,
                         int code, const char *expected) {
  char patch[512] = "";
  char wanted[512];
  size_t length = 0;
  kin_object *object = object_of(NULL, text);
  int err = is_add ? kin_object_add_finalizer_patch(object, finalizer, patch,
                                                    sizeof patch, &length)
                   : kin_object_remove_finalizer_patch(object, finalizer, patch,
                                                       sizeof patch, &length);
  assert_int_equal(err, code);
  snprintf(wanted, sizeof wanted, "%s", expected);
  for (char *c = wanted; *c != '\0'; c++) {
    *c = *c == '\'' ? '"' : *c;
  }
  assert_string_equal(patch, wanted);
  assert_int_equal(length, strlen(wanted));
  kin_object_unref(object);
}

static void test_finalizer_patches(void **state) {
  (void)state;
  expect_patch(POD(""), "a/b", true, 0,
               "{'metadata':{'resourceVersion':'7','finalizers':['a/b']}}");
  expect_patch(POD(",'finalizers':[ 'c' , 'd']"), "a/b", true, 0,
               "{'metadata':{'resourceVersion':'7','finalizers':['c','d',"
               "'a/b']}}");
  expect_patch(POD(",'finalizers':['c','a/b','d']"), "a/b", false, 0,
               "{'metadata':{'resourceVersion':'7','finalizers':['c','d']}}");
  expect_patch(POD(",'finalizers':['a/b','a/b']"), "a/b", false, 0,
               "{'metadata':{'resourceVersion':'7','finalizers':[]}}");
  expect_patch(POD(",'finalizers':['a/b']"), "a/b", true, KIN_EALREADY, "");
  expect_patch(POD(",'finalizers':['c']"), "a/b", false, KIN_EALREADY, "");
  expect_patch(POD(",'finalizers':[5]"), "a/b", true, KIN_ETYPE, "");
  expect_patch(POD(",'finalizers':'a/b'"), "c", true, KIN_ETYPE, "");
  expect_patch("{'metadata':{'name':'w'}}", "a/b", true, KIN_EKEY, "");
  expect_patch(POD(""), "", true, KIN_EINVAL, "");
  expect_patch(POD(""), "a b", true, KIN_EINVAL, "");
  expect_patch(POD(""), "a\"b", true, KIN_EINVAL, "");
}

/* Each size up to the whole body. */
static void test_finalizer_patch_size(void **state) {
  (void)state;
  kin_object *object = object_of(NULL, POD(",'finalizers':['c','d']"));
  char whole[512];
  char part[512];
  size_t length;
  assert_int_equal(kin_object_add_finalizer_patch(object, "a/b", whole,
                                                  sizeof whole, &length),
                   0);
  size_t needed = length;
  for (size_t size = 0; size <= needed; size++) {
    memset(part, 'x', sizeof part);
    assert_int_equal(kin_object_add_finalizer_patch(
                         object, "a/b", size > 0 ? part : NULL, size, &length),
                     KIN_ETOOBIG);
    assert_int_equal(length, needed);
    assert_int_equal(part[size], 'x');
  }
  assert_int_equal(
      kin_object_add_finalizer_patch(object, "a/b", part, needed + 1, &length),
      0);
  assert_string_equal(part, whole);
  kin_object_unref(object);
}

/* --- Owners --------------------------------------------------------------- */

static const kin_object_reference owner = {.api_version = {"apps/v1", 7},
                                           .kind = {"ReplicaSet", 10},
                                           .namespace_ = {"n", 1},
                                           .name = {"rs", 2},
                                           .uid = {"u-9", 3}};

static void expect_owned(const char *text, const kin_object_reference *by,
                         kin_owner_kind kind, int code, const char *expected) {
  kin_object *object = object_of(NULL, text);
  kin_object *owned = NULL;
  assert_int_equal(kin_object_set_owner(&owned, NULL, object, by, kind), code);
  if (code == 0) {
    char json[2048];
    (void)kin_str_copy(json, sizeof json, kin__object_body(owned));
    for (char *c = json; *c != '\0'; c++) {
      *c = *c == '"' ? '\'' : *c;
    }
    assert_string_equal(json, expected);
  } else {
    assert_null(owned);
  }
  kin_object_unref(owned);
  kin_object_unref(object);
}

#define ENTRY(uid, more)                                                       \
  "{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'rs','uid':'" uid        \
  "'" more "}"
#define CONTROLLER ",'controller':true,'blockOwnerDeletion':true"
#define OTHER(more)                                                            \
  "{'apiVersion':'v1','kind':'Node','name':'rs','uid':'u-1'" more "}"

static void test_set_owner(void **state) {
  (void)state;
  expect_owned(POD(""), &owner, KIN_OWNER_CONTROLLER, 0,
               POD(",'ownerReferences':[" ENTRY("u-9", CONTROLLER) "]"));
  expect_owned(POD(",'ownerReferences':null"), &owner, KIN_OWNER, 0,
               POD(",'ownerReferences':[" ENTRY("u-9", "") "]"));
  expect_owned(POD(",'ownerReferences':[" OTHER("") "]"), &owner,
               KIN_OWNER_BLOCKS_DELETION, 0,
               POD(",'ownerReferences':[" OTHER("") "," ENTRY(
                   "u-9", ",'blockOwnerDeletion':true") "]"));
  /* The same group, kind and name, whatever version and uid. */
  expect_owned(
      POD(",'ownerReferences':[" OTHER(
          "") ",{'apiVersion':'apps/v1beta1','kind':'ReplicaSet',"
              "'name':'rs','uid':'u-2','controller':true}]"),
      &owner, KIN_OWNER_CONTROLLER, 0,
      POD(",'ownerReferences':[" OTHER("") "," ENTRY("u-9", CONTROLLER) "]"));
}

/* The same owner twice: the first entry is replaced, and the others go. So the
 * object does not have two controllers. */
static void test_owner_twice(void **state) {
  (void)state;
  expect_owned(POD(",'ownerReferences':[" ENTRY("u-1", CONTROLLER) "," ENTRY(
                   "u-1", CONTROLLER) "]"),
               &owner, KIN_OWNER_CONTROLLER, 0,
               POD(",'ownerReferences':[" ENTRY("u-9", CONTROLLER) "]"));
  expect_owned(
      POD(",'ownerReferences':[" OTHER("") "," ENTRY("u-1", "") ",3," ENTRY(
          "u-2", CONTROLLER) "," ENTRY("u-9", "") "," OTHER("") "]"),
      &owner, KIN_OWNER, 0,
      POD(",'ownerReferences':[" OTHER("") "," ENTRY("u-9",
                                                     "") ",3," OTHER("") "]"));
}

/* A text that nobody has checked. The first byte of the list is right. */
static void expect_malformed(const char *list, kin_owner_kind kind) {
  char text[256];
  kin_object *object;
  kin_object *owned;
  kin__memory *memory = kin__memory_new(kin__default_allocator());
  int length = snprintf(
      text, sizeof text,
      "{\"metadata\":{\"name\":\"web\",\"ownerReferences\":%s}}", list);
  const kin__object_parts parts = {.name = KIN__LIT("web"),
                                   .body = {text, (size_t)length}};
  assert_int_equal(kin__object_new(&object, memory, &parts), 0);
  kin_object_reference by = owner;
  by.namespace_ = KIN__LIT("");
  assert_int_equal(kin_object_set_owner(&owned, NULL, object, &by, kind),
                   KIN_EJSON);
  assert_null(owned);
  kin_object_unref(object);
  kin__memory_unref(memory);
}

static void test_malformed_owners(void **state) {
  (void)state;
  static const char *const lists[] = {
      "[",     "[{}",      "[{},",   "[{}{}]",     "[,{}]",
      "[{},]", "[{},,{}]", "[{} 3]", "[{\"a\":1]", "[3"};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    expect_malformed(lists[i], KIN_OWNER);
    expect_malformed(lists[i], KIN_OWNER_CONTROLLER);
  }
}

/* Texts are compared by what they mean, not by how they are written. */
static void test_owner_with_escapes(void **state) {
  (void)state;
  expect_owned(POD(",'ownerReferences':[{'apiVersion':'apps\\/v1','kind':"
                   "'Replica\\u0053et','name':'r\\u0073','uid':'u-2'}]"),
               &owner, KIN_OWNER, 0,
               POD(",'ownerReferences':[" ENTRY("u-9", "") "]"));
  expect_owned(POD(",'ownerReferences':[{'apiVersion':7,'kind':'ReplicaSet',"
                   "'name':'rs'},3]"),
               &owner, KIN_OWNER, 0,
               POD(",'ownerReferences':[{'apiVersion':7,'kind':'ReplicaSet',"
                   "'name':'rs'},3," ENTRY("u-9", "") "]"));
}

/* controllerutil's AlreadyOwnedError. */
static void test_already_owned(void **state) {
  (void)state;
  const char *taken =
      POD(",'ownerReferences':[" OTHER(",'controller':true") "]");
  expect_owned(taken, &owner, KIN_OWNER_CONTROLLER, KIN_EEXIST, "");
  expect_owned(taken, &owner, KIN_OWNER, 0,
               POD(",'ownerReferences':[" OTHER(",'controller':true") "," ENTRY(
                   "u-9", "") "]"));
  expect_owned(POD(",'ownerReferences':[" OTHER(",'controller':false") "]"),
               &owner, KIN_OWNER_CONTROLLER, 0,
               POD(",'ownerReferences':[" OTHER(
                   ",'controller':false") "," ENTRY("u-9", CONTROLLER) "]"));
}

static void test_owner_arguments(void **state) {
  (void)state;
  kin_object_reference odd = owner;
  odd.namespace_ = KIN__LIT("other");
  expect_owned(POD(""), &odd, KIN_OWNER, KIN_EINVAL, "");
  expect_owned("{'metadata':{'name':'node'}}", &owner, KIN_OWNER, KIN_EINVAL,
               "");
  odd.namespace_ = KIN__LIT(""); /* a cluster's object may own anything */
  expect_owned(POD(""), &odd, KIN_OWNER, 0,
               POD(",'ownerReferences':[" ENTRY("u-9", "") "]"));
  odd.uid = KIN__LIT("");
  expect_owned(POD(""), &odd, KIN_OWNER, KIN_EINVAL, "");
  odd.uid = KIN__LIT("\xff");
  expect_owned(POD(""), &odd, KIN_OWNER, KIN_EINVAL, "");
  expect_owned(POD(""), &owner, (kin_owner_kind)3, KIN_EINVAL, "");
  expect_owned(POD(",'ownerReferences':{}"), &owner, KIN_OWNER, KIN_ETYPE, "");
  static char large[65537];
  memset(large, 'u', sizeof large - 1);
  odd.uid = kin__cstr(large);
  expect_owned(POD(""), &odd, KIN_OWNER, KIN_EINVAL, "");
}

static void test_reference_of(void **state) {
  (void)state;
  kin_object *object =
      object_of(NULL, "{'metadata':{'name':'w','namespace':'n','uid':'u',"
                      "'resourceVersion':'4'}}");
  kin_object_reference found;
  kin_object_reference_of(&found, object, "v1", "Pod");
  assert_true(kin_str_equal(found.name, KIN_STR("w")));
  assert_true(kin_str_equal(found.namespace_, KIN_STR("n")));
  assert_true(kin_str_equal(found.uid, KIN_STR("u")));
  assert_true(kin_str_equal(found.resource_version, KIN_STR("4")));
  assert_true(kin_str_equal(found.kind, KIN_STR("Pod")));
  assert_true(kin_str_equal(found.api_version, KIN_STR("v1")));
  assert_int_equal(found.field_path.length, 0);
  kin_object_unref(object);
}

static bool own_without_memory(size_t fail_at) {
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin_object *object = object_of(&memory.allocator, POD(""));
  atomic_store(&memory.calls, 0);
  memory.fail_at = fail_at;
  kin_object *owned;
  int err = kin_object_set_owner(&owned, &memory.allocator, object, &owner,
                                 KIN_OWNER_CONTROLLER);
  bool has_failed = fail_alloc_has_failed(&memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  kin_object_unref(owned);
  kin_object_unref(object);
  assert_int_equal(memory.live_blocks, 0);
  return has_failed;
}

static void test_owner_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(own_without_memory, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_has_finalizer),
      cmocka_unit_test(test_is_terminating),
      cmocka_unit_test(test_finalizer_patches),
      cmocka_unit_test(test_finalizer_patch_size),
      cmocka_unit_test(test_set_owner),
      cmocka_unit_test(test_owner_twice),
      cmocka_unit_test(test_malformed_owners),
      cmocka_unit_test(test_owner_with_escapes),
      cmocka_unit_test(test_already_owned),
      cmocka_unit_test(test_owner_arguments),
      cmocka_unit_test(test_reference_of),
      cmocka_unit_test(test_owner_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
