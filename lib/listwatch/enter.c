/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The ways into each state; what holds there, and what is asked for. */

#define DEFAULT_PAGE_SIZE 500u
#define WATCH_MIN_S 300u
#define WATCH_SPREAD_S 300u

void kin__copy_version(char to[KIN__VERSION_SIZE], const char *from) {
  snprintf(to, KIN__VERSION_SIZE, "%s", from);
}

void kin__to_state(kin__reflector *reflector, kin__reflector_state state) {
  assert(kin__reflector_may(reflector->state, state));
  reflector->state = state;
}

/* --- LISTING -------------------------------------------------------------- */

/* RL-02. */
static uint32_t choose_limit(const kin__reflector *reflector) {
  if (reflector->page_size != 0) {
    return reflector->page_size == UINT32_MAX ? 0 : reflector->page_size;
  }
  bool is_paged =
      reflector->is_paginated || kin__is_any_version(reflector->list_version);
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
    actions->version_match = reflector->list_match;
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

void kin__restart_consistent_list(kin__reflector *reflector,
                                  kin__reflector_actions *actions) {
  reflector->version_unavailable = true;
  kin__copy_version(reflector->list_version, "");
  reflector->list_match = "";
  kin__restart_list(reflector, actions);
}

/* RF-14, WL-02: never back in time, unless the version is known to be
 * unavailable. `any`: what stands for a list of any age. A version with a limit
 * and without a match would be listed exactly, which brings nothing. */
static void choose_version(kin__reflector *reflector, const char *any) {
  const char *version = reflector->version;
  if (reflector->version_unavailable ||
      reflector->consistency == KIN__CONSISTENCY_MOST_RECENT) {
    version = "";
  } else if (version[0] == '\0') {
    bool has_start = reflector->consistency == KIN__CONSISTENCY_AT_LEAST;
    version = has_start ? reflector->start_version : any;
  }
  kin__copy_version(reflector->list_version, version);
  reflector->list_match = kin__is_any_version(version) ? "" : "NotOlderThan";
}

void kin__to_listing(kin__reflector *reflector,
                     kin__reflector_actions *actions) {
  choose_version(reflector, "0");
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
         !reflector->has_given_up_streams &&
         reflector->streams_given_up < KIN__STREAM_TRIES;
}

void kin__to_streaming(kin__reflector *reflector, uint64_t now_ms,
                       kin__reflector_actions *actions) {
  kin__to_state(reflector, KIN__REFLECTOR_STREAMING);
  choose_version(reflector, "");
  reflector->watch_began_ms = now_ms;
  reflector->saw_anything = false;
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
  reflector->version_is_ordered = !kin__is_any_version(reflector->version);
  actions->request = KIN__REQUEST_WATCH;
  actions->version = reflector->version;
  if (reflector->is_watch_only) {
    reflector->watch_timeout_s = reflector->only_timeout_s;
  } else {
    reflector->watch_timeout_s = reflector->verify.is_open
                                     ? KIN__SHORT_TIMEOUT_S
                                     : choose_timeout_s(reflector);
  }
  actions->timeout_s = reflector->watch_timeout_s;
}

static void to_verifying(kin__reflector *reflector,
                         kin__reflector_actions *actions) {
  const kin__verify *verify = &reflector->verify;
  bool is_proof = verify->is_open && verify->is_proving;
  kin__to_state(reflector, KIN__REFLECTOR_VERIFYING);
  actions->request = is_proof ? KIN__REQUEST_PROOF : KIN__REQUEST_VERIFY;
  actions->version = verify->is_open ? verify->target : reflector->version;
  actions->version_match =
      kin__is_any_version(actions->version) ? "" : "NotOlderThan";
  actions->limit = is_proof ? 0 : 1;
}

void kin__enter(kin__reflector *reflector, kin__reflector_state state,
                uint64_t now_ms, kin__reflector_actions *actions) {
  switch (state) {
  case KIN__REFLECTOR_LISTING:
    reflector->fell_back_to_current = false;
    if (reflector->is_list_only) {
      kin__request_page(reflector, actions);
    } else if (can_stream(reflector)) {
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
