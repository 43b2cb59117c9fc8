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
#include <kin/store.h>

#include "base/slots.h"
#include "base/str.h"
#include "store/store.h"
#include "support/indices.h"
#include "support/objects.h"
#include "support/store_rig.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* client-go TestCache; TS-01, ST-01, ST-02, NR-01. */
static void test_store_bulk_story(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  run_store_story(f.store);
  store_rig_teardown(&f);
}

/* Counts its calls; objects called "bad" cannot be stored, "other" is to get
 * another key, "nested" is put once more inside. All others lose their labels
 * but for the users in capital letters. */
typedef struct capitals_run {
  unsigned calls;
  kin_store *store; /* for "nested" */
} capitals_run;

static int capitals(const kin_object *in, kin_object_builder *out, void *data) {
  capitals_run *run = data;
  run->calls++;
  const char *name = kin_object_name(in).data;
  if (strcmp(name, "bad") == 0) {
    return KIN_ETYPE;
  }
  if (strcmp(name, "odd") == 0) {
    return 1;
  }
  if (strcmp(name, "nested") == 0) {
    assert_int_equal(kin_store_put(run->store, in), KIN_EALREADY);
    return KIN_EALREADY;
  }
  if (strcmp(name, "other") == 0) {
    kin_object_builder_set_string(out, "/metadata/name", "another");
  }
  kin_str users = {"", 0};
  kin_object_label(in, "users", &users);
  char upper[64] = "";
  for (size_t i = 0; i < users.length; i++) {
    upper[i] = (char)(users.data[i] & ~0x20);
  }
  kin_object_builder_remove(out, "/metadata/labels");
  kin_object_builder_set_string(out, "/metadata/labels/users", upper);
  return 0;
}

static int same(const kin_object *in, kin_object_builder *out, void *data) {
  (void)in;
  (void)out;
  ++*(unsigned *)data;
  return 0;
}

/* client-go TestCacheWithTransformer; ST-03. */
static void test_store_bulk_transform(void **state) {
  (void)state;
  unsigned calls = 0;
  store_rig f;
  store_rig_setup_with(&f, same, &calls);
  run_store_story(f.store);
  assert_int_equal(calls, 7); /* puts and replaced objects; nothing else */
  store_rig_teardown(&f);

  /* An object that is not changed is the one that was put. */
  calls = 0;
  store_rig_setup_with(&f, same, &calls);
  kin_object *whole = object_of_user("a", "x", "10");
  assert_int_equal(kin_store_put(f.store, whole), 0);
  assert_ptr_equal(kin_store_get_key(f.store, "a"), whole);
  kin_object_unref(whole);
  store_rig_teardown(&f);

  capitals_run run = {0};
  store_rig_setup_with(&f, capitals, &run);
  assert_int_equal(put_users(f.store, "a", "x"), 0);
  assert_int_equal(replace_users(f.store, "a=x b=y", "9"), 0);
  assert_users(f.store, "a=X b=Y");
  assert_store_version(f.store, "9");
  assert_int_equal(run.calls, 3);
  /* Transactions and deletions store and find what they are given. */
  kin_object *plain = object_of_user("c", "z", "10");
  kin_store_op op = {KIN_STORE_PUT, plain, {NULL, 0}, 0};
  assert_int_equal(kin_store_transact(f.store, &op, 1, NULL), 0);
  assert_users(f.store, "a=X b=Y c=z");
  assert_int_equal(kin_store_delete_object(f.store, plain), 0);
  kin_object_unref(plain);
  assert_int_equal(run.calls, 3);
  store_rig_teardown(&f);
}

/* ST-03: what the transform refuses or makes unusable changes nothing. */
static void test_store_bulk_transform_fails(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int err;
  } rows[] = {{"bad", KIN_ETYPE},
              {"odd", KIN_EINVAL},
              {"nested", KIN_EALREADY},
              {"other", KIN_EINVAL}};
  capitals_run run = {0};
  store_rig f;
  store_rig_setup_with(&f, capitals, &run);
  run.store = f.store;
  assert_int_equal(add_callback(f.store, "user", emit_users, NULL), 0);
  assert_int_equal(replace_users(f.store, "a=x b=y", "9"), 0);
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    char words[64];
    snprintf(words, sizeof words, "new=x %s=y", rows[i].name);
    assert_int_equal(replace_users(f.store, words, "10"), rows[i].err);
    assert_int_equal(put_users(f.store, rows[i].name, "z"), rows[i].err);
    assert_users(f.store, "a=X b=Y");
    assert_values(f.store, "user", "X Y");
    assert_store_version(f.store, "9");
  }
  store_rig_teardown(&f);
}

/* KY-05, ST-01, ST-02; client-go TestKeyError: an object from whose key name
 * and namespace could not be told apart is refused everywhere. */
static void test_store_bulk_malformed_keys(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(replace_users(f.store, "a=x", "9"), 0);
  assert_int_equal(put_users(f.store, "b/c", "y"), KIN_EKEY);
  assert_int_equal(replace_users(f.store, "b=y c/d=z", "10"), KIN_EKEY);
  assert_int_equal(
      put_json(f.store, "{'metadata':{'name':'a','namespace':'b/c'}}"),
      KIN_EKEY);
  assert_int_equal(kin_store_put(f.store, NULL), KIN_EINVAL);
  assert_int_equal(kin_store_delete_object(f.store, NULL), KIN_EINVAL);
  const kin_object *nothing = NULL;
  assert_int_equal(kin_store_replace(f.store, &nothing, 1, KIN__LIT("10")),
                   KIN_EINVAL);
  assert_int_equal(kin_store_replace(f.store, NULL, 1, KIN__LIT("10")),
                   KIN_EINVAL);
  assert_int_equal(kin_store_delete(f.store, KIN__LIT("")), KIN_ENOENT);
  assert_int_equal(kin_store_delete(f.store, KIN__LIT("/a")), KIN_ENOENT);
  assert_users(f.store, "a=x");
  assert_store_version(f.store, "9");
  store_rig_teardown(&f);
}

/* ST-02, TS-08: of several with one key the last counts; indices are those of
 * the new content only. */
static void test_store_bulk_replace_indices(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "user", refuse_users, NULL), 0);
  assert_int_equal(add_pointer(f.store, "name", "/metadata/name"), 0);
  assert_int_equal(add_pointer(f.store, "label", "/metadata/labels/users"), 0);
  assert_int_equal(replace_users(f.store, "a=x,y b=y b=z c=x", "1"), 0);
  assert_users(f.store, "a=x,y b=z c=x");
  assert_values(f.store, "user", "x y z");
  assert_names(f.store, "user", "x", "a c");
  assert_names(f.store, "name", "b", "b");
  assert_int_equal(replace_users(f.store, "d=y b=refused", "2"), KIN_EINDEX);
  assert_users(f.store, "a=x,y b=z c=x");
  assert_values(f.store, "user", "x y z");
  assert_store_version(f.store, "1");
  assert_int_equal(replace_users(f.store, "d=y b=y c=x", "2"), 0);
  assert_users(f.store, "b=y c=x d=y");
  assert_values(f.store, "user", "x y");
  assert_values(f.store, "label", "x y");
  assert_values(f.store, "name", "b c d");
  assert_names(f.store, "user", "y", "b d");
  assert_true(kin_store_index_ready(f.store, "user"));
  /* And they follow later changes. */
  assert_int_equal(put_users(f.store, "b", "w"), 0);
  assert_names(f.store, "user", "y", "d");
  assert_names(f.store, "user", "w", "b");
  assert_int_equal(put_users(f.store, "e", "refused"), KIN_EINDEX);
  store_rig_teardown(&f);
}

/* What stays is met exactly once by a scan that was running. */
static void test_store_bulk_replace_during_a_scan(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(replace_users(f.store, "a=x b=x c=x d=x", "1"), 0);
  kin_cursor cursor = {0};
  const char *first = kin_object_name(kin_store_next(f.store, &cursor)).data;
  assert_string_equal(first, "a");
  assert_int_equal(replace_users(f.store, "new=y d=y c=y a=y", "2"), 0);
  unsigned met = 0;
  const kin_object *object;
  while ((object = kin_store_next(f.store, &cursor)) != NULL) {
    const char *name = kin_object_name(object).data;
    assert_string_not_equal(name, "a");
    assert_string_not_equal(name, "b");
    met++;
  }
  assert_int_equal(met, 3);
  store_rig_teardown(&f);
}

/* The objects whose number is divisible by 3, and of the others those that this
 * round has. */
static void swap_numbered(kin_store *store, unsigned count, unsigned round) {
  const kin_object **objects = calloc(count, sizeof *objects);
  assert_non_null(objects);
  size_t used = 0;
  for (unsigned i = 0; i < count; i++) {
    if (i % 3 == 0 || (i / 3 + round) % 2 == 0) {
      char key[16];
      snprintf(key, sizeof key, "%u", i);
      objects[used++] = object_keyed(NULL, key, round);
    }
  }
  assert_int_equal(kin_store_replace(store, objects, used, KIN__LIT("1")), 0);
  while (used > 0) {
    kin_object_unref((kin_object *)objects[--used]);
  }
  free(objects);
}

/* ST-02: a scan over several segments goes on while the program deletes, puts
 * and swaps the whole content again and again. What is in all contents is met
 * once, and what a scan gives is what is stored at that moment. */
static void test_store_bulk_swaps_during_a_scan(void **state) {
  (void)state;
  enum { COUNT = 3 * KIN__SEGMENT_MAX, EVERY = COUNT / 8 };
  static unsigned met[COUNT];
  memset(met, 0, sizeof met);
  store_rig f;
  store_rig_setup(&f);
  swap_numbered(f.store, COUNT, 0);
  kin_cursor cursor = {0};
  const kin_object *object;
  unsigned rounds = 0;
  for (unsigned step = 1; (object = kin_store_next(f.store, &cursor)) != NULL;
       step++) {
    assert_ptr_equal(kin_store_get(f.store, kin_object_key(object)), object);
    unsigned number = (unsigned)strtoul(kin_object_name(object).data, NULL, 10);
    assert_true(number < COUNT);
    met[number]++;
    char key[16];
    snprintf(key, sizeof key, "%u", (step * 7 % COUNT / 3) * 3 + 1);
    (void)kin_store_delete(f.store, kin__cstr(key));
    if (step % EVERY == 0 && rounds < 6) {
      /* Fewer, then more than there were slots. */
      rounds++;
      swap_numbered(f.store, rounds % 2 == 0 ? COUNT : COUNT - 300, rounds);
    }
  }
  assert_true(rounds >= 4);
  for (unsigned i = 0; i < COUNT - 300; i += 3) {
    assert_int_equal(met[i], 1);
  }
  assert_null(kin_store_next(f.store, &cursor));
  store_rig_teardown(&f);
}

/* The content itself may be given, in part, and once more. */
static void test_store_bulk_replace_by_itself(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "user", emit_users, NULL), 0);
  assert_int_equal(replace_users(f.store, "a=x b=y c=z", "1"), 0);
  const kin_object *own[] = {kin_store_get_key(f.store, "a"),
                             kin_store_get_key(f.store, "c"),
                             kin_store_get_key(f.store, "a")};
  assert_int_equal(
      kin_store_replace(f.store, own, 3, kin_store_resource_version(f.store)),
      0);
  assert_users(f.store, "a=x c=z");
  assert_values(f.store, "user", "x z");
  assert_store_version(f.store, "1");
  store_rig_teardown(&f);
}

/* client-go TestIndex, TestMultiIndexKeys, TestGetIndexFuncValues; TS-06. */
static void test_store_bulk_lists_by_index(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "user", refuse_users, NULL), 0);
  assert_int_equal(replace_users(f.store,
                                 "two=bert,oscar one=ernie,bert tre=ernie,elmo",
                                 "1"),
                   0);
  static const char *const rows[][2] = {{"ernie", "one tre"},
                                        {"bert", "one two"},
                                        {"elmo", "tre"},
                                        {"oscar", "two"},
                                        {"elmo1", ""}};
  kin_object_list *list;
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    assert_int_equal(
        kin_store_list_by_index(f.store, "user", kin__cstr(rows[i][0]), &list),
        0);
    assert_list_keys(list, rows[i][1]);
  }
  static const char *const like[][2] = {{"ernie", "one tre"},
                                        {"bert,elmo", "one tre two"},
                                        {"ernie,bert", "one tre two"},
                                        {"oscar,oscar", "two"},
                                        {"nobody", ""},
                                        {"", ""}};
  for (size_t i = 0; i < COUNT_OF(like); i++) {
    kin_object *object = object_of_user("other", like[i][0], "1");
    assert_int_equal(kin_store_list_like(f.store, "user", object, &list), 0);
    assert_list_keys(list, like[i][1]);
    kin_object_unref(object);
  }
  /* Lists are copies. */
  assert_int_equal(
      kin_store_list_by_index(f.store, "user", KIN__LIT("bert"), &list), 0);
  assert_int_equal(replace_users(f.store, "", ""), 0);
  assert_list_keys(list, "one two");
  store_rig_teardown(&f);
}

static void test_store_bulk_list_errors(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  kin_object *object = object_of_user("a", "refused", "1");
  kin_object_list *list;
  assert_int_equal(
      kin_store_list_by_index(f.store, "user", KIN__LIT("x"), &list),
      KIN_ENOENT);
  assert_null(list);
  assert_int_equal(kin_store_list_like(f.store, NULL, object, &list),
                   KIN_EINVAL);
  assert_int_equal(add_callback(f.store, "user", refuse_users, NULL), 0);
  assert_int_equal(kin_store_list_like(f.store, "user", NULL, &list),
                   KIN_EINVAL);
  assert_int_equal(kin_store_list_like(f.store, "user", object, &list),
                   KIN_EINDEX);
  assert_null(list);
  assert_int_equal(kin_store_list(f.store, &list), 0);
  assert_null(list->objects);
  assert_int_equal(list->count, 0);
  kin_object_list_free(list);
  kin_object_list_free(NULL);
  kin_object_unref(object);
  store_rig_teardown(&f);
}

/* TS-07: GetIndexers, which has no order; here it is that of adding, and stays
 * when the content is replaced, as do the names themselves. */
static void test_store_bulk_index_names(void **state) {
  (void)state;
  static const char *const names[] = {"user", "name", "a"};
  store_rig f;
  store_rig_setup(&f);
  kin_cursor cursor = {0};
  assert_null(kin_store_next_index(f.store, &cursor));
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    assert_int_equal(add_callback(f.store, names[i], emit_users, NULL), 0);
  }
  kin_cursor before = {0};
  const char *borrowed = kin_store_next_index(f.store, &before);
  assert_int_equal(replace_users(f.store, "a=x", "1"), 0);
  assert_string_equal(borrowed, names[0]);
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    assert_string_equal(kin_store_next_index(f.store, &cursor), names[i]);
  }
  assert_null(kin_store_next_index(f.store, &cursor));
  assert_null(kin_store_next_index(f.store, &cursor));
  store_rig_teardown(&f);
}

static void test_store_new_checks_its_options(void **state) {
  (void)state;
  kin_store *store;
  kin_store_options options = KIN_STORE_OPTIONS_INIT;
  options.size = 3;
  assert_int_equal(kin_store_new(&store, &options), KIN_EINVAL);
  assert_null(store);
  struct {
    kin_store_options known;
    int unknown;
  } newer = {KIN_STORE_OPTIONS_INIT, 1};
  newer.known.size = sizeof newer;
  assert_int_equal(kin_store_new(&store, &newer.known), KIN_ENOTSUP);
  assert_int_equal(kin_store_new(&store, NULL), 0);
  kin_store_free(store);
}

/* Each allocation of a scenario fails once: its operation fails and leaves
 * content, indices and version as they were; tried again, it succeeds. */
static bool run_store_bulk_without_memory(size_t n) {
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "user", emit_users, NULL), 0);
  assert_int_equal(add_pointer(f.store, "name", "/metadata/name"), 0);
  assert_int_equal(replace_users(f.store, "a=x b=y,z c=x", "1"), 0);
  f.memory.fail_at = f.memory.calls + n;
  int err = replace_users(f.store, "d=y,w b=z e=v a=x", "2");
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_users(f.store, "a=x b=y,z c=x");
    assert_values(f.store, "user", "x y z");
    assert_values(f.store, "name", "a b c");
    assert_store_version(f.store, "1");
    assert_int_equal(replace_users(f.store, "d=y,w b=z e=v a=x", "2"), 0);
  }
  assert_values(f.store, "user", "v w x y z");
  kin_object_list *list;
  kin_object *object = object_of_user("q", "x,y,z", "1");
  while ((err = kin_store_list_like(f.store, "user", object, &list)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(list);
  }
  kin_object_unref(object);
  assert_list_keys(list, "a b d");
  while ((err = kin_store_list(f.store, &list)) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(list);
  }
  assert_int_equal(list->count, 4);
  kin_object_list_free(list);
  bool has_failed = fail_alloc_has_failed(&f.memory);
  f.memory.fail_at = 0;
  assert_users(f.store, "a=x b=z d=y,w e=v");
  assert_store_version(f.store, "2");
  store_rig_teardown(&f);
  return has_failed;
}

static void test_store_bulk_fails_cleanly(void **state) {
  (void)state;
  fail_alloc_sweep(run_store_bulk_without_memory, 0);
}

/* The same for a store that has no tables yet. */
static bool run_store_bulk_first_replacement_without_memory(size_t n) {
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(add_callback(f.store, "user", emit_users, NULL), 0);
  f.memory.fail_at = f.memory.calls + n;
  int err;
  while ((err = replace_users(f.store, "a=x b=y", "2")) != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_int_equal(kin_store_count(f.store), 0);
    assert_null(kin_store_get_key(f.store, "a"));
    assert_values(f.store, "user", "");
    assert_store_version(f.store, "");
  }
  bool has_failed = fail_alloc_has_failed(&f.memory);
  f.memory.fail_at = 0;
  assert_users(f.store, "a=x b=y");
  assert_values(f.store, "user", "x y");
  assert_store_version(f.store, "2");
  store_rig_teardown(&f);
  return has_failed;
}

static void test_store_bulk_first_replacement_fails_cleanly(void **state) {
  (void)state;
  fail_alloc_sweep(run_store_bulk_first_replacement_without_memory, 0);
}

/* Contents that have no key in common take turns. The memory is that of the two
 * largest, however often; a slot that became free is used again. */
static void test_store_bulk_replacements_do_not_grow(void **state) {
  (void)state;
  static const char *const contents[] = {"a=x b=x c=x d=x", "e=x f=x g=x h=x"};
  store_rig f;
  store_rig_setup(&f);
  for (unsigned i = 0; i < 50; i++) {
    assert_int_equal(replace_users(f.store, contents[i % 2], "1"), 0);
    assert_users(f.store, contents[i % 2]);
    assert_true(kin__slots_limit(&f.store->slots) <= 8);
    /* What is deleted makes room, too. */
    assert_int_equal(
        kin_store_delete(f.store, i % 2 == 0 ? KIN__LIT("b") : KIN__LIT("g")),
        0);
  }
  store_rig_teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_store_bulk_story),
      cmocka_unit_test(test_store_bulk_transform),
      cmocka_unit_test(test_store_bulk_transform_fails),
      cmocka_unit_test(test_store_bulk_malformed_keys),
      cmocka_unit_test(test_store_bulk_replace_indices),
      cmocka_unit_test(test_store_bulk_replace_during_a_scan),
      cmocka_unit_test(test_store_bulk_swaps_during_a_scan),
      cmocka_unit_test(test_store_bulk_replacements_do_not_grow),
      cmocka_unit_test(test_store_bulk_replace_by_itself),
      cmocka_unit_test(test_store_bulk_lists_by_index),
      cmocka_unit_test(test_store_bulk_list_errors),
      cmocka_unit_test(test_store_bulk_index_names),
      cmocka_unit_test(test_store_new_checks_its_options),
      cmocka_unit_test(test_store_bulk_fails_cleanly),
      cmocka_unit_test(test_store_bulk_first_replacement_fails_cleanly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
