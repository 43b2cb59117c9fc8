/* SPDX-License-Identifier: MIT */
/* Reading YAML (KC-02): the types of scalars, the tree, what is refused, every
 * bound on both sides, and what is left in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <kin/error.h>

#include "base/str.h"
#include "config/yaml.h"
#include "support/fail_alloc.h"

typedef struct reading {
  fail_alloc memory;
  kin__vault vault;
  const kin__yaml_node *root;
  kin__yaml_problem problem;
  char json[4096];
} reading;

static int read_bytes(reading *r, const char *text, size_t length) {
  fail_alloc_init(&r->memory, 0);
  kin__vault_init(&r->vault, &r->memory.allocator);
  /* Exactly as long, so that the sanitizer sees a read behind the end. */
  char *copy = malloc(length + (length == 0));
  assert_non_null(copy);
  memcpy(copy, text, length);
  int err =
      kin__yaml_parse(&r->vault, kin__str(copy, length), &r->root, &r->problem);
  free(copy);
  return err;
}

static int read_text(reading *r, const char *text) {
  return read_bytes(r, text, strlen(text));
}

static void finish(reading *r) {
  kin__vault_finish(&r->vault);
  assert_int_equal(r->memory.live_blocks, 0);
}

static void expect_json(const char *text, const char *json) {
  reading r;
  int err = read_text(&r, text);
  if (err != 0) {
    fail_msg("%s: line %u: %s", text, r.problem.line, r.problem.what);
  }
  kin__buf out;
  kin__buf_init(&out, &r.memory.allocator, 4000);
  assert_non_null(r.root);
  assert_int_equal(kin__yaml_to_json(&out, r.root), 0);
  assert_int_equal(kin__buf_append(&out, "", 1), 0);
  assert_string_equal(out.data, json);
  kin__buf_finish(&out);
  finish(&r);
}

static void expect_refused(const char *text, uint32_t line, const char *what) {
  reading r;
  assert_int_equal(read_text(&r, text), KIN_EINVAL);
  assert_null(r.root);
  if (strcmp(r.problem.what, what) != 0 || r.problem.line != line) {
    fail_msg("%s: line %u: %s", text, r.problem.line, r.problem.what);
  }
  finish(&r);
}

/* --- Values --------------------------------------------------------------- */

/* KC-02: as sigs.k8s.io/yaml types them. */
static void test_plain_scalars(void **state) {
  (void)state;
  const struct {
    kin__yaml_type type;
    const char *words[28];
  } rows[] = {
      {KIN__YAML_NULL, {"", "~", "null", "Null", "NULL"}},
      {KIN__YAML_BOOL,
       {"true", "True", "TRUE", "false", "False", "FALSE", "yes", "Yes",
        "YES",  "no",   "No",   "NO",    "on",    "On",    "ON",  "off",
        "Off",  "OFF",  "y",    "Y",     "n",     "N"}},
      {KIN__YAML_NUMBER, {"0",     "-1",   "+12",
                          "1_000", "017",  "08",
                          "0x1F",  "0o17", "0b11",
                          "-0b11", "1.5",  ".5",
                          "5.",    "-1e3", "1.e-3",
                          "1E+05", ".inf", "-.Inf",
                          "+.INF", ".NaN", "123456789012345678901234567890"}},
      {KIN__YAML_STRING,
       {"nul", "TrUe",     "yEs",  "0x",         "0xg", "0b12", "1.2.3",
        "1e",  "e1",       "--1",  "_1",         ".",   "-",    "+",
        "1 2", "10.0.0.1", "1:30", "2001-01-01", ".5_", "0o8",  "-.e1",
        "<<",  "tRUE",     "1__a", "-.nan",      "nan", "inf"}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t k = 0; k < 28 && rows[i].words[k] != NULL; k++) {
      bool truth;
      kin__yaml_type type =
          kin__yaml_plain_type(kin__cstr(rows[i].words[k]), &truth);
      if (type != rows[i].type) {
        fail_msg("%s is %s", rows[i].words[k], kin__yaml_type_name(type));
      }
    }
  }
}

/* Rows that Go's package gave. */
static void test_signs_and_underscores(void **state) {
  (void)state;
  expect_json("[-_1, -__1_, 0_x1F, 0x_1, -0_b_1_1, 0_o7, -_017, +_0_8]",
              "[-1,-1,31,1,-3,7,-15,8]");
  expect_json("[-.5_0, +.5_, -_._5, 1_._5, 1_e_3, 1e+_3, 1e_-_3_]",
              "[-0.50,0.5,-0.5,1.5,1e+3,1e+3,1e-3]");
  expect_json("[.5_0, .5e1_0, ._5, .5_, .5__0, .5_e1, .5e_1, .5e1_]",
              "[0.50,0.5e+10,\"._5\",\".5_\",\".5__0\",\".5_e1\",\".5e_1\","
              "\".5e1_\"]");
  expect_json("[0b-1, 0b+1, 0_b-_1, 0B-1, -0b-1, 0x-1, 0o+1, 0x_, -_, +_.]",
              "[-1,1,-1,\"0B-1\",\"-0b-1\",\"0x-1\",\"0o+1\",\"0x_\",\"-_\","
              "\"+_.\"]");
  expect_json("[+0x7fffffffffffffff, +0x8000000000000000, "
              "+0xffffffffffffffff, +0777777777777777777777]",
              "[9223372036854775807,\"+0x8000000000000000\","
              "\"+0xffffffffffffffff\",9223372036854775807]");
  expect_json("[+01777777777777777777777, 18446744073709551616]",
              "[1777777777777777777777,18446744073709551616]");
}

static void test_json_of_values(void **state) {
  (void)state;
  expect_json("[~, yes, off, 'yes', \"1\", text]",
              "[null,true,false,\"yes\",\"1\",\"text\"]");
  expect_json("[0, -0, 007, 08, 0x1F, 0b101, 0o17, 1_000, +5, -3]",
              "[0,-0,7,8,31,5,15,1000,5,-3]");
  expect_json("[1.50, .5, 5., 1.e-3, -1E+05, 00.1, 1e6]",
              "[1.50,0.5,5,1e-3,-1e+05,0.1,1e+6]");
  expect_json("a: {b: [c, {d: ''}], e: {}}\nf: []",
              "{\"a\":{\"b\":[\"c\",{\"d\":\"\"}],\"e\":{}},\"f\":[]}");
  expect_json("|\n  a \"b\" \\\n  c\n", "\"a \\\"b\\\" \\\\\\u000ac\\u000a\"");
  expect_json("{\"a\":1,\"b\":\"\\u00e9\\/\"}", "{\"a\":1,\"b\":\"é/\"}");
}

/* As Go's package: what no number of Go holds is a string. Passwords and tokens
 * look like that. */
static void test_numbers_too_large(void **state) {
  (void)state;
  expect_json("[12e3456, 1e309, .1e310, -1E+4_00, 0x10000000000000000]",
              "[\"12e3456\",\"1e309\",\".1e310\",\"-1E+4_00\","
              "\"0x10000000000000000\"]");
  expect_json("[1e308, 0.0001e312, 0e999, 10e-999, 0xFFFFFFFFFFFFFFFF]",
              "[1e+308,0.0001e+312,0e+999,10e-999,18446744073709551615]");
  expect_json("[-0xffffffffffffffff, -0x8000000000000001, "
              "-0x8000000000000000, 01777777777777777777777]",
              "[\"-0xffffffffffffffff\",\"-0x8000000000000001\","
              "-9223372036854775808,18446744073709551615]");
  expect_json("[02000000000000000000000, -01777777777777777777777]",
              "[2000000000000000000000,-1777777777777777777777]");
  expect_json("1e99999999999999999999", "\"1e99999999999999999999\"");
  expect_json("1e-99999999999999999999", "1e-99999999999999999999");
}

static void test_numbers_without_json(void **state) {
  (void)state;
  const char *const texts[] = {".inf", "-.inf", ".nan"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    reading r;
    assert_int_equal(read_text(&r, texts[i]), 0);
    kin__buf out;
    kin__buf_init(&out, &r.memory.allocator, 100);
    assert_int_equal(kin__yaml_to_json(&out, r.root), KIN_EINVAL);
    kin__buf_finish(&out);
    finish(&r);
  }
}

static void test_places(void **state) {
  (void)state;
  reading r;
  assert_int_equal(read_text(&r, "# first\na:\n  - b\n  - 'c'\n"), 0);
  assert_int_equal(r.root->type, KIN__YAML_MAP);
  assert_int_equal(r.root->count, 1);
  const kin__yaml_item *a = r.root->first;
  assert_int_equal(a->key_line, 2);
  const kin__yaml_node *list = a->value;
  assert_int_equal(list->type, KIN__YAML_LIST);
  assert_int_equal(list->count, 2);
  const kin__yaml_node *b = list->first->value;
  const kin__yaml_node *c = list->first->next->value;
  assert_int_equal(b->line, 3);
  assert_false(b->is_quoted);
  assert_int_equal(c->line, 4);
  assert_true(c->is_quoted);
  assert_string_equal(c->text.data, "c");
  finish(&r);
}

/* An empty document is none; null is a value. */
static void test_no_document(void **state) {
  (void)state;
  const char *const texts[] = {"", "\n", "# comment\n",
                               "%YAML 1.1\n---\n...\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    reading r;
    assert_int_equal(read_text(&r, texts[i]), 0);
    assert_true(r.root == NULL || r.root->type == KIN__YAML_NULL);
    finish(&r);
  }
  expect_json("---\n", "null");
}

static void test_encodings(void **state) {
  (void)state;
  reading r;
  assert_int_equal(read_bytes(&r,
                              "\xef\xbb\xbf"
                              "a",
                              4),
                   0);
  assert_string_equal(r.root->text.data, "a");
  finish(&r);
  assert_int_equal(read_bytes(&r,
                              "\xff\xfe"
                              "a\0b\0",
                              6),
                   0);
  assert_string_equal(r.root->text.data, "ab");
  finish(&r);
  assert_int_equal(read_bytes(&r, "a: \xff", 4), KIN_EINVAL);
  finish(&r);
  assert_int_equal(read_bytes(&r, "a: \0", 4), KIN_EINVAL);
  finish(&r);
}

/* --- Anchors -------------------------------------------------------------- */

static void test_aliases(void **state) {
  (void)state;
  expect_json("a: &x [1, 2]\nb: *x\nc: &x 3\nd: *x",
              "{\"a\":[1,2],\"b\":[1,2],\"c\":3,\"d\":3}");
  expect_json("? &k a\n: 1\nb: *k", "{\"a\":1,\"b\":\"a\"}");
  expect_refused("a: *x\n", 1, "an alias has no anchor before it");
  expect_refused("a:\n - &x [ *x ]\n", 2,
                 "an alias stands inside its own anchor");
}

/* Each level has ten aliases of the one before: a billion at the end. */
static void test_billion_laughs(void **state) {
  (void)state;
  char text[4096] = "a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol,lol]\n";
  for (int i = 1; i < 10; i++) {
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used,
             "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n",
             i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
             i - 1, i - 1);
  }
  expect_refused(text, 6, "too many values");
}

static char *repeat(const char *before, const char *part, size_t count,
                    const char *after) {
  const size_t first = strlen(before);
  const size_t length = strlen(part);
  char *text = malloc(first + count * length + strlen(after) + 1);
  assert_non_null(text);
  memcpy(text, before, first);
  for (size_t i = 0; i < count; i++) {
    memcpy(text + first + i * length, part, length);
  }
  memcpy(text + first + count * length, after, strlen(after) + 1);
  return text;
}

static void expect_repeated(const char *before, const char *part, size_t count,
                            const char *after, const char *what) {
  char *text = repeat(before, part, count, after);
  reading r;
  int err = read_text(&r, text);
  assert_int_equal(err, what == NULL ? 0 : KIN_EINVAL);
  assert_string_equal(r.problem.what, what == NULL ? "" : what);
  finish(&r);
  free(text);
}

static void test_bounds(void **state) {
  (void)state;
  const size_t depth = KIN__YAML_MAX_DEPTH;
  expect_repeated("", "[", depth, "", "did not find expected node content");
  expect_repeated("", "[", depth + 1, "", "nested too deeply");
  expect_repeated("", "- ", depth, "a", NULL);
  expect_repeated("", "- ", depth + 1, "a", "nested too deeply");
  const size_t nodes = KIN__YAML_MAX_NODES;
  expect_repeated("[", "a,", nodes - 1, "]", NULL);
  expect_repeated("[", "a,", nodes, "]", "too many values");
  expect_repeated("", "#", KIN__YAML_MAX_BYTES, "", NULL);
  expect_repeated("", "#", KIN__YAML_MAX_BYTES + 1, "", "too large");
}

/* KC-03: each level counts, also those that an alias leads to. */
static void test_bound_of_levels_of_aliases(void **state) {
  (void)state;
  const size_t half = KIN__YAML_MAX_DEPTH / 2;
  char *anchor = repeat("- &a ", "[", half - 1, "");
  char *whole = repeat(anchor, "]", half - 1, "\n- &b [*a]\n");
  expect_repeated(whole, "- ", half + 1, "*a", NULL);
  expect_repeated(whole, "- ", half, "*b", NULL);
  expect_repeated(whole, "- ", half + 2, "*a", "nested too deeply");
  expect_repeated(whole, "- ", half + 1, "*b", "nested too deeply");
  free(whole);
  free(anchor);
}

static void test_bound_of_text(void **state) {
  (void)state;
  char *scalar = repeat("- &a ", "x", KIN__YAML_MAX_TEXT_BYTES / 8, "\n");
  expect_repeated(scalar, "- *a\n", 7, "", NULL);
  expect_repeated(scalar, "- *a\n", 8, "", "too much text");
  free(scalar);
}

static void test_bound_of_anchors(void **state) {
  (void)state;
  expect_repeated("", "- &a b\n", KIN__YAML_MAX_ANCHORS, "", NULL);
  expect_repeated("", "- &a b\n", KIN__YAML_MAX_ANCHORS + 1, "",
                  "too many anchors");
}

/* The same as UTF-16. */
static int read_wide(reading *r, const char *text) {
  size_t length = 2 + 2 * strlen(text);
  char *wide = calloc(length, 1);
  assert_non_null(wide);
  memcpy(wide, "\xff\xfe", 2);
  for (size_t i = 0; i < strlen(text); i++) {
    wide[2 + 2 * i] = text[i];
  }
  int err = read_bytes(r, wide, length);
  free(wide);
  return err;
}

/* libyaml compares the handle of each with those of all before it. */
static void test_bound_of_tag_lines(void **state) {
  (void)state;
  for (unsigned count = KIN__YAML_MAX_TAG_LINES;
       count <= KIN__YAML_MAX_TAG_LINES + 1; count++) {
    char text[1024] = "";
    for (unsigned i = 0; i < count; i++) {
      size_t used = strlen(text);
      snprintf(text + used, sizeof text - used, "%%TAG !%u! a\n", i);
    }
    strcat(text, "--- a");
    bool is_refused = count > KIN__YAML_MAX_TAG_LINES;
    for (int is_wide = 0; is_wide < 2; is_wide++) {
      reading r;
      int err = is_wide != 0 ? read_wide(&r, text) : read_text(&r, text);
      assert_int_equal(err, is_refused ? KIN_EINVAL : 0);
      assert_string_equal(r.problem.what,
                          is_refused ? "too many lines begin with %TAG" : "");
      finish(&r);
    }
  }
}

/* An alias costs the same whatever the names of other anchors are. */
static void test_long_names_of_anchors(void **state) {
  (void)state;
  static const size_t length = 13000;
  char *name = repeat("- &", "n", length, " b\n");
  char *names = repeat("- &a b\n", name, KIN__YAML_MAX_ANCHORS - 1, "- [");
  char *text = repeat(names, "*a,", 190000, "]");
  clock_t begin = clock();
  reading r;
  assert_int_equal(read_text(&r, text), 0);
  assert_in_range(clock() - begin, 0, (uintmax_t)(10 * CLOCKS_PER_SEC));
  finish(&r);
  free(text);
  free(names);
  free(name);
}

/* --- What is refused ------------------------------------------------------ */

static void test_keys(void **state) {
  (void)state;
  expect_refused("a: 1\nb: 2\n'a': 3\n", 3, "a key is there twice in one map");
  expect_refused("? [a]\n: b\n", 1, "a key is a list or a map");
  expect_refused("? {a: b}\n: b\n", 1, "a key is a list or a map");
  expect_refused("~: b\n", 1, "a key is null");
  expect_refused("a: &x {b: c}\nd:\n  <<: *x\n", 3,
                 "merge keys (<<) are not supported");
  expect_json("{yes: 1, Off: 2, 'on': 3, -12: 4, 0: 5, !!str 010: 6}",
              "{\"true\":1,\"false\":2,\"on\":3,\"-12\":4,\"0\":5,\"010\":6}");
  expect_refused("{yes: 1, true: 2}", 1, "a key is there twice in one map");
  expect_json("{'<<': 1, '': 2, 3: 4, true: 5}",
              "{\"<<\":1,\"\":2,\"3\":4,\"true\":5}");
}

/* A table of keys grows with the map; the last one is repeated. */
static void test_many_keys(void **state) {
  (void)state;
  char *text = malloc(40000);
  assert_non_null(text);
  char *end = text;
  for (int i = 0; i < 3000; i++) {
    end += sprintf(end, "k%d: 1\n", i);
  }
  reading r;
  assert_int_equal(read_text(&r, text), 0);
  assert_int_equal(r.root->count, 3000);
  finish(&r);
  strcpy(end, "k2999: 1\n");
  expect_refused(text, 3001, "a key is there twice in one map");
  free(text);
}

static void test_tags(void **state) {
  (void)state;
  expect_json("[!!str 1, !!str, ! 2, !!int 3, !!float 1.5, !!bool yes, "
              "!!null '~', !!seq [], !!map {}]",
              "[\"1\",\"\",\"2\",3,1.5,true,null,[],{}]");
  const char *const texts[] = {
      "!!binary aGk=", "!mine a",    "!!int a",   "!!bool 1",
      "!!null a",      "!!map []",   "!!seq {}",  "!!set {}",
      "!mine []",      "!!omap []",  "!!merge a", "!<a> b",
      "!%41 a",        "!!str%41 a", "!!s%74r a", "&x !%00 [a]"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    expect_refused(texts[i], 1, "the tag does not fit the value");
  }
}

static void test_documents(void **state) {
  (void)state;
  expect_refused("a: 1\n---\nb: 2\n", 2, "there is more than one document");
  expect_json("---\na: 1\n...\n", "{\"a\":1}");
}

/* One text for each error that libyaml 0.2 has for the text of a document. */
static const struct {
  const char *text;
  uint32_t line;
  const char *what;
} syntax_errors[] = {
    {"a: b: c", 1, "mapping values are not allowed in this context"},
    {"a: 'b", 1, "found unexpected end of stream"},
    {"a: \"b", 1, "found unexpected end of stream"},
    {"'a\n---\n'", 2, "found unexpected document indicator"},
    {"a: \"\\q\"", 1, "found unknown escape character"},
    {"a: \"\\xg0\"", 1, "did not find expected hexdecimal number"},
    {"a: \"\\ud800\"", 1, "found invalid Unicode character escape code"},
    {"a: [1, 2", 2, "did not find expected ',' or ']'"},
    {"a: {b: 1", 2, "did not find expected ',' or '}'"},
    {"a: ]", 1, "did not find expected node content"},
    {"a: @b", 1, "found character that cannot start any token"},
    {"\ta: b", 1, "found character that cannot start any token"},
    {"a:\n  b: 1\n c: 2", 3, "did not find expected key"},
    {"- a\nb: c", 2, "did not find expected '-' indicator"},
    {"a: - b", 1, "block sequence entries are not allowed in this context"},
    {"a: b\n...\nc", 3, "did not find expected <document start>"},
    {"a: ? b", 1, "mapping keys are not allowed in this context"},
    {"a: |0\n b", 1, "found an indentation indicator equal to 0"},
    {"a: |x\n b", 1, "did not find expected comment or line break"},
    {"a: |\n  b\n\t c: d", 3,
     "found a tab character where an indentation space is expected"},
    {"a: &", 1, "did not find expected alphabetic or numeric character"},
    {"a: *", 1, "did not find expected alphabetic or numeric character"},
    {"a: !<b", 1, "did not find the expected '>'"},
    {"a: !b!%.. c", 1, "did not find URI escaped octet"},
    {"a: !b!c d", 1, "found undefined tag handle"},
    {"%YAML 2.0\n--- a", 1, "found incompatible YAML document"},
    {"%YAML x\n--- a", 1, "did not find expected version number"},
    {"%YAML 1\n--- a", 1, "did not find expected digit or '.' character"},
    {"%YAML 1.1\n%YAML 1.1\n--- a", 2, "found duplicate %YAML directive"},
    {"%TAG ! a\n%TAG ! b\n--- c", 2, "found duplicate %TAG directive"},
    {"%YAML 1.1 x\n--- a", 1, "did not find expected comment or line break"},
    {"%NONE\n--- a", 1, "found unknown directive name"},
    {"%YAML 1.1\na", 2, "did not find expected <document start>"},
    {"a: &x &y b", 1, "did not find expected key"},
    {"a: 1\nb\nc: 2", 3, "could not find expected ':'"},
    {"a: \x01", 1, "control characters are not allowed"},
};

static void test_syntax_errors(void **state) {
  (void)state;
  unsigned wrong = 0;
  for (size_t i = 0; i < sizeof syntax_errors / sizeof *syntax_errors; i++) {
    reading r;
    int err = read_text(&r, syntax_errors[i].text);
    if (err != KIN_EINVAL ||
        strcmp(r.problem.what, syntax_errors[i].what) != 0 ||
        r.problem.line != syntax_errors[i].line) {
      print_error("%s: %d: line %u: %s\n", syntax_errors[i].text, err,
                  r.problem.line, r.problem.what);
      wrong++;
    }
    finish(&r);
  }
  assert_int_equal(wrong, 0);
}

/* --- Memory --------------------------------------------------------------- */

static const char *const whole =
    "%YAML 1.1\n---\na: &x [1, two, 'three']\nb: *x\nc: {d: |\n  text\n}\n";

static bool read_failing(size_t fail_at) {
  reading r = {.root = NULL};
  fail_alloc_init(&r.memory, fail_at);
  kin__vault_init(&r.vault, &r.memory.allocator);
  r.vault.block_bytes = 0; /* each piece is an allocation */
  int err = kin__yaml_parse(&r.vault, kin__cstr("a: &x [1, two]\nb: *x\nc: 1"),
                            &r.root, &r.problem);
  bool has_failed = fail_alloc_has_failed(&r.memory);
  assert_int_equal(err, has_failed ? KIN_ENOMEM : 0);
  assert_true((r.root != NULL) == (err == 0));
  finish(&r);
  return has_failed;
}

static void test_allocations_fail(void **state) {
  (void)state;
  fail_alloc_sweep(read_failing, 20);
}

/* Every text that ends early, or has a changed byte, is read or refused. */
static void test_cut_texts(void **state) {
  (void)state;
  for (size_t length = 0; length <= strlen(whole); length++) {
    reading r;
    int err = read_bytes(&r, whole, length);
    assert_true(err == 0 || err == KIN_EINVAL);
    assert_true(err == 0 || r.problem.what[0] != '\0');
    finish(&r);
  }
}

static void test_vault_wipes(void **state) {
  (void)state;
  reading r = {.root = NULL};
  fail_alloc_init(&r.memory, 0);
  r.memory.secrets[0] = "SECRET-WORD";
  kin__vault_init(&r.vault, &r.memory.allocator);
  char *text = repeat("a: SECRET-WORD\nb: '", "SECRET-WORD ", 2000, "'\n");
  assert_int_equal(
      kin__yaml_parse(&r.vault, kin__cstr(text), &r.root, &r.problem), 0);
  finish(&r);
  assert_int_equal(r.memory.leaked_secrets, 0);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain_scalars),
      cmocka_unit_test(test_signs_and_underscores),
      cmocka_unit_test(test_json_of_values),
      cmocka_unit_test(test_numbers_too_large),
      cmocka_unit_test(test_numbers_without_json),
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_no_document),
      cmocka_unit_test(test_encodings),
      cmocka_unit_test(test_aliases),
      cmocka_unit_test(test_billion_laughs),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_bound_of_levels_of_aliases),
      cmocka_unit_test(test_bound_of_text),
      cmocka_unit_test(test_bound_of_anchors),
      cmocka_unit_test(test_bound_of_tag_lines),
      cmocka_unit_test(test_long_names_of_anchors),
      cmocka_unit_test(test_keys),
      cmocka_unit_test(test_many_keys),
      cmocka_unit_test(test_tags),
      cmocka_unit_test(test_documents),
      cmocka_unit_test(test_syntax_errors),
      cmocka_unit_test(test_allocations_fail),
      cmocka_unit_test(test_cut_texts),
      cmocka_unit_test(test_vault_wipes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
