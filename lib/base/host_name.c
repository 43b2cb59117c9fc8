/* SPDX-License-Identifier: MIT */
#include "base/host_name.h"

#include <unistd.h>

void kin__host_name(char to[KIN__HOST_NAME_SIZE]) {
  if (gethostname(to, KIN__HOST_NAME_SIZE) != 0) {
    to[0] = '\0';
  }
  to[KIN__HOST_NAME_SIZE - 1] = '\0';
  for (char *c = to; *c != '\0'; c++) {
    *c = (unsigned char)*c < 0x21 || (unsigned char)*c > 0x7e ? '-' : *c;
  }
}
