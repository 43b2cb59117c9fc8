/* SPDX-License-Identifier: MIT */

/* Waiting for conditions on a virtual clock. Proves TW-06 and TW-07. What the
 * watchers below do is proved by their own tests. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include "support/client_world.h"
#include "support/until_world.h"

#define ADDED RW_FRAME("ADDED", RW_OBJECT("6"))
#define MODIFIED RW_FRAME("MODIFIED", RW_OBJECT("7"))
#define DELETED RW_FRAME("DELETED", RW_OBJECT("8"))
#define GONE RW_FRAME("ERROR", RW_STATUS("410", "Gone"))

/* --- Conditions ----------------------------------------------------------- */

/* TW-06. client-go TestUntil: one after the other; what comes later is not
 * asked about. */
static void test_until(void **state) {
  (void)state;
  until_world w;
  uw_open(&w, "AM", "5");
  uw_head(&w);
  uw_send(&w, MODIFIED ADDED DELETED MODIFIED DELETED);
  uw_expect(&w, 0, 2, "M:x@7");
  assert_string_equal(w.asked, "M0 A0 A1 D1 M1 ");
  uw_finish(&w);
}

/* TW-06. client-go TestUntilMultipleConditions: one event may be enough for
 * all. */
static void test_until_one_event_for_two_conditions(void **state) {
  (void)state;
  until_world w;
  uw_open(&w, "AA", "5");
  uw_head(&w);
  uw_send(&w, ADDED);
  uw_expect(&w, 0, 2, "A:x@6");
  assert_string_equal(w.asked, "A0 A1 ");
  uw_finish(&w);
}

/* TW-06. client-go TestUntilMultipleConditionsFail: a time-out tells the last
 * event, and how far it has come. */
static void test_until_times_out(void **state) {
  (void)state;
  until_world w;
  uw_init(&w, "AAD", 0);
  w.options.resource_version = "5";
  w.options.timeout_ms = 10000;
  assert_int_equal(uw_try_open(&w, false), 0);
  uw_head(&w);
  uw_send(&w, ADDED);
  uw_pass(&w, 9999);
  assert_int_equal(w.results, 0);
  uw_pass(&w, 1);
  uw_expect(&w, KIN_ETIMEDOUT, 2, "A:x@6");
  assert_int_equal(w.at_ms, 10000);
  uw_finish(&w);
}

/* TW-06, TW-07. client-go TestUntilTimeout: 0 is no limit; and one that is not
 * reached has no effect. */
static void test_until_without_timeout(void **state) {
  (void)state;
  static const uint64_t timeouts_ms[] = {0, 3600001, UINT64_MAX};
  for (size_t i = 0; i < 3; i++) {
    until_world w;
    uw_init(&w, "AM", 0);
    w.options.resource_version = "5";
    w.options.timeout_ms = timeouts_ms[i];
    assert_int_equal(uw_try_open(&w, false), 0);
    uw_head(&w);
    uw_send(&w, ADDED);
    uw_pass(&w, 3600000);
    assert_int_equal(w.results, 0);
    uw_send(&w, MODIFIED);
    uw_expect(&w, 0, 2, "M:x@7");
    uw_finish(&w);
  }
}

/* TW-06. client-go TestUntilErrorCondition: a condition's error is the result,
 * with the event it was asked about. */
static void test_until_condition_fails(void **state) {
  (void)state;
  until_world w;
  uw_open(&w, "A!", "5");
  uw_head(&w);
  uw_send(&w, ADDED MODIFIED);
  uw_expect(&w, KIN_EUNEXPECTED, 1, "A:x@6");
  assert_string_equal(w.asked, "A0 A1 ");
  uw_finish(&w);
}

/* Nothing to wait for; still not inside the call that begins. */
static void test_until_without_conditions(void **state) {
  (void)state;
  static const char *const versions[] = {"5", NULL};
  for (size_t i = 0; i < 2; i++) {
    until_world w;
    uw_open(&w, "", versions[i]);
    uw_pass(&w, 0);
    uw_expect(&w, 0, 0, "");
    uw_finish(&w);
  }
}

/* --- The watch ends or fails ---------------------------------------------- */

/* TW-06: without retries the end of the watch is the end, and what it failed
 * with is an event before that. */
static void test_until_watch_closed(void **state) {
  (void)state;
  static const struct {
    bool has_event;
    char how;
    int code;
    const char *event;
  } rows[] = {
      {false, 'e', KIN_EEOF, ""},
      {true, 'e', KIN_EEOF, "A:x@6"},
      {true, 'b', KIN_EEOF, "E:0/"},
      {true, 's', KIN_ESTATUS, "E:500/InternalError"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    until_world w;
    uw_init(&w, "AM", 0);
    w.options.resource_version = "5";
    w.options.without_retry = true;
    assert_int_equal(uw_try_open(&w, false), 0);
    uw_head(&w);
    uw_send(&w, rows[i].has_event ? ADDED : "\n");
    if (rows[i].how == 'e') {
      script_end(&w.vh.script, "watch=true");
    } else if (rows[i].how == 'b') {
      script_break(&w.vh.script, "watch=true", KIN_EEOF, KIN_CLASS_CONNECT);
    } else {
      uw_send(&w, RW_FRAME("ERROR", RW_STATUS("500", "InternalError")));
    }
    uw_expect(&w, rows[i].code, rows[i].has_event, rows[i].event);
    uw_finish(&w);
  }
}

/* A condition is shown why, and may even wait for it. */
static void test_until_position_is_lost(void **state) {
  (void)state;
  static const char *const conditions[] = {"M", "E"};
  for (size_t i = 0; i < 2; i++) {
    until_world w;
    uw_open(&w, conditions[i], "5");
    uw_head(&w);
    uw_send(&w, ADDED GONE);
    uw_expect(&w, i == 0 ? KIN_EGONE : 0, i, "E:410/Gone");
    assert_string_equal(w.asked, "A0 E0 ");
    uw_finish(&w);
  }
}

/* With retries failures are only told of, unless the program has enough. */
static void test_until_survives_failures(void **state) {
  (void)state;
  for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
    until_world w;
    uw_open(&w, "AM", "5");
    uw_head(&w);
    uw_send(&w, ADDED);
    w.answer = is_stopped != 0 ? KIN_STOP : KIN_RETRY;
    script_break(&w.vh.script, "watch=true", KIN_EEOF, KIN_CLASS_CONNECT);
    assert_int_equal(w.failures, 1);
    if (is_stopped == 0) {
      uw_pass(&w, 1000);
      script_expect(&w.vh.script, "&resourceVersion=6&");
      uw_head(&w);
      uw_send(&w, MODIFIED);
    }
    uw_expect(&w, is_stopped != 0 ? KIN_EEOF : 0, is_stopped != 0 ? 1 : 2,
              is_stopped != 0 ? "A:x@6" : "M:x@7");
    uw_finish(&w);
  }
}

/* --- With a cache --------------------------------------------------------- */

/* TW-07. client-go TestUntilWithSync, "doesn't wait for sync with no
 * precondition" and "waits indefinitely with precondition if it can't sync":
 * the list never comes. */
static void test_until_synced_cannot_sync(void **state) {
  (void)state;
  until_world w;
  uw_open_with(&w, "*", 1);
  uw_pass(&w, 3600000);
  assert_int_equal(w.results + w.preconditions, 0);
  assert_int_equal(kin_until_cancel(w.until, KIN_ETIMEDOUT), 0);
  uw_pass(&w, 0);
  uw_expect(&w, KIN_ETIMEDOUT, 0, "");
  uw_finish(&w);
  uw_init(&w, "*", 0);
  w.options.timeout_ms = 500;
  assert_int_equal(uw_try_open(&w, true), 0);
  uw_pass(&w, 500);
  uw_expect(&w, KIN_ETIMEDOUT, 0, "");
  assert_string_equal(w.asked, "");
  uw_finish(&w);
}

/* Without a precondition conditions are asked before all lists are there: the
 * other namespace never answers. */
static void test_until_synced_does_not_wait_for_sync(void **state) {
  (void)state;
  static const char *const namespaces[] = {"even", "odd"};
  until_world w;
  uw_init(&w, "A", 0);
  w.resource.namespaces = namespaces;
  w.resource.namespace_count = 2;
  assert_int_equal(uw_try_open(&w, true), 0);
  script_respond(&w.vh.script, "/even/", 200,
                 "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":"
                 "\"9\"},\"items\":[" RW_OBJECT("6") "]}");
  uw_expect(&w, 0, 1, "A:x@6");
  uw_finish(&w);
}

/* TW-07. client-go TestUntilWithSync, "precondition can stop the loop" and
 * "precondition lets it proceed to regular condition"; it is asked once, and
 * may fail. */
static void test_until_synced_precondition(void **state) {
  (void)state;
  static const struct {
    int answer;
    const char *conditions;
    int code;
    size_t held;
    const char *event;
    const char *asked;
  } rows[] = {
      {1, "!", 0, 0, "", ""},
      {0, "A", 0, 1, "A:odd/p1@101", "A0 "},
      {0, "", 0, 0, "", ""},
      {KIN_EKEY, "A", KIN_EKEY, 0, "", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    until_world w;
    uw_open_with(&w, rows[i].conditions, rows[i].answer);
    mini_put(&w.vh.server, 1);
    mini_serve(&w.vh.server);
    uw_expect(&w, rows[i].code, rows[i].held, rows[i].event);
    assert_string_equal(w.asked, rows[i].asked);
    assert_int_equal(w.preconditions, 1);
    uw_finish(&w);
  }
}

/* TW-07: it outlives a lost position, which may hide a state but not the
 * last. */
static void test_until_synced_survives_410(void **state) {
  (void)state;
  until_world w;
  uw_open_with(&w, "AD", 0);
  mini_put(&w.vh.server, 1);
  mini_serve(&w.vh.server);
  assert_string_equal(w.asked, "A0 A1 ");
  mini_break_watches(&w.vh.server);
  mini_put(&w.vh.server, 1);
  mini_delete(&w.vh.server, 1);
  mini_compact(&w.vh.server);
  mini_pass(&w.vh.server, 5000);
  uw_expect(&w, 0, 2, "D:odd/p1@101");
  uw_finish(&w);
}

/* --- Giving up ------------------------------------------------------------ */

static void test_until_cancel(void **state) {
  (void)state;
  static const char *const versions[] = {"5", NULL};
  for (size_t i = 0; i < 2; i++) {
    until_world w;
    uw_open(&w, "*", versions[i]);
    assert_int_equal(kin_until_cancel(w.until, 0), KIN_EINVAL);
    assert_int_equal(kin_until_cancel(w.until, UV_ECANCELED), 0);
    assert_int_equal(kin_until_cancel(w.until, UV_ECANCELED), KIN_EALREADY);
    assert_int_equal(w.results, 0); /* from a later iteration */
    uw_pass(&w, 0);
    uw_expect(&w, UV_ECANCELED, 0, "");
    uw_finish(&w);
  }
}

static void test_until_host_closes(void **state) {
  (void)state;
  static const char *const versions[] = {"5", NULL};
  for (size_t i = 0; i < 2; i++) {
    until_world w;
    uw_open(&w, "*", versions[i]);
    vh_close(&w.vh);
    assert_int_equal(kin_until_cancel(w.until, UV_ECANCELED), KIN_EALREADY);
    assert_int_equal(w.results, 0);
    uw_pass(&w, 0);
    uw_expect(&w, KIN_ECLOSED, 0, "");
    uw_finish(&w);
  }
}

static void give_up_at(until_world *w) {
  if (w->calls != w->at_call) {
    return;
  }
  if (w->how == 0) {
    assert_int_equal(kin_until_cancel(w->until, UV_ECANCELED), 0);
  } else {
    vh_close(&w->vh);
  }
  assert_int_equal(kin_until_cancel(w->until, UV_ECANCELED), KIN_EALREADY);
}

/* Whatever a callback returns after it has given up, that is the result, and
 * nothing is asked any more. */
static void test_until_give_up_in_each_callback(void **state) {
  (void)state;
  for (int how = 0; how < 2; how++) {
    int reached = 0;
    for (int at_call = 1;; at_call++) {
      until_world w;
      uw_open(&w, "AMD", "5");
      w.then = give_up_at;
      w.how = how;
      w.at_call = at_call;
      uw_head(&w);
      uw_send(&w, ADDED MODIFIED MODIFIED);
      if (w.results == 0) {
        script_break(&w.vh.script, "watch=true", KIN_EEOF, KIN_CLASS_CONNECT);
        uw_pass(&w, 1000);
      }
      if (w.results == 0) {
        uw_head(&w);
        uw_send(&w, DELETED);
      }
      bool was_reached = w.code != 0;
      if (was_reached) {
        assert_int_equal(w.calls, at_call);
        assert_int_equal(w.code, how == 0 ? UV_ECANCELED : KIN_ECLOSED);
        reached++;
      }
      uw_finish(&w);
      if (!was_reached) {
        break;
      }
    }
    assert_int_equal(reached, 7); /* A0 A1 M1 M2 M2, a failure, D2 */
  }
}

static void test_until_synced_give_up_in_each_callback(void **state) {
  (void)state;
  for (int how = 0; how < 2; how++) {
    for (int at_call = 1; at_call <= 4; at_call++) {
      until_world w;
      uw_open_with(&w, "AM", 0);
      w.then = give_up_at;
      w.how = how;
      w.at_call = at_call;
      mini_put(&w.vh.server, 1);
      mini_serve(&w.vh.server);
      mini_put(&w.vh.server, 1);
      mini_serve(&w.vh.server);
      uw_expect(&w, how == 0 ? UV_ECANCELED : KIN_ECLOSED, (size_t)at_call / 2,
                at_call == 1  ? ""
                : at_call < 4 ? "A:odd/p1@101"
                              : "M:odd/p1@102");
      assert_int_equal(w.calls, at_call);
      uw_finish(&w);
    }
  }
}

/* One event for 256 conditions. */
static void test_until_most_conditions(void **state) {
  (void)state;
  kin_until_condition conditions[256];
  until_world w;
  uw_init(&w, "A", 0);
  for (size_t i = 0; i < 256; i++) {
    conditions[i] = w.conditions[0];
  }
  w.options.conditions = conditions;
  w.options.condition_count = 256;
  w.options.resource_version = "5";
  assert_int_equal(uw_try_open(&w, false), 0);
  memset(conditions, 0, sizeof conditions); /* copied */
  uw_head(&w);
  uw_send(&w, ADDED);
  uw_expect(&w, 0, 256, "A:x@6");
  uw_finish(&w);
}

/* --- Bad input and memory ------------------------------------------------- */

static void test_until_refuses(void **state) {
  (void)state;
  until_world w;
  uw_init(&w, "A", 0);
  assert_int_equal(uw_try_open(&w, false), KIN_EINVAL); /* no version */
  w.options.resource_version = "0";
  assert_int_equal(uw_try_open(&w, false), KIN_EINVAL);
  w.options.resource_version = "5";
  kin_until_cb cb = w.options.cb;
  w.options.cb = NULL;
  assert_int_equal(uw_try_open(&w, false), KIN_EINVAL);
  w.options.cb = cb;
  w.options.condition_count = 257;
  assert_int_equal(uw_try_open(&w, false), KIN_ETOOBIG);
  w.options.condition_count = 2;
  assert_int_equal(uw_try_open(&w, false), KIN_EINVAL);
  w.options.condition_count = 1;
  w.options.conditions = NULL;
  assert_int_equal(uw_try_open(&w, false), KIN_EINVAL);
  w.options.conditions = w.conditions;
  w.options.on_error = NULL;
  assert_int_equal(uw_try_open(&w, true), KIN_EINVAL); /* a version */
  w.options.resource_version = NULL;
  w.options.without_retry = true;
  assert_int_equal(uw_try_open(&w, true), KIN_EINVAL);
  w.options.without_retry = false;
  w.options.on_error = watch_log_on_error;
  assert_int_equal(uw_try_open(&w, true), KIN_EINVAL);
  w.options.on_error = NULL;
  w.resource.plural = "";
  assert_int_equal(uw_try_open(&w, true), KIN_EINVAL);
  vh_close(&w.vh);
  assert_int_equal(uw_try_open(&w, true), KIN_ECLOSED);
  assert_null(w.until);
  vh_finish(&w.vh);
}

/* It ends with the truth, or does not begin. */
static void sweep(bool is_synced) {
  bool has_failed = true;
  for (size_t n = 1; has_failed; n++) {
    until_world w;
    uw_init(&w, "AM", n);
    mini_put(&w.vh.server, 0);
    w.options.resource_version = is_synced ? NULL : "101";
    int err = uw_try_open(&w, is_synced);
    if (err == 0) {
      mini_put(&w.vh.server, 1);
      mini_pass(&w.vh.server, 10000);
      mini_put(&w.vh.server, 1);
      mini_pass(&w.vh.server, 10000);
      uw_expect(&w, 0, 2, "M:odd/p1@103");
    } else {
      assert_int_equal(err, KIN_ENOMEM);
      script_run(&w.vh.script);
    }
    has_failed = fail_alloc_has_failed(&w.vh.memory);
    assert_int_equal(w.results, err == 0);
    vh_finish(&w.vh);
  }
}

static void test_until_fails_cleanly(void **state) {
  (void)state;
  sweep(false);
  sweep(true);
}

/* --- A real client -------------------------------------------------------- */

typedef struct asking_client {
  client_world base;
  int results;
} asking_client;

static void on_client_result(const kin_until_result *result, void *data) {
  asking_client *w = data;
  assert_non_null(w->base.client);
  w->results++;
  assert_int_equal(result->code, 0);
  assert_int_equal(result->event->type, KIN_WATCH_ADDED);
  if (w->results == 2) {
    assert_int_equal(client_world_close(&w->base), 0);
  }
}

static int holds(const kin_watch_event *event, void *data) {
  (void)event;
  (void)data;
  return 1;
}

static void test_until_in_a_client(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = ANSWER_TO_END ADDED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_TO_END ANSWER_PODS("9", RW_OBJECT("6")),
       .then = LOOP_CLOSE}};
  asking_client w = {.results = 0};
  client_world_serve(&w.base, replies, 2);
  assert_int_equal(client_world_open_client(&w.base), 0);
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "pods";
  kin_until_condition condition = {holds, NULL};
  kin_until_options options = KIN_UNTIL_OPTIONS_INIT;
  options.resource = &resource;
  options.conditions = &condition;
  options.condition_count = 1;
  options.cb = on_client_result;
  options.data = &w;
  options.resource_version = "5";
  assert_int_equal(kin_until_open(NULL, w.base.client, &options), 0);
  CLIENT_UNTIL(&w.base, w.results > 0);
  options.resource_version = NULL;
  kin_until *until;
  assert_int_equal(kin_until_open_synced(&until, w.base.client, &options), 0);
  assert_non_null(until);
  options.size = 0;
  assert_int_equal(kin_until_open(&until, w.base.client, &options), KIN_EINVAL);
  assert_null(until);
  CLIENT_UNTIL(&w.base, w.base.client == NULL);
  client_world_finish(&w.base);
  assert_int_equal(w.results, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_until),
      cmocka_unit_test(test_until_one_event_for_two_conditions),
      cmocka_unit_test(test_until_times_out),
      cmocka_unit_test(test_until_without_timeout),
      cmocka_unit_test(test_until_condition_fails),
      cmocka_unit_test(test_until_without_conditions),
      cmocka_unit_test(test_until_watch_closed),
      cmocka_unit_test(test_until_position_is_lost),
      cmocka_unit_test(test_until_survives_failures),
      cmocka_unit_test(test_until_synced_cannot_sync),
      cmocka_unit_test(test_until_synced_does_not_wait_for_sync),
      cmocka_unit_test(test_until_synced_precondition),
      cmocka_unit_test(test_until_synced_survives_410),
      cmocka_unit_test(test_until_cancel),
      cmocka_unit_test(test_until_host_closes),
      cmocka_unit_test(test_until_give_up_in_each_callback),
      cmocka_unit_test(test_until_synced_give_up_in_each_callback),
      cmocka_unit_test(test_until_most_conditions),
      cmocka_unit_test(test_until_refuses),
      cmocka_unit_test(test_until_fails_cleanly),
      cmocka_unit_test(test_until_in_a_client),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
