/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_GATE_H
#define KIN_BASE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/link.h"
#include "base/sched.h"
#include "base/timers.h"

/* Lets a bounded number in at a time; the others wait in order of arrival. A
 * visitor that waits is let in from a task, so never inside another one's call.
 *
 * Nobody can keep the others waiting for ever: while somebody waits, a visitor
 * that has had its place for `turn_ms` loses the place to the next one. Such a
 * visitor is overdue: it goes on as if it were inside, but is not counted. So
 * the n-th in the queue waits for (n / limit + 1) * turn_ms at most. */
typedef struct kin__gate {
  kin__sched *sched;
  kin__timers *timers; /* run on sched's clock, in ms */
  kin__task task;
  kin__timer timer;  /* active only while somebody waits */
  kin__link waiting; /* of kin__gate_visitor, in order of arrival */
  kin__link holding; /* the same, in order of admission */
  uint64_t turn_ms;
  uint32_t limit;
  uint32_t inside;  /* visitors in `holding` */
  uint32_t queued;  /* visitors in `waiting` */
  uint32_t overdue; /* visitors that have lost their place and not left */
} kin__gate;

typedef enum kin__gate_state {
  KIN__GATE_OUTSIDE = 0,
  KIN__GATE_WAITING,
  KIN__GATE_INSIDE,
  KIN__GATE_OVERDUE
} kin__gate_state;

typedef struct kin__gate_visitor {
  kin__link node; /* in gate->waiting or gate->holding, by its state */
  kin__gate_state state;
  uint64_t since_ms; /* WAITING: it waits; INSIDE: it has its place */
  /* It has waited, and is in. */
  void (*enter)(struct kin__gate_visitor *visitor, uint64_t waited_ms);
  /* It has lost its place, and goes on without. May note only. NULL: not
   * told. */
  void (*overstay)(struct kin__gate_visitor *visitor);
} kin__gate_visitor;

/* `limit` and `turn_ms` are at least 1. */
void kin__gate_init(kin__gate *gate, kin__sched *sched, kin__timers *timers,
                    uint32_t limit, uint64_t turn_ms);
/* Nobody may be inside, overdue or wait. */
void kin__gate_finish(kin__gate *gate);

void kin__gate_visitor_init(kin__gate_visitor *visitor,
                            void (*enter)(kin__gate_visitor *visitor,
                                          uint64_t waited_ms),
                            void (*overstay)(kin__gate_visitor *visitor));

/* Whether the visitor may go on: it is inside, now or already, or overdue.
 * Otherwise it waits, and enter comes later unless it leaves before. */
bool kin__gate_enter(kin__gate *gate, kin__gate_visitor *visitor);
/* It goes, or waits no longer; or was not there at all. */
void kin__gate_leave(kin__gate *gate, kin__gate_visitor *visitor);

#endif /* KIN_BASE_GATE_H */
