/* SPDX-License-Identifier: MIT */

/* Each sized struct of the public headers, given by a program that is older or
 * newer than the library: too small is KIN_EINVAL, larger is right as long as
 * nothing is set that the library does not have, else KIN_ENOTSUP. Where there
 * is a client, kin_client_problem names the struct. check_arguments.py looks
 * for structs that are missing here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/controllers.h>
#include <kin/request.h>
#include <kin/toolkit.h>
#include <kin/testing/fake_source.h>

#include "support/idle_callbacks.h"
#include "support/targets.h"

typedef struct world {
  uv_loop_t loop;
  kin_client *client;
  kin_store *store;
  kin_fake_source *source;
  kin_informer *informer;
  kin_factory *factory;
  kin_lister_watcher lister_watcher;
  kin_reflector_store reflector_store;
  kin_informer_options resource;
  kin_deltas no_deltas;
  kin_feed *feed; /* of the last request to open_feed */
} world;

/* Something that is given `options`; gives what is made to its close or free
 * function. */
typedef int (*use_fn)(world *w, const void *options);

/* --- Structs of a client -------------------------------------------------- */

static int use_client(world *w, const void *options) {
  kin_client *made;
  int err = kin_client_open(&made, &w->loop, options);
  return err == 0 ? kin_client_close(made, NULL, NULL) : err;
}

static int use_exec(world *w, const void *options) {
  kin_client_options o = KIN_CLIENT_OPTIONS_INIT;
  o.server = "https://127.0.0.1";
  o.exec = options;
  return use_client(w, &o);
}

static int use_informer(world *w, const void *options) {
  kin_informer *made;
  int err = kin_informer_open(&made, w->client, options);
  return err == 0 ? kin_informer_close(made, NULL, NULL) : err;
}

static int use_factory_informer(world *w, const void *options) {
  kin_informer *made;
  return kin_factory_informer_with(w->factory, options, &made);
}

static int use_lister_watcher(world *w, const void *options) {
  kin_informer_options o = w->resource;
  o.source = options;
  return use_informer(w, &o);
}

static int use_listener(world *w, const void *options) {
  return kin_informer_listen(w->informer, options, NULL);
}

static void on_change(kin_change_filter *filter, const kin_change *change,
                      void *data) {
  (void)filter;
  (void)change;
  (void)data;
}

static int use_change_filter(world *w, const void *options) {
  return kin_change_filter_open(NULL, w->informer, options);
}

/* The index may be there already. */
static int use_lingering_index(world *w, const void *options) {
  kin_index_options index = KIN_INDEX_OPTIONS_INIT;
  index.name = "lingering";
  index.pointer = "/metadata/name";
  (void)kin_store_add_index(kin_informer_store(w->informer), &index);
  kin_lingering_index *made;
  return kin_lingering_index_open(&made, w->informer, options);
}

static int use_controller(world *w, const void *options) {
  kin_controller *made;
  int err = kin_controller_open(&made, w->client, options);
  return err == 0 ? kin_controller_close(made, NULL, NULL) : err;
}

static int use_handlers(world *w, const void *options) {
  kin_controller_options o = KIN_CONTROLLER_OPTIONS_INIT;
  o.resource = &w->resource;
  o.handlers = options;
  return use_controller(w, &o);
}

static int use_factory(world *w, const void *options) {
  kin_factory *made;
  int err = kin_factory_open(&made, w->client, options);
  return err == 0 ? kin_factory_close(made, NULL, NULL) : err;
}

static int use_pager(world *w, const void *options) {
  kin_pager *made;
  int err = kin_pager_open(&made, w->client, options);
  return err == 0 ? kin_pager_close(made, NULL, NULL) : err;
}

static int use_reflector(world *w, const void *options) {
  kin_reflector *made;
  int err = kin_reflector_open(&made, w->client, options);
  return err == 0 ? kin_reflector_close(made, NULL, NULL) : err;
}

static int use_reflector_store(world *w, const void *options) {
  kin_reflector_options o = KIN_REFLECTOR_OPTIONS_INIT;
  o.resource = &w->resource;
  o.store = options;
  return use_reflector(w, &o);
}

static int use_elector(world *w, const void *options) {
  kin_leader_elector *elector;
  return kin_leader_elector_open(&elector, w->client, options);
}

static int use_candidate(world *w, const void *options) {
  kin_lease_candidate *candidate;
  return kin_lease_candidate_open(&candidate, w->client, options);
}

static int use_recorder(world *w, const void *options) {
  kin_event_recorder *recorder;
  return kin_event_recorder_open(&recorder, w->client, options);
}

static int use_until(world *w, const void *options) {
  return kin_until_open(NULL, w->client,
                        options); /* without a condition it is over by itself */
}

static void on_response(const kin_response *response, void *data) {
  (void)response;
  (void)data;
}

static int use_request(world *w, const void *options) {
  kin_request *made;
  int err = kin_request_start(&made, w->client, options, on_response, NULL);
  return err == 0 ? kin_request_cancel(made, UV_ECANCELED) : err;
}

static int use_wait(world *w, const void *options) {
  return kin_wait_open(NULL, w->client, options);
}

static int use_work_queue(world *w, const void *options) {
  kin_work_queue *made;
  int err = kin_work_queue_open(&made, w->client, options);
  return err == 0 ? kin_work_queue_close(made, NULL, NULL) : err;
}

static int use_follow(world *w, const void *options) {
  kin_work_queue_options o = KIN_WORK_QUEUE_OPTIONS_INIT;
  o.worker = on_work;
  kin_work_queue *made;
  assert_int_equal(kin_work_queue_open(&made, w->client, &o), 0);
  int err = kin_work_queue_follow(made, w->informer, options);
  assert_int_equal(kin_work_queue_close(made, NULL, NULL), 0);
  return err;
}

static int use_retry_watcher(world *w, const void *options) {
  kin_retry_watcher *made;
  int err = kin_retry_watcher_open(&made, w->client, options);
  return err == 0 ? kin_retry_watcher_close(made, NULL, NULL) : err;
}

static int use_informer_watcher(world *w, const void *options) {
  kin_informer_watcher *made;
  int err = kin_informer_watcher_open(&made, w->client, options);
  return err == 0 ? kin_informer_watcher_close(made, NULL, NULL) : err;
}

/* --- Structs of things that need no client -------------------------------- */

static int use_store(world *w, const void *options) {
  (void)w;
  kin_store *made;
  int err = kin_store_new(&made, options);
  kin_store_free(made);
  return err;
}

/* The name is in use the second time; then the size was right. */
static int use_index(world *w, const void *options) {
  int err = kin_store_add_index(w->store, options);
  return err == KIN_EEXIST ? 0 : err;
}

static int use_process_handlers(world *w, const void *options) {
  return kin_process_deltas(w->store, options, &w->no_deltas, false);
}

static int use_queue(world *w, const void *options) {
  (void)w;
  kin_queue *made;
  int err = kin_queue_new_delta(&made, options);
  kin_queue_free(made);
  return err;
}

static int use_expiring_store(world *w, const void *options) {
  (void)w;
  kin_expiring_store *made;
  int err = kin_expiring_store_new(&made, options);
  kin_expiring_store_free(made);
  return err;
}

static int use_push_store(world *w, const void *options) {
  (void)w;
  kin_push_store *made;
  int err = kin_push_store_new(&made, options);
  kin_push_store_free(made);
  return err;
}

static int use_mutation_cache(world *w, const void *options) {
  (void)w;
  kin_mutation_cache *made;
  int err = kin_mutation_cache_new(&made, options);
  kin_mutation_cache_free(made);
  return err;
}

static int use_mutation_detector(world *w, const void *options) {
  (void)w;
  kin_mutation_detector *made;
  int err = kin_mutation_detector_new(&made, options);
  kin_mutation_detector_free(made);
  return err;
}

static int use_heap(world *w, const void *options) {
  (void)w;
  kin_heap *made;
  int err = kin_heap_new(&made, options);
  kin_heap_free(made);
  return err;
}

static int use_lazy(world *w, const void *options) {
  (void)w;
  kin_lazy *made;
  int err = kin_lazy_new(&made, options);
  kin_lazy_free(made);
  return err;
}

static int use_rate_limiter(world *w, const void *options) {
  (void)w;
  kin_rate_limiter *made;
  int err = kin_rate_limiter_new(&made, NULL, options);
  kin_rate_limiter_free(made);
  return err;
}

static int use_work_queue_alone(world *w, const void *options) {
  (void)w;
  kin_work_queue *made;
  int err = kin_work_queue_new(&made, options);
  kin_work_queue_free(made);
  return err;
}

static int use_fake_source(world *w, const void *options) {
  (void)w;
  kin_fake_source *made;
  int err = kin_fake_source_new(&made, options);
  kin_fake_source_free(made);
  return err;
}

static int use_fake_error(world *w, const void *options) {
  return kin_fake_source_fail_lists(w->source, options);
}

static int open_feed(void *ctx, const kin_feed_request *request, kin_feed *feed,
                     void **out) {
  (void)request;
  world *w = ctx;
  w->feed = feed;
  *out = w;
  return 0;
}

static void cancel_feed(void *ctx, void *answer) {
  (void)ctx;
  (void)answer;
}

static int use_feed_error(world *w, const void *options) {
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  source.open = open_feed;
  source.cancel = cancel_feed;
  source.ctx = w;
  kin_informer_options o = w->resource;
  o.source = &source;
  kin_informer *made;
  assert_int_equal(kin_informer_open(&made, w->client, &o), 0);
  assert_int_equal(kin_informer_start(made), 0);
  int err = kin_feed_fail(w->feed, options, false);
  assert_int_equal(kin_informer_close(made, NULL, NULL), 0);
  return err;
}

/* --- The world ------------------------------------------------------------ */

static int set_up(void **state) {
  static world the_world;
  world *w = &the_world;
  *w = (world){.resource = KIN_INFORMER_OPTIONS_INIT};
  assert_int_equal(uv_loop_init(&w->loop), 0);
  assert_int_equal(kin_store_new(&w->store, NULL), 0);
  assert_int_equal(kin_fake_source_new(&w->source, NULL), 0);
  w->lister_watcher = kin_fake_source_lister_watcher(w->source);
  w->reflector_store = store_target(w->store);
  w->resource.plural = "pods";
  w->resource.source = &w->lister_watcher;
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  client.server = "http://127.0.0.1"; /* never asked */
  assert_int_equal(kin_client_open(&w->client, &w->loop, &client), 0);
  assert_int_equal(kin_informer_open(&w->informer, w->client, &w->resource), 0);
  kin_factory_options factory = KIN_FACTORY_OPTIONS_INIT;
  assert_int_equal(kin_factory_open(&w->factory, w->client, &factory), 0);
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
  return 0;
}

/* `options` are right, of `size` bytes, and of a type that `name` is. A problem
 * is said on w->client if `is_told`. */
static void check_sizes(world *w, const char *name, use_fn use,
                        const void *options, size_t size, bool is_told) {
  enum { TAIL = 24 };
  union {
    max_align_t alignment;
    unsigned char bytes[2048];
  } given = {.bytes = {0}};
  assert_in_range(size + TAIL, 1, sizeof given);
  memcpy(given.bytes, options, size);
  const struct {
    size_t size;
    unsigned char last; /* of the tail */
    int code;
  } cases[] = {{size, 1, 0},
               {size + TAIL, 0, 0},
               {size + TAIL, 1, KIN_ENOTSUP},
               {sizeof(size_t), 0, KIN_EINVAL},
               {0, 0, KIN_EINVAL},
               {size, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    memcpy(given.bytes, &cases[i].size, sizeof cases[i].size);
    given.bytes[size + TAIL - 1] = cases[i].last;
    int code = use(w, &given);
    if (code != cases[i].code) {
      fail_msg("%s, case %zu: %d instead of %d", name, i, code, cases[i].code);
    }
    const char *problem = kin_client_problem(w->client);
    bool is_named = strstr(problem, name) != NULL;
    if (is_told && is_named != (code != 0)) {
      fail_msg("%s, case %zu: \"%s\"", name, i, problem);
    }
  }
}

#define CHECK(type, use, is_told, ...)                                         \
  do {                                                                         \
    type options = __VA_ARGS__;                                                \
    check_sizes(w, #type, use, &options, sizeof options, is_told);             \
  } while (0)

static void test_of_informers(void **state) {
  world *w = *state;
  check_sizes(w, "kin_informer_options", use_informer, &w->resource,
              sizeof(kin_informer_options), true);
  check_sizes(w, "kin_informer_options", use_factory_informer, &w->resource,
              sizeof(kin_informer_options), true);
  check_sizes(w, "kin_lister_watcher", use_lister_watcher, &w->lister_watcher,
              sizeof(kin_lister_watcher), true);
  CHECK(kin_listener_options, use_listener, true, KIN_LISTENER_OPTIONS_INIT);
  CHECK(kin_change_filter_options, use_change_filter, true,
        {.size = sizeof options, .on_change = on_change});
  CHECK(kin_lingering_index_options, use_lingering_index, true,
        {.size = sizeof options, .name = "lingering", .linger_ms = 1});
  CHECK(kin_factory_options, use_factory, true, KIN_FACTORY_OPTIONS_INIT);
  CHECK(kin_wait_options, use_wait, true,
        {.size = sizeof options, .cb = on_wait});
}

static void test_of_the_rest_of_a_client(void **state) {
  world *w = *state;
  const kin_informer_options *resource = &w->resource;
  CHECK(kin_controller_options, use_controller, true,
        {.size = sizeof options, .resource = resource});
  CHECK(kin_process_handlers, use_handlers, true, KIN_PROCESS_HANDLERS_INIT);
  CHECK(kin_pager_options, use_pager, true,
        {.size = sizeof options, .resource = resource, .on_item = on_item});
  CHECK(kin_reflector_options, use_reflector, true,
        {.size = sizeof options,
         .resource = resource,
         .store = &w->reflector_store});
  check_sizes(w, "kin_reflector_store", use_reflector_store,
              &w->reflector_store, sizeof(kin_reflector_store), true);
  CHECK(kin_request_spec, use_request, true,
        {.size = sizeof options, .path = "/"});
  CHECK(kin_leader_elector_options, use_elector, true,
        {.size = sizeof options,
         .namespace_ = "n",
         .name = "l",
         .on_started = on_started,
         .on_stopped = on_stopped});
  CHECK(kin_lease_candidate_options, use_candidate, true,
        {.size = sizeof options,
         .namespace_ = "n",
         .name = "a",
         .lease_name = "l",
         .binary_version = "1.0.0",
         .emulation_version = "1.0.0"});
  CHECK(kin_event_recorder_options, use_recorder, true,
        {.size = sizeof options, .controller = "c"});
  CHECK(kin_until_options, use_until, true,
        {.size = sizeof options,
         .resource = resource,
         .resource_version = "1",
         .cb = on_until});
  CHECK(kin_retry_watcher_options, use_retry_watcher, true,
        {.size = sizeof options,
         .resource = resource,
         .resource_version = "1",
         .on_event = on_watch_event});
  CHECK(kin_informer_watcher_options, use_informer_watcher, true,
        {.size = sizeof options,
         .resource = resource,
         .on_event = on_watch_event});
  CHECK(kin_work_queue_options, use_work_queue, true,
        {.size = sizeof options, .worker = on_work});
  CHECK(kin_work_follow_options, use_follow, true,
        KIN_WORK_FOLLOW_OPTIONS_INIT);
}

static void test_without_client(void **state) {
  world *w = *state;
  CHECK(kin_store_options, use_store, false, KIN_STORE_OPTIONS_INIT);
  CHECK(kin_index_options, use_index, false,
        {.size = sizeof options,
         .name = "index",
         .pointer = "/metadata/namespace"});
  CHECK(kin_process_handlers, use_process_handlers, false,
        KIN_PROCESS_HANDLERS_INIT);
  CHECK(kin_queue_options, use_queue, false, KIN_QUEUE_OPTIONS_INIT);
  CHECK(kin_expiring_store_options, use_expiring_store, false,
        {.size = sizeof options, .now_ms = now_ms});
  CHECK(kin_push_store_options, use_push_store, false,
        {.size = sizeof options, .push = push});
  CHECK(kin_mutation_cache_options, use_mutation_cache, false,
        {.size = sizeof options, .store = w->store, .now_ms = now_ms});
  CHECK(kin_mutation_detector_options, use_mutation_detector, false,
        {.size = sizeof options, .now_ms = now_ms, .on_mutation = on_mutation});
  CHECK(kin_heap_options, use_heap, false,
        {.size = sizeof options, .less = less});
  CHECK(kin_lazy_options, use_lazy, false,
        {.size = sizeof options, .evaluate = evaluate});
  CHECK(kin_rate_limiter_callbacks, use_rate_limiter, false,
        {.size = sizeof options, .when_ms = wait_a_moment});
  CHECK(kin_work_queue_options, use_work_queue_alone, false,
        KIN_WORK_QUEUE_OPTIONS_INIT);
  CHECK(kin_fake_source_options, use_fake_source, false,
        KIN_FAKE_SOURCE_OPTIONS_INIT);
  CHECK(kin_feed_error, use_fake_error, false, KIN_FEED_ERROR_INIT);
  CHECK(kin_feed_error, use_feed_error, false, KIN_FEED_ERROR_INIT);
}

/* A client tells in its options. Those that are too small hold no place. */
static void test_of_clients(void **state) {
  world *w = *state;
  CHECK(kin_client_options, use_client, false,
        {.size = sizeof options, .server = "http://127.0.0.1"});
  CHECK(kin_exec_plugin, use_exec, false,
        {.size = sizeof options,
         .api_version = "client.authentication.k8s.io/v1beta1",
         .command = "plugin"});
  char problem[256] = "";
  struct {
    kin_client_options known;
    void *more;
  } newer = {.known = KIN_CLIENT_OPTIONS_INIT, .more = w};
  newer.known.size = sizeof newer;
  newer.known.problem = problem;
  newer.known.problem_size = sizeof problem;
  assert_int_equal(use_client(w, &newer), KIN_ENOTSUP);
  assert_non_null(strstr(problem, "kin_client_options"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_of_informers, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_of_the_rest_of_a_client, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_without_client, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_of_clients, set_up, tear_down),
  };
  return cmocka_run_group_tests_name("sizes of option structs", tests, NULL,
                                     NULL);
}
