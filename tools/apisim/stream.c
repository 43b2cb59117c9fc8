/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <assert.h>
#include <stdlib.h>

#include "mem.h"

enum { READ_BYTES = 64 * 1024 };

typedef struct tcp_stream {
  stream base;
  uv_tcp_t handle;
  uv_write_t write;
  uv_shutdown_t shutdown;
  bool writing;
  bool reading;
  bool shut;
  bool closing;
} tcp_stream;

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out) {
  /* One buffer for all: what is read is handed on before the next read. */
  static char in[READ_BYTES];
  (void)handle;
  (void)suggested;
  *out = uv_buf_init(in, sizeof in);
}

static void on_read(uv_stream_t *handle, ssize_t count, const uv_buf_t *bytes) {
  tcp_stream *t = handle->data;
  if (count > 0) {
    t->base.events->on_read(t->base.data, bytes->base, (size_t)count);
  } else if (count < 0) {
    uv_read_stop(handle);
    t->reading = false;
    int error = count == UV_EOF ? 0 : (int)count;
    t->base.events->on_end(t->base.data, error);
  }
}

static void tcp_set_reading(stream *s, bool on) {
  tcp_stream *t = (tcp_stream *)s;
  if (on == t->reading || t->closing) {
    return;
  }
  t->reading = on;
  if (on) {
    uv_read_start((uv_stream_t *)&t->handle, on_alloc, on_read);
  } else {
    uv_read_stop((uv_stream_t *)&t->handle);
  }
}

static void on_written(uv_write_t *req, int error) {
  tcp_stream *t = req->data;
  t->writing = false;
  if (!t->closing) {
    t->base.events->on_written(t->base.data, error);
  }
}

static void tcp_write(stream *s, const uv_buf_t *bufs, unsigned count) {
  tcp_stream *t = (tcp_stream *)s;
  assert(!t->writing && !t->closing);
  t->writing = true;
  t->write.data = t;
  int rc =
      uv_write(&t->write, (uv_stream_t *)&t->handle, bufs, count, on_written);
  assert(rc == 0 || rc == UV_ENOMEM || rc == UV_EPIPE || rc == UV_EBADF);
  if (rc != 0) {
    t->writing = false;
    t->base.events->on_written(t->base.data, rc);
  }
}

static void on_shutdown(uv_shutdown_t *req, int error) {
  (void)req;
  (void)error;
}

static void tcp_shutdown(stream *s) {
  tcp_stream *t = (tcp_stream *)s;
  if (!t->shut && !t->closing) {
    t->shut = true;
    uv_shutdown(&t->shutdown, (uv_stream_t *)&t->handle, on_shutdown);
  }
}

static void on_closed(uv_handle_t *handle) {
  tcp_stream *t = handle->data;
  t->base.events->on_closed(t->base.data);
  free(t);
}

static void tcp_close(stream *s, bool reset) {
  tcp_stream *t = (tcp_stream *)s;
  if (t->closing) {
    return;
  }
  t->closing = true;
  /* libuv refuses a reset after a shutdown, and after any failure the plain
   * close is all that is left. */
  if (reset && !t->shut && uv_tcp_close_reset(&t->handle, on_closed) == 0) {
    return;
  }
  uv_close((uv_handle_t *)&t->handle, on_closed);
}

static const stream_ops TCP_OPS = {tcp_set_reading, tcp_write, tcp_shutdown,
                                   tcp_close, NULL};

static void on_rejected(uv_handle_t *handle) {
  free(handle->data);
}

int stream_accept_tcp(uv_stream_t *listener, const stream_events *events,
                      void *data, stream **out) {
  *out = NULL;
  tcp_stream *t = xcalloc(1, sizeof *t);
  t->base = (stream){&TCP_OPS, events, data};
  t->handle.data = t;
  int rc = uv_tcp_init(listener->loop, &t->handle);
  if (rc != 0) {
    free(t);
    return rc;
  }
  rc = uv_accept(listener, (uv_stream_t *)&t->handle);
  if (rc != 0) {
    uv_close((uv_handle_t *)&t->handle, on_rejected);
    return rc;
  }
  uv_tcp_nodelay(&t->handle, 1);
  *out = &t->base;
  return 0;
}

void stream_set_reading(stream *s, bool on) {
  s->ops->set_reading(s, on);
}

void stream_write(stream *s, const uv_buf_t *bufs, unsigned count) {
  s->ops->write(s, bufs, count);
}

void stream_shutdown(stream *s) {
  s->ops->shutdown(s);
}

void stream_close(stream *s, bool reset) {
  s->ops->close(s, reset);
}

bool stream_set_pieces(stream *s, size_t bytes, uint32_t delay_ms) {
  if (s->ops->set_pieces == NULL) {
    return false;
  }
  s->ops->set_pieces(s, bytes, delay_ms);
  return true;
}
