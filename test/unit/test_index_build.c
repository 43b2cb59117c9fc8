/* SPDX-License-Identifier: MIT */
/* How indices are built and what they cost: an informer's in steps, failed
 * allocations, memory. */
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

#include "base/str.h"
#include "store/index.h"
#include "store/store.h"
#include "support/indices.h"
#include "support/objects.h"
#include "support/store_rig.h"

/* An index entry costs at most 24 bytes besides the distinct values. */
static void test_index_cost_of_an_entry(void **state) {
  (void)state;
  enum { COUNT = 20 * KIN__SEGMENT_MAX };
  store_rig f;
  store_rig_setup(&f);
  for (unsigned i = 0; i < COUNT; i++) {
    char name[16];
    snprintf(name, sizeof name, "pod-%u", i);
    put_users(f.store, name, "ernie");
  }
  size_t before = f.memory.live_bytes;
  assert_int_equal(add_callback(f.store, "byUser", emit_users, NULL), 0);
  size_t once = 64 * 1024; /* the index itself and its first value */
  assert_true(f.memory.live_bytes - before <= once + 24 * COUNT);
  store_rig_teardown(&f);
}

/* Everything there is to see, as one text. */
static char *describe(const kin_store *store, const char *const *keys,
                      const char *const *values) {
  char *text;
  size_t length;
  FILE *out = open_memstream(&text, &length);
  fprintf(out, "%zu objects in %u slots, %llu bytes\n", kin_store_count(store),
          store->slots.live, (unsigned long long)kin_store_bytes(store));
  for (; *keys != NULL; keys++) {
    fprintf(out, "%s: %p\n", *keys,
            (const void *)kin_store_get_key(store, *keys));
  }
  for (const kin__index *i = store->indices; i != NULL; i = i->next) {
    fprintf(out, "%s: %u values, %u postings, %u built\n", i->name,
            i->values.live, i->postings.live, i->built);
    for (const char *const *v = values; *v != NULL; v++) {
      char names[1024];
      names_by(names, store, i->name, kin__cstr(*v));
      fprintf(out, "  %s: %s\n", *v, names);
    }
  }
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    fprintf(out, "at %u: %p\n", cursor.next, (const void *)object);
  }
  fclose(out);
  return text;
}

static const char *const sweep_keys[] = {"a", "b", "c", NULL};
static const char *const sweep_values[] = {"ernie", "bert", "elmo", "n1",
                                           "n2",    "a",    "b",    NULL};

static kin_object *sweep_object(const kin_allocator *allocator,
                                const char *name, const char *users,
                                const char *node) {
  return object_format(allocator,
                       "{'metadata':{'name':'%s','labels':{'users':'%s'}},"
                       "'spec':{'nodeName':'%s'}}",
                       name, users, node);
}

/* One step of the sweep; the n-th allocation from here on fails. Returns
 * whether it was reached. */
static bool fail_in(store_rig *f, size_t n,
                    int (*step)(store_rig *, const void *), const void *arg) {
  char *before = describe(f->store, sweep_keys, sweep_values);
  f->memory.fail_at = f->memory.calls + n;
  size_t failures = f->memory.failures;
  int err = step(f, arg);
  bool has_failed = f->memory.failures > failures;
  f->memory.fail_at = 0;
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
    assert_true(has_failed);
    char *after = describe(f->store, sweep_keys, sweep_values);
    assert_string_equal(after, before);
    free(after);
    assert_int_equal(step(f, arg), 0);
  }
  free(before);
  return has_failed;
}

static int step_put(store_rig *f, const void *arg) {
  return kin_store_put(f->store, arg);
}

/* Does not care whether its values were taken. */
static int emit_carelessly(const kin_object *object, kin_index_values *values,
                           void *data) {
  (void)data;
  kin_str users;
  if (kin_object_label(object, "users", &users)) {
    for (size_t i = 0; i < users.length; i++) {
      kin_index_emit(values, kin__str(users.data + i, 1));
    }
  }
  return 0;
}

static int step_add_index(store_rig *f, const void *arg) {
  const char *name = arg;
  if (name[0] == '/') {
    return add_pointer(f->store, name, name);
  }
  bool is_careless = strcmp(name, "letters") == 0;
  return add_callback(f->store, name,
                      is_careless ? emit_carelessly : emit_users, NULL);
}

/* Every single allocation of puts and new indices fails once, those of the
 * parser included; whatever returns an error has changed nothing, and works
 * when it is repeated. */
static void test_index_failed_allocations_change_nothing(void **state) {
  (void)state;
  bool has_failed = true;
  for (size_t n = 1; has_failed; n++) {
    store_rig f;
    store_rig_setup(&f);
    const kin_allocator *a = &f.memory.allocator;
    kin_object *objects[] = {
        sweep_object(a, "a", "ernie,bert", "n1"),
        sweep_object(a, "b", "bert", "n1"),
        sweep_object(a, "a", "bert,elmo", "n2"),
        sweep_object(a, "c", "", "n2"),
        sweep_object(a, "a", "elmo,ernie,bert,elmo", "n2"),
        sweep_object(a, "b", "", "n3"),
    };
    size_t count = sizeof objects / sizeof objects[0];
    has_failed = false;
    static const char *const indices[] = {
        "users",          "letters",     "/spec/nodeName",
        "/metadata/name", "/metadata/*", "/metadata/labels/users"};
    for (size_t i = 0; i < 4; i++) {
      has_failed |= fail_in(&f, n, step_add_index, indices[i]);
    }
    for (size_t i = 0; i < count; i++) {
      has_failed |= fail_in(&f, n, step_put, objects[i]);
    }
    for (size_t i = 4; i < 6; i++) {
      has_failed |= fail_in(&f, n, step_add_index, indices[i]);
    }
    assert_names(f.store, "users", "bert", "a");
    assert_names(f.store, "users", "elmo", "a");
    assert_values(f.store, "letters", ", b e i l m n o r t");
    assert_names(f.store, "/spec/nodeName", "n2", "a c");
    assert_names(f.store, "/spec/nodeName", "n3", "b");
    assert_names(f.store, "/metadata/name", "c", "c");
    for (size_t i = 0; i < count; i++) {
      kin_object_unref(objects[i]);
    }
    store_rig_teardown(&f);
    assert_true(n < 200);
  }
}

/* An informer's store, whose indices are built in steps. */
typedef struct managed {
  fail_alloc memory;
  kin_store store;
  unsigned added; /* calls of index_added */
} managed;

static void count_added(void *ctx) {
  ((managed *)ctx)->added++;
}

static const kin__log *no_log(void *ctx) {
  (void)ctx;
  return NULL;
}

static void setup_managed(managed *m, unsigned count) {
  *m = (managed){0};
  fail_alloc_init(&m->memory, 0);
  kin__memory *memory = kin__memory_new(&m->memory.allocator);
  kin__store_init(&m->store, memory, (kin__hash_seed){1, 2}, true);
  kin__memory_unref(memory);
  static const kin__store_owner owner = {.index_added = count_added,
                                         .log = no_log};
  m->store.owner = &owner;
  m->store.owner_ctx = m;
  for (unsigned i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "pod-%u", i);
    assert_int_equal(put_users(&m->store, name, "ernie"), 0);
  }
}

static void teardown_managed(managed *m) {
  kin__store_finish(&m->store);
  assert_int_equal(m->memory.live_blocks, 0);
}

static size_t count_of(const managed *m, const char *value) {
  return kin_store_index_count(&m->store, "byUser", kin__cstr(value));
}

static bool step(managed *m, uint32_t count) {
  int err;
  bool has_more = kin__store_index_step(&m->store, count, &err);
  assert_int_equal(err, 0);
  return has_more;
}

/* TS-07, OQ-08: adding an index to a store with objects is allowed at any time
 * and done in bounded steps. */
static void test_index_is_built_in_steps(void **state) {
  (void)state;
  managed m;
  setup_managed(&m, 25);
  assert_false(step(&m, 10));
  assert_int_equal(add_callback(&m.store, "byUser", emit_users, NULL), 0);
  assert_int_equal(m.added, 1);
  assert_false(kin_store_index_ready(&m.store, "byUser"));
  assert_int_equal(count_of(&m, "ernie"), 0);
  assert_true(step(&m, 10));
  assert_int_equal(count_of(&m, "ernie"), 10);
  assert_true(step(&m, 10));
  assert_int_equal(count_of(&m, "ernie"), 20);
  assert_false(kin_store_index_ready(&m.store, "byUser"));
  assert_false(step(&m, 10));
  assert_int_equal(count_of(&m, "ernie"), 25);
  assert_true(kin_store_index_ready(&m.store, "byUser"));
  assert_false(step(&m, 10));
  put_users(&m.store, "pod-25", "ernie");
  assert_int_equal(count_of(&m, "ernie"), 26);
  teardown_managed(&m);
}

/* Nothing to build: ready at once, nobody is told. */
static void test_index_of_an_empty_managed_store(void **state) {
  (void)state;
  managed m;
  setup_managed(&m, 0);
  assert_int_equal(add_callback(&m.store, "byUser", emit_users, NULL), 0);
  assert_int_equal(m.added, 0);
  assert_true(kin_store_index_ready(&m.store, "byUser"));
  put_users(&m.store, "pod-0", "ernie");
  assert_int_equal(count_of(&m, "ernie"), 1);
  teardown_managed(&m);
}

/* What changes behind the build is indexed at once, what changes ahead of it
 * when the build gets there; nothing is lost or counted twice. */
static void test_index_changes_during_a_build(void **state) {
  (void)state;
  managed m;
  setup_managed(&m, 20);
  assert_int_equal(add_callback(&m.store, "byUser", emit_users, NULL), 0);
  assert_true(step(&m, 10));
  put_users(&m.store, "pod-3", "bert"); /* behind */
  assert_int_equal(count_of(&m, "bert"), 1);
  assert_int_equal(count_of(&m, "ernie"), 9);
  put_users(&m.store, "pod-10", "bert"); /* the next one */
  put_users(&m.store, "pod-15", "bert"); /* ahead */
  assert_int_equal(count_of(&m, "bert"), 1);
  kin_store_delete(&m.store, KIN__LIT("pod-4"));
  assert_int_equal(count_of(&m, "ernie"), 8);
  put_users(&m.store, "new-behind", "ernie"); /* takes the freed slot */
  assert_int_equal(count_of(&m, "ernie"), 9);
  kin_store_delete(&m.store, KIN__LIT("pod-16"));
  kin_store_delete(&m.store, KIN__LIT("pod-17"));
  put_users(&m.store, "new-ahead", "bert");
  put_users(&m.store, "new-at-the-end", "bert");
  put_users(&m.store, "newer-at-the-end", "bert");
  assert_int_equal(count_of(&m, "bert"), 1);
  assert_int_equal(count_of(&m, "ernie"), 9);
  while (step(&m, 3)) {
  }
  assert_int_equal(count_of(&m, "bert"), 6);
  assert_int_equal(count_of(&m, "ernie"), 15);
  assert_int_equal(kin_store_count(&m.store), 21);
  teardown_managed(&m);
}

static int fail_for_some(const kin_object *object, kin_index_values *values,
                         void *data) {
  const char *bad = data;
  kin_str name = kin_object_name(object);
  if (kin__str_equal(name, kin__cstr(bad))) {
    return -1;
  }
  return kin_index_emit(values, KIN__LIT("ernie"));
}

/* What an index function fails for has no values in an informer's index; the
 * rest has, and other indices are not concerned. */
static void test_index_build_leaves_failing_out(void **state) {
  (void)state;
  managed m;
  setup_managed(&m, 10);
  char bad[16] = "pod-5";
  assert_int_equal(add_callback(&m.store, "byUser", fail_for_some, bad), 0);
  assert_int_equal(add_callback(&m.store, "other", emit_users, NULL), 0);
  assert_int_equal(m.added, 2);
  int err;
  assert_false(kin__store_index_step(&m.store, 100, &err));
  assert_int_equal(err, 0);
  assert_int_equal(count_of(&m, "ernie"), 9);
  assert_true(kin_store_index_ready(&m.store, "byUser"));
  assert_true(kin_store_index_ready(&m.store, "other"));
  teardown_managed(&m);
}

static void test_index_build_without_memory(void **state) {
  (void)state;
  managed m;
  setup_managed(&m, 10);
  assert_int_equal(add_callback(&m.store, "byUser", emit_users, NULL), 0);
  size_t failures = 0;
  int err = KIN_ENOMEM;
  for (size_t n = 1; err != 0; n++) {
    assert_int_equal(count_of(&m, "ernie"), 0);
    m.memory.fail_at = m.memory.calls + n;
    kin__store_index_step(&m.store, 100, &err);
    failures += err != 0 ? 1 : 0;
    assert_true(err == 0 || err == KIN_ENOMEM);
  }
  assert_true(failures >= 5); /* head, posting and value with their tables */
  assert_int_equal(count_of(&m, "ernie"), 10);
  teardown_managed(&m);
}

/* Values, postings and tables are dropped in bounded steps too. */
static void test_index_clears_in_steps(void **state) {
  (void)state;
  enum { STEP = 50 };
  managed m;
  setup_managed(&m, 3000);
  assert_int_equal(add_pointer(&m.store, "names", "/metadata/name"), 0);
  assert_int_equal(add_callback(&m.store, "byUser", emit_users, NULL), 0);
  while (step(&m, 1000)) {
  }
  assert_int_equal(count_of(&m, "ernie"), 3000);
  size_t blocks = m.memory.live_blocks;
  unsigned steps = 0;
  while (kin__store_clear_step(&m.store, STEP)) {
    assert_true(blocks - m.memory.live_blocks <= 4 * STEP);
    blocks = m.memory.live_blocks;
    steps++;
  }
  assert_true(steps >= 6000 / STEP);         /* objects, then names */
  assert_int_equal(m.memory.live_blocks, 1); /* a reader's lists are in it */
  teardown_managed(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_index_cost_of_an_entry),
      cmocka_unit_test(test_index_failed_allocations_change_nothing),
      cmocka_unit_test(test_index_is_built_in_steps),
      cmocka_unit_test(test_index_of_an_empty_managed_store),
      cmocka_unit_test(test_index_changes_during_a_build),
      cmocka_unit_test(test_index_build_leaves_failing_out),
      cmocka_unit_test(test_index_build_without_memory),
      cmocka_unit_test(test_index_clears_in_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
