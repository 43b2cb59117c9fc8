/* SPDX-License-Identifier: MIT */
#include "costs/cost.h"

#include <stdio.h>
#include <stdlib.h>

#include <kin/work_queue.h>

#include "costs/world.h"
#include "workqueue/work_queue.h"

/* Keys are "0", "1", ... */
static kin_str key_of(char to[16], size_t i) {
  int length = snprintf(to, 16, "%zu", i);
  return (kin_str){to, (size_t)length};
}

typedef enum state { QUEUED, WAITING, WORKED, FAILED } state;

static const kin_work_item *get(kin_work_queue *queue) {
  const kin_work_item *item;
  cost_must(kin_work_queue_get(queue, &item));
  return item;
}

/* The keys 0 to n - 1 are in that state. */
static kin_work_queue *queue_of(state in, size_t n) {
  kin_work_queue *queue;
  kin_work_queue_options options = KIN_WORK_QUEUE_OPTIONS_INIT;
  options.allocator = cost_memory();
  cost_must(kin_work_queue_new(&queue, &options));
  char text[16];
  for (size_t i = 0; i < n; i++) {
    kin_str key = key_of(text, i);
    uint64_t delay_ms = in == WAITING ? 1000 + i * 7919 % n : 0;
    cost_must(kin_work_queue_add_after(queue, key, delay_ms));
    if (in == WORKED || in == FAILED) {
      const kin_work_item *item = get(queue);
      cost_must(in == FAILED ? kin_work_done(item, KIN_WORK_RETRY) : 0);
    }
  }
  return queue;
}

/* --- Adding --------------------------------------------------------------- */

static void add(size_t n) {
  kin_work_queue *queue = queue_of(QUEUED, n);
  char text[16];
  COST_EACH(i, COST_CALLS,
            cost_must(kin_work_queue_add(queue, key_of(text, n + i))));
  kin_work_queue_free(queue);
}

static void add_again(size_t n) {
  kin_work_queue *queue = queue_of(QUEUED, n);
  char text[16];
  COST_EACH(i, COST_CALLS,
            cost_must(kin_work_queue_add(queue, key_of(text, i))));
  kin_work_queue_free(queue);
}

/* Times before, among and after those of the others. */
static void add_after(size_t n) {
  kin_work_queue *queue = queue_of(WAITING, n);
  char text[16];
  COST_EACH(i, COST_CALLS,
            cost_must(kin_work_queue_add_after(queue, key_of(text, n + i),
                                               900 + i * n / 8)));
  kin_work_queue_free(queue);
}

static void add_with_priority(size_t n) {
  kin_work_queue *queue = queue_of(WAITING, n);
  char text[16];
  COST_EACH(i, COST_CALLS,
            cost_must(kin_work_queue_add_with_priority(queue, key_of(text, i),
                                                       1, 900 + i)));
  kin_work_queue_free(queue);
}

/* Queued keys become more urgent. */
static void raise_priority(size_t n) {
  kin_work_queue *queue = queue_of(QUEUED, n);
  char text[16];
  COST_EACH(i, COST_CALLS,
            cost_must(kin_work_queue_add_with_priority(queue, key_of(text, i),
                                                       (int32_t)i + 1, 0)));
  kin_work_queue_free(queue);
}

static void add_rate_limited(size_t n) {
  kin_work_queue *queue = queue_of(FAILED, n);
  char text[16];
  COST_EACH(
      i, COST_CALLS,
      cost_must(kin_work_queue_add_rate_limited(queue, key_of(text, n + i))));
  kin_work_queue_free(queue);
}

static void forget(size_t n) {
  kin_work_queue *queue = queue_of(FAILED, n);
  char text[16];
  COST_EACH(i, COST_CALLS, {
    kin_work_queue_forget(queue, key_of(text, i));
    cost_assert(kin_work_queue_requeues(queue, key_of(text, i)) == 0);
  });
  kin_work_queue_free(queue);
}

/* --- Working -------------------------------------------------------------- */

static void get_one(size_t n) {
  kin_work_queue *queue = queue_of(QUEUED, n + COST_CALLS);
  COST_EACH(i, COST_CALLS, (void)get(queue));
  kin_work_queue_free(queue);
}

static void answer(state others, size_t n, kin_work_result result) {
  kin_work_queue *queue = queue_of(others, n);
  const kin_work_item *items[COST_CALLS];
  char text[16];
  for (size_t i = 0; i < COST_CALLS; i++) {
    cost_must(kin_work_queue_add(queue, key_of(text, n + i)));
    items[i] = get(queue);
  }
  COST_EACH(i, COST_CALLS, cost_must(kin_work_done(items[i], result)));
  kin_work_queue_free(queue);
}

static void done(size_t n) {
  answer(WORKED, n, KIN_WORK_SUCCESS);
}

static void retry(size_t n) {
  answer(WAITING, n, KIN_WORK_RETRY);
}

/* 16 of n keys are due. */
static void advance(size_t n) {
  kin_work_queue *queue = queue_of(WAITING, n);
  char text[16];
  for (size_t i = 0; i < COST_CALLS; i++) {
    cost_must(kin_work_queue_add_after(queue, key_of(text, n + i), i + 1));
  }
  COST_EACH(i, COST_CALLS,
            cost_must(kin_work_queue_advance(queue, (i + 1) * 1000000, NULL)));
  cost_assert(kin_work_queue_count(queue) == COST_CALLS);
  kin_work_queue_free(queue);
}

/* All are due; one call moves no more than 1,024 of them. */
static void advance_all(size_t n) {
  kin_work_queue *queue = queue_of(WAITING, n);
  COST(cost_must(kin_work_queue_advance(queue, UINT64_MAX, NULL)));
  cost_assert(kin_work_queue_count(queue) == 1024);
  kin_work_queue_free(queue);
}

static void shut_down(size_t n) {
  kin_work_queue *queue = queue_of(WAITING, n);
  COST({
    kin_work_queue_shut_down(queue);
    cost_assert(kin_work_queue_is_shut_down(queue));
    cost_assert(kin_work_queue_is_drained(queue));
  });
  kin_work_queue_free(queue);
}

/* --- Everything ----------------------------------------------------------- */

static void free_queue(size_t n) {
  kin_work_queue *queue = queue_of(FAILED, n);
  COST(kin_work_queue_free(queue));
}

static void free_limiter(size_t n) {
  kin_rate_limiter *limiter;
  cost_must(kin_rate_limiter_new_default(&limiter, cost_memory()));
  char text[16];
  for (size_t i = 0; i < n; i++) {
    cost_assert(kin_rate_limiter_when_ms(limiter, key_of(text, i), 0) >= 5);
  }
  COST(kin_rate_limiter_free(limiter));
}

static void limit(size_t n) {
  kin_rate_limiter *limiter;
  cost_must(kin_rate_limiter_new_default(&limiter, cost_memory()));
  char text[16];
  for (size_t i = 0; i < n; i++) {
    (void)kin_rate_limiter_when_ms(limiter, key_of(text, i), 0);
  }
  COST_EACH(i, COST_CALLS,
            (void)kin_rate_limiter_when_ms(limiter, key_of(text, n + i), 0));
  kin_rate_limiter_free(limiter);
}

static void read_metrics(size_t n) {
  kin_work_queue *queue = queue_of(WORKED, n);
  kin_work_queue_metrics metrics = KIN_WORK_QUEUE_METRICS_INIT;
  COST(cost_must(kin_work_queue_get_metrics(queue, &metrics)));
  cost_assert(metrics.processing == n);
  kin_work_queue_free(queue);
}

static int write_nothing(const char *text, size_t length, void *data) {
  (void)text;
  *(size_t *)data += length;
  return 0;
}

static void write_metrics(size_t n) {
  kin_work_queue **queues = calloc(n, sizeof *queues);
  cost_assert(queues != NULL);
  for (size_t i = 0; i < n; i++) {
    queues[i] = queue_of(QUEUED, 4);
  }
  size_t length = 0;
  COST(cost_must(
      kin_work_queue_metrics_write(queues, n, write_nothing, &length)));
  for (size_t i = 0; i < n; i++) {
    kin_work_queue_free(queues[i]);
  }
  free((void *)queues);
}

/* --- On a client ---------------------------------------------------------- */

static void on_work(kin_work_queue *queue, const kin_work_item *item,
                    void *data) {
  (void)queue;
  (void)data;
  cost_must(kin_work_done(item, KIN_WORK_RETRY));
}

static kin_work_queue *open_on(cost_world *w) {
  kin_work_queue *queue;
  kin_work_queue_options options = KIN_WORK_QUEUE_OPTIONS_INIT;
  options.worker = on_work;
  cost_must(kin__work_queue_open(&queue, &w->vh.host, &options));
  return queue;
}

static void fill(kin_work_queue *queue, size_t n) {
  char text[16];
  for (size_t i = 0; i < n; i++) {
    cost_must(kin_work_queue_add(queue, key_of(text, i)));
  }
}

/* The call, and each step that follows it. */
static void close_queue(size_t n) {
  cost_world w;
  cost_world_init(&w);
  kin_work_queue *queue = open_on(&w);
  fill(queue, n);
  COST(cost_must(kin_work_queue_close(queue, NULL, NULL)));
  cost_world_finish(&w);
}

static void close_steps(size_t n) {
  cost_world w;
  cost_world_init(&w);
  kin_work_queue *queue = open_on(&w);
  fill(queue, n);
  cost_world_run(&w);
  cost_must(kin_work_queue_close(queue, NULL, NULL));
  cost_world_each_step(&w);
  cost_world_finish(&w);
}

static void follow(size_t n) {
  cost_world w;
  cost_world_start(&w, 0, n);
  kin_work_queue *queue = open_on(&w);
  COST(cost_must(kin_work_queue_follow(queue, w.informer, NULL)));
  cost_world_finish(&w);
}

#define LOG_WAITING "O(log waiting keys)", "waiting keys"
const cost_row cost_rows_work_queue[] = {
    {"kin_work_queue_add", NULL, "queued keys", COST_ONE, add, COST_SEGMENT},
    {"kin_work_queue_add", NULL, "queued keys, one of them", COST_ONE,
     add_again},
    {"kin_work_queue_add_after", LOG_WAITING, COST_LOG, add_after},
    {"kin_work_queue_add_with_priority", LOG_WAITING, COST_LOG,
     add_with_priority},
    {"kin_work_queue_add_with_priority", NULL, "queued keys", COST_ONE,
     raise_priority},
    {"kin_work_queue_add_rate_limited", NULL, "failed and waiting keys",
     COST_LOG, add_rate_limited, COST_SEGMENT},
    {"kin_work_queue_forget", NULL, "failed keys", COST_ONE, forget},
    {"kin_work_queue_get", NULL, "queued keys", COST_ONE, get_one},
    {"kin_work_done", NULL, "keys that are worked on", COST_ONE, done},
    {"kin_work_done", LOG_WAITING, COST_LOG, retry, COST_SEGMENT},
    {"kin_work_queue_advance", NULL, "waiting keys", COST_LOG, advance},
    {"kin_work_queue_advance", NULL, "keys that are due", COST_LOG, advance_all,
     2048},
    {"kin_work_queue_shut_down", NULL, "waiting keys", COST_ONE, shut_down},
    {"kin_work_queue_free", "O(keys)", "failed and waiting keys", COST_LINEAR,
     free_queue},
    {"kin_rate_limiter_free", "O(keys)", "failed keys", COST_LINEAR,
     free_limiter},
    {"kin_rate_limiter_when_ms", NULL, "failed keys", COST_ONE, limit,
     COST_SEGMENT},
    {"kin_work_queue_get_metrics", "O(1)", "keys that are worked on", COST_ONE,
     read_metrics},
    {"kin_work_queue_metrics_write", "O(queues)", "queues", COST_LINEAR,
     write_metrics, 2},
    {"kin_work_queue_close", "O(1)", "queued keys", COST_ONE, close_queue},
    {"kin_work_queue_close", NULL, "failed and waiting keys, each step",
     COST_ONE, close_steps},
    {"kin_work_queue_follow", NULL, "objects", COST_ONE, follow},
    {0},
};
