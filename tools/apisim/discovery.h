/* SPDX-License-Identifier: MIT */
#ifndef APISIM_DISCOVERY_H
#define APISIM_DISCOVERY_H

#include <stdbool.h>

struct conn;

/* Answers what is not a resource: /api, /apis and below (in the aggregated
 * form if the client accepts it), /version and the health checks. False if the
 * path is none of these. */
bool discovery_answer(struct conn *c);

#endif
