/* SPDX-License-Identifier: MIT */

/* A program that embeds the library, built in each of the ways that
 * doc/building.md explains: `consumer URL PODS` follows the pods of a server
 * until it has seen the given number of them and one later change. Ends with 0
 * if everything was as it has to be, also after closing. */

#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>
#include <yyjson.h>

#ifdef KIN_AMALGAMATION
#include "kin.h"
#else
#include <kin/kin.h>
#include <kin/version.h>
#include <kin/yyjson.h>
#endif

static struct {
  kin_client *client;
  uv_timer_t timer;
  size_t expected;
  size_t initial;
  size_t changes;
  size_t containers;
  bool is_synced;
  bool is_closed;
} run;

static void on_client_closed(void *data) {
  (void)data;
  run.is_closed = true;
  uv_close((uv_handle_t *)&run.timer, NULL);
}

static void on_timeout(uv_timer_t *timer) {
  (void)timer;
  fprintf(stderr, "timed out: %zu initial, %zu changes\n", run.initial,
          run.changes);
  exit(1);
}

/* An array is read with yyjson, from the document that the library parsed. */
static size_t containers_of(const kin_object *object) {
  kin_object_view *view;
  int err = kin_object_view_open(&view, object);
  assert(err == 0);
  yyjson_doc *document = kin_object_view_document(view, &err);
  assert(document != NULL);
  yyjson_val *containers =
      yyjson_ptr_get(yyjson_doc_get_root(document), "/spec/containers");
  assert(yyjson_is_arr(containers));
  size_t count = yyjson_arr_size(containers);
  kin_object_view_close(view);
  return count;
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)data;
  kin_str key = kin_object_key(event->object);
  assert(key.length > 0);
  if (!run.is_synced) {
    assert(event->type == KIN_EVENT_ADD);
    run.initial++;
    run.containers += containers_of(event->object);
    return;
  }
  if (event->type != KIN_EVENT_DELETE) {
    assert(kin_store_get(kin_informer_store(informer), key) != NULL);
  }
  if (run.changes++ == 0) {
    kin_client_close(run.client, on_client_closed, NULL);
  }
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)data;
  run.is_synced = true;
  assert(event->objects == run.expected);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "%s\n", event->message);
}

int main(int argc, char **argv) {
  assert(argc == 3);
  run.expected = strtoul(argv[2], NULL, 10);
  assert(strcmp(kin_version_string(), KIN_VERSION_STRING) == 0);

  uv_loop_t loop;
  int err = uv_loop_init(&loop);
  assert(err == 0);
  uv_timer_init(&loop, &run.timer);
  uv_timer_start(&run.timer, on_timeout, 30000, 0);

  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argv[1];
  err = kin_client_open(&run.client, &loop, &co);
  assert(err == 0);

  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.on_error = on_error;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = lo.on_update = lo.on_delete = on_event;
  lo.on_synced = on_synced;
  kin_informer *informer;
  err = kin_informer_follow(&informer, run.client, &io, &lo);
  assert(err == 0);

  err = uv_run(&loop, UV_RUN_DEFAULT);
  assert(err == 0 && run.is_closed);
  assert(run.initial == run.expected);
  assert(run.changes == 1);
  assert(run.containers >= run.expected);
  err = uv_loop_close(&loop);
  assert(err == 0);
  printf("%zu pods, %zu containers\n", run.initial, run.containers);
  return 0;
}
