/* SPDX-License-Identifier: MIT */

/* A zstd of an older release. */
#include "host.h"

unsigned ZSTD_versionNumber(void);
const char *ZSTD_versionString(void);

unsigned ZSTD_versionNumber(void) {
  foreign_calls++;
  return 10308;
}

const char *ZSTD_versionString(void) {
  foreign_calls++;
  return "1.3.8";
}
