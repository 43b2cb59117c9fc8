/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>

static bool accepts(const kin_object *object, void *data) {
  const sim_handler *handler = data;
  return sim_filter_accepts(handler->fold.filter, object);
}

static void say_event(sim_handler *handler, const kin_event *event) {
  sim_trace *trace = &handler->actor->world->trace;
  if (!sim_is_traced(trace)) {
    return;
  }
  static const char *const names[] = {
      [KIN_EVENT_ADD] = "add",           [KIN_EVENT_UPDATE] = "update",
      [KIN_EVENT_DELETE] = "delete",     [KIN_EVENT_SYNCED] = "synced",
      [KIN_EVENT_RELISTED] = "relisted",
  };
  if (event->object == NULL) {
    sim_say(trace, "%s %s " KIN_STR_FORMAT " %zu", handler->name,
            names[event->type], KIN_STR_ARG(event->resource_version),
            event->objects);
    return;
  }
  kin_str version = kin_object_resource_version(event->object);
  sim_say(trace, "%s %s %s " KIN_STR_FORMAT "%s%s %s", handler->name,
          names[event->type], kin_object_key(event->object).data,
          KIN_STR_ARG(version), event->is_initial ? " initial" : "",
          event->is_resync ? " resync" : "",
          kin_delete_reason_name(event->reason));
}

/* What programs do in their callbacks, and should not have to think about. */
static void misbehave(sim_handler *handler, const kin_event *event) {
  sim_actor *actor = handler->actor;
  sim_world *w = actor->world;
  if (event->object != NULL && sim_chance(w, 5)) {
    sim_hold(w, event->object);
  }
  if (!handler->is_rowdy || w->is_calm || !sim_chance(w, 4)) {
    return;
  }
  sim_handler *other = sim_any_handler(w);
  switch (sim_below(w, 6)) {
  case 0:
    sim_handler_leave(handler);
    break;
  case 1:
    sim_handler_pause(handler, true);
    break;
  case 2:
    if (other != NULL) {
      sim_handler_leave(other);
    }
    break;
  case 3:
    if (other != NULL) {
      sim_handler_pause(other, sim_chance(w, 50));
    }
    break;
  default:
    sim_actor_meddle(&w->actors[sim_below(w, SIM_ACTORS)]);
    break;
  }
}

void sim_on_event(kin_informer *informer, const kin_event *event, void *data) {
  sim_handler *handler = data;
  sim_actor *actor = handler->actor;
  sim_world *w = actor->world;
  say_event(handler, event);
  SIM_CHECK(&w->trace,
            handler->is_open && !actor->is_closing &&
                actor->informer == informer,
            "%s: called after its end", handler->name);
  SIM_CHECK(&w->trace, !handler->is_paused, "%s: called while paused",
            handler->name);
  w->events++;
  if (sim_mutate_event(handler, event)) {
    sim_fold_take(&handler->fold, event);
    if (event->type == KIN_EVENT_SYNCED || event->type == KIN_EVENT_RELISTED) {
      sim_check_told(handler, event);
    }
  }
  if (event->type == KIN_EVENT_DELETE && actor->number == 0 &&
      handler->fold.filter == SIM_FILTER_NONE) {
    sim_graves_bury(w, event->object);
  }
  if (handler->slow_us > 0) {
    w->script.now_ns += 1000 * sim_below(w, handler->slow_us);
  }
  misbehave(handler, event);
}

/* A loop cannot do more than a second of handlers in a second. All handlers of
 * a large world together are told of its objects within seconds, so that each
 * promise that names a time still has that time. */
static uint32_t longest_call_us(const sim_world *w) {
  return w->is_large ? 400 : 20000;
}

static kin_listener_options choose_options(sim_handler *handler) {
  static const uint32_t limits[] = {0, KIN_NEVER, 1, 2, 5, 20};
  sim_world *w = handler->actor->world;
  sim_fold *fold = &handler->fold;
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  uint64_t interest = sim_below(w, 10);
  fold->interest = interest == 0   ? SIM_INTEREST_UPDATES
                   : interest == 1 ? SIM_INTEREST_NO_UPDATES
                                   : SIM_INTEREST_ALL;
  if (sim_is_witness(handler)) {
    fold->interest = SIM_INTEREST_ALL;
  } else {
    fold->filter = (sim_filter)sim_below(w, 3);
    fold->relist_updates = sim_chance(w, 20);
  }
  if (fold->interest != SIM_INTEREST_UPDATES) {
    options.on_add = sim_on_event;
    options.on_delete = sim_on_event;
  }
  if (fold->interest != SIM_INTEREST_NO_UPDATES) {
    options.on_update = sim_on_event;
  }
  options.on_synced = sim_on_event;
  options.on_relisted = sim_chance(w, 50) ? sim_on_event : NULL;
  options.filter = fold->filter != SIM_FILTER_NONE ? accepts : NULL;
  options.relist_updates = fold->relist_updates;
  options.resync_ms = sim_chance(w, 20)   ? sim_resync_ms(w, 5000)
                      : sim_chance(w, 20) ? KIN_NEVER
                                          : 0;
  options.exact_limit = limits[sim_below(w, 6)];
  options.data = handler;
  return options;
}

void sim_handler_join(sim_actor *actor) {
  sim_world *w = actor->world;
  if (!sim_actor_is_open(actor) || w->handler_count == SIM_HANDLERS) {
    return;
  }
  sim_handler *handler = &w->handlers[w->handler_count++];
  handler->actor = actor;
  snprintf(handler->name, sizeof handler->name, "%u.h%u", actor->number,
           w->handler_count - 1);
  sim_fold_init(&handler->fold, &w->api, &w->trace, handler->name);
  handler->fold.loses_scopes = !actor->all_namespaces;
  handler->fold.is_cleared = actor->clears;
  kin_listener_options options = choose_options(handler);
  handler->is_rowdy = w->is_rowdy && sim_chance(w, 50);
  handler->slow_us =
      sim_chance(w, 20) ? 1 + (uint32_t)sim_below(w, longest_call_us(w)) : 0;
  handler->resync_ms = options.resync_ms == KIN_NEVER ? 0 : options.resync_ms;
  /* Nothing is called inside a call, so it may count as open before. */
  handler->is_open = true;
  int err = kin_informer_listen(actor->informer, &options, &handler->listener);
  handler->is_open = err == 0;
  sim_say(&w->trace, "%s joins, filter %d, interest %d, exact %u -> %s",
          handler->name, (int)handler->fold.filter, (int)handler->fold.interest,
          options.exact_limit, kin_err_name(err));
  SIM_CHECK(&w->trace, err == 0 || err == KIN_ENOMEM, "%s: listen gives %s",
            handler->name, kin_err_name(err));
}

void sim_handler_leave(sim_handler *handler) {
  if (!handler->is_open || sim_is_witness(handler)) {
    return;
  }
  sim_say(&handler->actor->world->trace, "%s leaves", handler->name);
  handler->is_open = false;
  kin_listener_close(handler->listener);
}

void sim_handler_pause(sim_handler *handler, bool is_paused) {
  if (!handler->is_open) {
    return;
  }
  sim_say(&handler->actor->world->trace, "%s %s", handler->name,
          is_paused ? "pauses" : "resumes");
  handler->is_paused = is_paused;
  if (is_paused) {
    kin_listener_pause(handler->listener);
  } else {
    kin_listener_resume(handler->listener);
  }
}

sim_handler *sim_any_handler(sim_world *w) {
  for (int tries = 0; tries < 6 && w->handler_count > 0; tries++) {
    sim_handler *handler = &w->handlers[sim_below(w, w->handler_count)];
    if (handler->is_open) {
      return handler;
    }
  }
  return NULL;
}

void sim_handlers_gone(sim_actor *actor) {
  sim_world *w = actor->world;
  for (unsigned i = 0; i < w->handler_count; i++) {
    if (w->handlers[i].actor == actor) {
      w->handlers[i].is_open = false;
    }
  }
}

void sim_hold(sim_world *w, const kin_object *object) {
  unsigned place = (unsigned)sim_below(w, SIM_HELD);
  sim_release(w, place);
  w->held[place] = kin_object_ref(object);
}

/* A held object is what it was, whatever has become of everything else. */
void sim_release(sim_world *w, unsigned place) {
  kin_object *object = w->held[place];
  if (object != NULL) {
    (void)sim_write_of(&w->api, &w->trace, object, true);
  }
  kin_object_unref(object);
  w->held[place] = NULL;
}
