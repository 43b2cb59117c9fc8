/* SPDX-License-Identifier: MIT */

/* A controller to begin a real one with: several copies run, and one works.
 *
 *     controller http://127.0.0.1:8001 default
 *
 * Each Widget (widgets.v1.example.com) of the namespace gets a finalizer and a
 * status: how many Widgets name it in their spec.parent.
 *
 * - is_leader() is asked before each write. When on_stopped() returns, no write
 *   begins any more, and one on its way is given up.
 * - A copy that is paused after that question writes late, so each write has the
 *   resourceVersion that it was made from: the server refuses it if another
 *   leader has written the Widget since. For each Widget, terms never go back,
 *   and one write removes the finalizer. What a Lease cannot prevent: a late
 *   write to a Widget that nobody has written since. The next leader sees it.
 * - A term has a queue of its own, which begins with all Widgets. A copy that
 *   has lost the lease competes again when nothing of its term is left. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <kin/leader_election.h>
#include <kin/ownership.h>
#include <kin/request.h>
#include <kin/toolkit.h>
#include <kin/work_queue.h>

#define FINALIZER "example.com/controller"

typedef struct program {
  kin_client *client;
  kin_informer *widgets;
  kin_leader_elector *elector;
  kin_work_queue *queue;     /* of this term; NULL: none */
  const kin_work_item *item; /* the one that is worked on */
  kin_request *request;      /* its write; NULL: none */
  uv_signal_t signals[2];
  bool is_ending;
} program;

static void tell(const char *problem) {
  fprintf(stderr, "controller: %s\n", problem);
}

static void compete(program *p) {
  if (p->queue == NULL && p->request == NULL && !p->is_ending) {
    kin_leader_elector_start(p->elector);
  }
}

static void on_written(const kin_response *response, void *data) {
  program *p = data;
  bool is_done = response->code == 0 || response->code == KIN_ENOENT;
  if (!is_done && response->code != KIN_ECONFLICT) { /* the cache was behind */
    tell(response->message);
  }
  p->request = NULL;
  if (p->queue != NULL) {
    kin_work_done(p->item, is_done ? KIN_WORK_SUCCESS : KIN_WORK_RETRY);
  }
  compete(p);
}

static int patch(program *p, const kin_object *widget, const char *subresource,
                 const char *body, size_t length) {
  char path[512];
  snprintf(path, sizeof path,
           "/apis/example.com/v1/namespaces/" KIN_STR_FORMAT
           "/widgets/" KIN_STR_FORMAT "%s",
           KIN_STR_ARG(kin_object_namespace(widget)),
           KIN_STR_ARG(kin_object_name(widget)), subresource);
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  spec.verb = KIN_VERB_PATCH_MERGE;
  spec.path = path;
  spec.body = body;
  spec.body_length = length;
  return kin_request_start(&p->request, p->client, &spec, on_written, p);
}

/* As the functions for finalizers; KIN_EALREADY: the status is as wanted. */
static int status_patch(program *p, const kin_object *widget, char *to,
                        size_t size, size_t *length) {
  int64_t generation = 0, observed = 0, said = -1;
  kin_value_int64(kin_object_at(widget, "/metadata/generation"), &generation);
  kin_value status = kin_object_at(widget, "/status");
  kin_value_int64(kin_value_at(status, "/observedGeneration"), &observed);
  kin_value_int64(kin_value_at(status, "/children"), &said);
  size_t children;
  kin_lister lister = kin_lister_of(kin_informer_store(p->widgets));
  int err = kin_lister_find_all(&lister, "parent", kin_object_name(widget),
                                NULL, 0, &children);
  if (err != 0 || (observed == generation && said == (int64_t)children)) {
    return err != 0 ? err : KIN_EALREADY;
  }
  *length = (size_t)snprintf(
      to, size,
      "{\"metadata\":{\"resourceVersion\":\"" KIN_STR_FORMAT "\"},"
      "\"status\":{\"observedGeneration\":%" PRId64 ",\"children\":%zu,"
      "\"leader\":\"%s\",\"term\":%" PRId64 "}}",
      KIN_STR_ARG(kin_object_resource_version(widget)), generation, children,
      kin_leader_elector_identity(p->elector),
      kin_leader_elector_term(p->elector));
  return *length < size ? 0 : KIN_ETOOBIG;
}

static void reconcile(kin_work_queue *queue, const kin_work_item *item,
                      void *data) {
  (void)queue;
  program *p = data;
  const char *subresource = "";
  char body[4096];
  size_t length;
  int err = KIN_EALREADY; /* there is nothing to write */
  const kin_object *widget =
      kin_store_get(kin_informer_store(p->widgets), item->key);
  p->item = item;
  if (widget == NULL || !kin_leader_elector_is_leader(p->elector)) {
    /* It is gone; or the next leader will begin with all Widgets. */
  } else if (kin_object_is_terminating(widget)) {
    /* Clean up here: twice must do no harm. Then the finalizer may go. */
    err = kin_object_remove_finalizer_patch(widget, FINALIZER, body,
                                            sizeof body, &length);
  } else {
    err = kin_object_add_finalizer_patch(widget, FINALIZER, body, sizeof body,
                                         &length);
    if (err == KIN_EALREADY) {
      subresource = "/status";
      err = status_patch(p, widget, body, sizeof body, &length);
    }
  }
  if (err == 0) {
    err = patch(p, widget, subresource, body, length);
  }
  if (err == KIN_EALREADY) {
    kin_work_done(item, KIN_WORK_SUCCESS);
  } else if (err != 0) {
    tell(kin_strerror(err));
    kin_work_done(item, KIN_WORK_RETRY);
  }
}

/* An update emits the keys of the old and of the new object. */
static void keys_of(const kin_object *widget, kin_work_keys *keys, void *data) {
  (void)data;
  char buffer[254], key[KIN_KEY_SIZE];
  kin_str parent, made;
  kin_work_emit(keys, kin_object_key(widget));
  if (kin_value_string(kin_object_at(widget, "/spec/parent"), buffer,
                       sizeof buffer, &parent) == 0 &&
      kin_key_make(key, sizeof key, kin_object_namespace(widget), parent,
                   &made) == 0) {
    kin_work_emit(keys, made);
  }
}

static void on_queue_closed(void *data) {
  program *p = data;
  p->queue = NULL;
  compete(p);
}

static void on_started(kin_leader_elector *elector, void *data) {
  program *p = data;
  printf("leading as %s, term %" PRId64 "\n",
         kin_leader_elector_identity(elector),
         kin_leader_elector_term(elector));
  kin_work_queue_options qo = KIN_WORK_QUEUE_OPTIONS_INIT;
  qo.worker = reconcile;
  qo.on_closed = on_queue_closed;
  qo.data = p;
  kin_work_follow_options fo = KIN_WORK_FOLLOW_OPTIONS_INIT;
  fo.keys = keys_of;
  int err = kin_work_queue_open(&p->queue, p->client, &qo);
  if (err != 0 ||
      (err = kin_work_queue_follow(p->queue, p->widgets, &fo)) != 0) {
    tell(kin_strerror(err));
    kin_leader_elector_stop(elector); /* and competes again */
  }
}

static void on_stopped(kin_leader_elector *elector, const kin_leader_stop *stop,
                       void *data) {
  (void)elector;
  program *p = data;
  printf("stopped: %s\n", stop->message);
  if (p->request != NULL) {
    kin_request_cancel(p->request, UV_ECANCELED);
  }
  if (p->queue != NULL) {
    kin_work_queue_close(p->queue, NULL, NULL);
  }
  compete(p);
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  compete(data);
}

static void on_informer_error(kin_informer *informer, kin_error_event *event,
                              void *data) {
  (void)informer;
  (void)data;
  tell(event->message);
}

static void on_elector_error(kin_error_event *event, void *data) {
  on_informer_error(NULL, event, data);
}

static void on_elector_closed(void *data) { /* the lease is released */
  kin_client_close(((program *)data)->client, NULL, NULL);
}

static void on_signal(uv_signal_t *handle, int number) {
  (void)number;
  program *p = handle->data;
  p->is_ending = true;
  uv_close((uv_handle_t *)&p->signals[0], NULL);
  uv_close((uv_handle_t *)&p->signals[1], NULL);
  kin_leader_elector_close(p->elector, on_elector_closed, p);
}

static int open_all(program *p, const char *server, const char *namespace_,
                    uint32_t lease_s) {
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = server;
  kin_leader_elector_options eo = KIN_LEADER_ELECTOR_OPTIONS_INIT;
  eo.namespace_ = namespace_;
  eo.name = "widget-controller";
  eo.lease_duration_s = lease_s;
  eo.renew_deadline_ms = lease_s * 2000 / 3;
  eo.retry_period_ms = lease_s * 2000 / 15;
  eo.release_on_stop = true;
  eo.on_started = on_started;
  eo.on_stopped = on_stopped;
  eo.on_error = on_elector_error;
  eo.data = p;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.group = "example.com";
  io.plural = "widgets";
  io.namespaces = &namespace_;
  io.namespace_count = 1;
  io.on_error = on_informer_error;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_synced = on_synced;
  lo.data = p;
  kin_index_options xo = KIN_INDEX_OPTIONS_INIT;
  xo.name = "parent";
  xo.pointer = "/spec/parent";
  int err = kin_client_open(&p->client, uv_default_loop(), &co);
  if (err != 0 ||
      (err = kin_leader_elector_open(&p->elector, p->client, &eo)) ||
      (err = kin_informer_follow(&p->widgets, p->client, &io, &lo))) {
    return err;
  }
  return kin_store_add_index(kin_informer_store(p->widgets), &xo);
}

int main(int argc, char **argv) {
  static program p;
  setvbuf(stdout, NULL, _IOLBF, 0);
  int err = argc < 3 ? KIN_EINVAL
                     : open_all(&p, argv[1], argv[2],
                                argc > 3 ? (uint32_t)atoi(argv[3]) : 15);
  if (err != 0) {
    tell(kin_strerror(err));
    return 1;
  }
  for (int i = 0; i < 2; i++) {
    uv_signal_init(uv_default_loop(), &p.signals[i]);
    p.signals[i].data = &p;
    uv_signal_start(&p.signals[i], on_signal, i == 0 ? SIGINT : SIGTERM);
  }
  uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  return uv_loop_close(uv_default_loop()) == 0 ? 0 : 1;
}
