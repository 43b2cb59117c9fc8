/* SPDX-License-Identifier: MIT */
/* What a controller with handlers costs: time of each object through reflector,
 * queue, store and a handler that counts, at several sizes, to be compared with
 * each other, and the longest turn of the loop.
 *
 * Prints `name value unit` lines, for the queue in order and by key. Objects
 * are made before, and come from a lister-watcher in this program, so there is
 * no socket and nothing is decoded. `list` is the first list, from its last
 * object on till the controller has synced, for each object, and `feed` what it
 * took to put them in up to then; `event` is a change of each object by the
 * watch, put in as fast as there is room; `relist` a list of the first objects
 * again, after a 410; `resync` an update of each, asked for at once. `close` is
 * from the call until it is gone. Times are the thread's CPU time;
 * `..._longest` is the longest turn of the loop during each, handlers included.
 * No turn may depend on the number of objects, but by the caches and by what
 * the C library's allocator does when much is freed.
 *
 * usage: bench_controller [OBJECTS...] */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "measure.h"
#include "meter.h"

typedef struct bench {
  size_t count;
  kin_object **objects; /* the keys in random order */
  kin_object **newer;   /* of the same keys */
  const char *kind;
  meter meter;
  uv_loop_t loop;
  kin_client *client;
  kin_controller *controller;
  kin_feed *feed;
  bool is_list; /* it was asked for */
  bool is_paused;
  bool is_closed;
  size_t told;
  uint64_t longest_ns; /* turn of the loop */
} bench;

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_controller: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

static void report(const bench *b, const char *name, double value,
                   const char *unit) {
  printf("controller.%zu.%s.%s %.1f %s\n", b->count, b->kind, name, value,
         unit);
  fflush(stdout);
}

static void turn(bench *b) {
  uint64_t start = thread_cpu_ns();
  uv_run(&b->loop, UV_RUN_ONCE);
  uint64_t took = thread_cpu_ns() - start;
  b->longest_ns = took > b->longest_ns ? took : b->longest_ns;
}

static void report_since(bench *b, const char *name, uint64_t since_ns) {
  report(b, name, (double)(thread_cpu_ns() - since_ns) / (double)b->count,
         "ns");
  char longest[64];
  snprintf(longest, sizeof longest, "%s_longest", name);
  report(b, longest, (double)b->longest_ns / 1000, "us");
  b->longest_ns = 0;
}

/* ---- objects */

static kin_object *make_object(size_t i, unsigned version) {
  char json[256];
  int length = snprintf(json, sizeof json,
                        "{\"metadata\":{\"name\":\"pod-%zu-%x\",\"namespace\":"
                        "\"space-%zu\",\"uid\":\"uid-%zu\","
                        "\"resourceVersion\":\"%u\"}}",
                        i, (unsigned)(i * 2654435761u), i % 100, i, version);
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

static void make_objects(bench *b, size_t count) {
  size_t *order = calloc(count, sizeof *order);
  b->objects = calloc(count, sizeof(kin_object *));
  b->newer = calloc(count, sizeof(kin_object *));
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

static void free_objects(bench *b) {
  for (size_t i = 0; i < b->count; i++) {
    kin_object_unref(b->objects[i]);
    kin_object_unref(b->newer[i]);
  }
  free(b->objects);
  free(b->newer);
}

/* ---- the source and the handlers */

static int on_open(void *ctx, const kin_feed_request *request, kin_feed *feed,
                   void **out) {
  bench *b = ctx;
  b->feed = feed;
  b->is_list = !request->is_watch;
  b->is_paused = false;
  *out = b;
  return 0;
}

static void on_cancel(void *ctx, void *answer) {
  (void)answer;
  ((bench *)ctx)->feed = NULL;
}

static void on_pause(void *ctx, void *answer) {
  (void)answer;
  ((bench *)ctx)->is_paused = true;
}

static void on_resume(void *ctx, void *answer) {
  (void)answer;
  ((bench *)ctx)->is_paused = false;
}

static void on_add(const kin_object *object, bool is_initial, void *data) {
  (void)object;
  (void)is_initial;
  ((bench *)data)->told++;
}

static void on_update(const kin_object *old_object, const kin_object *object,
                      void *data) {
  (void)old_object;
  (void)object;
  ((bench *)data)->told++;
}

static void on_closed(void *data) {
  ((bench *)data)->is_closed = true;
}

/* ---- what is measured */

static void open_controller(bench *b, kin_controller_queue_kind kind) {
  check(uv_loop_init(&b->loop), "loop");
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  client.server = "http://127.0.0.1:1"; /* nobody is asked */
  client.allocator = &b->meter.allocator;
  check(kin_client_open(&b->client, &b->loop, &client), "client");
  kin_lister_watcher source = KIN_LISTER_WATCHER_INIT;
  source.open = on_open;
  source.cancel = on_cancel;
  source.pause = on_pause;
  source.resume = on_resume;
  source.ctx = b;
  kin_informer_options resource = KIN_INFORMER_OPTIONS_INIT;
  resource.plural = "pods";
  resource.source = &source;
  kin_process_handlers handlers = KIN_PROCESS_HANDLERS_INIT;
  handlers.on_add = on_add;
  handlers.on_update = on_update;
  handlers.data = b;
  kin_controller_options options = KIN_CONTROLLER_OPTIONS_INIT;
  options.resource = &resource;
  options.handlers = &handlers;
  options.queue_kind = kind;
  check(kin_controller_open(&b->controller, b->client, &options), "open");
  check(kin_controller_start(b->controller), "start");
}

static void run_until_told(bench *b, size_t count) {
  while (b->told < count) {
    turn(b);
  }
}

static void run_until_asked(bench *b, bool is_list) {
  while (b->feed == NULL || b->is_list != is_list) {
    turn(b);
  }
}

static void feed_list(bench *b, const char *name, const char *version) {
  run_until_asked(b, true);
  uint64_t start = thread_cpu_ns();
  for (size_t i = 0; i < b->count; i++) {
    check(kin_feed_item(b->feed, b->objects[i]), "item");
  }
  if (name != NULL) {
    report(b, name, (double)(thread_cpu_ns() - start) / (double)b->count, "ns");
  }
  b->told = 0;
  check(kin_feed_list_end(b->feed, version, NULL), "list");
}

static void measure_list(bench *b) {
  size_t before = b->meter.bytes;
  feed_list(b, "feed", "10");
  uint64_t start = thread_cpu_ns();
  run_until_told(b, b->count);
  report_since(b, "list", start);
  run_until_asked(b, false);
  report(b, "memory", (double)(b->meter.bytes - before) / (double)b->count,
         "bytes");
}

static void measure_events(bench *b) {
  uint64_t start = thread_cpu_ns();
  b->told = 0;
  for (size_t i = 0; i < b->count; i++) {
    while (b->is_paused) {
      turn(b);
    }
    check(kin_feed_event(b->feed, KIN_WATCH_MODIFIED, b->newer[i]), "event");
  }
  run_until_told(b, b->count);
  report_since(b, "event", start);
}

static void measure_relist(bench *b) {
  kin_feed_error gone = KIN_FEED_ERROR_INIT;
  gone.status = 410;
  gone.reason = "Expired";
  check(kin_feed_fail(b->feed, &gone, true), "fail");
  feed_list(b, NULL, "20");
  uint64_t start = thread_cpu_ns();
  run_until_told(b, b->count);
  report_since(b, "relist", start);
}

static void measure_resync(bench *b) {
  b->told = 0;
  uint64_t start = thread_cpu_ns();
  check(kin_queue_resync(kin_controller_queue(b->controller)), "resync");
  run_until_told(b, b->count);
  report_since(b, "resync", start);
}

static void measure_close(bench *b) {
  uint64_t start = thread_cpu_ns();
  check(kin_controller_close(b->controller, on_closed, b), "close");
  while (!b->is_closed) {
    turn(b);
  }
  report_since(b, "close", start);
  check(kin_client_close(b->client, NULL, NULL), "close");
  uv_run(&b->loop, UV_RUN_DEFAULT);
  check(uv_loop_close(&b->loop), "loop");
}

static void run(size_t count) {
  static const struct {
    const char *name;
    kin_controller_queue_kind kind;
  } kinds[] = {{"in_order", KIN_CONTROLLER_IN_ORDER},
               {"delta", KIN_CONTROLLER_DELTA}};
  for (size_t i = 0; i < 2; i++) {
    bench b = {.count = count, .kind = kinds[i].name};
    meter_init(&b.meter);
    make_objects(&b, count);
    open_controller(&b, kinds[i].kind);
    measure_list(&b);
    measure_events(&b);
    measure_resync(&b);
    measure_relist(&b);
    measure_close(&b);
    free_objects(&b);
  }
}

int main(int argc, char **argv) {
  return run_sizes(argc, argv, "bench_controller [OBJECTS...]", run);
}
