/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_ENVIRONMENT_H
#define KIN_TRANSPORT_ENVIRONMENT_H

#include <stddef.h>
#include <stdlib.h>

#include <unistd.h>

#include "base/str.h"

/* A variable's value, or NULL if it is not set or empty; also NULL in a program
 * that runs with more rights than its caller has. Call it on the host's thread,
 * not in libuv's pool: getenv is not safe beside setenv. */
static inline const char *kin__environment_get(const char *name) {
#ifdef __linux__
  const char *value = secure_getenv(name);
#else
  const char *value = issetugid() ? NULL : getenv(name);
#endif
  return kin__has_text(value) ? value : NULL;
}

#endif /* KIN_TRANSPORT_ENVIRONMENT_H */
