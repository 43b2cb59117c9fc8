/* SPDX-License-Identifier: MIT */
#include "transport/exchange_core.h"

/* All exchanges of a transport. */

#define LOOKS_PER_STEP 32u

void kin__exchange_cancel_all(kin__transport *transport) {
  kin__link *head = &transport->exchanges;
  while (!kin__link_is_empty(head)) {
    kin__exchange_cancel(KIN__CONTAINER_OF(head->next, kin__exchange, node));
  }
}

static bool is_open_watch(const kin__exchange *exchange) {
  return exchange->is_watch && exchange->state == KIN__EXCHANGE_BODY &&
         !exchange->is_paused;
}

bool kin__exchange_has_watch(const kin__transport *transport) {
  const kin__link *head = &transport->exchanges;
  for (kin__link *node = head->next; node != head; node = node->next) {
    if (is_open_watch(KIN__CONTAINER_OF(node, kin__exchange, node))) {
      return true;
    }
  }
  return false;
}

static bool is_silent(const kin__exchange *exchange, uint64_t since_ms) {
  return is_open_watch(exchange) && exchange->last_progress_ms <= since_ms &&
         !kin__exchange_has_input(exchange);
}

kin__exchange *kin__exchange_find_silent(kin__transport *transport,
                                         uint32_t round, uint64_t since_ms,
                                         bool *has_more) {
  kin__link *head = &transport->exchanges;
  for (uint32_t i = 0; i < LOOKS_PER_STEP; i++) {
    kin__exchange *exchange =
        KIN__CONTAINER_OF(head->next, kin__exchange, node);
    *has_more = !kin__link_is_empty(head) && exchange->probe_round != round;
    if (!*has_more) {
      return NULL;
    }
    exchange->probe_round = round;
    kin__link_remove(&exchange->node);
    kin__link_push(head, &exchange->node);
    if (is_silent(exchange, since_ms)) {
      return exchange;
    }
  }
  return NULL;
}
