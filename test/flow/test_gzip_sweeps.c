/* SPDX-License-Identifier: MIT */
/* Proves no row of its own, but that a compressed body (TR-07) can be cancelled
 * and its transport closed in every callback and after every step, paused and
 * resumed at every slice, and that each allocation may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/gzip_story.h"

#define TEXT_BYTES 100000u /* some slices, in one read */

static char text[TEXT_BYTES + 1];
static packed framings[GZIP_FRAMINGS];

static int set_up(void **state) {
  (void)state;
  gzip_fill(text, TEXT_BYTES);
  packed body = {NULL, 0};
  packed_add(&body, text, TEXT_BYTES, 30000);
  gzip_frame(framings, &body);
  packed_finish(&body);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  gzip_free(framings);
  return 0;
}

/* Returns whether it came to the action, or to the failing allocation. */
static bool run_story(const packed *response, gzip_moment at, size_t fail_at) {
  bool ends = response == &framings[GZIP_UNTIL_END];
  loop_reply reply = {.bytes = response->bytes,
                      .length = response->length,
                      .then = ends ? LOOP_CLOSE : LOOP_KEEP};
  world w;
  gzip_story s = {.w = &w, .at = at};
  world_init(&w, &reply, 1, fail_at);
  int err = world_open(&w);
  if (err == 0) {
    err = gzip_story_run(&s);
  }
  assert_true(err == 0 || (err == KIN_ENOMEM && fail_at != 0));
  if (s.f.ends > 0 && s.f.error.code == 0) {
    assert_int_equal(s.f.body_length, TEXT_BYTES);
    assert_memory_equal(s.f.body, text, TEXT_BYTES);
  } else if (s.f.ends > 0) {
    assert_true(fail_alloc_has_failed(&w.memory));
    assert_int_equal(s.f.error.code, KIN_ENOMEM);
    assert_int_equal(s.f.error.error_class, KIN_CLASS_MEMORY);
  }
  bool result = fail_at != 0 ? fail_alloc_has_failed(&w.memory) : s.has_acted;
  fetch_finish(&s.f);
  world_close(&w);
  return result;
}

static bool run_moment(const void *response, gzip_moment at) {
  return run_story(response, at, 0);
}

static void test_gzip_ends_in_every_callback(void **state) {
  (void)state;
  for (size_t i = 0; i < GZIP_FRAMINGS; i++) {
    gzip_sweep_callbacks(run_moment, &framings[i], TEXT_BYTES);
  }
}

static void test_gzip_ends_after_every_step(void **state) {
  (void)state;
  for (size_t i = 0; i < GZIP_FRAMINGS; i++) {
    gzip_sweep_steps(run_moment, &framings[i]);
  }
}

static void test_gzip_ends_out_of_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < GZIP_FRAMINGS; i++) {
    size_t n = 1;
    while (run_story(&framings[i], GZIP_NEVER, n)) {
      n++;
      assert_true(n < 1000);
    }
    assert_true(n > 10);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gzip_ends_in_every_callback),
      cmocka_unit_test(test_gzip_ends_after_every_step),
      cmocka_unit_test(test_gzip_ends_out_of_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
