/* SPDX-License-Identifier: MIT */
/* Clients, and what has several informers: factories, waits, metrics. Then
 * reflectors and controllers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/client.h>
#include <kin/controller.h>
#include <kin/discovery.h>
#include <kin/factory.h>
#include <kin/metrics_text.h>
#include <kin/reflector.h>
#include <kin/request.h>
#include <kin/wait.h>

#include "cache/controller.h"
#include "cache/public_reflector.h"
#include "costs/world.h"
#include "discovery/lookup.h"
#include "toolkit/factory.h"
#include "toolkit/wait.h"

/* So that no list of names is sorted already. */
static const char *plural_of(char to[32], size_t i) {
  snprintf(to, 32, "plural%zu", i * 7919 % 65521);
  return to;
}

/* --- Client --------------------------------------------------------------- */

typedef struct client_rig {
  uv_loop_t loop;
  kin_client *client;
} client_rig;

/* A client with n informers that have not been started. */
static void client_open(client_rig *rig, size_t n) {
  cost_must(uv_loop_init(&rig->loop));
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "http://127.0.0.1:1";
  options.allocator = cost_memory();
  options.log_level = KIN_LOG_ERROR;
  cost_must(kin_client_open(&rig->client, &rig->loop, &options));
  kin_informer_options informer = KIN_INFORMER_OPTIONS_INIT;
  informer.plural = "pods";
  for (size_t i = 0; i < n; i++) {
    kin_informer *opened;
    cost_must(kin_informer_open(&opened, rig->client, &informer));
  }
}

static void client_finish(client_rig *rig) {
  cost_must(uv_run(&rig->loop, UV_RUN_DEFAULT));
  cost_must(uv_loop_close(&rig->loop));
}

static void client_close(client_rig *rig) {
  cost_must(kin_client_close(rig->client, NULL, NULL));
  client_finish(rig);
}

static void client_close_informers(size_t n) {
  client_rig rig;
  client_open(&rig, n);
  COST(cost_must(kin_client_close(rig.client, NULL, NULL)));
  client_finish(&rig);
}

static void client_stats(size_t n) {
  client_rig rig;
  client_open(&rig, n);
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  COST(cost_must(kin_client_get_stats(rig.client, &stats)));
  client_close(&rig);
}

static void client_max_bytes(size_t n) {
  client_rig rig;
  client_open(&rig, n);
  COST(cost_must(kin_client_set_max_bytes(rig.client, 1u << 30)));
  client_close(&rig);
}

static void client_iterations(size_t n) {
  client_rig rig;
  client_open(&rig, n);
  kin_histogram iterations;
  COST(kin_client_get_iterations(rig.client, &iterations));
  client_close(&rig);
}

static void on_response(const kin_response *response, void *data) {
  (void)response;
  (void)data;
}

static void request_start(size_t n) {
  client_rig rig;
  client_open(&rig, 0);
  char *body = calloc(1, n);
  cost_assert(body != NULL);
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  spec.verb = KIN_VERB_CREATE;
  spec.path = "/x";
  spec.body = body;
  spec.body_length = n;
  COST(
      cost_must(kin_request_start(NULL, rig.client, &spec, on_response, NULL)));
  free(body);
  client_close(&rig);
}

static void response_object(size_t n) {
  static const char text[] = "{\"metadata\":{\"name\":\"a\"}}";
  size_t length = n + sizeof text - 1;
  char *body = malloc(length);
  cost_assert(body != NULL);
  memset(body, ' ', length);
  memcpy(body, text, sizeof text - 1);
  kin_response response = {.size = sizeof response,
                           .content_type = "application/json",
                           .body = {body, length}};
  kin_object *object;
  COST(cost_must(kin_response_object(&object, cost_memory(), &response)));
  kin_object_unref(object);
  free(body);
}

/* The look-up of a category: n resources of one group, in two versions. */
/* `n` resources of one category, in two versions. */
static void table_fill(kin__api_table *table, size_t n) {
  kin__api_table_init(table, cost_memory());
  for (int v = 0; v < 2; v++) {
    kin__api_version *version;
    cost_must(kin__api_table_add_version(
        table, COST_STR("a.io"), v == 0 ? COST_STR("v1") : COST_STR("v2"),
        KIN__API_KNOWN, &version));
    for (size_t i = 0; i < n; i++) {
      char plural[32];
      snprintf(plural, sizeof plural, "plural%zu", v == 0 ? i : n - 1 - i);
      kin__api_entry entry = {.plural = {plural, strlen(plural)},
                              .kind = COST_STR("A")};
      kin__api_names_add(&entry.categories, COST_STR("managed"));
      cost_must(kin__api_table_add(table, version, &entry));
    }
  }
}

static void discovery_look_up(size_t n) {
  kin__api_table table;
  table_fill(&table, n);
  kin__word word = {.resource = COST_STR("managed")};
  kin__found found;
  COST(cost_must(kin__lookup(&found, &table, &word)));
  cost_assert(found.count == n);
  kin__found_finish(&found);
  kin__api_table_finish(&table);
}

static void discovery_list_all(size_t n) {
  kin__api_table table;
  table_fill(&table, n);
  kin__found found;
  COST(cost_must(kin__lookup_all(&found, &table, true)));
  cost_assert(found.count == 2 * n);
  kin__found_finish(&found);
  kin__api_table_finish(&table);
}

/* --- Namespaces ----------------------------------------------------------- */

#define COST_NAME 24

/* Sets n namespaces, in memory that names_free frees. */
static void names_set(kin_informer_options *options, size_t n) {
  char *names = malloc(n * COST_NAME);
  const char **namespaces = malloc(n * sizeof *namespaces);
  cost_assert(names != NULL && namespaces != NULL);
  for (size_t i = 0; i < n; i++) {
    namespaces[i] = names + i * COST_NAME;
    snprintf(names + i * COST_NAME, COST_NAME, "ns%zu", i);
  }
  options->namespaces = namespaces;
  options->namespace_count = n;
}

static void names_free(const kin_informer_options *options) {
  free((void *)options->namespaces[0]);
  free((void *)options->namespaces);
}

static void informer_follow(size_t n) {
  client_rig rig;
  client_open(&rig, 0);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  options.plural = "pods";
  names_set(&options, n);
  COST(cost_must(kin_informer_follow(NULL, rig.client, &options, &listener)));
  client_close(&rig);
  names_free(&options);
}

static void client_close_namespaces(size_t n) {
  client_rig rig;
  client_open(&rig, 0);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  kin_informer *informer;
  options.plural = "pods";
  names_set(&options, n);
  cost_must(kin_informer_open(&informer, rig.client, &options));
  COST(cost_must(kin_client_close(rig.client, NULL, NULL)));
  client_finish(&rig);
  names_free(&options);
}

/* --- Discovery ------------------------------------------------------------ */

static void on_found(const kin_discovery_result *result, void *data) {
  (void)result;
  (void)data;
}

static void discovery_find(size_t n) {
  client_rig rig;
  client_open(&rig, n);
  cost_must(kin_discovery_find(NULL, rig.client, "po", on_found, NULL));
  COST(cost_must(kin_discovery_find(NULL, rig.client, "po", on_found, NULL)));
  client_close(&rig);
}

static void discovery_list(size_t n) {
  client_rig rig;
  client_open(&rig, n);
  cost_must(kin_discovery_list(NULL, rig.client, KIN_DISCOVERY_PREFERRED,
                               on_found, NULL));
  COST(cost_must(kin_discovery_list(NULL, rig.client, KIN_DISCOVERY_PREFERRED,
                                    on_found, NULL)));
  client_close(&rig);
}

static void discovery_cancel(size_t n) {
  client_rig rig;
  client_open(&rig, 0);
  kin_discovery *last = NULL;
  for (size_t i = 0; i < n; i++) {
    cost_must(kin_discovery_find(&last, rig.client, "po", on_found, NULL));
  }
  COST(cost_must(kin_discovery_cancel(last, UV_ECANCELED)));
  client_close(&rig);
}

static void discovery_open_informer(size_t n) {
  static const char *const verbs[] = {"list", "watch", NULL};
  static const char *const none[] = {NULL};
  const kin_api_resource resource = {.size = sizeof resource,
                                     .group = "",
                                     .version = "v1",
                                     .plural = "pods",
                                     .is_namespaced = true,
                                     .verbs = verbs,
                                     .short_names = none};
  const kin_api_resource *const found[] = {&resource};
  const kin_discovery_result result = {.size = sizeof result,
                                       .name = "",
                                       .word = "pods",
                                       .resources = found,
                                       .resource_count = 1};
  client_rig rig;
  client_open(&rig, 0);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  kin_informer *informer;
  names_set(&options, n);
  COST(cost_must(
      kin_discovery_open_informer(&informer, rig.client, &result, &options)));
  client_close(&rig);
  names_free(&options);
}

static void informer_open(size_t n) {
  client_rig rig;
  client_open(&rig, n);
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  kin_informer *informer;
  COST(cost_must(kin_informer_open(&informer, rig.client, &options)));
  client_close(&rig);
}

/* --- Metrics -------------------------------------------------------------- */

static int on_text(const char *text, size_t length, void *data) {
  (void)text;
  *(size_t *)data += length;
  return 0;
}

static void write_informers(size_t n) {
  cost_world w;
  cost_world_start(&w, 0, 4);
  kin_metrics_source *sources = calloc(n, sizeof *sources);
  cost_assert(sources != NULL);
  for (size_t i = 0; i < n; i++) {
    sources[i].informer = w.informer;
  }
  size_t length = 0;
  COST(cost_must(kin_metrics_write(NULL, sources, n, on_text, &length)));
  cost_assert(length > n);
  free(sources);
  cost_world_finish(&w);
}

static void write_objects(size_t n) {
  cost_world w;
  cost_world_start(&w, 0, n);
  kin_metrics_source source = {.informer = w.informer};
  size_t length = 0;
  COST(cost_must(kin_metrics_write(NULL, &source, 1, on_text, &length)));
  cost_world_finish(&w);
}

/* --- Factory -------------------------------------------------------------- */

static void tweak(kin_informer_options *options, void *data) {
  options->source = &((cost_world *)data)->lister_watcher;
  options->no_watch_list = true;
}

static void ask(kin_factory *factory, size_t i, kin_informer **informer) {
  char plural[32];
  cost_must(kin_factory_informer(factory, NULL, NULL, plural_of(plural, i),
                                 informer));
}

static kin_factory *factory_open(cost_world *w, size_t n) {
  cost_world_init(w);
  kin_factory_options options = KIN_FACTORY_OPTIONS_INIT;
  options.tweak = tweak;
  options.data = w;
  kin_factory *factory;
  cost_must(kin__factory_open(&factory, &w->vh.host, &options));
  for (size_t i = 0; i < n; i++) {
    kin_informer *informer;
    ask(factory, i, &informer);
  }
  return factory;
}

static void factory_informer(size_t n) {
  cost_world w;
  kin_factory *factory = factory_open(&w, n);
  kin_informer *informer;
  COST(ask(factory, n - 1, &informer)); /* for the second time */
  cost_world_finish(&w);
}

static void factory_informer_id(size_t n) {
  cost_world w;
  kin_factory *factory = factory_open(&w, n);
  kin_informer *informer;
  ask(factory, n - 1, &informer);
  COST((void)kin_factory_informer_id(factory, informer));
  cost_world_finish(&w);
}

static void factory_start(size_t n) {
  cost_world w;
  kin_factory *factory = factory_open(&w, n);
  COST(cost_must(kin_factory_start(factory)));
  cost_world_finish(&w);
}

static void on_waited(const kin_wait_result *result, void *data) {
  (void)result;
  (void)data;
}

static void factory_wait(size_t n) {
  cost_world w;
  kin_factory *factory = factory_open(&w, n);
  cost_must(kin_factory_start(factory));
  COST(cost_must(kin_factory_wait(factory, 0, on_waited, NULL, NULL)));
  cost_world_finish(&w);
}

static void factory_close(size_t n) {
  cost_world w;
  kin_factory *factory = factory_open(&w, n);
  COST(cost_must(kin_factory_close(factory, NULL, NULL)));
  cost_world_finish(&w);
}

/* --- Wait ----------------------------------------------------------------- */

static bool is_never(void *data) {
  (void)data;
  return false;
}

static void wait_open(size_t n) {
  cost_world w;
  cost_world_init(&w);
  char(*names)[32] = calloc(n, sizeof *names);
  kin_wait_for *things = calloc(n, sizeof *things);
  cost_assert(names != NULL && things != NULL);
  for (size_t i = 0; i < n; i++) {
    things[i].name = plural_of(names[i], i);
    things[i].check = is_never;
  }
  kin_wait_options options = KIN_WAIT_OPTIONS_INIT;
  options.things = things;
  options.count = n;
  options.cb = on_waited;
  kin_wait *wait;
  COST(cost_must(kin__wait_open(&wait, &w.vh.host, &options, "failed")));
  free(things);
  free(names);
  cost_world_finish(&w);
}

/* --- Reflector ------------------------------------------------------------ */

static kin_informer_options resource_of(cost_world *w) {
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "pods";
  resource.source = &w->lister_watcher;
  resource.no_watch_list = true;
  return resource;
}

static void reflector_resume(size_t n) {
  cost_world w;
  cost_world_init(&w);
  cost_world_put(&w, 0, n);
  kin_store *store = cost_store(0);
  kin_reflector_store target = KIN_REFLECTOR_STORE_INIT;
  cost_must(kin_store_reflector_store(store, &target));
  kin_informer_options resource = resource_of(&w);
  kin_reflector_options options = KIN_REFLECTOR_OPTIONS_INIT;
  options.resource = &resource;
  options.store = &target;
  kin_reflector *reflector;
  cost_must(kin__public_reflector_open(&reflector, &w.vh.host, &options));
  cost_must(kin_reflector_start(reflector));
  cost_world_run(&w);
  cost_assert(kin_store_count(store) == n);
  COST(cost_must(kin_reflector_resume(reflector)));
  cost_world_finish(&w);
  kin_store_free(store);
}

/* --- Controller ----------------------------------------------------------- */

static kin_controller *controller_start(cost_world *w, size_t n) {
  cost_world_init(w);
  cost_world_put(w, 0, n);
  kin_informer_options resource = resource_of(w);
  kin_controller_options options = KIN_CONTROLLER_OPTIONS_INIT;
  options.resource = &resource;
  kin_controller *controller;
  cost_must(kin__controller_open(&controller, &w->vh.host, &options));
  cost_must(kin_controller_start(controller));
  return controller;
}

static void controller_stats(size_t n) {
  cost_world w;
  kin_controller *controller = controller_start(&w, n);
  cost_world_run(&w);
  cost_assert(kin_store_count(kin_controller_store(controller)) == n);
  kin_controller_stats stats = KIN_CONTROLLER_STATS_INIT;
  COST(cost_must(kin_controller_get_stats(controller, &stats)));
  cost_world_finish(&w);
}

/* A second list, after a first one of the same objects. */
static void controller_replacement(size_t n) {
  cost_world w;
  kin_controller *controller = controller_start(&w, n);
  cost_world_run(&w);
  cost_world_put(&w, 0, 1); /* the watch does not get this */
  kin_fake_source_reset_watch(w.source);
  kin_controller_stats stats = KIN_CONTROLLER_STATS_INIT;
  cost_must(kin_controller_get_stats(controller, &stats));
  uint64_t before = stats.items;
  for (unsigned s = 0; s < 60 && stats.items == before; s++) {
    (void)kin_fake_source_run(w.source);
    cost_world_each_step(&w); /* a second */
    cost_must(kin_controller_get_stats(controller, &stats));
  }
  cost_assert(stats.items > before);
  cost_assert(kin_store_count(kin_controller_store(controller)) == n);
  cost_world_finish(&w);
}

const cost_row cost_rows_client[] = {
    {"kin_client_get_stats", "O(1)", "informers", COST_ONE, client_stats},
    {"kin_client_close",
     "O(what is open on the client + namespaces of its informers)", "informers",
     COST_LINEAR, client_close_informers},
    {"kin_client_close",
     "O(what is open on the client + namespaces of its informers)",
     "namespaces", COST_LINEAR, client_close_namespaces, COST_FEW},
    {"kin_client_set_max_bytes", "O(1)", "informers", COST_ONE,
     client_max_bytes},
    {"kin_client_get_iterations", NULL, "informers", COST_ONE,
     client_iterations},
    {"kin_request_start", "O(length of the body)", "bytes", COST_LINEAR,
     request_start, COST_BYTES},
    {"kin_response_object", "O(length)", "bytes", COST_LINEAR, response_object,
     COST_BYTES},
    {"kin_discovery_find", NULL, "informers", COST_ONE, discovery_find},
    {"kin_discovery_find", "O(resources of the server)",
     "resources of a category", COST_LINEAR, discovery_look_up, COST_FEW},
    {"kin_discovery_list", NULL, "informers", COST_ONE, discovery_list},
    {"kin_discovery_list", "O(resources of the server)", "resources",
     COST_LINEAR, discovery_list_all, COST_FEW},
    {"kin_discovery_cancel", NULL, "look-ups", COST_ONE, discovery_cancel},
    {"kin_discovery_open_informer", "O(namespaces)", "namespaces", COST_LINEAR,
     discovery_open_informer, COST_FEW},
    {"kin_informer_open", NULL, "informers", COST_ONE, informer_open},
    {"kin_informer_follow", "O(namespaces)", "namespaces", COST_LINEAR,
     informer_follow, COST_FEW},
    {"kin_metrics_write", "O(informers)", "informers", COST_LINEAR,
     write_informers, 2},
    {"kin_metrics_write", NULL, "objects", COST_ONE, write_objects},
    {"kin_factory_informer", "O(informers of the factory)", "informers",
     COST_LINEAR, factory_informer, COST_FEW},
    {"kin_factory_informer_id", "O(informers of the factory)", "informers",
     COST_LINEAR, factory_informer_id, COST_FEW},
    {"kin_factory_start", "O(informers of the factory)", "informers",
     COST_LINEAR, factory_start, COST_FEW},
    {"kin_factory_wait", "O(n log n)", "informers", COST_LINEAR_LOG,
     factory_wait, COST_FEW},
    {"kin_factory_close", "O(informers of the factory)", "informers",
     COST_LINEAR, factory_close, COST_FEW},
    {"kin_wait_open", "O(n log n)", "things", COST_LINEAR_LOG, wait_open},
    {"kin_reflector_resume", "O(1)", "objects", COST_ONE, reflector_resume},
    {"kin_controller_get_stats", "O(1)", "objects", COST_ONE, controller_stats},
    {"kin_controller_store", "O(1)", "objects, each step of a second list",
     COST_ONE, controller_replacement},
    {0},
};
