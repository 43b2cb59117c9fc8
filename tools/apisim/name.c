/* SPDX-License-Identifier: MIT */
#include "name.h"

#include <ctype.h>
#include <string.h>

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

bool name_is_label(slice text) {
  return text.len <= 63 && name_is_subdomain(text) &&
         memchr(text.ptr, '.', text.len) == NULL;
}
