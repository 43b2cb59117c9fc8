/* SPDX-License-Identifier: MIT */
/* Lists are taken as a snapshot of counted versions when the request comes and
 * then written piece by piece as the client reads, so a slow reader neither
 * blocks anybody nor sees later changes. */
#include "list.h"

#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "mem.h"
#include "odd.h"
#include "render.h"
#include "sim.h"
#include "status.h"
#include "token.h"

enum {
  ONE_WRITE_MAX = 1024 * 1024,
  GZIP_FROM = 128 * 1024, // as the real server
};

static void refuse_form(const api_call *call, const char *form,
                        const char *what, const char *suffix) {
  buf message = {0};
  buf_printf(
      &message, "you requested %s, but the requested object is %s (*%s.%s%s)",
      form, what, *call->res->group != '\0' ? call->res->version : "core",
      call->res->kind, suffix);
  status_not_acceptable(call->c, message.data);
  buf_free(&message);
}

void list_send_one(const api_call *call, int status, const rev *r) {
  segq body = {0};
  if (call->media == MEDIA_PARTIAL) {
    render_partial(&body, r, call->res, 0);
  } else {
    render_object(&body, r, 0);
  }
  segq_push(&body, NULL, "\n", 1);
  resp_begin(call->c, status, "application/json");
  resp_write(call->c, &body);
  resp_end(call->c);
  segq_free(&body);
}

void list_get_one(const api_call *call) {
  conn *c = call->c;
  if (call->media == MEDIA_PARTIAL_LIST) {
    refuse_form(call, "PartialObjectMetadataList", "not a list", "");
    return;
  }
  if (call->media != MEDIA_JSON && call->media != MEDIA_PARTIAL) {
    status_not_acceptable(c, NULL);
    return;
  }
  const char *text = request_query(&c->req, "resourceVersion");
  uint64_t version = 0;
  uint64_t current = store_revision(c->sim->store);
  if (text != NULL && *text != '\0' &&
      !slice_to_u64(slice_of(text), &version)) {
    status_invalid_version(c, 500, text);
    return;
  }
  if (version > current) {
    status_version_too_large(c, version, current);
    return;
  }
  char *key = object_key(call->ns, call->name);
  rev *r = table_get(call->res->table, key);
  free(key);
  if (r == NULL) {
    status_not_found(c, call->res, call->name);
    return;
  }
  list_send_one(call, 200, r);
}

/* ------------------------------------------------------------- the answer */

typedef struct list_job {
  conn *c;
  const resource *res;
  bool partial;
  snapshot items;
  size_t next;
  buf tail; // what follows the items
} list_job;

static void free_job(list_job *job) {
  snapshot_free(&job->items);
  buf_free(&job->tail);
  free(job);
}

static void on_abort(void *data) {
  free_job(data);
}

static void write_item(list_job *job, segq *to) {
  const rev *r = job->items.items[job->next];
  if (job->next++ != 0) {
    segq_push(to, NULL, ",", 1);
  }
  if (job->partial) {
    render_partial(to, r, job->res, 0);
  } else {
    render_item(to, r, job->res);
  }
}

static void on_drain(void *data) {
  list_job *job = data;
  conn *c = job->c;
  segq piece = {0};
  while (job->next < job->items.count && conn_backlog(c) < CONN_HIGH_WATER) {
    write_item(job, &piece);
    resp_write(c, &piece);
  }
  segq_free(&piece);
  if (job->next == job->items.count) {
    resp_write_copy(c, job->tail.data, job->tail.len);
    resp_end(c);
    conn_set_producer(c, (producer){0});
    free_job(job);
  }
}

/* The list's own metadata, in the order of a typed or a custom list. */
static void put_list_meta(buf *out, bool custom, uint64_t version,
                          const char *next, uint64_t remaining,
                          const char *shard) {
  buf_putc(out, '{');
  if (custom) {
    buf_printf(out, "\"continue\":\"%s\",", next);
    if (remaining != 0) {
      buf_puts(out, "\"remainingItemCount\":");
      buf_put_u64(out, remaining);
      buf_putc(out, ',');
    }
  }
  buf_puts(out, "\"resourceVersion\":\"");
  buf_put_u64(out, version);
  buf_putc(out, '"');
  if (!custom && *next != '\0') {
    buf_printf(out, ",\"continue\":\"%s\"", next);
  }
  if (!custom && remaining != 0) {
    buf_puts(out, ",\"remainingItemCount\":");
    buf_put_u64(out, remaining);
  }
  if (!custom && shard != NULL) { // a custom list has no member for it
    buf_printf(out, ",\"shardInfo\":{\"selector\":\"%s\"}", shard);
  }
  buf_putc(out, '}');
}

static void put_head_and_tail(buf *head, buf *tail, const resource *res,
                              bool partial, bool empty, const buf *meta) {
  if (partial) {
    buf_printf(head,
               "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":"
               "\"meta.k8s.io/v1\",\"metadata\":%s,\"items\":%s",
               meta->data, empty ? "null" : "[");
    buf_puts(tail, empty ? "}\n" : "]}\n");
  } else if (res->custom) {
    buf_printf(head, "{\"apiVersion\":\"%s\",\"items\":[", res->api_version);
    buf_printf(tail, "],\"kind\":\"%sList\",\"metadata\":%s}\n", res->kind,
               meta->data);
  } else {
    buf_printf(head,
               "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":%s,"
               "\"items\":[",
               res->kind, res->api_version, meta->data);
    buf_puts(tail, "]}\n");
  }
}

static size_t size_of(const list_job *job) {
  size_t size = 0;
  for (size_t i = 0; i < job->items.count; i++) {
    const rev *r = job->items.items[i];
    size += job->partial ? r->meta.len + 100 : r->json->len;
  }
  return size;
}

/* Metadata lists leave the real server's encoder in one write, hence as one
 * chunk; so do ours as long as that is no burden. */
static bool write_at_once(list_job *job, const buf *head, size_t size) {
  if (!job->partial || size > ONE_WRITE_MAX) {
    return false;
  }
  segq all = {0};
  segq_push_copy(&all, head->data, head->len);
  while (job->next < job->items.count) {
    write_item(job, &all);
  }
  segq_push_copy(&all, job->tail.data, job->tail.len);
  resp_write(job->c, &all);
  segq_free(&all);
  resp_end(job->c);
  free_job(job);
  return true;
}

/* Takes items. */
static void answer(const api_call *call, const list_options *lo, snapshot items,
                   uint64_t version) {
  conn *c = call->c;
  list_job *job = xcalloc(1, sizeof *job);
  job->c = c;
  job->res = call->res;
  job->partial = call->media == MEDIA_PARTIAL_LIST;
  job->items = items;
  buf next = {0};
  buf_puts(&next, "");
  if (items.more && items.last_key != NULL) {
    token_encode(&next, (int64_t)version, lo->filter.prefix, items.last_key,
                 true);
  }
  bool counted = items.more && filter_is_empty(&lo->filter);
  buf meta = {0};
  put_list_meta(&meta, call->res->custom && !job->partial, version, next.data,
                counted ? items.remaining : 0, lo->filter.shards.text);
  buf head = {0};
  put_head_and_tail(&head, &job->tail, call->res, job->partial,
                    items.count == 0, &meta);
  if (c->plan.odd_object && !(job->partial && items.count == 0)) {
    odd_put_object(&head, call->res, c->plan.odd_mode, version,
                   c->plan.odd_bytes);
    buf_puts(&head, items.count > 0 ? "," : "");
  }
  resp_begin(c, 200, "application/json");
  size_t size = size_of(job);
  if (size >= GZIP_FROM) {
    resp_compress(c);
  }
  if (!write_at_once(job, &head, size)) {
    resp_write_copy(c, head.data, head.len);
    conn_set_producer(c, (producer){on_drain, on_abort, job});
    conn_mark_dirty(c);
  }
  buf_free(&next);
  buf_free(&meta);
  buf_free(&head);
}

void list_send(const api_call *call, snapshot items, uint64_t version) {
  list_options all = {.filter = {.prefix = xstrdup("")}};
  answer(call, &all, items, version);
  list_options_free(&all);
}

/* ------------------------------------------------------------ the version */

static void answer_expired_token(const api_call *call, const list_options *lo,
                                 const token *t) {
  buf body = {0};
  buf_puts(&body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{"
                  "\"continue\":\"");
  token_encode_inconsistent(&body, lo->filter.prefix, t);
  buf_puts(&body,
           "\"},\"status\":\"Failure\",\"message\":\"The provided continue "
           "parameter is too old to display a consistent list result. You can "
           "start a new list without the continue parameter, or use the "
           "continue token in this response to retrieve the remainder of the "
           "results. Continuing with the provided token results in an "
           "inconsistent list - objects that were created, modified, or "
           "deleted between the time the first chunk was returned and now may "
           "show up in the list.\",\"reason\":\"Expired\",\"code\":410}\n");
  resp_send(call->c, 410, "application/json", body.data, body.len);
  buf_free(&body);
}

/* Where and as of when the list begins. False if the request is answered. */
static bool resolve_token(const api_call *call, const list_options *lo,
                          token *from) {
  store *st = call->c->sim->store;
  if (*lo->version_text != '\0' && strcmp(lo->version_text, "0") != 0) {
    status_bad_request(
        call->c,
        "specifying resource version is not allowed when using continue");
    return false;
  }
  buf error = {0};
  if (!token_decode(lo->continue_token, lo->filter.prefix, from, &error)) {
    status_bad_request_take(call->c, &error);
    return false;
  }
  buf_free(&error);
  uint64_t current = store_revision(st);
  if (from->version < 0) {
    from->version = (int64_t)current;
  } else if ((uint64_t)from->version > current) {
    status_version_too_large(call->c, (uint64_t)from->version, current);
    return false;
  } else if ((uint64_t)from->version < store_compacted(st)) {
    answer_expired_token(call, lo, from);
    return false;
  }
  return true;
}

static bool resolve_version(const api_call *call, const list_options *lo,
                            token *from) {
  store *st = call->c->sim->store;
  uint64_t current = store_revision(st);
  if (lo->version > current) {
    status_version_too_large(call->c, lo->version, current);
    return false;
  }
  bool exact = strcmp(lo->match, "Exact") == 0 ||
               (*lo->match == '\0' && lo->limit != 0 && lo->version != 0);
  if (exact && lo->version < store_compacted(st)) {
    status_send(call->c, 410, "Expired",
                "The resourceVersion for the provided list is too old.", NULL);
    return false;
  }
  from->version = (int64_t)(exact ? lo->version : current);
  from->start = xstrdup("");
  return true;
}

static bool match_filter(const rev *r, void *data) {
  return filter_match(data, r);
}

void list_answer(const api_call *call) {
  if (call->media == MEDIA_PARTIAL) {
    refuse_form(call, "PartialObjectMetadata", "a list", "List");
    return;
  }
  if (call->media != MEDIA_JSON && call->media != MEDIA_PARTIAL_LIST) {
    status_not_acceptable(call->c, NULL);
    return;
  }
  list_options lo;
  if (!list_options_read(call, &lo)) {
    return;
  }
  token from = {0};
  bool ok = *lo.continue_token != '\0' ? resolve_token(call, &lo, &from)
                                       : resolve_version(call, &lo, &from);
  if (ok) {
    bool any_version = strcmp(lo.version_text, "0") == 0;
    list_query q = {
        .version = (uint64_t)from.version,
        .prefix = lo.filter.prefix,
        .start = from.start,
        .limit =
            any_version || call->c->plan.ignore_limit ? 0 : (size_t)lo.limit,
        .match = filter_is_empty(&lo.filter) ? NULL : match_filter,
        .data = &lo.filter,
    };
    answer(call, &lo, table_list(call->res->table, &q), q.version);
  }
  token_free(&from);
  list_options_free(&lo);
}
