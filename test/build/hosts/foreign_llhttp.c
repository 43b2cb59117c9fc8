/* SPDX-License-Identifier: MIT */

/* A host that exports an llhttp of its own, of another release: each callback is
 * one place later in the settings, as between 9.2 and 9.3, and the parser is
 * larger. Opens a client with the shared library.
 *
 *   foreign_llhttp hidden   the library hides its llhttp: the client opens, and
 *                           none of the functions here is called
 *   foreign_llhttp found    the library takes the host's: KIN_ELIBRARY, with a
 *                           text that names llhttp and this program */
#include <stdint.h>
#include <string.h>

#include <llhttp.h>

#include "open_client.h"

static unsigned calls;

void llhttp_init(llhttp_t *parser, llhttp_type_t type,
                 const llhttp_settings_t *settings) {
  calls++;
  memset(parser, 0, sizeof *parser + 16);
  parser->type = (uint8_t)type;
  parser->settings = (void *)(uintptr_t)settings;
}

llhttp_errno_t llhttp_execute(llhttp_t *parser, const char *bytes,
                              size_t length) {
  typedef int (*callback)(llhttp_t *, const char *, size_t);
  const callback *all = parser->settings;
  calls++;
  for (size_t i = 1; i < 8; i++) {
    if (all[i] != NULL) {
      (void)all[i](parser, bytes, length);
    }
  }
  return HPE_OK;
}

int main(int argc, char **argv) {
  static const char *const words[] = {"llhttp", "foreign_llhttp"};
  return check(argc, argv, &calls, words);
}
