/* SPDX-License-Identifier: MIT */
#ifndef APISIM_VERSION_H
#define APISIM_VERSION_H

/* Versions of API groups: "v1", "v2beta1". */

/* Less than 0 if a server prefers the first. Preferred are v2, v1, v2beta1,
 * v1beta2, v1alpha1; then all other names, in alphabetical order. */
int version_compare(const char *a, const char *b);

#endif
