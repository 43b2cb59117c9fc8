/* SPDX-License-Identifier: MIT */

/* Results and callbacks' structs carry their size (<kin/sized.h>). Each result
 * is filled for a program that is newer than the library, for one that never
 * set the size, and for one of the same version: nothing is written behind it.
 * Each struct that a callback is given says its size. check_arguments.py looks
 * for structs that are missing here and in test_option_sizes.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/discovery.h>
#include <kin/request.h>
#include <kin/toolkit.h>
#include <kin/controllers.h>
#include <kin/testing/fake_source.h>

#include "support/loop_server.h"
#include "support/objects.h"
#include "support/targets.h"

typedef struct world {
  uv_loop_t loop;
  uv_idle_t pump;
  kin_client *client;
  kin_fake_source *fake;
  kin_lister_watcher inner;  /* the fake's */
  kin_lister_watcher source; /* notes the size of the request */
  kin_informer_options resource;
  kin_store *store;
  kin_queue *queue;
  kin_reflector_store target;
  loop_server server; /* of the discovery; its handles outlive the test */

  kin_informer *informer;
  kin_controller *controller;
  kin_reflector *reflector;
  kin_retry_watcher *watcher;
  kin_work_queue *work_queue;
  kin_leader_elector *elector;
  kin_event_recorder *recorder;

  size_t feed_request;
  size_t request_options;
  size_t event;
  size_t error_event;
  size_t memory_event;
  size_t watch_event;
  size_t until_result;
  size_t until_event;
  size_t wait_result;
  size_t response;
  size_t discovery_result;
  size_t api_resource;
  size_t pager_result;
  size_t change;
  size_t changes;
  size_t work_item;
  size_t leader_stop;
} world;

/* --- The world ------------------------------------------------------------ */

static void on_pump(uv_idle_t *pump) {
  kin_fake_source_run(((world *)pump->data)->fake);
}

static int open_answer(void *ctx, const kin_feed_request *request,
                       kin_feed *feed, void **out) {
  world *w = ctx;
  w->feed_request = request->size;
  return w->inner.open(w->inner.ctx, request, feed, out);
}

static void cancel_answer(void *ctx, void *answer) {
  world *w = ctx;
  w->inner.cancel(w->inner.ctx, answer);
}

static int on_modify(kin_request_options *options, void *data) {
  ((world *)data)->request_options = options->size;
  return 0;
}

static void add(world *w, const char *json) {
  kin_object *object = object_of(NULL, json);
  assert_int_equal(kin_fake_source_add(w->fake, object), 0);
  kin_object_unref(object);
}

static int set_up(void **state) {
  static world the_world;
  world *w = &the_world;
  *w = (world){.resource = KIN_INFORMER_OPTIONS_INIT,
               .source = KIN_LISTER_WATCHER_INIT};
  assert_int_equal(uv_loop_init(&w->loop), 0);
  assert_int_equal(uv_idle_init(&w->loop, &w->pump), 0);
  w->pump.data = w;
  assert_int_equal(uv_idle_start(&w->pump, on_pump), 0);
  assert_int_equal(kin_fake_source_new(&w->fake, NULL), 0);
  add(w, "{'metadata':{'name':'a','namespace':'ns','uid':'1'}}");
  assert_int_equal(kin_store_new(&w->store, NULL), 0);
  assert_int_equal(kin_queue_new_delta(&w->queue, NULL), 0);
  w->inner = kin_fake_source_lister_watcher(w->fake);
  w->source.open = open_answer;
  w->source.cancel = cancel_answer;
  w->source.ctx = w;
  w->resource.plural = "pods";
  w->resource.source = &w->source;
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  client.server = "http://127.0.0.1"; /* never asked */
  assert_int_equal(kin_client_open(&w->client, &w->loop, &client), 0);
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  world *w = *state;
  assert_int_equal(kin_client_close(w->client, NULL, NULL), 0);
  uv_close((uv_handle_t *)&w->pump, NULL);
  assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&w->loop), 0);
  kin_queue_free(w->queue);
  kin_store_free(w->store);
  kin_fake_source_free(w->fake);
  return 0;
}

/* Runs the loop until something has been noted. */
static void run_until(world *w, const size_t *noted) {
  while (*noted == 0) {
    uv_run(&w->loop, UV_RUN_NOWAIT);
  }
}

/* --- Results -------------------------------------------------------------- */

typedef int (*fill_fn)(world *w, void *result);

static void check_result(world *w, const char *name, fill_fn fill,
                         size_t size) {
  enum { TAIL = 24, POISON = 0xaa };
  union {
    max_align_t alignment;
    unsigned char bytes[8192];
  } given;
  const struct {
    size_t size;
    int code;
    size_t filled; /* the size afterwards */
  } cases[] = {{size, 0, size},
               {size + TAIL, 0, size},
               {sizeof(size_t), KIN_EINVAL, sizeof(size_t)},
               {0, KIN_EINVAL, 0},
               {SIZE_MAX, KIN_EINVAL, SIZE_MAX}};
  assert_in_range(size + TAIL, 1, sizeof given - 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    memset(given.bytes, POISON, sizeof given);
    memcpy(given.bytes, &cases[i].size, sizeof cases[i].size);
    int code = fill(w, given.bytes);
    size_t filled;
    memcpy(&filled, given.bytes, sizeof filled);
    if (code != cases[i].code || filled != cases[i].filled) {
      fail_msg("%s, case %zu: %d, size %zu", name, i, code, filled);
    }
    size_t written = code == 0 ? cases[i].size : sizeof(size_t);
    for (size_t b = code == 0 ? size : written; b < sizeof given; b++) {
      if (given.bytes[b] != (b < written ? 0 : POISON)) {
        fail_msg("%s, case %zu: byte %zu is %d", name, i, b, given.bytes[b]);
      }
    }
  }
}

static int informer_status(world *w, void *result) {
  return kin_informer_get_status(w->informer, "", result);
}

static int reflector_status(world *w, void *result) {
  return kin_reflector_get_status(w->reflector, result);
}

static int controller_status(world *w, void *result) {
  return kin_controller_get_status(w->controller, result);
}

static int watcher_status(world *w, void *result) {
  return kin_retry_watcher_get_status(w->watcher, result);
}

static int client_stats(world *w, void *result) {
  return kin_client_get_stats(w->client, result);
}

static int controller_stats(world *w, void *result) {
  return kin_controller_get_stats(w->controller, result);
}

static int informer_metrics(world *w, void *result) {
  return kin_informer_get_metrics(w->informer, result);
}

static int store_fills_target(world *w, void *result) {
  return kin_store_reflector_store(w->store, result);
}

static int queue_fills_target(world *w, void *result) {
  return kin_queue_reflector_store(w->queue, result);
}

static int work_queue_metrics(world *w, void *result) {
  return kin_work_queue_get_metrics(w->work_queue, result);
}

static void on_watch_event(const kin_watch_event *event, void *data) {
  ((world *)data)->watch_event = event->size;
}

static void open_watcher(world *w, bool without_retry) {
  kin_retry_watcher_options watcher = KIN_RETRY_WATCHER_OPTIONS_INIT;
  watcher.resource = &w->resource;
  watcher.resource_version = "1";
  watcher.without_retry = without_retry;
  watcher.on_event = on_watch_event;
  watcher.data = w;
  assert_int_equal(kin_retry_watcher_open(&w->watcher, w->client, &watcher), 0);
}

static void open_all(world *w) {
  assert_int_equal(kin_informer_open(&w->informer, w->client, &w->resource), 0);
  kin_controller_options controller = KIN_CONTROLLER_OPTIONS_INIT;
  controller.resource = &w->resource;
  assert_int_equal(kin_controller_open(&w->controller, w->client, &controller),
                   0);
  w->target = store_target(w->store);
  kin_reflector_options reflector = KIN_REFLECTOR_OPTIONS_INIT;
  reflector.resource = &w->resource;
  reflector.store = &w->target;
  assert_int_equal(kin_reflector_open(&w->reflector, w->client, &reflector), 0);
  open_watcher(w, false);
}

static void on_work(kin_work_queue *queue, const kin_work_item *item,
                    void *data) {
  (void)queue;
  ((world *)data)->work_item = item->size;
}

static void open_work_queue(world *w) {
  kin_work_queue_options options = KIN_WORK_QUEUE_OPTIONS_INIT;
  options.worker = on_work;
  options.data = w;
  assert_int_equal(kin_work_queue_open(&w->work_queue, w->client, &options), 0);
}

static int elector_metrics(world *w, void *result) {
  return kin_leader_elector_get_metrics(w->elector, result);
}

static int recorder_metrics(world *w, void *result) {
  return kin_event_recorder_get_metrics(w->recorder, result);
}

static void on_started(kin_leader_elector *elector, void *data) {
  (void)elector;
  (void)data;
}

static void on_stopped(kin_leader_elector *elector, const kin_leader_stop *stop,
                       void *data) {
  (void)elector;
  ((world *)data)->leader_stop = stop->size;
}

static void open_elector(world *w) {
  kin_leader_elector_options options = KIN_LEADER_ELECTOR_OPTIONS_INIT;
  options.namespace_ = "n";
  options.name = "l";
  options.on_started = on_started;
  options.on_stopped = on_stopped;
  options.data = w;
  assert_int_equal(kin_leader_elector_open(&w->elector, w->client, &options),
                   0);
}

static void open_recorder(world *w) {
  kin_event_recorder_options options = KIN_EVENT_RECORDER_OPTIONS_INIT;
  options.controller = "c";
  assert_int_equal(kin_event_recorder_open(&w->recorder, w->client, &options),
                   0);
}

static void test_leader_stop(void **state) {
  world *w = *state;
  open_elector(w);
  assert_int_equal(kin_leader_elector_start(w->elector), 0);
  assert_int_equal(kin_leader_elector_stop(w->elector), 0);
  run_until(w, &w->leader_stop);
  assert_int_equal(w->leader_stop, sizeof(kin_leader_stop));
}

static void test_results(void **state) {
  world *w = *state;
  open_all(w);
  check_result(w, "informer", informer_status, sizeof(kin_status));
  check_result(w, "reflector", reflector_status, sizeof(kin_status));
  check_result(w, "controller", controller_status, sizeof(kin_status));
  check_result(w, "watcher", watcher_status, sizeof(kin_status));
  check_result(w, "client", client_stats, sizeof(kin_client_stats));
  check_result(w, "stats", controller_stats, sizeof(kin_controller_stats));
  check_result(w, "metrics", informer_metrics, sizeof(kin_informer_metrics));
  open_work_queue(w);
  check_result(w, "work queue", work_queue_metrics,
               sizeof(kin_work_queue_metrics));
  open_elector(w);
  check_result(w, "elector", elector_metrics,
               sizeof(kin_leader_elector_metrics));
  open_recorder(w);
  check_result(w, "recorder", recorder_metrics,
               sizeof(kin_event_recorder_metrics));
  check_result(w, "store", store_fills_target, sizeof(kin_reflector_store));
  check_result(w, "queue", queue_fills_target, sizeof(kin_reflector_store));
  assert_int_equal(kin_controller_close(w->controller, NULL, NULL), 0);
  check_result(w, "closed", controller_status, sizeof(kin_status));
}

/* --- What callbacks are given --------------------------------------------- */

static void on_add(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  assert_true(KIN_HAS(event, kin_event, objects));
  ((world *)data)->event = event->size;
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  event->answer = KIN_STOP;
  ((world *)data)->error_event = event->size;
}

static kin_memory_decision on_max_bytes(kin_informer *informer,
                                        const kin_memory_event *event,
                                        void *data) {
  (void)informer;
  ((world *)data)->memory_event = event->size;
  return KIN_MEMORY_STOP;
}

static void test_memory_event(void **state) {
  world *w = *state;
  w->resource.max_bytes = 1;
  w->resource.on_max_bytes = on_max_bytes;
  w->resource.data = w;
  kin_informer *informer;
  assert_int_equal(kin_informer_open(&informer, w->client, &w->resource), 0);
  assert_int_equal(kin_informer_start(informer), 0);
  run_until(w, &w->memory_event);
  assert_int_equal(w->memory_event, sizeof(kin_memory_event));
}

static void test_informer_callbacks(void **state) {
  world *w = *state;
  w->resource.modify = on_modify;
  w->resource.modify_data = w;
  w->resource.on_error = on_error;
  w->resource.data = w;
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = on_add;
  listener.data = w;
  assert_int_equal(
      kin_informer_follow(NULL, w->client, &w->resource, &listener), 0);
  run_until(w, &w->event);
  kin_feed_error failure = KIN_FEED_ERROR_INIT;
  failure.status = 500;
  assert_int_equal(kin_fake_source_fail_lists(w->fake, &failure), 0);
  assert_int_equal(
      kin_informer_follow(NULL, w->client, &w->resource, &listener), 0);
  run_until(w, &w->error_event);
  assert_int_equal(w->event, sizeof(kin_event));
  assert_int_equal(w->error_event, sizeof(kin_error_event));
  assert_int_equal(w->feed_request, sizeof(kin_feed_request));
  assert_int_equal(w->request_options, sizeof(kin_request_options));
}

static int holds(const kin_watch_event *event, void *data) {
  ((world *)data)->watch_event = event->size;
  return 1;
}

static void on_until(const kin_until_result *result, void *data) {
  world *w = data;
  w->until_event = result->event->size;
  w->until_result = result->size;
}

static void test_until(void **state) {
  world *w = *state;
  const kin_until_condition condition = {holds, w};
  kin_until_options until = KIN_UNTIL_OPTIONS_INIT;
  until.resource = &w->resource;
  until.conditions = &condition;
  until.condition_count = 1;
  until.cb = on_until;
  until.data = w;
  assert_int_equal(kin_until_open_synced(NULL, w->client, &until), 0);
  run_until(w, &w->until_result);
  assert_int_equal(w->until_result, sizeof(kin_until_result));
  assert_int_equal(w->until_event, sizeof(kin_watch_event));
  assert_int_equal(w->watch_event, sizeof(kin_watch_event));
}

static void on_response(const kin_response *response, void *data) {
  ((world *)data)->response = response->size;
}

static void test_response(void **state) {
  world *w = *state;
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  kin_request *request;
  spec.path = "/";
  assert_int_equal(
      kin_request_start(&request, w->client, &spec, on_response, w), 0);
  assert_int_equal(kin_request_cancel(request, UV_ECANCELED), 0);
  run_until(w, &w->response);
  assert_int_equal(w->response, sizeof(kin_response));
}

static void on_found(const kin_discovery_result *result, void *data) {
  world *w = data;
  assert_int_equal(result->code, 0);
  w->discovery_result = result->size;
  w->api_resource = result->resources[0]->size;
}

static void test_discovery(void **state) {
  world *w = *state;
  static const char body[] =
      "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
      "\"apidiscovery.k8s.io/v2\",\"items\":[{\"versions\":[{\"version\":"
      "\"v1\",\"resources\":[{\"resource\":\"pods\",\"responseKind\":{"
      "\"kind\":\"Pod\"}}]}]}]}";
  char bytes[512];
  snprintf(bytes, sizeof bytes,
           "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
           "Content-Length: %zu\r\n\r\n%s",
           sizeof body - 1, body);
  const loop_reply reply = {.bytes = bytes};
  loop_server_open(&w->server, &w->loop, &reply, 1);
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  kin_client *client;
  options.server = w->server.url;
  assert_int_equal(kin_client_open(&client, &w->loop, &options), 0);
  assert_int_equal(kin_discovery_find(NULL, client, "Pod", on_found, w), 0);
  run_until(w, &w->discovery_result);
  assert_int_equal(w->discovery_result, sizeof(kin_discovery_result));
  assert_int_equal(w->api_resource, sizeof(kin_api_resource));
  assert_int_equal(kin_client_close(client, NULL, NULL), 0);
  loop_server_close(&w->server);
}

static void test_retry_watcher(void **state) {
  world *w = *state;
  open_watcher(w, false);
  add(w, "{'metadata':{'name':'b','namespace':'ns','uid':'2'}}");
  run_until(w, &w->watch_event);
  assert_int_equal(w->watch_event, sizeof(kin_watch_event));
}

static void test_retry_watcher_error(void **state) {
  world *w = *state;
  add(w, "{'metadata':{'name':'b','namespace':'ns','uid':'2'}}");
  kin_fake_source_reset_watch(w->fake); /* version 1 is 410 */
  open_watcher(w, true);
  run_until(w, &w->watch_event);
  assert_int_equal(w->watch_event, sizeof(kin_watch_event));
}

static void on_wait(const kin_wait_result *result, void *data) {
  ((world *)data)->wait_result = result->size;
}

static int on_item(const kin_object *item, void *data) {
  (void)item;
  (void)data;
  return 0;
}

static void on_end(const kin_pager_result *result, void *data) {
  ((world *)data)->pager_result = result->size;
}

static void test_wait_and_pager(void **state) {
  world *w = *state;
  kin_wait_options wait = KIN_WAIT_OPTIONS_INIT;
  wait.cb = on_wait;
  wait.data = w;
  assert_int_equal(kin_wait_open(NULL, w->client, &wait), 0);
  run_until(w, &w->wait_result);
  assert_int_equal(w->wait_result, sizeof(kin_wait_result));
  kin_pager *pager;
  kin_pager_options options = KIN_PAGER_OPTIONS_INIT;
  options.resource = &w->resource;
  options.on_item = on_item;
  options.on_end = on_end;
  options.data = w;
  assert_int_equal(kin_pager_open(&pager, w->client, &options), 0);
  run_until(w, &w->pager_result);
  assert_int_equal(w->pager_result, sizeof(kin_pager_result));
}

static void on_change(kin_change_filter *filter, const kin_change *change,
                      void *data) {
  (void)filter;
  ((world *)data)->change = change->size;
}

static void on_changes(kin_change_filter *filter, const kin_changes *changes,
                       void *data) {
  (void)filter;
  ((world *)data)->changes = changes->size;
}

static void test_change_filters(void **state) {
  world *w = *state;
  kin_informer *informer;
  assert_int_equal(kin_informer_open(&informer, w->client, &w->resource), 0);
  kin_change_filter_options options = KIN_CHANGE_FILTER_OPTIONS_INIT;
  options.on_change = on_change;
  options.data = w;
  assert_int_equal(kin_change_filter_open(NULL, informer, &options), 0);
  options.on_change = NULL;
  options.on_changes = on_changes;
  options.debounce_ms = 1;
  assert_int_equal(kin_change_filter_open(NULL, informer, &options), 0);
  assert_int_equal(kin_informer_start(informer), 0);
  run_until(w, &w->change);
  assert_int_equal(w->change, sizeof(kin_change));
  run_until(w, &w->changes);
  assert_int_equal(w->changes, sizeof(kin_changes));
}

static void test_work_item(void **state) {
  world *w = *state;
  open_work_queue(w);
  assert_int_equal(kin_work_queue_add(w->work_queue, (kin_str){"a", 1}), 0);
  run_until(w, &w->work_item);
  assert_int_equal(w->work_item, sizeof(kin_work_item));
}

static int process(kin_queue *queue, kin_queue_item *item, void *data) {
  (void)queue;
  *(size_t *)data = item->size;
  return 0;
}

static void test_queue_item(void **state) {
  world *w = *state;
  size_t size = 0;
  assert_int_equal(
      kin_queue_add(w->queue, kin_fake_source_get(w->fake, "ns/a")), 0);
  assert_int_equal(kin_queue_pop(w->queue, process, &size), 0);
  assert_int_equal(size, sizeof(kin_queue_item));
}

static void on_mutation(const kin_mutation *mutation, void *data) {
  *(size_t *)data = mutation->size;
}

static uint64_t now_ms(void *ctx) {
  (void)ctx;
  return 1;
}

static void test_mutation(void **state) {
  size_t size = 0;
  (void)state;
  kin_mutation_detector_options options = KIN_MUTATION_DETECTOR_OPTIONS_INIT;
  options.now_ms = now_ms;
  options.on_mutation = on_mutation;
  options.data = &size;
  kin_mutation_detector *detector;
  assert_int_equal(kin_mutation_detector_new(&detector, &options), 0);
  kin_object *object = object_of(NULL, "{'metadata':{'name':'a','uid':'1'}}");
  assert_int_equal(kin_mutation_detector_add(detector, object), 0);
  kin_object_view *view;
  assert_int_equal(kin_object_view_open(&view, object), 0);
  *(char *)(uintptr_t)kin_object_view_json(view).data = '[';
  kin_object_view_close(view);
  assert_false(kin_mutation_detector_check(detector, 1));
  assert_int_equal(size, sizeof(kin_mutation));
  kin_object_unref(object);
  kin_mutation_detector_free(detector);
}

int main(void) {
  /* kin_warning: unit/test_warning.c. */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_results, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_informer_callbacks, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_memory_event, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_until, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_response, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_discovery, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_retry_watcher, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_retry_watcher_error, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_wait_and_pager, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_change_filters, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_work_item, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_leader_stop, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_queue_item, set_up, tear_down),
      cmocka_unit_test(test_mutation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
