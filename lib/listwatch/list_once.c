/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <string.h>

/* A machine that lists once. Each page is applied like a whole list elsewhere;
 * the next page is requested when the owner has applied the last one. */

#define RESET_RETRY_MS 1000u /* RR-02 */

void kin__listwatch_begin_only_list(kin__listwatch *listwatch,
                                    kin__listwatch_actions *actions) {
  const kin__list_once *list = &listwatch->options.list_once;
  assert(strlen(list->version) < KIN__VERSION_SIZE);
  kin__listwatch_begin_list(listwatch, list->version, list->version_match,
                            kin__listwatch_limit(list->page_size, true));
  kin__listwatch_request_page(listwatch, actions);
}

/* `input.failure` is the reason, unless the list is complete. If the owner
 * wants the whole list or nothing, an incomplete list leaves nothing. */
static void end_listing(kin__listwatch *listwatch, bool is_complete,
                        kin__listwatch_actions *actions) {
  kin__listwatch_to_stopped(listwatch);
  kin__buf_reset(&listwatch->list.token, 0);
  actions->drop_stage = !is_complete && listwatch->options.list_once.is_whole;
  actions->ended = true;
}

/* PG-01, PG-02. */
void kin__listwatch_on_only_page(kin__listwatch *listwatch,
                                 const kin__listwatch_input *input,
                                 kin__listwatch_actions *actions) {
  if (listwatch->list.pages++ == 0) {
    kin__listwatch_copy_version(listwatch->list_found, input->version);
  }
  listwatch->list.retries = 0;
  listwatch->retries.failures = 0;
  kin__buf_reset(&listwatch->list.token, KIN__TOKEN_SIZE);
  if (input->token[0] != '\0') {
    listwatch->past.is_paginated = true;
    int err = kin__buf_append(&listwatch->list.token, input->token,
                              strlen(input->token) + 1);
    if (err != 0) {
      end_listing(listwatch, false, actions);
      return;
    }
  }
  kin__listwatch_to_applying(
      listwatch, &(kin__applying){.is_stream_open = false}, actions);
}

void kin__listwatch_on_only_page_applied(kin__listwatch *listwatch,
                                         kin__listwatch_actions *actions) {
  if (listwatch->list.token.length > 0) {
    kin__listwatch_request_page(listwatch, actions);
  } else {
    end_listing(listwatch, true, actions);
  }
}

/* RR-02 */
static bool is_reset(const kin__failure *failure) {
  return failure->status == 0 && failure->error_class == KIN_CLASS_CONNECT &&
         kin__is_broken(failure->code);
}

/* RR-01, RR-02: a page without any answer yet may be requested again,
 * max_retries times in a row. UINT64_MAX: no retry. */
static uint64_t retry_delay_ms(const kin__listwatch *listwatch,
                               const kin__failure *failure) {
  if (listwatch->retries.was_granted ||
      listwatch->list.retries >= listwatch->options.list_once.max_retries) {
    return UINT64_MAX;
  }
  if (failure->is_put_off) {
    return kin__backoff_at_least(0, failure->retry_after_s);
  }
  return is_reset(failure) ? RESET_RETRY_MS : UINT64_MAX;
}

void kin__listwatch_on_only_list_failed(kin__listwatch *listwatch,
                                        const kin__failure *failure,
                                        uint64_t now_ms,
                                        kin__listwatch_actions *actions) {
  /* Only for a list that is whole or nothing: no page has been given to the
   * owner yet. */
  if (listwatch->options.list_once.falls_back_to_full &&
      kin__listwatch_fall_back_to_full(listwatch, failure, actions)) {
    kin__listwatch_count_failure(listwatch, now_ms, actions);
    return;
  }
  uint64_t delay_ms = retry_delay_ms(listwatch, failure);
  if (delay_ms == UINT64_MAX) {
    end_listing(listwatch, false, actions);
    return;
  }
  listwatch->list.retries++;
  kin__listwatch_count_failure(listwatch, now_ms, actions);
  kin__listwatch_to_waiting(listwatch, KIN__LISTWATCH_LISTING, delay_ms,
                            actions);
}
