/* SPDX-License-Identifier: MIT */

/* An llhttp of another release: each callback is one place later in the
 * settings, as between 9.2 and 9.3, and the parser is larger. */
#include <stdint.h>
#include <string.h>

#include <llhttp.h>

#include "host.h"

void llhttp_init(llhttp_t *parser, llhttp_type_t type,
                 const llhttp_settings_t *settings) {
  foreign_calls++;
  memset(parser, 0, sizeof *parser + 16);
  parser->type = (uint8_t)type;
  parser->settings = (void *)(uintptr_t)settings;
}

llhttp_errno_t llhttp_execute(llhttp_t *parser, const char *bytes,
                              size_t length) {
  typedef int (*callback)(llhttp_t *, const char *, size_t);
  const callback *all = parser->settings;
  foreign_calls++;
  for (size_t i = 1; i < 8; i++) {
    if (all[i] != NULL) {
      (void)all[i](parser, bytes, length);
    }
  }
  return HPE_OK;
}
