/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_NO_PROXY_H
#define KIN_TRANSPORT_NO_PROXY_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the environment's proxy is not for this server. `list` is the value
 * of NO_PROXY, or NULL. `host` is a name or an address without brackets.
 *
 * As Go's httpproxy: "localhost" and loopback addresses have no proxy. The list
 * has a comma between its entries: "*" (all servers), an address, a range
 * (10.0.0.0/8), a domain ("a.b" is a.b and all below, ".a.b" and "*.a.b" all
 * below); an address or a domain may end in ":port", IPv6 addresses then are in
 * brackets. Entries that are none of these are left out. */
bool kin__no_proxy_has(const char *list, const char *host, uint16_t port);

#endif /* KIN_TRANSPORT_NO_PROXY_H */
