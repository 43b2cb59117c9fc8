/* SPDX-License-Identifier: MIT */

/* RE-01, RE-02, RE-06, RE-07. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/status.h"
#include "support/fail_alloc.h"
#include "support/wire.h"

static kin__status parse(const char *text) {
  kin__status status;
  memset(&status, 0xaa, sizeof status);
  if (kin__status_parse(&status, kin__default_allocator(), kin__cstr(text)) !=
      0) {
    fail_msg("no Status: %s", text);
  }
  return status;
}

static kin__status parse_wire(const char *file) {
  kin_str body = wire_body(file);
  kin__status status = parse(body.data);
  free((char *)body.data);
  return status;
}

static void test_status_recorded(void **state) {
  (void)state;
  kin__status s = parse_wire("list-continue-expired.http");
  assert_int_equal(s.code, 410);
  assert_string_equal(s.reason, "Expired");
  assert_true(strncmp(s.message, "The provided continue parameter", 31) == 0);
  assert_int_equal(s.retry_after_s, -1);
  assert_true(s.is_failure && s.is_expired && !s.is_rv_too_large);

  s = parse_wire("list-rv-too-large.http");
  assert_int_equal(s.code, 504);
  assert_string_equal(s.reason, "Timeout");
  assert_int_equal(s.retry_after_s, 1);
  assert_true(s.is_failure && !s.is_expired && s.is_rv_too_large);

  s = parse_wire("list-not-acceptable.http"); /* pretty-printed */
  assert_int_equal(s.code, 406);
  assert_string_equal(s.reason, "NotAcceptable");

  s = parse_wire("list-unauthorized.http");
  assert_int_equal(s.code, 401);
  assert_string_equal(s.reason, "Unauthorized");

  s = parse_wire("watch-initial-events-invalid.http");
  assert_int_equal(s.code, 422);
  assert_string_equal(s.reason, "Invalid");

  s = parse_wire("watch-rv-invalid.http"); /* without a reason */
  assert_int_equal(s.code, 500);
  assert_string_equal(s.reason, "");
  assert_false(s.is_expired);
}

/* RE-02: kind must be there, apiVersion need not be. */
static void test_status_only_of_its_kind(void **state) {
  (void)state;
  static const char *const rows[] = {
      "",
      "no JSON",
      "{\"kind\":\"Status\"",
      "[]",
      "{}",
      "\"Status\"",
      "{\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":410}",
      "{\"kind\":\"Pod\",\"code\":410}",
      "{\"kind\":7}",
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin__status s;
    memset(&s, 0xaa, sizeof s);
    assert_int_equal(
        kin__status_parse(&s, kin__default_allocator(), kin__cstr(rows[i])),
        KIN_EUNEXPECTED);
    assert_int_equal(s.code, 0);
    assert_int_equal(s.retry_after_s, -1);
    assert_string_equal(s.reason, "");
    assert_string_equal(s.message, "");
    assert_false(s.is_failure || s.is_expired || s.is_rv_too_large);
  }
  kin__status s = parse("{\"kind\":\"Status\"}");
  assert_int_equal(s.code, 0);
  assert_false(s.is_failure);
  s = parse("{\"kind\":\"Status\",\"status\":\"Success\",\"code\":200}");
  assert_false(s.is_failure);
  assert_false(s.is_foreign);
  s = parse("{\"kind\":\"Status\",\"apiVersion\":\"v1\"}");
  assert_false(s.is_foreign);
  s = parse("{\"kind\":\"Status\",\"apiVersion\":\"example.com/v1\"}");
  assert_true(s.is_foreign);
  s = parse(
      "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":-4,\"details\":"
      "{\"retryAfterSeconds\":99999999999},\"reason\":3}");
  assert_true(s.is_failure);
  assert_int_equal(s.code, 0);
  assert_int_equal(s.retry_after_s, -1);
  assert_string_equal(s.reason, "");
}

/* RE-06. */
static void test_status_expired(void **state) {
  (void)state;
  static const struct {
    const char *reason;
    int code;
    bool is_expired;
  } rows[] = {
      {"Expired", 410, true},   {"Expired", 0, true},
      {"Gone", 410, true},      {"Gone", 0, true},
      {"", 410, true},          {"SomethingNew", 410, true},
      {"NotFound", 410, false}, {"StorageReadError", 410, false},
      {"", 409, false},         {"SomethingNew", 500, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[200];
    snprintf(text, sizeof text,
             "{\"kind\":\"Status\",\"reason\":\"%s\",\"code\":%d}",
             rows[i].reason, rows[i].code);
    if (parse(text).is_expired != rows[i].is_expired) {
      fail_msg("%s", text);
    }
  }
}

/* RE-07. */
static void test_status_version_too_large(void **state) {
  (void)state;
#define CAUSE(members) "\"details\":{\"causes\":[{}, {" members "}]}"
  static const struct {
    const char *members;
    bool is_too_large;
  } rows[] = {
      {CAUSE("\"reason\":\"ResourceVersionTooLarge\""), true},
      {"\"reason\":\"Invalid\"," CAUSE(
           "\"reason\":\"ResourceVersionTooLarge\""),
       true},
      {"\"reason\":\"Timeout\"," CAUSE(
           "\"message\":\"Too large resource version\""),
       true},
      {"\"code\":504," CAUSE("\"message\":\"Too large resource version\""),
       true},
      {"\"reason\":\"Invalid\"," CAUSE(
           "\"message\":\"Too large resource version\""),
       false},
      {"\"reason\":\"Timeout\"," CAUSE(
           "\"message\":\"Too large resource version: 9\""),
       false},
      {"\"reason\":\"Timeout\",\"details\":{},\"message\":\"Timeout: Too large "
       "resource version: 9, current: 8\"",
       true},
      {"\"reason\":\"Timeout\",\"message\":\"Too large resource version: 9\"",
       false},
      {"\"reason\":\"Invalid\",\"details\":{},\"message\":\"Too large "
       "resource version: 9\"",
       false},
      {"\"reason\":\"Timeout\",\"details\":{},\"message\":\"Too large\"",
       false},
      {"\"reason\":\"Timeout\",\"details\":{\"causes\":7}", false},
      {"\"reason\":\"Timeout\",\"details\":{\"causes\":[1,null]}", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[400];
    snprintf(text, sizeof text, "{\"kind\":\"Status\",%s}", rows[i].members);
    if (parse(text).is_rv_too_large != rows[i].is_too_large) {
      fail_msg("%s", text);
    }
  }
}

static void test_status_texts_are_cut(void **state) {
  (void)state;
  char text[2000];
  char long_message[1200];
  size_t at = 0;
  while (at < 1100) { /* three bytes each, so that 511 is inside of one */
    memcpy(long_message + at, "\xe2\x82\xac", 3);
    at += 3;
  }
  long_message[at] = '\0';
  snprintf(text, sizeof text,
           "{\"kind\":\"Status\",\"message\":\"%s\",\"reason\":\"%0100d\"}",
           long_message, 0);
  kin__status s = parse(text);
  assert_int_equal(strlen(s.message), 170 * 3);
  assert_memory_equal(s.message, long_message, 170 * 3);
  assert_int_equal(strlen(s.reason), 63);

  s = parse(
      "{\"kind\":\"Status\",\"message\":\"a\\nb\\u0000c\\u007f\\u0085\"}");
  assert_string_equal(s.message, "a b c \xc2\x85");
}

/* RE-01. */
static void test_status_from_response(void **state) {
  (void)state;
  static const struct {
    int code;
    const char *reason;
  } rows[] = {
      {400, "BadRequest"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "NotFound"},
      {405, "MethodNotAllowed"},
      {406, "NotAcceptable"},
      {409, "Conflict"},
      {413, ""},
      {415, "UnsupportedMediaType"},
      {418, ""},
      {422, "Invalid"},
      {429, "TooManyRequests"},
      {500, "InternalError"},
      {502, "InternalError"},
      {503, "ServiceUnavailable"},
      {504, "Timeout"},
      {599, "InternalError"},
      {302, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin__status s;
    kin__status_from_response(&s, rows[i].code, KIN__LIT(""));
    assert_int_equal(s.code, rows[i].code);
    assert_string_equal(s.reason, rows[i].reason);
    assert_true(strlen(s.message) > 0);
    assert_int_equal(s.retry_after_s, -1);
    assert_true(s.is_failure);
    assert_false(s.is_expired || s.is_rv_too_large);
  }
  kin__status s;
  kin__status_from_response(&s, 410, KIN__LIT("gone\r\n"));
  assert_string_equal(s.message, "gone");
  assert_true(s.is_expired);
}

static void test_status_out_of_memory(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 1);
  kin__status s;
  assert_int_equal(kin__status_parse(&s, &memory.allocator,
                                     KIN__LIT("{\"kind\":\"Status\"}")),
                   KIN_ENOMEM);
  assert_int_equal(memory.live_blocks, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_status_recorded),
      cmocka_unit_test(test_status_only_of_its_kind),
      cmocka_unit_test(test_status_expired),
      cmocka_unit_test(test_status_version_too_large),
      cmocka_unit_test(test_status_texts_are_cut),
      cmocka_unit_test(test_status_from_response),
      cmocka_unit_test(test_status_out_of_memory),
  };
  return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
