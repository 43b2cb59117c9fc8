/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_REDIRECT_H
#define KIN_TRANSPORT_REDIRECT_H

#include <stddef.h>

#include <kin/str.h>

/* Writes where a Location leads as it may be shown: the host with its port, and
 * nothing else of it, or a few words if it names none that fits. */
void kin__redirect_host(kin_str location, char *to, size_t size);

#endif /* KIN_TRANSPORT_REDIRECT_H */
