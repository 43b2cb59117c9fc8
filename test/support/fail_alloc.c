/* SPDX-License-Identifier: MIT */
#include "support/fail_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

#define LIVE UINT64_C(0x6b696e616c697665)
#define DEAD UINT64_C(0x6b696e6465616421)

/* In front of every block. Aligned, so the block is. */
typedef union header {
  struct {
    uint64_t magic;
    size_t size;
  } s;
  max_align_t alignment;
} header;

static _Noreturn void misused(const char *what, size_t have, size_t want) {
  fprintf(stderr, "fail_alloc: %s (%zu, should be %zu)\n", what, have, want);
  abort();
}

static header *header_of(void *ptr) {
  header *h = (header *)ptr - 1;
  if (h->s.magic != LIVE) {
    misused("not a live block of this allocator", 0, 0);
  }
  return h;
}

/* The same calls each time, so that a run can be repeated. */
static bool is_unlucky(const fail_alloc *fail, size_t call) {
  kin__random random = {.state = call};
  return fail->permille > 0 &&
         kin__random_below(&random, 1000) < fail->permille;
}

static bool must_fail(fail_alloc *fail) {
  size_t call = atomic_fetch_add(&fail->calls, 1) + 1;
  bool is_its_turn =
      fail->fail_at != 0 &&
      (fail->keeps_failing ? call >= fail->fail_at : call == fail->fail_at);
  if (!is_its_turn && !is_unlucky(fail, call)) {
    return false;
  }
  atomic_fetch_add(&fail->failures, 1);
  return true;
}

static void *take(fail_alloc *fail, size_t size) {
  header *h = size <= SIZE_MAX - sizeof *h ? malloc(sizeof *h + size) : NULL;
  if (h == NULL) {
    return NULL;
  }
  h->s.magic = LIVE;
  h->s.size = size;
  memset(h + 1, 0xa5, size);
  atomic_fetch_add(&fail->live_blocks, 1);
  size_t bytes = atomic_fetch_add(&fail->live_bytes, size) + size;
  size_t peak = atomic_load(&fail->peak_bytes);
  while (bytes > peak &&
         !atomic_compare_exchange_weak(&fail->peak_bytes, &peak, bytes)) {
  }
  return h + 1;
}

static void look_for_secrets(fail_alloc *fail, const header *h) {
  for (size_t i = 0; i < sizeof fail->secrets / sizeof *fail->secrets; i++) {
    const char *secret = fail->secrets[i];
    if (secret != NULL &&
        memmem(h + 1, h->s.size, secret, strlen(secret)) != NULL) {
      atomic_fetch_add(&fail->leaked_secrets, 1);
    }
  }
}

static void give(fail_alloc *fail, header *h) {
  look_for_secrets(fail, h);
  h->s.magic = DEAD;
  atomic_fetch_sub(&fail->live_blocks, 1);
  atomic_fetch_sub(&fail->live_bytes, h->s.size);
  free(h);
}

static void *fail_malloc(void *ctx, size_t size) {
  fail_alloc *fail = ctx;
  return must_fail(fail) ? NULL : take(fail, size);
}

static void *fail_realloc(void *ctx, void *ptr, size_t old_size, size_t size) {
  fail_alloc *fail = ctx;
  if (ptr == NULL) {
    return fail_malloc(ctx, size);
  }
  header *h = header_of(ptr);
  /* An empty array is allocated as one byte. */
  if (h->s.size != old_size && !(h->s.size == 1 && old_size == 0)) {
    misused("realloc with a wrong old_size", old_size, h->s.size);
  }
  if (must_fail(fail)) {
    return NULL;
  }
  void *moved = take(fail, size);
  if (moved != NULL) {
    memcpy(moved, ptr, size < h->s.size ? size : h->s.size);
    give(fail, h);
  }
  return moved;
}

static void fail_free(void *ctx, void *ptr) {
  if (ptr == NULL) {
    misused("free of NULL", 0, 0);
  }
  give(ctx, header_of(ptr));
}

void fail_alloc_init(fail_alloc *fail, size_t fail_at) {
  memset(fail, 0, sizeof *fail);
  fail->allocator.ctx = fail;
  fail->allocator.malloc = fail_malloc;
  fail->allocator.realloc = fail_realloc;
  fail->allocator.free = fail_free;
  fail->fail_at = fail_at;
}

bool fail_alloc_has_failed(const fail_alloc *fail) {
  return atomic_load(&fail->failures) > 0;
}

void fail_alloc_sweep(bool (*scenario)(size_t fail_at), size_t least) {
  size_t n = 1;
  while (scenario(n)) {
    n++;
  }
  print_message("%zu allocations\n", n - 1);
  if (n <= least) {
    fail_msg("only %zu allocations", n - 1);
  }
}
