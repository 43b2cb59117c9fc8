/* SPDX-License-Identifier: MIT */
/* A change for many listeners is told in steps, and what happens between two of
 * them: listeners join, leave, are replayed to and resynced, memory runs out,
 * everything is closed (SI-11, SI-18, SI-20, SI-23, PL-06). */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "dispatch/listener.h"
#include "support/dispatch_rig.h"
#include "support/fail_alloc.h"

#define LISTENERS 5u
#define CROWD 100u
/* Small pieces between two looks at the clock, see base/sched.h. */
#define BETWEEN_LOOKS 16u

static dispatch_rig rig;
static fail_alloc memory;
static event_log logs[LISTENERS];
static kin_listener *handles[LISTENERS];
static event_log late_log;

/* A step tells one listener. */
static int setup(void **state) {
  (void)state;
  fail_alloc_init(&memory, 0);
  int err = rig_init(&rig, &memory.allocator);
  rig.sched.max_pieces = 1;
  return err;
}

static int teardown(void **state) {
  (void)state;
  rig_finish(&rig);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  return 0;
}

static void put(const char *name) {
  assert_int_equal(rig_put(&rig, name), 0);
}

static void listen_all(void) {
  for (size_t i = 0; i < LISTENERS; i++) {
    kin_listener_options options = rig_logging(&logs[i]);
    handles[i] = rig_listen(&rig, &options);
  }
}

static void expect_all(const char *expected) {
  for (size_t i = 0; i < LISTENERS; i++) {
    event_log_expect(&logs[i], expected);
  }
}

/* The objects a and b are known to all listeners, which have synced. */
static void begin(void) {
  listen_all();
  put("a");
  put("b");
  assert_int_equal(rig_synced(&rig), 0);
  rig_run(&rig);
  expect_all("+a1! +b2! S:2#2");
}

static size_t pending(void) {
  size_t count = 0;
  for (const kin__link *node = rig.dispatcher.listeners.next;
       node != &rig.dispatcher.listeners; node = node->next) {
    count += kin_listener_pending(KIN__CONTAINER_OF(node, kin_listener, node));
  }
  return count;
}

/* Lets the walk go on for one step, and nothing else. */
static void step(void) {
  int err = kin__dispatcher_continue(&rig.dispatcher);
  assert_true(err == 0 || err == KIN__MORE);
}

/* --- Bounds --------------------------------------------------------------- */

/* Paused, so that all of it is still pending. */
static void add_crowd(unsigned count) {
  kin_listener_options options = rig_logging(&late_log);
  for (unsigned i = 0; i < count; i++) {
    kin_listener_pause(rig_listen(&rig, &options));
  }
}

/* Returns the number of steps. */
static unsigned tell_crowd(size_t count, size_t most) {
  unsigned steps = 0;
  assert_int_equal(pending(), 0);
  while (kin__dispatcher_is_sending(&rig.dispatcher)) {
    size_t before = pending();
    rig_step(&rig);
    assert_true(pending() - before <= most);
    steps++;
  }
  assert_int_equal(pending(), count);
  return steps;
}

static void test_a_change_is_told_in_pieces(void **state) {
  (void)state;
  rig.sched.max_pieces = 3;
  add_crowd(CROWD);
  put("a");
  assert_true(tell_crowd(CROWD, 3) >= CROWD / 3);
}

static void test_a_change_is_told_in_time(void **state) {
  (void)state;
  rig.sched.max_pieces = UINT32_MAX;
  add_crowd(CROWD);
  rig.tick_ns = rig.sched.slice_ns;
  put("a");
  assert_true(tell_crowd(CROWD, BETWEEN_LOOKS) >= CROWD / BETWEEN_LOOKS);
}

static void test_a_marker_is_told_in_pieces(void **state) {
  (void)state;
  rig.sched.max_pieces = 3;
  add_crowd(CROWD);
  assert_int_equal(rig_synced(&rig), 0);
  assert_true(tell_crowd(CROWD, 3) >= CROWD / 3);
}

/* A call allocates for as many listeners as a step may look at; the first one
 * also the walk. */
static void expect_reserving(size_t most) {
  size_t in_all = 0;
  int err;
  do {
    size_t before = atomic_load(&memory.calls);
    bool has_walk = rig.dispatcher.walk != NULL;
    err = kin__dispatcher_reserve(&rig.dispatcher);
    size_t by = atomic_load(&memory.calls) - before;
    assert_true(by <= most + !has_walk);
    in_all += by;
  } while (err == KIN__MORE);
  assert_int_equal(err, 0);
  assert_true(in_all >= CROWD);
}

static void test_room_is_made_in_pieces(void **state) {
  (void)state;
  rig.sched.max_pieces = 3;
  kin_listener_options options = rig_logging(&late_log);
  for (unsigned i = 0; i < CROWD; i++) {
    rig_listen(&rig, &options);
  }
  expect_reserving(3);
}

static void test_room_is_made_in_time(void **state) {
  (void)state;
  rig.sched.max_pieces = UINT32_MAX;
  kin_listener_options options = rig_logging(&late_log);
  for (unsigned i = 0; i < CROWD; i++) {
    rig_listen(&rig, &options);
  }
  rig.tick_ns = rig.sched.slice_ns;
  expect_reserving(BETWEEN_LOOKS);
}

static unsigned closed_listeners(void) {
  unsigned count = 0;
  for (const kin__link *node = rig.dispatcher.listeners.next;
       node != &rig.dispatcher.listeners; node = node->next) {
    count += KIN__CONTAINER_OF(node, const kin_listener, node)->is_closed;
  }
  return count;
}

/* From the first step on there is no callback, whatever is queued or due. */
static void test_closing_is_done_in_pieces(void **state) {
  (void)state;
  for (size_t i = 0; i < LISTENERS; i++) {
    kin_listener_options options = rig_logging(&logs[i]);
    options.resync_ms = 1000;
    handles[i] = rig_listen(&rig, &options);
  }
  put("a");
  assert_int_equal(rig_synced(&rig), 0);
  rig_run(&rig);
  expect_all("+a1! S:1#1");
  rig.sched.max_pieces = LISTENERS;
  put("a");
  kin_listener_close(handles[0]); /* its step has not run */
  assert_true(kin__dispatcher_close_step(&rig.dispatcher, 0));
  for (unsigned i = 0; i < LISTENERS; i++) {
    assert_int_equal(closed_listeners(), i > 1 ? i : 1);
    kin_listener_resume(handles[LISTENERS - 1]);
    rig_advance(&rig, 1000);
    assert_int_equal(kin__dispatcher_close_step(&rig.dispatcher, 1),
                     i + 1 < LISTENERS);
  }
  rig_advance(&rig, 1000);
  expect_all("");
}

static void test_freeing_is_done_in_pieces(void **state) {
  (void)state;
  rig.sched.max_pieces = 3;
  add_crowd(CROWD);
  while (kin__dispatcher_close_step(&rig.dispatcher, 1)) {
  }
  for (unsigned left = CROWD; left > 0;) {
    assert_int_equal(rig.dispatcher.listener_count, left);
    left -= left > 3 ? 3 : left;
    assert_int_equal(kin__dispatcher_finish_step(&rig.dispatcher), left > 0);
  }
}

/* A few listeners are told at once, and nothing is kept for later. */
static void test_a_few_are_told_at_once(void **state) {
  (void)state;
  rig.sched.max_pieces = LISTENERS;
  listen_all();
  put("a");
  assert_false(kin__dispatcher_is_sending(&rig.dispatcher));
  assert_int_equal(pending(), LISTENERS);
}

/* --- Order ---------------------------------------------------------------- */

/* SI-20, whatever comes before the walk has ended. */
static void test_changes_and_markers_keep_their_order(void **state) {
  (void)state;
  listen_all();
  put("a");
  put("b");
  put("a");
  assert_int_equal(rig_recreate(&rig, "b"), 0);
  assert_int_equal(rig_synced(&rig), 0);
  assert_int_equal(rig_delete(&rig, "a"), 0);
  assert_int_equal(rig_relisted(&rig, "ns", "9", 1), 0);
  rig_run(&rig);
  expect_all("+a1! +b2! ~a1>3 -b2:recreated +b4! S:4#2 -a3:watch R:ns@9#1");
}

static void test_the_second_change_waits_for_the_first(void **state) {
  (void)state;
  begin();
  put("a");
  step();
  assert_int_equal(pending(), 1);
  assert_int_equal(kin__dispatcher_reserve(&rig.dispatcher), KIN__MORE);
  assert_int_equal(pending(), 2);
  put("b");
  assert_int_equal(pending(), LISTENERS);
  rig_run(&rig);
  expect_all("~a1>3 ~b2>4");
}

static void test_a_resync_waits_for_the_change(void **state) {
  (void)state;
  for (size_t i = 0; i < LISTENERS; i++) {
    kin_listener_options options = rig_logging(&logs[i]);
    options.resync_ms = 1000;
    handles[i] = rig_listen(&rig, &options);
  }
  put("a");
  assert_int_equal(rig_synced(&rig), 0);
  rig_run(&rig);
  put("a");
  step();
  rig_advance(&rig, 1000);
  expect_all("+a1! S:1#1 ~a1>2 ~a2=");
}

/* A resync that has begun goes on behind the change, if that is not for the
 * listener, too. */
static bool refuse_updates(const kin_object *object, void *data) {
  (void)data;
  return kin_object_name(object).data[0] == 'b';
}

static void test_a_resync_goes_on_where_the_change_is_hidden(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&logs[0]);
  rig_listen(&rig, &options);
  kin_listener_options hidden = rig_logging(&late_log);
  hidden.filter = refuse_updates;
  hidden.resync_ms = 1000;
  rig_listen(&rig, &hidden);
  put("a");
  put("b");
  assert_int_equal(rig_synced(&rig), 0);
  rig_run(&rig);
  event_log_expect(&late_log, "+b2! S:2#1");
  put("a");
  rig_advance(&rig, 1000);
  event_log_expect(&late_log, "~b2=");
}

/* --- Replays -------------------------------------------------------------- */

/* A listener to which a has been replayed, and b not yet. */
static kin_listener *join_half(void) {
  kin_listener_options options = rig_logging(&late_log);
  kin_listener *late = rig_listen(&rig, &options);
  while (late->replay == 0) {
    rig_step(&rig);
  }
  assert_int_equal(late->replay, 1);
  return late;
}

static void test_a_replay_waits_for_an_update(void **state) {
  (void)state;
  begin();
  join_half();
  put("b");
  rig_run(&rig);
  expect_all("~b2>3");
  event_log_expect(&late_log, "+a1! +b3! S:3#2");
}

static void test_a_replay_waits_for_a_delete(void **state) {
  (void)state;
  begin();
  join_half();
  assert_int_equal(rig_delete(&rig, "b"), 0);
  rig_run(&rig);
  expect_all("-b2:watch");
  event_log_expect(&late_log, "+a1! S:3#1");
}

static void test_what_has_been_replayed_is_told(void **state) {
  (void)state;
  begin();
  join_half();
  put("a");
  rig_run(&rig);
  expect_all("~a1>3");
  event_log_expect(&late_log, "+a1! ~a1>3 +b2! S:3#2");
}

/* Its replay shows the change; it is told of it once. */
static void test_joining_during_a_walk(void **state) {
  (void)state;
  begin();
  put("b");
  step();
  kin_listener_options options = rig_logging(&late_log);
  rig_listen(&rig, &options);
  rig_run(&rig);
  expect_all("~b2>3");
  event_log_expect(&late_log, "+a1! +b3! S:3#2");
}

/* One without a replay has come after the change. */
static void test_joining_for_updates_during_a_walk(void **state) {
  (void)state;
  begin();
  put("b");
  step();
  kin_listener_options options = rig_logging(&late_log);
  options.on_add = NULL;
  rig_listen(&rig, &options);
  put("a");
  rig_run(&rig);
  expect_all("~b2>3 ~a1>4");
  event_log_expect(&late_log, "S:3#2 ~a1>4");
}

/* SY-02: synced comes once. */
static void test_joining_while_synced_is_told(void **state) {
  (void)state;
  listen_all();
  assert_int_equal(rig_synced(&rig), 0);
  step();
  kin_listener_options options = rig_logging(&late_log);
  rig_listen(&rig, &options);
  rig_run(&rig);
  expect_all("S:0#0");
  event_log_expect(&late_log, "S:0#0");
}

/* --- Leaving -------------------------------------------------------------- */

/* SI-23: the one that has been told, the one that is next, and one later. */
static void test_closing_during_a_walk(void **state) {
  (void)state;
  for (size_t i = 0; i < LISTENERS; i++) {
    begin();
    put("a");
    step();
    step();
    kin_listener_close(handles[i]);
    rig_run(&rig);
    for (size_t k = 0; k < LISTENERS; k++) {
      event_log_expect(&logs[k], k == i ? "" : "~a1>3");
    }
    assert_int_equal(rig.dispatcher.listener_count, LISTENERS - 1);
    rig_finish(&rig);
    assert_int_equal(rig_init(&rig, &memory.allocator), 0);
    rig.sched.max_pieces = 1;
  }
}

/* The memory of the one that is next goes before the walk comes to it. */
static void test_the_next_is_freed_during_a_walk(void **state) {
  (void)state;
  begin();
  put("a");
  step();
  kin__sched_cancel(&rig.sched, &rig.driver);
  kin_listener_close(handles[1]);
  rig_run(&rig);
  assert_int_equal(rig.dispatcher.listener_count, LISTENERS - 1);
  step();
  assert_int_equal(kin_listener_pending(handles[2]), 1);
  rig_run(&rig);
}

static void test_the_next_is_freed_while_room_is_made(void **state) {
  (void)state;
  begin();
  assert_int_equal(kin__dispatcher_reserve(&rig.dispatcher), KIN__MORE);
  kin_listener_close(handles[1]);
  rig_run(&rig);
  put("a");
  rig_run(&rig);
  event_log_expect(&logs[1], "");
  event_log_expect(&logs[2], "~a1>3");
}

static void test_all_close_during_a_walk(void **state) {
  (void)state;
  begin();
  put("a");
  step();
  for (size_t i = 0; i < LISTENERS; i++) {
    kin_listener_close(handles[i]);
  }
  rig_run(&rig);
  expect_all("");
  assert_false(kin__dispatcher_is_sending(&rig.dispatcher));
}

/* The dispatcher frees the change in hand with itself; the teardown counts
 * blocks. */
static void test_the_dispatcher_closes_during_a_walk(void **state) {
  (void)state;
  begin();
  assert_int_equal(rig_delete(&rig, "a"), 0);
  step();
  while (kin__dispatcher_close_step(&rig.dispatcher, 1)) {
  }
  assert_false(kin__dispatcher_is_sending(&rig.dispatcher));
  put("b");
  rig_run(&rig);
  expect_all("");
}

typedef struct watch {
  kin__sync_watch sync;
  unsigned told;
  int result;
  size_t pending; /* of all listeners then */
} watch;

static void on_sync(kin__sync_watch *sync, int result) {
  watch *w = KIN__CONTAINER_OF(sync, watch, sync);
  w->told++;
  w->result = result;
  w->pending = pending();
}

static watch *wait_for_synced(void) {
  static watch w;
  w = (watch){.sync.notify = on_sync};
  kin__link_push(&rig.dispatcher.sync_watches, &w.sync.node);
  return &w;
}

static void test_who_waits_is_told_when_synced_is_queued(void **state) {
  (void)state;
  listen_all();
  const watch *w = wait_for_synced();
  assert_int_equal(rig_synced(&rig), 0);
  assert_int_equal(w->told, 0);
  while (kin__dispatcher_is_sending(&rig.dispatcher)) {
    step();
  }
  assert_int_equal(w->told, 1);
  assert_int_equal(w->result, 0);
  assert_int_equal(w->pending, LISTENERS);
}

static void test_who_waits_is_told_when_closed_meanwhile(void **state) {
  (void)state;
  listen_all();
  const watch *w = wait_for_synced();
  assert_int_equal(rig_synced(&rig), 0);
  step();
  kin__dispatcher_close_step(&rig.dispatcher, 0);
  assert_int_equal(w->told, 1);
  assert_int_equal(w->result, 0); /* the informer has synced */
}

/* --- Memory --------------------------------------------------------------- */

/* Without room for all nothing has changed for anybody. */
static void test_no_room_for_one(void **state) {
  (void)state;
  begin();
  kin_listener_pause(handles[3]); /* needs room that it has not got */
  memory.fail_at = atomic_load(&memory.calls) + 1;
  memory.keeps_failing = true;
  assert_int_equal(rig_put(&rig, "a"), KIN_ENOMEM);
  rig_run(&rig);
  expect_all("");
  memory.fail_at = 0;
  kin_listener_resume(handles[3]);
  put("a");
  rig_run(&rig);
  expect_all("~a1>3");
}

/* A reservation may be used up before the walk comes to its listener. */
static void test_room_is_lost_during_a_walk(void **state) {
  (void)state;
  begin();
  put("a");
  step();
  kin_listener_pause(handles[3]);
  memory.fail_at = atomic_load(&memory.calls) + 1;
  memory.keeps_failing = true;
  rig_run(&rig);
  event_log_expect(&logs[2], "~a1>3");
  assert_int_equal(kin_listener_pending(handles[3]), 0);
  assert_int_equal(rig_put(&rig, "b"), KIN_ENOMEM); /* not before the first */
  memory.fail_at = 0;
  put("b");
  kin_listener_resume(handles[3]);
  rig_run(&rig);
  event_log_expect(&logs[3], "~a1>3 ~b2>4");
  event_log_expect(&logs[4], "~a1>3 ~b2>4");
}

/* An overflow is allocated where the exact part may fill, and not for what may
 * come later. */
static void test_a_small_exact_part_needs_no_overflow(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&late_log);
  options.exact_limit = 8;
  const kin_listener *listener = rig_listen(&rig, &options);
  for (unsigned i = 0; i < 6; i++) {
    put("a");
  }
  assert_int_equal(kin_listener_pending(listener), 6);
  assert_null(listener->queue.overflow);
  put("a"); /* one more might need two places */
  assert_int_equal(kin__dispatcher_reserve(&rig.dispatcher), 0);
  assert_int_equal(listener->queue.overflow->entries.segments.count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_a_change_is_told_in_pieces),
      TEST(test_a_change_is_told_in_time),
      TEST(test_a_marker_is_told_in_pieces),
      TEST(test_room_is_made_in_pieces),
      TEST(test_room_is_made_in_time),
      TEST(test_closing_is_done_in_pieces),
      TEST(test_freeing_is_done_in_pieces),
      TEST(test_a_few_are_told_at_once),
      TEST(test_changes_and_markers_keep_their_order),
      TEST(test_the_second_change_waits_for_the_first),
      TEST(test_a_resync_waits_for_the_change),
      TEST(test_a_resync_goes_on_where_the_change_is_hidden),
      TEST(test_a_replay_waits_for_an_update),
      TEST(test_a_replay_waits_for_a_delete),
      TEST(test_what_has_been_replayed_is_told),
      TEST(test_joining_during_a_walk),
      TEST(test_joining_for_updates_during_a_walk),
      TEST(test_joining_while_synced_is_told),
      TEST(test_closing_during_a_walk),
      TEST(test_the_next_is_freed_during_a_walk),
      TEST(test_the_next_is_freed_while_room_is_made),
      TEST(test_all_close_during_a_walk),
      TEST(test_the_dispatcher_closes_during_a_walk),
      TEST(test_who_waits_is_told_when_synced_is_queued),
      TEST(test_who_waits_is_told_when_closed_meanwhile),
      TEST(test_no_room_for_one),
      TEST(test_room_is_lost_during_a_walk),
      TEST(test_a_small_exact_part_needs_no_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
