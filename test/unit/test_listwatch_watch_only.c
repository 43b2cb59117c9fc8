/* SPDX-License-Identifier: MIT */

/* A listwatch that only watches, as a function. Proves TW-01 to TW-04. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/str.h"
#include "listwatch/listwatch.h"

typedef struct fixture {
  kin__listwatch listwatch;
  kin__random random;
  kin__listwatch_actions actions;
  uint64_t now_ms;
} fixture;

static fixture f;

static void input(kin__listwatch_input_type type) {
  kin__listwatch_input in = {.type = type};
  kin__listwatch_step(&f.listwatch, &in, f.now_ms, &f.actions);
}

static void failed_as(kin__listwatch_input_type type,
                      const kin__failure *failure) {
  kin__listwatch_input in = {.type = type, .failure = failure};
  kin__listwatch_step(&f.listwatch, &in, f.now_ms, &f.actions);
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

static void drop(void) {
  const kin__failure failure = {
      .code = KIN_EEOF, .error_class = KIN_CLASS_CONNECT, .retry_after_s = -1};
  failed_as(KIN__INPUT_FAILED, &failure);
}

static void assert_watch(const char *version) {
  assert_int_equal(f.listwatch.state, KIN__LISTWATCH_OPENING);
  assert_int_equal(f.actions.request.kind, KIN__REQUEST_WATCH);
  assert_string_equal(f.actions.request.version, version);
}

static void watch_only(uint32_t timeout_s, bool is_single) {
  f = (fixture){.now_ms = 1000000, .random = {7}};
  kin__listwatch_options options = {.mode = KIN__WATCH_ONLY,
                                    .watch_only = {.version = "10",
                                                   .timeout_s = timeout_s,
                                                   .is_single = is_single}};
  kin__listwatch_init(&f.listwatch, &options, kin__default_allocator(),
                      &f.random, f.now_ms);
  input(KIN__INPUT_START);
  assert_watch("10");
  assert_int_equal(f.actions.request.timeout_s, timeout_s);
}

static void assert_wait(uint64_t delay_ms) {
  assert_int_equal(f.listwatch.state, KIN__LISTWATCH_WAITING);
  assert_int_equal(f.listwatch.in.waiting.after, KIN__LISTWATCH_OPENING);
  assert_true(f.actions.start_timer);
  assert_int_equal(f.actions.timer_ms, delay_ms);
}

/* TW-01, TW-02: no list, no verification, no backoff; a second between two
 * beginnings. */
static void test_watch_only_rewatches(void **state) {
  (void)state;
  watch_only(0, false);
  input(KIN__INPUT_HEAD);
  assert_false(f.actions.start_timer);
  f.now_ms += 300;
  input(KIN__INPUT_WATCH_ENDED);
  assert_false(f.actions.report);
  assert_wait(700);
  f.now_ms += 700;
  input(KIN__INPUT_TIMER);
  assert_watch("10");
  for (int i = 0; i < 5; i++) {
    drop();
    assert_true(f.actions.report);
    assert_wait(1000);
    f.now_ms += 1000;
    input(KIN__INPUT_TIMER);
    assert_watch("10");
  }
  /* A request that hung is no storm. */
  f.now_ms += 10000;
  drop();
  assert_watch("10");
  input(KIN__INPUT_HEAD);
  kin__listwatch_saw(&f.listwatch, KIN__DECODED_ADDED, kin__cstr("11"));
  f.now_ms += 1000;
  input(KIN__INPUT_WATCH_ENDED);
  assert_watch("11");
  kin__failure failure = status_failure(429, "TooManyRequests");
  failure.retry_after_s = 5;
  failed_as(KIN__INPUT_FAILED, &failure);
  assert_wait(5000);
}

static void test_watch_only_deadline(void **state) {
  (void)state;
  watch_only(60, false);
  input(KIN__INPUT_HEAD);
  assert_int_equal(f.actions.timer_ms, 90000);
  f.now_ms += 90000;
  input(KIN__INPUT_TIMER);
  assert_true(f.actions.cancel_request);
  assert_watch("10");
}

/* TW-03, TW-04: what ends it, in answer to the request (r), as an ERROR event
 * (e) and by a body that cannot be read (b). */
static void test_watch_only_ends(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *reason;
    int code;
    const char *ends;
  } rows[] = {
      {401, "Unauthorized", KIN_ESTATUS, "r"},
      {403, "Forbidden", KIN_ESTATUS, "r"},
      {410, "Expired", KIN_EGONE, "eb"},
      {410, "Gone", KIN_EGONE, "eb"},
      {410, "Odd", KIN_ESTATUS, "eb"},
      {500, "Expired", KIN_EGONE, "eb"},
      {404, "NotFound", KIN_ESTATUS, ""},
      {429, "TooManyRequests", KIN_ESTATUS, ""},
      {500, "InternalError", KIN_ESTATUS, ""},
      {504, "Timeout", KIN_ESTATUS, ""},
      {666, "", KIN_ESTATUS, ""},
      {0, "", KIN_EGONE, "r"}, /* another cluster */
      {0, "", KIN_EUNEXPECTED, "eb"},
      {0, "", KIN_EKEY, "eb"},
      {0, "", KIN_EINVAL, "eb"},
      {0, "", KIN_EJSON, ""},
      {0, "", KIN_ENOMEM, ""},
      {0, "", KIN_EEOF, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (const char *how = "reb"; *how != '\0'; how++) {
      kin__failure failure = status_failure(rows[i].status, rows[i].reason);
      failure.code = rows[i].code;
      watch_only(0, false);
      if (*how != 'r') {
        input(KIN__INPUT_HEAD);
      }
      failed_as(*how == 'e' ? KIN__INPUT_ERROR_EVENT : KIN__INPUT_FAILED,
                &failure);
      bool is_over = strchr(rows[i].ends, *how) != NULL;
      assert_int_equal(f.actions.ended, is_over);
      assert_int_equal(f.actions.report, !is_over);
      assert_int_equal(f.actions.cancel_request, *how == 'e');
      if (is_over) {
        assert_int_equal(f.listwatch.state, KIN__LISTWATCH_STOPPED);
      } else {
        assert_wait(1000);
      }
    }
  }
}

/* Once: whatever ends it is the end. */
static void test_watch_only_single(void **state) {
  (void)state;
  for (int how = 0; how < 4; how++) {
    watch_only(60, true);
    if (how > 0) {
      input(KIN__INPUT_HEAD);
    }
    f.now_ms += 90000;
    switch (how) {
    case 2:
      input(KIN__INPUT_WATCH_ENDED);
      break;
    case 3:
      input(KIN__INPUT_TIMER);
      break;
    default:
      drop();
    }
    assert_true(f.actions.ended);
    assert_int_equal(f.actions.cancel_request, how == 3);
    assert_int_equal(f.listwatch.state, KIN__LISTWATCH_STOPPED);
  }
}

/* Any inputs in any order: it never lists, waits with a timer, and is over for
 * good when it says so. */
static void test_watch_only_random_inputs(void **state) {
  (void)state;
  kin__random random = {99};
  kin__failure misplaced = status_failure(0, "");
  misplaced.code = KIN_EUNEXPECTED;
  const kin__failure failures[] = {status_failure(410, "Expired"),
                                   status_failure(429, "TooManyRequests"),
                                   status_failure(500, "InternalError"),
                                   status_failure(403, "Forbidden"), misplaced};
  for (int run = 0; run < 2000; run++) {
    watch_only(run % 2 == 0 ? 0 : 60, run % 8 == 0);
    bool has_ended = false;
    for (int i = 0; i < 60; i++) {
      kin__listwatch_input in = {
          .type = (kin__listwatch_input_type)kin__random_below(
              &random, KIN__INPUT_TYPES),
          .version = "5",
          .token = "",
          .failure = &failures[kin__random_below(&random, 5)]};
      if (in.type == KIN__INPUT_STOP && kin__random_below(&random, 20) != 0) {
        continue;
      }
      f.now_ms += kin__random_below(&random, 3000);
      kin__listwatch_step(&f.listwatch, &in, f.now_ms, &f.actions);
      kin__listwatch_state now = f.listwatch.state;
      assert_false(has_ended && f.actions.ended);
      has_ended = has_ended || f.actions.ended;
      assert_true(!has_ended || now == KIN__LISTWATCH_STOPPED);
      assert_true(f.actions.request.kind == KIN__REQUEST_NONE ||
                  f.actions.request.kind == KIN__REQUEST_WATCH);
      assert_int_equal(f.actions.request.kind == KIN__REQUEST_WATCH,
                       now == KIN__LISTWATCH_OPENING &&
                           f.actions.request.kind != KIN__REQUEST_NONE);
      assert_false(f.actions.apply_stage);
      assert_string_equal(f.listwatch.position.version, "10");
    }
  }
  kin__listwatch_finish(&f.listwatch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_watch_only_rewatches),
      cmocka_unit_test(test_watch_only_deadline),
      cmocka_unit_test(test_watch_only_ends),
      cmocka_unit_test(test_watch_only_single),
      cmocka_unit_test(test_watch_only_random_inputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
