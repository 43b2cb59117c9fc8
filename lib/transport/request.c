/* SPDX-License-Identifier: MIT */
/* There is no body, so a GET is its head. Without a wish for compression the
 * request refuses it explicitly: compression costs both ends more than the wire
 * saves. */
#include "transport/request.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <kin/error.h>

#include "base/str.h"

bool kin__request_is_field(const char *value) {
  for (const char *c = value; *c != '\0'; c++) {
    if ((*c < 0x20 && *c != '\t') || *c > 0x7e) {
      return false;
    }
  }
  return true;
}

static bool is_target(const char *target) {
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

int kin__request_compose(kin__buf *out, const kin__request *request,
                         const kin__url *url, const char *user_agent,
                         const char *fields) {
  if (!is_target(request->target) || !kin__request_is_field(request->accept)) {
    return KIN_EINVAL;
  }
  const char *encoding = request->accepts_gzip ? "gzip" : "identity";
  const char *const parts[] = {
      "GET ",           url->prefix,
      request->target,  " HTTP/1.1\r\nHost: ",
      url->host_header, "\r\nUser-Agent: ",
      user_agent,       "\r\nAccept: ",
      request->accept,  "\r\n",
      fields,           "Accept-Encoding: ",
      encoding,         "\r\n\r\n",
  };
  int err = 0;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && err == 0; i++) {
    err = kin__buf_append_cstr(out, parts[i]);
  }
  return err;
}

kin_str kin__request_path(const kin__buf *request) {
  static const char method[] = "GET ";
  const char *path = request->data + sizeof method - 1;
  return kin__str(path, strcspn(path, " ?"));
}

int kin__request_authorize(kin__buf *out, const kin__buf *request,
                           const char *value) {
  static const char name[] = "Authorization: ";
  static const char end[] = "\r\n\r\n";
  assert(out->length == 0 && request->length > 2);
  size_t length = request->length - 2; /* without the empty line */
  int err =
      kin__buf_reserve(out, length + sizeof name + strlen(value) + sizeof end);
  if (err != 0) {
    return err;
  }
  (void)kin__buf_append(out, request->data, length);
  (void)kin__buf_append_cstr(out, name);
  (void)kin__buf_append_cstr(out, value);
  (void)kin__buf_append_cstr(out, end);
  return 0;
}
