/* SPDX-License-Identifier: MIT */

/* Delays between attempts: the series of each kind, and what is told from which
 * failure. Proves CN-01, RF-05, RF-06, OQ-06. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "listwatch/backoff.h"
#include "support/listwatch_steps.h"

/* --- The series ----------------------------------------------------------- */

static void check_series(kin__backoff_kind kind, const uint32_t *series,
                         size_t count) {
  kin__backoff backoff;
  kin__random random = {11};
  kin__backoff_init(&backoff, kind, 500);
  for (size_t i = 0; i < count; i++) {
    uint32_t delay_ms = kin__backoff_next_ms(&backoff, 500, &random);
    assert_in_range(delay_ms, series[i], 2 * series[i] - 1);
  }
}

/* client-go TestReflectorListAndWatchInitConnBackoff; CN-01, RF-05, RW-03, but
 * an unreached server is tried again within 4 s, and a refusal within 10 s. */
static void test_series(void **state) {
  (void)state;
  static const uint32_t ordinary[] = {800,   1600,  3200,  6400,
                                      12800, 25600, 30000, 30000};
  static const uint32_t unreached[] = {800, 1600, 2000, 2000, 2000};
  static const uint32_t refused[] = {800, 1600, 3200, 5000, 5000};
  check_series(KIN__BACKOFF_ORDINARY, ordinary, 8);
  check_series(KIN__BACKOFF_LOST, ordinary, 8);
  check_series(KIN__BACKOFF_UNREACHED, unreached, 5);
  check_series(KIN__BACKOFF_REFUSED, refused, 5);
  check_series(KIN__BACKOFF_THROTTLED, refused, 5);
}

/* RF-06: the series begins again strictly after two minutes, counted from its
 * beginning, however often it was used. */
static void test_reset(void **state) {
  (void)state;
  for (int kind = 0; kind < KIN__BACKOFF_KINDS; kind++) {
    kin__backoff backoff;
    kin__random random = {3};
    kin__backoff_init(&backoff, (kin__backoff_kind)kind, 1000);
    kin__backoff_next_ms(&backoff, 100000, &random);
    assert_in_range(kin__backoff_next_ms(&backoff, 121000, &random), 1600,
                    3199);
    assert_in_range(kin__backoff_next_ms(&backoff, 121001, &random), 800, 1599);
    assert_in_range(kin__backoff_next_ms(&backoff, 241001, &random), 1600,
                    3199);
    assert_in_range(kin__backoff_next_ms(&backoff, 241002, &random), 800, 1599);
  }
}

/* The jitter spreads over the whole of [d, 2d). */
static void test_jitter(void **state) {
  (void)state;
  kin__random random = {5};
  uint32_t least = UINT32_MAX;
  uint32_t most = 0;
  for (int i = 0; i < 1000; i++) {
    kin__backoff backoff;
    kin__backoff_init(&backoff, KIN__BACKOFF_UNREACHED, 0);
    uint32_t delay_ms = kin__backoff_next_ms(&backoff, 0, &random);
    least = delay_ms < least ? delay_ms : least;
    most = delay_ms > most ? delay_ms : most;
  }
  assert_in_range(least, 800, 820);
  assert_in_range(most, 1580, 1599);
}

/* --- Which one ------------------------------------------------------------ */

static kin__failure of_class(kin_error_class error_class, int code) {
  return (kin__failure){
      .code = code, .error_class = error_class, .retry_after_s = -1};
}

static kin__failure asked_for(int status, int64_t retry_after_s) {
  kin__failure failure = lw_status(status, "");
  failure.retry_after_s = retry_after_s;
  return failure;
}

/* What is asked, whether it was granted before it failed, and the third delay
 * in a row without jitter: 3200 is ordinary or throttled, 2000 unreached. */
typedef struct row {
  char what; /* L list, S stream, W watch request, V verify */
  bool is_granted;
  kin__failure failure;
  uint64_t third_ms;
} row;

static void ask(char what) {
  static bool refused;
  refused = false;
  if (what == 'S') {
    lw_begin_streams(&refused);
  } else {
    lw_begin(0);
  }
  if (what == 'L' || what == 'S') {
    lw_input(KIN__INPUT_START);
    return;
  }
  lw_list_and_open("10");
  if (what == 'V') {
    lw_input(KIN__INPUT_HEAD);
    lw.now_ms += 2000;
    lw_input(KIN__INPUT_WATCH_ENDED);
    assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_VERIFYING);
  }
}

static void check_row(const row *r) {
  ask(r->what);
  for (int i = 0; i < 3; i++) {
    if (i > 0) {
      lw_input(KIN__INPUT_TIMER);
    }
    if (r->is_granted) {
      lw_input(KIN__INPUT_HEAD);
    }
    lw_fail(r->failure);
    assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
  }
  assert_in_range(lw.actions.timer_ms, r->third_ms, 2 * r->third_ms - 1);
}

/* OQ-06: the server gave no answer, or a cheap question got a 5xx. What has
 * cost it something, and lists that it refuses, wait longer; a watch that is
 * throttled has a series of its own. */
static void test_kinds(void **state) {
  (void)state;
  const row rows[] = {
      {'L', false, of_class(KIN_CLASS_DNS, KIN_ERESOLVE), 2000},
      {'L', false, of_class(KIN_CLASS_CONNECT, KIN_EEOF), 2000},
      {'L', false, of_class(KIN_CLASS_TLS, KIN_ETLS), 2000},
      {'L', false, of_class(KIN_CLASS_PROTOCOL, KIN_ETIMEDOUT), 2000},
      {'L', true, of_class(KIN_CLASS_CONNECT, KIN_EEOF), 3200},
      {'L', false, of_class(KIN_CLASS_PROTOCOL, KIN_EHTTP), 3200},
      {'L', false, of_class(KIN_CLASS_MEMORY, KIN_ENOMEM), 3200},
      {'L', false, of_class(KIN_CLASS_AUTH, KIN_ETOKEN), 3200},
      {'L', false, lw_status(500, ""), 3200},
      {'L', false, lw_status(503, ""), 3200},
      {'L', false, lw_status(429, ""), 3200},
      {'L', false, lw_status(403, ""), 3200},
      {'L', false, lw_status(404, ""), 3200}, /* see test_absent */

      {'S', false, of_class(KIN_CLASS_CONNECT, KIN_EEOF), 2000},
      {'S', false, lw_status(429, ""), 3200},

      {'W', false, of_class(KIN_CLASS_CONNECT, KIN_EEOF), 2000},
      {'W', true, of_class(KIN_CLASS_CONNECT, KIN_EEOF), 2000},
      {'W', false, of_class(KIN_CLASS_DNS, KIN_ERESOLVE), 2000},
      {'W', false, lw_status(500, ""), 2000},
      {'W', false, lw_status(503, ""), 2000},
      {'W', false, asked_for(503, 0), 3200},
      {'W', false, lw_status(429, ""), 3200},
      {'W', false, lw_status(401, ""), 3200},

      {'V', false, of_class(KIN_CLASS_CONNECT, KIN_EEOF), 2000},
      {'V', false, lw_status(502, ""), 2000},
      {'V', false, lw_status(429, ""), 3200},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check_row(&rows[i]);
  }
}

/* A resource type that appears is found within 10 s. */
static void test_absent(void **state) {
  (void)state;
  lw_input(KIN__INPUT_START);
  for (int i = 0; i < 20; i++) {
    lw_fail(lw_status(404, "NotFound"));
    assert_in_range(lw.actions.timer_ms, i < 3 ? 800 : 5000, 9999);
    lw_input(KIN__INPUT_TIMER);
  }
}

/* Each kind has a series of its own: failures of one do not make the next
 * attempt after another one late. */
static void test_kinds_are_apart(void **state) {
  (void)state;
  lw_list_and_open("10");
  for (int i = 0; i < 4; i++) {
    lw_fail(lw_status(429, ""));
    lw_input(KIN__INPUT_TIMER);
  }
  lw_fail(lw_broken());
  lw_assert_wait(KIN__LISTWATCH_VERIFYING, 800);
  lw_input(KIN__INPUT_TIMER);
  lw_fail(lw_status(404, ""));
  lw_assert_wait(KIN__LISTWATCH_VERIFYING, 800);
  lw_input(KIN__INPUT_TIMER);
  lw_fail(of_class(KIN_CLASS_PROTOCOL, KIN_EHTTP));
  lw_assert_wait(KIN__LISTWATCH_VERIFYING, 800);
}

/* Retry-After is the least, whatever the kind. */
static void test_retry_after_is_the_least(void **state) {
  (void)state;
  static const int statuses[] = {404, 429, 500, 503};
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
    lw_begin(0);
    lw_list_and_open("10");
    lw_fail(asked_for(statuses[i], 17));
    assert_int_equal(lw.actions.timer_ms, 17000);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lw_setup, lw_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_series),
      cmocka_unit_test(test_reset),
      cmocka_unit_test(test_jitter),
      TEST(test_kinds),
      TEST(test_absent),
      TEST(test_kinds_are_apart),
      TEST(test_retry_after_is_the_least),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
