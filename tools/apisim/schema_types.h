/* SPDX-License-Identifier: MIT */
#ifndef APISIM_SCHEMA_TYPES_H
#define APISIM_SCHEMA_TYPES_H

/* The built-in types, as text; the notation is explained in schema_types.c.
 * schema_read.c makes JSON Schemas of them. */

#include <stddef.h>

/* Ends with NULL. */
extern const char *const SCHEMA_TYPES[];

#endif
