/* SPDX-License-Identifier: MIT */
#include "transport/stream.h"

#include "transport/conn.h"

void kin__stream_stack(kin__stream **top, kin__stream *stream) {
  if (stream != NULL) {
    stream->below = *top;
    if (*top != NULL) {
      (*top)->above = stream;
    }
    *top = stream;
  }
}

void kin__stream_free_stack(kin__stream *top) {
  while (top != NULL) {
    kin__stream *below = top->below;
    top->ops->free(top);
    top = below;
  }
}

int kin__stream_become_ready(kin__stream *stream) {
  stream->is_ready = true;
  if (stream->above != NULL) {
    return stream->above->ops->open(stream->above);
  }
  kin__conn_ready(stream->conn);
  return 0;
}

int kin__stream_deliver(kin__stream *stream, char *bytes, size_t length) {
  if (stream->above != NULL) {
    return stream->above->ops->receive(stream->above, bytes, length);
  }
  (void)kin__conn_deliver(stream->conn, bytes, length);
  return 0;
}

int kin__stream_end_above(kin__stream *stream) {
  int err = stream->above != NULL ? stream->above->ops->end(stream->above) : 0;
  return err != 0 ? err : KIN__STREAM_ENDED;
}

int kin__stream_write(kin__stream *stream, const char *bytes, size_t length) {
  return stream->below != NULL
             ? stream->below->ops->send(stream->below, bytes, length)
             : kin__conn_write(stream->conn, bytes, length);
}

/* --- The plain stream ----------------------------------------------------- */

static int plain_open(kin__stream *stream) {
  return kin__stream_become_ready(stream);
}

static int plain_receive(kin__stream *stream, char *bytes, size_t length) {
  return kin__stream_deliver(stream, bytes, length);
}

static int plain_end(kin__stream *stream) {
  (void)stream;
  return 0;
}

static int plain_send(kin__stream *stream, const char *bytes, size_t length) {
  return kin__stream_write(stream, bytes, length);
}

static void plain_close(kin__stream *stream) {
  (void)stream;
}

static void plain_free(kin__stream *stream) {
  (void)stream;
}

const kin__stream_ops kin__plain_stream_ops = {
    .open = plain_open,
    .receive = plain_receive,
    .end = plain_end,
    .send = plain_send,
    .close = plain_close,
    .free = plain_free,
    .missing = "not ready",
};
