/* SPDX-License-Identifier: MIT */
/* A lease candidate against a server that keeps its LeaseCandidate: when it is
 * written, what is written, and what the program is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "election/lease_candidate.h"
#include "support/candidate_world.h"
#include "support/written_object.h"

#define OLD "'renewTime':'2001-01-01T00:00:00.000000Z'"
#define PINGED_IN(year)                                                        \
  "{'leaseName':'l','pingTime':'" year "-01-01T00:00:00.000000Z'," OLD "}"
#define PINGED PINGED_IN("2002")

#define WORLD_TEST(test)                                                       \
  cmocka_unit_test_setup_teardown(test, lw_set_up, lw_tear_down)

static void expect_member(candidate_world *w, const char *member,
                          const char *value) {
  assert_string_equal(lw_value(w, member), value);
}

/* --- Options -------------------------------------------------------------- */

static void expect_bad(void (*spoil)(kin_lease_candidate_options *options),
                       const char *problem) {
  candidate_world w;
  lw_init(&w, 0);
  spoil(&w.options);
  assert_int_equal(lw_open(&w), KIN_EINVAL);
  assert_null(w.candidate);
  if (strstr(w.vh.text, problem) == NULL) {
    fail_msg("%s is not in %s", problem, w.vh.text);
  }
  lw_finish(&w);
  assert_int_equal(w.closed, 0);
}

static void no_namespace(kin_lease_candidate_options *o) {
  o->namespace_ = NULL;
}
static void bad_namespace(kin_lease_candidate_options *o) {
  o->namespace_ = "N";
}
static void no_name(kin_lease_candidate_options *o) {
  o->name = "";
}
static void slash_name(kin_lease_candidate_options *o) {
  o->name = "a/b";
}
static void dot_name(kin_lease_candidate_options *o) {
  o->name = ".";
}
static void dots_name(kin_lease_candidate_options *o) {
  o->name = "..a";
}
static void long_name(kin_lease_candidate_options *o) {
  static char name[255];
  memset(name, 'n', 254);
  o->name = name;
}
static void no_lease(kin_lease_candidate_options *o) {
  o->lease_name = NULL;
}
static void bad_lease(kin_lease_candidate_options *o) {
  o->lease_name = "L";
}
static void no_binary(kin_lease_candidate_options *o) {
  o->binary_version = NULL;
}
static void odd_binary(kin_lease_candidate_options *o) {
  o->binary_version = "\xff";
}
static void no_emulation(kin_lease_candidate_options *o) {
  o->emulation_version = "";
}
static void bad_version(kin_lease_candidate_options *o) {
  o->version = "v1/x";
}

/* LE-12. */
static void test_candidate_options(void **state) {
  (void)state;
  expect_bad(no_namespace, "namespace_: is required");
  expect_bad(bad_namespace, "namespace_: \"N\" is no valid name");
  expect_bad(no_name, "name: is required");
  expect_bad(slash_name, "name: \"a/b\" is no valid name");
  expect_bad(dot_name, "name: \".\" is no valid name");
  expect_bad(dots_name, "name: \"..a\" is no valid name");
  expect_bad(long_name, "name: \"nnn");
  expect_bad(no_lease, "lease_name: is required");
  expect_bad(bad_lease, "lease_name: \"L\" is no valid name");
  expect_bad(no_binary, "binary_version: is required");
  expect_bad(odd_binary, "no LeaseCandidate can have them");
  expect_bad(no_emulation, "emulation_version: is required with the strategy "
                           "OldestEmulationVersion");
  expect_bad(bad_version, "version: \"v1/x\" is no valid name");
}

static void test_longest_candidate_name(void **state) {
  (void)state;
  static char name[254];
  candidate_world w;
  lw_init(&w, 0);
  memset(name, 'n', 253);
  w.options.name = name;
  assert_int_equal(lw_open(&w), 0);
  assert_int_equal(kin_lease_candidate_close(w.candidate, NULL, NULL), 0);
  script_run(&w.vh.script);
  lw_finish(&w);
  assert_int_equal(w.closed, 1);
}

/* --- Writing -------------------------------------------------------------- */

/* LE-12, TestLeaseCandidateCreation. */
static void test_candidate_creation(void **state) {
  candidate_world *w = *state;
  assert_int_equal(lw_open(w), 0);
  assert_true(kin_lease_candidate_age_ms(w->candidate) == UINT64_MAX);
  lw_pass(w, 0);
  lw_expect_asked(w, "POST=201 ");
  expect_member(w, "apiVersion", "coordination.k8s.io/v1beta1");
  expect_member(w, "kind", "LeaseCandidate");
  expect_member(w, "name", "A_1");
  expect_member(w, "namespace", "n");
  expect_member(w, "leaseName", "l");
  expect_member(w, "binaryVersion", "1.31.0");
  expect_member(w, "emulationVersion", "1.30.0");
  expect_member(w, "strategy", "OldestEmulationVersion");
  assert_int_equal(strlen(lw_value(w, "renewTime")),
                   strlen("2001-01-01T00:00:00.000000Z"));
  assert_int_equal(kin_lease_candidate_age_ms(w->candidate), 0);
  lw_pass(w, 1000);
  assert_int_equal(kin_lease_candidate_age_ms(w->candidate), 1000);
  lw_expect_asked(w, "");
  lw_expect(w, "");
}

/* LE-12, TestLeaseCandidateAck: each ping is answered once, and at once. */
static void test_candidate_ack(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  for (int i = 0; i < 2; i++) {
    lw_put(w, i == 0 ? PINGED : PINGED_IN("2003"), "");
    lw_pass(w, 0);
    lw_expect_asked(w, "PUT=200 ");
    expect_member(w, "pingTime",
                  i == 0 ? "2002-01-01T00:00:00.000000Z"
                         : "2003-01-01T00:00:00.000000Z");
    assert_true(strcmp(lw_value(w, "renewTime"), "2004") > 0);
    lw_pass(w, 1000);
    lw_expect_asked(w, "");
  }
  lw_expect(w, "");
}

/* LE-12: an object of an earlier run is written at once; what others wrote into
 * it stays. Items of a list have no apiVersion. */
static void test_candidate_of_an_earlier_run(void **state) {
  candidate_world *w = *state;
  lw_put(w,
         "{'leaseName':'l','binaryVersion':'1.29.0','strategy':'old','odd':"
         "['x']," OLD "}",
         "'labels':{'l':'v'},'annotations':{'a':'b'}");
  assert_int_equal(lw_open(w), 0);
  lw_pass(w, 0);
  lw_expect_asked(w, "PUT=200 ");
  expect_member(w, "apiVersion", "coordination.k8s.io/v1beta1");
  expect_member(w, "binaryVersion", "1.31.0");
  expect_member(w, "emulationVersion", "1.30.0");
  expect_member(w, "strategy", "OldestEmulationVersion");
  expect_member(w, "l", "v");
  expect_member(w, "a", "b");
  assert_non_null(strstr(w->object, "\"odd\":[\"x\"]"));
  assert_string_not_equal(lw_value(w, "renewTime"),
                          "2001-01-01T00:00:00.000000Z");
}

/* LE-12: a strategy of another controller needs no emulation version. */
static void test_candidate_strategy(void **state) {
  candidate_world *w = *state;
  lw_put(w, "{'leaseName':'l','emulationVersion':'1.2.3'}", "");
  w->options.strategy = "example.com/first";
  w->options.emulation_version = NULL;
  assert_int_equal(lw_open(w), 0);
  lw_pass(w, 0);
  lw_expect_asked(w, "PUT=200 ");
  expect_member(w, "strategy", "example.com/first");
  expect_member(w, "emulationVersion", "");
}

/* LE-12: the object is renewed five minutes after the last write. */
static void test_candidate_renewal(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  for (int i = 0; i < 3; i++) {
    lw_pass(w, LW_RENEW_MS - 100);
    lw_expect_asked(w, "");
    lw_pass(w, 110);
    lw_expect_asked(w, "PUT=200 ");
  }
  lw_pass(w, 1000);
  lw_put(w, PINGED, "");
  lw_pass(w, LW_RENEW_MS - 100);
  lw_expect_asked(w, "PUT=200 ");
  lw_pass(w, 110);
  lw_expect_asked(w, "PUT=200 ");
}

/* LE-12: the server's clock may be ahead. The answer must not be before the
 * ping, or the server would take it for none. */
static void test_ping_of_a_fast_clock(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  lw_put(w, "{'pingTime':'2999-01-01T00:00:00.123456Z'," OLD "}", "");
  lw_pass(w, 1000);
  lw_expect_asked(w, "PUT=200 ");
  expect_member(w, "renewTime", "2999-01-01T00:00:00.123456Z");
  /* A server that keeps the old renewTime is not asked without end. */
  lw_put(w, "{'pingTime':'2999-01-01T00:00:00.123456Z'," OLD "}", "");
  lw_pass(w, 1000);
  lw_expect_asked(w, "");
}

/* LE-12: the answer has microseconds. It is not before a ping with
 * nanoseconds. */
static void test_ping_with_nanoseconds(void **state) {
  static const struct {
    const char *ping;
    const char *answer;
  } cases[] = {
      {"2999-01-01T00:00:00.123456001Z", "2999-01-01T00:00:00.123457Z"},
      {"2999-01-01T00:00:00.123456999Z", "2999-01-01T00:00:00.123457Z"},
      {"2999-12-31T23:59:59.999999001Z", "3000-01-01T00:00:00.000000Z"}};
  candidate_world *w = *state;
  lw_open_written(w);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char spec[128];
    snprintf(spec, sizeof spec, "{'pingTime':'%s'," OLD "}", cases[i].ping);
    lw_put(w, spec, "");
    lw_pass(w, 1000);
    lw_expect_asked(w, "PUT=200 ");
    expect_member(w, "renewTime", cases[i].answer);
  }
}

/* LE-12: pings that are answered, or are no times. */
static void test_no_pings(void **state) {
  candidate_world *w = *state;
  static const char *const specs[] = {
      "{}",
      "{" OLD "}",
      "{'pingTime':null," OLD "}",
      "{'pingTime':5," OLD "}",
      "{'pingTime':'soon'," OLD "}",
      "{'pingTime':'2001-01-01T00:00:00.000000Z'," OLD "}",
      "{'pingTime':'2000-01-01T00:00:00.000000Z'," OLD "}"};
  lw_open_written(w);
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
    lw_put(w, specs[i], "");
    lw_pass(w, 1000);
    lw_expect_asked(w, "");
  }
  /* A ping of an object without a renewTime is answered. */
  lw_put(w, "{'pingTime':'2999-01-01T00:00:00.000000Z','renewTime':7}", "");
  lw_pass(w, 0);
  lw_expect_asked(w, "PUT=200 ");
}

static void send_other(candidate_world *w, const char *type) {
  int at = w->event_count++;
  w->event_versions[at] = ++w->version;
  snprintf(w->events[at], sizeof w->events[at],
           "{'type':'%s','object':{'metadata':{'name':'B_2','namespace':'n',"
           "'uid':'b','resourceVersion':'%u'},'spec':" PINGED "}}\n",
           type, w->version);
  wo_quote(w->events[at]);
}

/* LE-12: events of other candidates count for nothing, if the server ignores the
 * field selector. */
static void test_other_candidates(void **state) {
  static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
  candidate_world *w = *state;
  lw_open_written(w);
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    send_other(w, types[i]);
    lw_pass(w, 1000);
    lw_expect_asked(w, "");
  }
  lw_expect(w, "");
}

/* --- Other writers -------------------------------------------------------- */

static void put_first(candidate_world *w, const char *method) {
  (void)method;
  w->before_write = NULL;
  lw_put(w, PINGED, "'labels':{'l':'other'}");
}

/* LE-12: another one writes first. The next try has the newest object, and
 * nobody is told. */
static void test_candidate_conflict(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  w->before_write = put_first;
  lw_pass(w, LW_RENEW_MS);
  lw_expect_asked(w, "PUT=409 PUT=200 ");
  expect_member(w, "l", "other");
  lw_expect(w, "");
  assert_string_equal(w->vh.text, "");
}

/* LE-12: without the event the next tries meet the same conflict, each after a
 * longer wait. */
static void test_conflict_without_news(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  w->before_write = put_first;
  w->holds_events = true;
  lw_pass(w, LW_RENEW_MS + 800);
  lw_expect_asked(w, "PUT=409 PUT=409 PUT=409 PUT=409 ");
  w->holds_events = false;
  lw_pass(w, 0);
  lw_expect_asked(w, "PUT=200 ");
  lw_expect(w, "");
}

/* LE-12: a conflict that goes on is told, and logged, from the fifth try on. */
static void test_long_conflict(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  w->before_write = put_first;
  w->holds_events = true;
  lw_pass(w, LW_RENEW_MS + 1600);
  lw_expect_asked(w, "PUT=409 PUT=409 PUT=409 PUT=409 PUT=409 ");
  lw_expect(w, "error(409) ");
  assert_int_equal(w->last.code, KIN_ECONFLICT);
  assert_int_equal(w->last.attempt, 5);
  assert_int_equal(w->last.retry_in_ms, 1600);
  assert_int_equal(vh_count_logged(&w->vh, "W lease candidate: "), 1);
  lw_pass(w, 1600);
  lw_expect_asked(w, "PUT=409 ");
  lw_expect(w, "error(409) ");
  assert_int_equal(vh_count_logged(&w->vh, "W lease candidate: "), 2);
  w->holds_events = false;
  lw_pass(w, 3200);
  lw_expect_asked(w, "PUT=200 ");
  lw_expect(w, "");
}

/* LE-12: another one creates the object first. */
static void test_candidate_exists(void **state) {
  candidate_world *w = *state;
  w->before_write = put_first;
  assert_int_equal(lw_open(w), 0);
  lw_pass(w, 0);
  lw_expect_asked(w, "POST=409 PUT=200 ");
  expect_member(w, "l", "other");
  lw_expect(w, "");
}

/* --- Failures ------------------------------------------------------------- */

/* LE-12: refusals are told, and tried again after growing waits. */
static void test_candidate_refused(void **state) {
  static const struct {
    int status;
    kin_error_class error_class;
    const char *reason;
  } cases[] = {{403, KIN_CLASS_FORBIDDEN, "Forbidden"},
               {422, KIN_CLASS_SERVER, "Invalid"},
               {500, KIN_CLASS_SERVER, "InternalError"}};
  candidate_world *w = *state;
  assert_int_equal(lw_open(w), 0);
  for (size_t i = 0; i < 3; i++) {
    w->refuse = cases[i].status;
    lw_pass(w, i == 0 ? 0 : 100u << (i - 1));
    assert_int_equal(w->last.status, cases[i].status);
    assert_int_equal(w->last.error_class, cases[i].error_class);
    assert_string_equal(w->reason, cases[i].reason);
    assert_int_equal(w->last.attempt, i + 1);
    assert_int_equal(w->last.retry_in_ms, 100u << i);
    assert_non_null(strstr(w->message, "POST " LW_PATH));
  }
  lw_expect(w, "error(403) error(422) error(500) ");
  lw_expect_asked(w, "POST=403 POST=422 POST=500 ");
  assert_non_null(strstr(w->vh.text, "W lease candidate: POST"));
  lw_pass(w, 400);
  lw_expect_asked(w, "POST=201 ");
  w->refuse = 500;
  lw_pass(w, LW_RENEW_MS);
  assert_int_equal(w->last.attempt, 1);
  lw_expect_asked(w, "PUT=500 ");
}

/* LE-12: a program that does not want to know of failures. */
static void test_candidate_without_on_error(void **state) {
  candidate_world *w = *state;
  w->options.on_error = NULL;
  w->refuse_lists = 500;
  assert_int_equal(lw_open(w), 0);
  lw_pass(w, 0);
  w->refuse_lists = 0;
  w->refuse = 500;
  lw_pass(w, 30000);
  assert_non_null(strstr(w->asked, "POST=500 POST=201 "));
  lw_expect(w, "");
}

static void refuse_it(candidate_world *w, const char *method) {
  (void)method;
  w->refuse = 500;
}

/* LE-12: the wait between two tries is at most 30 s, and a ping does not wait. */
static void test_longest_candidate_wait(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  w->before_write = refuse_it;
  lw_pass(w, LW_RENEW_MS + 300000);
  assert_int_equal(w->last.retry_in_ms, 30000);
  w->before_write = NULL;
  w->asked[0] = '\0';
  lw_put(w, PINGED, "");
  lw_pass(w, 0);
  lw_expect_asked(w, "PUT=200 ");
}

static void forbid_it(candidate_world *w, const char *method) {
  (void)method;
  w->refuse = 403;
}

/* Of the failures in a row four are warnings, and then one of 16. A
 * success begins a new row, and so does another status. */
static void test_candidate_fills_no_log(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  for (int round = 0; round < 2; round++) {
    w->vh.text[0] = '\0';
    w->last.attempt = 0;
    w->before_write = refuse_it;
    while (w->last.attempt < 20) {
      lw_pass(w, 1000);
    }
    assert_int_equal(vh_count_logged(&w->vh, "W lease candidate: "), 5);
    w->before_write = forbid_it;
    while (w->last.attempt < 35) {
      lw_pass(w, 1000);
    }
    assert_int_equal(vh_count_logged(&w->vh, "W lease candidate: "), 9);
    w->before_write = NULL;
    lw_pass(w, 40000);
  }
}

/* LE-12: six tries to answer a ping within 5 s. */
static void test_ping_is_tried_often(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  w->before_write = refuse_it;
  lw_put(w, PINGED, "");
  lw_pass(w, 5000);
  lw_expect_asked(w, "PUT=500 PUT=500 PUT=500 PUT=500 PUT=500 PUT=500 ");
}

/* LE-12: a server that says when to come again gets its wait, an hour at most.
 * Each try is told. A ping meanwhile does not wait. */
static void test_candidate_put_off(void **state) {
  static const struct {
    int status;
    int64_t retry_after_s;
    uint64_t wait_ms;
  } cases[] = {{429, 1, 1000}, {503, 60, 60000}, {429, 7200, 3600000}};
  candidate_world *w = *state;
  assert_int_equal(lw_open(w), 0);
  for (size_t i = 0; i < 3; i++) {
    w->refuse = cases[i].status;
    w->retry_after_s = cases[i].retry_after_s;
    lw_pass(w, i == 0 ? 0 : 20);
    assert_int_equal(w->last.status, cases[i].status);
    assert_int_equal(w->last.attempt, i + 1);
    assert_int_equal(w->last.retry_in_ms, cases[i].wait_ms);
    lw_pass(w, cases[i].wait_ms - 20);
  }
  lw_expect(w, "error(429) error(503) error(429) ");
  lw_expect_asked(w, "POST=429 POST=503 POST=429 ");
  lw_pass(w, 20);
  lw_expect_asked(w, "POST=201 ");
  w->refuse = 429;
  lw_pass(w, LW_RENEW_MS);
  lw_put(w, PINGED, "");
  lw_pass(w, 0);
  lw_expect_asked(w, "PUT=429 PUT=200 ");
}

/* LE-12: an own wait that is longer stays. */
static void test_candidate_put_off_briefly(void **state) {
  candidate_world *w = *state;
  assert_int_equal(lw_open(w), 0);
  w->retry_after_s = 1;
  for (unsigned i = 0; i < 6; i++) {
    w->refuse = 503;
    lw_pass(w, i == 0 ? 0 : w->last.retry_in_ms);
    assert_int_equal(w->last.attempt, i + 1);
  }
  assert_int_equal(w->last.retry_in_ms, 3200);
}

/* LE-12: a ping is answered behind the write in flight. */
static void test_ping_behind_a_write(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  lw_pass(w, LW_RENEW_MS - 100);
  w->is_silent = true;
  lw_pass(w, 200);
  lw_put(w, PINGED, "");
  lw_pass(w, 5000);
  w->is_silent = false;
  lw_pass(w, 0);
  lw_expect_asked(w, "PUT=409 PUT=200 ");
  expect_member(w, "pingTime", "2002-01-01T00:00:00.000000Z");
  assert_true(strcmp(lw_value(w, "renewTime"), "2002") > 0);
  lw_expect(w, "");
}

/* LE-12: a write without an answer delays the answer to a ping until it fails,
 * for 10 s at most. */
static void test_ping_behind_a_lost_write(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  lw_pass(w, LW_RENEW_MS - 100);
  w->is_silent = true;
  lw_pass(w, 200);
  lw_put(w, PINGED, "");
  lw_pass(w, 9800);
  lw_expect(w, "");
  lw_pass(w, 200);
  lw_expect(w, "error(0) ");
  assert_int_equal(w->last.code, KIN_ETIMEDOUT);
  assert_int_equal(w->last.retry_in_ms, 0);
  w->is_silent = false;
  lw_pass(w, 0);
  lw_expect_asked(w, "PUT=200 ");
  expect_member(w, "pingTime", "2002-01-01T00:00:00.000000Z");
}

/* LE-12: a server without the feature does not know the resource. */
static void test_resource_is_absent(void **state) {
  candidate_world *w = *state;
  w->refuse_lists = 404;
  w->is_absent = true;
  assert_int_equal(lw_open(w), 0);
  lw_pass(w, 0);
  lw_expect(w, "error(404) ");
  assert_int_equal(w->last.error_class, KIN_CLASS_ABSENT);
  w->refuse_lists = 0;
  w->refuse = 404;
  w->told[0] = '\0';
  lw_pass(w, 60000);
  assert_non_null(strstr(w->told, "error(404) "));
  assert_int_equal(w->last.attempt, 1);
  assert_non_null(strstr(w->message, "POST"));
  assert_non_null(strstr(w->asked, "POST=404 POST=201 "));
  w->refuse = 404;
  w->told[0] = '\0';
  lw_pass(w, LW_RENEW_MS);
  lw_expect(w, "error(404) "); /* of an update, too */
}

/* LE-12: a list that is refused is told with its class. */
static void test_list_is_refused(void **state) {
  candidate_world *w = *state;
  w->refuse_lists = 403;
  assert_int_equal(lw_open(w), 0);
  lw_pass(w, 0);
  lw_expect(w, "error(403) ");
  lw_expect_asked(w, "LIST=403 ");
  assert_int_equal(w->last.error_class, KIN_CLASS_FORBIDDEN);
  w->refuse_lists = 0;
  lw_pass(w, 120000);
  assert_string_equal(lw_value(w, "leaseName"), "l");
}

/* LE-12: a server that does not answer. */
static void test_candidate_silence(void **state) {
  candidate_world *w = *state;
  w->is_silent = true;
  assert_int_equal(lw_open(w), 0);
  lw_pass(w, 9990);
  lw_expect(w, "");
  lw_pass(w, 20);
  lw_expect(w, "error(0) ");
  assert_int_equal(w->last.code, KIN_ETIMEDOUT);
  w->is_silent = false;
  lw_pass(w, 100);
  lw_expect_asked(w, "POST=201 ");
}

/* LE-12: an answer that was lost. The create has happened. */
static void test_lost_creation(void **state) {
  candidate_world *w = *state;
  w->refuse = 500;
  w->then_write = true;
  assert_int_equal(lw_open(w), 0);
  lw_pass(w, 100);
  lw_expect_asked(w, "POST=500 PUT=200 ");
}

/* LE-12: bodies of answers are not looked at: the object comes by the watch. */
static void test_garbage_answers(void **state) {
  static const char *const bodies[] = {"", "{", "[]", "{\"spec\":7}", "\xff"};
  candidate_world *w = *state;
  lw_open_written(w);
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    w->garbage = bodies[i];
    lw_pass(w, LW_RENEW_MS);
    lw_expect_asked(w, "PUT=200 ");
  }
  lw_expect(w, "");
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    w->garbage = bodies[i];
    w->refuse = 500;
    lw_pass(w, LW_RENEW_MS + 200);
    lw_expect_asked(w, "PUT=500 PUT=200 ");
    lw_expect(w, "error(500) ");
  }
}

/* LE-12: the watch breaks, and the ping comes with the next one. */
static void test_candidate_watch_is_cut(void **state) {
  candidate_world *w = *state;
  lw_open_written(w);
  lw_pass(w, 10000);
  lw_cut(w);
  lw_put(w, PINGED, "");
  lw_pass(w, 5000);
  lw_expect_asked(w, "PUT=200 ");
  lw_cut(w);
  lw_delete(w);
  lw_pass(w, 5000);
  lw_expect_asked(w, "POST=201 ");
}

/* An object that could not be written whole is not written. */
static void test_huge_candidate(void **state) {
  static char json[(3 << 20) + 512];
  static const char head[] =
      "{\"metadata\":{\"resourceVersion\":\"100\"},\"items\":[{\"metadata\":{"
      "\"name\":\"A_1\",\"namespace\":\"n\",\"resourceVersion\":\"9\","
      "\"annotations\":{\"a\":\"";
  candidate_world *w = *state;
  memset(json, ' ', sizeof json - 1);
  memcpy(json, head, sizeof head - 1);
  memcpy(json + sizeof json - 7, "\"}}}]}", 7);
  assert_int_equal(lw_open(w), 0);
  script_run(&w->vh.script);
  script_respond(&w->vh.script, LW_PATH, 200, json);
  lw_pass(w, 1000);
  lw_expect_asked(w, "");
  assert_int_equal(w->last.code, KIN_ETOOBIG);
  assert_int_equal(w->last.error_class, KIN_CLASS_PROTOCOL);
}

/* --- Answers of the program ----------------------------------------------- */

static void answer_later(candidate_world *w, kin_error_event *event) {
  (void)w;
  event->answer = KIN_RETRY_AFTER;
  event->retry_after_ms = 3600000;
}

static void answer_stop(candidate_world *w, kin_error_event *event) {
  (void)w;
  if (event != NULL) {
    event->answer = KIN_STOP;
  }
}

static void test_retry_after(void **state) {
  candidate_world *w = *state;
  w->then = answer_later;
  w->refuse = 403;
  assert_int_equal(lw_open(w), 0);
  lw_pass(w, 3599990);
  lw_expect_asked(w, "POST=403 ");
  lw_pass(w, 20);
  lw_expect_asked(w, "POST=201 ");
  w->then = NULL;
}

static void test_stop(void **state) {
  (void)state;
  for (int is_list = 0; is_list < 2; is_list++) {
    candidate_world w;
    lw_init(&w, 0);
    w.then = answer_stop;
    w.refuse = 403;
    w.refuse_lists = is_list ? 403 : 0;
    assert_int_equal(lw_open(&w), 0);
    lw_pass(&w, 1000);
    lw_expect(&w, "error(403) closed ");
    lw_expect_asked(&w, is_list ? "LIST=403 " : "POST=403 ");
    lw_finish(&w);
  }
}

/* --- The end -------------------------------------------------------------- */

static void count(void *data) {
  ++*(int *)data;
}

/* With a write in flight or not, by the program or by the client. */
static void test_candidate_closes(void **state) {
  (void)state;
  for (int how = 0; how < 4; how++) {
    candidate_world w;
    int closed = 0;
    lw_init(&w, 0);
    w.is_silent = how % 2 == 0;
    assert_int_equal(lw_open(&w), 0);
    lw_pass(&w, 100);
    if (how < 2) {
      assert_int_equal(kin_lease_candidate_close(w.candidate, count, &closed),
                       0);
      assert_int_equal(kin_lease_candidate_close(w.candidate, count, &closed),
                       KIN_EALREADY);
    } else {
      vh_close(&w.vh);
    }
    lw_expect(&w, "");
    script_run(&w.vh.script);
    lw_expect(&w, "closed ");
    assert_int_equal(closed, how < 2 ? 1 : 0);
    if (how < 2) {
      vh_close(&w.vh);
    }
    assert_int_equal(lw_open(&w), KIN_ECLOSED);
    lw_finish(&w);
  }
}

/* --- Sweeps --------------------------------------------------------------- */

/* A life with a ping, a conflict, failures, a cut, a deletion and a renewal. */
static bool live(size_t fail_at, int at_call, int how,
                 void (*then)(candidate_world *w, kin_error_event *event),
                 size_t split, int *calls) {
  candidate_world w;
  lw_init(&w, fail_at);
  w.vh.script.split = split;
  w.then = then;
  w.at_call = at_call;
  w.how = how;
  w.refuse_lists = 500;
  if (lw_open(&w) == 0) {
    lw_pass(&w, 10);
    w.refuse_lists = 0;
    w.refuse = 500;
    lw_pass(&w, 10000);
    lw_put(&w, PINGED, "'labels':{'l':'v'}");
    w.before_write = put_first;
    lw_pass(&w, 5000);
    lw_cut(&w);
    w.refuse = 403;
    lw_put(&w, PINGED, "'labels':{'l':'v'}");
    lw_pass(&w, 5000);
    lw_put(&w, "{}", "");
    lw_delete(&w);
    lw_pass(&w, LW_RENEW_MS + 60000);
  } else {
    assert_int_not_equal(fail_at, 0);
    assert_int_equal(w.closed, 0);
  }
  *calls = w.calls;
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  if (w.candidate != NULL) {
    assert_true(kin_lease_candidate_age_ms(w.candidate) <= LW_RENEW_MS);
    assert_string_equal(lw_value(&w, "leaseName"), "l");
  }
  lw_finish(&w);
  return has_failed;
}

static bool live_without_memory(size_t fail_at) {
  int calls;
  return live(fail_at, 0, 0, NULL, 0, &calls);
}

/* Whatever allocation fails, the object is there in the end. */
static void test_each_allocation_fails(void **state) {
  (void)state;
  fail_alloc_sweep(live_without_memory, 50);
}

enum { CLOSE, CLOSE_CLIENT, STOP, WAYS };

static void act(candidate_world *w, kin_error_event *event) {
  if (w->how == STOP) {
    answer_stop(w, event);
  } else if (w->candidate == NULL || w->vh.host.members.is_closing) {
    return;
  } else if (w->how == CLOSE) {
    (void)kin_lease_candidate_close(w->candidate, NULL, NULL);
  } else {
    vh_close(&w->vh);
  }
}

static void test_act_in_each_callback(void **state) {
  (void)state;
  int count_of_all;
  live(0, 0, 0, NULL, 0, &count_of_all);
  assert_true(count_of_all >= 3);
  for (int how = 0; how < WAYS; how++) {
    for (int at_call = 1; at_call <= count_of_all; at_call++) {
      int calls;
      live(0, at_call, how, act, 0, &calls);
      assert_true(calls >= at_call);
    }
  }
}

/* Answers in pieces of each size up to a whole object. */
static void test_answers_in_pieces(void **state) {
  (void)state;
  for (size_t split = 1; split < 500; split += split < 20 ? 1 : 20) {
    int calls;
    live(0, 0, 0, NULL, split, &calls);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_candidate_options),
      cmocka_unit_test(test_longest_candidate_name),
      WORLD_TEST(test_candidate_creation),
      WORLD_TEST(test_candidate_ack),
      WORLD_TEST(test_candidate_of_an_earlier_run),
      WORLD_TEST(test_candidate_strategy),
      WORLD_TEST(test_candidate_renewal),
      WORLD_TEST(test_ping_of_a_fast_clock),
      WORLD_TEST(test_ping_with_nanoseconds),
      WORLD_TEST(test_no_pings),
      WORLD_TEST(test_other_candidates),
      WORLD_TEST(test_candidate_conflict),
      WORLD_TEST(test_conflict_without_news),
      WORLD_TEST(test_long_conflict),
      WORLD_TEST(test_candidate_exists),
      WORLD_TEST(test_candidate_refused),
      WORLD_TEST(test_candidate_without_on_error),
      WORLD_TEST(test_longest_candidate_wait),
      WORLD_TEST(test_candidate_fills_no_log),
      WORLD_TEST(test_ping_is_tried_often),
      WORLD_TEST(test_candidate_put_off),
      WORLD_TEST(test_candidate_put_off_briefly),
      WORLD_TEST(test_ping_behind_a_write),
      WORLD_TEST(test_ping_behind_a_lost_write),
      WORLD_TEST(test_resource_is_absent),
      WORLD_TEST(test_list_is_refused),
      WORLD_TEST(test_candidate_silence),
      WORLD_TEST(test_lost_creation),
      WORLD_TEST(test_garbage_answers),
      WORLD_TEST(test_candidate_watch_is_cut),
      WORLD_TEST(test_huge_candidate),
      WORLD_TEST(test_retry_after),
      cmocka_unit_test(test_stop),
      cmocka_unit_test(test_candidate_closes),
      cmocka_unit_test(test_each_allocation_fails),
      cmocka_unit_test(test_act_in_each_callback),
      cmocka_unit_test(test_answers_in_pieces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
