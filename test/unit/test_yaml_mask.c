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

/* The text that libyaml reads is `masked`; NULL: the text itself. What libyaml
 * does not read cannot stay behind in memory that it frees. */
typedef struct mask_row {
  const char *source;
  const char *masked;
} mask_row;

static const mask_row mask_rows[] = {
    {"", NULL},
    {"token: " SECRET "\n", "00000: 00000000000000000000\n"},
    {"{\"token\":\"ab\"}", "{\"00000\":\"00\"}"},
    {"a: 'a b#c,d''e'\r\n", "0: '0 0#0,0''0'\r\n"},
    {"- |2-\n  -----KEY x\n", "- |2-\n  -----000 0\n"},
    {"- >+1 # c\n  DOMAIN\\user\n", "- >+1 # 0\n  000000\\us00\n"},
    {"a: p@ss^word$(1)~;<2>`", "0: 0000000000000000000"},
    {"a: \"!p$1 &w2 *w.3 %%q\"", "0: \"!0$0 &00 *0.0 %%0\""},
    {"a: $/=_()^~;<", "0: 0000000000"},
    {"k: \"\\n\\x4a\\u00e4\\U0001F600\"", "0: \"\\n\\x00\\u0000\\U00000000\""},
    {"k: \"\\ud83d\\U00110000\"", "0: \"\\ud83d\\U00110000\""},
    {"k: \"\\x4ghi\"", "0: \"\\x0g00\""},
    {"k: \"\\x4\\x41\"", "0: \"\\x0\\x00\""},
    {"k: \\", "0: \\"},
    {"\xef\xbb\xbf"
     "a\xc2\x85\xc3\xa4\xe2\x80\xa8\xe9\xa6\xac\xf0\x9f\x90\xb4",
     "\xef\xbb\xbf"
     "0\xc2\x85\xc4\x80\xe2\x80\xa8\xee\x80\x80\xf0\x90\x80\x80"},
    {"\xc3(\xed\xa0\x80\xff", "\xc3"
                              "0\xed\xa0\x80\xff"},
    {"a: &name_1 1\nb: *name_1", "0: &0000_0 0\n0: *0000_0"},
    {"a: &na.me 1", "0: &00.00 0"},
    {"!!str a: !!integer 1", "!!str 0: !!int0000 0"},
    {"!<tag:yaml.org,2002:map> a", "!<tag:yaml.org,2002:map> 0"},
    {"!tag.x a", "!000.0 0"},
    {"%YAML 1.1 # x\n--- a", "%YAML 1.1 # 0\n--- 0"},
    {"%TAG ! tag:a,b:\n--- a", NULL},
    {"a: x%TAG y", "0: 00000 0"},
    {"\xff\xfe"
     "ab",
     NULL},
};

static void test_libyaml_reads(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof mask_rows / sizeof *mask_rows; i++) {
    const mask_row *row = &mask_rows[i];
    const char *masked = row->masked != NULL ? row->masked : row->source;
    fail_alloc memory;
    fail_alloc_init(&memory, 0);
    kin__yaml_mask mask;
    assert_int_equal(
        kin__yaml_mask_init(&mask, &memory.allocator, kin__cstr(row->source)),
        0);
    assert_int_equal(mask.has_marks, row->masked != NULL || i == 0);
    kin_str copy = kin__str(mask.copy, strlen(row->source));
    if (!kin__str_equal(copy, kin__cstr(masked))) {
      fail_msg("%s: " KIN_STR_FORMAT, row->source, KIN_STR_ARG(copy));
    }
    kin__yaml_mask_finish(&mask);
    assert_int_equal(memory.live_blocks, 0);
  }
}

/* A scalar that has more stand-ins than the text: libyaml gives none. */
static void test_foreign_scalars(void **state) {
  (void)state;
  fail_alloc memory;
  fail_alloc_init(&memory, 0);
  kin__yaml_mask mask;
  assert_int_equal(
      kin__yaml_mask_init(&mask, &memory.allocator, KIN__LIT("ab \\x4")), 0);
  kin_str foreign[] = {KIN__LIT("000000"), KIN__LIT("\0\0"),
                       KIN__LIT("\xf0\x90\x80\x80"), KIN__LIT("\xf0\x90")};
  kin__yaml_mask_go_to(&mask, 100);
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    assert_int_equal(kin__yaml_unmask(&mask, foreign[i], true, NULL),
                     foreign[i].length);
  }
  kin_str name = kin__yaml_unmask_name(&mask, KIN__LIT("00"));
  assert_true(kin__str_equal(name, KIN__LIT("00")));
  kin__yaml_mask_finish(&mask);
}

/* --- Values --------------------------------------------------------------- */

static kin__vault new_vault(fail_alloc *memory) {
  kin__vault vault;
  fail_alloc_init(memory, 0);
  kin__vault_init(&vault, &memory->allocator);
  return vault;
}

/* The first value of a map, or the value itself. */
static void expect_parsed(const char *text, kin_str value) {
  fail_alloc memory;
  kin__vault vault = new_vault(&memory);
  const kin__yaml_node *node;
  kin__yaml_problem problem;
  if (kin__yaml_parse(&vault, kin__cstr(text), &node, &problem) != 0) {
    fail_msg("%s: line %u: %s", text, problem.line, problem.what);
  }
  node = node->type == KIN__YAML_MAP ? node->first->value : node;
  if (!kin__str_equal(node->text, value)) {
    fail_msg("%s: " KIN_STR_FORMAT, text, KIN_STR_ARG(node->text));
  }
  assert_int_equal(node->text.data[node->text.length], '\0');
  kin__vault_finish(&vault);
  assert_int_equal(memory.live_blocks, 0);
}

static const mask_row value_rows[] = {
    {"a: " SECRET, SECRET},
    {"a: \"x\\n" SECRET " \\u00e4" SECRET "\"",
     "x\n" SECRET " \xc3\xa4" SECRET},
    {"a: 'it''s " SECRET "'", "it's " SECRET},
    {"a: |\n  " SECRET "\n  " SECRET "\n", SECRET "\n" SECRET "\n"},
    {"a: >-\n  " SECRET "\n  " SECRET "\n", SECRET " " SECRET},
    {"a: |2- # 0 a comment\n   1\r\n  2\r\n\r\n# end\r\n", " 1\n2"},
    {"a: |+1\xc2\x85 1\n\n", "1\n\n"},
    {"a: " SECRET "\n  " SECRET "\n", SECRET " " SECRET},
    {"a: \"" SECRET "\\\n  " SECRET "\"", SECRET SECRET},
    {"a: \"1\r\n\r\n  2\"", "1\n2"},
    {"a: https://127.0.0.1:6443/prefix-of-a-path#fragment",
     "https://127.0.0.1:6443/prefix-of-a-path#fragment"},
    {"a: " SECRET " #" SECRET, SECRET},
    {"# 0 \xc3\xa4 a comment\na: 1", "1"},
    {"\xef\xbb\xbf# 0\r\na: 1", "1"},
    {"a: \"\\uE000 0\\x30\\\\x31\\U0001F434\\0\"",
     "\xee\x80\x80 00\\x31\xf0\x9f\x90\xb4"},
    {"a: C:\\x41\\u0041", "C:\\x41\\u0041"},
    {"a: 'C:\\x41\\'", "C:\\x41\\"},
    {"a: \"\\_\\N\\L\\P\xc3\xa4\"",
     "\xc2\xa0\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xc3\xa4"},
    {"a: &anchor_with_a_name " SECRET "\nb: *anchor_with_a_name", SECRET},
    {"a: !!str &x0 # 0 1\n  # 2\n  " SECRET "\nb: *x0", SECRET},
    {"a: &x0 !!str\xe2\x80\xa8# 0\xc3\xa4\xe2\x80\xa8  12", "12"},
    {"a: &x 1\nb: &y 2\nc: *y", "1"},
    {"a: ------------\n", "------------"},
    {"%YAML 1.1 # 0\n---\na: 12\n...\n", "12"},
    {"%TAG !e! tag:yaml.org,2002:\n---\na: !e!str 12\n", "12"},
    {"{\"a\":\"" SECRET "\"}", SECRET},
    {"{a: " SECRET ", b: [1,2]}", SECRET},
};

static void test_values(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof value_rows / sizeof *value_rows; i++) {
    const mask_row *row = &value_rows[i];
    kin_str value = kin__cstr(row->masked);
    /* One row ends in NUL. */
    value.length += strstr(row->source, "\\0\"") != NULL;
    expect_parsed(row->source, value);
  }
}

/* The type of a value is that of its text. */
static void test_types(void **state) {
  (void)state;
  fail_alloc memory;
  kin__vault vault = new_vault(&memory);
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
  kin__vault vault = new_vault(&memory);
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
      cmocka_unit_test(test_libyaml_reads),
      cmocka_unit_test(test_foreign_scalars),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_same_keys),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
