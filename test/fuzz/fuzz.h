/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_FUZZ_H
#define KIN_TEST_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/str.h>

/* What all fuzz targets share. A target is one file that defines
 * LLVMFuzzerTestOneInput: it is linked with libFuzzer, or with replay.c, which
 * runs it on files. A find is an abort. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Of inputs whose text is JSON: the first bytes are options, so that the
 * mutator for JSON leaves them alone. */
enum { FUZZ_JSON_HEADER = 4 };

/* Fails the run, with a message. */
_Noreturn void fuzz_fail(const char *file, int line, const char *condition);
#define FUZZ_CHECK(condition)                                                  \
  ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

/* The bytes of an input, taken from the front. */
typedef struct fuzz_input {
  const uint8_t *at;
  size_t left;
} fuzz_input;

/* 0 when all bytes are used up. */
uint8_t fuzz_byte(fuzz_input *in);
/* A number below `bound`, which is at most 256. */
uint32_t fuzz_below(fuzz_input *in, uint32_t bound);
/* At most `max` bytes, borrowed. */
kin_str fuzz_take(fuzz_input *in, size_t max);
/* The bytes up to the next newline, without it, borrowed. */
kin_str fuzz_line(fuzz_input *in);
/* All that is left, borrowed. */
kin_str fuzz_rest(fuzz_input *in);

/* A copy that ends with a NUL, to be freed; the text is cut at its first. */
char *fuzz_string(kin_str text);

/* Cuts a text into pieces. The same number cuts the same text the same way: 0
 * not at all, 1 into single bytes, 2 to 127 into pieces of that size, others
 * into pieces of changing sizes. */
typedef struct fuzz_pieces {
  kin_str left;
  uint8_t how;
  uint32_t state;
} fuzz_pieces;

fuzz_pieces fuzz_pieces_of(kin_str text, uint8_t how);
/* The next piece, in memory that is exactly as long; free it. False at the
 * end. An empty text has no piece. */
bool fuzz_next_piece(fuzz_pieces *pieces, char **piece, size_t *length);

#endif /* KIN_TEST_FUZZ_H */
