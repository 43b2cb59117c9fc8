/* SPDX-License-Identifier: MIT */
#include "resp.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conn.h"
#include "mem.h"
#include "sim.h"

enum { GATHER_BYTES = 2048 };

void resp_free(resp *r) {
  for (size_t i = 0; i < r->header_count; i++) {
    free(r->headers[i].value);
  }
  segq_free(&r->pending);
  segq_free(&r->parts);
  *r = (resp){0};
}

/* ------------------------------------------------------------------ head */

static const struct {
  int status;
  const char *text;
} STATUS_TEXTS[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Request Entity Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Entity"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

const char *resp_status_text(int status) {
  for (size_t i = 0; i < sizeof STATUS_TEXTS / sizeof STATUS_TEXTS[0]; i++) {
    if (STATUS_TEXTS[i].status == status) {
      return STATUS_TEXTS[i].text;
    }
  }
  return NULL;
}

static void put_status_line(buf *b, int status, bool old) {
  const char *text = resp_status_text(status);
  buf_puts(b, old ? "HTTP/1.0 " : "HTTP/1.1 ");
  if (text != NULL) {
    buf_printf(b, "%d %s\r\n", status, text);
  } else {
    buf_printf(b, "%03d status code %d\r\n", status, status);
  }
}

static void put_http_date(buf *b) {
  char text[40];
  time_t now = time(NULL);
  struct tm tm;
  gmtime_r(&now, &tm);
  strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
  buf_printf(b, "Date: %s\r\n", text);
}

typedef struct header_line {
  const char *name;
  const char *value;
} header_line;

static int by_name(const void *a, const void *b) {
  return strcasecmp(((const header_line *)a)->name,
                    ((const header_line *)b)->name);
}

/* Go sends the headers a handler set in alphabetical order. */
static void put_handler_headers(conn *c, buf *b) {
  resp *r = &c->resp;
  header_line lines[RESP_HEADERS_MAX + 5];
  size_t count = 0;
  char audit[UUID_LEN + 1];
  rng_uuid(&c->sim->audit_rng, audit);
  lines[count++] = (header_line){"Audit-Id", audit};
  lines[count++] = (header_line){"Cache-Control", r->cache_control};
  lines[count++] = (header_line){"Content-Type", r->content_type};
  if (c->plan.content_type[0] != '\0') {
    lines[count - 1].value = c->plan.content_type;
  }
  if (r->flow_control) {
    lines[count++] = (header_line){"X-Kubernetes-Pf-Flowschema-Uid",
                                   c->sim->flow_schema_uid};
    lines[count++] = (header_line){"X-Kubernetes-Pf-Prioritylevel-Uid",
                                   c->sim->priority_level_uid};
  }
  for (size_t i = 0; i < r->header_count; i++) {
    lines[count++] = (header_line){r->headers[i].name, r->headers[i].value};
  }
  qsort(lines, count, sizeof lines[0], by_name);
  for (size_t i = 0; i < count; i++) {
    buf_printf(b, "%s: %s\r\n", lines[i].name, lines[i].value);
  }
}

static bool has_no_body(const conn *c) {
  int status = c->resp.status;
  return c->head_only || status == 204 || status == 304;
}

/* content_length < 0 = length not known. */
static void send_head(conn *c, int64_t content_length) {
  resp *r = &c->resp;
  assert(!r->head_sent);
  r->head_sent = true;
  buf head = {0};
  put_status_line(&head, r->status, c->plan.old);
  if (c->plan.until_close && !has_no_body(c)) {
    content_length = -1;
  }
  put_handler_headers(c, &head);
  put_http_date(&head);
  if (content_length >= 0) {
    buf_printf(&head, "Content-Length: %lld\r\n", (long long)content_length);
  } else if (c->http10) {
    c->keep_alive = false;
  } else {
    r->chunked = true;
  }
  if (!c->keep_alive) {
    buf_puts(&head, "Connection: close\r\n");
  }
  if (r->chunked) {
    buf_puts(&head, "Transfer-Encoding: chunked\r\n");
  }
  buf_puts(&head, "\r\n");
  conn_push_copy(c, head.data, head.len);
  buf_free(&head);
  if (c->plan.after_events == 0) {
    conn_arm_limit(c, c->plan.after_bytes);
  }
}

/* --------------------------------------------------------------- framing */

static void send_chunk(conn *c, segq *q, size_t len) {
  if (!c->resp.chunked) {
    conn_push_queue(c, q, len);
    return;
  }
  char head[24];
  int n = snprintf(head, sizeof head, "%zx\r\n", len);
  conn_push_copy(c, head, (size_t)n);
  conn_push_queue(c, q, len);
  conn_push(c, NULL, "\r\n", 2);
}

/* Sends everything in q as one chunk, or as several if a split fault says so.
 */
static void send_all(conn *c, segq *q) {
  size_t most = c->plan.chunk_bytes != 0 ? c->plan.chunk_bytes : q->bytes;
  while (q->bytes != 0) {
    send_chunk(c, q, q->bytes < most ? q->bytes : most);
  }
}

/* Go's bufio.Writer.Write(). */
static void gather(conn *c, segq *in) {
  resp *r = &c->resp;
  while (in->bytes > GATHER_BYTES - r->pending.bytes) {
    if (!r->head_sent) {
      send_head(c, -1);
    }
    if (r->pending.bytes == 0) {
      send_all(c, in);
      return;
    }
    segq_move(&r->pending, in, GATHER_BYTES - r->pending.bytes);
    send_all(c, &r->pending);
  }
  segq_move(&r->pending, in, in->bytes);
}

void resp_flush(conn *c) {
  resp *r = &c->resp;
  if (!r->active || r->ended) {
    return;
  }
  if (!r->head_sent) {
    send_head(c, -1);
  }
  if (r->pending.bytes != 0) {
    send_all(c, &r->pending);
  }
}

/* ------------------------------------------------------------------ body */

static void indent_parts(resp *r, segq *parts) {
  buf laid_out = {0};
  for (size_t i = 0; i < parts->count; i++) {
    const seg *s = segq_at(parts, i);
    indent_json(&r->indenter, &laid_out, s->ptr, s->len);
  }
  segq_drop(parts, parts->bytes);
  segq_push_copy(parts, laid_out.data, laid_out.len);
  buf_free(&laid_out);
}

/* Writes the first len bytes of parts in the form the client asked for. */
static void write_body(conn *c, segq *parts, size_t len) {
  resp *r = &c->resp;
  r->body_bytes += len;
  segq now = {0};
  segq_move(&now, parts, len);
  if (r->indent) {
    indent_parts(r, &now);
  }
  if (r->compress) {
    segq framed = {0};
    if (r->blanks != 0) {
      gzip_put_blanks(&r->gzip, r->blanks, &framed);
      r->blanks = 0;
    }
    gzip_put(&r->gzip, &now, &framed);
    gather(c, &framed);
    segq_free(&framed);
  } else {
    gather(c, &now);
  }
  segq_free(&now);
}

static void write_garbage(conn *c) {
  size_t len = c->plan.garbage_bytes;
  blob *noise = blob_new(len);
  for (size_t i = 0; i < len; i++) {
    noise->data[i] = (char)rng_below(&c->sim->fault_rng, 256);
  }
  noise->data[0] = '}'; // never to be taken for white space
  segq now = {0};
  segq_push(&now, noise, noise->data, len);
  gather(c, &now);
  segq_free(&now);
  blob_unref(noise);
}

/* The trigger is reached: insert garbage, or end the body in good order. */
static void fire_body_fault(conn *c) {
  c->resp.trigger = UINT64_MAX;
  if (c->plan.garbage_bytes != 0) {
    write_garbage(c);
  }
  if (c->plan.truncate) {
    c->resp.cut_short = true;
  }
}

static bool has_body_fault(const conn *c) {
  return c->plan.garbage_bytes != 0 || c->plan.truncate;
}

void resp_write(conn *c, segq *parts) {
  resp *r = &c->resp;
  if (!r->active || r->ended || r->cut_short || has_no_body(c)) {
    segq_drop(parts, parts->bytes);
    return;
  }
  if (r->trigger <= r->body_bytes + parts->bytes) {
    write_body(c, parts, (size_t)(r->trigger - r->body_bytes));
    fire_body_fault(c);
    if (r->cut_short) {
      segq_drop(parts, parts->bytes);
      resp_finish_early(c);
      return;
    }
  }
  if (r->indent || r->compress) {
    write_body(c, parts, parts->bytes);
    return;
  }
  r->body_bytes += parts->bytes; // the usual case, without a detour
  gather(c, parts);
}

void resp_write_ref(conn *c, blob *owner, const char *ptr, size_t len) {
  segq_push(&c->resp.parts, owner, ptr, len);
  resp_write(c, &c->resp.parts);
}

void resp_write_copy(conn *c, const void *bytes, size_t len) {
  segq_push_copy(&c->resp.parts, bytes, len);
  resp_write(c, &c->resp.parts);
}

void resp_event_end(conn *c) {
  resp_events_end(c, 1);
}

void resp_events_end(conn *c, uint64_t count) {
  resp *r = &c->resp;
  r->events += count;
  c->sim->stats.events_sent += count;
  if (count == 0 || r->events != c->plan.after_events) {
    return;
  }
  resp_flush(c);
  conn_arm_limit(c, c->plan.after_bytes);
  if (has_body_fault(c)) {
    r->trigger = r->body_bytes + c->plan.after_bytes;
  }
}

/* ------------------------------------------------------------ life cycle */

static bool wants_indent(conn *c) {
  const char *pretty = request_query(&c->req, "pretty");
  if (pretty != NULL) {
    return request_query_bool(&c->req, "pretty");
  }
  slice agent = request_header(&c->req, "User-Agent");
  static const char *const AGENTS[] = {"curl", "Wget", "Mozilla/5.0"};
  for (size_t i = 0; i < sizeof AGENTS / sizeof AGENTS[0]; i++) {
    size_t len = strlen(AGENTS[i]);
    if (agent.len >= len && memcmp(agent.ptr, AGENTS[i], len) == 0) {
      return true;
    }
  }
  return false;
}

static void start_compressing(conn *c) {
  resp *r = &c->resp;
  resp_header(c, "Content-Encoding", "gzip");
  resp_header(c, "Vary", "Accept-Encoding");
  r->compress = true;
  segq head = {0};
  gzip_begin(&r->gzip, &head);
  gather(c, &head);
  segq_free(&head);
}

void resp_begin(conn *c, int status, const char *content_type) {
  resp *r = &c->resp;
  assert(!r->active);
  resp_free(r);
  r->active = true;
  r->status = status;
  r->content_type = content_type;
  r->cache_control = "no-cache, private";
  r->flow_control = true;
  r->trigger = UINT64_MAX;
  if (has_body_fault(c) && c->plan.after_events == 0) {
    r->trigger = c->plan.after_bytes;
  }
  if (!request_query_bool(&c->req, "watch") &&
      strncmp(content_type, "application/json", 16) == 0) {
    r->indent = wants_indent(c);
  }
  if (c->plan.warning[0] != '\0') {
    char value[sizeof c->plan.warning + 16];
    snprintf(value, sizeof value, "299 - \"%s\"", c->plan.warning);
    resp_header(c, "Warning", value);
  }
  if (c->plan.gzip && !has_no_body(c)) {
    start_compressing(c);
    r->blanks = c->plan.gzip_blanks;
  }
  if (!c->uncounted) {
    stats_answered(&c->sim->stats, status);
  }
}

void resp_header(conn *c, const char *name, const char *value) {
  resp *r = &c->resp;
  assert(!r->head_sent && r->header_count < RESP_HEADERS_MAX);
  r->headers[r->header_count].name = name;
  r->headers[r->header_count++].value = xstrdup(value);
}

void resp_compress(conn *c) {
  resp *r = &c->resp;
  slice accepted = request_header(&c->req, "Accept-Encoding");
  if (r->compress || !c->sim->opts->gzip || accepted.ptr == NULL ||
      memmem(accepted.ptr, accepted.len, "gzip", 4) == NULL) {
    return;
  }
  start_compressing(c);
}

static void end_body(conn *c) {
  resp *r = &c->resp;
  if (r->compress && !r->cut_short) {
    segq trailer = {0};
    gzip_end(&r->gzip, &trailer);
    gather(c, &trailer);
    segq_free(&trailer);
  }
  if (!r->head_sent) {
    send_head(c, has_no_body(c) ? 0 : (int64_t)r->pending.bytes);
  }
  if (r->pending.bytes != 0) {
    send_all(c, &r->pending);
  }
  if (r->chunked) {
    conn_push(c, NULL, "0\r\n\r\n", 5);
  }
}

void resp_end(conn *c) {
  resp *r = &c->resp;
  if (!r->active || r->ended) {
    return;
  }
  if (!r->cut_short) {
    end_body(c);
  }
  r->ended = true;
  conn_mark_dirty(c);
}

void resp_finish_early(conn *c) {
  end_body(c);
  c->plan.action = WIRE_FINISH;
  c->limit = c->queued;
  conn_mark_dirty(c);
}

void resp_begin_raw(conn *c) {
  send_head(c, -1);
}

void resp_send(conn *c, int status, const char *content_type, const char *body,
               size_t len) {
  resp_begin(c, status, content_type);
  resp_write_copy(c, body, len);
  resp_end(c);
}
