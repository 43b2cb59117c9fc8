/* SPDX-License-Identifier: MIT */
/* Proves AU-01, AU-02 and TR-05 on requests, KC-07 (http servers get no
 * credentials) and TR-06's promise for logs: what is sent with which token, how
 * a new one takes effect under a running watch, and that secrets are in no log
 * line, no error and no memory that has been given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "support/pool_plug.h"
#include "support/tls_world.h"
#include "transport/core.h"
#include "transport/exchange_core.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"
#define UNAUTHORIZED                                                           \
  "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nnope"

static const tls_reply hello = {.bytes = HELLO};

/* --- An allocator that looks at what is given back ------------------------ */

static const char *const secrets[] = {"t0ken-", "PRIVATE KEY"};

typedef struct checked {
  kin_allocator inner;
  size_t freed;
} checked;

typedef union header {
  size_t size;
  max_align_t alignment;
} header;

static void *checked_malloc(void *ctx, size_t size) {
  checked *c = ctx;
  header *h = c->inner.malloc(c->inner.ctx, sizeof *h + size);
  if (h == NULL) {
    return NULL;
  }
  h->size = size;
  return h + 1;
}

static void checked_free(void *ctx, void *ptr) {
  checked *c = ctx;
  header *h = (header *)ptr - 1;
  for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
    assert_null(memmem(ptr, h->size, secrets[i], strlen(secrets[i])));
  }
  c->freed++;
  c->inner.free(c->inner.ctx, h);
}

static void *checked_realloc(void *ctx, void *ptr, size_t old_size,
                             size_t size) {
  void *moved = checked_malloc(ctx, size);
  if (moved != NULL && ptr != NULL) {
    memcpy(moved, ptr, old_size < size ? old_size : size);
    checked_free(ctx, ptr);
  }
  return moved;
}

/* --- Helpers -------------------------------------------------------------- */

typedef struct rig {
  tls_world t;
  checked memory;
  char path[128];
} rig;

/* A token file is written if there is a content. */
static void rig_init(rig *r, const tls_reply *replies, size_t count,
                     const char *content) {
  tls_world_init(&r->t, replies, count, 0);
  kin_allocator *allocator = &r->t.w.memory.allocator;
  r->memory = (checked){.inner = *allocator};
  *allocator = (kin_allocator){&r->memory, checked_malloc, checked_realloc,
                               checked_free};
  tls_world_path(&r->t, "token", r->path, sizeof r->path);
  if (content != NULL) {
    tls_write_file(r->path, content);
    r->t.token_file = r->path;
  }
  r->t.tls.certificate_data = tls_pki_get()->client_pem;
  r->t.tls.key_data = tls_pki_get()->client_key_pem;
}

static void rig_open(rig *r) {
  assert_int_equal(tls_world_open(&r->t, "127.0.0.1"), 0);
}

static void rig_finish(rig *r) {
  assert_false(tls_world_leaks(&r->t, NULL, "t0ken-"));
  assert_false(tls_world_leaks(&r->t, NULL, "PRIVATE"));
  tls_world_close(&r->t);
  assert_true(r->memory.freed > 5);
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

static void assert_sent(const rig *r, const char *token) {
  char field[128];
  snprintf(field, sizeof field, "\r\nAuthorization: Bearer %s\r\n\r\n", token);
  const char *found = strstr(r->t.server.last_request, field);
  if (found == NULL) {
    print_error("no \"%s\" in %s\n", token, r->t.server.last_request);
    fail();
  }
  assert_int_equal(strlen(found), strlen(field)); /* at the end, once */
}

/* --- Tests ---------------------------------------------------------------- */

static void test_token_flow_request(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, NULL);
  r.t.token = "t0ken-1";
  rig_open(&r);
  assert_int_equal(get(&r), 200);
  char expected[512];
  snprintf(expected, sizeof expected,
           "GET /x HTTP/1.1\r\n"
           "Host: 127.0.0.1:%d\r\n"
           "User-Agent: test/1.0\r\n"
           "Accept: application/json\r\n"
           "Accept-Encoding: identity\r\n"
           "Authorization: Bearer t0ken-1\r\n\r\n",
           r.t.server.port);
  assert_string_equal(r.t.server.last_request, expected);
  rig_finish(&r);
}

/* TR-05: user agent, impersonation and authorization beside each other, each
 * once, also in the request that is sent again. */
static void test_token_flow_beside_impersonation(void **state) {
  (void)state;
  static const tls_reply replies[] = {
      {HELLO, 0, TLS_KEEP}, {NULL, 0, TLS_CLOSE}, {HELLO, 0, TLS_KEEP}};
  rig r;
  rig_init(&r, replies, 3, NULL);
  r.t.token = "t0ken-1";
  r.t.w.fields = "Impersonate-User: u\r\nImpersonate-Group: g\r\n";
  rig_open(&r);
  char expected[512];
  snprintf(expected, sizeof expected,
           "GET /x HTTP/1.1\r\n"
           "Host: 127.0.0.1:%d\r\n"
           "User-Agent: test/1.0\r\n"
           "Accept: application/json\r\n"
           "Impersonate-User: u\r\n"
           "Impersonate-Group: g\r\n"
           "Accept-Encoding: identity\r\n"
           "Authorization: Bearer t0ken-1\r\n\r\n",
           r.t.server.port);
  for (size_t requests = 1; requests <= 3; requests += 2) {
    assert_int_equal(get(&r), 200);
    assert_int_equal(r.t.server.requests, requests);
    assert_string_equal(r.t.server.last_request, expected);
  }
  rig_finish(&r);
}

static void test_token_flow_no_http(void **state) {
  (void)state;
  tls_world t;
  tls_world_init(&t, NULL, 0, 0);
  t.token = "t0ken-1";
  assert_int_equal(tls_world_open_at(&t, "http://127.0.0.1:1"), KIN_EINVAL);
  assert_true(tls_world_has_line(&t, "need an https:// server"));
  assert_false(tls_world_leaks(&t, NULL, "t0ken"));
  tls_world_close(&t);
}

/* A new token, 50 s later, on the same connection and under a watch. */
static void test_token_flow_rotation(void **state) {
  (void)state;
  static const tls_reply replies[] = {{CHUNKED "1\r\na\r\n", 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP}};
  rig r;
  rig_init(&r, replies, 2, "t0ken-1\n");
  rig_open(&r);
  fetch watch = {.world = &r.t.w};
  assert_int_equal(fetch_start(&watch, &r.t.w, "/x", true), 0);
  WORLD_UNTIL(&r.t.w, watch.bodies == 1);
  assert_sent(&r, "t0ken-1");
  assert_int_equal(get(&r), 200);
  tls_write_file(r.path, "t0ken-2\n");
  world_advance(&r.t.w, 49000);
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-1");
  world_advance(&r.t.w, 1000);
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-2");
  assert_int_equal(unlink(r.path), 0);
  world_advance(&r.t.w, 50000);
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-2");
  assert_true(tls_world_has_line(&r.t, "stays in use"));
  assert_int_equal(watch.ends, 0);
  tls_server_push(&r.t.server, "0\r\n\r\n");
  fetch_until_end(&watch);
  assert_int_equal(watch.error.code, 0);
  fetch_finish(&watch);
  rig_finish(&r);
}

/* A request whose token file libuv's pool has no time for. */
static void start_behind_plug(rig *r, pool_plug *plug, fetch *f) {
  plug_open(plug, &r->t.w.loop);
  assert_int_equal(fetch_start(f, &r->t.w, "/x", false), 0);
  world_run_tasks(&r->t.w);
}

/* As by a 401 to another request. */
static void reject_token(const rig *r) {
  kin__credentials credentials = kin__token_credentials(r->t.source);
  kin__credential credential;
  assert_int_equal(credentials.get(credentials.ctx, NULL, &credential), 0);
  credentials.rejected(credentials.ctx, credential.serial);
}

/* libuv's pool has no time for the file: the request that has it read waits for
 * a second, later ones do not wait, and all have the token in hand. */
static void test_token_flow_busy_pool(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, "t0ken-1\n");
  rig_open(&r);
  assert_int_equal(get(&r), 200);
  world_advance(&r.t.w, 50000);
  tls_write_file(r.path, "t0ken-2\n");
  pool_plug plug;
  fetch f = {.world = &r.t.w};
  start_behind_plug(&r, &plug, &f);
  world_advance(&r.t.w, KIN__PATIENCE_MS - 1);
  assert_int_equal(f.exchange->state, KIN__EXCHANGE_WAITING);
  world_advance(&r.t.w, 1);
  assert_int_not_equal(f.exchange->state, KIN__EXCHANGE_WAITING);
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  assert_sent(&r, "t0ken-1");
  fetch_finish(&f);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(get(&r), 200);
    assert_sent(&r, "t0ken-1");
  }
  plug_pull(&plug);
  while (strstr(r.t.server.last_request, "t0ken-1") != NULL) {
    assert_int_equal(get(&r), 200);
  }
  assert_sent(&r, "t0ken-2");
  rig_finish(&r);
  plug_close(&plug);
}

/* A token that the server has rejected is not sent again. */
static void test_token_flow_busy_pool_after_401(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, "t0ken-1\n");
  rig_open(&r);
  assert_int_equal(get(&r), 200);
  tls_write_file(r.path, "t0ken-2\n");
  reject_token(&r);
  pool_plug plug;
  fetch f = {.world = &r.t.w};
  start_behind_plug(&r, &plug, &f);
  world_advance(&r.t.w, 2 * KIN__PATIENCE_MS);
  assert_int_equal(f.exchange->state, KIN__EXCHANGE_WAITING);
  plug_pull(&plug);
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  assert_sent(&r, "t0ken-2");
  fetch_finish(&f);
  rig_finish(&r);
  plug_close(&plug);
}

/* A token that is rejected while a request waits for the file is not sent by that
 * request. The reading may have the old content, so the next request has the file
 * read again. */
static void test_token_flow_401_while_waiting(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, "t0ken-1\n");
  rig_open(&r);
  assert_int_equal(get(&r), 200);
  world_advance(&r.t.w, 50000);
  pool_plug plug;
  fetch f = {.world = &r.t.w};
  start_behind_plug(&r, &plug, &f);
  assert_int_equal(f.exchange->state, KIN__EXCHANGE_WAITING);
  reject_token(&r);
  world_advance(&r.t.w, KIN__PATIENCE_MS);
  world_run_tasks(&r.t.w);
  assert_int_equal(f.exchange->state, KIN__EXCHANGE_WAITING);
  plug_pull(&plug);
  fetch_until_end(&f);
  fetch_finish(&f);
  tls_write_file(r.path, "t0ken-2\n");
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-2");
  rig_finish(&r);
  plug_close(&plug);
}

/* AU-02: the token of a reading that begins after the rejection counts, also if
 * it is the same and the reading before was overtaken by the rejection. */
static void test_token_flow_401_before_a_reading(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, "t0ken-1\n");
  rig_open(&r);
  assert_int_equal(get(&r), 200);
  world_advance(&r.t.w, 50000);
  pool_plug plug;
  fetch f = {.world = &r.t.w};
  start_behind_plug(&r, &plug, &f);
  reject_token(&r);
  plug_pull(&plug);
  fetch_until_end(&f);
  fetch_finish(&f);
  /* The file is read once more, and has the same token. */
  assert_int_equal(get(&r), 200);
  assert_int_equal(unlink(r.path), 0);
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-1");
  assert_false(tls_world_has_line(&r.t, "stays in use"));
  rig_finish(&r);
  plug_close(&plug);
}

/* A token that is given beside a file counts only until the file is read. */
static void test_token_flow_busy_pool_beside_a_token(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, "t0ken-1\n");
  r.t.token = "given";
  rig_open(&r);
  pool_plug plug;
  fetch f = {.world = &r.t.w};
  start_behind_plug(&r, &plug, &f);
  world_advance(&r.t.w, 2 * KIN__PATIENCE_MS);
  assert_int_equal(f.exchange->state, KIN__EXCHANGE_WAITING);
  plug_pull(&plug);
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  assert_sent(&r, "t0ken-1");
  fetch_finish(&f);
  rig_finish(&r);
  plug_close(&plug);
}

/* Without a token in hand the request has nothing to be sent with. */
static void test_token_flow_busy_pool_at_first(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, "t0ken-1\n");
  rig_open(&r);
  pool_plug plug;
  fetch f = {.world = &r.t.w};
  start_behind_plug(&r, &plug, &f);
  world_advance(&r.t.w, WORLD_CONNECT_MS - 1);
  assert_int_equal(f.ends, 0);
  world_advance(&r.t.w, 1);
  assert_int_equal(f.ends, 1);
  assert_int_equal(f.error.code, KIN_ETIMEDOUT);
  assert_int_equal(f.error.error_class, KIN_CLASS_AUTH);
  fetch_finish(&f);
  plug_pull(&plug);
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-1");
  rig_finish(&r);
  plug_close(&plug);
}

/* Not before 50 s have passed, except for a 401. */
static void test_token_flow_401(void **state) {
  (void)state;
  static const tls_reply replies[] = {{HELLO, 0, TLS_KEEP},
                                      {UNAUTHORIZED, 0, TLS_KEEP},
                                      {UNAUTHORIZED, 0, TLS_KEEP},
                                      {HELLO, 0, TLS_KEEP}};
  rig r;
  rig_init(&r, replies, 4, "t0ken-1");
  rig_open(&r);
  assert_int_equal(get(&r), 200);
  tls_write_file(r.path, "t0ken-2");
  assert_int_equal(get(&r), 401);
  assert_sent(&r, "t0ken-1");
  assert_int_equal(get(&r), 401);
  assert_sent(&r, "t0ken-2");
  tls_write_file(r.path, "t0ken-3");
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-3");
  tls_write_file(r.path, "t0ken-4");
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-3");
  rig_finish(&r);
}

/* What is sent is the token of the moment of sending, also the second time. */
static fetch *followed_by;
static rig *followed_in;

static void follow(fetch *f) {
  if (f->ends > 0) {
    assert_int_equal(fetch_start(followed_by, f->world, "/next", false), 0);
    tls_write_file(followed_in->path, "t0ken-2");
    followed_in->t.w.now_ms += 50000;
  }
}

static void test_token_flow_resent(void **state) {
  (void)state;
  static const tls_reply replies[] = {{HELLO, 0, TLS_CUT},
                                      {HELLO, 0, TLS_KEEP}};
  rig r;
  rig_init(&r, replies, 2, "t0ken-1");
  rig_open(&r);
  fetch next = {.world = &r.t.w};
  fetch first = {.world = &r.t.w, .hook = follow};
  followed_by = &next;
  followed_in = &r;
  fetch_run(&first, &r.t.w, "/first");
  fetch_until_end(&next);
  assert_string_equal(next.error.message, "");
  assert_sent(&r, "t0ken-2");
  fetch_finish(&first);
  fetch_finish(&next);
  rig_finish(&r);
}

/* No token to begin with: class auth, and the next request tries again. */
static void test_token_flow_missing(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, NULL);
  r.t.token_file = r.path;
  rig_open(&r);
  static const char *const contents[] = {NULL, "\n", "t0ken-a b"};
  const char *const words[] = {kin_strerror(UV_ENOENT), "it is empty",
                               "it holds something else than a token"};
  for (size_t i = 0; i < 3; i++) {
    if (contents[i] != NULL) {
      tls_write_file(r.path, contents[i]);
    }
    fetch f = {.world = &r.t.w};
    fetch_run(&f, &r.t.w, "/x");
    assert_int_equal(f.error.code, KIN_ETOKEN);
    assert_int_equal(f.error.error_class, KIN_CLASS_AUTH);
    tls_assert_words(f.error.message, words[i]);
    tls_assert_words(f.error.message, r.path);
    assert_false(tls_world_leaks(&r.t, &f, "t0ken-"));
    fetch_finish(&f);
  }
  assert_int_equal(r.t.server.accepted, 0);
  tls_write_file(r.path, "t0ken-1");
  assert_int_equal(get(&r), 200);
  assert_sent(&r, "t0ken-1");
  rig_finish(&r);
}

/* A head over 1 MiB with the token is refused, as without. */
static void test_token_flow_too_big(void **state) {
  (void)state;
  rig r;
  rig_init(&r, &hello, 1, NULL);
  char *token = malloc(KIN__TOKEN_MAX_BYTES + 1);
  assert_non_null(token);
  memset(token, 'x', KIN__TOKEN_MAX_BYTES);
  memcpy(token, "t0ken-", 6);
  token[KIN__TOKEN_MAX_BYTES] = '\0';
  r.t.token = token;
  rig_open(&r);
  assert_int_equal(get(&r), 200);
  size_t size = 1000000;
  char *target = malloc(size + 1);
  assert_non_null(target);
  memset(target, '/', size);
  target[size] = '\0';
  fetch f = {.world = &r.t.w};
  fetch_run(&f, &r.t.w, target);
  assert_int_equal(f.error.code, KIN_ETOOBIG);
  fetch_finish(&f);
  free(target);
  rig_finish(&r);
  free(token);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_token_flow_request),
      cmocka_unit_test(test_token_flow_beside_impersonation),
      cmocka_unit_test(test_token_flow_no_http),
      cmocka_unit_test(test_token_flow_rotation),
      cmocka_unit_test(test_token_flow_busy_pool),
      cmocka_unit_test(test_token_flow_busy_pool_after_401),
      cmocka_unit_test(test_token_flow_401_while_waiting),
      cmocka_unit_test(test_token_flow_401_before_a_reading),
      cmocka_unit_test(test_token_flow_busy_pool_beside_a_token),
      cmocka_unit_test(test_token_flow_busy_pool_at_first),
      cmocka_unit_test(test_token_flow_401),
      cmocka_unit_test(test_token_flow_resent),
      cmocka_unit_test(test_token_flow_missing),
      cmocka_unit_test(test_token_flow_too_big),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
