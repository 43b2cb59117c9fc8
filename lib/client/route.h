/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_ROUTE_H
#define KIN_CLIENT_ROUTE_H

#include <stdint.h>

#include <kin/client.h>

#include "client/env.h"
#include "client/server.h"

/* The way from a client's requests to a server: a fixed server, or one that is
 * found later. The client closes its route once, and then calls nothing else of
 * it. */
typedef struct kin__route {
  kin__transport_ops ops;
  void (*get_stats)(void *ctx, kin__server_stats *stats);
  void (*set_ref)(void *ctx, bool is_ref);
  /* Calls cb from the loop, never inside this call. No exchange is open. */
  void (*close)(void *ctx, void (*cb)(void *cb_ctx), void *cb_ctx);
  /* Changes with the server; see kin__env. */
  const uint32_t *generation;
  void *ctx;
} kin__route;

/* Makes the route of a client that is being opened. A failed call leaves no
 * handle. */
typedef int (*kin__route_open)(kin__route *out, const kin__server_place *place,
                               const kin_client_options *options, void *ctx);

/* kin_client_open with another route; `ctx` is passed to it. The route checks
 * options->server and all that describes the server. */
int kin__client_open(kin_client **out, uv_loop_t *loop,
                     const kin_client_options *options, kin__route_open open,
                     void *ctx);

/* A kin__route_open: the server that the options describe; ctx is unused. */
int kin__server_route(kin__route *out, const kin__server_place *place,
                      const kin_client_options *options, void *ctx);

#endif /* KIN_CLIENT_ROUTE_H */
