/* SPDX-License-Identifier: MIT */

/* The metrics of work queues, as a struct and as text. Proves WQ-13. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/work_queue.h>

#include "base/str.h"
#include "support/fail_alloc.h"

typedef struct world {
  fail_alloc memory;
  kin_work_queue *queue;
  uint64_t now_us;
  char text[32768];
  int writes;
  int fail_after; /* writes; -1: never */
} world;

static void begin(world *w, const char *name) {
  *w = (world){.fail_after = -1};
  fail_alloc_init(&w->memory, 0);
  kin_work_queue_options options = KIN_WORK_QUEUE_OPTIONS_INIT;
  options.allocator = &w->memory.allocator;
  options.name = name;
  assert_int_equal(kin_work_queue_new(&w->queue, &options), 0);
}

static void finish(world *w) {
  kin_work_queue_free(w->queue);
  assert_int_equal(w->memory.live_blocks, 0);
}

static void pass_us(world *w, uint64_t us) {
  w->now_us += us;
  assert_int_equal(kin_work_queue_advance(w->queue, w->now_us * 1000, NULL), 0);
}

static void add(world *w, const char *key) {
  assert_int_equal(kin_work_queue_add(w->queue, kin__cstr(key)), 0);
}

static const kin_work_item *get(world *w) {
  const kin_work_item *item;
  assert_int_equal(kin_work_queue_get(w->queue, &item), 0);
  return item;
}

static kin_work_queue_metrics read_metrics(const world *w) {
  kin_work_queue_metrics m = KIN_WORK_QUEUE_METRICS_INIT;
  assert_int_equal(kin_work_queue_get_metrics(w->queue, &m), 0);
  assert_int_equal(m.size, sizeof m);
  return m;
}

/* WQ-13. client-go TestMetrics: the same adds, waits and answers, and the same
 * numbers after each. */
static void test_work_metrics(void **state) {
  (void)state;
  world w;
  begin(&w, "test");
  add(&w, "foo");
  kin_work_queue_metrics m = read_metrics(&w);
  assert_int_equal(m.adds, 1);
  assert_int_equal(m.depth, 1);
  pass_us(&w, 50);
  const kin_work_item *item = get(&w); /* after 50 us in the queue */
  m = read_metrics(&w);
  assert_int_equal(m.depth, 0);
  assert_int_equal(m.queue_us.count, 1);
  assert_int_equal(m.queue_us.sum, 50);
  assert_int_equal(m.processing, 1);
  add(&w, "foo"); /* during its work: it counts, and cannot be had yet */
  add(&w, "foo");
  m = read_metrics(&w);
  assert_int_equal(m.adds, 2);
  assert_int_equal(m.depth, 1);
  assert_int_equal(kin_work_queue_count(w.queue), 0);
  pass_us(&w, 25);
  assert_int_equal(kin_work_done(item, KIN_WORK_SUCCESS), 0);
  m = read_metrics(&w);
  assert_int_equal(m.depth, 1);
  assert_int_equal(m.work_us.count, 1);
  assert_int_equal(m.work_us.sum, 25);
  pass_us(&w, 10);
  item = get(&w); /* it was added 35 us ago */
  assert_int_equal(read_metrics(&w).queue_us.sum, 50 + 35);
  assert_int_equal(kin_work_done(item, KIN_WORK_SUCCESS), 0);
  assert_int_equal(kin_work_queue_add_after(w.queue, kin__cstr("bar"), 1), 0);
  m = read_metrics(&w);
  assert_int_equal(m.retries, 1);
  assert_int_equal(m.waiting, 1);
  assert_int_equal(m.adds, 2);
  pass_us(&w, 2000);
  m = read_metrics(&w);
  assert_int_equal(m.waiting, 0);
  assert_int_equal(m.adds, 3);
  assert_int_equal(m.keys, 1);
  finish(&w);
}

/* WQ-13: what is worked on, its times together and the longest. client-go
 * TestMetricShutdown: a shutdown ends the clock of these numbers there; here
 * they are counted when they are read, so there is nothing to end. */
static void test_unfinished(void **state) {
  (void)state;
  world w;
  begin(&w, "test");
  add(&w, "a");
  add(&w, "b");
  add(&w, "c");
  const kin_work_item *a = get(&w);
  pass_us(&w, 100);
  const kin_work_item *b = get(&w);
  pass_us(&w, 30);
  const kin_work_item *c = get(&w);
  pass_us(&w, 7);
  kin_work_queue_metrics m = read_metrics(&w);
  assert_int_equal(m.unfinished_us, 137 + 37 + 7);
  assert_int_equal(m.longest_us, 137);
  assert_int_equal(kin_work_done(a, KIN_WORK_SUCCESS), 0);
  m = read_metrics(&w);
  assert_int_equal(m.unfinished_us, 37 + 7);
  assert_int_equal(m.longest_us, 37);
  kin_work_queue_shut_down(w.queue);
  pass_us(&w, 3);
  m = read_metrics(&w);
  assert_int_equal(m.unfinished_us, 40 + 10);
  assert_int_equal(kin_work_done(c, KIN_WORK_RETRY), 0);
  assert_int_equal(kin_work_done(b, KIN_WORK_KEEP), 0);
  m = read_metrics(&w);
  assert_int_equal(m.unfinished_us, 0);
  assert_int_equal(m.longest_us, 0);
  assert_int_equal(m.done, 3);
  assert_int_equal(m.failed, 1);
  finish(&w);
}

static int write_text(const char *text, size_t length, void *data) {
  world *w = data;
  assert_true(length <= 4096);
  if (w->writes++ == w->fail_after) {
    return 17;
  }
  size_t used = strlen(w->text);
  assert_true(used + length < sizeof w->text);
  memcpy(w->text + used, text, length);
  w->text[used + length] = '\0';
  return 0;
}

#define ASSERT_HAS(w, line) assert_non_null(strstr((w)->text, line))

/* client-go's names; two queues under one head each. */
static void test_work_metrics_text(void **state) {
  (void)state;
  static world w;
  static world other;
  begin(&w, "pods");
  begin(&other, NULL);
  add(&w, "a");
  add(&w, "b");
  const kin_work_item *item = get(&w);
  pass_us(&w, 1500000);
  kin_work_queue *queues[] = {w.queue, other.queue};
  assert_int_equal(kin_work_queue_metrics_write(queues, 2, write_text, &w), 0);
  ASSERT_HAS(&w, "# TYPE workqueue_depth gauge\n"
                 "workqueue_depth{name=\"pods\"} 1\n"
                 "workqueue_depth{name=\"work\"} 0\n");
  ASSERT_HAS(&w, "\nworkqueue_adds_total{name=\"pods\"} 2\n");
  ASSERT_HAS(&w, "\nworkqueue_retries_total{name=\"pods\"} 0\n");
  ASSERT_HAS(&w, "\nworkqueue_unfinished_work_seconds{name=\"pods\"} 1.5\n");
  ASSERT_HAS(&w, "\nworkqueue_longest_running_processor_seconds{name="
                 "\"pods\"} 1.5\n");
  ASSERT_HAS(&w, "\nworkqueue_queue_duration_seconds_count{name=\"pods\"} 1\n");
  ASSERT_HAS(&w, "\nworkqueue_work_duration_seconds_bucket{name=\"work\","
                 "le=\"+Inf\"} 0\n");
  size_t lines = 0;
  size_t heads = 0;
  for (const char *c = w.text; *c != '\0'; c++) {
    lines += *c == '\n';
    heads += *c == '#';
  }
  assert_int_equal(heads, 2 * 7);
  assert_in_range((lines - heads) / 2, 40, 45); /* for each queue */
  assert_int_equal(kin_work_done(item, KIN_WORK_SUCCESS), 0);
  finish(&w);
  finish(&other);
}

/* The first error of the writer ends the writing, wherever it comes. */
static void test_work_metrics_text_errors(void **state) {
  (void)state;
  static world w;
  begin(&w, "pods");
  kin_work_queue *queues[] = {w.queue, NULL};
  assert_int_equal(kin_work_queue_metrics_write(queues, 2, write_text, &w),
                   KIN_EINVAL);
  assert_int_equal(w.writes, 0);
  assert_int_equal(kin_work_queue_metrics_write(NULL, 0, write_text, &w), 0);
  assert_int_equal(w.writes, 0);
  assert_int_equal(kin_work_queue_metrics_write(queues, 1, write_text, &w), 0);
  int writes = w.writes;
  for (int i = 0; i < writes; i++) {
    w.text[0] = '\0';
    w.writes = 0;
    w.fail_after = i;
    assert_int_equal(kin_work_queue_metrics_write(queues, 1, write_text, &w),
                     17);
    assert_int_equal(w.writes, i + 1);
  }
  finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_work_metrics), cmocka_unit_test(test_unfinished),
      cmocka_unit_test(test_work_metrics_text),
      cmocka_unit_test(test_work_metrics_text_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
