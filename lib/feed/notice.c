/* SPDX-License-Identifier: MIT */
#include "feed/notice.h"

#include "feed/feed.h"

void kin__notice_failure(kin_feed *feed, const kin__failure *failure,
                         uint64_t retry_in_ms) {
  if (feed->owner->failed == NULL) {
    return;
  }
  kin__noted_failure_set(&feed->notice.failure, feed->env->allocator, failure);
  uint32_t failures = kin__listwatch_failures(&feed->listwatch);
  feed->notice.attempt = failures > 0 ? failures : 1;
  feed->notice.retry_in_ms = retry_in_ms;
  kin__sched_add(feed->env->sched, &feed->notice.task);
}

void kin__notice_state(kin_feed *feed, kin_state from, kin_state to) {
  kin__notice *notice = &feed->notice;
  if (feed->owner->state_changed == NULL) {
    return;
  }
  if (notice->state_count == KIN__NOTICE_STATES) {
    notice->states[KIN__NOTICE_STATES - 1].to = (uint8_t)to;
  } else {
    notice->states[notice->state_count].from = (uint8_t)from;
    notice->states[notice->state_count].to = (uint8_t)to;
    notice->state_count++;
  }
  kin__sched_add(feed->env->sched, &notice->task);
}

/* Delivers the changes noted before the call. The feed may be closed
 * meanwhile. */
static void tell_states(kin_feed *feed) {
  const kin__notice told = feed->notice;
  feed->notice.state_count = 0;
  for (uint8_t i = 0; i < told.state_count && !feed->is_closed; i++) {
    uint64_t start_ns = kin__clock_ns(&feed->env->clock);
    feed->owner->state_changed(feed, (kin_state)told.states[i].from,
                               (kin_state)told.states[i].to);
    kin__env_add_handler_time(feed->env, start_ns);
  }
}

static void tell_failure(kin_feed *feed) {
  kin__notice *notice = &feed->notice;
  if (notice->failure.code == 0) {
    return;
  }
  kin__failure told;
  char what[256];
  kin__feed_describe(feed, what, sizeof what);
  kin__noted_failure_take(&notice->failure, feed->env->allocator, what, &told);
  kin_error_event event = {.size = sizeof event,
                           .code = told.code,
                           .error_class = told.error_class,
                           .status = told.status,
                           .reason = told.reason,
                           .message = told.message,
                           .namespace_ = feed->namespace_,
                           .attempt = notice->attempt,
                           .retry_in_ms = notice->retry_in_ms,
                           .answer = KIN_RETRY};
  uint64_t start_ns = kin__clock_ns(&feed->env->clock);
  feed->owner->failed(feed, &event);
  kin__env_add_handler_time(feed->env, start_ns);
  bool is_answered =
      event.answer == KIN_RETRY_AFTER || event.answer == KIN_STOP;
  if (!feed->is_closed && is_answered) {
    kin__feed_answer(feed, event.answer, event.retry_after_ms);
  }
}

/* The failure first: it explains the states. */
static bool notice_step(kin__task *task) {
  kin_feed *feed = KIN__CONTAINER_OF(task, kin_feed, notice.task);
  tell_failure(feed);
  if (!feed->is_closed) {
    tell_states(feed);
  }
  return false;
}

void kin__notice_init(kin__notice *notice) {
  *notice = (kin__notice){0};
  kin__task_init(&notice->task, notice_step);
}

void kin__notice_stop(kin_feed *feed) {
  kin__sched_cancel(feed->env->sched, &feed->notice.task);
  kin__noted_failure_drop(&feed->notice.failure, feed->env->allocator);
}
