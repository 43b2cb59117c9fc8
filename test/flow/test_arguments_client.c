/* SPDX-License-Identifier: MIT */

/* NULL and wrong arguments, as in test_arguments.c: the functions of clients
 * and their members, and of the fake source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/discovery.h>
#include <kin/request.h>
#include <kin/toolkit.h>
#include <kin/testing/fake_source.h>

#include "support/idle_callbacks.h"
#include "support/objects.h"
#include "support/refused.h"
#include "support/targets.h"

#define NO_BYTES ((kin_str){NULL, 3})

typedef struct world {
  uv_loop_t loop;
  kin_client *client;
  kin_fake_source *source;
  kin_lister_watcher lister_watcher;
  kin_object *object;
  kin_store *store;
  kin_reflector_store reflector_store;
  kin_informer *informer;
  kin_controller *controller;
  kin_factory *factory;
  kin_reflector *reflector;
  kin_retry_watcher *watcher;

  kin_client_options client_options;
  kin_informer_options informer_options;
  kin_controller_options controller_options;
  kin_factory_options factory_options;
  kin_listener_options listener_options;
  kin_pager_options pager_options;
  kin_reflector_options reflector_options;
  kin_until_options until_options;
  kin_wait_options wait_options;
  kin_retry_watcher_options retry_watcher_options;
  kin_informer_watcher_options informer_watcher_options;
  kin_fake_source_options fake_source_options;
  kin_metrics_source sources[1];

  /* Where functions put what they find. */
  kin_client_stats stats;
  kin_controller_stats controller_stats;
  kin_informer_metrics metrics;
  kin_histogram histogram;
  kin_status status;
  double number;
} world;

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  (void)informer;
  (void)code;
  (void)version;
  (void)data;
}

static void on_response(const kin_response *response, void *data) {
  (void)response;
  (void)data;
}

static void on_found(const kin_discovery_result *result, void *data) {
  (void)result;
  (void)data;
}

static int write_nothing(const char *text, size_t length, void *data) {
  (void)text;
  (void)length;
  (void)data;
  return 0;
}

static void fill_options(world *w) {
  w->client_options = (kin_client_options)KIN_CLIENT_OPTIONS_INIT;
  w->client_options.server = "http://127.0.0.1"; /* never asked */
  w->lister_watcher = kin_fake_source_lister_watcher(w->source);
  w->informer_options = (kin_informer_options)KIN_INFORMER_OPTIONS_INIT;
  w->informer_options.plural = "pods";
  w->informer_options.source = &w->lister_watcher;
  w->controller_options = (kin_controller_options)KIN_CONTROLLER_OPTIONS_INIT;
  w->controller_options.resource = &w->informer_options;
  w->factory_options = (kin_factory_options)KIN_FACTORY_OPTIONS_INIT;
  w->listener_options = (kin_listener_options)KIN_LISTENER_OPTIONS_INIT;
  w->pager_options = (kin_pager_options)KIN_PAGER_OPTIONS_INIT;
  w->pager_options.resource = &w->informer_options;
  w->pager_options.on_item = on_item;
  w->reflector_store = store_target(w->store);
  w->reflector_options = (kin_reflector_options)KIN_REFLECTOR_OPTIONS_INIT;
  w->reflector_options.resource = &w->informer_options;
  w->reflector_options.store = &w->reflector_store;
  w->until_options = (kin_until_options)KIN_UNTIL_OPTIONS_INIT;
  w->until_options.resource = &w->informer_options;
  w->until_options.resource_version = "1";
  w->until_options.cb = on_until;
  w->wait_options = (kin_wait_options)KIN_WAIT_OPTIONS_INIT;
  w->wait_options.cb = on_wait;
  w->retry_watcher_options =
      (kin_retry_watcher_options)KIN_RETRY_WATCHER_OPTIONS_INIT;
  w->retry_watcher_options.resource = &w->informer_options;
  w->retry_watcher_options.resource_version = "1";
  w->retry_watcher_options.on_event = on_watch_event;
  w->informer_watcher_options =
      (kin_informer_watcher_options)KIN_INFORMER_WATCHER_OPTIONS_INIT;
  w->informer_watcher_options.resource = &w->informer_options;
  w->informer_watcher_options.on_event = on_watch_event;
  w->fake_source_options =
      (kin_fake_source_options)KIN_FAKE_SOURCE_OPTIONS_INIT;
}

static int set_up(void **state) {
  static world the_world;
  world *w = &the_world;
  *w = (world){0};
  w->object = object_of(NULL, "{'metadata':{'namespace':'n','name':'a',"
                              "'uid':'u','resourceVersion':'1'}}");
  assert_int_equal(uv_loop_init(&w->loop), 0);
  assert_int_equal(kin_fake_source_new(&w->source, NULL), 0);
  assert_int_equal(kin_store_new(&w->store, NULL), 0);
  fill_options(w);
  assert_int_equal(kin_client_open(&w->client, &w->loop, &w->client_options),
                   0);
  assert_int_equal(
      kin_informer_open(&w->informer, w->client, &w->informer_options), 0);
  assert_int_equal(
      kin_controller_open(&w->controller, w->client, &w->controller_options),
      0);
  assert_int_equal(
      kin_factory_open(&w->factory, w->client, &w->factory_options), 0);
  assert_int_equal(
      kin_reflector_open(&w->reflector, w->client, &w->reflector_options), 0);
  assert_int_equal(
      kin_retry_watcher_open(&w->watcher, w->client, &w->retry_watcher_options),
      0);
  w->sources[0].informer = w->informer;
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  world *w = *state;
  assert_int_equal(kin_client_close(w->client, NULL, NULL), 0);
  uv_run(&w->loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&w->loop), 0);
  kin_store_free(w->store);
  kin_fake_source_free(w->source);
  kin_object_unref(w->object);
  return 0;
}

static void test_clients_and_informers(void **state) {
  world *w = *state;
  REFUSED(kin_client_open(NULL, &w->loop, &w->client_options));
  REFUSED_OUT(kin_client *, kin_client_open(&out, NULL, &w->client_options));
  REFUSED_OUT(kin_client *, kin_client_open(&out, &w->loop, NULL));
  REFUSED(kin_client_close(NULL, NULL, NULL));
  kin_client_ref(NULL);
  kin_client_unref(NULL);
  assert_null(kin_client_loop(NULL));
  assert_string_equal(kin_client_problem(NULL), "");
  REFUSED(kin_client_set_max_bytes(NULL, 1));
  REFUSED(kin_client_get_stats(NULL, &w->stats));
  REFUSED(kin_client_get_stats(w->client, NULL));
  REFUSED(kin_informer_open(NULL, w->client, &w->informer_options));
  REFUSED_OUT(kin_informer *,
              kin_informer_open(&out, NULL, &w->informer_options));
  REFUSED_OUT(kin_informer *, kin_informer_open(&out, w->client, NULL));
  REFUSED(kin_informer_follow(NULL, NULL, &w->informer_options,
                              &w->listener_options));
  REFUSED_OUT(kin_informer *,
              kin_informer_follow(&out, NULL, &w->informer_options,
                                  &w->listener_options));
  REFUSED_OUT(kin_informer *,
              kin_informer_follow(&out, w->client, NULL, &w->listener_options));
  REFUSED_OUT(kin_informer *,
              kin_informer_follow(&out, w->client, &w->informer_options, NULL));
  REFUSED(kin_informer_start(NULL));
  REFUSED(kin_informer_close(NULL, NULL, NULL));
  REFUSED(kin_informer_add_namespace(NULL, ""));
  REFUSED(kin_informer_add_namespace(w->informer, NULL));
  REFUSED(kin_informer_remove_namespace(NULL, ""));
  REFUSED(kin_informer_remove_namespace(w->informer, NULL));
  REFUSED(kin_informer_set_shard(NULL, 0, 1));
  REFUSED(kin_informer_set_shard(w->informer, 1, 1));
  REFUSED(kin_informer_set_max_bytes(NULL, 1));
  assert_null(kin_informer_store(NULL));
  ZERO(kin_informer_has_synced(NULL));
  REFUSED(kin_informer_get_status(NULL, NULL, &w->status));
  REFUSED(kin_informer_get_status(w->informer, NULL, NULL));
  REFUSED(kin_informer_wait_version(NULL, NULL, NULL, 0, on_version, NULL));
  REFUSED(kin_informer_wait_version(w->informer, NULL, "1", 0, NULL, NULL));
  REFUSED(kin_informer_verify(NULL, NULL, 0, on_version, NULL));
  REFUSED(kin_informer_verify(w->informer, NULL, 0, NULL, NULL));
  REFUSED_OUT(kin_listener *,
              kin_informer_listen(NULL, &w->listener_options, &out));
  REFUSED_OUT(kin_listener *, kin_informer_listen(w->informer, NULL, &out));
  kin_listener_close(NULL);
  kin_listener_pause(NULL);
  kin_listener_resume(NULL);
  ZERO(kin_listener_has_synced(NULL));
  assert_string_equal(kin_listener_name(NULL), "");
  ZERO(kin_listener_pending(NULL));
}

static void on_change(kin_change_filter *filter, const kin_change *change,
                      void *data) {
  (void)filter;
  (void)change;
  (void)data;
}

static void test_changes_and_what_is_gone(void **state) {
  world *w = *state;
  kin_change_filter_options changes = KIN_CHANGE_FILTER_OPTIONS_INIT;
  changes.on_change = on_change;
  REFUSED_OUT(kin_change_filter *,
              kin_change_filter_open(&out, NULL, &changes));
  REFUSED_OUT(kin_change_filter *,
              kin_change_filter_open(&out, w->informer, NULL));
  assert_int_equal(kin_change_filter_open(NULL, w->informer, &changes), 0);
  REFUSED(kin_change_filter_close(NULL, NULL, NULL));
  kin_change_filter_flush(NULL);
  ZERO(kin_change_filter_waiting(NULL));
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "name";
  index.pointer = "/metadata/name";
  assert_int_equal(kin_store_add_index(kin_informer_store(w->informer), &index),
                   0);
  kin_lingering_index_options options = KIN_LINGERING_INDEX_OPTIONS_INIT;
  options.name = "name";
  options.linger_ms = 1;
  REFUSED(kin_lingering_index_open(NULL, w->informer, &options));
  REFUSED_OUT(kin_lingering_index *,
              kin_lingering_index_open(&out, NULL, &options));
  REFUSED_OUT(kin_lingering_index *,
              kin_lingering_index_open(&out, w->informer, NULL));
  REFUSED(kin_lingering_index_close(NULL, NULL, NULL));
  kin_lingering_index *lingering;
  kin_lingering_cursor cursor;
  uint64_t gone_ms;
  assert_int_equal(kin_lingering_index_open(&lingering, w->informer, &options),
                   0);
  REFUSED(kin_lingering_index_find(NULL, NO_BYTES, &cursor));
  REFUSED(kin_lingering_index_find(lingering, NO_BYTES, NULL));
  assert_int_equal(kin_lingering_index_find(lingering, NO_BYTES, &cursor), 0);
  assert_null(kin_lingering_index_next(NULL, &cursor, &gone_ms));
  assert_null(kin_lingering_index_next(lingering, NULL, &gone_ms));
  assert_null(kin_lingering_index_next(lingering, &cursor, NULL));
  assert_null(kin_lingering_index_owner(NULL, NO_BYTES, 0, &gone_ms));
  assert_null(kin_lingering_index_owner(lingering, NO_BYTES, 0, NULL));
  ZERO(kin_lingering_index_count(NULL));
}

static void test_what_is_measured(void **state) {
  world *w = *state;
  REFUSED(kin_informer_get_metrics(NULL, &w->metrics));
  REFUSED(kin_informer_get_metrics(w->informer, NULL));
  ZERO(kin_informer_version_gauge(NULL, NULL, &w->number));
  ZERO(kin_informer_version_gauge(w->informer, NULL, NULL));
  kin_client_get_iterations(NULL, &w->histogram);
  kin_client_get_iterations(w->client, NULL);
  REFUSED(kin_metrics_write(w->client, NULL, 1, write_nothing, NULL));
  REFUSED(kin_metrics_write(w->client, w->sources, 1, NULL, NULL));
  w->sources[0].informer = NULL;
  REFUSED(kin_metrics_write(w->client, w->sources, 1, write_nothing, NULL));
}

static void test_factories_and_waits(void **state) {
  world *w = *state;
  REFUSED(kin_factory_open(NULL, w->client, &w->factory_options));
  REFUSED_OUT(kin_factory *, kin_factory_open(&out, NULL, &w->factory_options));
  REFUSED_OUT(kin_factory *, kin_factory_open(&out, w->client, NULL));
  REFUSED_OUT(kin_informer *,
              kin_factory_informer(NULL, NULL, NULL, "pods", &out));
  REFUSED_OUT(kin_informer *,
              kin_factory_informer(w->factory, NULL, NULL, NULL, &out));
  REFUSED(kin_factory_informer(w->factory, NULL, NULL, "pods", NULL));
  REFUSED_OUT(kin_informer *,
              kin_factory_informer_with(NULL, &w->informer_options, &out));
  REFUSED_OUT(kin_informer *,
              kin_factory_informer_with(w->factory, NULL, &out));
  REFUSED(kin_factory_informer_with(w->factory, &w->informer_options, NULL));
  assert_null(kin_factory_informer_id(NULL, w->informer));
  assert_null(kin_factory_informer_id(w->factory, NULL));
  REFUSED(kin_factory_start(NULL));
  REFUSED_OUT(kin_wait *, kin_factory_wait(NULL, 0, on_wait, NULL, &out));
  REFUSED_OUT(kin_wait *, kin_factory_wait(w->factory, 0, NULL, NULL, &out));
  REFUSED(kin_factory_close(NULL, NULL, NULL));
  REFUSED_OUT(kin_wait *, kin_wait_open(&out, NULL, &w->wait_options));
  REFUSED_OUT(kin_wait *, kin_wait_open(&out, w->client, NULL));
  REFUSED(kin_wait_cancel(NULL, KIN_ECLOSED));
  REFUSED_OUT(kin_until *, kin_until_open(&out, NULL, &w->until_options));
  REFUSED_OUT(kin_until *, kin_until_open(&out, w->client, NULL));
  REFUSED_OUT(kin_until *,
              kin_until_open_synced(&out, NULL, &w->until_options));
  REFUSED_OUT(kin_until *, kin_until_open_synced(&out, w->client, NULL));
  REFUSED(kin_until_cancel(NULL, KIN_ECLOSED));
  w->until_options.resource_version = NULL;
  assert_int_equal(kin_until_open_synced(NULL, w->client, &w->until_options),
                   0);
}

static void test_reflectors_and_controllers(void **state) {
  world *w = *state;
  REFUSED(kin_reflector_open(NULL, w->client, &w->reflector_options));
  REFUSED_OUT(kin_reflector *,
              kin_reflector_open(&out, NULL, &w->reflector_options));
  REFUSED_OUT(kin_reflector *, kin_reflector_open(&out, w->client, NULL));
  REFUSED(kin_reflector_start(NULL));
  REFUSED(kin_reflector_resume(NULL));
  REFUSED(kin_reflector_close(NULL, NULL, NULL));
  REFUSED(kin_reflector_get_status(NULL, &w->status));
  REFUSED(kin_reflector_get_status(w->reflector, NULL));
  ZERO(kin_reflector_has_synced(NULL));
  assert_string_equal(kin_reflector_last_sync_version(NULL), "");
  ZERO(kin_reflector_is_last_sync_version_unavailable(NULL));
  assert_string_equal(kin_reflector_name(NULL), "");
  assert_string_equal(kin_reflector_description(NULL), "");

  REFUSED(kin_controller_open(NULL, w->client, &w->controller_options));
  REFUSED_OUT(kin_controller *,
              kin_controller_open(&out, NULL, &w->controller_options));
  REFUSED_OUT(kin_controller *, kin_controller_open(&out, w->client, NULL));
  REFUSED(kin_controller_start(NULL));
  REFUSED(kin_controller_close(NULL, NULL, NULL));
  ZERO(kin_controller_has_synced(NULL));
  assert_string_equal(kin_controller_last_sync_version(NULL), "");
  assert_null(kin_controller_store(NULL));
  assert_null(kin_controller_queue(NULL));
  REFUSED(kin_controller_get_status(NULL, &w->status));
  REFUSED(kin_controller_get_status(w->controller, NULL));
  REFUSED(kin_controller_get_stats(NULL, &w->controller_stats));
  REFUSED(kin_controller_get_stats(w->controller, NULL));
  REFUSED(kin_store_reflector_store(NULL, &w->reflector_store));
  REFUSED(kin_store_reflector_store(w->store, NULL));
  REFUSED(kin_queue_reflector_store(NULL, &w->reflector_store));
  REFUSED(kin_queue_reflector_store(kin_controller_queue(w->controller), NULL));
  w->reflector_store = (kin_reflector_store)KIN_REFLECTOR_STORE_INIT;
  REFUSED_OUT(kin_reflector *,
              kin_reflector_open(&out, w->client, &w->reflector_options));
}

static void test_watchers_and_pagers(void **state) {
  world *w = *state;
  REFUSED(kin_retry_watcher_open(NULL, w->client, &w->retry_watcher_options));
  REFUSED_OUT(kin_retry_watcher *,
              kin_retry_watcher_open(&out, NULL, &w->retry_watcher_options));
  REFUSED_OUT(kin_retry_watcher *,
              kin_retry_watcher_open(&out, w->client, NULL));
  REFUSED(kin_retry_watcher_close(NULL, NULL, NULL));
  kin_retry_watcher_pause(NULL);
  kin_retry_watcher_resume(NULL);
  assert_string_equal(kin_retry_watcher_resource_version(NULL), "");
  REFUSED(kin_retry_watcher_get_status(NULL, &w->status));
  REFUSED(kin_retry_watcher_get_status(w->watcher, NULL));
  REFUSED(
      kin_informer_watcher_open(NULL, w->client, &w->informer_watcher_options));
  REFUSED_OUT(
      kin_informer_watcher *,
      kin_informer_watcher_open(&out, NULL, &w->informer_watcher_options));
  REFUSED_OUT(kin_informer_watcher *,
              kin_informer_watcher_open(&out, w->client, NULL));
  REFUSED(kin_informer_watcher_close(NULL, NULL, NULL));
  kin_informer_watcher_pause(NULL);
  kin_informer_watcher_resume(NULL);
  assert_null(kin_informer_watcher_informer(NULL));
  kin_request_spec request_spec = KIN_REQUEST_SPEC_INIT;
  request_spec.path = "/";
  REFUSED_OUT(kin_request *,
              kin_request_start(&out, NULL, &request_spec, on_response, NULL));
  REFUSED_OUT(kin_request *,
              kin_request_start(&out, w->client, NULL, on_response, NULL));
  REFUSED_OUT(kin_request *,
              kin_request_start(&out, w->client, &request_spec, NULL, NULL));
  assert_int_equal(
      kin_request_start(NULL, w->client, &request_spec, on_response, NULL), 0);
  REFUSED(kin_request_cancel(NULL, UV_ECANCELED));
  kin_response response = {.size = sizeof response, .content_type = ""};
  REFUSED(kin_response_object(NULL, NULL, &response));
  REFUSED_OUT(kin_object *, kin_response_object(&out, NULL, NULL));
  REFUSED_OUT(kin_discovery *,
              kin_discovery_find(&out, NULL, "pods", on_found, NULL));
  REFUSED_OUT(kin_discovery *,
              kin_discovery_find(&out, w->client, NULL, on_found, NULL));
  REFUSED_OUT(kin_discovery *,
              kin_discovery_find(&out, w->client, "pods", NULL, NULL));
  assert_int_equal(kin_discovery_find(NULL, w->client, "pods", on_found, NULL),
                   0);
  REFUSED_OUT(
      kin_discovery *,
      kin_discovery_list(&out, NULL, KIN_DISCOVERY_PREFERRED, on_found, NULL));
  REFUSED_OUT(
      kin_discovery *,
      kin_discovery_list(&out, w->client, KIN_DISCOVERY_PREFERRED, NULL, NULL));
  assert_int_equal(kin_discovery_list(NULL, w->client,
                                      KIN_DISCOVERY_ALL_VERSIONS, on_found,
                                      NULL),
                   0);
  assert_false(kin_api_resource_has_verb(NULL, "list"));
  REFUSED(kin_discovery_cancel(NULL, UV_ECANCELED));
  REFUSED(kin_discovery_refresh(NULL));
  REFUSED(kin_discovery_on_error(NULL, NULL, NULL));
  kin_discovery_result found = {.size = sizeof found, .code = KIN_ENOENT};
  kin_informer_options any = KIN_INFORMER_OPTIONS_INIT;
  REFUSED(kin_discovery_open_informer(NULL, w->client, &found, &any));
  REFUSED_OUT(kin_informer *,
              kin_discovery_open_informer(&out, NULL, &found, &any));
  REFUSED_OUT(kin_informer *,
              kin_discovery_open_informer(&out, w->client, NULL, &any));
  REFUSED_OUT(kin_informer *,
              kin_discovery_open_informer(&out, w->client, &found, NULL));
  REFUSED(kin_pager_open(NULL, w->client, &w->pager_options));
  REFUSED_OUT(kin_pager *, kin_pager_open(&out, NULL, &w->pager_options));
  REFUSED_OUT(kin_pager *, kin_pager_open(&out, w->client, NULL));
  REFUSED(kin_pager_close(NULL, NULL, NULL));
  kin_pager_pause(NULL);
  kin_pager_resume(NULL);
}

static void test_feeds(void **state) {
  world *w = *state;
  const kin_str version = {"1", 1};
  REFUSED(kin_feed_open(NULL));
  REFUSED(kin_feed_received(NULL, 1));
  REFUSED(kin_feed_item(NULL, w->object));
  REFUSED(kin_feed_list_end(NULL, NULL, NULL));
  REFUSED(kin_feed_event(NULL, KIN_WATCH_ADDED, w->object));
  REFUSED(kin_feed_bookmark(NULL, version, false));
  REFUSED(kin_feed_watch_end(NULL));
  REFUSED(kin_feed_fail(NULL, NULL, false));
}

static void test_fake_sources(void **state) {
  world *w = *state;
  REFUSED(kin_fake_source_new(NULL, &w->fake_source_options));
  kin_fake_source_free(NULL);
  REFUSED(kin_fake_source_add(NULL, w->object));
  REFUSED(kin_fake_source_add(w->source, NULL));
  REFUSED(kin_fake_source_modify(NULL, w->object));
  REFUSED(kin_fake_source_modify(w->source, NULL));
  REFUSED(kin_fake_source_delete(NULL, w->object));
  REFUSED(kin_fake_source_delete(w->source, NULL));
  REFUSED(kin_fake_source_change(NULL, KIN_WATCH_ADDED, w->object, false));
  REFUSED(kin_fake_source_change(w->source, KIN_WATCH_ADDED, NULL, false));
  kin_fake_source_bookmark(NULL);
  kin_fake_source_end_watches(NULL);
  kin_fake_source_reset_watch(NULL);
  REFUSED(kin_fake_source_fail_lists(NULL, NULL));
  ZERO(kin_fake_source_step(NULL));
  ZERO(kin_fake_source_run(NULL));
  assert_null(kin_fake_source_get(NULL, "app"));
  assert_null(kin_fake_source_get(w->source, NULL));
  ZERO(kin_fake_source_count(NULL));
  ZERO(kin_fake_source_version(NULL));
  ZERO(kin_fake_source_lists(NULL));
  ZERO(kin_fake_source_watches(NULL));
  ZERO(kin_fake_source_streams(NULL));
  ZERO(kin_fake_source_open_watches(NULL));
  w->lister_watcher = kin_fake_source_lister_watcher(NULL);
  REFUSED_OUT(kin_informer *,
              kin_informer_open(&out, w->client, &w->informer_options));
}

/* With good arguments the public function does what its core does. */
static void test_follows_on_a_client(void **state) {
  world *w = *state;
  kin_informer *informer = NULL;
  assert_int_equal(kin_informer_follow(&informer, w->client,
                                       &w->informer_options,
                                       &w->listener_options),
                   0);
  assert_non_null(informer);
  assert_int_equal(kin_informer_start(informer), KIN_EALREADY);
  assert_int_equal(kin_informer_follow(NULL, w->client, &w->informer_options,
                                       &w->listener_options),
                   0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_follows_on_a_client, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_clients_and_informers, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_changes_and_what_is_gone, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_what_is_measured, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_factories_and_waits, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_reflectors_and_controllers, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_watchers_and_pagers, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_feeds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_fake_sources, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("arguments of what lives on a client",
                                     tests, NULL, NULL);
}
