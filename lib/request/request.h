/* SPDX-License-Identifier: MIT */
#ifndef KIN_REQUEST_REQUEST_H
#define KIN_REQUEST_REQUEST_H

#include <kin/request.h>

#include "base/buf.h"
#include "client/host.h"

/* kin_request_start on a host. `spec` is complete. */
int kin__request_start(kin_request **out, kin__host *host,
                       const kin_request_spec *spec, kin_request_cb cb,
                       void *data);

/* In the callback of a request: takes the memory of its answer's body. The
 * response no longer has a body then. */
void kin__request_take_body(kin_request *request, kin__buf *body);

#endif /* KIN_REQUEST_REQUEST_H */
