/* SPDX-License-Identifier: MIT */
/* Proves TR-08 in a library that was built without proxies: asking for one is
 * an error, and the environment is not read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <kin/kin.h>

static int open_with(const char *proxy_url) {
  uv_loop_t loop;
  char problem[256];
  assert_int_equal(uv_loop_init(&loop), 0);
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "https://a.b";
  options.proxy_url = proxy_url;
  options.problem = problem;
  options.problem_size = sizeof problem;
  kin_client *client;
  int err = kin_client_open(&client, &loop, &options);
  if (err == 0) {
    assert_int_equal(kin_client_close(client, NULL, NULL), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  } else {
    assert_string_equal(
        problem, "proxy_url: needs a library that was built with proxies");
  }
  assert_int_equal(uv_loop_close(&loop), 0);
  return err;
}

static void test_proxy_none(void **state) {
  (void)state;
  assert_int_equal(open_with("http://h"), KIN_ENOTSUP);
  assert_int_equal(open_with(""), 0);
  setenv("HTTPS_PROXY", "foo://u:s3cret@h", 1);
  assert_int_equal(open_with(NULL), 0);
  unsetenv("HTTPS_PROXY");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_proxy_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
