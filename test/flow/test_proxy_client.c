/* SPDX-License-Identifier: MIT */
/* Proves TR-08 and TR-06 with clients on a real loop, through the public
 * interface only: an informer lists and watches through a proxy that it was
 * given or that the environment names, with a user name and a password for the
 * server; failures of the proxy come through on_error, and heal; a client
 * closes in every callback. No output ever holds a secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/kin.h>

#include "support/client_world.h"
#include "support/proxy_server.h"
#include "support/tls_server.h"

static const tls_reply list_and_watch[] = {{ANSWER_LISTED, 0, TLS_CLOSE},
                                           {ANSWER_WATCHED, 0, TLS_KEEP}};

typedef struct bench {
  client_world w;
  tls_server server;
  proxy_server proxy;
  proxy_server_options serve;
  char url[64];
  char proxy_url[100];
  char problem[256];
  client_output output;
} bench;

static void bench_init(bench *b) {
  memset(b, 0, sizeof *b);
  client_world_init(&b->w);
  client_world_guard(&b->w);
  b->w.memory.secrets[0] = "s3cret";
  b->w.memory.secrets[1] = "dTpzM2NyZXQ="; /* u:s3cret */
  b->w.retry_after_ms = 20;
  client_world_keep_output(&b->w, &b->output);
  tls_server_open(&b->server, &b->w.loop, &(tls_server_options){.slice = 0},
                  list_and_watch, 2);
  b->serve.target_port = b->server.port;
  b->serve.login = "Basic dTpzM2NyZXQ=";
  proxy_server_open(&b->proxy, &b->w.loop, &b->serve);
  snprintf(b->url, sizeof b->url, "https://api.invalid:%d", b->server.port);
  snprintf(b->proxy_url, sizeof b->proxy_url, "http://u:s3cret@127.0.0.1:%d",
           b->proxy.port);
  kin_client_options *options = &b->w.options;
  options->server = b->url;
  options->proxy_url = b->proxy_url;
  options->username = "u";
  options->password = "s3cret";
  options->tls_server_name = "localhost";
  options->certificate_authority_data = tls_pki_get()->authority_pem;
  options->problem = b->problem;
  options->problem_size = sizeof b->problem;
}

static void bench_finish(bench *b) {
  client_world_close(&b->w);
  tls_server_close(&b->server);
  proxy_server_close(&b->proxy);
  client_world_finish(&b->w);
  assert_int_equal(atomic_load(&b->w.memory.leaked_secrets), 0);
  assert_null(strstr(b->output.text, "s3cret"));
  assert_null(strstr(b->output.text, "dTpzM2NyZXQ"));
  assert_null(strstr(b->problem, "s3cret"));
}

static void test_proxy_client_list_and_watch(void **state) {
  (void)state;
  for (int is_environment = 0; is_environment < 2; is_environment++) {
    bench b;
    bench_init(&b);
    if (is_environment) {
      setenv("HTTPS_PROXY", b.proxy_url, 1);
      setenv("NO_PROXY", "localhost,.valid,10.0.0.0/8", 1);
      b.w.options.proxy_url = NULL;
    }
    b.w.options.impersonate_user = "ada";
    client_world_open(&b.w);
    unsetenv("HTTPS_PROXY"); /* it is not read again */
    unsetenv("NO_PROXY");
    CLIENT_UNTIL(&b.w, b.w.deletes == 1);
    assert_int_equal(b.w.adds, 2);
    assert_int_equal(b.w.errors, 0);
    assert_int_equal(b.proxy.tunnels, 2);
    assert_memory_equal(b.proxy.last_head, "CONNECT api.invalid:", 20);
    /* What is meant for the server is not told to the proxy. */
    assert_null(strstr(b.proxy.last_head, "\r\nAuthorization"));
    assert_null(strstr(b.proxy.last_head, "Impersonate"));
    assert_non_null(
        strstr(b.server.last_request, "\r\nImpersonate-User: ada\r\n"));
    assert_non_null(strstr(b.server.last_request,
                           "\r\nAuthorization: Basic dTpzM2NyZXQ=\r\n"));
    assert_null(strstr(b.server.last_request, "Proxy"));
    assert_non_null(
        strstr(b.output.text, "requests go through the http proxy 127.0.0.1:"));
    bench_finish(&b);
  }
}

/* NO_PROXY and "" go to the server itself, whose name nobody knows. */
static void test_proxy_client_without(void **state) {
  (void)state;
  for (int has_list = 0; has_list < 2; has_list++) {
    bench b;
    bench_init(&b);
    setenv("https_proxy", b.proxy_url, 1);
    setenv("no_proxy", has_list ? "invalid" : "", 1);
    b.w.options.proxy_url = has_list ? NULL : "";
    client_world_open(&b.w);
    unsetenv("https_proxy");
    unsetenv("no_proxy");
    CLIENT_UNTIL(&b.w, b.w.errors == 1);
    assert_int_equal(b.w.error_class, KIN_CLASS_DNS);
    assert_int_equal(b.proxy.accepted, 0);
    bench_finish(&b);
  }
}

/* Wrong password, then right; a second time after the tunnels broke. */
static void test_proxy_client_heals(void **state) {
  (void)state;
  bench b;
  bench_init(&b);
  for (int i = 0; i < 2; i++) {
    int errors = b.w.errors;
    b.serve.login = "Basic another";
    proxy_server_set_options(&b.proxy, &b.serve);
    if (i == 0) {
      client_world_open(&b.w);
    } else {
      proxy_server_drop(&b.proxy, PROXY_RESET);
    }
    CLIENT_UNTIL(&b.w,
                 b.w.errors >= errors + 2 && b.w.error_class == KIN_CLASS_AUTH);
    assert_int_equal(b.w.code, KIN_EPROXY);
    assert_non_null(strstr(b.w.message, "the proxy answers 407: it refuses "
                                        "the user name and password"));
    b.serve.login = "Basic dTpzM2NyZXQ=";
    proxy_server_set_options(&b.proxy, &b.serve);
    size_t requests = b.server.requests;
    CLIENT_UNTIL(&b.w, b.server.requests > requests);
    if (i == 0) {
      CLIENT_UNTIL(&b.w, b.w.deletes == 1);
    }
  }
  bench_finish(&b);
}

static bool close_in_callback(int close_at) {
  bench b;
  bench_init(&b);
  b.w.close_at = close_at;
  b.serve.login = "Basic another";
  proxy_server_set_options(&b.proxy, &b.serve);
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors == 2 || b.w.client == NULL);
  b.serve.login = NULL;
  proxy_server_set_options(&b.proxy, &b.serve);
  CLIENT_UNTIL(&b.w, b.w.deletes == 1 || b.w.client == NULL);
  bench_finish(&b);
  return b.w.was_reached;
}

static void test_proxy_client_closes_in_every_callback(void **state) {
  (void)state;
  /* Errors, adds, synced, delete. */
  assert_true(client_world_sweep_closes(close_in_callback) >= 5);
}

static bool open_without_memory(size_t n) {
  bench b;
  bench_init(&b);
  b.w.memory.fail_at = n;
  int err = client_world_open_client(&b.w);
  bool has_failed = fail_alloc_has_failed(&b.w.memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  bench_finish(&b);
  return has_failed;
}

static void test_proxy_client_out_of_memory(void **state) {
  (void)state;
  fail_alloc_sweep(open_without_memory, 0);
}

/* --- Options -------------------------------------------------------------- */

static void refuse(bench *b, int code, const char *words) {
  assert_int_equal(client_world_open_client(&b->w), code);
  assert_null(b->w.client);
  if (strstr(b->problem, words) == NULL) {
    print_error("\"%s\" lacks \"%s\"\n", b->problem, words);
    fail();
  }
}

static void test_proxy_client_options(void **state) {
  (void)state;
  bench b;
  bench_init(&b);
  b.w.options.proxy_url = "ftp://u:s3cret@h";
  refuse(&b, KIN_EURL, "proxy_url: is no http://");
  setenv("HTTPS_PROXY", "ftp://u:s3cret@h", 1);
  b.w.options.proxy_url = NULL;
  refuse(&b, KIN_EURL, "HTTPS_PROXY: is no http://");
  unsetenv("HTTPS_PROXY");
  b.w.options.proxy_certificate_authority_file = "";
  refuse(&b, KIN_EINVAL, "proxy_certificate_authority_file: is empty");
  bench_finish(&b);
}

/* TR-06, KC-07. */
static void test_basic_options(void **state) {
  (void)state;
  static char long_text[(16u << 10) + 2];
  bench b;
  bench_init(&b);
  b.w.options.proxy_url = "";
  b.w.options.token = "t";
  refuse(&b, KIN_EINVAL, "username: not together with a token");
  b.w.options.token = NULL;
  b.w.options.token_file = "/x";
  refuse(&b, KIN_EINVAL, "username: not together with a token");
  b.w.options.token_file = NULL;
  static const char *const names[] = {NULL, "", "a:b", "a\nb", "a\x7f"};
  for (size_t i = 0; i < 5; i++) {
    b.w.options.username = names[i];
    refuse(&b, KIN_EINVAL, "username or password: ");
  }
  b.w.options.username = "u";
  b.w.options.password = "s3cret\r\nX: y";
  refuse(&b, KIN_EINVAL, "username or password: ");
  memset(long_text, 'x', sizeof long_text - 1);
  b.w.options.password = long_text;
  refuse(&b, KIN_EINVAL, "username or password: ");
  b.w.options.password = long_text + 1; /* 16 KiB */
  assert_int_equal(client_world_open_client(&b.w), 0);
  assert_int_equal(client_world_close(&b.w), 0);
  CLIENT_UNTIL(&b.w, b.w.client == NULL);
  b.w.options = (kin_client_options)KIN_CLIENT_OPTIONS_INIT;
  b.w.options.problem = b.problem;
  b.w.options.problem_size = sizeof b.problem;
  b.w.options.server = "http://h";
  b.w.options.username = "u";
  refuse(&b, KIN_EINVAL, "credentials and TLS options need an https:// server");
  b.w.options.server = "unix:///run/x";
  refuse(&b, KIN_EINVAL, "credentials and TLS options need an https:// server");
  bench_finish(&b);
}

int main(void) {
  unsetenv("HTTPS_PROXY"); /* of the machine */
  unsetenv("NO_PROXY");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_proxy_client_list_and_watch),
      cmocka_unit_test(test_proxy_client_without),
      cmocka_unit_test(test_proxy_client_heals),
      cmocka_unit_test(test_proxy_client_closes_in_every_callback),
      cmocka_unit_test(test_proxy_client_out_of_memory),
      cmocka_unit_test(test_proxy_client_options),
      cmocka_unit_test(test_basic_options),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
