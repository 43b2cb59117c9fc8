/* SPDX-License-Identifier: MIT */
#include "kin_bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* What --more does once the first list is in and memory is at rest: a relist, a
 * second handler, a new index, one after the other. */

#define INDEXED "/spec/nodeName"

static double since(uint64_t then_ns, uint64_t now_ns) {
  return (double)(now_ns - then_ns) / 1e9;
}

/* ---- relist */

/* Makes VmHWM begin anew at what is resident now. */
static bool reset_peak(void) {
  int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  bool is_done = fd >= 0 && write(fd, "5", 1) == 1;
  if (fd >= 0) {
    close(fd);
  }
  return is_done;
}

/* Whoever started this program makes the server end the watch with 410 when it
 * reads this line. */
void more_begin(bench *b) {
  if (!reset_peak()) {
    bench_fail(b, "VmHWM cannot be reset on this system");
    return;
  }
  b->phase = PHASE_RELIST;
  puts("settled");
  fflush(stdout);
}

bool more_on_error(bench *b, const kin_error_event *event) {
  if (b->phase != PHASE_RELIST || event->status != 410 ||
      b->more.began.wall_ns != 0) {
    return false;
  }
  b->more.began = instant_now();
  b->more.retry_ms = event->retry_in_ms;
  return true;
}

static void on_relist_settled(uv_timer_t *timer);

void more_on_relisted(bench *b) {
  more *m = &b->more;
  instant now = instant_now();
  if (b->phase != PHASE_RELIST || m->began.wall_ns == 0) {
    bench_fail(b, "relisted, but not asked to");
    return;
  }
  m->relist_s =
      since(m->began.wall_ns, now.wall_ns) - (double)m->retry_ms / 1e3;
  m->relist_cpu_s = since(m->began.cpu_ns, now.cpu_ns);
  uv_timer_start(&b->settle, on_relist_settled, b->arguments.settle_ms, 0);
}

/* ---- a second handler */

static void on_late_add(kin_informer *informer, const kin_event *event,
                        void *data) {
  (void)informer;
  (void)event;
  bench *b = data;
  b->more.objects++;
}

static void on_late_done(uv_timer_t *timer);

static void on_late_synced(kin_informer *informer, const kin_event *event,
                           void *data) {
  (void)informer;
  bench *b = data;
  more *m = &b->more;
  instant now = instant_now();
  m->late_s = since(m->began.wall_ns, now.wall_ns);
  m->late_cpu_s = since(m->began.cpu_ns, now.cpu_ns);
  if (m->objects != event->objects || m->objects < b->arguments.objects) {
    bench_fail(b, "the second handler was not shown all objects");
    return;
  }
  /* In a turn of its own, because this one is that of the last adds. */
  uv_timer_start(&b->settle, on_late_done, 1, 0);
}

static void on_relist_settled(uv_timer_t *timer) {
  bench *b = timer->data;
  b->more.peak_rss = memory_bytes("VmHWM:");
  b->more.steady_rss = memory_bytes("VmRSS:");
  b->phase = PHASE_LATE;
  b->more.began = instant_now();
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = on_late_add;
  lo.on_synced = on_late_synced;
  lo.data = b;
  int status = kin_informer_listen(b->informer, &lo, NULL);
  if (status != 0) {
    bench_fail(b, kin_strerror(status));
  }
}

/* ---- an index */

static void on_late_done(uv_timer_t *timer) {
  bench *b = timer->data;
  b->phase = PHASE_INDEX;
  b->more.began = instant_now();
  kin_index_options io = KIN_INDEX_OPTIONS_INIT;
  io.name = INDEXED;
  io.pointer = INDEXED;
  int status = kin_store_add_index(kin_informer_store(b->informer), &io);
  if (status != 0) {
    bench_fail(b, kin_strerror(status));
  }
}

/* Whether all objects are found by the index; each has one value. */
static bool index_is_complete(const kin_store *store) {
  kin_cursor cursor = {0};
  kin_str value;
  size_t found = 0;
  while (kin_store_index_next_value(store, INDEXED, &cursor, &value)) {
    found += kin_store_index_count(store, INDEXED, value);
  }
  return found == kin_store_count(store);
}

static void on_index_done(uv_timer_t *timer) {
  bench_end(timer->data);
}

void more_on_turn(bench *b) {
  const kin_store *store = kin_informer_store(b->informer);
  if (b->phase != PHASE_INDEX || !kin_store_index_ready(store, INDEXED)) {
    return;
  }
  more *m = &b->more;
  instant now = instant_now();
  m->index_s = since(m->began.wall_ns, now.wall_ns);
  m->index_cpu_s = since(m->began.cpu_ns, now.cpu_ns);
  b->phase = PHASE_CLOSE;
  if (!b->arguments.metadata_only && !index_is_complete(store)) {
    bench_fail(b, "the index lacks objects");
    return;
  }
  uv_timer_start(&b->settle, on_index_done, 0, 0);
}

void more_print(const more *m) {
  printf(",\"relist_s\":%.6f,\"relist_cpu_s\":%.6f,\"relist_peak_rss\":%llu,"
         "\"relist_steady_rss\":%llu",
         m->relist_s, m->relist_cpu_s, (unsigned long long)m->peak_rss,
         (unsigned long long)m->steady_rss);
  printf(",\"late_s\":%.6f,\"late_cpu_s\":%.6f,\"index_s\":%.6f,"
         "\"index_cpu_s\":%.6f",
         m->late_s, m->late_cpu_s, m->index_s, m->index_cpu_s);
}
