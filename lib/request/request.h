/* SPDX-License-Identifier: MIT */
#ifndef KIN_REQUEST_REQUEST_H
#define KIN_REQUEST_REQUEST_H

#include <stddef.h>

#include <kin/request.h>

#include "base/buf.h"
#include "client/host.h"

/* kin_request_start on a host. `spec` is complete. With a tag on a condition:
 * the server answers 304 if what it has still has this ETag, and the request
 * fails then, with that status. The tag is copied; "" or NULL: no
 * condition. */
int kin__request_start_unless(kin_request **out, kin__host *host,
                              const kin_request_spec *spec, const char *tag,
                              kin_request_cb cb, void *data);
static inline int kin__request_start(kin_request **out, kin__host *host,
                                     const kin_request_spec *spec,
                                     kin_request_cb cb, void *data) {
  return kin__request_start_unless(out, host, spec, NULL, cb, data);
}

/* The event of a request that could not be started, for kin__request_start's
 * error. The caller adds the members that it knows. */
static inline kin_error_event kin__request_start_failed(int err) {
  return (kin_error_event){
      .code = err,
      .error_class = err == KIN_ENOMEM ? KIN_CLASS_MEMORY : KIN_CLASS_PROTOCOL,
      .reason = "",
      .message = kin_strerror(err)};
}

/* In the callback of a request: the ETag of its answer, NUL-terminated; "" if
 * there is none. */
const char *kin__request_etag(const kin_request *request);

/* In the callback of a request: takes the memory of its answer's body. The
 * response no longer has a body then. */
void kin__request_take_body(kin_request *request, kin__buf *body);

#endif /* KIN_REQUEST_REQUEST_H */
