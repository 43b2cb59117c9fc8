/* SPDX-License-Identifier: MIT */
#include <kin/error.h>

#include <stddef.h>

#include "base/error.h"

const char *kin_strerror(int code) {
  switch (code) {
  case 0:
    return "success";
#define TEXT(name, value, text)                                                \
  case value:                                                                  \
    return text;
    KIN_ERRNO_MAP(TEXT)
#undef TEXT
  default:
    return kin__uv_strerror(code);
  }
}

const char *kin_err_name(int code) {
  switch (code) {
  case 0:
    return "OK";
#define NAME(name, value, text)                                                \
  case value:                                                                  \
    return "KIN_" #name;
    KIN_ERRNO_MAP(NAME)
#undef NAME
  default:
    return kin__uv_err_name(code);
  }
}

const char *kin_error_class_name(kin_error_class error_class) {
  static const char *const names[] = {
      [KIN_CLASS_NONE] = "none",       [KIN_CLASS_DNS] = "dns",
      [KIN_CLASS_CONNECT] = "connect", [KIN_CLASS_TLS] = "tls",
      [KIN_CLASS_AUTH] = "auth",       [KIN_CLASS_FORBIDDEN] = "forbidden",
      [KIN_CLASS_ABSENT] = "absent",   [KIN_CLASS_THROTTLED] = "throttled",
      [KIN_CLASS_SERVER] = "server",   [KIN_CLASS_PROTOCOL] = "protocol",
      [KIN_CLASS_DECODE] = "decode",   [KIN_CLASS_MEMORY] = "memory",
  };
  size_t i = (size_t)error_class;
  return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}
