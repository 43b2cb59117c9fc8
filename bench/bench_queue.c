/* SPDX-License-Identifier: MIT */
/* What the public queues cost: time of each operation and memory of each entry,
 * at several sizes, to be compared with each other: nothing may depend on the
 * number of keys but by the processor's caches.
 *
 * Prints `name value unit` lines. Times are means over all keys, which are
 * random to the hash table, with objects that lie in memory in the order in
 * which they are used, as a decoder makes them. `add` fills an empty queue,
 * `pop` empties it; `add_pop` is one of each while the queue holds all keys.
 * `update` is a second change of each key while it waits, `replace` a list of
 * all keys, for each, and `resync` a resync of a store with all of them, for
 * each. The process callback does nothing. Memory is what the allocator set
 * aside, without the objects. Not measured: making objects, what a consumer
 * does with them, a queue that is inside an informer.
 *
 * usage: bench_queue [KEYS...] */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/queue.h>

#include "measure.h"
#include "meter.h"

typedef int (*maker)(kin_queue **out, const kin_queue_options *options);

typedef struct bench {
  size_t count;
  const kin_object **objects; /* their keys in random order */
  const kin_object **newer;   /* of the same keys */
  const char *kind;
  maker make;
  meter meter;
} bench;

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_queue: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

static void report(const bench *b, const char *name, double value,
                   const char *unit) {
  printf("queue.%zu.%s.%s %.1f %s\n", b->count, b->kind, name, value, unit);
  fflush(stdout);
}

static void report_since(const bench *b, const char *name, uint64_t since_ns) {
  report(b, name, (double)(wall_ns() - since_ns) / (double)b->count, "ns");
}

static kin_object *make_object(size_t i, unsigned version) {
  char json[256];
  int length = snprintf(json, sizeof json,
                        "{\"metadata\":{\"name\":\"pod-%zu-%x\",\"namespace\":"
                        "\"space-%zu\",\"resourceVersion\":\"%u\"}}",
                        i, (unsigned)(i * 2654435761u), i % 100, version);
  kin_object *object;
  check(kin_object_parse(&object, NULL, json, (size_t)length), "object");
  return object;
}

static void shuffle(size_t *order, size_t count) {
  uint64_t x = 88172645463325252u; /* xorshift64 */
  for (size_t i = 0; i < count; i++) {
    order[i] = i;
  }
  for (size_t i = count; i > 1; i--) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    size_t k = x % i;
    size_t t = order[i - 1];
    order[i - 1] = order[k];
    order[k] = t;
  }
}

static void setup(bench *b, size_t count) {
  *b = (bench){.count = count};
  meter_init(&b->meter);
  size_t *order = calloc(count, sizeof *order);
  b->objects = calloc(count, sizeof *b->objects);
  b->newer = calloc(count, sizeof *b->newer);
  bool is_ready = order != NULL && b->objects != NULL && b->newer != NULL;
  check(is_ready ? 0 : KIN_ENOMEM, "setting up");
  shuffle(order, count);
  for (size_t i = 0; i < count; i++) {
    b->objects[i] = make_object(order[i], 1);
  }
  for (size_t i = 0; i < count; i++) {
    b->newer[i] = make_object(order[i], 2);
  }
  free(order);
}

static void teardown(bench *b) {
  for (size_t i = 0; i < b->count; i++) {
    kin_object_unref(b->objects[i]);
    kin_object_unref(b->newer[i]);
  }
  free(b->objects);
  free(b->newer);
}

static int process(kin_queue *queue, kin_queue_item *item, void *data) {
  (void)queue;
  *(size_t *)data += item->deltas.count;
  return 0;
}

static kin_queue *open_queue(bench *b, const kin_store *known) {
  kin_queue_options options = KIN_QUEUE_OPTIONS_INIT;
  options.allocator = &b->meter.allocator;
  if (known != NULL) {
    options.known = kin_store_known_objects(known);
  }
  kin_queue *queue;
  check(b->make(&queue, &options), "queue");
  return queue;
}

static void add_all(bench *b, kin_queue *queue, const char *name) {
  uint64_t start = wall_ns();
  for (size_t i = 0; i < b->count; i++) {
    check(kin_queue_add(queue, b->objects[i]), "add");
  }
  if (name != NULL) {
    report_since(b, name, start);
  }
}

static void pop_all(bench *b, kin_queue *queue, const char *name,
                    bool in_batches) {
  size_t popped = 0;
  int err = 0;
  uint64_t start = wall_ns();
  while (err == 0) {
    err = in_batches ? kin_queue_pop_batch(queue, process, process, &popped)
                     : kin_queue_pop(queue, process, &popped);
  }
  if (name != NULL) {
    report_since(b, name, start);
  }
  check(err == KIN_EAGAIN && popped >= b->count ? 0 : err, "pop");
}

/* Fills and empties it, and then turns it over while it is full. */
static void measure_keys(bench *b) {
  kin_queue *queue = open_queue(b, NULL);
  size_t empty = b->meter.bytes;
  add_all(b, queue, "add");
  report(b, "entry", (double)(b->meter.bytes - empty) / (double)b->count,
         "bytes");
  pop_all(b, queue, "pop", false);
  add_all(b, queue, NULL);
  size_t popped = 0;
  uint64_t start = wall_ns();
  for (size_t i = 0; i < b->count; i++) {
    check(kin_queue_pop(queue, process, &popped), "pop");
    check(kin_queue_add(queue, b->objects[i]), "add");
  }
  report_since(b, "add_pop", start);
  start = wall_ns();
  for (size_t i = 0; i < b->count; i++) {
    check(kin_queue_update(queue, b->newer[i]), "update");
  }
  report_since(b, "update", start);
  pop_all(b, queue, "pop_updated", false);
  kin_queue_free(queue);
}

static void measure_replace(bench *b) {
  kin_queue *queue = open_queue(b, NULL);
  add_all(b, queue, NULL);
  uint64_t start = wall_ns();
  check(kin_queue_replace(queue, b->newer, b->count, (kin_str){"9", 1}),
        "replace");
  report_since(b, "replace", start);
  kin_queue_free(queue);
}

static void measure_batches(bench *b) {
  kin_queue *queue = open_queue(b, NULL);
  add_all(b, queue, NULL);
  pop_all(b, queue, "pop_batch", true);
  kin_queue_free(queue);
}

static void measure_known(bench *b, const kin_store *store) {
  kin_queue *queue = open_queue(b, store);
  uint64_t start = wall_ns();
  check(kin_queue_resync(queue), "resync");
  report_since(b, "resync", start);
  pop_all(b, queue, NULL, false);
  start = wall_ns();
  check(kin_queue_replace(queue, b->newer, b->count, (kin_str){"9", 1}),
        "replace");
  report_since(b, "replace_known", start);
  pop_all(b, queue, NULL, false);
  kin_queue_free(queue);
}

static void run(size_t count) {
  static const struct {
    const char *name;
    maker make;
  } kinds[] = {{"fifo", kin_queue_new_fifo},
               {"delta", kin_queue_new_delta},
               {"in_order", kin_queue_new_in_order}};
  bench b;
  setup(&b, count);
  kin_store *store;
  check(kin_store_new(&store, NULL), "store");
  for (size_t i = 0; i < count; i++) {
    check(kin_store_put(store, b.objects[i]), "put");
  }
  for (size_t i = 0; i < 3; i++) {
    b.kind = kinds[i].name;
    b.make = kinds[i].make;
    measure_keys(&b);
    measure_replace(&b);
    if (i == 2) {
      measure_batches(&b);
    }
    if (i > 0) {
      measure_known(&b, store);
    }
  }
  kin_store_free(store);
  teardown(&b);
}

int main(int argc, char **argv) {
  return run_sizes(argc, argv, "bench_queue [KEYS...]", run);
}
