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
#include "support/objects.h"
#include "support/store_rig.h"

#define PER_SEGMENT KIN__SEGMENT_MAX

/* Puts an object and keeps no reference to it. */
static const kin_object *put(store_rig *f, const char *key, unsigned version) {
  kin_object *object = object_keyed(NULL, key, version);
  assert_int_equal(kin_store_put(f->store, object), 0);
  kin_object_unref(object);
  return object;
}

static void put_numbered(store_rig *f, unsigned from, unsigned count) {
  for (unsigned i = from; i < from + count; i++) {
    char key[32];
    snprintf(key, sizeof key, "ns/object-%u", i);
    put(f, key, 1);
  }
}

static int remove_key(store_rig *f, const char *key) {
  return kin_store_delete(f->store, kin__cstr(key));
}

static bool str_is(kin_str s, const char *expected) {
  return kin__str_equal(s, kin__cstr(expected));
}

/* client-go TestCache; TS-01, ST-01, NR-01: objects are found by key, and Add
 * and Update are the same. */
static void test_store_put_get_delete(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(kin_store_count(f.store), 0);
  const kin_object *foo = put(&f, "ns/foo", 1);
  const kin_object *bar = put(&f, "ns/bar", 2);
  assert_ptr_equal(kin_store_get_key(f.store, "ns/foo"), foo);
  assert_ptr_equal(kin_store_get(f.store, KIN__LIT("ns/bar")), bar);
  assert_null(kin_store_get_key(f.store, "ns/baz"));
  assert_null(kin_store_get_key(f.store, "foo"));
  assert_null(kin_store_get_key(f.store, ""));
  assert_int_equal(kin_store_count(f.store), 2);

  const kin_object *newer = put(&f, "ns/foo", 3);
  assert_ptr_equal(kin_store_get_key(f.store, "ns/foo"), newer);
  assert_true(str_is(kin_object_resource_version(newer), "3"));
  assert_int_equal(kin_store_count(f.store), 2);

  assert_int_equal(remove_key(&f, "ns/foo"), 0);
  assert_null(kin_store_get_key(f.store, "ns/foo"));
  assert_ptr_equal(kin_store_get_key(f.store, "ns/bar"), bar);
  assert_int_equal(kin_store_count(f.store), 1);
  store_rig_teardown(&f);
}

/* KY-01: the key of a cluster-scoped object is its name alone. */
static void test_store_keys_with_and_without_namespace(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  const kin_object *node = put(&f, "worker-1", 1);
  const kin_object *pod = put(&f, "default/worker-1", 1);
  assert_ptr_equal(kin_store_get_key(f.store, "worker-1"), node);
  assert_ptr_equal(kin_store_get_key(f.store, "default/worker-1"), pod);
  assert_null(kin_store_get_key(f.store, "/worker-1"));
  store_rig_teardown(&f);
}

/* client-go TestThreadSafeStoreRV (its deletions); TS-09. */
static void test_store_delete_of_an_absent_key(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(remove_key(&f, "ns/foo"), KIN_ENOENT);
  put(&f, "ns/foo", 1);
  assert_int_equal(remove_key(&f, "ns/bar"), KIN_ENOENT);
  assert_int_equal(kin_store_count(f.store), 1);
  assert_int_equal(remove_key(&f, "ns/foo"), 0);
  assert_int_equal(remove_key(&f, "ns/foo"), KIN_ENOENT);
  store_rig_teardown(&f);
}

/* TS-01: the store has references of its own, and what it gave out stays valid
 * for those who keep a reference, also after the store is gone. */
static void test_store_counts_references(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  fail_alloc objects;
  fail_alloc_init(&objects, 0);
  kin_object *first = object_keyed(&objects.allocator, "ns/foo", 1);
  kin_object *second = object_keyed(&objects.allocator, "ns/foo", 2);
  assert_int_equal(kin_store_put(f.store, first), 0);
  assert_int_equal(kin_store_put(f.store, second), 0);
  kin_object_unref(second); /* the store has it still */
  assert_true(str_is(kin_object_resource_version(first), "1"));
  kin_object_unref(first); /* nobody has */
  const kin_object *kept = kin_object_ref(kin_store_get_key(f.store, "ns/foo"));
  assert_ptr_equal(kept, second);
  store_rig_teardown(&f);
  assert_true(str_is(kin_object_key(kept), "ns/foo"));
  kin_object_unref(kept);
  assert_int_equal(objects.live_blocks, 0);
}

static void test_store_put_of_the_same_object(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  kin_object *object = object_keyed(NULL, "ns/foo", 1);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(kin_store_put(f.store, object), 0);
    assert_int_equal(kin_store_count(f.store), 1);
    assert_int_equal(kin_store_bytes(f.store), kin_object_memory(object));
  }
  kin_object_unref(object);
  assert_ptr_equal(kin_store_get_key(f.store, "ns/foo"), object);
  store_rig_teardown(&f);
}

static void test_store_sums_bytes(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  assert_int_equal(kin_store_bytes(f.store), 0);
  size_t a = kin_object_memory(put(&f, "ns/a", 1));
  size_t b = kin_object_memory(put(&f, "ns/a-much-longer-name", 1));
  assert_int_equal(kin_store_bytes(f.store), a + b);
  a = kin_object_memory(put(&f, "ns/a", 1000000));
  assert_int_equal(kin_store_bytes(f.store), a + b);
  assert_int_equal(remove_key(&f, "ns/a-much-longer-name"), 0);
  assert_int_equal(kin_store_bytes(f.store), a);
  assert_int_equal(remove_key(&f, "ns/a"), 0);
  assert_int_equal(kin_store_bytes(f.store), 0);
  store_rig_teardown(&f);
}

/* A scan that pauses while other objects come, change and go meets each object
 * that stays exactly once. */
static void test_store_scan_over_a_changing_store(void **state) {
  (void)state;
  enum { COUNT = 3 * PER_SEGMENT };
  store_rig f;
  store_rig_setup(&f);
  put_numbered(&f, 0, COUNT);
  static unsigned met[COUNT];
  memset(met, 0, sizeof met);
  kin_cursor cursor = {0};
  const kin_object *object;
  for (unsigned step = 0; (object = kin_store_next(f.store, &cursor)) != NULL;
       step++) {
    unsigned number;
    const char *name = kin_object_name(object).data;
    if (sscanf(name, "object-%u", &number) == 1 && number < COUNT) {
      met[number]++;
    }
    /* Even numbers stay, and some of them change; odd ones go, late comers
     * take their places. */
    unsigned other = step * 7 % COUNT;
    char key[32];
    snprintf(key, sizeof key, "ns/object-%u", other);
    if (other % 2 == 1) {
      remove_key(&f, key);
    } else {
      put(&f, key, 2);
    }
    if (step % 3 == 0 && step < COUNT) {
      put_numbered(&f, COUNT + step, 1);
    }
  }
  for (unsigned i = 0; i < COUNT; i += 2) {
    assert_int_equal(met[i], 1);
  }
  assert_null(kin_store_next(f.store, &cursor));
  store_rig_teardown(&f);
}

static void test_store_scan_of_an_empty_store(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  kin_cursor cursor = {0};
  assert_null(kin_store_next(f.store, &cursor));
  put(&f, "ns/foo", 1);
  assert_int_equal(remove_key(&f, "ns/foo"), 0);
  assert_null(kin_store_next(f.store, &cursor));
  store_rig_teardown(&f);
}

/* A slot and what an informer writes into it stay as long as the key does. */
static void test_store_slots_are_stable(void **state) {
  (void)state;
  kin__memory *memory = kin__memory_new(NULL);
  kin_store store;
  kin__store_init(&store, memory, (kin__hash_seed){1, 2}, true);
  kin_object *first = object_keyed(NULL, "ns/foo", 1);
  kin_object *second = object_keyed(NULL, "ns/foo", 2);
  uint32_t hash = kin__store_hash(&store, KIN__LIT("ns/foo"));
  uint32_t slot;
  kin_object *old;
  assert_int_equal(kin__store_upsert(&store, first, hash, &slot, &old), 0);
  assert_null(old);
  assert_int_equal(kin__store_at(&store, slot)->generation, 0);
  assert_int_equal(kin__store_at(&store, slot)->scope, 0);
  kin__store_at(&store, slot)->generation = 5;
  kin__store_at(&store, slot)->scope = 3;
  uint32_t again;
  assert_int_equal(kin__store_upsert(&store, second, hash, &again, &old), 0);
  assert_int_equal(again, slot);
  assert_ptr_equal(old, first);
  kin_object_unref(old);
  assert_int_equal(kin__store_at(&store, slot)->generation, 5);
  assert_int_equal(kin__store_at(&store, slot)->scope, 3);
  assert_int_equal(kin__store_find(&store, KIN__LIT("ns/foo"), hash), slot);
  assert_int_equal(kin__store_find(&store, KIN__LIT("ns/fop"), hash),
                   KIN__NO_SLOT);
  old = kin__store_remove(&store, slot);
  assert_ptr_equal(old, second);
  kin_object_unref(old);
  assert_null(kin__store_at(&store, slot)->object);
  kin__store_finish(&store);
  kin_object_unref(first);
  kin_object_unref(second);
  kin__memory_unref(memory);
}

/* Keys, and index values, with one and the same hash are told apart. */
static void test_store_keys_that_collide(void **state) {
  (void)state;
  kin__memory *memory = kin__memory_new(NULL);
  kin_store store;
  kin__store_init(&store, memory, (kin__hash_seed){1, 2}, false);
  kin__memory_unref(memory);
  kin_str a = KIN__LIT("k9361");
  kin_str b = KIN__LIT("k20366");
  assert_int_equal(kin__store_hash(&store, a), kin__store_hash(&store, b));
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = "name";
  options.pointer = "/metadata/name";
  assert_int_equal(kin_store_add_index(&store, &options), 0);
  kin_object *first = object_keyed(NULL, a.data, 1);
  kin_object *second = object_keyed(NULL, b.data, 1);
  assert_int_equal(kin_store_put(&store, first), 0);
  assert_null(kin_store_get(&store, b));
  assert_int_equal(kin_store_index_count(&store, "name", b), 0);
  assert_int_equal(kin_store_put(&store, second), 0);
  assert_ptr_equal(kin_store_get(&store, a), first);
  assert_ptr_equal(kin_store_get(&store, b), second);
  kin_index_cursor cursor;
  assert_int_equal(kin_store_by_index(&store, "name", a, &cursor), 0);
  assert_ptr_equal(kin_store_by_index_next(&store, &cursor), first);
  assert_null(kin_store_by_index_next(&store, &cursor));
  assert_int_equal(kin_store_delete(&store, a), 0);
  assert_null(kin_store_get(&store, a));
  assert_ptr_equal(kin_store_get(&store, b), second);
  assert_int_equal(kin_store_index_count(&store, "name", b), 1);
  kin_object_unref(first);
  kin_object_unref(second);
  kin__store_finish(&store);
}

/* Nobody frees an informer's store behind its back. */
static void test_store_free_ignores_a_managed_store(void **state) {
  (void)state;
  kin_store_free(NULL);
  kin__memory *memory = kin__memory_new(NULL);
  kin_store store;
  kin__store_init(&store, memory, (kin__hash_seed){1, 2}, true);
  kin_object *object = object_keyed(NULL, "ns/foo", 1);
  assert_int_equal(kin_store_put(&store, object), 0);
  kin_store_free(&store);
  assert_ptr_equal(kin_store_get_key(&store, "ns/foo"), object);
  kin_object_unref(object);
  kin__store_finish(&store);
  kin__store_finish(&store);
  kin__memory_unref(memory);
}

/* No single put asks for memory in proportion to what is stored, and an entry
 * costs at most 48 bytes besides its object. */
static void test_store_grows_in_small_steps(void **state) {
  (void)state;
  enum { COUNT = 40 * PER_SEGMENT };
  store_rig f;
  store_rig_setup(&f);
  size_t empty = f.memory.live_bytes;
  size_t began = f.memory.calls;
  for (unsigned i = 0; i < COUNT; i++) {
    size_t calls = f.memory.calls;
    size_t bytes = f.memory.live_bytes;
    put_numbered(&f, i, 1);
    assert_true(f.memory.calls - calls <= 4 + (i == 0)); /* the version */
    assert_true(f.memory.live_bytes - bytes <= 64 * 1024);
  }
  assert_true((f.memory.live_bytes - empty) / COUNT <= 48);
  /* One that grows nothing allocates nothing. */
  assert_true(f.memory.calls - began < COUNT / 200);
  began = f.memory.calls;
  put_numbered(&f, 0, COUNT);
  assert_int_equal(f.memory.calls, began);
  store_rig_teardown(&f);
}

/* Taking a large store down is bounded by what each step may drop. */
static void test_store_clears_in_steps(void **state) {
  (void)state;
  enum { COUNT = 2 * PER_SEGMENT + 100, STEP = 100 };
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__memory *shared = kin__memory_new(&memory.allocator);
  kin_store store;
  kin__store_init(&store, shared, (kin__hash_seed){1, 2}, true);
  kin__memory_unref(shared); /* the store has a reference */
  for (unsigned i = 0; i < COUNT; i++) {
    char key[32];
    snprintf(key, sizeof key, "ns/object-%u", i);
    kin_object *object = object_keyed(NULL, key, 1);
    assert_int_equal(kin_store_put(&store, object), 0);
    kin_object_unref(object);
  }
  unsigned steps = 0;
  size_t blocks = memory.live_blocks;
  while (kin__store_clear_step(&store, STEP)) {
    assert_true(blocks - memory.live_blocks <= STEP);
    blocks = memory.live_blocks;
    steps++;
  }
  assert_true(steps >= COUNT / STEP);
  assert_int_equal(memory.live_blocks, 1); /* a reader's lists are in it */
  assert_false(kin__store_clear_step(&store, STEP));
  kin__store_finish(&store);
  assert_int_equal(memory.live_blocks, 0);
}

/* Also in the middle of it. */
static void test_store_finish_completes_clearing(void **state) {
  (void)state;
  kin__memory *memory = kin__memory_new(NULL);
  kin_store store;
  kin__store_init(&store, memory, (kin__hash_seed){1, 2}, true);
  kin__memory_unref(memory);
  for (unsigned i = 0; i < 10; i++) {
    char key[32];
    snprintf(key, sizeof key, "ns/object-%u", i);
    kin_object *object = object_keyed(NULL, key, 1);
    assert_int_equal(kin_store_put(&store, object), 0);
    kin_object_unref(object);
  }
  assert_true(kin__store_clear_step(&store, 3));
  kin__store_finish(&store);
}

static void assert_looks_empty(const kin_store *store) {
  kin_cursor cursor = {0};
  assert_int_equal(kin_store_count(store), 0);
  assert_int_equal(kin_store_bytes(store), 0);
  assert_null(kin_store_get_key(store, "ns/object-1"));
  assert_null(kin_store_next(store, &cursor));
  assert_null(kin__store_index(store, "all"));
}

/* A closing informer's store is empty for its readers, while its content is
 * freed in steps. */
static void test_hidden_store_is_empty(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__memory *shared = kin__memory_new(&memory.allocator);
  kin_store store;
  kin__store_init(&store, shared, (kin__hash_seed){1, 2}, true);
  kin__memory_unref(shared);
  kin_object *objects[10];
  for (unsigned i = 0; i < 10; i++) {
    char key[32];
    snprintf(key, sizeof key, "ns/object-%u", i);
    objects[i] = object_keyed(NULL, key, 1);
    assert_int_equal(kin_store_put(&store, objects[i]), 0);
  }
  kin__store_hide(&store);
  assert_looks_empty(&store);
  assert_int_equal(kin_store_put(&store, objects[0]), KIN_ECLOSED);
  kin_store_op op = {.type = KIN_STORE_PUT, .object = objects[0]};
  assert_int_equal(kin_store_transact(&store, &op, 1, NULL), KIN_ECLOSED);
  assert_int_equal(kin_store_delete(&store, kin__cstr("ns/object-1")),
                   KIN_ECLOSED);
  do {
    kin__store_hide(&store);
    assert_looks_empty(&store);
  } while (kin__store_clear_step(&store, 1));
  assert_looks_empty(&store);
  assert_int_equal(kin_store_put(&store, objects[0]), KIN_ECLOSED);
  kin__store_finish(&store);
  for (unsigned i = 0; i < 10; i++) {
    kin_object_unref(objects[i]);
  }
  assert_int_equal(memory.live_blocks, 0);
}

static void test_store_new_fails_cleanly(void **state) {
  (void)state;
  for (size_t n = 1;; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    kin_store *store;
    kin_store_options options = KIN_STORE_OPTIONS_INIT;
    options.allocator = &memory.allocator;
    int err = kin_store_new(&store, &options);
    if (!fail_alloc_has_failed(&memory)) {
      assert_int_equal(err, 0);
      kin_store_free(store);
      assert_int_equal(memory.live_blocks, 0);
      break;
    }
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(store);
    assert_int_equal(memory.live_blocks, 0);
  }
}

/* Each allocation of a growing store fails once: that put fails and changes
 * nothing, all else works. */
static void test_store_put_fails_cleanly(void **state) {
  (void)state;
  enum { COUNT = 2 * PER_SEGMENT + 1 };
  static kin_object *objects[COUNT];
  for (unsigned i = 0; i < COUNT; i++) {
    char key[32];
    snprintf(key, sizeof key, "ns/object-%u", i);
    objects[i] = object_keyed(NULL, key, 1);
  }
  bool has_failed = true;
  for (size_t n = 1; has_failed; n++) {
    store_rig f;
    store_rig_setup(&f);
    f.memory.fail_at = f.memory.calls + n;
    unsigned failures = 0;
    for (unsigned i = 0; i < COUNT; i++) {
      int err = kin_store_put(f.store, objects[i]);
      if (err != 0) {
        assert_int_equal(err, KIN_ENOMEM);
        assert_int_equal(++failures, 1);
        assert_int_equal(kin_store_count(f.store), i);
        assert_null(kin_store_get(f.store, kin_object_key(objects[i])));
        assert_int_equal(kin_store_put(f.store, objects[i]), 0);
      }
    }
    kin_cursor cursor = {0};
    unsigned met = 0;
    while (kin_store_next(f.store, &cursor) != NULL) {
      met++;
    }
    assert_int_equal(met, COUNT);
    has_failed = fail_alloc_has_failed(&f.memory);
    store_rig_teardown(&f);
  }
  for (unsigned i = 0; i < COUNT; i++) {
    kin_object_unref(objects[i]);
  }
}

/* What an index callback tries while its store is in the middle of a change,
 * and what it was told. */
typedef struct meddler {
  kin_store *store;
  const kin_object *other;
  unsigned calls;
} meddler;

static int meddle(const kin_object *object, kin_index_values *values,
                  void *data) {
  meddler *m = data;
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "late";
  index.pointer = "/metadata/name";
  kin_store_op ops[] = {{.type = KIN_STORE_PUT, .object = m->other},
                        {.type = KIN_STORE_DELETE, .key = kin__cstr("ns/a")}};
  m->calls++;
  assert_int_equal(kin_index_emit(values, kin_object_name(object)), 0);
  assert_int_equal(kin_store_put(m->store, m->other), KIN_EALREADY);
  assert_int_equal(kin_store_delete(m->store, kin__cstr("ns/a")), KIN_EALREADY);
  assert_int_equal(kin_store_delete_object(m->store, object), KIN_EALREADY);
  assert_int_equal(kin_store_replace(m->store, NULL, 0, kin__cstr("9")),
                   KIN_EALREADY);
  assert_int_equal(kin_store_add_index(m->store, &index), KIN_EALREADY);
  assert_int_equal(kin_store_bookmark(m->store, kin__cstr("9")), KIN_EALREADY);
  assert_int_equal(kin_store_transact(m->store, ops, 2, NULL), KIN_EALREADY);
  assert_int_equal(ops[1].error, KIN_EALREADY);
  return kin_index_emit(values, kin__cstr("all"));
}

/* A callback that changes its store would pull the change it is part of away
 * from under it. */
static void test_store_index_callback_changes_nothing(void **state) {
  (void)state;
  store_rig f;
  store_rig_setup(&f);
  kin_object *other = object_keyed(NULL, "ns/other", 1);
  meddler m = {f.store, other, 0};
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "meddled";
  index.cb = meddle;
  index.data = &m;
  put(&f, "ns/a", 1);
  assert_int_equal(kin_store_add_index(f.store, &index), 0);
  put(&f, "ns/b", 1);
  put(&f, "ns/a", 2);
  assert_int_equal(m.calls, 3);
  assert_int_equal(kin_store_count(f.store), 2);
  assert_true(str_is(kin_store_resource_version(f.store), "2"));
  assert_int_equal(kin_store_index_count(f.store, "meddled", kin__cstr("all")),
                   2);
  const kin_object *const listed[] = {kin_store_get_key(f.store, "ns/a"),
                                      other};
  assert_int_equal(kin_store_replace(f.store, listed, 2, kin__cstr("9")), 0);
  assert_int_equal(m.calls, 5);
  kin_object_list *found;
  assert_int_equal(kin_store_list_like(f.store, "meddled", other, &found), 0);
  assert_int_equal(m.calls, 6);
  kin_object_list_free(found);
  assert_int_equal(kin_store_count(f.store), 2);
  assert_int_equal(kin_store_put(f.store, other), 0);
  assert_int_equal(remove_key(&f, "ns/other"), 0);
  kin_object_unref(other);
  store_rig_teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_store_put_get_delete),
      cmocka_unit_test(test_store_keys_with_and_without_namespace),
      cmocka_unit_test(test_store_delete_of_an_absent_key),
      cmocka_unit_test(test_store_counts_references),
      cmocka_unit_test(test_store_put_of_the_same_object),
      cmocka_unit_test(test_store_sums_bytes),
      cmocka_unit_test(test_store_scan_over_a_changing_store),
      cmocka_unit_test(test_store_scan_of_an_empty_store),
      cmocka_unit_test(test_store_slots_are_stable),
      cmocka_unit_test(test_store_keys_that_collide),
      cmocka_unit_test(test_store_free_ignores_a_managed_store),
      cmocka_unit_test(test_store_grows_in_small_steps),
      cmocka_unit_test(test_store_clears_in_steps),
      cmocka_unit_test(test_store_finish_completes_clearing),
      cmocka_unit_test(test_hidden_store_is_empty),
      cmocka_unit_test(test_store_new_fails_cleanly),
      cmocka_unit_test(test_store_put_fails_cleanly),
      cmocka_unit_test(test_store_index_callback_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
