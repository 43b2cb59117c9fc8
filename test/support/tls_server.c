/* SPDX-License-Identifier: MIT */
#include "support/tls_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/x509.h>

#include "support/server_socket.h"
#include "support/sockets.h"

/* One accepted connection. */
typedef struct tls_peer {
  tls_server *server; /* NULL once closed */
  struct tls_peer *next;
  uv_poll_t poll;
  int fd;
  SSL *ssl;
  BIO *in;
  BIO *out;
  bool is_ready; /* the handshake is over */
  bool has_out;  /* wire bytes wait in `out` */
  request_reader request;
  const tls_reply *reply; /* being sent, or NULL */
} tls_peer;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,       \
              strerror(errno));                                                \
      ERR_print_errors_fp(stderr);                                             \
      abort();                                                                 \
    }                                                                          \
  } while (0)

void (*tls_server_hook)(bool is_server);

static void enter(void) {
  CHECK(ERR_peek_error() == 0);
  if (tls_server_hook != NULL) {
    tls_server_hook(true);
  }
}

static void leave(void) {
  ERR_clear_error();
  if (tls_server_hook != NULL) {
    tls_server_hook(false);
  }
}

/* --- Connections ---------------------------------------------------------- */

static void on_peer_closed(uv_handle_t *handle) {
  uv_poll_t *poll = (uv_poll_t *)handle;
  tls_peer *peer =
      (tls_peer *)(void *)((char *)poll - offsetof(tls_peer, poll));
  enter();
  SSL_free(peer->ssl);
  leave();
  free(peer);
}

static void close_peer(tls_peer *peer, bool is_reset) {
  tls_server *server = peer->server;
  tls_peer **link = &server->peers;
  while (*link != peer) {
    link = &(*link)->next;
  }
  *link = peer->next;
  server->open--;
  peer->server = NULL;
  if (is_reset) {
    server_will_reset(peer->fd);
  }
  uv_close((uv_handle_t *)&peer->poll, on_peer_closed);
  close(peer->fd);
}

static void on_peer_poll(uv_poll_t *poll, int status, int events);

static void poll_peer(tls_peer *peer) {
  int events = UV_READABLE | (peer->has_out ? UV_WRITABLE : 0);
  CHECK(uv_poll_start(&peer->poll, events, on_peer_poll) == 0);
}

/* What comes after a reply. Returns false if the connection is gone. */
static bool finish_reply(tls_peer *peer) {
  tls_then then = peer->reply->then;
  peer->reply = NULL;
  peer->server->replied++;
  if (then == TLS_KEEP || then == TLS_NOTIFY) {
    return true;
  }
  close_peer(peer, then == TLS_RESET);
  return false;
}

/* Sends a slice of the wire bytes. Returns false if the connection is gone. */
static bool flush(tls_peer *peer) {
  char *bytes;
  long length = BIO_get_mem_data(peer->out, &bytes);
  size_t slice = peer->server->options.slice;
  if (slice == 0 || (long)slice > length) {
    slice = (size_t)length;
  }
  if (slice > 0) {
    ssize_t n = send(peer->fd, bytes, slice, TEST_NO_SIGNAL);
    if (n < 0 && errno != EAGAIN) {
      close_peer(peer, false);
      return false;
    }
    char sent[65536];
    for (ssize_t left = n; left > 0;) {
      int taken = BIO_read(
          peer->out, sent,
          (int)(left < (ssize_t)sizeof sent ? left : (ssize_t)sizeof sent));
      CHECK(taken > 0);
      left -= taken;
    }
  }
  peer->has_out = BIO_ctrl_pending(peer->out) > 0;
  if (!peer->has_out && peer->reply != NULL && !finish_reply(peer)) {
    return false;
  }
  poll_peer(peer);
  return true;
}

static void write_plain(tls_peer *peer, const char *bytes, size_t length) {
  size_t record = peer->server->options.record;
  for (size_t at = 0; at < length;) {
    size_t count = length - at;
    if (record > 0 && count > record) {
      count = record;
    }
    CHECK(SSL_write(peer->ssl, bytes + at, (int)count) == (int)count);
    at += count;
  }
  peer->has_out = true;
}

static void start_reply(tls_peer *peer) {
  tls_server *server = peer->server;
  size_t i = server->requests++;
  if (server->reply_count == 0) {
    return;
  }
  const tls_reply *reply =
      &server->replies[i < server->reply_count ? i : server->reply_count - 1];
  size_t length = reply->length;
  if (length == 0 && reply->bytes != NULL) {
    length = strlen(reply->bytes);
  }
  peer->reply = reply;
  peer->has_out = true;
  write_plain(peer, reply->bytes, length);
  if (reply->then == TLS_CLOSE || reply->then == TLS_NOTIFY) {
    (void)SSL_shutdown(peer->ssl);
  }
}

static void take_request_bytes(tls_peer *peer, const char *bytes, size_t n) {
  tls_server *server = peer->server;
  for (size_t i = 0; i < n; i++) {
    if (request_reader_take(&peer->request, bytes[i], server->last_request,
                            sizeof server->last_request)) {
      start_reply(peer);
    }
  }
}

static void note_handshake(tls_peer *peer) {
  tls_server *server = peer->server;
  const char *name = SSL_get_servername(peer->ssl, TLSEXT_NAMETYPE_host_name);
  const unsigned char *protocol;
  unsigned length;
  peer->is_ready = true;
  server->handshakes++;
  server->resumed += SSL_session_reused(peer->ssl) != 0;
  snprintf(server->last_name, sizeof server->last_name, "%s",
           name != NULL ? name : "");
  SSL_get0_alpn_selected(peer->ssl, &protocol, &length);
  snprintf(server->last_protocol, sizeof server->last_protocol, "%.*s",
           (int)length, length > 0 ? (const char *)protocol : "");
  snprintf(server->last_version, sizeof server->last_version, "%s",
           SSL_get_version(peer->ssl));
  server->last_client[0] = '\0';
  X509 *client = SSL_get0_peer_certificate(peer->ssl);
  if (client != NULL) {
    X509_NAME_get_text_by_NID(X509_get_subject_name(client), NID_commonName,
                              server->last_client, sizeof server->last_client);
  }
}

/* Whatever the bytes in `in` allow. Returns false if the connection is gone. */
static bool go_on(tls_peer *peer) {
  ERR_clear_error();
  if (!peer->is_ready) {
    int result = SSL_do_handshake(peer->ssl);
    int error = SSL_get_error(peer->ssl, result);
    if (result != 1 && error != SSL_ERROR_WANT_READ) {
      peer->has_out = true; /* the alert */
      while (peer->has_out) {
        if (!flush(peer)) {
          return false;
        }
      }
      close_peer(peer, false);
      return false;
    }
    if (result == 1) {
      note_handshake(peer);
    }
  }
  while (peer->is_ready) {
    char bytes[4096];
    int n = SSL_read(peer->ssl, bytes, sizeof bytes);
    if (n <= 0) {
      break;
    }
    take_request_bytes(peer, bytes, (size_t)n);
  }
  peer->has_out = BIO_ctrl_pending(peer->out) > 0 || peer->reply != NULL;
  poll_peer(peer);
  return true;
}

static void read_peer(tls_peer *peer) {
  char bytes[16384];
  ssize_t n = recv(peer->fd, bytes, sizeof bytes, 0);
  if (n < 0 && errno == EAGAIN) {
    return;
  }
  const tls_server_options *options = &peer->server->options;
  if (n <= 0 || options->closes_at_hello || options->resets_at_hello) {
    close_peer(peer, options->resets_at_hello);
    return;
  }
  if (!peer->server->options.is_silent) {
    CHECK(BIO_write(peer->in, bytes, (int)n) == n);
    (void)go_on(peer);
  }
}

static void on_peer_poll(uv_poll_t *poll, int status, int events) {
  tls_peer *peer =
      (tls_peer *)(void *)((char *)poll - offsetof(tls_peer, poll));
  enter();
  if (status >= 0 && (events & UV_WRITABLE) != 0 && peer->has_out &&
      !flush(peer)) {
    leave();
    return;
  }
  if (status < 0 || (events & UV_READABLE) != 0) {
    read_peer(peer);
  }
  leave();
}

static void on_info(const SSL *ssl, int where, int value) {
  tls_server *server = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
  if (where == SSL_CB_READ_ALERT) {
    if ((value & 0xff) == SSL_AD_CLOSE_NOTIFY) {
      server->farewells++;
    } else {
      server->last_alert = value & 0xff;
    }
  }
}

static void accept_peer(tls_server *server) {
  int fd = server_accept(server->fd);
  if (fd < 0) {
    return; /* it has gone again */
  }
  tls_peer *peer = calloc(1, sizeof *peer);
  CHECK(peer != NULL && uv_poll_init(server->loop, &peer->poll, fd) == 0);
  peer->server = server;
  peer->fd = fd;
  peer->ssl = SSL_new(server->ctx);
  peer->in = BIO_new(BIO_s_mem());
  peer->out = BIO_new(BIO_s_mem());
  CHECK(peer->ssl != NULL && peer->in != NULL && peer->out != NULL);
  BIO_set_mem_eof_return(peer->in, -1);
  SSL_set_bio(peer->ssl, peer->in, peer->out);
  SSL_set_accept_state(peer->ssl);
  peer->next = server->peers;
  server->peers = peer;
  server->accepted++;
  server->open++;
  poll_peer(peer);
}

static void on_server_poll(uv_poll_t *poll, int status, int events) {
  (void)events;
  CHECK(status == 0);
  enter();
  accept_peer(
      (tls_server *)(void *)((char *)poll - offsetof(tls_server, poll)));
  leave();
}

/* --- The server ----------------------------------------------------------- */

static int select_protocol(SSL *ssl, const unsigned char **out,
                           unsigned char *length, const unsigned char *in,
                           unsigned in_length, void *ctx) {
  (void)ssl;
  (void)in;
  (void)in_length;
  const char *protocol = ctx;
  if (protocol[0] == '\0') {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = (const unsigned char *)protocol;
  *length = (unsigned char)strlen(protocol);
  return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *make_context(tls_server *server) {
  const tls_server_options *options = &server->options;
  const tls_cert *cert = options->certificate != NULL ? options->certificate
                                                      : &tls_pki_get()->server;
  SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
  CHECK(ctx != NULL);
  CHECK(SSL_CTX_use_certificate(ctx, cert->certificate) == 1);
  CHECK(SSL_CTX_use_PrivateKey(ctx, cert->key) == 1);
  CHECK(SSL_CTX_set_min_proto_version(ctx, options->min_version) == 1);
  CHECK(SSL_CTX_set_max_proto_version(ctx, options->max_version) == 1);
  if (options->max_version != 0 && options->max_version < TLS1_2_VERSION) {
    CHECK(SSL_CTX_set_cipher_list(ctx, "ALL:@SECLEVEL=0") == 1);
  }
  if (options->client_authority != NULL) {
    CHECK(X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx),
                              options->client_authority->certificate) == 1);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       NULL);
  }
  CHECK(SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"t", 1) ==
        1);
  SSL_CTX_set_alpn_select_cb(
      ctx, select_protocol,
      (void *)(options->protocol != NULL ? options->protocol : "http/1.1"));
  SSL_CTX_set_app_data(ctx, server);
  SSL_CTX_set_info_callback(ctx, on_info);
  return ctx;
}

void tls_server_open(tls_server *server, uv_loop_t *loop,
                     const tls_server_options *options,
                     const tls_reply *replies, size_t reply_count) {
  enter();
  memset(server, 0, sizeof *server);
  server->loop = loop;
  server->options = *options;
  server->replies = replies;
  server->reply_count = reply_count;
  server->last_alert = -1;
  server->ctx = make_context(server);
  server->fd = server_listen(&server->port, 64);
  CHECK(uv_poll_init(loop, &server->poll, server->fd) == 0);
  CHECK(uv_poll_start(&server->poll, UV_READABLE, on_server_poll) == 0);
  leave();
}

void tls_server_close(tls_server *server) {
  enter();
  tls_server_drop(server, TLS_CUT);
  uv_close((uv_handle_t *)&server->poll, NULL);
  close(server->fd);
  SSL_CTX_free(server->ctx);
  leave();
}

void tls_server_set_options(tls_server *server,
                            const tls_server_options *options) {
  enter();
  SSL_CTX_free(server->ctx);
  server->options = *options;
  server->ctx = make_context(server);
  leave();
}

void tls_server_drop(tls_server *server, tls_then then) {
  while (server->peers != NULL) {
    tls_peer *peer = server->peers;
    if (then == TLS_CLOSE && peer->is_ready) {
      (void)SSL_shutdown(peer->ssl);
      if (!flush(peer)) {
        continue;
      }
    }
    close_peer(peer, then == TLS_RESET);
  }
  ERR_clear_error();
}

void tls_server_push(tls_server *server, const char *bytes) {
  enter();
  for (tls_peer *peer = server->peers; peer != NULL; peer = peer->next) {
    write_plain(peer, bytes, strlen(bytes));
    poll_peer(peer);
  }
  leave();
}

void tls_server_update_keys(tls_server *server) {
  enter();
  for (tls_peer *peer = server->peers; peer != NULL; peer = peer->next) {
    CHECK((SSL_version(peer->ssl) == TLS1_3_VERSION
               ? SSL_key_update(peer->ssl, SSL_KEY_UPDATE_REQUESTED)
               : SSL_renegotiate(peer->ssl)) == 1);
    CHECK(SSL_do_handshake(peer->ssl) == 1);
    peer->has_out = true;
    poll_peer(peer);
  }
  leave();
}

void tls_server_send_sessions(tls_server *server) {
  enter();
  for (tls_peer *peer = server->peers; peer != NULL; peer = peer->next) {
    CHECK(SSL_new_session_ticket(peer->ssl) == 1);
    CHECK(SSL_do_handshake(peer->ssl) == 1);
    peer->has_out = true;
    poll_peer(peer);
  }
  leave();
}
