/* SPDX-License-Identifier: MIT */
/* Proves XP-09 (which plugins the program allows), the look-up of XP-08, and
 * the options of XP-01 and XP-03 that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include <uv.h>

#include <kin/error.h>

#include "config/exec_command.h"
#include "config/exec_config.h"
#include "config/exec_environment.h"
#include "config/path_clean.h"
#include "support/fail_alloc.h"
#include "support/tls_certs.h"

#define V1 "client.authentication.k8s.io/v1"

/* --- Paths ---------------------------------------------------------------- */

static void test_path_clean(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"", "."},
                                         {"a", "a"},
                                         {".", "."},
                                         {"..", ".."},
                                         {"/", "/"},
                                         {"//", "/"},
                                         {"/..", "/"},
                                         {"/../a", "/a"},
                                         {"./a", "a"},
                                         {"a/", "a"},
                                         {"a//b", "a/b"},
                                         {"a/./b", "a/b"},
                                         {"a/../b", "b"},
                                         {"a/..", "."},
                                         {"a/b/..", "a"},
                                         {"../a", "../a"},
                                         {"../../a", "../../a"},
                                         {"a/../../b", "../b"},
                                         {"/a/b/../../..", "/"},
                                         {"/a/./b/../c/", "/a/c"},
                                         {"../a/..", ".."},
                                         {"a..", "a.."},
                                         {"..a/b", "..a/b"},
                                         {"/a/...", "/a/..."}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char path[64];
    snprintf(path, sizeof path, "%s", cases[i][0]);
    kin__path_clean(path);
    assert_string_equal(path, cases[i][1]);
  }
}

/* --- Looking up ----------------------------------------------------------- */

typedef struct tree {
  char directory[64];
  char path[512]; /* PATH: a relative entry, two directories, one that is not */
  char tool[128]; /* DIRECTORY/b/tool, executable; a/tool is not */
} tree;

static void make_file(const tree *t, const char *name, mode_t mode) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", t->directory, name);
  tls_write_file(path, "#!/bin/sh\n");
  assert_int_equal(chmod(path, mode), 0);
}

static void tree_init(tree *t) {
  snprintf(t->directory, sizeof t->directory, "/tmp/kin-test-XXXXXX");
  assert_non_null(mkdtemp(t->directory));
  static const char *const folders[] = {"a", "b", "b/folder"};
  for (size_t i = 0; i < 3; i++) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", t->directory, folders[i]);
    assert_int_equal(mkdir(path, 0700), 0);
  }
  make_file(t, "a/tool", 0600);
  make_file(t, "b/tool", 0700);
  make_file(t, "a/other", 0600);
  snprintf(t->path, sizeof t->path, "b:.::/%s/a:%s/no:%s//b/", t->directory,
           t->directory, t->directory);
  snprintf(t->tool, sizeof t->tool, "%s/b/tool", t->directory);
}

static void tree_finish(const tree *t) {
  static const char *const names[] = {"a/tool", "b/tool",   "a/other",
                                      "a",      "b/folder", "b"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", t->directory, names[i]);
    assert_int_equal(remove(path), 0);
  }
  assert_int_equal(rmdir(t->directory), 0);
}

static int look(const tree *t, const char *command, char *file) {
  kin__exec_command found = {.command = command, .path = t->path};
  kin__exec_command_resolve(&found);
  assert_false(found.is_denied);
  snprintf(file, KIN__EXEC_PATH_SIZE, "%s", found.file);
  return found.code;
}

/* XP-08: the first executable of PATH; relative entries of PATH do not
 * count. */
static void test_command_look_up(void **state) {
  (void)state;
  tree t;
  tree_init(&t);
  char file[KIN__EXEC_PATH_SIZE];
  assert_int_equal(look(&t, "tool", file), 0);
  assert_string_equal(file, t.tool);
  assert_int_equal(look(&t, t.tool, file), 0);
  assert_string_equal(file, t.tool);
  assert_int_equal(look(&t, "none", file), UV_ENOENT);
  assert_string_equal(file, "");
  assert_int_equal(look(&t, "/none", file), UV_ENOENT);
  assert_int_equal(look(&t, "folder", file), UV_EACCES);
  assert_int_equal(look(&t, "/", file), UV_EACCES);
  if (geteuid() != 0) {
    assert_int_equal(look(&t, "other", file), UV_EACCES);
  }
  kin__exec_command found = {.command = "tool", .path = NULL};
  kin__exec_command_resolve(&found);
  assert_int_equal(found.code, UV_ENOENT);
  char *large = malloc(KIN__EXEC_PATH_SIZE + 1);
  assert_non_null(large);
  memset(large, '/', KIN__EXEC_PATH_SIZE);
  large[KIN__EXEC_PATH_SIZE] = '\0';
  assert_int_equal(look(&t, large, file), UV_ENAMETOOLONG);
  memset(large, 'x', KIN__EXEC_PATH_SIZE);
  assert_int_equal(look(&t, large, file), UV_ENOENT);
  free(large);
  tree_finish(&t);
}

/* As in Go, an entry of PATH is cleaned first: the file that is checked is the
 * file that runs, also if the entry goes up from a link. */
static void test_command_look_up_cleans(void **state) {
  (void)state;
  tree t;
  tree_init(&t);
  char link[128];
  char target[128];
  char file[KIN__EXEC_PATH_SIZE];
  snprintf(link, sizeof link, "%s/a/link", t.directory);
  snprintf(target, sizeof target, "%s/b/folder", t.directory);
  assert_int_equal(symlink(target, link), 0);
  snprintf(t.path, sizeof t.path, "%s/..", link); /* b by links, a by words */
  make_file(&t, "b/only", 0700);
  assert_int_equal(look(&t, "only", file), UV_ENOENT);
  size_t length = strlen(t.path);
  snprintf(t.path + length, sizeof t.path - length, ":%s/a/../b", t.directory);
  assert_int_equal(look(&t, "only", file), 0);
  snprintf(target, sizeof target, "%s/b/only", t.directory);
  assert_string_equal(file, target);
  assert_int_equal(unlink(target), 0);
  assert_int_equal(unlink(link), 0);
  tree_finish(&t);
}

static bool allows(const tree *t, const char *command, const char *first,
                   const char *second) {
  char *list[] = {(char *)first, (char *)second};
  kin__exec_command found = {.command = command,
                             .path = t->path,
                             .policy = KIN_EXEC_POLICY_ALLOWLIST,
                             .allowlist = list,
                             .allowlist_count = second != NULL ? 2 : 1};
  kin__exec_command_resolve(&found);
  return !found.is_denied;
}

/* client-go TestPluginPolicy; XP-09. */
static void test_command_policy(void **state) {
  (void)state;
  tree t;
  tree_init(&t);
  char other[128];
  snprintf(other, sizeof other, "%s/a/tool", t.directory);
  assert_true(allows(&t, "tool", "tool", NULL));
  assert_true(allows(&t, "tool", t.tool, NULL));
  assert_true(allows(&t, "tool", "none", "tool"));
  assert_true(allows(&t, t.tool, t.tool, NULL));
  assert_true(allows(&t, t.tool, "tool", NULL));
  assert_true(allows(&t, "none", "none", NULL)); /* not found, but allowed */
  assert_false(allows(&t, "tool", "other", "none"));
  assert_false(allows(&t, "tool", "too", "tool2"));
  assert_false(allows(&t, "tool", "/bin/tool", NULL));
  assert_false(allows(&t, "none", "tool", NULL));
  assert_false(allows(&t, other, "tool", NULL));
  kin__exec_command denied = {.command = t.tool,
                              .policy = KIN_EXEC_POLICY_DENY_ALL};
  kin__exec_command_resolve(&denied);
  assert_true(denied.is_denied);
  tree_finish(&t);
}

/* --- Options -------------------------------------------------------------- */

static const kin__exec_server server = {.url = "https://server",
                                        .tls_server_name = "name",
                                        .authority_data = "data",
                                        .authority_file = "/file",
                                        .is_insecure = true};

static const char *const args[] = {"one", "t0ken-two"};
static const kin_exec_variable variables[] = {{"A", "t0ken-a"}, {"B", ""}};
static const char *const allowlist[] = {"tool", "/bin/tool"};

static kin_exec_plugin good_plugin(void) {
  kin_exec_plugin plugin = KIN_EXEC_PLUGIN_INIT;
  plugin.api_version = V1;
  plugin.command = "/usr//bin/../tool";
  plugin.args = args;
  plugin.arg_count = 2;
  plugin.variables = variables;
  plugin.variable_count = 2;
  plugin.install_hint = "get\nit";
  plugin.interactive = KIN_EXEC_INTERACTIVE_NEVER;
  plugin.stdin_unavailable_message = "busy";
  plugin.provide_cluster_info = true;
  plugin.proxy_url = "http://proxy";
  plugin.cluster_config = "{}";
  plugin.policy = KIN_EXEC_POLICY_ALLOWLIST;
  plugin.allowlist = allowlist;
  plugin.allowlist_count = 2;
  return plugin;
}

static void expect_config_problem(const kin_exec_plugin *plugin,
                                  const char *words) {
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  char problem[KIN__PROBLEM_SIZE] = "";
  kin__log log = {.problem = problem};
  kin__exec_config config;
  assert_int_equal(
      kin__exec_config_init(&config, &memory.allocator, plugin, &server, &log),
      KIN_EINVAL);
  if (strstr(problem, words) == NULL) {
    fail_msg("\"%s\" instead of \"%s\"", problem, words);
  }
  assert_null(strstr(problem, "t0ken"));
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
}

/* client-go TestRefreshCreds; XP-01 (a version that there is not), XP-03 (v1
 * needs a mode). */
static void test_config_refused(void **state) {
  (void)state;
  kin_exec_plugin p = good_plugin();
  p.api_version = NULL;
  expect_config_problem(&p, "exec.api_version: is required");
  p.api_version = "client.authentication.k8s.io/v1alpha1";
  expect_config_problem(&p, "v1alpha1\" is neither");
  p = good_plugin();
  p.interactive = KIN_EXEC_INTERACTIVE_UNSET;
  expect_config_problem(&p, "exec.interactive: is required");
  p.interactive = (kin_exec_interactive)4;
  expect_config_problem(&p, "exec.interactive: there is no value 4");
  p = good_plugin();
  p.command = NULL;
  expect_config_problem(&p, "exec.command: is required");
  p.command = "";
  expect_config_problem(&p, "exec.command: is required");
  p = good_plugin();
  p.stderr_to = (kin_exec_stderr)3;
  expect_config_problem(&p, "exec.stderr_to: there is no value 3");
  p = good_plugin();
  p.timeout_ms = 3600001;
  expect_config_problem(&p, "exec.timeout_ms: 3600001 is more than 3600000");
  p = good_plugin();
  p.arg_count = 1025;
  expect_config_problem(&p, "exec.args: 1025 are more than 1024");
  p.arg_count = 1;
  p.args = NULL;
  expect_config_problem(&p, "exec.args: is NULL");
  static const char *const no_args[] = {"a", NULL};
  p.args = no_args;
  p.arg_count = 2;
  expect_config_problem(&p, "exec.args: number 2 is NULL");
  p = good_plugin();
  static const kin_exec_variable bad[] = {
      {NULL, "v"}, {"", "v"}, {"a=t0ken", "v"}, {"a", NULL}};
  for (size_t i = 0; i < 4; i++) {
    p.variables = &bad[i];
    p.variable_count = 1;
    expect_config_problem(&p, "exec.variables: number 1 has no name");
  }
  p.variable_count = 1025;
  expect_config_problem(&p, "exec.variables: 1025 are more than 1024");
  p = good_plugin();
  p.cluster_config = "{";
  expect_config_problem(&p, "exec.cluster_config: is no JSON");
}

static void test_config_limit(void **state) {
  (void)state;
  kin_exec_plugin p = good_plugin();
  size_t limit = 64u << 10;
  char *large = malloc(limit + 2);
  assert_non_null(large);
  memset(large, ' ', limit + 1);
  large[0] = '1';
  large[limit + 1] = '\0';
  p.cluster_config = large;
  expect_config_problem(&p, "has more than 64 KiB");
  large[limit] = '\0';
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__exec_config config;
  assert_int_equal(
      kin__exec_config_init(&config, &memory.allocator, &p, &server, NULL), 0);
  kin__exec_config_finish(&config, &memory.allocator);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  free(large);
}

/* client-go TestPluginPolicy; XP-09. */
static void test_config_policy_refused(void **state) {
  (void)state;
  kin_exec_plugin p = good_plugin();
  p.policy = (kin_exec_policy)3;
  expect_config_problem(&p, "exec.policy: there is no value 3");
  p.policy = KIN_EXEC_POLICY_DENY_ALL;
  expect_config_problem(&p, "exec.allowlist: needs the policy ALLOWLIST");
  p.policy = KIN_EXEC_POLICY_ALLOW_ALL;
  expect_config_problem(&p, "exec.allowlist: needs the policy ALLOWLIST");
  p.policy = KIN_EXEC_POLICY_ALLOWLIST;
  p.allowlist_count = 0;
  expect_config_problem(&p, "exec.allowlist: is empty");
  static const char *const empty[] = {"a", ""};
  p.allowlist = empty;
  p.allowlist_count = 2;
  expect_config_problem(&p, "exec.allowlist: number 2 is empty");
  static const char *const odd[] = {"/a//b"};
  p.allowlist = odd;
  p.allowlist_count = 1;
  expect_config_problem(&p, "\"/a//b\" is not normalized, which would be "
                            "\"/a/b\"");
}

static void test_config_copies(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  memory.secrets[0] = "t0ken";
  kin_exec_plugin p = good_plugin();
  kin__exec_config c;
  assert_int_equal(
      kin__exec_config_init(&c, &memory.allocator, &p, &server, NULL), 0);
  assert_string_equal(c.command, "/usr/tool");
  assert_string_equal(c.args[0], "/usr//bin/../tool");
  assert_string_equal(c.args[2], "t0ken-two");
  assert_null(c.args[3]);
  assert_string_equal(c.variables[0], "A=t0ken-a");
  assert_string_equal(c.variables[1], "B=");
  assert_null(c.variables[2]);
  assert_string_equal(c.install_hint, "get it");
  assert_string_equal(c.url, "https://server");
  assert_string_equal(c.tls_server_name, "name");
  assert_string_equal(c.authority_data, "data");
  assert_true(c.is_insecure);
  assert_int_equal(c.interactive, KIN_EXEC_INTERACTIVE_NEVER);
  kin__exec_config_finish(&c, &memory.allocator);
  /* XP-03: the default of v1beta1. */
  p.api_version = V1 "beta1";
  p.interactive = KIN_EXEC_INTERACTIVE_UNSET;
  p.provide_cluster_info = false;
  p.command = "./tool";
  assert_int_equal(
      kin__exec_config_init(&c, &memory.allocator, &p, &server, NULL), 0);
  assert_int_equal(c.interactive, KIN_EXEC_INTERACTIVE_IF_AVAILABLE);
  assert_string_equal(c.command, "./tool"); /* not to be looked up */
  assert_null(c.url);
  kin__exec_config_finish(&c, &memory.allocator);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  assert_int_equal(atomic_load(&memory.leaked_secrets), 0);
}

/* client-go TestCreateAuthConfigExecInstallHintCleanup,
 * TestCleanANSIEscapeCodes; XP-08: a terminal does not obey the hint. */
static void test_config_hint(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin_exec_plugin p = good_plugin();
  char hint[400];
  memset(hint, 'x', sizeof hint - 1);
  hint[sizeof hint - 1] = '\0';
  memcpy(hint, "\x1b[2J\a", 5);
  p.install_hint = hint;
  kin__exec_config c;
  assert_int_equal(
      kin__exec_config_init(&c, &memory.allocator, &p, &server, NULL), 0);
  assert_int_equal(strlen(c.install_hint), 256);
  assert_memory_equal(c.install_hint, " [2J xx", 7);
  kin__exec_config_finish(&c, &memory.allocator);
}

static bool run_config_without_memory(size_t fail_at) {
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  memory.secrets[0] = "t0ken";
  kin_exec_plugin p = good_plugin();
  kin__exec_config c;
  int err = kin__exec_config_init(&c, &memory.allocator, &p, &server, NULL);
  bool has_failed = fail_alloc_has_failed(&memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  kin__exec_config_finish(&c, &memory.allocator);
  assert_int_equal(atomic_load(&memory.live_blocks), 0);
  assert_int_equal(atomic_load(&memory.leaked_secrets), 0);
  return has_failed;
}

static void test_config_out_of_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_config_without_memory, 20);
}

/* --- Environment ---------------------------------------------------------- */

static int count_named(char **all, const char *name, const char **last) {
  int count = 0;
  for (size_t i = 0; all[i] != NULL; i++) {
    size_t length = strlen(name);
    if (strncmp(all[i], name, length) == 0 && all[i][length] == '=') {
      count++;
      *last = all[i] + length + 1;
    }
  }
  return count;
}

/* XP-02: a later variable of a name replaces the earlier ones. */
static void test_environment(void **state) {
  (void)state;
  assert_int_equal(setenv("KIN_TEST_A", "host", 1), 0);
  assert_int_equal(setenv("KIN_TEST_AB", "host", 1), 0);
  assert_int_equal(setenv("INFO", "host", 1), 0);
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  char one[] = "KIN_TEST_A=one";
  char two[] = "KIN_TEST_A=two";
  char wrong[] = "INFO=wrong";
  char *added[] = {one, wrong, two, NULL};
  char info[] = "INFO=right=1";
  char **all = kin__exec_environment_new(&memory.allocator, added, info);
  const char *value;
  assert_int_equal(count_named(all, "KIN_TEST_A", &value), 1);
  assert_string_equal(value, "two");
  assert_int_equal(count_named(all, "KIN_TEST_AB", &value), 1);
  assert_string_equal(value, "host");
  assert_int_equal(count_named(all, "INFO", &value), 1);
  assert_string_equal(value, "right=1");
  assert_int_equal(count_named(all, "PATH", &value), 1);
  memory.allocator.free(memory.allocator.ctx, all);
  fail_alloc_init(&memory, 1);
  assert_null(kin__exec_environment_new(&memory.allocator, added, info));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_path_clean),
      cmocka_unit_test(test_command_look_up),
      cmocka_unit_test(test_command_look_up_cleans),
      cmocka_unit_test(test_command_policy),
      cmocka_unit_test(test_config_refused),
      cmocka_unit_test(test_config_limit),
      cmocka_unit_test(test_config_policy_refused),
      cmocka_unit_test(test_config_copies),
      cmocka_unit_test(test_config_hint),
      cmocka_unit_test(test_config_out_of_memory),
      cmocka_unit_test(test_environment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
