/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_LIST_H
#define KIN_DECODE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>

#include "decode/projection.h"
#include "decode/sink.h"

/* Cuts the body of a list response into objects as its bytes arrive: any member
 * order, any split, pretty-printed or not. Holds at most the current object. */
typedef struct kin__list_decoder kin__list_decoder;

/* The list's own fields; strings are NUL-terminated and bounded. */
typedef struct kin__list_result {
  char version[64];  /* metadata.resourceVersion */
  const char *token; /* metadata.continue, at most 16 KiB; "" if none; the
                      * decoder's until free */
  bool is_sharded;   /* metadata.shardInfo: the server has selected the shard */
} kin__list_result;

/* The projection must outlive the decoder. Errors: KIN_ENOMEM. */
int kin__list_decoder_new(kin__list_decoder **out,
                          const kin_allocator *allocator,
                          const kin__decode_limits *limits,
                          const kin__projection *projection,
                          const kin__decode_sink *sink);
/* NULL is allowed. */
void kin__list_decoder_free(kin__list_decoder *decoder);

/* Takes bytes of the body; any split. If a member other than items occurs
 * twice, the first counts. After an error only free is allowed.
 *
 * Errors: KIN_EJSON, KIN_ETOOBIG (the list's own strings, or an item over
 * max_passed_bytes), KIN_EUNEXPECTED (not a list: items is not an array, or
 * occurs twice; an item is not an object; kind is Table or Status; or a string
 * of the list's own contains a NUL), KIN_EKEY (see sink->bad, if that is NULL),
 * KIN_ENOMEM, and the sink's. */
int kin__list_decoder_parse(kin__list_decoder *decoder, const char *bytes,
                            size_t length);

/* The body has ended. Errors: KIN_ETRUNCATED, KIN_EUNEXPECTED (no items or no
 * metadata). `result` is valid until free. */
int kin__list_decoder_end(kin__list_decoder *decoder, kin__list_result *result);

/* The key of the current object, as far as it was seen, for error messages:
 * "ns/name", or ""; "" for NULL. Valid until the next call. */
const char *kin__list_decoder_key_in_hand(kin__list_decoder *decoder);

#endif /* KIN_DECODE_LIST_H */
