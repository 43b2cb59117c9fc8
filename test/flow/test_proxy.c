/* SPDX-License-Identifier: MIT */
/* Proves TR-08 as far as connections go: requests reach a server through each
 * kind of proxy, with and without TLS on each part of the way; names are
 * resolved by the proxy; its password is sent to the proxy alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/proxy_world.h"
#include "transport/conn.h"
#include "transport/exchange_core.h"

/* A name that only the proxy can resolve; the certificate is for another. */
#define HOST "api.invalid"

typedef struct way {
  const char *scheme;
  bool is_tls; /* of the server */
  bool is_proxy_tls;
  const char *login; /* as the proxy wants it */
  const char *user_info;
} way;

static const way ways[] = {
    {"http", true, false, NULL, ""},
    {"http", false, false, NULL, ""},
    {"https", true, true, NULL, ""},
    {"https", false, true, NULL, ""},
    {"socks5", true, false, NULL, ""},
    {"socks5h", false, false, NULL, ""},
    {"HTTP", true, false, "Basic dTpwOkAvJQ==", "u:p:%40%2f%25@"},
    {"http", false, false, "Basic dTpwOkAvJQ==", "u:p:%40%2f%25@"},
    {"https", true, true, "Basic dTpwOkAvJQ==", "u:p:%40%2f%25@"},
    {"http", true, false, "Basic dTo=", "u@"},
    {"socks5", true, false, "u:p:@/%", "u:p:%40%2f%25@"},
    {"socks5", false, false, "u@v:", "u@v@"},
};
#define WAYS (sizeof ways / sizeof ways[0])

static proxy_world p;

static int open_way(const way *w, const char *reply, size_t fail_at,
                    size_t slice) {
  proxy_world_init(&p, w->is_tls, w->scheme, reply, fail_at);
  p.serve.login = w->login;
  p.serve.slice = slice;
  p.serve.certificate = w->is_proxy_tls ? &tls_pki_get()->server : NULL;
  p.user_info = w->user_info;
  p.t.tls.server_name = "localhost";
  return proxy_world_open(&p, HOST);
}

static size_t requests(void) {
  return p.is_tls ? p.t.server.requests : p.t.w.server.requests;
}

static const char *last_request(void) {
  return p.is_tls ? p.t.server.last_request : p.t.w.server.last_request;
}

/* The request as the server sees it: its own form, and no secret but in the
 * request that a proxy forwards as it is. */
static void check_request(const way *w) {
  char line[300];
  bool is_forward = !w->is_tls && strncmp(w->scheme, "socks", 5) != 0;
  if (is_forward) {
    snprintf(line, sizeof line, "GET http://" HOST ":%d/prefix/x HTTP/1.1\r\n",
             p.serve.target_port);
    assert_int_equal(p.proxy.tunnels, 1);
  } else {
    snprintf(line, sizeof line, "GET /prefix/x HTTP/1.1\r\n");
    assert_null(strstr(last_request(), "Proxy-Authorization"));
  }
  assert_memory_equal(last_request(), line, strlen(line));
  snprintf(line, sizeof line, "\r\nHost: " HOST ":%d\r\n", p.serve.target_port);
  assert_non_null(strstr(last_request(), line));
}

static void check_connect(const way *w) {
  char line[300];
  if (strncmp(w->scheme, "socks", 5) == 0) {
    snprintf(line, sizeof line, "name " HOST ":%d", p.serve.target_port);
    assert_string_equal(p.proxy.last_address, line);
    assert_string_equal(p.proxy.last_login, w->login != NULL ? w->login : "");
  } else if (w->is_tls) {
    snprintf(line, sizeof line,
             "CONNECT " HOST ":%d HTTP/1.1\r\nHost: " HOST ":%d\r\n"
             "User-Agent: test/1.0\r\n%s%s%s\r\n",
             p.serve.target_port, p.serve.target_port,
             w->login != NULL ? "Proxy-Authorization: " : "",
             w->login != NULL ? w->login : "", w->login != NULL ? "\r\n" : "");
    assert_string_equal(p.proxy.last_head, line);
  }
}

/* Each way twice: the second request is on the first one's connection, and
 * after a break there is a new one. */
static void test_proxy_ways(void **state) {
  (void)state;
  for (size_t i = 0; i < WAYS; i++) {
    assert_int_equal(open_way(&ways[i], HELLO, 0, 0), 0);
    for (size_t n = 1; n <= 2; n++) {
      assert_string_equal(proxy_world_try(&p, NULL), "");
      assert_string_equal(proxy_world_try(&p, NULL), "");
      assert_int_equal(requests(), 2 * n);
      assert_int_equal(p.proxy.accepted, n);
      proxy_server_drop(&p.proxy, PROXY_CLOSE);
    }
    p.proxy.tunnels = 1;
    check_request(&ways[i]);
    check_connect(&ways[i]);
    if (ways[i].is_tls) {
      assert_string_equal(p.t.server.last_name, "localhost");
    }
    proxy_world_close(&p);
  }
}

/* The proxy's bytes, and all others, in pieces of each size. */
static void test_proxy_split(void **state) {
  (void)state;
  for (size_t i = 0; i < WAYS; i++) {
    for (size_t slice = 1; slice <= 60; slice += slice < 45 ? 1 : 5) {
      assert_int_equal(open_way(&ways[i], HELLO, 0, slice), 0);
      assert_string_equal(proxy_world_try(&p, NULL), "");
      proxy_world_close(&p);
    }
  }
}

static void test_proxy_large(void **state) {
  (void)state;
  size_t length;
  size_t size = 300000;
  char *response = large_response(size, &length);
  for (size_t i = 0; i < WAYS; i++) {
    assert_int_equal(open_way(&ways[i], HELLO, 0, 0), 0);
    /* The replies have lengths. */
    loop_reply plain = {.bytes = response, .length = length};
    tls_reply tls = {.bytes = response, .length = length};
    p.t.w.server.replies = &plain;
    p.t.server.replies = &tls;
    fetch_large(&p.t.w, response, length, size);
    proxy_world_close(&p);
  }
  free(response);
}

/* Addresses are sent to SOCKS as such. */
static void test_proxy_socks_addresses(void **state) {
  (void)state;
  static const char *const hosts[][2] = {{"10.1.2.3", "ip4 10.1.2.3"},
                                         {"[2001:db8::7]", "ip6 2001:db8::7"},
                                         {"a.b", "name a.b"}};
  for (size_t i = 0; i < 3; i++) {
    proxy_world_init(&p, false, "socks5", HELLO, 0);
    assert_int_equal(proxy_world_open(&p, hosts[i][0]), 0);
    assert_string_equal(proxy_world_try(&p, NULL), "");
    assert_memory_equal(p.proxy.last_address, hosts[i][1], strlen(hosts[i][1]));
    proxy_world_close(&p);
  }
  proxy_world_init(&p, true, "http", HELLO, 0);
  p.t.tls.server_name = "localhost";
  assert_int_equal(proxy_world_open(&p, "[2001:db8::7]"), 0);
  assert_string_equal(proxy_world_try(&p, NULL), "");
  assert_memory_equal(p.proxy.last_head, "CONNECT [2001:db8::7]:", 22);
  proxy_world_close(&p);
}

/* What comes right behind the proxy's answer belongs to the server: with SOCKS
 * here a whole response, with CONNECT an alert of TLS. */
static void test_proxy_extra_bytes(void **state) {
  (void)state;
  proxy_world_init(&p, false, "socks5", NULL, 0);
  p.serve.extra = HELLO;
  assert_int_equal(proxy_world_open(&p, HOST), 0);
  assert_string_equal(proxy_world_try(&p, NULL), "");
  proxy_world_close(&p);
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    kin__exchange_error error;
    proxy_world_init(&p, true, is_tls ? "https" : "http", HELLO, 0);
    p.serve.certificate = is_tls ? &tls_pki_get()->server : NULL;
    p.serve.extra = "\x15\x03\x03\x01\x02\x02\x28";
    assert_int_equal(proxy_world_open(&p, HOST), 0);
    (void)proxy_world_try(&p, &error);
    assert_int_equal(error.error_class, KIN_CLASS_TLS);
    tls_assert_words(error.message, "connection to proxy 127.0.0.1:...: tls: ");
    proxy_world_close(&p);
  }
}

/* The reason of a failure is told the same inside of TLS with the proxy: the
 * alert that is sent through the outer TLS must not wipe it. */
static void test_proxy_reason_within_tls(void **state) {
  (void)state;
  char reasons[2][400];
  for (int is_tls = 0; is_tls < 2; is_tls++) {
    proxy_world_init(&p, true, is_tls ? "https" : "http", HELLO, 0);
    p.serve.certificate = is_tls ? &tls_pki_get()->server : NULL;
    p.serve.extra = "\x17\x03\x03\x01\x02garbage";
    assert_int_equal(proxy_world_open(&p, HOST), 0);
    const char *reason = strstr(proxy_world_try(&p, NULL), "tls: ");
    assert_non_null(reason);
    snprintf(reasons[is_tls], sizeof reasons[0], "%s", reason);
    proxy_world_close(&p);
  }
  assert_string_equal(reasons[0], reasons[1]);
}

/* --- TLS with the proxy --------------------------------------------------- */

/* Each of the two has to be trusted, and the text says which was not. */
static void test_proxy_tls_refused(void **state) {
  (void)state;
  kin__exchange_error error;
  tls_cert other = tls_cert_make(
      &(tls_cert_options){.name = "other", .alternatives = "IP:127.0.0.1"});
  for (int is_server = 0; is_server < 2; is_server++) {
    for (int is_forward = 0; is_forward + is_server < 2; is_forward++) {
      proxy_world_init(&p, !is_forward, "https", HELLO, 0);
      p.serve.certificate = is_server ? &tls_pki_get()->server : &other;
      p.t.serve.certificate = is_server ? &other : NULL;
      p.t.tls.server_name = "localhost";
      assert_int_equal(proxy_world_open(&p, HOST), 0);
      for (int i = 0; i < 2; i++) {
        (void)proxy_world_try(&p, &error);
        assert_int_equal(error.code, KIN_ETLS);
        assert_int_equal(error.error_class, KIN_CLASS_TLS);
        tls_assert_words(error.message,
                         is_server ? ": tls: ...not trusted"
                                   : ": tls with the proxy: ...not trusted");
      }
      assert_int_equal(requests(), 0);
      proxy_world_close(&p);
    }
  }
  tls_cert_finish(&other);
}

/* The server behind the proxy sends new keys without end. */
static void test_proxy_flood_of_keys(void **state) {
  (void)state;
  proxy_world_init(&p, true, "https", FIRST_BYTE, 0);
  p.serve.certificate = &tls_pki_get()->server;
  assert_int_equal(proxy_world_open(&p, "localhost"), 0);
  fetch f;
  (void)fetch_first_byte(&f, &p.t.w, true);
  for (int i = 0; i < 100; i++) {
    tls_server_update_keys(&p.t.server);
  }
  fetch_until_end(&f);
  assert_int_equal(f.error.code, KIN_ETLS);
  tls_assert_words(f.error.message, ": tls: server sends handshake messages");
  fetch_finish(&f);
  proxy_world_close(&p);
}

/* A file instead of what the system trusts; replaced, it counts for the next
 * connection. */
static void test_proxy_tls_authority_file(void **state) {
  (void)state;
  tls_cert other = tls_cert_make(
      &(tls_cert_options){.name = "other", .alternatives = "IP:127.0.0.1"});
  char *pem = tls_cert_pem(&other);
  char path[128];
  proxy_world_init(&p, true, "https", HELLO_CLOSE, 0);
  tls_world_path(&p.t, "proxy.crt", path, sizeof path);
  tls_write_file(path, tls_pki_get()->authority_pem);
  p.serve.certificate = &other;
  p.t.w.proxy_authority_file = path;
  assert_int_equal(proxy_world_open(&p, "localhost"), 0);
  for (int i = 0; i < 2; i++) {
    tls_assert_words(proxy_world_try(&p, NULL),
                     "tls with the proxy: ...not trusted");
    tls_write_file(path, pem);
    world_advance(&p.t.w, 1000);
    assert_string_equal(proxy_world_try(&p, NULL), "");
    tls_write_file(path, tls_pki_get()->authority_pem);
    world_advance(&p.t.w, 1000);
  }
  proxy_world_close(&p);
  tls_cert_finish(&other);
  free(pem);
}

/* AU-04: a kept connection sees another authority for the proxy, too, once the
 * files are due; one that carries a response then is not kept. */
static void test_proxy_tls_authority_of_kept(void **state) {
  (void)state;
  static const char *const bodies[] = {
      HELLO, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"};
  for (int is_watch = 0; is_watch < 2; is_watch++) {
    char path[128];
    proxy_world_init(&p, true, "https", bodies[is_watch], 0);
    tls_world_path(&p.t, "proxy.crt", path, sizeof path);
    tls_write_file(path, tls_pki_get()->authority_pem);
    p.serve.certificate = &tls_pki_get()->server;
    p.t.w.proxy_authority_file = path;
    p.t.certificate_check_ms = 10000;
    assert_int_equal(proxy_world_open(&p, "localhost"), 0);
    const kin__transport_stats *stats =
        kin__transport_get_stats(p.t.w.transport);
    fetch f = {.world = &p.t.w};
    assert_int_equal(fetch_start(&f, &p.t.w, "/x", is_watch), 0);
    WORLD_UNTIL(&p.t.w, f.bodies == 1);
    tls_write_file(path, tls_pki_get()->client_pem);
    world_advance(&p.t.w, 10000);
    tls_assert_words(proxy_world_try(&p, NULL),
                     "tls with the proxy: ...not trusted");
    if (is_watch) {
      assert_int_equal(f.ends, 0);
      tls_server_push(&p.t.server, "0\r\n\r\n");
      fetch_until_end(&f);
      assert_int_equal(f.error.code, 0);
    }
    assert_int_equal(stats->open_connections, 0);
    fetch_finish(&f);
    proxy_world_close(&p);
  }
}

/* The sessions of both are resumed; both are ended in good order. */
static void test_proxy_tls_sessions(void **state) {
  (void)state;
  proxy_world_init(&p, true, "https", HELLO_CLOSE, 0);
  p.serve.certificate = &tls_pki_get()->server;
  assert_int_equal(proxy_world_open(&p, "localhost"), 0);
  for (int i = 0; i < 3; i++) {
    assert_string_equal(proxy_world_try(&p, NULL), "");
  }
  assert_int_equal(p.t.server.resumed, 2);
  WORLD_UNTIL(&p.t.w, p.proxy.farewells == 3 && p.t.server.farewells == 3);
  assert_int_equal(p.t.server.handshakes, 3);
  proxy_world_close(&p);
}

/* A server that hangs up in the handshake may have refused the session. The
 * proxy then cuts its own TLS, whose session was good. */
static void test_proxy_tls_cut_in_handshake(void **state) {
  (void)state;
  proxy_world_init(&p, true, "https", HELLO_CLOSE, 0);
  p.serve.certificate = &tls_pki_get()->server;
  assert_int_equal(proxy_world_open(&p, "localhost"), 0);
  assert_string_equal(proxy_world_try(&p, NULL), "");
  const kin__transport *transport = p.t.w.transport;
  for (int is_reset = 0; is_reset < 2; is_reset++) {
    p.t.server.options.is_silent = true;
    fetch f = {.world = &p.t.w};
    assert_int_equal(fetch_start(&f, &p.t.w, "/x", false), 0);
    WORLD_UNTIL(&p.t.w, f.exchange->conn != NULL &&
                            f.exchange->conn->top->below->is_ready);
    proxy_server_drop(&p.proxy, is_reset ? PROXY_RESET : PROXY_CLOSE);
    fetch_until_end(&f);
    assert_int_equal(f.error.error_class, KIN_CLASS_CONNECT);
    fetch_finish(&f);
    p.t.server.options.is_silent = false;
    assert_false(kin__tls_context_is_usable(transport->tls));
    assert_true(kin__tls_context_is_usable(transport->proxy_tls));
    size_t resumed = p.t.server.resumed;
    assert_string_equal(proxy_world_try(&p, NULL), "");
    assert_int_equal(p.t.server.resumed, resumed);
  }
  proxy_world_close(&p);
}

/* A client certificate is for the server, not for the proxy. */
static void test_proxy_tls_client_certificate(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  proxy_world_init(&p, true, "https", HELLO, 0);
  p.serve.certificate = &pki->server;
  p.t.serve.client_authority = &pki->authority;
  p.t.tls.certificate_data = pki->client_pem;
  p.t.tls.key_data = pki->client_key_pem;
  assert_int_equal(proxy_world_open(&p, "localhost"), 0);
  assert_string_equal(proxy_world_try(&p, NULL), "");
  assert_string_equal(p.t.server.last_client, "client");
  assert_null(p.t.w.transport->proxy_tls->settings.data[KIN__TLS_CERTIFICATE]);
  proxy_world_close(&p);
}

/* --- Probes --------------------------------------------------------------- */

/* A silent proxy is noticed as a silent server is. */
static void test_proxy_probe(void **state) {
  (void)state;
  proxy_world_init(&p, true, "http",
                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "1\r\na\r\n",
                   0);
  p.t.probe_silence_ms = 30000;
  assert_int_equal(proxy_world_open(&p, "localhost"), 0);
  fetch watch = {.world = &p.t.w};
  assert_int_equal(fetch_start(&watch, &p.t.w, "/x", true), 0);
  WORLD_UNTIL(&p.t.w, watch.bodies == 1);
  p.serve.answer = "";
  p.serve.answer_length = 0;
  proxy_server_set_options(&p.proxy, &p.serve);
  world_advance(&p.t.w, 30000);
  size_t accepted = p.proxy.accepted;
  WORLD_UNTIL(&p.t.w, p.proxy.accepted > accepted);
  world_advance(&p.t.w, 10000);
  world_run_tasks(&p.t.w);
  assert_int_equal(watch.ends, 1);
  assert_int_equal(watch.error.code, KIN_ETIMEDOUT);
  fetch_finish(&watch);
  proxy_world_close(&p);
}

int main(void) {
  setenv("UV_THREADPOOL_SIZE", "4", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_proxy_ways),
      cmocka_unit_test(test_proxy_split),
      cmocka_unit_test(test_proxy_large),
      cmocka_unit_test(test_proxy_socks_addresses),
      cmocka_unit_test(test_proxy_extra_bytes),
      cmocka_unit_test(test_proxy_reason_within_tls),
      cmocka_unit_test(test_proxy_tls_refused),
      cmocka_unit_test(test_proxy_flood_of_keys),
      cmocka_unit_test(test_proxy_tls_authority_file),
      cmocka_unit_test(test_proxy_tls_authority_of_kept),
      cmocka_unit_test(test_proxy_tls_sessions),
      cmocka_unit_test(test_proxy_tls_cut_in_handshake),
      cmocka_unit_test(test_proxy_tls_client_certificate),
      cmocka_unit_test(test_proxy_probe),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
