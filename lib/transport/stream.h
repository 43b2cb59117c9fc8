/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_STREAM_H
#define KIN_TRANSPORT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

struct kin__conn;

/* A layer between a socket and HTTP: nothing, TLS, or a proxy's tunnel. Layers
 * can be stacked: TLS in a tunnel in TLS. A stream takes wire bytes from the
 * layer below and returns plain bytes to the layer above, and the reverse:
 *
 *   socket -> receive() -> kin__stream_deliver() -> receive() ... -> owner
 *   owner  -> send()    -> kin__stream_write()   -> send()    ... -> socket
 *
 * A stream calls kin__stream_become_ready() once, when the layer above may
 * send; this opens the stream above. A function that fails returns a negative
 * code. To report more (a class other than connect, a reason), it calls
 * kin__conn_set_error() first. */
typedef struct kin__stream {
  const struct kin__stream_ops *ops;
  struct kin__conn *conn;    /* set by kin__conn_open */
  struct kin__stream *below; /* NULL: the socket */
  struct kin__stream *above; /* NULL: the connection's owner */
  bool is_ready;
} kin__stream;

typedef struct kin__stream_ops {
  /* The layer below is connected: the stream begins a handshake, or is ready at
   * once. */
  int (*open)(kin__stream *stream);
  /* Bytes from below, borrowed; may be decrypted in place. Delivers every plain
   * byte, but stops as soon as the connection is closed. Returns 0, an error,
   * or KIN__STREAM_ENDED: the peer has announced the end. */
  int (*receive)(kin__stream *stream, char *bytes, size_t length);
  /* The peer has closed its side. Returns 0 if this stream and those above may
   * end here, KIN_EEOF if bytes were cut off. */
  int (*end)(kin__stream *stream);
  /* Bytes of the owner, borrowed. */
  int (*send)(kin__stream *stream, const char *bytes, size_t length);
  /* Our side closes. The stream may write a closing message, but must not
   * deliver. */
  void (*close)(kin__stream *stream);
  /* Frees the stream. Called from the loop, never while another of these
   * functions runs. */
  void (*free)(kin__stream *stream);
  /* The step that is missing until the stream is ready: "no TLS handshake". */
  const char *missing;
} kin__stream_ops;

#define KIN__STREAM_ENDED 1

/* Puts a stream, unless it is NULL, on the stack with this top, which is NULL
 * at first. */
void kin__stream_stack(kin__stream **top, kin__stream *stream);
/* Frees a whole stack, given its top, which may be NULL. */
void kin__stream_free_stack(kin__stream *top);

/* For streams. Each may close the connection, which conn->is_closed then
 * says. */

/* The layer above may send: opens it, or tells the owner. Returns its error. */
int kin__stream_become_ready(kin__stream *stream);
/* Gives plain bytes up, borrowed; they may be changed. Returns 0, an error, or
 * KIN__STREAM_ENDED. */
int kin__stream_deliver(kin__stream *stream, char *bytes, size_t length);
/* The peer has ended this stream in order. Returns KIN__STREAM_ENDED, or the
 * error of a layer above that may not end here. */
int kin__stream_end_above(kin__stream *stream);
/* Wire bytes for the layer below. Errors: KIN_ENOMEM, KIN_ETOOBIG, and those of
 * the layer below. */
int kin__stream_write(kin__stream *stream, const char *bytes, size_t length);

/* Passes bytes through unchanged. Embedded in the connection. */
extern const kin__stream_ops kin__plain_stream_ops;

#endif /* KIN_TRANSPORT_STREAM_H */
