/* SPDX-License-Identifier: MIT */
#ifndef KIN_REQUEST_ANSWER_H
#define KIN_REQUEST_ANSWER_H

#include <kin/request.h>

#include "base/buf.h"
#include "base/str.h"
#include "listwatch/failure.h"

struct yyjson_doc;

/* The last bytes of an error's body are dropped beyond this. */
#define KIN__ANSWER_MAX_ERROR_BODY (64u << 10)
#define KIN__ANSWER_MAX_CAUSES 64u

/* An answer as it came. */
typedef struct kin__raw_answer {
  int http_status;
  int64_t retry_after_s; /* of the head; -1: none */
  kin_str content_type;
  kin_str body;
} kin__raw_answer;

/* The parts of a kin_response that come from a Status. */
typedef struct kin__answer {
  const kin_allocator *allocator;
  kin_reason reason;
  struct yyjson_doc *doc; /* the strings below are its own; NULL: none */
  kin_str details_kind;
  kin_str details_name;
  kin_cause causes[KIN__ANSWER_MAX_CAUSES];
  size_t cause_count;
} kin__answer;

static inline void kin__answer_init(kin__answer *answer,
                                    const kin_allocator *allocator) {
  *answer = (kin__answer){.allocator = allocator,
                          .details_kind = KIN__LIT(""),
                          .details_name = KIN__LIT("")};
}

/* Judges a complete answer: whether it is a failure, and which (RE-01, RE-02,
 * RE-03). `what` describes the request. Without memory to tell whether a 2xx is
 * a success the failure is KIN_ENOMEM; of an error the HTTP status decides. */
bool kin__answer_is_failure(kin__failure *failure,
                            const kin_allocator *allocator,
                            const kin__raw_answer *raw, bool is_create,
                            const char *what);

/* Reads the details of a failure that kin__answer_is_failure made of the same
 * body. kin__answer_finish frees them. */
void kin__answer_read(kin__answer *answer, const kin_allocator *allocator,
                      const kin__failure *failure, kin_str body);
void kin__answer_finish(kin__answer *answer);

#endif /* KIN_REQUEST_ANSWER_H */
