/* SPDX-License-Identifier: MIT */

/* What makes a single request fail or be sent again, on a virtual clock. Proves
 * RR-01, RR-02, RR-05, RR-06, RR-08, RE-04 and RQ-05 for requests of a
 * program. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uv.h>

#include "request/request.h"
#include "support/request_world.h"

#define OBJECT "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"}}"

static const kin_verb verbs[] = {KIN_VERB_GET,         KIN_VERB_CREATE,
                                 KIN_VERB_UPDATE,      KIN_VERB_PATCH_JSON,
                                 KIN_VERB_PATCH_MERGE, KIN_VERB_PATCH_STRATEGIC,
                                 KIN_VERB_DELETE};
#define VERBS (sizeof verbs / sizeof verbs[0])

/* --- Put off by the server ------------------------------------------------ */

/* RR-01, RR-05, RR-06. client-go TestCheckRetryHandles429And5xx,
 * TestIsNextRetry: any verb is sent again, with its body, after the time that
 * the server asks for. */
static void test_put_off(void **state) {
  (void)state;
  static const int statuses[] = {429, 500, 503, 504, 599};
  for (size_t i = 0; i < VERBS * 5; i++) {
    request_world w;
    qw_begin(&w, verbs[i / 5]);
    size_t length = qw_open_try(&w)->body_length;
    qw_put_off(&w, statuses[i % 5], 5, "");
    assert_int_equal(w.failures, 1);
    qw_pass(&w, 4999);
    assert_int_equal(script_open_requests(&w.vh.script), 0);
    qw_pass(&w, 1);
    assert_int_equal(qw_open_try(&w)->body_length, length);
    qw_answer(&w, 200, OBJECT);
    qw_expect(&w, 0, 200, KIN_REASON_NONE);
    assert_int_equal(w.retries, 1);
    assert_int_equal(w.at_ms, 5000);
    qw_finish(&w);
  }
}

/* RR-01. client-go TestRetryableConditions: without the header, or with another
 * status, an answer is final. A number in the body does not count. */
static void test_final_answers(void **state) {
  (void)state;
  const struct {
    int status;
    int64_t retry_after_s;
  } cases[] = {{429, -1}, {500, -1}, {503, -1}, {409, 1}, {404, 0}, {304, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    request_world w;
    qw_begin(&w, KIN_VERB_GET);
    qw_put_off(&w, cases[i].status, cases[i].retry_after_s,
               "{\"kind\":\"Status\",\"status\":\"Failure\",\"details\":{"
               "\"retryAfterSeconds\":9}}");
    assert_int_equal(w.results, 1);
    assert_int_equal(w.failures, 0);
    assert_int_equal(w.status, cases[i].status);
    assert_int_equal(w.retry_after_s,
                     cases[i].retry_after_s < 0 ? 9 : cases[i].retry_after_s);
    qw_finish(&w);
  }
}

/* RR-01, RR-08. client-go TestRequestMaxRetries, TestWrapPreviousError: 11
 * tries; the error of the last counts, and the one before is named if it was
 * another. */
static void test_retries_are_bounded(void **state) {
  (void)state;
  for (int is_same = 0; is_same < 2; is_same++) {
    request_world w;
    qw_begin(&w, KIN_VERB_UPDATE);
    for (int i = 0; i < 10; i++) {
      qw_put_off(&w, 503, 2, "busy");
      qw_pass(&w, 2000);
      assert_int_equal(w.results, 0);
    }
    qw_put_off(&w, is_same ? 503 : 500, 2, is_same ? "busy" : "worse");
    qw_expect(&w, KIN_ESTATUS, is_same ? 503 : 500,
              is_same ? KIN_REASON_SERVICE_UNAVAILABLE
                      : KIN_REASON_INTERNAL_ERROR);
    assert_int_equal(w.retries, 10);
    assert_int_equal(w.failures, 10);
    assert_int_equal(w.at_ms, 20000);
    assert_int_equal(w.vh.script.request_count, 11);
    assert_string_equal(w.message,
                        is_same ? "PUT " QW_PATH ": busy"
                                : "PUT " QW_PATH
                                  ": worse - error from a previous attempt: "
                                  "PUT " QW_PATH ": busy");
    qw_finish(&w);
  }
}

/* RR-08. The message of the try before is cut, but not within a character. */
static void test_long_messages(void **state) {
  (void)state;
  for (size_t shift = 0; shift < 2; shift++) {
    char body[600] = "x";
    for (size_t at = shift; at < 500; at += 2) {
      memcpy(body + at, "\xc3\xa9", 3);
    }
    request_world w;
    qw_begin(&w, KIN_VERB_GET);
    qw_put_off(&w, 429, 1, body);
    qw_pass(&w, 1000);
    qw_answer(&w, 404, QW_STATUS(404, "NotFound", ""));
    qw_expect(&w, KIN_ENOENT, 404, KIN_REASON_NOT_FOUND);
    size_t length = strlen(w.message);
    assert_true(length > 383);
    assert_memory_equal(w.message + length - 2, "\xc3\xa9", 2);
    qw_finish(&w);
  }
}

static void test_fewer_retries(void **state) {
  (void)state;
  for (uint32_t max = 0; max < 3; max++) {
    request_world w;
    qw_init(&w, 0);
    w.spec.max_retries = max;
    w.spec.no_retries = max == 0;
    qw_start(&w);
    for (uint32_t i = 0; i < max; i++) {
      qw_put_off(&w, 429, 0, ""); /* at once, but from a timer */
      qw_pass(&w, 0);
    }
    assert_int_equal(w.results, 0);
    qw_put_off(&w, 429, 0, "");
    qw_expect(&w, KIN_ESTATUS, 429, KIN_REASON_TOO_MANY_REQUESTS);
    assert_int_equal(w.retries, max);
    qw_finish(&w);
  }
}

/* The program is told of each wait, and may change it. */
static void test_answers_of_the_program(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_UPDATE);
  qw_put_off(&w, 429, 5, "");
  w.answer = KIN_RETRY_AFTER;
  w.retry_after_ms = 700;
  qw_pass(&w, 5000);
  qw_put_off(&w, 503, 6, "");
  qw_pass(&w, 700);
  w.answer = KIN_STOP;
  qw_put_off(&w, 500, 7, "");
  qw_expect(&w, KIN_ESTATUS, 500, KIN_REASON_INTERNAL_ERROR);
  assert_string_equal(w.told, "429+5000 503+6000 500+7000 ");
  assert_int_equal(w.at_ms, 5700);
  assert_int_equal(w.retries, 2);
  qw_finish(&w);
}

static void test_retries_without_on_error(void **state) {
  (void)state;
  request_world w;
  qw_init(&w, 0);
  w.spec.on_error = NULL;
  qw_start(&w);
  qw_put_off(&w, 429, 5, "");
  qw_pass(&w, 5000);
  qw_answer(&w, 200, OBJECT);
  qw_expect(&w, 0, 200, KIN_REASON_NONE);
  qw_finish(&w);
}

/* Of a path, as a HEAD and an OPTIONS are. */
static void ask_for_path(request_world *w, kin_verb verb) {
  w->spec.verb = verb;
  w->spec.path = QW_PATH;
  w->spec.plural = w->spec.namespace_ = w->spec.name = NULL;
  w->spec.body = NULL;
  w->spec.body_length = 0;
  w->spec.on_error = NULL; /* the world's expects a namespace */
}

/* --- Broken connections --------------------------------------------------- */

/* RR-02. client-go TestConnectionResetByPeerIsRetried: a GET is sent again a
 * second after its connection broke; nothing else ever is, because the server
 * may have carried it out. */
static void test_broken_before_the_head(void **state) {
  (void)state;
  static const int codes[] = {KIN_EEOF, UV_ECONNRESET, UV_EPIPE,
                              UV_ECONNABORTED};
  for (size_t i = 0; i < VERBS * 4; i++) {
    request_world w;
    qw_begin(&w, verbs[i / 4]);
    qw_cut(&w, codes[i % 4]);
    if (verbs[i / 4] == KIN_VERB_GET) {
      qw_pass(&w, 999);
      assert_int_equal(script_open_requests(&w.vh.script), 0);
      qw_pass(&w, 1);
      qw_answer(&w, 200, OBJECT);
      qw_expect(&w, 0, 200, KIN_REASON_NONE);
      assert_string_equal(w.told, "0+1000 ");
    } else {
      qw_expect(&w, codes[i % 4], 0, KIN_REASON_NONE);
      assert_int_equal(w.error_class, KIN_CLASS_CONNECT);
      assert_int_equal(w.failures, 0);
    }
    qw_finish(&w);
  }
}

/* RR-02. The same for HEAD and OPTIONS, which change nothing either. */
static void test_broken_before_the_head_of_a_path(void **state) {
  (void)state;
  static const kin_verb asked[] = {KIN_VERB_HEAD, KIN_VERB_OPTIONS};
  for (int i = 0; i < 2; i++) {
    request_world w;
    qw_init(&w, 0);
    ask_for_path(&w, asked[i]);
    qw_start(&w);
    qw_cut(&w, KIN_EEOF);
    assert_int_equal(w.results, 0);
    qw_pass(&w, 1000);
    qw_answer(&w, 200, "");
    qw_expect(&w, 0, 200, KIN_REASON_NONE);
    assert_int_equal(w.retries, 1);
    qw_finish(&w);
  }
}

/* RR-02. Refused connections, timeouts and other failures are final. */
static void test_final_failures(void **state) {
  (void)state;
  static const int codes[] = {UV_ECONNREFUSED, KIN_ETIMEDOUT, KIN_ERESOLVE,
                              KIN_ETLS,        KIN_EHTTP,     KIN_ENOMEM};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    request_world w;
    qw_begin(&w, KIN_VERB_GET);
    qw_cut(&w, codes[i]);
    qw_expect(&w, codes[i], 0, KIN_REASON_NONE);
    assert_string_equal(w.message, "GET " QW_PATH ": broken by the test");
    qw_finish(&w);
  }
}

/* RE-04. A body that breaks off is an error, and is not requested again. */
static void test_broken_body(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_GET);
  script_request *sent = qw_open_try(&w);
  assert_true(script_request_head(sent, 200));
  assert_true(script_request_body(sent, "{\"a", 3));
  kin__exchange_error error = {.code = KIN_EEOF,
                               .error_class = KIN_CLASS_CONNECT,
                               .had_head = true,
                               .message = "cut"};
  script_break_with(sent, &error);
  qw_expect(&w, KIN_EEOF, 200, KIN_REASON_NONE);
  assert_string_equal(w.message, "GET " QW_PATH ": cut");
  qw_finish(&w);
}

/* --- Bodies --------------------------------------------------------------- */

/* A body at its limit, and one byte more; the same for an error's. */
static void test_size_of_bodies(void **state) {
  (void)state;
  static char body[70000];
  memset(body, 'a', sizeof body);
  for (size_t extra = 0; extra < 2; extra++) {
    request_world w;
    qw_init(&w, 0);
    w.spec.max_response_bytes = 1000;
    qw_start(&w);
    w.vh.script.split = 300;
    script_request *sent = qw_open_try(&w);
    assert_true(script_request_head(sent, 200));
    if (script_request_body(sent, body, 1000 + extra)) {
      assert_int_equal(extra, 0);
      script_request_end(sent);
      qw_expect(&w, 0, 200, KIN_REASON_NONE);
      assert_int_equal(w.body_length, 1000);
    } else {
      qw_expect(&w, KIN_ETOOBIG, 200, KIN_REASON_NONE);
      assert_int_equal(w.error_class, KIN_CLASS_DECODE);
      assert_int_equal(w.body_length, 0);
      assert_string_equal(w.message,
                          "PATCH " QW_PATH ": the answer is over 1000 bytes "
                          "(max_response_bytes)");
    }
    qw_finish(&w);
  }
}

/* An error's body is cut at 64 KiB, and its status still counts. */
static void test_endless_error_body(void **state) {
  (void)state;
  static char body[70000];
  memset(body, 'a', sizeof body);
  request_world w;
  qw_init(&w, 0);
  w.spec.max_response_bytes = 10; /* not for errors */
  qw_start(&w);
  w.vh.script.split = 1000;
  script_request *sent = qw_open_try(&w);
  assert_true(script_request_head(sent, 404));
  assert_false(script_request_body(sent, body, sizeof body));
  qw_expect(&w, KIN_ENOENT, 404, KIN_REASON_NOT_FOUND);
  assert_int_equal(w.body_length, 64u << 10);
  qw_finish(&w);
}

/* An error's body of which a piece finds no memory ends before that piece. */
static void test_error_body_without_memory(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_GET);
  script_request *sent = qw_open_try(&w);
  assert_true(script_request_head(sent, 403));
  assert_true(script_request_body(sent, "do not delete ", 14));
  size_t more = 300; /* than the first piece made room for */
  char piece[300];
  memset(piece, 'x', more);
  w.vh.memory.fail_at = w.vh.memory.calls + 1;
  assert_false(script_request_body(sent, piece, more));
  qw_expect(&w, KIN_ESTATUS, 403, KIN_REASON_FORBIDDEN);
  assert_string_equal(w.body, "do not delete ");
  qw_finish(&w);
}

/* An error's body that does not end in 10 s is taken as it is. */
static void test_slow_error_body(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_GET);
  script_request *sent = qw_open_try(&w);
  assert_true(script_request_head(sent, 403));
  assert_true(script_request_body(sent, "no", 2));
  qw_pass(&w, 9999);
  assert_int_equal(w.results, 0);
  qw_pass(&w, 1);
  qw_expect(&w, KIN_ESTATUS, 403, KIN_REASON_FORBIDDEN);
  assert_string_equal(w.body, "no");
  qw_finish(&w);
}

/* The rest of the body is in the socket of a loop that was blocked: it is read
 * first, for a tenth of a second more. */
static void test_error_body_of_a_late_loop(void **state) {
  (void)state;
  static const char body[] = QW_STATUS(409, "AlreadyExists", "");
  for (int i = 0; i < 3; i++) {
    request_world w;
    qw_begin(&w, KIN_VERB_GET);
    script_request *sent = qw_open_try(&w);
    assert_true(script_request_head(sent, 409));
    w.vh.script.now_ns += (i == 0 ? 10100 : 10101) * UINT64_C(1000000);
    qw_pass(&w, 0);
    assert_int_equal(w.results, i == 0);
    if (i == 1) {
      assert_true(script_request_body(sent, body, sizeof body - 1));
      script_request_end(sent);
    } else if (i == 2) {
      qw_pass(&w, 99);
      assert_int_equal(w.results, 0);
      qw_pass(&w, 1);
    }
    qw_expect(&w, i == 1 ? KIN_EEXIST : KIN_ECONFLICT, 409,
              i == 1 ? KIN_REASON_ALREADY_EXISTS : KIN_REASON_CONFLICT);
    qw_finish(&w);
  }
}

/* A refusal whose body does not end in time is one all the same. With a
 * Retry-After, too: no time is left for another try. */
static void test_timeout_in_error_body(void **state) {
  (void)state;
  static const char body[] = QW_STATUS(404, "NotFound", "");
  for (int i = 0; i < 3; i++) {
    request_world w;
    qw_init(&w, 0);
    w.spec.timeout_ms = 5000;
    qw_start(&w);
    script_request *sent = qw_open_try(&w);
    kin__response_head head = {.status = i < 2 ? 404 : 429,
                               .retry_after_s = i < 2 ? -1 : 1,
                               .content_type = {"application/json", 16},
                               .is_identity = true};
    assert_true(script_request_give_head(sent, &head));
    if (i == 1) {
      assert_true(script_request_body(sent, body, sizeof body - 1));
    }
    qw_pass(&w, 4999);
    assert_int_equal(w.results, 0);
    qw_pass(&w, 1);
    if (i < 2) {
      qw_expect(&w, KIN_ENOENT, 404, KIN_REASON_NOT_FOUND);
    } else {
      qw_expect(&w, KIN_ESTATUS, 429, KIN_REASON_TOO_MANY_REQUESTS);
      assert_int_equal(w.retry_after_s, 1);
    }
    assert_int_equal(w.vh.script.request_count, 1);
    qw_finish(&w);
  }
}

/* An error whose body breaks off is told by its status. */
static void test_cut_error_body(void **state) {
  (void)state;
  static const kin__exchange_error errors[] = {
      {.code = KIN_EEOF, .error_class = KIN_CLASS_CONNECT, .had_head = true},
      {.code = KIN_ENOMEM, .error_class = KIN_CLASS_MEMORY, .had_head = true}};
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    request_world w;
    qw_begin(&w, KIN_VERB_GET);
    script_request *sent = qw_open_try(&w);
    kin__response_head head = {.status = 503,
                               .retry_after_s = 1,
                               .content_type = {"", 0},
                               .is_identity = true};
    assert_true(script_request_give_head(sent, &head));
    assert_true(script_request_body(sent, "no", 2));
    script_break_with(sent, &errors[i]);
    qw_pass(&w, 1000);
    qw_answer(&w, 200, OBJECT);
    qw_expect(&w, 0, 200, KIN_REASON_NONE);
    assert_string_equal(w.told, "503+1000 ");
    qw_finish(&w);
  }
}

/* A coding that the library does not undo. */
static void test_unknown_encoding(void **state) {
  (void)state;
  static const char *const codings[] = {"br", "gzip"};
  for (int i = 0; i < 2; i++) {
    request_world w;
    qw_begin(&w, KIN_VERB_GET);
    kin__response_head head = {.status = 200,
                               .retry_after_s = -1,
                               .content_type = {"", 0},
                               .encoding = {codings[i], strlen(codings[i])},
                               .is_gzip = i == 1};
    assert_false(script_request_give_head(qw_open_try(&w), &head));
    qw_expect(&w, KIN_ECONTENT, 200, KIN_REASON_NONE);
    assert_non_null(strstr(w.message, codings[i]));
    qw_finish(&w);
  }
}

/* RE-03: it is no failure of a HEAD, whose answer has no body. */
static void test_unknown_encoding_of_a_head(void **state) {
  (void)state;
  request_world w;
  qw_init(&w, 0);
  ask_for_path(&w, KIN_VERB_HEAD);
  qw_start(&w);
  kin__response_head head = {.status = 200,
                             .retry_after_s = -1,
                             .content_type = {"text/html", 9},
                             .encoding = {"br", 2}};
  script_request *sent = qw_open_try(&w);
  assert_true(script_request_give_head(sent, &head));
  script_request_end(sent);
  qw_expect(&w, 0, 200, KIN_REASON_NONE);
  assert_string_equal(w.content_type, "text/html");
  qw_finish(&w);
}

/* An error whose body has such a coding is told by its status alone. A request
 * by HEAD has no body that could be dropped. */
static void test_unknown_encoding_of_an_error(void **state) {
  (void)state;
  static const kin_verb asked[] = {KIN_VERB_GET, KIN_VERB_UPDATE,
                                   KIN_VERB_HEAD};
  for (int i = 0; i < 3; i++) {
    request_world w;
    qw_init(&w, 0);
    if (asked[i] == KIN_VERB_HEAD) {
      ask_for_path(&w, KIN_VERB_HEAD);
    } else {
      w.spec.verb = asked[i];
      w.spec.body_length = asked[i] == KIN_VERB_UPDATE ? 2 : 0;
    }
    qw_start(&w);
    kin__response_head head = {.status = 502,
                               .retry_after_s = -1,
                               .content_type = {"text/html", 9},
                               .encoding = {"br", 2}};
    script_request *sent = qw_open_try(&w);
    if (script_request_give_head(sent, &head) &&
        (asked[i] == KIN_VERB_HEAD ||
         script_request_body(sent, "\x8b\x02\x80\xff<x", 6))) {
      script_request_end(sent);
    }
    qw_expect(&w, KIN_ESTATUS, 502, KIN_REASON_INTERNAL_ERROR);
    assert_int_equal(w.error_class, KIN_CLASS_SERVER);
    assert_non_null(strstr(w.message, "internal"));
    assert_int_equal(w.body_length, 0);
    assert_int_equal(w.vh.script.request_count, 1);
    qw_finish(&w);
  }
}

/* The same if the server asks for another try. */
static void test_unknown_encoding_is_put_off(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_UPDATE);
  kin__response_head head = {.status = 503,
                             .retry_after_s = 2,
                             .content_type = {"", 0},
                             .encoding = {"br", 2}};
  assert_false(script_request_give_head(qw_open_try(&w), &head));
  qw_pass(&w, 2000);
  qw_answer(&w, 200, OBJECT);
  qw_expect(&w, 0, 200, KIN_REASON_NONE);
  assert_string_equal(w.told, "503+2000 ");
  qw_finish(&w);
}

/* Every split of a body gives the same. */
static void test_split_bodies(void **state) {
  (void)state;
  static const char body[] =
      QW_STATUS(422, "Invalid",
                "\"details\":{\"kind\":\"K\",\"name\":\"c\",\"causes\":[{"
                "\"field\":\"f\",\"reason\":\"r\",\"message\":\"m\"}]},");
  for (size_t split = 1; split <= sizeof body; split++) {
    request_world w;
    qw_begin(&w, KIN_VERB_UPDATE);
    w.vh.script.split = split;
    qw_answer(&w, 422, body);
    qw_expect(&w, KIN_EREJECTED, 422, KIN_REASON_INVALID);
    assert_string_equal(w.causes, "f r m; ");
    assert_string_equal(w.details, "K/c");
    assert_string_equal(w.body, body);
    qw_finish(&w);
  }
}

/* --- Time ----------------------------------------------------------------- */

/* RQ-05. client-go TestRestClientTimeout: of all tries together. */
static void test_timeout(void **state) {
  (void)state;
  static const uint32_t timeouts[] = {0, 2000};
  for (int i = 0; i < 2; i++) {
    uint32_t ms = i == 0 ? 60000 : 2000;
    request_world w;
    qw_init(&w, 0);
    w.spec.timeout_ms = timeouts[i];
    qw_start(&w);
    qw_put_off(&w, 503, 1, "busy");
    qw_pass(&w, ms - 1);
    assert_int_equal(script_open_requests(&w.vh.script), 1);
    qw_pass(&w, 1);
    qw_expect(&w, KIN_ETIMEDOUT, 0, KIN_REASON_NONE);
    assert_int_equal(w.at_ms, ms);
    assert_non_null(strstr(w.message, ": no answer in time - error from a "
                                      "previous attempt: "));
    qw_finish(&w);
  }
}

/* A loop that was blocked for longer reads what is in the socket before the
 * time is over; once. */
static void test_timeout_of_a_late_loop(void **state) {
  (void)state;
  static const uint32_t late_ms[] = {101, 101, 5000, 100};
  for (int i = 0; i < 4; i++) {
    request_world w;
    qw_init(&w, 0);
    w.spec.timeout_ms = 5000;
    qw_start(&w);
    w.vh.script.now_ns += (5000 + late_ms[i]) * UINT64_C(1000000);
    qw_pass(&w, 0);
    assert_int_equal(w.results, i == 3);
    if (i == 0) {
      qw_answer(&w, 200, OBJECT);
      qw_expect(&w, 0, 200, KIN_REASON_NONE);
    } else if (i < 3) {
      qw_pass(&w, 99);
      assert_int_equal(w.results, 0);
      w.vh.script.now_ns += i == 1 ? 0 : UINT64_C(1000000000);
      qw_pass(&w, 1);
    }
    if (i > 0) {
      qw_expect(&w, KIN_ETIMEDOUT, 0, KIN_REASON_NONE);
    }
    qw_finish(&w);
  }
}

/* A wait that would end after the timeout is not waited for. */
static void test_timeout_before_the_next_try(void **state) {
  (void)state;
  request_world w;
  qw_init(&w, 0);
  w.spec.timeout_ms = 3000;
  qw_start(&w);
  qw_put_off(&w, 503, 3, "busy");
  qw_expect(&w, KIN_ESTATUS, 503, KIN_REASON_SERVICE_UNAVAILABLE);
  assert_int_equal(w.at_ms, 0);
  assert_int_equal(w.failures, 0);
  assert_int_equal(w.retry_after_s, 3);
  qw_finish(&w);

  qw_init(&w, 0);
  w.spec.timeout_ms = 3000;
  w.answer = KIN_RETRY_AFTER;
  w.retry_after_ms = UINT64_MAX;
  qw_start(&w);
  qw_put_off(&w, 503, 1, "busy");
  qw_expect(&w, KIN_ESTATUS, 503, KIN_REASON_SERVICE_UNAVAILABLE);
  assert_int_equal(w.retries, 0);
  qw_finish(&w);
}

/* A wait that the program answers is at most a day. */
static void test_answered_wait_is_bounded(void **state) {
  (void)state;
  request_world w;
  qw_init(&w, 0);
  w.spec.timeout_ms = KIN_NEVER;
  w.answer = KIN_RETRY_AFTER;
  w.retry_after_ms = UINT64_MAX;
  qw_start(&w);
  qw_put_off(&w, 503, 1, "");
  qw_pass(&w, 86399999);
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  qw_pass(&w, 1);
  qw_answer(&w, 200, OBJECT);
  qw_finish(&w);
}

/* So is a wait that the server asks for. */
static void test_no_timeout(void **state) {
  (void)state;
  request_world w;
  qw_init(&w, 0);
  w.spec.timeout_ms = KIN_NEVER;
  qw_start(&w);
  qw_put_off(&w, 503, 86400, "");
  qw_pass(&w, 86400000);
  qw_put_off(&w, 503, INT32_MAX, "");
  assert_string_equal(w.told, "503+86400000 503+86400000 ");
  qw_pass(&w, 86399999);
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  qw_pass(&w, 1);
  qw_answer(&w, 200, OBJECT);
  qw_expect(&w, 0, 200, KIN_REASON_NONE);
  qw_finish(&w);
}

/* A later try that cannot be started ends the request. */
static void test_later_try_without_memory(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_UPDATE);
  w.vh.script.fail_start = 1;
  qw_put_off(&w, 503, 1, "");
  qw_pass(&w, 1000);
  qw_expect(&w, KIN_ENOMEM, 0, KIN_REASON_NONE);
  assert_int_equal(w.error_class, KIN_CLASS_MEMORY);
  qw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_put_off),
      cmocka_unit_test(test_final_answers),
      cmocka_unit_test(test_retries_are_bounded),
      cmocka_unit_test(test_long_messages),
      cmocka_unit_test(test_fewer_retries),
      cmocka_unit_test(test_answers_of_the_program),
      cmocka_unit_test(test_retries_without_on_error),
      cmocka_unit_test(test_broken_before_the_head),
      cmocka_unit_test(test_broken_before_the_head_of_a_path),
      cmocka_unit_test(test_final_failures),
      cmocka_unit_test(test_broken_body),
      cmocka_unit_test(test_size_of_bodies),
      cmocka_unit_test(test_endless_error_body),
      cmocka_unit_test(test_error_body_without_memory),
      cmocka_unit_test(test_slow_error_body),
      cmocka_unit_test(test_error_body_of_a_late_loop),
      cmocka_unit_test(test_timeout_in_error_body),
      cmocka_unit_test(test_cut_error_body),
      cmocka_unit_test(test_unknown_encoding),
      cmocka_unit_test(test_unknown_encoding_of_a_head),
      cmocka_unit_test(test_unknown_encoding_of_an_error),
      cmocka_unit_test(test_unknown_encoding_is_put_off),
      cmocka_unit_test(test_split_bodies),
      cmocka_unit_test(test_timeout),
      cmocka_unit_test(test_timeout_of_a_late_loop),
      cmocka_unit_test(test_timeout_before_the_next_try),
      cmocka_unit_test(test_answered_wait_is_bounded),
      cmocka_unit_test(test_no_timeout),
      cmocka_unit_test(test_later_try_without_memory),
  };
  return cmocka_run_group_tests_name("failures of requests", tests, NULL, NULL);
}
