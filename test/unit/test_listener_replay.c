/* SPDX-License-Identifier: MIT */
/* What a listener gets besides changes: the replay for one that joins late, and
 * resyncs. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "support/dispatch_rig.h"
#include "support/fail_alloc.h"

/* More than one step replays. */
#define MANY 5000

static dispatch_rig rig;
static event_log log_a;

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

static void put_number(int i) {
  char name[16];
  snprintf(name, sizeof name, "k%d", i);
  put(name);
}

static void put_all(void) {
  for (int i = 0; i < MANY; i++) {
    put_number(i);
  }
}

static void delete_number(int i) {
  char name[16];
  snprintf(name, sizeof name, "k%d", i);
  assert_int_equal(rig_delete(&rig, name), 0);
}

static void sync_dispatcher(void) {
  assert_int_equal(rig_synced(&rig), 0);
}

/* Counts, and keeps what it was told of each numbered object. */
typedef struct view {
  size_t adds;
  size_t initial_adds;
  size_t updates;
  size_t resyncs;
  size_t deletes;
  size_t synced;
  size_t adds_at_synced;
  size_t illegal;
  kin_object *objects[MANY + 1000];
} view;

static view seen;

static void view_cb(struct kin_informer *informer, const kin_event *event,
                    void *data) {
  (void)informer;
  view *v = data;
  if (event->type == KIN_EVENT_SYNCED) {
    v->synced++;
    v->adds_at_synced = v->adds;
    return;
  }
  int i = 0;
  assert_int_equal(sscanf(kin_object_name(event->object).data, "k%d", &i), 1);
  kin_object *known = v->objects[i];
  switch (event->type) {
  case KIN_EVENT_ADD:
    v->adds++;
    v->initial_adds += event->is_initial;
    v->illegal += known != NULL || (v->synced && event->is_initial);
    break;
  case KIN_EVENT_UPDATE:
    v->updates++;
    v->resyncs += event->is_resync;
    v->illegal += known == NULL || known != event->old_object ||
                  (event->is_resync && event->object != known);
    break;
  default:
    v->deletes++;
    v->illegal += known == NULL;
    break;
  }
  v->objects[i] =
      event->type != KIN_EVENT_DELETE ? kin_object_ref(event->object) : NULL;
  kin_object_unref(known);
}

static kin_listener_options viewing(void) {
  memset(&seen, 0, sizeof seen);
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = view_cb;
  options.on_synced = view_cb;
  options.data = &seen;
  return options;
}

/* What was seen is what is stored. Empties the view. */
static void expect_view_is_store(void) {
  assert_int_equal(seen.illegal, 0);
  size_t count = 0;
  for (size_t i = 0; i < sizeof seen.objects / sizeof *seen.objects; i++) {
    if (seen.objects[i] != NULL) {
      assert_ptr_equal(
          kin_store_get(&rig.store, kin_object_key(seen.objects[i])),
          seen.objects[i]);
      count++;
    }
    kin_object_unref(seen.objects[i]);
    seen.objects[i] = NULL;
  }
  assert_int_equal(count, kin_store_count(&rig.store));
}

/* SI-11, TestAddWhileActive */
static void test_late_joiner_gets_everything_then_synced(void **state) {
  (void)state;
  put("a");
  put("b");
  sync_dispatcher();
  kin_listener_options options = rig_logging(&log_a);
  kin_listener *listener = rig_listen(&rig, &options);
  assert_false(kin_listener_has_synced(listener));
  assert_string_equal(log_a.text, "");
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! +b2! S:2#2");
  assert_true(kin_listener_has_synced(listener));
  put("a");
  put("c");
  rig_run(&rig);
  event_log_expect(&log_a, "~a1>3 +c4");
}

/* SY-02: the next turn, not this one, and not never. */
static void test_late_joiner_of_an_empty_store_is_synced(void **state) {
  (void)state;
  sync_dispatcher();
  kin_listener_options options = rig_logging(&log_a);
  kin_listener *listener = rig_listen(&rig, &options);
  assert_false(kin_listener_has_synced(listener));
  rig_run(&rig);
  event_log_expect(&log_a, "S:0#0");

  put("a"); /* a store whose slots are all free again is as empty */
  assert_int_equal(rig_delete(&rig, "a"), 0);
  kin_listener_close(listener);
  rig_run(&rig);
  options = rig_logging(&log_a);
  rig_listen(&rig, &options);
  rig_run(&rig);
  event_log_expect(&log_a, "S:2#0");
}

static void test_without_on_add_nothing_is_replayed(void **state) {
  (void)state;
  put("a");
  sync_dispatcher();
  kin_listener_options options = rig_logging(&log_a);
  options.on_add = NULL;
  rig_listen(&rig, &options);
  put("a");
  rig_run(&rig);
  event_log_expect(&log_a, "S:1#1 ~a1>2");
}

/* One that joins in the middle of the first list: synced comes with all
 * others', after the last initial add of both kinds (SI-12). */
static void test_joining_before_synced(void **state) {
  (void)state;
  put("a");
  kin_listener_options options = rig_logging(&log_a);
  rig_listen(&rig, &options);
  rig_run(&rig);
  event_log_expect(&log_a, "+a1!");
  put("b");
  sync_dispatcher();
  put("c");
  rig_run(&rig);
  event_log_expect(&log_a, "+b2! S:2#2 +c3");
}

/* Synced while the replay is under way: it waits for the replay's end. */
static void test_synced_during_replay_waits(void **state) {
  (void)state;
  put_all();
  kin_listener_options options = viewing();
  rig_listen(&rig, &options);
  assert_true(rig_step(&rig));
  assert_in_range(seen.adds, 1, MANY / 2);
  sync_dispatcher();
  rig_run(&rig);
  assert_int_equal(seen.synced, 1);
  assert_int_equal(seen.adds_at_synced, MANY);
  assert_int_equal(seen.initial_adds, MANY);
  expect_view_is_store();
}

/* SI-11: without gap and without duplicate, whatever happens meanwhile, and
 * with a queue that stays short. */
static void test_changes_during_replay(void **state) {
  (void)state;
  put_all();
  sync_dispatcher();
  kin_listener_options options = viewing();
  kin_listener *listener = rig_listen(&rig, &options);
  int fresh = MANY;
  for (int step = 0; step == 0 || rig_step(&rig); step++) {
    assert_true(kin_listener_pending(listener) < 300);
    if (fresh < MANY + 1000) {
      put_number(fresh++);
    }
    for (int n = 0; n < 7; n++) {
      put_number((step * 997 + n * 613) % MANY);
      delete_number((step * 1009 + n * 419) % MANY);
      char name[16];
      snprintf(name, sizeof name, "k%d", (step * 811 + n * 211) % MANY);
      assert_int_equal(rig_recreate(&rig, name), 0);
    }
    if (step > 50) {
      break;
    }
  }
  rig_run(&rig);
  assert_int_equal(seen.synced, 1);
  assert_true(seen.adds > MANY / 2 && seen.updates > 0 && seen.deletes > 0);
  expect_view_is_store();
}

/* For each initial add the handler adds an object as a change, and puts one
 * into the store. */
static void breed(struct kin_informer *informer, const kin_event *event,
                  void *data) {
  (void)informer;
  view *v = data;
  v->adds++;
  if (!event->is_initial) {
    return;
  }
  v->initial_adds++;
  if (v->initial_adds > 2 * (size_t)MANY) {
    return; /* the replay has no end */
  }
  char name[32];
  snprintf(name, sizeof name, "told%zu", v->initial_adds);
  put(name);
  snprintf(name, sizeof name, "put%zu", v->initial_adds);
  kin_object *object = rig_object(&rig, name, 1);
  assert_int_equal(kin_store_put(&rig.store, object), 0);
  kin_object_unref(object);
}

/* SI-11, SI-12: the initial adds are the objects at the registration, also if
 * the handler adds objects faster than they are replayed. */
static void test_replay_ends(void **state) {
  (void)state;
  put_all();
  sync_dispatcher();
  kin_listener_options options = viewing();
  options.on_add = breed;
  options.on_update = options.on_delete = NULL;
  rig_listen(&rig, &options);
  rig_run(&rig);
  assert_int_equal(seen.synced, 1);
  assert_int_equal(seen.initial_adds, MANY);
  assert_int_equal(seen.adds, 2 * MANY);
}

/* For each add and update the handler changes another object: the queue never
 * gets short. */
static void churn(struct kin_informer *informer, const kin_event *event,
                  void *data) {
  view_cb(informer, event, data);
  view *v = data;
  size_t told = v->adds + v->updates;
  if (event->type != KIN_EVENT_DELETE && !v->synced && told <= 3 * MANY) {
    put_number((int)(told % 200)); /* among the first of the replay */
  }
}

/* SI-11: the replay ends beside changes that come as fast as the handler takes
 * them, and the queue grows no faster than the handler takes. */
static void test_replay_ends_beside_changes(void **state) {
  (void)state;
  put_all();
  sync_dispatcher();
  kin_listener_options options = viewing();
  options.on_add = options.on_update = churn;
  options.exact_limit = KIN_NEVER;
  kin_listener *listener = rig_listen(&rig, &options);
  while (seen.adds < 200) {
    assert_true(rig_step(&rig));
  }
  for (int i = 0; i < 300; i++) {
    put_number(i % 200);
  }
  size_t before = kin_listener_pending(listener);
  while (seen.synced == 0) {
    assert_true(rig_step(&rig));
    assert_true(kin_listener_pending(listener) < before + MANY);
  }
  assert_int_equal(seen.adds_at_synced, MANY);
  assert_true(seen.adds + seen.updates < 3 * MANY);
  rig_run(&rig);
  expect_view_is_store();
}

static bool is_hundredth(const kin_object *object, void *data) {
  (void)data;
  int i = 1;
  (void)sscanf(kin_object_name(object).data, "k%d", &i);
  return i % 100 == 0;
}

/* For each callback the handler changes an object of its filter. */
static void churn_hundredths(struct kin_informer *informer,
                             const kin_event *event, void *data) {
  view_cb(informer, event, data);
  view *v = data;
  size_t told = v->adds + v->updates;
  if (!v->synced && told <= 3 * MANY) {
    put_number((int)(told % 2) * 100);
  }
}

/* SI-11: what the filter leaves out of the replay costs no deliveries. */
static void test_filtered_replay_ends_beside_changes(void **state) {
  (void)state;
  put_all();
  sync_dispatcher();
  kin_listener_options options = viewing();
  options.on_add = options.on_update = churn_hundredths;
  options.filter = is_hundredth;
  options.exact_limit = KIN_NEVER;
  rig_listen(&rig, &options);
  while (seen.adds < 2) {
    assert_true(rig_step(&rig));
  }
  for (int i = 0; i < 300; i++) {
    put_number(i % 2 * 100);
  }
  while (seen.synced == 0) {
    assert_true(rig_step(&rig));
  }
  assert_int_equal(seen.adds_at_synced, MANY / 100);
  assert_in_range(seen.adds + seen.updates, 0, MANY / 4);
  rig_run(&rig);
  for (int i = 0; i < MANY; i += 100) {
    kin_object_unref(seen.objects[i]);
  }
  assert_int_equal(seen.illegal, 0);
}

/* A relist that ends during the replay is no news: synced is still to come. */
static void test_relisted_during_replay_is_not_told(void **state) {
  (void)state;
  put_all();
  sync_dispatcher();
  kin_listener_options options = rig_logging(&log_a);
  options.on_add = NULL; /* no replay */
  rig_listen(&rig, &options);
  kin_listener_options late = viewing();
  late.on_relisted = view_cb; /* would count as illegal */
  rig_listen(&rig, &late);
  rig_step(&rig);
  assert_int_equal(rig_relisted(&rig, "", "9", MANY), 0);
  late.on_relisted = NULL;
  rig_run(&rig);
  event_log_expect(&log_a, "S:5000#5000 R:@9#5000");
  assert_int_equal(seen.synced, 1);
  expect_view_is_store();
}

/* A late joiner that pauses holds nothing but its place. */
static void test_paused_replay_waits(void **state) {
  (void)state;
  put_all();
  sync_dispatcher();
  kin_listener_options options = viewing();
  kin_listener *listener = rig_listen(&rig, &options);
  kin_listener_pause(listener);
  rig_run(&rig);
  assert_int_equal(kin_listener_pending(listener), 0);
  put_all();
  assert_int_equal(kin_listener_pending(listener), 0);
  kin_listener_resume(listener);
  rig_step(&rig);
  kin_listener_pause(listener);
  size_t queued = kin_listener_pending(listener);
  size_t replayed = seen.adds + queued;
  put_all(); /* what was replayed is coalesced, the rest is to come */
  rig_run(&rig);
  assert_int_equal(kin_listener_pending(listener), queued + replayed);
  kin_listener_resume(listener);
  rig_run(&rig);
  assert_int_equal(seen.synced, 1);
  expect_view_is_store();
}

/* client-go TestReflectorResyncChan; RF-11, PL-01, PL-04..06: when its time has
 * come, and again. */
static void test_resync_comes_every_period(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&log_a);
  options.resync_ms = 3000;
  rig_listen(&rig, &options);
  put("a");
  put("b");
  sync_dispatcher();
  rig_advance(&rig, 2999);
  event_log_expect(&log_a, "+a1! +b2! S:2#2");
  rig_advance(&rig, 1);
  event_log_expect(&log_a, "~a1= ~b2=");
  rig_advance(&rig, 2999);
  event_log_expect(&log_a, "");
  put("a");
  rig_advance(&rig, 1);
  event_log_expect(&log_a, "~a1>3 ~a3= ~b2=");
}

/* PL-01: a default, none, at least a second. PL-05: each its own. */
static void test_resync_periods(void **state) {
  (void)state;
  static const struct {
    uint32_t default_ms;
    uint32_t requested_ms;
    size_t resyncs; /* of one object in 12 seconds */
  } cases[] = {
      {0, 0, 0},       {0, KIN_NEVER, 0},    {4000, 0, 3},      {4000, 6000, 2},
      {4000, 2000, 6}, {4000, KIN_NEVER, 0}, {KIN_NEVER, 0, 0}, {0, 1, 12},
      {10, 0, 12},     {KIN_NEVER, 1, 12},
  };
  put("k1");
  sync_dispatcher();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    kin_listener_options options = viewing();
    rig.dispatcher.default_resync_ms = cases[i].default_ms;
    options.resync_ms = cases[i].requested_ms;
    kin_listener *listener = rig_listen(&rig, &options);
    rig_run(&rig);
    for (int tenth = 0; tenth < 12 * 10; tenth++) {
      rig_advance(&rig, 100);
    }
    assert_int_equal(seen.resyncs, cases[i].resyncs);
    kin_listener_close(listener);
    rig_run(&rig);
    expect_view_is_store();
  }
}

static void test_no_resync_before_synced(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&log_a);
  options.resync_ms = 1000;
  rig_listen(&rig, &options);
  put("a");
  rig_advance(&rig, 1500);
  event_log_expect(&log_a, "+a1!");
  sync_dispatcher();
  rig_advance(&rig, 400);
  event_log_expect(&log_a, "S:1#1");
  rig_advance(&rig, 600);
  event_log_expect(&log_a, "~a1=");
}

/* Without on_update there is nothing to resync; no timer runs. */
static void test_no_resync_without_on_update(void **state) {
  (void)state;
  kin_listener_options options = rig_logging(&log_a);
  options.resync_ms = 1000;
  options.on_update = NULL;
  rig_listen(&rig, &options);
  assert_true(kin__timers_next_ms(&rig.timers) == UINT64_MAX);
}

/* A period that ends while the last resync is still running adds nothing. */
static void test_resyncs_merge(void **state) {
  (void)state;
  put_all();
  sync_dispatcher();
  kin_listener_options options = viewing();
  options.resync_ms = 1000;
  kin_listener *listener = rig_listen(&rig, &options);
  rig_run(&rig);
  kin_listener_pause(listener);
  for (int i = 0; i < 5; i++) {
    rig_advance(&rig, 1000);
  }
  assert_int_equal(kin_listener_pending(listener), 0);
  kin_listener_resume(listener);
  rig_step(&rig);
  assert_in_range(seen.resyncs, 1, MANY / 2);
  rig.now_ns += UINT64_C(1000000000);
  kin__timers_run(&rig.timers, rig.now_ns / 1000000, 10);
  put_number(MANY); /* too late for this one */
  rig_run(&rig);
  assert_int_equal(seen.resyncs, MANY);
  rig_advance(&rig, 1000);
  assert_int_equal(seen.resyncs, 2 * MANY + 1);
  expect_view_is_store();
}

/* PL-04: the loop is away for two periods and a half. One resync follows, and
 * the next one comes a whole period after it. */
static void test_resync_after_a_long_time(void **state) {
  (void)state;
  put("a");
  sync_dispatcher();
  kin_listener_options options = rig_logging(&log_a);
  options.resync_ms = 1000;
  rig_listen(&rig, &options);
  rig_run(&rig);
  event_log_expect(&log_a, "+a1! S:1#1");
  rig_advance(&rig, 2500);
  rig_advance(&rig, 0);
  event_log_expect(&log_a, "~a1=");
  rig_advance(&rig, 999);
  event_log_expect(&log_a, "");
  rig_advance(&rig, 1);
  event_log_expect(&log_a, "~a1=");
}

/* PL-05: memory is out when a replay begins. The replay goes on a little later,
 * which does not delay the resync. */
static void test_resync_after_a_lack_of_memory(void **state) {
  (void)state;
  static fail_alloc memory;
  fail_alloc_init(&memory, 0);
  rig_finish(&rig);
  assert_int_equal(rig_init(&rig, &memory.allocator), 0);
  put("a");
  sync_dispatcher();
  kin_listener_options options = rig_logging(&log_a);
  options.resync_ms = 1000;
  rig_listen(&rig, &options);
  memory.fail_at = atomic_load(&memory.calls) + 1;
  memory.keeps_failing = true;
  rig_run(&rig);
  assert_true(fail_alloc_has_failed(&memory));
  event_log_expect(&log_a, "");
  memory.fail_at = 0;
  rig_advance(&rig, 100);
  event_log_expect(&log_a, "+a1! S:1#1");
  rig_advance(&rig, 899);
  event_log_expect(&log_a, "");
  rig_advance(&rig, 1);
  event_log_expect(&log_a, "~a1=");
  rig_finish(&rig);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  assert_int_equal(rig_init(&rig, NULL), 0);
}

/* DF-09: a resync never brings an older state than a change before it. */
static void test_changes_during_resync(void **state) {
  (void)state;
  put_all();
  sync_dispatcher();
  kin_listener_options options = viewing();
  options.resync_ms = 1000;
  options.exact_limit = 100;
  rig_listen(&rig, &options);
  rig_run(&rig);
  rig.now_ns += UINT64_C(1000000000);
  kin__timers_run(&rig.timers, rig.now_ns / 1000000, 10);
  for (int step = 0; rig_step(&rig); step++) {
    for (int n = 0; step < 40 && n < 7; n++) {
      put_number((step * 997 + n * 613) % (MANY + 1000));
      delete_number((step * 1009 + n * 419) % MANY);
    }
  }
  assert_in_range(seen.resyncs, MANY / 2, MANY);
  expect_view_is_store();
}

static size_t tell_per_change; /* updates for each that the handler makes */

static void change_in_update(struct kin_informer *informer,
                             const kin_event *event, void *data) {
  view_cb(informer, event, data);
  view *v = data;
  if (tell_per_change > 1 ? v->updates % tell_per_change == 0
                          : tell_per_change == 1 && !event->is_resync) {
    put_number((int)(v->updates * 7 % MANY));
  }
}

static kin_listener *begin_resync(size_t per_change) {
  put_all();
  sync_dispatcher();
  kin_listener_options options = viewing();
  options.on_update = change_in_update;
  options.resync_ms = 1000;
  options.exact_limit = KIN_NEVER;
  kin_listener *listener = rig_listen(&rig, &options);
  rig_run(&rig);
  tell_per_change = per_change;
  return listener;
}

static void end_period(void) {
  rig.now_ns += UINT64_C(1000000000);
  kin__timers_run(&rig.timers, rig.now_ns / 1000000, 10);
}

/* PL-06: resyncs end beside changes that come as fast as the handler takes them,
 * one after the other, and the queue hardly grows. */
static void test_resyncs_end_beside_changes(void **state) {
  (void)state;
  kin_listener *listener = begin_resync(1);
  for (int i = 0; i < 300; i++) {
    put_number(i);
  }
  for (size_t round = 1; round <= 2; round++) {
    end_period();
    while (seen.resyncs < round * MANY) {
      assert_true(rig_step(&rig));
      assert_true(kin_listener_pending(listener) < 2 * 300);
      assert_true(seen.updates < round * 12 * MANY);
    }
  }
  tell_per_change = 0;
  rig_run(&rig);
  assert_int_equal(seen.resyncs, 2 * MANY);
  expect_view_is_store();
}

/* A resync does not lengthen the queue of a handler that has time for all
 * changes. */
static void test_resync_beside_fewer_changes(void **state) {
  (void)state;
  kin_listener *listener = begin_resync(2);
  end_period();
  while (seen.resyncs < MANY) {
    assert_true(rig_step(&rig));
    assert_true(kin_listener_pending(listener) < 400);
  }
  tell_per_change = 0;
  rig_run(&rig);
  assert_int_equal(seen.resyncs, MANY);
  expect_view_is_store();
}

/* SI-20: feeding is part of the slice, too. */
static void test_feed_is_bounded_by_time(void **state) {
  (void)state;
  put_all();
  for (int i = 1; i < MANY; i++) {
    delete_number(i);
  }
  sync_dispatcher();
  kin_listener_options options = viewing();
  rig_listen(&rig, &options);
  rig.tick_ns = 5000; /* each look at the clock */
  assert_true(rig_step(&rig));
  assert_int_equal(seen.synced, 0); /* free slots are walked in steps, too */
  rig_run(&rig);
  assert_int_equal(seen.synced, 1);
  assert_int_equal(seen.adds, 1);
  expect_view_is_store();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_late_joiner_gets_everything_then_synced),
      TEST(test_late_joiner_of_an_empty_store_is_synced),
      TEST(test_without_on_add_nothing_is_replayed),
      TEST(test_joining_before_synced),
      TEST(test_synced_during_replay_waits),
      TEST(test_changes_during_replay),
      TEST(test_replay_ends),
      TEST(test_replay_ends_beside_changes),
      TEST(test_filtered_replay_ends_beside_changes),
      TEST(test_relisted_during_replay_is_not_told),
      TEST(test_paused_replay_waits),
      TEST(test_resync_comes_every_period),
      TEST(test_resync_periods),
      TEST(test_no_resync_before_synced),
      TEST(test_no_resync_without_on_update),
      TEST(test_resyncs_merge),
      TEST(test_resync_after_a_long_time),
      TEST(test_resync_after_a_lack_of_memory),
      TEST(test_changes_during_resync),
      TEST(test_resyncs_end_beside_changes),
      TEST(test_resync_beside_fewer_changes),
      TEST(test_feed_is_bounded_by_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
