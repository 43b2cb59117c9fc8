/* SPDX-License-Identifier: MIT */
/* uv_strerror and uv_err_name allocate and leak for codes that libuv does not
 * know. Their _r variants need a caller's buffer. kin_strerror promises a
 * static text, so the tables are built here from libuv's own list. */
#include "base/error.h"

#include <uv.h>

const char *kin__uv_strerror(int code) {
  switch (code) {
#define TEXT(name, text)                                                       \
  case UV_##name:                                                              \
    return text;
    UV_ERRNO_MAP(TEXT)
#undef TEXT
  default:
    return "unknown error";
  }
}

const char *kin__uv_err_name(int code) {
  switch (code) {
#define NAME(name, text)                                                       \
  case UV_##name:                                                              \
    return #name;
    UV_ERRNO_MAP(NAME)
#undef NAME
  default:
    return "UNKNOWN";
  }
}
