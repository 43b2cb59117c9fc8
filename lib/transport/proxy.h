/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_PROXY_H
#define KIN_TRANSPORT_PROXY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/log.h"
#include "transport/stream.h"
#include "transport/url.h"

/* The proxy on the way to a server (TR-08).
 *
 * http and https proxies open a tunnel to an https server (CONNECT), and get
 * the requests for an http server themselves, with the whole URL as target.
 * SOCKS5 proxies open a tunnel to any server. The proxy resolves the server's
 * name in all cases.
 *
 * Everything that a tunnel sends is composed once. These texts hold the
 * proxy's password, are wiped when freed, and appear in no log line and no
 * error. */
typedef struct kin__proxy {
  kin__url url;    /* of the proxy, without its user information */
  bool is_forward; /* gets requests, opens no tunnel */
  bool is_socks;
  bool has_login;
  kin__buf greeting;   /* the CONNECT request, or SOCKS's first message */
  kin__buf login;      /* SOCKS: the user name and password */
  kin__buf address;    /* SOCKS: the request for the server */
  char *authorization; /* value of Proxy-Authorization, or NULL; if
                        * is_forward */
} kin__proxy;

typedef struct kin__proxy_options {
  const kin_allocator *allocator;
  const kin__log *log;
  const char *url;        /* NULL: as the environment says; "": no proxy */
  const kin__url *server; /* borrowed */
  const char *user_agent; /* of CONNECT */
} kin__proxy_options;

/* Whether the library was built with proxies. A constant, so that link-time
 * optimisation drops what a library without proxies does not need. */
bool kin__proxy_is_supported(void);

/* Finds the proxy for a server; *out is NULL if there is none. Reads the
 * environment, as Go's httpproxy does: HTTPS_PROXY or HTTP_PROXY, and NO_PROXY.
 * A fault is logged as a problem, without the URL's text. Errors: KIN_EURL,
 * KIN_EINVAL (a proxy for a unix socket), KIN_ENOMEM, KIN_ENOTSUP (the library
 * was built without proxies). */
int kin__proxy_open(kin__proxy **out, const kin__proxy_options *options);
/* `proxy` may be NULL. */
void kin__proxy_free(kin__proxy *proxy, const kin_allocator *allocator);

/* The bound of a proxy's URL. */
#define KIN__PROXY_MAX_URL 4096u
/* The bound of the head that answers CONNECT, 1xx heads included. */
#define KIN__PROXY_MAX_HEAD_BYTES (64u << 10)

/* A stream that opens a tunnel through the proxy, which must outlive the stream
 * and open tunnels. Errors: KIN_ENOMEM. */
int kin__tunnel_new(kin__stream **out, const kin__proxy *proxy,
                    const kin_allocator *allocator);

/* The meaning of an http proxy's refusal; static. */
const char *kin__proxy_refusal(const kin__proxy *proxy, int status);

#endif /* KIN_TRANSPORT_PROXY_H */
