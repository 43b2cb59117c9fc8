/* SPDX-License-Identifier: MIT */

/* How long internal errors are retried. Proves RD-01 to RD-04, RW-06. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "listwatch/retry_deadline.h"
#include "support/listwatch_steps.h"

/* Times are in seconds. */
typedef struct row {
  const char *name;
  unsigned max_s;
  unsigned began_s;
  struct {
    char what; /* 'm' a matching error, 'o' another one, '?' should retry,
                * '!' should not; 0 ends */
    unsigned at_s;
  } steps[8];
} row;

static const row rows[] = {
    {"never without a deadline", 0, 0, {{'m', 0}, {'!', 0}}},
    {"never without an error", 30, 0, {{'!', 0}, {'!', 100}}},
    {"not for other errors", 30, 0, {{'o', 0}, {'!', 0}}},
    {"at once", 30, 5, {{'m', 5}, {'?', 5}}},
    {"at the deadline", 30, 5, {{'m', 5}, {'?', 35}}},
    {"after the deadline", 30, 5, {{'m', 5}, {'!', 36}}},
    {"from the first error",
     30,
     5,
     {{'m', 5}, {'m', 20}, {'?', 35}, {'!', 36}}},
    {"others change nothing",
     30,
     5,
     {{'m', 5}, {'o', 34}, {'?', 35}, {'!', 36}}},
    {"again after it was given up",
     30,
     5,
     {{'m', 5}, {'!', 36}, {'!', 36}, {'m', 37}, {'?', 67}, {'!', 68}}},
    {"a minute of peace ends the row",
     90,
     5,
     {{'m', 5}, {'m', 64}, {'m', 124}, {'?', 214}, {'!', 215}}},
    {"less than that does not",
     90,
     5,
     {{'m', 5}, {'m', 64}, {'?', 95}, {'!', 96}}},
    {"the very first second", 30, 0, {{'m', 0}, {'?', 30}, {'!', 31}}},
};

static bool is_right(const row *r) {
  kin__retry_deadline deadline;
  kin__retry_deadline_init(&deadline, r->max_s * 1000);
  for (size_t i = 0; r->steps[i].what != '\0'; i++) {
    uint64_t now_ms = r->steps[i].at_s * UINT64_C(1000);
    char what = r->steps[i].what;
    if (what == 'm' || what == 'o') {
      kin__retry_deadline_after(&deadline, what == 'm', now_ms);
    } else if (kin__retry_deadline_should_retry(&deadline, now_ms) !=
               (what == '?')) {
      print_error("%s: step %zu\n", r->name, i);
      return false;
    }
  }
  return true;
}

/* client-go TestRetryWithDeadline; RD-02, RD-03, RD-04. */
static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_true(is_right(&rows[i]));
  }
}

/* RD-03: with 30 s and a second for each attempt. */
static void test_31_retries(void **state) {
  (void)state;
  kin__retry_deadline deadline;
  kin__retry_deadline_init(&deadline, 30000);
  int retries = 0;
  for (uint64_t now_ms = 0;; now_ms += 1000) {
    kin__retry_deadline_after(&deadline, true, now_ms);
    if (!kin__retry_deadline_should_retry(&deadline, now_ms)) {
      break;
    }
    retries++;
  }
  assert_int_equal(retries, 31);
}

/* --- In the reflector ----------------------------------------------------- */

static kin__failure internal_error(void) {
  kin__failure failure = lw_status(500, "InternalError");
  assert_true(failure.is_internal);
  return failure;
}

/* client-go TestRetryInternalError; CN-03, RD-01, RD-03, RW-06: a watch that
 * lives a second and ends with an internal error is opened again without a wait
 * and without a list, for as long as the deadline allows; then the list is made
 * again. */
static void test_watch_is_repeated(void **state) {
  (void)state;
  lw_begin_internal(30000);
  lw_list_and_watch("10");
  int retries = 0;
  for (;;) {
    lw.now_ms += 1000;
    lw_error_event(internal_error());
    assert_true(lw.actions.report);
    assert_true(lw.actions.cancel_request);
    assert_true(lw.actions.stop_timer);
    if (lw.listwatch.state != KIN__LISTWATCH_OPENING) {
      break;
    }
    lw_assert_watch("10");
    lw_input(KIN__INPUT_HEAD);
    retries++;
  }
  assert_int_equal(retries, 31);
  lw_assert_wait(KIN__LISTWATCH_LISTING, 800);
  assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_INTERNAL], 1);
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("10", 0);

  /* RD-01: after the list the row begins anew. */
  lw_page("20", "");
  lw_input(KIN__INPUT_APPLIED);
  lw_input(KIN__INPUT_HEAD);
  lw.now_ms += 1000;
  lw_error_event(internal_error());
  lw_assert_watch("20");
}

/* RD-01: the list between two internal errors begins the row anew, also if the
 * errors are further from each other than the row may be long. */
static void test_list_ends_the_row(void **state) {
  (void)state;
  lw_begin_internal(5000);
  lw_list_and_watch("10");
  lw.now_ms += 1000;
  lw_error_event(internal_error());
  lw_assert_watch("10");
  lw_input(KIN__INPUT_HEAD);
  lw.now_ms += 1000;
  lw_error_event(lw_status(410, "Expired"));
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("10", 0);
  lw_page("20", "");
  lw_input(KIN__INPUT_APPLIED);
  lw_input(KIN__INPUT_HEAD);
  lw.now_ms += 10000;
  lw_error_event(internal_error());
  lw_assert_watch("20");
}

/* Two watches begin no sooner after each other than client-go's rate limit has
 * it, and not before the server wants it. */
static void test_no_storm(void **state) {
  (void)state;
  lw_begin_internal(30000);
  lw_list_and_watch("10");
  lw.now_ms += 150;
  lw_error_event(internal_error());
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
  assert_int_equal(lw.listwatch.in.waiting.after, KIN__LISTWATCH_OPENING);
  assert_int_equal(lw.actions.timer_ms, 50);
  lw_input(KIN__INPUT_TIMER);
  lw_input(KIN__INPUT_HEAD);
  lw.now_ms += 200;
  kin__failure failure = internal_error();
  failure.retry_after_s = 3;
  lw_error_event(failure);
  assert_int_equal(lw.actions.timer_ms, 3000);
}

/* RW-06, by default: with waits, from the same version, for ever. */
static void test_never_relisted(void **state) {
  (void)state;
  lw_list_and_watch("10");
  for (int i = 0; i < 200; i++) {
    lw.now_ms += 1000;
    lw_saw(KIN__DECODED_MODIFIED, "11");
    lw_error_event(internal_error());
    assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
    assert_int_equal(lw.listwatch.in.waiting.after, KIN__LISTWATCH_OPENING);
    lw.now_ms += lw.actions.timer_ms;
    lw_input(KIN__INPUT_TIMER);
    lw_assert_watch("11");
    lw_input(KIN__INPUT_HEAD);
  }
  assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_INTERNAL], 0);
}

/* RE-06: what is an internal error, and that the deadline is for ERROR events
 * alone. */
static void test_what_is_internal(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *reason;
    bool is_internal;
  } kinds[] = {
      {500, "InternalError", true},
      {0, "InternalError", true},
      {500, "", true},
      {500, "Sundries", true},
      {500, "StorageReadError", false},
      {503, "", false},
      {500, "Timeout", false},
      {0, "", false},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    kin__failure failure = lw_status(kinds[i].status, kinds[i].reason);
    assert_int_equal(failure.is_internal, kinds[i].is_internal);
  }
  lw_begin_internal(30000);
  lw_list_and_open("10");
  lw_fail(internal_error());
  lw_assert_wait(KIN__LISTWATCH_OPENING, 800);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lw_setup, lw_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),  cmocka_unit_test(test_31_retries),
      TEST(test_watch_is_repeated), TEST(test_list_ends_the_row),
      TEST(test_no_storm),          TEST(test_never_relisted),
      TEST(test_what_is_internal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
