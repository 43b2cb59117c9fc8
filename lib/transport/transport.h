/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_TRANSPORT_H
#define KIN_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <kin/allocator.h>
#include <kin/error.h>

#include "base/log.h"
#include "base/sched.h"
#include "base/timers.h"
#include "transport/credentials.h"
#include "transport/exchange.h"
#include "transport/url.h"

struct kin__tls_options;
struct kin__warnings;

/* One API server as seen from one loop: name resolution, connections, the
 * keep-alive pool, and the exchanges that run on them.
 *
 * Sockets are read only from the scheduler: readiness schedules a task, a step
 * of the task does one recv into a buffer that all connections share, and hands
 * the bytes on before it returns, so an idle connection owns no buffer. Sockets
 * are polled with uv_poll_t and written with send(MSG_NOSIGNAL): a dead peer
 * never raises SIGPIPE in the host. */
typedef struct kin__transport kin__transport;

typedef struct kin__transport_options {
  uv_loop_t *loop;
  const kin_allocator *allocator; /* must outlive the transport */
  kin__sched *sched;
  kin__timers *timers; /* run on sched's clock, in ms */
  const kin__log *log;
  kin__url url; /* moved in */
  const char *user_agent;
  const char *fields; /* more header lines for every request, each with its
                       * end; NULL: none; copied */
  uint32_t connect_timeout_ms;
  uint32_t response_timeout_ms;
  uint32_t max_idle_connections; /* kept for reuse */
  uint32_t idle_timeout_ms;      /* how long */
  bool accept_gzip;              /* of all but watches; needs zlib */

  /* Both for https only, and borrowed: what is copied of tls, the source of
   * credentials must outlive the transport. NULL: the system's certificates;
   * none. */
  const struct kin__tls_options *tls;
  const kin__credentials *credentials;

  struct kin__warnings *warnings; /* told of what responses warn about; must
                                   * outlive the transport. NULL: nobody */

  uint32_t probe_silence_ms; /* without a byte; 0: no probes, see probe.h */
  uint32_t probe_answer_ms;  /* in which the server must answer one */
} kin__transport_options;

/* Errors: KIN_ENOMEM, KIN_EINVAL (control characters in user_agent;
 * contradicting tls options; tls or credentials without https), KIN_ENOTSUP
 * (accept_gzip without zlib), and libuv's.
 * The url is only moved on success. */
int kin__transport_open(kin__transport **out,
                        const kin__transport_options *options);

/* Ends all exchanges (without their callbacks) and connections, and calls cb
 * (may be NULL) from the loop, never from inside this call, when every handle
 * and a running name look-up have ended. Nothing of the transport is left
 * then. */
void kin__transport_close(kin__transport *transport, void (*cb)(void *ctx),
                          void *ctx);

/* Keeps the loop alive (the default) or not: applies to all its handles. */
void kin__transport_set_ref(kin__transport *transport, bool is_ref);

typedef struct kin__transport_stats {
  uint64_t received_bytes;
  uint64_t sent_bytes;
  uint64_t requests;
  uint64_t connections;
  uint32_t open_connections;
} kin__transport_stats;

const kin__transport_stats *
kin__transport_get_stats(const kin__transport *transport);

#endif /* KIN_TRANSPORT_TRANSPORT_H */
