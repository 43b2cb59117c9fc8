/* SPDX-License-Identifier: MIT */
#include "feed/feed_core.h"

#include <stdio.h>

/* The public state of a feed. The table of states is in doc/architecture.md. */

#define STALE_AFTER_MS 60000u

uint64_t kin__feed_stale_in_ms(const kin_feed *feed) {
  uint64_t failing_ms =
      kin__listwatch_failing_ms(&feed->listwatch, kin__env_now_ms(feed->env));
  return failing_ms < STALE_AFTER_MS ? STALE_AFTER_MS - failing_ms : UINT64_MAX;
}

/* A list, or a check of the position, has its turn and takes so long that the
 * cache grows old. The owner of a machine that only lists sets the pace. */
static bool is_late(const kin_feed *feed, uint64_t age_ms) {
  kin__listwatch_state machine = kin__listwatch_state_of(&feed->listwatch);
  bool is_asking = machine == KIN__LISTWATCH_LISTING ||
                   machine == KIN__LISTWATCH_STREAMING ||
                   machine == KIN__LISTWATCH_APPLYING ||
                   machine == KIN__LISTWATCH_VERIFYING;
  return is_asking && age_ms >= STALE_AFTER_MS &&
         !kin__feed_waits_to_list(feed) &&
         kin__listwatch_mode_of(&feed->listwatch) != KIN__LIST_ONCE;
}

void kin__feed_mind_time(kin_feed *feed) {
  uint64_t age_ms = kin__feed_request_age_ns(feed) / 1000000u;
  if (is_late(feed, age_ms)) {
    kin__feed_report_late(feed, age_ms);
    kin__feed_update_state(feed);
  }
}

/* A failure is no reason to leave STALE. */
static bool is_stale(const kin_feed *feed) {
  bool was_stale = feed->state == KIN_STATE_STALE &&
                   kin__listwatch_failures(&feed->listwatch) > 0;
  return was_stale || feed->is_silent ||
         is_late(feed, kin__feed_request_age_ns(feed) / 1000000u) ||
         kin__listwatch_has_lost_verify(&feed->listwatch) ||
         kin__feed_stale_in_ms(feed) == UINT64_MAX;
}

/* A refusal of every request (401, 403, 404) comes before all other states. */
static bool is_turned_away(const kin_feed *feed, kin_state *state) {
  if (kin__listwatch_failures(&feed->listwatch) == 0) {
    return false;
  }
  switch (feed->last_error_class) {
  case KIN_CLASS_AUTH:
  case KIN_CLASS_FORBIDDEN:
    *state = KIN_STATE_DENIED;
    return true;
  case KIN_CLASS_ABSENT:
    *state = KIN_STATE_ABSENT;
    return true;
  default:
    return false;
  }
}

static kin_state compute_state(const kin_feed *feed) {
  kin__listwatch_state machine = kin__listwatch_state_of(&feed->listwatch);
  kin_state state;
  if (machine == KIN__LISTWATCH_IDLE || machine == KIN__LISTWATCH_STOPPED) {
    return KIN_STATE_IDLE;
  }
  if (is_turned_away(feed, &state)) {
    return state;
  }
  if (!feed->has_synced) {
    return KIN_STATE_SYNCING;
  }
  if (is_stale(feed)) {
    return KIN_STATE_STALE;
  }
  if (machine == KIN__LISTWATCH_WATCHING) {
    return KIN_STATE_LIVE;
  }
  /* The first watch, and the watch after a regular end, open within a round
   * trip; so does a watch after a verify. The state stays meanwhile. A wait
   * without a failure is longer: the watch had ended within a second. */
  bool was_well =
      (feed->state == KIN_STATE_LIVE || feed->state == KIN_STATE_SYNCING) &&
      machine != KIN__LISTWATCH_WAITING;
  return kin__listwatch_failures(&feed->listwatch) == 0 && was_well &&
                 !feed->is_relisting
             ? feed->state
             : KIN_STATE_RECONNECTING;
}

void kin__feed_update_state(kin_feed *feed) {
  kin_state from = feed->state;
  feed->state = compute_state(feed);
  if (feed->state != from && !feed->is_closed) {
    kin__notice_state(feed, from, feed->state);
    kin__log_write(feed->env->log, KIN_LOG_INFO, KIN__FEED_PLACE "%s -> %s",
                   KIN__FEED_PLACE_ARGS(feed), kin_state_name(from),
                   kin_state_name(feed->state));
  }
}

static uint64_t age_ms(uint64_t then_ms, uint64_t now_ms) {
  return then_ms == UINT64_MAX ? UINT64_MAX : now_ms - then_ms;
}

void kin__feed_get_status(const kin_feed *feed, kin_status *status) {
  uint64_t now_ms = kin__env_now_ms(feed->env);
  const kin__feed_counters *counters = &feed->counters;
  const uint64_t *events = feed->metrics.events;
  *status = (kin_status){
      .lists = counters->lists,
      .relists = counters->relists,
      .slow_lists = counters->slow_lists,
      .overdue_lists = counters->overdue_lists,
      .watches = counters->watches,
      .bookmarks = counters->bookmarks,
      .unchanged = counters->unchanged,
      .received_bytes = counters->received_bytes,
      .transform_failures = counters->transform_failures,
      .oversized = counters->oversized,
      .bad_objects = counters->bad_objects,
      .checked_lists = counters->checked_lists,
      .inconsistent_lists = counters->inconsistent_lists,
      .other_shards = counters->other_shards,
      .over_max_bytes = counters->over_max_bytes,
      .shard_count = counters->shard_count,
      .shard_filter = counters->shard_filter,
  };
  status->events = events[0] + events[1] + events[2];
  status->state = compute_state(feed);
  status->has_synced = feed->has_synced;
  snprintf(status->resource_version, sizeof status->resource_version, "%s",
           kin__listwatch_version(&feed->listwatch));
  status->byte_age_ms = age_ms(feed->last_byte_ms, now_ms);
  status->event_age_ms = age_ms(feed->last_event_ms, now_ms);
  status->bookmark_age_ms = age_ms(feed->last_bookmark_ms, now_ms);
  status->turn_wait_ms = age_ms(
      kin__feed_waits_to_list(feed) ? feed->listing->turn.since_ms : UINT64_MAX,
      now_ms);
  status->limit_wait_ms = age_ms(feed->delayed_since_ms, now_ms);
  status->failures = kin__listwatch_failures(&feed->listwatch);
  status->staged = kin__stage_count(&feed->stage);
  status->last_error_class = feed->last_error_class;
  status->last_error_status = feed->last_error_status;
}

const char *kin_state_name(kin_state state) {
  static const char *const names[] = {
      [KIN_STATE_IDLE] = "idle",     [KIN_STATE_SYNCING] = "syncing",
      [KIN_STATE_LIVE] = "live",     [KIN_STATE_RECONNECTING] = "reconnecting",
      [KIN_STATE_STALE] = "stale",   [KIN_STATE_DENIED] = "denied",
      [KIN_STATE_ABSENT] = "absent",
  };
  size_t i = (size_t)state;
  return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}
