/* SPDX-License-Identifier: MIT */
#include "meter.h"

#if defined(__APPLE__)
#include <malloc/malloc.h>
#define malloc_usable_size malloc_size
#elif defined(__FreeBSD__)
#include <malloc_np.h>
#else
#include <malloc.h>
#endif
#include <stdlib.h>

static size_t set_aside(void *p) {
  return malloc_usable_size(p) + sizeof(size_t);
}

static void *meter_malloc(void *ctx, size_t size) {
  void *p = malloc(size);
  if (p != NULL) {
    ((meter *)ctx)->bytes += set_aside(p);
  }
  return p;
}

static void *meter_realloc(void *ctx, void *ptr, size_t old_size, size_t size) {
  (void)old_size;
  size_t before = set_aside(ptr);
  void *p = realloc(ptr, size);
  if (p != NULL) {
    ((meter *)ctx)->bytes += set_aside(p) - before;
  }
  return p;
}

static void meter_free(void *ctx, void *ptr) {
  ((meter *)ctx)->bytes -= set_aside(ptr);
  free(ptr);
}

void meter_init(meter *m) {
  *m = (meter){.allocator = {m, meter_malloc, meter_realloc, meter_free}};
}
