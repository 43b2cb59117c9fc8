/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/buf.h"
#include "base/str.h"
#include "support/fail_alloc.h"

typedef struct fixture {
  fail_alloc memory;
  kin__buf buf;
} fixture;

static void setup(fixture *f, size_t max_length) {
  fail_alloc_init(&f->memory, 0);
  kin__buf_init(&f->buf, &f->memory.allocator, max_length);
}

static void teardown(fixture *f) {
  kin__buf_finish(&f->buf);
  assert_int_equal(f->memory.live_blocks, 0);
}

static void assert_content(const fixture *f, const char *expected) {
  assert_int_equal(f->buf.length, strlen(expected));
  assert_memory_equal(f->buf.data, expected, f->buf.length);
}

static void test_buf_appends(void **state) {
  (void)state;
  fixture f;
  setup(&f, 4096);
  assert_int_equal(f.memory.calls, 0);
  assert_int_equal(kin__buf_append(&f.buf, "GET ", 4), 0);
  assert_int_equal(kin__buf_append_cstr(&f.buf, "/api"), 0);
  assert_int_equal(kin__buf_append_str(&f.buf, KIN__LIT("/v1")), 0);
  assert_int_equal(kin__buf_append_str(&f.buf, kin__str(NULL, 0)), 0);
  assert_int_equal(kin__buf_printf(&f.buf, "/%s?limit=%d", "pods", 500), 0);
  assert_content(&f, "GET /api/v1/pods?limit=500");
  teardown(&f);
}

static void test_buf_grows(void **state) {
  (void)state;
  fixture f;
  setup(&f, 100000);
  for (int i = 0; i < 20000; i++) {
    assert_int_equal(kin__buf_printf(&f.buf, "%05d", i), 0);
  }
  assert_int_equal(f.buf.length, 100000); /* full to the last byte */
  assert_int_equal(kin__buf_printf(&f.buf, "x"), KIN_ETOOBIG);
  for (int i = 0; i < 20000; i++) {
    char expected[16];
    snprintf(expected, sizeof expected, "%05d", i);
    assert_memory_equal(f.buf.data + i * 5, expected, 5);
  }
  teardown(&f);
}

static void test_buf_has_an_upper_bound(void **state) {
  (void)state;
  fixture f;
  setup(&f, 10);
  assert_int_equal(kin__buf_append(&f.buf, "12345678", 8), 0);
  assert_int_equal(kin__buf_append(&f.buf, "abc", 3), KIN_ETOOBIG);
  assert_int_equal(kin__buf_printf(&f.buf, "%d", 100), KIN_ETOOBIG);
  assert_content(&f, "12345678");
  assert_int_equal(kin__buf_append(&f.buf, "ab", 2), 0);
  assert_int_equal(kin__buf_append(&f.buf, "", 0), 0);
  assert_content(&f, "12345678ab");
  assert_int_equal(kin__buf_reserve(&f.buf, 1), KIN_ETOOBIG);
  assert_int_equal(kin__buf_reserve(&f.buf, SIZE_MAX), KIN_ETOOBIG);
  teardown(&f);
}

/* Sizes that no memory can hold end in an error, not in a loop. */
static void test_buf_absurd_sizes(void **state) {
  (void)state;
  fixture f;
  setup(&f, SIZE_MAX);
  assert_int_equal(kin__buf_append(&f.buf, "x", 1), 0);
  f.memory.fail_at = 2;
  f.memory.keeps_failing = true;
  assert_int_equal(kin__buf_reserve(&f.buf, SIZE_MAX / 2 + 2), KIN_ENOMEM);
  assert_int_equal(kin__buf_reserve(&f.buf, SIZE_MAX), KIN_ETOOBIG);
  assert_content(&f, "x");
  teardown(&f);
}

static void test_buf_out_of_memory(void **state) {
  (void)state;
  fixture f;
  setup(&f, 1 << 20);
  f.memory.fail_at = 1;
  assert_int_equal(kin__buf_append(&f.buf, "x", 1), KIN_ENOMEM);
  assert_int_equal(f.buf.length, 0);
  assert_int_equal(kin__buf_append(&f.buf, "kept", 4), 0);
  f.memory.fail_at = f.memory.calls + 1;
  char big[1000];
  memset(big, 'y', sizeof big);
  assert_int_equal(kin__buf_append(&f.buf, big, sizeof big), KIN_ENOMEM);
  assert_content(&f, "kept");
  teardown(&f);
}

static void test_buf_consume(void **state) {
  (void)state;
  fixture f;
  setup(&f, 100);
  kin__buf_consume(&f.buf, 0);
  assert_int_equal(kin__buf_append_cstr(&f.buf, "one two"), 0);
  kin__buf_consume(&f.buf, 4);
  assert_content(&f, "two");
  kin__buf_consume(&f.buf, 3);
  assert_content(&f, "");
  assert_int_equal(kin__buf_append_cstr(&f.buf, "three"), 0);
  assert_content(&f, "three");
  teardown(&f);
}

static void test_buf_reset_keeps_small_memory_only(void **state) {
  (void)state;
  fixture f;
  setup(&f, 10000);
  assert_int_equal(kin__buf_append_cstr(&f.buf, "small"), 0);
  kin__buf_reset(&f.buf, 1024);
  assert_int_equal(f.buf.length, 0);
  assert_int_equal(f.memory.live_blocks, 1);
  assert_int_equal(kin__buf_reserve(&f.buf, 5000), 0);
  kin__buf_reset(&f.buf, 1024);
  assert_int_equal(f.memory.live_blocks, 0);
  assert_int_equal(kin__buf_append_cstr(&f.buf, "again"), 0);
  assert_content(&f, "again");
  teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_buf_appends),
      cmocka_unit_test(test_buf_grows),
      cmocka_unit_test(test_buf_has_an_upper_bound),
      cmocka_unit_test(test_buf_absurd_sizes),
      cmocka_unit_test(test_buf_out_of_memory),
      cmocka_unit_test(test_buf_consume),
      cmocka_unit_test(test_buf_reset_keeps_small_memory_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
