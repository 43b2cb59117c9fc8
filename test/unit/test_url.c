/* SPDX-License-Identifier: MIT */
/* Proves RQ-01 as far as server addresses go: a full URL keeps its path as
 * prefix. On purpose, a missing scheme, a query and a fragment are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "support/fail_alloc.h"
#include "transport/url.h"

typedef struct valid_case {
  const char *text;
  const char *host;
  const char *host_header;
  const char *prefix;
  uint16_t port;
  bool is_tls;
} valid_case;

static const valid_case valid[] = {
    {"http://localhost", "localhost", "localhost", "", 80, false},
    {"https://localhost", "localhost", "localhost", "", 443, true},
    {"http://localhost:80/", "localhost", "localhost", "", 80, false},
    {"http://localhost:443", "localhost", "localhost:443", "", 443, false},
    {"https://h:443", "h", "h", "", 443, true},
    {"https://h:80", "h", "h:80", "", 80, true},
    {"HTTP://Host.Example.", "Host.Example.", "Host.Example.", "", 80, false},
    {"hTTps://a_b-c.d:65535/", "a_b-c.d", "a_b-c.d:65535", "", 65535, true},
    {"http://127.0.0.1:8001", "127.0.0.1", "127.0.0.1:8001", "", 8001, false},
    {"http://[::1]:8001/x", "::1", "[::1]:8001", "/x", 8001, false},
    {"https://[2001:db8::A]", "2001:db8::A", "[2001:db8::A]", "", 443, true},
    {"http://[::ffff:10.0.0.1]/", "::ffff:10.0.0.1", "[::ffff:10.0.0.1]", "",
     80, false},
    {"http://h/a/b", "h", "h", "/a/b", 80, false},
    {"http://h/a/b///", "h", "h", "/a/b", 80, false},
    {"http://h///", "h", "h", "", 80, false},
    {"http://h:00080/k8s/clusters/c-1:x@y", "h", "h", "/k8s/clusters/c-1:x@y",
     80, false},
    {"http://h/%2Fa%ff", "h", "h", "/%2Fa%ff", 80, false},
    {"unix:///run/k.sock", "/run/k.sock", "localhost", "", 0, false},
    {"unix:///a b?c#%41@:80/", "/a b?c#%41@:80/", "localhost", "", 0, false},
};

static const char *const invalid[] = {
    "",
    "http",
    "http:/h",
    "http://",
    "http:///path",
    "http://:80",
    "localhost",
    "localhost:8080",
    "//localhost",
    "ftp://h",
    "unix:/run/k.sock",
    "unix://run/k.sock",
    "unix:///",
    "UNIX:///run/k.sock",
    "http+unix://%2Frun%2Fk.sock",
    " http://h",
    "http://h ",
    "http://h\r\nX: y",
    "http://a b",
    "http://user@h",
    "http://user:secret@h",
    "http://h?x=y",
    "http://h/?x=y",
    "http://h/a?x",
    "http://h#f",
    "http://h/a#f",
    "http://h:",
    "http://h:/",
    "http://h:0",
    "http://h:65536",
    "http://h:100000",
    "http://h:-1",
    "http://h:+1",
    "http://h:8 0",
    "http://h:80x",
    "http://h:80:80",
    "http://::1",
    "http://[::1",
    "http://[::1]x",
    "http://[::1]:",
    "http://[]",
    "http://[1.2.3.4]",
    "http://[fe80::1%25eth0]",
    "http://[::1::2]",
    "http://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]",
    "http://.h",
    "http://a..b",
    "http://.",
    "http://h\xc3\xa9",
    "http://h%41",
    "http://h*",
    "http://h/%",
    "http://h/%4",
    "http://h/%4g",
    "http://h/a b",
    "http://h/a\"b",
    "http://h/\xc3\xa9",
    "http://h/a\\b",
};

static void test_url_valid(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof valid / sizeof valid[0]; i++) {
    const valid_case *c = &valid[i];
    fail_alloc memory;
    fail_alloc_init(&memory, 0);
    kin__url url;
    assert_int_equal(kin__url_parse(&url, &memory.allocator, c->text), 0);
    assert_string_equal(url.host, c->host);
    assert_string_equal(url.host_header, c->host_header);
    assert_string_equal(url.prefix, c->prefix);
    assert_int_equal(url.port, c->port);
    assert_int_equal(url.is_tls, c->is_tls);
    kin__url_finish(&url, &memory.allocator);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
  }
}

static void assert_refused(const char *text) {
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__url url;
  int err = kin__url_parse(&url, &memory.allocator, text);
  if (err != KIN_EURL) {
    fail_msg("\"%s\" gave %d", text != NULL ? text : "(NULL)", err);
  }
  assert_null(url.host);
  assert_null(url.host_header);
  assert_null(url.prefix);
  assert_int_equal(atomic_load(&memory.calls), 0);
}

static void test_url_invalid(void **state) {
  (void)state;
  assert_refused(NULL);
  for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) {
    assert_refused(invalid[i]);
  }
}

/* The longest host and URL are taken, one byte more is refused. */
static void test_url_bounds(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  char text[5000];
  kin__url url;

  char label[300];
  memset(label, 'a', sizeof label);
  snprintf(text, sizeof text, "https://%.254s:65535", label);
  assert_int_equal(kin__url_parse(&url, &memory.allocator, text), 0);
  assert_int_equal(strlen(url.host), 254);
  assert_int_equal(strlen(url.host_header), 254 + strlen(":65535"));
  kin__url_finish(&url, &memory.allocator);
  snprintf(text, sizeof text, "https://%.255s", label);
  assert_refused(text);

  memset(text, 'p', sizeof text);
  memcpy(text, "http://h/", 9);
  text[4096] = '\0';
  assert_int_equal(kin__url_parse(&url, &memory.allocator, text), 0);
  kin__url_finish(&url, &memory.allocator);
  text[4096] = 'p';
  text[4097] = '\0';
  assert_refused(text);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
}

static void test_url_out_of_memory(void **state) {
  (void)state;
  for (size_t n = 1;; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    kin__url url;
    int err = kin__url_parse(&url, &memory.allocator, "http://h:1/a");
    if (!fail_alloc_has_failed(&memory)) {
      assert_int_equal(err, 0);
      assert_true(n > 1);
      kin__url_finish(&url, &memory.allocator);
      break;
    }
    assert_int_equal(err, KIN_ENOMEM);
    assert_null(url.host);
    assert_int_equal(atomic_load(&memory.live_blocks), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_url_valid),
      cmocka_unit_test(test_url_invalid),
      cmocka_unit_test(test_url_bounds),
      cmocka_unit_test(test_url_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
