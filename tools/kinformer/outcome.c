/* SPDX-License-Identifier: MIT */
#include "outcome.h"

#include <stdarg.h>
#include <stdio.h>

outcome refuse(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("kinformer: ", stderr);
  vfprintf(stderr, format, arguments);
  fputs("\n", stderr);
  va_end(arguments);
  return BAD_USAGE;
}
