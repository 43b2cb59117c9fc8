/* SPDX-License-Identifier: MIT */
/* The clock that counts suspended time, and the one on the wall. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/host_name.h"
#include "base/system_clock.h"

/* It never goes back, and is never behind the clock that stands still during a
 * suspension. */
static void test_boot_clock(void **state) {
  (void)state;
  kin__clock clock = kin__boot_clock();
  uint64_t last_ns = 0;
  for (int i = 0; i < 1000; i++) {
    uint64_t now_ns = kin__clock_ns(&clock);
    assert_true(now_ns >= last_ns);
    last_ns = now_ns;
  }
  struct timespec monotonic;
  assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &monotonic), 0);
#ifdef CLOCK_BOOTTIME
  uint64_t monotonic_ns =
      (uint64_t)monotonic.tv_sec * 1000000000u + (uint64_t)monotonic.tv_nsec;
  assert_true(kin__clock_ns(&clock) >= monotonic_ns);
#endif
  assert_true(last_ns > 0);
}

static void test_wall_clock(void **state) {
  (void)state;
  time_t before = time(NULL);
  kin__timestamp now = kin__wall_now();
  time_t after = time(NULL);
  assert_true(now.s >= before - 1 && now.s <= after + 1);
  assert_true(now.ns < 1000000000u);
}

/* A name is visible ASCII, and ends. */
static void test_host_name(void **state) {
  (void)state;
  char name[KIN__HOST_NAME_SIZE];
  memset(name, 0x7f, sizeof name);
  kin__host_name(name);
  assert_in_range(strlen(name), 0, sizeof name - 1);
  for (const char *c = name; *c != '\0'; c++) {
    assert_in_range((unsigned char)*c, 0x21, 0x7e);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_boot_clock),
      cmocka_unit_test(test_wall_clock),
      cmocka_unit_test(test_host_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
