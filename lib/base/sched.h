/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_SCHED_H
#define KIN_BASE_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/link.h"

/* Shares the loop's time among tasks, round robin. A task is a small piece of
 * work that can go on: a socket with bytes to read, a queue with items to pop,
 * a listener with notifications to deliver, a sweep. Nothing runs when a task
 * is scheduled, only in kin__sched_run, so work never nests.
 *
 * The clock is injected. Who calls handlers adds their time to `handler_ns`, so
 * that it can be told from ours. */
typedef struct kin__task {
  kin__link node; /* in the run queue iff scheduled */
  /* Does a slice of about `KIN__SLICE_NS` and returns whether work is left. It
   * may schedule, cancel and free any task, itself included; if it frees itself
   * it returns false. */
  bool (*step)(struct kin__task *task);
} kin__task;

/* What a step aims at. Short against the budget, long against its own cost. */
#define KIN__SLICE_NS 50000u

typedef struct kin__sched {
  kin__link queue;
  kin__task *running; /* NULL once the running task was cancelled */
  uint64_t (*now_ns)(void *ctx);
  void *ctx;
  /* Told of each kin__sched_add outside of a run; may be NULL. Cheap: it may be
   * told of work that it knows of. */
  void (*wake)(struct kin__sched *sched);
  uint64_t handler_ns; /* in the current run */
  /* The bounds of every step of every task. A test that sets one piece, or a
   * clock that moves at each look, sees what happens between any two pieces. */
  uint32_t max_pieces; /* UINT32_MAX: each step's own constant */
  uint32_t slice_ns;   /* KIN__SLICE_NS */
  bool is_running;
  bool is_stepping; /* a step is on the stack */
} kin__sched;

/* What one step may still do. A step whose work consists of pieces ends when
 * it has done its number of them, or when its time is over:
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
/* Puts the task at the end of the queue unless it is there. */
void kin__sched_add(kin__sched *sched, kin__task *task);
/* Takes it out; legal from inside its own step. */
void kin__sched_cancel(kin__sched *sched, kin__task *task);

/* Runs steps until nothing is left or `budget_ns` is spent (checked after each
 * step). Returns whether work is left. */
bool kin__sched_run(kin__sched *sched, uint64_t budget_ns);

bool kin__sched_has_work(const kin__sched *sched);

/* `pieces` that may take any time each: the clock is looked at after each. */
kin__slice kin__slice_begin(const kin__sched *sched, uint32_t pieces);
/* `pieces` of at most a microsecond each: after every sixteenth. */
kin__slice kin__slice_begin_small(const kin__sched *sched, uint32_t pieces);
/* Whether there is room for one more piece; the first time there always is. */
bool kin__slice_next(kin__slice *slice);
/* How many of a bundle of `count` pieces a step may do without a look. */
uint32_t kin__sched_pieces(const kin__sched *sched, uint32_t count);

#endif /* KIN_BASE_SCHED_H */
