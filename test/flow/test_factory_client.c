/* SPDX-License-Identifier: MIT */

/* Factories and waits on a real client, loop and server: the public functions,
 * and that a client takes down what is open on it. Proves FA-02 to FA-05,
 * SY-07, SY-08, TD-04 for them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "support/client_world.h"

#define LIST ANSWER_TO_END ANSWER_PODS("7", ANSWER_POD("a", "1", "5"))

/* Two informers list before either watches. */
static const loop_reply lists_and_watches[] = {
    {.bytes = LIST, .then = LOOP_CLOSE},
    {.bytes = LIST, .then = LOOP_CLOSE},
    {.bytes = ANSWER_CHUNKED}};
static const loop_reply silence[] = {{.bytes = NULL}};

typedef struct world {
  client_world base;
  kin_factory *factory;
  kin_informer *pods;
  int factories_closed;
  int waits_ended;
  int codes[4];
  char errors[4][256];
  int checks;
  bool closes_at_end;
  char lines[1024];
} world;

static void on_log(kin_log_level level, const char *line, void *data) {
  world *w = data;
  size_t length = strlen(w->lines);
  if (level == KIN_LOG_INFO && strstr(line, "aiting for") != NULL) {
    snprintf(w->lines + length, sizeof w->lines - length, "%s\n", line);
  }
}

static void on_factory_closed(void *data) {
  world *w = data;
  assert_int_equal(w->base.clients_closed, 0); /* children first */
  w->factories_closed++;
}

static void close_client(world *w) {
  assert_int_equal(client_world_close(&w->base), 0);
  client_world_end_server(&w->base);
}

static void on_wait_end(const kin_wait_result *result, void *data) {
  world *w = data;
  assert_int_equal(w->base.clients_closed, 0);
  assert_true(w->waits_ended < 4);
  int i = w->waits_ended++;
  w->codes[i] = result->code;
  snprintf(w->errors[i], sizeof w->errors[i], "%s", result->error);
  if (w->closes_at_end) {
    w->closes_at_end = false;
    assert_int_equal(kin_factory_close(w->factory, on_factory_closed, w), 0);
    close_client(w);
  }
}

/* The server knows lists only. */
static void ask_for_lists(kin_informer_options *options, void *data) {
  (void)data;
  options->no_watch_list = true;
}

static void setup_world(world *w, const loop_reply *replies, size_t count) {
  memset(w, 0, sizeof *w);
  client_world_serve(&w->base, replies, count);
  w->base.options.log = on_log;
  w->base.options.log_data = w;
  w->base.options.log_level = KIN_LOG_INFO;
  kin_factory_options fo = KIN_FACTORY_OPTIONS_INIT;
  fo.tweak = ask_for_lists;
  assert_int_equal(client_world_open_client(&w->base), 0);
  assert_int_equal(kin_factory_open(&w->factory, w->base.client, &fo), 0);
  assert_int_equal(
      kin_factory_informer(w->factory, NULL, NULL, "pods", &w->pods), 0);
}

static void run_to_the_end(world *w) {
  assert_int_equal(uv_run(&w->base.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(w->base.clients_closed, 1);
  client_world_finish(&w->base);
}

/* From open to close, by way of a sync. */
static void test_factory_client_story(void **state) {
  (void)state;
  world w;
  setup_world(&w, lists_and_watches, 3);
  kin_informer *deployments;
  assert_int_equal(kin_factory_informer(w.factory, "apps", "v1", "deployments",
                                        &deployments),
                   0);
  assert_int_equal(kin_factory_start(w.factory), 0);
  kin_wait *wait;
  assert_int_equal(kin_factory_wait(w.factory, 60000, on_wait_end, &w, &wait),
                   0);
  assert_non_null(wait);
  w.closes_at_end = true;
  CLIENT_UNTIL(&w.base, w.waits_ended > 0);
  assert_int_equal(w.codes[0], 0);
  run_to_the_end(&w);
  assert_int_equal(w.factories_closed, 1);
  assert_int_equal(w.waits_ended, 1);
}

/* The client is closed while a factory, informers and waits are open. */
static void test_factory_client_is_closed(void **state) {
  (void)state;
  world w;
  setup_world(&w, silence, 1);
  assert_int_equal(kin_factory_start(w.factory), 0);
  assert_int_equal(kin_factory_wait(w.factory, 0, on_wait_end, &w, NULL), 0);
  kin_wait_options wo = KIN_WAIT_OPTIONS_INIT;
  const kin_wait_for thing = {.name = "mine", .informer = w.pods};
  wo.things = &thing;
  wo.count = 1;
  wo.cb = on_wait_end;
  wo.data = &w;
  kin_wait *wait;
  assert_int_equal(kin_wait_open(&wait, w.base.client, &wo), 0);
  CLIENT_UNTIL(&w.base, w.base.server.requests > 0);
  kin_factory *factory = w.factory;
  close_client(&w);
  assert_int_equal(kin_factory_start(factory), KIN_ECLOSED);
  assert_int_equal(kin_wait_open(&wait, w.base.client, &wo), KIN_ECLOSED);
  assert_null(wait);
  kin_factory_options fo = KIN_FACTORY_OPTIONS_INIT;
  assert_int_equal(kin_factory_open(&factory, w.base.client, &fo), KIN_ECLOSED);
  assert_null(factory);
  run_to_the_end(&w);
  assert_int_equal(w.waits_ended, 2);
  assert_int_equal(w.codes[0], KIN_ECLOSED);
  assert_int_equal(w.codes[1], KIN_ECLOSED);
}

static bool is_second_time(void *data) {
  return ++((world *)data)->checks == 2;
}

static void close_when_over(const kin_wait_result *result, void *data) {
  on_wait_end(result, data);
  close_client(data);
}

/* SY-07: the poll and the timeout run on the loop's own timer, and what is
 * waited for is logged. */
static void test_wait_on_a_client(void **state) {
  (void)state;
  world w;
  setup_world(&w, silence, 1);
  uint64_t start_ms = uv_hrtime() / 1000000;
  const kin_wait_for things[] = {
      {.name = "twice", .check = is_second_time, .data = &w},
      {.informer = w.pods}};
  kin_wait_options wo = KIN_WAIT_OPTIONS_INIT;
  wo.things = things;
  wo.count = 1;
  wo.cb = on_wait_end;
  wo.data = &w;
  wo.what = "a check";
  assert_int_equal(kin_wait_open(NULL, w.base.client, &wo), 0);
  wo.things = &things[1];
  wo.timeout_ms = 300;
  wo.what = NULL;
  wo.cb = close_when_over;
  assert_int_equal(kin_wait_open(NULL, w.base.client, &wo), 0);
  run_to_the_end(&w);
  assert_true(uv_hrtime() / 1000000 - start_ms >= 300);
  assert_int_equal(w.waits_ended, 2);
  assert_int_equal(w.codes[0], 0);
  assert_string_equal(w.lines, "Waiting for a check\n"
                               "Done waiting for a check: twice\n");
  assert_int_equal(w.codes[1], KIN_ETIMEDOUT);
  assert_string_equal(w.errors[1],
                      "failed to wait for all: pods.v1: timed out");
}

/* Option structs of another size. */
static void test_factory_client_options(void **state) {
  (void)state;
  world w;
  setup_world(&w, silence, 1);
  struct {
    kin_wait_options options;
    int more;
  } newer_wait;
  kin_wait *wait;
  memset(&newer_wait, 0, sizeof newer_wait); /* the padding, too */
  newer_wait.options = (kin_wait_options)KIN_WAIT_OPTIONS_INIT;
  newer_wait.options.cb = on_wait_end;
  newer_wait.options.data = &w;
  newer_wait.options.size = sizeof newer_wait;
  assert_int_equal(kin_wait_open(&wait, w.base.client, &newer_wait.options), 0);
  newer_wait.more = 1;
  assert_int_equal(kin_wait_open(&wait, w.base.client, &newer_wait.options),
                   KIN_ENOTSUP);
  assert_null(wait);
  newer_wait.options.size = sizeof(size_t);
  assert_int_equal(kin_wait_open(&wait, w.base.client, &newer_wait.options),
                   KIN_EINVAL);
  assert_int_equal(kin_wait_open(&wait, w.base.client, NULL), KIN_EINVAL);

  struct {
    kin_factory_options options;
    int more;
  } newer = {KIN_FACTORY_OPTIONS_INIT, 1};
  newer.options.size = sizeof newer;
  kin_factory *factory;
  assert_int_equal(kin_factory_open(&factory, w.base.client, &newer.options),
                   KIN_ENOTSUP);
  assert_null(factory);
  newer.options.size = sizeof(size_t);
  assert_int_equal(kin_factory_open(&factory, w.base.client, &newer.options),
                   KIN_EINVAL);
  assert_int_equal(kin_factory_open(&factory, w.base.client, NULL), KIN_EINVAL);
  close_client(&w);
  run_to_the_end(&w);
  assert_int_equal(w.waits_ended, 1);
  assert_int_equal(w.codes[0], 0); /* nothing to wait for */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factory_client_story),
      cmocka_unit_test(test_factory_client_is_closed),
      cmocka_unit_test(test_wait_on_a_client),
      cmocka_unit_test(test_factory_client_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
