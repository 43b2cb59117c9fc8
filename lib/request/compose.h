/* SPDX-License-Identifier: MIT */
#ifndef KIN_REQUEST_COMPOSE_H
#define KIN_REQUEST_COMPOSE_H

#include <kin/request.h>

#include "base/buf.h"
#include "base/log.h"

#define KIN__DEFAULT_MAX_RESPONSE (16u << 20)
#define KIN__MAX_RESPONSE_BYTES (1u << 30)
#define KIN__MAX_RETRIES 10u /* RR-01 */

/* A program's request in the form that the transport sends, once or several
 * times. */
typedef struct kin__composed {
  const char *method; /* static */
  kin__buf target;    /* NUL-terminated */
  kin__buf body;      /* empty: none */
  kin__buf types;     /* the next two, each NUL-terminated */
  const char *accept;
  const char *content_type;
} kin__composed;

/* Allocates nothing. */
void kin__composed_init(kin__composed *composed,
                        const kin_allocator *allocator);
void kin__composed_finish(kin__composed *composed);

/* Checks the request and fills *composed, which must be fresh. The caller
 * finishes it also after an error. A problem is logged, with the member's name.
 * Errors: KIN_EINVAL, KIN_ETOOBIG, KIN_ENOMEM. */
int kin__compose(kin__composed *composed, const kin_request_spec *spec,
                 const kin__log *log);

/* "PATCH /api/v1/namespaces/n/pods/p": without the query, cut to fit. */
void kin__composed_describe(const kin__composed *composed, char *to,
                            size_t size);

#endif /* KIN_REQUEST_COMPOSE_H */
