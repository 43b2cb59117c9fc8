/* SPDX-License-Identifier: MIT */

/* Objects that somebody holds after the cache has no use for them: their memory
 * goes back when they are released, however late that is and whatever else the
 * client has to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/kin.h>
#include <kin/testing/fake_source.h>

#include "base/slab_core.h"
#include "base/str.h"
#include "client/env.h"
#include "client/host.h"
#include "support/objects.h"

enum { OBJECTS = 4000, PADDING = 3000, KEPT = 10, MAX_TURNS = 100000 };

typedef struct world {
  uv_loop_t loop;
  kin_fake_source *source;
  kin_lister_watcher lister_watcher;
  kin_client *client;
  kin_informer *informer;
  kin_informer *other; /* of the same client */
  kin_listener *listener;
  int deleted;
} world;

static void on_delete(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  ((world *)data)->deleted++;
}

static const kin__arena *arena_of(const world *w) {
  return kin__client_host(w->client)->env->memory->arena;
}

/* One turn of the loop, and of the source. */
static void turn(world *w) {
  (void)kin_fake_source_run(w->source);
  uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void until_count(world *w, kin_informer *informer, size_t count) {
  const kin_store *store = kin_informer_store(informer);
  for (int i = 0; kin_store_count(store) != count; i++) {
    assert_true(i < MAX_TURNS);
    turn(w);
  }
}

/* Until the loop would sleep. */
static void until_idle(world *w) {
  int quiet = 0;
  for (int i = 0; quiet < 3; i++) {
    assert_true(i < MAX_TURNS);
    turn(w);
    quiet = uv_backend_timeout(&w->loop) != 0 ? quiet + 1 : 0;
  }
}

static kin_object *make(int i) {
  static char text[PADDING + 200];
  int length = snprintf(text, sizeof text,
                        "{'metadata':{'name':'p%d','namespace':'n','uid':'u%d'"
                        "},'x':'%0*d','y':1}",
                        i, i, PADDING, i);
  assert_true(length > 0 && (size_t)length < sizeof text);
  return object_of(NULL, text);
}

/* The result is the informer's own object; the source's objects are not. */
static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)in;
  (void)data;
  return kin_object_builder_remove(out, "/y");
}

static void open_informer(world *w, kin_informer **out) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.version = "v1";
  options.plural = "pods";
  options.source = &w->lister_watcher;
  options.transform = transform;
  assert_int_equal(kin_informer_open(out, w->client, &options), 0);
}

static void open_world(world *w) {
  *w = (world){0};
  assert_int_equal(uv_loop_init(&w->loop), 0);
  assert_int_equal(kin_fake_source_new(&w->source, NULL), 0);
  w->lister_watcher = kin_fake_source_lister_watcher(w->source);
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "http://127.0.0.1:1";
  options.no_memory_helper = true;
  assert_int_equal(kin_client_open(&w->client, &w->loop, &options), 0);
  open_informer(w, &w->informer);
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_delete = on_delete;
  listener.data = w;
  assert_int_equal(kin_informer_listen(w->informer, &listener, &w->listener),
                   0);
  assert_int_equal(kin_informer_start(w->informer), 0);
}

static void add_all(world *w) {
  for (int i = 0; i < OBJECTS; i++) {
    kin_object *object = make(i);
    assert_int_equal(kin_fake_source_add(w->source, object), 0);
    kin_object_unref(object);
  }
  until_count(w, w->informer, OBJECTS);
}

/* All but one in KEPT. */
static void delete_most(world *w) {
  for (int i = 0; i < OBJECTS; i++) {
    if (i % KEPT != 0) {
      kin_object *object = make(i);
      assert_int_equal(kin_fake_source_delete(w->source, object), 0);
      kin_object_unref(object);
    }
  }
  until_count(w, w->informer, OBJECTS / KEPT);
}

static void close_world(world *w) {
  assert_int_equal(kin_client_close(w->client, NULL, NULL), 0);
  while (uv_run(&w->loop, UV_RUN_NOWAIT) != 0) {
    (void)kin_fake_source_run(w->source);
  }
  kin_fake_source_free(w->source);
  assert_int_equal(uv_loop_close(&w->loop), 0);
}

/* Below 2 MiB objects are not moved. A few slabs have room or are spare. */
static void expect_memory_of(const world *w, size_t objects) {
  size_t least = (size_t)2 << 20;
  size_t bytes = objects * (PADDING + 300);
  size_t slab = KIN__REGION_MAX_BYTES / KIN__REGION_SLABS;
  size_t most = (bytes > least ? bytes : least) + 6 * slab;
  if (arena_of(w)->bytes > most) {
    fail_msg("%zu bytes, %zu of them in use; expected at most %zu",
             arena_of(w)->bytes, arena_of(w)->used_bytes, most);
  }
}

/* The deleted objects are in the queue of a listener when the last change is
 * over. Twice, because the client remembers what it has seen. */
static void test_listener_was_paused(void **state) {
  (void)state;
  world w;
  open_world(&w);
  for (int round = 1; round <= 2; round++) {
    add_all(&w);
    until_idle(&w);
    kin_listener_pause(w.listener);
    delete_most(&w);
    until_idle(&w);
    assert_true(arena_of(&w)->bytes > (size_t)OBJECTS * PADDING / 2);
    kin_listener_resume(w.listener);
    until_idle(&w);
    assert_int_equal(w.deleted, round * (OBJECTS - OBJECTS / KEPT));
    expect_memory_of(&w, OBJECTS / KEPT);
  }
  close_world(&w);
}

/* The program holds them. */
static void test_program_held_them(void **state) {
  (void)state;
  static kin_object *held[OBJECTS];
  world w;
  open_world(&w);
  add_all(&w);
  for (int i = 0; i < OBJECTS; i++) {
    char key[32];
    int length = snprintf(key, sizeof key, "n/p%d", i);
    const kin_object *object = kin_store_get(kin_informer_store(w.informer),
                                             kin__str(key, (size_t)length));
    held[i] = i % KEPT != 0 ? kin_object_ref(object) : NULL;
  }
  delete_most(&w);
  until_idle(&w);
  assert_true(arena_of(&w)->bytes > (size_t)OBJECTS * PADDING / 2);
  for (int i = 0; i < OBJECTS; i++) {
    kin_object_unref(held[i]);
  }
  until_idle(&w);
  expect_memory_of(&w, OBJECTS / KEPT);
  close_world(&w);
}

/* Another informer of the client has the same slabs, and nothing changes there:
 * its objects move, too. */
static void test_quiet_informer_moves(void **state) {
  (void)state;
  world w;
  open_world(&w);
  open_informer(&w, &w.other);
  assert_int_equal(kin_informer_start(w.other), 0);
  add_all(&w);
  until_count(&w, w.other, OBJECTS);
  kin_listener_pause(w.listener);
  delete_most(&w);
  until_count(&w, w.other, OBJECTS / KEPT);
  kin_listener_resume(w.listener);
  until_idle(&w);
  expect_memory_of(&w, 2 * OBJECTS / KEPT);
  close_world(&w);
}

/* Work that takes no cell, always one more step: as a long queue of a handler
 * that takes its time. */
static bool is_busy;

static bool busy_step(kin__task *task) {
  (void)task;
  return is_busy;
}

static void test_client_is_busy(void **state) {
  (void)state;
  static kin__cell *cells[OBJECTS];
  world w;
  open_world(&w);
  until_idle(&w);
  const kin__env *env = kin__client_host(w.client)->env;
  for (int i = 0; i < OBJECTS; i++) {
    cells[i] = kin__cell_take(env->memory->arena, env->allocator, env->memory,
                              PADDING);
    assert_non_null(cells[i]);
  }
  kin__task task;
  kin__task_init(&task, busy_step);
  is_busy = true;
  kin__sched_add(env->sched, &task);
  uv_run(&w.loop, UV_RUN_NOWAIT);
  for (int i = 0; i < OBJECTS; i++) {
    kin__cell_give(cells[i]);
  }
  for (int i = 0; i < 200; i++) {
    uv_run(&w.loop, UV_RUN_NOWAIT);
  }
  expect_memory_of(&w, 0);
  is_busy = false;
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_listener_was_paused),
      cmocka_unit_test(test_program_held_them),
      cmocka_unit_test(test_quiet_informer_moves),
      cmocka_unit_test(test_client_is_busy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
