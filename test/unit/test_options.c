/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/options.h"

/* One option struct in three releases. */
typedef struct options_1 {
  size_t size;
  const char *name;
} options_1;

typedef struct options_2 {
  size_t size;
  const char *name;
  uint64_t limit;
} options_2;

typedef struct options_3 {
  size_t size;
  const char *name;
  uint64_t limit;
  const char *more;
} options_3;

static int copy_2(options_2 *to, const void *from) {
  return kin__options_copy(to, sizeof *to, from, sizeof(options_1));
}

static void test_options_same_release(void **state) {
  (void)state;
  options_2 from = {sizeof from, "pods", 500};
  options_2 to = {0};
  assert_int_equal(copy_2(&to, &from), 0);
  assert_string_equal(to.name, "pods");
  assert_int_equal(to.limit, 500);
  assert_int_equal(to.size, sizeof to);
}

static void test_options_older_caller(void **state) {
  (void)state;
  options_1 from = {sizeof from, "pods"};
  options_2 to = {9, "old", 9};
  assert_int_equal(copy_2(&to, &from), 0);
  assert_string_equal(to.name, "pods");
  assert_int_equal(to.limit, 0);
  assert_int_equal(to.size, sizeof to);
}

static void test_options_newer_caller(void **state) {
  (void)state;
  options_3 from = {sizeof from, "pods", 500, NULL};
  options_2 to = {0};
  assert_int_equal(copy_2(&to, &from), 0);
  assert_int_equal(to.limit, 500);
  assert_int_equal(to.size, sizeof to);
  from.more = "set";
  assert_int_equal(copy_2(&to, &from), KIN_ENOTSUP);
}

static void test_options_invalid(void **state) {
  (void)state;
  options_2 to = {0};
  options_2 from = {0, "not initialized", 0};
  assert_int_equal(copy_2(&to, &from), KIN_EINVAL);
  from.size = sizeof(options_1) - 1;
  assert_int_equal(copy_2(&to, &from), KIN_EINVAL);
  assert_int_equal(copy_2(&to, NULL), KIN_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options_same_release),
      cmocka_unit_test(test_options_older_caller),
      cmocka_unit_test(test_options_newer_caller),
      cmocka_unit_test(test_options_invalid),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
