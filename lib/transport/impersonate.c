/* SPDX-License-Identifier: MIT */
/* Each value names an identity. A value that a proxy or the server could read
 * differently is refused, not repaired. */
#include "transport/impersonate.h"

#include <stdbool.h>
#include <string.h>

#include <kin/error.h>

#include "base/ascii.h"
#include "base/str.h"

/* RFC 9110, 5.5: a server drops the blanks around a value. Names may be
 * UTF-8. */
static bool is_value(const char *value) {
  size_t length = strlen(value);
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)value[i];
    if (c < 0x20 || c == 0x7f) {
      return false;
    }
  }
  return length == 0 || (value[0] != ' ' && value[length - 1] != ' ');
}

static bool is_name(const char *value) {
  return kin__has_text(value) && is_value(value);
}

/* The bytes of a header's name, without '%', which begins an escape. */
static bool is_plain(char c) {
  return kin__is_alphanumeric(c) ||
         (c != '\0' && strchr("!#$&'*+-.^_`|~", c) != NULL);
}

static int append_key(kin__buf *out, const char *key) {
  int err = 0;
  for (const char *c = key; *c != '\0' && err == 0; c++) {
    err = is_plain(*c) ? kin__buf_append(out, c, 1)
                       : kin__buf_printf(out, "%%%02X", (unsigned char)*c);
  }
  return err;
}

static int append_line(kin__buf *out, const char *name, const char *key,
                       const char *value) {
  int err = kin__buf_append_cstr(out, name);
  if (err == 0) {
    err = append_key(out, key);
  }
  if (err == 0) {
    err = kin__buf_append_cstr(out, ": ");
  }
  if (err == 0) {
    err = kin__buf_append_cstr(out, value);
  }
  return err == 0 ? kin__buf_append_cstr(out, "\r\n") : err;
}

static const char *fault_of(const kin__impersonation *whom) {
  bool has_more =
      whom->uid != NULL || whom->group_count > 0 || whom->extra_count > 0;
  if (whom->user == NULL) {
    return has_more ? "a uid, groups or extra without a user" : NULL;
  }
  if (!is_name(whom->user)) {
    return "the user cannot be sent";
  }
  if (whom->uid != NULL && !is_name(whom->uid)) {
    return "the uid cannot be sent";
  }
  if ((whom->group_count > 0 && whom->groups == NULL) ||
      (whom->extra_count > 0 && whom->extra == NULL)) {
    return "a count without an array";
  }
  return NULL;
}

static int append_groups(kin__buf *out, const kin__impersonation *whom,
                         const char **reason) {
  int err = 0;
  for (size_t i = 0; i < whom->group_count && err == 0; i++) {
    if (!is_name(whom->groups[i])) {
      *reason = "a group cannot be sent";
      return KIN_EINVAL;
    }
    err = append_line(out, "Impersonate-Group", "", whom->groups[i]);
  }
  return err;
}

/* A key may have any bytes. Those that a header's name cannot hold are
 * escaped. */
static int append_extra(kin__buf *out, const kin__impersonation *whom,
                        const char **reason) {
  int err = 0;
  for (size_t i = 0; i < whom->extra_count && err == 0; i++) {
    const kin_impersonate_extra *extra = &whom->extra[i];
    if (!kin__has_text(extra->key) || extra->value == NULL ||
        !is_value(extra->value)) {
      *reason = "an extra key or value cannot be sent";
      return KIN_EINVAL;
    }
    err = append_line(out, "Impersonate-Extra-", extra->key, extra->value);
  }
  return err;
}

int kin__impersonate_render(kin__buf *out, const kin__impersonation *whom,
                            const char **reason) {
  *reason = fault_of(whom);
  if (*reason != NULL) {
    return KIN_EINVAL;
  }
  if (whom->user == NULL) {
    return 0;
  }
  int err = append_line(out, "Impersonate-User", "", whom->user);
  if (err == 0 && whom->uid != NULL) {
    err = append_line(out, "Impersonate-Uid", "", whom->uid);
  }
  if (err == 0) {
    err = append_groups(out, whom, reason);
  }
  return err == 0 ? append_extra(out, whom, reason) : err;
}
