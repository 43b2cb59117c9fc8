/* SPDX-License-Identifier: MIT */
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "mem.h"
#include "sim.h"
#include "status.h"

char *object_key(const char *ns, const char *name) {
  buf key = {0};
  if (ns != NULL) {
    buf_puts(&key, ns);
    buf_putc(&key, '/');
  }
  buf_puts(&key, name);
  return key.data;
}

/* ---------------------------------------------------------------- filter */

void filter_free(filter *f) {
  selector_free(&f->labels);
  selector_free(&f->fields);
  shards_free(&f->shards);
  free(f->prefix);
  *f = (filter){0};
}

bool filter_in_scope(const filter *f, const rev *r) {
  size_t len = strlen(f->prefix);
  if (len == 0) {
    return true;
  }
  slice ns = rev_text(r, r->ns);
  return ns.len == len - 1 && memcmp(ns.ptr, f->prefix, ns.len) == 0;
}

bool filter_match(const filter *f, const rev *r) {
  return (!f->has_shard || shards_match(&f->shards, r)) &&
         selector_match_labels(&f->labels, r) &&
         selector_match_fields(&f->fields, r);
}

bool filter_is_empty(const filter *f) {
  return f->labels.count == 0 && f->fields.count == 0 && !f->has_shard;
}

static bool read_filter(const api_call *call, filter *out) {
  const request *req = &call->c->req;
  const char *labels = request_query(req, "labelSelector");
  const char *fields = request_query(req, "fieldSelector");
  buf error = {0};
  if (!selector_parse_labels(labels != NULL ? labels : "", &out->labels,
                             &error)) {
    status_bad_request_take(call->c, &error);
    return false;
  }
  if (!selector_parse_fields(fields != NULL ? fields : "",
                             call->res->has_pod_fields, &out->fields, &error)) {
    selector_free(&out->labels);
    status_bad_request_take(call->c, &error);
    return false;
  }
  const char *shards = request_query(req, "shardSelector");
  out->has_shard =
      call->c->sim->opts->sharded_lists && shards != NULL && *shards != '\0';
  if (out->has_shard && !shards_parse(shards, &out->shards, &error)) {
    selector_free(&out->labels);
    selector_free(&out->fields);
    status_send(call->c, 500, "InternalError", error.data, NULL);
    buf_free(&error);
    return false;
  }
  if (call->name != NULL) {
    selector_require(&out->fields, "metadata.name", call->name);
  }
  out->prefix = call->ns != NULL ? object_key(call->ns, "") : xstrdup("");
  return true;
}

/* --------------------------------------------------------------- options */

static bool read_number(const api_call *call, const char *key, uint64_t *out) {
  const char *text = request_query(&call->c->req, key);
  *out = 0;
  if (text == NULL || *text == '\0') {
    return true;
  }
  bool negative = *text == '-';
  if (slice_to_u64(slice_of(text + (negative ? 1 : 0)), out) &&
      *out <= INT64_MAX) {
    *out = negative ? 0 : *out;
    return true;
  }
  buf message = {0};
  buf_printf(&message, "strconv.ParseInt: parsing \"%s\": invalid syntax",
             text);
  status_bad_request_take(call->c, &message);
  return false;
}

typedef struct error_list {
  field_error items[5];
  size_t count;
} error_list;

static void forbid(error_list *errors, const char *field, const char *message) {
  errors->items[errors->count++] =
      (field_error){"FieldValueForbidden", message, field};
}

static const char FIELD_MATCH[] = "resourceVersionMatch";

static void validate_list(const list_options *lo, error_list *errors,
                          buf *unsupported) {
  bool exact = strcmp(lo->match, "Exact") == 0;
  if (*lo->match != '\0') {
    if (*lo->version_text == '\0') {
      forbid(errors, FIELD_MATCH,
             "Forbidden: resourceVersionMatch is forbidden unless "
             "resourceVersion is provided");
    }
    if (*lo->continue_token != '\0') {
      forbid(errors, FIELD_MATCH,
             "Forbidden: resourceVersionMatch is forbidden when continue is "
             "provided");
    }
    if (!exact && strcmp(lo->match, "NotOlderThan") != 0) {
      buf_printf(unsupported,
                 "Unsupported value: \"%s\": supported values: \"Exact\", "
                 "\"NotOlderThan\", \"\"",
                 lo->match);
      errors->items[errors->count++] = (field_error){
          "FieldValueNotSupported", unsupported->data, FIELD_MATCH};
    }
    if (exact && strcmp(lo->version_text, "0") == 0) {
      forbid(errors, FIELD_MATCH,
             "Forbidden: resourceVersionMatch \"exact\" is forbidden for "
             "resourceVersion \"0\"");
    }
  }
  if (lo->has_send_initial) {
    forbid(errors, "sendInitialEvents",
           "Forbidden: sendInitialEvents is forbidden for list");
  }
}

static void validate_watch(const list_options *lo, error_list *errors,
                           buf *unsupported) {
  bool newer = strcmp(lo->match, "NotOlderThan") == 0;
  if (lo->has_send_initial && !newer) {
    forbid(errors, FIELD_MATCH,
           "Forbidden: sendInitialEvents requires setting "
           "resourceVersionMatch to NotOlderThan");
  }
  if (*lo->match == '\0') {
    return;
  }
  if (!lo->has_send_initial) {
    forbid(errors, FIELD_MATCH,
           "Forbidden: resourceVersionMatch is forbidden for watch unless "
           "sendInitialEvents is provided");
  }
  if (!newer) {
    buf_printf(unsupported,
               "Unsupported value: \"%s\": supported values: "
               "\"NotOlderThan\"",
               lo->match);
    errors->items[errors->count++] =
        (field_error){"FieldValueNotSupported", unsupported->data, FIELD_MATCH};
  }
  if (*lo->continue_token != '\0') {
    forbid(errors, FIELD_MATCH,
           "Forbidden: resourceVersionMatch is forbidden when continue is "
           "provided");
  }
}

static bool validate(const api_call *call, const list_options *lo) {
  error_list errors = {0};
  buf unsupported = {0};
  if (lo->watch) {
    validate_watch(lo, &errors, &unsupported);
  } else {
    validate_list(lo, &errors, &unsupported);
  }
  if (errors.count != 0) {
    status_invalid(call->c, "meta.k8s.io", "ListOptions", "", errors.items,
                   errors.count);
  }
  buf_free(&unsupported);
  return errors.count == 0;
}

/* A list calls it a bad request, a watch an internal error. */
static bool read_version(const api_call *call, list_options *lo) {
  if (*lo->version_text == '\0' ||
      slice_to_u64(slice_of(lo->version_text), &lo->version)) {
    return true;
  }
  status_invalid_version(call->c, lo->watch ? 500 : 400, lo->version_text);
  return false;
}

/* At most a week, so that it can be counted in milliseconds. */
static bool read_timeout(const api_call *call, uint64_t *seconds) {
  uint64_t most = 7 * 24 * 3600;
  bool ok = read_number(call, "timeoutSeconds", seconds);
  *seconds = *seconds < most ? *seconds : most;
  return ok;
}

static const char *query_or_empty(const api_call *call, const char *key) {
  const char *text = request_query(&call->c->req, key);
  return text != NULL ? text : "";
}

bool list_options_read(const api_call *call, list_options *lo) {
  const request *req = &call->c->req;
  *lo = (list_options){
      .version_text = query_or_empty(call, "resourceVersion"),
      .match = query_or_empty(call, "resourceVersionMatch"),
      .continue_token = query_or_empty(call, "continue"),
      .watch = request_query_bool(req, "watch"),
      .bookmarks = request_query_bool(req, "allowWatchBookmarks"),
      .has_send_initial = request_query(req, "sendInitialEvents") != NULL,
      .send_initial = request_query_bool(req, "sendInitialEvents"),
  };
  return read_number(call, "limit", &lo->limit) &&
         read_timeout(call, &lo->timeout_s) && validate(call, lo) &&
         read_version(call, lo) && read_filter(call, &lo->filter);
}

void list_options_free(list_options *lo) {
  filter_free(&lo->filter);
}
