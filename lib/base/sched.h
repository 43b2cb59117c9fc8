/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SCHED_H
#define KIN_BASE_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

/* Shares the loop's time among tasks, round robin. A task is a small piece of
 * work that can go on: a socket with bytes to read, a queue with items to pop,
 * a listener with notifications to deliver, a sweep. Nothing runs when a task
 * is scheduled, only in kin__sched_run, so work never nests.
 *
 * The clock is injected. Who calls handlers adds their time to `handler_ns`, so
 * that it can be told from ours. */
typedef struct kin__task {
  kin__list node; /* in the run queue iff scheduled */
  /* Does a slice of about `KIN__SLICE_NS` and returns whether work is left. It
   * may schedule, cancel and free any task, itself included; if it frees itself
   * it returns false. */
  bool (*step)(struct kin__task *task);
} kin__task;

/* What a step aims at. Short against the budget, long against its own cost. */
#define KIN__SLICE_NS 50000u

typedef struct kin__sched {
  kin__list queue;
  kin__task *running; /* NULL once the running task was cancelled */
  uint64_t (*now_ns)(void *ctx);
  void *ctx;
  /* Told when the queue becomes non-empty outside of a run; may be NULL. */
  void (*wake)(struct kin__sched *sched);
  uint64_t handler_ns; /* in the current run */
  bool is_running;
} kin__sched;

void kin__sched_init(kin__sched *sched, uint64_t (*now_ns)(void *ctx),
                     void *ctx);

void kin__task_init(kin__task *task, bool (*step)(kin__task *task));
/* Puts the task at the end of the queue unless it is there. */
void kin__sched_add(kin__sched *sched, kin__task *task);
/* Takes it out; legal from inside its own step. */
void kin__sched_cancel(kin__sched *sched, kin__task *task);

/* Runs steps until nothing is left or `budget_ns` is spent (checked after each
 * step). Returns whether work is left. */
bool kin__sched_run(kin__sched *sched, uint64_t budget_ns);

bool kin__sched_has_work(const kin__sched *sched);

#endif /* KIN_BASE_SCHED_H */
