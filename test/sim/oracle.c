/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "base/str.h"
#include "informer/informer.h"

/* --- Status --------------------------------------------------------------- */

static void check_counters(sim_actor *actor, const kin_status *before,
                           const kin_status *now) {
  bool grows = now->lists >= before->lists && now->relists >= before->relists &&
               now->watches >= before->watches &&
               now->events >= before->events &&
               now->bookmarks >= before->bookmarks &&
               now->unchanged >= before->unchanged &&
               now->transform_failures >= before->transform_failures &&
               now->oversized >= before->oversized &&
               now->bad_objects >= before->bad_objects &&
               now->checked_lists >= before->checked_lists &&
               now->received_bytes >= before->received_bytes &&
               now->has_synced >= before->has_synced;
  SIM_CHECK(&actor->world->trace, grows, "%u: a counter went back",
            actor->number);
}

void sim_check_status(sim_actor *actor, size_t scope) {
  sim_world *w = actor->world;
  sim_scope *known = &actor->scopes[scope];
  kin_status status = KIN_STATUS_INIT;
  int err = kin_informer_get_status(actor->informer,
                                    sim_scope_name(actor, scope), &status);
  if (!SIM_CHECK(&w->trace, err == 0, "%u: no status: %s", actor->number,
                 kin_err_name(err))) {
    return;
  }
  if (w->options.mutation == SIM_MUTATE_STATUS && w->has_mutated) {
    status.received_bytes /= 2;
  }
  check_counters(actor, &known->last, &status);
  known->last = status;
  SIM_CHECK(&w->trace,
            status.relists == (status.lists > 0 ? status.lists - 1 : 0),
            "%u: %" PRIu64 " lists, but %" PRIu64 " relists", actor->number,
            status.lists, status.relists);
  SIM_CHECK(&w->trace, status.has_synced == (status.lists > 0),
            "%u: %" PRIu64 " lists, but has_synced is %d", actor->number,
            status.lists, status.has_synced);
  SIM_CHECK(&w->trace,
            status.state != KIN_STATE_LIVE ||
                (status.failures == 0 && status.staged == 0),
            "%u: live, with %u failures and %" PRIu64 " staged", actor->number,
            status.failures, status.staged);
  /* After a restore versions are given a second time. */
  SIM_CHECK(&w->trace, status.inconsistent_lists == 0 || w->api.restores > 0,
            "%u: %" PRIu64 " of %" PRIu64 " lists differ from their watch",
            actor->number, status.inconsistent_lists, status.checked_lists);
  SIM_CHECK(&w->trace, status.oversized == 0 || actor->max_object_bytes > 0,
            "%u: objects that are over no limit", actor->number);
  SIM_CHECK(&w->trace,
            status.byte_age_ms <= status.event_age_ms &&
                status.byte_age_ms <= status.bookmark_age_ms,
            "%u: the last byte is older than what it brought", actor->number);
  SIM_CHECK(&w->trace, actor->is_started || status.state == KIN_STATE_IDLE,
            "%u: %s, but not started", actor->number,
            kin_state_name(status.state));
}

/* The first list has seen what it had to. */
static void check_start(sim_actor *actor, size_t scope) {
  sim_scope *known = &actor->scopes[scope];
  if (actor->start_version == 0 || known->is_start_checked ||
      !known->last.has_synced) {
    return;
  }
  known->is_start_checked = true;
  if (actor->restores == actor->world->api.restores) {
    sim_check_version(actor, scope, actor->start_version);
  }
}

static void check_statuses(sim_actor *actor) {
  sim_world *w = actor->world;
  uint64_t received = 0;
  bool has_synced = true;
  size_t count = 0;
  for (size_t i = 0; i < actor->scope_count; i++) {
    if (actor->scopes[i].is_removed) {
      continue;
    }
    count++;
    sim_check_status(actor, i);
    check_start(actor, i);
    received += actor->scopes[i].last.received_bytes;
    has_synced = has_synced && actor->scopes[i].last.has_synced;
  }
  /* Without memory it takes longer until removed ones are gone, and until the
   * listeners can be told. */
  const kin_informer *informer = actor->informer;
  bool may_wait = informer->retry_timer.is_active ||
                  !kin__link_is_empty(&informer->scopes.task.node);
  has_synced =
      actor->has_synced ||
      (has_synced && actor->is_started && informer->scopes.count == count &&
       (!may_wait || kin_informer_has_synced(informer)));
  actor->has_synced = has_synced;
  SIM_CHECK(&w->trace, received <= w->net.given_bytes,
            "%u: received more than was given", actor->number);
  SIM_CHECK(&w->trace, kin_informer_has_synced(actor->informer) == has_synced,
            "%u: has_synced is not that of its scopes", actor->number);
}

/* --- Cache and folds ------------------------------------------------------ */

/* Without memory it takes longer until its objects are gone. */
static bool is_removing(const sim_actor *actor) {
  size_t count = 0;
  for (size_t i = 0; i < actor->scope_count; i++) {
    count += !actor->scopes[i].is_removed;
  }
  return actor->informer->scopes.count > count;
}

/* Every object is one that the server once had, and one that was asked for. */
static void check_cache(sim_actor *actor) {
  sim_world *w = actor->world;
  const kin_store *store = kin_informer_store(actor->informer);
  size_t count = 0;
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(store, &cursor)) != NULL) {
    int write = sim_write_of(&w->api, &w->trace, object, false);
    bool is_selected = false;
    for (size_t i = 0; i < actor->scope_count; i++) {
      api_selection selection = sim_scope_selection(actor, i);
      bool may_be = !actor->scopes[i].is_removed || is_removing(actor);
      is_selected =
          is_selected || (may_be && api_selects(&w->api, &selection, write));
    }
    SIM_CHECK(&w->trace, !sim_is_refused(actor, write),
              "%u: %s is cached at w%d, which was refused", actor->number,
              kin_object_key(object).data, write);
    SIM_CHECK(&w->trace, is_selected, "%u: %s was not asked for", actor->number,
              kin_object_key(object).data);
    count++;
  }
  SIM_CHECK(&w->trace, count == kin_store_count(store),
            "%u: %zu objects are counted as %zu", actor->number, count,
            kin_store_count(store));
}

/* Objects that were cached, staged or queued when a bound was lowered may
 * stay. */
static void check_bound(sim_actor *actor) {
  sim_world *w = actor->world;
  uint64_t bytes = kin_store_bytes(kin_informer_store(actor->informer));
  SIM_CHECK(&w->trace,
            actor->max_bytes == 0 || actor->is_over ||
                bytes <= actor->max_bytes,
            "%u: %" PRIu64 " bytes are cached, but %" PRIu64 " may be",
            actor->number, bytes, actor->max_bytes);
  bool is_staged = false;
  bool are_live = true;
  for (size_t i = 0; i < actor->scope_count; i++) {
    const kin_status *last = &actor->scopes[i].last;
    is_staged = is_staged || last->staged > 0;
    are_live = are_live && last->state == KIN_STATE_LIVE;
  }
  /* All states of a list that comes as a watch count until it is complete. */
  const kin__max_bytes *counted = &actor->informer->max_bytes;
  SIM_CHECK(&w->trace,
            actor->informer->fifo.depth > 0 ||
                (counted->own.used == bytes + counted->listed &&
                 (!are_live || counted->listed == 0)),
            "%u: %" PRIu64 " bytes are cached, %" PRIu64
            " are counted, %" PRIu64 " of them of lists",
            actor->number, bytes, counted->own.used, counted->listed);
  actor->is_over =
      actor->is_over && (is_staged || actor->informer->fifo.depth > 0 ||
                         bytes > actor->max_bytes);
}

/* What a handler has been told is what is cached and passes its filter. */
static void check_fold(const sim_handler *handler) {
  sim_actor *actor = handler->actor;
  sim_world *w = actor->world;
  const kin_store *store = kin_informer_store(actor->informer);
  const sim_fold *fold = &handler->fold;
  for (int i = 0; i < w->api.objects; i++) {
    char key[16];
    api_key(i, key);
    const kin_object *object = kin_store_get_key(store, key);
    int expected = API_NONE;
    if (object != NULL && sim_filter_accepts(fold->filter, object)) {
      expected = sim_write_of(&w->api, &w->trace, object, false);
    }
    bool is_right = fold->interest == SIM_INTEREST_ALL
                        ? fold->seen[i] == expected
                        : (fold->seen[i] == API_NONE) == (expected == API_NONE);
    SIM_CHECK(&w->trace, is_right, "%s: believes %s is at w%d, cached is w%d",
              handler->name, key, fold->seen[i], expected);
  }
}

static void check_handler(sim_handler *handler) {
  sim_world *w = handler->actor->world;
  const sim_fold *fold = &handler->fold;
  bool has_synced = kin_listener_has_synced(handler->listener);
  SIM_CHECK(&w->trace, has_synced == (fold->synced > 0),
            "%s: has_synced is %d, but synced came %u times", handler->name,
            has_synced, fold->synced);
  SIM_CHECK(&w->trace,
            !has_synced || kin_informer_has_synced(handler->actor->informer),
            "%s: synced before its informer", handler->name);
  bool is_up_to_date = has_synced && !handler->is_paused &&
                       kin_listener_pending(handler->listener) == 0;
  if (is_up_to_date && fold->interest != SIM_INTEREST_UPDATES) {
    check_fold(handler);
  }
}

void sim_check_quiet(sim_world *w) {
  w->quiet++;
  for (int i = 0; i < SIM_ACTORS; i++) {
    sim_actor *actor = &w->actors[i];
    if (sim_actor_is_open(actor)) {
      check_cache(actor);
      check_statuses(actor);
      check_bound(actor);
      sim_check_indices(actor);
    }
  }
  for (unsigned i = 0; i < w->handler_count; i++) {
    sim_handler *handler = &w->handlers[i];
    if (handler->is_open && !handler->actor->is_closing) {
      check_handler(handler);
    }
  }
  sim_graves_check(w);
}

/* --- Truth ---------------------------------------------------------------- */

static sim_form form_of(const sim_actor *actor, int write) {
  if (sim_is_oversized(actor, write)) {
    return SIM_FORM_KEY;
  }
  if (actor->is_node_only) {
    return SIM_FORM_NODE;
  }
  if (actor->transforms) {
    return SIM_FORM_SHORT;
  }
  if (actor->is_metadata) {
    return actor->keeps_managed ? SIM_FORM_METADATA : SIM_FORM_METADATA_KEPT;
  }
  return actor->keeps_managed ? SIM_FORM_FULL : SIM_FORM_KEPT;
}

/* A list's items may lack what an event's objects have. */
static bool is_same_json(kin_str stored, kin_str expected) {
  bool is_same = false;
  yyjson_doc *a = yyjson_read(stored.data, stored.length, 0);
  yyjson_doc *b = yyjson_read(expected.data, expected.length, 0);
  yyjson_mut_doc *stripped = yyjson_mut_doc_new(NULL);
  yyjson_mut_doc *wanted = yyjson_mut_doc_new(NULL);
  if (a != NULL && b != NULL) {
    yyjson_mut_val *x = yyjson_val_mut_copy(stripped, yyjson_doc_get_root(a));
    yyjson_mut_val *y = yyjson_val_mut_copy(wanted, yyjson_doc_get_root(b));
    yyjson_mut_obj_remove_str(x, "kind");
    yyjson_mut_obj_remove_str(x, "apiVersion");
    is_same = yyjson_mut_equals(x, y);
  }
  yyjson_mut_doc_free(wanted);
  yyjson_mut_doc_free(stripped);
  yyjson_doc_free(b);
  yyjson_doc_free(a);
  return is_same;
}

/* A body that was dropped does not come back if the transform refuses the state
 * that the server has now. */
static void check_content(sim_actor *actor, const kin_object *object,
                          int number, int truth) {
  sim_world *w = actor->world;
  if (number != truth && kin_object_is_key_only(object)) {
    return;
  }
  const api_write *write = &w->api.writes[number];
  bool is_key_only = sim_is_oversized(actor, number);
  SIM_CHECK(&w->trace, kin_object_is_key_only(object) == is_key_only,
            "%u: %s at w%d is%s one with its key only", actor->number,
            kin_object_key(object).data, number, is_key_only ? " not" : "");
  sim_text expected = {0};
  sim_text_object(&expected, write, number, write->revision,
                  form_of(actor, number), false);
  kin_object_view *view;
  int err = kin_object_view_open(&view, object);
  if (SIM_CHECK(&w->trace, err == 0, "no view: %s", kin_err_name(err))) {
    kin_str json = kin_object_view_json(view);
    SIM_CHECK(&w->trace,
              is_same_json(json, kin__str(expected.data, expected.length)),
              "%u: %s is stored as " KIN_STR_FORMAT ", not %s", actor->number,
              kin_object_key(object).data, KIN_STR_ARG(json), expected.data);
    kin_object_view_close(view);
  }
  sim_text_free(&expected);
}

/* Instead of a state that the transform refused, an older one of the same
 * object may be cached, or none. */
static bool is_stand_in(const sim_actor *actor, int cached, int truth) {
  const api_write *writes = actor->world->api.writes;
  return sim_is_refused(actor, truth) &&
         (cached == API_NONE ||
          (writes[cached].incarnation == writes[truth].incarnation &&
           (cached < truth || actor->world->api.restores > 0)));
}

/* What the server has for one key of an informer, or API_NONE. */
static int truth_of(const sim_actor *actor, int object) {
  const api *server = &actor->world->api;
  for (size_t i = 0; i < actor->scope_count; i++) {
    api_selection selection = sim_scope_selection(actor, i);
    if (!actor->scopes[i].is_removed &&
        api_selects(server, &selection, server->current[object])) {
      return server->current[object];
    }
  }
  return API_NONE;
}

static void check_objects(sim_actor *actor) {
  sim_world *w = actor->world;
  if (w->options.mutation == SIM_MUTATE_STREAM) {
    return; /* another oracle has to notice */
  }
  const kin_store *store = kin_informer_store(actor->informer);
  size_t count = 0;
  for (int i = 0; i < w->api.objects; i++) {
    char key[16];
    api_key(i, key);
    int expected = truth_of(actor, i);
    const kin_object *object = kin_store_get_key(store, key);
    int cached = object != NULL
                     ? sim_write_of(&w->api, &w->trace, object, false)
                     : API_NONE;
    bool is_right = cached == expected || is_stand_in(actor, cached, expected);
    if (SIM_CHECK(&w->trace, is_right,
                  "%u: %s is cached at w%d, the server has w%d", actor->number,
                  key, cached, expected) &&
        object != NULL) {
      check_content(actor, object, cached, expected);
    }
    count += cached != API_NONE;
  }
  SIM_CHECK(&w->trace, kin_store_count(store) == count,
            "%u: %zu objects, the server has %zu", actor->number,
            kin_store_count(store), count);
}

void sim_check_scope(sim_actor *actor, size_t scope, const char *when,
                     uint64_t in_ms) {
  sim_world *w = actor->world;
  const kin_store *store = kin_informer_store(actor->informer);
  api_selection selection = sim_scope_selection(actor, scope);
  sim_check_status(actor, scope);
  SIM_CHECK(&w->trace, actor->scopes[scope].last.has_synced,
            "%u: \"%s\" has not synced in %" PRIu64 " ms, %s", actor->number,
            sim_scope_name(actor, scope), in_ms, when);
  for (int i = 0; i < w->api.objects && !w->trace.has_failed; i++) {
    char key[16];
    api_key(i, key);
    if (!api_covers(&selection, i)) {
      continue;
    }
    const kin_object *object = kin_store_get_key(store, key);
    int expected = api_selects(&w->api, &selection, w->api.current[i])
                       ? w->api.current[i]
                       : API_NONE;
    int cached = object != NULL
                     ? sim_write_of(&w->api, &w->trace, object, false)
                     : API_NONE;
    SIM_CHECK(&w->trace,
              cached == expected || is_stand_in(actor, cached, expected),
              "%u: %s is cached at w%d, the server has w%d, %" PRIu64 " ms, %s",
              actor->number, key, cached, expected, in_ms, when);
  }
}

/* Each scope at some time: a watch may just be between its end and the next,
 * and one that is silent is stale until it has been looked after. */
static bool were_live(sim_actor *actor, bool live[SIM_SCOPES]) {
  bool are_all = true;
  for (size_t i = 0; i < actor->scope_count; i++) {
    kin_status status = KIN_STATUS_INIT;
    if (actor->scopes[i].is_stopped || actor->scopes[i].is_removed) {
      continue;
    }
    live[i] = live[i] ||
              (kin_informer_get_status(
                   actor->informer, sim_scope_name(actor, i), &status) == 0 &&
               status.state == KIN_STATE_LIVE);
    are_all = are_all && live[i];
  }
  return are_all;
}

static bool is_stopped(const sim_actor *actor) {
  for (size_t i = 0; i < actor->scope_count; i++) {
    if (actor->scopes[i].is_stopped && !actor->scopes[i].is_removed) {
      return true;
    }
  }
  return false;
}

static void check_actor(sim_actor *actor) {
  sim_world *w = actor->world;
  bool live[SIM_SCOPES] = {false};
  bool were_all = were_live(actor, live);
  for (int tries = 0; tries < 20 && !were_all; tries++) {
    sim_pass(w, 500);
    were_all = were_live(actor, live);
  }
  SIM_CHECK(&w->trace, were_all, "%u: is not live in the calm", actor->number);
  /* A scope that its program stopped keeps what it had. */
  if (!is_stopped(actor)) {
    SIM_CHECK(&w->trace, kin_informer_has_synced(actor->informer),
              "%u: has not synced in the calm", actor->number);
    check_objects(actor);
  }
}

static void check_synced(sim_handler *handler) {
  sim_trace *trace = &handler->actor->world->trace;
  SIM_CHECK(trace, handler->fold.synced == 1, "%s: synced came %u times",
            handler->name, handler->fold.synced);
  SIM_CHECK(trace, kin_listener_pending(handler->listener) == 0,
            "%s: %zu events are never delivered", handler->name,
            kin_listener_pending(handler->listener));
}

void sim_check_truth(sim_world *w) {
  for (int i = 0; i < SIM_ACTORS; i++) {
    sim_actor *actor = &w->actors[i];
    if (sim_actor_is_open(actor) && actor->is_started) {
      check_actor(actor);
    }
  }
  sim_settle(w); /* a resync may just be going on */
  for (unsigned i = 0; i < w->handler_count; i++) {
    sim_handler *handler = &w->handlers[i];
    const sim_actor *actor = handler->actor;
    if (handler->is_open && actor->is_started && !is_stopped(actor)) {
      check_synced(handler);
    }
  }
  sim_check_quiet(w);
}

/* --- Deaf watches --------------------------------------------------------- */

/* From the end of the silence to the truth: a list of one object and a short
 * watch, or a list; a request may have to wait for its turn. */
#define DEAF_MS 60000u

static bool is_looked_after(const sim_actor *actor) {
  return sim_actor_is_open(actor) && actor->is_started &&
         (actor->stale_ms > 0 ||
          actor->world->options.mutation != SIM_MUTATE_DEAF);
}

void sim_check_deaf(sim_world *w) {
  if (!api_may_write(&w->api, 10)) {
    return;
  }
  uint64_t longest_ms = 0;
  sim_net_deafen_all(&w->net);
  for (int i = 0; i < 5; i++) {
    api_put(&w->api, API_NODES + i);
  }
  api_put(&w->api, 0);
  sim_net_wake(&w->net);
  for (int i = 0; i < SIM_ACTORS; i++) {
    sim_actor *actor = &w->actors[i];
    if (is_looked_after(actor) && actor->stale_ms == 0) {
      sim_verify(actor);
    } else if (is_looked_after(actor) && actor->stale_ms > longest_ms) {
      longest_ms = actor->stale_ms;
    }
  }
  sim_pass(w, longest_ms + DEAF_MS);
  for (int i = 0; i < SIM_ACTORS; i++) {
    if (is_looked_after(&w->actors[i])) {
      check_actor(&w->actors[i]);
    }
  }
  sim_check_waits(w);
}

/* --- Resyncs -------------------------------------------------------------- */

static bool gets_resyncs(const sim_handler *handler) {
  return handler->is_open && handler->resync_ms > 0 &&
         handler->fold.synced == 1 &&
         handler->fold.interest == SIM_INTEREST_ALL;
}

/* Two periods bring at least one update for each object (PL-04 to PL-06). */
void sim_check_resyncs(sim_world *w) {
  uint64_t longest_ms = 0;
  uint64_t rounds_ms = 0;
  bool is_due[SIM_HANDLERS] = {false}; /* one may sync only now */
  for (unsigned i = 0; i < w->handler_count; i++) {
    sim_handler *handler = &w->handlers[i];
    memset(handler->fold.resyncs, 0, sizeof handler->fold.resyncs);
    is_due[i] = gets_resyncs(handler);
    if (is_due[i]) {
      longest_ms =
          handler->resync_ms > longest_ms ? handler->resync_ms : longest_ms;
      /* All handlers share the loop, so a slow one takes time from all. */
      rounds_ms += handler->fold.count * handler->slow_us / 1000;
    }
  }
  if (longest_ms == 0) {
    return;
  }
  sim_pass(w, 2 * (longest_ms + rounds_ms) + 5000);
  for (unsigned i = 0; i < w->handler_count; i++) {
    const sim_handler *handler = &w->handlers[i];
    for (int k = 0; is_due[i] && handler->is_open && k < w->api.objects; k++) {
      char key[16];
      api_key(k, key);
      SIM_CHECK(&w->trace,
                handler->fold.seen[k] == API_NONE ||
                    handler->fold.resyncs[k] > 0,
                "%s: no resync of %s", handler->name, key);
    }
  }
}
