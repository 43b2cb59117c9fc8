/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_KEY_ONLY_H
#define KIN_DECODE_KEY_ONLY_H

#include <stddef.h>

#include "object/object.h"

/* The object that stands for one that is over the limit: made of nothing but
 * what says which one it is. */

/* At most so many bytes are written for strings of so many bytes, and for
 * labels. */
size_t kin__key_only_bound(size_t strings, size_t labels);

/* Writes it to `to` and makes it the body of the parts, whose strings and
 * labels are then those in it where they are the same there. Strings that are
 * empty are left out. */
void kin__key_only_write(char *to, kin__object_parts *parts,
                         kin_str api_version, kin_str kind);

#endif /* KIN_DECODE_KEY_ONLY_H */
