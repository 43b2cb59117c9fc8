/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"

/* After so many watches in a row that end at once, about 10 s, their position
 * is not trusted any more. */
#define EMPTY_WATCHES 5u

/* Each input has one handler, here or in the file of its mode. Each handler
 * leaves through one of the `to_` functions (enter.c), which make the data of the
 * new state. */

void kin__listwatch_init(kin__listwatch *listwatch,
                         const kin__listwatch_options *options,
                         const kin_allocator *allocator, kin__random *random,
                         uint64_t now_ms) {
  *listwatch = (kin__listwatch){.options = *options,
                                .random = random,
                                .position.lost_by = KIN_RELIST_REASONS,
                                .past.applied_ms = UINT64_MAX};
  kin__listwatch_init_backoffs(listwatch, now_ms);
  kin__buf_init(&listwatch->list.token, allocator, KIN__TOKEN_SIZE);
  if (options->mode == KIN__WATCH_ONLY) {
    assert(strlen(options->watch_only.version) < KIN__VERSION_SIZE);
    kin__listwatch_copy_version(listwatch->position.version,
                                options->watch_only.version);
  } else if (options->mode == KIN__LIST_AND_WATCH) {
    kin__retry_deadline_init(&listwatch->retries.internal_errors,
                             options->list_and_watch.internal_error_retry_ms);
  }
}

void kin__listwatch_finish(kin__listwatch *listwatch) {
  kin__buf_finish(&listwatch->list.token);
}

/* A longer version is ignored; so is "0", which opens the next watch at any
 * version, and so hides deletions. Returns whether the version is another now. */
static bool set_version(char to[KIN__VERSION_SIZE], kin_str version) {
  if (version.length >= KIN__VERSION_SIZE ||
      kin__str_equal(version, KIN__LIT("0")) ||
      kin__str_equal(version, kin__cstr(to))) {
    return false;
  }
  memcpy(to, version.data, version.length);
  to[version.length] = '\0';
  return true;
}

/* --- Inputs --------------------------------------------------------------- */

static void on_head(kin__listwatch *listwatch, uint64_t connection,
                    uint64_t now_ms, kin__listwatch_actions *actions) {
  listwatch->retries.was_granted = true;
  if (listwatch->state == KIN__LISTWATCH_STREAMING) {
    kin__listwatch_on_stream_head(listwatch, now_ms, actions);
    return;
  }
  kin__listwatch_blame_streams(listwatch);
  if (listwatch->state != KIN__LISTWATCH_OPENING) {
    return;
  }
  const kin__opening opening = *kin__listwatch_opening(listwatch);
  const kin__watching watching = {
      .began_ms = opening.began_ms,
      .since_ms = now_ms,
      .is_ordered = !kin__listwatch_is_any_version(listwatch->position.version),
      .is_on_proof_connection =
          kin__listwatch_take_proof_connection(listwatch, connection)};
  kin__listwatch_to_watching(listwatch, &watching);
  listwatch->retries.failures = 0;
  actions->start_timer = opening.timeout_s > 0;
  actions->timer_ms =
      opening.timeout_s * UINT64_C(1000) +
      (kin__listwatch_is_verifying(listwatch) ? KIN__SHORT_MARGIN_MS
                                              : KIN__WATCH_MARGIN_MS);
}

static void on_complete_list(kin__listwatch *listwatch,
                             kin__listwatch_actions *actions) {
  bool had_pages =
      listwatch->list.pages > 1 || listwatch->list.fell_back_to_full;
  if (had_pages && strcmp(listwatch->list.version, "0") == 0) {
    listwatch->past.is_paginated = true;
  }
  listwatch->retries.failures = 0;
  kin__listwatch_to_applying(
      listwatch, &(kin__applying){.is_stream_open = false}, actions);
}

static void on_page(kin__listwatch *listwatch,
                    const kin__listwatch_input *input, uint64_t now_ms,
                    kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_VERIFYING) {
    kin__listwatch_on_verified_list(listwatch, input, now_ms, actions);
    return;
  }
  if (listwatch->state != KIN__LISTWATCH_LISTING) {
    return;
  }
  if (kin__listwatch_is(listwatch, KIN__LIST_ONCE)) {
    kin__listwatch_on_only_page(listwatch, input, actions);
    return;
  }
  if (listwatch->list.pages++ == 0) {
    kin__listwatch_copy_version(listwatch->list_found, input->version);
  }
  if (kin__listwatch_list_brings_nothing(listwatch)) {
    kin__listwatch_restart_consistent_list(listwatch, actions);
    return;
  }
  kin__buf_reset(&listwatch->list.token, KIN__TOKEN_SIZE);
  if (input->token[0] == '\0') {
    if (kin__listwatch_note_older_list(listwatch)) {
      kin__listwatch_restart_list(listwatch, actions);
    } else {
      on_complete_list(listwatch, actions);
    }
    return;
  }
  int err = kin__buf_append(&listwatch->list.token, input->token,
                            strlen(input->token) + 1);
  if (err == 0) {
    kin__listwatch_request_page(listwatch, actions);
    return;
  }
  kin__buf_reset(&listwatch->list.token, 0);
  actions->drop_stage = true;
  kin__listwatch_fail_and_wait(listwatch, input->failure,
                               KIN__LISTWATCH_LISTING, now_ms, actions);
}

/* The position is the list's. If the list has no version, versions decide
 * nothing, so a list of any age might be older than this one. */
static void hold_position(kin__listwatch *listwatch) {
  const char *found = listwatch->list_found;
  bool is_unversioned = kin__listwatch_is_any_version(found);
  listwatch->position = (kin__position){
      .doubt = is_unversioned ? KIN__DOUBT_UNAVAILABLE : KIN__DOUBT_NONE,
      .is_unversioned = is_unversioned,
      .lost_by = KIN_RELIST_REASONS};
  kin__listwatch_copy_version(listwatch->position.version, found);
}

/* RF-13: the position moves when the store holds the list. */
static void on_applied(kin__listwatch *listwatch, uint64_t now_ms,
                       kin__listwatch_actions *actions) {
  if (listwatch->state != KIN__LISTWATCH_APPLYING) {
    return;
  }
  if (kin__listwatch_is(listwatch, KIN__LIST_ONCE)) {
    kin__listwatch_on_only_page_applied(listwatch, actions);
    return;
  }
  kin__listwatch_note_progress(listwatch, now_ms);
  hold_position(listwatch);
  listwatch->past.streams_given_up = 0;
  kin__retry_deadline *internal = &listwatch->retries.internal_errors;
  kin__retry_deadline_init(internal, internal->max_ms); /* RD-01 */
  if (kin__listwatch_applying(listwatch)->is_outdated) {
    actions->cancel_request = true;
    kin__listwatch_enter(listwatch, KIN__LISTWATCH_LISTING, now_ms, actions);
  } else if (kin__listwatch_applying(listwatch)->is_stream_open) {
    kin__listwatch_on_stream_applied(listwatch, now_ms, actions);
  } else {
    kin__listwatch_to_opening(listwatch, now_ms, actions);
  }
}

/* RL-05, PG-03: a fallback is requested at once. After a server refuses
 * resourceVersionMatch, the next list has none. */
static bool list_fall_back(kin__listwatch *listwatch,
                           const kin__failure *failure,
                           kin__listwatch_actions *actions) {
  if (kin__listwatch_fall_back_to_full(listwatch, failure, actions)) {
    return true;
  }
  bool is_match_refused =
      listwatch->list.match[0] != '\0' && kin__failure_is_malformed(failure);
  if (!failure->is_expired && !failure->is_rv_too_large && !is_match_refused) {
    return false;
  }
  kin__listwatch_doubt(listwatch, failure->is_rv_too_large
                                      ? KIN__DOUBT_REPEAT
                                      : KIN__DOUBT_UNAVAILABLE);
  if (listwatch->list.fell_back_to_current) {
    return false;
  }
  listwatch->list.fell_back_to_current = true;
  kin__listwatch_restart_consistent_list(listwatch, actions);
  return true;
}

static void on_list_failed(kin__listwatch *listwatch,
                           const kin__failure *failure, uint64_t now_ms,
                           kin__listwatch_actions *actions) {
  if (kin__listwatch_is(listwatch, KIN__LIST_ONCE)) {
    kin__listwatch_on_only_list_failed(listwatch, failure, now_ms, actions);
    return;
  }
  if (list_fall_back(listwatch, failure, actions)) {
    kin__listwatch_count_failure(listwatch, now_ms, actions);
    return;
  }
  kin__buf_reset(&listwatch->list.token, 0);
  actions->drop_stage = true;
  kin__listwatch_fail_and_wait(listwatch, failure, KIN__LISTWATCH_LISTING,
                               now_ms, actions);
}

/* A silent watch that held proves nothing about the position, and events may
 * still come with the next one. Watches that end at once after their head never
 * bring events, so after some in a row the newest version has to be reached. If
 * not even the watches of that verify bring it, a list does. */
static kin__listwatch_state after_empty_watch(kin__listwatch *listwatch,
                                              uint64_t now_ms) {
  kin__past_lists *past = &listwatch->past;
  const kin__watching *watching = kin__listwatch_watching(listwatch);
  if (now_ms - watching->since_ms >= KIN__VERY_SHORT_WATCH_MS) {
    past->empty_watches = 0;
  } else if (++past->empty_watches >= EMPTY_WATCHES) {
    past->empty_watches = 0;
    kin__listwatch_begin_verify(listwatch, "", true);
    return KIN__LISTWATCH_VERIFYING;
  }
  return watching->saw_anything ? KIN__LISTWATCH_OPENING
                                : KIN__LISTWATCH_VERIFYING;
}

/* The state after a watch; called once for each. Without a position only a list
 * shows deletions between two watches. */
static kin__listwatch_state after_watch(kin__listwatch *listwatch,
                                        uint64_t now_ms,
                                        kin__listwatch_actions *actions) {
  if (kin__listwatch_is_verifying(listwatch)) {
    return kin__listwatch_after_short_watch(listwatch, now_ms, actions);
  }
  if (listwatch->position.is_unversioned) {
    return KIN__LISTWATCH_LISTING;
  }
  if (!kin__listwatch_watching(listwatch)->has_moved) {
    return after_empty_watch(listwatch, now_ms);
  }
  listwatch->past.empty_watches = 0;
  return KIN__LISTWATCH_OPENING;
}

static void watch_or_list_again(kin__listwatch *listwatch, uint64_t now_ms,
                                kin__listwatch_actions *actions) {
  if (listwatch->position.is_unversioned) {
    kin__listwatch_list_again(listwatch, now_ms, actions);
  } else {
    kin__listwatch_enter(listwatch, after_watch(listwatch, now_ms, actions),
                         now_ms, actions);
  }
}

/* A broken watch is resumed at once. It waits if the server gave a reason, or
 * if the watch was so short that resuming would be a storm. */
static void on_watch_broke(kin__listwatch *listwatch,
                           const kin__failure *failure, bool is_said,
                           uint64_t now_ms, kin__listwatch_actions *actions) {
  if (kin__listwatch_lose_position_by(listwatch, failure, actions)) {
    kin__listwatch_wait_for_list(listwatch, failure, now_ms, actions);
    return;
  }
  uint64_t age_ms = now_ms - kin__listwatch_watching(listwatch)->began_ms;
  bool was_dropped = !is_said && failure->error_class != KIN_CLASS_MEMORY &&
                     age_ms >= KIN__VERY_SHORT_WATCH_MS;
  if (!was_dropped) {
    kin__listwatch_state after = after_watch(listwatch, now_ms, actions);
    if (failure->status == 404 && after == KIN__LISTWATCH_OPENING) {
      after = KIN__LISTWATCH_VERIFYING;
    }
    kin__listwatch_fail_and_wait(listwatch, failure, after, now_ms, actions);
    return;
  }
  kin__listwatch_count_failure(listwatch, now_ms, actions);
  watch_or_list_again(listwatch, now_ms, actions);
}

/* A server that was unreachable may come back restored from a backup. Such a
 * server accepts a watch from a version in its future, and stays silent; so the
 * position is verified first. The same holds for a resource that was gone
 * (404). */
static kin__listwatch_state after_opening(const kin__listwatch *listwatch,
                                          const kin__failure *failure) {
  if (listwatch->position.is_unversioned) {
    return KIN__LISTWATCH_LISTING;
  }
  bool is_in_doubt =
      kin__listwatch_is_unreached(failure) || failure->status == 404;
  return is_in_doubt ? KIN__LISTWATCH_VERIFYING : listwatch->state;
}

/* OPENING, VERIFYING. */
static void on_request_failed(kin__listwatch *listwatch,
                              const kin__failure *failure, uint64_t now_ms,
                              kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_VERIFYING &&
      kin__listwatch_verify_list_failed(listwatch, failure, now_ms, actions)) {
    return;
  }
  if (kin__listwatch_lose_position_by(listwatch, failure, actions)) {
    kin__listwatch_wait_for_list(listwatch, failure, now_ms, actions);
    return;
  }
  kin__listwatch_fail_and_wait(
      listwatch, failure, after_opening(listwatch, failure), now_ms, actions);
}

static void on_failed(kin__listwatch *listwatch, const kin__failure *failure,
                      uint64_t now_ms, kin__listwatch_actions *actions) {
  bool is_request = listwatch->state == KIN__LISTWATCH_OPENING ||
                    listwatch->state == KIN__LISTWATCH_WATCHING;
  if (kin__listwatch_is(listwatch, KIN__WATCH_ONLY) && is_request) {
    kin__listwatch_on_only_watch_failed(listwatch, failure, now_ms, actions);
    return;
  }
  switch (listwatch->state) {
  case KIN__LISTWATCH_LISTING:
    on_list_failed(listwatch, failure, now_ms, actions);
    break;
  case KIN__LISTWATCH_STREAMING:
    kin__listwatch_on_stream_failed(listwatch, failure, now_ms, actions);
    break;
  case KIN__LISTWATCH_APPLYING:
    kin__listwatch_applying(listwatch)->is_stream_open = false;
    break;
  case KIN__LISTWATCH_WATCHING:
    actions->stop_timer = true;
    on_watch_broke(listwatch, failure, failure->status != 0, now_ms, actions);
    break;
  case KIN__LISTWATCH_OPENING:
  case KIN__LISTWATCH_VERIFYING:
    on_request_failed(listwatch, failure, now_ms, actions);
    break;
  default:
    break;
  }
}

static void on_apply_failed(kin__listwatch *listwatch,
                            const kin__failure *failure, uint64_t now_ms,
                            kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_APPLYING) {
    actions->cancel_request = true;
    actions->drop_stage = true;
    kin__listwatch_fail_and_wait(listwatch, failure, KIN__LISTWATCH_LISTING,
                                 now_ms, actions);
  }
}

static void on_error_event(kin__listwatch *listwatch,
                           const kin__failure *failure, uint64_t now_ms,
                           kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_STREAMING ||
      listwatch->state == KIN__LISTWATCH_APPLYING) {
    actions->cancel_request = true;
    on_failed(listwatch, failure, now_ms, actions);
    return;
  }
  if (listwatch->state != KIN__LISTWATCH_WATCHING) {
    return;
  }
  actions->cancel_request = true;
  actions->stop_timer = true;
  if (kin__listwatch_is(listwatch, KIN__WATCH_ONLY)) {
    kin__listwatch_on_only_watch_failed(listwatch, failure, now_ms, actions);
  } else if (!kin__listwatch_retry_internal_error(listwatch, failure, now_ms,
                                                  actions)) {
    on_watch_broke(listwatch, failure, true, now_ms, actions);
  }
}

/* Nothing tells how long a server goes on to end its watches at once. A held
 * position is cheap to ask for, so only a list waits longer and longer. */
static void wait_after_short_watch(kin__listwatch *listwatch, uint64_t now_ms,
                                   kin__listwatch_actions *actions) {
  kin__listwatch_state after = after_watch(listwatch, now_ms, actions);
  kin__backoff_kind kind = after == KIN__LISTWATCH_LISTING
                               ? KIN__BACKOFF_ORDINARY
                               : KIN__BACKOFF_UNREACHED;
  kin__listwatch_to_waiting(
      listwatch, after,
      kin__listwatch_next_delay_ms(listwatch, kind, -1, now_ms), actions);
}

/* RW-02, RW-07: a regular end of a watch is not reported; the watch is opened
 * again. */
static void on_watch_ended(kin__listwatch *listwatch, uint64_t quiet_ms,
                           uint64_t now_ms, kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_STREAMING) {
    kin__listwatch_on_stream_ended(listwatch, now_ms, actions);
    return;
  }
  if (listwatch->state == KIN__LISTWATCH_APPLYING) {
    kin__listwatch_applying(listwatch)->is_stream_open = false;
    return;
  }
  if (listwatch->state != KIN__LISTWATCH_WATCHING) {
    return;
  }
  uint64_t age_ms = now_ms - kin__listwatch_watching(listwatch)->began_ms;
  actions->stop_timer = true;
  if (kin__listwatch_is(listwatch, KIN__WATCH_ONLY)) {
    kin__listwatch_on_only_watch_ended(listwatch, now_ms, actions);
  } else if (kin__listwatch_proves_verify(listwatch, quiet_ms, now_ms)) {
    kin__listwatch_end_verify(listwatch, 0, actions);
    kin__listwatch_to_opening(listwatch, now_ms, actions);
  } else if (age_ms < KIN__VERY_SHORT_WATCH_MS) {
    wait_after_short_watch(listwatch, now_ms, actions);
  } else {
    watch_or_list_again(listwatch, now_ms, actions);
  }
}

static void on_timer(kin__listwatch *listwatch, uint64_t now_ms,
                     kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_WAITING) {
    kin__listwatch_enter(listwatch, kin__listwatch_waiting(listwatch)->after,
                         now_ms, actions);
  } else if (listwatch->state == KIN__LISTWATCH_STREAMING) {
    kin__listwatch_on_stream_timer(listwatch, now_ms, actions);
  } else if (listwatch->state == KIN__LISTWATCH_WATCHING) {
    /* The server did not end the watch at its timeout (RW-15). */
    actions->cancel_request = true;
    if (kin__listwatch_is(listwatch, KIN__WATCH_ONLY)) {
      kin__listwatch_on_only_watch_ended(listwatch, now_ms, actions);
    } else {
      watch_or_list_again(listwatch, now_ms, actions);
    }
  }
}

/* The owner dropped its objects, so a list that may be old is not allowed. */
static void on_forget(kin__listwatch *listwatch,
                      kin__listwatch_actions *actions) {
  if (listwatch->state != KIN__LISTWATCH_WAITING ||
      kin__listwatch_is(listwatch, KIN__WATCH_ONLY)) {
    return;
  }
  kin__listwatch_end_verify(listwatch, KIN_EGONE, actions);
  kin__listwatch_copy_version(listwatch->position.version, "");
  kin__listwatch_doubt(listwatch, KIN__DOUBT_UNAVAILABLE);
  kin__listwatch_waiting(listwatch)->after = KIN__LISTWATCH_LISTING;
}

static void on_relist(kin__listwatch *listwatch, uint64_t now_ms,
                      kin__listwatch_actions *actions) {
  if (listwatch->options.mode != KIN__LIST_AND_WATCH) {
    return;
  }
  switch (listwatch->state) {
  case KIN__LISTWATCH_WAITING:
    kin__listwatch_end_verify(listwatch, KIN_EGONE, actions);
    kin__listwatch_waiting(listwatch)->after = KIN__LISTWATCH_LISTING;
    break;
  case KIN__LISTWATCH_APPLYING:
    kin__listwatch_applying(listwatch)->is_outdated = true;
    break;
  case KIN__LISTWATCH_IDLE:
  case KIN__LISTWATCH_STOPPED:
    break;
  case KIN__LISTWATCH_LISTING: { /* in place of a stream, or there are none */
    kin__listing *list = &listwatch->list;
    bool replaces_refused = list->replaces_refused;
    bool may_lack_watches = list->may_lack_watches;
    actions->cancel_request = true;
    list->fell_back_to_current = false;
    kin__listwatch_to_listing(listwatch, actions);
    list->replaces_refused = replaces_refused;
    list->may_lack_watches = may_lack_watches;
    break;
  }
  default:
    kin__listwatch_end_verify(listwatch, KIN_EGONE, actions);
    actions->cancel_request = true;
    actions->stop_timer = true;
    kin__listwatch_enter(listwatch, KIN__LISTWATCH_LISTING, now_ms, actions);
    break;
  }
}

static void on_stop(kin__listwatch *listwatch,
                    kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_STOPPED) {
    return;
  }
  kin__listwatch_to_stopped(listwatch);
  kin__listwatch_end_verify(listwatch, KIN_ECLOSED, actions);
  actions->cancel_request = true;
  actions->stop_timer = true;
  actions->drop_stage = true;
}

static void on_start(kin__listwatch *listwatch, uint64_t now_ms,
                     kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_IDLE) {
    kin__listwatch_leave_idle(listwatch, now_ms, actions);
  }
}

static void on_retry_after(const kin__listwatch *listwatch, uint64_t delay_ms,
                           kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_WAITING) {
    actions->stop_timer = true;
    actions->start_timer = true;
    actions->timer_ms = delay_ms;
  }
}

void kin__listwatch_step(kin__listwatch *listwatch,
                         const kin__listwatch_input *input, uint64_t now_ms,
                         kin__listwatch_actions *actions) {
  *actions = (kin__listwatch_actions){0};
  kin__listwatch_note_held(listwatch, now_ms);
  switch (input->type) {
  case KIN__INPUT_START:
    on_start(listwatch, now_ms, actions);
    break;
  case KIN__INPUT_STOP:
    on_stop(listwatch, actions);
    break;
  case KIN__INPUT_HEAD:
    on_head(listwatch, input->connection, now_ms, actions);
    break;
  case KIN__INPUT_PAGE:
    on_page(listwatch, input, now_ms, actions);
    break;
  case KIN__INPUT_STREAMED:
    kin__listwatch_on_stream_complete(listwatch, input->version, now_ms,
                                      actions);
    break;
  case KIN__INPUT_APPLIED:
    on_applied(listwatch, now_ms, actions);
    break;
  case KIN__INPUT_APPLY_FAILED:
    on_apply_failed(listwatch, input->failure, now_ms, actions);
    break;
  case KIN__INPUT_WATCH_ENDED:
    on_watch_ended(listwatch, input->quiet_ms, now_ms, actions);
    break;
  case KIN__INPUT_ERROR_EVENT:
    on_error_event(listwatch, input->failure, now_ms, actions);
    break;
  case KIN__INPUT_FAILED:
    on_failed(listwatch, input->failure, now_ms, actions);
    break;
  case KIN__INPUT_TIMER:
    on_timer(listwatch, now_ms, actions);
    break;
  case KIN__INPUT_REFUSED:
    kin__listwatch_on_stream_refused(listwatch, actions);
    break;
  case KIN__INPUT_VERIFY:
    kin__listwatch_on_verify(listwatch, input, now_ms, actions);
    break;
  case KIN__INPUT_FORGET:
    on_forget(listwatch, actions);
    break;
  case KIN__INPUT_RELIST:
    on_relist(listwatch, now_ms, actions);
    break;
  case KIN__INPUT_RETRY_AFTER:
    on_retry_after(listwatch, input->delay_ms, actions);
    break;
  case KIN__INPUT_REACHED:
    if (kin__listwatch_has_reached(listwatch)) {
      kin__listwatch_end_verify(listwatch, 0, actions);
    }
    break;
  case KIN__INPUT_TYPES:
    break;
  }
  if (actions->request.kind != KIN__REQUEST_NONE) {
    listwatch->retries.was_granted = false;
    actions->request.is_retry = listwatch->retries.failures > 0;
  }
}

bool kin__listwatch_saw(kin__listwatch *listwatch, kin__decoded_type type,
                        kin_str version) {
  if (listwatch->state != KIN__LISTWATCH_WATCHING) {
    kin__listwatch_heard(listwatch, KIN__NEWS_BYTES);
    return false; /* WL-05 */
  }
  kin__watching *watching = &listwatch->in.watching;
  watching->saw_anything = true;
  watching->is_ordered |= type != KIN__DECODED_ADDED;
  if (watching->is_ordered && version.length > 0) {
    watching->has_moved |= set_version(listwatch->position.version, version);
    return kin__listwatch_has_reached(listwatch);
  }
  return false;
}
