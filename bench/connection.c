/* SPDX-License-Identifier: MIT */
#include "connection.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

/* OpenSSL by itself reads the five bytes of a record's head and then the
 * record. Reading ahead takes several records with one system call; of 17 KiB
 * to 1 MiB this needs the least CPU. */
enum { READ_AHEAD_BYTES = 64 * 1024 };

void die(const char *what) {
  fprintf(stderr, "receive_only: %s: %s\n", what,
          errno ? strerror(errno) : "failed");
  exit(1);
}

static void die_of_tls(const char *what) {
  const char *reason = ERR_reason_error_string(ERR_peek_error());
  fprintf(stderr, "receive_only: %s: %s\n", what,
          reason  ? reason
          : errno ? strerror(errno)
                  : "failed");
  exit(1);
}

/* ---- TLS */

static void make_context(security *s) {
  s->context = SSL_CTX_new(TLS_client_method());
  if (!s->context ||
      SSL_CTX_set_min_proto_version(s->context, TLS1_2_VERSION) != 1) {
    die_of_tls("TLS");
  }
  SSL_CTX_set_read_ahead(s->context, 1);
  SSL_CTX_set_default_read_buffer_len(s->context, READ_AHEAD_BYTES);
  if (!s->authority_file) {
    return;
  }
  SSL_CTX_set_verify(s->context, SSL_VERIFY_PEER, NULL);
  if (SSL_CTX_load_verify_file(s->context, s->authority_file) != 1) {
    die_of_tls(s->authority_file);
  }
}

static void set_host(SSL *ssl, const char *host) {
  X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
  if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1) {
    return;
  }
  ERR_clear_error();
  if (SSL_set1_host(ssl, host) != 1 ||
      SSL_set_tlsext_host_name(ssl, host) != 1) {
    die_of_tls(host);
  }
}

static SSL *shake_hands(security *s, int fd, const char *host) {
  if (!s->context) {
    make_context(s);
  }
  SSL *ssl = SSL_new(s->context);
  if (!ssl || SSL_set_fd(ssl, fd) != 1) {
    die_of_tls("TLS");
  }
  set_host(ssl, host);
  if (SSL_connect(ssl) != 1) {
    die_of_tls("handshake");
  }
  return ssl;
}

static size_t receive_tls(connection *c, char *buffer, size_t size) {
  int n = SSL_read(c->ssl, buffer, size < INT_MAX ? (int)size : INT_MAX);
  if (n <= 0) {
    if (SSL_get_error(c->ssl, n) != SSL_ERROR_ZERO_RETURN) {
      die_of_tls("SSL_read");
    }
    return 0;
  }
  return (size_t)n;
}

/* ---- connections */

static int dial(const char *host, const char *port) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo *addresses;
  if (getaddrinfo(host, port, &hints, &addresses) != 0) {
    die(host);
  }
  int fd = -1;
  for (struct addrinfo *a = addresses; a && fd < 0; a = a->ai_next) {
    fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
      close(fd);
      fd = -1;
    }
  }
  freeaddrinfo(addresses);
  if (fd < 0) {
    die("connect");
  }
  return fd;
}

connection connection_open(security *s, const char *host, const char *port) {
  connection c = {.fd = dial(host, port)};
  if (s->is_tls) {
    c.ssl = shake_hands(s, c.fd, host);
  }
  return c;
}

void connection_send(connection *c, const char *bytes, size_t length) {
  if (c->ssl) {
    if (SSL_write(c->ssl, bytes, (int)length) != (int)length) {
      die_of_tls("SSL_write");
    }
    return;
  }
  for (size_t sent = 0; sent < length;) {
    ssize_t n = send(c->fd, bytes + sent, length - sent, MSG_NOSIGNAL);
    if (n < 0) {
      die("send");
    }
    sent += (size_t)n;
  }
}

size_t connection_receive(connection *c, char *buffer, size_t size) {
  if (c->ssl) {
    return receive_tls(c, buffer, size);
  }
  for (;;) {
    ssize_t n = recv(c->fd, buffer, size, 0);
    if (n >= 0) {
      return (size_t)n;
    }
    if (errno != EINTR) {
      die("recv");
    }
  }
}

void connection_close(connection *c) {
  SSL_free(c->ssl);
  close(c->fd);
}

const char *connection_cipher(const connection *c) {
  return c->ssl ? SSL_get_cipher_name(c->ssl) : "plain";
}

void security_finish(security *s) {
  SSL_CTX_free(s->context);
}
