/* SPDX-License-Identifier: MIT */
#ifndef KIN_OBJECT_STRIP_H
#define KIN_OBJECT_STRIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/str.h>

#include "object/label_table.h"

/* A packed object has its key, uid, version and labels beside its text, so these
 * are left out of the text before it is packed. A mark of two bytes takes
 * the place of each: KIN__STRIP_MARK, which stands in no JSON text, and a
 * letter. */

#define KIN__STRIP_MARK '\x01'

/* The strings that may be left out. A bit of a mask each. */
typedef enum kin__resident {
  KIN__RESIDENT_NAME,
  KIN__RESIDENT_PREFIX, /* generateName: the name without its last letters */
  KIN__RESIDENT_NAMESPACE,
  KIN__RESIDENT_UID,
  KIN__RESIDENT_VERSION,
  KIN__RESIDENT_LABELS
} kin__resident;
#define KIN__RESIDENTS 6u

typedef struct kin__residents {
  kin_str strings[KIN__RESIDENTS]; /* of labels: their codes */
  const kin__label_table *table;   /* of the codes */
} kin__residents;

/* The name without the letters that a server adds to generateName; empty if it
 * is too short. */
kin_str kin__strip_prefix(kin_str name);

/* Writes the text without its residents to `to`, which has room for all of it,
 * and may be the text. Name, prefix and namespace are looked for at the text's
 * beginning; the other strings lie in it. A string that is empty or not found
 * stays. Returns the length written, and the residents that were left out in
 * *mask. */
size_t kin__strip(char *to, kin_str text, const kin_str strings[KIN__RESIDENTS],
                  unsigned *mask);

/* Strips samples in place. */
void kin__strip_samples(struct kin__samples *samples);

/* The length of a text of `length` bytes without the residents of `mask`. */
size_t kin__stripped_length(const kin__residents *residents, unsigned mask,
                            size_t length);

/* The text of `length` bytes again, in place: the stripped text lies at the end
 * of these. False if it is damaged. */
bool kin__unstrip(char *text, size_t length, size_t stripped,
                  const kin__residents *residents);

#endif /* KIN_OBJECT_STRIP_H */
