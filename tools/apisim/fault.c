/* SPDX-License-Identifier: MIT */
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "fault_words.h"
#include "mem.h"
#include "odd.h"
#include "sim.h"
#include "status.h"

typedef struct rule {
  struct rule *next;
  uint64_t id;
  const struct fault_kind *kind;
  uint64_t applied;

  /* Which requests, and how many of them. */
  char verb[24];   // "any" = every verb
  char plural[64]; // "" = every resource, and paths that are none
  uint64_t count;  // 0 = without end
  uint64_t skip;   // matching requests let through first
  uint64_t percent;

  /* Parameters of the kinds. */
  uint64_t after_bytes;
  uint64_t after_events;
  uint64_t bytes;
  uint64_t ms;
  uint64_t code;
  uint64_t retry_after;
  uint64_t drop;
  char how[16];
  char mode[16];
  char body[16];
  char type[64];
  char reason[32];
  char to[128];
  char text[200];
} rule;

struct faults {
  rule *first;
  uint64_t last_id;
};

/* Applies a rule to the response c is about to give. True if it answered. */
typedef bool (*apply_fn)(conn *c, const rule *r);

typedef struct fault_kind {
  const char *name;
  apply_fn apply; // NULL = acts when the rule is added
  bool answers;   // else it only changes the answer to come
} fault_kind;

/* ----------------------------------------------------------------- kinds */

static bool plan_action(conn *c, const rule *r, wire_action action) {
  c->plan.action = action;
  c->plan.after_events = r->after_events;
  c->plan.after_bytes = r->after_bytes;
  c->plan.stall_ms = (uint32_t)r->ms;
  return false;
}

static bool apply_cut(conn *c, const rule *r) {
  return plan_action(c, r,
                     strcmp(r->how, "fin") == 0 ? WIRE_CLOSE : WIRE_RESET);
}

static bool apply_stall(conn *c, const rule *r) {
  return plan_action(c, r, WIRE_STALL);
}

static bool apply_half_close(conn *c, const rule *r) {
  return plan_action(c, r, WIRE_HALF_CLOSE);
}

static bool apply_half_open(conn *c, const rule *r) {
  return plan_action(c, r, WIRE_HALF_OPEN);
}

static bool apply_split(conn *c, const rule *r) {
  size_t bytes = r->bytes != 0 ? (size_t)r->bytes : 1;
  if (strcmp(r->mode, "chunks") == 0) {
    c->plan.chunk_bytes = bytes;
  } else if (strcmp(r->mode, "tcp") != 0 ||
             !stream_set_pieces(c->stream, bytes, (uint32_t)r->ms)) {
    c->plan.write_bytes = bytes;
  }
  c->plan.delay_ms = (uint32_t)r->ms;
  return false;
}

static bool apply_garbage(conn *c, const rule *r) {
  c->plan.garbage_bytes = r->bytes != 0 ? (size_t)r->bytes : 64;
  c->plan.after_events = r->after_events;
  c->plan.after_bytes = r->after_bytes;
  return false;
}

static bool apply_truncate(conn *c, const rule *r) {
  bool anywhere = r->after_bytes == 0 && r->after_events == 0;
  c->plan.truncate = true;
  c->plan.after_events = r->after_events;
  c->plan.after_bytes = anywhere ? 20 : r->after_bytes;
  return false;
}

static bool apply_content_type(conn *c, const rule *r) {
  snprintf(c->plan.content_type, sizeof c->plan.content_type, "%s",
           *r->type != '\0' ? r->type : "text/html; charset=utf-8");
  return false;
}

static bool apply_warning(conn *c, const rule *r) {
  snprintf(c->plan.warning, sizeof c->plan.warning, "%s",
           *r->text != '\0' ? r->text : "this version is deprecated");
  return false;
}

static bool apply_until_close(conn *c, const rule *r) {
  c->http10 = true;
  c->plan.until_close = true;
  c->plan.old = strcmp(r->mode, "1.1") != 0;
  return false;
}

static bool apply_gzip(conn *c, const rule *r) {
  c->plan.gzip = true;
  c->plan.gzip_blanks = (size_t)r->bytes;
  return false;
}

static bool apply_drop_bookmarks(conn *c, const rule *r) {
  (void)r;
  c->plan.drop_bookmarks = true;
  return false;
}

static bool apply_duplicate_bookmarks(conn *c, const rule *r) {
  (void)r;
  c->plan.duplicate_bookmarks = true;
  return false;
}

static bool apply_error(conn *c, const rule *r) {
  fault_error *error = &c->plan.error;
  error->is_set = true;
  error->code = r->code != 0 ? (unsigned)r->code : 410;
  error->retry_after = r->retry_after;
  memcpy(error->reason, r->reason, sizeof error->reason);
  memcpy(error->body, r->body, sizeof error->body);
  c->plan.after_events = r->after_events;
  return false;
}

static bool apply_end(conn *c, const rule *r) {
  c->plan.end_watch = true;
  c->plan.after_events = r->after_events;
  return false;
}

static bool apply_deaf(conn *c, const rule *r) {
  c->plan.deaf = true;
  c->plan.after_events = r->after_events;
  return false;
}

static bool apply_odd_object(conn *c, const rule *r) {
  c->plan.odd_object = true;
  c->plan.odd_bytes = r->bytes;
  c->plan.after_events = r->after_events;
  memcpy(c->plan.odd_mode, r->mode, sizeof c->plan.odd_mode);
  return false;
}

static bool apply_duplicate_events(conn *c, const rule *r) {
  (void)r;
  c->plan.duplicate_events = true;
  return false;
}

static bool apply_late_bookmarks(conn *c, const rule *r) {
  c->plan.late_bookmark_ms = r->ms != 0 ? r->ms : 1000;
  return false;
}

static bool apply_ignore_limit(conn *c, const rule *r) {
  (void)r;
  c->plan.ignore_limit = true;
  return false;
}

static bool apply_idle_close(conn *c, const rule *r) {
  c->plan.idle_close = true;
  c->plan.idle_ms = r->ms;
  return false;
}

static bool apply_delay(conn *c, const rule *r) {
  conn_hold(c, r->ms);
  return false;
}

static bool apply_no_response(conn *c, const rule *r) {
  (void)c;
  (void)r;
  return true;
}

static bool apply_header_bomb(conn *c, const rule *r) {
  size_t bytes = r->bytes != 0 ? (size_t)r->bytes : 1024 * 1024;
  buf head = {0};
  buf_puts(&head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
  for (unsigned i = 0; head.len < bytes; i++) {
    buf_printf(&head, "X-Padding-%06u: %0100u\r\n", i, i);
  }
  buf_puts(&head, "Content-Length: 2\r\n\r\n{}");
  c->resp.active = true;
  c->resp.ended = true;
  c->keep_alive = false;
  conn_push_copy(c, head.data, head.len);
  buf_free(&head);
  return true;
}

static bool apply_status(conn *c, const rule *r) {
  unsigned code = r->code != 0 ? (unsigned)r->code : 500;
  bool json = strcmp(r->body, "text") != 0;
  resp_begin(c, (int)code,
             json ? "application/json" : "text/plain; charset=utf-8");
  if (r->retry_after != 0) {
    char seconds[24];
    snprintf(seconds, sizeof seconds, "%llu",
             (unsigned long long)r->retry_after);
    resp_header(c, "Retry-After", seconds);
  }
  if (strcmp(r->body, "none") != 0) {
    buf body = {0};
    if (json) {
      odd_put_status(&body, code, r->reason, r->retry_after);
    } else {
      buf_puts(&body, odd_message(code));
    }
    buf_putc(&body, '\n');
    resp_write_copy(c, body.data, body.len);
    buf_free(&body);
  }
  resp_end(c);
  return true;
}

static bool apply_too_large(conn *c, const rule *r) {
  (void)r;
  uint64_t current = store_revision(c->sim->store);
  status_version_too_large(c, current + 1, current);
  return true;
}

static bool apply_redirect(conn *c, const rule *r) {
  resp_begin(c, r->code != 0 ? (int)r->code : 302, "text/html; charset=utf-8");
  resp_header(c, "Location",
              *r->to != '\0' ? r->to
                             : "https://sso.example/login?token=secret");
  resp_write_copy(c, "elsewhere\n", 10);
  resp_end(c);
  return true;
}

static const fault_kind KINDS[] = {
    {"cut", apply_cut},
    {"stall", apply_stall},
    {"half-close", apply_half_close},
    {"half-open", apply_half_open},
    {"split", apply_split},
    {"garbage", apply_garbage},
    {"truncate", apply_truncate},
    {"wrong-content-type", apply_content_type},
    {"until-close", apply_until_close},
    {"gzip", apply_gzip},
    {"warning", apply_warning},
    {"drop-bookmarks", apply_drop_bookmarks},
    {"duplicate-bookmarks", apply_duplicate_bookmarks},
    {"duplicate-events", apply_duplicate_events},
    {"late-bookmarks", apply_late_bookmarks},
    {"error", apply_error},
    {"end", apply_end},
    {"deaf", apply_deaf},
    {"odd-object", apply_odd_object},
    {"ignore-limit", apply_ignore_limit},
    {"idle-close", apply_idle_close},
    {"delay", apply_delay},
    {"status", apply_status, true},
    {"redirect", apply_redirect, true},
    {"too-large", apply_too_large, true},
    {"no-response", apply_no_response, true},
    {"header-bomb", apply_header_bomb, true},
    {"refuse", NULL},
};

enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

static const fault_kind *find_kind(const char *name) {
  for (size_t i = 0; i < KIND_COUNT; i++) {
    if (strcmp(KINDS[i].name, name) == 0) {
      return &KINDS[i];
    }
  }
  return NULL;
}

/* ---------------------------------------------------------------- members */

typedef struct member {
  const char *name;
  size_t offset;
  size_t size; // of a text; 0 = a number
  uint64_t least, most;
} member;

#define NUMBER(name, field, least, most)                                       \
  { name, offsetof(rule, field), 0, least, most }
#define TEXT(name, field)                                                      \
  { name, offsetof(rule, field), sizeof(((rule *)0)->field), 0, 0 }

static const member MEMBERS[] = {
    TEXT("verb", verb),
    TEXT("plural", plural),
    NUMBER("count", count, 0, UINT32_MAX),
    NUMBER("skip", skip, 0, UINT32_MAX),
    NUMBER("percent", percent, 0, 100),
    NUMBER("after-bytes", after_bytes, 0, UINT32_MAX),
    NUMBER("after-events", after_events, 0, UINT32_MAX),
    NUMBER("bytes", bytes, 0, 64u << 20),
    NUMBER("ms", ms, 0, 24 * 3600 * 1000),
    NUMBER("code", code, 100, 599),
    NUMBER("retry-after", retry_after, 0, UINT32_MAX),
    NUMBER("drop", drop, 0, 1),
    TEXT("how", how),
    TEXT("mode", mode),
    TEXT("body", body),
    TEXT("type", type),
    TEXT("reason", reason),
    TEXT("to", to),
    TEXT("text", text),
};

enum { MEMBER_COUNT = sizeof MEMBERS / sizeof MEMBERS[0] };

static bool is_plain_text(slice value) {
  for (size_t i = 0; i < value.len; i++) {
    if (value.ptr[i] < ' ' || value.ptr[i] > '~' || value.ptr[i] == '"' ||
        value.ptr[i] == '\\') {
      return false;
    }
  }
  return true;
}

static bool set_member(rule *r, slice name, slice value, buf *error) {
  for (size_t i = 0; i < MEMBER_COUNT; i++) {
    const member *m = &MEMBERS[i];
    char *at = (char *)r + m->offset;
    if (!slice_is(name, m->name)) {
      continue;
    }
    if (m->size != 0) {
      if (value.len >= m->size || !is_plain_text(value)) {
        buf_printf(error, "%s: not a short plain text", m->name);
        return false;
      }
      if (!fault_words_allow(r->kind->name, m->name, value, error)) {
        return false;
      }
      memcpy(at, value.ptr, value.len);
      at[value.len] = '\0';
      return true;
    }
    uint64_t number;
    if (!slice_to_u64(value, &number) || number < m->least ||
        number > m->most) {
      buf_printf(error, "%s: not a number from %llu to %llu", m->name,
                 (unsigned long long)m->least, (unsigned long long)m->most);
      return false;
    }
    memcpy(at, &number, sizeof number);
    return true;
  }
  buf_puts(error, "no such member: ");
  buf_append(error, name.ptr, name.len);
  return false;
}

static rule *new_rule(const char *kind, buf *error) {
  const fault_kind *found = kind != NULL ? find_kind(kind) : NULL;
  if (found == NULL) {
    buf_puts(error, "kind must be one of");
    for (size_t i = 0; i < KIND_COUNT; i++) {
      buf_printf(error, " %s", KINDS[i].name);
    }
    return NULL;
  }
  rule *r = xcalloc(1, sizeof *r);
  r->kind = found;
  r->percent = 100;
  strcpy(r->verb, "any");
  return r;
}

static uint64_t add_rule(struct sim *s, rule *r) {
  faults *f = s->faults;
  r->id = ++f->last_id;
  uint64_t id = r->id;
  if (r->kind->apply == NULL) {
    server_refuse(&s->server, r->ms != 0 ? r->ms : 1000);
    if (r->drop != 0) {
      server_drop_all(&s->server, NULL, true);
    }
    free(r);
    return id;
  }
  rule **end = &f->first;
  while (*end != NULL) {
    end = &(*end)->next;
  }
  *end = r;
  return id;
}

uint64_t faults_add(struct sim *s, yyjson_val *value, buf *error) {
  rule *r = new_rule(yyjson_get_str(yyjson_obj_get(value, "kind")), error);
  if (r == NULL) {
    return 0;
  }
  size_t i, max;
  yyjson_val *key, *item;
  yyjson_obj_foreach(value, i, max, key, item) {
    slice name = {yyjson_get_str(key), yyjson_get_len(key)};
    buf text = {0};
    buf_puts(&text, "");
    if (yyjson_is_uint(item)) {
      buf_put_u64(&text, yyjson_get_uint(item));
    } else if (yyjson_is_bool(item)) {
      buf_put_u64(&text, yyjson_get_bool(item) ? 1 : 0);
    } else if (yyjson_is_str(item)) {
      buf_append(&text, yyjson_get_str(item), yyjson_get_len(item));
    }
    bool ok = slice_is(name, "kind") ||
              set_member(r, name, (slice){text.data, text.len}, error);
    buf_free(&text);
    if (!ok) {
      free(r);
      return 0;
    }
  }
  return add_rule(s, r);
}

uint64_t faults_add_text(struct sim *s, const char *text, buf *error) {
  size_t len = strcspn(text, ",");
  char *kind = xstrndup(text, len);
  rule *r = new_rule(kind, error);
  free(kind);
  text += len;
  while (r != NULL && *text == ',') {
    text++;
    len = strcspn(text, ",");
    size_t name_len = strcspn(text, "=");
    bool ok = name_len < len;
    if (!ok) {
      buf_puts(error, "expected key=value");
    } else {
      ok = set_member(r, (slice){text, name_len},
                      (slice){text + name_len + 1, len - name_len - 1}, error);
    }
    if (!ok) {
      free(r);
      return 0;
    }
    text += len;
  }
  return r != NULL ? add_rule(s, r) : 0;
}

/* ------------------------------------------------------------- the rules */

faults *faults_new(void) {
  return xcalloc(1, sizeof(faults));
}

void faults_clear(faults *f) {
  while (f->first != NULL) {
    rule *r = f->first;
    f->first = r->next;
    free(r);
  }
}

void faults_free(faults *f) {
  faults_clear(f);
  free(f);
}

static void describe(const rule *r, buf *out) {
  buf_printf(out, "{\"id\":%llu,\"kind\":\"%s\",\"applied\":%llu",
             (unsigned long long)r->id, r->kind->name,
             (unsigned long long)r->applied);
  for (size_t i = 0; i < MEMBER_COUNT; i++) {
    const member *m = &MEMBERS[i];
    const char *at = (const char *)r + m->offset;
    uint64_t number = 0;
    if (m->size == 0) {
      memcpy(&number, at, sizeof number);
    }
    if (m->size != 0 && *at != '\0') {
      buf_printf(out, ",\"%s\":\"%s\"", m->name, at);
    } else if (m->size == 0 && number != 0) {
      buf_printf(out, ",\"%s\":%llu", m->name, (unsigned long long)number);
    }
  }
  buf_putc(out, '}');
}

void faults_describe(const faults *f, buf *out) {
  buf_putc(out, '[');
  for (const rule *r = f->first; r != NULL; r = r->next) {
    buf_puts(out, r != f->first ? "," : "");
    describe(r, out);
  }
  buf_putc(out, ']');
}

/* Some requests of a verb have a name of their own, too. */
static const char *second_verb(conn *c, const char *verb) {
  if (strcmp(verb, "watch") == 0 &&
      request_query_bool(&c->req, "sendInitialEvents")) {
    return "watchlist";
  }
  const char *token = request_query(&c->req, "continue");
  bool is_page = strcmp(verb, "list") == 0 && token != NULL && *token != '\0';
  return is_page ? "page" : verb;
}

static bool matches(const rule *r, conn *c, const char *verb,
                    const char *plural) {
  if (strcmp(r->verb, "any") != 0 && strcmp(r->verb, verb) != 0 &&
      strcmp(r->verb, second_verb(c, verb)) != 0) {
    return false;
  }
  return *r->plural == '\0' ||
         (plural != NULL && strcmp(r->plural, plural) == 0);
}

/* Whether the rule strikes this matching request. */
static bool strikes(struct sim *s, rule *r) {
  if (r->skip != 0) {
    r->skip--;
    return false;
  }
  if (r->count != 0 && r->applied == r->count) {
    return false;
  }
  if (r->percent < 100 && rng_below(&s->fault_rng, 100) >= r->percent) {
    return false;
  }
  r->applied++;
  s->stats.faults_applied++;
  return true;
}

/* Changes come before answers, so that a status can be cut or split, too. */
static bool apply_all(conn *c, const char *verb, const char *plural,
                      bool answers) {
  for (rule *r = c->sim->faults->first; r != NULL; r = r->next) {
    if (r->kind->answers == answers && matches(r, c, verb, plural) &&
        strikes(c->sim, r) && r->kind->apply(c, r)) {
      return true;
    }
  }
  return false;
}

bool faults_apply(conn *c, const char *verb, const char *plural) {
  return apply_all(c, verb, plural, false) || apply_all(c, verb, plural, true);
}
