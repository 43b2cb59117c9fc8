/* SPDX-License-Identifier: MIT */
/* The request's body, after its head.
 *
 * A task gives the connection one slice at a time, and the next one only when
 * the socket has taken all of the last: encryption and copies are bounded in
 * each step, and at most one slice waits in memory. The response may come
 * before the body is sent. A refusal ends the sending; such a connection is not
 * used again, because the server still expects the rest. */
#include <assert.h>

#include "transport/exchange_core.h"

#define SLICE_BYTES (32u << 10)

static bool is_upload_complete(const kin__exchange *exchange) {
  return exchange->uploaded == exchange->upload_length;
}

bool kin__exchange_has_uploaded(const kin__exchange *exchange) {
  return is_upload_complete(exchange);
}

/* Returns whether the next slice may be sent at once. */
static bool send_slice(kin__exchange *exchange) {
  kin__conn *conn = exchange->conn;
  if (!kin__conn_is_flushed(conn)) {
    return false; /* kin__exchange_on_conn_flushed continues */
  }
  size_t left = exchange->upload_length - exchange->uploaded;
  size_t length = left < SLICE_BYTES ? left : SLICE_BYTES;
  int err = kin__conn_send(conn, exchange->upload + exchange->uploaded, length);
  if (err != 0) {
    kin__exchange_fail_send(exchange, err);
    return false;
  }
  exchange->uploaded += length;
  if (exchange->state == KIN__EXCHANGE_HEAD && !exchange->is_paused) {
    kin__exchange_start_timer(exchange,
                              exchange->transport->response_timeout_ms);
  }
  return !is_upload_complete(exchange) && kin__conn_is_flushed(conn);
}

static bool upload_step(kin__task *task) {
  kin__exchange *exchange = KIN__CONTAINER_OF(task, kin__exchange, upload_task);
  assert(exchange->conn != NULL && !is_upload_complete(exchange));
  kin__exchange_enter(exchange);
  bool has_more = send_slice(exchange);
  kin__exchange_leave(exchange);
  return has_more;
}

void kin__exchange_init_upload(kin__exchange *exchange,
                               const kin__request *request) {
  kin__task_init(&exchange->upload_task, upload_step);
  exchange->upload = request->body;
  exchange->upload_length = request->body_length;
}

void kin__exchange_begin_upload(kin__exchange *exchange) {
  exchange->uploaded = 0;
  if (exchange->upload_length > 0) {
    kin__sched_add(kin__exchange_net(exchange)->sched, &exchange->upload_task);
  }
}

void kin__exchange_stop_upload(kin__exchange *exchange) {
  kin__sched_cancel(kin__exchange_net(exchange)->sched, &exchange->upload_task);
}

void kin__exchange_refuse_upload(kin__exchange *exchange) {
  if (!is_upload_complete(exchange)) {
    kin__exchange_stop_upload(exchange);
    exchange->is_upload_refused = true;
  }
}

void kin__exchange_on_conn_flushed(kin__conn *conn) {
  kin__exchange *exchange = conn->owner;
  if (!is_upload_complete(exchange) && !exchange->is_upload_refused) {
    kin__sched_add(kin__exchange_net(exchange)->sched, &exchange->upload_task);
  }
}
