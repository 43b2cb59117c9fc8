/* SPDX-License-Identifier: MIT */
/* What a store costs: time of each operation and memory of each entry, at
 * several sizes, to be compared with each other: nothing may depend on the
 * number of objects but by the processor's caches.
 *
 * Prints `name value unit` lines. Times are means over all keys in random
 * order, each call by itself, with what it is given just made, as by a decoder.
 * `.max` is the most CPU time that a single call took; it includes page faults
 * and interrupts. Memory is what the allocator set aside, without the objects.
 * Not measured: making objects, handlers, the loop.
 *
 * usage: bench_store [OBJECTS...] */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>
#include <kin/store.h>

#include "measure.h"
#include "meter.h"

#define NODES 500u

typedef struct bench {
  size_t count;
  uint32_t *order; /* a random permutation */
  kin_store *store;
  meter meter;
  unsigned version;  /* of the next objects */
  uint64_t clock_ns; /* what asking the clock twice seems to take */
} bench;

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_store: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

static void report(const bench *b, const char *name, double value,
                   const char *unit) {
  printf("store.%zu.%s %.1f %s\n", b->count, name, value, unit);
  fflush(stdout);
}

static void report_mean(const bench *b, const char *name, uint64_t spent_ns,
                        size_t calls) {
  uint64_t clock_ns = b->clock_ns * calls;
  uint64_t ns = spent_ns > clock_ns ? spent_ns - clock_ns : 0;
  report(b, name, (double)ns / (double)calls, "ns");
}

/* For a loop that asked the clock only at its ends. */
static void report_loop(const bench *b, const char *name, uint64_t since_ns,
                        size_t calls) {
  uint64_t spent = wall_ns() - since_ns;
  report(b, name, (double)spent / (double)calls, "ns");
}

/* The key of the i-th object. `to` has room for 64 bytes. */
static kin_str make_key(char *to, size_t i) {
  int length = snprintf(to, 64, "space-%zu/pod-%zu-%x", i % 100, i,
                        (unsigned)(i * 2654435761u));
  return (kin_str){to, (size_t)length};
}

static kin_object *make_object(size_t i, unsigned version) {
  char json[512];
  char text[64];
  const char *key = make_key(text, i).data;
  const char *slash = strchr(key, '/');
  int length = snprintf(
      json, sizeof json,
      "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%.*s\","
      "\"uid\":\"%08zx-5b1e-4b43-a6ef-3f2a7d5c9e10\",\"resourceVersion\":"
      "\"%u\",\"labels\":{\"app\":\"app-%zu\",\"node\":\"node-%zu\"}},"
      "\"spec\":{\"nodeName\":\"node-%zu\"}}",
      slash + 1, (int)(slash - key), key, i, version, i % 1000, i % NODES,
      i % NODES);
  kin_object *object;
  check(kin_object_parse(&object, NULL, json, (size_t)length), "object");
  return object;
}

static void shuffle(uint32_t *order, size_t count) {
  uint64_t x = 88172645463325252u; /* xorshift64 */
  for (size_t i = 0; i < count; i++) {
    order[i] = (uint32_t)i;
  }
  for (size_t i = count; i > 1; i--) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    size_t k = x % i;
    uint32_t t = order[i - 1];
    order[i - 1] = order[k];
    order[k] = t;
  }
}

static void setup(bench *b, size_t count) {
  *b = (bench){.count = count};
  meter_init(&b->meter);
  b->order = calloc(count, sizeof *b->order);
  check(b->order != NULL ? 0 : KIN_ENOMEM, "setting up");
  shuffle(b->order, count);
  b->clock_ns = UINT64_MAX;
  for (unsigned i = 0; i < 100000; i++) {
    uint64_t start = wall_ns();
    uint64_t spent = wall_ns() - start;
    b->clock_ns = spent < b->clock_ns ? spent : b->clock_ns;
  }
}

static void put_all(bench *b, const char *name) {
  uint64_t spent = 0;
  b->version++;
  for (size_t i = 0; i < b->count; i++) {
    kin_object *object = make_object(b->order[i], b->version);
    uint64_t start = wall_ns();
    int err = kin_store_put(b->store, object);
    spent += wall_ns() - start;
    check(err, "put");
    kin_object_unref(object);
  }
  report_mean(b, name, spent, b->count);
}

static void get_all(const bench *b) {
  uint64_t found_ns = 0;
  uint64_t absent_ns = 0;
  for (size_t i = 0; i < b->count; i++) {
    char text[64];
    kin_str key = make_key(text, b->order[i]);
    uint64_t start = wall_ns();
    const kin_object *object = kin_store_get(b->store, key);
    found_ns += wall_ns() - start;
    check(object != NULL ? 0 : KIN_ENOENT, "get");
    text[0] = 'S';
    start = wall_ns();
    object = kin_store_get(b->store, key);
    absent_ns += wall_ns() - start;
    check(object == NULL ? 0 : KIN_EEXIST, "get");
  }
  report_mean(b, "get", found_ns, b->count);
  report_mean(b, "get_absent", absent_ns, b->count);
}

static void scan_all(const bench *b) {
  kin_cursor cursor = {0};
  size_t met = 0;
  uint64_t start = wall_ns();
  while (kin_store_next(b->store, &cursor) != NULL) {
    met++;
  }
  report_loop(b, "scan", start, b->count);
  check(met == b->count ? 0 : KIN_ENOENT, "scan");
}

static void add_index(bench *b, const char *name, const char *pointer) {
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = name;
  options.pointer = pointer;
  size_t bytes = b->meter.bytes;
  uint64_t start = wall_ns();
  check(kin_store_add_index(b->store, &options), "index");
  char text[64];
  snprintf(text, sizeof text, "index_build.%s", name);
  report_loop(b, text, start, b->count);
  snprintf(text, sizeof text, "index_entry.%s", name);
  report(b, text, (double)(b->meter.bytes - bytes) / (double)b->count, "bytes");
}

static void ask_index(const bench *b) {
  size_t met = 0;
  uint64_t start = wall_ns();
  for (unsigned i = 0; i < NODES; i++) {
    char node[16];
    int length = snprintf(node, sizeof node, "node-%u", i);
    kin_index_cursor cursor;
    check(kin_store_by_index(b->store, "label", (kin_str){node, (size_t)length},
                             &cursor),
          "by_index");
    while (kin_store_by_index_next(b->store, &cursor) != NULL) {
      met++;
    }
  }
  report_loop(b, "index_scan", start, b->count);
  check(met == b->count ? 0 : KIN_ENOENT, "by_index");
  enum { ROUNDS = 200 };
  static char nodes[NODES][16];
  for (unsigned i = 0; i < NODES; i++) {
    snprintf(nodes[i], sizeof nodes[i], "node-%u", i * 7 % NODES);
  }
  size_t sum = 0;
  start = wall_ns();
  for (unsigned i = 0; i < ROUNDS * NODES; i++) {
    const char *node = nodes[i % NODES];
    kin_str value = {node, strlen(node)};
    sum += kin_store_index_count(b->store, "label", value);
  }
  report_loop(b, "index_lookup", start, ROUNDS * NODES);
  check(sum > 0 ? 0 : KIN_ENOENT, "index count");
}

static void delete_all(bench *b, const char *name) {
  uint64_t spent = 0;
  for (size_t i = b->count; i > 0; i--) {
    char text[64];
    kin_str key = make_key(text, b->order[i - 1]);
    uint64_t start = wall_ns();
    int err = kin_store_delete(b->store, key);
    spent += wall_ns() - start;
    check(err, "delete");
  }
  report_mean(b, name, spent, b->count);
}

/* The slowest single put and delete of a store that fills and empties. */
static void find_slowest(bench *b) {
  uint64_t put_ns = 0;
  uint64_t delete_ns = 0;
  for (size_t i = 0; i < b->count; i++) {
    kin_object *object = make_object(b->order[i], 1);
    uint64_t start = thread_cpu_ns();
    check(kin_store_put(b->store, object), "put");
    uint64_t spent = thread_cpu_ns() - start;
    put_ns = spent > put_ns ? spent : put_ns;
    kin_object_unref(object);
  }
  for (size_t i = 0; i < b->count; i++) {
    char text[64];
    kin_str key = make_key(text, b->order[i]);
    uint64_t start = thread_cpu_ns();
    check(kin_store_delete(b->store, key), "delete");
    uint64_t spent = thread_cpu_ns() - start;
    delete_ns = spent > delete_ns ? spent : delete_ns;
  }
  report(b, "put.max", (double)put_ns, "ns");
  report(b, "delete.max", (double)delete_ns, "ns");
}

static void run(size_t count) {
  bench b;
  setup(&b, count);
  kin_store_options options = KIN_STORE_OPTIONS_INIT;
  options.allocator = &b.meter.allocator;
  check(kin_store_new(&b.store, &options), "store");
  find_slowest(&b);
  kin_store_free(b.store);
  check(kin_store_new(&b.store, &options), "store");
  size_t empty = b.meter.bytes;
  put_all(&b, "put_new");
  report(&b, "entry", (double)(b.meter.bytes - empty) / (double)count, "bytes");
  get_all(&b);
  scan_all(&b);
  put_all(&b, "put_newer");
  add_index(&b, "label", "/metadata/labels/node");
  ask_index(&b);
  put_all(&b, "put_newer_by_label");
  add_index(&b, "pointer", "/spec/nodeName");
  put_all(&b, "put_newer_by_label_and_pointer");
  delete_all(&b, "delete_indexed");
  kin_store_free(b.store);
  free(b.order);
}

int main(int argc, char **argv) {
  return run_sizes(argc, argv, "bench_store [OBJECTS...]", run);
}
