/* SPDX-License-Identifier: MIT */
#include "reflector/failure.h"

#include <stdio.h>
#include <string.h>

void kin__failure_from_exchange(kin__failure *failure,
                                const kin__exchange_error *error) {
  *failure = (kin__failure){.code = error->code,
                            .error_class = error->error_class,
                            .retry_after_s = -1};
  snprintf(failure->message, sizeof failure->message, "%s", error->message);
}

static kin_error_class class_of_status(int status) {
  switch (status) {
  case 401:
    return KIN_CLASS_AUTH;
  case 403:
    return KIN_CLASS_FORBIDDEN;
  case 404:
    return KIN_CLASS_ABSENT;
  case 429:
    return KIN_CLASS_THROTTLED;
  default:
    return KIN_CLASS_SERVER;
  }
}

void kin__failure_from_status(kin__failure *failure, const kin__status *status,
                              int64_t retry_after_s, const char *what) {
  *failure = (kin__failure){
      .code = status->is_expired ? KIN_EGONE : KIN_ESTATUS,
      .error_class = class_of_status(status->code),
      .status = status->code,
      .retry_after_s =
          retry_after_s >= 0 ? retry_after_s : status->retry_after_s,
      .is_expired = status->is_expired,
      .is_rv_too_large = status->is_rv_too_large};
  snprintf(failure->reason, sizeof failure->reason, "%s", status->reason);
  snprintf(failure->message, sizeof failure->message, "%s: %s", what,
           status->message[0] != '\0' ? status->message : status->reason);
}

static kin_error_class class_of_code(int code) {
  switch (code) {
  case KIN_ENOMEM:
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
  default:
    return KIN_CLASS_PROTOCOL;
  }
}

void kin__failure_from_code(kin__failure *failure, int code, const char *what,
                            const char *key) {
  *failure = (kin__failure){
      .code = code, .error_class = class_of_code(code), .retry_after_s = -1};
  snprintf(failure->message, sizeof failure->message, "%s: %s%s%s", what,
           kin_strerror(code), key[0] != '\0' ? ", object " : "", key);
}

bool kin__failure_is_misplaced(const kin__failure *failure) {
  return failure->code == KIN_EUNEXPECTED || failure->code == KIN_EKEY ||
         failure->code == KIN_EINVAL;
}
