/* SPDX-License-Identifier: MIT */
#include "client/loop.h"

#include <assert.h>

#include "base/histogram.h"
#include "base/link.h"
#include "base/thread.h"
#include "client/env.h"

static uint64_t hr_now_ns(void *ctx) {
  (void)ctx;
  return uv_hrtime();
}

static uint64_t now_ms(void) {
  return uv_hrtime() / 1000000u;
}

static void on_idle(uv_idle_t *idle) {
  (void)idle; /* an active idle handle keeps the loop awake */
}

bool kin__loop_is_swept(const kin__loop *loop) {
  return uv_is_closing((const uv_handle_t *)&loop->check) ||
         uv_is_closing((const uv_handle_t *)&loop->idle) ||
         uv_is_closing((const uv_handle_t *)&loop->timer);
}

static void set_busy(kin__loop *loop, bool is_busy) {
  bool has_ticks = loop->is_closing || kin__loop_is_swept(loop);
  if (is_busy && has_ticks) {
    kin__tick_request(&loop->turn, loop->uv);
  } else if (is_busy) {
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

/* Records the time of the library's own work, without handlers. */
static void account(kin__loop *loop, uint64_t handler_ns) {
  uint64_t spent_ns = uv_hrtime() - loop->begun_ns;
  uint64_t handlers_ns = loop->handler_ns - handler_ns;
  uint64_t own_ns = spent_ns > handlers_ns ? spent_ns - handlers_ns : 0;
  loop->busy_ns += own_ns;
  kin__histogram_add(&loop->iteration_us, own_ns / 1000u, 1);
  if (own_ns > loop->longest_ns) {
    loop->longest_ns = own_ns;
  }
}

static void begin_pieces(kin__loop *loop) {
  loop->begun_ns = uv_hrtime();
  loop->piece_ns = loop->begun_ns;
  loop->sched.longest_ns = 0;
}

/* Rest of the budget. At 0 each kind of work still does one piece, so that no
 * kind blocks another. */
static uint64_t budget_left(const kin__loop *loop) {
  uint64_t spent_ns = loop->piece_ns - loop->begun_ns;
  return spent_ns < loop->budget_ns ? loop->budget_ns - spent_ns : 0;
}

/* A piece has ended. Returns whether one more may begin. */
static bool has_time_after_piece(kin__loop *loop) {
  uint64_t now_ns = uv_hrtime();
  uint64_t *longest_ns = &loop->sched.longest_ns;
  if (now_ns - loop->piece_ns > *longest_ns) {
    *longest_ns = now_ns - loop->piece_ns;
  }
  loop->piece_ns = now_ns;
  return kin__sched_has_room(loop->budget_ns, now_ns - loop->begun_ns,
                             *longest_ns);
}

/* Runs the calls deferred so far. A callback may defer more, for the next
 * iteration, and may free its own structures. Calls that the budget leaves
 * undone come first in the next iteration. */
static void run_deferred(kin__loop *loop) {
  kin__link batch;
  kin__link_init(&batch);
  kin__link_splice(&batch, &loop->deferred);
  while (!kin__link_is_empty(&batch)) {
    kin__deferred *deferred =
        KIN__CONTAINER_OF(batch.next, kin__deferred, node);
    kin__link_remove(&deferred->node);
    deferred->cb(deferred);
    if (!has_time_after_piece(loop)) {
      break;
    }
  }
  kin__link_splice(&batch, &loop->deferred);
  kin__link_splice(&loop->deferred, &batch);
}

static void arm(kin__loop *loop);

static void run_timers(kin__loop *loop) {
  if (!loop->are_timers_due) {
    return;
  }
  uint64_t now = now_ms();
  bool has_more = true;
  do {
    has_more = kin__timers_run(&loop->timers, now, 1);
  } while (has_time_after_piece(loop) && has_more);
  loop->are_timers_due = has_more;
  arm(loop);
}

static void settle_timer(kin__loop *loop);

static bool has_work(const kin__loop *loop) {
  return kin__sched_has_work(&loop->sched) || loop->are_timers_due ||
         !kin__link_is_empty(&loop->deferred);
}

/* All work of an iteration. libuv's callbacks only note work. */
static void run_turn(kin__loop *loop) {
  uint64_t handler_ns = loop->handler_ns;
  begin_pieces(loop);
  loop->is_inside = true;
  loop->iterations++;
  run_deferred(loop);
  run_timers(loop);
  kin__sched_run(&loop->sched, budget_left(loop));
  account(loop, handler_ns);
  loop->is_inside = false;
}

static void take_turn(kin__loop *loop) {
  atomic_store_explicit(&loop->thread, kin__thread_self(),
                        memory_order_relaxed);
  if (loop->is_inside) {
    set_busy(loop, false); /* the turn on the stack sets it again */
    return;
  }
  if (loop->before_work != NULL) {
    loop->before_work(loop->before_work_ctx);
  }
  if (has_work(loop)) {
    run_turn(loop);
  }
  bool has_more = has_work(loop);
  set_busy(loop, has_more);
  if (has_more) {
    arm(loop);
  } else {
    settle_timer(loop);
  }
}

static void on_check(uv_check_t *check) {
  kin__loop *loop = KIN__CONTAINER_OF(check, kin__loop, check);
  if (!loop->is_closing) {
    take_turn(loop);
  }
}

static void on_turn(kin__tick *tick) {
  take_turn(KIN__CONTAINER_OF(tick, kin__loop, turn));
}

static void on_timer(uv_timer_t *timer);

static void arm(kin__loop *loop) {
  uint64_t next_ms = kin__timers_next_ms(&loop->timers);
  if (next_ms >= loop->armed_ms || loop->are_timers_due) {
    return; /* settle_timer moves it when no work is left */
  }
  /* uv_timer_start counts from the loop's own time. That time lags behind
   * uv_hrtime, so the timer never fires early. */
  uint64_t now = uv_now(loop->uv);
  loop->armed_ms = next_ms;
  uv_timer_start(&loop->timer, on_timer, next_ms > now ? next_ms - now : 0, 0);
}

/* Before the loop sleeps: a stopped timer must not wake the loop. */
static void settle_timer(kin__loop *loop) {
  if (kin__timers_next_ms(&loop->timers) > loop->armed_ms) {
    uv_timer_stop(&loop->timer);
    loop->armed_ms = UINT64_MAX;
  }
  arm(loop);
}

static void on_timers_changed(kin__timers *timers) {
  arm(KIN__CONTAINER_OF(timers, kin__loop, timers));
}

static void on_timer(uv_timer_t *timer) {
  kin__loop *loop = KIN__CONTAINER_OF(timer, kin__loop, timer);
  loop->armed_ms = UINT64_MAX;
  loop->are_timers_due = true;
  set_busy(loop, true);
}

static void on_async(uv_async_t *async) {
  KIN__CONTAINER_OF(async, kin__loop, async)->is_called = true;
}

void kin__loop_call(void *loop) {
  uv_async_send(&((kin__loop *)loop)->async);
}

void kin__loop_init(kin__loop *loop, uv_loop_t *uv, uint64_t budget_ns) {
  *loop = (kin__loop){.uv = uv, .budget_ns = budget_ns, .armed_ms = UINT64_MAX};
  kin__link_init(&loop->deferred);
  kin__sched_init(&loop->sched, hr_now_ns, NULL);
  kin__timers_init(&loop->timers);
  kin__tick_init(&loop->turn, on_turn);
  kin__releases_init(&loop->releases, uv);
}

void kin__loop_start(kin__loop *loop) {
  /* None of these can fail in libuv 1.x; they only link the handle. The loop has
   * an async handle of its own, for the pool of threads. */
  uv_check_init(loop->uv, &loop->check);
  uv_idle_init(loop->uv, &loop->idle);
  uv_timer_init(loop->uv, &loop->timer);
  uv_async_init(loop->uv, &loop->async, on_async);
  uv_unref((uv_handle_t *)&loop->async);
  uv_check_start(&loop->check, on_check);
  loop->sched.wake = on_work;
  loop->timers.changed = on_timers_changed;
}

void kin__loop_begin_close(kin__loop *loop) {
  loop->is_closing = true;
  kin__loop_wake(loop); /* a sweep may have stopped remaining work */
}

static void on_gone(kin__release *release) {
  kin__loop *loop = KIN__CONTAINER_OF(release, kin__loop, gone);
  loop->closed(loop->closed_ctx);
}

void kin__loop_close(kin__loop *loop, void (*closed)(void *ctx), void *ctx) {
  assert(loop->is_closing && !has_work(loop));
  loop->closed = closed;
  loop->closed_ctx = ctx;
  kin__handle_close((uv_handle_t *)&loop->check);
  kin__handle_close((uv_handle_t *)&loop->idle);
  kin__handle_close((uv_handle_t *)&loop->timer);
  kin__handle_close((uv_handle_t *)&loop->async);
  kin__releases_add(&loop->releases, &loop->gone, on_gone);
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
