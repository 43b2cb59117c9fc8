/* SPDX-License-Identifier: MIT */
#include "transport/redirect.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/str.h"

static size_t find(kin_str s, const char *any_of) {
  size_t at = 0;
  while (at < s.length && memchr(any_of, s.data[at], strlen(any_of)) == NULL) {
    at++;
  }
  return at;
}

static bool is_host(kin_str s) {
  for (size_t i = 0; i < s.length; i++) {
    char c = s.data[i];
    if (!kin__is_alphanumeric(c) &&
        (c == '\0' || strchr(".-_:[]", c) == NULL)) {
      return false;
    }
  }
  return s.length > 0;
}

void kin__redirect_host(kin_str location, char *to, size_t size) {
  if (location.length == 0) {
    snprintf(to, size, "nowhere");
    return;
  }
  kin_str rest = kin__str_from(location, find(location, "/?#:"));
  if (rest.length >= 3 && memcmp(rest.data, "://", 3) == 0) {
    rest = kin__str_from(rest, 3);
  } else if (location.length >= 2 && memcmp(location.data, "//", 2) == 0) {
    rest = kin__str_from(location, 2);
  } else {
    snprintf(to, size, "another path");
    return;
  }
  rest.length = find(rest, "/?#\\");
  for (size_t at = find(rest, "@"); at < rest.length; at = find(rest, "@")) {
    rest = kin__str_from(rest, at + 1); /* user info */
  }
  /* A longer text may be user info that was cut before its '@'. */
  if (rest.length < size && is_host(rest)) {
    snprintf(to, size, KIN_STR_FORMAT, KIN_STR_ARG(rest));
  } else {
    snprintf(to, size, "another host");
  }
}
