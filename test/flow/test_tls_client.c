/* SPDX-License-Identifier: MIT */
/* Clients over TLS on a real loop, through the public interface only: KC-07,
 * the options' rules, failures of TLS and tokens as on_error tells them, and
 * that they heal without a restart. No output ever holds a secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "support/client_world.h"
#include "support/tls_certs.h"
#include "support/tls_server.h"

#define STATUS_401                                                             \
  "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"Unauthorized\","  \
  "\"reason\":\"Unauthorized\",\"code\":401}"
#define UNAUTHORIZED                                                           \
  "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n"            \
  "Connection: close\r\n\r\n" STATUS_401

static const tls_reply list_and_watch[] = {{ANSWER_LISTED, 0, TLS_CLOSE},
                                           {ANSWER_WATCHED, 0, TLS_KEEP}};

typedef struct bench {
  client_world w;
  tls_server server;
  char url[64];
  char directory[64];
  char ca_path[128];
  char token_path[128];
  client_output output;
} bench;

static void bench_init(bench *b, const tls_reply *replies, size_t count,
                       const tls_server_options *serve) {
  memset(b, 0, sizeof *b);
  client_world_init(&b->w);
  client_world_guard(&b->w);
  b->w.memory.secrets[0] = "s3cret";
  b->w.memory.secrets[1] = "PRIVATE KEY";
  b->w.retry_after_ms = 20;
  client_world_keep_output(&b->w, &b->output);
  tls_server_open(&b->server, &b->w.loop, serve, replies, count);
  snprintf(b->url, sizeof b->url, "https://127.0.0.1:%d", b->server.port);
  snprintf(b->directory, sizeof b->directory, "/tmp/kin-test-XXXXXX");
  assert_non_null(mkdtemp(b->directory));
  snprintf(b->ca_path, sizeof b->ca_path, "%s/ca.crt", b->directory);
  snprintf(b->token_path, sizeof b->token_path, "%s/token", b->directory);
  tls_write_file(b->ca_path, tls_pki_get()->authority_pem);
  tls_write_file(b->token_path, "s3cret-1\n");
  kin_client_options *options = &b->w.options;
  options->server = b->url;
  options->certificate_authority_file = b->ca_path;
  options->token_file = b->token_path;
}

static void bench_finish(bench *b) {
  tls_server_close(&b->server);
  client_world_finish(&b->w);
  assert_int_equal(atomic_load(&b->w.memory.leaked_secrets), 0);
  assert_null(strstr(b->output.text, "s3cret"));
  assert_null(strstr(b->output.text, "PRIVATE"));
  (void)unlink(b->ca_path);
  (void)unlink(b->token_path);
  assert_int_equal(rmdir(b->directory), 0);
}

static void test_tls_client_list_and_watch(void **state) {
  (void)state;
  bench b;
  bench_init(
      &b, list_and_watch, 2,
      &(tls_server_options){.client_authority = &tls_pki_get()->authority});
  b.w.options.client_certificate_data = tls_pki_get()->client_pem;
  b.w.options.client_key_data = tls_pki_get()->client_key_pem;
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.deletes == 1);
  assert_int_equal(b.w.adds, 2);
  assert_int_equal(b.w.synced, 1);
  assert_int_equal(b.w.errors, 0);
  assert_string_equal(b.server.last_client, "client");
  assert_non_null(strstr(b.server.last_request, "resourceVersion=7"));
  assert_non_null(
      strstr(b.server.last_request, "\r\nAuthorization: Bearer s3cret-1\r\n"));
  assert_int_equal(b.server.resumed, 1);
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(b.w.client, &stats), 0);
  assert_int_equal(stats.requests, 2);
  bench_finish(&b);
}

/* A text that is gone when the client has been opened. */
static const char *fleeting(char **texts, const char *text) {
  size_t i = 0;
  while (texts[i] != NULL) {
    i++;
  }
  texts[i] = strdup(text);
  assert_non_null(texts[i]);
  return texts[i];
}

/* Everything in the options is copied, and the files are only read later; the
 * copies of keys and tokens are wiped (see bench_finish). */
static void test_tls_client_copies(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  for (int is_of_files = 0; is_of_files < 2; is_of_files++) {
    bench b;
    bench_init(&b, list_and_watch, 2,
               &(tls_server_options){.client_authority = &pki->authority});
    char certificate[128];
    char key[128];
    snprintf(certificate, sizeof certificate, "%s/crt", b.directory);
    snprintf(key, sizeof key, "%s/key", b.directory);
    char *texts[16] = {NULL};
    kin_client_options *o = &b.w.options;
    o->server = fleeting(texts, b.url);
    o->tls_server_name = fleeting(texts, "127.0.0.1");
    o->token = fleeting(texts, "s3cret-0");
    o->token_file = is_of_files ? fleeting(texts, b.token_path) : NULL;
    if (is_of_files) {
      o->certificate_authority_file = fleeting(texts, b.ca_path);
      o->client_certificate_file = fleeting(texts, certificate);
      o->client_key_file = fleeting(texts, key);
    } else {
      o->certificate_authority_file = NULL;
      o->certificate_authority_data = fleeting(texts, pki->authority_pem);
      o->client_certificate_data = fleeting(texts, pki->client_pem);
      o->client_key_data = fleeting(texts, pki->client_key_pem);
    }
    client_world_open(&b.w);
    for (size_t i = 0; texts[i] != NULL; i++) {
      memset(texts[i], 'x', strlen(texts[i]));
      free(texts[i]);
    }
    tls_write_file(certificate, pki->client_pem);
    tls_write_file(key, pki->client_key_pem);
    CLIENT_UNTIL(&b.w, b.w.deletes == 1);
    assert_string_equal(b.server.last_client, "client");
    assert_non_null(strstr(b.server.last_request, is_of_files
                                                      ? "Bearer s3cret-1\r\n"
                                                      : "Bearer s3cret-0\r\n"));
    (void)unlink(certificate);
    (void)unlink(key);
    bench_finish(&b);
  }
}

/* What contradicts itself, or is empty, is refused, and it is said why. */
static void test_tls_client_options(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  bench b;
  bench_init(&b, list_and_watch, 2, &(tls_server_options){.slice = 0});
  kin_client_options good = b.w.options;
  kin_client_options bad[10];
  for (size_t i = 0; i < 10; i++) {
    bad[i] = good;
  }
  bad[0].insecure_skip_tls_verify = true;
  bad[1].certificate_authority_data = "";
  bad[2].client_certificate_data = pki->client_pem;
  bad[3].client_key_file = "/x";
  bad[4].tls_server_name = "a/b";
  bad[5].token = "a b";
  bad[6].token = "";
  bad[7].token_file = "";
  bad[8].server = "http://127.0.0.1:1"; /* KC-07 */
  bad[9].server = "http://127.0.0.1:1";
  bad[9].token_file = NULL;
  for (size_t i = 0; i < 10; i++) {
    b.output.text[0] = '\0';
    b.w.options = bad[i];
    assert_int_equal(client_world_open_client(&b.w), KIN_EINVAL);
    assert_null(b.w.client);
    assert_true(strlen(b.output.text) > 10); /* says why */
    assert_int_equal(atomic_load(&b.w.memory.live_blocks), 0);
  }
  bench_finish(&b);
}

/* A wrong authority; then the right one is put in its place. */
static void test_tls_client_heals_authority(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2, &(tls_server_options){.slice = 0});
  tls_cert other =
      tls_cert_make(&(tls_cert_options){.name = "other", .is_authority = true});
  char *pem = tls_cert_pem(&other);
  tls_write_file(b.ca_path, pem);
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors == 2);
  assert_int_equal(b.w.error_class, KIN_CLASS_TLS);
  assert_int_equal(b.w.status, 0);
  assert_non_null(strstr(b.w.message, "tls: certificate is not trusted"));
  tls_write_file(b.ca_path, tls_pki_get()->authority_pem);
  CLIENT_UNTIL(&b.w, b.w.synced == 1);
  assert_int_equal(b.w.adds, 2);
  free(pem);
  tls_cert_finish(&other);
  bench_finish(&b);
}

/* The server's certificate has expired; then it gets a new one. */
static void test_tls_client_heals_server(void **state) {
  (void)state;
  tls_cert old =
      tls_cert_make(&(tls_cert_options){.name = "x",
                                        .alternatives = "IP:127.0.0.1",
                                        .issuer = &tls_pki_get()->authority,
                                        .from_s = -100,
                                        .until_s = -1});
  bench b;
  bench_init(&b, list_and_watch, 2, &(tls_server_options){.certificate = &old});
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors == 2);
  assert_int_equal(b.w.error_class, KIN_CLASS_TLS);
  assert_non_null(strstr(b.w.message, "tls: certificate expired 2"));
  tls_server_set_options(&b.server, &(tls_server_options){.slice = 0});
  CLIENT_UNTIL(&b.w, b.w.synced == 1);
  tls_cert_finish(&old);
  bench_finish(&b);
}

/* 401, then a token that is good. */
static void test_tls_client_heals_token(void **state) {
  (void)state;
  static const tls_reply refused[] = {{UNAUTHORIZED, 0, TLS_CLOSE}};
  bench b;
  bench_init(&b, refused, 1, &(tls_server_options){.slice = 0});
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors == 2);
  assert_int_equal(b.w.error_class, KIN_CLASS_AUTH);
  assert_int_equal(b.w.status, 401);
  tls_write_file(b.token_path, "s3cret-2\n");
  b.server.requests = 0;
  b.server.replies = list_and_watch;
  b.server.reply_count = 2;
  CLIENT_UNTIL(&b.w, b.w.deletes == 1);
  assert_non_null(strstr(b.server.last_request, "Bearer s3cret-2\r\n"));
  bench_finish(&b);
}

/* No token file at all; then there is one. */
static void test_tls_client_token_appears(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2, &(tls_server_options){.slice = 0});
  assert_int_equal(unlink(b.token_path), 0);
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors == 2);
  assert_int_equal(b.w.error_class, KIN_CLASS_AUTH);
  assert_non_null(strstr(b.w.message, kin_strerror(UV_ENOENT)));
  assert_int_equal(b.server.accepted, 0);
  tls_write_file(b.token_path, "s3cret-1");
  CLIENT_UNTIL(&b.w, b.w.synced == 1);
  bench_finish(&b);
}

static void test_tls_client_insecure(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2, &(tls_server_options){.slice = 0});
  b.w.options.certificate_authority_file = NULL;
  b.w.options.insecure_skip_tls_verify = true;
  b.w.options.log_level = KIN_LOG_WARN;
  client_world_open(&b.w);
  assert_non_null(strstr(b.output.text, "is not verified"));
  CLIENT_UNTIL(&b.w, b.w.synced == 1);
  bench_finish(&b);
}

/* Closing in the k-th callback, errors among them. */
static bool close_in_callback(int close_at) {
  static const tls_reply replies[] = {{UNAUTHORIZED, 0, TLS_CLOSE},
                                      {ANSWER_LISTED, 0, TLS_CLOSE},
                                      {ANSWER_WATCHED, 0, TLS_RESET}};
  bench b;
  bench_init(&b, replies, 3, &(tls_server_options){.slice = 0});
  b.w.close_at = close_at;
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.client == NULL || b.w.errors == 3);
  bench_finish(&b);
  return b.w.was_reached;
}

static void test_tls_client_close_in_every_callback(void **state) {
  (void)state;
  assert_true(client_world_sweep_closes(close_in_callback) > 4);
}

/* Every allocation fails once: opening fails cleanly, or everything is told all
 * the same, after a retry. */
static bool run_tls_client_without_memory(size_t n) {
  bench b;
  bench_init(&b, list_and_watch, 2, &(tls_server_options){.slice = 0});
  b.w.memory.fail_at = n;
  if (client_world_open(&b.w) == 0) {
    CLIENT_UNTIL(&b.w, b.w.deletes > 0 || b.w.errors > 0);
  }
  if (b.w.errors > 0) {
    assert_int_equal(b.w.error_class, KIN_CLASS_MEMORY);
  }
  bench_finish(&b);
  return fail_alloc_has_failed(&b.w.memory);
}

static void test_tls_client_out_of_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_tls_client_without_memory, 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tls_client_list_and_watch),
      cmocka_unit_test(test_tls_client_copies),
      cmocka_unit_test(test_tls_client_options),
      cmocka_unit_test(test_tls_client_heals_authority),
      cmocka_unit_test(test_tls_client_heals_server),
      cmocka_unit_test(test_tls_client_heals_token),
      cmocka_unit_test(test_tls_client_token_appears),
      cmocka_unit_test(test_tls_client_insecure),
      cmocka_unit_test(test_tls_client_close_in_every_callback),
      cmocka_unit_test(test_tls_client_out_of_memory),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
