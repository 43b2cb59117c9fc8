/* SPDX-License-Identifier: MIT */
#include "conn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "router.h"
#include "sim.h"
#include "tls_stream.h"

enum {
  WRITE_SEGMENTS_MAX = 1024,
  INBOX_MAX = 256 * 1024, // pipelined input while a request is answered
  LINGER_MS = 500,
};

static void parse_inbox(conn *c);

/* ------------------------------------------------------- parser callbacks */

static int reject(conn *c, int status) {
  c->reject_status = status;
  return HPE_USER;
}

static bool head_too_large(const request *r, size_t more) {
  return r->url.len + r->head.len + more > REQUEST_HEAD_MAX;
}

static int on_url(llhttp_t *parser, const char *at, size_t len) {
  conn *c = parser->data;
  if (head_too_large(&c->req, len)) {
    return reject(c, 431);
  }
  buf_append(&c->req.url, at, len);
  return 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t len) {
  conn *c = parser->data;
  request *r = &c->req;
  if (head_too_large(r, len) || r->header_count == REQUEST_HEADERS_MAX) {
    return reject(c, 431);
  }
  if (r->headers[r->header_count].name_len == 0) {
    r->headers[r->header_count].name = r->head.len;
  }
  r->headers[r->header_count].name_len += len;
  buf_append(&r->head, at, len);
  return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len) {
  conn *c = parser->data;
  request *r = &c->req;
  if (head_too_large(r, len)) {
    return reject(c, 431);
  }
  if (r->headers[r->header_count].value_len == 0) {
    r->headers[r->header_count].value = r->head.len;
  }
  r->headers[r->header_count].value_len += len;
  buf_append(&r->head, at, len);
  return 0;
}

static void clear_next_header(request *r) {
  if (r->header_count < REQUEST_HEADERS_MAX) {
    memset(&r->headers[r->header_count], 0, sizeof r->headers[0]);
  }
}

static int on_value_complete(llhttp_t *parser) {
  conn *c = parser->data;
  c->req.header_count++;
  clear_next_header(&c->req);
  return 0;
}

static int on_headers_complete(llhttp_t *parser) {
  conn *c = parser->data;
  if ((parser->flags & F_CONTENT_LENGTH) != 0 &&
      parser->content_length > REQUEST_BODY_MAX) {
    return reject(c, 413);
  }
  /* An offer of another protocol is not taken: HTTP/1.1 goes on. */
  if (parser->method != HTTP_CONNECT) {
    parser->upgrade = 0;
  }
  slice expect = request_header(&c->req, "Expect");
  if (slice_is(expect, "100-continue")) {
    conn_push(c, NULL, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    conn_mark_dirty(c);
  }
  return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len) {
  conn *c = parser->data;
  if (c->req.body.len + len > REQUEST_BODY_MAX) {
    return reject(c, 413);
  }
  buf_append(&c->req.body, at, len);
  return 0;
}

static int on_message_complete(llhttp_t *parser) {
  (void)parser;
  return HPE_PAUSED; // one request at a time
}

static void start_parser(conn *c) {
  static llhttp_settings_t settings;
  if (settings.on_url == NULL) {
    llhttp_settings_init(&settings);
    settings.on_url = on_url;
    settings.on_header_field = on_field;
    settings.on_header_value = on_value;
    settings.on_header_value_complete = on_value_complete;
    settings.on_headers_complete = on_headers_complete;
    settings.on_body = on_body;
    settings.on_message_complete = on_message_complete;
  }
  llhttp_init(&c->parser, HTTP_REQUEST, &settings);
  c->parser.data = c;
}

/* ------------------------------------------------------------ life cycle */

static void free_conn(conn *c) {
  request_free(&c->req);
  resp_free(&c->resp);
  segq_free(&c->out);
  buf_free(&c->inbox);
  free(c);
}

static void on_handle_closed(conn *c) {
  if (--c->closing == 0) {
    free_conn(c);
  }
}

static void on_stream_closed(void *data) {
  on_handle_closed(data);
}

static void on_timer_closed(uv_handle_t *handle) {
  on_handle_closed(handle->data);
}

static void drop_producer(conn *c) {
  producer p = c->producer;
  c->producer = (producer){0};
  if (p.on_abort != NULL) {
    p.on_abort(p.data);
  }
}

void conn_close(conn *c, bool reset) {
  if (c->state == CONN_CLOSED) {
    return;
  }
  c->state = CONN_CLOSED;
  c->closing = 2;
  server_remove(&c->sim->server, c);
  stream_close(c->stream, reset);
  uv_close((uv_handle_t *)&c->timer, on_timer_closed);
  drop_producer(c);
}

static void on_timer(uv_timer_t *timer) {
  conn *c = timer->data;
  if (c->state == CONN_LINGERING) {
    conn_close(c, false);
    return;
  }
  c->stalled = false;
  conn_mark_dirty(c);
}

/* No byte of another request has come since the last answer. */
static void on_idle(uv_timer_t *timer) {
  conn_close(timer->data, false);
}

void conn_linger(conn *c) {
  if (c->state == CONN_CLOSED || c->state == CONN_LINGERING) {
    return;
  }
  c->state = CONN_LINGERING;
  drop_producer(c);
  stream_shutdown(c->stream);
  stream_set_reading(c->stream, true);
  uv_timer_start(&c->timer, on_timer, LINGER_MS, 0);
}

/* ---------------------------------------------------------------- input */

static void answer_bad_request(conn *c, int status) {
  const char *text = resp_status_text(status);
  buf b = {0};
  buf_printf(&b,
             "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
             "Connection: close\r\n\r\n%d %s",
             status, text, status, text);
  c->state = CONN_ANSWERING;
  c->keep_alive = false;
  c->resp.active = true;
  c->resp.ended = true;
  conn_push_copy(c, b.data, b.len);
  buf_free(&b);
  conn_mark_dirty(c);
}

/* The faults of one answer do not strike what is sent before the next one. */
static void forget_faults(conn *c) {
  memset(&c->plan, 0, sizeof c->plan);
  stream_set_pieces(c->stream, 0, 0);
  c->limit = UINT64_MAX;
}

static void start_answer(conn *c) {
  c->state = CONN_ANSWERING;
  c->keep_alive = llhttp_should_keep_alive(&c->parser) != 0;
  c->http10 = llhttp_get_http_major(&c->parser) == 1 &&
              llhttp_get_http_minor(&c->parser) == 0;
  c->req.method = llhttp_get_method(&c->parser);
  c->head_only = c->req.method == HTTP_HEAD;
  c->uncounted = false;
  uv_timer_stop(&c->timer);
  forget_faults(c);
  c->queued = c->out.bytes; // a 100 Continue may still be there
  c->sent = 0;
  router_handle(c);
}

static void parse_inbox(conn *c) {
  if (c->state != CONN_READING || c->inbox.len == 0) {
    return;
  }
  llhttp_errno_t rc = llhttp_execute(&c->parser, c->inbox.data, c->inbox.len);
  if (rc == HPE_OK) {
    buf_clear(&c->inbox);
    return;
  }
  if (rc != HPE_PAUSED) {
    buf_clear(&c->inbox);
    answer_bad_request(c, c->reject_status != 0 ? c->reject_status : 400);
    return;
  }
  const char *end = llhttp_get_error_pos(&c->parser);
  buf_consume(&c->inbox, (size_t)(end - c->inbox.data));
  start_answer(c);
}

static void on_read(void *data, const char *bytes, size_t len) {
  conn *c = data;
  if (c->state == CONN_CLOSED || c->state == CONN_LINGERING) {
    return;
  }
  if (c->state == CONN_READING) {
    uv_timer_stop(&c->timer); // the connection is not idle
  }
  buf_append(&c->inbox, bytes, len);
  if (c->inbox.len > INBOX_MAX) {
    stream_set_reading(c->stream, false);
  }
  parse_inbox(c);
}

/* A peer that ends its side has given up on the answer: Go's server cancels
 * the request then, and so do we. */
static void on_end(void *data, int error) {
  conn *c = data;
  if (error == 0) {
    stream_shutdown(c->stream);
  }
  conn_close(c, false);
}

/* --------------------------------------------------------------- output */

size_t conn_backlog(const conn *c) {
  return c->out.bytes;
}

void conn_push(conn *c, blob *owner, const char *ptr, size_t len) {
  segq_push(&c->out, owner, ptr, len);
  c->queued += len;
  conn_mark_dirty(c);
}

void conn_push_copy(conn *c, const void *bytes, size_t len) {
  segq_push_copy(&c->out, bytes, len);
  c->queued += len;
  conn_mark_dirty(c);
}

void conn_push_queue(conn *c, segq *q, size_t len) {
  segq_move(&c->out, q, len);
  c->queued += len;
  conn_mark_dirty(c);
}

void conn_set_producer(conn *c, producer p) {
  c->producer = p;
}

void conn_mark_dirty(conn *c) {
  server_mark_dirty(&c->sim->server, c);
}

void conn_arm_limit(conn *c, uint64_t extra) {
  if (c->plan.action != WIRE_NONE && c->plan.action != WIRE_FINISH) {
    c->limit = c->queued + extra;
  }
}

void conn_hold(conn *c, uint64_t ms) {
  c->stalled = true;
  uv_timer_start(&c->timer, on_timer, ms, 0);
}

static void finish_request(conn *c) {
  drop_producer(c);
  resp_free(&c->resp);
  if (!c->keep_alive) {
    conn_linger(c);
    return;
  }
  request_clear(&c->req);
  clear_next_header(&c->req);
  llhttp_resume(&c->parser);
  c->state = CONN_READING;
  bool idle_close = c->plan.idle_close;
  uint64_t idle_ms = c->plan.idle_ms;
  forget_faults(c);
  if (idle_close && c->inbox.len == 0) {
    uv_timer_start(&c->timer, on_idle, idle_ms, 0);
  }
  stream_set_reading(c->stream, true);
  parse_inbox(c);
}

static void act_on_limit(conn *c) {
  wire_action action = c->plan.action;
  c->plan.action = WIRE_NONE;
  c->limit = UINT64_MAX;
  switch (action) {
  case WIRE_NONE:
    break;
  case WIRE_RESET:
    conn_close(c, true);
    break;
  case WIRE_CLOSE:
    conn_close(c, false);
    break;
  case WIRE_STALL:
    c->stalled = true;
    if (c->plan.stall_ms != 0) {
      conn_hold(c, c->plan.stall_ms);
    }
    break;
  case WIRE_HALF_CLOSE:
    c->stalled = true;
    stream_shutdown(c->stream);
    break;
  case WIRE_HALF_OPEN:
    c->stalled = true;
    stream_set_reading(c->stream, false);
    break;
  case WIRE_FINISH:
    finish_request(c);
    break;
  }
}

static void write_some(conn *c) {
  size_t allowed = c->out.bytes;
  if (c->limit - c->sent < allowed) {
    allowed = (size_t)(c->limit - c->sent);
  }
  if (c->plan.write_bytes != 0 && allowed > c->plan.write_bytes) {
    allowed = c->plan.write_bytes;
  }
  uv_buf_t bufs[WRITE_SEGMENTS_MAX];
  unsigned count = 0;
  size_t total = 0;
  while (total < allowed && count < WRITE_SEGMENTS_MAX) {
    const seg *s = segq_at(&c->out, count);
    size_t part = s->len < allowed - total ? s->len : allowed - total;
    bufs[count].base = (char *)s->ptr;
    bufs[count++].len = part;
    total += part;
  }
  c->in_flight = total;
  stream_write(c->stream, bufs, count);
}

void conn_flush(conn *c) {
  if (c->state == CONN_CLOSED || c->state == CONN_LINGERING || c->stalled ||
      c->in_flight != 0) {
    return;
  }
  if (c->sent >= c->limit) {
    act_on_limit(c);
    return;
  }
  if (c->producer.on_drain != NULL && c->out.bytes < CONN_LOW_WATER) {
    c->producer.on_drain(c->producer.data);
  }
  if (c->out.bytes != 0) {
    write_some(c);
  } else if (c->resp.ended) {
    finish_request(c);
  }
}

static void on_written(void *data, int error) {
  conn *c = data;
  size_t len = c->in_flight;
  c->in_flight = 0;
  if (c->state == CONN_CLOSED) {
    return;
  }
  if (error != 0) {
    conn_close(c, false);
    return;
  }
  c->sent += len;
  c->sim->stats.bytes_sent += len;
  segq_drop(&c->out, len);
  if (c->plan.write_bytes != 0 && c->plan.delay_ms != 0 &&
      c->state == CONN_ANSWERING) {
    conn_hold(c, c->plan.delay_ms);
    return;
  }
  conn_mark_dirty(c);
}

static const stream_events EVENTS = {on_read, on_end, on_written,
                                     on_stream_closed};

void conn_accept(struct sim *s, uv_stream_t *listener) {
  conn *c = xcalloc(1, sizeof *c);
  int rc = s->tls != NULL
               ? tls_stream_accept(s->tls, listener, &EVENTS, c, &c->stream)
               : stream_accept_tcp(listener, &EVENTS, c, &c->stream);
  if (rc != 0) {
    free(c);
    return;
  }
  c->sim = s;
  c->state = CONN_READING;
  c->limit = UINT64_MAX;
  uv_timer_init(s->loop, &c->timer);
  c->timer.data = c;
  start_parser(c);
  server_add(&s->server, c);
  stream_set_reading(c->stream, true);
}
