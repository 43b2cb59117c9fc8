/* SPDX-License-Identifier: MIT */

/* A preloaded malloc that fails once, at a call that is chosen from inside:
 * every allocation of a process is in reach, also those of libuv, OpenSSL and
 * the C library, which the injected allocator does not cover. glibc only. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *ptr, size_t size);

void fail_malloc_arm(long calls);
long fail_malloc_left(void);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *ptr, size_t size);

/* The call that fails is the one that takes this from 1 to 0. */
static atomic_long left;

/* The `calls`-th call from now on fails; 0: none. */
void fail_malloc_arm(long calls) {
  atomic_store(&left, calls);
}

/* Positive: the call that is to fail has not come yet. */
long fail_malloc_left(void) {
  return atomic_load(&left);
}

static bool must_fail(void) {
  return atomic_load_explicit(&left, memory_order_relaxed) > 0 &&
         atomic_fetch_sub(&left, 1) == 1;
}

void *malloc(size_t size) {
  return must_fail() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return must_fail() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *ptr, size_t size) {
  return must_fail() ? NULL : __libc_realloc(ptr, size);
}
