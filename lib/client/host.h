/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_HOST_H
#define KIN_CLIENT_HOST_H

#include <stdint.h>

#include <kin/client.h>

#include "client/env.h"
#include "client/member.h"

/* What a client is to the things that live on it: surroundings, informers, and
 * a life that they end with. A test is another one, without a loop. */
typedef struct kin__host {
  const kin__env *env;
  kin__members members;
} kin__host;

/* The host in a client, to open something on; lives as long. What was wrong
 * with the options of what was opened before is forgotten. */
kin__host *kin__client_host(kin_client *client);

#endif /* KIN_CLIENT_HOST_H */
