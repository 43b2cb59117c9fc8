/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/sized.h>

#include "base/options.h"
#include "base/sized.h"

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

/* --- Results -------------------------------------------------------------- */

static int fill_2(void *to) {
  static const options_2 found = {sizeof found, "pods", 500};
  return kin__sized_fill(to, &found, sizeof found, sizeof(options_1));
}

static void test_result_same_release(void **state) {
  (void)state;
  options_2 to = {sizeof to, NULL, 0};
  assert_int_equal(fill_2(&to), 0);
  assert_string_equal(to.name, "pods");
  assert_int_equal(to.limit, 500);
  assert_int_equal(to.size, sizeof to);
}

/* Nothing is written behind the struct of an older program. */
static void test_result_older_caller(void **state) {
  (void)state;
  struct {
    options_1 to;
    uint64_t behind;
  } given = {{sizeof(options_1), NULL}, 7};
  assert_int_equal(fill_2(&given), 0);
  assert_string_equal(given.to.name, "pods");
  assert_int_equal(given.to.size, sizeof(options_1));
  assert_int_equal(given.behind, 7);
}

/* A newer program sees which members an older library does not have. */
static void test_result_newer_caller(void **state) {
  (void)state;
  options_3 to = {sizeof to, NULL, 0, "stale"};
  assert_int_equal(fill_2(&to), 0);
  assert_int_equal(to.limit, 500);
  assert_null(to.more);
  assert_int_equal(to.size, sizeof(options_2));
  assert_true(KIN_HAS(&to, options_3, limit));
  assert_false(KIN_HAS(&to, options_3, more));
  assert_int_equal(fill_2(&to), 0); /* the same struct once more */
  assert_int_equal(to.size, sizeof(options_2));
}

static void test_result_bad_size(void **state) {
  (void)state;
  static const size_t sizes[] = {0, sizeof(options_1) - 1, KIN__MAX_RESULT + 1,
                                 SIZE_MAX};
  assert_int_equal(fill_2(NULL), KIN_EINVAL);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    options_2 to = {sizes[i], "old", 9};
    assert_int_equal(fill_2(&to), KIN_EINVAL);
    assert_string_equal(to.name, "old");
    assert_int_equal(to.limit, 9);
    assert_int_equal(to.size, sizes[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options_same_release),
      cmocka_unit_test(test_options_older_caller),
      cmocka_unit_test(test_options_newer_caller),
      cmocka_unit_test(test_options_invalid),
      cmocka_unit_test(test_result_same_release),
      cmocka_unit_test(test_result_older_caller),
      cmocka_unit_test(test_result_newer_caller),
      cmocka_unit_test(test_result_bad_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
