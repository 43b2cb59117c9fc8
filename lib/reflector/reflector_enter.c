/* SPDX-License-Identifier: MIT */
#include "reflector/reflector_core.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The ways into each state; what holds there, and what is asked for. */

#define DEFAULT_PAGE_SIZE 500u
#define WATCH_MIN_S 300u
#define WATCH_SPREAD_S 300u
#define MAX_RETRY_AFTER_S 3600

void kin__copy_version(char to[KIN__VERSION_SIZE], const char *from) {
  snprintf(to, KIN__VERSION_SIZE, "%s", from);
}

void kin__to_state(kin__reflector *reflector, kin__reflector_state state) {
  assert(kin__reflector_may(reflector->state, state));
  reflector->state = state;
}

/* --- LISTING -------------------------------------------------------------- */

static bool is_any_version(const char *version) {
  return version[0] == '\0' || strcmp(version, "0") == 0;
}

/* RL-02. */
static uint32_t choose_limit(const kin__reflector *reflector) {
  if (reflector->page_size != 0) {
    return reflector->page_size == UINT32_MAX ? 0 : reflector->page_size;
  }
  bool is_paged =
      reflector->is_paginated || is_any_version(reflector->list_version);
  return is_paged ? DEFAULT_PAGE_SIZE : 0;
}

void kin__request_page(kin__reflector *reflector,
                       kin__reflector_actions *actions) {
  kin__to_state(reflector, KIN__REFLECTOR_LISTING);
  actions->request = KIN__REQUEST_LIST;
  actions->limit = reflector->list_limit;
  if (reflector->token.length > 0) {
    actions->token = reflector->token.data;
  } else {
    actions->version = reflector->list_version;
  }
}

/* Discards what was staged and asks for the first page again. */
void kin__restart_list(kin__reflector *reflector,
                       kin__reflector_actions *actions) {
  reflector->pages = 0;
  kin__buf_reset(&reflector->token, 0);
  actions->drop_stage = true;
  kin__request_page(reflector, actions);
}

/* RF-14: never back in time, unless the version is known to be unavailable. */
void kin__to_listing(kin__reflector *reflector,
                     kin__reflector_actions *actions) {
  const char *version =
      reflector->version[0] != '\0' ? reflector->version : "0";
  kin__copy_version(reflector->list_version,
                    reflector->version_unavailable ? "" : version);
  reflector->list_limit = choose_limit(reflector);
  reflector->fell_back_to_full = false;
  kin__restart_list(reflector, actions);
}

/* --- STREAMING ------------------------------------------------------------ */

static uint32_t choose_timeout_s(const kin__reflector *reflector) {
  return WATCH_MIN_S +
         (uint32_t)kin__random_below(reflector->random, WATCH_SPREAD_S);
}

static bool can_stream(const kin__reflector *reflector) {
  return reflector->stream_refused != NULL && !*reflector->stream_refused &&
         reflector->streams_given_up < KIN__STREAM_TRIES;
}

/* RF-14, WL-02: without a version as long as there is none. */
void kin__to_streaming(kin__reflector *reflector, uint64_t now_ms,
                       kin__reflector_actions *actions) {
  kin__to_state(reflector, KIN__REFLECTOR_STREAMING);
  kin__copy_version(reflector->list_version,
                    reflector->version_unavailable ? "" : reflector->version);
  reflector->watch_began_ms = now_ms;
  reflector->saw_anything = false;
  reflector->is_stream_granted = false;
  reflector->watch_timeout_s = choose_timeout_s(reflector);
  actions->drop_stage = true;
  actions->request = KIN__REQUEST_STREAM;
  actions->version = reflector->list_version;
  actions->version_match = "NotOlderThan";
  actions->timeout_s = reflector->watch_timeout_s;
}

/* --- OPENING, VERIFYING, WAITING ------------------------------------------ */

void kin__to_opening(kin__reflector *reflector, uint64_t now_ms,
                     kin__reflector_actions *actions) {
  kin__to_state(reflector, KIN__REFLECTOR_OPENING);
  reflector->watch_began_ms = now_ms;
  reflector->saw_anything = false;
  reflector->version_is_ordered = !is_any_version(reflector->version);
  actions->request = KIN__REQUEST_WATCH;
  actions->version = reflector->version;
  reflector->watch_timeout_s = reflector->is_watch_only
                                   ? reflector->only_timeout_s
                                   : choose_timeout_s(reflector);
  actions->timeout_s = reflector->watch_timeout_s;
}

static void to_verifying(kin__reflector *reflector,
                         kin__reflector_actions *actions) {
  kin__to_state(reflector, KIN__REFLECTOR_VERIFYING);
  actions->request = KIN__REQUEST_VERIFY;
  actions->version = reflector->version;
  actions->version_match =
      is_any_version(reflector->version) ? "" : "NotOlderThan";
  actions->limit = 1;
}

void kin__enter(kin__reflector *reflector, kin__reflector_state state,
                uint64_t now_ms, kin__reflector_actions *actions) {
  switch (state) {
  case KIN__REFLECTOR_LISTING:
    reflector->fell_back_to_current = false;
    if (can_stream(reflector)) {
      kin__to_streaming(reflector, now_ms, actions);
    } else {
      kin__to_listing(reflector, actions);
    }
    break;
  case KIN__REFLECTOR_VERIFYING:
    to_verifying(reflector, actions);
    break;
  default:
    kin__to_opening(reflector, now_ms, actions);
    break;
  }
}

void kin__to_waiting(kin__reflector *reflector, kin__reflector_state after,
                     uint64_t delay_ms, kin__reflector_actions *actions) {
  kin__to_state(reflector, KIN__REFLECTOR_WAITING);
  reflector->after_wait = after;
  actions->start_timer = true;
  actions->timer_ms = delay_ms;
  actions->retry_in_ms = delay_ms;
}

/* What the server asked for, if that is more. */
uint64_t kin__delay_at_least(uint64_t delay_ms, int64_t retry_after_s) {
  if (retry_after_s > MAX_RETRY_AFTER_S) {
    retry_after_s = MAX_RETRY_AFTER_S;
  }
  bool is_more = retry_after_s > 0 && delay_ms < (uint64_t)retry_after_s * 1000;
  return is_more ? (uint64_t)retry_after_s * 1000 : delay_ms;
}

uint64_t kin__next_delay_ms(kin__reflector *reflector, int64_t retry_after_s,
                            uint64_t now_ms) {
  uint64_t delay_ms =
      kin__backoff_next_ms(&reflector->backoff, now_ms, reflector->random);
  return kin__delay_at_least(delay_ms, retry_after_s);
}

void kin__count_failure(kin__reflector *reflector, uint64_t now_ms,
                        kin__reflector_actions *actions) {
  if (reflector->failures++ == 0) {
    reflector->failing_since_ms = now_ms;
  }
  actions->report = true;
}

void kin__fail_and_wait(kin__reflector *reflector, const kin__failure *failure,
                        kin__reflector_state after, uint64_t now_ms,
                        kin__reflector_actions *actions) {
  kin__count_failure(reflector, now_ms, actions);
  kin__to_waiting(reflector, after,
                  kin__next_delay_ms(reflector, failure->retry_after_s, now_ms),
                  actions);
}
