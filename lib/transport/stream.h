/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_STREAM_H
#define KIN_TRANSPORT_STREAM_H

#include <stddef.h>

struct kin__conn;

/* The layer between a socket and HTTP: nothing, or TLS. A stream takes wire
 * bytes from its connection and returns plain bytes, and the reverse:
 *
 *   socket -> receive() -> kin__conn_deliver() -> owner
 *   owner  -> send()    -> kin__conn_write()   -> socket
 *
 * The stream calls kin__conn_ready() once, when the owner may send. A function
 * that fails returns a negative code. To report more (a class other than
 * connect, a reason), it calls kin__conn_set_error() first. */
typedef struct kin__stream {
  const struct kin__stream_ops *ops;
  struct kin__conn *conn; /* set by kin__conn_open */
} kin__stream;

typedef struct kin__stream_ops {
  /* The socket is connected: the stream begins a handshake, or is ready at
   * once. */
  int (*open)(kin__stream *stream);
  /* Bytes from the socket, borrowed; may be decrypted in place. Delivers every
   * plain byte, but stops as soon as kin__conn_deliver returns false. Returns
   * 0, an error, or KIN__STREAM_ENDED: the peer has announced the end. */
  int (*receive)(kin__stream *stream, char *bytes, size_t length);
  /* The peer has closed its side. Returns 0 if the stream may end here,
   * KIN_EEOF if bytes were cut off. */
  int (*end)(kin__stream *stream);
  /* Bytes of the owner, borrowed. */
  int (*send)(kin__stream *stream, const char *bytes, size_t length);
  /* Our side closes. The stream may write a closing message, but must not
   * deliver. */
  void (*close)(kin__stream *stream);
  /* Frees the stream. Called from the loop, never while another of these
   * functions runs. */
  void (*free)(kin__stream *stream);
} kin__stream_ops;

#define KIN__STREAM_ENDED 1

/* Passes bytes through unchanged. Embedded in the connection. */
extern const kin__stream_ops kin__plain_stream_ops;

#endif /* KIN_TRANSPORT_STREAM_H */
