/* SPDX-License-Identifier: MIT */
#include "client/memory_helper.h"

#include <assert.h>
#include <stddef.h>

/* "Fast": this many slabs within this time, so 40 MB/s. */
#define FAST_SLABS 16u
#define WINDOW_MS 100u
#define IDLE_MS 1000u
#define GIVEN_PER_STEP 16u

/* In the pool. */
static void on_work(uv_work_t *work) {
  kin__memory_helper *helper =
      KIN__CONTAINER_OF(work, kin__memory_helper, work);
  for (uint32_t left = helper->count; left > 0; left--) {
    kin__ready_slab *slab = kin__slab_prepare(&helper->must_stop);
    if (slab == NULL) {
      return;
    }
    slab->next = helper->slabs;
    helper->slabs = slab;
  }
}

static uint64_t now_ms(const kin__memory_helper *helper) {
  const kin__sched *sched = &helper->loop->sched;
  return sched->now_ns(sched->ctx) / 1000000u;
}

static void work_more(kin__memory_helper *helper);

/* Returns how many there were. */
static uint32_t take_prepared(kin__memory_helper *helper) {
  uint32_t taken = 0;
  while (helper->slabs != NULL) {
    kin__ready_slab *slab = helper->slabs;
    helper->slabs = slab->next;
    kin__arena_add_ready(helper->arena, slab);
    taken++;
  }
  return taken;
}

static void on_worked(uv_work_t *work, int status) {
  (void)status; /* cancelled: there are no slabs */
  kin__memory_helper *helper =
      KIN__CONTAINER_OF(work, kin__memory_helper, work);
  helper->is_working = false;
  if (take_prepared(helper) < helper->count) {
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
  uint32_t wanted = kin__arena_wants_ready(helper->arena);
  uint32_t ready = kin__arena_ready_count(helper->arena);
  if (helper->is_working || helper->grown < FAST_SLABS || ready > wanted / 2 ||
      ready == wanted) {
    return;
  }
  uint32_t missing = wanted - ready;
  helper->count = missing < KIN__HELP_MAX_SLABS ? missing : KIN__HELP_MAX_SLABS;
  helper->is_working = true;
  int err = uv_queue_work(helper->loop->uv, &helper->work, on_work, on_worked);
  assert(err == 0); /* fails only without a callback */
  (void)err;
}

static void on_grew(void *ctx) {
  kin__memory_helper *helper = ctx;
  uint64_t now = now_ms(helper);
  if (now - helper->window_ms > WINDOW_MS) {
    helper->window_ms = now;
    helper->grown = 0;
  }
  helper->grown_ms = now;
  helper->grown++;
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
