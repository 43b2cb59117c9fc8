/* SPDX-License-Identifier: MIT */

/* What a log enricher needs of every pod, and nothing else: which pod a
 * container belongs to. A transform keeps a few hundred of a pod's several
 * thousand bytes, before the pod is ever stored or shown to a handler.
 *
 * kubectl proxy --port=8001 & transform http://127.0.0.1:8001
 *
 * prints a line for each container: its ID, its pod, the node, the
 * application. */

#include <inttypes.h>
#include <stdio.h>

#include <kin/kin.h>

/* A pure function: the same pod always becomes the same. The first error sticks
 * to the builder and fails the transform, so none has to be looked at. */
static int keep_little(const kin_object *in, kin_object_builder *out,
                       void *data) {
  static const char *const fields[] = {
      "/spec/nodeName", "/status/containerStatuses/*/containerID"};
  (void)in;
  (void)data;
  kin_object_builder_keep(out, fields, sizeof fields / sizeof fields[0]);
  return kin_object_builder_remove(out, "/metadata/labels/pod-template-hash");
}

static void print_containers(const kin_object *pod, kin_object_view *view) {
  kin_str node = {"-", 1};
  kin_str app = {"-", 1};
  kin_str id;
  char pointer[64];
  (void)kin_object_view_string(view, "/spec/nodeName", &node);
  (void)kin_object_label(pod, "app", &app);
  for (unsigned i = 0;; i++) {
    snprintf(pointer, sizeof pointer,
             "/status/containerStatuses/%u/containerID", i);
    if (kin_object_view_string(view, pointer, &id) != 0) {
      break;
    }
    printf(KIN_STR_FORMAT " %s " KIN_STR_FORMAT " " KIN_STR_FORMAT "\n",
           KIN_STR_ARG(id), kin_object_key(pod).data, KIN_STR_ARG(node),
           KIN_STR_ARG(app));
  }
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  kin_object_view *view;
  (void)informer;
  (void)data;
  if (kin_object_view_open(&view, event->object) == 0) {
    print_containers(event->object, view);
    kin_object_view_close(view);
  }
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)data;
  printf("in sync: %zu pods in %" PRIu64 " bytes\n", event->objects,
         kin_store_bytes(kin_informer_store(informer)));
}

/* A pod on which the transform fails is told here, too. */
static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "%s\n", event->message);
}

int main(int argc, char **argv) {
  uv_loop_t *loop = uv_default_loop();
  setvbuf(stdout, NULL, _IOLBF, 0);

  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argc > 1 ? argv[1] : "http://127.0.0.1:8001";

  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.on_error = on_error;
  io.transform = keep_little;

  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = lo.on_update = on_event;
  lo.on_synced = on_synced;

  kin_client *client;
  kin_informer *informer;
  int status = kin_client_open(&client, loop, &co);
  if (status == 0) {
    status = kin_informer_open(&informer, client, &io);
  }
  if (status == 0) {
    status = kin_informer_listen(informer, &lo, NULL);
  }
  if (status == 0) {
    status = kin_informer_start(informer);
  }
  if (status != 0) {
    fprintf(stderr, "transform: %s\n", kin_strerror(status));
    return 1;
  }
  return uv_run(loop, UV_RUN_DEFAULT);
}
