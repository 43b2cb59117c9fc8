/* SPDX-License-Identifier: MIT */
#include "transport/transport.h"

#include <assert.h>

#include "base/alloc.h"
#include "transport/conn.h"
#include "transport/core.h"
#include "transport/dial.h"
#include "transport/request.h"

int kin__transport_open(kin__transport **out,
                        const kin__transport_options *options) {
  *out = NULL;
  const kin_allocator *allocator = options->allocator;
  if (!kin__request_is_field(options->user_agent)) {
    return KIN_EINVAL;
  }
  kin__transport *transport = kin__calloc(allocator, 1, sizeof *transport);
  if (transport == NULL) {
    return KIN_ENOMEM;
  }
  int err = KIN_ENOMEM;
  transport->user_agent = kin__strdup(allocator, options->user_agent);
  if (transport->user_agent == NULL) {
    goto fail_user_agent;
  }
  err = kin__net_open(&transport->net, options);
  if (err != 0) {
    goto fail_net;
  }
  transport->url = options->url;
  kin__pool_init(&transport->pool, &transport->net,
                 options->max_idle_connections, options->idle_timeout_ms);
  kin__list_init(&transport->exchanges);
  transport->connect_timeout_ms = options->connect_timeout_ms;
  transport->response_timeout_ms = options->response_timeout_ms;
  *out = transport;
  return 0;

fail_net:
  kin__free(allocator, transport->user_agent);
fail_user_agent:
  kin__free(allocator, transport);
  return err;
}

static void on_drained(kin__net *net) {
  kin__transport *transport = KIN__CONTAINER_OF(net, kin__transport, net);
  const kin_allocator *allocator = net->allocator;
  void (*cb)(void *ctx) = transport->close_cb;
  void *ctx = transport->close_ctx;
  kin__url_finish(&transport->url, allocator);
  kin__free(allocator, transport->user_agent);
  kin__free(allocator, transport);
  if (cb != NULL) {
    cb(ctx);
  }
}

void kin__transport_close(kin__transport *transport, void (*cb)(void *ctx),
                          void *ctx) {
  assert(!transport->is_closing);
  transport->is_closing = true;
  transport->close_cb = cb;
  transport->close_ctx = ctx;
  kin__exchange_cancel_all(transport);
  kin__pool_finish(&transport->pool);
  kin__net_close(&transport->net, on_drained);
}

void kin__transport_set_ref(kin__transport *transport, bool is_ref) {
  kin__net *net = &transport->net;
  net->is_ref = is_ref;
  kin__conn_update_refs(net);
  kin__dial_update_refs(net);
}

const kin__transport_stats *
kin__transport_get_stats(const kin__transport *transport) {
  return &transport->net.stats;
}
