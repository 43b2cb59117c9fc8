/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_BASIC_H
#define KIN_TRANSPORT_BASIC_H

#include <kin/allocator.h>
#include <kin/str.h>

/* Returns "Basic ...", the value of an Authorization field (RFC 7617), or NULL
 * if out of memory. To be freed by kin__secret_free. No copy of the password is
 * left elsewhere. */
char *kin__basic_value(const kin_allocator *allocator, kin_str username,
                       kin_str password);

#endif /* KIN_TRANSPORT_BASIC_H */
