/* SPDX-License-Identifier: MIT */
/* The end of a leader elector's run: the release of the lease, closing, and the
 * next run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/recorder.h"
#include "support/election_world.h"

#define OTHERS                                                                 \
  "{'holderIdentity':'x','leaseDurationSeconds':15,'leaseTransitions':3}"

static int set_up_release(void **state) {
  ew_set_up(state);
  election_world *w = *state;
  w->candidates[0].options.release_on_stop = true;
  return 0;
}

#define RELEASE_TEST(test)                                                     \
  cmocka_unit_test_setup_teardown(test, set_up_release, ew_tear_down)

static bool leads(election_world *w, int candidate) {
  return kin_leader_elector_is_leader(w->candidates[candidate].elector);
}

/* --- Release -------------------------------------------------------------- */

/* LE-09, TestReleaseLeaseLeases, TestReleaseMethodCallsGet: the lease is read
 * and then written without a holder, after on_stopped. */
static void test_release(void **state) {
  election_world *w = *state;
  ew_put_lease(w, "{'leaseTransitions':4}", "'labels':{'l':'1'}");
  ew_begin(w, 0);
  ew_pass(w, 100);
  w->asked[0] = '\0';
  ew_expect(&w->candidates[0], "leader(a) started ");
  assert_int_equal(kin_leader_elector_stop(w->candidates[0].elector), 0);
  script_run(&w->vh.script);
  ew_expect(&w->candidates[0], "stopped(0,led) ");
  assert_string_equal(ew_spec(w, "holderIdentity"), "a");
  ew_pass(w, 0);
  ew_expect_asked(w, "GET=200 PUT=200 ");
  ew_expect(&w->candidates[0], "leader() ");
  assert_string_equal(ew_spec(w, "holderIdentity"), "");
  assert_string_equal(ew_spec(w, "leaseDurationSeconds"), "1");
  assert_string_equal(ew_spec(w, "leaseTransitions"), "5");
  assert_string_equal(ew_spec(w, "renewTime"), ew_spec(w, "acquireTime"));
  assert_non_null(strstr(w->lease, "\"labels\":{\"l\":\"1\"}"));
}

static void write_label_before_put(election_world *w, const char *method) {
  if (strcmp(method, "PUT") == 0) {
    w->before_answer = NULL;
    ew_put_lease(w, "{'holderIdentity':'a','leaseDurationSeconds':15}",
                 "'labels':{'n':'1'}");
  }
}

/* A leader's run is stopped; `before_answer` comes between requests and answers
 * of the release. */
static void stop_leader(election_world *w,
                        void (*before_answer)(election_world *w,
                                              const char *method)) {
  ew_pass(w, 100);
  w->asked[0] = '\0';
  w->before_answer = before_answer;
  assert_int_equal(kin_leader_elector_stop(w->candidates[0].elector), 0);
  ew_pass(w, 0);
}

/* LE-09, TestReleaseRetriesOnConflict: at once. */
static void test_release_conflict(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  stop_leader(w, write_label_before_put);
  ew_expect_asked(w, "GET=200 PUT=409 GET=200 PUT=200 ");
  assert_string_equal(ew_spec(w, "holderIdentity"), "");
}

static void refuse_each_put(election_world *w, const char *method) {
  w->refuse = strcmp(method, "PUT") == 0 ? 409 : 0;
}

static int count_writes(const election_world *w) {
  int count = 0;
  for (const char *at = w->asked; (at = strstr(at, "PUT")) != NULL; at++) {
    count++;
  }
  return count;
}

/* LE-09: a release that meets a conflict each time waits longer and longer, and
 * ends with the renew deadline. */
static void test_release_of_many_conflicts(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  ew_expect(&w->candidates[0], "leader(a) started ");
  w->asked[0] = '\0';
  w->before_answer = refuse_each_put;
  assert_int_equal(
      kin_leader_elector_close(w->candidates[0].elector, NULL, NULL), 0);
  ew_pass(w, 0);
  ew_expect_asked(w, "GET=200 PUT=409 GET=200 PUT=409 ");
  ew_pass(w, 10);
  ew_expect_asked(w, "GET=200 PUT=409 ");
  ew_pass(w, 10);
  ew_expect_asked(w, "");
  ew_pass(w, 9970);
  assert_in_range(count_writes(w), 5, 9);
  ew_expect(&w->candidates[0], "stopped(0,led) ");
  ew_pass(w, 10);
  ew_expect(&w->candidates[0], "closed ");
  w->before_answer = NULL;
}

/* LE-09: also in the release of a later run the first repetition comes at
 * once. */
static void test_each_release_repeats_at_once(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  for (int run = 0; run < 2; run++) {
    stop_leader(w, refuse_each_put);
    ew_expect_asked(w, "GET=200 PUT=409 GET=200 PUT=409 ");
    w->before_answer = NULL;
    ew_pass(w, 100);
    ew_expect_asked(w, "GET=200 PUT=200 ");
    if (run == 0) {
      assert_int_equal(kin_leader_elector_start(w->candidates[0].elector), 0);
    }
  }
}

static void work_for_long(election_world *w, ew_candidate *candidate) {
  if (strstr(candidate->told, "stopped") != NULL) {
    w->then = NULL;
    w->vh.script.now_ns += UINT64_C(60000000000);
  }
}

/* LE-09: the time of a release begins when on_stopped returns. */
static void test_release_behind_a_long_callback(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  w->asked[0] = '\0';
  w->then = work_for_long;
  assert_int_equal(kin_leader_elector_stop(w->candidates[0].elector), 0);
  ew_pass(w, 100);
  ew_expect_asked(w, "GET=200 PUT=200 ");
  assert_string_equal(ew_spec(w, "holderIdentity"), "");
}

/* LE-09: a lease that is another's by now is left alone, also one that is
 * gone, or that cannot be read. */
static void test_release_of_nothing(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    election_world w;
    ew_init(&w, 0);
    w.candidates[0].options.release_on_stop = true;
    ew_begin(&w, 0);
    ew_pass(&w, 100);
    w.asked[0] = '\0';
    assert_int_equal(kin_leader_elector_stop(w.candidates[0].elector), 0);
    if (how == 0) {
      ew_put_lease(&w, OTHERS, "");
    } else if (how == 1) {
      w.lease[0] = '\0';
    } else {
      w.refuse = 403;
    }
    ew_pass(&w, 0);
    ew_expect_asked(&w, how == 0   ? "GET=200 "
                        : how == 1 ? "GET=404 "
                                   : "GET=403 ");
    ew_finish(&w);
  }
}

/* LE-09: a run that held nothing has nothing to release, whatever the run before
 * it held. */
static void test_no_release_of_another_run(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  ew_put_lease(w, OTHERS, "");
  ew_pass(w, 2000);
  ew_expect(&w->candidates[0],
            "leader(a) started leader(x) stopped(-5060,led) ");
  assert_int_equal(kin_leader_elector_start(w->candidates[0].elector), 0);
  ew_pass(w, 100);
  w->asked[0] = '\0';
  assert_int_equal(kin_leader_elector_stop(w->candidates[0].elector), 0);
  ew_pass(w, 100);
  ew_expect_asked(w, "");
  ew_expect(&w->candidates[0], "stopped(0) ");
}

/* LE-08, LE-09, TestReleaseOnCancellation_Leases: the close callback comes after
 * the release. A renewal that is in flight is cancelled; if the server carries
 * it out all the same, the release still succeeds. */
static void test_release_on_close(void **state) {
  (void)state;
  for (int zombie = 0; zombie < 2; zombie++) {
    election_world w;
    ew_init(&w, 0);
    w.candidates[0].options.release_on_stop = true;
    ew_begin(&w, 0);
    ew_pass(&w, 100);
    w.is_silent = true;
    ew_pass(&w, 2000);
    assert_int_equal(script_open_requests(&w.vh.script), 1);
    assert_int_equal(
        kin_leader_elector_close(w.candidates[0].elector, NULL, NULL), 0);
    assert_int_equal(
        kin_leader_elector_close(w.candidates[0].elector, NULL, NULL),
        KIN_EALREADY);
    assert_int_equal(kin_leader_elector_start(w.candidates[0].elector),
                     KIN_ECLOSED);
    if (zombie == 1) {
      ew_put_lease(&w, "{'holderIdentity':'a','leaseDurationSeconds':15}", "");
    }
    script_run(&w.vh.script);
    ew_expect(&w.candidates[0], "leader(a) started stopped(0,led) ");
    w.is_silent = false;
    w.asked[0] = '\0';
    ew_pass(&w, 0);
    ew_expect_asked(&w, "GET=200 PUT=200 ");
    ew_expect(&w.candidates[0], "leader() closed ");
    assert_string_equal(ew_spec(&w, "holderIdentity"), "");
    ew_finish(&w);
  }
}

/* LE-09: a silent server holds the close up for the renew deadline. */
static void test_release_is_bounded(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  w->is_silent = true;
  assert_int_equal(
      kin_leader_elector_close(w->candidates[0].elector, NULL, NULL), 0);
  ew_pass(w, 4990);
  ew_expect(&w->candidates[0], "leader(a) started stopped(0,led) ");
  ew_pass(w, 5010); /* the request's own time is half the deadline */
  assert_int_equal(w->candidates[0].closed, 1);
}

/* A candidate whose write may have arrived releases as well. */
static void test_release_of_a_candidate(void **state) {
  election_world *w = *state;
  ew_put_lease(w, "{}", "");
  ew_begin(w, 0);
  assert_true(ew_answer(w)); /* GET; the PUT is in flight */
  ew_put_lease(w, "{'holderIdentity':'a','leaseDurationSeconds':15}", "");
  assert_int_equal(kin_leader_elector_stop(w->candidates[0].elector), 0);
  w->asked[0] = '\0';
  ew_pass(w, 0);
  ew_expect_asked(w, "GET=200 PUT=200 ");
  assert_string_equal(ew_spec(w, "holderIdentity"), "");
}

/* LE-09: the release overtakes the candidate's write and finds no lease of ours.
 * The server carries the write out later, and the lease stays held. */
static void test_release_overtakes_a_write(void **state) {
  election_world *w = *state;
  ew_put_lease(w, "{}", "");
  ew_begin(w, 0);
  assert_true(ew_answer(w)); /* GET; the PUT is in flight */
  assert_int_equal(kin_leader_elector_stop(w->candidates[0].elector), 0);
  w->asked[0] = '\0';
  ew_pass(w, 0);
  ew_expect_asked(w, "GET=200 ");
  ew_put_lease(w, "{'holderIdentity':'a','leaseDurationSeconds':15}", "");
  ew_pass(w, 20000);
  ew_expect_asked(w, "");
  assert_string_equal(ew_spec(w, "holderIdentity"), "a");
}

/* The write of a candidate was carried out, but answered with 503 and a
 * Retry-After. The request is sent again and meets its own write. */
static void test_release_of_a_repeated_write(void **state) {
  static const int refusals[] = {0, 403}; /* 0: the conflict */
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    election_world w;
    ew_init(&w, 0);
    w.candidates[0].options.release_on_stop = true;
    ew_put_lease(&w, "{}", "");
    ew_begin(&w, 0);
    assert_true(ew_answer(&w)); /* GET; the PUT is in flight */
    w.refuse = 503;
    w.then_write = true;
    assert_true(ew_answer(&w));
    w.then_write = false;
    w.refuse = refusals[i];
    script_advance(&w.vh.script, 1000);
    ew_pass(&w, 0);
    ew_expect_asked(&w, i == 0 ? "GET=200 PUT=503 PUT=409 "
                               : "GET=200 PUT=503 PUT=403 ");
    assert_string_equal(ew_spec(&w, "holderIdentity"), "a");
    assert_int_equal(kin_leader_elector_stop(w.candidates[0].elector), 0);
    ew_pass(&w, 0);
    ew_expect_asked(&w, "GET=200 PUT=200 ");
    assert_string_equal(ew_spec(&w, "holderIdentity"), "");
    ew_finish(&w);
  }
}

/* A client that closes sends nothing; the run ends all the same. */
static void test_election_client_closes(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    election_world w;
    ew_init(&w, 0);
    w.candidates[0].options.release_on_stop = true;
    ew_begin(&w, 0);
    ew_pass(&w, 100);
    w.is_silent = true;
    if (how == 1) {
      ew_pass(&w, 2000); /* a request is in flight */
    } else if (how == 2) {
      assert_int_equal(
          kin_leader_elector_close(w.candidates[0].elector, NULL, NULL), 0);
      script_run(&w.vh.script); /* the release is in flight */
    }
    vh_close(&w.vh);
    assert_false(leads(&w, 0));
    script_run(&w.vh.script);
    assert_true(w.vh.is_closed);
    ew_expect(&w.candidates[0], how == 2
                                    ? "leader(a) started stopped(0,led) closed "
                                    : "leader(a) started stopped(-5003,led) "
                                      "closed ");
    assert_string_equal(ew_spec(&w, "holderIdentity"), "a");
    ew_finish(&w);
  }
}

/* LE-08: the client closes while the elector is closing. The recorder is gone
 * before on_stopped, and gets no Event. */
static void test_election_client_closes_behind_a_close(void **state) {
  (void)state;
  kin_event_recorder_options options = KIN_EVENT_RECORDER_OPTIONS_INIT;
  options.controller = "c";
  for (int releases = 0; releases < 2; releases++) {
    election_world w;
    kin_event_recorder *recorder;
    ew_init(&w, 0);
    assert_int_equal(kin__event_recorder_open(&recorder, &w.vh.host, &options),
                     0);
    w.candidates[0].options.recorder = recorder;
    w.candidates[0].options.release_on_stop = releases;
    ew_begin(&w, 0);
    ew_pass(&w, 100);
    w.is_silent = true;
    ew_pass(&w, 2000); /* a renewal is in flight */
    assert_int_equal(
        kin_leader_elector_close(w.candidates[0].elector, NULL, NULL), 0);
    vh_close(&w.vh);
    script_run(&w.vh.script);
    assert_true(w.vh.is_closed);
    ew_expect(&w.candidates[0], "leader(a) started stopped(0,led) closed ");
    ew_finish(&w);
  }
}

static void refuse_writes(election_world *w, const char *method) {
  w->refuse = strcmp(method, "PUT") == 0 ? 429 : 0;
}

/* LE-09: a candidate that has seen its own lease, from a process before it for
 * example, and could not renew it, releases it all the same. */
static void test_release_of_a_lease_that_was_found(void **state) {
  election_world *w = *state;
  ew_put_lease(w, "{'holderIdentity':'a','leaseDurationSeconds':15}", "");
  w->before_answer = refuse_writes;
  ew_begin(w, 0);
  ew_pass(w, 100);
  ew_expect(&w->candidates[0], "error(429) leader(a) ");
  w->before_answer = NULL;
  assert_int_equal(kin_leader_elector_stop(w->candidates[0].elector), 0);
  ew_pass(w, 100);
  ew_expect(&w->candidates[0], "stopped(0) leader() ");
  assert_string_equal(ew_spec(w, "holderIdentity"), "");
}

/* Whatever allocation fails, a program that heard of a holder hears that nobody
 * holds the lease any more. */
static bool lose_the_holder(size_t fail_at) {
  election_world w;
  ew_init(&w, fail_at);
  ew_put_lease(&w, "{'holderIdentity':'x','leaseDurationSeconds':15}", "");
  if (ew_open(&w, 0) == 0) {
    assert_int_equal(kin_leader_elector_start(w.candidates[0].elector), 0);
    ew_pass(&w, 100);
    w.before_answer = refuse_writes;
    ew_put_lease(&w, "{'leaseDurationSeconds':15}", "");
    ew_pass(&w, 10000);
    w.before_answer = NULL;
    const char *told = w.candidates[0].told;
    const char *held = strstr(told, "leader(x) ");
    assert_true(held == NULL || strstr(held, "leader() ") != NULL);
  }
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  ew_finish(&w);
  return has_failed;
}

/* LE-08. */
static void test_holder_is_lost_without_memory(void **state) {
  (void)state;
  fail_alloc_sweep(lose_the_holder, 10);
}

/* LE-08: the message of an end is one line, whatever a holder is called. */
static void test_holder_of_two_lines(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  ew_put_lease(w, "{'holderIdentity':'x\\ny','leaseDurationSeconds':15}", "");
  ew_pass(w, 2000);
  const char *message = w->candidates[0].message;
  assert_non_null(strstr(message, "the lease is held by x"));
  assert_null(strchr(message, '\n'));
}

/* --- Runs ----------------------------------------------------------------- */

static void start_again(election_world *w, ew_candidate *candidate) {
  (void)w;
  assert_int_equal(kin_leader_elector_start(candidate->elector), 0);
  assert_int_equal(kin_leader_elector_start(candidate->elector), KIN_EALREADY);
}

/* LE-08: each run ends with one on_stopped; the next one begins after the
 * release of the last. */
static void test_run_again(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  assert_int_equal(kin_leader_elector_start(w->candidates[0].elector),
                   KIN_EALREADY);
  ew_pass(w, 100);
  w->then = start_again;
  w->at_call = 3; /* on_stopped */
  w->asked[0] = '\0';
  assert_int_equal(kin_leader_elector_stop(w->candidates[0].elector), 0);
  ew_pass(w, 100);
  ew_expect(&w->candidates[0],
            "leader(a) started stopped(0,led) leader() leader(a) started ");
  ew_expect_asked(w, "GET=200 PUT=200 GET=200 PUT=200 PUT=200 ");
  assert_true(leads(w, 0));
  w->then = NULL;
}

static void start_twice(election_world *w, ew_candidate *candidate) {
  (void)w;
  assert_int_equal(kin_leader_elector_start(candidate->elector), KIN_EALREADY);
}

/* LE-08: a run that waits for the release is one run, also at the moment at
 * which the release has failed. The end of that run releases the lease again. */
static void test_start_in_the_error_of_a_release(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  ew_expect(&w->candidates[0], "leader(a) started ");
  kin_leader_elector *elector = w->candidates[0].elector;
  for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
    assert_int_equal(kin_leader_elector_stop(elector), 0);
    assert_int_equal(kin_leader_elector_start(elector), 0);
    if (is_stopped) {
      assert_int_equal(kin_leader_elector_stop(elector), 0);
    }
    w->refuse = 500;
    w->then = start_twice;
    w->at_call = w->calls + 2; /* on_error */
    ew_pass(w, 100);
    ew_expect(&w->candidates[0],
              is_stopped ? "stopped(0,led) error(500) stopped(0) leader() "
                         : "stopped(0,led) error(500) started ");
  }
  w->then = NULL;
}

/* LE-08: a run that is stopped before it could begin ends all the same. */
static void test_stop_before_the_begin(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  ew_expect(&w->candidates[0], "leader(a) started ");
  kin_leader_elector *elector = w->candidates[0].elector;
  assert_int_equal(kin_leader_elector_stop(elector), 0);
  assert_int_equal(kin_leader_elector_start(elector), 0);
  assert_int_equal(kin_leader_elector_stop(elector), 0);
  assert_int_equal(kin_leader_elector_stop(elector), KIN_EALREADY);
  ew_pass(w, 100);
  ew_expect(&w->candidates[0], "stopped(0,led) leader() stopped(0) ");
  /* Never led, and nothing sent: LE-08 all the same. */
  w->asked[0] = '\0';
  assert_int_equal(kin_leader_elector_start(elector), 0);
  assert_int_equal(kin_leader_elector_stop(elector), 0);
  ew_pass(w, 100);
  ew_expect(&w->candidates[0], "stopped(0) ");
  ew_expect_asked(w, "");
}

static void stop(election_world *w, ew_candidate *candidate) {
  (void)w;
  assert_int_equal(kin_leader_elector_stop(candidate->elector), 0);
}

/* LE-08: a run that is stopped in on_new_leader, when it has the lease, does not
 * tell that it leads. */
static void test_stop_in_new_leader(void **state) {
  election_world *w = *state;
  w->then = stop;
  w->at_call = 1;
  ew_begin(w, 0);
  ew_pass(w, 1000);
  ew_expect(&w->candidates[0], "leader(a) stopped(0) leader() ");
  w->then = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RELEASE_TEST(test_release),
      RELEASE_TEST(test_release_conflict),
      RELEASE_TEST(test_release_of_many_conflicts),
      RELEASE_TEST(test_each_release_repeats_at_once),
      RELEASE_TEST(test_release_behind_a_long_callback),
      cmocka_unit_test(test_release_of_nothing),
      RELEASE_TEST(test_no_release_of_another_run),
      cmocka_unit_test(test_release_on_close),
      RELEASE_TEST(test_release_is_bounded),
      RELEASE_TEST(test_release_of_a_candidate),
      RELEASE_TEST(test_release_overtakes_a_write),
      cmocka_unit_test(test_release_of_a_repeated_write),
      RELEASE_TEST(test_release_of_a_lease_that_was_found),
      cmocka_unit_test(test_election_client_closes),
      cmocka_unit_test(test_election_client_closes_behind_a_close),
      cmocka_unit_test(test_holder_is_lost_without_memory),
      RELEASE_TEST(test_holder_of_two_lines),
      RELEASE_TEST(test_run_again),
      RELEASE_TEST(test_start_in_the_error_of_a_release),
      RELEASE_TEST(test_stop_before_the_begin),
      RELEASE_TEST(test_stop_in_new_leader),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
