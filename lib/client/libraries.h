/* SPDX-License-Identifier: MIT */
#ifndef KIN_CLIENT_LIBRARIES_H
#define KIN_CLIENT_LIBRARIES_H

#include "base/log.h"

/* Whether the libraries that the program loaded are such that this library was
 * built for. The log says which one is not. Errors: KIN_ELIBRARY. */
int kin__libraries_check(const kin__log *log);

#endif /* KIN_CLIENT_LIBRARIES_H */
