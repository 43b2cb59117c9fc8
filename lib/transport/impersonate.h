/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_IMPERSONATE_H
#define KIN_TRANSPORT_IMPERSONATE_H

#include <stddef.h>

#include <kin/client.h>

#include "base/buf.h"

/* The identity that requests act as (TR-05, TR-06). Everything is borrowed. */
typedef struct kin__impersonation {
  const char *user; /* NULL: no impersonation */
  const char *uid;
  const char *const *groups;
  size_t group_count;
  const kin_impersonate_extra *extra;
  size_t extra_count;
} kin__impersonation;

/* The bound of all fields together. */
#define KIN__IMPERSONATE_MAX_BYTES (64u << 10)

/* Appends the Impersonate header lines, each with its end; none without a user.
 * Errors: KIN_EINVAL (*reason, static, names the value that cannot be sent, or
 * says that there is no user), KIN_ETOOBIG (the buffer's bound), KIN_ENOMEM. */
int kin__impersonate_render(kin__buf *out, const kin__impersonation *whom,
                            const char **reason);

#endif /* KIN_TRANSPORT_IMPERSONATE_H */
