/* SPDX-License-Identifier: MIT */
/* Proves no row of its own, but what TR-08 rests on: with a proxy on the way an
 * exchange can be cancelled and the transport closed in every callback and
 * between any two steps; each allocation can fail; the password is wiped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/exchange_story.h"
#include "support/proxy_world.h"

#define SECRET "s3cret"
#define ENCODED "dTpzM2NyZXQ=" /* "u:s3cret" */

static proxy_world p;

typedef struct kind {
  const char *scheme;
  bool is_tls;
} kind;

/* A tunnel through an http proxy is a part of that through an https proxy. */
static const kind kinds[] = {
    {"http", false}, {"https", true}, {"socks5", true}};
#define KINDS (sizeof kinds / sizeof kinds[0])
static const kind *current;

static world *open_world(size_t fail_at, bool keeps_failing, int *err) {
  static const tls_reply tls = {STORY_REPLY, 0, TLS_CLOSE};
  static const loop_reply plain = {.bytes = STORY_REPLY, .then = LOOP_CLOSE};
  bool is_socks = strcmp(current->scheme, "socks5") == 0;
  proxy_world_init(&p, current->is_tls, current->scheme, NULL, fail_at);
  p.t.w.memory.keeps_failing = keeps_failing;
  p.t.w.memory.secrets[0] = SECRET;
  p.t.w.memory.secrets[1] = ENCODED;
  p.t.server.replies = &tls;
  p.t.w.server.replies = &plain;
  p.user_info = "u:" SECRET "@";
  p.serve.login = is_socks ? "u:" SECRET : "Basic " ENCODED;
  if (strcmp(current->scheme, "https") == 0) {
    p.serve.certificate = &tls_pki_get()->server;
  }
  *err = proxy_world_open(&p, "localhost");
  return &p.t.w;
}

static void check_secret(const fetch *f) {
  assert_false(tls_world_leaks(&p.t, f, SECRET));
  assert_false(tls_world_leaks(&p.t, f, ENCODED));
}

static void close_world(void) {
  proxy_world_close(&p);
  assert_int_equal(atomic_load(&p.t.w.memory.leaked_secrets), 0);
}

static const story_world with_proxy = {
    .open = open_world, .check = check_secret, .close = close_world};

static void test_proxy_ends_in_every_callback(void **state) {
  (void)state;
  for (current = kinds; current < kinds + KINDS; current++) {
    story_sweep_callbacks(&with_proxy, 5); /* head, body, end */
  }
}

static void test_proxy_ends_after_every_step(void **state) {
  (void)state;
  for (current = kinds; current < kinds + KINDS; current++) {
    story_sweep_steps(&with_proxy, 10);
  }
}

static void test_proxy_ends_out_of_memory(void **state) {
  (void)state;
  for (current = kinds; current < kinds + KINDS; current++) {
    story_sweep_allocations(&with_proxy, 15);
  }
}

int main(void) {
  setenv("UV_THREADPOOL_SIZE", "4", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_proxy_ends_in_every_callback),
      cmocka_unit_test(test_proxy_ends_after_every_step),
      cmocka_unit_test(test_proxy_ends_out_of_memory),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
