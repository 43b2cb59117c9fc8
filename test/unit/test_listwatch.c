/* SPDX-License-Identifier: MIT */

/* The listwatch as a function: which request follows which input. Proves RL-01
 * to RL-07, RF-04 to RF-07, RF-13 to RF-15, RW-01 to RW-07, RW-09,
 * RW-11, RW-15, PG-01 to PG-03, CN-01, CN-02. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/listwatch_steps.h"

/* client-go TestReflectorListAndWatch; RL-01, RF-13, RW-01. */
static void test_first_list_then_watch(void **state) {
  (void)state;
  lw_input(KIN__INPUT_START);
  lw_assert_list("0", 500);
  lw_page("10", "");
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_APPLYING);
  assert_true(lw.actions.apply_stage);
  assert_string_equal(lw.listwatch.position.version, "");
  lw_input(KIN__INPUT_APPLIED);
  assert_string_equal(lw.listwatch.position.version, "10");
  lw_assert_watch("10");
}

/* client-go TestWatchTimeout; CN-02, RW-15. */
static void test_watch_timeout_is_random_and_guarded(void **state) {
  (void)state;
  lw_list_and_open("1");
  assert_in_range(lw.actions.request.timeout_s, 300, 599);
  uint32_t timeout_s = lw.actions.request.timeout_s;
  lw_input(KIN__INPUT_HEAD);
  assert_true(lw.actions.start_timer);
  assert_int_equal(lw.actions.timer_ms, timeout_s * 1000 + 30000);
  lw_saw(KIN__DECODED_MODIFIED, "2");
  lw.now_ms += lw.actions.timer_ms;
  lw_input(KIN__INPUT_TIMER);
  assert_true(lw.actions.cancel_request);
  lw_assert_watch("2");
  /* Watches that began together do not end together. */
  uint32_t shortest_s = UINT32_MAX;
  uint32_t longest_s = 0;
  for (int i = 0; i < 200; i++) {
    lw_input(KIN__INPUT_HEAD);
    lw_saw(KIN__DECODED_MODIFIED, "2");
    lw.now_ms += 2000;
    lw_input(KIN__INPUT_WATCH_ENDED);
    lw_assert_watch("2");
    uint32_t next_s = lw.actions.request.timeout_s;
    assert_in_range(next_s, 300, 599);
    shortest_s = next_s < shortest_s ? next_s : shortest_s;
    longest_s = next_s > longest_s ? next_s : longest_s;
  }
  assert_true(shortest_s < 330 && longest_s > 570);
}

/* The watch ends because its version has expired; the relist's limit follows. */
static void expire(const char *version, uint32_t relist_limit) {
  lw_input(KIN__INPUT_APPLIED);
  lw_assert_watch(version);
  lw_input(KIN__INPUT_HEAD);
  lw_error_event(lw_status(410, "Expired"));
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list(version, relist_limit);
}

/* client-go TestListPager_List; PG-02: the version is the first page's. And
 * TestReflectorPaginatingNonConsistentReadsIfWatchCacheDisabled; RL-02,
 * RL-03: the cache does not serve version 0 here, so all later lists are
 * paged. */
static void test_pages(void **state) {
  (void)state;
  lw_input(KIN__INPUT_START);
  lw_page("10", "more");
  assert_int_equal(lw.actions.request.kind, KIN__REQUEST_LIST);
  assert_string_equal(lw.actions.request.token, "more");
  assert_null(lw.actions.request.version);
  assert_int_equal(lw.actions.request.limit, 500);
  assert_false(lw.actions.drop_stage);
  lw_page("99", "");
  assert_true(lw.actions.apply_stage);
  expire("10", 500);
  lw_page("20", "");
  expire("20", 500);
}

/* RL-03: pages of a list at another version than 0 tell nothing of the cache. */
static void test_pages_of_a_relist(void **state) {
  (void)state;
  lw_input(KIN__INPUT_START);
  lw_page("10", "");
  expire("10", 0);
  lw_page("20", "more");
  lw_page("20", "");
  expire("20", 0);
}

/* client-go TestReflectorNotPaginatingNotConsistentReads; RL-02. And
 * TestReflectorResyncWithResourceVersion; RF-13, RF-14, RL-04: at the version
 * last seen, so that data never go back in time. */
static void test_relist_is_not_paged(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_error_event(lw_status(410, "Expired"));
  assert_true(lw.actions.cancel_request);
  assert_true(lw.actions.report);
  lw_assert_wait(KIN__LISTWATCH_LISTING, 800);
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("10", 0);
}

/* client-go TestReflectorWatchListPageSize; RL-02: a page size that the program
 * has set holds for every list, also for one that asks for a version. KIN_NEVER
 * sends no limit. */
static void test_page_size_option(void **state) {
  (void)state;
  static const struct {
    uint32_t page_size;
    uint32_t first;
    uint32_t later;
  } cases[] = {{0, 500, 0}, {7, 7, 7}, {UINT32_MAX, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    lw_begin(cases[i].page_size);
    lw_input(KIN__INPUT_START);
    lw_assert_list("0", cases[i].first);
    lw_page("10", "");
    lw_input(KIN__INPUT_APPLIED);
    lw_input(KIN__INPUT_HEAD);
    lw_error_event(lw_status(410, "Expired"));
    lw_input(KIN__INPUT_TIMER);
    lw_assert_list("10", cases[i].later);
  }
}

/* client-go TestReflectorFullListIfExpired; RL-06, PG-03. */
static void test_expired_page_falls_back_to_a_full_list(void **state) {
  (void)state;
  lw_input(KIN__INPUT_START);
  lw_page("10", "more");
  lw_fail(lw_status(410, "Expired"));
  lw_assert_list("0", 0);
  assert_true(lw.actions.drop_stage);
  assert_true(lw.actions.report);
  lw_page("11", "");
  expire("11", 500); /* RL-03: the first try had a page */
}

/* RL-06: at the version that was first asked for, which is not 0 here. */
static void test_expired_page_of_a_relist(void **state) {
  (void)state;
  lw_input(KIN__INPUT_START);
  lw_page("10", "more");
  lw_page("10", "");
  expire("10", 500);
  lw_page("20", "more");
  lw_fail(lw_status(410, "Expired"));
  lw_assert_list("10", 0);
  lw_page("21", "");
  expire("21", 500);
}

/* client-go TestReflectorExpiredExactResourceVersion; RL-05, RF-15: versions 0,
 * 10, "". */
static void test_expired_relist_falls_back_to_current(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_error_event(lw_status(410, "Expired"));
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("10", 0);
  lw_fail(lw_status(410, "Expired"));
  lw_assert_list("", 0);
  lw_fail(lw_status(500, "InternalError"));
  lw_assert_wait(KIN__LISTWATCH_LISTING, 800);
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("", 500); /* RF-14: the flag stays set */
  lw_page("20", "");
  lw_input(KIN__INPUT_APPLIED);
  lw_assert_watch("20");
  assert_false(kin__listwatch_is_unavailable(&lw.listwatch));
}

/* client-go TestReflectorFullListIfTooLarge; RL-05. */
static void test_too_large_version_moves_on_at_once(void **state) {
  (void)state;
  lw_list_and_watch("20");
  lw_error_event(lw_status(410, "Gone"));
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("20", 0);
  lw_fail(lw_too_large());
  lw_assert_list("", 0);
  lw_fail(lw_too_large());
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_WAITING);
}

/* RW-02: a drop re-watches from the last version, without a list. */
static void test_watch_end_rewatches_at_once(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_saw(KIN__DECODED_MODIFIED, "12");
  lw.now_ms += 5000;
  lw_input(KIN__INPUT_WATCH_ENDED);
  assert_true(lw.actions.stop_timer);
  assert_false(lw.actions.report);
  lw_assert_watch("12");
  lw_input(KIN__INPUT_HEAD);
  lw_saw(KIN__DECODED_ADDED, "13");
  lw.now_ms += 5000;
  lw_fail(lw_broken());
  assert_true(lw.actions.report);
  assert_int_equal(lw.actions.retry_in_ms, 0);
  lw_assert_watch("13");
}

/* client-go TestReflectorHandleWatchResultChanClosedBefore,
 * TestReflectorHandleWatchResultChanClosedAfter; RW-07: a very short watch
 * waits, and does not relist; one in which nothing came is verified, too. */
static void test_short_watch_backs_off(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_saw(KIN__DECODED_MODIFIED, "12");
  lw.now_ms += 999;
  lw_input(KIN__INPUT_WATCH_ENDED);
  lw_assert_wait(KIN__LISTWATCH_OPENING, 800);
  lw_input(KIN__INPUT_TIMER);
  lw_assert_watch("12");
  lw_input(KIN__INPUT_HEAD);
  lw.now_ms += 999;
  lw_input(KIN__INPUT_WATCH_ENDED);
  lw_assert_wait(KIN__LISTWATCH_VERIFYING, 1600);
}

/* RW-07: a server that ends every watch at once is asked every 4 s, or sooner:
 * the copy is out of date meanwhile. */
static void test_short_watches_for_long(void **state) {
  (void)state;
  lw_list_and_watch("10");
  for (int i = 0; i < 20; i++) {
    char version[8];
    snprintf(version, sizeof version, "%d", 11 + i);
    lw_saw((kin__decoded_type)0, version);
    lw_input(KIN__INPUT_WATCH_ENDED);
    lw_assert_wait(KIN__LISTWATCH_OPENING, i == 0 ? 800 : i == 1 ? 1600 : 2000);
    assert_false(lw.actions.report);
    lw.now_ms += lw.actions.timer_ms;
    lw_input(KIN__INPUT_TIMER);
    lw_assert_watch(version);
    lw_input(KIN__INPUT_HEAD);
  }
}

static void test_silent_watch_is_verified(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw.now_ms += 400000;
  lw_input(KIN__INPUT_WATCH_ENDED);
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_VERIFYING);
  assert_int_equal(lw.actions.request.kind, KIN__REQUEST_VERIFY);
  assert_string_equal(lw.actions.request.version, "10");
  assert_string_equal(lw.actions.request.version_match, "NotOlderThan");
  assert_int_equal(lw.actions.request.limit, 1);
  lw_page("11", "token");
  lw_assert_watch("10");
}

static void test_failed_verify_is_a_lost_position(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw.now_ms += 400000;
  lw_input(KIN__INPUT_WATCH_ENDED);
  lw_fail(lw_too_large());
  assert_true(lw.actions.report);
  assert_int_equal(lw.listwatch.in.waiting.after, KIN__LISTWATCH_LISTING);
  lw_input(KIN__INPUT_TIMER);
  lw_assert_list("", 500);
}

static void test_verify_that_cannot_be_made_is_repeated(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw.now_ms += 60000;
  lw_fail(lw_broken());
  assert_int_equal(lw.listwatch.state, KIN__LISTWATCH_VERIFYING);
  lw_fail(lw_broken());
  lw_assert_wait(KIN__LISTWATCH_VERIFYING, 800);
  lw_input(KIN__INPUT_TIMER);
  assert_int_equal(lw.actions.request.kind, KIN__REQUEST_VERIFY);
}

/* client-go TestRetryInternalError, TestNoRelistOnTooManyRequests; RW-03,
 * RW-06, RD-01: only a lost position makes a list. An internal error is tried
 * again with backoff for as long as it lasts, so no deadline is needed. */
static void test_what_loses_the_position(void **state) {
  (void)state;
  const kin__listwatch_state list = KIN__LISTWATCH_LISTING;
  const kin__listwatch_state verify = KIN__LISTWATCH_VERIFYING;
  const kin__listwatch_state watch = KIN__LISTWATCH_OPENING;
  const struct {
    int status;
    const char *reason;
    kin_error_class error_class;
    kin__listwatch_state after[2]; /* the request; the watch */
  } rows[] = {
      {410, "Expired", KIN_CLASS_SERVER, {list, list}},
      {410, "Gone", KIN_CLASS_SERVER, {list, list}},
      {400, "BadRequest", KIN_CLASS_SERVER, {list, list}},
      {422, "Invalid", KIN_CLASS_SERVER, {list, list}},
      {500, "StorageReadError", KIN_CLASS_SERVER, {list, list}},
      {0, "", KIN_CLASS_DECODE, {list, list}},
      {500, "InternalError", KIN_CLASS_SERVER, {watch, watch}},
      {401, "Unauthorized", KIN_CLASS_AUTH, {watch, watch}},
      {403, "Forbidden", KIN_CLASS_FORBIDDEN, {watch, watch}},
      {404, "NotFound", KIN_CLASS_ABSENT, {verify, verify}},
      {429, "TooManyRequests", KIN_CLASS_THROTTLED, {watch, watch}},
      {503, "ServiceUnavailable", KIN_CLASS_SERVER, {watch, watch}},
      {504, "Timeout", KIN_CLASS_SERVER, {watch, watch}},
      {0, "", KIN_CLASS_CONNECT, {verify, watch}},
      {0, "", KIN_CLASS_DNS, {verify, watch}},
      {0, "", KIN_CLASS_TLS, {verify, watch}},
      {0, "", KIN_CLASS_PROTOCOL, {watch, watch}},
      {0, "", KIN_CLASS_MEMORY, {watch, watch}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    kin__failure failure = lw_status(rows[i].status, rows[i].reason);
    failure.error_class = rows[i].error_class;
    for (int is_open = 0; is_open < 2; is_open++) {
      kin__listwatch_state after = rows[i].after[is_open];
      lw_begin(0);
      lw_list_and_open("10");
      if (is_open) {
        lw_input(KIN__INPUT_HEAD);
        lw_saw(KIN__DECODED_MODIFIED, "11");
      }
      lw_fail(failure);
      assert_true(lw.actions.report);
      lw_assert_wait(after, 800);
      lw_input(KIN__INPUT_TIMER);
      const char *version = is_open ? "11" : "10";
      if (after == watch) {
        lw_assert_watch(version);
      } else if (after == list) {
        lw_assert_list(version, 0);
      } else {
        assert_int_equal(lw.actions.request.kind, KIN__REQUEST_VERIFY);
        assert_string_equal(lw.actions.request.version, version);
      }
    }
  }
}

/* client-go TestBackoffOnTooManyRequests; CN-01, RF-05, RF-06. */
static void test_backoff_series(void **state) {
  (void)state;
  static const uint64_t series[] = {800,   1600,  3200,  6400,
                                    12800, 25600, 30000, 30000};
  kin__failure failure = lw_status(429, "TooManyRequests");
  lw_input(KIN__INPUT_START);
  for (size_t i = 0; i < sizeof series / sizeof series[0]; i++) {
    lw_fail(failure);
    assert_int_equal(lw.listwatch.retries.failures, i + 1);
    lw_assert_wait(KIN__LISTWATCH_LISTING, series[i]);
    lw_input(KIN__INPUT_TIMER);
  }
  /* RF-06: strictly more than two minutes after the series began. */
  lw.now_ms += 120000;
  lw_fail(failure);
  lw_assert_wait(KIN__LISTWATCH_LISTING, 30000);
  lw_input(KIN__INPUT_TIMER);
  lw.now_ms += 1;
  lw_fail(failure);
  lw_assert_wait(KIN__LISTWATCH_LISTING, 800);
}

static void test_retry_after_is_honoured(void **state) {
  (void)state;
  lw_input(KIN__INPUT_START);
  kin__failure failure = lw_status(429, "TooManyRequests");
  failure.retry_after_s = 42;
  lw_fail(failure);
  assert_int_equal(lw.actions.timer_ms, 42000);
  assert_int_equal(lw.actions.retry_in_ms, 42000);
  lw_input(KIN__INPUT_TIMER);
  failure.retry_after_s = INT64_MAX;
  lw_fail(failure);
  assert_int_equal(lw.actions.timer_ms, 3600 * 1000);
}

static void test_answer_changes_the_wait(void **state) {
  (void)state;
  lw_input(KIN__INPUT_START);
  lw_fail(lw_broken());
  kin__listwatch_input in = {.type = KIN__INPUT_RETRY_AFTER, .delay_ms = 5};
  kin__listwatch_step(&lw.listwatch, &in, lw.now_ms, &lw.actions);
  assert_true(lw.actions.stop_timer);
  assert_true(lw.actions.start_timer);
  assert_int_equal(lw.actions.timer_ms, 5);
}

/* client-go TestReflectorResourceVersionUpdate; RF-16, RW-09, RW-11: events and
 * bookmarks advance the version. */
static void test_version_follows_events(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_saw(KIN__DECODED_ADDED, "11");
  assert_string_equal(lw.listwatch.position.version, "11");
  lw_saw((kin__decoded_type)0, "15"); /* RW-11: a bookmark */
  assert_string_equal(lw.listwatch.position.version, "15");
  lw_saw(KIN__DECODED_DELETED, "16");
  assert_string_equal(lw.listwatch.position.version, "16");
  lw_saw(KIN__DECODED_MODIFIED, "");
  assert_string_equal(lw.listwatch.position.version, "16");
  /* A watch from "0" would not show what was deleted meanwhile. */
  lw_saw((kin__decoded_type)0, "0");
  lw_saw(KIN__DECODED_MODIFIED, "0");
  assert_string_equal(lw.listwatch.position.version, "16");
  char huge[KIN__VERSION_SIZE + 1];
  memset(huge, '1', sizeof huge - 1);
  huge[sizeof huge - 1] = '\0';
  lw_saw(KIN__DECODED_MODIFIED, huge);
  assert_string_equal(lw.listwatch.position.version, "16");
}

static void test_unversioned_watch_waits_for_order(void **state) {
  (void)state;
  lw_list_and_watch("");
  lw_saw(KIN__DECODED_ADDED, "40");
  assert_string_equal(lw.listwatch.position.version, "");
  lw_saw(KIN__DECODED_MODIFIED, "30");
  assert_string_equal(lw.listwatch.position.version, "30");
  lw_saw(KIN__DECODED_ADDED, "41");
  assert_string_equal(lw.listwatch.position.version, "41");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lw_setup, lw_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_first_list_then_watch),
      TEST(test_watch_timeout_is_random_and_guarded),
      TEST(test_pages),
      TEST(test_pages_of_a_relist),
      TEST(test_relist_is_not_paged),
      TEST(test_page_size_option),
      TEST(test_expired_page_falls_back_to_a_full_list),
      TEST(test_expired_page_of_a_relist),
      TEST(test_expired_relist_falls_back_to_current),
      TEST(test_too_large_version_moves_on_at_once),
      TEST(test_watch_end_rewatches_at_once),
      TEST(test_short_watch_backs_off),
      TEST(test_short_watches_for_long),
      TEST(test_silent_watch_is_verified),
      TEST(test_failed_verify_is_a_lost_position),
      TEST(test_verify_that_cannot_be_made_is_repeated),
      TEST(test_what_loses_the_position),
      TEST(test_backoff_series),
      TEST(test_retry_after_is_honoured),
      TEST(test_answer_changes_the_wait),
      TEST(test_version_follows_events),
      TEST(test_unversioned_watch_waits_for_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
