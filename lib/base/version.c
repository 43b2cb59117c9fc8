/* SPDX-License-Identifier: MIT */
#include <kin/version.h>

const char *kin_version_string(void) {
  return KIN_VERSION_STRING;
}
