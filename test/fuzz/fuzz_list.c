/* SPDX-License-Identifier: MIT */

/* The list decoder. Oracles:
 *  - a body that comes in pieces gives what it gives as a whole, and a decoder
 *    that was reset gives it again (RL-04)
 *  - the decoder refuses no body as malformed that yyjson reads
 *  - what is kept of each item is what yyjson reads of the same bytes */

#include <kin/error.h>

#include "base/str.h"
#include "fuzz/decode_options.h"
#include "support/list_run.h"

static void set_up(list_run *run, const decode_options *options) {
  list_run_init(run);
  run->limits = options->limits;
  run->projection = decode_options_projection(options);
  decode_options_apply(options, &run->got);
  list_run_open(run);
}

static int decode(list_run *run, kin_str text, uint8_t how) {
  fuzz_pieces pieces = fuzz_pieces_of(text, how);
  char *piece;
  size_t length;
  int err = 0;
  while (err == 0 && fuzz_next_piece(&pieces, &piece, &length)) {
    err = kin__list_decoder_parse(run->decoder, piece, length);
    free(piece);
  }
  return err != 0 ? err : kin__list_decoder_end(run->decoder, &run->result);
}

static void check_same(const decode_options *options, list_run *got,
                       int got_err, list_run *whole, int whole_err) {
  decode_check_same(options, &got->got, got_err, &whole->got, whole_err);
  if (got_err == 0) {
    FUZZ_CHECK(strcmp(got->result.version, whole->result.version) == 0);
    FUZZ_CHECK(strcmp(got->result.token, whole->result.token) == 0);
  }
  /* After an error it helps a message, and is what was read before the piece
   * that had the error. */
  if (got_err == 0 && whole_err == 0) {
    FUZZ_CHECK(strcmp(kin__list_decoder_key_in_hand(got->decoder),
                      kin__list_decoder_key_in_hand(whole->decoder)) == 0);
  }
}

static bool is_kept(const decode_options *options, yyjson_val *item) {
  yyjson_val *name = yyjson_obj_get(yyjson_obj_get(item, "metadata"), "name");
  return !options->skips_bad ||
         (yyjson_is_str(name) && yyjson_get_len(name) > 0);
}

static void check_items(const decode_options *options, list_run *run,
                        yyjson_val *root) {
  yyjson_arr_iter items = yyjson_arr_iter_with(yyjson_obj_get(root, "items"));
  yyjson_val *item;
  size_t at = 0;
  while ((item = yyjson_arr_iter_next(&items)) != NULL) {
    if (is_kept(options, item)) {
      FUZZ_CHECK(at < run->got.count);
      decode_check_object(options, run->got.objects[at++], item);
    }
  }
  FUZZ_CHECK(at == run->got.count);
}

static void check_meaning(const decode_options *options, list_run *run,
                          kin_str text, int err) {
  yyjson_doc *doc = decode_read(text, false);
  if (doc == NULL) {
    return;
  }
  /* Only the end of the body ends a number or a word that is all of it. */
  yyjson_val *root = yyjson_doc_get_root(doc);
  bool may_go_on = !yyjson_is_ctn(root) && !yyjson_is_str(root);
  FUZZ_CHECK(err != KIN_EJSON && (err != KIN_ETRUNCATED || may_go_on));
  if (err == 0 && !options->is_limited && !options->knows_some) {
    check_items(options, run, root);
  }
  yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  decode_options options = decode_options_read(&in);
  kin_str text = fuzz_rest(&in);
  list_run whole;
  list_run pieces;
  set_up(&whole, &options);
  set_up(&pieces, &options);
  int err = decode(&whole, text, 0);
  check_same(&options, &pieces, decode(&pieces, text, options.how), &whole,
             err);
  list_run_again(&pieces);
  check_same(&options, &pieces, decode(&pieces, text, 1), &whole, err);
  check_meaning(&options, &whole, text, err);
  list_run_finish(&whole);
  list_run_finish(&pieces);
  return 0;
}
