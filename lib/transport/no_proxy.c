/* SPDX-License-Identifier: MIT */
/* Unlike in Go, names in other scripts are not converted to ASCII: a server's
 * URL cannot have such a name. */
#include "transport/no_proxy.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "base/str.h"

/* The server, as the entries are compared with it. */
typedef struct np_server {
  kin_str host;
  char port[6];
  bool is_address;
  unsigned char address[16];
} np_server;

static const unsigned char np_ip4_prefix[12] = {0, 0, 0, 0, 0,    0,
                                                0, 0, 0, 0, 0xff, 0xff};

static bool np_is_ip4(const unsigned char address[16]) {
  return memcmp(address, np_ip4_prefix, sizeof np_ip4_prefix) == 0;
}

/* IPv4 addresses are mapped to IPv6. */
static bool np_parse_address(kin_str text, unsigned char address[16]) {
  char copy[INET6_ADDRSTRLEN];
  if (text.length == 0 || text.length >= sizeof copy ||
      memchr(text.data, '%', text.length) != NULL) {
    return false; /* libuv would skip a zone */
  }
  memcpy(copy, text.data, text.length);
  copy[text.length] = '\0';
  memcpy(address, np_ip4_prefix, sizeof np_ip4_prefix);
  return uv_inet_pton(AF_INET, copy, address + sizeof np_ip4_prefix) == 0 ||
         uv_inet_pton(AF_INET6, copy, address) == 0;
}

static bool np_is_loopback(const np_server *server) {
  static const unsigned char ip6_loopback[16] = {[15] = 1};
  const unsigned char *address = server->address;
  return server->is_address &&
         ((np_is_ip4(address) && address[12] == 127) ||
          memcmp(address, ip6_loopback, sizeof ip6_loopback) == 0);
}

/* Splits at the last character of this kind. */
static bool np_split(kin_str text, char at, kin_str *before, kin_str *after) {
  for (size_t i = text.length; i > 0; i--) {
    if (text.data[i - 1] == at) {
      *before = kin__str(text.data, i - 1);
      *after = kin__str(text.data + i, text.length - i);
      return true;
    }
  }
  return false;
}

static bool np_has_prefix(const unsigned char *a, const unsigned char *b,
                          size_t bits) {
  size_t bytes = bits / 8;
  unsigned rest = bits % 8;
  return memcmp(a, b, bytes) == 0 &&
         (rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0);
}

typedef enum np_answer { NP_OTHER, NP_NO, NP_YES } np_answer;

/* NP_OTHER: the entry is no range. */
static np_answer np_match_range(kin_str entry, const np_server *server) {
  kin_str text;
  kin_str digits;
  unsigned char address[16];
  uint64_t bits;
  if (!np_split(entry, '/', &text, &digits) ||
      !np_parse_address(text, address) || !kin__str_to_u64(digits, &bits)) {
    return NP_OTHER;
  }
  if (memchr(text.data, ':', text.length) == NULL) {
    bits = bits <= 32 ? bits + 96 : UINT64_MAX;
  }
  if (bits > 128) {
    return NP_OTHER;
  }
  return server->is_address &&
                 np_is_ip4(address) == np_is_ip4(server->address) &&
                 np_has_prefix(address, server->address, (size_t)bits)
             ? NP_YES
             : NP_NO;
}

/* "host:port" or "[host]:port". Without a port, or with more colons, the whole
 * text is a host. */
static kin_str np_take_port(kin_str entry, kin_str *port) {
  kin_str host;
  if (!np_split(entry, ':', &host, port)) {
    *port = KIN__LIT("");
    return entry;
  }
  bool is_bracketed = host.length >= 2 && host.data[0] == '[' &&
                      host.data[host.length - 1] == ']';
  if (is_bracketed) {
    return kin__str(host.data + 1, host.length - 2);
  }
  if (memchr(host.data, ':', host.length) != NULL) {
    *port = KIN__LIT("");
    return entry;
  }
  return host;
}

static bool np_match_domain(kin_str domain, const np_server *server) {
  kin_str host = server->host;
  bool is_below_only = false;
  if (domain.length > 1 && domain.data[0] == '*' && domain.data[1] == '.') {
    domain = kin__str(domain.data + 1, domain.length - 1);
  }
  if (domain.data[0] == '.') {
    domain = kin__str(domain.data + 1, domain.length - 1);
    is_below_only = true;
  }
  if (host.length <= domain.length) {
    return !is_below_only && kin__str_equal_nocase(host, domain);
  }
  size_t extra = host.length - domain.length;
  return host.data[extra - 1] == '.' &&
         kin__str_equal_nocase(kin__str(host.data + extra, domain.length),
                               domain);
}

static bool np_match(kin_str entry, const np_server *server) {
  if (kin__str_equal(entry, KIN__LIT("*"))) {
    return true;
  }
  np_answer in_range = np_match_range(entry, server);
  if (in_range != NP_OTHER) {
    return in_range == NP_YES;
  }
  kin_str port;
  kin_str host = np_take_port(entry, &port);
  if (host.length == 0 ||
      (port.length > 0 && !kin__str_equal(port, kin__cstr(server->port)))) {
    return false;
  }
  unsigned char address[16];
  if (np_parse_address(host, address)) {
    return server->is_address &&
           memcmp(address, server->address, sizeof address) == 0;
  }
  return !server->is_address && np_match_domain(host, server);
}

static bool np_is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static kin_str np_trim(kin_str text) {
  while (text.length > 0 && np_is_blank(text.data[0])) {
    text = kin__str(text.data + 1, text.length - 1);
  }
  while (text.length > 0 && np_is_blank(text.data[text.length - 1])) {
    text.length--;
  }
  return text;
}

bool kin__no_proxy_has(const char *list, const char *host, uint16_t port) {
  np_server server = {.host = kin__cstr(host)};
  snprintf(server.port, sizeof server.port, "%u", (unsigned)port);
  server.is_address = np_parse_address(server.host, server.address);
  if (kin__str_equal_nocase(server.host, KIN__LIT("localhost")) ||
      np_is_loopback(&server)) {
    return true;
  }
  kin_str rest = kin__cstr(list);
  while (rest.length > 0) {
    const char *comma = memchr(rest.data, ',', rest.length);
    size_t length = comma != NULL ? (size_t)(comma - rest.data) : rest.length;
    kin_str entry = np_trim(kin__str(rest.data, length));
    if (entry.length > 0 && np_match(entry, &server)) {
      return true;
    }
    size_t taken = length + (comma != NULL);
    rest = kin__str(rest.data + taken, rest.length - taken);
  }
  return false;
}
