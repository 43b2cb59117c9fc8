/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <assert.h>
#include <string.h>

/* A reflector that only watches. */

#define REWATCH_MS 1000u /* TW-02 */

void kin__reflector_watch_only(kin__reflector *reflector, const char *version,
                               uint32_t timeout_s, bool is_single) {
  assert(reflector->state == KIN__REFLECTOR_IDLE &&
         strlen(version) < KIN__VERSION_SIZE);
  kin__copy_version(reflector->version, version);
  reflector->is_watch_only = true;
  reflector->is_single = is_single;
  reflector->only_timeout_s = timeout_s;
}

/* TW-03, TW-04. A 410 in answer to the request itself may come from one server
 * of several, and is tried again. */
static bool ends_watching(const kin__reflector *reflector,
                          const kin__failure *failure) {
  if (reflector->is_single) {
    return true;
  }
  if (reflector->state == KIN__REFLECTOR_OPENING) {
    return failure->status == 401 || failure->status == 403;
  }
  return failure->is_expired || failure->status == 410 ||
         kin__failure_is_misplaced(failure);
}

static void end_watching(kin__reflector *reflector,
                         kin__reflector_actions *actions) {
  kin__to_state(reflector, KIN__REFLECTOR_STOPPED);
  actions->ended = true;
}

/* TW-02: a second between two beginnings, so that a watch that has lasted
 * longer is resumed at once. */
static void rewatch(kin__reflector *reflector, int64_t retry_after_s,
                    uint64_t now_ms, kin__reflector_actions *actions) {
  uint64_t age_ms = now_ms - reflector->watch_began_ms;
  uint64_t delay_ms = age_ms < REWATCH_MS ? REWATCH_MS - age_ms : 0;
  delay_ms = kin__delay_at_least(delay_ms, retry_after_s);
  if (delay_ms == 0) {
    kin__to_opening(reflector, now_ms, actions);
  } else {
    kin__to_waiting(reflector, KIN__REFLECTOR_OPENING, delay_ms, actions);
  }
}

void kin__on_only_watch_failed(kin__reflector *reflector,
                               const kin__failure *failure, uint64_t now_ms,
                               kin__reflector_actions *actions) {
  actions->stop_timer = reflector->state == KIN__REFLECTOR_WATCHING;
  if (ends_watching(reflector, failure)) {
    end_watching(reflector, actions);
    return;
  }
  kin__count_failure(reflector, now_ms, actions);
  rewatch(reflector, failure->retry_after_s, now_ms, actions);
}

void kin__on_only_watch_ended(kin__reflector *reflector, uint64_t now_ms,
                              kin__reflector_actions *actions) {
  if (reflector->is_single) {
    end_watching(reflector, actions);
  } else {
    rewatch(reflector, -1, now_ms, actions);
  }
}
