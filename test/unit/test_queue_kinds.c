/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "support/objects.h"
#include "support/queue_rig.h"

/* Properties of all kinds of queue. Bad input and calls from callbacks have tests
 * of their own. See support/queue_rig.h for the notation. */

static const rig_kind kinds[] = {RIG_FIFO, RIG_DELTA, RIG_IN_ORDER};
#define KINDS (sizeof kinds / sizeof kinds[0])

typedef int (*maker)(kin_queue **out, const kin_queue_options *options);
static const maker makers[] = {kin_queue_new_fifo, kin_queue_new_delta,
                               kin_queue_new_in_order};

static const kin_object *only_object_of(const kin_queue_item *item) {
  const kin_delta *newest = kin_deltas_newest(&item->deltas);
  return newest->object_count > 0 ? newest->objects[0] : newest->object;
}

static const kin_object *object_seen;

static void see_object(queue_rig *rig, kin_queue_item *item) {
  (void)rig;
  object_seen = only_object_of(item);
}

/* A queue takes a reference and makes no copy: the popped object is the added
 * one. */
static void test_queue_kinds_do_not_copy(void **state) {
  (void)state;
  for (size_t kind = 0; kind < KINDS; kind++) {
    for (int is_list = 0; is_list < 2; is_list++) {
      queue_rig rig;
      queue_rig_open_simple(&rig, kinds[kind], NULL);
      kin_object *object = queue_rig_object(&rig, "foo@1", 5);
      const kin_object *const list[] = {object};
      assert_int_equal(
          is_list != 0 ? kin_queue_replace(rig.queue, list, 1, KIN__LIT("1"))
                       : kin_queue_add(rig.queue, object),
          0);
      rig.during = see_object;
      queue_rig_do(&rig, "P");
      assert_ptr_equal(object_seen, object);
      kin_object_unref(object);
      queue_rig_close(&rig);
    }
  }
}

/* Name and allocator of the options are the caller's again at once. */
static void test_queue_kinds_copy_options(void **state) {
  (void)state;
  for (size_t kind = 0; kind < KINDS; kind++) {
    fail_alloc memory;
    fail_alloc_init(&memory, 0);
    kin_allocator allocator = memory.allocator;
    char name[] = "pods";
    kin_queue_options options = KIN_QUEUE_OPTIONS_INIT;
    options.allocator = &allocator;
    options.name = name;
    kin_queue *queue;
    assert_int_equal(makers[kind](&queue, &options), 0);
    memset(name, 'x', sizeof name - 1);
    memset(&allocator, 0, sizeof allocator);
    memset(&options, 0xff, sizeof options);
    assert_string_equal(kin_queue_name(queue), "pods");
    kin_object *object = object_keyed(NULL, "foo", 1);
    assert_int_equal(kin_queue_add(queue, object), 0);
    kin_object_unref(object);
    assert_true(memory.live_blocks > 0);
    kin_queue_free(queue);
    assert_int_equal(memory.live_blocks, 0);
  }
}

/* QF-16: keys fill a FIFO, however many changes each has. Changes fill a delta
 * queue, of one key or of many. Without a limit nothing does. */
static void test_queue_kinds_are_full(void **state) {
  (void)state;
  static const rig_kind keyed[] = {RIG_FIFO, RIG_DELTA};
  for (size_t kind = 0; kind < 2; kind++) {
    queue_rig rig;
    queue_rig_init(&rig);
    rig.options.pending_limit = 2;
    queue_rig_open(&rig, keyed[kind]);
    queue_rig_do(&rig, "A:a@1 U:a@2 U:a@3");
    assert_int_equal(kin_queue_is_full(rig.queue), keyed[kind] == RIG_DELTA);
    queue_rig_do(&rig, "A:b@1");
    assert_true(kin_queue_is_full(rig.queue));
    queue_rig_do(&rig, "A:c@1 U:a@4 P"); /* nothing is refused */
    assert_true(kin_queue_is_full(rig.queue));
    queue_rig_do(&rig, "P");
    assert_false(kin_queue_is_full(rig.queue));
    queue_rig_close(&rig);

    queue_rig_open_simple(&rig, keyed[kind], NULL);
    for (unsigned i = 0; i < 2100; i++) {
      char text[16];
      snprintf(text, sizeof text, "A:a%u@1", i);
      queue_rig_do(&rig, text);
    }
    assert_int_equal(kin_queue_count(rig.queue), 2100);
    assert_false(kin_queue_is_full(rig.queue));
    queue_rig_close(&rig);
  }
}

/* Only a queue in order makes batches. */
static void test_queue_kinds_delta_makes_no_batches(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_DELTA, NULL);
  queue_rig_do(&rig, "A:a@1 U:a@2 A:b@1");
  queue_rig_drain_batches(&rig, "A:a@1 U:a@2 | A:b@1");
  queue_rig_close(&rig);
}

/* OQ-01: of several changes that are put back a FIFO takes the newest, and only
 * that has to be one that it can take. */
static void test_queue_kinds_fifo_restores_the_newest(void **state) {
  (void)state;
  queue_rig rig;
  queue_rig_open_simple(&rig, RIG_FIFO, NULL);
  kin_object *first = queue_rig_object(&rig, "a@1", 3);
  kin_object *second = queue_rig_object(&rig, "a@2", 3);
  const kin_delta back[] = {{.type = KIN_DELTA_DELETED, .object = first},
                            {.type = KIN_DELTA_UPDATED, .object = second}};
  const kin_delta gone[] = {{.type = KIN_DELTA_UPDATED, .object = first},
                            {.type = KIN_DELTA_DELETED, .object = second}};
  assert_int_equal(
      kin_queue_add_if_not_present(rig.queue, &(kin_deltas){gone, 2}),
      KIN_EINVAL);
  assert_int_equal(
      kin_queue_add_if_not_present(rig.queue, &(kin_deltas){back, 2}), 0);
  kin_object_unref(first);
  kin_object_unref(second);
  queue_rig_drain(&rig, "U:a@2");
  queue_rig_close(&rig);
}

static char version_seen[65600];

/* Strings are NUL-terminated; what has no key has an empty one. */
static void see_version(queue_rig *rig, kin_queue_item *item) {
  (void)rig;
  const kin_delta *d = &item->deltas.items[0];
  assert_int_equal(d->key.length, 0);
  assert_null(d->object);
  version_seen[0] = '\0';
  if (d->type != KIN_DELTA_SYNC_ALL) {
    assert_int_equal(d->resource_version.data[d->resource_version.length],
                     '\0');
    memcpy(version_seen, d->resource_version.data,
           d->resource_version.length + 1);
  }
  kin_deltas *copy;
  assert_int_equal(kin_deltas_copy(&copy, &item->deltas, NULL), 0);
  d = &copy->items[0];
  assert_int_equal(d->key.length, 0);
  assert_null(d->object);
  assert_string_equal(d->resource_version.data, version_seen);
  kin_deltas_free(copy);
}

/* Versions of 65,535 bytes, of text that goes on behind them. */
static void test_queue_kinds_long_versions(void **state) {
  (void)state;
  static char text[65537];
  memset(text, '1', sizeof text - 1);
  const kin_str version = {text, 65535};
  for (size_t kind = 0; kind < KINDS; kind++) {
    queue_rig rig;
    queue_rig_init(&rig);
    rig.options.emit_bookmarks = kinds[kind] == RIG_IN_ORDER;
    queue_rig_open(&rig, kinds[kind]);
    assert_int_equal(kin_queue_replace(rig.queue, NULL, 0, version), 0);
    assert_int_equal(kin_queue_bookmark(rig.queue, version), 0);
    size_t count = kinds[kind] == RIG_IN_ORDER ? 2 : 0;
    assert_int_equal(kin_queue_count(rig.queue), count);
    rig.during = see_version;
    for (size_t i = 0; i < count; i++) {
      queue_rig_do(&rig, "P");
      assert_int_equal(strlen(version_seen), 65535);
    }
    if (count > 0) {
      queue_rig_do(&rig, "S P");
      assert_string_equal(version_seen, "");
    }
    queue_rig_close(&rig);
  }
}

static int call_back(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)in;
  (void)out;
  queue_rig *rig = data;
  assert_int_equal(queue_rig_try(rig, "A:x@1"), KIN_EALREADY);
  assert_int_equal(queue_rig_try(rig, "D:x@1"), KIN_EALREADY);
  return KIN_ENOMEM;
}

/* A call that is refused inside a callback does not count as a first change. */
static void test_queue_kinds_refused_calls_do_not_count(void **state) {
  (void)state;
  for (size_t kind = 0; kind < KINDS; kind++) {
    queue_rig rig;
    queue_rig_init(&rig);
    rig.options.transform = call_back;
    queue_rig_open(&rig, kinds[kind]);
    assert_int_equal(queue_rig_try(&rig, "A:a@1"), KIN_ENOMEM);
    assert_false(kin_queue_has_synced(rig.queue));
    assert_int_equal(kin_queue_count(rig.queue), 0);
    queue_rig_close(&rig);
  }
}

static int free_inside(const kin_object *in, kin_object_builder *out,
                       void *data) {
  (void)in;
  (void)out;
  queue_rig *rig = data;
  kin_queue_free(rig->queue);
  assert_true(rig->memory.live_blocks > 0); /* until the call returns */
  return 0;
}

/* Freeing takes effect when the call that made the callback returns, whatever
 * callback it was. */
static void test_queue_kinds_freed_by_a_transform(void **state) {
  (void)state;
  static const char *const operations[] = {"A:a@1", "R:a@1,b@1"};
  for (size_t kind = 0; kind < KINDS; kind++) {
    for (size_t i = 0; i < 2; i++) {
      queue_rig rig;
      queue_rig_init(&rig);
      rig.options.transform = free_inside;
      queue_rig_open(&rig, kinds[kind]);
      queue_rig_do(&rig, operations[i]);
      assert_int_equal(rig.memory.live_blocks, 0);
      assert_int_equal(rig.told, 0);
      rig.queue = NULL;
      queue_rig_close(&rig);
    }
  }
}

/* A copy of changes is of the allocator that it was given, which may be gone
 * before the copy is; it has references of its own. */
static void test_queue_kinds_copies_have_their_allocator(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  fail_alloc objects;
  fail_alloc_init(&objects, 0);
  kin_object *object = object_keyed(&objects.allocator, "ns/a", 1);
  const kin_object *const list[] = {object};
  char key[] = "b";
  const kin_delta items[] = {
      {.type = KIN_DELTA_ADDED, .object = object},
      {.type = KIN_DELTA_DELETED, .is_tombstone = true, .key = {key, 1}},
      {.type = KIN_DELTA_REPLACED_ALL,
       .resource_version = KIN__LIT("7"),
       .objects = list,
       .object_count = 1}};
  const kin_deltas deltas = {items, 3};
  kin_allocator allocator = memory.allocator;
  kin_deltas *copy;
  memory.fail_at = 1;
  assert_int_equal(kin_deltas_copy(&copy, &deltas, &allocator), KIN_ENOMEM);
  assert_null(copy);
  memory.fail_at = 0;
  assert_int_equal(kin_deltas_copy(&copy, &deltas, &allocator), 0);
  assert_true(memory.live_blocks > 0);
  memset(&allocator, 0, sizeof allocator);
  key[0] = 'x';
  kin_object_unref(object);
  char text[64];
  queue_rig_describe(text, sizeof text, copy);
  assert_string_equal(text, "A:ns/a@1 X:b@- R*(ns/a@1)#7");
  kin_deltas_free(copy);
  assert_int_equal(memory.live_blocks, 0);
  assert_int_equal(objects.live_blocks, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue_kinds_do_not_copy),
      cmocka_unit_test(test_queue_kinds_copy_options),
      cmocka_unit_test(test_queue_kinds_are_full),
      cmocka_unit_test(test_queue_kinds_delta_makes_no_batches),
      cmocka_unit_test(test_queue_kinds_fifo_restores_the_newest),
      cmocka_unit_test(test_queue_kinds_long_versions),
      cmocka_unit_test(test_queue_kinds_refused_calls_do_not_count),
      cmocka_unit_test(test_queue_kinds_freed_by_a_transform),
      cmocka_unit_test(test_queue_kinds_copies_have_their_allocator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
