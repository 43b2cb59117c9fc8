/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_BASE64_H
#define KIN_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include <kin/str.h>

#define KIN__BASE64_TOO_SMALL (-2)

/* Decodes base64 with its padding, as Go's encoding/base64 does: line ends
 * between the characters do not count. `to` may be encoded.data. Returns the
 * number of bytes; -1 if the text is no base64; KIN__BASE64_TOO_SMALL if there
 * are more than `size` bytes. */
int64_t kin__base64_decode_into(char *to, size_t size, kin_str encoded);

#endif /* KIN_BASE_BASE64_H */
