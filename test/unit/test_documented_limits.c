/* SPDX-License-Identifier: MIT */

/* Numbers that public headers say in words. What happens at each is shown where
 * its constant is tested; here it is held that the constant is that number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kin/key.h>
#include <kin/metrics.h>

#include "base/sealed.h"
#include "config/token.h"
#include "object/json.h"
#include "listwatch/target.h"
#include "store/index_value.h"
#include "toolkit/wait.h"
#include "transport/impersonate.h"
#include "transport/tls_build.h"
#include "transport/warning.h"
#include "workqueue/rate_limiter.h"
#include "workqueue/work_queue.h"

/* <kin/client.h> */
static void test_of_clients(void **state) {
  (void)state;
  assert_int_equal(KIN__TLS_MAX_PEM_BYTES, 2 << 20);
  assert_int_equal(KIN__TOKEN_MAX_BYTES, 64 << 10);
  assert_int_equal(KIN__IMPERSONATE_MAX_BYTES, 64 << 10);
  assert_int_equal(KIN__MAX_PROTECTED, 16384);
  assert_int_equal(KIN__WARNING_MAX_COUNT, 32);
  assert_int_equal(KIN__WARNING_MAX_BYTES, 8 << 10);
  assert_int_equal(KIN__WARNING_MAX_TEXT, 1 << 10);
  assert_int_equal(KIN__WARNING_MAX_PENDING, 64);
  assert_int_equal(KIN__WARNING_MEMORY, 128);
}

/* <kin/informer.h>, <kin/wait.h> */
static void test_of_informers(void **state) {
  (void)state;
  assert_int_equal(KIN__MAX_PARAMETERS, 64);
  assert_int_equal(KIN__WAIT_MAX, 4096);
  assert_int_equal(sizeof((kin_status *)0)->resource_version, 64);
}

/* <kin/object.h>, <kin/store.h>, <kin/key.h>, <kin/histogram.h> */
static void test_of_objects(void **state) {
  (void)state;
  assert_int_equal(KIN__JSON_DEPTH_MAX, 10000);
  assert_int_equal(KIN__JSON_POINTER_TOKENS, 64);
  assert_int_equal(KIN__INDEX_VALUE_MAX, 64 << 10);
  assert_int_equal(KIN_KEY_SIZE, 63 + 1 + 253 + 1);
  for (size_t n = 0; n + 1 < KIN_HISTOGRAM_BUCKETS; n++) {
    uint64_t bound = 1;
    for (size_t i = 0; i < n; i++) {
      bound *= 4;
    }
    assert_true(kin_histogram_bound(n) == bound);
  }
  assert_true(kin_histogram_bound(KIN_HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
}

/* <kin/work_queue.h>, <kin/rate_limiter.h> */
static void test_of_work_queues(void **state) {
  (void)state;
  assert_int_equal(KIN_WORK_KEY_MAX, 128 << 10);
  assert_int_equal(KIN__KEY_TABLE_MAX, 16777216);
  assert_int_equal(KIN__WORK_MAX_CONCURRENCY, 65536);
  assert_int_equal(KIN__WORK_MAX_FOLLOWS, 256);
  assert_int_equal(KIN__RATE_LIMITER_MAX_PARTS, 16);
  assert_int_equal(KIN__RATE_LIMITER_MAX_DEPTH, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_of_clients),
      cmocka_unit_test(test_of_informers),
      cmocka_unit_test(test_of_objects),
      cmocka_unit_test(test_of_work_queues),
  };
  return cmocka_run_group_tests_name("documented_limits", tests, NULL, NULL);
}
