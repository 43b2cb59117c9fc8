/* SPDX-License-Identifier: MIT */
#include "base/gate.h"

#include <assert.h>

static void admit(kin__gate *gate, kin__gate_visitor *visitor) {
  visitor->is_inside = true;
  gate->inside++;
}

static bool gate_step(kin__task *task) {
  kin__gate *gate = KIN__CONTAINER_OF(task, kin__gate, task);
  if (gate->inside < gate->limit && !kin__list_is_empty(&gate->waiting)) {
    kin__gate_visitor *visitor =
        KIN__CONTAINER_OF(gate->waiting.next, kin__gate_visitor, node);
    kin__list_remove(&visitor->node);
    admit(gate, visitor);
    visitor->enter(visitor);
  }
  return gate->inside < gate->limit && !kin__list_is_empty(&gate->waiting);
}

void kin__gate_init(kin__gate *gate, kin__sched *sched, uint32_t limit) {
  assert(limit > 0);
  *gate = (kin__gate){.sched = sched, .limit = limit};
  kin__task_init(&gate->task, gate_step);
  kin__list_init(&gate->waiting);
}

void kin__gate_finish(kin__gate *gate) {
  assert(gate->inside == 0 && kin__list_is_empty(&gate->waiting));
  kin__sched_cancel(gate->sched, &gate->task);
}

void kin__gate_visitor_init(kin__gate_visitor *visitor,
                            void (*enter)(kin__gate_visitor *visitor)) {
  *visitor = (kin__gate_visitor){.enter = enter};
  kin__list_init(&visitor->node);
}

/* Nobody overtakes those who wait. */
bool kin__gate_enter(kin__gate *gate, kin__gate_visitor *visitor) {
  if (visitor->is_inside) {
    return true;
  }
  if (gate->inside < gate->limit && kin__list_is_empty(&gate->waiting)) {
    admit(gate, visitor);
    return true;
  }
  if (kin__list_is_empty(&visitor->node)) {
    kin__list_push(&gate->waiting, &visitor->node);
  }
  return false;
}

void kin__gate_leave(kin__gate *gate, kin__gate_visitor *visitor) {
  kin__list_remove(&visitor->node);
  if (visitor->is_inside) {
    visitor->is_inside = false;
    gate->inside--;
    if (!kin__list_is_empty(&gate->waiting)) {
      kin__sched_add(gate->sched, &gate->task);
    }
  }
}
