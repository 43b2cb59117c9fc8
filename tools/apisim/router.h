/* SPDX-License-Identifier: MIT */
#ifndef APISIM_ROUTER_H
#define APISIM_ROUTER_H

struct conn;

/* Finds out what a complete request is for, authenticates and authorizes it,
 * applies faults, and hands it to the part that answers. */
void router_handle(struct conn *c);

#endif
