/* SPDX-License-Identifier: MIT */
#ifndef KIN_FEED_NOTICE_H
#define KIN_FEED_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/informer.h>
#include <kin/lister_watcher.h>

#include "base/sched.h"
#include "feed/noted_failure.h"

/* Pending notices of a feed to its owner. A lack of memory can be reported, too.
 * They are delivered from a task. Of several
 * failures before the delivery, the last one is delivered. Of more than four
 * state changes, the middle ones are left out. */
#define KIN__NOTICE_STATES 4u

typedef struct kin__notice {
  kin__task task; /* scheduled while a notice is pending */
  kin__noted_failure failure;
  uint64_t retry_in_ms;
  uint32_t attempt;
  uint8_t state_count;
  struct {
    uint8_t from;
    uint8_t to;
  } states[KIN__NOTICE_STATES];
} kin__notice;

void kin__notice_init(kin__notice *notice);
void kin__notice_failure(kin_feed *feed, const kin__failure *failure,
                         uint64_t retry_in_ms);
void kin__notice_state(kin_feed *feed, kin_state from, kin_state to);
/* Drops pending notices. */
void kin__notice_stop(kin_feed *feed);

#endif /* KIN_FEED_NOTICE_H */
