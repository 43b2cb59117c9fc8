/* SPDX-License-Identifier: MIT */
/* The checks of whole files, and of the context in use (KC-06): client-go's
 * validation_test.go by its meaning. What it compares as kinds of errors are
 * texts here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/kube_check.h"
#include "support/kube_world.h"

static kube_world world;
static kin__kube_set set;

static int set_up(void **state) {
  (void)state;
  kube_world_init(&world, 0);
  kin__kube_set_init(&set, &world.memory.allocator);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  kin__kube_set_finish(&set);
  kube_world_finish(&world);
  return 0;
}

static void read_set(const char *text) {
  kin__kube_set_finish(&set);
  kin__problems_init(&world.problems);
  assert_int_equal(
      kin__kube_set_add(&set, "/k", kin__cstr(text), &world.problems), 0);
  assert_string_equal(world.problems.text, "");
}

/* Everything in the file. */
static void expect_all(const char *text, const char *problems) {
  read_set(text);
  kin__kube_check_all(&set, &world.env, &world.problems);
  assert_string_equal(world.problems.text, problems);
}

/* One context of the file that was read. */
static void expect_usable(const char *name, const char *problems) {
  kin__problems_init(&world.problems);
  kin__kube_check_usable(&set, name, &world.env, &world.problems);
  assert_string_equal(world.problems.text, problems);
}

/* --- Whole files ---------------------------------------------------------- */

/* client-go TestValidateEmptyConfig, TestIsEmptyConfig,
 * TestConfirmUsableEmptyConfig, TestConfirmUsableMissingConfig; KC-06 */
static void test_empty(void **state) {
  (void)state;
  expect_all("", "the configuration is empty");
  expect_usable("", "the configuration is empty");
  expect_usable("not-here", "the configuration is empty");
}

/* client-go TestValidateMissingCurrentContextConfig, TestIsContextNotFound;
 * KC-06 */
static void test_missing_current_context(void **state) {
  (void)state;
  expect_all("current-context: anything",
             "/k:1: current-context: there is no context \"anything\"");
  expect_usable(NULL,
                "/k:1: current-context: there is no context \"anything\"");
}

static void test_no_context(void **state) {
  (void)state;
  expect_all("users: [{name: a}]", "");
  expect_usable(NULL, "context: none is chosen");
  expect_usable("x", "context: there is no context \"x\"");
}

#define MIXED                                                                  \
  "clusters:\n"                                                                \
  "- {name: missing ca, cluster: {server: a, certificate-authority: none}}\n"  \
  "- {name: clean, cluster: {server: anything}}\n"                             \
  "users:\n"                                                                   \
  "- {name: error, user: {username: anything, token: here}}\n"                 \
  "- {name: clean, user: {token: here}}\n"                                     \
  "contexts:\n"                                                                \
  "- {name: dirty, context: {cluster: missing ca, user: error}}\n"             \
  "- {name: clean, context: {cluster: clean, user: clean}}\n"
#define MIXED_PROBLEMS                                                         \
  "/k:5: users[0].user.token: contradicts username and password\n"             \
  "/k:2: clusters[0].cluster.certificate-authority: /none: there is no such "  \
  "file"

/* client-go TestConfirmUsableBadInfoButOkConfig,
 * TestConfirmUsableBadInfoConfig; KC-06: a context in use does not care for the
 * others. */
static void test_only_the_context_in_use(void **state) {
  (void)state;
  expect_all(MIXED, MIXED_PROBLEMS);
  expect_usable("clean", "");
  expect_usable("dirty", MIXED_PROBLEMS);
}

/* client-go TestConfirmUsableMissingObjects, KC-06 */
static void test_missing_objects(void **state) {
  (void)state;
  expect_all(
      "clusters: [{name: c, cluster: {server: anything}}]\n"
      "users: [{name: u, user: {token: any-value}}]\n"
      "contexts:\n- {name: missing-user, context: {cluster: c, user: gone}}\n"
      "- {name: missing-cluster, context: {cluster: gone, user: u}}\n",
      "/k:4: contexts[0].context.user: there is no user \"gone\"\n"
      "/k:5: contexts[1].context.cluster: there is no cluster \"gone\"");
  expect_usable("missing-user",
                "/k:4: contexts[0].context.user: there is no user \"gone\"");
  expect_usable("missing-cluster",
                "/k:5: contexts[1].context.cluster: there is no cluster "
                "\"gone\"\nserver: the cluster is empty");
}

/* client-go TestValidateMissingReferencesConfig, KC-06 */
static void test_missing_references(void **state) {
  (void)state;
  expect_all("current-context: anything\ncontexts: [{name: anything, context: "
             "{cluster: missing, user: missing}}]\n",
             "/k:2: contexts[0].context.user: there is no user \"missing\"\n"
             "/k:2: contexts[0].context.cluster: there is no cluster "
             "\"missing\"");
}

/* client-go TestValidateEmptyContext, TestValidateEmptyContextName; KC-06 */
static void test_empty_context(void **state) {
  (void)state;
  expect_all("contexts: [{name: x, context: {}}]\n",
             "/k:1: contexts[0].context.user: is required\n"
             "/k:1: contexts[0].context.cluster: is required");
  expect_all("clusters: [{name: c, cluster: {server: a}}]\n"
             "users: [{name: u}]\n"
             "contexts: [{context: {cluster: c, user: u}}]\n",
             "/k:3: contexts[0].name: is required");
}

/* client-go TestIsConfigurationInvalid,
 * TestErrConfigurationInvalidWithErrorsIs,
 * TestErrConfigurationInvalidWithErrorsIsShortCircuitsOnFirstMatch; KC-06: many
 * problems are one text, which is bounded and counts the rest. */
static void test_many_problems(void **state) {
  (void)state;
  char text[8000] = "users:\n";
  for (int i = 0; i < 100; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "- {name: u%d, user: {token: a, username: b}}\n", i);
  }
  read_set(text);
  kin__kube_check_all(&set, &world.env, &world.problems);
  const kin__problems *problems = &world.problems;
  assert_int_equal(problems->count, 100);
  assert_true(strlen(problems->text) < sizeof problems->text);
  const char *first = "/k:2: users[0].user.token: contradicts username and "
                      "password\n/k:3: users[1].user.token: ";
  assert_memory_equal(problems->text, first, strlen(first));
  char last[64];
  snprintf(last, sizeof last, "\n%zu more problems",
           problems->count - problems->told);
  assert_string_equal(strrchr(problems->text, '\n'), last);
  assert_true(problems->told > 40);
}

/* Names and files of any length fit the text; a newline in a name is none in
 * the text. */
static void test_long_names(void **state) {
  (void)state;
  char name[6000];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  kin__problems_init(&world.problems);
  for (int i = 0; i < 20; i++) {
    kin__problems_add(&world.problems, (kin__config_place){name, 7}, name,
                      "%s\n%s", name, name);
  }
  assert_int_equal(world.problems.count, 20);
  assert_true(strlen(world.problems.text) < KIN__PROBLEMS_SIZE);
  assert_memory_equal(world.problems.text, "...nnn", 6);
  kin__problems_init(&world.problems);
  kin__problems_add(&world.problems, (kin__config_place){"/k", 0}, "f",
                    "a\nb\x1b[1m");
  assert_string_equal(world.problems.text, "/k: f: a b [1m");
}

/* --- Clusters ------------------------------------------------------------- */

/* client-go TestValidateEmptyClusterInfo,
 * TestValidateClusterInfoErrEmptyCluster; KC-06 */
static void test_empty_cluster(void **state) {
  (void)state;
  expect_all("clusters: [{name: c, cluster: {}}]\n",
             "/k:1: clusters[0].cluster.server: cluster \"c\" has no server");
  expect_all("clusters:\n- {name: a}\n- cluster: {server: ''}\n",
             "/k:2: clusters[0].cluster.server: cluster \"a\" has no server\n"
             "/k:3: clusters[1].cluster.server: cluster \"\" has no server");
  expect_all("contexts: [{name: x, context: {cluster: c, user: u}}]\n"
             "users: [{name: u}]\n",
             "/k:1: contexts[0].context.cluster: there is no cluster \"c\"");
  expect_usable("x",
                "/k:1: contexts[0].context.cluster: there is no cluster \"c\"\n"
                "server: the cluster is empty");
}

/* client-go TestValidateMissingCAFileClusterInfo, TestValidateCleanClusterInfo,
 * TestValidateCleanWithCAClusterInfo; KC-06 */
static void test_authorities(void **state) {
  (void)state;
  kube_world_file(&world, "/ca", "");
  kube_world_file(&world, "/secret", NULL);
  expect_all("clusters: [{name: c, cluster: {server: a}}]\n", "");
  expect_all("clusters: [{name: c, cluster: {server: a, "
             "certificate-authority: ca}}]\n",
             "");
  expect_all("clusters: [{name: c, cluster: {server: a, "
             "certificate-authority: none}}]\n",
             "/k:1: clusters[0].cluster.certificate-authority: /none: there is "
             "no such file");
  expect_all("clusters: [{name: c, cluster: {server: a, "
             "certificate-authority: secret}}]\n",
             "/k:1: clusters[0].cluster.certificate-authority: /secret: "
             "permission denied");
  expect_all("clusters: [{name: c, cluster: {server: a, "
             "certificate-authority: ca, certificate-authority-data: YQ==}}]\n",
             "/k:1: clusters[0].cluster.certificate-authority: contradicts the "
             "field with -data");
}

/* A file is looked at only if the surroundings can do so. */
static void test_without_files(void **state) {
  (void)state;
  world.env.probe = NULL;
  expect_all("clusters: [{name: c, cluster: {server: a, "
             "certificate-authority: none}}]\n",
             "");
}

/* --- Users ---------------------------------------------------------------- */

static void expect_user(const char *user, const char *problems) {
  char text[1024];
  snprintf(text, sizeof text, "users: [{name: u, user: {%s}}]\n", user);
  expect_all(text, problems);
}

#define USER "/k:1: users[0].user."

/* client-go TestValidateEmptyAuthInfo, TestValidateCleanTokenAuthInfo; KC-06 */
static void test_users_without_problems(void **state) {
  (void)state;
  expect_user("", "");
  expect_user("token: any-value", "");
  expect_user("username: a, password: b", "");
  expect_user("password: b", "");
  expect_user("client-key-data: YQ==", "");
}

/* client-go TestValidateCertFilesNotFoundAuthInfo, KC-06 */
static void test_missing_certificate_files(void **state) {
  (void)state;
  expect_user("client-certificate: missing, client-key: missing2",
              USER "client-certificate: /missing: there is no such file\n" USER
                   "client-key: /missing2: there is no such file");
}

/* client-go TestValidateCertDataOverridesFiles, KC-06 */
static void test_data_beside_files(void **state) {
  (void)state;
  kube_world_file(&world, "/f", "");
  expect_user("client-certificate: f, client-certificate-data: YQ==, "
              "client-key: f, client-key-data: YQ==",
              USER "client-certificate: contradicts the field with -data\n" USER
                   "client-key: contradicts the field with -data");
}

/* client-go TestValidateCleanCertFilesAuthInfo, KC-06 */
static void test_certificate_files(void **state) {
  (void)state;
  kube_world_file(&world, "/f", "");
  expect_user("client-certificate: f, client-key: f", "");
  expect_user("client-certificate: f, client-key-data: YQ==", "");
  expect_user("client-certificate: f",
              USER "client-key: the client certificate needs a key");
  expect_user("client-certificate-data: YQ==",
              USER "client-key: the client certificate needs a key");
}

/* client-go TestValidateMultipleMethodsAuthInfo, KC-06 */
static void test_two_methods(void **state) {
  (void)state;
  expect_user("token: SECRET, username: a, password: SECRET",
              USER "token: contradicts username and password");
  expect_user("token: SECRET, password: SECRET",
              USER "token: contradicts username and password");
}

#define VERSION "apiVersion: client.authentication.k8s.io/v1beta1"

/* client-go TestValidateAuthInfoExec, TestValidateAuthInfoExecNoVersion,
 * TestValidateAuthInfoExecNoCommand; KC-06 */
static void test_exec(void **state) {
  (void)state;
  expect_user("exec: {command: /bin/example, " VERSION ", args: [hello, world],"
              " env: [{name: foo, value: bar}], interactiveMode: IfAvailable}",
              "");
  expect_user("exec: {command: /bin/example, interactiveMode: IfAvailable}",
              USER "exec.apiVersion: is required");
  expect_user("exec: {" VERSION ", interactiveMode: IfAvailable}",
              USER "exec.command: is required");
  expect_user("exec: {command: '', apiVersion: '', interactiveMode: ''}",
              USER "exec.command: is required\n" USER
                   "exec.apiVersion: is required\n" USER
                   "exec.interactiveMode: is required");
}

/* client-go TestValidateAuthInfoExecWithAuthProvider, KC-06 */
static void test_exec_with_auth_provider(void **state) {
  (void)state;
  expect_user("auth-provider: {name: oidc, config: {other: thing}}, exec: "
              "{command: /bin/example, " VERSION
              ", interactiveMode: IfAvailable}",
              USER "auth-provider: contradicts exec");
}

/* client-go TestValidateAuthInfoExecNoEnv, KC-06 */
static void test_exec_env(void **state) {
  (void)state;
  expect_user("exec: {command: /bin/example, " VERSION
              ", env: [{name: a}, {name: '', value: SECRET}, {}]}",
              USER "exec.env: entry 1 has no name\n" USER
                   "exec.env: entry 2 has no name");
}

/* client-go TestValidateAuthInfoExecInteractiveModeMissing,
 * TestValidateAuthInfoExecInteractiveModeInvalid; KC-06: v1 has no default. */
static void test_exec_interactive_mode(void **state) {
  (void)state;
  expect_user("exec: {command: c, apiVersion: client.authentication.k8s.io/v1}",
              USER "exec.interactiveMode: is required");
  expect_user("exec: {command: c, " VERSION "}", "");
  expect_user("exec: {command: c, " VERSION ", interactiveMode: never}",
              USER "exec.interactiveMode: \"never\" is not Never, IfAvailable "
                   "or Always");
}

/* client-go TestValidateAuthInfoImpersonateUser,
 * TestValidateAuthInfoImpersonateEverything,
 * TestValidateAuthInfoImpersonateGroupsWithoutUserInvalid,
 * TestValidateAuthInfoImpersonateExtraWithoutUserInvalid,
 * TestValidateAuthInfoImpersonateUIDWithoutUserInvalid; KC-06 */
static void test_impersonation_needs_a_user(void **state) {
  (void)state;
  expect_user("as: user", "");
  expect_user("as: user, as-uid: uid, as-groups: [group], as-user-extra: {key: "
              "[val1, val2]}",
              "");
  expect_user("as-groups: [group]",
              USER "as-groups: needs a user to impersonate");
  expect_user("as-user-extra: {key: [val1, val2]}",
              USER "as-user-extra: needs a user to impersonate");
  expect_user("as-user-extra: {key: []}",
              USER "as-user-extra: needs a user to impersonate");
  expect_user("as-uid: uid", USER "as-uid: needs a user to impersonate");
  expect_user("as-uid: '', as-groups: [], as-user-extra: {}", "");
}

/* --- Names of namespaces -------------------------------------------------- */

static void test_labels(void **state) {
  (void)state;
  char longest[65];
  memset(longest, 'a', sizeof longest);
  longest[63] = '\0';
  assert_true(kin__kube_is_label(longest));
  longest[63] = 'a';
  longest[64] = '\0';
  assert_false(kin__kube_is_label(longest));
  const char *const good[] = {"a", "0", "kube-system", "a--b"};
  const char *const bad[] = {"",    "-",   "-a",       "a-", "A",
                             "a.b", "a_b", "\xc3\xa9", "a b"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(kin__kube_is_label(good[i]));
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_false(kin__kube_is_label(bad[i]));
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_empty),
      TEST(test_missing_current_context),
      TEST(test_no_context),
      TEST(test_only_the_context_in_use),
      TEST(test_missing_objects),
      TEST(test_missing_references),
      TEST(test_empty_context),
      TEST(test_many_problems),
      TEST(test_long_names),
      TEST(test_empty_cluster),
      TEST(test_authorities),
      TEST(test_without_files),
      TEST(test_users_without_problems),
      TEST(test_missing_certificate_files),
      TEST(test_data_beside_files),
      TEST(test_certificate_files),
      TEST(test_two_methods),
      TEST(test_exec),
      TEST(test_exec_with_auth_provider),
      TEST(test_exec_env),
      TEST(test_exec_interactive_mode),
      TEST(test_impersonation_needs_a_user),
      TEST(test_labels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
