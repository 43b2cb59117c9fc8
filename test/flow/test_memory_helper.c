/* SPDX-License-Identifier: MIT */

/* The pool prepares memory for objects: when it does and when not, what becomes
 * of memory that nobody needs, and that a close waits neither for the pool nor
 * for a timer. Proves the promises of kin_client_options.no_memory_helper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kin/kin.h>

#include "base/alloc.h"
#include "base/slab_core.h"
#include "client/env.h"
#include "client/host.h"
#include "client/memory_helper.h"
#include "support/pool_plug.h"
#include "support/resident.h"

enum { CELL = 60000, CELLS = 8000, MANY = 1024 };

typedef struct world {
  uv_loop_t uv;
  kin__loop loop;
  kin__arena *arena;
  kin__memory_helper helper;
  uint64_t now_ns;
  kin__cell *cells[CELLS];
  int count;
  bool is_helper_closed;
  bool is_loop_closed;
} world;

static world w; /* callbacks have no other way to it */

static uint64_t now_ns(void *ctx) {
  return ((world *)ctx)->now_ns;
}

static void open_world(void) {
  memset(&w, 0, sizeof w);
  assert_int_equal(uv_loop_init(&w.uv), 0);
  kin__loop_init(&w.loop, &w.uv, 1000000);
  w.loop.sched.now_ns = now_ns;
  w.loop.sched.ctx = &w;
  kin__loop_start(&w.loop);
  w.arena = kin__arena_new(kin__default_allocator(), true);
  assert_non_null(w.arena);
  kin__memory_helper_init(&w.helper, &w.loop, w.arena);
}

static void on_helper_closed(void *ctx) {
  (void)ctx;
  assert_false(w.is_helper_closed);
  w.is_helper_closed = true;
}

static size_t region_bytes(void) {
  return kin__slab_class_region_bytes(kin__slab_class_of(CELL));
}

static void on_loop_closed(void *ctx) {
  (void)ctx;
  w.is_loop_closed = true;
}

static void close_helper(void) {
  kin__memory_helper_close(&w.helper, on_helper_closed, NULL);
}

static void close_world(void) {
  if (!w.is_helper_closed) {
    close_helper();
  }
  while (!w.is_helper_closed) {
    uv_run(&w.uv, UV_RUN_ONCE);
  }
  for (int i = 0; i < w.count; i++) {
    kin__cell_give(w.cells[i]);
  }
  kin__arena_free(w.arena);
  kin__loop_begin_close(&w.loop);
  uv_run(&w.uv, UV_RUN_NOWAIT);
  kin__loop_close(&w.loop, on_loop_closed, NULL);
  uv_run(&w.uv, UV_RUN_DEFAULT);
  assert_true(w.is_loop_closed);
  assert_int_equal(uv_loop_close(&w.uv), 0);
}

static void take(int count) {
  for (int i = 0; i < count; i++) {
    assert_true(w.count < CELLS);
    kin__cell *cell =
        kin__cell_take(w.arena, kin__default_allocator(), &w, CELL);
    assert_non_null(cell);
    memset((char *)cell + sizeof cell->slab, 0x5a, CELL - sizeof cell->slab);
    w.cells[w.count++] = cell;
  }
}

/* Takes cells until the pool has been asked. */
static void make_it_work(void) {
  while (!w.helper.is_working) {
    take(1);
  }
}

static void until_ready(void) {
  make_it_work();
  while (w.helper.is_working) {
    uv_run(&w.uv, UV_RUN_ONCE);
  }
  assert_true(w.arena->ready_bytes > 0);
}

static void test_slabs_are_prepared(void **state) {
  (void)state;
  open_world();
  take(MANY / 2);
  until_ready();
  assert_true(w.arena->ready_bytes <= kin__arena_wants_ready(w.arena));
  char *end = (char *)w.arena->ready + w.arena->ready->bytes;
  size_t ready_bytes = w.arena->ready_bytes;
  while (w.arena->ready_bytes == ready_bytes) {
    take(1);
  }
  /* No other is mapped. */
  assert_ptr_equal(w.cells[w.count - 1], end - region_bytes());
  close_world();
}

/* As many as a fast list would get; never more are ready than the bound. */
static void test_bounded(void **state) {
  (void)state;
  open_world();
  for (int i = 0; i < 40; i++) {
    take(CELLS / 40);
    assert_true(kin__arena_wants_ready(w.arena) <= KIN__MAX_READY_BYTES);
    assert_true(w.helper.bytes <= KIN__HELP_MAX_BYTES);
    uv_run(&w.uv, UV_RUN_NOWAIT);
    assert_true(w.arena->ready_bytes <= KIN__MAX_READY_BYTES);
    assert_true(w.arena->ready_bytes * 16 <= w.arena->bytes);
  }
  assert_int_equal(kin__arena_wants_ready(w.arena), KIN__MAX_READY_BYTES);
  close_world();
}

/* A slab every 15 ms is less than 40 MB/s. */
static void test_not_for_a_slow_list(void **state) {
  (void)state;
  open_world();
  size_t bytes = 0;
  while (w.count < MANY) {
    take(1);
    if (w.arena->bytes != bytes) {
      bytes = w.arena->bytes;
      w.now_ns += UINT64_C(15000000);
    }
    assert_false(w.helper.is_working);
  }
  assert_int_equal(w.arena->ready_bytes, 0);
  assert_false(w.helper.idle.is_active);
  close_world();
}

/* A small cache does not start the pool. */
static void test_not_for_a_short_list(void **state) {
  (void)state;
  open_world();
  while (w.arena->bytes < 15 * KIN__READY_STEP_BYTES) {
    take(1);
  }
  assert_false(w.helper.is_working);
  close_world();
}

static void run_idle_timer(void) {
  w.now_ns = w.helper.idle.due_ms * 1000000u;
  kin__timers_run(&w.loop.timers, w.helper.idle.due_ms, 1);
}

static bool is_resident(char *at) {
  return resident_pages(at - (uintptr_t)at % page_bytes(), 1) > 0;
}

static void test_unused_memory_goes_back(void **state) {
  (void)state;
  open_world();
  take(MANY / 2);
  until_ready();
  assert_true(w.helper.idle.is_active);
  /* Growth puts it off. */
  uint64_t due_ms = w.helper.idle.due_ms;
  w.now_ns = (due_ms - 1) * 1000000u;
  size_t ready_bytes = w.arena->ready_bytes;
  while (w.arena->ready_bytes == ready_bytes) {
    take(1);
  }
  run_idle_timer();
  assert_true(w.helper.idle.is_active);
  assert_int_equal(w.helper.idle.due_ms, due_ms + 999);
  assert_true(w.arena->ready_bytes > 0);
  char *newest = (char *)w.cells[w.count - 1]; /* the first of its region */
  assert_true(is_resident(newest + region_bytes() - 1));
  run_idle_timer();
  while (kin__sched_has_work(&w.loop.sched)) {
    uv_run(&w.uv, UV_RUN_NOWAIT);
  }
  assert_int_equal(w.arena->ready_bytes, 0);
  assert_null(w.arena->ready);
  assert_false(w.helper.idle.is_active);
  assert_true(is_resident(newest));
  assert_false(is_resident(newest + region_bytes() - 1));
  close_world();
}

/* Two fast lists, the second after the memory has gone back. */
static void test_again(void **state) {
  (void)state;
  open_world();
  take(MANY / 2);
  until_ready();
  run_idle_timer();
  while (kin__sched_has_work(&w.loop.sched)) {
    uv_run(&w.uv, UV_RUN_NOWAIT);
  }
  until_ready();
  assert_true(w.helper.idle.is_active);
  close_world();
}

/* A pool that never gets to the work: slabs are mapped as before. */
static void test_busy_pool(void **state) {
  (void)state;
  open_world();
  pool_plug plug;
  plug_open(&plug, &w.uv);
  take(MANY);
  assert_true(w.helper.is_working);
  uv_run(&w.uv, UV_RUN_NOWAIT);
  assert_true(w.helper.is_working);
  assert_int_equal(w.arena->ready_bytes, 0);
  close_helper();
  while (!w.is_helper_closed) {
    uv_run(&w.uv, UV_RUN_ONCE); /* the pool is still held */
  }
  assert_int_equal(w.arena->ready_bytes, 0);
  plug_pull(&plug);
  uv_run(&w.uv, UV_RUN_NOWAIT);
  close_world();
  plug_close(&plug);
}

/* While the pool is held the loop sleeps, however long that is. Twice, since the
 * timer is started again. */
static void test_loop_sleeps_while_pool_is_busy(void **state) {
  (void)state;
  open_world();
  take(MANY / 2);
  for (int round = 0; round < 2; round++) {
    until_ready();
    pool_plug plug;
    plug_open(&plug, &w.uv);
    make_it_work();
    assert_true(w.helper.idle.is_active);
    run_idle_timer();
    assert_false(w.helper.idle.is_active);
    w.now_ns += UINT64_C(60000000000);
    uv_run(&w.uv, UV_RUN_NOWAIT);
    assert_int_not_equal(uv_backend_timeout(&w.uv), 0);
    assert_true(w.helper.is_working);
    plug_pull(&plug);
    while (w.helper.is_working) {
      uv_run(&w.uv, UV_RUN_ONCE);
    }
    assert_true(w.helper.idle.is_active);
    plug_close(&plug);
  }
  close_world();
}

/* Where the system has no memory the pool is asked once, and again only after
 * the arena has grown. */
static void test_no_memory_in_the_pool(void **state) {
  (void)state;
  open_world();
  take(MANY / 2);
  for (int round = 0; round < 2; round++) {
    until_ready();
    atomic_store(&w.helper.must_stop, true); /* prepares nothing, too */
    make_it_work();
    while (w.helper.is_working) {
      uv_run(&w.uv, UV_RUN_ONCE);
    }
    for (int i = 0; i < 10; i++) {
      uv_run(&w.uv, UV_RUN_NOWAIT);
      assert_false(w.helper.is_working);
    }
    atomic_store(&w.helper.must_stop, false);
  }
  close_world();
}

/* At each number of slabs: the close comes before, while and after a thread
 * works. */
static void test_close_while_it_works(void **state) {
  (void)state;
  for (int turns = 0; turns < 40; turns++) {
    open_world();
    take(MANY);
    make_it_work();
    for (int i = 0; i < turns; i++) {
      uv_run(&w.uv, UV_RUN_NOWAIT);
    }
    close_helper();
    assert_null(w.arena->grew);
    take(20); /* the arena goes on, alone */
    close_world();
  }
}

static void test_close_at_once(void **state) {
  (void)state;
  open_world();
  close_helper();
  assert_true(w.is_helper_closed);
  close_world();
}

static void test_stopped_work_has_no_slab(void **state) {
  (void)state;
  atomic_bool must_stop;
  atomic_init(&must_stop, true);
  assert_null(kin__ready_prepare(KIN__READY_STEP_BYTES, &must_stop));
}

/* --- The option ----------------------------------------------------------- */

static void expect_helper(const kin_client_options *options, bool is_expected) {
  uv_loop_t loop;
  kin_client *client;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(kin_client_open(&client, &loop, options), 0);
  const kin__arena *arena = kin__client_host(client)->env->memory->arena;
  assert_true((arena != NULL && arena->grew != NULL) == is_expected);
  assert_int_equal(kin_client_close(client, NULL, NULL), 0);
  uv_run(&loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&loop), 0);
}

static void test_option(void **state) {
  (void)state;
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "http://127.0.0.1:1";
  expect_helper(&options, true);
  options.no_memory_helper = true;
  expect_helper(&options, false);
  options.no_memory_helper = false;
  options.mutation_check = KIN_MUTATION_CHECK_CHECKSUM;
  expect_helper(&options, false);
  options.mutation_check = KIN_MUTATION_CHECK_OFF;
  options.allocator = kin__default_allocator(); /* given, so the program's */
  expect_helper(&options, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slabs_are_prepared),
      cmocka_unit_test(test_bounded),
      cmocka_unit_test(test_not_for_a_slow_list),
      cmocka_unit_test(test_not_for_a_short_list),
      cmocka_unit_test(test_unused_memory_goes_back),
      cmocka_unit_test(test_again),
      cmocka_unit_test(test_busy_pool),
      cmocka_unit_test(test_loop_sleeps_while_pool_is_busy),
      cmocka_unit_test(test_no_memory_in_the_pool),
      cmocka_unit_test(test_close_while_it_works),
      cmocka_unit_test(test_close_at_once),
      cmocka_unit_test(test_stopped_work_has_no_slab),
      cmocka_unit_test(test_option),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
