/* SPDX-License-Identifier: MIT */
#ifndef KIN_LISTWATCH_VERSION_H
#define KIN_LISTWATCH_VERSION_H

#include <stdbool.h>

/* Two resource versions are compared as decimal numbers of any length. If one
 * is no number, they can only be equal or different. */

/* Whether `a` is known to be older than `b`. */
bool kin__version_is_before(const char *a, const char *b);

/* Whether a position at `version` includes all changes up to `target`. */
bool kin__version_reaches(const char *version, const char *target);

#endif /* KIN_LISTWATCH_VERSION_H */
