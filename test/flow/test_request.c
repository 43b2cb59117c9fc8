/* SPDX-License-Identifier: MIT */

/* Single requests on a virtual clock: what is sent, and how refusals are told
 * apart. Proves RE-01 to RE-03, RE-06 and RQ-07 for them. Failures and retries
 * are in test_request_failures.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limiter.h"
#include "request/request.h"
#include "support/json_mutations.h"
#include "support/request_world.h"

#define OBJECT                                                                 \
  "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":"        \
  "\"n\",\"resourceVersion\":\"7\"}}"

/* RE-01, RQ-06, RR-06. client-go TestDoRequestSuccess, TestRequestBody,
 * TestRequestSetsHeaders: a patch and its answer. */
static void test_patch(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_PATCH_MERGE);
  const script_request *sent = qw_open_try(&w);
  assert_string_equal(sent->method, "PATCH");
  assert_string_equal(sent->target, QW_PATH);
  assert_string_equal(sent->accept, "application/json, */*");
  assert_string_equal(sent->content_type, "application/merge-patch+json");
  assert_int_equal(sent->body_length, 2);
  assert_memory_equal(sent->body, "{}", 2);
  assert_false(sent->is_watch);
  qw_answer(&w, 200, OBJECT);
  qw_expect(&w, 0, 200, KIN_REASON_NONE);
  assert_int_equal(w.error_class, KIN_CLASS_NONE);
  assert_string_equal(w.body, OBJECT);
  assert_string_equal(w.content_type, "application/json");
  assert_string_equal(w.object, "n/c");
  assert_int_equal(w.retries, 0);
  assert_int_equal(w.retry_after_s, -1);
  assert_string_equal(w.reason_text, "");
  assert_string_equal(w.details, "/");
  qw_finish(&w);
}

/* RE-01. client-go TestDoRequestCreated, TestDoRequestNotCreated,
 * TestDoRequestAcceptedNoContentReturned, TestBadRequest: 200 to 206 are
 * successes, and nothing else is. */
static void test_statuses_of_success(void **state) {
  (void)state;
  for (int status = 200; status < 300; status++) {
    request_world w;
    qw_begin(&w, KIN_VERB_UPDATE);
    qw_answer(&w, status, status == 204 ? "" : OBJECT);
    bool is_good = status <= 206;
    qw_expect(&w, is_good ? 0 : KIN_ESTATUS, status, KIN_REASON_NONE);
    qw_finish(&w);
  }
}

typedef struct refusal {
  int http_status;
  const char *reason_text;
  int code;
  kin_reason reason;
  kin_error_class error_class;
} refusal;

static const refusal refusals[] = {
    {400, "BadRequest", KIN_ESTATUS, KIN_REASON_BAD_REQUEST, KIN_CLASS_SERVER},
    {401, "Unauthorized", KIN_ESTATUS, KIN_REASON_UNAUTHORIZED, KIN_CLASS_AUTH},
    {403, "Forbidden", KIN_ESTATUS, KIN_REASON_FORBIDDEN, KIN_CLASS_FORBIDDEN},
    {404, "NotFound", KIN_ENOENT, KIN_REASON_NOT_FOUND, KIN_CLASS_ABSENT},
    {405, "MethodNotAllowed", KIN_ESTATUS, KIN_REASON_METHOD_NOT_ALLOWED,
     KIN_CLASS_SERVER},
    {406, "NotAcceptable", KIN_ESTATUS, KIN_REASON_NOT_ACCEPTABLE,
     KIN_CLASS_SERVER},
    {409, "Conflict", KIN_ECONFLICT, KIN_REASON_CONFLICT, KIN_CLASS_SERVER},
    {410, "Gone", KIN_EGONE, KIN_REASON_GONE, KIN_CLASS_SERVER},
    {413, "RequestEntityTooLarge", KIN_ESTATUS, KIN_REASON_REQUEST_TOO_LARGE,
     KIN_CLASS_SERVER},
    {415, "UnsupportedMediaType", KIN_ESTATUS,
     KIN_REASON_UNSUPPORTED_MEDIA_TYPE, KIN_CLASS_SERVER},
    {422, "Invalid", KIN_EREJECTED, KIN_REASON_INVALID, KIN_CLASS_SERVER},
    {429, "TooManyRequests", KIN_ESTATUS, KIN_REASON_TOO_MANY_REQUESTS,
     KIN_CLASS_THROTTLED},
    {500, "InternalError", KIN_ESTATUS, KIN_REASON_INTERNAL_ERROR,
     KIN_CLASS_SERVER},
    {503, "ServiceUnavailable", KIN_ESTATUS, KIN_REASON_SERVICE_UNAVAILABLE,
     KIN_CLASS_SERVER},
    {504, "Timeout", KIN_ESTATUS, KIN_REASON_TIMEOUT, KIN_CLASS_SERVER},
    /* Only a Status says these. */
    {409, "AlreadyExists", KIN_EEXIST, KIN_REASON_ALREADY_EXISTS,
     KIN_CLASS_SERVER},
    {410, "Expired", KIN_EGONE, KIN_REASON_EXPIRED, KIN_CLASS_SERVER},
    {500, "ServerTimeout", KIN_ESTATUS, KIN_REASON_SERVER_TIMEOUT,
     KIN_CLASS_SERVER},
    {500, "StorageReadError", KIN_ESTATUS, KIN_REASON_STORAGE_READ_ERROR,
     KIN_CLASS_SERVER},
};
#define REFUSALS (sizeof refusals / sizeof refusals[0])

static void expect_refusal(const request_world *w, const refusal *r) {
  qw_expect(w, r->code, r->http_status, r->reason);
  assert_int_equal(w->error_class, r->error_class);
}

/* RE-02, RE-06. client-go TestDoRequestFailed, TestTransformUnstructuredError,
 * TestResultIntoWithErrReturnsErr: each reason of a Status is told apart. */
static void test_refused_with_status(void **state) {
  (void)state;
  for (size_t i = 0; i < REFUSALS; i++) {
    const refusal *r = &refusals[i];
    request_world w;
    char body[512];
    snprintf(body, sizeof body,
             "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"it "
             "failed\",\"reason\":\"%s\",\"code\":%d}",
             r->reason_text, r->http_status);
    qw_begin(&w, KIN_VERB_UPDATE);
    qw_answer(&w, r->http_status, body);
    expect_refusal(&w, r);
    assert_string_equal(w.reason_text, r->reason_text);
    assert_string_equal(w.message, "PUT " QW_PATH ": it failed");
    assert_int_equal(w.object_code, r->code);
    assert_string_equal(w.body, body);
    qw_finish(&w);
  }
}

/* RE-01 to RE-03. client-go TestTransformResponse, TestRequestError: without a
 * Status the code decides, and the body's text is the message. */
static void test_refused_without_status(void **state) {
  (void)state;
  for (size_t i = 0;
       i < REFUSALS && refusals[i].reason != KIN_REASON_ALREADY_EXISTS; i++) {
    const refusal *r = &refusals[i];
    if (r->http_status == 410 || r->http_status == 413) {
      continue; /* client-go builds no reason for these */
    }
    request_world w;
    qw_begin(&w, KIN_VERB_UPDATE);
    qw_answer(&w, r->http_status, "no\nstatus");
    expect_refusal(&w, r);
    assert_string_equal(w.reason_text, r->reason_text);
    assert_string_equal(w.message, "PUT " QW_PATH ": no status");
    qw_finish(&w);
  }
  request_world w;
  qw_begin(&w, KIN_VERB_GET);
  qw_answer(&w, 410, "");
  qw_expect(&w, KIN_EGONE, 410, KIN_REASON_GONE);
  qw_finish(&w);
  qw_begin(&w, KIN_VERB_GET);
  qw_answer(&w, 418, "");
  qw_expect(&w, KIN_ESTATUS, 418, KIN_REASON_NONE);
  qw_finish(&w);
}

/* RE-01. A 409 without a Status is a conflict, but for a create: then the
 * object exists. */
static void test_refused_create(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_CREATE);
  qw_answer(&w, 409, "");
  qw_expect(&w, KIN_EEXIST, 409, KIN_REASON_ALREADY_EXISTS);
  qw_finish(&w);
  qw_begin(&w, KIN_VERB_CREATE);
  qw_answer(&w, 409, QW_STATUS(409, "Conflict", ""));
  qw_expect(&w, KIN_ECONFLICT, 409, KIN_REASON_CONFLICT);
  qw_finish(&w);
}

/* RE-01. A body that is no text for people is not shown. */
static void test_refused_with_bytes(void **state) {
  (void)state;
  static const char *const types[] = {"application/vnd.kubernetes.protobuf",
                                      "text/plain; charset=utf-8", ""};
  for (size_t i = 0; i < 3; i++) {
    request_world w;
    qw_begin(&w, KIN_VERB_UPDATE);
    kin__response_head head = {.status = 500,
                               .content_type = {types[i], strlen(types[i])},
                               .retry_after_s = -1,
                               .is_identity = true};
    script_request *sent = qw_open_try(&w);
    assert_true(script_request_give_head(sent, &head));
    assert_true(script_request_body(sent, "k8s\x01", 4));
    script_request_end(sent);
    qw_expect(&w, KIN_ESTATUS, 500, KIN_REASON_INTERNAL_ERROR);
    assert_string_equal(w.message, i == 0 ? "PUT " QW_PATH
                                            ": the server had an internal error"
                                          : "PUT " QW_PATH ": k8s ");
    assert_int_equal(w.body_length, 4);
    qw_finish(&w);
  }
}

/* A Status names its object, and the fields that are wrong. */
static void test_details(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_UPDATE);
  qw_answer(&w, 422,
            QW_STATUS(422, "Invalid",
                      "\"details\":{\"kind\":\"ConfigMap\",\"name\":\"c\","
                      "\"retryAfterSeconds\":3,\"causes\":[{\"field\":\"a.b\","
                      "\"reason\":\"FieldValueInvalid\",\"message\":\"b\\u0061"
                      "d\"},{\"field\":7},{},8]},"));
  qw_expect(&w, KIN_EREJECTED, 422, KIN_REASON_INVALID);
  assert_string_equal(w.details, "ConfigMap/c");
  assert_string_equal(w.causes, "a.b FieldValueInvalid bad;   ;   ;   ; ");
  assert_int_equal(w.retry_after_s, 3);
  qw_finish(&w);
}

/* All members of a Status may have any type. */
static void test_details_of_wrong_types(void **state) {
  (void)state;
  static const char *const bodies[] = {
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"details\":[]}",
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"details\":{\"kind\":1,"
      "\"name\":{},\"causes\":{\"a\":1}}}",
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":\"409\","
      "\"reason\":[],\"message\":null}",
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":-1}",
      "{\"kind\":\"Status\",\"status\":1}",
      "{\"kind\":[\"Status\"]}",
      "[\"Status\"]",
      "\"Status\"",
      "{\"kind\":\"Status\"",
  };
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    request_world w;
    qw_begin(&w, KIN_VERB_UPDATE);
    qw_answer(&w, 409, bodies[i]);
    qw_expect(&w, KIN_ECONFLICT, 409, KIN_REASON_CONFLICT);
    assert_string_equal(w.details, "/");
    assert_int_equal(w.cause_count, 0);
    qw_finish(&w);
  }
}

/* Every Status that is one change away from a real one ends the request. */
static void test_odd_statuses(void **state) {
  (void)state;
  json_mutations m;
  json_mutations_init(
      &m, QW_STATUS(422, "Invalid",
                    "\"details\":{\"kind\":\"K\",\"name\":\"c\",\"causes\":[{"
                    "\"field\":\"f\",\"reason\":\"r\",\"message\":\"m\"}],"
                    "\"retryAfterSeconds\":3},"));
  for (size_t i = 0; i < m.count; i++) {
    for (int status = 200; status <= 422; status += 222) {
      request_world w;
      qw_begin(&w, KIN_VERB_UPDATE);
      qw_answer(&w, status, json_mutation(&m, i));
      assert_int_equal(w.results, 1);
      assert_true(w.status != 0);
      assert_true(status == 200 || w.code < 0);
      qw_finish(&w);
    }
  }
  json_mutations_finish(&m);
}

/* Causes are bounded. */
static void test_many_causes(void **state) {
  (void)state;
  static char body[8192];
  size_t length = (size_t)snprintf(
      body, sizeof body,
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":422,\"details\":{"
      "\"causes\":[{}");
  for (int i = 0; i < 100; i++) {
    length += (size_t)snprintf(body + length, sizeof body - length, ",{}");
  }
  snprintf(body + length, sizeof body - length, "]}}");
  request_world w;
  qw_begin(&w, KIN_VERB_UPDATE);
  qw_answer(&w, 422, body);
  qw_expect(&w, KIN_EREJECTED, 422, KIN_REASON_INVALID);
  assert_int_equal(w.cause_count, 64);
  qw_finish(&w);
}

/* RE-02, RE-03. client-go TestDoRawRequestFailed: a 2xx may carry a failure; then the
 * Status's own code counts. */
static void test_status_in_success(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_DELETE);
  qw_answer(&w, 200, QW_STATUS(404, "NotFound", ""));
  qw_expect(&w, KIN_ENOENT, 404, KIN_REASON_NOT_FOUND);
  qw_finish(&w);
  /* A Status without a code has that of its reason, not the answer's. */
  qw_begin(&w, KIN_VERB_DELETE);
  qw_answer(&w, 200,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\","
            "\"status\":\"Failure\",\"reason\":\"NotFound\"}");
  qw_expect(&w, KIN_ENOENT, 404, KIN_REASON_NOT_FOUND);
  qw_finish(&w);
  qw_begin(&w, KIN_VERB_DELETE);
  qw_answer(&w, 200, "{\"apiVersion\":\"v1\",\"kind\":\"Status\"}");
  qw_expect(&w, KIN_ESTATUS, 200, KIN_REASON_NONE);
  qw_finish(&w);
  static const char *const good[] = {
      "{\"kind\":\"Status\",\"status\":\"Success\"}",
      "{\"kind\":\"A\",\"data\":{\"a\":\"Status\"}}",
      "\"Status\"",
      "{\"kind\":\"Status\"", /* no JSON: the program decides */
      /* an object of a group that has a kind of this name */
      "{\"kind\":\"Status\",\"apiVersion\":\"a.b/v1\",\"status\":\"Failure\"}",
      "{\"kind\":\"Status\",\"apiVersion\":\"v1beta1\",\"status\":{}}",
  };
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    qw_begin(&w, KIN_VERB_DELETE);
    qw_answer(&w, 200, good[i]);
    qw_expect(&w, 0, 200, KIN_REASON_NONE);
    qw_finish(&w);
  }
}

static bool fail_in_success(size_t fail_at) {
  request_world w;
  qw_init(&w, fail_at);
  w.spec.verb = KIN_VERB_DELETE;
  if (qw_try_start(&w) == 0) {
    qw_answer(&w, 200, QW_STATUS(404, "NotFound", ""));
    assert_true(w.code == KIN_ENOENT || w.code == KIN_ENOMEM);
    assert_true(w.code == KIN_ENOENT || w.error_class == KIN_CLASS_MEMORY);
  } else {
    w.results = 1; /* none comes */
  }
  bool has_failed = fail_alloc_has_failed(&w.vh.memory);
  qw_finish(&w);
  return has_failed;
}

/* RE-03. Without memory to read the Status nothing is called a success. */
static void test_status_in_success_without_memory(void **state) {
  (void)state;
  fail_alloc_sweep(fail_in_success, 5);
}

/* RE-02. An error status with a Status that says Success stays an error. */
static void test_success_in_error(void **state) {
  (void)state;
  request_world w;
  qw_begin(&w, KIN_VERB_DELETE);
  qw_answer(&w, 500, "{\"kind\":\"Status\",\"status\":\"Success\"}");
  qw_expect(&w, KIN_ESTATUS, 500, KIN_REASON_INTERNAL_ERROR);
  assert_string_equal(w.reason_text, "InternalError");
  qw_finish(&w);
}

/* RE-03. client-go TestResultIntoWithNoBodyReturnsErr,
 * TestTransformResponseNegotiate: what is no object. */
static void test_object_of_answer(void **state) {
  (void)state;
  const struct {
    const char *type;
    const char *body;
    int code;
  } cases[] = {
      {"application/json", OBJECT, 0},
      {"application/json;charset=utf-8", OBJECT, 0},
      {"Application/JSON ; a=b", OBJECT, 0},
      {"application/merge-patch+json", OBJECT, 0},
      {"", OBJECT, 0},
      {"application/json", "", KIN_ETRUNCATED},
      {"application/json", "{\"metadata\":", KIN_ETRUNCATED},
      {"application/json", "ok", KIN_EJSON},
      {"application/json", "{\"items\":[]}", KIN_EKEY},
      {"application/json", "[]", KIN_EKEY},
      {"application/jsonp", OBJECT, KIN_ECONTENT},
      {"text/plain", OBJECT, KIN_ECONTENT},
      {"+json", OBJECT, KIN_ECONTENT},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    request_world w;
    qw_begin(&w, KIN_VERB_GET);
    kin__response_head head = {
        .status = 200,
        .content_type = {cases[i].type, strlen(cases[i].type)},
        .retry_after_s = -1,
        .is_identity = true};
    script_request *sent = qw_open_try(&w);
    assert_true(script_request_give_head(sent, &head));
    assert_true(
        script_request_body(sent, cases[i].body, strlen(cases[i].body)));
    script_request_end(sent);
    qw_expect(&w, 0, 200, KIN_REASON_NONE);
    assert_string_equal(w.content_type, cases[i].type);
    assert_int_equal(w.object_code, cases[i].code);
    qw_finish(&w);
  }
}

/* RQ-07. client-go TestTryThrottleWithInfoContextDeadline,
 * TestRESTClientLimiter: each try takes a token. */
static void test_limit_of_requests(void **state) {
  (void)state;
  request_world w;
  kin__limiter limiter;
  qw_init(&w, 0);
  kin__limiter_init(&limiter, &w.vh.script.sched, &w.vh.script.timers, 100, 1);
  w.vh.script.env.limiter = &limiter;
  qw_start(&w); /* takes the only token; a new one comes every 10 s */
  qw_put_off(&w, 503, 1, "");
  qw_pass(&w, 9000);
  assert_int_equal(script_open_requests(&w.vh.script), 0);
  qw_pass(&w, 1000);
  qw_answer(&w, 200, OBJECT);
  qw_expect(&w, 0, 200, KIN_REASON_NONE);
  assert_int_equal(w.at_ms, 10000);
  assert_int_equal(w.retries, 1);
  qw_finish(&w);
  kin__limiter_finish(&limiter);
}

/* The first try waits for its turn as well, within the timeout. */
static void test_limit_and_timeout(void **state) {
  (void)state;
  request_world w;
  kin__limiter limiter;
  qw_init(&w, 0);
  kin__limiter_init(&limiter, &w.vh.script.sched, &w.vh.script.timers, 100, 1);
  w.vh.script.env.limiter = &limiter;
  kin__limiter_visitor other;
  kin__limiter_visitor_init(&other, NULL);
  assert_true(kin__limiter_enter(&limiter, &other));
  w.spec.timeout_ms = 9000;
  qw_start(&w);
  qw_pass(&w, 8999);
  assert_int_equal(w.results, 0);
  qw_pass(&w, 1);
  qw_expect(&w, KIN_ETIMEDOUT, 0, KIN_REASON_NONE);
  assert_non_null(strstr(w.message, "no turn"));
  qw_finish(&w);
  kin__limiter_finish(&limiter);
}

/* Refused when it is started: nothing comes, and the reason is told. */
static void test_refused_start(void **state) {
  (void)state;
  request_world w;
  qw_init(&w, 0);
  w.spec.name = "";
  assert_int_equal(qw_try_start(&w), KIN_EINVAL);
  assert_non_null(strstr(w.vh.text, "E name: "));
  w.spec.name = "c";
  w.spec.max_retries = 11;
  assert_int_equal(qw_try_start(&w), KIN_EINVAL);
  assert_non_null(strstr(w.vh.text, "E max_retries: 11 is more than 10"));
  w.spec.max_retries = 0;
  w.spec.max_response_bytes = (1u << 30) + 1;
  assert_int_equal(qw_try_start(&w), KIN_EINVAL);
  assert_non_null(strstr(w.vh.text, "E max_response_bytes: "));
  w.spec.max_response_bytes = 1u << 30;
  w.spec.max_retries = 10;
  kin_request *request = (kin_request *)&w;
  assert_int_equal(
      kin__request_start(&request, &w.vh.host, &w.spec, NULL, NULL),
      KIN_EINVAL);
  assert_null(request);
  assert_non_null(strstr(w.vh.text, "E cb: is required"));
  w.vh.script.fail_start = 1;
  assert_int_equal(qw_try_start(&w), KIN_ENOMEM);
  qw_start(&w);
  qw_answer(&w, 200, OBJECT);
  qw_finish(&w);
}

/* A program may free what it gave as soon as the request is started. */
static void test_everything_is_copied(void **state) {
  (void)state;
  request_world w;
  qw_init(&w, 0);
  char name[] = "c";
  char body[] = "{\"a\":1}";
  char accept[] = "a/b";
  char type[] = "c/d";
  w.spec.name = name;
  w.spec.body = body;
  w.spec.body_length = strlen(body);
  w.spec.accept = accept;
  w.spec.content_type = type;
  qw_start(&w);
  memset(name, 'x', strlen(name));
  memset(body, 'x', strlen(body));
  memset(accept, 'x', strlen(accept));
  memset(type, 'x', strlen(type));
  qw_put_off(&w, 429, 0, "");
  qw_pass(&w, 0);
  const script_request *sent = qw_open_try(&w);
  assert_string_equal(sent->target, QW_PATH);
  assert_string_equal(sent->accept, "a/b");
  assert_string_equal(sent->content_type, "c/d");
  assert_memory_equal(sent->body, "{\"a\":1}", sent->body_length);
  qw_answer(&w, 200, OBJECT);
  qw_finish(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_patch),
      cmocka_unit_test(test_statuses_of_success),
      cmocka_unit_test(test_refused_with_status),
      cmocka_unit_test(test_refused_without_status),
      cmocka_unit_test(test_refused_create),
      cmocka_unit_test(test_refused_with_bytes),
      cmocka_unit_test(test_details),
      cmocka_unit_test(test_details_of_wrong_types),
      cmocka_unit_test(test_odd_statuses),
      cmocka_unit_test(test_many_causes),
      cmocka_unit_test(test_status_in_success),
      cmocka_unit_test(test_status_in_success_without_memory),
      cmocka_unit_test(test_success_in_error),
      cmocka_unit_test(test_object_of_answer),
      cmocka_unit_test(test_limit_of_requests),
      cmocka_unit_test(test_limit_and_timeout),
      cmocka_unit_test(test_refused_start),
      cmocka_unit_test(test_everything_is_copied),
  };
  return cmocka_run_group_tests_name("single requests", tests, NULL, NULL);
}
