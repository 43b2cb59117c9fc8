/* SPDX-License-Identifier: MIT */

/* All scanners of this machine against each other and against the plainest
 * possible loop, on random bytes, for any cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/scan.h"
#include "support/json_gen.h"

/* Bytes of which most mean something. */
static void fill(json_gen *gen, char *bytes, size_t length) {
  static const char special[] = "\"\"\\\\{}[]{}[],: \n\x1f\x20\x7f\x80\xff";
  for (size_t i = 0; i < length; i++) {
    bytes[i] = json_gen_one_in(gen, 2)
                   ? special[json_gen_below(gen, sizeof special)]
                   : (char)json_gen_below(gen, 256);
  }
}

static kin__block_masks naive_classify(const char *block) {
  kin__block_masks masks = {0};
  for (unsigned i = 0; i < KIN__BLOCK; i++) {
    unsigned char c = (unsigned char)block[i];
    uint64_t bit = UINT64_C(1) << i;
    masks.quote |= c == '"' ? bit : 0;
    masks.backslash |= c == '\\' ? bit : 0;
    masks.open |= c == '{' || c == '[' ? bit : 0;
    masks.close |= c == '}' || c == ']' ? bit : 0;
    masks.control |= c < 0x20 ? bit : 0;
  }
  return masks;
}

static void test_scan_classify(void **state) {
  (void)state;
  json_gen gen = {.state = 1};
  for (int round = 0; round < 4000; round++) {
    char block[KIN__BLOCK];
    fill(&gen, block, sizeof block);
    if (round < 256) {
      memset(block, round, sizeof block); /* every byte, everywhere */
    }
    kin__block_masks expected = naive_classify(block);
    for (size_t i = 0; kin__scanner_at(i) != NULL; i++) {
      kin__block_masks masks;
      kin__scanner_at(i)->classify(&masks, block);
      assert_memory_equal(&masks, &expected, sizeof masks);
    }
  }
}

static void test_scan_find_special(void **state) {
  (void)state;
  json_gen gen = {.state = 2};
  for (size_t length = 0; length < 200; length++) {
    for (size_t at = 0; at <= length; at++) {
      static const char special[] = "\"\\\n\x1f";
      char *bytes = malloc(length + 1); /* exactly: nothing is read beyond */
      memset(bytes, json_gen_one_in(&gen, 2) ? 0x20 : 0xff, length);
      if (at < length) {
        bytes[at] = special[json_gen_below(&gen, 4)];
      }
      bytes = realloc(bytes, length > 0 ? length : 1);
      for (size_t i = 0; kin__scanner_at(i) != NULL; i++) {
        assert_int_equal(kin__scanner_at(i)->find_special(bytes, length), at);
      }
      free(bytes);
    }
  }
}

/* An escape changes what a quote and a backslash are, nothing else. */
static kin__skip_result naive_skip(kin__skip *skip, const char *bytes,
                                   size_t length, size_t *used) {
  for (*used = 0; *used < length;) {
    unsigned char c = (unsigned char)bytes[(*used)++];
    if (skip->in_string && c < 0x20) {
      return KIN__SKIP_CONTROL;
    }
    bool is_escaped = skip->escaped != 0;
    skip->escaped = c == '\\' && !is_escaped;
    if (c == '"' && !is_escaped) {
      skip->in_string = ~skip->in_string;
    } else if (!skip->in_string && (c == '{' || c == '[')) {
      skip->is_deep = skip->is_deep || skip->depth >= skip->max_depth;
      skip->depth++;
    } else if (!skip->in_string && (c == '}' || c == ']') &&
               --skip->depth == 0) {
      return KIN__SKIP_DONE;
    }
  }
  return KIN__SKIP_MORE;
}

/* Skips through bytes in spans whose lengths are drawn from the seed. */
static kin__skip_result skip_in_spans(const kin__scanner *scanner,
                                      uint64_t seed, uint32_t max_depth,
                                      const char *bytes, size_t length,
                                      size_t *used, bool *is_deep) {
  json_gen spans = {.state = seed};
  kin__skip skip = {.depth = 1, .max_depth = max_depth};
  uint32_t longest = 1 + json_gen_below(&spans, 200);
  size_t at = 0;
  while (at < length) {
    size_t span = 1 + json_gen_below(&spans, longest);
    span = span < length - at ? span : length - at;
    char *exact = malloc(span);
    memcpy(exact, bytes + at, span);
    size_t step = 0;
    kin__skip_result result =
        kin__scanner_skip(scanner, &skip, exact, span, &step);
    *is_deep = skip.is_deep;
    free(exact);
    if (result != KIN__SKIP_MORE) {
      *used = at + step;
      return result;
    }
    assert_int_equal(step, span);
    at += span;
  }
  *used = at;
  return KIN__SKIP_MORE;
}

static void assert_all_skip_alike(uint64_t seed, uint32_t max_depth,
                                  const char *bytes, size_t length,
                                  size_t counts[4]) {
  bool is_deep = false;
  size_t expected_used;
  kin__skip naive = {.depth = 1, .max_depth = max_depth};
  kin__skip_result expected = naive_skip(&naive, bytes, length, &expected_used);
  counts[expected]++;
  counts[3] += naive.is_deep;
  for (size_t i = 0; kin__scanner_at(i) != NULL; i++) {
    size_t used;
    kin__skip_result result =
        skip_in_spans(kin__scanner_at(i), seed + i, max_depth, bytes, length,
                      &used, &is_deep);
    assert_int_equal(result, expected);
    assert_int_equal(is_deep, naive.is_deep);
    if (expected == KIN__SKIP_DONE) {
      assert_int_equal(used, expected_used);
    }
  }
}

static void test_scan_skip_random_bytes(void **state) {
  (void)state;
  json_gen gen = {.state = 3};
  size_t counts[4] = {0};
  for (uint64_t round = 0; round < 6000; round++) {
    char bytes[400];
    size_t length = json_gen_below(&gen, sizeof bytes);
    fill(&gen, bytes, length);
    for (size_t i = 0; i < length; i++) {
      /* Without most control characters, which end the walk too soon, and
       * with fewer brackets. */
      if ((unsigned char)bytes[i] < 0x20 && !json_gen_one_in(&gen, 50)) {
        bytes[i] = ' ';
      } else if ((bytes[i] == '}' || bytes[i] == ']') &&
                 !json_gen_one_in(&gen, 3)) {
        bytes[i] = 'x';
      }
    }
    assert_all_skip_alike(round * 3, 2 + json_gen_below(&gen, 40), bytes,
                          length, counts);
  }
  for (size_t i = 0; i < 4; i++) {
    assert_true(counts[i] > 50); /* every outcome was really met */
  }
}

static void test_scan_skip_json(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed < 1500; seed++) {
    kin__buf text;
    kin__buf_init(&text, kin__default_allocator(), 1 << 20);
    json_gen gen;
    json_gen_init(&gen, seed, &text);
    json_gen_object(&gen, 6);
    size_t end = text.length - 1; /* the first bracket is skipped already */
    json_gen_text(&gen, "]}\"[{\\");
    for (size_t i = 0; kin__scanner_at(i) != NULL; i++) {
      size_t used;
      bool is_deep;
      assert_int_equal(skip_in_spans(kin__scanner_at(i), seed, 20,
                                     text.data + 1, text.length - 1, &used,
                                     &is_deep),
                       KIN__SKIP_DONE);
      assert_false(is_deep);
      assert_int_equal(used, end);
    }
    kin__buf_finish(&text);
  }
}

/* Runs of backslashes of every length, cut at every place. */
static void test_scan_skip_backslashes(void **state) {
  (void)state;
  for (size_t run = 0; run < 140; run++) {
    char text[256];
    size_t at = 0;
    text[at++] = '"';
    memset(text + at, '\\', run);
    at += run;
    if (run % 2 == 1) {
      text[at++] = '"'; /* escaped */
    }
    memcpy(text + at, "\"}", 2);
    at += 2;
    for (size_t cut = 0; cut <= at; cut++) {
      for (size_t i = 0; kin__scanner_at(i) != NULL; i++) {
        kin__skip skip = {.depth = 1, .max_depth = 1};
        size_t used = 0;
        kin__skip_result first =
            kin__scanner_skip(kin__scanner_at(i), &skip, text, cut, &used);
        assert_int_equal(used, cut);
        if (cut == at) {
          assert_int_equal(first, KIN__SKIP_DONE);
          continue;
        }
        assert_int_equal(first, KIN__SKIP_MORE);
        assert_int_equal(kin__scanner_skip(kin__scanner_at(i), &skip,
                                           text + cut, at - cut, &used),
                         KIN__SKIP_DONE);
        assert_int_equal(used, at - cut);
      }
    }
  }
}

static void test_scan_scanners(void **state) {
  (void)state;
  assert_string_equal(kin__scanner_at(0)->name, "portable");
  size_t count = 0;
  while (kin__scanner_at(count) != NULL) {
    count++;
  }
  assert_ptr_equal(kin__scanner_best(), kin__scanner_at(count - 1));
  assert_null(kin__scanner_at(1000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scan_scanners),
      cmocka_unit_test(test_scan_classify),
      cmocka_unit_test(test_scan_find_special),
      cmocka_unit_test(test_scan_skip_random_bytes),
      cmocka_unit_test(test_scan_skip_json),
      cmocka_unit_test(test_scan_skip_backslashes),
  };
  return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
