/* SPDX-License-Identifier: MIT */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* Assertions of cmocka, which the fixtures use, are finds as well. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  return setenv("CMOCKA_TEST_ABORT", "1", 1);
}

_Noreturn void fuzz_fail(const char *file, int line, const char *condition) {
  fprintf(stderr, "%s:%d: FUZZ_CHECK(%s) does not hold\n", file, line,
          condition);
  abort();
}

uint8_t fuzz_byte(fuzz_input *in) {
  if (in->left == 0) {
    return 0;
  }
  in->left--;
  return *in->at++;
}

uint32_t fuzz_below(fuzz_input *in, uint32_t bound) {
  return fuzz_byte(in) % bound;
}

kin_str fuzz_take(fuzz_input *in, size_t max) {
  size_t length = in->left < max ? in->left : max;
  kin_str text = kin__str((const char *)in->at, length);
  in->at += length;
  in->left -= length;
  return text;
}

kin_str fuzz_line(fuzz_input *in) {
  const uint8_t *end = in->left > 0 ? memchr(in->at, '\n', in->left) : NULL;
  if (end == NULL) {
    return fuzz_rest(in);
  }
  kin_str line = fuzz_take(in, (size_t)(end - in->at));
  (void)fuzz_byte(in);
  return line;
}

kin_str fuzz_rest(fuzz_input *in) {
  return fuzz_take(in, in->left);
}

char *fuzz_string(kin_str text) {
  size_t length = text.length > 0 ? strnlen(text.data, text.length) : 0;
  char *copy = malloc(length + 1);
  FUZZ_CHECK(copy != NULL);
  if (length > 0) {
    memcpy(copy, text.data, length);
  }
  copy[length] = '\0';
  return copy;
}

fuzz_pieces fuzz_pieces_of(kin_str text, uint8_t how) {
  return (fuzz_pieces){.left = text, .how = how, .state = how};
}

static size_t next_size(fuzz_pieces *pieces) {
  if (pieces->how == 0) {
    return pieces->left.length;
  }
  if (pieces->how < 128) {
    return pieces->how;
  }
  pieces->state = pieces->state * 1664525u + 1013904223u;
  uint32_t bits = pieces->state >> 16;
  return bits % 4 == 0 ? 1 + bits / 4 % 200 : 1 + bits / 4 % 6;
}

bool fuzz_next_piece(fuzz_pieces *pieces, char **piece, size_t *length) {
  if (pieces->left.length == 0) {
    return false;
  }
  size_t size = next_size(pieces);
  *length = size < pieces->left.length ? size : pieces->left.length;
  *piece = malloc(*length);
  FUZZ_CHECK(*piece != NULL);
  memcpy(*piece, pieces->left.data, *length);
  pieces->left.data += *length;
  pieces->left.length -= *length;
  return true;
}
