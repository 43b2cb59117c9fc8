/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <string.h>

#include <kin/error.h>
#include <kin/version.h>

static size_t size_of(const void *options) {
  size_t size;
  memcpy(&size, options, sizeof size);
  return size;
}

int kin__options_copy(void *to, size_t to_size, const void *from,
                      size_t first_size) {
  if (from == NULL) {
    return KIN_EINVAL;
  }
  size_t from_size = size_of(from);
  if (from_size < first_size) {
    return KIN_EINVAL;
  }
  const char *bytes = from;
  for (size_t i = to_size; i < from_size; i++) {
    if (bytes[i] != 0) {
      return KIN_ENOTSUP;
    }
  }
  memset(to, 0, to_size);
  memcpy(to, from, from_size < to_size ? from_size : to_size);
  memcpy(to, &to_size, sizeof to_size);
  return 0;
}

int kin__options_take(void *to, size_t to_size, const void *from,
                      size_t first_size, const char *type,
                      const kin__log *log) {
  int err = kin__options_copy(to, to_size, from, first_size);
  if (err == KIN_ENOTSUP) {
    return kin__log_problem(log, err,
                            "%s: sets a field that version %s of the library "
                            "does not have",
                            type, kin_version_string());
  }
  if (err != 0 && from != NULL) {
    return kin__log_problem(log, err,
                            "%s: size is %zu, not at least %zu as its INIT "
                            "macro sets it",
                            type, size_of(from), first_size);
  }
  return err;
}

int kin__options_check_common(const kin_allocator *allocator,
                              kin_log_level level, const kin__log *log) {
  if (allocator != NULL &&
      (allocator->malloc == NULL || allocator->realloc == NULL ||
       allocator->free == NULL)) {
    return kin__log_problem(log, KIN_EINVAL,
                            "allocator: lacks one of its functions");
  }
  int number = (int)level;
  if (number < 0 || number > KIN_LOG_DEBUG) {
    return kin__log_problem(log, KIN_EINVAL, "log_level: there is no value %d",
                            number);
  }
  return 0;
}
