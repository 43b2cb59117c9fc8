/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/store.h>

#include "base/str.h"
#include "store/store.h"
#include "support/indices.h"
#include "support/objects.h"
#include "support/store_rig.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* client-go TestThreadSafeStoreRV, TestStoreResourceVersion; TS-08 to TS-12,
 * ST-04, ST-07. */
static void test_store_version(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_store_version(f.store, "");
  static const char *const versions[] = {"10", "10", "20", "5", "", "opaque"};
  kin_object *objects[COUNT_OF(versions)];
  for (size_t i = 0; i < COUNT_OF(versions); i++) {
    char name[16];
    snprintf(name, sizeof name, "key%zu", i);
    objects[i] = object_of_user(name, "x", versions[i]);
    assert_int_equal(kin_store_put(f.store, objects[i]), 0);
    assert_store_version(f.store, versions[i]); /* verbatim, also backwards */
  }
  kin_object *newer = object_of_user("key1", "x", "30");
  assert_int_equal(kin_store_delete_object(f.store, newer), 0);
  assert_null(kin_store_get_key(f.store, "key1"));
  assert_store_version(f.store, "30");
  assert_int_equal(kin_store_delete(f.store, KIN__LIT("key2")), 0);
  assert_int_equal(kin_store_delete(f.store, KIN__LIT("key2")), KIN_ENOENT);
  assert_store_version(f.store, "30");
  assert_int_equal(kin_store_delete_object(f.store, objects[0]), 0);
  assert_store_version(f.store, "10");
  assert_int_equal(kin_store_delete_object(f.store, newer), 0); /* absent */
  assert_store_version(f.store, "30");
  assert_int_equal(kin_store_bookmark(f.store, KIN__LIT("35")), 0);
  assert_store_version(f.store, "35");
  assert_int_equal(
      kin_store_bookmark(f.store, kin_store_resource_version(f.store)), 0);
  assert_store_version(f.store, "35");
  assert_int_equal(replace_users(f.store, "a=x b=y", "50"), 0);
  assert_store_version(f.store, "50");
  assert_int_equal(replace_users(f.store, "", ""), 0);
  assert_store_version(f.store, "");
  assert_users(f.store, "");
  for (size_t i = 0; i < COUNT_OF(versions); i++) {
    kin_object_unref(objects[i]);
  }
  kin_object_unref(newer);
  store_rig_teardown(&f);
}

/* A version may be longer than any before; if there is no memory for it the
 * operation has not happened. */
static void test_store_version_may_be_long(void **state) {
  (void)state;
  char text[301];
  memset(text, '7', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  store_rig f;
  store_rig_setup(&f);
  kin_object *object = object_of_user("a", "x", text);
  assert_int_equal(replace_users(f.store, "a=y", "1"), 0);
  for (int i = 0; i < 4; i++) {
    f.memory.fail_at = f.memory.calls + 1;
    kin_store_op op = {KIN_STORE_PUT, object, {NULL, 0}, 0};
    int err = i == 0   ? kin_store_put(f.store, object)
              : i == 1 ? kin_store_delete_object(f.store, object)
              : i == 2 ? kin_store_bookmark(f.store, kin__cstr(text))
                       : kin_store_transact(f.store, &op, 1, NULL);
    f.memory.fail_at = 0;
    assert_int_equal(err, KIN_ENOMEM);
    assert_users(f.store, "a=y");
    assert_store_version(f.store, "1");
  }
  assert_int_equal(kin_store_put(f.store, object), 0);
  assert_users(f.store, "a=x");
  assert_store_version(f.store, text);
  kin_object_unref(object);
  store_rig_teardown(&f);
}

/* TS-13. */
static void test_store_version_gauge(void **state) {
  (void)state;
  static const struct {
    const char *version;
    double value; /* negative: none */
  } rows[] = {{"", 0},
              {"0", 0},
              {"42", 42},
              {"123456789012345", 123456789012345.0},
              {"9123456789012345", 123456789012345.0},
              {"99123456789012345", 123456789012345.0},
              {"x99123456789012345", 123456789012345.0},
              {"12a", -1},
              {"-1", -1},
              {" 1", -1}};
  store_rig f;
  store_rig_setup(&f);
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    double value = -1;
    assert_int_equal(kin_store_bookmark(f.store, kin__cstr(rows[i].version)),
                     0);
    assert_int_equal(kin_store_version_gauge(f.store, &value),
                     rows[i].value >= 0);
    assert_true(value == rows[i].value);
  }
  store_rig_teardown(&f);
}

/* Versions of an informer's store are its scopes'; the server says what is in
 * it. */
static void test_store_version_of_a_managed_store(void **state) {
  (void)state;
  kin__memory *memory = kin__memory_new(NULL);
  kin_store store;
  kin__store_init(&store, memory, (kin__hash_seed){1, 2}, true);
  kin__memory_unref(memory);
  assert_int_equal(put_users(&store, "a", "x"), 0);
  assert_int_equal(kin_store_bookmark(&store, KIN__LIT("7")), 0);
  assert_store_version(&store, "");
  assert_int_equal(replace_users(&store, "b=y", "8"), KIN_EINVAL);
  assert_users(&store, "a=x");
  kin_store_op op = {KIN_STORE_DELETE, NULL, KIN__LIT("a"), 0};
  assert_int_equal(kin_store_transact(&store, &op, 1, NULL), 0);
  assert_users(&store, "");
  kin__store_finish(&store);
}

/* client-go TestCacheTransactionShouldIndexErrors; ST-05, NR-06: what can be
 * applied is, and each entry has its own result. */
static void test_store_transaction_errors(void **state) {
  (void)state;
  static const struct {
    const char *names[4];
    unsigned failed;
  } rows[] = {{{"a", "b"}, 0},
              {{"c/c", "d/d"}, 2},
              {{"a", "c/c", "b", "d/d"}, 2},
              {{NULL}, 0}};
  for (size_t r = 0; r < COUNT_OF(rows); r++) {
    store_rig f;
    store_rig_setup(&f);
    kin_store_op ops[4];
    size_t count = 0;
    for (; count < 4 && rows[r].names[count] != NULL; count++) {
      ops[count] =
          (kin_store_op){KIN_STORE_PUT,
                         object_of_user(rows[r].names[count], "x", "1"),
                         {NULL, 0},
                         1};
    }
    size_t failed = 99;
    assert_int_equal(kin_store_transact(f.store, ops, count, &failed),
                     rows[r].failed > 0 ? KIN_EKEY : 0);
    assert_int_equal(failed, rows[r].failed);
    assert_int_equal(kin_store_count(f.store), count - failed);
    for (size_t i = 0; i < count; i++) {
      bool is_good = strchr(rows[r].names[i], '/') == NULL;
      assert_int_equal(ops[i].error, is_good ? 0 : KIN_EKEY);
      assert_true(!is_good ||
                  kin_store_get_key(f.store, rows[r].names[i]) != NULL);
      kin_object_unref(ops[i].object);
    }
    store_rig_teardown(&f);
  }
}

/* TS-10, TS-12: in order, and the version is that of the last applied entry, if
 * that has one. */
static void test_store_transaction(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "user", refuse_users, NULL), 0);
  kin_object *a = object_of_user("a", "x", "40");
  kin_object *a2 = object_of_user("a", "y", "30");
  kin_object *b = object_of_user("b", "x", "50");
  kin_object *bad = object_of_user("c", "refused", "60");
  kin_store_op puts[] = {{KIN_STORE_PUT, a, {NULL, 0}, 1},
                         {KIN_STORE_PUT, a2, {NULL, 0}, 1},
                         {KIN_STORE_PUT, b, {NULL, 0}, 1}};
  assert_int_equal(kin_store_transact(f.store, puts, 3, NULL), 0);
  assert_users(f.store, "a=y b=x");
  assert_store_version(f.store, "50");
  kin_store_op mixed[] = {{KIN_STORE_PUT, a, {NULL, 0}, 1},
                          {KIN_STORE_DELETE, NULL, KIN__LIT("absent"), 1},
                          {KIN_STORE_PUT, bad, {NULL, 0}, 1},
                          {KIN_STORE_DELETE, NULL, KIN__LIT("x/y/z"), 1},
                          {(kin_store_op_type)7, a, {NULL, 0}, 1},
                          {KIN_STORE_PUT, NULL, {NULL, 0}, 1},
                          {KIN_STORE_DELETE, NULL, KIN__LIT("b"), 1}};
  static const int errors[] = {0,          0,          KIN_EINDEX, KIN_EKEY,
                               KIN_EINVAL, KIN_EINVAL, 0};
  size_t failed;
  assert_int_equal(kin_store_transact(f.store, mixed, 7, &failed), KIN_EINDEX);
  assert_int_equal(failed, 4);
  for (size_t i = 0; i < 7; i++) {
    assert_int_equal(mixed[i].error, errors[i]);
  }
  assert_users(f.store, "a=x");
  assert_values(f.store, "user", "x");
  assert_store_version(f.store, "50"); /* a deletion by key has none */
  /* The store's own reference is the last one, and goes. */
  kin_object_unref(a);
  kin_store_op last = {
      KIN_STORE_DELETE, kin_store_get_key(f.store, "a"), {NULL, 0}, 1};
  assert_int_equal(kin_store_transact(f.store, &last, 1, NULL), 0);
  assert_store_version(f.store, "40");
  assert_int_equal(kin_store_transact(f.store, NULL, 0, &failed), 0);
  assert_int_equal(failed, 0);
  assert_int_equal(kin_store_transact(f.store, NULL, 1, NULL), KIN_EINVAL);
  assert_store_version(f.store, "40");
  kin_object_unref(a2);
  kin_object_unref(b);
  kin_object_unref(bad);
  store_rig_teardown(&f);
}

typedef struct meddler {
  kin_store *store;
  kin_object *object;
  bool transacts;
  int err;
} meddler;

static int meddle(const kin_object *object, kin_index_values *values,
                  void *data) {
  (void)object;
  (void)values;
  meddler *m = data;
  if (m->object != NULL && m->transacts) {
    kin_store_op op = {.type = KIN_STORE_PUT, .object = m->object};
    m->err = kin_store_transact(m->store, &op, 1, NULL);
  } else if (m->object != NULL) {
    m->err = kin_store_put(m->store, m->object);
  }
  return 0;
}

/* A write of an index callback is refused, and moves nothing that the change
 * under way has borrowed. */
static void test_refused_write_keeps_a_lent_version(void **state) {
  (void)state;
  for (int transacts = 0; transacts < 2; transacts++) {
    store_rig f;
    store_rig_setup(&f);
    kin_object *a = object_of_user("a", "x", "1");
    meddler m = {.store = f.store, .transacts = transacts != 0};
    assert_int_equal(add_callback(f.store, "meddle", meddle, &m), 0);
    assert_int_equal(kin_store_put(f.store, a), 0);
    kin_object *b =
        object_of_user("b", "x", "an-opaque-version-of-over-thirty-two-bytes");
    m.object = b;
    const kin_object *objects[] = {a};
    kin_str lent = kin_store_resource_version(f.store);
    assert_int_equal(kin_store_replace(f.store, objects, 1, lent), 0);
    assert_int_equal(m.err, KIN_EALREADY);
    assert_store_version(f.store, "1");
    m.object = NULL;
    kin_object_unref(a);
    kin_object_unref(b);
    store_rig_teardown(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_store_version),
      cmocka_unit_test(test_store_version_may_be_long),
      cmocka_unit_test(test_store_version_gauge),
      cmocka_unit_test(test_store_version_of_a_managed_store),
      cmocka_unit_test(test_store_transaction_errors),
      cmocka_unit_test(test_store_transaction),
      cmocka_unit_test(test_refused_write_keeps_a_lent_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
