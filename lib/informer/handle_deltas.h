/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_HANDLE_DELTAS_H
#define KIN_INFORMER_HANDLE_DELTAS_H

#include <stdbool.h>

#include "base/sched.h"
#include "object/object.h"

/* Queue -> store -> listeners (PD-01, PD-02), and for the program's own writes:
 * store -> listeners. The store alone decides whether a change is an add or an
 * update. */

/* With HIGH changes or more in the queue a scope's watch is paused; below LOW it
 * is resumed (QF-16). */
#define KIN__QUEUE_HIGH 2000u
#define KIN__QUEUE_LOW 1000u

/* The process task: pops a bounded number of keys. */
bool kin__handle_deltas_step(kin__task *task);

/* A write of the program into the store is a change like any other. See
 * kin__store_owner; `ctx` is the informer. */
int kin__own_write_reserve(void *ctx);
void kin__own_write_tell(void *ctx, uint32_t slot, kin_object *before,
                         kin_object *after);

#endif /* KIN_INFORMER_HANDLE_DELTAS_H */
