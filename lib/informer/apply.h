/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_APPLY_H
#define KIN_INFORMER_APPLY_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/handler.h>

#include "base/link.h"
#include "base/sched.h"
#include "base/timers.h"

/* Applies a complete list in bounded steps (DeltaFIFO's Replace, DF-05, DF-06):
 * the staged objects go through the queue as there is room; when all of them
 * are in the store, what the store has of this scope from an earlier list and
 * this one did not mention is deleted; when that is done, listeners are told.
 * Until then no watch is read, so nothing overtakes the list.
 *
 * What a scope has is dropped in the same way, with another reason than RELIST:
 * its phases begin with SETTLING, and every object of an earlier list goes. A
 * list that is complete meanwhile waits. */
typedef enum kin__apply_phase {
  KIN__APPLY_IDLE = 0,
  KIN__APPLY_PUSHING,  /* stage -> queue */
  KIN__APPLY_SETTLING, /* until the queue has processed them */
  KIN__APPLY_SWEEPING, /* tombstones for what was not mentioned */
  KIN__APPLY_SWEPT,    /* until the queue has processed them */
  KIN__APPLY_TELLING   /* synced or relisted, if it was a list; then done */
} kin__apply_phase;

typedef struct kin__apply {
  kin__task task;
  kin__timer timer; /* memory was out: go on later */
  kin__link node;   /* in informer->applying iff not IDLE */
  kin__apply_phase phase;
  kin_delete_reason reason; /* of what is swept; not RELIST: dropping */
  bool is_empty;            /* the scope has no object in store or queue */
  bool has_earlier;         /* it had some, so there is something to sweep */
  bool has_list;            /* dropping, and a list waits */
  uint32_t cursor;          /* SWEEPING: next slot */
  uint64_t wait_until;      /* SETTLING, SWEPT: informer->processed_keys */
} kin__apply;

struct kin__scope;

void kin__apply_init(kin__apply *apply);
/* The stage is complete. */
void kin__apply_start(struct kin__scope *scope);
/* All objects of the scope are deleted; the feed must not bring any before it
 * has another list. The end of a removed scope is told to
 * kin__scopes_emptied. */
void kin__apply_drop(struct kin__scope *scope, kin_delete_reason reason);
/* There will be no list, and what there is of one is void; what is being
 * dropped goes on. */
void kin__apply_give_up(struct kin__scope *scope);
/* Also needed to free a discarded stage. */
void kin__apply_wake(struct kin__scope *scope);
void kin__apply_stop(struct kin__scope *scope);

#endif /* KIN_INFORMER_APPLY_H */
