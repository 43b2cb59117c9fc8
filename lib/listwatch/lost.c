/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <string.h>

#include "listwatch/version.h"

/* A lost or missing position: the failures that lose it, the wait before the
 * next list, and the version which that list must have. A lost position is
 * never watched again. If the list is not newer, a consistent list follows, and
 * its version is accepted. */

/* Least time between two lists if the first has brought something, or a watch
 * has held in between. A server that soon loses each position is not listed
 * every second. */
#define LIST_DISTANCE_MS 5000u

bool kin__listwatch_is_any_version(const char *version) {
  return version[0] == '\0' || strcmp(version, "0") == 0;
}

/* KIN_RELIST_REASONS if the position is kept. */
static kin_relist_reason lost_reason(const kin__failure *failure) {
  if (failure->is_rv_too_large) {
    return KIN_RELIST_TOO_LARGE;
  }
  if (failure->is_expired) {
    return KIN_RELIST_EXPIRED;
  }
  if (failure->error_class == KIN_CLASS_DECODE) {
    return KIN_RELIST_DECODE;
  }
  if (kin__failure_is_malformed(failure)) {
    return KIN_RELIST_REFUSED;
  }
  return strcmp(failure->reason, "StorageReadError") == 0 ? KIN_RELIST_STORAGE
                                                          : KIN_RELIST_REASONS;
}

void kin__listwatch_doubt(kin__listwatch *listwatch, kin__version_doubt doubt) {
  if (listwatch->position.doubt < doubt) {
    listwatch->position.doubt = doubt;
  }
}

void kin__listwatch_lose_position(kin__listwatch *listwatch,
                                  kin_relist_reason reason,
                                  kin__listwatch_actions *actions) {
  listwatch->position.lost_by = reason;
  listwatch->lost_positions[reason]++;
  kin__listwatch_end_verify(listwatch, KIN_EGONE, actions);
}

bool kin__listwatch_lose_position_by(kin__listwatch *listwatch,
                                     const kin__failure *failure,
                                     kin__listwatch_actions *actions) {
  kin_relist_reason reason = lost_reason(failure);
  if (reason == KIN_RELIST_REASONS) {
    return false;
  }
  if (reason == KIN_RELIST_TOO_LARGE) {
    kin__listwatch_doubt(listwatch, KIN__DOUBT_REPEAT);
  }
  kin__listwatch_lose_position(listwatch, reason, actions);
  return true;
}

bool kin__listwatch_list_brings_nothing(const kin__listwatch *listwatch) {
  const kin__position *position = &listwatch->position;
  const char *wanted = listwatch->list.version;
  if (position->version[0] == '\0') {
    return kin__version_is_before(listwatch->list_found, wanted);
  }
  return position->lost_by != KIN_RELIST_REASONS && wanted[0] != '\0' &&
         kin__version_reaches(position->version, listwatch->list_found);
}

bool kin__listwatch_note_older_list(kin__listwatch *listwatch) {
  if (kin__listwatch_versions_repeat(listwatch) ||
      listwatch->position.is_unversioned ||
      !kin__version_is_before(listwatch->list_found,
                              listwatch->position.version)) {
    return false;
  }
  kin__listwatch_doubt(listwatch, KIN__DOUBT_REPEAT);
  return true;
}

/* --- When the list follows ------------------------------------------------ */

/* A watch that holds ends all backoffs: earlier failures say nothing about the
 * next one. */
void kin__listwatch_note_held(kin__listwatch *listwatch, uint64_t now_ms) {
  if (listwatch->state != KIN__LISTWATCH_WATCHING ||
      now_ms - kin__listwatch_watching(listwatch)->since_ms <
          KIN__VERY_SHORT_WATCH_MS) {
    return;
  }
  listwatch->past.has_progressed = true;
  listwatch->past.empty_watches = 0;
  kin__listwatch_init_backoffs(listwatch, now_ms);
}

void kin__listwatch_note_progress(kin__listwatch *listwatch, uint64_t now_ms) {
  listwatch->past.applied_ms = now_ms;
  listwatch->past.empty_watches = 0;
  const kin__position *position = &listwatch->position;
  listwatch->past.has_progressed =
      position->lost_by != KIN_RELIST_REASONS &&
      kin__version_is_before(position->version, listwatch->list_found);
  if (listwatch->past.has_progressed) {
    kin__backoff_init(&listwatch->retries.backoffs[KIN__BACKOFF_LOST],
                      KIN__BACKOFF_LOST, now_ms);
  }
}

/* Rest of LIST_DISTANCE_MS since the last list. */
static uint64_t distance_left_ms(const kin__listwatch *listwatch,
                                 uint64_t now_ms) {
  uint64_t age_ms = now_ms - listwatch->past.applied_ms;
  return age_ms < LIST_DISTANCE_MS ? LIST_DISTANCE_MS - age_ms : 0;
}

/* This backoff grows only while lists bring nothing new and no watch holds
 * after them. */
void kin__listwatch_wait_for_list(kin__listwatch *listwatch,
                                  const kin__failure *failure, uint64_t now_ms,
                                  kin__listwatch_actions *actions) {
  uint64_t delay_ms = kin__listwatch_next_delay_ms(
      listwatch, KIN__BACKOFF_LOST, failure->retry_after_s, now_ms);
  if (listwatch->past.has_progressed) {
    delay_ms += distance_left_ms(listwatch, now_ms);
  }
  kin__listwatch_count_failure(listwatch, now_ms, actions);
  kin__listwatch_to_waiting(listwatch, KIN__LISTWATCH_LISTING, delay_ms,
                            actions);
}

void kin__listwatch_list_again(kin__listwatch *listwatch, uint64_t now_ms,
                               kin__listwatch_actions *actions) {
  uint64_t delay_ms = distance_left_ms(listwatch, now_ms);
  if (delay_ms > 0) {
    kin__listwatch_to_waiting(listwatch, KIN__LISTWATCH_LISTING, delay_ms,
                              actions);
  } else {
    kin__listwatch_enter(listwatch, KIN__LISTWATCH_LISTING, now_ms, actions);
  }
}
