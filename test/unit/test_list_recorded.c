/* SPDX-License-Identifier: MIT */

/* The lists that a real API server sent agree with yyjson's reading of them
 * however they are cut: RL-08, RL-09 (objects do not need the body), KY-01. Its
 * other answers are no lists: RL-08, RE-03. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/list.h"
#include "support/json_gen.h"
#include "support/list_run.h"
#include "support/wire.h"

/* An item's text as it should be stored by default. */
static char *without_managed_fields(yyjson_val *item) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *copy = yyjson_val_mut_copy(doc, item);
  yyjson_mut_obj_remove_key(yyjson_mut_obj_get(copy, "metadata"),
                            "managedFields");
  yyjson_mut_doc_set_root(doc, copy);
  char *text = yyjson_mut_write(doc, 0, NULL);
  yyjson_mut_doc_free(doc);
  return text;
}

/* Everything that was decoded of a body, against yyjson. */
static void assert_like_yyjson(const list_run *r, kin_str body) {
  yyjson_doc *doc = yyjson_read(body.data, body.length, 0);
  yyjson_val *root = yyjson_doc_get_root(doc);
  yyjson_val *metadata = yyjson_obj_get(root, "metadata");
  assert_str(kin__cstr(r->result.version),
             json_str(yyjson_obj_get(metadata, "resourceVersion")));
  assert_str(kin__cstr(r->result.token),
             json_str(yyjson_obj_get(metadata, "continue")));
  yyjson_val *items = yyjson_obj_get(root, "items");
  assert_int_equal(r->got.count, yyjson_arr_size(items));
  for (size_t i = 0; i < r->got.count; i++) {
    yyjson_val *item = yyjson_arr_get(items, i);
    char *expected = without_managed_fields(item);
    assert_object(r->got.objects[i], item, expected);
    free(expected);
  }
  yyjson_doc_free(doc);
}

static const char *const recorded_lists[] = {
    "list-pods.http",
    "list-page-1.http",
    "list-page-2.http",
    "list-empty.http",
    "list-custom-resource.http",
    "list-rv0-limit.http",
    "list-metadata-only.http",
};

static void test_list_recorded(void **state) {
  (void)state;
  size_t objects = 0;
  for (size_t i = 0; i < sizeof recorded_lists / sizeof *recorded_lists; i++) {
    kin_str body = wire_body(recorded_lists[i]);
    list_run whole;
    list_run_init(&whole);
    whole.projection = list_run_default_projection();
    assert_int_equal(list_run_decode(&whole, body, 0), 0);
    assert_like_yyjson(&whole, body);
    objects += whole.got.count;

    list_run cut;
    list_run_init(&cut);
    cut.projection = list_run_default_projection();
    for (int at = BYTEWISE; at <= (int)body.length; at++) {
      assert_int_equal(list_run_decode(&cut, body, at), 0);
      decoded_assert_same(&cut.got, &whole.got, recorded_lists[i]);
      assert_string_equal(cut.result.version, whole.result.version);
      assert_string_equal(cut.result.token, whole.result.token);
      list_run_again(&cut);
    }
    list_run_finish(&cut);
    list_run_finish(&whole);
    free((char *)body.data);
  }
  assert_true(objects > 15);
}

/* Some user agents get lists that are laid out for people. */
static void test_list_pretty_printed(void **state) {
  (void)state;
  kin_str body = wire_body("list-pods.http");
  yyjson_doc *doc = yyjson_read(body.data, body.length, 0);
  size_t length;
  char *pretty = yyjson_write(doc, YYJSON_WRITE_PRETTY, &length);
  list_run r;
  list_run_init(&r);
  r.projection = list_run_default_projection();
  assert_int_equal(list_run_decode(&r, kin__str(pretty, length), 4000), 0);
  assert_like_yyjson(&r, body);
  list_run_finish(&r);
  free(pretty);
  yyjson_doc_free(doc);
  free((char *)body.data);
}

/* RL-08, RL-10, RE-03: answers that are no lists. */
static void test_list_recorded_other_answers(void **state) {
  (void)state;
  static const char *const files[] = {
      "list-continue-expired.http", "list-not-acceptable.http",
      "list-unauthorized.http",     "list-rv-too-large.http",
      "discovery-core.http",
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    kin_str body = wire_body(files[i]);
    list_run r;
    list_run_init(&r);
    for (int at = BYTEWISE; at <= (int)body.length; at++) {
      assert_int_equal(list_run_decode(&r, body, at), KIN_EUNEXPECTED);
      list_run_again(&r);
    }
    list_run_finish(&r);
    free((char *)body.data);
  }
}

static void test_list_truncated_everywhere(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof recorded_lists / sizeof *recorded_lists; i++) {
    kin_str body = wire_body(recorded_lists[i]);
    size_t end = body.length;
    while (body.data[end - 1] != '}') {
      end--; /* a line feed follows the list */
    }
    list_run r;
    list_run_init(&r);
    for (size_t length = 0; length < end; length++) {
      assert_int_equal(list_run_decode(&r, kin__str(body.data, length), 0),
                       KIN_ETRUNCATED);
      list_run_again(&r);
    }
    assert_int_equal(list_run_decode(&r, kin__str(body.data, end), 0), 0);
    list_run_finish(&r);
    free((char *)body.data);
  }
}

/* A few bytes of a body are changed. Whatever comes of it is the same for every
 * cut, and what yyjson takes for JSON is not malformed. */
static void test_list_mutated(void **state) {
  (void)state;
  static const char bytes[] = "\"\"\\{}[]:, \n0a\x01\xff";
  size_t outcomes[2] = {0};
  for (uint64_t seed = 0; seed < 3000; seed++) {
    json_gen random = {.state = seed};
    kin_str body = wire_body(recorded_lists[seed % 7]);
    char *data = (char *)body.data;
    for (uint32_t i = 0; i <= json_gen_below(&random, 3); i++) {
      data[json_gen_below(&random, (uint32_t)body.length)] =
          bytes[json_gen_below(&random, sizeof bytes - 1)];
    }
    list_run whole;
    list_run cut;
    list_run_init(&whole);
    list_run_init(&cut);
    int expected = list_run_decode(&whole, body, 0);
    outcomes[expected == 0]++;
    for (int i = 0; i < 4; i++) {
      int at = (int)json_gen_below(&random, (uint32_t)body.length);
      assert_int_equal(list_run_decode(&cut, body, i == 0 ? BYTEWISE : at),
                       expected);
      decoded_assert_same(&cut.got, &whole.got, body.data);
      list_run_again(&cut);
    }
    yyjson_doc *doc = yyjson_read(body.data, body.length, 0);
    if (doc != NULL) {
      assert_true(expected == 0 || expected == KIN_EKEY ||
                  expected == KIN_EUNEXPECTED);
    }
    yyjson_doc_free(doc);
    list_run_finish(&whole);
    list_run_finish(&cut);
    free(data);
  }
  assert_true(outcomes[0] > 300 && outcomes[1] > 300);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_recorded),
      cmocka_unit_test(test_list_mutated),
      cmocka_unit_test(test_list_pretty_printed),
      cmocka_unit_test(test_list_recorded_other_answers),
      cmocka_unit_test(test_list_truncated_everywhere),
  };
  return cmocka_run_group_tests_name("list_recorded", tests, NULL, NULL);
}
