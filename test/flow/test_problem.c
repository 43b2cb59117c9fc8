/* SPDX-License-Identifier: MIT */

/* A program is told which of its options is wrong, and its value: by
 * kin_client_options.problem, by kin_client_problem, and by an ERROR in the
 * log, in the same words; never with what may be a secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

typedef struct world {
  uv_loop_t loop;
  kin_client *client;
  kin_client_options options;
  char line[512]; /* the last one of the log, of level ERROR */
  int lines;
  char problem[256];
} world;

static void on_log(kin_log_level level, const char *line, void *data) {
  world *w = data;
  if (level == KIN_LOG_ERROR) {
    snprintf(w->line, sizeof w->line, "%s", line);
    w->lines++;
  }
}

static void init_world(world *w) {
  *w = (world){.options = KIN_CLIENT_OPTIONS_INIT};
  assert_int_equal(uv_loop_init(&w->loop), 0);
  w->options.server = "https://127.0.0.1:1";
  w->options.log = on_log;
  w->options.log_data = w;
  w->options.problem = w->problem;
  w->options.problem_size = sizeof w->problem;
}

static void open_world(world *w) {
  init_world(w);
  strcpy(w->problem, "of an earlier call");
  assert_int_equal(kin_client_open(&w->client, &w->loop, &w->options), 0);
  assert_string_equal(w->problem, "");
  assert_string_equal(kin_client_problem(w->client), "");
}

static void finish_world(world *w) {
  if (w->client != NULL) {
    assert_int_equal(kin_client_close(w->client, NULL, NULL), 0);
    uv_run(&w->loop, UV_RUN_DEFAULT);
  }
  assert_int_equal(uv_loop_close(&w->loop), 0);
}

/* The client's options are refused with words that have `part`. */
static void assert_refused(world *w, int code, const char *part) {
  w->lines = 0;
  w->problem[0] = '\0';
  assert_int_equal(kin_client_open(&w->client, &w->loop, &w->options), code);
  assert_null(w->client);
  if (strstr(w->problem, part) == NULL || strstr(w->problem, "hunter2")) {
    fail_msg("\"%s\" instead of \"%s\"", w->problem, part);
  }
  assert_string_equal(w->line, w->problem);
  assert_int_equal(w->lines, 1);
}

#define REFUSES_VALUE(member, value, code, part)                               \
  do {                                                                         \
    world w;                                                                   \
    init_world(&w);                                                            \
    w.options.member = value;                                                  \
    assert_refused(&w, code, part);                                            \
    finish_world(&w);                                                          \
  } while (0)

#define REFUSES(member, value, part)                                           \
  REFUSES_VALUE(member, value, KIN_EINVAL, part)

static void test_of_clients(void **state) {
  (void)state;
  REFUSES(server, NULL, "server: is required");
  REFUSES_VALUE(server, "127.0.0.1:6443", KIN_EURL,
                "server: \"127.0.0.1:6443\"");
  REFUSES_VALUE(server, "https://me:hunter2@host", KIN_EURL,
                "user information");
  REFUSES(connect_timeout_ms, 3600001, "connect_timeout_ms: 3600001");
  REFUSES(response_timeout_ms, 3600001, "response_timeout_ms: 3600001");
  REFUSES(budget_us, 1000001, "budget_us: 1000001");
  REFUSES(mutation_check_ms, 3600001, "mutation_check_ms: 3600001");
  REFUSES(max_lists, 65537, "max_lists: 65537");
  REFUSES(watch_read_delay_ms, 1001, "watch_read_delay_ms: 1001");
  REFUSES(qps_milli, UINT32_MAX, "qps_milli: 4294967295");
  REFUSES(burst, 5, "burst: needs qps_milli");
  REFUSES(mutation_check, (kin_mutation_check)9, "mutation_check: ");
  REFUSES(mutation_check, (kin_mutation_check)-1, "mutation_check: ");
  REFUSES(log_level, (kin_log_level)9, "log_level: ");
  REFUSES(user_agent, "", "user_agent: has 0 bytes");
  REFUSES(user_agent, "a\nb", "user_agent: has a control character");
  REFUSES(token, "hunter2 hunter2", "token");
  REFUSES(token_file, "", "token_file");
  REFUSES(client_key_data, "hunter2", "tls: ");
  REFUSES(impersonate_uid, "hunter2", "impersonation: ");
}

static void test_of_contradictions(void **state) {
  (void)state;
  world w;
  init_world(&w);
  w.options.server = "http://127.0.0.1";
  w.options.token = "hunter2";
  assert_refused(&w, KIN_EINVAL, "need an https:// server");
  w.options.server = "https://127.0.0.1";
  w.options.insecure_skip_tls_verify = true;
  w.options.certificate_authority_file = "ca.crt";
  assert_refused(&w, KIN_EINVAL, "tls: ");
  kin_allocator half = {0};
  w.options.certificate_authority_file = NULL;
  w.options.allocator = &half;
  assert_refused(&w, KIN_EINVAL, "allocator: ");
  finish_world(&w);
}

/* A buffer that is too small, and none at all. */
static void test_room(void **state) {
  (void)state;
  world w;
  init_world(&w);
  w.options.server = NULL;
  w.options.problem_size = 8;
  memset(w.problem, 'x', sizeof w.problem);
  assert_int_equal(kin_client_open(&w.client, &w.loop, &w.options), KIN_EINVAL);
  assert_string_equal(w.problem, "server:");
  assert_int_equal(w.problem[8], 'x');
  w.options.problem_size = 0;
  assert_int_equal(kin_client_open(&w.client, &w.loop, &w.options), KIN_EINVAL);
  assert_string_equal(w.problem, "server:");
  w.options.problem = NULL;
  assert_int_equal(kin_client_open(&w.client, &w.loop, &w.options), KIN_EINVAL);
  finish_world(&w);
}

/* Options that are too small. No field of them is read if they end before the
 * field for the text. */
static void test_of_small_options(void **state) {
  (void)state;
  world w;
  init_world(&w);
  size_t place = offsetof(kin_client_options, problem_size);
  w.options.size = place + sizeof w.options.problem_size;
  char part[64];
  snprintf(part, sizeof part, "kin_client_options: size is %zu, not at least",
           w.options.size);
  assert_refused(&w, KIN_EINVAL, part);
  const size_t sizes[] = {0, sizeof(size_t), place,
                          place + sizeof w.options.problem_size - 1};
  w.lines = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    w.options.size = sizes[i];
    strcpy(w.problem, "untouched");
    assert_int_equal(kin_client_open(&w.client, &w.loop, &w.options),
                     KIN_EINVAL);
    assert_string_equal(w.problem, "untouched");
  }
  assert_int_equal(w.lines, 0);
  finish_world(&w);
}

static void *no_memory(void *ctx, size_t size) {
  (void)ctx;
  (void)size;
  return NULL;
}

static void *no_more_memory(void *ctx, void *ptr, size_t old_size,
                            size_t size) {
  (void)ptr;
  (void)old_size;
  return no_memory(ctx, size);
}

static void never(void *ctx, void *ptr) {
  (void)ctx;
  fail_msg("%p was never given out", ptr);
}

/* Nothing is wrong with the options: no text, and no line in the log. */
static void test_of_other_failures(void **state) {
  (void)state;
  world w;
  init_world(&w);
  strcpy(w.problem, "of an earlier call");
  assert_int_equal(kin_client_open(&w.client, NULL, &w.options), KIN_EINVAL);
  assert_string_equal(w.problem, "");
  strcpy(w.problem, "of an earlier call");
  assert_int_equal(kin_client_open(NULL, &w.loop, &w.options), KIN_EINVAL);
  assert_string_equal(w.problem, "");
  kin_allocator none = {NULL, no_memory, no_more_memory, never};
  w.options.allocator = &none;
  strcpy(w.problem, "of an earlier call");
  assert_int_equal(kin_client_open(&w.client, &w.loop, &w.options), KIN_ENOMEM);
  assert_string_equal(w.problem, "");
  assert_int_equal(w.lines, 0);
  finish_world(&w);
}

/* 256 bytes are enough, for however long a value. */
static void test_long_values(void **state) {
  (void)state;
  static char longest[70000];
  memset(longest, '/', sizeof longest - 1);
  world w;
  init_world(&w);
  char problem[512];
  memset(problem, 'x', sizeof problem);
  w.options.problem = problem;
  w.options.problem_size = sizeof problem;
  w.options.server = longest;
  assert_int_equal(kin_client_open(&w.client, &w.loop, &w.options), KIN_EURL);
  assert_true(strlen(problem) < 256);
  w.options.server = "https://127.0.0.1:1";
  assert_int_equal(kin_client_open(&w.client, &w.loop, &w.options), 0);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  const char **const texts[] = {&io.plural, &io.group, &io.version,
                                &io.start_version};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    io.plural = "pods";
    *texts[i] = longest;
    kin_informer *informer;
    assert_int_equal(kin_informer_open(&informer, w.client, &io), KIN_EINVAL);
    assert_true(strlen(kin_client_problem(w.client)) > 10);
    assert_true(strlen(kin_client_problem(w.client)) < 256);
    *texts[i] = NULL;
  }
  finish_world(&w);
}

static void assert_problem(world *w, int got, const char *part) {
  assert_int_equal(got, KIN_EINVAL);
  if (strstr(kin_client_problem(w->client), part) == NULL) {
    fail_msg("\"%s\" instead of \"%s\"", kin_client_problem(w->client), part);
  }
  assert_string_equal(w->line, kin_client_problem(w->client));
}

#define REFUSES_INFORMER(member, value, part)                                  \
  do {                                                                         \
    kin_informer_options bad = KIN_INFORMER_OPTIONS_INIT;                      \
    bad.plural = "pods";                                                       \
    bad.member = value;                                                        \
    kin_informer *none;                                                        \
    assert_problem(&w, kin_informer_open(&none, w.client, &bad), part);        \
    assert_null(none);                                                         \
  } while (0)

static void test_of_informers(void **state) {
  (void)state;
  static char selector[(64 << 10) + 2];
  memset(selector, 'a', sizeof selector - 1);
  world w;
  open_world(&w);
  REFUSES_INFORMER(plural, NULL, "plural: is NULL");
  REFUSES_INFORMER(plural, "Pods", "plural: \"Pods\" is no resource name");
  REFUSES_INFORMER(group, "a/b", "group: \"a/b\"");
  REFUSES_INFORMER(version, "", "version: \"\"");
  REFUSES_INFORMER(namespace_count, 1, "namespaces: is NULL");
  REFUSES_INFORMER(namespace_count, 1025, "namespaces: 1025");
  REFUSES_INFORMER(field_count, 1, "fields: is NULL");
  REFUSES_INFORMER(parameter_count, 65, "parameters: 65");
  REFUSES_INFORMER(label_selector, selector, "label_selector: over 64 KiB");
  REFUSES_INFORMER(field_selector, selector, "field_selector: over 64 KiB");
  REFUSES_INFORMER(stale_after_ms, 4000000, "stale_after_ms: 4000000");
  REFUSES_INFORMER(internal_error_retry_ms, 86400001,
                   "internal_error_retry_ms: 86400001");
  REFUSES_INFORMER(max_object_bytes, UINT32_MAX,
                   "max_object_bytes: 4294967295");
  REFUSES_INFORMER(consistency, (kin_consistency)7, "consistency: ");
  REFUSES_INFORMER(consistency, KIN_CONSISTENCY_AT_LEAST, "start_version: ");
  REFUSES_INFORMER(start_version, "5", "start_version: \"5\" needs");

  static const char *const twice[] = {"a", "a"};
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.namespaces = twice;
  io.namespace_count = 2;
  kin_informer *informer;
  assert_problem(&w, kin_informer_open(&informer, w.client, &io),
                 "namespaces: \"a\" is named twice");
  static const char *const fields[] = {"/a", "spec.nodeName"};
  io.namespace_count = 1;
  io.fields = fields;
  io.field_count = 2;
  assert_problem(&w, kin_informer_open(&informer, w.client, &io),
                 "fields: \"spec.nodeName\" is no JSON Pointer");
  const kin_parameter parameter = {"watch", "1"};
  io.field_count = 0;
  io.parameters = &parameter;
  io.parameter_count = 1;
  assert_problem(&w, kin_informer_open(&informer, w.client, &io),
                 "parameters: \"watch\" is set by the library itself");
  const kin_parameter no_name = {"", "1"};
  io.parameters = &no_name;
  assert_problem(&w, kin_informer_open(&informer, w.client, &io),
                 "parameters: \"\" is empty");
  const kin_parameter too_long = {"a", selector};
  io.parameters = &too_long;
  assert_problem(&w, kin_informer_open(&informer, w.client, &io),
                 "parameters: \"a\" is over 16 KiB");
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  io.parameter_count = 0;
  io.source = &source;
  assert_problem(&w, kin_informer_open(&informer, w.client, &io), "source: ");
  finish_world(&w);
}

#define OPENS_NOTHING(open, type, INIT)                                        \
  do {                                                                         \
    type options = INIT;                                                       \
    REFUSES_INFORMER(plural, "Pods", "plural: ");                              \
    assert_int_equal(open(NULL, w.client, &options), KIN_EINVAL);              \
    assert_string_equal(kin_client_problem(w.client), "");                     \
  } while (0)

/* A call that has no place for its result fails for another reason than its
 * options. */
static void test_without_a_place_for_the_result(void **state) {
  (void)state;
  world w;
  open_world(&w);
  OPENS_NOTHING(kin_informer_open, kin_informer_options,
                KIN_INFORMER_OPTIONS_INIT);
  OPENS_NOTHING(kin_reflector_open, kin_reflector_options,
                KIN_REFLECTOR_OPTIONS_INIT);
  OPENS_NOTHING(kin_controller_open, kin_controller_options,
                KIN_CONTROLLER_OPTIONS_INIT);
  OPENS_NOTHING(kin_factory_open, kin_factory_options,
                KIN_FACTORY_OPTIONS_INIT);
  OPENS_NOTHING(kin_pager_open, kin_pager_options, KIN_PAGER_OPTIONS_INIT);
  OPENS_NOTHING(kin_retry_watcher_open, kin_retry_watcher_options,
                KIN_RETRY_WATCHER_OPTIONS_INIT);
  finish_world(&w);
}

static kin_informer *open_pods(const world *w) {
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  kin_informer *informer;
  assert_int_equal(kin_informer_open(&informer, w->client, &io), 0);
  return informer;
}

/* What is right, or wrong in another way, says nothing of what was wrong
 * before. */
static void test_is_forgotten(void **state) {
  (void)state;
  world w;
  open_world(&w);
  for (int again = 0; again < 2; again++) {
    REFUSES_INFORMER(plural, NULL, "plural: is NULL");
    kin_informer *informer = open_pods(&w);
    assert_string_equal(kin_client_problem(w.client), "");

    static char name[257];
    memset(name, 'a', sizeof name - 1);
    kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
    lo.name = name;
    assert_problem(&w, kin_informer_listen(informer, &lo, NULL), "name: ");
    lo.name = NULL;
    assert_int_equal(kin_informer_listen(informer, &lo, NULL), 0);
    assert_string_equal(kin_client_problem(w.client), "");
    REFUSES_INFORMER(plural, NULL, "plural: is NULL");
    assert_int_equal(kin_informer_open(&informer, w.client, NULL), KIN_EINVAL);
    assert_string_equal(kin_client_problem(w.client), "");
  }
  finish_world(&w);
}

static void on_wait(const kin_wait_result *result, void *data) {
  (void)result;
  (void)data;
}

/* An informer that is open takes indices, namespaces and a shard. */
static void test_of_open_informers(void **state) {
  (void)state;
  world w;
  open_world(&w);
  kin_informer *all = open_pods(&w);
  static const char *const one[] = {"a"};
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.namespaces = one;
  io.namespace_count = 1;
  kin_informer *few;
  assert_int_equal(kin_informer_open(&few, w.client, &io), 0);

  kin_store *store = kin_informer_store(all);
  kin_index_options xo = KIN_INDEX_OPTIONS_INIT;
  assert_problem(&w, kin_store_add_index(store, &xo), "name: is required");
  xo.name = "node";
  assert_problem(&w, kin_store_add_index(store, &xo),
                 "pointer, cb: exactly one is required");
  xo.pointer = "spec";
  assert_problem(&w, kin_store_add_index(store, &xo),
                 "pointer: \"spec\" is no JSON Pointer of up to 64 tokens, "
                 "such as \"/spec/nodeName\"");
  xo.pointer = "/spec/nodeName";
  assert_int_equal(kin_store_add_index(store, &xo), 0);
  assert_string_equal(kin_client_problem(w.client), "");

  assert_problem(&w, kin_informer_add_namespace(all, "a"),
                 "namespaces: the informer is for all namespaces");
  assert_problem(&w, kin_informer_add_namespace(few, "A_b"),
                 "namespaces: \"A_b\" is no namespace name");
  assert_int_equal(kin_informer_add_namespace(few, "a"), KIN_EEXIST);
  assert_string_equal(kin_client_problem(w.client), "");
  assert_problem(&w, kin_informer_remove_namespace(few, ""),
                 "namespaces: \"\" is no namespace name");
  assert_problem(&w, kin_informer_add_namespace(few, NULL),
                 "namespaces: is NULL");
  assert_problem(&w, kin_informer_remove_namespace(few, "A_b"),
                 "namespaces: \"A_b\" is no namespace name");
  assert_problem(&w, kin_informer_remove_namespace(few, NULL),
                 "namespaces: is NULL");
  assert_int_equal(kin_informer_remove_namespace(few, "a"), 0);
  assert_string_equal(kin_client_problem(w.client), "");
  assert_problem(&w, kin_informer_set_shard(few, 4, 4), "shard_index: ");
  assert_int_equal(kin_informer_set_shard(few, 3, 4), 0);
  assert_string_equal(kin_client_problem(w.client), "");
  finish_world(&w);
}

/* A controller's store tells it as an informer's. */
static void test_of_controllers_stores(void **state) {
  (void)state;
  world w;
  open_world(&w);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  kin_controller_options co = KIN_CONTROLLER_OPTIONS_INIT;
  co.resource = &io;
  kin_controller *controller;
  assert_int_equal(kin_controller_open(&controller, w.client, &co), 0);
  kin_index_options xo = KIN_INDEX_OPTIONS_INIT;
  assert_problem(&w, kin_store_add_index(kin_controller_store(controller), &xo),
                 "name: is required");
  finish_world(&w);
}

/* Nor does what comes too late, or needs no options. */
static void test_is_forgotten_at_the_end(void **state) {
  (void)state;
  world w;
  open_world(&w);
  kin_informer *informer = open_pods(&w);
  kin_factory_options fo = KIN_FACTORY_OPTIONS_INIT;
  kin_factory *factory;
  assert_int_equal(kin_factory_open(&factory, w.client, &fo), 0);
  REFUSES_INFORMER(plural, NULL, "plural: is NULL");
  assert_int_equal(kin_factory_wait(factory, 0, on_wait, NULL, NULL), 0);
  assert_string_equal(kin_client_problem(w.client), "");
  assert_int_equal(kin_informer_close(informer, NULL, NULL), 0);
  REFUSES_INFORMER(plural, NULL, "plural: is NULL");
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  assert_int_equal(kin_informer_listen(informer, &lo, NULL), KIN_ECLOSED);
  assert_string_equal(kin_client_problem(w.client), "");
  REFUSES_INFORMER(plural, NULL, "plural: is NULL");
  assert_int_equal(kin_client_close(w.client, NULL, NULL), 0);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  kin_informer *none;
  assert_int_equal(kin_informer_open(&none, w.client, &io), KIN_ECLOSED);
  assert_string_equal(kin_client_problem(w.client), "");
  w.client = NULL;
  uv_run(&w.loop, UV_RUN_DEFAULT);
  finish_world(&w);
}

static void on_watch_event(const kin_watch_event *event, void *data) {
  (void)event;
  (void)data;
}

static void test_of_the_rest(void **state) {
  (void)state;
  world w;
  open_world(&w);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.stale_after_ms = 5;
  kin_retry_watcher_options ro = KIN_RETRY_WATCHER_OPTIONS_INIT;
  ro.resource = &io;
  kin_retry_watcher *watcher;
  assert_problem(&w, kin_retry_watcher_open(&watcher, w.client, &ro),
                 "resource_version: ");
  ro.resource_version = "5";
  assert_problem(&w, kin_retry_watcher_open(&watcher, w.client, &ro),
                 "on_event: is required");
  ro.on_event = on_watch_event;
  ro.timeout_s = 86401;
  assert_problem(&w, kin_retry_watcher_open(&watcher, w.client, &ro),
                 "timeout_s: 86401");
  ro.timeout_s = 0;
  assert_problem(&w, kin_retry_watcher_open(&watcher, w.client, &ro),
                 "stale_after_ms has no meaning here");
  kin_pager_options po = KIN_PAGER_OPTIONS_INIT;
  po.resource = &io;
  po.resource_version_match = "Exact";
  kin_pager *pager;
  assert_problem(&w, kin_pager_open(&pager, w.client, &po), "\"Exact\"");
  po.resource_version_match = NULL;
  assert_problem(&w, kin_pager_open(&pager, w.client, &po), "on_item: ");
  kin_controller_options co = KIN_CONTROLLER_OPTIONS_INIT;
  co.resource = &io;
  co.retry_on_error = true;
  kin_controller *controller;
  assert_problem(&w, kin_controller_open(&controller, w.client, &co),
                 "retry_on_error");
  kin_wait_options wo = KIN_WAIT_OPTIONS_INIT;
  assert_problem(&w, kin_wait_open(NULL, w.client, &wo), "cb: is required");
  const kin_wait_for nothing = {0};
  wo.cb = on_wait;
  wo.things = &nothing;
  wo.count = 1;
  assert_problem(&w, kin_wait_open(NULL, w.client, &wo),
                 "things[0] is not one informer, listener or named check");
  kin_until_options uo = KIN_UNTIL_OPTIONS_INIT;
  assert_problem(&w, kin_until_open(NULL, w.client, &uo), "cb: is required");
  kin_informer_watcher_options iw = KIN_INFORMER_WATCHER_OPTIONS_INIT;
  kin_informer_watcher *informer_watcher;
  assert_problem(&w,
                 kin_informer_watcher_open(&informer_watcher, w.client, &iw),
                 "on_event: ");
  kin_factory_options fo = KIN_FACTORY_OPTIONS_INIT;
  fo.resync_count = 1;
  kin_factory *factory;
  assert_problem(&w, kin_factory_open(&factory, w.client, &fo), "resyncs: ");
  const kin_factory_resync no_plural = {0};
  fo.resyncs = &no_plural;
  assert_problem(&w, kin_factory_open(&factory, w.client, &fo),
                 "resyncs[0] names no resource");
  finish_world(&w);
}

static int on_item(const kin_object *item, void *data) {
  (void)item;
  (void)data;
  return 0;
}

static void test_without_resource(void **state) {
  (void)state;
  world w;
  open_world(&w);
  kin_pager_options po = KIN_PAGER_OPTIONS_INIT;
  po.on_item = on_item;
  kin_pager *pager;
  assert_problem(&w, kin_pager_open(&pager, w.client, &po),
                 "resource: is required");
  kin_reflector_options ro = KIN_REFLECTOR_OPTIONS_INIT;
  kin_reflector *reflector;
  assert_problem(&w, kin_reflector_open(&reflector, w.client, &ro),
                 "resource: is required");
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  ro.resource = &io;
  assert_problem(&w, kin_reflector_open(&reflector, w.client, &ro),
                 "store: is required");
  kin_reflector_store store = KIN_REFLECTOR_STORE_INIT;
  ro.store = &store;
  assert_problem(&w, kin_reflector_open(&reflector, w.client, &ro),
                 "store: add, update, delete_ and replace are required");
  ro.resource = NULL;
  assert_problem(&w, kin_reflector_open(&reflector, w.client, &ro),
                 "resource: is required");
  kin_controller_options co = KIN_CONTROLLER_OPTIONS_INIT;
  kin_controller *controller;
  assert_problem(&w, kin_controller_open(&controller, w.client, &co),
                 "resource: is required");
  kin_retry_watcher_options wo = KIN_RETRY_WATCHER_OPTIONS_INIT;
  wo.resource_version = "5";
  wo.on_event = on_watch_event;
  kin_retry_watcher *watcher;
  assert_problem(&w, kin_retry_watcher_open(&watcher, w.client, &wo),
                 "resource: is required");
  kin_informer_watcher_options iw = KIN_INFORMER_WATCHER_OPTIONS_INIT;
  iw.on_event = on_watch_event;
  kin_informer_watcher *informer_watcher;
  assert_problem(&w,
                 kin_informer_watcher_open(&informer_watcher, w.client, &iw),
                 "resource: is required");
  finish_world(&w);
}

static bool is_met(void *data) {
  (void)data;
  return false;
}

static void on_until(const kin_until_result *result, void *data) {
  (void)result;
  (void)data;
}

#define ASSERT_TOO_BIG(world, call, part)                                      \
  do {                                                                         \
    assert_int_equal(call, KIN_ETOOBIG);                                       \
    if (strstr(kin_client_problem((world)->client), part) == NULL) {           \
      fail_msg("\"%s\" instead of \"%s\"",                                     \
               kin_client_problem((world)->client), part);                     \
    }                                                                          \
  } while (0)

/* Too many, or too long: the option, the number and the limit. */
static void test_of_what_is_too_big(void **state) {
  (void)state;
  world w;
  open_world(&w);
  static char name[1026];
  memset(name, 'n', sizeof name - 1);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  kin_wait_options wo = KIN_WAIT_OPTIONS_INIT;
  const kin_wait_for thing = {.name = name, .check = is_met};
  wo.cb = on_wait;
  wo.things = &thing;
  wo.count = 4097;
  ASSERT_TOO_BIG(&w, kin_wait_open(NULL, w.client, &wo),
                 "count: 4097 things are more than 4096");
  wo.count = 1;
  ASSERT_TOO_BIG(&w, kin_wait_open(NULL, w.client, &wo),
                 "what or names: 1025 bytes are more than 1024");
  kin_until_options uo = KIN_UNTIL_OPTIONS_INIT;
  static kin_until_condition conditions[257];
  uo.cb = on_until;
  uo.resource = &io;
  uo.conditions = conditions;
  uo.condition_count = 257;
  ASSERT_TOO_BIG(&w, kin_until_open(NULL, w.client, &uo),
                 "condition_count: 257 are more than 256");
  kin_controller_options co = KIN_CONTROLLER_OPTIONS_INIT;
  co.resource = &io;
  co.name = name;
  kin_controller *controller;
  ASSERT_TOO_BIG(&w, kin_controller_open(&controller, w.client, &co),
                 "name: 1025 bytes are more than 255");
  kin_store *target;
  kin_reflector *reflector;
  assert_int_equal(kin_store_new(&target, NULL), 0);
  kin_reflector_store store = KIN_REFLECTOR_STORE_INIT;
  assert_int_equal(kin_store_reflector_store(target, &store), 0);
  kin_reflector_options ro = KIN_REFLECTOR_OPTIONS_INIT;
  ro.resource = &io;
  ro.store = &store;
  ro.name = name;
  ASSERT_TOO_BIG(&w, kin_reflector_open(&reflector, w.client, &ro),
                 "name: 1025 bytes are more than 255");
  kin_store_free(target);
  finish_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_of_clients),
      cmocka_unit_test(test_of_contradictions),
      cmocka_unit_test(test_room),
      cmocka_unit_test(test_of_small_options),
      cmocka_unit_test(test_of_other_failures),
      cmocka_unit_test(test_long_values),
      cmocka_unit_test(test_of_informers),
      cmocka_unit_test(test_without_a_place_for_the_result),
      cmocka_unit_test(test_is_forgotten),
      cmocka_unit_test(test_of_open_informers),
      cmocka_unit_test(test_of_controllers_stores),
      cmocka_unit_test(test_is_forgotten_at_the_end),
      cmocka_unit_test(test_of_the_rest),
      cmocka_unit_test(test_without_resource),
      cmocka_unit_test(test_of_what_is_too_big),
  };
  return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
