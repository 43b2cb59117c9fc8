/* SPDX-License-Identifier: MIT */
/* The connections, when the credentials' source supplies another client
 * certificate (XP-06): idle ones are closed at once; watches are opened anew;
 * other requests end as they would, and their connections are not kept. */
#include <kin/error.h>

#include "base/link.h"
#include "transport/exchange_core.h"

static bool is_outdated(const kin__exchange *exchange) {
  return exchange->pair_serial != exchange->transport->pair_serial;
}

/* Each exchange begins with the source's current certificate. */
int kin__exchange_use_pair(kin__exchange *exchange,
                           const kin__credential *credential) {
  kin__transport *transport = exchange->transport;
  if (transport->tls != NULL &&
      credential->pair_serial != transport->pair_serial) {
    int err = kin__tls_context_set_pair(transport->tls, credential->certificate,
                                        credential->key);
    if (err != 0) {
      return err;
    }
    transport->pair_serial = credential->pair_serial;
    kin__pool_finish(&transport->pool);
    kin__link_splice(&transport->outdated, &transport->current);
    kin__sched_add(transport->net.sched, &transport->renewal);
  }
  kin__link_remove(&exchange->pair_node);
  kin__link_push(&transport->current, &exchange->pair_node);
  exchange->pair_serial = transport->pair_serial;
  return 0;
}

/* Nothing has come for it. A request that is no watch may have an effect, so it
 * is not sent twice. */
static bool may_begin_again(const kin__exchange *exchange) {
  return exchange->state == KIN__EXCHANGE_DIALLING ||
         exchange->state == KIN__EXCHANGE_OPENING ||
         (exchange->state == KIN__EXCHANGE_HEAD && exchange->is_watch &&
          !exchange->has_response);
}

static void begin_again(kin__exchange *exchange) {
  kin__exchange_drop_connection(exchange);
  exchange->is_reused = false;
  exchange->state = KIN__EXCHANGE_QUEUED;
  kin__sched_add(kin__exchange_net(exchange)->sched, &exchange->task);
}

static void renew_exchange(kin__exchange *exchange) {
  if (may_begin_again(exchange)) {
    begin_again(exchange);
  } else if (exchange->is_watch && exchange->state == KIN__EXCHANGE_BODY &&
             !exchange->is_paused) {
    kin__exchange_break(exchange, KIN_EEOF, KIN_CLASS_CONNECT,
                        "closed, because the client certificate was replaced");
  }
}

bool kin__exchange_renew_early(kin__exchange *exchange,
                               const kin__credential *credential) {
  bool is_other = exchange->transport->tls != NULL &&
                  credential->pair_serial != exchange->pair_serial;
  if (is_other) {
    begin_again(exchange);
  }
  return is_other;
}

bool kin__exchange_renew_step(kin__task *task) {
  kin__transport *transport = KIN__CONTAINER_OF(task, kin__transport, renewal);
  kin__link *head = &transport->outdated;
  if (kin__link_is_empty(head)) {
    return false;
  }
  kin__exchange *exchange =
      KIN__CONTAINER_OF(head->next, kin__exchange, pair_node);
  kin__link_remove(&exchange->pair_node);
  renew_exchange(exchange);
  return !transport->is_closing && !kin__link_is_empty(head);
}

void kin__exchange_renew_late(kin__exchange *exchange) {
  kin__transport *transport = exchange->transport;
  if (is_outdated(exchange)) {
    kin__link_remove(&exchange->pair_node);
    kin__link_push(&transport->outdated, &exchange->pair_node);
    kin__sched_add(transport->net.sched, &transport->renewal);
  }
}
