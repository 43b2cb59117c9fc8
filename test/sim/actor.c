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

bool sim_is_refused(const sim_actor *actor, int write) {
  return actor->refuses && write % 11 == 5;
}

static int transform(const kin_object *in, kin_object_builder *out,
                     void *data) {
  kin_str label;
  uint64_t write = 0;
  if (kin_object_label(in, "w", &label) && kin__str_to_u64(label, &write) &&
      sim_is_refused(data, (int)write)) {
    return KIN_EINDEX;
  }
  return kin_object_builder_remove(out, "/spec/text");
}

static sim_scope *scope_of(sim_actor *actor, const char *namespace_) {
  for (size_t i = 0; i < actor->scope_count; i++) {
    if (strcmp(sim_scope_name(actor, i), namespace_) == 0) {
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
      (actor->refuses && event->error_class == KIN_CLASS_DECODE);
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

static kin_informer_options make_options(sim_actor *actor,
                                         const char *names[SIM_SCOPES]) {
  static const char *const selectors[] = {"app=a0", "app=a1", "app=a2"};
  static const char *const node_only[] = {"/spec/nodeName"};
  sim_world *w = actor->world;
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = actor->selection.is_nodes ? "nodes" : "pods";
  if (!actor->all_namespaces) {
    for (size_t i = 0; i < actor->scope_count; i++) {
      names[i] = sim_scope_name(actor, i);
    }
    options.namespaces = names;
    options.namespace_count = actor->scope_count;
  }
  if (actor->selection.app != API_NONE) {
    options.label_selector = selectors[actor->selection.app];
  }
  uint32_t page = w->is_large ? 1000 : 7;
  options.page_size = sim_chance(w, 40)   ? 1 + (uint32_t)sim_below(w, page)
                      : sim_chance(w, 20) ? KIN_NEVER
                                          : 0;
  options.resync_ms =
      sim_chance(w, 20) ? 1000 + (uint32_t)sim_below(w, 9000) : 0;
  actor->is_metadata = sim_chance(w, 10);
  actor->is_node_only = !actor->is_metadata && sim_chance(w, 10);
  actor->transforms =
      !actor->is_metadata && !actor->is_node_only && sim_chance(w, 25);
  actor->refuses = actor->transforms && sim_chance(w, 40) &&
                   w->options.mutation == SIM_MUTATE_NOTHING;
  actor->keeps_managed =
      !actor->is_node_only && !actor->transforms && sim_chance(w, 20);
  options.metadata_only = actor->is_metadata;
  options.keep_managed_fields = actor->keeps_managed;
  options.fields = actor->is_node_only ? node_only : NULL;
  options.field_count = actor->is_node_only ? 1 : 0;
  options.no_watch_list = sim_chance(w, 30);
  options.transform = actor->transforms ? transform : NULL;
  options.transform_data = actor;
  options.on_error = on_error;
  options.on_state = on_state;
  options.on_closed = on_closed;
  options.data = actor;
  return options;
}

void sim_actor_open(sim_actor *actor) {
  sim_world *w = actor->world;
  if (actor->informer != NULL) {
    return;
  }
  choose_scopes(actor);
  const char *names[SIM_SCOPES];
  kin_informer_options options = make_options(actor, names);
  memset(actor->scopes, 0, sizeof actor->scopes);
  memset(actor->has_index, 0, sizeof actor->has_index);
  actor->is_started = false;
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

static void use_while_closing(sim_actor *actor) {
  kin_listener *listener;
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  SIM_CHECK(&actor->world->trace,
            kin_informer_listen(actor->informer, &options, &listener) ==
                    KIN_ECLOSED &&
                listener == NULL,
            "%u: listens after the close", actor->number);
  SIM_CHECK(&actor->world->trace,
            kin_informer_start(actor->informer) == KIN_ECLOSED,
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
  switch (sim_below(w, 8)) {
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
      kin_status status;
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
