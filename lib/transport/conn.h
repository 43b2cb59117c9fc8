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

/* A connected socket with a stream on top. A connection has one owner at a
 * time: an exchange, or the pool. Only its task reads from it, one recv a step.
 * Its memory stays until libuv has let go of the poll handle, so code that runs
 * inside a step may close the connection at any time. */
typedef struct kin__conn kin__conn;

/* Room for "proxy " and an address. */
#define KIN__CONN_PEER_SIZE (KIN__ADDRESS_TEXT_SIZE + 6)

/* Events for the owner, called from a step. In each of them the owner may close
 * the connection or hand it on. */
typedef struct kin__conn_events {
  /* The owner may send. Called once in the life of a connection. */
  void (*on_ready)(kin__conn *conn);
  /* Borrowed bytes. */
  void (*on_bytes)(kin__conn *conn, const char *bytes, size_t length);
  /* The stream has ended; `error` is NULL if the peer has ended it in order.
   * The owner must close the connection before it returns. */
  void (*on_end)(kin__conn *conn, const kin__conn_error *error);
  /* The socket has taken the bytes that were queued. May only schedule a task;
   * may be NULL. */
  void (*on_flushed)(kin__conn *conn);
} kin__conn_events;

struct kin__conn {
  kin__net *net;
  kin__link node; /* in net->conns while open, then in net->closed_conns */
  const kin__conn_events *events;
  void *owner;
  kin__stream *stream; /* the lowest */
  kin__stream *top;
  uint64_t serial;     /* the net's first is 1 */
  uint64_t sent_bytes; /* wire bytes that the socket has taken */
  int send_error;
  int fd;           /* -1 once its net has closed it */
  int polled;       /* events that poll waits for; 0 if stopped */
  unsigned edition; /* of the certificates it was opened with */
  bool is_closed;
  bool is_opened;  /* the stream's open() has been called */
  bool is_ready;   /* the stream called kin__conn_ready */
  bool is_reading; /* not paused */
  bool is_watching_peer;
  bool has_watch;  /* the owner's exchange is a watch */
  bool is_delayed; /* waits in the net's read_delay, is not polled for input */

  uint8_t read_shift; /* of the owner's request */

  kin__task task;
  kin__buf out; /* wire bytes for which the socket had no room */
  kin__stream plain;
  kin__release gone;

  /* The pool's: since when the connection is idle. With an exchange: of the
   * last read that left the socket empty. */
  kin__link waiting_node;
  uint64_t since_ms;

  uv_poll_t poll;
  char peer[]; /* at most KIN__CONN_PEER_SIZE */
};

/* Takes fd and the stack of streams with this top; NULL: plain bytes. On an
 * error both stay the caller's. Errors: KIN_ENOMEM, and libuv's. */
int kin__conn_open(kin__conn **out, kin__net *net, int fd, const char *peer,
                   kin__stream *top);

/* No further event comes. Unsent bytes are dropped. A task of the net closes
 * the socket. */
void kin__conn_close(kin__conn *conn);

/* For the net: prepares the closing of its connections. */
void kin__conn_init_closing(kin__net *net);

/* From now on `events` are called, and conn->owner is `owner`. `events` is
 * borrowed. Must be called before the first step and at every change of
 * owner. */
void kin__conn_set_owner(kin__conn *conn, const kin__conn_events *events,
                         void *owner);

/* Sends what the socket takes at once and keeps the rest. Errors of the network
 * come later, through on_end. Errors: KIN_ENOMEM, KIN_ETOOBIG, and the
 * stream's. */
int kin__conn_send(kin__conn *conn, const char *bytes, size_t length);

/* The details of an error that kin__conn_send has just returned; NULL: none. */
const kin__conn_error *kin__conn_get_error(const kin__conn *conn, int code);

/* Whether the kernel has taken all sent bytes. */
bool kin__conn_is_flushed(const kin__conn *conn);

/* The event that the connection waits for until it is ready. Static. */
const char *kin__conn_missing(const kin__conn *conn);

/* Whether the socket has something to read. */
bool kin__conn_has_input(const kin__conn *conn);

/* Stops and continues reading. The connection must be ready: a handshake must
 * be read. */
void kin__conn_pause(kin__conn *conn);
void kin__conn_resume(kin__conn *conn);

/* A watch begins: turns keep-alive probes and the user timeout on, for good. */
void kin__conn_begin_watch(kin__conn *conn);

/* Applies net->is_ref to all connections. */
void kin__conn_update_refs(kin__net *net);

/* For the topmost stream: the owner may send. */
void kin__conn_ready(kin__conn *conn);
/* Gives plain bytes to the owner, borrowed. Returns false if the connection was
 * closed meanwhile. If the owner changed meanwhile, the rest must still be
 * delivered: the pool then knows that the server sent more than a response. */
bool kin__conn_deliver(kin__conn *conn, const char *bytes, size_t length);
/* Wire bytes for the socket. Errors: KIN_ENOMEM, KIN_ETOOBIG. */
int kin__conn_write(kin__conn *conn, const char *bytes, size_t length);
/* Stores the details for on_end, or for the caller of kin__conn_send; returns
 * code, which must be passed on at once. */
int kin__conn_set_error(kin__conn *conn, int code, kin_error_class error_class,
                        const char *reason);

#endif /* KIN_TRANSPORT_CONN_H */
