/* SPDX-License-Identifier: MIT */

/* The retry watcher on a virtual clock: what is asked for and when, what is
 * shown and what ends it. Proves TW-01 to TW-04. Pausing, closing and sources
 * of the program's own are in test_retry_watcher_close.c, the decisions alone
 * in test_listwatch.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/retry_world.h"

/* --- What is asked for ---------------------------------------------------- */

/* TW-01. client-go TestNewRetryWatcher: the versions "" and "0" are refused. So
 * is what would have no effect. */
static void test_retry_watcher_refuses(void **state) {
  (void)state;
  static const char *const versions[] = {
      "", "0", NULL,
      "1234567890123456789012345678901234567890123456789012345678901234"};
  retry_world w;
  rw_init(&w, NULL, 0);
  for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
    w.options.resource_version = versions[i];
    assert_int_equal(rw_try_open(&w), KIN_EINVAL);
    assert_null(w.watcher);
  }
  w.options.resource_version = "1";
  w.options.on_event = NULL;
  assert_int_equal(rw_try_open(&w), KIN_EINVAL);
  w.options.on_event = watch_log_on_event;
  w.options.timeout_s = 86401;
  assert_int_equal(rw_try_open(&w), KIN_EINVAL);
  w.options.timeout_s = 0;
  w.resource.resync_ms = 1000;
  assert_int_equal(rw_try_open(&w), KIN_EINVAL);
  w.resource.resync_ms = 0;
  const char *const namespaces[] = {"a", "b"};
  w.resource.namespaces = namespaces;
  w.resource.namespace_count = 2;
  assert_int_equal(rw_try_open(&w), KIN_EINVAL);
  w.resource.namespace_count = 0;
  w.resource.plural = NULL;
  assert_int_equal(rw_try_open(&w), KIN_EINVAL);
  w.resource.plural = "pods";
  w.options.resource = NULL;
  assert_int_equal(rw_try_open(&w), KIN_EINVAL);
  w.options.resource = &w.resource;
  w.options.size = 4;
  assert_int_equal(rw_try_open(&w), KIN_EINVAL);
  struct {
    kin_retry_watcher_options options;
    char newer[8];
  } future = {.options = w.options, .newer = "x"};
  future.options.size = sizeof future;
  assert_int_equal(
      kin__retry_watcher_open(&w.watcher, &w.vh.host, &future.options),
      KIN_ENOTSUP);
  vh_close(&w.vh);
  w.options.size = sizeof w.options;
  assert_int_equal(rw_try_open(&w), KIN_ECLOSED);
  rw_expect_none(&w);
  vh_finish(&w.vh);
}

/* TW-01: bookmarks are asked for, a limit in time is not. */
static void test_retry_watcher_request(void **state) {
  (void)state;
  retry_world w;
  rw_init(&w, "5", 0);
  const char *const namespaces[] = {"ns"};
  w.resource.group = "apps";
  w.resource.plural = "deployments";
  w.resource.namespaces = namespaces;
  w.resource.namespace_count = 1;
  w.resource.label_selector = "app=web";
  w.resource.field_selector = "metadata.name=x";
  assert_int_equal(rw_try_open(&w), 0);
  assert_string_equal(
      script_expect(&w.vh.script, "watch")->target,
      "/apis/apps/v1/namespaces/ns/deployments?allowWatchBookmarks=true&"
      "fieldSelector=metadata.name%3Dx&labelSelector=app%3Dweb&"
      "resourceVersion=5&watch=true");
  rw_finish(&w);
}

/* The option for a limit: a server that does not keep it is not waited for. */
static void test_retry_watcher_time_limit(void **state) {
  (void)state;
  retry_world w;
  rw_init(&w, "5", 0);
  w.options.timeout_s = 60;
  assert_int_equal(rw_try_open(&w), 0);
  script_expect(&w.vh.script, "&timeoutSeconds=60&");
  rw_head(&w);
  rw_send(&w, RW_FRAME("ADDED", RW_OBJECT("6")));
  script_advance(&w.vh.script, 89999);
  rw_expect_request(&w, "5");
  script_advance(&w.vh.script, 1);
  rw_expect_request(&w, "6");
  assert_int_equal(w.vh.script.request_count, 2);
  watch_log_expect(&w.log, "A:x@6 ");
  rw_finish(&w);
}

/* --- client-go's table ---------------------------------------------------- */

typedef struct scenario {
  const char *name;
  const char *version;
  const char *first;     /* what the first request is refused with: a status, or
                          * "drop"; NULL: nothing */
  const char *events[8]; /* a version, or "STATUS code reason" as ERROR */
  int close_after;       /* events; 0: never */
  unsigned requests;
  const char *expected;
} scenario;

#define FORBIDDEN RW_STATUS("403", "Forbidden")

static const scenario scenarios[] = {
    {"recovers if the request fails", "1", "drop", {"2"}, 0, 2, "! A:x@2 "},
    {"recovers from 410 in answer to the request",
     "1",
     "410 Expired",
     {"2"},
     0,
     2,
     "! A:x@2 "},
    {"recovers from 500 in answer to the request",
     "1",
     "500 InternalError",
     {"2"},
     0,
     2,
     "! A:x@2 "},
    {"works", "1", NULL, {"2"}, 0, 1, "A:x@2 "},
    {"skips what precedes", "1", NULL, {"1", "2"}, 0, 1, "A:x@2 "},
    {"skips all, if nothing follows", "3", NULL, {"2"}, 0, 1, ""},
    {"fails on Gone",
     "5",
     NULL,
     {"5", "6", "STATUS 410 Gone", "7", "8"},
     0,
     1,
     "A:x@6 E:410/Gone end:EGONE "},
    {"fails on Forbidden",
     "5",
     "403 Forbidden",
     {NULL},
     0,
     1,
     "E:403/Forbidden end:ESTATUS "},
    {"fails on Unauthorized",
     "5",
     "401 Unauthorized",
     {NULL},
     0,
     1,
     "E:401/Unauthorized end:ESTATUS "},
    {"recovers from a time-out",
     "5",
     NULL,
     {"6", "STATUS 504 Timeout", "7"},
     0,
     2,
     "A:x@6 ! A:x@7 "},
    {"recovers from an internal error",
     "5",
     NULL,
     {"6", "STATUS 500 InternalError", "7"},
     0,
     2,
     "A:x@6 ! A:x@7 "},
    {"recovers from an unknown code",
     "5",
     NULL,
     {"6", "STATUS 666 ", "7"},
     0,
     2,
     "A:x@6 ! A:x@7 "},
    {"recovers from an error that is no Status",
     "5",
     NULL,
     {"6", "ERROR", "7"},
     0,
     2,
     "A:x@6 ! A:x@7 "},
    {"survives 1 end and reads 1 item", "5", NULL, {"6"}, 1, 2, "A:x@6 "},
    {"survives 2 ends and reads 2 items",
     "4",
     NULL,
     {"5", "6"},
     1,
     3,
     "A:x@5 A:x@6 "},
    {"... of versions with gaps", "4", NULL, {"5", "7"}, 1, 3, "A:x@5 A:x@7 "},
    {"... that begin much later", "2", NULL, {"5", "7"}, 1, 3, "A:x@5 A:x@7 "},
    {"survives 4 ends and reads 4 items",
     "2",
     NULL,
     {"5", "6", "7", "11"},
     1,
     5,
     "A:x@5 A:x@6 A:x@7 A:x@11 "},
    {"... and skips lower and equal versions",
     "2",
     NULL,
     {"1", "2", "5", "6", "7", "11"},
     1,
     5,
     "A:x@5 A:x@6 A:x@7 A:x@11 "},
    {"survives 2 ends and reads 2, 2 and 1",
     "1",
     NULL,
     {"1", "2", "5", "6", "7", "11"},
     2,
     3,
     "A:x@2 A:x@5 A:x@6 A:x@7 A:x@11 "},
};

static void refuse(retry_world *w, const char *how) {
  if (strcmp(how, "drop") == 0) {
    rw_break(w);
    return;
  }
  char body[256];
  snprintf(body, sizeof body, RW_STATUS("%d", "%s"), atoi(how),
           strchr(how, ' ') + 1);
  rw_respond(w, atoi(how), body);
}

/* Returns false if the watch is over. */
static bool send_one(retry_world *w, const char *event) {
  char frame[256];
  if (strcmp(event, "ERROR") == 0) {
    snprintf(frame, sizeof frame, RW_FRAME("ERROR", "{\"kind\":\"Odd\"}"));
  } else if (strncmp(event, "STATUS ", 7) == 0) {
    snprintf(frame, sizeof frame, RW_FRAME("ERROR", RW_STATUS("%d", "%s")),
             atoi(event + 7), strchr(event + 7, ' ') + 1);
  } else {
    snprintf(frame, sizeof frame, RW_FRAME("ADDED", RW_OBJECT("%s")), event);
  }
  return rw_send(w, frame);
}

/* Errors come only after an event that the request has not seen. */
static void serve_scenario(retry_world *w, const scenario *s) {
  script_request *request = script_find(&w->vh.script, "watch=true");
  int after = atoi(strstr(request->target, "resourceVersion=") + 16);
  int sent = 0;
  rw_head(w);
  for (size_t i = 0; i < 8 && s->events[i] != NULL; i++) {
    bool is_error = s->events[i][0] > '9';
    if (is_error ? sent == 0 : atoi(s->events[i]) <= after) {
      continue;
    }
    if (!send_one(w, s->events[i])) {
      return;
    }
    sent++;
    if (sent == s->close_after) {
      rw_end(w);
      return;
    }
  }
}

/* TW-01, TW-02, TW-03, TW-04. client-go TestRetryWatcher: its table. */
static void test_retry_watcher_scenarios(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
    const scenario *s = &scenarios[i];
    retry_world w;
    rw_open(&w, s->version);
    bool is_refused = s->first != NULL;
    if (is_refused) {
      refuse(&w, s->first);
    }
    for (unsigned served = is_refused; served < s->requests; served++) {
      script_advance(&w.vh.script, 1000);
      assert_int_equal(w.vh.script.request_count, served + 1);
      serve_scenario(&w, s);
    }
    script_advance(&w.vh.script, 10000);
    if (w.vh.script.request_count != s->requests) {
      fail_msg("%s: %u requests", s->name, w.vh.script.request_count);
    }
    watch_log_expect(&w.log, s->expected);
    rw_finish(&w);
  }
}

/* --- When ----------------------------------------------------------------- */

/* TW-02: a second between two beginnings, whatever came in between. */
static void test_retry_watcher_restarts(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "5");
  rw_head(&w);
  script_advance(&w.vh.script, 400);
  rw_end(&w);
  script_advance(&w.vh.script, 599);
  rw_expect_none(&w);
  script_advance(&w.vh.script, 1);
  rw_expect_request(&w, "5");
  /* A request that is refused at once is no storm either. */
  rw_break(&w);
  assert_int_equal(w.log.retry_in_ms, 1000);
  script_advance(&w.vh.script, 999);
  rw_expect_none(&w);
  script_advance(&w.vh.script, 1);
  rw_expect_request(&w, "5");
  rw_head(&w);
  /* One that was well for a second is resumed without a pause. */
  script_advance(&w.vh.script, 1000);
  rw_end(&w);
  rw_expect_request(&w, "5");
  rw_head(&w);
  script_advance(&w.vh.script, 3600000);
  rw_break(&w);
  assert_int_equal(w.log.retry_in_ms, 0);
  rw_expect_request(&w, "5");
  watch_log_expect(&w.log, "! ! ");
  rw_finish(&w);
}

/* TW-04: what the server asks for is more than a second. */
static void test_retry_watcher_retry_after(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "5");
  rw_head(&w);
  script_advance(&w.vh.script, 5000);
  static const char busy[] =
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":429,"
      "\"reason\":\"TooManyRequests\",\"message\":\"busy\","
      "\"details\":{\"retryAfterSeconds\":7}}";
  char frame[256];
  snprintf(frame, sizeof frame, RW_FRAME("ERROR", "%s"), busy);
  assert_false(rw_send(&w, frame));
  assert_int_equal(w.log.retry_in_ms, 7000);
  script_advance(&w.vh.script, 6999);
  rw_expect_none(&w);
  script_advance(&w.vh.script, 1);
  rw_expect_request(&w, "5");
  rw_respond(&w, 429, busy);
  assert_int_equal(w.log.retry_in_ms, 7000);
  /* The program knows better. */
  w.log.answer = KIN_RETRY_AFTER;
  w.log.retry_after_ms = 20000;
  script_advance(&w.vh.script, 7000);
  rw_respond(&w, 429, busy);
  script_advance(&w.vh.script, 19999);
  rw_expect_none(&w);
  script_advance(&w.vh.script, 1);
  rw_expect_request(&w, "5");
  watch_log_expect(&w.log, "! ! ! ");
  rw_finish(&w);
}

/* A watch that was open for a while is requested again before the program is
 * told that it broke: an answered wait comes too late. */
static void test_retry_watcher_waits_only_before_a_request(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "5");
  rw_head(&w);
  script_advance(&w.vh.script, 5000);
  w.log.answer = KIN_RETRY_AFTER;
  w.log.retry_after_ms = 20000;
  w.log.retry_in_ms = 1;
  rw_break(&w);
  watch_log_expect(&w.log, "! ");
  assert_int_equal(w.log.retry_in_ms, 0);
  rw_expect_request(&w, "5");
  rw_head(&w);
  script_advance(&w.vh.script, 60000);
  rw_expect_request(&w, "5");
  watch_log_expect(&w.log, "");
  rw_finish(&w);
}

/* --- Bookmarks and versions ----------------------------------------------- */

/* TW-01: they move the position, and are shown if that is wanted. */
static void test_retry_watcher_bookmarks(void **state) {
  (void)state;
  for (int is_forwarded = 0; is_forwarded < 2; is_forwarded++) {
    retry_world w;
    rw_init(&w, "5", 0);
    w.options.forward_bookmarks = is_forwarded != 0;
    assert_int_equal(rw_try_open(&w), 0);
    assert_string_equal(kin_retry_watcher_resource_version(w.watcher), "5");
    rw_head(&w);
    rw_send(&w, RW_FRAME("MODIFIED", RW_OBJECT("6"))
                    RW_FRAME("BOOKMARK", RW_OBJECT("9")));
    watch_log_expect(&w.log, is_forwarded ? "M:x@6 B:@9 " : "M:x@6 ");
    assert_string_equal(kin_retry_watcher_resource_version(w.watcher), "9");
    script_advance(&w.vh.script, 1000);
    rw_end(&w);
    rw_expect_request(&w, "9");
    rw_head(&w);
    rw_send(&w, RW_FRAME("DELETED", RW_OBJECT("12")));
    watch_log_expect(&w.log, "D:x@12 ");
    assert_string_equal(kin_retry_watcher_resource_version(w.watcher), "12");
    rw_finish(&w);
  }
}

/* TW-04: an event without a version ("0" is none), or of an unknown type, is the
 * end: to skip it might skip data. What came before it is shown. */
static void test_retry_watcher_misplaced_events(void **state) {
  (void)state;
  static const char *const frames[] = {
      RW_FRAME("ADDED", "{\"metadata\":{\"name\":\"x\"}}"),
      RW_FRAME("ADDED", RW_OBJECT("")),
      RW_FRAME("ADDED", "{\"metadata\":{\"resourceVersion\":\"7\"}}"),
      RW_FRAME(
          "ADDED",
          RW_OBJECT("1234567890123456789012345678901234567890123456789012345678"
                    "901234")),
      RW_FRAME("BOOKMARK", "{\"metadata\":{}}"),
      RW_FRAME("RENAMED", RW_OBJECT("7")),
      "{\"object\":" RW_OBJECT("7") "}",
      "[]",
      RW_FRAME("ADDED", RW_OBJECT("0")),
      RW_FRAME("BOOKMARK", RW_OBJECT("0")),
  };
  for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
    retry_world w;
    rw_open(&w, "5");
    rw_head(&w);
    char body[512];
    snprintf(body, sizeof body, RW_FRAME("ADDED", RW_OBJECT("6")) "%s",
             frames[i]);
    assert_false(rw_send(&w, body));
    assert_string_equal(kin_retry_watcher_resource_version(w.watcher), "6");
    bool has_name = strstr(frames[i], "\"name\"") != NULL || i >= 4;
    watch_log_expect(&w.log, has_name
                                 ? "A:x@6 E:500/InternalError end:EUNEXPECTED "
                                 : "A:x@6 E:500/InternalError end:EKEY ");
    script_advance(&w.vh.script, 60000);
    rw_expect_none(&w);
    rw_finish(&w);
  }
}

/* WS-05: what cannot be decoded may have been a fault on the way. */
static void test_retry_watcher_garbage(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "5");
  rw_head(&w);
  assert_false(rw_send(&w, RW_FRAME("ADDED", RW_OBJECT("6")) "{\"type\":}"));
  script_advance(&w.vh.script, 1000);
  rw_expect_request(&w, "6");
  rw_head(&w);
  rw_send(&w, "{\"type\":\"ADDED\",\"obj");
  rw_end(&w);
  script_advance(&w.vh.script, 1000);
  rw_expect_request(&w, "6");
  watch_log_expect(&w.log, "A:x@6 ! ! ");
  rw_finish(&w);
}

/* --- Other ends ----------------------------------------------------------- */

/* The program may end it, too; what it knows then is no event. */
static void test_retry_watcher_stopped_by_on_error(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "5");
  w.log.answer = KIN_STOP;
  rw_head(&w);
  kin_retry_watcher_pause(w.watcher);
  rw_send(&w, RW_FRAME("ADDED", RW_OBJECT("6"))
                  RW_FRAME("ERROR", RW_STATUS("500", "Odd")));
  watch_log_expect(&w.log, "! ");
  kin_retry_watcher_resume(w.watcher);
  script_run(&w.vh.script);
  watch_log_expect(&w.log, "A:x@6 end:ESTATUS ");
  assert_non_null(
      strstr(w.vh.text, "W pods: on_error stopped it; it is over\n"));
  script_advance(&w.vh.script, 60000);
  rw_expect_none(&w);
  rw_finish(&w);
}

#define LARGE(name)                                                            \
  RW_FRAME("ADDED", "{\"metadata\":{\"name\":\"" name                          \
                    "\",\"resourceVersion\":\"6\"},\"x\":\"%300s\"}")

static void pause_at_report(watch_log *log) {
  retry_world *w = log->data;
  if (log->failures == 2) {
    kin_retry_watcher_pause(w->watcher);
  }
}

static void close_at_report(watch_log *log) {
  retry_world *w = log->data;
  if (log->failures == 2) {
    log->is_over = true;
    assert_int_equal(kin_retry_watcher_close(w->watcher, NULL, NULL), 0);
  }
}

static void send_large(retry_world *w, const char *format) {
  char frame[512];
  snprintf(frame, sizeof frame, format, "");
  assert_true(rw_send(w, frame));
}

/* The next report is a second away. */
static void open_with_report(retry_world *w) {
  rw_init(w, "5", 0);
  w->options.without_retry = true;
  w->resource.max_object_bytes = 200;
  w->log.data = w;
  assert_int_equal(rw_try_open(w), 0);
  rw_head(w);
  send_large(w, LARGE("a"));
  watch_log_expect(&w->log, "! A:a@6 ");
}

/* Reports of cut objects come a second apart; the end does not wait for that,
 * so what is not reported yet comes right before it. on_error may pause or
 * close the watcher there. */
static void test_retry_watcher_reports_before_the_end(void **state) {
  (void)state;
  static void (*const then[])(watch_log * log) = {NULL, pause_at_report,
                                                  close_at_report};
  static const char *const expected[] = {"! end:0 ", "! ", "! closed "};
  for (int how = 0; how < 3; how++) {
    retry_world w;
    open_with_report(&w);
    w.log.then = then[how];
    send_large(&w, LARGE("b"));
    watch_log_expect(&w.log, "A:b@6 ");
    rw_end(&w);
    watch_log_expect(&w.log, expected[how]);
    if (how == 1) {
      kin_retry_watcher_resume(w.watcher);
      script_run(&w.vh.script);
      watch_log_expect(&w.log, "end:0 ");
    }
    rw_finish(&w);
  }
}

/* KIN_STOP has an effect also after a normal end: right before that is told, or
 * while events still wait. */
static void test_retry_watcher_stopped_after_the_end(void **state) {
  (void)state;
  for (int is_waiting = 0; is_waiting < 2; is_waiting++) {
    retry_world w;
    open_with_report(&w);
    w.log.answer = KIN_STOP;
    if (is_waiting) {
      kin_retry_watcher_pause(w.watcher);
    }
    send_large(&w, LARGE("b"));
    watch_log_expect(&w.log, is_waiting ? "" : "A:b@6 ");
    rw_end(&w);
    if (is_waiting) {
      script_advance(&w.vh.script, 1000);
      watch_log_expect(&w.log, "! ");
      kin_retry_watcher_resume(w.watcher);
      script_run(&w.vh.script);
    }
    watch_log_expect(&w.log,
                     is_waiting ? "A:b@6 end:ETOOBIG " : "! end:ETOOBIG ");
    rw_finish(&w);
  }
}

/* TW-05: but a failure that ended the watch stays its end, with its event, also
 * if that waits. */
static void test_retry_watcher_stopped_after_a_failure(void **state) {
  (void)state;
  for (int is_waiting = 0; is_waiting < 2; is_waiting++) {
    retry_world w;
    open_with_report(&w);
    w.log.answer = KIN_STOP;
    if (is_waiting) {
      kin_retry_watcher_pause(w.watcher);
    }
    send_large(&w, LARGE("b"));
    rw_send(&w, RW_FRAME("ERROR", RW_STATUS("410", "Expired")));
    if (is_waiting) {
      script_advance(&w.vh.script, 1000);
      watch_log_expect(&w.log, "! ");
      kin_retry_watcher_resume(w.watcher);
      script_run(&w.vh.script);
    }
    watch_log_expect(&w.log, is_waiting ? "A:b@6 E:410/Expired end:EGONE "
                                        : "A:b@6 E:410/Expired ! end:EGONE ");
    assert_non_null(strstr(w.vh.text, "W pods: Expired: "));
    assert_non_null(strstr(w.vh.text, "said so; it is over\n"));
    rw_finish(&w);
  }
}

/* TW-03: a plain watch: whatever ends it is the end, also for its timer. */
static void test_retry_watcher_without_retry(void **state) {
  (void)state;
  static const char *const expected[] = {
      "A:x@6 end:0 ", "A:x@6 E:0/ end:EEOF ",
      "A:x@6 E:500/InternalError end:ESTATUS ", "E:503/Busy end:ESTATUS "};
  for (int i = 0; i < 4; i++) {
    retry_world w;
    rw_init(&w, "5", 0);
    w.options.without_retry = true;
    w.options.timeout_s = 300;
    assert_int_equal(rw_try_open(&w), 0);
    if (i < 3) {
      rw_head(&w);
      rw_send(&w, RW_FRAME("ADDED", RW_OBJECT("6")));
    }
    switch (i) {
    case 0:
      rw_end(&w);
      break;
    case 1:
      rw_break(&w);
      break;
    case 2:
      rw_send(&w, RW_FRAME("ERROR", RW_STATUS("500", "InternalError")));
      break;
    default:
      rw_respond(&w, 503, RW_STATUS("503", "Busy"));
    }
    script_advance(&w.vh.script, 60000);
    rw_expect_none(&w);
    assert_int_equal(w.vh.script.request_count, 1);
    watch_log_expect(&w.log, expected[i]);
    assert_true(kin__timers_next_ms(&w.vh.script.timers) == UINT64_MAX);
    rw_finish(&w);
  }
}

static int refuse_to_modify(kin_request_options *options, void *data) {
  (void)options;
  (void)data;
  return KIN_EINVAL;
}

/* A watch that was not granted had no misplaced event: there is no kubeconfig,
 * or `modify` failed. */
static void test_retry_watcher_not_granted(void **state) {
  (void)state;
  for (int is_sent = 0; is_sent < 2; is_sent++) {
    retry_world w;
    rw_init(&w, "5", 0);
    w.options.without_retry = true;
    w.resource.modify = is_sent ? NULL : refuse_to_modify;
    assert_int_equal(rw_try_open(&w), 0);
    if (is_sent) {
      script_break(&w.vh.script, "watch=true", KIN_EINVAL, KIN_CLASS_AUTH);
    }
    script_run(&w.vh.script);
    watch_log_expect(&w.log, "E:0/ end:EINVAL ");
    rw_finish(&w);
  }
}

/* A refusal is final also if its body is cut. */
static void test_retry_watcher_cut_refusal(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *expected;
  } cases[] = {{401, "E:401/Unauthorized end:ESTATUS "},
               {403, "E:403/Forbidden end:ESTATUS "},
               {503, "! "}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    retry_world w;
    rw_open(&w, "5");
    assert_true(script_head(&w.vh.script, "watch=true", cases[i].status));
    assert_true(rw_send(&w, "{"));
    rw_break(&w);
    watch_log_expect(&w.log, cases[i].expected);
    rw_finish(&w);
  }
}

/* Every allocation fails once: a Status in a 200's body that cannot be read for
 * lack of memory is not taken for a misplaced event. */
static bool run_status_without_memory(size_t fail_at) {
  retry_world w;
  rw_init(&w, "5", fail_at);
  if (rw_try_open(&w) == 0) {
    rw_respond(&w, 200, RW_STATUS("500", "InternalError"));
    script_advance(&w.vh.script, 60000);
    assert_null(strstr(w.log.text, "end"));
    assert_int_equal(script_open_requests(&w.vh.script), 1);
  }
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  rw_finish(&w);
  return has_failed;
}

static void test_retry_watcher_status_without_memory(void **state) {
  (void)state;
  fail_alloc_sweep(run_status_without_memory, 0);
}

static void expect_state(const retry_world *w, kin_state state,
                         bool has_synced) {
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_retry_watcher_get_status(w->watcher, &status), 0);
  assert_int_equal(status.state, state);
  assert_int_equal(status.has_synced, has_synced);
}

static void test_retry_watcher_status(void **state) {
  (void)state;
  retry_world w;
  rw_open(&w, "5");
  expect_state(&w, KIN_STATE_SYNCING, false);
  rw_head(&w);
  expect_state(&w, KIN_STATE_LIVE, true);
  kin_retry_watcher_pause(w.watcher);
  rw_send(&w, RW_FRAME("ADDED", RW_OBJECT("6")));
  kin_status status = KIN_STATUS_INIT;
  assert_int_equal(kin_retry_watcher_get_status(w.watcher, &status), 0);
  assert_string_equal(status.resource_version, "6");
  assert_string_equal(kin_retry_watcher_resource_version(w.watcher), "5");
  assert_int_equal(status.events, 1);
  rw_break(&w);
  expect_state(&w, KIN_STATE_RECONNECTING, true);
  script_advance(&w.vh.script, 1000);
  rw_respond(&w, 403, FORBIDDEN);
  expect_state(&w, KIN_STATE_IDLE, true);
  kin_retry_watcher_resume(w.watcher);
  script_run(&w.vh.script);
  watch_log_expect(&w.log, "! A:x@6 E:403/Forbidden end:ESTATUS ");
  rw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_retry_watcher_refuses),
      cmocka_unit_test(test_retry_watcher_request),
      cmocka_unit_test(test_retry_watcher_time_limit),
      cmocka_unit_test(test_retry_watcher_scenarios),
      cmocka_unit_test(test_retry_watcher_restarts),
      cmocka_unit_test(test_retry_watcher_retry_after),
      cmocka_unit_test(test_retry_watcher_bookmarks),
      cmocka_unit_test(test_retry_watcher_misplaced_events),
      cmocka_unit_test(test_retry_watcher_garbage),
      cmocka_unit_test(test_retry_watcher_stopped_by_on_error),
      cmocka_unit_test(test_retry_watcher_waits_only_before_a_request),
      cmocka_unit_test(test_retry_watcher_reports_before_the_end),
      cmocka_unit_test(test_retry_watcher_stopped_after_the_end),
      cmocka_unit_test(test_retry_watcher_stopped_after_a_failure),
      cmocka_unit_test(test_retry_watcher_without_retry),
      cmocka_unit_test(test_retry_watcher_not_granted),
      cmocka_unit_test(test_retry_watcher_cut_refusal),
      cmocka_unit_test(test_retry_watcher_status_without_memory),
      cmocka_unit_test(test_retry_watcher_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
