/* SPDX-License-Identifier: MIT */

/* What an informer costs: one informer of all namespaces with one handler that
 * counts, against a server that sends as fast as it can. Measures the first
 * sync, then `--events` watch events, then memory at rest, then the close, and
 * prints one JSON object. README.md says how each figure is meant. --more adds
 * what is in kin_bench_phases.c, --latency what is in latency.h.
 *
 * Time per loop iteration is the thread's CPU time from the end of one prepare
 * phase to the end of the next: everything that a turn of the loop does, the
 * poll itself included, waiting excluded. libuv runs I/O callbacks inside its
 * poll phase, so nothing shorter would hold all of our work. */

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kin_bench.h"
#include "latency.h"

static histogram turns[PHASE_COUNT];

instant instant_now(void) {
  return (instant){wall_ns(), process_cpu_ns(), thread_cpu_ns(),
                   thread_page_faults()};
}

/* ---- ending */

static void on_client_closed(void *data) {
  bench *b = data;
  uv_close((uv_handle_t *)&b->prepare, NULL);
  uv_close((uv_handle_t *)&b->settle, NULL);
  uv_close((uv_handle_t *)&b->timeout, NULL);
}

void bench_end(bench *b) {
  if (b->is_closing) {
    return;
  }
  b->is_closing = true;
  b->phase = PHASE_CLOSE;
  if (!b->client) {
    on_client_closed(b);
    return;
  }
  b->stats = (kin_client_stats)KIN_CLIENT_STATS_INIT;
  (void)kin_client_get_stats(b->client, &b->stats);
  kin_client_close(b->client, on_client_closed, b);
}

void bench_fail(bench *b, const char *what) {
  fprintf(stderr, "kin_bench: %s\n", what);
  b->has_failed = true;
  bench_end(b);
}

static void on_timeout(uv_timer_t *timer) {
  bench_fail(timer->data, "timed out");
}

static void on_settled(uv_timer_t *timer) {
  bench *b = timer->data;
  b->steady_rss = memory_bytes("VmRSS:");
  b->peak_rss = memory_bytes("VmHWM:");
  if (b->arguments.more) {
    more_begin(b);
  } else {
    bench_end(b);
  }
}

/* ---- measuring */

static uint64_t received_events(bench *b) {
  kin_status status = KIN_STATUS_INIT;
  kin_informer_get_status(b->informer, "", &status);
  return status.events;
}

/* The listener may coalesce, so what it was told does not say whether all has
 * been received. */
static void check_finished(bench *b) {
  if (b->phase != PHASE_EVENTS || received_events(b) < b->arguments.events ||
      kin_listener_pending(b->listener) > 0) {
    return;
  }
  b->finished = instant_now();
  b->final_events = received_events(b);
  b->store_bytes = kin_store_bytes(kin_informer_store(b->informer));
  b->phase = PHASE_SETTLE;
  uv_timer_start(&b->settle, on_settled, b->arguments.settle_ms, 0);
}

static void on_prepare(uv_prepare_t *prepare) {
  bench *b = prepare->data;
  histogram_add(&turns[b->phase], thread_cpu_ns() - b->turn_began_ns);
  check_finished(b);
  if (b->arguments.more) {
    more_on_turn(b);
  }
  b->turn_began_ns = thread_cpu_ns();
  if (b->arguments.latency) {
    latency_on_turn(&b->loop);
  }
}

static void on_add(kin_informer *informer, const kin_event *event, void *data) {
  (void)informer;
  (void)event;
  bench *b = data;
  b->objects++;
}

static void on_update(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  bench *b = data;
  b->delivered++;
  if (b->arguments.latency && b->phase == PHASE_EVENTS) {
    latency_on_event(&b->loop);
  }
}

static void on_synced(kin_informer *informer, const kin_event *event,
                      void *data) {
  (void)informer;
  (void)event;
  bench *b = data;
  b->synced = instant_now();
  b->sync_peak_rss = memory_bytes("VmHWM:");
  b->early_events = received_events(b);
  b->phase = PHASE_EVENTS;
  latency_start();
  if (b->arguments.objects > 0 && b->objects != b->arguments.objects) {
    bench_fail(b, "another number of objects than --objects says");
  }
}

static void on_relisted(kin_informer *informer, const kin_event *event,
                        void *data) {
  (void)informer;
  (void)event;
  more_on_relisted(data);
}

/* A benchmark with failures in it measures something else. */
static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  if (more_on_error(data, event)) {
    return;
  }
  event->answer = KIN_STOP;
  bench_fail(data, event->message);
}

/* ---- beginning */

static int begin(bench *b) {
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = b->arguments.server;
  co.certificate_authority_file = b->arguments.authority_file;
  co.insecure_skip_tls_verify = b->arguments.is_insecure;
  co.no_memory_helper = b->arguments.no_memory_helper;
  co.watch_read_delay_ms = b->arguments.read_delay_ms;
  int status = kin_client_open(&b->client, &b->loop, &co);
  if (status != 0) {
    return status;
  }
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.no_watch_list = true; /* receive_only reads the same list */
  io.group = b->arguments.resource.group;
  io.version = b->arguments.resource.version;
  io.plural = b->arguments.resource.plural;
  io.keep_managed_fields = b->arguments.keep_all;
  io.compact = b->arguments.compact;
  io.metadata_only = b->arguments.metadata_only;
  io.max_bytes = b->arguments.max_bytes;
  io.on_error = on_error;
  io.data = b;
  status = kin_informer_open(&b->informer, b->client, &io);
  if (status != 0) {
    return status;
  }
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = on_add;
  lo.on_update = on_update;
  lo.on_synced = on_synced;
  lo.on_relisted = on_relisted;
  lo.data = b;
  status = kin_informer_listen(b->informer, &lo, &b->listener);
  if (status != 0) {
    return status;
  }
  b->base_rss = memory_bytes("VmRSS:");
  b->started = instant_now();
  return kin_informer_start(b->informer);
}

static void usage(void) {
  fputs(
      "usage: kin_bench --server URL [--resource RESOURCE] [--objects N] "
      "[--events N]\n"
      "         [--keep-all] [--metadata-only] [--compact | --compact-small]\n"
      "         [--settle-ms MS] [--timeout SECONDS]\n"
      "         [--more] [--latency] [--no-memory-helper]\n"
      "         [--read-delay-ms MS] [--max-bytes N]\n"
      "         [--ca FILE | --insecure]\n",
      stderr);
  exit(2);
}

static uint64_t number(const char *name) {
  return number_argument("kin_bench", name, optarg);
}

static void parse_number(arguments *a, int option) {
  switch (option) {
  case 'o':
    a->objects = number("--objects");
    break;
  case 'e':
    a->events = number("--events");
    break;
  case 't':
    a->settle_ms = number("--settle-ms");
    break;
  case 'T':
    a->timeout_ms = number("--timeout") * 1000;
    break;
  case 'd':
    a->read_delay_ms = number("--read-delay-ms");
    break;
  case 'b':
    a->max_bytes = number("--max-bytes");
    break;
  default:
    usage();
  }
}

static arguments parse_arguments(int argc, char **argv) {
  static const struct option options[] = {
      {"server", required_argument, NULL, 's'},
      {"resource", required_argument, NULL, 'r'},
      {"objects", required_argument, NULL, 'o'},
      {"events", required_argument, NULL, 'e'},
      {"keep-all", no_argument, NULL, 'k'},
      {"metadata-only", no_argument, NULL, 'm'},
      {"compact", no_argument, NULL, 'p'},
      {"compact-small", no_argument, NULL, 'P'},
      {"settle-ms", required_argument, NULL, 't'},
      {"timeout", required_argument, NULL, 'T'},
      {"more", no_argument, NULL, 'M'},
      {"latency", no_argument, NULL, 'l'},
      {"no-memory-helper", no_argument, NULL, 'h'},
      {"read-delay-ms", required_argument, NULL, 'd'},
      {"max-bytes", required_argument, NULL, 'b'},
      {"ca", required_argument, NULL, 'c'},
      {"insecure", no_argument, NULL, 'i'},
      {NULL, 0, NULL, 0}};
  arguments a = {.settle_ms = 5000, .timeout_ms = 600 * 1000};
  const char *resource = "pods";
  int c;
  while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
    switch (c) {
    case 's':
      a.server = optarg;
      break;
    case 'r':
      resource = optarg;
      break;
    case 'k':
      a.keep_all = true;
      break;
    case 'm':
      a.metadata_only = true;
      break;
    case 'p':
    case 'P':
      a.compact = c == 'p' ? KIN_COMPACT_FAST : KIN_COMPACT_SMALL;
      break;
    case 'M':
      a.more = true;
      break;
    case 'l':
      a.latency = true;
      break;
    case 'h':
      a.no_memory_helper = true;
      break;
    case 'c':
      a.authority_file = optarg;
      break;
    case 'i':
      a.is_insecure = true;
      break;
    default:
      parse_number(&a, c);
    }
  }
  if (!a.server || optind != argc ||
      resource_parse(&a.resource, resource) != RESOURCE_OK) {
    usage();
  }
  return a;
}

/* ---- the result */

static double seconds(uint64_t from_ns, uint64_t to_ns) {
  return (double)(to_ns - from_ns) / 1e9;
}

static void print_iterations(void) {
  static const char *const names[] = {"sync", "events", "settle", "relist",
                                      "late", "index",  "close"};
  histogram *all = &turns[PHASE_SYNC];
  for (int i = 0; i < PHASE_COUNT; i++) {
    printf(",\"iteration_worst_%s_us\":%.1f", names[i],
           (double)turns[i].longest_ns / 1e3);
  }
  printf(",\"iteration_p99_sync_us\":%.1f",
         (double)histogram_quantile_ns(all, 0.99) / 1e3);
  printf(",\"iteration_p99_events_us\":%.1f",
         (double)histogram_quantile_ns(&turns[PHASE_EVENTS], 0.99) / 1e3);
  for (int i = PHASE_EVENTS; i < PHASE_COUNT; i++) {
    histogram_merge(all, &turns[i]);
  }
  printf(",\"iterations\":%llu,\"iterations_over_1ms\":%llu,"
         "\"iterations_over_2ms\":%llu,\"iteration_p99_us\":%.1f,"
         "\"iteration_worst_us\":%.1f",
         (unsigned long long)all->total,
         (unsigned long long)histogram_count_over(all, 1000000),
         (unsigned long long)histogram_count_over(all, 2000000),
         (double)histogram_quantile_ns(all, 0.99) / 1e3,
         (double)all->longest_ns / 1e3);
}

static void print_result(const bench *b) {
  double events_s = seconds(b->synced.wall_ns, b->finished.wall_ns);
  uint64_t events = b->final_events - b->early_events;
  double objects = b->objects > 0 ? (double)b->objects : 1;
  printf("{\"objects\":%llu,\"sync_s\":%.6f,\"sync_cpu_s\":%.6f",
         (unsigned long long)b->objects,
         seconds(b->started.wall_ns, b->synced.wall_ns),
         seconds(b->started.cpu_ns, b->synced.cpu_ns));
  printf(",\"sync_thread_cpu_s\":%.6f,\"sync_thread_faults\":%llu",
         seconds(b->started.thread_ns, b->synced.thread_ns),
         (unsigned long long)(b->synced.faults - b->started.faults));
  printf(",\"events\":%llu,\"delivered\":%llu,\"events_s\":%.6f,"
         "\"events_per_s\":%.0f,\"cpu_us_per_event\":%.4f",
         (unsigned long long)events, (unsigned long long)b->delivered, events_s,
         events > 0 ? (double)events / events_s : 0,
         events > 0 ? seconds(b->synced.cpu_ns, b->finished.cpu_ns) * 1e6 /
                          (double)events
                    : 0);
  printf(",\"base_rss\":%llu,\"sync_peak_rss\":%llu,\"peak_rss\":%llu,"
         "\"steady_rss\":%llu,\"store_bytes\":%llu",
         (unsigned long long)b->base_rss, (unsigned long long)b->sync_peak_rss,
         (unsigned long long)b->peak_rss, (unsigned long long)b->steady_rss,
         (unsigned long long)b->store_bytes);
  printf(",\"bytes_per_object\":%.1f,\"stored_per_object\":%.1f",
         ((double)b->steady_rss - (double)b->base_rss) / objects,
         (double)b->store_bytes / objects);
  printf(",\"received_bytes\":%llu,\"longest_us\":%.1f,\"busy_s\":%.6f",
         (unsigned long long)b->stats.received_bytes,
         (double)b->stats.longest_ns / 1e3, (double)b->stats.busy_ns / 1e9);
  if (b->arguments.more) {
    more_print(&b->more);
  }
  if (b->arguments.latency) {
    latency_print();
  }
  print_iterations();
  puts("}");
}

int main(int argc, char **argv) {
  bench b = {.arguments = parse_arguments(argc, argv)};
  int status = uv_loop_init(&b.loop);
  if (status != 0) {
    fprintf(stderr, "kin_bench: %s\n", kin_strerror(status));
    return 1;
  }
  if (b.arguments.latency) {
    latency_begin(&b.loop);
  }
  uv_prepare_init(&b.loop, &b.prepare);
  uv_timer_init(&b.loop, &b.settle);
  uv_timer_init(&b.loop, &b.timeout);
  b.prepare.data = &b;
  b.settle.data = &b;
  b.timeout.data = &b;
  uv_prepare_start(&b.prepare, on_prepare);
  uv_timer_start(&b.timeout, on_timeout, b.arguments.timeout_ms, 0);
  b.turn_began_ns = thread_cpu_ns();
  status = begin(&b);
  if (status != 0) {
    bench_fail(&b, kin_strerror(status));
  }
  uv_run(&b.loop, UV_RUN_DEFAULT);
  if (uv_loop_close(&b.loop) != 0) {
    fprintf(stderr, "kin_bench: handles were left open\n");
    b.has_failed = true;
  }
  if (!b.has_failed) {
    print_result(&b);
  }
  resource_finish(&b.arguments.resource);
  return b.has_failed ? 1 : 0;
}
