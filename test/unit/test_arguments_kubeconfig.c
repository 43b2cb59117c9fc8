/* SPDX-License-Identifier: MIT */

/* NULL for the pointers of <kin/kubeconfig.h>, as test_arguments.c does it for
 * the functions that every library has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/kubeconfig.h>

#include "support/refused.h"

static void test_open(void **state) {
  (void)state;
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  const kin_kubeconfig_options which = KIN_KUBECONFIG_OPTIONS_INIT;
  const kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  REFUSED(kin_client_open_kubeconfig(NULL, &loop, &which, &options));
  REFUSED_OUT(kin_client *, kin_client_open_kubeconfig(&out, NULL, NULL, NULL));
  REFUSED(kin_client_open_default(NULL, &loop));
  REFUSED_OUT(kin_client *, kin_client_open_default(&out, NULL));
  assert_int_equal(uv_loop_close(&loop), 0);
}

static void test_kubeconfig(void **state) {
  (void)state;
  kin_kubeconfig_options options = KIN_KUBECONFIG_OPTIONS_INIT;
  kin_client_options client = KIN_CLIENT_OPTIONS_INIT;
  options.path = "/";
  REFUSED(kin_kubeconfig_load(NULL, &options));
  REFUSED_OUT(kin_kubeconfig *, kin_kubeconfig_load(&out, NULL));
  kin_kubeconfig_free(NULL);
  REFUSED(kin_kubeconfig_apply(NULL, &client));
  assert_null(client.server);
  assert_string_equal(kin_kubeconfig_server(NULL), "");
  assert_string_equal(kin_kubeconfig_namespace(NULL), "");
  ZERO(kin_kubeconfig_has_namespace(NULL));
  assert_string_equal(kin_kubeconfig_context(NULL), "");
  assert_string_equal(kin_kubeconfig_cluster(NULL), "");
  assert_string_equal(kin_kubeconfig_user(NULL), "");
  ZERO(kin_kubeconfig_is_in_cluster(NULL));
  ZERO(kin_kubeconfig_context_count(NULL));
  assert_null(kin_kubeconfig_context_at(NULL, 0));
  ZERO(kin_kubeconfig_file_count(NULL));
  assert_null(kin_kubeconfig_file_at(NULL, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_open),
                                     cmocka_unit_test(test_kubeconfig)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
