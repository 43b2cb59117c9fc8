/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/key.h>
#include <kin/lister.h>

#include "base/str.h"
#include "store/store.h"
#include "support/fail_alloc.h"
#include "support/indices.h"
#include "support/objects.h"
#include "support/store_rig.h"

static void put(kin_store *store, const char *namespace_, const char *name,
                const char *match) {
  kin_object *object = object_format(
      NULL, "{'metadata':{'name':'%s',%s%s%s'labels':{'match':'%s'}}}", name,
      namespace_[0] != '\0' ? "'namespace':'" : "", namespace_,
      namespace_[0] != '\0' ? "'," : "", match);
  assert_int_equal(kin_store_put(store, object), 0);
  kin_object_unref(object);
}

static unsigned count(const kin_lister *lister, const char *text) {
  kin_selector *selector;
  assert_int_equal(kin_selector_parse(&selector, NULL, text), 0);
  kin_lister_scan scan = kin_lister_list(lister, selector);
  unsigned met = 0;
  while (kin_lister_next(&scan) != NULL) {
    met++;
  }
  assert_null(kin_lister_next(&scan));
  kin_selector_free(selector);
  return met;
}

/* client-go TestListAll; LI-01, NR-01. */
static void test_lister_list_all(void **state) {
  (void)state;
  static const struct {
    unsigned objects;
    unsigned matching;
    const char *selector;
    unsigned expected;
  } rows[] = {{20000, 2000, "match=true", 2000},
              {20000, 0, "", 20000},
              {20000, 0, "match=true", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    store_rig f;
    store_rig_setup(&f);
    for (unsigned n = 0; n < rows[i].objects; n++) {
      char name[32];
      snprintf(name, sizeof name, "obj-%u", n);
      put(f.store, "", name, n < rows[i].matching ? "true" : "");
    }
    kin_lister all = kin_lister_of(f.store);
    assert_int_equal(count(&all, rows[i].selector), rows[i].expected);
    store_rig_teardown(&f);
  }
}

static void put_some(kin_store *store) {
  put(store, "a", "x", "true");
  put(store, "a", "y", "false");
  put(store, "b", "x", "true");
  put(store, "", "x", "true");
}

/* The keys a scan meets, sorted. */
static void assert_listed(const kin_lister *lister,
                          const kin_selector *selector, const char *expected) {
  static const char *const keys[] = {"a/x", "a/y", "b/x", "x"};
  bool is_met[4] = {false};
  kin_lister_scan scan = kin_lister_list(lister, selector);
  const kin_object *object;
  while ((object = kin_lister_next(&scan)) != NULL) {
    for (size_t i = 0; i < 4; i++) {
      if (kin__str_equal(kin_object_key(object), kin__cstr(keys[i]))) {
        assert_false(is_met[i]);
        is_met[i] = true;
      }
    }
  }
  char text[64] = "";
  for (size_t i = 0; i < 4; i++) {
    if (is_met[i]) {
      strcat(text, text[0] != '\0' ? " " : "");
      strcat(text, keys[i]);
    }
  }
  assert_string_equal(text, expected);
}

static void check_namespaces(const kin_store *store) {
  kin_lister all = kin_lister_of(store);
  kin_lister in_a = kin_lister_in(all, KIN__LIT("a"));
  kin_lister in_c = kin_lister_in(all, KIN__LIT("c"));
  kin_lister in_all = kin_lister_in(in_a, KIN__LIT(""));
  kin_selector *matching;
  kin_selector *nothing;
  assert_int_equal(kin_selector_parse(&matching, NULL, "match=true"), 0);
  assert_int_equal(kin_selector_nothing(&nothing, NULL), 0);
  assert_listed(&all, NULL, "a/x a/y b/x x");
  assert_listed(&all, matching, "a/x b/x x");
  assert_listed(&all, nothing, "");
  assert_listed(&in_a, NULL, "a/x a/y");
  assert_listed(&in_a, matching, "a/x");
  assert_listed(&in_a, nothing, "");
  assert_true(kin_lister_list(&all, nothing).is_over); /* looks at no object */
  assert_true(kin_lister_list(&in_a, nothing).is_over);
  assert_listed(&in_c, NULL, "");
  assert_listed(&in_all, matching, "a/x b/x x");
  kin_selector_free(matching);
  kin_selector_free(nothing);
}

/* client-go TestNamespaceListMethod, TestListerListMethod; LI-01 to LI-03: the
 * same with and without an index, which may have any name. */
static void test_lister_namespaces(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  put_some(f.store);
  check_namespaces(f.store);
  assert_int_equal(add_pointer(f.store, "name", "/metadata/name"), 0);
  assert_int_equal(add_pointer(f.store, "by-ns", "/metadata/namespace"), 0);
  check_namespaces(f.store);
  kin_lister in_a = kin_lister_in(kin_lister_of(f.store), KIN__LIT("a"));
  kin_lister_scan scan = kin_lister_list(&in_a, NULL);
  assert_true(scan.uses_index);
  assert_values(f.store, "by-ns", "a b"); /* none for an object without one */
  store_rig_teardown(&f);
}

/* A scan of all namespaces goes on after changes: what stays is met once. */
static void test_lister_scan_over_changes(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  put_some(f.store);
  kin_lister all = kin_lister_of(f.store);
  kin_lister_scan scan = kin_lister_list(&all, NULL);
  const kin_object *first = kin_object_ref(kin_lister_next(&scan));
  assert_non_null(first);
  kin_str key = kin_object_key(first);
  bool is_ax = kin__str_equal(key, KIN__LIT("a/x"));
  assert_int_equal(kin_store_delete(f.store, key), 0);
  assert_int_equal(
      kin_store_delete(f.store, is_ax ? KIN__LIT("a/y") : KIN__LIT("a/x")), 0);
  put(f.store, "b", "x", "false"); /* another state in the same place */
  unsigned met = 0;
  const kin_object *object;
  while ((object = kin_lister_next(&scan)) != NULL) {
    met++;
    assert_false(kin__str_equal(key, kin_object_key(object)));
  }
  assert_int_equal(met, 2);
  kin_object_unref(first);
  store_rig_teardown(&f);
}

/* LI-02: an index that is still being built is not asked. */
static void test_lister_index_under_construction(void **state) {
  (void)state;
  kin__memory *memory = kin__memory_new(NULL);
  kin_store store;
  kin__store_init(&store, memory, (kin__hash_seed){1, 2}, true);
  kin__memory_unref(memory);
  put_some(&store);
  assert_int_equal(add_pointer(&store, "by-ns", "/metadata/namespace"), 0);
  assert_false(kin_store_index_ready(&store, "by-ns"));
  check_namespaces(&store);
  int err;
  assert_true(kin__store_index_step(&store, 1, &err));
  check_namespaces(&store);
  while (kin__store_index_step(&store, 1, &err)) {
  }
  assert_true(kin_store_index_ready(&store, "by-ns"));
  check_namespaces(&store);
  kin__store_finish(&store);
}

/* client-go TestListerGetMethod, TestNamespaceGetMethod; LI-03. */
static void test_lister_get(void **state) {
  (void)state;
  static const struct {
    const char *namespace_;
    const char *name;
    int err;
    const char *key;
  } rows[] = {{"", "x", 0, "x"},
              {"", "a/x", 0, "a/x"},
              {"", "y", KIN_ENOENT, NULL},
              {"", "c/x", KIN_ENOENT, NULL},
              {"", "", KIN_EKEY, NULL},
              {"", "/x", KIN_EKEY, NULL},
              {"", "a/x/", KIN_EKEY, NULL},
              {"a", "x", 0, "a/x"},
              {"a", "y", 0, "a/y"},
              {"b", "y", KIN_ENOENT, NULL},
              {"c", "x", KIN_ENOENT, NULL},
              {"a", "", KIN_EKEY, NULL},
              {"a", "a/x", KIN_EKEY, NULL},
              {"a/x", "y", KIN_EKEY, NULL}};
  store_rig f;
  store_rig_setup(&f);
  put_some(f.store);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    kin_lister lister =
        kin_lister_in(kin_lister_of(f.store), kin__cstr(rows[i].namespace_));
    const kin_object *object = (const void *)1;
    assert_int_equal(kin_lister_get(&lister, kin__cstr(rows[i].name), &object),
                     rows[i].err);
    assert_ptr_equal(object, rows[i].key != NULL
                                 ? kin_store_get_key(f.store, rows[i].key)
                                 : NULL);
    assert_true(rows[i].key == NULL || object != NULL);
  }
  kin_lister all = kin_lister_of(f.store);
  all.namespace_ = kin__str(NULL, 3); /* counts as empty */
  const kin_object *object;
  assert_int_equal(kin_lister_get(&all, KIN__LIT("a/x"), &object), 0);
  store_rig_teardown(&f);
}

/* Keys that are longer than any of an API server take memory for a moment. */
static void test_lister_get_of_a_long_name(void **state) {
  (void)state;
  char name[KIN_KEY_SIZE + 1];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  store_rig f;
  store_rig_setup(&f);
  put(f.store, "a", name, "");
  kin_lister lister = kin_lister_in(kin_lister_of(f.store), KIN__LIT("a"));
  const kin_object *object;
  assert_int_equal(kin_lister_get(&lister, kin__cstr(name), &object), 0);
  assert_non_null(object);
  f.memory.fail_at = f.memory.calls + 1;
  assert_int_equal(kin_lister_get(&lister, kin__cstr(name), &object),
                   KIN_ENOMEM);
  assert_null(object);
  store_rig_teardown(&f);
}

static void expect_found(const kin_lister *lister, const char *value,
                         size_t expected) {
  const kin_object *objects[2] = {NULL, NULL};
  const kin_object *first;
  size_t count = 77;
  assert_int_equal(kin_lister_find_all(lister, "match", kin__cstr(value),
                                       objects, 2, &count),
                   0);
  assert_int_equal(count, expected);
  assert_true((objects[0] != NULL) == (expected > 0));
  assert_true((objects[1] != NULL) == (expected > 1));
  assert_true(expected == 0 || objects[0] != objects[1]);
  assert_int_equal(kin_lister_find(lister, "match", kin__cstr(value), &first),
                   expected > 0 ? 0 : KIN_ENOENT);
  assert_ptr_equal(first, objects[0]);
  assert_int_equal(
      kin_lister_find_all(lister, "match", kin__cstr(value), NULL, 0, &count),
      0);
  assert_int_equal(count, expected);
}

/* One call finds the objects that have a value in an index, in all namespaces
 * or in one. */
static void test_lister_find(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  put_some(f.store);
  kin_lister lister = kin_lister_of(f.store);
  const kin_object *object = (const void *)1;
  size_t count = 77;
  assert_int_equal(kin_lister_find(&lister, "match", KIN__LIT("true"), &object),
                   KIN_EINVAL);
  assert_null(object);
  assert_int_equal(
      kin_lister_find_all(&lister, "match", KIN__LIT("true"), NULL, 0, &count),
      KIN_EINVAL);
  assert_int_equal(count, 0);
  assert_int_equal(add_pointer(f.store, "match", "/metadata/labels/match"), 0);
  size_t calls = f.memory.calls;
  expect_found(&lister, "true", 3);
  expect_found(&lister, "false", 1);
  expect_found(&lister, "other", 0);
  lister.namespace_ = kin__str(NULL, 1); /* counts as empty */
  expect_found(&lister, "true", 3);
  lister = kin_lister_in(lister, KIN__LIT("a"));
  expect_found(&lister, "true", 1);
  expect_found(&lister, "false", 1);
  lister = kin_lister_in(lister, KIN__LIT("b"));
  expect_found(&lister, "true", 1);
  expect_found(&lister, "false", 0);
  assert_int_equal(f.memory.calls, calls);
  store_rig_teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lister_list_all),
      cmocka_unit_test(test_lister_namespaces),
      cmocka_unit_test(test_lister_scan_over_changes),
      cmocka_unit_test(test_lister_index_under_construction),
      cmocka_unit_test(test_lister_get),
      cmocka_unit_test(test_lister_get_of_a_long_name),
      cmocka_unit_test(test_lister_find),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
