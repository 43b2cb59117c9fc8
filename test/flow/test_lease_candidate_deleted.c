/* SPDX-License-Identifier: MIT */
/* A lease candidate whose object is deleted: when the object is made again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "election/lease_candidate.h"
#include "support/candidate_world.h"

#define OLD "'renewTime':'2001-01-01T00:00:00.000000Z'"

#define WORLD_TEST(test)                                                       \
  cmocka_unit_test_setup_teardown(test, lw_set_up, lw_tear_down)

/* LE-12: a deleted object is made again at once. */
static void test_candidate_deleted(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  for (int i = 0; i < 3; i++) {
    lw_pass(w, LW_RENEW_MS - 100);
    lw_pass(w, 200);
    lw_expect_asked(w, "PUT=200 ");
    lw_delete(w);
    lw_pass(w, 0);
    lw_expect_asked(w, "POST=201 ");
  }
  lw_expect(w, "");
  assert_string_equal(w->vh.text, "");
}

static void ping(candidate_world *w, int second) {
  char spec[128];
  snprintf(spec, sizeof spec, "{'pingTime':'2002-01-01T00:00:%02dZ'," OLD "}",
           second);
  lw_put(w, spec, "");
  lw_pass(w, 0);
  lw_expect_asked(w, "PUT=200 ");
}

/* LE-12: a program that deletes each new object. From the second deletion on
 * the creations wait: 100 ms, then twice as long each time, up to 30 s. A ping
 * is answered at once, and changes no wait. Five minutes without a deletion end
 * the row. */
static void test_candidate_deleted_early(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i <= round; i++) { /* the first one is old in round 1 */
      lw_delete(w);
      lw_pass(w, 0);
      lw_expect_asked(w, "POST=201 ");
    }
    uint64_t wait_ms = 100;
    for (int i = 0; i < 12; i++) {
      ping(w, 20 * round + i);
      lw_delete(w);
      lw_pass(w, wait_ms - 10);
      lw_expect_asked(w, "");
      lw_pass(w, 10);
      lw_expect_asked(w, "POST=201 ");
      wait_ms = wait_ms < 15000 ? 2 * wait_ms : 30000;
      w->event_count = 0;
    }
    assert_int_equal(vh_count_logged(&w->vh, "W lease candidate: n/A_1 was "),
                     4);
    w->vh.text[0] = '\0';
    lw_pass(w, LW_RENEW_MS + 100);
    lw_expect_asked(w, "PUT=200 ");
  }
  lw_expect(w, "");
}

/* LE-12: the same for creations whose answers are lost. A deletion does not
 * shorten the wait after a failure. */
static void test_lost_creation_deleted(void **state) {
  candidate_world *w = *state;
  w->then_write = true;
  assert_int_equal(lw_open(w), 0);
  for (int i = 0; i < 5; i++) {
    uint64_t wait_ms = 100u << i;
    w->refuse = 500;
    lw_pass(w, i == 0 ? 0 : 10);
    lw_expect_asked(w, "POST=500 ");
    lw_expect(w, "error(500) ");
    assert_int_equal(w->last.retry_in_ms, wait_ms);
    lw_delete(w);
    lw_pass(w, wait_ms - 10);
    lw_expect_asked(w, "");
  }
}

static void delete_first(candidate_world *w, const char *method) {
  (void)method;
  w->before_write = NULL;
  lw_delete(w);
}

/* LE-12: the object is deleted first. */
static void test_deleted_first(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  w->before_write = delete_first;
  lw_pass(w, LW_RENEW_MS);
  lw_expect_asked(w, "PUT=404 POST=201 ");
  lw_expect(w, "");
}

/* LE-12: the event of a deletion comes before the answer to the write that was
 * before the deletion. */
static void test_deleted_before_the_answer(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  w->is_silent = true;
  lw_pass(w, LW_RENEW_MS + 1000);
  lw_delete(w);
  lw_pass(w, 100);
  script_request *request = script_expect(&w->vh.script, LW_PATH "/A_1?");
  assert_true(script_request_head(request, 200));
  assert_true(script_request_body(request, "{}", 2));
  script_request_end(request);
  w->is_silent = false;
  lw_pass(w, 0);
  lw_expect_asked(w, "POST=201 ");
}

/* The watch falls silent, and does not tell that the object is deleted. */
static void lose_unseen(candidate_world *w) {
  lw_open_written(w);
  w->holds_events = true;
  lw_delete(w);
  lw_pass(w, LW_RENEW_MS + 200);
  lw_expect_asked(w, "PUT=404 POST=201 ");
}

/* LE-12: a watch that does not tell of deletions. The update that finds no
 * object leads to a creation, also when the new object is deleted. */
static void test_deletions_without_news(void **state) {
  candidate_world *w = *state;
  lose_unseen(w);
  for (int i = 0; i < 2; i++) {
    lw_delete(w);
    lw_pass(w, LW_RENEW_MS + 200);
    lw_expect_asked(w, "POST=201 ");
  }
  lw_expect(w, "");
  w->holds_events = false;
  lw_pass(w, 1000);
  w->asked[0] = '\0';
  lw_pass(w, LW_RENEW_MS);
  lw_expect_asked(w, "PUT=200 ");
  lw_expect(w, "");
}

/* LE-12: the object that was made again is there, and the watch does not say so.
 * Neither a creation nor an update can succeed, which is told. */
static void test_creation_without_news(void **state) {
  candidate_world *w = *state;
  lose_unseen(w);
  lw_pass(w, LW_RENEW_MS + 1600);
  lw_expect_asked(w, "POST=409 PUT=409 PUT=409 PUT=409 PUT=409 ");
  lw_expect(w, "error(409) ");
  assert_true(kin_lease_candidate_age_ms(w->candidate) > LW_RENEW_MS);
  lw_delete(w);
  lw_pass(w, 10000);
  lw_expect_asked(w, "PUT=404 POST=201 ");
  w->told[0] = '\0';
  w->holds_events = false;
  lw_pass(w, LW_RENEW_MS + 1000);
  assert_non_null(strstr(w->asked, "PUT=200 "));
  lw_expect(w, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(test_candidate_deleted),
      WORLD_TEST(test_candidate_deleted_early),
      WORLD_TEST(test_lost_creation_deleted),
      WORLD_TEST(test_deleted_first),
      WORLD_TEST(test_deleted_before_the_answer),
      WORLD_TEST(test_deletions_without_news),
      WORLD_TEST(test_creation_without_news),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
