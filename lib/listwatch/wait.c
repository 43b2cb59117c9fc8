/* SPDX-License-Identifier: MIT */
#include "listwatch/listwatch_core.h"

/* The wait after each kind of failure, and the failures without a wait. */

/* Least time between the beginnings of two watches that end with an internal
 * error, as client-go's limit of five requests a second. */
#define INTERNAL_RETRY_MS 200u

void kin__listwatch_init_backoffs(kin__listwatch *listwatch, uint64_t now_ms) {
  for (int kind = 0; kind < KIN__BACKOFF_KINDS; kind++) {
    kin__backoff_init(&listwatch->retries.backoffs[kind],
                      (kin__backoff_kind)kind, now_ms);
  }
}

uint64_t kin__listwatch_next_delay_ms(kin__listwatch *listwatch,
                                      kin__backoff_kind kind,
                                      int64_t retry_after_s, uint64_t now_ms) {
  uint64_t delay_ms = kin__backoff_next_ms(&listwatch->retries.backoffs[kind],
                                           now_ms, listwatch->random);
  return kin__backoff_at_least(delay_ms, retry_after_s);
}

void kin__listwatch_count_failure(kin__listwatch *listwatch, uint64_t now_ms,
                                  kin__listwatch_actions *actions) {
  if (actions->report != KIN__REPORT_NONE) {
    return;
  }
  if (listwatch->retries.failures++ == 0) {
    listwatch->retries.failing_since_ms = now_ms;
  }
  actions->report = KIN__REPORT_FAILURE;
}

bool kin__listwatch_is_unreached(const kin__failure *failure) {
  if (failure->status != 0) {
    return false;
  }
  switch (failure->error_class) {
  case KIN_CLASS_DNS:
  case KIN_CLASS_CONNECT:
  case KIN_CLASS_TLS:
    return true;
  default:
    return failure->code == KIN_ETIMEDOUT;
  }
}

/* These refusals cost the server nothing. A program that had access before will
 * probably have access again soon. A program that never had access may be
 * refused for ever, and waits longer. */
static bool is_cheap_no(const kin__listwatch *listwatch,
                        const kin__failure *failure) {
  switch (failure->status) {
  case 0: /* a proxy's 407, or no credential: nothing has reached the server */
    return failure->error_class == KIN_CLASS_AUTH &&
           kin__listwatch_has_listed(listwatch);
  case 401:
  case 403:
    return kin__listwatch_has_listed(listwatch);
  case 404:
    return true;
  default:
    return failure->status != 0 && failure->retry_after_s >= 0;
  }
}

/* A refused list may have cost the server something. But an informer that was
 * complete is out of date while it waits, so the wait is at most 10 s. */
static bool is_refused_list(const kin__listwatch *listwatch,
                            const kin__failure *failure) {
  return kin__listwatch_has_listed(listwatch) &&
         !listwatch->retries.was_granted &&
         (failure->status == 429 || failure->status >= 500);
}

/* An answer that breaks off has cost the server something. So the ordinary,
 * longer backoff applies before a whole list, and after an ERROR event. */
static kin__backoff_kind kind_of(const kin__listwatch *listwatch,
                                 const kin__failure *failure,
                                 kin__listwatch_state after) {
  bool is_cheap = after != KIN__LISTWATCH_LISTING;
  if (is_cheap_no(listwatch, failure) ||
      (!is_cheap && is_refused_list(listwatch, failure))) {
    return KIN__BACKOFF_REFUSED;
  }
  if (failure->status == 429) {
    return is_cheap || listwatch->state == KIN__LISTWATCH_STREAMING
               ? KIN__BACKOFF_THROTTLED
               : KIN__BACKOFF_ORDINARY;
  }
  bool is_refused =
      failure->status >= 500 && is_cheap && !listwatch->retries.was_granted;
  bool is_unreached = kin__listwatch_is_unreached(failure) &&
                      (is_cheap || !listwatch->retries.was_granted);
  return is_refused || is_unreached ? KIN__BACKOFF_UNREACHED
                                    : KIN__BACKOFF_ORDINARY;
}

void kin__listwatch_fail_and_wait(kin__listwatch *listwatch,
                                  const kin__failure *failure,
                                  kin__listwatch_state after, uint64_t now_ms,
                                  kin__listwatch_actions *actions) {
  kin__backoff_kind kind = kind_of(listwatch, failure, after);
  kin__listwatch_count_failure(listwatch, now_ms, actions);
  kin__listwatch_to_waiting(listwatch, after,
                            kin__listwatch_next_delay_ms(listwatch, kind,
                                                         failure->retry_after_s,
                                                         now_ms),
                            actions);
}

/* RW-06, RD rows. */
bool kin__listwatch_retry_internal_error(kin__listwatch *listwatch,
                                         const kin__failure *failure,
                                         uint64_t now_ms,
                                         kin__listwatch_actions *actions) {
  kin__retry_deadline *deadline = &listwatch->retries.internal_errors;
  if (deadline->max_ms == 0 || !failure->is_internal ||
      listwatch->position.is_unversioned) {
    return false;
  }
  kin__retry_deadline_after(deadline, true, now_ms);
  if (!kin__retry_deadline_should_retry(deadline, now_ms)) {
    kin__listwatch_lose_position(listwatch, KIN_RELIST_INTERNAL, actions);
    kin__listwatch_wait_for_list(listwatch, failure, now_ms, actions);
    return true;
  }
  kin__listwatch_state after =
      kin__listwatch_is_verifying(listwatch)
          ? kin__listwatch_after_short_watch(listwatch, now_ms, actions)
          : KIN__LISTWATCH_OPENING;
  uint64_t age_ms = now_ms - kin__listwatch_watching(listwatch)->began_ms;
  uint64_t delay_ms = kin__backoff_at_least(
      age_ms < INTERNAL_RETRY_MS ? INTERNAL_RETRY_MS - age_ms : 0,
      failure->retry_after_s);
  kin__listwatch_count_failure(listwatch, now_ms, actions);
  if (delay_ms == 0) {
    kin__listwatch_enter(listwatch, after, now_ms, actions);
  } else {
    kin__listwatch_to_waiting(listwatch, after, delay_ms, actions);
  }
  return true;
}
