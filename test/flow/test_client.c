/* SPDX-License-Identifier: MIT */

/* Clients on a real loop with real sockets: opening, closing from everywhere,
 * keeping the loop alive or not, sleeping when idle. Proves TD-04, SI-18, and
 * the promises of client.h and informer.h about closing. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "support/answer_world.h"
#include "support/fail_alloc.h"
#include "support/loop_server.h"

#define LIST                                                                   \
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"                      \
  "Connection: close\r\n\r\n" ANSWER_LIST
#define WATCH                                                                  \
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"                      \
  "Transfer-Encoding: chunked\r\n\r\n"
#define EVENT "66\r\n" ANSWER_EVENT "\r\n"

static const loop_reply list_and_watch[] = {{.bytes = LIST, .then = LOOP_CLOSE},
                                            {.bytes = WATCH EVENT}};

typedef struct bench {
  fail_alloc memory;
  uv_loop_t loop;
  loop_server server;
  kin_client *client;
  kin_informer *informer;
  int adds;
  int deletes;
  int synced;
  int errors;
  int informers_closed;
  int clients_closed;
  int calls;
  int close_at; /* the call that closes the client; -1: none */
  bool keeps;   /* the object of the first event */
  const kin_object *kept;
} bench;

static void on_client_closed(void *data) {
  bench *b = data;
  b->clients_closed++;
  b->client = NULL;
}

static void on_informer_closed(void *data) {
  bench *b = data;
  assert_int_equal(b->clients_closed, 0); /* children first */
  b->informers_closed++;
  b->informer = NULL;
}

static void close_client(bench *b) {
  if (b->client != NULL) {
    int err = kin_client_close(b->client, on_client_closed, b);
    assert_true(err == 0 || err == KIN_EALREADY);
  }
}

static void on_call(bench *b) {
  assert_true(b->close_at < 0 || b->calls <= b->close_at);
  if (b->calls++ == b->close_at) {
    close_client(b);
    loop_server_close(&b->server);
  }
}

static void on_event(kin_informer *informer, const kin_event *event,
                     void *data) {
  bench *b = data;
  assert_ptr_equal(informer, b->informer);
  if (b->keeps && b->kept == NULL) {
    b->kept = kin_object_ref(event->object);
  }
  b->adds += event->type == KIN_EVENT_ADD;
  b->deletes += event->type == KIN_EVENT_DELETE;
  b->synced += event->type == KIN_EVENT_SYNCED;
  on_call(b);
}

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  (void)event;
  ((bench *)data)->errors++;
  on_call(data);
}

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  (void)informer;
  (void)namespace_;
  (void)from;
  (void)to;
  on_call(data);
}

static void bench_init(bench *b, const loop_reply *replies, size_t count) {
  memset(b, 0, sizeof *b);
  b->close_at = -1;
  fail_alloc_init(&b->memory, 0);
  assert_int_equal(uv_loop_init(&b->loop), 0);
  loop_server_open(&b->server, &b->loop, replies, count);
}

static void bench_finish(bench *b) {
  uv_run(&b->loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&b->loop), 0);
  assert_int_equal(atomic_load(&b->memory.live_blocks), 0);
}

static int open_all(bench *b) {
  kin_client_options co = KIN_CLIENT_OPTIONS_INIT;
  co.server = b->server.url;
  co.allocator = &b->memory.allocator;
  co.seed = 1;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.no_watch_list = true; /* the server knows lists only */
  io.on_error = on_error;
  io.on_state = on_state;
  io.on_closed = on_informer_closed;
  io.data = b;
  kin_listener_options lo = KIN_LISTENER_OPTIONS_INIT;
  lo.on_add = lo.on_update = lo.on_delete = lo.on_synced = on_event;
  lo.data = b;
  int err = kin_client_open(&b->client, &b->loop, &co);
  if (err == 0) {
    err = kin_informer_open(&b->informer, b->client, &io);
  }
  if (err == 0) {
    err = kin_informer_listen(b->informer, &lo, NULL);
  }
  return err == 0 ? kin_informer_start(b->informer) : err;
}

static void test_open_and_close(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = b.server.url;
  options.allocator = &b.memory.allocator;
  assert_int_equal(kin_client_open(&b.client, &b.loop, &options), 0);
  assert_ptr_equal(kin_client_loop(b.client), &b.loop);
  assert_int_equal(kin_client_close(b.client, on_client_closed, &b), 0);
  assert_int_equal(kin_client_close(b.client, on_client_closed, &b),
                   KIN_EALREADY);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  io.no_watch_list = true; /* the server knows lists only */
  kin_informer *informer;
  assert_int_equal(kin_informer_open(&informer, b.client, &io), KIN_ECLOSED);
  assert_int_equal(b.clients_closed, 0); /* never inside the call */
  loop_server_close(&b.server);
  bench_finish(&b);
  assert_int_equal(b.clients_closed, 1);
}

static void test_bad_options(void **state) {
  (void)state;
  static char long_agent[257 + 1];
  memset(long_agent, 'a', sizeof long_agent - 1);
  bench b;
  bench_init(&b, list_and_watch, 2);
  static const struct {
    const char *server;
    const char *user_agent;
    int err;
  } rows[] = {{NULL, NULL, KIN_EINVAL},
              {"", NULL, KIN_EURL},
              {"127.0.0.1:80", NULL, KIN_EURL},
              {"ftp://x", NULL, KIN_EURL},
              {"http://", NULL, KIN_EURL},
              {"http://user@host", NULL, KIN_EURL},
              {"http://host:99999", NULL, KIN_EURL},
              {"http://127.0.0.1", "a\r\nX: y", KIN_EINVAL},
              {"http://127.0.0.1", long_agent, KIN_EINVAL}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
    options.server = rows[i].server;
    options.user_agent = rows[i].user_agent;
    options.allocator = &b.memory.allocator;
    assert_int_equal(kin_client_open(&b.client, &b.loop, &options),
                     rows[i].err);
    assert_null(b.client);
    assert_int_equal(atomic_load(&b.memory.live_blocks), 0);
  }
  loop_server_close(&b.server);
  bench_finish(&b);
}

static void test_list_watch_close(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  assert_int_equal(open_all(&b), 0);
  assert_int_equal(b.calls, 0);
  while (b.deletes == 0) {
    uv_run(&b.loop, UV_RUN_ONCE);
  }
  assert_int_equal(b.adds, 2);
  assert_int_equal(b.synced, 1);
  assert_int_equal(b.errors, 0);
  assert_non_null(strstr(b.server.last_request, "resourceVersion=7"));
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(b.client, &stats), 0);
  assert_int_equal(stats.requests, 2);
  assert_true(stats.received_bytes > sizeof LIST);
  close_client(&b);
  loop_server_close(&b.server);
  bench_finish(&b);
  assert_int_equal(b.informers_closed, 1);
  assert_int_equal(b.clients_closed, 1);
}

/* Closing the client in its k-th callback, whichever that is. The server goes
 * away after the event, so that errors are among them. */
static void test_close_in_every_callback(void **state) {
  (void)state;
  static const loop_reply replies[] = {
      {.bytes = LIST, .then = LOOP_CLOSE},
      {.bytes = WATCH EVENT, .then = LOOP_RESET}};
  for (int close_at = 0;; close_at++) {
    bench b;
    bench_init(&b, replies, 2);
    b.close_at = close_at;
    assert_int_equal(open_all(&b), 0);
    while (b.clients_closed == 0 && b.errors < 2) {
      uv_run(&b.loop, UV_RUN_ONCE);
    }
    bool was_reached = b.calls > close_at;
    if (!was_reached) {
      close_client(&b);
      loop_server_close(&b.server);
    }
    bench_finish(&b);
    assert_int_equal(b.clients_closed, 1);
    assert_int_equal(b.informers_closed, 1);
    if (!was_reached) {
      assert_true(close_at > 4);
      break;
    }
  }
}

/* Every allocation fails once: opening fails cleanly, or everything is told all
 * the same, after a retry. */
static bool run_without_memory(size_t n) {
  bench b;
  bench_init(&b, list_and_watch, 2);
  b.memory.fail_at = n;
  int err = open_all(&b);
  bool is_open = err == 0;
  while (is_open && b.deletes == 0 && b.errors == 0) {
    uv_run(&b.loop, UV_RUN_ONCE);
  }
  if (!is_open) {
    assert_int_equal(err, KIN_ENOMEM);
  }
  close_client(&b);
  loop_server_close(&b.server);
  bench_finish(&b);
  return fail_alloc_has_failed(&b.memory);
}

static void test_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 20);
}

static void on_timer(uv_timer_t *timer) {
  uv_close((uv_handle_t *)timer, NULL);
}

/* An unref'd client does not keep the loop alive; it works as long as something
 * else does. */
/* Of a client that has gone, an object that was kept holds its own slab, what
 * finds it, and nothing more; the last reference frees that. */
static void test_kept_object_outlives_the_client(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  b.keeps = true;
  assert_int_equal(open_all(&b), 0);
  while (b.deletes == 0) {
    uv_run(&b.loop, UV_RUN_ONCE);
  }
  close_client(&b);
  loop_server_close(&b.server);
  uv_run(&b.loop, UV_RUN_DEFAULT);
  assert_int_equal(b.clients_closed, 1);
  assert_int_equal(atomic_load(&b.memory.live_blocks), 3);
  assert_string_equal(kin_object_key(b.kept).data, "n/a");
  kin_object_unref(b.kept);
  bench_finish(&b);
}

static void test_unref(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  assert_int_equal(open_all(&b), 0);
  while (b.deletes == 0) {
    uv_run(&b.loop, UV_RUN_ONCE);
  }
  loop_server_close(&b.server);
  kin_client_unref(b.client);
  uv_timer_t timer;
  uv_timer_init(&b.loop, &timer);
  uv_timer_start(&timer, on_timer, 1, 0);
  assert_int_equal(uv_run(&b.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(b.clients_closed, 0);
  close_client(&b); /* completes all the same */
  bench_finish(&b);
  assert_int_equal(b.clients_closed, 1);
}

/* With nothing to do the loop blocks: no idle handle, no timer that is due. */
static void test_sleeps_when_idle(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  assert_int_equal(open_all(&b), 0);
  while (b.deletes == 0) {
    uv_run(&b.loop, UV_RUN_ONCE);
  }
  uv_run(&b.loop, UV_RUN_NOWAIT);
  uv_run(&b.loop, UV_RUN_NOWAIT);
  assert_true(uv_backend_timeout(&b.loop) > 1000);
  close_client(&b);
  loop_server_close(&b.server);
  bench_finish(&b);
}

typedef struct wait_told {
  bench *bench;
  int count;
  int code;
} wait_told;

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  wait_told *t = data;
  assert_ptr_equal(informer, t->bench->informer); /* it is not gone yet */
  assert_non_null(version);
  t->count++;
  t->code = code;
}

/* Waits for versions are told of the end of their client, before it is gone. */
static void test_waits_for_versions_end(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  assert_int_equal(open_all(&b), 0);
  wait_told t = {&b, 0, 0};
  assert_int_equal(
      kin_informer_wait_version(b.informer, "", "999", 0, on_version, &t), 0);
  assert_int_equal(kin_informer_verify(b.informer, "", 0, on_version, &t), 0);
  close_client(&b);
  assert_int_equal(t.count, 0); /* not inside the call */
  loop_server_close(&b.server);
  bench_finish(&b);
  assert_int_equal(t.count, 2);
  assert_int_equal(t.code, KIN_ECLOSED);
  assert_int_equal(b.clients_closed, 1);
}

/* Two informers; one is closed by hand before its client is. */
static void test_children_are_closed_first(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  assert_int_equal(open_all(&b), 0);
  kin_informer *first = b.informer;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "nodes";
  io.no_watch_list = true; /* the server knows lists only */
  io.on_closed = on_informer_closed;
  io.data = &b;
  kin_informer *second;
  assert_int_equal(kin_informer_open(&second, b.client, &io), 0);
  assert_int_equal(kin_informer_close(first, NULL, NULL), 0);
  assert_int_equal(kin_client_close(b.client, on_client_closed, &b), 0);
  loop_server_close(&b.server);
  bench_finish(&b);
  assert_int_equal(b.informers_closed, 2);
  assert_int_equal(b.clients_closed, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_open_and_close),
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_list_watch_close),
      cmocka_unit_test(test_close_in_every_callback),
      cmocka_unit_test(test_allocations_fail),
      cmocka_unit_test(test_kept_object_outlives_the_client),
      cmocka_unit_test(test_unref),
      cmocka_unit_test(test_sleeps_when_idle),
      cmocka_unit_test(test_waits_for_versions_end),
      cmocka_unit_test(test_children_are_closed_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
