/* SPDX-License-Identifier: MIT */
#ifndef KIN_TOOLKIT_CHANGE_FILTER_H
#define KIN_TOOLKIT_CHANGE_FILTER_H

#include <kin/change_filter.h>

#include "informer/informer.h"
#include "toolkit/change_waits.h"
#include "toolkit/field_set.h"

/* The changes since the last call of on_changes. */
typedef struct kin__change_batch {
  size_t keys[KIN_EVENT_DELETE + 1]; /* by the type that would be told; 0: those
                                      * that are as they were */
  uint64_t changes;                  /* 0: nothing waits */
  uint64_t first_ms;
  uint64_t last_ms;
  bool is_inexact;
  bool is_flushed; /* its wait is over */
} kin__change_batch;

/* A listener, the waits of its keys, one timer and one task. The timer is that
 * of the wait that ends first; it only schedules the task, which tells.
 *
 * Between the end of its listener's initial state and the close, with
 * on_change: a key is in `waits` iff a change of it is not told. The filter
 * keeps nothing for a key that does not wait: all states of a key since it was
 * last told have the same fields, so the state before the first change stands
 * for the told one. */
struct kin_change_filter {
  kin__member member;
  kin_informer *informer; /* NULL once it is gone */
  kin_listener *listener;
  kin__gone_watch watch;
  kin_change_filter_options options; /* its pointers to strings are not used */
  kin__field_set fields;
  kin__change_waits waits;
  kin__change_batch batch; /* with on_changes */
  kin__timer timer;
  kin__task task;
  uint32_t flushed; /* with on_change: this many waits are over */
  bool has_synced;
};

/* Whether an event says that something has changed. */
bool kin__change_filter_counts(kin_change_filter *filter,
                               const kin_event *event);
/* Notes an event in its key's wait, which begins if `wait` is NULL. NULL: there
 * is no room for another wait. */
kin__change_wait *kin__change_filter_note(kin_change_filter *filter,
                                          kin__change_wait *wait,
                                          const kin_event *event);
/* The type of the change that a wait amounts to: KIN_EVENT_ADD, _UPDATE or
 * _DELETE; 0: none. */
uint8_t kin__change_filter_net_type(kin_change_filter *filter,
                                    const kin__change_wait *wait);
/* The time at which a wait is over whose first and last changes came at these
 * times. */
uint64_t kin__change_filter_due_ms(const kin_change_filter *filter,
                                   uint64_t first_ms, uint64_t last_ms);

/* --- For all keys together: change_batch.c --- */

void kin__change_batch_take(kin_change_filter *filter, const kin_event *event);
/* The initial state is complete. */
void kin__change_batch_begin(kin_change_filter *filter, size_t objects);
/* Tells the batch if its wait is over, else waits on. */
void kin__change_batch_step(kin_change_filter *filter);

#endif /* KIN_TOOLKIT_CHANGE_FILTER_H */
