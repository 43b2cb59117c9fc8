/* SPDX-License-Identifier: MIT */

/* A zlib of another major release. */
#include "host.h"

const char *zlibVersion(void);
const char *zlibVersion(void) {
  foreign_calls++;
  return "2.0.3";
}
