/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <string.h>

#include <kin/error.h>

int kin__options_copy(void *to, size_t to_size, const void *from,
                      size_t first_size) {
  if (from == NULL) {
    return KIN_EINVAL;
  }
  size_t from_size;
  memcpy(&from_size, from, sizeof from_size);
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
