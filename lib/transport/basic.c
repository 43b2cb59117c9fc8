/* SPDX-License-Identifier: MIT */
#include "transport/basic.h"

#include <string.h>

#include <openssl/evp.h>

#include "base/alloc.h"
#include "transport/secret.h"

#define SCHEME "Basic "

char *kin__basic_value(const kin_allocator *allocator, kin_str username,
                       kin_str password) {
  const size_t prefix = sizeof SCHEME - 1;
  size_t length = username.length + 1 + password.length;
  size_t size = prefix + (length + 2) / 3 * 4 + 1;
  char *value = kin__malloc(allocator, size);
  char *plain = kin__malloc(allocator, length + 1);
  if (value != NULL && plain != NULL) {
    memcpy(plain, username.data, username.length);
    plain[username.length] = ':';
    if (password.length > 0) {
      memcpy(plain + username.length + 1, password.data, password.length);
    }
    memcpy(value, SCHEME, prefix);
    (void)EVP_EncodeBlock((unsigned char *)value + prefix,
                          (const unsigned char *)plain, (int)length);
  } else {
    kin__free(allocator, value);
    value = NULL;
  }
  if (plain != NULL) {
    OPENSSL_cleanse(plain, length);
    kin__free(allocator, plain);
  }
  return value;
}
