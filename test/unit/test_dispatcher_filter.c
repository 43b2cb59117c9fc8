/* SPDX-License-Identifier: MIT */
/* Listeners that see only some objects. Proves EH-03, and SI-20 for them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/str.h"
#include "dispatch/listener.h"
#include "support/dispatch_rig.h"

static dispatch_rig rig;
static event_log log_a;
static event_log log_b;

static int setup(void **state) {
  (void)state;
  memset(&log_a, 0, sizeof log_a);
  memset(&log_b, 0, sizeof log_b);
  return rig_init(&rig, NULL);
}

static int teardown(void **state) {
  (void)state;
  rig_finish(&rig);
  return 0;
}

static void put(const char *name) {
  assert_int_equal(rig_put(&rig, name), 0);
}

/* Accepts odd versions: the rig counts them up, so a test decides by order. */
static bool is_odd(const kin_object *object, void *data) {
  (void)data;
  uint64_t version = 0;
  assert_true(kin__str_to_u64(kin_object_resource_version(object), &version));
  return version % 2 == 1;
}

static kin_listener_options odd_only(event_log *log) {
  kin_listener_options options = rig_logging(log);
  options.filter = is_odd;
  return options;
}

/* client-go TestTypedFilteringResourceEventHandler; EH-03: each pair of old and
 * new, accepted or not. */
static void test_updates(void **state) {
  (void)state;
  kin_listener_options options = odd_only(&log_a);
  rig_listen(&rig, &options);
  put("a"); /* 1: in */
  put("b"); /* 2: out */
  put("a"); /* 3: stays in */
  put("b"); /* 4: stays out */
  put("b"); /* 5: comes in */
  put("a"); /* 6: goes out */
  assert_int_equal(rig_synced(&rig), 0);
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! ~a1>3 +b5 -a3:filtered S:6#1");
}

static char asked[64];

static bool note_version(const kin_object *object, void *data) {
  (void)data;
  kin_str version = kin_object_resource_version(object);
  size_t length = strlen(asked);
  snprintf(asked + length, sizeof asked - length, " " KIN_STR_FORMAT,
           KIN_STR_ARG(version));
  return true;
}

/* EH-03: for an update the filter is asked about the new object first, then
 * about the old one, as in client-go. */
static void test_update_asks_new_before_old(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&log_a);
  options.filter = note_version;
  rig_listen(&rig, &options);
  put("a"); /* 1 */
  rig_run(&rig);
  asked[0] = '\0';
  put("a"); /* 2 */
  rig_run(&rig);
  assert_string_equal(asked, " 2 1");
}

static void test_deletes(void **state) {
  (void)state;
  kin_listener_options options = odd_only(&log_a);
  rig_listen(&rig, &options);
  put("a"); /* 1 */
  put("b"); /* 2 */
  assert_int_equal(rig_delete(&rig, "a"), 0);
  assert_int_equal(rig_delete(&rig, "b"), 0);
  rig_run(&rig);
  assert_non_null(strstr(log_a.text, "-a"));
  assert_null(strstr(log_a.text, "b"));
}

static void send_last(kin_object *cached, kin_object *last, uint32_t slot) {
  const kin__change gone = {.slot = slot,
                            .count = 1,
                            .notifications = {{.type = KIN_EVENT_DELETE,
                                               .reason = KIN_DELETE_WATCH,
                                               .object = last,
                                               .cached = cached}}};
  while (kin__dispatcher_reserve(&rig.dispatcher) == KIN__MORE) {
  }
  kin__dispatcher_send(&rig.dispatcher, &gone);
}

/* Tells that the object in that slot is gone, whose last state was `version`. */
static void send_delete(const char *name, uint32_t slot, unsigned version) {
  kin_object *cached =
      (kin_object *)kin_object_ref(kin_store_get_key(&rig.store, name));
  kin_object *last = rig_object(&rig, name, version);
  send_last(cached, last, slot);
  kin_object_unref(cached);
  kin_object_unref(last);
  rig_run(&rig);
}

/* EH-03: the delete of an object whose last state the filter judges otherwise
 * than the cached one: what counts is whether the listener has it. */
static void test_delete_is_decided_by_the_cached_state(void **state) {
  (void)state;
  kin_listener_options options = odd_only(&log_a);
  rig_listen(&rig, &options);
  put("a"); /* 1: in */
  put("b"); /* 2: out */
  rig_run(&rig);
  send_delete("a", 0, 4);
  event_log_expect(&log_a, "+a1! -a4:watch");
  send_delete("b", 1, 5);
  event_log_expect(&log_a, "");
}

/* The same where the filter is asked in a later step than the object went. */
static void test_delete_is_decided_later(void **state) {
  (void)state;
  kin_listener_options all = rig_logging(&log_b);
  rig_listen(&rig, &all);
  kin_listener_options options = odd_only(&log_a);
  rig_listen(&rig, &options);
  put("a"); /* 1: in */
  rig_run(&rig);
  rig.sched.max_pieces = 1;
  kin_object *cached = rig_object(&rig, "a", 3);
  kin_object *last = rig_object(&rig, "a", 4);
  send_last(cached, last, 0);
  kin_object_unref(cached);
  kin_object_unref(last);
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! -a4:watch");
}

static void test_replay_and_resync(void **state) {
  (void)state;
  put("a"); /* 1 */
  put("b"); /* 2 */
  put("c"); /* 3 */
  assert_int_equal(rig_synced(&rig), 0);
  kin_listener_options options = odd_only(&log_a);
  options.resync_ms = 1000;
  rig_listen(&rig, &options);
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! +c3! S:3#2");
  memset(&log_a, 0, sizeof log_a);
  rig_advance(&rig, 1000);
  assert_null(strstr(log_a.text, "b"));
  assert_non_null(strstr(log_a.text, "a1"));
  assert_non_null(strstr(log_a.text, "c3"));
}

/* Others are not concerned, and coalescing works on what the filter let
 * pass. */
static void test_with_others_and_paused(void **state) {
  (void)state;
  kin_listener_options options = odd_only(&log_a);
  kin_listener *filtered = rig_listen(&rig, &options);
  kin_listener_options all = rig_logging(&log_b);
  rig_listen(&rig, &all);
  kin_listener_pause(filtered);
  put("a"); /* 1: in */
  put("a"); /* 2: out: add and delete annul each other */
  put("b"); /* 3: in */
  put("b"); /* 4: out */
  put("b"); /* 5: in */
  rig_run(&rig);
  event_log_expect(&log_b, "+a1! ~a1>2 +b3! ~b3>4 ~b4>5");
  kin_listener_resume(filtered);
  rig_run(&rig);
  event_log_expect(&log_a, "+b5");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_updates),
      TEST(test_update_asks_new_before_old),
      TEST(test_deletes),
      TEST(test_delete_is_decided_by_the_cached_state),
      TEST(test_delete_is_decided_later),
      TEST(test_replay_and_resync),
      TEST(test_with_others_and_paused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
