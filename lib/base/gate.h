/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_GATE_H
#define KIN_BASE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/sched.h"

/* Lets a bounded number in at a time; the others wait in order of arrival. Who
 * waits is let in from a task, so never inside a call of whoever leaves. */
typedef struct kin__gate {
  kin__sched *sched;
  kin__task task;
  kin__list waiting; /* of kin__gate_visitor */
  uint32_t limit;
  uint32_t inside;
} kin__gate;

typedef struct kin__gate_visitor {
  kin__list node; /* in gate->waiting iff it waits */
  bool is_inside;
  void (*enter)(
      struct kin__gate_visitor *visitor); /* it has waited, and is in */
} kin__gate_visitor;

/* `limit` is at least 1. */
void kin__gate_init(kin__gate *gate, kin__sched *sched, uint32_t limit);
/* Nobody may be inside or wait. */
void kin__gate_finish(kin__gate *gate);

void kin__gate_visitor_init(kin__gate_visitor *visitor,
                            void (*enter)(kin__gate_visitor *visitor));

/* Whether the visitor is inside, now or already; otherwise it waits, and enter
 * comes later unless it leaves before. */
bool kin__gate_enter(kin__gate *gate, kin__gate_visitor *visitor);
/* It goes, or waits no longer; or was not there at all. */
void kin__gate_leave(kin__gate *gate, kin__gate_visitor *visitor);

#endif /* KIN_BASE_GATE_H */
