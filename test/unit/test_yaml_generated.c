/* SPDX-License-Identifier: MIT */
/* A kubeconfig is read as if libyaml saw its text, whatever the text is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/random.h"
#include "base/str.h"
#include "support/yaml_twins.h"

enum { TEXTS = 20000, MAX_PIECES = 24 };

static void expect_no_difference(kin_str text, unsigned number) {
  const char *difference = yaml_twins_difference(text);
  if (difference != NULL) {
    fail_msg("text %u: %s: " KIN_STR_FORMAT, number, difference,
             KIN_STR_ARG(text));
  }
}

/* Pieces in any order: most texts are refused, at many places. */
static void test_pieces_in_any_order(void **state) {
  (void)state;
  kin__random random;
  random.state = 14;
  for (unsigned i = 0; i < TEXTS; i++) {
    unsigned char choices[MAX_PIECES];
    size_t count = 1 + kin__random_below(&random, MAX_PIECES);
    for (size_t j = 0; j < count; j++) {
      choices[j] = (unsigned char)kin__random_below(&random, 256);
    }
    kin__buf text;
    kin__buf_init(&text, kin__default_allocator(), 1u << 16);
    assert_int_equal(yaml_twins_compose(&text, choices, count), 0);
    expect_no_difference(kin__str(text.data, text.length), i);
    kin__buf_finish(&text);
  }
}

/* --- Texts that are valid ------------------------------------------------- */

typedef struct composer {
  kin__random random;
  kin__buf text;
} composer;

static unsigned choose(composer *c, unsigned count) {
  return (unsigned)kin__random_below(&c->random, count);
}

static void add(composer *c, const char *text) {
  assert_int_equal(kin__buf_append_cstr(&c->text, text), 0);
}

static void add_one(composer *c, const char *const *texts, unsigned count) {
  add(c, texts[choose(c, count)]);
}

static void add_line(composer *c, unsigned level) {
  static const char *const ends[] = {"\n",   "\n",  "\n", " # a 0 \xc3\xa4\n",
                                     "\r\n", "\n\n"};
  add_one(c, ends, 6);
  for (unsigned i = 0; i < level; i++) {
    add(c, "  ");
  }
}

static void add_scalar(composer *c, unsigned level) {
  static const char *const scalars[] = {
      "c2VjcmV0Lw+3ffzz09==",
      "https://127.0.0.1:6443/a-path#fragment",
      "p@ss$w(o)r^d~;<2>`",
      "k\xc3\xb6ln \xe9\xa6\xac \xf0\x9f\x90\xb4",
      "'it''s a#b: [c], {d}'",
      "\"x\\n\\x41\\u00e4\\U0001F600\\0\\\"\\\\\\_\\N\"",
      "\"00 \\x30 0\\x300 \xc4\x80\"",
      "\"a\\\n      b\"",
      "'a\n\n      b'",
      "12345",
      "-1.5e10",
      "yes",
      "~",
      "!!str 12",
      "!!int 12",
      "!other 12",
      "&x \"1\"",
      "&name-1_a value",
      "*x",
  };
  static const char *const heads[] = {"|", ">", "|-", ">+", "|2-", ">1"};
  if (choose(c, 6) > 0) {
    add_one(c, scalars, sizeof scalars / sizeof *scalars);
    return;
  }
  add_one(c, heads, 6);
  for (unsigned i = choose(c, 3) + 1; i > 0; i--) {
    add_line(c, level + 2);
    add_one(c, scalars, 4);
  }
}

static void add_value(composer *c, unsigned level);

static void add_flow(composer *c, unsigned level) {
  bool is_map = choose(c, 2) == 0;
  add(c, is_map ? "{" : "[");
  for (unsigned i = choose(c, 3); i > 0; i--) {
    add(c, is_map ? "\"k\": \"a, b\"" : "1x0");
    add(c, i > 1 ? ", " : "");
  }
  if (level > 8) {
    add_line(c, level);
  }
  add(c, is_map ? "}" : "]");
}

static void add_block(composer *c, unsigned level) {
  static const char *const keys[] = {
      "token: ",       "? a b\n: ",  "\"k 1\": ", "'k#': ",
      "k\xc3\xa4y0: ", "&k1 name: ", "!!str 1: "};
  bool is_map = choose(c, 3) > 0;
  for (unsigned i = 1 + choose(c, 3); i > 0; i--) {
    add_line(c, level);
    if (is_map) {
      add_one(c, keys, 7);
    } else {
      add(c, "- ");
    }
    add_value(c, level + 1);
  }
}

static void add_value(composer *c, unsigned level) {
  unsigned form = choose(c, 8);
  if (form < 3 && level < 6) {
    add_block(c, level);
  } else if (form == 3) {
    add_flow(c, level);
  } else {
    add_scalar(c, level);
  }
}

static void test_valid_documents(void **state) {
  (void)state;
  static const char *const heads[] = {"", "---", "%YAML 1.1\n---", "# c",
                                      "\xef\xbb\xbf"};
  composer c;
  c.random.state = 41;
  for (unsigned i = 0; i < TEXTS; i++) {
    kin__buf_init(&c.text, kin__default_allocator(), 1u << 20);
    add_one(&c, heads, 5);
    add_block(&c, 0);
    add(&c, choose(&c, 2) == 0 ? "\n" : "");
    expect_no_difference(kin__str(c.text.data, c.text.length), i);
    kin__buf_finish(&c.text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pieces_in_any_order),
      cmocka_unit_test(test_valid_documents),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
