/* SPDX-License-Identifier: MIT */
/* Deletion. Pods show it in two steps, as on a real server that has no kubelet
 * to wait for: first a version with deletionTimestamp, then the end. An object
 * with finalizers only gets the timestamp and goes when the last finalizer is
 * removed. */
#include "write.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "conn.h"
#include "definition.h"
#include "list.h"
#include "mem.h"
#include "object.h"
#include "sim.h"
#include "status.h"
#include "write_options.h"

typedef struct delete_target {
  resource *res;
  char *key;
  rev *r; // counted
} delete_target;

static bool is_kind(const resource *res, const char *qualified) {
  return !res->custom && strcmp(res->qualified, qualified) == 0;
}

/* Stores a version that carries deletionTimestamp. */
static rev *mark_deleted(struct sim *s, const delete_target *t) {
  yyjson_mut_doc *doc = object_of(t->r);
  yyjson_mut_val *meta = object_meta(doc);
  char now[RFC3339_LEN + 1];
  format_rfc3339(time(NULL), now);
  object_set_text(doc, meta, "deletionTimestamp", now);
  object_set_number(doc, meta, "deletionGracePeriodSeconds", 0);
  if (t->res->has_generation) {
    object_set_number(doc, meta, "generation",
                      object_number(meta, "generation") + 1);
  }
  buf digits = {0};
  buf_put_u64(&digits, store_revision(s->store) + 1);
  object_set_text(doc, meta, "resourceVersion", digits.data);
  buf_free(&digits);
  rev *r = table_put(t->res->table, t->key, object_render(doc, t->res));
  yyjson_mut_doc_free(doc);
  return r;
}

static bool is_held(const rev *r) {
  /* As object_is_held(); the store's text has no white space. */
  slice list = span_slice(r->json->data,
                          scan_find(r->json->data, r->meta, "finalizers"));
  return list.len > 2 && *list.ptr == '[';
}

static bool is_marked(const rev *r) {
  return scan_find(r->json->data, r->meta, "deletionTimestamp").len != 0;
}

static void delete_contents(struct sim *s, const rev *ns) {
  slice name = rev_text(ns, ns->name);
  char *text = xstrndup(name.ptr, name.len);
  for (resource *res = s->registry.first; res != NULL; res = res->next) {
    if (res->namespaced) {
      delete_all_objects(res, text);
    }
  }
  free(text);
}

rev *delete_now(struct sim *s, resource *res, const char *key, const rev *r) {
  if (is_kind(res, "namespaces")) {
    delete_contents(s, r);
  }
  definition_deleted(s, res, r);
  return table_delete(res->table, key);
}

/* Deletes or marks one object. Returns the newest version, counted, and
 * whether it is gone. */
static rev *delete_one(struct sim *s, const delete_target *t, bool *gone) {
  bool held = is_held(t->r);
  *gone = !held;
  rev *last = rev_ref(t->r);
  bool marked = is_marked(t->r);
  if (!marked && (held || is_kind(t->res, "pods"))) {
    rev_unref(last);
    last = rev_ref(mark_deleted(s, t));
  }
  if (held) {
    return last;
  }
  rev_unref(last);
  return rev_ref(delete_now(s, t->res, t->key, t->r));
}

/* ---------------------------------------------------------------- answers */

static void answer_success(const api_call *call, const rev *r) {
  slice uid = rev_text(r, r->uid);
  buf body = {0};
  buf_printf(&body,
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
             "\"status\":\"Success\",\"details\":{\"name\":\"%s\",",
             call->name);
  if (*call->res->group != '\0') {
    buf_printf(&body, "\"group\":\"%s\",", call->res->group);
  }
  buf_printf(&body, "\"kind\":\"%s\",\"uid\":\"%.*s\"}}\n", call->res->plural,
             (int)uid.len, uid.ptr);
  resp_send(call->c, 200, "application/json", body.data, body.len);
  buf_free(&body);
}

static void answer_object(const api_call *call, const rev *r) {
  resp_begin(call->c, 200, "application/json");
  segq parts = {0};
  segq_push(&parts, r->json, r->json->data, r->json->len);
  segq_push(&parts, NULL, "\n", 1);
  resp_write(call->c, &parts);
  segq_free(&parts);
  resp_end(call->c);
}

/* False if a precondition does not hold and the request is answered. */
static bool check_preconditions(const api_call *call,
                                const delete_options *opts, const rev *r) {
  buf detail = {0};
  slice have_uid = rev_text(r, r->uid);
  slice have_version = rev_text(r, r->rv_text);
  if (opts->uid != NULL && !slice_is(have_uid, opts->uid)) {
    buf_printf(&detail,
               "the UID in the precondition (%s) does not match the UID in "
               "record (%.*s). The object might have been deleted and then "
               "recreated",
               opts->uid, (int)have_uid.len, have_uid.ptr);
  } else if (opts->version != NULL && !slice_is(have_version, opts->version)) {
    buf_printf(&detail,
               "the ResourceVersion in the precondition (%s) does not match "
               "the ResourceVersion in record (%.*s). The object might have "
               "been modified",
               opts->version, (int)have_version.len, have_version.ptr);
  }
  bool ok = detail.len == 0;
  if (!ok) {
    status_precondition(call->c, call->res, call->name, detail.data);
  }
  buf_free(&detail);
  return ok;
}

static void delete_named(const api_call *call, const delete_options *opts) {
  char *key = object_key(call->ns, call->name);
  rev *r = table_get(call->res->table, key);
  if (r == NULL) {
    status_not_found(call->c, call->res, call->name);
    free(key);
    return;
  }
  if (check_preconditions(call, opts, r)) {
    delete_target t = {call->res, key, rev_ref(r)};
    bool gone = !is_held(r);
    rev *last =
        opts->dry_run ? rev_ref(r) : delete_one(call->c->sim, &t, &gone);
    if (!gone || is_kind(call->res, "pods") || is_kind(call->res, "services")) {
      answer_object(call, last);
    } else {
      answer_success(call, last);
    }
    rev_unref(last);
    rev_unref(t.r);
  }
  free(key);
}

static bool match_filter(const rev *r, void *data) {
  return filter_match(data, r);
}

static void delete_listed(const api_call *call, list_options *lo,
                          bool dry_run) {
  store *st = call->c->sim->store;
  list_query q = {
      .version = store_revision(st),
      .prefix = lo->filter.prefix,
      .start = "",
      .match = match_filter,
      .data = &lo->filter,
  };
  snapshot all = table_list(call->res->table, &q);
  size_t count = dry_run ? 0 : all.count;
  for (size_t i = 0; i < count; i++) {
    rev *r = all.items[i];
    slice ns = rev_text(r, r->ns);
    slice name = rev_text(r, r->name);
    buf key = {0};
    buf_append(&key, ns.ptr, ns.len);
    buf_puts(&key, ns.len != 0 ? "/" : "");
    buf_append(&key, name.ptr, name.len);
    delete_target t = {call->res, key.data, r};
    bool gone = false;
    rev_unref(delete_one(call->c->sim, &t, &gone));
    buf_free(&key);
  }
  list_send(call, all, store_revision(st));
}

static void delete_collection(const api_call *call) {
  list_options lo;
  if (!list_options_read(call, &lo)) {
    return;
  }
  delete_options opts;
  if (delete_options_read(call, &opts)) {
    delete_listed(call, &lo, opts.dry_run);
    delete_options_free(&opts);
  }
  list_options_free(&lo);
}

void delete_answer(const api_call *call) {
  bool whole = call->name == NULL;
  if (call->sub != NULL || (whole && call->res->one_by_one)) {
    status_method_not_allowed(call->c);
  } else if (whole) {
    delete_collection(call);
  } else {
    delete_options opts;
    if (delete_options_read(call, &opts)) {
      delete_named(call, &opts);
      delete_options_free(&opts);
    }
  }
}
