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

/* A look for a Status in a body that comes in pieces; all 0 at first. */
typedef struct kin__status_search {
  size_t at;      /* the offset after the last member that was read */
  uint64_t depth; /* of brackets, up to the last byte that was given */
  bool is_status; /* known from kin__status_may_begin */
  bool is_string;
  bool is_escaped; /* the next byte of the string */
} kin__status_search;

/* Whether the body may be a Status, of which all that has come is `text`. A
 * Status has its kind before any member that is a list's or an event's: items,
 * type, object. Sets search->is_status as soon as the kind says so. Each call
 * for a body has the text of the call before, and more. */
bool kin__status_may_begin(kin__status_search *search, kin_str text);

/* Returns how many bytes of the next piece belong to the Status. Sets
 * *has_ended if its last byte is one of them. Looks for brackets only. */
size_t kin__status_ends(kin__status_search *search, const char *bytes,
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
