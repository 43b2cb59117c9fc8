/* SPDX-License-Identifier: MIT */
/* Proves TR-08 as far as NO_PROXY goes. The table carries the meaning of those
 * in http/httpproxy/proxy_test.go of golang.org/x/net. On purpose, names in
 * other scripts are not converted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transport/no_proxy.h"

typedef struct no_proxy_case {
  const char *list;
  const char *host;
  uint16_t port;
  bool is_in;
} no_proxy_case;

#define LIST                                                                   \
  "foobar.com, .barbaz.net, *.wildcard.io, 192.168.1.1, 192.168.1.2:81, "      \
  "192.168.1.3:80, 10.0.0.0/30, 2001:db8::52:0:1, [2001:db8::52:0:2]:443, "    \
  "[2001:db8::52:0:3]:80, 2002:db8:a::45/64"

static const no_proxy_case cases[] = {
    /* Never, whatever the list says. */
    {LIST, "localhost", 80, true},
    {LIST, "127.0.0.1", 80, true},
    {LIST, "127.0.0.2", 80, true},
    {LIST, "127.255.255.255", 80, true},
    {LIST, "::1", 80, true},
    {LIST, "::2", 80, false},
    {NULL, "LocalHost", 80, true},
    {NULL, "::ffff:127.0.0.1", 80, true},
    {"", "128.0.0.1", 80, false},
    {NULL, "0.0.0.0", 80, false},
    /* The list. */
    {LIST, "192.168.1.1", 80, true},
    {LIST, "192.168.1.2", 80, false},
    {LIST, "192.168.1.2", 81, true},
    {LIST, "192.168.1.3", 80, true},
    {LIST, "192.168.1.4", 80, false},
    {LIST, "10.0.0.2", 80, true},
    {LIST, "10.0.0.4", 80, false},
    {LIST, "2001:db8::52:0:1", 80, true},
    {LIST, "2001:DB8:0::52:0:1", 80, true},
    {LIST, "2001:db8::52:0:2", 80, false},
    {LIST, "2001:db8::52:0:2", 443, true},
    {LIST, "2001:db8::52:0:3", 80, true},
    {LIST, "2002:db8:a::123", 80, true},
    {LIST, "2002:db8:a:1::123", 80, false},
    {LIST, "fe80::424b:c8be:1643:a1b6", 80, false},
    {LIST, "barbaz.net", 80, false},
    {LIST, "www.barbaz.net", 80, true},
    {LIST, "foobar.com", 80, true},
    {LIST, "FooBar.Com", 80, true},
    {LIST, "www.foobar.com", 80, true},
    {LIST, "foofoobar.com", 80, false},
    {LIST, "baz.com", 80, false},
    {LIST, "localhost.net", 80, false},
    {LIST, "local.localhost", 80, false},
    {LIST, "barbarbaz.net", 80, false},
    {LIST, "wildcard.io", 80, false},
    {LIST, "nested.wildcard.io", 80, true},
    {LIST, "awildcard.io", 80, false},
    {"example.com", "example.com", 80, true},
    {".example.com", "example.com", 80, false},
    {"ample.com", "example.com", 80, false},
    {"example.com", "foo.example.com", 80, true},
    {".foo.com", "example.com", 80, false},
    {"xn--fsq092h.com", "www.xn--fsq092h.com", 80, true},
    {"\xe7\xa4\xba\xe4\xbe\x8b.com", "www.xn--fsq092h.com", 80, false},
    /* "*" anywhere, alone. */
    {"*", "example.com", 80, true},
    {"*", "2001:db8::1", 80, true},
    {"a.b , * ,c", "example.com", 80, true},
    {"**", "example.com", 80, false},
    {"*com", "example.com", 80, false},
    {"*.com", "example.com", 80, true},
    {"*:80", "example.com", 80, false},
    /* Ports. */
    {"a.b:80", "a.b", 80, true},
    {"a.b:80", "c.a.b", 80, true},
    {"a.b:80", "a.b", 81, false},
    {"a.b:080", "a.b", 80, false},
    {"a.b:", "a.b", 81, true},
    {".b:443", "a.b", 443, true},
    {"*.b:443", "a.b", 444, false},
    {"a.b:65535", "a.b", 65535, true},
    /* Malformed entries are left out. */
    {":1", "example.com", 80, false},
    {",, ,\t,", "example.com", 80, false},
    {":1,example.com", "example.com", 80, true},
    {"a:b:c", "a", 80, false},
    {"[::2", "::2", 80, false},
    {"[::2]", "::2", 80, false},
    {"::2:80", "::2", 80, false},
    {"10.0.0.0/33", "10.0.0.1", 80, false},
    {"10.0.0.0/", "10.0.0.0", 80, false},
    {"10.0.0.0/-1", "10.0.0.0", 80, false},
    {"10.0.0/8", "10.0.0.0", 80, false},
    {"/8", "10.0.0.0", 80, false},
    {"::/129", "::2", 80, false},
    {"fe80::1%eth0", "fe80::1", 80, false},
    {".", "a.", 80, true},
    {".", "a", 80, false},
    /* Ranges. */
    {"0.0.0.0/0", "10.0.0.1", 80, true},
    {"0.0.0.0/0", "::2", 80, false},
    {"::/0", "::2", 80, true},
    {"::/0", "10.0.0.1", 80, false},
    {"10.128.0.0/9", "10.127.255.255", 80, false},
    {"10.128.0.0/9", "10.255.255.255", 80, true},
    {"10.1.2.3/8", "10.255.255.255", 80, true},
    {"10.1.2.3/32", "10.1.2.3", 80, true},
    {"10.1.2.3/32", "10.1.2.2", 80, false},
    {"2001:db8::/33", "2001:db8:7fff::1", 80, true},
    {"2001:db8::/33", "2001:db8:8000::1", 80, false},
    {"2001:db8::1/128", "2001:db8::1", 80, true},
    {"10.0.0.0/8", "ten.10.0.0.0", 80, false},
    /* An IPv4 address is the same in its mapped form. */
    {"10.0.0.1", "::ffff:10.0.0.1", 80, true},
    {"10.0.0.0/8", "::ffff:10.0.0.1", 80, true},
    {"::ffff:10.0.0.1", "10.0.0.1", 80, true},
    /* No address is a domain's. */
    {".1", "10.0.0.1", 80, false},
    {"0.0.1", "10.0.0.1", 80, false},
};

static void test_no_proxy(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const no_proxy_case *c = &cases[i];
    if (kin__no_proxy_has(c->list, c->host, c->port) != c->is_in) {
      print_error("%s: %s:%d\n", c->list != NULL ? c->list : "-", c->host,
                  c->port);
      fail();
    }
  }
}

/* The end of each text is its end: the sanitizer sees a byte too far. */
static void test_no_proxy_prefixes(void **state) {
  (void)state;
  for (size_t length = 0; length <= strlen(LIST); length++) {
    char *list = malloc(length + 1);
    assert_non_null(list);
    memcpy(list, LIST, length);
    list[length] = '\0';
    assert_int_equal(kin__no_proxy_has(list, "foobar.com", 1), length >= 10);
    (void)kin__no_proxy_has(list, "2002:db8:a::123", 1);
    free(list);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_proxy),
      cmocka_unit_test(test_no_proxy_prefixes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
