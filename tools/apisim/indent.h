/* SPDX-License-Identifier: MIT */
#ifndef APISIM_INDENT_H
#define APISIM_INDENT_H

/* Lays compact JSON out over lines, two spaces a level, as the real server does
 * for browsers and curl. Works on any split of the input. */

#include <stdbool.h>

#include "buf.h"

typedef struct indenter {
  int depth;
  bool in_string;
  bool escaped; // the next byte of the string is
  bool opened;  // nothing is in the object or array yet
} indenter;

void indent_json(indenter *in, buf *to, const char *ptr, size_t len);

#endif
