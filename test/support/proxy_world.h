/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_PROXY_WORLD_H
#define KIN_TEST_PROXY_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "support/proxy_server.h"
#include "support/tls_world.h"

/* A world with a proxy between the transport and the server, which speaks TLS
 * or not. Set the options between proxy_world_init and proxy_world_open. */
typedef struct proxy_world {
  tls_world t; /* its server is used if is_tls, else t.w.server */
  proxy_server proxy;
  proxy_server_options serve; /* of the proxy; target_port is set by open */
  const char *scheme;         /* of the proxy's URL */
  const char *user_info;      /* "name:password@", or "" */
  char proxy_url[300];
  bool is_tls; /* of the server */
} proxy_world;

/* `reply` is what the server answers to each request. `fail_at` as in
 * world_init. The system's certificates are the pki's from here to
 * proxy_world_close. */
void proxy_world_init(proxy_world *p, bool is_tls, const char *scheme,
                      const char *reply, size_t fail_at);
/* Opens server, proxy and transport; returns the latter's error. */
int proxy_world_open(proxy_world *p, const char *host);
/* Closes everything, as tls_world_close. */
void proxy_world_close(proxy_world *p);

/* Runs one exchange. Returns "" if it is answered with 200 and "hello", else
 * its message, until the next call. */
const char *proxy_world_try(proxy_world *p, kin__exchange_error *error);

#endif /* KIN_TEST_PROXY_WORLD_H */
