/* SPDX-License-Identifier: MIT */
#include <kin/error.h>

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* All texts in one struct, and their places as offsets: a `switch`, or an array
 * of pointers, takes several times the bytes. */
static const struct texts {
#define MEMBERS(name, value, text)                                             \
  char name_of_##name[sizeof "KIN_" #name];                                    \
  char text_of_##name[sizeof text];
  KIN_ERRNO_MAP(MEMBERS)
#undef MEMBERS
} texts = {
#define TEXTS(name, value, text) "KIN_" #name, text,
    KIN_ERRNO_MAP(TEXTS)
#undef TEXTS
};

typedef struct entry {
  int16_t code;
  uint16_t name_at; /* in `texts` */
  uint16_t text_at;
} entry;

static const entry entries[] = {
#define ENTRY(name, value, text)                                               \
  {value, offsetof(struct texts, name_of_##name),                              \
   offsetof(struct texts, text_of_##name)},
    KIN_ERRNO_MAP(ENTRY)
#undef ENTRY
};

/* NULL: the code is not the library's. */
static const entry *find(int code) {
  size_t i = sizeof entries / sizeof entries[0];
  while (i > 0 && entries[i - 1].code != code) {
    i--;
  }
  return i > 0 ? &entries[i - 1] : NULL;
}

const char *kin_strerror(int code) {
  const entry *found = find(code);
  if (found != NULL) {
    return (const char *)&texts + found->text_at;
  }
  return code == 0 ? "success" : kin__uv_strerror(code);
}

const char *kin_err_name(int code) {
  const entry *found = find(code);
  if (found != NULL) {
    return (const char *)&texts + found->name_at;
  }
  return code == 0 ? "OK" : kin__uv_err_name(code);
}

const char *kin_error_class_name(kin_error_class error_class) {
  static const char *const names[] = {
      [KIN_CLASS_NONE] = "none",       [KIN_CLASS_DNS] = "dns",
      [KIN_CLASS_CONNECT] = "connect", [KIN_CLASS_TLS] = "tls",
      [KIN_CLASS_AUTH] = "auth",       [KIN_CLASS_FORBIDDEN] = "forbidden",
      [KIN_CLASS_ABSENT] = "absent",   [KIN_CLASS_THROTTLED] = "throttled",
      [KIN_CLASS_SERVER] = "server",   [KIN_CLASS_PROTOCOL] = "protocol",
      [KIN_CLASS_DECODE] = "decode",   [KIN_CLASS_MEMORY] = "memory",
  };
  size_t i = (size_t)error_class;
  return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}
