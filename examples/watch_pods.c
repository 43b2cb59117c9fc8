/* SPDX-License-Identifier: MIT */

/* Prints every change of every pod: the shortest whole program.
 *
 *     kubectl proxy --port=8001 &
 *     watch_pods http://127.0.0.1:8001
 *
 * Three things make it go: a client (one API server on one loop), an informer
 * (one resource, kept in memory) and a listener (what to do on each change).
 * The rest is the program's own uv_run. */

#include <stdio.h>

#include <kin/kin.h>

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  static const char *const names[] = {"", "added", "changed", "deleted"};
  kin_str key = kin_object_key(event->object);
  printf("%-8s" KIN_STR_FORMAT "\n", names[event->type], KIN_STR_ARG(key));
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)data;
  printf("in sync: %zu pods\n", event->objects);
}

/* Failures are retried whatever happens here; this only tells about them. */
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

  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = lo.on_update = lo.on_delete = on_event;
  lo.on_synced = on_synced;

  kin_client *client;
  int status = kin_client_open(&client, loop, &co);
  if (status == 0) {
    status = kin_informer_follow(NULL, client, &io, &lo);
  }
  if (status != 0) {
    fprintf(stderr, "watch_pods: %s\n", kin_strerror(status));
    return 1;
  }
  return uv_run(loop, UV_RUN_DEFAULT);
}
