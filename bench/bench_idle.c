/* SPDX-License-Identifier: MIT */
/* The cost of informers that have nothing to do: N informers on one client,
 * each of one namespace's pods, in sync, with one handler.
 *
 *   synced     from the start until the last informer's synced
 *   resident   memory of the process, by informer, 1 s after that
 *   memory     the library's own: what the allocator gave, touched or not,
 *              without OpenSSL's and libuv's
 *   blocks     the largest parts of it, by size
 *   wake-ups   iterations of the loop, by informer and minute
 *   CPU        of the loop's thread, by informer and minute
 *
 * usage: bench_idle SERVER [INFORMERS [SECONDS]] */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include <kin/kin.h>

#include "measure.h"

#define SHOWN 12
#define MAX_SIZE 65536u

typedef struct bench {
  uint64_t resident; /* at the start */
  size_t informers;
  size_t synced;
  size_t bytes;           /* that the library has */
  size_t sizes[MAX_SIZE]; /* how many blocks of each size it has */
  uint64_t started_ns;
  uint64_t seconds;
  uint64_t iterations;
  uint64_t cpu_ns;
  uv_loop_t loop;
  uv_prepare_t prepare;
  uv_timer_t timer;
  kin_client *client;
} bench;

/* --- Memory --------------------------------------------------------------- */

typedef union block {
  size_t size;
  max_align_t align;
} block;

static void count(bench *b, size_t size, bool is_new) {
  b->bytes += is_new ? size : (size_t)0 - size;
  if (size < MAX_SIZE) {
    b->sizes[size] += is_new ? 1 : SIZE_MAX;
  }
}

static void *count_malloc(void *ctx, size_t size) {
  block *made = malloc(sizeof *made + size);
  if (made == NULL) {
    return NULL;
  }
  made->size = size;
  count(ctx, size, true);
  return made + 1;
}

static void count_free(void *ctx, void *ptr) {
  if (ptr != NULL) {
    block *old = (block *)ptr - 1;
    count(ctx, old->size, false);
    free(old);
  }
}

static void *count_realloc(void *ctx, void *ptr, size_t old_size, size_t size) {
  void *made = count_malloc(ctx, size);
  if (made != NULL && ptr != NULL) {
    memcpy(made, ptr, old_size < size ? old_size : size);
    count_free(ctx, ptr);
  }
  return made;
}

static void show_memory(const bench *b) {
  printf("resident %.0f bytes by informer\n",
         (double)(memory_bytes("VmRSS:") - b->resident) / (double)b->informers);
  printf("memory %.0f bytes by informer\n",
         (double)b->bytes / (double)b->informers);
  size_t last = SIZE_MAX;
  for (int shown = 0; shown < SHOWN; shown++) {
    size_t most = 0;
    size_t at = 0;
    for (size_t size = 1; size < MAX_SIZE; size++) {
      size_t all = size * b->sizes[size];
      if (all > most && all < last) {
        most = all;
        at = size;
      }
    }
    if (most > 0) {
      printf("  %6zu bytes: %.2f by informer\n", at,
             (double)b->sizes[at] / (double)b->informers);
    }
    last = most;
  }
}

/* --- The run -------------------------------------------------------------- */

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_idle: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

static void on_iteration(uv_prepare_t *prepare) {
  ((bench *)prepare->data)->iterations++;
}

static void on_end(uv_timer_t *timer) {
  bench *b = timer->data;
  double by = 60.0 / (double)b->seconds / (double)b->informers;
  printf("wake-ups %.2f by informer and minute\n", (double)b->iterations * by);
  printf("CPU %.2f ms by informer and minute\n",
         (double)(thread_cpu_ns() - b->cpu_ns) / 1e6 * by);
  uv_close((uv_handle_t *)timer, NULL);
  uv_close((uv_handle_t *)&b->prepare, NULL);
  kin_client_close(b->client, NULL, NULL);
}

static void on_quiet(uv_timer_t *timer) {
  bench *b = timer->data;
  show_memory(b);
  b->iterations = 0;
  b->cpu_ns = thread_cpu_ns();
  uv_timer_start(timer, on_end, b->seconds * 1000, 0);
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  bench *b = data;
  if (++b->synced == b->informers) {
    printf("synced %zu informers in %.0f ms\n", b->informers,
           (double)(uv_hrtime() - b->started_ns) / 1e6);
    uv_timer_start(&b->timer, on_quiet, 1000, 0);
  }
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)data;
  fprintf(stderr, "bench_idle: %s\n", event->message);
}

static void follow(bench *b, size_t index) {
  char name[32];
  snprintf(name, sizeof name, "ns-%zu", index);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  const char *const namespaces[] = {name};
  io.namespaces = namespaces;
  io.namespace_count = 1;
  io.on_error = on_error;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_synced = on_synced;
  lo.data = b;
  kin_informer *informer;
  check(kin_informer_follow(&informer, b->client, &io, &lo), "informer");
}

int main(int argc, char **argv) {
  static bench b;
  if (argc < 2) {
    fprintf(stderr, "usage: bench_idle SERVER [INFORMERS [SECONDS]]\n");
    return 2;
  }
  b.informers =
      argc > 2 ? number_argument("bench_idle", "INFORMERS", argv[2]) : 1000;
  b.seconds = argc > 3 ? number_argument("bench_idle", "SECONDS", argv[3]) : 60;
  const kin_allocator allocator = {&b, count_malloc, count_realloc, count_free};
  uv_loop_init(&b.loop);
  uv_prepare_init(&b.loop, &b.prepare);
  b.prepare.data = &b;
  uv_prepare_start(&b.prepare, on_iteration);
  uv_timer_init(&b.loop, &b.timer);
  b.timer.data = &b;
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = argv[1];
  co.allocator = &allocator;
  check(kin_client_open(&b.client, &b.loop, &co), "client");
  b.resident = memory_bytes("VmRSS:");
  b.started_ns = uv_hrtime();
  for (size_t i = 0; i < b.informers; i++) {
    follow(&b, i);
  }
  uv_run(&b.loop, UV_RUN_DEFAULT);
  check(uv_loop_close(&b.loop), "loop");
  return 0;
}
