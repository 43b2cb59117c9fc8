/* SPDX-License-Identifier: MIT */

/* A client that finds its server in a kubeconfig: opened by one line, with a
 * file that is missing, wrong, right, and other than before. Proves KC-02,
 * KC-05 and KC-09 of a client, and the promises of kin/kubeconfig.h about
 * kin_client_open_kubeconfig. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <kin/discovery.h>
#include <kin/kin.h>
#include <kin/kubeconfig.h>
#include <kin/request.h>

#include "support/client_world.h"
#include "support/kube_route.h"
#include "support/pool_plug.h"

#define REFUSED "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"

static const loop_reply only_refuse[] = {{.bytes = REFUSED}};

typedef struct bench {
  client_world w;    /* its server is the right one */
  loop_server wrong; /* refuses */
  char path[64];
  const char *context;
  kin_exec_policy policy;
  int answers; /* of requests and look-ups */
} bench;

static void write_file(const bench *b, const char *text) {
  char made[80];
  snprintf(made, sizeof made, "%s.new", b->path);
  FILE *file = fopen(made, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(rename(made, b->path), 0);
}

/* Two contexts: r has the right server, w the wrong one. */
static void write_config_of(const bench *b, const char *current,
                            const char *right) {
  char text[1024];
  snprintf(text, sizeof text,
           "apiVersion: v1\nkind: Config\n"
           "clusters:\n"
           "- name: right\n  cluster: {server: \"%s\"}\n"
           "- name: wrong\n  cluster: {server: \"%s\"}\n"
           "contexts:\n"
           "- name: r\n  context: {cluster: right}\n"
           "- name: w\n  context: {cluster: wrong}\n"
           "current-context: %s\n",
           right, b->wrong.url, current);
  write_file(b, text);
}

static void write_config(const bench *b, const char *current) {
  write_config_of(b, current, b->w.server.url);
}

static int open_kubeconfig(client_world *w) {
  const bench *b = w->data;
  kin_kubeconfig_options which = KIN_KUBECONFIG_OPTIONS_INIT;
  which.path = b->path;
  which.context = b->context;
  return kin_client_open_kubeconfig(&w->client, &w->loop, &which, &w->options);
}

static int open_eagerly(client_world *w) {
  bench *b = w->data;
  return kin__client_open(&w->client, &w->loop, &w->options, kube_route_open,
                          b->path);
}

static void bench_init(bench *b) {
  memset(b, 0, sizeof *b);
  client_world_serve(&b->w, client_list_and_watch, 2);
  b->w.options.server = NULL;
  b->w.open = open_kubeconfig;
  b->w.data = b;
  snprintf(b->path, sizeof b->path, "/tmp/kin-open-XXXXXX");
  int fd = mkstemp(b->path);
  assert_true(fd >= 0);
  close(fd);
  loop_server_open(&b->wrong, &b->w.loop, only_refuse, 1);
}

/* A failed request is followed by the next one at once, before which the file
 * is read. */
static void bench_init_eager(bench *b) {
  bench_init(b);
  b->w.open = open_eagerly;
  b->w.retry_after_ms = 1;
}

static void bench_finish(bench *b) {
  loop_server_close(&b->wrong);
  client_world_finish(&b->w);
  unlink(b->path);
}

/* --- Tests ---------------------------------------------------------------- */

static int open_default(client_world *w) {
  return kin_client_open_default(&w->client, &w->loop);
}

static void test_open_default(void **state) {
  (void)state;
  bench b;
  bench_init(&b);
  write_config(&b, "r");
  assert_int_equal(setenv("KUBECONFIG", b.path, 1), 0);
  b.w.open = open_default;
  assert_int_equal(client_world_open_client(&b.w), 0);
  /* The environment is that of the call. */
  assert_int_equal(unsetenv("KUBECONFIG"), 0);
  assert_int_equal(client_world_open_informer(&b.w, "pods"), 0);
  CLIENT_UNTIL(&b.w, b.w.deletes == 1);
  assert_int_equal(b.w.errors, 0);
  bench_finish(&b);
}

static int open_beside(client_world *w) {
  const bench *b = w->data;
  kin_kubeconfig_options which = KIN_KUBECONFIG_OPTIONS_INIT;
  which.path = b->context != NULL ? strrchr(b->path, '/') + 1 : NULL;
  return kin_client_open_kubeconfig(&w->client, &w->loop, &which, &w->options);
}

/* A daemon names a file in its folder, and then leaves the folder. */
static void test_open_and_leave_the_folder(void **state) {
  (void)state;
  char before[1024];
  assert_non_null(getcwd(before, sizeof before));
  for (int is_option = 0; is_option < 2; is_option++) {
    bench b;
    bench_init(&b);
    write_config(&b, "r");
    b.context = is_option != 0 ? "r" : NULL;
    b.w.open = open_beside;
    assert_int_equal(setenv("KUBECONFIG", strrchr(b.path, '/') + 1, 1), 0);
    assert_int_equal(chdir("/tmp"), 0);
    assert_int_equal(client_world_open_client(&b.w), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(unsetenv("KUBECONFIG"), 0);
    assert_int_equal(client_world_open_informer(&b.w, "pods"), 0);
    CLIENT_UNTIL(&b.w, b.w.deletes == 1);
    assert_int_equal(b.w.errors, 0);
    bench_finish(&b);
  }
  assert_int_equal(chdir(before), 0);
}

static void test_open_a_context(void **state) {
  (void)state;
  bench b;
  bench_init(&b);
  write_config(&b, "w");
  b.context = "r";
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.deletes == 1);
  assert_int_equal(b.wrong.accepted, 0);
  bench_finish(&b);
}

/* Wrong twice, in two ways, and then right: each request reads anew. */
static void test_open_with_a_file_that_comes_later(void **state) {
  (void)state;
  bench b;
  bench_init(&b);
  unlink(b.path);
  b.w.retry_after_ms = 1;
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors == 1);
  assert_int_equal(b.w.code, KIN_EINVAL);
  assert_int_equal(b.w.error_class, KIN_CLASS_AUTH);
  assert_non_null(strstr(b.w.message, b.path));
  write_file(&b, "clusters: [\n");
  CLIENT_UNTIL(&b.w, b.w.errors == 2);
  assert_int_equal(b.w.code, KIN_EINVAL);
  assert_non_null(strstr(b.w.message, b.path));
  write_config(&b, "r");
  CLIENT_UNTIL(&b.w, b.w.deletes == 1);
  assert_int_equal(b.w.errors, 2);
  bench_finish(&b);
}

static void expect_no_server(const bench *b, int code,
                             kin_error_class error_class, const char *message) {
  assert_int_equal(code, KIN_EINVAL);
  assert_int_equal(error_class, KIN_CLASS_AUTH);
  assert_non_null(strstr(message, b->path));
}

static void on_response(const kin_response *response, void *data) {
  bench *b = data;
  expect_no_server(b, response->code, response->error_class, response->message);
  assert_int_equal(response->status, 0);
  assert_int_equal(response->reason, KIN_REASON_NONE);
  assert_non_null(response->details_kind.data);
  assert_non_null(response->details_name.data);
  assert_non_null(response->body.data);
  b->answers++;
}

static void on_discovery(const kin_discovery_result *result, void *data) {
  bench *b = data;
  expect_no_server(b, result->code, result->error_class, result->message);
  assert_int_equal(result->status, 0);
  assert_int_equal(result->near_count, 0);
  b->answers++;
}

/* Without a file there is no server that could say "not found". */
static void test_open_without_a_file_asks_no_server(void **state) {
  (void)state;
  bench b;
  bench_init(&b);
  unlink(b.path);
  assert_int_equal(client_world_open_client(&b.w), 0);
  kin_request_spec spec = KIN_REQUEST_SPEC_INIT;
  spec.plural = "configmaps";
  spec.namespace_ = "n";
  spec.name = "c";
  assert_int_equal(kin_request_start(NULL, b.w.client, &spec, on_response, &b),
                   0);
  CLIENT_UNTIL(&b.w, b.answers == 1);
  assert_int_equal(
      kin_discovery_find(NULL, b.w.client, "pods", on_discovery, &b), 0);
  CLIENT_UNTIL(&b.w, b.answers == 2);
  bench_finish(&b);
}

/* Settings that can be read, and not used: each request is told why, and other
 * settings cure that. */
static void test_open_with_settings_of_no_use(void **state) {
  (void)state;
  bench b;
  bench_init(&b);
  b.w.retry_after_ms = 1;
  char text[512];
  snprintf(text, sizeof text,
           "apiVersion: v1\nkind: Config\n"
           "clusters:\n- name: c\n"
           "  cluster: {server: \"%s\", proxy-url: \"http://a:99999\"}\n"
           "contexts:\n- name: r\n  context: {cluster: c}\n"
           "current-context: r\n",
           b.w.server.url);
  write_file(&b, text);
  client_world_open(&b.w);
  for (int error = 1; error <= 2; error++) {
    CLIENT_UNTIL(&b.w, b.w.errors == error);
    assert_int_equal(b.w.error_class, KIN_CLASS_AUTH);
    assert_non_null(strstr(b.w.message, "proxy"));
  }
  write_config(&b, "r");
  CLIENT_UNTIL(&b.w, b.w.deletes == 1);
  assert_int_equal(b.w.errors, 2);
  bench_finish(&b);
}

/* Settings of no use, with a user that does not exist. */
static void write_absent_user(const bench *b, const char *user) {
  char text[512];
  snprintf(text, sizeof text,
           "apiVersion: v1\nkind: Config\n"
           "clusters:\n- name: c\n"
           "  cluster: {server: \"%s\", proxy-url: \"http://a:99999\"}\n"
           "contexts:\n- name: r\n  context: {cluster: c, user: %s}\n"
           "current-context: r\n",
           b->w.server.url, user);
  write_file(b, text);
}

/* Each request searches anew; the log has a warning again if another one, or
 * none, came between. */
static void test_open_warns_once(void **state) {
  (void)state;
  bench b;
  bench_init_eager(&b);
  client_output *output = calloc(1, sizeof *output);
  assert_non_null(output);
  client_world_keep_output(&b.w, output);
  write_absent_user(&b, "gone");
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors == 3);
  write_absent_user(&b, "away");
  CLIENT_UNTIL(&b.w, b.w.errors == 5);
  write_absent_user(&b, "gone");
  CLIENT_UNTIL(&b.w, b.w.errors == 6);
  static const char *const users[] = {"\"gone\"", "\"away\"", "\"gone\""};
  const char *from = output->text;
  for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
    from = strstr(from, "names a user ");
    assert_non_null(from);
    from += strlen("names a user ");
    assert_memory_equal(from, users[i], strlen(users[i]));
  }
  assert_null(strstr(from, "names a user "));
  bench_finish(&b);
  free(output);
}

/* The current context changes after the client has chosen one, and so does the
 * address in the chosen context: only the second counts. */
static void test_open_stays_in_its_context(void **state) {
  (void)state;
  bench b;
  bench_init_eager(&b);
  write_config(&b, "w");
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors == 1);
  assert_int_equal(b.w.error_class, KIN_CLASS_AUTH);
  write_config(&b, "r");
  CLIENT_UNTIL(&b.w, b.w.errors == 2);
  assert_int_equal(b.w.server.accepted, 0);
  char url[64];
  snprintf(url, sizeof url, "%s", b.wrong.url);
  snprintf(b.wrong.url, sizeof b.wrong.url, "%s", b.w.server.url);
  write_config(&b, "r");
  snprintf(b.wrong.url, sizeof b.wrong.url, "%s", url);
  CLIENT_UNTIL(&b.w, b.w.deletes == 1);
  assert_int_equal(b.w.errors, 2);
  bench_finish(&b);
}

#define LISTED(version, pod) ANSWER_TO_END ANSWER_PODS(version, pod)

/* KC-12: the chosen context gets the address of another cluster, and then the
 * first one again. A version of the one says nothing in the other. So all is
 * listed, although each server would let the watch go on. */
static void test_open_moves_to_another_cluster(void **state) {
  (void)state;
  static const loop_reply here[] = {
      {.bytes = ANSWER_LISTED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_WATCHED, .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED}, /* back again */
      {.bytes = LISTED("20", ANSWER_POD("b", "2", "6")), .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED}};
  static const loop_reply there[] = {
      {.bytes = ANSWER_CHUNKED},
      {.bytes = LISTED("9", ANSWER_POD("b", "3", "6")), .then = LOOP_CLOSE},
      {.bytes = ANSWER_CHUNKED, .then = LOOP_CLOSE}};
  bench b;
  bench_init_eager(&b);
  loop_server other;
  loop_server_open(&other, &b.w.loop, there, 3);
  loop_server_answer(&b.w.server, here, 5);
  write_config(&b, "r");
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.server.requests == 2);
  write_config_of(&b, "w", other.url); /* r stays the chosen context */
  CLIENT_UNTIL(&b.w, other.requests == 3);
  write_config(&b, "r");
  assert_int_equal(b.w.code, KIN_EGONE);
  b.w.code = 0;
  assert_non_null(strstr(b.w.message, "another address"));
  assert_int_equal(b.w.adds, 3);
  assert_int_equal(b.w.deletes, 2);
  CLIENT_UNTIL(&b.w, b.w.server.requests == 5);
  assert_int_equal(b.w.code, KIN_EGONE);
  assert_int_equal(b.w.adds, 4);
  assert_int_equal(b.w.deletes, 3);
  loop_server_close(&other);
  bench_finish(&b);
}

/* No server was opened for the first context, because of the environment: the
 * client is in no context yet. */
static void test_open_leaves_a_context_of_no_use(void **state) {
  (void)state;
  bench b;
  bench_init(&b);
  b.w.retry_after_ms = 1;
  snprintf(b.wrong.url, sizeof b.wrong.url, "https://kube.example:1");
  write_config(&b, "w");
  assert_int_equal(setenv("HTTPS_PROXY", "ftp://h", 1), 0);
  client_world_open(&b.w);
  for (int error = 1; error <= 2; error++) {
    CLIENT_UNTIL(&b.w, b.w.errors == error);
    assert_non_null(strstr(b.w.message, "HTTPS_PROXY"));
  }
  write_config(&b, "r");
  CLIENT_UNTIL(&b.w, b.w.deletes == 1);
  assert_int_equal(b.w.errors, 2);
  assert_int_equal(unsetenv("HTTPS_PROXY"), 0);
  bench_finish(&b);
}

/* The cluster is named, and the file has users in contexts of it. */
static void write_users(const bench *b, const char *current) {
  char text[1024];
  snprintf(text, sizeof text,
           "apiVersion: v1\nkind: Config\n"
           "clusters:\n- name: c\n  cluster: {server: \"%s\"}\n"
           "users:\n- name: ua\n  user: {as: alice}\n"
           "- name: ub\n  user: {as: bob}\n"
           "contexts:\n- name: a\n  context: {cluster: c, user: ua}\n"
           "- name: b\n  context: {cluster: c, user: ub}\n"
           "current-context: \"%s\"\n",
           b->w.server.url, current);
  write_file(b, text);
}

static int open_cluster(client_world *w) {
  const bench *b = w->data;
  kin_kubeconfig_options which = KIN_KUBECONFIG_OPTIONS_INIT;
  which.path = b->path;
  which.cluster = "c";
  return kin_client_open_kubeconfig(&w->client, &w->loop, &which, &w->options);
}

/* The first search finds no context: the client stays with the first one that a
 * later search finds. */
static void test_open_stays_in_a_later_context(void **state) {
  (void)state;
  bench b;
  bench_init(&b);
  loop_server_answer(&b.w.server, only_refuse, 1);
  b.w.open = open_cluster;
  b.w.retry_after_ms = 1100; /* a search for each */
  write_users(&b, "");
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.errors == 1);
  assert_null(strstr(b.w.server.last_request, "Impersonate"));
  write_users(&b, "a");
  CLIENT_UNTIL(&b.w, b.w.errors == 2);
  assert_non_null(strstr(b.w.server.last_request, "Impersonate-User: alice"));
  write_users(&b, "b");
  for (int error = 3; error <= 4; error++) {
    CLIENT_UNTIL(&b.w, b.w.errors == error);
    assert_non_null(strstr(b.w.server.last_request, "Impersonate-User: alice"));
  }
  bench_finish(&b);
}

static int open_with_terms(client_world *w) {
  const bench *b = w->data;
  char entry[] = "/bin/true";
  const char *const allowlist[] = {entry};
  kin_exec_plugin terms = KIN_EXEC_PLUGIN_INIT;
  terms.policy = b->policy;
  terms.stderr_to = KIN_EXEC_STDERR_DISCARD;
  if (b->policy == KIN_EXEC_POLICY_ALLOWLIST) {
    terms.allowlist = allowlist;
    terms.allowlist_count = 1;
  }
  kin_kubeconfig_options which = KIN_KUBECONFIG_OPTIONS_INIT;
  which.path = b->path;
  which.exec = &terms;
  int err =
      kin_client_open_kubeconfig(&w->client, &w->loop, &which, &w->options);
  memset(entry, 'x', sizeof entry - 1); /* it has been copied */
  return err;
}

/* The program says which plugins of a kubeconfig may run: XP-09. Each case asks
 * for the credential twice. */
static void test_open_with_terms_for_plugins(void **state) {
  (void)state;
  static const struct {
    kin_exec_policy policy;
    const char *command;
    bool is_denied;
  } cases[] = {{KIN_EXEC_POLICY_ALLOW_ALL, "/bin/false", false},
               {KIN_EXEC_POLICY_DENY_ALL, "/bin/false", true},
               {KIN_EXEC_POLICY_ALLOWLIST, "/bin/false", true},
               {KIN_EXEC_POLICY_ALLOWLIST, "/bin/true", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bench b;
    bench_init(&b);
    b.policy = cases[i].policy;
    b.w.open = open_with_terms;
    b.w.retry_after_ms = 1;
    char text[512];
    snprintf(
        text, sizeof text,
        "apiVersion: v1\nkind: Config\n"
        "clusters:\n- name: c\n  cluster: {server: 'https://127.0.0.1:1'}\n"
        "users:\n- name: u\n  user: {exec: {apiVersion: "
        "client.authentication.k8s.io/v1, command: %s, "
        "interactiveMode: Never}}\n"
        "contexts:\n- name: r\n  context: {cluster: c, user: u}\n"
        "current-context: r\n",
        cases[i].command);
    write_file(&b, text);
    client_world_open(&b.w);
    for (int error = 1; error <= 2; error++) {
      CLIENT_UNTIL(&b.w, b.w.errors == error);
      assert_int_equal(b.w.error_class, KIN_CLASS_AUTH);
    }
    kin_client_stats stats = KIN_CLIENT_STATS_INIT;
    assert_int_equal(kin_client_get_stats(b.w.client, &stats), 0);
    assert_int_equal(stats.exec_denied > 0, cases[i].is_denied);
    assert_int_equal(stats.exec_failed + stats.exec_succeeded > 0,
                     !cases[i].is_denied);
    bench_finish(&b);
  }
}

static void test_open_bad_options(void **state) {
  (void)state;
  bench b;
  bench_init(&b);
  char problem[256];
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.allocator = &b.w.memory.allocator;
  options.problem = problem;
  options.problem_size = sizeof problem;
  options.token = "secret";
  assert_int_equal(
      kin_client_open_kubeconfig(&b.w.client, &b.w.loop, NULL, &options),
      KIN_EINVAL);
  assert_null(b.w.client);
  assert_string_equal(problem, "token: comes from the kubeconfig");
  options.token = NULL;
  kin_kubeconfig_options which = KIN_KUBECONFIG_OPTIONS_INIT;
  which.impersonate_group_count = 1;
  assert_int_equal(
      kin_client_open_kubeconfig(&b.w.client, &b.w.loop, &which, &options),
      KIN_EINVAL);
  assert_non_null(strstr(problem, "impersonate_groups"));
  which.impersonate_group_count = 0;
  kin_exec_plugin terms = KIN_EXEC_PLUGIN_INIT;
  terms.policy = KIN_EXEC_POLICY_ALLOWLIST;
  which.exec = &terms;
  assert_int_equal(
      kin_client_open_kubeconfig(&b.w.client, &b.w.loop, &which, &options),
      KIN_EINVAL);
  assert_non_null(strstr(problem, "exec.allowlist"));
  which.exec = NULL;
  which.size = 1;
  assert_int_equal(
      kin_client_open_kubeconfig(&b.w.client, &b.w.loop, &which, &options),
      KIN_EINVAL);
  assert_int_equal(kin_client_open_default(&b.w.client, NULL), KIN_EINVAL);
  assert_int_equal(kin_client_open_default(NULL, &b.w.loop), KIN_EINVAL);
  assert_int_equal(atomic_load(&b.w.memory.live_blocks), 0);
  bench_finish(&b);
}

/* Before the file is read, while it is read, and later. */
static void test_open_closes_at_any_time(void **state) {
  (void)state;
  for (int turns = 0; turns < 8; turns++) {
    bench b;
    bench_init(&b);
    write_config(&b, "r");
    client_world_open(&b.w);
    for (int i = 0; i < turns; i++) {
      uv_run(&b.w.loop, UV_RUN_NOWAIT);
    }
    bench_finish(&b);
    assert_int_equal(b.w.clients_closed, 1);
  }
}

/* Work of the program holds libuv's pool, so the reading has not begun. */
static void test_open_closes_beside_work_of_the_program(void **state) {
  (void)state;
  bench b;
  pool_plug plug;
  bench_init(&b);
  write_config(&b, "r");
  plug_open(&plug, &b.w.loop);
  client_world_open(&b.w);
  for (int i = 0; i < 8; i++) {
    uv_run(&b.w.loop, UV_RUN_NOWAIT);
  }
  assert_int_equal(client_world_close(&b.w), 0);
  CLIENT_UNTIL(&b.w, b.w.clients_closed == 1);
  assert_int_equal(plug.held, POOL_THREADS);
  plug_pull(&plug);
  plug_close(&plug);
  bench_finish(&b);
}

static bool close_in_callback(int close_at) {
  bench b;
  bench_init_eager(&b);
  write_config(&b, "w");
  b.w.close_at = close_at;
  client_world_open(&b.w);
  CLIENT_UNTIL(&b.w, b.w.client == NULL || b.w.errors == 1);
  char url[64];
  snprintf(url, sizeof url, "%s", b.wrong.url);
  snprintf(b.wrong.url, sizeof b.wrong.url, "%s", b.w.server.url);
  write_config(&b, "w");
  snprintf(b.wrong.url, sizeof b.wrong.url, "%s", url);
  CLIENT_UNTIL(&b.w, b.w.client == NULL || b.w.deletes == 1);
  bench_finish(&b);
  return b.w.was_reached;
}

static void test_open_closes_in_every_callback(void **state) {
  (void)state;
  assert_true(client_world_sweep_closes(close_in_callback) >= 5);
}

static bool run_without_memory(size_t n) {
  bench b;
  bench_init(&b);
  write_config(&b, "r");
  b.w.memory.fail_at = n;
  if (client_world_open(&b.w) == 0) {
    CLIENT_UNTIL(&b.w, b.w.deletes == 1 || b.w.errors > 0);
  }
  bench_finish(&b);
  return fail_alloc_has_failed(&b.w.memory);
}

static void test_open_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(run_without_memory, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_open_default),
      cmocka_unit_test(test_open_and_leave_the_folder),
      cmocka_unit_test(test_open_a_context),
      cmocka_unit_test(test_open_with_a_file_that_comes_later),
      cmocka_unit_test(test_open_without_a_file_asks_no_server),
      cmocka_unit_test(test_open_with_settings_of_no_use),
      cmocka_unit_test(test_open_warns_once),
      cmocka_unit_test(test_open_stays_in_its_context),
      cmocka_unit_test(test_open_moves_to_another_cluster),
      cmocka_unit_test(test_open_leaves_a_context_of_no_use),
      cmocka_unit_test(test_open_stays_in_a_later_context),
      cmocka_unit_test(test_open_with_terms_for_plugins),
      cmocka_unit_test(test_open_bad_options),
      cmocka_unit_test(test_open_closes_at_any_time),
      cmocka_unit_test(test_open_closes_beside_work_of_the_program),
      cmocka_unit_test(test_open_closes_in_every_callback),
      cmocka_unit_test(test_open_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
