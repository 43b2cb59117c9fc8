/* SPDX-License-Identifier: MIT */
/* Proves XP-05 and XP-06 on requests: what an exec plugin gives is sent, its
 * certificate is presented, and another certificate replaces the connections
 * that presented the last one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "support/exec_answer.h"
#include "support/tls_world.h"
#include "transport/core.h"
#include "transport/exchange_core.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"
#define LONG_BODY OK "Content-Length: 10\r\n\r\nhello"
#define UNAUTHORIZED                                                           \
  "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nnope"

static const tls_reply hello = {.bytes = HELLO};

typedef struct rig {
  tls_world t;
  kin_exec_plugin exec;
  char script[128];
  char answer[128];
  tls_cert other; /* of a client, too */
  char *other_pem;
  char *other_key_pem;
} rig;

/* What the plugin prints from now on; `is_other`: the other certificate. */
static void answer(rig *r, const char *token, bool has_pair, bool is_other) {
  const tls_pki *pki = tls_pki_get();
  char text[EXEC_ANSWER_SIZE];
  const char *pem = is_other ? r->other_pem : pki->client_pem;
  const char *key = is_other ? r->other_key_pem : pki->client_key_pem;
  exec_answer(text, token, has_pair ? pem : NULL, has_pair ? key : NULL);
  tls_write_file(r->answer, text);
}

static void rig_init(rig *r, const tls_reply *replies, size_t count,
                     size_t fail_at) {
  tls_world_init(&r->t, replies, count, fail_at);
  r->t.w.memory.secrets[0] = "t0ken-";
  r->t.w.memory.secrets[1] = "PRIVATE KEY";
  tls_cert_options options = {.name = "other client",
                              .issuer = &tls_pki_get()->authority};
  r->other = tls_cert_make(&options);
  r->other_pem = tls_cert_pem(&r->other);
  r->other_key_pem = tls_cert_key_pem(&r->other);
  tls_world_path(&r->t, "plugin", r->script, sizeof r->script);
  tls_world_path(&r->t, "answer", r->answer, sizeof r->answer);
  char text[512];
  snprintf(text, sizeof text, "#!/bin/sh\necho >> %s/runs\ncat %s\n",
           r->t.directory, r->answer);
  tls_write_file(r->script, text);
  assert_int_equal(chmod(r->script, 0700), 0);
  r->exec = (kin_exec_plugin)KIN_EXEC_PLUGIN_INIT;
  r->exec.api_version = "client.authentication.k8s.io/v1";
  r->exec.command = r->script;
  r->exec.interactive = KIN_EXEC_INTERACTIVE_NEVER;
  r->exec.stderr_to = KIN_EXEC_STDERR_DISCARD;
  r->t.exec = &r->exec;
  r->t.w.max_idle = 4;
}

static void rig_open(rig *r) {
  assert_int_equal(tls_world_open(&r->t, "127.0.0.1"), 0);
}

static void rig_finish(rig *r) {
  assert_false(tls_world_leaks(&r->t, NULL, "t0ken-"));
  assert_false(tls_world_leaks(&r->t, NULL, "PRIVATE"));
  tls_world_close(&r->t);
  assert_int_equal(atomic_load(&r->t.w.memory.leaked_secrets), 0);
  tls_cert_finish(&r->other);
  free(r->other_pem);
  free(r->other_key_pem);
}

static size_t count_runs(const rig *r) {
  char path[128];
  struct stat info;
  tls_world_path(&r->t, "runs", path, sizeof path);
  return stat(path, &info) == 0 ? (size_t)info.st_size : 0;
}

/* One request; returns the status. */
static int get(rig *r) {
  fetch f = {.world = &r->t.w};
  fetch_run(&f, &r->t.w, "/x");
  assert_string_equal(f.error.message, "");
  int status = f.status;
  fetch_finish(&f);
  return status;
}

static void assert_sent(const rig *r, const char *token, const char *client) {
  char field[128];
  snprintf(field, sizeof field, "\r\nAuthorization: Bearer %s\r\n\r\n", token);
  const char *found = strstr(r->t.server.last_request, "\r\nAuthorization");
  if (token[0] == '\0') {
    assert_null(found);
  } else {
    assert_non_null(found);
    assert_string_equal(found, field);
  }
  assert_string_equal(r->t.server.last_client, client);
}

/* --- Tests ---------------------------------------------------------------- */

/* client-go TestRoundTripper; XP-05: a 401 is returned, and the next request
 * has the new token. */
static void test_exec_tls_token(void **state) {
  (void)state;
  static const tls_reply replies[] = {
      {HELLO, 0, TLS_KEEP}, {UNAUTHORIZED, 0, TLS_KEEP}, {HELLO, 0, TLS_KEEP}};
  rig r;
  rig_init(&r, replies, 3, 0);
  answer(&r, "t0ken-1", false, false);
  rig_open(&r);
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-1", "");
  answer(&r, "t0ken-2", false, false);
  assert_int_equal(get(&r), 401);
  assert_sent(&r, "t0ken-1", "");
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-2", "");
  assert_int_equal(r.t.server.accepted, 1); /* no certificate has changed */
  assert_int_equal(count_runs(&r), 2);
  rig_finish(&r);
}

/* Fifty requests, one run; XP-07. */
static void test_exec_tls_many(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, 0);
  answer(&r, "t0ken-1", true, false);
  r.t.serve.client_authority = &tls_pki_get()->authority;
  rig_open(&r);
  fetch fetches[50];
  for (size_t i = 0; i < 50; i++) {
    fetches[i] = (fetch){.world = &r.t.w};
    assert_int_equal(fetch_start(&fetches[i], &r.t.w, "/x", false), 0);
  }
  for (size_t i = 0; i < 50; i++) {
    fetch_until_end(&fetches[i]);
    assert_string_equal(fetches[i].error.message, "");
    fetch_finish(&fetches[i]);
  }
  assert_int_equal(count_runs(&r), 1);
  assert_sent(&r, "t0ken-1", "client");
  rig_finish(&r);
}

/* Two connections of the pool. */
static void make_two_idle(rig *r) {
  fetch fetches[2];
  for (size_t i = 0; i < 2; i++) {
    fetches[i] = (fetch){.world = &r->t.w};
    assert_int_equal(fetch_start(&fetches[i], &r->t.w, "/x", false), 0);
  }
  for (size_t i = 0; i < 2; i++) {
    fetch_until_end(&fetches[i]);
    assert_int_equal(fetches[i].status, 200);
    fetch_finish(&fetches[i]);
  }
}

/* client-go TestTLSCredentials; XP-06: a watch is told that its connection is
 * over, a list ends as it would, and idle connections close at once. Twice. */
static void test_exec_tls_new_certificate(void **state) {
  (void)state;
  static const tls_reply replies[] = {
      {CHUNKED "1\r\na\r\n", 0, TLS_KEEP},
      {LONG_BODY, 0, TLS_KEEP},
      {HELLO, 0, TLS_KEEP},
      {HELLO, 0, TLS_KEEP},
      {UNAUTHORIZED, 0, TLS_KEEP},
      {HELLO, 0, TLS_KEEP},
  };
  rig r;
  rig_init(&r, replies, 6, 0);
  r.t.serve.client_authority = &tls_pki_get()->authority;
  answer(&r, NULL, true, false);
  rig_open(&r);
  fetch watch = {.world = &r.t.w};
  assert_int_equal(fetch_start(&watch, &r.t.w, "/w", true), 0);
  WORLD_UNTIL(&r.t.w, watch.bodies == 1);
  assert_sent(&r, "", "client");
  fetch list = {.world = &r.t.w};
  assert_int_equal(fetch_start(&list, &r.t.w, "/l", false), 0);
  WORLD_UNTIL(&r.t.w, list.bodies == 1);
  make_two_idle(&r);
  assert_int_equal(r.t.server.accepted, 4);
  answer(&r, "t0ken-2", true, true);
  assert_int_equal(get(&r), 401); /* closes its connection */
  assert_int_equal(count_runs(&r), 1);
  assert_int_equal(get(&r), 200);
  assert_int_equal(count_runs(&r), 2);
  assert_sent(&r, "t0ken-2", "other client");
  fetch_until_end(&watch);
  assert_int_equal(watch.error.code, KIN_EEOF);
  assert_int_equal(watch.error.error_class, KIN_CLASS_CONNECT);
  tls_assert_words(watch.error.message, "the client certificate was replaced");
  /* The list goes on, and its connection is not used again. */
  assert_int_equal(list.ends, 0);
  tls_server_push(&r.t.server, "world");
  fetch_until_end(&list);
  assert_int_equal(list.error.code, 0);
  assert_string_equal(list.body, "helloworld");
  fetch last = {.world = &r.t.w};
  fetch_run(&last, &r.t.w, "/x");
  assert_int_equal(last.status, 200);
  assert_true(last.connection != list.connection);
  fetch_finish(&last);
  fetch_finish(&watch);
  fetch_finish(&list);
  rig_finish(&r);
}

static int get_now(void *ctx, kin__waiter *waiter, kin__credential *out) {
  (void)waiter;
  *out = *(const kin__credential *)ctx;
  return 0;
}

/* XP-06: a certificate and a token that come while the connection is being
 * opened, for a request that had not asked for them. The new token does not go
 * with the old certificate. */
static void test_exec_tls_pair_while_opening(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  kin__credential now = {.value = "Bearer t0ken-1",
                         .serial = 1,
                         .certificate = pki->client_pem,
                         .key = pki->client_key_pem,
                         .pair_serial = 1};
  rig r;
  rig_init(&r, &hello, 1, 0);
  r.t.serve.client_authority = &pki->authority;
  rig_open(&r);
  r.t.w.transport->credentials.get = get_now;
  r.t.w.transport->credentials.ctx = &now;
  fetch f = {.world = &r.t.w};
  assert_int_equal(fetch_start(&f, &r.t.w, "/x", false), 0);
  WORLD_UNTIL(&r.t.w, f.exchange->state == KIN__EXCHANGE_OPENING);
  now = (kin__credential){.value = "Bearer t0ken-2",
                          .serial = 2,
                          .certificate = r.other_pem,
                          .key = r.other_key_pem,
                          .pair_serial = 2};
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  fetch_finish(&f);
  assert_sent(&r, "t0ken-2", "other client");
  assert_int_equal(r.t.server.requests, 1);
  rig_finish(&r);
}

static void on_served(kin__waiter *waiter) {
  (void)waiter;
}

/* A pair that comes while the context is built with the last one: who waits
 * gets a context with the new one. */
static void test_exec_tls_pair_while_building(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  rig r;
  rig_init(&r, &hello, 1, 0);
  rig_open(&r);
  kin__tls_context *context = r.t.w.transport->tls;
  kin__waiter waiter;
  kin__waiter_init(&waiter, on_served);
  assert_int_equal(
      kin__tls_context_set_pair(context, pki->client_pem, pki->client_key_pem),
      0);
  assert_int_equal(
      kin__tls_context_prepare(context, &waiter, KIN__TLS_CHECK_INTERVAL_MS),
      KIN__PENDING);
  assert_int_equal(
      kin__tls_context_set_pair(context, r.other_pem, r.other_key_pem), 0);
  WORLD_UNTIL(&r.t.w, waiter.is_served);
  assert_int_equal(
      kin__tls_context_prepare(context, &waiter, KIN__TLS_CHECK_INTERVAL_MS),
      0);
  assert_int_equal(
      X509_cmp(SSL_CTX_get0_certificate(context->ctx), r.other.certificate), 0);
  rig_finish(&r);
}

/* A pair that comes after a waiter was served, and before the waiter asks
 * again: the waiter gets a context with that pair, too. Twice. */
static void test_exec_tls_pair_after_building(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  rig r;
  rig_init(&r, &hello, 1, 0);
  rig_open(&r);
  kin__tls_context *context = r.t.w.transport->tls;
  kin__waiter waiter;
  kin__waiter_init(&waiter, on_served);
  X509 *certificates[] = {pki->client.certificate, r.other.certificate};
  for (int i = 0; i < 4; i++) {
    const char *pem = i % 2 == 0 ? pki->client_pem : r.other_pem;
    const char *key = i % 2 == 0 ? pki->client_key_pem : r.other_key_pem;
    assert_int_equal(kin__tls_context_set_pair(context, pem, key), 0);
    assert_int_equal(
        kin__tls_context_prepare(context, &waiter, KIN__TLS_CHECK_INTERVAL_MS),
        KIN__PENDING);
    WORLD_UNTIL(&r.t.w, waiter.is_served && !context->is_working);
    assert_int_equal(
        X509_cmp(SSL_CTX_get0_certificate(context->ctx), certificates[i % 2]),
        0);
  }
  assert_int_equal(
      kin__tls_context_prepare(context, &waiter, KIN__TLS_CHECK_INTERVAL_MS),
      0);
  rig_finish(&r);
}

/* The pair of a plugin comes while the authority's file is being written: what
 * was opened without that pair closes when the file is whole again, though the
 * file is the same as before. Twice. */
static void test_exec_tls_pair_without_authority(void **state) {
  (void)state;
  static const tls_reply replies[] = {
      {HELLO, 0, TLS_KEEP}, {UNAUTHORIZED, 0, TLS_KEEP},
      {HELLO, 0, TLS_KEEP}, {HELLO, 0, TLS_KEEP},
      {HELLO, 0, TLS_KEEP}, {UNAUTHORIZED, 0, TLS_KEEP},
      {HELLO, 0, TLS_KEEP}};
  static const char *const names[] = {"client", "other client"};
  rig r;
  char path[128];
  rig_init(&r, replies, 7, 0);
  r.t.serve.client_authority = &tls_pki_get()->authority;
  r.t.certificate_check_ms = 2000;
  r.t.tls.authority_data = NULL;
  r.t.tls.authority_file = tls_world_path(&r.t, "ca", path, sizeof path);
  tls_write_file(path, tls_pki_get()->authority_pem);
  answer(&r, "t0ken-1", true, false);
  rig_open(&r);
  assert_int_equal(get(&r), 200);
  for (int round = 0; round < 2; round++) {
    assert_sent(&r, round == 0 ? "t0ken-1" : "t0ken-2", names[round]);
    tls_write_file(path, "");
    answer(&r, round == 0 ? "t0ken-2" : "t0ken-3", true, round == 0);
    world_advance(&r.t.w, 10000);
    assert_int_equal(get(&r), 401);
    assert_int_equal(get(&r), 200);
    assert_sent(&r, round == 0 ? "t0ken-2" : "t0ken-3", names[round]);
    tls_write_file(path, tls_pki_get()->authority_pem);
    world_advance(&r.t.w, 3000);
    assert_int_equal(get(&r), 200); /* has the file looked at */
    WORLD_UNTIL(&r.t.w, !r.t.w.transport->tls->is_working);
    assert_int_equal(get(&r), 200);
    assert_sent(&r, round == 0 ? "t0ken-2" : "t0ken-3", names[1 - round]);
  }
  rig_finish(&r);
}

/* The certificate goes: connections present none any more. */
static void test_exec_tls_no_certificate_any_more(void **state) {
  (void)state;
  static const tls_reply replies[] = {{HELLO, 0, TLS_KEEP},
                                      {UNAUTHORIZED, 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP},
                                      {UNAUTHORIZED, 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP}};
  rig r;
  rig_init(&r, replies, 5, 0);
  r.t.serve.client_authority = &tls_pki_get()->authority;
  answer(&r, "t0ken-1", true, false);
  rig_open(&r);
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-1", "client");
  answer(&r, "t0ken-2", false, false);
  r.t.serve.client_authority = NULL;
  tls_server_set_options(&r.t.server, &r.t.serve);
  assert_int_equal(get(&r), 401);
  assert_int_equal(get(&r), 200);
  r.t.server.last_client[0] = '\0';
  world_advance(&r.t.w, 10000);
  assert_int_equal(get(&r), 401);
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-2", "");
  rig_finish(&r);
}

/* The certificate is replaced while a watch waits for its answer, the second of
 * the replies; the third is a refusal. */
static void renew_beside_watch(rig *r, const tls_reply *replies, size_t count,
                               fetch *watch) {
  rig_init(r, replies, count, 0);
  answer(r, "t0ken-1", true, false);
  r->t.serve.client_authority = &tls_pki_get()->authority;
  rig_open(r);
  assert_int_equal(get(r), 200);
  *watch = (fetch){.world = &r->t.w};
  assert_int_equal(fetch_start(watch, &r->t.w, "/w", true), 0);
  WORLD_UNTIL(&r->t.w, r->t.server.requests == 2);
  answer(r, "t0ken-2", true, true);
  assert_int_equal(get(r), 401);
  assert_int_equal(get(r), 200);
}

/* A watch that has not been answered yet begins again. */
static void test_exec_tls_unanswered_watch(void **state) {
  (void)state;
  static const tls_reply replies[] = {{HELLO, 0, TLS_KEEP},
                                      {NULL, 0, TLS_KEEP},
                                      {UNAUTHORIZED, 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP},
                                      {CHUNKED "1\r\na\r\n", 0, TLS_KEEP}};
  rig r;
  fetch watch;
  renew_beside_watch(&r, replies, 5, &watch);
  WORLD_UNTIL(&r.t.w, watch.bodies == 1);
  assert_int_equal(watch.ends, 0);
  assert_sent(&r, "t0ken-2", "other client");
  tls_server_push(&r.t.server, "0\r\n\r\n");
  fetch_until_end(&watch);
  fetch_finish(&watch);
  rig_finish(&r);
}

/* A watch whose head has come in part cannot begin again, and is closed when the
 * head is complete. */
static void test_exec_tls_half_a_head(void **state) {
  (void)state;
  static const tls_reply replies[] = {{HELLO, 0, TLS_KEEP},
                                      {"HTTP/1.1 200 OK\r\n", 0, TLS_KEEP},
                                      {UNAUTHORIZED, 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP}};
  rig r;
  fetch watch;
  renew_beside_watch(&r, replies, 4, &watch);
  assert_int_equal(watch.ends, 0);
  tls_server_push(&r.t.server, "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  WORLD_UNTIL(&r.t.w, watch.ends == 1);
  assert_int_equal(watch.error.code, KIN_EEOF);
  fetch_finish(&watch);
  rig_finish(&r);
}

/* A paused watch hears of it when it goes on. */
static void test_exec_tls_paused_watch(void **state) {
  (void)state;
  static const tls_reply replies[] = {{CHUNKED "1\r\na\r\n", 0, TLS_KEEP},
                                      {UNAUTHORIZED, 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP}};
  rig r;
  rig_init(&r, replies, 3, 0);
  answer(&r, "t0ken-1", true, false);
  r.t.serve.client_authority = &tls_pki_get()->authority;
  rig_open(&r);
  fetch watch = {.world = &r.t.w};
  assert_int_equal(fetch_start(&watch, &r.t.w, "/w", true), 0);
  WORLD_UNTIL(&r.t.w, watch.bodies == 1);
  kin__exchange_pause(watch.exchange);
  answer(&r, "t0ken-2", true, true);
  assert_int_equal(get(&r), 401);
  assert_int_equal(get(&r), 200);
  world_run_tasks(&r.t.w);
  assert_int_equal(watch.ends, 0);
  kin__exchange_resume(watch.exchange);
  fetch_until_end(&watch);
  assert_int_equal(watch.error.code, KIN_EEOF);
  fetch_finish(&watch);
  rig_finish(&r);
}

/* The plugin fails: class auth, with its reason and no connection. */
static void test_exec_tls_fails(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, 0);
  rig_open(&r);
  for (int i = 0; i < 2; i++) {
    fetch f = {.world = &r.t.w};
    fetch_run(&f, &r.t.w, "/x");
    assert_int_equal(f.error.code, KIN_ETOKEN);
    assert_int_equal(f.error.error_class, KIN_CLASS_AUTH);
    tls_assert_words(f.error.message, "getting credentials: exec: executable "
                                      "...plugin failed with exit code 1");
    fetch_finish(&f);
    world_advance(&r.t.w, 5000);
  }
  assert_int_equal(r.t.server.accepted, 0);
  answer(&r, "t0ken-1", false, false);
  assert_int_equal(get(&r), 200);
  rig_finish(&r);
}

/* A request waits for a plugin longer than for a connection. */
static void test_exec_tls_waits(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, 0);
  char text[512];
  snprintf(text, sizeof text,
           "#!/bin/sh\necho ready >&2\nread x < %s\ncat %s\n", r.answer,
           r.answer);
  tls_write_file(r.script, text);
  assert_int_equal(chmod(r.script, 0700), 0);
  assert_int_equal(mkfifo(r.answer, 0600), 0);
  r.exec.stderr_to = KIN_EXEC_STDERR_LOG;
  r.exec.timeout_ms = 20000;
  rig_open(&r);
  fetch f = {.world = &r.t.w};
  assert_int_equal(fetch_start(&f, &r.t.w, "/x", false), 0);
  WORLD_UNTIL(&r.t.w, tls_world_has_line(&r.t, "exec plugin: ready"));
  world_advance(&r.t.w, 19999);
  assert_int_equal(f.ends, 0);
  world_advance(&r.t.w, 1);
  fetch_until_end(&f);
  tls_assert_words(f.error.message, "did not end within 20000 ms");
  fetch_finish(&f);
  rig_finish(&r);
}

/* A request that is cancelled while the plugin runs. */
static void test_exec_tls_cancelled(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, 0);
  answer(&r, "t0ken-1", true, false);
  rig_open(&r);
  fetch f = {.world = &r.t.w};
  assert_int_equal(fetch_start(&f, &r.t.w, "/x", false), 0);
  world_run_tasks(&r.t.w);
  kin__exchange_cancel(f.exchange);
  f.exchange = NULL;
  fetch_finish(&f);
  rig_finish(&r); /* while it runs */
}

/* --- Sweep ---------------------------------------------------------------- */

static bool run_new_certificate_without_memory(size_t fail_at) {
  static const tls_reply replies[] = {{CHUNKED "1\r\na\r\n", 0, TLS_KEEP},
                                      {UNAUTHORIZED, 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP}};
  rig r;
  rig_init(&r, replies, 3, fail_at);
  answer(&r, "t0ken-1", true, false);
  r.t.serve.client_authority = &tls_pki_get()->authority;
  if (tls_world_open(&r.t, "127.0.0.1") == 0) {
    fetch watch = {.world = &r.t.w};
    int err = fetch_start(&watch, &r.t.w, "/w", true);
    if (err == 0) {
      WORLD_UNTIL(&r.t.w, watch.bodies == 1 || watch.ends == 1);
    }
    answer(&r, "t0ken-2", true, true);
    /* Without the watch, its reply would be that of another request. */
    for (int i = 0; i < 3 && watch.bodies == 1; i++) {
      fetch f = {.world = &r.t.w};
      if (fetch_start(&f, &r.t.w, "/x", false) == 0) {
        fetch_until_end(&f);
      }
      fetch_finish(&f);
      world_advance(&r.t.w, 10000);
    }
    if (watch.exchange != NULL) {
      kin__exchange_cancel(watch.exchange);
      watch.exchange = NULL;
    }
    fetch_finish(&watch);
  }
  bool has_failed = fail_alloc_has_failed(&r.t.w.memory);
  rig_finish(&r);
  return has_failed;
}

static void test_exec_tls_out_of_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_new_certificate_without_memory, 60);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exec_tls_token),
      cmocka_unit_test(test_exec_tls_many),
      cmocka_unit_test(test_exec_tls_new_certificate),
      cmocka_unit_test(test_exec_tls_pair_while_opening),
      cmocka_unit_test(test_exec_tls_pair_while_building),
      cmocka_unit_test(test_exec_tls_pair_after_building),
      cmocka_unit_test(test_exec_tls_pair_without_authority),
      cmocka_unit_test(test_exec_tls_no_certificate_any_more),
      cmocka_unit_test(test_exec_tls_unanswered_watch),
      cmocka_unit_test(test_exec_tls_half_a_head),
      cmocka_unit_test(test_exec_tls_paused_watch),
      cmocka_unit_test(test_exec_tls_fails),
      cmocka_unit_test(test_exec_tls_waits),
      cmocka_unit_test(test_exec_tls_cancelled),
      cmocka_unit_test(test_exec_tls_out_of_memory),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
