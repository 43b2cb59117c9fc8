/* SPDX-License-Identifier: MIT */
#ifndef KIN_INFORMER_APPLY_H
#define KIN_INFORMER_APPLY_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/handler.h>

#include "base/link.h"
#include "base/sched.h"

/* Applies a complete list in bounded steps (DeltaFIFO's Replace, DF-05, DF-06).
 * The staged objects go through the queue as it has room. When all are in the
 * store, the scope's objects of an earlier list that this list does not have
 * are deleted. Then listeners are told. No watch is read meanwhile, so no event
 * overtakes the list.
 *
 * A scope's objects are dropped in the same way, with another reason than
 * RELIST: the phases begin with SETTLING, and every object of an earlier list
 * is deleted. A list that is complete meanwhile waits. */
typedef enum kin__apply_phase {
  KIN__APPLY_IDLE = 0,
  KIN__APPLY_PUSHING,  /* stage -> queue */
  KIN__APPLY_SETTLING, /* until the queue has processed these objects */
  KIN__APPLY_SWEEPING, /* tombstones for objects that the list does not have */
  KIN__APPLY_SWEPT,    /* until the queue has processed the tombstones */
  KIN__APPLY_TELLING   /* after a list: synced or relisted; then done */
} kin__apply_phase;

typedef struct kin__apply {
  kin__task task;
  kin__link node; /* in informer->applying iff not IDLE */
  kin__apply_phase phase;
  kin_delete_reason reason; /* of swept objects; not RELIST: dropping */
  bool is_empty;            /* the scope has no object in store or queue, but
                             * what the program has put */
  bool has_earlier;         /* the scope had objects, so a sweep is needed */
  bool has_list;            /* dropping, and a complete list waits */
  uint32_t cursor;          /* SWEEPING: next slot */
  union {
    uint64_t wait_until; /* SETTLING, SWEPT: informer->processed_keys */
    uint32_t sweep_end;  /* SWEEPING: slots from here on were first used after
                          * the sweep began */
  };
} kin__apply;

struct kin__scope;
struct kin_informer;

void kin__apply_init(kin__apply *apply);
/* The stage holds a complete list. */
void kin__apply_start(struct kin__scope *scope);
/* Deletes all objects of the scope. The feed must not bring new ones before its
 * next list. After a removed scope, kin__scopes_emptied is called. */
void kin__apply_drop(struct kin__scope *scope, kin_delete_reason reason);
/* No list will follow. A half-applied list stops; a drop goes on. */
void kin__apply_give_up(struct kin__scope *scope);
/* Schedules the task; also needed to free a discarded stage. */
void kin__apply_wake(struct kin__scope *scope);
void kin__apply_stop(struct kin__scope *scope);
/* Wakes all scopes that apply: the queue has room, or there may be memory. */
void kin__applies_wake(struct kin_informer *informer);

#endif /* KIN_INFORMER_APPLY_H */
