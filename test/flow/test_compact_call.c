/* SPDX-License-Identifier: MIT */

/* Compact storage on a real loop: texts that other threads ask for are freed
 * although the loop sleeps, and a client may close meanwhile, or while the
 * program's own work fills libuv's pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/metrics.h>
#include <kin/value.h>

#include "client/host.h"
#include "client/loop.h"
#include "informer/compact.h"
#include "object/packed.h"
#include "support/client_world.h"
#include "support/pool_plug.h"

#define PODS 4u
#define ROUNDS 20
/* Turns of the loop around one text: the call, the timer, and some to spare. */
#define TURNS_MAX 16u

#define POD(n, version)                                                        \
  "{\"metadata\":{\"name\":\"pod-" n "\",\"namespace\":\"n\",\"uid\":\"u-" n   \
  "\",\"resourceVersion\":\"" version "\",\"labels\":{\"app\":\"web\"}},"      \
  "\"spec\":{\"nodeName\":\"node-1\",\"containers\":[{\"name\":\"c\","         \
  "\"image\":\"registry.example.com/shop/web:v1\",\"terminationMessagePath\":" \
  "\"/dev/termination-log\",\"imagePullPolicy\":\"IfNotPresent\"}]}}"
#define LIST                                                                   \
  ANSWER_PODS("9", POD("0", "1") "," POD("1", "2") "," POD("2", "3") "," POD(  \
                       "3", "4"))
#define LIST_OF_LATER                                                          \
  ANSWER_PODS("29", POD("0", "20") "," POD("1", "21") "," POD(                 \
                        "2", "22") "," POD("3", "23"))
#define EXPIRED                                                                \
  "4a\r\n"                                                                     \
  "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":"            \
  "\"Failure\","                                                               \
  "\"code\":410}}\n\r\n"
#define CHANGES                                                                \
  ANSWER_CHANGE("MODIFIED", POD("0", "10"))                                    \
  ANSWER_CHANGE("MODIFIED", POD("1", "11"))                                    \
  ANSWER_CHANGE("MODIFIED", POD("2", "12"))                                    \
  ANSWER_CHANGE("MODIFIED", POD("3", "13"))

static uint64_t dictionaries(const client_world *w) {
  kin_informer_metrics metrics = KIN_INFORMER_METRICS_INIT;
  assert_int_equal(kin_informer_get_metrics(w->informer, &metrics), 0);
  return metrics.dictionaries;
}

static size_t packed(const client_world *w) {
  size_t count = 0;
  kin_cursor cursor = {0};
  const kin_object *object;
  while ((object = kin_store_next(kin_informer_store(w->informer), &cursor)) !=
         NULL) {
    count += kin__object_is_packed(object);
  }
  return count;
}

/* Lists the pods, which are the samples. */
static void open_compact(client_world *w) {
  static const loop_reply replies[] = {
      {.bytes = ANSWER_TO_END LIST, .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED},
      {.bytes = ANSWER_TO_END LIST_OF_LATER, .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED}};
  client_world_serve(w, replies, 4);
  w->options.allocator = NULL; /* else the pool packs nothing */
  assert_int_equal(client_world_open_client(w), 0);
  kin__env *env = (kin__env *)(uintptr_t)kin__client_host(w->client)->env;
  env->compact_samples = PODS;
  kin_informer_options options = client_world_informer(w, "pods");
  options.no_watch_list = true;
  options.compact = KIN_COMPACT_FAST;
  assert_int_equal(kin_informer_open(&w->informer, w->client, &options), 0);
  assert_int_equal(kin_informer_start(w->informer), 0);
}

/* As changed they are packed. */
static void open_packed(client_world *w) {
  open_compact(w);
  CLIENT_UNTIL(w, dictionaries(w) == 1 && w->server.replied == 2);
  char frame[sizeof CHANGES + 16];
  snprintf(frame, sizeof frame, "%zx\r\n%s\r\n", sizeof CHANGES - 1, CHANGES);
  loop_server_push(&w->server, frame);
  CLIENT_UNTIL(w, packed(w) == PODS);
}

typedef struct reader {
  kin_object *objects[PODS];
  bool has_failed;
} reader;

static void hold_all(reader *r, const client_world *w) {
  *r = (reader){0};
  kin_cursor cursor = {0};
  for (size_t i = 0; i < PODS; i++) {
    r->objects[i] = kin_object_ref(
        kin_store_next(kin_informer_store(w->informer), &cursor));
  }
}

static void release_all(reader *r) {
  for (size_t i = 0; i < PODS; i++) {
    kin_object_unref(r->objects[i]);
  }
}

static void read_all(void *ctx) {
  reader *r = ctx;
  for (size_t i = 0; i < PODS; i++) {
    r->has_failed |= !kin_value_string_is(
        kin_object_at(r->objects[i], "/spec/nodeName"), KIN_STR("node-1"));
  }
}

static uint64_t turns(const client_world *w) {
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(w->client, &stats), 0);
  return stats.iterations;
}

/* The loop sleeps until the other thread asks, and once for all of its texts. */
static void test_a_thread_wakes_the_loop(void **state) {
  (void)state;
  client_world w;
  open_packed(&w);
  for (int round = 0; round < 2; round++) {
    reader r;
    hold_all(&r, &w);
    uint64_t before = turns(&w);
    uv_thread_t thread;
    assert_int_equal(uv_thread_create(&thread, read_all, &r), 0);
    assert_int_equal(uv_thread_join(&thread), 0);
    assert_false(r.has_failed);
    const kin_object *last = r.objects[PODS - 1];
    release_all(&r);
    assert_int_equal(kin__object_holders(last),
                     2); /* the store, and the text */
    CLIENT_UNTIL(&w, kin__object_holders(last) == 1);
    assert_in_range(turns(&w) - before, 1, TURNS_MAX);
  }
  client_world_finish(&w);
}

static atomic_uint calls;

static void count_call(void *ctx) {
  atomic_fetch_add(&calls, 1);
  kin__loop_call(ctx);
}

static void run_once(void *ctx) {
  uv_run(&((client_world *)ctx)->loop, UV_RUN_ONCE);
}

/* While the loop sleeps on a thread to which it has just moved, the thread that
 * it left asks for a text, and calls the loop as any other thread. */
static void test_the_loop_has_moved(void **state) {
  (void)state;
  client_world w;
  open_packed(&w);
  kin__env *env = (kin__env *)(uintptr_t)kin__client_host(w.client)->env;
  env->call = count_call;
  reader r;
  hold_all(&r, &w);
  uv_thread_t thread;
  assert_int_equal(uv_thread_create(&thread, run_once, &w), 0);
  uv_sleep(100);
  read_all(&r);
  assert_in_range(atomic_load(&calls), 1, 2);
  assert_int_equal(uv_thread_join(&thread), 0);
  assert_false(r.has_failed);
  const kin_object *last = r.objects[PODS - 1];
  release_all(&r);
  CLIENT_UNTIL(&w, kin__object_holders(last) == 1);
  client_world_finish(&w);
}

/* The client has gone when the thread reads, or goes meanwhile. */
static void test_close_while_a_thread_reads(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS; round++) {
    client_world w;
    open_packed(&w);
    reader r;
    hold_all(&r, &w);
    assert_int_equal(client_world_close(&w), 0);
    for (int turn = 0; turn < round % 5; turn++) {
      uv_run(&w.loop, UV_RUN_NOWAIT);
    }
    uv_thread_t thread;
    assert_int_equal(uv_thread_create(&thread, read_all, &r), 0);
    CLIENT_UNTIL(&w, w.clients_closed == 1);
    assert_int_equal(uv_thread_join(&thread), 0);
    assert_false(r.has_failed);
    release_all(&r);
    client_world_finish(&w);
  }
}

/* While the program's own work holds libuv's pool, a dictionary is to be made,
 * then a batch to be packed; no close waits for the program's work. */
static void test_close_while_the_pool_is_busy(void **state) {
  (void)state;
  for (int has_dictionary = 0; has_dictionary < 2; has_dictionary++) {
    client_world w;
    pool_plug plug;
    if (has_dictionary) {
      open_packed(&w);
      plug_open(&plug, &w.loop);
      loop_server_push(&w.server, EXPIRED);
    } else {
      open_compact(&w);
      plug_open(&plug, &w.loop);
    }
    CLIENT_UNTIL(&w, kin__compact_is_working(w.informer));
    assert_int_equal(client_world_close(&w), 0);
    CLIENT_UNTIL(&w, w.clients_closed == 1);
    plug_pull(&plug);
    client_world_finish(&w);
    plug_close(&plug);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_thread_wakes_the_loop),
      cmocka_unit_test(test_the_loop_has_moved),
      cmocka_unit_test(test_close_while_a_thread_reads),
      cmocka_unit_test(test_close_while_the_pool_is_busy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
