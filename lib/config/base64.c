/* SPDX-License-Identifier: MIT */
#include "config/base64.h"

#include <stdint.h>

#include <kin/error.h>

#include "base/base64.h"
#include "base/str.h"

int kin__base64_decode(kin__vault *vault, kin_str encoded, kin_str *text) {
  size_t size = encoded.length / 4 * 3 + 4;
  char *bytes = kin__vault_alloc(vault, size, 1);
  if (bytes == NULL) {
    return KIN_ENOMEM;
  }
  int64_t length = kin__base64_decode_into(bytes, size, encoded);
  if (length < 0) {
    return KIN_EINVAL;
  }
  *text = kin__str(bytes, (size_t)length);
  return 0;
}
