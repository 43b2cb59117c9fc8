/* SPDX-License-Identifier: MIT */
/* Server addresses come from people and files, so an address that is not
 * understood is refused, not repaired. Dropping a query or ignoring a port
 * would send every request to the wrong place. Only characters that may stand
 * in a request line and a Host field are accepted. Internationalized names must
 * be given in their ASCII form. IPv6 zones are not supported. */
#include "transport/url.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/str.h"
#include "transport/socket.h"

#define MAX_URL_LENGTH 4096u
#define MAX_HOST_LENGTH 254u /* a DNS name with its final dot */

/* The pieces of a URL, borrowed from its text. */
typedef struct parts {
  kin_str host;
  kin_str prefix;
  uint16_t port; /* 0 if absent */
  bool is_tls;
  bool is_bracketed;
} parts;

static bool is_name(kin_str host) {
  if (host.length == 0 || host.length > MAX_HOST_LENGTH ||
      host.data[0] == '.') {
    return false;
  }
  for (size_t i = 0; i < host.length; i++) {
    char c = host.data[i];
    bool is_empty_label = c == '.' && host.data[i - 1] == '.';
    if (is_empty_label ||
        !(kin__is_alphanumeric(c) || c == '-' || c == '.' || c == '_')) {
      return false;
    }
  }
  return true;
}

static bool is_ip6(kin_str host) {
  char text[INET6_ADDRSTRLEN];
  struct in6_addr address;
  if (host.length == 0 || host.length >= sizeof text ||
      memchr(host.data, '%', host.length) != NULL) {
    return false; /* libuv would skip a zone */
  }
  memcpy(text, host.data, host.length);
  text[host.length] = '\0';
  return uv_inet_pton(AF_INET6, text, &address) == 0;
}

/* Path characters of RFC 3986, percent-encoded ones included. */
static bool is_path(kin_str path) {
  for (size_t i = 0; i < path.length; i++) {
    char c = path.data[i];
    if (c == '%') {
      if (path.length - i < 3 || kin__hex_value(path.data[i + 1]) < 0 ||
          kin__hex_value(path.data[i + 2]) < 0) {
        return false;
      }
    } else if (c == '\0' || !(kin__is_alphanumeric(c) ||
                              strchr("/-._~!$&'()*+,;=:@", c) != NULL)) {
      return false;
    }
  }
  return true;
}

/* Removes "http://" or "https://" from the front. */
static bool take_scheme(kin_str *rest, parts *out) {
  static const char *const schemes[] = {"http://", "https://"};
  for (int i = 0; i < 2; i++) {
    kin_str scheme = kin__cstr(schemes[i]);
    if (rest->length >= scheme.length &&
        kin__str_equal_nocase(kin__str(rest->data, scheme.length), scheme)) {
      out->is_tls = i == 1;
      rest->data += scheme.length;
      rest->length -= scheme.length;
      return true;
    }
  }
  return false;
}

/* Removes the host from the front of "host[:port]". */
static bool take_host(kin_str *rest, parts *out) {
  const char *end = NULL;
  if (rest->length > 0 && rest->data[0] == '[') {
    end = memchr(rest->data, ']', rest->length);
    if (end == NULL) {
      return false;
    }
    out->is_bracketed = true;
    out->host = kin__str(rest->data + 1, (size_t)(end - rest->data) - 1);
    end++;
  } else {
    end = memchr(rest->data, ':', rest->length);
    if (end == NULL) {
      end = rest->data + rest->length;
    }
    out->host = kin__str(rest->data, (size_t)(end - rest->data));
  }
  rest->length -= (size_t)(end - rest->data);
  rest->data = end;
  return out->is_bracketed ? is_ip6(out->host) : is_name(out->host);
}

/* `rest` is "" or ":port". */
static bool take_port(kin_str rest, parts *out) {
  if (rest.length == 0) {
    return true;
  }
  uint64_t port = 0;
  if (rest.data[0] != ':' || rest.length > 6 ||
      !kin__str_to_u64(kin__str_from(rest, 1), &port) || port == 0 ||
      port > UINT16_MAX) {
    return false;
  }
  out->port = (uint16_t)port;
  return true;
}

static bool split(const char *text, parts *out) {
  *out = (parts){.port = 0};
  kin_str rest = kin__cstr(text);
  if (rest.length > MAX_URL_LENGTH || !take_scheme(&rest, out)) {
    return false;
  }
  const char *slash =
      rest.length > 0 ? memchr(rest.data, '/', rest.length) : NULL;
  kin_str authority = rest;
  if (slash != NULL) {
    authority.length = (size_t)(slash - rest.data);
    out->prefix = kin__str(slash, rest.length - authority.length);
  }
  while (out->prefix.length > 0 &&
         out->prefix.data[out->prefix.length - 1] == '/') {
    out->prefix.length--;
  }
  return authority.length > 0 && take_host(&authority, out) &&
         take_port(authority, out) && is_path(out->prefix);
}

/* The path is taken as it is, up to the end: it has no escapes, and no request
 * has a prefix. */
static bool is_unix(const char *text) {
  static const char scheme[] = "unix://";
  const size_t length = sizeof scheme - 1;
  size_t path_length = strlen(text) - (strlen(text) < length ? 0 : length);
  return strncmp(text, scheme, length) == 0 && text[length] == '/' &&
         path_length > 1 && path_length < KIN__UNIX_PATH_SIZE;
}

static int parse_unix(kin__url *url, const kin_allocator *allocator,
                      const char *path) {
  url->host = kin__strdup(allocator, path);
  url->host_header = kin__strdup(allocator, "localhost");
  url->prefix = kin__strdup(allocator, "");
  if (url->host == NULL || url->host_header == NULL || url->prefix == NULL) {
    kin__url_finish(url, allocator);
    return KIN_ENOMEM;
  }
  return 0;
}

int kin__url_parse(kin__url *url, const kin_allocator *allocator,
                   const char *text) {
  *url = (kin__url){.host = NULL};
  parts p;
  if (text != NULL && is_unix(text)) {
    return parse_unix(url, allocator, strchr(text, '/') + 2);
  }
  if (text == NULL || !split(text, &p)) {
    return KIN_EURL;
  }
  uint16_t default_port = p.is_tls ? 443 : 80;
  url->is_tls = p.is_tls;
  url->port = p.port != 0 ? p.port : default_port;

  char host_header[MAX_HOST_LENGTH + sizeof "[]:65535"];
  int length = snprintf(host_header, sizeof host_header, "%s%.*s%s",
                        p.is_bracketed ? "[" : "", KIN_STR_ARG(p.host),
                        p.is_bracketed ? "]" : "");
  if (url->port != default_port) {
    snprintf(host_header + length, sizeof host_header - (size_t)length, ":%u",
             (unsigned)url->port);
  }
  url->host = kin__strndup(allocator, p.host.data, p.host.length);
  url->host_header = kin__strdup(allocator, host_header);
  url->prefix = kin__strndup(allocator, p.prefix.data, p.prefix.length);
  if (url->host == NULL || url->host_header == NULL || url->prefix == NULL) {
    kin__url_finish(url, allocator);
    return KIN_ENOMEM;
  }
  return 0;
}

void kin__url_finish(kin__url *url, const kin_allocator *allocator) {
  kin__free(allocator, url->host);
  kin__free(allocator, url->host_header);
  kin__free(allocator, url->prefix);
  *url = (kin__url){.host = NULL};
}
