/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_POOL_H
#define KIN_TRANSPORT_POOL_H

#include <stdint.h>

#include "transport/conn.h"
#include "transport/net.h"

/* Connections that wait for their next request. They stay polled: a connection
 * is closed if the peer closes it, or if bytes arrive unasked. */
typedef struct kin__pool {
  kin__net *net;
  kin__link idle; /* kin__conn.waiting_node, longest idle first */
  uint32_t count;
  uint32_t max_count;
  uint32_t timeout_ms;
  kin__timer timer; /* active iff there are idle connections */
} kin__pool;

/* Allocates nothing. */
void kin__pool_init(kin__pool *pool, kin__net *net, uint32_t max_count,
                    uint32_t timeout_ms);
/* Closes all connections. */
void kin__pool_finish(kin__pool *pool);

/* Takes a connection over. If there are too many, closes the one that has been
 * idle for longest. */
void kin__pool_put(kin__pool *pool, kin__conn *conn);

/* The connection used last, whose owner the caller must set at once; or
 * NULL. */
kin__conn *kin__pool_take(kin__pool *pool);

#endif /* KIN_TRANSPORT_POOL_H */
