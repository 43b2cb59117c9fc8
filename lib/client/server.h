/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_SERVER_H
#define KIN_CLIENT_SERVER_H

#include <kin/client.h>

#include "base/log.h"
#include "client/loop.h"
#include "config/exec_plugin.h"
#include "transport/transport.h"
#include "transport/warning.h"

/* One API server as some options describe it: its address, its credentials, and
 * the transport that uses both. */
typedef struct kin__server kin__server;

/* If the options have no connect_timeout_ms. */
#define KIN__CONNECT_TIMEOUT_MS 10000u

/* The parts of a client that its server uses. They must outlive the server. */
typedef struct kin__server_place {
  kin__loop *loop;
  const kin_allocator *allocator;
  const kin__log *log;
  kin__warnings *warnings;
  const char *user_agent;
} kin__server_place;

/* Copies what it needs of the options. A server that is open has handles, and
 * only kin__server_close ends it. Errors: as of kin_client_open; the log has
 * said what is wrong. */
int kin__server_open(kin__server **out, const kin__server_place *place,
                     const kin_client_options *options);

kin__transport *kin__server_transport(const kin__server *server);

typedef struct kin__server_stats {
  kin__transport_stats transport;
  kin__exec_stats exec;
} kin__server_stats;

void kin__server_get_stats(const kin__server *server, kin__server_stats *stats);
void kin__server_set_ref(kin__server *server, bool is_ref);

/* Ends all exchanges without their callbacks, then the transport and the
 * credentials. Calls cb from the loop, never inside this call. Nothing of the
 * server is left then. */
void kin__server_close(kin__server *server, void (*cb)(void *ctx), void *ctx);

#endif /* KIN_CLIENT_SERVER_H */
