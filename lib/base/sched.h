/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SCHED_H
#define KIN_BASE_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/link.h"

/* Shares the loop's time among tasks, round robin. A task is a resumable piece
 * of work: a socket with bytes to read, a queue with items to pop, a listener
 * with notifications to deliver, a sweep. Scheduling a task runs nothing. Only
 * kin__sched_run calls steps, so work never nests.
 *
 * The clock is injected. Code that calls a program's handlers adds their time
 * to `handler_ns`, so that their time can be told from the library's. */
typedef struct kin__task {
  kin__link node; /* in the run queue iff scheduled */
  /* Does a slice of about `KIN__SLICE_NS` and returns whether work is left. A
   * step may schedule, cancel and free any task, including its own. A step that
   * frees its own task returns false. */
  bool (*step)(struct kin__task *task);
} kin__task;

/* The time that a step aims at: short against the budget, long against the cost
 * of a step. */
#define KIN__SLICE_NS 50000u

typedef struct kin__sched {
  kin__link queue;
  kin__task *running; /* NULL after the running task was cancelled */
  uint64_t (*now_ns)(void *ctx);
  void *ctx;
  /* Called by each kin__sched_add outside of a run; may be NULL. The call must
   * be cheap: it also comes for work that is already known. */
  void (*wake)(struct kin__sched *sched);
  uint64_t handler_ns; /* in the current run */
  uint64_t longest_ns; /* a piece of work that came before the run; 0: none */
  /* Bounds of every step of every task. A test that sets one piece, or a clock
   * that moves at each look, sees the state between any two pieces. */
  uint32_t max_pieces; /* UINT32_MAX: each step's own constant */
  uint32_t slice_ns;   /* KIN__SLICE_NS */
  bool is_running;
  bool is_stepping; /* a step is on the stack */
} kin__sched;

/* The rest of one step. A step whose work consists of pieces ends when its
 * number of pieces is done, or when its time is over:
 *
 *   kin__slice slice = kin__slice_begin(sched, KEYS_PER_STEP);
 *   while (kin__slice_next(&slice) && has_more) {
 *     has_more = do_one_piece();
 *   }
 *
 * The number bounds a step whose clock does not move. */
typedef struct kin__slice {
  const kin__sched *sched;
  uint64_t start_ns;
  uint32_t left;
  uint32_t done;
  uint32_t between_looks; /* pieces; one less than a power of two */
} kin__slice;

void kin__sched_init(kin__sched *sched, uint64_t (*now_ns)(void *ctx),
                     void *ctx);

void kin__task_init(kin__task *task, bool (*step)(kin__task *task));
/* Puts the task at the end of the queue, unless the task is queued. */
void kin__sched_add(kin__sched *sched, kin__task *task);
/* Removes the task from the queue; legal inside the task's own step. */
void kin__sched_cancel(kin__sched *sched, kin__task *task);

/* Runs steps until nothing is left, or until one more step, as long as the
 * longest of this run or longest_ns, would exceed `budget_ns`. One step always
 * runs. So a run takes longer than the budget only if a step takes longer than
 * all before it. Returns whether work is left. */
bool kin__sched_run(kin__sched *sched, uint64_t budget_ns);

/* Whether one more piece, as long as the longest so far, fits into a budget. */
static inline bool kin__sched_has_room(uint64_t budget_ns, uint64_t spent_ns,
                                       uint64_t longest_ns) {
  return spent_ns < budget_ns && longest_ns <= budget_ns - spent_ns;
}

bool kin__sched_has_work(const kin__sched *sched);

/* For pieces of any length: the clock is read after each piece. */
kin__slice kin__slice_begin(const kin__sched *sched, uint32_t pieces);
/* For pieces of at most a microsecond: the clock is read after every sixteenth
 * piece. */
kin__slice kin__slice_begin_small(const kin__sched *sched, uint32_t pieces);
/* Returns whether the step may do one more piece. The first call returns
 * true. */
bool kin__slice_next(kin__slice *slice);
/* The number of pieces, out of `count`, that a step may do without reading the
 * clock. */
uint32_t kin__sched_pieces(const kin__sched *sched, uint32_t count);

#endif /* KIN_BASE_SCHED_H */
