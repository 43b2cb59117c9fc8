/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_IP_H
#define KIN_TRANSPORT_IP_H

#include <stdbool.h>

#define KIN__IP_BYTES 16u
#define KIN__IP4_BYTES 4u /* the last ones */

/* Reads an address in text form, without a zone. As in Go, IPv4 and its form in
 * IPv6 (::ffff:1.2.3.4) are the same: both give the latter. Returns whether the
 * text is an address. */
bool kin__ip_parse(const char *text, unsigned char bytes[KIN__IP_BYTES]);

/* Whether the address is IPv4. */
bool kin__ip_is_ip4(const unsigned char bytes[KIN__IP_BYTES]);

#endif /* KIN_TRANSPORT_IP_H */
