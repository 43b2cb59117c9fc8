/* SPDX-License-Identifier: MIT */
/* Reading one file (KC-02 to KC-04): fields of every type, what is ignored, and
 * what is told of a value of a wrong type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/base64.h"
#include "support/json_mutations.h"
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

static int read_file(const char *text) {
  kin__kube_set_finish(&set);
  kin__problems_init(&world.problems);
  return kin__kube_set_add(&set, "/k", kin__cstr(text), &world.problems);
}

static void expect_problems(const char *text, const char *problems) {
  assert_int_equal(read_file(text), 0);
  assert_string_equal(world.problems.text, problems);
}

/* --- The file as a whole -------------------------------------------------- */

static void test_header(void **state) {
  (void)state;
  expect_problems("kind: Config\napiVersion: v1\npreferences: 3\nextensions: "
                  "[1]\nany: {thing: [else]}\n",
                  "");
  expect_problems("kind: ''\napiVersion: ~\n", "");
  expect_problems("kind: Pod\napiVersion: apps/v1\n",
                  "/k:1: kind: is not \"Config\"\n"
                  "/k:2: apiVersion: is not \"v1\"");
  expect_problems("kind: 5\n",
                  "/k:1: kind: is a number, not a string (put it in quotes)");
}

static void test_no_file_of_this_kind(void **state) {
  (void)state;
  const struct {
    const char *text;
    const char *problem;
  } rows[] = {
      {"[]", "/k:1: is a list, not a map"},
      {"\ntext", "/k:2: is a string, not a map"},
      {"a: 'b", "/k:1: not valid YAML: found unexpected end of stream"},
      {"a: 1\na: 2", "/k:2: not valid YAML: a key is there twice in one map"},
      {"{}\n---\n{}", "/k:2: not valid YAML: there is more than one document"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(read_file(rows[i].text), KIN_EINVAL);
    assert_string_equal(world.problems.text, rows[i].problem);
  }
}

/* client-go TestDuplicateClusterName, TestDuplicateContextName,
 * TestDuplicateUserName; KC-03 */
static void test_duplicate_names(void **state) {
  (void)state;
  expect_problems("clusters:\n- name: a\n- name: b\n- {name: a}\n"
                  "users: [{name: a}, {name: a}]\n"
                  "contexts: [{name: ''}, {}]\n",
                  "/k:4: clusters[2]: the name \"a\" is there twice\n"
                  "/k:5: users[1]: the name \"a\" is there twice\n"
                  "/k:6: contexts[1]: the name \"\" is there twice");
  assert_int_equal(set.clusters.count, 2);
}

/* KC-03: also if the names do not count, because another file has them. */
static void test_duplicate_names_of_a_later_file(void **state) {
  (void)state;
  expect_problems("users: [{name: a}]\n", "");
  assert_int_equal(kin__kube_set_add(&set, "/k2",
                                     kin__cstr("users: [{name: a}]\n"),
                                     &world.problems),
                   0);
  assert_int_equal(
      kin__kube_set_add(&set, "/k3",
                        kin__cstr("users: [{name: b}, {name: a}, {name: a}]\n"),
                        &world.problems),
      0);
  assert_string_equal(world.problems.text,
                      "/k3:1: users[2]: the name \"a\" is there twice");
  assert_int_equal(set.users.count, 2);
}

/* client-go TestDuplicateExtensionName, KC-03: of the extensions that have a
 * meaning. */
static void test_duplicate_extension(void **state) {
  (void)state;
#define EXTENSION "{name: client.authentication.k8s.io/exec, extension: 1}"
  expect_problems(
      "clusters: [{cluster: {extensions: [{name: o}, {name: o}, " EXTENSION
      ", " EXTENSION "]}}]\n",
      "/k:1: clusters[0].cluster.extensions[3]: the name "
      "client.authentication.k8s.io/exec is there twice");
}

static void test_bound_of_entries(void **state) {
  (void)state;
  const size_t count = KIN__KUBE_MAX_ENTRIES;
  char *text = malloc(count * 24 + 100);
  assert_non_null(text);
  char *end = text + sprintf(text, "users:\n");
  for (size_t i = 0; i < count; i++) {
    end += sprintf(end, "- {name: u%zu}\n", i);
  }
  expect_problems(text, "");
  assert_int_equal(set.users.count, count);
  assert_non_null(kin__kube_user_find(&set, "u9999"));
  assert_null(kin__kube_user_find(&set, "u10000"));
  strcpy(end, "- {}\n");
  expect_problems(text, "/k:10002: users[10000]: is over the limit of 10000 "
                        "entries");
  free(text);
}

static void test_bound_of_exec_config(void **state) {
  (void)state;
  const size_t most = KIN__KUBE_MAX_EXEC_CONFIG;
  char *text = malloc(most + 200);
  assert_non_null(text);
  char *end =
      text + sprintf(text, "clusters: [{cluster: {extensions: [{name: "
                           "client.authentication.k8s.io/exec, extension: ");
  memset(end, 'x', most - 2);
  strcpy(end + most - 2, "}]}}]");
  expect_problems(text, "");
  strcpy(end + most - 2, "x}]}}]");
  expect_problems(text, "/k:1: clusters[0].cluster.extensions[0]: is over "
                        "65536 bytes of JSON");
  strcpy(end, "[.inf]}]}}]");
  expect_problems(text, "/k:1: clusters[0].cluster.extensions[0]: has a "
                        "number that JSON does not have, or a key that is a "
                        "number (put it in quotes)");
  free(text);
}

/* --- Values --------------------------------------------------------------- */

static void test_data(void **state) {
  (void)state;
  const struct {
    const char *encoded;
    const char *decoded; /* NULL: refused */
  } rows[] = {
      {"", ""},
      {"YQ==", "a"},
      {"YWI=", "ab"},
      {"YWJj", "abc"},
      {"YWJjZA==", "abcd"},
      {"Y\nQ\r\n==\n", "a"},
      {"+/A=", "\xfb\xf0"},
      {"YR==", "a"},
      {"Y", NULL},
      {"YQ", NULL},
      {"YQ=", NULL},
      {"YQ===", NULL},
      {"=", NULL},
      {"====", NULL},
      {"Y===", NULL},
      {"YQ==YQ==", NULL},
      {"YQ==Y", NULL},
      {"YQ=a", NULL},
      {"Y Q==", NULL},
      {"YQ-_", NULL},
      {"YWI==", NULL},
      {"YWJj=", NULL},
      {"YQ==\n=", NULL},
      {"\xc3\xa9==", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin__vault vault;
    kin__vault_init(&vault, &world.memory.allocator);
    kin_str text;
    int err = kin__base64_decode(&vault, kin__cstr(rows[i].encoded), &text);
    if ((err == 0) != (rows[i].decoded != NULL) ||
        (err == 0 && !kin__str_equal(text, kin__cstr(rows[i].decoded)))) {
      fail_msg("%s: %d", rows[i].encoded, err);
    }
    kin__vault_finish(&vault);
  }
}

static void test_bad_data(void **state) {
  (void)state;
  expect_problems("users: [{user: {client-key-data: SECRET, "
                  "client-certificate-data: YQBi}}]\n"
                  "clusters: [{cluster: {certificate-authority-data: 5}}]\n",
                  "/k:1: users[0].user.client-key-data: is not base64\n"
                  "/k:1: users[0].user.client-certificate-data: is not the "
                  "base64 of PEM text\n"
                  "/k:2: clusters[0].cluster.certificate-authority-data: is a "
                  "number, not a string (put it in quotes)");
}

/* A C string would end there. */
static void test_nul_characters(void **state) {
  (void)state;
  expect_problems("users: [{name: \"a\\0b\", user: {token: \"SECRET\\0\", "
                  "as-groups: [\"\\0\"], as-user-extra: {\"a\\0\": [b]}}}]\n",
                  "/k:1: users[0].name: has a NUL character\n"
                  "/k:1: users[0].user.token: has a NUL character\n"
                  "/k:1: users[0].user.as-groups[0]: has a NUL character\n"
                  "/k:1: users[0].user.as-user-extra: has a key with a NUL "
                  "character");
}

/* Go writes these numbers in another way. */
static void test_keys_that_are_numbers(void **state) {
  (void)state;
  static const char *const keys[] = {
      "0x1f", "010", "1.0", "+1", "1_0", "-0", "1e3", "1234567890123456789"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    char text[128];
    snprintf(text, sizeof text,
             "users: [{name: a, user: {as-user-extra: {%s: [b]}}}]\n", keys[i]);
    expect_problems(text,
                    "/k:1: users[0].user.as-user-extra: has a key that is "
                    "a number (put it in quotes)");
    snprintf(text, sizeof text,
             "clusters: [{cluster: {extensions: [{name: "
             "client.authentication.k8s.io/exec, extension: {%s: b}}]}}]\n",
             keys[i]);
    expect_problems(
        text, "/k:1: clusters[0].cluster.extensions[0]: has a number that "
              "JSON does not have, or a key that is a number (put it in "
              "quotes)");
  }
  expect_problems("users: [{name: a, user: {as-user-extra: {on: [b], 12: "
                  "[c]}}}]\n0x1: ignored\n",
                  "");
  const kin__kube_user *user = kin__kube_user_find(&set, "a");
  assert_string_equal(user->as_extra[0].key, "true");
  assert_string_equal(user->as_extra[1].key, "12");
}

/* A wrong value is told once: the checks do not miss it again. */
static void test_wrong_value_is_told_once(void **state) {
  (void)state;
  kube_world_expect_problem(
      &world,
      "clusters: [{name: c, cluster: {server: 5}}]\n"
      "users: [{name: u, user: {client-certificate-data: YQ==, client-key: 1, "
      "exec: {command: {}, apiVersion: [], interactiveMode: 3, env: [{name: "
      "5}]}}}]\n"
      "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
      "current-context: x\n",
      "/k/config:1: clusters[0].cluster.server: is a number, not a string (put "
      "it in quotes)\n"
      "/k/config:2: users[0].user.client-key: is a number, not a string (put "
      "it in quotes)\n"
      "/k/config:2: users[0].user.exec.command: is a map, not a string\n"
      "/k/config:2: users[0].user.exec.apiVersion: is a list, not a string\n"
      "/k/config:2: users[0].user.exec.interactiveMode: is a number, not a "
      "string (put it in quotes)\n"
      "/k/config:2: users[0].user.exec.env[0].name: is a number, not a string "
      "(put it in quotes)");
}

/* --- Every value of every type -------------------------------------------- */

/* What a value may be; null may stand for each. */
typedef enum wanted { STRING, TRUTH, LIST, MAP, ANYTHING } wanted;

/* The whole of what a file can say; %s is put in the place of one value. */
static const struct {
  const char *path;
  wanted type;
  const char *before;
  const char *after;
} values[] = {
    {"kind", STRING, "{\"kind\":", "}"},
    {"apiVersion", STRING, "{\"apiVersion\":", "}"},
    {"current-context", STRING, "{\"current-context\":", "}"},
    {"clusters", LIST, "{\"clusters\":", "}"},
    {"users", LIST, "{\"users\":", "}"},
    {"contexts", LIST, "{\"contexts\":", "}"},
    {"preferences", ANYTHING, "{\"preferences\":", "}"},
    {"clusters[0]", MAP, "{\"clusters\":[", "]}"},
    {"users[0]", MAP, "{\"users\":[", "]}"},
    {"contexts[0]", MAP, "{\"contexts\":[", "]}"},
#define CLUSTER(field, type)                                                   \
  {                                                                            \
    "clusters[0].cluster." field, type,                                        \
        "{\"clusters\":[{\"cluster\":{\"" field "\":", "}}]}"                  \
  }
    {"clusters[0].name", STRING, "{\"clusters\":[{\"name\":", "}]}"},
    {"clusters[0].cluster", MAP, "{\"clusters\":[{\"cluster\":", "}]}"},
    CLUSTER("server", STRING),
    CLUSTER("tls-server-name", STRING),
    CLUSTER("insecure-skip-tls-verify", TRUTH),
    CLUSTER("certificate-authority", STRING),
    CLUSTER("certificate-authority-data", STRING),
    CLUSTER("proxy-url", STRING),
    CLUSTER("disable-compression", TRUTH),
    CLUSTER("extensions", LIST),
    CLUSTER("unknown", ANYTHING),
    {"clusters[0].cluster.extensions[0]", MAP,
     "{\"clusters\":[{\"cluster\":{\"extensions\":[", "]}}]}"},
    {"clusters[0].cluster.extensions[0].name", STRING,
     "{\"clusters\":[{\"cluster\":{\"extensions\":[{\"name\":", "}]}}]}"},
    {"extension", ANYTHING,
     "{\"clusters\":[{\"cluster\":{\"extensions\":[{\"name\":"
     "\"client.authentication.k8s.io/exec\",\"extension\":",
     "}]}}]}"},
#define USER_FIELD(field, type)                                                \
  {                                                                            \
    "users[0].user." field, type,                                              \
        "{\"users\":[{\"user\":{\"" field "\":", "}}]}"                        \
  }
    {"users[0].name", STRING, "{\"users\":[{\"name\":", "}]}"},
    {"users[0].user", MAP, "{\"users\":[{\"user\":", "}]}"},
    USER_FIELD("client-certificate", STRING),
    USER_FIELD("client-certificate-data", STRING),
    USER_FIELD("client-key", STRING),
    USER_FIELD("client-key-data", STRING),
    USER_FIELD("token", STRING),
    USER_FIELD("tokenFile", STRING),
    USER_FIELD("username", STRING),
    USER_FIELD("password", STRING),
    USER_FIELD("as", STRING),
    USER_FIELD("as-uid", STRING),
    USER_FIELD("as-groups", LIST),
    USER_FIELD("as-user-extra", MAP),
    USER_FIELD("auth-provider", MAP),
    USER_FIELD("exec", MAP),
    {"users[0].user.as-groups[0]", STRING,
     "{\"users\":[{\"user\":{\"as-groups\":[", "]}}]}"},
    {"users[0].user.as-user-extra", LIST,
     "{\"users\":[{\"user\":{\"as-user-extra\":{\"k\":", "}}}]}"},
    {"users[0].user.as-user-extra[0]", STRING,
     "{\"users\":[{\"user\":{\"as-user-extra\":{\"k\":[", "]}}}]}"},
    {"users[0].user.auth-provider.name", STRING,
     "{\"users\":[{\"user\":{\"auth-provider\":{\"name\":", "}}}]}"},
#define EXEC(field, type)                                                      \
  {                                                                            \
    "users[0].user.exec." field, type,                                         \
        "{\"users\":[{\"user\":{\"exec\":{\"" field "\":", "}}}]}"             \
  }
    EXEC("apiVersion", STRING),
    EXEC("command", STRING),
    EXEC("args", LIST),
    EXEC("env", LIST),
    EXEC("installHint", STRING),
    EXEC("interactiveMode", STRING),
    EXEC("provideClusterInfo", TRUTH),
    {"users[0].user.exec.args[0]", STRING,
     "{\"users\":[{\"user\":{\"exec\":{\"args\":[", "]}}}]}"},
    {"users[0].user.exec.env[0]", MAP,
     "{\"users\":[{\"user\":{\"exec\":{\"env\":[", "]}}}]}"},
    {"users[0].user.exec.env[0].name", STRING,
     "{\"users\":[{\"user\":{\"exec\":{\"env\":[{\"name\":", "}]}}}]}"},
    {"users[0].user.exec.env[0].value", STRING,
     "{\"users\":[{\"user\":{\"exec\":{\"env\":[{\"value\":", "}]}}}]}"},
    {"contexts[0].name", STRING, "{\"contexts\":[{\"name\":", "}]}"},
    {"contexts[0].context", MAP, "{\"contexts\":[{\"context\":", "}]}"},
#define CONTEXT(field, type)                                                   \
  {                                                                            \
    "contexts[0].context." field, type,                                        \
        "{\"contexts\":[{\"context\":{\"" field "\":", "}}]}"                  \
  }
    CONTEXT("cluster", STRING),
    CONTEXT("user", STRING),
    CONTEXT("namespace", STRING),
};

static const struct {
  wanted type;
  const char *text;
  const char *name;
} others[] = {
    {ANYTHING, "null", "null"},
    {TRUTH, "true", "a boolean"},
    {TRUTH, "no", "a boolean"},
    {ANYTHING, "1", "a number"},
    {ANYTHING, "-1.5e3", "a number"},
    {STRING, "\"\"", "a string"},
    {STRING, "\"YQ==\"", "a string"},
    {LIST, "[]", "a list"},
    {MAP, "{}", "a map"},
};

/* KC-02: each wrong type is told with file, line and field. */
static void test_every_type_in_every_place(void **state) {
  (void)state;
  const char *const wanted_names[] = {"a string", "true or false", "a list",
                                      "a map", ""};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
      char text[512];
      char expected[512] = "";
      snprintf(text, sizeof text, "%s\n%s%s", values[i].before, others[k].text,
               values[i].after);
      bool is_null = strcmp(others[k].text, "null") == 0;
      bool is_wrong = !is_null && values[i].type != ANYTHING &&
                      values[i].type != others[k].type;
      bool is_quotable = values[i].type == STRING &&
                         (strcmp(others[k].name, "a number") == 0 ||
                          strcmp(others[k].name, "a boolean") == 0);
      if (is_wrong) {
        snprintf(expected, sizeof expected, "/k:2: %s: is %s, not %s%s",
                 values[i].path, others[k].name, wanted_names[values[i].type],
                 is_quotable ? " (put it in quotes)" : "");
      }
      assert_int_equal(read_file(text), 0);
      /* The name of another kind of file is a problem of its own. */
      if (strstr(world.problems.text, ": is not \"") == NULL &&
          strcmp(world.problems.text, expected) != 0) {
        fail_msg("%s: %s", text, world.problems.text);
      }
    }
  }
}

static const char *const whole =
    "{\"kind\":\"Config\",\"apiVersion\":\"v1\",\"current-context\":\"x\","
    "\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"https://c\","
    "\"certificate-authority-data\":\"YQ==\",\"insecure-skip-tls-verify\":"
    "false,\"extensions\":[{\"name\":\"client.authentication.k8s.io/exec\","
    "\"extension\":{\"a\":[1,null]}}]}}],"
    "\"users\":[{\"name\":\"u\",\"user\":{\"client-certificate-data\":\"YQ==\","
    "\"client-key-data\":\"YQ==\",\"token\":\"t\",\"as\":\"joe\",\"as-groups\":"
    "[\"g\"],\"as-user-extra\":{\"k\":[\"v\"]},\"exec\":{\"command\":\"c\","
    "\"apiVersion\":\"v\",\"args\":[\"a\"],\"env\":[{\"name\":\"N\",\"value\":"
    "\"v\"}],\"interactiveMode\":\"Never\"}}}],"
    "\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\",\"user\":"
    "\"u\",\"namespace\":\"n\"}}]}";

/* Whatever a value becomes, and whether it is there at all or twice: the file
 * is taken, or every problem has a place. */
static void test_mutations(void **state) {
  (void)state;
  kube_world_assert_ok(&world, kube_world_load_text(&world, whole));
  json_mutations m;
  json_mutations_init(&m, whole);
  size_t good = 0;
  for (size_t i = 0; i < m.count; i++) {
    kube_world_file(&world, "/k/config", json_mutation(&m, i));
    int err = kube_world_load(&world, "/k/config");
    good += err == 0;
    assert_true(err == 0 || err == KIN_EINVAL || err == KIN_ENOENT);
    assert_true(err == 0 || strstr(world.problems.text, "/k/config") != NULL);
  }
  assert_true(m.count > 500 && good > 20 && good < m.count / 2);
  json_mutations_finish(&m);
}

/* --- Memory --------------------------------------------------------------- */

static bool read_failing(size_t fail_at) {
  kube_world w;
  kube_world_init(&w, fail_at);
  w.has_small_blocks = true;
  int err = kube_world_load_text(&w, whole);
  bool has_failed = fail_alloc_has_failed(&w.memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  kube_world_finish(&w);
  return has_failed;
}

static void test_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(read_failing, 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_header),
      TEST(test_no_file_of_this_kind),
      TEST(test_duplicate_names),
      TEST(test_duplicate_names_of_a_later_file),
      TEST(test_duplicate_extension),
      TEST(test_bound_of_entries),
      TEST(test_bound_of_exec_config),
      TEST(test_data),
      TEST(test_bad_data),
      TEST(test_nul_characters),
      TEST(test_keys_that_are_numbers),
      TEST(test_wrong_value_is_told_once),
      TEST(test_every_type_in_every_place),
      TEST(test_mutations),
      TEST(test_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
