/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_STATUS_H
#define KIN_DECODE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
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

/* How a Status is written by a server: its kind first. */
#define KIN__STATUS_START "{\"kind\":\"Status\""

/* Looks whether a body that comes in pieces begins so; blanks do not matter.
 * `*seen` is 0 before the first piece, then how much of the start there was:
 * all of it, or SIZE_MAX for something else. Returns how many bytes of this
 * piece were looked at. */
size_t kin__status_begins(size_t *seen, const char *bytes, size_t length);
#define KIN__STATUS_HAS_BEGUN (sizeof KIN__STATUS_START - 1)

/* Where in the rest of it the pieces have come to; all 0 at first. */
typedef struct kin__status_rest {
  uint64_t depth; /* of brackets within the Status */
  bool is_string;
  bool is_escaped; /* the next byte of the string */
} kin__status_rest;

/* How many bytes of the next piece of the rest belong to the Status; sets
 * *has_ended if its last byte is one of them. Looks for brackets only. */
size_t kin__status_ends(kin__status_rest *rest, const char *bytes,
                        size_t length, bool *has_ended);

/* Builds one for a response that carried no Status, by RE-01: reason from the
 * code, message from a text body (cut). */
void kin__status_from_response(kin__status *status, int http_status,
                               kin_str body);

/* Builds one of its parts, as if a server had sent it. */
void kin__status_make(kin__status *status, int code, const char *reason,
                      const char *message);

/* RE-06: whether it has this reason, or this code and no reason that is
 * known. */
bool kin__status_has_reason(const kin__status *status, const char *reason,
                            int code);

/* One without a code has this one. */
void kin__status_default_code(kin__status *status, int code);

/* RE-06: reason InternalError, or no known reason and code 500. */
bool kin__status_is_internal(const kin__status *status);

#endif /* KIN_DECODE_STATUS_H */
