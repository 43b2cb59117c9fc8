/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <string.h>

/* A list that comes as a watch (WatchList, WL rows). The server sends each
 * object as an event, marks the end with a bookmark, and goes on with changes
 * on the same response. The list is not older than any earlier state, costs the
 * server no list, and fills the same stage as a list.
 *
 * A stream cannot hang or run without end:
 *
 * - Refused, or silent for a while: a list follows at once, and the client
 *   asks this server for no more streams.
 * - Broken off, or answered with 5xx: a list follows after the second time.
 * - No progress, because no bookmark marks the end: a list follows, and this
 *   machine asks for no more streams.
 * - Not complete at the watch's deadline: the same as no progress.
 * - No head within the request timeout: the same, after a wait.
 *
 * Progress means new keys, or one object so large that nothing else comes. */

/* A stream is given up after two ticks in a row without progress. One tick
 * alone may be a stopped process: its timer fires before the waiting bytes are
 * read. */
#define PROGRESS_MS 5000u
#define IDLE_TICKS 2u

/* WL-07: the server, or a proxy before it, cannot stream. Other failures would
 * hit a list as well. */
static bool is_refusal(const kin__failure *failure) {
  switch (failure->status) {
  case 400:
  case 405:
  case 406:
  case 415:
  case 422:
  case 501:
    return true;
  default:
    return false;
  }
}

static void list_instead(kin__listwatch *listwatch,
                         kin__listwatch_actions *actions) {
  listwatch->streams_given_up = KIN__STREAM_TRIES;
  kin__listwatch_to_listing(listwatch, actions);
}

static void await_progress(kin__listwatch_actions *actions) {
  actions->start_timer = true;
  actions->timer_ms = PROGRESS_MS;
}

/* The request may have waited for its turn, so the watch begins at its head. */
void kin__listwatch_on_stream_head(kin__listwatch *listwatch, uint64_t now_ms,
                                   kin__listwatch_actions *actions) {
  listwatch->idle_ticks = 0;
  listwatch->silent_ticks = 0;
  listwatch->had_events = false;
  listwatch->saw_whole = false;
  listwatch->saw_new = false;
  listwatch->heard_ms = now_ms;
  listwatch->progress_ms = now_ms;
  listwatch->watch_began_ms = now_ms;
  await_progress(actions);
}

/* WL-04. */
void kin__listwatch_on_stream_complete(kin__listwatch *listwatch,
                                       const char *version, uint64_t now_ms,
                                       kin__listwatch_actions *actions) {
  kin__listwatch_copy_version(listwatch->found_version, version);
  if (kin__listwatch_list_goes_back(listwatch)) {
    actions->stop_timer = true;
    actions->cancel_request = true;
    kin__listwatch_to_listing(listwatch, actions);
    return;
  }
  if (kin__listwatch_list_brings_nothing(listwatch)) {
    listwatch->version_unavailable = true;
    actions->stop_timer = true;
    actions->cancel_request = true;
    kin__listwatch_to_streaming(listwatch, now_ms, actions);
    return;
  }
  kin__listwatch_to_state(listwatch, KIN__LISTWATCH_APPLYING);
  listwatch->failures = 0;
  listwatch->is_stream_open = true;
  actions->stop_timer = true;
  actions->hold_request = true;
  actions->apply_stage = true;
}

static uint64_t deadline_ms_of(const kin__listwatch *listwatch) {
  return listwatch->watch_began_ms +
         listwatch->watch_timeout_s * UINT64_C(1000) + KIN__WATCH_MARGIN_MS;
}

/* The same response goes on as a watch. */
void kin__listwatch_on_stream_applied(kin__listwatch *listwatch,
                                      uint64_t now_ms,
                                      kin__listwatch_actions *actions) {
  uint64_t deadline_ms = deadline_ms_of(listwatch);
  kin__listwatch_to_state(listwatch, KIN__LISTWATCH_WATCHING);
  listwatch->is_stream_open = false;
  listwatch->watch_began_ms = now_ms;
  listwatch->watching_since_ms = now_ms;
  listwatch->saw_anything = false;
  listwatch->version_is_ordered = true;
  actions->continue_request = true;
  actions->start_timer = true;
  actions->timer_ms = deadline_ms > now_ms ? deadline_ms - now_ms : 0;
}

/* WL-06, but only KIN__STREAM_TRIES times. */
void kin__listwatch_on_stream_ended(kin__listwatch *listwatch, uint64_t now_ms,
                                    kin__listwatch_actions *actions) {
  actions->stop_timer = true;
  bool was_short =
      now_ms - listwatch->watch_began_ms < KIN__VERY_SHORT_WATCH_MS;
  listwatch->streams_given_up++;
  if ((was_short && !listwatch->saw_anything) ||
      listwatch->streams_given_up >= KIN__STREAM_TRIES) {
    list_instead(listwatch, actions);
  } else {
    kin__listwatch_to_streaming(listwatch, now_ms, actions);
  }
}

static bool falls_back(kin__listwatch *listwatch, const kin__failure *failure,
                       uint64_t now_ms, kin__listwatch_actions *actions) {
  if (failure->error_class == KIN_CLASS_DECODE) {
    list_instead(listwatch, actions);
    return true;
  }
  bool is_version_bad = failure->is_expired || failure->is_rv_too_large;
  if (is_version_bad && !listwatch->fell_back_to_current) {
    listwatch->fell_back_to_current = true;
    listwatch->version_unavailable = true;
    listwatch->versions_repeat |= failure->is_rv_too_large;
    kin__listwatch_to_streaming(listwatch, now_ms, actions);
    return true;
  }
  return false;
}

/* Whether a list may succeed where the stream failed. Other failures would hit
 * a list too, or carry a Retry-After. */
static bool is_of_streams(const kin__listwatch *listwatch,
                          const kin__failure *failure) {
  return listwatch->is_granted || failure->status >= 500 ||
         failure->code == KIN_ECONTENT;
}

/* The request was sent, but no head came: a proxy may buffer responses until
 * they end. */
static bool has_no_head(const kin__listwatch *listwatch,
                        const kin__failure *failure) {
  return !listwatch->is_granted && failure->code == KIN_ETIMEDOUT &&
         failure->error_class == KIN_CLASS_PROTOCOL;
}

void kin__listwatch_on_stream_failed(kin__listwatch *listwatch,
                                     const kin__failure *failure,
                                     uint64_t now_ms,
                                     kin__listwatch_actions *actions) {
  actions->stop_timer = true;
  if (is_refusal(failure)) {
    /* A refusal is no error, so no report. */
    *listwatch->options.list_and_watch.stream_refused = true;
    list_instead(listwatch, actions);
    return;
  }
  if (falls_back(listwatch, failure, now_ms, actions)) {
    kin__listwatch_count_failure(listwatch, now_ms, actions);
    return;
  }
  listwatch->has_given_up_streams |= has_no_head(listwatch, failure);
  listwatch->streams_given_up += is_of_streams(listwatch, failure);
  actions->drop_stage = true;
  kin__listwatch_fail_and_wait(listwatch, failure, KIN__LISTWATCH_LISTING,
                               now_ms, actions);
}

void kin__listwatch_on_stream_refused(kin__listwatch *listwatch,
                                      kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_STREAMING) {
    list_instead(listwatch, actions);
  }
}

void kin__listwatch_heard(kin__listwatch *listwatch, kin__stream_news news) {
  listwatch->saw_anything |= news >= KIN__NEWS_BYTES;
  listwatch->saw_whole |= news >= KIN__NEWS_OBJECT;
  listwatch->saw_new |= news == KIN__NEWS_KEY;
}

/* Notes progress since the last tick. */
static void take_stock(kin__listwatch *listwatch, uint64_t now_ms) {
  bool has_progress =
      listwatch->saw_new || (listwatch->saw_anything && !listwatch->saw_whole);
  listwatch->idle_ticks++;
  listwatch->silent_ticks++;
  if (listwatch->saw_anything) {
    listwatch->silent_ticks = 0;
    listwatch->had_events = true;
    listwatch->heard_ms = now_ms;
  }
  if (has_progress) {
    listwatch->idle_ticks = 0;
    listwatch->progress_ms = now_ms;
  }
  listwatch->saw_anything = false;
  listwatch->saw_whole = false;
  listwatch->saw_new = false;
}

/* WL-09. */
void kin__listwatch_on_stream_timer(kin__listwatch *listwatch, uint64_t now_ms,
                                    kin__listwatch_actions *actions) {
  take_stock(listwatch, now_ms);
  bool is_over = now_ms >= deadline_ms_of(listwatch);
  if (listwatch->idle_ticks < IDLE_TICKS && !is_over) {
    await_progress(actions);
    return;
  }
  bool is_silent = listwatch->silent_ticks >= IDLE_TICKS;
  actions->cancel_request = true;
  actions->silent_ms =
      now_ms - (is_silent ? listwatch->heard_ms : listwatch->progress_ms);
  if (is_silent) {
    actions->gave_up_stream =
        listwatch->had_events ? KIN__STREAM_FELL_SILENT : KIN__STREAM_SILENT;
    *listwatch->options.list_and_watch.stream_refused = true;
  } else {
    actions->gave_up_stream = KIN__STREAM_ENDLESS;
    listwatch->has_given_up_streams = true;
  }
  list_instead(listwatch, actions);
}
