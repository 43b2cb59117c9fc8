/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include <string.h>

#include "base/str.h"
#include "feed/feed.h"
#include "informer/informer.h"

/* The other way round: a world is right, and something is spoiled on the way to
 * an oracle, which must notice. Each mutation stands for a fault that the
 * library could have. */

#define FAR_MS UINT64_C(1000000000)

const char *sim_mutation_name(sim_mutation mutation) {
  static const char *const names[SIM_MUTATIONS] = {
      [SIM_MUTATE_NOTHING] = "nothing",
      [SIM_MUTATE_DROP_EVENT] = "a handler does not get an event",
      [SIM_MUTATE_REPEAT_EVENT] = "a handler gets an event twice",
      [SIM_MUTATE_SECOND_SYNCED] = "a handler is told synced twice",
      [SIM_MUTATE_LATE_CALL] = "a handler is called after its end",
      [SIM_MUTATE_STORE_DELETE] = "the cache loses an object",
      [SIM_MUTATE_STORE_PUT] = "the cache gets an old state of an object",
      [SIM_MUTATE_LOSE_FRAME] = "the network loses an event",
      [SIM_MUTATE_INDEX] = "an index function changes its mind",
      [SIM_MUTATE_STATUS] = "a counter goes back",
      [SIM_MUTATE_HOLD_OBJECT] = "a reference is never dropped",
      [SIM_MUTATE_LEAVE_TIMER] = "a timer is never stopped",
      [SIM_MUTATE_EARLY_VERSION] = "a version is told before it is cached",
      [SIM_MUTATE_STREAM] = "a list that comes as a watch lacks an object",
      [SIM_MUTATE_KEY_ONLY] = "of an object only the key is kept",
      [SIM_MUTATE_DEAF] = "nobody looks after a deaf watch",
      [SIM_MUTATE_NO_TURNS] = "a list keeps its place until it is complete",
      [SIM_MUTATE_EARLY_RELISTED] = "relisted is told before a delete",
  };
  return names[mutation];
}

bool sim_is_witness(const sim_handler *handler) {
  const sim_world *w = handler->actor->world;
  return w->options.mutation != SIM_MUTATE_NOTHING &&
         handler == &w->handlers[0];
}

static bool is_change(const kin_event *event) {
  return event->object != NULL && !event->is_resync &&
         event->object != event->old_object;
}

static bool is_due(sim_world *w, bool is_candidate) {
  if (w->has_mutated || !is_candidate || --w->mutate_at > 0) {
    return false;
  }
  sim_say(&w->trace, "mutation: %s", sim_mutation_name(w->options.mutation));
  w->has_mutated = true;
  return true;
}

/* As if it came now, before the delete that is in hand. */
static void tell_relisted(sim_handler *handler) {
  const kin_feed *feed = kin__informer_feed(handler->actor->informer, "");
  kin_event event = {.type = KIN_EVENT_RELISTED,
                     .namespace_ = {"", 0},
                     .resource_version = kin__cstr(
                         kin__listwatch_list_version(&feed->listwatch)),
                     .objects = handler->fold.count};
  sim_check_told(handler, &event);
}

bool sim_mutate_event(sim_handler *handler, const kin_event *event) {
  sim_world *w = handler->actor->world;
  if (!sim_is_witness(handler)) {
    return true;
  }
  switch (w->options.mutation) {
  case SIM_MUTATE_DROP_EVENT:
    /* An update right before a delete is no loss, and need not be noticed. */
    return !is_due(w, is_change(event) && event->type != KIN_EVENT_UPDATE);
  case SIM_MUTATE_REPEAT_EVENT:
    if (is_due(w, is_change(event))) {
      sim_fold_take(&handler->fold, event);
    }
    return true;
  case SIM_MUTATE_SECOND_SYNCED:
    w->mutate_at = 1;
    if (is_due(w, event->type == KIN_EVENT_SYNCED)) {
      sim_fold_take(&handler->fold, event);
    }
    return true;
  case SIM_MUTATE_EARLY_RELISTED:
    if (is_due(w, w->is_relisting && event->type == KIN_EVENT_DELETE)) {
      tell_relisted(handler);
    }
    return true;
  default:
    return true;
  }
}

/* An object that the witness's informer has for sure. */
static const kin_object *any_cached(sim_world *w, kin_store **store) {
  api_put(&w->api, API_NODES);
  sim_net_wake(&w->net);
  sim_pass(w, 100);
  /* So that no watch is resumed from before it. */
  sim_net_bookmark(&w->net);
  sim_pass(w, 3000);
  char key[16];
  api_key(API_NODES, key);
  *store = kin_informer_store(w->actors[0].informer);
  return kin_store_get_key(*store, key);
}

static void lose_object(sim_world *w) {
  kin_store *store;
  const kin_object *object = any_cached(w, &store);
  w->has_mutated =
      object != NULL && kin_store_delete(store, kin_object_key(object)) == 0;
}

static void put_old_object(sim_world *w) {
  kin_store *store;
  kin_object *old = kin_object_ref(any_cached(w, &store));
  (void)any_cached(w, &store);
  w->has_mutated = old != NULL && kin_store_put(store, old) == 0;
  kin_object_unref(old);
}

static void call_late(sim_world *w) {
  unsigned next = w->handler_count;
  sim_handler_join(&w->actors[0]);
  if (w->handler_count == next) {
    return;
  }
  sim_handler *handler = &w->handlers[next];
  sim_pass(w, 3000);
  sim_handler_leave(handler);
  kin_event event = {.type = KIN_EVENT_RELISTED,
                     .objects = handler->fold.count};
  w->has_mutated = true;
  sim_on_event(w->actors[0].informer, &event, handler);
}

static uint64_t checked_lists(sim_world *w) {
  uint64_t count = 0;
  for (int i = 0; i < SIM_ACTORS; i++) {
    for (size_t k = 0; k < w->actors[i].scope_count; k++) {
      count += w->actors[i].scopes[k].last.checked_lists;
    }
  }
  return count;
}

/* All informers list anew. */
static void spoil_stream(sim_world *w) {
  kin_store *store;
  (void)any_cached(w, &store);
  w->stream_refused = false;
  w->net.knows_streams = true;
  w->net.knows_shards = true; /* else the object may be another shard's */
  w->net.spoils_stream = true;
  uint64_t before = checked_lists(w);
  sim_net_break_all(&w->net);
  api_put(&w->api, API_NODES + 1);
  api_restart(&w->api);
  sim_pass(w, 120000);
  sim_check_quiet(w);
  w->has_mutated = w->net.has_spoiled && checked_lists(w) > before;
}

/* An object goes while nobody watches, so that only a list tells. */
static void relist_early(sim_world *w) {
  kin_store *store;
  (void)any_cached(w, &store);
  w->is_relisting = true;
  w->mutate_at = 1;
  api_delete(&w->api, API_NODES);
  api_restart(&w->api);
  sim_net_break_all(&w->net);
  sim_pass(w, 60000);
}

static void keep_key_only(sim_world *w) {
  if (w->actors[0].is_metadata) {
    return; /* these are never too large */
  }
  api_put(&w->api, API_NODES);
  w->api.writes[w->api.write_count - 1].padding = 6000;
  sim_net_wake(&w->net);
  sim_pass(w, 3000);
  w->actors[0].max_object_bytes = w->actors[0].max_object_bytes > 0 ? 0 : 3000;
  w->has_mutated = true;
}

void sim_mutate_calm(sim_world *w) {
  kin_store *store;
  switch (w->options.mutation) {
  case SIM_MUTATE_STORE_DELETE:
    lose_object(w);
    break;
  case SIM_MUTATE_STORE_PUT:
    put_old_object(w);
    break;
  case SIM_MUTATE_LOSE_FRAME:
    /* On whichever watch it comes first: all informers of such a world cover
     * the object. */
    w->net.swallows_next = true;
    (void)any_cached(w, &store);
    w->has_mutated = w->net.has_swallowed;
    break;
  case SIM_MUTATE_INDEX:
    w->has_mutated = true;
    (void)any_cached(w, &store);
    break;
  case SIM_MUTATE_STREAM:
    spoil_stream(w);
    break;
  case SIM_MUTATE_KEY_ONLY:
    keep_key_only(w);
    break;
  case SIM_MUTATE_NO_TURNS:
    w->net.is_prompt = true;
    sim_check_neighbours(w);
    break;
  case SIM_MUTATE_EARLY_RELISTED:
    relist_early(w);
    break;
  case SIM_MUTATE_DEAF:
    sim_net_break_all(&w->net); /* so that no watch ends by itself */
    sim_pass(w, 30000);
    w->has_mutated =
        !sim_has_wait(&w->actors[0]); /* who waits looks after the watch */
    w->actors[0].stale_ms = w->has_mutated ? 1000 : 0;
    sim_check_deaf(w);
    break;
  case SIM_MUTATE_STATUS:
    sim_check_quiet(w);
    w->has_mutated = true;
    break;
  case SIM_MUTATE_LATE_CALL:
    call_late(w);
    break;
  case SIM_MUTATE_EARLY_VERSION:
    w->has_mutated = true;
    api_put(&w->api, API_NODES);
    sim_check_version(&w->actors[0], 0, w->api.revision);
    sim_net_wake(&w->net);
    break;
  default:
    break;
  }
}

static void on_left_timer(kin__timer *timer) {
  (void)timer;
}

void sim_mutate_end(sim_world *w) {
  if (w->options.mutation == SIM_MUTATE_HOLD_OBJECT) {
    kin_store *store;
    w->left_object = kin_object_ref(any_cached(w, &store));
    w->has_mutated = w->left_object != NULL;
  } else if (w->options.mutation == SIM_MUTATE_LEAVE_TIMER) {
    kin__timer_init(&w->left_timer, on_left_timer);
    kin__timer_start(&w->script.timers, &w->left_timer, sim_now_ms(w) + FAR_MS);
    w->has_mutated = true;
  }
}
