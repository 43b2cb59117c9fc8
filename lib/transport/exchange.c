/* SPDX-License-Identifier: MIT */
/* From a request to its response's first byte, and the life of an exchange; the
 * states are in exchange_core.h.
 *
 * A request needs a credential and, for a new connection, certificates
 * (exchange_asking.c). The credential is asked for once more when the request is
 * sent, since dialling takes time. */
#include "transport/exchange.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/link.h"
#include "base/str.h"
#include "transport/exchange_core.h"
#include "transport/request.h"
#include "transport/socket.h"
#include "transport/tls_stream.h"
#include "transport/warning.h"

void kin__exchange_enter(kin__exchange *exchange) {
  exchange->frames++;
}

static void free_if_done(kin__exchange *exchange) {
  if (exchange->state == KIN__EXCHANGE_ENDED && exchange->frames == 0) {
    kin__exchange_end_asking(exchange);
    kin__free(exchange->transport->net.allocator, exchange->upload);
    kin__inflate_free(exchange->inflate);
    kin__free(exchange->transport->net.allocator, exchange);
  }
}

void kin__exchange_leave(kin__exchange *exchange) {
  assert(exchange->frames > 0);
  exchange->frames--;
  free_if_done(exchange);
}

void kin__exchange_start_timer(kin__exchange *exchange, uint32_t timeout_ms) {
  kin__net *net = kin__exchange_net(exchange);
  kin__timer_start(net->timers, &exchange->timer,
                   kin__net_now_ms(net) + timeout_ms);
}

void kin__exchange_note_progress(kin__exchange *exchange) {
  exchange->last_progress_ms = kin__net_now_ms(kin__exchange_net(exchange));
  exchange->is_late = false;
}

void kin__exchange_drop_connection(kin__exchange *exchange) {
  kin__timer_stop(kin__exchange_net(exchange)->timers, &exchange->timer);
  kin__exchange_stop_upload(exchange);
  if (exchange->asking != NULL) {
    kin__waiter_reset(&exchange->asking->context_waiter);
    kin__waiter_reset(&exchange->asking->proxy_waiter);
  }
  if (exchange->dial != NULL) {
    kin__dial_cancel(exchange->dial);
    exchange->dial = NULL;
  }
  if (exchange->conn != NULL) {
    kin__conn_close(exchange->conn);
    exchange->conn = NULL;
  }
}

void kin__exchange_become_ended(kin__exchange *exchange) {
  assert(exchange->state != KIN__EXCHANGE_ENDED);
  kin__exchange_drop_connection(exchange);
  kin__sched_cancel(kin__exchange_net(exchange)->sched, &exchange->task);
  if (exchange->asking != NULL) {
    kin__waiter_reset(&exchange->asking->credential_waiter);
  }
  kin__link_remove(&exchange->node);
  kin__link_remove(&exchange->pair_node);
  kin__http1_stop(&exchange->http1);
  exchange->state = KIN__EXCHANGE_ENDED;
}

void kin__exchange_fail(kin__exchange *exchange, int code,
                        kin_error_class error_class, const char *format, ...) {
  kin__exchange_error error = {.code = code,
                               .error_class = error_class,
                               .status = exchange->refused_status,
                               .had_head = exchange->had_head};
  va_list args;
  va_start(args, format);
  vsnprintf(error.message, sizeof error.message, format, args);
  va_end(args);
  kin__log_write(kin__exchange_net(exchange)->log, KIN_LOG_DEBUG,
                 "request failed: %s", error.message);
  kin__exchange_become_ended(exchange);
  exchange->callbacks->on_end(exchange->ctx, &error);
}

const char *kin__exchange_peer(const kin__exchange *exchange) {
  return exchange->conn != NULL ? exchange->conn->peer
                                : exchange->transport->url.host_header;
}

/* For an error without a text of its own. */
static void fail_code(kin__exchange *exchange, int code, const char *what,
                      const char *peer) {
  kin__exchange_fail(exchange, code,
                     kin__exchange_class_of(code, KIN_CLASS_CONNECT),
                     "%s %s: %s", what, peer, kin_strerror(code));
}

/* Sends the request with this credential, and wipes the copy. Requests
 * that a proxy forwards have the proxy's credential: they are for http servers,
 * which get none of their own. */
static int send_head(kin__exchange *exchange,
                     const kin__credential *credential) {
  const kin__buf *request = &exchange->asking->request;
  exchange->credential_serial = credential->serial;
  const char *field = "Authorization: ";
  const char *value = credential->value;
  if (kin__transport_is_forwarded(exchange->transport)) {
    field = "Proxy-Authorization: ";
    value = kin__transport_proxy(exchange->transport)->authorization;
  }
  if (value == NULL) {
    return kin__conn_send(exchange->conn, request->data, request->length);
  }
  kin__buf head;
  kin__buf_init(&head, request->allocator, request->max_length);
  int err = kin__request_authorize(&head, request, field, value);
  if (err == 0) {
    err = kin__conn_send(exchange->conn, head.data, head.length);
    OPENSSL_cleanse(head.data, head.length);
  }
  kin__buf_finish(&head);
  return err;
}

/* Sending has failed at once. */
void kin__exchange_fail_send(kin__exchange *exchange, int code) {
  const kin__conn *conn = exchange->conn;
  const kin__conn_error *error = kin__conn_get_error(conn, code);
  if (error != NULL) {
    kin__exchange_fail_conn(exchange, error);
  } else {
    fail_code(exchange, code, "send to", conn->peer);
  }
}

static void begin_stage(kin__exchange *exchange, kin__exchange_state state) {
  exchange->state = state;
  kin__exchange_note_progress(exchange);
}

static void send_request(kin__exchange *exchange) {
  kin__transport *transport = exchange->transport;
  kin__conn *conn = exchange->conn;
  kin__credential credential;
  if (!kin__exchange_get_credential(exchange, NULL, &credential) ||
      kin__exchange_renew_early(exchange, &credential)) {
    return;
  }
  begin_stage(exchange, KIN__EXCHANGE_HEAD);
  exchange->sent_before = conn->sent_bytes;
  conn->read_shift = exchange->read_shift;
  if (exchange->is_watch) {
    kin__conn_begin_watch(conn);
  }
  int err = send_head(exchange, &credential);
  if (err != 0) {
    kin__exchange_fail_send(exchange, err);
    return;
  }
  transport->net.stats.requests++;
  kin__exchange_begin_upload(exchange);
  if (exchange->is_paused) {
    kin__timer_stop(transport->net.timers, &exchange->timer);
    kin__conn_pause(conn);
  } else {
    kin__exchange_start_timer(exchange, transport->response_timeout_ms);
  }
}

static void on_conn_ready(kin__conn *conn) {
  kin__exchange *exchange = conn->owner;
  kin__exchange_enter(exchange);
  send_request(exchange);
  kin__exchange_leave(exchange);
}

static const kin__conn_events conn_events = {
    .on_ready = on_conn_ready,
    .on_bytes = kin__exchange_on_conn_bytes,
    .on_end = kin__exchange_on_conn_end,
    .on_flushed = kin__exchange_on_conn_flushed};

/* From the socket up: TLS with the proxy, the tunnel, TLS with the server; as
 * far as there are any. The streams in *top stay the caller's, also after an
 * error. */
static int stack_streams(kin__stream **top, kin__transport *transport) {
  int err = 0;
  kin__stream *next;
  *top = NULL;
  if (kin__transport_proxy_tls(transport) != NULL) {
    err = kin__tls_stream_new(&next, kin__transport_proxy_tls(transport));
    kin__stream_stack(top, next);
  }
  if (err == 0 && kin__transport_proxy(transport) != NULL &&
      !kin__transport_proxy(transport)->is_forward) {
    err = kin__tunnel_new(&next, kin__transport_proxy(transport),
                          transport->net.allocator);
    kin__stream_stack(top, next);
  }
  if (err == 0 && transport->tls != NULL) {
    err = kin__tls_stream_new(&next, transport->tls);
    kin__stream_stack(top, next);
  }
  return err;
}

/* Takes the descriptor over. */
static int make_conn(kin__exchange *exchange, const kin__dial_result *result) {
  kin__transport *transport = exchange->transport;
  kin__stream *top;
  int err = stack_streams(&top, transport);
  if (err == 0) {
    char peer[KIN__CONN_PEER_SIZE];
    snprintf(peer, sizeof peer, "%s%s",
             kin__transport_proxy(transport) != NULL ? "proxy " : "",
             result->peer);
    err =
        kin__conn_open(&exchange->conn, &transport->net, result->fd, peer, top);
  }
  if (err != 0) {
    kin__socket_close(result->fd);
    kin__stream_free_stack(top);
  }
  return err;
}

static void open_conn(kin__exchange *exchange, const kin__dial_result *result) {
  int err = make_conn(exchange, result);
  if (err != 0) {
    fail_code(exchange, err, "connect to", result->peer);
    return;
  }
  exchange->conn->edition = kin__transport_edition(exchange->transport);
  kin__conn_set_owner(exchange->conn, &conn_events, exchange);
  begin_stage(exchange, KIN__EXCHANGE_OPENING);
  kin__exchange_start_timer(exchange, exchange->transport->connect_timeout_ms);
}

static void on_dialled(void *ctx, const kin__dial_result *result) {
  kin__exchange *exchange = ctx;
  kin__exchange_enter(exchange);
  exchange->dial = NULL;
  if (result->fd >= 0) {
    open_conn(exchange, result);
  } else {
    kin__exchange_fail(
        exchange, result->code, result->error_class, "%s%s",
        kin__transport_proxy(exchange->transport) != NULL ? "proxy: " : "",
        result->message);
  }
  kin__exchange_leave(exchange);
}

static void dial(kin__exchange *exchange) {
  kin__transport *transport = exchange->transport;
  const kin__url *to = kin__transport_proxy(transport) != NULL
                           ? &kin__transport_proxy(transport)->url
                           : &transport->url;
  int err =
      kin__dial_start(&exchange->dial, &transport->net, to->host, to->port,
                      transport->connect_timeout_ms, on_dialled, exchange);
  if (err != 0) {
    fail_code(exchange, err, "connect to", to->host);
    return;
  }
  begin_stage(exchange, KIN__EXCHANGE_DIALLING);
}

/* The server may have closed a connection of the pool, or have said something
 * unasked, and the pool has not read that yet. Such an answer is none to this
 * request, so the socket is asked. */
static kin__conn *take_idle(kin__exchange *exchange) {
  kin__pool *pool = &exchange->transport->pool;
  kin__conn *conn = exchange->must_dial ? NULL : kin__pool_take(pool);
  while (conn != NULL && kin__conn_has_input(conn)) {
    kin__conn_close(conn);
    conn = kin__pool_take(pool);
  }
  return conn;
}

/* A host that has swept its loop, or a forked child, gets its answer at once,
 * before a credential is asked for. */
static void begin(kin__exchange *exchange) {
  kin__transport *transport = exchange->transport;
  if (kin__net_is_cut_off(&transport->net)) {
    fail_code(exchange, UV_ECANCELED, "connect to", transport->url.host);
    return;
  }
  if (!kin__exchange_use_credential(exchange) ||
      !kin__exchange_check_files(exchange)) {
    return;
  }
  kin__conn *conn = take_idle(exchange);
  if (conn != NULL) {
    kin__conn_set_owner(conn, &conn_events, exchange);
    exchange->conn = conn;
    exchange->is_reused = true;
    send_request(exchange);
  } else if (kin__exchange_prepare_contexts(exchange)) {
    dial(exchange);
  }
}

static bool step(kin__task *task) {
  kin__exchange *exchange = KIN__CONTAINER_OF(task, kin__exchange, task);
  bool has_more = false;
  kin__exchange_enter(exchange);
  if (exchange->state == KIN__EXCHANGE_BODY) {
    has_more = kin__exchange_unpack(exchange);
  } else {
    begin(exchange);
  }
  kin__exchange_leave(exchange);
  return has_more;
}

static void time_out(kin__exchange *exchange) {
  kin__transport *transport = exchange->transport;
  unsigned long connect_ms = transport->connect_timeout_ms;
  unsigned long waited_ms = kin__exchange_wait_ms(exchange);
  unsigned long response_ms = transport->response_timeout_ms;
  switch (exchange->state) {
  case KIN__EXCHANGE_WAITING:
    if (!kin__exchange_takes_value(exchange)) {
      kin__exchange_fail(
          exchange, KIN_ETIMEDOUT,
          kin__exchange_waits_for_credential(exchange) ? KIN_CLASS_AUTH
                                                       : KIN_CLASS_TLS,
          "credentials or certificates were not read within %lu ms", waited_ms);
    }
    break;
  case KIN__EXCHANGE_OPENING:
    kin__exchange_fail(exchange, KIN_ETIMEDOUT, KIN_CLASS_CONNECT,
                       "connect to %s: %s within %lu ms", exchange->conn->peer,
                       kin__conn_missing(exchange->conn), connect_ms);
    break;
  case KIN__EXCHANGE_HEAD:
    kin__exchange_fail(exchange, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL,
                       "no response within %lu ms from %s", response_ms,
                       exchange->conn->peer);
    break;
  default:
    assert(exchange->state == KIN__EXCHANGE_BODY);
    kin__exchange_fail(exchange, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL,
                       "response stopped for %lu ms, from %s", response_ms,
                       exchange->conn->peer);
    break;
  }
}

/* Whether the socket has room for the rest of the request. */
static bool can_send(const kin__exchange *exchange) {
  const kin__conn *conn = exchange->conn;
  return conn != NULL && exchange->state != KIN__EXCHANGE_OPENING &&
         !exchange->is_upload_refused &&
         !(kin__exchange_has_uploaded(exchange) &&
           kin__conn_is_flushed(conn)) &&
         kin__socket_is_writable(conn->fd);
}

/* If the loop was blocked for long, the timer is due although the answer is in
 * the socket, or the server has read on. Only one delay is allowed for a
 * handshake, one for a head, one for the next bytes of a body and one for the
 * next slice of an upload, so what trickles must end. */
static bool take_delay(kin__exchange *exchange) {
  bool is_late = exchange->is_late;
  exchange->is_late = true;
  return !is_late && (kin__exchange_has_input(exchange) || can_send(exchange));
}

static void on_timer(kin__timer *timer) {
  kin__exchange *exchange = KIN__CONTAINER_OF(timer, kin__exchange, timer);
  kin__net *net = kin__exchange_net(exchange);
  uint64_t due_ms =
      exchange->last_progress_ms + exchange->transport->response_timeout_ms;
  if (exchange->state == KIN__EXCHANGE_BODY && due_ms > kin__net_now_ms(net)) {
    kin__timer_start(net->timers, &exchange->timer, due_ms);
  } else if (take_delay(exchange)) {
    const kin__transport *transport = exchange->transport;
    kin__exchange_start_timer(exchange, exchange->state == KIN__EXCHANGE_OPENING
                                            ? transport->connect_timeout_ms
                                            : transport->response_timeout_ms);
  } else if (exchange->state != KIN__EXCHANGE_WAITING ||
             !kin__timer_delay(net->timers, timer)) {
    kin__exchange_enter(exchange);
    time_out(exchange);
    kin__exchange_leave(exchange);
  }
}

static void set_method(kin__exchange *exchange, const char *method) {
  bool is_head = strcmp(method, "HEAD") == 0;
  exchange->http1.is_bodiless = is_head;
  exchange->is_replayable =
      is_head || strcmp(method, "GET") == 0 || strcmp(method, "OPTIONS") == 0;
}

int kin__exchange_start(kin__transport *transport, const kin__request *request,
                        const kin__exchange_callbacks *callbacks, void *ctx,
                        kin__exchange **out) {
  *out = NULL;
  if (transport->is_closing) {
    return KIN_ECLOSED;
  }
  kin__net *net = &transport->net;
  kin__exchange *exchange = kin__calloc(net->allocator, 1, sizeof *exchange);
  if (exchange == NULL) {
    return KIN_ENOMEM;
  }
  exchange->transport = transport;
  kin__request asked = *request;
  asked.method = kin__or_default(request->method, "GET");
  asked.accepts_gzip = transport->accept_gzip && !request->is_watch;
  int err = kin__exchange_make_asking(exchange, &asked);
  if (err == 0) {
    err = kin__exchange_make_upload(exchange, request);
  }
  if (err != 0) {
    kin__exchange_end_asking(exchange);
    kin__free(net->allocator, exchange);
    return err;
  }
  kin__exchange_asking *asking = exchange->asking;
  exchange->state = KIN__EXCHANGE_QUEUED;
  exchange->callbacks = callbacks;
  exchange->ctx = ctx;
  exchange->is_watch = request->is_watch;
  exchange->read_shift = request->read_shift;
  kin__http1_init(&exchange->http1, &asking->head, &kin__exchange_http_events,
                  exchange);
  set_method(exchange, asked.method);
  asking->head.warnings =
      transport->warnings != NULL ? &asking->warnings : NULL;
  kin__task_init(&exchange->task, step);
  kin__timer_init(&exchange->timer, on_timer);
  kin__link_init(&exchange->pair_node);
  kin__link_push(&transport->exchanges, &exchange->node);
  kin__sched_add(net->sched, &exchange->task);
  kin__log_write(net->log, KIN_LOG_DEBUG, "%s %s", asked.method,
                 request->target);
  *out = exchange;
  return 0;
}

void kin__exchange_cancel(kin__exchange *exchange) {
  kin__exchange_become_ended(exchange);
  free_if_done(exchange);
}

/* Whether the request is on the wire. Before that there is nothing to pause. */
static bool is_sent(const kin__exchange *exchange) {
  return exchange->state == KIN__EXCHANGE_HEAD ||
         exchange->state == KIN__EXCHANGE_BODY;
}

void kin__exchange_pause(kin__exchange *exchange) {
  if (exchange->is_paused) {
    return;
  }
  exchange->is_paused = true;
  if (is_sent(exchange)) {
    kin__net *net = kin__exchange_net(exchange);
    kin__timer_stop(net->timers, &exchange->timer);
    kin__sched_cancel(net->sched, &exchange->task);
    if (exchange->conn != NULL) {
      kin__conn_pause(exchange->conn);
    }
  }
}

void kin__exchange_resume(kin__exchange *exchange) {
  if (!exchange->is_paused) {
    return;
  }
  exchange->is_paused = false;
  if (!is_sent(exchange)) {
    return;
  }
  kin__net *net = kin__exchange_net(exchange);
  kin__exchange_note_progress(exchange);
  if (exchange->is_watch) {
    kin__probe_watch(&exchange->transport->probe);
  }
  kin__exchange_renew_late(exchange);
  if (kin__exchange_has_packed(exchange)) {
    kin__sched_add(net->sched, &exchange->task);
    return;
  }
  if (exchange->is_received) {
    return; /* inside the callback that got the last slice */
  }
  kin__conn_resume(exchange->conn);
  if (exchange->state == KIN__EXCHANGE_HEAD) {
    kin__exchange_start_timer(exchange,
                              exchange->transport->response_timeout_ms);
  } else {
    kin__exchange_start_read_timer(exchange);
  }
}

void kin__exchange_break(kin__exchange *exchange, int code,
                         kin_error_class error_class, const char *message) {
  kin__exchange_enter(exchange);
  kin__exchange_fail(exchange, code, error_class, "%s", message);
  kin__exchange_leave(exchange);
}

bool kin__exchange_has_input(const kin__exchange *exchange) {
  return kin__exchange_has_packed(exchange) ||
         (exchange->conn != NULL && kin__conn_has_input(exchange->conn));
}
