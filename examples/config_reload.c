/* SPDX-License-Identifier: MIT */

/* Reloads its configuration when a ConfigMap changes.
 *
 *     kubectl proxy --port=8001 &
 *     config_reload http://127.0.0.1:8001 default my-config
 *
 * The first line comes when the ConfigMap has been read, the next 200 ms after
 * the last of some changes of its data, however many there were. The lines are
 * shortened here:
 *
 *     reload {"kind":"ConfigMap",...,"data":{"greeting":"hello"}}
 *     reload {"kind":"ConfigMap",...,"data":{"greeting":"goodbye"}}
 *     gone
 *
 * What to look at: the server sends one object only (field_selector), and only
 * its data is stored. A change filter with the field "/data" is not told of
 * labels, annotations and resourceVersions, nor of data that was changed back
 * before anybody looked. */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <kin/toolkit.h>

#define DEBOUNCE_MS 200
#define MAX_WAIT_MS 2000

typedef struct app {
  kin_client *client;
  uv_signal_t interrupt;
} app;

/* Prints what a program would load. The text of /data is in the object's JSON:
 * a program reads the keys that it knows with kin_object_view_string. */
static void reload(const kin_object *object) {
  kin_object_view *view;
  int status = kin_object_view_open(&view, object);
  if (status == 0) {
    kin_str json = kin_object_view_json(view);
    printf("reload " KIN_STR_FORMAT "\n", KIN_STR_ARG(json));
    kin_object_view_close(view);
  } else {
    fprintf(stderr, "config_reload: %s\n", kin_strerror(status));
  }
}

static void on_change(kin_change_filter *filter, const kin_change *change,
                      void *data) {
  (void)filter;
  (void)data;
  if (change->type == KIN_EVENT_DELETE) {
    printf("gone\n"); /* a program keeps what it has */
  } else {
    reload(change->object);
  }
}

static void on_synced(kin_change_filter *filter, size_t objects, void *data) {
  (void)filter;
  (void)data;
  if (objects == 0) {
    printf("none yet\n");
  }
}

/* Failures are retried whatever happens here; this only tells about them. */
static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "%s\n", event->message);
}

static void on_interrupt(uv_signal_t *handle, int number) {
  (void)number;
  app *a = handle->data;
  uv_close((uv_handle_t *)handle, NULL);
  kin_client_close(a->client, NULL, NULL);
}

static int follow(app *a, const char *namespace_, const char *name) {
  static const char *const stored[] = {"/data"};
  static const char *const fields[] = {"/data"};
  char selector[300];
  int length = snprintf(selector, sizeof selector, "metadata.name=%s", name);
  if (length < 0 || (size_t)length >= sizeof selector) {
    return KIN_ETOOBIG;
  }
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "configmaps";
  io.namespaces = &namespace_;
  io.namespace_count = 1;
  io.field_selector = selector;
  io.fields = stored;
  io.field_count = 1;
  io.drop_labels = true;
  io.on_error = on_error;
  kin_informer *informer;
  int status = kin_informer_open(&informer, a->client, &io);
  if (status != 0) {
    return status;
  }
  kin_change_filter_options fo = KIN_CHANGE_FILTER_OPTIONS_INIT;
  fo.on_change = on_change;
  fo.on_synced = on_synced;
  fo.fields = fields;
  fo.field_count = 1;
  fo.debounce_ms = DEBOUNCE_MS;
  fo.max_wait_ms = MAX_WAIT_MS;
  status = kin_change_filter_open(NULL, informer, &fo);
  return status == 0 ? kin_informer_start(informer) : status;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: config_reload URL NAMESPACE NAME\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  uv_loop_t *loop = uv_default_loop();
  app a = {0};
  a.interrupt.data = &a;
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argv[1];
  int status = kin_client_open(&a.client, loop, &co);
  if (status == 0) {
    uv_signal_init(loop, &a.interrupt);
    uv_signal_start(&a.interrupt, on_interrupt, SIGINT);
    status = follow(&a, argv[2], argv[3]);
    if (status != 0) {
      uv_close((uv_handle_t *)&a.interrupt, NULL);
      kin_client_close(a.client, NULL, NULL);
    }
  }
  if (status != 0) {
    fprintf(stderr, "config_reload: %s\n", kin_strerror(status));
  }
  uv_run(loop, UV_RUN_DEFAULT);
  return status == 0 ? 0 : 1;
}
