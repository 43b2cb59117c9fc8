/* SPDX-License-Identifier: MIT */

/* A feed carries the machine's actions out in the order of the members of
 * kin__listwatch_actions: each alone does its own part, and all of them, given
 * at once, come in that order. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "feed/feed_core.h"
#include "support/virtual_host.h"

typedef struct rig {
  virtual_host vh;
  kin_feed feed;
  char done[512]; /* a word for each action; "+": the timer runs */
} rig;

static rig r;

static void note(const char *word) {
  size_t length = strlen(r.done);
  int n =
      snprintf(r.done + length, sizeof r.done - length, "%s%s%s",
               length > 0 ? " " : "", word, r.feed.timer.is_active ? "+" : "");
  assert_true(n > 0 && (size_t)n < sizeof r.done - length);
}

/* --- Around the feed ------------------------------------------------------ */

static int source_open(void *ctx, const kin_feed_request *request,
                       kin_feed *feed, void **answer) {
  (void)request;
  (void)feed;
  note("request");
  *answer = ctx;
  return 0;
}

static void source_cancel(void *ctx, void *answer) {
  assert_ptr_equal(ctx, answer);
  note("cancel");
}

static void source_pause(void *ctx, void *answer) {
  (void)ctx;
  (void)answer;
  note("hold");
}

static void source_resume(void *ctx, void *answer) {
  (void)ctx;
  (void)answer;
  note("continue");
}

static int on_event(kin_feed *feed, kin__decoded_type type,
                    kin_object *object) {
  (void)feed;
  (void)type;
  (void)object;
  return 0;
}

static void on_verified(kin_feed *feed, int code, const char *version) {
  (void)feed;
  assert_int_equal(code, KIN_EGONE);
  assert_string_equal(version, "20");
  note("verdict");
}

static void on_discarded(kin_feed *feed) {
  (void)feed;
  note("drop");
}

static void on_apply(kin_feed *feed) {
  (void)feed;
  note("apply");
}

static void on_ended(kin_feed *feed, const kin__failure *failure) {
  (void)feed;
  assert_int_equal(failure->code, KIN_EEOF);
  note("ended");
}

static void on_log(kin_log_level level, const char *line, void *data) {
  (void)data;
  if (strstr(line, "listing instead") != NULL) {
    note("gave-up");
  } else if (level == KIN_LOG_WARN) {
    note("report");
  }
}

static const kin__feed_owner owner = {.event = on_event,
                                      .verified = on_verified,
                                      .discarded = on_discarded,
                                      .apply = on_apply,
                                      .ended = on_ended};
static const kin__resource pods = {"", "v1", "pods", "", "", false};
static const kin__failure broken = {
    .code = KIN_EEOF, .error_class = KIN_CLASS_CONNECT, .retry_after_s = -1};

/* A feed with an open request and a running timer. */
static void begin(void) {
  static int answer;
  r = (rig){.done = ""};
  vh_init(&r.vh, 0);
  r.vh.log.cb = on_log;
  static const kin_lister_watcher source = {.size = sizeof source,
                                            .open = source_open,
                                            .cancel = source_cancel,
                                            .pause = source_pause,
                                            .resume = source_resume};
  kin__feed_options options = {.env = &r.vh.script.env,
                               .owner = &owner,
                               .source = &source,
                               .source_ctx = &answer,
                               .resource = &pods,
                               .namespace_ = ""};
  kin__feed_init(&r.feed, &options);
  kin__feed_start(&r.feed);
  kin__timer_start(r.vh.script.env.timers, &r.feed.timer, UINT64_MAX - 1);
  r.feed.is_verify_asked = true;
  assert_string_equal(r.done, "drop request");
  r.done[0] = '\0';
}

static void finish(void) {
  kin__feed_close(&r.feed);
  kin__feed_finish(&r.feed);
  vh_finish(&r.vh);
}

/* --- The actions ---------------------------------------------------------- */

typedef struct row {
  size_t offset; /* of the member */
  void (*set)(kin__listwatch_actions *actions);
  const char *done; /* alone */
} row;

static void set_verdict(kin__listwatch_actions *a) {
  a->verdict = (kin__verdict){true, KIN_EGONE, "20"};
}

static void set_cancel(kin__listwatch_actions *a) {
  a->cancel_request = true;
}

static void set_stop_timer(kin__listwatch_actions *a) {
  a->stop_timer = true;
}

static void set_drop(kin__listwatch_actions *a) {
  a->drop_stage = true;
}

static void set_hold(kin__listwatch_actions *a) {
  a->hold_request = true;
}

static void set_apply(kin__listwatch_actions *a) {
  a->apply_stage = true;
}

static void set_start_timer(kin__listwatch_actions *a) {
  a->start_timer = true;
  a->timer_ms = 1000;
}

static void set_report(kin__listwatch_actions *a) {
  a->report = KIN__REPORT_FAILURE;
}

static void set_gave_up(kin__listwatch_actions *a) {
  a->gave_up_stream = KIN__STREAM_SILENT;
}

static void set_ended(kin__listwatch_actions *a) {
  a->ended = true;
}

static void set_continue(kin__listwatch_actions *a) {
  a->continue_request = true;
}

static void set_request(kin__listwatch_actions *a) {
  a->request = (kin__listwatch_request){.kind = KIN__REQUEST_WATCH};
}

#define OF(member) offsetof(kin__listwatch_actions, member)

static const row rows[] = {
    {OF(verdict), set_verdict, "verdict+"},
    {OF(stop_timer), set_stop_timer, ""},
    {OF(drop_stage), set_drop, "drop+"},
    {OF(cancel_request), set_cancel, "cancel+"},
    {OF(hold_request), set_hold, "hold+"},
    {OF(apply_stage), set_apply, "apply+"},
    {OF(start_timer), set_start_timer, ""},
    {OF(report), set_report, "report+"},
    {OF(gave_up_stream), set_gave_up, "gave-up+"},
    {OF(ended), set_ended, "ended+"},
    {OF(continue_request), set_continue, "continue+"},
    {OF(request), set_request, "request+"},
};
#define ROWS (sizeof rows / sizeof rows[0])

static void test_each_alone(void **state) {
  (void)state;
  for (size_t i = 0; i < ROWS; i++) {
    kin__listwatch_actions actions = {.request.kind = KIN__REQUEST_NONE};
    begin();
    rows[i].set(&actions);
    kin__feed_act(&r.feed, &actions, &broken);
    assert_string_equal(r.done, rows[i].done);
    assert_int_equal(r.feed.timer.is_active, !actions.stop_timer);
    finish();
  }
}

/* The rows have every action, in the order of the members. From `drop` to
 * `apply` the timer has stopped and has not been started yet. */
static void test_all_at_once(void **state) {
  (void)state;
  kin__listwatch_actions actions = {.request.kind = KIN__REQUEST_NONE};
  begin();
  for (size_t i = 0; i < ROWS; i++) {
    assert_true(i == 0 || rows[i - 1].offset < rows[i].offset);
    rows[i].set(&actions);
  }
  kin__feed_act(&r.feed, &actions, &broken);
  assert_string_equal(r.done, "verdict+ drop cancel hold apply report+ "
                              "gave-up+ ended+ continue+ request+");
  finish();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_alone),
      cmocka_unit_test(test_all_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
