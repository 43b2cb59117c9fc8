/* SPDX-License-Identifier: MIT */
/* Proves AU-01, AU-02 and CN-10 (when a token file is read, and what happens if
 * it cannot be), KC-08 (a token to start with), and that a 401 has it read
 * again. The clock is a number, the loop runs only for libuv's pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include <kin/error.h>

#include "config/token.h"
#include "support/fail_alloc.h"
#include "support/tls_certs.h"

typedef struct rig {
  uv_loop_t loop;
  fail_alloc memory;
  uint64_t now_ms;
  kin__token *token;
  kin__credentials credentials;
  kin__log log;
  char lines[4096];
  int warnings;
  char directory[64];
  char path[128];
  bool is_closed;
} rig;

static uint64_t now_ns(void *ctx) {
  return ((rig *)ctx)->now_ms * 1000000u;
}

static void on_log(kin_log_level level, const char *line, void *data) {
  rig *r = data;
  r->warnings += level == KIN_LOG_WARN;
  assert_true(strlen(r->lines) + strlen(line) < sizeof r->lines);
  strcat(r->lines, line);
}

static void rig_init(rig *r, const char *content) {
  memset(r, 0, sizeof *r);
  assert_int_equal(uv_loop_init(&r->loop), 0);
  fail_alloc_init(&r->memory, 0);
  r->now_ms = 5000000;
  r->log = (kin__log){.cb = on_log, .data = r, .level = KIN_LOG_DEBUG};
  snprintf(r->directory, sizeof r->directory, "/tmp/kin-test-XXXXXX");
  assert_non_null(mkdtemp(r->directory));
  snprintf(r->path, sizeof r->path, "%s/token", r->directory);
  if (content != NULL) {
    tls_write_file(r->path, content);
  }
}

static int rig_open(rig *r, const char *token, const char *file) {
  kin__token_options options = {.loop = &r->loop,
                                .allocator = &r->memory.allocator,
                                .clock = {now_ns, r},
                                .log = &r->log,
                                .token = token,
                                .file = file};
  int err = kin__token_new(&r->token, &options);
  if (err == 0) {
    r->credentials = kin__token_credentials(r->token);
  }
  return err;
}

static void on_closed(void *ctx) {
  ((rig *)ctx)->is_closed = true;
}

static void rig_finish(rig *r) {
  if (r->token != NULL) {
    kin__token_close(r->token, on_closed, r);
    assert_false(r->is_closed);
    assert_int_equal(uv_run(&r->loop, UV_RUN_DEFAULT), 0);
    assert_true(r->is_closed);
  }
  assert_int_equal(uv_loop_close(&r->loop), 0);
  assert_int_equal(atomic_load(&r->memory.live_blocks), 0);
  (void)unlink(r->path);
  assert_int_equal(rmdir(r->directory), 0);
}

static int served;

static void on_served(kin__waiter *waiter) {
  assert_true(waiter->is_served);
  served++;
}

/* What a request gets; *was_read tells whether it had to wait. */
static int ask(rig *r, kin__credential *credential, bool *was_read) {
  kin__waiter waiter;
  kin__waiter_init(&waiter, on_served);
  served = 0;
  int err = r->credentials.get(r->credentials.ctx, &waiter, credential);
  *was_read = err == KIN__PENDING;
  if (*was_read) {
    assert_int_equal(served, 0);
    assert_int_equal(uv_run(&r->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(served, 1);
    err = r->credentials.get(r->credentials.ctx, &waiter, credential);
    assert_int_not_equal(err, KIN__PENDING); /* never twice */
  }
  return err;
}

static void expect(rig *r, const char *value, bool is_read) {
  kin__credential credential;
  bool was_read;
  assert_int_equal(ask(r, &credential, &was_read), 0);
  assert_string_equal(credential.value, value);
  assert_int_equal(was_read, is_read);
}

static void expect_failure(rig *r, const char *words) {
  kin__credential credential;
  bool was_read;
  assert_int_equal(ask(r, &credential, &was_read), KIN_ETOKEN);
  assert_true(was_read);
  assert_non_null(strstr(credential.reason, words));
  assert_non_null(strstr(credential.reason, r->path));
  assert_non_null(strstr(r->lines, credential.reason));
}

static void reject(rig *r) {
  kin__credential credential;
  assert_int_equal(r->credentials.get(r->credentials.ctx, NULL, &credential),
                   0);
  r->credentials.rejected(r->credentials.ctx, credential.serial);
}

static void test_token_static(void **state) {
  (void)state;
  rig r;
  rig_init(&r, NULL);
  assert_int_equal(rig_open(&r, "abc.DEF-_~+/=", NULL), 0);
  expect(&r, "Bearer abc.DEF-_~+/=", false);
  r.now_ms += 1000000;
  reject(&r);
  expect(&r, "Bearer abc.DEF-_~+/=", false);
  rig_finish(&r);
}

static void test_token_options(void **state) {
  (void)state;
  static const char *const bad[] = {"",      " a",  "a ",   "a b",
                                    "a\r\n", "a\t", "\x7f", "\xc3\xa9"};
  rig r;
  rig_init(&r, NULL);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(rig_open(&r, bad[i], NULL), KIN_EINVAL);
    assert_null(r.token);
  }
  assert_int_equal(rig_open(&r, NULL, NULL), KIN_EINVAL);
  assert_int_equal(rig_open(&r, "a", ""), KIN_EINVAL);
  char *large = malloc(KIN__TOKEN_MAX_BYTES + 2);
  assert_non_null(large);
  memset(large, 'x', KIN__TOKEN_MAX_BYTES + 1);
  large[KIN__TOKEN_MAX_BYTES + 1] = '\0';
  assert_int_equal(rig_open(&r, large, NULL), KIN_EINVAL);
  large[KIN__TOKEN_MAX_BYTES] = '\0';
  assert_int_equal(rig_open(&r, large, NULL), 0);
  free(large);
  rig_finish(&r);
}

/* client-go TestCachingTokenSource; AU-01: read, reused for 50 s, read
 * again. */
static void test_token_file_is_cached(void **state) {
  (void)state;
  rig r;
  rig_init(&r, "\t one \r\n\n");
  assert_int_equal(rig_open(&r, NULL, r.path), 0);
  expect(&r, "Bearer one", true);
  tls_write_file(r.path, "two");
  r.now_ms += 49999;
  expect(&r, "Bearer one", false);
  r.now_ms += 1;
  expect(&r, "Bearer two", true);
  r.now_ms += 49999;
  expect(&r, "Bearer two", false);
  r.now_ms += 1;
  expect(&r, "Bearer two", true); /* the same again counts as read */
  expect(&r, "Bearer two", false);
  assert_int_equal(r.warnings, 0);
  rig_finish(&r);
}

/* Unreadable or empty: the old one stays. The file is read again after a
 * second. */
static void test_token_file_is_spoilt(void **state) {
  (void)state;
  rig r;
  rig_init(&r, "one");
  assert_int_equal(rig_open(&r, NULL, r.path), 0);
  expect(&r, "Bearer one", true);
  assert_int_equal(unlink(r.path), 0);
  r.now_ms += 50000;
  expect(&r, "Bearer one", true);
  expect(&r, "Bearer one", false);
  r.now_ms += 999;
  expect(&r, "Bearer one", false);
  assert_int_equal(r.warnings, 1);
  r.now_ms += 1;
  expect(&r, "Bearer one", true);
  assert_int_equal(r.warnings, 2);
  static const char *const contents[] = {"", " \n", "two words", "b\001d",
                                         "\xff"};
  for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
    tls_write_file(r.path, contents[i]);
    r.now_ms += 1000;
    expect(&r, "Bearer one", true);
    assert_int_equal(r.warnings, (int)i + 3);
  }
  assert_null(strstr(r.lines, "two words")); /* nothing of the content */
  tls_write_file(r.path, "two");
  r.now_ms += 1000;
  expect(&r, "Bearer two", true);
  expect(&r, "Bearer two", false);
  rig_finish(&r);
}

/* The same failure again and again: four warnings in a row, and then one of 16.
 * Another one, and one after a good reading, begin anew. */
static void test_token_file_stays_spoilt(void **state) {
  (void)state;
  rig r;
  rig_init(&r, NULL);
  r.log.level = KIN_LOG_WARN;
  assert_int_equal(rig_open(&r, "fixed", r.path), 0);
  for (int i = 1; i <= 32; i++) {
    expect(&r, "Bearer fixed", true);
    assert_int_equal(r.warnings, i < 4 ? i : 4 + i / 16);
    r.now_ms += 1000;
  }
  tls_write_file(r.path, "");
  expect(&r, "Bearer fixed", true);
  assert_int_equal(r.warnings, 7);
  tls_write_file(r.path, "one");
  r.now_ms += 1000;
  expect(&r, "Bearer one", true);
  tls_write_file(r.path, "");
  r.now_ms += 50000;
  for (int i = 0; i < 5; i++) {
    expect(&r, "Bearer one", true);
    r.now_ms += 1000;
  }
  assert_int_equal(r.warnings, 11);
  rig_finish(&r);
}

/* A 401 has the file read at once, also right after a failure. */
static void test_token_rejected_after_a_failure(void **state) {
  (void)state;
  rig r;
  rig_init(&r, NULL);
  assert_int_equal(rig_open(&r, "fixed", r.path), 0);
  expect(&r, "Bearer fixed", true);
  expect(&r, "Bearer fixed", false);
  reject(&r);
  expect(&r, "Bearer fixed", true);
  tls_write_file(r.path, "one");
  expect(&r, "Bearer one", true);
  rig_finish(&r);
}

/* No token at all: the request fails, and the next one tries again. */
static void test_token_file_is_missing(void **state) {
  (void)state;
  rig r;
  rig_init(&r, NULL);
  assert_int_equal(rig_open(&r, NULL, r.path), 0);
  expect_failure(&r, kin_strerror(UV_ENOENT));
  tls_write_file(r.path, "");
  expect_failure(&r, "it is empty");
  tls_write_file(r.path, "two words");
  expect_failure(&r, "it holds something else than a token");
  assert_int_equal(unlink(r.path), 0);
  assert_int_equal(mkfifo(r.path, 0600), 0);
  expect_failure(&r, "not a regular file");
  assert_int_equal(unlink(r.path), 0);
  char *large = malloc(KIN__TOKEN_MAX_BYTES + 2);
  assert_non_null(large);
  memset(large, 'x', KIN__TOKEN_MAX_BYTES + 1);
  large[KIN__TOKEN_MAX_BYTES + 1] = '\0';
  tls_write_file(r.path, large);
  expect_failure(&r, "too large");
  free(large);
  tls_write_file(r.path, "one");
  expect(&r, "Bearer one", true);
  rig_finish(&r);
}

/* The longest token, with white space around it. */
static void test_token_file_with_the_longest(void **state) {
  (void)state;
  enum { SPACE_BYTES = 4096 };
  rig r;
  rig_init(&r, NULL);
  size_t length = KIN__TOKEN_MAX_BYTES + SPACE_BYTES;
  char *text = malloc(length + 2);
  char *value = malloc(sizeof "Bearer " + KIN__TOKEN_MAX_BYTES);
  assert_true(text != NULL && value != NULL);
  memset(text, '\n', length + 1);
  text[length + 1] = '\0';
  memset(text + 1, 'x', KIN__TOKEN_MAX_BYTES);
  memcpy(value, "Bearer ", 7);
  memcpy(value + 7, text + 1, KIN__TOKEN_MAX_BYTES);
  value[7 + KIN__TOKEN_MAX_BYTES] = '\0';
  assert_int_equal(rig_open(&r, NULL, r.path), 0);
  tls_write_file(r.path, text); /* one byte too many */
  expect_failure(&r, "too large");
  text[length] = '\0';
  tls_write_file(r.path, text);
  expect(&r, value, true);
  free(value);
  free(text);
  rig_finish(&r);
}

/* With both, the file wins once it could be read (AU-02, KC-08). */
static void test_token_both(void **state) {
  (void)state;
  rig r;
  rig_init(&r, NULL);
  assert_int_equal(rig_open(&r, "fixed", r.path), 0);
  expect(&r, "Bearer fixed", true);
  assert_int_equal(r.warnings, 1);
  tls_write_file(r.path, "one");
  r.now_ms += 1000;
  expect(&r, "Bearer one", true);
  assert_int_equal(unlink(r.path), 0);
  r.now_ms += 50000;
  expect(&r, "Bearer one", true); /* and goes on winning */
  rig_finish(&r);
}

/* A 401 has the file read before the next request, unless the token it was
 * about has been replaced already. */
static void test_token_rejected(void **state) {
  (void)state;
  rig r;
  rig_init(&r, "one");
  assert_int_equal(rig_open(&r, NULL, r.path), 0);
  expect(&r, "Bearer one", true);
  kin__credential first;
  assert_int_equal(r.credentials.get(r.credentials.ctx, NULL, &first), 0);
  uint64_t serial = first.serial;
  tls_write_file(r.path, "two");
  expect(&r, "Bearer one", false);
  r.credentials.rejected(r.credentials.ctx, serial);
  expect(&r, "Bearer two", true);
  r.credentials.rejected(r.credentials.ctx, serial); /* a late answer */
  expect(&r, "Bearer two", false);
  reject(&r);
  expect(&r, "Bearer two", true); /* still the same, so still used */
  expect(&r, "Bearer two", false);
  rig_finish(&r);
}

/* Who asks while the file is read waits for that reading; who comes late, or
 * does not want to wait, gets what there is. */
static void test_token_waiters(void **state) {
  (void)state;
  rig r;
  rig_init(&r, "one");
  assert_int_equal(rig_open(&r, NULL, r.path), 0);
  kin__waiter waiters[3];
  kin__credential credential;
  served = 0;
  for (size_t i = 0; i < 3; i++) {
    kin__waiter_init(&waiters[i], on_served);
    assert_int_equal(
        r.credentials.get(r.credentials.ctx, &waiters[i], &credential),
        KIN__PENDING);
  }
  assert_int_not_equal(r.credentials.get(r.credentials.ctx, NULL, &credential),
                       KIN__PENDING);
  kin__waiter_reset(&waiters[1]);
  assert_int_equal(uv_run(&r.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(served, 2);
  assert_false(waiters[1].is_served);
  expect(&r, "Bearer one", false);
  rig_finish(&r);
}

static void test_token_close_while_reading(void **state) {
  (void)state;
  rig r;
  rig_init(&r, "one");
  assert_int_equal(rig_open(&r, NULL, r.path), 0);
  kin__waiter waiter;
  kin__credential credential;
  kin__waiter_init(&waiter, on_served);
  assert_int_equal(r.credentials.get(r.credentials.ctx, &waiter, &credential),
                   KIN__PENDING);
  kin__waiter_reset(&waiter);
  rig_finish(&r);
}

/* Each allocation fails once. */
static bool run_token_without_memory(size_t n) {
  rig r;
  rig_init(&r, "one");
  r.memory.fail_at = n;
  int err = rig_open(&r, "fixed", r.path);
  if (err == 0) {
    kin__credential credential;
    bool was_read;
    assert_int_equal(ask(&r, &credential, &was_read), 0);
    bool has_failed = fail_alloc_has_failed(&r.memory);
    assert_string_equal(credential.value,
                        has_failed ? "Bearer fixed" : "Bearer one");
    r.now_ms += 1000;
    expect(&r, "Bearer one", has_failed); /* the next one is fine */
  } else {
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(r.token);
  }
  bool has_failed = fail_alloc_has_failed(&r.memory);
  rig_finish(&r);
  return has_failed;
}

static void test_token_out_of_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_token_without_memory, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_token_static),
      cmocka_unit_test(test_token_options),
      cmocka_unit_test(test_token_file_is_cached),
      cmocka_unit_test(test_token_file_is_spoilt),
      cmocka_unit_test(test_token_file_stays_spoilt),
      cmocka_unit_test(test_token_rejected_after_a_failure),
      cmocka_unit_test(test_token_file_is_missing),
      cmocka_unit_test(test_token_file_with_the_longest),
      cmocka_unit_test(test_token_both),
      cmocka_unit_test(test_token_rejected),
      cmocka_unit_test(test_token_waiters),
      cmocka_unit_test(test_token_close_while_reading),
      cmocka_unit_test(test_token_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
