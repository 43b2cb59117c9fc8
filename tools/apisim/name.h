/* SPDX-License-Identifier: MIT */
#ifndef APISIM_NAME_H
#define APISIM_NAME_H

/* Names as the API server checks them. */

#include <stdbool.h>

#include "buf.h"

/* A subdomain of RFC 1123: lower-case letters, digits, '-' and '.', at most
 * 253; each part between dots begins and ends with a letter or a digit. */
bool name_is_subdomain(slice text);
/* A label of RFC 1123: a subdomain without '.', of at most 63. */
bool name_is_label(slice text);

#endif
