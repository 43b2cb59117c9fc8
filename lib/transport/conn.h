/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_CONN_H
#define KIN_TRANSPORT_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <kin/error.h>

#include "base/buf.h"
#include "transport/net.h"
#include "transport/socket.h"
#include "transport/stream.h"

/* A connected socket with a stream on top. It belongs to one owner at a time:
 * an exchange, or the pool. It is read from its task only, one recv a step, and
 * its memory stays until libuv has let go of the poll handle, so code that runs
 * on top of a step may close it at any time. */
typedef struct kin__conn kin__conn;

typedef struct kin__conn_error {
  int code;
  kin_error_class error_class;
  char reason[240];
} kin__conn_error;

/* What the owner hears, from a step; it may close the connection, or hand it
 * on, in each of these. */
typedef struct kin__conn_events {
  /* The owner may send. Once in the life of a connection. */
  void (*on_ready)(kin__conn *conn);
  /* Borrowed bytes. */
  void (*on_bytes)(kin__conn *conn, const char *bytes, size_t length);
  /* Nothing more comes: NULL if the peer has ended the stream in order. The
   * owner must close the connection before it returns. */
  void (*on_end)(kin__conn *conn, const kin__conn_error *error);
} kin__conn_events;

struct kin__conn {
  kin__net *net;
  kin__link node; /* in net->conns while open */
  const kin__conn_events *events;
  void *owner;
  char peer[KIN__ADDRESS_TEXT_SIZE];
  uint64_t serial; /* the net's first is 1 */

  /* The pool's. */
  kin__link idle_node;
  uint64_t idle_since_ms;

  int fd; /* -1 once closed */
  uv_poll_t poll;
  int polled; /* events that poll waits for; 0 if stopped */
  kin__release gone;
  kin__task task;

  kin__stream *stream;
  kin__stream plain;
  kin__buf out; /* wire bytes that the socket had no room for */
  int send_error;
  kin__conn_error error;
  bool is_opened;  /* the stream's open() has been called */
  bool is_ready;   /* the stream has said so */
  bool is_reading; /* not paused */
  bool is_watching_peer;
};

/* Takes fd and, unless it is NULL (plain), the stream; on failure both stay the
 * caller's. Errors: KIN_ENOMEM, and libuv's. */
int kin__conn_open(kin__conn **out, kin__net *net, int fd, const char *peer,
                   kin__stream *stream);

/* No event comes any more; bytes that are not yet sent are dropped. */
void kin__conn_close(kin__conn *conn);

/* From now on `events` are called, with conn->owner being `owner`. `events` is
 * borrowed. Must be called before the first step and on every change of
 * hands. */
void kin__conn_set_owner(kin__conn *conn, const kin__conn_events *events,
                         void *owner);

/* Sends what the socket takes at once and keeps the rest. What the network says
 * comes through on_end, later. Errors: KIN_ENOMEM, KIN_ETOOBIG, and the
 * stream's. */
int kin__conn_send(kin__conn *conn, const char *bytes, size_t length);

/* Whether everything sent has left for the kernel. */
bool kin__conn_is_flushed(const kin__conn *conn);

/* Whether the socket has something to read. */
bool kin__conn_has_input(const kin__conn *conn);

/* Stops and continues reading. Not before the connection is ready: a handshake
 * must be read. */
void kin__conn_pause(kin__conn *conn);
void kin__conn_resume(kin__conn *conn);

/* Arms keep-alive probes and the user timeout; they stay. */
void kin__conn_watch_peer(kin__conn *conn);

/* Applies net->is_ref to all connections. */
void kin__conn_update_refs(kin__net *net);

/* For streams: the owner may send. */
void kin__conn_ready(kin__conn *conn);
/* Plain bytes for the owner, borrowed. Returns false if the connection was
 * closed meanwhile. After it changed hands the rest must still be delivered: it
 * tells the pool that the server sent more than a response. */
bool kin__conn_deliver(kin__conn *conn, const char *bytes, size_t length);
/* Wire bytes for the socket. Errors: KIN_ENOMEM, KIN_ETOOBIG. */
int kin__conn_write(kin__conn *conn, const char *bytes, size_t length);
/* Remembers details for on_end and returns code. */
int kin__conn_set_error(kin__conn *conn, int code, kin_error_class error_class,
                        const char *reason);

#endif /* KIN_TRANSPORT_CONN_H */
