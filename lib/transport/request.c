/* SPDX-License-Identifier: MIT */
/* Without a wish for compression the
 * request refuses it explicitly: compression costs both ends more than the wire
 * saves. */
#include "transport/request.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <kin/error.h>

#include "base/str.h"

/* Only an http server's requests go to the proxy themselves. */
#define ORIGIN "http://"

bool kin__request_is_field(const char *value) {
  for (const char *c = value; *c != '\0'; c++) {
    if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f) {
      return false;
    }
  }
  return true;
}

bool kin__request_is_target(const char *target) {
  if (target[0] != '/') {
    return false;
  }
  for (const char *c = target; *c != '\0'; c++) {
    if (*c <= 0x20 || *c > 0x7e || *c == '#') {
      return false;
    }
  }
  return true;
}

static bool is_method(const char *method) {
  return method[0] != '\0' &&
         method[strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

/* POST, PUT and PATCH usually have a body, so they say so if there is none
 * (RFC 9110, 8.6). */
static bool tells_length(const kin__request *request) {
  return request->body_length > 0 || request->method[0] == 'P';
}

int kin__request_compose(kin__buf *out, const kin__request *request,
                         const kin__url *url, bool is_absolute,
                         const char *user_agent, const char *fields) {
  bool has_type = request->body_length > 0 && request->content_type != NULL;
  const char *type = has_type ? request->content_type : "";
  const char *tag = kin__or_default(request->if_none_match, "");
  if (!is_method(request->method) || !kin__request_is_target(request->target) ||
      !kin__request_is_field(request->accept) || !kin__request_is_field(type) ||
      !kin__request_is_field(tag)) {
    return KIN_EINVAL;
  }
  char length[48] = "";
  if (tells_length(request)) {
    snprintf(length, sizeof length, "Content-Length: %zu\r\n",
             request->body_length);
  }
  const char *const parts[] = {
      request->method,
      " ",
      is_absolute ? ORIGIN : "",
      is_absolute ? url->host_header : "",
      url->prefix,
      request->target,
      " HTTP/1.1\r\nHost: ",
      url->host_header,
      "\r\nUser-Agent: ",
      user_agent,
      "\r\nAccept: ",
      request->accept,
      "\r\n",
      fields,
      "Accept-Encoding: ",
      request->accepts_gzip ? "gzip" : "identity",
      has_type ? "\r\nContent-Type: " : "",
      type,
      tag[0] != '\0' ? "\r\nIf-None-Match: " : "",
      tag,
      "\r\n",
      length,
      "\r\n",
  };
  int err = 0;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && err == 0; i++) {
    err = kin__buf_append_cstr(out, parts[i]);
  }
  return err;
}

kin_str kin__request_path(const kin__buf *request) {
  const char *path = request->data + strcspn(request->data, " ") + 1;
  if (memcmp(path, ORIGIN, sizeof ORIGIN - 1) == 0) {
    path += sizeof ORIGIN - 1;
    path += strcspn(path, "/");
  }
  return kin__str(path, strcspn(path, " ?"));
}

int kin__request_authorize(kin__buf *out, const kin__buf *request,
                           const char *field, const char *value) {
  static const char end[] = "\r\n\r\n";
  assert(out->length == 0 && request->length > 2);
  size_t length = request->length - 2; /* without the empty line */
  int err = kin__buf_reserve(out, length + strlen(field) + strlen(value) +
                                      sizeof end);
  if (err != 0) {
    return err;
  }
  (void)kin__buf_append(out, request->data, length);
  (void)kin__buf_append_cstr(out, field);
  (void)kin__buf_append_cstr(out, value);
  (void)kin__buf_append_cstr(out, end);
  return 0;
}
