/* SPDX-License-Identifier: MIT */

/* Memory that another thread prepares. */
#include <stddef.h>

#include "base/pages.h"
#include "base/slab_core.h"

/* A stop waits for at most this much. */
#define TOUCH_BYTES (64u << 10)
#define PAGE_BYTES 4096u

_Static_assert(KIN__READY_STEP_BYTES >= KIN__REGION_MAX_BYTES,
               "no region may be larger than a piece of prepared memory");

/* Writes to each page. MADV_POPULATE_WRITE takes one call for all of them, but
 * has the lock of the address space in that time. The loop's thread waited for
 * that lock when it mapped a slab: where the system gave pages slowly, single
 * turns took 5 to 12 ms. A page fault needs no such lock from Linux 6.4 on. */
static void touch(char *pages) {
  for (size_t at = 0; at < TOUCH_BYTES; at += PAGE_BYTES) {
    *(volatile char *)(pages + at) = 0;
  }
}

kin__ready_pages *kin__ready_prepare(size_t bytes,
                                     const atomic_bool *must_stop) {
  char *pages = kin__pages_map(bytes);
  if (pages == NULL) {
    return NULL;
  }
  for (size_t at = 0; at < bytes; at += TOUCH_BYTES) {
    if (atomic_load_explicit(must_stop, memory_order_relaxed)) {
      (void)kin__pages_unmap(pages, bytes);
      return NULL;
    }
    touch(pages + at);
  }
  kin__ready_pages *ready = (kin__ready_pages *)(void *)pages;
  ready->bytes = bytes;
  return ready;
}

void kin__arena_watch(kin__arena *arena, void (*grew)(void *ctx, size_t bytes),
                      void *ctx) {
  arena->grew = grew;
  arena->grew_ctx = ctx;
}

size_t kin__arena_wants_ready(const kin__arena *arena) {
  size_t share = arena->bytes / 16 / KIN__READY_STEP_BYTES;
  size_t bytes = share * KIN__READY_STEP_BYTES;
  return bytes < KIN__MAX_READY_BYTES ? bytes : KIN__MAX_READY_BYTES;
}

size_t kin__arena_ready_bytes(const kin__arena *arena) {
  return arena->ready_bytes;
}

void kin__arena_add_ready(kin__arena *arena, kin__ready_pages *pages) {
  kin__ready_pages **end = &arena->ready; /* a few; only the first may be cut */
  while (*end != NULL) {
    end = &(*end)->next;
  }
  pages->next = NULL;
  *end = pages;
  arena->ready_bytes += pages->bytes;
}

bool kin__arena_drop_ready(kin__arena *arena) {
  kin__ready_pages *pages = arena->ready;
  if (pages == NULL) {
    return false;
  }
  size_t bytes = pages->bytes < KIN__READY_STEP_BYTES ? pages->bytes
                                                      : KIN__READY_STEP_BYTES;
  arena->ready_bytes -= bytes;
  pages->bytes -= bytes;
  char *end = (char *)pages + pages->bytes;
  if (pages->bytes == 0) {
    arena->ready = pages->next;
  }
  (void)kin__pages_unmap(end, bytes);
  return arena->ready != NULL;
}
