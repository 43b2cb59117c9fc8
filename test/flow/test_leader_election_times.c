/* SPDX-License-Identifier: MIT */
/* How long a leader elector leads, and when it asks: leases, retries and
 * suspensions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/election_world.h"

#define WORLD_TEST(test)                                                       \
  cmocka_unit_test_setup_teardown(test, ew_set_up, ew_tear_down)

static bool leads(election_world *w, int candidate) {
  return kin_leader_elector_is_leader(w->candidates[candidate].elector);
}

/* --- Times that are close together ---------------------------------------- */

/* LE-03: the lease lasts hardly longer than the renew deadline. Leading ends
 * before the lease does, not a whole retry period after the deadline. */
static void test_leading_ends_before_a_short_lease(void **state) {
  election_world *w = *state;
  w->candidates[0].options.lease_duration_s = 11;
  w->candidates[0].options.renew_deadline_ms = 10000;
  ew_begin(w, 0);
  ew_pass(w, 1000);
  w->is_silent = true;
  ew_suspend(w, 9400);
  assert_true(leads(w, 0)); /* 10.4 s after the last write */
  ew_suspend(w, 200);
  assert_false(leads(w, 0));
}

/* LE-03: the time until the next renewal begins with the answer, not with the
 * request. */
static void test_renewals_are_counted_from_the_answer(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 1990);
  w->is_silent = true;
  ew_pass(w, 1000); /* a PUT is sent at 2 s */
  w->is_silent = false;
  w->asked[0] = '\0';
  assert_true(ew_answer(w));
  ew_expect_asked(w, "PUT=200 ");
  ew_pass(w, 1990);
  ew_expect_asked(w, "");
  ew_pass(w, 20);
  ew_expect_asked(w, "PUT=200 ");
}

/* LE-10: a request has at least a second, also if half the renew deadline is
 * less. */
static void test_requests_have_a_second(void **state) {
  election_world *w = *state;
  w->candidates[0].options.lease_duration_s = 2;
  w->candidates[0].options.renew_deadline_ms = 1200;
  w->candidates[0].options.retry_period_ms = 900;
  w->is_silent = true;
  ew_begin(w, 0);
  ew_pass(w, 990);
  ew_expect(&w->candidates[0], "");
  ew_pass(w, 20);
  ew_expect(&w->candidates[0], "error(0) ");
}

/* --- A failure that goes on ----------------------------------------------- */

static void refuse_it(election_world *w, const char *method) {
  (void)method;
  w->refuse = 500;
}

static void forbid_it(election_world *w, const char *method) {
  (void)method;
  w->refuse = 403;
}

/* Of the failures in a row four are warnings, and then one of 16. A
 * success begins a new row, and so does another status. */
static void test_failures_fill_no_log(void **state) {
  election_world *w = *state;
  ew_candidate *candidate = &w->candidates[0];
  ew_put_lease(w, "{'holderIdentity':'x','leaseDurationSeconds':3600}", "");
  ew_begin(w, 0);
  for (int round = 0; round < 2; round++) {
    w->vh.text[0] = '\0';
    candidate->attempt = 0;
    w->before_answer = refuse_it;
    while (candidate->attempt < 20) {
      ew_pass(w, 100);
    }
    assert_int_equal(vh_count_logged(&w->vh, "W leader election: "), 5);
    w->before_answer = forbid_it;
    while (candidate->attempt < 35) {
      ew_pass(w, 100);
    }
    assert_int_equal(vh_count_logged(&w->vh, "W leader election: "), 9);
    w->before_answer = NULL;
    ew_pass(w, 10000);
  }
}

/* --- Suspension ----------------------------------------------------------- */

/* A machine that wakes up does not lead, before anything has run; on_stopped
 * then comes from the loop, though no timer is due. */
static void test_suspended_leader(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 1000);
  assert_true(leads(w, 0));
  ew_suspend(w, 3600000);
  assert_false(leads(w, 0));
  ew_expect(&w->candidates[0], "leader(a) started ");
  script_run(&w->vh.script);
  ew_expect(&w->candidates[0], "stopped(-5044,led) ");
}

/* Nobody asks: the timer finds it when it comes, at most a retry period
 * later. */
static void test_suspended_unasked(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 1000);
  ew_suspend(w, 3600000);
  ew_pass(w, 1010);
  ew_expect(&w->candidates[0], "leader(a) started stopped(-5044,led) ");
}

/* A short suspension costs nothing. */
static void test_suspended_shortly(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 1000);
  ew_suspend(w, 9000);
  assert_true(leads(w, 0));
  ew_pass(w, 2000);
  assert_true(leads(w, 0));
  ew_expect(&w->candidates[0], "leader(a) started ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(test_leading_ends_before_a_short_lease),
      WORLD_TEST(test_renewals_are_counted_from_the_answer),
      WORLD_TEST(test_requests_have_a_second),
      WORLD_TEST(test_failures_fill_no_log),
      WORLD_TEST(test_suspended_leader),
      WORLD_TEST(test_suspended_unasked),
      WORLD_TEST(test_suspended_shortly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
