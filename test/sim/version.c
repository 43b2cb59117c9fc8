/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "feed/feed.h"
#include "informer/informer.h"

/* Waits for versions, and verifications: what is told is true, and told once,
 * and in the end everybody has been told. */

/* What a cache holds that has seen everything up to a version: of each object
 * at least the last state up to it, and none only if there was none by then or
 * has been none since. */
static void check_object(sim_actor *actor, const api_selection *selection,
                         uint64_t version, int object, int last) {
  sim_world *w = actor->world;
  const api *server = &w->api;
  char key[16];
  api_key(object, key);
  const kin_object *found =
      kin_store_get_key(kin_informer_store(actor->informer), key);
  if (found != NULL) {
    int cached = sim_write_of(server, &w->trace, found, false);
    SIM_CHECK(&w->trace,
              cached == API_NONE || last == API_NONE ||
                  server->writes[cached].revision >=
                      server->writes[last].revision,
              "%u: told %" PRIu64 ", but %s is cached at w%d, not w%d",
              actor->number, version, key, cached, last);
    return;
  }
  bool may_be_absent = !api_selects(server, selection, last);
  for (int i = api_after(server, version); i < server->length && !may_be_absent;
       i++) {
    int write = server->timeline[i];
    may_be_absent = server->writes[write].object == object &&
                    !api_selects(server, selection, write);
  }
  SIM_CHECK(&w->trace, may_be_absent,
            "%u: told %" PRIu64 ", but %s is not cached; it was at w%d",
            actor->number, version, key, last);
}

void sim_check_version(sim_actor *actor, size_t scope, uint64_t version) {
  sim_world *w = actor->world;
  api_selection selection = sim_scope_selection(actor, scope);
  static int last[API_OBJECTS];
  if (actor->refuses || actor->clears) {
    return; /* of some objects an older state is cached, or none */
  }
  for (int i = 0; i < w->api.objects; i++) {
    last[i] = API_NONE;
  }
  int end = api_after(&w->api, version);
  for (int i = 0; i < end; i++) {
    int write = w->api.timeline[i];
    last[w->api.writes[write].object] = write;
  }
  for (int i = 0; i < w->api.objects; i++) {
    if (api_covers(&selection, i)) {
      check_object(actor, &selection, version, i, last[i]);
    }
  }
}

/* --- Lists ---------------------------------------------------------------- */

/* Whether the handler would be shown the object as of this write. */
static bool is_shown(const sim_handler *handler, const api_selection *selection,
                     int write) {
  const api *server = &handler->actor->world->api;
  if (!api_selects(server, selection, write)) {
    return false;
  }
  const api_write *at = &server->writes[write];
  switch (handler->fold.filter) {
  case SIM_FILTER_APP:
    return at->app == 1;
  case SIM_FILTER_ODD:
    return (at->object & 1) != 0;
  default:
    return true;
  }
}

/* `last` is what the object was at in the list. */
static void check_told_object(sim_handler *handler,
                              const api_selection *selection, uint64_t version,
                              int object, int last) {
  const api *server = &handler->actor->world->api;
  sim_trace *trace = &handler->actor->world->trace;
  int seen = handler->fold.seen[object];
  bool is_later = false; /* what is seen, or not seen, may come from later */
  for (int i = api_after(server, version); i < server->length && !is_later;
       i++) {
    int write = server->timeline[i];
    is_later = server->writes[write].object == object &&
               is_shown(handler, selection, write) == (seen != API_NONE);
  }
  bool was_shown = last != API_NONE && is_shown(handler, selection, last);
  SIM_CHECK(
      trace, is_later || was_shown == (seen != API_NONE),
      "%s: told of a list at %" PRIu64 " while object %d is %s, and %s in "
      "the list",
      handler->name, version, object, seen != API_NONE ? "there" : "not there",
      was_shown ? "is" : "is not");
}

static int find_scope(const sim_actor *actor, kin_str namespace_) {
  for (size_t i = 0; i < actor->scope_count; i++) {
    if (!actor->scopes[i].is_removed &&
        kin__str_equal(kin__cstr(sim_scope_name(actor, i)), namespace_)) {
      return (int)i;
    }
  }
  return -1;
}

/* A synced event gives the version of the newest list there is, which may be one
 * that came after the synced was due, or is still being made. */
static bool is_of_first_list(const sim_actor *actor) {
  const kin_feed *feed =
      kin__informer_feed(actor->informer, sim_scope_name(actor, 0));
  return feed != NULL && feed->counters.lists == 1 &&
         (kin__listwatch_state_of(&feed->listwatch) == KIN__LISTWATCH_OPENING ||
          kin__listwatch_state_of(&feed->listwatch) == KIN__LISTWATCH_WATCHING);
}

void sim_check_told(sim_handler *handler, const kin_event *event) {
  static int last[API_OBJECTS];
  sim_actor *actor = handler->actor;
  sim_world *w = actor->world;
  uint64_t version;
  int scope = find_scope(actor, event->namespace_);
  if (event->type == KIN_EVENT_SYNCED) {
    scope = actor->scope_count == 1 && is_of_first_list(actor) ? 0 : -1;
  }
  /* What was told of a namespace before it was removed may come after it was
   * added again. */
  bool is_known = scope >= 0 && actor->scopes[scope].removals == 0 &&
                  kin__str_to_u64(event->resource_version, &version);
  if (!is_known || handler->fold.interest == SIM_INTEREST_UPDATES ||
      w->api.restores > 0 || actor->refuses || actor->clears ||
      w->options.mutation == SIM_MUTATE_STREAM) {
    return;
  }
  for (int i = 0; i < w->api.objects; i++) {
    last[i] = API_NONE;
  }
  int end = api_after(&w->api, version);
  for (int i = 0; i < end; i++) {
    int write = w->api.timeline[i];
    last[w->api.writes[write].object] = write;
  }
  api_selection selection = sim_scope_selection(actor, (size_t)scope);
  for (int i = 0; i < w->api.objects && !w->trace.has_failed; i++) {
    if (api_covers(&selection, i)) {
      check_told_object(handler, &selection, version, i, last[i]);
    }
  }
}

/* --- Waits ---------------------------------------------------------------- */

static void check_told(const sim_wait *wait, const char *version) {
  sim_actor *actor = wait->actor;
  sim_world *w = actor->world;
  uint64_t number = strtoull(version, NULL, 10);
  if (w->api.restores != wait->restores ||
      actor->scopes[wait->scope].removals != wait->removals) {
    return;
  }
  if (wait->is_verify) {
    SIM_CHECK(&w->trace, number >= wait->version,
              "%u: verified up to %s, but %" PRIu64 " had been written",
              actor->number, version, wait->version);
  } else if (w->api.restores != actor->restores) {
    return; /* versions of a history that is no more count as well */
  }
  sim_check_version(actor, wait->scope, number);
}

static void on_told(kin_informer *informer, int code, const char *version,
                    void *data) {
  sim_wait *wait = data;
  sim_actor *actor = wait->actor;
  sim_world *w = actor->world;
  sim_say(&w->trace, "%u told %s of %s%s", actor->number, kin_err_name(code),
          wait->is_verify ? "verification: " : "", version);
  SIM_CHECK(&w->trace, wait->is_open, "%u: told twice", actor->number);
  SIM_CHECK(&w->trace, actor->informer == informer,
            "%u: told of a version after the end", actor->number);
  wait->is_open = false;
  uint64_t age_ms = sim_now_ms(w) - wait->began_ms;
  switch (code) {
  case 0:
    check_told(wait, version);
    break;
  case KIN_ETIMEDOUT:
    SIM_CHECK(&w->trace, wait->timeout_ms > 0 && age_ms >= wait->timeout_ms,
              "%u: time was up after %" PRIu64 " ms", actor->number, age_ms);
    break;
  default:
    SIM_CHECK(&w->trace,
              code == KIN_ECLOSED &&
                  (actor->is_closing || actor->scopes[wait->scope].is_stopped ||
                   actor->scopes[wait->scope].removals != wait->removals),
              "%u: told %s", actor->number, kin_err_name(code));
    break;
  }
  if (!w->is_calm && w->is_rowdy && sim_chance(w, 5)) {
    sim_actor_meddle(actor);
  } else if (!w->is_calm && sim_chance(w, 5)) {
    sim_wait_for_version(actor);
  }
}

static uint64_t any_version(sim_world *w) {
  uint64_t newest = w->api.revision;
  switch (sim_below(w, 10)) {
  case 0:
    return newest + 1 + sim_below(w, 20); /* to come, perhaps */
  case 1:
    return 1 + sim_below(w, newest + 1);
  default:
    return newest;
  }
}

static sim_wait *find_free(sim_world *w) {
  for (int i = 0; i < SIM_WAITS; i++) {
    if (!w->waits[i].is_open) {
      return &w->waits[i];
    }
  }
  return NULL;
}

static void begin_wait(sim_actor *actor, size_t place, bool is_verify,
                       uint64_t version, uint64_t timeout_ms) {
  sim_world *w = actor->world;
  sim_wait *wait = find_free(w);
  if (wait == NULL) {
    return;
  }
  const sim_scope *scope = &actor->scopes[place];
  *wait = (sim_wait){.actor = actor,
                     .scope = place,
                     .is_open = true,
                     .is_verify = is_verify,
                     .version = version,
                     .removals = scope->removals,
                     .restores = w->api.restores,
                     .began_ms = sim_now_ms(w),
                     .timeout_ms = timeout_ms};
  const char *name = sim_scope_name(actor, place);
  int err;
  if (is_verify) {
    err = kin_informer_verify(actor->informer, name, timeout_ms, on_told, wait);
  } else {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, version);
    err = kin_informer_wait_version(actor->informer, name, text, timeout_ms,
                                    on_told, wait);
  }
  sim_say(&w->trace, "%u %s %s %" PRIu64 " -> %s", actor->number,
          is_verify ? "verifies" : "waits for", name, version,
          kin_err_name(err));
  bool is_right =
      scope->is_removed ? err == KIN_ENOENT : err == 0 || err == KIN_ENOMEM;
  SIM_CHECK(&w->trace, is_right, "%u: %s", actor->number, kin_err_name(err));
  wait->is_open = err == 0;
}

void sim_wait_for_version(sim_actor *actor) {
  sim_world *w = actor->world;
  if (!sim_actor_is_open(actor) || actor->scope_count == 0) {
    return;
  }
  size_t place = (size_t)sim_below(w, actor->scope_count);
  bool is_verify = sim_chance(w, 40);
  uint64_t timeout_ms = sim_chance(w, 50) ? 1 + sim_below(w, 60000) : 0;
  begin_wait(actor, place, is_verify,
             is_verify ? w->api.revision : any_version(w), timeout_ms);
}

void sim_verify(sim_actor *actor) {
  for (size_t i = 0; i < actor->scope_count; i++) {
    begin_wait(actor, i, true, actor->world->api.revision, 0);
  }
}

bool sim_has_wait(const sim_actor *actor) {
  const sim_world *w = actor->world;
  for (int i = 0; i < SIM_WAITS; i++) {
    if (w->waits[i].is_open && w->waits[i].actor == actor) {
      return true;
    }
  }
  return false;
}

/* In the calm nobody waits but for what there is not yet. */
void sim_check_waits(sim_world *w) {
  for (int i = 0; i < SIM_WAITS; i++) {
    const sim_wait *wait = &w->waits[i];
    const sim_actor *actor = wait->actor;
    if (!wait->is_open || !sim_actor_is_open(actor)) {
      continue;
    }
    SIM_CHECK(&w->trace,
              !actor->is_started ||
                  (!wait->is_verify && wait->version > w->api.revision),
              "%u: nobody says whether it %s %" PRIu64, actor->number,
              wait->is_verify ? "is up to" : "has", wait->version);
  }
}

void sim_check_no_waits(sim_world *w) {
  for (int i = 0; i < SIM_WAITS; i++) {
    SIM_CHECK(&w->trace, !w->waits[i].is_open,
              "%u: a wait for %" PRIu64 " is never told",
              w->waits[i].actor->number, w->waits[i].version);
  }
}
