/* SPDX-License-Identifier: MIT */
#ifndef KIN_REFLECTOR_REQUEST_H
#define KIN_REFLECTOR_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/str.h>

#include "base/buf.h"

/* What is listed and watched. Strings are NUL-terminated, checked, and live as
 * long as the informer. */
typedef struct kin__resource {
  const char *group; /* "" for the core group */
  const char *version;
  const char *plural;
  const char *label_selector; /* "" for none */
  const char *field_selector;
  bool metadata_only;
} kin__resource;

/* Query parameters; empty strings and zeros are left out (RQ-04). */
typedef struct kin__query {
  const char *version; /* resourceVersion */
  const char *version_match;
  const char *token; /* continue */
  uint32_t limit;
  bool is_watch;
  bool sends_initial_events; /* of a watch: WL-02 */
  uint32_t timeout_s; /* of a watch (RW-01); 0: as long as the server likes */
} kin__query;

/* Writes the request target (path, and query with its keys sorted and values
 * percent-encoded; RQ-02, RQ-04) and a NUL into `out`, which it empties first.
 * `namespace_` "" means all. Errors: KIN_ENOMEM, KIN_ETOOBIG. */
int kin__request_target(kin__buf *out, const kin__resource *resource,
                        const char *namespace_, const kin__query *query);

/* Value of the Accept field. Static. */
const char *kin__request_accept(const kin__resource *resource, bool is_watch);

/* Whether `s` can be a path segment: not empty, at most 253 bytes, lower-case
 * letters, digits, '-' and '.', and not "." or ".." (RQ-03). */
bool kin__segment_is_valid(const char *s);

#endif /* KIN_REFLECTOR_REQUEST_H */
