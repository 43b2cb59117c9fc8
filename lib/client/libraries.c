/* SPDX-License-Identifier: MIT */
#include "client/libraries.h"

#include <stdio.h>

#include <uv.h>

#include "base/library.h"
#include "object/dictionary.h"
#include "object/json.h"
#include "transport/http1_trial.h"
#include "transport/inflate.h"
#include "transport/tls_build.h"

#define OLDEST_UV 0x012c00u /* 1.44.0 */

/* libuv promises a stable ABI within its major version. The loop is the host's,
 * so its libuv may be older than the one that this library was built with. */
static kin__library uv_library(void) {
  unsigned found = uv_version();
  kin__library library = {.name = "libuv",
                          .built_for = "1.44.0 or newer",
                          .fits = found >> 16 == UV_VERSION_MAJOR &&
                                  found >= OLDEST_UV};
  snprintf(library.found, sizeof library.found, "%s", uv_version_string());
  return library;
}

int kin__libraries_check(const kin__log *log) {
  const kin__library libraries[] = {uv_library(),        kin__http1_library(),
                                    kin__json_library(), kin__inflate_library(),
                                    kin__pack_library(), kin__tls_library()};
  int err = 0;
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && err == 0;
       i++) {
    err = kin__library_check(&libraries[i], log);
  }
  return err;
}
