/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>
#include <kin/selector.h>

#include "support/fail_alloc.h"
#include "support/objects.h"

static kin_object *make_object(void) {
  return object_of(NULL, "{'metadata':{'name':'a','labels':{'app':'web',"
                         "'tier':'front','empty':'','n':'10','big':'x10',"
                         "'example.com/role':'db','esc\\u0061ped':'y\\u0065s',"
                         "'neg':'-3','odd':7,'none':null}}}");
}

static bool matches(const kin_object *object, const char *text) {
  kin_selector *selector;
  assert_int_equal(kin_selector_parse(&selector, NULL, text), 0);
  bool answer = kin_selector_matches(selector, object);
  kin_selector_free(selector);
  return answer;
}

/* LI-01: each operator, with the label there and not. */
static void test_selector_matches(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool matches;
  } rows[] = {
      {"", true},
      {" \t", true},
      {"app", true},
      {"nope", false},
      {"!app", false},
      {"! nope", true},
      {"app=web", true},
      {"app==web", true},
      {" app = web ", true},
      {"app=we", false},
      {"app=webb", false},
      {"nope=web", false},
      {"app!=web", false},
      {"app!=x", true},
      {"nope!=web", true},
      {"app in (web)", true},
      {"app in(x,web)", true},
      {"app in ( x , y )", false},
      {"nope in (web)", false},
      {"app notin (x,y)", true},
      {"app notin (x,web)", false},
      {"nope notin (web)", true},
      {"empty", true},
      {"empty=", true},
      {"empty==", true},
      {"empty!=", false},
      {"app=", false},
      {"app!=", true},
      {"empty in ()", true},
      {"app in ()", false},
      {"empty in (a,,b)", true},
      {"empty notin (,)", false},
      {"empty in (a,,)", true}, /* as labels.Parse */
      {"app in (,,web)", true},
      {"app in (x,)", false},
      {"app=web,tier=front", true},
      {"app=web,tier=back", false},
      {"app=,empty=", false},
      {"empty=,app=web", true},
      {"app in (web),!nope,n>9,n<11", true},
      {"n>10", false},
      {"n > 9", true},
      {"n<10", false},
      {"n<9223372036854775807", true},
      {"n>0", true},
      {"neg<2", true}, /* what a server sends is not checked */
      {"neg>0", false},
      {"n>009", true},
      {"nope>1", false},
      {"nope<1", false},
      {"big>1", false},
      {"example.com/role=db", true},
      {"role=db", false},
      {"escaped=yes", true},
      {"odd", false}, /* no string, so no label */
      {"none", false},
      {"!none,app", true},
      {"in in (in)", false},
      {"in", false},
      {"notin notin (notin)", true},
  };
  kin_object *object = make_object();
  kin_object *bare = object_of(NULL, "{'metadata':{'name':'a'}}");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (matches(object, rows[i].text) != rows[i].matches) {
      fail_msg("\"%s\" should be %d", rows[i].text, rows[i].matches);
    }
  }
  assert_true(matches(bare, ""));
  assert_true(matches(bare, "!app,app!=web,app notin (web)"));
  assert_false(matches(bare, "app"));
  kin_object_unref(object);
  kin_object_unref(bare);
}

/* 64 digits. */
#define LONG_BOUND                                                             \
  "app>0000000000000000000000000000000"                                        \
  "000000000000000000000000000000001"

/* LI-01. A bound has to be a value of a label, as any other. */
static void test_selector_refuses_malformed_text(void **state) {
  (void)state;
  static const char *const texts[] = {",",
                                      "app,",
                                      ",app",
                                      "app,,tier",
                                      "=web",
                                      "!",
                                      "!!app",
                                      "app!",
                                      "app!web",
                                      "app=a=b",
                                      "app===web",
                                      "app web",
                                      "app in",
                                      "app in web",
                                      "app in (web",
                                      "app in web)",
                                      "app in (a b)",
                                      "app in (a),",
                                      "app notin",
                                      "app not (a)",
                                      "app>",
                                      "app>x",
                                      "app>1.5",
                                      "app<9223372036854775808",
                                      "app>-3",
                                      "app<-9223372036854775808",
                                      "app<+7",
                                      LONG_BOUND,
                                      "app<>1",
                                      "-app",
                                      "app-=x",
                                      "a/b/c",
                                      "/app",
                                      "example.com/",
                                      "Example.com/a",
                                      "a..b/c",
                                      ".a/b",
                                      "app=-x",
                                      "app=x-",
                                      "app=a/b",
                                      "app=\xc3\xa4",
                                      "\xc3\xa4",
                                      "!app=web",
                                      "app in (a,b",
                                      "(a)",
                                      "app)",
                                      "a\x01",
                                      "a;b"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    kin_selector *selector = (void *)1;
    int err = kin_selector_parse(&selector, NULL, texts[i]);
    if (err != KIN_EINVAL || selector != NULL) {
      fail_msg("\"%s\" gives %d", texts[i], err);
    }
  }
}

/* Names and values have up to 63 bytes, prefixes 253, selectors 64 KiB. */
static void test_selector_bounds(void **state) {
  (void)state;
  kin_selector *selector;
  char text[400];
  memset(text, 'a', sizeof text);
  text[63] = '\0';
  assert_int_equal(kin_selector_parse(&selector, NULL, text), 0);
  kin_selector_free(selector);
  text[63] = 'a';
  text[64] = '\0';
  assert_int_equal(kin_selector_parse(&selector, NULL, text), KIN_EINVAL);
  text[1] = '=';
  text[64] = 'a';
  text[65] = '\0';
  assert_int_equal(kin_selector_parse(&selector, NULL, text), 0);
  kin_selector_free(selector);
  text[65] = 'a';
  text[66] = '\0';
  assert_int_equal(kin_selector_parse(&selector, NULL, text), KIN_EINVAL);
  memset(text, 'a', sizeof text);
  strcpy(text + 253, "/b");
  assert_int_equal(kin_selector_parse(&selector, NULL, text), 0);
  kin_selector_free(selector);
  memset(text, 'a', sizeof text);
  strcpy(text + 254, "/b");
  assert_int_equal(kin_selector_parse(&selector, NULL, text), KIN_EINVAL);
  size_t length = 64 * 1024;
  char *long_text = malloc(length + 2);
  assert_non_null(long_text);
  memset(long_text, ' ', length);
  memcpy(long_text, "app", 3);
  long_text[length] = '\0';
  assert_int_equal(kin_selector_parse(&selector, NULL, long_text), 0);
  kin_selector_free(selector);
  strcpy(long_text + length, " ");
  assert_int_equal(kin_selector_parse(&selector, NULL, long_text), KIN_ETOOBIG);
  assert_null(selector);
  free(long_text);
}

/* LI-01. */
static void test_selector_everything_and_nothing(void **state) {
  (void)state;
  kin_object *object = make_object();
  assert_true(kin_selector_matches(NULL, object));
  assert_true(kin_selector_is_everything(NULL));
  assert_false(kin_selector_is_nothing(NULL));
  static const char *const texts[] = {NULL, "", "  "};
  kin_selector *selector;
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(kin_selector_parse(&selector, NULL, texts[i]), 0);
    assert_true(kin_selector_is_everything(selector));
    assert_false(kin_selector_is_nothing(selector));
    assert_true(kin_selector_matches(selector, object));
    kin_selector_free(selector);
  }
  assert_int_equal(kin_selector_nothing(&selector, NULL), 0);
  assert_false(kin_selector_is_everything(selector));
  assert_true(kin_selector_is_nothing(selector));
  assert_false(kin_selector_matches(selector, object));
  kin_selector_free(selector);
  assert_int_equal(kin_selector_parse(&selector, NULL, "app"), 0);
  assert_false(kin_selector_is_everything(selector));
  assert_false(kin_selector_is_nothing(selector));
  kin_selector_free(selector);
  kin_selector_free(NULL);
  kin_object_unref(object);
}

/* Parsing is one allocation, matching none. */
static void test_selector_allocates_once(void **state) {
  (void)state;
  kin_object *object = make_object();
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  char text[] = "app in (web,x),tier=front,!nope";
  kin_selector *selector;
  assert_int_equal(kin_selector_parse(&selector, &memory.allocator, text), 0);
  memset(text, 'x', sizeof text - 1); /* it was copied */
  assert_true(kin_selector_matches(selector, object));
  assert_int_equal(memory.calls, 1);
  kin_selector_free(selector);
  assert_int_equal(memory.live_blocks, 0);
  memory.fail_at = 2;
  assert_int_equal(kin_selector_parse(&selector, &memory.allocator, "app"),
                   KIN_ENOMEM);
  assert_null(selector);
  memory.fail_at = 3;
  assert_int_equal(kin_selector_nothing(&selector, &memory.allocator),
                   KIN_ENOMEM);
  assert_null(selector);
  kin_object_unref(object);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_selector_matches),
      cmocka_unit_test(test_selector_refuses_malformed_text),
      cmocka_unit_test(test_selector_bounds),
      cmocka_unit_test(test_selector_everything_and_nothing),
      cmocka_unit_test(test_selector_allocates_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
