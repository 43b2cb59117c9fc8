/* SPDX-License-Identifier: MIT */

/* Slabs that another thread prepares. */
#include <stddef.h>

#include "base/pages.h"
#include "base/slab_core.h"

/* A stop waits for at most this much. */
#define TOUCH_BYTES (64u << 10)
#define PAGE_BYTES 4096u

/* Writes to each page. MADV_POPULATE_WRITE takes one call for all of them, but
 * has the lock of the address space in that time. The loop's thread waited for
 * that lock when it mapped a slab: where the system gave pages slowly, single
 * turns took 5 to 12 ms. A page fault needs no such lock from Linux 6.4 on. */
static void touch(char *pages) {
  for (size_t at = 0; at < TOUCH_BYTES; at += PAGE_BYTES) {
    *(volatile char *)(pages + at) = 0;
  }
}

kin__ready_slab *kin__slab_prepare(const atomic_bool *must_stop) {
  char *pages = kin__pages_map(KIN__MAPPED_SLAB_BYTES);
  if (pages == NULL) {
    return NULL;
  }
  for (size_t at = 0; at < KIN__MAPPED_SLAB_BYTES; at += TOUCH_BYTES) {
    if (atomic_load_explicit(must_stop, memory_order_relaxed)) {
      (void)kin__pages_unmap(pages, KIN__MAPPED_SLAB_BYTES);
      return NULL;
    }
    touch(pages + at);
  }
  return (kin__ready_slab *)(void *)pages;
}

void kin__arena_watch(kin__arena *arena, void (*grew)(void *ctx), void *ctx) {
  arena->grew = grew;
  arena->grew_ctx = ctx;
}

uint32_t kin__arena_wants_ready(const kin__arena *arena) {
  size_t share = arena->bytes / KIN__MAPPED_SLAB_BYTES / 16;
  return share < KIN__MAX_READY_SLABS ? (uint32_t)share : KIN__MAX_READY_SLABS;
}

uint32_t kin__arena_ready_count(const kin__arena *arena) {
  return arena->ready_count;
}

void kin__arena_add_ready(kin__arena *arena, kin__ready_slab *slab) {
  slab->next = arena->ready;
  arena->ready = slab;
  arena->ready_count++;
}

bool kin__arena_drop_ready(kin__arena *arena) {
  kin__ready_slab *slab = arena->ready;
  if (slab == NULL) {
    return false;
  }
  arena->ready = slab->next;
  arena->ready_count--;
  (void)kin__pages_unmap(slab, KIN__MAPPED_SLAB_BYTES);
  return arena->ready != NULL;
}
