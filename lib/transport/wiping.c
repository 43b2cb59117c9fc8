/* SPDX-License-Identifier: MIT */
#include "transport/wiping.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/alloc.h"

typedef union wiping_head {
  size_t size; /* of the block behind it */
  max_align_t alignment;
} wiping_head;

static void *wiping_malloc(void *ctx, size_t size) {
  const kin__wiping *wiping = ctx;
  if (size > SIZE_MAX - sizeof(wiping_head)) {
    return NULL;
  }
  wiping_head *head = kin__malloc(wiping->inner, sizeof *head + size);
  if (head == NULL) {
    return NULL;
  }
  head->size = size;
  return head + 1;
}

static void wiping_free(void *ctx, void *ptr) {
  const kin__wiping *wiping = ctx;
  if (ptr != NULL) {
    wiping_head *head = (wiping_head *)ptr - 1;
    OPENSSL_cleanse(ptr, head->size);
    kin__free(wiping->inner, head);
  }
}

static void *wiping_realloc(void *ctx, void *ptr, size_t old_size,
                            size_t size) {
  void *moved = wiping_malloc(ctx, size);
  if (moved != NULL && ptr != NULL) {
    memcpy(moved, ptr, old_size < size ? old_size : size);
    wiping_free(ctx, ptr);
  }
  return moved;
}

void kin__wiping_init(kin__wiping *wiping, const kin_allocator *inner) {
  wiping->inner = inner;
  wiping->allocator =
      (kin_allocator){wiping, wiping_malloc, wiping_realloc, wiping_free};
}
