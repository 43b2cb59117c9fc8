/* SPDX-License-Identifier: MIT */
/* A leader elector against a server that keeps one Lease: who leads when, what
 * is sent and told, and what others find in the Lease. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "election/elector.h"
#include "recorder/recorder.h"
#include "support/election_world.h"

#define OTHERS                                                                 \
  "{'holderIdentity':'x','leaseDurationSeconds':15,"                           \
  "'acquireTime':'2026-01-01T00:00:00.000000Z',"                               \
  "'renewTime':'2026-01-01T00:00:00.000000Z','leaseTransitions':3}"

#define WORLD_TEST(test)                                                       \
  cmocka_unit_test_setup_teardown(test, ew_set_up, ew_tear_down)

static bool leads(election_world *w, int candidate) {
  return kin_leader_elector_is_leader(w->candidates[candidate].elector);
}

/* --- Options -------------------------------------------------------------- */

static void expect_bad(void (*spoil)(kin_leader_elector_options *options),
                       const char *problem) {
  election_world w;
  ew_init(&w, 0);
  spoil(&w.candidates[0].options);
  assert_int_equal(ew_open(&w, 0), KIN_EINVAL);
  assert_null(w.candidates[0].elector);
  if (strstr(w.vh.text, problem) == NULL) {
    fail_msg("%s is not in %s", problem, w.vh.text);
  }
  ew_finish(&w);
}

static void no_namespace(kin_leader_elector_options *o) {
  o->namespace_ = NULL;
}
static void no_name(kin_leader_elector_options *o) {
  o->name = "";
}
static void bad_name(kin_leader_elector_options *o) {
  o->name = "a/b";
}
static void blank_name(kin_leader_elector_options *o) {
  o->name = "X Y";
}
static void long_name(kin_leader_elector_options *o) {
  static char name[255];
  memset(name, 'n', 254);
  o->name = name;
}
static void bad_namespace(kin_leader_elector_options *o) {
  o->namespace_ = "N";
}
static void empty_identity(kin_leader_elector_options *o) {
  o->identity = "";
}
static void odd_identity(kin_leader_elector_options *o) {
  o->identity = "\xff";
}
static void no_started(kin_leader_elector_options *o) {
  o->on_started = NULL;
}
static void no_stopped(kin_leader_elector_options *o) {
  o->on_stopped = NULL;
}
static void late_deadline(kin_leader_elector_options *o) {
  o->lease_duration_s = 10; /* = the default renew_deadline_ms */
}
static void long_retry(kin_leader_elector_options *o) {
  o->renew_deadline_ms = 2400; /* = 1.2 * 2 s */
}
static void long_lease(kin_leader_elector_options *o) {
  o->lease_duration_s = 86401;
}
static void no_label_name(kin_leader_elector_options *o) {
  static const kin_parameter labels[] = {{"", "v"}};
  o->labels = labels;
  o->label_count = 1;
}
static void many_labels(kin_leader_elector_options *o) {
  static kin_parameter labels[65];
  o->labels = labels;
  o->label_count = 65;
}

/* LE-01, CN-12, TestLeaderElectionConfigValidation. */
static void test_election_options(void **state) {
  (void)state;
  expect_bad(no_namespace, "namespace_: is required");
  expect_bad(no_name, "name: is required");
  expect_bad(bad_name, "name: \"a/b\"");
  expect_bad(blank_name, "name: \"X Y\" is no name of an object");
  expect_bad(long_name, "name: \"nnn");
  expect_bad(bad_namespace, "namespace_: \"N\"");
  expect_bad(empty_identity, "identity:");
  expect_bad(odd_identity, "identity, name, labels: no Lease");
  expect_bad(no_started, "on_started: is required");
  expect_bad(no_stopped, "on_stopped: is required");
  expect_bad(late_deadline, "lease_duration_s: 10 s is not more");
  expect_bad(long_retry, "renew_deadline_ms: 2400 is not more");
  expect_bad(long_lease, "lease_duration_s: 86401 is more");
  expect_bad(no_label_name, "labels[0] has no name");
  expect_bad(many_labels, "labels: NULL, or more than 64");
}

static void test_longest_identity(void **state) {
  (void)state;
  static char identity[1026];
  election_world w;
  ew_init(&w, 0);
  memset(identity, 'i', 1025);
  w.candidates[0].options.identity = identity;
  assert_int_equal(ew_open(&w, 0), KIN_EINVAL);
  identity[1024] = '\0';
  assert_int_equal(ew_open(&w, 0), 0);
  assert_string_equal(kin_leader_elector_identity(w.candidates[0].elector),
                      identity);
  ew_finish(&w);
}

/* Without an identity each elector has one of its own. */
static void test_made_identity(void **state) {
  election_world *w = *state;
  w->candidates[0].options.identity = w->candidates[1].options.identity = NULL;
  ew_begin(w, 0);
  assert_int_equal(ew_open(w, 1), 0);
  const char *first = kin_leader_elector_identity(w->candidates[0].elector);
  const char *second = kin_leader_elector_identity(w->candidates[1].elector);
  assert_string_not_equal(first, second);
  const char *random = strrchr(first, '_');
  assert_non_null(random);
  assert_int_equal(strlen(random), 17);
  ew_pass(w, 0);
  assert_string_equal(ew_spec(w, "holderIdentity"), first);
}

/* --- Acquiring ------------------------------------------------------------ */

/* LE-05, LE-08, TestTryAcquireOrRenewLeases: there is no lease. */
static void test_acquire_from_nothing(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  assert_false(leads(w, 0));
  assert_string_equal(w->candidates[0].told, ""); /* only from the loop */
  ew_pass(w, 0);
  assert_true(leads(w, 0));
  ew_expect(&w->candidates[0], "leader(a) started ");
  /* LE-03: the first renewal follows at once. */
  ew_expect_asked(w, "GET=404 POST=201 PUT=200 ");
  assert_string_equal(ew_spec(w, "holderIdentity"), "a");
  assert_string_equal(ew_spec(w, "leaseDurationSeconds"), "15");
  assert_string_equal(ew_spec(w, "leaseTransitions"), "0");
  assert_int_equal(kin_leader_elector_term(w->candidates[0].elector), 0);
  kin_str leader = kin_leader_elector_leader(w->candidates[0].elector);
  assert_int_equal(leader.length, 1);
}

/* LE-06, LE-07, TestTryAcquireOrRenewLeases: another's lease is taken when it
 * has not changed for its duration, whatever its times say. */
static void test_acquire_from_the_dead(void **state) {
  election_world *w = *state;
  ew_put_lease(w, OTHERS, "");
  ew_begin(w, 0);
  ew_pass(w, 14900);
  assert_false(leads(w, 0));
  ew_expect(&w->candidates[0], "leader(x) ");
  assert_int_equal(kin_leader_elector_term(w->candidates[0].elector), 3);
  ew_pass(w, 4600); /* the longest wait between two tries is 4.4 s */
  assert_true(leads(w, 0));
  ew_expect(&w->candidates[0], "leader(a) started ");
  assert_string_equal(ew_spec(w, "leaseTransitions"), "4");
  assert_int_equal(kin_leader_elector_term(w->candidates[0].elector), 4);
  assert_string_not_equal(ew_spec(w, "acquireTime"),
                          "2026-01-01T00:00:00.000000Z");
}

/* LE-06, TestTryAcquireOrRenewLeases: a lease that changes is alive. */
static void test_the_living_stay(void **state) {
  (void)state;
  election_world w;
  char spec[300];
  ew_init(&w, 0);
  ew_begin(&w, 0);
  for (int i = 0; i < 10; i++) {
    snprintf(spec, sizeof spec,
             "{'holderIdentity':'x','leaseDurationSeconds':15,"
             "'renewTime':'2026-01-01T00:00:%02d.000000Z'}",
             i);
    ew_put_lease(&w, spec, "");
    ew_pass(&w, 10000);
  }
  assert_false(leads(&w, 0));
  ew_expect(&w.candidates[0], "leader(x) ");
  ew_finish(&w);
}

/* LE-05: a change of metadata is no sign of life. */
static void test_labels_are_no_life(void **state) {
  (void)state;
  election_world w;
  char label[64];
  ew_init(&w, 0);
  ew_begin(&w, 0);
  for (int i = 0; i < 4; i++) {
    snprintf(label, sizeof label, "'labels':{'l':'%d'}", i);
    ew_put_lease(&w, OTHERS, label);
    ew_pass(&w, 5000);
  }
  assert_true(leads(&w, 0));
  ew_finish(&w);
}

/* LE-06, TestTryAcquireOrRenewLeases: a released lease is taken at once. */
static void test_acquire_from_nobody(void **state) {
  election_world *w = *state;
  ew_put_lease(w, "{'holderIdentity':'','leaseTransitions':7}", "");
  ew_begin(w, 0);
  ew_pass(w, 0);
  assert_true(leads(w, 0));
  assert_string_equal(ew_spec(w, "leaseTransitions"), "8");
}

/* LE-06, TestTryAcquireOrRenewLeases: our own lease of an earlier life. */
static void test_acquire_our_own(void **state) {
  election_world *w = *state;
  ew_put_lease(w,
               "{'holderIdentity':'a','leaseDurationSeconds':15,"
               "'acquireTime':'2026-01-01T00:00:00.000000Z',"
               "'leaseTransitions':3}",
               "");
  ew_begin(w, 0);
  ew_pass(w, 0);
  assert_true(leads(w, 0));
  assert_string_equal(ew_spec(w, "leaseTransitions"), "3");
  assert_int_equal(kin_leader_elector_term(w->candidates[0].elector), 3);
  assert_string_equal(ew_spec(w, "acquireTime"), "2026-01-01T00:00:00.000000Z");
}

static void put_others_before_write(election_world *w, const char *method) {
  if (strcmp(method, "GET") != 0) {
    w->before_answer = NULL;
    ew_put_lease(w, OTHERS, "");
  }
}

/* LE-06, TestTryAcquireOrRenewLeases: another one writes between our two
 * requests; the next try comes later. */
static void test_acquire_conflict(void **state) {
  election_world *w = *state;
  ew_put_lease(w, "{}", "");
  w->before_answer = put_others_before_write;
  ew_begin(w, 0);
  ew_pass(w, 1900);
  ew_expect_asked(w, "GET=200 PUT=409 ");
  assert_false(leads(w, 0));
  ew_pass(w, 2600);
  ew_expect_asked(w, "GET=200 ");
  ew_expect(&w->candidates[0], "leader(x) ");
  kin_leader_elector_metrics metrics = KIN_LEADER_ELECTOR_METRICS_INIT;
  assert_int_equal(
      kin_leader_elector_get_metrics(w->candidates[0].elector, &metrics), 0);
  assert_int_equal(metrics.conflicts, 1);
  assert_int_equal(metrics.failures, 0);
  assert_int_equal(metrics.tries, 2);
}

/* LE-05: a create that comes too late, and one that is forbidden. */
static void test_acquire_create_fails(void **state) {
  election_world *w = *state;
  w->before_answer = put_others_before_write;
  ew_begin(w, 0);
  ew_pass(w, 0);
  ew_expect_asked(w, "GET=404 POST=409 ");
  ew_pass(w, 4400);
  ew_expect(&w->candidates[0], "leader(x) ");
  w->refuse = 403;
  ew_pass(w, 4400);
  ew_expect(&w->candidates[0], "error(403) ");
  assert_int_equal(w->candidates[0].code, KIN_ESTATUS);
  assert_non_null(strstr(w->candidates[0].message, "GET /apis/coordination"));
}

/* A request that the server puts off is sent again within the try. Each failure
 * is told and counted. */
static void test_acquire_put_off(void **state) {
  election_world *w = *state;
  kin_leader_elector_metrics metrics = KIN_LEADER_ELECTOR_METRICS_INIT;
  ew_begin(w, 0);
  for (int i = 0; i < 3; i++) {
    w->refuse = 503;
    ew_pass(w, 0);
    ew_expect(&w->candidates[0], "error(503) ");
    assert_int_equal(w->candidates[0].attempt, i + 1);
    assert_int_equal(w->candidates[0].retry_in_ms, 1000);
    script_advance(&w->vh.script, 1000);
  }
  assert_int_equal(
      kin_leader_elector_get_metrics(w->candidates[0].elector, &metrics), 0);
  assert_int_equal(metrics.tries, 1);
  assert_int_equal(metrics.failures, 3);
  ew_pass(w, 0);
  ew_expect(&w->candidates[0], "leader(a) started ");
}

static void stop_on_error(election_world *w, ew_candidate *candidate) {
  (void)w;
  candidate->answer = KIN_STOP;
}

/* A program that stops at such a failure: the request is not sent again. */
static void test_stop_while_put_off(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  w->refuse = 503;
  w->then = stop_on_error;
  ew_pass(w, 5000);
  ew_expect(&w->candidates[0], "error(503) stopped(0) ");
  ew_expect_asked(w, "GET=503 ");
}

/* LE-02: tries are between 2 s and 4.4 s apart, at random. */
static void test_acquire_jitter(void **state) {
  (void)state;
  election_world w;
  uint64_t last_ms = 0;
  unsigned least = UINT32_MAX;
  unsigned most = 0;
  ew_init(&w, 0);
  ew_put_lease(&w, OTHERS, "");
  ew_begin(&w, 0);
  for (int i = 0; i < 60; i++) {
    ew_put_lease(&w, OTHERS, "");
    ew_put_lease(&w,
                 i % 2 == 0 ? OTHERS
                            : "{'holderIdentity':'y',"
                              "'leaseDurationSeconds':900}",
                 "");
    w.asked[0] = '\0';
    while (w.asked[0] == '\0') {
      ew_pass(&w, 10);
    }
    uint64_t now_ms = w.vh.script.now_ns / 1000000;
    unsigned waited = (unsigned)(now_ms - last_ms);
    if (i > 1) {
      least = waited < least ? waited : least;
      most = waited > most ? waited : most;
    }
    last_ms = now_ms;
  }
  assert_in_range(least, 1990, 2300);
  assert_in_range(most, 4000, 4420);
  ew_finish(&w);
}

/* --- Renewing ------------------------------------------------------------- */

/* LE-03, LE-04, TestFastPathLeaderElection: one request for each renewal. */
static void test_renew_fast(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 0);
  ew_expect_asked(w, "GET=404 POST=201 PUT=200 ");
  ew_pass(w, 6020);
  ew_expect_asked(w, "PUT=200 PUT=200 PUT=200 ");
  assert_string_equal(ew_spec(w, "leaseTransitions"), "0");
  kin_leader_elector_metrics metrics = KIN_LEADER_ELECTOR_METRICS_INIT;
  assert_int_equal(
      kin_leader_elector_get_metrics(w->candidates[0].elector, &metrics), 0);
  assert_true(metrics.is_leader);
  assert_int_equal(metrics.renewals, 5);
  assert_int_equal(metrics.slow_paths, 0);
}

/* LE-04, TestFastPathLeaderElection: somebody else wrote into our lease; what
 * was written stays. */
static void test_renew_slow(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  w->asked[0] = '\0';
  ew_put_lease(w,
               "{'holderIdentity':'a','leaseDurationSeconds':15,"
               "'strategy':'OldestEmulationVersion','other':[1]}",
               "'labels':{'team':'web'},'annotations':{'note':'x'}");
  ew_pass(w, 2000);
  ew_expect_asked(w, "PUT=409 GET=200 PUT=200 ");
  assert_true(leads(w, 0));
  assert_non_null(strstr(w->lease, "\"labels\":{\"team\":\"web\"}"));
  assert_non_null(strstr(w->lease, "\"annotations\":{\"note\":\"x\"}"));
  assert_non_null(strstr(w->lease, "\"other\":[1]"));
  assert_string_equal(ew_spec(w, "strategy"), "OldestEmulationVersion");
  ew_expect(&w->candidates[0], "leader(a) started ");
}

/* LE-03: the tries of a round are at fixed times; the round has a deadline, at
 * which on_stopped comes. The lease is not taken again by itself. */
static void test_renew_deadline(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 0);
  ew_expect(&w->candidates[0], "leader(a) started ");
  for (int i = 0; i < 5; i++) { /* at 2, 4, 6, 8, 10 s */
    w->refuse = 500;
    ew_pass(w, 1990);
    assert_string_equal(w->candidates[0].told, "");
    w->asked[0] = '\0';
    w->before_answer = NULL;
    w->is_silent = true;
    ew_pass(w, 10);
    w->is_silent = false;
    w->refuse = 500;
    (void)ew_answer(w);
    w->refuse = 500;
    (void)ew_answer(w);
    ew_expect_asked(w, "PUT=500 GET=500 ");
    ew_expect(&w->candidates[0], "error(500) error(500) ");
    assert_true(leads(w, 0));
  }
  w->is_silent = true;
  ew_pass(w, 1990);
  assert_true(leads(w, 0));
  assert_string_equal(w->candidates[0].told, "");
  ew_pass(w, 10); /* 12 s after the last successful write */
  ew_expect(&w->candidates[0], "stopped(-5044,led) ");
  assert_non_null(strstr(w->candidates[0].message,
                         "the lease was not renewed in time: GET /apis/"));
  assert_int_equal(script_open_requests(&w->vh.script), 0);
  w->is_silent = false;
  w->refuse = 0;
  w->asked[0] = '\0';
  ew_pass(w, 60000);
  ew_expect_asked(w, "");
  ew_expect(&w->candidates[0], "");
  assert_int_equal(kin_leader_elector_stop(w->candidates[0].elector),
                   KIN_EALREADY);
}

/* LE-03: a request that is in flight at the deadline is cancelled. */
static void test_renew_silence(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 1000);
  w->is_silent = true;
  ew_pass(w, 10990);
  assert_true(leads(w, 0));
  assert_int_equal(script_open_requests(&w->vh.script), 1);
  ew_pass(w, 10);
  assert_false(leads(w, 0));
  assert_int_equal(script_open_requests(&w->vh.script), 0);
}

/* The end tells the last failure also if a request is in flight then. */
static void test_renew_silence_is_the_cause(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 1990);
  w->is_silent = true;
  ew_pass(w, 10); /* a renewal is sent */
  w->is_silent = false;
  for (int i = 0; i < 2; i++) {
    w->refuse = 500;
    assert_true(ew_answer(w));
  }
  w->is_silent = true;
  ew_pass(w, 10000);
  assert_string_equal(w->candidates[0].message,
                      "the lease was not renewed in time: PUT " EW_PATH
                      "/l: no answer in time");
}

/* The failures of another run are not in a row with those before, also if the
 * run is stopped while a request is in flight. */
static void test_attempts_of_two_runs(void **state) {
  election_world *w = *state;
  ew_candidate *candidate = &w->candidates[0];
  ew_begin(w, 0);
  w->refuse = 500;
  ew_pass(w, 10);
  assert_int_equal(candidate->attempt, 1);
  w->is_silent = true;
  ew_pass(w, 5000);
  assert_int_equal(script_open_requests(&w->vh.script), 1);
  assert_int_equal(kin_leader_elector_stop(candidate->elector), 0);
  ew_pass(w, 10);
  assert_int_equal(kin_leader_elector_start(candidate->elector), 0);
  w->is_silent = false;
  for (uint32_t attempt = 1; attempt <= 2; attempt++) {
    w->refuse = 500;
    ew_pass(w, attempt == 1 ? 10 : 5000);
    assert_int_equal(candidate->attempt, attempt);
  }
}

/* An answer that took too long does not make a leader: another one may have
 * taken the lease since the request was sent. */
static void test_late_answer(void **state) {
  election_world *w = *state;
  ew_put_lease(w, "{}", "");
  ew_begin(w, 0);
  assert_true(ew_answer(w)); /* GET */
  ew_suspend(w, 12000);
  assert_true(ew_answer(w)); /* PUT */
  script_run(&w->vh.script);
  assert_false(leads(w, 0));
  ew_expect(&w->candidates[0], "leader(a) ");
  ew_pass(w, 5000);
  assert_true(leads(w, 0));
}

static void suspend_and_ask(void *ctx, bool is_before) {
  election_world *w = ctx;
  (void)is_before;
  w->vh.script.on_step = NULL;
  ew_suspend(w, 11000);
  assert_false(leads(w, 0));
}

/* LE-03: a program that was told that it does not lead does not lead again in
 * this run. The answer has come by then, and is taken a moment later. */
static void test_answer_after_the_deadline(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 1000);
  w->is_silent = true;
  ew_pass(w, 1000); /* sends a PUT */
  script_request *request = script_find(&w->vh.script, "/leases");
  assert_true(script_request_head(request, 200));
  assert_true(script_request_body(request, w->lease, strlen(w->lease)));
  w->vh.script.on_step = suspend_and_ask;
  w->vh.script.on_step_ctx = w;
  script_request_end(request);
  script_run(&w->vh.script);
  assert_false(leads(w, 0));
  ew_expect(&w->candidates[0], "leader(a) started stopped(-5044,led) ");
}

/* LE-03: another holder is seen: the run is over at once. */
static void test_overtaken(void **state) {
  election_world *w = *state;
  w->candidates[0].options.release_on_stop = true;
  ew_begin(w, 0);
  ew_pass(w, 100);
  w->asked[0] = '\0';
  ew_put_lease(w, OTHERS, "");
  ew_pass(w, 2000);
  ew_expect_asked(w, "PUT=409 GET=200 "); /* and no release */
  ew_expect(&w->candidates[0],
            "leader(a) started leader(x) stopped(-5060,led) ");
  assert_string_equal(w->candidates[0].message, "the lease is held by x");
}

/* LE-05: the lease is deleted; it is made again. */
static void test_deleted(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  w->asked[0] = '\0';
  w->lease[0] = '\0';
  ew_pass(w, 2000);
  ew_expect_asked(w, "PUT=404 GET=404 POST=201 ");
  assert_true(leads(w, 0));
  ew_expect(&w->candidates[0], "leader(a) started error(404) ");
}

static void put_others_before_post(election_world *w, const char *method) {
  if (strcmp(method, "POST") == 0) {
    w->before_answer = NULL;
    ew_put_lease(w, OTHERS, "");
  }
}

/* LE-05: another one makes it first. The lease in hand is none, so the next try
 * begins with GET. */
static void test_deleted_and_lost(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  w->asked[0] = '\0';
  w->lease[0] = '\0';
  w->before_answer = put_others_before_post;
  ew_pass(w, 2000);
  ew_expect_asked(w, "PUT=404 GET=404 POST=409 ");
  ew_pass(w, 2000);
  ew_expect_asked(w, "GET=200 ");
  assert_false(leads(w, 0));
  ew_expect(&w->candidates[0], "leader(a) started error(404) leader() "
                               "leader(x) stopped(-5060,led) ");
}

/* A write whose answer is lost is found again. */
static void test_lost_answer(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  w->asked[0] = '\0';
  w->refuse = 504;
  w->then_write = true;
  ew_pass(w, 2000);
  ew_expect_asked(w, "PUT=504 GET=200 PUT=200 ");
  assert_true(leads(w, 0));
}

/* --- Two candidates ------------------------------------------------------- */

/* LE-08: both are told of the leader; the second follows the first. */
static void test_two_candidates(void **state) {
  election_world *w = *state;
  ew_begin(w, 0);
  ew_pass(w, 100);
  ew_begin(w, 1);
  ew_pass(w, 30000);
  assert_true(leads(w, 0));
  assert_false(leads(w, 1));
  ew_expect(&w->candidates[1], "leader(a) ");
  assert_int_equal(kin_leader_elector_stop(w->candidates[0].elector), 0);
  assert_false(leads(w, 0));
  ew_pass(w, 13000);
  assert_false(leads(w, 1)); /* nothing was released */
  ew_pass(w, 7000);
  assert_true(leads(w, 1));
  ew_expect(&w->candidates[1], "leader(b) started ");
  ew_expect(&w->candidates[0], "leader(a) started stopped(0,led) ");
}

/* --- Events --------------------------------------------------------------- */

static const kin_event_recorder_options recorder_options = {
    .size = sizeof recorder_options, .controller = "c", .instance = "c-0"};

/* An Event's request that is open. */
static void expect_event(election_world *w, const char *note) {
  script_request *request = script_expect(&w->vh.script, "/events?");
  char body[2048];
  snprintf(body, sizeof body, "%.*s", (int)request->body_length, request->body);
  assert_non_null(strstr(body, note));
  assert_non_null(strstr(body, "\"kind\":\"Lease\""));
  assert_non_null(strstr(body, "\"reason\":\"LeaderElection\""));
  script_respond(&w->vh.script, "/events?", 201, "{}");
}

/* LE-10, TestRecordEventSuccess, TestRecordEventNilRecorder: the other tests
 * have no recorder. */
static void test_election_events(void **state) {
  (void)state;
  election_world w;
  kin_event_recorder *recorder;
  ew_init(&w, 0);
  assert_int_equal(
      kin__event_recorder_open(&recorder, &w.vh.host, &recorder_options), 0);
  w.candidates[0].options.recorder = recorder;
  ew_begin(&w, 0);
  assert_true(ew_answer(&w)); /* GET */
  assert_true(ew_answer(&w)); /* POST */
  expect_event(&w, "\"note\":\"a became leader\"");
  assert_int_equal(kin_leader_elector_stop(w.candidates[0].elector), 0);
  script_run(&w.vh.script);
  expect_event(&w, "\"note\":\"a stopped leading\"");
  ew_finish(&w);
}

/* --- Health --------------------------------------------------------------- */

/* LE-11, TestLeaderElectionHealthChecker: only a leader can be unhealthy. */
static void test_health(void **state) {
  (void)state;
  election_world w;
  assert_int_equal(kin_leader_elector_check(NULL, 0), 0);
  ew_init(&w, 0);
  ew_put_lease(&w, OTHERS, "");
  ew_begin(&w, 0);
  kin_leader_elector *elector = w.candidates[0].elector;
  ew_pass(&w, 1000);
  ew_suspend(&w, 3600000);
  assert_int_equal(kin_leader_elector_check(elector, 0), 0);
  ew_pass(&w, 10000);
  assert_true(leads(&w, 0));
  uint64_t since_ms = 0;
  kin_leader_elector_metrics metrics = KIN_LEADER_ELECTOR_METRICS_INIT;
  assert_int_equal(kin_leader_elector_get_metrics(elector, &metrics), 0);
  since_ms = metrics.observed_age_ms;
  ew_suspend(&w, 20000 - since_ms); /* 5 s more than the lease */
  assert_int_equal(kin_leader_elector_check(elector, 5000), 0);
  assert_int_equal(kin_leader_elector_check(elector, 4999), KIN_ETIMEDOUT);
  assert_int_equal(kin_leader_elector_check(elector, UINT64_MAX), 0);
  assert_false(leads(&w, 0));
  script_run(&w.vh.script); /* on_stopped: the program knows */
  assert_int_equal(kin_leader_elector_check(elector, 0), 0);
  ew_finish(&w);
}

/* --- Coordinated ---------------------------------------------------------- */

/* LE-12, TestTryCoordinatedRenew: nothing is created or taken; a lease that the
 * server has given is renewed, until another holder is preferred. */
static void test_coordinated(void **state) {
  election_world *w = *state;
  w->candidates[0].options.coordinated = true;
  ew_begin(w, 0);
  ew_pass(w, 0);
  ew_expect_asked(w, "GET=404 ");
  ew_put_lease(w, OTHERS, "");
  ew_pass(w, 20000);
  assert_null(strstr(w->asked, "PUT"));
  ew_put_lease(w,
               "{'holderIdentity':'a','leaseDurationSeconds':15,"
               "'strategy':'OldestEmulationVersion','leaseTransitions':2}",
               "");
  ew_pass(w, 4500);
  assert_true(leads(w, 0));
  assert_string_equal(ew_spec(w, "strategy"), "OldestEmulationVersion");
  assert_string_equal(ew_spec(w, "leaseTransitions"), "2");
  ew_put_lease(w,
               "{'holderIdentity':'a','leaseDurationSeconds':15,"
               "'preferredHolder':'b'}",
               "");
  w->asked[0] = '\0';
  ew_pass(w, 13000);
  assert_null(strstr(w->asked, "PUT"));
  ew_expect(&w->candidates[0],
            "leader(x) leader(a) started stopped(-5044,led) ");
}

/* LE-12: a lease of ours that has expired is not renewed. */
static void test_coordinated_expired(void **state) {
  election_world *w = *state;
  w->candidates[0].options.coordinated = true;
  ew_put_lease(w, "{'holderIdentity':'a','leaseDurationSeconds':0}", "");
  ew_begin(w, 0);
  ew_pass(w, 20000);
  assert_null(strstr(w->asked, "PUT"));
  assert_false(leads(w, 0));
}

/* --- Sweeps --------------------------------------------------------------- */

/* A life with a conflict, a failure, a release and a second run. */
static bool live(size_t fail_at, int at_call, int how,
                 void (*then)(election_world *w, ew_candidate *candidate),
                 size_t split, int *calls) {
  static const kin_parameter labels[] = {{"example.com/l~", "v"}};
  election_world w;
  ew_init(&w, fail_at);
  w.vh.script.split = split;
  w.then = then;
  w.at_call = at_call;
  w.how = how;
  w.candidates[0].options.release_on_stop = true;
  w.candidates[0].options.labels = labels;
  w.candidates[0].options.label_count = 1;
  ew_put_lease(&w, "{'holderIdentity':'x','leaseDurationSeconds':1}", "");
  if (ew_open(&w, 0) == 0) {
    kin_leader_elector *elector = w.candidates[0].elector;
    assert_int_equal(kin_leader_elector_start(elector), 0);
    ew_pass(&w, 7000);
    w.refuse = 500;
    ew_pass(&w, 3000);
    ew_put_lease(&w, "{'holderIdentity':'a','leaseDurationSeconds':15}", "");
    ew_pass(&w, 5000);
    if (w.candidates[0].elector != NULL &&
        kin_leader_elector_stop(elector) == 0) {
      ew_pass(&w, 100);
    }
    if (w.candidates[0].elector != NULL &&
        kin_leader_elector_start(elector) == 0) {
      ew_pass(&w, 5000);
    }
  } else {
    assert_int_not_equal(fail_at, 0);
  }
  *calls = w.calls;
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  if (!has_failed && at_call == 0) {
    assert_true(leads(&w, 0));
    assert_non_null(strstr(w.lease, "\"example.com/l~\":\"v\""));
  }
  ew_finish(&w);
  return has_failed;
}

static bool live_without_memory(size_t fail_at) {
  int calls;
  return live(fail_at, 0, 0, NULL, 0, &calls);
}

/* Whatever allocation fails, the next try succeeds or the run ends. */
static void test_each_allocation_fails(void **state) {
  (void)state;
  fail_alloc_sweep(live_without_memory, 20);
}

static int calls_seen;

/* After each deferred call and each step of a task. */
static void expect_one_call(void *ctx, bool is_before) {
  const election_world *w = ctx;
  (void)is_before;
  assert_in_range(w->calls - calls_seen, 0, 1);
  calls_seen = w->calls;
}

/* Runs that are over at once, one after another. */
static void begin_again(election_world *w, ew_candidate *candidate) {
  candidate->told[0] = '\0';
  if (w->calls > 100) {
    return;
  }
  int err = kin_leader_elector_start(candidate->elector);
  if (err == KIN_EALREADY || w->how == 0) {
    (void)kin_leader_elector_stop(candidate->elector);
  }
}

/* Whatever a callback begins, the next callback comes from a later iteration of
 * the loop: runs that the program stops, runs without memory for a request, and
 * runs that end when they lead. */
static void test_one_callback_an_iteration(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    election_world w;
    ew_init(&w, 0);
    w.how = how;
    w.then = begin_again;
    calls_seen = 0;
    w.vh.script.on_step = expect_one_call;
    w.vh.script.on_step_ctx = &w;
    ew_begin(&w, 0);
    if (how == 0) {
      assert_int_equal(kin_leader_elector_stop(w.candidates[0].elector), 0);
    } else if (how == 1) {
      w.vh.memory.fail_at = 1;
      w.vh.memory.keeps_failing = true;
    }
    ew_pass(&w, 0);
    assert_true(w.calls > 100);
    w.then = NULL;
    w.vh.memory.fail_at = 0;
    w.vh.memory.keeps_failing = false;
    ew_finish(&w);
  }
}

enum { CLOSE, CLOSE_CLIENT, STOP, START, WAYS };

static void act(election_world *w, ew_candidate *candidate) {
  if (candidate->elector == NULL || w->vh.host.members.is_closing) {
    return;
  }
  switch (w->how) {
  case CLOSE:
    (void)kin_leader_elector_close(candidate->elector, NULL, NULL);
    break;
  case CLOSE_CLIENT:
    vh_close(&w->vh);
    break;
  case STOP:
    (void)kin_leader_elector_stop(candidate->elector);
    break;
  default:
    (void)kin_leader_elector_start(candidate->elector);
  }
}

static void test_act_in_each_callback(void **state) {
  (void)state;
  int count;
  live(0, 0, 0, NULL, 0, &count);
  assert_true(count >= 8);
  for (int how = 0; how < WAYS; how++) {
    for (int at_call = 1; at_call <= count; at_call++) {
      int calls;
      live(0, at_call, how, act, 0, &calls);
      assert_true(calls >= at_call);
    }
  }
}

/* Answers in pieces of each size up to a whole lease. */
static void test_answers_in_pieces(void **state) {
  (void)state;
  for (size_t split = 1; split < 400; split++) {
    int calls;
    live(0, 0, 0, NULL, split, &calls);
  }
}

/* Answers that are no lease. */
static void test_odd_leases(void **state) {
  (void)state;
  static const char *const specs[] = {"{'holderIdentity':5}",
                                      "{'leaseDurationSeconds':'15'}",
                                      "{'preferredHolder':[]}", "7", "null"};
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
    bool is_readable = i >= 3; /* a spec that is no object has no members */
    election_world w;
    ew_init(&w, 0);
    ew_put_lease(&w, specs[i], "");
    ew_begin(&w, 0);
    ew_pass(&w, 100);
    if (i == 4) {
      assert_true(leads(&w, 0));
    } else {
      assert_false(leads(&w, 0));
      assert_non_null(strstr(w.candidates[0].told,
                             is_readable ? "error(0)" : "error(200)"));
    }
    ew_finish(&w);
  }
}

/* A lease that could not be written back is not read. */
static void test_huge_lease(void **state) {
  (void)state;
  static char blanks[1 << 20];
  election_world w;
  ew_init(&w, 0);
  memset(blanks, ' ', sizeof blanks);
  ew_begin(&w, 0);
  script_run(&w.vh.script);
  script_request *request = script_expect(&w.vh.script, EW_PATH);
  assert_true(script_request_head(request, 200));
  for (int i = 0; i < 3; i++) {
    assert_true(script_request_body(request, blanks, sizeof blanks));
  }
  assert_string_equal(w.candidates[0].told, "");
  assert_false(script_request_body(request, " ", 1));
  assert_int_equal(w.candidates[0].code, KIN_ETOOBIG);
  assert_false(leads(&w, 0));
  ew_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_election_options),
      cmocka_unit_test(test_longest_identity),
      WORLD_TEST(test_made_identity),
      WORLD_TEST(test_acquire_from_nothing),
      WORLD_TEST(test_acquire_from_the_dead),
      cmocka_unit_test(test_the_living_stay),
      cmocka_unit_test(test_labels_are_no_life),
      WORLD_TEST(test_acquire_from_nobody),
      WORLD_TEST(test_acquire_our_own),
      WORLD_TEST(test_acquire_conflict),
      WORLD_TEST(test_acquire_create_fails),
      WORLD_TEST(test_acquire_put_off),
      WORLD_TEST(test_stop_while_put_off),
      cmocka_unit_test(test_acquire_jitter),
      WORLD_TEST(test_renew_fast),
      WORLD_TEST(test_renew_slow),
      WORLD_TEST(test_renew_deadline),
      WORLD_TEST(test_renew_silence),
      WORLD_TEST(test_renew_silence_is_the_cause),
      WORLD_TEST(test_attempts_of_two_runs),
      WORLD_TEST(test_late_answer),
      WORLD_TEST(test_answer_after_the_deadline),
      WORLD_TEST(test_overtaken),
      WORLD_TEST(test_deleted),
      WORLD_TEST(test_deleted_and_lost),
      WORLD_TEST(test_lost_answer),
      WORLD_TEST(test_two_candidates),
      cmocka_unit_test(test_election_events),
      cmocka_unit_test(test_health),
      WORLD_TEST(test_coordinated),
      WORLD_TEST(test_coordinated_expired),
      cmocka_unit_test(test_each_allocation_fails),
      cmocka_unit_test(test_one_callback_an_iteration),
      cmocka_unit_test(test_act_in_each_callback),
      cmocka_unit_test(test_answers_in_pieces),
      cmocka_unit_test(test_odd_leases),
      cmocka_unit_test(test_huge_lease),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
