/* SPDX-License-Identifier: MIT */

/* A change filter that tells of all keys together, on a virtual clock: "reload
 * once, 200 ms after the last change". */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/filter_rig.h"

/* Initial: k1=1 and k2=2. */
static void open_with(filter_rig *rig, uint32_t max_wait_ms,
                      uint32_t max_waiting) {
  filter_rig_init(rig, 0);
  filter_rig_for_all(rig, 200, max_wait_ms);
  rig->options.max_waiting = max_waiting;
  filter_rig_change(rig, KIN_WATCH_ADDED, "k1", "u1", 1);
  filter_rig_change(rig, KIN_WATCH_ADDED, "k2", "u1", 2);
  filter_rig_open(rig);
  filter_rig_expect(rig, "first(2) ");
}

/* The first call comes at once, and comes for an empty state, too. */
static void test_first_call(void **state) {
  (void)state;
  filter_rig rig;
  filter_rig_init(&rig, 0);
  filter_rig_for_all(&rig, 200, 0);
  filter_rig_open(&rig);
  filter_rig_expect(&rig, "first(0) ");
  filter_rig_pass(&rig, 10000);
  filter_rig_expect(&rig, "");
  filter_rig_close(&rig);
}

static void test_one_call_for_all_keys(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 0, 0);
  filter_rig_put(&rig, "k1", 5);
  filter_rig_pass(&rig, 150);
  filter_rig_put(&rig, "k1", 6);
  filter_rig_put(&rig, "k3", 1);
  filter_rig_pass(&rig, 150);
  filter_rig_delete(&rig, "k2");
  filter_rig_put(&rig, "k3", 1); /* no change: prolongs nothing */
  filter_rig_pass(&rig, 199);
  filter_rig_expect(&rig, "");
  assert_int_equal(kin_change_filter_waiting(rig.filter), 3);
  filter_rig_pass(&rig, 1);
  filter_rig_expect(&rig, "all(+1~1-1) ");
  assert_int_equal(kin_change_filter_waiting(rig.filter), 0);
  filter_rig_put(&rig, "k1", 7);
  filter_rig_pass(&rig, 200);
  filter_rig_expect(&rig, "all(+0~1-0) ");
  filter_rig_close(&rig);
}

/* Nothing is told if all keys are as they were. */
static void test_nothing_remains(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 0, 0);
  filter_rig_put(&rig, "k1", 5);
  filter_rig_put(&rig, "k1", 1);
  filter_rig_put(&rig, "k3", 1);
  filter_rig_delete(&rig, "k3");
  filter_rig_pass(&rig, 1000);
  filter_rig_expect(&rig, "");
  filter_rig_recreate(&rig, "k1", "u2", 1);
  filter_rig_pass(&rig, 1000);
  filter_rig_expect(&rig, "all(+0~1-0) ");
  filter_rig_close(&rig);
}

static void test_max_wait_of_all(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 500, 0);
  for (int i = 0; i < 5; i++) {
    filter_rig_expect(&rig, "");
    filter_rig_put(&rig, i % 2 == 0 ? "k1" : "k2", 10 + i);
    filter_rig_pass(&rig, 100);
  }
  filter_rig_expect(&rig, "all(+0~2-0) ");
  filter_rig_close(&rig);
}

/* Further keys are only counted. */
static void test_counted_only(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 0, 1);
  filter_rig_put(&rig, "k1", 5);
  filter_rig_put(&rig, "k2", 6);
  filter_rig_put(&rig, "k2", 7);
  assert_int_equal(kin_change_filter_waiting(rig.filter), 1);
  filter_rig_pass(&rig, 200);
  filter_rig_expect(&rig, "all(+0~3-0)? ");
  filter_rig_put(&rig, "k2", 8);
  filter_rig_pass(&rig, 200);
  filter_rig_expect(&rig, "all(+0~1-0) ");
  filter_rig_close(&rig);
}

static void test_flush_of_all(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 0, 0);
  kin_change_filter_flush(rig.filter); /* nothing waits */
  filter_rig_run(&rig);
  filter_rig_put(&rig, "k1", 5);
  kin_change_filter_flush(rig.filter);
  filter_rig_expect(&rig, "");
  filter_rig_run(&rig);
  filter_rig_expect(&rig, "all(+0~1-0) ");
  filter_rig_put(&rig, "k1", 6);
  filter_rig_pass(&rig, 199);
  filter_rig_expect(&rig, "");
  filter_rig_close(&rig);
}

/* Many keys change again while those of the last call are being freed. */
static void test_burst_of_all(void **state) {
  (void)state;
  filter_rig rig;
  open_with(&rig, 0, 3000);
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 3000; i++) {
      char name[16];
      snprintf(name, sizeof name, "n%d", i);
      filter_rig_change(&rig, KIN_WATCH_MODIFIED, name, "u1", round);
    }
    filter_rig_run(&rig);
    assert_int_equal(kin_change_filter_waiting(rig.filter), 3000);
    /* The call, but not yet what follows. */
    kin_change_filter_flush(rig.filter);
  }
  filter_rig_run(&rig);
  filter_rig_expect(&rig, "all(+3000~0-0) all(+0~3000-0) all(+0~3000-0) "
                          "all(+0~3000-0) ");
  filter_rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_first_call),
      cmocka_unit_test(test_one_call_for_all_keys),
      cmocka_unit_test(test_nothing_remains),
      cmocka_unit_test(test_max_wait_of_all),
      cmocka_unit_test(test_counted_only),
      cmocka_unit_test(test_flush_of_all),
      cmocka_unit_test(test_burst_of_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
