/* SPDX-License-Identifier: MIT */

/* A host that exports a yyjson of its own, of an older release. Opens a client
 * with the shared library.
 *
 *   foreign_yyjson hidden   the library hides its yyjson: the client opens, and
 *                           the function here is not called
 *   foreign_yyjson found    the library takes the host's: KIN_ELIBRARY, with a
 *                           text that names yyjson and the version */
#include <stdint.h>

#include "open_client.h"

static unsigned calls;

uint32_t yyjson_version(void);
uint32_t yyjson_version(void) {
  calls++;
  return 0x000201;
}

int main(int argc, char **argv) {
  static const char *const words[] = {"yyjson", "0.2.1"};
  return check(argc, argv, &calls, words);
}
