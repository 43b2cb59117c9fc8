/* SPDX-License-Identifier: MIT */
/* What libyaml is given of a kubeconfig: no token, key or password, and yet the
 * same values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/yaml.h"
#include "config/yaml_mask.h"
#include "support/fail_alloc.h"

#define SECRET "c2VjcmV0Lw+3ffzz09=="
#define MARK "\xee\x80\x80"

typedef struct masked {
  fail_alloc memory;
  kin__yaml_mask mask;
  char text[8192]; /* of libyaml */
} masked;

static void begin(masked *m, const char *source) {
  fail_alloc_init(&m->memory, 0);
  assert_int_equal(
      kin__yaml_mask_init(&m->mask, &m->memory.allocator, kin__cstr(source)),
      0);
  assert_true(m->mask.length < sizeof m->text);
  assert_true(m->mask.length <= strlen(source));
  memcpy(m->text, m->mask.copy, m->mask.length);
  m->text[m->mask.length] = '\0';
}

static void finish(masked *m) {
  kin__yaml_mask_finish(&m->mask);
  assert_int_equal(m->memory.live_blocks, 0);
}

/* The masked text, with its marks put back. */
static void expect_round_trip(const masked *m, const char *source) {
  char back[8192];
  kin_str text = kin__cstr(m->text);
  size_t length = kin__yaml_unmask(&m->mask, text, NULL);
  assert_int_equal(length, strlen(source));
  assert_int_equal(kin__yaml_unmask(&m->mask, text, back), length);
  assert_memory_equal(back, source, length);
}

static void expect_masked(const char *source, const char *secret) {
  masked m;
  begin(&m, source);
  if (strstr(m.text, secret) != NULL || strstr(m.text, MARK) == NULL) {
    fail_msg("%s: %s", source, m.text);
  }
  expect_round_trip(&m, source);
  finish(&m);
}

static void expect_same(const char *source) {
  masked m;
  begin(&m, source);
  assert_string_equal(m.text, source);
  assert_int_equal(kin__yaml_unmask(&m.mask, kin__cstr(source), NULL),
                   strlen(source));
  finish(&m);
}

static void test_secrets_are_masked(void **state) {
  (void)state;
  expect_masked("token: " SECRET "\n", "c2V");
  expect_masked("{\"token\":\"" SECRET "\"}", "c2V");
  expect_masked("token: '" SECRET "'", "c2V");
  expect_masked("a: [" SECRET "," SECRET "]", "c2V");
  expect_masked("key: |\n  -----BEGIN KEY-----\n  " SECRET "\n", "c2V");
  expect_masked("password: p@ss^word$(1)~;<2>`", "p@ss");
  expect_masked("password: \"!p4ssword!p4ssword\"", "p4ss");
  expect_masked("password: '%p4ssword%p4ssword'", "p4ss");
  expect_masked("password: \"#p4sswordp4ssword\"", "p4ss");
  expect_masked("k: \"\\n" SECRET "\"", "Lw+3");
  expect_masked("k: \"\\/" SECRET "\"", "Lw+3");
  expect_masked(SECRET, "c2V");
  expect_masked("\xef\xbb\xbf" SECRET, "c2V");
}

static void test_rest_stays(void **state) {
  (void)state;
  expect_same("");
  expect_same("a: b\n- c\n--- d\n");
  expect_same("token: abcdefghij");
  expect_masked("token: abcdefghijk", "abcdefghijk");
  expect_same("a: &anchor_with_a_name 1\nb: *anchor_with_a_name");
  expect_same("a: !a_tag_that_is_long 1");
  expect_same("%directive_with_a_name 1");
  expect_same("a: \"\\U0000004101234567\"");
  expect_same("a: bb" MARK "ccccccc " SECRET);
  expect_same("a: \"\\uE000\" " SECRET);
  expect_same("a: \"\\U0000e000\" " SECRET);
}

/* No scalar can name what is not in the text. */
static void test_bad_marks(void **state) {
  (void)state;
  masked m;
  begin(&m, "token: " SECRET);
  const char *const bad[] = {MARK, MARK "0007000", MARK "000700zz",
                             MARK "____0001", MARK "0007000 "};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char back[64];
    size_t length = strlen(bad[i]);
    assert_int_equal(kin__yaml_unmask(&m.mask, kin__cstr(bad[i]), back),
                     length);
    assert_memory_equal(back, bad[i], length);
  }
  char back[64];
  kin_str good = kin__cstr(MARK "00070003");
  assert_int_equal(kin__yaml_unmask(&m.mask, good, back), 3);
  assert_memory_equal(back, SECRET, 3);
  finish(&m);
}

/* Every value of a document is what it is without marks. */
static void expect_parsed(const char *text, const char *value) {
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__vault vault;
  kin__vault_init(&vault, &memory.allocator);
  const kin__yaml_node *root;
  kin__yaml_problem problem;
  if (kin__yaml_parse(&vault, kin__cstr(text), &root, &problem) != 0) {
    fail_msg("%s: line %u: %s", text, problem.line, problem.what);
  }
  assert_int_equal(root->type, KIN__YAML_MAP);
  const kin__yaml_node *node = root->first->value;
  if (!kin__str_equal(node->text, kin__cstr(value))) {
    fail_msg("%s: " KIN_STR_FORMAT, text, KIN_STR_ARG(node->text));
  }
  assert_int_equal(node->text.data[node->text.length], '\0');
  kin__vault_finish(&vault);
  assert_int_equal(memory.live_blocks, 0);
}

static void test_values(void **state) {
  (void)state;
  expect_parsed("a: " SECRET, SECRET);
  expect_parsed("a: \"x\\n" SECRET " \\u00e4" SECRET "\"",
                "x\n" SECRET " \xc3\xa4" SECRET);
  expect_parsed("a: 'it''s " SECRET "'", "it's " SECRET);
  expect_parsed("a: |\n  " SECRET "\n  " SECRET "\n", SECRET "\n" SECRET "\n");
  expect_parsed("a: >-\n  " SECRET "\n  " SECRET "\n", SECRET " " SECRET);
  expect_parsed("a: " SECRET "\n  " SECRET "\n", SECRET " " SECRET);
  expect_parsed("a: \"" SECRET "\\\n  " SECRET "\"", SECRET SECRET);
  expect_parsed("a: https://127.0.0.1:6443/prefix-of-a-path#fragment",
                "https://127.0.0.1:6443/prefix-of-a-path#fragment");
  expect_parsed("a: " SECRET " #" SECRET, SECRET);
  expect_parsed("a: \"\\uE000 " SECRET "\"", MARK " " SECRET);
  expect_parsed("a_key_that_is_long: &anchor_with_a_name " SECRET
                "\nb: *anchor_with_a_name",
                SECRET);
  expect_parsed("a: ------------\n", "------------");
  expect_parsed("{\"a\":\"" SECRET "\"}", SECRET);
}

/* The type of a value is that of its text. */
static void test_types(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__vault vault;
  kin__vault_init(&vault, &memory.allocator);
  const kin__yaml_node *root;
  kin__yaml_problem problem;
  assert_int_equal(
      kin__yaml_parse(&vault,
                      KIN__LIT("[123456789012345, 1.23456789012e+10, "
                               "'123456789012345', 0x123456789abcdef, "
                               "123456789012345x]"),
                      &root, &problem),
      0);
  const kin__yaml_type types[] = {KIN__YAML_NUMBER, KIN__YAML_NUMBER,
                                  KIN__YAML_STRING, KIN__YAML_NUMBER,
                                  KIN__YAML_STRING};
  const kin__yaml_item *item = root->first;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++, item = item->next) {
    assert_int_equal(item->value->type, types[i]);
  }
  assert_null(item);
  kin__vault_finish(&vault);
}

/* A key twice is found although its marks differ. */
static void test_same_keys(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__vault vault;
  kin__vault_init(&vault, &memory.allocator);
  const kin__yaml_node *root;
  kin__yaml_problem problem;
  assert_int_equal(kin__yaml_parse(&vault,
                                   KIN__LIT(SECRET ": 1\n" SECRET ": 2\n"),
                                   &root, &problem),
                   KIN_EINVAL);
  assert_int_equal(problem.line, 2);
  kin__vault_finish(&vault);
}

static void test_no_memory(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 1);
  kin__yaml_mask mask;
  assert_int_equal(
      kin__yaml_mask_init(&mask, &memory.allocator, KIN__LIT(SECRET)),
      KIN_ENOMEM);
  kin__yaml_mask_finish(&mask);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_secrets_are_masked),
      cmocka_unit_test(test_rest_stays),
      cmocka_unit_test(test_bad_marks),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_same_keys),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
