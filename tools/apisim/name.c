/* SPDX-License-Identifier: MIT */
#include "name.h"

#include <ctype.h>

bool name_is_subdomain(slice text) {
  for (size_t i = 0; i < text.len; i++) {
    bool edge = i == 0 || i == text.len - 1 || text.ptr[i - 1] == '.' ||
                text.ptr[i + 1] == '.';
    char c = text.ptr[i];
    bool alnum = islower((unsigned char)c) || isdigit((unsigned char)c);
    if (!alnum && (edge || (c != '-' && c != '.'))) {
      return false;
    }
  }
  return text.len != 0 && text.len <= 253;
}
