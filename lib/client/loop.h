/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_LOOP_H
#define KIN_CLIENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <kin/histogram.h>

#include "base/sched.h"
#include "base/timers.h"
#include "transport/handle.h"

/* The libuv side of a client's scheduler and timers.
 *
 * Work runs in a uv_check_t, right after the loop has polled: a socket's
 * readiness and what follows from it happen in the same iteration. While work
 * is left a uv_idle_t keeps the loop from blocking; otherwise it is stopped and
 * the program sleeps. One uv_timer_t stands for all timers: it is only moved
 * when something becomes due earlier than it is set for, and its callback only
 * notes that timers are due.
 *
 * So deferred calls, timers and tasks share one budget, and one measurement is
 * that of all of them.
 *
 * While the client closes, and once a host has swept the loop
 * (transport/handle.h), work runs in ticks instead. So closing completes
 * whatever the host does to the handles. Timers stand still after a sweep;
 * nothing that closes waits for one.
 *
 * A callback of ours that calls uv_run gets an iteration in which this client
 * does nothing: work never nests. */
typedef struct kin__loop {
  uv_loop_t *uv;
  uv_check_t check;
  uv_idle_t idle;
  uv_timer_t timer;
  kin__sched sched;
  kin__timers timers;
  kin__link deferred; /* of kin__deferred */
  uint64_t armed_ms;  /* when the uv_timer_t goes off, UINT64_MAX if never */
  uint64_t budget_ns;
  uint64_t handler_ns; /* ever; handlers' time is added here by dispatch */
  uint64_t iterations;
  uint64_t busy_ns;
  uint64_t longest_ns;
  kin_histogram iteration_us;
  bool is_inside;      /* one of our callbacks is on the stack */
  bool are_timers_due; /* the next turn runs them */
  bool is_closing;     /* work runs in ticks */
  kin__tick turn;      /* where it does */
  kin__release gone;   /* of the three handles */
  kin__releases releases;
  /* Called first in each iteration; may schedule. May be NULL. */
  void (*before_work)(void *ctx);
  void *before_work_ctx;
  void (*closed)(void *ctx);
  void *closed_ctx;
} kin__loop;

/* Readies scheduler and timers; nothing may be scheduled yet. */
void kin__loop_init(kin__loop *loop, uv_loop_t *uv, uint64_t budget_ns);

/* Puts the handles on the loop; from now on only kin__loop_close ends it. */
void kin__loop_start(kin__loop *loop);

/* The client begins to close: from now on the handles are not needed. */
void kin__loop_begin_close(kin__loop *loop);

/* Closes the handles, after kin__loop_begin_close; `closed` is called from a
 * close callback, when the struct may be freed. No task and no timer may be
 * active. */
void kin__loop_close(kin__loop *loop, void (*closed)(void *ctx), void *ctx);

/* Work was put off to a later iteration: make sure that there is one. */
void kin__loop_wake(void *loop);

void kin__loop_set_ref(kin__loop *loop, bool is_ref);

#endif /* KIN_CLIENT_LOOP_H */
