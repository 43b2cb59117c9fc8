/* SPDX-License-Identifier: MIT */
/* Proves TR-07 over TLS: close_notify may come in the same read as the last
 * compressed bytes, and a body that only the connection's end ends is whole
 * then, though most of it is still to be inflated; without close_notify it is
 * cut. Cancelled, closed and paused in every callback and after every step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/gzip_story.h"
#include "support/tls_world.h"

#define TEXT_BYTES 70000u /* some slices, in one read */

static char text[TEXT_BYTES + 1];
static packed framings[GZIP_FRAMINGS];

static int set_up(void **state) {
  (void)state;
  gzip_fill(text, TEXT_BYTES);
  packed body = packed_make(text, TEXT_BYTES);
  gzip_frame(framings, &body);
  packed_finish(&body);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  gzip_free(framings);
  return 0;
}

typedef struct setting {
  gzip_framing framing;
  tls_then then;
  int version;
  size_t record;
} setting;

static void check_result(const gzip_story *s, const setting *set) {
  if (set->framing == GZIP_UNTIL_END && set->then == TLS_CUT) {
    assert_int_equal(s->f.error.code, KIN_EEOF);
    assert_non_null(strstr(s->f.error.message, "no close_notify"));
    return;
  }
  assert_int_equal(s->f.error.code, 0);
  assert_int_equal(s->f.body_length, TEXT_BYTES);
  assert_memory_equal(s->f.body, text, TEXT_BYTES);
}

/* Returns whether it came to the action. */
static bool run_story(const void *ctx, gzip_moment at) {
  const setting *set = ctx;
  const packed *response = &framings[set->framing];
  tls_reply reply = {response->bytes, response->length, set->then};
  tls_world t;
  gzip_story s = {.w = &t.w, .at = at, .has_handshake = true};
  tls_world_init(&t, &reply, 1, 0);
  t.serve.max_version = set->version;
  t.serve.record = set->record;
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  assert_int_equal(gzip_story_run(&s), 0);
  if (s.f.ends > 0) {
    check_result(&s, set);
  }
  if (t.w.transport != NULL && set->then == TLS_NOTIFY && s.f.ends > 0) {
    WORLD_UNTIL(&t.w,
                kin__transport_get_stats(t.w.transport)->open_connections == 0);
  }
  fetch_finish(&s.f);
  tls_world_close(&t);
  return s.has_acted;
}

/* In records of all kinds, whatever ends the response. */
static void test_gzip_tls_framings(void **state) {
  (void)state;
  static const size_t records[] = {0, 1, 17, 1000};
  for (gzip_framing framing = 0; framing < GZIP_FRAMINGS; framing++) {
    for (tls_then then = TLS_KEEP; then <= TLS_NOTIFY; then++) {
      bool never_ends = framing == GZIP_UNTIL_END && then == TLS_KEEP;
      if (then == TLS_RESET || never_ends) {
        continue; /* what is lost by a reset is the kernel's to say */
      }
      for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        setting set = {framing, then, TLS1_3_VERSION, records[i]};
        run_story(&set, GZIP_NEVER);
        set.version = TLS1_2_VERSION;
        run_story(&set, GZIP_NEVER);
      }
    }
  }
}

/* The first has given its connection back by then, the second's has ended. */
static const setting sweeps[] = {{GZIP_WITH_LENGTH, TLS_NOTIFY, 0, 0},
                                 {GZIP_UNTIL_END, TLS_NOTIFY, 0, 0},
                                 {GZIP_UNTIL_END, TLS_CUT, 0, 0}};

static void test_gzip_tls_ends_in_every_callback(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
    gzip_sweep_callbacks(run_story, &sweeps[i], TEXT_BYTES);
  }
}

static void test_gzip_tls_ends_after_every_step(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
    gzip_sweep_steps(run_story, &sweeps[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gzip_tls_framings),
      cmocka_unit_test(test_gzip_tls_ends_in_every_callback),
      cmocka_unit_test(test_gzip_tls_ends_after_every_step),
  };
  int failed = cmocka_run_group_tests(tests, set_up, tear_down);
  tls_pki_finish();
  return failed;
}
