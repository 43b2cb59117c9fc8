/* SPDX-License-Identifier: MIT */

/* The incremental JSON walker against yyjson on random documents, for any cut,
 * and the grammar at the levels it enters. */
#include <setjmp.h>
#include <stdarg.h>
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
#include "decode/cursor.h"
#include "support/fail_alloc.h"
#include "support/json_gen.h"

/* A document in a form that is the same however it was written. */

static void append(kin__buf *log, const char *tag, kin_str text) {
  assert_int_equal(kin__buf_printf(log, "%s%zu:", tag, text.length), 0);
  assert_int_equal(kin__buf_append_str(log, text), 0);
}

static void log_value(kin__buf *log, yyjson_val *value) {
  kin_str text = {yyjson_get_str(value), yyjson_get_len(value)};
  if (yyjson_is_obj(value)) {
    yyjson_obj_iter members = yyjson_obj_iter_with(value);
    append(log, "{", KIN__LIT(""));
    yyjson_val *name;
    while ((name = yyjson_obj_iter_next(&members)) != NULL) {
      append(log, "N", kin__str(yyjson_get_str(name), yyjson_get_len(name)));
      log_value(log, yyjson_obj_iter_get_val(name));
    }
    append(log, "E", KIN__LIT(""));
  } else if (yyjson_is_arr(value)) {
    yyjson_arr_iter elements = yyjson_arr_iter_with(value);
    append(log, "[", KIN__LIT(""));
    yyjson_val *element;
    while ((element = yyjson_arr_iter_next(&elements)) != NULL) {
      log_value(log, element);
    }
    append(log, "E", KIN__LIT(""));
  } else if (yyjson_is_str(value)) {
    append(log, "S", text);
  } else if (yyjson_is_raw(value)) {
    append(log, "P", kin__str(yyjson_get_raw(value), yyjson_get_len(value)));
  } else {
    append(log, "P",
           yyjson_is_null(value)   ? KIN__LIT("null")
           : yyjson_is_true(value) ? KIN__LIT("true")
                                   : KIN__LIT("false"));
  }
}

static void log_text(kin__buf *log, const char *text, size_t length) {
  yyjson_read_err err;
  yyjson_doc *doc = yyjson_read_opts((char *)text, length,
                                     YYJSON_READ_NUMBER_AS_RAW, NULL, &err);
  if (doc == NULL) {
    fail_msg("yyjson: %s at %zu of %.*s", err.msg, err.pos, (int)length, text);
  }
  log_value(log, yyjson_doc_get_root(doc));
  yyjson_doc_free(doc);
}

/* How a walk is cut and what it skips. */
typedef struct walk {
  json_gen random;
  uint32_t longest_span;
  bool skips;
  const char *text; /* the whole document */
} walk;

static void log_token(kin__buf *log, kin__cursor *cursor, int token, walk *w) {
  switch (token) {
  case KIN__TOKEN_OBJECT:
  case KIN__TOKEN_ARRAY:
    if (w->skips && json_gen_one_in(&w->random, 3)) {
      kin__cursor_skip(cursor, 1);
    } else {
      append(log, token == KIN__TOKEN_OBJECT ? "{" : "[", KIN__LIT(""));
    }
    break;
  case KIN__TOKEN_END:
    append(log, "E", KIN__LIT(""));
    break;
  case KIN__TOKEN_SKIPPED:
    log_text(log, w->text + cursor->begin,
             (size_t)(cursor->end - cursor->begin));
    break;
  case KIN__TOKEN_NAME:
    append(log, "N", cursor->text);
    kin__cursor_want_string(cursor);
    break;
  case KIN__TOKEN_STRING:
    if (cursor->text.data != NULL) {
      append(log, "S", cursor->text);
    } else { /* an element: nobody could say that it is wanted */
      log_text(log, w->text + cursor->begin,
               (size_t)(cursor->end - cursor->begin));
    }
    break;
  default:
    append(log, "P", cursor->text);
    break;
  }
}

/* Feeds text in spans of memory that are exactly as long. Returns the first
 * error, or 0. */
static int walk_text(kin__buf *log, kin__cursor *cursor, const char *text,
                     size_t length, walk *w) {
  w->text = text;
  int token = 0;
  for (size_t at = 0; at < length && token == 0;) {
    size_t span = 1 + json_gen_below(&w->random, w->longest_span);
    span = span < length - at ? span : length - at;
    char *bytes = malloc(span);
    memcpy(bytes, text + at, span);
    kin__cursor_parse(cursor, bytes, span);
    while ((token = kin__cursor_next(cursor)) > 0) {
      if (log != NULL) {
        log_token(log, cursor, token, w);
      }
    }
    free(bytes);
    at += span;
  }
  return token;
}

static void init_log(kin__buf *log) {
  kin__buf_init(log, kin__default_allocator(), 64 << 20);
}

static void test_json_cursor_like_yyjson(void **state) {
  (void)state;
  kin__cursor cursor;
  kin__cursor_init(&cursor, kin__default_allocator(), false);
  for (uint64_t seed = 0; seed < 3000; seed++) {
    kin__buf text;
    kin__buf expected;
    init_log(&text);
    init_log(&expected);
    json_gen gen;
    json_gen_init(&gen, seed, &text);
    json_gen_space(&gen);
    if (json_gen_one_in(&gen, 2)) {
      json_gen_object(&gen, 8);
    } else {
      json_gen_text(&gen, "[");
      json_gen_value(&gen, 8);
      json_gen_text(&gen, "]");
    }
    json_gen_space(&gen);
    log_text(&expected, text.data, text.length);
    for (int round = 0; round < 4; round++) {
      kin__buf log;
      init_log(&log);
      walk w = {.random = {.state = seed * 4 + (uint64_t)round},
                .longest_span = round == 0   ? 1
                                : round == 1 ? 1000000
                                             : 40,
                .skips = seed % 2 == 1};
      kin__cursor_reset(&cursor);
      assert_int_equal(walk_text(&log, &cursor, text.data, text.length, &w), 0);
      assert_true(kin__cursor_is_complete(&cursor));
      assert_int_equal(cursor.depth, 0);
      assert_int_equal(log.length, expected.length);
      assert_memory_equal(log.data, expected.data, log.length);
      kin__buf_finish(&log);
    }
    kin__buf_finish(&text);
    kin__buf_finish(&expected);
  }
  kin__cursor_finish(&cursor);
}

/* Leaving several levels at once, from anywhere, ends where they end. */
static void test_json_cursor_skips_out(void **state) {
  (void)state;
  kin__cursor cursor;
  kin__cursor_init(&cursor, kin__default_allocator(), false);
  size_t deep = 0;
  for (uint64_t seed = 0; seed < 2000; seed++) {
    kin__buf text;
    init_log(&text);
    json_gen gen;
    json_gen_init(&gen, seed, &text);
    json_gen_object(&gen, 8);
    size_t end = text.length;
    json_gen_text(&gen, "  ");
    kin__cursor_reset(&cursor);
    uint32_t tokens = json_gen_below(&gen, 40);
    bool has_skipped = false;
    uint64_t skip_end = 0;
    for (size_t at = 0; at < text.length; at += 7) {
      size_t span = text.length - at < 7 ? text.length - at : 7;
      kin__cursor_parse(&cursor, text.data + at, span);
      int token;
      while ((token = kin__cursor_next(&cursor)) > 0) {
        if (token == KIN__TOKEN_SKIPPED) {
          skip_end = cursor.end;
          assert_int_equal(cursor.depth, 0);
        } else if (tokens > 0) {
          tokens--;
        } else if (!has_skipped && token != KIN__TOKEN_NAME &&
                   cursor.depth > 0) {
          has_skipped = true;
          deep += cursor.depth > 2;
          kin__cursor_skip(&cursor, cursor.depth);
        }
      }
      assert_int_equal(token, 0);
    }
    assert_true(kin__cursor_is_complete(&cursor));
    if (has_skipped) {
      assert_int_equal(skip_end, end);
    }
    kin__buf_finish(&text);
  }
  assert_true(deep > 100);
  kin__cursor_finish(&cursor);
}

static int outcome(const char *text, bool many, uint32_t longest_span,
                   bool *is_complete) {
  kin__cursor cursor;
  kin__cursor_init(&cursor, kin__default_allocator(), many);
  walk w = {.random = {.state = 1}, .longest_span = longest_span};
  int err = walk_text(NULL, &cursor, text, strlen(text), &w);
  *is_complete = kin__cursor_is_complete(&cursor);
  kin__cursor_finish(&cursor);
  return err;
}

/* What is no JSON is told however it is cut; so is what only began. */
static void test_json_cursor_grammar(void **state) {
  (void)state;
  enum { INCOMPLETE = 1 };
  static const struct {
    const char *text;
    int expected; /* an error, 0 if complete, or INCOMPLETE */
  } rows[] = {
      {"{}", 0},
      {" [ ] ", 0},
      {"\"a\"", 0},
      {"{\"a\":1}", 0},
      {"[true,false,null,-0.5e+10,0,\"\"]", 0},
      {"\t\r\n {\"a\" : [ 1 , 2 ] }\n", 0},
      {"", INCOMPLETE},
      {"  ", INCOMPLETE},
      {"{", INCOMPLETE},
      {"{\"a", INCOMPLETE},
      {"{\"a\"", INCOMPLETE},
      {"{\"a\":", INCOMPLETE},
      {"{\"a\":1", INCOMPLETE},
      {"{\"a\":1,", INCOMPLETE},
      {"[\"\\", INCOMPLETE},
      {"[\"\\\"", INCOMPLETE},
      {"{\"a\":1}}", KIN_EJSON},
      {"{} {}", KIN_EJSON},
      {"{}x", KIN_EJSON},
      {"[1]]", KIN_EJSON},
      {"}", KIN_EJSON},
      {"{]", KIN_EJSON},
      {"[}", KIN_EJSON},
      {"{\"a\":1]", KIN_EJSON},
      {"{\"a\" 1}", KIN_EJSON},
      {"{\"a\":}", KIN_EJSON},
      {"{\"a\":1,}", KIN_EJSON},
      {"{,}", KIN_EJSON},
      {"{\"a\":1 \"b\":2}", KIN_EJSON},
      {"{a:1}", KIN_EJSON},
      {"{1:1}", KIN_EJSON},
      {"{\"a\"::1}", KIN_EJSON},
      {"[1,]", KIN_EJSON},
      {"[,1]", KIN_EJSON},
      {"[1 2]", KIN_EJSON},
      {"['a']", KIN_EJSON},
      {"[tru]", KIN_EJSON},
      {"[True]", KIN_EJSON},
      {"[nulll]", KIN_EJSON},
      {"[01]", KIN_EJSON},
      {"[-]", KIN_EJSON},
      {"[+1]", KIN_EJSON},
      {"[1.]", KIN_EJSON},
      {"[.5]", KIN_EJSON},
      {"[1e]", KIN_EJSON},
      {"[1e+]", KIN_EJSON},
      {"[1.5.5]", KIN_EJSON},
      {"[NaN]", KIN_EJSON},
      {"[Infinity]", KIN_EJSON},
      {"[/**/1]", KIN_EJSON},
      {"\xef\xbb\xbf{}", KIN_EJSON},
      {"[\"a\nb\"]", KIN_EJSON},
      {"[\"a\x01\"]", KIN_EJSON},
      {"{\"a\tb\":1}", KIN_EJSON},
      {"{\"\\x\":1}", KIN_EJSON},
      {"{\"\\u12G4\":1}", KIN_EJSON},
      {"{\"\\u12\":1}", KIN_EJSON},
      {"{\"\\ud800\":1}", KIN_EJSON},
      {"{\"\\ud800x\":1}", KIN_EJSON},
      {"{\"\\ud800\\u0041\":1}", KIN_EJSON},
      {"{\"\\udc00\":1}", KIN_EJSON},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (uint32_t span = 1; span < 10; span++) {
      bool is_complete;
      int err = outcome(rows[i].text, false, span, &is_complete);
      int expected = rows[i].expected;
      if (err != (expected < 0 ? expected : 0) ||
          (err == 0 && is_complete != (expected == 0))) {
        fail_msg("%s, spans up to %u: %s, complete %d", rows[i].text, span,
                 kin_err_name(err), is_complete);
      }
    }
  }
}

static void test_json_cursor_many(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int error;
    bool is_complete;
  } rows[] = {
      {"", 0, true},     {"{}", 0, true},           {"{}{}[]\n{} ", 0, true},
      {"{}{", 0, false}, {"{}}", KIN_EJSON, false}, {"{},{}", KIN_EJSON, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (uint32_t span = 1; span < 6; span++) {
      bool is_complete;
      int err = outcome(rows[i].text, true, span, &is_complete);
      assert_int_equal(err, rows[i].error);
      if (err == 0) {
        assert_int_equal(is_complete, rows[i].is_complete);
      }
    }
  }
}

/* Reads arrays that are `levels` deep below one that is bounded at `bound`, in
 * spans, skipping at one level. Returns is_deep, or an error. */
static int depth_outcome(uint32_t levels, uint32_t bound, uint32_t skip_at,
                         size_t span) {
  char text[2000];
  memset(text, '[', levels);
  memset(text + levels, ']', levels);
  kin__cursor cursor;
  kin__cursor_init(&cursor, kin__default_allocator(), false);
  int token = 0;
  for (size_t at = 0; at < 2 * levels && token == 0; at += span) {
    size_t rest = 2 * levels - at;
    kin__cursor_parse(&cursor, text + at, rest < span ? rest : span);
    while ((token = kin__cursor_next(&cursor)) > 0) {
      if (token == KIN__TOKEN_ARRAY && cursor.depth == 3) {
        kin__cursor_bound(&cursor, bound);
      }
      if (token == KIN__TOKEN_ARRAY && cursor.depth == skip_at) {
        kin__cursor_skip(&cursor, 1);
      }
    }
  }
  assert_int_equal(kin__cursor_is_complete(&cursor), token == 0);
  kin__cursor_finish(&cursor);
  return token < 0 ? token : cursor.is_deep;
}

/* The same bound whether a value is entered or skipped, at any level and in any
 * spans; what is deeper is read to its end. */
static void test_json_cursor_depth(void **state) {
  (void)state;
  for (uint32_t skip_at = 3; skip_at <= 22; skip_at++) {
    for (size_t span = 1; span <= 64; span *= 2) {
      assert_int_equal(depth_outcome(22, 20, skip_at, span), 0);
      assert_int_equal(depth_outcome(23, 20, skip_at, span), 1);
      assert_int_equal(depth_outcome(100, 20, skip_at, span), 1);
    }
  }
  assert_int_equal(depth_outcome(914, 912, 5, 100), 0);
  assert_int_equal(depth_outcome(915, 912, 5, 100), 1);
  /* Nobody enters so many, but it would not crash. */
  assert_int_equal(depth_outcome(KIN__CURSOR_LEVELS, 512, 0, 7), 0);
  assert_int_equal(depth_outcome(KIN__CURSOR_LEVELS + 1, 512, 0, 7),
                   KIN_EDEPTH);
}

/* Of names, numbers and wanted strings there is the beginning, if they are
 * long; others may be as long as they like. */
static void test_json_cursor_long_texts(void **state) {
  (void)state;
  static char text[200100];
  static const struct {
    const char *before;
    size_t length;
    const char *after;
    kin__json_token token;
    char fill;
    int error;
  } rows[] = {
      {"{\"", 65535, "\":1}", KIN__TOKEN_NAME, '1', 0},
      {"{\"", 65536, "\":1}", KIN__TOKEN_NAME, '1', 0},
      {"{\"", 200000, "\":1}", KIN__TOKEN_NAME, '1', 0},
      {"{\"", 65536, "\":1}", KIN__TOKEN_NAME, '\\', 0},
      {"{\"a\":\"", 65535, "\"}", KIN__TOKEN_STRING, '1', 0},
      {"{\"a\":\"", 65536, "\"}", KIN__TOKEN_STRING, '1', 0},
      {"{\"a\":\"", 65535, "\n\"}", KIN__TOKEN_STRING, '1', KIN_EJSON},
      {"[", 65535, "]", KIN__TOKEN_PRIMITIVE, '1', 0},
      {"[", 65536, "]", KIN__TOKEN_PRIMITIVE, '1', 0},
      {"[-", 200000, "]", KIN__TOKEN_PRIMITIVE, '1', 0},
      {"[t", 65536, "]", KIN__TOKEN_PRIMITIVE, 'r', KIN_EJSON},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t at = strlen(strcpy(text, rows[i].before));
    memset(text + at, rows[i].fill, rows[i].length);
    strcpy(text + at + rows[i].length, rows[i].after);
    size_t whole = strlen(text);
    for (size_t span = 17; span <= 250000; span *= 19) {
      kin__cursor cursor;
      kin__cursor_init(&cursor, kin__default_allocator(), false);
      int token = 0;
      size_t longest = 0;
      for (size_t from = 0; from < whole && token == 0; from += span) {
        size_t rest = whole - from;
        kin__cursor_parse(&cursor, text + from, rest < span ? rest : span);
        while ((token = kin__cursor_next(&cursor)) > 0) {
          if (token == KIN__TOKEN_NAME) {
            kin__cursor_want_string(&cursor);
          }
          if (token == (int)rows[i].token && cursor.text.length > longest) {
            longest = cursor.text.length;
          }
        }
      }
      assert_int_equal(token, rows[i].error);
      if (token == 0) {
        bool is_cut = rows[i].length > 65535;
        assert_int_equal(longest, is_cut ? 65536 : rows[i].length);
        assert_true(kin__cursor_is_complete(&cursor));
      }
      kin__cursor_finish(&cursor);
    }
  }
}

static void test_json_cursor_out_of_memory(void **state) {
  (void)state;
  static const char text[] = "{\"\\u0061bcdefgh\":\"x\\ny\",\"a\":12345678}";
  for (size_t n = 1;; n++) {
    fail_alloc memory;
    fail_alloc_init(&memory, n);
    kin__cursor cursor;
    kin__cursor_init(&cursor, &memory.allocator, false);
    walk w = {.random = {.state = 5}, .longest_span = 3};
    kin__buf log;
    init_log(&log);
    int err = walk_text(&log, &cursor, text, strlen(text), &w);
    assert_int_equal(err, fail_alloc_has_failed(&memory) ? KIN_ENOMEM : 0);
    kin__buf_finish(&log);
    kin__cursor_finish(&cursor);
    assert_int_equal(memory.live_blocks, 0);
    if (err == 0) {
      assert_true(n > 1);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_json_cursor_like_yyjson),
      cmocka_unit_test(test_json_cursor_skips_out),
      cmocka_unit_test(test_json_cursor_grammar),
      cmocka_unit_test(test_json_cursor_many),
      cmocka_unit_test(test_json_cursor_depth),
      cmocka_unit_test(test_json_cursor_long_texts),
      cmocka_unit_test(test_json_cursor_out_of_memory),
  };
  return cmocka_run_group_tests_name("json_cursor", tests, NULL, NULL);
}
