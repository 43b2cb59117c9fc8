/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

/* A machine that only watches. */

#define REWATCH_MS 1000u /* TW-02 */

/* TW-03, TW-04. A 410 to the request itself may come from one server of
 * several, so it is retried. Another cluster (KIN_EGONE without a status) never
 * has the version. */
static bool ends_watching(const kin__listwatch *listwatch,
                          const kin__failure *failure) {
  if (listwatch->options.watch_only.is_single) {
    return true;
  }
  if (listwatch->state == KIN__LISTWATCH_OPENING) {
    return failure->status == 401 || failure->status == 403 ||
           kin__failure_voids_versions(failure);
  }
  return failure->is_expired || failure->status == 410 ||
         kin__failure_is_misplaced(failure);
}

static void end_watching(kin__listwatch *listwatch,
                         kin__listwatch_actions *actions) {
  kin__listwatch_to_stopped(listwatch);
  actions->ended = true;
}

/* TW-02: a second between two beginnings. A watch that lasted longer is resumed
 * at once. */
static void rewatch(kin__listwatch *listwatch, int64_t retry_after_s,
                    uint64_t now_ms, kin__listwatch_actions *actions) {
  uint64_t began_ms = listwatch->state == KIN__LISTWATCH_OPENING
                          ? kin__listwatch_opening(listwatch)->began_ms
                          : kin__listwatch_watching(listwatch)->began_ms;
  uint64_t age_ms = now_ms - began_ms;
  uint64_t delay_ms = age_ms < REWATCH_MS ? REWATCH_MS - age_ms : 0;
  delay_ms = kin__backoff_at_least(delay_ms, retry_after_s);
  if (delay_ms == 0) {
    kin__listwatch_to_opening(listwatch, now_ms, actions);
  } else {
    kin__listwatch_to_waiting(listwatch, KIN__LISTWATCH_OPENING, delay_ms,
                              actions);
  }
}

void kin__listwatch_on_only_watch_failed(kin__listwatch *listwatch,
                                         const kin__failure *failure,
                                         uint64_t now_ms,
                                         kin__listwatch_actions *actions) {
  actions->stop_timer = listwatch->state == KIN__LISTWATCH_WATCHING;
  if (ends_watching(listwatch, failure)) {
    end_watching(listwatch, actions);
    return;
  }
  kin__listwatch_count_failure(listwatch, now_ms, actions);
  rewatch(listwatch, failure->retry_after_s, now_ms, actions);
}

void kin__listwatch_on_only_watch_ended(kin__listwatch *listwatch,
                                        uint64_t now_ms,
                                        kin__listwatch_actions *actions) {
  if (listwatch->options.watch_only.is_single) {
    end_watching(listwatch, actions);
  } else {
    rewatch(listwatch, -1, now_ms, actions);
  }
}
