/* SPDX-License-Identifier: MIT */
/* Proves TR-08 where a proxy fails: each refusal and each malformed, endless or
 * missing answer ends an exchange with a class, a code and a text that tell
 * what is wrong, and never the proxy's password. After each the proxy heals,
 * and the same transport works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/proxy_world.h"

#define SECRET "s3cret"
#define BYTES(text) text, sizeof(text) - 1

typedef struct failure {
  const char *scheme;
  const char *answer;
  size_t length;
  proxy_then then;
  int code;
  kin_error_class error_class;
  const char *words;
} failure;

static const failure failures[] = {
    {"http", BYTES("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
     PROXY_CLOSE, KIN_EPROXY, KIN_CLASS_AUTH,
     "connection to proxy 127.0.0.1:...: the proxy answers 407: it refuses the "
     "user name and password of its URL"},
    {"http",
     BYTES("HTTP/1.0 502 Bad " SECRET " Gateway\r\nX: y\r\n\r\n" SECRET),
     PROXY_KEEP, KIN_EPROXY, KIN_CLASS_CONNECT,
     "the proxy answers 502: it refuses the connection"},
    {"http", BYTES("HTTP/1.1 403\r\n\r\n"), PROXY_KEEP, KIN_EPROXY,
     KIN_CLASS_CONNECT, "the proxy answers 403"},
    {"http", BYTES("HTTP/1.1 302 Found\nLocation: http://x/" SECRET "\n\n"),
     PROXY_KEEP, KIN_EPROXY, KIN_CLASS_CONNECT, "the proxy answers 302"},
    {"http", BYTES("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\n\r\n"),
     PROXY_KEEP, KIN_EPROXY, KIN_CLASS_CONNECT, "the proxy answers 503"},
    {"http", BYTES("HTTP/1.1 101 Switching\r\n\r\n"), PROXY_KEEP, KIN_EHTTP,
     KIN_CLASS_PROTOCOL, "not that of an http proxy"},
    {"http", BYTES("HTTP/1.1 099 X\r\n\r\n"), PROXY_KEEP, KIN_EHTTP,
     KIN_CLASS_PROTOCOL, "not that of an http proxy"},
    {"http", BYTES("HTTP/1.1 2 00\r\n\r\n"), PROXY_KEEP, KIN_EHTTP,
     KIN_CLASS_PROTOCOL, "not that of an http proxy"},
    {"http", BYTES("HTTP/1.1\r\n\r\n"), PROXY_KEEP, KIN_EHTTP,
     KIN_CLASS_PROTOCOL, "not that of an http proxy"},
    {"http", BYTES("HTTP/1.1 \n200 x\n\n"), PROXY_KEEP, KIN_EHTTP,
     KIN_CLASS_PROTOCOL, "not that of an http proxy"},
    {"http", BYTES("HTTP/2.0 200 OK\r\n\r\n"), PROXY_KEEP, KIN_EHTTP,
     KIN_CLASS_PROTOCOL, "not that of an http proxy"},
    {"http", BYTES("SSH-2.0-OpenSSH_9.2"), PROXY_KEEP, KIN_EHTTP,
     KIN_CLASS_PROTOCOL, "not that of an http proxy"},
    {"http", BYTES("\r\n\r\n"), PROXY_KEEP, KIN_EHTTP, KIN_CLASS_PROTOCOL,
     "not that of an http proxy"},
    {"http", BYTES("\0"), PROXY_KEEP, KIN_EHTTP, KIN_CLASS_PROTOCOL,
     "not that of an http proxy"},
    {"http", BYTES("HTTP/1.1 200 OK\r\nX: "), PROXY_CLOSE, KIN_EEOF,
     KIN_CLASS_CONNECT, "closed the connection in the middle of its answer"},
    {"http", BYTES(""), PROXY_CLOSE, KIN_EEOF, KIN_CLASS_CONNECT,
     "closed the connection before it answered"},
    {"http", BYTES("HTTP/1.1 200 OK\r\n\r\n"), PROXY_CLOSE, KIN_EEOF,
     KIN_CLASS_CONNECT,
     "tls: server closed the connection during the handshake"},
    {"http", BYTES("HTTP/1.1 299 OK\r\nContent-Length: 9\r\n\r\ngarbage!!"),
     PROXY_KEEP, KIN_ETLSSETUP, KIN_CLASS_TLS, "tls: "},
    {"socks5", BYTES("\5\xff"), PROXY_CLOSE, KIN_EPROXY, KIN_CLASS_AUTH,
     "the proxy takes no user name and password"},
    {"socks5", BYTES("\5\1"), PROXY_KEEP, KIN_EPROXY, KIN_CLASS_AUTH,
     "the proxy takes no user name and password"},
    {"socks5", BYTES("\4\0"), PROXY_KEEP, KIN_EHTTP, KIN_CLASS_PROTOCOL,
     "not that of a SOCKS5 proxy"},
    {"socks5", BYTES("HTTP/1.1 400 Bad\r\n\r\n"), PROXY_KEEP, KIN_EHTTP,
     KIN_CLASS_PROTOCOL, "not that of a SOCKS5 proxy"},
    {"socks5", BYTES("\5\2\5\0"), PROXY_KEEP, KIN_EHTTP, KIN_CLASS_PROTOCOL,
     "not that of a SOCKS5 proxy"},
    {"socks5", BYTES("\5\2\1\1"), PROXY_KEEP, KIN_EPROXY, KIN_CLASS_AUTH,
     "it refuses the user name and password of its URL"},
    {"socks5", BYTES("\5\0\5\1\0\1"), PROXY_KEEP, KIN_EPROXY, KIN_CLASS_CONNECT,
     "the proxy answers code 1: a failure of its own"},
    {"socks5", BYTES("\5\0\5\2\0\1"), PROXY_KEEP, KIN_EPROXY, KIN_CLASS_CONNECT,
     "code 2: its rules forbid the connection"},
    {"socks5", BYTES("\5\0\5\3\0\1"), PROXY_KEEP, KIN_EPROXY, KIN_CLASS_CONNECT,
     "code 3: the network is unreachable"},
    {"socks5", BYTES("\5\0\5\4\0\1"), PROXY_KEEP, KIN_EPROXY, KIN_CLASS_CONNECT,
     "code 4: the host is unreachable"},
    {"socks5", BYTES("\5\0\5\5\0\1"), PROXY_KEEP, KIN_EPROXY, KIN_CLASS_CONNECT,
     "code 5: the server refuses the connection"},
    {"socks5", BYTES("\5\0\5\6\0\1"), PROXY_KEEP, KIN_EPROXY, KIN_CLASS_CONNECT,
     "code 6: the packets' time to live is over"},
    {"socks5", BYTES("\5\0\5\7\0\1"), PROXY_KEEP, KIN_EPROXY, KIN_CLASS_CONNECT,
     "code 7: it does not know the command"},
    {"socks5", BYTES("\5\0\5\x08\0\1"), PROXY_KEEP, KIN_EPROXY,
     KIN_CLASS_CONNECT, "code 8: it does not know the kind of address"},
    {"socks5", BYTES("\5\0\5\x09\0\1"), PROXY_KEEP, KIN_EPROXY,
     KIN_CLASS_CONNECT, "code 9: an unknown code"},
    {"socks5", BYTES("\5\0\5\xff\0\1"), PROXY_KEEP, KIN_EPROXY,
     KIN_CLASS_CONNECT, "code 255: an unknown code"},
    {"socks5", BYTES("\5\0\4\0\0\1"), PROXY_KEEP, KIN_EHTTP, KIN_CLASS_PROTOCOL,
     "not that of a SOCKS5 proxy"},
    {"socks5", BYTES("\5\0\5\0\0\2"), PROXY_KEEP, KIN_EHTTP, KIN_CLASS_PROTOCOL,
     "not that of a SOCKS5 proxy"},
    {"socks5", BYTES("\5\0\5\0\0\3\xff"), PROXY_CLOSE, KIN_EEOF,
     KIN_CLASS_CONNECT, "in the middle of its answer"},
    {"socks5", BYTES("\5\2\1\0\5\0\0\4"), PROXY_CLOSE, KIN_EEOF,
     KIN_CLASS_CONNECT, "in the middle of its answer"},
    {"socks5", BYTES(""), PROXY_CLOSE, KIN_EEOF, KIN_CLASS_CONNECT,
     "closed the connection before it answered"},
    {"socks5", BYTES("\5\0\5\0\0\3\0\0\1garbage"), PROXY_KEEP, KIN_ETLSSETUP,
     KIN_CLASS_TLS, "tls: "},
};
#define FAILURES (sizeof failures / sizeof failures[0])

static proxy_world p;

static void open_world_of(const failure *f, size_t slice) {
  proxy_world_init(&p, true, f->scheme, HELLO, 0);
  p.user_info = "u:" SECRET "@";
  p.serve.answer = f->answer;
  p.serve.answer_length = f->length;
  p.serve.then = f->then;
  p.serve.slice = slice;
  assert_int_equal(proxy_world_open(&p, "localhost"), 0);
}

static void check_failure(const failure *f) {
  kin__exchange_error error;
  (void)proxy_world_try(&p, &error);
  tls_assert_words(error.message, f->words);
  assert_int_equal(error.code, f->code);
  assert_int_equal(error.error_class, f->error_class);
  assert_null(strstr(error.message, SECRET));
  assert_int_equal(error.status, 0);
}

/* Each failure twice, whole and byte by byte; then the proxy works. */
static void test_proxy_failures(void **state) {
  (void)state;
  for (size_t i = 0; i < FAILURES; i++) {
    for (size_t slice = 0; slice < 2; slice++) {
      open_world_of(&failures[i], slice);
      check_failure(&failures[i]);
      check_failure(&failures[i]);
      p.serve.answer = NULL;
      proxy_server_set_options(&p.proxy, &p.serve);
      assert_string_equal(proxy_world_try(&p, NULL), "");
      assert_false(tls_world_leaks(&p.t, NULL, SECRET));
      proxy_world_close(&p);
    }
  }
}

/* Without a user name in its URL the text says that. */
static void test_proxy_wants_a_login(void **state) {
  (void)state;
  static const char *const schemes[] = {"http", "socks5", "http"};
  for (size_t i = 0; i < 3; i++) {
    kin__exchange_error error;
    proxy_world_init(&p, i < 2, schemes[i], HELLO, 0);
    p.serve.login = "Basic dTpw";
    assert_int_equal(proxy_world_open(&p, "localhost"), 0);
    (void)proxy_world_try(&p, &error);
    tls_assert_words(error.message,
                     "it wants a user name and password in its URL");
    assert_int_equal(error.code, KIN_EPROXY);
    assert_int_equal(error.error_class, KIN_CLASS_AUTH);
    proxy_world_close(&p);
  }
}

/* A proxy hands on what the server says about missing TLS. The text names the
 * server. */
static void test_proxy_server_wants_tls(void **state) {
  (void)state;
  static const char *const schemes[] = {"http", "socks5"};
  for (size_t i = 0; i < 2; i++) {
    kin__exchange_error error;
    proxy_world_init(&p, false, schemes[i],
                     "HTTP/1.1 400 Bad Request\r\nContent-Length: 48\r\n\r\n"
                     "Client sent an HTTP request to an HTTPS server.\n",
                     0);
    assert_int_equal(proxy_world_open(&p, "localhost"), 0);
    (void)proxy_world_try(&p, &error);
    char words[100];
    snprintf(words, sizeof words,
             "localhost:%d speaks TLS, not plain HTTP: the server's URL",
             p.serve.target_port);
    assert_memory_equal(error.message, words, strlen(words));
    assert_int_equal(error.code, KIN_ETLSSETUP);
    proxy_world_close(&p);
  }
}

/* --- Time and size -------------------------------------------------------- */

/* A proxy that says nothing, or nothing that ends. */
static void test_proxy_times_out(void **state) {
  (void)state;
  static const char *const answers[][2] = {
      {"http", ""},
      {"http", "HTTP/1.1 200 OK\r\nX: y\r\n"},
      {"http", "HTTP/1.1 100 Continue\r\n\r\n"},
      {"socks5", "\5\2"},
      {"socks5", ""}};
  for (size_t i = 0; i < 5; i++) {
    failure silent = {.scheme = answers[i][0], .answer = answers[i][1]};
    open_world_of(&silent, 0);
    fetch f = {.world = &p.t.w};
    assert_int_equal(fetch_start(&f, &p.t.w, "/x", false), 0);
    WORLD_UNTIL(&p.t.w, p.proxy.accepted == 1 && p.proxy.peers != NULL);
    size_t bytes = strlen(silent.answer);
    WORLD_UNTIL(&p.t.w,
                kin__transport_get_stats(p.t.w.transport)->received_bytes >=
                        bytes &&
                    kin__transport_get_stats(p.t.w.transport)->sent_bytes > 0);
    world_advance(&p.t.w, WORLD_CONNECT_MS - 1);
    assert_int_equal(f.ends, 0);
    world_advance(&p.t.w, 1);
    assert_int_equal(f.ends, 1);
    assert_int_equal(f.error.code, KIN_ETIMEDOUT);
    assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
    tls_assert_words(f.error.message,
                     "connect to proxy 127.0.0.1:...: no answer of the proxy "
                     "within 10000 ms");
    fetch_finish(&f);
    proxy_world_close(&p);
  }
}

/* Behind a proxy that has answered, the server's silence is told. */
static void test_proxy_server_times_out(void **state) {
  (void)state;
  failure silent = {.scheme = "http", .answer = "HTTP/1.1 200 OK\r\n\r\n"};
  open_world_of(&silent, 0);
  fetch f = {.world = &p.t.w};
  assert_int_equal(fetch_start(&f, &p.t.w, "/x", false), 0);
  WORLD_UNTIL(&p.t.w,
              kin__transport_get_stats(p.t.w.transport)->received_bytes >= 19);
  world_advance(&p.t.w, WORLD_CONNECT_MS);
  assert_int_equal(f.ends, 1);
  tls_assert_words(f.error.message, "no TLS handshake within 10000 ms");
  fetch_finish(&f);
  proxy_world_close(&p);
}

/* 64 KiB of head are read, in one head or in many; not a byte more. */
static void test_proxy_head_is_bounded(void **state) {
  (void)state;
  static const char *const answers[] = {"HTTP/1.1 200 OK\r\nX: y\r\n",
                                        "HTTP/1.1 100 Continue\r\n\r\n"};
  for (size_t i = 0; i < 2; i++) {
    failure endless = {.scheme = "http",
                       .answer = answers[i],
                       .code = KIN_EHTTP,
                       .error_class = KIN_CLASS_PROTOCOL,
                       .words = "the proxy's answer has a head over 64 KiB"};
    open_world_of(&endless, 0);
    p.serve.is_endless = true;
    proxy_server_set_options(&p.proxy, &p.serve);
    check_failure(&endless);
    proxy_world_close(&p);
  }
  size_t size = 64u << 10;
  char *head = malloc(size + 2);
  assert_non_null(head);
  for (size_t more = 0; more < 2; more++) {
    memset(head, 'x', size + 1);
    memcpy(head, "HTTP/1.1 502 ", 13);
    memcpy(head + size + more - 4, "\r\n\r\n", 5);
    failure large = {.scheme = "http",
                     .answer = head,
                     .length = size + more,
                     .code = more ? KIN_EHTTP : KIN_EPROXY,
                     .error_class =
                         more ? KIN_CLASS_PROTOCOL : KIN_CLASS_CONNECT,
                     .words = more ? "over 64 KiB" : "502"};
    open_world_of(&large, 0);
    check_failure(&large);
    proxy_world_close(&p);
  }
  free(head);
}

/* Nobody listens, or the name of the proxy is unknown. */
static void test_proxy_is_not_reached(void **state) {
  (void)state;
  for (int has_name = 0; has_name < 2; has_name++) {
    kin__exchange_error error;
    proxy_world_init(&p, true, "http", HELLO, 0);
    char url[100];
    snprintf(url, sizeof url, "http://u:" SECRET "@%s:%d",
             has_name ? "proxy.invalid" : "127.0.0.1", loop_unused_port());
    p.t.w.proxy_url = url;
    assert_int_equal(tls_world_open_at(&p.t, "https://localhost"), 0);
    (void)proxy_world_try(&p, &error);
    assert_int_equal(error.error_class,
                     has_name ? KIN_CLASS_DNS : KIN_CLASS_CONNECT);
    tls_assert_words(error.message, has_name ? "proxy: resolve proxy.invalid"
                                             : "proxy: connect to 127.0.0.1:");
    assert_false(tls_world_leaks(&p.t, NULL, SECRET));
    assert_null(strstr(error.message, SECRET));
    proxy_world_close(&p);
  }
}

/* The tunnel breaks in the middle of a response, twice. */
static void test_proxy_breaks_off(void **state) {
  (void)state;
  static const char *const schemes[] = {"http", "socks5", "https"};
  for (size_t i = 0; i < 3; i++) {
    proxy_world_init(&p, true, schemes[i],
                     "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell", 0);
    p.serve.certificate = i == 2 ? &tls_pki_get()->server : NULL;
    assert_int_equal(proxy_world_open(&p, "localhost"), 0);
    for (int n = 0; n < 2; n++) {
      fetch f = {.world = &p.t.w};
      assert_int_equal(fetch_start(&f, &p.t.w, "/x", false), 0);
      WORLD_UNTIL(&p.t.w, f.bodies == 1);
      proxy_server_drop(&p.proxy, n == 0 ? PROXY_CLOSE : PROXY_RESET);
      fetch_until_end(&f);
      assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
      assert_true(f.error.code == KIN_EEOF || f.error.code == UV_ECONNRESET);
      fetch_finish(&f);
    }
    proxy_world_close(&p);
  }
}

/* A SOCKS5 proxy whose greeting is in the socket when the time to connect is
 * over: the loop was late. */
static void open_late(world *w, fetch *f) {
  static const loop_reply reply = {.bytes = HELLO};
  world_init(w, &reply, 1, 0);
  char proxy_url[64];
  snprintf(proxy_url, sizeof proxy_url, "socks5://127.0.0.1:%d",
           w->server.port);
  w->proxy_url = proxy_url;
  assert_int_equal(world_open_at(w, "http://192.0.2.1"), 0);
  w->proxy_url = NULL;
  *f = (fetch){.world = w};
  assert_int_equal(fetch_start(f, w, "/x", false), 0);
  WORLD_UNTIL(w, w->server.received > 0);
  loop_server_push_bytes(&w->server, "\5\0", 2);
  world_advance(w, WORLD_CONNECT_MS);
  assert_int_equal(f->ends, 0);
}

/* Then the proxy has the same time once more. */
static void test_proxy_late_loop(void **state) {
  (void)state;
  world w;
  fetch f;
  open_late(&w, &f);
  size_t received = w.server.received;
  WORLD_UNTIL(&w, w.server.received > received);
  world_advance(&w, WORLD_CONNECT_MS - 1);
  assert_int_equal(f.ends, 0);
  world_advance(&w, 1);
  assert_int_equal(f.ends, 1);
  assert_int_equal(f.error.code, KIN_ETIMEDOUT);
  assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
  fetch_finish(&f);
  world_close(&w);
}

/* The loop may be late for the response, too. */
static void test_proxy_late_loop_twice(void **state) {
  (void)state;
  world w;
  fetch f;
  open_late(&w, &f);
  loop_server_push_bytes(&w.server, "\5\0\0\1\0\0\0\0\0\0", 10);
  const kin__transport_stats *stats = kin__transport_get_stats(w.transport);
  WORLD_UNTIL(&w, stats->requests == 1);
  while (w.server.replied == 0) {
    uv_run(&w.loop, UV_RUN_ONCE);
  }
  world_advance(&w, 2 * WORLD_RESPONSE_MS);
  fetch_until_end(&f);
  fetch_assert_hello(&f);
  fetch_finish(&f);
  world_close(&w);
}

int main(void) {
  setenv("UV_THREADPOOL_SIZE", "4", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_proxy_failures),
      cmocka_unit_test(test_proxy_wants_a_login),
      cmocka_unit_test(test_proxy_server_wants_tls),
      cmocka_unit_test(test_proxy_times_out),
      cmocka_unit_test(test_proxy_server_times_out),
      cmocka_unit_test(test_proxy_head_is_bounded),
      cmocka_unit_test(test_proxy_is_not_reached),
      cmocka_unit_test(test_proxy_breaks_off),
      cmocka_unit_test(test_proxy_late_loop),
      cmocka_unit_test(test_proxy_late_loop_twice),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
