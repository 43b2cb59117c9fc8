/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_REDIRECT_H
#define KIN_TRANSPORT_REDIRECT_H

#include <stddef.h>

#include <kin/str.h>

/* Writes the target of a Location in a form that is safe to show: the host with
 * its port only, or a few words if there is no host that fits. */
void kin__redirect_host(kin_str location, char *to, size_t size);

#endif /* KIN_TRANSPORT_REDIRECT_H */
