/* SPDX-License-Identifier: MIT */
/* Compressed bodies; exchange_core.h says how they are unpacked. */
#include "transport/exchange_core.h"

/* Bound of an error's body. Further bytes are dropped, because a few gzip bytes
 * may stand for gigabytes. */
#define MAX_ERROR_BODY (256u << 10)

bool kin__exchange_begin_body(kin__exchange *exchange,
                              kin__response_head *head) {
  if (!head->is_gzip || !kin__inflate_is_supported()) {
    return true;
  }
  int err = kin__inflate_new(&exchange->inflate,
                             kin__exchange_net(exchange)->allocator);
  if (err != 0) {
    kin__exchange_fail(exchange, err, KIN_CLASS_MEMORY,
                       "response from %s: gzip: %s",
                       kin__exchange_peer(exchange), kin_strerror(err));
    return false;
  }
  exchange->unpack_left = head->status < 300 ? UINT64_MAX : MAX_ERROR_BODY;
  head->is_identity = true;
  return true;
}

/* Reports kin__inflate's reason. */
static void fail(kin__exchange *exchange, int code) {
  if (code == KIN_EHTTP) {
    kin__exchange_fail(exchange, code, KIN_CLASS_PROTOCOL,
                       "malformed response from %s: gzip: %s",
                       kin__exchange_peer(exchange),
                       kin__inflate_reason(exchange->inflate));
  } else {
    kin__exchange_fail(exchange, code, KIN_CLASS_MEMORY,
                       "response from %s: gzip: %s",
                       kin__exchange_peer(exchange), kin_strerror(code));
  }
}

void kin__exchange_pack(kin__exchange *exchange, const char *bytes,
                        size_t length) {
  int err = kin__inflate_push(exchange->inflate, bytes, length);
  if (err != 0) {
    fail(exchange, err);
  }
}

bool kin__exchange_has_packed(const kin__exchange *exchange) {
  return exchange->inflate != NULL && kin__inflate_has_work(exchange->inflate);
}

static void end(kin__exchange *exchange) {
  kin__exchange_become_ended(exchange);
  exchange->callbacks->on_end(exchange->ctx, NULL);
}

/* Inflates one slice. The exchange may have ended in it. */
static void unpack_slice(kin__exchange *exchange) {
  kin_str out;
  int err = kin__inflate_step(exchange->inflate, &out);
  if (err != 0) {
    fail(exchange, err);
    return;
  }
  bool is_cut = out.length > exchange->unpack_left;
  if (is_cut) {
    out.length = (size_t)exchange->unpack_left;
  }
  exchange->unpack_left -= out.length;
  if (out.length > 0) {
    kin__exchange_note_progress(exchange);
    exchange->callbacks->on_body(exchange->ctx, out.data, out.length);
  }
  if (is_cut && exchange->state != KIN__EXCHANGE_ENDED) {
    end(exchange);
  }
}

/* All packed bytes are unpacked: ends a complete body, or reads on. */
static void on_unpacked(kin__exchange *exchange) {
  if (exchange->is_received) {
    int err = kin__inflate_end(exchange->inflate);
    if (err != 0) {
      fail(exchange, err);
    } else {
      end(exchange);
    }
    return;
  }
  if (exchange->is_paused) {
    return;
  }
  if (!exchange->conn->is_reading) {
    kin__conn_resume(exchange->conn);
  }
  kin__exchange_start_read_timer(exchange);
}

bool kin__exchange_unpack(kin__exchange *exchange) {
  if (kin__exchange_has_packed(exchange)) {
    unpack_slice(exchange);
    if (exchange->state == KIN__EXCHANGE_ENDED) {
      return false;
    }
  }
  if (!kin__exchange_has_packed(exchange)) {
    on_unpacked(exchange);
    return false;
  }
  return !exchange->is_paused;
}

void kin__exchange_unpack_first(kin__exchange *exchange) {
  kin__net *net = kin__exchange_net(exchange);
  if (exchange->is_paused && kin__exchange_has_packed(exchange)) {
    return; /* kin__exchange_resume continues */
  }
  if (kin__exchange_unpack(exchange)) {
    kin__timer_stop(net->timers, &exchange->timer);
    kin__sched_add(net->sched, &exchange->task);
    if (exchange->conn != NULL) {
      kin__conn_pause(exchange->conn);
    }
  }
}
