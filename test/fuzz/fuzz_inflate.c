/* SPDX-License-Identifier: MIT */

/* The inflater. Oracles:
 *  - bytes that come in pieces give what they give as a whole, with one error
 *  - what comes out is what zlib alone makes of the same bytes, in one call
 *    a member
 *  - what was compressed comes out again; one step gives a bounded slice, also
 *    of a bomb */

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/str.h"
#include "fuzz/fuzz.h"
#include "transport/inflate.h"

#define MAX_OUTPUT ((size_t)4 << 20)

/* Whether all of it came out; false also for what is cut at MAX_OUTPUT. */
static bool run(kin_str text, uint8_t how, kin__buf *out) {
  kin__inflate *inflate;
  FUZZ_CHECK(kin__inflate_new(&inflate, kin__default_allocator()) == 0);
  fuzz_pieces pieces = fuzz_pieces_of(text, how);
  char *piece;
  size_t length;
  int err = 0;
  while (err == 0 && fuzz_next_piece(&pieces, &piece, &length)) {
    FUZZ_CHECK(kin__inflate_push(inflate, piece, length) == 0);
    free(piece);
    while (err == 0 && kin__inflate_has_work(inflate)) {
      kin_str slice;
      err = kin__inflate_step(inflate, &slice);
      FUZZ_CHECK(slice.length <= KIN__INFLATE_BYTES);
      if (err == 0 && out->length + slice.length > MAX_OUTPUT) {
        err = KIN_ETOOBIG;
      } else if (err == 0) {
        FUZZ_CHECK(kin__buf_append_str(out, slice) == 0);
      }
    }
  }
  if (err == 0) {
    err = kin__inflate_end(inflate);
  }
  FUZZ_CHECK(err == 0 || err == KIN_EHTTP || err == KIN_ETOOBIG);
  FUZZ_CHECK(kin__inflate_reason(inflate)[0] != '\0');
  kin__inflate_free(inflate);
  return err == 0;
}

/* The same by zlib alone: members one after the other. */
static bool run_alone(kin_str text, char *out, size_t *length) {
  z_stream z = {.next_in = (Bytef *)text.data,
                .avail_in = (uInt)text.length,
                .next_out = (Bytef *)out,
                .avail_out = MAX_OUTPUT};
  FUZZ_CHECK(inflateInit2(&z, MAX_WBITS + 16) == Z_OK);
  int result = Z_STREAM_END;
  while (z.avail_in > 0 && result == Z_STREAM_END) {
    FUZZ_CHECK(inflateReset(&z) == Z_OK);
    result = inflate(&z, Z_FINISH);
  }
  *length = MAX_OUTPUT - z.avail_out;
  inflateEnd(&z);
  return result == Z_STREAM_END;
}

static void check(kin_str text, uint8_t how) {
  kin__buf whole;
  kin__buf pieces;
  kin__buf_init(&whole, kin__default_allocator(), MAX_OUTPUT);
  kin__buf_init(&pieces, kin__default_allocator(), MAX_OUTPUT);
  bool is_good = run(text, 0, &whole);
  FUZZ_CHECK(run(text, how, &pieces) == is_good);
  char *alone = malloc(MAX_OUTPUT);
  FUZZ_CHECK(alone != NULL);
  size_t length;
  bool is_good_alone = run_alone(text, alone, &length);
  FUZZ_CHECK(is_good == is_good_alone || length == MAX_OUTPUT);
  if (is_good) {
    FUZZ_CHECK(whole.length == length && pieces.length == length);
    FUZZ_CHECK(length == 0 || (memcmp(whole.data, alone, length) == 0 &&
                               memcmp(pieces.data, alone, length) == 0));
  }
  free(alone);
  kin__buf_finish(&whole);
  kin__buf_finish(&pieces);
}

/* `times` copies of the text, compressed; then one byte may be changed. */
static void check_compressed(kin_str text, uint8_t how, uint8_t times,
                             uint8_t change) {
  z_stream z = {0};
  FUZZ_CHECK(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8,
                          Z_DEFAULT_STRATEGY) == Z_OK);
  size_t room = deflateBound(&z, text.length * times) + 64;
  char *packed = malloc(room);
  FUZZ_CHECK(packed != NULL);
  z.next_out = (Bytef *)packed;
  z.avail_out = (uInt)room;
  for (int i = 0; i < times; i++) {
    z.next_in = (Bytef *)text.data;
    z.avail_in = (uInt)text.length;
    FUZZ_CHECK(deflate(&z, i % 8 == 7 ? Z_FULL_FLUSH : Z_NO_FLUSH) == Z_OK ||
               text.length == 0);
  }
  FUZZ_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
  size_t length = room - z.avail_out;
  deflateEnd(&z);
  if (change != 0) {
    packed[(size_t)change * 7 % length] ^= (char)(1 << change % 8);
  }
  check(kin__str(packed, length), how);
  if (change == 0) {
    kin__buf out;
    kin__buf_init(&out, kin__default_allocator(), MAX_OUTPUT);
    FUZZ_CHECK(run(kin__str(packed, length), how, &out) ==
               (text.length * times <= MAX_OUTPUT));
    kin__buf_finish(&out);
  }
  free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  uint8_t bits = fuzz_byte(&in);
  uint8_t how = fuzz_byte(&in);
  uint8_t times = 1 + fuzz_byte(&in) % 64;
  uint8_t change = fuzz_byte(&in);
  kin_str text = fuzz_rest(&in);
  if ((bits & 1) != 0) {
    check_compressed(text, how, times, change);
  } else {
    check(text, how);
  }
  return 0;
}
