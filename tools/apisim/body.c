/* SPDX-License-Identifier: MIT */
#include "body.h"

#include <string.h>

#include "conn.h"
#include "object.h"
#include "status.h"

/* ------------------------------------------------- what Go says of bad JSON */

static void put_syntax_error(const buf *body, const yyjson_read_err *e,
                             buf *out) {
  if (body->len == 0 || e->pos >= body->len ||
      e->code == YYJSON_READ_ERROR_EMPTY_CONTENT) {
    buf_puts(out, "unexpected end of JSON input");
    return;
  }
  char c = body->data[e->pos];
  buf_printf(out, "invalid character '%c' looking for beginning of value",
             c >= ' ' && c <= '~' ? c : '?');
}

static const char *go_type(yyjson_val *value) {
  switch (yyjson_get_type(value)) {
  case YYJSON_TYPE_ARR:
    return "array";
  case YYJSON_TYPE_STR:
    return "string";
  case YYJSON_TYPE_BOOL:
    return "bool";
  default:
    return "number";
  }
}

/* The body as the message shows it: text if it looks like an object, else
 * hexadecimal. */
static void put_body(const buf *body, buf *out) {
  enum { SHOWN_MAX = 1024 };
  size_t len = body->len < SHOWN_MAX ? body->len : SHOWN_MAX;
  if (len == 0) {
    buf_puts(out, "<empty>");
    return;
  }
  if (body->data[0] == '{') {
    buf_append(out, body->data, len);
    return;
  }
  for (size_t i = 0; i < len; i++) {
    buf_printf(out, "%02x", (unsigned char)body->data[i]);
  }
}

static void answer_bad_object(const api_call *call, yyjson_val *root,
                              const yyjson_read_err *e) {
  const buf *body = &call->c->req.body;
  buf message = {0};
  buf_printf(&message,
             "the object provided is unrecognized (must be of type %s): "
             "couldn't get version/kind; json parse error: ",
             call->res->kind);
  if (root != NULL) {
    buf_printf(&message,
               "json: cannot unmarshal %s into Go value of type struct { "
               "APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind "
               "string \"json:\\\"kind,omitempty\\\"\" }",
               go_type(root));
  } else {
    put_syntax_error(body, e, &message);
  }
  buf_puts(&message, " (");
  put_body(body, &message);
  buf_puts(&message, ")");
  status_bad_request_take(call->c, &message);
}

/* ---------------------------------------------------------------- reading */

static yyjson_doc *parse(const buf *body, yyjson_read_err *error) {
  *error = (yyjson_read_err){0};
  if (body->len == 0) {
    return NULL;
  }
  return yyjson_read_opts(body->data, body->len, YYJSON_READ_NUMBER_AS_RAW,
                          NULL, error);
}

/* False if the body is nested too deep, and the request is answered. */
static bool check_depth(const api_call *call) {
  const buf *body = &call->c->req.body;
  if (object_depth_ok(body->data, body->len)) {
    return true;
  }
  status_bad_request(call->c, "json: exceeded max depth");
  return false;
}

yyjson_mut_doc *body_read_object(const api_call *call) {
  if (!check_depth(call)) {
    return NULL;
  }
  yyjson_read_err error;
  yyjson_doc *doc = parse(&call->c->req.body, &error);
  yyjson_mut_doc *copy = NULL;
  if (yyjson_is_obj(yyjson_doc_get_root(doc))) {
    copy = yyjson_doc_mut_copy(doc, NULL);
  } else {
    answer_bad_object(call, yyjson_doc_get_root(doc), &error);
  }
  yyjson_doc_free(doc);
  return copy;
}

yyjson_mut_doc *body_read_patch(const api_call *call) {
  if (!check_depth(call)) {
    return NULL;
  }
  yyjson_read_err error;
  yyjson_doc *doc = parse(&call->c->req.body, &error);
  yyjson_mut_doc *copy = NULL;
  if (doc != NULL) {
    copy = yyjson_doc_mut_copy(doc, NULL);
  } else {
    buf message = {0};
    buf_puts(&message, "error decoding patch: ");
    put_syntax_error(&call->c->req.body, &error, &message);
    status_bad_request_take(call->c, &message);
  }
  yyjson_doc_free(doc);
  return copy;
}

bool body_check_kind(const api_call *call, yyjson_mut_doc *doc) {
  const resource *res = call->res;
  yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
  const char *version = object_text(root, "apiVersion");
  const char *kind = object_text(root, "kind");
  buf message = {0};
  if (version != NULL && strcmp(version, res->api_version) != 0) {
    buf_printf(&message,
               "%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" "
               "is registered for version \"%s\" in scheme "
               "\"pkg/runtime/scheme.go:111\"",
               kind != NULL ? kind : res->kind, version, res->kind,
               kind != NULL ? kind : res->kind, version);
  } else if (kind != NULL && strcmp(kind, res->kind) != 0) {
    buf_printf(&message,
               "%s in version \"%s\" cannot be handled as a %s: converting "
               "(%s.%s) to (%s): unknown conversion",
               kind, res->api_version, res->kind, res->version, kind,
               res->kind);
  } else if (res->custom && (version == NULL || kind == NULL)) {
    buf_puts(&message, "Object 'Kind' is missing in the body");
  } else {
    return true;
  }
  status_bad_request_take(call->c, &message);
  return false;
}
