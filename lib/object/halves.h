/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_HALVES_H
#define KIN_OBJECT_HALVES_H

#include "object/dictionary.h"

/* Most changes of an object are changes of its status. So a text with a status
 * is packed as two frames. One is the *front*, from metadata to the status. The
 * other is the *rest*: type and version before the front, which lists leave
 * out, and the status. The next state of the object takes the frame of the
 * front over if the front is the same, as a hash of 64 bits tells. Kept of a
 * text are
 *
 *   frame of the front | frame of the rest | hash and lengths of the front */

/* Where the front lies in a text. A length of 0: the text is packed whole. */
typedef struct kin__halves_place {
  size_t begin;
  size_t length;
} kin__halves_place;

/* `before` is what is kept of an earlier state, or empty. O(length) if the
 * fronts of both states differ in length. */
kin__halves_place kin__halves_find(kin_str text, kin_str before);

/* Packs the text, as kin__packer_pack, and overwrites it. `before` was packed
 * with the same dictionary. */
kin_str kin__halves_pack(kin__packer *packer, char *text, size_t length,
                         kin__halves_place front, kin_str before);

/* As kin__dictionary_inflate. */
int kin__halves_inflate(kin__dictionary *dictionary, kin_str kept, char *to,
                        size_t length);

#endif /* KIN_OBJECT_HALVES_H */
