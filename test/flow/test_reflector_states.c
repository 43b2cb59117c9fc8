/* SPDX-License-Identifier: MIT */

/* The states of doc/architecture.md, each with its entries and exits; a watch
 * that is silent; and what a verify tells whoever asked for it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cache/public_reflector_core.h"
#include "support/reflector_rig.h"

#define STALE_MS 30000u
#define GRACE_MS 100u

static void pass(reflector_rig *f, uint64_t ms) {
  script_advance(&f->vh.script, ms);
}

static void expect_states(reflector_rig *f, const char *states) {
  assert_string_equal(f->states, states);
  f->states[0] = '\0';
}

static kin_state state_of(const reflector_rig *f) {
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_reflector_get_status(f->reflector, &status), 0);
  return status.state;
}

static void open_watching(reflector_rig *f, uint32_t stale_after_ms) {
  reflector_rig_init(f, 0);
  f->resource.stale_after_ms = stale_after_ms;
  reflector_rig_open_watching(f);
  expect_states(f, "syncing live ");
}

static void grant(reflector_rig *f) {
  assert_int_equal(kin_feed_open(f->source.feed), 0);
  script_run(&f->vh.script);
}

/* --- The table of states -------------------------------------------------- */

static void refuse(reflector_rig *f, int status) {
  hand_source_fail(&f->source, status, "", false);
}

static void cut(reflector_rig *f) {
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.code = KIN_EEOF;
  f->source.is_open = false;
  assert_int_equal(kin_feed_fail(f->source.feed, &error, false), 0);
  script_run(&f->vh.script);
}

/* IDLE -> SYNCING -> LIVE; a watch that ends as it should, and one that says
 * nothing and is verified, do not leave LIVE. */
static void test_live(void **state) {
  (void)state;
  reflector_rig f;
  reflector_rig_init(&f, 0);
  assert_int_equal(
      kin__public_reflector_open(&f.reflector, &f.vh.host, &f.options), 0);
  assert_int_equal(state_of(&f), KIN_STATE_IDLE);
  assert_int_equal(kin_reflector_start(f.reflector), 0);
  script_run(&f.vh.script);
  expect_states(&f, "syncing ");
  hand_source_list(&f.source, "a@1", "5");
  expect_states(&f, "");
  grant(&f);
  expect_states(&f, "live ");
  pass(&f, 2000);
  hand_source_watch_end(&f.source);
  hand_source_expect(&f.source, "L:0/500 W:5 L:5>/1");
  hand_source_list(&f.source, "", "6");
  grant(&f);
  hand_source_bookmark(&f.source, "7");
  pass(&f, 2000);
  hand_source_watch_end(&f.source);
  hand_source_expect(&f.source, "W:5 W:7");
  assert_int_equal(state_of(&f), KIN_STATE_LIVE);
  expect_states(&f, "");
  reflector_rig_finish(&f);
}

/* LIVE -> RECONNECTING -> LIVE, when a watch breaks, and when its position is
 * lost. */
static void test_reconnecting(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, 0);
  pass(&f, 2000);
  hand_source_bookmark(&f.source, "6");
  cut(&f);
  expect_states(&f, "reconnecting ");
  grant(&f);
  expect_states(&f, "live ");
  hand_source_fail(&f.source, 410, "Expired", true);
  expect_states(&f, "reconnecting ");
  pass(&f, 5000);
  hand_source_list(&f.source, "a@1", "9");
  grant(&f);
  expect_states(&f, "live ");
  reflector_rig_finish(&f);
}

/* LIVE -> RECONNECTING -> LIVE, when a watch ends within a second: there is no
 * watch during the wait, although nothing has failed. */
static void test_short_watch(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, 0);
  hand_source_bookmark(&f.source, "6");
  hand_source_watch_end(&f.source);
  expect_states(&f, "reconnecting ");
  pass(&f, 1600);
  hand_source_expect(&f.source, "W:6");
  assert_int_equal(state_of(&f), KIN_STATE_RECONNECTING);
  grant(&f);
  expect_states(&f, "live ");
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_reflector_get_status(f.reflector, &status), 0);
  assert_int_equal(status.failures, 0);
  reflector_rig_finish(&f);
}

/* Ends watches at once until `objects` have been listed, at version `version`.
 * Lists of one item say that version, too. */
static void end_watches_until_list(reflector_rig *f, const char *objects,
                                   const char *version) {
  for (bool is_listed = false; !is_listed;) {
    is_listed = strstr(f->source.log, "/500") != NULL;
    f->source.log[0] = '\0';
    if (is_listed) {
      hand_source_list(&f->source, objects, version);
    } else if (f->source.is_open && f->source.is_watch) {
      grant(f);
      hand_source_watch_end(&f->source);
    } else if (f->source.is_open) {
      hand_source_list_end(&f->source, version, NULL);
    } else {
      pass(f, 100);
    }
  }
}

/* A copy that no watch can bring up to date is listed again, each time. */
static void test_short_watches_without_end(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, 0);
  uint64_t begin_ns = f.vh.script.now_ns;
  end_watches_until_list(&f, "a@8", "9");
  assert_in_range((f.vh.script.now_ns - begin_ns) / 1000000, 8000, 30000);
  reflector_rig_expect(&f, "R(a@8)#9");
  end_watches_until_list(&f, "a@18", "19");
  reflector_rig_expect(&f, "R(a@18)#19");
  reflector_rig_finish(&f);
}

/* One failure is enough, if nothing succeeds for a minute after it: here a
 * request that is not answered. */
static void test_failing_once_for_long(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, 0);
  for (int round = 0; round < 2; round++) {
    cut(&f);
    pass(&f, 59999);
    assert_true(f.source.is_open);
    assert_int_equal(state_of(&f), KIN_STATE_RECONNECTING);
    pass(&f, 1);
    assert_int_equal(state_of(&f), KIN_STATE_STALE);
    kin_status status = KIN_STATUS_INIT;
    assert_int_equal(kin_reflector_get_status(f.reflector, &status), 0);
    assert_int_equal(status.failures, 1);
    hand_source_list(&f.source, "", "6"); /* verified */
    grant(&f);
    assert_int_equal(state_of(&f), KIN_STATE_LIVE);
  }
  reflector_rig_finish(&f);
}

/* RECONNECTING -> STALE after a minute of failures, and SYNCING stays SYNCING
 * as long as there is no list; any success leaves STALE. */
static void test_failing_long(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, 0);
  uint64_t began_ns = f.vh.script.now_ns;
  cut(&f);
  while (f.vh.script.now_ns - began_ns < UINT64_C(59000000000)) {
    if (f.source.is_open) {
      cut(&f);
    }
    pass(&f, 100);
  }
  expect_states(&f, "reconnecting ");
  while (f.vh.script.now_ns - began_ns < UINT64_C(66000000000)) {
    if (f.source.is_open) {
      cut(&f);
    }
    pass(&f, 100);
  }
  expect_states(&f, "stale ");
  assert_int_equal(state_of(&f), KIN_STATE_STALE);
  pass(&f, 5000);
  hand_source_list(&f.source, "", "6"); /* verified */
  expect_states(&f, "reconnecting ");
  grant(&f);
  expect_states(&f, "live ");
  reflector_rig_finish(&f);

  reflector_rig_init(&f, 0);
  assert_int_equal(reflector_rig_open(&f), 0);
  for (int i = 0; i < 1000; i++) {
    if (f.source.is_open) {
      cut(&f);
    }
    pass(&f, 100);
  }
  expect_states(&f, "syncing ");
  reflector_rig_finish(&f);
}

/* The minute also passes during one long wait, which the server asked for. */
static void test_stale_while_waiting(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, 0);
  for (int round = 0; round < 2; round++) {
    kin_feed_error error = KIN_FEED_ERROR_INIT;
    error.status = 503;
    error.retry_after_s = 600;
    f.source.is_open = false;
    assert_int_equal(kin_feed_fail(f.source.feed, &error, false), 0);
    pass(&f, 59999);
    expect_states(&f, "reconnecting ");
    pass(&f, 1);
    expect_states(&f, "stale ");
    pass(&f, 539999);
    assert_false(f.source.is_open);
    pass(&f, 1);
    hand_source_list(&f.source, "", "6"); /* verified */
    expect_states(&f, "reconnecting ");
    grant(&f);
    expect_states(&f, "live ");
  }
  reflector_rig_finish(&f);
}

/* DENIED and ABSENT, from any state, and to any: by the last failure. */
static void test_turned_away(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *name;
  } rows[] = {{401, "denied "}, {403, "denied "}, {404, "absent "}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    assert_int_equal(reflector_rig_open(&f), 0);
    expect_states(&f, "syncing ");
    refuse(&f, rows[i].status); /* the list */
    expect_states(&f, rows[i].name);
    pass(&f, 2000);
    cut(&f);
    expect_states(&f, "syncing ");
    pass(&f, 2000);
    refuse(&f, rows[i].status);
    expect_states(&f, rows[i].name);
    pass(&f, 5000);
    hand_source_list(&f.source, "a@1", "5");
    refuse(&f, rows[i].status); /* the watch */
    pass(&f, 9000);
    if (rows[i].status == 404) {
      hand_source_expect(&f.source,
                         "L:0/500 L:0/500 L:0/500 L:0/500 W:5 L:5>/1");
      hand_source_list(&f.source, "", "6");
    }
    refuse(&f, 500);
    pass(&f, 5000);
    grant(&f);
    assert_int_equal(state_of(&f), KIN_STATE_LIVE);
    assert_non_null(strstr(f.states, rows[i].name));
    assert_non_null(strstr(f.states, "reconnecting live "));
    reflector_rig_finish(&f);
  }
}

/* IDLE again when the program answers that it gives up, and when it closes. */
static void test_stopped(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, STALE_MS);
  f.answer = KIN_STOP;
  hand_source_fail(&f.source, 410, "Expired", true);
  assert_int_equal(state_of(&f), KIN_STATE_IDLE);
  pass(&f, 10 * STALE_MS);
  hand_source_expect(&f.source, "");
  reflector_rig_finish(&f);
}

/* The wait that a program asks for with KIN_RETRY_AFTER is at most a day. */
static void test_answered_wait_is_bounded(void **state) {
  (void)state;
  static const uint64_t day_ms = 24u * 3600u * 1000u;
  static const uint64_t answers_ms[] = {24u * 3600u * 1000u, UINT64_MAX};
  for (size_t i = 0; i < sizeof answers_ms / sizeof answers_ms[0]; i++) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    f.answer = KIN_RETRY_AFTER;
    f.answer_after_ms = answers_ms[i];
    assert_int_equal(reflector_rig_open(&f), 0);
    script_run(&f.vh.script);
    hand_source_expect(&f.source, "L:0/500");
    refuse(&f, 500);
    pass(&f, day_ms - 1);
    hand_source_expect(&f.source, "");
    pass(&f, 1);
    hand_source_expect(&f.source, "L:0/500");
    reflector_rig_finish(&f);
  }
}

/* --- Silence -------------------------------------------------------------- */

/* LIVE -> STALE when a watch has said nothing for stale_after_ms; the server is
 * asked for the newest version, and STALE ends when the watch has come to
 * it. */
static void test_silent_but_up_to_date(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, STALE_MS);
  pass(&f, STALE_MS + GRACE_MS - 1);
  expect_states(&f, "");
  pass(&f, 1);
  expect_states(&f, "stale ");
  assert_non_null(strstr(f.vh.text, "said nothing for 30100 ms"));
  hand_source_expect(&f.source, "x L:/1");
  hand_source_list(&f.source, "", "8");
  hand_source_expect(&f.source, "W:5");
  assert_int_equal(state_of(&f), KIN_STATE_STALE);
  grant(&f);
  pass(&f, 1000);
  expect_states(&f, "");
  hand_source_bookmark(&f.source, "8");
  expect_states(&f, "live ");
  pass(&f, 2000);
  hand_source_watch_end(&f.source);
  hand_source_expect(&f.source, "W:8");
  grant(&f);
  expect_states(&f, "");
  /* And again. */
  pass(&f, STALE_MS + GRACE_MS);
  expect_states(&f, "stale ");
  reflector_rig_finish(&f);
}

/* The server refuses the question, or its answer has no version. A list answers
 * instead, so the state does not stay STALE. */
static void test_silent_and_the_question_is_refused(void **state) {
  (void)state;
  static const int refusals[] = {400, 422, 0};
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    reflector_rig f;
    open_watching(&f, STALE_MS);
    pass(&f, STALE_MS + GRACE_MS);
    expect_states(&f, "stale ");
    hand_source_expect(&f.source, "x L:/1");
    if (refusals[i] != 0) {
      refuse(&f, refusals[i]);
    } else {
      hand_source_list_end(&f.source, "", "");
    }
    assert_int_equal(f.errors, refusals[i] != 0 ? 1 : 0);
    hand_source_expect(&f.source, "L:/500");
    assert_int_equal(state_of(&f), KIN_STATE_STALE);
    hand_source_list(&f.source, "a@1", "6");
    hand_source_expect(&f.source, "W:6");
    grant(&f);
    expect_states(&f, "reconnecting live ");
    reflector_rig_finish(&f);
  }
}

/* The lists that answer a refused question are LIST_DISTANCE_MS apart. */
static void test_silent_and_always_refused(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, 200);
  int lists = 0;
  for (int i = 0; i < 600; i++) {
    pass(&f, 100);
    if (!f.source.is_open) {
      continue;
    }
    bool is_question = strstr(f.source.log, "/1") != NULL;
    bool is_list = strstr(f.source.log, "/500") != NULL;
    bool is_watch = strstr(f.source.log, "W:") != NULL;
    f.source.log[0] = '\0';
    if (is_question) {
      refuse(&f, 400);
    }
    is_list |= strstr(f.source.log, "/500") != NULL;
    if (is_list) {
      lists++;
      f.source.log[0] = '\0';
      hand_source_list(&f.source, "a@1", "6");
      is_watch = true;
      f.source.log[0] = '\0';
    }
    if (is_watch) {
      grant(&f);
    }
  }
  assert_in_range(lists, 2, 13);
  reflector_rig_finish(&f);
}

/* The list says that nothing has changed: that is enough. */
static void test_silent_and_nothing_new(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, STALE_MS);
  pass(&f, STALE_MS + GRACE_MS);
  hand_source_list(&f.source, "", "5");
  hand_source_expect(&f.source, "x L:/1 W:5");
  grant(&f);
  expect_states(&f, "stale reconnecting live ");
  reflector_rig_finish(&f);
}

/* A failed verify is STALE until the list is there. */
static void test_silent_and_behind(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, STALE_MS);
  pass(&f, STALE_MS + GRACE_MS);
  hand_source_list(&f.source, "", "8");
  for (int i = 0; i < 2; i++) {
    grant(&f);
    pass(&f, 3000);
    hand_source_watch_end(&f.source);
  }
  hand_source_expect(&f.source, "x L:/1 W:5 W:5 L:/500");
  cut(&f); /* the list: it is STALE still */
  pass(&f, 5000);
  assert_int_equal(state_of(&f), KIN_STATE_STALE);
  expect_states(&f, "stale ");
  hand_source_list(&f.source, "a@1 b@8", "8");
  grant(&f);
  expect_states(&f, "reconnecting live ");
  reflector_rig_finish(&f);
}

/* Any byte postpones it, and costs nothing: the timer is moved when it is
 * due. */
static void test_bytes_postpone_it(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, STALE_MS);
  uint64_t due_ms = kin__timers_next_ms(&f.vh.script.timers);
  for (int i = 0; i < 29; i++) {
    pass(&f, 1000);
    assert_int_equal(kin_feed_received(f.source.feed, 1), 0);
    assert_int_equal(kin__timers_next_ms(&f.vh.script.timers), due_ms);
  }
  pass(&f, STALE_MS + GRACE_MS - 1);
  expect_states(&f, "");
  pass(&f, 1);
  expect_states(&f, "stale ");
  reflector_rig_finish(&f);
}

/* A program that was stopped finds its timer due before the bytes that wait. */
static void test_stopped_program(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, STALE_MS);
  f.vh.script.now_ns += 4 * STALE_MS * UINT64_C(1000000);
  pass(&f, 0);
  assert_int_equal(kin_feed_received(f.source.feed, 1), 0);
  pass(&f, STALE_MS + GRACE_MS - 1);
  expect_states(&f, "");
  reflector_rig_finish(&f);
}

/* A watch that is not read, as there is no room, says nothing of itself. */
static void test_paused_watch(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, STALE_MS);
  f.is_full = true;
  hand_source_event(&f.source, KIN_WATCH_ADDED, "b@6");
  hand_source_expect(&f.source, "p");
  pass(&f, 10 * STALE_MS);
  expect_states(&f, "");
  f.is_full = false;
  assert_int_equal(kin_reflector_resume(f.reflector), 0);
  script_run(&f.vh.script);
  hand_source_expect(&f.source, "r");
  pass(&f, 2 * STALE_MS + GRACE_MS);
  expect_states(&f, "stale ");
  reflector_rig_finish(&f);
}

/* A limit below the time that a verify takes does not disturb it. */
static void test_short_limit(void **state) {
  (void)state;
  reflector_rig f;
  open_watching(&f, 200);
  pass(&f, 200 + GRACE_MS);
  expect_states(&f, "stale ");
  hand_source_list(&f.source, "", "8");
  grant(&f);
  pass(&f, 2900);
  hand_source_expect(&f.source, "x L:/1 W:5");
  hand_source_bookmark(&f.source, "8");
  expect_states(&f, "live ");
  reflector_rig_finish(&f);
}

/* --- A verify that was asked for ------------------------------------------ */

/* As an informer's owner, besides the reflector's. */
typedef struct asker {
  kin__feed_owner owner;
  int verdicts;
  int code;
  char version[KIN__VERSION_SIZE];
} asker;

static asker asked;

static void on_verified(kin_feed *feed, int code, const char *version) {
  (void)feed;
  asked.verdicts++;
  asked.code = code;
  snprintf(asked.version, sizeof asked.version, "%s", version);
}

static kin_feed *feed_of(reflector_rig *f) {
  return &f->reflector->feed;
}

static uint64_t lost_verifies(reflector_rig *f) {
  return kin__listwatch_lost_positions(
      &feed_of(f)->listwatch)[KIN_RELIST_VERIFY];
}

static void open_asking(reflector_rig *f) {
  open_watching(f, STALE_MS);
  asked = (asker){.owner = *feed_of(f)->owner};
  asked.owner.verified = on_verified;
  feed_of(f)->owner = &asked.owner;
}

static void ask(reflector_rig *f, const char *target) {
  assert_int_equal(kin__feed_verify(feed_of(f), target), 0);
  assert_int_equal(kin__feed_verify(feed_of(f), target), KIN_EAGAIN);
  assert_int_equal(asked.verdicts, 0);
}

static void expect_verdict(int code, const char *version) {
  assert_int_equal(asked.verdicts, 1);
  assert_int_equal(asked.code, code);
  assert_string_equal(asked.version, version);
  asked.verdicts = 0;
}

/* LIVE all the time. */
static void test_verify_stays_live(void **state) {
  (void)state;
  static const char *const targets[] = {"", "7"};
  static const char *const asks[] = {"x L:/1 W:5", "x L:7>/1 W:5"};
  for (size_t i = 0; i < 2; i++) {
    reflector_rig f;
    open_asking(&f);
    ask(&f, targets[i]);
    hand_source_list(&f.source, "", "7");
    hand_source_expect(&f.source, asks[i]);
    grant(&f);
    hand_source_bookmark(&f.source, "6");
    assert_int_equal(asked.verdicts, 0);
    hand_source_event(&f.source, KIN_WATCH_ADDED, "b@7");
    expect_verdict(0, "7");
    pass(&f, 3000);
    hand_source_watch_end(&f.source);
    hand_source_expect(&f.source, "W:7");
    expect_states(&f, "");
    assert_int_equal(f.errors, 0);
    reflector_rig_finish(&f);
  }
}

static void test_verify_loses_the_position(void **state) {
  (void)state;
  reflector_rig f;
  open_asking(&f);
  ask(&f, "");
  hand_source_list(&f.source, "", "8");
  for (int i = 0; i < 2; i++) {
    grant(&f);
    pass(&f, 2000);
    assert_int_equal(asked.verdicts, 0);
    hand_source_watch_end(&f.source);
  }
  expect_verdict(KIN_EGONE, "8");
  expect_states(&f, "stale ");
  hand_source_expect(&f.source, "x L:/1 W:5 W:5 L:/500");
  hand_source_list(&f.source, "a@1", "9");
  grant(&f);
  expect_states(&f, "reconnecting live ");
  assert_int_equal(lost_verifies(&f), 1);
  assert_int_equal(kin__feed_verify(feed_of(&f), ""), 0);
  reflector_rig_finish(&f);
  expect_verdict(KIN_ECLOSED, "");
}

static void test_verify_of_nonsense(void **state) {
  (void)state;
  reflector_rig f;
  open_asking(&f);
  ask(&f, "nonsense");
  refuse(&f, 400);
  expect_verdict(KIN_ESTATUS, "nonsense");
  hand_source_expect(&f.source, "x L:nonsense>/1 L:5>/1");
  hand_source_list(&f.source, "", "5");
  grant(&f);
  expect_states(&f, "reconnecting live ");
  assert_int_equal(f.errors, 1);
  reflector_rig_finish(&f);
}

/* One that a silent watch has begun by itself is nobody's. */
static void test_own_verify_is_not_told(void **state) {
  (void)state;
  reflector_rig f;
  open_asking(&f);
  pass(&f, STALE_MS + GRACE_MS);
  assert_int_equal(kin__feed_verify(feed_of(&f), ""), KIN_EAGAIN);
  hand_source_list(&f.source, "", "5");
  grant(&f);
  assert_int_equal(asked.verdicts, 0);
  ask(&f, "");
  reflector_rig_finish(&f);
  expect_verdict(KIN_ECLOSED, "");
}

static void test_refused_verifies(void **state) {
  (void)state;
  char huge[KIN__VERSION_SIZE + 1];
  memset(huge, '1', sizeof huge - 1);
  huge[sizeof huge - 1] = '\0';
  reflector_rig f;
  open_asking(&f);
  assert_int_equal(kin__feed_verify(feed_of(&f), huge), KIN_ETOOBIG);
  hand_source_fail(&f.source, 410, "Expired", true);
  assert_int_equal(kin__feed_verify(feed_of(&f), ""), KIN_EAGAIN);
  kin__feed_stop(feed_of(&f));
  assert_int_equal(kin__feed_verify(feed_of(&f), ""), KIN_ECLOSED);
  reflector_rig_finish(&f);
  assert_int_equal(asked.verdicts, 0);
}

/* --- Sweeps --------------------------------------------------------------- */

static int calls_to_close;

static void close_in_time(reflector_rig *f) {
  if (--calls_to_close == 0) {
    assert_int_equal(
        kin_reflector_close(f->reflector, reflector_rig_on_close, f), 0);
  }
}

static bool is_closing(const reflector_rig *f) {
  return calls_to_close <= 0 && f->during != NULL;
}

/* A silent watch, a verify that fails, a list: answered as it is asked. */
static void answer(reflector_rig *f) {
  hand_source *source = &f->source;
  if (!source->is_open || feed_of(f)->is_granted) {
    return;
  }
  if (source->is_watch) {
    (void)kin_feed_open(source->feed);
    return;
  }
  if (feed_of(f)->request == KIN__REQUEST_VERIFY) {
    source->is_open = false;
    (void)kin_feed_list_end(source->feed, "8", "");
    return;
  }
  kin_object *object = hand_source_object("a@1");
  if (kin_feed_item(source->feed, object) == 0) {
    source->is_open = false;
    (void)kin_feed_list_end(source->feed, "7", "");
  }
  kin_object_unref(object);
}

static void run_story(reflector_rig *f) {
  for (int i = 0; i < 1200 && !is_closing(f); i++) {
    f->log[0] = '\0';
    f->source.log[0] = '\0';
    answer(f);
    script_advance(&f->vh.script, 100);
  }
}

/* The callback that is the k-th closes the reflector. */
static void test_sweep_closes(void **state) {
  (void)state;
  for (int k = 1; k < 14; k++) {
    reflector_rig f;
    reflector_rig_init(&f, 0);
    f.resource.stale_after_ms = 5000;
    f.during = close_in_time;
    calls_to_close = k;
    assert_int_equal(reflector_rig_open(&f), 0);
    run_story(&f);
    assert_true(calls_to_close <= 0);
    reflector_rig_finish(&f);
  }
}

/* The n-th allocation fails, for all n: it is repeated, and LIVE or on its way
 * there in the end. */
static void test_sweep_allocations(void **state) {
  (void)state;
  for (size_t n = 1;; n++) {
    reflector_rig f;
    reflector_rig_init(&f, n);
    f.resource.stale_after_ms = 5000;
    if (reflector_rig_open(&f) == 0) {
      run_story(&f);
      assert_non_null(strstr(f.states, "live stale "));
      assert_true(lost_verifies(&f) > 1);
    } else {
      assert_null(f.reflector);
    }
    bool was_last = atomic_load(&f.vh.memory.calls) < n;
    reflector_rig_finish(&f);
    if (was_last) {
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_live),
      cmocka_unit_test(test_reconnecting),
      cmocka_unit_test(test_short_watch),
      cmocka_unit_test(test_short_watches_without_end),
      cmocka_unit_test(test_failing_once_for_long),
      cmocka_unit_test(test_failing_long),
      cmocka_unit_test(test_stale_while_waiting),
      cmocka_unit_test(test_turned_away),
      cmocka_unit_test(test_stopped),
      cmocka_unit_test(test_answered_wait_is_bounded),
      cmocka_unit_test(test_silent_but_up_to_date),
      cmocka_unit_test(test_silent_and_the_question_is_refused),
      cmocka_unit_test(test_silent_and_always_refused),
      cmocka_unit_test(test_silent_and_nothing_new),
      cmocka_unit_test(test_silent_and_behind),
      cmocka_unit_test(test_bytes_postpone_it),
      cmocka_unit_test(test_stopped_program),
      cmocka_unit_test(test_paused_watch),
      cmocka_unit_test(test_short_limit),
      cmocka_unit_test(test_verify_stays_live),
      cmocka_unit_test(test_verify_loses_the_position),
      cmocka_unit_test(test_verify_of_nonsense),
      cmocka_unit_test(test_own_verify_is_not_told),
      cmocka_unit_test(test_refused_verifies),
      cmocka_unit_test(test_sweep_closes),
      cmocka_unit_test(test_sweep_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
