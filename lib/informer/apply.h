/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_APPLY_H
#define KIN_INFORMER_APPLY_H

#include <stdint.h>

#include "base/list.h"
#include "base/sched.h"
#include "base/timers.h"

/* Applies a complete list in bounded steps (DeltaFIFO's Replace, DF-05, DF-06):
 * the staged objects go through the queue as there is room; when all of them
 * are in the store, what the store has of this scope from an earlier list and
 * this one did not mention is deleted; when that is done, listeners are told.
 * Until then no watch is read, so nothing overtakes the list. */
typedef enum kin__apply_phase {
  KIN__APPLY_IDLE = 0,
  KIN__APPLY_PUSHING,  /* stage -> queue */
  KIN__APPLY_SETTLING, /* until the queue has processed them */
  KIN__APPLY_SWEEPING, /* tombstones for what was not mentioned */
  KIN__APPLY_SWEPT,    /* until the queue has processed them */
  KIN__APPLY_TELLING   /* synced or relisted, then done */
} kin__apply_phase;

typedef struct kin__apply {
  kin__task task;
  kin__timer timer; /* memory was out: go on later */
  kin__list node;   /* in informer->applying iff not IDLE */
  kin__apply_phase phase;
  uint32_t cursor;     /* SWEEPING: next slot */
  uint64_t wait_until; /* SETTLING, SWEPT: informer->processed_keys */
} kin__apply;

struct kin__scope;

void kin__apply_init(kin__apply *apply);
/* The stage is complete. */
void kin__apply_start(struct kin__scope *scope);
/* Also needed to free a discarded stage. */
void kin__apply_wake(struct kin__scope *scope);
void kin__apply_stop(struct kin__scope *scope);

#endif /* KIN_INFORMER_APPLY_H */
