/* SPDX-License-Identifier: MIT */
#ifndef KIN_DECODE_KEY_ONLY_H
#define KIN_DECODE_KEY_ONLY_H

#include <stdbool.h>
#include <stddef.h>

#include "object/object.h"

/* The small object that stands for one over the limit: it holds the identity
 * only. */

/* The largest number of bytes written for strings and labels of these
 * lengths. */
size_t kin__key_only_bound(size_t strings, size_t labels);

/* Writes the object to `to` and makes it the body of the parts. Strings and
 * labels of the parts then point into it, if they are written unchanged. Empty
 * strings are left out. */
void kin__key_only_write(char *to, kin__object_parts *parts,
                         kin_str api_version, kin_str kind);

/* Makes such an object from one that is stored whole. Labels over
 * KIN__ITEM_LABELS_MAX bytes, and a type or version over KIN__CURSOR_TEXT_MAX,
 * are left out. Errors: KIN_ENOMEM. */
int kin__key_only_make(kin_object **out, kin__memory *memory,
                       const kin_object *whole, bool with_labels);

#endif /* KIN_DECODE_KEY_ONLY_H */
