/* SPDX-License-Identifier: MIT */
#include "status.h"

#include <string.h>

#include "conn.h"
#include "sim.h"

void status_put(buf *out, int code, const char *reason, const char *message,
                const char *details) {
  buf_puts(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                "\"status\":\"Failure\",\"message\":");
  buf_put_json(out, message, strlen(message));
  if (reason != NULL) {
    buf_printf(out, ",\"reason\":\"%s\"", reason);
  }
  if (details != NULL) {
    buf_printf(out, ",\"details\":%s", details);
  }
  buf_printf(out, ",\"code\":%d}", code);
}

typedef struct status_answer {
  int code;
  const buf *body; // without newline
  const char *header;
  const char *value;
  bool early; // before priority and fairness: without its headers
} status_answer;

/* A client that accepts objects only in a converted form gets its errors
 * indented: the real server then writes them past its serializers. */
static void send_answer(conn *c, const status_answer *a) {
  resp_begin(c, a->code, "application/json");
  c->resp.flow_control = !a->early;
  if (!media_takes_plain(request_header(&c->req, "Accept"))) {
    c->resp.indent = true;
  }
  if (a->header != NULL) {
    resp_header(c, a->header, a->value);
  }
  resp_write_copy(c, a->body->data, a->body->len);
  if (!c->resp.indent) {
    resp_write_copy(c, "\n", 1);
  }
  resp_end(c);
}

void status_send(conn *c, int code, const char *reason, const char *message,
                 const char *details) {
  buf body = {0};
  status_put(&body, code, reason, message, details);
  send_answer(c, &(status_answer){.code = code, .body = &body});
  buf_free(&body);
}

void status_bad_request(conn *c, const char *message) {
  status_send(c, 400, "BadRequest", message, NULL);
}

void status_bad_request_take(conn *c, buf *error) {
  status_bad_request(c, error->data != NULL ? error->data : "");
  buf_free(error);
}

/* {"name":...,"group":...,"kind":plural} */
static void put_details(buf *out, const resource *res, const char *name) {
  buf_putc(out, '{');
  if (name != NULL && *name != '\0') {
    buf_puts(out, "\"name\":");
    buf_put_json(out, name, strlen(name));
    buf_putc(out, ',');
  }
  if (*res->group != '\0') {
    buf_printf(out, "\"group\":\"%s\",", res->group);
  }
  buf_printf(out, "\"kind\":\"%s\"}", res->plural);
}

void status_precondition(conn *c, const resource *res, const char *name,
                         const char *detail) {
  buf message = {0};
  buf details = {0};
  buf_printf(&message, "Operation cannot be fulfilled on %s \"%s\": %s",
             res->kind, name, detail);
  buf_printf(&details, "{\"name\":\"%s\",\"kind\":\"%s\"}", name, res->kind);
  status_send(c, 409, "Conflict", message.data, details.data);
  buf_free(&message);
  buf_free(&details);
}

static void send_about(conn *c, const resource *res, const char *name, int code,
                       const char *reason, buf *message) {
  buf details = {0};
  put_details(&details, res, name);
  status_send(c, code, reason, message->data, details.data);
  buf_free(&details);
  buf_free(message);
}

void status_not_found(conn *c, const resource *res, const char *name) {
  buf message = {0};
  buf_printf(&message, "%s \"%s\" not found", res->qualified, name);
  send_about(c, res, name, 404, "NotFound", &message);
}

void status_exists(conn *c, const resource *res, const char *name) {
  buf message = {0};
  buf_printf(&message, "%s \"%s\" already exists", res->qualified, name);
  send_about(c, res, name, 409, "AlreadyExists", &message);
}

void status_conflict(conn *c, const resource *res, const char *name,
                     const char *detail) {
  buf message = {0};
  buf_printf(&message, "Operation cannot be fulfilled on %s \"%s\": %s",
             res->qualified, name,
             detail != NULL ? detail
                            : "the object has been modified; please apply your "
                              "changes to the latest version and try again");
  send_about(c, res, name, 409, "Conflict", &message);
}

void status_forbidden(conn *c, const resource *res, const char *ns,
                      const char *name, const char *verb) {
  buf message = {0};
  buf_puts(&message, res->qualified);
  if (name != NULL) {
    buf_printf(&message, " \"%s\"", name);
  }
  buf_printf(&message,
             " is forbidden: User \"system:anonymous\" cannot %s resource "
             "\"%s\" in API group \"%s\" ",
             verb, res->plural, res->group);
  if (ns != NULL) {
    buf_printf(&message, "in the namespace \"%s\"", ns);
  } else {
    buf_puts(&message, "at the cluster scope");
  }
  buf details = {0};
  buf body = {0};
  put_details(&details, res, name);
  status_put(&body, 403, "Forbidden", message.data, details.data);
  send_answer(c, &(status_answer){.code = 403,
                                  .body = &body,
                                  .header = "X-Content-Type-Options",
                                  .value = "nosniff"});
  buf_free(&message);
  buf_free(&details);
  buf_free(&body);
}

void status_unauthorized(conn *c) {
  buf body = {0};
  status_put(&body, 401, "Unauthorized", "Unauthorized", NULL);
  send_answer(c, &(status_answer){.code = 401, .body = &body, .early = true});
  buf_free(&body);
}

void status_method_not_allowed(conn *c) {
  status_send(c, 405, "MethodNotAllowed",
              "the server does not allow this method on the requested resource",
              "{}");
}

void status_not_acceptable(conn *c, const char *message) {
  static const char NO_TYPE[] =
      "406: Not Acceptable\n\nAvailable representations: application/json, "
      "application/yaml, application/vnd.kubernetes.protobuf, "
      "application/json;stream=watch, "
      "application/vnd.kubernetes.protobuf;stream=watch";
  static const char NO_FORM[] =
      "only the following media types are accepted: application/json, "
      "application/yaml, application/vnd.kubernetes.protobuf";
  media m = media_negotiate(request_header(&c->req, "Accept"));
  if (message == NULL && m == MEDIA_NONE) {
    status_send(c, 406, "NotAcceptable", NO_TYPE, "{}");
  } else {
    status_send(c, 406, "NotAcceptable", message != NULL ? message : NO_FORM,
                NULL);
  }
}

void status_unsupported_patch(conn *c) {
  status_send(c, 415, "UnsupportedMediaType", "415: Unsupported Media Type",
              "{}");
}

void status_unsupported_media(conn *c, const char *accepted) {
  buf message = {0};
  slice type = media_type(request_header(&c->req, "Content-Type"));
  buf_printf(&message,
             "the body of the request was in an unknown format - accepted "
             "media types include: %s",
             accepted);
  if (slice_is(type, "application/vnd.kubernetes.protobuf")) {
    buf_puts(&message, " (kin-apisim reads no protobuf: kubectl create -f and "
                       "kubectl apply -f send JSON)");
  }
  status_send(c, 415, "UnsupportedMediaType", message.data, NULL);
  buf_free(&message);
}

static void put_field_text(buf *out, const field_error *errors, size_t count) {
  buf_puts(out, count > 1 ? "[" : "");
  for (size_t i = 0; i < count; i++) {
    buf_printf(out, "%s%s: %s", i != 0 ? ", " : "", errors[i].field,
               errors[i].message);
  }
  buf_puts(out, count > 1 ? "]" : "");
}

static void put_causes(buf *out, const field_error *errors, size_t count) {
  buf_puts(out, "\"causes\":[");
  for (size_t i = 0; i < count; i++) {
    buf_printf(out, "%s{\"reason\":\"%s\",\"message\":", i != 0 ? "," : "",
               errors[i].reason);
    buf_put_json(out, errors[i].message, strlen(errors[i].message));
    buf_printf(out, ",\"field\":\"%s\"}", errors[i].field);
  }
  buf_putc(out, ']');
}

void status_invalid(conn *c, const char *group, const char *kind,
                    const char *name, const field_error *errors, size_t count) {
  buf message = {0};
  buf_printf(&message, "%s%s%s \"%s\" is invalid: ", kind,
             *group != '\0' ? "." : "", group, name);
  put_field_text(&message, errors, count);
  buf details = {0};
  buf_putc(&details, '{');
  if (*name != '\0') {
    buf_puts(&details, "\"name\":");
    buf_put_json(&details, name, strlen(name));
    buf_putc(&details, ',');
  }
  if (*group != '\0') {
    buf_printf(&details, "\"group\":\"%s\",", group);
  }
  buf_printf(&details, "\"kind\":\"%s\",", kind);
  put_causes(&details, errors, count);
  buf_putc(&details, '}');
  status_send(c, 422, "Invalid", message.data, details.data);
  buf_free(&message);
  buf_free(&details);
}

void status_put_too_large(buf *out, uint64_t asked, uint64_t current) {
  buf message = {0};
  buf_puts(&message, "Timeout: Too large resource version: ");
  buf_put_u64(&message, asked);
  buf_puts(&message, ", current: ");
  buf_put_u64(&message, current);
  status_put(out, 504, "Timeout", message.data,
             "{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":"
             "\"Too large resource version\"}],\"retryAfterSeconds\":1}");
  buf_free(&message);
}

void status_version_too_large(conn *c, uint64_t asked, uint64_t current) {
  buf body = {0};
  status_put_too_large(&body, asked, current);
  send_answer(c, &(status_answer){.code = 504,
                                  .body = &body,
                                  .header = "Retry-After",
                                  .value = "1"});
  buf_free(&body);
}

void status_unknown_resource(conn *c) {
  status_send(c, 404, "NotFound",
              "the server could not find the requested resource", "{}");
}

void status_unknown_path(conn *c) {
  static const char BODY[] = "404 page not found\n";
  resp_begin(c, 404, "text/plain; charset=utf-8");
  resp_header(c, "X-Content-Type-Options", "nosniff");
  resp_write_copy(c, BODY, sizeof BODY - 1);
  resp_end(c);
}

void status_invalid_version(conn *c, int code, const char *text) {
  buf message = {0};
  buf_puts(&message, code == 400 ? "invalid resource version: " : "");
  buf_printf(&message,
             "resourceVersion: Invalid value: \"%s\": strconv.ParseUint: "
             "parsing \"%s\": invalid syntax",
             text, text);
  status_send(c, code, code == 400 ? "BadRequest" : NULL, message.data, NULL);
  buf_free(&message);
}
