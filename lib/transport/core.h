/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_CORE_H
#define KIN_TRANSPORT_CORE_H

#include "transport/net.h"
#include "transport/pool.h"
#include "transport/probe.h"
#include "transport/proxy.h"
#include "transport/tls_context.h"
#include "transport/transport.h"

/* The transport's parts, for the files that own or join them. */
struct kin__transport {
  kin__net net;
  kin__url url;
  char *user_agent;
  char *fields;                   /* header lines of every request */
  struct kin__warnings *warnings; /* NULL: warnings are ignored */
  kin__pool pool;
  kin__credentials credentials; /* get is NULL if there are none */
  kin__tls_context *tls;        /* NULL for http */
  kin__proxy *proxy;            /* NULL: none */
  kin__tls_context *proxy_tls;  /* NULL: no https proxy */
  kin__link exchanges;          /* kin__exchange.node, not yet ended */
  kin__link current;    /* kin__exchange.pair_node, of those that have begun */
  kin__link outdated;   /* of those that began with an earlier certificate */
  kin__task renewal;    /* takes them from outdated */
  uint64_t pair_serial; /* of the credentials' certificate, see there */
  kin__probe probe;
  uint32_t connect_timeout_ms;
  uint32_t response_timeout_ms;
  uint32_t certificate_check_ms;
  bool accept_gzip;
  bool is_closing;
  void (*close_cb)(void *ctx);
  void *close_ctx;
};

/* The proxy, or NULL. */
static inline kin__proxy *
kin__transport_proxy(const kin__transport *transport) {
  return kin__proxy_is_supported() ? transport->proxy : NULL;
}

/* The certificates of TLS with an https proxy, or NULL. */
static inline kin__tls_context *
kin__transport_proxy_tls(const kin__transport *transport) {
  return kin__proxy_is_supported() ? transport->proxy_tls : NULL;
}

/* Counts the changes of certificates, with the server and with the proxy. */
static inline unsigned kin__transport_edition(const kin__transport *transport) {
  const kin__tls_context *proxy_tls = kin__transport_proxy_tls(transport);
  return (transport->tls != NULL ? transport->tls->edition : 0) +
         (proxy_tls != NULL ? proxy_tls->edition : 0);
}

/* Ends every exchange as kin__exchange_cancel does. */
void kin__exchange_cancel_all(kin__transport *transport);

/* Looks at a few exchanges that were not looked at in this round (any number
 * but 0). Returns an open watch whose last byte came at `since_ms` or earlier,
 * or NULL. Its head must have come, it must not be paused, and its socket must
 * have no input. `has_more`: the round is not over. */
kin__exchange *kin__exchange_find_silent(kin__transport *transport,
                                         uint32_t round, uint64_t since_ms,
                                         bool *has_more);
/* The task's step: one exchange of transport->outdated. A watch is opened anew.
 * Any other request that has been sent goes on to its end, and its connection
 * is not kept. */
bool kin__exchange_renew_step(kin__task *task);
/* Whether there is an open watch that is not paused. */
bool kin__exchange_has_watch(const kin__transport *transport);

#endif /* KIN_TRANSPORT_CORE_H */
