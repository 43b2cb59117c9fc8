/* SPDX-License-Identifier: MIT */
#ifndef KIN_BASE_LIBRARY_H
#define KIN_BASE_LIBRARY_H

#include <stdbool.h>

#include "base/log.h"

/* A library that this one is built on, as the dynamic linker found it. A host
 * may export the functions of a library of its own; then those are called. The
 * code that calls a library compares both releases. */
typedef struct kin__library {
  const char *name;      /* static */
  const char *built_for; /* "9.2.1"; static */
  char found[128];       /* its version, or the end of its file's path; may be
                          * empty if it fits */
  bool fits;
} kin__library;

/* The log says that a library does not fit. Errors: KIN_ELIBRARY. */
int kin__library_check(const kin__library *library, const kin__log *log);

#endif /* KIN_BASE_LIBRARY_H */
