/* SPDX-License-Identifier: MIT */
/* Proves that libuv's codes have libuv's names and texts, and that unknown ones
 * have static ones (no leak, as the sanitizer would find). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <uv.h>

#include <kin/error.h>

static void test_uv_error_known(void **state) {
  (void)state;
#define CHECK(name, text)                                                      \
  assert_string_equal(kin_strerror(UV_##name), text);                          \
  assert_string_equal(kin_strerror(UV_##name), uv_strerror(UV_##name));        \
  assert_string_equal(kin_err_name(UV_##name), uv_err_name(UV_##name));
  UV_ERRNO_MAP(CHECK)
#undef CHECK
}

static void test_uv_error_unknown(void **state) {
  (void)state;
  static const int codes[] = {1, -4000, -4999, -6000, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    assert_string_equal(kin_strerror(codes[i]), "unknown error");
    assert_string_equal(kin_err_name(codes[i]), "UNKNOWN");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_uv_error_known),
      cmocka_unit_test(test_uv_error_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
