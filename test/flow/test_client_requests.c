/* SPDX-License-Identifier: MIT */

/* What a client's options say about its requests, on a real loop: whom they are
 * made for (TR-05, TR-06), how many there may be (RQ-07), and what becomes of
 * the server's warnings (RE-05). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/cache.h>
#include <kin/toolkit.h>

#include "client/env.h"
#include "client/host.h"
#include "support/client_world.h"

#define LIST                                                                   \
  ANSWER_OK "Warning: 299 - \"pods are old\"\r\n"                              \
            "Connection: close\r\n\r\n" ANSWER_PODS("7", "")
#define WATCH                                                                  \
  ANSWER_OK "Warning: 299 - \"pods are old\", 299 - \"watches too\"\r\n"       \
            "Transfer-Encoding: chunked\r\n\r\n"
#define EVENT "64\r\n" ANSWER_CHANGE("ADDED", ANSWER_POD("a", "1", "8")) "\r\n"
#define FORBIDDEN                                                              \
  "HTTP/1.1 403 Forbidden\r\nWarning: 299 x \"not you\"\r\n"                   \
  "Content-Length: 0\r\n\r\n"

static const loop_reply list_and_watch[] = {{.bytes = LIST, .then = LOOP_CLOSE},
                                            {.bytes = WATCH EVENT}};

typedef struct bench {
  client_world w;
  int warnings;
  char text[8192]; /* the log, or what was told */
} bench;

static void put(bench *b, const char *line) {
  size_t length = strlen(b->text);
  snprintf(b->text + length, sizeof b->text - length, "%s\n", line);
}

static void on_log(kin_log_level level, const char *line, void *data) {
  if (level <= KIN_LOG_WARN) {
    put(data, line);
  }
}

static void on_warning(const kin_warning *warning, void *data) {
  bench *b = data;
  char line[256];
  snprintf(line, sizeof line, "%d %s %s %s", warning->code, warning->agent,
           warning->text, warning->path);
  put(b, line);
  b->warnings++;
  client_world_called(&b->w);
}

static void bench_init(bench *b, const loop_reply *replies, size_t count) {
  memset(b, 0, sizeof *b);
  client_world_serve(&b->w, replies, count);
  b->w.options.log = on_log;
  b->w.options.log_data = b;
}

static void hear_warnings(bench *b) {
  b->w.options.on_warning = on_warning;
  b->w.options.warning_data = b;
}

/* --- Whom ----------------------------------------------------------------- */

static const char *const groups[] = {"developers", "system:authenticated"};
static const kin_impersonate_extra extra[] = {{"a/b", "1"}, {"a/b", "2"}};

static void impersonate(kin_client_options *options) {
  options->impersonate_user = "ada";
  options->impersonate_uid = "42";
  options->impersonate_groups = groups;
  options->impersonate_group_count = 2;
  options->impersonate_extra = extra;
  options->impersonate_extra_count = 2;
}

/* Both requests; and nothing of it is logged. */
static void test_impersonation(void **state) {
  (void)state;
  static const char fields[] = "\r\nImpersonate-User: ada\r\n"
                               "Impersonate-Uid: 42\r\n"
                               "Impersonate-Group: developers\r\n"
                               "Impersonate-Group: system:authenticated\r\n"
                               "Impersonate-Extra-a%2Fb: 1\r\n"
                               "Impersonate-Extra-a%2Fb: 2\r\n";
  bench b;
  bench_init(&b, list_and_watch, 2);
  impersonate(&b.w.options);
  client_world_open(&b.w);
  memset(&b.w.options, 0xaa, sizeof b.w.options); /* copied */
  CLIENT_UNTIL(&b.w, b.w.server.requests >= 1);
  assert_non_null(strstr(b.w.server.last_request, fields));
  assert_null(strstr(b.w.server.last_request, "watch="));
  CLIENT_UNTIL(&b.w, b.w.adds > 0);
  assert_non_null(strstr(b.w.server.last_request, fields));
  assert_non_null(strstr(b.w.server.last_request, "watch="));
  assert_null(strstr(b.text, "ada"));
  client_world_finish(&b.w);
}

/* RQ-08. */
static void test_user_agent(void **state) {
  (void)state;
  static const char *const agents[] = {NULL, "audit/1.2 (x; y)", "rev\xc3\xa9"};
  static const char *const lines[] = {
      "\r\nUser-Agent: kinformer/" KIN_VERSION_STRING "\r\n",
      "\r\nUser-Agent: audit/1.2 (x; y)\r\n",
      "\r\nUser-Agent: rev\xc3\xa9\r\n"};
  for (size_t i = 0; i < 3; i++) {
    bench b;
    bench_init(&b, list_and_watch, 2);
    b.w.options.user_agent = agents[i];
    client_world_open(&b.w);
    CLIENT_UNTIL(&b.w, b.w.server.requests >= 1);
    assert_non_null(strstr(b.w.server.last_request, lines[i]));
    assert_null(strstr(b.w.server.last_request, "Impersonate"));
    client_world_finish(&b.w);
  }
}

/* TR-06, RQ-07: what contradicts itself is refused, and a line says what. */
static void test_bad_options(void **state) {
  (void)state;
  static char big[70000];
  memset(big, 'u', sizeof big - 1);
  const kin_client_options none = KIN_CLIENT_OPTIONS_INIT;
  kin_client_options rows[10];
  for (size_t i = 0; i < 10; i++) {
    rows[i] = none;
  }
  static const char *const lines[10] = {
      "impersonation: a uid, groups or extra without a user\n",
      "impersonation: a uid, groups or extra without a user\n",
      "impersonation: a uid, groups or extra without a user\n",
      "impersonation: the user cannot be sent\n",
      "impersonation: over 64 KiB\n",
      "burst: needs qps_milli\n",
      "qps_milli: 1000000001 is more than 1000000000\n",
      "burst: 1000001 is more than 1000000\n",
      "impersonation: a group cannot be sent\n",
      "list_turn_ms: 3600001 is more than 3600000\n"};
  static const char *const bad_group[] = {"a", "b\r\nX: y"};
  rows[0].impersonate_uid = "1";
  rows[1].impersonate_groups = groups;
  rows[1].impersonate_group_count = 1;
  rows[2].impersonate_extra = extra;
  rows[2].impersonate_extra_count = 1;
  rows[3].impersonate_user = "a\r\nImpersonate-Group: system:masters";
  rows[4].impersonate_user = big;
  rows[5].burst = 1;
  rows[6].qps_milli = 1000000001;
  rows[7].qps_milli = 1;
  rows[7].burst = 1000001;
  rows[8].impersonate_user = "u";
  rows[8].impersonate_groups = bad_group;
  rows[8].impersonate_group_count = 2;
  rows[9].list_turn_ms = 3600001;
  for (size_t i = 0; i < 10; i++) {
    bench b;
    bench_init(&b, list_and_watch, 2);
    rows[i].server = b.w.options.server;
    rows[i].allocator = b.w.options.allocator;
    rows[i].log = on_log;
    rows[i].log_data = &b;
    b.w.options = rows[i];
    assert_int_equal(client_world_open_client(&b.w), KIN_EINVAL);
    assert_null(b.w.client);
    assert_string_equal(b.text, lines[i]);
    client_world_finish(&b.w);
  }
}

/* TR-06: 64 KiB of fields, to the byte. */
static void test_most_impersonation(void **state) {
  (void)state;
  static char user[(64u << 10) - sizeof "Impersonate-User: \r\n" + 2];
  memset(user, 'u', sizeof user - 1);
  bench b;
  bench_init(&b, list_and_watch, 2);
  b.w.options.impersonate_user = user;
  client_world_open(&b.w);
  client_world_finish(&b.w);
}

/* --- Warnings ------------------------------------------------------------- */

static int on_metrics(const char *text, size_t size, void *data) {
  bench *b = data;
  size_t length = strlen(b->text);
  snprintf(b->text + length, sizeof b->text - length, "%.*s", (int)size, text);
  return 0;
}

/* Without a handler: each text once, though two responses bring it. */
static void test_warnings_are_logged(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.adds > 0);
  assert_string_equal(b.text,
                      "the server warns about /api/v1/pods: pods are old\n"
                      "the server warns about /api/v1/pods: watches too\n");
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(b.w.client, &stats), 0);
  assert_int_equal(stats.warnings, 3);
  b.text[0] = '\0';
  assert_int_equal(kin_metrics_write(b.w.client, NULL, 0, on_metrics, &b), 0);
  assert_non_null(strstr(b.text, "\nkinformer_client_warnings_total 3\n"));
  assert_non_null(
      strstr(b.text, "\nkinformer_client_delayed_requests_total 0\n"));
  assert_non_null(strstr(b.text, "\nkinformer_client_delay_seconds_total 0\n"));
  client_world_finish(&b.w);
}

/* With one: all of them, the watch's, too, and the refusal's. */
static void test_warnings_are_told(void **state) {
  (void)state;
  static const loop_reply replies[] = {{.bytes = LIST, .then = LOOP_CLOSE},
                                       {.bytes = FORBIDDEN}};
  bench b;
  bench_init(&b, replies, 2);
  hear_warnings(&b);
  b.w.options.log = NULL;
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors > 0 && b.warnings >= 2);
  assert_string_equal(b.text, "299 - pods are old /api/v1/pods\n"
                              "299 x not you /api/v1/pods\n");
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(b.w.client, &stats), 0);
  assert_int_equal(stats.warnings, 2);
  assert_true(stats.handler_ns > 0);
  client_world_finish(&b.w);
}

/* Closing the client in its k-th callback, whichever that is. */
static bool close_in_callback(int close_at) {
  bench b;
  bench_init(&b, list_and_watch, 2);
  hear_warnings(&b);
  b.w.close_at = close_at;
  impersonate(&b.w.options);
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.client == NULL || (b.w.adds > 0 && b.warnings >= 3));
  client_world_finish(&b.w);
  return b.w.was_reached;
}

static void test_close_in_every_callback(void **state) {
  (void)state;
  /* Three warnings, an add, a sync, and two changes of state. */
  assert_int_equal(client_world_sweep_closes(close_in_callback), 7);
}

/* Every allocation fails once: opening fails cleanly, or all goes on, maybe
 * with a warning less. */
static bool run_without_memory(size_t n) {
  bench b;
  bench_init(&b, list_and_watch, 2);
  hear_warnings(&b);
  b.w.options.qps_milli = 1000;
  b.w.memory.fail_at = n;
  impersonate(&b.w.options);
  if (client_world_open(&b.w) == 0) {
    CLIENT_UNTIL(&b.w, b.w.adds > 0 || b.w.errors > 0);
  }
  client_world_finish(&b.w);
  if (!fail_alloc_has_failed(&b.w.memory)) {
    assert_int_equal(b.warnings, 3);
  }
  return fail_alloc_has_failed(&b.w.memory);
}

static void test_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 0);
}

/* --- How many ------------------------------------------------------------- */

/* The first list has the only token there is for a while; the watch after it
 * needs none. What waits can be closed. */
static void test_limit(void **state) {
  (void)state;
  bench b;
  bench_init(&b, list_and_watch, 2);
  b.w.options.qps_milli = 1;
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.adds > 0);
  kin_informer *second;
  kin_informer_options io = KIN_INFORMER_OPTIONS_INIT;
  io.plural = "nodes";
  assert_int_equal(kin_informer_open(&second, b.w.client, &io), 0);
  assert_int_equal(kin_informer_start(second), 0);
  for (int i = 0; i < 5; i++) {
    uv_run(&b.w.loop, UV_RUN_NOWAIT);
  }
  kin_client_stats stats = KIN_CLIENT_STATS_INIT;
  assert_int_equal(kin_client_get_stats(b.w.client, &stats), 0);
  assert_int_equal(stats.requests, 2);
  assert_int_equal(stats.delayed_requests, 0); /* it is still waiting */
  client_world_finish(&b.w);
}

/* RQ-07: without a burst there is that of a second, and at least one. */
static void test_burst_of_a_second(void **state) {
  (void)state;
  static const struct {
    uint32_t qps_milli;
    uint32_t burst;
    unsigned at_once;
  } rows[] = {{1, 0, 1},      {1000, 0, 1}, {2500, 0, 3},
              {10000, 0, 10}, {1, 7, 7},    {10000, 1, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    bench b;
    bench_init(&b, list_and_watch, 2);
    b.w.options.qps_milli = rows[i].qps_milli;
    b.w.options.burst = rows[i].burst;
    assert_int_equal(client_world_open_client(&b.w), 0);
    kin__bucket *bucket = &kin__client_host(b.w.client)->env->limiter->bucket;
    unsigned count = 0;
    while (kin__bucket_try(bucket, bucket->at_ns)) {
      count++;
    }
    assert_int_equal(count, rows[i].at_once);
    client_world_finish(&b.w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_impersonation),
      cmocka_unit_test(test_user_agent),
      cmocka_unit_test(test_bad_options),
      cmocka_unit_test(test_most_impersonation),
      cmocka_unit_test(test_warnings_are_logged),
      cmocka_unit_test(test_warnings_are_told),
      cmocka_unit_test(test_close_in_every_callback),
      cmocka_unit_test(test_allocations_fail),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_burst_of_a_second),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
