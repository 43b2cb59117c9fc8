/* SPDX-License-Identifier: MIT */

/* The listwatch as a function, when it is asked whether it is up to date, and
 * how new its lists are: verifies from each state and to each end,
 * KIN__INPUT_FORGET, consistency. Proves RF-14, RL-01, RL-05, WL-02, and what
 * DESIGN says of a failed verify. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "listwatch/version.h"
#include "support/listwatch_steps.h"

#define NONE 1 /* no verdict */

static int verdict(void) {
  int code;
  return kin__listwatch_take_verdict(&rs.listwatch, &code) ? code : NONE;
}

/* Once, and not again. */
static void assert_verdict(int code) {
  assert_int_equal(verdict(), code);
  assert_int_equal(verdict(), NONE);
  assert_false(rs.listwatch.verify.is_open);
}

static void assert_open(void) {
  assert_int_equal(verdict(), NONE);
  assert_true(rs.listwatch.verify.is_open);
}

static void assert_short_watch(const char *version) {
  rs_assert_watch(version);
  assert_int_equal(rs.actions.timeout_s, 3);
  rs_input(KIN__INPUT_HEAD);
  assert_int_equal(rs.actions.timer_ms, 3000 + 5000);
}

/* --- Versions ------------------------------------------------------------- */

static void test_versions(void **state) {
  (void)state;
  static const struct {
    const char *a;
    const char *b;
    bool is_before;
    bool reaches;
  } pairs[] = {
      {"9", "10", true, false},
      {"10", "9", false, true},
      {"10", "10", false, true},
      {"010", "10", false, true},
      {"9", "010", true, false},
      {"0", "1", true, false},
      {"00", "0", false, true},
      {"", "1", false, false},
      {"1", "", false, false},
      {"", "", false, true},
      {"a", "a", false, true},
      {"a", "b", false, false},
      {"1", "a", false, false},
      {"a", "1", false, false},
      {"99999999999999999999999", "100000000000000000000000", true, false},
      {"100000000000000000000000", "99999999999999999999999", false, true},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    assert_int_equal(kin__version_is_before(pairs[i].a, pairs[i].b),
                     pairs[i].is_before);
    assert_int_equal(kin__version_reaches(pairs[i].a, pairs[i].b),
                     pairs[i].reaches);
  }
}

/* --- Verifies ------------------------------------------------------------- */

/* The newest version there is: a consistent list finds it, and the bookmark at
 * the end of a short watch shows that the watch has come to it. */
static void test_newest(void **state) {
  (void)state;
  rs_list_and_watch("10");
  rs_verify("");
  assert_true(rs.actions.cancel_request);
  assert_true(rs.actions.stop_timer);
  rs_assert_verify("");
  rs_page("20", "token");
  assert_open();
  assert_short_watch("10");
  rs_saw((kin__decoded_type)0, "19");
  assert_open();
  rs_saw(KIN__DECODED_MODIFIED, "20");
  assert_verdict(0);
  assert_string_equal(rs.listwatch.verify.target, "20");
  /* The short watch ends, and an ordinary one follows. */
  rs.now_ms += 3000;
  rs_input(KIN__INPUT_WATCH_ENDED);
  rs_assert_watch("20");
  assert_in_range(rs.actions.timeout_s, 300, 599);
  rs_input(KIN__INPUT_HEAD);
  assert_true(rs.actions.timer_ms > 300000);
  assert_int_equal(rs.listwatch.failures, 0);
}

/* A version that is given: the list makes the server come to it. */
static void test_given(void **state) {
  (void)state;
  rs_list_and_watch("10");
  rs_verify("15");
  rs_assert_verify("15");
  rs_page("40", "");
  assert_short_watch("10");
  rs_saw(KIN__DECODED_ADDED, "15");
  assert_verdict(0);
}

/* It is there already: nothing has to be waited for. */
static void test_reached_before(void **state) {
  (void)state;
  static const char *const targets[] = {"", "10", "9"};
  for (size_t i = 0; i < 3; i++) {
    rs_begin(0);
    rs_list_and_watch("10");
    rs_verify(targets[i]);
    rs_page("10", "");
    assert_verdict(0);
    rs_assert_watch("10");
    assert_in_range(rs.actions.timeout_s, 300, 599);
  }
}

/* Two short watches that do not come to it, however they end. */
typedef enum way { ENDS, DEADLINE, BREAKS } way;

static void end_watch(way how) {
  rs.now_ms += 3000;
  if (how == ENDS) {
    rs_input(KIN__INPUT_WATCH_ENDED);
  } else if (how == DEADLINE) {
    rs.now_ms += 5000;
    rs_input(KIN__INPUT_TIMER);
    assert_true(rs.actions.cancel_request);
  } else {
    rs_fail(rs_broken());
  }
}

static void test_not_reached(void **state) {
  (void)state;
  for (way how = ENDS; how <= BREAKS; how++) {
    rs_begin(0);
    rs_list_and_watch("10");
    rs_verify("");
    rs_page("20", "");
    assert_short_watch("10");
    rs_saw(KIN__DECODED_MODIFIED, "12");
    end_watch(how);
    assert_open();
    assert_short_watch("12");
    end_watch(how);
    assert_verdict(KIN_EGONE);
    assert_int_equal(rs.listwatch.lost_positions[KIN_RELIST_VERIFY], 1);
    assert_true(rs.listwatch.is_verify_lost);
    assert_true(rs.actions.report); /* as any other lost position is */
    assert_true(rs.actions.lost_verify);
    assert_string_equal(rs.listwatch.verify.target, "20");
    rs_assert_list("", 500); /* what a cache has may be as old */
    rs_page("25", "");
    assert_false(rs.actions.lost_verify);
    assert_true(rs.listwatch.is_verify_lost);
    rs_input(KIN__INPUT_APPLIED);
    assert_false(rs.listwatch.is_verify_lost);
    rs_assert_watch("25");
    assert_in_range(rs.actions.timeout_s, 300, 599);
  }
}

/* A watch that ends at once is no storm: it waits. */
static void test_short_watches_wait(void **state) {
  (void)state;
  rs_list_and_watch("10");
  rs_verify("");
  rs_page("20", "");
  rs_input(KIN__INPUT_HEAD);
  rs_input(KIN__INPUT_WATCH_ENDED);
  rs_assert_wait(KIN__LISTWATCH_OPENING, 800);
  assert_open();
  rs_input(KIN__INPUT_TIMER);
  assert_short_watch("10");
  rs_input(KIN__INPUT_WATCH_ENDED);
  rs_assert_wait(KIN__LISTWATCH_LISTING, 1600);
  assert_verdict(KIN_EGONE);
}

/* The newest version is older than the position: the server was restored from a
 * backup, and versions may come again. */
static void test_server_went_back(void **state) {
  (void)state;
  rs_list_and_watch("10");
  rs_verify("");
  rs_page("7", "");
  assert_verdict(KIN_EGONE);
  assert_int_equal(rs.listwatch.lost_positions[KIN_RELIST_VERIFY], 1);
  rs_assert_list("", 500);
  assert_true(rs.listwatch.versions_repeat);
  assert_true(rs.actions.lost_verify);
  assert_true(rs.listwatch.verify.went_back);
  assert_string_equal(rs.listwatch.verify.target, "7");
}

/* --- Failures meanwhile --------------------------------------------------- */

/* The server's trouble does not end a verify: it goes on when there is an
 * answer. */
static void test_failures_are_retried(void **state) {
  (void)state;
  const kin__failure failures[] = {rs_broken(),
                                   rs_status(500, ""),
                                   rs_status(429, ""),
                                   rs_status(403, ""),
                                   rs_status(404, ""),
                                   rs_status(401, ""),
                                   rs_status(504, "Timeout")};
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
    rs_begin(0);
    rs_list_and_watch("10");
    rs_verify("");
    rs_fail(failures[i]);
    assert_open();
    rs_assert_wait(KIN__LISTWATCH_VERIFYING, 800);
    rs_input(KIN__INPUT_TIMER);
    rs_assert_verify("");
    rs_page("20", "");
    rs_fail(failures[i]); /* of the short watch's request */
    assert_open();
    assert_true(rs.actions.report);
    rs_input(KIN__INPUT_TIMER);
    if (rs.actions.request == KIN__REQUEST_VERIFY) {
      rs_assert_verify("20");
      rs_page("21", "");
    }
    assert_short_watch("10");
    rs_saw((kin__decoded_type)0, "20");
    assert_verdict(0);
  }
}

/* A question that the server cannot answer, as nobody knows that version, says
 * nothing about the position: that is verified for itself. */
static void test_bad_target(void **state) {
  (void)state;
  const kin__failure failures[] = {rs_too_large(), rs_status(400, "BadRequest"),
                                   rs_status(422, "Invalid")};
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
    rs_begin(0);
    rs_list_and_watch("10");
    rs_verify("99999");
    rs_fail(failures[i]);
    assert_verdict(failures[i].code);
    assert_false(rs.actions.report);
    rs_assert_verify("10");
    rs_page("12", "");
    rs_assert_watch("10");
    assert_in_range(rs.actions.timeout_s, 300, 599);
    assert_int_equal(rs.listwatch.lost_positions[KIN_RELIST_TOO_LARGE], 0);
  }
}

/* Whatever else loses the position ends it. */
static void test_position_is_lost_meanwhile(void **state) {
  (void)state;
  for (int depth = 0; depth < 3; depth++) {
    rs_begin(0);
    rs_list_and_watch("10");
    rs_verify("");
    if (depth > 0) {
      rs_page("20", "");
    }
    if (depth > 1) {
      rs_input(KIN__INPUT_HEAD);
      rs_error_event(rs_status(410, "Expired"));
    } else {
      rs_fail(rs_status(410, "Expired"));
    }
    assert_verdict(KIN_EGONE);
    rs_assert_wait(KIN__LISTWATCH_LISTING, 800);
    assert_false(rs.listwatch.is_verify_lost);
    assert_int_equal(rs.listwatch.lost_positions[KIN_RELIST_EXPIRED], 1);
  }
}

/* An internal error that is retried is the end of a short watch. */
static void test_internal_errors_count(void **state) {
  (void)state;
  kin__listwatch_retry_internal_errors(&rs.listwatch, 30000);
  rs_list_and_watch("10");
  rs_verify("");
  rs_page("20", "");
  for (int i = 0; i < 2; i++) {
    assert_open();
    assert_short_watch("10");
    rs.now_ms += 1000;
    rs_error_event(rs_status(500, "InternalError"));
  }
  assert_verdict(KIN_EGONE);
  assert_true(rs.actions.lost_verify);
  rs_assert_list("", 500);
}

static void test_stop(void **state) {
  (void)state;
  for (int depth = 0; depth < 4; depth++) {
    rs_begin(0);
    rs_list_and_watch("10");
    rs_verify("");
    if (depth == 1) {
      rs_fail(rs_broken());
    }
    if (depth > 1) {
      rs_page("20", "");
    }
    if (depth > 2) {
      rs_input(KIN__INPUT_HEAD);
    }
    rs_input(KIN__INPUT_STOP);
    assert_verdict(KIN_ECLOSED);
  }
}

/* Asked at any other time it changes nothing. */
static void test_out_of_turn(void **state) {
  (void)state;
  for (int depth = 0; depth < 5; depth++) {
    rs_begin(0);
    if (depth > 0) {
      rs_input(KIN__INPUT_START);
    }
    if (depth > 1) {
      rs_page("10", "");
    }
    if (depth > 2) {
      rs_input(KIN__INPUT_APPLIED);
    }
    if (depth > 3) {
      rs_fail(rs_broken());
    }
    kin__listwatch_state before = rs.listwatch.state;
    rs_verify("");
    assert_int_equal(rs.listwatch.state, before);
    assert_false(rs.listwatch.verify.is_open);
    assert_int_equal(rs.actions.request, KIN__REQUEST_NONE);
  }
  rs_begin(0);
  rs_list_and_watch("10");
  rs_verify("12");
  rs_verify("15");
  assert_string_equal(rs.listwatch.verify.target, "12");
  rs_begin(0);
  kin__listwatch_watch_only(&rs.listwatch, "1", 0, false);
  rs_input(KIN__INPUT_START);
  rs_input(KIN__INPUT_HEAD);
  rs_verify("");
  assert_int_equal(rs.listwatch.state, KIN__LISTWATCH_WATCHING);
}

/* --- Forgetting ----------------------------------------------------------- */

/* What is known is of no use any more, as its resource was gone: a consistent
 * list is next, whatever the wait was for. */
static void test_forget(void **state) {
  (void)state;
  rs_list_and_open("10");
  rs_fail(rs_status(404, "NotFound"));
  rs_assert_wait(KIN__LISTWATCH_VERIFYING, 800);
  rs_input(KIN__INPUT_FORGET);
  assert_int_equal(rs.listwatch.state, KIN__LISTWATCH_WAITING);
  assert_string_equal(rs.listwatch.version, "");
  rs_input(KIN__INPUT_TIMER);
  rs_assert_list("", 500);
  rs_page("7", ""); /* of another history: it is not gone back in */
  rs_input(KIN__INPUT_APPLIED);
  rs_assert_watch("7");
}

static void test_forget_out_of_turn(void **state) {
  (void)state;
  rs_list_and_watch("10");
  rs_input(KIN__INPUT_FORGET);
  assert_string_equal(rs.listwatch.version, "10");
  assert_int_equal(rs.listwatch.state, KIN__LISTWATCH_WATCHING);
  rs_verify("");
  rs_fail(rs_status(404, "NotFound"));
  rs_input(KIN__INPUT_FORGET);
  assert_verdict(KIN_EGONE);
}

/* --- Consistency ---------------------------------------------------------- */

static void assert_match(const char *match) {
  assert_string_equal(rs.actions.version_match, match);
}

/* After what the first list says, relists ask for the last version. */
static void test_any(void **state) {
  (void)state;
  rs_input(KIN__INPUT_START);
  rs_assert_list("0", 500);
  assert_match("");
}

static void begin_at_least(void) {
  rs_begin(0);
  kin__listwatch_use_consistency(&rs.listwatch, KIN_CONSISTENCY_AT_LEAST, "33");
  rs_input(KIN__INPUT_START);
  rs_assert_list("33", 0);
  assert_match("NotOlderThan");
}

static void test_at_least(void **state) {
  (void)state;
  begin_at_least();
  rs_fail(rs_status(500, ""));
  rs_input(KIN__INPUT_TIMER);
  rs_assert_list("33", 0);
  assert_match("NotOlderThan");
  rs_page("40", "");
  rs_input(KIN__INPUT_APPLIED);
  rs_input(KIN__INPUT_HEAD);
  rs_error_event(rs_status(410, "Expired"));
  rs_input(KIN__INPUT_TIMER);
  rs_assert_list("40", 0);
  assert_match("NotOlderThan");
}

/* RL-05: a server that does not know that version gives the newest it has. */
static void test_at_least_in_vain(void **state) {
  (void)state;
  begin_at_least();
  rs_fail(rs_too_large());
  rs_assert_list("", 0);
  assert_match("");
  rs_page("20", "");
  assert_true(rs.actions.apply_stage);
}

/* PG-03: the same version again, unlimited. */
static void test_at_least_in_pages(void **state) {
  (void)state;
  begin_at_least();
  rs_page("40", "more");
  assert_string_equal(rs.actions.token, "more");
  assert_null(rs.actions.version);
  assert_null(rs.actions.version_match);
  rs_fail(rs_status(410, "Expired"));
  rs_assert_list("33", 0);
  assert_match("NotOlderThan");
}

static void test_most_recent(void **state) {
  (void)state;
  kin__listwatch_use_consistency(&rs.listwatch, KIN_CONSISTENCY_MOST_RECENT,
                                 "");
  rs_input(KIN__INPUT_START);
  rs_assert_list("", 500);
  assert_match("");
  rs_page("40", "");
  rs_input(KIN__INPUT_APPLIED);
  rs_input(KIN__INPUT_HEAD);
  rs_error_event(rs_status(410, "Expired"));
  rs_input(KIN__INPUT_TIMER);
  rs_assert_list("", 500);
  assert_match("");
}

static void check_streams(kin_consistency consistency, const char *first,
                          const char *later) {
  bool refused = false;
  rs_begin(0);
  kin__listwatch_use_streams(&rs.listwatch, &refused);
  kin__listwatch_use_consistency(&rs.listwatch, consistency, "33");
  rs_input(KIN__INPUT_START);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(rs.actions.request, KIN__REQUEST_STREAM);
    assert_string_equal(rs.actions.version, i == 0 ? first : later);
    assert_match("NotOlderThan");
    rs_input(KIN__INPUT_HEAD);
    kin__listwatch_input all = {.type = KIN__INPUT_STREAMED, .version = "40"};
    kin__listwatch_step(&rs.listwatch, &all, rs.now_ms, &rs.actions);
    rs_input(KIN__INPUT_APPLIED);
    rs_error_event(rs_status(410, "Expired"));
    rs_input(KIN__INPUT_TIMER);
  }
  rs_begin(0);
}

static void test_streams(void **state) {
  (void)state;
  check_streams(KIN_CONSISTENCY_ANY, "", "40");
  check_streams(KIN_CONSISTENCY_AT_LEAST, "33", "40");
  check_streams(KIN_CONSISTENCY_MOST_RECENT, "", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rs_setup, rs_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions),
      TEST(test_newest),
      TEST(test_given),
      TEST(test_reached_before),
      TEST(test_not_reached),
      TEST(test_short_watches_wait),
      TEST(test_server_went_back),
      TEST(test_failures_are_retried),
      TEST(test_bad_target),
      TEST(test_position_is_lost_meanwhile),
      TEST(test_internal_errors_count),
      TEST(test_stop),
      TEST(test_out_of_turn),
      TEST(test_forget),
      TEST(test_forget_out_of_turn),
      TEST(test_any),
      TEST(test_at_least),
      TEST(test_at_least_in_vain),
      TEST(test_at_least_in_pages),
      TEST(test_most_recent),
      TEST(test_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
