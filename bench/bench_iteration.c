/* SPDX-License-Identifier: MIT */
/* What the library takes from its host's loop: CPU time of the loop's thread in
 * one iteration, measured by the host, from one prepare callback to the next.
 *
 * A thread serves lists and changes over loopback, so everything is in it:
 * reading, decoding, the store, indices, handlers that count, timers, closing.
 * Each row of the table is a run with objects of one size; the columns are the
 * longest iteration of each phase, in ms:
 *
 *   sync    from the start until the last handler's synced
 *   events  as many updates as there are objects, at most 2,000
 *   index   one more index is added, which parses every object
 *   late    as many more handlers as there were are added, and replayed to
 *   leave   these handlers are closed, until nothing is left of them
 *   resync  a handler with a period of one second joins, and gets a resync
 *   relist  the watch ends with 410, and all objects are listed again
 *   waits   4,000 waits for a version that all time out together
 *   scope   a namespace is removed, if there are several
 *   close   the client is closed
 *   unref   after it, the last of the objects that were kept is released
 *   own     kin_client_stats.longest_ns, wall time
 *   machine as many turns of fixed work follow, with nothing else in them: the
 *           longest of them less the shortest
 *
 * With several RUNS, a figure is the least of the runs' longest iterations. The
 * machine (page faults, a hypervisor, a cold cache) only adds to an iteration,
 * so that is nearest to what the library itself takes. What a single run has
 * beyond it is to be held against the column `machine`.
 *
 * With --watch-list, the lists are streams of initial events.
 *
 * usage: bench_iteration [--watch-list]
 *          [RUNS | BYTES COUNT INDICES LISTENERS SCOPES [RUNS]] */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include <kin/kin.h>

#include "iteration_server.h"
#include "measure.h"

#define WAITS 4000u
#define KEPT 2000u

/* The columns of the table; the first are phases. */
typedef enum phase {
  SYNC,
  EVENTS,
  INDEX,
  LATE,
  LEAVE,
  RESYNC,
  RELIST,
  WAITING,
  SCOPE,
  CLOSE,
  UNREF,
  OWN,
  MACHINE,
  COLUMNS
} phase;

typedef struct bench {
  iteration_shape shape;
  iteration_server server;
  bool is_watch_list;

  uv_loop_t loop;
  uv_prepare_t prepare;
  kin_client *client;
  kin_informer *informer;
  phase phase;
  uint64_t began_ns;
  uint64_t longest_ns[COLUMNS];
  size_t turns;
  size_t synced;
  kin_listener **late;
  size_t adds; /* since the last phase began */
  size_t updates;
  size_t deletes;
  size_t resynced;
  size_t relisted;
  size_t waited;
  bool is_closed;
  const kin_object *kept[KEPT];
  size_t kept_count;
} bench;

static void check(int err, const char *what) {
  if (err != 0) {
    fprintf(stderr, "bench_iteration: %s: %s\n", what, kin_strerror(err));
    exit(1);
  }
}

static void on_prepare(uv_prepare_t *prepare) {
  bench *b = prepare->data;
  uint64_t now_ns = thread_cpu_ns();
  uint64_t took_ns = now_ns - b->began_ns;
  if (took_ns > b->longest_ns[b->phase]) {
    b->longest_ns[b->phase] = took_ns;
  }
  b->turns++;
  b->began_ns = thread_cpu_ns();
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  bench *b = data;
  (void)informer;
  b->adds += event->type == KIN_EVENT_ADD;
  b->updates += event->type == KIN_EVENT_UPDATE;
  b->resynced += event->type == KIN_EVENT_UPDATE && event->is_resync;
  b->deletes += event->type == KIN_EVENT_DELETE;
  b->relisted += event->type == KIN_EVENT_RELISTED;
  b->synced += event->type == KIN_EVENT_SYNCED;
}

static void on_waited(kin_informer *informer, int code, const char *version,
                      void *data) {
  (void)informer;
  (void)code;
  (void)version;
  ((bench *)data)->waited++;
}

static void on_closed(void *data) {
  bench *b = data;
  b->is_closed = true;
  uv_close((uv_handle_t *)&b->prepare, NULL);
}

/* What the call takes by itself is not in the phase: it is the host's own. */
static void enter(bench *b, phase next) {
  b->phase = next;
  b->adds = 0;
  b->began_ns = thread_cpu_ns();
}

static void run_until(bench *b, const size_t *counter, size_t target) {
  while (*counter < target) {
    uv_run(&b->loop, UV_RUN_ONCE);
  }
}

static kin_listener *listen_to(bench *b, uint32_t resync_ms) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_delete = on_event;
  options.on_synced = options.on_relisted = on_event;
  options.resync_ms = resync_ms;
  options.data = b;
  kin_listener *listener;
  check(kin_informer_listen(b->informer, &options, &listener), "listen");
  return listener;
}

static void add_listeners(bench *b, kin_listener **listeners) {
  for (size_t i = 0; i < b->shape.listeners; i++) {
    listeners[i] = listen_to(b, 0);
  }
}

/* Whether the loop has work that is due: it would not wait. */
static bool is_busy(bench *b) {
  return uv_backend_timeout(&b->loop) == 0;
}

/* A closed handler has no last callback. Its queue is gone when the loop would
 * wait for something from outside. */
static void close_late(bench *b) {
  for (size_t i = 0; i < b->shape.listeners; i++) {
    kin_listener_close(b->late[i]);
  }
  enter(b, LEAVE);
  do {
    uv_run(&b->loop, UV_RUN_NOWAIT);
  } while (is_busy(b));
}

static void add_index(bench *b, const char *pointer) {
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = options.pointer = pointer;
  check(kin_store_add_index(kin_informer_store(b->informer), &options),
        "add an index");
}

static void open_client(bench *b) {
  char url[64];
  snprintf(url, sizeof url, "http://127.0.0.1:%u", b->server.port);
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  client.server = url;
  check(kin_client_open(&b->client, &b->loop, &client), "open a client");
  char(*names)[24] = calloc(b->shape.scopes, sizeof *names);
  const char **namespaces = calloc(b->shape.scopes, sizeof *namespaces);
  if (names == NULL || namespaces == NULL) {
    exit(1);
  }
  for (size_t i = 0; i < b->shape.scopes; i++) {
    snprintf(names[i], sizeof names[i], "ns-%zu", i);
    namespaces[i] = names[i];
  }
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.no_watch_list = !b->is_watch_list;
  options.keep_managed_fields = true;
  if (b->shape.scopes > 1) {
    options.namespaces = namespaces;
    options.namespace_count = b->shape.scopes;
  }
  check(kin_informer_open(&b->informer, b->client, &options), "open");
  free(namespaces);
  free(names);
  for (size_t i = 0; i < b->shape.indices; i++) {
    char pointer[32];
    snprintf(pointer, sizeof pointer, "/spec/i%zu", i);
    add_index(b, pointer);
  }
}

static void keep_some(bench *b) {
  const kin_store *store = kin_informer_store(b->informer);
  size_t step = b->shape.count / KEPT + 1;
  kin_cursor cursor = {0};
  const kin_object *object;
  for (size_t i = 0; (object = kin_store_next(store, &cursor)) != NULL; i++) {
    if (i % step == 0 && b->kept_count < KEPT) {
      b->kept[b->kept_count++] = kin_object_ref(object);
    }
  }
}

static void run_handlers(bench *b) {
  const iteration_shape *s = &b->shape;
  add_listeners(b, b->late);
  enter(b, LATE);
  run_until(b, &b->adds, s->count * s->listeners);
  close_late(b);
  kin_listener *resynced = listen_to(b, 1000);
  enter(b, RESYNC);
  run_until(b, &b->resynced, s->count);
  kin_listener_close(resynced);
}

static void run_requests(bench *b) {
  const iteration_shape *s = &b->shape;
  b->relisted = 0;
  iteration_server_enter(&b->server, ITERATION_EXPIRED);
  enter(b, RELIST);
  run_until(b, &b->relisted, s->scopes * s->listeners);
  for (size_t i = 0; i < WAITS; i++) {
    check(kin_informer_wait_version(b->informer, s->scopes > 1 ? "ns-0" : NULL,
                                    "999999999", 100, on_waited, b),
          "wait");
  }
  enter(b, WAITING);
  run_until(b, &b->waited, WAITS);
}

static void remove_scope(bench *b) {
  const iteration_shape *s = &b->shape;
  check(kin_informer_remove_namespace(b->informer, "ns-0"), "remove");
  enter(b, SCOPE);
  size_t in_first = (s->count + s->scopes - 1) / s->scopes;
  run_until(b, &b->deletes, in_first * s->listeners);
}

static void run_phases(bench *b) {
  const iteration_shape *s = &b->shape;
  add_listeners(b, b->late);
  enter(b, SYNC);
  check(kin_informer_start(b->informer), "start");
  run_until(b, &b->synced, s->listeners);
  iteration_server_enter(&b->server, ITERATION_EVENTS);
  enter(b, EVENTS);
  run_until(b, &b->updates, iteration_event_count(s) * s->listeners);
  add_index(b, "/spec/nodeName");
  enter(b, INDEX);
  while (!kin_store_index_ready(kin_informer_store(b->informer),
                                "/spec/nodeName")) {
    uv_run(&b->loop, UV_RUN_ONCE);
  }
  run_handlers(b);
  run_requests(b);
  keep_some(b);
  if (s->scopes > 1) {
    remove_scope(b);
  }
}

static uint64_t release_kept(bench *b) {
  uint64_t longest_ns = 0;
  for (size_t i = 0; i < b->kept_count; i++) {
    uint64_t began_ns = thread_cpu_ns();
    kin_object_unref(b->kept[i]);
    uint64_t took_ns = thread_cpu_ns() - began_ns;
    longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
  }
  return longest_ns;
}

/* About half a millisecond. */
static uint64_t fixed_work_ns(void) {
  uint64_t began_ns = thread_cpu_ns();
  volatile uint32_t sum = 0;
  for (uint32_t i = 0; i < 200000; i++) {
    sum += i;
  }
  (void)sum;
  return thread_cpu_ns() - began_ns;
}

static uint64_t added_by_machine_ns(size_t turns) {
  uint64_t shortest_ns = fixed_work_ns();
  uint64_t longest_ns = shortest_ns;
  for (size_t i = 1; i < turns; i++) {
    uint64_t took_ns = fixed_work_ns();
    shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
    longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
  }
  return longest_ns - shortest_ns;
}

static double ms(uint64_t ns) {
  return (double)ns / 1e6;
}

typedef struct arguments {
  bool is_watch_list;
  size_t runs;
  iteration_shape shape; /* bytes 0: those of the table */
} arguments;

/* One run; `least` takes the least that any run has found in a phase. */
static void run_once(const arguments *a, const iteration_shape *s,
                     uint64_t least[COLUMNS]) {
  static bench b;
  memset(&b, 0, sizeof b);
  b.shape = *s;
  b.is_watch_list = a->is_watch_list;
  b.late = calloc(s->listeners, sizeof(kin_listener *));
  if (b.late == NULL) {
    exit(1);
  }
  iteration_server_open(&b.server, s);
  check(uv_loop_init(&b.loop), "open a loop");
  uv_prepare_init(&b.loop, &b.prepare);
  b.prepare.data = &b;
  uv_prepare_start(&b.prepare, on_prepare);
  open_client(&b);
  run_phases(&b);
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  (void)kin_client_get_stats(b.client, &stats);
  check(kin_client_close(b.client, on_closed, &b), "close");
  enter(&b, CLOSE);
  while (!b.is_closed) {
    uv_run(&b.loop, UV_RUN_ONCE);
  }
  uv_run(&b.loop, UV_RUN_DEFAULT);
  b.longest_ns[UNREF] = release_kept(&b);
  b.longest_ns[OWN] = stats.longest_ns;
  b.longest_ns[MACHINE] = added_by_machine_ns(b.turns);
  for (int i = 0; i < COLUMNS; i++) {
    least[i] = b.longest_ns[i] < least[i] ? b.longest_ns[i] : least[i];
  }
  check(uv_loop_close(&b.loop), "close the loop");
  iteration_server_close(&b.server);
  free(b.late);
}

static void run(const arguments *a, const iteration_shape *s) {
  uint64_t least[COLUMNS];
  memset(least, 0xff, sizeof least);
  for (size_t i = 0; i < a->runs; i++) {
    run_once(a, s, least);
  }
  printf("%7zu %7zu %4zu %6zu %5zu", s->bytes, s->count, s->indices,
         s->listeners, s->scopes);
  for (int i = 0; i < COLUMNS; i++) {
    printf(" %7.3f", ms(least[i]));
  }
  printf("\n");
  fflush(stdout);
}

static arguments parse(int argc, char **argv) {
  arguments a = {.runs = 1};
  if (argc > 1 && strcmp(argv[1], "--watch-list") == 0) {
    a.is_watch_list = true;
    argc--;
    argv++;
  }
  if (argc > 2 && argc != 6 && argc != 7) {
    fprintf(stderr, "usage: bench_iteration [--watch-list] [RUNS | BYTES COUNT "
                    "INDICES LISTENERS SCOPES [RUNS]]\n");
    exit(2);
  }
  size_t n[6] = {0};
  for (int i = 0; i + 1 < argc; i++) {
    n[i] = number_argument("bench_iteration", "argument", argv[i + 1]);
  }
  if (argc == 2) {
    a.runs = n[0];
  } else if (argc > 2) {
    a.shape = (iteration_shape){n[0], n[1], n[2], n[3], n[4]};
    a.runs = argc == 7 ? n[5] : 1;
  }
  return a;
}

int main(int argc, char **argv) {
  static const iteration_shape shapes[] = {
      {300, 100000, 0, 1, 1},   {2000, 100000, 4, 1, 1},
      {60000, 1000, 0, 1, 1},   {60000, 1000, 4, 1, 1},
      {200000, 300, 1, 1, 1},   {250000, 200, 64, 1, 1},
      {2000, 2000, 0, 3000, 1}, {2000, 500, 0, 10000, 1},
      {2000, 20000, 1, 1, 200}, {2000, 20000, 1, 1, 1024},
  };
  arguments a = parse(argc, argv);
  printf("  bytes   count  idx  lsnrs scope    sync  events   index    late"
         "   leave  resync  relist   waits   scope   close   unref     own"
         " machine\n");
  if (a.shape.count > 0) {
    run(&a, &a.shape);
    return 0;
  }
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    run(&a, &shapes[i]);
  }
  return 0;
}
