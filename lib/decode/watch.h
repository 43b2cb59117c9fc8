/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_WATCH_H
#define KIN_DECODE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <kin/allocator.h>

#include "decode/projection.h"
#include "decode/sink.h"

/* Cuts the body of a watch response into frames {type, object} as its bytes
 * arrive, and gives each object to the sink as soon as its frame ends. Values
 * are concatenated, and newlines are not required (WS-02). Any member order and
 * any split is accepted.
 *
 * A frame of an unknown type is KIN_EUNEXPECTED (WS-03). The rest of a frame is
 * bounded as its object is (WS-04). An ERROR frame goes to sink->error as a
 * Status. If its object is no Status, the code is 500 and the reason
 * "InternalError". */
typedef struct kin__watch_decoder kin__watch_decoder;

/* Arguments and errors as kin__list_decoder_new. */
int kin__watch_decoder_new(kin__watch_decoder **out,
                           const kin_allocator *allocator,
                           const kin__decode_limits *limits,
                           const kin__projection *projection,
                           const kin__decode_sink *sink);
void kin__watch_decoder_free(kin__watch_decoder *decoder);
/* Prepares the decoder for another body. */
void kin__watch_decoder_reset(kin__watch_decoder *decoder);

/* Errors as kin__list_decoder_parse. KIN_EUNEXPECTED also for a frame without
 * type or object, and for a Table if sink->bad is NULL. KIN_ETOOBIG also for an
 * ERROR frame's object. */
int kin__watch_decoder_parse(kin__watch_decoder *decoder, const char *bytes,
                             size_t length);

/* Whether the stream is between two frames: an end here loses nothing. */
bool kin__watch_decoder_is_between(const kin__watch_decoder *decoder);

/* As kin__list_decoder_key_in_hand; "" for NULL. */
const char *kin__watch_decoder_key_in_hand(kin__watch_decoder *decoder);

/* Decoders for many watches. A watch needs one only from the first byte of a
 * frame to the last: a decoder between two frames is as good as a new one. So
 * idle watches need none, and a busy watch takes a free one without an
 * allocation. */
typedef struct kin__watch_decoders {
  const kin_allocator *allocator;
  kin__watch_decoder *free; /* at most KIN__WATCH_DECODERS_KEPT */
  uint32_t count;           /* of free ones */
} kin__watch_decoders;

#define KIN__WATCH_DECODERS_KEPT 4u

/* Allocates nothing. The allocator must outlive the decoders. */
void kin__watch_decoders_init(kin__watch_decoders *decoders,
                              const kin_allocator *allocator);
/* Frees those that are not taken. */
void kin__watch_decoders_finish(kin__watch_decoders *decoders);
/* A decoder before its first byte. Arguments and errors as
 * kin__watch_decoder_new. */
int kin__watch_decoders_take(kin__watch_decoders *decoders,
                             kin__watch_decoder **out,
                             const kin__decode_limits *limits,
                             const kin__projection *projection,
                             const kin__decode_sink *sink);
/* Gives a decoder back, in any state. NULL is allowed. */
void kin__watch_decoders_give(kin__watch_decoders *decoders,
                              kin__watch_decoder *decoder);

#endif /* KIN_DECODE_WATCH_H */
