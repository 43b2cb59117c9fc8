/* SPDX-License-Identifier: MIT */
/* An event recorder on a virtual host: the requests it sends, what it does with
 * their answers, and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "recorder/recorder.h"
#include "support/virtual_host.h"

#define PATH "/apis/events.k8s.io/v1/namespaces/n/events"

typedef struct world {
  virtual_host vh;
  kin_event_recorder_options options;
  kin_event_recorder *recorder;
  kin_object_reference about;
  int errors;
  int code;
  int status;
  uint64_t retry_in_ms;
  char message[600];
  char namespace_[300];
  int closed;
  int calls;
  void (*then)(struct world *w);
  int at_call;
} world;

static void called(world *w) {
  w->calls++;
  if (w->then != NULL && w->calls == w->at_call) {
    w->then(w);
  }
}

static void on_error(kin_error_event *event, void *data) {
  world *w = data;
  w->errors++;
  w->code = event->code;
  w->status = event->status;
  w->retry_in_ms = event->retry_in_ms;
  snprintf(w->message, sizeof w->message, "%s", event->message);
  snprintf(w->namespace_, sizeof w->namespace_, "%s", event->namespace_);
  called(w);
}

static void on_closed(void *data) {
  world *w = data;
  w->recorder = NULL;
  w->closed++;
  called(w);
}

static void begin(world *w, size_t fail_at) {
  memset(w, 0, sizeof *w);
  vh_init(&w->vh, fail_at);
  w->options = (kin_event_recorder_options)KIN_EVENT_RECORDER_OPTIONS_INIT;
  w->options.controller = "example.com/c";
  w->options.instance = "c-0";
  w->options.on_error = on_error;
  w->options.on_closed = on_closed;
  w->options.data = w;
  w->about = (kin_object_reference){.api_version = KIN__LIT("v1"),
                                    .kind = KIN__LIT("Pod"),
                                    .namespace_ = KIN__LIT("n"),
                                    .name = KIN__LIT("web"),
                                    .uid = KIN__LIT("u-1"),
                                    .resource_version = KIN__LIT("9")};
}

static void open_recorder(world *w) {
  assert_int_equal(
      kin__event_recorder_open(&w->recorder, &w->vh.host, &w->options), 0);
}

static int record(world *w, const char *reason, const char *note) {
  return kin_event_recorder_record(w->recorder, &w->about, NULL, "Normal",
                                   reason, "Acting", note);
}

static void finish(world *w) {
  if (w->recorder != NULL) {
    (void)kin_event_recorder_close(w->recorder, NULL, NULL);
    script_advance(&w->vh.script, 0);
    script_run(&w->vh.script);
  }
  vh_finish(&w->vh);
  assert_null(w->recorder);
}

/* The open request; NULL if there is none, and any one of several. */
static script_request *open_request(world *w) {
  script_run(&w->vh.script);
  for (unsigned i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
    if (w->vh.script.requests[i] != NULL) {
      return w->vh.script.requests[i];
    }
  }
  return NULL;
}

static void answer(world *w, int status, const char *reason) {
  char body[256];
  script_request *request = open_request(w);
  assert_non_null(request);
  snprintf(body, sizeof body,
           status < 300 ? "{}"
                        : "{\"kind\":\"Status\",\"apiVersion\":\"v1\","
                          "\"status\":\"Failure\",\"message\":\"no\","
                          "\"reason\":\"%s\",\"code\":%d}",
           reason, status);
  if (script_request_head(request, status) &&
      script_request_body(request, body, strlen(body))) {
    script_request_end(request);
  }
}

static void expect_request(world *w, const char *method, const char *target) {
  script_request *request = open_request(w);
  assert_non_null(request);
  assert_string_equal(request->method, method);
  assert_memory_equal(request->target, target, strlen(target));
}

static void expect_body(world *w, const char *expected) {
  script_request *request = open_request(w);
  char body[4096];
  char text[4096];
  snprintf(body, sizeof body, "%.*s", (int)request->body_length, request->body);
  snprintf(text, sizeof text, "%s", expected);
  for (char *c = text; *c != '\0'; c++) {
    *c = *c == '\'' ? '"' : *c;
  }
  if (strstr(body, text) == NULL) {
    fail_msg("%s\nis not in\n%s", text, body);
  }
}

/* --- Requests ------------------------------------------------------------- */

/* The event as a server of events.k8s.io/v1 takes it. */
static void test_event(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  open_recorder(&w);
  const kin_object_reference related = {.kind = KIN__LIT("Node"),
                                        .name = KIN__LIT("n1")};
  assert_int_equal(kin_event_recorder_record(w.recorder, &w.about, &related,
                                             "Warning", "Failed", "Pulling",
                                             "a \"quote\"\n"),
                   0);
  assert_int_equal(script_open_requests(&w.vh.script), 0); /* not at once */
  expect_request(&w, "POST", PATH "?");
  expect_body(&w, "{'kind':'Event','apiVersion':'events.k8s.io/v1','metadata':{"
                  "'name':'web.");
  expect_body(&w, "','namespace':'n'},'eventTime':'20");
  expect_body(
      &w, "Z','reportingController':'example.com/c','reportingInstance':"
          "'c-0','action':'Pulling','reason':'Failed','type':'Warning',"
          "'note':'a \\'quote\\'\\u000a','regarding':{'apiVersion':'v1','kind':"
          "'Pod','namespace':'n','name':'web','uid':'u-1',"
          "'resourceVersion':'9'},'related':{'kind':'Node','name':'n1'}}");
  answer(&w, 201, "");
  assert_int_equal(w.errors, 0);
  finish(&w);
}

/* An object without a namespace has its events in "default". */
static void test_cluster_object(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  open_recorder(&w);
  w.about.namespace_ = KIN__LIT("");
  assert_int_equal(record(&w, "A", NULL), 0);
  expect_request(&w, "POST",
                 "/apis/events.k8s.io/v1/namespaces/default/events");
  expect_body(&w, "'namespace':'default'}");
  answer(&w, 201, "");
  finish(&w);
}

static void test_series_patch(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  open_recorder(&w);
  assert_int_equal(record(&w, "A", "x"), 0);
  answer(&w, 201, "");
  assert_int_equal(record(&w, "A", "y"), 0);
  expect_request(&w, "PATCH", PATH "/web.");
  assert_string_equal(open_request(&w)->content_type,
                      "application/merge-patch+json");
  expect_body(&w, "{'series':{'count':2,'lastObservedTime':'20");
  answer(&w, 404, "NotFound");
  expect_request(&w, "POST", PATH "?");
  expect_body(&w, ",'series':{'count':2,'lastObservedTime':'20");
  expect_body(&w, "'note':'x'");
  answer(&w, 201, "");
  assert_null(open_request(&w));
  kin_event_recorder_metrics metrics = KIN_EVENT_RECORDER_METRICS_INIT;
  assert_int_equal(kin_event_recorder_get_metrics(w.recorder, &metrics), 0);
  assert_int_equal(metrics.recorded, 2);
  assert_int_equal(metrics.created, 2);
  assert_int_equal(metrics.series, 1);
  assert_int_equal(metrics.queued, 0);
  assert_int_equal(w.errors, 0);
  finish(&w);
}

/* The last count is written six minutes after the last occurrence. */
static void test_series_end(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  open_recorder(&w);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(record(&w, "A", ""), 0);
    if (i < 2) {
      answer(&w, 201, "");
    }
  }
  script_advance(&w.vh.script, 359999);
  assert_null(open_request(&w));
  script_advance(&w.vh.script, 1);
  expect_body(&w, "{'series':{'count':3,");
  answer(&w, 200, "");
  assert_true(kin__timers_next_ms(&w.vh.script.timers) == UINT64_MAX);
  finish(&w);
}

/* Four requests at a time. */
static void test_many_events(void **state) {
  (void)state;
  world w;
  char reason[16];
  begin(&w, 0);
  open_recorder(&w);
  for (int i = 0; i < 20; i++) {
    snprintf(reason, sizeof reason, "R%d", i);
    assert_int_equal(record(&w, reason, ""), 0);
  }
  for (int i = 0; i < 20; i++) {
    script_run(&w.vh.script);
    assert_int_equal(script_open_requests(&w.vh.script), i < 17 ? 4 : 20 - i);
    answer(&w, 201, "");
  }
  assert_null(open_request(&w));
  finish(&w);
}

/* --- Failures ------------------------------------------------------------- */

static void test_failures(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  open_recorder(&w);
  assert_int_equal(record(&w, "A", ""), 0);
  for (int i = 1; i <= 12; i++) {
    answer(&w, 503, "ServiceUnavailable");
    assert_int_equal(w.errors, i);
    assert_int_equal(w.status, 503);
    if (i < 12) {
      assert_in_range(w.retry_in_ms, 10000, 12500);
      script_advance(&w.vh.script, w.retry_in_ms - 1);
      assert_null(open_request(&w));
      script_advance(&w.vh.script, 1);
    }
  }
  assert_int_equal(w.retry_in_ms, 0);
  assert_null(open_request(&w));
  kin_event_recorder_metrics metrics = KIN_EVENT_RECORDER_METRICS_INIT;
  assert_int_equal(kin_event_recorder_get_metrics(w.recorder, &metrics), 0);
  assert_int_equal(metrics.retries, 11);
  assert_int_equal(metrics.dropped_writes, 1);
  finish(&w);
}

/* The recorder decides when a request is sent again, also if the server says
 * when: each try is told and counted. */
static void test_put_off(void **state) {
  (void)state;
  static const struct {
    int status;
    int64_t retry_after_s;
    uint64_t least_ms;
    uint64_t most_ms;
  } cases[] = {{429, 1, 10000, 12500},
               {503, 60, 60000, 60000},
               {429, 7200, 3600000, 3600000}};
  world w;
  begin(&w, 0);
  open_recorder(&w);
  assert_int_equal(record(&w, "A", ""), 0);
  for (int i = 0; i < 3; i++) {
    const kin__response_head head = {.status = cases[i].status,
                                     .retry_after_s = cases[i].retry_after_s,
                                     .is_identity = true,
                                     .content_type = KIN__LIT(""),
                                     .encoding = KIN__LIT(""),
                                     .etag = KIN__LIT("")};
    script_request *request = open_request(&w);
    assert_non_null(request);
    if (script_request_give_head(request, &head)) {
      script_request_end(request);
    }
    script_run(&w.vh.script);
    assert_int_equal(w.errors, i + 1);
    assert_int_equal(w.status, cases[i].status);
    assert_in_range(w.retry_in_ms, cases[i].least_ms, cases[i].most_ms);
    script_advance(&w.vh.script, w.retry_in_ms - 1);
    assert_null(open_request(&w));
    script_advance(&w.vh.script, 1);
  }
  answer(&w, 201, "");
  kin_event_recorder_metrics metrics = KIN_EVENT_RECORDER_METRICS_INIT;
  assert_int_equal(kin_event_recorder_get_metrics(w.recorder, &metrics), 0);
  assert_int_equal(metrics.retries, 3);
  finish(&w);
}

/* A refusal is final. */
static void test_refusals(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *reason;
    int errors;
  } cases[] = {{403, "Forbidden", 1},
               {422, "Invalid", 1},
               {409, "AlreadyExists", 0}, /* an earlier try has arrived */
               {404, "NotFound", 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    world w;
    begin(&w, 0);
    open_recorder(&w);
    assert_int_equal(record(&w, "A", ""), 0);
    answer(&w, cases[i].status, cases[i].reason);
    assert_int_equal(w.errors, cases[i].errors);
    assert_int_equal(w.retry_in_ms, 0);
    script_advance(&w.vh.script, 60000);
    assert_null(open_request(&w));
    finish(&w);
  }
}

/* No answer: the event is written again. */
static void test_no_answer(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  open_recorder(&w);
  assert_int_equal(record(&w, "A", ""), 0);
  script_break_request(open_request(&w), KIN_EEOF, KIN_CLASS_CONNECT);
  assert_int_equal(w.code, KIN_EEOF);
  assert_in_range(w.retry_in_ms, 10000, 12500);
  script_advance(&w.vh.script, 12500);
  answer(&w, 201, "");
  finish(&w);
}

/* --- Arguments and limits ------------------------------------------------- */

static void expect_bad(void (*spoil)(kin_event_recorder_options *options),
                       const char *problem) {
  world w;
  begin(&w, 0);
  spoil(&w.options);
  assert_int_equal(
      kin__event_recorder_open(&w.recorder, &w.vh.host, &w.options),
      KIN_EINVAL);
  assert_null(w.recorder);
  if (strstr(w.vh.text, problem) == NULL) {
    fail_msg("%s is not in %s", problem, w.vh.text);
  }
  vh_finish(&w.vh);
}

static char long_word[130];

static void no_controller(kin_event_recorder_options *o) {
  o->controller = NULL;
}
static void long_controller(kin_event_recorder_options *o) {
  o->controller = long_word;
}
static void long_instance(kin_event_recorder_options *o) {
  o->instance = long_word;
}
static void many_series(kin_event_recorder_options *o) {
  o->max_series = (1u << 20) + 1;
}
static void many_queued(kin_event_recorder_options *o) {
  o->max_queued = 65537;
}
static void large_burst(kin_event_recorder_options *o) {
  o->burst = 65537;
}
static void long_interval(kin_event_recorder_options *o) {
  o->interval_s = 86401;
}
static void long_flush(kin_event_recorder_options *o) {
  o->flush_ms = 60001;
}

static void test_recorder_options(void **state) {
  (void)state;
  memset(long_word, 'w', 129);
  expect_bad(no_controller, "controller: is required");
  expect_bad(long_controller, "controller: is required, of at most 128");
  expect_bad(long_instance, "instance: is empty, or longer than 128");
  expect_bad(many_series, "max_series: 1048577 is more");
  expect_bad(many_queued, "max_queued: 65537 is more");
  expect_bad(large_burst, "burst: 65537 is more");
  expect_bad(long_interval, "interval_s: 86401 is more");
  expect_bad(long_flush, "flush_ms: 60001 is more");
}

/* A text with a NUL would have one value in the path and another in the body. */
static void test_reference_with_nul(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  open_recorder(&w);
  kin_object_reference odd = w.about;
  kin_str *const texts[] = {&odd.api_version, &odd.kind, &odd.namespace_,
                            &odd.name,        &odd.uid,  &odd.resource_version,
                            &odd.field_path};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    odd = w.about;
    *texts[i] = KIN__LIT("n\0b");
    assert_int_equal(kin_event_recorder_record(w.recorder, &odd, NULL, "Normal",
                                               "R", "A", ""),
                     KIN_EINVAL);
    assert_int_equal(kin_event_recorder_record(w.recorder, &w.about, &odd,
                                               "Normal", "R", "A", ""),
                     KIN_EINVAL);
  }
  finish(&w);
}

static void test_record_arguments(void **state) {
  (void)state;
  static char long_text[1026];
  world w;
  begin(&w, 0);
  char problem[KIN__PROBLEM_SIZE] = "";
  w.vh.log.problem = problem;
  open_recorder(&w);
  memset(long_word, 'w', 129);
  memset(long_text, 't', 1025);
  kin_event_recorder *r = w.recorder;
  const kin_object_reference *about = &w.about;
  const kin_object_reference nothing = {.name = KIN__LIT("x")};
  kin_object_reference large = w.about;
  large.uid = kin__cstr(long_text);
  assert_int_equal(
      kin_event_recorder_record(r, NULL, NULL, "Normal", "R", "A", ""),
      KIN_EINVAL);
  assert_string_equal(problem, "regarding: is required");
  assert_int_equal(
      kin_event_recorder_record(r, about, NULL, "Error", "R", "A", ""),
      KIN_EINVAL);
  assert_string_equal(problem, "type: is \"Normal\" or \"Warning\"");
  assert_int_equal(
      kin_event_recorder_record(r, about, NULL, "Normal", "", "A", ""),
      KIN_EINVAL);
  assert_int_equal(
      kin_event_recorder_record(r, about, NULL, "Normal", "R", long_word, ""),
      KIN_EINVAL);
  assert_non_null(strstr(problem, "reason, action: are required"));
  assert_int_equal(
      kin_event_recorder_record(r, &nothing, NULL, "Normal", "R", "A", ""),
      KIN_EINVAL);
  assert_non_null(strstr(problem, "regarding, related: need a kind"));
  assert_int_equal(
      kin_event_recorder_record(r, about, &nothing, "Normal", "R", "A", ""),
      KIN_EINVAL);
  assert_int_equal(
      kin_event_recorder_record(r, &large, NULL, "Normal", "R", "A", ""),
      KIN_EINVAL);
  large.uid.length = 1024;
  assert_int_equal(kin_event_recorder_record(r, &large, &large, "Normal", "R",
                                             "A", long_text),
                   0);
  long_text[1024] = '\0';
  char note[1100]; /* 1,024 bytes of it */
  snprintf(note, sizeof note, "'note':'%s','regarding'", long_text);
  expect_body(&w, note);
  answer(&w, 201, "");
  w.vh.log.problem = NULL;
  finish(&w);
}

/* --- The end -------------------------------------------------------------- */

/* A close does not wait; what is not written is lost. */
static void test_close_at_once(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  open_recorder(&w);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(record(&w, i == 0 ? "A" : i == 1 ? "B" : "C", ""), 0);
  }
  assert_non_null(open_request(&w));
  assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL), 0);
  assert_int_equal(record(&w, "D", ""), KIN_ECLOSED);
  assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL),
                   KIN_EALREADY);
  script_run(&w.vh.script);
  assert_int_equal(w.closed, 1);
  assert_int_equal(w.errors, 0);
  finish(&w);
}

/* What is remembered is freed in steps, 256 at most in each. */
static void test_close_in_steps(void **state) {
  (void)state;
  world w;
  char reason[16];
  begin(&w, 0);
  w.options.burst = 2000;
  open_recorder(&w);
  for (int i = 0; i < 700; i++) {
    snprintf(reason, sizeof reason, "R%d", i);
    assert_int_equal(record(&w, reason, ""), 0);
    if (i < 350) {
      answer(&w, 201, "");
    }
  }
  script_run(&w.vh.script);
  assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL), 0);
  size_t before = atomic_load(&w.vh.memory.live_blocks);
  while (w.closed == 0) {
    script_run_deferred(&w.vh.script);
    size_t now = atomic_load(&w.vh.memory.live_blocks);
    assert_true(before - now <= 256 + 16); /* and the parts of requests */
    before = now;
  }
  finish(&w);
}

/* flush_ms: what waits is written, and no longer than that. */
static void test_flush(void **state) {
  (void)state;
  for (int is_slow = 0; is_slow < 2; is_slow++) {
    world w;
    char reason[16];
    begin(&w, 0);
    w.options.flush_ms = 5000;
    open_recorder(&w);
    for (int i = 0; i < 10; i++) {
      snprintf(reason, sizeof reason, "R%d", i);
      assert_int_equal(record(&w, reason, ""), 0);
    }
    assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL), 0);
    for (int i = 0; i < (is_slow ? 3 : 10); i++) {
      assert_int_equal(w.closed, 0);
      answer(&w, 201, "");
    }
    script_advance(&w.vh.script, is_slow ? 4999 : 0);
    assert_int_equal(w.closed, !is_slow);
    script_advance(&w.vh.script, 1);
    assert_int_equal(w.closed, 1);
    finish(&w);
  }
}

static void finish_flushed(world *w) {
  script_run(&w->vh.script);
  assert_int_equal(w->closed, 1);
  finish(w);
}

/* flush_ms: an Event whose try has failed is tried once more, and the count of a
 * series is written. */
static void test_flush_of_tries(void **state) {
  (void)state;
  for (int is_down = 0; is_down < 2; is_down++) {
    world w;
    begin(&w, 0);
    w.options.flush_ms = 1000;
    open_recorder(&w);
    for (int i = 0; i < 5; i++) {
      assert_int_equal(record(&w, "series", ""), 0);
      if (i < 2) {
        answer(&w, 201, "");
      }
    }
    assert_int_equal(record(&w, "single", ""), 0);
    answer(&w, 201, "");
    assert_int_equal(record(&w, "late", ""), 0);
    answer(&w, 503, "ServiceUnavailable");
    assert_null(open_request(&w));
    assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL), 0);
    for (int i = 0; i < 2; i++) {
      script_request *request = open_request(&w);
      assert_non_null(request);
      if (strcmp(request->method, "PATCH") == 0) {
        expect_body(&w, "'count':5");
      } else {
        expect_body(&w, "'reason':'late'");
      }
      answer(&w, is_down ? 503 : 201, "ServiceUnavailable");
    }
    finish_flushed(&w);
  }
}

/* The last count of a series, 3, is written. */
static void answer_last_count(world *w) {
  expect_request(w, "PATCH", PATH);
  expect_body(w, "'count':3");
  answer(w, 200, "");
}

/* flush_ms: what a series has counted while a request of it was open. */
static void test_flush_of_a_count_behind_a_request(void **state) {
  (void)state;
  for (int is_create = 0; is_create < 2; is_create++) {
    world w;
    begin(&w, 0);
    w.options.flush_ms = 5000;
    open_recorder(&w);
    assert_int_equal(record(&w, "A", ""), 0);
    if (!is_create) {
      answer(&w, 201, "");
    }
    assert_int_equal(record(&w, "A", ""), 0);
    expect_body(&w, "'count':2");
    assert_int_equal(record(&w, "A", ""), 0);
    assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL), 0);
    answer(&w, is_create ? 201 : 200, "");
    answer_last_count(&w);
    finish_flushed(&w);
  }
}

/* flush_ms: more series have counts than may wait at other times. */
static void test_flush_of_more_than_max_queued(void **state) {
  (void)state;
  static const char *const reasons[] = {"A", "B", "C"};
  world w;
  begin(&w, 0);
  w.options.flush_ms = 5000;
  w.options.max_queued = 1;
  open_recorder(&w);
  for (int count = 1; count <= 3; count++) {
    for (int i = 0; i < 3; i++) {
      assert_int_equal(record(&w, reasons[i], ""), 0);
      if (count < 3) {
        answer(&w, count == 1 ? 201 : 200, "");
      }
    }
  }
  assert_null(open_request(&w));
  assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL), 0);
  for (int i = 0; i < 3; i++) {
    answer_last_count(&w);
  }
  finish_flushed(&w);
}

/* flush_ms: an Event that cannot be sent holds up nothing. */
static void test_flush_of_nothing(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  w.options.flush_ms = 60000;
  open_recorder(&w);
  w.about.namespace_ = KIN__LIT("no/namespace");
  assert_int_equal(record(&w, "A", ""), 0);
  assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL), 0);
  assert_null(open_request(&w));
  assert_int_equal(w.closed, 1);
  finish(&w);
}

/* flush_ms: an earlier create has arrived without its answer; the count is
 * written all the same. */
static void test_flush_of_what_exists(void **state) {
  (void)state;
  world w;
  begin(&w, 0);
  w.options.flush_ms = 60000;
  open_recorder(&w);
  assert_int_equal(record(&w, "A", ""), 0);
  answer(&w, 503, "ServiceUnavailable");
  for (int i = 0; i < 2; i++) {
    assert_int_equal(record(&w, "A", ""), 0);
  }
  assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL), 0);
  expect_request(&w, "POST", PATH);
  answer(&w, 409, "AlreadyExists");
  answer_last_count(&w);
  finish_flushed(&w);
}

static void close_client(world *w) {
  if (w->recorder != NULL) {
    vh_close(&w->vh);
  }
}

static void close_again(world *w) {
  assert_int_equal(kin_event_recorder_close(w->recorder, NULL, NULL),
                   KIN_EALREADY);
}

/* flush_ms: on_error hears of each request that fails, and that there is no
 * later try. */
static void test_flush_fails(void **state) {
  (void)state;
  void (*const thens[])(world * w) = {NULL, close_again, close_client};
  static const int statuses[] = {403, 503, 0}; /* 0: it cannot be sent */
  for (int i = 0; i < 9; i++) {
    world w;
    begin(&w, 0);
    w.options.flush_ms = 60000;
    w.then = thens[i / 3];
    w.at_call = 1;
    open_recorder(&w);
    if (statuses[i % 3] == 0) {
      w.about.namespace_ = KIN__LIT("no/namespace");
    }
    assert_int_equal(record(&w, "A", ""), 0);
    assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL), 0);
    w.retry_in_ms = 1;
    if (statuses[i % 3] != 0) {
      expect_request(&w, "POST", PATH);
      answer(&w, statuses[i % 3], "Forbidden");
    }
    script_run(&w.vh.script);
    assert_int_equal(w.errors, 1);
    assert_int_equal(w.status, statuses[i % 3]);
    assert_int_equal(w.retry_in_ms, 0);
    finish_flushed(&w);
  }
}

/* A client that closes ends the recorder, at any moment of a request. */
static void test_recorder_client_closes(void **state) {
  (void)state;
  for (int is_flushing = 0; is_flushing < 2; is_flushing++) {
    world w;
    begin(&w, 0);
    w.options.flush_ms = 5000;
    open_recorder(&w);
    assert_int_equal(record(&w, "A", ""), 0);
    assert_non_null(open_request(&w));
    if (is_flushing) {
      assert_int_equal(kin_event_recorder_close(w.recorder, NULL, NULL), 0);
      script_run(&w.vh.script);
    }
    vh_close(&w.vh);
    script_run(&w.vh.script);
    assert_true(w.vh.is_closed);
    assert_int_equal(w.closed, 1);
    finish(&w);
  }
}

/* --- Sweeps --------------------------------------------------------------- */

static bool live(size_t fail_at, int at_call, void (*then)(world *w),
                 size_t split, int *calls) {
  world w;
  begin(&w, fail_at);
  w.vh.script.split = split;
  w.then = then;
  w.at_call = at_call;
  if (kin__event_recorder_open(&w.recorder, &w.vh.host, &w.options) == 0) {
    static const int statuses[] = {503, 201, 404, 201, 403};
    for (int i = 0; i < 5 && w.recorder != NULL; i++) {
      (void)record(&w, i < 3 ? "A" : "B", "note");
      if (open_request(&w) != NULL) {
        answer(&w, statuses[i], "NotFound");
      }
      script_advance(&w.vh.script, 12500);
    }
    while (open_request(&w) != NULL) {
      answer(&w, 200, "");
    }
    script_advance(&w.vh.script, 400000);
    while (open_request(&w) != NULL) {
      answer(&w, 200, "");
    }
  } else {
    assert_int_not_equal(fail_at, 0);
  }
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  finish(&w);
  *calls = w.calls;
  return has_failed;
}

static bool live_without_memory(size_t fail_at) {
  int calls;
  return live(fail_at, 0, NULL, 0, &calls);
}

static void test_recorder_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(live_without_memory, 10);
}

static void close_recorder(world *w) {
  if (w->recorder != NULL) {
    assert_int_equal(kin_event_recorder_close(w->recorder, NULL, NULL), 0);
  }
}

static void test_recorder_closes_in_callbacks(void **state) {
  (void)state;
  int count;
  live(0, 0, NULL, 0, &count);
  assert_true(count >= 3);
  for (int at_call = 1; at_call <= count; at_call++) {
    int calls;
    live(0, at_call, close_recorder, 0, &calls);
    assert_true(calls >= at_call);
    live(0, at_call, close_client, 0, &calls);
    assert_true(calls >= at_call);
  }
}

/* The request cannot be made, so on_error comes from the recorder's own step.
 * The Event would be forgotten after six minutes. */
static void test_recorder_closes_before_a_request(void **state) {
  (void)state;
  void (*const closes[])(world * w) = {close_recorder, close_client};
  for (size_t i = 0; i < 2; i++) {
    world w;
    begin(&w, 0);
    w.then = closes[i];
    w.at_call = 1;
    open_recorder(&w);
    w.about.namespace_ = KIN__LIT("a/b");
    assert_int_equal(record(&w, "A", ""), 0);
    script_run(&w.vh.script);
    assert_int_equal(w.code, KIN_EINVAL);
    assert_string_equal(w.namespace_, "a/b");
    assert_non_null(strstr(w.message, "Event about Pod a/b/web: "));
    assert_int_equal(w.closed, 1);
    script_advance(&w.vh.script, 360000);
    script_run(&w.vh.script);
    finish(&w);
  }
}

static void test_recorder_answers_in_pieces(void **state) {
  (void)state;
  for (size_t split = 1; split < 100; split++) {
    int calls;
    live(0, 0, NULL, split, &calls);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_event),
      cmocka_unit_test(test_cluster_object),
      cmocka_unit_test(test_series_patch),
      cmocka_unit_test(test_series_end),
      cmocka_unit_test(test_many_events),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_put_off),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_no_answer),
      cmocka_unit_test(test_recorder_options),
      cmocka_unit_test(test_reference_with_nul),
      cmocka_unit_test(test_record_arguments),
      cmocka_unit_test(test_close_at_once),
      cmocka_unit_test(test_close_in_steps),
      cmocka_unit_test(test_flush),
      cmocka_unit_test(test_flush_of_tries),
      cmocka_unit_test(test_flush_of_a_count_behind_a_request),
      cmocka_unit_test(test_flush_of_more_than_max_queued),
      cmocka_unit_test(test_flush_of_nothing),
      cmocka_unit_test(test_flush_of_what_exists),
      cmocka_unit_test(test_flush_fails),
      cmocka_unit_test(test_recorder_client_closes),
      cmocka_unit_test(test_recorder_allocations_fail),
      cmocka_unit_test(test_recorder_closes_in_callbacks),
      cmocka_unit_test(test_recorder_closes_before_a_request),
      cmocka_unit_test(test_recorder_answers_in_pieces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
