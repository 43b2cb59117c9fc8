/* SPDX-License-Identifier: MIT */
#include "transport/stream.h"

#include "transport/conn.h"

static int plain_open(kin__stream *stream) {
  kin__conn_ready(stream->conn);
  return 0;
}

static int plain_receive(kin__stream *stream, char *bytes, size_t length) {
  (void)kin__conn_deliver(stream->conn, bytes, length);
  return 0;
}

static int plain_end(kin__stream *stream) {
  (void)stream;
  return 0;
}

static int plain_send(kin__stream *stream, const char *bytes, size_t length) {
  return kin__conn_write(stream->conn, bytes, length);
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
};
