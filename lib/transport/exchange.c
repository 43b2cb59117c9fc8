/* SPDX-License-Identifier: MIT */
/* One GET from start to end:
 *
 *   QUEUED -> DIALLING -> OPENING -> HEAD -> BODY -> ENDED
 *      |                              ^
 *      +------------------------------+        on a connection of the pool
 *      ^------------------------------|        which was closed meanwhile
 *
 * Any state may go to ENDED: by an error, which is reported, or by
 * kin__exchange_cancel, which is silent.
 *
 * Lifetime. Callbacks may cancel the exchange or close the transport, so every
 * function that libuv, the scheduler, a timer, a dial or a connection calls
 * brackets its work with enter() and leave(): memory is given back when the
 * exchange has ended and none of them is on the stack. After a callback nothing
 * but `state` is looked at.
 *
 * The read timer of a body is not restarted by every read: when it is due, the
 * time of the last read says whether it is meant. */
#include "transport/exchange.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "transport/conn.h"
#include "transport/core.h"
#include "transport/dial.h"
#include "transport/http1.h"
#include "transport/request.h"

typedef enum exchange_state {
  EXCHANGE_QUEUED,   /* the task is scheduled; no dial, no conn, no timer */
  EXCHANGE_DIALLING, /* dial is set */
  EXCHANGE_OPENING,  /* conn is set and not ready; timer: connect */
  EXCHANGE_HEAD,     /* the request has been given to conn; timer: response */
  EXCHANGE_BODY, /* on_head was called; timer, unless it is a watch: reads */
  EXCHANGE_ENDED /* no dial, no conn, no timer; not in the list */
} exchange_state;

struct kin__exchange {
  kin__transport *transport;
  kin__list node; /* in transport->exchanges until ENDED */
  kin__task task;
  kin__timer timer;
  exchange_state state;
  unsigned frames; /* between enter() and leave() */

  kin__exchange_callbacks callbacks;
  void *ctx;
  kin__buf request; /* kept until the response begins, to be sent again */
  kin__dial *dial;
  kin__conn *conn;
  kin__http1 http1;
  uint64_t last_read_ms;

  bool is_watch;
  bool is_paused;
  bool is_reused;    /* conn has carried a response before */
  bool must_dial;    /* a connection of the pool has failed us */
  bool is_late;      /* the timer was due, but there was input */
  bool has_response; /* a byte of it */
  bool had_head;
};

static void enter(kin__exchange *exchange) {
  exchange->frames++;
}

static void free_if_done(kin__exchange *exchange) {
  if (exchange->state == EXCHANGE_ENDED && exchange->frames == 0) {
    kin__buf_finish(&exchange->request);
    kin__free(exchange->transport->net.allocator, exchange);
  }
}

static void leave(kin__exchange *exchange) {
  assert(exchange->frames > 0);
  exchange->frames--;
  free_if_done(exchange);
}

static kin__net *net_of(kin__exchange *exchange) {
  return &exchange->transport->net;
}

static void start_timer(kin__exchange *exchange, uint32_t timeout_ms) {
  kin__net *net = net_of(exchange);
  kin__timer_start(net->timers, &exchange->timer,
                   kin__net_now_ms(net) + timeout_ms);
}

/* The dial, the connection and the timer go; the list keeps it. */
static void drop_connection(kin__exchange *exchange) {
  kin__timer_stop(net_of(exchange)->timers, &exchange->timer);
  if (exchange->dial != NULL) {
    kin__dial_cancel(exchange->dial);
    exchange->dial = NULL;
  }
  if (exchange->conn != NULL) {
    kin__conn_close(exchange->conn);
    exchange->conn = NULL;
  }
}

static void become_ended(kin__exchange *exchange) {
  assert(exchange->state != EXCHANGE_ENDED);
  drop_connection(exchange);
  kin__sched_cancel(net_of(exchange)->sched, &exchange->task);
  kin__list_remove(&exchange->node);
  kin__http1_stop(&exchange->http1);
  exchange->state = EXCHANGE_ENDED;
}

static void fail(kin__exchange *exchange, int code, kin_error_class error_class,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static void fail(kin__exchange *exchange, int code, kin_error_class error_class,
                 const char *format, ...) {
  kin__exchange_error error = {
      .code = code, .error_class = error_class, .had_head = exchange->had_head};
  va_list args;
  va_start(args, format);
  vsnprintf(error.message, sizeof error.message, format, args);
  va_end(args);
  kin__log_write(net_of(exchange)->log, KIN_LOG_DEBUG, "request failed: %s",
                 error.message);
  become_ended(exchange);
  exchange->callbacks.on_end(exchange->ctx, &error);
}

static void fail_memory(kin__exchange *exchange) {
  fail(exchange, KIN_ENOMEM, KIN_CLASS_MEMORY, "%s", kin_strerror(KIN_ENOMEM));
}

/* The response is there. The connection is given away first, so that what the
 * callback starts can have it. */
static void complete(kin__exchange *exchange) {
  kin__conn *conn = exchange->conn;
  if (kin__http1_is_reusable(&exchange->http1) && kin__conn_is_flushed(conn)) {
    exchange->conn = NULL;
    kin__pool_put(&exchange->transport->pool, conn);
  }
  become_ended(exchange);
  exchange->callbacks.on_end(exchange->ctx, NULL);
}

static void on_http_head(void *ctx, const kin__response_head *head) {
  kin__exchange *exchange = ctx;
  kin__net *net = net_of(exchange);
  exchange->state = EXCHANGE_BODY;
  exchange->had_head = true;
  kin__timer_stop(net->timers, &exchange->timer);
  if (head->status != 200) {
    /* What a watch gets then is an answer like any other. */
    exchange->is_watch = false;
  }
  exchange->callbacks.on_head(exchange->ctx, head);
}

static void on_http_body(void *ctx, const char *bytes, size_t length) {
  kin__exchange *exchange = ctx;
  exchange->callbacks.on_body(exchange->ctx, bytes, length);
}

static const kin__http1_events http_events = {.on_head = on_http_head,
                                              .on_body = on_http_body};

static void start_read_timer(kin__exchange *exchange) {
  if (exchange->state == EXCHANGE_BODY && !exchange->is_watch &&
      !exchange->is_paused && !exchange->timer.is_active) {
    start_timer(exchange, exchange->transport->response_timeout_ms);
  }
}

static void feed(kin__exchange *exchange, const char *bytes, size_t length) {
  if (!exchange->has_response) {
    exchange->has_response = true;
    kin__buf_finish(&exchange->request);
  }
  exchange->last_read_ms = kin__net_now_ms(net_of(exchange));
  int err = kin__http1_feed(&exchange->http1, bytes, length);
  if (exchange->state == EXCHANGE_ENDED) {
    return;
  }
  if (err != 0) {
    fail(exchange, err, KIN_CLASS_PROTOCOL, "malformed response from %s: %s",
         exchange->conn->peer, kin__http1_reason(&exchange->http1));
  } else if (kin__http1_is_complete(&exchange->http1)) {
    complete(exchange);
  } else {
    start_read_timer(exchange);
  }
}

static void on_conn_bytes(kin__conn *conn, const char *bytes, size_t length) {
  kin__exchange *exchange = conn->owner;
  enter(exchange);
  feed(exchange, bytes, length);
  leave(exchange);
}

/* A connection of the pool that was closed before it could carry the request:
 * nobody has seen it, so it may be sent again. */
static bool begin_again(kin__exchange *exchange) {
  if (!exchange->is_reused || exchange->has_response) {
    return false;
  }
  drop_connection(exchange);
  exchange->is_reused = false;
  exchange->must_dial = true;
  exchange->state = EXCHANGE_QUEUED;
  kin__sched_add(net_of(exchange)->sched, &exchange->task);
  return true;
}

static void fail_cut(kin__exchange *exchange) {
  const char *when = !exchange->has_response ? "before it answered"
                     : !exchange->had_head   ? "in the middle of a head"
                                             : "in the middle of a body";
  fail(exchange, KIN_EEOF, KIN_CLASS_CONNECT, "%s closed the connection %s",
       exchange->conn->peer, when);
}

static void end_of_stream(kin__exchange *exchange,
                          const kin__conn_error *error) {
  if (begin_again(exchange)) {
    return;
  }
  if (error != NULL) {
    fail(exchange, error->code, error->error_class, "connection to %s: %s",
         exchange->conn->peer, error->reason);
    return;
  }
  if (kin__http1_end(&exchange->http1) == 0) {
    complete(exchange);
  } else {
    fail_cut(exchange);
  }
}

static void on_conn_end(kin__conn *conn, const kin__conn_error *error) {
  kin__exchange *exchange = conn->owner;
  enter(exchange);
  end_of_stream(exchange, error);
  leave(exchange);
}

static void send_request(kin__exchange *exchange) {
  kin__transport *transport = exchange->transport;
  kin__conn *conn = exchange->conn;
  exchange->state = EXCHANGE_HEAD;
  if (exchange->is_watch) {
    kin__conn_watch_peer(conn);
  }
  int err =
      kin__conn_send(conn, exchange->request.data, exchange->request.length);
  if (err != 0) {
    fail(exchange, err,
         err == KIN_ENOMEM ? KIN_CLASS_MEMORY : KIN_CLASS_CONNECT,
         "send to %s: %s", conn->peer, kin_strerror(err));
    return;
  }
  transport->net.stats.requests++;
  if (exchange->is_paused) {
    kin__conn_pause(conn);
  } else {
    start_timer(exchange, transport->response_timeout_ms);
  }
}

static void on_conn_ready(kin__conn *conn) {
  kin__exchange *exchange = conn->owner;
  enter(exchange);
  send_request(exchange);
  leave(exchange);
}

static const kin__conn_events conn_events = {.on_ready = on_conn_ready,
                                             .on_bytes = on_conn_bytes,
                                             .on_end = on_conn_end};

static void open_conn(kin__exchange *exchange, const kin__dial_result *result) {
  kin__transport *transport = exchange->transport;
  int err = kin__conn_open(&exchange->conn, &transport->net, result->fd,
                           result->peer, NULL);
  if (err != 0) {
    kin__socket_close(result->fd);
    fail(exchange, err,
         err == KIN_ENOMEM ? KIN_CLASS_MEMORY : KIN_CLASS_CONNECT,
         "connect to %s: %s", result->peer, kin_strerror(err));
    return;
  }
  kin__conn_set_owner(exchange->conn, &conn_events, exchange);
  exchange->state = EXCHANGE_OPENING;
  start_timer(exchange, transport->connect_timeout_ms);
}

static void on_dialled(void *ctx, const kin__dial_result *result) {
  kin__exchange *exchange = ctx;
  enter(exchange);
  exchange->dial = NULL;
  if (result->fd >= 0) {
    open_conn(exchange, result);
  } else {
    fail(exchange, result->code, result->error_class, "%s", result->message);
  }
  leave(exchange);
}

static void begin(kin__exchange *exchange) {
  kin__transport *transport = exchange->transport;
  kin__conn *conn =
      exchange->must_dial ? NULL : kin__pool_take(&transport->pool);
  if (conn != NULL) {
    kin__conn_set_owner(conn, &conn_events, exchange);
    exchange->conn = conn;
    exchange->is_reused = true;
    send_request(exchange);
    return;
  }
  int err = kin__dial_start(
      &exchange->dial, &transport->net, transport->url.host,
      transport->url.port, transport->connect_timeout_ms, on_dialled, exchange);
  if (err != 0) {
    fail_memory(exchange);
    return;
  }
  exchange->state = EXCHANGE_DIALLING;
}

static bool step(kin__task *task) {
  kin__exchange *exchange = KIN__CONTAINER_OF(task, kin__exchange, task);
  enter(exchange);
  begin(exchange);
  leave(exchange);
  return false;
}

static void time_out(kin__exchange *exchange) {
  const char *peer = exchange->conn->peer;
  kin__transport *transport = exchange->transport;
  unsigned long timeout_ms = transport->response_timeout_ms;
  switch (exchange->state) {
  case EXCHANGE_OPENING:
    timeout_ms = transport->connect_timeout_ms;
    fail(exchange, KIN_ETIMEDOUT, KIN_CLASS_CONNECT,
         "connect to %s: not ready within %lu ms", peer, timeout_ms);
    break;
  case EXCHANGE_HEAD:
    fail(exchange, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL,
         "no response within %lu ms from %s", timeout_ms, peer);
    break;
  default:
    assert(exchange->state == EXCHANGE_BODY);
    fail(exchange, KIN_ETIMEDOUT, KIN_CLASS_PROTOCOL,
         "response stopped for %lu ms, from %s", timeout_ms, peer);
    break;
  }
}

/* A loop that was held up for long finds the timer due and the answer in the
 * socket. Not for ever, though: a head that trickles in must end. */
static bool may_wait(kin__exchange *exchange) {
  bool is_late = exchange->is_late;
  exchange->is_late = true;
  return (exchange->state == EXCHANGE_BODY || !is_late) &&
         kin__conn_has_input(exchange->conn);
}

static void on_timer(kin__timer *timer) {
  kin__exchange *exchange = KIN__CONTAINER_OF(timer, kin__exchange, timer);
  kin__net *net = net_of(exchange);
  uint64_t due_ms =
      exchange->last_read_ms + exchange->transport->response_timeout_ms;
  if (exchange->state == EXCHANGE_BODY && due_ms > kin__net_now_ms(net)) {
    kin__timer_start(net->timers, &exchange->timer, due_ms);
  } else if (may_wait(exchange)) {
    start_timer(exchange, exchange->transport->response_timeout_ms);
  } else {
    enter(exchange);
    time_out(exchange);
    leave(exchange);
  }
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
  kin__buf_init(&exchange->request, net->allocator, KIN__REQUEST_MAX_BYTES);
  int err = kin__request_compose(&exchange->request, request, &transport->url,
                                 transport->user_agent);
  if (err != 0) {
    kin__buf_finish(&exchange->request);
    kin__free(net->allocator, exchange);
    return err;
  }
  exchange->transport = transport;
  exchange->state = EXCHANGE_QUEUED;
  exchange->callbacks = *callbacks;
  exchange->ctx = ctx;
  exchange->is_watch = request->is_watch;
  kin__http1_init(&exchange->http1, &http_events, exchange);
  kin__task_init(&exchange->task, step);
  kin__timer_init(&exchange->timer, on_timer);
  kin__list_push(&transport->exchanges, &exchange->node);
  kin__sched_add(net->sched, &exchange->task);
  kin__log_write(net->log, KIN_LOG_DEBUG, "GET %s", request->target);
  *out = exchange;
  return 0;
}

void kin__exchange_cancel(kin__exchange *exchange) {
  become_ended(exchange);
  free_if_done(exchange);
}

void kin__exchange_cancel_all(kin__transport *transport) {
  kin__list *head = &transport->exchanges;
  while (!kin__list_is_empty(head)) {
    kin__exchange_cancel(KIN__CONTAINER_OF(head->next, kin__exchange, node));
  }
}

/* Whether the request is on the wire: before, there is nothing to pause. */
static bool is_sent(const kin__exchange *exchange) {
  return exchange->state == EXCHANGE_HEAD || exchange->state == EXCHANGE_BODY;
}

void kin__exchange_pause(kin__exchange *exchange) {
  if (exchange->is_paused) {
    return;
  }
  exchange->is_paused = true;
  if (is_sent(exchange)) {
    kin__timer_stop(net_of(exchange)->timers, &exchange->timer);
    kin__conn_pause(exchange->conn);
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
  kin__conn_resume(exchange->conn);
  exchange->last_read_ms = kin__net_now_ms(net_of(exchange));
  if (exchange->state == EXCHANGE_HEAD) {
    start_timer(exchange, exchange->transport->response_timeout_ms);
  } else {
    start_read_timer(exchange);
  }
}
