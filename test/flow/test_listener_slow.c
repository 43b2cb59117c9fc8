/* SPDX-License-Identifier: MIT */

/* A handler that is too slow for what comes is logged by its name (PL-10): one
 * callback over 100 ms while more than 1,024 notifications wait. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/dispatch_rig.h"
#include "support/informer_world.h"

#define MS UINT64_C(1000000)
#define WAITING 1024

typedef struct slow_handler {
  dispatch_rig *rig;
  uint64_t takes_ns;
  int calls;
  int slow_calls; /* these first calls take that long */
  kin_listener *handle;
  bool quits; /* in its first call */
} slow_handler;

static dispatch_rig rig;
static char lines[4096];
static int line_count;
static kin_log_level last_level;

static void note_line(kin_log_level level, const char *line, void *data) {
  (void)data;
  last_level = level;
  line_count++;
  snprintf(lines, sizeof lines, "%s", line);
}

static void work(struct kin_informer *informer, const kin_event *event,
                 void *data) {
  (void)informer;
  (void)event;
  slow_handler *handler = data;
  if (handler->calls++ < handler->slow_calls) {
    handler->rig->now_ns += handler->takes_ns;
  }
  if (handler->quits && handler->calls == 1) {
    kin_listener_close(handler->handle);
  }
}

static kin__log log_of_all = {.cb = note_line, .level = KIN_LOG_DEBUG};

static int setup(void **state) {
  (void)state;
  line_count = 0;
  lines[0] = '\0';
  int err = rig_init(&rig, NULL);
  rig.dispatcher.log = &log_of_all;
  return err;
}

static int teardown(void **state) {
  (void)state;
  rig_finish(&rig);
  return 0;
}

static void put(int count) {
  for (int i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "k%d", i);
    assert_int_equal(rig_put(&rig, name), 0);
  }
}

static void join(slow_handler *handler, const char *name) {
  handler->rig = &rig;
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = work;
  options.data = handler;
  options.name = name;
  handler->handle = rig_listen(&rig, &options);
}

static void test_slow_handler_is_logged(void **state) {
  (void)state;
  slow_handler slow = {.takes_ns = 101 * MS, .slow_calls = 1};
  slow_handler fast = {.slow_calls = 0};
  join(&slow, "pods to nodes");
  join(&fast, "fast");
  put(WAITING + 2);
  rig_run(&rig);
  assert_int_equal(slow.calls, WAITING + 2);
  assert_int_equal(line_count, 1);
  assert_int_equal(last_level, KIN_LOG_WARN);
  assert_string_equal(lines, "pods to nodes is slow: 1 of its callbacks took "
                             "101 ms, 1025 notifications wait");
}

/* Either alone is nothing to log: time, or a long queue. */
static void test_what_is_not_logged(void **state) {
  (void)state;
  static const struct {
    uint64_t takes_ns;
    int waiting;
    int lines;
  } rows[] = {
      {101 * MS, WAITING, 0}, /* and one that is being delivered */
      {100 * MS, WAITING + 1, 0},
      {100 * MS + 1, WAITING + 1, 1},
      {5000 * MS, 1, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    slow_handler slow = {.takes_ns = rows[i].takes_ns, .slow_calls = 1};
    join(&slow, "slow");
    rig_run(&rig); /* replays what earlier rows have put */
    slow.calls = 0;
    line_count = 0;
    put(rows[i].waiting + 1);
    rig_run(&rig);
    assert_int_equal(slow.calls, rows[i].waiting + 1);
    assert_int_equal(line_count, rows[i].lines);
    kin_listener_close(slow.handle);
    rig_run(&rig);
  }
}

/* A handler that stays slow is logged once a minute, not ten times a second. */
static void test_once_a_minute(void **state) {
  (void)state;
  slow_handler slow = {.takes_ns = 200 * MS, .slow_calls = 10000};
  join(&slow, "slow");
  put(WAITING + 1 + 901); /* the last 1,024 are too few: 901 calls, 180.2 s */
  rig_run(&rig);
  assert_int_equal(line_count, 4);
}

/* One that quits in the slow callback is not blamed any more; without a log
 * nothing happens. */
static void test_gone_or_without_a_log(void **state) {
  (void)state;
  slow_handler slow = {.takes_ns = 200 * MS, .slow_calls = 1, .quits = true};
  join(&slow, "slow");
  put(WAITING + 10);
  rig_run(&rig);
  assert_int_equal(slow.calls, 1);
  assert_int_equal(line_count, 0);
  rig.dispatcher.log = NULL;
  slow_handler other = {.takes_ns = 200 * MS, .slow_calls = 5};
  join(&other, "other");
  put(WAITING + 10);
  rig_run(&rig);
  assert_int_equal(line_count, 0);
}

typedef struct slow_world {
  iw_world w;
  int calls;
} slow_world;

static void work_for_long(kin_informer *informer, const kin_event *event,
                          void *data) {
  (void)informer;
  (void)event;
  slow_world *world = data;
  if (world->calls++ == 0) {
    world->w.script.now_ns += 150 * MS;
  }
}

/* The informer gives its listeners the client's log. */
static void test_informer_logs_it(void **state) {
  (void)state;
  enum { EVENTS = 1500 };
  static char frames[EVENTS * 100];
  size_t used = 0;
  for (int i = 0; i < EVENTS; i++) {
    used += (size_t)snprintf(frames + used, sizeof frames - used,
                             "{\"type\":\"ADDED\",\"object\":{\"metadata\":{"
                             "\"name\":\"k%d\",\"resourceVersion\":\"%d\"}}}",
                             i, 1000 + i);
  }
  slow_world world = {.calls = 0};
  iw_init(&world.w, 0);
  world.w.script.env.log = &log_of_all;
  kin_informer_options options = iw_options(&world.w);
  assert_int_equal(iw_open(&world.w, &options), 0);
  mini_serve(&world.w.server);
  kin_listener_close(world.w.rec.listener); /* it has not that much room */
  kin_listener_options listener = KIN_LISTENER_OPTIONS_INIT;
  listener.on_add = work_for_long;
  listener.data = &world;
  listener.name = "pods to nodes";
  kin_listener *handle;
  assert_int_equal(kin_informer_listen(world.w.informer, &listener, &handle),
                   0);
  kin_listener_pause(handle);
  assert_true(script_body(&world.w.script, "watch=true", frames, used));
  line_count = 0;
  kin_listener_resume(handle);
  script_run(&world.w.script);
  assert_int_equal(world.calls, EVENTS);
  assert_int_equal(line_count, 1);
  assert_non_null(strstr(lines, "pods to nodes is slow: "));
  iw_finish(&world.w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_slow_handler_is_logged),
      TEST(test_what_is_not_logged),
      TEST(test_once_a_minute),
      TEST(test_gone_or_without_a_log),
      cmocka_unit_test(test_informer_logs_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
