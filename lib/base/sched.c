/* SPDX-License-Identifier: MIT */
#include "base/sched.h"

#include <assert.h>
#include <stddef.h>

#define SMALL_PIECES 16u

void kin__sched_init(kin__sched *sched, uint64_t (*now_ns)(void *ctx),
                     void *ctx) {
  *sched = (kin__sched){.now_ns = now_ns,
                        .ctx = ctx,
                        .max_pieces = UINT32_MAX,
                        .slice_ns = KIN__SLICE_NS};
  kin__link_init(&sched->queue);
}

void kin__task_init(kin__task *task, bool (*step)(kin__task *task)) {
  kin__link_init(&task->node);
  task->step = step;
}

void kin__sched_add(kin__sched *sched, kin__task *task) {
  if (kin__link_is_empty(&task->node)) {
    kin__link_push(&sched->queue, &task->node);
  }
  if (!sched->is_running && sched->wake != NULL) {
    sched->wake(sched);
  }
}

void kin__sched_cancel(kin__sched *sched, kin__task *task) {
  kin__link_remove(&task->node);
  if (sched->running == task) {
    sched->running = NULL;
  }
}

bool kin__sched_run(kin__sched *sched, uint64_t budget_ns) {
  assert(!sched->is_running);
  sched->is_running = true;
  sched->handler_ns = 0;
  uint64_t start = sched->now_ns(sched->ctx);
  uint64_t now = start;
  uint64_t longest = sched->longest_ns;
  while (!kin__link_is_empty(&sched->queue)) {
    uint64_t begun = now;
    kin__task *task = KIN__CONTAINER_OF(sched->queue.next, kin__task, node);
    kin__link_remove(&task->node);
    sched->running = task;
    sched->is_stepping = true;
    bool has_more = task->step(task);
    sched->is_stepping = false;
    /* A step that cancelled or freed its task has cleared `running`. Then the
     * task must not be touched. */
    if (has_more && sched->running == task) {
      kin__sched_add(sched, task);
    }
    sched->running = NULL;
    now = sched->now_ns(sched->ctx);
    longest = now - begun > longest ? now - begun : longest;
    if (!kin__sched_has_room(budget_ns, now - start, longest)) {
      break;
    }
  }
  sched->is_running = false;
  return !kin__link_is_empty(&sched->queue);
}

bool kin__sched_has_work(const kin__sched *sched) {
  return !kin__link_is_empty(&sched->queue);
}

static kin__slice begin_slice(const kin__sched *sched, uint32_t pieces,
                              uint32_t between_looks) {
  return (kin__slice){.sched = sched,
                      .start_ns = sched->now_ns(sched->ctx),
                      .left = kin__sched_pieces(sched, pieces),
                      .between_looks = between_looks};
}

kin__slice kin__slice_begin(const kin__sched *sched, uint32_t pieces) {
  return begin_slice(sched, pieces, 0);
}

kin__slice kin__slice_begin_small(const kin__sched *sched, uint32_t pieces) {
  return begin_slice(sched, pieces, SMALL_PIECES - 1);
}

bool kin__slice_next(kin__slice *slice) {
  if (slice->left == 0) {
    return false;
  }
  const kin__sched *sched = slice->sched;
  bool must_look = slice->done > 0 && (slice->done & slice->between_looks) == 0;
  if (must_look &&
      sched->now_ns(sched->ctx) - slice->start_ns >= sched->slice_ns) {
    slice->left = 0;
    return false;
  }
  slice->left--;
  slice->done++;
  return true;
}

uint32_t kin__sched_pieces(const kin__sched *sched, uint32_t count) {
  return count < sched->max_pieces ? count : sched->max_pieces;
}
