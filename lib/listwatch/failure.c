/* SPDX-License-Identifier: MIT */
#include "listwatch/failure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

bool kin__is_put_off(int http_status, int64_t retry_after_s) {
  return (http_status == 429 || http_status >= 500) && retry_after_s >= 0;
}

/* libuv's codes are the system's, negative. */
bool kin__is_broken(int code) {
  return code == KIN_EEOF || code == -ECONNRESET || code == -EPIPE ||
         code == -ECONNABORTED;
}

void kin__failure_from_exchange(kin__failure *failure,
                                const kin__exchange_error *error) {
  *failure = (kin__failure){.code = error->code,
                            .error_class = error->error_class,
                            .status = error->status,
                            .retry_after_s = -1};
  snprintf(failure->message, sizeof failure->message, "%s", error->message);
}

/* RE-06: a known reason beats the code. 429 beats the reason, because servers
 * send 429 with other reasons too. */
static kin_error_class class_of_status(const kin__status *status) {
  if (status->code == 429 ||
      kin__status_has_reason(status, "TooManyRequests", 429)) {
    return KIN_CLASS_THROTTLED;
  }
  if (kin__status_has_reason(status, "Unauthorized", 401)) {
    return KIN_CLASS_AUTH;
  }
  if (kin__status_has_reason(status, "Forbidden", 403)) {
    return KIN_CLASS_FORBIDDEN;
  }
  return kin__status_has_reason(status, "NotFound", 404) ? KIN_CLASS_ABSENT
                                                         : KIN_CLASS_SERVER;
}

/* The code that decisions use. A Status without a code gets the code of its
 * reason. */
static int code_of_status(const kin__status *status) {
  static const struct {
    const char *reason;
    int code;
  } codes[] = {
      {"BadRequest", 400},    {"Unauthorized", 401},
      {"Forbidden", 403},     {"NotFound", 404},
      {"Expired", 410},       {"Gone", 410},
      {"Invalid", 422},       {"TooManyRequests", 429},
      {"InternalError", 500}, {"StorageReadError", 500},
      {"ServerTimeout", 500}, {"ServiceUnavailable", 503},
      {"Timeout", 504},
  };
  for (size_t i = 0; status->code == 0 && i < sizeof codes / sizeof codes[0];
       i++) {
    if (strcmp(status->reason, codes[i].reason) == 0) {
      return codes[i].code;
    }
  }
  return status->code;
}

void kin__failure_from_status(kin__failure *failure, const kin__status *status,
                              int64_t retry_after_s, const char *what) {
  *failure = (kin__failure){
      .code = status->is_expired ? KIN_EGONE : KIN_ESTATUS,
      .error_class = class_of_status(status),
      .status = code_of_status(status),
      .retry_after_s =
          retry_after_s >= 0 ? retry_after_s : status->retry_after_s,
      .is_expired = status->is_expired,
      .is_rv_too_large = status->is_rv_too_large,
      .is_internal = kin__status_is_internal(status)};
  snprintf(failure->reason, sizeof failure->reason, "%s", status->reason);
  const char *why = status->message[0] != '\0'  ? status->message
                    : status->reason[0] != '\0' ? status->reason
                                                : kin_strerror(failure->code);
  snprintf(failure->message, sizeof failure->message, "%s: %s", what, why);
  kin__put_on_one_line(failure->message);
}

static kin_error_class class_of_code(int code) {
  switch (code) {
  case KIN_ENOMEM:
  case KIN_EMAXBYTES:
    return KIN_CLASS_MEMORY;
  case KIN_EJSON:
  case KIN_EDEPTH:
  case KIN_ETOOBIG:
  case KIN_ETRUNCATED:
  case KIN_EUNEXPECTED:
  case KIN_EKEY:
    return KIN_CLASS_DECODE;
  case KIN_EEOF:
    return KIN_CLASS_CONNECT;
  case KIN_EGONE:
    return KIN_CLASS_SERVER;
  default:
    return KIN_CLASS_PROTOCOL;
  }
}

void kin__failure_from_code(kin__failure *failure, int code, const char *what,
                            const char *key) {
  *failure = (kin__failure){.code = code,
                            .error_class = class_of_code(code),
                            .retry_after_s = -1,
                            .is_rv_too_large = code == KIN_EGONE};
  snprintf(failure->message, sizeof failure->message, "%s: %s%s%s", what,
           kin_strerror(code), key[0] != '\0' ? ", object " : "", key);
  kin__put_on_one_line(failure->message);
}

bool kin__failure_is_misplaced(const kin__failure *failure) {
  return failure->code == KIN_EUNEXPECTED || failure->code == KIN_EKEY ||
         failure->code == KIN_EINVAL;
}
