/* SPDX-License-Identifier: MIT */

/* Where memory comes from: an allocator is copied, and what is made of
 * something takes its memory from the same. Proves the promises of
 * <kin/allocator.h>; that free never gets NULL and realloc gets the old size is
 * what fail_alloc aborts for, in every test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/selector.h>
#include <kin/store.h>
#include <kin/yyjson.h>

#include "base/str.h"
#include "object/object.h"
#include "support/fail_alloc.h"

#define TEXT                                                                   \
  "{\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}},\"x\":[1,2]}"

typedef struct world {
  fail_alloc memory;
  kin_allocator given;
  size_t calls; /* at the last look */
} world;

static void open_world(world *w) {
  fail_alloc_init(&w->memory, 0);
  w->given = w->memory.allocator;
  w->calls = 0;
}

/* What was given is gone. */
static void forget(world *w) {
  memset(&w->given, 0, sizeof w->given);
}

/* Memory was taken from the world's allocator since the last look. */
static void assert_took(world *w) {
  size_t calls = atomic_load(&w->memory.calls);
  assert_true(calls > w->calls);
  w->calls = calls;
}

static void close_world(const world *w) {
  assert_int_equal(atomic_load(&w->memory.live_blocks), 0);
}

static void test_object(void **state) {
  (void)state;
  world w;
  open_world(&w);
  kin_object *object;
  assert_int_equal(kin_object_parse(&object, &w.given, TEXT, strlen(TEXT)), 0);
  assert_took(&w);
  forget(&w);
  /* All that belongs to it, and no more than was taken. */
  size_t parts = kin__object_part(object, KIN_MUTATION_HEADER).length +
                 kin__object_part(object, KIN_MUTATION_STRINGS).length +
                 kin__object_part(object, KIN_MUTATION_JSON).length;
  assert_in_range(kin_object_memory(object), parts,
                  atomic_load(&w.memory.live_bytes));
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  assert_took(&w);
  int err = 0;
  assert_non_null(kin_object_view_document(view, &err));
  assert_took(&w);
  kin_object_unref(object); /* the view keeps it */
  assert_int_equal(kin_object_view_json(view).length, strlen(TEXT));
  kin_object_view_close(view);
  close_world(&w);
}

static int remove_x(const kin_object *in, kin_object_builder *out, void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_remove(out, "/x");
}

static void test_builder(void **state) {
  (void)state;
  world w;
  open_world(&w);
  kin_object_builder *builder;
  assert_int_equal(kin_object_builder_new(&builder, &w.given, NULL), 0);
  assert_took(&w);
  forget(&w);
  kin_object_builder_set_string(builder, "/metadata/name", "b");
  kin_object_builder_set_int(builder, "/x", 7);
  kin_object *object;
  assert_int_equal(kin_object_builder_finish(builder, &object), 0);
  assert_took(&w);
  kin_object *made;
  assert_int_equal(kin_object_transform(object, remove_x, NULL, &made), 0);
  assert_ptr_not_equal(made, object);
  assert_took(&w);
  kin_object_unref(object);
  kin_object_unref(made);
  close_world(&w);
}

static void test_selector(void **state) {
  (void)state;
  for (int is_nothing = 0; is_nothing < 2; is_nothing++) {
    world w;
    open_world(&w);
    kin_selector *selector;
    int err = is_nothing ? kin_selector_nothing(&selector, &w.given)
                         : kin_selector_parse(&selector, &w.given, "l=1");
    assert_int_equal(err, 0);
    assert_took(&w);
    forget(&w);
    assert_int_equal(kin_selector_is_nothing(selector), is_nothing);
    kin_selector_free(selector);
    close_world(&w);
  }
}

/* Lists are handed out, and may be there for longer than the store. */
static void test_store(void **state) {
  (void)state;
  world w;
  open_world(&w);
  kin_store_options options = KIN_STORE_OPTIONS_INIT;
  options.allocator = &w.given;
  kin_store *store;
  assert_int_equal(kin_store_new(&store, &options), 0);
  assert_took(&w);
  forget(&w);
  memset(&options, 0xff, sizeof options);
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "l";
  index.pointer = "/metadata/labels/l";
  assert_int_equal(kin_store_add_index(store, &index), 0);
  assert_took(&w);
  kin_object *object;
  assert_int_equal(kin_object_parse(&object, NULL, TEXT, strlen(TEXT)), 0);
  assert_int_equal(kin_store_put(store, object), 0);
  assert_took(&w);
  kin_object_list *all;
  kin_object_list *some;
  assert_int_equal(kin_store_list(store, &all), 0);
  assert_took(&w);
  assert_int_equal(kin_store_list_by_index(store, "l", KIN__LIT("1"), &some),
                   0);
  assert_took(&w);
  kin_store_free(store);
  kin_object_unref(object);
  assert_ptr_equal(all->objects[0], object);
  assert_string_equal(kin_object_key(some->objects[0]).data, "a");
  kin_object_list_free(all);
  kin_object_list_free(some);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_object),
      cmocka_unit_test(test_builder),
      cmocka_unit_test(test_selector),
      cmocka_unit_test(test_store),
  };
  return cmocka_run_group_tests_name("allocator", tests, NULL, NULL);
}
