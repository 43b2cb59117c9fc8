/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_VERSION_H
#define KIN_LISTWATCH_VERSION_H

#include <stdbool.h>

/* Resource versions are compared as decimal numbers of any length, if both are
 * such; others can only be equal. */

/* Whether `a` is known to be older than `b`. */
bool kin__version_is_before(const char *a, const char *b);

/* Whether whoever is at `version` has seen all up to `target`. */
bool kin__version_reaches(const char *version, const char *target);

#endif /* KIN_LISTWATCH_VERSION_H */
