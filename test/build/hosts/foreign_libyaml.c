/* SPDX-License-Identifier: MIT */

/* A libyaml of another release. */
#include "host.h"

void yaml_get_version(int *major, int *minor, int *patch);
void yaml_get_version(int *major, int *minor, int *patch) {
  foreign_calls++;
  *major = 1;
  *minor = 7;
  *patch = 9;
}
