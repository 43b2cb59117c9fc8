/* SPDX-License-Identifier: MIT */
#include "words.h"

/* In a build without discovery. */

bool words_are_supported(void) {
  return false;
}

int words_ask(app *a) {
  (void)a;
  return KIN_ENOTSUP;
}
