/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_FUZZ_DECODE_OPTIONS_H
#define KIN_TEST_FUZZ_DECODE_OPTIONS_H

#include <yyjson.h>

#include "decode/projection.h"
#include "decode/sink.h"
#include "fuzz/fuzz.h"
#include "support/decoded.h"

/* How a decoder is set up: the FUZZ_JSON_HEADER bytes of an input. */
typedef struct decode_options {
  enum { KEEPS_ALL, KEEPS_DEFAULT, KEEPS_FIELDS } projection;
  bool skips_bad;
  bool knows_some; /* objects are cached already */
  kin__decode_limits limits;
  bool is_limited; /* there are limits that a small input exceeds */
  uint8_t how;     /* it is cut; see fuzz_pieces */
} decode_options;

decode_options decode_options_read(fuzz_input *in);

/* NULL for KEEPS_ALL. */
kin__projection *decode_options_projection(const decode_options *options);

/* Tells the sink which objects are known, and what to do with bad ones. */
void decode_options_apply(const decode_options *options, decoded *got);

/* Fails unless both runs, which ended with these errors, were given the same.
 * What is over a limit and malformed as well may be either error, and the one
 * run may come further than the other before it ends. */
void decode_check_same(const decode_options *options, decoded *got, int got_err,
                       decoded *whole, int whole_err);

/* Fails unless what is kept of an item is what the projection says, computed
 * from yyjson's reading of the same bytes; and its identity and labels too. */
void decode_check_object(const decode_options *options, const kin_object *kept,
                         yyjson_val *item);

/* Reads text with yyjson; numbers stay as they are written. NULL: it is no
 * JSON. */
yyjson_doc *decode_read(kin_str text, bool is_first_of_many);

#endif /* KIN_TEST_FUZZ_DECODE_OPTIONS_H */
