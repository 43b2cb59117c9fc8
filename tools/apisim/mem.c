/* SPDX-License-Identifier: MIT */
#include "mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *ptr) {
  if (ptr == NULL) {
    fputs("kin-apisim: out of memory\n", stderr);
    exit(1);
  }
  return ptr;
}

void *xmalloc(size_t size) {
  return checked(malloc(size != 0 ? size : 1));
}

void *xcalloc(size_t count, size_t size) {
  return checked(calloc(count != 0 ? count : 1, size != 0 ? size : 1));
}

void *xrealloc(void *ptr, size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) {
    return checked(NULL);
  }
  size_t bytes = count * size;
  return checked(realloc(ptr, bytes != 0 ? bytes : 1));
}

char *xstrndup(const char *str, size_t len) {
  char *copy = xmalloc(len + 1);
  memcpy(copy, str, len);
  copy[len] = '\0';
  return copy;
}

char *xstrdup(const char *str) {
  return xstrndup(str, strlen(str));
}
