/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_REQUEST_H
#define KIN_TRANSPORT_REQUEST_H

#include <stdbool.h>

#include "base/buf.h"
#include "transport/exchange.h"
#include "transport/url.h"

/* Go's servers, the API server among them, refuse more. */
#define KIN__REQUEST_MAX_BYTES (1u << 20)

/* Whether a text may be a header field's value: it has no control characters but
 * tabs, so that no value can smuggle in another line. */
bool kin__request_is_field(const char *value);

/* Whether a text may be a target: begins with '/', visible ASCII only, no
 * '#'. */
bool kin__request_is_target(const char *target);

/* Appends the request's head in its wire form; the body follows it. `fields`
 * are more header lines, each with its end. `is_absolute`: the target is a
 * whole URL, for a proxy. Errors: KIN_EINVAL (a method that is no word of
 * capitals, a target that does not begin with '/' or holds bytes that must be
 * percent-encoded, an accept or content type that is no field value),
 * KIN_ETOOBIG (the buffer's bound), KIN_ENOMEM. */
int kin__request_compose(kin__buf *out, const kin__request *request,
                         const kin__url *url, bool is_absolute,
                         const char *user_agent, const char *fields);

/* The path of a composed request, borrowed, without its query. */
kin_str kin__request_path(const kin__buf *request);

/* Appends a composed request with one more field, "Authorization: " or
 * "Proxy-Authorization: ", of this value. The
 * buffer must be empty. It then holds a secret, and its memory has not moved.
 * Errors: KIN_ETOOBIG, KIN_ENOMEM. */
int kin__request_authorize(kin__buf *out, const kin__buf *request,
                           const char *field, const char *value);

#endif /* KIN_TRANSPORT_REQUEST_H */
