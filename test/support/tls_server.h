/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_TLS_SERVER_H
#define KIN_TEST_TLS_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include <openssl/ssl.h>

#include "support/tls_certs.h"

/* loop_server's sister over TLS: a server for tests on the same loop as what is
 * tested, which answers the n-th request, on whichever connection, with the
 * n-th reply. On the way in and out it is OpenSSL on memory BIOs, so that the
 * wire bytes can be cut anywhere. */
typedef enum tls_then {
  TLS_KEEP,  /* leaves the connection open */
  TLS_CLOSE, /* says close_notify, closes */
  TLS_CUT,   /* closes without a word */
  TLS_RESET, /* closes with a RST */
  TLS_NOTIFY /* says close_notify and leaves the socket open */
} tls_then;

typedef struct tls_reply {
  const char *bytes; /* NULL: none */
  size_t length;     /* 0: strlen(bytes) */
  tls_then then;     /* after the last byte */
} tls_reply;

typedef struct tls_server_options {
  const tls_cert *certificate;      /* NULL: the pki's server */
  const tls_cert *client_authority; /* demands a client certificate of it */
  int min_version;                  /* 0: OpenSSL's */
  int max_version;
  const char *protocol; /* insists on this one by ALPN; NULL: http/1.1; "":
                         * refuses all */
  size_t slice;         /* wire bytes sent per loop iteration; 0: all */
  size_t record;        /* plain bytes per record; 0: as many as fit */
  bool is_silent;       /* accepts, and says nothing */
  bool closes_at_hello; /* closes on the first byte */
  bool resets_at_hello; /* the same with a RST */
} tls_server_options;

struct tls_peer;

typedef struct tls_server {
  uv_loop_t *loop;
  uv_poll_t poll;
  int fd;
  int port;
  tls_server_options options;
  SSL_CTX *ctx;
  const tls_reply *replies; /* the last one is repeated */
  size_t reply_count;
  struct tls_peer *peers;

  size_t accepted;         /* connections so far */
  size_t handshakes;       /* finished ones so far */
  size_t resumed;          /* of these */
  size_t requests;         /* complete ones so far */
  size_t replied;          /* replies sent to the last byte */
  size_t open;             /* connections now */
  size_t farewells;        /* close_notify received so far */
  int last_alert;          /* received, besides close_notify; -1: none */
  char last_name[256];     /* SNI, or "" */
  char last_protocol[32];  /* ALPN, or "" */
  char last_version[32];   /* "TLSv1.3" */
  char last_client[256];   /* the common name of its certificate, or "" */
  char last_request[4096]; /* its first bytes, NUL-terminated */
} tls_server;

/* Listens on a free port of 127.0.0.1. Borrows the replies and the certificate.
 * Aborts the test on failure, also if a callback of its finds an error in
 * OpenSSL's queue that somebody else has left there. */
void tls_server_open(tls_server *server, uv_loop_t *loop,
                     const tls_server_options *options,
                     const tls_reply *replies, size_t reply_count);
/* The loop must run until the handles are closed. */
void tls_server_close(tls_server *server);

/* For the connections to come. */
void tls_server_set_options(tls_server *server,
                            const tls_server_options *options);
/* Ends all connections, but goes on listening. */
void tls_server_drop(tls_server *server, tls_then then);
/* Sends plain bytes on all connections, asked for or not. */
void tls_server_push(tls_server *server, const char *bytes);
/* Asks all clients for new keys, in TLS 1.2 by a HelloRequest. */
void tls_server_update_keys(tls_server *server);
/* Sends a new session on all connections, which have TLS 1.3. */
void tls_server_send_sessions(tls_server *server);

/* Called with true when the server's own code begins to run and with false when
 * it ends: for tests that make system calls or OpenSSL fail. */
extern void (*tls_server_hook)(bool is_server);

#endif /* KIN_TEST_TLS_SERVER_H */
