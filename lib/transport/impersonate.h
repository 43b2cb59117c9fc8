/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_IMPERSONATE_H
#define KIN_TRANSPORT_IMPERSONATE_H

#include <stddef.h>

#include <kin/client.h>

#include "base/buf.h"

/* Whom requests are made for (TR-05, TR-06). All borrowed. */
typedef struct kin__impersonation {
  const char *user; /* NULL: nobody */
  const char *uid;
  const char *const *groups;
  size_t group_count;
  const kin_impersonate_extra *extra;
  size_t extra_count;
} kin__impersonation;

/* Of all fields together. */
#define KIN__IMPERSONATE_MAX_BYTES (64u << 10)

/* Appends the header lines that say so, each with its end; none for nobody.
 * Errors: KIN_EINVAL (*reason, static, says which value cannot be sent, or that
 * there is no user), KIN_ETOOBIG (as far as the buffer says), KIN_ENOMEM. */
int kin__impersonate_render(kin__buf *out, const kin__impersonation *whom,
                            const char **reason);

#endif /* KIN_TRANSPORT_IMPERSONATE_H */
