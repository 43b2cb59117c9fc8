/* SPDX-License-Identifier: MIT */

/* A program of its own parts: what client-go's Controller and NewInformer are
 * for.
 *
 *     kubectl proxy --port=8001 &
 *     delta_controller http://127.0.0.1:8001
 *
 * The program says where each pod runs, once the node is known. Two controllers:
 * open_nodes has nothing but handlers and gets a store to look things up in;
 * open_pods has a queue, of which process() takes one pod after another. A pod
 * whose node is not known yet is an error: retry_on_error puts it back, behind
 * the others. The queue is a FIFO, which has the newest state of each pod, so a
 * pod that changed meanwhile is looked at once.
 *
 * Not for a controller in the sense of Kubernetes: deletions reach process() as
 * deltas only, all pods share one backoff, and process() cannot end later. Such
 * a program takes an informer and a work queue: controller.c. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

typedef struct program {
  kin_client *client;
  kin_controller *nodes;
  kin_controller *pods;
  kin_queue *queue;
  uv_signal_t interrupt;
} program;

static void on_error(kin_controller *controller, kin_error_event *event,
                     void *data) {
  (void)controller;
  (void)data;
  fprintf(stderr, "delta_controller: %s\n", event->message);
}

/* ---- nodes: a store and handlers */

static void on_node(const kin_object *node, bool is_initial, void *data) {
  (void)is_initial;
  (void)data;
  printf("node " KIN_STR_FORMAT "\n", KIN_STR_ARG(kin_object_name(node)));
}

static int open_nodes(program *p) {
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "nodes";
  kin_process_handlers handlers = KIN_PROCESS_HANDLERS_INIT;
  handlers.on_add = on_node;
  kin_controller_options options = KIN_CONTROLLER_OPTIONS_INIT;
  options.resource = &resource;
  options.handlers = &handlers;
  options.on_error = on_error;
  int status = kin_controller_open(&p->nodes, p->client, &options);
  return status == 0 ? kin_controller_start(p->nodes) : status;
}

/* ---- pods: a queue and a function */

/* Called with one pod at a time; an error means: try it again. */
static int process(kin_queue *queue, kin_queue_item *item, void *data) {
  program *p = data;
  (void)queue;
  const kin_object *pod = kin_deltas_newest(&item->deltas)->object;
  kin_object_view *view;
  int status = kin_object_view_open(&view, pod);
  if (status != 0) {
    return status;
  }
  kin_str node;
  kin_str key = kin_object_key(pod);
  if (kin_object_view_string(view, "/spec/nodeName", &node) != 0) {
    printf("pod " KIN_STR_FORMAT " waits\n", KIN_STR_ARG(key));
  } else if (kin_store_get(kin_controller_store(p->nodes), node) == NULL) {
    status = KIN_ENOENT;
  } else {
    printf("pod " KIN_STR_FORMAT " is on " KIN_STR_FORMAT "\n",
           KIN_STR_ARG(key), KIN_STR_ARG(node));
  }
  kin_object_view_close(view);
  return status;
}

static int open_pods(program *p) {
  int status = kin_queue_new_fifo(&p->queue, NULL);
  if (status != 0) {
    return status;
  }
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "pods";
  kin_controller_options options = KIN_CONTROLLER_OPTIONS_INIT;
  options.resource = &resource;
  options.queue = p->queue;
  options.process = process;
  options.retry_on_error = true;
  options.on_error = on_error;
  options.data = p;
  status = kin_controller_open(&p->pods, p->client, &options);
  return status == 0 ? kin_controller_start(p->pods) : status;
}

/* ---- beginning and end */

static void on_interrupt(uv_signal_t *handle, int number) {
  program *p = handle->data;
  (void)number;
  uv_close((uv_handle_t *)handle, NULL);
  if (p->pods != NULL) {
    kin_controller_stats stats = KIN_CONTROLLER_STATS_INIT;
    (void)kin_controller_get_stats(p->pods, &stats);
    printf("%" PRIu64 " tries\n", stats.items);
  }
  if (p->client != NULL) {
    kin_client_close(p->client, NULL, NULL); /* and its controllers */
  }
}

int main(int argc, char **argv) {
  uv_loop_t *loop = uv_default_loop();
  setvbuf(stdout, NULL, _IOLBF, 0);
  program p = {0};
  uv_signal_init(loop, &p.interrupt);
  p.interrupt.data = &p;
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = argc > 1 ? argv[1] : "http://127.0.0.1:8001";
  int status = kin_client_open(&p.client, loop, &options);
  if (status == 0) {
    status = open_nodes(&p);
  }
  if (status == 0) {
    status = open_pods(&p);
  }
  if (status == 0) {
    status = uv_signal_start(&p.interrupt, on_interrupt, SIGINT);
  }
  if (status != 0) {
    fprintf(stderr, "delta_controller: %s\n", kin_strerror(status));
    on_interrupt(&p.interrupt, 0);
  }
  uv_run(loop, UV_RUN_DEFAULT);
  kin_queue_free(p.queue); /* the controller is gone */
  return uv_loop_close(loop) == 0 && status == 0 ? 0 : 1;
}
