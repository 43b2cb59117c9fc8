/* SPDX-License-Identifier: MIT */
/* Whether one informer with many objects delays the events of others: on one
 * client, one informer lists COUNT objects, while SMALL others have one object
 * each, which a thread of this process changes every TICK microseconds.
 *
 *   latency  from the moment before the server's send() to the handler: the
 *            system's part, the kernel's scheduling of three dozen threads, is
 *            in it. `alone` is the same before the large informer starts.
 *
 * usage: bench_fairness [COUNT [BYTES [SMALL [TICK]]]] */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <uv.h>

#include <kin/kin.h>

#include "iteration_server.h"
#include "measure.h"

#define MAX_SMALL 1000u
#define ALONE_MS 2000u

typedef struct bench {
  iteration_server server;
  uv_loop_t loop;
  uv_timer_t timer;
  kin_client *client;
  kin_informer *large;
  size_t small;
  size_t synced; /* small informers */
  uint64_t started_ns;
  histogram alone;
  histogram beside;
  histogram *now; /* NULL: nothing is counted */
} bench;

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_fairness: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

static void print(const char *name, const histogram *h) {
  printf("%-8s %8llu events, latency us: p50 %.0f, p99 %.0f, p99.9 %.0f, worst "
         "%.0f\n",
         name, (unsigned long long)h->total,
         (double)histogram_quantile_ns(h, 0.5) / 1e3,
         (double)histogram_quantile_ns(h, 0.99) / 1e3,
         (double)histogram_quantile_ns(h, 0.999) / 1e3,
         (double)h->longest_ns / 1e3);
}

static void on_large_synced(kin_informer *informer, const kin_event *event,
                            void *data) {
  bench *b = data;
  (void)event;
  b->now = NULL;
  printf("large    %zu objects in %.2f s\n",
         kin_store_count(kin_informer_store(informer)),
         (double)(wall_ns() - b->started_ns) / 1e9);
  uv_close((uv_handle_t *)&b->timer, NULL);
  kin_client_close(b->client, NULL, NULL);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "bench_fairness: %s\n", event->message);
}

static void on_alone(uv_timer_t *timer) {
  bench *b = timer->data;
  b->now = &b->beside;
  b->started_ns = wall_ns();
  check(kin_informer_start(b->large), "start");
}

static void on_tick(kin_informer *informer, const kin_event *event,
                    void *data) {
  bench *b = data;
  (void)informer;
  if (b->now != NULL) {
    uint64_t sent_ns =
        strtoull(kin_object_resource_version(event->object).data, NULL, 10);
    histogram_add(b->now, wall_ns() - sent_ns);
  }
}

static void on_small_synced(kin_informer *informer, const kin_event *event,
                            void *data) {
  bench *b = data;
  (void)informer;
  (void)event;
  if (++b->synced == b->small) {
    b->now = &b->alone;
    uv_timer_start(&b->timer, on_alone, ALONE_MS, 0);
  }
}

static kin_informer *open_informer(bench *b, const char *plural,
                                   kin_event_cb on_update,
                                   kin_event_cb on_synced) {
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  kin_informer *informer;
  io.plural = plural;
  io.on_error = on_error;
  lo.on_update = on_update;
  lo.on_synced = on_synced;
  lo.data = b;
  check(kin_informer_open(&informer, b->client, &io), "informer");
  check(kin_informer_listen(informer, &lo, NULL), "listener");
  return informer;
}

int main(int argc, char **argv) {
  static bench b;
  iteration_shape shape = {.bytes = 540, .count = 1000000, .scopes = 1};
  uint64_t small = 19;
  uint64_t tick_us = 5000;
  uint64_t count = shape.count;
  uint64_t bytes = shape.bytes;
  uint64_t *const numbers[] = {&count, &bytes, &small, &tick_us};
  for (int i = 1; i < argc && i <= 4; i++) {
    *numbers[i - 1] = number_argument("bench_fairness", "number", argv[i]);
  }
  if (argc > 5 || small == 0 || small > MAX_SMALL || tick_us >= 1000000) {
    fputs("usage: bench_fairness [COUNT [BYTES [SMALL [TICK]]]]\n", stderr);
    return 2;
  }
  shape.count = count;
  shape.bytes = bytes;
  shape.tick_us = (unsigned)tick_us;
  iteration_server_open(&b.server, &shape);
  char url[64];
  snprintf(url, sizeof url, "http://127.0.0.1:%u", (unsigned)b.server.port);
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = url;
  uv_loop_init(&b.loop);
  uv_timer_init(&b.loop, &b.timer);
  b.timer.data = &b;
  check(kin_client_open(&b.client, &b.loop, &co), "client");
  b.small = small;
  b.large = open_informer(&b, "pods", NULL, on_large_synced);
  for (size_t i = 0; i < small; i++) {
    kin_informer *informer =
        open_informer(&b, "ticks", on_tick, on_small_synced);
    check(kin_informer_start(informer), "start");
  }
  uv_run(&b.loop, UV_RUN_DEFAULT);
  check(uv_loop_close(&b.loop), "loop");
  iteration_server_close(&b.server);
  print("alone", &b.alone);
  print("beside", &b.beside);
  return b.alone.total > 0 && b.beside.total > 0 ? 0 : 1;
}
