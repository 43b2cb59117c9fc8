/* SPDX-License-Identifier: MIT */
/* uv_strerror and uv_err_name allocate and leak for codes that libuv does not
 * know, and kin_strerror promises a static text. So they are asked only for
 * codes of libuv's own list. */
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

static bool is_known(int code) {
  static const int16_t codes[] = {
#define CODE(name, text) UV_##name,
      UV_ERRNO_MAP(CODE)
#undef CODE
  };
  size_t i = sizeof codes / sizeof codes[0];
  while (i > 0 && codes[i - 1] != code) {
    i--;
  }
  return i > 0;
}

const char *kin__uv_strerror(int code) {
  return is_known(code) ? uv_strerror(code) : "unknown error";
}

const char *kin__uv_err_name(int code) {
  return is_known(code) ? uv_err_name(code) : "UNKNOWN";
}
