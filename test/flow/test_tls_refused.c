/* SPDX-License-Identifier: MIT */
/* Proves TR-01 (what must not be trusted is not) and TR-02 (an empty authority
 * trusts nobody), and that each failure of TLS comes with its class and with
 * words that say which check has failed, and is mended by mending its cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "support/tls_world.h"

#define OK "HTTP/1.1 200 OK\r\n"

static const tls_reply hello = {.bytes = HELLO};

static void assert_failed(const fetch *f, int code, kin_error_class error_class,
                          const char *words) {
  assert_int_equal(f->ends, 1);
  tls_assert_words(f->error.message, words);
  assert_int_equal(f->error.code, code);
  assert_int_equal(f->error.error_class, error_class);
}

/* One exchange in a prepared world. */
static void check(tls_world *t, const char *host, const char *words) {
  assert_int_equal(tls_world_open(t, host), 0);
  for (int i = 0; i < 2; i++) { /* again, as a client does */
    fetch f = {.world = &t->w};
    fetch_run(&f, &t->w, "/x");
    assert_failed(&f, KIN_ETLS, KIN_CLASS_TLS, words);
    fetch_finish(&f);
    world_advance(&t->w, 1000);
  }
  assert_int_equal(t->server.requests, 0);
  tls_world_close(t);
}

static void check_certificate(const tls_cert_options *options, const char *host,
                              const char *words) {
  tls_cert cert = tls_cert_make(options);
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.serve.certificate = &cert;
  check(&t, host, words);
  tls_cert_finish(&cert);
}

static void test_tls_refused_authority(void **state) {
  (void)state;
  check_certificate(
      &(tls_cert_options){.name = "loner", .alternatives = "IP:127.0.0.1"},
      "127.0.0.1", "tls: certificate is not trusted: ... (issuer CN=loner)");

  tls_cert other = tls_cert_make(
      &(tls_cert_options){.name = "other authority", .is_authority = true});
  check_certificate(&(tls_cert_options){.name = "x",
                                        .alternatives = "IP:127.0.0.1",
                                        .issuer = &other},
                    "127.0.0.1",
                    "tls: certificate is not trusted: ... (issuer CN=other "
                    "authority)");
  tls_cert_finish(&other);
}

/* Same name, another key: the signature must count. */
static void test_tls_refused_impostor(void **state) {
  (void)state;
  tls_cert impostor = tls_cert_make(
      &(tls_cert_options){.name = "test authority", .is_authority = true});
  check_certificate(&(tls_cert_options){.name = "x",
                                        .alternatives = "IP:127.0.0.1",
                                        .issuer = &impostor},
                    "127.0.0.1", "tls: certificate is ");
  tls_cert_finish(&impostor);
}

static void test_tls_refused_name(void **state) {
  (void)state;
  const tls_cert *authority = &tls_pki_get()->authority;
  check_certificate(&(tls_cert_options){.name = "x",
                                        .alternatives = "DNS:other.example",
                                        .issuer = authority},
                    "127.0.0.1",
                    "tls: certificate is for other.example, not 127.0.0.1");
  check_certificate(
      &(tls_cert_options){.name = "x",
                          .alternatives = "DNS:other.example,IP:127.0.0.1,"
                                          "IP:fd00::1",
                          .issuer = authority},
      "localhost",
      "tls: certificate is for other.example, 127.0.0.1, fd00::1, not "
      "localhost");
  check_certificate(
      &(tls_cert_options){
          .name = "x", .alternatives = "IP:127.0.0.2", .issuer = authority},
      "127.0.0.1", "tls: certificate is for 127.0.0.2, not 127.0.0.1");
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.tls.server_name = "::ffff:127.0.0.2";
  check(&t, "127.0.0.1",
        "tls: certificate is for localhost, 127.0.0.1, not ::ffff:127.0.0.2");
  /* The common name does not count. */
  check_certificate(
      &(tls_cert_options){.name = "localhost", .issuer = authority},
      "localhost", "tls: certificate names no host, and is not for localhost");
  /* Neither do an address as a name, and partial wildcards. */
  check_certificate(&(tls_cert_options){.name = "x",
                                        .alternatives = "DNS:127.0.0.1",
                                        .issuer = authority},
                    "127.0.0.1", "tls: certificate is for 127.0.0.1, not");
  tls_cert cert = tls_cert_make(&(tls_cert_options){
      .name = "x", .alternatives = "DNS:ap*.example.org", .issuer = authority});
  tls_world_init(&t, &hello, 1, 0);
  t.serve.certificate = &cert;
  t.tls.server_name = "api.example.org";
  check(&t, "127.0.0.1",
        "tls: certificate is for ap*.example.org, not api.example.org");
  tls_cert_finish(&cert);
  check_certificate(&(tls_cert_options){.name = "x",
                                        .alternatives = "email:a@b.example",
                                        .issuer = authority},
                    "localhost",
                    "tls: certificate is for 1 names that cannot be shown");
}

/* More names than fit, and bytes that are none. */
static void test_tls_refused_name_bounded(void **state) {
  (void)state;
  char names[4096] = "DNS:a\x07\x1b[31mb";
  for (int i = 0; i < 60; i++) {
    snprintf(names + strlen(names), sizeof names - strlen(names),
             ",DNS:name-%d.cluster.example", i);
  }
  check_certificate(&(tls_cert_options){.name = "x",
                                        .alternatives = names,
                                        .issuer = &tls_pki_get()->authority},
                    "localhost",
                    "tls: certificate is for a??[31mb, name-0.cluster.example, "
                    "name-1.cluster.example, name-2.cluster.example, "
                    "name-3.cluster.example and 56 more, not localhost");
}

static void test_tls_refused_time(void **state) {
  (void)state;
  const tls_cert *authority = &tls_pki_get()->authority;
  tls_cert_options options = {.name = "x",
                              .alternatives = "IP:127.0.0.1",
                              .issuer = authority,
                              .from_s = -100,
                              .until_s = -1};
  check_certificate(&options, "127.0.0.1", "tls: certificate expired 2");
  options.from_s = 1000;
  options.until_s = 2000;
  check_certificate(&options, "127.0.0.1",
                    "tls: certificate is not valid before 2");

  tls_cert old = tls_cert_make(&(tls_cert_options){.name = "old authority",
                                                   .is_authority = true,
                                                   .from_s = -100,
                                                   .until_s = -1});
  tls_cert cert = tls_cert_make(&(tls_cert_options){
      .name = "x", .alternatives = "IP:127.0.0.1", .issuer = &old});
  char *pem = tls_cert_pem(&old);
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.serve.certificate = &cert;
  t.tls.authority_data = pem;
  check(&t, "127.0.0.1",
        "tls: certificate of its issuer CN=old authority expired 2");
  free(pem);
  tls_cert_finish(&cert);
  tls_cert_finish(&old);
}

/* The form is RFC 3339's, and the time is the certificate's. */
static void test_tls_refused_time_format(void **state) {
  (void)state;
  time_t until = time(NULL) - 86400;
  char expected[64];
  struct tm tm;
  assert_non_null(gmtime_r(&until, &tm));
  strftime(expected, sizeof expected, "certificate expired %Y-%m-%dT%H:", &tm);
  check_certificate(&(tls_cert_options){.name = "x",
                                        .issuer = &tls_pki_get()->authority,
                                        .alternatives = "IP:127.0.0.1",
                                        .from_s = -2 * 86400,
                                        .until_s = -86400},
                    "127.0.0.1", expected);
}

static void test_tls_refused_version(void **state) {
  (void)state;
  for (int version = TLS1_VERSION; version <= TLS1_1_VERSION; version++) {
    tls_world t;
    tls_world_init(&t, &hello, 1, 0);
    t.serve.min_version = TLS1_VERSION;
    t.serve.max_version = version;
    check(&t, "127.0.0.1",
          "tls: server speaks neither TLS 1.2 nor TLS 1.3 (alert: ...)");
  }
}

static void test_tls_refused_protocol(void **state) {
  (void)state;
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.serve.protocol = "";
  check(&t, "127.0.0.1", "tls: server does not speak http/1.1 (alert: ...)");
  /* One that we did not offer: OpenSSL sees to it, or we do. */
  tls_world_init(&t, &hello, 1, 0);
  t.serve.protocol = "h2";
  check(&t, "127.0.0.1", "tls: ");
}

static void test_tls_refused_by_server(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  tls_cert other = tls_cert_make(&(tls_cert_options){.name = "stranger"});
  char *pem = tls_cert_pem(&other);
  char *key = tls_cert_key_pem(&other);
  for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
    tls_world t;
    tls_world_init(&t, &hello, 1, 0);
    t.serve.client_authority = &pki->authority;
    t.serve.max_version = version;
    check(&t, "127.0.0.1",
          version == TLS1_2_VERSION
              ? "tls: server refuses the handshake (alert: ...)"
              : "tls: server asks for a client certificate (alert: ...)");

    tls_world_init(&t, &hello, 1, 0);
    t.serve.client_authority = &pki->authority;
    t.serve.max_version = version;
    t.tls.certificate_data = pem;
    t.tls.key_data = key;
    check(&t, "127.0.0.1",
          "tls: server refuses the client certificate (alert: ...)");
  }
  free(pem);
  free(key);
  tls_cert_finish(&other);
}

/* Bytes instead of a handshake. */
static void check_bytes(loop_reply reply, int code, const char *words) {
  tls_world t;
  tls_world_init(&t, NULL, 0, 0);
  loop_server_answer(&t.w.server, &reply, 1);
  char url[64];
  snprintf(url, sizeof url, "https://127.0.0.1:%d", t.w.server.port);
  assert_int_equal(tls_world_open_at(&t, url), 0);
  fetch f = {.world = &t.w};
  fetch_run(&f, &t.w, "/x");
  assert_failed(&f, code, KIN_CLASS_TLS, words);
  fetch_finish(&f);
  tls_world_close(&t);
}

static void test_tls_refused_no_tls(void **state) {
  (void)state;
  static const char http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
  for (size_t slice = 0; slice < 3; slice++) {
    check_bytes((loop_reply){.bytes = http, .slice = slice, .is_rude = true},
                KIN_ETLSSETUP,
                "tls: server does not speak TLS (plain HTTP on this port?)");
  }
  check_bytes((loop_reply){.bytes = "SSH-2.0-OpenSSH_9\r\n", .is_rude = true},
              KIN_ETLSSETUP, "tls: server does not speak TLS");
  check_bytes((loop_reply){.bytes = "\x16\x03\x03\xff\xff garbage garbage",
                           .is_rude = true},
              KIN_ETLS, "tls: ");
  check_bytes((loop_reply){.bytes = "\x15\x03\x01\x00\x02\x02\x46",
                           .length = 7,
                           .is_rude = true},
              KIN_ETLS,
              "tls: server speaks neither TLS 1.2 nor TLS 1.3 (alert: ...)");
  /* What a server of its time says that has TLS 1.1 at most. */
  static const char *const versions[] = {"SSL 3.0", "TLS 1.0", "TLS 1.1"};
  for (int i = 0; i < 3; i++) {
    char old[48] = "\x16\x03\x02\x00\x2a\x02\x00\x00\x26\x03\x02";
    char words[64];
    old[2] = old[10] = (char)i;
    old[45] = 0x2f; /* the cipher suite */
    snprintf(words, sizeof words, "tls: server speaks %s only", versions[i]);
    check_bytes((loop_reply){.bytes = old, .length = 47, .is_rude = true},
                KIN_ETLS, words);
  }
}

static void test_tls_refused_hang_up(void **state) {
  (void)state;
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.serve.closes_at_hello = true;
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  fetch f = {.world = &t.w};
  fetch_run(&f, &t.w, "/x");
  assert_failed(&f, KIN_EEOF, KIN_CLASS_CONNECT,
                "tls: server closed the connection during the handshake");
  fetch_finish(&f);
  tls_world_close(&t);
}

/* Never a word: the connect timeout counts. */
static void test_tls_refused_silence(void **state) {
  (void)state;
  tls_world t;
  tls_world_init(&t, &hello, 1, 0);
  t.serve.is_silent = true;
  assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
  fetch f = {.world = &t.w};
  assert_int_equal(fetch_start(&f, &t.w, "/x", false), 0);
  WORLD_UNTIL(&t.w, t.server.accepted == 1);
  world_run_tasks(&t.w);
  world_advance(&t.w, WORLD_CONNECT_MS - 1);
  assert_int_equal(f.ends, 0);
  world_advance(&t.w, 1);
  assert_failed(&f, KIN_ETIMEDOUT, KIN_CLASS_CONNECT,
                "no TLS handshake within 10000 ms");
  fetch_finish(&f);
  tls_world_close(&t);
}

/* --- Resumed sessions ----------------------------------------------------- */

static time_t ahead_s; /* how far the clock of OpenSSL and the library is */

/* Stands before the function of libc, also for calls from shared libraries. */
__attribute__((visibility("default"))) time_t time(time_t *out) {
  struct timespec now;
  assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
  now.tv_sec += ahead_s;
  if (out != NULL) {
    *out = now.tv_sec;
  }
  return now.tv_sec;
}

/* Not on systems where each library has functions of its own. */
static bool rules_time(void) {
  ahead_s = 1000;
  ASN1_TIME *later = X509_gmtime_adj(NULL, 0);
  ahead_s = 0;
  assert_non_null(later);
  bool is_later = X509_cmp_current_time(later) > 0;
  ASN1_TIME_free(later);
  return is_later;
}

static const tls_reply closing = {.bytes = HELLO_CLOSE, .then = TLS_CLOSE};

/* A session ends with the server's certificate; twice. Not where the user wants
 * no checks. */
static void test_tls_refused_time_of_session(void **state) {
  (void)state;
  if (!rules_time()) {
    skip();
  }
  for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
    for (int is_insecure = 0; is_insecure < 2; is_insecure++) {
      tls_cert certificate =
          tls_cert_make(&(tls_cert_options){.name = "x",
                                            .alternatives = "IP:127.0.0.1",
                                            .issuer = &tls_pki_get()->authority,
                                            .from_s = -3600,
                                            .until_s = 1000});
      tls_world t;
      tls_world_init(&t, &closing, 1, 0);
      t.serve.certificate = &certificate;
      t.serve.max_version = version;
      if (is_insecure) {
        t.tls = (kin__tls_options){.is_insecure = true};
      }
      assert_int_equal(tls_world_open(&t, "127.0.0.1"), 0);
      assert_string_equal(tls_world_try(&t), "");
      for (size_t i = 1; i <= 6; i++) {
        const char *message;
        ahead_s += 240;
        message = tls_world_try(&t);
        if (is_insecure || i <= 4) {
          assert_string_equal(message, "");
          assert_int_equal(t.server.resumed, i);
        } else {
          tls_assert_words(message, "tls: certificate expired ");
          assert_int_equal(t.server.resumed, 4);
        }
      }
      ahead_s = 0;
      tls_world_close(&t);
      tls_cert_finish(&certificate);
    }
  }
}

/* A day after the last full handshake comes the next one; twice. */
static void test_tls_refused_old_session(void **state) {
  (void)state;
  tls_world t;
  tls_world_setup(&t, &closing, 1);
  assert_string_equal(tls_world_try(&t), "");
  for (size_t day = 1; day <= 2; day++) {
    for (int hour = 1; hour < 24; hour++) {
      world_advance(&t.w, 3600000);
      assert_string_equal(tls_world_try(&t), "");
    }
    assert_int_equal(t.server.resumed, day * 23);
    world_advance(&t.w, 3600000);
    assert_string_equal(tls_world_try(&t), "");
    assert_int_equal(t.server.resumed, day * 23);
  }
  tls_world_close(&t);
}

/* A session that comes late on an open connection is as old as the connection's
 * handshake. */
static void test_tls_refused_late_session(void **state) {
  (void)state;
  static const tls_reply replies[] = {
      {.bytes = FIRST_BYTE}, {.bytes = HELLO_CLOSE, .then = TLS_CLOSE}};
  tls_world t;
  tls_world_setup(&t, replies, 2);
  fetch watch = {.world = &t.w};
  assert_int_equal(fetch_start(&watch, &t.w, "/x", true), 0);
  WORLD_UNTIL(&t.w, watch.bodies == 1);
  for (size_t day = 0; day < 2; day++) {
    world_advance(&t.w, 23 * 3600000);
    const uint64_t *received =
        &kin__transport_get_stats(t.w.transport)->received_bytes;
    uint64_t before = *received;
    tls_server_send_sessions(&t.server);
    WORLD_UNTIL(&t.w, *received > before);
    size_t resumed = t.server.resumed;
    assert_string_equal(tls_world_try(&t), "");
    assert_int_equal(t.server.resumed, resumed + (day == 0));
    world_advance(&t.w, 3600000);
    resumed = t.server.resumed;
    assert_string_equal(tls_world_try(&t), "");
    assert_int_equal(t.server.resumed, resumed + (day == 1));
  }
  kin__exchange_cancel(watch.exchange);
  watch.exchange = NULL;
  fetch_finish(&watch);
  tls_world_close(&t);
}

/* --- http:// to a server that speaks TLS ---------------------------------- */

static void check_plain(const loop_reply *reply, const char *words) {
  world w;
  world_setup(&w, reply, 1);
  fetch f = {.world = &w};
  fetch_run(&f, &w, "/x");
  assert_failed(&f, KIN_ETLSSETUP, KIN_CLASS_TLS, words);
  fetch_finish(&f);
  world_close(&w);
}

static void test_tls_refused_plain(void **state) {
  (void)state;
  static const char go[] = "HTTP/1.0 400 Bad Request\r\n\r\n"
                           "Client sent an HTTP request to an HTTPS server.\n";
  for (size_t slice = 0; slice < sizeof go; slice++) {
    loop_reply reply = {.bytes = go, .slice = slice, .then = LOOP_CLOSE};
    check_plain(&reply, "speaks TLS, not plain HTTP: the server's URL must "
                        "begin with https://");
  }
  for (size_t slice = 0; slice < 3; slice++) {
    loop_reply alert = {.bytes = "\x15\x03\x01\x00\x02\x02\x16",
                        .length = 7,
                        .slice = slice,
                        .then = LOOP_CLOSE};
    check_plain(&alert, "speaks TLS, not plain HTTP");
  }
}

/* An ordinary 400 stays one. */
static void test_tls_refused_other_400(void **state) {
  (void)state;
  static const char *const bodies[] = {
      "Client sent an HTTP request to an HTTP server.\n", "Client", "bad", ""};
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "HTTP/1.1 400 Bad Request\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(bodies[i]), bodies[i]);
    for (size_t slice = 0; slice < 8; slice++) {
      loop_reply reply = {.bytes = text, .slice = slice};
      world w;
      world_setup(&w, &reply, 1);
      fetch f = {.world = &w};
      fetch_run(&f, &w, "/x");
      assert_int_equal(f.error.code, 0);
      assert_int_equal(f.status, 400);
      assert_string_equal(f.body_length > 0 ? f.body : "", bodies[i]);
      fetch_finish(&f);
      world_close(&w);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tls_refused_authority),
      cmocka_unit_test(test_tls_refused_impostor),
      cmocka_unit_test(test_tls_refused_name),
      cmocka_unit_test(test_tls_refused_name_bounded),
      cmocka_unit_test(test_tls_refused_time),
      cmocka_unit_test(test_tls_refused_time_format),
      cmocka_unit_test(test_tls_refused_version),
      cmocka_unit_test(test_tls_refused_protocol),
      cmocka_unit_test(test_tls_refused_by_server),
      cmocka_unit_test(test_tls_refused_no_tls),
      cmocka_unit_test(test_tls_refused_hang_up),
      cmocka_unit_test(test_tls_refused_silence),
      cmocka_unit_test(test_tls_refused_time_of_session),
      cmocka_unit_test(test_tls_refused_old_session),
      cmocka_unit_test(test_tls_refused_late_session),
      cmocka_unit_test(test_tls_refused_plain),
      cmocka_unit_test(test_tls_refused_other_400),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
