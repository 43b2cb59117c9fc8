/* SPDX-License-Identifier: MIT */

/* The reflector as a function: which request follows which input. Proves RL-01
 * to RL-07, RL-11, RF-04 to RF-07, RF-10, RF-13 to RF-15, RW-01 to RW-07, RW-09,
 * RW-11, RW-15, PG-01 to PG-03, CN-01, CN-02. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/str.h"
#include "reflector/reflector.h"

typedef struct fixture {
  kin__reflector reflector;
  kin__random random;
  kin__reflector_actions actions;
  uint64_t now_ms;
} fixture;

static fixture f;

static int setup_with(uint32_t page_size) {
  f = (fixture){.now_ms = 1000000, .random = {7}};
  kin__reflector_init(&f.reflector, kin__default_allocator(), &f.random,
                      page_size, f.now_ms);
  return 0;
}

static int setup(void **state) {
  (void)state;
  return setup_with(0);
}

static int teardown(void **state) {
  (void)state;
  kin__reflector_finish(&f.reflector);
  return 0;
}

static void input(kin__reflector_input_type type) {
  kin__reflector_input in = {.type = type};
  kin__reflector_step(&f.reflector, &in, f.now_ms, &f.actions);
}

static void page(const char *version, const char *token) {
  kin__reflector_input in = {
      .type = KIN__INPUT_PAGE, .version = version, .token = token};
  kin__reflector_step(&f.reflector, &in, f.now_ms, &f.actions);
}

static void failed_as(kin__reflector_input_type type,
                      const kin__failure *failure) {
  kin__reflector_input in = {.type = type, .failure = failure};
  kin__reflector_step(&f.reflector, &in, f.now_ms, &f.actions);
}

static kin__failure status_failure(int status, const char *reason) {
  kin__failure failure = {.code = KIN_ESTATUS,
                          .error_class = KIN_CLASS_SERVER,
                          .status = status,
                          .retry_after_s = -1};
  snprintf(failure.reason, sizeof failure.reason, "%s", reason);
  failure.is_expired =
      strcmp(reason, "Expired") == 0 || strcmp(reason, "Gone") == 0;
  return failure;
}

static kin__failure too_large(void) {
  kin__failure failure = status_failure(504, "Timeout");
  failure.is_rv_too_large = true;
  return failure;
}

static kin__failure broken(void) {
  return (kin__failure){
      .code = KIN_EEOF, .error_class = KIN_CLASS_CONNECT, .retry_after_s = -1};
}

static void fail_with(kin__failure failure) {
  failed_as(KIN__INPUT_FAILED, &failure);
}

static void error_event(kin__failure failure) {
  failed_as(KIN__INPUT_ERROR_EVENT, &failure);
}

static void assert_list(const char *version, uint32_t limit) {
  assert_int_equal(f.reflector.state, KIN__REFLECTOR_LISTING);
  assert_int_equal(f.actions.request, KIN__REQUEST_LIST);
  assert_string_equal(f.actions.version, version);
  assert_null(f.actions.token);
  assert_int_equal(f.actions.limit, limit);
}

static void assert_watch(const char *version) {
  assert_int_equal(f.reflector.state, KIN__REFLECTOR_OPENING);
  assert_int_equal(f.actions.request, KIN__REQUEST_WATCH);
  assert_string_equal(f.actions.version, version);
}

/* Waiting for `after`, with an un-jittered delay of `base_ms`. */
static void assert_wait(kin__reflector_state after, uint64_t base_ms) {
  assert_int_equal(f.reflector.state, KIN__REFLECTOR_WAITING);
  assert_int_equal(f.reflector.after_wait, after);
  assert_int_equal(f.actions.request, KIN__REQUEST_NONE);
  assert_true(f.actions.start_timer);
  assert_in_range(f.actions.timer_ms, base_ms, 2 * base_ms - 1);
}

static void list_and_open(const char *version) {
  input(KIN__INPUT_START);
  page(version, "");
  assert_true(f.actions.apply_stage);
  input(KIN__INPUT_APPLIED);
  assert_watch(version);
}

static void list_and_watch(const char *version) {
  list_and_open(version);
  input(KIN__INPUT_HEAD);
  assert_int_equal(f.reflector.state, KIN__REFLECTOR_WATCHING);
}

static void saw(kin__decoded_type type, const char *version) {
  kin__reflector_saw(&f.reflector, type, kin__cstr(version));
}

/* client-go TestReflectorListAndWatch; RL-01, RF-13, RW-01. */
static void test_first_list_then_watch(void **state) {
  (void)state;
  input(KIN__INPUT_START);
  assert_list("0", 500);
  page("10", "");
  assert_int_equal(f.reflector.state, KIN__REFLECTOR_APPLYING);
  assert_true(f.actions.apply_stage);
  assert_string_equal(f.reflector.version, "");
  input(KIN__INPUT_APPLIED);
  assert_string_equal(f.reflector.version, "10");
  assert_watch("10");
}

/* client-go TestWatchTimeout; CN-02, RW-15. */
static void test_watch_timeout_is_random_and_guarded(void **state) {
  (void)state;
  list_and_open("1");
  assert_in_range(f.actions.timeout_s, 300, 599);
  uint32_t timeout_s = f.actions.timeout_s;
  input(KIN__INPUT_HEAD);
  assert_true(f.actions.start_timer);
  assert_int_equal(f.actions.timer_ms, timeout_s * 1000 + 30000);
  saw(KIN__DECODED_MODIFIED, "2");
  f.now_ms += f.actions.timer_ms;
  input(KIN__INPUT_TIMER);
  assert_true(f.actions.cancel_request);
  assert_watch("2");
}

/* client-go TestListPager_List; PG-02: the version is the first page's. And
 * TestReflectorPaginatingNonConsistentReadsIfWatchCacheDisabled; RL-02, RL-03. */
static void test_pages(void **state) {
  (void)state;
  input(KIN__INPUT_START);
  page("10", "more");
  assert_int_equal(f.actions.request, KIN__REQUEST_LIST);
  assert_string_equal(f.actions.token, "more");
  assert_null(f.actions.version);
  assert_int_equal(f.actions.limit, 500);
  assert_false(f.actions.drop_stage);
  page("99", "");
  assert_true(f.actions.apply_stage);
  input(KIN__INPUT_APPLIED);
  assert_watch("10");
  /* RL-03, RL-02: the cache does not serve version 0 here: page again. */
  input(KIN__INPUT_HEAD);
  error_event(status_failure(410, "Expired"));
  input(KIN__INPUT_TIMER);
  assert_list("10", 500);
}

/* client-go TestReflectorNotPaginatingNotConsistentReads; RL-02. And
 * TestReflectorResyncWithResourceVersion; RF-13, RF-14, RL-04: at the version last
 * seen, so that data never go back in time. */
static void test_relist_is_not_paged(void **state) {
  (void)state;
  list_and_watch("10");
  error_event(status_failure(410, "Expired"));
  assert_true(f.actions.cancel_request);
  assert_true(f.actions.report);
  assert_wait(KIN__REFLECTOR_LISTING, 800);
  input(KIN__INPUT_TIMER);
  assert_list("10", 0);
}

/* client-go TestReflectorWatchListPageSize; RL-02. */
static void test_page_size_option(void **state) {
  (void)state;
  kin__reflector_finish(&f.reflector);
  setup_with(4);
  input(KIN__INPUT_START);
  assert_list("0", 4);
  kin__reflector_finish(&f.reflector);
  setup_with(UINT32_MAX);
  input(KIN__INPUT_START);
  assert_list("0", 0);
}

/* client-go TestReflectorFullListIfExpired; RL-06, PG-03. */
static void test_expired_page_falls_back_to_a_full_list(void **state) {
  (void)state;
  input(KIN__INPUT_START);
  page("10", "more");
  fail_with(status_failure(410, "Expired"));
  assert_list("0", 0);
  assert_true(f.actions.drop_stage);
  assert_true(f.actions.report);
  page("11", "");
  input(KIN__INPUT_APPLIED);
  assert_watch("11");
}

/* client-go TestReflectorExpiredExactResourceVersion; RL-05, RF-15: versions 0,
 * 10, "". */
static void test_expired_relist_falls_back_to_current(void **state) {
  (void)state;
  list_and_watch("10");
  error_event(status_failure(410, "Expired"));
  input(KIN__INPUT_TIMER);
  assert_list("10", 0);
  fail_with(status_failure(410, "Expired"));
  assert_list("", 0);
  fail_with(status_failure(500, "InternalError"));
  assert_wait(KIN__REFLECTOR_LISTING, 1600);
  input(KIN__INPUT_TIMER);
  assert_list("", 500); /* RF-14: the flag stays set */
  page("20", "");
  input(KIN__INPUT_APPLIED);
  assert_watch("20");
  assert_false(f.reflector.version_unavailable);
}

/* client-go TestReflectorFullListIfTooLarge; RL-05. */
static void test_too_large_version_moves_on_at_once(void **state) {
  (void)state;
  list_and_watch("20");
  error_event(status_failure(410, "Gone"));
  input(KIN__INPUT_TIMER);
  assert_list("20", 0);
  fail_with(too_large());
  assert_list("", 0);
  fail_with(too_large());
  assert_int_equal(f.reflector.state, KIN__REFLECTOR_WAITING);
}

/* RW-02: a drop re-watches from the last version, without a list. */
static void test_watch_end_rewatches_at_once(void **state) {
  (void)state;
  list_and_watch("10");
  saw(KIN__DECODED_MODIFIED, "12");
  f.now_ms += 5000;
  input(KIN__INPUT_WATCH_ENDED);
  assert_true(f.actions.stop_timer);
  assert_false(f.actions.report);
  assert_watch("12");
  input(KIN__INPUT_HEAD);
  saw(KIN__DECODED_ADDED, "13");
  f.now_ms += 5000;
  fail_with(broken());
  assert_true(f.actions.report);
  assert_int_equal(f.actions.retry_in_ms, 0);
  assert_watch("13");
}

/* client-go TestReflectorHandleWatchResultChanClosedBefore,
 * TestReflectorHandleWatchResultChanClosedAfter; RW-07: a very short watch waits,
 * and does not relist; one in which nothing came is verified, too. */
static void test_short_watch_backs_off(void **state) {
  (void)state;
  list_and_watch("10");
  saw(KIN__DECODED_MODIFIED, "12");
  f.now_ms += 999;
  input(KIN__INPUT_WATCH_ENDED);
  assert_wait(KIN__REFLECTOR_OPENING, 800);
  input(KIN__INPUT_TIMER);
  assert_watch("12");
  input(KIN__INPUT_HEAD);
  f.now_ms += 999;
  input(KIN__INPUT_WATCH_ENDED);
  assert_wait(KIN__REFLECTOR_VERIFYING, 1600);
}

static void test_silent_watch_is_verified(void **state) {
  (void)state;
  list_and_watch("10");
  f.now_ms += 400000;
  input(KIN__INPUT_WATCH_ENDED);
  assert_int_equal(f.reflector.state, KIN__REFLECTOR_VERIFYING);
  assert_int_equal(f.actions.request, KIN__REQUEST_VERIFY);
  assert_string_equal(f.actions.version, "10");
  assert_string_equal(f.actions.version_match, "NotOlderThan");
  assert_int_equal(f.actions.limit, 1);
  page("11", "token");
  assert_watch("10");
}

static void test_failed_verify_is_a_lost_position(void **state) {
  (void)state;
  list_and_watch("10");
  f.now_ms += 400000;
  input(KIN__INPUT_WATCH_ENDED);
  fail_with(too_large());
  assert_true(f.actions.report);
  assert_int_equal(f.reflector.after_wait, KIN__REFLECTOR_LISTING);
  input(KIN__INPUT_TIMER);
  assert_list("", 500);
}

static void test_verify_that_cannot_be_made_is_repeated(void **state) {
  (void)state;
  list_and_watch("10");
  f.now_ms += 60000;
  fail_with(broken());
  assert_int_equal(f.reflector.state, KIN__REFLECTOR_VERIFYING);
  fail_with(broken());
  assert_wait(KIN__REFLECTOR_VERIFYING, 800);
  input(KIN__INPUT_TIMER);
  assert_int_equal(f.actions.request, KIN__REQUEST_VERIFY);
}

/* client-go TestRetryInternalError, TestNoRelistOnTooManyRequests; RW-03, RW-06,
 * RD-01: only a lost position makes a list. An internal error is tried again with
 * backoff for as long as it lasts, so no deadline is needed. */
static void test_what_loses_the_position(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *reason;
    kin_error_class error_class;
    bool is_lost;
  } rows[] = {
      {410, "Expired", KIN_CLASS_SERVER, true},
      {410, "Gone", KIN_CLASS_SERVER, true},
      {400, "BadRequest", KIN_CLASS_SERVER, true},
      {422, "Invalid", KIN_CLASS_SERVER, true},
      {500, "StorageReadError", KIN_CLASS_SERVER, true},
      {0, "", KIN_CLASS_DECODE, true},
      {500, "InternalError", KIN_CLASS_SERVER, false},
      {401, "Unauthorized", KIN_CLASS_AUTH, false},
      {403, "Forbidden", KIN_CLASS_FORBIDDEN, false},
      {404, "NotFound", KIN_CLASS_ABSENT, false},
      {429, "TooManyRequests", KIN_CLASS_THROTTLED, false},
      {503, "ServiceUnavailable", KIN_CLASS_SERVER, false},
      {504, "Timeout", KIN_CLASS_SERVER, false},
      {0, "", KIN_CLASS_CONNECT, false}, /* unless it is open: verified */
      {0, "", KIN_CLASS_DNS, false},
      {0, "", KIN_CLASS_PROTOCOL, false},
      {0, "", KIN_CLASS_MEMORY, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    kin__failure failure = status_failure(rows[i].status, rows[i].reason);
    failure.error_class = rows[i].error_class;
    int is_open = rows[i].error_class == KIN_CLASS_CONNECT ? 1 : 0;
    for (; is_open < 2; is_open++) {
      kin__reflector_finish(&f.reflector);
      setup_with(0);
      list_and_open("10");
      if (is_open) {
        input(KIN__INPUT_HEAD);
        saw(KIN__DECODED_MODIFIED, "11");
      }
      fail_with(failure);
      assert_true(f.actions.report);
      assert_wait(rows[i].is_lost ? KIN__REFLECTOR_LISTING
                                  : KIN__REFLECTOR_OPENING,
                  800);
      input(KIN__INPUT_TIMER);
      if (!rows[i].is_lost) {
        assert_watch(is_open ? "11" : "10");
      } else {
        assert_list(is_open ? "11" : "10", 0);
      }
    }
  }
}

/* client-go TestBackoffOnTooManyRequests; CN-01, RF-05, RF-06. */
static void test_backoff_series(void **state) {
  (void)state;
  static const uint64_t series[] = {800,   1600,  3200,  6400,
                                    12800, 25600, 30000, 30000};
  input(KIN__INPUT_START);
  for (size_t i = 0; i < sizeof series / sizeof series[0]; i++) {
    fail_with(broken());
    assert_int_equal(f.reflector.failures, i + 1);
    assert_wait(KIN__REFLECTOR_LISTING, series[i]);
    input(KIN__INPUT_TIMER);
  }
  /* RF-06: strictly more than two minutes after the series began. */
  f.now_ms += 120000;
  fail_with(broken());
  assert_wait(KIN__REFLECTOR_LISTING, 30000);
  input(KIN__INPUT_TIMER);
  f.now_ms += 1;
  fail_with(broken());
  assert_wait(KIN__REFLECTOR_LISTING, 800);
}

static void test_retry_after_is_honoured(void **state) {
  (void)state;
  input(KIN__INPUT_START);
  kin__failure failure = status_failure(429, "TooManyRequests");
  failure.retry_after_s = 42;
  fail_with(failure);
  assert_int_equal(f.actions.timer_ms, 42000);
  assert_int_equal(f.actions.retry_in_ms, 42000);
  input(KIN__INPUT_TIMER);
  failure.retry_after_s = INT64_MAX;
  fail_with(failure);
  assert_int_equal(f.actions.timer_ms, 3600 * 1000);
}

static void test_answer_changes_the_wait(void **state) {
  (void)state;
  input(KIN__INPUT_START);
  fail_with(broken());
  kin__reflector_input in = {.type = KIN__INPUT_RETRY_AFTER, .delay_ms = 5};
  kin__reflector_step(&f.reflector, &in, f.now_ms, &f.actions);
  assert_true(f.actions.stop_timer);
  assert_true(f.actions.start_timer);
  assert_int_equal(f.actions.timer_ms, 5);
}

/* client-go TestReflectorResourceVersionUpdate; RF-16, RW-09, RW-11: events and
 * bookmarks advance the version. */
static void test_version_follows_events(void **state) {
  (void)state;
  list_and_watch("10");
  saw(KIN__DECODED_ADDED, "11");
  assert_string_equal(f.reflector.version, "11");
  saw((kin__decoded_type)0, "15"); /* RW-11: a bookmark */
  assert_string_equal(f.reflector.version, "15");
  saw(KIN__DECODED_DELETED, "16");
  assert_string_equal(f.reflector.version, "16");
  saw(KIN__DECODED_MODIFIED, "");
  assert_string_equal(f.reflector.version, "16");
  char huge[KIN__VERSION_SIZE + 1];
  memset(huge, '1', sizeof huge - 1);
  huge[sizeof huge - 1] = '\0';
  saw(KIN__DECODED_MODIFIED, huge);
  assert_string_equal(f.reflector.version, "16");
}

static void test_unversioned_watch_waits_for_order(void **state) {
  (void)state;
  list_and_watch("");
  saw(KIN__DECODED_ADDED, "40");
  assert_string_equal(f.reflector.version, "");
  saw(KIN__DECODED_MODIFIED, "30");
  assert_string_equal(f.reflector.version, "30");
  saw(KIN__DECODED_ADDED, "41");
  assert_string_equal(f.reflector.version, "41");
}

/* client-go TestRunUntil, TestReflectorHandleWatchStoppedBefore,
 * TestReflectorHandleWatchStoppedAfter; RF-10, RL-11, RW-12: stop from every state
 * cancels what is open, and nothing happens afterwards. */
static void test_stop_from_every_state(void **state) {
  (void)state;
  for (int depth = 0; depth < 7; depth++) {
    kin__reflector_finish(&f.reflector);
    setup_with(0);
    if (depth >= 1) {
      input(KIN__INPUT_START);
    }
    if (depth >= 2) {
      page("10", "");
    }
    if (depth >= 3) {
      input(KIN__INPUT_APPLIED);
    }
    if (depth >= 4) {
      input(KIN__INPUT_HEAD);
    }
    if (depth == 5) {
      f.now_ms += 5000;
      input(KIN__INPUT_WATCH_ENDED);
      assert_int_equal(f.reflector.state, KIN__REFLECTOR_VERIFYING);
    }
    if (depth == 6) {
      fail_with(broken());
      assert_int_equal(f.reflector.state, KIN__REFLECTOR_WAITING);
    }
    input(KIN__INPUT_STOP);
    assert_int_equal(f.reflector.state, KIN__REFLECTOR_STOPPED);
    assert_true(f.actions.cancel_request && f.actions.stop_timer &&
                f.actions.drop_stage);
    kin__failure failure = broken();
    for (int type = 0; type <= KIN__INPUT_RETRY_AFTER; type++) {
      kin__reflector_input in = {.type = (kin__reflector_input_type)type,
                                 .version = "1",
                                 .token = "t",
                                 .failure = &failure};
      kin__reflector_step(&f.reflector, &in, f.now_ms, &f.actions);
      kin__reflector_actions none = {0};
      assert_memory_equal(&f.actions, &none, sizeof none);
      assert_int_equal(f.reflector.state, KIN__REFLECTOR_STOPPED);
    }
  }
}

/* Any inputs in any order: the table is never broken (an assert), a request is
 * only asked for in the states that have one, and a wait always has a timer. */
static void test_random_inputs_keep_the_invariants(void **state) {
  (void)state;
  kin__random random = {99};
  const kin__failure failures[] = {broken(), too_large(),
                                   status_failure(410, "Expired"),
                                   status_failure(429, "TooManyRequests"),
                                   status_failure(500, "InternalError")};
  for (int run = 0; run < 2000; run++) {
    kin__reflector_finish(&f.reflector);
    setup_with(0);
    for (int i = 0; i < 60; i++) {
      kin__reflector_input in = {
          .type = (kin__reflector_input_type)kin__random_below(&random, 10),
          .version = "5",
          .token = kin__random_below(&random, 2) ? "t" : "",
          .failure = &failures[kin__random_below(&random, 5)]};
      if (in.type == KIN__INPUT_STOP && kin__random_below(&random, 20) != 0) {
        continue;
      }
      f.now_ms += kin__random_below(&random, 3000);
      kin__reflector_step(&f.reflector, &in, f.now_ms, &f.actions);
      bool has_request = f.reflector.state == KIN__REFLECTOR_LISTING ||
                         f.reflector.state == KIN__REFLECTOR_OPENING ||
                         f.reflector.state == KIN__REFLECTOR_VERIFYING;
      if (f.actions.request != KIN__REQUEST_NONE) {
        assert_true(has_request);
      }
      if (f.actions.start_timer) {
        assert_true(f.reflector.state == KIN__REFLECTOR_WAITING ||
                    f.reflector.state == KIN__REFLECTOR_WATCHING);
      }
    }
  }
}

/* The table, as doc/architecture.md and reflector.h have it. */
static void test_transition_table(void **state) {
  (void)state;
  for (int from = 0; from <= KIN__REFLECTOR_STOPPED; from++) {
    bool may_stop = from != KIN__REFLECTOR_STOPPED;
    assert_int_equal(
        kin__reflector_may((kin__reflector_state)from, KIN__REFLECTOR_STOPPED),
        may_stop);
    assert_false(
        kin__reflector_may((kin__reflector_state)from, KIN__REFLECTOR_IDLE));
    assert_false(
        kin__reflector_may(KIN__REFLECTOR_STOPPED, (kin__reflector_state)from));
  }
  assert_false(
      kin__reflector_may(KIN__REFLECTOR_WATCHING, KIN__REFLECTOR_LISTING));
  assert_false(
      kin__reflector_may(KIN__REFLECTOR_LISTING, KIN__REFLECTOR_OPENING));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_first_list_then_watch),
      TEST(test_watch_timeout_is_random_and_guarded),
      TEST(test_pages),
      TEST(test_relist_is_not_paged),
      TEST(test_page_size_option),
      TEST(test_expired_page_falls_back_to_a_full_list),
      TEST(test_expired_relist_falls_back_to_current),
      TEST(test_too_large_version_moves_on_at_once),
      TEST(test_watch_end_rewatches_at_once),
      TEST(test_short_watch_backs_off),
      TEST(test_silent_watch_is_verified),
      TEST(test_failed_verify_is_a_lost_position),
      TEST(test_verify_that_cannot_be_made_is_repeated),
      TEST(test_what_loses_the_position),
      TEST(test_backoff_series),
      TEST(test_retry_after_is_honoured),
      TEST(test_answer_changes_the_wait),
      TEST(test_version_follows_events),
      TEST(test_unversioned_watch_waits_for_order),
      TEST(test_stop_from_every_state),
      TEST(test_random_inputs_keep_the_invariants),
      TEST(test_transition_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
