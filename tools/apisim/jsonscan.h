/* SPDX-License-Identifier: MIT */
#ifndef APISIM_JSONSCAN_H
#define APISIM_JSONSCAN_H

/* Finds members in compact JSON we wrote ourselves, without building a tree:
 * every version of every object passes here once. The text must be valid. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

typedef struct span {
  uint32_t off;
  uint32_t len; // 0 = absent
} span;

typedef struct scan {
  const char *text;
  size_t at;
} scan;

/* Starts at the '{' at text[off]. */
scan scan_object(const char *text, size_t off);
/* Next member: its key without quotes, its value's span (a string's with its
 * quotes). False at the end. */
bool scan_next(scan *s, slice *key, span *value);
/* The value of a member of the object at object.off; len 0 if there is none. */
span scan_find(const char *text, span object, const char *key);
/* A string's span without its quotes; anything else gives len 0. */
span scan_unquote(const char *text, span value);
slice span_slice(const char *text, span sp);

#endif
