/* SPDX-License-Identifier: MIT */
#include "write_options.h"

#include <string.h>

#include "conn.h"
#include "object.h"
#include "status.h"

enum { FIELD_MANAGER_MAX = 128 };

typedef struct problems {
  field_error items[4];
  size_t count;
} problems;

static void add_problem(problems *found, const char *field, const char *reason,
                        const char *message) {
  found->items[found->count++] = (field_error){reason, message, field};
}

static void add_unsupported(problems *found, buf *message, const char *field,
                            const char *value, const char *supported) {
  buf_puts(message, "Unsupported value: ");
  buf_put_json(message, value, strlen(value));
  buf_printf(message, ": supported values: %s", supported);
  add_problem(found, field, "FieldValueNotSupported", message->data);
}

/* False, and the request is answered, if there is a problem. */
static bool answer_problems(const api_call *call, const char *kind,
                            const problems *found) {
  if (found->count != 0) {
    status_invalid(call->c, "meta.k8s.io", kind, "", found->items,
                   found->count);
  }
  return found->count == 0;
}

/* ----------------------------------------------------------------- dryRun */

typedef struct dry_run {
  bool asked;
  bool refused;
  buf values; // as members of a JSON array
  buf message;
} dry_run;

static void add_dry_run(dry_run *d, const char *value) {
  d->refused = d->refused || strcmp(value, "All") != 0;
  buf_puts(&d->values, d->asked ? "," : "");
  buf_put_json(&d->values, value, strlen(value));
  d->asked = true;
}

static void query_dry_run(const api_call *call, dry_run *d) {
  const request *r = &call->c->req;
  for (size_t i = 0; i < r->query_count; i++) {
    if (strcmp(r->text.data + r->query[i].key, "dryRun") == 0) {
      add_dry_run(d, r->text.data + r->query[i].value);
    }
  }
}

static void check_dry_run(dry_run *d, problems *found) {
  if (d->refused) {
    buf_printf(&d->message,
               "Unsupported value: [%s]: supported values: \"All\"",
               d->values.data);
    add_problem(found, "dryRun", "FieldValueNotSupported", d->message.data);
  }
}

static void free_dry_run(dry_run *d) {
  buf_free(&d->values);
  buf_free(&d->message);
}

bool write_options_dry_run(const api_call *call) {
  return request_query(&call->c->req, "dryRun") != NULL;
}

/* ------------------------------------------------- create, update and patch */

static void check_manager(const api_call *call, bool apply, problems *found) {
  const char *name = request_query(&call->c->req, "fieldManager");
  if (apply && (name == NULL || *name == '\0')) {
    add_problem(found, "fieldManager", "FieldValueRequired",
                "Required value: is required for apply patch");
  } else if (name != NULL && strlen(name) > FIELD_MANAGER_MAX) {
    add_problem(found, "fieldManager", "FieldValueTooLong",
                "Too long: may not be more than 128 bytes");
  }
}

static void check_field_validation(const api_call *call, buf *message,
                                   problems *found) {
  const char *text = request_query(&call->c->req, "fieldValidation");
  if (text == NULL || *text == '\0' || strcmp(text, "Ignore") == 0 ||
      strcmp(text, "Strict") == 0 || strcmp(text, "Warn") == 0) {
    return;
  }
  add_unsupported(found, message, "fieldValidation", text,
                  "\"\", \"Ignore\", \"Strict\", \"Warn\"");
}

bool write_options_check(const api_call *call, bool apply) {
  bool create = strcmp(call->verb, "create") == 0;
  bool update = strcmp(call->verb, "update") == 0;
  bool patch = !create && !update;
  problems found = {0};
  dry_run dry = {0};
  buf validation = {0};
  if (patch && !apply && request_query(&call->c->req, "force") != NULL) {
    add_problem(&found, "force", "FieldValueForbidden",
                "Forbidden: may not be specified for non-apply patch");
  }
  check_manager(call, apply, &found);
  query_dry_run(call, &dry);
  check_dry_run(&dry, &found);
  check_field_validation(call, &validation, &found);
  bool ok = answer_problems(call,
                            create   ? "CreateOptions"
                            : update ? "UpdateOptions"
                                     : "PatchOptions",
                            &found);
  free_dry_run(&dry);
  buf_free(&validation);
  return ok;
}

/* ---------------------------------------------------------------- deletions */

static bool check_types(const api_call *call, yyjson_val *root) {
  static const struct {
    const char *name;
    yyjson_type type;
  } MEMBERS[] = {
      {"kind", YYJSON_TYPE_STR},
      {"apiVersion", YYJSON_TYPE_STR},
      {"dryRun", YYJSON_TYPE_ARR},
      {"gracePeriodSeconds", YYJSON_TYPE_NUM},
      {"orphanDependents", YYJSON_TYPE_BOOL},
      {"preconditions", YYJSON_TYPE_OBJ},
      {"propagationPolicy", YYJSON_TYPE_STR},
  };
  for (size_t i = 0; i < sizeof MEMBERS / sizeof MEMBERS[0]; i++) {
    yyjson_val *value = yyjson_obj_get(root, MEMBERS[i].name);
    if (value != NULL && !yyjson_is_null(value) &&
        yyjson_get_type(value) != MEMBERS[i].type) {
      buf message = {0};
      buf_printf(&message,
                 "json: cannot unmarshal another type into Go struct field "
                 "DeleteOptions.%s",
                 MEMBERS[i].name);
      status_bad_request_take(call->c, &message);
      return false;
    }
  }
  return true;
}

/* DeleteOptions are known in every group and version: clients take those of the
 * resource. */
static bool check_kind(const api_call *call, yyjson_val *root) {
  const char *kind = yyjson_get_str(yyjson_obj_get(root, "kind"));
  const char *version = yyjson_get_str(yyjson_obj_get(root, "apiVersion"));
  if (kind == NULL || *kind == '\0' || strcmp(kind, "DeleteOptions") == 0) {
    return true;
  }
  buf message = {0};
  buf_printf(&message,
             "no kind \"%s\" is registered for version \"%s\" in scheme "
             "\"pkg/runtime/scheme.go:111\"",
             kind, version != NULL && *version != '\0' ? version : "v1");
  status_bad_request_take(call->c, &message);
  return false;
}

/* The body as DeleteOptions, or NULL if the request is answered. */
static yyjson_doc *read_body(const api_call *call) {
  const buf *body = &call->c->req.body;
  if (!object_depth_ok(body->data, body->len)) {
    status_bad_request(call->c, "exceeded max depth");
    return NULL;
  }
  yyjson_doc *doc = yyjson_read(body->data, body->len, 0);
  yyjson_val *root = yyjson_doc_get_root(doc);
  if (!yyjson_is_obj(root)) {
    status_bad_request(call->c, "couldn't get version/kind; json parse error");
  } else if (check_types(call, root) && check_kind(call, root)) {
    return doc;
  }
  yyjson_doc_free(doc);
  return NULL;
}

static void body_dry_run(yyjson_val *root, dry_run *d) {
  size_t i, max;
  yyjson_val *value;
  yyjson_arr_foreach(yyjson_obj_get(root, "dryRun"), i, max, value) {
    add_dry_run(d, yyjson_is_str(value) ? yyjson_get_str(value) : "");
  }
}

static void check_policy(const char *policy, buf *message, problems *found) {
  if (policy == NULL || strcmp(policy, "Foreground") == 0 ||
      strcmp(policy, "Background") == 0 || strcmp(policy, "Orphan") == 0) {
    return;
  }
  add_unsupported(found, message, "propagationPolicy", policy,
                  "\"Foreground\", \"Background\", \"Orphan\", \"nil\"");
}

bool delete_options_read(const api_call *call, delete_options *out) {
  *out = (delete_options){0};
  dry_run dry = {0};
  const char *policy = NULL;
  if (call->c->req.body.len == 0) {
    query_dry_run(call, &dry);
    policy = request_query(&call->c->req, "propagationPolicy");
  } else {
    out->body = read_body(call);
    if (out->body == NULL) {
      return false;
    }
    yyjson_val *root = yyjson_doc_get_root(out->body);
    yyjson_val *pre = yyjson_obj_get(root, "preconditions");
    out->uid = yyjson_get_str(yyjson_obj_get(pre, "uid"));
    out->version = yyjson_get_str(yyjson_obj_get(pre, "resourceVersion"));
    body_dry_run(root, &dry);
    policy = yyjson_get_str(yyjson_obj_get(root, "propagationPolicy"));
  }
  problems found = {0};
  buf message = {0};
  check_policy(policy, &message, &found);
  check_dry_run(&dry, &found);
  bool ok = answer_problems(call, "DeleteOptions", &found);
  out->dry_run = dry.asked;
  free_dry_run(&dry);
  buf_free(&message);
  if (!ok) {
    delete_options_free(out);
  }
  return ok;
}

void delete_options_free(delete_options *opts) {
  yyjson_doc_free(opts->body);
  *opts = (delete_options){0};
}
