/* SPDX-License-Identifier: MIT */

/* The time that a program takes in its callbacks is the program's, whichever
 * callback it is: kin_client_stats counts it in handler_ns, and leaves it out of
 * busy_ns and longest_ns. Each callback here takes a millisecond of the virtual
 * clock, and nothing else takes any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "toolkit/pager.h"
#include "cache/public_reflector.h"
#include "object/object.h"
#include "informer/informer.h"
#include "support/targets.h"
#include "support/virtual_host.h"
#include "cache/controller.h"
#include "toolkit/factory.h"
#include "toolkit/wait.h"
#include "toolkit/watch.h"

#define SPENT_NS UINT64_C(1000000)

/* One at a time. */
static virtual_host vh;
static unsigned calls;

static void open_world(void) {
  calls = 0;
  vh_init(&vh, 0);
  mini_put_first(&vh.server, 2);
}

static void spend(void) {
  calls++;
  vh.script.now_ns += SPENT_NS;
}

static void assert_counted(void) {
  assert_int_equal(vh.script.handler_ns, calls * SPENT_NS);
}

/* There have been so many callbacks. */
static void close_world(unsigned least) {
  assert_counted();
  vh_finish(&vh);
  assert_counted();
  assert_true(calls >= least);
}

static void on_closed(void *data) {
  (void)data;
  spend();
}

/* --- Informers ------------------------------------------------------------ */

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  (void)event;
  (void)data;
  spend();
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)event;
  (void)data;
  spend();
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)namespace_;
  (void)from;
  (void)to;
  (void)data;
  spend();
}

static void on_mutation(kin_informer *informer, const kin_mutation *mutation,
                        void *data) {
  (void)informer;
  (void)mutation;
  (void)data;
  spend();
}

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  (void)informer;
  (void)code;
  (void)version;
  (void)data;
  spend();
}

static int refuse(const kin_object *in, kin_object_builder *out, void *data) {
  (void)in;
  (void)out;
  (void)data;
  return KIN_EUNEXPECTED;
}

static kin_informer_options resource(void) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.no_watch_list = true;
  return options;
}

static kin_informer *open_informer(kin_informer_options *options) {
  options->on_error = on_error;
  options->on_state = on_state;
  options->on_mutation = on_mutation;
  options->on_closed = on_closed;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = lo.on_update = lo.on_delete = on_event;
  lo.on_synced = lo.on_relisted = on_event;
  kin_informer *informer;
  assert_int_equal(kin__informer_open_on(&informer, &vh.host, options), 0);
  assert_int_equal(kin_informer_listen(informer, &lo, NULL), 0);
  assert_int_equal(kin_informer_start(informer), 0);
  return informer;
}

static void test_informer(void **state) {
  (void)state;
  open_world();
  kin_informer_options options = resource();
  kin_informer *informer = open_informer(&options);
  assert_int_equal(
      kin_informer_wait_version(informer, "", "102", 0, on_version, NULL), 0);
  script_respond(&vh.script, "/pods?", 500, "");
  mini_pass(&vh.server, 5000);
  mini_put(&vh.server, 1);
  mini_delete(&vh.server, 0);
  mini_serve(&vh.server);
  assert_int_equal(kin_informer_close(informer, on_closed, NULL), 0);
  close_world(10);
}

/* Objects that are too large, and ones that the transform refuses. */
static void test_object_failures(void **state) {
  (void)state;
  for (int refuses = 0; refuses < 2; refuses++) {
    open_world();
    kin_informer_options options = resource();
    options.transform = refuses ? refuse : NULL;
    options.max_object_bytes = refuses ? 0 : 20;
    kin_informer *informer = open_informer(&options);
    mini_serve(&vh.server);
    unsigned before = calls;
    mini_put(&vh.server, 1);
    mini_pass(&vh.server, 2000);
    assert_true(calls > before);
    assert_counted();
    assert_int_equal(kin_informer_close(informer, on_closed, NULL), 0);
    close_world(6);
  }
}

static void test_mutations(void **state) {
  (void)state;
  open_world();
  kin__memory_use_seals(vh.script.memory, KIN_MUTATION_CHECK_CHECKSUM);
  kin_informer_options options = resource();
  kin_informer *informer = open_informer(&options);
  mini_serve(&vh.server);
  const kin_object *object =
      kin_store_get_key(kin_informer_store(informer), "odd/p1");
  *(char *)kin__object_body(object).data ^= 0x20;
  unsigned before = calls;
  mini_pass(&vh.server, 2000);
  assert_int_equal(calls, before + 1);
  *(char *)kin__object_body(object).data ^= 0x20;
  close_world(6);
}

/* --- Waits ---------------------------------------------------------------- */

static bool check(void *data) {
  spend();
  return ++*(int *)data == 3;
}

static void on_wait(const kin_wait_result *result, void *data) {
  (void)data;
  assert_int_equal(result->code, 0);
  spend();
}

static void test_wait(void **state) {
  (void)state;
  open_world();
  int asked = 0;
  const kin_wait_for thing = {.name = "x", .check = check, .data = &asked};
  kin_wait_options options = KIN_WAIT_OPTIONS_INIT;
  options.things = &thing;
  options.count = 1;
  options.cb = on_wait;
  kin_wait *wait;
  assert_int_equal(kin__wait_open(&wait, &vh.host, &options, ""), 0);
  script_advance(&vh.script, 1000);
  assert_int_equal(calls, 4);
  close_world(4);
}

static int condition(const kin_watch_event *event, void *data) {
  (void)event;
  (void)data;
  spend();
  return 1;
}

static int precondition(kin_store *store, void *data) {
  (void)store;
  (void)data;
  spend();
  return 0;
}

static void on_until(const kin_until_result *result, void *data) {
  (void)data;
  assert_int_equal(result->code, 0);
  spend();
}

static void test_until(void **state) {
  (void)state;
  for (int is_synced = 0; is_synced < 2; is_synced++) {
    open_world();
    kin_informer_options pods = resource();
    pods.no_watch_list = is_synced;
    const kin_until_condition one = {condition, NULL};
    kin_until_options options = KIN_UNTIL_OPTIONS_INIT;
    options.resource = &pods;
    options.conditions = &one;
    options.condition_count = 1;
    options.cb = on_until;
    options.resource_version = is_synced ? NULL : "100";
    options.precondition = is_synced ? precondition : NULL;
    kin_until *until;
    assert_int_equal(kin__until_open(&until, &vh.host, &options, is_synced), 0);
    mini_serve(&vh.server);
    assert_int_equal(calls, is_synced ? 3 : 2);
    close_world(2);
  }
}

/* --- What is closed ------------------------------------------------------- */

static void on_watch_event(const kin_watch_event *event, void *data) {
  (void)event;
  (void)data;
  spend();
}

static int on_item(const kin_object *object, void *data) {
  (void)object;
  (void)data;
  spend();
  return 0;
}

static void test_watchers(void **state) {
  (void)state;
  open_world();
  kin_informer_options pods = resource();
  kin_informer_watcher_options io = KIN_INFORMER_WATCHER_OPTIONS_INIT;
  io.resource = &pods;
  io.on_event = on_watch_event;
  io.on_closed = on_closed;
  kin_informer_watcher *watcher;
  assert_int_equal(kin__informer_watcher_open(&watcher, &vh.host, &io), 0);
  kin_informer_options watched = KIN_INFORMER_OPTIONS_INIT;
  watched.plural = "pods";
  kin_retry_watcher_options ro = KIN_RETRY_WATCHER_OPTIONS_INIT;
  ro.resource = &watched;
  ro.resource_version = "100";
  ro.on_event = on_watch_event;
  ro.on_closed = on_closed;
  kin_retry_watcher *retry;
  assert_int_equal(kin__retry_watcher_open(&retry, &vh.host, &ro), 0);
  mini_serve(&vh.server);
  assert_int_equal(calls, 4);
  assert_int_equal(kin_informer_watcher_close(watcher, on_closed, NULL), 0);
  assert_int_equal(kin_retry_watcher_close(retry, on_closed, NULL), 0);
  close_world(4);
  assert_int_equal(calls, 8);
}

static void test_pager(void **state) {
  (void)state;
  open_world();
  kin_informer_options pods = KIN_INFORMER_OPTIONS_INIT;
  pods.plural = "pods";
  kin_pager_options options = KIN_PAGER_OPTIONS_INIT;
  options.resource = &pods;
  options.on_item = on_item;
  options.on_closed = on_closed;
  kin_pager *pager;
  assert_int_equal(kin__pager_open(&pager, &vh.host, &options), 0);
  mini_serve(&vh.server);
  assert_int_equal(calls, 2);
  assert_int_equal(kin_pager_close(pager, on_closed, NULL), 0);
  close_world(2);
  assert_int_equal(calls, 4);
}

static void test_factory(void **state) {
  (void)state;
  open_world();
  kin_factory_options options = KIN_FACTORY_OPTIONS_INIT;
  options.on_closed = on_closed;
  kin_factory *factory;
  assert_int_equal(kin__factory_open(&factory, &vh.host, &options), 0);
  assert_int_equal(kin_factory_close(factory, on_closed, NULL), 0);
  close_world(0);
  assert_int_equal(calls, 2);
}

static void test_controller(void **state) {
  (void)state;
  open_world();
  kin_informer_options pods = resource();
  kin_controller_options options = KIN_CONTROLLER_OPTIONS_INIT;
  options.resource = &pods;
  options.on_closed = on_closed;
  kin_process_handlers handlers = KIN_PROCESS_HANDLERS_INIT;
  options.handlers = &handlers;
  kin_controller *controller;
  assert_int_equal(kin__controller_open(&controller, &vh.host, &options), 0);
  assert_int_equal(kin_controller_close(controller, on_closed, NULL), 0);
  close_world(0);
  assert_int_equal(calls, 2);
}

static void test_reflector(void **state) {
  (void)state;
  open_world();
  kin_store *store;
  assert_int_equal(kin_store_new(&store, NULL), 0);
  kin_reflector_store into = store_target(store);
  kin_informer_options pods = resource();
  kin_reflector_options options = KIN_REFLECTOR_OPTIONS_INIT;
  options.resource = &pods;
  options.store = &into;
  options.on_closed = on_closed;
  kin_reflector *reflector;
  assert_int_equal(kin__public_reflector_open(&reflector, &vh.host, &options),
                   0);
  assert_int_equal(kin_reflector_close(reflector, on_closed, NULL), 0);
  close_world(0);
  assert_int_equal(calls, 2);
  kin_store_free(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_informer),   cmocka_unit_test(test_object_failures),
      cmocka_unit_test(test_mutations),  cmocka_unit_test(test_wait),
      cmocka_unit_test(test_until),      cmocka_unit_test(test_watchers),
      cmocka_unit_test(test_pager),      cmocka_unit_test(test_factory),
      cmocka_unit_test(test_controller), cmocka_unit_test(test_reflector),
  };
  return cmocka_run_group_tests_name("handler_time", tests, NULL, NULL);
}
