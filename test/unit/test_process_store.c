/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/process.h>

#include "base/str.h"
#include "store/store.h"
#include "support/indices.h"
#include "support/objects.h"

/* The store after processing, and handlers that write to it. The calls of the
 * handlers are in test_process.c. */

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A store, three objects, and what was told last. */
typedef struct world {
  kin_store *store;
  kin_object *a;
  kin_object *b;
  kin_object *c;
  kin_process_handlers handlers;
  unsigned calls;
  const kin_object *old_object;
  const kin_object *object;
  bool is_initial;
  void (*during)(struct world *w);
} world;

static void told(world *w, const kin_object *old_object,
                 const kin_object *object) {
  w->calls++;
  w->old_object = old_object;
  w->object = object;
  if (w->during != NULL) {
    w->during(w);
  }
}

static void on_add(const kin_object *object, bool is_initial, void *data) {
  world *w = data;
  w->is_initial = is_initial;
  told(w, NULL, object);
}

static void on_update(const kin_object *old_object, const kin_object *object,
                      void *data) {
  told(data, old_object, object);
}

static void on_delete(kin_str key, const kin_object *object, bool is_tombstone,
                      void *data) {
  (void)key;
  (void)is_tombstone;
  told(data, NULL, object);
}

static int mark(const kin_object *in, kin_object_builder *out, void *data) {
  (void)in;
  ++*(unsigned *)data;
  return kin_object_builder_set_string(out, "/metadata/labels/marked", "yes");
}

static unsigned transforms;

static void world_open(world *w, kin_transform_cb transform) {
  memset(w, 0, sizeof *w);
  transforms = 0;
  kin_store_options options = KIN_STORE_OPTIONS_INIT;
  options.transform = transform;
  options.data = &transforms;
  assert_int_equal(kin_store_new(&w->store, &options), 0);
  w->a = object_keyed(NULL, "ns/a", 1);
  w->b = object_keyed(NULL, "ns/b", 2);
  w->c = object_keyed(NULL, "c", 3);
  w->handlers = (kin_process_handlers)KIN_PROCESS_HANDLERS_INIT;
  w->handlers.on_add = on_add;
  w->handlers.on_update = on_update;
  w->handlers.on_delete = on_delete;
  w->handlers.data = w;
}

static void world_close(world *w) {
  kin_object_unref(w->a);
  kin_object_unref(w->b);
  kin_object_unref(w->c);
  kin_store_free(w->store);
}

static int process(world *w, const kin_delta *items, size_t count) {
  const kin_deltas deltas = {items, count};
  return kin_process_deltas(w->store, &w->handlers, &deltas, false);
}

static int process_batch(world *w, const kin_delta *items, size_t count) {
  const kin_deltas deltas = {items, count};
  return kin_process_batch(w->store, &w->handlers, &deltas, true);
}

static bool is_marked(const kin_object *object) {
  kin_str value;
  return kin_object_label(object, "marked", &value);
}

static const kin_object *stored(const world *w, const char *key) {
  return kin_store_get_key(w->store, key);
}

/* PD-01: a handler is told of the object of the change, whatever the store's
 * transform has made of it; what the store had is as the store had it. */
static void test_process_store_transforms(void **state) {
  (void)state;
  world w;
  world_open(&w, mark);
  const kin_delta put = {.type = KIN_DELTA_ADDED, .object = w.a};
  assert_int_equal(process(&w, &put, 1), 0);
  assert_ptr_equal(w.object, w.a);
  assert_true(is_marked(stored(&w, "ns/a")));
  kin_object *had = kin_object_ref(stored(&w, "ns/a"));
  assert_int_equal(process(&w, &put, 1), 0);
  assert_ptr_equal(w.object, w.a);
  assert_ptr_equal(w.old_object, had);
  kin_object_unref(had);

  const kin_object *const listed[] = {w.b};
  const kin_delta list = {.type = KIN_DELTA_REPLACED_ALL,
                          .resource_version = KIN__LIT("9"),
                          .objects = listed,
                          .object_count = 1};
  assert_int_equal(process(&w, &list, 1), 0);
  assert_ptr_equal(w.object, w.b);
  assert_true(is_marked(stored(&w, "ns/b")));

  const kin_delta sync = {.type = KIN_DELTA_SYNC_ALL};
  assert_int_equal(process(&w, &sync, 1), 0);
  assert_ptr_equal(w.object, stored(&w, "ns/b"));
  assert_ptr_equal(w.old_object, stored(&w, "ns/b"));
  world_close(&w);
}

/* PD-07, ST-05: but for a batch, which is a transaction. */
static void test_process_store_batch_does_not_transform(void **state) {
  (void)state;
  world w;
  world_open(&w, mark);
  const kin_delta batch[] = {{.type = KIN_DELTA_ADDED, .object = w.a},
                             {.type = KIN_DELTA_UPDATED, .object = w.c}};
  assert_int_equal(process_batch(&w, batch, 2), 0);
  assert_int_equal(transforms, 0);
  assert_ptr_equal(stored(&w, "ns/a"), w.a);
  assert_ptr_equal(stored(&w, "c"), w.c);
  assert_int_equal(w.calls, 2);
  assert_true(w.is_initial);
  world_close(&w);
}

static int refuse_b(const kin_object *object, kin_index_values *values,
                    void *data) {
  (void)data;
  bool is_b = kin__str_equal(kin_object_name(object), KIN__LIT("b"));
  return is_b ? -1 : kin_index_emit(values, KIN__LIT("x"));
}

/* Processes changes of every kind into the store that calls it. */
static int meddle(const kin_object *object, kin_index_values *values,
                  void *data) {
  world *w = data;
  const kin_delta items[] = {{.type = KIN_DELTA_ADDED, .object = w->c},
                             {.type = KIN_DELTA_DELETED, .object = w->a},
                             {.type = KIN_DELTA_REPLACED_ALL},
                             {.type = KIN_DELTA_SYNC_ALL},
                             {.type = KIN_DELTA_BOOKMARK}};
  for (size_t i = 0; i < COUNT_OF(items); i++) {
    assert_int_equal(process(w, &items[i], 1), KIN_EALREADY);
  }
  assert_int_equal(process_batch(w, items, 2), KIN_EALREADY);
  return kin_index_emit(values, kin_object_name(object));
}

/* PD-03: an index callback changes nothing, whether one object or a list is
 * being stored. */
static void test_process_store_not_in_index_callbacks(void **state) {
  (void)state;
  world w;
  world_open(&w, NULL);
  assert_int_equal(kin_store_put(w.store, w.a), 0);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "meddled";
  index.cb = meddle;
  index.data = &w;
  assert_int_equal(kin_store_add_index(w.store, &index), 0);
  const kin_object *const listed[] = {w.a, w.b};
  const kin_delta items[] = {
      {.type = KIN_DELTA_ADDED, .object = w.b},
      {.type = KIN_DELTA_REPLACED_ALL, .objects = listed, .object_count = 2}};
  assert_int_equal(process(&w, items, 2), 0);
  assert_int_equal(w.calls, 3);
  assert_int_equal(kin_store_count(w.store), 2);
  world_close(&w);
}

/* PD-03: the first change that fails ends it: those before it stay, those after
 * it are not made, and the handlers know. */
static void test_process_store_fails_part_way(void **state) {
  (void)state;
  world w;
  world_open(&w, NULL);
  assert_int_equal(add_callback(w.store, "fails", refuse_b, NULL), 0);
  const kin_delta item[] = {{.type = KIN_DELTA_ADDED, .object = w.a},
                            {.type = KIN_DELTA_ADDED, .object = w.b},
                            {.type = KIN_DELTA_ADDED, .object = w.c}};
  assert_int_equal(process(&w, item, 3), KIN_EINDEX);
  assert_int_equal(w.calls, 1);
  assert_ptr_equal(w.object, w.a);
  assert_int_equal(kin_store_count(w.store), 1);
  assert_true(
      kin__str_equal(kin_store_resource_version(w.store), KIN__LIT("1")));
  world_close(&w);
}

/* An informer's store is its own. */
static void test_process_store_of_an_informer(void **state) {
  (void)state;
  world w;
  world_open(&w, NULL);
  w.store->is_managed = true;
  const kin_delta put = {.type = KIN_DELTA_ADDED, .object = w.a};
  assert_int_equal(process(&w, &put, 1), KIN_EINVAL);
  assert_int_equal(process(&w, NULL, 0), KIN_EINVAL);
  assert_int_equal(process_batch(&w, &put, 1), KIN_EINVAL);
  assert_int_equal(w.calls, 0);
  assert_int_equal(kin_store_count(w.store), 0);
  w.store->is_managed = false;
  world_close(&w);
}

/* A change of a batch is about the key of its object. */
static void test_process_store_keys_of_a_batch(void **state) {
  (void)state;
  static const kin_delta_type types[] = {KIN_DELTA_ADDED, KIN_DELTA_SYNC,
                                         KIN_DELTA_DELETED};
  world w;
  world_open(&w, NULL);
  for (size_t i = 0; i < COUNT_OF(types); i++) {
    const kin_delta batch[] = {
        {.type = KIN_DELTA_ADDED, .object = w.c},
        {.type = types[i], .key = KIN__LIT("ns/b"), .object = w.a}};
    assert_int_equal(process_batch(&w, batch, 2), KIN_EKEY);
  }
  assert_int_equal(w.calls, 0);
  assert_int_equal(kin_store_count(w.store), 0);
  world_close(&w);
}

/* A handler that takes away what it is told of, and writes something else. */
static void write_other(world *w) {
  (void)kin_store_delete(w->store, kin_object_key(w->object));
  if (w->calls == 1) {
    assert_int_equal(kin_store_put(w->store, w->c), 0);
  }
  assert_true(kin_object_name(w->object).length > 0);
}

/* CO-06: handlers may write to the store, whatever it is that they are told
 * of; what they are given stays until they return. */
static void test_process_store_is_written_by_handlers(void **state) {
  (void)state;
  const kin_delta_type types[] = {KIN_DELTA_ADDED, KIN_DELTA_DELETED,
                                  KIN_DELTA_SYNC_ALL};
  for (int is_batch = 0; is_batch < 2; is_batch++) {
    for (size_t i = 0; i < COUNT_OF(types); i++) {
      world w;
      world_open(&w, NULL);
      assert_int_equal(kin_store_put(w.store, w.b), 0);
      w.during = write_other;
      bool is_all = types[i] == KIN_DELTA_SYNC_ALL;
      const kin_delta items[] = {
          {.type = types[i], .object = is_all ? NULL : w.b},
          {.type = KIN_DELTA_ADDED, .object = w.a}};
      if (is_batch == 0) {
        assert_int_equal(process(&w, items, is_all ? 1 : 2), 0);
      } else if (!is_all) {
        assert_int_equal(process_batch(&w, items, 2), 0);
      } else {
        world_close(&w);
        continue;
      }
      assert_int_equal(w.calls, is_all ? 1 : 2);
      assert_null(stored(&w, "ns/b"));
      assert_null(stored(&w, "ns/a"));
      assert_int_equal(kin_store_count(w.store), 1);
      world_close(&w);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_process_store_transforms),
      cmocka_unit_test(test_process_store_batch_does_not_transform),
      cmocka_unit_test(test_process_store_not_in_index_callbacks),
      cmocka_unit_test(test_process_store_fails_part_way),
      cmocka_unit_test(test_process_store_of_an_informer),
      cmocka_unit_test(test_process_store_keys_of_a_batch),
      cmocka_unit_test(test_process_store_is_written_by_handlers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
