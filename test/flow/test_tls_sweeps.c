/* SPDX-License-Identifier: MIT */
/* Proves no row of its own, but what all others rest on, with TLS and a token
 * from a file: an exchange can be cancelled and the transport closed at any
 * moment, in every callback and between any two steps, while files are read and
 * in the middle of a handshake; each allocation can fail; and nothing is left
 * behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/exchange_story.h"
#include "support/tls_world.h"

static tls_world t;

static const tls_reply reply = {STORY_REPLY, 0, TLS_CLOSE};

static world *open_world(size_t fail_at, bool keeps_failing, int *err) {
  static char token_path[128];
  tls_world_init(&t, &reply, 1, fail_at);
  t.w.memory.keeps_failing = keeps_failing;
  tls_world_path(&t, "token", token_path, sizeof token_path);
  tls_write_file(token_path, "s3cret\n");
  t.token_file = token_path;
  t.tls.certificate_data = tls_pki_get()->client_pem;
  t.tls.key_data = tls_pki_get()->client_key_pem;
  t.serve.client_authority = &tls_pki_get()->authority;
  t.serve.slice = 700;
  *err = tls_world_open(&t, "localhost");
  return &t.w;
}

static void check_secret(const fetch *f) {
  assert_false(tls_world_leaks(&t, f, "s3cret"));
}

static void close_world(void) {
  tls_world_close(&t);
}

static const story_world with_tls = {
    .open = open_world, .check = check_secret, .close = close_world};

static void test_tls_ends_in_every_callback(void **state) {
  (void)state;
  story_sweep_callbacks(&with_tls, 5); /* head, body, end */
}

static void test_tls_ends_after_every_step(void **state) {
  (void)state;
  story_sweep_steps(&with_tls, 20);
}

static void test_tls_ends_out_of_memory(void **state) {
  (void)state;
  story_sweep_allocations(&with_tls, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tls_ends_in_every_callback),
      cmocka_unit_test(test_tls_ends_after_every_step),
      cmocka_unit_test(test_tls_ends_out_of_memory),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
