/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <string.h>

/* A list that comes as a watch (WatchList, WL rows): the server sends each
 * object as an event, marks their end with a bookmark, and goes on with changes
 * on the same response. It is not older than any earlier state, costs the
 * server no list, and here it fills the same stage as a list would.
 *
 * It cannot hang, nor go on for ever. A server that refuses it, or has nothing
 * to say for a while, is asked for a list at once, and not for a stream again as
 * long as the client lives; one that breaks streams off, or cannot answer, after
 * the second. A stream makes progress while new keys come, or while one object
 * is so large that nothing else comes. A stream without progress, because
 * nothing marks its end, is given up like a silent one, but for this reflector
 * alone; so is one that has not come to its end when, as a watch, it should have
 * been ended, and one whose head does not come in the time that requests have. */

/* Without progress for two of these in a row: one alone may be a program that
 * was stopped, whose timer comes before the bytes that wait. */
#define PROGRESS_MS 5000u
#define IDLE_TICKS 2u

/* WL-07: what says that the server, or something before it, cannot do this; of
 * other failures a list would suffer as well. */
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

static void list_instead(kin__reflector *reflector,
                         kin__reflector_actions *actions) {
  reflector->streams_given_up = KIN__STREAM_TRIES;
  kin__to_listing(reflector, actions);
}

static void await_progress(kin__reflector_actions *actions) {
  actions->start_timer = true;
  actions->timer_ms = PROGRESS_MS;
}

/* The request may have waited for its turn, so the watch begins here. */
void kin__on_stream_head(kin__reflector *reflector, uint64_t now_ms,
                         kin__reflector_actions *actions) {
  reflector->idle_ticks = 0;
  reflector->silent_ticks = 0;
  reflector->had_events = false;
  reflector->saw_whole = false;
  reflector->saw_new = false;
  reflector->heard_ms = now_ms;
  reflector->progress_ms = now_ms;
  reflector->watch_began_ms = now_ms;
  await_progress(actions);
}

/* WL-04. */
void kin__on_stream_complete(kin__reflector *reflector, const char *version,
                             uint64_t now_ms, kin__reflector_actions *actions) {
  kin__copy_version(reflector->found_version, version);
  if (kin__list_goes_back(reflector)) {
    actions->stop_timer = true;
    actions->cancel_request = true;
    kin__to_listing(reflector, actions);
    return;
  }
  if (kin__list_brings_nothing(reflector)) {
    reflector->version_unavailable = true;
    actions->stop_timer = true;
    actions->cancel_request = true;
    kin__to_streaming(reflector, now_ms, actions);
    return;
  }
  kin__to_state(reflector, KIN__REFLECTOR_APPLYING);
  reflector->failures = 0;
  reflector->is_stream_open = true;
  actions->stop_timer = true;
  actions->hold_request = true;
  actions->apply_stage = true;
}

static uint64_t deadline_ms_of(const kin__reflector *reflector) {
  return reflector->watch_began_ms +
         reflector->watch_timeout_s * UINT64_C(1000) + KIN__WATCH_MARGIN_MS;
}

/* The same response goes on as the watch. */
void kin__on_stream_applied(kin__reflector *reflector, uint64_t now_ms,
                            kin__reflector_actions *actions) {
  uint64_t deadline_ms = deadline_ms_of(reflector);
  kin__to_state(reflector, KIN__REFLECTOR_WATCHING);
  reflector->is_stream_open = false;
  reflector->watch_began_ms = now_ms;
  reflector->watching_since_ms = now_ms;
  reflector->saw_anything = false;
  reflector->version_is_ordered = true;
  actions->continue_request = true;
  actions->start_timer = true;
  actions->timer_ms = deadline_ms > now_ms ? deadline_ms - now_ms : 0;
}

/* WL-06, but not for ever. */
void kin__on_stream_ended(kin__reflector *reflector, uint64_t now_ms,
                          kin__reflector_actions *actions) {
  actions->stop_timer = true;
  bool was_short =
      now_ms - reflector->watch_began_ms < KIN__VERY_SHORT_WATCH_MS;
  reflector->streams_given_up++;
  if ((was_short && !reflector->saw_anything) ||
      reflector->streams_given_up >= KIN__STREAM_TRIES) {
    list_instead(reflector, actions);
  } else {
    kin__to_streaming(reflector, now_ms, actions);
  }
}

static bool falls_back(kin__reflector *reflector, const kin__failure *failure,
                       uint64_t now_ms, kin__reflector_actions *actions) {
  if (failure->error_class == KIN_CLASS_DECODE) {
    list_instead(reflector, actions);
    return true;
  }
  bool is_version_bad = failure->is_expired || failure->is_rv_too_large;
  if (is_version_bad && !reflector->fell_back_to_current) {
    reflector->fell_back_to_current = true;
    reflector->version_unavailable = true;
    reflector->versions_repeat |= failure->is_rv_too_large;
    kin__to_streaming(reflector, now_ms, actions);
    return true;
  }
  return false;
}

/* Whether a list may fare better; the others would be refused as well, or are
 * asked to come back. */
static bool is_of_streams(const kin__reflector *reflector,
                          const kin__failure *failure) {
  return reflector->is_granted || failure->status >= 500 ||
         failure->code == KIN_ECONTENT;
}

/* The request was sent, and nothing came: somebody between may hold back what
 * does not end. */
static bool has_no_head(const kin__reflector *reflector,
                        const kin__failure *failure) {
  return !reflector->is_granted && failure->code == KIN_ETIMEDOUT &&
         failure->error_class == KIN_CLASS_PROTOCOL;
}

void kin__on_stream_failed(kin__reflector *reflector,
                           const kin__failure *failure, uint64_t now_ms,
                           kin__reflector_actions *actions) {
  actions->stop_timer = true;
  if (is_refusal(failure)) {
    /* Nothing is wrong, so nobody is told. */
    *reflector->stream_refused = true;
    list_instead(reflector, actions);
    return;
  }
  if (falls_back(reflector, failure, now_ms, actions)) {
    kin__count_failure(reflector, now_ms, actions);
    return;
  }
  reflector->has_given_up_streams |= has_no_head(reflector, failure);
  reflector->streams_given_up += is_of_streams(reflector, failure);
  actions->drop_stage = true;
  kin__fail_and_wait(reflector, failure, KIN__REFLECTOR_LISTING, now_ms,
                     actions);
}

void kin__on_stream_refused(kin__reflector *reflector,
                            kin__reflector_actions *actions) {
  if (reflector->state == KIN__REFLECTOR_STREAMING) {
    list_instead(reflector, actions);
  }
}

void kin__reflector_streamed(kin__reflector *reflector, bool is_new) {
  reflector->saw_anything = true;
  reflector->saw_whole = true;
  reflector->saw_new |= is_new;
}

/* Notes what came since the last tick. */
static void take_stock(kin__reflector *reflector, uint64_t now_ms) {
  bool has_progress =
      reflector->saw_new || (reflector->saw_anything && !reflector->saw_whole);
  reflector->idle_ticks++;
  reflector->silent_ticks++;
  if (reflector->saw_anything) {
    reflector->silent_ticks = 0;
    reflector->had_events = true;
    reflector->heard_ms = now_ms;
  }
  if (has_progress) {
    reflector->idle_ticks = 0;
    reflector->progress_ms = now_ms;
  }
  reflector->saw_anything = false;
  reflector->saw_whole = false;
  reflector->saw_new = false;
}

void kin__on_stream_timer(kin__reflector *reflector, uint64_t now_ms,
                          kin__reflector_actions *actions) {
  take_stock(reflector, now_ms);
  bool is_over = now_ms >= deadline_ms_of(reflector);
  if (reflector->idle_ticks < IDLE_TICKS && !is_over) {
    await_progress(actions);
    return;
  }
  bool is_silent = reflector->silent_ticks >= IDLE_TICKS;
  actions->cancel_request = true;
  actions->gave_up_stream = true; /* WL-09 */
  actions->had_events = reflector->had_events;
  actions->is_endless = !is_silent;
  actions->silent_ms =
      now_ms - (is_silent ? reflector->heard_ms : reflector->progress_ms);
  if (is_silent) {
    *reflector->stream_refused = true;
  } else {
    reflector->has_given_up_streams = true;
  }
  list_instead(reflector, actions);
}
