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
 *   waits   4,000 waits for a version that all time out together
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
 * usage: bench_iteration [RUNS | BYTES COUNT INDICES LISTENERS SCOPES [RUNS]] */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uv.h>

#include <kin/kin.h>

#include "measure.h"

#define MAX_EVENTS 2000u
#define WAITS 4000u
#define KEPT 2000u
#define REQUEST_BYTES 8192

typedef struct shape {
  size_t bytes;
  size_t count;
  size_t indices;
  size_t listeners;
  size_t scopes; /* 1: all namespaces in one */
} shape;

/* The columns of the table; the first six are phases. */
typedef enum phase {
  SYNC,
  EVENTS,
  INDEX,
  LATE,
  WAITING,
  CLOSE,
  UNREF,
  OWN,
  MACHINE,
  COLUMNS
} phase;

typedef struct bench {
  shape shape;
  int listening;
  uint16_t port;
  /* The server's threads wait here, without taking CPU time. */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool may_send; /* events */

  uv_loop_t loop;
  uv_prepare_t prepare;
  kin_client *client;
  kin_informer *informer;
  phase phase;
  uint64_t began_ns;
  uint64_t longest_ns[COLUMNS];
  size_t turns;
  size_t synced;
  size_t adds; /* since the last phase began */
  size_t updates;
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

/* --- The server ----------------------------------------------------------- */

typedef struct connection {
  bench *bench;
  int fd;
} connection;

static void send_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t count = send(fd, bytes, length, MSG_NOSIGNAL);
    if (count <= 0) {
      return;
    }
    bytes += count;
    length -= (size_t)count;
  }
}

/* Object `number`, filled up to its size with fields that a parser has to look
 * at. Returns its length. */
static size_t render(const shape *s, char *to, size_t number,
                     uint64_t version) {
  char *at = to;
  at += sprintf(at,
                "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"
                "\"name\":\"pod-%07zu\",\"namespace\":\"ns-%zu\",\"uid\":"
                "\"8f3c1f6e-0000-4000-8000-%012zu\",\"resourceVersion\":"
                "\"%" PRIu64 "\"},\"spec\":{\"nodeName\":\"node-%zu\"",
                number, number % s->scopes, number, version, number);
  for (size_t i = 0; i < s->indices; i++) {
    at += sprintf(at, ",\"i%zu\":\"value-%zu-%zu\"", i, i, number % 1000);
  }
  at += sprintf(at, ",\"env\":[0");
  for (size_t i = 0; (size_t)(at - to) + 64 < s->bytes; i++) {
    at += sprintf(at, ",{\"name\":\"VARIABLE_%zu\",\"value\":\"%zu\"}", i,
                  number + i);
  }
  at += sprintf(at, "]}}");
  return (size_t)(at - to);
}

/* The namespace's number in the path, or SIZE_MAX: all. */
static size_t scope_of(const char *request) {
  const char *at = strstr(request, "/namespaces/ns-");
  return at != NULL ? strtoul(at + 15, NULL, 10) : SIZE_MAX;
}

static void serve_list(const connection *c, size_t scope) {
  static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json"
                             "\r\nConnection: close\r\n\r\n{\"kind\":\"PodList"
                             "\",\"apiVersion\":\"v1\",\"metadata\":{"
                             "\"resourceVersion\":\"1000\"},\"items\":[";
  const shape *s = &c->bench->shape;
  char *object = malloc(s->bytes + 4096 + 64 * s->indices);
  bool is_first = true;
  send_all(c->fd, head, sizeof head - 1);
  for (size_t i = 0; object != NULL && i < s->count; i++) {
    if (scope == SIZE_MAX || i % s->scopes == scope) {
      object[0] = ',';
      size_t length = render(s, object + 1, i, 10);
      send_all(c->fd, object + is_first, length + 1 - is_first);
      is_first = false;
    }
  }
  send_all(c->fd, "]}", 2);
  free(object);
}

static void serve_watch(const connection *c, size_t scope) {
  static const char head[] =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
  bench *b = c->bench;
  const shape *s = &b->shape;
  char *frame = malloc(s->bytes + 4096 + 64 * s->indices);
  send_all(c->fd, head, sizeof head - 1);
  pthread_mutex_lock(&b->lock);
  while (!b->may_send) {
    pthread_cond_wait(&b->changed, &b->lock);
  }
  pthread_mutex_unlock(&b->lock);
  for (size_t i = 0; frame != NULL && i < s->count && i < MAX_EVENTS; i++) {
    if (scope == SIZE_MAX || i % s->scopes == scope) {
      size_t at = (size_t)sprintf(frame, "{\"type\":\"MODIFIED\",\"object\":");
      at += render(s, frame + at, i, 2000 + i);
      at += (size_t)sprintf(frame + at, "}\n");
      send_all(c->fd, frame, at);
    }
  }
  free(frame);
  char byte;
  while (recv(c->fd, &byte, 1, 0) > 0) {
  }
}

static void *serve(void *data) {
  connection c = *(connection *)data;
  free(data);
  char request[REQUEST_BYTES + 1];
  size_t length = 0;
  request[0] = '\0';
  while (strstr(request, "\r\n\r\n") == NULL && length < REQUEST_BYTES) {
    ssize_t count = recv(c.fd, request + length, REQUEST_BYTES - length, 0);
    if (count <= 0) {
      break;
    }
    length += (size_t)count;
    request[length] = '\0';
  }
  if (strstr(request, "watch=") != NULL) {
    serve_watch(&c, scope_of(request));
  } else if (length > 0) {
    serve_list(&c, scope_of(request));
  }
  close(c.fd);
  return NULL;
}

/* Ends when the socket is shut down. */
static void *accept_all(void *data) {
  bench *b = data;
  for (int fd; (fd = accept(b->listening, NULL, NULL)) >= 0;) {
    connection *c = malloc(sizeof *c);
    pthread_t thread;
    if (c == NULL) {
      exit(1);
    }
    *c = (connection){b, fd};
    if (pthread_create(&thread, NULL, serve, c) != 0) {
      exit(1);
    }
    pthread_detach(thread);
  }
  return NULL;
}

static void open_server(bench *b, pthread_t *thread) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  b->listening = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(b->listening, (struct sockaddr *)&address, size) != 0 ||
      listen(b->listening, 1024) != 0 ||
      getsockname(b->listening, (struct sockaddr *)&address, &size) != 0 ||
      pthread_create(thread, NULL, accept_all, b) != 0) {
    perror("bench_iteration");
    exit(1);
  }
  b->port = ntohs(address.sin_port);
}

/* --- The host ------------------------------------------------------------- */

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

static void add_listeners(bench *b) {
  kin_listener_options options = KIN_LISTENER_OPTIONS_INIT;
  options.on_add = options.on_update = options.on_synced = on_event;
  options.data = b;
  for (size_t i = 0; i < b->shape.listeners; i++) {
    check(kin_informer_listen(b->informer, &options, NULL), "listen");
  }
}

static void add_index(bench *b, const char *pointer) {
  kin_index_options options = KIN_INDEX_OPTIONS_INIT;
  options.name = options.pointer = pointer;
  check(kin_store_add_index(kin_informer_store(b->informer), &options),
        "add an index");
}

static void open_client(bench *b) {
  char url[64];
  snprintf(url, sizeof url, "http://127.0.0.1:%u", b->port);
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
  options.no_watch_list = true;
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

static void allow_events(bench *b) {
  pthread_mutex_lock(&b->lock);
  b->may_send = true;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->lock);
}

static void run_phases(bench *b) {
  const shape *s = &b->shape;
  size_t events = s->count < MAX_EVENTS ? s->count : MAX_EVENTS;
  add_listeners(b);
  enter(b, SYNC);
  check(kin_informer_start(b->informer), "start");
  run_until(b, &b->synced, s->listeners);
  allow_events(b);
  enter(b, EVENTS);
  run_until(b, &b->updates, events * s->listeners);
  add_index(b, "/spec/nodeName");
  enter(b, INDEX);
  while (!kin_store_index_ready(kin_informer_store(b->informer),
                                "/spec/nodeName")) {
    uv_run(&b->loop, UV_RUN_ONCE);
  }
  add_listeners(b);
  enter(b, LATE);
  run_until(b, &b->adds, s->count * s->listeners);
  for (size_t i = 0; i < WAITS; i++) {
    check(kin_informer_wait_version(b->informer, s->scopes > 1 ? "ns-0" : NULL,
                                    "999999999", 100, on_waited, b),
          "wait");
  }
  enter(b, WAITING);
  run_until(b, &b->waited, WAITS);
  keep_some(b);
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

/* One run; `least` takes the least that any run has found in a phase. */
static void run_once(const shape *s, uint64_t least[COLUMNS]) {
  static bench b;
  pthread_t server;
  memset(&b, 0, sizeof b);
  b.shape = *s;
  pthread_mutex_init(&b.lock, NULL);
  pthread_cond_init(&b.changed, NULL);
  open_server(&b, &server);
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
  shutdown(b.listening, SHUT_RDWR);
  pthread_join(server, NULL);
  close(b.listening);
}

static void run(const shape *s, size_t runs) {
  uint64_t least[COLUMNS];
  memset(least, 0xff, sizeof least);
  for (size_t i = 0; i < runs; i++) {
    run_once(s, least);
  }
  printf("%7zu %7zu %4zu %6zu %5zu", s->bytes, s->count, s->indices,
         s->listeners, s->scopes);
  for (int i = 0; i < COLUMNS; i++) {
    printf(" %7.3f", ms(least[i]));
  }
  printf("\n");
  fflush(stdout);
}

int main(int argc, char **argv) {
  static const shape shapes[] = {
      {300, 100000, 0, 1, 1},   {2000, 100000, 4, 1, 1},
      {60000, 1000, 0, 1, 1},   {60000, 1000, 4, 1, 1},
      {200000, 300, 1, 1, 1},   {250000, 200, 64, 1, 1},
      {2000, 2000, 0, 3000, 1}, {2000, 500, 0, 10000, 1},
      {2000, 20000, 1, 1, 200}, {2000, 20000, 1, 1, 1024},
  };
  size_t n[6] = {0};
  for (int i = 0; i + 1 < argc && i < 6; i++) {
    n[i] = number_argument("bench_iteration", "argument", argv[i + 1]);
  }
  if (argc > 2 && argc != 6 && argc != 7) {
    fprintf(stderr, "usage: bench_iteration [RUNS | BYTES COUNT INDICES "
                    "LISTENERS SCOPES [RUNS]]\n");
    return 2;
  }
  printf("  bytes   count  idx  lsnrs scope    sync  events   index    late"
         "   waits   close   unref     own machine\n");
  if (argc > 2) {
    run(&(shape){n[0], n[1], n[2], n[3], n[4]}, argc == 7 ? n[5] : 1);
    return 0;
  }
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    run(&shapes[i], argc == 2 ? n[0] : 1);
  }
  return 0;
}
