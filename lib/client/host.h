/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_HOST_H
#define KIN_CLIENT_HOST_H

#include <stdint.h>

#include <kin/client.h>
#include <kin/error.h>

#include "client/env.h"
#include "client/member.h"

/* The part of a client that its members use: an environment, and the list of
 * members that close with it. A test has a host without a loop. */
typedef struct kin__host {
  const kin__env *env;
  kin__members members;
  /* The table of the server's resources, see discovery/; NULL before its first
   * use, and when it has left. */
  kin__member *discovery;
} kin__host;

/* The host of a client, for opening a member; NULL without a client. Valid as
 * long as the client. Also clears the problem text of an earlier open. */
kin__host *kin__client_host(kin_client *client);

/* Whether a member can be opened. Errors: KIN_EINVAL (NULL), KIN_ECLOSED. */
static inline int kin__host_check(const kin__host *host) {
  if (host == NULL) {
    return KIN_EINVAL;
  }
  return host->members.is_closing ? KIN_ECLOSED : 0;
}

#endif /* KIN_CLIENT_HOST_H */
