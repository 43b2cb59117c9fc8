/* SPDX-License-Identifier: MIT */
#include "listwatch/version.h"

#include <stddef.h>
#include <string.h>

static bool is_number(const char *s) {
  size_t length = strlen(s);
  return length > 0 && strspn(s, "0123456789") == length;
}

static const char *skip_zeros(const char *s) {
  return s + strspn(s, "0");
}

bool kin__version_is_before(const char *a, const char *b) {
  if (!is_number(a) || !is_number(b)) {
    return false;
  }
  a = skip_zeros(a);
  b = skip_zeros(b);
  size_t length = strlen(a);
  return length != strlen(b) ? length < strlen(b) : strcmp(a, b) < 0;
}

bool kin__version_reaches(const char *version, const char *target) {
  return is_number(version) && is_number(target)
             ? !kin__version_is_before(version, target)
             : strcmp(version, target) == 0;
}
