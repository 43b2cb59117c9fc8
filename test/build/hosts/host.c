/* SPDX-License-Identifier: MIT */

/* A host that exports functions under the names of llhttp's, yyjson's, zlib's,
 * zstd's or libyaml's: foreign_NAME.c has one library of another release,
 * consumers.py makes a file with all functions of all five. Linked with the
 * shared library, which
 *
 *   host hidden KUBECONFIG
 *       hides its own: the host follows pods that come compressed, are stored
 *       compressed and are read, and none of its functions is called
 *   host found NAME WORD
 *       takes the host's: KIN_ELIBRARY, with a text that has both words */
#undef NDEBUG
#include "host.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include <kin/kin.h>
#include <kin/kubeconfig.h>

#define IS_CONTROLLED "/metadata/ownerReferences/*/controller"

unsigned foreign_calls;

static struct {
  uv_loop_t loop;
  uv_timer_t timer;
  kin_client *client;
  kin_informer *informer;
  size_t added;
  bool is_synced;
} run;

static void on_timeout(uv_timer_t *timer) {
  (void)timer;
  fprintf(stderr, "timed out: %zu pods, %u foreign calls\n", run.added,
          foreign_calls);
  exit(1);
}

static void on_closed(void *data) {
  (void)data;
  uv_close((uv_handle_t *)&run.timer, NULL);
}

/* Inflates the object, and parses its JSON. */
static void read_pod(const kin_object *pod) {
  kin_object_view *view;
  kin_str image;
  assert(kin_object_view_open(&view, pod) == 0);
  assert(kin_object_view_string(view, "/spec/containers/0/image", &image) == 0);
  assert(image.length > 0);
  kin_object_view_close(view);
}

static void read_store(const kin_store *store) {
  kin_index_cursor cursor;
  const kin_object *pod;
  size_t found = 0;
  /* A boolean, which JSON's writer turns into text. */
  assert(kin_store_by_index(store, IS_CONTROLLED, KIN_STR("true"), &cursor) ==
         0);
  while ((pod = kin_store_by_index_next(store, &cursor)) != NULL) {
    read_pod(pod);
    found++;
  }
  assert(found > 0);
}

static void on_add(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  (void)event;
  (void)data;
  run.added++;
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)data;
  assert(event->objects > 0);
  run.is_synced = true;
}

/* zstd trains the second dictionary: the first one is of plain text. */
static void on_update(kin_informer *informer, const kin_event *event,
                      void *data) {
  kin_informer_metrics metrics = KIN_INFORMER_METRICS_INIT;
  (void)data;
  assert(kin_informer_get_metrics(informer, &metrics) == 0);
  if (run.is_synced && metrics.dictionaries >= 2 && run.client != NULL) {
    assert(metrics.packed_objects > 0);
    read_pod(event->object);
    read_store(kin_informer_store(informer));
    assert(kin_client_close(run.client, on_closed, NULL) == 0);
    run.client = NULL;
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "%s\n", event->message);
}

/* Inflates lists, and stores compressed. */
static int follow(const char *kubeconfig) {
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  kin_kubeconfig_options ko = KIN_KUBECONFIG_OPTIONS_INIT;
  kin_kubeconfig *config;
  kin_listener *listener;
  uv_timer_init(&run.loop, &run.timer);
  uv_timer_start(&run.timer, on_timeout, 600000, 0);
  ko.path = kubeconfig;
  assert(kin_kubeconfig_load(&config, &ko) == 0);
  co.accept_gzip = true;
  assert(kin_kubeconfig_apply(config, &co) == 0);
  assert(kin_client_open(&run.client, &run.loop, &co) == 0);
  kin_kubeconfig_free(config);
  io.plural = "pods";
  io.no_watch_list = true; /* a watch is not compressed */
  io.compact = KIN_COMPACT_FAST;
  io.on_error = on_error;
  assert(kin_informer_open(&run.informer, run.client, &io) == 0);
  index.name = index.pointer = IS_CONTROLLED;
  assert(kin_store_add_index(kin_informer_store(run.informer), &index) == 0);
  lo.on_add = on_add;
  lo.on_update = on_update;
  lo.on_synced = on_synced;
  assert(kin_informer_listen(run.informer, &lo, &listener) == 0);
  assert(kin_informer_start(run.informer) == 0);
  assert(uv_run(&run.loop, UV_RUN_DEFAULT) == 0);
  assert(uv_loop_close(&run.loop) == 0);
  printf("%zu pods, %u foreign calls\n", run.added, foreign_calls);
  return foreign_calls != 0;
}

/* libyaml is needed for a kubeconfig only, and is checked there. */
static int refuse(const char *name, const char *word) {
  char problem[4096] = "";
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  kin_kubeconfig_options ko = KIN_KUBECONFIG_OPTIONS_INIT;
  kin_kubeconfig *config = NULL;
  bool is_yaml = strcmp(name, "libyaml") == 0;
  co.server = "http://127.0.0.1:1";
  co.problem = ko.problem = problem;
  co.problem_size = ko.problem_size = sizeof problem;
  ko.path = "/nonexistent/kubeconfig";
  int err = is_yaml ? kin_kubeconfig_load(&config, &ko)
                    : kin_client_open(&run.client, &run.loop, &co);
  printf("error %d, %u foreign calls: %s\n", err, foreign_calls, problem);
  return err != KIN_ELIBRARY || foreign_calls == 0 ||
         strstr(problem, name) == NULL || strstr(problem, word) == NULL ||
         config != NULL || run.client != NULL || uv_loop_close(&run.loop) != 0;
}

int main(int argc, char **argv) {
  assert(argc == 3 || argc == 4);
  assert(uv_loop_init(&run.loop) == 0);
  return argc == 3 ? follow(argv[2]) : refuse(argv[2], argv[3]);
}
