/* SPDX-License-Identifier: MIT */
#include "transport/transport.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/str.h"
#include "transport/conn.h"
#include "transport/core.h"
#include "transport/dial.h"
#include "transport/request.h"

static bool are_valid(const kin__transport_options *options) {
  if (!options->url.is_tls &&
      (options->tls != NULL || options->credentials != NULL)) {
    kin__log_problem(options->log, KIN_EINVAL,
                     "credentials and TLS options need an https:// server");
    return false; /* KC-07 */
  }
  const char *fault =
      options->tls != NULL ? kin__tls_options_check(options->tls) : NULL;
  if (fault != NULL) {
    kin__log_problem(options->log, KIN_EINVAL, "tls: %s", fault);
  }
  return fault == NULL && kin__request_is_field(options->user_agent);
}

static void on_tls_changed(kin__tls_context *context) {
  kin__transport *transport =
      KIN__CONTAINER_OF(context->net, kin__transport, net);
  kin__pool_finish(&transport->pool); /* AU-04 */
}

static int open_tls(kin__transport *transport,
                    const kin__transport_options *options) {
  static const kin__tls_options defaults = {.is_insecure = false};
  if (!options->url.is_tls) {
    return 0;
  }
  const kin__tls_options *tls = options->tls != NULL ? options->tls : &defaults;
  int err = kin__tls_context_open(&transport->tls, &transport->net, tls,
                                  options->url.host);
  if (err != 0) {
    return err;
  }
  transport->tls->on_changed = on_tls_changed;
  transport->tls->label = "tls";
  if (tls->is_insecure) {
    kin__log_write(options->log, KIN_LOG_WARN,
                   "tls: the certificate of %s is not verified, because "
                   "insecure_skip_tls_verify is set",
                   options->url.host_header);
  }
  return 0;
}

static int open_proxy_tls(kin__transport *transport,
                          const kin__transport_options *options) {
  const kin__tls_options tls = {.authority_file =
                                    options->proxy_authority_file};
  if (!kin__proxy_is_supported() || options->proxy == NULL ||
      !options->proxy->url.is_tls) {
    return 0;
  }
  int err = kin__tls_context_open(&transport->proxy_tls, &transport->net, &tls,
                                  options->proxy->url.host);
  if (err == 0) {
    transport->proxy_tls->on_changed = on_tls_changed;
    transport->proxy_tls->label = "tls with the proxy";
  }
  return err;
}

/* All but what the transport takes over from its options. */
static void free_parts(kin__transport *transport) {
  const kin_allocator *allocator = transport->net.allocator;
  kin__tls_context_free(transport->tls);
  kin__tls_context_free(kin__transport_proxy_tls(transport));
  kin__free(allocator, transport->fields);
  kin__free(allocator, transport->user_agent);
  kin__free(allocator, transport);
}

/* Opens the parts that may fail. The network comes last, because only a close
 * ends a network. */
static int open_parts(kin__transport *transport,
                      const kin__transport_options *options) {
  const kin_allocator *allocator = options->allocator;
  transport->net.allocator = allocator;
  transport->user_agent = kin__strdup(allocator, options->user_agent);
  transport->fields =
      kin__strdup(allocator, kin__or_default(options->fields, ""));
  if (transport->user_agent == NULL || transport->fields == NULL) {
    return KIN_ENOMEM;
  }
  int err = open_tls(transport, options);
  if (err == 0) {
    err = open_proxy_tls(transport, options);
  }
  return err == 0 ? kin__net_open(&transport->net, options) : err;
}

int kin__transport_open(kin__transport **out,
                        const kin__transport_options *options) {
  *out = NULL;
  if (!are_valid(options)) {
    return KIN_EINVAL;
  }
  kin__transport *transport =
      kin__calloc(options->allocator, 1, sizeof *transport);
  if (transport == NULL) {
    return KIN_ENOMEM;
  }
  int err = open_parts(transport, options);
  if (err != 0) {
    free_parts(transport);
    return err;
  }
  kin__conn_init_closing(&transport->net);
  transport->url = options->url;
  transport->proxy = options->proxy;
  transport->warnings = options->warnings;
  kin__pool_init(&transport->pool, &transport->net,
                 options->max_idle_connections, options->idle_timeout_ms);
  kin__probe_init(&transport->probe, transport, options->probe_silence_ms,
                  options->probe_answer_ms);
  kin__link_init(&transport->exchanges);
  kin__link_init(&transport->current);
  kin__link_init(&transport->outdated);
  kin__task_init(&transport->renewal, kin__exchange_renew_step);
  if (options->credentials != NULL) {
    transport->credentials = *options->credentials;
  }
  transport->connect_timeout_ms = options->connect_timeout_ms;
  transport->response_timeout_ms = options->response_timeout_ms;
  transport->certificate_check_ms = options->certificate_check_ms;
  transport->accept_gzip = options->accept_gzip;
  *out = transport;
  return 0;
}

static void on_drained(kin__net *net) {
  kin__transport *transport = KIN__CONTAINER_OF(net, kin__transport, net);
  void (*cb)(void *ctx) = transport->close_cb;
  void *ctx = transport->close_ctx;
  kin__proxy_free(transport->proxy, net->allocator);
  kin__url_finish(&transport->url, net->allocator);
  free_parts(transport);
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
  kin__probe_stop(&transport->probe);
  kin__exchange_cancel_all(transport);
  kin__sched_cancel(transport->net.sched, &transport->renewal);
  if (transport->tls != NULL) {
    kin__tls_context_close(transport->tls);
  }
  if (kin__transport_proxy_tls(transport) != NULL) {
    kin__tls_context_close(transport->proxy_tls);
  }
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
