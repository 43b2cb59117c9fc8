/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

/* A list that comes as a watch (WatchList, WL rows). The server sends each
 * object as an event, marks the end with a bookmark, and goes on with changes
 * on the same response. The list is not older than any earlier state, costs the
 * server no list, and fills the same stage as a list.
 *
 * A stream cannot hang or run without end:
 *
 * - Refused: a list follows at once. If that list is granted, the client asks
 *   this server for no more streams. Otherwise the refusal is this scope's
 *   alone: a selector that the server does not know. After a 405 the watch must
 *   be granted, too: the resource may have no watches.
 * - Silent for a while: a list follows at once, and the client asks this server
 *   for no more streams.
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

/* WL-07: the server, or a proxy before it, may be unable to stream. Other
 * failures would hit a list as well. */
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
  listwatch->past.streams_given_up = KIN__STREAM_TRIES;
  kin__listwatch_to_listing(listwatch, actions);
}

static void await_progress(kin__listwatch_actions *actions) {
  actions->start_timer = true;
  actions->timer_ms = PROGRESS_MS;
}

/* The request may have waited for its turn, so the watch begins at its head. */
void kin__listwatch_on_stream_head(kin__listwatch *listwatch, uint64_t now_ms,
                                   kin__listwatch_actions *actions) {
  kin__streaming *streaming = kin__listwatch_streaming(listwatch);
  *streaming = (kin__streaming){.began_ms = now_ms,
                                .timeout_s = streaming->timeout_s,
                                .news = streaming->news,
                                .heard_ms = now_ms,
                                .progress_ms = now_ms};
  await_progress(actions);
}

static uint64_t deadline_ms_of(const kin__streaming *streaming) {
  return streaming->began_ms + streaming->timeout_s * UINT64_C(1000) +
         KIN__WATCH_MARGIN_MS;
}

/* WL-04. */
void kin__listwatch_on_stream_complete(kin__listwatch *listwatch,
                                       const char *version, uint64_t now_ms,
                                       kin__listwatch_actions *actions) {
  if (listwatch->state != KIN__LISTWATCH_STREAMING) {
    return;
  }
  kin__listwatch_copy_version(listwatch->list_found, version);
  actions->stop_timer = true;
  if (kin__listwatch_note_older_list(listwatch)) {
    actions->cancel_request = true;
    kin__listwatch_to_listing(listwatch, actions);
    return;
  }
  if (kin__listwatch_list_brings_nothing(listwatch)) {
    kin__listwatch_doubt(listwatch, KIN__DOUBT_UNAVAILABLE);
    actions->cancel_request = true;
    kin__listwatch_to_streaming(listwatch, now_ms, actions);
    return;
  }
  const kin__applying applying = {.is_stream_open = true,
                                  .stream_deadline_ms = deadline_ms_of(
                                      kin__listwatch_streaming(listwatch))};
  kin__listwatch_to_applying(listwatch, &applying, actions);
  listwatch->retries.failures = 0;
  actions->hold_request = true;
}

/* The same response goes on as a watch. */
void kin__listwatch_on_stream_applied(kin__listwatch *listwatch,
                                      uint64_t now_ms,
                                      kin__listwatch_actions *actions) {
  uint64_t deadline_ms = kin__listwatch_applying(listwatch)->stream_deadline_ms;
  kin__listwatch_to_watching(listwatch, &(kin__watching){.began_ms = now_ms,
                                                         .since_ms = now_ms,
                                                         .is_ordered = true});
  actions->continue_request = true;
  actions->start_timer = true;
  actions->timer_ms = deadline_ms > now_ms ? deadline_ms - now_ms : 0;
}

/* WL-06, but only KIN__STREAM_TRIES times. */
void kin__listwatch_on_stream_ended(kin__listwatch *listwatch, uint64_t now_ms,
                                    kin__listwatch_actions *actions) {
  const kin__streaming *streaming = kin__listwatch_streaming(listwatch);
  bool was_empty = now_ms - streaming->began_ms < KIN__VERY_SHORT_WATCH_MS &&
                   streaming->news == KIN__NEWS_NONE;
  actions->stop_timer = true;
  listwatch->past.streams_given_up++;
  if (was_empty || listwatch->past.streams_given_up >= KIN__STREAM_TRIES) {
    list_instead(listwatch, actions);
  } else {
    kin__listwatch_to_streaming(listwatch, now_ms, actions);
  }
}

static bool fall_back(kin__listwatch *listwatch, const kin__failure *failure,
                      uint64_t now_ms, kin__listwatch_actions *actions) {
  if (failure->error_class == KIN_CLASS_DECODE) {
    list_instead(listwatch, actions);
    return true;
  }
  bool is_version_bad = failure->is_expired || failure->is_rv_too_large;
  if (is_version_bad && !listwatch->list.fell_back_to_current) {
    listwatch->list.fell_back_to_current = true;
    kin__listwatch_doubt(listwatch, failure->is_rv_too_large
                                        ? KIN__DOUBT_REPEAT
                                        : KIN__DOUBT_UNAVAILABLE);
    kin__listwatch_to_streaming(listwatch, now_ms, actions);
    return true;
  }
  return false;
}

/* Whether a list may succeed where the stream failed. Other failures would hit
 * a list too, or carry a Retry-After. */
static bool is_of_streams(const kin__listwatch *listwatch,
                          const kin__failure *failure) {
  return listwatch->retries.was_granted || failure->status >= 500 ||
         failure->code == KIN_ECONTENT;
}

/* The request was sent, but no head came: a proxy may buffer responses until
 * they end. */
static bool has_no_head(const kin__listwatch *listwatch,
                        const kin__failure *failure) {
  return !listwatch->retries.was_granted && failure->code == KIN_ETIMEDOUT &&
         failure->error_class == KIN_CLASS_PROTOCOL;
}

void kin__listwatch_on_stream_failed(kin__listwatch *listwatch,
                                     const kin__failure *failure,
                                     uint64_t now_ms,
                                     kin__listwatch_actions *actions) {
  actions->stop_timer = true;
  if (is_refusal(failure)) {
    /* A refusal is no error, so no report. A server that has granted the
     * stream can stream. */
    list_instead(listwatch, actions);
    listwatch->list.replaces_refused = !listwatch->retries.was_granted;
    listwatch->list.may_lack_watches = failure->status == 405;
    return;
  }
  if (fall_back(listwatch, failure, now_ms, actions)) {
    kin__listwatch_count_failure(listwatch, now_ms, actions);
    return;
  }
  listwatch->past.never_streams |= has_no_head(listwatch, failure);
  listwatch->past.streams_given_up += is_of_streams(listwatch, failure);
  actions->drop_stage = true;
  kin__listwatch_fail_and_wait(listwatch, failure, KIN__LISTWATCH_LISTING,
                               now_ms, actions);
}

void kin__listwatch_blame_streams(kin__listwatch *listwatch) {
  if (listwatch->list.replaces_refused &&
      (!listwatch->list.may_lack_watches ||
       listwatch->state == KIN__LISTWATCH_OPENING)) {
    listwatch->list.replaces_refused = false;
    *listwatch->options.list_and_watch.stream_refused = true;
  }
}

void kin__listwatch_on_stream_refused(kin__listwatch *listwatch,
                                      kin__listwatch_actions *actions) {
  if (listwatch->state == KIN__LISTWATCH_STREAMING) {
    list_instead(listwatch, actions);
  }
}

void kin__listwatch_heard(kin__listwatch *listwatch, kin__stream_news news) {
  if (listwatch->state == KIN__LISTWATCH_STREAMING &&
      listwatch->in.streaming.news < news) {
    listwatch->in.streaming.news = news;
  }
}

/* Notes progress since the last tick. */
static void take_stock(kin__streaming *streaming, uint64_t now_ms) {
  streaming->idle_ticks++;
  streaming->silent_ticks++;
  if (streaming->news != KIN__NEWS_NONE) {
    streaming->silent_ticks = 0;
    streaming->had_bytes = true;
    streaming->heard_ms = now_ms;
  }
  if (streaming->news == KIN__NEWS_KEY || streaming->news == KIN__NEWS_BYTES) {
    streaming->idle_ticks = 0;
    streaming->progress_ms = now_ms;
  }
  streaming->news = KIN__NEWS_NONE;
}

/* WL-09. */
void kin__listwatch_on_stream_timer(kin__listwatch *listwatch, uint64_t now_ms,
                                    kin__listwatch_actions *actions) {
  kin__streaming *streaming = kin__listwatch_streaming(listwatch);
  take_stock(streaming, now_ms);
  bool is_over = now_ms >= deadline_ms_of(streaming);
  if (streaming->idle_ticks < IDLE_TICKS && !is_over) {
    await_progress(actions);
    return;
  }
  actions->cancel_request = true;
  if (streaming->silent_ticks >= IDLE_TICKS) {
    actions->gave_up_stream =
        streaming->had_bytes ? KIN__STREAM_FELL_SILENT : KIN__STREAM_SILENT;
    actions->silent_ms = now_ms - streaming->heard_ms;
    *listwatch->options.list_and_watch.stream_refused = true;
  } else {
    actions->gave_up_stream = KIN__STREAM_ENDLESS;
    actions->silent_ms = now_ms - streaming->progress_ms;
    listwatch->past.never_streams = true;
  }
  list_instead(listwatch, actions);
}
