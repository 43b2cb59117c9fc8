/* SPDX-License-Identifier: MIT */
#include "transport/ip.h"

#include <string.h>

#include <uv.h>

static const unsigned char ip4_prefix[12] = {[10] = 0xff, [11] = 0xff};

bool kin__ip_parse(const char *text, unsigned char bytes[KIN__IP_BYTES]) {
  memcpy(bytes, ip4_prefix, sizeof ip4_prefix);
  if (uv_inet_pton(AF_INET, text, bytes + sizeof ip4_prefix) == 0) {
    return true;
  }
  /* libuv would skip a zone. */
  return strchr(text, '%') == NULL && uv_inet_pton(AF_INET6, text, bytes) == 0;
}

bool kin__ip_is_ip4(const unsigned char bytes[KIN__IP_BYTES]) {
  return memcmp(bytes, ip4_prefix, sizeof ip4_prefix) == 0;
}
