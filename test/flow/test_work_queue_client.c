/* SPDX-License-Identifier: MIT */

/* Work queues that are attached to a client, on a virtual clock: the worker,
 * its concurrency, waits, the shutdown with its callback, closing at any moment,
 * and bounded steps. Proves WQ-02, WQ-03, WQ-05, WQ-09 and WQ-10 on a loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "support/step_meter.h"
#include "support/virtual_host.h"
#include "workqueue/work_queue.h"

#define MAX_ITEMS 64

typedef struct world {
  virtual_host vh;
  kin_work_queue_options options;
  kin_work_queue *queue; /* NULL once it is gone */
  char text[4096];       /* keys that the worker was given: "a b " */
  const kin_work_item *items[MAX_ITEMS]; /* without an answer */
  size_t item_count;
  size_t most_items;
  int calls;
  int closed;
  int drained;
  int drained_code;
  /* What the worker does; NULL: it keeps the item. */
  void (*then)(struct world *w, const kin_work_item *item);
} world;

static void note(world *w, kin_str key) {
  size_t length = strlen(w->text);
  snprintf(w->text + length, sizeof w->text - length, KIN_STR_FORMAT " ",
           KIN_STR_ARG(key));
}

static void on_work(kin_work_queue *queue, const kin_work_item *item,
                    void *data) {
  world *w = data;
  assert_ptr_equal(queue, w->queue);
  w->calls++;
  if (w->then != NULL) {
    w->then(w, item);
    return;
  }
  note(w, item->key);
  assert_true(w->item_count < MAX_ITEMS);
  w->items[w->item_count++] = item;
  w->most_items = w->item_count > w->most_items ? w->item_count : w->most_items;
}

static void on_closed(void *data) {
  world *w = data;
  w->closed++;
  w->queue = NULL;
}

static void on_drained(kin_work_queue *queue, int code, void *data) {
  world *w = data;
  assert_ptr_equal(queue, w->queue);
  w->drained++;
  w->drained_code = code;
}

static void init(world *w, size_t fail_at) {
  *w = (world){.options = KIN_WORK_QUEUE_OPTIONS_INIT};
  vh_init(&w->vh, fail_at);
  w->options.worker = on_work;
  w->options.on_closed = on_closed;
  w->options.data = w;
}

static int try_open(world *w) {
  return kin__work_queue_open(&w->queue, &w->vh.host, &w->options);
}

static void begin(world *w, uint32_t concurrency) {
  init(w, 0);
  w->options.concurrency = concurrency;
  assert_int_equal(try_open(w), 0);
}

static void finish(world *w) {
  int was_closed = w->closed;
  vh_finish(&w->vh);
  assert_int_equal(w->closed, 1);
  assert_in_range(was_closed, 0, 1);
}

static void run(world *w) {
  script_run(&w->vh.script);
}

static void add(world *w, const char *keys) {
  for (; *keys != '\0'; keys++) {
    assert_int_equal(kin_work_queue_add(w->queue, kin__str(keys, 1)), 0);
  }
}

static void expect(world *w, const char *text) {
  run(w);
  assert_string_equal(w->text, text);
  w->text[0] = '\0';
}

/* Answers the oldest item. */
static void answer(world *w, kin_work_result result) {
  assert_true(w->item_count > 0);
  const kin_work_item *item = w->items[0];
  w->item_count--;
  memmove((void *)w->items, (const void *)(w->items + 1),
          w->item_count * sizeof *w->items);
  assert_int_equal(kin_work_done(item, result), 0);
}

/* --- Workers -------------------------------------------------------------- */

/* The worker is called from the loop only, and with at most `concurrency` keys
 * at a time. A key that is added during its work waits for the answer. */
static void test_concurrency(void **state) {
  (void)state;
  world w;
  begin(&w, 2);
  add(&w, "abcd");
  assert_int_equal(w.calls, 0);
  expect(&w, "a b ");
  add(&w, "a");
  expect(&w, "");
  answer(&w, KIN_WORK_SUCCESS); /* a */
  assert_int_equal(w.calls, 2);
  expect(&w, "c ");
  answer(&w, KIN_WORK_SUCCESS); /* b */
  answer(&w, KIN_WORK_SUCCESS); /* c */
  expect(&w, "d a ");
  answer(&w, KIN_WORK_SUCCESS);
  answer(&w, KIN_WORK_SUCCESS);
  expect(&w, "");
  assert_int_equal(w.most_items, 2);
  finish(&w);
}

static void done_at_once(world *w, const kin_work_item *item) {
  note(w, item->key);
  assert_int_equal(kin_work_done(item, KIN_WORK_SUCCESS), 0);
}

static void test_answers_inside(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  w.then = done_at_once;
  add(&w, "abcabc");
  expect(&w, "a b c ");
  add(&w, "a");
  expect(&w, "a ");
  finish(&w);
}

static void fail_at_once(world *w, const kin_work_item *item) {
  note(w, item->key);
  bool is_bad = item->key.data[0] == 'x';
  assert_int_equal(
      kin_work_done(item, is_bad ? KIN_WORK_RETRY : KIN_WORK_SUCCESS), 0);
}

/* WQ-10: a key that always fails comes after 5, 10, 20 ms and so on, and the
 * others at once. In 10 s there are 11 tries; the bucket has no part in it. */
static void test_retries(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  w.then = fail_at_once;
  add(&w, "xa");
  expect(&w, "x a ");
  script_advance(&w.vh.script, 4);
  expect(&w, "");
  add(&w, "b");
  expect(&w, "b ");
  script_advance(&w.vh.script, 1);
  expect(&w, "x ");
  script_advance(&w.vh.script, 9);
  expect(&w, "");
  script_advance(&w.vh.script, 1);
  expect(&w, "x ");
  w.calls = 0;
  script_advance(&w.vh.script, 10000 - 15);
  assert_int_equal(w.calls, 8); /* at 35, 75, ..., 5115 ms */
  assert_int_equal(kin_work_queue_requeues(w.queue, kin__cstr("x")), 11);
  finish(&w);
}

/* WQ-09: each wait has its time, whatever was added before or after it. */
static void test_waits(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  w.then = done_at_once;
  assert_int_equal(kin_work_queue_add_after(w.queue, kin__cstr("c"), 300), 0);
  assert_int_equal(kin_work_queue_add_after(w.queue, kin__cstr("a"), 100), 0);
  assert_int_equal(kin_work_queue_add_after(w.queue, kin__cstr("b"), 200), 0);
  script_advance(&w.vh.script, 99);
  expect(&w, "");
  script_advance(&w.vh.script, 1);
  expect(&w, "a ");
  assert_int_equal(kin_work_queue_add_after(w.queue, kin__cstr("d"), 20), 0);
  script_advance(&w.vh.script, 20);
  expect(&w, "d ");
  script_advance(&w.vh.script, 1000);
  expect(&w, "b c ");
  finish(&w);
}

/* An item is valid until its answer, however long that takes. */
static void test_late_answers(void **state) {
  (void)state;
  world w;
  begin(&w, 3);
  add(&w, "abc");
  expect(&w, "a b c ");
  script_advance(&w.vh.script, 1000000);
  kin_work_queue_metrics m = KIN_WORK_QUEUE_METRICS_INIT;
  assert_int_equal(kin_work_queue_get_metrics(w.queue, &m), 0);
  assert_int_equal(m.processing, 3);
  assert_int_equal(m.unfinished_us, UINT64_C(3000000000));
  assert_int_equal(m.longest_us, UINT64_C(1000000000));
  assert_true(kin__str_equal(w.items[1]->key, kin__cstr("b")));
  const kin_work_item *item = w.items[2];
  assert_int_equal(kin_work_done_after(item, 50), 0);
  assert_int_equal(kin_work_done(item, KIN_WORK_SUCCESS), KIN_EALREADY);
  script_advance(&w.vh.script, 50);
  expect(&w, "c ");
  finish(&w);
}

/* --- Shutdown ------------------------------------------------------------- */

/* WQ-05: the callback comes from the loop, when the last work is done. */
static void test_drain(void **state) {
  (void)state;
  world w;
  begin(&w, 2);
  add(&w, "abc");
  expect(&w, "a b ");
  add(&w, "a");
  assert_int_equal(kin_work_queue_add_after(w.queue, kin__cstr("w"), 1), 0);
  assert_int_equal(kin_work_queue_shut_down_with_drain(w.queue, on_drained, &w),
                   0);
  assert_int_equal(kin_work_queue_shut_down_with_drain(w.queue, on_drained, &w),
                   KIN_EALREADY);
  script_advance(&w.vh.script, 10);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(w.drained, 0);
    answer(&w, i == 1 ? KIN_WORK_RETRY : KIN_WORK_SUCCESS);
    run(&w);
  }
  expect(&w, "c a ");
  assert_int_equal(w.drained, 1);
  assert_int_equal(w.drained_code, 0);
  assert_true(kin_work_queue_is_drained(w.queue));
  kin_work_queue_metrics m = KIN_WORK_QUEUE_METRICS_INIT;
  assert_int_equal(kin_work_queue_get_metrics(w.queue, &m), 0);
  assert_int_equal(m.keys, 0);
  assert_int_equal(kin_work_queue_shut_down_with_drain(w.queue, on_drained, &w),
                   0);
  assert_int_equal(w.drained, 1);
  run(&w);
  assert_int_equal(w.drained, 2);
  finish(&w);
}

/* WQ-05: a later shutdown ends the wait for the drain. */
static void test_drain_is_ended(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  add(&w, "ab");
  expect(&w, "a ");
  assert_int_equal(kin_work_queue_shut_down_with_drain(w.queue, on_drained, &w),
                   0);
  run(&w);
  kin_work_queue_shut_down(w.queue);
  assert_int_equal(w.drained, 0);
  run(&w);
  assert_int_equal(w.drained, 1);
  assert_int_equal(w.drained_code, KIN_ECLOSED);
  answer(&w, KIN_WORK_SUCCESS);
  expect(&w, "b ");
  answer(&w, KIN_WORK_SUCCESS);
  run(&w);
  assert_int_equal(w.drained, 1);
  finish(&w);
}

static void end_the_drain(world *w, const kin_work_item *item) {
  assert_int_equal(kin_work_done(item, KIN_WORK_SUCCESS), 0);
  if (w->calls == 10) {
    kin_work_queue_shut_down(w->queue);
  }
  w->most_items += w->drained > 0; /* calls after that of on_drained */
}

/* WQ-05: the same with more work than one step does. */
static void test_long_drain_is_ended(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  w.then = end_the_drain;
  for (int i = 0; i < 3000; i++) {
    char key[16];
    snprintf(key, sizeof key, "%d", i);
    assert_int_equal(kin_work_queue_add(w.queue, kin__cstr(key)), 0);
  }
  assert_int_equal(kin_work_queue_shut_down_with_drain(w.queue, on_drained, &w),
                   0);
  run(&w);
  assert_int_equal(w.calls, 3000);
  assert_int_equal(w.drained, 1);
  assert_int_equal(w.drained_code, KIN_ECLOSED);
  assert_true(w.most_items > 0);
  finish(&w);
}

/* --- Close ---------------------------------------------------------------- */

/* The queue is freed in steps. */
static void check_items(void *ctx, bool is_before) {
  const world *w = ctx;
  (void)is_before;
  for (size_t i = 0; i < w->item_count && w->queue != NULL; i++) {
    assert_ptr_equal(w->items[i]->queue, w->queue);
    assert_true(kin__str_equal(w->items[i]->key, kin__str(&"ab"[i], 1)));
  }
}

/* After a close nothing is called but the close callbacks. Items and their keys
 * stay valid until then, and their answers do nothing. */
static void test_work_queue_close(void **state) {
  (void)state;
  world w;
  begin(&w, 2);
  add(&w, "abcd");
  expect(&w, "a b ");
  assert_int_equal(kin_work_queue_shut_down_with_drain(w.queue, on_drained, &w),
                   0);
  int closed = 0;
  assert_int_equal(kin_work_queue_close(w.queue, NULL, NULL), 0);
  assert_int_equal(kin_work_queue_close(w.queue, NULL, &closed), KIN_EALREADY);
  assert_int_equal(w.closed, 0);
  kin_str key = kin__cstr("a");
  assert_int_equal(kin_work_done(w.items[0], KIN_WORK_SUCCESS), KIN_ECLOSED);
  assert_int_equal(kin_work_done_after(w.items[1], 5), KIN_ECLOSED);
  assert_int_equal(kin_work_queue_add(w.queue, key), KIN_ECLOSED);
  assert_int_equal(kin_work_queue_add_rate_limited(w.queue, key), KIN_ECLOSED);
  assert_int_equal(kin_work_queue_shut_down_with_drain(w.queue, NULL, NULL),
                   KIN_ECLOSED);
  kin_work_queue_shut_down(w.queue);
  kin_work_queue_forget(w.queue, key);
  assert_int_equal(kin_work_queue_requeues(w.queue, key), 0);
  assert_int_equal(kin_work_queue_count(w.queue), 0);
  assert_true(kin_work_queue_is_shut_down(w.queue));
  kin_work_queue_metrics m = KIN_WORK_QUEUE_METRICS_INIT;
  assert_int_equal(kin_work_queue_get_metrics(w.queue, &m), 0);
  assert_int_equal(m.depth + m.processing + m.keys, 0);
  assert_int_equal(m.adds, 4);
  w.vh.script.on_step = check_items;
  w.vh.script.on_step_ctx = &w;
  run(&w);
  assert_int_equal(w.closed, 1);
  assert_int_equal(w.drained, 0);
  assert_string_equal(w.text, "");
  finish(&w);
}

static void test_not_alone(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  const kin_work_item *item;
  assert_int_equal(kin_work_queue_get(w.queue, &item), KIN_EINVAL);
  assert_int_equal(kin_work_queue_advance(w.queue, 0, NULL), KIN_EINVAL);
  kin_work_queue_free(w.queue); /* does nothing */
  add(&w, "a");
  expect(&w, "a ");
  finish(&w);
}

/* Each call that the story makes may close the queue, or the client. */
static int close_at;
static int events;

static void may_close(world *w, bool of_client) {
  if (events++ != close_at) {
    return;
  }
  if (of_client) {
    vh_close(&w->vh);
  } else {
    assert_int_equal(kin_work_queue_close(w->queue, NULL, NULL), 0);
  }
}

static bool closes_client;

static void work_and_close(world *w, const kin_work_item *item) {
  bool is_first = item->retries == 0;
  may_close(w, closes_client);
  int err = is_first ? kin_work_done(item, KIN_WORK_RETRY)
                     : kin_work_done_after(item, 20);
  if (!is_first && err == 0 && w->calls > 12) {
    kin_work_queue_shut_down(w->queue);
  }
  may_close(w, closes_client);
}

static void drained_and_close(kin_work_queue *queue, int code, void *data) {
  on_drained(queue, code, data);
  may_close(data, closes_client);
}

static void close_story(world *w) {
  begin(w, 2);
  w->then = work_and_close;
  add(w, "abc");
  script_advance(&w->vh.script, 200);
  if (w->queue != NULL && !w->vh.host.members.is_closing) {
    (void)kin_work_queue_shut_down_with_drain(w->queue, drained_and_close, w);
  }
  run(w);
}

static void test_sweep_closes(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    closes_client = i == 1;
    bool was_reached = true;
    for (close_at = 0; was_reached; close_at++) {
      world w;
      events = 0;
      close_story(&w);
      was_reached = events > close_at;
      assert_int_equal(w.closed, was_reached);
      finish(&w);
    }
    assert_true(close_at > 20);
  }
}

/* --- Memory --------------------------------------------------------------- */

/* Every key that was taken is worked on, whatever allocation fails. */
static bool allocation_story(size_t fail_at) {
  world w;
  init(&w, fail_at);
  w.options.concurrency = 2;
  int err = try_open(&w);
  if (err == 0) {
    w.then = fail_at_once;
    size_t added = 0;
    for (int i = 0; i < 3; i++) {
      added += kin_work_queue_add(w.queue, kin__str(&"xab"[i], 1)) == 0;
    }
    script_advance(&w.vh.script, 1000);
    kin_work_queue_metrics m = KIN_WORK_QUEUE_METRICS_INIT;
    assert_int_equal(kin_work_queue_get_metrics(w.queue, &m), 0);
    assert_true(added >= 2);
    assert_true(m.done >= added);
    assert_int_equal(m.depth + m.processing, 0);
    finish(&w);
  } else {
    assert_int_equal(err, KIN_ENOMEM);
    vh_finish(&w.vh);
  }
  return fail_alloc_has_failed(&w.vh.memory);
}

static void test_sweep_allocations(void **state) {
  (void)state;
  fail_alloc_sweep(allocation_story, 12);
}

/* --- Steps ---------------------------------------------------------------- */

enum { CALLS, DEPTH, WAITING, BLOCKS };

static void read_gauges(void *ctx, int64_t *gauges) {
  const world *w = ctx;
  gauges[CALLS] = w->calls;
  gauges[BLOCKS] = (int64_t)atomic_load(&w->vh.memory.live_blocks);
  if (w->queue != NULL) {
    gauges[DEPTH] = w->queue->work.ready.count;
    gauges[WAITING] = w->queue->work.waiting_count;
  }
}

static void done_later(world *w, const kin_work_item *item) {
  (void)w;
  assert_int_equal(kin_work_done_after(item, 1000), 0);
}

/* A thousand keys that are queued, wait, are due together, are dropped by a
 * shutdown, and are freed by a close: no step does more than its share. */
static void test_work_queue_steps(void **state) {
  (void)state;
  static const step_bound bounds[] = {STEP_PIECES, STEP_TIME};
  for (size_t b = 0; b < 2; b++) {
    world w;
    begin(&w, 4);
    w.then = done_later;
    char key[8];
    for (int i = 0; i < 1000; i++) {
      snprintf(key, sizeof key, "%d", i);
      assert_int_equal(kin_work_queue_add(w.queue, kin__cstr(key)), 0);
    }
    step_meter meter;
    step_meter_begin(&meter, &w.vh.script, bounds[b], read_gauges, &w);
    script_advance(&w.vh.script, 1500);
    kin_work_queue_shut_down(w.queue);
    script_run(&w.vh.script);
    assert_int_equal(w.queue->work.waiting_count, 0);
    int64_t pieces = bounds[b] == STEP_PIECES ? 2 : 1;
    step_meter_expect(&meter, CALLS, "calls", pieces + 1, 2000);
    step_meter_expect(&meter, DEPTH, "depth", pieces + 1, 1000);
    step_meter_expect(&meter, WAITING, "waiting", pieces + 1, 2000);
    finish(&w);
  }
}

static void test_steps_of_a_close(void **state) {
  (void)state;
  static const step_bound bounds[] = {STEP_PIECES, STEP_TIME};
  for (size_t b = 0; b < 2; b++) {
    world w;
    begin(&w, 4);
    w.then = fail_at_once; /* "x..." fails, so the limiter has the keys, too */
    char key[8];
    for (int i = 0; i < 3000; i++) {
      snprintf(key, sizeof key, "x%d", i);
      assert_int_equal(kin_work_queue_add(w.queue, kin__cstr(key)), 0);
    }
    script_run(&w.vh.script);
    step_meter meter;
    step_meter_begin(&meter, &w.vh.script, bounds[b], read_gauges, &w);
    assert_int_equal(kin_work_queue_close(w.queue, NULL, NULL), 0);
    script_run(&w.vh.script);
    assert_int_equal(w.closed, 1);
    /* Pieces are small: there may be sixteen between two looks. The last step
     * frees the queue with its name and records. */
    step_meter_expect(&meter, BLOCKS, "blocks", STEP_BETWEEN_LOOKS + 8, 6000);
    finish(&w);
  }
}

static void keep(world *w, const kin_work_item *item) {
  (void)w;
  (void)item;
}

static bool closes_client_at_end;

static void on_closed_in_steps(void *data) {
  world *w = data;
  on_closed(w);
  if (closes_client_at_end) {
    vh_close(&w->vh);
  }
}

/* Keys that are worked on are freed in steps, too: from the close callbacks on,
 * which may close the client. */
static void test_steps_of_a_close_with_items(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    world w;
    init(&w, 0);
    w.options.concurrency = 3000;
    w.options.on_closed = on_closed_in_steps;
    closes_client_at_end = i == 1;
    assert_int_equal(try_open(&w), 0);
    w.then = keep;
    char key[8];
    for (int k = 0; k < 3000; k++) {
      snprintf(key, sizeof key, "%d", k);
      assert_int_equal(kin_work_queue_add(w.queue, kin__cstr(key)), 0);
    }
    script_run(&w.vh.script);
    assert_int_equal(w.calls, 3000);
    step_meter meter;
    step_meter_begin(&meter, &w.vh.script, STEP_PIECES, read_gauges, &w);
    assert_int_equal(kin_work_queue_close(w.queue, NULL, NULL), 0);
    script_run(&w.vh.script);
    assert_int_equal(w.closed, 1);
    step_meter_expect(&meter, BLOCKS, "blocks", 8, 3000);
    finish(&w);
  }
}

/* --- Options -------------------------------------------------------------- */

static void expect_problem(world *w, int code, const char *text) {
  kin_work_queue *queue;
  assert_int_equal(kin__work_queue_open(&queue, &w->vh.host, &w->options),
                   code);
  assert_null(queue);
  assert_non_null(strstr(w->vh.text, text));
  w->vh.text[0] = '\0';
}

static void test_work_queue_options(void **state) {
  (void)state;
  world w;
  init(&w, 0);
  kin_work_queue_options good = w.options;
  w.options.worker = NULL;
  expect_problem(&w, KIN_EINVAL, "worker: is required");
  w.options = good;
  w.options.allocator = &w.vh.memory.allocator;
  expect_problem(&w, KIN_EINVAL, "allocator: is the client's");
  w.options = good;
  w.options.name = "a b";
  expect_problem(&w, KIN_EINVAL, "name: ");
  w.options = good;
  w.options.max_keys = 16777217;
  expect_problem(&w, KIN_EINVAL, "max_keys: ");
  w.options = good;
  w.options.concurrency = KIN__WORK_MAX_CONCURRENCY + 1;
  expect_problem(&w, KIN_EINVAL, "concurrency: ");
  w.options.concurrency = KIN__WORK_MAX_CONCURRENCY;
  assert_int_equal(try_open(&w), 0);
  assert_int_equal(kin__work_queue_open(&w.queue, NULL, &w.options),
                   KIN_EINVAL);
  vh_close(&w.vh);
  kin_work_queue *queue;
  assert_int_equal(kin__work_queue_open(&queue, &w.vh.host, &w.options),
                   KIN_ECLOSED);
  finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_concurrency),
      cmocka_unit_test(test_answers_inside),
      cmocka_unit_test(test_retries),
      cmocka_unit_test(test_waits),
      cmocka_unit_test(test_late_answers),
      cmocka_unit_test(test_drain),
      cmocka_unit_test(test_drain_is_ended),
      cmocka_unit_test(test_long_drain_is_ended),
      cmocka_unit_test(test_work_queue_close),
      cmocka_unit_test(test_not_alone),
      cmocka_unit_test(test_sweep_closes),
      cmocka_unit_test(test_sweep_allocations),
      cmocka_unit_test(test_work_queue_steps),
      cmocka_unit_test(test_steps_of_a_close),
      cmocka_unit_test(test_steps_of_a_close_with_items),
      cmocka_unit_test(test_work_queue_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
