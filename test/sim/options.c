/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "object/dictionary.h"

/* Longer than any object but those with the long text (api_put), and shorter
 * than these. */
#define MAX_OBJECT_BYTES 3000u

bool sim_is_oversized(const sim_actor *actor, int write) {
  return actor->max_object_bytes > 0 && write != API_NONE &&
         actor->world->api.writes[write].padding >= actor->max_object_bytes;
}

bool sim_is_refused(const sim_actor *actor, int write) {
  return actor->refuses && write % 11 == 5 && !sim_is_oversized(actor, write);
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

/* --- What is kept --------------------------------------------------------- */

static void choose_what_is_kept(sim_actor *actor,
                                kin_informer_options *options) {
  static const char *const node_only[] = {"/spec/nodeName"};
  sim_world *w = actor->world;
  actor->is_metadata = sim_chance(w, 10);
  actor->is_node_only = !actor->is_metadata && sim_chance(w, 10);
  actor->transforms =
      !actor->is_metadata && !actor->is_node_only && sim_chance(w, 25);
  actor->refuses = actor->transforms && sim_chance(w, 40) &&
                   w->options.mutation == SIM_MUTATE_NOTHING;
  actor->keeps_managed =
      !actor->is_node_only && !actor->transforms && sim_chance(w, 20);
  actor->max_object_bytes =
      !actor->is_metadata && sim_chance(w, 40) ? MAX_OBJECT_BYTES : 0;
  options->metadata_only = actor->is_metadata;
  options->keep_managed_fields = actor->keeps_managed;
  options->fields = actor->is_node_only ? node_only : NULL;
  options->field_count = actor->is_node_only ? 1 : 0;
  options->transform = actor->transforms ? transform : NULL;
  options->transform_data = actor;
  options->max_object_bytes = actor->max_object_bytes;
  if (kin__pack_is_supported() &&
      (w->script.env.compact_samples + actor->number) % 5 == 0) {
    options->compact = KIN_COMPACT_FAST;
  }
}

/* --- A bound of memory ------------------------------------------------------ */

uint64_t sim_any_max_bytes(sim_actor *actor) {
  sim_world *w = actor->world;
  return 1 + sim_below(w, w->is_large ? 2000000 : 40000);
}

static void stopped(sim_actor *actor) {
  actor->is_memory_stopped = true;
  for (size_t i = 0; i < actor->scope_count; i++) {
    actor->scopes[i].is_stopped = true;
  }
}

static kin_memory_decision on_max_bytes(kin_informer *informer,
                                        const kin_memory_event *event,
                                        void *data) {
  sim_actor *actor = data;
  sim_world *w = actor->world;
  SIM_CHECK(&w->trace, !actor->is_closing && actor->informer == informer,
            "%u: on_max_bytes after the close", actor->number);
  SIM_CHECK(&w->trace,
            event->max_bytes > 0 && event->needed_bytes > 0 &&
                event->max_bytes == (event->bound == KIN_MEMORY_BOUND_CLIENT
                                         ? w->object_bytes.max
                                         : actor->max_bytes),
            "%u: a bound of %" PRIu64 " and not %" PRIu64, actor->number,
            event->max_bytes, actor->max_bytes);
  SIM_CHECK(&w->trace, !w->is_calm, "%u: on_max_bytes in the calm",
            actor->number);
  sim_say(&w->trace,
          "%u max_bytes %" PRIu64 " of %" PRIu64 ", %" PRIu64 " more -> %d",
          actor->number, event->bytes, event->max_bytes, event->needed_bytes,
          (int)actor->decision);
  if (sim_chance(w, 20)) {
    sim_set_max_bytes(actor, sim_any_max_bytes(actor));
  } else if (w->is_rowdy && sim_chance(w, 10)) {
    sim_actor_meddle(actor);
  } else if (actor->decision == KIN_MEMORY_STOP) {
    stopped(actor);
    return KIN_MEMORY_STOP;
  }
  return actor->decision != KIN_MEMORY_STOP ? actor->decision
                                            : KIN_MEMORY_PAUSE;
}

/* What is spoiled must not be hidden by a pause. */
static void choose_bound(sim_actor *actor, kin_informer_options *options) {
  sim_world *w = actor->world;
  actor->max_bytes = 0;
  actor->is_over = false;
  actor->is_memory_stopped = false;
  actor->decision =
      (kin_memory_decision)(sim_chance(w, 5)    ? KIN_MEMORY_STOP
                            : sim_chance(w, 50) ? KIN_MEMORY_PAUSE
                                                : KIN_MEMORY_DROP_BODIES);
  if (!w->is_calm && w->options.mutation == SIM_MUTATE_NOTHING &&
      sim_chance(w, 25)) {
    actor->max_bytes = sim_any_max_bytes(actor);
  }
  options->max_bytes = actor->max_bytes;
  options->on_max_bytes = on_max_bytes;
}

void sim_set_max_bytes(sim_actor *actor, uint64_t max_bytes) {
  sim_world *w = actor->world;
  int err = kin_informer_set_max_bytes(actor->informer, max_bytes);
  sim_say(&w->trace, "%u max_bytes is %" PRIu64 " -> %s", actor->number,
          max_bytes, kin_err_name(err));
  SIM_CHECK(&w->trace, err == 0, "%u: set_max_bytes gives %s", actor->number,
            kin_err_name(err));
  actor->max_bytes = max_bytes;
  actor->is_over = true;
}

/* --- How it asks ---------------------------------------------------------- */

/* The server ignores them, and must not take them for others. */
static void add_parameters(kin_informer_options *options) {
  static const kin_parameter parameters[] = {
      {"pretty", "false"},
      {"note", "&watch=false&resourceVersion=7&limit=1#?"},
      {"pretty", ""}};
  options->parameters = parameters;
  options->parameter_count = sizeof parameters / sizeof parameters[0];
}

static void choose_consistency(sim_actor *actor,
                               kin_informer_options *options) {
  static char version[24];
  sim_world *w = actor->world;
  actor->start_version = 0;
  actor->is_most_recent = sim_chance(w, 15);
  if (actor->is_most_recent) {
    options->consistency = KIN_CONSISTENCY_MOST_RECENT;
  } else if (sim_chance(w, 20)) {
    uint64_t back = sim_below(w, 30);
    uint64_t newest = w->api.revision;
    actor->start_version = newest - (back < newest ? back : 0);
    snprintf(version, sizeof version, "%" PRIu64, actor->start_version);
    options->consistency = KIN_CONSISTENCY_AT_LEAST;
    options->start_version = version;
  }
}

static void choose_requests(sim_actor *actor, kin_informer_options *options) {
  sim_world *w = actor->world;
  uint32_t page = w->is_large ? 1000 : 7;
  options->page_size = sim_chance(w, 40)   ? 1 + (uint32_t)sim_below(w, page)
                       : sim_chance(w, 20) ? KIN_NEVER
                                           : 0;
  options->no_watch_list =
      sim_chance(w, 30) && w->options.mutation != SIM_MUTATE_STREAM;
  actor->clears =
      sim_chance(w, 60) && w->options.mutation == SIM_MUTATE_NOTHING;
  options->clear_when_absent = actor->clears;
  actor->stale_ms = sim_chance(w, 40) && w->options.mutation != SIM_MUTATE_DEAF
                        ? 1000 + (uint32_t)sim_below(w, 60000)
                        : 0;
  options->stale_after_ms = actor->stale_ms;
  options->internal_error_retry_ms =
      sim_chance(w, 40) ? 1 + (uint32_t)sim_below(w, 60000) : 0;
  choose_consistency(actor, options);
  if (sim_chance(w, 20)) {
    add_parameters(options);
  }
}

/* A resync of a large world takes a hundred times as many calls. */
uint32_t sim_resync_ms(sim_world *w, uint32_t spread_ms) {
  uint32_t period_ms = 1000 + (uint32_t)sim_below(w, spread_ms);
  return w->is_large ? 60 * period_ms : period_ms;
}

kin_informer_options sim_make_options(sim_actor *actor,
                                      const char *names[SIM_SCOPES]) {
  static const char *const selectors[] = {"app=a0", "app=a1", "app=a2"};
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
  options.shard_index = actor->selection.shard.index;
  options.shard_count = actor->selection.shard.count;
  if (actor->selection.app != API_NONE) {
    options.label_selector = selectors[actor->selection.app];
  }
  options.resync_ms = sim_chance(w, 20) ? sim_resync_ms(w, 9000) : 0;
  choose_requests(actor, &options);
  choose_what_is_kept(actor, &options);
  choose_bound(actor, &options);
  return options;
}
