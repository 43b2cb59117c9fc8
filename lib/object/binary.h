/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_BINARY_H
#define KIN_OBJECT_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/str.h>

#include "object/binary_known.h"
#include "object/dictionary.h"

/* Hashes, UUIDs, addresses and times differ in each object. A compressor keeps
 * five bits of a digit that holds four. So some texts are packed without these
 * values (binary_value.h). A mark takes the place of each, and its bytes are in
 * the *side*. Kept of a text are
 *
 *   frame of the text without values | side | lengths of both
 *
 * Values that samples repeat stay in the text, because the dictionary has them,
 * too. A value that the side has already is not repeated there. */

/* Shortens samples in place. */
void kin__binary_shorten_samples(kin__samples *samples,
                                 const kin__binary_known *known);

/* Packs the text, as kin__packer_pack, and overwrites it. Sets *is_whole if the
 * text has no such value: then the result is a frame of kin__packer_pack. */
kin_str kin__binary_pack(kin__packer *packer, const kin__binary_known *known,
                         char *text, size_t length, bool *is_whole);

/* As kin__dictionary_inflate, if the text was not whole. */
int kin__binary_inflate(kin__dictionary *dictionary, kin_str kept, char *to,
                        size_t length);

#endif /* KIN_OBJECT_BINARY_H */
