/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

#include <string.h>

#include "listwatch/version.h"

/* A position that is lost, or that never was: what loses it, how long to wait
 * for the list that follows, and what that list has to bring. A lost position
 * is never watched again: a list that is not newer brings nothing, and one that
 * is consistent is made instead. What that one says is so. */

/* From one list to the next after a watch that has held: a server that loses
 * each position soon is not asked for a list every second. */
#define LIST_DISTANCE_MS 5000u

bool kin__is_any_version(const char *version) {
  return version[0] == '\0' || strcmp(version, "0") == 0;
}

/* KIN__LOST_REASONS if the position is kept. */
static kin__lost_reason lost_reason(const kin__failure *failure) {
  if (failure->is_rv_too_large) {
    return KIN__LOST_TOO_LARGE;
  }
  if (failure->is_expired) {
    return KIN__LOST_EXPIRED;
  }
  if (failure->error_class == KIN_CLASS_DECODE) {
    return KIN__LOST_DECODE;
  }
  if (failure->status == 400 || failure->status == 422) {
    return KIN__LOST_REFUSED;
  }
  return strcmp(failure->reason, "StorageReadError") == 0 ? KIN__LOST_STORAGE
                                                          : KIN__LOST_REASONS;
}

void kin__lose_position(kin__reflector *reflector, kin__lost_reason reason) {
  kin__copy_version(reflector->lost_version, reflector->version);
  reflector->lost_positions[reason]++;
  kin__end_verify(reflector, KIN_EGONE);
}

bool kin__loses_position(kin__reflector *reflector,
                         const kin__failure *failure) {
  kin__lost_reason reason = lost_reason(failure);
  if (reason == KIN__LOST_REASONS) {
    return false;
  }
  if (reason == KIN__LOST_TOO_LARGE) {
    reflector->version_unavailable = true;
    reflector->versions_repeat = true;
  }
  kin__lose_position(reflector, reason);
  return true;
}

bool kin__list_brings_nothing(const kin__reflector *reflector) {
  return reflector->lost_version[0] != '\0' &&
         reflector->list_version[0] != '\0' &&
         kin__version_reaches(reflector->lost_version,
                              reflector->found_version);
}

bool kin__list_goes_back(kin__reflector *reflector) {
  if (reflector->versions_repeat || reflector->is_unversioned ||
      !kin__version_is_before(reflector->found_version, reflector->version)) {
    return false;
  }
  reflector->versions_repeat = true;
  reflector->version_unavailable = true;
  return true;
}

/* --- When the list follows ------------------------------------------------ */

/* Whatever happened before is over, and says nothing of the next failure. */
void kin__note_held(kin__reflector *reflector, uint64_t now_ms) {
  if (reflector->state != KIN__REFLECTOR_WATCHING ||
      now_ms - reflector->watching_since_ms < KIN__VERY_SHORT_WATCH_MS) {
    return;
  }
  reflector->has_held = true;
  kin__init_backoffs(reflector, now_ms);
}

/* Of LIST_DISTANCE_MS, what is left. */
static uint64_t distance_left_ms(const kin__reflector *reflector,
                                 uint64_t now_ms) {
  uint64_t age_ms = now_ms - reflector->listed_ms;
  return age_ms < LIST_DISTANCE_MS ? LIST_DISTANCE_MS - age_ms : 0;
}

/* The series grows only while no watch holds what lists have brought. */
void kin__wait_for_list(kin__reflector *reflector, const kin__failure *failure,
                        uint64_t now_ms, kin__reflector_actions *actions) {
  uint64_t delay_ms = kin__next_delay_ms(reflector, KIN__BACKOFF_LOST,
                                         failure->retry_after_s, now_ms);
  if (reflector->has_held) {
    delay_ms += distance_left_ms(reflector, now_ms);
  }
  kin__count_failure(reflector, now_ms, actions);
  kin__to_waiting(reflector, KIN__REFLECTOR_LISTING, delay_ms, actions);
}

void kin__list_again(kin__reflector *reflector, uint64_t now_ms,
                     kin__reflector_actions *actions) {
  uint64_t delay_ms = distance_left_ms(reflector, now_ms);
  if (delay_ms > 0) {
    kin__to_waiting(reflector, KIN__REFLECTOR_LISTING, delay_ms, actions);
  } else {
    kin__enter(reflector, KIN__REFLECTOR_LISTING, now_ms, actions);
  }
}
