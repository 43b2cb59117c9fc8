/* SPDX-License-Identifier: MIT */

/* Status objects, and the errors that are made of responses without one.
 * Oracles:
 *  - what is read is what yyjson reads of the same bytes (RE-01, RE-02)
 *  - strings are bounded, end with a NUL and have no control characters
 *  - the beginning and the end of a Status are found at any split */

#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/status.h"
#include "fuzz/fuzz.h"

static void check_text(const char *text, size_t size) {
  size_t length = strnlen(text, size);
  FUZZ_CHECK(length < size);
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    FUZZ_CHECK(c >= 0x20 && c != 0x7f);
  }
}

static void check_status(const kin__status *status) {
  check_text(status->reason, sizeof status->reason);
  check_text(status->message, sizeof status->message);
  FUZZ_CHECK(status->retry_after_s >= -1 && status->code >= 0);
  (void)kin__status_is_internal(status);
}

/* A string as it comes out if it is short and plain; else not compared. */
static void check_string(const char *got, size_t size, yyjson_val *value) {
  if (!yyjson_is_str(value)) {
    FUZZ_CHECK(got[0] == '\0');
    return;
  }
  const char *expected = yyjson_get_str(value);
  size_t length = yyjson_get_len(value);
  if (length >= size) {
    FUZZ_CHECK(strlen(got) + 4 >= size);
    length = strlen(got);
  }
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)expected[i];
    FUZZ_CHECK(got[i] == (c < 0x20 || c == 0x7f ? ' ' : expected[i]));
  }
  FUZZ_CHECK(got[length] == '\0');
}

static void check_parse(kin_str text) {
  kin__status status;
  bool is_status =
      kin__status_parse(&status, kin__default_allocator(), text) == 0;
  check_status(&status);
  yyjson_doc *doc = text.length == 0 ? NULL
                                     : yyjson_read(text.data, text.length,
                                                   YYJSON_READ_BIGNUM_AS_RAW);
  yyjson_val *root = yyjson_doc_get_root(doc);
  bool is_expected = yyjson_equals_str(yyjson_obj_get(root, "kind"), "Status");
  FUZZ_CHECK(is_expected || !is_status); /* not too deep */
  if (is_status) {
    yyjson_val *code = yyjson_obj_get(root, "code");
    bool is_code = yyjson_is_uint(code) && yyjson_get_uint(code) <= INT32_MAX;
    FUZZ_CHECK(status.code == (is_code ? (int)yyjson_get_uint(code) : 0));
    check_string(status.reason, sizeof status.reason,
                 yyjson_obj_get(root, "reason"));
    check_string(status.message, sizeof status.message,
                 yyjson_obj_get(root, "message"));
    FUZZ_CHECK(status.is_failure ==
               yyjson_equals_str(yyjson_obj_get(root, "status"), "Failure"));
  }
  yyjson_doc_free(doc);
}

/* Whether the text begins a Status, and how many of its bytes belong to it; the
 * same for every split. */
static void find(kin_str text, uint8_t how, bool *is_status, size_t *ended) {
  fuzz_pieces pieces = fuzz_pieces_of(text, how);
  char *piece;
  size_t length;
  size_t seen = 0;
  size_t from = 0; /* of the bytes that have been looked at for the end */
  kin__status_search search = {0};
  bool may_be = true;
  bool has_ended = false;
  while (may_be && !has_ended && fuzz_next_piece(&pieces, &piece, &length)) {
    free(piece);
    seen += length;
    if (!search.is_status) {
      may_be = kin__status_may_begin(&search, kin__str(text.data, seen));
      FUZZ_CHECK(may_be || !search.is_status);
    }
    if (search.is_status) {
      size_t more =
          kin__status_ends(&search, text.data + from, seen - from, &has_ended);
      FUZZ_CHECK(more <= seen - from);
      from += more;
    }
  }
  *is_status = search.is_status;
  *ended = from + (has_ended ? SIZE_MAX / 2 : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  int code = fuzz_byte(&in) * 256 + fuzz_byte(&in);
  uint8_t how = fuzz_byte(&in);
  (void)fuzz_byte(&in);
  kin_str text = fuzz_rest(&in);
  check_parse(text);
  kin__status status;
  kin__status_from_response(&status, code, text);
  check_status(&status);
  char *plain = fuzz_string(text);
  kin__status_make(&status, code, plain, plain);
  check_status(&status);
  free(plain);
  bool is_status;
  size_t ended;
  find(text, 0, &is_status, &ended);
  for (int i = 0; i < 2; i++) {
    bool is_status_in_pieces;
    size_t ended_in_pieces;
    find(text, i == 0 ? how : 1, &is_status_in_pieces, &ended_in_pieces);
    FUZZ_CHECK(is_status_in_pieces == is_status && ended_in_pieces == ended);
  }
  return 0;
}
