/* SPDX-License-Identifier: MIT */
/* Proves TR-08 as far as the choice of a proxy goes: an explicit URL beats the
 * environment, "" means none, and the environment is read as Go reads it; the
 * table of environments carries the meaning of those in
 * http/httpproxy/proxy_test.go of golang.org/x/net. On purpose,
 * malformed URLs are refused: Go would use no proxy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "support/fail_alloc.h"
#include "transport/proxy.h"

#define SECRET "s3cret"

static fail_alloc memory;
static char problem[KIN__PROBLEM_SIZE];
static char lines[2000];

static void on_log(kin_log_level level, const char *line, void *data) {
  (void)level;
  (void)data;
  size_t used = strlen(lines);
  snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static const kin__log log_of_test = {
    .cb = on_log, .level = KIN_LOG_DEBUG, .problem = problem};

/* Describes the proxy: "http h:80", or "-". */
static const char *describe(const kin__proxy *proxy) {
  static char text[300];
  snprintf(text, sizeof text, "-");
  if (proxy != NULL) {
    snprintf(text, sizeof text, "%s %s:%d",
             proxy->is_socks     ? "socks5"
             : proxy->url.is_tls ? "https"
                                 : "http",
             proxy->url.host, proxy->url.port);
  }
  return text;
}

static int open_proxy(kin__proxy **out, const char *url, const char *server) {
  kin__url parsed;
  assert_int_equal(kin__url_parse(&parsed, kin__default_allocator(), server),
                   0);
  problem[0] = lines[0] = '\0';
  int err =
      kin__proxy_open(out, &(kin__proxy_options){.allocator = &memory.allocator,
                                                 .log = &log_of_test,
                                                 .url = url,
                                                 .server = &parsed,
                                                 .user_agent = "ua"});
  kin__url_finish(&parsed, kin__default_allocator());
  assert_null(strstr(problem, SECRET));
  assert_null(strstr(lines, SECRET));
  return err;
}

static void check_proxy(const char *url, const char *server,
                        const char *expected) {
  kin__proxy *proxy;
  fail_alloc_init(&memory, 0);
  int err = open_proxy(&proxy, url, server);
  if (strcmp(describe(proxy), expected) != 0 || err != 0) {
    print_error("%s for %s: %s, not %s\n", url != NULL ? url : "environment",
                server, describe(proxy), expected);
    fail();
  }
  kin__proxy_free(proxy, &memory.allocator);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
}

static void test_proxy_urls(void **state) {
  (void)state;
  static const char *const urls[][2] = {
      {"http://h", "http h:80"},
      {"https://h", "https h:443"},
      {"socks5://h", "socks5 h:1080"},
      {"socks5h://h", "socks5 h:1080"},
      {"socks5://h:80", "socks5 h:80"},
      {"SOCKS5://[::1]", "socks5 ::1:1080"},
      {"hTTp://10.0.0.1:3128/", "http 10.0.0.1:3128"},
      {"https://[2001:db8::1]:8443", "https 2001:db8::1:8443"},
      {"http://u@h", "http h:80"},
      {"http://u:" SECRET "@h:1/", "http h:1"},
      {"http://u:a@b:c@h:1", "http h:1"},
      {"http://%75:%25%40%3a%2F@h", "http h:80"},
      {"http://@h", "http h:80"},
      {"http://:@h", "http h:80"},
  };
  for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
    check_proxy(urls[i][0], "https://localhost", urls[i][1]);
  }
  check_proxy("", "https://a.b", "-");
}

static void test_proxy_bad_urls(void **state) {
  (void)state;
  static const char *const urls[] = {
      "h",
      "h:80",
      "//h",
      "http:/h",
      "http://",
      "http://:80",
      "ftp://h",
      "socks4://h",
      "socks://h",
      "://h",
      "http+unix://h",
      "unix:///h",
      " http://h",
      "http://h ",
      "http://h:0",
      "http://h:65536",
      "http://h:x",
      "http://h/" SECRET,
      "http://h?" SECRET,
      "http://h#" SECRET,
      "http://u:" SECRET "@",
      "http://u:" SECRET "@h b",
      "http://u:" SECRET "%@h",
      "http://u:" SECRET "%4@h",
      "http://u:" SECRET "%4g@h",
      "http://u:" SECRET "%00@h",
      "http://u%00:" SECRET "@h",
      "http://u:" SECRET "/@h",
      "socks5://@h",
      "socks5://:" SECRET "@h",
      "http://h\r\nX: " SECRET,
  };
  for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
    kin__proxy *proxy;
    fail_alloc_init(&memory, 0);
    if (open_proxy(&proxy, urls[i], "https://a.b") != KIN_EURL) {
      print_error("%s is taken\n", urls[i]);
      fail();
    }
    assert_null(proxy);
    assert_memory_equal(problem, "proxy_url: ", 11);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
  }
}

/* On both sides of each bound. */
static void test_proxy_url_bounds(void **state) {
  (void)state;
  static char text[6000];
  for (size_t more = 0; more < 2; more++) {
    kin__proxy *proxy;
    fail_alloc_init(&memory, 0);
    memset(text, 'u', sizeof text);
    memcpy(text, "http://", 7);
    strcpy(text + KIN__PROXY_MAX_URL - 2 + more, "@h");
    assert_int_equal(open_proxy(&proxy, text, "https://a.b"),
                     more ? KIN_EURL : 0);
    kin__proxy_free(proxy, &memory.allocator);
    for (int is_password = 0; is_password < 2; is_password++) {
      snprintf(
          text, sizeof text, "socks5://%s%.*s@h", is_password ? "u:" : "",
          (int)(255 + more),
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
      assert_int_equal(open_proxy(&proxy, text, "https://a.b"),
                       more ? KIN_EURL : 0);
      kin__proxy_free(proxy, &memory.allocator);
    }
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
  }
}

typedef struct environment_case {
  const char *variables; /* "NAME=value NAME=value" */
  const char *server;
  const char *expected;
} environment_case;

static const environment_case environments[] = {
    {"", "https://example.com", "-"},
    {"HTTP_PROXY=127.0.0.1:8080", "http://example.com", "http 127.0.0.1:8080"},
    {"HTTP_PROXY=cache.corp.example.com:1234", "http://example.com",
     "http cache.corp.example.com:1234"},
    {"HTTP_PROXY=cache.corp.example.com", "http://example.com",
     "http cache.corp.example.com:80"},
    {"HTTP_PROXY=localhost", "http://example.com", "http localhost:80"},
    {"HTTP_PROXY=https://cache.corp.example.com", "http://example.com",
     "https cache.corp.example.com:443"},
    {"HTTP_PROXY=http://127.0.0.1:8080", "http://example.com",
     "http 127.0.0.1:8080"},
    {"HTTP_PROXY=https://127.0.0.1:8080", "http://example.com",
     "https 127.0.0.1:8080"},
    {"HTTP_PROXY=socks5://127.0.0.1", "http://example.com",
     "socks5 127.0.0.1:1080"},
    {"HTTP_PROXY=http.proxy.tld HTTPS_PROXY=secure.proxy.tld",
     "http://insecure.tld/", "http http.proxy.tld:80"},
    {"HTTP_PROXY=http.proxy.tld HTTPS_PROXY=secure.proxy.tld",
     "https://secure.tld/", "http secure.proxy.tld:80"},
    {"HTTP_PROXY=http.proxy.tld HTTPS_PROXY=https://secure.proxy.tld",
     "https://secure.tld/", "https secure.proxy.tld:443"},
    {"HTTP_PROXY=http.proxy.tld", "https://secure.tld/", "-"},
    {"HTTP_PROXY=http://10.1.2.3:8080 REQUEST_METHOD=GET", "http://example.com",
     "-"},
    {"http_proxy=http://10.1.2.3:8080 REQUEST_METHOD=GET", "http://example.com",
     "-"},
    {"HTTP_PROXY=http://10.1.2.3:8080 REQUEST_METHOD=", "http://example.com",
     "http 10.1.2.3:8080"},
    {"HTTPS_PROXY=https://secure.proxy.tld REQUEST_METHOD=PUT",
     "https://secure.tld/", "https secure.proxy.tld:443"},
    {"http_proxy=httpproxy https_proxy=httpsproxy no_proxy=noproxy",
     "http://example.com", "http httpproxy:80"},
    {"http_proxy=httpproxy https_proxy=httpsproxy no_proxy=noproxy",
     "https://example.com", "http httpsproxy:80"},
    {"http_proxy=httpproxy https_proxy=httpsproxy no_proxy=noproxy",
     "https://noproxy", "-"},
    {"HTTPS_PROXY=upper https_proxy=lower", "https://a.b", "http upper:80"},
    {"HTTPS_PROXY= https_proxy=lower", "https://a.b", "http lower:80"},
    {"HTTPS_PROXY=p NO_PROXY=a.b no_proxy=c.d", "https://c.d", "http p:80"},
    {"HTTPS_PROXY=p NO_PROXY= no_proxy=c.d", "https://c.d", "-"},
    {"HTTPS_PROXY=p NO_PROXY=a.b:443", "https://a.b", "-"},
    {"HTTPS_PROXY=p NO_PROXY=a.b:443", "https://a.b:6443", "http p:80"},
    {"HTTPS_PROXY=p", "https://localhost:6443", "-"},
    {"HTTPS_PROXY=p", "https://127.0.0.1:6443", "-"},
    {"HTTPS_PROXY=p", "https://[::1]:6443", "-"},
    {"HTTPS_PROXY=p NO_PROXY=10.96.0.0/12", "https://10.96.0.1", "-"},
    {"HTTPS_PROXY=u:" SECRET "@p:1", "https://a.b", "http p:1"},
    {"HTTP_PROXY=p ALL_PROXY=p", "unix:///run/x", "-"},
    {"ALL_PROXY=p", "https://a.b", "-"},
};

static const char *const names[] = {
    "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy",
    "NO_PROXY",   "no_proxy",   "ALL_PROXY",   "REQUEST_METHOD",
};

static void clear_environment(void) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    unsetenv(names[i]);
  }
}

static void set_environment(const char *variables) {
  char copy[300];
  clear_environment();
  snprintf(copy, sizeof copy, "%s", variables);
  char *rest = copy;
  for (char *one; (one = strtok_r(rest, " ", &rest)) != NULL;) {
    char *value = strchr(one, '=');
    *value = '\0';
    setenv(one, value + 1, 1);
  }
}

static void test_proxy_environment(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof environments / sizeof environments[0]; i++) {
    const environment_case *c = &environments[i];
    set_environment(c->variables);
    check_proxy(NULL, c->server, c->expected);
    check_proxy("", c->server, "-");
  }
  /* A URL beats the environment and its list. */
  set_environment("HTTPS_PROXY=p NO_PROXY=*");
  check_proxy("socks5://q", "https://localhost", "socks5 q:1080");
  /* What is told of it. */
  set_environment("HTTP_PROXY=p REQUEST_METHOD=GET");
  check_proxy(NULL, "http://a.b", "-");
  assert_non_null(strstr(lines, "HTTP_PROXY is not used"));
  set_environment("https_proxy=u:" SECRET "@p");
  check_proxy(NULL, "https://a.b", "http p:80");
  assert_string_equal(lines, "requests go through the http proxy p:80, as "
                             "https_proxy says\n");
  clear_environment();
}

static void test_proxy_bad_environment(void **state) {
  (void)state;
  static const char *const bad[][2] = {
      {"HTTPS_PROXY=foo://u:" SECRET "@host", "HTTPS_PROXY: is no http"},
      {"https_proxy=u:" SECRET "@", "https_proxy: is no http"},
      {"https_proxy=a/b/c", "https_proxy: is no http"},
  };
  for (size_t i = 0; i < 3; i++) {
    kin__proxy *proxy;
    fail_alloc_init(&memory, 0);
    set_environment(bad[i][0]);
    assert_int_equal(open_proxy(&proxy, NULL, "https://a.b"), KIN_EURL);
    assert_memory_equal(problem, bad[i][1], strlen(bad[i][1]));
    /* A server without a proxy does not care. */
    assert_int_equal(open_proxy(&proxy, NULL, "https://localhost"), 0);
    assert_int_equal(open_proxy(&proxy, NULL, "http://a.b"), 0);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
  }
  clear_environment();
}

static void test_proxy_of_unix_socket(void **state) {
  (void)state;
  kin__proxy *proxy;
  fail_alloc_init(&memory, 0);
  assert_int_equal(open_proxy(&proxy, "http://h", "unix:///run/x"), KIN_EINVAL);
  assert_string_equal(problem, "proxy_url: there is no proxy to a unix socket");
  assert_int_equal(open_proxy(&proxy, "", "unix:///run/x"), 0);
  assert_null(proxy);
}

static bool fail_scenario(size_t fail_at) {
  static const char *const urls[] = {"http://u:" SECRET "@h", NULL,
                                     "socks5://u:" SECRET "@h"};
  static size_t which; /* all of them in turn, for each n */
  bool has_failed = false;
  for (which = 0; which < 3; which++) {
    kin__proxy *proxy;
    fail_alloc_init(&memory, fail_at);
    memory.secrets[0] = SECRET;
    memory.secrets[1] = "dTpzM2NyZXQ=";
    int err = open_proxy(&proxy, urls[which], "https://a.b");
    has_failed = has_failed || fail_alloc_has_failed(&memory);
    assert_int_equal(err, fail_alloc_has_failed(&memory) ? KIN_ENOMEM : 0);
    kin__proxy_free(proxy, &memory.allocator);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
    assert_int_equal(atomic_load(&memory.leaked_secrets), 0);
  }
  return has_failed;
}

static void test_proxy_out_of_memory(void **state) {
  (void)state;
  set_environment("HTTPS_PROXY=u:" SECRET "@p");
  fail_alloc_sweep(fail_scenario, 5);
  clear_environment();
}

int main(void) {
  clear_environment();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_proxy_urls),
      cmocka_unit_test(test_proxy_bad_urls),
      cmocka_unit_test(test_proxy_url_bounds),
      cmocka_unit_test(test_proxy_environment),
      cmocka_unit_test(test_proxy_bad_environment),
      cmocka_unit_test(test_proxy_of_unix_socket),
      cmocka_unit_test(test_proxy_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
