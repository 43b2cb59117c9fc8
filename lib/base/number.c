/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <stdio.h>
#include <string.h>

/* All other bytes of %g belong to the locale's decimal separator, which may be
 * longer than one byte. */
static const char plain[] = "0123456789+-e";

const char *kin__number_format(char text[KIN__NUMBER_SIZE], double value,
                               int digits) {
  snprintf(text, KIN__NUMBER_SIZE, "%.*g", digits, value);
  char *separator = text + strspn(text, plain);
  size_t length = strcspn(separator, plain);
  if (length > 0) {
    *separator = '.';
    memmove(separator + 1, separator + length, strlen(separator + length) + 1);
  }
  return text;
}
