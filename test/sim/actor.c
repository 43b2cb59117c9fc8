/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "informer/informer.h"

/* --- Options -------------------------------------------------------------- */

static void choose_scopes(sim_actor *actor) {
  sim_world *w = actor->world;
  actor->selection = (api_selection){
      .is_nodes = sim_chance(w, 15),
      .namespace_ = API_NONE,
      .app = sim_chance(w, 25) ? (int)sim_below(w, API_APPS) : API_NONE};
  if (sim_chance(w, 25)) {
    uint32_t count = 2 + (uint32_t)sim_below(w, API_SHARDS - 1);
    actor->selection.shard = (kin__shard){(uint32_t)sim_below(w, count), count};
  }
  actor->all_namespaces = actor->selection.is_nodes || sim_chance(w, 50);
  actor->scope_count =
      actor->all_namespaces ? 1 : 1 + (size_t)sim_below(w, API_NAMESPACES);
  if (w->options.mutation != SIM_MUTATE_NOTHING && actor->number == 0) {
    /* Whatever is spoiled must concern this one. */
    actor->selection = (api_selection){.namespace_ = API_NONE, .app = API_NONE};
    actor->all_namespaces = true;
    actor->scope_count = 1;
  }
  int first = (int)sim_below(w, API_NAMESPACES);
  for (int i = 0; i < SIM_SCOPES; i++) {
    actor->namespaces[i] = (first + i) % API_NAMESPACES;
  }
}

const char *sim_scope_name(const sim_actor *actor, size_t scope) {
  return actor->all_namespaces ? "" : api_namespace(actor->namespaces[scope]);
}

api_selection sim_scope_selection(const sim_actor *actor, size_t scope) {
  api_selection selection = actor->selection;
  selection.namespace_ =
      actor->all_namespaces ? API_NONE : actor->namespaces[scope];
  return selection;
}

static sim_scope *scope_of(sim_actor *actor, const char *namespace_) {
  for (size_t i = 0; i < actor->scope_count; i++) {
    if (!actor->scopes[i].is_removed &&
        strcmp(sim_scope_name(actor, i), namespace_) == 0) {
      return &actor->scopes[i];
    }
  }
  sim_fail(&actor->world->trace, "%u: a scope nobody has: \"%s\"",
           actor->number, namespace_);
  return &actor->scopes[0];
}

/* --- Callbacks ------------------------------------------------------------ */

static void check_caller(sim_actor *actor, const kin_informer *informer,
                         const char *what) {
  SIM_CHECK(&actor->world->trace,
            !actor->is_closing && actor->informer == informer,
            "%u: %s after the close", actor->number, what);
}

static void answer_error(sim_actor *actor, kin_error_event *event) {
  sim_world *w = actor->world;
  if (w->is_calm || !sim_chance(w, 10)) {
    return;
  }
  if (sim_chance(w, 90)) {
    event->answer = KIN_RETRY_AFTER;
    event->retry_after_ms = sim_below(w, 60000);
    return;
  }
  if (w->options.mutation == SIM_MUTATE_NOTHING) {
    event->answer = KIN_STOP;
    scope_of(actor, event->namespace_)->is_stopped = true;
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  sim_actor *actor = data;
  sim_trace *trace = &actor->world->trace;
  check_caller(actor, informer, "on_error");
  (void)scope_of(actor, event->namespace_);
  SIM_CHECK(trace,
            event->code < 0 && event->error_class != KIN_CLASS_NONE &&
                event->message[0] != '\0' && event->answer == KIN_RETRY,
            "%u: an error that says nothing", actor->number);
  bool is_of_object =
      event->error_class == KIN_CLASS_MEMORY ||
      (actor->refuses && event->error_class == KIN_CLASS_DECODE) ||
      (actor->max_object_bytes > 0 && event->code == KIN_ETOOBIG) ||
      (actor->world->net.has_odd_objects &&
       (event->code == KIN_EKEY || event->code == KIN_EUNEXPECTED));
  SIM_CHECK(trace, event->attempt > 0 || is_of_object,
            "%u: an error without an attempt", actor->number);
  SIM_CHECK(trace, event->retry_in_ms <= 3600000, "%u: next try in %" PRIu64,
            actor->number, event->retry_in_ms);
  answer_error(actor, event);
  sim_say(trace, "%u error %s %d %s, attempt %u, next in %" PRIu64 " -> %d",
          actor->number, kin_error_class_name(event->error_class),
          event->status, event->message, event->attempt, event->retry_in_ms,
          (int)event->answer);
  if (!actor->world->is_calm && actor->world->is_rowdy &&
      sim_chance(actor->world, 5)) {
    sim_actor_meddle(actor);
  }
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  sim_actor *actor = data;
  sim_trace *trace = &actor->world->trace;
  sim_scope *scope = scope_of(actor, namespace_);
  check_caller(actor, informer, "on_state");
  sim_say(trace, "%u state %s %s -> %s", actor->number, namespace_,
          kin_state_name(from), kin_state_name(to));
  SIM_CHECK(trace, from != to, "%u: a state that does not change",
            actor->number);
  SIM_CHECK(trace, from == scope->state, "%u: from %s, but it was %s",
            actor->number, kin_state_name(from), kin_state_name(scope->state));
  scope->state = to;
  if (!actor->world->is_calm && actor->world->is_rowdy &&
      sim_chance(actor->world, 5)) {
    sim_actor_meddle(actor);
  }
}

static void on_closed(void *data) {
  sim_actor *actor = data;
  actor->on_closed++;
}

static void on_close(void *data) {
  sim_actor *actor = data;
  sim_say(&actor->world->trace, "%u closed", actor->number);
  SIM_CHECK(&actor->world->trace, actor->is_closing,
            "%u: a close callback, but no close", actor->number);
  actor->closed++;
  actor->informer = NULL;
  actor->is_closing = false;
  sim_handlers_gone(actor);
}

/* --- Life ----------------------------------------------------------------- */

void sim_actor_open(sim_actor *actor) {
  sim_world *w = actor->world;
  if (actor->informer != NULL) {
    return;
  }
  choose_scopes(actor);
  const char *names[SIM_SCOPES];
  kin_informer_options options = sim_make_options(actor, names);
  options.on_error = on_error;
  options.on_state = on_state;
  options.on_closed = on_closed;
  options.data = actor;
  memset(actor->scopes, 0, sizeof actor->scopes);
  memset(actor->has_index, 0, sizeof actor->has_index);
  actor->is_started = false;
  actor->has_synced = false;
  actor->restores = w->api.restores;
  kin_informer *informer;
  int err = kin__informer_open(&informer, &w->script.env, &options);
  sim_say(&w->trace, "%u open %s, %zu scopes, app %d, page %u -> %s",
          actor->number, options.plural, actor->scope_count,
          actor->selection.app, options.page_size, kin_err_name(err));
  SIM_CHECK(&w->trace, err == 0 || err == KIN_ENOMEM, "%u: open gives %s",
            actor->number, kin_err_name(err));
  actor->informer = informer;
  if (err != 0) {
    return;
  }
  for (uint64_t n = 1 + sim_below(w, 3); n > 0; n--) {
    sim_handler_join(actor);
  }
  for (uint64_t n = sim_below(w, 3); n > 0; n--) {
    sim_index_add(actor, (unsigned)sim_below(w, SIM_INDICES));
  }
}

void sim_actor_start(sim_actor *actor) {
  if (!sim_actor_is_open(actor)) {
    return;
  }
  int err = kin_informer_start(actor->informer);
  sim_say(&actor->world->trace, "%u start -> %s", actor->number,
          kin_err_name(err));
  SIM_CHECK(&actor->world->trace, err == (actor->is_started ? KIN_EALREADY : 0),
            "%u: start gives %s", actor->number, kin_err_name(err));
  if (actor->is_most_recent && !actor->is_started) {
    actor->start_version = actor->world->api.revision;
  }
  actor->is_started = true;
  sim_net_look(&actor->world->net);
}

void sim_actor_close(sim_actor *actor) {
  if (actor->informer == NULL) {
    return;
  }
  sim_trace *trace = &actor->world->trace;
  bool was_closing = actor->is_closing;
  int err = kin_informer_close(actor->informer, on_close, actor);
  sim_say(trace, "%u close -> %s", actor->number, kin_err_name(err));
  SIM_CHECK(trace, err == (was_closing ? KIN_EALREADY : 0),
            "%u: close gives %s", actor->number, kin_err_name(err));
  actor->to_close += err == 0;
  actor->to_on_closed += err == 0;
  actor->is_closing = true;
  sim_net_look(&actor->world->net);
}

/* --- Namespaces ----------------------------------------------------------- */

static int any_place(sim_actor *actor) {
  uint64_t places =
      actor->scope_count < SIM_SCOPES ? actor->scope_count + 1 : SIM_SCOPES;
  return (int)sim_below(actor->world, places);
}

static bool is_there(const sim_actor *actor, int place) {
  return (size_t)place < actor->scope_count && !actor->scopes[place].is_removed;
}

static void add_namespace(sim_actor *actor) {
  sim_world *w = actor->world;
  int place = any_place(actor);
  const char *name = api_namespace(actor->namespaces[place]);
  int err = kin_informer_add_namespace(actor->informer, name);
  sim_say(&w->trace, "%u add %s -> %s", actor->number, name, kin_err_name(err));
  int expected = actor->all_namespaces    ? KIN_EINVAL
                 : is_there(actor, place) ? KIN_EEXIST
                                          : 0;
  SIM_CHECK(&w->trace, err == expected || (expected == 0 && err == KIN_ENOMEM),
            "%u: adding %s gives %s", actor->number, name, kin_err_name(err));
  if (err == 0) {
    unsigned removals = actor->scopes[place].removals;
    actor->scopes[place] = (sim_scope){.removals = removals,
                                       .is_stopped = actor->is_memory_stopped};
    actor->scope_count += (size_t)place == actor->scope_count;
    sim_net_expect(&w->net, 3);
  }
  sim_net_look(&w->net);
}

static void remove_namespace(sim_actor *actor) {
  sim_world *w = actor->world;
  int place = any_place(actor);
  const char *name = api_namespace(actor->namespaces[place]);
  int err = kin_informer_remove_namespace(actor->informer, name);
  sim_say(&w->trace, "%u remove %s -> %s", actor->number, name,
          kin_err_name(err));
  int expected = actor->all_namespaces    ? KIN_EINVAL
                 : is_there(actor, place) ? 0
                                          : KIN_ENOENT;
  SIM_CHECK(&w->trace, err == expected, "%u: removing %s gives %s",
            actor->number, name, kin_err_name(err));
  if (err == 0) {
    actor->scopes[place].is_removed = true;
    actor->scopes[place].removals++;
  }
  sim_net_look(&w->net);
}

static void change_namespaces(sim_actor *actor) {
  /* It may just have come to that; what is added now does not take it back. */
  actor->has_synced =
      actor->has_synced || kin_informer_has_synced(actor->informer);
  for (uint64_t n = 1 + sim_below(actor->world, 3); n > 0; n--) {
    if (sim_chance(actor->world, 50)) {
      add_namespace(actor);
    } else {
      remove_namespace(actor);
    }
  }
}

static void use_while_closing(sim_actor *actor) {
  kin_listener *listener;
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  SIM_CHECK(&actor->world->trace,
            kin_informer_listen(actor->informer, &options, &listener) ==
                    KIN_ECLOSED &&
                listener == NULL,
            "%u: listens after the close", actor->number);
  SIM_CHECK(
      &actor->world->trace,
      kin_informer_start(actor->informer) == KIN_ECLOSED &&
          kin_informer_add_namespace(actor->informer, "x") == KIN_ECLOSED &&
          kin_informer_remove_namespace(actor->informer, "x") == KIN_ECLOSED,
      "%u: starts after the close", actor->number);
}

void sim_actor_meddle(sim_actor *actor) {
  sim_world *w = actor->world;
  if (actor->informer == NULL) {
    sim_actor_open(actor);
    return;
  }
  if (actor->is_closing) {
    use_while_closing(actor);
    return;
  }
  switch (sim_below(w, 12)) {
  case 0:
    if (w->options.mutation == SIM_MUTATE_NOTHING || actor->number > 0) {
      sim_actor_close(actor);
      use_while_closing(actor);
      sim_actor_close(actor);
    }
    break;
  case 1:
  case 2:
    sim_actor_start(actor);
    break;
  case 3:
    sim_index_add(actor, (unsigned)sim_below(w, SIM_INDICES));
    break;
  case 8:
  case 9:
  case 10:
  case 11:
    change_namespaces(actor);
    break;
  case 4:
    if (w->options.mutation == SIM_MUTATE_NOTHING && sim_chance(w, 50)) {
      sim_set_max_bytes(actor, sim_any_max_bytes(actor));
    }
    break;
  default:
    sim_handler_join(actor);
    break;
  }
}

uint64_t sim_lowest_version_above(const sim_world *w, uint64_t revision) {
  uint64_t lowest = UINT64_MAX;
  for (int i = 0; i < SIM_ACTORS; i++) {
    const sim_actor *actor = &w->actors[i];
    for (size_t k = 0; actor->informer != NULL && k < actor->scope_count; k++) {
      kin_status status = KIN_STATUS_INIT;
      if (kin_informer_get_status(actor->informer, sim_scope_name(actor, k),
                                  &status) != 0) {
        continue;
      }
      uint64_t version = strtoull(status.resource_version, NULL, 10);
      if (version > revision && version < lowest) {
        lowest = version;
      }
    }
  }
  return lowest;
}
