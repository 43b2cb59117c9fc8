/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include <inttypes.h>

#include <kin/error.h>

/* The loop. Each turn does what a turn of a real one does: timers that are due,
 * something on the network, calls that were put off, and a few scheduler steps,
 * each of which takes a little virtual time. So work, deliveries and timers mix
 * in any order, and a step may find that the world has changed since the
 * last. */

#define MS UINT64_C(1000000)
#define STEP_NS 20000u /* what a scheduler step takes, at most */
#define STEPS_PER_TURN 6u
/* A world that needs more than this does not come to rest. */
#define MAX_WORK 3000000u

uint64_t sim_below(sim_world *w, uint64_t bound) {
  return kin__random_below(&w->random, bound);
}

bool sim_chance(sim_world *w, unsigned percent) {
  return sim_below(w, 100) < percent;
}

uint64_t sim_now_ms(const sim_world *w) {
  return w->script.now_ns / MS;
}

uint64_t sim_wall_ms(const sim_world *w) {
  return sim_now_ms(w) + (uint64_t)w->wall_offset_ms;
}

static bool has_work(const sim_world *w) {
  return kin__sched_has_work(&w->script.sched) || w->pool_count > 0 ||
         !kin__link_is_empty(&w->script.deferred);
}

int sim_pool_start(void *ctx, kin__pool_work *work) {
  sim_world *w = ctx;
  if (w->pool_count == SIM_POOL || sim_chance(w, 5)) {
    return KIN_ENOMEM;
  }
  w->pool[w->pool_count++] = work;
  return 0;
}

/* Some of what other threads work on is done, in any order. */
static void run_pool(sim_world *w) {
  while (w->pool_count > 0 && sim_below(w, 3) == 0) {
    unsigned any = (unsigned)sim_below(w, w->pool_count);
    kin__pool_work *work = w->pool[any];
    w->pool[any] = w->pool[--w->pool_count];
    work->run(work);
    work->done(work);
    w->work++;
  }
}

bool sim_is_quiet(const sim_world *w) {
  return !has_work(w);
}

static void run_deferred(sim_world *w) {
  kin__link batch;
  kin__link_init(&batch);
  kin__link_splice(&batch, &w->script.deferred);
  while (!kin__link_is_empty(&batch)) {
    kin__deferred *deferred =
        KIN__CONTAINER_OF(batch.next, kin__deferred, node);
    kin__link_remove(&deferred->node);
    deferred->cb(deferred);
    w->work++;
  }
}

static void run_steps(sim_world *w) {
  run_deferred(w);
  run_pool(w);
  uint64_t steps = 1 + sim_below(w, STEPS_PER_TURN);
  for (; steps > 0 && kin__sched_has_work(&w->script.sched); steps--) {
    kin__sched_run(&w->script.sched, 0);
    w->script.now_ns += 1 + sim_below(w, STEP_NS);
    w->work++;
  }
  sim_net_look(&w->net);
}

static void run_timers(sim_world *w) {
  unsigned count = 1 + (unsigned)sim_below(w, 3);
  if (kin__timers_next_ms(&w->script.timers) <= sim_now_ms(w)) {
    kin__timers_run(&w->script.timers, sim_now_ms(w), count);
    w->work++;
    sim_net_look(&w->net);
  }
}

/* The next moment at which anything is due. */
static uint64_t next_ns(const sim_world *w) {
  uint64_t timer_ms = kin__timers_next_ms(&w->script.timers);
  uint64_t timer_ns = timer_ms < UINT64_MAX / MS ? timer_ms * MS : UINT64_MAX;
  uint64_t net_ns = sim_net_next_ns(&w->net);
  return timer_ns < net_ns ? timer_ns : net_ns;
}

static bool is_lively(sim_world *w) {
  return SIM_CHECK(&w->trace, w->work < MAX_WORK, "does not come to rest");
}

static void turn(sim_world *w) {
  run_timers(w);
  if (sim_below(w, 2) == 0 || !has_work(w)) {
    w->work += sim_net_step(&w->net);
  }
  run_steps(w);
}

void sim_pass(sim_world *w, uint64_t ms) {
  uint64_t end_ns = w->script.now_ns + ms * MS;
  sim_net_look(&w->net);
  while (!w->trace.has_failed && is_lively(w)) {
    if (!has_work(w)) {
      uint64_t next = next_ns(w);
      if (next > end_ns) {
        break;
      }
      if (next > w->script.now_ns) {
        w->script.now_ns = next;
      }
    } else if (w->script.now_ns >= end_ns) {
      break;
    }
    turn(w);
  }
  if (w->script.now_ns < end_ns) {
    w->script.now_ns = end_ns;
  }
}

void sim_settle(sim_world *w) {
  while (has_work(w) && is_lively(w)) {
    run_steps(w);
  }
}
