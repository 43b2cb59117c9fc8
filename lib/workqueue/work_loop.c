/* SPDX-License-Identifier: MIT */
#include <kin/error.h>

#include "workqueue/work_queue.h"

/* An attached queue: the task that calls the worker, in slices
 * (base/sched.h). */

#define PIECES_PER_STEP 1024u

static uint64_t begin_call(const kin_work_queue *queue) {
  return kin__clock_ns(&queue->env->clock);
}

static void end_call(const kin_work_queue *queue, uint64_t start_ns) {
  kin__env_add_handler_time(queue->env, start_ns);
}

/* --- Work ----------------------------------------------------------------- */

/* Gives the worker a key, if it may have one. The worker may close the queue.
 */
static bool call_worker(kin_work_queue *queue) {
  const kin_work_item *item;
  if (kin__work_processing(&queue->work) >= queue->options.concurrency) {
    return false;
  }
  int err = kin__work_get(&queue->work, &item);
  queue->is_retry_due = err == KIN_ENOMEM;
  if (err != 0) {
    return false;
  }
  uint64_t start_ns = begin_call(queue);
  queue->options.worker(queue, item, queue->options.data);
  end_call(queue, start_ns);
  return true;
}

/* One key that is due or to be dropped, and one call. Returns whether there was
 * anything to do. */
static bool work_some(kin_work_queue *queue) {
  kin__work_queue_look(queue);
  bool has_due = kin__work_advance(&queue->work, 1);
  return call_worker(queue) || has_due;
}

static void arm(kin_work_queue *queue) {
  uint64_t due_ms = kin__work_next_ms(&queue->work);
  if (queue->is_retry_due) {
    uint64_t retry_ms =
        kin__deadline_ms(kin__env_now_ms(queue->env), KIN__MEMORY_RETRY_MS);
    due_ms = retry_ms < due_ms ? retry_ms : due_ms;
  }
  if (due_ms == UINT64_MAX) {
    kin__timer_stop(queue->env->timers, &queue->timer);
  } else if (!queue->timer.is_active || queue->timer.due_ms != due_ms) {
    kin__timer_start(queue->env->timers, &queue->timer, due_ms);
  }
}

/* WQ-05 */
static void tell_drained(kin_work_queue *queue) {
  bool is_drained = kin__work_is_drained(&queue->work);
  kin_work_queue_drained_cb cb = queue->drained;
  if (cb == NULL || (!is_drained && !queue->is_drain_ended)) {
    return;
  }
  queue->drained = NULL;
  uint64_t start_ns = begin_call(queue);
  cb(queue, is_drained ? 0 : KIN_ECLOSED, queue->drained_data);
  end_call(queue, start_ns);
}

/* --- The end -------------------------------------------------------------- */

static bool clear_piece(kin__work *work) {
  return kin__work_clear_step(work, 1);
}

/* Does a slice of pieces. Returns whether there are more. */
static bool free_some(kin_work_queue *queue, bool (*free_piece)(kin__work *)) {
  bool has_more = true;
  kin__slice slice = kin__slice_begin_small(queue->env->sched, PIECES_PER_STEP);
  while (has_more && kin__slice_next(&slice)) {
    has_more = free_piece(&queue->work);
  }
  return has_more;
}

static bool close_step(kin_work_queue *queue) {
  bool has_more = free_some(queue, clear_piece);
  if (!has_more) {
    kin__member_end(&queue->member);
  }
  return has_more;
}

/* Items are valid until the close callbacks. If one slice cannot free all
 * items, the rest and the queue are freed after the callbacks, and the client
 * waits. */
static void on_gone(kin__deferred *deferred) {
  kin_work_queue *queue =
      KIN__CONTAINER_OF(deferred, kin_work_queue, member.gone);
  if (free_some(queue, kin__work_finish_step)) {
    kin__member_end(&queue->member);
    kin__member_tell_closed(&queue->member);
  } else {
    kin__member_gone(&queue->member);
  }
}

void kin__work_loop_close(kin_work_queue *queue) {
  kin__timer_stop(queue->env->timers, &queue->timer);
  kin__work_queue_wake(queue);
}

/* --- The task ------------------------------------------------------------- */

static bool step(kin__task *task) {
  kin_work_queue *queue = KIN__CONTAINER_OF(task, kin_work_queue, task);
  if (queue->member.is_closing) {
    return close_step(queue);
  }
  bool has_more = true;
  kin__slice slice = kin__slice_begin(queue->env->sched, PIECES_PER_STEP);
  while (has_more && kin__slice_next(&slice)) {
    has_more = work_some(queue);
    if (queue->member.is_closing) {
      return true;
    }
  }
  if (!has_more) {
    arm(queue);
  }
  kin__work_follows_wake(queue);
  tell_drained(queue);
  return has_more || queue->member.is_closing;
}

static void on_timer(kin__timer *timer) {
  kin__work_queue_wake(KIN__CONTAINER_OF(timer, kin_work_queue, timer));
}

void kin__work_loop_init(kin_work_queue *queue) {
  kin__task_init(&queue->task, step);
  kin__timer_init(&queue->timer, on_timer);
  queue->member.gone.cb = on_gone;
}
