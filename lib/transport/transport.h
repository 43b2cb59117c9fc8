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

struct kin__proxy;
struct kin__tls_options;
struct kin__warnings;

/* One API server, used from one loop: name resolution, connections, the
 * keep-alive pool, and the exchanges that run on them.
 *
 * Only the scheduler's tasks read sockets. Readiness schedules a task; a step
 * of the task does one recv into a buffer that all connections share, and hands
 * the bytes on before it returns. So an idle connection owns no buffer. Sockets
 * are polled with uv_poll_t and written with send(MSG_NOSIGNAL), so a dead peer
 * never raises SIGPIPE in the host. */
typedef struct kin__transport kin__transport;

typedef struct kin__transport_options {
  uv_loop_t *loop;
  const kin_allocator *allocator; /* must outlive the transport */
  kin__sched *sched;
  kin__timers *timers; /* they use sched's clock, in ms */
  const kin__log *log;
  kin__url url;                     /* moved in */
  struct kin__proxy *proxy;         /* moved in; NULL: none */
  const char *proxy_authority_file; /* copied; NULL: the system's */
  const char *user_agent;
  const char *fields; /* more header lines for every request, each with its end;
                       * NULL: none; copied */
  uint32_t connect_timeout_ms;
  uint32_t response_timeout_ms;
  uint32_t read_delay_ms;        /* of busy watches, see read_delay.h */
  uint32_t max_idle_connections; /* kept for reuse */
  uint32_t idle_timeout_ms;      /* of a connection that is kept */
  uint32_t certificate_check_ms; /* the least time between two looks at the
                                  * certificates' files before requests on kept
                                  * connections; 0: no looks */
  bool accept_gzip;              /* for all requests but watches; needs zlib */

  /* Both are borrowed, and for https only. The transport copies what it needs
   * of tls. The source of credentials must outlive the transport. NULL: the
   * system's certificates; no credentials. */
  const struct kin__tls_options *tls;
  const kin__credentials *credentials;

  struct kin__warnings *warnings; /* gets the warnings of responses; must
                                   * outlive the transport. NULL: warnings are
                                   * ignored */

  uint32_t probe_silence_ms; /* time without a byte; 0: no probes, see
                              * probe.h */
  uint32_t probe_answer_ms;  /* the time that the server has for an answer */
} kin__transport_options;

/* url and proxy are moved only on success. Errors: KIN_ENOMEM, KIN_EINVAL
 * (control characters in user_agent; contradicting tls options; tls or
 * credentials without https), and libuv's. */
int kin__transport_open(kin__transport **out,
                        const kin__transport_options *options);

/* Ends all exchanges (without their callbacks) and connections. Calls cb (may
 * be NULL) when every handle and a running name look-up have ended: from the
 * loop, never inside this call. Nothing of the transport is left then. */
void kin__transport_close(kin__transport *transport, void (*cb)(void *ctx),
                          void *ctx);

/* Sets whether the transport's handles keep the loop alive (the default). */
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
