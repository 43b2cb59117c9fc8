/* SPDX-License-Identifier: MIT */
#ifndef APISIM_TLS_STREAM_H
#define APISIM_TLS_STREAM_H

/* TLS between a connection and its socket, as a stream over a stream.
 *
 * The handshake runs by itself after the accept, for at most 10 s; nothing is
 * read before it is over, and one that fails is on_end with UV_EPROTO. A client
 * that sends a plain HTTP request is told so, as Go's server tells it.
 *
 * stream_shutdown() sends close_notify and then FIN; stream_close() alone just
 * closes the socket, as somebody who cuts a connection does. A close right
 * after a shutdown waits for close_notify to go out, for half a second at most.
 *
 * After stream_set_reading(off) the rest of what one read of the socket brought
 * may still come. */

#include "stream.h"
#include "tls_config.h"

/* Accepts the connection that waits on listener. Returns 0 and a stream, or a
 * libuv error. */
int tls_stream_accept(tls_config *config, uv_stream_t *listener,
                      const stream_events *events, void *data, stream **out);

#endif
