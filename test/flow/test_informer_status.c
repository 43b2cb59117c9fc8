/* SPDX-License-Identifier: MIT */

/* The reports of an informer on its scopes: kin_status, states and failures.
 * Proves the promises of kin_status, kin_state_cb, kin_error_cb and
 * kin_error_event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "informer/scope.h"
#include "support/informer_world.h"
#include "support/source_rig.h"

/* Ages, or NEVER. */
#define NEVER UINT64_MAX

static void expect_ages(const iw_world *w, uint64_t byte, uint64_t event,
                        uint64_t bookmark) {
  kin_status status = iw_status(w, NULL);
  assert_true(status.byte_age_ms == byte);
  assert_true(status.event_age_ms == event);
  assert_true(status.bookmark_age_ms == bookmark);
}

/* Each has a clock of its own: a byte is in all, an event is no bookmark. */
static void test_ages(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 1);
  expect_ages(&w, NEVER, NEVER, NEVER);
  mini_serve(&w.server);
  expect_ages(&w, 0, NEVER, NEVER);
  script_advance(&w.script, 1000);
  expect_ages(&w, 1000, NEVER, NEVER);
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  expect_ages(&w, 0, 0, NEVER);
  script_advance(&w.script, 20);
  mini_bookmark(&w.server);
  expect_ages(&w, 0, 20, 0);
  script_advance(&w.script, 3);
  mini_put(&w.server, 1);
  mini_serve(&w.server);
  expect_ages(&w, 0, 0, 3);
  assert_int_equal(iw_status(&w, NULL).events, 2);
  assert_int_equal(iw_status(&w, NULL).bookmarks, 1);
  iw_finish(&w);
}

/* The status counts the objects of a list that is not complete yet. */
static void test_staged(void **state) {
  (void)state;
  static const char half[] =
      "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":["
      "{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}},";
  static const char rest[] = "{\"metadata\":{\"name\":\"c\"}}]}";
  iw_world w;
  iw_open_objects(&w, 0);
  assert_true(script_head(&w.script, "/pods", 200));
  assert_true(script_body(&w.script, "/pods", half, sizeof half - 1));
  kin_status status = iw_status(&w, NULL);
  assert_int_equal(status.staged, 2);
  assert_int_equal(status.state, KIN_STATE_SYNCING);
  assert_false(status.has_synced);
  assert_string_equal(status.resource_version, "");
  assert_true(script_body(&w.script, "/pods", rest, sizeof rest - 1));
  assert_true(script_end(&w.script, "/pods?"));
  status = iw_status(&w, NULL);
  assert_int_equal(status.staged, 0);
  assert_int_equal(status.lists, 1);
  assert_int_equal(status.relists, 0);
  assert_true(status.has_synced);
  assert_string_equal(status.resource_version, "5");
  assert_int_equal(status.received_bytes, strlen(half) + strlen(rest));
  iw_finish(&w);
}

/* --- Failures ------------------------------------------------------------- */

/* The class and code of the last one stay; those in a row are counted until
 * something comes. */
static void test_last_error(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  assert_int_equal(iw_status(&w, NULL).last_error_class, KIN_CLASS_NONE);
  assert_int_equal(iw_status(&w, NULL).last_error_status, 0);
  for (uint32_t i = 1; i <= 3; i++) {
    script_respond(&w.script, "/pods", 503, "");
    assert_int_equal(iw_status(&w, NULL).failures, i);
    assert_int_equal(iw_status(&w, NULL).last_error_class, KIN_CLASS_SERVER);
    assert_int_equal(iw_status(&w, NULL).last_error_status, 503);
    while (script_open_requests(&w.script) == 0) {
      script_advance(&w.script, 100);
    }
  }
  script_break(&w.script, "/pods", KIN_ERESOLVE, KIN_CLASS_DNS);
  assert_int_equal(iw_status(&w, NULL).failures, 4);
  assert_int_equal(iw_status(&w, NULL).last_error_class, KIN_CLASS_DNS);
  assert_int_equal(iw_status(&w, NULL).last_error_status, 0);
  mini_pass(&w.server, 60000);
  assert_int_equal(iw_status(&w, NULL).failures, 0);
  assert_int_equal(iw_status(&w, NULL).last_error_class, KIN_CLASS_DNS);
  iw_finish(&w);
}

typedef struct failures {
  iw_world w;
  uint32_t attempts[8];
  uint64_t retry_in_ms[8];
  char namespaces[8][16];
  char messages[8][128];
  int count;
} failures;

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  failures *f = data;
  assert_ptr_equal(informer, f->w.informer);
  assert_true(f->count < 8);
  assert_true(event->code < 0);
  assert_int_not_equal(event->error_class, KIN_CLASS_NONE);
  assert_non_null(event->reason);
  assert_int_equal(event->answer, KIN_RETRY);
  f->attempts[f->count] = event->attempt;
  f->retry_in_ms[f->count] = event->retry_in_ms;
  snprintf(f->namespaces[f->count], sizeof f->namespaces[0], "%s",
           event->namespace_);
  snprintf(f->messages[f->count], sizeof f->messages[0], "%s", event->message);
  f->count++;
}

/* The next attempt is made when it was said, not before; message and event name
 * the scope. */
static void test_attempts(void **state) {
  (void)state;
  static const char *const namespaces[] = {"even", "odd"};
  failures f = {.count = 0};
  iw_init(&f.w, 0);
  kin_informer_options options = iw_options(&f.w);
  options.namespaces = namespaces;
  options.namespace_count = 2;
  options.on_error = on_error;
  options.on_state = NULL;
  options.data = &f;
  assert_int_equal(iw_open(&f.w, &options), 0);
  script_expect(&f.w.script, "/even/")->is_paused = true;
  for (int i = 0; i < 4; i++) {
    script_respond(&f.w.script, "/odd/", 500, "");
    assert_int_equal(f.count, i + 1);
    assert_int_equal(f.attempts[i], i + 1);
    assert_string_equal(f.namespaces[i], "odd");
    assert_string_equal(
        f.messages[i], "list of pods in odd: the server had an internal error");
    assert_true(f.retry_in_ms[i] > 1);
    script_advance(&f.w.script, f.retry_in_ms[i] - 1);
    assert_null(script_find(&f.w.script, "/odd/"));
    script_advance(&f.w.script, 1);
    assert_non_null(script_find(&f.w.script, "/odd/"));
  }
  iw_finish(&f.w);
}

/* The most that an answer can put an attempt off is a day. */
static void next_year(kin_informer *informer, kin_error_event *event,
                      void *data) {
  (void)informer;
  (void)data;
  event->answer = KIN_RETRY_AFTER;
  event->retry_after_ms = UINT64_MAX;
}

static void test_longest_wait(void **state) {
  (void)state;
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  options.on_error = next_year;
  assert_int_equal(iw_open(&w, &options), 0);
  script_respond(&w.script, "/pods", 500, "");
  script_advance(&w.script, UINT64_C(24) * 3600 * 1000 - 1);
  assert_int_equal(script_open_requests(&w.script), 0);
  script_advance(&w.script, 1);
  assert_int_equal(script_open_requests(&w.script), 1);
  iw_finish(&w);
}

/* A watch that breaks is made again at once. If that cannot even be asked for,
 * there are two failures before anybody can be told: the last is, and both are
 * counted. */
static void test_two_failures_at_once(void **state) {
  (void)state;
  source_rig rig;
  source_rig_open_watching(&rig);
  hand_source_event(&rig.source, KIN_WATCH_ADDED, "b@6");
  script_advance(&rig.vh.script, 5000);
  rig.source.fail_opens = 1;
  rig.source.open_error = UV_ENETDOWN;
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.code = KIN_EEOF;
  error.message = "gone";
  rig.source.is_open = false;
  assert_int_equal(kin_feed_fail(rig.source.feed, &error, false), 0);
  assert_int_equal(rig.errors, 0); /* not inside the call */
  script_run(&rig.vh.script);
  assert_int_equal(rig.errors, 1);
  assert_int_equal(rig.error.code, UV_ENETDOWN);
  assert_int_equal(rig.error.attempt, 2);
  kin_informer_metrics metrics = KIN_INFORMER_METRICS_INIT;
  assert_int_equal(kin_informer_get_metrics(rig.informer, &metrics), 0);
  uint64_t all = 0;
  for (int i = 0; i < KIN_ERROR_CLASSES; i++) {
    all += metrics.failures[i];
  }
  assert_int_equal(all, 2);
  source_rig_close(&rig);
}

/* Whatever a source says, a message is one line. */
static void test_message_is_one_line(void **state) {
  (void)state;
  source_rig rig;
  source_rig_open_watching(&rig);
  kin_feed_error error = KIN_FEED_ERROR_INIT;
  error.code = KIN_EEOF;
  error.message = "one\ntwo";
  rig.source.is_open = false;
  assert_int_equal(kin_feed_fail(rig.source.feed, &error, false), 0);
  script_run(&rig.vh.script);
  assert_int_equal(rig.errors, 1);
  assert_non_null(strstr(rig.message, "one two"));
  assert_null(strchr(rig.message, '\n'));
  source_rig_close(&rig);
}

/* --- The log -------------------------------------------------------------- */

typedef struct lines {
  iw_world w; /* data of its callbacks */
  kin__log log;
  int count;
} lines;

static void on_line(kin_log_level level, const char *line, void *data) {
  (void)level;
  ((lines *)data)->count++;
  if (strstr(line, "c0nfidential") != NULL) {
    fail_msg("a body is in the log: %s", line);
  }
}

static int refuse(const kin_object *in, kin_object_builder *out, void *data) {
  (void)in;
  (void)out;
  (void)data;
  return KIN_EUNEXPECTED;
}

#define FRAME(type, object)                                                    \
  "{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"a\","           \
  "\"uid\":\"1\",\"resourceVersion\":\"6\"}" object "}\n"

/* Whatever goes wrong with an object, its content is in no line. */
static void test_log_has_no_bodies(void **state) {
  (void)state;
  static const char *const frames[] = {
      FRAME("ADDED", ",\"x\":\"c0nfidential\"}"),
      FRAME("DELETED", ",\"x\":\"c0nfidential\"}"),
      FRAME("NONSENSE", ",\"x\":\"c0nfidential\"}"),
      FRAME("ADDED", ",\"x\":\"c0nfidential}"),
      FRAME("ADDED", ",\"c0nfidential\":]}"),
      "{\"type\":\"ADDED\",\"object\":{\"x\":\"c0nfidential\"}}\n",
      "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Table\",\"x\":"
      "\"c0nfidential\"}}\n",
      "{\"type\":\"ADDED\",\"object\":\"c0nfidential\"}\n",
      "c0nfidential\n",
      FRAME("ADDED", ",\"x\":\"c0nfidential, and over 100 bytes: ............."
                     "...................................................\"}")};
  for (int refuses = 0; refuses < 2; refuses++) {
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
      lines l = {.count = 0};
      iw_init(&l.w, 0);
      l.log = (kin__log){on_line, &l, KIN_LOG_DEBUG, NULL};
      l.w.script.env.log = &l.log;
      kin_informer_options options = iw_options(&l.w);
      options.on_error = NULL;
      options.max_object_bytes = 150;
      options.transform = refuses ? refuse : NULL;
      assert_int_equal(iw_open(&l.w, &options), 0);
      script_respond(&l.w.script, "/pods?", 200,
                     "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":"
                     "[{\"metadata\":{\"name\":\"b\"},\"x\":"
                     "\"c0nfidential\"}]}");
      script_head(&l.w.script, "watch=true", 200);
      script_body(&l.w.script, "watch=true", frames[i], strlen(frames[i]));
      script_advance(&l.w.script, 2000);
      assert_true(l.count > 3);
      iw_finish(&l.w);
    }
  }
}

/* --- States --------------------------------------------------------------- */

typedef struct changes {
  iw_world w;
  char log[1024];
} changes;

static void on_state(kin_informer *informer, const char *namespace_,
                     kin_state from, kin_state to, void *data) {
  changes *c = data;
  assert_ptr_equal(informer, c->w.informer);
  size_t length = strlen(c->log);
  snprintf(c->log + length, sizeof c->log - length, "%s:%s-%s ", namespace_,
           kin_state_name(from), kin_state_name(to));
}

static void open_changes(changes *c, const char *const *namespaces,
                         size_t count) {
  iw_init(&c->w, 0);
  c->log[0] = '\0';
  kin_informer_options options = iw_options(&c->w);
  options.namespaces = namespaces;
  options.namespace_count = count;
  options.on_state = on_state;
  options.on_error = NULL; /* retried all the same */
  options.data = c;
  assert_int_equal(iw_open(&c->w, &options), 0);
}

/* Each change of each scope, with its name; "" for all namespaces. */
static void test_states(void **state) {
  (void)state;
  static const char *const namespaces[] = {"even", "odd"};
  changes c;
  open_changes(&c, namespaces, 2);
  assert_string_equal(c.log, ""); /* not inside kin_informer_start */
  script_run(&c.w.script);
  assert_string_equal(c.log, "even:idle-syncing odd:idle-syncing ");
  c.log[0] = '\0';
  script_respond(&c.w.script, "/odd/", 403, "");
  assert_string_equal(c.log, "odd:syncing-denied ");
  c.log[0] = '\0';
  mini_pass(&c.w.server, 60000);
  assert_non_null(strstr(c.log, "even:syncing-live "));
  assert_non_null(strstr(c.log, "odd:denied-"));
  assert_non_null(strstr(c.log, "-live "));
  iw_finish(&c.w);

  open_changes(&c, NULL, 0);
  mini_serve(&c.w.server);
  assert_string_equal(c.log, ":idle-syncing :syncing-live ");
  iw_finish(&c.w);
}

/* Without success for a minute, to the millisecond. */
static void test_stale_after_a_minute(void **state) {
  (void)state;
  iw_world w;
  iw_open_objects(&w, 0);
  mini_serve(&w.server);
  script_advance(&w.script, 5000);
  script_break(&w.script, "watch=true", KIN_EEOF, KIN_CLASS_CONNECT);
  uint64_t began_ns = w.script.now_ns;
  while (w.script.now_ns - began_ns < UINT64_C(59999) * 1000000) {
    if (script_find(&w.script, "/pods") != NULL) {
      script_break(&w.script, "/pods", KIN_EEOF, KIN_CLASS_CONNECT);
    }
    assert_int_equal(iw_status(&w, NULL).state, KIN_STATE_RECONNECTING);
    script_advance(&w.script, 1);
  }
  assert_int_equal(iw_status(&w, NULL).state, KIN_STATE_RECONNECTING);
  script_advance(&w.script, 1);
  assert_int_equal(iw_status(&w, NULL).state, KIN_STATE_STALE);
  mini_pass(&w.server, 10000);
  assert_int_equal(iw_status(&w, NULL).state, KIN_STATE_LIVE);
  iw_finish(&w);
}

/* IDLE before the start, and again from the call that closes. */
static void test_idle(void **state) {
  (void)state;
  static const kin_state expected[] = {KIN_STATE_IDLE, KIN_STATE_SYNCING,
                                       KIN_STATE_LIVE, KIN_STATE_IDLE};
  iw_world w;
  iw_init(&w, 0);
  kin_informer_options options = iw_options(&w);
  iw_open_only(&w, &options);
  for (size_t i = 0; i < 4; i++) {
    if (i == 1) {
      assert_int_equal(kin_informer_start(w.informer), 0);
    } else if (i == 2) {
      mini_serve(&w.server);
    } else if (i == 3) {
      assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
    }
    assert_int_equal(iw_status(&w, NULL).state, expected[i]);
  }
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_informer_get_status(w.informer, "none", &status),
                   KIN_ENOENT);
  script_run(&w.script);
  assert_int_equal(w.closed, 1);
  assert_int_equal(w.states, 2); /* nothing is told any more */
  iw_finish(&w);
}

typedef struct endings {
  iw_world w;
  char log[64];
} endings;

static void on_version(kin_informer *informer, int code, const char *version,
                       void *data) {
  assert_ptr_equal(informer, ((endings *)data)->w.informer);
  assert_int_equal(code, KIN_ECLOSED);
  assert_string_equal(version, "999");
  strcat(((endings *)data)->log, "version ");
}

static void on_closed_by_call(void *data) {
  strcat(((endings *)data)->log, "call ");
}

static void on_closed_of_options(void *data) {
  strcat(((endings *)data)->log, "options ");
}

/* The callbacks of the end come in this order, and not inside the call. */
static void test_end(void **state) {
  (void)state;
  endings e = {.log = ""};
  iw_init(&e.w, 0);
  kin_informer_options options = iw_options(&e.w);
  options.on_error = NULL;
  options.on_state = NULL;
  options.on_closed = on_closed_of_options;
  options.data = &e;
  assert_int_equal(iw_open(&e.w, &options), 0);
  assert_int_equal(
      kin_informer_wait_version(e.w.informer, "", "999", 0, on_version, &e), 0);
  mini_put_first(&e.w.server, 20);
  mini_serve(&e.w.server);
  assert_int_equal(kin_informer_close(e.w.informer, on_closed_by_call, &e), 0);
  assert_string_equal(e.log, "");
  while (strstr(e.log, "call") == NULL) { /* step by step */
    kin_informer_metrics metrics = iw_metrics(&e.w);
    assert_int_equal(metrics.lists, 1);
    assert_int_equal(metrics.delivered, 21);
    assert_int_equal(iw_status(&e.w, NULL).lists, 1);
    double version;
    assert_true(kin_informer_version_gauge(e.w.informer, "", &version));
    assert_true(kin_informer_has_synced(e.w.informer));
    if (!kin__sched_run(&e.w.script.sched, 0)) {
      script_run(&e.w.script);
    }
  }
  assert_string_equal(e.log, "version call options ");
  e.w.closed = 1;
  iw_finish(&e.w);
}

/* Of more than four changes that nobody could be told in between, the middle
 * ones are left out: each still begins where the one before it ended, or is the
 * last. */
static void test_many_states(void **state) {
  (void)state;
  changes c;
  open_changes(&c, NULL, 0);
  mini_serve(&c.w.server);
  c.log[0] = '\0';
  kin_feed *feed = &kin__scopes_only(&c.w.informer->scopes)->feed;
  for (int i = KIN_STATE_LIVE; i < KIN_STATE_ABSENT; i++) {
    kin__notice_state(feed, (kin_state)i, (kin_state)(i + 1));
  }
  kin__notice_state(feed, KIN_STATE_ABSENT, KIN_STATE_LIVE);
  script_run(&c.w.script);
  assert_string_equal(c.log, ":live-reconnecting :reconnecting-stale "
                             ":stale-denied :denied-live ");
  iw_finish(&c.w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ages),
      cmocka_unit_test(test_staged),
      cmocka_unit_test(test_last_error),
      cmocka_unit_test(test_attempts),
      cmocka_unit_test(test_longest_wait),
      cmocka_unit_test(test_two_failures_at_once),
      cmocka_unit_test(test_message_is_one_line),
      cmocka_unit_test(test_log_has_no_bodies),
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_stale_after_a_minute),
      cmocka_unit_test(test_idle),
      cmocka_unit_test(test_end),
      cmocka_unit_test(test_many_states),
  };
  return cmocka_run_group_tests_name("informer_status", tests, NULL, NULL);
}
