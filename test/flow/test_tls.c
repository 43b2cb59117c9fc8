/* SPDX-License-Identifier: MIT */
/* Proves TR-01 (TLS 1.2 at least; the given authority; the server's name for
 * SNI and verification), and CN-09 over TLS: requests, bodies of every framing,
 * kept connections, resumed sessions, and how a stream may end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include <cmocka.h>

#include <openssl/err.h>

#include "support/tls_world.h"
#include "transport/conn.h"
#include "transport/core.h"

#define OK "HTTP/1.1 200 OK\r\n"

static const tls_reply hello = {.bytes = HELLO};

static const kin__transport_stats *stats(tls_world *t) {
  return kin__transport_get_stats(t->w.transport);
}

static void test_tls_request(void **state) {
  (void)state;
  tls_world t;
  tls_world_setup(&t, &hello, 1);
  fetch_hello(&t.w);
  assert_int_equal(strncmp(t.server.last_request, "GET /x HTTP/1.1\r\n", 17),
                   0);
  assert_null(strstr(t.server.last_request, "Authorization"));
  assert_string_equal(t.server.last_name, ""); /* an address is no SNI */
  assert_string_equal(t.server.last_protocol, "http/1.1");
  assert_string_equal(t.server.last_version, "TLSv1.3");
  assert_int_equal(t.server.handshakes, 1);
  assert_true(tls_world_has_line(&t, "TLSv1.3"));
  tls_world_close(&t);
}

static void test_tls_versions(void **state) {
  (void)state;
  static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
  static const char *const names[] = {"TLSv1.2", "TLSv1.3"};
  for (size_t i = 0; i < 2; i++) {
    tls_world t;
    tls_world_init(&t, &hello, 1, 0);
    t.serve.min_version = t.serve.max_version = versions[i];
    assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
    fetch_hello(&t.w);
    fetch_hello(&t.w);
    assert_string_equal(t.server.last_version, names[i]);
    assert_int_equal(t.server.accepted, 1);
    tls_world_close(&t);
  }
}

static void test_tls_names(void **state) {
  (void)state;
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.tls.server_name = "localhost."; /* the dot is DNS's */
  assert_int_equal(tls_world_open(&t, "localhost"), 0);
  fetch_hello(&t.w);
  assert_string_equal(t.server.last_name, "localhost");
  tls_world_close(&t);

  /* A name of the user's for both, whatever the host is. */
  const tls_cert other = tls_cert_make(
      &(tls_cert_options){.name = "x",
                          .alternatives = "DNS:*.cluster.example,IP:::1",
                          .issuer = &tls_pki_get()->authority});
  tls_world_init(&t, &hello, 1, 0);
  t.serve.certificate = &other;
  t.tls.server_name = "api.cluster.example";
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  fetch_hello(&t.w);
  assert_string_equal(t.server.last_name, "api.cluster.example");
  tls_world_close(&t);

  tls_world_init(&t, &hello, 1, 0);
  t.serve.certificate = &other;
  t.tls.server_name = "::1";
  assert_int_equal(tls_world_open(&t, "localhost"), 0);
  fetch_hello(&t.w);
  assert_string_equal(t.server.last_name, "");
  tls_world_close(&t);
  tls_cert_finish((tls_cert *)&other);

  /* IPv4 in the form of IPv6. */
  tls_world_init(&t, &hello, 1, 0);
  t.tls.server_name = "::FFFF:127.0.0.1";
  assert_int_equal(tls_world_open(&t, "localhost"), 0);
  fetch_hello(&t.w);
  tls_world_close(&t);
}

static void test_tls_insecure(void **state) {
  (void)state;
  const tls_cert stranger = tls_cert_make(
      &(tls_cert_options){.name = "x", .from_s = -20, .until_s = -10});
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.serve.certificate = &stranger;
  t.tls = (kin__tls_options){.is_insecure = true};
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  assert_true(tls_world_has_line(&t, "is not verified, because"));
  fetch_hello(&t.w);
  tls_world_close(&t);
  tls_cert_finish((tls_cert *)&stranger);
}

static void test_tls_client_certificate(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
    tls_world t;
    tls_world_init(&t, &hello, 1, 0);
    t.serve.client_authority = &pki->authority;
    t.serve.max_version = version;
    t.tls.certificate_data = pki->client_pem;
    t.tls.key_data = pki->client_key_pem;
    assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
    fetch_hello(&t.w);
    assert_string_equal(t.server.last_client, "client");
    tls_world_close(&t);
  }
}

/* A 401 to a certificate: the next request shows the files' present one, on a
 * connection of its own and in a full handshake. Without a certificate the
 * connection is as good as before. */
static void test_tls_refused_client_certificate(void **state) {
  (void)state;
  static const tls_reply replies[] = {
      {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", 0, TLS_KEEP},
      {HELLO, 0, TLS_KEEP}};
  const tls_pki *pki = tls_pki_get();
  for (size_t has_certificate = 0; has_certificate < 2; has_certificate++) {
    tls_world t;
    tls_world_init(&t, replies, 2, 0);
    if (has_certificate) {
      t.serve.client_authority = &pki->authority;
      t.tls.certificate_data = pki->client_pem;
      t.tls.key_data = pki->client_key_pem;
    }
    assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
    fetch f = {.world = &t.w};
    fetch_run(&f, &t.w, "/x");
    assert_int_equal(f.status, 401);
    fetch_finish(&f);
    fetch_hello(&t.w);
    assert_int_equal(t.server.accepted, 1 + has_certificate);
    assert_int_equal(t.server.handshakes, 1 + has_certificate);
    assert_int_equal(t.server.resumed, 0);
    tls_world_close(&t);
  }
}

/* Every new connection but the first resumes the session before. */
static void test_tls_resumption(void **state) {
  (void)state;
  static const tls_reply closing = {.bytes = HELLO_CLOSE, .then = TLS_CLOSE};
  for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
    tls_world t;
    tls_world_init(&t, &closing, 1, 0);
    t.serve.max_version = version;
    assert_int_equal(tls_world_open(&t, "localhost"), 0);
    for (size_t i = 1; i <= 4; i++) {
      fetch_hello(&t.w);
      assert_int_equal(t.server.handshakes, i);
      assert_int_equal(t.server.resumed, i - 1);
    }
    assert_true(tls_world_has_line(&t, ", resumed"));
    tls_world_close(&t);
  }
}

/* A server that cannot resume a session may reset the connection. The next
 * connection offers none; twice. */
static void test_tls_session_that_breaks(void **state) {
  (void)state;
  static const tls_reply closing = {.bytes = HELLO_CLOSE, .then = TLS_CLOSE};
  tls_world t;
  tls_world_init(&t, &closing, 1, 0);
  assert_int_equal(tls_world_open(&t, "localhost"), 0);
  fetch_hello(&t.w);
  for (size_t i = 1; i <= 2; i++) {
    fetch_hello(&t.w);
    assert_int_equal(t.server.resumed, i);
    t.serve.resets_at_hello = true;
    tls_server_set_options(&t.server, &t.serve);
    fetch f = {.world = &t.w};
    fetch_run(&f, &t.w, "/x");
    assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
    fetch_finish(&f);
    t.serve.resets_at_hello = false;
    tls_server_set_options(&t.server, &t.serve);
    fetch_hello(&t.w);
    assert_int_equal(t.server.resumed, i);
  }
  tls_world_close(&t);
}

/* Each framing, with the wire bytes in slices and the plain ones in records of
 * several sizes; test_tls_split has them all. */
static void test_tls_framings(void **state) {
  (void)state;
  static const tls_reply replies[] = {
      {HELLO, 0, TLS_KEEP},
      {HELLO_CHUNKED, 0, TLS_KEEP},
      {OK "\r\nhello", 0, TLS_CLOSE},
      {HELLO, 0, TLS_CLOSE},
      {HELLO_CLOSE, 0, TLS_CUT},
      {HELLO_CHUNKED, 0, TLS_CUT},
      {OK "\r\nhello", 0, TLS_NOTIFY},
  };
  for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
    for (size_t record = 0; record <= 7; record += 7) {
      tls_world t;
      tls_world_init(&t, &replies[i], 1, 0);
      t.serve.record = record;
      assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
      fetch_hello(&t.w);
      fetch_hello(&t.w);
      tls_world_close(&t);
    }
  }
}

static void test_tls_large_body(void **state) {
  (void)state;
  size_t size = 4u << 20;
  tls_reply reply = {.then = TLS_KEEP};
  char *text = large_response(size, &reply.length);
  reply.bytes = text;
  for (size_t record = 0; record <= 1000; record += 500) {
    tls_world t;
    tls_world_init(&t, &reply, 1, 0);
    t.serve.record = record;
    assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
    fetch_large(&t.w, text, reply.length, size);
    assert_int_equal(stats(&t)->open_connections, 1);
    assert_true(stats(&t)->received_bytes > size);
    tls_world_close(&t);
  }
  free(text);
}

/* A request larger than the socket's buffers. */
static void test_tls_large_request(void **state) {
  (void)state;
  tls_world t;
  tls_world_setup(&t, &hello, 1);
  fetch f = {.world = &t.w};
  fetch_start_large(&f, &t.w);
  fetch_until_end(&f);
  assert_int_equal(f.error.code, 0);
  assert_int_equal(t.server.requests, 1);
  fetch_finish(&f);
  tls_world_close(&t);
}

/* There is no memory for what the socket does not take. */
static void test_tls_large_request_out_of_memory(void **state) {
  (void)state;
  tls_world t;
  tls_world_setup(&t, &hello, 1);
  fetch_hello(&t.w);
  kin__link *conns = &t.w.transport->net.conns;
  kin__conn *conn = KIN__CONTAINER_OF(conns->next, kin__conn, node);
  int bytes = 4096;
  assert_int_equal(
      setsockopt(conn->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
  fetch f = {.world = &t.w};
  fetch_start_large(&f, &t.w);
  t.w.memory.fail_at = atomic_load(&t.w.memory.calls) + 1;
  world_run_tasks(&t.w);
  assert_int_equal(f.ends, 1);
  assert_int_equal(f.error.code, KIN_ENOMEM);
  assert_int_equal(f.error.error_class, KIN_CLASS_MEMORY);
  fetch_finish(&f);
  fetch_hello(&t.w);
  tls_world_close(&t);
}

/* Records that carry no data of the owner's: tickets, which TLS 1.3 sends after
 * the handshake, and new keys. An idle connection takes them in its stride. */
static void test_tls_silent_records(void **state) {
  (void)state;
  tls_world t;
  tls_world_setup(&t, &hello, 1);
  fetch_hello(&t.w);
  for (int i = 0; i < 3; i++) {
    uint64_t received = stats(&t)->received_bytes;
    tls_server_update_keys(&t.server);
    WORLD_UNTIL(&t.w, stats(&t)->received_bytes > received);
    assert_int_equal(stats(&t)->open_connections, 1);
    fetch_hello(&t.w);
  }
  assert_int_equal(t.server.accepted, 1);
  tls_world_close(&t);
}

/* They do not hold a body open, also if each of them is in the socket when the
 * time is over. */
static void test_tls_only_silent_records(void **state) {
  (void)state;
  static const tls_reply stall = {.bytes = OK "Content-Length: 2\r\n\r\na"};
  tls_world t;
  tls_world_setup(&t, &stall, 1);
  fetch f = {.world = &t.w};
  assert_int_equal(fetch_start(&f, &t.w, "/x", false), 0);
  WORLD_UNTIL(&t.w, f.bodies == 1);
  for (int i = 0; i < 2; i++) {
    uint64_t received = stats(&t)->received_bytes;
    assert_int_equal(f.ends, 0);
    tls_server_update_keys(&t.server);
    while (!kin__exchange_has_input(f.exchange)) {
      uv_run(&t.w.loop, UV_RUN_NOWAIT);
    }
    world_advance(&t.w, WORLD_RESPONSE_MS);
    WORLD_UNTIL(&t.w, f.ends > 0 || stats(&t)->received_bytes > received);
  }
  assert_int_equal(f.error.code, KIN_ETIMEDOUT);
  fetch_finish(&f);
  tls_world_close(&t);
}

/* A watch that has got a byte. */
static void set_up_watch(tls_world *t, fetch *f) {
  static const tls_reply reply = {.bytes = FIRST_BYTE};
  tls_world_setup(t, &reply, 1);
  (void)fetch_first_byte(f, &t->w, true);
}

static void update_keys(tls_world *t, int count) {
  for (int i = 0; i < count; i++) {
    tls_server_update_keys(&t->server);
  }
}

/* Such records end a connection when they come without end, in TLS 1.2 requests
 * to begin anew. A watch learns why; an idle connection just goes. */
static void test_tls_flood_of_silent_records(void **state) {
  (void)state;
  static const tls_reply replies[] = {{.bytes = HELLO}, {.bytes = FIRST_BYTE}};
  static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
  for (size_t i = 0; i < 2; i++) {
    tls_world t;
    tls_world_init(&t, replies, 2, 0);
    t.serve.min_version = t.serve.max_version = versions[i];
    assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
    fetch_hello(&t.w);
    update_keys(&t, 100);
    WORLD_UNTIL(&t.w, stats(&t)->open_connections == 0);
    fetch f;
    (void)fetch_first_byte(&f, &t.w, true);
    assert_int_equal(t.server.accepted, 2);
    update_keys(&t, 100);
    fetch_until_end(&f);
    assert_int_equal(f.error.code, KIN_ETLS);
    assert_int_equal(f.error.error_class, KIN_CLASS_TLS);
    tls_assert_words(f.error.message, "tls: server sends handshake messages "
                                      "without end, and no data");
    fetch_finish(&f);
    tls_world_close(&t);
  }
}

/* Data does not excuse many of them in one read. */
static void test_tls_flood_among_data(void **state) {
  (void)state;
  tls_world t;
  fetch f;
  set_up_watch(&t, &f);
  for (int i = 0; i < 100; i++) {
    tls_server_update_keys(&t.server);
    tls_server_push(&t.server, "1\r\nb\r\n");
  }
  fetch_until_end(&f);
  assert_int_equal(f.error.code, KIN_ETLS);
  assert_in_range(f.body_length, 10, 20);
  fetch_finish(&f);
  tls_world_close(&t);
}

/* A server may have new keys as often as it likes, as long as data comes. */
static void test_tls_silent_records_for_long(void **state) {
  (void)state;
  tls_world t;
  fetch f;
  set_up_watch(&t, &f);
  for (size_t i = 2; i < 100; i++) {
    update_keys(&t, 5);
    tls_server_push(&t.server, "1\r\nb\r\n");
    WORLD_UNTIL(&t.w, f.ends > 0 || f.body_length == i);
    assert_int_equal(f.ends, 0);
  }
  tls_server_push(&t.server, "0\r\n\r\n");
  fetch_until_end(&f);
  assert_int_equal(f.error.code, 0);
  fetch_finish(&f);
  tls_world_close(&t);
}

/* Idle: closed by the peer, in order or not, or something is said unasked. */
static void test_tls_idle_connection_ends(void **state) {
  (void)state;
  tls_world t;
  tls_world_setup(&t, &hello, 1);
  fetch_hello(&t.w);
  tls_server_drop(&t.server, TLS_CLOSE);
  WORLD_UNTIL(&t.w, stats(&t)->open_connections == 0);
  fetch_hello(&t.w);
  tls_server_drop(&t.server, TLS_CUT);
  WORLD_UNTIL(&t.w, stats(&t)->open_connections == 0);
  fetch_hello(&t.w);
  tls_server_drop(&t.server, TLS_RESET);
  WORLD_UNTIL(&t.w, stats(&t)->open_connections == 0);
  fetch_hello(&t.w);
  tls_server_push(&t.server, HELLO);
  WORLD_UNTIL(&t.w, stats(&t)->open_connections == 0);
  fetch_hello(&t.w);
  assert_int_equal(t.server.accepted, 5);
  tls_world_close(&t);
}

/* Our side says close_notify, so that the server may resume the session. */
static void test_tls_farewell(void **state) {
  (void)state;
  static const tls_reply stall = {
      .bytes = OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"};
  tls_world t;
  tls_world_setup(&t, &stall, 1);
  fetch f = {.world = &t.w};
  assert_int_equal(fetch_start(&f, &t.w, "/x", true), 0);
  WORLD_UNTIL(&t.w, f.bodies == 1);
  kin__exchange_cancel(f.exchange);
  WORLD_UNTIL(&t.w, t.server.open == 0);
  assert_int_equal(t.server.farewells, 1);
  fetch_finish(&f);
  tls_world_close(&t);
}

/* Cut off: a body whose end only close_notify can tell, and a chunked one. */
static void test_tls_cut_off(void **state) {
  (void)state;
  static const struct {
    tls_reply reply;
    int code;
    const char *message;
  } cases[] = {
      {{OK "\r\nhel", 0, TLS_CUT}, KIN_EEOF, "no close_notify"},
      {{OK "Content-Length: 5\r\n\r\nhel", 0, TLS_CUT},
       KIN_EEOF,
       "no close_notify"},
      {{OK "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", 0, TLS_CUT},
       KIN_EEOF,
       "no close_notify"},
      {{OK "Content-Length: 5\r\n\r\nhel", 0, TLS_CLOSE},
       KIN_EEOF,
       "closed the connection in the middle of a body"},
      {{OK "Content-Length: 5\r\n\r\nhel", 0, TLS_NOTIFY},
       KIN_EEOF,
       "closed the connection in the middle of a body"},
      {{OK "\r\nhel", 0, TLS_RESET}, UV_ECONNRESET, "reset"},
      {{NULL, 0, TLS_CLOSE}, KIN_EEOF, "before it answered"},
      {{NULL, 0, TLS_CUT}, KIN_EEOF, "no close_notify"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tls_world t;
    tls_world_setup(&t, &cases[i].reply, 1);
    fetch f = {.world = &t.w};
    fetch_run(&f, &t.w, "/x");
    assert_int_equal(f.error.code, cases[i].code);
    assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
    assert_non_null(strstr(f.error.message, cases[i].message));
    fetch_finish(&f);
    tls_world_close(&t);
  }
}

/* A connection of the pool that is stale is replaced silently, once. */
static fetch *followed_by;

static void follow(fetch *f) {
  if (f->ends > 0) {
    assert_int_equal(fetch_start(followed_by, f->world, "/next", false), 0);
  }
}

static void test_tls_stale_connection(void **state) {
  (void)state;
  for (tls_then then = TLS_CLOSE; then <= TLS_RESET; then++) {
    const tls_reply replies[] = {{HELLO, 0, then}, {HELLO, 0, TLS_KEEP}};
    tls_world t;
    tls_world_setup(&t, replies, 2);
    fetch next = {.world = &t.w};
    fetch first = {.world = &t.w, .hook = follow};
    followed_by = &next;
    fetch_run(&first, &t.w, "/first");
    fetch_until_end(&next);
    assert_string_equal(next.error.message, "");
    assert_string_equal(next.body, "hello");
    assert_int_equal(t.server.requests, 2);
    fetch_finish(&first);
    fetch_finish(&next);
    tls_world_close(&t);
  }
}

/* What the host has left in OpenSSL's queue is not taken for ours. */
static void test_tls_foreign_errors(void **state) {
  (void)state;
  tls_world t;
  tls_world_setup(&t, &hello, 1);
  fetch f = {.world = &t.w};
  assert_int_equal(fetch_start(&f, &t.w, "/x", false), 0);
  while (f.ends == 0) {
    uv_run(&t.w.loop, UV_RUN_NOWAIT); /* the server checks the queue here */
    ERR_raise(ERR_LIB_USER, 1);
    kin__sched_run(&t.w.sched, 0);
    ERR_clear_error();
  }
  assert_string_equal(f.error.message, "");
  assert_string_equal(f.body, "hello");
  fetch_finish(&f);
  tls_world_close(&t);
}

static void pause_in_body(fetch *f) {
  if (f->bodies == 1 && f->ends == 0) {
    kin__exchange_pause(f->exchange);
  }
}

/* Paused with records in the socket: all of them come after resuming. */
static void test_tls_pause(void **state) {
  (void)state;
  size_t size = 2u << 20;
  const char *head = OK "Content-Length: 2097152\r\n\r\n";
  char *text = calloc(1, strlen(head) + size);
  assert_non_null(text);
  memcpy(text, head, strlen(head));
  tls_reply reply = {.bytes = text, .length = strlen(head) + size};
  tls_world t;
  tls_world_setup(&t, &reply, 1);
  fetch f = {.world = &t.w, .hook = pause_in_body};
  assert_int_equal(fetch_start(&f, &t.w, "/x", false), 0);
  WORLD_UNTIL(&t.w, f.bodies > 0);
  world_advance(&t.w, 10 * WORLD_RESPONSE_MS);
  assert_int_equal(f.ends, 0);
  assert_true(f.body_length < size);
  kin__exchange_resume(f.exchange);
  fetch_until_end(&f);
  assert_int_equal(f.error.code, 0);
  assert_int_equal(f.body_length, size);
  fetch_finish(&f);
  tls_world_close(&t);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tls_request),
      cmocka_unit_test(test_tls_versions),
      cmocka_unit_test(test_tls_names),
      cmocka_unit_test(test_tls_insecure),
      cmocka_unit_test(test_tls_client_certificate),
      cmocka_unit_test(test_tls_refused_client_certificate),
      cmocka_unit_test(test_tls_resumption),
      cmocka_unit_test(test_tls_session_that_breaks),
      cmocka_unit_test(test_tls_framings),
      cmocka_unit_test(test_tls_large_body),
      cmocka_unit_test(test_tls_large_request),
      cmocka_unit_test(test_tls_large_request_out_of_memory),
      cmocka_unit_test(test_tls_silent_records),
      cmocka_unit_test(test_tls_only_silent_records),
      cmocka_unit_test(test_tls_flood_of_silent_records),
      cmocka_unit_test(test_tls_flood_among_data),
      cmocka_unit_test(test_tls_silent_records_for_long),
      cmocka_unit_test(test_tls_idle_connection_ends),
      cmocka_unit_test(test_tls_farewell),
      cmocka_unit_test(test_tls_cut_off),
      cmocka_unit_test(test_tls_stale_connection),
      cmocka_unit_test(test_tls_foreign_errors),
      cmocka_unit_test(test_tls_pause),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
