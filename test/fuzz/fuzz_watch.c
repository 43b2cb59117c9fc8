/* SPDX-License-Identifier: MIT */

/* The watch decoder. Oracles:
 *  - a stream that comes in pieces gives what it gives as a whole, and a
 *    decoder that was reset gives it again (WS-02)
 *  - the decoder refuses no frames as malformed that yyjson reads
 *  - what is kept of each object is what yyjson reads of the same bytes */

#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/str.h"
#include "decode/watch.h"
#include "fuzz/decode_options.h"
#include "support/decoded.h"

typedef struct run {
  decoded got;
  kin__watch_decoder *decoder;
  kin__projection *projection;
} run;

static void set_up(run *r, const decode_options *options) {
  decoded_init(&r->got, NULL);
  decode_options_apply(options, &r->got);
  r->projection = decode_options_projection(options);
  FUZZ_CHECK(kin__watch_decoder_new(&r->decoder, kin__default_allocator(),
                                    &options->limits, r->projection,
                                    &r->got.sink) == 0);
}

static void finish(run *r) {
  kin__watch_decoder_free(r->decoder);
  kin__projection_free(r->projection);
  decoded_finish(&r->got);
}

static void again(run *r, const decode_options *options) {
  decoded_finish(&r->got);
  decoded_init(&r->got, NULL);
  decode_options_apply(options, &r->got);
  kin__watch_decoder_reset(r->decoder);
}

static int decode(run *r, kin_str text, uint8_t how) {
  fuzz_pieces pieces = fuzz_pieces_of(text, how);
  char *piece;
  size_t length;
  int err = 0;
  while (err == 0 && fuzz_next_piece(&pieces, &piece, &length)) {
    err = kin__watch_decoder_parse(r->decoder, piece, length);
    free(piece);
  }
  return err;
}

static void check_same(const decode_options *options, run *got, int got_err,
                       run *whole, int whole_err) {
  decode_check_same(options, &got->got, got_err, &whole->got, whole_err);
  FUZZ_CHECK(kin__watch_decoder_is_between(got->decoder) ==
             kin__watch_decoder_is_between(whole->decoder));
  /* After an error it helps a message, and is what was read before the piece
   * that had the error. */
  if (got_err == 0 && whole_err == 0) {
    FUZZ_CHECK(strcmp(kin__watch_decoder_key_in_hand(got->decoder),
                      kin__watch_decoder_key_in_hand(whole->decoder)) == 0);
  }
}

static bool is_change(yyjson_val *type) {
  return yyjson_equals_str(type, "ADDED") ||
         yyjson_equals_str(type, "MODIFIED") ||
         yyjson_equals_str(type, "DELETED");
}

static bool is_table(yyjson_val *object) {
  const char *version = yyjson_get_str(yyjson_obj_get(object, "apiVersion"));
  return yyjson_equals_str(yyjson_obj_get(object, "kind"), "Table") &&
         version != NULL && strncmp(version, "meta.k8s.io/", 12) == 0;
}

/* Whether the object of a frame was given. */
static bool is_kept(const decode_options *options, yyjson_val *frame) {
  yyjson_val *object = yyjson_obj_get(frame, "object");
  yyjson_val *name = yyjson_obj_get(yyjson_obj_get(object, "metadata"), "name");
  bool is_good =
      yyjson_is_str(name) && yyjson_get_len(name) > 0 && !is_table(object);
  return is_change(yyjson_obj_get(frame, "type")) &&
         (is_good || !options->skips_bad);
}

static unsigned count_members(yyjson_val *object, const char *name) {
  unsigned count = 0;
  yyjson_obj_iter members = yyjson_obj_iter_with(object);
  yyjson_val *key;
  while ((key = yyjson_obj_iter_next(&members)) != NULL) {
    count += yyjson_equals_str(key, name);
  }
  return count;
}

/* Of a member that is given twice, the decoder takes the one that it can read,
 * and yyjson the first one. So nothing can be said of such a frame, nor of the
 * objects after it. */
static bool is_ambiguous(yyjson_val *frame) {
  return count_members(frame, "type") > 1 || count_members(frame, "object") > 1;
}

/* Walks over the frames as far as yyjson can read them. */
static void check_frames(const decode_options *options, run *r, kin_str text,
                         int err) {
  size_t at = 0;
  bool can_compare = !options->is_limited && !options->knows_some;
  bool are_apart = true; /* no number or word can run into the next frame */
  for (;;) {
    yyjson_doc *doc = decode_read(text, true);
    if (doc == NULL) {
      break;
    }
    yyjson_val *frame = yyjson_doc_get_root(doc);
    are_apart = are_apart && yyjson_is_ctn(frame);
    can_compare = can_compare && !is_ambiguous(frame);
    if (can_compare && is_kept(options, frame)) {
      /* An error ended the decoder here, or before. */
      if (at == r->got.count) {
        FUZZ_CHECK(err != 0);
        can_compare = false;
      } else {
        decode_check_object(options, r->got.objects[at++],
                            yyjson_obj_get(frame, "object"));
      }
    }
    size_t used = yyjson_doc_get_read_size(doc);
    text.data += used;
    text.length -= used;
    yyjson_doc_free(doc);
  }
  bool is_blank =
      strspn(text.length > 0 ? text.data : "", " \t\r\n") >= text.length;
  FUZZ_CHECK(!is_blank || !are_apart || err != KIN_EJSON);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  decode_options options = decode_options_read(&in);
  kin_str text = fuzz_rest(&in);
  run whole;
  run pieces;
  set_up(&whole, &options);
  set_up(&pieces, &options);
  int err = decode(&whole, text, 0);
  check_same(&options, &pieces, decode(&pieces, text, options.how), &whole,
             err);
  again(&pieces, &options);
  check_same(&options, &pieces, decode(&pieces, text, 1), &whole, err);
  char *ended = malloc(text.length + 1); /* for strspn */
  FUZZ_CHECK(ended != NULL);
  memcpy(ended, text.data, text.length);
  ended[text.length] = '\0';
  check_frames(&options, &whole, kin__str(ended, text.length), err);
  free(ended);
  finish(&whole);
  finish(&pieces);
  return 0;
}
