/* SPDX-License-Identifier: MIT */

/* A host that exports a yyjson of its own, of an older release. Opens a client
 * with the shared library.
 *
 *   foreign_yyjson hidden   the library hides its yyjson: the client opens, and
 *                           the function here is not called
 *   foreign_yyjson found    the library takes the host's: KIN_ELIBRARY, with a
 *                           text that names yyjson and the version */
#include <stdint.h>
#include <string.h>

#include "open_client.h"

static unsigned calls;

uint32_t yyjson_version(void);
uint32_t yyjson_version(void) {
  calls++;
  return 0x000201;
}

int main(int argc, char **argv) {
  char problem[256] = "";
  int err = open_client(problem, sizeof problem);
  int is_right = argc == 2 && strcmp(argv[1], "hidden") == 0
                     ? err == 0 && calls == 0
                     : err == KIN_ELIBRARY && calls > 0 &&
                           strstr(problem, "yyjson") != NULL &&
                           strstr(problem, "0.2.1") != NULL;
  return report(is_right, err, problem, calls);
}
