/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_STATUS_H
#define KIN_DECODE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

/* A metav1.Status, reduced to what decisions and messages need; strings are
 * cut, never overflow. */
typedef struct kin__status {
  int code;             /* 0 if absent */
  char reason[64];      /* "" if absent */
  char message[512];    /* cut at a UTF-8 boundary; control characters -> ' ' */
  int retry_after_s;    /* details.retryAfterSeconds, -1 if absent */
  bool is_failure;      /* kind Status with status "Failure" */
  bool is_expired;      /* RE-06: reason Expired or Gone, or no known reason
                         * and code 410 */
  bool is_rv_too_large; /* RE-07 */
} kin__status;

/* Reads a Status object. Returns false, with *status zeroed and retry_after_s
 * -1, if the text is not JSON or not of kind Status (RE-02: apiVersion may be
 * missing, kind may not). An allocation that fails also gives false. */
bool kin__status_parse(kin__status *status, const kin_allocator *allocator,
                       kin_str text);

/* Builds one for a response that carried no Status, by RE-01: reason from the
 * code, message from a text body (cut). */
void kin__status_from_response(kin__status *status, int http_status,
                               kin_str body);

/* Builds one of its parts, as if a server had sent it. */
void kin__status_make(kin__status *status, int code, const char *reason,
                      const char *message);

#endif /* KIN_DECODE_STATUS_H */
