/* SPDX-License-Identifier: MIT */
#include "base/sized.h"

#include <string.h>

#include <kin/error.h>

int kin__sized_fill(void *to, const void *from, size_t from_size,
                    size_t first_size) {
  if (to == NULL) {
    return KIN_EINVAL;
  }
  size_t size;
  memcpy(&size, to, sizeof size);
  if (size < first_size || size > KIN__MAX_RESULT) {
    return KIN_EINVAL;
  }
  size_t filled = size < from_size ? size : from_size;
  memcpy(to, from, filled);
  memset((char *)to + filled, 0, size - filled);
  memcpy(to, &filled, sizeof filled);
  return 0;
}
