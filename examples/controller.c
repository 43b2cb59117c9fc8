/* SPDX-License-Identifier: MIT */

/* A controller to begin a real one with: several copies run, and one works.
 *
 *     controller http://127.0.0.1:8001 default
 *
 * A cluster needs a CustomResourceDefinition of Widgets with the subresource
 * status. kin-apisim needs none:
 *
 *     kin-apisim --port 8001 --resource widgets.v1.example.com
 *
 * Each Widget (widgets.v1.example.com) of the namespace gets a finalizer and a
 * status: how many Widgets name it in their spec.parent, and which leader has
 * counted in which term.
 *
 * What to look at: reconcile() is given a key, and does the next thing that is
 * missing. Each patch has a resourceVersion. terms.h, beside this file, says what
 * holds when a copy is killed or paused while it writes, and why. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <kin/ownership.h>
#include <kin/toolkit.h>

#include "terms.h"

#define FINALIZER "example.com/controller"

static int patch(terms *t, const kin_work_item *item, const kin_object *widget,
                 const char *subresource, const char *body, size_t length) {
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
  return terms_write(t, item, &spec);
}

/* As the functions for finalizers; KIN_EALREADY: the status is as wanted. */
static int status_patch(const terms *t, const kin_object *widget, char *to,
                        size_t size, size_t *length) {
  int64_t generation = 0, observed = 0, said = -1;
  kin_value_int64(kin_object_at(widget, "/metadata/generation"), &generation);
  kin_value status = kin_object_at(widget, "/status");
  kin_value_int64(kin_value_at(status, "/observedGeneration"), &observed);
  kin_value_int64(kin_value_at(status, "/children"), &said);
  size_t children;
  kin_lister lister = kin_lister_of(kin_informer_store(t->informer));
  int err = kin_lister_find_all(&lister, "parent", kin_object_name(widget),
                                NULL, 0, &children);
  if (err != 0 || (observed == generation && said == (int64_t)children)) {
    return err != 0 ? err : KIN_EALREADY;
  }
  /* The identity is a host's name and a number: nothing in it is escaped. */
  *length = (size_t)snprintf(
      to, size,
      "{\"metadata\":{\"resourceVersion\":\"" KIN_STR_FORMAT "\"},"
      "\"status\":{\"observedGeneration\":%" PRId64 ",\"children\":%zu,"
      "\"leader\":\"%s\",\"term\":%" PRId64 "}}",
      KIN_STR_ARG(kin_object_resource_version(widget)), generation, children,
      kin_leader_elector_identity(t->elector),
      kin_leader_elector_term(t->elector));
  return *length < size ? 0 : KIN_ETOOBIG;
}

static void reconcile(kin_work_queue *queue, const kin_work_item *item,
                      void *data) {
  (void)queue;
  terms *t = data;
  const char *subresource = "";
  char body[4096];
  size_t length;
  int err = KIN_EALREADY; /* there is nothing to write */
  const kin_object *widget =
      kin_store_get(kin_informer_store(t->informer), item->key);
  if (widget == NULL) {
    /* The Widget is gone: nothing is left to do. */
  } else if (kin_object_is_terminating(widget)) {
    /* Clean up here: twice must do no harm. Then the finalizer may go. */
    err = kin_object_remove_finalizer_patch(widget, FINALIZER, body,
                                            sizeof body, &length);
  } else {
    err = kin_object_add_finalizer_patch(widget, FINALIZER, body, sizeof body,
                                         &length);
    if (err == KIN_EALREADY) {
      subresource = "/status";
      err = status_patch(t, widget, body, sizeof body, &length);
    }
  }
  if (err == 0) {
    err = patch(t, item, widget, subresource, body, length);
  }
  if (err == KIN_EALREADY) {
    kin_work_done(item, KIN_WORK_SUCCESS);
  } else if (err != 0) {
    terms_tell(kin_strerror(err));
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

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  terms_compete(data);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  terms_tell(event->message);
}

static int follow(terms *t, const char *namespace_) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.group = "example.com";
  options.plural = "widgets";
  options.namespaces = &namespace_;
  options.namespace_count = 1;
  options.on_error = on_error;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_synced = on_synced;
  listener.data = t;
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "parent";
  index.pointer = "/spec/parent";
  int err = kin_informer_follow(&t->informer, t->client, &options, &listener);
  return err == 0 ? kin_store_add_index(kin_informer_store(t->informer), &index)
                  : err;
}

static uv_signal_t signals[2];

static void on_signal(uv_signal_t *handle, int number) {
  (void)number;
  uv_close((uv_handle_t *)&signals[0], NULL);
  uv_close((uv_handle_t *)&signals[1], NULL);
  terms_end(handle->data);
}

int main(int argc, char **argv) {
  static terms t = {.worker = reconcile, .keys = keys_of};
  if (argc < 3) {
    terms_tell("usage: controller SERVER NAMESPACE [LEASE_SECONDS]");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = argv[1];
  int err = kin_client_open(&t.client, uv_default_loop(), &options);
  if (err == 0) {
    err = terms_open(&t, argv[2], "widget-controller",
                     argc > 3 ? (uint32_t)atoi(argv[3]) : 15);
  }
  if (err == 0) {
    err = follow(&t, argv[2]);
  }
  if (err != 0) {
    terms_tell(kin_strerror(err));
    return 1;
  }
  for (int i = 0; i < 2; i++) {
    uv_signal_init(uv_default_loop(), &signals[i]);
    signals[i].data = &t;
    uv_signal_start(&signals[i], on_signal, i == 0 ? SIGINT : SIGTERM);
  }
  uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  return uv_loop_close(uv_default_loop()) == 0 ? 0 : 1;
}
