/* SPDX-License-Identifier: MIT */
/* Proves that memory which OpenSSL cannot get is an error like any other: the
 * exchange ends with one or succeeds, the next one succeeds, and nothing is
 * left behind. What the test server allocates never fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/crypto.h>

#include "support/tls_world.h"

static const tls_reply hello = {HELLO, 0, TLS_CLOSE};

static atomic_bool is_server;
static atomic_bool is_armed;
static atomic_size_t calls;
static size_t fail_at; /* the call that fails while armed, from 1 */
static atomic_long live;

static bool must_fail(void) {
  return atomic_load(&is_armed) && !atomic_load(&is_server) &&
         atomic_fetch_add(&calls, 1) + 1 == fail_at;
}

static void *take(size_t size, const char *file, int line) {
  (void)file;
  (void)line;
  if (size == 0 || must_fail()) {
    return NULL;
  }
  void *p = malloc(size);
  atomic_fetch_add(&live, p != NULL);
  return p;
}

static void give(void *p, const char *file, int line) {
  (void)file;
  (void)line;
  atomic_fetch_sub(&live, p != NULL);
  free(p);
}

static void *resize(void *p, size_t size, const char *file, int line) {
  if (p == NULL) {
    return take(size, file, line);
  }
  if (size == 0) {
    give(p, file, line);
    return NULL;
  }
  return must_fail() ? NULL : realloc(p, size);
}

static void on_server(bool is_entering) {
  atomic_store(&is_server, is_entering);
}

static void check_error(const fetch *f) {
  if (f->error.code == KIN_ENOMEM) {
    assert_int_equal(f->error.error_class, KIN_CLASS_MEMORY);
  } else if (f->error.code == UV_ECONNRESET || f->error.code == UV_EPIPE) {
    assert_int_equal(f->error.error_class, KIN_CLASS_CONNECT);
  } else if (f->error.code != 0) {
    /* Not every failed allocation is called so by OpenSSL. */
    assert_true(f->error.code == KIN_ETLS || f->error.code == KIN_ETLSSETUP);
    assert_int_equal(f->error.error_class, KIN_CLASS_TLS);
  }
}

/* Two exchanges, the second on a resumed session, then one that must succeed.
 * Returns how many allocations the two needed. */
static size_t run(size_t fail) {
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.tls.certificate_data = tls_pki_get()->client_pem;
  t.tls.key_data = tls_pki_get()->client_key_pem;
  t.serve.client_authority = &tls_pki_get()->authority;
  fail_at = fail;
  atomic_store(&calls, 0);
  atomic_store(&is_armed, true);
  int err = tls_world_open(&t, "localhost");
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
  }
  for (int i = 0; i < 2 && err == 0; i++) {
    fetch f = {.world = &t.w};
    fetch_run(&f, &t.w, "/x");
    check_error(&f);
    fetch_finish(&f);
  }
  atomic_store(&is_armed, false);
  size_t count = atomic_load(&calls);
  if (err == 0) {
    world_advance(&t.w, 1000);
    assert_string_equal(tls_world_try(&t), "");
  }
  tls_world_close(&t);
  return count;
}

static void test_tls_memory_fails(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) { /* what OpenSSL keeps for the process */
    (void)run(0);
  }
  size_t count = run(0);
  assert_true(count > 1000);
  /* OpenSSL's caches grow for a few runs more. A leak would grow in each. */
  long before = 0;
  bool is_steady = false;
  for (int i = 0; i < 20 && !is_steady; i++) {
    before = atomic_load(&live);
    (void)run(0);
    is_steady = atomic_load(&live) == before;
  }
  assert_true(is_steady);
  /* KIN_TEST_ALL=1 takes them all, in minutes. */
  size_t step = getenv("KIN_TEST_ALL") != NULL ? 1 : count / 500 + 1;
  for (size_t n = 1; n <= count; n += step) {
    (void)run(n);
  }
  /* What a failure leaves in OpenSSL's own caches varies by a few blocks; what
   * is really lost the sanitizer finds. An SSL object alone has 100. */
  assert_true(labs(atomic_load(&live) - before) < 1000);
}

/* A file's authority becomes another one while memory fails once. Returns how
 * many allocations the next exchange needed. */
static size_t change_authority(size_t fail, const char *other_pem) {
  tls_world t;
  char path[128];
  tls_world_init(&t, &hello, 1, 0);
  tls_world_path(&t, "ca.crt", path, sizeof path);
  tls_write_file(path, tls_pki_get()->authority_pem);
  t.tls.authority_data = NULL;
  t.tls.authority_file = path;
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  assert_string_equal(tls_world_try(&t), "");
  tls_write_file(path, other_pem);
  world_advance(&t.w, 1000);
  fail_at = fail;
  atomic_store(&calls, 0);
  atomic_store(&is_armed, true);
  fetch f = {.world = &t.w};
  fetch_run(&f, &t.w, "/x");
  check_error(&f);
  fetch_finish(&f);
  atomic_store(&is_armed, false);
  size_t count = atomic_load(&calls);
  world_advance(&t.w, 1000);
  tls_assert_words(tls_world_try(&t), "certificate is not trusted");
  tls_world_close(&t);
  return count;
}

/* AU-04: a changed file that could not be read for want of memory is read again,
 * although it does not change any more. */
static void test_tls_memory_of_a_changed_file(void **state) {
  (void)state;
  tls_cert_options options = {.name = "Other CA",
                              .is_authority = true,
                              .from_s = -100,
                              .until_s = 1000};
  tls_cert other = tls_cert_make(&options);
  char *pem = tls_cert_pem(&other);
  size_t count = change_authority(0, pem);
  for (size_t n = 1; n <= count; n += count / 30 + 1) {
    (void)change_authority(n, pem);
  }
  free(pem);
  tls_cert_finish(&other);
}

int main(void) {
  if (CRYPTO_set_mem_functions(take, resize, give) != 1) {
    puts("skipped: OpenSSL has allocated before main, as it does on s390x");
    return 77;
  }
  tls_server_hook = on_server;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tls_memory_fails),
      cmocka_unit_test(test_tls_memory_of_a_changed_file),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
