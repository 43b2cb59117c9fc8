/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_COST_WORLD_H
#define KIN_TEST_COST_WORLD_H

#include <kin/handler.h>
#include <kin/informer.h>
#include <kin/testing/fake_source.h>

#include "costs/cost.h"
#include "support/virtual_host.h"

/* A virtual host, and an API server in memory that has pods. */
typedef struct cost_world {
  virtual_host vh;
  kin_fake_source *source;
  kin_lister_watcher lister_watcher; /* of the source */
  kin_informer *informer;            /* NULL: none */
  kin_listener *listener;            /* its first */
  size_t events;                     /* of all listeners */
} cost_world;

void cost_world_init(cost_world *w);
/* Closes everything, and fails if anything is left. */
void cost_world_finish(cost_world *w);

/* The server has the pods `first` to `first` + n - 1. Informers are not told
 * before cost_world_run. */
void cost_world_put(cost_world *w, size_t first, size_t n);
void cost_world_run(cost_world *w);
/* Runs what there is to do within a second. Each step is one count; a step is
 * of few pieces. */
void cost_world_each_step(cost_world *w);

/* An informer of the source with one listener, not started. The first of n
 * namespaces is "space", which has all pods; n 0: all namespaces. */
void cost_world_open(cost_world *w, size_t namespaces);
/* cost_world_init, n pods, cost_world_open, started and synced. */
void cost_world_start(cost_world *w, size_t namespaces, size_t pods);
/* A listener that counts events. */
kin_listener *cost_world_listen(cost_world *w);

/* The i-th namespace. */
const char *cost_namespace(char to[32], size_t i);

#endif /* KIN_TEST_COST_WORLD_H */
