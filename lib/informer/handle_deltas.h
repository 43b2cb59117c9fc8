/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_HANDLE_DELTAS_H
#define KIN_INFORMER_HANDLE_DELTAS_H

#include <stdbool.h>

#include "base/sched.h"

/* Queue -> store -> listeners (PD-01, PD-02). The store alone decides whether a
 * change is an add or an update. */

/* With HIGH changes or more in the queue a scope's watch is paused; below LOW it
 * is resumed (QF-16). */
#define KIN__QUEUE_HIGH 2000u
#define KIN__QUEUE_LOW 1000u

/* The process task: pops a bounded number of keys. */
bool kin__handle_deltas_step(kin__task *task);

#endif /* KIN_INFORMER_HANDLE_DELTAS_H */
