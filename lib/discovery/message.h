/* SPDX-License-Identifier: MIT */
#ifndef KIN_DISCOVERY_MESSAGE_H
#define KIN_DISCOVERY_MESSAGE_H

#include "discovery/lookup.h"
#include "discovery/near.h"

/* The texts of look-ups for people, each on one line. Without memory a text is
 * shorter. */

#define KIN__DISCOVERY_MESSAGE_BYTES 4096u

/* The server has no such resource; what the word may have meant, and what the
 * table lacks. */
void kin__discovery_say_unknown(char out[KIN__DISCOVERY_MESSAGE_BYTES],
                                const char *word, const kin__near *near,
                                const kin__api_table *table);
/* The word names all of `found`. */
void kin__discovery_say_rivals(char out[KIN__DISCOVERY_MESSAGE_BYTES],
                               const char *word, const kin__found *found);
/* The table lacks something; "" if it has all. */
void kin__discovery_say_missing(char out[KIN__DISCOVERY_MESSAGE_BYTES],
                                const kin__api_table *table);

#endif /* KIN_DISCOVERY_MESSAGE_H */
