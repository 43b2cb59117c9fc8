/* SPDX-License-Identifier: MIT */
/* A library that was built without checks refuses the options that ask for one,
 * and its informers do all else. This program has check_none.c, sealed_none.c
 * and seal_none.c instead of what they replace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <kin/client.h>
#include <kin/error.h>
#include <kin/mutation_detector.h>

#include "support/informer_world.h"

static int open_with(kin_mutation_check check, bool check_lists,
                     char problem[256]) {
  uv_loop_t loop;
  assert_int_equal(uv_loop_init(&loop), 0);
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "http://127.0.0.1:1";
  options.mutation_check = check;
  options.mutation_check_ms = 5;
  options.check_watch_lists = check_lists;
  options.problem = problem;
  options.problem_size = 256;
  kin_client *client;
  int err = kin_client_open(&client, &loop, &options);
  if (err == 0) {
    assert_int_equal(kin_client_close(client, NULL, NULL), 0);
  } else {
    assert_null(client);
  }
  assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
  assert_int_equal(uv_loop_close(&loop), 0);
  return err;
}

static void test_options_are_refused(void **state) {
  (void)state;
  static const char mutations[] =
      "mutation_check: needs a library that was built with checks";
  char problem[256];
  assert_int_equal(open_with(KIN_MUTATION_CHECK_OFF, false, problem), 0);
  assert_int_equal(open_with(KIN_MUTATION_CHECK_CHECKSUM, false, problem),
                   KIN_ENOTSUP);
  assert_string_equal(problem, mutations);
  assert_int_equal(open_with(KIN_MUTATION_CHECK_PROTECT, true, problem),
                   KIN_ENOTSUP);
  assert_string_equal(problem, mutations);
  assert_int_equal(open_with(KIN_MUTATION_CHECK_OFF, true, problem),
                   KIN_ENOTSUP);
  assert_string_equal(
      problem, "check_watch_lists: needs a library that was built with checks");
}

static uint64_t no_time(void *ctx) {
  (void)ctx;
  return 0;
}

static void on_mutation(const kin_mutation *mutation, void *data) {
  (void)mutation;
  (void)data;
  fail();
}

static void test_detector_is_refused(void **state) {
  (void)state;
  kin_mutation_detector_options options = KIN_MUTATION_DETECTOR_OPTIONS_INIT;
  options.now_ms = no_time;
  options.on_mutation = on_mutation;
  kin_mutation_detector *detector = (void *)&options;
  assert_int_equal(kin_mutation_detector_new(&detector, &options), KIN_ENOTSUP);
  assert_null(detector);
  assert_int_equal(kin_mutation_detector_new(NULL, &options), KIN_EINVAL);
  assert_int_equal(kin_mutation_detector_add(NULL, NULL), KIN_EINVAL);
  assert_false(kin_mutation_detector_check(NULL, 1));
  assert_int_equal(kin_mutation_detector_count(NULL), 0);
  kin_mutation_detector_free(NULL);
  assert_string_equal(kin_mutation_part_name(KIN_MUTATION_JSON), "json");
}

/* Lists, a list that comes as a watch, changes, deletions and a relist. */
static void test_informer_without_checks(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 20);
  iw_stream_again(&w);
  mini_serve(&w.server);
  mini_put(&w.server, 3);
  mini_delete(&w.server, 4);
  mini_pass(&w.server, 3000);
  iw_assert_truth(&w);
  mini_recreate(&w.server, 5);
  mini_compact(&w.server);
  mini_expire_watches(&w.server);
  mini_pass(&w.server, 60000);
  iw_assert_truth(&w);
  assert_int_equal(w.rec.deletes > 0, true);
  iw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options_are_refused),
      cmocka_unit_test(test_detector_is_refused),
      cmocka_unit_test(test_informer_without_checks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
