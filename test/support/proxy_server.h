/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_PROXY_SERVER_H
#define KIN_TEST_PROXY_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include <openssl/ssl.h>

#include "support/tls_certs.h"

/* A proxy for tests, on the same loop as what is tested: CONNECT, whole URLs as
 * targets, SOCKS5, and all of these over TLS. The client's first byte says
 * which. Every connection leads to one port of 127.0.0.1, whatever name the
 * client asks for. */
typedef enum proxy_then {
  PROXY_KEEP, /* leaves the connection open */
  PROXY_CLOSE,
  PROXY_RESET
} proxy_then;

typedef struct proxy_server_options {
  int target_port;
  /* Wanted from the client, or NULL: "Basic ...", or "name:password" of
   * SOCKS. */
  const char *login;
  /* Said in place of any answer of its own. NULL: none. */
  const char *answer;
  size_t answer_length; /* 0: strlen(answer) */
  bool is_endless;      /* repeats the answer for ever, a slice at a time */
  proxy_then then;      /* after the answer */
  const char *extra;    /* said at once behind the answer that opens a tunnel */
  size_t slice;         /* wire bytes sent per loop iteration; 0: all */
  const tls_cert *certificate; /* speaks TLS; NULL: does not */
} proxy_server_options;

struct proxy_peer;

typedef struct proxy_server {
  uv_loop_t *loop;
  uv_poll_t poll;
  int fd;
  int port;
  proxy_server_options options;
  SSL_CTX *ctx;
  struct proxy_peer *peers;

  size_t accepted;  /* connections so far */
  size_t tunnels;   /* opened so far */
  size_t open;      /* connections now */
  size_t farewells; /* of clients: close_notify of TLS with the proxy */
  /* Of the last client, NUL-terminated. */
  char last_head[8192];   /* the head of a request */
  char last_address[300]; /* SOCKS: "name example.com:443", "ip4 ...", ... */
  char last_login[600];   /* SOCKS: "name:password" */
  char last_name[256];    /* SNI */
} proxy_server;

/* Listens on a free port of 127.0.0.1. Aborts the test on failure. */
void proxy_server_open(proxy_server *server, uv_loop_t *loop,
                       const proxy_server_options *options);
/* The loop must run until the handles are closed. */
void proxy_server_close(proxy_server *server);
/* For the connections to come. */
void proxy_server_set_options(proxy_server *server,
                              const proxy_server_options *options);
/* Ends all connections, but goes on listening. */
void proxy_server_drop(proxy_server *server, proxy_then then);

#endif /* KIN_TEST_PROXY_SERVER_H */
