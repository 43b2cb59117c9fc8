/* SPDX-License-Identifier: MIT */
/* Fan-out to listeners: who gets what, when, and how much at a time. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "dispatch/listener.h"
#include "support/dispatch_rig.h"

static dispatch_rig rig;
static event_log log_a;
static event_log log_b;

static int setup(void **state) {
  (void)state;
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

static void del(const char *name) {
  assert_int_equal(rig_delete(&rig, name), 0);
}

/* EH-01, SI-22: registered before the start, everything arrives, in order. */
static void test_events_arrive_in_order(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&log_a);
  kin_listener *listener = rig_listen(&rig, &options);
  put("a");
  put("b");
  assert_int_equal(rig_synced(&rig), 0);
  put("a");
  assert_int_equal(rig_recreate(&rig, "b"), 0);
  del("a");
  assert_string_equal(log_a.text, ""); /* PL-07: never from inside a change */
  assert_int_equal(kin_listener_pending(listener), 7);
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! +b2! S:2#2 ~a1>3 -b2:recreated +b4 -a3:watch");
  assert_int_equal(kin_listener_pending(listener), 0);
}

typedef struct probe {
  size_t calls;
  size_t wrong;
} probe;

static void probe_cb(struct kin_informer *informer, const kin_event *event,
                     void *data) {
  probe *p = data;
  const kin_object *cached =
      kin_store_get(&rig.store, kin_object_key(event->object));
  bool is_in_store = event->type != KIN_EVENT_DELETE;
  p->wrong += informer != RIG_INFORMER || (cached != NULL) != is_in_store ||
              (is_in_store && cached != event->object);
  p->calls++;
}

/* SI-13: the store shows the change before a handler is told. */
static void test_store_shows_the_change(void **state) {
  (void)state;
  probe p = {0};
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = probe_cb;
  options.data = &p;
  rig_listen(&rig, &options);
  put("a");
  rig_run(&rig);
  put("a");
  rig_run(&rig);
  del("a");
  rig_run(&rig);
  assert_int_equal(p.calls, 3);
  assert_int_equal(p.wrong, 0);
}

/* EH-02: each slot may be empty; what nobody wants is not queued. */
static void test_empty_slots_are_skipped(void **state) {
  (void)state;
  for (unsigned mask = 0; mask < 8; mask++) {
    kin_listener_options options = rig_logging(&log_a);
    options.on_add = mask & 1 ? event_log_cb : NULL;
    options.on_update = mask & 2 ? event_log_cb : NULL;
    options.on_delete = mask & 4 ? event_log_cb : NULL;
    options.on_synced = options.on_relisted = NULL;
    kin_listener *listener = rig_listen(&rig, &options);
    rig_run(&rig); /* ends the replay of nothing */
    rig.version = 0;
    put("a");
    put("a");
    assert_int_equal(rig_relisted(&rig, "", "1", 1), 0);
    del("a");
    size_t wanted = (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1);
    assert_int_equal(kin_listener_pending(listener), wanted);
    rig_run(&rig);
    char expected[64];
    snprintf(expected, sizeof expected, "%s%s%s%s%s", mask & 1 ? "+a1!" : "",
             (mask & 1) != 0 && mask > 1 ? " " : "", mask & 2 ? "~a1>2" : "",
             (mask & 2) != 0 && mask > 3 ? " " : "",
             mask & 4 ? "-a2:watch" : "");
    event_log_expect(&log_a, expected);
    kin_listener_close(listener);
    rig_run(&rig);
  }
}

/* client-go TestSharedInformerMultipleRegistration; SI-07: every registration
 * is independent. */
static void test_registrations_are_independent(void **state) {
  (void)state;
  kin_listener_options a = rig_logging(&log_a);
  kin_listener_options b = rig_logging(&log_b);
  kin_listener *first = rig_listen(&rig, &a);
  kin_listener *second = rig_listen(&rig, &a);
  rig_listen(&rig, &b);
  assert_ptr_not_equal(first, second);
  put("a");
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! +a1!");
  event_log_expect(&log_b, "+a1!");
  kin_listener_close(first);
  put("a");
  rig_run(&rig);
  event_log_expect(&log_a, "~a1>2");
  event_log_expect(&log_b, "~a1>2");
}

/* A listener that nobody keeps a handle of lives as long as the dispatcher. */
static void test_handle_is_optional(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&log_a);
  assert_int_equal(kin__dispatcher_add(&rig.dispatcher, &options, NULL), 0);
  put("a");
  rig_run(&rig);
  event_log_expect(&log_a, "+a1!");
}

static void test_bad_options_are_refused(void **state) {
  (void)state;
  kin_listener *listener = (kin_listener *)&rig;
  assert_int_equal(kin__dispatcher_add(&rig.dispatcher, NULL, &listener),
                   KIN_EINVAL);
  assert_null(listener);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.size = 0;
  assert_int_equal(kin__dispatcher_add(&rig.dispatcher, &options, &listener),
                   KIN_EINVAL);
  struct {
    kin_listener_options options;
    char future[8];
  } newer = {KIN_LISTENER_OPTIONS_INIT, {0}};
  newer.options.size = sizeof newer;
  newer.future[0] = 1;
  assert_int_equal(
      kin__dispatcher_add(&rig.dispatcher, &newer.options, &listener),
      KIN_ENOTSUP);
  newer.future[0] = 0;
  assert_int_equal(
      kin__dispatcher_add(&rig.dispatcher, &newer.options, &listener), 0);
  assert_non_null(listener);
}

/* SY-01: synced is what has been delivered, not what is queued. */
static void test_synced_latches_when_delivered(void **state) {
  (void)state;
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT; /* no slot at all */
  kin_listener *mute = rig_listen(&rig, &options);
  options = rig_logging(&log_a);
  kin_listener *listener = rig_listen(&rig, &options);
  put("a");
  rig_run(&rig);
  assert_false(kin_listener_has_synced(listener));
  assert_int_equal(rig_synced(&rig), 0);
  assert_int_equal(rig_synced(&rig), 0); /* once */
  kin_listener_pause(listener);
  rig_run(&rig);
  assert_false(kin_listener_has_synced(listener));
  assert_true(kin_listener_has_synced(mute));
  kin_listener_resume(listener);
  rig_run(&rig);
  assert_true(kin_listener_has_synced(listener));
  event_log_expect(&log_a, "+a1! S:1#1");
}

static void test_synced_without_version(void **state) {
  (void)state;
  rig.dispatcher.synced_version = NULL;
  kin_listener_options options = rig_logging(&log_a);
  rig_listen(&rig, &options);
  assert_int_equal(rig_synced(&rig), 0);
  rig_run(&rig);
  event_log_expect(&log_a, "S:#0");
}

/* A handler that is late is told of the list that made the informer synced, not
 * of what has become of its content since (SY-01). */
static void test_synced_tells_its_own_list(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&log_a);
  kin_listener *listener = rig_listen(&rig, &options);
  kin_listener_options mute = options;
  mute.on_add = mute.on_update = mute.on_delete = NULL;
  mute.data = &log_b;
  kin_listener *late = rig_listen(&rig, &mute);
  put("a");
  kin_listener_pause(listener);
  kin_listener_pause(late);
  assert_int_equal(rig_synced(&rig), 0);
  put("b");
  put("c");
  rig_run(&rig);
  kin_listener_resume(listener);
  kin_listener_resume(late);
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! S:1#1 +b2 +c3");
  event_log_expect(&log_b, "S:1#1");
}

static void test_relisted_tells_scope_and_version(void **state) {
  (void)state;
  kin_listener_options a = rig_logging(&log_a);
  kin_listener_options b = rig_logging(&log_b);
  rig_listen(&rig, &a);
  b.on_relisted = NULL;
  rig_listen(&rig, &b);
  assert_int_equal(rig_synced(&rig), 0);
  char version[] = "17";
  assert_int_equal(rig_relisted(&rig, "ns", version, 3), 0);
  version[0] = 'x'; /* it was copied */
  put("a");
  rig_run(&rig);
  event_log_expect(&log_a, "S:0#0 R:ns@17#0 +a1");
  event_log_expect(&log_b, "S:0#0 +a1");
}

/* Changes may come between the last initial add and synced; no initial add
 * comes after it. */
static void test_synced_comes_after_changes(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&log_a);
  rig_listen(&rig, &options);
  put("a");
  put("a");
  assert_int_equal(kin__dispatcher_synced(&rig.dispatcher), 0);
  put("b");
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! ~a1>2 S:2#1 +b3");
}

/* One scope lists for the second time before another has listed at all: who
 * still waits for synced is not told of a relist (SY-01). */
static void test_relisted_does_not_come_before_synced(void **state) {
  (void)state;
  kin_listener_options a = rig_logging(&log_a);
  rig_listen(&rig, &a);
  put("a");
  assert_int_equal(rig_relisted(&rig, "ns", "17", 1), 0);
  assert_int_equal(rig_synced(&rig), 0);
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! S:1#1");
}

/* SI-14, SI-15: what a relist found unchanged goes to those who asked. */
static void test_unchanged_only_for_who_asked(void **state) {
  (void)state;
  kin_listener_options a = rig_logging(&log_a);
  kin_listener_options b = rig_logging(&log_b);
  rig_listen(&rig, &a);
  assert_false(kin__dispatcher_wants_unchanged(&rig.dispatcher));
  b.relist_updates = true;
  kin_listener *listener = rig_listen(&rig, &b);
  assert_true(kin__dispatcher_wants_unchanged(&rig.dispatcher));
  put("a");
  assert_int_equal(rig_unchanged(&rig, "a"), 0);
  rig_run(&rig);
  event_log_expect(&log_a, "+a1!");
  event_log_expect(&log_b, "+a1! ~a1>1");
  kin_listener_close(listener);
  assert_false(kin__dispatcher_wants_unchanged(&rig.dispatcher));
  b.on_update = NULL; /* in vain */
  rig_listen(&rig, &b);
  assert_false(kin__dispatcher_wants_unchanged(&rig.dispatcher));
}

/* While paused, changes are coalesced; none is lost. */
static void test_pause_coalesces(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&log_a);
  kin_listener *listener = rig_listen(&rig, &options);
  put("a");
  kin_listener_pause(listener);
  kin_listener_pause(listener);
  for (int i = 0; i < 100; i++) {
    put("a");
    put("b");
  }
  del("a");
  rig_run(&rig);
  assert_string_equal(log_a.text, "");
  assert_int_equal(kin_listener_pending(listener), 3);
  kin_listener_resume(listener);
  assert_string_equal(log_a.text, "");
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! -a200:watch +b201!");
  put("b");
  put("b");
  rig_run(&rig);
  event_log_expect(&log_a, "~b201>203 ~b203>204");
}

static void test_exact_limit(void **state) {
  (void)state;
  static const struct {
    uint32_t limit;
    size_t pending; /* after 5,000 changes of one key */
  } cases[] = {{0, 4097}, {10, 11}, {KIN_NEVER, 5000}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
    probe p = {0};
    options.on_add = options.on_update = probe_cb;
    options.data = &p;
    options.exact_limit = cases[i].limit;
    kin_listener *listener = rig_listen(&rig, &options);
    rig_run(&rig);
    p.calls = 0;
    for (int n = 0; n < 5000; n++) {
      put("a");
    }
    assert_int_equal(kin_listener_pending(listener), cases[i].pending);
    assert_int_equal(rig_pending(&rig), cases[i].pending);
    rig_run(&rig);
    assert_int_equal(p.calls, cases[i].pending);
    assert_int_equal(rig_pending(&rig), 0);
    kin_listener_close(listener);
    rig_run(&rig);
  }
}

static void slow_cb(struct kin_informer *informer, const kin_event *event,
                    void *data) {
  (void)informer;
  (void)event;
  rig.now_ns += 40000;
  ++*(size_t *)data;
}

/* SI-20: a step is a slice, so a slow listener delays nobody for long. */
static void test_step_is_a_slice_of_time(void **state) {
  (void)state;
  size_t slow = 0;
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = slow_cb;
  options.data = &slow;
  rig_listen(&rig, &options);
  probe p = {0};
  options.on_add = probe_cb;
  options.data = &p;
  rig_listen(&rig, &options);
  for (int i = 0; i < 100; i++) {
    char name[16];
    snprintf(name, sizeof name, "k%d", i);
    put(name);
  }
  assert_true(rig_step(&rig));
  assert_in_range(slow, 2, 3); /* 50 us are two of 40 us */
  rig_step(&rig);
  assert_int_equal(p.calls, 100);
  assert_int_equal(rig.handler_ns, slow * 40000);
  rig_run(&rig);
  assert_int_equal(slow, 100);
  assert_int_equal(rig.handler_ns, 100 * 40000);
}

/* A step ends even if time stands still. */
static void test_step_is_bounded_without_time(void **state) {
  (void)state;
  probe p = {0};
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_update = probe_cb;
  options.data = &p;
  options.exact_limit = KIN_NEVER;
  rig_listen(&rig, &options);
  for (int i = 0; i < 5000; i++) {
    put("a");
  }
  assert_true(rig_step(&rig));
  assert_in_range(p.calls, 500, 1100);
  rig_run(&rig);
  assert_int_equal(p.calls, 4999);
}

/* SI-08, SI-09: what is queued is dropped, nothing comes any more. */
static void test_close_drops_what_is_queued(void **state) {
  (void)state;
  kin_listener_options a = rig_logging(&log_a);
  kin_listener_options b = rig_logging(&log_b);
  a.resync_ms = 1000;
  kin_listener *listener = rig_listen(&rig, &a);
  rig_listen(&rig, &b);
  put("a");
  kin_listener_close(listener);
  kin_listener_close(NULL);
  put("b");
  assert_int_equal(rig_synced(&rig), 0);
  rig_advance(&rig, 5000);
  event_log_expect(&log_a, "");
  event_log_expect(&log_b, "+a1! +b2! S:2#2");
}

static size_t bytes_of(const kin__slots *slots) {
  return (size_t)kin__segments_room(&slots->segments) * slots->element_size +
         slots->segments.capacity * sizeof *slots->segments.places;
}

/* What a long pause took is given back, whether its end delivers anything or
 * not, and even while the listener is still paused. */
static void test_memory_of_an_overflow_is_given_back(void **state) {
  (void)state;
  probe p = {0};
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_delete = probe_cb;
  options.data = &p;
  kin_listener *listener = rig_listen(&rig, &options);
  for (int is_delivered = 0; is_delivered < 2; is_delivered++) {
    kin_listener_pause(listener);
    char name[16];
    for (int i = 0; i < 3000; i++) {
      snprintf(name, sizeof name, "k%d", i);
      put(name);
    }
    assert_true(bytes_of(&listener->queue.overflow->entries) >
                3000 * listener->queue.overflow->entries.element_size);
    if (is_delivered) {
      kin_listener_resume(listener);
    } else {
      for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "k%d", i);
        del(name);
      }
    }
    rig_run(&rig);
    assert_int_equal(p.calls, is_delivered ? 3000 : 0);
    assert_int_equal(bytes_of(&listener->queue.overflow->entries), 0);
    assert_int_equal(bytes_of(&listener->queue.overflow->retired), 0);
  }
}

/* Closing a listener with a long queue takes several steps. */
static void test_long_queue_is_dropped_in_steps(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&log_a);
  kin_listener *listener = rig_listen(&rig, &options);
  kin_listener_pause(listener);
  for (int i = 0; i < 3000; i++) {
    char name[16];
    snprintf(name, sizeof name, "k%d", i);
    put(name);
  }
  kin_listener_close(listener);
  int steps = 1;
  while (rig_step(&rig)) {
    steps++;
  }
  assert_in_range(steps, 10, 50);
  assert_true(kin__link_is_empty(&rig.dispatcher.listeners));
}

static void test_delete_reason_names(void **state) {
  (void)state;
  static const char *const names[] = {
      "",         "watch",   "relist",    "recreated", "scope_removed",
      "filtered", "cleared", "resharded", "program",   ""};
  for (int i = 0; i < 10; i++) {
    assert_string_equal(kin_delete_reason_name((kin_delete_reason)i), names[i]);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_events_arrive_in_order),
      TEST(test_store_shows_the_change),
      TEST(test_empty_slots_are_skipped),
      TEST(test_registrations_are_independent),
      TEST(test_handle_is_optional),
      TEST(test_bad_options_are_refused),
      TEST(test_synced_latches_when_delivered),
      TEST(test_synced_without_version),
      TEST(test_synced_tells_its_own_list),
      TEST(test_relisted_tells_scope_and_version),
      TEST(test_synced_comes_after_changes),
      TEST(test_relisted_does_not_come_before_synced),
      TEST(test_unchanged_only_for_who_asked),
      TEST(test_pause_coalesces),
      TEST(test_exact_limit),
      TEST(test_step_is_a_slice_of_time),
      TEST(test_step_is_bounded_without_time),
      TEST(test_close_drops_what_is_queued),
      TEST(test_memory_of_an_overflow_is_given_back),
      TEST(test_long_queue_is_dropped_in_steps),
      cmocka_unit_test(test_delete_reason_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
