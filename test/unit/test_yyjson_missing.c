/* SPDX-License-Identifier: MIT */

/* lib/inside/yyjson.c, which only the shared library has: it passes calls on to a
 * library that it finds, and a program whose yyjson cannot be found gets errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include <kin/kin.h>

#define KIN_YYJSON_SONAME "libyyjson-that-is-nowhere.so.0"
#include "inside/yyjson.c"

#include "base/alloc.h"
#include "base/str.h"
#include "object/json.h"

static const char pod[] =
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\","
    "\"resourceVersion\":\"1\"},\"spec\":{\"nodeName\":\"x\",\"weight\":1.50}}";

static int emit(void *ctx, kin_str value) {
  kin_str *out = ctx;
  static char text[32];
  assert_true(value.length < sizeof text);
  memcpy(text, value.data, value.length);
  *out = kin__str(text, value.length);
  return 0;
}

/* Reads a value of an object by JSON Pointer. */
static int read_node(kin_str *node) {
  kin_object *object;
  kin_object_view *view;
  int err = kin_object_parse(&object, NULL, pod, sizeof pod - 1);
  if (err != 0) {
    return err;
  }
  err = kin_object_view_open(&view, object);
  if (err == 0) {
    err = kin_object_view_string(view, "/spec/nodeName", node);
    kin_object_view_close(view);
  }
  kin_object_unref(object);
  return err;
}

static void test_open_is_refused(void **state) {
  (void)state;
  char problem[256];
  uv_loop_t loop;
  kin_client *client;
  kin_client_options options = KIN_CLIENT_OPTIONS_INIT;
  options.server = "http://127.0.0.1:1";
  options.problem = problem;
  options.problem_size = sizeof problem;
  assert_int_equal(uv_loop_init(&loop), 0);
  assert_int_equal(kin_client_open(&client, &loop, &options), KIN_ELIBRARY);
  assert_null(client);
  assert_string_equal(problem,
                      "yyjson: the program uses another one (0.0.0) than "
                      "kinformer needs (" YYJSON_VERSION_STRING ")");
  assert_int_equal(uv_loop_close(&loop), 0);
}

static void test_calls_fail(void **state) {
  (void)state;
  kin_str value;
  double number;
  const kin_allocator *allocator = kin__default_allocator();
  assert_int_equal(read_node(&value), KIN_ENOMEM);
  assert_int_equal(kin__json_number(KIN__LIT("1.5"), &number), KIN_EJSON);
  assert_int_equal(kin__json_scalar(allocator, KIN__LIT("true"), emit, &value),
                   KIN_ENOMEM);
  yyjson_val scalar = {.tag = YYJSON_TYPE_BOOL};
  yyjson_alc pool;
  char bytes[64];
  assert_false(yyjson_alc_pool_init(&pool, bytes, sizeof bytes));
  assert_null(yyjson_val_write_opts(&scalar, 0, NULL, NULL, NULL));
  assert_null(unsafe_yyjson_ptr_getx(&scalar, "/a", 2, NULL));
}

static void test_calls_are_passed_on(void **state) {
  (void)state;
  kin_str value;
  double number;
  Dl_info real;
  const kin_allocator *allocator = kin__default_allocator();
  assert_int_not_equal(dladdr((void *)(uintptr_t)yyjson_mut_doc_new, &real), 0);
  bind_yyjson(real.dli_fname);
  assert_true(kin__json_library().fits);
  assert_int_equal(read_node(&value), 0);
  assert_int_equal(kin__json_number(KIN__LIT("1.5"), &number), 0);
  assert_true(number == 1.5);
  assert_int_equal(kin__json_scalar(allocator, KIN__LIT("1.50"), emit, &value),
                   0);
  assert_true(kin__str_equal(value, KIN__LIT("1.5")));
  /* A library that lacks a function has none. */
  bind_yyjson("libc.so.6");
  assert_int_equal(yyjson_version(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_open_is_refused),
      cmocka_unit_test(test_calls_fail),
      cmocka_unit_test(test_calls_are_passed_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
