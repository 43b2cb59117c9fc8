/* SPDX-License-Identifier: MIT */
/* From a response's first byte to the end of the exchange.
 *
 * Bytes do not restart the timer of a body. When the timer is due, the time of
 * the last bytes of the body says whether the timeout is over. The bytes around
 * the body do not count: chunk sizes, extensions, trailers, the head of a gzip
 * stream, TLS records without data. A server could send those for ever, and the
 * owner, which bounds slow bodies, would not be called. */
#include <string.h>

#include "transport/exchange_core.h"
#include "transport/redirect.h"
#include "transport/request.h"
#include "transport/tls_stream.h"
#include "transport/warning.h"

/* Go's servers answer this in plain text, with a 400. */
static const char https_hint[] =
    "Client sent an HTTP request to an HTTPS server";
#define NO_HINT 255u

/* Behind a proxy the peer is the proxy. */
static void fail_not_https(kin__exchange *exchange) {
  const kin__transport *transport = exchange->transport;
  kin__exchange_fail(
      exchange, KIN_ETLSSETUP, KIN_CLASS_TLS,
      "%s speaks TLS, not plain HTTP: the server's URL must begin with "
      "https://",
      kin__transport_proxy(transport) != NULL ? transport->url.host_header
                                              : exchange->conn->peer);
}

/* The response is complete. Its connection is given away first, so that
 * requests started by the callbacks can use it. */
static void complete(kin__exchange *exchange) {
  kin__conn *conn = exchange->conn;
  if (kin__http1_is_reusable(&exchange->http1) && kin__conn_is_flushed(conn) &&
      kin__exchange_has_uploaded(exchange) && !exchange->certificate_refused &&
      conn->edition == kin__transport_edition(exchange->transport) &&
      exchange->pair_serial == exchange->transport->pair_serial) {
    exchange->conn = NULL;
    kin__pool_put(&exchange->transport->pool, conn);
  }
  if (exchange->inflate != NULL) {
    kin__exchange_drop_connection(exchange);
    exchange->is_received = true;
    kin__exchange_unpack_first(exchange);
    return;
  }
  kin__exchange_become_ended(exchange);
  exchange->callbacks->on_end(exchange->ctx, NULL);
}

/* Handles a status that concerns the transport itself. */
static void note_status(kin__exchange *exchange, int status) {
  kin__transport *transport = exchange->transport;
  const kin__credentials *credentials = &transport->credentials;
  if (status != 200) {
    /* Any other status makes the watch a plain response. */
    exchange->is_watch = false;
  }
  if (exchange->is_watch) {
    kin__probe_watch(&transport->probe);
  }
  if (status == 401 && transport->tls != NULL &&
      kin__tls_context_has_certificate(transport->tls)) {
    /* A client certificate belongs to its connection. Only a new connection can
     * present the files' present content. */
    exchange->certificate_refused = true;
    kin__tls_context_suspect(transport->tls);
  }
  if (status == 401 && credentials->rejected != NULL) {
    credentials->rejected(credentials->ctx, exchange->credential_serial);
  }
  if (status != 400 || transport->url.is_tls) {
    exchange->hint_length = NO_HINT;
  }
}

/* Whether the body so far is the complaint about missing TLS. */
static bool is_https_hint(kin__exchange *exchange, const char *bytes,
                          size_t length) {
  size_t whole = sizeof https_hint - 1;
  size_t seen = exchange->hint_length;
  if (seen >= whole) {
    return false;
  }
  size_t count = length < whole - seen ? length : whole - seen;
  if (memcmp(bytes, https_hint + seen, count) != 0) {
    exchange->hint_length = NO_HINT;
    return false;
  }
  exchange->hint_length = (unsigned char)(seen + count);
  return exchange->hint_length == whole;
}

/* 304 Not Modified is not a redirect. Only discovery sends conditional
 * requests. */
static bool is_redirect(int status) {
  return status >= 300 && status < 400 && status != 304;
}

/* A redirect is not followed, because its target would get the credentials. The
 * error names only the target's host: the rest may hold secrets. */
static void fail_redirect(kin__exchange *exchange,
                          const kin__response_head *head) {
  char host[128];
  kin__redirect_host(head->location, host, sizeof host);
  exchange->refused_status = head->status;
  kin__exchange_fail(exchange, KIN_ESTATUS, KIN_CLASS_SERVER,
                     "%s answers %d, a redirect to %s; redirects are not "
                     "followed",
                     exchange->conn->peer, head->status, host);
}

/* A proxy that forwards requests speaks for itself with a 407. */
static bool is_proxy_refusal(const kin__exchange *exchange, int status) {
  const kin__proxy *proxy = kin__transport_proxy(exchange->transport);
  return status == 407 && proxy != NULL && proxy->is_forward;
}

static void fail_proxy(kin__exchange *exchange, int status) {
  kin__exchange_fail(
      exchange, KIN_EPROXY, KIN_CLASS_AUTH,
      "connection to %s: the proxy answers %d: %s", exchange->conn->peer,
      status,
      kin__proxy_refusal(kin__transport_proxy(exchange->transport), status));
}

static void hear_warnings(kin__exchange *exchange) {
  const kin__buf *fields = &exchange->asking->warnings;
  if (fields->length > 0) {
    kin__warnings_hear(exchange->transport->warnings,
                       kin__request_path(&exchange->asking->request),
                       fields->data, fields->length);
  }
}

static void on_http_head(void *ctx, const kin__response_head *head) {
  kin__exchange *exchange = ctx;
  kin__net *net = kin__exchange_net(exchange);
  exchange->state = KIN__EXCHANGE_BODY;
  kin__timer_stop(net->timers, &exchange->timer);
  kin__exchange_note_progress(exchange);
  note_status(exchange, head->status);
  if (head->status >= 300) {
    kin__exchange_refuse_upload(exchange);
  }
  hear_warnings(exchange);
  kin__response_head told = *head;
  told.connection = exchange->conn->serial;
  if (is_proxy_refusal(exchange, head->status)) {
    fail_proxy(exchange, head->status);
  } else if (is_redirect(head->status)) {
    fail_redirect(exchange, head);
  } else if (kin__exchange_begin_body(exchange, &told)) {
    exchange->had_head = true;
    exchange->callbacks->on_head(exchange->ctx, &told);
  }
  /* The renewal had passed while the head came. */
  if (exchange->is_watch && exchange->state == KIN__EXCHANGE_BODY) {
    kin__exchange_renew_late(exchange);
  }
  kin__exchange_end_asking(exchange);
}

static void on_http_body(void *ctx, const char *bytes, size_t length) {
  kin__exchange *exchange = ctx;
  if (exchange->inflate != NULL) {
    kin__exchange_pack(exchange, bytes, length);
  } else if (is_https_hint(exchange, bytes, length)) {
    fail_not_https(exchange);
  } else {
    kin__exchange_note_progress(exchange);
    exchange->callbacks->on_body(exchange->ctx, bytes, length);
  }
}

const kin__http1_events kin__exchange_http_events = {.on_head = on_http_head,
                                                     .on_body = on_http_body};

void kin__exchange_start_read_timer(kin__exchange *exchange) {
  if (exchange->state == KIN__EXCHANGE_BODY && !exchange->is_watch &&
      !exchange->is_paused && !exchange->timer.is_active) {
    kin__timer_start(kin__exchange_net(exchange)->timers, &exchange->timer,
                     exchange->last_progress_ms +
                         exchange->transport->response_timeout_ms);
  }
}

/* The first record of a TLS server: an alert or a handshake. */
static bool is_tls(const kin__exchange *exchange) {
  const kin__transport *transport = exchange->transport;
  return !transport->url.is_tls && kin__transport_proxy(transport) == NULL &&
         !exchange->had_head &&
         (exchange->first_byte == 0x15 || exchange->first_byte == 0x16);
}

static void feed(kin__exchange *exchange, const char *bytes, size_t length) {
  if (!exchange->has_response) {
    exchange->has_response = true;
    exchange->first_byte = (unsigned char)bytes[0];
  }
  uint64_t now_ms = kin__net_now_ms(kin__exchange_net(exchange));
  if (exchange->is_watch) {
    exchange->last_progress_ms = now_ms;
  }
  kin__probe_hear(&exchange->transport->probe, now_ms);
  int err = kin__http1_parse(&exchange->http1, bytes, length);
  if (exchange->state == KIN__EXCHANGE_ENDED) {
    return;
  }
  if (err != 0 && is_tls(exchange)) {
    fail_not_https(exchange);
  } else if (err != 0) {
    kin__exchange_fail(exchange, err, KIN_CLASS_PROTOCOL,
                       "malformed response from %s: %s", exchange->conn->peer,
                       kin__http1_reason(&exchange->http1));
  } else if (kin__http1_is_complete(&exchange->http1)) {
    complete(exchange);
  } else if (exchange->inflate != NULL) {
    kin__exchange_unpack_first(exchange);
  } else {
    kin__exchange_start_read_timer(exchange);
  }
}

void kin__exchange_on_conn_bytes(kin__conn *conn, const char *bytes,
                                 size_t length) {
  kin__exchange *exchange = conn->owner;
  kin__exchange_enter(exchange);
  feed(exchange, bytes, length);
  kin__exchange_leave(exchange);
}

/* Whether a server may have seen the request. */
static bool was_sent(const kin__exchange *exchange) {
  return exchange->conn->sent_bytes != exchange->sent_before;
}

/* A connection of the pool was closed before it carried a response. */
static bool begin_again(kin__exchange *exchange) {
  if (!exchange->is_reused || exchange->has_response ||
      (was_sent(exchange) && !exchange->is_replayable)) {
    return false;
  }
  kin__exchange_drop_connection(exchange);
  exchange->is_reused = false;
  exchange->must_dial = true;
  exchange->state = KIN__EXCHANGE_QUEUED;
  kin__sched_add(kin__exchange_net(exchange)->sched, &exchange->task);
  return true;
}

static void fail_cut(kin__exchange *exchange) {
  const char *when = !exchange->has_response ? "before it answered"
                     : !exchange->had_head   ? "in the middle of a head"
                                             : "in the middle of a body";
  kin__exchange_fail(exchange, KIN_EEOF, KIN_CLASS_CONNECT,
                     "%s closed the connection %s", exchange->conn->peer, when);
}

static void suspect(kin__tls_context *context) {
  if (context != NULL) {
    kin__tls_context_suspect(context);
  }
}

/* Reports the connection's own error. */
void kin__exchange_fail_conn(kin__exchange *exchange,
                             const kin__conn_error *error) {
  if (error->error_class == KIN_CLASS_TLS) {
    suspect(exchange->transport->tls);
    suspect(kin__transport_proxy_tls(exchange->transport));
  } else if (error->error_class == KIN_CLASS_CONNECT) {
    kin__tls_stream_suspect(exchange->conn);
  }
  kin__exchange_fail(exchange, error->code, error->error_class,
                     "connection to %s: %s", exchange->conn->peer,
                     error->reason);
}

static void end_of_stream(kin__exchange *exchange,
                          const kin__conn_error *error) {
  if (begin_again(exchange)) {
    return;
  }
  if (error != NULL) {
    kin__exchange_fail_conn(exchange, error);
    return;
  }
  if (kin__http1_end(&exchange->http1) == 0) {
    complete(exchange);
  } else {
    fail_cut(exchange);
  }
}

void kin__exchange_on_conn_end(kin__conn *conn, const kin__conn_error *error) {
  kin__exchange *exchange = conn->owner;
  kin__exchange_enter(exchange);
  end_of_stream(exchange, error);
  kin__exchange_leave(exchange);
}
