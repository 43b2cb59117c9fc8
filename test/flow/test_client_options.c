/* SPDX-License-Identifier: MIT */

/* The options of a client: defaults, upper limits and copies, and their effect
 * on the numbers of kin_client_get_stats. Proves the promises of
 * kin_client_options, of kin_client_ref, and of kin_client_stats. CN-07, RQ-07,
 * RR-09. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/kin.h>

#include "client/env.h"
#include "client/host.h"
#include "client/loop.h"
#include "support/client_world.h"
#include "transport/core.h"

static const loop_reply list_and_watch[] = {
    {.bytes = ANSWER_TO_END ANSWER_PODS("7", ANSWER_POD("a", "1", "5")),
     .then = LOOP_CLOSE},
    {.bytes = ANSWER_CHUNKED}};
static const loop_reply silence[] = {{.bytes = NULL}};

typedef struct bench {
  client_world w;
  int lines[KIN_LOG_DEBUG + 1]; /* of the log, by level */
  int requests;                 /* lines that name one */
  uint64_t spin_ns;             /* in each handler */
} bench;

static void on_log(kin_log_level level, const char *line, void *data) {
  bench *b = data;
  assert_true(level >= KIN_LOG_ERROR && level <= KIN_LOG_DEBUG);
  assert_null(strchr(line, '\n'));
  b->lines[level]++;
  b->requests += strstr(line, "GET /api/v1/") != NULL;
}

static void spin(client_world *w) {
  const bench *b = w->data;
  for (uint64_t start = uv_hrtime(); uv_hrtime() - start < b->spin_ns;) {
  }
}

static void bench_init(bench *b, const loop_reply *replies, size_t count) {
  memset(b, 0, sizeof *b);
  client_world_serve(&b->w, replies, count);
  b->w.options.seed = 0;
  b->w.options.log = on_log;
  b->w.options.log_data = b;
  b->w.hook = spin;
  b->w.data = b;
}

static void open_client(bench *b) {
  assert_int_equal(client_world_open_client(&b->w), 0);
}

static void start(bench *b, const char *plural) {
  assert_int_equal(client_world_open_informer(&b->w, plural), 0);
}

static kin_client_stats stats_of(const bench *b) {
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(b->w.client, &stats), 0);
  return stats;
}

/* Turns until the client is gone. */
static void close_client(bench *b) {
  assert_int_equal(client_world_close(&b->w), 0);
  CLIENT_UNTIL(&b->w, b->w.client == NULL);
}

static void finish(bench *b) {
  client_world_finish(&b->w);
}

/* --- Numbers -------------------------------------------------------------- */

static const kin__env *env_of(const bench *b) {
  return kin__client_host(b->w.client)->env;
}

static const kin__transport *transport_of(const bench *b) {
  return env_of(b)->transport.ctx;
}

static uint64_t budget_ns(const bench *b) {
  return KIN__CONTAINER_OF(env_of(b)->sched, kin__loop, sched)->budget_ns;
}

static void test_defaults(void **state) {
  (void)state;
  bench b;
  bench_init(&b, silence, 1);
  open_client(&b);
  assert_int_equal(transport_of(&b)->connect_timeout_ms, 10000);
  assert_int_equal(transport_of(&b)->response_timeout_ms, 30000);
  assert_int_equal(transport_of(&b)->probe.silence_ms, 30000);
  assert_int_equal(transport_of(&b)->probe.answer_ms, 10000);
  assert_false(transport_of(&b)->accept_gzip);
  assert_int_equal(transport_of(&b)->net.read_delay.ms, 0);
  assert_int_equal(budget_ns(&b), 500000);
  assert_int_equal(env_of(&b)->lists->limit, 4);
  assert_int_equal(env_of(&b)->lists->turn_ms, 5000);
  assert_null(env_of(&b)->limiter);
  assert_false(env_of(&b)->check_watch_lists);
  finish(&b);
}

static void test_most(void **state) {
  (void)state;
  static char agent[256 + 1];
  memset(agent, 'a', sizeof agent - 1);
  bench b;
  bench_init(&b, silence, 1);
  b.w.options.user_agent = agent;
  b.w.options.connect_timeout_ms = 3600000;
  b.w.options.response_timeout_ms = 3599999;
  b.w.options.budget_us = 1000000;
  b.w.options.mutation_check_ms = 3600000;
  b.w.options.max_lists = 65536;
  b.w.options.list_turn_ms = 3600000;
  b.w.options.watch_read_delay_ms = 1000;
  b.w.options.qps_milli = 1000000000;
  b.w.options.burst = 1000000;
  b.w.options.check_watch_lists = true;
  open_client(&b);
  assert_int_equal(transport_of(&b)->connect_timeout_ms, 3600000);
  assert_int_equal(transport_of(&b)->response_timeout_ms, 3599999);
  assert_int_equal(transport_of(&b)->net.read_delay.ms, 1000);
  assert_int_equal(budget_ns(&b), 1000000000);
  assert_int_equal(env_of(&b)->mutation_check_ms, 3600000);
  assert_int_equal(env_of(&b)->lists->limit, 65536);
  assert_int_equal(env_of(&b)->lists->turn_ms, 3600000);
  assert_true(env_of(&b)->check_watch_lists);
  finish(&b);
}

/* How many tokens a limiter has at first. */
static int count_tokens(kin__bucket bucket) {
  int count = 0;
  while (kin__bucket_try(&bucket, bucket.at_ns)) {
    count++;
  }
  return count;
}

/* A burst of 0 is what a second allows, at least 1. */
static void test_burst(void **state) {
  (void)state;
  static const struct {
    uint32_t qps_milli;
    uint32_t burst;
    int tokens;
  } rows[] = {{1, 0, 1},    {999, 0, 1},  {1000, 0, 1}, {5000, 0, 5},
              {5000, 2, 2}, {5000, 9, 9}, {1, 3, 3}};
  bench b;
  bench_init(&b, silence, 1);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    b.w.options.qps_milli = rows[i].qps_milli;
    b.w.options.burst = rows[i].burst;
    open_client(&b);
    assert_int_equal(count_tokens(env_of(&b)->limiter->bucket), rows[i].tokens);
    close_client(&b);
  }
  finish(&b);
}

static uint64_t seed_of(bench *b, uint64_t seed) {
  b->w.options.seed = seed;
  open_client(b);
  uint64_t made = env_of(b)->random->state;
  close_client(b);
  return made;
}

/* One seed gives the same numbers each time; without one they differ. */
static void test_seed(void **state) {
  (void)state;
  bench b;
  bench_init(&b, silence, 1);
  assert_true(seed_of(&b, 7) == seed_of(&b, 7));
  assert_true(seed_of(&b, 7) != seed_of(&b, 8));
  assert_true(seed_of(&b, 0) != seed_of(&b, 0));
  finish(&b);
}

/* --- The log -------------------------------------------------------------- */

/* Level 0 is WARN; at DEBUG each request is a line, at INFO each change of
 * state. */
static void test_log_levels(void **state) {
  (void)state;
  for (int level = 0; level <= KIN_LOG_DEBUG; level++) {
    bench b;
    bench_init(&b, list_and_watch, 2);
    b.w.options.log_level = (kin_log_level)level;
    open_client(&b);
    start(&b, "pods");
    CLIENT_UNTIL(&b.w, b.w.adds > 0 && b.w.server.requests >= 2);
    assert_int_equal(b.lines[KIN_LOG_ERROR] + b.lines[KIN_LOG_WARN], 0);
    assert_int_equal(b.lines[KIN_LOG_INFO] > 0, level >= KIN_LOG_INFO);
    assert_int_equal(b.lines[KIN_LOG_DEBUG] > 0, level >= KIN_LOG_DEBUG);
    assert_int_equal(b.requests, level >= KIN_LOG_DEBUG ? 2 : 0);
    close_client(&b);
    b.w.options.budget_us = UINT32_MAX;
    assert_int_equal(client_world_open_client(&b.w), KIN_EINVAL);
    assert_int_equal(b.lines[KIN_LOG_ERROR], 1);
    finish(&b);
  }
}

/* --- Copies --------------------------------------------------------------- */

/* All that the options point to, and that may change once they are given. */
typedef struct texts {
  char server[80];
  char agent[32];
  char user[16];
  char uid[16];
  char group[16];
  char key[16];
  char value[16];
  const char *groups[1];
  kin_impersonate_extra extra[1];
  kin_allocator allocator;
} texts;

static void point_to(bench *b, texts *t) {
  *t = (texts){.agent = "agent/1",
               .user = "ada",
               .uid = "42",
               .group = "ops",
               .key = "k",
               .value = "v",
               .allocator = b->w.memory.allocator};
  snprintf(t->server, sizeof t->server, "%s/prefix", b->w.server.url);
  t->groups[0] = t->group;
  t->extra[0] = (kin_impersonate_extra){t->key, t->value};
  b->w.options.server = t->server;
  b->w.options.user_agent = t->agent;
  b->w.options.allocator = &t->allocator;
  b->w.options.impersonate_user = t->user;
  b->w.options.impersonate_uid = t->uid;
  b->w.options.impersonate_groups = t->groups;
  b->w.options.impersonate_group_count = 1;
  b->w.options.impersonate_extra = t->extra;
  b->w.options.impersonate_extra_count = 1;
}

/* Both requests are what was said when the client was opened. */
static void test_copied(void **state) {
  (void)state;
  static const char *const lines[] = {
      "GET /prefix/api/v1/pods?",       "\r\nUser-Agent: agent/1\r\n",
      "\r\nImpersonate-User: ada\r\n",  "\r\nImpersonate-Uid: 42\r\n",
      "\r\nImpersonate-Group: ops\r\n", "\r\nImpersonate-Extra-k: v\r\n"};
  bench b;
  bench_init(&b, list_and_watch, 2);
  texts t;
  point_to(&b, &t);
  open_client(&b);
  memset(&t, 'x', sizeof t);
  memset(&b.w.options, 'x', sizeof b.w.options);
  start(&b, "pods");
  for (size_t n = 1; n <= 2; n++) {
    CLIENT_UNTIL(&b.w, b.w.server.requests >= n);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
      assert_non_null(strstr(b.w.server.last_request, lines[i]));
    }
  }
  finish(&b);
}

/* --- The loop ------------------------------------------------------------- */

/* Nothing is sent before an informer is started. */
static void test_nothing_is_sent(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  open_client(&b);
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "pods";
  kin_informer *informer;
  assert_int_equal(kin_informer_open(&informer, b.w.client, &io), 0);
  for (int i = 0; i < 5; i++) {
    uv_run(&b.w.loop, UV_RUN_NOWAIT);
  }
  assert_int_equal(stats_of(&b).requests, 0);
  assert_int_equal(stats_of(&b).connections, 0);
  assert_int_equal(kin_informer_start(informer), 0);
  CLIENT_UNTIL(&b.w, b.w.server.requests > 0);
  finish(&b);
}

/* The loop is kept alive, then not, then again. */
static void test_ref(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  open_client(&b);
  start(&b, "pods");
  CLIENT_UNTIL(&b.w, b.w.adds > 0 && b.w.server.requests >= 2);
  client_world_end_server(&b.w);
  for (int i = 0; i < 5; i++) {
    uv_run(&b.w.loop, UV_RUN_NOWAIT);
  }
  assert_int_not_equal(uv_loop_alive(&b.w.loop), 0);
  for (int again = 0; again < 2; again++) {
    kin_client_unref(b.w.client);
    assert_int_equal(uv_loop_alive(&b.w.loop), 0);
    kin_client_ref(b.w.client);
    assert_int_not_equal(uv_loop_alive(&b.w.loop), 0);
  }
  finish(&b);
}

/* --- A bound of memory ---------------------------------------------------- */

/* The first list does not fit; a larger bound lets it come, after the wait. */
static void test_max_bytes(void **state) {
  (void)state;
  bench b;
  static const loop_reply replies[] = {
      {.bytes = ANSWER_TO_END ANSWER_PODS("7", ANSWER_POD("a", "1", "5")),
       .then = LOOP_CLOSE},
      {.bytes = ANSWER_TO_END ANSWER_PODS("7", ANSWER_POD("a", "1", "5")),
       .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED}};
  bench_init(&b, replies, 3);
  b.w.options.max_bytes = 10;
  b.w.retry_after_ms = 1;
  open_client(&b);
  start(&b, "pods");
  CLIENT_UNTIL(&b.w, b.w.errors >= 3);
  assert_int_equal(b.w.code, KIN_EMAXBYTES);
  assert_int_equal(b.w.error_class, KIN_CLASS_MEMORY);
  assert_int_equal(b.w.server.requests, 1);
  assert_int_equal(stats_of(&b).object_bytes, 0);
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(b.w.informer, "", &status), 0);
  assert_int_equal(status.memory_state, KIN_MEMORY_STATE_PAUSED);
  assert_int_equal(kin_client_set_max_bytes(b.w.client, 10000), 0);
  CLIENT_UNTIL(&b.w, b.w.adds == 1);
  kin_store *store = kin_informer_store(b.w.informer);
  assert_int_equal(stats_of(&b).object_bytes, kin_store_bytes(store));
  assert_int_equal(kin_informer_close(b.w.informer, NULL, NULL), 0);
  CLIENT_UNTIL(&b.w, b.w.informers_closed == 1);
  assert_int_equal(stats_of(&b).object_bytes, 0);
  finish(&b);
}

/* An object that the program holds is seen when it has left the cache. */
static void test_live_object_bytes(void **state) {
  (void)state;
  bench b;
  static const loop_reply replies[] = {
      {.bytes = ANSWER_TO_END ANSWER_PODS("7", ANSWER_POD("a", "1", "5")),
       .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED}};
  bench_init(&b, replies, 2);
  open_client(&b);
  start(&b, "pods");
  CLIENT_UNTIL(&b.w, b.w.adds == 1);
  kin_object *held = kin_object_ref(
      kin_store_get_key(kin_informer_store(b.w.informer), "n/a"));
  assert_non_null(held);
  assert_true(stats_of(&b).live_object_bytes >= kin_object_memory(held));
  assert_int_equal(kin_informer_close(b.w.informer, NULL, NULL), 0);
  CLIENT_UNTIL(&b.w, b.w.informers_closed == 1);
  assert_int_equal(stats_of(&b).object_bytes, 0);
  uint64_t live_bytes = stats_of(&b).live_object_bytes;
  assert_true(live_bytes >= kin_object_memory(held));
  kin_object_unref(held);
  CLIENT_UNTIL(&b.w, stats_of(&b).live_object_bytes < live_bytes);
  finish(&b);
}

/* --- What is counted ------------------------------------------------------ */

/* The server answers nothing: max_lists lists are made, the others wait. */
static void test_lists_at_a_time(void **state) {
  (void)state;
  static const char *const plurals[] = {"a", "b", "c", "d", "e", "f"};
  for (uint32_t max = 0; max <= 2; max += 2) {
    bench b;
    bench_init(&b, silence, 1);
    b.w.options.max_lists = max;
    open_client(&b);
    for (size_t i = 0; i < 6; i++) {
      start(&b, plurals[i]);
    }
    uint32_t limit = max == 0 ? 4 : max;
    CLIENT_UNTIL(&b.w, b.w.server.requests >= limit);
    assert_int_equal(stats_of(&b).lists, limit);
    assert_int_equal(stats_of(&b).waiting_lists, 6 - limit);
    assert_int_equal(stats_of(&b).overdue_lists, 0);
    assert_int_equal(stats_of(&b).requests, limit);
    kin_status status = KIN_STATUS_INIT;
    assert_int_equal(kin_informer_get_status(b.w.informer, "", &status), 0);
    assert_true(status.turn_wait_ms != UINT64_MAX);
    finish(&b);
  }
}

/* A list that takes longer than list_turn_ms gives its turn back. */
static void test_overdue(void **state) {
  (void)state;
  bench b;
  bench_init(&b, silence, 1);
  b.w.options.max_lists = 1;
  b.w.options.list_turn_ms = 1;
  open_client(&b);
  start(&b, "a");
  start(&b, "b");
  CLIENT_UNTIL(&b.w, b.w.server.requests >= 2);
  assert_int_equal(stats_of(&b).overdue_lists, 1);
  assert_int_equal(b.lines[KIN_LOG_WARN], 1);
  assert_int_equal(stats_of(&b).lists, 1);
  assert_int_equal(stats_of(&b).waiting_lists, 0);
  finish(&b);
}

/* Ten requests a second, one at once: the second has to wait. */
static void test_delayed(void **state) {
  (void)state;
  bench b;
  bench_init(&b, silence, 1);
  b.w.options.qps_milli = 10000;
  b.w.options.burst = 1;
  open_client(&b);
  start(&b, "a");
  start(&b, "b");
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(b.w.informer, "", &status), 0);
  assert_true(status.limit_wait_ms != UINT64_MAX);
  CLIENT_UNTIL(&b.w, b.w.server.requests >= 2);
  assert_int_equal(stats_of(&b).delayed_requests, 1);
  assert_true(stats_of(&b).delayed_ns > 0);
  assert_int_equal(kin_informer_get_status(b.w.informer, "", &status), 0);
  assert_true(status.limit_wait_ms == UINT64_MAX);
  finish(&b);
}

/* Connections and bytes; all of it also while the client closes. */
static void test_stats(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  uint64_t start_ns = uv_hrtime();
  b.spin_ns = 20000000;
  open_client(&b);
  start(&b, "pods");
  CLIENT_UNTIL(&b.w, b.w.adds > 0 && b.w.server.replied >= 2);
  kin_client_stats stats = stats_of(&b);
  /* Time in handlers is not counted twice. */
  assert_true(stats.handler_ns >= b.spin_ns);
  assert_true(stats.handler_ns + stats.busy_ns <= uv_hrtime() - start_ns);
  assert_true(stats.longest_ns > 0 && stats.longest_ns <= stats.busy_ns);
  assert_true(stats.iterations > 1);
  kin_histogram took;
  kin_client_get_iterations(b.w.client, &took);
  assert_int_equal(took.count, stats.iterations);
  assert_true(took.sum <= stats.busy_ns / 1000);
  assert_int_equal(stats.requests, 2);
  assert_int_equal(stats.connections, 2);
  assert_int_equal(stats.open_connections, 1);
  assert_true(stats.sent_bytes > 2 * strlen("GET /api/v1/pods HTTP/1.1\r\n"));
  assert_int_equal(client_world_close(&b.w), 0);
  while (b.w.client != NULL) {
    kin_client_stats now = stats_of(&b);
    assert_int_equal(now.requests, stats.requests);
    assert_int_equal(now.sent_bytes, stats.sent_bytes);
    assert_int_equal(now.connections, stats.connections);
    uv_run(&b.w.loop, UV_RUN_ONCE);
  }
  finish(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_most),
      cmocka_unit_test(test_burst),
      cmocka_unit_test(test_seed),
      cmocka_unit_test(test_log_levels),
      cmocka_unit_test(test_copied),
      cmocka_unit_test(test_nothing_is_sent),
      cmocka_unit_test(test_ref),
      cmocka_unit_test(test_max_bytes),
      cmocka_unit_test(test_live_object_bytes),
      cmocka_unit_test(test_lists_at_a_time),
      cmocka_unit_test(test_overdue),
      cmocka_unit_test(test_delayed),
      cmocka_unit_test(test_stats),
  };
  return cmocka_run_group_tests_name("client_options", tests, NULL, NULL);
}
