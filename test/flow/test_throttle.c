/* SPDX-License-Identifier: MIT */

/* A client's own limit of requests (RQ-07, RR-05, RR-09, RR-12, CN-08), on a
 * virtual clock: what waits for its turn, what does not, in which order, and
 * until when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limiter.h"
#include "base/str.h"
#include "feed/feed.h"
#include "feed/http_source.h"
#include "informer/informer.h"
#include "support/virtual_host.h"

#define MS UINT64_C(1000000)
#define MAX_SENT 96

/* A request as the server sees it. */
typedef struct sent {
  char plural[16];
  char kind[16]; /* "list", "page", "verify", "watch" or "stream" */
  uint64_t at_ms;
  const kin__exchange_callbacks *callbacks;
  void *ctx;
  bool is_open;
  bool is_paused;
} sent;

typedef struct rig {
  virtual_host vh;
  kin__limiter limiter;
  kin__gate gate;
  uint64_t began_ms;
  sent sent[MAX_SENT];
  unsigned count;
  int fail_start;
} rig;

static const char *kind_of(const char *target, bool is_watch) {
  if (is_watch) {
    return strstr(target, "sendInitialEvents") != NULL ? "stream" : "watch";
  }
  if (strstr(target, "continue=") != NULL) {
    return "page";
  }
  return strstr(target, "limit=1&") != NULL ? "verify" : "list";
}

static int source_start(void *ctx, const kin__request *request,
                        const kin__exchange_callbacks *callbacks,
                        void *callbacks_ctx, void **out) {
  rig *r = ctx;
  *out = NULL;
  if (r->fail_start > 0) {
    r->fail_start--;
    return KIN_ENOMEM;
  }
  assert_true(r->count < MAX_SENT);
  sent *s = &r->sent[r->count++];
  *s = (sent){.at_ms = r->vh.script.now_ns / MS - r->began_ms,
              .callbacks = callbacks,
              .ctx = callbacks_ctx,
              .is_open = true};
  assert_int_equal(sscanf(request->target, "/api/v1/%15[a-z0-9]", s->plural),
                   1);
  snprintf(s->kind, sizeof s->kind, "%s",
           kind_of(request->target, request->is_watch));
  *out = s;
  return 0;
}

static void source_cancel(void *exchange) {
  ((sent *)exchange)->is_open = false;
}

static void source_pause(void *exchange) {
  ((sent *)exchange)->is_paused = true;
}

static void source_resume(void *exchange) {
  ((sent *)exchange)->is_paused = false;
}

static void rig_init(rig *r, uint32_t qps_milli, uint32_t burst,
                     uint32_t lists) {
  memset(r, 0, sizeof *r);
  vh_init(&r->vh, 0);
  kin__env *env = &r->vh.script.env;
  r->vh.log.level = KIN_LOG_DEBUG;
  r->began_ms = r->vh.script.now_ns / MS;
  kin__limiter_init(&r->limiter, env->sched, env->timers, qps_milli, burst);
  env->limiter = &r->limiter;
  if (lists > 0) {
    kin__gate_init(&r->gate, env->sched, env->timers, lists, UINT64_MAX);
    env->lists = &r->gate;
  }
  env->transport = (kin__transport_ops){.start = source_start,
                                        .cancel = source_cancel,
                                        .pause = source_pause,
                                        .resume = source_resume,
                                        .ctx = r};
}

static void rig_finish(rig *r) {
  if (!r->vh.host.members.is_closing) {
    vh_close(&r->vh);
  }
  script_run(&r->vh.script);
  if (r->vh.script.env.lists != NULL) {
    kin__gate_finish(&r->gate);
  }
  kin__limiter_finish(&r->limiter);
  vh_finish(&r->vh);
}

static kin_informer *open_informer(rig *r, const char *plural, bool streams) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = plural;
  options.no_watch_list = !streams;
  kin_informer *informer;
  assert_int_equal(kin__informer_open_on(&informer, &r->vh.host, &options), 0);
  assert_int_equal(kin_informer_start(informer), 0);
  script_run(&r->vh.script);
  return informer;
}

/* --- The server ----------------------------------------------------------- */

static sent *last(rig *r) {
  assert_true(r->count > 0);
  return &r->sent[r->count - 1];
}

static void answer(rig *r, sent *s, int status, const char *body, bool ends) {
  const kin__response_head head = {.status = status,
                                   .content_type = KIN__LIT("application/json"),
                                   .retry_after_s = -1,
                                   .is_identity = true};
  assert_true(s->is_open);
  s->callbacks->on_head(s->ctx, &head);
  if (s->is_open && body[0] != '\0') {
    s->callbacks->on_body(s->ctx, body, strlen(body));
  }
  if (s->is_open && ends) {
    s->is_open = false;
    s->callbacks->on_end(s->ctx, NULL);
  }
  script_run(&r->vh.script);
}

static void break_off(rig *r, sent *s) {
  const kin__exchange_error error = {
      .code = KIN_EEOF, .error_class = KIN_CLASS_CONNECT, .message = "cut"};
  assert_true(s->is_open);
  s->is_open = false;
  s->callbacks->on_end(s->ctx, &error);
  script_run(&r->vh.script);
}

#define LIST "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}"
#define PAGE                                                                   \
  "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"c\"},\"items\":[]}"
#define BOOKMARK                                                               \
  "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":"                           \
  "{\"resourceVersion\":\"7\"}}}\n"

static bool is_kind(const sent *s, const char *kind) {
  return strcmp(s->kind, kind) == 0;
}

/* Answers all lists, and what follows from that. */
static void serve_lists(rig *r) {
  for (unsigned i = 0; i < r->count; i++) {
    if (r->sent[i].is_open && is_kind(&r->sent[i], "list")) {
      answer(r, &r->sent[i], 200, LIST, true);
    }
  }
}

static void pass(rig *r, uint64_t ms) {
  serve_lists(r);
  for (uint64_t passed = 0; passed < ms; passed += 50) {
    script_advance(&r->vh.script, 50);
    serve_lists(r);
  }
}

static void expect_last(rig *r, unsigned count, const char *kind,
                        uint64_t at_ms) {
  assert_int_equal(r->count, count);
  assert_string_equal(last(r)->kind, kind);
  assert_int_equal(last(r)->at_ms, at_ms);
}

/* --- Order and time ------------------------------------------------------- */

/* Twenty informers, five requests a second, ten at once: ten lists now, the
 * others each 200 ms, in the order in which they were started; and a watch
 * after each as soon as its list is there. The gate of the lists, which they
 * pass before, changes nothing about that. */
static void check_twenty(uint32_t lists) {
  rig r;
  rig_init(&r, 5000, 10, lists);
  char plural[16];
  for (int i = 0; i < 20; i++) {
    snprintf(plural, sizeof plural, "r%02d", i);
    open_informer(&r, plural, false);
  }
  pass(&r, 1950);
  assert_int_equal(r.count, 2 * 19);
  pass(&r, 50);
  unsigned list = 0;
  unsigned watch = 0;
  for (unsigned i = 0; i < r.count; i++) {
    const sent *s = &r.sent[i];
    unsigned *number = is_kind(s, "list") ? &list : &watch;
    uint64_t at_ms = *number < 10 ? 0 : (*number - 9) * UINT64_C(200);
    snprintf(plural, sizeof plural, "r%02u", *number);
    assert_string_equal(s->plural, plural);
    assert_int_equal(s->at_ms, at_ms);
    ++*number;
  }
  assert_int_equal(list, 20);
  assert_int_equal(watch, 20);
  if (lists == 0) {
    assert_int_equal(r.limiter.delayed, 10);
    assert_int_equal(r.limiter.delayed_ns, 11000 * MS);
  }
  rig_finish(&r);
}

/* client-go TestRESTClientLimiter; RQ-07, RR-12, CN-08. */
static void test_twenty_informers(void **state) {
  (void)state;
  check_twenty(0);
}

static void test_twenty_informers_and_a_gate(void **state) {
  (void)state;
  check_twenty(4);
  check_twenty(1);
}

/* RQ-07: each page takes a token, and the watch after the list none. */
static void test_pages(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1000, 1, 0);
  open_informer(&r, "pods", false);
  expect_last(&r, 1, "list", 0);
  answer(&r, last(&r), 200, PAGE, true);
  assert_int_equal(r.count, 1);
  script_advance(&r.vh.script, 999);
  assert_int_equal(r.count, 1);
  script_advance(&r.vh.script, 1);
  expect_last(&r, 2, "page", 1000);
  answer(&r, last(&r), 200, LIST, true);
  expect_last(&r, 3, "watch", 1000);
  assert_int_equal(r.limiter.delayed, 1);
  rig_finish(&r);
}

/* RQ-07: a watch is free after one that ended well; the check of one that ended
 * without a word is not. */
static void test_watch_that_ended_well(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 10, 2, 0);
  open_informer(&r, "pods", false);
  answer(&r, last(&r), 200, LIST, true);
  expect_last(&r, 2, "watch", 0);
  script_advance(&r.vh.script, 5000);
  answer(&r, last(&r), 200, BOOKMARK, true);
  expect_last(&r, 3, "watch", 5000);
  script_advance(&r.vh.script, 5000);
  answer(&r, last(&r), 200, "", true);
  expect_last(&r, 4, "verify", 10000); /* the second token */
  answer(&r, last(&r), 200, LIST, true);
  expect_last(&r, 5, "watch", 10000);
  script_advance(&r.vh.script, 5000);
  answer(&r, last(&r), 200, "", true);
  assert_int_equal(r.count, 5);
  script_advance(&r.vh.script, 84999);
  assert_int_equal(r.count, 5);
  script_advance(&r.vh.script, 1);
  expect_last(&r, 6, "verify", 100000);
  rig_finish(&r);
}

/* client-go TestRequestWatchRetryWithRateLimiterBackoffAndMetrics,
 * TestRequestWatchWithRetryInvokeOrder; RR-05, RR-09: a watch that is tried
 * again waits for its backoff, then for its turn; and that is counted. */
static void test_watch_that_failed(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 10, 1, 0);
  open_informer(&r, "pods", false);
  answer(&r, last(&r), 200, LIST, true);
  expect_last(&r, 2, "watch", 0);
  answer(&r, last(&r), 500, "", true);
  assert_int_equal(r.count, 2);
  script_advance(&r.vh.script, 99999);
  assert_int_equal(r.count, 2);
  script_advance(&r.vh.script, 1);
  expect_last(&r, 3, "watch", 100000);
  assert_int_equal(r.limiter.delayed, 1);
  assert_true(r.limiter.delayed_ns < 100000 * MS);
  assert_true(r.limiter.delayed_ns > 98000 * MS); /* less the backoff */
  rig_finish(&r);
}

/* client-go TestRequestDoWithRetryInvokeOrder,
 * TestRequestDoRetryWithRateLimiterBackoffAndMetrics; RR-05, RR-09: the same
 * for a list, which keeps its place among the lists meanwhile only while it has
 * something to ask for. */
static void test_list_that_failed(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1000, 1, 1);
  open_informer(&r, "pods", false);
  expect_last(&r, 1, "list", 0);
  break_off(&r, last(&r));
  assert_int_equal(r.gate.inside, 0);
  open_informer(&r, "nodes", false);
  assert_int_equal(r.gate.inside, 1); /* it waits for a token */
  script_advance(&r.vh.script, 1000);
  expect_last(&r, 2, "list", 1000);
  assert_string_equal(last(&r)->plural, "nodes");
  answer(&r, last(&r), 200, LIST, true);
  expect_last(&r, 3, "watch", 1000);
  script_advance(&r.vh.script, 2000);
  expect_last(&r, 4, "list", 2000);
  assert_string_equal(last(&r)->plural, "pods");
  rig_finish(&r);
}

/* A stream stands for a list and takes a token as one; its time runs from when
 * it was sent, so a long wait is not taken for a server that says nothing. */
static void test_streams(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 10, 1, 0);
  script_use_streams(&r.vh.script);
  open_informer(&r, "pods", true);
  expect_last(&r, 1, "stream", 0);
  open_informer(&r, "nodes", true);
  script_advance(&r.vh.script, 99999);
  assert_int_equal(r.count, 1);
  script_advance(&r.vh.script, 1);
  expect_last(&r, 2, "stream", 100000);
  assert_false(r.vh.script.stream_refused);
  rig_finish(&r);
}

/* OQ-07: a list that is slow because it had to wait is not blamed on the
 * server. */
static void test_slow_list(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 50, 1, 0);
  open_informer(&r, "pods", false);
  open_informer(&r, "nodes", false);
  script_advance(&r.vh.script, 20000);
  expect_last(&r, 2, "list", 20000);
  script_advance(&r.vh.script, 300);
  answer(&r, last(&r), 200, LIST, true);
  assert_non_null(strstr(r.vh.text, "a list took 20300 ms: 20000 until its "
                                    "turn, 300 for 0 objects"));
  rig_finish(&r);
}

/* --- Ends of a wait ------------------------------------------------------- */

static void test_closed_while_waiting(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1000, 1, 4);
  open_informer(&r, "pods", false);
  kin_informer *second = open_informer(&r, "nodes", false);
  open_informer(&r, "events", false);
  assert_int_equal(kin_informer_close(second, NULL, NULL), 0);
  script_advance(&r.vh.script, 1000);
  expect_last(&r, 2, "list", 1000); /* its turn is the next one's */
  assert_string_equal(last(&r)->plural, "events");
  open_informer(&r, "secrets", false);
  rig_finish(&r); /* with one that waits */
  assert_int_equal(r.count, 2);
}

static kin_retry stop_answer;

static void on_error(kin_informer *informer, kin_error_event *event,
                     void *data) {
  (void)informer;
  ++*(int *)data;
  event->answer = stop_answer;
  event->retry_after_ms = 10;
}

static kin_informer *open_watched(rig *r, int *errors) {
  kin_informer_options options = KIN_INFORMER_OPTIONS_INIT;
  options.plural = "pods";
  options.no_watch_list = true;
  options.on_error = on_error;
  options.data = errors;
  kin_informer *informer;
  assert_int_equal(kin__informer_open_on(&informer, &r->vh.host, &options), 0);
  assert_int_equal(kin_informer_start(informer), 0);
  script_run(&r->vh.script);
  return informer;
}

/* client-go TestTryThrottleWithInfoContextDeadline; RQ-07: closing what waits
 * is no failure. */
static void test_closed_with_nobody_told(void **state) {
  (void)state;
  rig r;
  int errors = 0;
  stop_answer = KIN_RETRY_AFTER;
  rig_init(&r, 10, 1, 1);
  kin_informer *informer = open_watched(&r, &errors);
  break_off(&r, last(&r));
  assert_int_equal(errors, 1);
  script_advance(&r.vh.script, 1000);
  assert_int_equal(r.count, 1); /* its second try waits */
  assert_false(kin__link_is_empty(&r.limiter.waiting));
  assert_int_equal(kin_informer_close(informer, NULL, NULL), 0);
  assert_true(kin__link_is_empty(&r.limiter.waiting));
  script_run(&r.vh.script);
  assert_int_equal(r.gate.inside, 0);
  assert_int_equal(errors, 1);
  rig_finish(&r);
}

/* What cannot be sent when its turn has come is a failure as any other. */
static void test_sending_fails(void **state) {
  (void)state;
  rig r;
  int errors = 0;
  stop_answer = KIN_RETRY;
  rig_init(&r, 1000, 1, 1);
  open_informer(&r, "nodes", false);
  answer(&r, last(&r), 200, LIST, true);
  open_watched(&r, &errors);
  r.fail_start = 1;
  script_advance(&r.vh.script, 1000);
  assert_int_equal(r.fail_start, 0);
  assert_int_equal(errors, 1);
  assert_int_equal(r.gate.inside, 0);
  script_advance(&r.vh.script, 4000);
  assert_int_equal(errors, 1);
  assert_string_equal(last(&r)->plural, "pods");
  answer(&r, last(&r), 200, LIST, true);
  assert_string_equal(last(&r)->kind, "watch");
  rig_finish(&r);
}

/* What is paused before it was sent, is when it has been. */
static void test_paused_while_waiting(void **state) {
  (void)state;
  rig r;
  rig_init(&r, 1000, 1, 0);
  const kin__resource resource = {"", "v1", "pods", "", "", false};
  const kin_feed_request request = {.namespace_ = "",
                                    .label_selector = "",
                                    .field_selector = "",
                                    .resource_version = "",
                                    .resource_version_match = "",
                                    .continue_token = ""};
  kin_feed feed = {.env = &r.vh.script.env,
                   .resource = &resource,
                   .namespace_ = "",
                   .request = KIN__REQUEST_LIST};
  const kin__settings settings = {.resource = resource};
  kin__http_source source;
  kin__http_source_init(&source, feed.env, &settings);
  kin_lister_watcher lw = *kin__http_source_lister_watcher();
  lw.ctx = &source;
  for (int resumes = 0; resumes < 2; resumes++) {
    kin__limiter_visitor other;
    kin__limiter_visitor_init(&other, NULL);
    (void)kin__limiter_enter(&r.limiter, &other);
    kin__limiter_leave(&r.limiter, &other);
    unsigned before = r.count;
    void *handle;
    assert_int_equal(lw.open(lw.ctx, &request, &feed, &handle), 0);
    lw.pause(lw.ctx, handle);
    if (resumes) {
      lw.resume(lw.ctx, handle);
    }
    assert_int_equal(r.count, before);
    script_advance(&r.vh.script, 1000);
    assert_int_equal(r.count, before + 1);
    assert_int_equal(last(&r)->is_paused, !resumes);
    lw.resume(lw.ctx, handle);
    assert_false(last(&r)->is_paused);
    lw.pause(lw.ctx, handle);
    assert_true(last(&r)->is_paused);
    lw.cancel(lw.ctx, handle);
    assert_false(last(&r)->is_open);
  }
  rig_finish(&r);
}

/* --- The log -------------------------------------------------------------- */

/* client-go TestThrottledLogger; CN-08: up to 50 ms nothing, then for those who
 * look for it, over a second for others, too. */
static void test_log(void **state) {
  (void)state;
  static const struct {
    uint32_t qps_milli;
    const char *line;
  } rows[] = {{20000, NULL},
              {10000, "D list of nodes: waited 100 ms"},
              {1000, "D list of nodes: waited 1000 ms"},
              {999, "I list of nodes: waited 1002 ms, for the client's own "
                    "limit (qps_milli)\n"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rig r;
    rig_init(&r, rows[i].qps_milli, 1, 0);
    open_informer(&r, "pods", false);
    open_informer(&r, "nodes", false);
    script_advance(&r.vh.script, 2000);
    const char *line = strstr(r.vh.text, "waited");
    if (rows[i].line == NULL) {
      assert_null(line);
    } else {
      assert_non_null(strstr(r.vh.text, rows[i].line));
      assert_null(strstr(line + 1, "waited"));
    }
    rig_finish(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_twenty_informers),
      cmocka_unit_test(test_twenty_informers_and_a_gate),
      cmocka_unit_test(test_pages),
      cmocka_unit_test(test_watch_that_ended_well),
      cmocka_unit_test(test_watch_that_failed),
      cmocka_unit_test(test_list_that_failed),
      cmocka_unit_test(test_streams),
      cmocka_unit_test(test_slow_list),
      cmocka_unit_test(test_closed_while_waiting),
      cmocka_unit_test(test_closed_with_nobody_told),
      cmocka_unit_test(test_sending_fails),
      cmocka_unit_test(test_paused_while_waiting),
      cmocka_unit_test(test_log),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
