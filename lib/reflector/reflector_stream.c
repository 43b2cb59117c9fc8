/* SPDX-License-Identifier: MIT */
#include "reflector/reflector_core.h"

#include <string.h>

/* A list that comes as a watch (WatchList, WL rows): the server sends each
 * object as an event, marks their end with a bookmark, and goes on with changes
 * on the same response. It is not older than any earlier state, costs the
 * server no list, and here it fills the same stage as a list would.
 *
 * It cannot hang: a server that refuses it, or has nothing to say for a while,
 * is asked for a list at once, and not for a stream again as long as the client
 * lives; one that breaks streams off, or cannot answer, after the second. */

/* Silent for two of these in a row: one alone may be a program that was
 * stopped, whose timer comes before the bytes that wait. */
#define PROGRESS_MS 5000u
#define SILENT_TICKS 2u

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
  reflector->silent_ticks = 0;
  reflector->had_events = false;
  reflector->heard_ms = now_ms;
  reflector->watch_began_ms = now_ms;
  await_progress(actions);
}

/* WL-04. */
void kin__on_stream_complete(kin__reflector *reflector, const char *version,
                             kin__reflector_actions *actions) {
  kin__copy_version(reflector->found_version, version);
  if (kin__list_goes_back(reflector)) {
    actions->stop_timer = true;
    actions->cancel_request = true;
    kin__to_listing(reflector, actions);
    return;
  }
  kin__to_state(reflector, KIN__REFLECTOR_APPLYING);
  reflector->failures = 0;
  reflector->is_stream_open = true;
  actions->stop_timer = true;
  actions->hold_request = true;
  actions->apply_stage = true;
}

/* The same response goes on as the watch. */
void kin__on_stream_applied(kin__reflector *reflector, uint64_t now_ms,
                            kin__reflector_actions *actions) {
  uint64_t deadline_ms = reflector->watch_began_ms +
                         reflector->watch_timeout_s * UINT64_C(1000) +
                         KIN__WATCH_MARGIN_MS;
  kin__to_state(reflector, KIN__REFLECTOR_WATCHING);
  reflector->is_stream_open = false;
  reflector->watch_began_ms = now_ms;
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

void kin__on_stream_timer(kin__reflector *reflector, uint64_t now_ms,
                          kin__reflector_actions *actions) {
  reflector->silent_ticks++;
  if (reflector->saw_anything) {
    reflector->saw_anything = false;
    reflector->silent_ticks = 0;
    reflector->had_events = true;
    reflector->heard_ms = now_ms;
  }
  if (reflector->silent_ticks < SILENT_TICKS) {
    await_progress(actions);
    return;
  }
  actions->cancel_request = true;
  actions->gave_up_stream = true; /* WL-09 */
  actions->had_events = reflector->had_events;
  actions->silent_ms = now_ms - reflector->heard_ms;
  *reflector->stream_refused = true;
  list_instead(reflector, actions);
}
