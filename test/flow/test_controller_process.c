/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/lister_watcher.h>

#include "base/str.h"
#include "support/controller_world.h"
#include "support/idle_callbacks.h"
#include "support/objects.h"
#include "cache/controller.h"

/* How a controller works: items that fail, too much to do at once, a slow
 * handler's time; and what it refuses. */

/* --- Failures ------------------------------------------------------------- */

/* CO-03, but not silently: without retry_on_error an item that fails is lost,
 * counted, told of and in the log. */
static void test_controller_item_is_lost(void **state) {
  (void)state;
  for (cw_kind kind = CW_QUEUE_FIFO; kind <= CW_QUEUE_IN_ORDER; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    w.failing_key = "even/p0";
    w.failures_left = 1;
    mini_put_first(&w.vh.server, 2);
    mini_pass(&w.vh.server, 60000);
    change_log_expect(&w.log, "A:odd/p1@102");
    assert_int_equal(w.process_errors, 1);
    assert_int_equal(w.process_error, KIN_ETYPE);
    assert_false(w.was_retried);
    assert_string_equal(w.error_key, "even/p0");
    assert_non_null(strstr(w.vh.text, "E "));
    assert_non_null(strstr(w.vh.text, "pods.v1: processing even/p0: "));
    kin_controller_stats stats = KIN_CONTROLLER_STATS_INIT;
    assert_int_equal(kin_controller_get_stats(w.controller, &stats), 0);
    assert_int_equal(stats.failures, 1);
    assert_int_equal(stats.retries, 0);
    cw_finish(&w);
  }
}

/* OQ-03: with it the item comes again, after the others; in order it comes
 * before them. */
static void test_controller_item_is_retried(void **state) {
  (void)state;
  for (cw_kind kind = CW_QUEUE_FIFO; kind <= CW_QUEUE_IN_ORDER; kind++) {
    cw_world w;
    cw_open_failing(&w, kind, "even/p0", 3);
    static const char *const keys[] = {"even/p0", "odd/p1", "even/p2"};
    for (unsigned i = 0; i < 3; i++) {
      kin_object *object = object_keyed(NULL, keys[i], 1);
      assert_int_equal(kin_queue_add(w.queue, object), 0);
      kin_object_unref(object);
    }
    script_advance(&w.vh.script, 60000);
    change_log_expect(&w.log, kind == CW_QUEUE_IN_ORDER
                                  ? "A:even/p0@1 A:odd/p1@1 A:even/p2@1"
                                  : "A:odd/p1@1 A:even/p2@1 A:even/p0@1");
    assert_int_equal(w.process_errors, 3);
    assert_true(w.was_retried);
    kin_controller_stats stats = KIN_CONTROLLER_STATS_INIT;
    assert_int_equal(kin_controller_get_stats(w.controller, &stats), 0);
    assert_int_equal(stats.failures, 3);
    assert_int_equal(stats.retries, 3);
    cw_finish(&w);
  }
}

/* OQ-01: what is newer wins over what failed. */
static void test_controller_newer_item_wins(void **state) {
  (void)state;
  cw_world w;
  cw_open_failing(&w, CW_QUEUE_FIFO, "foo", 1);
  kin_object *first = object_keyed(NULL, "foo", 1);
  kin_object *second = object_keyed(NULL, "foo", 2);
  assert_int_equal(kin_queue_add(w.queue, first), 0);
  script_run(&w.vh.script);
  assert_int_equal(w.process_errors, 1);
  assert_int_equal(kin_queue_add(w.queue, second), 0);
  script_run(&w.vh.script);
  change_log_expect(&w.log, "A:foo@2");
  kin_object_unref(first);
  kin_object_unref(second);
  cw_finish(&w);
}

/* An item that always fails costs a try now and then: after 0.1, 0.2, 0.4 s and
 * so on, up to 6.4 s. Something else is processed at once all the same. */
static void test_controller_hopeless_item(void **state) {
  (void)state;
  cw_world w;
  cw_open_failing(&w, CW_QUEUE_DELTA, "bad", UINT32_MAX);
  kin_object *bad = object_keyed(NULL, "bad", 1);
  kin_object *good = object_keyed(NULL, "good", 1);
  assert_int_equal(kin_queue_add(w.queue, bad), 0);
  static const struct {
    uint64_t ms;
    unsigned tries;
  } waits[] = {{0, 1},    {99, 1},  {1, 2},    {199, 2},  {1, 3},
               {400, 4},  {800, 5}, {1600, 6}, {3200, 7}, {6400, 8},
               {6399, 8}, {1, 9},   {6400, 10}};
  for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
    script_advance(&w.vh.script, waits[i].ms);
    assert_int_equal(w.process_errors, waits[i].tries);
  }
  assert_int_equal(kin_queue_add(w.queue, good), 0);
  script_run(&w.vh.script);
  change_log_expect(&w.log, "A:good@1");
  kin_object_unref(bad);
  kin_object_unref(good);
  cw_finish(&w);
}

/* Calls that queue nothing do not end the wait: a resync with nothing to queue,
 * a bookmark, an object without a key, a deletion of what is not there. */
static void test_controller_wait_goes_on(void **state) {
  (void)state;
  for (cw_kind kind = CW_QUEUE_FIFO; kind <= CW_QUEUE_BATCHES; kind++) {
    cw_world w;
    cw_open_failing(&w, kind, "bad", UINT32_MAX);
    kin_object *bad = object_keyed(NULL, "bad", 1);
    kin_object *good = object_keyed(NULL, "good", 1);
    assert_int_equal(kin_queue_add(w.queue, bad), 0);
    for (int i = 0; i < 600; i++) {
      script_advance(&w.vh.script, 100);
      assert_int_equal(kin_queue_bookmark(w.queue, KIN_STR("7")), 0);
      assert_int_equal(kin_queue_add(w.queue, NULL), KIN_EINVAL);
      if (kind <= CW_QUEUE_DELTA) {
        assert_int_equal(kin_queue_resync(w.queue), 0);
        assert_int_equal(kin_queue_delete(w.queue, good), 0);
      }
      script_run(&w.vh.script);
    }
    assert_int_equal(w.process_errors, 15); /* in a minute */
    if (kind <= CW_QUEUE_DELTA) {
      assert_int_equal(kin_queue_update(w.queue, bad), 0);
      script_run(&w.vh.script);
      assert_int_equal(w.process_errors, 16);
    }
    kin_object_unref(bad);
    kin_object_unref(good);
    cw_finish(&w);
  }
}

/* OQ-02: an item that its function puts back without a failure does not make
 * the loop spin, either. */
static int put_back(kin_queue *queue, kin_queue_item *item, void *data) {
  cw_world *w = data;
  (void)queue;
  item->requeue = ++w->log.calls < 3;
  return 0;
}

static void test_controller_item_is_put_back(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_QUEUE_FIFO, 0);
  w.options.process = put_back;
  mini_put(&w.vh.server, 0);
  assert_int_equal(cw_open(&w), 0);
  mini_serve(&w.vh.server);
  assert_int_equal(w.log.calls, 1);
  mini_pass(&w.vh.server, 60000);
  assert_int_equal(w.log.calls, 3);
  assert_int_equal(w.process_errors, 0);
  assert_int_equal(kin_queue_count(w.queue), 0);
  cw_finish(&w);
}

/* --- Too much at once ----------------------------------------------------- */

typedef struct pressure {
  bool was_paused;
  size_t most;
} pressure;

static pressure seen_pressure;

static void look_at_pressure(change_log *log) {
  cw_world *w = log->data;
  const kin_queue *queue = kin_controller_queue(w->controller);
  script_request *watch = script_find(&w->vh.script, "watch=");
  seen_pressure.was_paused |= watch != NULL && watch->is_paused;
  size_t count = kin_queue_count(queue);
  seen_pressure.most = count > seen_pressure.most ? count : seen_pressure.most;
}

/* QF-16, CN-06: a queue that is full stops the reading, which goes on when
 * there is room. */
static void test_controller_back_pressure(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_QUEUE_IN_ORDER, 0);
  w.queue_options.pending_limit = 4;
  w.log.during = look_at_pressure;
  seen_pressure = (pressure){0};
  assert_int_equal(cw_open(&w), 0);
  mini_serve(&w.vh.server);
  script_request *watch = script_expect(&w.vh.script, "watch=");
  char body[8192];
  size_t length = 0;
  for (int i = 0; i < 20; i++) {
    length += (size_t)snprintf(
        body + length, sizeof body - length,
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p%d\","
        "\"uid\":\"u\",\"resourceVersion\":\"%d\"}}}\n",
        i, 200 + i);
  }
  assert_true(script_request_body(watch, body, length));
  assert_int_equal(w.log.adds, 20);
  assert_true(seen_pressure.was_paused);
  assert_int_equal(seen_pressure.most, 19); /* had been read already */
  assert_false(watch->is_paused);
  cw_finish(&w);
}

/* QF-16: an item that always fails keeps a queue full. Lists do not pile up
 * behind it, nor do resyncs. */
static void test_controller_blocked_queue(void **state) {
  (void)state;
  for (cw_kind kind = CW_QUEUE_DELTA; kind <= CW_QUEUE_BATCHES; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.log.is_terse = true;
    w.options.retry_on_error = true;
    w.options.resync_ms = 1000;
    w.queue_options.pending_limit = 3;
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    w.failing_key = "even/p0";
    w.failures_left = UINT32_MAX;
    mini_put(&w.vh.server, 0);
    for (int i = 0; i < 20; i++) {
      mini_put(&w.vh.server, 1 + i);
      mini_pass(&w.vh.server, 15000);
      mini_compact(&w.vh.server);
      mini_expire_watches(&w.vh.server);
      mini_end_watches(&w.vh.server);
      mini_pass(&w.vh.server, 15000);
      assert_true(kin_queue_count(w.queue) < 10);
    }
    w.failures_left = 0;
    mini_pass(&w.vh.server, 60000);
    cw_assert_truth(&w);
    cw_finish(&w);
  }
}

/* Sends up to `count` states of one object, until the watch is paused. */
static void put_states(script_request *watch, unsigned version,
                       unsigned count) {
  for (unsigned i = 0; i < count && !watch->is_paused; i++) {
    char body[256];
    int length = snprintf(
        body, sizeof body,
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"p0\","
        "\"namespace\":\"even\",\"uid\":\"u\",\"resourceVersion\":\"%u\"}}}\n",
        version + i);
    watch->callbacks->on_body(watch->ctx, body, (size_t)length);
  }
}

/* QF-16: one object alone fills the queue of either kind. */
static void test_controller_one_object_fills_the_queue(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.log.is_terse = true;
    mini_put_first(&w.vh.server, 20);
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    script_request *watch = script_expect(&w.vh.script, "watch=");
    put_states(watch, 1000, 2 * KIN__CONTROLLER_PENDING);
    assert_true(watch->is_paused);
    kin_deltas *deltas;
    assert_int_equal(kin_queue_get(kin_controller_queue(w.controller),
                                   KIN_STR("even/p0"), &deltas),
                     0);
    assert_int_equal(deltas->count, KIN__CONTROLLER_PENDING);
    kin_deltas_free(deltas);
    script_run(&w.vh.script);
    assert_false(watch->is_paused);
    assert_int_equal(w.log.updates, KIN__CONTROLLER_PENDING);
    cw_finish(&w);
  }
}

static unsigned calls_in_step;

static void take_ten_milliseconds(change_log *log) {
  cw_world *w = log->data;
  w->vh.script.now_ns += 10000000;
  calls_in_step++;
}

static kin_object *state_of_one(cw_world *w, unsigned version) {
  return object_keyed(&w->vh.memory.allocator, "even/p0", version);
}

static void check_hot_object(cw_kind kind, unsigned steps) {
  enum { COUNT = 30 };
  cw_world w;
  cw_init(&w, kind, 0);
  assert_int_equal(cw_open(&w), 0);
  w.log.during = take_ten_milliseconds;
  w.log.is_terse = true;
  kin_queue *queue = kin_controller_queue(w.controller);
  for (unsigned i = 0; i < COUNT; i++) {
    kin_object *object = state_of_one(&w, 1000 + i);
    int err = i == 0
                  ? kin_queue_replace(queue, (const kin_object *const *)&object,
                                      1, KIN_STR("5"))
                  : kin_queue_update(queue, object);
    assert_int_equal(err, 0);
    kin_object_unref(object);
  }
  unsigned done = 0;
  while (done < steps && kin__sched_has_work(&w.vh.script.sched)) {
    calls_in_step = 0;
    kin__sched_run(&w.vh.script.sched, 0); /* one step */
    assert_true(calls_in_step <= 1);
    done += calls_in_step;
    assert_true(kind == CW_IN_ORDER || w.synced == 0 || done == COUNT);
  }
  if (steps > COUNT) {
    assert_int_equal(done, COUNT);
    assert_int_equal(w.synced, 1);
    change_log_assert_folds_to(&w.log, w.store);
    assert_int_equal(kin_queue_count(queue), 0);
    assert_int_equal(w.process_errors, 0);
  }
  cw_finish(&w);
}

/* PD-04, SI-16: the changes of one object are processed in steps, too, each
 * once. on_synced comes after the last one. A close between two steps frees the
 * rest. */
static void test_controller_hot_object_in_steps(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    check_hot_object(kind, UINT32_MAX);
    check_hot_object(kind, 10);
  }
}

/* A source whose list is as long as the test wants. */
typedef struct big_source {
  kin_feed *feed;
  bool is_list_open;
} big_source;

static int big_open(void *ctx, const kin_feed_request *request, kin_feed *feed,
                    void **out) {
  big_source *source = ctx;
  source->feed = feed;
  source->is_list_open = !request->is_watch;
  *out = source;
  return 0;
}

static void big_cancel(void *ctx, void *answer) {
  (void)answer;
  ((big_source *)ctx)->is_list_open = false;
}

static void feed_list(cw_world *w, big_source *source, unsigned from,
                      unsigned to, unsigned version) {
  script_advance(&w->vh.script, 60000);
  assert_true(source->is_list_open);
  for (unsigned i = from; i < to; i++) {
    char key[32];
    snprintf(key, sizeof key, "n/p%u", i);
    kin_object *object =
        object_keyed(&w->vh.memory.allocator, key, version + i % 2);
    assert_int_equal(kin_feed_item(source->feed, object), 0);
    kin_object_unref(object);
  }
  char text[16];
  snprintf(text, sizeof text, "%u", version);
  assert_int_equal(kin_feed_list_end(source->feed, text, NULL), 0);
}

/* Runs all there is to do, and asserts that no step tells more than a slice. */
static unsigned run_in_steps(cw_world *w) {
  unsigned steps = 0;
  for (; kin__sched_has_work(&w->vh.script.sched); steps++) {
    unsigned calls = w->log.adds + w->log.updates + w->log.deletes;
    kin__sched_run(&w->vh.script.sched, 0); /* one step */
    assert_true(w->log.adds + w->log.updates + w->log.deletes - calls <= 1024);
  }
  return steps;
}

static void use_big_source(cw_world *w, big_source *source,
                           kin_lister_watcher *lister) {
  *source = (big_source){0};
  *lister = (kin_lister_watcher)KIN_LISTER_WATCHER_INIT;
  lister->open = big_open;
  lister->cancel = big_cancel;
  lister->ctx = source;
  w->resource.source = lister;
}

enum { BIG = 100000 };

static void check_big_lists(cw_kind kind) {
  cw_world w;
  cw_init(&w, kind, 0);
  big_source source;
  kin_lister_watcher lister;
  use_big_source(&w, &source, &lister);
  w.options.resync_ms = 600000;
  w.log.is_terse = true;
  w.log.during = NULL;
  assert_int_equal(cw_open(&w), 0);
  feed_list(&w, &source, 0, BIG, 10);
  assert_true(run_in_steps(&w) > 200);
  assert_int_equal(w.log.adds, BIG);
  assert_int_equal(w.synced, 1);

  static uint8_t met[2 * BIG];
  memset(met, 0, sizeof met);
  kin_cursor cursor = {0};
  for (unsigned i = 0; i < BIG / 2; i++) {
    met[cw_number(kin_store_next(w.store, &cursor))]++;
  }
  assert_int_equal(kin_feed_watch_end(source.feed), 0);
  kin_feed_error gone = KIN_FEED_ERROR_INIT;
  gone.status = 410;
  gone.reason = "Expired";
  script_advance(&w.vh.script, 60000);
  (void)kin_feed_fail(source.feed, &gone, false);
  feed_list(&w, &source, BIG / 10, BIG + BIG / 10, 11);
  size_t before = kin_store_count(w.store);
  assert_int_equal(before, BIG);
  assert_true(run_in_steps(&w) > 200);
  assert_int_equal(w.log.deletes, BIG / 10);
  assert_int_equal(w.log.updates, BIG - BIG / 10);
  assert_int_equal(w.log.adds, BIG + BIG / 10);
  const kin_object *object;
  while ((object = kin_store_next(w.store, &cursor)) != NULL) {
    met[cw_number(object)]++;
  }
  for (unsigned i = BIG / 10; i < BIG; i++) {
    assert_int_equal(met[i], 1);
  }
  change_log_assert_folds_to(&w.log, w.store);

  script_advance(&w.vh.script, 650000);
  assert_int_equal(w.log.updates, BIG - BIG / 10 + BIG);
  cw_close(&w);
  assert_true(run_in_steps(&w) > 100);
  assert_int_equal(w.closed, 0);
  w.act_at = UINT32_MAX;
  cw_finish(&w);
}

/* PD-06, PD-04: a list of 100,000 objects, another one after it, and a resync,
 * all in steps; a scan that began before the second list meets each object that
 * stays once, and so does look-up: the content is the old one or the new
 * one. */
static void test_controller_big_lists(void **state) {
  (void)state;
  check_big_lists(CW_IN_ORDER);
  check_big_lists(CW_DELTA);
}

static void add_in_update(change_log *log) {
  cw_world *w = log->data;
  char key[32];
  snprintf(key, sizeof key, "n/new%u", log->updates);
  kin_object *object = object_keyed(&w->vh.memory.allocator, key, 1);
  assert_int_equal(kin_store_put(kin_controller_store(w->controller), object),
                   0);
  kin_object_unref(object);
}

/* PD-04: a handler that adds an object for each that is resynced sees the end of
 * the resync, whose slices go on: what is added is no part of it. */
static void test_controller_resync_ends(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    big_source source;
    kin_lister_watcher lister;
    use_big_source(&w, &source, &lister);
    w.options.resync_ms = 600000;
    w.log.is_terse = true;
    w.log.is_ahead = true;
    assert_int_equal(cw_open(&w), 0);
    feed_list(&w, &source, 0, COUNT, 10);
    run_in_steps(&w);
    assert_int_equal(w.log.adds, COUNT);
    w.log.during = add_in_update;
    script_advance(&w.vh.script, 650000);
    assert_int_equal(w.log.updates, COUNT);
    assert_int_equal(kin_store_count(w.store), 2 * COUNT);
    cw_finish(&w);
  }
}

static int fail_last(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)out;
  (void)data;
  return cw_number(in) == BIG - 1 ? KIN_ENOMEM : 0;
}

/* A list that waits for memory near its end is freed in steps, too. */
static void test_controller_big_list_given_up(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_IN_ORDER, 0);
  big_source source;
  kin_lister_watcher lister;
  use_big_source(&w, &source, &lister);
  w.options.transform = fail_last;
  w.log.is_terse = true;
  assert_int_equal(cw_open(&w), 0);
  feed_list(&w, &source, 0, BIG, 10);
  while (kin__sched_has_work(&w.vh.script.sched)) {
    kin__sched_run(&w.vh.script.sched, 0);
  }
  assert_int_equal(w.errors, 1);
  cw_close(&w);
  while (kin__sched_has_work(&w.vh.script.sched)) {
    size_t before = atomic_load(&w.vh.memory.live_blocks);
    kin__sched_run(&w.vh.script.sched, 0); /* one step */
    assert_true(before < atomic_load(&w.vh.memory.live_blocks) + 2400);
  }
  w.act_at = UINT32_MAX;
  cw_finish(&w);
}

static bool is_refusing;

static int refuse_p1(const kin_object *in, kin_object_builder *out,
                     void *data) {
  (void)out;
  (void)data;
  return is_refusing && cw_number(in) == 1 ? KIN_ETYPE : 0;
}

/* A listed object on which the transform fails is reported, and stops nothing
 * else. Its stored state stays. */
static void test_controller_list_is_not_transformed(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.options.transform = refuse_p1;
    is_refusing = true;
    mini_put_first(&w.vh.server, 10);
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    assert_int_equal(w.synced, 1);
    assert_int_equal(w.errors, 1);
    assert_int_equal(kin_store_count(w.store), 9);
    is_refusing = false;
    mini_put(&w.vh.server, 1);
    mini_serve(&w.vh.server);
    assert_int_equal(kin_store_count(w.store), 10);
    is_refusing = true;
    mini_break_watches(&w.vh.server);
    mini_put(&w.vh.server, 1);
    mini_compact(&w.vh.server);
    mini_pass(&w.vh.server, 60000);
    assert_int_equal(w.vh.server.lists, 2);
    assert_int_equal(kin_store_count(w.store), 10);
    assert_int_equal(w.log.deletes, 0);
    kin_status status = KIN_STATUS_INIT;
    assert_int_equal(kin_controller_get_status(w.controller, &status), 0);
    assert_int_equal(status.bad_objects, 2);
    cw_finish(&w);
  }
}

static int refuse_30_of_p390(const kin_object *in, kin_object_builder *out,
                             void *data) {
  (void)out;
  (void)data;
  return cw_number(in) == 390 &&
                 kin__str_equal(kin_object_resource_version(in), KIN_STR("30"))
             ? KIN_ETYPE
             : 0;
}

static void feed_states(cw_world *w, kin_feed *feed, bool is_list,
                        unsigned version) {
  for (unsigned i = 0; i < 400; i++) {
    char key[32];
    snprintf(key, sizeof key, "n/p%u", i);
    kin_object *object = object_keyed(&w->vh.memory.allocator, key, version);
    int err = is_list ? kin_feed_item(feed, object)
                      : kin_feed_event(feed, KIN_WATCH_MODIFIED, object);
    assert_int_equal(err, 0);
    kin_object_unref(object);
  }
}

/* A relist comes while changes wait for slow handlers, and the transform fails
 * on a listed object: the state of the queued change stays. `listed`: of the
 * first list; p390 may come by the watch. */
static void check_newest_stays(cw_kind kind, unsigned listed) {
  cw_world w;
  cw_init(&w, kind, 0);
  big_source source;
  kin_lister_watcher lister;
  use_big_source(&w, &source, &lister);
  w.options.transform = refuse_30_of_p390;
  w.log.is_terse = true;
  assert_int_equal(cw_open(&w), 0);
  feed_list(&w, &source, 0, listed, 10);
  script_run(&w.vh.script);
  w.log.during = take_ten_milliseconds;
  feed_states(&w, source.feed, false, 20);
  kin_feed_error gone = KIN_FEED_ERROR_INIT;
  gone.status = 410;
  gone.reason = "Expired";
  (void)kin_feed_fail(source.feed, &gone, false);
  script_env *script = &w.vh.script;
  while (!source.is_list_open) {
    kin__sched_run(&script->sched, 0); /* one step */
    script_run_deferred(script);
    kin__timers_run(&script->timers, script->now_ns / 1000000, 1);
  }
  assert_true(w.log.adds + w.log.updates < listed + 390);
  feed_states(&w, source.feed, true, 30);
  assert_int_equal(kin_feed_list_end(source.feed, "30", NULL), 0);
  script_run(script);
  assert_int_equal(w.log.deletes, 0);
  const kin_object *last = kin_store_get(w.store, KIN_STR("n/p390"));
  assert_true(kin__str_equal(kin_object_resource_version(last), KIN_STR("20")));
  change_log_assert_folds_to(&w.log, w.store);
  cw_finish(&w);
}

static void test_controller_newest_state_stays(void **state) {
  (void)state;
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    check_newest_stays(kind, 400);
    check_newest_stays(kind, 390);
  }
}

static kin_object *object_of_parts(const char *namespace_, const char *name) {
  char text[256];
  snprintf(text, sizeof text,
           "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"u\","
           "\"resourceVersion\":\"1\"}}",
           name, namespace_);
  kin_object *object;
  assert_int_equal(kin_object_parse(&object, NULL, text, strlen(text)), 0);
  return object;
}

static void feed_keys(cw_world *w, big_source *source,
                      const char *const (*parts)[2], size_t count,
                      const char *version) {
  for (size_t i = 0; i < count; i++) {
    kin_object *object = object_of_parts(parts[i][0], parts[i][1]);
    assert_int_equal(kin_feed_item(source->feed, object), 0);
    kin_object_unref(object);
  }
  assert_int_equal(kin_feed_list_end(source->feed, version, NULL), 0);
  script_run(&w->vh.script);
}

/* An object whose key no store can keep is skipped and reported. It costs the
 * list nothing else. */
static void test_controller_list_has_a_bad_key(void **state) {
  (void)state;
  static const char *const parts[][2] = {
      {"x", "p1"}, {"x", "a/b"}, {"x/y", "p2"}, {"x", "p3"}};
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    big_source source;
    kin_lister_watcher lister;
    use_big_source(&w, &source, &lister);
    assert_int_equal(cw_open(&w), 0);
    script_run(&w.vh.script);
    feed_keys(&w, &source, parts, 4, "9");
    assert_int_equal(w.synced, 1);
    assert_int_equal(w.errors, 1);
    assert_int_equal(w.log.adds, 2);
    assert_int_equal(kin_store_count(w.store), 2);
    kin_status status = KIN_STATUS_INIT;
    assert_int_equal(kin_controller_get_status(w.controller, &status), 0);
    assert_int_equal(status.bad_objects, 2);
    cw_finish(&w);
  }
}

/* A list of nothing but such objects is not an empty list. It fails, deletes
 * nothing, and is made again. */
static void test_controller_list_has_only_bad_keys(void **state) {
  (void)state;
  static const char *const good[][2] = {{"x", "p1"}, {"x", "p2"}};
  static const char *const bad[][2] = {{"x", "a/b"}, {"x/y", "p2"}};
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    big_source source;
    kin_lister_watcher lister;
    use_big_source(&w, &source, &lister);
    assert_int_equal(cw_open(&w), 0);
    script_run(&w.vh.script);
    feed_keys(&w, &source, good, 2, "9");
    kin_feed_error gone = KIN_FEED_ERROR_INIT;
    gone.status = 410;
    gone.reason = "Expired";
    (void)kin_feed_fail(source.feed, &gone, false);
    script_advance(&w.vh.script, 5000);
    feed_keys(&w, &source, bad, 2, "11");
    assert_int_equal(w.log.deletes, 0);
    assert_int_equal(kin_store_count(w.store), 2);
    assert_string_equal(kin_controller_last_sync_version(w.controller), "9");
    script_advance(&w.vh.script, 60000);
    feed_keys(&w, &source, good, 1, "12");
    assert_int_equal(kin_store_count(w.store), kind == CW_QUEUE_FIFO ? 2 : 1);
    assert_string_equal(kin_controller_last_sync_version(w.controller), "12");
    cw_finish(&w);
  }
}

/* The program puts a list into the controller's own queue between any two steps
 * of the server's list. A delta queue refuses it while the server's list goes
 * in; else the later of the two lists counts. */
static void test_controller_own_queue_is_replaced(void **state) {
  (void)state;
  enum { COUNT = 300 };
  for (cw_kind kind = CW_IN_ORDER; kind <= CW_DELTA; kind++) {
    unsigned refused = 0;
    bool has_more = true;
    for (unsigned steps = 0; has_more; steps++) {
      cw_world w;
      cw_init(&w, kind, 0);
      big_source source;
      kin_lister_watcher lister;
      use_big_source(&w, &source, &lister);
      w.log.is_terse = true;
      assert_int_equal(cw_open(&w), 0);
      feed_list(&w, &source, 0, COUNT, 10);
      for (unsigned i = 0; i < steps; i++) {
        kin__sched_run(&w.vh.script.sched, 0); /* one step */
      }
      has_more = kin__sched_has_work(&w.vh.script.sched);
      kin_object *mine = object_keyed(&w.vh.memory.allocator, "n/p0", 5);
      int err =
          kin_queue_replace(kin_controller_queue(w.controller),
                            (const kin_object *const *)&mine, 1, KIN_STR("5"));
      kin_object_unref(mine);
      refused += err == KIN_EALREADY ? 1 : 0;
      run_in_steps(&w);
      size_t left = kin_store_count(w.store);
      assert_true(left == COUNT || (left == 1 && err == 0));
      change_log_assert_folds_to(&w.log, w.store);
      cw_finish(&w);
    }
    assert_true(kind == CW_DELTA ? refused > 1 : refused == 0);
  }
}

/* Handlers' time is not the library's: it is accounted for. */
static void take_a_millisecond(change_log *log) {
  cw_world *w = log->data;
  w->vh.script.now_ns += 1000000;
}

static void test_controller_handlers_time(void **state) {
  (void)state;
  for (cw_kind kind = 0; kind < CW_KINDS; kind++) {
    cw_world w;
    cw_init(&w, kind, 0);
    w.log.during = take_a_millisecond;
    mini_put_first(&w.vh.server, 5);
    assert_int_equal(cw_open(&w), 0);
    mini_serve(&w.vh.server);
    assert_int_equal(w.vh.script.handler_ns, 5 * 1000000);
    cw_finish(&w);
  }
}

static void take_some_time(cw_world *w) {
  w->vh.script.now_ns += 1000000;
}

/* The time of what else is called is the program's, too. */
static void test_controller_callbacks_time(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_QUEUE_FIFO, 0);
  w.act = take_some_time;
  w.act_at = 1;
  assert_int_equal(cw_open(&w), 0);
  mini_serve(&w.vh.server);
  assert_int_equal(w.synced, 1);
  assert_int_equal(w.vh.script.handler_ns, 1000000);
  w.failing_key = "odd/p1";
  w.failures_left = 1;
  w.act_at = w.calls + 2; /* the second: on_process_error */
  mini_put(&w.vh.server, 1);
  mini_pass(&w.vh.server, 1000);
  assert_int_equal(w.process_errors, 1);
  assert_int_equal(w.vh.script.handler_ns, 2000000);
  cw_finish(&w);
}

/* --- Input ---------------------------------------------------------------- */

/* CO-01: options that contradict each other, and what comes out of turn. */
static void test_controller_bad_options(void **state) {
  (void)state;
  cw_world w;
  cw_init(&w, CW_QUEUE_DELTA, 0);
  kin_queue *queue;
  assert_int_equal(kin_queue_new_delta(&queue, NULL), 0);
  kin_controller *controller;
  kin_process_handlers handlers = KIN_PROCESS_HANDLERS_INIT;
  static const char *const namespaces[] = {"a", "b"};
  kin_controller_options good = w.options;
  good.queue = queue;
  for (int i = 0; i < 11; i++) {
    kin_controller_options o = good;
    int expected = KIN_EINVAL;
    switch (i) {
    case 0:
      o.resource = NULL;
      break;
    case 1:
      o.process = NULL;
      break;
    case 2:
      o.queue = NULL;
      break;
    case 3:
      o.handlers = &handlers;
      break;
    case 4:
      o.queue_kind = KIN_CONTROLLER_DELTA;
      break;
    case 5:
      o.transform = change_nothing;
      break;
    case 6:
      o.size = 8;
      break;
    case 7:
      o.queue = NULL;
      o.process = NULL;
      o.retry_on_error = true;
      break;
    case 8:
      o.queue = NULL;
      o.process = NULL;
      o.queue_kind = (kin_controller_queue_kind)2;
      break;
    case 9:
      w.resource.plural = "a/b";
      break;
    default:
      w.resource.plural = "pods";
      w.resource.namespaces = namespaces;
      w.resource.namespace_count = 2;
    }
    controller = (kin_controller *)&w;
    assert_int_equal(kin__controller_open(&controller, &w.vh.host, &o),
                     expected);
    assert_null(controller);
  }
  w.resource.namespace_count = 0;
  assert_int_equal(kin__controller_open(&controller, &w.vh.host, &good), 0);
  kin_controller *second;
  assert_int_equal(kin__controller_open(&second, &w.vh.host, &good),
                   KIN_EINVAL); /* one consumer a queue */
  assert_int_equal(kin_controller_start(controller), 0);
  assert_int_equal(kin_controller_start(controller), KIN_EALREADY);
  vh_close(&w.vh);
  assert_int_equal(kin_controller_start(controller), KIN_ECLOSED);
  assert_int_equal(kin__controller_open(&second, &w.vh.host, &good),
                   KIN_ECLOSED);
  script_run(&w.vh.script);
  assert_int_equal(w.on_closed, 1);
  virtual_host other;
  vh_init(&other, 0);
  assert_int_equal(kin__controller_open(&second, &other.host, &good),
                   KIN_ECLOSED); /* the queue, with the first controller */
  vh_finish(&other);
  kin_queue_free(queue);
  kin_store_free(w.store);
  change_log_finish(&w.log);
  vh_finish(&w.vh);
}

static kin_retry given_answer;

static void answer_error(kin_controller *controller, kin_error_event *event,
                         void *data) {
  cw_world *w = data;
  assert_ptr_equal(controller, w->controller);
  w->errors++;
  event->answer = given_answer;
  event->retry_after_ms = 20000;
}

/* CO-02: the program may answer a failure: later than it would be, or never
 * again. */
static void test_controller_error_is_answered(void **state) {
  (void)state;
  static const kin_retry answers[] = {KIN_RETRY_AFTER, KIN_STOP};
  for (size_t i = 0; i < 2; i++) {
    given_answer = answers[i];
    cw_world w;
    cw_init(&w, CW_IN_ORDER, 0);
    w.options.on_error = answer_error;
    assert_int_equal(cw_open(&w), 0);
    script_run(&w.vh.script);
    for (unsigned round = 1; round <= 2; round++) {
      script_respond(&w.vh.script, "/pods", 500, "");
      assert_int_equal(w.errors, round);
      script_advance(&w.vh.script, 19999);
      assert_int_equal(script_open_requests(&w.vh.script), 0);
      script_advance(&w.vh.script, 1);
      if (answers[i] == KIN_STOP) {
        script_advance(&w.vh.script, 3600000);
        assert_int_equal(script_open_requests(&w.vh.script), 0);
        break;
      }
      assert_int_equal(script_open_requests(&w.vh.script), 1);
    }
    cw_finish(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_controller_error_is_answered),
      cmocka_unit_test(test_controller_item_is_lost),
      cmocka_unit_test(test_controller_item_is_retried),
      cmocka_unit_test(test_controller_newer_item_wins),
      cmocka_unit_test(test_controller_hopeless_item),
      cmocka_unit_test(test_controller_wait_goes_on),
      cmocka_unit_test(test_controller_item_is_put_back),
      cmocka_unit_test(test_controller_back_pressure),
      cmocka_unit_test(test_controller_blocked_queue),
      cmocka_unit_test(test_controller_one_object_fills_the_queue),
      cmocka_unit_test(test_controller_hot_object_in_steps),
      cmocka_unit_test(test_controller_big_lists),
      cmocka_unit_test(test_controller_resync_ends),
      cmocka_unit_test(test_controller_big_list_given_up),
      cmocka_unit_test(test_controller_list_is_not_transformed),
      cmocka_unit_test(test_controller_newest_state_stays),
      cmocka_unit_test(test_controller_list_has_a_bad_key),
      cmocka_unit_test(test_controller_list_has_only_bad_keys),
      cmocka_unit_test(test_controller_own_queue_is_replaced),
      cmocka_unit_test(test_controller_handlers_time),
      cmocka_unit_test(test_controller_callbacks_time),
      cmocka_unit_test(test_controller_bad_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
