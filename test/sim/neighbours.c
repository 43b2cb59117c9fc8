/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include <inttypes.h>

/* Whatever some resources and namespaces do, all others sync within a stated
 * time. And when the server is healthy again, so is every cache. */

/* From a server that is ready to a cache that is right. */
#define RECOVERY_MS 10000u
/* The same for what was sick: lists that were refused are tried again after up
 * to a minute. */
#define HEALED_MS 120000u
#define FAR_MS UINT64_C(1000000000)

static bool is_used(const sim_actor *actor, size_t scope) {
  return sim_actor_is_open(actor) && actor->is_started &&
         !actor->scopes[scope].is_removed && !actor->scopes[scope].is_stopped;
}

static bool is_sick(const sim_actor *actor, size_t scope) {
  api_selection selection = sim_scope_selection(actor, scope);
  return actor->world->net.sickness[sim_path(&selection)] != SIM_HEALTHY;
}

static unsigned count_scopes(const sim_world *w, bool are_sick) {
  unsigned count = 0;
  for (int i = 0; i < SIM_ACTORS; i++) {
    const sim_actor *actor = &w->actors[i];
    for (size_t k = 0; actor->informer != NULL && k < actor->scope_count; k++) {
      count += is_used(actor, k) && is_sick(actor, k) == are_sick;
    }
  }
  return count;
}

/* The n-th list in the queue before a gate of `limit` places begins after
 * n / limit + 1 turns. */
static uint64_t stated_ms(const sim_world *w) {
  if (w->script.env.lists == NULL) {
    return RECOVERY_MS;
  }
  unsigned scopes = count_scopes(w, true) + count_scopes(w, false);
  return (scopes / w->lists.limit + 1) * w->list_turn_ms + RECOVERY_MS;
}

/* --- Writes and restarts -------------------------------------------------- */

static void write_some(sim_world *w) {
  for (uint64_t n = 1 + sim_below(w, 8); n > 0 && api_may_write(&w->api, 2);
       n--) {
    api_change(&w->api);
  }
  sim_net_wake(&w->net);
}

/* Nobody can go on from where it was: all make a list. What sick paths were
 * asked goes on, unless `is_first`. */
static void make_all_list(sim_world *w, bool is_first) {
  for (int i = 0; i < w->api.objects && api_may_write(&w->api, 1); i += 3) {
    api_put(&w->api, i); /* not told to any watch */
  }
  api_restart(&w->api);
  if (is_first) {
    sim_net_break_all(&w->net);
  } else {
    sim_net_break_healthy(&w->net);
  }
}

/* --- Sickness ------------------------------------------------------------- */

static void spoil_only_first(sim_world *w) {
  api_selection selection = sim_scope_selection(&w->actors[0], 0);
  w->net.sickness[sim_path(&selection)] = SIM_SICK_TRICKLE;
}

static void choose_sick(sim_world *w) {
  for (int i = 0; i < SIM_PATHS; i++) {
    uint64_t which = 1 + sim_below(w, SIM_SICKNESSES - 1);
    w->net.sickness[i] = sim_chance(w, 60) ? (sim_sickness)which : SIM_HEALTHY;
  }
  if (w->options.mutation == SIM_MUTATE_NO_TURNS) {
    for (int i = 0; i < SIM_PATHS; i++) {
      w->net.sickness[i] = SIM_HEALTHY;
    }
    spoil_only_first(w);
  }
  for (int i = 0; i < SIM_PATHS; i++) {
    sim_say(&w->trace, "path %d: %s", i, sim_sickness_name(w->net.sickness[i]));
  }
}

static void check_healthy(sim_world *w, const char *when, uint64_t in_ms) {
  sim_settle(w);
  for (int i = 0; i < SIM_ACTORS; i++) {
    sim_actor *actor = &w->actors[i];
    for (size_t k = 0; actor->informer != NULL && k < actor->scope_count; k++) {
      if (is_used(actor, k) && !is_sick(actor, k)) {
        sim_check_scope(actor, k, when, in_ms);
      }
    }
  }
}

static void open_all(sim_world *w) {
  for (int i = 0; i < SIM_ACTORS; i++) {
    sim_actor_open(&w->actors[i]);
    if (!w->actors[i].is_started) {
      sim_actor_start(&w->actors[i]);
    }
  }
}

void sim_check_neighbours(sim_world *w) {
  choose_sick(w);
  bool is_mutated = w->options.mutation == SIM_MUTATE_NO_TURNS;
  if (is_mutated) { /* the first one's list takes the only place */
    sim_actor_close(&w->actors[0]);
    sim_settle(w);
  }
  open_all(w);
  if (count_scopes(w, true) == 0 || count_scopes(w, false) == 0) {
    sim_net_heal(&w->net);
    return;
  }
  uint64_t turn_ms = w->lists.turn_ms;
  if (is_mutated) {
    w->lists.turn_ms = FAR_MS;
    w->has_mutated = true;
  }
  /* Twice: the second time sick lists have their places already. */
  for (int round = 0; round < 2 && !w->trace.has_failed; round++) {
    make_all_list(w, round == 0 && !is_mutated);
    sim_pass(w, stated_ms(w));
    check_healthy(w, "beside sick ones", stated_ms(w));
    write_some(w);
    sim_pass(w, sim_below(w, 40000));
  }
  w->lists.turn_ms = turn_ms;
  sim_net_heal(&w->net);
  sim_pass(w, HEALED_MS);
  if (!w->trace.has_failed) {
    sim_check_truth(w);
  }
}

/* --- Restarts ------------------------------------------------------------- */

static void do_something_to_server(sim_world *w) {
  write_some(w);
  switch (sim_below(w, 6)) {
  case 0:
    api_compact(&w->api);
    break;
  case 1:
    make_all_list(w, true);
    return;
  case 2:
    sim_net_break_all(&w->net);
    return;
  case 3:
    api_compact(&w->api);
    api_restart(&w->api);
    break;
  case 4: /* and it takes a while until it is up */
    api_restart(&w->api);
    w->net.is_down = true;
    sim_net_break_all(&w->net);
    sim_pass(w, sim_below(w, 20000));
    w->net.is_down = false;
    return;
  default:
    api_restart(&w->api);
    break;
  }
  sim_net_break_all(&w->net);
}

void sim_check_restarts(sim_world *w) {
  for (uint64_t n = 1 + sim_below(w, 6); n > 0; n--) {
    do_something_to_server(w);
    if (n > 1) {
      sim_pass(w, sim_below(w, sim_chance(w, 50) ? 60000 : 2000));
    }
  }
  sim_pass(w, RECOVERY_MS);
  check_healthy(w, "after restarts", RECOVERY_MS);
}
