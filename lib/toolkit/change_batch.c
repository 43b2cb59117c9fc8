/* SPDX-License-Identifier: MIT */
#include "toolkit/change_filter.h"

/* The keys' waits have no timers here: there is one wait for all. When it is
 * over they are stale at once and freed later, by the task and by the changes
 * that come. */

#define DROPS_PER_CHANGE 2u

static void wait_on(kin_change_filter *filter) {
  const kin__change_batch *batch = &filter->batch;
  kin__timer_start(
      filter->member.env->timers, &filter->timer,
      kin__change_filter_due_ms(filter, batch->first_ms, batch->last_ms));
}

static void count_change(kin_change_filter *filter) {
  kin__change_batch *batch = &filter->batch;
  batch->last_ms = kin__env_now_ms(filter->member.env);
  if (batch->changes++ == 0) {
    batch->first_ms = batch->last_ms;
    wait_on(filter);
  }
}

/* The table never has more than max_waiting waits and those that are stale,
 * which get fewer with each change. */
static void drop_some(kin_change_filter *filter) {
  kin__slice slice =
      kin__slice_begin(filter->member.env->sched, DROPS_PER_CHANGE);
  (void)kin__change_waits_drop(&filter->waits, &slice, false);
}

void kin__change_batch_take(kin_change_filter *filter, const kin_event *event) {
  if (!filter->has_synced) {
    return; /* the first call has it */
  }
  kin__change_batch *batch = &filter->batch;
  bool counts = kin__change_filter_counts(filter, event);
  kin__change_wait *wait =
      kin__change_waits_find(&filter->waits, event->object);
  if (wait == NULL && !counts) {
    return;
  }
  drop_some(filter);
  bool is_new = wait == NULL;
  wait = kin__change_filter_note(filter, wait, event);
  if (wait == NULL) {
    batch->is_inexact = true;
    batch->keys[event->type]++;
  } else if (counts) {
    batch->keys[wait->net_type] -= is_new ? 0 : 1;
    wait->net_type = kin__change_filter_net_type(filter, wait);
    batch->keys[wait->net_type]++;
  }
  if (counts) {
    count_change(filter);
  }
}

void kin__change_batch_begin(kin_change_filter *filter, size_t objects) {
  const kin_changes changes = {.size = sizeof changes,
                               .is_initial = true,
                               .keys = objects,
                               .added = objects,
                               .is_exact = true};
  filter->options.on_changes(filter, &changes, filter->options.data);
}

static void tell(kin_change_filter *filter) {
  kin__change_batch last = filter->batch;
  filter->batch = (kin__change_batch){0};
  kin__change_waits_turn(&filter->waits);
  kin_changes changes = {.size = sizeof changes,
                         .added = last.keys[KIN_EVENT_ADD],
                         .updated = last.keys[KIN_EVENT_UPDATE],
                         .deleted = last.keys[KIN_EVENT_DELETE],
                         .is_exact = !last.is_inexact,
                         .changes = last.changes,
                         .waited_ms = kin__env_now_ms(filter->member.env) -
                                      last.first_ms};
  changes.keys = changes.added + changes.updated + changes.deleted;
  if (changes.keys > 0) {
    uint64_t start_ns = kin__clock_ns(&filter->member.env->clock);
    filter->options.on_changes(filter, &changes, filter->options.data);
    kin__env_add_handler_time(filter->member.env, start_ns);
  }
}

void kin__change_batch_step(kin_change_filter *filter) {
  const kin__change_batch *batch = &filter->batch;
  if (batch->changes == 0) {
    return;
  }
  uint64_t due_ms =
      kin__change_filter_due_ms(filter, batch->first_ms, batch->last_ms);
  if (batch->is_flushed || due_ms <= kin__env_now_ms(filter->member.env)) {
    tell(filter);
  } else {
    wait_on(filter);
  }
}
