/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The ways into each state: the fields that hold there, and the request. */

#define DEFAULT_PAGE_SIZE 500u
#define WATCH_MIN_S 300u
#define WATCH_SPREAD_S 300u

void kin__listwatch_copy_version(char to[KIN__VERSION_SIZE], const char *from) {
  snprintf(to, KIN__VERSION_SIZE, "%s", from);
}

void kin__listwatch_to_state(kin__listwatch *listwatch,
                             kin__listwatch_state state) {
  assert(kin__listwatch_may(listwatch->state, state));
  listwatch->state = state;
}

/* --- LISTING -------------------------------------------------------------- */

/* RL-02. */
static uint32_t choose_limit(const kin__listwatch *listwatch) {
  uint32_t page_size = listwatch->options.list_and_watch.page_size;
  if (page_size != 0) {
    return page_size == UINT32_MAX ? 0 : page_size;
  }
  bool is_paged = listwatch->is_paginated ||
                  kin__listwatch_is_any_version(listwatch->list_version);
  return is_paged ? DEFAULT_PAGE_SIZE : 0;
}

void kin__listwatch_request_page(kin__listwatch *listwatch,
                                 kin__listwatch_actions *actions) {
  kin__listwatch_to_state(listwatch, KIN__LISTWATCH_LISTING);
  actions->request.kind = KIN__REQUEST_LIST;
  actions->request.limit = listwatch->list_limit;
  if (listwatch->token.length > 0) {
    actions->request.token = listwatch->token.data;
  } else {
    actions->request.version = listwatch->list_version;
    actions->request.version_match = listwatch->list_match;
  }
}

/* Discards the staged objects and asks for the first page again. */
void kin__listwatch_restart_list(kin__listwatch *listwatch,
                                 kin__listwatch_actions *actions) {
  listwatch->pages = 0;
  kin__buf_reset(&listwatch->token, 0);
  actions->drop_stage = true;
  kin__listwatch_request_page(listwatch, actions);
}

void kin__listwatch_restart_consistent_list(kin__listwatch *listwatch,
                                            kin__listwatch_actions *actions) {
  listwatch->version_unavailable = true;
  kin__listwatch_copy_version(listwatch->list_version, "");
  listwatch->list_match = "";
  kin__listwatch_restart_list(listwatch, actions);
}

/* RF-14, WL-02: never back in time, unless the version is known to be
 * unavailable. `any` is the version that means a list of any age. Without a
 * match, a version with a limit would be listed exactly, which brings nothing
 * new. */
static void choose_version(kin__listwatch *listwatch, const char *any) {
  const kin__list_and_watch *options = &listwatch->options.list_and_watch;
  const char *version = listwatch->version;
  if (listwatch->version_unavailable ||
      options->consistency == KIN_CONSISTENCY_MOST_RECENT) {
    version = "";
  } else if (version[0] == '\0') {
    bool has_start = options->consistency == KIN_CONSISTENCY_AT_LEAST;
    version = has_start ? options->start_version : any;
  }
  kin__listwatch_copy_version(listwatch->list_version, version);
  listwatch->list_match =
      kin__listwatch_is_any_version(version) ? "" : "NotOlderThan";
}

void kin__listwatch_to_listing(kin__listwatch *listwatch,
                               kin__listwatch_actions *actions) {
  choose_version(listwatch, "0");
  listwatch->list_limit = choose_limit(listwatch);
  listwatch->fell_back_to_full = false;
  kin__listwatch_restart_list(listwatch, actions);
}

/* --- STREAMING ------------------------------------------------------------ */

static uint32_t choose_timeout_s(const kin__listwatch *listwatch) {
  return WATCH_MIN_S +
         (uint32_t)kin__random_below(listwatch->random, WATCH_SPREAD_S);
}

static bool can_stream(const kin__listwatch *listwatch) {
  const bool *refused = listwatch->options.list_and_watch.stream_refused;
  return refused != NULL && !*refused && !listwatch->has_given_up_streams &&
         listwatch->streams_given_up < KIN__STREAM_TRIES;
}

void kin__listwatch_to_streaming(kin__listwatch *listwatch, uint64_t now_ms,
                                 kin__listwatch_actions *actions) {
  kin__listwatch_to_state(listwatch, KIN__LISTWATCH_STREAMING);
  choose_version(listwatch, "");
  listwatch->watch_began_ms = now_ms;
  listwatch->saw_anything = false;
  listwatch->watch_timeout_s = choose_timeout_s(listwatch);
  actions->drop_stage = true;
  actions->request.kind = KIN__REQUEST_STREAM;
  actions->request.version = listwatch->list_version;
  actions->request.version_match = "NotOlderThan";
  actions->request.timeout_s = listwatch->watch_timeout_s;
}

/* --- OPENING, VERIFYING, WAITING ------------------------------------------ */

void kin__listwatch_to_opening(kin__listwatch *listwatch, uint64_t now_ms,
                               kin__listwatch_actions *actions) {
  kin__listwatch_to_state(listwatch, KIN__LISTWATCH_OPENING);
  listwatch->watch_began_ms = now_ms;
  listwatch->saw_anything = false;
  listwatch->version_is_ordered =
      !kin__listwatch_is_any_version(listwatch->version);
  actions->request.kind = KIN__REQUEST_WATCH;
  actions->request.version = listwatch->version;
  if (kin__listwatch_is(listwatch, KIN__WATCH_ONLY)) {
    listwatch->watch_timeout_s = listwatch->options.watch_only.timeout_s;
  } else {
    listwatch->watch_timeout_s = listwatch->verify.is_open
                                     ? KIN__SHORT_TIMEOUT_S
                                     : choose_timeout_s(listwatch);
  }
  actions->request.timeout_s = listwatch->watch_timeout_s;
}

static void to_verifying(kin__listwatch *listwatch,
                         kin__listwatch_actions *actions) {
  const kin__verify *verify = &listwatch->verify;
  bool is_proof = verify->is_open && verify->is_proving;
  kin__listwatch_to_state(listwatch, KIN__LISTWATCH_VERIFYING);
  actions->request.kind = is_proof ? KIN__REQUEST_PROOF : KIN__REQUEST_VERIFY;
  actions->request.version =
      verify->is_open ? verify->target : listwatch->version;
  actions->request.version_match =
      kin__listwatch_is_any_version(actions->request.version) ? ""
                                                              : "NotOlderThan";
  actions->request.limit = is_proof ? 0 : 1;
}

void kin__listwatch_enter(kin__listwatch *listwatch, kin__listwatch_state state,
                          uint64_t now_ms, kin__listwatch_actions *actions) {
  switch (state) {
  case KIN__LISTWATCH_LISTING:
    listwatch->fell_back_to_current = false;
    if (kin__listwatch_is(listwatch, KIN__LIST_ONCE)) {
      kin__listwatch_request_page(listwatch, actions);
    } else if (can_stream(listwatch)) {
      kin__listwatch_to_streaming(listwatch, now_ms, actions);
    } else {
      kin__listwatch_to_listing(listwatch, actions);
    }
    break;
  case KIN__LISTWATCH_VERIFYING:
    to_verifying(listwatch, actions);
    break;
  default:
    kin__listwatch_to_opening(listwatch, now_ms, actions);
    break;
  }
}

void kin__listwatch_leave_idle(kin__listwatch *listwatch, uint64_t now_ms,
                               kin__listwatch_actions *actions) {
  switch (listwatch->options.mode) {
  case KIN__LIST_AND_WATCH:
    kin__listwatch_enter(listwatch, KIN__LISTWATCH_LISTING, now_ms, actions);
    break;
  case KIN__WATCH_ONLY:
    kin__listwatch_to_opening(listwatch, now_ms, actions);
    break;
  case KIN__LIST_ONCE:
    kin__listwatch_begin_only_list(listwatch, actions);
    break;
  }
}

void kin__listwatch_to_waiting(kin__listwatch *listwatch,
                               kin__listwatch_state after, uint64_t delay_ms,
                               kin__listwatch_actions *actions) {
  kin__listwatch_to_state(listwatch, KIN__LISTWATCH_WAITING);
  listwatch->after_wait = after;
  actions->start_timer = true;
  actions->timer_ms = delay_ms;
  actions->retry_in_ms = delay_ms;
}
