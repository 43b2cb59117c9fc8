/* SPDX-License-Identifier: MIT */
#ifndef KIN_TEST_EXTREME_OBJECTS_H
#define KIN_TEST_EXTREME_OBJECTS_H

#include <stddef.h>

/* Objects that an API server accepts, and that are at, or beyond, a limit that
 * has nothing to do with their size. */

/* The levels that are kept: what a Kubernetes API server accepts. */
#define EXTREME_LEVELS 10000u

/* "ns/deep", nested `levels` deep altogether, in arrays and objects by turns
 * under "x"; metadata comes first or last. Free it. */
char *extreme_deep(unsigned levels, const char *version, int metadata_is_last);

/* "ns/long", with a member whose name has that many bytes, in the outermost
 * object, in metadata (labels, annotations) and below "spec". Free it. */
char *extreme_name(size_t bytes, const char *version);

/* "ns/number", with a member that is a number of that many digits. */
char *extreme_number(size_t digits, const char *version);

#endif /* KIN_TEST_EXTREME_OBJECTS_H */
