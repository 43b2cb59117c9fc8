/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_CORE_H
#define KIN_TRANSPORT_CORE_H

#include "transport/net.h"
#include "transport/pool.h"
#include "transport/transport.h"

/* The transport as transport.c and exchange.c see it. */
struct kin__transport {
  kin__net net;
  kin__url url;
  char *user_agent;
  kin__pool pool;
  kin__list exchanges; /* kin__exchange.node, not yet ended */
  uint32_t connect_timeout_ms;
  uint32_t response_timeout_ms;
  bool is_closing;
  void (*close_cb)(void *ctx);
  void *close_ctx;
};

/* Ends every exchange as kin__exchange_cancel does. */
void kin__exchange_cancel_all(kin__transport *transport);

#endif /* KIN_TRANSPORT_CORE_H */
