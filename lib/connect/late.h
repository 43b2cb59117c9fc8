/* SPDX-License-Identifier: MIT */
#ifndef KIN_CONNECT_LATE_H
#define KIN_CONNECT_LATE_H

#include <kin/client.h>
#include <kin/error.h>

#include "client/route.h"

/* A route whose server is found after the client is open, and may change.
 *
 * The first request starts the search, and requests wait until it ends. A later
 * request waits for a new search if the last one is fresh_ms old, or retry_ms
 * after a failure that other settings may cure: a 401, TLS, no connection, a
 * connection that was cut. If the last search is younger than that, the request
 * runs, and the search begins beside it, retry_ms after the last one. Between
 * two searches are always retry_ms.
 * No request waits for longer than the options' connect_timeout_ms: then the
 * last server serves it, or it fails, while the search goes on. If no search
 * runs then, because the next one is not due, it fails as the last search did.
 *
 * A search that fails changes nothing if there is a server. A search that finds
 * other settings replaces the server: watches of the old one are broken, as if
 * the network had failed, and so go on from their last version, unless the new
 * server has another address (kin__response_head.server_address). Other exchanges
 * with the old server go on to their end. */
typedef struct kin__late kin__late;

/* The searcher. */
typedef struct kin__finder {
  /* Begins a search. It ends with one call of kin__late_found, kin__late_same
   * or kin__late_failed, from the loop, never inside this call. No other search
   * begins before that. */
  void (*search)(void *ctx, kin__late *late);
  /* Ends a search without its call. Calls cb from the loop, never inside this
   * call; the finder no longer exists then. */
  void (*close)(void *ctx, void (*cb)(void *cb_ctx), void *cb_ctx);
  /* Whether the server of kin__late_found is in use now; called in there, before
   * any call that may start or close something. The borrowed options are not
   * needed any more. */
  void (*opened)(void *ctx, bool is_in_use);
  void *ctx;
  uint32_t fresh_ms;
  uint32_t retry_ms; /* at most fresh_ms */
} kin__finder;

/* `options` describe no server; their texts are copied. The finder is closed
 * with the route, not on failure. Errors: KIN_ENOMEM. */
int kin__late_open(kin__route *out, const kin__server_place *place,
                   const kin_client_options *options,
                   const kin__finder *finder);

/* The options of kin__late_open, to which a finder adds the server. Valid until
 * the route is closed. */
const kin_client_options *kin__late_options(const kin__late *late);

/* A server with these settings, or other settings than before: a copy of
 * kin__late_options with a server. `options` is borrowed. If that server cannot
 * be opened, the last one stays, and the next search may find the same settings
 * again; their problem is logged once. `is_moved`: the address is not that of
 * the server in use. */
void kin__late_found(kin__late *late, const kin_client_options *options,
                     bool is_moved);
/* The settings are those of the last kin__late_found. */
void kin__late_same(kin__late *late);
/* No usable settings. `message` is for people, has no secret, and is cut after
 * some 380 bytes. It is logged if there is a server, unless the last search had
 * the same failure. */
void kin__late_failed(kin__late *late, int code, kin_error_class error_class,
                      const char *message);

#endif /* KIN_CONNECT_LATE_H */
