/* SPDX-License-Identifier: MIT */

/* The listwatch as a function, when it is asked whether it is up to date, and
 * how new its lists are: verifies from each state and to each end,
 * KIN__INPUT_FORGET, consistency. Proves RF-14, RL-01, RL-05, WL-02, and what
 * DESIGN says of a failed verify. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "listwatch/version.h"
#include "support/listwatch_steps.h"

/* Once, and not again. */
static void assert_verdict(int code) {
  assert_int_equal(lw_verdict(), code);
  assert_int_equal(lw_verdict(), LW_NO_VERDICT);
  assert_int_equal(lw.listwatch.verify.phase, KIN__VERIFY_NONE);
}

static void assert_open(void) {
  assert_int_equal(lw_verdict(), LW_NO_VERDICT);
  assert_true(lw.listwatch.verify.phase != KIN__VERIFY_NONE);
}

static void assert_short_watch(const char *version) {
  lw_assert_watch(version);
  assert_int_equal(lw.actions.request.timeout_s, 3);
  lw_input(KIN__INPUT_HEAD);
  assert_int_equal(lw.actions.timer_ms, 3000 + 5000);
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
  lw_list_and_watch("10");
  lw_verify("");
  assert_true(lw.actions.cancel_request);
  assert_true(lw.actions.stop_timer);
  lw_assert_verify("");
  lw_page("20", "token");
  assert_open();
  assert_short_watch("10");
  lw_saw((kin__decoded_type)0, "19");
  assert_open();
  lw_saw(KIN__DECODED_MODIFIED, "20");
  assert_verdict(0);
  assert_string_equal(lw.listwatch.verify_target, "20");
  /* The short watch ends, and an ordinary one follows. */
  lw.now_ms += 3000;
  lw_input(KIN__INPUT_WATCH_ENDED);
  lw_assert_watch("20");
  assert_in_range(lw.actions.request.timeout_s, 300, 599);
  lw_input(KIN__INPUT_HEAD);
  assert_true(lw.actions.timer_ms > 300000);
  assert_int_equal(lw.listwatch.retries.failures, 0);
}

/* A version that is given: the list makes the server come to it. */
static void test_given(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_verify("15");
  lw_assert_verify("15");
  lw_page("40", "");
  assert_short_watch("10");
  lw_saw(KIN__DECODED_ADDED, "15");
  assert_verdict(0);
}

/* It is there already: nothing has to be waited for. */
static void test_reached_before(void **state) {
  (void)state;
  static const char *const targets[] = {"", "10", "9"};
  for (size_t i = 0; i < 3; i++) {
    lw_begin(0);
    lw_list_and_watch("10");
    lw_verify(targets[i]);
    lw_page("10", "");
    assert_verdict(0);
    lw_assert_watch("10");
    assert_in_range(lw.actions.request.timeout_s, 300, 599);
  }
}

/* Two short watches that do not come to it, however they end. */
typedef enum way { ENDS, DEADLINE, BREAKS } way;

static void end_watch(way how) {
  lw.now_ms += 3000;
  if (how == ENDS) {
    lw_input(KIN__INPUT_WATCH_ENDED);
  } else if (how == DEADLINE) {
    lw.now_ms += 5000;
    lw_input(KIN__INPUT_TIMER);
    assert_true(lw.actions.cancel_request);
  } else {
    lw_fail(lw_broken());
  }
}

static void test_not_reached(void **state) {
  (void)state;
  for (way how = ENDS; how <= BREAKS; how++) {
    lw_begin(0);
    lw_list_and_watch("10");
    lw_verify("");
    lw_page("20", "");
    assert_short_watch("10");
    lw_saw(KIN__DECODED_MODIFIED, "12");
    end_watch(how);
    assert_open();
    assert_short_watch("12");
    end_watch(how);
    assert_verdict(KIN_EGONE);
    assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_VERIFY], 1);
    assert_true(kin__listwatch_has_lost_verify(&lw.listwatch));
    assert_true(lw.actions.report); /* as any other lost position is */
    assert_true(lw_has_lost_verify());
    assert_string_equal(lw.listwatch.verify_target, "20");
    lw_assert_list("", 500); /* what a cache has may be as old */
    lw_page("25", "");
    assert_false(lw_has_lost_verify());
    assert_true(kin__listwatch_has_lost_verify(&lw.listwatch));
    lw_input(KIN__INPUT_APPLIED);
    assert_false(kin__listwatch_has_lost_verify(&lw.listwatch));
    lw_assert_watch("25");
    assert_in_range(lw.actions.request.timeout_s, 300, 599);
  }
}

/* A watch that ends at once is no storm: it waits. */
static void test_short_watches_wait(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_verify("");
  lw_page("20", "");
  lw_input(KIN__INPUT_HEAD);
  lw_input(KIN__INPUT_WATCH_ENDED);
  lw_assert_wait(KIN__LISTWATCH_OPENING, 800);
  assert_open();
  lw_input(KIN__INPUT_TIMER);
  assert_short_watch("10");
  lw_input(KIN__INPUT_WATCH_ENDED);
  lw_assert_wait(KIN__LISTWATCH_LISTING, 800); /* a series of its own */
  assert_verdict(KIN_EGONE);
}

/* Ends the open watch at once. False: a list is next. */
static bool end_at_once(bool breaks) {
  if (breaks) {
    lw_fail(lw_broken());
  } else {
    lw_input(KIN__INPUT_WATCH_ENDED);
  }
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
  return lw.listwatch.in.waiting.after != KIN__LISTWATCH_LISTING;
}

/* Watches that end at once for ever. Returns how many have ended before the
 * next list. `newest` is what the server's lists of one item say. */
static int watches_until_list(bool breaks, const char *newest, int most) {
  int count = 1;
  while (end_at_once(breaks) && count < most) {
    lw_input(KIN__INPUT_TIMER);
    while (lw.listwatch.state == KIN__LISTWATCH_VERIFYING) {
      lw_page(newest, "");
    }
    lw_input(KIN__INPUT_HEAD);
    assert_true(lw_verdict() != KIN_EGONE);
    count++;
  }
  return count;
}

/* A copy cannot stay old because no watch lives long enough to bring an event:
 * after five watches the position is verified, and the verify's two watches do
 * not bring the newest version either. The next rows find what the first left. */
static void test_watches_that_never_bring_anything(void **state) {
  (void)state;
  static const char *const lists[] = {"20", "30", "90"};
  for (int breaks = 0; breaks < 2; breaks++) {
    lw_begin(0);
    lw_list_and_watch("10");
    for (uint32_t i = 0; i < 3; i++) {
      assert_int_equal(watches_until_list(breaks, "90", 100), 7);
      assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_VERIFY], i + 1);
      assert_verdict(KIN_EGONE);
      lw_input(KIN__INPUT_TIMER);
      lw_assert_list("", 500);
      lw_page(lists[i], "");
      lw_input(KIN__INPUT_APPLIED);
      lw_input(KIN__INPUT_HEAD);
    }
    assert_int_equal(watches_until_list(breaks, "90", 100), 100);
  }
}

/* Nor do watches whose head alone takes a second, and watches that each bring
 * one bookmark of the position itself. */
static void test_watches_that_bring_nothing_new(void **state) {
  (void)state;
  for (int has_bookmark = 0; has_bookmark < 2; has_bookmark++) {
    lw_begin(0);
    lw_list_and_watch("10");
    int watches = 1;
    while (true) {
      if (has_bookmark) {
        lw_saw((kin__decoded_type)0, "10");
      }
      lw_input(KIN__INPUT_WATCH_ENDED);
      if (lw.listwatch.state == KIN__LISTWATCH_WAITING) {
        lw_input(KIN__INPUT_TIMER);
      }
      while (lw.listwatch.state == KIN__LISTWATCH_VERIFYING) {
        lw_page("90", "");
      }
      if (lw.listwatch.state == KIN__LISTWATCH_LISTING || watches == 100) {
        break;
      }
      lw.now_ms += has_bookmark ? 0 : 1000;
      lw_input(KIN__INPUT_HEAD);
      watches++;
    }
    assert_int_equal(watches, 7);
    assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_VERIFY], 1);
    assert_int_equal(lw_verdict(), KIN_EGONE);
  }
}

/* A list is made neither if one watch of the row moves the position nor if one
 * holds. */
static void test_some_watches_bring_something(void **state) {
  (void)state;
  for (int holds = 0; holds < 2; holds++) {
    lw_begin(0);
    lw_list_and_watch("10");
    for (int row = 0; row < 10; row++) {
      assert_int_equal(watches_until_list(false, "90", 4), 4);
      lw_input(KIN__INPUT_TIMER);
      lw_page("90", "");
      lw_input(KIN__INPUT_HEAD);
      if (holds) {
        lw.now_ms += 1000;
        lw_input(KIN__INPUT_WATCH_ENDED);
        lw_page("90", "");
        lw_assert_watch("10");
      } else {
        char version[8];
        snprintf(version, sizeof version, "%d", 11 + row);
        lw_saw((kin__decoded_type)0, version);
        lw_input(KIN__INPUT_WATCH_ENDED);
        lw_input(KIN__INPUT_TIMER);
        lw_assert_watch(version);
      }
      lw_input(KIN__INPUT_HEAD);
    }
    assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_VERIFY], 0);
    assert_int_equal(lw_verdict(), LW_NO_VERDICT);
  }
}

/* Asked after a watch that ended at once: VERIFYING comes when the wait is over,
 * whatever the wait was for. */
static void test_asked_after_a_short_watch(void **state) {
  (void)state;
  for (int is_silent = 0; is_silent < 2; is_silent++) {
    lw_begin(0);
    lw_list_and_watch("10");
    if (!is_silent) {
      lw_saw((kin__decoded_type)0, "10");
    }
    lw_input(KIN__INPUT_WATCH_ENDED);
    assert_true(kin__listwatch_can_verify(&lw.listwatch));
    lw_verify("");
    assert_open();
    assert_false(kin__listwatch_can_verify(&lw.listwatch));
    assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
    assert_false(lw.actions.start_timer);
    assert_false(lw.actions.stop_timer);
    lw_input(KIN__INPUT_TIMER);
    lw_assert_verify("");
    lw_page("20", "");
    assert_short_watch("10");
    lw_saw(KIN__DECODED_MODIFIED, "20");
    assert_verdict(0);
  }
}

/* A list that is next stays next. */
static void test_asked_before_a_list(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_saw((kin__decoded_type)0, "10");
  lw_input(KIN__INPUT_WATCH_ENDED);
  lw_input(KIN__INPUT_RELIST);
  assert_false(kin__listwatch_can_verify(&lw.listwatch));
  lw_verify("");
  assert_int_equal(lw.listwatch.verify.phase, KIN__VERIFY_NONE);
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("10", 0);
  lw_begin(0);
  lw_list_and_watch("10");
  lw_saw((kin__decoded_type)0, "10");
  lw_input(KIN__INPUT_WATCH_ENDED);
  lw_verify("");
  lw_input(KIN__INPUT_RELIST);
  assert_verdict(KIN_EGONE);
}

/* Without versions the list that is waited for is the answer. */
static void test_asked_between_unversioned_lists(void **state) {
  (void)state;
  lw_list_and_watch("");
  lw_saw(KIN__DECODED_ADDED, "");
  lw_input(KIN__INPUT_WATCH_ENDED);
  lw_verify("");
  assert_verdict(KIN_ENOTSUP);
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
  assert_int_equal(lw.actions.request.kind, KIN__REQUEST_NONE);
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("", 500);
}

/* The newest version is older than the position: the server was restored from a
 * backup, and versions may come again. */
static void test_server_went_back(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_verify("");
  lw_page("7", "");
  assert_verdict(KIN_EGONE);
  assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_VERIFY], 1);
  lw_assert_list("", 500);
  assert_true(kin__listwatch_versions_repeat(&lw.listwatch));
  assert_true(lw_has_lost_verify());
  assert_int_equal(lw.actions.report, KIN__REPORT_WENT_BACK);
  assert_string_equal(lw.listwatch.verify_target, "7");
}

/* Nobody asked: a watch that ended silent is verified, and the answer is
 * older than the position, from a server that does not honour NotOlderThan. A
 * watch from there would stay silent for good. The same again at the position
 * of the list that follows. */
static void test_server_went_back_unasked(void **state) {
  (void)state;
  static const char *const newest[] = {"7", "5"};
  lw_list_and_watch("10");
  for (unsigned i = 0; i < 2; i++) {
    lw.now_ms += 400000;
    lw_input(KIN__INPUT_WATCH_ENDED);
    lw_assert_verify(i == 0 ? "10" : newest[i - 1]);
    lw_page(newest[i], "");
    lw_assert_list("", 500);
    assert_true(kin__listwatch_versions_repeat(&lw.listwatch));
    assert_int_equal(lw.actions.report, KIN__REPORT_WENT_BACK);
    assert_string_equal(lw.actions.verdict.version, newest[i]);
    assert_int_equal(lw_verdict(), LW_NO_VERDICT);
    assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_VERIFY], i + 1);
    lw_page(newest[i], "");
    lw_input(KIN__INPUT_APPLIED);
    lw_assert_watch(newest[i]);
    lw_input(KIN__INPUT_HEAD);
  }
  /* "0" is no version. */
  lw.now_ms += 400000;
  lw_input(KIN__INPUT_WATCH_ENDED);
  lw_page("0", "");
  lw_assert_watch("5");
}

/* --- Failures meanwhile --------------------------------------------------- */

/* The server's trouble does not end a verify: it goes on when there is an
 * answer. */
static void test_failures_are_retried(void **state) {
  (void)state;
  const kin__failure failures[] = {lw_broken(),
                                   lw_status(500, ""),
                                   lw_status(429, ""),
                                   lw_status(403, ""),
                                   lw_status(404, ""),
                                   lw_status(401, ""),
                                   lw_status(504, "Timeout")};
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
    lw_begin(0);
    lw_list_and_watch("10");
    lw_verify("");
    lw_fail(failures[i]);
    assert_open();
    lw_assert_wait(KIN__LISTWATCH_VERIFYING, 800);
    lw_input(KIN__INPUT_TIMER);
    lw_assert_verify("");
    lw_page("20", "");
    lw_fail(failures[i]); /* of the short watch's request */
    assert_open();
    assert_true(lw.actions.report);
    lw_input(KIN__INPUT_TIMER);
    if (lw.actions.request.kind == KIN__REQUEST_VERIFY) {
      lw_assert_verify("20");
      lw_page("21", "");
    }
    assert_short_watch("10");
    lw_saw((kin__decoded_type)0, "20");
    assert_verdict(0);
  }
}

/* A question that the server cannot answer, as nobody knows that version, says
 * nothing about the position: that is verified for itself. */
static void test_bad_target(void **state) {
  (void)state;
  const kin__failure failures[] = {lw_too_large(), lw_status(400, "BadRequest"),
                                   lw_status(422, "Invalid")};
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
    lw_begin(0);
    lw_list_and_watch("10");
    lw_verify("99999");
    lw_fail(failures[i]);
    assert_verdict(failures[i].code);
    assert_int_equal(lw.actions.report, KIN__REPORT_FAILURE); /* RF-08 */
    lw_assert_verify("10");
    lw_page("12", "");
    lw_assert_watch("10");
    assert_in_range(lw.actions.request.timeout_s, 300, 599);
    assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_TOO_LARGE], 0);
  }
}

/* A verify that meets another address, in each of its requests, loses the
 * position: the list that follows reuses no cached object. */
static void test_another_address(void **state) {
  (void)state;
  kin__failure moved;
  kin__failure_from_code(&moved, KIN_EGONE, "list of pods", "");
  for (int how = 0; how < 3; how++) {
    lw_begin(0);
    lw_list_and_watch("10");
    if (how < 2) {
      lw_verify("");
    }
    if (how == 1) {
      lw_page_on(1, "12"); /* the proof is next */
    }
    while (lw.listwatch.verify.phase == KIN__VERIFY_NONE) {
      (void)end_at_once(false);
      lw_input(KIN__INPUT_TIMER);
      if (lw.listwatch.verify.phase == KIN__VERIFY_NONE) {
        lw_page("10", "");
        lw_input(KIN__INPUT_HEAD);
      }
    }
    assert_open();
    lw_fail(moved);
    assert_int_equal(lw_verdict(), KIN_EGONE);
    assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_TOO_LARGE], 1);
    assert_true(kin__listwatch_versions_repeat(&lw.listwatch));
    lw_input(KIN__INPUT_TIMER);
    lw_assert_list("", 500);
  }
}

/* Whatever else loses the position ends it. */
static void test_position_is_lost_meanwhile(void **state) {
  (void)state;
  for (int depth = 0; depth < 3; depth++) {
    lw_begin(0);
    lw_list_and_watch("10");
    lw_verify("");
    if (depth > 0) {
      lw_page("20", "");
    }
    if (depth > 1) {
      lw_input(KIN__INPUT_HEAD);
      lw_error_event(lw_status(410, "Expired"));
    } else {
      lw_fail(lw_status(410, "Expired"));
    }
    assert_verdict(KIN_EGONE);
    lw_assert_wait(KIN__LISTWATCH_LISTING, 800);
    assert_false(kin__listwatch_has_lost_verify(&lw.listwatch));
    assert_int_equal(lw.listwatch.lost_positions[KIN_RELIST_EXPIRED], 1);
  }
}

/* An internal error that is retried is the end of a short watch. */
static void test_internal_errors_count(void **state) {
  (void)state;
  lw_begin_internal(30000);
  lw_list_and_watch("10");
  lw_verify("");
  lw_page("20", "");
  for (int i = 0; i < 2; i++) {
    assert_open();
    assert_short_watch("10");
    lw.now_ms += 1000;
    lw_error_event(lw_status(500, "InternalError"));
  }
  assert_verdict(KIN_EGONE);
  assert_true(lw_has_lost_verify());
  lw_assert_list("", 500);
}

static void test_stop(void **state) {
  (void)state;
  for (int depth = 0; depth < 4; depth++) {
    lw_begin(0);
    lw_list_and_watch("10");
    lw_verify("");
    if (depth == 1) {
      lw_fail(lw_broken());
    }
    if (depth > 1) {
      lw_page("20", "");
    }
    if (depth > 2) {
      lw_input(KIN__INPUT_HEAD);
    }
    lw_input(KIN__INPUT_STOP);
    assert_verdict(KIN_ECLOSED);
  }
}

/* Asked at any other time it changes nothing. */
static void test_out_of_turn(void **state) {
  (void)state;
  for (int depth = 0; depth < 5; depth++) {
    lw_begin(0);
    if (depth > 0) {
      lw_input(KIN__INPUT_START);
    }
    if (depth > 1) {
      lw_page("10", "");
    }
    if (depth > 2) {
      lw_input(KIN__INPUT_APPLIED);
    }
    if (depth > 3) {
      lw_fail(lw_broken());
    }
    kin__listwatch_state before = lw.listwatch.state;
    lw_verify("");
    assert_int_equal(lw.listwatch.state, before);
    assert_int_equal(lw.listwatch.verify.phase, KIN__VERIFY_NONE);
    assert_int_equal(lw.actions.request.kind, KIN__REQUEST_NONE);
  }
  lw_begin(0);
  lw_list_and_watch("10");
  lw_verify("12");
  lw_verify("15");
  assert_string_equal(lw.listwatch.verify_target, "12");
  lw_begin_watch_only("1");
  lw_input(KIN__INPUT_START);
  lw_input(KIN__INPUT_HEAD);
  lw_verify("");
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WATCHING);
}

/* --- Forgetting ----------------------------------------------------------- */

/* What is known is of no use any more, as its resource was gone: a consistent
 * list is next, whatever the wait was for. */
static void test_forget(void **state) {
  (void)state;
  lw_list_and_open("10");
  lw_fail(lw_status(404, "NotFound"));
  lw_assert_wait(KIN__LISTWATCH_VERIFYING, 800);
  lw_input(KIN__INPUT_FORGET);
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
  assert_string_equal(lw.listwatch.position.version, "");
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("", 500);
  lw_page("7", ""); /* of another history: it is not gone back in */
  lw_input(KIN__INPUT_APPLIED);
  lw_assert_watch("7");
}

static void test_forget_out_of_turn(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_input(KIN__INPUT_FORGET);
  assert_string_equal(lw.listwatch.position.version, "10");
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WATCHING);
  lw_verify("");
  lw_fail(lw_status(404, "NotFound"));
  lw_input(KIN__INPUT_FORGET);
  assert_verdict(KIN_EGONE);
}

/* --- Consistency ---------------------------------------------------------- */

static void assert_match(const char *match) {
  assert_string_equal(lw.actions.request.version_match, match);
}

/* After what the first list says, relists ask for the last version. */
static void test_any(void **state) {
  (void)state;
  lw_input(KIN__INPUT_START);
  lw_assert_list("0", 500);
  assert_match("");
}

static void begin_consistent(kin_consistency consistency, bool *refused) {
  lw_begin_with(
      &(kin__listwatch_options){.list_and_watch = {.consistency = consistency,
                                                   .start_version = "33",
                                                   .stream_refused = refused}});
}

static void begin_at_least(void) {
  begin_consistent(KIN_CONSISTENCY_AT_LEAST, NULL);
  lw_input(KIN__INPUT_START);
  lw_assert_list("33", 0);
  assert_match("NotOlderThan");
}

static void test_at_least(void **state) {
  (void)state;
  begin_at_least();
  lw_fail(lw_status(500, ""));
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("33", 0);
  assert_match("NotOlderThan");
  lw_page("40", "");
  lw_input(KIN__INPUT_APPLIED);
  lw_input(KIN__INPUT_HEAD);
  lw_error_event(lw_status(410, "Expired"));
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("40", 0);
  assert_match("NotOlderThan");
}

/* RL-05: a server that does not know that version gives the newest it has. */
static void test_at_least_in_vain(void **state) {
  (void)state;
  begin_at_least();
  lw_fail(lw_too_large());
  lw_assert_list("", 0);
  assert_match("");
  lw_page("20", "");
  assert_true(lw.actions.apply_stage);
}

/* Nor is an older one believed, from a server that does not honour
 * NotOlderThan: the newest there is follows, and is. */
static void test_at_least_is_ignored(void **state) {
  (void)state;
  begin_at_least();
  lw_page("9", "more");
  lw_assert_list("", 0);
  assert_match("");
  lw_page("20", "");
  assert_true(lw.actions.apply_stage);
  bool refused = false;
  begin_consistent(KIN_CONSISTENCY_AT_LEAST, &refused);
  lw_input(KIN__INPUT_START);
  lw_input(KIN__INPUT_HEAD);
  lw_step(&(kin__listwatch_input){.type = KIN__INPUT_STREAMED, .version = "9"});
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_STREAMING);
  assert_string_equal(lw.actions.request.version, "");
  lw_input(KIN__INPUT_HEAD);
  lw_step(
      &(kin__listwatch_input){.type = KIN__INPUT_STREAMED, .version = "20"});
  assert_true(lw.actions.apply_stage);
}

/* RL-06, PG-03: the same version again, unlimited. */
static void test_at_least_in_pages(void **state) {
  (void)state;
  begin_at_least();
  lw_page("40", "more");
  assert_string_equal(lw.actions.request.token, "more");
  assert_null(lw.actions.request.version);
  assert_null(lw.actions.request.version_match);
  lw_fail(lw_status(410, "Expired"));
  lw_assert_list("33", 0);
  assert_match("NotOlderThan");
}

static void test_most_recent(void **state) {
  (void)state;
  begin_consistent(KIN_CONSISTENCY_MOST_RECENT, NULL);
  lw_input(KIN__INPUT_START);
  lw_assert_list("", 500);
  assert_match("");
  lw_page("40", "");
  lw_input(KIN__INPUT_APPLIED);
  lw_input(KIN__INPUT_HEAD);
  lw_error_event(lw_status(410, "Expired"));
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("", 500);
  assert_match("");
}

static void check_streams(kin_consistency consistency, const char *first,
                          const char *later) {
  bool refused = false;
  begin_consistent(consistency, &refused);
  lw_input(KIN__INPUT_START);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(lw.actions.request.kind, KIN__REQUEST_STREAM);
    assert_string_equal(lw.actions.request.version, i == 0 ? first : later);
    assert_match("NotOlderThan");
    lw_input(KIN__INPUT_HEAD);
    kin__listwatch_input all = {.type = KIN__INPUT_STREAMED, .version = "40"};
    kin__listwatch_step(&lw.listwatch, &all, lw.now_ms, &lw.actions);
    lw_input(KIN__INPUT_APPLIED);
    lw_error_event(lw_status(410, "Expired"));
    lw_input(KIN__INPUT_TIMER);
  }
  lw_begin(0);
}

static void test_streams(void **state) {
  (void)state;
  check_streams(KIN_CONSISTENCY_ANY, "", "40");
  check_streams(KIN_CONSISTENCY_AT_LEAST, "33", "40");
  check_streams(KIN_CONSISTENCY_MOST_RECENT, "", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lw_setup, lw_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions),
      TEST(test_newest),
      TEST(test_given),
      TEST(test_reached_before),
      TEST(test_not_reached),
      TEST(test_short_watches_wait),
      TEST(test_watches_that_never_bring_anything),
      TEST(test_watches_that_bring_nothing_new),
      TEST(test_some_watches_bring_something),
      TEST(test_asked_after_a_short_watch),
      TEST(test_asked_before_a_list),
      TEST(test_asked_between_unversioned_lists),
      TEST(test_server_went_back),
      TEST(test_server_went_back_unasked),
      TEST(test_failures_are_retried),
      TEST(test_bad_target),
      TEST(test_another_address),
      TEST(test_position_is_lost_meanwhile),
      TEST(test_internal_errors_count),
      TEST(test_stop),
      TEST(test_out_of_turn),
      TEST(test_forget),
      TEST(test_forget_out_of_turn),
      TEST(test_any),
      TEST(test_at_least),
      TEST(test_at_least_in_vain),
      TEST(test_at_least_is_ignored),
      TEST(test_at_least_in_pages),
      TEST(test_most_recent),
      TEST(test_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
