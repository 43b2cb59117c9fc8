/* SPDX-License-Identifier: MIT */
#include "transport/dial_order.h"

#include <stdbool.h>
#include <string.h>

static const struct addrinfo *next_of(const struct addrinfo *info, int family) {
  while (info != NULL && info->ai_addr->sa_family != family) {
    info = info->ai_next;
  }
  return info;
}

static void copy(kin__address *to, const struct sockaddr *from, uint16_t port) {
  if (from->sa_family == AF_INET) {
    memcpy(&to->ip4, from, sizeof to->ip4);
    to->ip4.sin_port = htons(port);
  } else {
    memcpy(&to->ip6, from, sizeof to->ip6);
    to->ip6.sin6_port = htons(port);
  }
}

size_t kin__dial_order(kin__address *addresses, size_t max,
                       const struct addrinfo *first, uint16_t port) {
  const struct addrinfo *ip4 = next_of(first, AF_INET);
  const struct addrinfo *ip6 = next_of(first, AF_INET6);
  size_t count = 0;
  while (first != NULL && first != ip4 && first != ip6) {
    first = first->ai_next;
  }
  bool is_ip4_turn = first == ip4;
  while (count < max && (ip4 != NULL || ip6 != NULL)) {
    const struct addrinfo **turn = is_ip4_turn ? &ip4 : &ip6;
    if (*turn != NULL) {
      copy(&addresses[count++], (*turn)->ai_addr, port);
      *turn = next_of((*turn)->ai_next, is_ip4_turn ? AF_INET : AF_INET6);
    }
    is_ip4_turn = !is_ip4_turn;
  }
  return count;
}
