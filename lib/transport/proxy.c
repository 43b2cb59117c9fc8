/* SPDX-License-Identifier: MIT */
/* The choice of a proxy, and the bytes that are sent to it. A malformed URL is
 * refused. Go uses no proxy if the environment's URL is malformed; requests
 * would then go around the proxy that was meant. */
#include "transport/proxy.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/str.h"
#include "transport/basic.h"
#include "transport/environment.h"
#include "transport/no_proxy.h"
#include "transport/secret.h"

#define SOCKS_PORT 1080
#define SOCKS_TEXT 255u /* bytes of a name or a password */
#define MESSAGE_BYTES (3u * KIN__PROXY_MAX_URL)

/* The pieces of a proxy's URL, borrowed from its text. */
typedef struct proxy_parts {
  kin_str scheme;
  kin_str user_info;
  kin_str authority; /* host[:port] */
  bool has_user_info;
} proxy_parts;

/* --- The URL -------------------------------------------------------------- */

static bool split_proxy(const char *text, proxy_parts *parts) {
  const char *scheme_end = strstr(text, "://");
  if (scheme_end == NULL || strlen(text) > KIN__PROXY_MAX_URL) {
    return false;
  }
  parts->scheme = kin__str(text, (size_t)(scheme_end - text));
  const char *authority = scheme_end + 3;
  size_t length = strcspn(authority, "/?#");
  const char *path = authority + length;
  if (path[0] != '\0' && strcmp(path, "/") != 0) {
    return false;
  }
  parts->authority = kin__str(authority, length);
  for (size_t i = length; i > 0 && !parts->has_user_info; i--) {
    if (authority[i - 1] == '@') {
      parts->has_user_info = true;
      parts->user_info = kin__str(authority, i - 1);
      parts->authority = kin__str(authority + i, length - i);
    }
  }
  return true;
}

static bool has_port(kin_str authority) {
  for (size_t i = authority.length; i > 0; i--) {
    if (authority.data[i - 1] == ':' || authority.data[i - 1] == ']') {
      return authority.data[i - 1] == ':';
    }
  }
  return false;
}

static int parse_address(kin__proxy *proxy, const kin_allocator *allocator,
                         const proxy_parts *parts) {
  kin_str scheme = parts->scheme;
  bool is_https = kin__str_equal_nocase(scheme, KIN__LIT("https"));
  proxy->is_socks = kin__str_equal_nocase(scheme, KIN__LIT("socks5")) ||
                    kin__str_equal_nocase(scheme, KIN__LIT("socks5h"));
  char text[300];
  int length = snprintf(text, sizeof text, "http%s://%.*s", is_https ? "s" : "",
                        KIN_STR_ARG(parts->authority));
  if (length < 0 || (size_t)length >= sizeof text ||
      !(is_https || proxy->is_socks ||
        kin__str_equal_nocase(scheme, KIN__LIT("http")))) {
    return KIN_EURL;
  }
  int err = kin__url_parse(&proxy->url, allocator, text);
  if (err == 0 && proxy->is_socks && !has_port(parts->authority)) {
    proxy->url.port = SOCKS_PORT;
  }
  return err;
}

/* Undoes %41, in place of `text`'s first bytes. Returns false if an escape is
 * malformed, or hides a zero byte. */
static bool decode_percent(char *text, size_t *length) {
  size_t used = 0;
  for (size_t i = 0; i < *length; i++) {
    char c = text[i];
    if (c == '%') {
      int high = *length - i > 2 ? kin__hex_value(text[i + 1]) : -1;
      int low = high >= 0 ? kin__hex_value(text[i + 2]) : -1;
      if (low < 0 || (high == 0 && low == 0)) {
        return false;
      }
      c = (char)(high << 4 | low);
      i += 2;
    }
    text[used++] = c;
  }
  *length = used;
  return true;
}

/* --- What is sent --------------------------------------------------------- */

static int compose_socks_login(kin__proxy *proxy, kin_str name,
                               kin_str password) {
  if (name.length == 0 || name.length > SOCKS_TEXT ||
      password.length > SOCKS_TEXT) {
    return KIN_EURL;
  }
  kin__buf *login = &proxy->login;
  int err = kin__buf_reserve(login, 3 + name.length + password.length);
  if (err == 0) {
    const char head[] = {1, (char)name.length};
    const char middle = (char)password.length;
    (void)kin__buf_append(login, head, sizeof head);
    (void)kin__buf_append_str(login, name);
    (void)kin__buf_append(login, &middle, 1);
    (void)kin__buf_append_str(login, password);
  }
  return err;
}

static int set_login(kin__proxy *proxy, const kin_allocator *allocator,
                     kin_str name, kin_str password) {
  proxy->has_login = true;
  if (proxy->is_socks) {
    return compose_socks_login(proxy, name, password);
  }
  proxy->authorization = kin__basic_value(allocator, name, password);
  return proxy->authorization != NULL ? 0 : KIN_ENOMEM;
}

static int take_user_info(kin__proxy *proxy, const kin_allocator *allocator,
                          kin_str user_info) {
  size_t size = user_info.length + 1;
  char *copy = kin__malloc(allocator, size);
  if (copy == NULL) {
    return KIN_ENOMEM;
  }
  memcpy(copy, user_info.data, user_info.length);
  copy[user_info.length] = '\0';
  size_t name_length = strcspn(copy, ":");
  char *password = copy + name_length;
  size_t password_length = 0;
  if (name_length < user_info.length) {
    password++;
    password_length = user_info.length - name_length - 1;
  }
  int err = decode_percent(copy, &name_length) &&
                    decode_percent(password, &password_length)
                ? set_login(proxy, allocator, kin__str(copy, name_length),
                            kin__str(password, password_length))
                : KIN_EURL;
  OPENSSL_cleanse(copy, size);
  kin__free(allocator, copy);
  return err;
}

static int compose_connect(kin__proxy *proxy, const kin__url *server,
                           const char *user_agent) {
  bool is_ip6 = strchr(server->host, ':') != NULL;
  char address[300];
  snprintf(address, sizeof address, is_ip6 ? "[%s]:%u" : "%s:%u", server->host,
           (unsigned)server->port);
  bool has_login = proxy->authorization != NULL;
  /* In one piece, so that no copy is left behind. */
  return kin__buf_printf(
      &proxy->greeting,
      "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n%s%s%s\r\n",
      address, address, user_agent, has_login ? "Proxy-Authorization: " : "",
      has_login ? proxy->authorization : "", has_login ? "\r\n" : "");
}

/* RFC 1928. A name is sent as a name: the proxy resolves it. */
static int compose_socks(kin__proxy *proxy, const kin__url *server) {
  static const char without[] = {5, 1, 0};
  static const char with_login[] = {5, 2, 0, 2};
  unsigned char ip[16];
  int err = proxy->has_login ? kin__buf_append(&proxy->greeting, with_login, 4)
                             : kin__buf_append(&proxy->greeting, without, 3);
  kin__buf *out = &proxy->address;
  size_t length = strlen(server->host);
  const char name[] = {5, 1, 0, 3, (char)length};
  if (err == 0 && uv_inet_pton(AF_INET, server->host, ip) == 0) {
    err = kin__buf_append(out, "\5\1\0\1", 4);
    err = err == 0 ? kin__buf_append(out, (char *)ip, 4) : err;
  } else if (err == 0 && uv_inet_pton(AF_INET6, server->host, ip) == 0) {
    err = kin__buf_append(out, "\5\1\0\4", 4);
    err = err == 0 ? kin__buf_append(out, (char *)ip, 16) : err;
  } else if (err == 0) {
    err = kin__buf_append(out, name, sizeof name);
    err = err == 0 ? kin__buf_append(out, server->host, length) : err;
  }
  const char port[] = {(char)(server->port >> 8), (char)server->port};
  return err == 0 ? kin__buf_append(out, port, sizeof port) : err;
}

static int compose(kin__proxy *proxy, const kin__proxy_options *options) {
  const kin__url *server = options->server;
  proxy->is_forward = !proxy->is_socks && !server->is_tls;
  if (proxy->is_forward) {
    return 0;
  }
  int err = proxy->is_socks
                ? compose_socks(proxy, server)
                : compose_connect(proxy, server, options->user_agent);
  kin__secret_free(options->allocator, &proxy->authorization);
  return err;
}

static int make_proxy(kin__proxy *proxy, const kin__proxy_options *options,
                      const char *text) {
  const kin_allocator *allocator = options->allocator;
  kin__buf_init(&proxy->greeting, allocator, MESSAGE_BYTES);
  kin__buf_init(&proxy->login, allocator, MESSAGE_BYTES);
  kin__buf_init(&proxy->address, allocator, MESSAGE_BYTES);
  proxy_parts parts = {.has_user_info = false};
  int err = split_proxy(text, &parts) ? parse_address(proxy, allocator, &parts)
                                      : KIN_EURL;
  if (err == 0 && parts.has_user_info) {
    err = take_user_info(proxy, allocator, parts.user_info);
  }
  return err == 0 ? compose(proxy, options) : err;
}

/* --- The environment ------------------------------------------------------ */

/* The first of the two that is set; *name is then its name. */
static const char *get_either(const char *upper, const char *lower,
                              const char **name) {
  const char *value = kin__environment_get(upper);
  *name = value != NULL ? upper : lower;
  return value != NULL ? value : kin__environment_get(lower);
}

/* The environment's URL for the server, or NULL. `name`: the variable. */
static const char *from_environment(const kin__proxy_options *options,
                                    const char **name) {
  const kin__url *server = options->server;
  const char *unused;
  const char *found = server->is_tls
                          ? get_either("HTTPS_PROXY", "https_proxy", name)
                          : get_either("HTTP_PROXY", "http_proxy", name);
  if (found == NULL ||
      kin__no_proxy_has(get_either("NO_PROXY", "no_proxy", &unused),
                        server->host, server->port)) {
    return NULL;
  }
  /* In a CGI program a request's field "Proxy" sets it. */
  if (!server->is_tls && kin__environment_get("REQUEST_METHOD") != NULL) {
    kin__log_write(options->log, KIN_LOG_WARN,
                   "%s is not used, because REQUEST_METHOD is set", *name);
    return NULL;
  }
  return found;
}

/* --- Life ----------------------------------------------------------------- */

static void log_choice(const kin__proxy_options *options,
                       const kin__proxy *proxy, const char *name) {
  kin__log_write(options->log, KIN_LOG_INFO,
                 "requests go through the %s proxy %s:%u, as %s says",
                 proxy->is_socks     ? "socks5"
                 : proxy->url.is_tls ? "https"
                                     : "http",
                 proxy->url.host, (unsigned)proxy->url.port, name);
}

static int open_proxy(kin__proxy **out, const kin__proxy_options *options,
                      const char *text, const char *name) {
  kin__proxy *proxy = kin__calloc(options->allocator, 1, sizeof *proxy);
  if (proxy == NULL) {
    return KIN_ENOMEM;
  }
  int err = make_proxy(proxy, options, text);
  if (err != 0) {
    kin__proxy_free(proxy, options->allocator);
    if (err != KIN_ENOMEM) {
      err = kin__log_problem(options->log, KIN_EURL,
                             "%s: is no http://, https:// or socks5:// URL of "
                             "a host and a port",
                             name);
    }
    return err;
  }
  log_choice(options, proxy, name);
  *out = proxy;
  return 0;
}

/* Go takes "host:port" for an http proxy. */
static int open_from_environment(kin__proxy **out,
                                 const kin__proxy_options *options) {
  const char *name;
  const char *found = from_environment(options, &name);
  if (found == NULL || strstr(found, "://") != NULL) {
    return found != NULL ? open_proxy(out, options, found, name) : 0;
  }
  static const char scheme[] = "http://";
  size_t size = sizeof scheme + strlen(found);
  char *text = kin__malloc(options->allocator, size);
  if (text == NULL) {
    return KIN_ENOMEM;
  }
  snprintf(text, size, "%s%s", scheme, found);
  int err = open_proxy(out, options, text, name);
  kin__secret_free(options->allocator, &text);
  return err;
}

bool kin__proxy_is_supported(void) {
  return true;
}

int kin__proxy_open(kin__proxy **out, const kin__proxy_options *options) {
  *out = NULL;
  bool is_given = kin__has_text(options->url);
  if (kin__url_is_unix(options->server)) {
    return is_given ? kin__log_problem(options->log, KIN_EINVAL,
                                       "proxy_url: there is no proxy to a "
                                       "unix socket")
                    : 0;
  }
  if (options->url != NULL) {
    return is_given ? open_proxy(out, options, options->url, "proxy_url") : 0;
  }
  return open_from_environment(out, options);
}

void kin__proxy_free(kin__proxy *proxy, const kin_allocator *allocator) {
  if (proxy != NULL) {
    kin__url_finish(&proxy->url, allocator);
    kin__secret_finish(&proxy->greeting);
    kin__secret_finish(&proxy->login);
    kin__secret_finish(&proxy->address);
    kin__secret_free(allocator, &proxy->authorization);
    kin__free(allocator, proxy);
  }
}

const char *kin__proxy_refusal(const kin__proxy *proxy, int status) {
  if (status != 407) {
    return "it refuses the connection";
  }
  return proxy->has_login ? "it refuses the user name and password of its URL"
                          : "it wants a user name and password in its URL";
}
