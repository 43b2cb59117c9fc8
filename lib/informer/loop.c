/* SPDX-License-Identifier: MIT */
#include "informer/loop.h"

#include "base/histogram.h"
#include "base/list.h"
#include "informer/env.h"

#define TIMERS_PER_ITERATION 64u

static uint64_t hr_now_ns(void *ctx) {
  (void)ctx;
  return uv_hrtime();
}

static uint64_t now_ms(void) {
  return uv_hrtime() / 1000000u;
}

static void on_idle(uv_idle_t *idle) {
  (void)idle; /* being active is all it is for */
}

static void set_busy(kin__loop *loop, bool is_busy) {
  if (is_busy) {
    uv_idle_start(&loop->idle, on_idle);
  } else {
    uv_idle_stop(&loop->idle);
  }
}

void kin__loop_wake(void *loop) {
  set_busy(loop, true);
}

static void on_work(kin__sched *sched) {
  kin__loop_wake(KIN__CONTAINER_OF(sched, kin__loop, sched));
}

/* Time that our work took, handlers excluded. */
static void account(kin__loop *loop, uint64_t start_ns, uint64_t handler_ns) {
  uint64_t spent_ns = uv_hrtime() - start_ns;
  uint64_t handlers_ns = loop->handler_ns - handler_ns;
  uint64_t own_ns = spent_ns > handlers_ns ? spent_ns - handlers_ns : 0;
  loop->busy_ns += own_ns;
  kin__histogram_add(&loop->iteration_us, own_ns / 1000u, 1);
  if (own_ns > loop->longest_ns) {
    loop->longest_ns = own_ns;
  }
}

/* What was deferred up to now; a callback may defer more, for the next
 * iteration, and may free what it belongs to. */
static void run_deferred(kin__loop *loop) {
  kin__list batch;
  kin__list_init(&batch);
  kin__list_splice(&batch, &loop->deferred);
  while (!kin__list_is_empty(&batch)) {
    kin__deferred *deferred =
        KIN__CONTAINER_OF(batch.next, kin__deferred, node);
    kin__list_remove(&deferred->node);
    deferred->cb(deferred);
  }
}

static void settle_timer(kin__loop *loop);

static void on_check(uv_check_t *check) {
  kin__loop *loop = KIN__CONTAINER_OF(check, kin__loop, check);
  if (!kin__sched_has_work(&loop->sched) &&
      kin__list_is_empty(&loop->deferred)) {
    set_busy(loop, false); /* what it was woken for may have been cancelled */
    settle_timer(loop);
    return;
  }
  run_deferred(loop);
  uint64_t start_ns = uv_hrtime();
  uint64_t handler_ns = loop->handler_ns;
  loop->iterations++;
  bool has_more = kin__sched_run(&loop->sched, loop->budget_ns);
  account(loop, start_ns, handler_ns);
  set_busy(loop, has_more || !kin__list_is_empty(&loop->deferred));
  if (!has_more) {
    settle_timer(loop);
  }
}

static void on_timer(uv_timer_t *timer);

static void arm(kin__loop *loop) {
  uint64_t next_ms = kin__timers_next_ms(&loop->timers);
  if (next_ms >= loop->armed_ms) {
    return; /* moved when there is nothing else to do, see settle_timer */
  }
  /* The loop's own time is what uv_timer_start counts from. It lags behind
   * ours, so the timer never goes off early. */
  uint64_t now = uv_now(loop->uv);
  loop->armed_ms = next_ms;
  uv_timer_start(&loop->timer, on_timer, next_ms > now ? next_ms - now : 0, 0);
}

/* Before the loop sleeps: a timer that was stopped must not wake it. */
static void settle_timer(kin__loop *loop) {
  if (kin__timers_next_ms(&loop->timers) > loop->armed_ms) {
    uv_timer_stop(&loop->timer);
    loop->armed_ms = UINT64_MAX;
    arm(loop);
  }
}

static void on_timers_changed(kin__timers *timers) {
  arm(KIN__CONTAINER_OF(timers, kin__loop, timers));
}

static void on_timer(uv_timer_t *timer) {
  kin__loop *loop = KIN__CONTAINER_OF(timer, kin__loop, timer);
  loop->armed_ms = UINT64_MAX;
  bool has_more =
      kin__timers_run(&loop->timers, now_ms(), TIMERS_PER_ITERATION);
  if (has_more) {
    loop->armed_ms = 0;
    uv_timer_start(&loop->timer, on_timer, 0, 0);
  } else {
    arm(loop);
  }
}

void kin__loop_init(kin__loop *loop, uv_loop_t *uv, uint64_t budget_ns) {
  *loop = (kin__loop){.uv = uv, .budget_ns = budget_ns, .armed_ms = UINT64_MAX};
  kin__list_init(&loop->deferred);
  kin__sched_init(&loop->sched, hr_now_ns, NULL);
  kin__timers_init(&loop->timers);
}

void kin__loop_start(kin__loop *loop) {
  /* None of these can fail in libuv 1.x: they only link the handle. */
  uv_check_init(loop->uv, &loop->check);
  uv_idle_init(loop->uv, &loop->idle);
  uv_timer_init(loop->uv, &loop->timer);
  uv_check_start(&loop->check, on_check);
  loop->open_handles = 3;
  loop->sched.wake = on_work;
  loop->timers.changed = on_timers_changed;
}

static void on_handle_closed(kin__loop *loop) {
  if (--loop->open_handles == 0) {
    loop->closed(loop->closed_ctx);
  }
}

static void on_check_closed(uv_handle_t *handle) {
  on_handle_closed(KIN__CONTAINER_OF(handle, kin__loop, check));
}

static void on_idle_closed(uv_handle_t *handle) {
  on_handle_closed(KIN__CONTAINER_OF(handle, kin__loop, idle));
}

static void on_timer_closed(uv_handle_t *handle) {
  on_handle_closed(KIN__CONTAINER_OF(handle, kin__loop, timer));
}

void kin__loop_close(kin__loop *loop, void (*closed)(void *ctx), void *ctx) {
  loop->closed = closed;
  loop->closed_ctx = ctx;
  uv_close((uv_handle_t *)&loop->check, on_check_closed);
  uv_close((uv_handle_t *)&loop->idle, on_idle_closed);
  uv_close((uv_handle_t *)&loop->timer, on_timer_closed);
}

void kin__loop_set_ref(kin__loop *loop, bool is_ref) {
  uv_handle_t *handles[] = {(uv_handle_t *)&loop->check,
                            (uv_handle_t *)&loop->idle,
                            (uv_handle_t *)&loop->timer};
  for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
    if (is_ref) {
      uv_ref(handles[i]);
    } else {
      uv_unref(handles[i]);
    }
  }
}
