/* SPDX-License-Identifier: MIT */

/* The listwatch as a function, when its position is lost: what it lists then,
 * what such a list has to bring, and how long it waits. A position that was
 * lost is never watched again. Proves RL-04, RL-05, RF-05, RF-06, RF-14, and
 * what doc/architecture.md says of lost positions. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "listwatch/version.h"
#include "support/listwatch_steps.h"

#define LISTING KIN__LISTWATCH_LISTING
#define OPENING KIN__LISTWATCH_OPENING
#define VERIFYING KIN__LISTWATCH_VERIFYING

static void assert_list(const char *version, const char *match,
                        uint32_t limit) {
  lw_assert_list(version, limit);
  assert_string_equal(lw.actions.request.version_match, match);
}

static void expire(void) {
  lw_error_event(lw_status(410, "Expired"));
}

/* The watch holds, and then its position is lost. */
static void hold_and_expire(uint64_t held_ms) {
  lw_input(KIN__INPUT_HEAD);
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WATCHING);
  lw.now_ms += held_ms;
  expire();
}

static void wait(void) {
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
  lw.now_ms += lw.actions.timer_ms;
  lw_input(KIN__INPUT_TIMER);
}

static void apply(const char *version) {
  assert_true(lw.actions.apply_stage);
  lw_input(KIN__INPUT_APPLIED);
  lw_assert_watch(version);
}

/* --- Lists after it ------------------------------------------------------- */

/* A version with a limit and no match is asked for exactly; so the match is
 * said, whatever the limit. */
static void test_not_older_with_each_limit(void **state) {
  (void)state;
  static const struct {
    uint32_t page_size;
    uint32_t limit;
  } sizes[] = {{0, 0}, {10, 10}, {UINT32_MAX, 0}};
  for (size_t i = 0; i < 3; i++) {
    lw_begin(sizes[i].page_size);
    lw_list_and_watch("10");
    expire();
    wait();
    assert_list("10", "NotOlderThan", sizes[i].limit);
  }
}

/* An API server that was restarted knows nothing before its start, and one that
 * does not know the match lists exactly the lost version: that is no progress,
 * and the list that follows at once is a consistent one. */
static void test_no_progress(void **state) {
  (void)state;
  static const char *const found[] = {"10", "9", "010"};
  for (size_t i = 0; i < 3; i++) {
    lw_begin(10);
    lw_list_and_watch("10");
    expire();
    wait();
    lw_page(found[i], "more"); /* the first page tells */
    assert_list("", "", 10);
    assert_true(lw.actions.drop_stage);
    assert_false(lw.actions.report);
    lw_page("25", "");
    apply("25");
    assert_false(kin__listwatch_is_unavailable(&lw.listwatch));
    hold_and_expire(60000); /* the second time is as the first */
    wait();
    assert_list("25", "NotOlderThan", 10);
    lw_page("25", "");
    assert_list("", "", 10);
    lw_page("30", "");
    apply("30");
  }
}

/* What a consistent list says is so; then it is no lost position any more. */
static void test_consistent_list_is_believed(void **state) {
  (void)state;
  lw_list_and_watch("10");
  expire();
  wait();
  lw_page("10", "");
  assert_list("", "", 0);
  lw_page("10", "");
  apply("10");
}

/* Versions that are no numbers can only be equal. */
static void test_odd_versions(void **state) {
  (void)state;
  lw_list_and_watch("a");
  expire();
  wait();
  assert_list("a", "NotOlderThan", 0);
  lw_page("a", "");
  assert_list("", "", 0);
  lw_page("b", "");
  apply("b");
  hold_and_expire(60000);
  wait();
  lw_page("a", ""); /* another one, so it may be newer */
  apply("a");
}

static void test_no_progress_of_a_stream(void **state) {
  (void)state;
  bool refused = false;
  lw_begin_streams(&refused);
  lw_input(KIN__INPUT_START);
  kin__listwatch_input all = {.type = KIN__INPUT_STREAMED, .version = "10"};
  for (int i = 0; i < 2; i++) {
    lw_input(KIN__INPUT_HEAD);
    kin__listwatch_step(&lw.listwatch, &all, lw.now_ms, &lw.actions);
    lw_input(KIN__INPUT_APPLIED);
    assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WATCHING);
    lw.now_ms += 60000;
    expire();
    wait();
    assert_int_equal(lw.actions.request.kind, KIN__REQUEST_STREAM);
    assert_string_equal(lw.actions.request.version, "10");
    lw_input(KIN__INPUT_HEAD);
    kin__listwatch_step(&lw.listwatch, &all, lw.now_ms, &lw.actions);
    assert_int_equal(lw.actions.request.kind, KIN__REQUEST_STREAM);
    assert_string_equal(lw.actions.request.version, "");
    assert_true(lw.actions.cancel_request && lw.actions.stop_timer &&
                lw.actions.drop_stage);
  }
  lw_begin(0);
}

/* A server that takes no match is asked for the newest there is. */
static void test_match_is_refused(void **state) {
  (void)state;
  for (int status = 400; status <= 422; status += 22) {
    lw_begin(10);
    lw_list_and_watch("10");
    for (int i = 0; i < 2; i++) {
      expire();
      wait();
      assert_list("10", "NotOlderThan", 10);
      lw_fail(lw_status(status, ""));
      assert_true(lw.actions.report);
      assert_list("", "", 10);
      lw_page("10", "");
      apply("10");
      lw_input(KIN__INPUT_HEAD);
    }
  }
}

/* Whatever the server does, in any order: no watch begins at a position that
 * was lost, unless a consistent list has brought the same again. */
static void test_never_watched_again(void **state) {
  (void)state;
  kin__random random = {4242};
  const kin__failure losing[] = {lw_status(410, "Expired"), lw_too_large(),
                                 lw_status(400, "BadRequest"),
                                 lw_status(500, "StorageReadError")};
  static const char *const versions[] = {"8", "9", "10", "11", "x", ""};
  for (int run = 0; run < 3000; run++) {
    lw_begin(run % 2 == 0 ? 0 : 10);
    char lost[KIN__VERSION_SIZE] = "";
    bool is_consistent = false;
    lw_input(KIN__INPUT_START);
    for (int i = 0; i < 80; i++) {
      if (lw.actions.request.kind == KIN__REQUEST_LIST &&
          lw.actions.request.token == NULL) {
        is_consistent = lw.actions.request.version[0] == '\0';
      }
      if (lw.actions.request.kind == KIN__REQUEST_WATCH && lost[0] != '\0') {
        assert_true(is_consistent ||
                    !kin__version_reaches(lost, lw.actions.request.version));
        lost[0] = '\0';
      }
      kin__failure failure = losing[kin__random_below(&random, 4)];
      const char *version = versions[kin__random_below(&random, 6)];
      lw.now_ms += kin__random_below(&random, 3000);
      kin__listwatch_state before = lw.listwatch.state;
      char position[KIN__VERSION_SIZE];
      memcpy(position, lw.listwatch.position.version, sizeof position);
      switch (before) {
      case KIN__LISTWATCH_LISTING:
        if (kin__random_below(&random, 4) == 0) {
          lw_fail(failure);
        } else {
          lw_page(version, kin__random_below(&random, 3) == 0 ? "more" : "");
        }
        break;
      case KIN__LISTWATCH_APPLYING:
        lw_input(KIN__INPUT_APPLIED);
        break;
      case KIN__LISTWATCH_WAITING:
        lw_input(KIN__INPUT_TIMER);
        break;
      case VERIFYING:
        lw_page(version, "");
        break;
      case OPENING:
        if (kin__random_below(&random, 2) == 0) {
          lw_fail(failure);
        } else {
          lw_input(KIN__INPUT_HEAD);
        }
        break;
      default:
        lw_error_event(failure);
        break;
      }
      if (lw.listwatch.state == KIN__LISTWATCH_WAITING && before != LISTING &&
          lw.listwatch.in.waiting.after == LISTING) {
        memcpy(lost, position, sizeof lost);
      }
    }
  }
}

/* --- Waits ---------------------------------------------------------------- */

/* API servers that are restarted again and again: each time the watch had held,
 * so each wait is as short as the first, whatever series there were before. */
static void test_restarts_within_minutes(void **state) {
  (void)state;
  lw_list_and_watch("10");
  for (int i = 1; i < 20; i++) {
    lw.now_ms += 10000;
    lw_fail(lw_broken());
    for (int n = 0; n < 4; n++) {
      lw_fail(lw_status(500, "InternalError"));
      wait();
    }
    lw_page("10", "");
    lw_assert_watch("10");
    lw_fail(lw_status(410, "Expired"));
    lw_assert_wait(LISTING, 800);
    wait();
    lw_page("10", "");
    assert_list("", "", 0);
    lw_page("10", "");
    apply("10");
    lw_input(KIN__INPUT_HEAD);
  }
}

/* It grows while no watch holds what lists have brought, and not any more
 * when one does. */
static void test_grows_without_progress(void **state) {
  (void)state;
  static const uint64_t series[] = {800, 1600, 3200, 6400, 12800, 25600, 30000};
  lw_list_and_open("10");
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++) {
      lw_input(KIN__INPUT_HEAD);
      lw.now_ms += 999;
      expire();
      lw_assert_wait(LISTING, series[i]);
      lw_input(KIN__INPUT_TIMER); /* no time passes: one series */
      lw_page("10", "");
      assert_list("", "", 0);
      lw_page("10", "");
      apply("10");
    }
    lw_input(KIN__INPUT_HEAD);
    lw.now_ms += 5000;
    expire();
    lw_assert_wait(LISTING, 800);
    lw_input(KIN__INPUT_TIMER);
    lw_page("10", "");
    lw_page("10", "");
    apply("10");
    kin__backoff_init(&lw.listwatch.retries.backoffs[KIN__BACKOFF_LOST],
                      KIN__BACKOFF_LOST, lw.now_ms);
  }
}

/* Watches that never hold, of a server that goes on: each list brings something
 * new. Then each wait is as short as the first, but lists keep their
 * distance. */
static void test_short_while_lists_bring_something(void **state) {
  (void)state;
  lw_list_and_open("10");
  for (int round = 0; round < 2; round++) {
    uint64_t last_ms = lw.now_ms;
    for (int i = 1; i < 30; i++) {
      char version[8];
      snprintf(version, sizeof version, "%d", 10 + 100 * round + i);
      lw_input(KIN__INPUT_HEAD);
      lw.now_ms += 10;
      expire();
      bool is_first = round == 0 && i == 1;
      assert_in_range(lw.actions.timer_ms, is_first ? 800 : 4990 + 800,
                      is_first ? 1599 : 4990 + 1599);
      wait();
      lw_page(version, "");
      apply(version);
      assert_in_range(lw.now_ms - last_ms, 800, 5000 + 1600);
      last_ms = lw.now_ms;
    }
    /* What follows brings nothing: the series grows from its beginning. */
    const uint64_t series[] = {5000 + 800, 1600, 3200, 6400, 12800};
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++) {
      lw_input(KIN__INPUT_HEAD);
      expire();
      uint64_t jitter = i == 0 ? 800 : series[i];
      assert_in_range(lw.actions.timer_ms, series[i], series[i] + jitter - 1);
      wait();
      char version[8];
      snprintf(version, sizeof version, "%d", 10 + 100 * round + 29);
      lw_page(version, "");
      lw_page(version, "");
      apply(version);
    }
    lw_input(KIN__INPUT_HEAD);
    lw.now_ms += 5000;
    expire();
    wait();
    lw_page(round == 0 ? "110" : "300", "");
    apply(round == 0 ? "110" : "300");
  }
}

/* A server whose watches hold for a second, and no longer, is not asked for a
 * list each second. */
static void test_lists_keep_their_distance(void **state) {
  (void)state;
  lw_list_and_open("10");
  uint64_t last_ms = lw.now_ms;
  for (int i = 0; i < 20; i++) {
    hold_and_expire(1000);
    wait();
    assert_in_range(lw.now_ms - last_ms, 5000, 7000);
    last_ms = lw.now_ms;
    lw_page("10", "");
    lw_page("10", "");
    apply("10");
  }
}

/* --- Turned away ---------------------------------------------------------- */

/* No token, or a proxy that answers 407: the server is not even asked. */
static const kin__failure no_credential = {
    .code = KIN_EPROXY, .error_class = KIN_CLASS_AUTH, .retry_after_s = -1};

/* An informer that was complete once, and is refused, asks again within 10 s,
 * whatever the refusal says. */
static void test_refused_for_long(void **state) {
  (void)state;
  kin__failure put_off[] = {lw_status(429, ""), lw_status(503, "")};
  put_off[0].retry_after_s = put_off[1].retry_after_s = 1;
  const kin__failure failures[] = {lw_status(401, ""), lw_status(403, ""),
                                   lw_status(404, ""), put_off[0],
                                   put_off[1],         lw_status(429, ""),
                                   lw_status(500, ""), lw_status(503, ""),
                                   lw_status(504, ""), no_credential};
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
    for (int has_position = 0; has_position < 2; has_position++) {
      lw_begin(0);
      lw_list_and_watch("10");
      if (has_position) {
        lw.now_ms += 5000;
        lw_fail(lw_broken()); /* VERIFYING */
      } else {
        hold_and_expire(5000);
        wait();
      }
      for (int n = 0; n < 40; n++) {
        lw_fail(failures[i]);
        assert_in_range(lw.actions.timer_ms, 800, 9999);
        wait();
      }
    }
  }
}

/* Nobody knows whether it will ever be let in: as in client-go. */
static void test_refused_from_the_beginning(void **state) {
  (void)state;
  lw_input(KIN__INPUT_START);
  for (uint64_t base_ms = 800; base_ms < 30000; base_ms *= 2) {
    lw_fail(lw_status(403, "Forbidden"));
    lw_assert_wait(LISTING, base_ms);
    lw_input(KIN__INPUT_TIMER);
  }
  lw_begin(0);
  lw_input(KIN__INPUT_START);
  for (uint64_t base_ms = 800; base_ms < 30000; base_ms *= 2) {
    lw_fail(no_credential);
    lw_assert_wait(LISTING, base_ms);
    lw_input(KIN__INPUT_TIMER);
  }
}

/* Lists are refused for a while, after a refused verify: one wait in a series
 * that is short, and then the list, no later than client-go's. */
static void test_lost_behind_a_refused_verify(void **state) {
  (void)state;
  for (uint64_t refused_ms = 2000; refused_ms < 300000; refused_ms += 3000) {
    lw_begin(0);
    lw_list_and_watch("10");
    lw.now_ms += 300000;
    lw_fail(lw_broken());
    uint64_t until_ms = lw.now_ms + refused_ms;
    while (lw.now_ms < until_ms) {
      assert_int_equal(lw.listwatch.state, VERIFYING);
      lw_fail(lw_status(403, "Forbidden"));
      wait();
    }
    lw_page("10", "");
    lw_fail(lw_status(410, "Expired"));
    wait();
    lw_page("12", "");
    apply("12");
    assert_true(lw.now_ms - until_ms < 10000 + 1600);
  }
}

/* --- No position ---------------------------------------------------------- */

/* Lists without a version: what is deleted between two watches is seen by a
 * list alone, so there is one after each watch. */
static void test_no_position(void **state) {
  (void)state;
  static const char *const versions[] = {"", "0"};
  for (size_t i = 0; i < 2; i++) {
    lw_begin(0);
    lw_input(KIN__INPUT_START);
    assert_list("0", "", 500);
    for (int n = 0; n < 3; n++) {
      lw_page(versions[i], "");
      lw_input(KIN__INPUT_APPLIED);
      lw_assert_watch(versions[i]);
      lw_input(KIN__INPUT_HEAD);
      lw_saw(KIN__DECODED_ADDED, "40");
      if (n == 1) {
        lw_saw(KIN__DECODED_MODIFIED, "41"); /* which says nothing of a list */
      }
      lw.now_ms += 300000;
      if (n < 2) {
        lw_watch_ends(0);
        assert_false(lw.actions.report);
      } else {
        lw_fail(lw_broken());
        assert_true(lw.actions.report);
      }
      assert_list("", "", 500);
    }
  }
}

/* However the watch ends, and if it never began; lists keep their distance. */
static void test_no_position_at_once(void **state) {
  (void)state;
  for (int way = 0; way < 5; way++) {
    lw_begin(0);
    lw_input(KIN__INPUT_START);
    for (int n = 0; n < 3; n++) {
      lw_page("", "");
      lw_input(KIN__INPUT_APPLIED);
      uint64_t listed_ms = lw.now_ms;
      if (way > 0) {
        lw_input(KIN__INPUT_HEAD);
        lw.now_ms += way == 4 ? 0 : 1000;
      }
      if (way == 1 || way == 4) {
        lw_watch_ends(0);
      } else if (way == 2) {
        lw_input(KIN__INPUT_TIMER);
      } else {
        lw_fail(way == 0 ? lw_status(503, "") : lw_broken());
      }
      wait();
      assert_list("", "", 500);
      uint64_t gap_ms = lw.now_ms - listed_ms;
      assert_true(gap_ms >= (way == 0 || way == 4 ? 800 : 5000));
    }
  }
}

/* The list follows 5 s after the last one, to the millisecond. */
static void test_no_position_waits_to_the_millisecond(void **state) {
  (void)state;
  lw_begin(0);
  lw_input(KIN__INPUT_START);
  for (uint64_t left_ms = 3; left_ms <= 3; left_ms--) {
    lw_page("", "");
    lw_input(KIN__INPUT_APPLIED);
    lw_input(KIN__INPUT_HEAD);
    lw.now_ms += 5000 - left_ms;
    lw_saw(KIN__DECODED_ADDED, "7");
    lw_watch_ends(0);
    if (left_ms > 0) {
      lw_assert_wait(LISTING, left_ms);
      lw.now_ms += left_ms;
      lw_input(KIN__INPUT_TIMER);
    }
    assert_list("", "", 500);
  }
}

/* Nothing says how far anything has come; but a list mends what is wrong. */
static void test_verify_without_a_position(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    if (i == 0) {
      lw_begin(0);
      lw_input(KIN__INPUT_START);
    }
    lw_page("", "");
    lw_input(KIN__INPUT_APPLIED);
    lw_input(KIN__INPUT_HEAD);
    lw.now_ms += 60000;
    lw_verify("");
    assert_int_equal(lw_verdict(), KIN_ENOTSUP);
    assert_int_equal(lw_verdict(), LW_NO_VERDICT);
    assert_true(lw.actions.cancel_request && lw.actions.stop_timer);
    assert_false(lw.actions.report);
    assert_list("", "", 500);
  }
  lw_page("7", ""); /* it has learnt it */
  apply("7");
  lw_input(KIN__INPUT_HEAD);
  lw_saw(KIN__DECODED_MODIFIED, "8");
  lw.now_ms += 60000;
  lw_watch_ends(0);
  lw_assert_watch("8");
}

/* The lists had one, and the one that is asked for has none. */
static void test_verify_finds_no_version(void **state) {
  (void)state;
  static const char *const versions[] = {"", "0"};
  for (size_t i = 0; i < 2; i++) {
    lw_begin(0);
    lw_list_and_watch("10");
    lw_verify("");
    lw_page(versions[i], "");
    assert_int_equal(lw_verdict(), KIN_ENOTSUP);
    lw_assert_watch("10");
    assert_in_range(lw.actions.request.timeout_s, 300, 599);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lw_setup, lw_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_not_older_with_each_limit),
      TEST(test_no_progress),
      TEST(test_consistent_list_is_believed),
      TEST(test_odd_versions),
      TEST(test_no_progress_of_a_stream),
      TEST(test_match_is_refused),
      TEST(test_never_watched_again),
      TEST(test_restarts_within_minutes),
      TEST(test_grows_without_progress),
      TEST(test_short_while_lists_bring_something),
      TEST(test_lists_keep_their_distance),
      TEST(test_refused_for_long),
      TEST(test_refused_from_the_beginning),
      TEST(test_lost_behind_a_refused_verify),
      TEST(test_no_position),
      TEST(test_no_position_waits_to_the_millisecond),
      TEST(test_no_position_at_once),
      TEST(test_verify_without_a_position),
      TEST(test_verify_finds_no_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
