/* SPDX-License-Identifier: MIT */
#include "support/loop_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "support/server_socket.h"
#include "support/sockets.h"

/* One accepted connection. */
typedef struct loop_peer {
  loop_server *server; /* NULL once closed */
  struct loop_peer *next;
  uv_poll_t poll;
  int fd;
  request_reader request;
  const loop_reply *reply; /* being sent, or NULL */
  size_t sent;
} loop_peer;

static void on_peer_closed(uv_handle_t *handle) {
  uv_poll_t *poll = (uv_poll_t *)handle;
  free((char *)poll - offsetof(loop_peer, poll));
}

static void close_peer(loop_peer *peer, loop_then then) {
  loop_server *server = peer->server;
  loop_peer **link = &server->peers;
  while (*link != peer) {
    link = &(*link)->next;
  }
  *link = peer->next;
  server->open--;
  peer->server = NULL;
  if (then == LOOP_RESET) {
    server_will_reset(peer->fd);
  }
  uv_close((uv_handle_t *)&peer->poll, on_peer_closed);
  close(peer->fd);
}

static void on_peer_poll(uv_poll_t *poll, int status, int events);

static void poll_peer(loop_peer *peer) {
  int events = 0;
  if (peer->reply == NULL || !peer->reply->is_rude) {
    events |= UV_READABLE;
  }
  if (peer->reply != NULL) {
    events |= UV_WRITABLE;
  }
  CHECK(uv_poll_start(&peer->poll, events, on_peer_poll) == 0);
}

/* Sends a slice. Returns false if the connection is gone. */
static bool send_slice(loop_peer *peer) {
  loop_server *server = peer->server;
  const loop_reply *reply = peer->reply;
  size_t length = reply->length;
  if (length == 0 && reply->bytes != NULL) {
    length = strlen(reply->bytes);
  }
  size_t slice = length - peer->sent;
  if (reply->slice > 0 && slice > reply->slice) {
    slice = reply->slice;
  }
  if (slice > 0) {
    ssize_t n =
        send(peer->fd, reply->bytes + peer->sent, slice, TEST_NO_SIGNAL);
    if (n < 0 && errno != EAGAIN) {
      close_peer(peer, LOOP_CLOSE);
      return false;
    }
    peer->sent += n > 0 ? (size_t)n : 0;
  }
  if (peer->sent == length) {
    peer->reply = NULL;
    server->replied++;
    if (reply->then != LOOP_KEEP) {
      close_peer(peer, reply->then);
      return false;
    }
    poll_peer(peer);
  }
  return true;
}

static void start_reply(loop_peer *peer) {
  loop_server *server = peer->server;
  size_t i = server->requests++;
  if (server->reply_count == 0) {
    return;
  }
  peer->reply =
      &server->replies[i < server->reply_count ? i : server->reply_count - 1];
  peer->sent = 0;
  poll_peer(peer);
}

static void take_request_bytes(loop_peer *peer, const char *bytes, size_t n) {
  loop_server *server = peer->server;
  for (size_t i = 0; i < n; i++) {
    if (request_reader_take(&peer->request, bytes[i], server->last_request,
                            sizeof server->last_request)) {
      start_reply(peer);
    }
  }
}

static void on_peer_poll(uv_poll_t *poll, int status, int events) {
  loop_peer *peer =
      (loop_peer *)(void *)((char *)poll - offsetof(loop_peer, poll));
  if (status < 0 || (events & UV_READABLE) != 0) {
    char bytes[4096];
    size_t size = peer->server->read_at_once;
    ssize_t n = recv(peer->fd, bytes,
                     size > 0 && size < sizeof bytes ? size : sizeof bytes, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
      close_peer(peer, LOOP_CLOSE);
      return;
    }
    if (n > 0) {
      peer->server->received += (size_t)n;
      take_request_bytes(peer, bytes, (size_t)n);
    }
  }
  if ((events & UV_WRITABLE) != 0 && peer->reply != NULL) {
    (void)send_slice(peer);
  }
}

static void on_server_poll(uv_poll_t *poll, int status, int events) {
  (void)events;
  loop_server *server =
      (loop_server *)(void *)((char *)poll - offsetof(loop_server, poll));
  CHECK(status == 0);
  int fd = server_accept(server->fd);
  if (fd < 0) {
    return; /* it has gone again */
  }
  loop_peer *peer = calloc(1, sizeof *peer);
  CHECK(peer != NULL && uv_poll_init(server->loop, &peer->poll, fd) == 0);
  peer->server = server;
  peer->fd = fd;
  peer->next = server->peers;
  server->peers = peer;
  server->accepted++;
  server->open++;
  size_t i = server->requests;
  if (server->reply_count > 0) {
    i = i < server->reply_count ? i : server->reply_count - 1;
    if (server->replies[i].is_rude) {
      start_reply(peer);
      return;
    }
  }
  poll_peer(peer);
}

static void start_to_listen(loop_server *server) {
  CHECK(uv_poll_init(server->loop, &server->poll, server->fd) == 0);
  CHECK(uv_poll_start(&server->poll, UV_READABLE, on_server_poll) == 0);
}

void loop_server_open(loop_server *server, uv_loop_t *loop,
                      const loop_reply *replies, size_t reply_count) {
  *server = (loop_server){
      .loop = loop, .replies = replies, .reply_count = reply_count};
  server->fd = server_listen(&server->port, 64);
  snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d",
           server->port);
  start_to_listen(server);
}

void loop_server_open_unix(loop_server *server, uv_loop_t *loop,
                           const char *path, const loop_reply *replies,
                           size_t reply_count) {
  *server = (loop_server){
      .loop = loop, .replies = replies, .reply_count = reply_count};
  server->fd = server_listen_unix(path);
  start_to_listen(server);
}

void loop_server_close(loop_server *server) {
  loop_server_drop(server, LOOP_CLOSE);
  uv_close((uv_handle_t *)&server->poll, NULL);
  close(server->fd);
}

void loop_server_answer(loop_server *server, const loop_reply *replies,
                        size_t reply_count) {
  server->replies = replies;
  server->reply_count = reply_count;
}

void loop_server_drop(loop_server *server, loop_then then) {
  while (server->peers != NULL) {
    close_peer(server->peers, then);
  }
}

void loop_server_push(loop_server *server, const char *bytes) {
  loop_server_push_bytes(server, bytes, strlen(bytes));
}

void loop_server_push_bytes(loop_server *server, const char *bytes,
                            size_t length) {
  for (loop_peer *peer = server->peers; peer != NULL; peer = peer->next) {
    CHECK(send(peer->fd, bytes, length, TEST_NO_SIGNAL) > 0);
  }
}

int loop_unused_port(void) {
  return server_unused_port();
}

void loop_black_hole_open(loop_black_hole *hole) {
  hole->listener = server_listen(&hole->port, 0);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)hole->port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  for (size_t i = 0; i < sizeof hole->fillers / sizeof hole->fillers[0]; i++) {
    int fd = test_socket_open();
    CHECK(fd >= 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ||
          errno == EINPROGRESS);
    hole->fillers[i] = fd;
  }
}

static void close_fillers(loop_black_hole *hole) {
  for (size_t i = 0; i < sizeof hole->fillers / sizeof hole->fillers[0]; i++) {
    if (hole->fillers[i] >= 0) {
      close(hole->fillers[i]);
      hole->fillers[i] = -1;
    }
  }
}

void loop_black_hole_drain(loop_black_hole *hole) {
  close_fillers(hole);
  int fd;
  while ((fd = accept(hole->listener, NULL, NULL)) >= 0) {
    close(fd);
  }
}

void loop_black_hole_close(loop_black_hole *hole) {
  close_fillers(hole);
  close(hole->listener);
}
