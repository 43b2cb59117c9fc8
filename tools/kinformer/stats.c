/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include <string.h>

#include <kin/metrics.h>
#include <uv.h>

#include "json.h"

static void key(json_writer *w, const char *name) {
  json_key(w, (kin_str){name, strlen(name)});
}

/* An age that is "never" has no number. */
static void member_age(json_writer *w, const char *name, uint64_t age_ms) {
  if (age_ms != UINT64_MAX) {
    json_member_u64(w, name, age_ms);
  }
}

static void append_scope(json_writer *w, const char *namespace_,
                         const kin_status *s) {
  json_open(w, '{');
  json_member_z(w, "namespace", namespace_);
  json_member_z(w, "state", kin_state_name(s->state));
  json_member_bool(w, "synced", s->has_synced);
  json_member_z(w, "resourceVersion", s->resource_version);
  json_member_u64(w, "lists", s->lists);
  json_member_u64(w, "relists", s->relists);
  json_member_u64(w, "watches", s->watches);
  json_member_u64(w, "events", s->events);
  json_member_u64(w, "bookmarks", s->bookmarks);
  json_member_u64(w, "unchanged", s->unchanged);
  json_member_u64(w, "receivedBytes", s->received_bytes);
  json_member_u64(w, "failures", s->failures);
  json_member_z(w, "memoryState", kin_memory_state_name(s->memory_state));
  if (s->last_error_class != KIN_CLASS_NONE) {
    json_member_z(w, "lastErrorClass",
                  kin_error_class_name(s->last_error_class));
    json_member_u64(w, "lastErrorStatus",
                    s->last_error_status > 0 ? (uint64_t)s->last_error_status
                                             : 0);
  }
  member_age(w, "byteAgeMs", s->byte_age_ms);
  member_age(w, "eventAgeMs", s->event_age_ms);
  member_age(w, "bookmarkAgeMs", s->bookmark_age_ms);
  json_close(w, '}');
}

static void append_scopes(json_writer *w, const options *o,
                          const kin_informer *informer) {
  key(w, "scopes");
  json_open(w, '[');
  size_t count = o->namespace_count > 0 ? o->namespace_count : 1;
  for (size_t i = 0; i < count; i++) {
    const char *name = o->namespace_count > 0 ? o->namespaces[i] : "";
    kin_status status = KIN_STATUS_INIT;
    if (kin_informer_get_status(informer, name, &status) == 0) {
      append_scope(w, name, &status);
    }
  }
  json_close(w, ']');
}

static void append_client(json_writer *w, const kin_client *client) {
  kin_client_stats s = KIN_CLIENT_STATS_INIT;
  (void)kin_client_get_stats(client, &s);
  key(w, "client");
  json_open(w, '{');
  json_member_u64(w, "iterations", s.iterations);
  json_member_u64(w, "longestNs", s.longest_ns);
  json_member_u64(w, "busyNs", s.busy_ns);
  json_member_u64(w, "handlerNs", s.handler_ns);
  json_member_u64(w, "receivedBytes", s.received_bytes);
  json_member_u64(w, "sentBytes", s.sent_bytes);
  json_member_u64(w, "requests", s.requests);
  json_member_u64(w, "connections", s.connections);
  json_member_u64(w, "openConnections", s.open_connections);
  json_close(w, '}');
}

static void append_compact(json_writer *w, const kin_informer *informer) {
  kin_informer_metrics m = KIN_INFORMER_METRICS_INIT;
  (void)kin_informer_get_metrics(informer, &m);
  key(w, "compact");
  json_open(w, '{');
  json_member_u64(w, "objects", m.packed_objects);
  json_member_u64(w, "textBytes", m.packed_text_bytes);
  json_member_u64(w, "packedBytes", m.packed_bytes);
  json_member_u64(
      w, "ratioPercent",
      m.packed_bytes > 0 ? m.packed_text_bytes * 100 / m.packed_bytes : 0);
  json_member_u64(w, "dictionaries", m.dictionaries);
  json_close(w, '}');
}

static void append_lines(json_writer *w, const line_counts *lines) {
  key(w, "lines");
  json_open(w, '{');
  json_member_u64(w, "initial", lines->initial);
  json_member_u64(w, "add", lines->add);
  json_member_u64(w, "update", lines->update);
  json_member_u64(w, "delete", lines->delete_);
  json_member_u64(w, "resync", lines->resync);
  json_member_u64(w, "relisted", lines->relisted);
  json_member_u64(w, "error", lines->error);
  json_close(w, '}');
}

static uint64_t microseconds(uv_timeval_t t) {
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static void append_process(json_writer *w) {
  uv_rusage_t usage = {0};
  size_t rss = 0;
  uv_getrusage(&usage);
  uv_resident_set_memory(&rss);
  uint64_t peak = usage.ru_maxrss * 1024;
#ifdef __APPLE__
  /* In bytes, until libuv 1.45. */
  if (uv_version() < UINT32_C(0x012d00)) {
    peak = usage.ru_maxrss;
  }
#endif
  json_member_u64(w, "cpuUs",
                  microseconds(usage.ru_utime) + microseconds(usage.ru_stime));
  json_member_u64(w, "rssBytes", rss);
  json_member_u64(w, "peakRssBytes", peak);
}

void stats_append(text *out, const options *o, const line_counts *lines,
                  kin_client *client, kin_informer *informer) {
  json_writer w = {.out = out};
  kin_store *store = kin_informer_store(informer);
  json_open(&w, '{');
  json_member_u64(&w, "objects", kin_store_count(store));
  json_member_u64(&w, "bytes", kin_store_bytes(store));
  append_process(&w);
  append_lines(&w, lines);
  append_scopes(&w, o, informer);
  append_client(&w, client);
  if (o->compact != KIN_COMPACT_OFF && informer) {
    append_compact(&w, informer);
  }
  json_close(&w, '}');
  text_append_char(out, '\n');
}
