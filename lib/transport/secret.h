/* SPDX-License-Identifier: MIT */
#ifndef KIN_TRANSPORT_SECRET_H
#define KIN_TRANSPORT_SECRET_H

#include <string.h>

#include <openssl/crypto.h>

#include "base/alloc.h"
#include "base/buf.h"

/* Wipes a text, frees it and sets it to NULL. */
static inline void kin__secret_free(const kin_allocator *allocator,
                                    char **text) {
  if (*text != NULL) {
    OPENSSL_cleanse(*text, strlen(*text));
    kin__free(allocator, *text);
    *text = NULL;
  }
}

/* Wipes a buffer and frees its memory. The buffer's memory must not have moved
 * while it held the secret: reserve the room first. */
static inline void kin__secret_finish(kin__buf *buf) {
  if (buf->data != NULL) {
    OPENSSL_cleanse(buf->data, buf->length);
  }
  kin__buf_finish(buf);
}

#endif /* KIN_TRANSPORT_SECRET_H */
