/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "feed/feed_core.h"
#include "feed/feed_request.h"

/* The request that is open at the source: it is sent, paused, held and dropped.
 */

#define SHORT_WATCH_US 1000000u /* RW-07 */

static void measure_watch(kin_feed *feed) {
  kin__feed_metrics *metrics = &feed->metrics;
  uint64_t age_us = kin__feed_request_age_ns(feed) / 1000u;
  kin__feed_count(feed, KIN__FEED_WATCH_US, age_us);
  kin__feed_count(feed, KIN__FEED_WATCH_ITEMS, metrics->request_items);
  metrics->short_watches +=
      metrics->request_items == 0 && age_us < SHORT_WATCH_US;
}

static void drop_held(kin_feed *feed) {
  kin__stage_discard(&feed->held);
  (void)kin__stage_free_step(&feed->held, SIZE_MAX);
}

void kin__feed_request_ended(kin_feed *feed) {
  if (feed->request == KIN__REQUEST_WATCH && feed->is_granted) {
    measure_watch(feed);
  }
  feed->request = KIN__REQUEST_NONE;
  feed->answer = NULL;
  feed->delayed_since_ms = UINT64_MAX;
  kin__link_remove(&feed->paused_node);
  if (feed->is_held) {
    /* The next watch brings these events again. */
    feed->is_held = false;
    drop_held(feed);
  }
}

/* Inside open there is no answer to cancel yet; kin__feed_send_request cancels
 * it then. */
void kin__feed_drop_request(kin_feed *feed) {
  if (feed->request != KIN__REQUEST_NONE) {
    void *answer = feed->answer;
    kin__feed_request_ended(feed);
    if (!feed->is_opening) {
      feed->source->cancel(feed->source_ctx, answer);
    }
  }
}

void kin__feed_start_clock(kin_feed *feed) {
  feed->metrics.request_began_ns = kin__clock_ns(&feed->env->clock);
  feed->metrics.request_items = 0;
  feed->is_told_late = false;
  kin__feed_list_asked(feed);
}

void kin__feed_delayed(kin_feed *feed) {
  feed->delayed_since_ms = kin__env_now_ms(feed->env);
}

void kin__feed_sent_late(kin_feed *feed) {
  feed->delayed_since_ms = UINT64_MAX;
  bool is_later_page = feed->request == KIN__REQUEST_LIST &&
                       kin__listwatch_is_later_page(&feed->listwatch);
  if (!is_later_page) {
    kin__feed_start_clock(feed);
  }
}

void kin__feed_doubt_shard(kin_feed *feed) {
  feed->counters.shard_count = feed->resource->shard.count;
  feed->counters.shard_filter = kin__shard_is_part(&feed->resource->shard)
                                    ? KIN_SHARD_UNKNOWN
                                    : KIN_SHARD_NONE;
}

int kin__feed_send_request(kin_feed *feed,
                           const kin__listwatch_request *wanted) {
  kin_feed_request request = {
      .size = sizeof request,
      .is_watch = kin__is_watch(wanted->kind),
      .send_initial_events = wanted->kind == KIN__REQUEST_STREAM,
      .namespace_ = feed->namespace_,
      .resource_version = kin__or_default(wanted->version, ""),
      .resource_version_match = kin__or_default(wanted->version_match, ""),
      .continue_token = kin__or_default(wanted->token, ""),
      .limit = wanted->limit,
      .timeout_s = wanted->timeout_s};
  feed->request = wanted->kind;
  feed->is_retry = wanted->is_retry;
  feed->is_granted = false;
  feed->connection = 0;
  if (kin__is_list(wanted->kind) && request.continue_token[0] == '\0') {
    kin__feed_doubt_shard(feed);
    kin__feed_forget_states(feed);
  }
  if (request.continue_token[0] == '\0') {
    kin__feed_start_clock(feed);
  }
  void *answer = NULL;
  feed->is_opening = true;
  int err = kin__feed_request_complete(&request, feed->resource);
  if (wanted->kind == KIN__REQUEST_PROOF) {
    request.limit = 0;
  }
  if (err == 0) {
    err = feed->source->open(feed->source_ctx, &request, feed, &answer);
  }
  feed->is_opening = false;
  if (err != 0) {
    kin__feed_request_ended(feed);
  } else if (feed->request == KIN__REQUEST_NONE) {
    feed->source->cancel(feed->source_ctx, answer); /* closed by open */
  } else {
    feed->answer = answer;
  }
  return err <= 0 ? err : KIN_EINVAL;
}

bool kin__feed_take_address(kin_feed *feed, uint32_t server_address,
                            bool is_granted) {
  bool is_known = feed->server_address != 0;
  bool is_same = feed->server_address == server_address;
  bool begins_list = kin__is_list(feed->request) &&
                     !kin__listwatch_is_later_page(&feed->listwatch);
  bool may_differ = !is_known || begins_list;
  if (is_granted && is_known && !is_same && begins_list) {
    kin__listwatch_doubt(&feed->listwatch, KIN__DOUBT_REPEAT);
    kin__feed_forget_states(feed);
  }
  if (is_granted && may_differ) {
    feed->server_address = server_address;
  }
  return may_differ || is_same;
}

void kin__feed_pause(kin_feed *feed, kin__link *list) {
  if (kin__feed_is_open(feed) && feed->source->pause != NULL &&
      kin__link_is_empty(&feed->paused_node)) {
    kin__link_push(list, &feed->paused_node);
    if (!feed->is_held) {
      feed->source->pause(feed->source_ctx, feed->answer);
    }
  }
}

void kin__feed_resume(kin_feed *feed) {
  kin__link_remove(&feed->paused_node);
  if (!feed->is_held) {
    feed->source->resume(feed->source_ctx, feed->answer);
  }
}

void kin__feed_hold(kin_feed *feed) {
  feed->is_held = true;
  if (kin__link_is_empty(&feed->paused_node)) {
    feed->source->pause(feed->source_ctx, feed->answer);
  }
}

void kin__feed_unhold(kin_feed *feed) {
  feed->request = KIN__REQUEST_WATCH;
  feed->metrics.request_began_ns = kin__clock_ns(&feed->env->clock);
  feed->metrics.request_items = 0;
  int err = kin__feed_take_held(feed);
  feed->is_held = false;
  if (err != 0) {
    drop_held(feed);
    kin__feed_give_up(feed, err, "");
  } else if (kin__link_is_empty(&feed->paused_node)) {
    feed->source->resume(feed->source_ctx, feed->answer);
  }
}
