/* SPDX-License-Identifier: MIT */
#ifndef BENCH_CONNECTION_H
#define BENCH_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/types.h>

/* A blocking connection, plain or over TLS, for the program that measures the
 * limit. Every failure ends the program with a word. */
typedef struct connection {
  int fd;
  SSL *ssl; /* NULL: plain */
} connection;

/* What the connections of a run share; begins zeroed, for plain ones. */
typedef struct security {
  bool is_tls;
  const char *authority_file; /* PEM; NULL: nothing is verified */
  SSL_CTX *context;           /* made by the first connection */
} security;

connection connection_open(security *s, const char *host, const char *port);

void connection_send(connection *c, const char *bytes, size_t length);

/* What has come, up to `size` bytes; 0 at the end. */
size_t connection_receive(connection *c, char *buffer, size_t size);

void connection_close(connection *c);

/* "plain", or the TLS version and cipher; static or OpenSSL's. */
const char *connection_cipher(const connection *c);

void security_finish(security *s);

/* Ends the program, with errno's text if it is set. */
void die(const char *what);

#endif /* BENCH_CONNECTION_H */
