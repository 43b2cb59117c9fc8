/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/push_store.h>

#include "base/str.h"
#include "support/fail_alloc.h"
#include "support/objects.h"
#include "support/store_rig.h"

typedef struct fixture {
  fail_alloc memory;
  kin_push_store *store;
  unsigned pushes;
  char pushed[256]; /* "key@version" of the last push */
  bool writes;      /* from inside the push */
  kin_object *kept; /* the last push's first object, a reference */
} fixture;

static void on_push(const kin_object_list *objects, void *data) {
  fixture *f = data;
  f->pushes++;
  f->pushed[0] = '\0';
  assert_int_equal(objects->objects == NULL, objects->count == 0);
  kin_object_unref(f->kept);
  f->kept = objects->count > 0 ? kin_object_ref(objects->objects[0]) : NULL;
  for (size_t i = 0; i < objects->count; i++) {
    const kin_object *object = objects->objects[i];
    size_t at = strlen(f->pushed);
    kin_str version = kin_object_resource_version(object);
    snprintf(f->pushed + at, sizeof f->pushed - at, "%s%s@" KIN_STR_FORMAT,
             i > 0 ? " " : "", kin_object_key(object).data,
             KIN_STR_ARG(version));
  }
  if (f->writes) {
    kin_str key = KIN__LIT("a");
    assert_int_equal(kin_push_store_delete(f->store, key), KIN_EALREADY);
    kin_object *object = object_keyed(NULL, "z", 1);
    assert_int_equal(kin_push_store_put(f->store, object), KIN_EALREADY);
    assert_int_equal(kin_push_store_delete_object(f->store, object),
                     KIN_EALREADY);
    kin_object_unref(object);
    assert_int_equal(kin_push_store_replace(f->store, NULL, 0, key),
                     KIN_EALREADY);
    assert_int_equal(kin_store_count(kin_push_store_content(f->store)),
                     objects->count);
  }
}

static int make(fixture *f) {
  kin_push_store_options options = KIN_PUSH_STORE_OPTIONS_INIT;
  options.allocator = &f->memory.allocator;
  options.push = on_push;
  options.data = f;
  return kin_push_store_new(&f->store, &options);
}

static void setup(fixture *f) {
  *f = (fixture){.pushed = "none"};
  fail_alloc_init(&f->memory, 0);
  assert_int_equal(make(f), 0);
}

static void teardown(fixture *f) {
  unsigned pushes = f->pushes;
  kin_push_store_free(f->store);
  assert_int_equal(f->pushes, pushes);
  kin_object_unref(f->kept); /* outlives the store */
  assert_int_equal(f->memory.live_blocks, 0);
}

static int put(fixture *f, const char *key, unsigned version) {
  kin_object *object = object_keyed(NULL, key, version);
  int err = kin_push_store_put(f->store, object);
  kin_object_unref(object);
  return err;
}

static int replace(fixture *f, const char *key, unsigned version) {
  kin_object *object = object_keyed(NULL, key, version);
  const kin_object *list[] = {object};
  int err = kin_push_store_replace(f->store, list, 1, KIN__LIT("0"));
  kin_object_unref(object);
  return err;
}

static void assert_pushed(fixture *f, unsigned pushes, const char *expected) {
  assert_int_equal(f->pushes, pushes);
  assert_string_equal(f->pushed, expected);
}

/* client-go TestUpdateCallsPush; UD-01. */
static void test_push_store_put_pushes(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  assert_int_equal(put(&f, "a", 2), 0);
  assert_pushed(&f, 1, "a@2");
  assert_int_equal(put(&f, "a", 1), 0);
  assert_pushed(&f, 2, "a@1");
  assert_int_equal(put(&f, "b", 1), 0);
  assert_pushed(&f, 3, "a@1 b@1");
  teardown(&f);
}

/* client-go TestDeleteCallsPush; UD-01. Unlike there, to delete what is absent
 * changes nothing and pushes nothing. */
static void test_push_store_delete_pushes(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  put(&f, "a", 2);
  put(&f, "b", 2);
  assert_int_equal(kin_push_store_delete(f.store, KIN__LIT("a")), 0);
  assert_pushed(&f, 3, "b@2");
  assert_int_equal(kin_push_store_delete(f.store, KIN__LIT("a")), KIN_ENOENT);
  assert_pushed(&f, 3, "b@2");
  kin_object *object = object_keyed(NULL, "b", 9);
  assert_int_equal(kin_push_store_delete_object(f.store, object), 0);
  kin_object_unref(object);
  assert_pushed(&f, 4, "");
  teardown(&f);
}

/* client-go TestReplaceCallsPush; UD-01. */
static void test_push_store_replace_pushes(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  assert_int_equal(replace(&f, "a", 1), 0);
  assert_pushed(&f, 1, "a@1");
  assert_int_equal(replace(&f, "b", 1), 0);
  assert_pushed(&f, 2, "b@1");
  assert_int_equal(kin_push_store_replace(f.store, NULL, 0, KIN__LIT("")), 0);
  assert_pushed(&f, 3, "");
  teardown(&f);
}

/* client-go TestReadsDoNotCallPush, TestUndeltaStore; UD-01. */
static void test_push_store_reads_do_not_push(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  const kin_store *content = kin_push_store_content(f.store);
  assert_users(content, "");
  assert_null(kin_store_get_key(content, "a"));
  assert_pushed(&f, 0, "none");
  put(&f, "a", 1);
  assert_users(content, "a=");
  assert_store_version(content, "1");
  assert_pushed(&f, 1, "a@1");
  teardown(&f);
}

/* UD-01: what fails does not push. */
static void test_push_store_failures_do_not_push(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  put(&f, "a", 1);
  assert_int_equal(kin_push_store_put(f.store, NULL), KIN_EINVAL);
  assert_int_equal(put(&f, "b/c/d", 1), KIN_EKEY);
  assert_int_equal(replace(&f, "b/c/d", 1), KIN_EKEY);
  assert_int_equal(kin_push_store_delete_object(f.store, NULL), KIN_EINVAL);
  assert_int_equal(kin_push_store_delete(f.store, KIN__LIT("")), KIN_ENOENT);
  assert_pushed(&f, 1, "a@1");
  teardown(&f);
  kin_push_store_options options = KIN_PUSH_STORE_OPTIONS_INIT;
  kin_push_store *store;
  assert_int_equal(kin_push_store_new(&store, &options), KIN_EINVAL);
  assert_null(store);
  assert_int_equal(kin_push_store_new(&store, NULL), KIN_EINVAL);
  kin_push_store_free(NULL);
}

/* A push cannot nest. */
static void test_push_store_refuses_changes_while_pushing(void **state) {
  (void)state;
  fixture f;
  setup(&f);
  f.writes = true;
  assert_int_equal(put(&f, "a", 1), 0);
  assert_pushed(&f, 1, "a@1");
  assert_int_equal(put(&f, "a", 2), 0);
  assert_pushed(&f, 2, "a@2");
  teardown(&f);
}

/* UD-01: deleting by an object what is absent is a success, as for any store,
 * so it pushes. Options are copied, the allocator too; the content is one and
 * the same for ever. */
static void test_push_store_delete_of_an_absent_object(void **state) {
  (void)state;
  fixture f = {.pushed = "none"};
  fail_alloc_init(&f.memory, 0);
  kin_allocator allocator = f.memory.allocator;
  kin_push_store_options options = KIN_PUSH_STORE_OPTIONS_INIT;
  options.allocator = &allocator;
  options.push = on_push;
  options.data = &f;
  assert_int_equal(kin_push_store_new(&f.store, &options), 0);
  memset(&options, 0xff, sizeof options);
  memset(&allocator, 0, sizeof allocator);
  const kin_store *content = kin_push_store_content(f.store);
  put(&f, "a", 1);
  kin_object *object = object_keyed(NULL, "b", 7);
  assert_int_equal(kin_push_store_delete_object(f.store, object), 0);
  kin_object_unref(object);
  assert_pushed(&f, 2, "a@1");
  assert_store_version(content, "7");
  assert_ptr_equal(kin_push_store_content(f.store), content);
  teardown(&f);
}

static bool run_push_store_without_memory(size_t n) {
  fixture f = {.pushed = "none"};
  fail_alloc_init(&f.memory, n);
  int err = make(&f);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(f.store);
    assert_int_equal(f.memory.live_blocks, 0);
    return true;
  }
  while ((err = put(&f, "a", 1)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_pushed(&f, 0, "none");
  }
  while ((err = put(&f, "b", 1)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_pushed(&f, 1, "a@1");
  }
  while ((err = replace(&f, "c", 1)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_pushed(&f, 2, "a@1 b@1");
    assert_users(kin_push_store_content(f.store), "a= b=");
  }
  assert_pushed(&f, 3, "c@1");
  bool has_failed = fail_alloc_has_failed(&f.memory);
  teardown(&f);
  return has_failed;
}

static void test_push_store_fails_cleanly(void **state) {
  (void)state;
  fail_alloc_sweep(run_push_store_without_memory, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_push_store_put_pushes),
      cmocka_unit_test(test_push_store_delete_pushes),
      cmocka_unit_test(test_push_store_replace_pushes),
      cmocka_unit_test(test_push_store_reads_do_not_push),
      cmocka_unit_test(test_push_store_failures_do_not_push),
      cmocka_unit_test(test_push_store_refuses_changes_while_pushing),
      cmocka_unit_test(test_push_store_delete_of_an_absent_object),
      cmocka_unit_test(test_push_store_fails_cleanly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
