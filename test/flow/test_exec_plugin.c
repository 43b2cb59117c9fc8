/* SPDX-License-Identifier: MIT */
/* Proves XP-02 to XP-05, XP-07, XP-08 and XP-10 with real processes: what a
 * plugin is given, when it runs, what of it counts, and how it fails. The
 * clocks are numbers. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kin/error.h>

#include "support/exec_answer.h"
#include "support/exec_world.h"
#include "support/tls_certs.h"

static void world_begin(exec_world *w, const char *body) {
  exec_world_init(w, body, 0);
}

static void world_open(exec_world *w) {
  assert_int_equal(exec_world_open(w), 0);
}

/* --- What a plugin is given ----------------------------------------------- */

/* client-go TestRefreshCreds; XP-02. */
static void test_exec_arguments_and_environment(void **state) {
  (void)state;
  static const char *const args[] = {"one", "two words", ""};
  static const kin_exec_variable variables[] = {{"KIN_TEST_A", "t0ken-a"},
                                                {"KIN_TEST_B", ""}};
  assert_int_equal(setenv("KIN_TEST_A", "host", 1), 0);
  assert_int_equal(setenv("KIN_TEST_C", "host", 1), 0);
  exec_world w;
  world_begin(&w, "printf '%s|' $# \"$1\" \"$2\" \"$3\" \"$KIN_TEST_A\" "
                  "\"${KIN_TEST_B-unset}\" \"$KIN_TEST_C\" > seen\n"
                  "printf '%s' \"$KUBERNETES_EXEC_INFO\" > info\n"
                  "cat > input\n" EXEC_TOKEN("t0ken-1"));
  w.options.args = args;
  w.options.arg_count = 3;
  w.options.variables = variables;
  w.options.variable_count = 2;
  world_open(&w);
  exec_world_expect(&w, "Bearer t0ken-1", true);
  assert_string_equal(exec_world_read(&w, "seen"),
                      "3|one|two words||t0ken-a||host|");
  assert_string_equal(exec_world_read(&w, "info"),
                      "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" EXEC_V1
                      "\",\"spec\":{\"interactive\":false}}");
  assert_string_equal(exec_world_read(&w, "input"), ""); /* at its end */
  exec_world_finish(&w);
}

/* client-go TestConfigToExecCluster; XP-02: from the client's options, with the
 * content of the authority's file. */
static void test_exec_cluster_info(void **state) {
  (void)state;
  exec_world w;
  world_begin(&w, "printf '%s' \"$KUBERNETES_EXEC_INFO\" "
                  "> info\n" EXEC_TOKEN("t0ken-1"));
  char file[128];
  snprintf(file, sizeof file, "%s/ca", w.directory);
  w.server = (kin__exec_server){.url = "https://server:6443",
                                .tls_server_name = "name",
                                .authority_file = file};
  w.options.provide_cluster_info = true;
  w.options.cluster_config = "{\"a\": 1}";
  world_open(&w);
  exec_world_expect_failure(&w, file, true);
  assert_int_equal(exec_world_runs(&w), 0);
  exec_world_file(&w, "ca", "Ma");
  exec_world_advance(&w, 1000);
  exec_world_expect(&w, "Bearer t0ken-1", true);
  assert_string_equal(
      exec_world_read(&w, "info"),
      "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" EXEC_V1
      "\",\"spec\":{\"cluster\":{\"server\":\"https://server:6443\","
      "\"tls-server-name\":\"name\",\"certificate-authority-data\":\"TWE=\","
      "\"config\":{\"a\": 1}},\"interactive\":false}}");
  assert_int_equal(kin__exec_plugin_get_stats(w.plugin)->internal, 1);
  exec_world_finish(&w);
}

/* More than the system allows in a variable. */
static void test_exec_cluster_too_large(void **state) {
  (void)state;
  exec_world w;
  world_begin(&w, EXEC_TOKEN("t0ken-1"));
  char *large = malloc(2u << 20);
  assert_non_null(large);
  memset(large, 'x', (2u << 20) - 1);
  large[(2u << 20) - 1] = '\0';
  w.server.authority_data = large;
  w.options.provide_cluster_info = true;
  world_open(&w);
  for (int i = 0; i < 2; i++) {
    exec_world_expect_failure(&w, kin_strerror(UV_E2BIG), true);
    exec_world_advance(&w, 1000);
  }
  assert_int_equal(kin__exec_plugin_get_stats(w.plugin)->internal, 2);
  free(large);
  exec_world_finish(&w);
}

/* --- Standard input ------------------------------------------------------- */

static void expect_interactive(kin_exec_interactive mode, bool is_terminal,
                               bool is_unavailable, const char *want) {
  exec_world w;
  world_begin(&w, "case $KUBERNETES_EXEC_INFO in\n"
                  "*interactive*true*) echo yes > seen ;;\n"
                  "*) echo no > seen ;;\nesac\n" EXEC_TOKEN("t0ken-1"));
  w.options.interactive = mode;
  w.options.stdin_unavailable = is_unavailable;
  w.options.stdin_unavailable_message = "it is mine";
  world_open(&w);
  exec_world_terminal = is_terminal;
  if (strcmp(want, "yes") == 0 || strcmp(want, "no") == 0) {
    exec_world_expect(&w, "Bearer t0ken-1", true);
    assert_memory_equal(exec_world_read(&w, "seen"), want, strlen(want));
  } else {
    exec_world_expect_failure(&w, want, false);
    assert_int_equal(exec_world_runs(&w), 0);
  }
  exec_world_finish(&w);
}

/* client-go TestRefreshCreds; XP-03. */
static void test_exec_interactive(void **state) {
  (void)state;
  expect_interactive(KIN_EXEC_INTERACTIVE_NEVER, true, false, "no");
  expect_interactive(KIN_EXEC_INTERACTIVE_IF_AVAILABLE, true, false, "yes");
  expect_interactive(KIN_EXEC_INTERACTIVE_IF_AVAILABLE, false, false, "no");
  expect_interactive(KIN_EXEC_INTERACTIVE_IF_AVAILABLE, true, true, "no");
  expect_interactive(KIN_EXEC_INTERACTIVE_ALWAYS, true, false, "yes");
  expect_interactive(KIN_EXEC_INTERACTIVE_ALWAYS, false, false,
                     "interactive mode: standard input is not a terminal");
  expect_interactive(KIN_EXEC_INTERACTIVE_ALWAYS, true, true,
                     "standard input is unavailable: it is mine");
}

/* --- When it runs --------------------------------------------------------- */

/* XP-05: strictly after its time; and twice. */
static void test_exec_expiry(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w,
                   EXEC_ANSWER("{\"token\":\"t0ken-1\",\"expirationTimestamp\":"
                               "\"2026-01-01T00:00:05Z\"}"));
  exec_world_expect(&w, "Bearer t0ken-1", true);
  exec_world_advance(&w, 5000);
  exec_world_expect(&w, "Bearer t0ken-1", false);
  exec_world_script(&w,
                    EXEC_ANSWER("{\"token\":\"t0ken-2\",\"expirationTimestamp\""
                                ":\"2026-01-01T00:00:09.5Z\"}"));
  exec_world_advance(&w, 1);
  exec_world_expect(&w, "Bearer t0ken-2", true);
  exec_world_advance(&w, 4498);
  exec_world_expect(&w, "Bearer t0ken-2", false);
  exec_world_script(&w, EXEC_TOKEN("t0ken-3"));
  exec_world_advance(&w, 2);
  exec_world_expect(&w, "Bearer t0ken-3", true);
  exec_world_advance(&w, 1000000000);
  exec_world_expect(&w, "Bearer t0ken-3", false);
  assert_int_equal(exec_world_runs(&w), 3);
  assert_int_equal(kin__exec_plugin_get_stats(w.plugin)->succeeded, 3);
  exec_world_finish(&w);
}

/* The wall clock decides, wherever it jumps. */
static void test_exec_wall_clock_jumps(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w,
                   EXEC_ANSWER("{\"token\":\"t0ken-1\",\"expirationTimestamp\":"
                               "\"2026-01-01T01:00:00Z\"}"));
  exec_world_expect(&w, "Bearer t0ken-1", true);
  w.wall.s -= 1000000;
  exec_world_advance(&w, 10000);
  exec_world_expect(&w, "Bearer t0ken-1", false);
  w.wall.s += 2000000;
  exec_world_expect(&w, "Bearer t0ken-1", true);
  /* Expired from the start, it counts all the same, but is asked for again: not
   * twice a second. */
  for (int i = 0; i < 3; i++) {
    exec_world_expect(&w, "Bearer t0ken-1", false);
    exec_world_advance(&w, 999);
    exec_world_expect(&w, "Bearer t0ken-1", false);
    exec_world_advance(&w, 1);
    exec_world_expect(&w, "Bearer t0ken-1", true);
  }
  assert_int_equal(exec_world_runs(&w), 5);
  exec_world_finish(&w);
}

/* client-go TestRoundTripper; XP-05: a 401 has the plugin run once. */
static void test_exec_rejected(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, EXEC_TOKEN("t0ken-1"));
  exec_world_expect(&w, "Bearer t0ken-1", true);
  kin__credential first;
  assert_int_equal(w.credentials.get(w.credentials.ctx, NULL, &first), 0);
  uint64_t serial = first.serial;
  exec_world_script(&w, EXEC_TOKEN("t0ken-2"));
  w.credentials.rejected(w.credentials.ctx, serial);
  exec_world_expect(&w, "Bearer t0ken-2", true);
  /* A server that refuses everything does not make it run all the time. */
  for (int i = 0; i < 2; i++) {
    exec_world_reject(&w);
    exec_world_expect(&w, "Bearer t0ken-2", false);
    exec_world_advance(&w, 9999);
    exec_world_expect(&w, "Bearer t0ken-2", false);
    exec_world_advance(&w, 1);
    exec_world_expect(&w, "Bearer t0ken-2", true);
  }
  assert_int_equal(exec_world_runs(&w), 4);
  /* A late answer about an earlier credential does not have it run. */
  w.credentials.rejected(w.credentials.ctx, serial);
  exec_world_advance(&w, 10000);
  exec_world_expect(&w, "Bearer t0ken-2", false);
  exec_world_finish(&w);
}

/* The run after a 401 fails: what has not expired stays in use. */
static void test_exec_rejected_and_failed(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w,
                   EXEC_ANSWER("{\"token\":\"t0ken-1\",\"expirationTimestamp\":"
                               "\"2026-01-01T00:01:00Z\"}"));
  exec_world_expect(&w, "Bearer t0ken-1", true);
  exec_world_script(&w, "exit 3\n");
  exec_world_reject(&w);
  exec_world_expect(&w, "Bearer t0ken-1", true);
  assert_non_null(strstr(w.lines, "failed with exit code 3; the credential in "
                                  "hand stays in use"));
  exec_world_expect(&w, "Bearer t0ken-1", false);
  exec_world_advance(&w, 10000);
  exec_world_expect(&w, "Bearer t0ken-1", true);
  /* XP-05: but what has expired does not. */
  exec_world_advance(&w, 50001);
  exec_world_expect_failure(&w, "failed with exit code 3", true);
  exec_world_expect_failure(&w, "failed with exit code 3", false);
  exec_world_script(&w, EXEC_TOKEN("t0ken-2"));
  exec_world_advance(&w, 4000);
  exec_world_expect(&w, "Bearer t0ken-2", true);
  exec_world_finish(&w);
}

static size_t served_count;

static void count_served(kin__waiter *waiter) {
  (void)waiter;
  served_count++;
}

/* client-go TestConcurrentUpdateTransportConfig; XP-07: one run for all who
 * wait. */
static void test_exec_one_run_for_all(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(
      &w, "echo ready >&2\nwhile [ ! -e go ]; do sleep 0.01; done\n" EXEC_TOKEN(
              "t0ken-1"));
  kin__waiter waiters[50];
  kin__credential found;
  served_count = 0;
  for (size_t i = 0; i < 50; i++) {
    kin__waiter_init(&waiters[i], count_served);
    assert_int_equal(w.credentials.get(w.credentials.ctx, &waiters[i], &found),
                     KIN__PENDING);
    if (i == 25) { /* the process runs */
      EXEC_UNTIL(&w, strstr(w.lines, "exec plugin: ready") != NULL);
    }
  }
  kin__waiter_reset(&waiters[7]);
  exec_world_file(&w, "go", "");
  EXEC_UNTIL(&w, served_count == 49);
  for (size_t i = 0; i < 50; i++) {
    assert_int_equal(waiters[i].is_served, i != 7);
  }
  exec_world_expect(&w, "Bearer t0ken-1", false);
  assert_int_equal(exec_world_runs(&w), 1);
  exec_world_finish(&w);
}

/* --- How it fails --------------------------------------------------------- */

/* Each failure twice, then a success: on the same plugin. */
static void expect_failures(const char *body, const char *words) {
  exec_world w;
  exec_world_begin(&w, body);
  exec_world_expect_failure(&w, words, true);
  exec_world_expect_failure(&w, words, false);
  exec_world_advance(&w, 999);
  exec_world_expect_failure(&w, words, false);
  exec_world_advance(&w, 1);
  exec_world_expect_failure(&w, words, true);
  assert_int_equal(exec_world_runs(&w), 2);
  exec_world_script(&w, EXEC_TOKEN("t0ken-1"));
  exec_world_advance(&w, 2000);
  exec_world_expect(&w, "Bearer t0ken-1", true);
  exec_world_finish(&w);
}

/* client-go TestRefreshCreds; XP-04, XP-08. */
static void test_exec_fails(void **state) {
  (void)state;
  expect_failures("exit 3\n", "plugin failed with exit code 3");
  expect_failures("kill -9 $$\n", "was ended by signal 9");
  expect_failures("true\n", "it printed no JSON");
  expect_failures("printf '{\"kind\":\"ExecCredential\",\"t0ken-x'\n",
                  "it printed no JSON");
  expect_failures("echo '{\"t0ken-secret\":{}}'\n", "no ExecCredential");
  expect_failures(EXEC_ANSWER("{}"), "neither a token nor");
  expect_failures(EXEC_TOKEN("t0ken x"), "bytes that no token has");
  expect_failures(EXEC_ANSWER("{\"clientCertificateData\":\"c\","
                              "\"clientKeyData\":\"t0ken-key\"}"),
                  "client certificate: no certificate in it");
  expect_failures("head -c 10000000 /dev/zero\n", "printed more than 1 MiB");
}

/* Up to 30 s lie between the runs. */
static void test_exec_backoff(void **state) {
  (void)state;
  static const uint64_t waits_ms[] = {1000,  2000,  4000, 8000,
                                      16000, 30000, 30000};
  exec_world w;
  exec_world_begin(&w, "exit 1\n");
  exec_world_expect_failure(&w, "exit code 1", true);
  for (size_t i = 0; i < sizeof waits_ms / sizeof waits_ms[0]; i++) {
    exec_world_advance(&w, waits_ms[i] - 1);
    exec_world_expect_failure(&w, "exit code 1", false);
    exec_world_advance(&w, 1);
    exec_world_expect_failure(&w, "exit code 1", true);
  }
  assert_int_equal(exec_world_runs(&w), 8);
  exec_world_finish(&w);
}

/* The largest output that counts. */
/* XP-05: a success ends the series of failures. The next failure is the first
 * one again, and the answer counts even if it is expired from the start. */
static void test_exec_success_ends_the_backoff(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, "exit 1\n");
  exec_world_expect_failure(&w, "exit code 1", true);
  exec_world_advance(&w, 1000);
  exec_world_expect_failure(&w, "exit code 1", true);
  exec_world_script(&w, EXEC_ANSWER("{\"token\":\"t0ken-1\","
                                    "\"expirationTimestamp\":"
                                    "\"2025-01-01T00:00:00Z\"}"));
  exec_world_advance(&w, 2000);
  exec_world_expect(&w, "Bearer t0ken-1", true);
  exec_world_script(&w, "exit 1\n");
  exec_world_advance(&w, 1000);
  exec_world_expect_failure(&w, "exit code 1", true);
  exec_world_advance(&w, 999);
  exec_world_expect_failure(&w, "exit code 1", false);
  exec_world_advance(&w, 1);
  exec_world_expect_failure(&w, "exit code 1", true);
  exec_world_finish(&w);
}

static void test_exec_output_limit(void **state) {
  (void)state;
  static const char answer[] =
      "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" EXEC_V1
      "\",\"status\":{\"token\":\"t0ken-1\"}}";
  for (size_t extra = 0; extra < 2; extra++) {
    char body[512];
    snprintf(body, sizeof body,
             "printf '%%s' '%s'\nhead -c %zu /dev/zero | tr '\\0' ' '\n",
             answer, (1u << 20) - (sizeof answer - 1) + extra);
    exec_world w;
    exec_world_begin(&w, body);
    if (extra == 0) {
      exec_world_expect(&w, "Bearer t0ken-1", true);
    } else {
      exec_world_expect_failure(&w, "printed more than 1 MiB", true);
    }
    exec_world_finish(&w);
  }
}

/* client-go TestInstallHintRateLimit, TestCallsMetric; XP-08, XP-10. */
static void test_exec_missing(void **state) {
  (void)state;
  exec_world w;
  world_begin(&w, NULL);
  w.options.command = "kin-no-such-plugin";
  w.options.install_hint = "buy it\nhere";
  world_open(&w);
  for (int i = 0; i < 12; i++) {
    exec_world_expect_failure(
        &w,
        i < 10 ? "exec: executable kin-no-such-plugin not found; buy it here"
               : "exec: executable kin-no-such-plugin not found",
        true);
    kin__credential found;
    assert_int_equal(w.credentials.get(w.credentials.ctx, NULL, &found),
                     KIN_ETOKEN);
    assert_int_equal(strstr(found.reason, "buy it here") != NULL, i < 10);
    exec_world_advance(&w, 30000);
  }
  exec_world_advance(&w, 3600000 - 12 * 30000);
  exec_world_expect_failure(&w, "not found; buy it here", true);
  assert_int_equal(kin__exec_plugin_get_stats(w.plugin)->not_found, 13);
  exec_world_finish(&w);
}

/* A file that the system cannot run, or that is no file. */
static void test_exec_not_executable(void **state) {
  (void)state;
  exec_world w;
  world_begin(&w, "true\n");
  tls_write_file(w.script, "#!/no/such/interpreter\n");
  assert_int_equal(chmod(w.script, 0700), 0);
  world_open(&w);
  exec_world_expect_failure(&w, "not found", true);
  exec_world_advance(&w, 30000);
  assert_int_equal(unlink(w.script), 0);
  assert_int_equal(mkdir(w.script, 0700), 0);
  exec_world_expect_failure(&w, "permission denied", true);
  assert_int_equal(rmdir(w.script), 0);
  exec_world_finish(&w);
}

/* client-go TestPluginPolicy, TestPolicyCallsMetric; XP-09, XP-10. */
static void test_exec_denied(void **state) {
  (void)state;
  exec_world w;
  world_begin(&w, EXEC_TOKEN("t0ken-1"));
  w.options.policy = KIN_EXEC_POLICY_DENY_ALL;
  world_open(&w);
  exec_world_expect_failure(&w, "not allowed by the program's policy", true);
  exec_world_advance(&w, 1000);
  exec_world_expect_failure(&w, "not allowed by the program's policy", true);
  assert_int_equal(exec_world_runs(&w), 0);
  assert_int_equal(kin__exec_plugin_get_stats(w.plugin)->denied, 2);
  exec_world_finish(&w);
  const char *allowlist[] = {w.script};
  world_begin(&w, EXEC_TOKEN("t0ken-1"));
  w.options.policy = KIN_EXEC_POLICY_ALLOWLIST;
  w.options.allowlist = allowlist;
  w.options.allowlist_count = 1;
  world_open(&w);
  exec_world_expect(&w, "Bearer t0ken-1", true);
  assert_int_equal(kin__exec_plugin_get_stats(w.plugin)->denied, 0);
  exec_world_finish(&w);
}

/* client-go TestCallsMetric; XP-10. */
static void test_exec_counts(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, "exit 9\n");
  exec_world_expect_failure(&w, "exit code 9", true);
  exec_world_script(&w, "true\n");
  exec_world_advance(&w, 1000);
  exec_world_expect_failure(&w, "no JSON", true);
  exec_world_script(&w, EXEC_TOKEN("t0ken-1"));
  exec_world_advance(&w, 2000);
  exec_world_expect(&w, "Bearer t0ken-1", true);
  const kin__exec_stats *stats = kin__exec_plugin_get_stats(w.plugin);
  assert_int_equal(stats->succeeded, 2);
  assert_int_equal(stats->failed, 1);
  assert_int_equal(stats->unusable, 1);
  assert_int_equal(stats->not_found + stats->internal + stats->denied, 0);
  assert_int_equal(stats->certificate_expires_s, 0);
  exec_world_finish(&w);
}

/* --- Time is over --------------------------------------------------------- */

static void ask_and_wait(exec_world *w, kin__waiter *waiter) {
  kin__credential found;
  kin__waiter_init(waiter, count_served);
  assert_int_equal(w->credentials.get(w->credentials.ctx, waiter, &found),
                   KIN__PENDING);
}

static void expect_timeout(const char *body, uint32_t timeout_ms,
                           uint64_t until_term_ms, bool ignores_term) {
  exec_world w;
  world_begin(&w, body);
  w.options.timeout_ms = timeout_ms;
  world_open(&w);
  for (int i = 0; i < 2; i++) {
    w.lines[0] = '\0';
    kin__waiter waiter;
    ask_and_wait(&w, &waiter);
    EXEC_UNTIL(&w, strstr(w.lines, "exec plugin: ready") != NULL);
    exec_world_advance(&w, until_term_ms - 1);
    exec_world_advance(&w, 1);
    if (ignores_term) {
      exec_world_advance(&w, 1999);
      uv_run(&w.loop, UV_RUN_NOWAIT);
      assert_false(waiter.is_served);
      exec_world_advance(&w, 1);
    }
    EXEC_UNTIL(&w, waiter.is_served);
    exec_world_expect_failure(&w, "did not end within", false);
    exec_world_advance(&w, 5000);
  }
  assert_int_equal(kin__exec_plugin_get_stats(w.plugin)->failed, 2);
  exec_world_finish(&w);
}

static void test_exec_timeout(void **state) {
  (void)state;
  expect_timeout("echo ready >&2\nsleep 1000\n", 700, 700, false);
  expect_timeout("echo ready >&2\nsleep 1000\n", 0, 60000, false);
  expect_timeout("trap '' TERM\necho ready >&2\nsleep 1000\n", 700, 700, true);
}

/* All processes of the plugin's group get the signals: they hold the pipe. */
static void test_exec_timeout_of_a_group(void **state) {
  (void)state;
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  exec_world w;
  exec_world_begin(&w,
                   "trap '' TERM\nsleep 1000 &\necho ready >&2\nsleep 1000\n");
  kin__waiter waiter;
  ask_and_wait(&w, &waiter);
  EXEC_UNTIL(&w, strstr(w.lines, "exec plugin: ready") != NULL);
  exec_world_advance(&w, 60000);
  exec_world_advance(&w, 2000);
  EXEC_UNTIL(&w, waiter.is_served);
  close(fds[1]);
  struct pollfd end = {.fd = fds[0], .events = POLLIN};
  assert_int_equal(poll(&end, 1, 30000), 1); /* at its end */
  close(fds[0]);
  exec_world_finish(&w);
}

/* The plugin ends at SIGTERM, and a process of its group ignores it: it is
 * killed when the plugin has ended. uv_spawn reaps first, so only where its part
 * is done here. */
static void test_exec_timeout_of_a_deaf_child(void **state) {
  (void)state;
#ifndef __linux__
  skip();
#endif
  int fds[2];
  exec_world w;
  exec_world_begin(&w, "(trap '' TERM\necho ready >&2\nsleep 1000) "
                       ">/dev/null &\nwait\n");
  for (int i = 0; i < 2; i++) {
    kin__waiter waiter;
    assert_int_equal(pipe(fds), 0);
    w.lines[0] = '\0';
    ask_and_wait(&w, &waiter);
    EXEC_UNTIL(&w, strstr(w.lines, "exec plugin: ready") != NULL);
    exec_world_advance(&w, 60000);
    EXEC_UNTIL(&w, waiter.is_served);
    close(fds[1]);
    struct pollfd end = {.fd = fds[0], .events = POLLIN};
    assert_int_equal(poll(&end, 1, 30000), 1); /* at its end */
    close(fds[0]);
    exec_world_advance(&w, 5000);
  }
  exec_world_finish(&w);
}

/* Also if standard output is at its end. */
static void test_exec_timeout_without_output(void **state) {
  (void)state;
  expect_timeout("exec >&-\necho ready >&2\nsleep 1000\n", 700, 700, false);
}

/* The plugin ends in time while the loop is blocked: its output counts, and is
 * waited for once. */
static void test_exec_timeout_of_a_late_loop(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, EXEC_TOKEN("t0ken-1"));
  for (int i = 0; i < 2; i++) {
    kin__waiter waiter;
    siginfo_t ended;
    ask_and_wait(&w, &waiter);
    EXEC_UNTIL(&w, w.timers.root != NULL); /* it runs */
    assert_int_equal(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
    exec_world_advance(&w, 61000);
    exec_world_advance(&w, i == 0 ? 499 : 500);
    EXEC_UNTIL(&w, waiter.is_served);
    if (i == 0) {
      exec_world_expect(&w, "Bearer t0ken-1", false);
      exec_world_reject(&w);
      exec_world_advance(&w, 10000);
    }
  }
  assert_int_equal(kin__exec_plugin_get_stats(w.plugin)->failed, 1);
  assert_non_null(strstr(w.lines, "did not end within"));
  exec_world_finish(&w);
}

/* The same for the output of a process that the plugin left behind. */
static void test_exec_late_output(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, "(while [ ! -e go ]; do sleep 0.01; done\n" EXEC_TOKEN(
                           "t0ken-1") "echo > written) &\n");
  kin__waiter waiter;
  ask_and_wait(&w, &waiter);
  EXEC_UNTIL(&w, w.timers.root != NULL &&
                     kin__timers_next_ms(&w.timers) <= w.now_ms + 500);
  exec_world_file(&w, "go", "");
  while (exec_world_read(&w, "written")[0] == '\0') {
    usleep(1000);
  }
  exec_world_advance(&w, 600);
  EXEC_UNTIL(&w, waiter.is_served);
  exec_world_expect(&w, "Bearer t0ken-1", false);
  exec_world_finish(&w);
}

/* A process that the plugin leaves behind holds its output open. */
static void test_exec_grandchild(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, EXEC_TOKEN("t0ken-1") "sleep 1000 &\necho $! > child\n");
  for (int i = 0; i < 2; i++) {
    kin__waiter waiter;
    ask_and_wait(&w, &waiter);
    EXEC_UNTIL(&w, w.timers.root != NULL && /* has ended: 0.5 s are left */
                       kin__timers_next_ms(&w.timers) <= w.now_ms + 500);
    assert_false(waiter.is_served);
    exec_world_advance(&w, 500);
    EXEC_UNTIL(&w, waiter.is_served);
    exec_world_expect(&w, "Bearer t0ken-1", false);
    int pid = atoi(exec_world_read(&w, "child"));
    assert_int_equal(kill(pid, SIGKILL), 0); /* it was left alone */
    exec_world_reject(&w);
    exec_world_advance(&w, 10000);
  }
  exec_world_finish(&w);
}

/* --- Standard error ------------------------------------------------------- */

static void test_exec_stderr_log(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, "echo first >&2\nprintf 'sec\\033ond' "
                       ">&2\n" EXEC_TOKEN("t0ken-1"));
  exec_world_expect(&w, "Bearer t0ken-1", true);
  assert_non_null(strstr(w.lines, "exec plugin: first\n"));
  assert_non_null(strstr(w.lines, "exec plugin: sec"));
  exec_world_finish(&w);
}

/* 64 lines, and each cut; the rest is read and dropped. */
static void test_exec_stderr_bounds(void **state) {
  (void)state;
  exec_world w;
  exec_world_begin(&w, "head -c 3000 /dev/zero | tr '\\0' x >&2\n"
                       "i=0; while [ $i -lt 100 ]; do echo; echo line$i >&2; "
                       "i=$((i+1)); done > /dev/null\n"
                       "head -c 1000000 /dev/zero >&2\n" EXEC_TOKEN("t0ken-1"));
  exec_world_expect(&w, "Bearer t0ken-1", true);
  size_t count = 0;
  for (const char *at = w.lines; (at = strstr(at, "exec plugin: ")) != NULL;
       at++) {
    count++;
  }
  assert_int_equal(count, 64);
  assert_non_null(strstr(w.lines, "xline0\n"));
  assert_non_null(strstr(w.lines, "line50\n"));
  assert_null(strstr(w.lines, "line90\n"));
  exec_world_finish(&w);
}

static void test_exec_stderr_elsewhere(void **state) {
  (void)state;
  for (kin_exec_stderr to = 0; to <= KIN_EXEC_STDERR_DISCARD; to++) {
    exec_world w;
    world_begin(&w, "echo 'a line of the plugin' >&2\n" EXEC_TOKEN("t0ken-1"));
    w.options.stderr_to = to;
    world_open(&w);
    int saved = dup(2);
    char path[128];
    snprintf(path, sizeof path, "%s/stderr", w.directory);
    assert_non_null(freopen(path, "w", stderr));
    exec_world_expect(&w, "Bearer t0ken-1", true);
    fflush(stderr);
    assert_int_equal(dup2(saved, 2), 2);
    close(saved);
    assert_int_equal(strstr(exec_world_read(&w, "stderr"), "a line") != NULL,
                     to == KIN_EXEC_STDERR_INHERIT);
    assert_int_equal(strstr(w.lines, "a line") != NULL,
                     to == KIN_EXEC_STDERR_LOG);
    exec_world_finish(&w);
  }
}

/* --- Certificates --------------------------------------------------------- */

/* What the script prints. */
static void write_pair_answer(exec_world *w, const char *token,
                              const char *certificate, const char *key) {
  char text[EXEC_ANSWER_SIZE];
  exec_answer(text, token, certificate, key);
  exec_world_file(w, "answer", text);
}

/* client-go TestCertificateExpirationTracker; XP-10. client-go
 * TestTLSCredentials; XP-06: only another certificate has another serial. */
static void test_exec_certificate(void **state) {
  (void)state;
  const tls_pki *pki = tls_pki_get();
  tls_cert_options options = {.name = "other",
                              .issuer = &pki->authority,
                              .from_s = -100,
                              .until_s = 1000};
  time_t now = time(NULL);
  tls_cert other = tls_cert_make(&options);
  char *pem = tls_cert_pem(&other);
  char *key = tls_cert_key_pem(&other);
  exec_world w;
  exec_world_begin(&w, "cat answer\n");
  write_pair_answer(&w, "t0ken-1", pki->client_pem, pki->client_key_pem);
  kin__credential found;
  bool has_waited;
  assert_int_equal(exec_world_ask(&w, &found, &has_waited), 0);
  assert_string_equal(found.value, "Bearer t0ken-1");
  assert_string_equal(found.certificate, pki->client_pem);
  assert_string_equal(found.key, pki->client_key_pem);
  assert_int_equal(found.pair_serial, 1);
  write_pair_answer(&w, "t0ken-2", pki->client_pem, pki->client_key_pem);
  exec_world_reject(&w);
  assert_int_equal(exec_world_ask(&w, &found, &has_waited), 0);
  assert_string_equal(found.value, "Bearer t0ken-2");
  assert_int_equal(found.pair_serial, 1);
  write_pair_answer(&w, "t0ken-2", pem, key);
  exec_world_reject(&w);
  exec_world_advance(&w, 10000);
  assert_int_equal(exec_world_ask(&w, &found, &has_waited), 0);
  assert_string_equal(found.certificate, pem);
  assert_int_equal(found.pair_serial, 2);
  const kin__exec_stats *stats = kin__exec_plugin_get_stats(w.plugin);
  assert_in_range(stats->certificate_expires_s, now + 990, now + 1100);
  exec_world_script(&w, EXEC_TOKEN("t0ken-3")); /* no certificate any more */
  exec_world_reject(&w);
  exec_world_advance(&w, 10000);
  assert_int_equal(exec_world_ask(&w, &found, &has_waited), 0);
  assert_string_equal(found.value, "Bearer t0ken-3");
  assert_null(found.certificate);
  assert_int_equal(found.pair_serial, 3);
  assert_int_equal(stats->certificate_expires_s, 0);
  /* A key of another certificate: nothing changes. */
  exec_world_script(&w, "cat answer\n");
  write_pair_answer(&w, "t0ken-4", pem, pki->client_key_pem);
  exec_world_reject(&w);
  exec_world_advance(&w, 10000);
  assert_int_equal(exec_world_ask(&w, &found, &has_waited), 0);
  assert_true(has_waited);
  assert_string_equal(found.value, "Bearer t0ken-3");
  assert_non_null(strstr(w.lines, "does not belong to the client certificate"));
  assert_int_equal(stats->unusable, 1);
  exec_world_finish(&w);
  free(pem);
  free(key);
  tls_cert_finish(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exec_arguments_and_environment),
      cmocka_unit_test(test_exec_cluster_info),
      cmocka_unit_test(test_exec_cluster_too_large),
      cmocka_unit_test(test_exec_interactive),
      cmocka_unit_test(test_exec_expiry),
      cmocka_unit_test(test_exec_wall_clock_jumps),
      cmocka_unit_test(test_exec_rejected),
      cmocka_unit_test(test_exec_rejected_and_failed),
      cmocka_unit_test(test_exec_one_run_for_all),
      cmocka_unit_test(test_exec_fails),
      cmocka_unit_test(test_exec_backoff),
      cmocka_unit_test(test_exec_success_ends_the_backoff),
      cmocka_unit_test(test_exec_output_limit),
      cmocka_unit_test(test_exec_missing),
      cmocka_unit_test(test_exec_not_executable),
      cmocka_unit_test(test_exec_denied),
      cmocka_unit_test(test_exec_counts),
      cmocka_unit_test(test_exec_timeout),
      cmocka_unit_test(test_exec_timeout_of_a_group),
      cmocka_unit_test(test_exec_timeout_of_a_deaf_child),
      cmocka_unit_test(test_exec_timeout_without_output),
      cmocka_unit_test(test_exec_timeout_of_a_late_loop),
      cmocka_unit_test(test_exec_late_output),
      cmocka_unit_test(test_exec_grandchild),
      cmocka_unit_test(test_exec_stderr_log),
      cmocka_unit_test(test_exec_stderr_bounds),
      cmocka_unit_test(test_exec_stderr_elsewhere),
      cmocka_unit_test(test_exec_certificate),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
