/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The ways into each state: its data, and the request. */

#define DEFAULT_PAGE_SIZE 500u
#define WATCH_MIN_S 300u
#define WATCH_SPREAD_S 300u

void kin__listwatch_copy_version(char to[KIN__VERSION_SIZE], const char *from) {
  snprintf(to, KIN__VERSION_SIZE, "%s", from);
}

static void to_state(kin__listwatch *listwatch, kin__listwatch_state state) {
  assert(kin__listwatch_may(listwatch->state, state));
  listwatch->state = state;
}

/* --- LISTING -------------------------------------------------------------- */

/* RL-02. */
uint32_t kin__listwatch_limit(uint32_t page_size, bool is_paged) {
  if (page_size != 0) {
    return page_size == UINT32_MAX ? 0 : page_size;
  }
  return is_paged ? DEFAULT_PAGE_SIZE : 0;
}

void kin__listwatch_request_page(kin__listwatch *listwatch,
                                 kin__listwatch_actions *actions) {
  to_state(listwatch, KIN__LISTWATCH_LISTING);
  actions->request.kind = KIN__REQUEST_LIST;
  actions->request.limit = listwatch->list.limit;
  if (listwatch->list.token.length > 0) {
    actions->request.token = listwatch->list.token.data;
  } else {
    actions->request.version = listwatch->list.version;
    actions->request.version_match = listwatch->list.match;
  }
}

/* Discards the staged objects and asks for the first page again. */
void kin__listwatch_restart_list(kin__listwatch *listwatch,
                                 kin__listwatch_actions *actions) {
  listwatch->list.pages = 0;
  kin__buf_reset(&listwatch->list.token, 0);
  actions->drop_stage = true;
  kin__listwatch_request_page(listwatch, actions);
}

bool kin__listwatch_fall_back_to_full(kin__listwatch *listwatch,
                                      const kin__failure *failure,
                                      kin__listwatch_actions *actions) {
  bool is_page_expired =
      listwatch->list.pages > 0 && strcmp(failure->reason, "Expired") == 0;
  if (!is_page_expired || listwatch->list.fell_back_to_full) {
    return false;
  }
  listwatch->list.fell_back_to_full = true;
  listwatch->list.limit = 0;
  kin__listwatch_restart_list(listwatch, actions);
  return true;
}

void kin__listwatch_restart_consistent_list(kin__listwatch *listwatch,
                                            kin__listwatch_actions *actions) {
  kin__listwatch_doubt(listwatch, KIN__DOUBT_UNAVAILABLE);
  listwatch->list.version = "";
  listwatch->list.match = "";
  kin__listwatch_restart_list(listwatch, actions);
}

void kin__listwatch_begin_list(kin__listwatch *listwatch, const char *version,
                               const char *match, uint32_t limit) {
  kin__listing *list = &listwatch->list;
  kin__buf_reset(&list->token, 0);
  *list = (kin__listing){.version = version,
                         .match = match,
                         .limit = limit,
                         .token = list->token,
                         .fell_back_to_current = list->fell_back_to_current};
}

/* RF-14, WL-02: never back in time, unless the version is known to be
 * unavailable. `any` is the version that means a list of any age. */
static const char *choose_version(const kin__listwatch *listwatch,
                                  const char *any) {
  const kin__list_and_watch *options = &listwatch->options.list_and_watch;
  const kin__position *position = &listwatch->position;
  if (position->doubt != KIN__DOUBT_NONE ||
      options->consistency == KIN_CONSISTENCY_MOST_RECENT) {
    return "";
  }
  if (position->version[0] != '\0') {
    return position->version;
  }
  bool has_start = options->consistency == KIN_CONSISTENCY_AT_LEAST;
  return has_start ? options->start_version : any;
}

/* Without a match, a version with a limit would be listed exactly, which brings
 * nothing new. */
void kin__listwatch_to_listing(kin__listwatch *listwatch,
                               kin__listwatch_actions *actions) {
  const char *version = choose_version(listwatch, "0");
  bool is_any = kin__listwatch_is_any_version(version);
  kin__listwatch_begin_list(
      listwatch, version, is_any ? "" : "NotOlderThan",
      kin__listwatch_limit(listwatch->options.list_and_watch.page_size,
                           listwatch->past.is_paginated || is_any));
  kin__listwatch_restart_list(listwatch, actions);
}

/* --- STREAMING ------------------------------------------------------------ */

static uint32_t choose_timeout_s(const kin__listwatch *listwatch) {
  return WATCH_MIN_S +
         (uint32_t)kin__random_below(listwatch->random, WATCH_SPREAD_S);
}

static bool can_stream(const kin__listwatch *listwatch) {
  return listwatch->options.list_and_watch.stream_refused != NULL &&
         !kin__listwatch_is_stream_refused(listwatch) &&
         !listwatch->past.never_streams &&
         listwatch->past.streams_given_up < KIN__STREAM_TRIES;
}

void kin__listwatch_to_streaming(kin__listwatch *listwatch, uint64_t now_ms,
                                 kin__listwatch_actions *actions) {
  kin__listwatch_begin_list(listwatch, choose_version(listwatch, ""),
                            "NotOlderThan", 0);
  to_state(listwatch, KIN__LISTWATCH_STREAMING);
  listwatch->in.streaming =
      (kin__streaming){.began_ms = now_ms,
                       .timeout_s = choose_timeout_s(listwatch),
                       .heard_ms = now_ms,
                       .progress_ms = now_ms};
  actions->drop_stage = true;
  actions->request.kind = KIN__REQUEST_STREAM;
  actions->request.version = listwatch->list.version;
  actions->request.version_match = listwatch->list.match;
  actions->request.timeout_s = listwatch->in.streaming.timeout_s;
}

/* --- APPLYING ------------------------------------------------------------- */

void kin__listwatch_to_applying(kin__listwatch *listwatch,
                                const kin__applying *applying,
                                kin__listwatch_actions *actions) {
  to_state(listwatch, KIN__LISTWATCH_APPLYING);
  listwatch->in.applying = *applying;
  actions->apply_stage = true;
}

/* --- OPENING, WATCHING, VERIFYING ----------------------------------------- */

static uint32_t watch_timeout_s(const kin__listwatch *listwatch) {
  if (kin__listwatch_is(listwatch, KIN__WATCH_ONLY)) {
    return listwatch->options.watch_only.timeout_s;
  }
  return kin__listwatch_is_verifying(listwatch) ? KIN__SHORT_TIMEOUT_S
                                                : choose_timeout_s(listwatch);
}

void kin__listwatch_to_opening(kin__listwatch *listwatch, uint64_t now_ms,
                               kin__listwatch_actions *actions) {
  to_state(listwatch, KIN__LISTWATCH_OPENING);
  listwatch->in.opening = (kin__opening){
      .began_ms = now_ms, .timeout_s = watch_timeout_s(listwatch)};
  actions->request.kind = KIN__REQUEST_WATCH;
  actions->request.version = listwatch->position.version;
  actions->request.timeout_s = listwatch->in.opening.timeout_s;
}

void kin__listwatch_to_watching(kin__listwatch *listwatch,
                                const kin__watching *watching) {
  to_state(listwatch, KIN__LISTWATCH_WATCHING);
  listwatch->in.watching = *watching;
}

static void to_verifying(kin__listwatch *listwatch,
                         kin__listwatch_actions *actions) {
  const kin__verify *verify = &listwatch->verify;
  bool is_proof = verify->phase == KIN__VERIFY_PROVING;
  const char *version = kin__listwatch_is_verifying(listwatch)
                            ? listwatch->verify_target
                            : listwatch->position.version;
  to_state(listwatch, KIN__LISTWATCH_VERIFYING);
  actions->request.kind = is_proof ? KIN__REQUEST_PROOF : KIN__REQUEST_VERIFY;
  actions->request.version = version;
  actions->request.version_match =
      kin__listwatch_is_any_version(version) ? "" : "NotOlderThan";
  actions->request.limit = is_proof ? 0 : 1;
}

void kin__listwatch_enter(kin__listwatch *listwatch, kin__listwatch_state state,
                          uint64_t now_ms, kin__listwatch_actions *actions) {
  switch (state) {
  case KIN__LISTWATCH_LISTING:
    listwatch->list.fell_back_to_current = false;
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
  to_state(listwatch, KIN__LISTWATCH_WAITING);
  listwatch->in.waiting = (kin__waiting){.after = after};
  actions->start_timer = true;
  actions->timer_ms = delay_ms;
  actions->retry_in_ms = delay_ms;
}

/* The continue token stays: a source that closes the feed inside open may still
 * read its request. */
void kin__listwatch_to_stopped(kin__listwatch *listwatch) {
  to_state(listwatch, KIN__LISTWATCH_STOPPED);
}
