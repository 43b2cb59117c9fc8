/* SPDX-License-Identifier: MIT */

/* The scanners. Oracle: each instruction set gives what the portable one
 * gives, which gives the same at any split and what a loop over single bytes
 * gives. */

#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "base/str.h"
#include "fuzz/fuzz.h"

typedef struct outcome {
  kin__skip skip;
  kin__skip_result result;
  size_t used;
} outcome;

static outcome skip_text(const kin__scanner *scanner, kin__skip skip,
                         kin_str text, uint8_t how) {
  outcome out = {.skip = skip, .result = KIN__SKIP_MORE};
  fuzz_pieces pieces = fuzz_pieces_of(text, how);
  char *piece;
  size_t length;
  while (out.result == KIN__SKIP_MORE &&
         fuzz_next_piece(&pieces, &piece, &length)) {
    size_t used = length;
    out.result = kin__scanner_skip(scanner, &out.skip, piece, length, &used);
    out.used +=
        out.result == KIN__SKIP_DONE || out.result == KIN__SKIP_MORE ? used : 0;
    free(piece);
  }
  return out;
}

/* The header's words as a loop. */
static outcome skip_slowly(kin__skip skip, kin_str text) {
  outcome out = {.skip = skip, .result = KIN__SKIP_MORE};
  for (; out.used < text.length; out.used++) {
    unsigned char c = (unsigned char)text.data[out.used];
    bool is_string = out.skip.in_string != 0;
    bool is_escaped = out.skip.escaped != 0;
    out.skip.escaped = 0;
    if (is_string && c < 0x20) {
      out.result = KIN__SKIP_CONTROL;
      return out;
    }
    if (c == '\\' && !is_escaped) {
      out.skip.escaped = 1;
    } else if (c == '"' && !is_escaped) {
      out.skip.in_string = ~out.skip.in_string;
    } else if (!is_string && (c == '{' || c == '[')) {
      if (out.skip.depth == out.skip.max_depth) {
        out.skip.is_deep = true;
        out.skip.max_depth = UINT64_MAX;
      }
      out.skip.depth++;
    } else if (!is_string && (c == '}' || c == ']')) {
      if (--out.skip.depth == 0) {
        out.used++;
        out.result = KIN__SKIP_DONE;
        return out;
      }
    }
  }
  return out;
}

static void check_same(const outcome *got, const outcome *expected) {
  FUZZ_CHECK(got->result == expected->result);
  if (got->result == KIN__SKIP_DONE || got->result == KIN__SKIP_MORE) {
    FUZZ_CHECK(got->used == expected->used);
    FUZZ_CHECK(got->skip.is_deep == expected->skip.is_deep);
  }
  if (got->result == KIN__SKIP_MORE) {
    FUZZ_CHECK(got->skip.depth == expected->skip.depth);
    FUZZ_CHECK(got->skip.in_string == expected->skip.in_string);
    FUZZ_CHECK(got->skip.escaped == expected->skip.escaped);
  }
}

static size_t find_slowly(kin_str text) {
  size_t at = 0;
  while (at < text.length && text.data[at] != '"' && text.data[at] != '\\' &&
         (unsigned char)text.data[at] >= 0x20) {
    at++;
  }
  return at;
}

static void check_blocks(const kin__scanner *scanner, kin_str text) {
  const kin__scanner *portable = kin__scanner_at(0);
  for (size_t at = 0; at + KIN__BLOCK <= text.length; at += KIN__BLOCK) {
    kin__block_masks got = {0};
    kin__block_masks expected = {0};
    scanner->classify(&got, text.data + at);
    portable->classify(&expected, text.data + at);
    FUZZ_CHECK(memcmp(&got, &expected, sizeof got) == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  uint8_t bits = fuzz_byte(&in);
  uint8_t how = fuzz_byte(&in);
  kin__skip skip = {.in_string = (bits & 1) != 0 ? UINT64_MAX : 0,
                    .escaped = (bits & 3) == 3,
                    .depth = 1 + (bits >> 2) % 4};
  skip.max_depth = skip.depth + (bits >> 4);
  kin_str text = fuzz_rest(&in);
  outcome expected = skip_slowly(skip, text);
  const kin__scanner *scanner;
  for (size_t i = 0; (scanner = kin__scanner_at(i)) != NULL; i++) {
    outcome whole = skip_text(scanner, skip, text, 0);
    outcome pieces = skip_text(scanner, skip, text, how);
    check_same(&whole, &expected);
    check_same(&pieces, &expected);
    char *exact = malloc(text.length + 1);
    FUZZ_CHECK(exact != NULL);
    if (text.length > 0) {
      memcpy(exact + 1, text.data, text.length); /* not aligned */
    }
    FUZZ_CHECK(scanner->find_special(exact + 1, text.length) ==
               find_slowly(text));
    free(exact);
    check_blocks(scanner, text);
  }
  return 0;
}
