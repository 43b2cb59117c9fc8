/* SPDX-License-Identifier: MIT */
/* What a request needs before it can be sent: its text, a credential and, for a
 * new connection, certificates. Both may have to be read from files first. The
 * reader then puts the exchange back to QUEUED, and the exchange asks again. */

#include "base/alloc.h"
#include "base/link.h"
#include "base/str.h"
#include "transport/exchange_core.h"
#include "transport/request.h"
#include "transport/warning.h"

/* For all waiters: asks again in the task. */
static void on_served(const kin__exchange_asking *asking) {
  kin__exchange *exchange = asking->exchange;
  kin__net *net = kin__exchange_net(exchange);
  kin__timer_stop(net->timers, &exchange->timer);
  exchange->state = KIN__EXCHANGE_QUEUED;
  kin__sched_add(net->sched, &exchange->task);
}

static void on_credential(kin__waiter *waiter) {
  on_served(KIN__CONTAINER_OF(waiter, kin__exchange_asking, credential_waiter));
}

static void on_context(kin__waiter *waiter) {
  on_served(KIN__CONTAINER_OF(waiter, kin__exchange_asking, context_waiter));
}

static void on_proxy_context(kin__waiter *waiter) {
  on_served(KIN__CONTAINER_OF(waiter, kin__exchange_asking, proxy_waiter));
}

bool kin__exchange_waits_for_credential(const kin__exchange *exchange) {
  return exchange->asking != NULL &&
         !kin__link_is_empty(&exchange->asking->credential_waiter.node);
}

uint32_t kin__exchange_wait_ms(const kin__exchange *exchange) {
  const kin__transport *transport = exchange->transport;
  return kin__exchange_waits_for_credential(exchange) &&
                 transport->credentials.wait_ms != 0
             ? transport->credentials.wait_ms
             : transport->connect_timeout_ms;
}

static void wait(kin__exchange *exchange, bool has_value) {
  uint32_t wait_ms = kin__exchange_wait_ms(exchange);
  exchange->state = KIN__EXCHANGE_WAITING;
  exchange->asking->has_value = has_value;
  if (has_value && wait_ms > KIN__PATIENCE_MS) {
    wait_ms = KIN__PATIENCE_MS;
  }
  kin__exchange_start_timer(exchange, wait_ms);
}

bool kin__exchange_takes_value(kin__exchange *exchange) {
  kin__exchange_asking *asking = exchange->asking;
  if (asking->has_value) {
    kin__waiter_serve(&asking->credential_waiter);
    kin__waiter_serve(&asking->context_waiter);
    kin__waiter_serve(&asking->proxy_waiter);
  }
  return asking->has_value;
}

static bool is_good(kin__exchange *exchange, int err, const char *reason) {
  if (err != 0) {
    kin__exchange_fail(exchange, err,
                       kin__exchange_class_of(err, KIN_CLASS_AUTH), "%s",
                       reason);
  }
  return err == 0;
}

bool kin__exchange_get_credential(kin__exchange *exchange, kin__waiter *waiter,
                                  kin__credential *credential) {
  const kin__credentials *credentials = &exchange->transport->credentials;
  *credential = (kin__credential){.value = NULL};
  if (credentials->get == NULL) {
    return true;
  }
  int err = credentials->get(credentials->ctx, waiter, credential);
  if (err == KIN__PENDING) {
    wait(exchange, credential->value != NULL);
    return false;
  }
  return is_good(exchange, err, credential->reason);
}

bool kin__exchange_use_credential(kin__exchange *exchange) {
  kin__credential credential;
  if (!kin__exchange_get_credential(
          exchange, &exchange->asking->credential_waiter, &credential)) {
    return false;
  }
  int err = exchange->transport->credentials.get != NULL
                ? kin__exchange_use_pair(exchange, &credential)
                : 0;
  return is_good(exchange, err, kin_strerror(err));
}

/* `context` may be NULL. */
static bool prepare_context(kin__exchange *exchange, kin__tls_context *context,
                            kin__waiter *waiter, uint32_t interval_ms) {
  if (context == NULL) {
    return true;
  }
  int err = kin__tls_context_prepare(context, waiter, interval_ms);
  if (err == KIN__PENDING) {
    wait(exchange, kin__tls_context_is_usable(context));
  } else if (err != 0) {
    kin__exchange_fail(exchange, err,
                       kin__exchange_class_of(err, KIN_CLASS_TLS), "%s: %s",
                       context->label, context->reason);
  }
  return err == 0;
}

static bool prepare_contexts(kin__exchange *exchange, uint32_t interval_ms) {
  kin__transport *transport = exchange->transport;
  return prepare_context(exchange, transport->tls,
                         &exchange->asking->context_waiter, interval_ms) &&
         prepare_context(exchange, kin__transport_proxy_tls(transport),
                         &exchange->asking->proxy_waiter, interval_ms);
}

bool kin__exchange_prepare_contexts(kin__exchange *exchange) {
  return prepare_contexts(exchange, KIN__TLS_CHECK_INTERVAL_MS);
}

bool kin__exchange_check_files(kin__exchange *exchange) {
  const kin__transport *transport = exchange->transport;
  return transport->certificate_check_ms == 0 || transport->pool.count == 0 ||
         prepare_contexts(exchange, transport->certificate_check_ms);
}

int kin__exchange_make_asking(kin__exchange *exchange,
                              const kin__request *request) {
  kin__transport *transport = exchange->transport;
  const kin_allocator *allocator = transport->net.allocator;
  kin__exchange_asking *asking = kin__malloc(allocator, sizeof *asking);
  if (asking == NULL) {
    return KIN_ENOMEM;
  }
  asking->exchange = exchange;
  kin__buf_init(&asking->request, allocator, KIN__REQUEST_MAX_BYTES);
  kin__buf_init(&asking->warnings, allocator, KIN__WARNING_MAX_BYTES);
  kin__waiter_init(&asking->credential_waiter, on_credential);
  kin__waiter_init(&asking->context_waiter, on_context);
  kin__waiter_init(&asking->proxy_waiter, on_proxy_context);
  exchange->asking = asking;
  return kin__request_compose(&asking->request, request, &transport->url,
                              kin__transport_is_forwarded(transport),
                              transport->user_agent, transport->fields);
}

void kin__exchange_end_asking(kin__exchange *exchange) {
  kin__exchange_asking *asking = exchange->asking;
  if (asking != NULL) {
    kin__buf_finish(&asking->request);
    kin__buf_finish(&asking->warnings);
    kin__free(exchange->transport->net.allocator, asking);
    exchange->asking = NULL;
  }
}
