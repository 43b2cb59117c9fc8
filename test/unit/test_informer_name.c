/* SPDX-License-Identifier: MIT */

/* Names under which metrics are published, and identifiers. Proves IM-01,
 * IM-02, and the part of IM-03 and NR-12 that is about who may publish. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/informer_name.h>

#include "support/fail_alloc.h"

static fail_alloc memory;
static kin_informer_names *names;

static int setup(void **state) {
  (void)state;
  fail_alloc_init(&memory, 0);
  return kin_informer_names_new(&names, &memory.allocator);
}

static int teardown(void **state) {
  (void)state;
  kin_informer_names_free(names);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  return 0;
}

static kin_informer_name *hold(const char *text) {
  kin_informer_name *name;
  assert_int_equal(kin_informer_name_new(&name, names, text), 0);
  return name;
}

static kin_informer_id *identify(kin_informer_name *name, const char *group,
                                 const char *version, const char *plural) {
  kin_informer_id *id;
  assert_int_equal(kin_informer_id_new(&id, name, group, version, plural), 0);
  return id;
}

static void expect_error(const char *text, int err) {
  kin_informer_name *name = (kin_informer_name *)&memory;
  assert_int_equal(kin_informer_name_new(&name, names, text), err);
  assert_null(name);
}

/* TestNewInformerName: the table there; IM-01. */
static void test_informer_name_new(void **state) {
  (void)state;
  kin_informer_name *name = hold("my-informer");
  assert_string_equal(kin_informer_name_text(name), "my-informer");
  expect_error("my-informer", KIN_EEXIST);
  expect_error("", KIN_EINVAL);
  expect_error(NULL, KIN_EINVAL);
  kin_informer_name *other = hold("informer-2");
  kin_informer_name_release(name);
  kin_informer_name *again = hold("my-informer");
  /* The released one has nothing to do with it any more. */
  kin_informer_name_release(name);
  kin_informer_name_unref(name);
  expect_error("my-informer", KIN_EEXIST);
  kin_informer_name_unref(again);
  kin_informer_name_unref(hold("my-informer")); /* the last unref released it */
  kin_informer_name_unref(other);
}

static void test_informer_name_bounds(void **state) {
  (void)state;
  char text[1026];
  memset(text, 'x', sizeof text - 1);
  text[1025] = '\0';
  expect_error(text, KIN_ETOOBIG);
  kin_informer_id *id;
  assert_int_equal(kin_informer_id_new(&id, NULL, text, NULL, "pods"),
                   KIN_ETOOBIG);
  assert_null(id);
  assert_int_equal(kin_informer_id_new(&id, NULL, NULL, text, "pods"),
                   KIN_ETOOBIG);
  assert_int_equal(kin_informer_id_new(&id, NULL, NULL, NULL, text),
                   KIN_ETOOBIG);
  assert_null(id);
  text[1024] = '\0';
  kin_informer_name_unref(hold(text));
  id = identify(NULL, text, text, text);
  assert_string_equal(kin_informer_id_group(id), text);
  assert_string_equal(kin_informer_id_version(id), text);
  assert_string_equal(kin_informer_id_plural(id), text);
  kin_informer_id_free(id);
}

/* All strings are copied, and the allocator; what is left out of a resource is
 * the core group and "v1". */
static void test_informer_name_copies(void **state) {
  (void)state;
  kin_allocator allocator = memory.allocator;
  kin_informer_names *registry;
  assert_int_equal(kin_informer_names_new(&registry, &allocator), 0);
  memset(&allocator, 0, sizeof allocator);
  char text[] = "name";
  char group[] = "apps";
  char version[] = "v2";
  char plural[] = "things";
  kin_informer_name *name;
  assert_int_equal(kin_informer_name_new(&name, registry, text), 0);
  kin_informer_id *id = identify(name, group, version, plural);
  text[0] = group[0] = version[0] = plural[0] = 'X';
  assert_string_equal(kin_informer_name_text(name), "name");
  assert_string_equal(kin_informer_id_name(id), "name");
  assert_string_equal(kin_informer_id_group(id), "apps");
  assert_string_equal(kin_informer_id_version(id), "v2");
  assert_string_equal(kin_informer_id_plural(id), "things");
  kin_informer_id_free(id);
  id = identify(name, NULL, NULL, "pods");
  assert_string_equal(kin_informer_id_group(id), "");
  assert_string_equal(kin_informer_id_version(id), "v1");
  kin_informer_names_free(registry);
  assert_string_equal(kin_informer_name_text(name), "name"); /* still valid */
  assert_string_equal(kin_informer_id_name(id), "name");
  kin_informer_id_free(id);
  kin_informer_name_unref(name);
}

/* A name is held until its last reference goes. */
static void test_informer_name_references(void **state) {
  (void)state;
  kin_informer_name *name = hold("a");
  assert_ptr_equal(kin_informer_name_ref(name), name);
  kin_informer_name_unref(name);
  expect_error("a", KIN_EEXIST);
  kin_informer_name_unref(name);
  kin_informer_name_unref(hold("a"));
}

/* A registry is an object, so two do not know each other's names. */
static void test_informer_names_are_apart(void **state) {
  (void)state;
  kin_informer_names *others;
  assert_int_equal(kin_informer_names_new(&others, &memory.allocator), 0);
  kin_informer_name *name = hold("a");
  kin_informer_name *same;
  assert_int_equal(kin_informer_name_new(&same, others, "a"), 0);
  kin_informer_name_unref(same);
  kin_informer_name_unref(name);
  kin_informer_names_free(others);
}

/* TestWithResource: the table there; IM-02. */
static void test_informer_id_is_reserved_once(void **state) {
  (void)state;
  kin_informer_name *name = hold("my-informer");
  kin_informer_id *pods = identify(name, "", "v1", "pods");
  assert_true(kin_informer_id_is_reserved(pods));
  kin_informer_id *second = identify(name, NULL, NULL, "pods");
  assert_false(kin_informer_id_is_reserved(second));
  assert_string_equal(kin_informer_id_name(second), "my-informer");
  kin_informer_id *maps = identify(name, "", "v1", "configmaps");
  assert_true(kin_informer_id_is_reserved(maps));
  kin_informer_id *other_version = identify(name, "", "v2", "pods");
  assert_true(kin_informer_id_is_reserved(other_version));
  kin_informer_id *other_group = identify(name, "x", "v1", "pods");
  assert_true(kin_informer_id_is_reserved(other_group));

  /* What nobody publishes any more is free for the next. */
  kin_informer_id_free(pods);
  assert_false(kin_informer_id_is_reserved(second));
  kin_informer_id *third = identify(name, "", "v1", "pods");
  assert_true(kin_informer_id_is_reserved(third));

  kin_informer_id_free(second);
  kin_informer_id_free(third);
  kin_informer_id_free(maps);
  kin_informer_id_free(other_version);
  kin_informer_id_free(other_group);
  kin_informer_name_unref(name);
}

/* The same: without a name it is never reserved, but keeps its resource. */
static void test_informer_id_without_a_name(void **state) {
  (void)state;
  kin_informer_id *id = identify(NULL, "apps", "v1", "deployments");
  assert_false(kin_informer_id_is_reserved(id));
  assert_string_equal(kin_informer_id_name(id), "");
  assert_string_equal(kin_informer_id_group(id), "apps");
  assert_string_equal(kin_informer_id_version(id), "v1");
  assert_string_equal(kin_informer_id_plural(id), "deployments");
  kin_informer_id_free(id);
  assert_int_equal(kin_informer_id_new(&id, NULL, "", "v1", ""), KIN_EINVAL);
  assert_null(id);
  assert_int_equal(kin_informer_id_new(&id, NULL, "", "v1", NULL), KIN_EINVAL);
  assert_string_equal(kin_informer_name_text(NULL), "");
  kin_informer_name_release(NULL);
  kin_informer_name_unref(kin_informer_name_ref(NULL));
  kin_informer_id_free(NULL);
  kin_informer_names_free(NULL);
}

/* TestRelease; IM-01, IM-02. */
static void test_informer_name_release(void **state) {
  (void)state;
  kin_informer_name *name = hold("my-informer");
  kin_informer_id *id = identify(name, "", "v1", "pods");
  assert_true(kin_informer_id_is_reserved(id));
  kin_informer_name_release(name);
  assert_false(kin_informer_id_is_reserved(id));
  kin_informer_name *next = hold("my-informer");
  kin_informer_id *next_id = identify(next, "", "v1", "pods");
  assert_true(kin_informer_id_is_reserved(next_id));
  /* Under a name that was released there is nothing to reserve. */
  kin_informer_id *late = identify(name, "", "v1", "configmaps");
  assert_false(kin_informer_id_is_reserved(late));
  kin_informer_id_free(late);
  kin_informer_id_free(next_id);
  kin_informer_name_unref(next);
  /* An identifier outlives its name, and keeps the text. */
  kin_informer_name_unref(name);
  assert_string_equal(kin_informer_id_name(id), "my-informer");
  kin_informer_id_free(id);
}

/* The registry may go first: as ResetInformerNamesForTesting, it releases
 * all. */
static void test_informer_names_free(void **state) {
  (void)state;
  kin_informer_name *a = hold("a");
  kin_informer_name *b = hold("b");
  kin_informer_id *id = identify(a, "", "v1", "pods");
  kin_informer_names_free(names);
  names = NULL;
  assert_false(kin_informer_id_is_reserved(id));
  kin_informer_id *late = identify(b, "", "v1", "pods");
  assert_false(kin_informer_id_is_reserved(late));
  kin_informer_name_release(a);
  kin_informer_name_unref(a);
  kin_informer_name_unref(b);
  kin_informer_id_free(id);
  kin_informer_id_free(late);
}

static int use_all(const kin_allocator *allocator) {
  kin_informer_names *registry = NULL;
  kin_informer_name *name = NULL;
  kin_informer_id *id = NULL;
  int err = kin_informer_names_new(&registry, allocator);
  if (err == 0) {
    err = kin_informer_name_new(&name, registry, "a");
  }
  if (err == 0) {
    err = kin_informer_id_new(&id, name, "", "v1", "pods");
  }
  if (err == 0) {
    assert_true(kin_informer_id_is_reserved(id));
  }
  kin_informer_id_free(id);
  kin_informer_name_unref(name);
  kin_informer_names_free(registry);
  return err;
}

static void test_informer_name_sweep_allocations(void **state) {
  (void)state;
  for (size_t n = 1; n <= 4; n++) {
    fail_alloc failing;
    fail_alloc_init(&failing, n);
    assert_int_equal(use_all(&failing.allocator), n <= 3 ? KIN_ENOMEM : 0);
    assert_int_equal(atomic_load(&failing.live_blocks), 0);
  }
}

#define WITH_NAMES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_NAMES(test_informer_name_new),
      WITH_NAMES(test_informer_name_bounds),
      WITH_NAMES(test_informer_name_copies),
      WITH_NAMES(test_informer_name_references),
      WITH_NAMES(test_informer_names_are_apart),
      WITH_NAMES(test_informer_id_is_reserved_once),
      WITH_NAMES(test_informer_id_without_a_name),
      WITH_NAMES(test_informer_name_release),
      WITH_NAMES(test_informer_names_free),
      cmocka_unit_test(test_informer_name_sweep_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
