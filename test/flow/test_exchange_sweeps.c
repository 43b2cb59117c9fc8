/* SPDX-License-Identifier: MIT */
/* Proves no row of its own, but what all others rest on: an exchange can be
 * cancelled and the transport closed at any moment, in every callback and
 * between any two steps; each allocation can fail; on_end comes exactly once
 * or, after a cancel, never; and nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/exchange_story.h"

static world w;

static const loop_reply reply = {
    .bytes = STORY_REPLY, .slice = 40, .then = LOOP_CLOSE};

static world *open_world(size_t fail_at, bool keeps_failing, int *err) {
  world_init(&w, &reply, 1, fail_at);
  w.memory.keeps_failing = keeps_failing;
  char url[64];
  snprintf(url, sizeof url, "http://localhost:%d", w.server.port);
  *err = world_open_at(&w, url);
  return &w;
}

static void close_world(void) {
  world_close(&w);
}

static const story_world plain = {.open = open_world, .close = close_world};

static void test_ends_in_every_callback(void **state) {
  (void)state;
  story_sweep_callbacks(&plain, 5); /* head, three pieces of body, end */
}

static void test_ends_after_every_step(void **state) {
  (void)state;
  story_sweep_steps(&plain, 10);
}

static void test_ends_out_of_memory(void **state) {
  (void)state;
  story_sweep_allocations(&plain, 10);
}

/* Opened and closed, with nothing to wait for. */
static void test_ends_unused(void **state) {
  (void)state;
  world_setup(&w, NULL, 0);
  world_close(&w);
}

/* Started and closed before the first step. */
static void test_ends_unstarted(void **state) {
  (void)state;
  world_setup(&w, &reply, 1);
  fetch fetches[2] = {{.world = NULL}};
  assert_int_equal(fetch_start(&fetches[0], &w, "/x", false), 0);
  assert_int_equal(fetch_start(&fetches[1], &w, "/x", true), 0);
  kin__exchange_cancel(fetches[1].exchange);
  world_close(&w);
  assert_int_equal(fetches[0].callbacks + fetches[1].callbacks, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ends_in_every_callback),
      cmocka_unit_test(test_ends_after_every_step),
      cmocka_unit_test(test_ends_out_of_memory),
      cmocka_unit_test(test_ends_unused),
      cmocka_unit_test(test_ends_unstarted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
