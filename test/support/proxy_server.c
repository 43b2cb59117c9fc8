/* SPDX-License-Identifier: MIT */
#include "support/proxy_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "support/check.h"
#include "support/server_socket.h"
#include "support/sockets.h"

typedef struct bytes {
  char *data;
  size_t length;
} bytes;

/* One side of a connection. */
typedef struct proxy_side {
  struct proxy_peer *peer;
  uv_poll_t poll;
  int fd; /* -1: not open */
  bytes out;
} proxy_side;

typedef struct proxy_peer {
  proxy_server *server; /* NULL once closed */
  struct proxy_peer *next;
  proxy_side client;
  proxy_side target;
  int handles; /* not yet closed */
  SSL *ssl;    /* with the client, or NULL */
  bytes in;    /* plain bytes of the client before there is a tunnel */
  int state;   /* SOCKS: messages answered */
  bool is_relay;
  bool is_scripted; /* says only options.answer from now on */
  bool ends_when_sent;
} proxy_peer;

static void append(bytes *to, const char *data, size_t length) {
  to->data = realloc(to->data, to->length + length + 1);
  CHECK(to->data != NULL);
  memcpy(to->data + to->length, data, length);
  to->length += length;
  to->data[to->length] = '\0';
}

static void consume(bytes *from, size_t count) {
  from->length -= count;
  if (from->length > 0) {
    memmove(from->data, from->data + count, from->length);
  }
}

static void on_side_closed(uv_handle_t *handle) {
  proxy_side *side =
      (proxy_side *)(void *)((char *)handle - offsetof(proxy_side, poll));
  proxy_peer *peer = side->peer;
  if (--peer->handles == 0) {
    SSL_free(peer->ssl);
    free(peer->in.data);
    free(peer->client.out.data);
    free(peer->target.out.data);
    free(peer);
  }
}

static void close_side(proxy_side *side, proxy_then then) {
  if (side->fd >= 0) {
    if (then == PROXY_RESET) {
      server_will_reset(side->fd);
    }
    uv_close((uv_handle_t *)&side->poll, on_side_closed);
    close(side->fd);
    side->fd = -1;
  }
}

static void close_peer(proxy_peer *peer, proxy_then then) {
  proxy_server *server = peer->server;
  proxy_peer **link = &server->peers;
  while (*link != peer) {
    link = &(*link)->next;
  }
  *link = peer->next;
  server->open--;
  peer->server = NULL;
  close_side(&peer->client, then);
  close_side(&peer->target, then);
}

static void on_side_poll(uv_poll_t *poll, int status, int events);

static bool has_to_write(const proxy_side *side) {
  const proxy_peer *peer = side->peer;
  return side->out.length > 0 ||
         (side == &peer->client && peer->ends_when_sent);
}

static void poll_side(proxy_side *side) {
  int events = UV_READABLE | (has_to_write(side) ? UV_WRITABLE : 0);
  CHECK(uv_poll_start(&side->poll, events, on_side_poll) == 0);
}

static void open_side(proxy_peer *peer, proxy_side *side, int fd) {
  side->peer = peer;
  side->fd = fd;
  CHECK(uv_poll_init(peer->server->loop, &side->poll, fd) == 0);
  peer->handles++;
  poll_side(side);
}

/* --- To the client -------------------------------------------------------- */

static void take_ciphertext(proxy_peer *peer) {
  char wire[4096];
  int count;
  while ((count = BIO_read(SSL_get_wbio(peer->ssl), wire, sizeof wire)) > 0) {
    append(&peer->client.out, wire, (size_t)count);
  }
}

static void say(proxy_peer *peer, const char *data, size_t length) {
  if (peer->ssl == NULL) {
    append(&peer->client.out, data, length);
  } else if (length > 0) {
    CHECK(SSL_write(peer->ssl, data, (int)length) == (int)length);
    take_ciphertext(peer);
  }
  poll_side(&peer->client);
}

static bool say_answer(proxy_peer *peer) {
  const proxy_server_options *options = &peer->server->options;
  if (options->answer == NULL) {
    return false;
  }
  peer->is_scripted = true;
  peer->ends_when_sent = options->then != PROXY_KEEP;
  say(peer, options->answer,
      options->answer_length > 0 ? options->answer_length
                                 : strlen(options->answer));
  return true;
}

static void refuse(proxy_peer *peer, const char *text, size_t length) {
  peer->ends_when_sent = true;
  peer->is_scripted = true;
  say(peer, text, length);
}

/* --- The tunnel ----------------------------------------------------------- */

static void connect_target(proxy_peer *peer) {
  struct sockaddr_in address = {
      .sin_family = AF_INET,
      .sin_port = htons((uint16_t)peer->server->options.target_port),
      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = test_socket_open();
  CHECK(fd >= 0);
  CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ||
        errno == EINPROGRESS);
  peer->is_relay = true;
  peer->server->tunnels++;
  open_side(peer, &peer->target, fd);
}

static void relay_input(proxy_peer *peer) {
  append(&peer->target.out, peer->in.data, peer->in.length);
  peer->in.length = 0;
  poll_side(&peer->target);
}

static void open_tunnel(proxy_peer *peer, const char *answer, size_t length) {
  const char *extra = peer->server->options.extra;
  char both[4096];
  size_t extra_length = extra != NULL ? strlen(extra) : 0;
  CHECK(length + extra_length <= sizeof both);
  memcpy(both, answer, length);
  memcpy(both + length, extra != NULL ? extra : "", extra_length);
  connect_target(peer);
  say(peer, both, length + extra_length);
  relay_input(peer);
}

/* --- HTTP ----------------------------------------------------------------- */

static bool has_login(const proxy_peer *peer) {
  const char *login = peer->server->options.login;
  char line[600];
  snprintf(line, sizeof line, "\r\nProxy-Authorization: %s\r\n",
           login != NULL ? login : "");
  return login == NULL || strstr(peer->server->last_head, line) != NULL;
}

static void take_head(proxy_peer *peer) {
  static const char ok[] = "HTTP/1.1 200 Connection established\r\n\r\n";
  static const char no[] = "HTTP/1.1 407 Proxy Authentication Required\r\n"
                           "Proxy-Authenticate: Basic\r\n"
                           "Content-Length: 5\r\n\r\nwrong";
  proxy_server *server = peer->server;
  const char *end = strstr(peer->in.data, "\r\n\r\n");
  if (end == NULL) {
    return;
  }
  size_t length = (size_t)(end - peer->in.data) + 4;
  snprintf(server->last_head, sizeof server->last_head, "%.*s", (int)length,
           peer->in.data);
  if (say_answer(peer)) {
    return;
  }
  if (!has_login(peer)) {
    refuse(peer, no, sizeof no - 1);
  } else if (strncmp(peer->in.data, "CONNECT ", 8) == 0) {
    consume(&peer->in, length);
    open_tunnel(peer, ok, sizeof ok - 1);
  } else {
    connect_target(peer); /* gets the whole request, and all that follow */
    relay_input(peer);
  }
}

/* --- SOCKS5 --------------------------------------------------------------- */

static void note_address(proxy_server *server, const unsigned char *in,
                         size_t length) {
  char text[INET6_ADDRSTRLEN] = "";
  unsigned port = (unsigned)in[length - 2] << 8 | in[length - 1];
  if (in[3] == 3) {
    snprintf(server->last_address, sizeof server->last_address, "name %.*s:%u",
             (int)in[4], (const char *)in + 5, port);
    return;
  }
  inet_ntop(in[3] == 1 ? AF_INET : AF_INET6, in + 4, text, sizeof text);
  snprintf(server->last_address, sizeof server->last_address, "%s %s:%u",
           in[3] == 1 ? "ip4" : "ip6", text, port);
}

/* The length of the message in hand, or 0 while it is not whole. */
static size_t socks_length(const proxy_peer *peer) {
  const unsigned char *in = (const unsigned char *)peer->in.data;
  size_t have = peer->in.length;
  size_t whole;
  if (peer->state == 0) {
    whole = have >= 2 ? 2u + in[1] : SIZE_MAX;
  } else if (peer->state == 1) {
    whole =
        have >= 2 && have >= 3u + in[1] ? 3u + in[1] + in[2 + in[1]] : SIZE_MAX;
  } else {
    whole = have < 5     ? SIZE_MAX
            : in[3] == 1 ? 10
            : in[3] == 4 ? 22
                         : 7u + in[4];
  }
  return have >= whole ? whole : 0;
}

static void take_socks(proxy_peer *peer) {
  proxy_server *server = peer->server;
  const unsigned char *in = (const unsigned char *)peer->in.data;
  size_t length = socks_length(peer);
  if (length == 0 || (peer->state == 0 && say_answer(peer))) {
    return;
  }
  if (peer->state == 0) {
    bool wants = server->options.login != NULL;
    bool has = memchr(in + 2, wants ? 2 : 0, in[1]) != NULL;
    consume(&peer->in, length);
    peer->state = wants ? 1 : 2;
    if (has) {
      say(peer, wants ? "\5\2" : "\5\0", 2);
    } else {
      refuse(peer, "\5\xff", 2);
    }
  } else if (peer->state == 1) {
    snprintf(server->last_login, sizeof server->last_login, "%.*s:%.*s",
             (int)in[1], (const char *)in + 2, (int)in[2 + in[1]],
             (const char *)in + 3 + in[1]);
    consume(&peer->in, length);
    peer->state = 2;
    if (strcmp(server->last_login, server->options.login) == 0) {
      say(peer, "\1\0", 2);
    } else {
      refuse(peer, "\1\1", 2);
    }
  } else {
    note_address(server, in, length);
    consume(&peer->in, length);
    open_tunnel(peer, "\5\0\0\3\2pp\0\1", 9);
  }
}

/* --- From both sides ------------------------------------------------------ */

static void take_plain(proxy_peer *peer, const char *data, size_t length) {
  if (peer->is_scripted) {
    return;
  }
  append(&peer->in, data, length);
  if (peer->is_relay) {
    relay_input(peer);
  } else if (peer->in.data[0] == 5 || peer->state > 0) {
    take_socks(peer);
  } else {
    take_head(peer);
  }
}

static void take_tls(proxy_peer *peer, const char *wire, size_t length) {
  CHECK(BIO_write(SSL_get_rbio(peer->ssl), wire, (int)length) == (int)length);
  ERR_clear_error();
  if (!SSL_is_init_finished(peer->ssl)) {
    int result = SSL_do_handshake(peer->ssl);
    bool has_failed =
        result != 1 && SSL_get_error(peer->ssl, result) != SSL_ERROR_WANT_READ;
    if (result == 1) {
      const char *name =
          SSL_get_servername(peer->ssl, TLSEXT_NAMETYPE_host_name);
      snprintf(peer->server->last_name, sizeof peer->server->last_name, "%s",
               name != NULL ? name : "");
    }
    peer->ends_when_sent = has_failed;
    take_ciphertext(peer);
    poll_side(&peer->client);
  }
  char plain[4096];
  int count;
  while (SSL_is_init_finished(peer->ssl) &&
         (count = SSL_read(peer->ssl, plain, sizeof plain)) > 0) {
    take_plain(peer, plain, (size_t)count);
  }
  if (SSL_get_shutdown(peer->ssl) & SSL_RECEIVED_SHUTDOWN) {
    peer->server->farewells++;
  }
  ERR_clear_error();
}

static void read_side(proxy_side *side) {
  proxy_peer *peer = side->peer;
  char data[4096];
  ssize_t count = recv(side->fd, data, sizeof data, 0);
  if (count < 0 && errno == EAGAIN) {
    return;
  }
  if (count <= 0) {
    proxy_side *other = side == &peer->client ? &peer->target : &peer->client;
    if (other->fd >= 0 && other->out.length > 0) {
      /* The last words, as far as there is room. */
      (void)send(other->fd, other->out.data, other->out.length, TEST_NO_SIGNAL);
    }
    close_peer(peer, count == 0 ? PROXY_CLOSE : PROXY_RESET);
  } else if (side == &peer->target) {
    say(peer, data, (size_t)count);
  } else if (peer->ssl != NULL) {
    take_tls(peer, data, (size_t)count);
  } else {
    take_plain(peer, data, (size_t)count);
  }
}

static void write_side(proxy_side *side) {
  proxy_peer *peer = side->peer;
  const proxy_server_options *options = &peer->server->options;
  size_t slice = side->out.length;
  if (side == &peer->client && options->slice > 0 && slice > options->slice) {
    slice = options->slice;
  }
  ssize_t count =
      slice > 0 ? send(side->fd, side->out.data, slice, TEST_NO_SIGNAL) : 0;
  if (count < 0 && errno != EAGAIN) {
    close_peer(peer, PROXY_CLOSE);
    return;
  }
  consume(&side->out, count > 0 ? (size_t)count : 0);
  if (side->out.length == 0 && peer->is_scripted && options->is_endless) {
    (void)say_answer(peer);
  } else if (side->out.length == 0 && side == &peer->client &&
             peer->ends_when_sent) {
    close_peer(peer, options->then);
    return;
  }
  poll_side(side);
}

static void on_side_poll(uv_poll_t *poll, int status, int events) {
  proxy_side *side =
      (proxy_side *)(void *)((char *)poll - offsetof(proxy_side, poll));
  proxy_peer *peer = side->peer;
  if (status < 0 || (events & UV_READABLE) != 0) {
    read_side(side);
  }
  if (peer->server != NULL && (events & UV_WRITABLE) != 0 &&
      has_to_write(side)) {
    write_side(side);
  }
}

static void start_tls(proxy_peer *peer) {
  peer->ssl = SSL_new(peer->server->ctx);
  CHECK(peer->ssl != NULL);
  SSL_set_bio(peer->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_accept_state(peer->ssl);
}

static void on_server_poll(uv_poll_t *poll, int status, int events) {
  (void)events;
  proxy_server *server =
      (proxy_server *)(void *)((char *)poll - offsetof(proxy_server, poll));
  CHECK(status == 0);
  int fd = server_accept(server->fd);
  if (fd < 0) {
    return; /* it has gone again */
  }
  proxy_peer *peer = calloc(1, sizeof *peer);
  CHECK(peer != NULL);
  peer->server = server;
  peer->next = server->peers;
  peer->target.fd = -1;
  server->peers = peer;
  server->accepted++;
  server->open++;
  if (server->ctx != NULL) {
    start_tls(peer);
  }
  open_side(peer, &peer->client, fd);
}

void proxy_server_set_options(proxy_server *server,
                              const proxy_server_options *options) {
  server->options = *options;
  SSL_CTX_free(server->ctx);
  server->ctx = NULL;
  if (options->certificate != NULL) {
    server->ctx = SSL_CTX_new(TLS_server_method());
    CHECK(server->ctx != NULL);
    CHECK(SSL_CTX_use_certificate(server->ctx,
                                  options->certificate->certificate) == 1);
    CHECK(SSL_CTX_use_PrivateKey(server->ctx, options->certificate->key) == 1);
  }
}

void proxy_server_open(proxy_server *server, uv_loop_t *loop,
                       const proxy_server_options *options) {
  *server = (proxy_server){.loop = loop};
  server->fd = server_listen(&server->port, 64);
  proxy_server_set_options(server, options);
  CHECK(uv_poll_init(loop, &server->poll, server->fd) == 0);
  CHECK(uv_poll_start(&server->poll, UV_READABLE, on_server_poll) == 0);
}

void proxy_server_close(proxy_server *server) {
  proxy_server_drop(server, PROXY_CLOSE);
  uv_close((uv_handle_t *)&server->poll, NULL);
  close(server->fd);
  SSL_CTX_free(server->ctx);
}

void proxy_server_drop(proxy_server *server, proxy_then then) {
  while (server->peers != NULL) {
    close_peer(server->peers, then);
  }
}
