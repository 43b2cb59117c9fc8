/* SPDX-License-Identifier: MIT */
#include "values.h"

#include <string.h>
#include <strings.h>

#include <stddef.h>

bool parse_u64(const char *s, uint64_t most, uint64_t *value) {
  uint64_t v = 0;
  if (*s == '\0') {
    return false;
  }
  for (; *s >= '0' && *s <= '9'; s++) {
    unsigned digit = (unsigned)(*s - '0');
    if (v > (most - digit) / 10) {
      return false;
    }
    v = v * 10 + digit;
  }
  *value = v;
  return *s == '\0';
}

bool parse_seconds(const char *s, uint64_t most_ms, uint64_t *ms) {
  char digits[32];
  size_t length = 0;
  int decimals = -1; // no point yet
  for (; *s && length < sizeof(digits) - 4; s++) {
    if (*s == '.' && decimals < 0 && length > 0) {
      decimals = 0;
    } else if (decimals < 3) {
      decimals += decimals >= 0;
      digits[length++] = *s;
    } else {
      return false;
    }
  }
  if (*s || decimals == 0) {
    return false;
  }
  for (int i = decimals < 0 ? 0 : decimals; i < 3; i++) {
    digits[length++] = '0';
  }
  digits[length] = '\0';
  // Nothing but the zeros would be an empty number.
  return length > 3 && parse_u64(digits, most_ms, ms);
}

bool parse_bytes(const char *s, uint64_t *bytes) {
  static const char units[][3] = {"", "Ki", "Mi", "Gi"};
  char digits[24];
  size_t length = strspn(s, "0123456789");
  if (length >= sizeof digits) {
    return false;
  }
  memcpy(digits, s, length);
  digits[length] = '\0';
  for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++) {
    uint64_t unit = UINT64_C(1) << (10 * i);
    if (strcmp(s + length, units[i]) == 0) {
      bool is_number = parse_u64(digits, UINT64_MAX / unit, bytes);
      *bytes = is_number ? *bytes * unit : 0;
      return *bytes > 0;
    }
  }
  return false;
}

bool parse_part(const char *s, uint32_t most, uint32_t *index,
                uint32_t *count) {
  char digits[16];
  uint64_t i = 0;
  uint64_t n = 0;
  size_t length = strcspn(s, "/");
  if (length >= sizeof digits || s[length] != '/') {
    return false;
  }
  memcpy(digits, s, length);
  digits[length] = '\0';
  if (!parse_u64(digits, most - 1, &i) ||
      !parse_u64(s + length + 1, most, &n) || i >= n) {
    return false;
  }
  *index = (uint32_t)i;
  *count = (uint32_t)n;
  return true;
}

bool parse_decision(const char *s, kin_memory_decision *decision) {
  static const char *const names[] = {[KIN_MEMORY_PAUSE] = "pause",
                                      [KIN_MEMORY_DROP_BODIES] = "drop",
                                      [KIN_MEMORY_STOP] = "stop"};
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(s, names[i]) == 0) {
      *decision = (kin_memory_decision)i;
      return true;
    }
  }
  return false;
}

bool parse_compact(const char *s, kin_compact *compact) {
  bool is_small = s != NULL && strcmp(s, "small") == 0;
  *compact = is_small ? KIN_COMPACT_SMALL : KIN_COMPACT_FAST;
  return is_small || s == NULL || strcmp(s, "fast") == 0;
}

bool is_namespace(const char *name) {
  size_t length = strlen(name);
  return length > 0 && length <= 253 &&
         strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == length &&
         strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool is_selector(const char *text) {
  return strlen(text) <= (size_t)64 << 10;
}

bool is_server(const char *url) {
  static const char *const schemes[] = {"https://", "http://", "unix://"};
  for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
    if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0) {
      return true;
    }
  }
  return false;
}

bool has_tls(const char *url) {
  return strncasecmp(url, "https://", 8) == 0;
}

bool is_within(const char *pointer, const char *outer) {
  size_t length = strlen(outer);
  return strncmp(pointer, outer, length) == 0 &&
         (pointer[length] == '\0' || pointer[length] == '/');
}

bool is_pointer(const char *s) {
  if (*s != '/') {
    return false;
  }
  for (; *s; s++) {
    if (*s == '~' && s[1] != '0' && s[1] != '1') {
      return false;
    }
  }
  return true;
}
