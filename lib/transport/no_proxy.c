/* SPDX-License-Identifier: MIT */
/* Unlike in Go, names in other scripts are not converted to ASCII: a server's
 * URL cannot have such a name. */
#include "transport/no_proxy.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "base/str.h"
#include "transport/ip.h"

/* The server, as the entries are compared with it. */
typedef struct target {
  kin_str host;
  char port[6];
  bool is_address;
  unsigned char address[KIN__IP_BYTES];
} target;

static bool parse_address(kin_str text, unsigned char address[KIN__IP_BYTES]) {
  char copy[INET6_ADDRSTRLEN];
  if (text.length == 0 || text.length >= sizeof copy) {
    return false;
  }
  memcpy(copy, text.data, text.length);
  copy[text.length] = '\0';
  return kin__ip_parse(copy, address);
}

static bool is_loopback(const target *server) {
  static const unsigned char ip6_loopback[16] = {[15] = 1};
  const unsigned char *address = server->address;
  return server->is_address &&
         ((kin__ip_is_ip4(address) && address[12] == 127) ||
          memcmp(address, ip6_loopback, sizeof ip6_loopback) == 0);
}

/* Splits at the last character of this kind. */
static bool split(kin_str text, char at, kin_str *before, kin_str *after) {
  for (size_t i = text.length; i > 0; i--) {
    if (text.data[i - 1] == at) {
      *before = kin__str(text.data, i - 1);
      *after = kin__str_from(text, i);
      return true;
    }
  }
  return false;
}

static bool has_prefix(const unsigned char *a, const unsigned char *b,
                       size_t bits) {
  size_t bytes = bits / 8;
  unsigned rest = bits % 8;
  return memcmp(a, b, bytes) == 0 &&
         (rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0);
}

typedef enum range_match { NO_RANGE, OUTSIDE_RANGE, INSIDE_RANGE } range_match;

/* NO_RANGE: the entry is no range. */
static range_match match_range(kin_str entry, const target *server) {
  kin_str text;
  kin_str digits;
  unsigned char address[KIN__IP_BYTES];
  uint64_t bits;
  if (!split(entry, '/', &text, &digits) || !parse_address(text, address) ||
      !kin__str_to_u64(digits, &bits)) {
    return NO_RANGE;
  }
  if (memchr(text.data, ':', text.length) == NULL) {
    bits = bits <= 32 ? bits + 96 : UINT64_MAX;
  }
  if (bits > 128) {
    return NO_RANGE;
  }
  return server->is_address &&
                 kin__ip_is_ip4(address) == kin__ip_is_ip4(server->address) &&
                 has_prefix(address, server->address, (size_t)bits)
             ? INSIDE_RANGE
             : OUTSIDE_RANGE;
}

/* "host:port" or "[host]:port". Without a port, or with more colons, the whole
 * text is a host. */
static kin_str take_port(kin_str entry, kin_str *port) {
  kin_str host;
  if (!split(entry, ':', &host, port)) {
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

static bool match_domain(kin_str domain, const target *server) {
  kin_str host = server->host;
  bool is_below_only = false;
  if (domain.length > 1 && domain.data[0] == '*' && domain.data[1] == '.') {
    domain = kin__str_from(domain, 1);
  }
  if (domain.data[0] == '.') {
    domain = kin__str_from(domain, 1);
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

static bool match(kin_str entry, const target *server) {
  if (kin__str_equal(entry, KIN__LIT("*"))) {
    return true;
  }
  range_match in_range = match_range(entry, server);
  if (in_range != NO_RANGE) {
    return in_range == INSIDE_RANGE;
  }
  kin_str port;
  kin_str host = take_port(entry, &port);
  if (host.length == 0 ||
      (port.length > 0 && !kin__str_equal(port, kin__cstr(server->port)))) {
    return false;
  }
  unsigned char address[KIN__IP_BYTES];
  if (parse_address(host, address)) {
    return server->is_address &&
           memcmp(address, server->address, sizeof address) == 0;
  }
  return !server->is_address && match_domain(host, server);
}

bool kin__no_proxy_has(const char *list, const char *host, uint16_t port) {
  target server = {.host = kin__cstr(host)};
  snprintf(server.port, sizeof server.port, "%u", (unsigned)port);
  server.is_address = parse_address(server.host, server.address);
  if (kin__str_equal_nocase(server.host, KIN__LIT("localhost")) ||
      is_loopback(&server)) {
    return true;
  }
  kin_str rest = kin__cstr(list);
  while (rest.length > 0) {
    const char *comma = memchr(rest.data, ',', rest.length);
    size_t length = comma != NULL ? (size_t)(comma - rest.data) : rest.length;
    kin_str entry = kin__str_trim(kin__str(rest.data, length));
    if (entry.length > 0 && match(entry, &server)) {
      return true;
    }
    rest = kin__str_from(rest, length + (comma != NULL));
  }
  return false;
}
