/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_ERROR_H
#define KIN_BASE_ERROR_H

#include <kin/error.h>

/* Names and texts of libuv's codes, defined in transport/. error.c needs
 * nothing else of libuv, whose header base/ may not include. */
const char *kin__uv_strerror(int code);
const char *kin__uv_err_name(int code);

#endif /* KIN_BASE_ERROR_H */
