/* SPDX-License-Identifier: MIT */
/* The request's body, after its head.
 *
 * A task gives the connection one slice at a time, and the next one only when
 * the socket has taken all of the last: encryption and copies are bounded in
 * each step, and at most one slice waits in memory. The response may come
 * before the body is sent. A refusal ends the sending; such a connection is not
 * used again, because the server still expects the rest. */
#include <assert.h>

#include "base/alloc.h"
#include "transport/exchange_core.h"

#define SLICE_BYTES (32u << 10)

bool kin__exchange_has_uploaded(const kin__exchange *exchange) {
  const kin__upload *upload = exchange->upload;
  return upload == NULL || upload->sent == upload->length;
}

/* Returns whether the next slice may be sent at once. */
static bool send_slice(kin__exchange *exchange) {
  kin__conn *conn = exchange->conn;
  kin__upload *upload = exchange->upload;
  if (!kin__conn_is_flushed(conn)) {
    return false; /* kin__exchange_on_conn_flushed continues */
  }
  size_t left = upload->length - upload->sent;
  size_t length = left < SLICE_BYTES ? left : SLICE_BYTES;
  int err = kin__conn_send(conn, upload->body + upload->sent, length);
  if (err != 0) {
    kin__exchange_fail_send(exchange, err);
    return false;
  }
  upload->sent += length;
  if (exchange->state == KIN__EXCHANGE_HEAD && !exchange->is_paused) {
    kin__exchange_start_timer(exchange,
                              exchange->transport->response_timeout_ms);
  }
  /* After an early head a server that takes the body is not silent. */
  kin__exchange_note_progress(exchange);
  return upload->sent < upload->length && kin__conn_is_flushed(conn);
}

static bool upload_step(kin__task *task) {
  kin__exchange *exchange =
      KIN__CONTAINER_OF(task, kin__upload, task)->exchange;
  assert(exchange->conn != NULL && !kin__exchange_has_uploaded(exchange));
  kin__exchange_enter(exchange);
  bool has_more = send_slice(exchange);
  kin__exchange_leave(exchange);
  return has_more;
}

int kin__exchange_make_upload(kin__exchange *exchange,
                              const kin__request *request) {
  if (request->body_length == 0) {
    return 0;
  }
  kin__upload *upload =
      kin__calloc(kin__exchange_net(exchange)->allocator, 1, sizeof *upload);
  if (upload == NULL) {
    return KIN_ENOMEM;
  }
  upload->exchange = exchange;
  upload->body = request->body;
  upload->length = request->body_length;
  kin__task_init(&upload->task, upload_step);
  exchange->upload = upload;
  return 0;
}

static void wake(kin__exchange *exchange) {
  kin__sched_add(kin__exchange_net(exchange)->sched, &exchange->upload->task);
}

void kin__exchange_begin_upload(kin__exchange *exchange) {
  if (exchange->upload != NULL) {
    exchange->upload->sent = 0;
    wake(exchange);
  }
}

void kin__exchange_stop_upload(kin__exchange *exchange) {
  if (exchange->upload != NULL) {
    kin__sched_cancel(kin__exchange_net(exchange)->sched,
                      &exchange->upload->task);
  }
}

void kin__exchange_refuse_upload(kin__exchange *exchange) {
  if (!kin__exchange_has_uploaded(exchange)) {
    kin__exchange_stop_upload(exchange);
    exchange->is_upload_refused = true;
  }
}

void kin__exchange_on_conn_flushed(kin__conn *conn) {
  kin__exchange *exchange = conn->owner;
  if (!kin__exchange_has_uploaded(exchange) && !exchange->is_upload_refused) {
    wake(exchange);
  }
}
