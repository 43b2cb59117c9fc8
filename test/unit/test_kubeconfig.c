/* SPDX-License-Identifier: MIT */
/* <kin/kubeconfig.h> on real files: what it answers, which files it refuses
 * (KC-02), what it fills in for a client, and what it leaves behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include <kin/error.h>
#include <kin/kubeconfig.h>

#include "support/fail_alloc.h"
#include "support/tls_certs.h"
#include "transport/file.h"

static char folder[64];
static char path[128];
static char problem[4096];
static char lines[8192];
static kin_kubeconfig *config;
static kin_kubeconfig_options options;

/* Whether the program runs with more rights than its caller has. The C library
 * of Linux says so by secure_getenv. */
static bool is_elevated;

char *__wrap_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name) {
  return is_elevated ? NULL : getenv(name);
}

/* The text that the file gets once its size is known; NULL: the file stays. */
static const char *longer;

int __real_kin__file_stat(const char *name, kin__file_id *id);
int __wrap_kin__file_stat(const char *name, kin__file_id *id);
int __wrap_kin__file_stat(const char *name, kin__file_id *id) {
  int err = __real_kin__file_stat(name, id);
  if (longer != NULL) {
    tls_write_file(path, longer);
  }
  return err;
}

static void on_log(kin_log_level level, const char *line, void *data) {
  (void)data;
  size_t used = strlen(lines);
  snprintf(lines + used, sizeof lines - used, "%d %s\n", (int)level, line);
}

static int set_up(void **state) {
  (void)state;
  unsetenv("KUBECONFIG");
  unsetenv("HOME");
  unsetenv("KUBERNETES_SERVICE_HOST");
  unsetenv("KUBERNETES_SERVICE_PORT");
  snprintf(folder, sizeof folder, "/tmp/kin-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/config", folder);
  config = NULL;
  lines[0] = '\0';
  strcpy(problem, "what was here before");
  options = (kin_kubeconfig_options)KIN_KUBECONFIG_OPTIONS_INIT;
  options.path = path;
  options.problem = problem;
  options.problem_size = sizeof problem;
  options.log = on_log;
  is_elevated = false;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  kin_kubeconfig_free(config);
  unlink(path);
  rmdir(path);
  return rmdir(folder);
}

static void load_text(const char *text, int wanted) {
  kin_kubeconfig_free(config);
  tls_write_file(path, text);
  int err = kin_kubeconfig_load(&config, &options);
  if (err != wanted) {
    fail_msg("%s: %s", kin_err_name(err), problem);
  }
  assert_true((config != NULL) == (err == 0));
}

/* `rest` is what comes behind the path. */
static void expect_problem(const char *rest) {
  assert_memory_equal(problem, path, strlen(path));
  assert_string_equal(problem + strlen(path), rest);
}

#define CONFIG(cluster, user)                                                  \
  "clusters: [{name: c, cluster: {" cluster "}}]\n"                            \
  "users: [{name: u, user: {" user "}}]\n"                                     \
  "contexts: [{name: x, context: {cluster: c, user: u, namespace: ns}}, "      \
  "{name: z}]\n"                                                               \
  "current-context: x\n"

/* --- Answers -------------------------------------------------------------- */

static void test_getters(void **state) {
  (void)state;
  load_text(CONFIG("server: 'https://a'", "token: t"), 0);
  assert_string_equal(problem, "");
  assert_string_equal(lines, "");
  assert_string_equal(kin_kubeconfig_server(config), "https://a");
  assert_string_equal(kin_kubeconfig_namespace(config), "ns");
  assert_true(kin_kubeconfig_has_namespace(config));
  assert_string_equal(kin_kubeconfig_context(config), "x");
  assert_string_equal(kin_kubeconfig_cluster(config), "c");
  assert_string_equal(kin_kubeconfig_user(config), "u");
  assert_false(kin_kubeconfig_is_in_cluster(config));
  assert_int_equal(kin_kubeconfig_context_count(config), 2);
  assert_string_equal(kin_kubeconfig_context_at(config, 0), "x");
  assert_string_equal(kin_kubeconfig_context_at(config, 1), "z");
  assert_null(kin_kubeconfig_context_at(config, 2));
  assert_int_equal(kin_kubeconfig_file_count(config), 1);
  assert_string_equal(kin_kubeconfig_file_at(config, 0), path);
  assert_null(kin_kubeconfig_file_at(config, 1));
}

/* The process's environment. */
static void test_environment(void **state) {
  (void)state;
  char list[300];
  snprintf(list, sizeof list, "/none/at/all:%s:%s", path, path);
  setenv("KUBECONFIG", list, 1);
  options.path = NULL;
  load_text(CONFIG("server: 'https://a'", ""), 0);
  assert_int_equal(kin_kubeconfig_file_count(config), 1);
  unsetenv("KUBECONFIG");
  setenv("HOME", folder, 1);
  load_text(CONFIG("server: 'https://a'", ""), KIN_ENOENT);
  char wanted[256];
  snprintf(wanted, sizeof wanted,
           "no kubeconfig: %s/.kube/config does not exist; not in a cluster: "
           "KUBERNETES_SERVICE_HOST is not set",
           folder);
  assert_string_equal(problem, wanted);
}

/* Names are whole, so that they last if the program leaves its folder. */
static void test_relative_names(void **state) {
  (void)state;
  char before[1024];
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(folder), 0);
  for (int is_option = 0; is_option < 2; is_option++) {
    setenv("KUBECONFIG", "none:./config:config", 1);
    options.path = is_option != 0 ? "config" : NULL;
    load_text(CONFIG("server: 'https://a', certificate-authority: config",
                     "tokenFile: config"),
              0);
    assert_int_equal(kin_kubeconfig_file_count(config), 1);
    assert_string_equal(kin_kubeconfig_file_at(config, 0), path);
    kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
    assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
    assert_string_equal(client.token_file, path);
    assert_string_equal(client.certificate_authority_file, path);
  }
  assert_int_equal(chdir(before), 0);
}

/* The caller of a setuid program names no kubeconfig, whose plugins would run
 * with the program's rights. */
static void test_elevated(void **state) {
  (void)state;
  setenv("KUBECONFIG", path, 1);
  setenv("HOME", folder, 1);
  setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  is_elevated = true;
  options.path = NULL;
  load_text(CONFIG("server: 'https://a'", ""), KIN_ENOENT);
  assert_string_equal(
      problem, "no kubeconfig: neither KUBECONFIG nor HOME is set; not in a "
               "cluster: KUBERNETES_SERVICE_HOST is not set");
  options.path = path;
  load_text(CONFIG("server: 'https://a'", ""), 0);
}

/* Each option reaches its field. */
static void test_overrides(void **state) {
  (void)state;
  static const char *const groups[] = {"g1", "g2"};
  options.context = "z";
  options.cluster = "c";
  options.user = "u";
  options.namespace_ = "mine";
  options.server = "https://b";
  options.tls_server_name = "name";
  options.certificate_authority_file = path;
  options.token = "t2";
  options.token_file = "/none";
  options.client_certificate_file = path;
  options.client_key_file = path;
  options.impersonate_user = "joe";
  options.impersonate_uid = "uid";
  options.impersonate_groups = groups;
  options.impersonate_group_count = 2;
  load_text(CONFIG("server: 'https://a'", "token: t"), 0);
  assert_string_equal(kin_kubeconfig_context(config), "z");
  assert_string_equal(kin_kubeconfig_namespace(config), "mine");
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
  assert_string_equal(client.server, "https://b");
  assert_string_equal(client.tls_server_name, "name");
  assert_string_equal(client.certificate_authority_file, path);
  assert_string_equal(client.token, "t2");
  assert_string_equal(client.token_file, "/none");
  assert_string_equal(client.client_certificate_file, path);
  assert_string_equal(client.client_key_file, path);
  assert_string_equal(client.impersonate_user, "joe");
  assert_string_equal(client.impersonate_uid, "uid");
  assert_int_equal(client.impersonate_group_count, 2);
  assert_string_equal(client.impersonate_groups[1], "g2");
  options.certificate_authority_file = NULL;
  options.insecure_skip_tls_verify = true;
  load_text(CONFIG("server: 'https://a'", ""), 0);
  assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
  assert_true(client.insecure_skip_tls_verify);
}

/* --- Problems ------------------------------------------------------------- */

static void test_problems(void **state) {
  (void)state;
  load_text("clusters: 5\nusers: [{user: {token: 7}}]\n", KIN_EINVAL);
  char wanted[1024];
  snprintf(wanted, sizeof wanted,
           "%s:1: clusters: is a number, not a list\n%s:2: "
           "users[0].user.token: is a number, not a string (put it in quotes)",
           path, path);
  assert_string_equal(problem, wanted);
  char logged[1024];
  snprintf(logged, sizeof logged,
           "1 %s:1: clusters: is a number, not a list\n1 %s:2: "
           "users[0].user.token: is a number, not a string (put it in "
           "quotes)\n",
           path, path);
  assert_string_equal(lines, logged);
  options.problem_size = 8;
  load_text("clusters: 5\n", KIN_EINVAL);
  assert_int_equal(strlen(problem), 7);
  options.problem_size = 0;
  strcpy(problem, "untouched");
  load_text("clusters: 5\n", KIN_EINVAL);
  assert_string_equal(problem, "untouched");
  options.problem = NULL;
  options.log = NULL;
  load_text("clusters: 5\n", KIN_EINVAL);
}

static void test_missing_file(void **state) {
  (void)state;
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_ENOENT);
  expect_problem(": there is no such file");
}

/* Nothing of this is waited for, or read for ever. */
static void test_not_a_file(void **state) {
  (void)state;
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  expect_problem(": not a regular file");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  expect_problem(": not a regular file");
  options.path = "/dev/zero";
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  assert_string_equal(problem, "/dev/zero: not a regular file");
}

static void test_size_of_file(void **state) {
  (void)state;
  tls_write_file(path, "{}");
  assert_int_equal(truncate(path, (4 << 20) + 1), 0);
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  expect_problem(": too large");
  assert_int_equal(truncate(path, 4 << 20), 0);
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  expect_problem(":1: not valid YAML: control characters are not allowed");
}

/* A file that is replaced by a longer one while it is read is read whole. */
static void test_growing_file(void **state) {
  (void)state;
  size_t size = (4u << 20) + 2;
  char *text = malloc(size);
  assert_non_null(text);
  memset(text, '#', size - 1);
  text[size - 1] = '\0';
  const char good[] = "{clusters: [{name: c, cluster: {server: 'https://a'}}], "
                      "contexts: [{name: x, context: {cluster: c}}], "
                      "current-context: x}\n";
  memcpy(text, good, strlen(good));
  tls_write_file(path, "{}");
  longer = text;
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  expect_problem(": too large");
  text[6000] = '\0';
  for (int i = 0; i < 2; i++) {
    longer = text;
    load_text("{}", 0);
    longer = NULL;
    assert_string_equal(kin_kubeconfig_server(config), "https://a");
  }
  free(text);
}

static void test_unreadable_file(void **state) {
  (void)state;
  if (geteuid() == 0) {
    skip(); /* reads everything */
  }
  tls_write_file(path, "{}");
  assert_int_equal(chmod(path, 0), 0);
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  expect_problem(": permission denied");
}

/* A file that a configuration names is looked at in the same way. */
static void test_named_files(void **state) {
  (void)state;
  load_text(CONFIG("server: 'https://a', certificate-authority: /dev/zero",
                   "tokenFile: config"),
            KIN_EINVAL);
  expect_problem(":1: clusters[0].cluster.certificate-authority: /dev/zero: "
                 "not a regular file");
  load_text(CONFIG("server: 'https://a', certificate-authority: config",
                   "tokenFile: config"),
            0);
}

static void test_bad_options(void **state) {
  (void)state;
  static const char *const groups[] = {"a", NULL};
  static const kin_allocator none = {NULL, NULL, NULL, NULL};
  tls_write_file(path, "");
  options.log_level = (kin_log_level)9;
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  assert_string_equal(problem, "log_level: there is no value 9");
  options.log_level = KIN_LOG_DEFAULT;
  options.allocator = &none;
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  assert_string_equal(problem, "allocator: lacks one of its functions");
  options.allocator = NULL;
  options.impersonate_groups = groups;
  options.impersonate_group_count = 2;
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  assert_string_equal(problem, "impersonate_groups: a group is NULL");
  options.impersonate_groups = NULL;
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
  assert_null(config);
}

/* kin_kubeconfig_options of a program that is older or newer. */
static void test_sizes(void **state) {
  (void)state;
  enum { TAIL = 24 };
  union {
    max_align_t alignment;
    unsigned char bytes[sizeof options + TAIL];
  } given = {.bytes = {0}};
  const size_t size = sizeof options;
  const size_t place = offsetof(kin_kubeconfig_options, log_level);
  const struct {
    size_t size;
    unsigned char last;
    int code;
    const char *problem; /* how the text begins */
  } cases[] = {
      {size, 1, 0, ""},
      {size + TAIL, 0, 0, ""},
      {size + TAIL, 1, KIN_ENOTSUP, "kin_kubeconfig_options: sets a field"},
      {place, 0, KIN_EINVAL, "kin_kubeconfig_options: size is "},
      {place - 1, 0, KIN_EINVAL, "untouched"},
      {sizeof(size_t), 0, KIN_EINVAL, "untouched"},
      {0, 0, KIN_EINVAL, "untouched"}};
  tls_write_file(path, CONFIG("server: 'https://a'", ""));
  memcpy(given.bytes, &options, size);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    memcpy(given.bytes, &cases[i].size, sizeof cases[i].size);
    given.bytes[size + TAIL - 1] = cases[i].last;
    strcpy(problem, "untouched");
    int err = kin_kubeconfig_load(
        &config, (const kin_kubeconfig_options *)(const void *)&given);
    assert_int_equal(err, cases[i].code);
    assert_true((config != NULL) == (err == 0));
    const char *begin = cases[i].problem;
    assert_int_equal(strncmp(problem, begin, strlen(begin)), 0);
    assert_int_equal(*begin == '\0', *problem == '\0');
    kin_kubeconfig_free(config);
    config = NULL;
  }
  strcpy(problem, "of an earlier call");
  assert_int_equal(kin_kubeconfig_load(NULL, &options), KIN_EINVAL);
  assert_string_equal(problem, "");
}

/* --- Clients -------------------------------------------------------------- */

/* What the configuration does not have is unset, the rest stays. */
static void test_apply(void **state) {
  (void)state;
  load_text(CONFIG("server: 'https://a', certificate-authority-data: YQ==, "
                   "disable-compression: true",
                   "client-certificate-data: Yg==, client-key-data: Yw==, as: "
                   "joe, as-user-extra: {k: [v]}"),
            0);
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  client.token = "old";
  client.certificate_authority_file = "/old";
  client.impersonate_uid = "old";
  client.accept_gzip = true;
  client.user_agent = "mine";
  assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
  assert_string_equal(client.server, "https://a");
  assert_string_equal(client.certificate_authority_data, "a");
  assert_null(client.certificate_authority_file);
  assert_string_equal(client.client_certificate_data, "b");
  assert_string_equal(client.client_key_data, "c");
  assert_null(client.token);
  assert_string_equal(client.impersonate_user, "joe");
  assert_null(client.impersonate_uid);
  assert_int_equal(client.impersonate_extra_count, 1);
  assert_string_equal(client.impersonate_extra[0].key, "k");
  assert_string_equal(client.impersonate_extra[0].value, "v");
  assert_false(client.accept_gzip);
  assert_string_equal(client.user_agent, "mine");
}

/* A client is opened with it, and then needs it no longer. */
static void test_apply_and_open(void **state) {
  (void)state;
  load_text(CONFIG("server: 'https://127.0.0.1:1', tls-server-name: a",
                   "token: t, as: joe, as-groups: [g]"),
            0);
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
  kin_client *opened;
  assert_int_equal(kin_client_open(&opened, &loop, &client), 0);
  kin_kubeconfig_free(config);
  config = NULL;
  assert_int_equal(kin_client_close(opened, NULL, NULL), 0);
  uv_run(&loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&loop), 0);
}

static void test_apply_proxy_and_basic(void **state) {
  (void)state;
  load_text(CONFIG("server: 'https://a', proxy-url: 'http://joe:SECRET@p'",
                   "username: jane, password: SECRET"),
            0);
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
  assert_string_equal(client.proxy_url, "http://joe:SECRET@p");
  assert_string_equal(client.username, "jane");
  assert_string_equal(client.password, "SECRET");
  assert_null(client.exec);
  /* As for client-go, a password without a name is none. */
  load_text(CONFIG("server: 'https://a'", "password: SECRET"), 0);
  assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
  assert_null(client.proxy_url);
  assert_null(client.username);
  assert_null(client.password);
}

static void test_apply_exec(void **state) {
  (void)state;
  load_text(
      CONFIG("server: 'https://a', proxy-url: 'http://p', "
             "disable-compression: true, extensions: [{name: "
             "client.authentication.k8s.io/exec, extension: {audience: x}}]",
             "exec: {apiVersion: client.authentication.k8s.io/v1, command: "
             "c, args: [d, e], env: [{name: F, value: g}], installHint: h, "
             "interactiveMode: Always, provideClusterInfo: true}"),
      0);
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
  const kin_exec_plugin *exec = client.exec;
  assert_non_null(exec);
  assert_int_equal(exec->size, sizeof *exec);
  assert_string_equal(exec->api_version, "client.authentication.k8s.io/v1");
  assert_string_equal(exec->command, "c");
  assert_int_equal(exec->arg_count, 2);
  assert_string_equal(exec->args[1], "e");
  assert_int_equal(exec->variable_count, 1);
  assert_string_equal(exec->variables[0].name, "F");
  assert_string_equal(exec->variables[0].value, "g");
  assert_string_equal(exec->install_hint, "h");
  assert_int_equal(exec->interactive, KIN_EXEC_INTERACTIVE_ALWAYS);
  assert_true(exec->provide_cluster_info);
  assert_true(exec->disable_compression);
  assert_string_equal(exec->proxy_url, "http://p");
  assert_string_equal(exec->cluster_config, "{\"audience\":\"x\"}");
  load_text(CONFIG("server: 'https://a'",
                   "exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
                   "command: c}"),
            0);
  assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
  assert_int_equal(client.exec->interactive, KIN_EXEC_INTERACTIVE_IF_AVAILABLE);
}

/* The plugin that is found has the members that the program decides. */
static void test_apply_exec_terms(void **state) {
  (void)state;
  char entry[] = "c";
  char message[] = "no";
  const char *const allowlist[] = {entry};
  kin_exec_plugin terms = KIN_EXEC_PLUGIN_INIT;
  terms.stdin_unavailable = true;
  terms.stdin_unavailable_message = message;
  terms.timeout_ms = 1234;
  terms.stderr_to = KIN_EXEC_STDERR_LOG;
  terms.policy = KIN_EXEC_POLICY_ALLOWLIST;
  terms.allowlist = allowlist;
  terms.allowlist_count = 1;
  options.exec = &terms;
  load_text(CONFIG("server: 'https://a'",
                   "exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
                   "command: c}"),
            0);
  memset(entry, 'x', sizeof entry - 1);
  memset(message, 'x', sizeof message - 1);
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
  const kin_exec_plugin *exec = client.exec;
  assert_string_equal(exec->command, "c");
  assert_true(exec->stdin_unavailable);
  assert_string_equal(exec->stdin_unavailable_message, "no");
  assert_int_equal(exec->timeout_ms, 1234);
  assert_int_equal(exec->stderr_to, KIN_EXEC_STDERR_LOG);
  assert_int_equal(exec->policy, KIN_EXEC_POLICY_ALLOWLIST);
  assert_int_equal(exec->allowlist_count, 1);
  assert_string_equal(exec->allowlist[0], "c");
  /* Where there is no plugin, they count for nothing. */
  load_text(CONFIG("server: 'https://a'", "token: x"), 0);
  assert_int_equal(kin_kubeconfig_apply(config, &client), 0);
  assert_null(client.exec);
}

static void test_bad_exec_terms(void **state) {
  (void)state;
  static const char *const texts[] = {"x"};
  const kin_exec_variable variable = {"a", "b"};
  const struct {
    kin_exec_plugin terms;
    const char *problem;
  } cases[] = {
      {{.api_version = "client.authentication.k8s.io/v1"},
       "exec.api_version: comes from the kubeconfig"},
      {{.command = "x"}, "exec.command: comes from the kubeconfig"},
      {{.args = texts, .arg_count = 1}, "exec.args: comes"},
      {{.variables = &variable, .variable_count = 1}, "exec.variables: comes"},
      {{.install_hint = "x"}, "exec.install_hint: comes"},
      {{.interactive = KIN_EXEC_INTERACTIVE_NEVER}, "exec.interactive: comes"},
      {{.provide_cluster_info = true}, "exec.provide_cluster_info: comes"},
      {{.disable_compression = true}, "exec.disable_compression: comes"},
      {{.proxy_url = "x"}, "exec.proxy_url: comes"},
      {{.cluster_config = "{}"}, "exec.cluster_config: comes"},
      {{.timeout_ms = 3600001}, "exec.timeout_ms: 3600001 is more"},
      {{.stderr_to = (kin_exec_stderr)9}, "exec.stderr_to"},
      {{.policy = (kin_exec_policy)9}, "exec.policy"},
      {{.policy = KIN_EXEC_POLICY_ALLOWLIST}, "exec.allowlist: is empty"},
      {{.allowlist = texts, .allowlist_count = 1}, "exec.allowlist: needs"},
  };
  tls_write_file(path, CONFIG("server: 'https://a'", ""));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    kin_exec_plugin terms = cases[i].terms;
    terms.size = sizeof terms;
    options.exec = &terms;
    assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
    assert_null(config);
    assert_non_null(strstr(problem, cases[i].problem));
  }
  kin_exec_plugin terms = KIN_EXEC_PLUGIN_INIT;
  terms.size = 1;
  options.exec = &terms;
  assert_int_equal(kin_kubeconfig_load(&config, &options), KIN_EINVAL);
}

static void test_apply_bad_options(void **state) {
  (void)state;
  load_text(CONFIG("server: 'https://a'", ""), 0);
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  assert_int_equal(kin_kubeconfig_apply(config, NULL), KIN_EINVAL);
  client.size = 8;
  assert_int_equal(kin_kubeconfig_apply(config, &client), KIN_EINVAL);
  assert_null(client.server);
}

/* --- Memory --------------------------------------------------------------- */

static int wanted;

static bool load_failing(size_t fail_at) {
  fail_alloc memory;
  fail_alloc_init(&memory, fail_at);
  memory.secrets[0] = "SECRET-WORD";
  memory.secrets[1] = "U0VDUkVULVdPUkQ=";
  options.allocator = &memory.allocator;
  int err = kin_kubeconfig_load(&config, &options);
  bool has_failed = fail_alloc_has_failed(&memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : wanted);
  assert_int_equal(problem[0] != '\0', err == KIN_EINVAL);
  assert_true((config != NULL) == (err == 0));
  kin_kubeconfig_free(config);
  config = NULL;
  assert_int_equal(memory.live_blocks, 0);
  assert_int_equal(memory.leaked_secrets, 0);
  return has_failed;
}

static void test_allocations_fail(void **state) {
  (void)state;
  tls_write_file(path, CONFIG("server: 'https://a', extensions: [{name: "
                              "client.authentication.k8s.io/exec, extension: "
                              "{a: SECRET-WORD}}]",
                              "token: SECRET-WORD, client-certificate-data: "
                              "YQ==, client-key-data: U0VDUkVULVdPUkQ=, exec: "
                              "{apiVersion: a, command: c, interactiveMode: "
                              "Never, env: [{name: A, value: SECRET-WORD}]}"));
  static const char *const allowlist[] = {"c", "/bin/d"};
  kin_exec_plugin terms = KIN_EXEC_PLUGIN_INIT;
  terms.stdin_unavailable_message = "no";
  terms.policy = KIN_EXEC_POLICY_ALLOWLIST;
  terms.allowlist = allowlist;
  terms.allowlist_count = 2;
  options.exec = &terms;
  wanted = 0;
  fail_alloc_sweep(load_failing, 8);
  /* A load that runs out of memory tells no problem of the file. */
  tls_write_file(path, "kind: Pod\n" CONFIG("server: 'https://a'", ""));
  wanted = KIN_EINVAL;
  fail_alloc_sweep(load_failing, 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_getters),
      TEST(test_environment),
      TEST(test_relative_names),
#ifdef __linux__
      TEST(test_elevated),
#endif
      TEST(test_overrides),
      TEST(test_problems),
      TEST(test_missing_file),
      TEST(test_not_a_file),
      TEST(test_size_of_file),
      TEST(test_growing_file),
      TEST(test_unreadable_file),
      TEST(test_named_files),
      TEST(test_bad_options),
      TEST(test_sizes),
      TEST(test_apply),
      TEST(test_apply_and_open),
      TEST(test_apply_proxy_and_basic),
      TEST(test_apply_exec),
      TEST(test_apply_exec_terms),
      TEST(test_bad_exec_terms),
      TEST(test_apply_bad_options),
      TEST(test_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
