/* SPDX-License-Identifier: MIT */
#include "costs/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "informer/informer.h"

const char *cost_namespace(char to[32], size_t i) {
  snprintf(to, 32, i > 0 ? "space-%zu" : "space", i);
  return to;
}

/* The host's own memory fills each block, which would be counted. */
static void use_cost_memory(script_env *script) {
  kin__memory_unref(script->memory);
  script->memory = kin__memory_new(cost_memory());
  cost_assert(script->memory != NULL);
  script->env.memory = script->memory;
  script->env.allocator = &script->memory->allocator;
}

void cost_world_init(cost_world *w) {
  memset(w, 0, sizeof *w);
  vh_init(&w->vh, 0);
  use_cost_memory(&w->vh.script);
  w->vh.log.level = KIN_LOG_ERROR;
  kin_fake_source_options options = KIN_FAKE_SOURCE_OPTIONS_INIT;
  options.allocator = cost_memory();
  cost_must(kin_fake_source_new(&w->source, &options));
  w->lister_watcher = kin_fake_source_lister_watcher(w->source);
}

void cost_world_finish(cost_world *w) {
  vh_finish(&w->vh);
  kin_fake_source_free(w->source);
}

void cost_world_put(cost_world *w, size_t first, size_t n) {
  for (size_t i = 0; i < n; i++) {
    cost_must(kin_fake_source_add(w->source, cost_pod(first + i)));
  }
}

void cost_world_run(cost_world *w) {
  do {
    script_run(&w->vh.script);
  } while (kin_fake_source_run(w->source) > 0);
  script_run(&w->vh.script);
}

static void on_step(void *ctx, bool is_before) {
  (void)ctx;
  (void)is_before;
  cost_next();
}

void cost_world_each_step(cost_world *w) {
  w->vh.script.on_step = on_step;
  w->vh.script.sched.max_pieces = 16;
  COST(script_advance(&w->vh.script, 1000));
  w->vh.script.sched.max_pieces = UINT32_MAX;
  w->vh.script.on_step = NULL;
}

static void on_event(struct kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  (void)event;
  ((cost_world *)data)->events++;
}

kin_listener *cost_world_listen(cost_world *w) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = on_event;
  options.data = w;
  kin_listener *listener;
  cost_must(kin_informer_listen(w->informer, &options, &listener));
  return listener;
}

void cost_world_open(cost_world *w, size_t namespaces) {
  char(*texts)[32] = calloc(namespaces + 1, sizeof *texts);
  const char **names = calloc(namespaces + 1, sizeof *names);
  cost_assert(texts != NULL && names != NULL);
  for (size_t i = 0; i < namespaces; i++) {
    names[i] = cost_namespace(texts[i], i);
  }
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.source = &w->lister_watcher;
  options.namespaces = names;
  options.namespace_count = namespaces;
  options.no_watch_list = true;
  cost_must(kin__informer_open_on(&w->informer, &w->vh.host, &options));
  free(names);
  free(texts);
  w->listener = cost_world_listen(w);
}

void cost_world_start(cost_world *w, size_t namespaces, size_t pods) {
  cost_world_init(w);
  cost_world_put(w, 0, pods);
  cost_world_open(w, namespaces);
  cost_must(kin_informer_start(w->informer));
  cost_world_run(w);
  cost_assert(kin_informer_has_synced(w->informer));
  cost_assert(kin_store_count(kin_informer_store(w->informer)) == pods);
}
