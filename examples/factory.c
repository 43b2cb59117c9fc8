/* SPDX-License-Identifier: MIT */

/* A factory: the parts of a program share their informers.
 *
 *     kubectl proxy --port=8001 &
 *     factory http://127.0.0.1:8001 default
 *
 * prints what is in a namespace as soon as everything is in sync, then every
 * change of its deployments, until Ctrl-C.
 *
 * What to look at: two parts ask for what they need and do not know of each
 * other, but pods are listed and watched once. Nothing runs before everybody
 * has asked, and main() waits for all of it at once. report() reads the caches
 * through listers. */

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <kin/toolkit.h>

typedef struct app {
  const char *namespace_;
  uv_signal_t interrupt;
  kin_client *client;
  kin_factory *factory;
  kin_informer *pods;       /* asked for by both parts */
  kin_informer *configmaps; /* names are all that is wanted of them */
  int status;
  bool is_stopping;
} app;

static void stop(app *a) {
  if (!a->is_stopping) {
    a->is_stopping = true;
    uv_close((uv_handle_t *)&a->interrupt, NULL);
    kin_client_close(a->client, NULL, NULL); /* and with it the factory */
  }
}

static void on_interrupt(uv_signal_t *interrupt, int number) {
  (void)number;
  stop(interrupt->data);
}

/* ---- one part: what is in the namespace */

static int report_open(app *a) {
  int err = kin_factory_informer(a->factory, "", "v1", "pods", &a->pods);
  if (err != 0) {
    return err;
  }
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "configmaps";
  options.metadata_only = true;
  return kin_factory_informer_with(a->factory, &options, &a->configmaps);
}

/* Objects come in no particular order. */
static void print_all(const char *what, kin_informer *informer,
                      const char *namespace_) {
  kin_str name = {namespace_, strlen(namespace_)};
  kin_lister all = kin_lister_of(kin_informer_store(informer));
  kin_lister lister = kin_lister_in(all, name);
  kin_lister_scan scan = kin_lister_list(&lister, NULL);
  const kin_object *object;
  while ((object = kin_lister_next(&scan)) != NULL) {
    kin_str key = kin_object_key(object);
    printf("%s " KIN_STR_FORMAT "\n", what, KIN_STR_ARG(key));
  }
}

static void report(app *a) {
  print_all("pod", a->pods, a->namespace_);
  print_all("configmap", a->configmaps, a->namespace_);
}

/* ---- the other part: deployments, and the pods that belong to them */

static void on_deployment(kin_informer *informer, const kin_event *event,
                          void *data) {
  (void)informer;
  const app *a = data;
  static const char *const names[] = {"", "added", "changed", "deleted"};
  kin_str key = kin_object_key(event->object);
  printf("deployment " KIN_STR_FORMAT " %s, %zu pods are cached\n",
         KIN_STR_ARG(key), names[event->type],
         kin_store_count(kin_informer_store(a->pods)));
}

static int follow_open(app *a) {
  kin_informer *pods;
  kin_informer *deployments;
  int err = kin_factory_informer(a->factory, "", "v1", "pods", &pods);
  if (err == 0) { /* the same one */
    err = kin_factory_informer(a->factory, "apps", "v1", "deployments",
                               &deployments);
  }
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = on_deployment;
  options.data = a;
  return err == 0 ? kin_informer_listen(deployments, &options, NULL) : err;
}

/* ---- all of it */

static void on_synced(const kin_wait_result *result, void *data) {
  app *a = data;
  if (a->is_stopping) {
    return;
  }
  if (result->code != 0) {
    fprintf(stderr, "factory: %s\n", result->error);
    a->status = 1;
    stop(a);
    return;
  }
  report(a);
}

static int open_all(app *a, uv_loop_t *loop, const char *server) {
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = server;
  kin_factory_options fo = KIN_FACTORY_OPTIONS_INIT;
  fo.namespaces = &a->namespace_;
  fo.namespace_count = 1;
  int err = kin_client_open(&a->client, loop, &co);
  if (err == 0) {
    err = kin_factory_open(&a->factory, a->client, &fo);
  }
  if (err == 0) {
    err = report_open(a);
  }
  if (err == 0) {
    err = follow_open(a);
  }
  if (err == 0) {
    err = kin_factory_start(a->factory);
  }
  return err == 0 ? kin_factory_wait(a->factory, 30000, on_synced, a, NULL)
                  : err;
}

int main(int argc, char **argv) {
  uv_loop_t *loop = uv_default_loop();
  setvbuf(stdout, NULL, _IOLBF, 0);
  app a = {.namespace_ = argc > 2 ? argv[2] : "default"};
  int err = open_all(&a, loop, argc > 1 ? argv[1] : "http://127.0.0.1:8001");
  if (err != 0) {
    fprintf(stderr, "factory: %s\n", kin_strerror(err));
    return 1;
  }
  a.interrupt.data = &a;
  uv_signal_init(loop, &a.interrupt);
  uv_signal_start(&a.interrupt, on_interrupt, SIGINT);
  uv_run(loop, UV_RUN_DEFAULT);
  uv_loop_close(loop);
  return a.status;
}
