/* SPDX-License-Identifier: MIT */
#include "client/memory_helper.h"

#include <assert.h>
#include <stddef.h>

/* "Fast": this much within this time, so 40 MB/s. */
#define FAST_BYTES ((size_t)4 << 20)
#define WINDOW_MS 100u
#define IDLE_MS 1000u
#define GIVEN_PER_STEP 16u

/* In the pool. */
static void on_work(uv_work_t *work) {
  kin__memory_helper *helper =
      KIN__CONTAINER_OF(work, kin__memory_helper, work);
  helper->pages = kin__ready_prepare(helper->bytes, &helper->must_stop);
}

static uint64_t now_ms(const kin__memory_helper *helper) {
  const kin__sched *sched = &helper->loop->sched;
  return sched->now_ns(sched->ctx) / 1000000u;
}

static void work_more(kin__memory_helper *helper);

static void on_worked(uv_work_t *work, int status) {
  (void)status; /* cancelled: there are no pages */
  kin__memory_helper *helper =
      KIN__CONTAINER_OF(work, kin__memory_helper, work);
  helper->is_working = false;
  if (helper->pages != NULL) {
    kin__arena_add_ready(helper->arena, helper->pages);
    helper->pages = NULL;
  } else {
    helper->grown = 0; /* no memory: no more work until the arena grows */
  }
  if (helper->closed != NULL) {
    helper->closed(helper->closed_ctx);
    return;
  }
  kin__timer_start(&helper->loop->timers, &helper->idle,
                   kin__deadline_ms(helper->grown_ms, IDLE_MS));
  work_more(helper);
}

/* Half of what may be ready is in use, so that the next work is done before the
 * other half is. */
static void work_more(kin__memory_helper *helper) {
  size_t wanted = kin__arena_wants_ready(helper->arena);
  size_t ready = kin__arena_ready_bytes(helper->arena);
  if (helper->is_working || helper->grown < FAST_BYTES || ready > wanted / 2) {
    return;
  }
  size_t missing = (wanted - ready) & ~(KIN__READY_STEP_BYTES - 1);
  if (missing == 0) {
    return;
  }
  helper->bytes = missing < KIN__HELP_MAX_BYTES ? missing : KIN__HELP_MAX_BYTES;
  helper->is_working = true;
  int err = uv_queue_work(helper->loop->uv, &helper->work, on_work, on_worked);
  assert(err == 0); /* fails only without a callback */
  (void)err;
}

static void on_grew(void *ctx, size_t bytes) {
  kin__memory_helper *helper = ctx;
  uint64_t now = now_ms(helper);
  if (now - helper->window_ms > WINDOW_MS) {
    helper->window_ms = now;
    helper->grown = 0;
  }
  helper->grown_ms = now;
  helper->grown += bytes;
  work_more(helper);
}

static void on_idle(kin__timer *timer) {
  kin__memory_helper *helper =
      KIN__CONTAINER_OF(timer, kin__memory_helper, idle);
  uint64_t due_ms = kin__deadline_ms(helper->grown_ms, IDLE_MS);
  if (helper->is_working) {
    return; /* the end of the work starts the timer again */
  }
  if (now_ms(helper) < due_ms) {
    kin__timer_start(&helper->loop->timers, timer, due_ms);
  } else {
    kin__sched_add(&helper->loop->sched, &helper->give_back);
  }
}

static bool give_back_step(kin__task *task) {
  kin__memory_helper *helper =
      KIN__CONTAINER_OF(task, kin__memory_helper, give_back);
  kin__slice slice = kin__slice_begin(&helper->loop->sched, GIVEN_PER_STEP);
  bool has_more = true;
  while (has_more && kin__slice_next(&slice)) {
    has_more = kin__arena_drop_ready(helper->arena) ||
               kin__arena_trim_step(helper->arena);
  }
  return has_more;
}

void kin__memory_helper_init(kin__memory_helper *helper, kin__loop *loop,
                             kin__arena *arena) {
  *helper = (kin__memory_helper){.loop = loop, .arena = arena};
  atomic_init(&helper->must_stop, false);
  kin__timer_init(&helper->idle, on_idle);
  kin__task_init(&helper->give_back, give_back_step);
  if (arena != NULL) {
    kin__arena_watch(arena, on_grew, helper);
  }
}

void kin__memory_helper_close(kin__memory_helper *helper,
                              void (*closed)(void *ctx), void *ctx) {
  if (helper->arena != NULL) {
    kin__arena_watch(helper->arena, NULL, NULL);
    kin__timer_stop(&helper->loop->timers, &helper->idle);
    kin__sched_cancel(&helper->loop->sched, &helper->give_back);
  }
  if (!helper->is_working) {
    closed(ctx);
    return;
  }
  helper->closed = closed;
  helper->closed_ctx = ctx;
  atomic_store_explicit(&helper->must_stop, true, memory_order_relaxed);
  (void)uv_cancel((uv_req_t *)&helper->work); /* fails: a thread is at it */
}
