/* SPDX-License-Identifier: MIT */

/* What a failure is called and counted as. Proves RE-01, RE-02, RE-06, RE-07
 * and RR-01 (what the server says of the time) as far as they are decided
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/str.h"
#include "feed/noted_failure.h"
#include "listwatch/failure.h"
#include "support/fail_alloc.h"

static kin__failure failure_of(int code, const char *reason) {
  kin__status status;
  kin__status_make(&status, code, reason, "");
  kin__failure failure;
  memset(&failure, 0xaa, sizeof failure);
  kin__failure_from_status(&failure, &status, -1, "list of pods");
  return failure;
}

typedef struct row {
  int code;
  const char *reason;
  kin_error_class error_class;
  int status;
  bool is_expired;
  bool is_internal;
} row;

static const row rows[] = {
    /* A reason alone. */
    {0, "TooManyRequests", KIN_CLASS_THROTTLED, 429, false, false},
    {0, "Unauthorized", KIN_CLASS_AUTH, 401, false, false},
    {0, "Forbidden", KIN_CLASS_FORBIDDEN, 403, false, false},
    {0, "NotFound", KIN_CLASS_ABSENT, 404, false, false},
    {0, "Expired", KIN_CLASS_SERVER, 410, true, false},
    {0, "Gone", KIN_CLASS_SERVER, 410, true, false},
    {0, "BadRequest", KIN_CLASS_SERVER, 400, false, false},
    {0, "Invalid", KIN_CLASS_SERVER, 422, false, false},
    {0, "InternalError", KIN_CLASS_SERVER, 500, false, true},
    {0, "StorageReadError", KIN_CLASS_SERVER, 500, false, false},
    {0, "ServerTimeout", KIN_CLASS_SERVER, 500, false, false},
    {0, "ServiceUnavailable", KIN_CLASS_SERVER, 503, false, false},
    {0, "Timeout", KIN_CLASS_SERVER, 504, false, false},
    {0, "Novelty", KIN_CLASS_SERVER, 0, false, false},
    {0, "", KIN_CLASS_SERVER, 0, false, false},
    /* A code alone, or with a reason that is not known. */
    {401, "", KIN_CLASS_AUTH, 401, false, false},
    {403, "Novelty", KIN_CLASS_FORBIDDEN, 403, false, false},
    {404, "", KIN_CLASS_ABSENT, 404, false, false},
    {429, "Novelty", KIN_CLASS_THROTTLED, 429, false, false},
    {410, "", KIN_CLASS_SERVER, 410, true, false},
    {500, "Novelty", KIN_CLASS_SERVER, 500, false, true},
    {503, "", KIN_CLASS_SERVER, 503, false, false},
    /* Both, and they differ. */
    {500, "Forbidden", KIN_CLASS_FORBIDDEN, 500, false, false},
    {403, "Invalid", KIN_CLASS_SERVER, 403, false, false},
    {404, "Timeout", KIN_CLASS_SERVER, 404, false, false},
    {410, "NotFound", KIN_CLASS_ABSENT, 410, false, false},
    {429, "NotFound", KIN_CLASS_THROTTLED, 429, false, false},
    {500, "TooManyRequests", KIN_CLASS_THROTTLED, 500, false, false},
    {500, "StorageReadError", KIN_CLASS_SERVER, 500, false, false},
};

/* RE-06: by the reason, by the code if the reason is none that is known; 429 by
 * either. */
static void test_class_of_reason_and_code(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const row *r = &rows[i];
    kin__failure failure = failure_of(r->code, r->reason);
    if (failure.error_class != r->error_class || failure.status != r->status ||
        failure.is_expired != r->is_expired ||
        failure.is_internal != r->is_internal) {
      fail_msg("%d %s: class %d, status %d, %s%s", r->code, r->reason,
               (int)failure.error_class, failure.status,
               failure.is_expired ? "expired " : "",
               failure.is_internal ? "internal" : "");
    }
    assert_int_equal(failure.code, r->is_expired ? KIN_EGONE : KIN_ESTATUS);
    assert_string_equal(failure.reason, r->reason);
    assert_false(failure.is_rv_too_large);
    assert_int_equal(failure.retry_after_s, -1);
  }
}

/* RE-01: a response without a Status. Nobody posts, so 409 has one meaning. */
static void test_bare_codes(void **state) {
  (void)state;
  static const struct {
    int code;
    const char *reason;
    kin_error_class error_class;
  } codes[] = {
      {400, "BadRequest", KIN_CLASS_SERVER},
      {401, "Unauthorized", KIN_CLASS_AUTH},
      {403, "Forbidden", KIN_CLASS_FORBIDDEN},
      {404, "NotFound", KIN_CLASS_ABSENT},
      {405, "MethodNotAllowed", KIN_CLASS_SERVER},
      {406, "NotAcceptable", KIN_CLASS_SERVER},
      {409, "Conflict", KIN_CLASS_SERVER},
      {413, "", KIN_CLASS_SERVER},
      {415, "UnsupportedMediaType", KIN_CLASS_SERVER},
      {418, "", KIN_CLASS_SERVER},
      {422, "Invalid", KIN_CLASS_SERVER},
      {429, "TooManyRequests", KIN_CLASS_THROTTLED},
      {500, "InternalError", KIN_CLASS_SERVER},
      {502, "InternalError", KIN_CLASS_SERVER},
      {503, "ServiceUnavailable", KIN_CLASS_SERVER},
      {504, "Timeout", KIN_CLASS_SERVER},
  };
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    kin__status status;
    kin__failure failure;
    kin__status_from_response(&status, codes[i].code, KIN__LIT(""));
    kin__failure_from_status(&failure, &status, -1, "list of pods");
    assert_int_equal(failure.code, KIN_ESTATUS);
    assert_int_equal(failure.error_class, codes[i].error_class);
    assert_int_equal(failure.status, codes[i].code);
    assert_string_equal(failure.reason, codes[i].reason);
    assert_true(strncmp(failure.message, "list of pods: the server ", 25) == 0);
    assert_int_equal(failure.is_internal,
                     strcmp(codes[i].reason, "InternalError") == 0);
    assert_false(failure.is_expired);
  }
}

/* RE-01: 511 bytes of a text, of which client-go keeps 2048. */
static void test_text_is_cut(void **state) {
  (void)state;
  char text[3000];
  memset(text, 'x', sizeof text);
  for (size_t length = 509; length < 514; length++) {
    kin__status status;
    kin__failure failure;
    kin__status_from_response(&status, 503, kin__str(text, length));
    kin__failure_from_status(&failure, &status, -1, "watch");
    size_t kept = length < 511 ? length : 511;
    assert_int_equal(strlen(failure.message), strlen("watch: ") + kept);
  }
  char what[600];
  memset(what, 'w', sizeof what - 1);
  what[sizeof what - 1] = '\0';
  kin__status status;
  kin__failure failure;
  kin__status_from_response(&status, 503, kin__str(text, sizeof text));
  kin__failure_from_status(&failure, &status, -1, what);
  assert_int_equal(strlen(failure.message), sizeof failure.message - 1);
}

/* A message that is cut ends in a whole character. */
static void test_text_is_cut_between_characters(void **state) {
  (void)state;
  char text[600] = "";
  for (int i = 0; i < 255; i++) {
    memcpy(text + 2 * i, "\xc3\xa9", 3);
  }
  for (size_t length = 180; length < 182; length++) {
    char what[200];
    memset(what, 'w', length);
    what[length] = '\0';
    kin__status status;
    kin__failure failure;
    kin__status_from_response(&status, 503, kin__cstr(text));
    kin__failure_from_status(&failure, &status, -1, what);
    size_t kept = strlen(failure.message);
    assert_int_equal(kept, length % 2 == 0 ? 638 : 639);
    assert_memory_equal(failure.message + kept - 2, "\xc3\xa9", 2);
    kin__failure_from_code(&failure, KIN_EKEY, what, text);
    kept = strlen(failure.message);
    assert_memory_equal(failure.message + kept - 2, "\xc3\xa9", 2);
  }
}

/* RE-02: a Status in the body without a code has that of its response, also
 * when it is asked whether the version has expired. */
static void test_code_of_the_response(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int http_status;
    int code;
    bool is_expired;
  } bodies[] = {
      {"{\"kind\":\"Status\"}", 410, 410, true},
      {"{\"kind\":\"Status\",\"code\":500}", 410, 500, false},
      {"{\"kind\":\"Status\",\"reason\":\"NotFound\"}", 410, 410, false},
      {"{\"kind\":\"Status\",\"reason\":\"Expired\"}", 500, 500, true},
      {"{\"kind\":\"Status\",\"code\":410}", 500, 410, true},
  };
  for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    kin__status status;
    assert_int_equal(kin__status_parse(&status, kin__default_allocator(),
                                       kin__cstr(bodies[i].text)),
                     0);
    kin__status_default_code(&status, bodies[i].http_status);
    assert_int_equal(status.code, bodies[i].code);
    assert_int_equal(status.is_expired, bodies[i].is_expired);
  }
}

/* RE-01, RR-01: the response's field comes before what its Status says. */
static void test_retry_after(void **state) {
  (void)state;
  static const char text[] = "{\"kind\":\"Status\",\"code\":429,\"details\":{"
                             "\"retryAfterSeconds\":7}}";
  kin__status status;
  assert_int_equal(
      kin__status_parse(&status, kin__default_allocator(), kin__cstr(text)), 0);
  static const int64_t fields[][2] = {{-1, 7}, {0, 0}, {3, 3}, {60, 60}};
  for (size_t i = 0; i < 4; i++) {
    kin__failure failure;
    kin__failure_from_status(&failure, &status, fields[i][0], "");
    assert_int_equal(failure.retry_after_s, fields[i][1]);
  }
}

/* What is no answer of a server. */
static void test_class_of_code(void **state) {
  (void)state;
  static const struct {
    int code;
    kin_error_class error_class;
    bool is_misplaced;
  } codes[] = {
      {KIN_ENOMEM, KIN_CLASS_MEMORY, false},
      {KIN_EJSON, KIN_CLASS_DECODE, false},
      {KIN_EDEPTH, KIN_CLASS_DECODE, false},
      {KIN_ETOOBIG, KIN_CLASS_DECODE, false},
      {KIN_ETRUNCATED, KIN_CLASS_DECODE, false},
      {KIN_EUNEXPECTED, KIN_CLASS_DECODE, true},
      {KIN_EKEY, KIN_CLASS_DECODE, true},
      {KIN_EEOF, KIN_CLASS_CONNECT, false},
      {KIN_EHTTP, KIN_CLASS_PROTOCOL, false},
      {KIN_ECONTENT, KIN_CLASS_PROTOCOL, false},
      {KIN_EINVAL, KIN_CLASS_PROTOCOL, true},
  };
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    kin__failure failure;
    kin__failure_from_code(&failure, codes[i].code, "watch", "ns/a");
    assert_int_equal(failure.code, codes[i].code);
    assert_int_equal(failure.error_class, codes[i].error_class);
    assert_int_equal(kin__failure_is_misplaced(&failure),
                     codes[i].is_misplaced);
    assert_int_equal(failure.status, 0);
    assert_int_equal(failure.retry_after_s, -1);
    char expected[200];
    snprintf(expected, sizeof expected, "watch: %s, object ns/a",
             kin_strerror(codes[i].code));
    assert_string_equal(failure.message, expected);
  }
}

/* Without memory for its texts a failure keeps code, class and status. */
static void test_noted(void **state) {
  (void)state;
  for (size_t fail_at = 0; fail_at < 2; fail_at++) {
    fail_alloc memory;
    fail_alloc_init(&memory, fail_at);
    kin__noted_failure noted = {0};
    kin__failure failure = {.code = KIN_ESTATUS,
                            .error_class = KIN_CLASS_FORBIDDEN,
                            .status = 403,
                            .reason = "Forbidden",
                            .message = "no"};
    kin__noted_failure_set(&noted, &memory.allocator, &failure);
    kin__failure told;
    kin__noted_failure_take(&noted, &memory.allocator, "list of pods", &told);
    assert_int_equal(told.code, KIN_ESTATUS);
    assert_int_equal(told.error_class, KIN_CLASS_FORBIDDEN);
    assert_int_equal(told.status, 403);
    assert_string_equal(told.reason, fail_at == 0 ? "Forbidden" : "");
    char expected[200];
    snprintf(expected, sizeof expected, "list of pods: %s",
             kin_strerror(KIN_ESTATUS));
    assert_string_equal(told.message, fail_at == 0 ? "no" : expected);
    assert_int_equal(noted.code, 0);
    kin__noted_failure_set(&noted, &memory.allocator, &failure);
    snprintf(failure.message, sizeof failure.message, "still no");
    kin__noted_failure_set(&noted, &memory.allocator, &failure);
    kin__noted_failure_take(&noted, &memory.allocator, "", &told);
    assert_string_equal(told.message, "still no");
    kin__noted_failure_set(&noted, &memory.allocator, &failure);
    kin__noted_failure_drop(&noted, &memory.allocator);
    kin__noted_failure_drop(&noted, &memory.allocator);
    assert_int_equal(memory.live_blocks, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_class_of_reason_and_code),
      cmocka_unit_test(test_bare_codes),
      cmocka_unit_test(test_text_is_cut),
      cmocka_unit_test(test_text_is_cut_between_characters),
      cmocka_unit_test(test_code_of_the_response),
      cmocka_unit_test(test_retry_after),
      cmocka_unit_test(test_class_of_code),
      cmocka_unit_test(test_noted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
