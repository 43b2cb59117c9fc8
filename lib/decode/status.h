/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_STATUS_H
#define KIN_DECODE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/str.h>

/* A metav1.Status, reduced to the fields that decisions and messages need. Long
 * strings are cut. */
typedef struct kin__status {
  int code;             /* 0 if absent */
  char reason[64];      /* "" if absent */
  char message[512];    /* cut at a UTF-8 boundary; control characters -> ' ' */
  int retry_after_s;    /* details.retryAfterSeconds, -1 if absent */
  bool is_failure;      /* kind Status with status "Failure" */
  bool is_success;      /* the same with "Success" */
  bool is_foreign;      /* apiVersion is there and not "v1": probably an object
                         * of a group that has a kind of this name */
  bool is_expired;      /* RE-06: reason Expired or Gone, or no known reason
                         * and code 410 */
  bool is_rv_too_large; /* RE-07 */
} kin__status;

/* Reads a Status object. Errors: KIN_EUNEXPECTED (the text is not JSON, or is
 * not of kind Status), KIN_ENOMEM. Then *status is zeroed and retry_after_s is
 * -1. (RE-02: apiVersion may be missing, kind may not.) */
int kin__status_parse(kin__status *status, const kin_allocator *allocator,
                      kin_str text);

/* A server writes kind first in a Status. */
#define KIN__STATUS_START "{\"kind\":\"Status\""

/* Whether a body that comes in pieces begins so; blanks are ignored. `*seen` is
 * 0 before the first piece. Then it is the matched length: all of it for a
 * Status, SIZE_MAX for any other body. Returns the number of bytes of this
 * piece that were read. */
size_t kin__status_begins(size_t *seen, const char *bytes, size_t length);
#define KIN__STATUS_HAS_BEGUN (sizeof KIN__STATUS_START - 1)

/* The state of a search for the end of the Status; all 0 at first. */
typedef struct kin__status_rest {
  uint64_t depth; /* of brackets within the Status */
  bool is_string;
  bool is_escaped; /* the next byte of the string */
} kin__status_rest;

/* Returns how many bytes of the next piece belong to the Status. Sets
 * *has_ended if its last byte is one of them. Looks for brackets only. */
size_t kin__status_ends(kin__status_rest *rest, const char *bytes,
                        size_t length, bool *has_ended);

/* RE-01: builds a Status for a response without one. The reason comes from the
 * code, the message from a text body (cut). */
void kin__status_from_response(kin__status *status, int http_status,
                               kin_str body);

/* Builds a Status of these parts, as if a server had sent it. */
void kin__status_make(kin__status *status, int code, const char *reason,
                      const char *message);

/* RE-06: whether the Status has this reason, or has this code and no known
 * reason. */
bool kin__status_has_reason(const kin__status *status, const char *reason,
                            int code);

/* Sets the code of a Status that has none. */
void kin__status_default_code(kin__status *status, int code);

/* RE-06: reason InternalError, or no known reason and code 500. */
bool kin__status_is_internal(const kin__status *status);

#endif /* KIN_DECODE_STATUS_H */
