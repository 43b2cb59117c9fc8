/* SPDX-License-Identifier: MIT */
/* Which files are read, in which order they count, and what a pod gives (KC-01
 * to KC-04, KC-09, KC-10): client-go's loader_test.go and
 * merged_client_builder_test.go by their meaning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "config/path.h"
#include "support/kube_world.h"
#include "support/tls_certs.h"

#define POD "/var/run/secrets/kubernetes.io/serviceaccount/"
#define POD_RESULT                                                             \
  "server=https://10.0.0.1:443 ca=" POD "ca.crt token-file=" POD "token"

#define V1 "client.authentication.k8s.io/v1"

static kube_world world;

static int set_up(void **state) {
  (void)state;
  kube_world_init(&world, 0);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  kube_world_finish(&world);
  return 0;
}

static void expect_loaded(const char *path, const char *resolved) {
  kube_world_assert_ok(&world, kube_world_load(&world, path));
  assert_string_equal(kube_world_text(&world), resolved);
}

static void expect_failure(const char *path, int err, const char *problems) {
  assert_int_equal(kube_world_load(&world, path), err);
  assert_string_equal(world.problems.text, problems);
}

/* A whole config of one cluster, user and context, named alike. */
#define CONFIG(name, token)                                                    \
  "kind: Config\napiVersion: v1\n"                                             \
  "clusters: [{name: " name ", cluster: {server: 'https://" name "'}}]\n"      \
  "users: [{name: " name ", user: {token: " token "}}]\n"                      \
  "contexts: [{name: " name ", context: {cluster: " name ", user: " name       \
  "}}]\n"                                                                      \
  "current-context: " name "\n"

/* --- Which files ---------------------------------------------------------- */

/* client-go TestNonExistentCommandLineFile, KC-02 */
static void test_explicit_file_must_exist(void **state) {
  (void)state;
  kube_world_pod(&world);
  expect_failure("/k/none", KIN_ENOENT, "/k/none: there is no such file");
}

/* client-go TestLoadingGetLoadingPrecedence, KC-02 */
static void test_order_of_sources(void **state) {
  (void)state;
  kube_world_pod(&world);
  kube_world_file(&world, "/home/me/.kube/config", CONFIG("home", "h"));
  kube_world_file(&world, "/k/env", CONFIG("env", "e"));
  kube_world_file(&world, "/k/explicit", CONFIG("explicit", "x"));
  expect_loaded(NULL, POD_RESULT " in-cluster=true");
  kube_world_set(&world, "HOME", "/home/me");
  expect_loaded("", "server=https://home token=h context=home cluster=home "
                    "user=home");
  kube_world_set(&world, "KUBECONFIG", "/k/env");
  expect_loaded(NULL, "server=https://env token=e context=env cluster=env "
                      "user=env");
  expect_loaded("/k/explicit", "server=https://explicit token=x "
                               "context=explicit cluster=explicit "
                               "user=explicit");
}

static void expect_paths(const char *list, const char *wanted) {
  kube_world_init(&world, 0);
  kube_world_set(&world, "HOME", "/home/me/");
  kube_world_set(&world, "KUBECONFIG", list);
  kin__vault vault;
  kin__vault_init(&vault, &world.memory.allocator);
  kin__kube_paths paths;
  assert_int_equal(kin__kube_find_paths(&paths, &vault, NULL, &world.env), 0);
  char text[256] = "";
  for (size_t i = 0; i < paths.count; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "[%s]",
             paths.paths[i]);
  }
  assert_string_equal(text, wanted);
  kin__vault_finish(&vault);
  kube_world_finish(&world);
}

/* client-go TestDeduplicate, KC-02: a file is read once, where it comes
 * first. */
static void test_list_of_files(void **state) {
  (void)state;
  kube_world_finish(&world);
  expect_paths("/a:/b:/a", "[/a][/b]");
  expect_paths(":/a::b:", "[/a][b]");
  expect_paths(":", "");
  expect_paths("", "[/home/me/.kube/config]");
  kube_world_init(&world, 0);
}

/* KC-02: relative paths begin at the folder in which the program began. */
static void test_files_of_the_first_folder(void **state) {
  (void)state;
  world.env.folder = "/w";
  kube_world_set(&world, "KUBECONFIG", "none:k/config:/other");
  kube_world_file(&world, "/w/k/config", CONFIG("env", "e"));
  expect_loaded(NULL, "server=https://env token=e context=env cluster=env "
                      "user=env");
  expect_loaded("k/config", "server=https://env token=e context=env "
                            "cluster=env user=env");
}

static void test_too_many_files(void **state) {
  (void)state;
  char list[8 * (KIN__KUBE_MAX_FILES + 1)] = "";
  for (unsigned i = 0; i < KIN__KUBE_MAX_FILES; i++) {
    snprintf(list + strlen(list), sizeof list - strlen(list), "/f%u:", i);
  }
  kube_world_set(&world, "KUBECONFIG", list);
  expect_failure(NULL, KIN_ENOENT,
                 "no kubeconfig: /f0, like all of KUBECONFIG, does not exist; "
                 "not in a cluster: KUBERNETES_SERVICE_HOST is not set");
  strcat(list, "/g");
  expect_failure(NULL, KIN_EINVAL, "KUBECONFIG: names over 128 files");
}

/* client-go TestToleratingMissingFiles, TestNoWarningMissingFiles; KC-02 */
static void test_missing_files_are_skipped(void **state) {
  (void)state;
  kube_world_set(&world, "KUBECONFIG", "/k/none:/k/env:/k/none2");
  kube_world_file(&world, "/k/env", CONFIG("env", "e"));
  expect_loaded(NULL, "server=https://env token=e context=env cluster=env "
                      "user=env");
  assert_string_equal(world.lines, "");
  assert_int_equal(world.config.file_count, 1);
  assert_string_equal(world.config.files[0], "/k/env");
}

/* client-go TestWarningMissingFiles, KC-02 */
static void test_all_files_are_missing(void **state) {
  (void)state;
  kube_world_set(&world, "KUBECONFIG", "/k/none");
  expect_failure(NULL, KIN_ENOENT,
                 "no kubeconfig: /k/none does not exist; not in a cluster: "
                 "KUBERNETES_SERVICE_HOST is not set");
  assert_string_equal(world.lines,
                      "2 kubeconfig: no file of KUBECONFIG exists\n");
}

static void test_nothing_to_look_for(void **state) {
  (void)state;
  expect_failure(NULL, KIN_ENOENT,
                 "no kubeconfig: neither KUBECONFIG nor HOME is set; not in a "
                 "cluster: KUBERNETES_SERVICE_HOST is not set");
  kube_world_set(&world, "KUBECONFIG", "::");
  kube_world_set(&world, "KUBERNETES_SERVICE_HOST", "a");
  expect_failure(NULL, KIN_ENOENT,
                 "no kubeconfig: KUBECONFIG names no file; not in a cluster: "
                 "KUBERNETES_SERVICE_PORT is not set");
}

/* client-go TestErrorReadingFile, TestErrorReadingNonFile; KC-02: every file
 * that is there must be readable, also one whose entries would not count. */
static void test_unreadable_files(void **state) {
  (void)state;
  kube_world_set(&world, "KUBECONFIG", "/k/a:/k/b:/k/c");
  kube_world_file(&world, "/k/a", CONFIG("a", "t"));
  kube_world_file(&world, "/k/b", NULL);
  kube_world_file(&world, "/k/c", "bogus value");
  expect_failure(NULL, KIN_EINVAL,
                 "/k/b: permission denied\n"
                 "/k/c:1: is a string, not a map");
}

/* What is not known is not missed. */
static void test_unreadable_file_is_all_that_is_told(void **state) {
  (void)state;
  world.options.context = "x";
  kube_world_set(&world, "KUBECONFIG", "/k/a:/k/b");
  kube_world_file(&world, "/k/a", CONFIG("a", "t"));
  kube_world_file(&world, "/k/b", NULL);
  expect_failure(NULL, KIN_EINVAL, "/k/b: permission denied");
}

/* client-go TestLoadingEmptyMaps, TestNilOutMap; KC-02: an empty file
 * configures nothing. */
static void test_empty_files(void **state) {
  (void)state;
  const char *const texts[] = {
      "",
      "# nothing\n",
      "---\n",
      "{}",
      "clusters:\nusers: ~\ncontexts: []\n",
      "kind: Config\napiVersion: v1\npreferences: {}\nclusters: [~]\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    kube_world_file(&world, "/k/config", texts[i]);
    expect_failure("/k/config", KIN_ENOENT,
                   "/k/config: configures no cluster; not in a cluster: "
                   "KUBERNETES_SERVICE_HOST is not set");
  }
}

static void test_json_file(void **state) {
  (void)state;
  kube_world_expect(
      &world,
      "{\"kind\":\"Config\",\"apiVersion\":\"v1\",\"clusters\":[{\"name\":"
      "\"a\",\"cluster\":{\"server\":\"https:\\/\\/a\"}}],\"contexts\":[{"
      "\"name\":\"x\",\"context\":{\"cluster\":\"a\"}}],"
      "\"current-context\":\"x\"}",
      "server=https://a context=x cluster=a");
}

/* --- Merging -------------------------------------------------------------- */

/* client-go TestConflictingCurrentContext, KC-03 */
static void test_first_current_context_counts(void **state) {
  (void)state;
  kube_world_set(&world, "KUBECONFIG", "/k/0:/k/a:/k/b");
  kube_world_file(&world, "/k/0", "current-context: ''\n");
  kube_world_file(&world, "/k/a", CONFIG("a", "ta"));
  kube_world_file(&world, "/k/b", CONFIG("b", "tb"));
  expect_loaded(NULL, "server=https://a token=ta context=a cluster=a user=a");
  world.options.context = "b";
  expect_loaded(NULL, "server=https://b token=tb context=b cluster=b user=b");
}

/* client-go Example_noMergingOnExplicitPaths, KC-02 */
static void test_explicit_file_is_not_merged(void **state) {
  (void)state;
  kube_world_set(&world, "KUBECONFIG", "/k/b");
  kube_world_file(&world, "/k/a", CONFIG("a", "ta"));
  kube_world_file(&world, "/k/b", CONFIG("b", "tb"));
  expect_loaded("/k/a", "server=https://a token=ta context=a cluster=a user=a");
  assert_int_equal(world.config.context_count, 1);
}

/* client-go Example_mergingSomeWithConflict, TestMergeContext; KC-03: an entry
 * of the first file counts as a whole. */
static void test_first_entry_counts(void **state) {
  (void)state;
  kube_world_set(&world, "KUBECONFIG", "/k/a:/k/b");
  kube_world_file(&world, "/k/a", CONFIG("same", "ta"));
  kube_world_file(
      &world, "/k/b",
      "clusters: [{name: same, cluster: {server: 'https://b', "
      "tls-server-name: b}}]\n"
      "users: [{name: same, user: {token: tb, as: somebody}}]\n"
      "contexts: [{name: same, context: {cluster: b, namespace: b}}]\n");
  expect_loaded(NULL, "server=https://same token=ta context=same cluster=same "
                      "user=same");
}

/* client-go Example_mergingEverythingNoConflicts, KC-03: one file each for
 * cluster, user and context. */
static void test_files_complete_each_other(void **state) {
  (void)state;
  kube_world_set(&world, "KUBECONFIG", "/k/a:/k/b:/k/c:/k/d");
  kube_world_file(&world, "/k/a", "current-context: x\n");
  kube_world_file(
      &world, "/k/b",
      "contexts:\n- name: x\n  context: {cluster: c, user: u}\n- name: z\n");
  kube_world_file(&world, "/k/c",
                  "users:\n- name: u\n  user: {token: t, unknown: 1}\n");
  kube_world_file(&world, "/k/d",
                  "clusters:\n- name: c\n  cluster: {server: 'https://c'}\n");
  expect_loaded(NULL, "server=https://c token=t context=x cluster=c user=u");
  assert_int_equal(world.config.file_count, 4);
  assert_int_equal(world.config.context_count, 2);
  assert_string_equal(world.config.contexts[0], "x");
  assert_string_equal(world.config.contexts[1], "z");
}

/* --- Paths ---------------------------------------------------------------- */

/* client-go TestResolveRelativePaths, KC-04: from the folder of the file that
 * has the entry. */
static void test_relative_paths(void **state) {
  (void)state;
  kube_world_set(&world, "KUBECONFIG", "/k/one/config:/k/two/config");
  kube_world_file(&world, "/k/one/config",
                  "current-context: x\n"
                  "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                  "clusters: [{name: c, cluster: {server: 'https://c', "
                  "certificate-authority: ./../ca/./root.pem}}]\n");
  kube_world_file(&world, "/k/two/config",
                  "users: [{name: u, user: {client-certificate: c.pem, "
                  "client-key: sub/../key.pem, tokenFile: /t/token, exec: "
                  "{apiVersion: v, interactiveMode: Never, command: "
                  "./bin/plugin}}}]\n");
  kube_world_file(&world, "/k/ca/root.pem", "");
  kube_world_file(&world, "/k/two/c.pem", "");
  kube_world_file(&world, "/k/two/key.pem", "");
  kube_world_file(&world, "/t/token", "");
  expect_loaded(NULL, "server=https://c ca=/k/ca/root.pem cert=/k/two/c.pem "
                      "key=/k/two/key.pem token-file=/t/token "
                      "exec=/k/two/bin/plugin version=v mode=Never "
                      "context=x cluster=c user=u");
}

/* KC-04: a command without a slash is for PATH. */
static void test_command_for_path(void **state) {
  (void)state;
  kube_world_expect(&world,
                    "clusters: [{name: '', cluster: {server: 'https://c'}}]\n"
                    "users: [{name: '', user: {exec: {apiVersion: " V1 ", "
                    "interactiveMode: Never, command: plugin}}}]\n",
                    "server=https://c exec=plugin version=" V1 " mode=Never");
}

/* KC-04: a command beside a kubeconfig in the current folder is not for PATH. */
static void test_command_in_the_current_folder(void **state) {
  (void)state;
  const struct {
    const char *file;
    const char *command;
    const char *wanted;
  } rows[] = {{"config", "./plugin", "./plugin"},
              {"config", "bin/../plugin", "./plugin"},
              {"k/config", "../plugin", "./plugin"},
              {"config", "bin/plugin", "bin/plugin"},
              {"config", "plugin", "plugin"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "clusters: [{name: '', cluster: {server: 'https://c'}}]\n"
             "users: [{name: '', user: {exec: {apiVersion: " V1 ", "
             "interactiveMode: Never, command: %s}}}]\n",
             rows[i].command);
    kube_world_file(&world, rows[i].file, text);
    kube_world_assert_ok(&world, kube_world_load(&world, rows[i].file));
    assert_string_equal(world.config.exec->command, rows[i].wanted);
  }
}

/* Go's null among strings is "": the other arguments keep their places. */
static void test_null_among_arguments(void **state) {
  (void)state;
  kube_world_expect(&world,
                    "clusters: [{name: '', cluster: {server: 'https://c'}}]\n"
                    "users: [{name: '', user: {exec: {apiVersion: " V1 ", "
                    "interactiveMode: Never, command: c, args: [a, ~, b, "
                    "null]}}}]\n",
                    "server=https://c exec=c version=" V1
                    " arg=a arg= arg=b arg= "
                    "mode=Never");
}

static void test_path_cleaning(void **state) {
  (void)state;
  const struct {
    const char *file;
    const char *path;
    const char *wanted;
  } rows[] = {
      {"/a/b", "c", "/a/c"},
      {"/b", "c", "/c"},
      {"/b", "../../c", "/c"},
      {"b", "c", "c"},
      {"a/b", "../c", "c"},
      {"a/b", "../../c", "../c"},
      {"a/b", "../../../c", "../../c"},
      {"a/b", "..", "."},
      {"/a/b", "/x/../y", "/x/../y"},
      {"//a//b", ".//c/", "/a/c"},
      {"../b", "../c", "../../c"},
      {"/a/b", "..x/...", "/a/..x/..."},
      {"./b", "./.", "."},
      {"/a/b", "../..", "/"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin__vault vault;
    kin__vault_init(&vault, &world.memory.allocator);
    assert_string_equal(kin__path_beside(&vault, rows[i].file, rows[i].path),
                        rows[i].wanted);
    kin__vault_finish(&vault);
  }
}

/* --- In a pod ------------------------------------------------------------- */

static void test_pod(void **state) {
  (void)state;
  kube_world_pod(&world);
  expect_loaded(NULL, POD_RESULT " in-cluster=true");
  assert_string_equal(world.lines, "");
  assert_int_equal(world.config.file_count, 0);
}

/* KC-01: an IPv6 address gets its brackets. */
static void test_pod_with_ipv6(void **state) {
  (void)state;
  kube_world_set(&world, "KUBERNETES_SERVICE_HOST", "fd00::1");
  kube_world_set(&world, "KUBERNETES_SERVICE_PORT", "6443");
  kube_world_file(&world, POD "token", "t");
  kube_world_file(&world, POD "ca.crt", tls_pki_get()->authority_pem);
  expect_loaded(NULL, "server=https://[fd00::1]:6443 ca=" POD
                      "ca.crt token-file=" POD "token in-cluster=true");
}

/* KC-01: both variables and a token are needed. */
static void test_no_pod(void **state) {
  (void)state;
  kube_world_set(&world, "HOME", "/h");
  kube_world_set(&world, "KUBERNETES_SERVICE_HOST", "a");
  expect_failure(NULL, KIN_ENOENT,
                 "no kubeconfig: /h/.kube/config does not exist; not in a "
                 "cluster: KUBERNETES_SERVICE_PORT is not set");
  kube_world_set(&world, "KUBERNETES_SERVICE_PORT", "1");
  expect_failure(NULL, KIN_ENOENT,
                 "no kubeconfig: /h/.kube/config does not exist; not in a "
                 "cluster: " POD "token does not exist");
  kube_world_file(&world, POD "token", NULL);
  expect_failure(NULL, KIN_EINVAL,
                 "token_file: " POD "token: permission denied");
}

/* KC-01: without a CA that can be used the system's counts. */
static void test_pod_authority(void **state) {
  (void)state;
  const char *const texts[] = {NULL, "", "no certificate",
                               "-----BEGIN CERTIFICATE-----\nAAAA\n"
                               "-----END CERTIFICATE-----\n"};
  kube_world_pod(&world);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    kube_world_file(&world, POD "ca.crt", texts[i]);
    expect_loaded(NULL, "server=https://10.0.0.1:443 token-file=" POD
                        "token in-cluster=true");
    assert_non_null(
        strstr(world.lines, "1 in-cluster configuration: " POD "ca.crt: "));
  }
}

/* A broken certificate behind a good one makes the file a wrong one, and a
 * password is never asked for. */
static void test_pod_authority_with_broken_rest(void **state) {
  (void)state;
  const char *const rests[] = {
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      "-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
      "AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAA\n"
      "-----END CERTIFICATE-----\n",
      "-----BEGIN CERTIFICATE-----\nAAAA\n"};
  for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
    char text[8192];
    snprintf(text, sizeof text, "%s%s", tls_pki_get()->authority_pem, rests[i]);
    kube_world_finish(&world);
    kube_world_init(&world, 0);
    kube_world_pod(&world);
    kube_world_file(&world, POD "ca.crt", text);
    expect_loaded(NULL, "server=https://10.0.0.1:443 token-file=" POD
                        "token in-cluster=true");
  }
}

/* client-go TestInClusterConfig, KC-09: only a configuration without a cluster
 * makes room for the pod's; every other error stands. */
static void test_when_the_pod_counts(void **state) {
  (void)state;
  kube_world_pod(&world);
  kube_world_file(&world, "/k/config", CONFIG("a", "t"));
  expect_loaded("/k/config",
                "server=https://a token=t context=a cluster=a user=a");
  kube_world_file(&world, "/k/config", "users: []\n");
  expect_loaded("/k/config", POD_RESULT " in-cluster=true");
  kube_world_file(&world, "/k/config", "current-context: x\n");
  expect_failure("/k/config", KIN_EINVAL,
                 "/k/config:1: current-context: there is no context \"x\"");
  kube_world_file(&world, "/k/config", "clusters: 5\n");
  expect_failure("/k/config", KIN_EINVAL,
                 "/k/config:1: clusters: is a number, not a list");
  world.options.context = "x";
  kube_world_file(&world, "/k/config", "");
  expect_failure("/k/config", KIN_EINVAL, "context: there is no context \"x\"");
  world.options.context = NULL;
  world.options.server = "https://mine";
  expect_loaded("/k/config", "server=https://mine");
}

/* client-go TestInClusterClientConfigPrecedence, KC-09 */
static void test_overrides_in_a_pod(void **state) {
  (void)state;
  kube_world_pod(&world);
  kube_world_file(&world, "/my/ca", "");
  kube_world_file(&world, "/my/token", "");
  world.options.certificate_authority_file = "/my/ca";
  /* A CA makes a cluster of its own, which has no server. */
  expect_failure(NULL, KIN_EINVAL, "server: cluster \"\" has no server");
  world.options.certificate_authority_file = NULL;
  world.options.token = "mine";
  expect_loaded(NULL, "server=https://10.0.0.1:443 ca=" POD
                      "ca.crt token=mine in-cluster=true");
  world.options.token_file = "/my/token";
  expect_loaded(NULL, "server=https://10.0.0.1:443 ca=" POD
                      "ca.crt token=mine token-file=/my/token in-cluster=true");
  world.options.token = "";
  world.options.impersonate_user = "joe";
  expect_loaded(NULL, "server=https://10.0.0.1:443 ca=" POD
                      "ca.crt token-file=/my/token as=joe in-cluster=true");
  world.options.username = "me";
  expect_failure(NULL, KIN_EINVAL,
                 "token_file: contradicts username and password");
  world.options.token_file = NULL;
  expect_loaded(NULL, "server=https://10.0.0.1:443 ca=" POD
                      "ca.crt username=me as=joe in-cluster=true");
}

/* Once a pod is in use, no kubeconfig counts, not even a broken one. */
static void test_pod_only(void **state) {
  (void)state;
  kube_world_file(&world, "/k/good", CONFIG("a", "t"));
  kube_world_file(&world, "/k/broken", "[");
  world.env.is_pod_only = true;
  expect_failure(
      "/k/good", KIN_ENOENT,
      "in-cluster configuration: KUBERNETES_SERVICE_HOST is not set");
  kube_world_pod(&world);
  expect_loaded("/k/good", "server=https://10.0.0.1:443 ca=" POD
                           "ca.crt token-file=" POD "token in-cluster=true");
  world.options.context = "of-the-file";
  world.options.user = "of-the-file";
  expect_loaded("/k/broken", "server=https://10.0.0.1:443 ca=" POD
                             "ca.crt token-file=" POD "token in-cluster=true");
}

#define OF_A(cluster, user)                                                    \
  "contexts: [{name: a, context: {" cluster user "}}]\ncurrent-context: a\n"
#define CLUSTER_A "clusters: [{name: a, cluster: {server: 'https://a'}}]\n"
#define USER_A "users: [{name: a, user: {token: t}}]\n"

#define HAS_USER KIN__IDENTITY_USER
#define HAS_CREDENTIALS (HAS_USER | KIN__IDENTITY_CREDENTIALS)
#define HAS_AS (HAS_USER | KIN__IDENTITY_IMPERSONATION)
#define HAS_ALL (HAS_CREDENTIALS | HAS_AS)

static void expect_entries(const char *text, bool has_cluster,
                           unsigned identity) {
  kube_world_assert_ok(&world, kube_world_load_text(&world, text));
  assert_int_equal(world.config.has_cluster, has_cluster);
  assert_int_equal(world.config.identity, identity);
}

/* The entries that are in use stay there: the pod does not take the place of a
 * cluster that is missing, and no credentials are lost with a user. */
static void test_entries_in_use(void **state) {
  (void)state;
  static const char no_users[] = CLUSTER_A OF_A("cluster: a, ", "user: a");
  static const char no_clusters[] = USER_A OF_A("cluster: a, ", "user: a");
  kube_world_pod(&world);
  expect_entries(CONFIG("a", "t"), true, HAS_CREDENTIALS);
  expect_entries(no_users, true, 0);
  kube_world_expect(&world, no_clusters, POD_RESULT " in-cluster=true");
  world.env.needs_cluster = true;
  expect_entries(no_users, true, 0);
  kube_world_expect_problem(&world, no_clusters,
                            "cluster: there is no cluster \"a\"");
  kube_world_expect_problem(&world, USER_A OF_A("", "user: a"),
                            "cluster: there is no cluster \"\"");
  kube_world_expect_problem(&world, "kind: Config\n",
                            "cluster: there is no cluster \"\"");
  world.env.needs_identity = HAS_CREDENTIALS;
  expect_entries(CONFIG("a", "t"), true, HAS_CREDENTIALS);
  kube_world_expect_problem(&world, no_users, "user: there is no user \"a\"");
  assert_string_equal(world.lines, "");
  world.env.needs_identity = HAS_USER; /* which had no credentials */
  kube_world_expect_problem(&world, no_users, "user: there is no user \"a\"");
  world.options.context = "b";
  kube_world_expect_problem(&world, no_users,
                            "context: there is no context \"b\"");
}

#define IN_BLOCKS                                                              \
  CLUSTER_A "contexts:\n- name: a\n  context:\n    cluster: a\n    user: a\n"  \
            "current-context: a\nusers:\n"
#define LOST(what) "/k/config:9: user: \"a\" has no " what " any more"
#define NO_CREDENTIALS LOST("credentials")
#define NO_AS LOST("impersonation (as)")

/* A file that is read while it is written ends anywhere. The identity in use
 * stays, wherever that is; a user without any goes on. */
static void test_identity_in_use(void **state) {
  (void)state;
  static const char *const cuts[] = {"- name: a\n", "- name: a\n  user:\n",
                                     "- name: a\n  user:\n    token:\n",
                                     "- name: a\n  user:\n    password: p\n"};
  static const char only_as[] = IN_BLOCKS "- name: a\n  user:\n    as: b\n";
  static const char no_user[] = CLUSTER_A OF_A("cluster: a", "");
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    char text[512];
    snprintf(text, sizeof text, IN_BLOCKS "%s", cuts[i]);
    world.env.needs_identity = HAS_USER;
    expect_entries(text, true, HAS_USER);
    world.env.needs_identity = HAS_AS;
    kube_world_expect_problem(&world, text, NO_AS);
    world.env.needs_identity = HAS_ALL;
    kube_world_expect_problem(&world, text, NO_CREDENTIALS);
  }
  kube_world_expect_problem(&world, only_as, NO_CREDENTIALS);
  kube_world_expect_problem(&world, no_user, "user: there is no user \"\"");
  world.env.needs_identity = HAS_AS;
  expect_entries(only_as, true, HAS_AS);
  kube_world_expect_problem(&world, no_user, "user: there is no user \"\"");
  world.env.needs_identity = 0;
  expect_entries(no_user, true, 0);
}

/* The credentials alone would give more rights. */
static void test_impersonation_in_use(void **state) {
  (void)state;
  static const char whole[] =
      IN_BLOCKS "- name: a\n  user:\n    token: t\n    as: b\n";
  static const char cut[] = IN_BLOCKS "- name: a\n  user:\n    token: t\n";
  expect_entries(cut, true, HAS_CREDENTIALS);
  world.env.needs_identity = HAS_CREDENTIALS;
  expect_entries(whole, true, HAS_ALL);
  world.env.needs_identity = HAS_ALL;
  expect_entries(whole, true, HAS_ALL);
  kube_world_expect_problem(&world, cut, NO_AS);
}

/* Groups, extra and uid narrow the rights, too: for a service account without
 * groups, the server takes its groups of its own accord. */
static void test_impersonation_in_parts(void **state) {
  (void)state;
  static const struct {
    unsigned part;
    const char *name;
    const char *lines;
    const char *cut;
  } rows[] = {
      {KIN__IDENTITY_GROUPS, "as-groups", "    as-groups: [g]\n",
       "    as-groups:\n"},
      {KIN__IDENTITY_UID, "as-uid", "    as-uid: u\n", "    as-uid:\n"},
      {KIN__IDENTITY_EXTRA, "as-user-extra",
       "    as-user-extra:\n      scopes: [v]\n",
       "    as-user-extra:\n      scopes:\n"},
  };
  static const char as[] =
      IN_BLOCKS "- name: a\n  user:\n    token: t\n    as: b\n";
  static const char none[] = IN_BLOCKS "- name: a\n  user:\n    token: t\n";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512];
    char problem[128];
    snprintf(problem, sizeof problem, LOST("impersonation (%s)"), rows[i].name);
    world.env.needs_identity = HAS_ALL;
    snprintf(text, sizeof text, "%s%s", as, rows[i].lines);
    expect_entries(text, true, HAS_ALL | rows[i].part);
    world.env.needs_identity = HAS_ALL | rows[i].part;
    expect_entries(text, true, HAS_ALL | rows[i].part);
    kube_world_expect_problem(&world, as, problem);
    kube_world_expect_problem(&world, none, NO_AS);
    snprintf(text, sizeof text, "%s%s", as, rows[i].cut);
    kube_world_expect_problem(&world, text, problem);
  }
}

/* A part that an option supplies is not lost with the file's; any other is. */
static void test_identity_of_options_in_use(void **state) {
  (void)state;
  static const char empty[] = IN_BLOCKS "- name: a\n  user: {}\n";
  static const char token[] = IN_BLOCKS "- name: a\n  user: {token: t}\n";
  world.env.needs_identity = HAS_ALL;
  world.options.token = "of-the-option";
  kube_world_expect_problem(&world, empty, NO_AS);
  world.options.impersonate_user = "of-the-option";
  expect_entries(empty, true, HAS_ALL);
  world.options.token = NULL;
  expect_entries(token, true, HAS_ALL);
  kube_world_expect_problem(&world, empty, NO_CREDENTIALS);
  static const char *const groups[] = {"of-the-option"};
  unsigned all = HAS_ALL | KIN__IDENTITY_GROUPS | KIN__IDENTITY_UID;
  world.env.needs_identity = all;
  world.options.impersonate_groups = groups;
  world.options.impersonate_group_count = 1;
  kube_world_expect_problem(&world, token, LOST("impersonation (as-uid)"));
  world.options.impersonate_uid = "of-the-option";
  expect_entries(token, true, all);
}

static void test_credentials_in_use(void **state) {
  (void)state;
  static const char *const all[] = {
      "token: t",
      "tokenFile: /k/token",
      "username: u",
      "client-certificate: /k/c, client-key: /k/c",
      "client-certificate-data: Yw==, client-key-data: Yw==",
      "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: c}"};
  kube_world_file(&world, "/k/token", "t");
  kube_world_file(&world, "/k/c", "c");
  world.env.needs_identity = HAS_CREDENTIALS;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char text[512];
    snprintf(text, sizeof text,
             CLUSTER_A OF_A("cluster: a, ",
                            "user: a") "users: [{name: a, user: {%s}}]\n",
             all[i]);
    expect_entries(text, true, HAS_CREDENTIALS);
  }
}

/* client-go TestInClusterClientConfigPrecedence, KC-09: each override alone. */
static void test_in_cluster_alone(void **state) {
  (void)state;
  const char *reason;
  kube_world_pod(&world);
  kube_world_file(&world, "/my/ca", "");
  world.options.certificate_authority_file = "/my/ca";
  world.options.server = "https://mine/x?y";
  kin__problems_init(&world.problems);
  kube_world_assert_ok(
      &world, kin__in_cluster_resolve(&world.config, &world.options, &world.env,
                                      &world.problems, &reason));
  assert_string_equal(kube_world_text(&world),
                      "server=https://mine/x ca=/my/ca token-file=" POD
                      "token in-cluster=true");
}

/* client-go TestInClusterConfigNamespace, TestNamespaceOverride; KC-10: the
 * override, the context, the variable, the file. */
static void test_namespaces(void **state) {
  (void)state;
  const char *const spaced = "clusters: [{name: c, cluster: {server: "
                             "'https://c'}}]\ncontexts: [{name: x, context: "
                             "{cluster: c, namespace: of-context}}]\n"
                             "current-context: x\n";
  kube_world_file(&world, "/k/empty", "");
  kube_world_file(&world, "/k/plain", CONFIG("a", "t"));
  kube_world_file(&world, "/k/spaced", spaced);
  assert_int_equal(kube_world_load(&world, "/k/plain"), 0);
  assert_string_equal(world.config.namespace_, "default");
  assert_false(world.config.has_namespace);
  kube_world_pod(&world);
  kube_world_file(&world, POD "namespace", " \n\tof-file\n");
  assert_int_equal(kube_world_load(&world, "/k/empty"), 0);
  assert_string_equal(world.config.namespace_, "of-file");
  assert_int_equal(kube_world_load(&world, "/k/plain"), 0);
  assert_string_equal(world.config.namespace_, "of-file");
  kube_world_set(&world, "POD_NAMESPACE", "of-variable");
  assert_int_equal(kube_world_load(&world, "/k/empty"), 0);
  assert_string_equal(world.config.namespace_, "of-variable");
  assert_int_equal(kube_world_load(&world, "/k/spaced"), 0);
  assert_string_equal(world.config.namespace_, "of-context");
  world.options.namespace_ = "of-override";
  assert_int_equal(kube_world_load(&world, "/k/spaced"), 0);
  assert_string_equal(world.config.namespace_, "of-override");
  assert_int_equal(kube_world_load(&world, "/k/empty"), 0);
  assert_string_equal(world.config.namespace_, "of-override");
}

/* As that of a context. */
static void test_bad_namespace_of_a_pod(void **state) {
  (void)state;
  kube_world_pod(&world);
  kube_world_file(&world, POD "namespace", "one\ntwo\n");
  expect_failure(NULL, KIN_EINVAL,
                 POD "namespace: \"one two\" is no name of a namespace");
  kube_world_set(&world, "POD_NAMESPACE", "Bad_NS");
  expect_failure(NULL, KIN_EINVAL,
                 "POD_NAMESPACE: \"Bad_NS\" is no name of a namespace");
  kube_world_file(&world, "/k/plain", CONFIG("a", "t"));
  expect_failure("/k/plain", KIN_EINVAL,
                 "POD_NAMESPACE: \"Bad_NS\" is no name of a namespace");
  world.options.namespace_ = "good";
  kube_world_assert_ok(&world, kube_world_load(&world, NULL));
}

static void test_blank_namespace_file(void **state) {
  (void)state;
  kube_world_pod(&world);
  kube_world_file(&world, POD "namespace", " \n");
  assert_int_equal(kube_world_load(&world, NULL), 0);
  assert_string_equal(world.config.namespace_, "default");
  assert_false(world.config.has_namespace);
}

/* --- Memory --------------------------------------------------------------- */

static bool load_failing(size_t fail_at, bool is_pod) {
  kube_world w;
  kube_world_init(&w, fail_at);
  kube_world_pod(&w);
  kube_world_set(&w, "POD_NAMESPACE", "n");
  kube_world_set(&w, "KUBECONFIG", is_pod ? "/k/none" : "/k/a:/k/b");
  kube_world_file(&w, "/k/a", CONFIG("a", "t"));
  kube_world_file(
      &w, "/k/b",
      "clusters: [{name: a, cluster: {certificate-authority-data: aGFsbG8="
      ", extensions: [{name: client.authentication.k8s.io/exec, extension: "
      "{a: 1}}]}}]\nusers: [{name: u, user: {exec: {args: [a], env: [{name: "
      "a}]}, as-groups: [a], as-user-extra: {a: [b]}}}]\n");
  w.has_small_blocks = true;
  int err = kube_world_load(&w, NULL);
  bool has_failed = fail_alloc_has_failed(&w.memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  kube_world_finish(&w);
  return has_failed;
}

static bool load_file_failing(size_t fail_at) {
  return load_failing(fail_at, false);
}

static bool load_pod_failing(size_t fail_at) {
  return load_failing(fail_at, true);
}

static void test_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(load_file_failing, 100);
  fail_alloc_sweep(load_pod_failing, 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_explicit_file_must_exist),
      TEST(test_order_of_sources),
      TEST(test_list_of_files),
      TEST(test_files_of_the_first_folder),
      TEST(test_too_many_files),
      TEST(test_missing_files_are_skipped),
      TEST(test_all_files_are_missing),
      TEST(test_nothing_to_look_for),
      TEST(test_unreadable_files),
      TEST(test_unreadable_file_is_all_that_is_told),
      TEST(test_empty_files),
      TEST(test_json_file),
      TEST(test_first_current_context_counts),
      TEST(test_explicit_file_is_not_merged),
      TEST(test_first_entry_counts),
      TEST(test_files_complete_each_other),
      TEST(test_relative_paths),
      TEST(test_command_for_path),
      TEST(test_command_in_the_current_folder),
      TEST(test_null_among_arguments),
      TEST(test_path_cleaning),
      TEST(test_pod),
      TEST(test_pod_with_ipv6),
      TEST(test_no_pod),
      TEST(test_pod_authority),
      TEST(test_pod_authority_with_broken_rest),
      TEST(test_when_the_pod_counts),
      TEST(test_overrides_in_a_pod),
      TEST(test_pod_only),
      TEST(test_entries_in_use),
      TEST(test_identity_in_use),
      TEST(test_impersonation_in_use),
      TEST(test_impersonation_in_parts),
      TEST(test_identity_of_options_in_use),
      TEST(test_credentials_in_use),
      TEST(test_in_cluster_alone),
      TEST(test_namespaces),
      TEST(test_bad_namespace_of_a_pod),
      TEST(test_blank_namespace_file),
      TEST(test_allocations_fail),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tls_pki_finish();
  return failed;
}
