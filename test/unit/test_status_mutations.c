/* SPDX-License-Identifier: MIT */

/* RE-01, RE-02, RE-06, RE-07: a Status with any member of another JSON type,
 * repeated or missing is read as far as it can be; and the generator of these
 * is what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/status.h"
#include "support/json_mutations.h"
#include "support/odd_bodies.h"

/* --- The generator -------------------------------------------------------- */

/* All of them are JSON, and none is the text that they are made of. */
static void test_mutations_are_json(void **state) {
  (void)state;
  static const char text[] =
      "{ \"a\" : [ 1 , \"]\\\"\" ] , \"b\":{\"c\":2,\"e\":4}, \"d\":[3,5] }";
  json_mutations m;
  json_mutations_init(&m, text);
  assert_int_equal(m.place_count, 10);
  assert_int_equal(m.count, 16 + 9 * 50);
  for (size_t i = 0; i < m.count; i++) {
    const char *mutation = json_mutation(&m, i);
    yyjson_doc *doc =
        yyjson_read(mutation, strlen(mutation), YYJSON_READ_BIGNUM_AS_RAW);
    if (doc == NULL) {
      fail_msg("no JSON: %s", mutation);
    }
    yyjson_doc_free(doc);
    assert_string_not_equal(mutation, text);
  }
  json_mutations_finish(&m);
}

static int has_mutation(json_mutations *m, const char *text) {
  int found = 0;
  for (size_t i = 0; i < m->count; i++) {
    found += strcmp(json_mutation(m, i), text) == 0;
  }
  return found;
}

static void test_mutations_reach_everything(void **state) {
  (void)state;
  json_mutations m;
  json_mutations_init(&m, "{\"a\":[7],\"b\":\"x\"}");
  static const char *const expected[] = {
      "[]",
      "{\"b\":\"x\"}",
      "{\"a\":[7]}",
      "{\"a\":[],\"b\":\"x\"}",
      "{\"a\":true,\"b\":\"x\"}",
      "{\"a\":[null],\"b\":\"x\"}",
      "{\"a\":[7,{}],\"b\":\"x\"}",
      "{\"a\":[-1,7],\"b\":\"x\"}",
      "{\"a\":[7],\"a\":[7],\"b\":\"x\"}",
      "{\"a\":[7],\"b\":\"x\",\"b\":{}}",
      "{\"a\":[7],\"b\":[],\"b\":\"x\"}",
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    if (has_mutation(&m, expected[i]) == 0) {
      fail_msg("never made: %s", expected[i]);
    }
  }
  json_mutations_finish(&m);
}

/* --- Statuses ------------------------------------------------------------- */

static bool ends_within(const char *text, size_t size) {
  return memchr(text, '\0', size) != NULL;
}

/* Whatever it is, it is a Status if its kind says so, and what is not of its
 * type is absent. */
static void test_status_of_other_types(void **state) {
  (void)state;
  for (size_t d = 0; odd_statuses[d] != NULL; d++) {
    json_mutations m;
    json_mutations_init(&m, odd_statuses[d]);
    for (size_t i = 0; i < m.count; i++) {
      const char *text = json_mutation(&m, i);
      kin__status status;
      memset(&status, 0xaa, sizeof status);
      bool is_status = kin__status_parse(&status, kin__default_allocator(),
                                         kin__cstr(text)) == 0;
      assert_true(ends_within(status.reason, sizeof status.reason));
      assert_true(ends_within(status.message, sizeof status.message));
      assert_true(status.code >= 0 && status.retry_after_s >= -1);
      if (!is_status) {
        assert_null(strstr(text, "{\"kind\":\"Status\""));
        assert_int_equal(status.code, 0);
        assert_string_equal(status.message, "");
      }
    }
    json_mutations_finish(&m);
  }
}

/* Each member alone: the others are read as they were. */
static void test_status_without_one_member(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int code;
    const char *reason;
    const char *message;
    int retry_after_s;
    bool is_too_large;
  } rows[] = {
#define STATUS(rest) "{\"kind\":\"Status\",\"status\":\"Failure\"," rest "}"
#define CAUSES(causes)                                                         \
  "\"details\":{\"retryAfterSeconds\":2,\"causes\":" causes "}"
      {STATUS("\"message\":{},\"reason\":\"Gone\",\"code\":410"), 410, "Gone",
       "", -1, false},
      {STATUS("\"message\":[1,2],\"reason\":[\"Gone\"],\"code\":500"), 500, "",
       "", -1, false},
      {STATUS("\"message\":\"m\",\"reason\":{\"a\":1},\"code\":\"410\""), 0, "",
       "m", -1, false},
      {STATUS("\"message\":true,\"reason\":7,\"code\":1e2," CAUSES("null")), 0,
       "", "", 2, false},
      {STATUS("\"code\":504," CAUSES("[{\"reason\":{\"x\":1}},7,[],null,\"x\","
                                     "{\"message\":[]},{\"reason\":"
                                     "\"ResourceVersionTooLarge\"}]")),
       504, "", "", 2, true},
      {STATUS("\"code\":504," CAUSES("{\"reason\":"
                                     "\"ResourceVersionTooLarge\"}")),
       504, "", "", 2, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kin__status s;
    assert_int_equal(kin__status_parse(&s, kin__default_allocator(),
                                       kin__cstr(rows[i].text)),
                     0);
    assert_true(s.is_failure);
    assert_int_equal(s.code, rows[i].code);
    assert_string_equal(s.reason, rows[i].reason);
    assert_string_equal(s.message, rows[i].message);
    assert_int_equal(s.retry_after_s, rows[i].retry_after_s);
    assert_int_equal(s.is_rv_too_large, rows[i].is_too_large);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mutations_are_json),
      cmocka_unit_test(test_mutations_reach_everything),
      cmocka_unit_test(test_status_of_other_types),
      cmocka_unit_test(test_status_without_one_member),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
