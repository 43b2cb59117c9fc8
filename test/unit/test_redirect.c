/* SPDX-License-Identifier: MIT */
/* Proves that of a redirect's Location nothing is shown but a host, whatever a
 * server puts there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "transport/redirect.h"

static void test_redirect_host(void **state) {
  (void)state;
  static const struct {
    const char *location;
    const char *shown;
  } rows[] = {
      {"", "nowhere"},
      {"/login?secret=1", "another path"},
      {"login", "another path"},
      {"?secret", "another path"},
      {"a:b", "another path"},
      {"/x?u=https://evil.example/", "another path"},
      {"https://sso.example.com/auth?token=secret", "sso.example.com"},
      {"https://sso.example.com:8443?token=secret", "sso.example.com:8443"},
      {"https://sso.example.com#secret", "sso.example.com"},
      {"https://sso.example.com", "sso.example.com"},
      {"//other/path", "other"},
      {"http://user:secret@host/x", "host"},
      {"http://user:se@cret@host/x", "host"},
      {"http://[::1]:80/x", "[::1]:80"},
      {"http://host\\secret/x", "host"},
      {"http:///secret", "another host"},
      {"http://a b/", "another host"},
      {"http://\x1b[31m/", "another host"},
      {"http://\xc3\xa4/", "another host"},
      {"://", "another host"},
      {"//", "another host"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char shown[64];
    kin__redirect_host(kin__cstr(rows[i].location), shown, sizeof shown);
    assert_string_equal(shown, rows[i].shown);
  }
}

/* A zero byte, a cut one, and a small buffer. */
static void test_redirect_bounds(void **state) {
  (void)state;
  char shown[8];
  kin__redirect_host(kin__str("http://a\0b/", 11), shown, sizeof shown);
  assert_string_equal(shown, "another");
  kin__redirect_host(kin__cstr("http://abcdefg"), shown, sizeof shown);
  assert_string_equal(shown, "abcdefg");
  kin__redirect_host(kin__cstr("http://abcdefgh"), shown, sizeof shown);
  assert_string_equal(shown, "another");
  kin__redirect_host(kin__str("http:/", 6), shown, sizeof shown);
  assert_string_equal(shown, "another");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_redirect_host),
      cmocka_unit_test(test_redirect_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
