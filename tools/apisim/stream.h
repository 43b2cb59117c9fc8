/* SPDX-License-Identifier: MIT */
#ifndef APISIM_STREAM_H
#define APISIM_STREAM_H

/* A two-way byte stream to one client.
 *
 * Connections know only this interface, so that another layer (TLS) can be put
 * between HTTP and the socket: it implements stream_ops itself and owns the
 * stream below. stream_accept_tcp() makes the plain one, tls_stream.h the
 * other.
 *
 * Rules: one write at a time; after stream_close() no event comes but
 * on_closed, and the stream frees itself after it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

typedef struct stream stream;

typedef struct stream_events {
  void (*on_read)(void *data, const char *bytes, size_t len);
  /* The peer will send no more: error is 0 after a clean end, else a libuv
   * code. Once. */
  void (*on_end)(void *data, int error);
  /* The last stream_write() is done, or failed with a libuv code. */
  void (*on_written)(void *data, int error);
  void (*on_closed)(void *data);
} stream_events;

typedef struct stream_ops {
  void (*set_reading)(stream *s, bool on);
  void (*write)(stream *s, const uv_buf_t *bufs, unsigned count);
  void (*shutdown)(stream *s);
  void (*close)(stream *s, bool reset);
  /* NULL if what is written is what goes over the wire. */
  void (*set_pieces)(stream *s, size_t bytes, uint32_t delay_ms);
} stream_ops;

struct stream {
  const stream_ops *ops;
  const stream_events *events;
  void *data;
};

/* Accepts the connection that waits on listener. Returns 0 and a stream, or a
 * libuv error. */
int stream_accept_tcp(uv_stream_t *listener, const stream_events *events,
                      void *data, stream **out);

/* Starts or stops reading. Idempotent. */
void stream_set_reading(stream *s, bool on);
/* Sends the bytes, which must stay valid until on_written. */
void stream_write(stream *s, const uv_buf_t *bufs, unsigned count);
/* Ends our side in good order (FIN, after TLS's close_notify), when everything
 * is written; reading goes on. Idempotent. */
void stream_shutdown(stream *s);
/* Closes both sides at once; reset sends RST instead of FIN. */
void stream_close(stream *s, bool reset);
/* From now on the wire gets at most bytes at a time (0 = as it comes), with a
 * pause in between, wherever that cuts the stream's own framing. False if the
 * stream has none: then writes of that size do the same. */
bool stream_set_pieces(stream *s, size_t bytes, uint32_t delay_ms);

#endif
