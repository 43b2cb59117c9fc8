/* SPDX-License-Identifier: MIT */

/* Most objects are deleted, and the memory goes back to the system: the rest is
 * moved together. What moves and what stays, changes while it moves, memory
 * that runs out, and a close in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/slab_core.h"
#include "base/str.h"
#include "object/object.h"
#include "support/informer_world.h"
#include "support/objects.h"

enum { OBJECTS = 2000, PADDING = 3000, KEPT = 10 };

static iw_world w;
static char frame[PADDING + 300];
static char padding[PADDING + 1];

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  *(int *)data += event->type == KIN_EVENT_DELETE;
}

static int deleted;

static void tell(const char *type, int object, int version) {
  int length = snprintf(
      frame, sizeof frame,
      "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"p%d\","
      "\"namespace\":\"even\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\"},"
      "\"x\":\"%s\"}}\n",
      type, object, object, version, padding);
  assert_true(length > 0 && (size_t)length < sizeof frame);
  script_body(&w.script, "watch=true", frame, (size_t)length);
}

/* OBJECTS objects with versions 1000 and up, in slabs. */
static void open_filled(void) {
  iw_init(&w, 0);
  memset(padding, 'x', PADDING);
  assert_int_equal(kin__memory_use_slabs(w.script.memory), 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_delete = on_event;
  listener.data = &deleted;
  deleted = 0;
  assert_int_equal(kin_informer_listen(w.informer, &listener, NULL), 0);
  assert_int_equal(kin_informer_start(w.informer), 0);
  mini_serve(&w.server);
  for (int i = 0; i < OBJECTS; i++) {
    tell("ADDED", i, 1000 + i);
  }
}

static const kin_object *find(int object) {
  char key[32];
  snprintf(key, sizeof key, "even/p%d", object);
  return kin_store_get(kin_informer_store(w.informer), kin__cstr(key));
}

/* All but one in KEPT. */
static void delete_most(void) {
  for (int i = 0; i < OBJECTS; i++) {
    if (i % KEPT != 0) {
      tell("DELETED", i, 10000 + i);
    }
  }
  assert_int_equal(deleted, OBJECTS - OBJECTS / KEPT);
}

static void expect_kept(int object, int version) {
  const kin_object *found = find(object);
  assert_non_null(found);
  char text[16];
  snprintf(text, sizeof text, "%d", version);
  assert_true(
      kin__str_equal(kin_object_resource_version(found), kin__cstr(text)));
  kin_str body = kin__object_body(found);
  assert_true(body.length > PADDING);
  assert_memory_equal(body.data + body.length - PADDING - 2, padding, PADDING);
}

static void expect_all_kept(void) {
  assert_int_equal(kin_store_count(kin_informer_store(w.informer)),
                   OBJECTS / KEPT);
  for (int i = 0; i < OBJECTS; i += KEPT) {
    expect_kept(i, 1000 + i);
  }
}

static size_t slab_bytes(void) {
  return w.script.memory->arena->bytes;
}

/* Below 2 MiB nothing moves; a few slabs are kept for the next objects, and one
 * may have room. */
static size_t fresh_bytes(void) {
  return ((size_t)2 << 20) + (size_t)6 * 65536;
}

static void test_memory_comes_back(void **state) {
  (void)state;
  open_filled();
  size_t full = slab_bytes();
  assert_true(full > (size_t)OBJECTS * PADDING);
  uint64_t bytes = kin_store_bytes(kin_informer_store(w.informer)) / OBJECTS;
  delete_most();
  assert_true(slab_bytes() <= fresh_bytes());
  expect_all_kept();
  assert_true(kin_store_bytes(kin_informer_store(w.informer)) / bytes <=
              OBJECTS / KEPT + 1);
  /* And again, after the cache has grown. */
  for (int i = 0; i < OBJECTS; i++) {
    tell(i % KEPT == 0 ? "MODIFIED" : "ADDED", i, 20000 + i);
  }
  assert_true(slab_bytes() > full / 2);
  deleted = 0;
  delete_most();
  assert_true(slab_bytes() <= fresh_bytes());
  for (int i = 0; i < OBJECTS; i += KEPT) {
    expect_kept(i, 20000 + i);
  }
  iw_finish(&w);
}

/* What the program holds stays where it is, and so does another's memory. */
static void test_held_objects_stay(void **state) {
  (void)state;
  open_filled();
  kin_object *held = kin_object_ref(find(500));
  kin_object *foreign = object_keyed(NULL, "even/foreign", 5);
  assert_int_equal(kin_store_put(kin_informer_store(w.informer), foreign), 0);
  const kin_object *lent[OBJECTS / KEPT];
  for (int i = 0; i < OBJECTS / KEPT; i++) {
    lent[i] = find(i * KEPT);
  }
  delete_most();
  assert_ptr_equal(find(500), held);
  assert_ptr_equal(
      kin_store_get(kin_informer_store(w.informer), kin__cstr("even/foreign")),
      foreign);
  int moved = 0;
  for (int i = 0; i < OBJECTS / KEPT; i++) {
    moved += find(i * KEPT) != lent[i];
  }
  assert_true(moved > OBJECTS / KEPT / 2);
  kin_object_unref(held);
  kin_object_unref(foreign);
  assert_int_equal(kin_store_delete(kin_informer_store(w.informer),
                                    kin__cstr("even/foreign")),
                   0);
  expect_all_kept();
  iw_finish(&w);
}

/* A small cache is left alone. */
static void test_not_for_little_memory(void **state) {
  (void)state;
  enum { SMALL = OBJECTS / 4 };
  open_filled();
  for (int i = SMALL; i < OBJECTS; i++) {
    tell("DELETED", i, 10000 + i);
  }
  const kin_object *lent[SMALL];
  for (int i = 0; i < SMALL; i++) {
    lent[i] = find(i);
  }
  assert_true(slab_bytes() > (size_t)SMALL * PADDING);
  assert_true(slab_bytes() < (size_t)2 << 20);
  for (int i = 0; i < SMALL; i++) {
    if (i % KEPT != 0) {
      tell("DELETED", i, 20000 + i);
    }
  }
  for (int i = 0; i < SMALL; i += KEPT) {
    assert_ptr_equal(find(i), lent[i]);
  }
  iw_finish(&w);
}

static bool run_step(void) {
  kin__task *task = &w.informer->defragmenter.task;
  kin__sched_cancel(&w.script.sched, task);
  return task->step(task);
}

/* Begins a pass without running it. */
static void begin_pass(void) {
  w.informer->defragmenter.last = (kin__arena_fill){0, 0};
  w.informer->defragmenter.is_passing = false;
  kin__defragment_wake(w.informer);
  assert_true(w.informer->defragmenter.is_passing);
}

/* Deletes most with a pass held off, so that a test can begin it. */
static void open_sparse(void) {
  open_filled();
  w.informer->defragmenter.last = (kin__arena_fill){slab_bytes(), 0};
  delete_most();
  assert_true(slab_bytes() > (size_t)OBJECTS * PADDING / 2);
}

/* One pass is enough: with the same fill no object moves again. */
static void test_no_second_pass(void **state) {
  (void)state;
  open_sparse();
  kin_object *held[OBJECTS / KEPT];
  for (int i = 0; i < OBJECTS / KEPT; i++) {
    held[i] = kin_object_ref(find(i * KEPT));
  }
  begin_pass();
  script_run(&w.script);
  assert_true(slab_bytes() > (size_t)OBJECTS * PADDING / 2);
  assert_false(w.informer->defragmenter.is_passing);
  for (int i = 0; i < OBJECTS / KEPT; i++) {
    kin_object_unref(held[i]);
  }
  const kin_object *lent = find(510);
  tell("MODIFIED", 0, 30000);
  assert_ptr_equal(find(510), lent);
  iw_finish(&w);
}

/* In the middle of a pass: an object changes, one goes, one comes. */
static void test_changes_in_between(void **state) {
  (void)state;
  for (int steps = 0; steps < 40; steps += 3) {
    open_sparse();
    w.script.sched.max_pieces = 64;
    begin_pass();
    for (int i = 0; i < steps && run_step(); i++) {
    }
    tell("MODIFIED", 1500, 40000);
    tell("DELETED", 500, 40001);
    tell("ADDED", 501, 40002);
    script_run(&w.script);
    assert_false(w.informer->defragmenter.is_passing);
    assert_true(slab_bytes() <= fresh_bytes());
    assert_null(find(500));
    expect_kept(501, 40002);
    expect_kept(1500, 40000);
    expect_kept(1510, 2510);
    iw_finish(&w);
  }
}

/* A pass without memory moves less, and loses nothing. */
static void test_out_of_memory(void **state) {
  (void)state;
  for (size_t fail = 1; fail <= 12; fail++) {
    open_sparse();
    begin_pass();
    atomic_store(&w.memory.calls, 0);
    w.memory.fail_at = fail;
    w.memory.keeps_failing = fail % 2 == 0;
    script_run(&w.script);
    w.memory.fail_at = 0;
    w.memory.keeps_failing = false;
    assert_false(w.informer->defragmenter.is_passing);
    expect_all_kept();
    assert_int_equal(w.errors, 0);
    iw_finish(&w);
  }
}

static void test_close_in_between(void **state) {
  (void)state;
  for (int steps = 0; steps < 40; steps += 7) {
    open_sparse();
    begin_pass();
    for (int i = 0; i < steps && run_step(); i++) {
    }
    iw_finish(&w);
  }
}

/* A step moves few objects, whatever the number of slots. */
static void test_steps_are_bounded(void **state) {
  (void)state;
  open_sparse();
  begin_pass();
  unsigned steps = 0;
  uint32_t before = 0;
  while (run_step()) {
    steps++;
    assert_true(w.informer->defragmenter.next - before <= 64);
    before = w.informer->defragmenter.next;
  }
  assert_true(steps >= OBJECTS / 64 - 1);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory_comes_back),
      cmocka_unit_test(test_held_objects_stay),
      cmocka_unit_test(test_no_second_pass),
      cmocka_unit_test(test_not_for_little_memory),
      cmocka_unit_test(test_changes_in_between),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_close_in_between),
      cmocka_unit_test(test_steps_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
