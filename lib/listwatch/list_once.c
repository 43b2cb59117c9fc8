/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* A reflector that only lists, and once. A page that has come is applied, like
 * a whole list elsewhere: the next one is asked for when its owner says so. */

#define DEFAULT_PAGE_SIZE 500u
#define RESET_RETRY_MS 1000u /* RR-02 */

void kin__reflector_list_only(kin__reflector *reflector,
                              const kin__list_once *list) {
  assert(reflector->state == KIN__REFLECTOR_IDLE &&
         strlen(list->version) < KIN__VERSION_SIZE);
  kin__copy_version(reflector->list_version, list->version);
  reflector->list_match = list->version_match;
  reflector->is_list_only = true;
  reflector->once = *list;
  reflector->list_limit = reflector->page_size;
  if (reflector->page_size == 0) {
    reflector->list_limit = DEFAULT_PAGE_SIZE;
  } else if (reflector->page_size == UINT32_MAX) {
    reflector->list_limit = 0;
  }
}

/* `input.failure` is why, unless the list is complete. A list of which only all
 * or nothing is wanted leaves nothing. */
static void end_listing(kin__reflector *reflector, bool is_complete,
                        kin__reflector_actions *actions) {
  kin__to_state(reflector, KIN__REFLECTOR_STOPPED);
  kin__buf_reset(&reflector->token, 0);
  actions->drop_stage = !is_complete && reflector->once.is_whole;
  actions->ended = true;
}

/* PG-01, PG-02. */
void kin__on_only_page(kin__reflector *reflector,
                       const kin__reflector_input *input,
                       kin__reflector_actions *actions) {
  if (reflector->pages++ == 0) {
    kin__copy_version(reflector->found_version, input->version);
  }
  reflector->retries = 0;
  kin__buf_reset(&reflector->token, KIN__TOKEN_SIZE);
  if (input->token[0] != '\0') {
    reflector->is_paginated = true;
    int err = kin__buf_append(&reflector->token, input->token,
                              strlen(input->token) + 1);
    if (err != 0) {
      end_listing(reflector, false, actions);
      return;
    }
  }
  kin__to_state(reflector, KIN__REFLECTOR_APPLYING);
  actions->apply_stage = true;
}

void kin__on_only_page_applied(kin__reflector *reflector,
                               kin__reflector_actions *actions) {
  if (reflector->token.length > 0) {
    kin__request_page(reflector, actions);
  } else {
    end_listing(reflector, true, actions);
  }
}

/* PG-03: of a list that nobody has seen anything of yet. */
static bool falls_back_to_full(kin__reflector *reflector,
                               const kin__failure *failure) {
  bool is_page_expired =
      reflector->pages > 0 && strcmp(failure->reason, "Expired") == 0;
  if (!is_page_expired || !reflector->once.falls_back_to_full ||
      reflector->fell_back_to_full) {
    return false;
  }
  reflector->fell_back_to_full = true;
  reflector->list_limit = 0;
  return true;
}

/* RR-02: libuv's codes are the system's, negative. */
static bool is_reset(const kin__failure *failure) {
  return failure->status == 0 && failure->error_class == KIN_CLASS_CONNECT &&
         (failure->code == KIN_EEOF || failure->code == -ECONNRESET ||
          failure->code == -EPIPE);
}

/* RR-01, RR-02: a page of which nothing has come yet may be asked for again,
 * a number of times in a row. UINT64_MAX: it may not. */
static uint64_t retry_delay_ms(const kin__reflector *reflector,
                               const kin__failure *failure) {
  if (reflector->is_granted ||
      reflector->retries >= reflector->once.max_retries) {
    return UINT64_MAX;
  }
  bool is_put_off = (failure->status == 429 || failure->status >= 500) &&
                    failure->retry_after_s >= 0;
  if (is_put_off) {
    return kin__delay_at_least(0, failure->retry_after_s);
  }
  return is_reset(failure) ? RESET_RETRY_MS : UINT64_MAX;
}

void kin__on_only_list_failed(kin__reflector *reflector,
                              const kin__failure *failure, uint64_t now_ms,
                              kin__reflector_actions *actions) {
  if (falls_back_to_full(reflector, failure)) {
    kin__count_failure(reflector, now_ms, actions);
    kin__restart_list(reflector, actions);
    return;
  }
  uint64_t delay_ms = retry_delay_ms(reflector, failure);
  if (delay_ms == UINT64_MAX) {
    end_listing(reflector, false, actions);
    return;
  }
  reflector->retries++;
  kin__count_failure(reflector, now_ms, actions);
  kin__to_waiting(reflector, KIN__REFLECTOR_LISTING, delay_ms, actions);
}
