/* SPDX-License-Identifier: MIT */
/* A library that was built without exec plugins says so. This program has
 * exec_none.c instead of exec_plugin.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <kin/client.h>
#include <kin/error.h>

static void test_exec_none(void **state) {
  (void)state;
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  char problem[256];
  kin_exec_plugin plugin = KIN_EXEC_PLUGIN_INIT;
  plugin.api_version = "client.authentication.k8s.io/v1beta1";
  plugin.command = "plugin";
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "https://127.0.0.1:1";
  options.exec = &plugin;
  options.problem = problem;
  options.problem_size = sizeof problem;
  kin_client *client;
  assert_int_equal(kin_client_open(&client, &loop, &options), KIN_ENOTSUP);
  assert_null(client);
  assert_string_equal(problem,
                      "exec: needs a library that was built with exec plugins");
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  options.token = "token"; /* the plugin is not run then */
  assert_int_equal(kin_client_open(&client, &loop, &options), 0);
  kin_client_unref(client);
  assert_int_equal(kin_client_close(client, NULL, NULL), 0);
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exec_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
