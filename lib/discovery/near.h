/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISCOVERY_NEAR_H
#define KIN_DISCOVERY_NEAR_H

#include "discovery/table.h"

/* "Did you mean ...?" */

#define KIN__NEAR_MAX 5u
/* Of a word that is compared. A longer one has no near words. */
#define KIN__NEAR_WORD_MAX 64u
/* Of one look-up: a name that is compared counts 1, and 1 more for each of its
 * letters that is read. As much again may be spent on the question which of the
 * words need their group. A look-up is one step of the loop. */
#define KIN__NEAR_WORK_MAX 32768u

typedef struct kin__near {
  /* Plurals; with the group where the plural alone means another one, or the
   * word had a group. */
  char words[KIN__NEAR_MAX][2 * KIN__API_NAME_MAX + 2];
  size_t count;
} kin__near;

/* The resources with a name that is like the word, without its group: the best
 * first, then in the order of the table. Cost: O(resources). */
void kin__near_find(kin__near *out, const kin__api_table *table, kin_str word);

/* How many letters must be inserted, deleted, replaced or swapped with their
 * neighbour to make `a` of `b`; ASCII case-insensitive. `limit` + 1 if more
 * than `limit`, or if one of them is over KIN__NEAR_WORD_MAX. Adds the letters of
 * `a` that were read to *work. */
unsigned kin__near_distance(kin_str a, kin_str b, unsigned limit,
                            unsigned *work);

#endif /* KIN_DISCOVERY_NEAR_H */
