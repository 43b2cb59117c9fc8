/* SPDX-License-Identifier: MIT */
/* The cost of a work queue: wall time and CPU time of each operation, and memory
 * of each key, in the phases of bench/workqueue_go, which is client-go's.
 *
 * Prints `name value unit` lines. Times are means over all keys, which are made
 * before. `add` fills an empty queue; `collapse` adds each key once more;
 * `work` takes each key and answers it; `cycle` takes a key, answers it and adds
 * it again while the queue holds all keys; `retry` takes each key, answers it as
 * failed, and lasts until the waits of 1 ms are over and all keys are queued
 * again. `loop` is `add` and `work` of a queue on a client's loop, with a worker
 * that answers at once. Memory is what the allocator set aside when all keys are
 * queued, the queue's copies of the keys included.
 *
 * usage: bench_work_queue [KEYS...] */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/controllers.h>

#include "measure.h"
#include "meter.h"

#define NS_PER_MS UINT64_C(1000000)

typedef struct bench {
  size_t count;
  char **keys;
  meter meter;
  kin_work_queue *queue;
  uint64_t wall_ns; /* when the phase began */
  uint64_t cpu_ns;
  size_t worked;
} bench;

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_work_queue: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

static void begin(bench *b) {
  b->wall_ns = wall_ns();
  b->cpu_ns = process_cpu_ns();
}

static void report(const bench *b, const char *name) {
  double wall = (double)(wall_ns() - b->wall_ns) / (double)b->count;
  double cpu = (double)(process_cpu_ns() - b->cpu_ns) / (double)b->count;
  printf("work_queue.%zu.%s %.1f ns\n", b->count, name, wall);
  printf("work_queue.%zu.%s_cpu %.1f ns\n", b->count, name, cpu);
  fflush(stdout);
}

static kin_str key_at(const bench *b, size_t i) {
  kin_str key = {b->keys[i], strlen(b->keys[i])};
  return key;
}

static void setup(bench *b, size_t count) {
  *b = (bench){.count = count};
  meter_init(&b->meter);
  b->keys = calloc(count, sizeof *b->keys);
  check(b->keys != NULL ? 0 : KIN_ENOMEM, "setting up");
  for (size_t i = 0; i < count; i++) {
    char text[64];
    snprintf(text, sizeof text, "space-%zu/pod-%zu-%08x", i % 100, i,
             (unsigned)(i * 2654435761u));
    b->keys[i] = strdup(text);
    check(b->keys[i] != NULL ? 0 : KIN_ENOMEM, "setting up");
  }
}

static void teardown(bench *b) {
  for (size_t i = 0; i < b->count; i++) {
    free(b->keys[i]);
  }
  free(b->keys);
}

/* The limiter's waits are 1 ms, as those of the Go program. */
static kin_rate_limiter *make_limiter(const kin_allocator *allocator) {
  kin_rate_limiter *limiter;
  check(kin_rate_limiter_new_exponential(&limiter, allocator, 1, 1),
        "rate limiter");
  return limiter;
}

static void add_all(bench *b) {
  for (size_t i = 0; i < b->count; i++) {
    check(kin_work_queue_add(b->queue, key_at(b, i)), "add");
  }
}

static const kin_work_item *get(bench *b) {
  const kin_work_item *item;
  check(kin_work_queue_get(b->queue, &item), "get");
  return item;
}

static void cycle(bench *b) {
  char key[64];
  for (size_t i = 0; i < b->count; i++) {
    const kin_work_item *item = get(b);
    size_t length = item->key.length;
    memcpy(key, item->key.data, length);
    check(kin_work_done(item, KIN_WORK_SUCCESS), "done");
    check(kin_work_queue_add(b->queue, (kin_str){key, length}), "add");
  }
}

static void retry(bench *b) {
  uint64_t next_ns;
  for (size_t i = 0; i < b->count; i++) {
    check(kin_work_done(get(b), KIN_WORK_RETRY), "done");
  }
  do {
    check(kin_work_queue_advance(b->queue, 2 * NS_PER_MS, &next_ns), "advance");
  } while (next_ns != UINT64_MAX);
  check(kin_work_queue_count(b->queue) == b->count ? 0 : KIN_EINVAL, "retry");
}

static void measure_alone(bench *b) {
  kin_work_queue_options options = KIN_WORK_QUEUE_OPTIONS_INIT;
  options.allocator = &b->meter.allocator;
  options.limiter = make_limiter(&b->meter.allocator);
  check(kin_work_queue_new(&b->queue, &options), "queue");
  size_t empty = b->meter.bytes;
  begin(b);
  add_all(b);
  report(b, "add");
  printf("work_queue.%zu.key %.1f bytes\n", b->count,
         (double)(b->meter.bytes - empty) / (double)b->count);
  begin(b);
  add_all(b);
  report(b, "collapse");
  begin(b);
  cycle(b);
  report(b, "cycle");
  begin(b);
  retry(b);
  report(b, "retry");
  begin(b);
  for (size_t i = 0; i < b->count; i++) {
    check(kin_work_done(get(b), KIN_WORK_SUCCESS), "done");
  }
  report(b, "work");
  kin_work_queue_free(b->queue);
}

/* --- On a loop ------------------------------------------------------------ */

static void on_work(kin_work_queue *queue, const kin_work_item *item,
                    void *data) {
  bench *b = data;
  (void)queue;
  b->worked++;
  check(kin_work_done(item, KIN_WORK_SUCCESS), "done");
}

static void measure_loop(bench *b) {
  uv_loop_t loop;
  kin_client *client;
  kin_client_options client_options = KIN_CLIENT_OPTIONS_INIT;
  client_options.server = "http://127.0.0.1"; /* never asked */
  check(uv_loop_init(&loop), "loop");
  check(kin_client_open(&client, &loop, &client_options), "client");
  kin_work_queue_options options = KIN_WORK_QUEUE_OPTIONS_INIT;
  options.worker = on_work;
  options.data = b;
  check(kin_work_queue_open(&b->queue, client, &options), "queue");
  begin(b);
  add_all(b);
  while (b->worked < b->count) {
    uv_run(&loop, UV_RUN_NOWAIT);
  }
  report(b, "loop");
  check(kin_client_close(client, NULL, NULL), "close");
  uv_run(&loop, UV_RUN_DEFAULT);
  check(uv_loop_close(&loop), "loop");
}

static void run(size_t count) {
  bench b;
  setup(&b, count);
  measure_alone(&b);
  measure_loop(&b);
  teardown(&b);
}

int main(int argc, char **argv) {
  return run_sizes(argc, argv, "bench_work_queue [KEYS...]", run);
}
