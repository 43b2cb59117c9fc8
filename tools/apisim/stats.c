/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include <llhttp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "mem.h"
#include "sim.h"

static void free_request(stats_request *r) {
  free(r->method);
  free(r->url);
  free(r->verb);
  free(r->accept);
  free(r->agent);
  *r = (stats_request){0};
}

/* Header values may hold any byte; the report has to stay valid JSON. */
static char *copy_ascii(const char *text, size_t len) {
  char *copy = xstrndup(text != NULL ? text : "", len);
  for (size_t i = 0; i < len; i++) {
    if ((unsigned char)copy[i] >= 0x7f) {
      copy[i] = '?';
    }
  }
  return copy;
}

static char *copy_header(const conn *c, const char *name) {
  slice value = request_header(&c->req, name);
  return copy_ascii(value.ptr, value.len);
}

static void count_verb(stats *st, const char *key) {
  for (size_t i = 0; i < st->by_verb_count; i++) {
    if (strcmp(st->by_verb[i].key, key) == 0) {
      st->by_verb[i].count++;
      return;
    }
  }
  if (st->by_verb_count < STATS_PAIRS_MAX) {
    st->by_verb[st->by_verb_count].key = xstrdup(key);
    st->by_verb[st->by_verb_count++].count = 1;
  }
}

void stats_asked(stats *st, const conn *c, const char *verb,
                 const char *plural) {
  st->requests++;
  count_verb(st, verb);
  if (plural != NULL) {
    char key[160];
    snprintf(key, sizeof key, "%s %s", verb, plural);
    count_verb(st, key);
  }
  stats_request *r = &st->last[st->last_count++ % STATS_LAST_MAX];
  free_request(r);
  r->method = xstrdup(llhttp_method_name((llhttp_method_t)c->req.method));
  r->url = copy_ascii(c->req.url.data, c->req.url.len);
  r->verb = xstrdup(verb);
  r->accept = copy_header(c, "Accept");
  r->agent = copy_header(c, "User-Agent");
}

void stats_answered(stats *st, int status) {
  st->by_class[status >= 100 && status < 600 ? status / 100 : 0]++;
  if (st->last_count != 0) {
    stats_request *r = &st->last[(st->last_count - 1) % STATS_LAST_MAX];
    r->status = r->status != 0 ? r->status : status;
  }
}

void stats_reset(stats *st) {
  for (size_t i = 0; i < STATS_LAST_MAX; i++) {
    free_request(&st->last[i]);
  }
  for (size_t i = 0; i < st->by_verb_count; i++) {
    free(st->by_verb[i].key);
  }
  *st = (stats){0};
}

static void put_last(const stats *st, buf *out) {
  uint64_t first =
      st->last_count > STATS_LAST_MAX ? st->last_count - STATS_LAST_MAX : 0;
  buf_puts(out, "[");
  for (uint64_t i = first; i < st->last_count; i++) {
    const stats_request *r = &st->last[i % STATS_LAST_MAX];
    buf_printf(out, "%s{\"method\":\"%s\",\"verb\":\"%s\",\"status\":%d",
               i != first ? "," : "", r->method, r->verb, r->status);
    buf_puts(out, ",\"url\":");
    buf_put_json(out, r->url, strlen(r->url));
    buf_puts(out, ",\"accept\":");
    buf_put_json(out, r->accept, strlen(r->accept));
    buf_puts(out, ",\"userAgent\":");
    buf_put_json(out, r->agent, strlen(r->agent));
    buf_putc(out, '}');
  }
  buf_puts(out, "]");
}

static void put_counts(const stats *st, buf *out) {
  buf_printf(out, "\"total\":%llu,\"byClass\":{",
             (unsigned long long)st->requests);
  for (int i = 0; i < 6; i++) {
    char name[8] = "none";
    if (i != 0) {
      snprintf(name, sizeof name, "%dxx", i);
    }
    buf_printf(out, "%s\"%s\":%llu", i != 0 ? "," : "", name,
               (unsigned long long)st->by_class[i]);
  }
  buf_puts(out, "},\"byVerb\":{");
  for (size_t i = 0; i < st->by_verb_count; i++) {
    buf_puts(out, i != 0 ? "," : "");
    buf_put_json(out, st->by_verb[i].key, strlen(st->by_verb[i].key));
    buf_printf(out, ":%llu", (unsigned long long)st->by_verb[i].count);
  }
  buf_putc(out, '}');
}

void stats_describe(struct sim *s, buf *out) {
  const stats *st = &s->stats;
  buf_puts(out, "{\"requests\":{");
  put_counts(st, out);
  buf_printf(out, "},\"connections\":{\"open\":%zu,\"accepted\":%llu}",
             s->server.open_count,
             (unsigned long long)s->server.accepted_count);
  buf_printf(out, ",\"watches\":{\"open\":%zu,\"started\":%llu}",
             s->watch_count, (unsigned long long)st->watches_started);
  buf_printf(out, ",\"eventsSent\":%llu,\"bookmarksSent\":%llu",
             (unsigned long long)st->events_sent,
             (unsigned long long)st->bookmarks_sent);
  buf_printf(out, ",\"bytesSent\":%llu,\"faultsApplied\":%llu",
             (unsigned long long)st->bytes_sent,
             (unsigned long long)st->faults_applied);
  buf_printf(out,
             ",\"resourceVersion\":\"%llu\",\"compactedRevision\":\"%llu\"",
             (unsigned long long)store_revision(s->store),
             (unsigned long long)store_compacted(s->store));
  buf_printf(out, ",\"keys\":%zu", store_key_count(s->store));
  buf_puts(out, ",\"lastRequests\":");
  put_last(st, out);
  buf_puts(out, "}\n");
}
