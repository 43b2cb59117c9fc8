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

#include "support/answer_world.h"
#include "support/fail_alloc.h"
#include "support/tls_certs.h"
#include "support/tls_server.h"

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define LIST HEAD "Connection: close\r\n\r\n" ANSWER_LIST
#define WATCH HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define EVENT "66\r\n" ANSWER_EVENT "\r\n"
#define STATUS_401                                                             \
  "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"Unauthorized\","  \
  "\"reason\":\"Unauthorized\",\"code\":401}"
#define UNAUTHORIZED                                                           \
  "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n"            \
  "Connection: close\r\n\r\n" STATUS_401

static const tls_reply list_and_watch[] = {{LIST, 0, TLS_CLOSE},
                                           {WATCH EVENT, 0, TLS_KEEP}};

typedef struct bench {
  fail_alloc memory;
  uv_loop_t loop;
  uv_timer_t guard;
  tls_server server;
  char url[64];
  char directory[64];
  char ca_path[128];
  char token_path[128];
  kin_client_options options;
  kin_client *client;
  kin_informer *informer;
  int adds;
  int deletes;
  int synced;
  int errors;
  int closed;
  int calls;
  int close_at; /* the call that closes the client; -1: none */
  kin_error_class last_class;
  int last_status;
  char last_message[512];
  char output[65536]; /* every log line and message */
} bench;

static void note(bench *b, const char *text) {
  size_t used = strlen(b->output);
  assert_true(used + strlen(text) + 2 < sizeof b->output);
  snprintf(b->output + used, sizeof b->output - used, "%s\n", text);
}

static void on_log(kin_log_level level, const char *line, void *data) {
  (void)level;
  note(data, line);
}

static void on_closed(void *data) {
  bench *b = data;
  b->closed++;
  b->client = NULL;
}

static void on_call(bench *b) {
  assert_true(b->close_at < 0 || b->calls <= b->close_at);
  if (b->calls++ == b->close_at) {
    assert_int_equal(kin_client_close(b->client, on_closed, b), 0);
  }
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  bench *b = data;
  (void)informer;
  b->adds += event->type == KIN_EVENT_ADD;
  b->deletes += event->type == KIN_EVENT_DELETE;
  b->synced += event->type == KIN_EVENT_SYNCED;
  on_call(b);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  bench *b = data;
  (void)informer;
  b->errors++;
  b->last_class = event->error_class;
  b->last_status = event->status;
  snprintf(b->last_message, sizeof b->last_message, "%s", event->message);
  note(b, event->message);
  event->answer = KIN_RETRY_AFTER;
  event->retry_after_ms = 20;
  on_call(b);
}

static void on_guard(uv_timer_t *timer) {
  (void)timer;
  fprintf(stderr, "the test hangs\n");
  abort();
}

static void bench_init(bench *b, const tls_reply *replies, size_t count,
                       const tls_server_options *serve) {
  memset(b, 0, sizeof *b);
  b->close_at = -1;
  fail_alloc_init(&b->memory, 0);
  b->memory.secrets[0] = "s3cret";
  b->memory.secrets[1] = "PRIVATE KEY";
  assert_int_equal(uv_loop_init(&b->loop), 0);
  uv_timer_init(&b->loop, &b->guard);
  uv_timer_start(&b->guard, on_guard, 60000, 0);
  uv_unref((uv_handle_t *)&b->guard);
  tls_server_open(&b->server, &b->loop, serve, replies, count);
  snprintf(b->url, sizeof b->url, "https://127.0.0.1:%d", b->server.port);
  snprintf(b->directory, sizeof b->directory, "/tmp/kin-test-XXXXXX");
  assert_non_null(mkdtemp(b->directory));
  snprintf(b->ca_path, sizeof b->ca_path, "%s/ca.crt", b->directory);
  snprintf(b->token_path, sizeof b->token_path, "%s/token", b->directory);
  tls_write_file(b->ca_path, tls_pki_get()->authority_pem);
  tls_write_file(b->token_path, "s3cret-1\n");
  b->options = (kin_client_options)KIN_CLIENT_OPTIONS_INIT;
  b->options.server = b->url;
  b->options.allocator = &b->memory.allocator;
  b->options.seed = 1;
  b->options.log = on_log;
  b->options.log_data = b;
  b->options.log_level = KIN_LOG_DEBUG;
  b->options.certificate_authority_file = b->ca_path;
  b->options.token_file = b->token_path;
}

static void bench_finish(bench *b) {
  if (b->client != NULL) {
    int err = kin_client_close(b->client, on_closed, b);
    assert_true(err == 0 || err == KIN_EALREADY);
  }
  tls_server_close(&b->server);
  uv_close((uv_handle_t *)&b->guard, NULL);
  assert_int_equal(uv_run(&b->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&b->loop), 0);
  assert_int_equal(atomic_load(&b->memory.live_blocks), 0);
  assert_int_equal(atomic_load(&b->memory.leaked_secrets), 0);
  assert_null(strstr(b->output, "s3cret"));
  assert_null(strstr(b->output, "PRIVATE"));
  (void)unlink(b->ca_path);
  (void)unlink(b->token_path);
  assert_int_equal(rmdir(b->directory), 0);
}

static int open_all(bench *b) {
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.no_watch_list = true; /* the server knows lists only */
  io.on_error = on_error;
  io.data = b;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = lo.on_update = lo.on_delete = lo.on_synced = on_event;
  lo.data = b;
  int err = kin_client_open(&b->client, &b->loop, &b->options);
  if (err == 0) {
    err = kin_informer_open(&b->informer, b->client, &io);
  }
  if (err == 0) {
    err = kin_informer_listen(b->informer, &lo, NULL);
  }
  return err == 0 ? kin_informer_start(b->informer) : err;
}

#define UNTIL(b, condition)                                                    \
  while (!(condition)) {                                                       \
    uv_run(&(b)->loop, UV_RUN_ONCE);                                           \
  }

static void test_tls_client_list_and_watch(void **state) {
  (void)state;
  bench b;
  bench_init(
      &b, list_and_watch, 2,
      &(tls_server_options){.client_authority = &tls_pki_get()->authority});
  b.options.client_certificate_data = tls_pki_get()->client_pem;
  b.options.client_key_data = tls_pki_get()->client_key_pem;
  assert_int_equal(open_all(&b), 0);
  UNTIL(&b, b.deletes == 1);
  assert_int_equal(b.adds, 2);
  assert_int_equal(b.synced, 1);
  assert_int_equal(b.errors, 0);
  assert_string_equal(b.server.last_client, "client");
  assert_non_null(strstr(b.server.last_request, "resourceVersion=7"));
  assert_non_null(
      strstr(b.server.last_request, "\r\nAuthorization: Bearer s3cret-1\r\n"));
  assert_int_equal(b.server.resumed, 1);
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(b.client, &stats), 0);
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
    kin_client_options *o = &b.options;
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
    assert_int_equal(open_all(&b), 0);
    for (size_t i = 0; texts[i] != NULL; i++) {
      memset(texts[i], 'x', strlen(texts[i]));
      free(texts[i]);
    }
    tls_write_file(certificate, pki->client_pem);
    tls_write_file(key, pki->client_key_pem);
    UNTIL(&b, b.deletes == 1);
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
  kin_client_options good = b.options;
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
    b.output[0] = '\0';
    assert_int_equal(kin_client_open(&b.client, &b.loop, &bad[i]), KIN_EINVAL);
    assert_null(b.client);
    assert_true(strlen(b.output) > 10); /* says why */
    assert_int_equal(atomic_load(&b.memory.live_blocks), 0);
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
  assert_int_equal(open_all(&b), 0);
  UNTIL(&b, b.errors == 2);
  assert_int_equal(b.last_class, KIN_CLASS_TLS);
  assert_int_equal(b.last_status, 0);
  assert_non_null(strstr(b.last_message, "tls: certificate is not trusted"));
  tls_write_file(b.ca_path, tls_pki_get()->authority_pem);
  UNTIL(&b, b.synced == 1);
  assert_int_equal(b.adds, 2);
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
  assert_int_equal(open_all(&b), 0);
  UNTIL(&b, b.errors == 2);
  assert_int_equal(b.last_class, KIN_CLASS_TLS);
  assert_non_null(strstr(b.last_message, "tls: certificate expired 2"));
  tls_server_set_options(&b.server, &(tls_server_options){.slice = 0});
  UNTIL(&b, b.synced == 1);
  tls_cert_finish(&old);
  bench_finish(&b);
}

/* 401, then a token that is good. */
static void test_tls_client_heals_token(void **state) {
  (void)state;
  static const tls_reply refused[] = {{UNAUTHORIZED, 0, TLS_CLOSE}};
  bench b;
  bench_init(&b, refused, 1, &(tls_server_options){.slice = 0});
  assert_int_equal(open_all(&b), 0);
  UNTIL(&b, b.errors == 2);
  assert_int_equal(b.last_class, KIN_CLASS_AUTH);
  assert_int_equal(b.last_status, 401);
  tls_write_file(b.token_path, "s3cret-2\n");
  b.server.requests = 0;
  b.server.replies = list_and_watch;
  b.server.reply_count = 2;
  UNTIL(&b, b.deletes == 1);
  assert_non_null(strstr(b.server.last_request, "Bearer s3cret-2\r\n"));
  bench_finish(&b);
}

/* No token file at all; then there is one. */
static void test_tls_client_token_appears(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2, &(tls_server_options){.slice = 0});
  assert_int_equal(unlink(b.token_path), 0);
  assert_int_equal(open_all(&b), 0);
  UNTIL(&b, b.errors == 2);
  assert_int_equal(b.last_class, KIN_CLASS_AUTH);
  assert_non_null(strstr(b.last_message, kin_strerror(UV_ENOENT)));
  assert_int_equal(b.server.accepted, 0);
  tls_write_file(b.token_path, "s3cret-1");
  UNTIL(&b, b.synced == 1);
  bench_finish(&b);
}

static void test_tls_client_insecure(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2, &(tls_server_options){.slice = 0});
  b.options.certificate_authority_file = NULL;
  b.options.insecure_skip_tls_verify = true;
  b.options.log_level = KIN_LOG_WARN;
  assert_int_equal(open_all(&b), 0);
  assert_non_null(strstr(b.output, "is not verified"));
  UNTIL(&b, b.synced == 1);
  bench_finish(&b);
}

/* Closing in the k-th callback, errors among them. */
static void test_tls_client_close_in_every_callback(void **state) {
  (void)state;
  static const tls_reply replies[] = {{UNAUTHORIZED, 0, TLS_CLOSE},
                                      {LIST, 0, TLS_CLOSE},
                                      {WATCH EVENT, 0, TLS_RESET}};
  for (int close_at = 0;; close_at++) {
    bench b;
    bench_init(&b, replies, 3, &(tls_server_options){.slice = 0});
    b.close_at = close_at;
    assert_int_equal(open_all(&b), 0);
    UNTIL(&b, b.closed == 1 || b.errors == 3);
    bool was_reached = b.calls > close_at;
    bench_finish(&b);
    assert_int_equal(b.closed, 1);
    if (!was_reached) {
      assert_true(close_at > 4);
      break;
    }
  }
}

/* Every allocation fails once: opening fails cleanly, or everything is told all
 * the same, after a retry. */
static bool run_tls_client_without_memory(size_t n) {
  bench b;
  bench_init(&b, list_and_watch, 2, &(tls_server_options){.slice = 0});
  b.memory.fail_at = n;
  int err = open_all(&b);
  if (err != 0) {
    assert_int_equal(err, KIN_ENOMEM);
  }
  UNTIL(&b, err != 0 || b.deletes > 0 || b.errors > 0);
  if (b.errors > 0) {
    assert_int_equal(b.last_class, KIN_CLASS_MEMORY);
  }
  bool has_failed = fail_alloc_has_failed(&b.memory);
  bench_finish(&b);
  return has_failed;
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
