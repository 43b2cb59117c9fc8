/* SPDX-License-Identifier: MIT */

/* A whole controller: each config map gets the label "seen", also after somebody
 * has removed it.
 *
 *     kubectl proxy --port=8001 &
 *     work_queue http://127.0.0.1:8001 [NAMESPACE]
 *
 * Look at reconcile(): it is given a key and nothing else, so it looks at what
 * is, not at what has happened. An object that the store does not have is gone.
 * The patch is sent, and the answer to the queue comes later, in on_patched();
 * up to four patches are on their way at a time. A patch that fails is tried
 * again after a wait that doubles, for this config map alone. Ctrl-C lets the
 * patches end that are on their way. */

#include <signal.h>
#include <stdio.h>

#include <kin/controllers.h>
#include <kin/request.h>

typedef struct program {
  kin_client *client;
  kin_informer *maps;
  kin_work_queue *queue;
  uv_signal_t interrupt;
} program;

static void on_patched(const kin_response *response, void *data) {
  const kin_work_item *item = data;
  bool is_done = response->code == 0 || response->code == KIN_ENOENT;
  if (!is_done) {
    fprintf(stderr, KIN_STR_FORMAT ": %s\n", KIN_STR_ARG(item->key),
            response->message);
  }
  kin_work_done(item, is_done ? KIN_WORK_SUCCESS : KIN_WORK_RETRY);
}

static int patch(program *p, const kin_object *map, const kin_work_item *item) {
  static const char body[] = "{\"metadata\":{\"labels\":{\"seen\":\"true\"}}}";
  char namespace_[64];
  char name[254];
  snprintf(namespace_, sizeof namespace_, KIN_STR_FORMAT,
           KIN_STR_ARG(kin_object_namespace(map)));
  snprintf(name, sizeof name, KIN_STR_FORMAT,
           KIN_STR_ARG(kin_object_name(map)));
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  spec.verb = KIN_VERB_PATCH_MERGE;
  spec.plural = "configmaps";
  spec.namespace_ = namespace_;
  spec.name = name;
  spec.body = body;
  spec.body_length = sizeof body - 1;
  spec.field_manager = "work_queue";
  return kin_request_start(NULL, p->client, &spec, on_patched, (void *)item);
}

static void reconcile(kin_work_queue *queue, const kin_work_item *item,
                      void *data) {
  program *p = data;
  (void)queue;
  const kin_object *map = kin_store_get(kin_informer_store(p->maps), item->key);
  if (map == NULL) {
    printf(KIN_STR_FORMAT " is gone\n", KIN_STR_ARG(item->key));
    kin_work_done(item, KIN_WORK_SUCCESS);
  } else if (kin_object_label(map, "seen", NULL)) {
    printf(KIN_STR_FORMAT " has the label\n", KIN_STR_ARG(item->key));
    kin_work_done(item, KIN_WORK_SUCCESS);
  } else if (patch(p, map, item) != 0) {
    kin_work_done(item, KIN_WORK_RETRY);
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "work_queue: %s\n", event->message);
}

static void on_drained(kin_work_queue *queue, int code, void *data) {
  program *p = data;
  (void)queue;
  (void)code;
  kin_client_close(p->client, NULL, NULL); /* and all that is open on it */
}

static void on_interrupt(uv_signal_t *handle, int number) {
  program *p = handle->data;
  (void)number;
  uv_close((uv_handle_t *)handle, NULL);
  kin_work_queue_shut_down_with_drain(p->queue, on_drained, p);
}

/* `namespace_` NULL: all of them. */
static int open_all(program *p, uv_loop_t *loop, const char *server,
                    const char *namespace_) {
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = server;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "configmaps";
  io.namespaces = &namespace_;
  io.namespace_count = namespace_ != NULL;
  io.on_error = on_error;
  kin_work_queue_options qo = KIN_WORK_QUEUE_OPTIONS_INIT;
  qo.name = "configmaps";
  qo.worker = reconcile;
  qo.concurrency = 4;
  qo.data = p;
  int status = kin_client_open(&p->client, loop, &co);
  if (status == 0) {
    status = kin_informer_open(&p->maps, p->client, &io);
  }
  if (status == 0) {
    status = kin_work_queue_open(&p->queue, p->client, &qo);
  }
  if (status == 0) {
    status = kin_work_queue_follow(p->queue, p->maps, NULL);
  }
  return status == 0 ? kin_informer_start(p->maps) : status;
}

int main(int argc, char **argv) {
  uv_loop_t *loop = uv_default_loop();
  setvbuf(stdout, NULL, _IOLBF, 0);
  program p = {0};
  const char *server = argc > 1 ? argv[1] : "http://127.0.0.1:8001";
  int status = open_all(&p, loop, server, argc > 2 ? argv[2] : NULL);
  if (status != 0) {
    fprintf(stderr, "work_queue: %s\n", kin_strerror(status));
    return 1;
  }
  uv_signal_init(loop, &p.interrupt);
  p.interrupt.data = &p;
  uv_signal_start(&p.interrupt, on_interrupt, SIGINT);
  uv_run(loop, UV_RUN_DEFAULT);
  return uv_loop_close(loop) == 0 ? 0 : 1;
}
