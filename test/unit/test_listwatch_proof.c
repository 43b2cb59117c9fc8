/* SPDX-License-Identifier: MIT */

/* The listwatch as a function, when it is asked whether it is up to date and
 * nothing comes: what proves that nothing was left up to the version in
 * question, and what does not. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

/* Up to the watch that follows a list at the target, on connection 5. */
static void open_after_proof(uint64_t watch_connection) {
  lw_assert_proof("20");
  lw_page_on(5, "21");
  lw_assert_watch("10");
  assert_int_equal(lw.actions.request.timeout_s, 3);
  lw_head_on(watch_connection);
}

static void begin_proof(uint64_t watch_connection) {
  lw_begin(0);
  lw_list_and_watch("10");
  lw_verify("");
  lw_assert_verify("");
  lw_page_on(4, "20");
  open_after_proof(watch_connection);
}

/* No bookmark comes where all is quiet; the position stays. */
static void test_nothing_was_left(void **state) {
  (void)state;
  begin_proof(5);
  assert_open();
  lw.now_ms += 3000;
  lw_watch_ends(3000);
  assert_verdict(0);
  assert_string_equal(lw.listwatch.verify_target, "20");
  assert_string_equal(lw.listwatch.position.version, "10");
  assert_false(lw.actions.report);
  lw_assert_watch("10");
  assert_in_range(lw.actions.request.timeout_s, 300, 599);
}

/* What came before it fell silent is no matter. */
static void test_little_was_left(void **state) {
  (void)state;
  begin_proof(5);
  lw_saw(KIN__DECODED_MODIFIED, "15");
  lw.now_ms += 3000;
  lw_watch_ends(1000);
  assert_verdict(0);
  lw_assert_watch("15");
}

typedef struct flaw {
  uint64_t connection;
  uint64_t age_ms;
  uint64_t quiet_ms;
  bool is_broken;
  bool is_ended_here;
} flaw;

/* Another server may have answered; one that was not quiet may not have been
 * done; one that ended early, or broke, has other reasons. It is tried once
 * more, then the position is lost. */
static void test_no_proof(void **state) {
  (void)state;
  static const flaw flaws[] = {
      {6, 3000, 3000, false, false}, {0, 3000, 3000, false, false},
      {5, 3000, 999, false, false},  {5, 2400, 2400, false, false},
      {5, 3000, 3000, true, false},  {5, 8000, 8000, false, true},
  };
  for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; i++) {
    const flaw *f = &flaws[i];
    begin_proof(f->connection);
    for (int n = 0; n < 2; n++) {
      assert_open();
      if (n > 0) {
        open_after_proof(f->connection);
      }
      lw.now_ms += f->age_ms;
      if (f->is_ended_here) {
        lw_input(KIN__INPUT_TIMER);
      } else if (f->is_broken) {
        lw_fail(lw_broken());
      } else {
        lw_watch_ends(f->quiet_ms);
      }
    }
    assert_verdict(KIN_EGONE);
    assert_true(lw_has_lost_verify());
    lw_assert_list("", 500);
  }
}

/* The second one proves it. */
static void test_second_proof(void **state) {
  (void)state;
  begin_proof(6);
  lw.now_ms += 3000;
  lw_watch_ends(3000);
  assert_open();
  open_after_proof(5);
  lw.now_ms += 3000;
  lw_watch_ends(3000);
  assert_verdict(0);
}

/* A list whose connection is not known, or that is not at the version, proves
 * nothing; nor does one that is refused. */
static void test_no_proving_list(void **state) {
  (void)state;
  const kin__failure refusals[] = {lw_too_large(), lw_status(400, "BadRequest"),
                                   lw_status(422, "Invalid"),
                                   lw_status(403, "Forbidden")};
  for (size_t i = 0; i < 2 + sizeof refusals / sizeof refusals[0]; i++) {
    lw_begin(0);
    lw_list_and_watch("10");
    lw_verify("");
    lw_page_on(5, "20");
    for (int n = 0; n < 2; n++) {
      lw_assert_proof("20");
      if (i < 2) {
        lw_page_on(i == 0 ? 0 : 5, i == 0 ? "20" : "19");
      } else {
        lw_fail(refusals[i - 2]);
      }
      assert_open();
      assert_false(lw.actions.report);
      lw_assert_watch("10");
      lw_head_on(5);
      lw.now_ms += 3000;
      lw_watch_ends(3000);
    }
    assert_verdict(KIN_EGONE);
  }
}

/* The server's trouble is waited for, and the list made again. */
static void test_proof_is_retried(void **state) {
  (void)state;
  lw_list_and_watch("10");
  lw_verify("");
  lw_page_on(5, "20");
  lw_fail(lw_status(500, ""));
  lw_assert_wait(KIN__LISTWATCH_VERIFYING, 800);
  lw_input(KIN__INPUT_TIMER);
  open_after_proof(5);
  lw.now_ms += 3000;
  lw_watch_ends(3000);
  assert_verdict(0);
  /* It is over: an ordinary watch proves nothing, and is none. */
  lw_head_on(5);
  lw.now_ms += 300000;
  lw_watch_ends(300000);
  assert_int_equal(lw_verdict(), LW_NO_VERDICT);
  lw_assert_verify("10");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lw_setup, lw_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_nothing_was_left), TEST(test_little_was_left),
      TEST(test_no_proof),         TEST(test_second_proof),
      TEST(test_no_proving_list),  TEST(test_proof_is_retried),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
