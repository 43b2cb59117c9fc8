/* SPDX-License-Identifier: MIT */
#ifndef KIN_MUTATION_CACHE_H
#define KIN_MUTATION_CACHE_H

/** @file
 * A cache of the program's own writes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kin/allocator.h>
#include <kin/export.h>
#include <kin/object.h>
#include <kin/object_list.h>
#include <kin/store.h>
#include <kin/str.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A program has written an object, and its informer has not seen the write
 * yet: the store still has the old state. This cache stands in front of a store
 * and remembers the server's answers to the program's writes. For each key it
 * gives the newer of the two. It keeps the most recent writes, for a limited
 * time.
 *
 * client-go calls it NewIntegerResourceVersionMutationCache, since versions
 * have to be compared: as decimal numbers, of any length, "" being 0.
 *
 * Report each write with kin_mutation_cache_mutation, and each object that
 * arrives in the store from the handlers of its informer. One thread at a time;
 * the cache uses no loop. */
typedef struct kin_mutation_cache kin_mutation_cache;

/** Options of kin_mutation_cache_new. */
typedef struct kin_mutation_cache_options {
  size_t size;                    /**< set by the INIT macro */
  const kin_allocator *allocator; /**< NULL: the C library's */

  /** Required: the store behind the cache, such as kin_informer_store.
   * Borrowed: the store must outlive the cache. The cache never writes to
   * it. */
  const kin_store *store;

  /** Required: milliseconds since any moment, monotonic; called with
   * now_ctx. */
  uint64_t (*now_ms)(void *ctx);
  void *now_ctx;

  uint64_t ttl_ms; /**< how long a write is remembered; 0: 5 minutes */

  /** Also return written objects that the store does not have. If an object was
   * created and deleted before the informer saw either, the cache then shows it
   * until kin_mutation_cache_on_delete or the end of ttl_ms. */
  bool include_adds;

  /** Writes and deletions together; the least recently used go first. 0: 100.
   * As in client-go a deletion takes the place of a write, also one of an object
   * that was never written: choose more than the objects that may be deleted at
   * a time, or older writes are forgotten. */
  uint32_t max_entries;
} kin_mutation_cache_options;
/** Sets the size, and each member to its default. */
#define KIN_MUTATION_CACHE_OPTIONS_INIT                                        \
  { sizeof(kin_mutation_cache_options), NULL, NULL, NULL, NULL, 0, false, 0 }

/** Makes an empty cache. Options are copied.
 * Errors: KIN_EINVAL (options, no store or no clock), KIN_ENOTSUP (options of a
 * newer version), KIN_ENOMEM. */
KIN_EXTERN int
kin_mutation_cache_new(kin_mutation_cache **out,
                       const kin_mutation_cache_options *options);

/** Frees a cache. NULL is allowed. Cost: O(max_entries). */
KIN_EXTERN void kin_mutation_cache_free(kin_mutation_cache *cache);

/** Remembers the server's answer to a write. The call is ignored if a newer
 * state is known, or if the object (its uid) is known to be deleted.
 * Errors: KIN_EINVAL (NULL, or its version is no number), KIN_ENOMEM; nothing
 * has changed then.
 * Cost: O(1). */
KIN_EXTERN int kin_mutation_cache_mutation(kin_mutation_cache *cache,
                                           const kin_object *object);

/** Call this when an object has come into the store: a write that is not newer
 * is forgotten. Optional; it saves memory. NULL, and an object whose version is
 * no number, do nothing. */
KIN_EXTERN void kin_mutation_cache_on_put(kin_mutation_cache *cache,
                                          const kin_object *object);

/** Call this with the last state of a deleted object. A write of the same
 * object, or one that is not newer, is forgotten. For ttl_ms, later writes of
 * the same object are ignored, and no look-up finds any state of the object in
 * the store. So an object whose deletion waits for finalizers is not to be
 * reported yet. Of two deletions of one object the newer state counts. Required
 * with include_adds, else optional.
 * Errors: as kin_mutation_cache_mutation. */
KIN_EXTERN int kin_mutation_cache_on_delete(kin_mutation_cache *cache,
                                            const kin_object *object);

/** The newer of the store's object and the written one, borrowed until cache or
 * store are used again. NULL if neither exists, if only the write exists and
 * include_adds is off, or if the store's object is known to be deleted. If the
 * store's version is no number, the store's object is returned.
 * Cost: O(1). */
KIN_EXTERN const kin_object *kin_mutation_cache_get(kin_mutation_cache *cache,
                                                    kin_str key);

/** The result of kin_mutation_cache_get for each object that the store finds by
 * its index. With include_adds also written objects that have the value, but
 * are not among those and are newer than the store's. By key in ascending
 * order; free the list with kin_object_list_free. A written object on which the
 * index function fails is left out.
 * Errors: KIN_ENOENT (no index of that name), KIN_ENOMEM.
 * Cost: O(n log n) for n objects found, and O(max_entries). */
KIN_EXTERN int kin_mutation_cache_by_index(kin_mutation_cache *cache,
                                           const char *name, kin_str value,
                                           kin_object_list **out);

/** Number of writes and deletions remembered, outdated ones included. */
KIN_EXTERN size_t kin_mutation_cache_count(const kin_mutation_cache *cache);

/** Compares two resource versions of one object as decimal numbers of any
 * length: *order becomes -1, 0 or 1. "" is 0.
 * Errors: KIN_EINVAL (one is no number). */
KIN_EXTERN int kin_resource_version_compare(kin_str a, kin_str b, int *order);

#ifdef __cplusplus
}
#endif

#endif /* KIN_MUTATION_CACHE_H */
