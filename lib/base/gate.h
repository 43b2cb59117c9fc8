/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_GATE_H
#define KIN_BASE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/link.h"
#include "base/sched.h"
#include "base/timers.h"

/* Admits a bounded number of visitors at a time. The others wait in order of
 * arrival. A waiting visitor is admitted from a task, so never inside another
 * visitor's call.
 *
 * No visitor waits for ever: while visitors wait, one that has held its place
 * for `turn_ms` loses the place to the next. The loser is overdue: it continues
 * as if it were inside, but is not counted. So the n-th in the queue waits for
 * (n / limit + 1) * turn_ms at most. */
typedef struct kin__gate {
  kin__sched *sched;
  kin__timers *timers; /* they use sched's clock, in ms */
  kin__task task;
  kin__timer timer;  /* active only while a visitor waits */
  kin__link waiting; /* of kin__gate_visitor, in order of arrival */
  kin__link holding; /* the same, in order of admission */
  uint64_t turn_ms;
  uint32_t limit;
  uint32_t inside;  /* visitors in `holding` */
  uint32_t queued;  /* visitors in `waiting` */
  uint32_t overdue; /* visitors that lost their place and have not left */
} kin__gate;

typedef enum kin__gate_state {
  KIN__GATE_OUTSIDE = 0,
  KIN__GATE_WAITING,
  KIN__GATE_INSIDE,
  KIN__GATE_OVERDUE
} kin__gate_state;

typedef struct kin__gate_visitor {
  kin__link node; /* in gate->waiting or gate->holding, by state */
  kin__gate_state state;
  uint64_t since_ms; /* WAITING: start of the wait; INSIDE: of the place */
  /* The visitor has waited and is now inside. */
  void (*enter)(struct kin__gate_visitor *visitor, uint64_t waited_ms);
  /* The visitor has lost its place and continues without one. The callback may
   * only take a note. NULL: no call. */
  void (*overstay)(struct kin__gate_visitor *visitor);
} kin__gate_visitor;

/* `limit` and `turn_ms` are at least 1. */
void kin__gate_init(kin__gate *gate, kin__sched *sched, kin__timers *timers,
                    uint32_t limit, uint64_t turn_ms);
/* No visitor may be inside, overdue or waiting. */
void kin__gate_finish(kin__gate *gate);

void kin__gate_visitor_init(kin__gate_visitor *visitor,
                            void (*enter)(kin__gate_visitor *visitor,
                                          uint64_t waited_ms),
                            void (*overstay)(kin__gate_visitor *visitor));

/* Returns whether the visitor may continue: it is inside or overdue. If not,
 * the visitor waits, and `enter` is called later unless it leaves before. */
bool kin__gate_enter(kin__gate *gate, kin__gate_visitor *visitor);
/* The visitor leaves its place or the queue. Does nothing for any other
 * visitor. */
void kin__gate_leave(kin__gate *gate, kin__gate_visitor *visitor);

#endif /* KIN_BASE_GATE_H */
