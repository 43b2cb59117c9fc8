/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include <inttypes.h>
#include <string.h>

/* From the first object to the last byte: a world begins, mischief of all kinds
 * happens for a few minutes of its time, then either it becomes calm, and
 * everybody must find the truth, or it ends in the middle of whatever it is
 * doing. In the end nothing of the library may be left. */

#define ACTIONS_MIN 40u
#define ACTIONS_SPREAD 100u
#define LARGE_EVERY 64u /* of so many worlds one is large */
/* The longest way to the truth: a watch that fell silent when it began ends 30
 * s after the ten minutes it may last; then comes a backoff of up to a minute,
 * and another after a request that was refused just before the calm. */
#define CALM_MS (15u * 60u * 1000u)
/* The same if all watches have been broken off. (After a restore a watch may
 * still be silent until its version comes again.) */
#define SOON_MS (3u * 60u * 1000u)
#define NS_PER_MS UINT64_C(1000000)
#define SHORT_TIMEOUT_NS (2000 * NS_PER_MS)

/* --- Weather -------------------------------------------------------------- */

static void change_weather(sim_world *w) {
  static const sim_weather weathers[] = {
      {.latency_us = 1000},
      {.latency_us = 300000, .piece = 2000, .lag = 40},
      {.latency_us = 2000, .piece = 7},
      {.cut = 30, .latency_us = 20000, .piece = 300},
      {.stalled = 25, .latency_us = 20000},
      {.denied = 40, .latency_us = 5000, .lag = 20},
      {.refused = 50, .latency_us = 5000, .lag = 5},
      {.garbled = 40, .latency_us = 5000, .piece = 60},
      {.refused = 10,
       .denied = 10,
       .garbled = 10,
       .cut = 10,
       .stalled = 10,
       .latency_us = 100000,
       .piece = 90},
      {.refused = 30,
       .denied = 20,
       .garbled = 20,
       .cut = 50,
       .stalled = 20,
       .latency_us = 1000000,
       .piece = 30,
       .lag = 20},
  };
  uint64_t i = sim_below(w, sizeof weathers / sizeof weathers[0]);
  bool has_probe = w->net.weather.has_probe;
  w->net.weather = weathers[i];
  w->net.weather.has_probe = has_probe;
  sim_say(&w->trace, "weather %d", (int)i);
}

/* --- The server ----------------------------------------------------------- */

/* After a restore, versions are given a second time. Who still goes on from one
 * that is yet to come would miss what is written before it comes: nobody can
 * notice that, so it does not happen here. */
static bool may_write(const sim_world *w) {
  return api_may_write(&w->api, 2) &&
         (w->api.restores == 0 ||
          w->api.revision + 8 < sim_lowest_version_above(w, w->api.revision));
}

/* Many objects change at once: more than a queue takes. */
static void write_all(sim_world *w) {
  if (w->api.restores > 0 || !api_may_write(&w->api, 2 * w->api.objects)) {
    return;
  }
  for (int i = API_NODES; i < w->api.objects; i++) {
    if (sim_chance(w, 95)) {
      api_put(&w->api, i);
    } else {
      api_delete(&w->api, i);
    }
  }
}

static void write_some(sim_world *w) {
  if (w->is_large && sim_chance(w, 20)) {
    write_all(w);
  }
  uint64_t burst = sim_chance(w, 10) ? 30 : 3;
  for (uint64_t n = 1 + sim_below(w, burst); n > 0 && may_write(w); n--) {
    api_change(&w->api);
  }
  sim_net_wake(&w->net);
}

static bool is_anything_staged(const sim_world *w) {
  for (int i = 0; i < SIM_ACTORS; i++) {
    const sim_actor *actor = &w->actors[i];
    for (size_t k = 0; actor->informer != NULL && k < actor->scope_count; k++) {
      kin_status status = KIN_STATUS_INIT;
      if (kin_informer_get_status(actor->informer, sim_scope_name(actor, k),
                                  &status) == 0 &&
          status.staged > 0) {
        return true;
      }
    }
  }
  return false;
}

/* Who was told to wait for a version would wait for ever. */
static bool is_anybody_ahead_of(const sim_world *w, uint64_t revision) {
  for (int i = 0; i < SIM_ACTORS; i++) {
    const sim_actor *actor = &w->actors[i];
    if (actor->informer != NULL && !actor->is_most_recent &&
        actor->start_version > revision) {
      return true;
    }
  }
  return false;
}

/* A list that is already on its way into a cache would bring a version that is
 * lost: that is let pass first. And raised revisions hide an earlier restore
 * from whoever has not noticed that yet. */
static void restore(sim_world *w) {
  if (w->options.mutation == SIM_MUTATE_STREAM ||
      w->options.mutation == SIM_MUTATE_EARLY_RELISTED) {
    return; /* lists cannot be compared after it */
  }
  bool is_memory_short = w->memory.fail_at != 0 || w->memory.permille != 0;
  if (w->api.length == 0 || is_memory_short || !sim_is_quiet(w) ||
      is_anything_staged(w)) {
    return;
  }
  uint64_t back = 1 + sim_below(w, w->api.length < 80 ? w->api.length : 80);
  int last = w->api.length - (int)back;
  uint64_t revision =
      last > 0 ? w->api.writes[w->api.timeline[last]].revision : 100;
  if (is_anybody_ahead_of(w, revision)) {
    return;
  }
  sim_net_break_all(&w->net);
  sim_settle(w);
  bool is_noticed = sim_lowest_version_above(w, w->api.revision) == UINT64_MAX;
  api_restore(&w->api, revision, is_noticed && sim_chance(w, 30));
}

static void mistreat_server(sim_world *w) {
  bool is_nodes;
  switch (sim_below(w, 10)) {
  case 0:
  case 1:
    api_compact(&w->api);
    break;
  case 2:
    if (may_write(w)) {
      api_restart(&w->api);
    } else {
      api_restart_in_place(&w->api);
    }
    sim_net_break_all(&w->net);
    break;
  case 3:
    restore(w);
    break;
  case 4:
    w->net.honours_limit = sim_chance(w, 50);
    w->net.gone_is_a_status = sim_chance(w, 50);
    w->net.knows_streams = sim_chance(w, 60);
    w->net.knows_shards = sim_chance(w, 50);
    w->net.repeats_events = sim_chance(w, 30);
    w->net.loses_bookmarks = sim_chance(w, 30);
    break;
  case 5:
    sim_net_deafen_one(&w->net);
    break;
  case 6:
    is_nodes = sim_chance(w, 30);
    sim_net_set_absent(&w->net, is_nodes, !w->net.is_absent[is_nodes]);
    break;
  default:
    sim_net_bookmark(&w->net);
    break;
  }
}

/* --- The program and its machine ------------------------------------------ */

static void change_clock(sim_world *w) {
  int64_t jump = (int64_t)sim_below(w, 120000) - 60000;
  w->wall_offset_ms += jump;
  sim_say(&w->trace, "wall clock jumps by %" PRId64 " ms", jump);
}

/* Some allocations fail, others do not; and so do the next requests. */
static void make_memory_scarce(sim_world *w) {
  w->memory.permille = 1 + (unsigned)sim_below(w, 60);
  w->script.fail_start = (int)sim_below(w, 10);
  sim_say(&w->trace, "memory is scarce: %u of 1000", w->memory.permille);
}

static void run_out_of_memory(sim_world *w) {
  fail_alloc *memory = &w->memory;
  memory->fail_at = atomic_load(&memory->calls) + 1 + (size_t)sim_below(w, 30);
  memory->keeps_failing = sim_chance(w, 50);
  sim_say(&w->trace, "memory runs out%s",
          memory->keeps_failing ? " for good" : "");
}

/* A callback of the program takes long. Then all timers are late at once. */
static void block_loop(sim_world *w) {
  uint64_t ms = 1 + sim_below(w, 10000);
  w->script.now_ns += ms * NS_PER_MS;
  sim_say(&w->trace, "the loop is blocked for %" PRIu64 " ms", ms);
}

static void give_memory_back(sim_world *w) {
  w->memory.fail_at = 0;
  w->memory.keeps_failing = false;
  w->memory.permille = 0;
  w->script.fail_start = 0;
}

static void use_handlers(sim_world *w) {
  sim_handler *handler = sim_any_handler(w);
  uint64_t what = sim_below(w, 6);
  if (what == 0) {
    sim_handler_join(&w->actors[sim_below(w, SIM_ACTORS)]);
  } else if (handler != NULL && what == 1) {
    sim_handler_leave(handler);
  } else if (handler != NULL) {
    sim_handler_pause(handler, !handler->is_paused);
  }
  sim_release(w, (unsigned)sim_below(w, SIM_HELD));
}

static void act(sim_world *w) {
  uint64_t what = sim_below(w, 46);
  if (what < 16) {
    write_some(w);
  } else if (what < 20) {
    mistreat_server(w);
  } else if (what < 22) {
    change_weather(w);
  } else if (what < 24) {
    sim_net_break_one(&w->net);
  } else if (what < 25) {
    sim_net_end_one(&w->net);
  } else if (what < 31) {
    use_handlers(w);
  } else if (what < 34) {
    sim_actor_meddle(&w->actors[sim_below(w, SIM_ACTORS)]);
  } else if (what < 35) {
    change_clock(w);
  } else if (what < 36) {
    if (sim_chance(w, 50)) {
      run_out_of_memory(w);
    } else {
      make_memory_scarce(w);
    }
  } else if (what < 38) {
    give_memory_back(w);
  } else if (what < 40) {
    sim_pass(w, sim_below(w, 30000));
  } else if (what < 42) {
    block_loop(w);
  } else {
    sim_wait_for_version(&w->actors[sim_below(w, SIM_ACTORS)]);
  }
}

/* --- Beginning and end ---------------------------------------------------- */

/* The client's own limits. In a large world a list may have thousands of
 * pages. */
static void limit_requests(sim_world *w) {
  kin__sched *sched = &w->script.sched;
  kin__timers *timers = &w->script.timers;
  uint32_t places = 1 + (uint32_t)sim_below(w, 3);
  w->list_turn_ms = 1000 + sim_below(w, 4001);
  kin__gate_init(&w->lists, sched, timers, places, w->list_turn_ms);
  w->script.env.lists = sim_chance(w, 70) ? &w->lists : NULL;
  if (w->options.mutation == SIM_MUTATE_NO_TURNS) {
    w->script.env.lists = &w->lists;
    w->lists.limit = 1;
  }
  uint32_t qps_milli = 1000 + (uint32_t)sim_below(w, 20000);
  uint32_t burst = 1 + (uint32_t)sim_below(w, 4);
  kin__limiter_init(&w->limiter, sched, timers, qps_milli, burst);
  bool is_limited = sim_chance(w, 40) && !w->is_large;
  w->script.env.limiter = is_limited ? &w->limiter : NULL;
}

static void lift_rate(sim_world *w) {
  kin__bucket_init(&w->limiter.bucket, KIN__BUCKET_MAX_QPS_MILLI,
                   KIN__BUCKET_MAX_BURST, w->script.now_ns);
}

static void begin(sim_world *w, uint64_t seed, const sim_options *options) {
  memset(w, 0, sizeof *w);
  w->seed = seed;
  w->options = *options;
  w->random.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  sim_trace_init(&w->trace, options->is_traced, options->is_hashed);
  fail_alloc_init(&w->memory, 0);
  script_env_init(&w->script, &w->memory.allocator);
  w->script.random.state = kin__random_next(&w->random);
  w->script.env.stream_refused = &w->stream_refused;
  w->is_large = seed % LARGE_EVERY == 0;
  limit_requests(w);
  if (sim_chance(w, 60)) { /* worlds are smaller than a step otherwise */
    w->script.sched.max_pieces = 1 + (uint32_t)sim_below(w, 4);
  }
  w->script.env.compact_samples = 1 + (uint32_t)(seed % 5);
  w->script.env.object_bytes = &w->object_bytes;
  if (sim_chance(w, 50)) {
    w->script.env.start_work = sim_pool_start;
    w->script.env.work_ctx = w;
  }
  if (options->mutation == SIM_MUTATE_NOTHING && sim_chance(w, 10)) {
    w->object_bytes.max = 5000 + sim_below(w, 60000);
  }
  w->trace.now_ns = &w->script.now_ns;
  api_init(&w->api, &w->random, &w->trace, w->is_large ? API_CROWD : API_PODS);
  sim_net_init(&w->net, &w->script, &w->api, &w->random, &w->trace);
  w->net.weather.has_probe = sim_chance(w, 50);
  if (sim_chance(w, 30)) {
    w->net.response_timeout_ns = SHORT_TIMEOUT_NS;
  }
  w->net.honours_limit = sim_chance(w, 30);
  w->net.gone_is_a_status = sim_chance(w, 50);
  w->net.items_have_kind = sim_chance(w, 30);
  w->net.knows_streams = sim_chance(w, 60);
  w->net.knows_shards = sim_chance(w, 50);
  w->net.has_odd_objects = sim_chance(w, 30);
  w->net.repeats_events = sim_chance(w, 30);
  w->net.loses_bookmarks = sim_chance(w, 30);
  w->script.env.check_watch_lists =
      sim_chance(w, 50) || options->mutation == SIM_MUTATE_STREAM;
  w->wall_offset_ms = (int64_t)sim_below(w, UINT64_C(1) << 40);
  w->is_rowdy = sim_chance(w, 50);
  w->mutate_at = 1 + sim_below(w, 30);
  sim_graves_init(w);
  for (int i = 0; i < SIM_ACTORS; i++) {
    w->actors[i].world = w;
    w->actors[i].number = (unsigned)i;
  }
  for (uint64_t n = sim_below(w, 40); n > 0; n--) {
    api_change(&w->api);
  }
  if (w->is_large) {
    write_all(w);
  }
  sim_actor_open(&w->actors[0]);
  sim_actor_start(&w->actors[0]);
  if (options->mutation == SIM_MUTATE_INDEX) {
    sim_index_add(&w->actors[0], SIM_INDICES - 1);
  }
}

/* What is bounded in time, and so has to begin in the calm. */
static void be_mistreated(sim_world *w) {
  w->net.is_prompt = true;
  lift_rate(w);
  if (!w->trace.has_failed && sim_chance(w, 50)) {
    sim_check_neighbours(w);
  }
  if (!w->trace.has_failed && sim_chance(w, 50)) {
    sim_check_restarts(w);
  }
  if (!w->trace.has_failed && sim_chance(w, 50)) {
    sim_check_deaf(w);
  }
}

static void lift_bounds(sim_world *w) {
  w->object_bytes.max = 0;
  for (int i = 0; i < SIM_ACTORS; i++) {
    if (sim_actor_is_open(&w->actors[i])) {
      sim_set_max_bytes(&w->actors[i], 0);
    }
  }
}

/* Nothing is left that only the end of an old watch would repair. */
static void check_soon(sim_world *w) {
  lift_rate(w);
  sim_net_break_all(&w->net);
  sim_pass(w, SOON_MS);
  sim_check_truth(w);
  sim_check_waits(w);
}

static void be_calm(sim_world *w) {
  sim_say(&w->trace, "calm");
  w->is_calm = true;
  give_memory_back(w);
  lift_bounds(w);
  w->net.weather =
      (sim_weather){.latency_us = 5000, .has_probe = w->net.weather.has_probe};
  for (unsigned i = 0; i < w->handler_count; i++) {
    sim_handler_pause(&w->handlers[i], false);
  }
  sim_net_set_absent(&w->net, false, false);
  sim_net_set_absent(&w->net, true, false);
  if (sim_chance(w, 50) && w->api.restores == 0) {
    check_soon(w);
  }
  sim_pass(w, CALM_MS);
  sim_check_truth(w);
  sim_check_waits(w);
  if (w->options.mutation == SIM_MUTATE_NOTHING) {
    be_mistreated(w);
  }
  if (!w->trace.has_failed) {
    sim_check_resyncs(w);
  }
  if (!w->trace.has_failed && w->options.mutation != SIM_MUTATE_NOTHING) {
    sim_mutate_calm(w);
    sim_check_truth(w);
  }
}

static void check_closed(sim_world *w) {
  for (int i = 0; i < SIM_ACTORS; i++) {
    const sim_actor *actor = &w->actors[i];
    SIM_CHECK(&w->trace,
              actor->informer == NULL && actor->closed == actor->to_close &&
                  actor->on_closed == actor->to_on_closed,
              "%u: %u and %u close callbacks for %u closes", actor->number,
              actor->closed, actor->on_closed, actor->to_close);
  }
}

/* What can be seen before the last memory is given back. */
static void check_nothing_is_left(sim_world *w) {
  sim_net_look(&w->net);
  SIM_CHECK(&w->trace, script_open_requests(&w->script) == 0,
            "%u requests are left", script_open_requests(&w->script));
  SIM_CHECK(&w->trace,
            w->lists.inside + w->lists.queued + w->lists.overdue == 0,
            "%u lists are left in the gate",
            w->lists.inside + w->lists.queued + w->lists.overdue);
  SIM_CHECK(&w->trace, sim_is_quiet(w), "work is left");
  SIM_CHECK(&w->trace, kin__timers_next_ms(&w->script.timers) == UINT64_MAX,
            "a timer is left");
}

static void end(sim_world *w) {
  sim_say(&w->trace, "the end");
  w->is_calm = true;
  if (!w->trace.has_failed) {
    sim_mutate_end(w);
  }
  for (int i = 0; i < SIM_ACTORS; i++) {
    sim_actor_close(&w->actors[i]);
  }
  /* Closing needs no memory. */
  w->memory.fail_at = atomic_load(&w->memory.calls) + 1;
  w->memory.keeps_failing = true;
  sim_settle(w);
  check_closed(w);
  sim_check_no_waits(w);
  for (unsigned i = 0; i < SIM_HELD; i++) {
    sim_release(w, i);
  }
  sim_graves_finish(w);
  check_nothing_is_left(w);
  kin__timer_stop(&w->script.timers, &w->left_timer);
  sim_net_finish(&w->net);
  if (w->trace.has_failed && !sim_is_quiet(w)) {
    return; /* it cannot be taken down */
  }
  script_env_finish(&w->script);
  size_t left = atomic_load(&w->memory.live_blocks);
  SIM_CHECK(&w->trace, left == 0, "%zu blocks of memory are left", left);
  kin_object_unref(w->left_object);
}

void sim_live(sim_world *w, uint64_t seed, const sim_options *options) {
  begin(w, seed, options);
  bool is_mutated = options->mutation != SIM_MUTATE_NOTHING;
  bool becomes_calm = is_mutated || sim_chance(w, 80);
  uint64_t actions = ACTIONS_MIN + sim_below(w, ACTIONS_SPREAD);
  for (; actions > 0 && !w->trace.has_failed; actions--) {
    act(w);
    sim_pass(w, sim_below(w, sim_chance(w, 10) ? 20000 : 700));
    bool is_time = !w->is_large || sim_chance(w, 10);
    if (is_time && sim_is_quiet(w) && !w->trace.has_failed) {
      sim_check_quiet(w);
    }
  }
  if (becomes_calm && !w->trace.has_failed) {
    be_calm(w);
  }
  end(w);
}
