/* SPDX-License-Identifier: MIT */

/* A program that exports another libyaml than the one that the library was built
 * for: an error before anything of it is used, and none without a kubeconfig. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include <kin/kin.h>
#include <kin/kubeconfig.h>

static const int *version; /* NULL: the real one */

void __real_yaml_get_version(int *major, int *minor, int *patch);
void __wrap_yaml_get_version(int *major, int *minor, int *patch);

void __wrap_yaml_get_version(int *major, int *minor, int *patch) {
  if (version == NULL) {
    __real_yaml_get_version(major, minor, patch);
    return;
  }
  *major = version[0];
  *minor = version[1];
  *patch = version[2];
}

static void close_client(uv_loop_t *loop, kin_client *client) {
  assert_int_equal(kin_client_close(client, NULL, NULL), 0);
  uv_run(loop, UV_RUN_DEFAULT);
}

/* Opens a client of a kubeconfig, and closes it. */
static int try_open(uv_loop_t *loop, char *problem, size_t size) {
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  kin_client *client;
  options.problem = problem;
  options.problem_size = size;
  int err = kin_client_open_kubeconfig(&client, loop, NULL, &options);
  assert_true((err == 0) == (client != NULL));
  if (err == 0) {
    close_client(loop, client);
  }
  return err;
}

static int try_load(char *problem, size_t size) {
  kin_kubeconfig_options options = KIN_KUBECONFIG_OPTIONS_INIT;
  kin_kubeconfig *config;
  options.path = "/nonexistent/kubeconfig";
  options.problem = problem;
  options.problem_size = size;
  int err = kin_kubeconfig_load(&config, &options);
  assert_null(config);
  return err;
}

static void expect_problem(const char *problem) {
  assert_non_null(strstr(problem, "libyaml: the program uses another one ("));
  assert_non_null(strstr(problem, ") than kinformer needs (0.1 or 0.2)"));
}

static void test_foreign_libyaml(void **state) {
  (void)state;
  static const int foreign[][3] = {{1, 0, 0}, {0, 3, 1}, {0, 0, 9}};
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  for (size_t i = 0; i < 3; i++) {
    char problem[256] = "";
    version = foreign[i];
    assert_int_equal(try_open(&loop, problem, sizeof problem), KIN_ELIBRARY);
    expect_problem(problem);
    memset(problem, 0, sizeof problem);
    assert_int_equal(try_load(problem, sizeof problem), KIN_ELIBRARY);
    expect_problem(problem);
    /* A client that needs no libyaml. */
    kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
    kin_client *client;
    options.server = "http://127.0.0.1:1";
    assert_int_equal(kin_client_open(&client, &loop, &options), 0);
    close_client(&loop, client);
  }
  assert_int_equal(uv_loop_close(&loop), 0);
}

static void test_fitting_libyaml(void **state) {
  (void)state;
  static const int fitting[][3] = {{0, 1, 4}, {0, 2, 5}};
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  for (size_t i = 0; i < 3; i++) {
    char problem[256] = "";
    version = i < 2 ? fitting[i] : NULL;
    assert_int_equal(try_open(&loop, problem, sizeof problem), 0);
    assert_int_equal(try_load(problem, sizeof problem), KIN_ENOENT);
  }
  assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_foreign_libyaml),
      cmocka_unit_test(test_fitting_libyaml),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
