/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_DIAL_ORDER_H
#define KIN_TRANSPORT_DIAL_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include <netdb.h>

#include "transport/socket.h"

/* Copies the addresses of a look-up in the order in which to try them, `max` at
 * most, with this port. Returns their number.
 *
 * The resolver's order is kept within IPv4 and within IPv6. The two families
 * take turns, beginning with that of the first address (RFC 8305, section 4). So
 * one family without a route delays the other only once, and the bound never
 * leaves one family out. Other families are left out. */
size_t kin__dial_order(kin__address *addresses, size_t max,
                       const struct addrinfo *first, uint16_t port);

#endif /* KIN_TRANSPORT_DIAL_ORDER_H */
