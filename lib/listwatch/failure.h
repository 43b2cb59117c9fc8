/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_FAILURE_H
#define KIN_LISTWATCH_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/error.h>

#include "decode/status.h"
#include "transport/exchange.h"

/* Why a request or a stream failed. Decisions, status and error events all use
 * this form. */
typedef struct kin__failure {
  int code; /* negative */
  kin_error_class error_class;
  int status; /* HTTP or Status code, or the code of its reason; 0: none */
  char reason[64];
  char message[640];
  int64_t retry_after_s; /* of the head, else of the Status; -1: of neither */
  bool is_expired;       /* RE-06 */
  bool is_rv_too_large;  /* RE-07, or no version counts any more */
  bool is_internal;      /* RE-06 */
  bool is_put_off;       /* RR-01, see kin__is_put_off */
} kin__failure;

/* Whether a response's head puts the request off: 429 or 5xx with Retry-After
 * (-1: without). A Status in the body has no say. */
bool kin__is_put_off(int http_status, int64_t retry_after_s);

/* RR-02: whether the code is that of a connection that broke. The system gives
 * ECONNABORTED where an administrator has cut the connection (ss -K). */
bool kin__is_broken(int code);

/* For an exchange that broke. */
void kin__failure_from_exchange(kin__failure *failure,
                                const kin__exchange_error *error);

/* For a Status, of a response (`retry_after_s` from its head, or -1) or of an
 * ERROR event. `what` names the request: "list of /api/v1/pods". */
void kin__failure_from_status(kin__failure *failure, const kin__status *status,
                              int64_t retry_after_s, const char *what);

/* Whether the server refused the request as malformed (400, 422). */
static inline bool kin__failure_is_malformed(const kin__failure *failure) {
  return failure->status == 400 || failure->status == 422;
}

/* Whether no version counts any more: the server has another address, or the
 * program's source says so. A server that refuses one version has a status. */
static inline bool kin__failure_voids_versions(const kin__failure *failure) {
  return failure->code == KIN_EGONE && failure->status == 0;
}

/* True for an event that has no place in the order of versions: it has no
 * version or no name, its type is unknown, or it is no event at all. To be
 * asked about a granted watch only: its codes have other causes before that. */
bool kin__failure_is_misplaced(const kin__failure *failure);

/* For an unreadable body, or for lack of memory: `code` is KIN_EJSON,
 * KIN_ETOOBIG, KIN_ECONTENT, KIN_ENOMEM, ...; KIN_EGONE where no version counts
 * any more, as in another cluster. `key` names the object in hand, "" if
 * unknown. */
void kin__failure_from_code(kin__failure *failure, int code, const char *what,
                            const char *key);

#endif /* KIN_LISTWATCH_FAILURE_H */
