/* SPDX-License-Identifier: MIT */
#include "base/gate.h"

#include <assert.h>

#define NS_PER_MS 1000000u

static uint64_t now_ms(const kin__gate *gate) {
  return gate->sched->now_ns(gate->sched->ctx) / NS_PER_MS;
}

static kin__gate_visitor *visitor_of(kin__link *node) {
  return KIN__CONTAINER_OF(node, kin__gate_visitor, node);
}

/* When the visitor that has held its place for longest may lose it. There must
 * be such a visitor. */
static uint64_t turn_ends_ms(const kin__gate *gate) {
  uint64_t since_ms = visitor_of(gate->holding.next)->since_ms;
  return kin__deadline_ms(since_ms, gate->turn_ms);
}

static void admit(kin__gate *gate, kin__gate_visitor *visitor) {
  visitor->state = KIN__GATE_INSIDE;
  visitor->since_ms = now_ms(gate);
  kin__link_push(&gate->holding, &visitor->node);
  gate->inside++;
}

/* The visitor is then in neither list and not counted. */
static void remove_visitor(kin__gate *gate, kin__gate_visitor *visitor) {
  kin__link_remove(&visitor->node);
  gate->queued -= visitor->state == KIN__GATE_WAITING;
  gate->inside -= visitor->state == KIN__GATE_INSIDE;
  gate->overdue -= visitor->state == KIN__GATE_OVERDUE;
  visitor->state = KIN__GATE_OUTSIDE;
}

static void take_place_back(kin__gate *gate) {
  kin__gate_visitor *visitor = visitor_of(gate->holding.next);
  remove_visitor(gate, visitor);
  visitor->state = KIN__GATE_OVERDUE;
  gate->overdue++;
  if (visitor->overstay != NULL) {
    visitor->overstay(visitor);
  }
}

static bool is_turn_over(const kin__gate *gate) {
  return gate->inside == gate->limit && now_ms(gate) >= turn_ends_ms(gate);
}

/* Admits one visitor; if a turn is over, takes the place from its visitor
 * first. */
static bool gate_step(kin__task *task) {
  kin__gate *gate = KIN__CONTAINER_OF(task, kin__gate, task);
  if (gate->queued > 0 && is_turn_over(gate)) {
    take_place_back(gate);
  }
  if (gate->queued > 0 && gate->inside < gate->limit) {
    kin__gate_visitor *visitor = visitor_of(gate->waiting.next);
    uint64_t waited_ms = now_ms(gate) - visitor->since_ms;
    remove_visitor(gate, visitor);
    admit(gate, visitor);
    visitor->enter(visitor, waited_ms);
  }
  if (gate->queued == 0) {
    kin__timer_stop(gate->timers, &gate->timer);
    return false;
  }
  if (gate->inside < gate->limit) {
    return true;
  }
  kin__timer_start(gate->timers, &gate->timer, turn_ends_ms(gate));
  return false;
}

static void on_timer(kin__timer *timer) {
  kin__gate *gate = KIN__CONTAINER_OF(timer, kin__gate, timer);
  kin__sched_add(gate->sched, &gate->task);
}

void kin__gate_init(kin__gate *gate, kin__sched *sched, kin__timers *timers,
                    uint32_t limit, uint64_t turn_ms) {
  assert(limit > 0 && turn_ms > 0);
  *gate = (kin__gate){
      .sched = sched, .timers = timers, .limit = limit, .turn_ms = turn_ms};
  kin__task_init(&gate->task, gate_step);
  kin__timer_init(&gate->timer, on_timer);
  kin__link_init(&gate->waiting);
  kin__link_init(&gate->holding);
}

void kin__gate_finish(kin__gate *gate) {
  assert(gate->inside == 0 && gate->queued == 0 && gate->overdue == 0);
  kin__timer_stop(gate->timers, &gate->timer);
  kin__sched_cancel(gate->sched, &gate->task);
}

void kin__gate_visitor_init(kin__gate_visitor *visitor,
                            void (*enter)(kin__gate_visitor *visitor,
                                          uint64_t waited_ms),
                            void (*overstay)(kin__gate_visitor *visitor)) {
  *visitor = (kin__gate_visitor){.enter = enter, .overstay = overstay};
  kin__link_init(&visitor->node);
}

/* A visitor never overtakes those that wait. */
bool kin__gate_enter(kin__gate *gate, kin__gate_visitor *visitor) {
  if (visitor->state != KIN__GATE_OUTSIDE) {
    return visitor->state != KIN__GATE_WAITING;
  }
  if (gate->inside < gate->limit && gate->queued == 0) {
    admit(gate, visitor);
    return true;
  }
  visitor->state = KIN__GATE_WAITING;
  visitor->since_ms = now_ms(gate);
  kin__link_push(&gate->waiting, &visitor->node);
  if (gate->queued++ == 0) {
    kin__timer_start(gate->timers, &gate->timer, turn_ends_ms(gate));
  }
  return false;
}

void kin__gate_leave(kin__gate *gate, kin__gate_visitor *visitor) {
  bool had_place = visitor->state == KIN__GATE_INSIDE;
  remove_visitor(gate, visitor);
  if (gate->queued == 0) {
    kin__timer_stop(gate->timers, &gate->timer);
  } else if (had_place) {
    kin__sched_add(gate->sched, &gate->task);
  }
}
