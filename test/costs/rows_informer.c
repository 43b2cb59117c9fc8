/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <kin/metrics.h>

#include "costs/world.h"

/* --- Looking -------------------------------------------------------------- */

static void store(size_t n) {
  cost_world w;
  cost_world_start(&w, 0, n);
  COST(cost_assert(kin_informer_store(w.informer) != NULL));
  cost_world_finish(&w);
}

static void has_synced(size_t n) {
  cost_world w;
  cost_world_start(&w, n, 4);
  COST(cost_assert(kin_informer_has_synced(w.informer)));
  cost_world_finish(&w);
}

static void status(size_t namespaces, size_t pods, const char *namespace_) {
  cost_world w;
  cost_world_start(&w, namespaces, pods);
  kin_status found = KIN_STATUS_INIT;
  COST(cost_must(kin_informer_get_status(w.informer, namespace_, &found)));
  cost_assert(found.has_synced);
  cost_world_finish(&w);
}

static void status_objects(size_t n) {
  status(0, n, "");
}

static void status_namespaces(size_t n) {
  char name[32];
  status(n, 4, cost_namespace(name, n - 1));
}

static void version_gauge(size_t n) {
  cost_world w;
  cost_world_start(&w, n, 4);
  char name[32];
  cost_namespace(name, n - 1);
  double value;
  COST(cost_assert(kin_informer_version_gauge(w.informer, name, &value)));
  cost_world_finish(&w);
}

static void metrics(size_t namespaces, size_t pods, size_t listeners) {
  cost_world w;
  cost_world_start(&w, namespaces, pods);
  for (size_t i = 1; i < listeners; i++) {
    cost_world_listen(&w);
  }
  kin_informer_metrics found = KIN_INFORMER_METRICS_INIT;
  COST(cost_must(kin_informer_get_metrics(w.informer, &found)));
  cost_assert(found.objects == pods && found.listeners == listeners);
  cost_world_finish(&w);
}

static void metrics_scopes(size_t n) {
  metrics(n, 4, 1);
}

static void metrics_listeners(size_t n) {
  metrics(0, 4, n);
}

static void metrics_objects(size_t n) {
  metrics(0, n, 1);
}

/* --- Namespaces ----------------------------------------------------------- */

static void add_namespace(size_t namespaces, size_t pods) {
  cost_world w;
  cost_world_start(&w, namespaces, pods);
  COST(cost_must(kin_informer_add_namespace(w.informer, "new")));
  cost_world_finish(&w);
}

static void add_among_namespaces(size_t n) {
  add_namespace(n, 4);
}

static void add_among_objects(size_t n) {
  add_namespace(1, n);
}

static void set_shard(size_t namespaces, size_t pods) {
  cost_world w;
  cost_world_start(&w, namespaces, pods);
  COST(cost_must(kin_informer_set_shard(w.informer, 1, 2)));
  cost_world_finish(&w);
}

static void shard_of_namespaces(size_t n) {
  set_shard(n, 4);
}

static void shard_of_objects(size_t n) {
  set_shard(1, n);
}

static void set_max_bytes(size_t namespaces, size_t pods) {
  cost_world w;
  cost_world_start(&w, namespaces, pods);
  COST(cost_must(kin_informer_set_max_bytes(w.informer, 1u << 30)));
  cost_world_finish(&w);
}

static void max_bytes_of_namespaces(size_t n) {
  set_max_bytes(n, 4);
}

static void max_bytes_of_objects(size_t n) {
  set_max_bytes(1, n);
}

static void remove_namespace(size_t namespaces, size_t pods) {
  cost_world w;
  cost_world_start(&w, namespaces, pods);
  char name[32];
  cost_namespace(name, namespaces - 1);
  COST(cost_must(kin_informer_remove_namespace(w.informer, name)));
  cost_world_finish(&w);
}

static void remove_among_namespaces(size_t n) {
  remove_namespace(n, 4);
}

static void remove_among_objects(size_t n) {
  remove_namespace(1, n);
}

static void removal_of_objects(size_t n) {
  cost_world w;
  cost_world_start(&w, 1, n);
  cost_must(kin_informer_remove_namespace(w.informer, "space"));
  COST(script_run(&w.vh.script));
  cost_assert(kin_store_count(kin_informer_store(w.informer)) == 0);
  cost_world_finish(&w);
}

static void removal_steps(size_t n) {
  cost_world w;
  cost_world_start(&w, 1, n);
  cost_must(kin_informer_remove_namespace(w.informer, "space"));
  cost_world_each_step(&w);
  cost_assert(kin_store_count(kin_informer_store(w.informer)) == 0);
  cost_world_finish(&w);
}

/* --- Opening and closing -------------------------------------------------- */

static void open_namespaces(size_t n) {
  cost_world w;
  cost_world_init(&w);
  COST(cost_world_open(&w, n));
  cost_world_finish(&w);
}

static void start(size_t n) {
  cost_world w;
  cost_world_init(&w);
  cost_world_open(&w, n);
  COST(cost_must(kin_informer_start(w.informer)));
  cost_world_finish(&w);
}

static void close_informer(size_t namespaces, size_t pods) {
  cost_world w;
  cost_world_start(&w, namespaces, pods);
  COST(cost_must(kin_informer_close(w.informer, NULL, NULL)));
  cost_world_finish(&w);
}

static void close_objects(size_t n) {
  close_informer(0, n);
}

static void close_namespaces(size_t n) {
  close_informer(n, 4);
}

static void close_steps(size_t n) {
  cost_world w;
  cost_world_start(&w, 0, n);
  cost_must(kin_informer_close(w.informer, NULL, NULL));
  cost_world_each_step(&w);
  cost_world_finish(&w);
}

/* A list of n pods has come, and is put into the store and told. */
static void list_steps(size_t n) {
  cost_world w;
  cost_world_init(&w);
  cost_world_put(&w, 0, n);
  cost_world_open(&w, 0);
  cost_must(kin_informer_start(w.informer));
  script_run(&w.vh.script);
  while (kin_fake_source_step(w.source)) {
    cost_world_each_step(&w);
  }
  cost_assert(w.events == n);
  cost_world_finish(&w);
}

/* --- Waiting -------------------------------------------------------------- */

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  (void)informer;
  (void)code;
  (void)version;
  (void)data;
}

/* Each wait is for a lower version than those before, and times out earlier. */
static void wait_once(cost_world *w, const char *namespace_, size_t place) {
  char version[32];
  snprintf(version, sizeof version, "%zu", 1000000 - place);
  cost_must(kin_informer_wait_version(w->informer, namespace_, version,
                                      1000000 - place, on_version, NULL));
}

static void verify_once(cost_world *w, const char *namespace_, size_t place) {
  cost_must(kin_informer_verify(w->informer, namespace_, 1000000 - place,
                                on_version, NULL));
}

/* wait_once or verify_once. */
typedef void (*ask)(cost_world *w, const char *namespace_, size_t place);

static void ask_after(size_t n, ask once) {
  cost_world w;
  cost_world_start(&w, 0, 4);
  for (size_t i = 0; i < n; i++) {
    once(&w, "", i);
  }
  COST_EACH(i, COST_CALLS, once(&w, "", n + i));
  cost_world_finish(&w);
}

static void ask_with_objects(size_t n, ask once) {
  cost_world w;
  cost_world_start(&w, 0, n);
  COST(once(&w, "", 1));
  cost_world_finish(&w);
}

static void ask_with_namespaces(size_t n, ask once) {
  cost_world w;
  cost_world_start(&w, n, 4);
  char name[32];
  cost_namespace(name, n - 1);
  COST(once(&w, name, 1));
  cost_world_finish(&w);
}

static void wait_version(size_t n) {
  ask_after(n, wait_once);
}

static void wait_objects(size_t n) {
  ask_with_objects(n, wait_once);
}

static void wait_namespaces(size_t n) {
  ask_with_namespaces(n, wait_once);
}

static void verify(size_t n) {
  ask_after(n, verify_once);
}

static void verify_objects(size_t n) {
  ask_with_objects(n, verify_once);
}

static void verify_namespaces(size_t n) {
  ask_with_namespaces(n, verify_once);
}

/* Of 4,096 waits that there may be. */
#define WAITS 63u
const cost_row cost_rows_informer[] = {
    {"kin_informer_open", "O(namespaces)", "namespaces", COST_LINEAR,
     open_namespaces, COST_FEW},
    {"kin_informer_close", "O(namespaces)", "namespaces", COST_LINEAR,
     close_namespaces, COST_FEW},
    {"kin_informer_close", NULL, "objects", COST_ONE, close_objects},
    {"kin_informer_close", NULL, "objects, each step after it", COST_ONE,
     close_steps},
    {"kin_informer_start", "O(namespaces)", "namespaces", COST_LINEAR, start,
     COST_FEW},
    {"kin_informer_start", NULL, "objects, each step of a list", COST_ONE,
     list_steps},
    {"kin_informer_store", NULL, "objects", COST_ONE, store},
    {"kin_informer_has_synced", NULL, "namespaces", COST_ONE, has_synced,
     COST_FEW},
    {"kin_informer_get_status", NULL, "objects", COST_ONE, status_objects},
    {"kin_informer_get_status", "O(namespaces)", "namespaces", COST_LINEAR,
     status_namespaces, COST_FEW},
    {"kin_informer_version_gauge", "O(namespaces)", "namespaces", COST_LINEAR,
     version_gauge, COST_FEW},
    {"kin_informer_add_namespace", "O(namespaces)", "namespaces", COST_LINEAR,
     add_among_namespaces, COST_FEW},
    {"kin_informer_add_namespace", NULL, "objects", COST_ONE,
     add_among_objects},
    {"kin_informer_remove_namespace", "O(namespaces)", "namespaces",
     COST_LINEAR, remove_among_namespaces, COST_FEW},
    {"kin_informer_remove_namespace", NULL, "objects", COST_ONE,
     remove_among_objects},
    {"kin_informer_remove_namespace", "O(n)", "objects, after it", COST_LINEAR,
     removal_of_objects},
    {"kin_informer_remove_namespace", NULL, "objects, each step after it",
     COST_ONE, removal_steps},
    {"kin_informer_set_shard", "O(namespaces)", "namespaces", COST_LINEAR,
     shard_of_namespaces, COST_FEW},
    {"kin_informer_set_shard", NULL, "objects", COST_ONE, shard_of_objects},
    {"kin_informer_set_max_bytes", "O(namespaces)", "namespaces", COST_LINEAR,
     max_bytes_of_namespaces, COST_FEW},
    {"kin_informer_set_max_bytes", NULL, "objects", COST_ONE,
     max_bytes_of_objects},
    {"kin_informer_wait_version", "O(log n)", "waits", COST_LOG, wait_version,
     WAITS},
    {"kin_informer_wait_version", "O(namespaces)", "namespaces", COST_LINEAR,
     wait_namespaces, COST_FEW},
    {"kin_informer_wait_version", NULL, "objects", COST_ONE, wait_objects},
    {"kin_informer_verify", "O(log n)", "verifications", COST_LOG, verify,
     WAITS},
    {"kin_informer_verify", "O(namespaces)", "namespaces", COST_LINEAR,
     verify_namespaces, COST_FEW},
    {"kin_informer_verify", NULL, "objects", COST_ONE, verify_objects},
    {"kin_informer_get_metrics", "O(scopes + listeners)", "scopes", COST_LINEAR,
     metrics_scopes, COST_FEW},
    {"kin_informer_get_metrics", "O(scopes + listeners)", "listeners",
     COST_LINEAR, metrics_listeners, COST_FEW},
    {"kin_informer_get_metrics", NULL, "objects", COST_ONE, metrics_objects},
    {0},
};
