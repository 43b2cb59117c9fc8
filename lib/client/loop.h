/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_LOOP_H
#define KIN_CLIENT_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <kin/histogram.h>

#include "base/sched.h"
#include "base/timers.h"
#include "transport/handle.h"

/* The libuv side of a client's scheduler and timers.
 *
 * Work runs in a uv_check_t, right after the loop has polled. So a socket's
 * readiness is handled in the same iteration. While work is left, a uv_idle_t
 * keeps the loop from blocking; otherwise the loop may sleep. One uv_timer_t
 * stands for all timers. It is moved only when a timer becomes due earlier. Its
 * callback only notes that timers are due. So deferred calls, timers and tasks
 * share one budget and one measurement.
 *
 * While the client closes, and after a host has swept the loop
 * (transport/handle.h), work runs in ticks instead. So a close completes
 * whatever the host does to the handles. After a sweep timers stand still; no
 * close waits for a timer.
 *
 * If a callback of the program calls uv_run, this client does nothing in that
 * iteration: work never nests. */
typedef struct kin__loop {
  uv_loop_t *uv;
  uv_check_t check;
  uv_idle_t idle;
  uv_timer_t timer;
  uv_async_t async; /* never keeps the loop alive */
  kin__sched sched;
  kin__timers timers;
  kin__link deferred;           /* of kin__deferred */
  _Atomic(const void *) thread; /* of the last turn, see base/thread.h */
  uint64_t armed_ms; /* when the uv_timer_t fires; UINT64_MAX: never */
  uint64_t budget_ns;
  uint64_t begun_ns;   /* the iteration */
  uint64_t piece_ns;   /* when its last deferred call or timer ended */
  uint64_t handler_ns; /* total time in handlers; dispatch adds to it */
  uint64_t iterations;
  uint64_t busy_ns;
  uint64_t longest_ns;
  kin_histogram iteration_us;
  bool is_inside;      /* a turn is on the stack */
  bool are_timers_due; /* the next turn runs them */
  bool is_closing;     /* work runs in ticks */
  bool is_called;      /* kin__loop_call; for before_work */
  kin__tick turn;      /* the tick */
  kin__release gone;   /* of the four handles */
  kin__releases releases;
  /* Called first in each iteration; may schedule work. May be NULL. */
  void (*before_work)(void *ctx);
  void *before_work_ctx;
  void (*closed)(void *ctx);
  void *closed_ctx;
} kin__loop;

/* Initializes scheduler and timers. Schedule nothing before kin__loop_start. */
void kin__loop_init(kin__loop *loop, uv_loop_t *uv, uint64_t budget_ns);

/* Puts the handles on the loop. From now on only kin__loop_close ends them. */
void kin__loop_start(kin__loop *loop);

/* The client begins to close: work runs in ticks, without the handles. */
void kin__loop_begin_close(kin__loop *loop);

/* Closes the handles, after kin__loop_begin_close. `closed` is called from a
 * close callback and may free the struct. No task and no timer may be
 * active. */
void kin__loop_close(kin__loop *loop, void (*closed)(void *ctx), void *ctx);

/* Whether a host has closed the loop's handles behind its back. */
bool kin__loop_is_swept(const kin__loop *loop);

/* Work was put off: makes sure that another iteration comes. */
void kin__loop_wake(void *loop);

/* The loop runs before_work soon, with is_called set. The only function for any
 * thread. `loop` is a kin__loop that kin__loop_close has not ended yet. */
void kin__loop_call(void *loop);

void kin__loop_set_ref(kin__loop *loop, bool is_ref);

#endif /* KIN_CLIENT_LOOP_H */
