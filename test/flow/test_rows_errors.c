/* SPDX-License-Identifier: MIT */

/* Errors of a server, row by row: what an answer with an error is told as, what
 * is asked for next, and that it leaves the cache alone. Lists and watches that
 * fail in other ways are in test_shared_informer_watch.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/informer_world.h"
#include "support/virtual_host.h"

#define LIST                                                                   \
  "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"10\"},"           \
  "\"items\":[{\"metadata\":{\"name\":\"foo\",\"uid\":\"u\","                  \
  "\"resourceVersion\":\"3\"}}]}"
#define BOOKMARK                                                               \
  "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"                          \
  "\"resourceVersion\":\"12\"}}}\n"
#define STATUS(members)                                                        \
  "{\"kind\":\"Status\",\"status\":\"Failure\"," members "}"

static void open_outcome_with(iw_world *w, uint32_t internal_error_retry_ms) {
  iw_init(w, 0);
  kin_informer_options options = iw_options(w);
  options.on_state = NULL;
  options.internal_error_retry_ms = internal_error_retry_ms;
  assert_int_equal(iw_open(w, &options), 0);
  script_run(&w->script);
}

static void open_outcome(iw_world *w) {
  open_outcome_with(w, 0);
}

static void list(iw_world *w) {
  script_respond(&w->script, "/pods", 200, LIST);
  assert_true(kin_informer_has_synced(w->informer));
}

/* What is asked for: 'L' a list, 'V' whether the version is still there, 'W' a
 * watch, '-' nothing. */
static char asked(iw_world *w) {
  if (script_open_requests(&w->script) == 0) {
    return '-';
  }
  script_request *request = script_expect(&w->script, "/pods");
  if (request->is_watch) {
    return 'W';
  }
  return strstr(request->target, "limit=1&") != NULL ? 'V' : 'L';
}

/* The same, after the wait that was told. */
static char asked_later(iw_world *w) {
  assert_int_equal(asked(w), '-');
  script_advance(&w->script, w->last_retry_in_ms);
  return asked(w);
}

typedef struct answer {
  int http_status;
  const char *body;
  int code;
  kin_error_class error_class;
  int status;
  const char *reason;
  const char *text; /* the message has it */
  char after_watch;
} answer;

static const answer answers[] = {
    /* RE-01: nothing but a code. */
    {400, "", KIN_ESTATUS, KIN_CLASS_SERVER, 400, "BadRequest", "rejected",
     'L'},
    {401, "", KIN_ESTATUS, KIN_CLASS_AUTH, 401, "Unauthorized", "credentials",
     'W'},
    {403, "", KIN_ESTATUS, KIN_CLASS_FORBIDDEN, 403, "Forbidden", "allow", 'W'},
    {404, "", KIN_ESTATUS, KIN_CLASS_ABSENT, 404, "NotFound", "resource", 'V'},
    {405, "", KIN_ESTATUS, KIN_CLASS_SERVER, 405, "MethodNotAllowed", "verb",
     'W'},
    {406, "", KIN_ESTATUS, KIN_CLASS_SERVER, 406, "NotAcceptable", "accepted",
     'W'},
    {409, "", KIN_ESTATUS, KIN_CLASS_SERVER, 409, "Conflict", "conflict", 'W'},
    {410, "", KIN_EGONE, KIN_CLASS_SERVER, 410, "", "refused", 'L'},
    {413, "", KIN_ESTATUS, KIN_CLASS_SERVER, 413, "", "refused", 'W'},
    {415, "", KIN_ESTATUS, KIN_CLASS_SERVER, 415, "UnsupportedMediaType",
     "media type", 'W'},
    {422, "", KIN_ESTATUS, KIN_CLASS_SERVER, 422, "Invalid", "invalid", 'L'},
    {429, "", KIN_ESTATUS, KIN_CLASS_THROTTLED, 429, "TooManyRequests",
     "too many", 'W'},
    {500, "", KIN_ESTATUS, KIN_CLASS_SERVER, 500, "InternalError", "internal",
     'W'},
    {502, "", KIN_ESTATUS, KIN_CLASS_SERVER, 502, "InternalError", "internal",
     'W'},
    {503, "", KIN_ESTATUS, KIN_CLASS_SERVER, 503, "ServiceUnavailable",
     "unavailable", 'W'},
    {504, "", KIN_ESTATUS, KIN_CLASS_SERVER, 504, "Timeout", "in time", 'W'},
    /* RE-01: with a text, whatever its type, of which client-go shows only
     * plain ones. */
    {503, "no healthy upstream\n", KIN_ESTATUS, KIN_CLASS_SERVER, 503,
     "ServiceUnavailable", ": no healthy upstream", 'W'},
    {502, "<html>Bad Gateway</html>", KIN_ESTATUS, KIN_CLASS_SERVER, 502,
     "InternalError", ": <html>Bad Gateway</html>", 'W'},
    {429, "{\"error\":\"slow down\"}", KIN_ESTATUS, KIN_CLASS_THROTTLED, 429,
     "TooManyRequests", ": {\"error\":\"slow down\"}", 'W'},
    /* RE-02: a Status beats the code, if it is one, and a failure. */
    {500,
     STATUS("\"code\":403,\"reason\":\"Forbidden\",\"message\":\"no such "
            "right\""),
     KIN_ESTATUS, KIN_CLASS_FORBIDDEN, 403, "Forbidden", ": no such right",
     'W'},
    {500, STATUS("\"code\":410,\"reason\":\"Expired\""), KIN_EGONE,
     KIN_CLASS_SERVER, 410, "Expired", ": Expired", 'L'},
    {410, STATUS("\"message\":\"compacted\""), KIN_EGONE, KIN_CLASS_SERVER, 410,
     "", ": compacted", 'L'},
    {500, "{\"status\":\"Failure\",\"code\":410,\"reason\":\"Expired\"}",
     KIN_ESTATUS, KIN_CLASS_SERVER, 500, "InternalError", "Expired", 'W'},
    {500,
     "{\"kind\":\"Status\",\"status\":\"Success\",\"code\":410,\"reason\":"
     "\"Expired\"}",
     KIN_ESTATUS, KIN_CLASS_SERVER, 500, "InternalError", "Success", 'W'},
    {429, STATUS("\"code\":429,\"reason\":\"TooManyRequests\""), KIN_ESTATUS,
     KIN_CLASS_THROTTLED, 429, "TooManyRequests", ": TooManyRequests", 'W'},
};
#define ANSWERS (sizeof answers / sizeof answers[0])

static void expect(const iw_world *w, const answer *a) {
  assert_int_equal(w->errors, 1);
  if (w->last_code != a->code || w->last_class != a->error_class ||
      w->last_status != a->status || strcmp(w->last_reason, a->reason) != 0 ||
      strstr(w->last_message, a->text) == NULL) {
    fail_msg("%d %s: %d, class %d, status %d, \"%s\", \"%s\"", a->http_status,
             a->body, w->last_code, (int)w->last_class, w->last_status,
             w->last_reason, w->last_message);
  }
}

/* client-go TestTransformResponse, TestTransformUnstructuredError; RE-01,
 * RE-02: of a list, which is made again after a wait. */
static void test_error_answers_of_lists(void **state) {
  (void)state;
  for (size_t i = 0; i < ANSWERS; i++) {
    iw_world w;
    open_outcome(&w);
    script_respond(&w.script, "/pods", answers[i].http_status, answers[i].body);
    expect(&w, &answers[i]);
    assert_non_null(strstr(w.last_message, "list of pods"));
    if (w.last_code == KIN_EGONE) { /* RL-05: the newest list is had at once */
      assert_int_equal(asked(&w), 'L');
    } else {
      assert_int_equal(asked_later(&w), 'L');
    }
    list(&w);
    iw_finish(&w);
  }
}

/* RE-01, RE-02, RW-04, WS-01: of a watch. Different on purpose from client-go,
 * which makes a list after any of them but 429: only what says that the version
 * is of no use does so here, a resource that was gone is looked at first. */
static void test_error_answers_of_watches(void **state) {
  (void)state;
  for (size_t i = 0; i < ANSWERS; i++) {
    iw_world w;
    open_outcome(&w);
    list(&w);
    assert_int_equal(asked(&w), 'W');
    script_respond(&w.script, "/pods", answers[i].http_status, answers[i].body);
    expect(&w, &answers[i]);
    assert_non_null(strstr(w.last_message, "watch of pods"));
    char next = asked_later(&w);
    if (next != answers[i].after_watch) {
      fail_msg("%d %s: %c", answers[i].http_status, answers[i].body, next);
    }
    assert_non_null(strstr(w.script.last_target, "resourceVersion=10"));
    assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 1);
    iw_finish(&w);
  }
}

/* RE-01: a body that cannot be decoded is no text for people, in a list and in a
 * watch. */
static void test_error_answers_in_an_unknown_encoding(void **state) {
  (void)state;
  static const answer bad_gateway = {
      502,        "", KIN_ESTATUS, KIN_CLASS_SERVER, 502, "InternalError",
      "internal", 'W'};
  const kin__response_head head = {.status = 502,
                                   .content_type = {"text/html", 9},
                                   .retry_after_s = -1,
                                   .encoding = {"br", 2}};
  for (int is_watch = 0; is_watch < 2; is_watch++) {
    iw_world w;
    open_outcome(&w);
    if (is_watch) {
      list(&w);
    }
    script_request *request = script_expect(&w.script, "/pods");
    if (script_request_give_head(request, &head) &&
        script_request_body(request, "\x8b\x02\x80\xff<x", 6)) {
      script_request_end(request);
    }
    expect(&w, &bad_gateway);
    assert_int_equal(asked_later(&w), is_watch ? 'W' : 'L');
    iw_finish(&w);
  }
}

/* RE-06, RW-05, RW-06: an ERROR event whose Status has a reason and no code is
 * dealt with as if it had the code, also as far as waiting goes. */
static void test_error_events_without_a_code(void **state) {
  (void)state;
  static const struct {
    const char *reason;
    kin_error_class error_class;
    int status;
    char next;
  } rows[] = {
      {"TooManyRequests", KIN_CLASS_THROTTLED, 429, 'W'},
      {"Unauthorized", KIN_CLASS_AUTH, 401, 'W'},
      {"Forbidden", KIN_CLASS_FORBIDDEN, 403, 'W'},
      {"NotFound", KIN_CLASS_ABSENT, 404, 'V'},
      {"InternalError", KIN_CLASS_SERVER, 500, 'W'},
      {"ServiceUnavailable", KIN_CLASS_SERVER, 503, 'W'},
      {"Timeout", KIN_CLASS_SERVER, 504, 'W'},
      {"Expired", KIN_CLASS_SERVER, 410, 'L'},
      {"Gone", KIN_CLASS_SERVER, 410, 'L'},
      {"Invalid", KIN_CLASS_SERVER, 422, 'L'},
      {"BadRequest", KIN_CLASS_SERVER, 400, 'L'},
      {"StorageReadError", KIN_CLASS_SERVER, 500, 'L'},
      {"OfALaterVersion", KIN_CLASS_SERVER, 0, 'W'}, /* no storm either */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    iw_world w;
    open_outcome(&w);
    list(&w);
    assert_true(script_head(&w.script, "watch=true", 200));
    script_body(&w.script, "watch=true", BOOKMARK, sizeof BOOKMARK - 1);
    script_advance(&w.script, 5000);
    char event[300];
    snprintf(
        event, sizeof event,
        "{\"type\":\"ERROR\",\"object\":" STATUS("\"reason\":\"%s\"") "}\n",
        rows[i].reason);
    script_body(&w.script, "watch=true", event, strlen(event));
    assert_int_equal(w.errors, 1);
    assert_int_equal(w.last_class, rows[i].error_class);
    assert_int_equal(w.last_status, rows[i].status);
    assert_string_equal(w.last_reason, rows[i].reason);
    assert_int_equal(asked_later(&w), rows[i].next);
    assert_non_null(strstr(w.script.last_target, "resourceVersion=12"));
    iw_finish(&w);
  }
}

/* An ERROR event of this code, five seconds after the watch began. */
static void end_with_error(iw_world *w, const char *code) {
  assert_true(script_head(&w->script, "watch=true", 200));
  script_body(&w->script, "watch=true", BOOKMARK, sizeof BOOKMARK - 1);
  script_advance(&w->script, 5000);
  char event[300];
  snprintf(event, sizeof event,
           "{\"type\":\"ERROR\",\"object\":" STATUS("\"code\":%s") "}\n", code);
  script_body(&w->script, "watch=true", event, strlen(event));
}

/* RD-01 to RD-04, as an option of an informer: so long, and counted from the
 * first error, an internal error is repeated at once, and then there is a list.
 * Without it, and for other errors, there are waits. */
static void test_internal_errors_are_repeated(void **state) {
  (void)state;
  iw_world w;
  open_outcome_with(&w, 10000);
  list(&w);
  for (int i = 0; i < 3; i++) { /* 5, 10 and 15 s after the first watch */
    end_with_error(&w, "500");
    assert_int_equal(w.errors, i + 1);
    assert_int_equal(asked(&w), 'W');
    assert_non_null(strstr(w.script.last_target, "resourceVersion=12"));
  }
  end_with_error(&w, "500");
  assert_true(w.last_retry_in_ms >= 800);
  assert_int_equal(asked_later(&w), 'L');
  iw_finish(&w);

  open_outcome_with(&w, 10000);
  list(&w);
  end_with_error(&w, "503");
  assert_true(w.last_retry_in_ms > 0);
  assert_int_equal(asked_later(&w), 'W');
  iw_finish(&w);

  open_outcome(&w);
  list(&w);
  end_with_error(&w, "500");
  assert_true(w.last_retry_in_ms > 0);
  assert_int_equal(asked_later(&w), 'W');
  iw_finish(&w);
}

/* client-go TestRetryableConditions, TestRequestMaxRetries; RR-01, RR-05,
 * RR-08: nothing is retried without being told, with a wait that grows, and no
 * number of failures is the last. Each message is that of its own attempt. */
static void test_no_attempt_is_the_last(void **state) {
  (void)state;
  iw_world w;
  open_outcome(&w);
  for (int i = 0; i < 30; i++) {
    assert_int_equal(asked(&w), 'L');
    char body[32];
    snprintf(body, sizeof body, "attempt %d.", i);
    script_respond(&w.script, "/pods", i % 2 == 0 ? 503 : 429, body);
    assert_int_equal(w.errors, i + 1);
    assert_non_null(strstr(w.last_message, body));
    snprintf(body, sizeof body, "attempt %d.", i - 1);
    assert_null(strstr(w.last_message, body));
    assert_true(w.last_retry_in_ms >= 400);
    assert_int_equal(asked_later(&w), 'L');
  }
  list(&w);
  iw_finish(&w);
}

/* client-go TestRequestWatch, TestRequestWatchWithRetry; RR-02, RR-03, RR-10:
 * a watch that breaks before it begins is not taken for one that was empty. It
 * is told each time, and the version is verified, so that no list is made. */
static void test_watch_that_never_begins(void **state) {
  (void)state;
  static const int codes[] = {KIN_EEOF, UV_ECONNRESET, UV_EPIPE, UV_ETIMEDOUT};
  iw_world w;
  open_outcome(&w);
  list(&w);
  for (int i = 0; i < 24; i++) {
    script_break(&w.script, "/pods", codes[i % 4], KIN_CLASS_CONNECT);
    assert_int_equal(w.errors, i + 1);
    assert_int_equal(w.last_code, codes[i % 4]);
    assert_int_equal(asked_later(&w), 'V');
    assert_non_null(strstr(w.script.last_target, "resourceVersion=10"));
  }
  script_respond(&w.script, "limit=1&", 200, LIST);
  assert_int_equal(asked(&w), 'W');
  assert_int_equal(w.rec.relisted, 0);
  iw_finish(&w);
}

/* RE-04: an answer that breaks off is told as that, an error as its status, and
 * the request is made again; nothing of a list that broke off is used. */
static void test_answers_that_break_off(void **state) {
  (void)state;
  static const int codes[] = {200, 500};
  for (size_t i = 0; i < 2; i++) {
    for (size_t length = 0; length < sizeof LIST - 1; length += 7) {
      iw_world w;
      open_outcome(&w);
      assert_true(script_head(&w.script, "/pods", codes[i]));
      script_body(&w.script, "/pods", LIST, length);
      script_break(&w.script, "/pods", KIN_EEOF, KIN_CLASS_CONNECT);
      assert_int_equal(w.errors, 1);
      assert_int_equal(w.last_code, i == 0 ? KIN_EEOF : KIN_ESTATUS);
      assert_int_equal(w.last_class,
                       i == 0 ? KIN_CLASS_CONNECT : KIN_CLASS_SERVER);
      assert_int_equal(kin_store_count(kin_informer_store(w.informer)), 0);
      assert_int_equal(asked_later(&w), 'L');
      list(&w);
      assert_int_equal(w.rec.calls, 2); /* the add, and synced */
      iw_finish(&w);
    }
  }
}

/* RL-11, WS-06: closed while a list, or a watch, is being read: it is cancelled
 * once; what is left of it changes nothing; to close again is refused. */
static void test_closed_in_the_middle(void **state) {
  (void)state;
  for (int is_watch = 0; is_watch < 2; is_watch++) {
    iw_world w;
    open_outcome(&w);
    if (is_watch) {
      list(&w);
    }
    assert_true(script_head(&w.script, "/pods", 200));
    script_body(&w.script, "/pods", is_watch ? BOOKMARK : LIST, 60);
    int calls = w.rec.calls;
    assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w), 0);
    assert_int_equal(kin_informer_close(w.informer, iw_on_closed, &w),
                     KIN_EALREADY);
    assert_int_equal(script_open_requests(&w.script), 0);
    script_run(&w.script);
    script_advance(&w.script, 3600000);
    assert_int_equal(w.script.request_count, 1 + is_watch);
    assert_int_equal(w.rec.calls, calls);
    assert_int_equal(w.errors, 0);
    assert_int_equal(w.closed, 1);
    iw_finish(&w);
  }
}

/* RF-09: without on_error a failure is logged, once, and everything goes on as
 * with it. */
static void test_failures_without_a_handler(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  kin_informer *informer;
  assert_int_equal(vh_open_informer(&vh, &informer, "pods"), 0);
  assert_int_equal(kin_informer_start(informer), 0);
  script_run(&vh.script);
  script_respond(&vh.script, "/pods", 403, "not you");
  assert_non_null(strstr(vh.text, "W pods: Forbidden: "));
  const char *told = strstr(vh.text, ": not you; next attempt in ");
  assert_non_null(told);
  assert_ptr_equal(strchr(told, '\n') + 1, vh.text + strlen(vh.text));
  mini_put(&vh.server, 0);
  mini_pass(&vh.server, 5000);
  assert_true(kin_informer_has_synced(informer));
  assert_int_equal(kin_store_count(kin_informer_store(informer)), 1);
  vh.text[0] = '\0';
  mini_end_watches(&vh.server); /* the end of a watch is not worth a line */
  mini_pass(&vh.server, 5000);
  assert_string_equal(vh.text, "");
  vh_finish(&vh);
}

/* Lists fail `count` times; returns how many of these were warnings. */
static int warnings_of(virtual_host *vh, int status, const char *body,
                       int count) {
  int warnings = 0;
  for (int i = 0; i < count; i++) {
    vh->text[0] = '\0';
    assert_int_equal(script_open_requests(&vh->script), 1);
    script_respond(&vh->script, "/pods", status, body);
    warnings += vh_count_logged(vh, "W pods: ");
    while (script_open_requests(&vh->script) == 0) {
      script_advance(&vh->script, 100);
    }
  }
  return warnings;
}

/* RF-09: a failure that goes on does not fill the log; another failure is told
 * at once, and so is the first one after a success. */
static void test_log_of_a_failure_that_goes_on(void **state) {
  (void)state;
  virtual_host vh;
  vh_init(&vh, 0);
  kin_informer *informer;
  assert_int_equal(vh_open_informer(&vh, &informer, "pods"), 0);
  assert_int_equal(kin_informer_start(informer), 0);
  script_run(&vh.script);
  for (int pass = 0; pass < 2; pass++) {
    assert_int_equal(warnings_of(&vh, 404, "no pods", 4), 4);
    assert_int_equal(warnings_of(&vh, 404, "no pods", 11), 0);
    assert_int_equal(warnings_of(&vh, 404, "no pods", 1), 1); /* the 16th */
    assert_int_equal(warnings_of(&vh, 404, "no pods", 13), 0);
    assert_int_equal(warnings_of(&vh, 403, "not you", 1), 1);
    assert_int_equal(warnings_of(&vh, 404, "no pods", 1), 1);
    mini_put(&vh.server, pass);
    mini_pass(&vh.server, 60000);
    assert_true(kin_informer_has_synced(informer));
    mini_end_watches(&vh.server);
    while (script_open_requests(&vh.script) == 0) {
      script_advance(&vh.script, 100);
    }
  }
  vh_finish(&vh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_error_answers_of_lists),
      cmocka_unit_test(test_error_answers_of_watches),
      cmocka_unit_test(test_error_answers_in_an_unknown_encoding),
      cmocka_unit_test(test_error_events_without_a_code),
      cmocka_unit_test(test_internal_errors_are_repeated),
      cmocka_unit_test(test_no_attempt_is_the_last),
      cmocka_unit_test(test_watch_that_never_begins),
      cmocka_unit_test(test_answers_that_break_off),
      cmocka_unit_test(test_closed_in_the_middle),
      cmocka_unit_test(test_failures_without_a_handler),
      cmocka_unit_test(test_log_of_a_failure_that_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
