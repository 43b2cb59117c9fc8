/* SPDX-License-Identifier: MIT */
/* What one change costs for each listener, and how long the steps of a late
 * join, of an overflow and of its end are. Prints lines `name value unit`.
 *
 * A change is an update of a stored object that is sent to all listeners, put
 * into each queue, taken out and given to a callback that counts: four atomic
 * operations on reference counts. Steps are measured in CPU time of the thread.
 *
 * The objects that are changed are a thousand, which stay in the caches, and
 * ten and a hundred thousand and a million, in an order that is none. By
 * default they have just been touched, outside of the time, as by a store's
 * update; cold, their cache misses count, too.
 *
 * Not measured: the store's own update, and what handlers do.
 *
 * usage: bench_fanout [OBJECTS] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <kin/error.h>
#include <kin/object.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/str.h"
#include "dispatch/dispatcher.h"
#include "measure.h"
#include "store/store.h"

#define STRIDE UINT64_C(7368787) /* a prime: visits every object in turn */
#define CHANGES_IN_FLIGHT 64u
#define DELIVERIES UINT64_C(20000000)
#define MAX_LISTENERS 64u

typedef struct bench {
  kin__memory *memory;
  kin_store store;
  kin__sched sched;
  kin__timers timers;
  kin__clock clock;
  uint64_t handler_ns;
  kin__dispatcher dispatcher;
} bench;

static uint64_t now_ns(void *ctx) {
  (void)ctx;
  return wall_ns();
}

static void check(int err) {
  if (err != 0) {
    fprintf(stderr, "bench_fanout: %s\n", kin_err_name(err));
    exit(1);
  }
}

static void begin(bench *b) {
  *b = (bench){.clock = {now_ns, NULL}};
  b->memory = kin__memory_new(NULL);
  check(b->memory != NULL ? 0 : KIN_ENOMEM);
  kin__hash_seed seed = {wall_ns(), 1};
  kin__store_init(&b->store, b->memory, seed, true);
  kin__sched_init(&b->sched, now_ns, NULL);
  kin__timers_init(&b->timers);
  b->dispatcher = (kin__dispatcher){.allocator = kin__default_allocator(),
                                    .store = &b->store,
                                    .sched = &b->sched,
                                    .timers = &b->timers,
                                    .clock = &b->clock,
                                    .handler_ns = &b->handler_ns};
  kin__dispatcher_init(&b->dispatcher);
}

static void end(bench *b) {
  while (kin__dispatcher_close_step(&b->dispatcher, 1000)) {
  }
  kin__dispatcher_finish(&b->dispatcher);
  kin__store_finish(&b->store);
  kin__memory_unref(b->memory);
}

static kin_object *make_object(uint32_t number, unsigned version) {
  char json[256];
  int length = snprintf(
      json, sizeof json,
      "{\"metadata\":{\"name\":\"object-%" PRIu32
      "\",\"namespace\":\"namespace-%" PRIu32
      "\",\"uid\":\"8f3c1f6e-0000-4000-8000-%012" PRIu32
      "\",\"resourceVersion\":\"%u\"},\"spec\":{\"nodeName\":\"node-1\"}}",
      number, number % 100, number, version);
  kin_object *object;
  check(kin_object_parse(&object, NULL, json, (size_t)length));
  return object;
}

/* Returns the slot. */
static uint32_t put(bench *b, kin_object *object) {
  uint32_t slot;
  kin_object *old;
  check(kin__store_upsert(&b->store, object,
                          kin__store_hash(&b->store, kin_object_key(object)),
                          &slot, &old));
  kin_object_unref(old);
  return slot;
}

static void fill(bench *b, uint32_t objects) {
  for (uint32_t i = 0; i < objects; i++) {
    kin_object *object = make_object(i, 1);
    put(b, object);
    kin_object_unref(object);
  }
}

static void count_cb(struct kin_informer *informer, const kin_event *event,
                     void *data) {
  (void)informer;
  (void)event;
  ++*(uint64_t *)data;
}

static kin_listener *listen(bench *b, uint64_t *count) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = count_cb;
  options.data = count;
  kin_listener *listener;
  check(kin__dispatcher_add(&b->dispatcher, &options, &listener));
  return listener;
}

static void send_update(bench *b, uint32_t slot, kin_object *old,
                        kin_object *object) {
  check(kin__dispatcher_reserve(&b->dispatcher));
  const kin__change change = {
      .slot = slot,
      .count = 1,
      .notifications = {
          {.object = object, .old_object = old, .type = KIN_EVENT_UPDATE}}};
  kin__dispatcher_send(&b->dispatcher, &change);
}

/* Runs one step at a time until none is left. */
static void run_measured(bench *b, const char *name, uint64_t objects) {
  histogram *h = calloc(1, sizeof *h);
  check(h != NULL ? 0 : KIN_ENOMEM);
  uint64_t steps = 0;
  uint64_t total = 0;
  bool has_more = kin__sched_has_work(&b->sched);
  while (has_more) {
    uint64_t start = thread_cpu_ns();
    has_more = kin__sched_run(&b->sched, 0);
    uint64_t took = thread_cpu_ns() - start;
    histogram_add(h, took);
    total += took;
    steps++;
  }
  printf("%s_steps %" PRIu64 " steps\n", name, steps);
  printf("%s_step_p99 %.1f us\n", name,
         (double)histogram_quantile_ns(h, 0.99) / 1e3);
  printf("%s_step_longest %.1f us\n", name, (double)h->longest_ns / 1e3);
  printf("%s_per_object %.1f ns\n", name, (double)total / (double)objects);
  free(h);
}

/* Both states of an object that is changed to and fro. */
typedef struct changed {
  kin_object *states[2];
  uint32_t slot;
} changed;

static changed *make_changed(bench *b, uint32_t count) {
  changed *all = calloc(count, sizeof *all);
  check(all != NULL ? 0 : KIN_ENOMEM);
  for (uint32_t i = 0; i < count; i++) {
    all[i].states[0] = make_object(i, 1);
    all[i].states[1] = make_object(i, 2);
    all[i].slot = put(b, all[i].states[0]);
  }
  return all;
}

static void free_changed(changed *all, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    kin_object_unref(all[i].states[0]);
    kin_object_unref(all[i].states[1]);
  }
  free(all);
}

static const changed *nth(const changed *all, uint32_t objects, uint64_t n) {
  return &all[n * STRIDE % objects];
}

/* As the store's update leaves them. */
static void touch(const changed *all, uint32_t objects, uint64_t first) {
  for (uint64_t n = first; n < first + CHANGES_IN_FLIGHT; n++) {
    const changed *one = nth(all, objects, n);
    kin_object_unref(kin_object_ref(one->states[0]));
    kin_object_unref(kin_object_ref(one->states[1]));
  }
}

static void bench_fanout(unsigned listeners, uint32_t objects, bool is_cold) {
  bench b;
  begin(&b);
  changed *all = make_changed(&b, objects);
  uint64_t counts[MAX_LISTENERS] = {0};
  for (unsigned i = 0; i < listeners; i++) {
    listen(&b, &counts[i]);
  }
  kin__sched_run(&b.sched, UINT64_MAX);
  uint64_t blocks = DELIVERIES / listeners / CHANGES_IN_FLIGHT;
  uint64_t changes = blocks * CHANGES_IN_FLIGHT;
  uint64_t took = 0;
  for (uint64_t block = 0; block < blocks; block++) {
    uint64_t first = block * CHANGES_IN_FLIGHT;
    if (!is_cold) {
      touch(all, objects, first);
    }
    uint64_t start = thread_cpu_ns();
    for (uint64_t n = first; n < first + CHANGES_IN_FLIGHT; n++) {
      const changed *one = nth(all, objects, n);
      unsigned from = (unsigned)(n / objects % 2);
      send_update(&b, one->slot, one->states[from], one->states[!from]);
    }
    kin__sched_run(&b.sched, UINT64_MAX);
    took += thread_cpu_ns() - start;
  }
  for (unsigned i = 0; i < listeners; i++) {
    check(counts[i] == changes + objects ? 0 : KIN_EUNEXPECTED);
  }
  printf("fanout%s.%" PRIu32 ".%u_listeners %.1f ns\n", is_cold ? "_cold" : "",
         objects, listeners, (double)took / (double)(changes * listeners));
  free_changed(all, objects);
  end(&b);
}

/* A listener joins, then sleeps through two changes of each object, wakes up,
 * sleeps through one more, and is closed. */
static void bench_large(uint32_t count) {
  bench b;
  begin(&b);
  fill(&b, count);
  check(kin__dispatcher_synced(&b.dispatcher));
  uint64_t delivered = 0;
  kin_listener *listener = listen(&b, &delivered);
  run_measured(&b, "late_join", count);
  check(delivered == count ? 0 : KIN_EUNEXPECTED);

  for (int round = 0; round < 3; round++) {
    kin_listener_pause(listener);
    uint64_t start = thread_cpu_ns();
    for (uint32_t slot = 0; slot < count; slot++) {
      kin_object *object = kin__store_at(&b.store, slot)->object;
      send_update(&b, slot, object, object);
    }
    if (round < 2) {
      printf("overflow_%s %.1f ns\n", round == 0 ? "push" : "merge",
             (double)(thread_cpu_ns() - start) / count);
    }
    if (round == 1) {
      kin_listener_resume(listener);
      run_measured(&b, "overflow_drain", count);
      check(delivered == 2 * (uint64_t)count ? 0 : KIN_EUNEXPECTED);
    }
  }
  kin_listener_close(listener);
  run_measured(&b, "listener_close", count);
  check(kin__link_is_empty(&b.dispatcher.listeners) ? 0 : KIN_EUNEXPECTED);
  end(&b);
}

int main(int argc, char **argv) {
  uint64_t objects =
      argc > 1 ? number_argument(argv[0], "OBJECTS", argv[1]) : 1000000;
  static const uint32_t counts[] = {1000, 10000, 100000, 1000000};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    for (unsigned listeners = 1; listeners <= MAX_LISTENERS; listeners *= 4) {
      bench_fanout(listeners, counts[i], false);
      bench_fanout(listeners, counts[i], true);
    }
  }
  bench_large((uint32_t)objects);
  return 0;
}
