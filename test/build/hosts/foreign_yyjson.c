/* SPDX-License-Identifier: MIT */

/* A yyjson of an older release. */
#include <stdint.h>

#include "host.h"

uint32_t yyjson_version(void);
uint32_t yyjson_version(void) {
  foreign_calls++;
  return 0x000201;
}
