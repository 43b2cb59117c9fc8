/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/expiring_store.h>

#include "base/str.h"
#include "support/fail_alloc.h"
#include "support/objects.h"

typedef struct fixture {
  fail_alloc memory;
  uint64_t now;
  const char *never; /* key that the policy spares; NULL: no policy */
  uint64_t last_age;
  unsigned clock_calls;
  unsigned meddled; /* calls of all_and_meddle */
  kin_expiring_store *store;
} fixture;

static uint64_t clock_of(void *ctx) {
  ((fixture *)ctx)->clock_calls++;
  return ((fixture *)ctx)->now;
}

/* client-go's FakeExpirationPolicy: all but one expire at once. */
static bool all_but_one(const kin_object *object, uint64_t age_ms, void *data) {
  fixture *f = data;
  f->last_age = age_ms;
  return !kin__str_equal(kin_object_key(object), kin__cstr(f->never));
}

static void setup(fixture *f, uint64_t ttl_ms, const char *never) {
  *f = (fixture){.now = UINT64_C(0x1fffffff0), .never = never};
  fail_alloc_init(&f->memory, 0);
  kin_expiring_store_options options = KIN_EXPIRING_STORE_OPTIONS_INIT;
  options.allocator = &f->memory.allocator;
  options.now_ms = clock_of;
  options.now_ctx = f;
  options.ttl_ms = ttl_ms;
  options.is_expired = never != NULL ? all_but_one : NULL;
  options.data = f;
  assert_int_equal(kin_expiring_store_new(&f->store, &options), 0);
}

static void teardown(fixture *f) {
  kin_expiring_store_free(f->store);
  assert_int_equal(f->memory.live_blocks, 0);
}

static int put(fixture *f, const char *key, unsigned version) {
  kin_object *object = object_keyed(NULL, key, version);
  int err = kin_expiring_store_put(f->store, object);
  kin_object_unref(object);
  return err;
}

static bool has(fixture *f, const char *key) {
  return kin_expiring_store_get(f->store, kin__cstr(key)) != NULL;
}

/* Keys in the order of their slots, the expired included. */
static void assert_keys(fixture *f, const char *expected) {
  char text[256] = "";
  kin_cursor cursor = {0};
  kin_str key;
  size_t count = 0;
  while (kin_expiring_store_next_key(f->store, &cursor, &key)) {
    strcat(text, count++ > 0 ? " " : "");
    strncat(text, key.data, key.length);
  }
  assert_string_equal(text, expected);
  assert_int_equal(kin_expiring_store_count(f->store), count);
}

static void assert_next(fixture *f, const char *expected) {
  char text[256] = "";
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_expiring_store_next(f->store, &cursor)) != NULL) {
    strcat(text, text[0] != '\0' ? " " : "");
    strcat(text, kin_object_key(object).data);
  }
  assert_string_equal(text, expected);
}

static void assert_version(fixture *f, const char *expected) {
  assert_true(kin__str_equal(kin_expiring_store_resource_version(f->store),
                             kin__cstr(expected)));
}

/* client-go TestTTLExpirationBasic; EX-01, NR-14: looking removes. */
static void test_expiring_store_get_removes(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0, "");
  assert_int_equal(put(&f, "foo", 1), 0);
  f.now += 7;
  assert_keys(&f, "foo");
  assert_false(has(&f, "foo"));
  assert_int_equal(f.last_age, 7);
  assert_keys(&f, "");
  assert_false(has(&f, "foo"));
  teardown(&f);
}

/* client-go TestReAddExpiredItem; EX-01. */
static void test_expiring_store_put_again(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0, "foo");
  f.never = "";
  assert_int_equal(put(&f, "foo", 1), 0);
  assert_false(has(&f, "foo"));
  assert_int_equal(put(&f, "foo", 2), 0);
  f.never = "foo";
  const kin_object *object = kin_expiring_store_get(f.store, KIN__LIT("foo"));
  assert_non_null(object);
  assert_true(
      kin__str_equal(kin_object_resource_version(object), KIN__LIT("2")));
  teardown(&f);
}

/* client-go TestTTLList; EX-01: a scan removes on its way, listing keys does
 * not. */
static void test_expiring_store_scan(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0, "foo1");
  put(&f, "foo", 1);
  put(&f, "foo1", 1);
  put(&f, "foo2", 1);
  assert_keys(&f, "foo foo1 foo2");
  assert_next(&f, "foo1");
  assert_keys(&f, "foo1");
  teardown(&f);
}

/* client-go TestTTLPolicy; EX-02. */
static void test_expiring_store_ttl(void **state) {
  (void)state;
  static const struct {
    uint64_t ttl;
    int64_t age;
    bool is_there;
  } rows[] = {{30000, 0, true},
              {30000, 29999, true},
              {30000, 30000, true},
              {30000, 30001, false},
              {30000, -5, true},
              {1, 2, false},
              {0, 30001, true},
              {0, INT32_MAX, true},
              {UINT64_MAX, INT32_MAX, true}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    fixture f;
    setup(&f, rows[i].ttl, NULL);
    assert_int_equal(put(&f, "foo", 1), 0);
    f.now += (uint64_t)rows[i].age;
    assert_keys(&f, "foo");
    assert_int_equal(has(&f, "foo"), rows[i].is_there);
    assert_keys(&f, rows[i].is_there ? "foo" : "");
    teardown(&f);
  }
}

/* EX-02: a policy decides alone. */
static void test_expiring_store_policy_beats_ttl(void **state) {
  (void)state;
  fixture f;
  setup(&f, 1, "spared");
  put(&f, "spared", 1);
  put(&f, "other", 1);
  assert_false(has(&f, "other"));
  f.now += 1000;
  assert_true(has(&f, "spared"));
  teardown(&f);
}

/* The clock is asked once by what puts or looks at objects, however many they
 * are, and by nothing else. */
static void test_expiring_store_clock(void **state) {
  (void)state;
  fixture f;
  setup(&f, 100, NULL);
  put(&f, "a", 1);
  put(&f, "b", 1);
  put(&f, "c", 1);
  assert_int_equal(f.clock_calls, 3);
  assert_true(has(&f, "a"));
  assert_int_equal(f.clock_calls, 4);
  f.now += 101;
  kin_cursor cursor = {0};
  assert_null(kin_expiring_store_next(f.store, &cursor));
  assert_int_equal(f.clock_calls, 5);
  kin_object *objects[] = {object_keyed(NULL, "a", 3),
                           object_keyed(NULL, "b", 3)};
  const kin_object *list[] = {objects[0], objects[1]};
  assert_int_equal(kin_expiring_store_replace(f.store, list, 2, KIN__LIT("4")),
                   0);
  assert_int_equal(f.clock_calls, 6);
  kin_object_unref(objects[0]);
  kin_object_unref(objects[1]);
  assert_keys(&f, "a b");
  assert_int_equal(kin_expiring_store_delete(f.store, KIN__LIT("a")), 0);
  assert_int_equal(kin_expiring_store_bookmark(f.store, KIN__LIT("5")), 0);
  assert_false(has(&f, "absent"));
  assert_int_equal(put(&f, "x/y/z", 1), KIN_EKEY);
  assert_int_equal(f.clock_calls, 6);
  teardown(&f);
}

/* A sweep in steps: between two of them objects come, go and expire; what stays
 * is met once. */
static void test_expiring_store_paused_scan(void **state) {
  (void)state;
  fixture f;
  setup(&f, 100, NULL);
  put(&f, "a", 1);
  put(&f, "b", 1);
  put(&f, "c", 1);
  put(&f, "d", 1);
  kin_cursor cursor = {0};
  const kin_object *object = kin_expiring_store_next(f.store, &cursor);
  assert_string_equal(kin_object_key(object).data, "a");
  f.now += 101;
  put(&f, "c", 2);
  put(&f, "a", 2);
  object = kin_expiring_store_next(f.store, &cursor);
  assert_string_equal(kin_object_key(object).data, "c");
  assert_null(kin_expiring_store_next(f.store, &cursor));
  assert_keys(&f, "a c");
  teardown(&f);
}

/* Options are copied, the allocator too. */
static void test_expiring_store_copies_options(void **state) {
  (void)state;
  fixture f = {.now = 5};
  fail_alloc_init(&f.memory, 0);
  kin_allocator allocator = f.memory.allocator;
  kin_expiring_store_options options = KIN_EXPIRING_STORE_OPTIONS_INIT;
  options.allocator = &allocator;
  options.now_ms = clock_of;
  options.now_ctx = &f;
  options.ttl_ms = 10;
  assert_int_equal(kin_expiring_store_new(&f.store, &options), 0);
  memset(&options, 0xff, sizeof options);
  memset(&allocator, 0, sizeof allocator);
  assert_int_equal(put(&f, "a", 1), 0);
  f.now += 11;
  assert_false(has(&f, "a"));
  teardown(&f);
}

/* EX-01: an update and a replacement begin a new life, also across the 32 bits
 * in which a slot keeps half of the time. */
static void test_expiring_store_refreshes(void **state) {
  (void)state;
  fixture f;
  setup(&f, 100, NULL);
  put(&f, "a", 1);
  put(&f, "b", 1);
  f.now += 60;
  put(&f, "a", 2);
  f.now += 60;
  assert_true(has(&f, "a"));
  assert_false(has(&f, "b"));
  kin_object *objects[] = {object_keyed(NULL, "a", 3),
                           object_keyed(NULL, "c", 3)};
  const kin_object *list[] = {objects[0], objects[1]};
  assert_int_equal(kin_expiring_store_replace(f.store, list, 2, KIN__LIT("9")),
                   0);
  f.now += 100;
  assert_next(&f, "a c");
  f.now += 1;
  assert_next(&f, "");
  kin_object_unref(objects[0]);
  kin_object_unref(objects[1]);
  teardown(&f);
}

/* EX-03, where client-go's does not follow puts: the version is that of the
 * last change. */
static void test_expiring_store_version(void **state) {
  (void)state;
  fixture f;
  setup(&f, 100, NULL);
  assert_version(&f, "");
  put(&f, "a", 5);
  assert_version(&f, "5");
  kin_object *object = object_keyed(NULL, "a", 7);
  assert_int_equal(kin_expiring_store_delete_object(f.store, object), 0);
  kin_object_unref(object);
  assert_version(&f, "7");
  assert_int_equal(kin_expiring_store_delete(f.store, KIN__LIT("a")),
                   KIN_ENOENT);
  assert_int_equal(kin_expiring_store_replace(f.store, NULL, 0, KIN__LIT("8")),
                   0);
  assert_version(&f, "8");
  assert_int_equal(kin_expiring_store_bookmark(f.store, KIN__LIT("9")), 0);
  assert_version(&f, "9");
  put(&f, "b", 10);
  f.now += 101;
  assert_false(has(&f, "b"));
  assert_version(&f, "10");
  teardown(&f);
}

static void test_expiring_store_bad_input(void **state) {
  (void)state;
  fixture f;
  setup(&f, 100, NULL);
  put(&f, "a", 1);
  assert_int_equal(kin_expiring_store_put(f.store, NULL), KIN_EINVAL);
  assert_int_equal(put(&f, "b/c/d", 2), KIN_EKEY);
  assert_int_equal(kin_expiring_store_delete_object(f.store, NULL), KIN_EINVAL);
  assert_int_equal(kin_expiring_store_replace(f.store, NULL, 1, KIN__LIT("")),
                   KIN_EINVAL);
  assert_false(has(&f, ""));
  assert_false(has(&f, "/a"));
  assert_keys(&f, "a");
  assert_version(&f, "1");
  teardown(&f);
  kin_expiring_store_options options = KIN_EXPIRING_STORE_OPTIONS_INIT;
  kin_expiring_store *store;
  assert_int_equal(kin_expiring_store_new(&store, &options), KIN_EINVAL);
  assert_null(store);
  assert_int_equal(kin_expiring_store_new(&store, NULL), KIN_EINVAL);
  kin_expiring_store_free(NULL);
}

/* A failed allocation fails its operation, which leaves content and ages as
 * they were. */
static bool run_expiring_store_without_memory(size_t n) {
  fixture f = {.now = 5};
  fail_alloc_init(&f.memory, n);
  kin_expiring_store_options options = KIN_EXPIRING_STORE_OPTIONS_INIT;
  options.allocator = &f.memory.allocator;
  options.now_ms = clock_of;
  options.now_ctx = &f;
  options.ttl_ms = 10;
  int err = kin_expiring_store_new(&f.store, &options);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(f.store);
    assert_int_equal(f.memory.live_blocks, 0);
    return true;
  }
  while ((err = put(&f, "a", 1)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_keys(&f, "");
  }
  f.now += 10;
  kin_object *object = object_keyed(NULL, "b", 2);
  const kin_object *list[] = {object};
  while ((err = kin_expiring_store_replace(f.store, list, 1, KIN__LIT("3"))) !=
         0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_keys(&f, "a");
    assert_version(&f, "1");
  }
  kin_object_unref(object);
  assert_next(&f, "b");
  bool has_failed = fail_alloc_has_failed(&f.memory);
  teardown(&f);
  return has_failed;
}

static void test_expiring_store_fails_cleanly(void **state) {
  (void)state;
  fail_alloc_sweep(run_expiring_store_without_memory, 0);
}

/* Of a list that is refused nothing is left, so what was there is as old
 * as before. */
static void test_expiring_store_refused_list(void **state) {
  (void)state;
  fixture f;
  setup(&f, 1000, NULL);
  assert_int_equal(put(&f, "a", 1), 0);
  assert_int_equal(put(&f, "b", 1), 0);
  kin_object *a = object_keyed(NULL, "a", 2);
  const kin_object *list[] = {a, NULL};
  assert_int_equal(kin_expiring_store_replace(f.store, list, 2, kin__cstr("9")),
                   KIN_EINVAL);
  f.now += 900;
  assert_true(has(&f, "a"));
  f.now += 200;
  assert_false(has(&f, "a"));
  assert_keys(&f, "b");
  kin_object_unref(a);
  teardown(&f);
}

/* A policy that changes the store all the same is refused, as an index function
 * is, and what it looks up stays. */
static bool all_and_meddle(const kin_object *object, uint64_t age_ms,
                           void *data) {
  fixture *f = data;
  (void)age_ms;
  f->meddled++;
  assert_int_equal(kin_expiring_store_put(f->store, object), KIN_EALREADY);
  assert_int_equal(kin_expiring_store_delete(f->store, kin_object_key(object)),
                   KIN_EALREADY);
  assert_int_equal(kin_expiring_store_delete_object(f->store, object),
                   KIN_EALREADY);
  assert_int_equal(kin_expiring_store_replace(f->store, NULL, 0, KIN__LIT("9")),
                   KIN_EALREADY);
  assert_ptr_equal(kin_expiring_store_get(f->store, kin_object_key(object)),
                   object);
  kin_cursor cursor = {0};
  assert_non_null(kin_expiring_store_next(f->store, &cursor));
  return true;
}

static void test_expiring_store_meddling_policy(void **state) {
  (void)state;
  fixture f;
  setup(&f, 0, NULL);
  kin_expiring_store_free(f.store);
  kin_expiring_store_options options = KIN_EXPIRING_STORE_OPTIONS_INIT;
  options.allocator = &f.memory.allocator;
  options.now_ms = clock_of;
  options.now_ctx = &f;
  options.is_expired = all_and_meddle;
  options.data = &f;
  assert_int_equal(kin_expiring_store_new(&f.store, &options), 0);
  put(&f, "a", 1);
  put(&f, "b", 1);
  put(&f, "c", 1);
  assert_false(has(&f, "b"));
  assert_int_equal(f.meddled, 1);
  assert_keys(&f, "a c");
  assert_next(&f, "");
  assert_int_equal(f.meddled, 3);
  assert_keys(&f, "");
  assert_int_equal(put(&f, "a", 2), 0);
  teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_expiring_store_get_removes),
      cmocka_unit_test(test_expiring_store_put_again),
      cmocka_unit_test(test_expiring_store_scan),
      cmocka_unit_test(test_expiring_store_ttl),
      cmocka_unit_test(test_expiring_store_policy_beats_ttl),
      cmocka_unit_test(test_expiring_store_meddling_policy),
      cmocka_unit_test(test_expiring_store_clock),
      cmocka_unit_test(test_expiring_store_paused_scan),
      cmocka_unit_test(test_expiring_store_copies_options),
      cmocka_unit_test(test_expiring_store_refreshes),
      cmocka_unit_test(test_expiring_store_version),
      cmocka_unit_test(test_expiring_store_bad_input),
      cmocka_unit_test(test_expiring_store_fails_cleanly),
      cmocka_unit_test(test_expiring_store_refused_list),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
