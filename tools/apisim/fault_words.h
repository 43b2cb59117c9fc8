/* SPDX-License-Identifier: MIT */
#ifndef APISIM_FAULT_WORDS_H
#define APISIM_FAULT_WORDS_H

/* The members of fault rules whose values are words of a fixed list. */

#include <stdbool.h>

#include "buf.h"

/* Whether a rule of the kind may have this value in the member. Else error
 * lists the words it may have. An empty text is the default, but not a verb. */
bool fault_words_allow(const char *kind, const char *member, slice value,
                       buf *error);

#endif
