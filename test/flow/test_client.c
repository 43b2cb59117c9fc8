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

#include "support/client_world.h"

/* Until everything is told. */
static void open_and_hear(client_world *w) {
  client_world_serve(w, client_list_and_watch, 2);
  client_world_open(w);
  assert_int_equal(w->calls, 0); /* never inside the call */
  CLIENT_UNTIL(w, w->deletes == 1);
}

static void test_open_and_close(void **state) {
  (void)state;
  client_world w;
  client_world_serve(&w, client_list_and_watch, 2);
  assert_int_equal(client_world_open_client(&w), 0);
  assert_ptr_equal(kin_client_loop(w.client), &w.loop);
  assert_int_equal(client_world_close(&w), 0);
  assert_int_equal(client_world_close(&w), KIN_EALREADY);
  assert_int_equal(client_world_open_informer(&w, "pods"), KIN_ECLOSED);
  assert_int_equal(w.clients_closed, 0); /* never inside the call */
  client_world_finish(&w);
  assert_int_equal(w.clients_closed, 1);
}

static void test_bad_options(void **state) {
  (void)state;
  static char long_agent[257 + 1];
  memset(long_agent, 'a', sizeof long_agent - 1);
  client_world w;
  client_world_init(&w);
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
    w.options.server = rows[i].server;
    w.options.user_agent = rows[i].user_agent;
    assert_int_equal(client_world_open_client(&w), rows[i].err);
    assert_null(w.client);
    assert_int_equal(atomic_load(&w.memory.live_blocks), 0);
  }
  client_world_finish(&w);
}

static void test_list_watch_close(void **state) {
  (void)state;
  client_world w;
  open_and_hear(&w);
  assert_int_equal(w.adds, 2);
  assert_int_equal(w.synced, 1);
  assert_int_equal(w.errors, 0);
  assert_non_null(strstr(w.server.last_request, "resourceVersion=7"));
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(w.client, &stats), 0);
  assert_int_equal(stats.requests, 2);
  assert_true(stats.received_bytes > sizeof ANSWER_LISTED);
  client_world_finish(&w);
  assert_int_equal(w.informers_closed, 1);
  assert_int_equal(w.clients_closed, 1);
}

/* Closing the client in its k-th callback, whichever that is. The server goes
 * away after the event, so that errors are among them. */
static bool close_in_callback(int close_at) {
  static const loop_reply replies[] = {
      {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_WATCHED, .then = LOOP_RESET}};
  client_world w;
  client_world_serve(&w, replies, 2);
  w.close_at = close_at;
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.client == NULL || w.errors >= 2);
  client_world_finish(&w);
  assert_int_equal(w.informers_closed, 1);
  return w.was_reached;
}

static void test_close_in_every_callback(void **state) {
  (void)state;
  assert_true(client_world_sweep_closes(close_in_callback) > 4);
}

/* Every allocation fails once: opening fails cleanly, or everything is told all
 * the same, after a retry. */
static bool run_without_memory(size_t n) {
  client_world w;
  client_world_serve(&w, client_list_and_watch, 2);
  w.memory.fail_at = n;
  if (client_world_open(&w) == 0) {
    CLIENT_UNTIL(&w, w.deletes > 0 || w.errors > 0);
  }
  client_world_finish(&w);
  return fail_alloc_has_failed(&w.memory);
}

static void test_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 20);
}

/* Of a client that has gone, an object that was kept holds its own slab, what
 * finds it, and nothing more; the last reference frees that. */
static void test_kept_object_outlives_the_client(void **state) {
  (void)state;
  client_world w;
  client_world_serve(&w, client_list_and_watch, 2);
  client_world_open(&w);
  CLIENT_UNTIL(&w, w.adds == 2);
  const kin_object *kept =
      kin_object_ref(kin_store_get_key(kin_informer_store(w.informer), "n/a"));
  CLIENT_UNTIL(&w, w.deletes == 1);
  client_world_close(&w);
  client_world_end_server(&w);
  uv_run(&w.loop, UV_RUN_DEFAULT);
  assert_int_equal(w.clients_closed, 1);
  assert_int_equal(atomic_load(&w.memory.live_blocks), 3);
  assert_string_equal(kin_object_key(kept).data, "n/a");
  kin_object_unref(kept);
  client_world_finish(&w);
}

static void on_timer(uv_timer_t *timer) {
  uv_close((uv_handle_t *)timer, NULL);
}

/* An unref'd client does not keep the loop alive; it works as long as something
 * else does. */
static void test_unref(void **state) {
  (void)state;
  client_world w;
  open_and_hear(&w);
  client_world_end_server(&w);
  kin_client_unref(w.client);
  uv_timer_t timer;
  uv_timer_init(&w.loop, &timer);
  uv_timer_start(&timer, on_timer, 1, 0);
  assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(w.clients_closed, 0);
  client_world_close(&w); /* completes all the same */
  assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(w.clients_closed, 1);
  client_world_finish(&w);
}

/* With nothing to do the loop blocks: no idle handle, no timer that is due. */
static void test_sleeps_when_idle(void **state) {
  (void)state;
  client_world w;
  open_and_hear(&w);
  uv_run(&w.loop, UV_RUN_NOWAIT);
  uv_run(&w.loop, UV_RUN_NOWAIT);
  assert_true(uv_backend_timeout(&w.loop) > 1000);
  client_world_finish(&w);
}

typedef struct wait_told {
  client_world *world;
  int count;
  int code;
} wait_told;

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  wait_told *t = data;
  assert_ptr_equal(informer, t->world->informer); /* it is not gone yet */
  assert_non_null(version);
  t->count++;
  t->code = code;
}

/* Waits for versions are told of the end of their client, before it is gone. */
static void test_waits_for_versions_end(void **state) {
  (void)state;
  client_world w;
  client_world_serve(&w, client_list_and_watch, 2);
  client_world_open(&w);
  wait_told t = {&w, 0, 0};
  assert_int_equal(
      kin_informer_wait_version(w.informer, "", "999", 0, on_version, &t), 0);
  assert_int_equal(kin_informer_verify(w.informer, "", 0, on_version, &t), 0);
  client_world_close(&w);
  assert_int_equal(t.count, 0); /* not inside the call */
  client_world_finish(&w);
  assert_int_equal(t.count, 2);
  assert_int_equal(t.code, KIN_ECLOSED);
  assert_int_equal(w.clients_closed, 1);
}

/* Two informers; one is closed by hand before its client is. */
static void test_children_are_closed_first(void **state) {
  (void)state;
  client_world w;
  client_world_serve(&w, client_list_and_watch, 2);
  client_world_open(&w);
  kin_informer *first = w.informer;
  kin_informer_options io = client_world_informer(&w, "nodes");
  kin_informer *second;
  assert_int_equal(kin_informer_open(&second, w.client, &io), 0);
  assert_int_equal(kin_informer_close(first, NULL, NULL), 0);
  assert_int_equal(client_world_close(&w), 0);
  client_world_finish(&w);
  assert_int_equal(w.informers_closed, 2);
  assert_int_equal(w.clients_closed, 1);
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
