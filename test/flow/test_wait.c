/* SPDX-License-Identifier: MIT */

/* Waiting for informers, listeners and whatever else, on a virtual clock.
 * Proves SY-01, SY-07, SY-08, SY-09, SI-16, NR-08 and the poll period of
 * CN-05. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include <kin/error.h>
#include <kin/wait.h>

#include "informer/informer.h"
#include "support/wait_rig.h"

typedef struct scenario {
  const char *name;
  const char *what;
  int64_t delays_ms[3]; /* of first, second, last; -1: never */
  size_t count;
  uint64_t timeout_ms;
  int64_t cancel_ms; /* -1: it is not given up */
  int cancel_code;
  int code;
  uint64_t ends_ms;
  const char *log;
  const char *error;
} scenario;

/* The scenarios of client-go's table. */
static const scenario scenarios[] = {
    {.name = "empty", .cancel_ms = -1, .log = "", .error = ""},
    {.name = "no-caches",
     .what = "my-caches",
     .cancel_ms = -1,
     .log = "I Waiting for my-caches\n",
     .error = ""},
    {.name = "no-logging",
     .what = "",
     .delays_ms = {10000, 5000, 0},
     .count = 3,
     .cancel_ms = -1,
     .ends_ms = 10000,
     .log = "",
     .error = ""},
    {.name = "with-logging",
     .what = "my-caches",
     .delays_ms = {10000, 5000, 0},
     .count = 3,
     .cancel_ms = -1,
     .ends_ms = 10000,
     .log = "I Waiting for my-caches\n"
            "I Done waiting for my-caches: last\n"
            "I Done waiting for my-caches: second\n"
            "I Done waiting for my-caches: first\n",
     .error = ""},
    {.name = "some-timeout",
     .what = "my-caches",
     .delays_ms = {10000, -1, 0},
     .count = 3,
     .timeout_ms = 60000,
     .cancel_ms = -1,
     .code = KIN_ETIMEDOUT,
     .ends_ms = 60000,
     .log = "I Waiting for my-caches\n"
            "I Done waiting for my-caches: last\n"
            "I Done waiting for my-caches: first\n"
            "I Timed out waiting for my-caches: second: timed out\n",
     .error = "failed to wait for all: second: timed out"},
    {.name = "some-canceled",
     .what = "my-caches",
     .delays_ms = {10000, -1, 0},
     .count = 3,
     .cancel_ms = 0,
     .cancel_code = KIN_ECLOSED,
     .code = KIN_ECLOSED,
     /* "last" was done already, and so it counts. */
     .log = "I Waiting for my-caches\n"
            "I Done waiting for my-caches: last\n"
            "I Stopped waiting for my-caches: first, second: "
            "already closed or closing\n",
     .error =
         "failed to wait for all: first, second: already closed or closing"},
    {.name = "more",
     .what = "my-caches",
     .delays_ms = {10000, -1, 0},
     .count = 3,
     .cancel_ms = 5000,
     .cancel_code = KIN_EAGAIN,
     .code = KIN_EAGAIN,
     .ends_ms = 5000,
     .log = "I Waiting for my-caches\n"
            "I Done waiting for my-caches: last\n"
            "I Stopped waiting for my-caches: first, second: "
            "nothing to do now\n",
     .error = "failed to wait for all: first, second: nothing to do now"},
    {.name = "all",
     .what = "my-caches",
     .delays_ms = {-1, -1, -1},
     .count = 3,
     .timeout_ms = 60000,
     .cancel_ms = -1,
     .code = KIN_ETIMEDOUT,
     .ends_ms = 60000,
     .log = "I Waiting for my-caches\n"
            "I Timed out waiting for my-caches: first, last, second: "
            "timed out\n",
     .error = "failed to wait for all: first, last, second: timed out"},
};

static void run_scenario(const scenario *s) {
  static const char *const names[] = {"first", "second", "last"};
  virtual_host vh;
  vh_init(&vh, 0);
  uint64_t start_ms = wait_rig_now_ms(&vh);
  wait_timed delays[3];
  kin_wait_for things[3];
  for (size_t i = 0; i < s->count; i++) {
    uint64_t at_ms =
        s->delays_ms[i] < 0 ? UINT64_MAX : start_ms + (uint64_t)s->delays_ms[i];
    delays[i] = (wait_timed){.vh = &vh, .at_ms = at_ms};
    things[i] = (kin_wait_for){
        .name = names[i], .check = wait_timed_is_due, .data = &delays[i]};
  }
  wait_ending e = {0};
  kin_wait *wait;
  assert_int_equal(
      wait_rig_open(&vh, &wait, things, s->count, s->what, s->timeout_ms, &e),
      0);
  memset(things, 0xa5, sizeof things); /* they were copied */
  if (s->cancel_ms >= 0) {
    if (s->cancel_ms > 0) {
      script_advance(&vh.script, (uint64_t)s->cancel_ms);
    }
    assert_int_equal(kin_wait_cancel(wait, s->cancel_code), 0);
    assert_int_equal(kin_wait_cancel(wait, s->cancel_code), KIN_EALREADY);
  }
  assert_int_equal(e.calls, 0); /* never inside a call */
  script_advance(&vh.script, 70000);
  wait_ending_expect(&e, s->code, NULL);
  assert_int_equal(e.at_ms - start_ms, s->ends_ms);
  assert_int_equal(e.count, s->count);
  assert_string_equal(e.error, s->error);
  assert_string_equal(vh.text, s->log);
  vh_finish(&vh);
}

/* TestWaitFor; SY-08. */
static void test_wait_scenarios(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
    print_message("%s\n", scenarios[i].name);
    run_scenario(&scenarios[i]);
  }
}

/* SY-07, CN-05 (TestHammerController and TestIndexer wait so): at once, then
 * every 100 ms, and not again once it is done. */
static void test_wait_polls_checks(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  wait_timed soon = {.vh = &vh, .at_ms = wait_rig_now_ms(&vh) + 250};
  wait_timed late = {.vh = &vh, .at_ms = wait_rig_now_ms(&vh) + 1000};
  const kin_wait_for things[] = {
      {.name = "soon", .check = wait_timed_is_due, .data = &soon},
      {.name = "late", .check = wait_timed_is_due, .data = &late}};
  wait_ending e = {0};
  kin_wait *wait;
  assert_int_equal(wait_rig_open(&vh, &wait, things, 2, NULL, 0, &e), 0);
  assert_int_equal(soon.asked, 0);
  script_run(&vh.script);
  assert_int_equal(soon.asked, 1);
  script_advance(&vh.script, 99);
  assert_int_equal(soon.asked, 1);
  script_advance(&vh.script, 1);
  assert_int_equal(soon.asked, 2);
  script_advance(&vh.script, 5000);
  assert_int_equal(soon.asked, 4);
  assert_int_equal(late.asked, 11);
  wait_ending_expect(&e, 0, "yy");
  assert_true(kin__timers_next_ms(&vh.script.timers) == UINT64_MAX);
  vh_finish(&vh);
}

typedef struct canceller {
  kin_wait *wait;
  int asked;
} canceller;

static bool cancel_wait(void *data) {
  canceller *c = data;
  c->asked++;
  assert_int_equal(kin_wait_cancel(c->wait, KIN_EAGAIN), 0);
  return false;
}

/* SY-07: a check stops the wait. The checks after it are not called any more:
 * their data may be gone. */
static void test_wait_stopped_by_a_check(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  canceller first = {0};
  wait_timed second = {.vh = &vh, .at_ms = UINT64_MAX};
  const kin_wait_for things[] = {
      {.name = "first", .check = cancel_wait, .data = &first},
      {.name = "second", .check = wait_timed_is_due, .data = &second}};
  wait_ending e = {0};
  assert_int_equal(wait_rig_open(&vh, &first.wait, things, 2, NULL, 0, &e), 0);
  script_advance(&vh.script, 1000);
  assert_int_equal(first.asked, 1);
  assert_int_equal(second.asked, 0);
  wait_ending_expect(&e, KIN_EAGAIN, "nn");
  vh_finish(&vh);
}

/* Many checks are asked in slices. A wait that is given up between two of them
 * asks all once more. */
static void test_wait_asks_in_slices(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  vh.script.sched.max_pieces = 2;
  wait_timed late[5];
  kin_wait_for things[5];
  for (size_t i = 0; i < 5; i++) {
    late[i] =
        (wait_timed){.vh = &vh, .at_ms = wait_rig_now_ms(&vh) + 100 + i / 4};
    things[i] = (kin_wait_for){
        .name = "late", .check = wait_timed_is_due, .data = &late[i]};
  }
  wait_ending e = {0};
  kin_wait *wait;
  assert_int_equal(wait_rig_open(&vh, &wait, things, 5, NULL, 0, &e), 0);
  script_run_deferred(&vh.script);
  assert_int_equal(late[1].asked, 1);
  assert_int_equal(late[2].asked, 0);
  script_run_deferred(&vh.script);
  assert_int_equal(late[3].asked, 1);
  assert_int_equal(late[4].asked, 0);
  script_run(&vh.script);
  assert_int_equal(late[0].asked, 1);
  assert_int_equal(late[4].asked, 1);
  script_advance(&vh.script, 100);
  assert_int_equal(late[0].asked, 2);
  assert_int_equal(late[4].asked, 2);
  assert_int_equal(e.calls, 0);
  assert_int_equal(kin_wait_cancel(wait, KIN_EAGAIN), 0);
  script_run(&vh.script);
  wait_ending_expect(&e, KIN_EAGAIN, "yyyyn");
  assert_int_equal(late[0].asked, 2);
  assert_int_equal(late[4].asked, 3);

  for (size_t i = 0; i < 5; i++) {
    late[i].asked = 0;
    late[i].at_ms = UINT64_MAX;
  }
  e = (wait_ending){0};
  assert_int_equal(wait_rig_open(&vh, &wait, things, 5, NULL, 0, &e), 0);
  script_run_deferred(&vh.script);
  late[0].at_ms = 0;
  assert_int_equal(kin_wait_cancel(wait, KIN_EAGAIN), 0);
  script_run(&vh.script);
  wait_ending_expect(&e, KIN_EAGAIN, "ynnnn");
  assert_int_equal(late[1].asked, 2);
  assert_int_equal(late[4].asked, 1);
  vh_finish(&vh);
}

/* SI-16, NR-08: informers tell, nothing is polled. */
static void test_wait_for_informers(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  mini_put(&vh.server, 1);
  kin_informer *pods;
  kin_informer *maps;
  assert_int_equal(vh_open_informer(&vh, &pods, "pods"), 0);
  assert_int_equal(vh_open_informer(&vh, &maps, "configmaps"), 0);
  const kin_wait_for things[] = {{.informer = pods},
                                 {.name = "my maps", .informer = maps}};
  wait_ending e = {0};
  kin_wait *wait;
  assert_int_equal(wait_rig_open(&vh, &wait, things, 2, "sync", 0, &e), 0);
  script_run(&vh.script);
  assert_true(kin__timers_next_ms(&vh.script.timers) == UINT64_MAX);
  assert_int_equal(kin_informer_start(maps), 0);
  mini_serve(&vh.server);
  assert_true(kin_informer_has_synced(maps));
  assert_int_equal(e.calls, 0);
  assert_int_equal(kin_informer_start(pods), 0);
  mini_serve(&vh.server);
  wait_ending_expect(&e, 0, NULL);
  assert_string_equal(vh.text, "I Waiting for sync\n"
                               "I Done waiting for sync: my maps\n"
                               "I Done waiting for sync: pods.v1\n");

  /* Both have: in the next iteration. */
  assert_int_equal(wait_rig_open(&vh, &wait, things, 2, NULL, 1, &e), 0);
  assert_int_equal(e.calls, 1);
  script_run(&vh.script);
  assert_int_equal(e.calls, 2);
  assert_int_equal(e.code, 0);
  vh_finish(&vh);
}

typedef struct heard {
  kin_listener *listener;
  const wait_ending *ending;
  int adds;
  int synced;
  bool closes;
} heard;

static void on_add(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  (void)event;
  ((heard *)data)->adds++;
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  heard *h = data;
  h->synced++;
  assert_int_equal(h->ending->calls, 0);
  if (h->closes) {
    kin_listener_close(h->listener);
  }
}

static void add_listener(kin_informer *informer, heard *h, const char *name) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = on_add;
  options.on_synced = on_synced;
  options.data = h;
  options.name = name;
  assert_int_equal(kin_informer_listen(informer, &options, &h->listener), 0);
}

/* SY-01: a listener is done when its last initial add and synced have been
 * delivered, not when its informer has synced. Its name says whose it is. */
static void test_wait_for_listeners(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  mini_put_first(&vh.server, 5);
  kin_informer *pods;
  assert_int_equal(vh_open_informer(&vh, &pods, "pods"), 0);
  wait_ending e = {0};
  heard quick = {.ending = &e};
  heard slow = {.ending = &e};
  add_listener(pods, &quick, "quick");
  add_listener(pods, &slow, "slow");
  kin_listener_pause(slow.listener);
  assert_int_equal(kin_informer_start(pods), 0);
  const kin_wait_for things[] = {{.listener = slow.listener},
                                 {.listener = quick.listener},
                                 {.informer = pods}};
  kin_wait *wait;
  assert_int_equal(wait_rig_open(&vh, &wait, things, 3, "it", 0, &e), 0);
  mini_serve(&vh.server);
  assert_int_equal(quick.synced, 1);
  assert_int_equal(e.calls, 0);
  kin_listener_resume(slow.listener);
  script_run(&vh.script);
  assert_int_equal(slow.adds, 5);
  assert_int_equal(e.calls, 1);
  assert_string_equal(vh.text,
                      "I Waiting for it\n"
                      "I Done waiting for it: pods.v1\n"
                      "I Done waiting for it: pods.v1 + event handler quick\n"
                      "I Done waiting for it: pods.v1 + event handler slow\n");
  assert_int_equal(e.code, 0);

  /* One that closes itself when it has synced, has synced. */
  e.calls = 0;
  heard brief = {.ending = &e, .closes = true};
  add_listener(pods, &brief, "brief");
  const kin_wait_for last = {.listener = brief.listener};
  assert_int_equal(wait_rig_open(&vh, &wait, &last, 1, NULL, 0, &e), 0);
  script_run(&vh.script);
  assert_int_equal(brief.synced, 1);
  wait_ending_expect(&e, 0, NULL);
  vh_finish(&vh);
}

/* SY-08: what is closed will never sync: the wait goes on for the others, and
 * ends with them, not before. The log does not say that it is done. */
static void test_wait_for_closed_ones(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  kin_informer *pods;
  kin_informer *maps;
  assert_int_equal(vh_open_informer(&vh, &pods, "pods"), 0);
  assert_int_equal(vh_open_informer(&vh, &maps, "configmaps"), 0);
  wait_ending e = {0};
  heard h = {.ending = &e};
  add_listener(maps, &h, "mine");
  const kin_wait_for things[] = {
      {.informer = pods}, {.informer = maps}, {.listener = h.listener}};
  kin_wait *wait;
  assert_int_equal(wait_rig_open(&vh, &wait, things, 3, "it", 0, &e), 0);
  kin_listener_close(h.listener);
  assert_int_equal(kin_informer_close(pods, NULL, NULL), 0);
  script_run(&vh.script);
  assert_int_equal(e.calls, 0);
  assert_int_equal(kin_informer_start(maps), 0);
  mini_serve(&vh.server);
  wait_ending_expect(&e, KIN_ECLOSED, "cyc");
  assert_string_equal(e.error,
                      "failed to wait for all: configmaps.v1 + event handler "
                      "mine, pods.v1: already closed or closing");
  assert_string_equal(vh.text,
                      "I Waiting for it\n"
                      "I Done waiting for it: configmaps.v1\n"
                      "I Stopped waiting for it: configmaps.v1 + event handler "
                      "mine, pods.v1: already closed or closing\n");
  vh_finish(&vh);
}

/* An informer that is closing when the wait begins. */
static void test_wait_for_one_that_is_closing(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  kin_informer *pods;
  assert_int_equal(vh_open_informer(&vh, &pods, "pods"), 0);
  assert_int_equal(kin_informer_close(pods, NULL, NULL), 0);
  const kin_wait_for thing = {.informer = pods};
  wait_ending e = {0};
  kin_wait *wait;
  assert_int_equal(wait_rig_open(&vh, &wait, &thing, 1, NULL, 0, &e), 0);
  script_run(&vh.script);
  wait_ending_expect(&e, KIN_ECLOSED, "c");
  vh_finish(&vh);
}

/* SY-08: an informer and a listener that had synced before they began to close
 * are done. */
static void test_wait_for_synced_ones_that_are_closing(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  kin_informer *pods;
  assert_int_equal(vh_open_informer(&vh, &pods, "pods"), 0);
  wait_ending e = {0};
  heard h = {.ending = &e};
  add_listener(pods, &h, "mine");
  assert_int_equal(kin_informer_start(pods), 0);
  mini_serve(&vh.server);
  assert_int_equal(h.synced, 1);
  kin_listener_close(h.listener);
  assert_int_equal(kin_informer_close(pods, NULL, NULL), 0);
  const kin_wait_for things[] = {{.informer = pods}, {.listener = h.listener}};
  kin_wait *wait;
  assert_int_equal(wait_rig_open(&vh, &wait, things, 2, NULL, 0, &e), 0);
  script_run(&vh.script);
  wait_ending_expect(&e, 0, "yy");
  vh_finish(&vh);
}

/* The client ends its waits before it ends. */
static void test_wait_ends_with_its_client(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  kin_informer *pods;
  assert_int_equal(vh_open_informer(&vh, &pods, "pods"), 0);
  wait_timed never = {.vh = &vh, .at_ms = UINT64_MAX};
  const kin_wait_for things[] = {
      {.name = "x", .check = wait_timed_is_due, .data = &never},
      {.informer = pods}};
  wait_ending one = {0};
  wait_ending other = {0};
  kin_wait *wait;
  assert_int_equal(wait_rig_open(&vh, &wait, &things[0], 1, NULL, 0, &one), 0);
  assert_int_equal(wait_rig_open(&vh, &wait, &things[1], 1, NULL, 0, &other),
                   0);
  vh_close(&vh);
  assert_int_equal(one.calls + other.calls, 0);
  kin_wait *late = wait;
  assert_int_equal(wait_rig_open(&vh, &late, things, 1, NULL, 0, &one),
                   KIN_ECLOSED);
  assert_null(late);
  vh_finish(&vh);
  wait_ending_expect(&one, KIN_ECLOSED, "n");
  wait_ending_expect(&other, KIN_ECLOSED, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wait_scenarios),
      cmocka_unit_test(test_wait_polls_checks),
      cmocka_unit_test(test_wait_stopped_by_a_check),
      cmocka_unit_test(test_wait_asks_in_slices),
      cmocka_unit_test(test_wait_for_informers),
      cmocka_unit_test(test_wait_for_listeners),
      cmocka_unit_test(test_wait_for_closed_ones),
      cmocka_unit_test(test_wait_for_one_that_is_closing),
      cmocka_unit_test(test_wait_for_synced_ones_that_are_closing),
      cmocka_unit_test(test_wait_ends_with_its_client),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
