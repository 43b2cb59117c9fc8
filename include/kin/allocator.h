/* SPDX-License-Identifier: MIT */
#ifndef KIN_ALLOCATOR_H
#define KIN_ALLOCATOR_H

/** @file
 * The source of memory. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The source of memory. A program gives an allocator once, in the options of a
 * client (or of a store that is used alone). The allocator is copied, and
 * inherited by everything made from that client or store: informers, listeners,
 * stores, objects, views. Two clients may differ.
 *
 * The functions behave like malloc, realloc and free; `ctx` is passed through.
 * realloc also gets the old size. free is never called with NULL. If objects
 * are handed to other threads, all three must be thread-safe: an object may be
 * released on any thread, and views allocate where they are opened.
 *
 * NULL instead of an allocator means the C library's. The objects of a client
 * and lists that are not applied yet then lie in pages mapped from the system.
 *
 * Not covered: libuv's own memory (uv_replace_allocator), OpenSSL's
 * (CRYPTO_set_mem_functions), libyaml's, llhttp (allocates nothing) and the C
 * library's resolver. Also not covered is what compact storage makes on any
 * thread: dictionaries, and texts that objects hold
 * (kin_informer_options.compact). That memory is the C library's. */
typedef struct kin_allocator {
  void *ctx; /**< passed to all three */

  /** Like malloc, realloc and free. None may be NULL. */
  void *(*malloc)(void *ctx, size_t size);
  void *(*realloc)(void *ctx, void *ptr, size_t old_size, size_t size);
  void (*free)(void *ctx, void *ptr);
} kin_allocator;

#ifdef __cplusplus
}
#endif

#endif /* KIN_ALLOCATOR_H */
