/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "listwatch/version.h"

/* Each input has one handler below; each handler leaves through one of the
 * `to_` functions, which say what holds in the new state. */

void kin__reflector_init(kin__reflector *reflector,
                         const kin_allocator *allocator, kin__random *random,
                         uint32_t page_size, uint64_t now_ms) {
  *reflector = (kin__reflector){.random = random, .page_size = page_size};
  kin__init_backoffs(reflector, now_ms);
  kin__buf_init(&reflector->token, allocator, KIN__TOKEN_SIZE);
}

void kin__reflector_use_streams(kin__reflector *reflector, bool *refused) {
  reflector->stream_refused = refused;
}

void kin__reflector_use_consistency(kin__reflector *reflector,
                                    kin__consistency consistency,
                                    const char *start_version) {
  reflector->consistency = consistency;
  reflector->start_version = start_version;
}

void kin__reflector_retry_internal_errors(kin__reflector *reflector,
                                          uint64_t max_ms) {
  kin__retry_deadline_init(&reflector->internal_errors, max_ms);
}

void kin__reflector_finish(kin__reflector *reflector) {
  kin__buf_finish(&reflector->token);
}

/* Versions come from bounded buffers; a longer one is not taken over. */
static bool set_version(char to[KIN__VERSION_SIZE], kin_str version) {
  if (version.length >= KIN__VERSION_SIZE) {
    return false;
  }
  memcpy(to, version.data, version.length);
  to[version.length] = '\0';
  return true;
}

/* --- Inputs --------------------------------------------------------------- */

static void on_head(kin__reflector *reflector, uint64_t connection,
                    uint64_t now_ms, kin__reflector_actions *actions) {
  reflector->is_granted = true;
  if (reflector->state == KIN__REFLECTOR_STREAMING) {
    kin__on_stream_head(reflector, now_ms, actions);
    return;
  }
  if (reflector->state != KIN__REFLECTOR_OPENING) {
    return;
  }
  kin__to_state(reflector, KIN__REFLECTOR_WATCHING);
  kin__on_short_head(reflector, connection);
  reflector->failures = 0;
  reflector->watching_since_ms = now_ms;
  actions->start_timer = reflector->watch_timeout_s > 0;
  actions->timer_ms =
      reflector->watch_timeout_s * UINT64_C(1000) +
      (reflector->verify.is_open ? KIN__SHORT_MARGIN_MS : KIN__WATCH_MARGIN_MS);
}

static void on_complete_list(kin__reflector *reflector,
                             kin__reflector_actions *actions) {
  if (reflector->pages > 1 && strcmp(reflector->list_version, "0") == 0) {
    reflector->is_paginated = true;
  }
  reflector->failures = 0;
  kin__to_state(reflector, KIN__REFLECTOR_APPLYING);
  actions->apply_stage = true;
}

static void on_page(kin__reflector *reflector,
                    const kin__reflector_input *input, uint64_t now_ms,
                    kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_VERIFYING) {
    kin__on_verified_list(reflector, input, now_ms, actions);
    return;
  }
  if (reflector->state != KIN__REFLECTOR_LISTING) {
    return;
  }
  if (reflector->is_list_only) {
    kin__on_only_page(reflector, input, actions);
    return;
  }
  if (reflector->pages++ == 0) {
    kin__copy_version(reflector->found_version, input->version);
  }
  if (kin__list_brings_nothing(reflector)) {
    kin__restart_consistent_list(reflector, actions);
    return;
  }
  kin__buf_reset(&reflector->token, KIN__TOKEN_SIZE);
  if (input->token[0] == '\0') {
    if (kin__list_goes_back(reflector)) {
      kin__restart_list(reflector, actions);
    } else {
      on_complete_list(reflector, actions);
    }
    return;
  }
  int err = kin__buf_append(&reflector->token, input->token,
                            strlen(input->token) + 1);
  if (err == 0) {
    kin__request_page(reflector, actions);
    return;
  }
  kin__buf_reset(&reflector->token, 0);
  actions->drop_stage = true;
  kin__fail_and_wait(reflector, input->failure, KIN__REFLECTOR_LISTING, now_ms,
                     actions);
}

/* RF-13: the position moves when the store has the list. */
static void on_applied(kin__reflector *reflector, uint64_t now_ms,
                       kin__reflector_actions *actions) {
  if (reflector->state != KIN__REFLECTOR_APPLYING) {
    return;
  }
  if (reflector->is_list_only) {
    kin__on_only_page_applied(reflector, actions);
    return;
  }
  kin__copy_version(reflector->version, reflector->found_version);
  kin__copy_version(reflector->lost_version, "");
  reflector->has_listed = true;
  reflector->listed_ms = now_ms;
  reflector->has_held = false;
  reflector->is_unversioned = kin__is_any_version(reflector->version);
  /* A list of any age could not be told from an older one. */
  reflector->version_unavailable = reflector->is_unversioned;
  reflector->versions_repeat = false;
  reflector->streams_given_up = 0;
  reflector->is_verify_lost = false;
  kin__retry_deadline_init(&reflector->internal_errors,
                           reflector->internal_errors.max_ms); /* RD-01 */
  if (reflector->is_stream_open) {
    kin__on_stream_applied(reflector, now_ms, actions);
  } else {
    kin__to_opening(reflector, now_ms, actions);
  }
}

/* RL-05, PG-03: what can be had at once is asked for at once. A server that
 * does not know the match is not asked for one. */
static bool list_falls_back(kin__reflector *reflector,
                            const kin__failure *failure,
                            kin__reflector_actions *actions) {
  bool is_page_expired =
      reflector->pages > 0 && strcmp(failure->reason, "Expired") == 0;
  if (is_page_expired && !reflector->fell_back_to_full) {
    reflector->fell_back_to_full = true;
    reflector->list_limit = 0;
    kin__restart_list(reflector, actions);
    return true;
  }
  bool is_match_refused = reflector->list_match[0] != '\0' &&
                          (failure->status == 400 || failure->status == 422);
  if (!failure->is_expired && !failure->is_rv_too_large && !is_match_refused) {
    return false;
  }
  reflector->version_unavailable = true;
  reflector->versions_repeat |= failure->is_rv_too_large;
  if (reflector->fell_back_to_current) {
    return false;
  }
  reflector->fell_back_to_current = true;
  kin__restart_consistent_list(reflector, actions);
  return true;
}

static void on_list_failed(kin__reflector *reflector,
                           const kin__failure *failure, uint64_t now_ms,
                           kin__reflector_actions *actions) {
  if (reflector->is_list_only) {
    kin__on_only_list_failed(reflector, failure, now_ms, actions);
    return;
  }
  if (list_falls_back(reflector, failure, actions)) {
    kin__count_failure(reflector, now_ms, actions);
    return;
  }
  kin__buf_reset(&reflector->token, 0);
  actions->drop_stage = true;
  kin__fail_and_wait(reflector, failure, KIN__REFLECTOR_LISTING, now_ms,
                     actions);
}

/* Where to go on after a watch, once for each: a silent one proves nothing
 * about the position, and without one only a list sees what was deleted between
 * two watches. */
static kin__reflector_state after_watch(kin__reflector *reflector) {
  if (reflector->verify.is_open) {
    return kin__after_short_watch(reflector);
  }
  if (reflector->is_unversioned) {
    return KIN__REFLECTOR_LISTING;
  }
  return reflector->saw_anything ? KIN__REFLECTOR_OPENING
                                 : KIN__REFLECTOR_VERIFYING;
}

static void go_on(kin__reflector *reflector, uint64_t now_ms,
                  kin__reflector_actions *actions) {
  if (reflector->is_unversioned) {
    kin__list_again(reflector, now_ms, actions);
  } else {
    kin__enter(reflector, after_watch(reflector), now_ms, actions);
  }
}

/* A watch that broke is resumed at once, unless the server said why it ended
 * it, or it broke so soon that resuming at once would be a storm. */
static void on_watch_broke(kin__reflector *reflector,
                           const kin__failure *failure, bool is_said,
                           uint64_t now_ms, kin__reflector_actions *actions) {
  if (kin__loses_position(reflector, failure)) {
    kin__wait_for_list(reflector, failure, now_ms, actions);
    return;
  }
  bool was_dropped =
      !is_said && failure->error_class != KIN_CLASS_MEMORY &&
      now_ms - reflector->watch_began_ms >= KIN__VERY_SHORT_WATCH_MS;
  if (!was_dropped) {
    kin__reflector_state after = after_watch(reflector);
    if (failure->status == 404 && after == KIN__REFLECTOR_OPENING) {
      after = KIN__REFLECTOR_VERIFYING;
    }
    kin__fail_and_wait(reflector, failure, after, now_ms, actions);
    return;
  }
  kin__count_failure(reflector, now_ms, actions);
  go_on(reflector, now_ms, actions);
}

/* A server that could not be reached may be another one when it can be, with a
 * history of its own: one that was restored from a backup takes a watch from a
 * version that is yet to come, and stays silent. So may the resource, when it
 * was gone (404). */
static kin__reflector_state after_opening(const kin__reflector *reflector,
                                          const kin__failure *failure) {
  if (reflector->is_unversioned) {
    return KIN__REFLECTOR_LISTING;
  }
  bool is_in_doubt = kin__is_unreached(failure) || failure->status == 404;
  return is_in_doubt ? KIN__REFLECTOR_VERIFYING : reflector->state;
}

/* OPENING, VERIFYING. */
static void on_request_failed(kin__reflector *reflector,
                              const kin__failure *failure, uint64_t now_ms,
                              kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_VERIFYING &&
      kin__verify_list_failed(reflector, failure, now_ms, actions)) {
    return;
  }
  if (kin__loses_position(reflector, failure)) {
    kin__wait_for_list(reflector, failure, now_ms, actions);
    return;
  }
  kin__fail_and_wait(reflector, failure, after_opening(reflector, failure),
                     now_ms, actions);
}

static void on_failed(kin__reflector *reflector, const kin__failure *failure,
                      uint64_t now_ms, kin__reflector_actions *actions) {
  bool is_request = reflector->state == KIN__REFLECTOR_OPENING ||
                    reflector->state == KIN__REFLECTOR_WATCHING;
  if (reflector->is_watch_only && is_request) {
    kin__on_only_watch_failed(reflector, failure, now_ms, actions);
    return;
  }
  switch (reflector->state) {
  case KIN__REFLECTOR_LISTING:
    on_list_failed(reflector, failure, now_ms, actions);
    break;
  case KIN__REFLECTOR_STREAMING:
    kin__on_stream_failed(reflector, failure, now_ms, actions);
    break;
  case KIN__REFLECTOR_APPLYING:
    reflector->is_stream_open = false;
    break;
  case KIN__REFLECTOR_WATCHING:
    actions->stop_timer = true;
    on_watch_broke(reflector, failure, failure->status != 0, now_ms, actions);
    break;
  case KIN__REFLECTOR_OPENING:
  case KIN__REFLECTOR_VERIFYING:
    on_request_failed(reflector, failure, now_ms, actions);
    break;
  default:
    break;
  }
}

static void on_apply_failed(kin__reflector *reflector,
                            const kin__failure *failure, uint64_t now_ms,
                            kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_APPLYING) {
    reflector->is_stream_open = false;
    actions->cancel_request = true;
    actions->drop_stage = true;
    kin__fail_and_wait(reflector, failure, KIN__REFLECTOR_LISTING, now_ms,
                       actions);
  }
}

static void on_error_event(kin__reflector *reflector,
                           const kin__failure *failure, uint64_t now_ms,
                           kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_STREAMING ||
      reflector->state == KIN__REFLECTOR_APPLYING) {
    actions->cancel_request = true;
    on_failed(reflector, failure, now_ms, actions);
    return;
  }
  if (reflector->state != KIN__REFLECTOR_WATCHING) {
    return;
  }
  actions->cancel_request = true;
  actions->stop_timer = true;
  if (reflector->is_watch_only) {
    kin__on_only_watch_failed(reflector, failure, now_ms, actions);
  } else if (!kin__retries_internal_error(reflector, failure, now_ms,
                                          actions)) {
    on_watch_broke(reflector, failure, true, now_ms, actions);
  }
}

/* RW-02, RW-07: a watch that ended as it should says nothing and is opened
 * again. */
static void on_watch_ended(kin__reflector *reflector, uint64_t quiet_ms,
                           uint64_t now_ms, kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_STREAMING) {
    kin__on_stream_ended(reflector, now_ms, actions);
    return;
  }
  if (reflector->state == KIN__REFLECTOR_APPLYING) {
    reflector->is_stream_open = false;
    return;
  }
  if (reflector->state != KIN__REFLECTOR_WATCHING) {
    return;
  }
  actions->stop_timer = true;
  if (reflector->is_watch_only) {
    kin__on_only_watch_ended(reflector, now_ms, actions);
  } else if (kin__proves_verify(reflector, quiet_ms, now_ms)) {
    kin__end_verify(reflector, 0);
    kin__to_opening(reflector, now_ms, actions);
  } else if (now_ms - reflector->watch_began_ms < KIN__VERY_SHORT_WATCH_MS) {
    kin__to_waiting(
        reflector, after_watch(reflector),
        kin__next_delay_ms(reflector, KIN__BACKOFF_ORDINARY, -1, now_ms),
        actions);
  } else {
    go_on(reflector, now_ms, actions);
  }
}

static void on_timer(kin__reflector *reflector, uint64_t now_ms,
                     kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_WAITING) {
    kin__enter(reflector, reflector->after_wait, now_ms, actions);
  } else if (reflector->state == KIN__REFLECTOR_STREAMING) {
    kin__on_stream_timer(reflector, now_ms, actions);
  } else if (reflector->state == KIN__REFLECTOR_WATCHING) {
    /* The server did not end the watch when it was asked to (RW-15). */
    actions->cancel_request = true;
    if (reflector->is_watch_only) {
      kin__on_only_watch_ended(reflector, now_ms, actions);
    } else {
      go_on(reflector, now_ms, actions);
    }
  }
}

/* What there was is of no use, so a list that may be older is not, either. */
static void on_forget(kin__reflector *reflector) {
  if (reflector->state != KIN__REFLECTOR_WAITING || reflector->is_watch_only) {
    return;
  }
  kin__end_verify(reflector, KIN_EGONE);
  kin__copy_version(reflector->version, "");
  reflector->version_unavailable = true;
  reflector->after_wait = KIN__REFLECTOR_LISTING;
}

static void on_stop(kin__reflector *reflector,
                    kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_STOPPED) {
    return;
  }
  kin__to_state(reflector, KIN__REFLECTOR_STOPPED);
  kin__end_verify(reflector, KIN_ECLOSED);
  kin__buf_reset(&reflector->token, 0);
  actions->cancel_request = true;
  actions->stop_timer = true;
  actions->drop_stage = true;
}

void kin__reflector_step(kin__reflector *reflector,
                         const kin__reflector_input *input, uint64_t now_ms,
                         kin__reflector_actions *actions) {
  *actions = (kin__reflector_actions){0};
  kin__note_held(reflector, now_ms);
  switch (input->type) {
  case KIN__INPUT_START:
    if (reflector->state == KIN__REFLECTOR_IDLE) {
      kin__enter(reflector,
                 reflector->is_watch_only ? KIN__REFLECTOR_OPENING
                                          : KIN__REFLECTOR_LISTING,
                 now_ms, actions);
    }
    break;
  case KIN__INPUT_STOP:
    on_stop(reflector, actions);
    break;
  case KIN__INPUT_HEAD:
    on_head(reflector, input->connection, now_ms, actions);
    break;
  case KIN__INPUT_PAGE:
    on_page(reflector, input, now_ms, actions);
    break;
  case KIN__INPUT_STREAMED:
    if (reflector->state == KIN__REFLECTOR_STREAMING) {
      kin__on_stream_complete(reflector, input->version, now_ms, actions);
    }
    break;
  case KIN__INPUT_APPLIED:
    on_applied(reflector, now_ms, actions);
    break;
  case KIN__INPUT_APPLY_FAILED:
    on_apply_failed(reflector, input->failure, now_ms, actions);
    break;
  case KIN__INPUT_WATCH_ENDED:
    on_watch_ended(reflector, input->quiet_ms, now_ms, actions);
    break;
  case KIN__INPUT_ERROR_EVENT:
    on_error_event(reflector, input->failure, now_ms, actions);
    break;
  case KIN__INPUT_FAILED:
    on_failed(reflector, input->failure, now_ms, actions);
    break;
  case KIN__INPUT_TIMER:
    on_timer(reflector, now_ms, actions);
    break;
  case KIN__INPUT_REFUSED:
    kin__on_stream_refused(reflector, actions);
    break;
  case KIN__INPUT_VERIFY:
    kin__on_verify(reflector, input->version, now_ms, actions);
    break;
  case KIN__INPUT_FORGET:
    on_forget(reflector);
    break;
  case KIN__INPUT_RETRY_AFTER:
    if (reflector->state == KIN__REFLECTOR_WAITING) {
      actions->stop_timer = true;
      actions->start_timer = true;
      actions->timer_ms = input->delay_ms;
    }
    break;
  }
  kin__tell_lost_verify(reflector, now_ms, actions);
  if (actions->request != KIN__REQUEST_NONE) {
    reflector->is_granted = false;
  }
}

void kin__reflector_saw(kin__reflector *reflector, kin__decoded_type type,
                        kin_str version) {
  reflector->saw_anything = true;
  if (reflector->state == KIN__REFLECTOR_STREAMING) {
    return; /* WL-05 */
  }
  if (type != KIN__DECODED_ADDED) {
    reflector->version_is_ordered = true;
  }
  if (reflector->version_is_ordered && version.length > 0) {
    set_version(reflector->version, version);
    kin__check_verify(reflector);
  }
}
