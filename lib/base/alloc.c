/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <kin/error.h>

static void *libc_malloc(void *ctx, size_t size) {
  (void)ctx;
  return malloc(size);
}

static void *libc_realloc(void *ctx, void *ptr, size_t old_size, size_t size) {
  (void)ctx;
  (void)old_size;
  return realloc(ptr, size);
}

static void libc_free(void *ctx, void *ptr) {
  (void)ctx;
  free(ptr);
}

static const kin_allocator libc_allocator = {NULL, libc_malloc, libc_realloc,
                                             libc_free};

const kin_allocator *kin__default_allocator(void) {
  return &libc_allocator;
}

void *kin__malloc(const kin_allocator *allocator, size_t size) {
  return allocator->malloc(allocator->ctx, size > 0 ? size : 1);
}

void *kin__calloc(const kin_allocator *allocator, size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) {
    return NULL;
  }
  if (allocator->malloc == libc_malloc && count * size > 0) {
    return calloc(count, size); /* a large block is clear already */
  }
  void *p = kin__malloc(allocator, count * size);
  if (p != NULL) {
    memset(p, 0, count * size);
  }
  return p;
}

void *kin__realloc_array(const kin_allocator *allocator, void *ptr,
                         size_t old_count, size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) {
    return NULL;
  }
  if (ptr == NULL) {
    return kin__malloc(allocator, count * size);
  }
  /* As in kin__malloc, no block is empty: realloc to 0 might free the block. */
  size_t old_bytes = old_count * size;
  size_t bytes = count * size;
  return allocator->realloc(allocator->ctx, ptr, old_bytes > 0 ? old_bytes : 1,
                            bytes > 0 ? bytes : 1);
}

int kin__reserve_one(const kin_allocator *allocator, void *place,
                     uint32_t count, uint32_t *capacity, size_t size) {
  if (count < *capacity) {
    return 0;
  }
  uint32_t grown = *capacity > 0 ? *capacity * 2 : 4;
  void *array; /* copied, since a pointer to void may not alias another one */
  memcpy(&array, place, sizeof array);
  if (grown > *capacity) {
    array = kin__realloc_array(allocator, array, *capacity, grown, size);
  }
  if (grown <= *capacity || array == NULL) {
    return KIN_ENOMEM;
  }
  memcpy(place, &array, sizeof array);
  *capacity = grown;
  return 0;
}

char *kin__strndup(const kin_allocator *allocator, const char *s,
                   size_t length) {
  if (length == SIZE_MAX) {
    return NULL;
  }
  char *p = kin__malloc(allocator, length + 1);
  if (p != NULL) {
    if (length > 0) {
      memcpy(p, s, length);
    }
    p[length] = '\0';
  }
  return p;
}

char *kin__strdup(const kin_allocator *allocator, const char *s) {
  return s != NULL ? kin__strndup(allocator, s, strlen(s)) : NULL;
}

void kin__free(const kin_allocator *allocator, void *ptr) {
  if (ptr != NULL) {
    allocator->free(allocator->ctx, ptr);
  }
}
