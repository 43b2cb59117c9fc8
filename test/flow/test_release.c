/* SPDX-License-Identifier: MIT */

/* A release comes when libuv knows no handle any more that was closed before
 * it. libuv finishes closing handles the newest first, and a handle that a close
 * callback closes in the next iteration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <cmocka.h>

#include "transport/handle.h"

/* A handle, and the release that would free its memory. */
typedef struct part {
  uv_idle_t handle;
  kin__release release;
  bool is_finished; /* libuv has called back, its last use of the handle */
  bool is_released;
} part;

typedef struct world {
  uv_loop_t loop;
  kin__releases releases;
  part first;
  part second; /* closed by a close callback */
  uv_idle_t trigger;
} world;

static void on_finished(uv_handle_t *handle) {
  KIN__CONTAINER_OF((uv_idle_t *)handle, part, handle)->is_finished = true;
}

static void on_released(kin__release *release) {
  part *p = KIN__CONTAINER_OF(release, part, release);
  assert_true(p->is_finished);
  p->is_released = true;
}

static void close_part(world *w, part *p) {
  uv_close((uv_handle_t *)&p->handle, on_finished);
  kin__releases_add(&w->releases, &p->release, on_released);
}

static void init(world *w) {
  *w = (world){0};
  assert_int_equal(uv_loop_init(&w->loop), 0);
  w->loop.data = w;
  kin__releases_init(&w->releases, &w->loop);
  uv_idle_init(&w->loop, &w->first.handle);
  uv_idle_init(&w->loop, &w->second.handle);
  uv_idle_init(&w->loop, &w->trigger);
}

static void run(world *w) {
  assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&w->loop), 0);
}

static void test_closed_before_the_iteration_ends(void **state) {
  (void)state;
  world w;
  init(&w);
  close_part(&w, &w.first);
  close_part(&w, &w.second);
  uv_close((uv_handle_t *)&w.trigger, NULL);
  run(&w);
  assert_true(w.first.is_released && w.second.is_released);
}

static void close_second(uv_handle_t *handle) {
  world *w = handle->loop->data;
  assert_false(w->first.is_released);
  close_part(w, &w->second);
}

/* The trigger is newer than the tick that the first part waits for. So the
 * second part sees this tick in the iteration in which it is closed, and the
 * second tick in the next iteration, before its handle. */
static void test_closed_by_a_close_callback_before_the_tick(void **state) {
  (void)state;
  world w;
  init(&w);
  close_part(&w, &w.first);
  uv_close((uv_handle_t *)&w.trigger, close_second);
  run(&w);
  assert_true(w.first.is_released && w.second.is_released);
}

static void test_closed_by_a_close_callback_after_the_tick(void **state) {
  (void)state;
  world w;
  init(&w);
  uv_close((uv_handle_t *)&w.trigger, close_second);
  close_part(&w, &w.first);
  run(&w);
  assert_true(w.first.is_released && w.second.is_released);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closed_before_the_iteration_ends),
      cmocka_unit_test(test_closed_by_a_close_callback_before_the_tick),
      cmocka_unit_test(test_closed_by_a_close_callback_after_the_tick),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
